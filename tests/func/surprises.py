#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Command lines that run and measure something else than most people mean: xdd warns, and says what would do.
"""
import os
import re

import messages as m
import xddjson
import xddtest as t

# Files of these tests are holes or in memory, which runs that read enough say.
t.tolerate(t.CACHED)
t.may_warn(m.BLOCKSIZE_ALONE, m.RANDOM_STAYS)

MIB = 1 << 20
BIG = 256 * MIB


def sparse(name, size):
    with open(t.path(name), "wb") as f:
        f.truncate(size)
    return t.path(name)


def test_block_size():
    file = t.make_file("blocks", MIB)
    for size, request in ((4096, "512 KiB"), (512, "64 KiB")):
        run = t.xdd("-op", "read", "-targets", 1, file, "-bs", size, "-numreqs", 1)
        t.equal((run.status, run.error_lines()), (0, [m.warning("target 0, " + file, m.blocksize_alone(size, request))]), "-blocksize %d alone" % size)
        row = run.row("COMBINED")
        t.equal(row and row["Bytes_Xfered"], str(size * 128), "and that is what is transferred")
    run = t.xdd("-op", "read", "-targets", 3, file, file, file, "-bs", 4096, "-numreqs", 1)
    t.equal(run.error_lines(), [m.warning("target 0, " + file, m.blocksize_alone(4096, "512 KiB"))], "said once")
    for words in ("-bs 4096 -reqsize 1", "-bs 512 -reqsize 128", "-reqsize 4", ""):
        run = t.xdd("-op", "read", "-targets", 1, file, *words.split(), "-numreqs", 1)
        t.equal((run.status, run.err), (0, ""), "not with %s" % (words or "the defaults"), run)


def test_random():
    file = sparse("big", BIG)
    words = ["-op", "read", "-targets", 1, file, "-reqsize", 4, "-seek", "random"]
    said = "target 0, " + file
    run = t.xdd(*words, "-numreqs", 100)
    t.equal((run.status, run.error_lines()), (0, [m.warning(said, m.random_stays("400 KiB", "0.15", BIG // 1024))]), "few operations on a big file")
    run = t.xdd(*words, "-mbytes", 16, "-startoffset", 1024)
    t.equal(run.error_lines(), [m.warning(said, m.random_stays("16 MiB", "6.2", (BIG - MIB) // 1024))], "an amount, and a start offset")
    places = t.path("places")
    run = t.xdd(*words, "-numreqs", 300, "-seek", "range", BIG // 1024, "-seek", "save", places)
    with open(places + ".T0.txt", encoding="utf-8") as f:
        blocks = [int(line.split()[1]) for line in f if re.match(r"\s*\d+\s+\d+\s", line)]
    t.ok(run.status == 0 and not run.err and len(blocks) == 300 and max(blocks) > BIG // 1024 * 3 // 4,
         "the range that it names goes over all of the file", "%s\n%s" % (blocks[-5:], run))
    for more in (["-timelimit", 0.2], ["-mbytes", 200]):
        run = t.xdd(*words, *more)
        t.equal((run.status, "-seek random" in run.err), (0, False), "not with %s" % " ".join(map(str, more)), run)
    run = t.xdd("-op", "read", "-targets", 1, t.make_file("small", MIB), "-reqsize", 4, "-numreqs", 10, "-seek", "random")
    t.equal((run.status, run.err), (0, ""), "not on a small file", run)


def test_readme():
    """The random reads of README go over the whole device."""
    with open(os.path.join(os.environ["TOP_SRCDIR"], "README"), encoding="utf-8") as f:
        text = f.read().replace("\\\n    > ", " ")
    lines = [line.strip(" $") for line in text.splitlines() if re.match(" *\\$ xdd .* -seek random", line)]
    words = lines[0].split() if len(lines) == 1 else []
    if not t.ok(words[:1] == ["xdd"] and "/dev/sdX" in words and "-timelimit" in words, "README has the example", lines):
        return
    words[words.index("/dev/sdX")] = sparse("device", BIG)
    words[words.index("-timelimit") + 1] = "0.3"
    words.remove("-dio")  # which the file system of the test may lack
    run = t.xdd(*words[1:], "-jsonout", t.path("readme.json"))
    document = xddjson.check(t.path("readme.json"), "-jsonout of README's example")
    t.equal((run.status, "-seek random" in run.err), (0, False), "it runs without that warning", run)
    t.equal(document["plan"]["targets"][0]["resolved"]["range_bytes"], BIG, "over the whole target")


t.run_all()
