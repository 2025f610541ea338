#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-rank, -ranks and -rankspernode: processes that are the ranks of one run; -mpi with one rank, without a launcher.
"""
import json
import os
import re
import threading

import xddjson
import xddmpi
import xddtest as t

NULL = "-op noop -targets 1 null -numreqs 4".split()


def test_shown():
    out = t.path("rank.json")
    run = t.xdd(*NULL, "-rank", 2, "-ranks", 4, "-rankspernode", 2, "-verbose", "-jsonout", out)
    doc = xddjson.load(out)
    t.ok(run.status == 0 and run.err == "" and "\nRank, 2 of 4\n" in run.out, "-verbose shows the rank", run)
    t.equal((doc["rank"], doc["ranks"], doc["plan"]["options"]["rankspernode"]), (2, 4, 2), "-jsonout has it as well")
    run = t.xdd(*NULL, "-verbose", "-jsonout", out)
    doc = xddjson.load(out)
    t.ok(run.status == 0 and "Rank" not in run.out and "rank" not in doc and "ranks" not in doc,
         "a run without ranks does not mention them", run)


def test_refused():
    for words, why in ((["-rank", 1], "-rank 1: must be less than the number of ranks (-ranks), 1"),
                       (["-ranks", 4, "-rank", 4], "-rank 4: must be less than the number of ranks (-ranks), 4"),
                       (["-ranks", 0], "-ranks 0:"), (["-rankspernode", 0], "-rankspernode 0:"), (["-rank", "x"], "-rank x:")):
        run = t.xdd(*NULL, *words)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and why in run.err and run.out == "", " ".join(map(str, words)), run)


def test_threads():
    """Limits of the host count for all of its ranks."""
    words = [*NULL, "-queuedepth", 4096, "-dryrun", "-rank", 0, "-ranks", 1 << 20, "-rankspernode"]
    t.equal(t.xdd(*words, 1).status, 0, "threads of one rank on each host")
    run = t.xdd(*words, 1 << 20)
    t.ok(run.status != 0 and len(run.error_lines()) == 1 and " threads: " in run.err, "threads of 2^20 ranks on a host", run)


def mpi(out, *words):
    return t.xdd(*NULL, "-mpi", "-jsonout", out, *words, env=xddmpi.environment(), cwd=t.tmp())


def test_wanted():
    """Ranks are started to run something, and say themselves how many they are."""
    if xddmpi.missing():
        t.skip("what starts ranks", xddmpi.missing())
        return
    for words in ("-h", "-help mpi", "-fullhelp", "-exthelp", "-version", "-ver"):
        run, alone = t.xdd("-mpi", *words.split(), env={"XDD_PLUGIN_DIR": "/nonexistent"}), t.xdd(*words.split())
        t.ok(alone.status == 0 and alone.out and (run.status, run.out, run.err) == (0, alone.out, ""),
             "%s prints once, without MPI" % words, run)
    for word in ("-mpi", "--mpi"):
        run = t.xdd(*NULL, word, env={"XDD_PLUGIN_DIR": "/nonexistent"})
        t.ok(run.status == 1 and run.out == "" and re.fullmatch(
            "xdd: -mpi: there is no /nonexistent/xdd-mpi.so: .*; XDD_PLUGIN_DIR names another directory\n", run.err), word, run)
    for words in ("-rank 0", "-ranks 1", "--ranks 1"):
        run = mpi("none", *words.split())
        t.equal((run.status, run.out, run.err), (2, "", "xdd: -mpi: cannot be given with -rank or -ranks: MPI says what they are\n"),
                words, run)


def test_document():
    """The document of all ranks replaces a file, and is written to what is none."""
    if xddmpi.missing():
        t.skip("the document of ranks", xddmpi.missing())
        return

    def described(doc):
        return doc["status"], doc["mpi"]["ranks"], [s["pass"] for s in doc["mpi"]["skews"]]

    run = mpi("-", "-rankspernode", 3)
    t.equal((run.status, run.err, described(json.loads(run.out))), (0, "", (0, 1, [1])), "standard output has it, and nothing else", run)
    t.make_file("mpi.json", 4)
    os.link(t.path("mpi.json"), t.path("before.json"))
    run = mpi("mpi.json")
    t.equal((run.status, run.err, described(xddjson.load(t.path("mpi.json"))), os.path.getsize(t.path("before.json"))),
            (0, "", (0, 1, [1]), 4), "a file is replaced", run)
    t.ok("\nRanks, 1, MPI, " in run.out and run.out.endswith(", start skew, 0.0, us, known to, 0.0, us, pass, 1, from rank, 0, to rank, 0\n"),
         "and standard output has the text", run)
    os.mkfifo(t.path("pipe"))
    texts = []

    def read():
        with open(t.path("pipe")) as f:
            texts.append(f.read())

    reader = threading.Thread(target=read)
    reader.start()
    run = mpi("pipe")
    reader.join()
    t.equal((run.status, run.err, described(json.loads(texts[0]))), (0, "", (0, 1, [1])), "a pipe is written to", run)
    run = mpi("/dev/full")
    t.equal((run.status, run.err), (6, "xdd: -jsonout /dev/full: No space left on device; the results are missing there\n"),
            "a document that is lost", run)


t.run(test_wanted, test_document, test_threads, test_shown, test_refused)
t.done()
