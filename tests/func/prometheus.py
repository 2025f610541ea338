#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-intervals prometheus: the file is OpenMetrics text at each moment, its counters never fall and end as the results do, the
last state has the exit status, labels keep any name, several files and ranks, and what is refused. promtool reads it where
it is installed.
"""
import json
import os
import random
import shutil
import signal
import subprocess

import messages as m
import xddjson as j
import xddmetrics
import xddtest as t

t.virtual_time()
t.tolerate(m.REACHES)

BAD_ARGUMENT, CANCELED, IO_ERROR = 2, 5, 6
INTERRUPTED = "xdd: note: signal 2, SIGINT: no further operations are issued; once more ends at once\n"
SEED = int(os.environ.get("XDD_TEST_SEED") or random.randrange(1 << 30))


def read(file, title):
    with open(file, "rb") as f:
        data = f.read()
    try:
        return xddmetrics.parse(data)
    except (xddmetrics.Fault, UnicodeDecodeError) as fault:
        t.ok(False, title + ": OpenMetrics text", "%s\n%s" % (fault, data[:3000]))
        raise


def counters(families):
    return {(f.name, key): value for f in families.values() if f.type != "gauge" for key, value in f.samples.items()}


def test_results():
    """The last state has the figures of the document."""
    file, document = t.path("end.prom"), t.path("end.json")
    data = t.make_file("device", 1 << 20)
    run = t.xdd(*"-rwratio 60 -reqsize 4 -numreqs 90 -passes 2 -targets 2".split(), data, t.make_file("other", 1 << 20),
                "-intervals", "10ms", "prometheus", file, "-jsonout", document, device="/device 700000")
    t.equal((run.status, run.err), (0, ""), "a run", run)
    families, result = read(file, "the end"), {r["target"]: r for r in j.load(document)["results"] if r["what"] == "TARGET_AVERAGE"}
    for name, member in (("xdd_ops", "ops"), ("xdd_bytes", "bytes")):
        t.equal(xddmetrics.values(families, name, "_total"),
                {(str(k), d): r[member][d] for k, r in result.items() for d in ("read", "write")}, name + ": the sums of all passes")
    t.equal(xddmetrics.values(families, "xdd_errors", "_total"), {("0", None): 0, ("1", None): 0}, "no errors")
    busy = xddmetrics.values(families, "xdd_busy_seconds", "_total")
    t.equal({k: round(v * 1e9) for k, v in busy.items()},
            {(str(k), d): r["busy_ns"][d] for k, r in result.items() for d in ("read", "write")}, "times in seconds")
    t.equal(xddmetrics.values(families, "xdd_latency_seconds", "_count"), xddmetrics.values(families, "xdd_ops", "_total"),
            "each operation is in the histogram")
    t.equal(xddmetrics.values(families, "xdd_latency_seconds", "_sum"), busy, "and its time")
    t.equal((families["xdd_running"].samples.popitem()[1], families["xdd_exit_status"].samples.popitem()[1]), (0, 0), "it ended, and how")
    t.equal({dict(labels)["host"] for f in families.values() for _, labels in f.samples}, {os.uname().nodename}, "the host")
    t.equal({dict(labels)["rank"] for f in families.values() for _, labels in f.samples}, {"0"}, "the rank")
    t.equal({f.name: f.unit for f in families.values() if f.unit}.get("xdd_bytes"), "bytes", "a unit")


def test_while_it_runs():
    """A reader that opens the file again and again, in real time, and then ends the run."""
    file = t.path("live.prom")
    p = subprocess.Popen(t.xdd_words(*"-op noop -targets 2 null null -reqsize 1 -operationdelay 100us -timelimit 0.05 -passes 100000 -intervals 2ms prometheus".split(), file,
                                     "-output", "/dev/null"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    states, before, fell = 0, {}, []
    running = set()
    while p.poll() is None:
        if not os.path.exists(file):
            continue
        families = read(file, "state %d" % states)
        now = counters(families)
        fell += [key for key, value in before.items() if now.get(key, -1) < value]
        running.add(families["xdd_running"].samples.popitem()[1])
        before, states = now, states + 1
        if states == 40:
            p.send_signal(signal.SIGINT)
    err = p.stderr.read().decode()
    t.equal((p.returncode, err), (CANCELED, INTERRUPTED), "the run")
    t.ok(1 in running, "states were read", running)
    t.equal(fell, [], "no counter fell, and no series was lost")
    t.equal(read(file, "the end")["xdd_running"].samples.popitem()[1], 0, "the last one says that it ended")
    t.equal([n for n in os.listdir(t.tmp()) if n.startswith("live.prom.")], [], "no temporary file is left")


def test_status():
    file = t.path("status.prom")
    with open(t.path("short"), "wb") as f:
        f.write(bytes(1 << 16))
    run = t.xdd("-op", "read", "-target", t.path("short"), "-reqsize", "4", "-numreqs", "100", "-timelimit", "5", "-intervals", "1",
                "prometheus", file)
    families = read(file, "errors")
    t.equal(families["xdd_exit_status"].samples.popitem()[1], run.status, "the exit status of a run with errors")
    t.ok(run.status and sum(xddmetrics.values(families, "xdd_errors", "_total").values()) > 0, "its errors", run)
    stopped = t.path("stopped.prom")
    p = subprocess.Popen(t.xdd_words(*"-op noop -target null -runtime 60 -intervals 5ms prometheus".split(), stopped),
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    t.until(lambda: os.path.exists(stopped) and sum(xddmetrics.values(read(stopped, "stopped"), "xdd_ops", "_total").values()), p)
    p.send_signal(signal.SIGINT)
    status = p.wait()
    t.equal((status, read(stopped, "stopped")["xdd_exit_status"].samples.popitem()[1]), (CANCELED, CANCELED), "a run that is stopped")


def test_labels():
    """Names with any bytes that a file name may have."""
    rng = random.Random(SEED)
    names = ['a "quoted" name', "back\\slash\\n", "new\nline", "tab\tbell\a", "\u00e4\u4e2d", "}", 'x",le="1', "trailing\\"]
    names += ["".join(rng.choice('\\"\n{},= ab\u20ac') for _ in range(rng.randint(1, 30))).strip() or "x" for _ in range(8)]
    for n, name in enumerate(names):
        file, data = t.path("label.prom"), t.make_file("%d " % n + name, 1 << 16)
        run = t.xdd("-op", "read", "-reqsize", "4", "-numreqs", "4", "-target", data, "-intervals", "1", "prometheus", file)
        got = {dict(labels).get("name") for _, labels in read(file, repr(name))["xdd_ops"].samples}
        t.equal((run.status, got), (0, {data}), "seed %d: %r" % (SEED, name), run)
    file, raw = t.path("raw.prom"), os.fsencode(t.path("bad")) + b"\xff\xc3("
    with open(raw, "wb") as f:
        f.write(bytes(1 << 16))
    t.xdd("-op", "read", "-reqsize", "4", "-numreqs", "4", "-target", os.fsdecode(raw), "-intervals", "1", "prometheus", file)
    t.equal({dict(labels)["name"] for _, labels in read(file, "bytes")["xdd_ops"].samples},
            {raw.replace(b"\xff", b"\xef\xbf\xbd").replace(b"\xc3", b"\xef\xbf\xbd").decode()}, "bytes that are no text")


def test_outputs():
    """With the rows in a file; one file for each rank."""
    file, rows = t.path("both.prom"), t.path("both.csv")
    run = t.xdd(*"-op noop -target null -numreqs 100 -intervals 1 output".split(), rows, "prometheus", file)
    t.equal((run.status, os.path.getsize(rows) > 100, len(read(file, "both")) > 5), (0, True, True), "both outputs", run)
    run = t.xdd(*"-op noop -target null -numreqs 100 -intervals prometheus".split(), file)
    t.ok(run.status == 0 and "START" not in run.out, "without a length, and without a table in the text", run)
    os.chmod(file, 0o640)
    t.xdd(*"-op noop -target null -numreqs 100 -intervals prometheus".split(), file)
    t.equal(os.stat(file).st_mode & 0o777, 0o640, "a file that is replaced keeps its mode")
    for rank in ("0", "1"):
        words = "-op noop -target null -numreqs 10 -rank".split() + [rank, "-ranks", "2"]
        run = t.xdd(*words, "-intervals", "prometheus", t.path("rank%s.prom" % rank))
        t.equal((run.status, {dict(labels)["rank"] for _, labels in read(t.path("rank%s.prom" % rank), "a rank")["xdd_ops"].samples}),
                (0, {rank}), "the rank is a label", run)


def test_refused():
    file = t.path("x.prom")
    os.mkfifo(t.path("pipe"))
    for path, want in (("/dev/null", "is not a regular file"), ("/dev/full", "is not a regular file"), ("-", "is not a regular file"),
                       (t.path("pipe"), ""), (t.tmp(), ""), (t.path("no/x.prom"), "there is no directory")):
        run = t.xdd(*"-op noop -target null -numreqs 10 -intervals prometheus".split(), path)
        t.equal((run.status, run.out, len(run.error_lines()), "-intervals prometheus " + path in run.err and want in run.err),
                (BAD_ARGUMENT, "", 1, True), path, run)
    run = t.xdd(*"-op noop -target null -numreqs 10 -intervals prometheus".split(), file, "-jsonout", file)
    t.equal((run.status, len(run.error_lines())), (BAD_ARGUMENT, 1), "two outputs to one file", run)


def fill(name):
    """Write until the disk is full."""
    with open(name, "ab", buffering=0) as f:
        try:
            while f.write(bytes(1 << 10)):
                pass
        except OSError:
            pass


def test_full_disk():
    """Writes fail before or during the run: one line, the file before stays whole, and the results are there."""
    directory, out = t.path("small"), t.path("full.out")
    os.mkdir(directory)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", directory], stderr=subprocess.DEVNULL,
                                      check=False).returncode:
        t.skip("a full disk", "needs root and mount")
        return
    file, rest = directory + "/x.prom", directory + "/fill"
    try:
        fill(rest)
        run = t.xdd(*"-op noop -target null -numreqs 10 -intervals prometheus".split(), file)
        t.equal((run.status, m.NO_SPACE in run.err, len(run.error_lines()), os.listdir(directory)), (BAD_ARGUMENT, True, 1, ["fill"]),
                "full at the start", run)
        os.remove(rest)
        with open(out, "wb") as f:
            p = subprocess.Popen(t.xdd_words(*"-op noop -target null -operationdelay 100us -runtime 1 -intervals 5ms prometheus".split(), file), stdout=f,
                                 stderr=subprocess.PIPE)
        t.until(lambda: os.path.exists(file), p)
        while p.poll() is None:
            fill(rest)
        err = p.communicate()[1].decode()
        t.equal((p.returncode, m.NO_SPACE in err, len(err.splitlines()), "-intervals prometheus " + file in err), (IO_ERROR, True, 1, True),
                "full during the run: one line", err)
        with open(out, encoding="utf-8") as f:
            t.ok("COMBINED" in f.read(), "the results are there")
        t.equal(read(file, "the last state that fit")["xdd_running"].samples.popitem()[1], 1, "the file is whole")
    finally:
        subprocess.run(["umount", directory], check=True)


def test_promtool():
    tool = shutil.which("promtool") or os.environ.get("PROMTOOL")
    if not tool:
        t.skip("promtool", "not installed")
        return
    file = t.path("tool.prom")
    t.xdd(*"-op noop -targets 2 null null -numreqs 100 -intervals prometheus".split(), file)
    with open(file, "rb") as f:
        run = subprocess.run([tool, "check", "metrics"], stdin=f, capture_output=True, check=False)
    # It reads the older text format, where the metadata of a counter has its whole name, as its samples have.
    t.equal({line for line in (run.stdout + run.stderr).decode().splitlines() if not line.endswith("_total no help text")}, set(),
            "promtool check metrics", run)


def test_dashboard():
    """Each metric that the dashboard names is one that a run writes."""
    import re
    with open(os.path.join(os.environ["TOP_SRCDIR"], "contrib", "grafana-xdd.json"), encoding="utf-8") as f:
        board = json.load(f)
    file = t.path("board.prom")
    t.xdd(*"-op noop -target null -numreqs 100 -intervals prometheus".split(), file)
    families = read(file, "the run")
    have = {f.name + suffix for f in families.values() for suffix in xddmetrics.SUFFIXES[f.type]}
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])] + \
        [v["query"] for v in board["templating"]["list"] if v["type"] == "query"]
    named = {name for text in asked for name in re.findall(r"xdd_[a-z_]+", text)}
    t.equal((named - have, len(named) >= 6), (set(), True), "its metrics are there")
    ids = [panel["id"] for panel in board["panels"]]
    t.equal(len(set(ids)), len(ids), "its panels have numbers of their own")


t.run_all()
