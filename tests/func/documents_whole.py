#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
All that commands say of runs in virtual time and of their documents: sweeps, curves, xdd compare, xdd
combine, CSV and plots of xdd report. What they should say is in documents_whole.txt; tests/lib/xddwhole.py has how it is
renewed.
"""
import hashlib
import json
import os
import re

import xddjson
import xddkinds
import xddtest as t
import xddwhole

xddwhole.in_virtual_time()

ENVIRONMENT = {"host": {"name": "here"}, "processors": {"model": "P", "online": 2, "configured": 2, "allowed": 2}}
ONE = "-op read -target dev.a -dio -seek random "
TWO = "-percentcpu absolute -targets 2 dev.a dev.b -dio -reqsize 4 -seek random -queuedepth 3 -numreqs 40 -throttle target 1 ops 3000 "
SWEEP = "sweep " + ONE + "-timelimit 20ms -orderseed 3 "
CURVE = "curve " + ONE + "-reqsize 4 -queuedepth 4 -each 10ms -rounds 3 -orderseed 3 -load 20,40,60,80,95 -goal mean=0.5ms "
SLOW, FAST, STILL = "exponential:200000 2", "exponential:150000 2", "200000,300000*3,700000 2"
# Commands in one directory, one after the other: words, and the law of their devices.
COMMANDS = [
    (TWO + "-rwratio 60 -passes 5 -intervals 10ms -latency -runid r -jsonout r1.json", SLOW),
    (TWO + "-rwratio 60 -passes 5 -intervals 10ms -latency -runid r -jsonout r2.json", FAST),
    (TWO + "-passes 5 -op read -runid r -jsonout r3.json", STILL),
    (SWEEP + "-reqsize 4 -rounds 3 -queuedepth 1,2,4 -jsonout s1.json -csvout s1.csv", SLOW),
    (SWEEP + "-reqsize 4 -rounds 3 -queuedepth 1,2,4 -jsonout s2.json", FAST),
    (SWEEP + "-rounds 2 -queuedepth 1,2 -reqsize 4k,16k -jsonout g1.json", SLOW),
    (SWEEP + "-rounds 2 -queuedepth 1,2 -reqsize 4k,16k -jsonout g2.json", FAST),
    (CURVE + "-jsonout c1.json -csvout c1.csv", SLOW),
    (CURVE.replace("-rounds 3 -orderseed 3", "-rounds 2 -orderseed 4") + "-jsonout c2.json", SLOW),
    ("compare r1.json r2.json", ""),
    ("compare r1.json r1.json", ""),
    ("compare r1.json r3.json", ""),
    ("compare -failif bandwidth-5%,p99+10% r1.json r2.json r1.json -- r2.json r1.json r2.json", ""),
    ("compare s1.json s2.json", ""),
    ("compare -failif latency+5% s2.json s1.json", ""),
    ("compare g1.json g2.json", ""),
    ("compare g1.json s1.json", ""),
    ("compare c1.json c2.json", ""),
    ("compare -failif knee-5%,response+10% c2.json c1.json", ""),
    ("combine h1.json h2.json h3.json -jsonout h.json -csvout h.csv", ""),
    ("combine h1.json h2.json -hosts one,two,three,four -force", ""),
    ("combine h1.json r3.json", ""),
    ("compare h.json r1.json", ""),
    ("report -csv r1.json h.json s1.json g1.json c1.json", ""),
    ("report -csv -columns +LATP50+RESPMAX+FLUSHES r1.json", ""),
    ("report -noplots -output n1.html r1.json r2.json", ""),
    ("report -noplots -output n2.html h.json r3.json", ""),
    ("report -noplots -output n3.html g1.json g2.json", ""),
    ("report -noplots -output n4.html c1.json c2.json", ""),
    ("report -plots p1 -output o.html r1.json", ""),
    ("report -plots p2 -output o.html s1.json s2.json", ""),
    ("report -plots p3 -output o.html g1.json", ""),
    ("report -plots p4 -output o.html c1.json", ""),
    # Runs that end otherwise.
    (TWO + "-rwratio 60 -stonewall -deskew -passes 3 -runid r -jsonout w1.json", SLOW),
    (TWO + "-rwratio 60 -stonewall -deskew -passes 3 -runid r -jsonout w2.json", FAST),
    (ONE + "-reqsize 4 -numreqs 50 -passes 8 -runid r -jsonout t1.json", "1000000*200,1500000*200"),
    (ONE + "-reqsize 4 -numreqs 50 -passes 8 -runid r -jsonout t2.json", "1000000*50,1100000*50,1200000*50,1300000*50,1400000*50,1500000*150"),
    (ONE + "-reqsize 4 -runtime 100ms -jsonout o1.json", STILL),
    (ONE.replace("read", "write") + "-reqsize 4 -numreqs 50 -passes 5 -flushwrite 10 -syncwrite -runid r -jsonout f1.json", "exponential:1000000"),
    (ONE + "-reqsize 4 -timelimit 100ms -startoffset 1000 -jsonout x1.json", STILL),
    (SWEEP + "-reqsize 4 -rounds 2 -queuedepth 1,2 -throttle ops 2000,4000 -jsonout s3.json -csvout s3.csv -columns +LATMAX+OPS", SLOW),
    (SWEEP + "-reqsize 4 -rounds 2 -queuedepth 1,2 -throttle ops 2000,5000 -jsonout s4.json", SLOW),
    (SWEEP + "-rounds 2 -queuedepth 1,2 -reqsize 4k,8k -startoffset 0,512 -jsonout s5.json", STILL),
    (CURVE.replace("20,40,60,80,95", "10,20").replace("mean=0.5ms", "p99=0.1ms") + "-jsonout c3.json", SLOW),
    ("combine i1.json i2.json -jsonout i.json -csvout i.csv", ""),
    ("combine k01.json k02.json k03.json k04.json k05.json k06.json k07.json k08.json k09.json k10.json k11.json k12.json k13.json "
     "k14.json k15.json k16.json k17.json k18.json k19.json -jsonout k.json", ""),
    ("combine h1.json e1.json t1.json -force", ""),
    ("combine h1.json i.json", ""),
    ("combine h1.json t1.json", ""),
    ("combine -hosts one,two h1.json h1.json", ""),
    ("combine h.json", ""),
    ("compare r1.json e1.json", ""),
    ("compare t1.json t2.json", ""),
    ("compare t1.json t2.json t1.json -- t2.json o1.json", ""),
    ("compare -failif flush+5%,maximum-5% f1.json f1.json", ""),
    ("compare -failif latncy+5% f1.json f1.json", ""),
    ("compare -failif latency+-5% f1.json f1.json", ""),
    ("compare -failif latency-101% f1.json f1.json", ""),
    ("compare s3.json s4.json", ""),
    ("compare s5.json s5.json", ""),
    ("compare s1.json c1.json", ""),
    ("compare c1.json c3.json", ""),
    ("compare c3.json c2.json", ""),
    ("report -csv i.json k.json e1.json f1.json s3.json s5.json c3.json", ""),
    ("report -noplots -output n1.html e1.json", ""),
    ("report -noplots -output n2.html t1.json t2.json", ""),
    ("report -noplots -output n3.html o1.json x1.json", ""),
    ("report -noplots -output n4.html f1.json k.json", ""),
    ("report -noplots -output n1.html s3.json s4.json", ""),
    ("report -noplots -output n2.html c3.json", ""),
    ("report -plots p5 -output o.html -axis queuedepth g1.json g2.json", ""),
    ("report -plots p6 -output o.html s1.json g1.json s3.json", ""),
    ("report -plots p7 -output o.html s5.json", ""),
    ("report -output o.html t1.json k.json", ""),
    ("report -output o.html c1.json c2.json", ""),
    ("report -output o.html c3.json", ""),
    ("report -output o.html m1.json", ""),
    ("report -output o.html m2.json", ""),
    ("report -output o.html m2.json m3.json", ""),
    ("report -output o.html -axis seek s1.json", ""),
    ("combine h1.json h2.json -csvout h.csv", ""),
    ("combine h1.json h2.json -csvout s1.csv", ""),
    ("combine h1.json h2.json -csvout .", ""),
    ("combine -force f1.json f1.json", ""),
]
# Documents of many runs that are shown themselves.
SHOWN = ["./%s.json" % name for name in ("s1", "s3", "s5", "c1", "c3", "h", "i", "k")]
# Members that are wrong, and what they are. T is the first row of a target's pass, C the row of all.
WRONG = [
    ("format", "xdd"), ("version", 0), ("version", 99), ("run_id", 5), ("results", {}), ("results", []), ("status", -1), ("status", 99),
    ("start_time", "now"), ("plan", []), ("results.T.what", "PASS"), ("results.T.pass", 0), ("results.T.target", -1), ("results.T.target", 7),
    ("results.T.operation", "erase"), ("results.T.ops.read", -1), ("results.T.ops.read", 1.5),
    ("results.T.bytes.read", "x"), ("results.T.elapsed_ns", None), ("results.T.finish_ns", 5), ("results.T.begin_ns", None),
    ("results.T.errors", 2), ("results.T.latency", None), ("results.T.latency.service", []), ("results.T.latency.service.read.count", 3),
    ("results.T.latency.service.read.minimum_ns", 1), ("results.T.latency.service.read.maximum_ns", 1),
    ("results.T.latency.service.read.mean_ns", -1), ("results.T.latency.service.read.mean_ns", 1e30),
    ("results.T.latency.service.read.standard_deviation_ns", -1), ("results.T.latency.service.read.histogram", [1]),
    ("results.T.latency.service.read.histogram", [5, 1, 4, 1]), ("results.T.latency.service.read.histogram.1", 0),
    ("results.T.latency.service.read.histogram.0", 1025), ("results.T.longest.op", -1), ("results.T.longest.operation", "x"),
    ("results.T.request_bytes", None), ("results.C.request_bytes", None), ("results.C.bytes.write", -1), ("results.C.what", "RUN"),
    ("results.T.what", "COMBINED"), ("results.1", 5), ("statistics", 5), ("statistics.0.passes", [1]), ("statistics.0.bandwidth.values", [1, 2]),
    ("statistics.0.bandwidth.values.0", -1), ("deskew", 5), ("messages", 5), ("intervals", 5), ("clock", 5), ("environment", 5),
    ("rank", 3), ("ranks", 0),
]
LATE = {"start_time": "2030-03-17T17:47:41.000Z", "end_time": "2030-03-17T17:47:42.000Z"}  # a minute after the other
NOT_PLACED = {"results.*.begin_ns": None, "results.*.finish_ns": None}
NO_ID = {"run_id": None}
FAILED = {"status": 5, "end": "errors"}
NFS = {"environment.targets": [{"file_system": {"type": "nfs4"}}] * 2, "clock.machine": "other 1"}
# In the first pass, target 1 begins after target 0 has ended.
GAP = {"results.T.finish_ns": 1900000001001000000, "results.U.begin_ns": 1900000001005000000}
# Documents of two hosts that are combined: what is changed in the first one, in the second one, and words.
TOGETHER = [
    ({}, {}, ""), ({}, {"run_id": "q"}, ""), ({}, NO_ID, ""), (NO_ID, {}, ""), ({}, {"run_id": "q"}, "-force"), (NO_ID, NO_ID, ""),
    (dict(NO_ID, **NOT_PLACED), dict(NO_ID, **NOT_PLACED), ""), (dict(NO_ID, **NOT_PLACED), dict(NO_ID, **NOT_PLACED, **LATE), ""),
    (dict(NO_ID, **NOT_PLACED, **LATE), dict(NO_ID, **NOT_PLACED), ""), (NOT_PLACED, {}, ""),
    ({"rank": 0, "ranks": 2}, {"rank": 1, "ranks": 2}, ""), ({"rank": 1, "ranks": 2}, {"rank": 1, "ranks": 2}, ""),
    ({"rank": 1, "ranks": 2}, {"rank": 1, "ranks": 2}, "-force"), ({"rank": 0, "ranks": 2}, {"rank": 1, "ranks": 3}, ""),
    ({"rank": 4, "ranks": 6}, {"rank": 1, "ranks": 6}, ""), ({"rank": 0, "ranks": 40}, {}, ""), ({"rank": 0}, {"ranks": 2}, ""),
    ({}, {"environment.host.name": "one"}, ""), ({"rank": 1, "ranks": 2}, {"rank": 0, "ranks": 2, "environment.host.name": "one"}, ""),
    ({"environment.host.name": None}, {"environment.host.name": ""}, ""), ({"environment.host.name": "x" * 70}, {"environment.host.name": "\u00e9" * 70}, ""),
    ({"environment.host.name": "one.a.org"}, {"environment.host.name": "two"}, "-hosts one,two.b.org"),
    ({"environment.host.name": "one.a.org"}, {"environment.host.name": "on"}, "-hosts one.b.org,o,x2,t2"),
    ({}, {}, "-hosts " + ",".join("n%d" % n for n in range(20))),
    ({"clock.bound_ns": 2000, "clock.bound_at_end_ns": 3000}, {"clock.bound_ns": 4000}, ""), ({"clock.bound_ns": 2000}, {}, ""),
    ({"clock.machine": "m 1", "clock.machine_offset_ns": 5}, {"clock.machine": "m 1", "clock.machine_offset_ns": 1000000005}, ""),
    ({"clock.machine": "m 1", "clock.machine_offset_ns": 1000000006}, {"clock.machine": "m 1", "clock.machine_offset_ns": 5}, ""),
    ({"clock.machine": "m 1"}, {"clock.machine": "m 2"}, ""), (NFS, dict(NFS, **{"clock.machine": "more 2"}), ""),
    (NFS, {"clock.machine": "more 2"}, ""), ({"environment.targets": [{"file_system": {"type": "xfs"}}] * 2}, NFS, ""),
    (NFS, dict(NFS, **{"clock.machine": "o 1", "plan.targets.*.path": "x"}), ""),
    (NFS, dict(NFS, **{"clock.machine": "o 1", "plan.targets.*.options.seek": {"seed": 9}}), ""),
    (NFS, dict(NFS, **{"clock.machine": "o 1", "plan.targets.*.resolved.seek_pattern": "zipf"}), ""),
    (dict(NFS, **{"plan.targets.*.options.blockperrank": [8]}), dict(NFS, **{"clock.machine": "o 1"}), ""),
    (FAILED, {}, ""), ({}, dict(FAILED, partial=True), ""), ({"end": "canceled", "status": 1}, FAILED, ""), ({"partial": True}, {}, ""),
    ({"messages": [{"level": "error", "text": "e%d" % n} for n in range(20)]}, {"messages_left_out": 3}, ""),
    ({"messages": [{"level": "error", "text": "e%d" % n} for n in range(20)]}, {"messages": [{"level": "error", "text": "more"}], "messages_left_out": -1}, ""),
    ({"messages": [{"level": "note", "text": "n"}] * 250}, {"messages": [{"level": "warning", "text": "w"}] * 251}, ""),
    (GAP, {}, ""), (dict(GAP, **{"plan.options.nobarrier": True}), {}, ""), ({"results": []}, {}, ""), ({"results": []}, {"results": []}, ""), ({"xdd": "0.9"}, {"id": "i"}, ""),
    ({"environment.a": {"b_c": 1, "host": 2, "d": [{"x": 1}, {"x": 2}]}}, {"environment.a": {"b_c": 2, "host": 3, "d": [{"x": 1}, {"y": 2}], "e": None, "given": 1}}, ""),
    ({"results.*.operation": "read"}, {"results.*.operation": "write"}, ""), ({"results.*.miscompares": 0}, {"results.*.miscompares": 2}, ""),
    ({"results.*.miscompares": 0}, {}, ""), ({"results.*.partial": True}, {}, ""), ({"results.T.partial": True}, {}, ""), ({"results.T.what": "X"}, {}, ""),
    ({"results.C.begin_ns": None}, {}, ""), ({"results.C.ops.read": (1 << 63) - 1}, {"results.C.ops.read": (1 << 63) - 1}, ""),
    ({"results.*.pass": 1}, {}, ""), ({"results.C.passes": 7}, {"results.C.targets": 3, "results.C.queue_depth": 9}, ""),
]
VERSION = t.xdd("-version").out.split()[2]


def text(words):
    words = words.replace(t.XDD, "xdd").replace(VERSION, "<version>")
    return [line.rstrip() for line in words.splitlines() if line.strip()]


def made():
    """A directory with what the commands work on."""
    os.chdir(t.tmp())
    xddwhole.make_devices(".")


def settle(name):
    """Take what is of this machine out of a document."""
    with open(name, encoding="utf-8") as f:
        document = json.load(f)
    if "environment" in document:
        document["environment"] = ENVIRONMENT
    xddjson.write(name, document)
    return document


def make_hosts():
    """Documents of three hosts, of which one began later and has another plan."""
    for number, (name, late_ns) in enumerate((("one", 0), ("two", 3000000), ("three", 0)), 1):
        xddjson.write("h%d.json" % number, host("r%d.json" % (number if number < 3 else 1), name, late_ns, number))


def host(file, name, late_ns, depth):
    """A document as one of a host with that name, which began so much after r1.json or w1.json."""
    document = settle(file)
    move = settle(file[0] + "1.json")["results"][0]["begin_ns"] + late_ns - document["results"][0]["begin_ns"]
    for row in document["results"] + document["stonewall"]:
        if row.get("begin_ns") is not None:
            row["begin_ns"] += move
        if row.get("finish_ns") is not None:
            row["finish_ns"] += move
    document["environment"] = dict(ENVIRONMENT, host={"name": name})
    document["plan"]["targets"][0]["options"]["queuedepth"] = depth
    return document


def make_others():
    """Hosts with -stonewall; 19 hosts of which 18 have fewer passes; a run that failed and says so."""
    xddjson.write("i1.json", host("w1.json", "one", 0, 3))
    xddjson.write("i2.json", host("w2.json", "two", 1000000, 3))
    for number in range(1, 20):
        document = host("r1.json", "node%02d" % number, number * 100000, 3)
        if number > 1:
            document["results"] = [r for r in document["results"] if r.get("pass") != 5]
        document["messages"] = [{"level": "error" if number % 2 else "warning", "text": "target 0: %d of 9 failed" % number}]
        xddjson.write("k%02d.json" % number, document)
    failed = host("r1.json", "failed", 0, 4)
    failed.update(status=6, partial=True, end="errors", messages_left_out=2, messages=[
        {"level": level, "text": "target %d, dev.a: %s %d bytes at %d of p99.9" % (n % 3, what, 4096 * n, n)}
        for n, (level, what) in enumerate([("error", "cannot read"), ("warning", "slow")] * 6 + [("note", "by the way"), ("error", "")])])
    for row in failed["results"]:
        row.update(errors=3, outstanding=1, miscompares=2, partial=True)
    failed["environment"] = dict(ENVIRONMENT, host={"name": "failed"}, extra={"member%d" % n: n for n in range(30)})
    xddjson.write("e1.json", failed)


def change(at, path, value):
    """Set a member, which the path names; "*": of each element of a list."""
    if path[0] == "*":
        for element in at:
            change(element, path[1:], value)
    elif len(path) > 1:
        change(at[int(path[0]) if isinstance(at, list) else path[0]], path[1:], value)
    else:
        at[int(path[0]) if isinstance(at, list) else path[0]] = value


def changed(document, edits):
    """The document with these members. In a path, T and U are the first rows of a target's pass, C is the row of all."""
    rows = [row["what"] for row in document["results"]]
    first = rows.index("TARGET_PASS")
    letters = {"T": first, "U": rows.index("TARGET_PASS", first + 1), "C": rows.index("COMBINED")}
    for name, value in edits.items():
        change(document, [str(letters.get(part, part)) for part in name.split(".")], value)
    return document


