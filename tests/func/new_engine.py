#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The engine that CONTRIBUTING shows: the build compiles its lines, with a line in the registry, into tests/lib/xdd-example.
"""
import json
import os

import messages as m
import xddsys as s
import xddtest as t

XDD = os.path.join(os.environ["TOP_BUILDDIR"], "tests", "lib", "xdd-example")
SIZE = "-reqsize 4 -numreqs 256 -dp sequenced -queuedepth 4"

os.chdir(t.tmp())


def xdd(words):
    return t.command([XDD] + words.split())


def test_declared():
    run = xdd("-ioengine list")
    t.ok("\npvsync2   yes  preadv2 and pwritev2\n" in run.out, "-ioengine list shows pvsync2 and its help", run)
    run = xdd("-help ioengine")
    t.ok("\n        hipri\n            pvsync2: poll for the completion of each call\n" in run.out,
         "-help ioengine shows hipri with the name of its engine", run)
    run = xdd("-op read -targets 1 data -ioengine psync hipri")
    t.equal((run.status, run.err.strip()),
            (2, "xdd: -ioengine hipri: %s (argument 6)" % m.keyword_of_another("pvsync2", "psync")),
            "psync refuses hipri and names its engine")
    run = t.xdd("-op", "read", "-targets", 1, "data", "-ioengine", "pvsync2")
    t.equal(run.status, 3, "xdd without the example refuses pvsync2")


def test_moves_data():
    run = xdd("-op write -targets 1 data -ioengine pvsync2 %s -jsonout run.json" % SIZE)
    t.equal((run.status, run.err), (0, ""), "-op write with pvsync2 exits 0 without a message")
    with open("run.json") as f:
        t.equal(json.load(f)["plan"]["targets"][0]["resolved"]["engine"], "pvsync2", "-jsonout names pvsync2")
    run = t.xdd(*("-op read -targets 1 data -verify contents " + SIZE).split())
    t.equal((run.status, run.err), (0, ""), "-verify contents with psync finds the data that pvsync2 wrote")
    run = xdd("-op read -targets 1 data -ioengine pvsync2 hipri -verify contents " + SIZE)
    t.equal((run.status, run.err), (0, ""), "-verify contents with pvsync2 hipri finds the same data")


def test_tail():
    run = xdd("-op write -targets 1 odd -ioengine pvsync2 -dio -bytes 100001 -reqsize 8")
    t.equal((run.status, os.path.getsize("odd")), (0, 100001), "-dio writes an amount that is no whole sector", run)


def test_system_calls():
    if not s.can_trace():
        return t.skip("the system calls", s.sys_why())
    run = t.command(s.strace("calls", "preadv2") + [XDD, "-op", "read", "-targets", "1", "data",
                     "-ioengine", "pvsync2", "hipri", "-reqsize", "4", "-numreqs", "16"])
    with open("calls") as f:
        calls = [line for line in f if "preadv2(" in line and "RWF_HIPRI" in line]
    t.equal((run.status, len(calls)), (0, 16), "each operation is a preadv2() with RWF_HIPRI")


t.run_all()
