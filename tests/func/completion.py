#!/usr/bin/env python3
"""The bash completion: the words that it offers for the last word of a command line."""
import os
import shlex
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddtest as t

FILE = os.path.join(os.environ["TOP_SRCDIR"], "contrib", "completion", "xdd.bash")
ASK = '''. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _xdd; printf '%s\\n' "${COMPREPLY[@]}"'''


def offered(line):
    """The words for the last word of a line; "" after a blank."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    run = t.command(["bash", "-c", ASK, "bash", FILE, *words], cwd=WHERE)
    return run, [word for word in run.out.split("\n") if word]


def offers(line, *wanted, also=False):
    """Exactly these words; with `also`, others as well."""
    run, got = offered(line)
    good = set(wanted) <= set(got) if also else sorted(wanted) == sorted(got)
    t.ok(run.status == 0 and good and not run.err, "%s<Tab> offers %s" % (line, " ".join(wanted) or "nothing"),
         "%s\n%s" % (got, run))


def test_words():
    offers("xdd -que", "-queuedepth")
    offers("xdd --que", "--queuedepth")
    offers("xdd -op re", "read")
    offers("xdd -op target 1 re", "read")
    offers("xdd -op read w")
    offers("xdd -seek r", "random", "range")
    offers("xdd -s r", "random", "range")
    offers("xdd -seek random r", "random", "range")
    offers("xdd -seek random range ")
    offers("xdd -seek target 0 random range 50 s", "sequential", "stagger", "seed", "save", "seekhist")
    offers("xdd -ordering storage s", "serial", "strict")
    offers("xdd -ioengine io_uring sq", "sqpoll")
    offers("xdd -heartbeat 1 ops b", "bytes", "bw")
    offers("xdd -latency percentiles 50 h", "histogram")
    offers("xdd -seek random -verify c", "contents")


def test_commands_and_columns():
    offers("xdd comp", "compare")
    offers("xdd ", "check", "compare", "tsread", "directory", "file", also=True)
    offers("xdd compare -", "-failif", "-help")
    offers("xdd compare f", "file")
    offers("xdd tsread --su", "--summary")
    offers("xdd -outputformat n", "new")
    offers("xdd -outputformat +BANDW", "+BANDWIDTH")
    offers("xdd -outputformat new +OPS+BANDW", "+OPS+BANDWIDTH")
    offers("xdd -help comp", "compare")
    offers("xdd -help col", "columns")
    offers("xdd -help queued", "queuedepth")
    offers("xdd -help BANDW", "BANDWIDTH")
    offers("xdd -help -queued", "-queuedepth")


def test_files():
    offers("xdd -output f", "file")
    offers("xdd -targetdir ", "directory")
    offers("xdd -target f", "file")
    offers("xdd -targets 2 file d", "directory")
    offers("xdd -seek save f", "file")


if not t.have("bash"):
    t.skip_all("bash is not installed")
WHERE = t.path("where")
os.makedirs(os.path.join(WHERE, "directory"))
with open(os.path.join(WHERE, "file"), "w", encoding="ascii"):
    pass
t.run(test_words, test_commands_and_columns, test_files)
t.done()
