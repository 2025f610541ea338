#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd combine: hosts whose times and latencies are known, and runs whose operations are known from time stamps; results that
do not belong together; hosts that are missing; documents that are cut short.
"""
import copy
import csv
import datetime
import errno
import io
import json
import math
import os
import random
import re
import subprocess

import xddjson as j
import xddtest as t
import xddtrace as x

MS = 1000000
BEGIN = 1800000000 * 10**9
OPS, BYTES = 10, 4096


def combine(*args, **kwargs):
    return t.command([t.XDD, "combine"] + list(args), **kwargs)


def document(title, *files, status=0, args=()):
    """The combined document, which is as the schema has it, and the run."""
    out = t.path("combined.json")
    run = combine(*args, *files, "-jsonout", out)
    t.equal(run.status, status, title + ": status", )
    found = j.load(out)
    rules = j.schema()
    t.equal(list(j.complaints(found, rules, rules))[:3], [], title + ": a document as the schema has it")
    # A name of a file is one word, and stays whole.
    t.ok(all(len(line) <= 80 or len(line.split()) == 1 for line in run.out.splitlines() if " on " not in line and "Stonewall" not in line),
         title + ": 80 columns", run)
    return found, run


BASE = j.of_run("base.json", *"-op read -targets 1".split(), t.make_file("data", 1 << 20), *"-numreqs 2 -reqsize 4 -passes 2 -runid r1".split())


def bucket(ns):
    """The least time of the bucket of a histogram."""
    shift = max(0, ns.bit_length() - 8)
    return ns >> shift << shift


def latency(times):
    counts = {}
    for ns in times:
        counts[bucket(ns)] = counts.get(bucket(ns), 0) + 1
    mean = sum(times) / len(times)
    return {"service": {"read": {
        "count": len(times), "minimum_ns": min(times), "mean_ns": mean, "maximum_ns": max(times),
        "standard_deviation_ns": math.sqrt(sum((x - mean) ** 2 for x in times) / len(times)), "percentiles_ns": {"25": None, "99.5": None},
        "histogram": [x for pair in sorted(counts.items()) for x in pair]}}, "response": {}}


def result(row, times, begin, finish):
    row["ops"]["read"] = row["issued"] = len(times)
    row["bytes"]["read"] = len(times) * BYTES
    row["busy_ns"]["read"] = sum(times)
    row["elapsed_ns"] = finish - begin
    row["begin_ns"], row["finish_ns"] = begin, finish
    row["latency"] = latency(times)
    return row


def host(name, passes, times, base=BASE, **members):
    """A document of a host with passes of (begin, finish), and the times of the operations of each."""
    d = copy.deepcopy(base)
    target = next(r for r in d["results"] if r["what"] == "TARGET_PASS")
    whole = next(r for r in d["results"] if r["what"] == "COMBINED")
    rows = [dict(result(copy.deepcopy(target), own, *span), **{"pass": k + 1})
            for k, (span, own) in enumerate(zip(passes, times))]
    result(whole, [x for own in times for x in own], passes[0][0], passes[-1][1])
    whole["elapsed_ns"] = sum(b - a for a, b in passes)
    whole["passes"] = len(passes)
    d["results"] = rows + [whole]
    d["environment"]["host"]["name"] = name
    for key, ns in (("start_time", passes[0][0]), ("end_time", passes[-1][1])):
        d[key] = datetime.datetime.fromtimestamp(ns // MS / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds")[:23] + "Z"
    d.update(members)
    return d


def simple(name, begin=0, length=100, **members):
    """Two passes without a pause."""
    spans = [(BEGIN + (begin + k * length) * MS, BEGIN + (begin + (k + 1) * length) * MS) for k in (0, 1)]
    return host(name, spans, [[1000000] * OPS] * 2, **members)


def whole(found):
    return next(r for r in found["results"] if r["what"] == "COMBINED")


def percentile(pool, percent):
    return sorted(pool)[math.ceil(len(pool) * percent / 100) - 1]


def near(got, wanted, share):
    return abs(got - wanted) <= share * wanted


def clock(bound, end):
    return {"source": "timeserver", "server": "s:2000", "offset_ns": 5, "bound_ns": bound, "bound_at_end_ns": end, "drift_ppm": None,
            "round_trip_ns": 10, "exchanges": 9, "lost": 0, "steps": 0}


def test_analytic():
    """64 hosts: sums, percentiles of all operations, the window of all and skew are what arithmetic says."""
    chance = random.Random(7)
    files, pool = [], []
    for h in range(64):
        # Host h begins h ms late and ends its last pass 2 h ms late; a pause of 500 ms, in which all rest, lies between.
        spans = [(BEGIN + h * MS, BEGIN + (1000 + h) * MS), (BEGIN + (1500 + h) * MS, BEGIN + (2500 + 2 * h) * MS)]
        times = [[int(chance.lognormvariate(12, 1 + h / 64)) for _ in range(OPS)] for _ in spans]
        pool += [x for own in times for x in own]
        files.append(j.write("n%02d.json" % h, host("n%02d" % h, spans, times, clock=clock(1000 + h, 2000 + h))))
    found, run = document("64 hosts", *files)
    all_ = whole(found)
    t.equal((all_["ops"]["read"], all_["bytes"]["read"], all_["targets"], all_["passes"]), (64 * 20, 64 * 20 * BYTES, 64, 2), "sums")
    t.equal((found["partial"], list(all_["latency"]["service"]["read"]["percentiles_ns"])), (False, ["25", "99.5"]),
            "all of it, with the percentiles of the hosts")
    # 0 to 1063 and 1500 to 2626 ms.
    t.equal((all_["elapsed_ns"], all_["begin_ns"], all_["finish_ns"]), ((1063 + 1126) * MS, BEGIN, BEGIN + 2626 * MS),
            "the time in which any host was transferring")
    t.ok(near(all_["bandwidth"], 64 * 20 * BYTES / 2.189, 1e-9), "bandwidth", all_["bandwidth"])
    own = all_["latency"]["service"]["read"]
    t.equal((own["count"], own["minimum_ns"], own["maximum_ns"]), (len(pool), min(pool), max(pool)), "latencies of all")
    t.ok(near(own["mean_ns"], sum(pool) / len(pool), 1e-9), "their mean", own["mean_ns"])
    deviation = math.sqrt(sum(x * x for x in pool) / len(pool) - (sum(pool) / len(pool)) ** 2)
    t.ok(near(own["standard_deviation_ns"], deviation, 1e-6), "and standard deviation", own["standard_deviation_ns"])
    for percent, value in own["percentiles_ns"].items():
        if not j.enough(float(percent), len(pool)):
            t.equal(value, None, "percentile %s is not that of so few operations" % percent)
            continue
        t.ok(near(value, percentile(pool, float(percent)), 0.004), "percentile %s" % percent, (value, percentile(pool, float(percent))))
    together = found["together"]
    t.equal(together["start_skew"], {"skew_ns": 63 * MS, "bound_ns": 1000 + 1063, "first_host": 0, "last_host": 63}, "the start skew, and its bound")
    t.equal(together["end_skew"], {"skew_ns": 126 * MS, "bound_ns": 2000 + 2063, "first_host": 0, "last_host": 63}, "that of the end")
    # 63 to 1000 and 1563 to 2500 ms.
    t.equal(together["window"]["ns"], 2 * 937 * MS, "the time in which all hosts were transferring")
    wanted = sum(20 * BYTES * 1874 / (2000 + h) for h in range(64))
    t.ok(near(together["window"]["bytes"], wanted, 1e-9), "bytes in it by the means of the hosts", together["window"])
    t.equal((together["fastest_host"], together["slowest_host"]), (0, 63), "the fastest and the slowest host")
    t.ok(near(together["fairness"], 2000 / 2063, 1e-9), "and their ratio", together["fairness"])
    t.equal([(p["pass"], p["hosts"], p["finish_ns"] - p["begin_ns"], p["start_skew_ns"], p["end_skew_ns"]) for p in together["passes"]],
            [(1, 64, 1063 * MS, 63 * MS, 63 * MS), (2, 64, 1126 * MS, 63 * MS, 126 * MS)], "each pass")
    values = found["statistics"][0]["bandwidth"]["values"]
    t.ok(all(near(v, 64 * 10 * BYTES / s, 1e-9) for v, s in zip(values, (1.063, 1.126))) and len(values) == 2, "the statistics over passes", values)
    last = max((j.load(file)["end_time"] for file in files))
    t.ok(found["end_time"].startswith(last[:-1]) and last != j.load(files[0])["end_time"], "the end is the one of the last host",
         (found["end_time"], last))
    t.equal([len(found[k]) for k in ("hosts", "notes")], [64, 0], "all hosts, and nothing to note")
    t.ok(re.search(r"^Start +skew 63\.0 ms, true within 2\.06 us; first n00, last n63$", run.out, re.M), "the text has the skew", run)
    t.equal(found["statistics"][0]["latency"]["values"][0],
            sum(sum(r["busy_ns"].values()) for f in files for r in j.load(f)["results"] if r.get("pass") == 1) / 640, "latencies of passes")


EXTREME = ("ns", "operation", "offset_bytes", "direction")


def test_extremes():
    """The longest and the shortest operation of all hosts, with what is known of them; a host without them has no part."""
    hosts = []
    for h, values in enumerate((((5500, 11, 4096, "read"), (500, 12, 8192, "read")), ((9250, 21, 0, "read"), (750, 22, 12288, "read")),
                                ((7500, 31, 16384, "read"), (250, 32, 20480, "read")), (None, None))):
        d = simple("x%d" % h, h)
        whole(d).update(zip(("longest", "shortest"), (x and dict(zip(EXTREME, x)) for x in values)))
        hosts.append(j.write("x%d.json" % h, d))
    for names, wanted in ((hosts, [(9250, 21, 0, "read"), (250, 32, 20480, "read")]),
                          (hosts[::-1], [(9250, 21, 0, "read"), (250, 32, 20480, "read")]),
                          (hosts[:2], [(9250, 21, 0, "read"), (500, 12, 8192, "read")])):
        found, _ = document("extremes", *names)
        t.equal([tuple(whole(found)[which][name] for name in EXTREME) for which in ("longest", "shortest")], wanted,
                "the longest and the shortest of all")


def test_compare():
    """xdd compare reads a combined result beside another one and beside a host's own."""
    four = [j.write("c%d.json" % h, simple("c%d" % h, h)) for h in range(4)]
    document("four hosts", *four)
    other = t.path("other.json")
    os.rename(t.path("combined.json"), other)
    slow, _ = document("four slower ones", *[j.write("s%d.json" % h, simple("c%d" % h, h, length=200)) for h in range(4)])
    for a, b in ((other, t.path("combined.json")), (four[0], other), (other, other)):
        run = t.command([t.XDD, "compare", a, b])
        t.ok(run.status in (0, 1) and re.search(r"^  bandwidth  .* %  ", run.out, re.M), "comparing", run)
    ratio = slow["statistics"][0]["bandwidth"]["mean"] / j.load(other)["statistics"][0]["bandwidth"]["mean"]
    t.ok(near(ratio, 103 / 203, 0.01), "its statistics are those of the slower hosts", ratio)