def wrong(name, value):
    """Status and messages for a document with that member."""
    with open("r1.json", encoding="utf-8") as f:
        xddjson.write("wrong.json", changed(json.load(f), {name: value}))
    run = t.command([t.XDD, "combine", "wrong.json", "h2.json"], step=0)
    return ["%s %r: status %s" % (name, value, run.status)] + ["error: " + line for line in text(run.err)]


def whole(document):
    """Lines of a combined document that the text does not have."""
    document["together"].pop("passes", None)
    document["results"] = [{name: value for name, value in row.items() if isinstance(value, (int, str))} for row in document["results"]]
    document["statistics"] = [row.get("passes") for row in document["statistics"]]
    return members({name: value for name, value in document.items() if name not in ("hosts", "messages", "differences", "notes", "format")})


def together():
    """For each pair of documents, the lines of xdd combine that the first case has not."""
    lines, first_case, hosts = [], None, []
    for name in ("h1.json", "h2.json"):
        with open(name, encoding="utf-8") as f:
            hosts.append(f.read())
    for first, second, words in TOGETHER:
        xddjson.write("x1.json", changed(json.loads(hosts[0]), first))
        xddjson.write("x2.json", changed(json.loads(hosts[1]), second))
        run = t.command([t.XDD, "combine", *words.split(), "x1.json", "x2.json", "-jsonout", "x.json"], step=0)
        own = text(run.out) + ["error: " + line for line in text(run.err)]
        if os.path.exists("x.json"):
            with open("x.json", encoding="utf-8") as f:
                own += whole(json.load(f))
            os.remove("x.json")
        lines += ["==== %.300r, %.300r %s" % (first, second, words), "status %s" % run.status]
        lines += [line for line in own if line not in (first_case or ())]
        first_case = first_case or set(own)
    return lines


