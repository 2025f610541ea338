"""
What queueing theory has for xdd curve, from outside: a queue M/D/c simulated with exactly the arrivals that the rounds of
a curve had, the knee by the rule of the user guide, and a watch for moments at which the machine ran nothing.

As arrivals are a function of a round's seed, measurement and theory share them, and a small sample is enough: what
differs is neither chance nor the length of a round, but a fault, of xdd or of the machine.
"""
import datetime
import math
import os
import random
import select
import subprocess
import sys
import time
import xddpoisson

FIGURES = ("response", "response_p50", "response_p99")


# ---- theory ----


def responses(due, service, servers, limit):
    """
    Response times of M/D/c that begins empty, in the unit of `due`. An operation that would begin at `limit` or later
    is not issued, as by -timelimit.
    """
    begins, found = [], []
    for n, at in enumerate(due):
        begin = max(at, begins[n - servers] + service) if n >= servers else at
        if begin >= limit:
            break
        begins.append(begin)
        found.append(begin + service - at)
    return found


def figures(found):
    """Mean, median and 99th percentile, by nearest rank."""
    found = sorted(found)
    return [sum(found) / len(found)] + [found[math.ceil(q * len(found)) - 1] for q in (0.5, 0.99)]


def _least_squares(x, y, size):
    """The polynomial of `size` coefficients that fits best, by the normal equations."""
    rows = [[sum(a ** (i + k) for a in x) for k in range(size)] + [sum(b * a ** i for a, b in zip(x, y))] for i in range(size)]
    for i in range(size):
        rows[i:] = sorted(rows[i:], key=lambda row: -abs(row[i]))  # pylint: disable=cell-var-from-loop
        for k in range(size):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    factors = [rows[i][size] / rows[i][i] for i in range(size)]
    return lambda at: sum(f * at ** i for i, f in enumerate(factors))


def _reciprocal(rounds):
    """Of the mean over the rounds, without most of its bias: the mean of the jackknife pseudo-values."""
    n, total = len(rounds), sum(rounds)
    return n * n / total - (n - 1) ** 2 / n * sum(1 / (total - x) for x in rounds) if n > 1 else 1 / total


def knee(shares, rounds):
    """
    The share where share / response time is greatest, from a list of the rounds of each load: the reciprocal is a
    polynomial of at most the fourth degree through all loads.
    """
    low, high = shares[0], shares[-1]
    fit = _least_squares([(2 * a - low - high) / (high - low) for a in shares], [_reciprocal(r) for r in rounds],
                         max(3, min(5, len(shares) - 1)))
    return max((low + (high - low) * i / 3000 for i in range(3001)), key=lambda at: at * fit((2 * at - low - high) / (high - low)))


def _arrivals(draw, number):
    now, found = 0.0, []
    for _ in range(number):
        found.append(now)
        now += draw.expovariate(1)
    return found


def long_run_knee(servers):
    """The knee of M/D/c, by one long simulation whose arrivals all loads share."""
    gaps = _arrivals(random.Random(1), 400000)
    shares = [0.6 + 0.03 * i for i in range(11)]
    times = [responses([gap / share for gap in gaps], servers, servers, math.inf) for share in shares]
    return knee(shares, [[sum(x) / len(x)] for x in times])


def typical_knee(servers, length, rounds):
    """The mean knee of curves whose rounds have `length` arrivals at the maximum, with other arrivals."""
    draw, shares, knees = random.Random(2), [0.2, 0.4, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95], []
    for _ in range(200):
        means = [[] for _ in shares]
        for _ in range(rounds):
            gaps = _arrivals(draw, int(1.5 * length))
            for i, share in enumerate(shares):
                x = responses([gap / share for gap in gaps if gap < length * share], servers, servers, length)
                means[i].append(sum(x) / len(x))
        knees.append(knee(shares, means))
    return sum(knees) / len(knees)


# ---- a curve that was measured ----


class Round:
    """A round of a load in the document of a curve, with its arrivals. Times in seconds."""

    def __init__(self, row, rate, servers, limit):
        self.ops, self.limit, self.servers = row["ops"], limit, servers
        self.service = row["latency"] / 1e9
        # Percentiles of too few operations are not known.
        self.measured = [row[name] / 1e9 if row[name] is not None else None for name in FIGURES]
        self.gaps = xddpoisson.before(limit * rate * 1.2, row["seek_seed"])
        self.rate = rate
        self.begin = datetime.datetime.fromisoformat(row["start_time"].replace("Z", "+00:00")).timestamp()
        self.end = self.begin + row["elapsed_ns"] / 1e9
        self.theory = self.at(rate)

    def due(self):
        """Operations that are due before the limit."""
        return sum(gap < self.limit * self.rate for gap in self.gaps)

    def at(self, rate):
        """The same round at another rate, up to 1.2 times this one."""
        due = [gap / rate for gap in self.gaps if gap < self.limit * rate]
        return figures(responses(due, self.service, self.servers, self.limit))


def rounds_of(doc, load, servers):
    point = next(p for p in doc["points"] if p["point"] == load["point"])
    limit = float(point["words"][point["words"].index("-timelimit") + 1])
    return [Round(row, load["offered_iops"], servers, limit) for row in point["rounds"]]


# ---- the machine ----

LATE_S = 0.0005  # a tenth of a service time


class Watch:
    """
    Moments at which a processor ran not even a thread of the highest priority: (from, to), wall clock, in `stood`
    after the block. For root.
    """

    def __init__(self):
        self.stood, self.processes = [], []

    def __enter__(self):
        for cpu in sorted(os.sched_getaffinity(0)):
            self.processes.append(subprocess.Popen([sys.executable, __file__, str(cpu)], stdin=subprocess.PIPE,
                                                   stdout=subprocess.PIPE, text=True))
        return self

    def __exit__(self, *_):
        for p in self.processes:
            out = p.communicate(timeout=60)[0]
            self.stood += [tuple(float(word) for word in line.split()) for line in out.splitlines()]
        self.stood.sort()

    def quiet(self, begin, end):
        """True if it ran all of this time."""
        return all(b < begin or a > end for a, b in self.stood)


def _watch(cpu):
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(90))
    seen, last = [], time.time()
    while not select.select([0], [], [], 0.001)[0]:
        now = time.time()
        if now - last > 0.001 + LATE_S:
            seen.append((last, now))
        last = now
    for gap in seen:
        print("%.6f %.6f" % gap)


if __name__ == "__main__":
    _watch(int(sys.argv[1]))
