# SPDX-License-Identifier: GPL-2.0-or-later
"""
Documents of each kind that a page of xdd report can be of, as files of the test. All but a copy are of runs in virtual time,
on files with the law of a device (tests/lib/clock.c), so that they are the same each time and take little.

    for name, files in xddkinds.documents():
        ...
"""
import copy
import itertools
import os

import xdde2e
import xddjson as j
import xddtest as t

LAW = "/device exponential:200000 2"  # 10,000 operations per second, by two servers


def _device(name="device", size=4 << 20):
    file = t.path(name)
    if not os.path.exists(file):
        with open(file, "wb") as f:
            f.write(t.noise(size))
    return file


def _reads(*files):
    return ["-op", "read", *(word for file in files or [_device()] for word in ("-target", file)), "-dio"]


SMALL = ["-reqsize", "4k", "-seek", "random"]


def _document(name, command, *words, law=LAW, status=0, **kwargs):
    """The file of the document of a command ("": a run), which is made once."""
    file = t.path(name + ".json")
    if os.path.exists(file):
        return file
    run = t.command([t.XDD, *([command] if command else []), *map(str, words), "-jsonout", file], device=law, step=0, **kwargs)
    t.equal((run.status, os.path.exists(file)), (status, True), name + ": a document", run)
    return file


def _run(name, *words, files=(), **kwargs):
    return _document(name, "", *_reads(*files), *SMALL, *words, **kwargs)


def _times(scale, passes=4, intervals=10):
    return ["-passes", passes, "-timelimit", "%gs" % (0.1 * scale), "-intervals", "%gs" % (0.1 * scale / intervals)]


def plain(scale):
    return [_run("plain", "-queuedepth", 4, *_times(scale))]


def paced(scale):
    return [_run("paced", "-queuedepth", 8, "-throttle", "ops", 7000, "poisson", "-rwratio", 70, *_times(scale))]


def _sweep(name, scale, *words, **kwargs):
    return _document(name, "sweep", *_reads(), "-timelimit", "%gs" % (0.05 * scale), "-rounds", 3, *words, **kwargs)


def sweep_1(scale):
    return [_sweep("sweep1", scale, *SMALL, "-queuedepth", "1,2,4,8,16")]


def sweep_2(scale):
    return [_sweep("sweep2", scale, "-queuedepth", "1,2,4,8", "-reqsize", "4k,16k,64k", "-seek", "random")]


def sweep_3(scale):
    return [_sweep("sweep3", scale, "-queuedepth", "1,2,4", "-reqsize", "4k,64k", "-seek", "random,none")]


def _curve(name, scale, *words, **kwargs):
    return _document(name, "curve", *_reads(), *SMALL, "-each", "%gs" % (0.04 * scale), "-rounds", 3, *words, **kwargs)


def curve_with_knee(scale):
    return [_curve("knee", scale, "-queuedepth", 4, "-load", "20,40,60,80,95", "-goal", "mean=0.5ms", "-orderseed", 3)]


def curve_without_knee(scale):
    return [_curve("kneeless", scale, "-queuedepth", 2, "-load", "10,20", "-orderseed", 3)]


def two_runs(scale):
    return plain(scale) + [_run("faster", "-queuedepth", 4, *_times(scale), law=LAW.replace("200000", "150000"))]


def two_sweeps(scale):
    return sweep_1(scale) + [_sweep("faster1", scale, *SMALL, "-queuedepth", "1,2,4,8,16", law=LAW.replace("200000", "150000"))]


def two_grids(scale):
    return sweep_2(scale) + [_sweep("faster2", scale, "-queuedepth", "1,2,4,8", "-reqsize", "4k,16k,64k", "-seek", "random",
                                    law=LAW.replace("200000", "150000"))]


def two_curves(scale):
    return curve_with_knee(scale) + [_curve("sooner", scale, "-queuedepth", 4, "-load", "20,40,60,80,95", "-goal", "mean=0.5ms",
                                            "-orderseed", 3, law=LAW.replace("200000", "150000"))]


