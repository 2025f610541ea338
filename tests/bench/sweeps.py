# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure the cost of a sweep, of its planning, of a page of xdd report and of offsets of -seek, by themselves. Used by run."""
import json
import os

from commands import Broken

POINTS, ROUNDS = 50, 4
ROWS = 100000  # of the intervals of a run on the page
SOURCES = ("random.c",)  # of src/base
TIMEOUT_S = 60


def _run(runner, words):
    out, usage = runner.run(words, TIMEOUT_S)
    return out, {"wall_ms": usage.wall_s * 1e3, "cpu_ms": (usage.user_s + usage.sys_s) * 1e3, "others": usage.others}


def points(runner, binary, _):
    """Time of a run of a sweep on the null device, without that of its planning."""
    words = [binary, "sweep", "-op", "noop", "-target", "null", "-numreqs", "1", "-reqsize", "1..%d" % POINTS, "-rounds", str(ROUNDS),
             "-jsonout", runner.path("points.json")]

    def sample():
        _, plan = _run(runner, words + ["-dryrun"])
        _, all_ = _run(runner, words)
        runs = POINTS * ROUNDS
        return dict(all_, wall_ms=(all_["wall_ms"] - plan["wall_ms"]) / runs, cpu_ms=(all_["cpu_ms"] - plan["cpu_ms"]) / runs)
    return words, sample


def plans(runner, binary, _):
    """A grid of 10^4 points that is checked and printed."""
    words = [binary, "sweep", "-op", "noop", "-target", "null", "-numreqs", "1", "-reqsize", "1..100", "-queuedepth", "1..100",
             "-dryrun"]

    def sample():
        out, taken = _run(runner, words)
        if out.count("\n") != 10000:
            raise Broken("the grid has %d points" % out.count("\n"))
        return taken
    return words, sample


def page(runner, binary, _):
    """A page of a sweep of 100 points and a run with 10^5 rows of intervals: some rows of a short run, again and again."""
    sweep, run, out = (runner.path(name) for name in ("sweep.json", "run.json", "page.html"))
    null = ["-op", "noop", "-target", "null"]
    runner.run([binary, "sweep", *null, "-numreqs", "9", "-reqsize", "1..10", "-queuedepth", "1..10", "-rounds", "3", "-jsonout",
                sweep], TIMEOUT_S)
    runner.run([binary, *null, "-passes", "2", "-timelimit", "0.3", "-intervals", "0.01", "-jsonout", run], TIMEOUT_S)
    with open(run, encoding="utf-8") as file:
        document = json.load(file)
    rows, last = document["intervals"], document["intervals"][-1]["end_ns"]
    document["intervals"] = [dict(rows[i % len(rows)], start_ns=rows[i % len(rows)]["start_ns"] + i // len(rows) * last,
                                  end_ns=rows[i % len(rows)]["end_ns"] + i // len(rows) * last) for i in range(ROWS)]
    with open(run, "w", encoding="utf-8") as file:
        json.dump(document, file)
    words = [binary, "report", "-output", out, sweep, run]

    def sample():
        _, taken = _run(runner, words)
        return dict(taken, page_mb=os.path.getsize(out) / 1e6)
    return words, sample


def offsets(runner, _, source):
    """The numbers of offsets.c, for 10^12 requests."""
    top = os.path.join(source, "..", "..")
    program = runner.compile("offsets", *(os.path.join(top, "src", "base", name) for name in SOURCES),
                             "-I" + os.path.join(top, "include"), "-lm")

    def sample():
        out, usage = runner.run([program], TIMEOUT_S)
        figures = {line[:18].strip(): float(line.split()[-2]) for line in out.splitlines()}
        return {"ns_once": figures["-seek random once"], "ns_zipf": figures["-seek zipf 1.1"], "others": usage.others}
    return [program], sample