def test_csv():
    files = [j.write("v%d.json" % h, simple("v%d" % h, h)) for h in range(3)]
    out = t.path("c.csv")
    for _ in range(2):
        t.equal(combine("-csvout", out, *files).status, 0, "a file that is continued")
    rows = t.read_csv(out)
    t.equal([r["WHAT"] for r in rows], (["HOST"] * 3 + ["COMBINED"]) * 2, "a line of each host and of all")
    t.equal([r["TARGETNAME"].split(":")[0] for r in rows[:3]], ["v0", "v1", "v2"], "with their names")
    t.equal((rows[3]["OPS"], rows[3]["TARGET"], rows[3]["ENGINE"]), ("60", "3", "psync"), "the sum")
    plain = t.path("plain.csv")
    t.xdd("-op", "noop", "-targets", "1", "null", "-numreqs", "1", "-csvout", plain)
    with open(plain, encoding="utf-8") as a, open(out, encoding="utf-8") as b:
        t.equal(a.readline(), b.readline(), "the columns of a run")
    with open(plain, "w", encoding="utf-8") as f:
        f.write("A,B\n")
    run = combine("-csvout", plain, *files)
    t.ok(run.status == 2 and "-csvout %s: its first line does not name the columns" % plain in run.err, "a file with other columns", run)


