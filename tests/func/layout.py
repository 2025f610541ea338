#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Files that the targets of all ranks share: -blockperrank, -segments and -reorder. What is written is checked byte by byte,
what is read by strace.
"""
import os
import struct

import xddjson
import xddsys as s
import xddtest as t

K = 1024
LIMIT_S = 60
REQUEST = 4 * K
BLOCK = 3 * REQUEST
SHAPE = ("-reqsize", "4k", "-blockperrank", "12k")
LETTERS = "ABCDEFGHIJKLMNOP"
_files = 0


def fresh():
    """A name that nothing has."""
    global _files
    _files += 1
    return t.path("shared%d" % _files)


def contents(file):
    with open(file, "rb") as f:
        return f.read()


def write_file(file, blocks):
    """A file with a letter for each block."""
    with open(file, "wb") as f:
        for letter in blocks:
            f.write(letter.encode() * BLOCK)


def blocks_of(file):
    """The letter of each block, "?" where a block has other bytes as well."""
    data = contents(file)
    blocks = [data[at:at + BLOCK] for at in range(0, len(data), BLOCK)]
    return "".join(chr(b[0]) if b == b[:1] * BLOCK else "?" for b in blocks)


def rank_words(rank, ranks):
    return ["-rank", rank, "-ranks", ranks]


def letters(first, n):
    """Each target writes a letter of its own."""
    return [w for i in range(n) for w in ("-datapattern", "target", i, LETTERS[first + i])]


def at_once(commands):
    """Run these commands of xdd at one time; returns their runs."""
    import concurrent.futures
    with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(lambda c: t.xdd(*c, timeout=LIMIT_S), commands))


def test_targets():
    """Every byte is written by the target that owns its block, at every queue depth, by every engine."""
    # A mapped file cannot grow, and sg is for devices.
    engines = [t.ENGINE] if t.ENGINE else [e for e in t.engines() if e not in ("null", "sg")]
    for engine in engines:
        for depth in (1, 4):
            file = fresh()
            if engine == "mmap":
                with open(file, "wb") as f:
                    f.truncate(3 * 4 * BLOCK)
            run = t.xdd("-op", "write", "-targets", -3, file, *SHAPE, "-segments", 4, "-ioengine", engine, "-queuedepth", depth,
                        *letters(0, 3), timeout=LIMIT_S)
            t.ok(run.status == 0 and blocks_of(file) == "ABC" * 4, "%s, queue depth %d" % (engine, depth), run)
    file = fresh()
    run = t.xdd("-op", "write", "-targets", -3, file, *SHAPE, "-segments", 4, "-datapattern", "sequenced", timeout=LIMIT_S)
    data = contents(file)
    t.ok(run.status == 0 and data == b"".join(struct.pack("<Q", at) for at in range(0, 12 * BLOCK, 8)),
         "each byte is at its offset", run)


def test_amounts():
    """Segments follow from the amount, the amount from the segments, and a part of a block stays a part."""
    file = fresh()
    run = t.xdd("-op", "write", "-targets", -2, file, *SHAPE, "-numreqs", 4, *letters(0, 2))
    t.ok(run.status == 0 and contents(file) == b"A" * BLOCK + b"B" * BLOCK + b"A" * REQUEST + bytes(BLOCK - REQUEST) + b"B" * REQUEST,
         "an amount without -segments", run)
    file = fresh()
    run = t.xdd("-op", "write", "-targets", -2, file, *SHAPE, "-segments", 9, "-bytes", "8k", "-startoffset", "4k", *letters(0, 2))
    t.ok(run.status == 0 and contents(file) == bytes(REQUEST) + b"A" * 2 * REQUEST + bytes(REQUEST) + b"B" * 2 * REQUEST,
         "less than the segments, from a start offset on", run)
    file = fresh()
    run = t.xdd("-op", "write", "-targets", -2, file, *SHAPE, "-passes", 2, "-passoffset", "24k", *letters(0, 2))
    t.ok(run.status == 0 and blocks_of(file) == "ABAB", "a segment in each pass", run)
    run = t.xdd("-op", "read", "-targets", -2, file, *SHAPE, "-segments", 2, "-timelimit", "50ms")
    t.ok(run.status == 0, "a time limit, and no more than the segments", run)
    t.equal([r["Ops"] for r in run.rows() if r["What"] == "COMBINED"], ["12"], "all requests of the segments, once")
    run = t.xdd("-op", "read", "-targets", -2, file, *SHAPE, "-segments", 3)
    t.ok(run.status != 0 and "the operations reach to 60 KiB, and it has 48 KiB" in run.err, "a file that is too short", run)


def test_ranks():
    """Processes that start together create one file, in which each writes its blocks."""
    for ranks, targets in ((4, 1), (3, 2)):
        file = fresh()
        n = ranks * targets
        runs = at_once([["-op", "write", "-targets", -targets, file, *SHAPE, "-segments", 5, *rank_words(r, ranks),
                         "-pretruncate", 5 * n * BLOCK, *letters(r * targets, targets)] for r in range(ranks)])
        t.ok(all(run.status == 0 for run in runs) and blocks_of(file) == LETTERS[:n] * 5,
             "%d ranks of %d targets" % (ranks, targets), "\n".join(map(str, runs)))


def test_random():
    """Random requests of ranks stay in their own blocks."""
    file = fresh()
    write_file(file, "." * 12)
    runs = at_once([["-op", "write", "-targets", 1, file, *SHAPE, "-segments", 4, "-seek", "random", "-numreqs", 30, "-startoffset",
                     0, *rank_words(r, 3), *letters(r, 1)] for r in range(3)])
    data = contents(file)
    found = [set(data[at:at + BLOCK]) - {ord(".")} for at in range(0, len(data), BLOCK)]
    t.ok(all(run.status == 0 for run in runs) and all(f <= {ord(LETTERS[i % 3])} for i, f in enumerate(found)) and
         all(set().union(*found[r::3]) == {ord(LETTERS[r])} for r in range(3)), "three ranks", "%s\n%s" % (found, runs[0]))


def test_reorder():
    """Each rank reads exactly the blocks of another one."""
    if not s.can_trace():
        t.skip("strace", s.sys_why())
        return
    file = fresh()
    n, segments = 4, 3
    write_file(file, LETTERS[:n] * segments)
    for words, ranks, wanted in ((["-reorder"], 4, [1, 2, 3, 0]), (["-rankspernode", 2, "-reorder"], 4, [2, 3, 0, 1]),
                                 (["-rankspernode", 2, "-reorder", "ranks"], 4, [1, 2, 3, 0]), (["-reorder", 3], 4, [3, 0, 1, 2]),
                                 (["-reorder", "node"], 2, [2, 3, 0, 1]), (["-reorder"], 1, [1, 2, 3, 0]), ([], 2, [0, 1, 2, 3]),
                                 (["-reorder", "random", 7], 2, None)):
        owners = []
        exact = True
        for rank in range(ranks):
            doc = t.path("doc.json")
            run, trace = s.trace("-op", "read", "-targets", -(n // ranks), file, *SHAPE, "-segments", segments, "-numreqs", 9,
                                 *rank_words(rank, ranks), *words, "-jsonout", doc, timeout=LIMIT_S)
            found = sorted((op.offset, op.size) for op in trace.of(file))
            planned = [x["resolved"]["blocks"]["owner"] for x in xddjson.load(doc)["plan"]["targets"]]
            own = sorted((k * n * BLOCK + o * BLOCK + i * REQUEST, REQUEST) for o in planned for k in range(segments)
                         for i in range(3))
            exact = exact and run.status == 0 and found == own
            owners += planned
        if wanted is None:
            t.ok(exact and sorted(owners) == list(range(n)) and all(o != i for i, o in enumerate(owners)),
                 "random: each reads what another wrote", owners)
        else:
            t.ok(exact and owners == wanted, "%d ranks: %s" % (ranks, " ".join(map(str, words)) or "without -reorder"), owners)


def test_verify():
    """The blocks of one rank are right for another one that reads them; a wrong one is found by its reader."""
    for pattern in (["sequenced"], ["random"], ["randbytarget"], ["tagged"]):
        file = fresh()
        shape = [*SHAPE, "-segments", 3, "-datapattern", *pattern]
        runs = at_once([["-op", "write", "-targets", -2, file, *shape, *rank_words(r, 2)] for r in range(2)])
        read = ["-op", "read", "-targets", -2, file, *shape, "-reorder", "-verify", "contents"]
        runs += at_once([read + rank_words(r, 2) for r in range(2)])
        t.ok(all(run.status == 0 and run.err == "" for run in runs), pattern[0], "\n".join(map(str, runs)))
        with open(file, "r+b") as f:
            f.seek(BLOCK * (4 + 2) + 100)       # segment 1, owner 2: target 0 of rank 1
            f.write(b"wrong")
        runs = at_once([read + rank_words(r, 2) for r in range(2)])
        t.equal([run.status for run in runs], [7, 0], pattern[0] + ": rank 0 reads what rank 1 wrote", runs[0])


def test_direct():
    file = fresh()
    base = ["-targets", -2, file, "-reqsize", "4k", "-blockperrank", "8k", "-segments", 3, "-dio"]
    run = t.xdd("-op", "write", *base, *letters(0, 2))
    if run.status:
        t.skip("-dio", run.err)
        return
    t.ok(contents(file) == (b"A" * 8 * K + b"B" * 8 * K) * 3, "-dio", run)
    run = t.xdd("-op", "write", "-targets", -2, file, *"-blocksize 512 -reqsize 3 -blockperrank 6 -segments 2 -dio".split())
    t.ok(run.status in (0, 2) and len(run.error_lines()) <= 1, "-dio: requests that are not aligned", run)


def test_saved():
    """A list that -seek save writes has the offsets of the blocks, and -seek load reads there."""
    file, save = fresh(), t.path("saved")
    run = t.xdd("-op", "write", "-targets", -2, file, *SHAPE, "-segments", 2, *letters(0, 2), "-seek", "save", save)
    other = fresh()
    again = t.xdd("-targets", -2, other, "-seek", "load", save, *letters(0, 2))
    t.ok(run.status == 0 and again.status == 0 and blocks_of(other) == "ABAB", "save, and load", "%s\n%s" % (run, again))


def test_room():
    """The blocks of all targets are added up, before anything is written."""
    where = s.tmpfs("small", 1 << 20)
    if not where:
        t.skip("a small file system", s.sys_why())
        return
    for size, wanted in (("384k", 2), ("192k", 0)):
        file = os.path.join(where, "file")
        run = t.xdd("-op", "write", "-targets", -4, file, "-reqsize", "64k", "-blockperrank", "64k", "-bytes", size)
        t.equal((run.status, "of free space" in run.err), (wanted, wanted != 0), "4 times %s on 1 MiB" % size, run)


def test_refused():
    file = fresh()
    write_file(file, "ABAB")
    read, write = ["-op", "read", "-targets", -2, file], ["-op", "write", "-targets", -2, file]
    for words, why in (
            (read + ["-segments", 2], "-segments: needs -blockperrank"),
            (read + ["-reorder"], "-reorder: needs -blockperrank"),
            (read + ["-reqsize", "4k", "-blockperrank", "10k"],
             "-blockperrank 10 KiB: must be a multiple of the request size, 4 KiB; the nearest are 8 KiB and 12 KiB"),
            (read + ["-reqsize", "4k", "-blockperrank", "1k"], "must be a multiple of the request size, 4 KiB; the nearest is 4 KiB"),
            (read + [*SHAPE, "-bytes", 5000], "-bytes 5000: must be a multiple of the request size, 4096 bytes"),
            (read + [*SHAPE, "-seek", "stagger"], "-blockperrank: must be with sequential or random requests"),
            (read + [*SHAPE, "-seek", "range", "64k"], "-seek range: cannot be combined with -blockperrank"),
            (read + [*SHAPE, "-reorder", "next"], "-reorder next: expected ranks, node, random or a number"),
            (read + [*SHAPE, "-reorder", 0], "-reorder 0: expected ranks, node, random or a number"),
            (read + [*SHAPE, "-reorder", "random", "1x"], "-reorder 1x: expected a whole number after random"),
            (read + [*SHAPE, "-reorder", 4], "-reorder 4: must not be a multiple of the number of targets of all ranks, 2"),
            (read + [*SHAPE, "-reorder", "node"], "-reorder node: there is one host"),
            (read + [*SHAPE, "-ranks", 3, "-rankspernode", 2, "-reorder"], "3 ranks (-ranks) must be a multiple of -rankspernode, 2"),
            (["-op", "read", "-targets", 1, file, *SHAPE, "-reorder"], "-reorder: there is one target and one rank"),
            (write + [*SHAPE, "-reorder"], "-reorder: must be for targets that read"),
            (write + [*SHAPE, "-segments", 2, "-pretruncate", 0],
             "-pretruncate 0: would remove blocks of other targets (-blockperrank); the file has 48 KiB, which is -pretruncate 49152"),
            (write + [*SHAPE, "-ranks", 2, "-deletefile"], "-deletefile: cannot be combined with -blockperrank and -ranks"),
            (write + [*SHAPE, "-segments", 2 ** 49], "reach past the largest offset"),
            (write + [*SHAPE, "-segments", 2 ** 62], "the blocks of a target are more than 8 EiB together"),
            (write + ["-blockperrank", 2 ** 62], "-blockperrank: is more than 8 EiB")):
        run = t.xdd(*words)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and why in run.err and run.out == "",
             " ".join(map(str, words[2:])).replace(file, "file"), run)
    t.equal(blocks_of(file), "ABAB", "none of these has changed the file")


t.run_all()
