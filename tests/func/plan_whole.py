#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
All that -dryrun says of many command lines, or why they are refused. plan_whole.txt has the command lines, each with its
status and the lines that it should print and that plain commands do not (xddwhole.py).
"""
import os
import re
import shlex
import struct

import xddtest as t
import xddwhole

# These depend on the machine.
LINES = re.compile(r"Environment, |Starting time for this run|Computer Name|OS release|Machine hardware|Number of proc|Page size in|"
                   r"Number of physical|Megabytes of physical|Clock Ticks|\t+Process ID, |IOIO|Dry run: |Size of ")

HEAD = "==== "
PLAIN = ["%s -reqsize 4 -numreqs 8" % words for words in ("-op read -targets 1 data", "-op write -targets 1 new", "-op read -targets 1 null",
                                                       "-op read -targets 2 data small")]


def directory():
    os.makedirs(t.path("dir"))
    pattern = b"".join(struct.pack("<Q", n) for n in range(8192))
    for name, data in (("data", pattern * 4), ("small", pattern), ("seq", pattern), ("empty", b""), ("note", b"not to be changed\n"),
                       ("setup", b"# a setup file\n-reqsize 2\n-id 'from a file' -passes 2\n"),
                       ("bad.cfg", b"-reqsize 2\n-numreqs none\n"),
                       ("list", b"".join(b"%d %d 4 r 0 0\n" % (n, 8 * n) for n in range(4)))):
        with open(t.path(name), "wb") as f:
            f.write(data)
    os.mkfifo(t.path("fifo"))


def said(line):
    """The status, and the lines that do not depend on the machine, warnings among them."""
    run = t.command([t.XDD, *shlex.split(line), "-dryrun"], cwd=t.tmp(), env={"TZ": "UTC"}, tolerate="")
    texts = run.warnings + run.err.splitlines() + run.out.replace(t.XDD, "xdd").splitlines()
    return run.status, [text for text in texts if text.strip() and not LINES.match(text)]


def test_plans():
    directory()
    plain = {text for line in PLAIN for text in said(line)[1]}
    got = []
    for line in xddwhole.lines_of("plan_whole.txt"):
        if line.startswith(HEAD):
            words = line[len(HEAD):].split(": ", 1)[1]
            status, texts = said(words)
            got += ["%s%d: %s" % (HEAD, status, words), *(text for text in texts if text not in plain)]
    xddwhole.compare("plan_whole.txt", got, "plans are what they should be")


t.run_all()
