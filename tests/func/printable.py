#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Names and texts of others in what people read: no control character, no change of direction and no line of its own.
"""
import csv
import io
import json
import os
import re

import xddtest as t

# Colours, a line that looks like a result, a title by C1, text that runs the other way.
NASTY = "n\033[31mred\nCOMBINED 9 9 9\t\u009b1m\u202egpj\u2066\x7f\r"
SHOWN = r"n\x1b[31mred\nCOMBINED 9 9 9\t\u009b1m\u202egpj\u2066\x7f\x0d"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]")


def safe(text, *wanted):
    """Nothing in it controls a terminal, no line was forged, and the escapes are there."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    return (not UNSAFE.search(text) and not re.search("^(COMBINED 9|.*\u202e)", text, re.M) and
            all(w in text for w in wanted))


def target():
    file = t.path(NASTY)
    with open(file, "wb") as f:
        f.write(bytes(1 << 20))
    return file


def words(*more):
    return ["-op", "read", "-targets", 1, target(), "-reqsize", 4, "-numreqs", 4, "-id", NASTY] + list(more)


def test_results():
    for more in ((), ("-verbose",), ("-reallyverbose", "-latency", "histogram"), ("-ts", "detailed"), ("-dryrun",),
                 ("-heartbeat", 0.01, "ops", "tgt", "-throttle", "ops", 100), ("-debug", "all")):
        run = t.xdd(*words(*more))
        t.ok(run.status == 0 and safe(run.out, "'%s'" % SHOWN, "%s" % SHOWN) and safe(run.err), "results, %s" % (more,), run)
    text = t.path("text")
    run = t.xdd(*words("-output", text))
    with open(text, "rb") as f:
        t.ok(run.status == 0 and safe(f.read(), "ID for this run, '%s'" % SHOWN, "pathname, '"), "-output", run)
    run = t.xdd(*words("-output", "/dev/null", "-ts", "dump", t.path(NASTY), "-verbose"))
    t.ok(run.status == 0 and safe(run.err), "a prefix with control characters", run)
    bad = t.path("bad\udcff\udc9b")
    os.link(target(), bad)
    run = t.xdd("-op", "read", "-targets", 1, bad, "-reqsize", 4, "-numreqs", 1, "-ts", "detailed")
    t.ok(run.status == 0 and safe(run.out, r"bad\xff\x9b") and safe(run.err), "bytes that are no UTF-8", run)
    run = t.xdd("-op", "read", "-targets", 1, t.path("missing" + NASTY), "-numreqs", 1)
    t.ok(run.status == 4 and safe(run.err) and len(run.err.splitlines()) == 1, "a message", run)


def test_foreign_dumps():
    dumps = []
    for name in ("d1", "d2"):
        t.xdd(*words("-ts", "dump", t.path(name)))
        dumps.append(t.path(name + ".target.0000.bin"))
    for files in (dumps[:1], dumps):
        run = t.command([t.XDD, "tsread"] + files)
        t.ok(run.status == 0 and safe(run.out, SHOWN) and not run.err, "tsread, %d dumps" % len(files), run)
    run = t.command([t.XDD, "tsread", "-c"] + dumps)
    rows = list(csv.reader(io.StringIO(run.out, newline="")))
    t.ok(run.status == 0 and len(rows) == 9 and all(NASTY in "".join(row) for row in rows[1:]), "tsread -c: CSV has the exact name", run)
    run = t.command([t.XDD, "tsread", "-j"] + dumps)
    t.ok(run.status == 0 and any(NASTY in text for text in strings(json.loads(run.out))), "tsread -j: JSON has the exact name", run)


def strings(value):
    """All strings of a document but the names of members."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for v in value for text in strings(v)]
    return [value] if isinstance(value, str) else []


def spoil(value, depth=0):
    """The same document with a nasty text in each string and in names of members that are not looked at."""
    if isinstance(value, dict):
        spoilt = {key: v if depth == 0 and key in ("format", "end") else spoil(v, depth + 1) for key, v in value.items()}
        if depth > 1:
            spoilt[NASTY + str(len(spoilt))] = NASTY
        return spoilt
    if isinstance(value, list):
        return [spoil(v, depth + 1) for v in value]
    return value + NASTY if isinstance(value, str) else value


def test_foreign_documents():
    a, b, exact = t.path("a.json"), t.path("b.json"), t.path("exact.json")
    run = t.xdd(*words("-passes", 3, "-jsonout", exact))
    with open(exact, encoding="utf-8") as f:
        document = json.load(f)
    t.ok(run.status == 0 and document["id"] == NASTY and document["plan"]["targets"][0]["path"].endswith(NASTY),
         "-jsonout has the exact text", run)
    for name, number in ((a, 1), (b, 2)):
        document["command_line"] = "run %d" % number
        for s in document["statistics"]:
            s["not_reproducible"] = NASTY
        with open(name, "w", encoding="utf-8") as f:
            spoilt = spoil(document)
            spoilt["environment"][NASTY] = str(number) + NASTY
            json.dump(spoilt, f)
    run = t.command([t.XDD, "compare", a, b])
    t.ok(safe(run.out, SHOWN) and safe(run.err), "compare", run)


t.run_all()
