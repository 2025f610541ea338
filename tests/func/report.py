#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd report: the page is well-formed, complete in itself and readable; its figures are those of the documents; texts of
documents cannot become markup; and what it refuses.
"""
import copy
import functools
import itertools
import math
import os
import re
import xml.dom.minidom

import messages as m
import xddjson as j
import xddkinds
import xddpage
import xddtest as t

BAD_ARGUMENT, BAD_OPTION, IO_ERROR = 2, 3, 6
TWO = "-op noop -targets 2 null null -numreqs 10000 -passes 5".split()
HOSTILE = ["<script>alert(1)</script>", "\"onload=\"alert(1)", "'><img src=x onerror=alert(1)>", "`touch owned`",
           "x'; system('touch owned') #", "\x1b[31m\u202e</title></style>", "&lt;&amp;", "$data\nEOD\n@x %s{/:Bold}"]


def report(*args, **kwargs):
    return t.command([t.XDD, "report", *args], **kwargs)


@functools.cache
def of_two():
    """The document of TWO, which is in the file `two`. For all tests: they change copies."""
    return j.of_run("two", *TWO)


def page_of(run, name):
    """The page, after the checks that hold for each of them."""
    page = xddpage.Page(run.out)
    t.equal((run.status, run.err), (0, ""), name + ": a page", run.err)
    t.equal((page.faults, page.external()), ([], []), name + ": it is well-formed, and needs nothing else")
    refs = [r for e in page.all() for key in ("aria-labelledby", "aria-describedby")
            for r in e.attributes.get(key, "").split()] + \
        [e.attributes["href"][1:] for e in page.all("a") if e.attributes.get("href", "").startswith("#")]
    t.equal([r for r in refs if r not in page.ids], [], name + ": what it refers to is there")
    t.ok(page.root.all("main") and len(page.all("h1")) == 1 and page.all("html")[0].attributes.get("lang") == "en" and
         all(len(table.all("caption")) == 1 and table.parent.attributes.get("class") == "box" and table.all("th") and
             all("scope" in th.attributes for th in table.all("th")) for table in page.all("table")),
         name + ": its parts have names, its tables heads, and boxes to scroll in")
    return page


def row_of(page, caption, head):
    """The row with that head as a dictionary by the heads of the columns."""
    for title, rows in page.tables().items():
        if title.startswith(caption):
            return next((dict(zip(rows[0], row)) for row in rows[1:] if row[0] == head), None)
    return None


def test_run():
    document = of_two()
    page = page_of(report(t.path("two")), "a run")
    t.equal(page.headings()[2:], ["Over time", "Latency", "Targets", "Environment"], "its sections")
    rows = [row_of(page, "Targets side by side", head) or {} for head in ("target 0, null", "target 1, null", "all targets")]
    t.equal([(r.get("operations"), r.get("errors"), r.get("operation")) for r in rows],
            [("50000", "0", "noop"), ("50000", "0", "noop"), ("100000", "0", "noop")], "targets side by side")
    t.equal((row_of(page, "Service times", "noop") or {}).get("operations"), "100000", "latencies of all")
    t.equal((row_of(page, "Machine", "host name") or {}).get("value"), document["environment"]["host"]["name"],
            "the environment")
    t.equal((row_of(page, "The plan", "target 1 path") or {}).get("value"), "null", "the plan")
    text = page.root.text()
    t.ok(document["command_line"] in text and "is the mean of 5 passes with 95 % confidence" in text and
         "complete: it ended normally" in text, "the summary has the command, the certainty and the end")
    spans = next(f for f in page.all("figure") if f.all("figcaption")[0].text().startswith("Starts and ends of the passes"))
    t.equal([e.text() for e in spans.all("svg")[0].all("text") if "null" in e.text()], ["0: null", "1: null"], "each target has one tic, for all of its passes")


def test_verdicts():
    base = j.of_run("one", *"-op noop -targets 1 null -numreqs 100".split())
    page = page_of(report(t.path("one")), "one pass")
    t.ok("measured once; to see how far it repeats: -passes 5" in page.root.text(),
         "one pass says nothing, and what to do is said")
    j.of_run("timed", *"-op noop -targets 1 null -runtime 0.25".split())
    page = page_of(report(t.path("timed")), "-runtime")
    t.ok("how far it repeats: -timelimit 0.25 -passes 5 in place of -runtime" in page.root.text(),
         "one pass of -runtime: what to do in place of it is said")
    bad = copy.deepcopy(base)
    bad.update(status=6, partial=True, end="canceled", messages=[
        {"level": "warning", "text": "the page cache answered"}, {"level": "error", "text": "it <b>broke</b>"}])
    average = next(r for r in bad["results"] if r["what"] == "COMBINED")
    average.update(errors=3, miscompares=2, outstanding=1)
    bad["results"].append(dict(average, what="TARGET_AVERAGE", target=0, bound="starved"))
    bad["statistics"][0]["not_reproducible"] = "pass 1 is slow"
    text = page_of(report(j.write("bad", bad)), "a bad run").root.text()
    for want in ("partial: the run was canceled before its end", "failed: the exit status was 6", "errors: 3 operations failed",
                 "wrong data: 2 extents", "hung: 1 requests", "limited: target 0, null: other programs had the processors",
                 "warning: the page cache answered", "error: it <b>broke</b>"):
        t.ok(want in text, want, text[:2000])
    t.ok("ended normally" not in text, "and not that it ended normally")


def test_sweep():
    file = t.path("sweep")
    run = t.command([t.XDD, "sweep", *"-op noop -targets 1 null -numreqs 50 -rounds 2 -queuedepth 1,2 -reqsize 1,4 -jsonout".split(),
                     file], tolerate=[t.CACHED])
    t.equal(run.status, 0, "a sweep", run)
    page = page_of(report(file), "a sweep")
    rows = next(rows for caption, rows in page.tables().items() if caption.startswith("Means over the rounds"))
    t.equal((rows[0][:3], [row[:3] for row in rows[1:]]),
            (["point", "queuedepth", "reqsize"], [["1", "1", "1"], ["2", "1", "4"], ["3", "2", "1"], ["4", "2", "4"]]),
            "a row for each point")
    for words, heads in ((["-axis", "queuedepth"], ["queuedepth", "1", "2"]), (["-axis", "-reqsize"], ["reqsize", "1", "4"]),
                         ([], ["queuedepth", "1", "2"])):
        lines = [rows for caption, rows in page_of(report(*words, file), "axis").tables().items() if caption.startswith("Bandwidth")]
        t.ok(lines and lines[0][0][0] == heads[0] and [row[0] for row in lines[0][1:]] == heads[1:], "the x axis: " + " ".join(words), lines)
    both = page_of(report(file, j.write("plain", of_two())), "a sweep and a run")
    t.equal([h for h in both.headings() if h[:3] in ("a: ", "b: ")], ["a: " + file, "b: " + t.path("plain")],
            "several documents, one after the other")


def plots_of(page):
    """The names of the plots, each in a figure that has a table."""
    bad = [f.all("figcaption")[0].text() for f in page.all("figure") if f.all("svg") and not f.all("table")]
    t.equal(bad, [], "every plot has its table")
    names = []
    for svg in page.all("svg"):
        title, described = svg.all("title")[0], svg.all("desc")[0]
        t.equal((svg.attributes.get("role"), svg.attributes.get("aria-labelledby"), svg.attributes.get("aria-describedby")),
                ("img", title.attributes.get("id"), described.attributes.get("id")), "every plot has a name and a description")
        t.ok(" Values: " in described.text() and described.text().count(".") > 1, "which says something", described.text())
        names.append(title.text())
    return names


def plot_of(page, name):
    return next(svg for svg in page.all("svg") if svg.all("title")[0].text() == name)


def hits(svg):
    """The points of a plot: the place and the text of each, by lines; and the places of its frame (left, right, top, bottom)."""
    lines = {}
    for group in svg.all("g"):
        if group.attributes.get("class", "").startswith("hits"):
            for path in group.all("path"):
                text = path.all("title")[0].text()
                name, _, rest = text.rpartition(": ")
                x, y = re.match(r"M(\S+) (\S+)h0", path.attributes["d"]).groups()
                lines.setdefault(name, []).append((float(x), float(y), rest))
    left, top, bottom, right = map(float, re.match(r"M(\S+) (\S+)V(\S+)H(\S+)", next(
        p for p in svg.all("path") if p.attributes.get("class") == "axis").attributes["d"]).groups())
    return lines, (left, right, top, bottom)


def texts(svg):
    return [e.text() for e in svg.all("text")]


def by_class(svg, name):
    return [e for e in svg.all() if e.attributes.get("class") == name]


def test_curve():
    file = t.path("curve")
    run = t.command([t.XDD, "curve", *"-op noop -target null -operationdelay 0.0001 -numreqs 50 -queuedepth 1 -rounds 2".split(),
                     "-load", "5,10,20,110", "-goal", "p50=10s", "-jsonout", file],
                    tolerate=["curve: the maximum is not steady", m.RATE_NOT_REACHED])
    t.equal(run.status, 0, "a curve", run)
    doc = j.load(file)
    loads = doc["curve"]["loads"]
    page = page_of(report(file), "a curve")
    answers = answers_of(page)
    t.equal([title.split(":")[0] for title in answers], ["goal", "maximum", "knee"], "says the goal, the maximum and the knee")
    t.ok("goal: response p50 up to 10.0 s" in answers and answers["goal: response p50 up to 10.0 s"][1].startswith("at "),
         "and the load of the goal", answers)
    rows = next(rows for caption, rows in page.tables().items() if caption.startswith("Loads of the curve"))
    t.equal([(r[0], r[-1]) for r in rows[1:]], [("%.5g\u00a0%%" % x["percent"], "yes" if x["overloaded"] else "no") for x in loads],
            "a row for each load")
    t.ok(all(r[8] != "-" or x["lateness"] is None for r, x in zip(rows[1:], loads)), "with the lateness of xdd", rows)
    t.ok("Response and service times by load" in plots_of(page) and "Lateness of xdd itself by load" in plots_of(page),
         "and the plots of a curve", plots_of(page))
    doc["curve"] = {"maximum": {"iops": "x"}, "loads": [5, {"percent": -1, "response": {}}, []], "knee": {"percent": 1e300},
                    "knee_missing": 7, "goal": {"figure": "<b>", "limit": None, "holds_percent": 3}}
    page_of(report(j.write("odd", doc)), "a curve of other types")
    doc["curve"] = {}
    page_of(report(j.write("odd", doc)), "an empty curve")


def test_curve_plot():
    page = page_of(report(j.write("made", xddkinds.made_curve())), "a curve of round numbers")
    t.equal(plots_of(page), ["Response and service times by load", "Tail of the response times by load",
                             "Lateness of xdd itself by load"], "response, tail and lateness have plots of their own")
    svg = plot_of(page, "Response and service times by load")
    lines, (left, right, top, bottom) = hits(svg)
    t.equal(sorted(lines), ["response mean", "response p50", "response p99", "service mean"], "its lines, without the lateness")
    mean = lines["response mean"]
    t.equal([text for _, _, text in mean],
            ["1.25 ms (1.12 ms to 1.38 ms) at 20", "1.50 ms (1.35 ms to 1.65 ms) at 40", "2.00 ms (1.80 ms to 2.20 ms) at 60; disturbed",
             "4.00 ms (3.60 ms to 4.40 ms) at 80", "30.0 ms (27.0 ms to 33.0 ms) at 95; beyond the axis"], "each point says its values")
    per_ms = (bottom - mean[3][1]) / 4
    t.ok(all(abs(bottom - y - per_ms * float(text.split()[0])) < 0.2 for _, y, text in mean[:4]), "the axis is linear, from 0", mean)
    t.ok(abs(bottom - top - 5 * per_ms) < 0.2, "and ends at five times the service time", (bottom, top, per_ms))
    t.ok(mean[4][1] < top and "beyond 5.00 ms:" in texts(svg), "what is beyond is marked at the edge", (mean[4], texts(svg)))
    x = {p: left + (mean[0][0] - left) / 20 * p for p in (40, 50, 65, 80)}
    band = by_class(svg, "band")[0].attributes
    t.ok(abs(float(band["x"]) - x[40]) < 0.3 and abs(float(band["x"]) + float(band["width"]) - x[65]) < 0.3,
         "the band is the interval of the knee", (band, x))
    marks = [re.findall(r"[-.\d]+", e.attributes["d"]) for e in by_class(svg, "mark")]
    t.ok(abs(float(marks[0][0]) - x[50]) < 0.3 and any(abs(float(m[1]) - (bottom - 4 * per_ms)) < 0.3 for m in marks),
         "the knee is a vertical line, the goal a level", marks)
    t.ok("knee 50 % (40 to 65 %)" in texts(svg) and "goal: mean up to 4.00 ms (to 80 %)" in texts(svg), "with their labels", texts(svg))
    t.ok(len(by_class(svg, "disturbed")) == 1 and "disturbed" in texts(svg), "disturbed loads are marked")
    late, _ = hits(plot_of(page, "Lateness of xdd itself by load"))
    t.equal([text for _, _, text in late[""]], ["%.2f us at %d" % (2 + i / 1000, p) for i, p in enumerate((20, 40, 60, 80, 95))],
            "the lateness")
    far = xddkinds.made_curve()
    far["curve"]["goal"]["limit"] = 1e9
    svg = plot_of(page_of(report(j.write("far", far)), "a goal that is far away"), "Response and service times by load")
    t.ok("beyond 5.00 ms:" in texts(svg) and not [x for x in texts(svg) if x.startswith("goal")], "does not extend the axis")


def test_sweep_plot():
    def page_of_axes(*axes):
        return page_of(report(j.write("made", xddkinds.made_sweep(axes))), "a sweep of " + ", ".join(name for name, _ in axes))

    def places(page, title="Bandwidth of the points"):
        lines, _ = hits(plot_of(page, title))
        return [x for x, _, _ in next(iter(lines.values()))]
    page = page_of_axes(("queuedepth", ["1", "2", "4", "8", "16", "32"]))
    plots = plots_of(page)
    t.equal(plots, ["Bandwidth of the points", "99th percentile of the points"], "one list: lines")
    made = xddkinds.made_sweep([("queuedepth", ["1", "2", "4"])])
    for known, wanted in ((2, plots), (1, plots[:1])):
        for point in made["points"][known:]:
            point["statistics"][0]["p99"] = None
        some = page_of(report(j.write("some", made)), "a sweep with few percentiles")
        said = " ".join(caption.text() for caption in some.root.all("figcaption"))
        t.equal((plots_of(some), "99th percentile" in said), (wanted, known > 1), "p99 of %d points" % known)
        t.equal(answers_of(some),
                {"highest rate": ("3.00 MB/s", "at queuedepth 4"), "most operations per second": ("3.00 /s", "at queuedepth 4"),
                 "lowest mean latency": ("1.00 ms", "at queuedepth 1; as good within the intervals: 2, 4"),
                 "lowest p99": ("1.00 ms", "at queuedepth 1" + known // 2 * "; as good within the intervals: 2")},
                "the best points of these")
    slow = xddkinds.made_sweep([("queuedepth", ["1", "2"])])
    for point, bandwidth, iops in zip(slow["points"], (0, 0), (0.5, 0.25)):
        point["statistics"][0].update({f: {"values": [v, v], "mean": v, "interval_low": v, "interval_high": v}
                                       for f, v in (("bandwidth", bandwidth), ("iops", iops))})
    found = answers_of(page_of(report(j.write("slow", slow)), "a slow sweep"))
    t.equal((found.get("highest rate"), found["most operations per second"]), (None, ("0.500 /s", "at queuedepth 1")),
            "no point is the best where all are 0")
    lines, (_, _, top, bottom) = hits(plot_of(page, plots[0]))
    t.equal(lines[""][1][2], "2.00 MB/s (1.80 MB/s to 2.20 MB/s) at 2", "a point has its interval")
    bars = by_class(plot_of(page, plots[0]), "interval")[0].attributes["d"]
    x, low, high = map(float, re.search(r"M(\S+) (\S+)V([\d.]+)", bars[bars.index("V") + 1:]).groups())
    t.ok(abs(low - high - 0.2 * (bottom - lines[""][1][1])) < 0.3, "which is drawn: +-10 %", (x, low, high))
    steps = [b - a for a, b in zip(places(page), places(page)[1:])]
    t.ok(max(steps) - min(steps) < 0.3, "values that double are equally far away", steps)
    points, (left, right, _, _) = hits(plot_of(page, plots[0]))
    room = [points[""][0][0] - left, right - points[""][-1][0]]
    t.ok(min(room) > 1 and abs(room[0] - room[1]) < 0.3, "with equal room on both sides", room)
    at = places(page_of_axes(("queuedepth", ["10", "1", "2", "20", "4", "5"])))
    t.equal(at, sorted(at), "values have their order")
    at = places(page_of_axes(("rwratio", ["0", "10", "20", "100"])))
    t.ok(abs((at[3] - at[0]) / (at[1] - at[0]) - 10) < 0.1, "numbers have their true places", at)
    page = page_of_axes(("rwratio", ["0", "3", "50", "100"]))
    at = places(page)
    tics = texts(plot_of(page, plots[0]))[:3]
    t.ok(7.2 < at[1] - at[0] < 14.4 and tics == ["0", "50", "100"], "a number that would touch the last one is left out", (at, tics))
    at = places(page_of_axes(("reqsize", ["4k", "16k", "1M"])))
    t.ok(abs((at[2] - at[0]) / (at[1] - at[0]) - 4) < 0.1, "sizes with a suffix as well", at)
    at = places(page_of_axes(("seek", ["random", "sequential", "none"])))
    t.ok(abs(at[2] - at[1] - at[1] + at[0]) < 0.3, "words are one after the other", at)
    words = ["%s%d" % ("w" * 20, i) for i in range(9)]
    svg = plot_of(page_of_axes(("seek", words)), plots[0])
    turned = [e for e in svg.all("text") if e.attributes.get("transform", "").startswith("rotate(-40 ")]
    t.equal([e.text() for e in turned], words, "words that are too long to be side by side are turned")
    axis = next(e for e in by_class(svg, "name") if e.text() == "seek")
    below, height = float(axis.attributes["y"]) - float(turned[0].attributes["y"]), float(svg.attributes["viewbox"].split()[3])
    t.ok(below > 21 * 7.2 * math.sin(math.radians(40)) and float(axis.attributes["y"]) < height,
         "and the name of the axis is below them", (below, height))
    page = page_of_axes(("queuedepth", ["1", "2", "4"]), ("op", ["read", "write"]))
    t.equal(plots_of(page)[2:], ["Grid of the bandwidth"], "two lists: a grid as well")
    grid = plot_of(page, "Grid of the bandwidth")
    t.equal((sorted(e.text() for e in by_class(grid, "number")), [len(by_class(grid, "cell")), len(hits(plot_of(page, plots[0]))[0])]),
            (["%d.00 MB/s" % i for i in range(1, 7)], [6 + 5, 2]), "with numbers in its cells, and shades; a line for each value")
    shades = [e for e in by_class(grid, "cell") if e.attributes["height"] == "12"]
    line = float(shades[0].attributes["y"]) + 10
    legend = [e for e in grid.all() if e in shades or e.name == "text" and float(e.attributes["y"]) == line]
    at = [float(e.attributes["x"]) for e in legend]
    t.equal(([e.name for e in legend], at), (["text"] + 5 * ["rect"] + ["text"], sorted(at)),
            "the legend of the shades: the least value is before them, and the greatest after")
    made = xddkinds.made_sweep([("queuedepth", ["1", "2", "4"]), ("op", ["read", "write"]), ("direct", ["a", "b"])])
    page = page_of(report(j.write("panels", xddkinds.changed_sweep(made, itertools.cycle((1, 10))))), "a sweep of three lists")
    several = [name for name in plots_of(page) if name.startswith(plots[0])]
    t.equal(several, [plots[0] + ": direct a", plots[0] + ": direct b"], "three lists: plots for each value of the third")
    many = plot_of(page_of_axes(("queuedepth", [str(1 + i) for i in range(20)]), ("op", list("abcde"))), plots[0])
    lines, (left, right, _, _) = hits(many)
    first, *_, last = lines.values()
    apart = [q[0] - p[0] for p, q in zip(first, last)]
    t.ok(len(apart) == 20 and all(abs(x - (right - left) / 21 / 3) < 0.11 for x in apart), "points of many values are nearer to each other",
         (apart, left, right))
    scales = []
    for name in several:
        lines, (_, _, top, bottom) = hits(plot_of(page, name))
        scales += [(bottom - y) / float(text.split()[0]) for points in lines.values() for _, y, text in points[1:]]
    t.ok(max(scales) - min(scales) < 0.05 * max(scales), "with one scale", scales)


def page_of_two(first, second, *words):
    return page_of(report(j.write("first.json", first), j.write("second.json", second), *words), "two sweeps")


def test_two_sweeps():
    """Two sweeps of one list have one plot, in which neither hides the other."""
    page = page_of_two(xddkinds.made_sweep([("queuedepth", ["1", "2", "4", "8"])]),
                       xddkinds.changed_sweep(xddkinds.made_sweep([("queuedepth", ["2", "4", "8", "16"])]), [1.5] * 4))
    plots = plots_of(page)
    t.equal(plots[:2], ["Bandwidth of both sweeps", "99th percentile of both sweeps"], "one list: both are in one plot")
    lines, _ = hits(plot_of(page, plots[0]))
    t.equal([*lines], ["a: first.json", "b: second.json"], "with the names of the documents")
    a, b = lines.values()
    t.equal([text for _, _, text in a[1:2] + b[:1]],
            ["2.00 MB/s (1.80 MB/s to 2.20 MB/s) at 2", "1.50 MB/s (1.35 MB/s to 1.65 MB/s) at 2"], "each point has its interval")
    steps = [right[0] - left[0] for line in (a, b) for left, right in zip(line, line[1:])]
    t.ok(max(steps) - min(steps) < 0.3, "values that double are equally far away", steps)
    apart = [q[0] - p[0] for p, q in zip(a[1:], b)]
    t.ok(len(apart) == 3 and all(abs(x - 4) < 0.2 for x in apart), "points of one value are beside each other", apart)
    bars = [re.findall(r"M(\S+) \S+V", e.attributes["d"]) for e in by_class(plot_of(page, plots[0]), "interval")]
    t.equal([[float(x) for x in own] for own in bars], [[x for x, _, _ in a], [x for x, _, _ in b]], "and so are their intervals")
    t.ok("Their lists differ: points that both have are compared." in page.root.text(), "other lists are named")
    t.equal(page.tables()["Bandwidth of both"],
            [["queuedepth", "a: first.json", "b: second.json", "b to a"], ["1", "1.00 MB/s +-10 %", "-", "-"],
             ["2", "2.00 MB/s +-10 %", "1.50 MB/s +-10 %", "-25.0 %"], ["4", "3.00 MB/s +-10 %", "3.00 MB/s +-10 %", "(+0.0 %)"],
             ["8", "4.00 MB/s +-10 %", "4.50 MB/s +-10 %", "+12.5 %"], ["16", "-", "6.00 MB/s +-10 %", "-"]],
            "the table has the values and the changes")
    page = page_of_two(xddkinds.made_sweep([("queuedepth", ["1", "2"])]), xddkinds.made_sweep([("reqsize", ["1", "2"])]))
    t.equal([name for name in plots_of(page) if "both" in name], [], "sweeps of different lists have no common plot")
    page = page_of_two(*[xddkinds.made_sweep([("queuedepth", ["1", "2"])])] * 2)
    t.ok("No point of both has these figures." not in page.root.text(), "figures that both have")
    bare = xddkinds.made_sweep([("queuedepth", ["1", "2"]), ("op", ["read", "write"])])
    for point in bare["points"]:
        point["statistics"][0].update(bandwidth=dict(values=[0, 0], mean=0, interval_low=0, interval_high=0), p99=None)
    text = page_of_two(bare, bare).root.text()
    t.equal(text.count("No point of both has these figures."), 1, "figures that none has", text)
    several = ("queuedepth", ["1", "2"]), ("op", ["read"]), ("seek", ["random", "none"])
    page = page_of_two(xddkinds.made_sweep(several), xddkinds.made_sweep(several))
    t.equal([name for name in plots_of(page) if name.startswith("Changes of the bandwidth")],
            ["Changes of the bandwidth, b to a: op read"], "three lists: the third is named")


def test_two_grids():
    """Two sweeps of two lists have a grid of their changes, of which the real ones have a colour."""
    axes = ("queuedepth", ["1", "2"]), ("op", ["read", "write"])
    first = xddkinds.made_sweep(axes)
    second = xddkinds.changed_sweep(first, (1.2, 0.5, 1, 20))
    page = page_of_two(first, second, "-plots", t.path("grids"))
    plots = plots_of(page)
    t.equal(plots[:2], ["Changes of the bandwidth, b to a", "Changes of the 99th percentile, b to a"], "two lists: grids of changes")
    for plot, better, worse in ((plots[0], 2, 1), (plots[1], 1, 2)):
        grid = plot_of(page, plot)
        t.equal(sorted(e.text() for e in by_class(grid, "number")), ["(+0.0 %)", "+20.0 %", "-50.0 %", "20.0 times"], "each cell has a change")
        t.equal([len(by_class(grid, c)) for c in ("better", "worse", "cell")], [better + 1, worse + 1, 1],
                "real ones have a colour, also in the legend")
        t.equal([x for x in texts(grid) if x in ("better", "worse", "in brackets: not real")], ["better", "worse", "in brackets: not real"],
                "which names it")
        t.ok("%s by op" % ("bandwidth" if plot == plots[0] else "p99") in texts(grid), "and the grid says what changes", texts(grid))
    titles = [e.text() for e in plot_of(page, plots[0]).all("title")]
    t.ok("queuedepth 1, op read: 1.00 \u2192 1.20 MB/s, +20.0 % (+20.0 to +20.0 %); real: better" in titles, "a pointer shows the values", titles)
    t.equal(page.tables()["Bandwidth: a \u2192 b"],
            [["queuedepth", "op read", "op write"], ["1", "1.00 \u2192 1.20 MB/s, +20.0 %", "2.00 \u2192 1.00 MB/s, -50.0 %"],
             ["2", "3.00 \u2192 3.00 MB/s, (+0.0 %)", "4.00 \u2192 80.0 MB/s, 20.0 times"]], "the table has the values and the changes")
    with open(os.path.join(t.path("grids"), "01-a-changes-bandwidth.dat"), encoding="utf-8") as f:
        t.equal([float(line.split()[-1]) for line in f if line.strip() and line[0] != "#"], [1.2, 1, 0.5, 20], "-plots: the ratios")
    for points, word in ((first["points"], "-dio"), (second["points"], "-syncwrite")):
        for point in points:
            point["words"] = ["-op", "read", word]
    page = page_of_two(first, second)
    grid = plot_of(page, plots[0])
    t.equal([len(by_class(grid, c)) for c in ("better", "worse", "cell")], [0, 0, 5], "of different plans none is good or bad")
    t.ok("The words of their points differ, which may be the cause:" in page.root.text() and
         "-op read -dio -> -op read -syncwrite" in page.root.text() and "Both have the same plan" not in page.root.text(),
         "and the page says so")


ALL = ["Bandwidth over time", "Operations per second over time", "Service times over time: p50 and p99",
       "Greatest service times over time", "Bandwidth by pass", "Distribution of the service times", "Heat map of the service times",
       "Starts and ends of the targets"]


def test_plots():
    file, where = t.path("long"), t.path("plots")
    document = j.of_run("long", *"-op noop -targets 2 null null -passes 3 -timelimit 0.1 -operationdelay 0.00002 -intervals 0.02".split())
    page = page_of(report(file, "-noplots"), "-noplots")
    t.equal((plots_of(page), page.root.text().count("The plots are missing: -noplots. Their values are in the tables.")),
            ([], len(page.all("figure"))), "-noplots: the missing plots are named")
    run = report(file, env={"PATH": "/nowhere"})
    t.ok(run.status == 0 and "<svg" in run.out, "plots need no other program", run)
    page = page_of(report(file, "-plots", where), "with plots")
    t.equal(plots_of(page), ALL, "the plots of a run")
    rows = next(rows for caption, rows in page.tables().items() if caption.startswith("Intervals of all targets"))
    t.ok(10 < len(rows) <= 201, "and the rows of the intervals", len(rows))
    lines, _ = hits(plot_of(page, ALL[0]))
    t.equal(list(lines), ["all", "0: null", "1: null"], "targets with one file have their numbers")
    t.equal([text.split(" at ")[0] for _, _, text in lines["all"]], [row[3] for row in rows[1:]], "each point says the rate of its row")
    lines, _ = hits(plot_of(page, ALL[2]))
    greatest, _ = hits(plot_of(page, ALL[3]))
    t.equal(([*lines], [*greatest]), (["noop p50", "noop p99"], ["noop max"]), "p99 and max are apart")
    t.equal([text.split(" at ")[0] for _, _, text in greatest["noop max"]], [row[7] for row in rows[1:]], "and max is that of the rows")
    bars = [e.text() for e in by_class(plot_of(page, ALL[7]), "bar")]
    t.equal(len(bars), len([r for r in document["results"] if r["what"] == "TARGET_PASS"]), "a bar for each pass of each target")
    names = sorted(os.listdir(where))
    stems = sorted({name.rsplit(".", 1)[0] for name in names})
    t.equal((names, len(stems)), (sorted(s + e for s in stems for e in (".dat", ".gnuplot", ".svg")), len(page.all("svg"))),
            "-plots: data, script and SVG of each")
    with open(os.path.join(where, stems[0] + ".svg"), encoding="utf-8") as f:
        svg = f.read()
    xml.dom.minidom.parseString(svg)
    t.ok("var(" not in svg and "<title>" in svg, "SVG that is well-formed and needs no page")
    if t.have("gnuplot"):
        made = [t.command(["gnuplot", "-d", s + ".gnuplot"], cwd=where).status for s in stems]
        pictures = [open(os.path.join(where, s + ".png"), "rb").read(4) for s in stems]
        t.equal((made, pictures), ([0] * len(stems), [b"\x89PNG"] * len(stems)), "the scripts make PNG")
    else:
        t.skip("scripts", "no gnuplot")
    # Neither a document nor the page is overwritten by a file of a plot.
    data = os.path.join(where, stems[0] + ".dat")
    with open(file, "rb") as f:
        document = f.read()
    with open(data, "wb") as f:
        f.write(document)
    for words, message in (([data, "-plots", where], "-plots %s: would replace %s" % (where, data)),
                           ([file, "-plots", where, "-output", data], "-output %s: is a file of -plots" % data)):
        run = report(*words)
        t.ok(run.status == BAD_ARGUMENT and message in run.err, message, run)
    with open(data, "rb") as f:
        t.equal(f.read(), document, "nothing is replaced")
    run = report(file, "-plots", file)
    t.ok(run.status == IO_ERROR and len(run.error_lines()) == 1, "-plots with a file", run)


def test_difference():
    base = of_two()
    noise = [99.0, 101.0, 100.0, 98.0, 102.0]

    def with_values(name, factor):
        new = copy.deepcopy(base)
        for statistic in new["statistics"]:
            statistic["not_reproducible"] = None
            for figure in ("bandwidth", "iops", "latency", "p50", "p99", "p99.9"):
                statistic[figure]["values"] = [v * factor for v in noise]
        return j.write(name, new)
    both = {"real: better", "real: worse"}
    for factor, change, verdicts, sentence in ((1.2, "+20.0 %", both, "18 differences are real"),
                                               (1.0, "+0.0 %", {"may be chance"}, "No difference between the results")):
        page = page_of(report(with_values("first", 1.0), with_values("second", factor)), "%g times as much" % factor)
        rows = next(rows for caption, rows in page.tables().items() if caption.startswith("b to a"))
        t.equal((len(rows), {r[4] for r in rows[1:]}, {r[6] for r in rows[1:]}, {r[0] for r in rows[1:]}),
                (19, {change}, verdicts, {"all targets", "target 0, null", "target 1, null"}), "each figure of each subject")
        t.ok("more rows" not in page.root.text(), "and no more", page.root.text()[:2000])
        t.equal({r[1]: r[6] for r in rows[1:] if "better" in r[6]},
                {"bandwidth": "real: better", "IOPS": "real: better"} if factor > 1 else {}, "more is better of rates only")
        answers = {a.all("dt")[0].text(): a for a in page.all("dl")[0].all("div")}
        t.equal((list(answers), {a.attributes["class"] for a in answers.values()}),
                (["bandwidth", "IOPS", "latency", "p50", "p99", "p99.9"], {"good", "bad"} if factor > 1 else {"plain"}),
                "the difference begins with what changed")
        t.ok(sentence in page.root.text() and "Distributions of both documents" in plots_of(page), "the verdict in words, and both distributions")
    once = copy.deepcopy(base)
    for statistic in once["statistics"]:
        statistic["passes"] = statistic["passes"][:1]
        for figure in ("bandwidth", "iops", "latency", "p50", "p99", "p99.9"):
            statistic[figure]["values"] = noise[:1]
    page = page_of(report(j.write("once", once), j.write("again", once)), "one pass of each")
    t.ok("The results cannot be compared: two complete passes of each are needed, as with -passes 5." in page.root.text(), "and why there is no verdict",
         page.root.text()[:2000])
    many = copy.deepcopy(base)
    for statistic in many["statistics"]:
        for figure in ("bandwidth", "iops", "latency", "p50", "p99", "p99.9"):
            statistic[figure]["values"] = noise
    many["statistics"] += [dict(many["statistics"][-1], target=i) for i in range(2, 34)]
    many["plan"]["targets"] += [dict(many["plan"]["targets"][-1], target=i) for i in range(2, 34)]
    faster = copy.deepcopy(many)
    last = faster["statistics"][-1]
    last["bandwidth"] = dict(last["bandwidth"], values=[2 * v for v in noise])
    page = page_of(report(j.write("many", many), j.write("faster", faster)), "34 targets")
    rows = next(rows for caption, rows in page.tables().items() if caption.startswith("b to a"))
    text = page.root.text()
    t.equal((len(rows), rows[-1][0], "30 more rows are not shown." in text, "The results differ: 1 difference is real" in text),
            (1 + 30 * 6, "target 28", True, True), "30 subjects are shown, and the others are judged as well")
    for n, more in ((12, []), (13, ["1 more differences; xdd compare lists them"])):
        changed = copy.deepcopy(base)
        changed["plan"]["options"].update({"made_%02d" % i: i for i in range(n)})
        page = page_of(report(j.write("first", base), j.write("second", changed)), "%d differences of the plans" % n)
        items = [[e.text() for e in one.all("li")] for one in page.all("ul")]
        items = next((i for i in items if i and "made 00" in i[0]), items)
        t.ok(["made %02d" % i in item for i, item in enumerate(items[:12])] == [True] * 12 and items[12:] == more,
             "up to 12 are listed", items)
    page = page_of(report(*[t.path("first")] * 3), "three documents")
    t.ok("Difference" not in page.headings(), "are not compared")


def answers_of(page):
    """The figures that a document begins with: {title: (value, note)}."""
    return {a.all("dt")[0].text(): (a.all("strong")[0].text(), "".join(s.text() for s in a.all("span")))
            for a in page.all("dl")[-1].all("div")}


def test_answer():
    """The document has the first figures; and messages that are alike are one line after them."""
    d = j.of_run("answer", "-op", "read", "-target", t.make_file("data", 1 << 20), *"-reqsize 4 -numreqs 250 -passes 4".split(),
                 "-throttle", "ops", 10000, "poisson")
    page = page_of(report(t.path("answer")), "a paced run")
    answers = answers_of(page)
    row = [r for r in d["results"] if r["what"] == "COMBINED"][0]
    rate = sum(row["ops"].values()) / (row["elapsed_ns"] / 1e9)
    t.ok(list(answers) == ["rate", "operations per second", "response time, read: p50", "limited by"] and
         abs(float(answers["operations per second"][0].split()[0]) - rate / 1000) < 0.05 and
         re.fullmatch(r"(uncertain; )?4 passes: mean [\d.]+ MB/s \+-[\d.]+ %", answers["rate"][1]),
         "rate, operations, times and the limit come first", answers)
    average = next(r for r in d["results"] if r["what"] == "TARGET_AVERAGE")
    t.equal((average["bound"], answers["limited by"]), ("paced", ("its own pace", "%.0f %% of the time" % (
        100 * average["bound_shares"]["pace"]))), "with the share of the time")
    t.ok(re.fullmatch(r"p99 [\d.]+ [mu]?s; service time: p50 [\d.]+ [mun]?s, p99 [\d.]+ [mun]?s", answers["response time, read: p50"][1]),
         "both times of a direction are together", answers)
    t.ok(page.source.index('class="answer"') < page.source.index('class="verdicts"') < page.source.index("-throttle ops 10000"),
         "verdicts follow, and then the command")
    # Targets with one cause, with several, and with shares that are not known.
    for causes, wanted in (
            ([("device", {"device": 0.94})], ("the storage", "94 % of the time", "plain")),
            ([("device", {"device": 0.85}), ("device", {"device": 0.94})], ("the storage", "85 to 94 % of the time", "plain")),
            ([("device", {"device": 0.936}), ("device", {"device": 0.94})], ("the storage", "94 % of the time", "plain")),
            ([("generator", {"busy": 1.01})], ("xdd and the kernel", "", "plain")),
            ([("starved", {"no_processor": 1})], ("other programs", "100 % of the time", "note")),
            ([("quota", {"no_processor": 0.5})], ("a CPU quota", "50 % of the time", "note")),
            ([("io_quota", {"device": 0.5})], ("an I/O quota", "50 % of the time", "note")),
            ([("mixed", {"device": 0.4, "no_processor": 0.3, "busy": 0.2})],
             ("no single cause", "storage 40 %, no free processor 30 %, busy 20 %", "plain")),
            ([("mixed", {"device": 0.4}), ("mixed", {"device": 0.4})], ("no single cause", "", "plain")),
            ([("starved", {"no_processor": 0.5}), ("mixed", {}), ("device", {"device": 0.9}), ("device", {"device": 0.95})],
             ("several causes", "2 of 4: the storage, 90 to 95 % of the time; 1 of 4: other programs, 50 % of the time; 1 of 4: no single cause",
              "plain")),
            ([("unknown", {})], None)):
        other = dict(d, results=[r for r in d["results"] if r["what"] != "TARGET_AVERAGE"] +
                     [dict(average, bound=bound, bound_shares=dict(dict.fromkeys(average["bound_shares"], 0), **shares)) for bound, shares in causes])
        page = page_of(report(j.write("causes", other)), "causes")
        found = {a.all("dt")[0].text(): (a.all("strong")[0].text(), "".join(x.text() for x in a.all("span")), a.attributes["class"])
                 for a in page.all("dl")[-1].all("div")}
        t.equal(found.get("limited by"), wanted, "limited by %s" % causes)
    for n, more in ((100, []), (102, ["2 more targets have a limit."])):
        text = page_of(report(j.write("causes", dict(d, results=d["results"] + [dict(average, bound="device")] * (n - 1)))), "limits").root.text()
        t.equal((text.count("limited: target 0"), re.findall(r"\d+ more targets have a limit\.", text)), (100, more), "%d targets with a limit" % n)
    few = j.of_run("few", *"-op noop -target null -numreqs 10".split())
    t.equal(answers_of(page_of(report(t.path("few")), "few operations"))["service time, noop: p50"][1],
            "p99 not known: too few operations", "a percentile that is not known is not shown")
    few["messages"] = [{"level": "warning", "text": "round %d: %.1f %% of 128 reads of /dev/sd1 were slow" % (i, 5 - i / 4)}
                       for i in range(3, 17)] + [{"level": "warning", "text": "round 3: 5.0 % of 128 reads of /dev/sd2 were slow"}]
    text = page_of(report(j.write("few", few)), "messages that are alike").root.text()
    t.ok("round 3 to 16: 1 to 4.2 % of 128 reads of /dev/sd1 were slow (14 times)" in text and
         "warning: round 3: 5.0 % of 128 reads of /dev/sd2 were slow" in text, "one line for each kind, with its ranges", text)


def test_kinds():
    """The first answers of documents of other kinds."""
    if t.XDD_SANITIZERS == "thread":
        t.skip("first answers", "the documents are of runs in virtual time")
        return
    page = page_of(report(*xddkinds.failed(1)), "a failed run")
    answers = page.all("dl")[0].all("div")
    t.equal((answers[0].attributes["class"], answers[0].text().split(";")[0]), ("bad", "endfailedexit status 6"), "begins with the failure")
    page = page_of(report(*xddkinds.two_sweeps(1)), "two sweeps")
    t.ok("Both have the same plan." in page.root.text() and "lists differ" not in page.root.text(), "have the same plan")
    answers = {a.all("dt")[0].text(): a for a in page.all("dl")[0].all("div")}
    rows = next(rows for caption, rows in page.tables().items() if caption.startswith("b to a"))
    changes = [float(r[4].split()[0]) for r in rows[1:] if r[1] == "bandwidth"]
    real = [r[6] for r in rows[1:] if r[1] == "bandwidth"].count("real: better")
    t.equal((answers["bandwidth"].all("strong")[0].text(), answers["bandwidth"].all("span")[0].text()[:23], len(changes)),
            ("%+.1f to %+.1f %%" % (min(changes), max(changes)), "better at %d of 5 points" % real, 5), "begin with the changes of all points")
    page = page_of(report(*xddkinds.two_curves(1)), "two curves")
    loads = [j.load(file)["curve"]["goal"]["holds_iops"] for file in xddkinds.two_curves(1)]
    answers = {a.all("dt")[0].text(): a for a in page.all("dl")[0].all("div")}
    goal = answers["load of the goal: response mean up to 500 us"]
    t.equal((goal.all("strong")[0].text(), goal.attributes["class"]), ("%+.1f %%" % (100 * loads[1] / loads[0] - 100), "plain"),
            "begin with the load of the goal, without a colour")
    first, second = xddkinds.two_curves(1)
    for other in (None, {"figure": "response_p99"}, {"limit": 4e8}, {"holds_iops": None}):
        doc = j.load(second)
        doc["curve"]["goal"] = other and dict(doc["curve"]["goal"], **other)
        for pair in ((first, j.write("other", doc)), (j.write("other", doc), first)):
            unlike = page_of(report(*pair), "two curves with other goals: %s" % other)
            t.ok(not any(a.text().startswith("load of the goal") for a in unlike.all("dl")[0].all("dt")),
                 "curves with other goals have no load of the goal: %s" % other)
    lines, _ = hits(plot_of(page, "Response times of both by load"))
    t.equal([*lines], ["a: knee.json", "b: sooner.json"], "have the names of their documents")
    t.equal([len(x) for x in lines.values()], [len(j.load(file)["curve"]["loads"]) for file in xddkinds.two_curves(1)], "are in one plot")
    page = page_of(report(*xddkinds.many_hosts(1)), "many hosts")
    rows = next(rows for caption, rows in page.tables().items() if caption.startswith("Hosts"))
    t.equal([r[0] for r in rows], ["host"] + ["node%02d" % k for k in range(4)], "have a row each")
    t.ok("Run on 4 hosts" in page.root.text() and "Missing" not in page.root.text(), "and what they have not is not missing")
    lines, _ = hits(plot_of(page_of(report(*xddkinds.plain(1)), "a run of one target"), ALL[0]))
    t.equal(list(lines), ["0: device"], "has one line")


def test_script():
    """The policy admits the script of the page and nothing else, also where a page has no plot to zoom."""
    j.of_run("timed", *"-op noop -target null -numreqs 1000 -passes 3".split())
    page = page_of(report(t.path("timed")), "a run")
    scripts = [e.text() for e in page.all("script")]
    t.equal(len(scripts), 1, "a page with plots over time has one script")
    policy = [{"default-src": "'none'", "style-src": "'unsafe-inline'", "img-src": "data:",
               "script-src": xddpage.source_of("".join(scripts))}]
    t.equal(page.policy(), policy, "SCRIPT_HASH of page.c is the hash of the script")
    t.equal([line for line in scripts[0].split("\n") if line.startswith("//")], [], "which has no comments")
    for name, args in (("-noplots", (t.path("timed"), "-noplots")), ("a sweep", (j.write("short", xddkinds.made_sweep([("queuedepth", ["1", "2"])])),))):
        page = page_of(report(*args), name)
        t.equal((page.all("script"), page.policy()), ([], policy), name + ": no script, and the policy of all pages")


def test_many_rows():
    """Rows of a document are joined: the page does not grow with them."""
    base = copy.deepcopy(of_two())
    row = {"target": None, "name": "all", "pass": 1, "direction": "read", "ops": 10, "bytes": 4096, "errors": 1, "iops": 1,
           "bandwidth": 1, "p50_ns": 100, "p99_ns": 200, "max_ns": 300, "partial": False}
    base["intervals"] = [dict(row, start_ns=i * 1000, end_ns=i * 1000 + 1000, max_ns=300 + i) for i in range(100000)]
    page = page_of(report(j.write("rows", base)), "100,000 rows")
    rows = next(rows for caption, rows in page.tables().items() if caption.startswith("Intervals of all targets"))
    t.equal((len(rows), rows[1][2:3], sum(int(r[2]) for r in rows[1:]), sum(int(r[-1]) for r in rows[1:])),
            (201, ["5000"], 1000000, 100000), "200 rows, which add up")
    t.equal((rows[-1][3], rows[-1][-2]), ("4.10 GB/s", "100 us"), "with the rate, and the greatest latency")
    t.equal(dict(zip(*rows[:2])), {"from": "0 ns", "to": "500 us", "operations": "5000", "bandwidth": "4.10 GB/s", "IOPS": "10.0 M/s",
                                   "p50": "100 ns", "p99": "200 ns", "max": "799 ns", "errors": "500"}, "one is of 500 rows")
    t.ok(len(page.source) < 1 << 20, "in less than 1 MiB", len(page.source))
    svg = plot_of(page, ALL[0])
    area = {name: float(svg.all("clippath")[0].all("rect")[0].attributes[name]) for name in ("x", "y", "width", "height")}
    first, last = float(svg.attributes["data-from"]), float(svg.attributes["data-to"])
    places = [area["x"] + ((i + 0.5) * 500000 - first) / (last - first) * area["width"] for i in range(200)]
    lines, (_, _, top, bottom) = hits(svg)
    t.ok(area["y"] < top and area["y"] + area["height"] > bottom, "a zoom cuts at the left and the right only", area)
    (points,) = lines.values()
    t.ok(len(points) == 200 and max(abs(point[0] - x) for point, x in zip(points, places)) < 0.0006,
         "a point has its time in data-from to data-to to three digits of a pixel, which a zoom spreads", points[:3])


def test_columns():
    """Columns without a value in any row are left out; what is left stands below its head."""
    plain = j.of_run("columns", *"-op noop -target null -numreqs 2000 -passes 2".split())
    page = page_of(report(t.path("columns"), t.path("columns")), "two runs of noops")
    rows = next(rows for caption, rows in page.tables().items() if caption.startswith("Percentiles of both"))
    t.equal(rows[0], ["percentile", "noop, a", "noop, b"], "no columns of reads, writes and discards")
    t.equal([row[0] for row in rows[1:]], ["50", "90", "95", "99", "99.9", "99.99", "99.999"], "each percentile")
    t.ok({len(row) for row in rows} == {3} and rows[1][0] == "50" and re.match(r"[0-9.]+ [nu]s$", rows[1][1]),
         "and its values", rows)
    tables = [rows for page in (page, page_of(report(j.write("again", plain)), "a run")) for rows in page.tables().values()]
    t.equal([rows[0][i] for rows in tables for i in range(1, len(rows[0])) if {row[i] for row in rows[1:]} == {"-"}], [],
            "no column of any table has dashes only")
    folds = [[int("0" + re.sub(r"\D", "", head.attributes.get("class", ""))) for head in table.all("tr")[0].all("th")]
             for table in page.all("table")]
    t.ok(all(not table[0] and (max(table) > 0) == (len(table) > 4) for table in folds),
         "columns except the first one are hidden where a table has no room for them", folds)
    skip = page.all("a")[0].attributes
    t.equal((skip["class"], skip["href"], page.all("main")[0].attributes["id"]), ("skip", "#main", "main"),
            "the first link leads to the results")


def test_hostile():
    """Texts of a document are texts of the page, whatever they hold, and none of the scripts of -plots."""
    base = of_two()
    sweep = {"format": "xdd sweep", "version": 1, "status": 0, "axes": [], "points": []}
    for text in HOSTILE:
        bad = copy.deepcopy(base)
        bad["command_line"] = bad["start_time"] = bad["xdd"] = bad["end"] = text
        bad["environment"]["host"] = {"name": text, text: text}
        bad["messages"] = [{"level": text, "text": text}]
        for target in bad["plan"]["targets"]:
            target["path"] = target["name"] = text
        for result in bad["results"]:
            result["operation"] = text
        bad["statistics"][-1]["not_reproducible"] = text
        page = page_of(report(j.write(t.path("<bad>'\"&"), bad)), repr(text))
        longest = max(re.findall("[ -~]+", text), key=len)
        t.ok(longest in page.root.text(), "it is shown as it is: %r" % text)
        where = t.tmp()
        sweep["axes"] = [{"option": text, "values": [text, text + "2"]}, {"option": "b" + text, "values": [text]}]
        sweep["points"] = [{"point": i + 1, "varied": {text: v, "b" + text: text}, "rounds": [], "statistics": [
            {"target": None, "passes": [1], **{f: {"values": [5.0], "mean": 5.0} for f in
                                                ("bandwidth", "iops", "latency", "p50", "p99", "p99.9")}}]}
            for i, v in enumerate((text, text + "2"))]
        file, other = j.write("sweep", sweep), j.write("<b>'x'", sweep)
        # Of two: a grid of changes of each figure, and the plots of both.
        for words, plots in (((file,), 3), ((file, other), 8)):
            page = page_of(report(*words, "-plots", "hostile%d" % plots, cwd=where), "%d sweeps of %r" % (len(words), text))
            names = [os.path.join(where, "hostile%d" % plots, n) for n in os.listdir(os.path.join(where, "hostile%d" % plots))]
            scripts = [open(n).read() for n in names if n.endswith(".gnuplot")]
            strings = [string for script in scripts for string in re.findall("'([^']*)'", script)]
            rest = re.sub("'[^']*'", "", "".join(script.replace("$d", "") for script in scripts))
            t.equal(([s for s in strings if not re.fullmatch(r"[\w ._/+:,=%()#?&-]*", s)], re.findall("[`'\"@]|system|touch", rest)),
                    ([], []), "and the scripts have none of it")
            for n in names:
                if n.endswith(".svg"):
                    xml.dom.minidom.parse(n)
            t.equal((len(plots_of(page)), len(scripts)), (plots, plots), "which has all plots, whose pictures are well-formed")
    t.ok(not os.path.exists("owned") and not os.path.exists(os.path.join(t.tmp(), "hostile", "owned")), "no file of theirs")
    t.ok(not os.path.exists("owned") and not os.path.exists(t.path("owned")), "nothing of them was run")


def test_odd_values():
    """Members of wrong types and sizes are unknown, and never more than that."""
    base = of_two()

    def spoil(value, replacement):
        if isinstance(value, dict):
            return {k: spoil(v, replacement) for k, v in value.items()}
        if isinstance(value, list):
            return [spoil(v, replacement) for v in value]
        return replacement
    for replacement in (-1, 1e308, 1e24, "9" * 4000, [], {}, None, True, "", 0):
        bad = dict(base)
        for member in ("environment", "plan", "results", "messages", "clock", "end", "status"):
            bad[member] = spoil(base[member], replacement)
        page_of(report(j.write("bad", bad)), "all values %.20r" % (replacement,))
    plan = copy.deepcopy(base)
    plan["plan"]["targets"][0]["resolved"] = 5
    page_of(report(j.write("plan", plan)), "a plan whose resolved options are a number")
    many = copy.deepcopy(base)
    many["results"] = [r for r in base["results"] if r["what"] == "COMBINED"] * 1000
    many["messages"] = [{"level": "warning", "text": "m%d" % (i % 500)} for i in range(1000)]
    many["environment"]["deep"] = spoil(base["environment"], 1)
    for _ in range(100):
        many["environment"]["deep"] = [many["environment"]["deep"]]
    page = page_of(report(j.write("many", many)), "many rows")
    t.ok("600 more rows are not shown." in page.root.text() and "800 more messages" in page.root.text() and
         len(page.source) < 1 << 20, "what is too much is counted")


def test_style():
    """Contrasts are at least those of WCAG 2.1 AA, light and dark; the page has rules for paper."""
    of_two()
    page = xddpage.Page(report(t.path("two")).out)
    style = page.all("style")[0].text()
    schemes = xddpage.colours(style)
    t.equal([sorted(s) for s in schemes], [["back", "bad", "good", "head", "line", "link", "note", "soft", "text"]] * 2,
            "two sets of colours")
    for name, scheme in zip(("light", "dark"), schemes):
        low = [(a, b) for a in ("text", "soft", "link", "good", "bad", "note") for b in ("back", "head")
               if xddpage.contrast(scheme[a], scheme[b]) < 4.5]
        t.equal(low, [], name + ": each text can be read")
    t.ok("@media print" in style and "prefers-color-scheme:dark" in style, "and it has rules for paper and for dark screens")
    rules = style.replace(":root{", "").split("--note:")
    t.ok(rules[-1].count("color:#") == 0, "texts have these colours only")


def test_plot_colours():
    """Lines have the contrast of graphics, numbers in cells the contrast of text on each shade, light and dark."""
    made = xddkinds.made_sweep([("queuedepth", ["1", "2", "4"]), ("op", ["read", "write"])])
    page = xddpage.Page(report(j.write("made", made)).out)
    style = page.all("style")[0].text()
    blocks = re.findall(r"\.chart\{(--s0[^}]*)\}", style)
    t.equal([d for block in blocks for d in block.split(";") if not re.fullmatch(r"--s\d:#[0-9a-f]{6}", d)], [], "each is a declaration")
    schemes = [dict(d[2:].split(":") for d in block.split(";")) for block in blocks]
    t.equal([sorted(s) for s in schemes], [["s%d" % i for i in range(8)]] * 2, "two sets of colours of lines")
    opacity = max(float(e.attributes["fill-opacity"]) for e in by_class(plot_of(page, "Grid of the bandwidth"), "cell"))
    changes = plot_of(page_of_two(made, xddkinds.changed_sweep(made, (2, .5, 2, .5, 2, .5))), "Changes of the bandwidth, b to a")
    strong = {float(e.attributes["fill-opacity"]) for e in by_class(changes, "better") + by_class(changes, "worse")}
    t.equal(len(strong), 1, "changes have one shade")

    def mixed(over, back, opacity):
        return "#" + "".join("%02x" % round(opacity * int(over[i:i + 2], 16) + (1 - opacity) * int(back[i:i + 2], 16)) for i in (1, 3, 5))
    for name, lines, scheme in zip(("light", "dark"), schemes, xddpage.colours(style)):
        t.equal([k for k, v in lines.items() if xddpage.contrast(v, scheme["back"]) < 3], [], name + ": lines can be seen")
        t.ok(all(xddpage.contrast(scheme["text"], mixed(over, scheme["back"], by)) >= 4.5 for over, by in
                 ((lines["s0"], opacity), *((scheme[tone], *strong) for tone in ("good", "bad")))), name + ": numbers in cells can be read")


def test_output():
    j.write("data", of_two())
    plain, file = report(t.path("data")), t.path("page.html")
    run = report(t.path("data"), "-o", file)
    t.equal((run.status, run.out, run.err), (0, "", ""), "-o: nothing on standard output", run)
    with open(file, encoding="utf-8") as f:
        t.equal(f.read() == plain.out, True, "-o: the same page")
    bad = j.write("cut", "{")
    run = report(bad, "-o", file)
    t.equal((run.status, os.path.getsize(file) > 1000), (BAD_ARGUMENT, True), "an error leaves the old page", run)
    run = report(t.path("data"), "-o", t.path("data"))
    t.ok(run.status == BAD_ARGUMENT and "is a document to read" in run.err, "a document is not overwritten", run)
    run = t.command(["sh", "-c", '"$0" report "$1" >/dev/full', t.XDD, t.path("data")])
    t.equal((run.status, m.NO_SPACE in run.err, len(run.error_lines())), (IO_ERROR, True, 1), "a full disk", run)
    run = report(t.path("data"), "-o", "/dev/full")
    t.equal((run.status, m.NO_SPACE in run.err, len(run.error_lines())), (IO_ERROR, True, 1), "-o /dev/full", run)


def test_refused():
    good = j.write("good", of_two())
    for args, status, want in (((), BAD_ARGUMENT, "expected files of -jsonout; see xdd report -help"),
                               (("/nowhere",), BAD_ARGUMENT, "/nowhere: " + m.NO_FILE), ((t.tmp(),), BAD_ARGUMENT, "directory"),
                               ((good, "-axis"), BAD_ARGUMENT, "-axis: missing argument <option>"),
                               ((good, "-axis", "queuedepth"), BAD_ARGUMENT, "report -axis queuedepth: expected an option that a sweep"),
                               ((good, "-o"), BAD_ARGUMENT, "-o: missing argument <file>"),
                               ((good, "-o", t.tmp() + "/no/page"), BAD_ARGUMENT, "report -output "),
                               ((good, "-otput", "x"), BAD_OPTION, "-otput"),
                               ((good, *[good] * 100), BAD_ARGUMENT, "101 documents are too many; expected up to 100"),
                               ((j.write("x", "[]"),), BAD_ARGUMENT, "this is JSON, but not of xdd -jsonout")):
        run = report(*args)
        t.equal((run.status, run.out, len(run.error_lines()), want in run.err, run.err.startswith("xdd: ")),
                (status, "", 1, True, True), want, run)
    run = report("-help")
    t.equal((run.status, run.out.startswith("usage: xdd report"), run.err), (0, True, ""), "-help", run)


t.run(test_run, test_verdicts, test_sweep, test_curve, test_curve_plot, test_sweep_plot, test_two_sweeps, test_two_grids, test_plots,
      test_plot_colours, test_difference, test_answer, test_kinds, test_script, test_many_rows, test_columns, test_hostile, test_odd_values, test_style, test_output, test_refused)
t.done()
