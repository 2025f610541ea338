#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Lockstep, triggers and -syncio thrown together at random, with orderings, engines, queue depths and passes: the
amount of each target is computed beforehand from the rules of the user guide, and each operation of its trace is
checked against the events it had to wait for. The same runs are ended early as well, by time and by SIGINT: none may
hang.

XDD_TEST_LONG=1 makes many more runs; XDD_TEST_SEED=<n> makes others, for which a failure prints all there is to know.
"""
import bisect
import collections
import os
import random
import re
import signal

import messages as m
import xddsys as s
import xddtest as t
import xddtrace

t.tolerate(m.FEWER_PASSES_RUN)
t.may_warn(m.REACHES, m.STRICT_URING, m.DID_NOTHING, m.RATE_NOT_REACHED)

LIMIT_S = 60
SEED = int(os.environ.get("XDD_TEST_SEED", "4"))
LONG = bool(os.environ.get("XDD_TEST_LONG"))
SIZE = 4096
MOST = 300          # operations of a target
QUEUES = ("libaio", "io_uring")

Lockstep = collections.namedtuple("Lockstep", "master when howlong what howmuch run stop")
Trigger = collections.namedtuple("Trigger", "by when howmuch")


# The rules of the guide

def count(unit, value, done, ops):
    """How often so much fits in `done` operations of a pass of `ops`."""
    return {"op": done, "percent": done * 100 / ops, "kbytes": done * 4}[unit] // value


class Mix:
    """A run of a few targets that wait for each other."""

    def __init__(self, seed, engines, short=None):
        """`short` is a file that target 0 reads, and too short for what it reads."""
        r = random.Random("%d %s" % (SEED, seed))
        self.n = r.choice((2, 2, 3, 3, 4, 6))
        self.passes = r.choice((1, 1, 2, 4))
        self.ops = [r.choice((1, 10, 50, 128, MOST)) for _ in range(self.n)]
        self.lockstep, self.start, self.stop, self.sync = {}, {}, {}, 0
        self.ordering, self.depths = [], []
        self.words = ["-reqsize", 4, "-passes", self.passes, "-verbose"]
        names = []
        for i in range(self.n):
            names.append(self.target(r, i, engines, None if i else short))
        self.words = ["-targets", self.n] + names + self.words
        # A target waits only for targets before it in this order: there are no cycles.
        order = list(range(self.n))
        r.shuffle(order)
        if r.random() < 0.15:
            self.sync = r.choice((1, 2, 5, 50, 1000))
            self.words += ["-syncio", self.sync]
        else:
            for place in range(1, self.n):
                self.tie(r, order[place], order[:place])
        for i in range(self.n):
            if r.random() < 0.1:
                self.stop[i] = self.trigger(r, r.choice([x for x in range(self.n) if x != i]))
                self.words += self.trigger_words("-stoptrigger", i, self.stop[i])
        if r.random() < 0.2:
            self.words += ["-deskew"]

    def target(self, r, i, engines, short):
        """Engine, depth and order of a target; returns its name."""
        engine, depth = "psync" if short else r.choice(engines), r.choice((1, 1, 2, 3, 8, 32))
        order = r.choice(("none", "none", "loose", "serial", "strict"))
        if order == "strict" and engine not in QUEUES:
            order = "serial"
        self.ordering.append(order)
        self.depths.append(depth)
        name = short or ("null" if engine == "null" else t.path("mix%d" % i))
        op = "noop" if name == "null" else "read" if short else r.choice(("read", "write"))
        self.words += ["-op", "target", i, op, "-numreqs", "target", i, self.ops[i], "-queuedepth", "target", i, depth,
                       "-ordering", "target", i, "storage", order]
        if name != "null":
            self.words += ["-ioengine", "target", i, engine]
        if engine in QUEUES:
            self.words += ["-threads", "target", i, min(depth, r.choice((1, 2, 3)))]
        if r.random() < 0.1:
            self.words += ["-throttle", "target", i, "ops", 20000]
        if r.random() < 0.1:
            self.words += ["-startdelay", "target", i, "5ms"]
        return name

    def measure(self, r, i):
        unit = r.choice(("op", "percent", "kbytes"))
        value = {"op": (1, 1, 2, 7, self.ops[i]), "percent": (1, 10, 33, 100), "kbytes": (4, 10, 33)}[unit]
        return unit, r.choice(value)

    def trigger(self, r, by):
        """That can be pulled."""
        unit, value = self.measure(r, by)
        most = {"op": self.ops[by], "percent": 100, "kbytes": 4 * self.ops[by]}[unit]
        return Trigger(by, unit, min(value, most))

    @staticmethod
    def trigger_words(option, i, trigger):
        return [option, trigger.by, i, trigger.when, trigger.howmuch]

    def tie(self, r, i, others):
        if r.random() < 0.75:
            master, run, stop = r.choice(others), r.random() < 0.5, r.random() < 0.5
            ls = self.lockstep[i] = Lockstep(master, *self.measure(r, master), *self.measure(r, i), run, stop)
            self.words += ["-lockstep", master, i, *ls[1:5], "run" if run else "wait", "stop" if stop else "complete"]
        if r.random() < 0.25:
            self.start[i] = self.trigger(r, r.choice(others))
            self.words += self.trigger_words("-starttrigger", i, self.start[i])

    def tasks(self, i, n):
        """Operations of slave `i` that make so many of its tasks, at most."""
        ls, ops = self.lockstep[i], self.ops[i]
        per = {"op": ls.howmuch * n, "percent": -(-ls.howmuch * n * ops // 100), "kbytes": -(-ls.howmuch * n // 4)}
        return min(ops, per[ls.what])

    def wanted(self, i):
        """How many operations target `i` does in each pass; None: that depends."""
        if i in self.stop:
            return None
        if i in self.start:
            g = self.start[i]
            by = self.wanted(g.by)
            if by is None:
                return None
            if count(g.when, g.howmuch, by, self.ops[g.by]) < 1:
                return 0
        if i in self.lockstep and self.lockstep[i].stop:
            ls = self.lockstep[i]
            master = self.wanted(ls.master)
            return None if master is None else self.tasks(i, count(ls.when, ls.howlong, master, self.ops[ls.master]) + ls.run)
        return self.ops[i]

    def run(self, before=(), more=()):
        return t.command(list(before) + t.xdd_words(*self.words, *more), timeout=LIMIT_S)


# The operations of a run

def trace(i):
    """Of target `i`, by pass: (number, begin, end) of each operation, in picoseconds."""
    passes = collections.defaultdict(list)
    for row in xddtrace.read_report(t.path("ts.target.%04d.csv" % i)).rows:
        passes[row["Pass"]].append((row["OP Number"], row["StartTS"], row["EndTS"]))
    return passes


class Pass:
    """The operations of all targets in a pass, against what each had to wait for."""

    def __init__(self, mix, ops):
        self.mix, self.ops = mix, ops
        self.ends = [sorted(end for _, _, end in of) for of in ops]

    def done(self, i, at):
        """Operations of target `i` that were complete then."""
        return bisect.bisect_right(self.ends[i], at)

    def is_over(self, i, at):
        """The target has nothing to do any more, as far as the trace can tell: others need not wait for it."""
        return self.done(i, at) == len(self.ops[i])

    def wrong(self):
        for i, of in enumerate(self.ops):
            for n, begin, _ in of:
                why = self.slave(i, n, begin) or self.master(i, n, begin) or self.triggered(i, begin) or self.meeting(n, begin)
                if why:
                    return "target %d, operation %d: %s" % (i, n, why)
            order = self.mix.ordering[i]
            for (n, begin, end), (_, after, _) in zip(of, of[1:]):
                if order == "serial" and after < end or order == "strict" and after < begin:
                    return "target %d, operation %d: begun before its turn, %s" % (i, n + 1, order)
        return None

    def slave(self, i, n, begin):
        """Not before its master has requested it."""
        ls = self.mix.lockstep.get(i)
        if not ls or not ls.stop and self.is_over(ls.master, begin):
            return None
        made = count(ls.when, ls.howlong, self.done(ls.master, begin), self.mix.ops[ls.master]) + ls.run
        return "begun after %d requests" % made if n >= self.mix.tasks(i, made) else None

    def master(self, i, n, begin):
        """Makes no request to a slave that has not done the one before."""
        for slave, ls in self.mix.lockstep.items():
            if ls.master != i or self.is_over(slave, begin):
                continue
            if slave in self.mix.start and not self.has_begun(slave, self.asked_after(i, n)):
                continue
            made = count(ls.when, ls.howlong, n, self.mix.ops[i])
            if count(ls.when, ls.howlong, n + 1, self.mix.ops[i]) == made:
                made -= 1
            if count(ls.what, ls.howmuch, self.done(slave, begin), self.mix.ops[slave]) < made:
                return "begun before slave %d had done %d tasks" % (slave, made)
        return None

    def asked_after(self, i, n):
        """
        When the others were asked about that operation, at the earliest: a QThread may lose the processor between
        that and the operation's beginning, but before both it or another has completed one that made room for it.
        """
        room = n - self.mix.depths[i]
        return self.ends[i][room] if room >= 0 else 0

    def has_begun(self, i, at):
        return self.ops[i] and min(begin for _, begin, _ in self.ops[i]) <= at

    def triggered(self, i, begin):
        g = self.mix.start.get(i)
        if g and count(g.when, g.howmuch, self.done(g.by, begin), self.mix.ops[g.by]) < 1:
            return "begun before its start trigger was pulled"
        return None

    def meeting(self, n, begin):
        every = self.mix.sync
        for i in range(self.mix.n if every else 0):
            if self.done(i, begin) < n // every * every and not self.is_over(i, begin):
                return "begun before target %d had come there" % i
        return None


AUDIT = re.compile(r"^Target (\d+), order breaks (\d+|unknown) of (\d+), (\w+)", re.M)


def audit_wrong(mix, run):
    for i, breaks, _, order in AUDIT.findall(run.out):
        if order != mix.ordering[int(i)] or breaks != "0" and order in ("serial", "strict"):
            return "target %s: %s breaks, %s" % (i, breaks, order)
    return None


def whole_wrong(mix, run):
    """A run that nothing ended early: the first thing that is not as it should be, or None."""
    if run.status != 0:
        return "status %s" % run.status
    rows = [r for r in run.rows() if r["What"] == "TARGET_PASS"]
    wanted = [mix.wanted(i) for i in range(mix.n)]
    if len(rows) != mix.n * mix.passes:
        return "%d rows" % len(rows)
    for r in rows:
        i, ops = int(r["Target"]), int(r["Ops"])
        if ops != wanted[i] and (wanted[i] is not None or ops > mix.ops[i]):
            return "pass %s, target %d: %d operations, not %s" % (r["Pass"], i, ops, wanted[i])
    traces = [trace(i) for i in range(mix.n)]
    for number in range(1, mix.passes + 1):
        of = [sorted(traces[int(i)][number]) for i in range(mix.n)]
        for i, ops in enumerate(of):
            if [n for n, _, _ in ops] != list(range(len(ops))):
                return "pass %d, target %d: the trace has holes" % (number, i)
        why = Pass(mix, of).wrong()
        if why:
            return "pass %d, %s" % (number, why)
    if len(AUDIT.findall(run.out)) != mix.n:
        return "audit"
    return audit_wrong(mix, run)


def engines():
    listed = t.command([t.XDD, "-ioengine", "list"]).out
    there = [e for e in QUEUES if re.search(r"^%s +yes" % e, listed, re.M)]
    return ["psync", "psync", "null", "mmap"] + there


def test_mixes():
    """Ten runs a result: the counts of each pass, and what each operation waited for."""
    for i in range(6):
        t.make_file("mix%d" % i, MOST * SIZE)
    there, each = engines(), 5 if s.sanitized() else 10
    for group in range(100 if LONG else 10):
        for number in range(each):
            seed = "%d.%d" % (group, number)
            mix = Mix(seed, there)
            run = mix.run(more=["-ts", "output", t.path("ts"), "-ts", "detailed"])
            why = whole_wrong(mix, run)
            if why:
                break
        t.ok(why is None, "mixes %d.0 to %d.%d" % (group, group, each - 1), "%s: %s\n%s" % (seed, why, run))


def test_ended():
    """SIGINT, -timelimit, -runtime, and errors, in the middle of a lockstep: results of what was done, and no hang."""
    short = t.make_file("short", 5 * SIZE)
    there, each = engines(), 3 if s.sanitized() else 5
    slow = ["-throttle", "ops", 2000]
    for name, before, more, good in (
            ("SIGINT", ["timeout", "--foreground", "--preserve-status", "-k", "50", "-s", "INT"], slow, (0, 5)),
            ("-timelimit", [], slow + ["-timelimit", "20ms"], (0,)),
            ("-timelimit of one", [], slow + ["-timelimit", "target", 0, "20ms"], (0,)),
            ("-runtime", [], slow + ["-runtime", "20ms"], (0,)),
            ("-maxerrors", [], ["-maxerrors", 2, "-timelimit", 60], (0, 6)), ("-stoponerror", [], ["-stoponerror", "-timelimit", 60], (0, 6))):
        why, longer = "none of them had begun", 1
        for number in range(20 * each if LONG else each):
            mix = Mix("%s %d" % (name, number), there, short if "error" in name else None)
            for _ in range(7 if before else 1):
                run = mix.run(before + (["%.2f" % (longer * (0.2 + 0.05 * number))] if before else []), more)
                early = before and (run.status == 128 + signal.SIGINT and not run.out or
                                    run.status == 5 and "SIGINT: nothing is begun" in run.err)
                if not early:
                    break
                longer *= 2     # A busy machine takes its time to start hundreds of threads.
            if early:
                continue
            why = "status %s" % run.status if run.status not in good else audit_wrong(mix, run)
            if not why and any(int(r["Ops"]) > mix.ops[int(r["Target"])] for r in run.rows() if r["What"] == "TARGET_PASS"):
                why = "more operations than there are"
            if why:
                break
        t.ok(why is None, "%d mixes, ended by %s" % (number + 1, name), "%s\n%s" % (why, run))


t.run_all()
