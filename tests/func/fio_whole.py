#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd fio: all that the translations of the job files of tests/fio say: commands, titles, notes, what is left out, and what is
refused, with -leaveout too. What they should say is in fio_whole.txt (xddwhole.py); fioexamples.py shows that it is right.
"""
import os
import re
import shutil

import xddtest as t
import xddwhole

TOP = os.environ["TOP_SRCDIR"]
JOBS = os.path.join(TOP, "tests", "fio")
ENVIRONMENT = {"DIRECTORY": ".", "KIND": "randwrite", "DEPTH": "4", "BLOCK": "8k", "PROCESSOR": "1", "MASK": "2", "NODE": "0"}


def said(file):
    """The lines of a job file, and again without each setting that is refused."""
    left, lines = [], ["==== " + file]
    while True:
        run = t.command([t.XDD, "fio", file, *(["-leaveout", ",".join(left)] if left else [])], cwd=t.tmp(), env=ENVIRONMENT)
        lines += run.out.splitlines() + run.err.splitlines()
        refused = re.search(r"-leaveout (\w+) translates without it$", run.err)
        if not refused or refused[1] in left:
            return lines + ["==== status %d" % run.status]
        left.append(refused[1])


def test_translations():
    for file in os.listdir(JOBS):
        shutil.copy(os.path.join(JOBS, file), t.tmp())
    for name in ("there1", "there2"):
        t.make_file(name, 1 << 20)
    got = [line for file in sorted(os.listdir(JOBS)) if file.endswith(".fio") for line in said(file)]
    xddwhole.compare("fio_whole.txt", got, "translations say what they should")


t.run_all()
