#!/usr/bin/env python3
"""
xdd compare: what it says of pairs of documents whose differences are known, its exit status, and what it refuses.
"""
import copy
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddjson as j
import xddtest as t

FIGURES = ("bandwidth", "iops", "latency")


def write(name, document):
    file = t.path(name)
    with open(file, "w", encoding="utf-8") as f:
        f.write(document if isinstance(document, str) else json.dumps(document))
    return file


def compare(*args, **kwargs):
    return t.command([t.XDD, "compare"] + list(args), **kwargs)


def real_run(name, *args):
    file = t.path(name)
    run = t.xdd(*args, "-jsonout", file)
    t.equal(run.status, 0, name + ": a run to compare")
    return j.load(file)


def with_values(document, *values):
    """The same with these values for the passes of all figures: a list for each target, then for all together."""
    new = copy.deepcopy(document)
    for statistic, own in zip(new["statistics"], values):
        statistic["passes"] = list(range(1, len(own) + 1))
        for figure in FIGURES:
            statistic[figure]["values"] = own
        statistic["not_reproducible"] = None
    return new


def section(run, title):
    """The lines below a title."""
    m = re.search(r"^%s\n((?:  .*\n)*)" % title, run.out, re.M)
    return m.group(1).splitlines() if m else None


def verdicts(run):
    """(what, figure) to (percent, low, high, verdict)."""
    found = {}
    for line in section(run, "Results") or []:
        m = re.match(r"  (all targets|target \d+) +(bandwidth|IOPS|latency) +([\d.]+) +([\d.]+) \S+ +(\S+) %"
                     r"(?:  +(\S+) % to (\S+) %)? +(real|may be chance|unknown)$", line)
        if m:
            found[m.group(1), m.group(2).lower()] = tuple(
                float(m.group(i)) if m.group(i) else None for i in (5, 6, 7)) + (m.group(8),)
    return found


ONE = "-op noop -targets 1 null -numreqs 100 -passes 4".split()
TWO = "-op noop -targets 2 null null -numreqs 100 -passes 4".split()


def test_same():
    file = write("same", real_run("one", *ONE))
    run = compare(file, file)
    t.equal((run.status, run.err), (0, ""), "a run and itself: status 0")
    t.equal((section(run, "Environment"), section(run, "Plan")), (["  the same"], ["  the same"]), "nothing differs")
    t.equal({k: v[0] for k, v in verdicts(run).items()}, {("all targets", f): 0 for f in FIGURES},
            "one target: all targets only")
    t.ok(all(v[3] == "may be chance" for v in verdicts(run).values()), "and no difference is real", run)


def test_real_difference():
    base = real_run("base", *ONE)
    noise = [99.0, 101.5, 100.5, 99.0, 100.0]
    a = write("a", with_values(base, noise, noise))
    for name, values, status, verdict, percent in (
            ("20 % more", [v * 1.2 for v in noise], 1, "real", 20),
            ("20 % less", [v * 0.8 for v in noise], 1, "real", -20),
            ("as much, otherwise", [100.5, 99.5, 101.0, 98.5, 100.5], 0, "may be chance", 0),
            ("more, but scattered", [80.0, 160.0, 90.0, 140.0, 130.0], 0, "may be chance", 20),
            ("one pass", [120.0], 0, "unknown", 20)):
        run = compare(a, write("b", with_values(base, values, values)))
        found = verdicts(run)
        t.equal(run.status, status, name + ": status")
        t.equal([(v[0], v[3]) for v in found.values()], [(percent, verdict)] * 3, name + ": ratio and verdict")
        if verdict == "unknown":
            t.ok("Nothing can be said about chance" in run.out and "-passes" in run.out, name + ": says so", run)
        else:
            t.ok(all(low < v < high and (low > 0 or high < 0) == (verdict == "real")
                     for v, low, high, _ in found.values()), name + ": the interval agrees", found)
            t.ok(("The results differ." in run.out) == bool(status), name + ": the last line", run)


