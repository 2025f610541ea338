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
    colours = xddpage.colours(page.all("style")[0].text())[scheme == "dark"]
    expected = {(colours[a], colours[b]) for a, b in (("text", "back"), ("text", "head"), ("soft", "back"))}
    t.equal(expected - {(rgb(a), rgb(b)) for a, b in pairs}, set(), "in the colours of the scheme", pairs)


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


# Texts of plots in pixels of the page: what is outside its plot or too small, names of lines that touch, and what a pointer
# over each point would be shown.
PLOTS = """(() => {
	const found = { outside: [], small: [], touching: [], silent: [], points: 0, back: new Set() };
	for (const svg of document.querySelectorAll("svg.chart")) {
		const frame = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")];
		const rects = texts.map(e => e.getBoundingClientRect());
		const own = [...svg.querySelectorAll("text:not([transform]):not(.halo)")].map(e => [e.textContent, e.getBoundingClientRect()]);
		texts.forEach((e, i) => {
			const r = rects[i];
			if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1)
				found.outside.push(e.textContent);
			if (parseFloat(getComputedStyle(e).fontSize) * frame.width / svg.viewBox.baseVal.width < 8) found.small.push(e.textContent);
		});
		own.forEach(([a, r], i) => own.slice(i + 1).forEach(([b, q]) => {
			if (r.left < q.right - 1 && q.left < r.right - 1 && r.top < q.bottom - 4 && q.top < r.bottom - 4) found.touching.push(a + " | " + b);
		}));
		svg.scrollIntoView();
		for (const point of svg.querySelectorAll(".hits path")) {
			const r = point.getBoundingClientRect();
			const at = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
			found.points++;
			if (!at || !at.closest(".hits") || !at.querySelector("title")) found.silent.push(point.textContent);
		}
		found.back.add(getComputedStyle(svg).backgroundColor);
	}
	found.back = [...found.back];
	return found;
})()"""


def look_at_plots(page):
    found = []
    for scheme, width in VIEWS[:-1]:
        xddbrowser.show(page, width, scheme)
        found.append((scheme, width, xddbrowser.value(page, PLOTS)))
    return found


def test_plots():
    """Plots at each width: no text is cut, tiny or on another; each point shows its values, without a script."""
    long = t.path("a name that is much longer than those beside the lines of a plot")
    j.of_run("times", *"-op read -targets 2".split(), t.make_file("data", 1 << 20), t.make_file(long, 1 << 20),
             *"-numreqs 100 -reqsize 1 -blocksize 4096 -passes 3 -intervals 0.01".split())
    sweep = t.path("plotted")
    run = t.command([t.XDD, "sweep", *"-op noop -targets 1 null -numreqs 1000 -rounds 3 -queuedepth 1,2,4,8 -reqsize 1,4,16".split(),
                     *"-op noop -jsonout".split(), sweep], tolerate=[t.CACHED])
    t.equal(run.status, 0, "a sweep", run)
    curve = t.path("drawn")
    run = t.command([t.XDD, "curve", *"-op noop -targets 1 null -numreqs 2000 -rounds 3 -load 20,50,70,90,110 -queuedepth 1".split(),
               "-goal", "p99=1ms", "-jsonout", curve], tolerate=["curve: the maximum is not steady"])
    t.equal(run.status, 0, "a curve", run)
    for document in (t.path("times"), sweep, curve):
        name = os.path.basename(document)
        html = t.command([t.XDD, "report", document]).out
        seen, faults = xddbrowser.view("file://" + j.write("plots.html", html), look_at_plots)
        t.equal(faults, [], name + ": no error")
        for scheme, width, found in seen or []:
            where = "%s, %s, %d pixels: " % (name, scheme, width)
            t.equal((found["outside"], found["small"], found["touching"]), ([], [], []), where + "no text is cut, tiny or on another")
            t.ok(found["points"] and not found["silent"], where + "each point shows its values", found["silent"][:5])
            t.equal(found["back"], ["rgba(0, 0, 0, 0)"], where + "on the ground of the page")


try:
    t.run(test_pages, test_plots)
finally:
    xddbrowser.quit()
t.done()
