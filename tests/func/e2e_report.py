#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Reports of end-to-end copies: columns, lines after the results, the JSON documents of both sides, time stamps and the
heartbeat.
"""
import os
import re
import time

import xdde2e as e
import xddhold
import xddjson as j
import xddsys as s
import xddtest as t
import xddtrace as trace

MIB = 1 << 20
SIZE = 16 * MIB + 5000
BLOCKS = ["-blocksize", 4096, "-reqsize", 16]
OPS = -(-SIZE // 65536)
COLUMNS = ["E2EIOTIME", "E2ESRTIME", "E2EPERCENTSRTIME", "E2ELAGTIME", "E2EPERCENTLAGTIME", "E2EFIRSTREADTIME", "E2ELASTWRITETIME"]
PAIR = ("source", "destination")


def source_of(name="source", seed=b"a"):
    file = t.path(name)
    if not os.path.exists(file):
        with open(file, "wb") as f:
            f.write((seed + os.urandom(4095)) * (SIZE // 4096) + os.urandom(SIZE % 4096))
    return file


def well(copy, description):
    return t.equal(copy.statuses(), (0, 0), description + ": both sides end with status 0", copy)


def results(run):
    """The words of the result lines by their headings."""
    lines = run.out.splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith("What ")), None)
    if at is None:
        return []
    return [dict(zip(lines[at].split(), line.split())) for line in lines[at + 2:] if re.match(" [A-Z_]+ ", line)]


# Columns


def test_default_line():
    copy = e.Copy(source_of(), t.path("default"), [*BLOCKS, "-verbose"], ports=2).run()
    well(copy, "default line")
    for side in (copy.source, copy.destination):
        lines = results(side.run)
        t.equal([line["What"] for line in lines], ["TARGET_PASS", "TARGET_AVERAGE", "COMBINED"],
                "default line: the result lines of the " + side.name, side.run)
        t.equal([list(line)[-1] for line in lines], ["E2E_Pct_S/R"] * 3,
                "default line: those of the %s end with the share of the network" % side.name, side.run)
        t.ok(all(0 < float(line["E2E_Pct_S/R"]) <= 100 for line in lines),
             "default line: ... which is a percentage, %s" % side.name, side.run)
    run = t.xdd("-op", "read", "-targets", 1, "null", "-numreqs", 10)
    t.ok("E2E_Pct_S/R" not in run.out, "default line: not without end-to-end targets", run)


def columns_of(copy, side):
    return t.read_csv(t.path(side + ".csv"))


def test_columns():
    words = [*BLOCKS, "-verbose", "-qthreadinfo", "-outputformat", "new", "+WHAT+ELAPSEDTIMEPASS+" + "+".join(COLUMNS)]
    outputs = {side: ["-csvout", t.path(side + ".csv"), "-jsonout", t.path(side + ".json")] for side in PAIR}
    copy = e.Copy(source_of(), t.path("columns"), words, ports=4, reads=outputs["source"], writes=outputs["destination"]).run()
    if not well(copy, "columns"):
        return
    rows = {side: columns_of(copy, side) for side in PAIR}
    for side in PAIR:
        of = {row["WHAT"]: row for row in rows[side]}
        t.equal([name for name in COLUMNS for what in ("TARGET_PASS", "TARGET_AVERAGE", "COMBINED") if of[what][name] == ""],
                [], "columns: all are known for the target of the " + side, rows[side])
        again = t.path(side + ".again.csv")
        t.command([t.XDD, "report", "-csv", "-columns", "+" + "+".join(COLUMNS), "-o", again, t.path(side + ".json")])
        t.equal([{name: row[name] for name in COLUMNS} for row in t.read_csv(again)],
                [{name: row[name] for name in COLUMNS} for row in rows[side] if row["WHAT"] != "QUEUE_PASS"],
                "the document of the %s has its columns" % side)
        queues = [row for row in rows[side] if row["WHAT"] == "QUEUE_PASS"]
        unknown = {name for row in queues for name in COLUMNS if row[name] == ""}
        t.equal(unknown, {"E2EFIRSTREADTIME", "E2ELASTWRITETIME"} | ({"E2ELAGTIME", "E2EPERCENTLAGTIME"} if side == "source"
                                                                      else set()),
                "columns: a QThread of the %s does not know what belongs to the copy" % side, queues)
        for name in ("E2EIOTIME", "E2ESRTIME"):
            total = float(of["TARGET_PASS"][name])
            t.ok(abs(sum(float(row[name]) for row in queues) - total) <= 0.006 * 5,
                 "columns: %s of the %s is the sum over its QThreads" % (name, side), rows[side])
        # Both are rounded, and the copy takes some 10 ms: the range that they leave.
        moving, elapsed = float(of["TARGET_PASS"]["E2ESRTIME"]), float(of["TARGET_PASS"]["ELAPSEDTIMEPASS"])
        low, high = (100 * (moving + sign * 0.005) / (4 * (elapsed - sign * 0.0005)) for sign in (-1, 1))
        t.ok(low - 0.01 <= float(of["TARGET_PASS"]["E2EPERCENTSRTIME"]) <= high + 0.01,
             "columns: the share of the %s is that of its QThreads' time" % side, rows[side])
        elapsed_ms = 1000 * float(of["TARGET_PASS"]["ELAPSEDTIMEPASS"])
        # They count from the start of the pass, and the elapsed time from the first operation.
        t.ok(0 <= float(of["TARGET_PASS"]["E2EFIRSTREADTIME"]) <= float(of["TARGET_PASS"]["E2ELASTWRITETIME"]) <
             elapsed_ms + 10000, "columns: the first read of the %s is before the last write" % side, rows[side])
    for name in ("E2ELAGTIME", "E2EFIRSTREADTIME", "E2ELASTWRITETIME"):
        t.equal(*({row["WHAT"]: row[name] for row in rows[side]}["TARGET_PASS"] for side in PAIR),
                "columns: %s is the same on both sides" % name)


# Lines and documents


def lines_of(side):
    return [line for line in side.run.out.splitlines() if line.startswith("End-to-end, ")]


def test_lines():
    copy = e.Copy(source_of(), t.path("lines"), BLOCKS, ports=3).run()
    well(copy, "lines")
    found = [lines_of(side) for side in (copy.source, copy.destination)]
    t.equal([len(lines) for lines in found], [3, 3], "lines: three on each side", copy)
    t.equal(found[0][:2], found[1][:2], "lines: times and contents are the same on both sides", copy)
    t.ok(re.fullmatch(r"End-to-end, target 0, limited by [^:]+(: [^:]+)?: source reads [0-9.]+ %, checks [0-9.]+ %, "
                      r"sends [0-9.]+ %, waits [0-9.]+ % \(processor [0-9.]+ %\); destination waits [0-9.]+ %, receives [0-9.]+ %, checks [0-9.]+ %, "
                      r"writes [0-9.]+ % \(processor [0-9.]+ %\)", found[0][0]), "lines: the shares and the verdict", copy)
    t.ok(re.fullmatch(r"End-to-end, target 0, both sides confirm %d operations, %d bytes, digest [0-9a-f]{32}" % (OPS, SIZE),
                      found[0][1]), "lines: the count and the digest", copy)
    for lines, name in zip(found, PAIR):
        t.ok(re.fullmatch(r"End-to-end, target 0, 3 connections, retransmissions \d+, round trip [0-9.]+ to [0-9.]+ ms, "
                          r"congestion control \w+", lines[2]), "lines: the connections of the " + name, copy)


def documents(copy, title):
    """Both, checked against the schema."""
    return [j.check(t.path("%s.json" % side), "%s, %s" % (title, side)) for side in PAIR]


def with_json(*args, **kwargs):
    reads, writes = (list(kwargs.pop(side, ())) + ["-jsonout", t.path(role + ".json")]
                     for side, role in (("reads", "source"), ("writes", "destination")))
    return e.Copy(*args, reads=reads, writes=writes, **kwargs).run()


def digests(document):
    return [entry["source"]["digest"] for entry in document["endtoend"]]


def test_documents():
    targets = [source_of(), source_of("other", b"b")]
    copy = with_json(targets, [t.path("one"), t.path("two")], [*BLOCKS, "-passes", 2], ports=2)
    well(copy, "documents")
    found = documents(copy, "documents")
    if None in found:
        return
    entries = [document["endtoend"] for document in found]
    t.equal([document["plan"]["targets"][0]["resolved"]["endtoend"] for document in found],
            [{"role": side, "connections": 2, "addresses": [{"host": "127.0.0.1", "port": copy.port, "ports": 2}]} for side in PAIR],
            "documents: the plan of both sides")
    for name, its in zip(PAIR, entries):
        t.equal(sorted((x["pass"], x["target"], x["role"]) for x in its), [(p, k, name) for p in (1, 2) for k in (0, 1)],
                "documents: an object for each pass and target of the " + name)
        t.equal({x["confirmed"] for x in its}, {True}, "documents: the %s confirms all" % name)
        t.equal({(x["qthreads"], len(x["connections"])) for x in its}, {(2, 2)}, "documents: the connections of the " + name)
    for member in ("session", "source", "destination", "bound"):
        t.equal(*([(x["pass"], x["target"], x[member]) for x in sorted(its, key=lambda x: (x["pass"], x["target"]))]
                  for its in entries), "documents: %s is the same in both" % member)
    first = entries[0][0]
    t.equal((first["source"]["ops"], first["source"]["bytes"], first["destination"]["bytes"]), (OPS, SIZE, SIZE),
            "documents: counts of both sides")
    t.equal(first["peer_target"], t.path("one"), "documents: the name of the other side's target")
    t.equal(len(set(digests(found[0]))), 2, "documents: the digest is that of the contents", digests(found[0]))
    t.ok(all(c["sent_bytes"] > SIZE // 4 for c in entries[0][-1]["connections"]), "documents: bytes sent on each connection")
    again = with_json(targets[0], t.path("again"), BLOCKS, ports=5)
    well(again, "another run")
    other = documents(again, "another run")[0]
    t.equal(digests(other), digests(found[0])[:1], "documents: the digest does not depend on the connections")
    t.ok(other["endtoend"][0]["session"] != first["session"], "documents: another run has another session")
    t.equal(j.load(t.path("source.json"))["results"][-1]["network_ns"],
            other["endtoend"][0]["source"]["network_ns"], "documents: results have the same time of the network")
    run = t.xdd("-op", "read", "-targets", 1, "null", "-numreqs", 10, "-jsonout", t.path("local.json"))
    t.equal((run.status, j.check(t.path("local.json"), "a local run")["endtoend"]), (0, []), "a local run has none")


def threads_time(entry, its):
    return its["elapsed_ns"] * entry["qthreads"]


def test_late_source():
    """The elapsed time of a destination begins with the first message: what it has waited before is no part of its times."""
    for engine in ([], ["-ioengine", "libaio"])[:1 if t.ENGINE or "libaio" not in t.engines() else 2]:
        with xddhold.at("operation") as h:
            copy = e.Copy(source_of(), t.path("late"), [*BLOCKS, *engine], ports=2, writes=["-jsonout", t.path("late.json")],
                          prefix_source=["env", "%s=%s" % (xddhold.VARIABLE, h.value)]).start()
            for _ in range(2):
                h.wait(copy.source.process)
            time.sleep(0.5)  # longer than the copy takes
        copy.finish()
        well(copy, "a source that begins late")
        entry = j.load(t.path("late.json"))["endtoend"][0]
        its = entry["destination"]
        t.ok(its["waiting_ns"] <= threads_time(entry, its), "a source that begins late%s: no wait before the first message" %
             "".join(", " + word for word in engine[1:]), its)


def test_times():
    """Threads are in storage, in the network, or wait: no time is more than they have together, and none is lost."""
    engines = [[]] + [["-ioengine", name] for name in ("io_uring", "libaio") if name in t.engines() and not t.ENGINE]
    for engine in engines:
        # A schedule that the source has to wait for.
        copy = with_json(source_of(), t.path("times"), [*BLOCKS, *engine], ports=2, reads=["-throttle", "ops", 5000])
        title = "times%s" % "".join(", " + word for word in engine[1:])
        well(copy, title)
        for document in documents(copy, title):
            entry = document["endtoend"][0]
            for side in PAIR:
                its = entry[side]
                most = threads_time(entry, its)
                times = {name: its[name + "_ns"] for name in ("storage", "network", "waiting", "checking", "pace")}
                t.equal({name: ns for name, ns in times.items() if not 0 <= ns <= most}, {},
                        "%s: of the %s at most its threads' time, %d" % (title, side, most), its)
                t.ok(times["storage"] > 0 and times["network"] > 0,
                     "%s: storage and network of the %s" % (title, side), its)
            t.ok(entry["source"]["pace_ns"] > 0, title + ": the schedule of the source", entry["source"])


def bound(copy, description):
    well(copy, description)
    return {re.sub(r".*, limited by (.*): source reads.*", r"\1", lines_of(side)[0]) for side in (copy.source, copy.destination)}


def test_verdicts():
    if not s.can_trace():
        t.skip("verdicts of slow storage", s.sys_why())
        return

    def slow(call):
        # strace stops the processes at this call only. On a busy machine, stops at other calls would slow the network down.
        return s.strace("/dev/null", call, "-e", "inject=%s:delay_enter=10000" % call)

    t.equal(bound(e.Copy(source_of(), t.path("slow1"), BLOCKS, ports=2, prefix_source=slow("pread64")).run(), "slow reads"),
            {"the storage of the source"}, "slow reads are the limit")
    for order in ("none", "serial"):
        copy = e.Copy(source_of(), t.path("slow2"), BLOCKS, ports=4, writes=["-ordering", "storage", order],
                      prefix_destination=slow("pwrite64")).run()
        t.equal(bound(copy, "slow writes, " + order), {"the storage of the destination"}, "slow writes are the limit, order " + order)


# Time stamps and the heartbeat


def test_time_stamps():
    for side in PAIR:
        for name in ("%s.target.0000.csv", "%s.target.0000.bin"):
            if os.path.exists(t.path(name % side)):
                os.unlink(t.path(name % side))
    copy = e.Copy(source_of(), t.path("stamps"), BLOCKS, ports=2,
                  reads=["-ts", "output", t.path("source"), "-ts", "dump", t.path("source")],
                  writes=["-ts", "output", t.path("destination"), "-ts", "dump", t.path("destination")]).run()
    if not well(copy, "time stamps"):
        return
    for side in PAIR:
        report = trace.read_report(t.path(side + ".target.0000.csv"))
        rows = report.rows
        t.equal(len(rows), OPS, "time stamps: a row for each operation of the " + side)
        t.equal([row for row in rows if row["Net Size"] != row["Bytes"] or row["Net Calls"] != 1], [],
                "time stamps: all bytes of the %s went over the network, in a block each" % side)
        late = [row for row in rows if (row["Net StartTS"] < row["EndTS"] if side == "source" else
                                        row["Net EndTS"] > row["StartTS"])]
        t.equal(late, [], "time stamps: the %s %s" % (side, "sends after it read" if side == "source" else
                                                      "writes after it received"))
        t.equal([row for row in rows if row["Net EndTS"] < row["Net StartTS"]], [], "time stamps: no time is negative, " + side)
        run = trace.tsread(t.path(side + ".target.0000.bin"))
        dumped = trace.Report(run.out).rows
        t.equal([{k: row[k] for k in row if k.startswith("Net ")} for row in dumped],
                [{k: row[k] for k in row if k.startswith("Net ")} for row in rows],
                "time stamps: the dump of the %s has them too" % side)


def test_heartbeat():
    copy = e.Copy(source_of(), t.path("heartbeat"), BLOCKS, ports=1)
    copy.destination.words += ["-heartbeat", "1", "-heartbeat", "ops", "-heartbeat", "lf"]
    copy.destination.start()
    t.ok(copy.destination.await_err(r"^Pass,0001,/OPS \+ WAITING"), "heartbeat: a destination waits for its source", copy.destination.err())
    copy.source.start()
    copy.finish()
    well(copy, "heartbeat")


if __name__ == "__main__":
    t.run(test_default_line, test_columns, test_lines, test_documents, test_late_source, test_times, test_verdicts, test_time_stamps,
          test_heartbeat)
    t.done()