def test_interval():
    """Equal variances and numbers: 8 degrees of freedom on either figure, so t is 2.306."""
    base = real_run("interval", *ONE)
    noise = [99.0, 101.0, 100.0, 98.0, 102.0]  # standard deviation sqrt(2.5), error of the mean sqrt(0.5)
    a, b = write("a", with_values(base, noise, noise)), write("b", with_values(base, noise, [v * 1.5 for v in noise]))
    percent, low, high, _ = verdicts(compare(a, b))["all targets", "bandwidth"]
    width = 2.306 * (2 * 0.5) ** .5 / 100
    t.ok(percent == 50 and abs(low - (150 * 2.718281828 ** -width - 100)) < 0.06 and
         abs(high - (150 * 2.718281828 ** width - 100)) < 0.06, "the interval is Welch's", (percent, low, high, width))


def test_targets():
    base = real_run("two", *TWO)
    noise, more = [99.0, 101.0, 100.0, 99.5, 100.5], [124.0, 126.0, 125.0, 124.5, 125.5]
    a = write("a", with_values(base, noise, noise, noise))
    run = compare(a, write("b", with_values(base, noise, more, noise)))
    found = verdicts(run)
    t.equal({k[0]: v[3] for k, v in found.items() if k[1] == "iops"},
            {"all targets": "may be chance", "target 0": "may be chance", "target 1": "real"}, "one target of two differs")
    t.equal(run.status, 1, "and that is a difference")
    # For 8 degrees of freedom t is 2.306 at 95 %, and 3.02 when three are compared: 2.3 and 3.1 % here.
    even = [99.0, 101.0, 100.0, 98.0, 102.0]
    a = write("a", with_values(base, even, even, even))
    for more, verdict in ((1.027, "may be chance"), (1.04, "real")):
        run = compare(a, write("b", with_values(base, even, [v * more for v in even], even)))
        t.equal(verdicts(run)["target 1", "iops"][3], verdict, "one of three, %g times as fast" % more)
    one = real_run("alone", *ONE)
    run = compare(write("a", with_values(one, even, even)), write("b", with_values(one, even, [v * 1.027 for v in even])))
    t.equal(verdicts(run)["all targets", "iops"][3], "real", "one alone, 1.027 times as fast")
    a = write("a", with_values(base, noise, noise, noise))
    run = compare(a, write("b", with_values(real_run("other", *ONE), noise, noise)))
    t.ok(run.status == 0 and {k[0] for k in verdicts(run)} == {"all targets", "target 0"},
         "runs of two targets and of one: what both have", run)
    b = with_values(base, noise, noise, noise)
    b["statistics"][1]["not_reproducible"] = "pass 1 is 38 % slower than the others"
    run = compare(a, write("b", b))
    t.ok("  b, target 1, is not reproducible: pass 1 is 38 % slower than the others" in run.out.splitlines(),
         "a side that is not reproducible", run)
    b = with_values(base, noise, noise, noise)
    b["statistics"] = []
    run = compare(a, write("b", b))
    t.ok(run.status == 0 and "no pass that both" in run.out, "a run without results", run)
    run = compare(a, write("b", real_run("nobarrier", *TWO, "-nobarrier")))
    t.equal({k[0] for k in verdicts(run)}, {"target 0", "target 1"}, "-nobarrier: target by target")


