#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-rank, -ranks and -rankspernode: processes that are the ranks of one run.
"""
import xddjson
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


t.run(test_threads, test_shown, test_refused)
t.done()
