#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd report: all that pages of fixed documents say: headings, answers, sentences, tables and texts of plots. What they should
say is in report_whole.txt; tests/lib/xddwhole.py has how it is renewed.
"""
import copy
import hashlib
import json
import os
import re

import xddjson
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
        xddjson.write(os.path.join(directory, file), document)
    run = t.command([t.XDD, "report", *words, *files], cwd=directory)
    t.equal((run.status, run.err), (0, ""), name + ": a page", run)
    version = t.xdd("-version").out.split()[2]
    lines = ["%s: %s" % (e.name, " ".join(line(e).replace("xdd " + version, "xdd <version>").split()))
             for e in xddpage.Page(run.out).all(*PARTS)]
    plots = iter(re.findall("<svg.*?</svg>", run.out, re.S))
    return ["==== " + name] + [hashlib.sha256(next(plots).encode()).hexdigest()[:8] + " " + text if text.startswith("svg: ") else text
                               for text in lines]


def slower():
    """The curve with times half as long again."""
    curve = xddkinds.made_curve()
    for load in curve["curve"]["loads"]:
        load.update({key: 1.5 * load[key] for key in ("response", "response_p50", "response_p99", "response_p99.9")})
    return curve


# Shares by which the figures of passes are above their base.
EVEN, NARROW, WIDE = [0] * 10, [.01, -.01, .02, -.02, 0] * 2, [.9, -.9, .5, -.8] * 3
RISING, ONE, NONE = [.06 * i + .01 * (i % 2) for i in range(10)], [0], []
FACTORS = {"bandwidth": 12, "iops": 1 / 3000, "latency": .3, "p50": 1500, "p99": 9.9, "p99.9": .0004}
RESPONSES = tuple(xddkinds.BASES)
LIMITS = "bandwidth-20%,bandwidth-25%,iops+29%,iops+31%,latency+0%,p99+29%,p99+35%,p99.9-5%,knee+1%"
made_run = xddkinds.made_run


def other_plan(run, n):
    """The run with a plan that differs in so many values, and in its environment."""
    run = copy.deepcopy(run)
    run["plan"]["options"] = {"option_%02d" % i: i for i in range(n)}
    run["environment"]["host"].update(name="there", memory={"bytes": 5, "free_bytes": 7})
    return run


def varying(run, why):
    run = copy.deepcopy(run)
    for statistic in run["statistics"]:
        statistic["not_reproducible"] = why
    return run


def compared():
    """Name, runs of both sides, and limits."""
    narrow = made_run(NARROW)
    cut = made_run(NARROW, 1.3, partial=True, end="errors", status=5)
    yield "30 % more", [narrow], [cut], LIMITS
    yield "30 % less", [narrow], [made_run(NARROW, .7)], LIMITS
    yield "all figures", [made_run(NARROW, figures=RESPONSES)], [made_run(NARROW, 1.2, figures=RESPONSES)], "response+10%,flush+30%"
    yield "exactly equal", [made_run(EVEN)], [made_run(EVEN)], "latency+0%,bandwidth-0%"
    yield "factors", [narrow], [made_run(NARROW, FACTORS)], "p50+1000000%"
    yield "a trend", [made_run(RISING)], [made_run(NARROW, 1.85)], "bandwidth+5%"
    yield "a trend of b", [made_run(NARROW, 1.85)], [made_run(RISING)], ""
    yield "a trend as far as chance", [made_run(RISING)], [made_run(NARROW, 1.25)], "bandwidth+5%"
    yield "a trend far away", [made_run(RISING)], [made_run(NARROW, 9)], ""
    yield "a run that varies", [varying(narrow, "pass 1 is slower")], [made_run(NARROW, 1.3)], ""
    yield "passes that scatter", [made_run(WIDE)], [made_run(WIDE, 1.1)], "p99+10%"
    yield "passes that scatter on one side", [narrow], [made_run(WIDE[:3], 3)], ""
    yield "one pass", [made_run(ONE)], [narrow], "iops+5%"
    yield "one pass with -runtime", [narrow], [made_run(ONE, plan={"targets": [], "resolved": {"run_time_ns": 5}})], ""
    yield "no pass", [made_run(NONE)], [narrow], "iops+5%"
    yield "no bandwidth", [made_run(NARROW, {"bandwidth": 0})], [narrow], "bandwidth-5%"
    yield "targets", [made_run(NARROW, targets=("x/data", "y/data", "z"))], [made_run(NARROW, 1.1, targets=("x/data", "y/data"))], "p50+5%"
    yield "plans", [other_plan(narrow, 3)], [other_plan(made_run(NARROW, 1.1), 5)], ""
    yield "plans of many options", [narrow], [other_plan(narrow, 12)], ""
    yield "plans of more options", [narrow], [other_plan(narrow, 13)], ""
    yield "runs of each", [narrow, made_run(NARROW, 1.02), other_plan(narrow, 1)], [made_run(NARROW, 1.4), made_run(NARROW, 1.5)], LIMITS
    yield "runs that scatter", [narrow, made_run(NARROW, 2)], [made_run(NARROW, 1.4), made_run(ONE, 3)], "p99+10%"
    yield "runs of few passes", [narrow, made_run(NONE)], [narrow], ""


def loads(factors=1, offered=1, **members):
    curve = xddkinds.with_points(xddkinds.made_curve(), factors, offered)
    curve["curve"].update(members)
    return curve


def compared_curves():
    """As compared(), of curves."""
    curve, maximum = loads(), dict(xddkinds.made_curve()["curve"]["maximum"])
    yield "loads", [curve], [loads(1.5)], "response+40%,response+60%,p99+10%,latency+5%,bandwidth-5%,iops+60%,maximum-1%,knee-1%"
    yield "loads that are offered almost as much", [curve], [loads(1.5, 1.0009)], "iops+40%"
    yield "loads that are offered more", [curve], [loads(1.5, 1.0011)], "iops+40%,bandwidth+40%"
    yield "loads that are offered less", [loads(1, 1.0011)], [loads(1.5)], ""
    yield "maxima", [loads(maximum=dict(maximum, steady_after=8))], [loads(maximum=dict(maximum, iops=1200, interval_percent=2))], "maximum+10%"
    yield "a maximum without interval", [curve], [loads(maximum=dict(maximum, interval_percent=None))], "maximum-5%"
    yield "a maximum of no point", [curve], [loads(maximum=dict(maximum, point=99))], ""
    yield "no maximum, no knee", [curve], [loads(maximum=None, knee=None, knee_missing="not known", goal=None)], "maximum-5%,knee-5%"
    knee = {"percent": 70, "low_percent": 66, "high_percent": 71, "iops": 700}
    yield "knees", [curve], [loads(knee=knee)], "knee+20%"
    yield "near knees", [loads(knee=knee)], [loads(knee=dict(knee, percent=71, low_percent=None))], "knee-5%"
    goal = xddkinds.made_curve()["curve"]["goal"]
    yield "goals", [curve], [loads(goal=dict(goal, holds_iops=1000, holds_percent=100, fails_percent=None))], ""
    yield "goals of other limits", [curve], [loads(goal=dict(goal, limit=5e6, disturbed=True))], ""
    yield "goals of other figures", [loads(goal=dict(goal, figure="response_p99"))], [loads(goal=dict(goal, holds_percent=0, holds_iops=0))], ""
    yield "a goal that is not judged", [loads(goal=dict(goal, holds_percent=0, fails_percent=None))], [loads(goal=dict(goal, limit=2e7))], ""
    yield "a curve and a sweep", [curve], [xddkinds.made_sweep([("load", ["20", "40"])])], "knee-5%"
    yield "curves of each", [curve, loads(1.01)], [loads(1.2), loads(1.3)], "response+10%,knee-5%"


def sweep_with(axes, change=lambda point: None, **members):
    """A made sweep whose points are changed."""
    sweep = dict(xddkinds.made_sweep(axes), **members)
    for point in sweep["points"]:
        change(point)
    return sweep


def scatter(point, half=.01):
    """The two rounds of a point are this share above and below the mean."""
    for figure, own in point["statistics"][0].items():
        if isinstance(own, dict):
            own["values"] = [own["mean"] * (1 + half), own["mean"] * (1 - half)]


def only(numbers, **members):
    """Change the points of these numbers: members of the point; "figures": members of its statistics."""
    def change(point):
        if point["point"] in numbers:
            point.update(members)
            point["statistics"][0].update(members.get("figures", {}))
    return change


def compared_sweeps():
    """As compared(), of sweeps."""
    depths, ops = ("queuedepth", ["1", "2", "4"]), ("op", ["read", "write"])
    line, grid = sweep_with([depths], scatter), sweep_with([depths, ops], scatter)
    more = xddkinds.changed_sweep(grid, (1.3, .7, 1, 12, .0003, 1.01))
    yield "points", [grid], [more], "bandwidth-20%,p99+20%,iops-1%"
    yield "points in another order", [grid], [dict(more, points=more["points"][::-1])], ""
    yield "points that one lacks", [grid], [dict(more, points=more["points"][1:4])], "bandwidth-5%"
    yield "points that the other lacks", [dict(grid, points=grid["points"][:2])], [more], ""
    yield "no common point", [line], [sweep_with([("queuedepth", ["8"])])], "bandwidth-5%"
    yield "rounds that scatter", [sweep_with([depths], lambda p: scatter(p, .5))], [sweep_with([depths], lambda p: scatter(p, .4))], "p99+5%"
    yield "one round", [line], [sweep_with([depths], only([2], statistics=[xddkinds.made_statistic(None, NONE, 1)]))], ""
    yield "all points better", [line], [xddkinds.changed_sweep(line, (1.5, 2, 3))], ""
    yield "all points worse", [line], [xddkinds.changed_sweep(line, (.5, .4, .3))], ""
    yield "sweeps of each", [line, xddkinds.changed_sweep(line, (1.1, 1, 1))], [xddkinds.changed_sweep(line, (2, 1, .9))], "bandwidth-20%"
    yield "pairs", [dict(grid, arrangement="pairs")], [dict(more, arrangement="pairs")], ""
    yield "a grid and pairs", [grid], [dict(more, arrangement="pairs")], ""
    yield "pairs of other values", [dict(line, arrangement="pairs")], [sweep_with([("queuedepth", ["2", "8"])], arrangement="pairs")], ""
    yield "other words", [sweep_with([depths], lambda p: p.update(words=["-op", "read"]))], [sweep_with([depths], lambda p: p.update(words=["-op", "write"]))], ""
    yield "a run and a sweep", [made_run(NARROW)], [line], ""


def alone():
    """Name, document, and words, of pages of one document."""
    sweep, depths = sweep_with, ("queuedepth", ["1", "2", "4"])
    for name, values in (("words", ["random", "none", "stagger"]), ("sizes", ["4k", "1M", "64k"]), ("times", ["1ms", "2s", "5us"]), ("a mix", ["1", "2k", "x"]),
                         ("a place twice", ["1k", "1024"]), ("ratios of 1.3", ["10", "13", "16.9"]), ("smaller ratios", ["10", "12.9", "16.9"]),
                         ("a zero", ["0", "10", "100"]), ("two values", ["1", "100"]), ("one value", ["7"])):
        yield name, sweep([("list", values)])
    yield "three lists", sweep([depths, ("op", ["read", "write"]), ("seek", list("abc"))]), "-axis", "op"
    yield "lists of equal length", sweep([("x", ["1", "2"]), ("y", ["1", "2"]), ("z", ["1", "2"])])
    yield "an axis that it lacks", sweep([depths, ("op", ["read"])]), "-axis", "op"
    yield "seven panels", sweep([("x", ["1", "2"]), ("op", ["a"]), ("seek", list("abcdefg")[:1]), ("n", list("1234567"))]), "-axis", "x"
    yield "more panels", sweep([("x", ["1", "2", "3"]), ("y", ["1", "2", "3"]), ("n", list("12")), ("m", list("1234"))])
    yield "nine lines", sweep([("x", list("1234567890")), ("n", list("123456789"))])
    yield "seventeen lists", sweep([("list%d" % i, ["1"]) for i in range(17)])
    yield "findings", sweep([("n", [str(i) for i in range(30)])], lambda p: p.update(rounds=[{"findings": ["cached"] * (p["point"] in (1, 2, 3, 5, 6, 9)),
                            "ops": 5, "max": 9}, {"findings": ["generator"] * (p["point"] % 3 > 0)}]))
    yield "points that failed", sweep([depths], only([2], status=5, rounds=[{"errors": 3}], statistics=[xddkinds.made_statistic(None, NONE, 1)]))
    yield "rounds that are too few", sweep([depths], only([1, 3], figures={"bandwidth": {"values": [1, 5], "mean": 3, "interval_high": 9}}))
    yield "equal bests", sweep([depths], lambda p: p["statistics"][0].update(bandwidth=xddkinds.made_figure([1e6, 1e6])))
    goal = xddkinds.made_curve()["curve"]["goal"]
    curve = xddkinds.made_curve()
    for load, (drift, steady) in zip(curve["curve"]["loads"], ((5, True), (-50, False), (None, False), (0, True), (30, False))):
        load.update(drift_percent=drift, steady=steady, overloaded=drift == 30, in_service=1.5, lateness_p99=9e3)
    yield "a curve that drifts", curve
    curve = xddkinds.made_curve()
    for load, odd in zip(curve["curve"]["loads"], ({"percent": "20", "offered_iops": "200", "response": "1250000"}, {"offered_iops": "4e2", "response": "x"},
                                                   {"reached_iops": "", "queue": -1}, {"reached_iops": 1.1e24, "service": True}, {"percent": None})):
        load.update(odd)
    yield "numbers as texts", curve
    yield "a goal beyond the axis", loads(goal=dict(goal, limit=21e6, holds_percent=90))
    yield "a goal at the edge", loads(goal=dict(goal, limit=4.6e6, figure="response_p99"))
    yield "no goal, no knee", loads(goal=None, knee=None, knee_missing="none up to all")
    yield "a wide maximum", loads(maximum={"point": 1, "iops": 1000, "interval_percent": 12, "steady_after": 0})
    yield "a maximum of few rounds", loads(maximum={"point": 1, "iops": 1000, "interval_percent": 101})
    yield "messages", made_run(NARROW, targets=("data", "other"), messages=messages())
    yield "messages of hosts", made_run(NARROW, hosts=[{}, {}], messages=[{"level": "warning", "text": "node%d: target %d, data: %d reads of 4k" % (n, n // 2, n)}
                                                                         for n in range(4)])
    yield "more messages", made_run(ONE, messages=[{"level": "error", "text": "%s happened" % (chr(97 + n // 26) + chr(97 + n % 26))} for n in range(103)])
    yield "bounds", bounded(), "-noplots"
    for bound in BOUNDS:
        yield "a bound: " + bound, bounded(bound), "-noplots"
    for parts in (["network"], ["source_storage", "network"], ["destination_processor"], ["source_pace"], []):
        shares = {"storage": .5, "network": .25, "processor": 1, "pace": 1.5}
        yield "a copy: " + " ".join(parts), made_run(ONE, endtoend=[{"target": 0, "bound": parts[0] if parts else None, "bound_between": parts[1:] and parts,
                                                                     "source": {"shares": shares}, "destination": {"shares": shares}}]), "-noplots"
    steady = made_run(NARROW)
    steady["statistics"][0]["steady_state"] = {"reached": True, "after_pass": 6}
    yield "a steady state", steady, "-noplots"
    steady = varying(made_run(WIDE, status=0), "the passes scatter")
    steady["statistics"][0]["steady_state"] = {"reached": False}
    yield "no steady state", steady, "-noplots"
    yield "canceled", made_run(NARROW, end="canceled", partial=True, status=8), "-noplots"
    yield "cut short", made_run(NARROW, end="errors", partial=True), "-noplots"


def messages():
    texts = ["target 0, data: 5 of 9 reads at 1.5", "target 1, other: 7 of 2 reads at 1.5", "target 0, data: 5 of 9 reads at 1.5", "5 of 9 writes", "x5 of 9 writes",
             "4 of 9 writes", "x4 of 9 writes", "p99.9 of 5_ and 6/ and 7x, 1e3 a-4 b.5 c/6", "p99.9 of 5_ and 6/ and 7x, 2e3 a-4 b.5 c/6",
             "1 2 3 4 5 6 7 8 9", "2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8 9 10", "ends in 5", "ends in 6", "ends in 6 words"]
    return [{"level": level, "text": text} for level in ("warning", "error") for text in texts]


BOUNDS = ("device", "generator", "paced", "starved", "mixed", "quota", "limit")


def bounded(*bounds):
    """A run whose targets have these bounds, or one for each, and one that is not known."""
    with open(os.path.join(xddwhole.FUNC, "version_1.json"), encoding="utf-8") as f:
        run = json.load(f)["run"]
    row = run["results"][0]
    bounds = bounds or (*BOUNDS, "device", None)
    run["results"][:-1] = [dict(row, what="TARGET_AVERAGE", passes=1, target=n, bound=bound, bound_shares={
        "device": .9 - .1 * n, "busy": .5, "pace": 1.1, "no_processor": .004}) for n, bound in enumerate(bounds)]
    run["results"][-1].update(errors=len(bounds) > 1, miscompares=3, outstanding=2)
    run["plan"] = {"targets": [{"number": n, "path": "d%d" % n} for n in range(len(bounds))]}
    return run


def judged(name, a, b, limits):
    """Lines of xdd compare for the documents of two sides, and of the difference on a page for one of each."""
    directory = t.path("compare-" + name.replace(" ", "-"))
    os.mkdir(directory)
    files = [["%s%d.json" % (side, n) for n in range(len(own))] for side, own in (("a", a), ("b", b))]
    for file, document in zip(files[0] + files[1], a + b):
        xddjson.write(os.path.join(directory, file), document)
    limit = ["-failif", limits] if limits else []
    run = t.command([t.XDD, "compare", *limit, *files[0], *(["--"] if len(a) + len(b) > 2 else []), *files[1]], cwd=directory)
    lines = ["==== " + name, "status: %s" % run.status] + [line.rstrip() for line in (run.out + run.err).splitlines() if line.strip()]
    if len(a) + len(b) > 2:
        return lines
    page = said(name + ": a page", [a[0], b[0]])
    return lines + page[page.index("h2: Difference"):page.index("h2: a: a.json")]


# Members of a run and of a sweep that are wrong, or not looked at by xdd compare, and what they are.
WRONG_RUN = [("format", "xdd"), ("version", 3), ("version", 0), ("version", "2"), ("environment", []), ("plan", None), ("statistics", {}), ("statistics", [5]),
             ("statistics", []), ("statistics.0.target", "0"), ("statistics.0.target", 1.5), ("statistics.0.bandwidth", None),
             ("statistics.0.bandwidth.values", 5), ("statistics.0.bandwidth.values.0", "5"), ("statistics.0.bandwidth.values.0", 2e24),
             ("statistics.0.p50", None), ("statistics.0.p50", 5), ("statistics.0.passes", 5), ("statistics.0.passes.0", -1), ("messages", 5), ("results", 5),
             ("status", 5.5), ("plan.targets", 5), ("plan.targets.0.number", 7), ("environment.host", None)]
WRONG_SWEEP = [("version", 2), ("points", None), ("points", []), ("points.0", 5), ("points.0.varied", None), ("points.0.varied.queuedepth", 1),
               ("points.0.varied", {}), ("points.0.statistics", None), ("points.0.statistics", []), ("points.0.statistics.0.iops", 5), ("points.0.rounds", 5),
               ("points.0.number", "x"), ("axes", None), ("axes.0.values", [1]), ("axes.0.option", None), ("curve", 5), ("curve", {})]


def wrong():
    """For each wrong member, status and messages of xdd compare with the document itself, and what it concludes."""
    directory, lines = t.path("wrong"), []
    os.mkdir(directory)
    cases = [(made_run(NARROW), *case) for case in WRONG_RUN] + [(xddkinds.made_sweep([("queuedepth", ["1", "2"])]), *case) for case in WRONG_SWEEP]
    for document, name, value in cases:
        at, *path = copy.deepcopy(document), *name.split(".")
        xddjson.write(os.path.join(directory, "ok.json"), at)
        changed = at
        for part in path[:-1]:
            at = at[int(part) if isinstance(at, list) else part]
        at[int(path[-1]) if isinstance(at, list) else path[-1]] = value
        xddjson.write(os.path.join(directory, "wrong.json"), changed)
        run = t.command([t.XDD, "compare", "wrong.json", "ok.json"], cwd=directory)
        lines += ["==== %s %r: status %s" % (name, value, run.status)] + run.err.splitlines() + run.out.splitlines()[-2:]
    for name, text in (("empty", ""), ("cut", '{"format": "xdd'), ("bare", "5"), ("a list", "[]"), ("twice", '{"format": 1, "format": 2}'), ("more", "{} {}"),
                       ("no JSON", '{"format": xdd}'), ("a byte", '{"format": "\xff"}')):
        with open(os.path.join(directory, "wrong.json"), "w", encoding="latin-1") as f:
            f.write(text)
        run = t.command([t.XDD, "compare", "ok.json", "wrong.json"], cwd=directory)
        lines += ["==== %s: status %s" % (name, run.status)] + run.err.splitlines()
    for name in (".", "missing", "ok.json/a"):
        run = t.command([t.XDD, "compare", name, "ok.json"], cwd=directory)
        lines += ["==== %s: status %s" % (name, run.status)] + run.err.splitlines()
    return lines


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
    pages += [(name, [document], *words) for name, document, *words in alone()]
    got = [text for page in pages for text in said(page[0], page[1], *page[2:])]
    got += [text for case in (*compared(), *compared_curves(), *compared_sweeps()) for text in judged(*case)]
    got += wrong()
    xddwhole.compare("report_whole.txt", got, "pages say what they should")


t.run_all()
