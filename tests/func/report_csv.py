#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd report -csv: the cells are the values of the documents, with the names and digits that the CSV files of runs, sweeps
and curves have; documents of several kinds share one file; and what it refuses.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys

import messages as m
import xddjson as j
import xddtest as t

BAD_ARGUMENT, IO_ERROR = 2, 6
TWO = "-op noop -targets 2 null null -numreqs 1000 -passes 2".split()
SWEEP = "sweep -op noop -targets 1 null -numreqs 50 -rounds 3 -queuedepth 1,2 -reqsize 1,4 -columns +FLUSHES+CPUTIME".split()
CURVE = ("curve -op noop -target null -operationdelay 0.0001 -numreqs 50 -queuedepth 1 -rounds 2 -load 40,80 "
         "-columns +CPUTIME").split()


def report(*args, **kwargs):
    return t.command([t.XDD, "report", *args], **kwargs)


def table_of(run, name):
    t.equal((run.status, run.err), (0, ""), name + ": CSV", run)
    rows = list(csv.reader(io.StringIO(run.out)))
    t.equal({len(row) for row in rows}, {len(rows[0])}, name + ": all rows have all columns")
    t.equal(len(set(rows[0])), len(rows[0]), name + ": each column is there once", rows[0])
    return rows[0], [dict(zip(rows[0], row)) for row in rows[1:]]


def of_command(name, words):
    """The document and the CSV file of a sweep or curve."""
    file, lines = t.path(name + ".json"), t.path(name + ".csv")
    run = t.command([t.XDD, *words, "-jsonout", file, "-csvout", lines])
    t.equal(run.status, 0, name, run)
    with open(lines, newline="", encoding="utf-8") as f:
        return j.load(file), list(csv.reader(f))


def near(a, b):
    """Equal, or numbers of 15 digits that differ in the last ones, as half of an interval does."""
    try:
        return a == b or abs(float(a) - float(b)) <= 1e-12 * max(abs(float(a)), abs(float(b)))
    except ValueError:
        return False


def test_run():
    file, lines = t.path("run.json"), t.path("run.csv")
    data = t.make_file("data, 1", 1 << 20)
    run = t.xdd("-op", "read", "-targets", "2", data, data, "-passes", "2", "-verbose", "-id", 'a "b", c\nd', "-throttle", "ops", "1000000", "-jsonout", file, "-csvout", lines)
    t.equal(run.status, 0, "a run", run)
    names, rows = table_of(report("-csv", file), "a run")
    with open(lines, newline="", encoding="utf-8") as f:
        want = list(csv.DictReader(f))
    t.equal(names, ["document", *want[0]], "the columns of -csvout, after one with the document")
    t.equal([{k: row[k] for k in row if k != "document"} for row in rows], want, "and its lines with -verbose")
    t.equal({row["document"] for row in rows}, {file}, "the document")
    results = [r for r in j.load(file)["results"] if r["what"] != "QUEUE_PASS"]
    t.equal([(r["WHAT"], int(r["OPS"]), int(r["BYTESXFERED"])) for r in rows],
            [(r["what"], sum(r["ops"].values()), sum(r["bytes"].values())) for r in results], "the numbers of the document")
    names, rows = table_of(report("-csv", "-columns", "+LATP50+LATMAX+OPS", file), "further columns")
    t.equal(names[-2:], ["LATP50", "LATMAX"], "further columns follow, those that are there do not")
    t.equal([(r["LATP50"], r["LATMAX"]) for r in rows],
            [("" if x is None else "%.6f" % (x / 1e6), "%.6f" % (y / 1e6)) for x, y in
             ((d["percentiles_ns"]["50"], d["maximum_ns"]) for d in (r["latency"]["service"]["read"] for r in results))], "their values")


def test_sweep():
    document, want = of_command("sweep", SWEEP)
    names, rows = table_of(report("-csv", t.path("sweep.json")), "a sweep")
    t.equal(names, ["document", *want[0]], "the columns of -csvout, after one with the document")
    t.equal([list(row.values())[1:] for row in rows], want[1:], "and its lines")
    points = document["points"]
    t.equal([(r["point"], r["queuedepth"], r["reqsize"], int(r["rounds"]), int(r["ops"])) for r in rows],
            [(str(p["point"]), p["varied"]["queuedepth"], p["varied"]["reqsize"], 3, sum(x["ops"] for x in p["rounds"])) for p in points],
            "the points of the document")
    t.equal([float(r["bandwidth (bytes/s)"]) for r in rows], [p["statistics"][0]["bandwidth"]["mean"] for p in points],
            "means are those of the document")