def test_differences():
    base = real_run("here", *ONE)
    other = copy.deepcopy(base)
    other["environment"]["kernel"]["release"] = "0.99"
    other["environment"]["processors"]["governor"] = "powersave"
    other["environment"]["memory"]["available_bytes"] = 5
    other["plan"]["targets"][0]["options"]["queuedepth"] = 32
    other["plan"]["targets"][0]["options"]["seek"]["random"] = True
    other["plan"]["options"]["jsonout"] = "elsewhere"
    del other["environment"]["build"]["cflags"]
    run = compare(write("a", base), write("b", other))
    t.equal([" ".join(line.split()) for line in section(run, "Environment")], [
        "kernel release %s -> 0.99" % base["environment"]["kernel"]["release"],
        "processors governor (none) -> powersave" if "governor" not in base["environment"]["processors"] else
        "processors governor %s -> powersave" % base["environment"]["processors"]["governor"],
        "build cflags %s -> (none)" % " ".join(base["environment"]["build"]["cflags"].split())], "the environment")
    t.equal([" ".join(line.split()) for line in section(run, "Plan")],
            ["targets 0 options queuedepth 1 -> 32", "targets 0 options seek random (none) -> yes"], "the plan")
    t.equal(run.status, 0, "which is no difference of the results")


def test_whole_values():
    """What differs behind many characters or digits is shown, not cut or rounded away."""
    a = real_run("whole", *ONE)
    b = copy.deepcopy(a)
    for document, text, number in ((a, "x" * 600 + "1", 1234567.25), (b, "x" * 600 + "2", 1234567.5)):
        document["environment"]["kernel"]["version"] = text
        document["plan"]["targets"][0]["options"]["operationdelay"] = number
    run = compare(write("a", a), write("b", b))
    t.equal([line.split()[-3:] for line in section(run, "Environment") + section(run, "Plan")],
            [["x" * 600 + "1", "->", "x" * 600 + "2"], ["1234567.25", "->", "1234567.5"]], "long values")


def with_rate(document, rate):
    changed = copy.deepcopy(document)
    changed["statistics"][0]["iops"]["values"] = [rate] * 3
    return changed


def test_refused():
    base = real_run("good", *ONE)
    good, text = write("good", base), json.dumps(base)
    other = dict(base, version=2)
    broken = copy.deepcopy(base)
    broken["statistics"][0]["iops"]["values"] = ["x"]
    for name, content, want in (
            ("empty", "", "cut short"), ("cut", text[:len(text) // 2], "the document is cut short, in line 1"),
            ("almost", text[:-1], "cut short"), ("no JSON", "What Pass Target\n", "no JSON: line 1, column "),
            ("binary", "\x01\x02", "no JSON"), ("other JSON", "[1, 2]", "this is JSON, but not of xdd -jsonout"),
            ("other object", '{"format": "x"}', "not of xdd -jsonout"),
            ("other version", json.dumps(other), "of version 2 of the format; this xdd reads version 1"),
            ("a member twice", text[:-1] + ', "version": 1}', "duplicate"),
            ("no statistics", json.dumps({k: v for k, v in base.items() if k != "statistics"}), "are missing"),
            ("bad statistics", json.dumps(broken), "the statistics are not as they should be"),
            ("a rate below zero", json.dumps(with_rate(base, -1.0)), "the statistics are not as they should be"),
            ("a rate beyond all bounds", json.dumps(with_rate(base, 1e308)), "the statistics are not as they should be")):
        file = write("bad", content)
        for args in ((good, file), (file, good)):
            run = compare(*args)
            t.ok(run.status == 2 and not run.out and len(run.error_lines()) == 1 and
                 run.err.startswith("xdd: compare: %s: " % file) and want in run.err, name, run)
    for args, want in ((("/nowhere", good), "/nowhere: No such file"), ((good, t.tmp()), "directory"),
                       ((good,), "two files of -jsonout are wanted, and 1 given"), ((), "and 0 given"),
                       ((good, good, good), "and 3 given")):
        run = compare(*args)
        t.ok(run.status == 2 and not run.out and len(run.error_lines()) == 1 and want in run.err, want, run)
    run = compare("-help")
    t.ok(run.status == 0 and run.out.startswith("usage: xdd compare") and not run.err, "-help", run)
    run = t.command(["sh", "-c", '"$0" compare "$1" "$1" >/dev/full', t.XDD, good])
    t.ok(run.status == 2 and "No space left" in run.err, "output to a full disk", run)


t.run(test_same, test_real_difference, test_interval, test_targets, test_differences, test_whole_values, test_refused)
t.done()
