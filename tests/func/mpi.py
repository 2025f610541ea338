#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-mpi: processes that mpirun has started make one run, with one result, and end together.
"""
import json
import os
import re
import signal
import subprocess
import time

import xddmpi
import xddsys as s
import xddtest as t
from xddmpi import HOST, SMALL, environment, load, mpi, wait_until_up

xddmpi.needed()


def begun(n, name, **more):
    """A run of many passes whose ranks have all written to their files."""
    run = xddmpi.Ranks(n, "-mpi", "-op", "write", "-targets", 1, name + ".%r", *SMALL, "-passes", 1000000, "-passdelay", "0.1",
                       "-jsonout", name + ".json", **more)
    files = [t.path("%s.%d" % (name, i)) for i in range(n)]
    up = wait_until_up(run, lambda: all(os.path.exists(f) and os.path.getsize(f) == 1048576 for f in files) and len(run.children()) == n)
    t.ok(up, "%d ranks run" % n)
    return run


def test_one_result():
    run = mpi(4, "-op", "write", "-targets", 1, "one.%r", *SMALL, "-passes", 3, "-jsonout", "one.json")
    doc = load("one.json") if run.status == 0 else {}
    t.ok(run.status == 0 and run.lines == [] and run.out.count("Ranks, 4,") == 1, "4 ranks write one result", run)
    t.equal([os.path.getsize(t.path("one.%d" % i)) for i in range(4)], [1 << 20] * 4, "each has its own file")
    skews = doc["mpi"]["skews"]
    t.equal((doc["status"], len(doc["hosts"]), doc["mpi"]["ranks"], [s["pass"] for s in skews]), (0, 4, 4, [1, 2, 3]),
            "one document has all ranks, and the skew of each pass")
    t.ok(all(s["bound_ns"] < 1000000 and s["first_rank"] != s["last_rank"] for s in skews),
         "ranks of one host have one clock", skews)
    t.ok(doc["mpi"]["greatest_skew"]["skew_ns"] == max(s["skew_ns"] for s in skews), "the greatest skew is that of the passes")


def test_many():
    run = mpi(16, "-op", "write", "-targets", 1, "many.%r.of.%n.on.%h", *SMALL, "-passes", 2, "-jsonout", "-")
    doc = json.loads(run.out) if run.status == 0 else {"hosts": []}
    t.ok(run.status == 0 and len(doc["hosts"]) == 16, "16 ranks on few processors", run)
    t.ok(all(os.path.exists(t.path("many.%d.of.16.on.%s" % (i, HOST))) for i in range(16)), "placeholders are replaced")
    t.equal(sum(r["bytes"]["write"] for r in doc["results"] if r["what"] == "COMBINED"), 16 * 2 << 20, "the sum is that of all ranks")


def test_alone():
    run = t.command([t.XDD, "-mpi", "-op", "write", "-targets", "1", t.path("alone"), *SMALL], env=environment())
    t.ok(run.status == 0 and "Ranks, 1," in run.out, "without mpirun there is one rank", run)
    run = t.command([t.XDD, "-mpi", "-op", "write", "-target", t.path("alone"), *SMALL, "-readback"], env=environment())
    t.equal((run.status, run.err), (2, "xdd: -mpi: is for one run; choose a section with -section, and say -op read -verify contents in "
                                       "a run of its own in place of -readback\n"), "two runs are refused", run)


def test_dry_run():
    run = mpi(2, "-op", "write", "-targets", 1, "dry.%r", *SMALL, "-dryrun")
    t.ok(run.status == 0 and run.out.count("Dry run: nothing was opened") == 1 and not os.path.exists(t.path("dry.0")),
         "-dryrun shows one plan, and changes nothing", run)


def test_refused_by_all():
    run = mpi(4, "-op", "wrte", "-targets", 1, "wrong.%r")
    t.ok(run.status == 2 and len(run.lines) == 1 and run.lines[0].endswith("(all 4 ranks)"), "a mistake is reported once", run)


def test_refused_by_one():
    for i in (0, 1, 3):
        os.mkdir(t.path("dir%d" % i))
    run = mpi(4, "-op", "write", "-targets", 1, "dir%r/file", *SMALL)
    t.ok(run.status == 4 and len(run.lines) == 1 and run.lines[0].startswith("xdd: rank 2 on %s: " % HOST) and run.out == "",
         "an error of one rank ends all, with one message", run)
    t.ok(not any(os.path.exists(t.path("dir%d/file" % i)) for i in (0, 1, 3)), "no other rank has created anything")


def test_error_during_run():
    for i in range(4):
        os.symlink("/dev/full" if i == 2 else t.path("full.file%d" % i), t.path("full.%d" % i))
    begin = time.monotonic()
    run = mpi(4, "-op", "write", "-targets", 1, "full.%r", *SMALL, "-passes", 100000, "-passdelay", "0.1", "-stoponerror")
    t.ok(run.status == 6 and time.monotonic() - begin < 60 and any("rank 2 on" in l for l in run.lines),
         "-stoponerror on one rank ends the run of all", run)


def test_outputs():
    run = mpi(2, "-op", "write", "-targets", 1, "csv.%r", *SMALL, "-csvout", "csv.csv")
    t.ok(run.status == 2 and len(run.lines) == 1 and "csvout csv.csv: is an output of rank 0 and of rank 1" in run.lines[0] and
         not os.path.exists(t.path("csv.csv")), "two ranks cannot have one file", run)
    run = mpi(2, "-op", "write", "-targets", 1, "csv.%r", *SMALL, "-csvout", "csv.%r.csv", "-output", "csv.%r.txt")
    t.ok(run.status == 0 and all(os.path.getsize(t.path("csv.%d.%s" % (i, s))) for i in (0, 1) for s in ("csv", "txt")),
         "with %r each has its own", run)


def test_options_refused():
    for words, why in ((["-rank", 1], "-mpi: cannot be given with -rank"), (["-id", "%q"], "%q")):
        run = mpi(2, "-op", "noop", "-targets", 1, "null", "-numreqs", 1, *words)
        t.ok(run.status == 2 and len(run.lines) == 1 and why in run.lines[0], " ".join(map(str, words)), run)
    run = mpi(2, "--rw=read", "--filename=words.%r", "--size=1m")
    t.ok(run.status in (2, 3) and "try: xdd -mpi -op read -target words.%r -bytes 1m (all 2 ranks)" in run.err and "-rank " not in run.err,
         "words of fio: the proposal has the words of the user", run)
    for words, line in (("-w -F -t 64k -b 128k -o words", "try: xdd -mpi -op write -bs 64k -target words.%r -bytes 128k (all 2 ranks)"),
                        ("-r -C -t 64k -b 128k -o words", "try: xdd -mpi -op read -bs 64k -blockperrank 128k -target words -reorder (all 2 ranks)"),
                        ("-w -r -t 64k -b 128k -o words", "try, without -r: xdd -mpi -op write -bs 64k -blockperrank 128k -target words (all 2 ranks)")):
        run = mpi(2, *words.split())
        t.ok(run.status == 3 and line in run.err, "words of IOR: " + words, run)
    for words, wanted in (([], 4), (["-rankspernode", 2], 2)):
        run = mpi(4, "-op", "noop", "-targets", 1, "null", "-numreqs", 1, *words, "-jsonout", "node.json")
        t.ok(run.status == 0 and load("node.json")["plan"]["options"]["rankspernode"] == wanted, "-rankspernode of MPI, or as given: %s" % words, run)
    with open(t.path("setup"), "w") as f:
        f.write("-mpi")
    run = t.xdd("-op", "noop", "-targets", 1, "null", "-numreqs", 1, "-setup", t.path("setup"))
    t.ok(run.status == 2 and "-mpi: must be on the command line" in run.err, "-mpi in a setup file", run)


def killed(name, ranks):
    """
    The run whose ranks are killed at one moment, when all stand still. mpirun does too until the others have ended:
    it kills all ranks as soon as it sees that one has ended.
    """
    run = begun(4, name)
    processes = run.children()
    t.ok(all([s.stop(pid) for pid in [run.process.pid, *processes]]), "%s: all stand still" % name)
    for rank in ranks:
        os.kill(processes[rank], signal.SIGKILL)
    t.ok(t.until(lambda: all(s.has_ended(processes[rank]) for rank in ranks)), "%s: the processes end" % name)
    # Rank 0 last: it sees that all others have ended, and which of them had a reason.
    for rank in sorted(set(range(4)) - set(ranks), reverse=True):
        os.kill(processes[rank], signal.SIGCONT)
        t.ok(t.until(lambda rank=rank: s.has_ended(processes[rank])), "%s: rank %d ends" % (name, rank))
    os.kill(run.process.pid, signal.SIGCONT)
    return run.wait()


def test_killed():
    run = killed("killed", [2])
    t.ok(run.status != 0 and "xdd: rank 2 on %s is gone: its process has ended; the run ends" % HOST in run.lines,
         "a rank that is killed ends all, and is named", run)
    run = killed("both", [1, 2])
    t.ok(run.status != 0 and "xdd: rank 1 on %s is gone: its process has ended, as has rank 2; the run ends" % HOST in run.lines,
         "two that are killed are both named", run)


def test_frozen():
    run = begun(4, "frozen")
    frozen = run.children()[3]
    os.kill(frozen, signal.SIGSTOP)
    # mpirun waits for that process too, until it gets what mpirun sends.
    t.ok(t.until(lambda: len([p for p in run.children() if p != frozen]) == 0), "ranks end without one that does not answer")
    try:
        os.kill(frozen, signal.SIGKILL)
    except ProcessLookupError:
        pass
    run.wait()
    t.ok(run.status != 0 and any("rank 3 on %s is gone: it has not been heard of" % HOST in l for l in run.lines),
         "the message names it", run)


def test_interrupted():
    # mpirun waits for so long, and kills what has not ended then.
    run = begun(4, "int", OMPI_MCA_odls_base_sigkill_timeout="10")
    run.process.send_signal(signal.SIGINT)
    run.wait()
    # Each rank has a message, unless it has ended when mpirun comes to it. Rank 0 joins equal ones that come within half a second.
    lines = [l for l in run.lines if "SIGTERM" in l]
    counts = [int(n) for l in lines for n in re.findall(r"\((?:all )?(\d) (?:of 4 )?ranks", l) or [1]]
    t.ok(run.out.count("Ranks, 4,") == 1 and 1 <= sum(counts) <= 4 and any("SIGTERM: no further operations are issued" in l for l in lines),
         "Ctrl-C at mpirun: one result of what was done, and each rank has one message at most", run)
    doc = load("int.json") if os.path.exists(t.path("int.json")) else {}
    t.equal((doc.get("partial"), len(doc.get("hosts", []))), (True, 4), "the document says so", run)


def test_clocks():
    script = t.path("namespace")
    with open(script, "w") as f:
        f.write("#!/bin/sh\nif [ $((OMPI_COMM_WORLD_RANK % 2)) = 1 ]; then\n"
                "\texec unshare -T --monotonic 100000 --boottime 100000 \"$@\"\nfi\nexec \"$@\"\n")
    os.chmod(script, 0o755)
    if os.geteuid() or subprocess.run(["unshare", "-T", "true"], stderr=subprocess.DEVNULL).returncode:
        t.skip("clocks that differ", "no time namespaces, or not root")
        return
    run = mpi(4, "-op", "write", "-targets", 1, "clock.%r", *SMALL, "-passes", 2, "-jsonout", "clock.json", before=[script])
    doc = load("clock.json") if run.status == 0 else {"mpi": {"skews": []}}
    skews = doc["mpi"]["skews"]
    # Releases are within seconds of each other even on a busy machine; the clocks differ by a day.
    t.ok(run.status == 0 and len(skews) == 2 and all(s["skew_ns"] < 60e9 and s["bound_ns"] < 10e9 for s in skews),
         "clocks that differ by a day are compared", run)
    clocks = [host["clock"] for host in doc.get("hosts", [])]
    t.ok([c["source"] for c in clocks] == ["mpi"] * 4 and all(clocks[i]["bound_ns"] > 5000 for i in (1, 3)),
         "the document has their source and bounds", clocks)


def fake(name, text):
    directory = t.path(name)
    os.mkdir(directory)
    s.library(name, text, "-I", os.path.join(os.environ["TOP_SRCDIR"], "include"), made=os.path.join(directory, "xdd-mpi.so"))
    return directory


def test_plugins():
    os.mkdir(t.path("empty"))
    words = ["-mpi", "-op", "noop", "-targets", "1", "null", "-numreqs", "1"]
    other = fake("other", '#include "xdd/sync/mpi_plugin.h"\n'
                          "const struct xdd_mpi xdd_mpi_plugin = { .abi = XDD_MPI_ABI + 1, .bytes = sizeof(struct xdd_mpi) };\n")
    none = fake("none", "int nothing;\n")
    for directory, why in ((t.path("empty"), "there is no %s/xdd-mpi.so: " % t.path("empty")),
                           (other, "is of another version of xdd (interface 3, expected 2)"), (none, "is not a plugin of xdd")):
        run = t.command([t.XDD, *words], env=environment(XDD_PLUGIN_DIR=directory))
        t.ok(run.status == 1 and len(run.error_lines()) == 1 and why in run.err and run.out == "", why, run)
    run = mpi(3, *words[1:], XDD_PLUGIN_DIR=t.path("empty"))
    # mpirun ends all ranks as soon as one has ended.
    t.ok(run.status == 1 and 1 <= len(run.lines) <= 3 and all("there is no" in l for l in run.lines), "all ranks lack it: they say so", run)
    script = t.path("lacks")
    with open(script, "w") as f:
        f.write("#!/bin/sh\n[ $OMPI_COMM_WORLD_RANK = 1 ] && export XDD_PLUGIN_DIR=%s\nexec \"$@\"\n" % t.path("empty"))
    os.chmod(script, 0o755)
    run = mpi(3, *words[1:], before=[script])
    t.ok(run.status == 1 and len(run.lines) == 1 and "rank 1 on %s: there is no %s/xdd-mpi.so: " % (HOST, t.path("empty")) in run.err,
         "one rank lacks it: it is named", run)
    run = t.command([t.XDD, *words], env=environment(PMI_RANK="1", PMI_SIZE="2"))
    t.ok(run.status == 1 and len(run.error_lines()) == 1 and "the launcher has started 2 processes, and MPI sees one: " in run.err,
         "the launcher of another MPI: each rank says so", run)
    run = t.command([t.XDD, "-mpi", "-help", "rank"], env=environment(XDD_PLUGIN_DIR=t.path("empty")))
    t.ok(run.status == 0, "-help needs no plugin", run)
    # A library in the current directory is not the program's.
    run = t.command([t.XDD, *words], env=environment(XDD_PLUGIN_DIR="."), cwd=other)
    t.ok("another version" not in run.err, "the current directory is not searched", run)


t.run_together(test_one_result, test_many, test_alone, test_dry_run, test_refused_by_all, test_refused_by_one,
               test_error_during_run, test_outputs, test_options_refused, test_killed, test_frozen, test_interrupted,
               test_clocks, test_plugins)
t.done()
