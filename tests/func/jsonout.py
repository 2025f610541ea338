#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-jsonout: the document against its schema, its values against the CSV file of the same run, all options and columns
in it, and that it is whole, or not there at all, however a run ends. And the environment, in it and as text.
"""
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import threading
import time

import messages as m
import xddhold
import xddjson as j
import xddsys as s
import xddtest as t

t.may_warn(m.REACHES)
t.tolerate(m.FEWER_PASSES_RUN)

MOMENTS = 40
_files = 0


def fresh(suffix=".json"):
    global _files
    _files += 1
    return t.path("o%d%s" % (_files, suffix))


def run_json(title, *args, status=0, **kwargs):
    """Run with -jsonout; returns the run and its document, which is checked."""
    file = fresh()
    run = t.xdd(*args, "-jsonout", file, **kwargs)
    t.equal(run.status, status, title + ": status")
    return run, j.check(file, title)


def columns():
    """All identifiers of -outputformat, from the manual page's own source."""
    with open(os.path.join(os.environ["TOP_SRCDIR"], "src/report/columns_table.c"), encoding="utf-8") as f:
        names = re.findall(r'^\t[A-Z]+\("([A-Z0-9]+)"', f.read(), re.M)
    return [n for n in names if n != "DELIM"]


# Values


# Columns whose numbers results have in base units, and how much these are of a unit of the column.
MEMBERS = {"BYTESREAD": ("bytes", "read", 1), "BYTESWRITTEN": ("bytes", "write", 1), "READOPS": ("ops", "read", 1),
           "WRITEOPS": ("ops", "write", 1), "ERRORS": ("errors", None, 1), "MISCOMPARES": ("miscompares", None, 1),
           "RETRIES": ("retries", None, 1), "BANDWIDTH": ("bandwidth", None, 1e6), "IOPS": ("iops", None, 1),
           "ELAPSEDTIMEPASS": ("elapsed_ns", None, 1e9), "ELAPSEDTIME1STOP": ("first_operation_ns", None, 1e6),
           "OVERHEADTIME": ("overhead_ns", None, 1e6), "OPENTIME": ("open_ns", None, 1e6), "USERTIME": ("user_ns", None, 1e9),
           "FLUSHES": ("flushes", None, 1), "SYSTEMTIME": ("system_ns", None, 1e9)}


def matches(row, result):
    """The row of CSV shows what the result has."""
    for name, (member, direction, unit) in MEMBERS.items():
        shown, value = row[name], result[member][direction] if direction else result[member]
        digits = len(shown.partition(".")[2])
        if shown != "" if value is None else abs(float(shown) - value / unit) > 0.500001 * 10 ** -digits + 1e-9 * value:
            return "%s: %s in the CSV file, %r in the document" % (name, shown, value)
    return None


def test_latency():
    run, document = run_json("latencies", "-rwratio", 40, "-targets", 1, t.make_file("times", 1 << 20), "-reqsize", 4,
                             "-numreqs", 200, "-passes", 2, "-throttle", "ops", 2000, "-latency", "percentiles", "50,99")
    for result in document["results"] if document else ():
        for time in ("service", "response"):
            for way in ("read", "write"):
                found, title = result["latency"][time][way], "%s, %s of %s: " % (result["what"], time, way)
                counts, floors = found["histogram"][1::2], found["histogram"][::2]
                t.equal(sum(counts), result["ops"][way], title + "the buckets hold every operation")
                t.equal(found["count"], result["ops"][way], title + "as many")
                t.ok(floors == sorted(floors) and floors[0] <= found["minimum_ns"] and
                     floors[-1] <= found["maximum_ns"] < floors[-1] * 1.01 + 2, title + "shortest and longest", found)
                middle = found["percentiles_ns"]["50"]
                below = sum(c for f, c in zip(floors, counts) if f <= middle)
                t.ok(below * 2 >= sum(counts), title + "half of them are not longer than the median", found)
            t.ok("noop" not in result["latency"][time], "what was not done is left out", result["latency"])
        both, extremes = [result["latency"]["service"][w] for w in ("read", "write")], [result["longest"], result["shortest"]]
        t.equal([e["ns"] for e in extremes], [max(b["maximum_ns"] for b in both), min(b["minimum_ns"] for b in both)],
                result["what"] + ": the longest and the shortest")
        t.ok(all(e["direction"] in ("read", "write") and e["offset_bytes"] == 4096 * e["operation"] for e in extremes),
             result["what"] + ": which operations these were", extremes)
        every = result["latency"]["service"]["all"]
        t.equal((every["count"], every["minimum_ns"], every["maximum_ns"], "histogram" in every),
                (sum(b["count"] for b in both), extremes[1]["ns"], extremes[0]["ns"], False), result["what"] + ": all directions")
        busy = sum(result["latency"]["service"][w]["mean_ns"] * result["ops"][w] for w in ("read", "write"))
        t.ok(abs(busy - sum(result["busy_ns"].values())) <= 1 + 1e-6 * busy, result["what"] + ": the sum of all times", busy)


