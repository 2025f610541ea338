#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd compare: what it says of pairs of documents whose differences are known, its exit status, and what it refuses.
"""
import copy
import functools
import re

import messages as m
import xddjson as j
import xddterm
import xddtest as t

FIGURES = ("bandwidth", "iops", "latency", "p50", "p99", "p99.9")
MEANS = ("bandwidth", "iops", "latency")


def compare(*args, **kwargs):
    return t.command([t.XDD, "compare"] + list(args), **kwargs)


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
        m = re.match(r"  (all targets|target \d+|) *(bandwidth|IOPS|latency|p50|p99|p99\.9) +([\d.]+ \S+) +([\d.]+ \S+) +(\S+) (?:%|times)"
                     r"(?:  +(\S+) to (\S+) (?:%|times)|  +too few passes)? +(real|may be chance|unsteady|unknown)$", line)
        if m:
            found[m.group(1) or "all targets", m.group(2).lower()] = tuple(
                float(m.group(i)) if m.group(i) else None for i in (5, 6, 7)) + (m.group(8),)
    return found


ONE = "-op noop -targets 1 null -numreqs 10000 -passes 4".split()
TWO = "-op noop -targets 2 null null -numreqs 10000 -passes 4".split()


def test_same():
    file = j.write("same", j.of_run("one", *ONE))
    run = compare(file, file)
    t.equal((run.status, run.err), (0, ""), "a run and itself: status 0")
    t.equal((section(run, "Environment"), section(run, "Plan")), (["  the same"], ["  the same"]), "nothing differs")
    t.equal({k: v[0] for k, v in verdicts(run).items()}, {("all targets", f): 0 for f in FIGURES},
            "one target: all targets only")
    t.ok(all(v[3] == "may be chance" for v in verdicts(run).values()), "and no difference is real", run)


def test_real_difference():
    base = j.of_run("base", *ONE)
    noise = [99.0, 101.5, 100.5, 99.0, 100.0]
    a = j.write("a", with_values(base, noise, noise))
    for name, values, status, verdict, percent in (
            ("20 % more", [v * 1.2 for v in noise], 1, "real", 20),
            ("20 % less", [v * 0.8 for v in noise], 1, "real", -20),
            ("as much, otherwise", [100.5, 99.5, 101.0, 98.5, 100.5], 0, "may be chance", 0),
            ("more, but scattered", [80.0, 160.0, 90.0, 140.0, 130.0], 0, "may be chance", 20),
            ("one pass", [120.0], 3, "unknown", 20)):
        run = compare(a, j.write("b", with_values(base, values, values)))
        found = verdicts(run)
        t.equal(run.status, status, name + ": status")
        t.equal([(v[0], v[3]) for v in found.values()], [(percent, verdict)] * 6, name + ": ratio and verdict")
        if verdict == "unknown":
            t.ok(run.out.endswith("The runs cannot be compared.\nb has one complete pass: run with -passes 5 or more.\n"),
                 name + ": says so, and what to do", run)
        else:
            t.ok(all(low < v < high and (low > 0 or high < 0) == (verdict == "real")
                     for v, low, high, _ in found.values()), name + ": the interval agrees", found)
            t.equal(run.out.split("\n\n")[-1], "The results differ, by more than the scatter inside the two runs.\nSeveral runs of each, made in "
                    "turns, show the spread between runs as well: xdd compare a1 a2 a3 -- b1 b2 b3.\n" if status else
                    "No difference between the results is more than chance.\n", name + ": the end", run)


def test_interval():
    """Equal variances and numbers: 6 degrees of freedom on either figure, so t is 2.447."""
    base = j.of_run("interval", *ONE)
    noise = [99.0, 101.0, 98.0, 102.0]  # standard deviation sqrt(10 / 3), error of the mean sqrt(5 / 6)
    a, b = j.write("a", with_values(base, noise, noise)), j.write("b", with_values(base, noise, [v * 1.5 for v in noise]))
    percent, low, high, _ = verdicts(compare(a, b))["all targets", "bandwidth"]
    width = 2.447 * (2 * 5 / 6) ** .5 / 100
    t.ok(percent == 50 and abs(low - (150 * 2.718281828 ** -width - 100)) < 0.06 and
         abs(high - (150 * 2.718281828 ** width - 100)) < 0.06, "the interval is Welch's", (percent, low, high, width))


@functools.cache
def of_two():
    """The document of TWO, which tests change copies of."""
    return j.of_run("two", *TWO)


def test_targets():
    base = of_two()
    noise, more = [99.0, 101.0, 100.0, 99.5, 100.5], [124.0, 126.0, 125.0, 124.5, 125.5]
    a = j.write("a", with_values(base, noise, noise, noise))
    run = compare(a, j.write("b", with_values(base, noise, more, noise)))
    found = verdicts(run)
    t.equal({k[0]: v[3] for k, v in found.items() if k[1] == "iops"},
            {"all targets": "may be chance", "target 0": "may be chance", "target 1": "real"}, "one target of two differs")
    t.equal(run.status, 1, "and that is a difference")
    # For 6 degrees of freedom t is 2.447 at 95 %, and 3.29 when three are compared: 3.2 and 4.3 % here.
    even = [99.0, 101.0, 98.0, 102.0]
    a = j.write("a", with_values(base, even, even, even))
    for more, verdict in ((1.037, "may be chance"), (1.05, "real")):
        run = compare(a, j.write("b", with_values(base, even, [v * more for v in even], even)))
        t.equal(verdicts(run)["target 1", "iops"][3], verdict, "one of three, %g times as fast" % more)
    one = j.of_run("alone", *ONE)
    run = compare(j.write("a", with_values(one, even, even)), j.write("b", with_values(one, even, [v * 1.037 for v in even])))
    t.equal(verdicts(run)["all targets", "iops"][3], "real", "one alone, 1.037 times as fast")
    a = j.write("a", with_values(base, noise, noise, noise))
    run = compare(a, j.write("b", with_values(j.of_run("other", *ONE), noise, noise)))
    t.ok(run.status == 0 and {k[0] for k in verdicts(run)} == {"all targets", "target 0"},
         "runs of two targets and of one: what both have", run)
    b = with_values(base, noise, noise, noise)
    b["statistics"][1]["not_reproducible"] = "pass 1 is 38 % slower than the others"
    run = compare(a, j.write("b", b))
    t.ok("  b, target 1, is not reproducible: pass 1 is 38 % slower than the others" in run.out.splitlines(),
         "a side that is not reproducible", run)
    b = with_values(base, noise, noise, noise)
    b["statistics"] = []
    run = compare(a, j.write("b", b))
    t.ok(run.status == 3 and "  there is no target with complete passes in all runs\n" in run.out and
         run.out.endswith("The runs cannot be compared.\nb has no complete pass: run with -passes 5 or more.\n"),
         "a run without results", run)
    for factor, status, end in ((1, 3, ""), (1.25, 1, "The results differ, by more than the scatter inside the two runs.\n")):
        run = compare(a, j.write("b", with_values(base, noise, [100.0], [v * factor for v in noise])))
        t.ok(run.status == status and "\nNot all results of the runs can be compared.\n" + end in run.out and
             "The runs cannot be compared." not in run.out, "one target of two has one pass, all together %g times" % factor, run)
    run = compare(a, j.write("b", j.of_run("nobarrier", *TWO, "-nobarrier")))
    t.equal({k[0] for k in verdicts(run)}, {"target 0", "target 1"}, "-nobarrier: target by target")


OUTPUT = """\
a: A
  <time>, xdd 8.0.0, normal
  RUN