def refused(title, file, why, *files, force=True):
    out = t.path("none.json")
    run = combine(*files, "-jsonout", out)
    t.equal((run.status, run.err), (2, "xdd: combine: %s: %s\n" % (file, why)), title)
    t.ok(not os.path.exists(out), title + ": no output", out)
    if force:
        t.equal(combine("-force", *files).status, 0, title + ": with -force")


def test_belong():
    """Results that are not of one run are refused, unless -force is given."""
    a, b = j.write("a.json", simple("a")), j.write("b.json", simple("b", run_id="r2"))
    all_the_same = "; -force combines them all the same"
    ids = "its run id is %%s, and the run id of %s is r1: they are of different runs" % a + all_the_same
    refused("another run id", b, ids % "r2", a, b)
    refused("no run id", b, ids % "not given", a, j.write("b.json", simple("b", run_id=None)))
    c, d = j.write("c.json", simple("c", run_id=None)), j.write("d.json", simple("d", 1000, run_id=None))
    refused("times apart", d, "begins 0.800 seconds after the end of %s, and they have no run id: they may be of different runs" % c +
            all_the_same, c, d)
    found, _ = document("times that overlap", c, j.write("d.json", simple("d", 199, run_id=None)))
    t.equal(found["together"]["window"]["ns"], MS, "times that overlap for 1 ms, without a run id")
    found, run = document("a run id, and times apart", a, j.write("d.json", simple("d", 1000)))
    t.ok(found["together"]["window"]["ns"] == 0 and "at no time all hosts were transferring" in run.out, "the same run, and no common time", run)
    t.equal(whole(found)["elapsed_ns"], 1200 * MS, "from the end of the first host on, everything counts")
    e = j.write("e.json", simple("a"))
    refused("a document twice", e, "is the same document as %s; -force counts it twice" % a, a, e)
    r0, r1 = j.write("r0.json", simple("a", rank=0, ranks=2)), j.write("r1.json", simple("a", rank=1, ranks=3))
    refused("other ranks", r1, "is of a run of 3 ranks, and %s of one of 2" % r0 + all_the_same, r0, r1, force=False)
    r2 = j.write("r2.json", simple("b", 5, rank=0, ranks=2))
    refused("a rank twice", r2, "is of rank 0, as %s is; give one document of each rank, or -force to count both" % r0, r0, r2, force=False)
    t.equal(combine("-force", t.path("r0.json"), t.path("r2.json")).status, 4, "a rank twice: with -force the other one is missing")
    found, run = document("one host twice", a, j.write("f.json", simple("a", 3)))
    t.equal([h["label"] for h in found["hosts"]], ["a:a", "a:f"], "hosts that occur twice are told apart by their files")
    t.ok("several documents are of the same host: a" in run.out, "and named", run)
    document("an earlier result", a, j.write("g.json", simple("g")))
    os.rename(t.path("combined.json"), t.path("earlier.json"))
    earlier = t.path("earlier.json")
    refused("a combined result", earlier, "is a combined result; give the documents of its hosts", a, earlier, force=False)


