#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Headlines that would mislead: writes that are in memory when the run ends, zeros that storage does not store, and
fewer passes than requested.
"""
import atexit
import ctypes
import math
import os
import re
import subprocess

import messages as m
import xddjson
import xddsys as s
import xddtest as t

t.look_at_all_warnings()
MIB = 1 << 20
AMOUNT = 24
THRESHOLD = 5  # the least share of which xdd warns, in percent


def said(run, pattern):
    """The lines that match, as matches."""
    return [found for found in (re.search(pattern, line) for line in run.error_lines()) if found]


def write(target, *args):
    return t.xdd("-op", "write", "-targets", 1, target, "-reqsize", 128, "-mbytes", AMOUNT, *args)


def written_bytes(target):
    """The bytes that the device of a file, or a device, has written; waits for pages that are being written."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(target, "ab") as f:
        libc.sync_file_range(f.fileno(), ctypes.c_int64(0), ctypes.c_int64(0), 1)  # SYNC_FILE_RANGE_WAIT_BEFORE
        seen = os.fstat(f.fileno())
    device = seen.st_rdev or seen.st_dev
    with open("/sys/dev/block/%d:%d/stat" % (os.major(device), os.minor(device)), encoding="ascii") as f:
        return int(f.read().split()[6]) * 512


def write_dirty(target, *args):
    """
    The same: (run, the warning, the least percentage that it must name). What the kernel or another process flushes
    before the run ends is not dirty, and the device has written it.
    """
    before = written_bytes(target)
    run = write(target, *args)
    found = said(run, m.DIRTY)
    flushed = written_bytes(target) - before
    return run, found[0] if found else None, max(0, 100 - math.ceil(100 * flushed / (AMOUNT * MIB)))


def is_dirty(found, least):
    """The warning is there, and its share is right; there need be none where the kernel has flushed most of the data."""
    return int(found.group(2)) >= least if found else least < THRESHOLD


def counts_dirty(directory):
    """True if the kernel tells how much of a file is dirty (Linux 6.5)."""
    release = os.uname().release.split("-")[0].split(".")
    return (int(release[0]), int(release[1])) >= (6, 5) and os.path.isdir(directory)


def test_dirty():
    titles = "buffered writes, and those that reach the device"
    directory = s.ext4("dirty", 96 * MIB)
    if directory is None:
        return t.skip(titles, s.sys_why())
    if not counts_dirty(directory):
        return t.skip(titles, "this kernel does not count dirty pages")
    file = os.path.join(directory, "file")
    run, found, least = write_dirty(file)
    t.ok(run.status == 0 and is_dirty(found, least) and (not found or found.group(3) == "25.2 MB" or least < 100),
         "a new file: all of it", "%s\n%s" % (least, run))
    t.equal(m.DIRTY_ALL in run.err, bool(found) and int(found.group(2)) >= 50, "with what measures the device", run)
    run, found, least = write_dirty(file, "-passes", 3)
    t.ok(is_dirty(found, least) and (not found or found.group(3) == "25.2 MB" or least < 100),
         "several passes over the same data: what the last one wrote", "%s\n%s" % (least, run))
    run, found, least = write_dirty(file, "-seek", "random", "-reqsize", 4)
    # Of 1024 operations: the standard deviation of a share that was flushed is 1.6 % at most.
    t.ok(is_dirty(found, least if least == 100 else least - 8) and (not found or found.group(1) == "about "),
         "random writes: an estimate", "%s\n%s" % (least, run))
    document = t.path("dirty.json")
    run, found, least = write_dirty(file, "-jsonout", document)
    texts = [x["text"] for x in xddjson.check(document, "-jsonout")["messages"]]
    t.ok(is_dirty(found, least) and (not found or any(text in found.string for text in texts)), "-jsonout has it too", texts)
    for words in ("-dio", "-syncwrite", "-mbytes 1", "-flushwrite 1"):
        run = write(file, *words.split())
        t.equal((run.status, said(run, m.DIRTY)), (0, []), "not with %s" % words, run)
    run = t.xdd("-op", "read", "-targets", 1, file, "-mbytes", AMOUNT)
    t.equal((run.status, said(run, m.DIRTY)), (0, []), "not for reads", run)
    device = s.loop_device(s.sparse_file("device", 64 * MIB))
    run, found, least = write_dirty(device)
    t.ok(run.status == 0 and is_dirty(found, least), "a block device", "%s\n%s" % (least, run))
    t.equal(said(run, m.ZEROS), [], "a loop device stores zeros", run)
    with s.only_cached(device, (0, AMOUNT * MIB)):
        run = t.xdd("-op", "read", "-targets", 1, device, "-mbytes", AMOUNT)
    t.ok(run.status == 0 and "100 % of what was read came from memory" in run.err, "a block device that is read from memory", run)
    two = os.path.join(directory, "two")
    run = t.xdd("-op", "write", "-targets", 2, file, two, "-reqsize", 128, "-mbytes", AMOUNT, "-dio", "target", 0)
    t.equal([line for line in run.error_lines() if re.search(m.DIRTY, line) and "target 0" in line], [],
            "of two targets, not the one with -dio", run)