def test_curve():
    document, want = of_command("curve", CURVE)
    names, rows = table_of(report("-csv", t.path("curve.json")), "a curve")
    t.equal(names, ["document", *want[0]], "the columns of -csvout, after one with the document")
    got = [list(row.values())[1:] for row in rows]
    bad = [(a, b) for x, y in zip(got, want[1:]) for a, b in zip(x, y) if not near(a, b)]
    t.equal((len(got), bad), (len(want) - 1, []), "and its lines")
    t.equal([(float(r["load (%)"]), float(r["response (ns)"]), float(r["queue (operations)"])) for r in rows],
            [(load["percent"], load["response"], load["queue"]) for load in document["curve"]["loads"]],
            "the loads of the document")


def test_together():
    files = [t.path("hosts"), t.path("s.json"), t.path("one"), t.path("c.json")]
    j.of_run("one", *TWO)
    other = j.write("other", dict(j.load(files[2]), environment={"host": {"name": "other"}}))
    t.equal(t.command([t.XDD, "combine", "-force", "-jsonout", files[0], files[2], other]).status, 0, "a combined document")
    of_command("s", SWEEP)
    of_command("c", CURVE)
    names, rows = table_of(report("-csv", *files), "four documents")
    t.equal([f for i, f in enumerate(r["document"] for r in rows) if i == 0 or rows[i - 1]["document"] != f], files,
            "in the order of the command line")
    kinds = [[r for r in rows if r["document"] == f] for f in files]
    t.equal([r["WHAT"] for r in kinds[0]], ["HOST", "HOST", "COMBINED"], "hosts and all together")
    t.equal([(len(k), {bool(r["WHAT"]) for r in k}, {bool(r["point"]) for r in k}, {bool(r["load (%)"]) for r in k}) for k in kinds[1:]],
            [(4, {False}, {True}, {False}), (7, {True}, {False}, {False}), (len(j.load(files[3])["curve"]["loads"]), {False}, {False}, {True})],
            "cells of other kinds are empty")
    t.ok("status" in names and all(r["status"] for k in (kinds[1], kinds[3]) for r in k), "what sweeps and curves share is one column")


def test_many():
    """More documents than a page has."""
    file = t.path("small")
    j.of_run("small", *"-op noop -targets 1 null -numreqs 1".split())
    _, rows = table_of(report("-csv", *[file] * 300), "300 documents")
    t.equal(len(rows), 900, "rows of each")


def test_output():
    file, page = t.path("doc"), t.path("out.csv")
    j.of_run("doc", *TWO)
    run = report("-csv", file)
    t.equal((report("-csv", "-o", page, file).out, open(page, encoding="utf-8").read()), ("", run.out), "-o: the file has it")
    os.chmod(page, 0o600)
    t.equal((report("-csv", "-o", page, file).status, os.stat(page).st_mode & 0o777), (0, 0o600), "it is replaced, its mode is kept")
    got = report("-csv", "-o", "/dev/full", file)
    t.equal((got.status, m.NO_SPACE in got.err, len(got.error_lines())), (IO_ERROR, True, 1), "a full device", got)
    for args, want in ((("-csv", "-o", file, file), "is a document to read"),
                       (("-csv", "-o", t.path("no/x"), file), "report -output "),
                       (("-csv", "-noplots", file), "report -noplots: is for the page, and -csv is given; leave one out"),
                       (("-csv", "-axis", "x", file), "report -axis: is for the page"),
                       (("-columns", "+OPS", file), "report -columns +OPS: is for CSV; use -csv"),
                       (("-csv", "-columns", "OPS", file), "expected a list of identifiers"),
                       (("-csv", "-columns", "+LATP5O", file), "did you mean +LATP50?"),
                       (("-csv",), "expected files of -jsonout"),
                       (("-csv", j.write("x", "[]")), "this is JSON, but not of xdd -jsonout")):
        got = report(*args)
        t.equal((got.status, got.out, len(got.error_lines()), want in got.err), (BAD_ARGUMENT, "", 1, True), want, got)


