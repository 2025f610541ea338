#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-verify: every pattern, good and bad; damage that an injector does to sectors, unknown to xdd, is named rightly; no false alarm
when reads and writes overlap; what ends a run; and what is refused.

With XDD_TEST_LONG=1 ten million overlapping operations are made instead of some hundred thousand.
"""
import os
import random
import re
import struct
import subprocess
import time

import messages as m
import xddsys
import xddtest as t

# Files of these tests are in memory, which runs that move enough say.
t.tolerate(t.CACHED, m.DIRTY)
t.may_warn(m.REACHES)

K = 1 << 10
LONG = os.environ.get("XDD_TEST_LONG") == "1"
ENGINES = [t.ENGINE] if t.ENGINE else ["psync", "io_uring", "io_uring fixedbufs", "libaio", "mmap"]
TAGGED = "-datapattern tagged -verify contents".split()
LINE = re.compile(m.MISCOMPARE)


class Miscompare:
    def __init__(self, m):
        self.target, self.qthread, self.op, self.number_of_pass, self.bytes, self.offset, self.at = (
            int(m.group(i)) for i in (1, 2, 4, 5, 6, 7, 8))
        self.path, self.kind, self.text = m.group(3), m.group(11), m.group(12) or ""
        self.expected, self.found = bytes.fromhex(m.group(9)), bytes.fromhex(m.group(10))


def miscompares(run):
    return [Miscompare(m) for m in map(LINE.match, run.error_lines()) if m]


def read(file):
    with open(file, "rb") as f:
        return f.read()


def poke(file, offset, data):
    with open(file, "r+b") as f:
        f.seek(offset)
        f.write(data)


def sector(data, number, count=1):
    return data[number * 512:(number + count) * 512]


def write_file(name, pattern, work="-reqsize 16 -numreqs 16", **kwargs):
    file = t.path(name)
    run = t.xdd("-op", "write", "-targets", 1, file, *work.split(), "-datapattern", *pattern.split(), **kwargs)
    if run.status:
        t.diag(run)
    return file


def check(file, pattern, work="-reqsize 16", more=(), **kwargs):
    return t.xdd("-op", "read", "-targets", 1, file, *work.split(), "-datapattern", *pattern.split(), "-verify",
                 "contents", *more, **kwargs)


PATTERNS = ("x", "x inverse", "ascii hello", "ascii hello replicate", "hex 0123456789", "hex 01ff replicate inverse",
            "sequenced", "sequenced prefix 0123", "sequenced prefix ab inverse", "random", "random inverse", "randbytarget",
            "lfpat", "ltpat", "cjtpat", "crpat", "cspat", "compress 50", "dedupe 50", "compress 30 dedupe 70", "tagged",
            "file CORPUS")


def test_every_pattern():
    corpus = t.path("corpus")
    with open(corpus, "wb") as f:
        f.write(bytes(random.Random(2).randrange(256) for _ in range(70001)))
    for pattern in PATTERNS:
        words = pattern.replace("CORPUS", corpus)
        file = write_file("every", words)
        run = check(file, words, "-reqsize 16 -qd 3")
        t.equal((run.status, run.err, "normally" in run.out), (0, "", True), "%s: good data" % pattern, run)
        if pattern.split()[0] in "x sequenced random randbytarget compress dedupe tagged file".split():
            for work in ("-reqsize 1", "-reqsize 256", "-blocksize 512 -reqsize 5 -seek random -numreqs 64 -mep 2"):
                if "-numreqs" not in work or "tagged" not in pattern:
                    run = check(file, words, work)
                    t.equal((run.status, run.err), (0, ""), "%s: in other requests, %s" % (pattern, work), run)
        data = read(file)
        at = 5 * 16384 + 1111
        poke(file, at, bytes([data[at] ^ 0x10]))
        run = check(file, words, "-reqsize 16 -qd 3")
        found = miscompares(run)
        t.ok(run.status == 7 and len(found) == 1 and found[0].op == 5 and found[0].offset == found[0].at == at and
             found[0].bytes == 1 and found[0].expected[0] == data[at] and found[0].found[0] == data[at] ^ 0x10 and
             found[0].kind == "flipped bits" and found[0].text == "bit 4 of byte %d" % at,
             "%s: one bit flipped" % pattern, run)
        t.ok("with errors" in run.out, "%s: the last line says so" % pattern)
    run = check(write_file("short", "sequenced", "-bytes 20001 -reqsize 4"), "sequenced", "-bytes 20001 -reqsize 4")
    t.equal((run.status, run.err), (0, ""), "a last request that is shorter", run)


def kinds(run):
    return [(m.kind, m.offset, m.bytes) for m in miscompares(run)]


def test_kinds_of_places():
    """Patterns that say where they belong."""
    for pattern in ("sequenced", "sequenced prefix 77 inverse", "random", "compress 20", "randbytarget"):
        file = write_file("places", pattern, "-reqsize 16 -numreqs 64")
        good = read(file)
        poke(file, 10 * 512, sector(good, 11) + sector(good, 10))
        poke(file, 100 * 512, sector(good, 2000, 4))
        poke(file, 200 * 512, bytes(3 * 512))
        poke(file, 300 * 512 + 256, bytes(255 ^ b for b in good[300 * 512 + 256:301 * 512]))
        poke(file, 400 * 512 + 17, bytes([good[400 * 512 + 17] ^ 0x81]))
        poke(file, 500 * 512, bytes(random.Random(3).randrange(256) for _ in range(1024)))
        run = check(file, pattern, more=("-maxerrorstoprint", 20))
        found = miscompares(run)
        t.equal([m.kind for m in found], ["misplaced", "misplaced", "misplaced", "zeros", "torn", "flipped bits",
                                          "other data"], pattern + ": each kind is named")
        texts = [m.text for m in found] + [""] * 7
        t.ok("offset %d" % (11 * 512) in texts[0] and "offset %d" % (10 * 512) in texts[1] and
             "offset %d" % (2000 * 512) in texts[2], pattern + ": misplaced: which place", run)
        t.ok("first 256 are right" in texts[4] and "bit 0 of byte %d, bit 7 of byte %d" % ((400 * 512 + 17,) * 2) in
             texts[5], pattern + ": torn where, flipped which", run)
        t.ok(run.status == 7 and "a total of 7 data miscompares" in run.err and
             all(good[m.at:m.at + len(m.expected)] == m.expected and
                 read(file)[m.at:m.at + len(m.found)] == m.found for m in found),
             pattern + ": what was expected and found", run)


def tagged_pair():
    """A file of two passes, and what it was after the first; and after an earlier run."""
    file = write_file("tagged", "tagged", "-reqsize 16 -numreqs 64")
    earlier = read(file)
    run = t.xdd("-op", "write", "-targets", 1, file, *"-reqsize 16 -numreqs 64 -passes 2 -passdelay 1".split(),
                "-datapattern", "tagged")
    return file, earlier, run


def test_kinds_of_tags():
    file, earlier, run = tagged_pair()
    good = read(file)
    for work in ("-reqsize 16", "-reqsize 4", "-reqsize 1024", "-reqsize 64 -qd 8"):
        run = check(file, "tagged", work)
        t.equal((run.status, run.err), (0, ""), "tagged, %s: good data" % work, run)
    # Where the data differs: the data after the cut may begin with a byte that is right by chance.
    cut = next(i for i in range(256, 512) if sector(good, 300)[i] != sector(earlier, 300)[i])
    lost = next(i for i in range(256, 512) if sector(good, 302)[i - 1])
    rows = (
        ("swapped", 10, sector(good, 11) + sector(good, 10), ["misplaced", "misplaced"], "offset %d of target 0" % (11 * 512)),
        ("from far away", 100, sector(good, 2000, 4), ["misplaced"], "offset %d " % (2000 * 512)),
        ("zeroed", 200, bytes(3 * 512), ["zeros"], ""),
        ("torn", 300, sector(good, 300)[:cut] + sector(earlier, 300)[cut:], ["torn"],
         "first %d bytes of the sector at 153600" % cut),
        ("torn, the rest zeros", 301, sector(good, 301)[:300] + bytes(212), ["torn"], "rest is zeros"),
        ("torn, the head lost", 302, bytes(lost) + sector(good, 302)[lost:], ["torn"], "last %d" % (512 - lost)),
        ("a flipped bit of the payload", 400, flip(sector(good, 400), 177, 3), ["flipped bits"],
         "bit 3 of byte %d" % (400 * 512 + 177)),
        ("a flipped bit of the header", 401, flip(sector(good, 401), 33, 0), ["flipped bits"], "bit 0 of byte %d" % (401 * 512 + 33)),
        ("a flipped bit of the checksum", 402, flip(sector(good, 402), 9, 7), ["flipped bits"],
         "bit 7 of byte %d" % (402 * 512 + 9)),
        ("a flipped bit of the magic", 403, flip(sector(good, 403), 2, 1), ["flipped bits"], "bit 1 of byte %d" % (403 * 512 + 2)),
        ("replayed sectors", 500, sector(earlier, 500, 3), ["stale"], "pass 1 of run"),
        ("a replayed request", 32 * 20, sector(earlier, 32 * 20, 32), ["stale"], "pass 1 of run"),
        ("the first request, replayed", 0, sector(earlier, 0, 32), ["stale"], "pass 1 of run"),
        ("garbage", 600, bytes(random.Random(3).randrange(256) for _ in range(1024)), ["other data"], "no tag"),
    )
    for title, number, data, wanted, text in rows:
        poke(file, number * 512, data)
        for work in ("-reqsize 16", "-reqsize 512"):
            run = check(file, "tagged", work)
            found = miscompares(run)
            t.ok(run.status == 7 and [m.kind for m in found] == wanted and text in found[0].text and
                 found[0].offset // 512 == number, "tagged, %s, %s: named" % (title, work), run)
            t.ok(sum(m.bytes for m in found) <= len(data) and
                 all(read(file)[m.at:m.at + len(m.found)] == m.found for m in found),
                 "tagged, %s, %s: no more than that, and what was found" % (title, work), run)
        poke(file, number * 512, sector(good, number, len(data) // 512))
    run = check(file, "tagged")
    t.equal((run.status, run.err), (0, ""), "tagged: mended again", run)


def flip(data, byte, bit):
    return data[:byte] + bytes([data[byte] ^ 1 << bit]) + data[byte + 1:]


def test_older_pass():
    """A write of the second pass of one run that was lost; both passes have the same run."""
    name = t.path("passes")
    t.xdd("-op", "write", "-targets", 1, name, *"-reqsize 16 -numreqs 64 -passes 2 -datapattern tagged "
          "-createnewfiles".split())
    file = name + ".00000002"
    old, good = read(name + ".00000001"), read(file)
    t.ok(old != good and len(old) == len(good), "two passes of one run differ")
    t.ok(check(file, "tagged").status == 0, "two passes of one run")
    poke(file, 32 * 30 * 512, sector(old, 32 * 30, 32))
    for work in ("-reqsize 16", "-reqsize 1024", "-reqsize 16 -seek random -numreqs 300 -qd 4 -timelimit 60"):
        run = check(file, "tagged", work)
        found = miscompares(run)
        t.ok(run.status == 7 and found and all(m.kind == "stale" and m.offset == 32 * 30 * 512 and m.bytes == 16384 and
                                               "pass 1" in m.text and "pass 2" in m.text for m in found),
             "a lost write of the second pass, %s" % work, run)


def test_stale_in_one_run():
    """The same run writes a block, another process restores the old data, and the run reads it."""
    file = write_file("inrun", "tagged", "-reqsize 4 -numreqs 16")
    old = read(file)
    load = t.path("list")
    run = t.xdd("-op", "write", "-targets", 1, t.path("other"), *"-reqsize 4 -numreqs 16 -seek save".split(), load)
    with open(load + ".T0.txt") as f:
        rows = [line for line in f if not line.startswith("#") and line.strip()]
    with open(load, "w") as f:
        f.writelines(rows)
        f.writelines(re.sub(r"\bw\b", "r", row) for row in rows)
    text = open(load).read()
    if " r" not in text:
        return t.skip("stale data within a run", "no list to be had")
    writer = subprocess.Popen(t.xdd_words("-targets", 1, file, "-reqsize", 4, "-seek", "load", load, "-operationdelay", 0.15,
                                          *TAGGED), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    t.until(lambda: sector(read(file), 15 * 8) != sector(old, 15 * 8), writer)
    poke(file, 12 * 4096, old[12 * 4096:13 * 4096])
    poke(file, 13 * 4096, bytes(4096))
    out, err = writer.communicate(timeout=t.TIMEOUT)
    run = t.Run([], writer.returncode, out, err)
    found = miscompares(run)
    t.ok(run.status == 7 and [(m.kind, m.offset, m.bytes) for m in found] ==
         [("stale", 12 * 4096, 4096), ("zeros", 13 * 4096, 4096)] and "earlier run" in found[0].text,
         "old data put back while the run goes on", run)
    return None


def test_misplaced_target():
    a, b = t.path("target.a"), t.path("target.b")
    words = ["-targets", 2, a, b, *"-reqsize 16 -numreqs 16".split()]
    t.xdd("-op", "write", *words, "-datapattern", "tagged")
    t.equal(t.xdd("-op", "read", *words, *TAGGED).status, 0, "two targets")
    run = t.xdd("-op", "read", "-targets", 1, b, "-reqsize", 16, *TAGGED)
    t.equal((run.status, run.err), (0, ""), "a target that had another number when it was written", run)
    poke(a, 20 * 512, sector(read(b), 20))
    run = t.xdd("-op", "read", *words, *TAGGED)
    found = miscompares(run)
    t.ok(run.status == 7 and len(found) == 1 and (found[0].target, found[0].path, found[0].kind) == (0, a, "misplaced") and
         "of target 1" in found[0].text, "data of another target", run)


def test_pattern_of_the_data():
    """Without -datapattern, tagged data is taken for what it is, or named so where another pattern is expected."""
    file = write_file("taken", "tagged")
    number = "%x" % struct.unpack_from("<Q", read(file), 16)
    words = ["-op", "read", "-targets", 1, file, "-reqsize", 16]
    for more in (["-verify"], ["-verify", "contents"], ["-verify", "contents", "-startoffset", 16]):
        run = t.xdd(*words, *more)
        t.equal((run.status, run.err), (0, ""), "tagged data, %s" % " ".join(map(str, more)), run)
    t.ok("tagged" in t.xdd("-dryrun", *words, "-verify").out, "-dryrun shows the pattern that was taken")
    run = t.xdd(*words, "-verify", "-datapattern", "random")
    # Tagged data depends on the time of its run: its first and last bytes may be the expected ones.
    wrong = [i for i, (a, b) in enumerate(zip(read(file)[:16 * K], read(write_file("expected", "random")))) if a != b]
    t.equal((run.status, kinds(run)[0], {m.text for m in miscompares(run)}),
            (7, ("other data", wrong[0], wrong[-1] + 1 - wrong[0]),
             {"tagged data of run %s: say -datapattern tagged" % number}),
            "tagged data where another pattern is expected", run)
    run = t.xdd(*words, "-verify", "location")
    advice = "-datapattern tagged -verify contents"
    t.ok(run.status == 7 and miscompares(run)[0].text == "tagged data of run %s: say %s" % (number, advice),
         "tagged data where sequenced data is expected", run)
    t.equal(t.xdd(*words, "-verify", "location", *advice.split()).status, 0, "the advised options verify it")
    run = t.xdd(*words[:-2], *"-blocksize 1000 -reqsize 1 -verify".split())
    t.ok(run.status == 2 and "-verify of tagged data: the request size" in run.err, "requests that are not whole sectors", run)
    poke(file, 100, b"damaged")
    run = t.xdd(*words, "-verify")
    t.equal((run.status, [m.offset // 512 for m in miscompares(run)]), (7, [0]), "a damaged first sector", run)
    zeros = t.make_file("zeros", 64 * K)
    poke(zeros, 0, bytes(64 * K))
    run = t.xdd("-op", "read", "-targets", 1, zeros, "-reqsize", 16, "-verify")
    t.equal((run.status, run.err), (0, ""), "data without tags is compared with zeros", run)


def test_location():
    file = write_file("location", "sequenced", "-reqsize 16 -numreqs 8")
    good = read(file)
    words = ["-op", "read", "-targets", 1, file, "-reqsize", 16, "-verify", "location"]
    t.ok(t.xdd(*words).status == 0, "-verify location: good data")
    poke(file, 40 * 512 + 100, b"xxxx")
    t.ok(t.xdd(*words).status == 0, "-verify location looks at the first word of each sector")
    poke(file, 41 * 512, sector(good, 50))
    poke(file, 60 * 512, bytes(512))
    run = t.xdd(*words)
    found = miscompares(run)
    t.ok(run.status == 7 and [(m.kind, m.offset // 512) for m in found] == [("misplaced", 41), ("zeros", 60)] and
         "offset %d" % (50 * 512) in found[0].text, "-verify location: data of another offset", run)
    run = t.xdd("-op", "read", "-targets", 1, file, "-reqsize", 16, "-datapattern", "sequenced")
    t.ok(run.status == 7, "reading with -datapattern sequenced verifies by itself", run)


def test_words_add_up():
    """-verify location and contents, in one option and in several; neither turns off what the other checks."""
    words = ["-op", "read", "-reqsize", 16, "-targets", 1]
    file = write_file("sum", "sequenced", "-reqsize 16 -numreqs 8")
    both = ("-verify location contents", "-verify contents location", "-verify location -verify contents",
            "-verify contents -verify location", "-verify contents -verify target 0 location")
    for given in both:
        run = t.xdd(*words, file, *given.split())
        t.equal((run.status, run.err), (0, ""), given + ": location implies sequenced, good data", run)
    poke(file, 40 * 512 + 100, b"xxxx")
    for given in both + tuple("-dp sequenced " + g for g in both + ("", "-verify contents", "-verify location")):
        run = t.xdd(*words, file, *given.split())
        t.ok(run.status == 7 and len(miscompares(run)) == 1, given + ": four bytes after the first word", run)
    t.ok(t.xdd(*words, file, "-verify", "location").status == 0, "-verify location alone looks at the first words")
    file = write_file("sum.inverse", "sequenced inverse prefix 0123", "-reqsize 16 -numreqs 8")
    run = t.xdd(*words, file, *"-verify location -dp inverse -dp prefix 0123".split())
    t.equal((run.status, run.err), (0, ""), "-verify location: the implied pattern has the modifiers that were given",
            run)
    run = t.xdd(*words, file, *"-verify location -dp prefix 0123".split())
    t.ok(run.status == 7, "-verify location: and is compared with them", run)
    file = write_file("sum.tagged", "tagged", "-reqsize 16 -numreqs 8")
    run = t.xdd(*words, file, *"-dp tagged -verify location contents".split())
    t.equal((run.status, run.err), (0, ""), "tagged: contents are location too", run)
    poke(file, 512, sector(read(file), 5))
    t.equal([m.kind for m in miscompares(t.xdd(*words, file, *"-dp tagged -verify location contents".split()))],
            ["misplaced"], "tagged, -verify location contents: data of another offset")
    # A target that only writes has its own pattern; one that has none writes what the others look for.
    one, two = t.path("sum.one"), t.path("sum.two")
    run = t.xdd("-op", "write", "-op", "target", 2, "read", "-targets", 3, one, two, file, *"-reqsize 16 -numreqs 8 "
                "-dp target 0 A -dp target 2 tagged -verify location -verify target 2 contents".split())
    t.ok(run.status == 7 and read(one) == b"A" * 131072 and
         read(two) == b"".join(struct.pack("<Q", at) for at in range(0, 131072, 8)),
         "-verify location: a pattern that is named is written, sequenced where none is", run)


_NO_READ = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned calls;

/*
 * Says that it has read a file called lost, and has not touched the buffer after its first 700 bytes. One called
 * lost again it has read, every other time, and says that it has not.
 */
ssize_t pread64(int fd, void *buf, size_t size, off64_t at)
{
	char link[64], path[4096] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, "/lost")) {
		if (strstr(path, "/lost again") && ++calls % 2) {
			syscall(SYS_pread64, fd, buf, size, at);
			errno = EIO;
			return -1;
		}
		syscall(SYS_pread64, fd, buf, (size_t)700, at);
		return (ssize_t)size;
	}
	return syscall(SYS_pread64, fd, buf, size, at);
}

ssize_t pread(int fd, void *buf, size_t size, off_t at)
{
	return pread64(fd, buf, size, at);
}
"""


