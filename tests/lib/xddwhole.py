# SPDX-License-Identifier: GPL-2.0-or-later
"""
All that the program says in fixed cases, held against a file beside the test. Where the program is changed on purpose,
"XDD_TEST_WRITE=<file>" writes there what it says now: read its difference from the file before it takes its place.

    xddwhole.compare("report_whole.txt", lines, "pages say what they should")

A file may have the cases themselves: lines "==== <status>: <words of a command>", each with what the command says below it.
"""
import difflib
import json
import os
import re
import shlex
import struct

import xddtest as t

# A suite may be confined to other processors.
if 0 not in os.sched_getaffinity(0):
    t.skip_all("commands of the files name processor 0, which this process may not use")

FUNC = os.path.join(os.environ["TOP_SRCDIR"], "tests", "func")


def lines_of(file):
    with open(os.path.join(FUNC, file), encoding="utf-8") as f:
        return f.read().split("\n")[:-1]


def compare(file, got, title):
    where = os.environ.get("XDD_TEST_WRITE")
    if where:
        with open(where, "w", encoding="utf-8") as f:
            f.write("\n".join(got) + "\n")
    wanted = lines_of(file)
    t.ok(got == wanted, title, "\n".join(difflib.unified_diff(wanted, got, "wanted", "got", n=1, lineterm="")))


# ---- documents ----

def known(value):
    """The value without members that are unknown."""
    if isinstance(value, dict):
        return {name: known(member) for name, member in value.items() if member is not None}
    return [known(member) for member in value] if isinstance(value, list) else value


def lines_of_members(document):
    """A line for each member of a document, and for each element of a list."""
    return ["%s: %s" % (name, json.dumps(part)) for name, value in document.items()
            for part in (value if isinstance(value, list) else [value])]


# ---- runs in virtual time ----

def in_virtual_time():
    """Call it first in a test of such runs: they use files for direct I/O, and all that they say is compared."""
    os.environ["TZ"] = "UTC"
    t.virtual_time()
    if t.FOR_PLACE:
        t.skip_all("direct I/O on a file system of a disk: messages name what this one is on")
    t.look_at_all_warnings()


def make_devices(directory):
    """The files that stand for devices: dev.a and dev.b, with 1 MiB each."""
    for name in "ab":
        with open(os.path.join(directory, "dev." + name), "wb") as f:
            f.write(bytes(range(256)) * 4096)


# ---- files of commands ----

HEAD = "==== "

# These lines depend on the machine; PLAIN has commands whose lines other commands have as well.
LINES = re.compile(r"Environment, |Starting time for this run|Computer Name|OS release|Machine hardware|Number of proc|Page size in|"
                   r"Number of physical|Megabytes of physical|Clock Ticks|\t+Process ID, |IOIO|Dry run: |Size of ")
PLAIN = ["%s -reqsize 4 -numreqs 8 -dryrun" % words for words in (
    "-op read -targets 1 data", "-op write -targets 1 new", "-op read -targets 1 null", "-op read -targets 2 data small")]


def make_files():
    """The files that the commands find."""
    os.makedirs(t.path("dir"))
    pattern = b"".join(struct.pack("<Q", n) for n in range(8192))
    for name, data in (("data", pattern * 4), ("small", pattern), ("seq", pattern), ("empty", b""), ("note", b"not to be changed\n"),
                       ("setup", b"# a setup file\n-reqsize 2\n-id 'from a file' -passes 2\n"),
                       ("bad.cfg", b"-reqsize 2\n-numreqs none\n"),
                       ("list", b"".join(b"%d %d 4 r 0 0\n" % (n, 8 * n) for n in range(4)))):
        with open(t.path(name), "wb") as f:
            f.write(data)
    os.mkfifo(t.path("fifo"))


def said(words):
    """The status of a command, and its lines that do not depend on the machine, warnings among them."""
    run = t.command([t.XDD, *shlex.split(words)], cwd=t.tmp(), env={"TZ": "UTC", "XDDCP_SSH": "false"})
    others = [line for line in run.err.splitlines() if line not in run.warnings]
    texts = run.warnings + others + run.out.replace(t.XDD, "xdd").splitlines()
    return run.status, [text for text in texts if text.strip() and not LINES.match(text)]


def compare_commands(file, title, more=""):
    """Run the commands that the file has, with these words after them, and compare what they say."""
    t.look_at_all_warnings()
    plain = {text for words in PLAIN for text in said(words)[1]}
    got = []
    for line in lines_of(file):
        if line.startswith(HEAD):
            words = line[len(HEAD):].split(": ", 1)[1]
            status, texts = said(words + " " + more)
            got += ["%s%s: %s" % (HEAD, status, words), *(text for text in texts if text not in plain)]
    compare(file, got, title)