def one_copy(scale):
    source, files = xdde2e.random_file("source", 4 << 20), [t.path(side + ".json") for side in ("source", "destination")]
    side = xdde2e.Copy(source, t.path("copied"), ["-blocksize", 4096, "-reqsize", 16, "-intervals", "0.01s"], ports=2,
                       reads=["-jsonout", files[0]], writes=["-jsonout", files[1]]).run()
    t.equal(side.statuses(), (0, 0), "a copy", side)
    return files[1:]


def many_hosts(scale):
    """Hosts that did the work of one run at the same time: two runs, which are named and moved to one begin."""
    files, begin = [], None
    for k in range(4):
        file = _run("host%d" % k, "-queuedepth", 2 + k, "-runid", "hosts", *_times(scale, passes=3),
                    files=[_device("device%d" % i) for i in range(2)], law="/device exponential:%d 2" % (200000 + 40000 * k))
        document = j.load(file)
        document["environment"]["host"]["name"] = "node%02d" % k
        rows = [r for r in document["results"] if r.get("begin_ns") is not None]
        begin = begin or min(r["begin_ns"] for r in rows)
        late = min(r["begin_ns"] for r in rows) - begin
        for row in rows:
            row["begin_ns"] -= late
            row["finish_ns"] -= late
        files.append(j.write("host%d.json" % k, document))
    file = t.path("combined.json")
    run = t.command([t.XDD, "combine", *files, "-jsonout", file])
    t.equal((run.status, os.path.exists(file)), (0, True), "a combined document", run)
    return [file]


def disturbed(scale):
    """Other work stops it, a few operations are slow, and what it says of that."""
    return [_run("disturbed", "-queuedepth", 4, *_times(scale), law="/device 200000*%d,%d 2" % (150 * scale, 20000000 * scale),
                 at={0.15 * scale: "+%g" % (0.05 * scale)})]


def failed(scale):
    """A file is shorter than its sizes say: reads past its end fail."""
    short = _device("device-short", 4 << 20)
    words = ["-queuedepth", 4, "-seek", "range", 4096, *_times(scale)]
    return [_run("failed", *words, files=[_device(), short], status=6, at={0.15 * scale: ["truncate", "-s", "4000K", short]})]


KINDS = {"a run": plain, "a paced run": paced, "a sweep of one option": sweep_1, "a sweep of two": sweep_2,
         "a sweep of three": sweep_3, "a curve with a knee": curve_with_knee, "a curve without a knee": curve_without_knee,
         "two runs": two_runs, "two sweeps": two_sweeps, "two sweeps of two": two_grids, "two curves": two_curves,
         "a copy": one_copy, "many hosts": many_hosts, "a disturbed run": disturbed, "a failed run": failed}


def long_names(scale):
    """Names of targets that are longer than the room beside the lines of a plot; two of them differ in the directory only."""
    names = ["device and a name that is longer than those beside lines", "a/device", "b/device"]
    for directory in "ab":
        os.makedirs(t.path(directory), exist_ok=True)
    return [_run("names", "-queuedepth", 2, *_times(scale), files=[_device(name) for name in names])]


def documents(scale=1):
    for name, make in KINDS.items():
        yield name, make(scale)


# ---- documents of round numbers, that no run has written ----

BASES = {"bandwidth": 1e8, "iops": 1e4, "latency": 1e6, "p50": 0.9e6, "p99": 3e6, "p99.9": 9e6, "flush": 2e6, "response": 1.5e6,
         "response_p50": 1.2e6, "response_p99": 5e6, "response_p99.9": 2e7}


def made_figure(values):
    """A figure of passes or rounds, with an interval as wide as their range on either side."""
    mean = sum(values) / len(values) if values else 0
    half = max(values) - min(values) if values else 0
    return {"values": values, "mean": mean, "interval_low": mean - half, "interval_high": mean + half}


def made_statistic(target, passes, factors, figures=BASES):
    """Each figure is its base times 1 plus the share of each pass, times its factor: one of all figures, or one by name."""
    def factor(figure):
        return factors.get(figure, 1) if isinstance(factors, dict) else factors
    return dict({"target": target, "passes": list(range(1, len(passes) + 1))},
                **{figure: made_figure([BASES[figure] * factor(figure) * (1 + share) for share in passes]) for figure in figures})


