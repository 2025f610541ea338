#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every example of the user guide and of the description of the output runs: see tests/lib/xddexamples.py."""
import xddexamples as e
import xddtest as t

t.look_at_all_warnings()

SIX = "for f in before1 before2 before3 after1 after2 after3 a1 a2 a3 b1 b2 b3; do " \
      "xdd -op read -targets 1 s1 -mbytes 8 -passes 3 -jsonout $f.json -output /dev/null; done"
TWO = "for f in before after; do xdd -op read -targets 1 s1 -mbytes 8 -passes 3 -jsonout $f.json -output /dev/null; done"

t.ok(e.Document("doc/user-guide.md", before=[("before1.json", SIX)]).check() >= 20, "the user guide has its examples")
t.ok(e.Document("doc/output.md", before=[("a1.json", SIX), ("before.json", TWO)]).check() >= 2, "output.md has its examples")
t.done()