def no_read():
    """The environment in which reads of the file "lost" transfer their first 700 bytes only, or None."""
    return xddsys.preload("noread", _NO_READ)


def same_kinds(found, wanted, pattern):
    """Tagged data differs from run to run, and a byte at an end of a torn extent may be right by chance."""
    chance = 3 if pattern == "tagged" else 0
    return len(found) == len(wanted) and all(
        kind == w_kind and 0 <= at - w_at <= chance and 0 <= w_at + w_count - at - count <= chance
        for (kind, at, count), (w_kind, w_at, w_count) in zip(found, wanted))


def test_nothing_transferred():
    """A read that says it has read, and has not."""
    env = no_read() if not t.ENGINE else None
    if env is None:
        return t.skip("data that never arrived", "no compiler, or another engine")
    for pattern in ("random", "x", "sequenced", "tagged"):
        file = write_file("lost", pattern, "-reqsize 4 -numreqs 16")
        run = check(file, pattern, "-reqsize 4 -numreqs 3", ["-ioengine", "psync"], env=env)
        wanted = [row for op in range(3) for row in (("torn", op * 4096 + 700, 324), ("never transferred", op * 4096 + 1024, 3072))]
        t.ok(run.status == 7 and same_kinds(kinds(run), wanted, pattern) and "never transferred" in miscompares(run)[0].text,
             "data that never arrived, " + pattern, run)
        file = write_file("lost again", pattern, "-reqsize 4 -numreqs 16")
        run = check(file, pattern, "-reqsize 4 -numreqs 3 -retry 1", ["-ioengine", "psync"], env=env)
        t.ok(run.status == 7 and same_kinds(kinds(run), wanted, pattern),
             "the data of a failed try does not pass for that of the next one, " + pattern, run)
    return None


