#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Pages of xdd report of each kind of documents in a browser, headless Chromium, at 400 to 2000 pixels, light, dark and printed
on A4: no error; nothing is wider than the window or than paper, and no table wider than its box; what is folded can be
unfolded; every plot has its table, its name and its description; every text has the contrast of WCAG AA; no text of a plot
is cut, tiny or on another; plots over time zoom, and no script but the page's own runs. Skipped where there is no Chromium.
"""
import html
import re

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


# A width has one layout in both schemes, and the colours of a scheme are the same at each width.
VIEWS = [*(("light", width) for width in WIDTHS), ("dark", 1600), ("print", PAPER)]


def look(page):
    """Return what MEASURE finds in each view and PLOTS on screens, and the page as a PDF."""
    found, plots = [], []
    for scheme, width in VIEWS:
        xddbrowser.show(page, width, scheme.replace("print", "light"), "print" if scheme == "print" else "screen")
        found.append((scheme, xddbrowser.value(page, MEASURE)))
        if scheme != "print":
            plots.append(("%s, %d pixels: " % (scheme, width), xddbrowser.value(page, PLOTS)))
    return found, plots, xddbrowser.pdf(page)


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


def check_plots(name, found):
    """No text of a plot is cut, tiny or on another; each point shows its values, without a script."""
    for view, plots in found:
        where = "%s, %s" % (name, view)
        t.equal((plots["outside"], plots["small"], plots["touching"]), ([], [], []), where + "no text is cut, tiny or on another")
        t.ok(plots["points"] and not plots["silent"], where + "each point shows its values", plots["silent"][:5])
        t.equal(plots["back"], ["rgba(0, 0, 0, 0)"], where + "on the ground of the page")


def check(name, documents):
    run = t.command([t.XDD, "report", *documents], tolerate=["the page has no plots"])
    t.equal(run.status, 0, name + ": a page", run.err)
    page = xddpage.Page(run.out)
    t.equal([f.text()[:60] for f in page.all("figure") if f.all("svg") and not f.all("table")], [],
            name + ": every plot has its table")
    seen, faults = xddbrowser.view("file://" + j.write("page.html", run.out), look)
    found, plots, pdf = seen or ([], [], b"")
    t.equal(faults, [], name + ": no error")
    check_plots(name, plots)
    for scheme in ("light", "dark", "print"):
        check_scheme(name, page, scheme, [f for s, f in found if s == scheme])
    t.ok(pdf[:5] == b"%PDF-" and len(pdf) > 10000, name + ": it prints")


if not xddbrowser.CHROMIUM:
    t.skip_all("no Chromium")


def test_pages():
    for name, files in (*xddkinds.documents(), ("long names", xddkinds.long_names(1))):
        check(name, files)


# ---- zoom in time ----

# The figures with plots over time. Of each plot: the whole element, except the focus that the script gives it; its times and
# the edges of its area; the numbers and lines at the axis with their positions; the points with theirs, and whether a pointer
# there meets them. "drags" counts marks of a drag that are left.
ZOOM = """[...document.querySelectorAll("figure")].map(figure => ({
	status: (figure.querySelector("[aria-live]") || { textContent: "" }).textContent,
	buttons: [...figure.querySelectorAll("button")].filter(e => e.offsetWidth).map(e => e.textContent),
	plots: [...figure.querySelectorAll("svg[data-from]")].map(svg => {
		const copy = svg.cloneNode(true), area = svg.querySelector("clipPath rect");
		copy.removeAttribute("tabindex");
		svg.scrollIntoView({ block: "center" });
		return {
			whole: copy.outerHTML, focus: svg.tabIndex, drags: svg.querySelectorAll(".drag").length,
			from: +svg.dataset.from, to: +svg.dataset.to, unit: svg.dataset.unit,
			left: +area.getAttribute("x"), width: +area.getAttribute("width"),
			tics: [...svg.querySelectorAll(".tics text")].map(e => [e.textContent, +e.getAttribute("x")]),
			lines: [...svg.querySelectorAll(".tics path")].map(e => parseFloat(e.getAttribute("d").slice(1))),
			points: [...svg.querySelectorAll(".hits path,.bar")].map(e => {
				const r = e.getBoundingClientRect();
				return { text: e.textContent, at: e.getAttribute("d").match(/[MH][-.0-9]+/g).map(place => +place.slice(1)),
					met: document.elementsFromPoint(r.left + r.width / 2, r.top + r.height / 2).includes(e) };
			}),
		};
	}),
})).filter(figure => figure.plots.length)"""

# Where a plot is in the window: its left edge, its middle, and pixels per unit.
FRAME = """(() => {
	const svg = document.querySelectorAll("figure svg[data-from]")[%d];
	svg.scrollIntoView({ block: "center" });
	const r = svg.getBoundingClientRect();
	return [r.left, r.top + r.height / 2, r.width / svg.viewBox.baseVal.width];
})()"""
NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
TICS = ["100", "120", "140", "160", "180", "200"]  # from 98 to 203 ms
CONTROLS = ["Zoom in", "Zoom out", "Earlier", "Later", "Whole time"]


def figures(page):
    return xddbrowser.value(page, ZOOM)


def wholes(found):
    return [[plot["whole"] for plot in figure["plots"]] for figure in found]


def select(page, first, last, number=0, **kwargs):
    """Drag over a plot that shows the whole time, from one time in ms to another; the range in ns that is shown then."""
    plot = [plot for figure in figures(page) for plot in figure["plots"]][number]
    left, y, scale = xddbrowser.value(page, FRAME % number)
    share = plot["width"] / (plot["to"] - plot["from"])
    ends = [round(left + (plot["left"] + (ms * 1e6 - plot["from"]) * share) * scale) for ms in (first, last)]
    xddbrowser.drag(page, *((x, y) for x in (ends[0], sum(ends) / 2, ends[1])), **kwargs)
    return sorted(plot["from"] + ((x - left) / scale - plot["left"]) / share for x in ends)


def check_range(what, figure, base, low, high):
    """The plots of a figure have the numbers and the points of the range in ns, at their positions, and a line says it. `base`: before."""
    for plot, whole in zip(figure["plots"], base["plots"]):
        def time(x):
            return whole["from"] + (x - whole["left"]) / whole["width"] * (whole["to"] - whole["from"])

        def x(ns):
            return plot["left"] + (ns - low) / (high - low) * plot["width"]
        where = "%s, %s: " % (what, re.search("<title[^>]*>([^<]*)", plot["whole"]).group(1))
        t.equal([tic for tic in plot["tics"] if abs(tic[1] - x(float(tic[0]) * NS[plot["unit"]])) > 0.06 or tic[1] not in plot["lines"]],
                [], where + "numbers and lines are at their times", (plot["tics"], plot["lines"]))
        t.ok(len(plot["tics"]) > 2 and all(plot["left"] - 0.1 < at < plot["left"] + plot["width"] + 0.1 for at in plot["lines"]),
             where + "and in the range", plot["lines"])
        moved = [(new, [time(at) for at in old["at"]]) for new, old in zip(plot["points"], whole["points"])]
        t.equal([p["text"] for p, times in moved for at, ns in zip(p["at"], times) if abs(at - x(ns)) > 0.01], [],
                where + "points are at their times")
        t.equal([p["text"] for p, times in moved if len(times) == 1 and p["met"] != (low <= times[0] < high)], [],
                where + "the points in the range are shown, and no others")
        t.equal([p["text"] for p in plot["points"]], [p["text"] for p in whole["points"]], where + "with their texts")
    said = [float(number) * NS[unit] for number, unit in re.findall(r"([\d.]+) ([num]?s)\b", figure["status"])]
    t.ok(figure["status"].startswith("Shown: ") and len(said) == 2 and abs(said[0] - low) + abs(said[1] - high) < (high - low) / 200,
         what + ": a line says the range", (figure["status"], low, high))


def check_whole(what, found, before):
    t.ok(wholes(found) == before, what + ": all plots are as they were")
    t.equal([f["status"][:12] for f in found], ["Whole time: "] * len(found), what + ": and a line says so")


def try_pointer(page, name):
    base = figures(page)
    before = wholes(base)
    for what, ends, options in (("a drag", (98, 203), {}), ("a drag to the left over the last plot", (203, 98), {"number": 3}),
                                ("a finger", (98, 203), {"touch": True})):
        low, high = select(page, *ends, **options)
        found = figures(page)
        check_range("%s, %s" % (name, what), found[0], base[0], low, high)
        t.equal([plot["tics"] for plot in found[0]["plots"] if [text for text, _ in plot["tics"]] != TICS], [], "with these numbers")
        t.equal(wholes(found)[1:], before[1:], "and other figures as they were")
        left, y, scale = xddbrowser.value(page, FRAME % 0)
        xddbrowser.drag(page, (left + 200 * scale, y), (left + 203 * scale, y))
        t.equal(wholes(figures(page)), wholes(found), "%s, %s: a short drag is a click" % (name, what))
        left, y, scale = xddbrowser.value(page, FRAME % 0)
        xddbrowser.double_click(page, left + 200 * scale, y)
        check_whole("%s, %s, a double click" % (name, what), figures(page), before)
    low, high = select(page, 150, 250, number=4)
    check_range(name + ", a drag over the targets", figures(page)[1], base[1], low, high)
    xddbrowser.press(page, "Escape")
    check_whole(name + ", Escape", figures(page), before)


def try_keys(page):
    base = figures(page)
    before, low, high = wholes(base), *(base[0]["plots"][0][end] for end in ("from", "to"))
    length = high - low
    page("Runtime.evaluate", expression="document.querySelector('figure svg[data-from]').focus()")
    steps = (("+", low + 0.25 * length, 0.5), ("ArrowRight", low + 0.375 * length, 0.5), ("=", low + 0.5 * length, 0.25),
             ("ArrowLeft", low + 0.4375 * length, 0.25), ("-", low + 0.3125 * length, 0.5), *[("ArrowLeft", low, 0.5)] * 3,
             *[("ArrowRight", high - 0.5 * length, 0.5)] * 4, *[("+", high - 0.255 * length, 0.01)] * 7)
    for i, (key, start, share) in enumerate(steps):
        xddbrowser.press(page, key)
        # Steps of which there are several reach their end with the last one.
        if steps[i + 1:i + 2] != (steps[i],):
            check_range("key %s, step %d" % (key, i), figures(page)[0], base[0], start, start + share * length)
    for key, modifiers in (("0", 2), ("-", 2), ("ArrowLeft", 1), ("a", 0)):
        xddbrowser.press(page, key, modifiers=modifiers)
    check_range("keys of the browser", figures(page)[0], base[0], high - 0.255 * length, high - 0.245 * length)
    for key in ("0", "Escape"):
        xddbrowser.press(page, "+")
        xddbrowser.press(page, key)
        check_whole("key " + key, figures(page), before)
    xddbrowser.press(page, "-")
    check_whole("key - of the whole time", figures(page), before)


def try_buttons(page):
    base = figures(page)
    before, low, high = wholes(base), *(base[0]["plots"][0][end] for end in ("from", "to"))
    t.equal([f["buttons"] for f in base], [CONTROLS] * len(base), "each figure has its controls")
    quarter = (high - low) / 4
    for name, start, end in (("Zoom in", 1, 3), ("Later", 1.5, 3.5), ("Earlier", 1, 3), ("Zoom in", 1.5, 2.5), ("Zoom out", 1, 3)):
        page("Runtime.evaluate", expression="document.querySelectorAll('.zoom button')[%d].click()" % CONTROLS.index(name))
        check_range(name, figures(page)[0], base[0], low + start * quarter, low + end * quarter)
    page("Runtime.evaluate", expression="document.querySelectorAll('.zoom button')[4].click()")
    check_whole("Whole time", figures(page), before)


def try_print(page):
    """Paper has the whole time, and the window its range afterwards."""
    before = wholes(figures(page))
    select(page, 98, 203)
    zoomed = wholes(figures(page))
    page("Runtime.evaluate", expression="addEventListener('beforeprint', () => { window.paper = %s; })" % ZOOM)
    xddbrowser.pdf(page)
    t.ok(zoomed != before and wholes(xddbrowser.value(page, "paper")) == before, "paper has the whole time")
    t.equal(wholes(figures(page)), zoomed, "and the window shows the range again")
    for scheme in ("light", "dark"):
        xddbrowser.show(page, 1000, scheme)
        found = xddbrowser.value(page, PLOTS)
        t.equal((found["outside"], found["small"], found["touching"]), ([], [], []), scheme + ": no text is cut, tiny or on another")
    xddbrowser.show(page, PAPER, media="print")
    t.equal([f["buttons"] for f in figures(page)], [[]] * len(before), "and paper has no buttons")


def try_scroll(page):
    """A finger that moves up scrolls. The page may still move afterwards."""
    before = wholes(figures(page))
    left, y, _ = xddbrowser.value(page, FRAME % 0)
    xddbrowser.drag(page, (left + 200, y), (left + 200, y - 60), (left + 280, y - 120), touch=True)
    found = figures(page)
    check_whole("a finger that scrolls", found, before)
    t.equal([plot["drags"] for figure in found for plot in figure["plots"]], [0] * sum(map(len, before)), "and no mark is left")


def look_at_zoom(page):
    page("Emulation.setTouchEmulationEnabled", enabled=True)
    for width in (1000, 400):
        xddbrowser.show(page, width)
        try_pointer(page, "%d pixels" % width)
    try_keys(page)
    try_buttons(page)
    xddbrowser.show(page, 1000)
    try_print(page)
    xddbrowser.show(page, 400)
    page("Runtime.evaluate", expression="document.querySelectorAll('.zoom button')[4].click()")
    try_scroll(page)
    return True


def test_zoom():
    """Plots over time show a range of it, by pointer, finger, keys and buttons."""
    text = t.command([t.XDD, "report", *xddkinds.two_runs(1)]).out
    done, faults = xddbrowser.view("file://" + j.write("zoom.html", text), look_at_zoom)
    t.equal((done, faults), (True, []), "no error")


def test_without_script():
    """A page whose script does not run has all plots, and no controls."""
    file = "file://" + j.write("zoom.html", t.command([t.XDD, "report", *xddkinds.two_runs(1)]).out)

    def look_once(page):
        xddbrowser.show(page, 1000)
        return figures(page), xddbrowser.value(page, PLOTS)
    (with_it, points), faults = xddbrowser.view(file, look_once)
    (without, same), more = xddbrowser.view(file, look_once, scripts=False)
    t.equal((faults, more), ([], []), "no error")
    t.ok(len(without) == 4 and wholes(without) == wholes(with_it), "the plots are the same")
    t.equal((same, same["points"] > 100), (points, True), "and so is all that can be read in them")
    t.equal([[[plot["focus"] for plot in f["plots"]] for f in found] for found in (with_it, without)],
            [[[focus] * len(f["plots"]) for f in without] for focus in (0, -1)], "the script lets them have the focus")
    t.equal([[f["buttons"] for f in found] for found in (with_it, without)], [[CONTROLS] * 4, [[]] * 4], "and adds the controls")
    t.equal([f["status"] for f in without], [""] * 4, "and the line")


INJECTED = "<script>window.owned = 1</script>"


def test_injected():
    """Only the script of the page runs: texts of a document are no markup, and if one were, the policy would refuse it."""
    document = j.load(xddkinds.plain(1)[0])
    # Names that differ before their last slash only are shown whole.
    names = [side + "</script></title></svg>" + INJECTED for side in "ab"]
    document["plan"]["targets"] = [dict(document["plan"]["targets"][0], path=name, name=name) for name in names]
    page = t.command([t.XDD, "report", j.write("injected.json", document)]).out
    t.ok(html.escape(names[0]) in page, "a page shows the name of a target")
    def owned(view):
        return xddbrowser.value(view, "[window.owned, document.scripts.length, document.querySelectorAll('.zoom').length]")
    t.equal(xddbrowser.view("file://" + j.write("injected.html", page), owned), ([None, 1, 2], []), "and it is no script")
    with_script = page.replace("<main", INJECTED + "<main")
    found, faults = xddbrowser.view("file://" + j.write("injected.html", with_script), owned)
    t.equal((found, len(faults), "Content Security Policy" in "".join(faults)), ([None, 2, 2], 1, True), "the policy refuses another script")
    without = re.sub("<meta http-equiv=[^>]*>", "", with_script)
    t.equal(xddbrowser.view("file://" + j.write("injected.html", without), owned), ([1, 2, 2], []), "which would run without it")


try:
    t.run(test_pages, test_zoom, test_without_script, test_injected)
finally:
    xddbrowser.quit()
t.done()
