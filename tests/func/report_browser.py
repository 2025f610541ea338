#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Pages of xdd report in a browser, headless Chromium: no error, nothing is wider than the window at 400, 1000 and 2000 pixels
or than paper, every plot has its table, every text has the contrast of WCAG AA, light, dark and in print, and it prints.
Skipped where there is no Chromium.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddbrowser
import xddjson as j
import xddpage
import xddtest as t

BACK = {"light": "#ffffff", "dark": "#14171b", "print": "#ffffff"}
WIDTHS = (400, 1000, 2000)
PAPER = 794  # A4 without margins, in CSS pixels

# Parts of a box with a scroll bar may be wider than it. In a dark page a filter inverts plots, texts included.
MEASURE = """(() => {
	const root = document.documentElement, texts = new Set();
	function back(e) {
		while (e && (getComputedStyle(e).backgroundColor.match(/[0-9.]+/g) || [])[3] === "0") e = e.parentElement;
		return e ? getComputedStyle(e).backgroundColor : "none";
	}
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest("svg style, svg title, svg desc")) continue;
		const svg = e.closest("svg"), style = getComputedStyle(e);
		texts.add((svg ? style.fill : style.color) + "|" + back(svg || e));
	}
	const over = [...document.querySelectorAll("body *")].filter(e => (matchMedia("print").matches || !e.closest(".box > *, .plot > *")) &&
		!e.closest("svg *") && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + " " + e.textContent.slice(0, 40));
	return { width: innerWidth, scroll: root.scrollWidth, over, headings: document.querySelectorAll("h1,h2,h3").length,
		plots: [...document.querySelectorAll("svg")].filter(e => e.getBoundingClientRect().width > 300).length,
		tables: document.querySelectorAll("table").length, texts: [...texts] };
})()"""


def rgb(text):
    return "#" + "".join("%02x" % int(float(part)) for part in re.findall(r"[0-9.]+", text)[:3])


VIEWS = [*((scheme, width) for scheme in ("light", "dark") for width in WIDTHS), ("print", PAPER)]


def look(page):
    """The findings of MEASURE in each view, and a PDF."""
    found = []
    for scheme, width in VIEWS:
        xddbrowser.show(page, width, scheme.replace("print", "light"), "print" if scheme == "print" else "screen")
        found.append((scheme, xddbrowser.value(page, MEASURE)))
    return found, xddbrowser.pdf(page)


def check_scheme(name, page, scheme, found):
    t.equal([f["width"] for f in found if f["scroll"] <= f["width"] and not f["over"]],
            [width for s, width in VIEWS if s == scheme], "%s, %s: nothing is wider than the window" % (name, scheme),
            [(f["width"], f["scroll"], f["over"][:5]) for f in found])
    t.equal({(f["headings"], f["tables"], f["plots"]) for f in found},
            {(len(page.headings()), len(page.all("table")), len(page.all("svg")))}, "and all parts are there")
    pairs = {tuple(pair.split("|")) for f in found for pair in f["texts"]}
    t.equal([(a, b) for a, b in pairs if b == "none" or xddpage.contrast(rgb(a), rgb(b)) < 4.5], [], "and each text can be read")
    t.ok(len(pairs) >= 4 and BACK[scheme] in [rgb(b) for _, b in pairs], "in the colours of the scheme", pairs)


def check(name, documents):
    run = t.command([t.XDD, "report", *documents], tolerate=["the page has no plots"])
    t.equal(run.status, 0, name + ": a page", run.err)
    page = xddpage.Page(run.out)
    t.equal([f.text()[:60] for f in page.all("figure") if f.all("svg") and not f.all("table")], [],
            name + ": every plot has its table")
    seen, faults = xddbrowser.view("file://" + j.write("page.html", run.out), look)
    found, pdf = seen or ([], b"")
    t.equal(faults, [], name + ": no error")
    for scheme in ("light", "dark", "print"):
        check_scheme(name, page, scheme, [f for s, f in found if s == scheme])
    t.ok(pdf[:5] == b"%PDF-" and len(pdf) > 10000, name + ": it prints")


if not xddbrowser.CHROMIUM:
    t.skip_all("no Chromium")


def test_pages():
    j.of_run("a", *"-op noop -targets 2 null null -passes 3 -timelimit 0.2 -intervals 0.02".split())
    j.of_run("b", *"-op noop -targets 2 null null -passes 3 -timelimit 0.2".split())
    sweep = t.path("sweep")
    run = t.command([t.XDD, "sweep", *"-op noop -targets 1 null -numreqs 50 -rounds 2 -queuedepth 1,2,4 -reqsize 1,4".split(),
                     "-jsonout", sweep], tolerate=[t.CACHED])
    t.equal(run.status, 0, "a sweep", run)
    curve = t.path("curve")
    run = t.command([t.XDD, "curve", *"-op noop -targets 1 null -numreqs 200 -rounds 2 -load 20,50,90 -queuedepth 1".split(),
                     "-jsonout", curve], tolerate=["curve: the maximum is not steady"])
    t.ok(os.path.exists(curve), "a curve", run)
    check("two runs", [t.path("a"), t.path("b")])
    check("a sweep", [sweep])
    check("a curve", [curve])


try:
    t.run(test_pages)
finally:
    xddbrowser.quit()
t.done()
