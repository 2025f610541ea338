#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd sweep -restore trim: before each run of a point that writes, exactly the ranges that its targets write are discarded, of
files and of block devices; what cannot be discarded is refused before the first point is run.
"""
import os
import re
import subprocess

import messages as m
import xddsys as s
import xddtest as t
from xddguard import admin, device, device_without_discards, digest

BLOCK = 4096
SIZE = 256 * BLOCK
DATA = b"".join(bytes([1 + i % 255]) * BLOCK for i in range(SIZE // BLOCK))


def fill(path):
    with open(path, "r+b" if os.path.exists(path) else "wb") as f:
        f.write(DATA)
        f.flush()
        os.fsync(f.fileno())
    return path


def content(path):
    with open(path, "rb") as f:
        return f.read()


def words(*args):
    return [t.XDD, "sweep", "-restore", "trim"] + [str(a) for a in args]


def traced(target, *args):
    """The calls on the target, in order: (call, offset, bytes), or the name alone of a flush."""
    log, calls = t.path("strace"), []
    run = t.command(s.strace(log, "fallocate,ioctl,pwrite64,fdatasync,fsync") + words(*args))
    for _, text in s.calls_of(log):
        for pattern in (r"(fallocate)\(\d+<([^>]*)>, FALLOC_FL_KEEP_SIZE\|FALLOC_FL_PUNCH_HOLE, (\d+), (\d+) *\) += 0",
                        r"ioctl\(\d+<([^>]*)>, (BLKDISCARD), \[(\d+), (\d+)\] *\) += 0"):
            found = re.match(pattern, text)
            if found and target in found.groups():
                calls.append(("discard", int(found.group(3)), int(found.group(4))))
        found = re.match(r"pwrite64\(\d+<([^>]*)>, .*, (\d+), (\d+)\) += \d", text)
        if found and found.group(1) == target:
            calls.append(("write", int(found.group(3)), int(found.group(2))))
        found = re.match(r"f(?:data)?sync\(\d+<([^>]*)>", text)
        if found and found.group(1) == target and calls and calls[-1] != "flush":
            calls.append("flush")
    return run, calls


def test_calls():
    if not s.can_trace():
        return t.skip("the system calls", s.sys_why())
    common = ["-op", "read,write", "-reqsize", "64k", "-bytes", "128k", "-ioengine", "psync", "-rounds", 2]
    file = fill(t.path("file"))
    run, calls = traced(file, *common, "-startoffset", "64k", "-target", file)
    at = 65536
    wanted = [("discard", at, 131072), "flush", ("write", at, 65536), ("write", 2 * at, 65536)] * 2
    t.equal((run.status, calls), (0, wanted), "a file: its range is discarded and flushed before each run that writes, no other", run)
    run, calls = traced(file, *common, "-passes", 2, "-passoffset", "256k", "-target", file)
    t.equal((run.status, [c for c in calls if c[0] == "discard"]), (0, [("discard", 0, 3 * 131072)] * 2), "the range of all passes", run)
    run, calls = traced(file, *common[2:], "-op", "write", "-targetoffset", "512k", "-targets", 2, file, file)
    t.equal((run.status, [c for c in calls if c[0] == "discard"]), (0, [("discard", 0, 131072), ("discard", 8 * at, 131072)] * 2),
            "each target of one file has its own range", run)
    run, calls = traced(file, *common[2:4], "-op", "write", "-round", "0.05s", "-rounds", 1, "-seek", "random", "-target", file)
    t.equal((run.status, [c for c in calls if c[0] == "discard"]), (0, [("discard", 0, SIZE)]), "a run that time limits: all of the file", run)
    run, calls = traced(file, "-dryrun", *common, "-target", file)
    t.equal((run.status, calls), (0, []), "-dryrun does nothing", run)
    dev = s.loop_device(file)
    if dev is None:
        return t.skip("the calls on a device", s.sys_why())
    run, calls = traced(dev, *common, "-dio", "-startoffset", "64k", "-target", dev)
    t.equal((run.status, [c for c in calls if c != "flush"]), (0, [c for c in wanted if c != "flush"]), "a device: BLKDISCARD", run)
    return s.detach(dev)


def check_state(title, target, backing):
    """A point that writes a part of its range leaves the rest of it as zeros and free."""
    fill(target)
    before = os.stat(backing)
    run = t.command(words("-op", "write", "-target", target, "-dio", "-blocksize", BLOCK, "-reqsize", 1, "-startoffset", 64, "-seek", "random",
                          "range", 128, "-randomize", "-numreqs", 8, "-rounds", 3, "-datapattern", "random"))
    subprocess.run(["sync", backing], check=True)
    after, now = os.stat(backing), content(backing)
    blocks = [now[i:i + BLOCK] for i in range(0, SIZE, BLOCK)]
    written = 128 - blocks[64:192].count(bytes(BLOCK))
    t.ok(run.status == 0 and now[:64 * BLOCK] == DATA[:64 * BLOCK] and now[192 * BLOCK:] == DATA[192 * BLOCK:],
         title + ": what is outside the range stays", run)
    t.ok(1 <= written <= 8, title + ": the range has what the last run wrote, and zeros", written)
    freed = (before.st_blocks - after.st_blocks) * 512 // BLOCK
    t.ok(128 - written - 16 <= freed <= 128, title + ": the other blocks are free", freed)


def test_state():
    check_state("file", t.path("state"), t.path("state"))
    dev = s.loop_device(fill(t.path("disk")))
    if dev is None:
        return t.skip("the state of a device", s.sys_why())
    return check_state("device", dev, t.path("disk"))


def wrong(title, file, pattern, *args):
    before = content(file)
    run = t.command(words("-reqsize", "4k", "-rounds", 1, *args))
    t.ok(run.status == 2 and run.err.count("\n") == 1 and re.search(pattern, run.err), title, run)
    t.ok(content(file) == before, title + ": no point was run")


def test_refused():
    file, empty = fill(t.path("file")), t.make_file("empty", 0)
    wrong("a file that does not exist", file, r"-restore trim: target 0, \S+: does not exist; write it once before", "-op", "write",
          "-vary", "targets=1 %s,1 %s" % (file, t.path("none")), "-numreqs", 1)
    wrong("an empty file", file, r"-restore trim: target 0, \S+: is empty; write it once before", "-op", "write", "-target", empty, "-numreqs", 1)
    wrong("a point that extends its file", file, r"point 2 of 2 \(bytes 2M\): .*" + m.DISCARD_PAST, "-op", "write", "-target", file,
          "-bytes", "1M,2M")
    wrong("a range after the end", file, r"-restore trim: .*: has nothing in the range of the point", "-op", "write", "-target", file,
          "-startoffset", "2M", "-timelimit", "0.1")
    dev = device_without_discards(SIZE)
    if dev is None:
        t.skip("a device without discards", "no loop device of a number of its own")
    else:
        wrong("a device that cannot discard", file, r"point 2 of 2 .*" + m.DISCARD_NO_DEVICE, "-op", "write", "-vary",
              "targets=1 %s,1 %s" % (file, dev), "-numreqs", 1)
    dev = device("guarded", SIZE)
    why = s.sys_why() if dev is None else admin("mkfs.ext4", "-q", "-F", dev)
    if why:
        return t.skip("the guard", why)
    before = digest(dev)
    point = ["-op", "write", "-target", dev, "-bytes", "64k", "-reqsize", "4k", "-rounds", 1]
    run = t.command(words(*point))
    t.ok(run.status == 4 and "-force " + dev in run.err and digest(dev) == before, "a device with a file system is refused", run)
    run = t.command(words(*point, "-force", dev))
    t.ok(run.status == 0 and digest(dev) != before, "-force is for the discards too", run)
    return None


t.run_all()