b: B
  <time>, xdd 8.0.0, normal
  RUN

Environment
  kernel release                                  0.98 -> 0.99

Plan
  targets 1 options queuedepth                    1 -> 32

Results
  b, all targets, is not reproducible: pass 1 is 8 % slower
  a, target 1, is not reproducible: pass 3 is 38 % slower
                                a        b   b to a     95 % interval
  all targets  bandwidth  100 B/s  100 B/s   +0.0 %    -4.2 to +4.3 %  may be chance
  target 0     bandwidth  100 B/s  100 B/s   +0.0 %    -4.2 to +4.3 %  may be chance
  target 1     bandwidth  100 B/s  150 B/s  +50.0 %  +43.8 to +56.5 %  unsteady
  all targets  IOPS        100 /s   100 /s   +0.0 %    -4.2 to +4.3 %  may be chance
  target 0     IOPS        100 /s   100 /s   +0.0 %    -4.2 to +4.3 %  may be chance
  target 1     IOPS        100 /s   150 /s  +50.0 %  +43.8 to +56.5 %  unsteady
  all targets  latency     100 ns   100 ns   +0.0 %    -4.2 to +4.3 %  may be chance
  target 0     latency     100 ns   100 ns   +0.0 %    -4.2 to +4.3 %  may be chance
  target 1     latency     100 ns   150 ns  +50.0 %  +43.8 to +56.5 %  unsteady
                                                        99 % interval
  all targets  p50         100 ns   100 ns   +0.0 %    -6.6 to +7.1 %  may be chance
  target 0     p50         100 ns   100 ns   +0.0 %    -6.6 to +7.1 %  may be chance
  target 1     p50         100 ns   150 ns  +50.0 %  +40.1 to +60.7 %  unsteady
  all targets  p99         100 ns   100 ns   +0.0 %    -6.6 to +7.1 %  may be chance
  target 0     p99         100 ns   100 ns   +0.0 %    -6.6 to +7.1 %  may be chance
  target 1     p99         100 ns   150 ns  +50.0 %  +40.1 to +60.7 %  unsteady
  all targets  p99.9       100 ns   100 ns   +0.0 %    -6.6 to +7.1 %  may be chance
  target 0     p99.9       100 ns   100 ns   +0.0 %    -6.6 to +7.1 %  may be chance
  target 1     p99.9       100 ns   150 ns  +50.0 %  +40.1 to +60.7 %  unsteady