def test_against_csv():
    file = t.make_file("data", 1 << 20)
    names = columns()
    t.ok(len(names) > 40, "the columns are known", names)
    for title, args in (
            ("one target", ["-op", "read", "-targets", 1, file, "-reqsize", 4, "-passes", 3]),
            ("several targets", ["-rwratio", 60, "-op", "target", 1, "noop", "-targets", 3, file, "null", "null"] +
             "-reqsize 4 -numreqs 200 -queuedepth 3 -queuedepth target 2 5 -passes 4".split()),
            ("-nobarrier", ["-op", "read", "-targets", 2, file, "null", *"-reqsize 4 -numreqs 50 -passes 5 -nobarrier".split()]),
            ("operations that fail", ["-op", "read", "-targets", 2, file, "null", *"-reqsize 1000 -numreqs 3 -timelimit 60".split()]),
    ):
        csv = fresh(".csv")
        status = 6 if "fail" in title else 0
        run, document = run_json(title, *args, "-verbose", "-qthreadinfo", "-outputformat", "new",
                                 "+" + "+".join(names), "-csvout", csv, status=status)
        if document is None:
            continue
        found = t.read_csv(csv)
        t.equal([r["WHAT"] for r in found], [r["what"] for r in document["results"]], title + ": the lines of the CSV file")
        t.equal([m for m in map(matches, found, document["results"]) if m], [], title + ": and their values")
        again = fresh(".csv")
        t.command([t.XDD, "report", "-csv", "-columns", "+" + "+".join(names), "-o", again, j.write("again.json", document)])
        t.equal([{n: r[n] for n in names} for r in t.read_csv(again)], [{n: r[n] for n in names} for r in found if r["WHAT"] != "QUEUE_PASS"],
                title + ": every column is made from the document again")
        t.equal((document["end"], document["status"], document["partial"]),
                ("errors" if status else "normal", status, False), title + ": how it ended")
        again, short = run_json(title + ", without -verbose", *args, status=status)
        t.equal(sorted(r["what"] for r in short["results"]), sorted(r["what"] for r in document["results"]),
                title + ": every line, shown or not")
        t.equal(len([r for r in again.rows() if r["What"] != "COMBINED"]), 0, title + ": and the text only what it shows")


def test_errors():
    file = t.make_file("short", 10 * 1024)
    run, document = run_json("errors", "-op", "read", "-targets", 1, file, *"-reqsize 1 -numreqs 15 -mep 3 -timelimit 60".split(),
                             status=6)
    shown = [line[len("xdd: "):] for line in run.error_lines()]
    errors = [m["text"] for m in document["messages"] if m["level"] == "error"]
    t.equal([line for line in shown if "warning" not in line], errors, "errors: the messages of standard error")
    t.ok(sum("I/O ERROR" in line for line in errors) == 1 and m.more_failed("4", m.END_OF_FILE) in errors[-1] and
         j.rows(document, "COMBINED")[0]["errors"] == 5,
         "errors: lines and count", document["messages"])
    t.ok(any(m["level"] == "warning" and "reach to" in m["text"] for m in document["messages"]),
         "errors: the warnings from before the run", document["messages"])
    run, document = run_json("-stoponerror", "-op", "read", "-targets", 2, file, "null",
                             *"-reqsize 1 -numreqs 15 -passes 9 -stoponerror -timelimit 60".split(), status=6)
    t.ok(document["end"] == "errors" and document["status"] == 6, "-stoponerror: how it ended", run)
    busy = shutil.copy(shutil.which("sleep"), t.path("busy"))
    with subprocess.Popen([busy, "100"]) as p:
        run, document = run_json("a target that cannot be opened", "-op", "write", "-targets", 1, busy,
                                 *"-numreqs 1 -reqsize 1".split(), status=4)
        p.kill()
    t.ok(document["status"] == 4 and document["end"] == "errors" and document["messages"] and not document["results"],
         "a target that cannot be opened: no results and the reason", run)