def test_missing():
    """Hosts and ranks without a document are named, in the status too."""
    a, b = j.write("a.json", simple("a.example.org")), j.write("b.json", simple("b"))
    found, run = document("missing hosts", a, b, status=4, args=("-hosts", "a,b,c,d.x"))
    t.ok(found["together"]["missing"] == ["c", "d.x"] and found["partial"] and found["end"] == "errors", "missing hosts", found["together"])
    t.ok("missing, and not in the sums: c, d.x" in run.out and "not complete" in run.out, "in the text", run)
    t.equal(combine("-hosts", "a,b", a, b).status, 0, "all are there, one by its short name")
    ranks = [j.write("r%d.json" % r, simple("a", rank=r, ranks=5)) for r in (0, 2, 3)]
    found, run = document("missing ranks", *ranks, status=4)
    t.equal(found["together"]["missing"], ["rank 1", "rank 4"], "missing ranks")
    t.equal([h["label"] for h in found["hosts"]], ["a/0", "a/2", "a/3"], "ranks of one host")
    t.equal(run.out, """3 ranks on 1 host, run r1, started 2027-01-15T08:00:00.000Z, not complete

host  start  elapsed       rate    IOPS      p50  p99      max
a/0   +0 ns   200 ms   410 kB/s  100 /s  1.00 ms    -  1.00 ms
a/2   +0 ns   200 ms   410 kB/s  100 /s  1.00 ms    -  1.00 ms
a/3   +0 ns   200 ms   410 kB/s  100 /s  1.00 ms    -  1.00 ms
all           200 ms  1.23 MB/s  300 /s  1.00 ms    -  1.00 ms

Latency     mean 1.00 ms, p99 -, p99.9 -, p99.99 -, of all operations
Start       skew 0 ns, true within 10.0 us
End         skew 0 ns, true within 10.0 us
Window      200 ms, 100 % of the time, all hosts were transferring: about 1.23
            MB/s, 300 /s by the mean rate of each
Slowest     a/0, with 100 % of the rate of the fastest, a/0

Notes
  missing, and not in the sums: rank 1, rank 4
""", "the whole text")
    for others, words in ((["a"], "2 ranks on 1 host"), (["b"], "2 hosts"), (["a", "b"], "3 ranks on 2 hosts")):
        files = [ranks[0]] + [j.write("other%d.json" % k, simple(name, rank=k, ranks=5)) for k, name in enumerate(others, 1)]
        found, run = document(words, *files, status=4)
        t.ok(words in run.out, words + ": in the text", run)
    found, run = document("one of several", ranks[0], status=4)
    t.equal((len(found["together"]["missing"]), whole(found)["ops"]["read"]), (4, 20), "a single rank of five")


