#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Every command of the page about xdisk, sgpdd-survey, IOR and rw runs: see tests/lib/xddexamples.py. The page has each word
that xdd answers, with the same words of xdd.
"""
import os
import re

import xddexamples as e
import xddtest as t

t.look_at_all_warnings()

PREPARED = ((r"@list\.txt", "printf 'data\\ns1\\n' >list.txt"), (r"hosts\.txt", "printf 'hosta\\nhostc\\n' >hosts.txt"),
            (r"-setup test\.xdd", "printf '[first]\\n-op read -target s1 -reqsize 1M\\n[second]\\n-op read -target s2\\n' >test.xdd"),
            (r"-target seq ", "xdd -op write -target seq -reqsize 64k -bytes 256k -datapattern sequenced"))


def tables(name):
    """The rows of the tables of a page by tool: lists of cells."""
    found = {}
    with open(os.path.join(os.environ["TOP_SRCDIR"], "doc", name), encoding="utf-8") as f:
        for line in f:
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if line.startswith("| ") and "xdd" in cells[1:3]:
                found[cells[0]] = rows = []
            elif line.startswith("| ") and not line.startswith("| ---"):
                rows.append(cells)
    return found


def names(cell):
    """The words of a cell without their values: -b of "`-b N`"."""
    return {re.match(r"-?\w+", word)[0] for word in re.findall(r"`([^`]+)`", cell) if re.match(r"-?\w", word)}


def options(text):
    return set(re.findall(r"(?<![\w-])-[a-z]{2,}\d?\b", text))


def same_as_answers():
    here, answers = tables("from-others.md"), tables("from-fio.md")
    for tool in ("xdisk", "sgpdd-survey", "IOR"):
        missing = []
        for typed, said, *_ in answers[tool]:
            word = re.match(r"`(-?\w+(?:\.\w+)?)", typed)[1]
            rows = [row for row in here[tool] if word in names(row[0]) | {name[:2] for name in names(row[0])}]
            known = options(" ".join(" ".join(row[2:]) for row in rows)) | {"-bs", "-targets"}
            if word != "-posix.odirect" and (not rows or options(said) - known):
                missing.append("%s: %s" % (typed, said))
        t.equal(missing, [], "%s: the page has the words of the answers" % tool)


t.ok(e.Document("doc/from-others.md", existing=("data", "s1", "s2", "s3"), before=PREPARED).check() >= 100,
     "the page has its commands")
same_as_answers()
t.done()