def test_time_limits():
    for args, ops in (("-timelimit .2", None), ("-runtime .3 -passes 1000000 -numreqs 100", 100),
                      ("-timelimit .1 -passes 2", None)):
        _, document = run_json(args, *"-op noop -targets 2 null null -operationdelay 1ms".split(), *args.split())
        t.ok(not document["partial"] and document["end"] == "normal" and j.total(j.rows(document, "COMBINED")[0]) > 0,
             args + ": results", document["end"])
        t.equal(document["plan"]["targets"][0]["resolved"]["pass_operations"], ops, args + ": the plan")


# The plan


def test_options():
    usage = t.xdd("-help").out
    listed = set(re.findall(r"^  -(\S+)", usage, re.M)) - {"help", "fullhelp", "version", "setup", "section"}
    setup = t.path("set.up")
    with open(setup, "w", encoding="utf-8") as f:
        f.write("-passes 2\n-queuedepth target 1 3\n")
    file = t.make_file("data", 1 << 20)
    words = ["-op", "read", "-targets", 2, file, "null", "-setup", setup] + \
        "-runid r-7 -reqsize 4 -numreqs 6 -seek random range 90 seed 18446744073709551615 -rwratio target 1 25 random -id a -id b".split()
    _, document = run_json("options", *words, "-passdelay", "10ms", "-ioengine", "target", 1, "null")
    plan = document["plan"]
    for name, options in [("run", plan["options"])] + [(str(i), p["options"]) for i, p in enumerate(plan["targets"])]:
        t.ok(options, "options of " + name)
    t.equal(set(plan["options"]) | set(plan["targets"][0]["options"]), listed, "every option of -help is in the plan")
    t.equal(set(plan["options"]) & set(plan["targets"][0]["options"]), set(), "and has one place")
    first, second = (p["options"] for p in plan["targets"])
    t.equal((first["op"], first["reqsize"], first["queuedepth"], second["queuedepth"]), ("read", 4, 1, 3), "values")
    t.equal((first["rwratio"], second["rwratio"]), (None, ["25", "random"]), "words, of the target they were for")
    t.equal((first["seek"]["range"], first["seek"]["seed"], first["seek"]["random"], first["seek"]["stagger"]),
            (90, "18446744073709551615", True, None), "suboptions")
    t.equal(plan["options"]["passdelay"], 0.01, "a time is in seconds")
    t.equal((document["id"], document["run_id"]), ("a b", "r-7"), "the id, and that of the run")
    passes = [g for g in plan["given"] if g["option"] == "passes"]
    t.equal((passes[0]["words"], passes[0]["file"], passes[0]["line"]), (["2"], setup, 1), "a setup file is named")
    t.equal((plan["resolved"]["passes"], plan["resolved"]["pass_delay_ns"]), (2, 10000000), "what came of it")
    resolved = [p["resolved"] for p in plan["targets"]]
    t.equal([(r["kind"], r["operation"], r["read_percent"], r["request_bytes"], r["pass_operations"]) for r in resolved],
            [("file", "read", 100, 4096, 6), ("null device", "mixed", 25, 4096, 6)], "targets, resolved")
    words = t.command(["sh", "-c", "printf '%s\\n' " + document["command_line"]]).out.splitlines()
    t.ok(words[0] == t.XDD and setup in words, "the command line can be typed again", document["command_line"])


