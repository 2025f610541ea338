# SPDX-License-Identifier: GPL-2.0-or-later
"""Medians, ratios of pairs, goals, and how they are printed. Used by run."""
import statistics

# The figures that are compared as ratios; the goals say which way is better.
RATE_FIGURES = (("iops", "IOPS"), ("cpu_us_per_op", "CPU"))
PERCENTILE_FIGURES = (("p50_us", "p50"), ("p90_us", "p90"), ("p99_us", "p99"))
INSTRUCTION_FIGURES = (("insns_per_op", "instructions"),)
COPY_FIGURES = (("mb_per_s", "rate"), ("cpu_s_per_gb", "CPU"))
FILES_FIGURES = (("wall_ms", "time"), ("cpu_s_per_gb", "CPU"))
START_FIGURES = (("wall_ms", "time"), ("maxrss_mib", "memory"))
HOST_FIGURES = (("skew_us", "skew"), ("reported_us", "as reported"), ("bound_us", "bound"))
ANSWER_FIGURES = (("answers_per_s", "rate"), ("answers_per_cpu_s", "per CPU second"))
LOOPS = ("loop", "batch loop")


class Spread:
    """Median, least and greatest of some samples."""

    def __init__(self, values):
        self.median = statistics.median(values)
        self.min = min(values)
        self.max = max(values)

    def as_json(self):
        return {"median": self.median, "min": self.min, "max": self.max}


def spread_of(samples, figure):
    return Spread([sample[figure] for sample in samples])


def ratio_of(samples, others, figure):
    """The spread of the ratios of samples taken in the same round; None where one is 0."""
    pairs = [(a[figure], b[figure]) for a, b in zip(samples, others)]
    if not pairs or any(b <= 0 for _, b in pairs):
        return None
    return Spread([a / b for a, b in pairs])


def difference_of(samples, others, figure):
    """The spread of the differences of samples taken in the same round."""
    return Spread([a[figure] - b[figure] for a, b in zip(samples, others)])


def limit_name(samples):
    """The contender that is the limit: the loop with the higher median rate; None without one."""
    loops = [name for name in LOOPS if samples.get(name)]
    if not loops:
        return None
    return max(loops, key=lambda name: statistics.median(sample.get("iops", 0) for sample in samples[name]))


def print_copies(samples):
    print("  %-16s%10s  %-22s%12s" % ("", "MB/s", "least .. most", "CPU s/GB"))
    for name, taken in samples.items():
        rate = spread_of(taken, "mb_per_s")
        print("  %-16s%10s  %-22s%12.3f" % (name, number(rate.median), _between(rate),
                                            spread_of(taken, "cpu_s_per_gb").median))


def judge(goal, samples):
    """One goal: {"goal", "measured" (a Spread or None), "verdict"}."""
    against = limit_name(samples) if goal.against == "limit" else goal.against
    if goal.against is None:
        measured = spread_of(samples["xdd"], goal.figure)
    elif samples.get(against) and goal.more:
        measured = difference_of(samples["xdd"], samples[against], goal.figure)
    elif samples.get(against):
        measured = ratio_of(samples["xdd"], samples[against], goal.figure)
    else:
        measured = None
    if measured is None:
        verdict = "not compared"
    elif goal.relation == ">=":
        verdict = "ok" if measured.median >= goal.value else "below"
    elif goal.relation == "=":
        verdict = "ok" if abs(measured.median - 1) <= goal.value else "off"
    else:
        verdict = "ok" if measured.median <= goal.value else "below"
    return {"goal": goal.text(), "measured": measured, "verdict": verdict}


def number(value):
    """Four digits, with a unit where that is shorter."""
    for limit, unit in ((1e6, " M"), (1e3, " k")):
        if value >= limit:
            return "%.*f%s" % (3 if value < 10 * limit else 2 if value < 100 * limit else 1, value / limit, unit)
    return "%.*f" % (3 if value < 10 else 2 if value < 100 else 1, value)


def _between(spread, form=number):
    return "%s .. %s" % (form(spread.min), form(spread.max))


def _ratio_text(spread):
    return "%.3f (%.3f .. %.3f)" % (spread.median, spread.min, spread.max)


def print_rates(samples, syscalls):
    print("  %-12s%10s  %-22s%10s%13s%13s" % ("", "IOPS", "least .. most", "CPU us/op", "switches/op",
                                              "syscalls/op"))
    for name, taken in samples.items():
        iops = spread_of(taken, "iops")
        calls = "%13.3f" % syscalls[name] if name in syscalls else "%13s" % "-"
        print("  %-12s%10s  %-22s%10.3f%13.4f%s" % (name, number(iops.median), _between(iops),
                                                    spread_of(taken, "cpu_us_per_op").median,
                                                    spread_of(taken, "switches_per_op").median, calls))


def print_percentiles(samples):
    print("  %-12s%10s%30s%30s%30s" % (("", "IOPS") + tuple(label + " us, least .. most" for _, label in PERCENTILE_FIGURES)))
    for name, taken in samples.items():
        spreads = [spread_of(taken, figure) for figure, _ in PERCENTILE_FIGURES]
        print("  %-12s%10s%s" % (name, number(spread_of(taken, "iops").median),
                                 "".join("%30s" % ("%s (%s)" % (number(x.median), _between(x))) for x in spreads)))


def print_instructions(samples):
    for name, taken in samples.items():
        print("  %-12s%10.1f instructions per operation" % (name, spread_of(taken, "insns_per_op").median))


def print_starts(samples):
    print("  %-12s%10s  %-22s%10s%13s" % ("", "ms", "least .. most", "CPU ms", "memory MiB"))
    for name, taken in samples.items():
        wall = spread_of(taken, "wall_ms")
        print("  %-12s%10s  %-22s%10.2f%13.2f" % (name, number(wall.median), _between(wall),
                                                  spread_of(taken, "cpu_ms").median,
                                                  spread_of(taken, "maxrss_mib").median))


def print_answers(samples):
    print("  %-12s%14s%22s" % ("", "answers/s", "answers/CPU second"))
    for name, taken in samples.items():
        print("  %-12s%14s%22s" % (name, number(spread_of(taken, "answers_per_s").median),
                                   number(spread_of(taken, "answers_per_cpu_s").median)))


def print_own(samples, figures):
    for name, taken in samples.items():
        texts = ["%s %s (%s)" % (number(x.median), label, _between(x)) for x, label in
                 ((spread_of(taken, figure), label) for figure, label in figures)]
        print("  %-12s%s" % (name, "   ".join(texts)))


def print_hosts(samples):
    print("  %-12s%14s%14s%14s%14s" % ("", "skew us", "greatest", "reported us", "bound us"))
    for name, taken in samples.items():
        skew = spread_of(taken, "skew_us")
        print("  %-12s%14.1f%14.1f%14.1f%14.1f" % (name, skew.median, skew.max, spread_of(taken, "reported_us").median,
                                                   spread_of(taken, "bound_us").median))


def print_ratios(samples, figures):
    """xdd against each other contender; the medians of the ratios of each round."""
    for name in samples:
        if name == "xdd":
            continue
        texts = []
        for figure, label in figures:
            ratio = ratio_of(samples["xdd"], samples[name], figure)
            texts.append("%s %s" % (label, _ratio_text(ratio) if ratio else "-"))
        print("  %-18s%s" % ("xdd / " + name, "   ".join("%-30s" % text for text in texts).rstrip()))


def print_verdict(verdict, row=""):
    spread = verdict["measured"]
    print("  %-27s%-28s%-34s%s" % (row, verdict["goal"], _ratio_text(spread) if spread else "-", verdict["verdict"]))