def made_run(passes, factors=1, targets=("data",), figures=tuple(BASES)[:6], **members):
    """A document of a run with the same statistics for each target and for all, and without results."""
    statistics = [made_statistic(target, passes, factors, figures) for target in (None, *range(len(targets)))]
    return dict({"format": "xdd results", "version": 2, "xdd": "1.0", "command_line": "xdd -made", "start_time": "2030-01-01T00:00:00.000Z",
                 "end_time": "2030-01-01T00:00:01.000Z", "end": "normal", "partial": False, "status": 0,
                 "environment": {"host": {"name": "here"}}, "statistics": statistics, "results": [],
                 "plan": {"targets": [{"number": i, "path": path} for i, path in enumerate(targets)]}}, **members)


def made_curve():
    """A document of a curve of round numbers: service 1 ms, a knee at 50 %, a goal of 4 ms, one load disturbed."""
    loads = [{"point": i + 2, "percent": p, "offered_iops": 10 * p, "reached_iops": 10 * p, "response": 1e6 * r,
              "response_interval_percent": 10, "response_p50": 0.8e6 * r, "response_p99": 3e6 * r, "response_p99.9": 4e6 * r,
              "lateness": 2000 + i, "service": 1e6, "queue": 1, "overloaded": False, "disturbed": p == 60}
             for i, (p, r) in enumerate(((20, 1.25), (40, 1.5), (60, 2), (80, 4), (95, 30)))]
    return {"format": "xdd sweep", "version": 1, "status": 0, "axes": [], "points": [], "curve": {
        "maximum": {"point": 1, "iops": 1000, "interval_percent": 1, "steady_after": 0}, "loads": loads,
        "knee": {"percent": 50, "low_percent": 40, "high_percent": 65, "iops": 500}, "knee_missing": None,
        "goal": {"figure": "response", "limit": 4e6, "holds_percent": 80, "holds_iops": 800, "fails_percent": 95}}}


def with_points(curve, factors, offered=1):
    """The curve with a point for each load, of two rounds, which figures are times these factors; and what loads offer."""
    curve = copy.deepcopy(curve)
    shares = (0.01, -0.01)
    rounds = [[{"response": 1e6, "response_max": 1e7 * (1 + share)} for share in shares] for _ in curve["curve"]["loads"]]
    curve["points"] = [{"point": 1, "varied": {"load": "maximum"}, "rounds": [{}, {}], "statistics": [made_statistic(None, shares, factors)]}]
    for load, own in zip(curve["curve"]["loads"], rounds):
        load["offered_iops"] *= offered
        curve["points"].append({"point": load["point"], "varied": {"load": str(load["percent"])}, "rounds": own,
                                "statistics": [made_statistic(None, shares, factors)]})
    curve["rounds_least"] = 2
    return curve


def made_sweep(axes):
    """A document of a sweep: the bandwidth of a point is its number in MB/s, +-10 %, its p99 1 ms, +-50 %."""
    points, names = [], [name for name, _ in axes]
    for number, values in enumerate(itertools.product(*(values for _, values in axes)), 1):
        statistic = {"target": None, "passes": [1, 2]}
        for figure, mean, half in (("bandwidth", number * 1e6, number * 1e5), ("iops", number, 0), ("latency", 1e6, 0), ("p50", 1e6, 0),
                                   ("p99", 1e6, 5e5), ("p99.9", 1e6, 0)):
            statistic[figure] = {"values": [mean, mean], "mean": mean, "interval_low": mean - half, "interval_high": mean + half}
        points.append({"point": number, "varied": dict(zip(names, values)), "rounds": [{}, {}], "statistics": [statistic]})
    return {"format": "xdd sweep", "version": 1, "status": 0, "arrangement": "grid", "points": points,
            "axes": [{"option": name, "values": values} for name, values in axes]}


def changed_sweep(document, factors):
    """The sweep with bandwidth and p99 of each point times its factor."""
    new = copy.deepcopy(document)
    for point, factor in zip(new["points"], factors):
        for figure in ("bandwidth", "p99"):
            own = point["statistics"][0][figure]
            for key in ("mean", "interval_low", "interval_high"):
                own[key] *= factor
            own["values"] = [v * factor for v in own["values"]]
    return new
