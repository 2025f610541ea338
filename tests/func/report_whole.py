#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd report: all that pages of fixed documents say: headings, answers, sentences, tables and texts of plots. What they should
say is in report_whole.txt; tests/lib/xddwhole.py has how it is renewed.
"""
import json
import os

import xddkinds
import xddpage
import xddtest as t
import xddwhole

PARTS = ("h1", "h2", "h3", "p", "dt", "dd", "li", "caption", "tr", "figcaption", "svg")


def line(element):
    if element.name == "tr":
        return " | ".join(cell.text() for cell in element.parts if not isinstance(cell, str))
    if element.name == "svg":
        return " / ".join(e.text() for e in element.all("text"))
    return element.text()


def said(name, documents, *words):
    """A line for each part of the page of these documents."""
    directory = t.path(name.replace(" ", "-"))
    os.mkdir(directory)
    files = ["%s.json" % letter for letter, _ in zip("abc", documents)]
    for file, document in zip(files, documents):
        with open(os.path.join(directory, file), "w", encoding="utf-8") as f:
            json.dump(document, f)
    run = t.command([t.XDD, "report", *words, *files], cwd=directory)
    t.equal((run.status, run.err), (0, ""), name + ": a page", run)
    version = t.xdd("-version").out.split()[2]
    return ["==== " + name] + ["%s: %s" % (e.name, " ".join(line(e).replace("xdd " + version, "xdd <version>").split()))
                               for e in xddpage.Page(run.out).all(*PARTS)]


def slower():
    """The curve with times half as long again."""
    curve = xddkinds.made_curve()
    for load in curve["curve"]["loads"]:
        load.update({key: 1.5 * load[key] for key in ("response", "response_p50", "response_p99", "response_p99.9")})
    return curve


def test_pages():
    with open(os.path.join(xddwhole.FUNC, "version_1.json"), encoding="utf-8") as f:
        of_version_1 = json.load(f)
    grid = xddkinds.made_sweep([("queuedepth", ["1", "2", "4"]), ("op", ["read", "write"])])
    line_of_three = xddkinds.made_sweep([("reqsize", ["4k", "64k", "1M"])])
    pages = [
        ("a run", [of_version_1["run"]]),
        ("a run of two hosts", [of_version_1["combined"]]),
        ("a run and one of two hosts", [of_version_1["run"], of_version_1["combined"]]),
        ("a curve", [xddkinds.made_curve()]),
        ("two curves", [xddkinds.made_curve(), slower()]),
        ("a sweep of a line", [line_of_three]),
        ("a sweep of a grid", [grid]),
        ("two sweeps", [grid, xddkinds.changed_sweep(grid, (2, .5, 2, .5, 2, .5))]),
        ("a run and a sweep", [of_version_1["run"], grid]),
        ("a run without plots", [of_version_1["run"]], "-noplots"),
    ]
    got = [text for page in pages for text in said(page[0], page[1], *page[2:])]
    xddwhole.compare("report_whole.txt", got, "pages say what they should")


t.run_all()