def test_partial():
    """Documents of hosts that were cut short or failed are in the sums, and named."""
    cut = simple("cut", partial=True, end="canceled", status=5)
    cut["results"] = [r for r in cut["results"] if r.get("pass") != 2]
    result(whole(cut), [1000000] * 5, BEGIN, BEGIN + 50 * MS)
    result(cut["results"][0], [1000000] * 5, BEGIN, BEGIN + 50 * MS)
    cut["results"][0]["partial"] = True
    failed = simple("failed", partial=True, end="errors", status=4)
    failed["results"] = []
    failed["messages"] = [{"level": "error", "text": "target 0, /x: cannot be opened\n(\x1b[31mred)"}]
    files = [j.write("a.json", simple("a")), j.write("cut.json", cut), j.write("failed.json", failed)]
    found, run = document("partial ones", *files, status=5)
    t.equal((found["end"], found["partial"], whole(found)["ops"]["read"]), ("canceled", True, 25), "the worst end, and all operations")
    t.equal((found["statistics"][0]["passes"], found["statistics"][0]["left_out"]), ([], 2), "no pass is complete")
    for line in ("cut: status 5", "failed: status 4", "cut short, and in the sums with what was done until then: cut",
                 "did no operation: failed", "failed: target 0, /x: cannot be opened", "cut: 1 passes, others have 2"):
        t.ok(line in run.out, line, run)
    t.ok("\x1b" not in run.out, "texts of documents control no terminal", run)
    found, _ = document("the failed one first", *reversed(files), status=5)
    t.equal(whole(found)["ops"]["read"], 25, "the failed one first")


def test_one():
    """Combined with no other, a document stays as it is."""
    file = t.path("base.json")
    found, run = document("one document", file)
    t.equal({k: v for k, v in found.items() if k != "hosts"}, BASE, "one document")
    t.equal([h["identity"]["engine"] for h in found["hosts"]], ["psync"], "and its host")
    run = combine("-o", "-", file)
    t.equal(j.parse(run.out), found, "on standard output")


def wall(machine, offset):
    return {"source": "wall", "server": None, "offset_ns": 0, "bound_ns": None, "bound_at_end_ns": None, "drift_ppm": None,
            "round_trip_ns": None, "exchanges": 0, "lost": 0, "steps": 0, "machine": machine, "machine_offset_ns": offset}


def test_one_machine():
    """Processes on one machine have one clock, also without a time server."""
    for title, clocks, bound in (("one machine", (("m 1", BEGIN), ("m 1", BEGIN - 300)), 5000 + 5300),
                                 ("two machines", (("m 1", BEGIN), ("m 2", BEGIN)), None),
                                 ("a machine that is not known", (("m 1", BEGIN), (None, BEGIN)), None),
                                 ("a wall clock that was set", (("m 1", BEGIN), ("m 1", BEGIN + 2 * 10**9)), None)):
        files = [j.write("m%d.json" % n, simple("one", begin=n, rank=n, ranks=2, clock=wall(*c))) for n, c in enumerate(clocks)]
        found, run = document(title, *files)
        t.equal(found["together"]["start_skew"], {"skew_ns": MS, "bound_ns": bound, "first_host": 0, "last_host": 1}, title)
        t.equal("how far their clocks" in run.out, bound is None, title + ": doubt")
    names = [t.path("real%d" % n) for n in range(2)]
    runs = [subprocess.Popen(t.xdd_words(*"-op noop -targets 1 null -numreqs 9 -runid r1 -ranks 2 -rank".split(), n, "-jsonout", name + ".json",
                                         "-ts", "dump", name), stdout=subprocess.DEVNULL) for n, name in enumerate(names)]
    t.equal([run.wait(t.TIMEOUT) for run in runs], [0, 0], "two real runs")
    found, run = document("two real runs", *(name + ".json" for name in names))
    true = [min(e["start_ns"] for e in x.Dump(name + ".target.0000.bin").entries) for name in names]
    skew = found["together"]["start_skew"]
    t.ok(skew["bound_ns"] is not None and abs(skew["skew_ns"] - abs(true[0] - true[1])) <= skew["bound_ns"],
         "two real runs: the skew is right within its bound", (skew, true))


