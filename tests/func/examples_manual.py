#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every example of README and of the manual pages runs: see tests/lib/xddexamples.py for the convention."""
import xddexamples as e
import xddtest as t

t.look_at_all_warnings()

TAGGED = ("scratch -datapattern tagged -verify", "rm -f scratch; xdd -op write -targets 1 scratch -mbytes 4 -datapattern tagged")

RUNS = "for i in before1 before2 before3 after1 after2 after3 before after; do xdd -op read -targets 1 data -mbytes 8 -passes 3 -jsonout $i.json; done"
DUMPS = "for i in trace run2; do xdd -op read -targets 2 data data -numreqs 4 -ts dump $i; done"
HOSTS = "for i in 1 2; do xdd -op read -targets 1 data -mbytes 8 -runid r -jsonout host$i.json; done"
# A text in an example of a page, and the commands that make its files.
PREPARED = [("compare before.json", RUNS), ("report before.json", RUNS), ("combine host1.json", HOSTS), ("tsread trace", DUMPS),
            ("fio job.fio", "printf '[a]\\nrw=read\\nfilename=data\\nbs=64k\\n' >job.fio")]
SECTIONS = ("setup tests.xdd", "printf '[write]\\n-op write -target scratch -bytes 1M\\n[read]\\n-op read -target scratch\\n' >tests.xdd")
OTHER = ("compare a.json b.json", "xdd -op read -targets 1 data -mbytes 8 -passes 3 -jsonout b.json")


def test_shape():
    """The comparison of outputs finds what it is to find."""
    shown = ["              rate      IOPS      p99", "/dev/sdb  412 MB/s   101 k/s  1.94 ms", "...", "nothing looks wrong"]
    same = ["   rate   IOPS   p99", "/dev/sdb  7.9 GB/s  980 /s  12 us", "1 line", "2 others", "nothing looks wrong"]
    t.equal(e.different(shown, same), "", "other numbers, units and alignments are the same shape")
    for wrong, title in (([same[0].replace("p99", "p50"), *same[1:]], "another heading"), (same[:1] + same[2:], "a missing row"),
                         ([*same, "one more"], "an additional line"), (same[:-1], "a missing last line"),
                         ([same[0], same[1] + " 3 errors", *same[2:]], "an additional word")):
        t.ok(e.different(shown, wrong), "%s is a difference" % title)


test_shape()
t.ok(e.Document("README", before=[OTHER, *PREPARED], run=True).check() >= 6, "README has its examples")
t.ok(e.Document("doc/xdd.1", before=[TAGGED, SECTIONS]).check() >= 30, "xdd(1) has its examples")
for page, least in (("check.1", 1), ("columns.7", 3), ("combine.1", 1), ("compare.1", 3), ("curve.1", 2), ("fio.1", 2), ("report.1", 1),
                    ("setup.5", 8), ("sweep.1", 3), ("tsread.1", 1)):
    name = "xdd-" + page
    t.ok(e.Document("doc/" + name, before=PREPARED).check() >= least, "%s has its examples" % name)
t.done()
