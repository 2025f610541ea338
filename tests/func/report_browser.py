#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Pages of xdd report of each kind of documents in a browser, headless Chromium, at 400 to 2000 pixels, light, dark and printed
on A4: no error; nothing is wider than the window or than paper, and no table wider than its box; what is folded can be
unfolded; every plot has its table, its name and its description; every text has the contrast of WCAG AA; no text of a plot
is cut, tiny or on another. Skipped where there is no Chromium.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddbrowser
import xddjson as j
import xddkinds
import xddpage
import xddtest as t

t.virtual_time()

WIDTHS = (400, 1000, 1600, 2000)
PAPER = 717  # A4 less the margins of the browser, in CSS pixels

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
	const over = [...document.querySelectorAll("body *")].filter(e => !e.closest("svg *") &&
		e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + " " + e.textContent.slice(0, 40));
	for (const box of document.querySelectorAll(".box"))
		if (box.scrollWidth > box.clientWidth + 1) over.push("table " + box.textContent.slice(0, 40));
	const cells = [...document.querySelectorAll("th,td")], hidden = cells.filter(e => !e.offsetWidth).length;
	const boxes = [...document.querySelectorAll(".all")], shut = boxes.filter(e => e.offsetWidth);
	boxes.forEach(e => e.checked = true);
	const lost = cells.filter(e => !e.offsetWidth).map(e => e.textContent);
	boxes.forEach(e => e.checked = false);
	const named = id => id.split(" ").every(i => (document.getElementById(i) || {textContent: ""}).textContent.trim());
	const silent = [...document.querySelectorAll("svg,figure,section,.box,input")].filter(e => e.tagName === "INPUT" ? !e.labels.length :
		!["aria-labelledby", "aria-describedby"].every(a => !e.hasAttribute(a) || named(e.getAttribute(a))) ||
		!e.hasAttribute("aria-labelledby") || (e.tagName === "svg" && e.getAttribute("role") !== "img")).map(e => e.outerHTML.slice(0, 80));
	return { width: innerWidth, scroll: root.scrollWidth, over, headings: document.querySelectorAll("h1,h2,h3").length,
		plots: [...document.querySelectorAll("svg")].filter(e => e.getBoundingClientRect().width > 300).length,
		tables: document.querySelectorAll("table").length, texts: [...texts], hidden, shut: shut.length, lost, silent };
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
    t.equal([(f["width"], f["lost"][:5], f["hidden"], f["shut"]) for f in found if f["lost"] or (f["hidden"] > 0) != (f["shut"] > 0)], [],
            "a box to tick shows what is folded")
    t.equal([f["silent"] for f in found if f["silent"]], [], "plots, figures, sections and boxes have names")
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
    for name, files in xddkinds.documents():
        check(name, files)


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
    for scheme, width in (("light", 400), ("light", 1000), ("dark", 1600)):
        xddbrowser.show(page, width, scheme)
        found.append((scheme, width, xddbrowser.value(page, PLOTS)))
    return found


def test_plots():
    """No text of a plot is cut, tiny or on another; each point shows its values, without a script."""
    for name, files in (*xddkinds.documents(), ("long names", xddkinds.long_names(1))):
        html = t.command([t.XDD, "report", *files]).out
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
