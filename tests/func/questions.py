#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Questions that no option answers: xdd -help answers them by word, phrase or sentence, within the width of a terminal,
and the commands of doc/questions.md run.
"""
import errno
import os
import re

import xddexamples as e
import xddjson as j
import xddsys as s
import xddtest as t

DOCUMENT = os.path.join(os.environ["TOP_SRCDIR"], "doc", "questions.md")

IO_URING_SETUP = 425

# The words that a user types, and words of the answer that must be there.
ANSWERS = {
    "engine": ("psync", "-ioengine io_uring", "xdd check", "libaio", "-target null"),
    "how long": ("-passes until", "-warmup", "-intervals", "1000"),
    "how large": ("-dropcache", "-dio", "-datapattern random"),
    "depth": ("-queuedepth", "NCQ", "NVMe", "RAID", "nr_requests"),
    "stop": ("Ctrl-C", "status is 5", "-resume"),
    "cite": ("-jsonout", "command_line", "-runid", "licence"),
    "nightly": ("xdd-nightly", "-passes 5", "cron", "systemd"),
}


def answer(*words):
    run = t.xdd("-help", *words)
    t.ok(run.status == 0 and not run.err, "-help %s" % " ".join(words), run)
    return run.out


def test_answers():
    headings = {}
    listed = answer("questions")
    for word, parts in ANSWERS.items():
        said = answer(word)
        headings[word] = said.splitlines()[0]
        t.ok(headings[word].endswith("?") and all(part in re.sub(r"\s+", " ", said) for part in parts),
             "-help %s answers a question" % word, said)
        t.ok(all(len(line) <= 79 for line in said.splitlines()), "... within 79 columns", said)
        t.ok(re.search(r"-help %s +%s" % (word, re.escape(headings[word])), listed), "... and is in the list", listed)
    t.equal(len(re.findall(r"^  -help ", listed, re.M)), len(ANSWERS), "the list has these questions", listed)
    t.equal((listed.splitlines()[0], listed.splitlines()[-1]),
            ("Questions that no option answers:", "All of them: questions.md, among the documents of xdd"), "... and says what they are")
    with open(DOCUMENT, encoding="utf-8") as f:
        t.equal(re.findall(r"^## (.*)$", f.read(), re.M), list(headings.values()), "doc/questions.md has them in their order")
    for words, word in ((("how", "long"), "how long"), (("How long must I measure",), "how long"), (("ENGINE",), "engine"),
                        (("--engine",), "engine"), (("may", "I", "stop", "it"), "stop"), (("ctrl-c",), "stop"),
                        (("how big",), "how large"), (("licence of results",), "cite")):
        t.equal(answer(*words).splitlines()[0], headings[word], "-help %s" % " ".join(words))


def test_others():
    """Words that are no question: what they were before."""
    for words, begin in ((("queuedepth",), "  -queuedepth"), (("ioengine",), "  -ioengine"), (("+ENGINE",), "  +ENGINE"),
                         (("runtime", "op"), "  -runtime")):
        t.ok(answer(*words).startswith(begin), "... is what it was", words)
    t.ok("xdd -help cite" in answer("figures that it writes"), "the search finds questions by their texts")
    run = t.xdd("-help", "nosuchword")
    t.equal((run.status, run.out), (2, ""), "a word that is nothing is refused", run)


def test_engine():
    """Results say whether -ioengine named their engine."""
    file = t.make_file("engine", 1 << 20)
    for words, by_default in (((), True), (("-ioengine", "psync"), False)):
        document = t.path("engine.%s.json" % by_default)
        run = t.xdd("-op", "read", "-target", file, "-reqsize", "4k", "-dropcache", "-report", "person", "-jsonout", document, *words)
        t.equal((run.status, ", psync by default," in run.out, ", psync," in run.out), (0, by_default, not by_default),
                "the block says whether psync is the default", run)
        t.equal(j.load(document)["plan"]["targets"][0]["resolved"]["engine_by_default"], by_default, "... and so does the document")


def test_check_without_rings():
    """A check takes another engine where io_uring is refused, says why, and advises that engine."""
    file = t.make_file("rings", 1 << 20)
    refuse = s.forbid(IO_URING_SETUP, errno.EPERM)
    if not {"io_uring", "libaio"}.issubset(t.engines()) or t.command(["true"], preexec_fn=refuse).status:
        t.skip("io_uring is refused", "no engines to choose from, or no seccomp")
        return
    run = t.xdd(file, "-seconds", 1, preexec_fn=refuse, real=True)
    if "direct I/O" not in run.out:
        t.skip("io_uring is refused", "no direct I/O here")
        return
    t.ok(run.status == 0 and re.search(r"direct I/O, -ioengine libaio\n  no better engine: .*io_uring", run.out),
         "a check takes libaio, and says why", run)


def test_stop():
    """The script of the answer: its command, cut short, has a status and a result."""
    file = t.make_file("data", 1 << 20)
    command = re.search(r"timeout (?:.|\n)*", answer("stop"))[0].strip()
    for words, here in (("INT 30 xdd", "INT 1 " + t.XDD), ("/dev/sdb", file)):
        command = command.replace(words, here)
    document = t.path("stopped.json")
    run = t.command(["sh", "-c", command + " -jsonout " + document], real=True)
    t.equal(run.status, 5, "the script of the answer stops a run", run)
    t.equal((j.load(document)["end"], j.load(document)["partial"]), ("canceled", True), "... and has a result that is partial")


def test_examples():
    t.ok(e.Document("doc/questions.md").check() >= 5, "questions.md has its examples")


t.look_at_all_warnings()
t.run_all()
