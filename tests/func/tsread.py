#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd tsread: the rows of a dump are those of the run's own report, CSV and JSON say the same, several dumps come
out in one order, and of a damaged dump what is sound is printed, with what is wrong and where.
"""
import csv
import io
import json
import os
import re
import socket
import stat
import struct
import subprocess

import messages as m
import xddtest as t
import xddtrace as x

DATA = t.make_file("data", 4 << 20)
_dumps = 0


def dump(*args, words="detailed", targets=1):
    """A run with dump and reports; returns the names of its dumps and reports."""
    global _dumps
    _dumps += 1
    name = t.path("d%d" % _dumps)
    run = t.xdd("-op", "read", "-targets", targets, *[DATA] * targets, *args, "-ts", *words.split(), "output", name, "dump", name)
    if run.status:
        t.ok(False, "runs: " + " ".join(str(a) for a in args), run)
    return [name + ".target.%04d.bin" % i for i in range(targets)], [name + ".target.%04d.csv" % i for i in range(targets)]


def read(file):
    with open(file, "rb") as f:
        return f.read()


def write(name, data):
    file = t.path(name)
    with open(file, "wb") as f:
        f.write(data)
    return file


def text_of(file):
    return read(file).decode(errors="replace")


SMALL = "-reqsize 4 -numreqs 200 -passes 2 -queuedepth 8 -seek random range 4000".split()


def test_same_rows():
    for words, options in (("detailed", []), ("summary", ["-summary"]), ("detailed normalize", ["--normalize"]),
                           ("detailed size 50", [])):
        dumps, reports = dump(*SMALL, words=words)
        run = x.tsread(*options, dumps[0])
        t.equal((run.status, run.err), (0, ""), "tsread of -ts %s: status 0" % words, run)
        t.equal(run.out, text_of(reports[0]), "tsread of -ts %s: the whole report of the run, byte for byte" % words)
    run = x.tsread("-d", dumps[0])
    t.equal(("Start of DETAILED" in run.out, "SUMMARY Time" in run.out), (True, False),
            "-d: the detailed report alone", run.err)


def test_document():
    """The dump is what doc/tsdump.md says, read without xdd."""
    dumps, reports = dump(*SMALL)
    try:
        d = x.Dump(dumps[0])
    except ValueError as err:
        return t.ok(False, "the format of the document", err)
    rows = x.read_report(reports[0]).rows
    t.equal([(e["pass"], e["op"], e["offset_bytes"] // 1024, e["start_ns"] * 1000, e["end_ns"] * 1000, e["size_bytes"],
              e["done_bytes"], e["qthread"], e["slot"], e["error"], "rwn"[e["dir"]], e["cpu_start"], e["cpu_end"])
             for e in d.entries],
            [tuple(r[k] for k in ("Pass", "OP Number", "Block Location", "StartTS", "EndTS", "IO Size", "Bytes", "QThread",
                                  "Slot", "Error", "RWV Op", "CPU Start", "CPU End")) for r in rows],
            "the format of the document: the rows of the report")
    one = {k: v[0] for k, v in d.meta.items()}
    t.equal([one[k] for k in ("host", "path", "target", "block_size", "req_bytes", "queue_depth", "partial", "cut", "entries",
                              "entry_bytes")],
            [socket.gethostname(), DATA, "0", "1024", "4096", "8", "0", "0", "400", "64"], "the format of the document: META")
    return t.equal(set(d.types), {1, 2, 3, 4}, "the format of the document: the blocks")


def test_csv():
    dumps, reports = dump(*SMALL)
    run = x.tsread("-csv", dumps[0])
    rows = list(csv.DictReader(io.StringIO(run.out)))
    report = x.read_report(reports[0]).rows
    t.equal((run.status, run.err), (0, ""), "-csv: status 0", run)
    t.equal(run.out.splitlines()[0], "HOST,TARGET,PATH,PASS,OP,TYPE,OFFSET,SIZE,BYTES,ERROR,START_NS,END_NS,IO_NS,QTHREAD,SLOT,"
            "CPU_START,CPU_END", "-csv: the header")
    t.equal(sorted((int(r["PASS"]), int(r["OP"]), int(r["OFFSET"]), int(r["IO_NS"])) for r in rows),
            sorted((r["Pass"], r["OP Number"], r["Block Location"] * 1024, (r["EndTS"] - r["StartTS"]) // 1000) for r in report),
            "-csv: the rows of the report")
    starts = [int(r["START_NS"]) for r in rows]
    t.ok(starts == sorted(starts), "-csv: in the order in which they began")
    odd = t.make_file('a,"b', 65536)
    name = t.path("odd")
    t.xdd("-op", "read", "-targets", 1, odd, "-reqsize", 4, "-numreqs", 2, "-ts", "dump", name)
    rows = list(csv.DictReader(io.StringIO(x.tsread("-c", name + ".target.0000.bin").out)))
    t.equal([r["PATH"] for r in rows], [odd] * 2, "-csv: a name with a comma and a quote")


def processes(doc):
    return {e["pid"]: e["args"]["name"] for e in doc["traceEvents"] if e["name"] == "process_name"}


def test_json():
    dumps, _ = dump(*SMALL, targets=2)
    run = x.tsread("-json", *dumps)
    try:
        doc = json.loads(run.out)
    except ValueError as err:
        return t.ok(False, "-json: parses", err)
    events = [e for e in doc["traceEvents"] if e["ph"] == "X"]
    rows = list(csv.DictReader(io.StringIO(x.tsread("-csv", *dumps).out)))
    origin = int(doc["otherData"]["origin_ns"])
    t.equal([(origin + round(e["ts"] * 1000), round(e["dur"] * 1000), e["args"]["op"], e["args"]["offset"], e["args"]["target"])
             for e in events],
            [(int(r["START_NS"]), int(r["IO_NS"]), int(r["OP"]), int(r["OFFSET"]), int(r["TARGET"])) for r in rows],
            "-json: the events of all operations")
    t.ok(all(e["ts"] >= 0 and e["name"] == "read" and e["cat"] == "storage" for e in events), "-json: what they are called")
    t.equal(processes(doc), {1: socket.gethostname()}, "-json: a process for the host")
    t.equal({e["args"]["name"] for e in doc["traceEvents"] if e["name"] == "thread_name"},
            {"target %s QThread %s slot %s, %s" % (r["TARGET"], r["QTHREAD"], r["SLOT"], DATA) for r in rows},
            "-json: a thread for each QThread of each target")
    lanes = {}
    for e in events:
        lanes.setdefault(e["tid"], []).append((round(e["ts"] * 1000), round(e["dur"] * 1000), e["pid"]))
    t.ok(all(a[0] + a[1] <= b[0] and a[2] == b[2] for lane in lanes.values() for a, b in zip(lane, lane[1:])),
         "-json: the events of a thread do not overlap")
    odd = os.path.join(os.fsencode(t.tmp()), b'q"\\\x01\xff\xc3\xa4')
    with open(odd, "wb") as f:
        f.write(bytes(65536))
    name = t.path("oddj")
    t.command([t.XDD, "-op", "read", "-targets", "1", odd, "-reqsize", "4", "-numreqs", "2", "-ts", "dump", name])
    doc = json.loads(x.tsread("-j", name + ".target.0000.bin").out)
    return t.ok(doc["traceEvents"][1]["args"]["name"].endswith('q"\\\x01\ufffd\u00e4'), "-json: a name that is no UTF-8",
                doc["traceEvents"][1])


def rebuilt(data, **changes):
    """A dump with other values in META, all else as it was."""
    out, at = [data[:32]], 32
    while at < len(data):
        header, size = bytearray(data[at:at + 32]), struct.unpack_from("<Q", data, at + 16)[0]
        payload = data[at + 32:at + 32 + size]
        if struct.unpack_from("<I", header, 4)[0] == 1:
            text = payload.rstrip(b"\0").decode()
            for name, value in changes.items():
                text = re.sub("^%s=.*$" % name, "%s=%s" % (name, value), text, flags=re.M)
            payload = text.encode() + b"\0" * (-len(text.encode()) % 8)
            struct.pack_into("<QI", header, 16, len(payload), x.crc32c(payload))
            struct.pack_into("<I", header, 28, x.crc32c(bytes(header[:28])))
        out.append(bytes(header) + payload)
        at += 32 + size
    return b"".join(out)


def test_merge():
    dumps, _ = dump("-reqsize", 4, "-numreqs", 20)
    data = read(dumps[0])
    entries = x.Dump(dumps[0])
    wall, first = int(entries.meta["wall_ns"][0]), entries.entries[0]["start_ns"]
    # Another host, whose clock since its start is the same, whose wall clock is wrong by an hour, and whose offset to
    # the global clock says so and that its first operation came 1 us after ours.
    later = write("later.bin", rebuilt(data, host="other", target=1, wall_ns=wall + 3600 * 10**9, global_ns=1000 - 3600 * 10**9))
    run = x.tsread("-csv", later, dumps[0])
    rows = list(csv.DictReader(io.StringIO(run.out)))
    mine = [int(r["START_NS"]) for r in rows if r["HOST"] != "other"]
    theirs = [int(r["START_NS"]) for r in rows if r["HOST"] == "other"]
    t.ok(run.status == 0 and mine[0] == first + wall and [b - a for a, b in zip(mine, theirs)] == [1000] * 20,
         "two hosts: by the global clock", run)
    starts = [int(r["START_NS"]) for r in rows]
    t.equal((starts, len(starts)), (sorted(starts), 40), "two hosts: in one order")
    report = x.Report(x.tsread(dumps[0], later).out)
    t.equal([r["StartTS"] for r in report.rows], [n * 1000 for n in starts], "two hosts: the detailed report is in the same order")
    t.equal(sorted({(r["Target"], r["Host"]) for r in report.rows}), sorted([(0, socket.gethostname()), (1, "other")]),
            "two hosts: each row says where it is from")
    t.equal(report.text.count("Start of SUMMARY"), 2, "two hosts: a summary for each")
    # Clocks as far apart as 64 bits go.
    apart = [write("apart%d.bin" % k, rebuilt(data, wall_ns=ns)) for k, ns in enumerate((9 - (1 << 63), (1 << 63) - 10**12 - first))]
    run = x.tsread("-json", *apart)
    times = [e["ts"] for e in json.loads(run.out)["traceEvents"] if e["ph"] == "X"]
    t.ok(run.status == 0 and len(times) == 40 and min(times) == 0 and max(times) > 1.8e16, "clocks that are far apart: -json", run)
    report = x.Report(x.tsread("-d", *apart).out)
    t.ok(min(r["Relative ms"] for r in report.rows) == 0 and max(r["Relative ms"] for r in report.rows) > 1.8e13,
         "clocks that are far apart: the detailed report", report.rows[-1])
    # A version that knows more.
    more = write("more.bin", rebuilt(data, entries="20\ncolour=blue\nfield=mood 61 1"))
    run = x.tsread("-csv", more)
    t.equal((run.status, run.err, len(run.out.splitlines())), (0, "", 21),
            "fields and lines of a later version are skipped", run)


def test_json_hosts():
    """One document of three hosts, of which one has two targets: the tracks are by host, and the times of one clock."""
    dumps, _ = dump("-reqsize", 4, "-numreqs", 8, "-queuedepth", 2, targets=2)
    data = [read(d) for d in dumps]
    wall = int(x.Dump(dumps[0]).meta["wall_ns"][0])
    files = [write("h%d.bin" % i, rebuilt(data[which], host=host, wall_ns=wall + off, global_ns=late - off))
             for i, (host, which, off, late) in enumerate((("beta", 1, 10**9, 0), ("alpha", 0, -10**9, 10**6),
                                                           ("beta", 0, 10**9, 0), ("", 0, 0, 3 * 10**6)))]
    run = x.tsread("-json", *files)
    doc = json.loads(run.out)
    t.equal((run.status, processes(doc)), (0, {1: "unknown host", 2: "alpha", 3: "beta"}), "-json of hosts: a process for each", run)
    threads = {e["tid"]: (e["pid"], e["args"]["name"].split(",")[0]) for e in doc["traceEvents"] if e["name"] == "thread_name"}
    used = [sorted({e["qthread"] for e in x.Dump(d).entries}) for d in dumps]
    t.equal(sorted(threads.values()), sorted((pid, "target %d QThread %d slot 0" % (target, q))
                                             for pid, target in ((1, 0), (2, 0), (3, 0), (3, 1)) for q in used[target]),
            "-json of hosts: a thread for each QThread of each target")
    events = [e for e in doc["traceEvents"] if e["ph"] == "X"]
    t.ok(len(events) == 32 and all(threads[e["tid"]][0] == e["pid"] and
                                   threads[e["tid"]][1].startswith("target %d " % e["args"]["target"]) for e in events),
         "-json of hosts: each event in its thread", run)
    first = {pid: min(round(e["ts"] * 1000) for e in events if e["pid"] == pid and not e["args"]["target"]) for pid in (1, 2, 3)}
    t.equal((first[1] - first[3], first[2] - first[3]), (3 * 10**6, 10**6), "-json of hosts: by the global clock")


def test_bounds():
    """Global times of a run with a time server have a bound."""
    dumps, _ = dump("-reqsize", 4, "-numreqs", 8)
    data = read(dumps[0])
    files = [write("bound%d.bin" % i, rebuilt(data, host=host, cut="0" + ("\nglobal_bound_ns=%d" % bound if bound else "")))
             for i, (host, bound) in enumerate((("alpha", 12345), ("beta", 777), ("beta", 5000), ("gamma", 0)))]
    line = "Global times are right within, %.6f, milliseconds"
    run = x.tsread("-s", files[0])
    t.ok(run.status == 0 and run.out.count(line % 0.012345) == 1, "a bound is in the report", run)
    run = x.tsread("-s", dumps[0])
    t.ok(run.status == 0 and "right within" not in run.out, "without a time server there is none", run)
    run = x.tsread("-d", *files)
    t.ok(run.status == 0 and [run.out.count(line % ms) for ms in (0.012345, 0.000777, 0.005)] == [1, 1, 1],
         "a bound for each of several dumps", run)
    for title, names, greatest in (("all", files[:3], "12345"), ("not all", files, None)):
        run = x.tsread("-json", *names)
        doc = json.loads(run.out)
        t.equal(doc["otherData"].get("global_bound_ns"), greatest, "-json: the greatest bound, where %s have one" % title)
        t.equal({processes(doc)[e["pid"]]: e["args"]["labels"] for e in doc["traceEvents"] if e["name"] == "process_labels"},
                {"alpha": "global times within 12.345 us", "beta": "global times within 5.000 us"},
                "-json: the bound of each host, where %s have one" % title)


# Damage


def sound_rows(run):
    return [line for line in run.out.splitlines()[1:] if line]


def test_cut():
    dumps, _ = dump("-reqsize", 1, "-numreqs", 3000)
    data = read(dumps[0])
    whole = sound_rows(x.tsread("-csv", dumps[0]))
    for size in (0, 1, 31, 32, 40, 700, 3000, 20000, len(data) // 2, len(data) - 1000, len(data) - 48, len(data) - 1):
        run = x.tsread("-csv", write("cut.bin", data[:size]))
        rows = sound_rows(run)
        t.ok(run.status == 7 and run.error_lines() and all(line.startswith("xdd: %s: " % t.path("cut.bin")) for line in
                                                          run.error_lines()) and set(rows) <= set(whole),
             "cut after %d of %d bytes: said, status 7" % (size, len(data)), "%d rows\n%s" % (len(rows), run.err))
        if size == len(data) // 2:
            t.ok(len(rows) in (1024, 2048) and re.search(r"block \d+ at byte \d+: cut short: \d+ of its 65536 bytes are there",
                                                         run.err) and
                 "%d of 3000 entries are lost" % (3000 - len(rows)) in run.err, "cut in the middle: what is sound is there", run.err)
    t.equal(len(rows), 3000, "cut by one byte: all entries are sound")


def test_flipped():
    dumps, _ = dump("-reqsize", 1, "-numreqs", 3000)
    data = read(dumps[0])
    whole = sound_rows(x.tsread("-csv", dumps[0]))
    block = data.find(b"xBLK\3\0\0\0")
    for title, at, lost in (("the magic", 1, 0), ("the version", 9, 0), ("the first block's header", 36, 0),
                            ("the first description", 100, 0), ("the information", data.find(b"DISCLAIMER"), 0),
                            ("an entry", block + 5000, 1024), ("a header of entries", block + 13, 1024),
                            ("the last block", len(data) - 3, 0)):
        changed = bytearray(data)
        changed[at] ^= 4
        run = x.tsread("-csv", write("flip.bin", bytes(changed)))
        rows = sound_rows(run)
        t.ok(run.status == 7 and re.search("byte", run.err) and len(rows) == 3000 - lost and set(rows) <= set(whole),
             "a flipped bit in %s: said, and %d entries are sound" % (title, 3000 - lost), "%d rows\n%s" % (len(rows), run.err))
    second = data.rfind(b"xBLK\1\0\0\0")
    changed = bytearray(data)
    changed[100] ^= 1
    changed[second + 100] ^= 1
    run = x.tsread("-csv", write("flip.bin", bytes(changed)))
    t.equal((run.status, run.out, "neither of the two blocks" in run.err), (7, "", True),
            "both descriptions gone: nothing is made up", run)


def test_not_a_dump():
    text = write("text", b"no dump at all\n" * 100)
    for name, status, want in ((text, 7, "no dump of time stamps"), (write("empty", b""), 7, "no dump of time stamps, or cut short"),
                               (t.path("missing"), 6, "No such file or directory"), (t.tmp(), 6, m.IS_DIRECTORY)):
        run = x.tsread(name)
        t.equal((run.status, len(run.error_lines()), want in run.err, run.out), (status, 1, True, ""), want, run)
    dumps, _ = dump("-reqsize", 4, "-numreqs", 5)
    run = x.tsread("-csv", text, dumps[0])
    t.ok(run.status == 7 and len(sound_rows(run)) == 5, "one of two is none: the other is printed", run)
    with open(dumps[0], "rb") as f:
        p = subprocess.run([t.XDD, "tsread", "-csv", "/dev/stdin"], stdin=f, capture_output=True,
                           timeout=t.TIMEOUT)
    t.equal((p.returncode, len(p.stdout.splitlines())), (0, 6), "from standard input")
    p = subprocess.run("cat '%s' | '%s' tsread -csv /dev/stdin" % (dumps[0], t.XDD), shell=True, capture_output=True,
                       timeout=t.TIMEOUT)
    t.equal((p.returncode, len(p.stdout.splitlines())), (0, 6), "from a pipe")


# Dumps of older programs


def old_dump(entries, used=None, spare=1):
    head = bytearray(8416)
    struct.pack_into("<I64siii", head, 0, 0xdeadbeef, b"Linux.7.0.0.rc9", 4711, 4096, 1024)
    struct.pack_into("<q", head, 80, len(entries) if used is None else used)
    struct.pack_into("<8192s32s", head, 152, b"an id", b"Thu Jan 28 03:22:28 2010\n")
    rows = []
    for e in entries:
        row = bytearray(112)
        struct.pack_into("<BxhiihhhhiiiqqQQQQQQQQ", row, 0, e["op"], e.get("pass", 1), e.get("worker", 0), 900 + e.get("worker", 0),
                         e.get("cpu", 2), 3, 4, 5, e.get("bytes", 4096), e.get("net_bytes", 0), e.get("calls", 0), e["n"], e["n"] * 4096,
                         e["start"], 0, e["end"], 0, e.get("net_start", 0), 0, e.get("net_end", 0), 0)
        rows.append(bytes(row))
    return bytes(head) + b"".join(rows) + bytes(112 * spare)


T0 = 1264667008 * 10**9


def test_old():
    entries = [{"op": 1, "n": n, "worker": n % 3, "start": T0 + n * 1000, "end": T0 + n * 1000 + 700} for n in range(30)]
    file = write("old.target.0003.bin", old_dump(entries))
    run = x.tsread(file)
    report = x.Report(run.out)
    t.equal((run.status, run.err, "an id" in run.out, "Linux.7.0.0.rc9" in run.out), (0, "", True, True),
            "an old dump: read", run)
    t.equal([(r["Target"], r["RWV Op"], r["OP Number"], r["Block Location"], r["StartTS"], r["EndTS"], r["QThread"],
              r["Thread ID"], r["IO Size"], r["CPU Start"]) for r in report.rows],
            [(3, "r", n, n * 4, (T0 + n * 1000) * 1000, (T0 + n * 1000 + 700) * 1000, n % 3, 900 + n % 3, 4096, 2)
             for n in range(30)], "an old dump: its rows")
    t.equal((report.rows[3]["IO Time ms"], report.rows[3]["Delta us"], "Net Size" in report.columns), (0.0007, 2.3, False),
            "an old dump: times, and no network columns")
    net = [dict(e, op=ord("w"), net_bytes=4096, calls=2, net_start=e["start"] - 500, net_end=e["start"] - 100) for e in entries]
    file = write("net.target.0000.bin", old_dump(net + [{"op": ord("e"), "n": 30, "start": 0, "end": 0}]))
    report = x.Report(x.tsread(file).out)
    t.equal([(r["RWV Op"], r["Net Size"], r["Net Calls"], r["Net CPU Start"], r["Net StartTS"], r["Net Time ms"], r["Net MB/sec"])
             for r in report.rows][:1], [("w", 4096, 2, 4, (T0 - 500) * 1000, 0.0004, 10240.0)], "an old dump: network columns")
    t.equal(len(report.rows), 30, "an old dump: the mark of the end is no row")
    doc = json.loads(x.tsread("-json", file).out)
    t.equal(len([e for e in doc["traceEvents"] if e.get("cat") == "network" and e["ts"] >= 0]), 30, "an old dump: network events")
    run = x.tsread("-csv", file)
    t.ok("NET_BYTES" in run.out.splitlines()[0] and {len(r) for r in csv.reader(io.StringIO(run.out))} == {23}, "an old dump: CSV", run)
    whole = old_dump(entries)
    for data, want, rows in ((whole[:8416 + 112 * 10 + 50], "10 of 30 entries are there, up to byte 9586", 10),
                             (whole[:5000], "cut short: 5000 of the 8416 bytes", None),
                             (old_dump(entries, used=1 << 40), "31 of 1099511627776 entries are there", 30),
                             (old_dump([dict(entries[0], op=88)] + entries[1:]), "entry 0 at byte 8416 makes no sense", 29),
                             (old_dump([dict(entries[0], end=1 << 63 | T0)] + entries[1:]), "entry 0 at byte 8416 makes no sense", 29),
                             (old_dump(entries[:1] + [dict(entries[1], end=entries[1]["end"] | 1 << 63)] + entries[2:]),
                              "entry 1 at byte 8528 makes no sense", 29)):
        run = x.tsread("-csv", write("bad.target.0000.bin", data))
        t.ok(run.status == 7 and want in run.err and len(run.error_lines()) == 1 and
             (len(sound_rows(run)) == rows if rows else not run.out), "a damaged old dump: " + want, run)
    # More threads than a reader looks through for one that it knows, in no order, again and again.
    entries = [{"op": 1, "n": n, "worker": n * 7919 % 1000, "start": T0 + n * 1000, "end": T0 + n * 1000 + 700} for n in range(3000)]
    run = x.tsread(write("many.target.0000.bin", old_dump(entries)))
    t.equal([(r["QThread"], r["Thread ID"]) for r in x.Report(run.out).rows], [(e["worker"], 900 + e["worker"]) for e in entries],
            "an old dump of many threads")


def test_times_far_apart():
    """Clocks that are wrong by centuries: the difference of two times is more than a signed number holds."""
    dumps, _ = dump("-reqsize", 4, "-numreqs", 20)
    data = read(dumps[0])
    early = write("early.bin", rebuilt(data, host="early", wall_ns=-(1 << 62), global_ns=-(1 << 61)))
    late = write("late.bin", rebuilt(data, host="late", wall_ns=1 << 62, global_ns=1 << 61))
    run = x.tsread("-json", early, late)
    try:
        events = [e for e in json.loads(run.out)["traceEvents"] if e["ph"] == "X"]
    except ValueError as err:
        return t.ok(False, "times far apart: -json parses", err)
    t.ok(run.status == 0 and len(events) == 40 and all(e["ts"] >= 0 and e["dur"] >= 0 for e in events),
         "times far apart: the events of -json", run.err)
    t.equal(round(events[20]["ts"] * 1000 / 2**62), 3, "times far apart: by how much")
    run = x.tsread(early, late)
    return t.ok(run.status == 0 and all(r["Relative ms"] >= 0 for r in x.Report(run.out).rows), "times far apart: the report", run)


# The command


def test_command():
    for word in ("-h", "--help", "-help"):
        run = x.tsread(word)
        t.equal(run.out, t.xdd("-help", "tsread").out, word + ": the same as xdd -help tsread", run)
        t.ok(run.status == 0 and run.out.startswith("usage: xdd tsread ") and not run.err and
             max(map(len, run.out.splitlines())) < 90, word, run)
    dumps, reports = dump("-reqsize", 4, "-numreqs", 5)
    out = t.path("out")
    run = x.tsread("-o", out, dumps[0])
    t.ok(run.status == 0 and not run.out and text_of(out) == text_of(reports[0]), "-o: into a file", run)
    fifo = t.path("fifo")
    reader = t.make_pipe(fifo)
    run = x.tsread("-o", fifo, dumps[0])
    got = t.drain(reader)
    t.ok(run.status == 0 and got == read(reports[0]) and stat.S_ISFIFO(os.stat(fifo).st_mode), "-o: into a pipe, which stays", run)
    for args, status, want in (((), 2, "tsread: expected a dump"), (("-o",), 2, "tsread -o: " + m.MISSING),
                               (("-o", "-csv", dumps[0]), 2, "tsread -o: missing argument <file>: found option -csv instead"),
                               (("-csv=x", dumps[0]), 3, "tsread -csv: takes no value; say -csv"),
                               (("-jsn", dumps[0]), 3, "tsread -jsn: is not an option; did you mean -json"),
                               (("-zzzz", dumps[0]), 3, "tsread -zzzz: is not an option; xdd tsread -help lists them"),
                               (("-o", t.path("none/out"), dumps[0]), 2, "none/out: there is no directory "),
                               (("-o", dumps[0], dumps[0]), 2, "tsread -o %s: is a dump to read" % dumps[0])):
        run = x.tsread(*args)
        t.equal((run.status, len(run.error_lines()), want in run.err, run.out), (status, 1, True, ""), want, run)
    t.equal(x.tsread(dumps[0]).out, text_of(reports[0]), "and the dump is as it was")
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            p = subprocess.run([t.XDD, "tsread", dumps[0]], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                               timeout=t.TIMEOUT)
        t.equal((p.returncode, p.stderr.count(b"\n"), b"No space left" in p.stderr), (6, 1, True),
                "a full standard output", p.stderr)
    many, _ = dump("-reqsize", 1, "-numreqs", 3000)
    p = subprocess.run("'%s' tsread -csv '%s' | head -1; echo ${PIPESTATUS[0]}" % (t.XDD, many[0]), shell=True, executable="/bin/bash",
                       capture_output=True, timeout=t.TIMEOUT)
    t.ok(p.stdout.endswith(b"\n0\n") and not p.stderr, "a reader that has seen enough is no error", p.stdout[-100:] + p.stderr)


t.run(test_same_rows, test_document, test_csv, test_json, test_json_hosts, test_merge, test_bounds, test_cut, test_flipped,
      test_not_a_dump, test_old, test_times_far_apart, test_command)
t.done()