def test_limits():
    file = write_file("limits", "x", "-reqsize 1 -numreqs 100")
    poke(file, 0, b"y" * 50 * K)
    run = check(file, "x", "-reqsize 1")
    t.ok(run.status == 7 and len(miscompares(run)) == 10 and "a total of 50 data miscompares, 51200 bytes, 10 are shown" in run.err,
         "ten lines and the sum", run)
    run = check(file, "x", "-reqsize 1", ("-maxerrorstoprint", 3))
    t.ok(run.status == 7 and len(miscompares(run)) == 3 and ", 3 are shown" in run.err, "-maxerrorstoprint 3", run)
    run, rows = t.xdd_csv("-op", "read", "-targets", 1, file, *"-reqsize 1 -datapattern x -verify contents -maxerrors 5 "
                          "-passes 2 -verbose -outputformat add +ERRORS+MISCOMPARES".split())
    got = [(r["WHAT"], r["OPS"], r["ERRORS"], r["MISCOMPARES"]) for r in rows]
    t.equal(got, [("TARGET_PASS", "5", "0", "5")] * 2 + [("TARGET_AVERAGE", "10", "0", "10"), ("COMBINED", "10", "0", "10")],
            "-maxerrors ends the passes; operations and miscompares are counted apart")
    t.equal(len([x for x in run.error_lines() if "-maxerrors)" in x]), 2, "-maxerrors says so")
    run, rows = t.xdd_csv("-op", "read", "-targets", 1, file, *"-reqsize 1 -datapattern x -verify contents -stoponerror "
                          "-passes 3 -verbose".split())
    t.ok(run.status == 7 and [r["OPS"] for r in rows if r["WHAT"] == "TARGET_PASS"] == ["1"], "-stoponerror", run)
    run = check(file, "x", "-reqsize 1 -numreqs 110 -timelimit 60")
    t.equal((run.status, "END-OF-FILE" in run.err), (7, True), "miscompares and I/O errors: the status is 7", run)
    run = check(file, "x", "-reqsize 1 -startoffset 60 -numreqs 110 -timelimit 60")
    t.ok(run.status == 6 and not miscompares(run), "I/O errors alone: 6", run)
    run = check(file, "x", "-reqsize 1 -startoffset 50")
    t.ok(run.status == 0, "none where the data is good", run)


