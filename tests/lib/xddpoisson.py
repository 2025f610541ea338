# SPDX-License-Identifier: GPL-2.0-or-later
"""
The arrivals of -throttle poisson, computed from what include/xdd/base/random.h and random.c promise: a pure function of
seed, pass, target and number. A witness of its own, that shares no code with xdd.
"""
import math

GOLDEN = 0x9e3779b97f4a7c15
MASK = (1 << 64) - 1
STREAM = 8
UNIT = 1 << 16  # times are whole numbers of these parts of a mean gap


def mix(x):
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def _uniform(word):
    return ((word >> 11) + 0.5) / (1 << 53)


class _Draws:
    """64 random bits by number."""

    def __init__(self, seed, number_of_pass, target):
        word = number_of_pass << 32 | target << 16 | STREAM
        self.a = mix(mix(seed + GOLDEN & MASK) + word * GOLDEN & MASK)
        self.b = mix(mix(seed + 2 * GOLDEN & MASK) ^ mix(word + GOLDEN & MASK))

    def __getitem__(self, n):
        return mix(mix(n * GOLDEN + self.a & MASK) ^ self.b)


def _gamma(gaps, state):
    """A sum of exponential gaps by Marsaglia and Tsang; `state` goes on like SplitMix64."""
    def uniform():
        nonlocal state
        state = state + GOLDEN & MASK
        return _uniform(mix(state))

    d = gaps - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        r = math.sqrt(-2 * math.log(uniform()))
        x = r * math.cos(2 * math.pi * uniform())
        u = uniform()
        if 1 + c * x > 0:
            v = (1 + c * x) ** 3
            if math.log(u) < x * x / 2 + d - d * v + d * math.log(v):
                return d * v


def arrivals(count, seed, number_of_pass=1, target=0):
    """When operations 0 .. count - 1 are due, in mean gaps."""
    draws = _Draws(seed, number_of_pass, target)
    due = [0] * max(count, 2)
    due[1] = int(_gamma(1, draws[2]) * UNIT + 0.5)
    first = 1
    while first < count:
        # Arrivals first .. 2 * first - 1, of which the sum of all gaps is known, by halves.
        end = due[first] + int(_gamma(first, draws[4 * first]) * UNIT + 0.5)
        nodes = [(first, first, end - due[first])]
        while nodes:
            at, gaps, total = nodes.pop()
            half = gaps // 2
            if not half or at >= count:
                continue
            middle = at + half
            u, angle = _uniform(draws[2 * middle]), 2 * math.pi * _uniform(draws[2 * middle + 1])
            # Ulrich's symmetric beta variate.
            share = (1 + math.sqrt(1 - u ** (2 / (2 * half - 1))) * math.cos(angle)) / 2
            part = min(int(total * share + 0.5), total)
            if middle < count:
                due[middle] = due[at] + part
            nodes += [(at, half, part), (middle, half, total - part)]
        first *= 2
        if first < count:
            due[first] = end
    return [at / UNIT for at in due[:count]]


def before(limit, seed, number_of_pass=1, target=0):
    """Those that are due before `limit`, in mean gaps."""
    count = int(limit + 10 * math.sqrt(limit) + 20)
    return [at for at in arrivals(count, seed, number_of_pass, target) if at < limit]
