# SPDX-License-Identifier: GPL-2.0-or-later
"""
What queueing theory has for xdd curve, from outside: a queue M/D/c simulated with exactly the arrivals that the rounds of
a curve had, and the knee by the rule of the user guide.

As arrivals are a function of a round's seed, measurement and theory share them, and a small sample is enough: what
differs is neither chance nor the length of a round, but a fault, of xdd or of the machine.
"""
import math
import random
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
        self.ops, self.service = row["ops"], row["latency"] / 1e9
        # Percentiles of too few operations are not known.
        self.measured = [row[name] / 1e9 if row[name] is not None else None for name in FIGURES]
        due = [gap / rate for gap in xddpoisson.before(limit * rate, row["seek_seed"])]
        theory = responses(due, self.service, servers, limit)
        self.expected_ops, self.theory = len(theory), figures(theory)


def rounds_of(doc, load, servers):
    point = next(p for p in doc["points"] if p["point"] == load["point"])
    limit = float(point["words"][point["words"].index("-timelimit") + 1])
    return [Round(row, load["offered_iops"], servers, limit) for row in point["rounds"]]
