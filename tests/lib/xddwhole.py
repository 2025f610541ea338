# SPDX-License-Identifier: GPL-2.0-or-later
"""
All that the program says in fixed cases, held against a file beside the test. Where the program is changed on purpose,
"XDD_TEST_WRITE=<file>" writes there what it says now: read its difference from the file before it takes its place.

    xddwhole.compare("report_whole.txt", lines, "pages say what they should")
"""
import difflib
import os

import xddtest as t

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
