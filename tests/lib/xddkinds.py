# SPDX-License-Identifier: GPL-2.0-or-later
"""
Documents of each kind that a page of xdd report can be of, as files of the test. All but a copy are of runs in virtual time,
on files with the law of a device (tests/lib/clock.c), so that they are the same each time and take little.

    for name, files in xddkinds.documents():
        ...
"""
import os
import xdde2e
import xddjson as j
import xddtest as t

LAW = "/device exponential:200000 2"  # 10,000 operations per second, by two servers


def _device(name="device", size=4 << 20):
    file = t.path(name)
    if not os.path.exists(file):
        with open(file, "wb") as f:
            f.write(os.urandom(size))
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
    return _document(name, "sweep", *_reads(), "-timelimit", "%gs" % (0.1 * scale), "-rounds", 3, *words, **kwargs)


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
