#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-op discard: the ranges of the requests, and no others, are zeros and free, of files and of block devices, with each engine
that can and at each queue depth. It is guarded like a write, refused where nothing would be discarded, and counted as a
direction of its own.
"""
import csv
import io
import json
import os
import random
import re
import subprocess

import messages as m
import xddjson as j
import xddsys as s
import xddtest as t
import xddtrace as x
from xddguard import admin, device, device_without_discards, digest, mount, refused

BLOCK = 4096
BLOCKS = 256
SIZE = BLOCK * BLOCKS
SMALL = ["-blocksize", BLOCK, "-reqsize", 2]
ENGINES = [engine for engine in ("psync", "io_uring") if engine in t.engines()]
CASES = [(engine, depth) for engine in ENGINES for depth in (1, 8)]
rng = random.Random(int(os.environ.get("XDD_TEST_SEED", "1")))


def fill(path):
    """Blocks none of which is zeros, on the medium; returns them."""
    data = b"".join(bytes([1 + i % 255]) * BLOCK for i in range(BLOCKS))
    with open(path, "r+b" if os.path.exists(path) else "wb") as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    return data


def without(data, blocks):
    """The same with these blocks as zeros."""
    data = bytearray(data)
    for block in blocks:
        data[block * BLOCK:(block + 1) * BLOCK] = bytes(BLOCK)
    return bytes(data)


def content(path):
    with open(path, "rb") as f:
        return f.read()


def some_requests(n):
    """A list of -seek load of n discards of one or two blocks that do not overlap; its name and the blocks."""
    at, blocks = rng.sample(range(BLOCKS // 2), n), []
    name = t.path("list")
    with open(name, "w", encoding="ascii") as f:
        for i, pair in enumerate(at):
            size = rng.choice((1, 2))
            f.write("%d %d %d d\n" % (i, 2 * pair, size))
            blocks += range(2 * pair, 2 * pair + size)
    return name, blocks


def frees(before, after, blocks):
    """The allocation has shrunk by these blocks; a file system may need some for its map."""
    return 0 <= len(blocks) * BLOCK - (before.st_blocks - after.st_blocks) * 512 <= 16 * BLOCK


def check_ranges(what, target, backing):
    """`target` is discarded; `backing` is the file that holds its data."""
    for engine, depth in CASES:
        title = "%s, %s, depth %d: " % (what, engine, depth)
        data = fill(target)
        before = os.stat(backing)
        name, blocks = some_requests(12)
        run = t.xdd("-seek", "load", name, "-op", "discard", "-targets", 1, target, *SMALL, "-ioengine", engine, "-queuedepth", depth)
        t.equal((run.status, run.err, [row["Op_Type"] for row in run.rows() if row["What"] == "COMBINED"]), (0, "", ["discard"]),
                title + "runs", run)
        subprocess.run(["sync", backing], check=True)
        after = os.stat(backing)
        t.ok(content(backing) == without(data, blocks) and content(target) == content(backing),
             title + "exactly these ranges are zeros, and the size is the same")
        t.ok(frees(before, after, blocks), title + "their blocks are free",
             "%d blocks; allocated: %d, then %d" % (len(blocks), before.st_blocks, after.st_blocks))


def test_files():
    check_ranges("file", t.path("file"), t.path("file"))


def test_devices():
    backing = t.path("disk")
    fill(backing)
    dev = s.loop_device(backing)
    if dev is None:
        return t.skip("discards of a device", s.sys_why())
    # Blocks of its own, so that the warning about the granularity depends on nothing.
    t.tolerate(m.DISCARD_UNITS)
    check_ranges("device", dev, backing)
    fill(dev)
    run = t.xdd("-op", "discard", "-targets", 1, dev, *SMALL, "-seek", "random", "once", "-bytes", "100%", "-queuedepth", 4)
    t.ok(run.status == 0 and content(backing) == bytes(SIZE), "all of a device, in random order", run)
    for engine in ENGINES:
        run = t.xdd("-op", "target", 0, "write", "-datapattern", "target", 0, "x", "-op", "target", 1, "discard", "-targets", 2, dev, dev, *SMALL,
                    "-numreqs", 16, "-starttrigger", 0, 1, "op", 16, "-ioengine", "target", 1, engine)
        subprocess.run(["blockdev", "--flushbufs", dev], check=False)
        t.ok(run.status == 0 and content(dev) == bytes(SIZE), "%s: what another target has just written to the page cache" % engine, run)
        run = t.xdd("-op", "target", 0, "write", "-op", "target", 1, "discard", "-targets", 2, dev, dev, *SMALL, "-numreqs", 1500, "-seek", "random",
                    "range", 64, "-queuedepth", 4, "-ioengine", "target", 1, engine)
        t.equal((run.status, run.err), (0, ""), "%s: what another target writes to the same blocks all the time" % engine, run)
    return None


def traced(*args):
    """The calls of a run on its target: (call, file, offset, bytes)."""
    log = t.path("strace")
    run = t.command(s.strace(log, "fallocate,ioctl,pread64,pwrite64") + t.xdd_words(*args))
    calls = []
    for _, text in s.calls_of(log):
        match = re.match(r"fallocate\(\d+<([^>]*)>, FALLOC_FL_KEEP_SIZE\|FALLOC_FL_PUNCH_HOLE, (\d+), (\d+) *\) += 0", text)
        if match:
            calls.append(("fallocate", match.group(1), int(match.group(2)), int(match.group(3))))
        match = re.match(r"ioctl\(\d+<([^>]*)>, BLKDISCARD, \[(\d+), (\d+)\] *\) += 0", text)
        if match:
            calls.append(("BLKDISCARD", match.group(1), int(match.group(2)), int(match.group(3))))
        match = re.match(r"(pread64|pwrite64)\(\d+<([^>]*)>", text)
        if match:
            calls.append(match.groups())
    return run, [call for call in calls if call[1] == args[-1]]


def test_calls():
    if not s.can_trace():
        return t.skip("the system calls", s.sys_why())
    file = t.path("file")
    fill(file)
    words = ["-op", "discard", *SMALL, "-ioengine", "psync", "-bytes", 20 * BLOCK, "-startoffset", 8, "-passes", 2, "-queuedepth", 3]
    wanted = [(8 * BLOCK + i * 2 * BLOCK, 2 * BLOCK) for i in range(10)]
    run, calls = traced(*words, "-targets", 1, file)
    t.equal((run.status, sorted(calls)), (0, [("fallocate", file, *w) for w in wanted for _ in range(2)]),
            "a file: one fallocate for each operation of each pass, and nothing else", run)
    dev = s.loop_device(t.path("file"))
    if dev is None:
        return t.skip("the calls on a device", s.sys_why())
    t.tolerate(m.DISCARD_UNITS)
    run, calls = traced(*words, "-throttle", "ops", 1000, "-targets", 1, dev)
    t.equal((run.status, sorted(call for call in calls if call[0] != "pread64")), (0, [("BLKDISCARD", dev, *w) for w in wanted for _ in range(2)]),
            "a device: one BLKDISCARD for each, also with a throttle; the guard alone reads", run)
    s.detach(dev)
    run, calls = traced("-op", "discard", *SMALL, "-ioengine", "psync", "-numreqs", 2, "-dryrun", "-targets", 1, file)
    t.equal((run.status, calls), (0, []), "-dryrun does nothing", run)
    return None


def test_guard():
    words = ["-op", "discard", "-reqsize", "4k", "-numreqs", 32]
    dev = device("guarded")
    if dev is None:
        return t.skip("the guard", s.sys_why())
    why = admin("mkfs.ext4", "-q", "-F", dev)
    if why:
        return t.skip("the guard", why)
    t.tolerate(m.DISCARD_UNITS)
    before = digest(dev)
    for engine in ENGINES:
        run = t.xdd(*words, "-ioengine", engine, "-targets", 1, dev)
        t.ok(refused(run, dev, ".*-force " + dev), "%s: a device with a file system is refused" % engine, run)
    run = t.xdd(*words, "-targets", 1, dev, "-dryrun")
    t.ok(refused(run, dev, ".*-force " + dev), "by -dryrun too", run)
    backing = t.path("guarded.img")
    why = mount(dev, "mnt", "ext4")
    if why:
        t.skip("a mounted device", why)
    else:
        run = t.xdd(*words, "-targets", 1, dev, "-force", dev)
        t.ok(refused(run, dev, ".*in use"), "a mounted device is refused, -force or not", run)
        run = t.xdd(*words, "-targets", 1, backing)
        t.ok(refused(run, backing, ".*in use"), "and the file that backs it", run)
        admin("umount", t.path("mnt"))
    t.equal(digest(dev), before, "not a byte of it has changed")
    run = t.xdd(*words, "-targets", 1, dev, "-force", dev)
    t.ok(run.status == 0 and digest(dev) != before, "-force lets it be discarded", run)
    return None


def test_refused_devices():
    dev = device("small", SIZE)
    if dev is None:
        return t.skip("devices that are refused", s.sys_why())
    run = t.xdd("-op", "discard", "-targets", 1, dev, "-reqsize", "256B", "-blocksize", 256, "-numreqs", 1)
    t.ok(run.status == 2 and re.search(m.DISCARD_MULTIPLE, run.err), "requests that are no whole sectors", run)
    run = t.xdd("-op", "discard", "-targets", 1, dev, "-bytes", 2 * SIZE)
    t.ok(run.status == 2 and "the device has 1 MiB" in run.err, "past the end of the device", run)
    dev = device_without_discards(SIZE)
    if dev is None:
        return t.skip("a device without discards", "no loop device of a number of its own")
    for engine in ENGINES:
        run = t.xdd("-op", "discard", "-targets", 1, dev, "-bytes", "100%", "-ioengine", engine)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and re.search(m.DISCARD_NO_DEVICE, run.err),
             "%s: a device that cannot discard" % engine, run)
    return None


def test_warning():
    file = t.path("file")
    fill(file)
    for words in (["-reqsize", "1k"], ["-reqsize", "4k", "-startoffset", "1k"]):
        run = t.xdd("-op", "discard", "-targets", 1, file, *words, "-numreqs", 8, warns=[m.DISCARD_UNITS])
        t.equal(run.status, 0, "a warning: " + " ".join(words), run)
    run = t.xdd("-op", "discard", "-targets", 1, file, "-reqsize", "mix", "512B:1,4k:1", "-numreqs", 8, warns=[m.DISCARD_UNITS])
    t.equal(run.status, 0, "a warning: one of the sizes of a mix", run)
    odd = t.make_file("odd", 5 * BLOCK + 100)
    run = t.xdd("-op", "discard", "-targets", 1, odd, "-reqsize", "8k", "-bytes", "100%", warns=[m.DISCARD_UNITS])
    t.equal(run.status, 0, "a warning: the end of a file that has no whole blocks", run)
    for requests, warns in (("0 0 8 d\n1 16 4 d\n", []), ("0 0 8 d\n1 9 4 d\n", [m.DISCARD_UNITS]), ("0 0 4 d\n1 8 3 d\n", [m.DISCARD_UNITS])):
        with open(t.path("list"), "w", encoding="ascii") as f:
            f.write(requests)
        run = t.xdd("-seek", "load", t.path("list"), "-targets", 1, file, "-blocksize", 1024, warns=warns)
        t.equal(run.status, 0, "a warning only of what is less than a unit: list %r" % requests, run)


def test_results():
    file, document = t.path("file"), t.path("doc.json")
    fill(file)
    run = t.xdd("-op", "trim", "-targets", 1, file, *SMALL, "-bytes", "100%", "-passes", 2, "-jsonout", document, "-intervals", "0.1",
                "-ts", "dump", t.path("dump"), "-latency", "-outputformat", "add", "+READBANDWIDTH+WRITEBANDWIDTH+READOPS+WRITEOPS+LONGESTTYPE", "-csvout",
                t.path("out.csv"))
    ops = {"read": 0, "write": 0, "noop": 0, "discard": BLOCKS}
    row = j.rows(j.load(document), "COMBINED")[0]
    t.equal((run.status, j.problems(json.loads(content(document))), row["operation"], row["ops"], row["bytes"]["discard"]),
            (0, [], "discard", ops, 2 * SIZE), "the document counts them as a direction of their own", run)
    t.equal(list(row["latency"]["service"]), ["discard"], "it has their latencies")
    t.equal({r["direction"] for r in j.load(document)["intervals"]}, {"discard"}, "and their intervals")
    with open(t.path("out.csv"), newline="", encoding="utf-8") as f:
        row = [r for r in csv.DictReader(f) if r["WHAT"] == "COMBINED"][0]
    t.equal((row["OPS"], row["BYTESXFERED"], row["READOPS"], row["WRITEOPS"], float(row["READBANDWIDTH"]), float(row["WRITEBANDWIDTH"]),
             row["OPTYPE"], row["LONGESTTYPE"]), (str(BLOCKS), str(2 * SIZE), "0", "0", 0, 0, "discard", "discard"),
            "columns: they are in the sums, and neither reads nor writes")
    rows = list(csv.DictReader(io.StringIO(x.tsread("-csv", t.path("dump.target.0000.bin")).out)))
    t.equal((len(rows), {r["TYPE"] for r in rows}), (BLOCKS, {"d"}), "time stamps: the letter d")
    run = t.xdd("-op", "discard", "-target", "null", "-numreqs", 5)
    t.equal([(r["Ops"], r["Op_Type"]) for r in run.rows() if r["What"] == "COMBINED"], [("5", "discard")], "the null device counts them", run)
    run = t.command([t.XDD, "combine", document, "-jsonout", t.path("sum.json")])
    row = j.rows(j.load(t.path("sum.json")), "COMBINED")[0]
    t.equal((run.status, row["operation"], row["ops"]), (0, "discard", ops), "xdd combine adds them up", run)


def without_discards(value):
    """A document of a version that had no discards."""
    if isinstance(value, list):
        return [without_discards(v) for v in value]
    if isinstance(value, dict):
        return {k: without_discards(v) for k, v in value.items() if k != "discard"}
    return value


def test_older_documents():
    old = t.path("old.json")
    document = j.of_run("new.json", *"-op noop -targets 1 null -numreqs 5".split())
    with open(old, "w", encoding="utf-8") as f:
        json.dump(without_discards(document), f)
    run = t.command([t.XDD, "combine", old, "-jsonout", t.path("sum2.json")])
    t.equal((run.status, j.rows(j.load(t.path("sum2.json")), "COMBINED")[0]["ops"]["noop"]), (0, 5), "a document without the member is combined", run)


t.run_all()