def test_shared_offsets():
    """Ranks that read one file at the same random offsets get a note with the remedy, and it is one."""
    file = t.make_file("shared", 1 << 20)
    for words, target, noted in (("-seek random", file, True), ("-seek random once", file, True), ("-seek zipf 1.1", file, True),
                                 ("-seek random seed 7%d", file, False), ("", file, False), ("-seek random", "null", False)):
        names = [t.path("%d.json" % rank) for rank in range(2)]
        for rank, name in enumerate(names):
            t.xdd(*"-op read -reqsize 4 -numreqs 20 -runid shared -ranks 2 -rank".split(), rank, "-target", target, "-jsonout", name,
                  *(words.replace("%d", str(rank)).split()))
        run = t.xdd("combine", "-force", *names)
        t.ok(run.status == 0 and ("several ranks access one file" in run.out and "%r" in run.out) == noted,
             "offsets that ranks share, %s, %s: %s" % (words or "sequential", os.path.basename(target), "noted" if noted else "no note"),
             run)


def wall_of(pass_, target, begin, at, end):
    spans = [{"ns": ms * MS, "bytes": ops * BYTES, "ops": ops} for ms, ops in (at, end)]
    return {"pass": pass_, "target": target, "rank": None, "begin_ns": BEGIN + begin * MS, "at": spans[0], "end": spans[1]}


def test_stonewall():
    """Both figures of passes that all hosts have."""
    a = simple("a", rank=0, ranks=2, stonewall=[wall_of(1, 1, 0, (80, 7), (100, 10)), wall_of(2, None, 100, (90, 8), (100, 10))])
    b = simple("b", 5, rank=1, ranks=2, stonewall=[wall_of(1, 0, 5, (70, 6), (120, 11))])
    found, run = document("stonewall", j.write("sa.json", a), j.write("sb.json", b))
    t.equal(found["stonewall"], [dict(wall_of(1, 0, 0, (80, 13), (125, 21)), rank=1)], "the pass of both; its end is that of the first")
    t.ok("\nStonewall, pass 1, rank 1 target 0, at, 0.080000, seconds, 53248, bytes, " in run.out and
         "\nStonewall, pass 1, rank 1 target 0, end, 0.125000, seconds, " in run.out and "Stonewall, pass 2" not in run.out, "its lines", run)
    found, run = document("no stonewall on one", t.path("sa.json"), j.write("sb.json", simple("b", rank=1, ranks=2)))
    t.ok(found["stonewall"] == [] and "Stonewall" not in run.out, "one without it", run)


def test_old():
    """Documents of versions without global times."""
    files = []
    for h in range(2):
        d = simple("h%d" % h, length=100 + h, run_id=None)
        for r in d["results"]:
            del r["begin_ns"], r["finish_ns"]
        for key in ("clock", "start", "run_id"):
            del d[key]
        files.append(j.write("h%d.json" % h, d))
    found, run = document("without times", *files)
    t.equal((whole(found)["elapsed_ns"], found["together"]["start_skew"], found["together"]["window"]), (202 * MS, None, None), "the longest host, and no skew")
    t.ok("documents without global times" in run.out and "Window" not in run.out, "which is said", run)
    t.equal(found["statistics"][0]["passes"], [1, 2], "passes by their own times")
    files[0] = j.write("h0.json", simple("h0", run_id=None))
    found, _ = document("one of them with times", *files)
    t.equal(found["together"]["begin_ns"], None, "times of one only")


def test_overlap():
    """Hosts that do not wait for each other: the passes share the time of all."""
    a = host("a", [(BEGIN + k * 100 * MS, BEGIN + (k + 1) * 100 * MS) for k in range(3)], [[1000] * OPS] * 3)
    b = host("b", [(BEGIN + k * 200 * MS, BEGIN + (k + 1) * 200 * MS) for k in range(3)], [[1000] * OPS] * 3)
    found, run = document("two paces", j.write("a.json", a), j.write("b.json", b))
    t.equal(whole(found)["elapsed_ns"], 600 * MS, "the time of all is counted once")
    t.ok(all(near(v, 2 * OPS / 0.2, 1e-9) for v in found["statistics"][0]["iops"]["values"]), "passes of a third of it each", found["statistics"][0]["iops"])
    t.ok("a pass takes its share" in " ".join(run.out.split()), "which is said", run)


