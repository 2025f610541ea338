#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every example of the tutorial and of the page on results runs, and prints what is shown: see tests/lib/xddexamples.py."""
import xddexamples as e
import xddtest as t

t.look_at_all_warnings()

t.ok(e.Document("doc/tutorial.md", run=True).check() >= 7, "the tutorial has its examples")
t.ok(e.Document("doc/reading-results.md").check() >= 5, "reading-results.md has its examples")
t.done()