def overlapping_in_part():
    """Requests of all sizes at all places: each overlaps others in a part of it only."""
    draw = random.Random(4)
    load = t.path("parts")
    with open(load, "w", encoding="ascii") as f:
        for n in range(200000 if LONG else 6000):
            size = draw.randrange(1, 33)
            f.write("%d %d %d %s\n" % (n, draw.randrange(512 - size), size, draw.choice("rrw")))
    for engine in ENGINES:
        words = ["-ioengine"] + engine.split()
        if words[1] not in t.engines():
            t.skip("requests that overlap in part, " + engine, "not to be had here")
            continue
        file = write_file("parts.data", "tagged", "-reqsize 256 -numreqs 1")
        run = t.xdd("-targets", 1, file, *words, *"-blocksize 512 -reqsize 32 -qd 32 -passes 3 -seek load".split(), load,
                    *TAGGED)
        t.equal((run.status, run.err), (0, ""), "requests that overlap in part, %s: no alarm" % engine, run)
        if engine != "mmap":
            for work in ("-reqsize 256", "-blocksize 512 -reqsize 7 -bytes 262144"):
                run = check(file, "tagged", work)
                t.equal((run.status, run.err), (0, ""), "%s: and what is left is right, %s" % (engine, work), run)


def cut_off_between_passes():
    """-pretruncate with -reopen takes away what the passes before wrote: nothing is expected there, but it is before."""
    work = "-passes 3 -reopen -pretruncate 512k -reqsize 4 -numreqs 400 -qd 4 -seek random -seek range 1024 -randomize -timelimit 60".split()
    file = t.make_file("cut", 1 << 20)
    run = t.xdd("-rwratio", 50, "-targets", 1, file, *work, *TAGGED)
    t.equal(("MISCOMPARE" in run.err, " wrong" in run.err, run.status in (0, 6)), (False, False, True),
            "-reopen -pretruncate: nothing is expected after the end of the file", run)


