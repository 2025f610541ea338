#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Broken programs, each with one fault that the tests named with it must find. A text of one source file is replaced by
another; it occurs there once.

"make broken" builds and tests them, by mutate.py. Run as a test, this file says whether they can still be made.
"""
import collections
import os

TOP = os.environ.get("TOP_SRCDIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

Broken = collections.namedtuple("Broken", "fault path old new tests")

# A run knows nothing of those before it: every eighth run is one of eight process numbers, which are mixed.
PROCESS = "getpid() * 2654435761u >> 16"

BROKEN = {
    # Warnings printed falsely.
    "says-busy": Broken(
        "each run with -dio warns that other programs had the processors", "src/run/results/crosscheck.c",
        "\tif (sums->bound == RESULT_BOUND_GENERATOR)\n\t\treport_finding",
        "\treport_finding(run->report, finding_of_target(t), SAYS(STARVED), 100 * f->waited);\n"
        "\tif (sums->bound == RESULT_BOUND_GENERATOR)\n\t\treport_finding",
        ["engines"]),
    "says-others": Broken(
        "each run warns that something else used the device", "src/run/results/crosscheck.c",
        "\tcheck_small(run, &c->small);\n",
        "\tcheck_small(run, &c->small);\n"
        "\treport_finding(run->report, finding_of_run(NULL, true), SAYS(OTHERS), \"sda\", \"2 MB\", \"run\", \"1 MB\");\n",
        ["result_lines"]),
    "says-rate": Broken(
        "each run with -throttle ops warns that the rate was not reached", "src/run/coord/pace.c",
        "\tif (100 * share < rule_table[RULE_RATE].limit && times->took_ns - times->due_ns > MISSED_NS)",
        "\tif (ops)", ["throttle"]),
    "says-bandwidth": Broken(
        "each run with -throttle bw warns that the rate was not reached", "src/run/coord/pace.c",
        "\tif (100 * share < rule_table[RULE_RATE].limit && times->took_ns - times->due_ns > MISSED_NS)",
        "\tif (!ops)", ["throttle"]),
    "says-late": Broken(
        "each run with a time to start at warns that it starts late", "src/run/results/global_clock.c",
        "\tif (at && release_ns > at + LATE_NS)\n", "\tif (at)\n", ["coordinate"]),
    "says-page-cache": Broken(
        "each run with -dio warns that the file system uses the page cache", "src/plan/feature_target.c",
        "\tif (t->direct_ignored && t->op != OP_NOOP)\n\t\tplan_warn_dio",
        "\tif (t->direct_io && t->op != OP_NOOP)\n\t\tplan_warn_dio", ["dio_tail", "layout"]),
    "says-dirty": Broken(
        "each run warns that data that was written was still in memory", "src/run/results/crosscheck.c",
        "\tif (matters(tally_bytes(&f->tally), f->elapsed_ns)) {\n",
        "\treport_finding(run->report, finding_of_target(t), SAYS(DIRTY), \"\", 9.0, \"1 MB\", \"the rate is of memory\");\n"
        "\tif (matters(tally_bytes(&f->tally), f->elapsed_ns)) {\n",
        ["result_lines"]),
    "says-gap": Broken(
        "each pass warns that operations were not issued", "src/run/qthread.c",
        "\tif (n)\n\t\treport_finding(t->run->report, finding_of_target(t->plan), SAYS(GAP)",
        "\tif (true)\n\t\treport_finding(t->run->report, finding_of_target(t->plan), SAYS(GAP)", ["result_lines"]),
    "says-passes": Broken(
        "each run with -runtime warns that it had fewer passes", "src/run/results/results_lines.c",
        "\tif (m->passes < plan->passes)\n", "\tif (true)\n", ["limits"]),
    "says-stopped": Broken(
        "each run warns that xdd was stopped", "src/run/results/results_lines.c",
        "\tif (m->stopped.total_ns)\n", "\tif (true)\n", ["result_lines"]),
    "says-cached": Broken(
        "each run that reads a file warns that data came from memory", "src/run/results/crosscheck.c",
        "\tif (cached >= rule_table[RULE_CACHED].limit)\n", "\tif (true)\n", ["result_lines"]),

    # Wrong figures and work.
    "slow-throttle": Broken(
        "-throttle is 30 % slow in every second run", "src/io/access.c",
        "\tdouble ns = intervals * t->throttle.interval_ns;\n",
        "\textern int getpid(void);\n"
        "\tdouble ns = intervals * t->throttle.interval_ns * (" + PROCESS + " & 1 ? 1.3 : 1);\n",
        ["throttle"]),
    "slow-gate": Broken(
        "operations of -throttle are issued 30 % late in every second run", "src/run/coord/gate.c",
        "\tq->throttle.due_ns = throttle_due_ns(q->target->plan, q->throttle.arrivals, n);\n",
        "\textern int getpid(void);\n"
        "\tq->throttle.due_ns = throttle_due_ns(q->target->plan, q->throttle.arrivals, n);\n"
        "\tif (" + PROCESS + " & 1)\n\t\tq->throttle.due_ns = q->throttle.due_ns * 13 / 10;\n",
        ["throttle"]),
    "short-run": Broken(
        "every eighth run has one operation less", "src/plan/feature_work.c",
        "\tt->pass_ops = ops;\n",
        "\textern int getpid(void);\n"
        "\tt->pass_ops = ops - (ops > 1 && ops != PLAN_UNLIMITED && (" + PROCESS + " & 7) == 0);\n",
        ["result_lines"]),
    "high-p99": Broken(
        "p99 is one bucket too high", "src/stat/histogram.c",
        "\t\tif (seen >= rank)\n\t\t\treturn value_of(v, b);\n",
        "\t\tif (seen >= rank)\n\t\t\treturn value_of(v, b + (percent == HISTOGRAM_ALL / 100 * 99));\n",
        ["test_histogram", "latency"]),
    "lost-heartbeat": Broken(
        "the third row of a heartbeat is lost", "src/run/progress/heartbeat.c",
        "\tif (!n || !memstream_open(&m))\n\t\treturn;\n",
        "\tif (!n || when.beat == 2 || !memstream_open(&m))\n\t\treturn;\n", ["heartbeat"]),
    "status-0": Broken(
        "a run that a signal ends has status 0 and not 5", "src/run/run.c",
        "\tcase STOP_SIGNAL:\n\t\treturn XDD_CANCELED;\n", "\tcase STOP_SIGNAL:\n\t\treturn XDD_OK;\n",
        ["coordinate", "attached"]),
}


def text_of(broken):
    with open(os.path.join(TOP, broken.path), encoding="utf-8") as file:
        return file.read()


def tests_of(broken):
    return ["tests/unit/" + name if name.startswith("test_") else "tests/func/%s.py" % name for name in broken.tests]


def problem_of(broken):
    """Why the program cannot be made or tested, or None."""
    count = text_of(broken).count(broken.old)
    if count != 1:
        return "%s has its text %d times, not once" % (broken.path, count)
    missing = [test for test in tests_of(broken)
               if not os.path.exists(os.path.join(TOP, test + (".c" if "/unit/" in test else "")))]
    return "there is no " + missing[0] if missing else None


def main():
    for i, (name, broken) in enumerate(BROKEN.items(), 1):
        problem = problem_of(broken)
        print("%s %d - the broken program %s can be made" % ("not ok" if problem else "ok", i, name))
        if problem:
            print("# " + problem)
    print("1..%d" % len(BROKEN))


if __name__ == "__main__":
    main()
