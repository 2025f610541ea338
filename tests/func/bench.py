#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
"make bench": rows are measured, printed and written to its document. How fast anything is does not matter here.

XDD_TEST_LONG=1 measures all rows.
"""
import json
import os
import re
import xddtest as t

LONG = bool(os.environ.get("XDD_TEST_LONG"))
BENCH = os.path.join(os.environ["TOP_SRCDIR"], "tests", "bench", "run")
ROWS = "" if LONG else "^(null-1|slow-percentiles)$"
LIMIT_S = 3600 if LONG else t.TIMEOUT
TOO_BUSY = re.compile(r"\w+ did \d+ operations, too few for percentiles$")


def test_rows():
    listed = t.command([BENCH, "--list", "--only", ROWS])
    names = [line.split()[0] for line in listed.out.splitlines()]
    document = t.path("bench.json")
    run = t.command([BENCH, "--quick", "--only", ROWS, "--json", document, "--dir", t.tmp()], timeout=LIMIT_S)
    t.equal((listed.status, run.status), (0, 0), "it ends well", run)
    with open(document, encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    t.equal([row["name"] for row in rows], names, "each row is in the document")
    for row in rows:
        title, why = "row " + row["name"], row.get("skipped")
        t.ok("\n%s: %s\n" % (row["name"], row["title"]) in run.out, title + " is printed", run)
        if why and (LONG or TOO_BUSY.match(why)):
            t.skip(title, why)
            continue
        t.ok("broken" not in row and row["samples"]["xdd"], title + " is measured", row)
        t.ok(all(verdict["verdict"] in ("ok", "below", "off", "not compared") for verdict in row["verdicts"]),
             title + " has its goals judged", row["verdicts"])


def test_refusals():
    for words, why in ((["--only", "no-such-row"], "no row has such a name"), (["--only", "("], "--only: "), (["--runs", "0"], "--runs: ")):
        run = t.command([BENCH, *words])
        t.ok(run.status == 2 and why in run.err, "%s is refused" % " ".join(words), run)


t.run(test_rows, test_refusals)
t.done()