def test_coordination():
    """Lockstep and triggers of several targets are in the plan, as resolved."""
    _, document = run_json("lockstep and triggers", *("-op noop -targets -4 null -numreqs 100 -reqsize 1 "
                           "-lockstep 0 1 op 7 kbytes 3 wait complete -lockstep 1 2 time 0.5 percent 12.5 run stop "
                           "-starttrigger 0 3 percent 0.1 -stoptrigger 3 0 mbytes 1 -numreqs target 3 2000 "
                           "-stoptrigger 0 1 time 1".split()))
    found = [[p["resolved"][k] for k in ("lockstep", "start_trigger", "stop_trigger")] for p in document["plan"]["targets"]]
    t.equal(found, [
        [None, None, {"target": 3, "when": "bytes", "howmuch": 1 << 20}],
        [{"master": 0, "when": "operations", "howlong": 7, "what": "bytes", "howmuch": 3072, "startup": "wait",
          "completion": "complete"}, None, {"target": 0, "when": "nanoseconds", "howmuch": 10**9}],
        [{"master": 1, "when": "nanoseconds", "howlong": 5 * 10**8, "what": "percent", "howmuch": 12.5, "startup": "run",
          "completion": "stop"}, None, None],
        [None, {"target": 0, "when": "percent", "howmuch": 0.1}, None]], "lockstep and triggers of each target")


def test_names():
    odd = os.path.join(os.fsencode(t.tmp()), b"\xff\xc3\xa4\xed\xa0\x80 \"\\\n")
    with open(odd, "wb") as f:
        f.write(bytes(4096))
    _, document = run_json("a name that is not UTF-8", "-op", "read", "-targets", "1", os.fsdecode(odd),
                           *"-reqsize 4 -numreqs 1".split())
    t.ok(document["plan"]["targets"][0]["path"].endswith("/\ufffdä\ufffd\ufffd\ufffd \"\\\n"),
         "a name that is not UTF-8", document["plan"]["targets"][0])


# Where it goes

SMALL = "-op noop -targets 1 null -numreqs 10 -passes 2".split()


def test_standard_output():
    for name in ("-", "/dev/stdout"):
        run = t.xdd(*SMALL, "-verbose", "-jsonout", name)
        t.ok(run.status == 0 and not j.problems(j.parse(run.out)), "-jsonout %s: nothing else is there" % name, run)
        out = fresh(".txt")
        run = t.xdd(*SMALL, "-jsonout", name, "-output", out)
        with open(out, encoding="utf-8") as f:
            t.ok(" COMBINED " in f.read() and not j.problems(j.parse(run.out)), "-jsonout %s, with -output" % name, run)
    run = t.command(["sh", "-c", '"$@" -jsonout - | wc -l', "sh"] + t.xdd_words(*SMALL))
    t.ok(run.status == 0 and int(run.out) > 10, "-jsonout - into a pipe", run)
    run = t.command(["sh", "-c", '"$@" -jsonout - >&-', "sh"] + t.xdd_words(*SMALL))
    t.equal((run.status, "-jsonout -: " in run.err), (6, True), "-jsonout -, closed", run)
    run = t.xdd(*SMALL, "-jsonout", "/dev/null")
    t.ok(run.status == 0 and stat.S_ISCHR(os.stat("/dev/null").st_mode), "-jsonout /dev/null", run)
    run = t.xdd(*SMALL, "-jsonout", "/dev/full")
    t.equal((run.status, run.error_lines()),
            (6, ["xdd: -jsonout /dev/full: No space left on device; the results are " "missing there"]),
            "a full disk", run)


def test_fifo():
    name = fresh()
    reader = t.make_pipe(name)
    run = t.xdd(*SMALL, "-jsonout", name)
    t.ok(run.status == 0 and not j.problems(j.parse(t.drain(reader).decode())), "-jsonout to a pipe with a name", run)


def test_replaced():
    directory = t.path("there")
    os.mkdir(directory)
    file, link = os.path.join(directory, "a.json"), os.path.join(directory, "link")
    with open(file, "w", encoding="utf-8") as f:
        f.write("before")
    os.symlink("a.json", link)
    run = t.xdd(*SMALL, "-jsonout", link)
    t.ok(run.status == 0 and os.path.islink(link) and not j.problems(j.load(file)), "a link is followed", run)
    t.equal(sorted(os.listdir(directory)), ["a.json", "link"], "no other file is left")
    with open(file, "rb") as f:
        before = f.read()
    for number in (signal.SIGKILL, None):
        with xddhold.at("pass ended:1", "signal taken:1") as h:
            p = start(*"-op noop -targets 1 null -numreqs 100 -passes 100000 -jsonout".split(), file, env=h.env)
            h.wait(p)
            if number:
                p.kill()
            else:
                twice(p, h)
            p.wait(timeout=t.TIMEOUT)
        with open(file, "rb") as f:
            after = f.read()
        if number:
            t.ok(after == before, "kill -9: what was there is still there")
        t.ok(not j.problems(j.parse(after.decode())), "killed: the file is a document")
        t.equal(sorted(os.listdir(directory)), ["a.json", "link"], "killed: and no other file is left")
    run = t.xdd(*SMALL, "-jsonout", os.path.join(directory, "new"), "-dryrun")
    t.equal((run.status, os.path.exists(os.path.join(directory, "new"))), (0, False), "-dryrun writes none", run)