def files():
    return {os.path.join(d, name): os.stat(os.path.join(d, name)).st_mtime_ns for d, _, names in os.walk(".") for name in names}


def words_of(page, plots_alone):
    """The text of a page, a line for each row of a table; for each plot its texts, and a digest of all of it."""
    plots = re.findall("<svg.*?</svg>", page, re.S)
    rest = "" if plots_alone else re.sub("<svg.*?</svg>", "", page, flags=re.S)  # the rest of a page with plots is as without
    rest = re.sub(r"(<[^>]*>\s*)+", lambda tags: "\n" if re.search("</(p|tr|h.|div|li|summary)>", tags[0]) else " ", rest)
    return text(rest) + ["plot %s: %s" % (hashlib.sha256(plot.encode()).hexdigest()[:8], re.sub(r"(<[^>]*>\s*)+", " ", plot).strip())
                         for plot in plots]


def members(document):
    """A line for each member of a document of many runs, and for each element of a list."""
    left_out = {"environment", "xdd", "command_line", "plan"}
    if len(document.get("hosts", [])) > 3:
        left_out |= {"hosts", "results"}
    found = {name: value for name, value in xddwhole.known(document).items() if name not in left_out}
    return text("\n".join(xddwhole.lines_of_members(found)))


def said(words, law):
    before = files()
    run = t.command([t.XDD, *words.split()], step=0, **({"device": "dev. " + law} if law else {}))
    lines = ["==== " + words, "status %s" % run.status] + text(run.out) + ["error: " + line for line in text(run.err)]
    for name in sorted(name for name, when in files().items() if before.get(name) != when):
        if name.endswith(".json"):
            document = settle(name)
            if name in SHOWN:
                lines += ["---- " + name] + members(document)
        elif name.endswith((".csv", ".svg", ".gp", ".dat", ".html")):
            with open(name, encoding="utf-8") as f:
                all_of_it = re.sub(r"<style>.*?</style>|sha256-[^']*", "", f.read(), flags=re.S)
            lines += ["---- " + name] + (words_of(all_of_it, name.endswith("o.html")) if "<" in all_of_it else text(all_of_it))
    return lines


def test_commands():
    made()
    got = []
    for words, law in COMMANDS:
        if "h1.json" in words and not os.path.exists("h1.json"):
            make_hosts()
        if "i1.json" in words:
            make_others()
        if "m1.json" in words:
            grid = xddkinds.made_sweep([("queuedepth", ["1", "2", "4"]), ("reqsize", ["4k", "16k"])])
            xddjson.write("m1.json", xddkinds.made_curve())
            xddjson.write("m2.json", grid)
            xddjson.write("m3.json", xddkinds.changed_sweep(grid, (2, .5, 2, .5, 1, 1.1)))
        got += said(words, law)
    got += [line for member in WRONG for line in wrong(*member)]
    got += together()
    xddwhole.compare("documents_whole.txt", got, "commands say what they should")


t.run_all()