def test_mixed():
    # In real time: in virtual time one thread runs at a time, and operations do not overlap.
    operations, others = (10000000, 20000) if LONG else (5000, 5000)
    for engine in ENGINES:
        words = ["-ioengine"] + engine.split()
        if words[1] not in t.engines():
            t.skip("mixed operations, " + engine, "not to be had here")
            continue
        for size, extra in ((8, ""), (3, "-startoffset 1"), (8, "-ordering storage loose"), (8, "-threads 3")):
            if "threads" in extra and engine in ("psync", "mmap"):
                continue
            file = write_file("mixed", "tagged", "-reqsize 512 -mbytes 1", real=True)
            run = t.xdd("-rwratio", 50, "-targets", 1, file, *words, "-reqsize", size, "-numreqs",
                        operations if engine == ENGINES[0] and not extra else others, "-qd", 32,
                        *"-seek random range 500 -passes 2 -randomize".split(), *TAGGED, *extra.split(),
                        timeout=1200 if LONG else t.TIMEOUT, real=True)
            t.equal((run.status, run.err), (0, ""),
                    "mixed operations at depth 32, %s, %d KiB %s: no alarm" % (engine, size, extra), run)
            if engine != "mmap":
                run = check(file, "tagged", "-reqsize 64", real=True)
                t.equal((run.status, run.err), (0, ""), "%s: and what is left is right" % engine, run)
    overlapping_in_part()
    cut_off_between_passes()
    file = t.make_file("untagged", 1 << 20)
    run = t.xdd("-rwratio", 50, "-targets", 1, file, *"-reqsize 4 -numreqs 2000 -seek random -qd 8 -bytes 1m".split()[:-2],
                *"-seek range 1024".split(), *TAGGED)
    t.equal((run.status, "sectors without a tag" in run.err, "note" in run.err), (0, True, True),
            "sectors without a tag cannot be judged, and are counted", run)
    for pattern in ("sequenced", "random", "x", "ascii abc replicate"):
        file = write_file("mixed", pattern, "-reqsize 4 -mbytes 1")
        run = t.xdd("-rwratio", 50, "-targets", 1, file, *"-reqsize 4 -numreqs 4000 -qd 8 -seek random range 1024".split(),
                    "-datapattern", *pattern.split(), "-verify", "contents")
        t.equal((run.status, run.err), (0, ""), "mixed operations with %s" % pattern, run)
        poke(file, 0, bytes(b ^ 255 for b in read(file)))
        run = t.xdd("-rwratio", 50, "-targets", 1, file, *"-reqsize 4 -numreqs 40 -seek random range 1024".split(),
                    "-datapattern", *pattern.split(), "-verify", "contents")
        t.ok(run.status == 7, "mixed operations with %s: what was not written in the run is checked too" % pattern, run)


