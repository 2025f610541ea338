#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every recipe runs, and prints what is shown: see tests/lib/xddexamples.py."""
import xddexamples as e
import xddtest as t

t.look_at_all_warnings()

t.ok(e.Document("doc/recipes.md").check() >= 36, "each recipe has its examples")
t.done()