def test_refused():
    directory, file = t.path("refused"), t.make_file("target", 4096)
    os.makedirs(os.path.join(directory, "sub"))
    here = os.path.join(directory, "x.json")
    null = ["-op", "noop", "-targets", 1, "null", "-numreqs", 1]
    for args, want in (
            (null + ["-jsonout", os.path.join(directory, "none/x")], "there is no directory "),
            (null + ["-jsonout", os.path.join(directory, "sub")], m.IS_DIRECTORY),
            (null + ["-jsonout", ""], "<file> " + m.EMPTY),
            (null + ["-jsonout"], m.missing("<file>")),
            (null + ["-jsonout", here, "-csvout", here], m.file_of("-csvout")),
            (null + ["-jsonout", here, "-errout", here], m.file_of("-errout")),
            (null + ["-jsonout", here, "-output", here], m.file_of("-output")),
            (["-op", "read", "-targets", 1, file, "-reqsize", 1, "-jsonout", file], m.is_target(0)),
            (["-op", "write", "-targets", 1, here, "-reqsize", 1, "-numreqs", 1, "-jsonout", here], m.is_target(0)),
            (null + ["-jsonout", "-", "-csvout", "/dev/stdout"], "has standard output to itself"),
            (null + ["-jsonout", "-", "-output", "/dev/stdout"], "has standard output to itself"),
            (null + ["-jsonout", "-", "-report", "person"], "has standard output to itself"),
            (null + ["-jsonout", "-", "-errout", "/dev/stdout"], "has standard output to itself"),
            (null + ["-jsonout", "-", "-latency", "output", "/dev/stdout"], "has standard output to itself"),
            (null + ["-jsonout", "/dev/stdout", "-csvout", "/dev/stdout"], "has standard output to itself"),
    ):
        run = t.xdd(*args)
        t.equal((run.status, run.out, len(run.error_lines()), want in run.err, "json" in run.err),
                (2, "", 1, True, True), "%s" % want, run)
        t.equal(sorted(os.listdir(directory)), ["sub"], "and nothing is made")
    run = t.xdd(*null, "-jsonout", "target", 0, here)
    t.ok(run.status == 3, "no target number", run)
    run = t.command(["sh", "-c", '"$@" -jsonout - >"$0"', file] + t.xdd_words("-op", "read", "-targets", 1, file,
                                                                              "-reqsize", 1, "-numreqs", 1))
    t.ok(run.status == 2 and "-jsonout -: " + m.is_target(0) in run.err, "standard output is the target", run)


def test_locked_directory():
    """A file that may be written, in a directory in which none can be put in its place."""
    directory = t.path("locked")
    os.mkdir(directory)
    file = os.path.join(directory, "x.json")
    with open(file, "w", encoding="utf-8") as f:
        f.write("before")
    os.chmod(file, 0o666)
    os.chmod(directory, 0o555)
    os.chmod(t.tmp(), 0o755)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    if user and (not t.have("setpriv") or t.command(user + [t.XDD, "-version"]).status or
                 t.command(user + ["test", "-w", file]).status):
        t.skip("a locked directory", "no other user can come here")
    else:
        run = t.command(user + [t.XDD] + [str(a) for a in SMALL] + ["-jsonout", file])
        t.equal((run.status, "cannot create a file in the directory " + directory in run.err), (2, True),
                "a locked directory", run)
    os.chmod(directory, 0o755)


# The end of a run


def start(*args, env=None, out=subprocess.DEVNULL):
    return subprocess.Popen(t.xdd_words(*args), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL,
                            env=dict(os.environ, **(env or {})))


def twice(p, h):
    """Two signals, of which the second ends the process at once."""
    p.send_signal(signal.SIGINT)
    h.wait(p)
    time.sleep(0.1)  # a signal this soon after the first one is part of it
    p.send_signal(signal.SIGINT)


