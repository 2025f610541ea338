#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-datapattern: the data written, compared with data computed here independently from the guide and the user guide;
its compressibility and number of copies; and the arguments that are refused.
"""
import collections
import hashlib
import os
import random
import re
import struct
import subprocess

import messages as m
import xddtest as t

t.may_warn(m.STRICT_URING)

K, M = 1 << 10, 1 << 20
ENGINES = [t.ENGINE] if t.ENGINE else ["psync", "io_uring", "io_uring fixedbufs", "libaio", "mmap"]


def read(file):
    with open(file, "rb") as f:
        return f.read()


_files = 0


def written(pattern, work="-reqsize 4 -numreqs 4", status=0, name=None):
    """The bytes of a new file written with this pattern (words, or one string)."""
    global _files
    _files += 1
    file = name or t.path("w%d" % _files)
    words = pattern.split() if isinstance(pattern, str) else list(pattern)
    run = t.xdd("-op", "write", "-targets", 1, file, *work.split(), *(["-datapattern"] + words if words else []))
    if run.status != status:
        t.diag(run)
    return read(file) if os.path.exists(file) else b""


def tiled(tile, size):
    return (tile * (size // len(tile) + 1))[:size]


def sequence(size, start=0, prefix="", step=8):
    bits = 4 * len(prefix)
    top = int(prefix, 16) << (64 - bits) if prefix else 0
    keep = (1 << (64 - bits)) - 1
    return b"".join(struct.pack("<Q", ((start + at) & keep) | top) for at in range(0, size, step))


def inverse(data):
    return bytes(255 - byte for byte in data)


def hexes(text):
    """'6*(bc 95) fe' to bytes."""
    out = b""
    for times, group, single in re.findall(r"(?:(\d+)\*)?(?:\(([^)]*)\)|(\w\w))", text):
        out += bytes.fromhex(group or single) * int(times or 1)
    return out


EIGHT_TEN = {
    "lfpat": (256, "128*ab eb 124*54 f4 ab ab"),
    "ltpat": (512, "ee fe c7 f1 fe 27 6*7e fc e3 fc e3 492*7e fc e3 fc e3"),
    "cjtpat": (248, "6*(bc 95 b5 b5) bc b5 36 36 151*7e 74 7e ab 51*b5 5e 4a 4*7e fe f5 2e f6 dd bc b5 d5 d5"),
    "crpat": (228, "6*(bc 95 b5 b5) bc b5 36 36 16*(be d7 23 47 6b 8f b3 14 5e fb 35 59) ee 23 55 16 bc b5 d5 d5"),
    "cspat": (2048, "6*(bc 95 b5 b5) bc b5 36 36 2012*7f f1 96 db 97 bc b5 d5 d5"),
}


def each_request(data, requests=4):
    return data * requests


def once(head, size=4096):
    return head[:size] + bytes(size - len(head[:size]))


def test_contents():
    q = 4096
    file = t.path("corpus")
    corpus = bytes(random.Random(1).randrange(256) for _ in range(5003))
    with open(file, "wb") as f:
        f.write(corpus)
    rows = [
        ("", bytes(4 * q)),
        ("x", b"x" * 4 * q),
        ("-", b"-" * 4 * q),
        ("x inverse", bytes([255 - ord("x")]) * 4 * q),
        ("inverse", b"\xff" * 4 * q),
        ("ascii hello", each_request(once(b"hello"))),
        ("ascii hello replicate", each_request(tiled(b"hello", q))),
        (["ascii", "two words"], each_request(once(b"two words"))),
        ("ascii " + "0123456789" * 500, each_request(tiled(b"0123456789", q))),
        ("hex 0123", each_request(once(b"\x01\x23"))),
        ("hex fED", each_request(once(b"\x0f\xed"))),
        ("replicate hex abcde", each_request(tiled(b"\x0a\xbc\xde", q))),
        ("hex 00ff replicate inverse", each_request(tiled(b"\xff\x00", q))),
        ("sequenced", sequence(4 * q)),
        ("sequenced prefix 0123", sequence(4 * q, prefix="0123")),
        ("prefix f sequenced", sequence(4 * q, prefix="f")),
        ("sequenced prefix 0123456789abcdef", sequence(4 * q, prefix="0123456789abcdef")),
        ("sequenced inverse", inverse(sequence(4 * q))),
        ("sequenced prefix ab inverse", inverse(sequence(4 * q, prefix="ab"))),
        ("file " + file, tiled(corpus, 4 * q)),
        ("random sequenced", sequence(4 * q)),
        ("sequenced prefix 01 -datapattern x", b"x" * 4 * q),
        ("replicate -datapattern hex deadbeef", each_request(tiled(b"\xde\xad\xbe\xef", q))),
        ("hex deadbeef -datapattern replicate", each_request(tiled(b"\xde\xad\xbe\xef", q))),
        (["replicate", "-datapattern", "ascii", "hello world"], each_request(tiled(b"hello world", q))),
        ("replicate -datapattern inverse -datapattern hex 00ff", each_request(tiled(b"\xff\x00", q))),
        ("prefix 0123 -datapattern sequenced", sequence(4 * q, prefix="0123")),
        ("sequenced -datapattern prefix 0123", sequence(4 * q, prefix="0123")),
        ("prefix 0123 -datapattern x -datapattern sequenced", sequence(4 * q, prefix="0123")),
        ("prefix ab -datapattern inverse -datapattern sequenced", inverse(sequence(4 * q, prefix="ab"))),
        ("inverse -datapattern sequenced", inverse(sequence(4 * q))),
        ("inverse -datapattern x -datapattern ascii hello", inverse(each_request(once(b"hello")))),
        ("inverse -datapattern target 0 lfpat", inverse(each_request(tiled(hexes(EIGHT_TEN["lfpat"][1]), q)))),
        ("hex 01 replicate -datapattern hex 02", b"\x02" * 4 * q),
        ("compress 50 -datapattern compress 100", bytes(4 * q)),
        ("compress 100", bytes(4 * q)),
        ("dedupe 100", None),
    ]
    rows += [(name, each_request(tiled(hexes(text), q))) for name, (size, text) in EIGHT_TEN.items()]
    for name, (size, text) in EIGHT_TEN.items():
        t.equal(len(hexes(text)), size, "the published length of " + name)
    for words, wanted in rows:
        got = written(words)
        if wanted is None:
            t.ok(len(got) == 4 * q and got == got[:q] * 4 and got[:q] != bytes(q), "-datapattern dedupe 100: one unit")
        else:
            text = words if isinstance(words, str) else " ".join(words)
            t.ok(got == wanted, "-datapattern " + text[:60],
                 "got:    %s\nwanted: %s" % (got[:64].hex(), wanted[:64].hex()))
    got = written("sequenced prefix 12", "-blocksize 1000 -reqsize 3 -bytes 8004 -startoffset 2")
    t.equal(got[2000:], b"".join(sequence(3000, at, "12") for at in (2000, 5000, 8000))[:8004],
            "sequenced, requests that are no power of two")
    got = written("sequenced", "-blocksize 1001 -reqsize 1 -numreqs 3")
    t.equal(got, b"".join(sequence(1008, at)[:1001] for at in (0, 1001, 2002)),
            "sequenced, requests off the words: each begins with its own offset")


def test_warning():
    file = t.path("warned")
    run = t.xdd("-op", "write", "-targets", 1, file, *"-reqsize 1 -numreqs 1 -datapattern word".split(),
                warns="-datapattern word: ")
    t.equal((run.status, len(run.error_lines())), (0, 1), "an unknown word: a warning", run)
    t.ok(read(file) == b"w" * K, "an unknown word: its first character")
    run = t.xdd("-op", "write", "-targets", 1, file, *"-reqsize 1 -numreqs 1 -datapattern zeros".split(),
                warns="-datapattern zeros: ")
    t.ok(run.status == 0 and run.err.endswith("z, is used; zeros are the data without -datapattern\n"), "zeros: what to do", run)


# Random data, from its published parts: Philox4x32-10 (Salmon and others, 2011), splitmix64 and xoshiro256+ (Vigna).

MASK = (1 << 64) - 1


def philox(ctr, key):
    c, k = list(ctr), list(key)
    for _ in range(10):
        p0, p1 = 0xd2511f53 * c[0], 0xcd9e8d57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xffffffff, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xffffffff]
        k = [(k[0] + 0x9e3779b9) & 0xffffffff, (k[1] + 0xbb67ae85) & 0xffffffff]
    return c


def splitmix(x):
    while True:
        x = (x + 0x9e3779b97f4a7c15) & MASK
        z = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & MASK
        z = ((z ^ z >> 27) * 0x94d049bb133111eb) & MASK
        yield z ^ z >> 31


def chunk(number, seed=72058, target=0):
    """4 KiB: eight generators side by side; 64 chunks share a draw of Philox."""
    out = philox((number // 64, 0, 0, target << 16 | 2 << 8), (seed & 0xffffffff, seed >> 32))
    own = next(splitmix(((out[1] << 32 | out[0]) + number % 64 * 0xd1342543de82ef95) & MASK))
    states = splitmix(own)
    words = [[next(states) for _ in range(8)] for _ in range(2)]
    golden = 0x9e3779b97f4a7c15
    words.append([((w << 32 | w >> 32) + golden) & MASK for w in words[0]])
    words.append([w ^ golden for w in words[1]])
    lanes = [[words[i][lane] for i in range(4)] for lane in range(8)]
    data = []
    for _ in range(64):
        for s in lanes:
            data.append((s[0] + s[3]) & MASK)
            shifted = (s[1] << 17) & MASK
            s[2] ^= s[0]
            s[3] ^= s[1]
            s[1] ^= s[2]
            s[0] ^= s[3]
            s[2] ^= shifted
            s[3] = (s[3] << 45 | s[3] >> 19) & MASK
    return struct.pack("<512Q", *data)


def test_random():
    wanted = b"".join(chunk(n) for n in range(16))
    t.ok(written("random", "-reqsize 4 -numreqs 16") == wanted, "random: what its description says")
    for work in ("-reqsize 64 -numreqs 1", "-reqsize 1 -numreqs 64 -qd 4", "-blocksize 512 -reqsize 3 -bytes 65536",
                 "-reqsize 4 -numreqs 16 -seek random range 64 -rwratio 0 -passes 1"):
        got = written("random", work)
        same = [n for n in range(16) if got[n * 4096:(n + 1) * 4096] == wanted[n * 4096:(n + 1) * 4096]]
        t.ok(len(same) == 16 or ("random" in work and len(same) > 4), "random, %s: same at each offset" % work, same)
    t.ok(written("random -seek seed 5") == b"".join(chunk(n, 5) for n in range(4)), "random: of another seed")
    t.ok(written("random inverse") == inverse(wanted[:4 * 4096]), "random inverse")
    a, b = t.path("by.a"), t.path("by.b")
    t.xdd("-op", "write", "-targets", 2, a, b, *"-reqsize 4 -numreqs 2 -datapattern randbytarget".split())
    t.ok(read(a) == chunk(0, target=1) + chunk(1, target=1) and read(b) == chunk(0, target=2) + chunk(1, target=2),
         "randbytarget: of each target's number")
    t.xdd("-op", "write", "-targets", 2, a, b, *"-reqsize 4 -numreqs 2 -datapattern target 1 random".split(), "-dp",
          "target", "0", "y")
    t.ok(read(a) == b"y" * 8192 and read(b) == wanted[:8192], "a pattern for each target")


def zstd(data, level):
    return len(subprocess.run(["zstd", "-c", "-%d" % level], input=data, stdout=subprocess.PIPE, check=True).stdout)


def test_reducible():
    data = written("random", "-reqsize 256 -mbytes 4")
    if t.have("zstd"):
        t.ok(zstd(data, 3) >= len(data), "random data cannot be compressed")
        # zstd itself stores blocks as they are when it would save less than 1/64 of them.
        for percent in (0, 2, 10, 33, 50, 75, 99):
            data = written("compress %d" % percent, "-reqsize 256 -mbytes 4")
            # Its fastest level skips over zeros that are few.
            for level in (1, 3, 9) if percent not in range(1, 10) else (3, 9):
                saved = 100 * (1 - zstd(data, level) / len(data))
                t.ok(abs(saved - percent) < 1, "compress %d: zstd -%d saves that" % (percent, level), saved)
    else:
        t.skip("compress", "no zstd")
    for percent in (0, 1, 10, 33, 50, 75, 99):
        for work in ("-reqsize 256 -mbytes 8", "-reqsize 4 -mbytes 8 -qd 4", "-reqsize 64 -mbytes 2 -startoffset 3072"):
            data = written("dedupe %d" % percent, work)[3 * M if "startoffset" in work else 0:]
            units = collections.Counter(hashlib.sha1(data[at:at + 4096]).digest() for at in range(0, len(data), 4096))
            copies = 100 * (1 - len(units) / (len(data) // 4096))
            t.ok(abs(copies - percent) < 1, "dedupe %d, %s: a chunk hasher finds that" % (percent, work), copies)
    data = written("compress 60 dedupe 40", "-reqsize 256 -mbytes 4")
    units = {data[at:at + 4096] for at in range(0, len(data), 4096)}
    t.ok(abs(1 - len(units) / 1024 - 0.4) < 0.01 and all(u[1639:] == bytes(2457) and u[:1639] != bytes(1639)
                                                         for u in units), "compress and dedupe together")
    t.ok(data == written("dedupe 40 compress 60", "-reqsize 64 -mbytes 4 -qd 3"), "and in the other order, and requests")
    for two in ("compress 60 -datapattern dedupe 40", "dedupe 40 -datapattern compress 60",
                "random -datapattern compress 9 -datapattern dedupe 40 -datapattern compress 60",
                "compress 60 -datapattern dedupe 9 random dedupe 40"):
        t.ok(data == written(two, "-reqsize 256 -mbytes 4"), "and in options of their own: " + two)
    t.ok(written("compress 60", "-reqsize 256 -mbytes 4") == written("dedupe 40 -datapattern target 0 compress 60", "-reqsize 256 -mbytes 4"),
         "the pattern of a target replaces the one of all")


def test_tagged():
    data = written("tagged", "-reqsize 8 -numreqs 4 -passes 2 -startoffset 4")[4096:]
    runs = set()
    for at in range(0, len(data), 512):
        magic, _sum, run, offset, generation, oldest, since, request, sweep, target, number, size, zero = \
            struct.unpack_from("<8s8Q4I", data, at)
        runs.add(run)
        op = at // 8192
        if (magic, offset, generation, oldest, since, request, sweep, target, number, size, zero) != (
                b"XDDtag1\n", 4096 + at, 5 + op, 5 + op, 5, 4096 + op * 8192, 4096, 0, 2, 8192, 0):
            t.ok(False, "tagged: the header at %d" % at, data[at:at + 96].hex())
            break
    else:
        t.ok(len(runs) == 1, "tagged: headers as tag.h has them")
    t.equal(len({data[at + 88:at + 512] for at in range(0, len(data), 512)}), len(data) // 512,
            "tagged: no two payloads alike")
    if t.have("xxhsum"):
        part = t.path("part")
        with open(part, "wb") as f:
            f.write(data[16:512])
        text = t.command(["xxhsum", "-H3", part]).out
        t.ok("%016x" % struct.unpack_from("<Q", data, 8) in text, "tagged: the checksum is XXH3", text)
    if t.have("zstd"):
        t.ok(zstd(data, 3) > 0.8 * len(data), "tagged data is not worth compressing")


def test_mixed_is_laid_out_again():
    for engine in ENGINES:
        words = ["-ioengine"] + engine.split()
        if words[1] not in t.engines():
            t.skip("a mixed run, " + engine, "not to be had here")
            continue
        for pattern, wanted in (("", bytes(K)), ("-datapattern ascii abc replicate", tiled(b"abc", K))):
            file = t.make_file("mixed", 256 * K)
            before = read(file)
            run = t.xdd("-rwratio", 50, "-targets", 1, file, *words, *"-reqsize 1 -numreqs 256 -qd 4".split(),
                        *pattern.split())
            after = read(file)
            blocks = [after[at:at + K] for at in range(0, len(after), K)]
            new = [n for n, block in enumerate(blocks) if block == wanted]
            t.ok(run.status == 0 and len(new) == 128 and
                 all(blocks[n] == before[n * K:(n + 1) * K] for n in set(range(256)) - set(new)),
                 "a mixed run, %s%s: reads leave nothing behind in what is written" % (engine, " " + pattern), run)


def test_engines():
    for engine in ENGINES:
        words = ["-ioengine"] + engine.split()
        if words[1] not in t.engines():
            t.skip("patterns, " + engine, "not to be had here")
            continue
        for pattern, wanted in (("random", b"".join(chunk(n) for n in range(32))), ("sequenced", sequence(128 * K)),
                                ("hex 1234 replicate", tiled(b"\x12\x34", 128 * K))):
            for ordering in ("", "-ordering storage strict", "-ordering storage serial", "-ordering storage loose"):
                if "strict" in ordering and engine in ("psync", "mmap"):
                    continue
                file = t.path("engines")
                t.command(["rm", "-f", file])
                t.command(["truncate", "-s", str(128 * K), file])
                run = t.xdd("-op", "write", "-targets", 1, file, *words, *"-reqsize 8 -numreqs 16 -qd 4".split(),
                            "-datapattern", *pattern.split(), *ordering.split())
                t.ok(run.status == 0 and read(file) == wanted, "%s, %s %s" % (pattern, engine, ordering), run)


def test_fill_time():
    for pattern, timed in (("x", False), ("random", True), ("sequenced", True), ("tagged", True), ("lfpat", False)):
        run, rows = t.xdd_csv("-op", "write", "-targets", 1, t.path("fill"), *"-reqsize 1024 -numreqs 16 -syncwrite -verbose".split(),
                              "-datapattern", pattern, "-outputformat", "add", "+PATTERNFILLTIME")
        times = {r["WHAT"]: float(r["PATTERNFILLTIME"]) for r in rows}
        t.ok(run.status == 0 and len(times) == 3 and all((ms > 0) == timed for ms in times.values()),
             "PATTERNFILLTIME of %s: %s" % (pattern, "what it took" if timed else "nothing in the pass"), times)


def test_info():
    for words, wanted in (("", ",0x00"), ("x", ",0x78"), ("random", ",random "), ("sequenced", ",sequenced "),
                          ("randbytarget", ",random by target number "), ("sequenced inverse", ",sequenced ,inversed "),
                          ("ascii abc", ",ASCII: 'abc' <3 bytes> Not Replicated "),
                          ("ascii abc replicate", ",ASCII: 'abc' <3 bytes> Replicated "),
                          ("hex 0123f replicate", ",HEX: 0x0123f <3 bytes>, Replicated"),
                          ("sequenced prefix 0123", ",sequenced ,PREFIX: 0x0123 <4 nibbles>"),
                          ("lfpat", ",lfpat "), ("tagged", ",tagged "), ("compress 5", ",compress 5 percent "),
                          ("dedupe 5 compress 6", ",compress 6 percent ,dedupe 5 percent ")):
        run = t.xdd("-dryrun", "-op", "write", "-targets", 1, "null", "-numreqs", 1,
                    *(["-datapattern"] + words.split() if words else []))
        t.ok("\t\tData pattern in buffer%s\n" % wanted in run.out, "the information section about " + (words or "nothing"),
             run)


def test_refused():
    here = t.make_file("data", 64 * K)
    before = read(here)
    empty = t.path("empty")
    open(empty, "w").close()
    rows = (
        ("-datapattern", 2, "missing"), ("-datapattern -op write", 2, "missing"), ("-datapattern randm", 3, "random"),
        ("-datapattern target 1 x", 2, "target"), ("-datapattern hex", 2, "missing"), ("-datapattern hex 12g4", 2, "hexadecimal"),
        ("-datapattern ascii", 2, "missing"), ("-datapattern sequenced prefix", 2, "missing"),
        ("-datapattern sequenced prefix 12345678901234567", 2, "1 to 16"), ("-datapattern sequenced prefix xy", 2, "hexadecimal"),
        ("-datapattern prefix 12", 2, "sequenced"), ("-datapattern prefix 12 -datapattern x", 2, "sequenced"),
        ("-datapattern random prefix 12", 2, "sequenced"),
        ("-datapattern compress 101", 2, "0 to 100"), ("-datapattern compress", 2, "missing"),
        ("-datapattern dedupe x", 2, "0 to 100"), ("-datapattern dedupe -1", 2, "0 to 100"),
        ("-datapattern file", 2, "missing"), ("-datapattern file /nowhere/at/all", 2, m.NO_FILE),
        ("-datapattern file /", 2, "regular file"), ("-datapattern file " + empty, 2, "empty"),
        ("-datapattern file /dev/zero", 2, "regular file"), ("-datapattern tagged inverse", 2, "inverse"),
        ("-datapattern tagged -blocksize 1000 -reqsize 1", 2, "512"), ("-datapattern tagged -bytes 5000", 2, "512"),
        ("-datapattern tagged -blocksize 256 -reqsize 2 -startoffset 1", 2, "512"),
        ("-datapattern tagged -blocksize 256 -reqsize 2 -passoffset 3 -passes 2", 2, "512"),
        ("-datapattern x stray", 3, "stray"),
    )
    for words, status, text in rows:
        run = t.xdd("-op", "write", "-targets", 1, here, *words.split(), *([] if "-bytes" in words else ["-numreqs", 2]))
        t.equal((run.status, len(run.error_lines()), text in run.err, run.out), (status, 1, True, ""),
                "refused: " + words, run)
    t.ok(read(here) == before, "nothing is written when an option is refused")
    run = t.command([t.XDD, "-op", "write", "-targets", "1", here, "-numreqs", "1", "-datapattern", ""])
    t.equal((run.status, len(run.error_lines())), (2, 1), "refused: an empty word", run)
    run = t.command([t.XDD] + "-op write -targets 1".split() + [here] + "-numreqs 1 -ioengine mmap touch -dp x".split())
    t.ok(run.status == 2 and "-ioengine mmap, with these keywords, transfers no data" in run.err and read(here) == before, "refused: mmap touch", run)


t.run_all()