Limits
  latency+10%      all targets  within
  latency+10%      target 0     within
  latency+10%      target 1     cannot be judged: unsteady, since the passes of a run differ by as much; compare several runs of each
  p99-1%           all targets  cannot be judged: the interval is wider than the limit; run more passes
  p99-1%           target 0     cannot be judged: the interval is wider than the limit; run more passes
  p99-1%           target 1     within
  iops-60%         all targets  within
  iops-60%         target 0     within
  iops-60%         target 1     within

No limit is exceeded, and at least one cannot be judged.
"""


def test_output():
    """All of the output, of two runs and of several."""
    noise = [99.0, 101.0, 98.0, 102.0]
    a, b = with_values(of_two(), noise, noise, noise), with_values(of_two(), noise, [v * 1.5 for v in noise], noise)
    a["statistics"][1]["not_reproducible"], b["statistics"][2]["not_reproducible"] = "pass 3 is 38 % slower", "pass 1 is 8 % slower"
    a["environment"]["kernel"]["release"], b["environment"]["kernel"]["release"] = "0.98", "0.99"
    b["plan"]["targets"][1]["options"]["queuedepth"] = 32
    files = [j.write(name, document) for name, document in (("a", a), ("b", b), ("c", a), ("d", b))]

    def output(*args):
        run = compare(*args)
        text = re.sub(r"(?m)^((?:[ab]\d?): ).*/(\w)$", lambda found: found.group(1) + found.group(2).upper(), run.out)
        return run.status, re.sub(r"(?m)^  \S+/xdd -op .*", "  RUN", re.sub(r"\d\S*Z, xdd \S+, \S+", "<time>, xdd 8.0.0, normal", text))

    t.equal(output("-failif", "latency+10%,p99-1%,iops-60%", *files[:2]), (3, OUTPUT), "two runs: all of the output")
    cut = j.write("cut", dict(a, partial=True))
    t.equal([line.rsplit(", ", 1)[1] for line in compare(cut, cut).out.splitlines() if ", xdd " in line], ["cut short"] * 2, "a run that was cut short")
    status, text = output(files[0], files[2], "--", files[1], files[3])
    lines = text.splitlines()
    t.equal((status, [line for line in lines if re.match(r"[ab]\d: |  [ab]\d", line)], lines[-1]),
            (1, ["a1: A", "a2: C", "b1: B", "b2: D", *("  b%d, all targets, is not reproducible: pass 1 is 8 %% slower" % i for i in (1, 2)),
                 *("  a%d, target 1, is not reproducible: pass 3 is 38 %% slower" % i for i in (1, 2))],
             "The results differ, by more than the scatter inside the runs and the spread between them."), "two runs on each side")
    wanted = re.sub(r"\S+ to (\S+) %", "", re.sub("unsteady", "real", "\n".join(OUTPUT.split("interval\n", 1)[1].split("\n\n")[0].split("\n"))))
    t.equal([line.split() for line in re.sub(r"\S+ to (\S+) %", "", text.split("interval\n", 1)[1].split("\n\n")[0]).splitlines()],
            [line.split() for line in wanted.splitlines()], "... with the same figures")


def test_terminal():
    """With several targets a narrow terminal has room for the intervals: figures are lines above their targets."""
    if not t.have_terminals():
        t.skip("columns of a terminal", "no pseudo-terminals")
        return
    base = of_two()
    noise = [99.0, 101.0, 98.0, 102.0]
    a = j.write("a", with_values(base, noise, noise, noise))
    b = j.write("b", with_values(base, noise, [v * 1.5 for v in noise], noise))
    for columns, grouped in ((72, True), (100, False)):
        screen = xddterm.on_terminal([t.XDD, "compare", a, b], columns=columns, cwd=t.tmp())
        lines = screen.lines[screen.lines.index("Results") + 1:]
        lines = lines[:lines.index("")]
        t.ok(screen.status == 1 and max(map(len, lines)) < columns and "no room for" not in screen.text,
             "%d columns: all columns fit" % columns, screen)
        t.equal([line for line in lines if re.match("  +(bandwidth|IOPS|latency|p50|p99|p99.9)$", line)],
                ["  " + figure for figure in ("bandwidth", "IOPS", "latency", "p50", "p99", "p99.9")] * grouped,
                "%d columns: figures have lines of their own" % columns, screen)
        row = next(line for line in lines if "target 1" in line)
        t.ok(re.match("    target 1 " if grouped else "  target 1 +bandwidth ", row) and
             re.search(r" 100 B/s +150 B/s +\+50\.0 % +\+4\d\.\d to \+5\d\.\d %  ?real$", row), "%d columns: a row" % columns, row)


def test_run_time():
    """Runs that only -runtime ends have one pass; what to do is said."""
    runs = [j.write(name, j.of_run(name, *"-op noop -targets 1 null -runtime .2".split())) for name in ("r1", "r2")]
    run = compare(*runs)
    t.ok(run.status == 3 and {v[3] for v in verdicts(run).values()} == {"unknown"}, "-runtime: status 3", run)
    t.ok(all("%s has one complete pass: run with -timelimit <seconds> instead of -runtime, and -passes 5 or more.\n" % side in
             run.out for side in "ab"), "and what to do", run)
    run = compare("-failif", "latency+50%", *runs)
    t.equal((run.status, "cannot be judged: unknown, since there is no interval" in run.out), (3, True), "and no gate is green", run)


def test_percentiles():
    base = j.of_run("tails", *ONE)
    noise = [99.0, 101.0, 98.0, 102.0]
    a, b = with_values(base, noise, noise), with_values(base, noise, noise)
    for name, factor in (("p50", 1), ("p99", 1.2), ("p99.9", .8)):
        b["statistics"][1][name]["values"] = [v * factor for v in noise]
    run = compare(j.write("a", a), j.write("b", b))
    found = {k[1]: v for k, v in verdicts(run).items()}
    t.equal({name: found[name][::3] for name in FIGURES},
            {"bandwidth": (0, "may be chance"), "iops": (0, "may be chance"), "latency": (0, "may be chance"),
             "p50": (0, "may be chance"), "p99": (20, "real"), "p99.9": (-20, "real")}, "the tails differ")
    t.equal(run.status, 1, "and that is a difference")
    # t of 6 degrees of freedom is 3.707 for 99 %, and each side may be 0.4 % off.
    wide = 2.718281828 ** (3.707 * ((5 / 6) ** .5 / 100) * 2 ** .5) * 1.008
    t.ok(abs(found["p99"][1] - (120 / wide - 100)) < 0.06 and abs(found["p99"][2] - (120 * wide - 100)) < 0.06,
         "the interval is Welch's for 99 %, and as much wider as a bucket of the histogram", (found["p99"], wide))
    # The same bucket in all passes, and the next one in all of the other run: that is no difference.
    a["statistics"][1]["p99"]["values"], b["statistics"][1]["p99"]["values"] = [1000.0] * 5, [1007.8] * 5
    t.equal(verdicts(compare(j.write("a", a), j.write("b", b)))["all targets", "p99"][3], "may be chance", "neighbouring buckets")
    for name in ("p50", "p99", "p99.9"):
        for statistic in a["statistics"]:
            del statistic[name]
    run = compare(j.write("a", a), j.write("b", b))
    t.ok(run.status == 0 and {k[1] for k in verdicts(run)} == set(MEANS), "a document without percentiles", run)
    run = compare("-failif", "p99+10%", j.write("a", a), j.write("b", b))
    t.ok(run.status == 3 and "  p99+10%          all targets  cannot be judged: a document does not have this figure" in run.out,
         "which a limit asks for", run)


def test_not_reproducible():
    """A difference that is no greater than the change inside a run may be chance."""
    base = j.of_run("drift", *ONE)
    flat = [100.1, 99.9, 100.0, 100.05, 99.95, 100.02, 99.98, 100.0]
    drift = [v * (1 + i / 70) for i, v in enumerate(flat)]  # 10 % more at the end
    slow = [50.0] + flat[1:]
    weak, a = "unsteady", j.write("a", with_values(base, flat, flat))
    for name, values, verdict in (("a drift, and as much between the runs", [v * 1.04 for v in drift], weak),
                                  ("a drift, and far more between the runs", [v * 1.5 for v in drift], "real"),
                                  ("no drift", [v * 1.04 for v in flat], "real"),
                                  ("a first pass of half the speed, and less between the runs", [v * 1.4 for v in slow], weak),
                                  ("a first pass of half the speed, and more between the runs", [v * 4 for v in slow], "real")):
        b = j.write("b", with_values(base, values, values))
        for title, args, ratio in ((name, (a, b), 1), (name + ", the other way round", (b, a), -1)):
            run = compare(*args)
            found = verdicts(run)["all targets", "bandwidth"]
            t.equal((found[3], run.status), (verdict, int(verdict == "real")), title)
            t.equal(run.out.endswith("\n\nThe results differ, but are unsteady: the passes of a run differ by as much. Find out why, or compare "
                                     "several runs of each.\n"), verdict == weak, title + ": the end", run)
            t.ok(found[1] * ratio > 0 or found[2] * ratio > 0, title + ": beyond the scatter of the passes", found)
    said = with_values(base, [v * 1.04 for v in flat], [v * 1.04 for v in flat])
    said["statistics"][1]["not_reproducible"] = "pass 1 is 38 % slower than the others"
    run = compare(a, j.write("b", said))
    t.ok(run.status == 0 and verdicts(run)["all targets", "iops"][3] == weak, "the run itself says so", run)
    lines = section(run, "Results")
    t.equal(lines[0], "  b, all targets, is not reproducible: pass 1 is 38 % slower than the others", "before the verdicts")
    run = compare("-failif", "bandwidth+3%", a, j.write("b", said))
    t.equal((run.status, run.out.splitlines()[-3:]),
            (3, ["  bandwidth+3%     all targets  cannot be judged: unsteady, since the passes of a run differ by as much; compare "
                 "several runs of each", "", "No limit is exceeded, and at least one cannot be judged."]),
            "and a limit cannot be judged, by the word of the table", run)


def test_groups():
    base = j.of_run("group", *ONE)
    noise = [99.9, 100.1, 100.0, 99.95, 100.05]

    def at(side, *means):
        values = [[v * m / 100 for v in noise] for m in means]
        return [j.write("%s%d" % (side, i), with_values(base, v, v)) for i, v in enumerate(values)]

    a, b = at("a", 100, 103, 97), at("b", 104, 101, 107)
    run = compare(*a, "--", *b)
    found = verdicts(run)["all targets", "bandwidth"]
    t.equal((run.status, run.err, found[0], found[3]), (0, "", 4.0, "may be chance"), "several runs: the spread between them counts")
    # Run means with variance 9 on either side: t is 2.776 for 4 degrees of freedom, to first order.
    width = 2.776 * ((.03 ** 2 + (.03 / 1.04) ** 2) / 3) ** .5
    t.ok(abs(found[1] - (104 * 2.718281828 ** -width - 100)) < 0.06 and
         abs(found[2] - (104 * 2.718281828 ** width - 100)) < 0.06, "Welch's interval of the means of the runs", (found, width))
    t.equal(compare(a[0], b[0]).status, 1, "two of the runs by themselves differ")
    for name, first, second, status in (("10 % more", (100, 101, 99), (110, 111, 109), 1), ("1 against 3", (100,), (104, 101, 107), 0),
                                        ("3 against 1", (100, 101, 99), (120,), 1), ("2 against 2", (100, 101), (102, 99), 0)):
        run = compare(*at("c", *first), "--", *at("d", *second))
        t.equal((run.status, "scatter inside the runs and the spread between them" in run.out),
                (status, bool(status)), name, run)
    single = [j.write("s%d" % i, with_values(base, [v], [v])) for i, v in enumerate((100, 101, 99, 110, 111, 109))]
    run = compare(*single[:3], "--", *single[3:])
    t.equal((run.status, "cannot be compared" in run.out), (1, False), "runs of one pass each", run)
    run = compare(*single[:1], "--", *single[3:4])
    t.equal(run.status, 3, "-- between two runs of one pass each")
    names = re.findall(r"^(\w+): (\S+)$", compare(*a, "--", *b).out, re.M)
    t.equal(names, list(zip(("a1", "a2", "a3", "b1", "b2", "b3"), a + b)), "each has a name")
    other = with_values(base, noise, noise)
    other["plan"]["targets"][0]["options"]["queuedepth"] = 32
    run = compare(a[0], j.write("other", other), "--", *b)
    t.equal([" ".join(line.split()) for line in section(run, "Plan, a1 to a2") or []], ["targets 0 options queuedepth 1 -> 32"],
            "runs of one side with different plans")


def test_failif():
    base = j.of_run("gate", *ONE)
    noise = [99.0, 101.0, 100.0, 98.0, 102.0]  # the interval is +-2.3 %
    a = j.write("a", with_values(base, noise, noise))
    more, less = ([v * f for v in noise] for f in (1.15, .9))
    rough = [80.0, 160.0, 90.0, 140.0, 110.0]
    for name, values, limits, status, said in (
            ("no change", noise, "latency+10%", 0, "within"), ("more than allowed", more, "latency+10%", 4, "exceeded"),
            ("less is better", less, "latency+10%", 0, "within"), ("within the limit", more, "latency+20%", 0, "within"),
            ("less than allowed", less, "bandwidth-5%", 4, "exceeded"), ("little enough", less, "iops-12.5%", 0, "within"),
            ("more is better", more, "iops-5%", 0, "within"), ("any real change", [v * 1.05 for v in noise], "p50+0%", 4, "exceeded"),
            ("a change by chance", [v * 1.01 for v in noise], "latency+0%", 0, "within"),
            ("too rough to say", rough, "latency+10%", 3, "cannot be judged: the interval is wider than the limit; run more passes"),
            ("a limit within the noise", noise, "latency+1%", 3, "cannot be judged: the interval is wider than the limit"),
            ("one pass", [130.0], "latency+10%", 3, "cannot be judged: unknown, since there is no interval")):
        run = compare("-failif", limits, a, j.write("b", with_values(base, values, values)))
        t.ok(run.status == status and re.search(r"^  %s +all targets +%s" % (re.escape(limits), re.escape(said)), run.out, re.M),
             "-failif %s: %s" % (limits, name), run)
    b = j.write("b", with_values(base, more, more))
    for args, status in ((("-failif", "p99.9+10%,bandwidth-5%"), 4), (("-failif", "p99.9+20%", "-failif", "bandwidth-5%"), 0),
                         (("--fail-if=p99+20%,latency+1%",), 4), (("--fail-if", "p99+20%,latency+1%"), 4), (("-failif", "p99+20%,latency+1%"), 4)):
        t.equal(compare(*args, a, b).status, status, "%s: any of them" % " ".join(args))
    t.equal(compare(a, "-failif", "p99+10%", b).status, 4, "between the files")
    run = compare("-failif", "knee-5%", a, b)
    t.equal((run.status, "\n  knee-5%          cannot be judged: the documents are not of curves\n" in run.out), (3, True),
            "a limit on a figure of curves", run)
    run = compare("-failif", "flush+5%", a, b)
    t.equal((run.status, "all targets  cannot be judged: a document does not have this figure for each pass\n" in run.out), (3, True),
            "a limit on a figure that the runs lack", run)
    base = of_two()
    a = j.write("a", with_values(base, noise, noise, noise))
    run = compare("-failif", "latency+10%", a, j.write("b", with_values(base, noise, more, noise)))
    t.ok(run.status == 4 and re.findall(r"^  latency\+10% +(.*)$", run.out, re.M) ==
         ["all targets  within", "target 0     within", "target 1     exceeded"], "-failif: of each target", run)
    for word, want in (("p98+10%", "before the sign; did you mean p99?"), ("p99+10", "expected <figure>+<percent>% or"),
                       ("p99", "expected <figure>"), ("", "<limit> cannot be empty"), ("+10%", "before the sign"),
                       ("p99+x%", "expected a percentage"), ("p99+-5%", "expected a percentage"), ("p99+%", "expected a percentage"),
                       ("bandwidth-100%", "from 0 to less than 100"), ("p99+10%,", "expected <figure>"),
                       ("p99+10%,p50", "-failif p50: expected <figure>"), ("p99+1e99%", "percentage"),
                       ("latency+" + "9" * 400 + "%", "percentage")):
        run = compare("-failif", word, a, a)
        t.equal((run.status, run.out, len(run.error_lines()), want in run.err), (2, "", 1, True),
                "-failif %.30s" % word, run)


def test_differences():
    base = j.of_run("here", *ONE)
    other = copy.deepcopy(base)
    other["environment"]["kernel"]["release"] = "0.99"
    other["environment"]["processors"]["governor"] = "powersave"
    other["environment"]["memory"]["available_bytes"] = 5
    other["plan"]["targets"][0]["options"]["queuedepth"] = 32
    other["plan"]["targets"][0]["options"]["seek"]["random"] = True
    other["plan"]["options"]["jsonout"] = "elsewhere"
    del other["environment"]["build"]["cflags"]
    run = compare(j.write("a", base), j.write("b", other))
    t.equal([" ".join(line.split()) for line in section(run, "Environment")], [
        "kernel release %s -> 0.99" % base["environment"]["kernel"]["release"],
        "processors governor (none) -> powersave" if "governor" not in base["environment"]["processors"] else
        "processors governor %s -> powersave" % base["environment"]["processors"]["governor"],
        "build cflags %s -> (none)" % " ".join(base["environment"]["build"]["cflags"].split())], "the environment")
    t.equal([" ".join(line.split()) for line in section(run, "Plan")],
            ["targets 0 options queuedepth 1 -> 32", "targets 0 options seek random (none) -> yes"], "the plan")
    t.equal(run.status, 0, "which is no difference of the results")


def test_whole_values():
    """A difference after many characters or digits is shown, not cut or rounded away."""
    a = j.of_run("whole", *ONE)
    b = copy.deepcopy(a)
    for document, text, number in ((a, "x" * 600 + "1", 1234567.25), (b, "x" * 600 + "2", 1234567.5)):
        document["environment"]["kernel"]["version"] = text
        document["plan"]["targets"][0]["options"]["operationdelay"] = number
    run = compare(j.write("a", a), j.write("b", b))
    t.equal([line.split()[-3:] for line in section(run, "Environment") + section(run, "Plan")],
            [["x" * 600 + "1", "->", "x" * 600 + "2"], ["1234567.25", "->", "1234567.5"]], "long values")


def test_refused():
    """report_whole.py has other documents that are refused, and commands_whole.py has words."""
    good = j.write("good", j.of_run("good", *ONE))
    with open(good, encoding="utf-8") as f:
        cut = j.write("cut", f.read()[:-2])
    for args in ((good, cut), (cut, good)):
        run = compare(*args)
        t.equal((run.status, run.out, run.err), (2, "", "xdd: compare: %s: the document is cut short, in line 1\n" % cut), "cut short", run)
    run = compare("-help")
    t.equal((run.status, run.out.startswith("usage: xdd compare"), run.err), (0, True, ""), "-help", run)
    t.equal(run.out, t.xdd("-help", "compare").out, "-help: the same as xdd -help compare", run)
    t.ok("\n  -failif <limit> " in run.out, "-help lists the options", run)
    run = t.command(["sh", "-c", '"$0" compare "$1" "$1" >/dev/full', t.XDD, good])
    t.equal((run.status, m.NO_SPACE in run.err), (2, True), "output to a full disk", run)


t.run_all()