def test_nobarrier():
    """Targets that do not wait for each other count from their first pass to the last one."""
    d = simple("a")
    d["plan"]["options"]["nobarrier"] = True
    target = copy.deepcopy(d["results"][0])
    d["results"] = [dict(copy.deepcopy(target), target=k, **{"pass": p}, begin_ns=BEGIN + x * MS, finish_ns=BEGIN + y * MS)
                    for k, p, x, y in ((0, 1, 0, 100), (0, 2, 300, 400), (1, 1, 50, 150), (1, 2, 250, 600))] + [whole(d)]
    found, _ = document("no barrier", j.write("a.json", d), j.write("b.json", simple("b", 0, 50)))
    # 0 to 150, 250 to 600; from 100 ms on, when b has ended, everything counts.
    t.equal(whole(found)["elapsed_ns"], 600 * MS, "after the end of a host everything counts")
    found, _ = document("no barrier", j.write("a.json", d), j.write("b.json", simple("b", 0, 260)))
    t.equal((whole(found)["elapsed_ns"], found["together"]["window"]["ns"]), (600 * MS, (150 + 270) * MS), "passes of both")


def test_differences():
    a, b, c = (simple(n) for n in "abc")
    b["environment"]["kernel"]["release"] = c["environment"]["kernel"]["release"] = "9.9"
    c["environment"]["build"]["version"] = "7"
    c["plan"]["targets"][0]["options"]["reqsize"] = 64
    files = [j.write(n + ".json", d) for n, d in zip("abc", (a, b, c))]
    found, run = document("differences", *files)
    wanted = {"kernel release": [(BASE["environment"]["kernel"]["release"], [0]), ("9.9", [1, 2])],
              "build version": [(BASE["environment"]["build"]["version"], [0, 1]), ("7", [2])]}
    t.equal({d["name"]: [(v["value"], v["hosts"]) for v in d["values"]] for d in found["differences"]["environment"]}, wanted, "environments")
    t.equal([(d["name"], [v["value"] for v in d["values"]]) for d in found["differences"]["plan"]], [("targets 0 options reqsize", [4, 64])], "plans")
    t.ok(re.search(r"^  kernel release\n    \S+  on a\n    9\.9  on b, c$", run.out.replace(" on ", "  on "), re.M), "in the text", run)
    a["environment"]["kernel"]["version"], b["environment"]["kernel"]["version"] = "", "#1"
    run = combine(*[j.write(n + ".json", d) for n, d in zip("ab", (a, b))])
    t.ok("\n    (empty) on a\n    #1 on b\n" in run.out, "a text that is empty on one host", run)


def test_bad():
    """Files that are no document of a run are refused with one line, and nothing is written."""
    good = j.write("good.json", simple("good"))
    cut = "the document is cut short, in line "
    cases = [("a directory", t.tmp(), os.strerror(errno.EISDIR)),
             ("no JSON", j.write("x", "{]"), "is no document of -jsonout: no JSON: line 1, column 2: string or '}' expected near ']'"),
             ("half of a word", j.write("w", '{\n"format": tr'), cut + "2"),
             ("a sweep", j.write("s", {"format": "xdd sweep", "version": 1, "status": 0, "axes": [], "points": []}),
              "is of a sweep or a curve; give documents of runs"),
             ("points", j.write("p", {"format": "xdd sweep", "version": 1, "status": 0, "axes": [], "points": [1]}), 'invalid "points"')]
    ascend, pairs = ("results: histogram: expected " + text for text in ("times that ascend", "pairs of a time and a number of operations"))
    for n, (where, change, why) in enumerate((
            ("", {"status": 99}, "status: expected an exit status of xdd"),
            ("", {"results": {}}, "results: expected a list"),
            ("", {"rank": 3, "ranks": 3}, "rank: expected a number below the number of ranks"),
            ("", {"clock": {"bound_ns": "x"}}, "clock: bound_ns: expected a whole number"),
            ("ops", {"read": -1}, "results: read: expected a whole number"),
            ("whole", {"issued": "99999999999999999999"}, "results: issued: expected a smaller number"),
            ("longest", {"direction": "x"}, "results: longest: expected an operation"),
            ("first", {"finish_ns": 1}, "results: finish_ns: expected a time after begin_ns"),
            ("first", {"pass": 0}, "results: pass, target: expected a pass from 1 on and the number of a target"),
            ("read", {"count": 1}, "results: count: expected the number of operations in the histogram"),
            ("read", {"mean_ns": 1e300}, "results: mean_ns and standard_deviation_ns: expected times in the histogram"),
            ("read", {"minimum_ns": 1}, "results: minimum_ns and maximum_ns: expected times in the histogram"),
            ("read", {"maximum_ns": 1 << 40}, "results: minimum_ns and maximum_ns: expected times in the histogram"),
            ("read", {"standard_deviation_ns": -1}, "results: mean_ns and standard_deviation_ns: expected times in the histogram"),
            ("read", {"histogram": 1}, pairs),
            ("read", {"histogram": []}, pairs),
            ("read", {"histogram": [100]}, pairs),
            ("read", {"histogram": [257, 20]}, "results: histogram: expected the least time of a bucket"),
            ("read", {"histogram": [100, 1, 50, 1]}, ascend),
            ("read", {"histogram": [100, 1, 50, 1, 200, 1]}, ascend),
            ("read", {"histogram": [100, 1, 140, 1, 120, 1, 200, 1]}, ascend),
            ("read", {"histogram": [100, 1, 100, 1, 200, 1]}, ascend),
            ("read", {"histogram": [100, 1, 300, 1, 200, 1]}, ascend),
            ("read", {"histogram": [100, 1, "x", 1, 200, 1]}, ascend),
            ("read", {"histogram": [100, 0]}, "results: histogram: expected a number of operations"),
            ("read", {"histogram": [100, 1 << 60]}, "results: histogram: expected a number of operations"),
            ("read", {"histogram": [1 << 62, 1]}, ascend))):
        d = simple("bad")
        {"": d, "whole": whole(d), "ops": whole(d)["ops"], "longest": whole(d)["longest"], "first": d["results"][0],
         "read": whole(d)["latency"]["service"]["read"]}[where].update(change)
        cases.append(("%s %s" % (where, change), j.write("bad%d" % n, d), why))
    for twice, why in ((0, "results: a pass of a target is there twice"), (-1, "results: COMBINED: expected one of them")):
        d = simple("bad")
        d["results"].append(d["results"][twice])
        cases.append(("result %d twice" % twice, j.write("twice%d" % twice, d), why))
    for name, file, why in cases:
        refused(name, file, why, good, file, force=False)
    for args, why in (([], "expected the files"), (["-hosts", "a,,b", good], "expected names"), (["-o"], "missing argument <file>"),
                      (["-o", good, good], "is a document to read"), (["-o", "/none/x", good], "combine -jsonout /none/x: "), (["-forec", good], "did you mean -force")):
        run = combine(*args)
        t.ok(run.status == 2 and why in run.err and len(run.err.splitlines()) == 1, "arguments: " + " ".join(args), run)
    t.ok(combine("-help").status == 0 and "-hosts <host>" in combine("-help").out, "-help")