def interrupted(moment, begun, file, csv, data):
    """A run of three targets that gets SIGINT that long after its first line, or with `begun` after its first pass; its status."""
    p = start("-op", "read", "-op", "target", 2, "noop", "-targets", 3, data, "null", "null",
              *"-reqsize 1 -numreqs 20 -operationdelay .0003 -queuedepth 2 -passes 100000 -verbose".split(), "-csvout", csv,
              "-jsonout", file, out=subprocess.PIPE)
    for line in p.stdout:
        if not begun or b"TARGET_PASS" in line:
            break
    # The rest of the output must find room in the pipe.
    drain = threading.Thread(target=p.stdout.read, daemon=True)
    drain.start()
    time.sleep(moment)
    p.send_signal(signal.SIGINT)
    try:
        status = p.wait(timeout=t.TIMEOUT / 2)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        status = "it never ended"
    drain.join(10)
    p.stdout.close()
    return status


def test_interrupted():
    data, chance = t.make_file("data", 1 << 20), random.Random(6)
    bad, whole = [], 0
    for i in range(MOMENTS):
        file, csv = fresh(), fresh(".csv")
        moment = chance.uniform(0, 0.06)
        # A busy machine may take longer to come to the first operations.
        status = interrupted(moment, i % 4 > 0, file, csv, data)
        try:
            document = j.load(file)
            wrong = j.problems(document)
        except (OSError, ValueError) as why:
            wrong = [str(why)]
        if not wrong:
            combined = [int(r["OPS"]) for r in t.read_csv(csv) if r["WHAT"] == "COMBINED"]
            wrong += ["status %s" % status] if status != 5 or document["status"] != 5 else []
            wrong += [] if document["end"] == "canceled" and document["partial"] else ["the end"]
            wrong += [] if combined == [j.total(r) for r in j.rows(document, "COMBINED")] else ["not as in the CSV file"]
            whole += sum(combined) > 0
        bad += [(i, moment, wrong[:3])] if wrong else []
        if os.path.exists(file):
            os.unlink(file)
    t.equal(bad, [], "SIGINT at %d moments: always a whole document, with totals that come out" % MOMENTS)
    t.ok(whole >= MOMENTS * 3 // 4, "most of them during the run", whole)
    t.equal([f for f in os.listdir(t.tmp()) if ".json." in f], [], "and nothing else is left")


def fill(pipe):
    """Until nothing more fits into a pipe that does not block; how many bytes it took."""
    size = 0
    try:
        while size < 1 << 30:
            size += os.write(pipe, b"-" * 4096)
    except BlockingIOError:
        pass
    return size


def test_before():
    """A signal while the outputs are being opened, here by way of a pipe that is full: no target is touched."""
    fifo, target, file, text = fresh(".fifo"), t.path("untouched"), fresh(), fresh(".out")
    os.mkfifo(fifo)
    for again in (False, True):
        notes, pipe = fresh(".err"), os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        full = fill(pipe)
        with xddhold.at("output full:1", "signal taken:1") as h:
            with open(text, "wb") as out:
                p = start("-op", "write", "-targets", 1, target, "-reqsize", 4, "-numreqs", 10, "-csvout", fifo, "-jsonout",
                          file, "-errout", notes, out=out, env=h.env)
            h.wait(p)
            if again:
                twice(p, h)
            else:
                p.send_signal(signal.SIGINT)
                h.wait(p)
                full -= len(os.read(pipe, full))
                h.go()
            status = p.wait(timeout=t.TIMEOUT)
        rows = os.read(pipe, 1 << 20).decode()[full:].splitlines()
        os.close(pipe)
        t.equal((status, os.path.exists(target)), (5, False),
                "SIGINT before the run, %s: status 5, and nothing is begun" % ("twice" if again else "once"), status)
        if not again:
            document = j.check(file, "SIGINT before the run")
            t.ok(document and (document["end"], document["status"], document["partial"]) == ("canceled", 5, True) and
                 not document["results"] and "SIGINT: nothing is begun" in document["messages"][0]["text"],
                 "SIGINT before the run: the document says so", document)
            with open(text) as f:
                lines = f.read().splitlines()
            t.ok(len(rows) == 1 and rows[0].startswith("WHAT,") and lines[-1:] == [" This run was canceled"],
                 "SIGINT before the run: so do the other outputs", (rows, lines))
            os.unlink(file)
    t.ok(not os.path.exists(file), "SIGINT before the run, twice: nothing is left behind")


def test_signals():
    for number in (signal.SIGTERM, signal.SIGHUP):
        file = fresh()
        with xddhold.at("pass ended:1", "signal taken:1") as h:
            p = start(*"-op noop -targets 2 null null -numreqs 10 -passes 100000 -passdelay 10 -jsonout".split(), file,
                      out=subprocess.PIPE, env=h.env)
            h.wait(p)
            p.send_signal(number)
            h.wait(p)
        p.communicate(timeout=t.TIMEOUT)
        document = j.check(file, "signal %d, between passes" % number)
        t.ok(p.returncode == 5 and document and document["end"] == "canceled" and document["partial"],
             "signal %d: how it ended" % number)


def test_hang():
    env = s.faults("hang", start=256 * 1024, end=320 * 1024, file="stuck")
    if env is None:
        t.skip("a target that never answers", s.sys_why())
        return
    stuck, good, file = t.make_file("stuck", 1 << 20), t.make_file("good", 1 << 20), fresh()
    # The last operation of each target: all but the one that hangs are complete then, or will be.
    with xddhold.at("operation:15", "signal taken:1", env=dict(os.environ, **env)) as h:
        p = start("-op", "read", "-targets", 2, good, stuck, *"-reqsize 64 -numreqs 16 -queuedepth 4 -passes 3".split(),
                  "-jsonout", file, env=h.env)
        h.wait(p)
        h.wait(p)
        p.send_signal(signal.SIGINT)
        h.wait(p)
    status = p.wait(timeout=t.TIMEOUT)
    t.equal(status, 5, "a target that never answers: the run ends")
    document = j.check(file, "a target that never answers")
    if document:
        t.equal([r["outstanding"] for r in j.rows(document, "TARGET_AVERAGE")], [0, 1], "what is outstanding is counted")
        # The grace alone is 3 s.
        elapsed = [r["elapsed_ns"] for what in ("TARGET_AVERAGE", "COMBINED") for r in j.rows(document, what)]
        t.ok(elapsed[0] < 3e9 <= min(elapsed[1:]), "what hangs is part of the elapsed time", elapsed)
        t.ok(document["partial"] and any("outstanding" in m["text"] for m in document["messages"]), "and told",
             document["messages"])


# The environment


def test_environment():
    file = t.make_file("data", 65536)
    run, document = run_json("environment", "-op", "read", "-targets", 2, file, "null", *"-reqsize 4 -numreqs 2".split(),
                             "-verbose")
    env = document["environment"]
    name = os.uname()
    t.equal((env["kernel"]["release"], env["kernel"]["machine"], env["host"]["name"]),
            (name.release, name.machine, name.nodename), "the kernel")
    t.equal((env["processors"]["online"], env["processors"]["allowed"]),
            (os.sysconf("SC_NPROCESSORS_ONLN"), len(os.sched_getaffinity(0))), "the processors")
    t.equal((env["memory"]["page_bytes"], abs(env["memory"]["total_bytes"] - os.sysconf("SC_PAGE_SIZE") *
                                              os.sysconf("SC_PHYS_PAGES")) < 1 << 30),
            (os.sysconf("SC_PAGE_SIZE"), True), "the memory")
    t.ok("jansson" in env["build"]["libraries"] and env["build"]["version"] == document["xdd"] and
         re.search("gcc|clang", env["build"]["compiler"]), "the build", env["build"])
    fs, found = env["targets"][0]["file_system"], os.statvfs(file)
    t.ok(fs["block_bytes"] == found.f_frsize and fs["size_bytes"] == found.f_blocks * found.f_frsize, "the file system",
         fs)
    findmnt = t.command(["findmnt", "-n", "-o", "FSTYPE,TARGET", "-T", file]) if t.have("findmnt") else None
    # In a chroot neither findmnt nor xdd may see the mount.
    if findmnt and findmnt.status == 0 and "mount_point" in fs:
        t.equal([fs["type"], fs["mount_point"]], findmnt.out.split(), "its type and place")
    t.equal(set(env["targets"][1]), {"path"}, "nothing about the null device")
    lines = [line.split(", ", 2)[1:] for line in run.out.splitlines() if line.startswith("Environment, ")]
    t.ok(["kernel release", name.release] in lines and ["target 0 path", file] in lines and
         ["target 0 file system type", fs.get("type")] in lines, "-verbose shows it too", run)
    run = t.xdd(*SMALL)
    t.ok("Environment" not in run.out, "and without -verbose it is not shown", run)


def test_environment_in_chroot():
    """The mount of the target lies outside of what /proc/self/mountinfo shows."""
    if os.geteuid() or not t.have("chroot") or not t.have("ldd"):
        return t.skip("in a chroot", "not root, or no chroot and ldd")
    root, kind = t.path("root"), t.command(["stat", "-f", "-c", "%T", t.tmp()]).out.strip()
    for file in [t.XDD] + re.findall(r"(?:=> |^\t)(/\S+)", t.command(["ldd", t.XDD]).out, re.M):
        place = root + (file if file != t.XDD else "/xdd")
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy(file, place)
    os.mkdir(root + "/proc")
    if t.command(["mount", "-t", "proc", "proc", root + "/proc"]).status:
        return t.skip("in a chroot", "/proc cannot be mounted there")
    try:
        run = t.command(["chroot", root, "/xdd", "-op", "write", "-targets", "1", "/data", *"-reqsize 4 -numreqs 4".split(),
                         "-jsonout", "/out.json"])
    finally:
        t.command(["umount", root + "/proc"])
    if not t.ok(run.status == 0, "in a chroot", run):
        return None
    fs = j.check(root + "/out.json", "in a chroot")["environment"]["targets"][0]["file_system"]
    return t.ok(fs.get("type") and (fs["type"] in kind or kind in fs["type"] or fs["type"].startswith("0x") or
                                    kind.startswith("UNKNOWN")), "the kind of the file system, as stat -f has it", (fs, kind))


def test_environment_of_devices():
    directory = s.tmpfs("tmpfs", 1 << 20)
    if directory is None:
        t.skip("the environment of devices", s.sys_why())
        return
    _, document = run_json("tmpfs", "-op", "write", "-targets", 1, os.path.join(directory, "new"),
                           *"-reqsize 4 -numreqs 2".split())
    fs = document["environment"]["targets"][0]["file_system"]
    t.equal((fs["type"], fs["source"], fs["mount_point"], fs["size_bytes"]), ("tmpfs", "xddtest", directory, 1 << 20),
            "tmpfs, and a file that was not there")
    backing = s.sparse_file("backing", 1 << 20)
    device = s.loop_device(backing)
    if device is None:
        t.skip("the environment of a loop device", s.sys_why())
        return
    _, document = run_json("loop", "-op", "read", "-targets", -2, device, *"-reqsize 4 -numreqs 2".split())
    queue = "/sys/block/%s/queue/" % os.path.basename(device)

    def attribute(file):
        with open(queue + file, encoding="utf-8") as f:
            return f.read().strip()

    for target in document["environment"]["targets"]:
        found = target["device"]
        t.equal((found["name"], found["size_bytes"], found["logical_block_bytes"], found["rotational"],
                 found["nr_requests"], found["write_cache"], os.path.basename(found["backing_file"])),
                (os.path.basename(device), 1 << 20, int(attribute("logical_block_size")),
                 attribute("rotational") == "1", int(attribute("nr_requests")), attribute("write_cache"), "backing"),
                "a loop device")
        scheduler = re.search(r"\[(.*)\]", attribute("scheduler"))
        t.equal(found["scheduler"], scheduler.group(1) if scheduler else attribute("scheduler"), "its scheduler")


def test_descriptions():
    """xdd-json(5) is made of the schemas: each member has a meaning, its own or that of the part that it is."""
    for name in ("jsonout", "sweep", "copy"):
        schema, bare = j.schema(name + ".schema.json"), []

        def look(rules, place, schema=schema, bare=bare):
            for member, value in rules.get("properties", {}).items():
                part = schema["$defs"].get(value.get("$ref", "").rpartition("/")[2], {})
                if not value.get("description") and not part.get("description"):
                    bare.append(place + "." + member)
                look(value, place + "." + member)
            for inner in [rules[k] for k in ("items", "additionalProperties") if isinstance(rules.get(k), dict)] + rules.get("anyOf", []):
                look(inner, place)
        look(schema, "")
        for part, rules in schema["$defs"].items():
            look(rules, part)
        t.equal(bare, [], name + ": each member has a description")


t.run_all()
