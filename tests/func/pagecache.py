#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The share of the page cache: patterns in the cache that regular samples mistake, passes that read a part of their range, and
cases in which the share cannot be known.
"""
import ctypes
import mmap
import os
import re

import xddjson
import xddsys
import xddtest as t

t.look_at_all_warnings()
MIB = 1 << 20
SIZE = 128 * MIB
COLUMNS = ("-outputformat", "add", "+PAGECACHED")


def on_disk(name, size=SIZE):
    """A file on its disk and out of memory, or None where all files are in memory."""
    file = t.make_file(name, size)
    with open(file, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return file if resident(file) < 0.01 else None


def resident(file):
    """The share of the file in memory, by mincore(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    size = os.path.getsize(file)
    pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
    with open(file, "r+b") as f, mmap.mmap(f.fileno(), size) as view:
        start = ctypes.addressof(ctypes.c_char.from_buffer(view))
        if libc.mincore(start, size, pages):
            raise OSError(ctypes.get_errno(), "mincore")
    return sum(byte & 1 for byte in pages.raw) / len(pages)


def read(file, *args, user=None):
    """Read; returns the run and what it says of the page cache: "49.8", "about 50.1", "unknown, ..."."""
    command = t.xdd_words("-op", "read", "-targets", 1, file, *COLUMNS, "-verbose", *args)
    run = t.command(user[0] + [user[1]] + command[1:] if user else command, cwd="/")
    line = re.search(r"^Target 0, page cache: (.*?)(?: %| of what|;|$)", run.out, re.M)
    row = run.row("COMBINED") or {}
    return run, line.group(1) if line else "", row.get("Cached", "")


def share(text):
    """The number that the line has, with or without the word about."""
    number = re.fullmatch(r"(?:about )?(\d+\.\d)", text)
    return float(number.group(1)) if number else -1


def mebibytes(first, end, step):
    """Extents of 1 MiB, each `step` MiB after the one before."""
    return [(at * MIB, MIB) for at in range(first, end, step)]


def read_cached(file, extents, *args):
    """Read with these extents of the file in the page cache."""
    with xddsys.only_cached(file, *extents):
        truth = 100 * resident(file)
        return truth, *read(file, *args)


def test_patterns():
    file = on_disk("pattern")
    if file is None:
        return t.skip("patterns in the cache", "files of the test are in memory")
    even = mebibytes(0, SIZE // MIB, 2)
    whole = ("-seek", "range", SIZE // 1024)
    for name, extents in (("even", even), ("odd", mebibytes(1, SIZE // MIB, 2))):
        truth, run, said, column = read_cached(file, extents, "-reqsize", 1024, "-mbytes", SIZE // MIB)
        t.ok(45 < truth < 55 and abs(share(said) - truth) < 1 and abs(float(column or -1) - truth) < 1,
             "%s mebibytes are cached: as mincore says" % name, "%s: %s\n%s" % (truth, said, run))
    _, run, said, _ = read_cached(file, even, "-reqsize", 1024, "-numreqs", 64, "-seek", "interleave", 2, *whole)
    t.ok(share(said) > 97, "only the cached half is read: 100 %", "%s\n%s" % (said, run))
    # 500 draws: the standard deviation of their share is 2.2 %.
    _, run, said, _ = read_cached(file, even, "-reqsize", 4, "-numreqs", 500, "-seek", "random", *whole)
    t.ok(said.startswith("about ") and 38 < share(said) < 62, "random offsets: about 50 %", "%s\n%s" % (said, run))
    _, run, said, _ = read_cached(file, mebibytes(0, 16, 1), "-reqsize", 256, "-timelimit", 0.6, "-throttle", "bw", 15)
    t.ok(share(said) > 97, "a time limit ends the pass inside its cached part: 100 %", "%s\n%s" % (said, run))
    _, run, said, _ = read_cached(file, [], "-reqsize", 256, "-mbytes", 8, "-jsonout", t.path("cold.json"))
    row = xddjson.rows(xddjson.check(t.path("cold.json"), "-jsonout"), "COMBINED")[0]
    t.ok(said == "0.0" and row["resident_bytes"] == 0 and row.get("resident_accuracy") == "exact" and
         row["range_bytes"] == 8 * MIB, "nothing is cached: 0", "%s\n%s" % (said, run))
    return True


def test_not_measured():
    file = on_disk("direct", 8 * MIB) or t.make_file("direct", 8 * MIB)
    run, said, column = read(file, "-reqsize", 256, "-mbytes", 8, "-dio", "-jsonout", t.path("direct.json"))
    if run.status:
        return t.skip("-dio", "the file system of the test has none")
    row = xddjson.rows(xddjson.check(t.path("direct.json"), "-jsonout"), "COMBINED")[0]
    return t.ok(column == "-" and row["resident_bytes"] is None and
                row.get("resident_accuracy") == "not measured" and not re.search(r"\d", said.split(",")[0]),
                "-dio: no share", "%s\n%s" % (said, run))


def test_unknown():
    """The kernel tells a user who may not write to a file nothing of its pages."""
    user = xddsys.for_nobody()
    file = on_disk("foreign", 32 * MIB)
    if user is None or file is None:
        return t.skip("a foreign file", "files of the test are in memory" if user else xddsys.sys_why())
    os.chmod(file, 0o644)
    run, said, column = read(file, "-reqsize", 256, "-mbytes", 32, user=user)
    t.equal((run.status, said.startswith("unknown"), column), (0, True, "-"),
            "a file of which the user may not know: unknown", "%s\n%s" % (said, run))
    t.ok("(the page cache)" not in run.err, "and no warning of it", run)
    os.chown(file, 65534, 65534)
    with xddsys.only_cached(file):
        run, said, column = read(file, "-reqsize", 256, "-mbytes", 32, user=user)
    return t.equal((run.status, said), (0, "0.0"), "the owner may know", "%s\n%s" % (said, run))


def test_overlay():
    """A file of overlayfs has no pages of its own."""
    for name in ("lower", "upper", "work", "merged"):
        os.mkdir(t.path(name))
    file = t.make_file("lower/file", 32 * MIB)
    where = t.path("merged")
    options = "lowerdir=%s,upperdir=%s,workdir=%s" % tuple(t.path(name) for name in ("lower", "upper", "work"))
    if os.geteuid() or t.command(["mount", "-t", "overlay", "overlay", "-o", options, where]).status:
        return t.skip("overlayfs", "it cannot be mounted here")
    try:
        with xddsys.only_cached(file, *mebibytes(0, 32, 1)):
            run, said, column = read(where + "/file", "-reqsize", 256, "-mbytes", 32)
    finally:
        t.command(["umount", where])
    return t.ok(share(said) > 99, "overlayfs: the pages of the file below count", "%s\n%s" % (said, run))


t.run_all()