def test_pooled():
    """Percentiles of the union are those of all operations of the traces."""
    files, pool, names = [], [], []
    for h in range(3):
        d = j.of_run("p%d.json" % h, "-op", "read", "-targets", "1", t.path("data"), "-reqsize", "4", "-numreqs", "200", "-passes", "2", "-seek", "random",
                 "-runid", "p", "-ts", "dump", t.path("p%d" % h))
        d["environment"]["host"]["name"] = "p%d" % h
        files.append(j.write("p%d.json" % h, d))
        names += [t.path(n) for n in sorted(os.listdir(t.tmp())) if n.startswith("p%d.target" % h)]
    rows = list(csv.DictReader(io.StringIO(t.command([t.XDD, "tsread", "-csv", *names]).out)))
    pool = [int(r["IO_NS"]) for r in rows]
    found, _ = document("three runs", *files)
    own = whole(found)["latency"]["service"]["read"]
    t.equal((own["count"], own["maximum_ns"], own["minimum_ns"]), (1200, max(pool), min(pool)), "all operations")
    t.equal(own["percentiles_ns"]["99.9"], None, "no percentile of too few operations")
    for percent in ("50", "90", "99"):
        t.ok(near(own["percentiles_ns"][percent], percentile(pool, float(percent)), 0.01), "percentile " + percent, own["percentiles_ns"])
    first = min(int(r["START_NS"]) for r in rows)
    t.equal([r["bytes"]["read"] for r in found["results"] if r["what"] == "HOST"], [400 * 4096] * 3, "bytes of each host")
    t.ok(first > 0, "time stamps", first)


def test_many():
    """A thousand hosts."""
    text = json.dumps(simple("NAME"))
    files = [j.write("k%d" % h, text.replace("NAME", "k%04d" % h)) for h in range(1000)]
    out = t.path("many.json")
    run = combine(*files, "-o", out)
    t.equal((run.status, whole(j.load(out))["ops"]["read"], len(run.out.splitlines()) > 1000), (0, 20000, True), "a thousand hosts")


if __name__ == "__main__":
    t.run(test_analytic, test_extremes, test_compare, test_csv, test_belong, test_missing, test_partial, test_one, test_one_machine, test_stonewall, test_old,
          test_shared_offsets, test_overlap, test_nobarrier, test_differences, test_bad, test_pooled, test_many)
    t.done()