def test_groups():
    """Targets of which the same is said have one line: from four on."""
    directory = s.ext4("groups", 128 * MIB)
    if directory is None:
        return t.skip("several targets with the same warning", s.sys_why())
    files = [os.path.join(directory, str(i)) for i in range(6)]
    for n in (3, 6):
        words = ["-op", "read", "-targets", n, *files[:n], "-mbytes", 16, "-reqsize", 256]
        for file in files[:n]:
            with open(file, "wb") as f:
                f.truncate(16 * MIB)
        run = t.xdd(*words)
        if n == 3:
            t.equal(len(said(run, m.CACHED)), 3, "three targets have a line each", run)
        else:
            t.equal([found.string for found in said(run, m.CACHED)],
                    ["xdd: warning: targets 0 to 5: " + m.ALL_HOLES],
                    "six targets have one line", run)
    os.unlink(files[2])
    with open(files[2], "wb") as f:
        f.write(b"x" * 16 * MIB)
        f.flush()
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    run = t.xdd(*words)
    t.equal([line for line in run.error_lines() if "never written" in line],
            ["xdd: warning: targets 0 to 1, 3 to 5: " + m.ALL_HOLES],
            "one that differs is left out", run)


def test_in_memory():
    directory = s.tmpfs("memory", 64 * MIB)
    if directory is None:
        return t.skip("a file in memory has no device", s.sys_why())
    run = write(os.path.join(directory, "file"))
    t.equal((run.status, run.error_lines()), (0, []), "a file in memory has no device", run)
    run = write("null")
    t.equal((run.status, run.error_lines()), (0, []), "nor has the null device", run)


def btrfs(name, options):
    device = s.loop_device(s.sparse_file(name + ".img", 256 * MIB))
    if device is None:
        return None, s.sys_why()
    directory = t.path(name)
    os.mkdir(directory)
    for command in (["mkfs.btrfs", "-q", device], ["mount", "-t", "btrfs", "-o", options, device, directory]):
        run = t.command(command) if t.have(command[0]) else None
        if run is None or run.status:
            return None, "%s fails or is missing" % command[0]
    atexit.register(subprocess.run, ["umount", "--lazy", directory], stderr=subprocess.DEVNULL, check=False)
    return directory, ""


def test_compressed():
    for options, wanted in (("compress=zstd", 1), ("compress-force=lzo", 1), ("defaults", 0)):
        directory, why = btrfs("btrfs." + options.split("=")[0], options)
        title = "zeros on btrfs with %s" % options
        if directory is None:
            t.skip(title, why)
            continue
        file = os.path.join(directory, "file")
        run = write(file)
        found = said(run, m.ZEROS + re.escape(m.ZEROS_COMPRESSED))
        t.equal((run.status, len(found), len(said(run, m.ZEROS))), (0, wanted, wanted), title, run)
        if not wanted:
            continue
        for words in ("-datapattern random", "-datapattern x", "-mbytes 1", "-op read"):
            run = write(file, *words.split())
            t.equal((run.status, said(run, m.ZEROS)), (0, []), "%s, not with %s" % (title, words), run)
        run = t.xdd("-op", "write", "-targets", 3, file, file + "2", file + "3", "-mbytes", AMOUNT)
        t.equal(len(said(run, m.ZEROS)), 1, "%s, once for several targets" % title, run)


def test_zram():
    device = s.zram(64 << 20)
    if device is None or not os.path.exists(device):
        return t.skip("zeros on zram", "no zram device can be made")
    run = write(device)
    t.equal((run.status, len(said(run, m.ZEROS + re.escape(m.ZEROS_ZRAM)))), (0, 1), "zeros on zram", run)
    run = write(device, "-datapattern", "random", "-dio")
    t.equal((run.status, said(run, m.ZEROS)), (0, []), "not random data", run)


def test_passes():
    words = ["-op", "read", "-targets", 1, "null", "-reqsize", 4]
    run = t.xdd(*words, "-timelimit", 0.1, "-passes", 1000, "-runtime", 0.35)
    found = said(run, m.FEWER_PASSES_RUN)
    row = run.row("COMBINED")
    t.ok(run.status == 0 and len(found) == 1 and row and found[0].group(1, 2) == ("1000", row["Pass"]) and int(row["Pass"]) < 1000,
         "-runtime ends the run before its passes: one line with both numbers", run)
    run = t.xdd("-op", "read", "-targets", 2, "null", "null", "-reqsize", 4, "-numreqs", "target", 0, 1, "-timelimit", "target", 1,
                0.7, "-passes", 3, "-runtime", 1, "-nobarrier")
    found = said(run, m.FEWER_PASSES_RUN)
    named = run.row("COMBINED")["Pass"] == "3"      # otherwise the machine was too slow for target 0 too
    t.ok(run.status == 0 and len(found) == 1 and found[0].group(1) == "3" and int(found[0].group(2)) < 3 and
         named == ("target 1, null: -passes" in run.err),
         "without barriers it names the target that ran the fewest, though another one ran all", run)
    run = t.xdd(*words, "-numreqs", 100, "-passes", 3, "-runtime", 60)
    t.equal((run.status, run.error_lines()), (0, []), "not where all passes are run", run)
    run = t.xdd(*words, "-passes", 3, "-runtime", 0.1)
    t.ok(len(run.error_lines()) == 1 and "in its first pass" in run.err, "one line where that is known before", run)
    run = t.xdd(*words, "-timelimit", 0.1, "-passes", "until", 0.0001, 30, "-runtime", 0.35)
    t.equal((run.status, said(run, m.FEWER_PASSES_RUN)), (0, []), "-passes until has a line of its own", run)


s.own_mounts()
t.run_all()