def test_mixed_finds():
    """An injector at work while reads and writes overlap: something is found, and none of it is blamed on a place it is not."""
    file = write_file("hurt", "tagged", "-reqsize 4 -numreqs 64")
    run = subprocess.Popen(t.xdd_words("-rwratio", 90, "-targets", 1, file, *"-reqsize 4 -timelimit 4 -qd 8 -maxerrors 1 -seek "
                                       "random range 256".split(), *TAGGED), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True)
    end = time.monotonic() + 20
    while run.poll() is None and time.monotonic() < end:
        poke(file, 77 * 512, bytes(512))
        time.sleep(0.005)
    out, err = run.communicate(timeout=t.TIMEOUT)
    run = t.Run([], run.returncode, out, err)
    found = miscompares(run)
    t.ok(run.status == 7 and found and all(m.kind in ("zeros", "torn") and m.offset // 512 == 77 for m in found),
         "a sector that is zeroed again and again", run)


def test_engines():
    for engine in ENGINES:
        words = ["-ioengine"] + engine.split()
        if words[1] not in t.engines():
            t.skip("verifying, " + engine, "not to be had here")
            continue
        for pattern in ("random", "tagged", "x"):
            file = write_file("engines", pattern, "-reqsize 16 -numreqs 16")
            for depth in (1, 5):
                run = check(file, pattern, "-reqsize 16 -qd %d" % depth, words)
                t.equal((run.status, run.err), (0, ""), "%s, %s, depth %d" % (pattern, engine, depth), run)
            poke(file, 50 * 512, bytes(512))
            run = check(file, pattern, "-reqsize 16 -qd 5", words)
            t.equal(kinds(run), [("zeros", 50 * 512, 512)], "%s, %s: a sector of zeros" % (pattern, engine))


def test_dio():
    file = write_file("direct", "tagged", "-reqsize 16 -numreqs 16")
    run = check(file, "tagged", "-reqsize 16 -dio")
    if run.status == 4 or "O_DIRECT" in run.err:
        return t.skip("-dio", "not on this file system")
    t.ok(run.status == 0, "-dio", run)
    return None


def test_refused():
    file = t.make_file("data", 64 * K)
    before = read(file)
    rows = (
        ("-op read -targets 1 F -verify all", 3, "contents"),
        ("-op read -targets 1 F -verify content", 3, "contents"),
        ("-op write -targets 1 F -numreqs 2 -verify contents", 2, "nothing is read"),
        ("-op noop -targets 1 F -numreqs 2 -verify contents", 2, "noop"),
        ("-op read -targets 1 null -numreqs 2 -verify contents", 2, "null"),
        ("-op read -targets 1 F -ioengine null -verify contents", 2, "-ioengine null transfers no data"),
        ("-op read -targets 1 F -ioengine mmap touch -verify contents", 2, "-ioengine mmap with these keywords"),
        ("-op read -targets 2 F null -numreqs 2 -verify target 1 contents", 2, "null"),
        ("-op read -op target 1 write -targets 2 F F2 -numreqs 2 -verify target 1 contents", 2, "nothing is read"),
        ("-op read -targets 1 F -datapattern tagged -verify location", 2, "contents"),
        ("-op read -targets 1 F -datapattern A -verify location", 2, "-verify location: is for sequenced data"),
        ("-op read -targets 1 F -datapattern random -verify location contents", 2, "say -datapattern sequenced"),
        ("-rwratio 50 -targets 1 F -numreqs 2 -datapattern A -verify location", 2, "-verify location: is for sequenced data"),
        ("-op read -targets 1 F -datapattern tagged -blocksize 1000 -reqsize 1 -verify contents", 2, "512"),
    )
    for words, status, text in rows:
        run = t.xdd(*[file if w == "F" else t.path("new") if w == "F2" else w for w in words.split()])
        t.equal((run.status, len(run.error_lines()), text in run.err, run.out), (status, 1, True, ""),
                "refused: " + words, run)
    t.ok(read(file) == before and not os.path.exists(t.path("new")), "refused, and nothing done")
    run = t.xdd("-op", "read", "-targets", 3, file, "null", t.path("new"), *"-op target 2 write -numreqs 2 -reqsize 1 "
                "-datapattern target 2 x -verify contents -datapattern target 0 file".split(), file)
    t.equal((run.status, run.err), (0, ""), "targets that nothing is read from are left out", run)
    for words, wanted in (("", "disabled."), ("-verify contents", "enabled for Content verification."),
                          ("-verify location", "enabled for Location verification."),
                          ("-verify location contents",
                           "enabled for Location verification. enabled for Content verification.")):
        run = t.xdd("-dryrun", "-op", "read", "-targets", 1, file, *words.split())
        t.ok("\t\tData buffer verification is %s\n" % wanted in run.out, "the information section, " + (words or "no -verify"))


def test_shared_file():
    """Two targets that write tagged data to the same offset would each take the data of the other for wrong."""
    file = t.make_file("shared", 1 << 20)
    link = t.path("shared.link")
    os.symlink(file, link)
    before = read(file)
    work = "-reqsize 4 -seek random -seek range 512".split()
    for words in (["-rwratio", 50, "-numreqs", 64], ["-rwratio", 50, "-rwratio", "target", 0, 0, "-numreqs", 64],
                  ["-rwratio", 50, "-startoffset", "target", 1, 511, "-numreqs", 64], ["-rwratio", 50, "-timelimit", 1]):
        run = t.xdd("-targets", 2, file, link, *work, *words, *TAGGED)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and "writes to the same bytes" in run.err and
             read(file) == before, "refused: %s" % words, run)
    for words in (["-rwratio", 50, "-targetoffset", 512], ["-rwratio", 50, "-rwratio", "target", 1, 100]):
        run = t.xdd("-targets", 2, file, link, *work, "-numreqs", 1000, "-qd", 4, "-passes", 2, *words, *TAGGED)
        t.equal((run.status in (0, 7), "same bytes" in run.err), (True, False), "not refused: %s" % words, run)
        t.ok(run.status == 0 or "target" in words, "parts of their own, no alarm", run)
    run = t.xdd("-targets", 2, file, link, *"-rwratio 50 -reqsize 4 -numreqs 64 -seek interleave 2 -passes 2".split(), "-startoffset",
                "target", 1, 4, *TAGGED)
    t.equal(("same bytes" in run.err, run.status in (0, 6)), (False, True),
            "interleaved with each other: nothing is shared", run)


t.run(test_shared_file, test_every_pattern, test_kinds_of_places, test_kinds_of_tags, test_older_pass, test_stale_in_one_run,
      test_misplaced_target, test_pattern_of_the_data, test_location, test_words_add_up, test_nothing_transferred, test_limits, test_mixed, test_mixed_finds, test_engines,
      test_dio, test_refused)
t.done()