def test_pandas():
    """The recipe for pandas, which reads the file of the recipe before it."""
    if subprocess.run([sys.executable, "-c", "import pandas"], capture_output=True, check=False).returncode:
        t.skip("the recipe for pandas", "not installed")
        return
    with open(os.path.join(os.environ["TOP_SRCDIR"], "doc", "recipes.md"), encoding="utf-8") as f:
        code = f.read().split("```python\n")[1].split("```")[0]
    j.of_run("pandas", *TWO)
    with open(t.path("all.csv"), "w", encoding="utf-8") as f:
        f.write(report("-csv", "-columns", "+LATP50+LATP99", t.path("pandas")).out)
    run = subprocess.run([sys.executable, "-c", code], cwd=t.tmp(), capture_output=True, text=True, check=False)
    t.ok(run.returncode == 0 and t.path("pandas") in run.stdout, "the recipe for pandas", run)


def same_cell(cell, value):
    """A cell of CSV shows what a result of version 1 has of the column."""
    if value is None or isinstance(value, str):
        return cell == (value or "")
    return cell != "" and abs(float(cell) - value) <= 0.500001 * 10 ** -len(cell.partition(".")[2]) + 1e-9 * abs(value)


def test_version_1():
    """Documents of version 1, which had every column: the columns are the same, now made from the other members."""
    with open(os.path.join(os.environ["TOP_SRCDIR"], "tests/func/version_1.json"), encoding="utf-8") as f:
        old = json.load(f)
    for name, document in old.items():
        wanted = [{k.upper(): v for k, v in r["columns"].items()} for r in document["results"]]
        columns = sorted({k for w in wanted for k in w} - {"DELIM"})
        _, rows = table_of(report("-csv", "-columns", "+" + "+".join(columns), j.write(name, document)), name)
        t.equal([(r["WHAT"], k, r[k], w[k]) for r, w in zip(rows, wanted) for k in w
                 if not same_cell(r[k], w[k]) and not (r["WHAT"] == "HOST" and re.match("DESKEW|TAIL|FAIRNESS", k))], [],
                name + ": the columns of version 1")
        t.equal(len(rows), len(wanted), name + ": each result")
        page = report(t.path(name))
        t.ok(page.status == 0 and "</html>" in page.out, name + ": a page", page)
    run = t.command([t.XDD, "combine", "-force", t.path("run"), j.write("other", old["run"]), "-o", "-"])
    found = j.parse(run.out)
    t.equal((found["version"], [r["what"] for r in found["results"]], [r for r in found["results"] if "columns" in r]),
            (2, ["HOST", "HOST", "COMBINED"], []), "combined as version 2", run)
    results = found["results"]
    t.equal([[r[k] for k in ("iops", "longest", "shortest")] for r in results[:2]],
            [[c["iops"], *({"ns": round(c[w] * 1e6), "direction": c[w + "type"], "operation": c[w + "op"],
                            "offset_bytes": c[w + "offset"]} for w in ("longest", "shortest"))]
             for c in [old["run"]["results"][-1]["columns"]] * 2], "with what only columns had")


def test_by_qthread():
    """A time that is the mean of the QThreads, of a target and of all."""
    document = j.of_run("qthreads", *("-op noop -targets 2 null null -numreqs 100 -queuedepth target 0 2 "
                                      "-queuedepth target 1 3").split())
    for r in document["results"]:
        r["lag_ns"] = 30000000
    _, rows = table_of(report("-csv", "-columns", "+E2ELAGTIME", j.write("qthreads", document)), "times of QThreads")
    t.equal({(r["WHAT"], r["TARGET"], float(r["E2ELAGTIME"])) for r in rows if r["WHAT"] in ("TARGET_AVERAGE", "COMBINED")},
            {("TARGET_AVERAGE", "0", 15.0), ("TARGET_AVERAGE", "1", 10.0), ("COMBINED", "2", 6.0)}, "divided by their number")


t.run(test_run, test_version_1, test_by_qthread, test_sweep, test_curve, test_together, test_many, test_output, test_pandas)
t.done()
