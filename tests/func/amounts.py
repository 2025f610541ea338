#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Amounts of each kind of option: seen in the plan that -jsonout writes, and in the offsets and sizes of the system calls.
Spellings are in unit/test_units.
"""
import json
import os
import re

import messages as m
import xddguard as g
import xddsys as s
import xddtest as t

K, M, G = 1 << 10, 1 << 20, 1 << 30
SIZE = 4 * M


def plan_of(words, *targets):
    """The plan of a run on the null device, or on `targets`: the options of the run, and the targets."""
    out = t.path("plan.json")
    names = targets or ("null",)
    run = t.xdd("-targets", len(names), *names, *words.split(), "-jsonout", out)
    try:
        with open(out, encoding="utf-8") as f:
            plan = json.load(f)["plan"]
        os.remove(out)
    except (OSError, ValueError):
        t.diag(run)
        return {}, []
    return plan["options"], plan["targets"]


def target(words, *path, of=(), number=0):
    """A value in the plan of a target: ("resolved", "request_bytes"), say."""
    targets = plan_of(words, *of)[1]
    at = targets[number] if len(targets) > number else {}
    for name in path:
        at = at.get(name) if isinstance(at, dict) else None
    return at


def refused(words, *wanted, of=()):
    names = of or ("null",)
    run = t.xdd("-targets", len(names), *names, *words.split())
    t.ok(run.status == 2 and len(run.error_lines()) == 1 and all(re.search(w, run.err) for w in wanted),
         "refused: " + words, "%s\nwanted: %s" % (run, wanted))


def big():
    """A file of 4 MiB with data."""
    file = t.path("big")
    if not os.path.exists(file):
        with open(file, "wb") as f:
            f.write(b"x" * SIZE)
    return file


def test_sizes():
    for word, size in (("4096", 4096), ("4kB", 4000), ("1.5GiB", 3 * G // 2)):
        t.equal(target("-op noop -numreqs 1 -pretruncate " + word, "options", "pretruncate"), size, "-pretruncate " + word)
        t.equal(target("-op noop -timelimit 0.001 -bytes " + word, "options", "bytes"), size, "-bytes " + word)
    for option, unit in (("kbytes", K), ("mbytes", M), ("gbytes", G)):
        for word, size in (("1.25", unit * 5 // 4), ("16MB", 16 * 10 ** 6)):
            t.equal(target("-op noop -timelimit 0.001 -%s %s" % (option, word), "options", "bytes"), size, "-%s %s" % (option, word))
    t.equal(target("-op noop -timelimit 0.001 -mbytes 16M -bytes 4k", "options", "bytes"), 4 * K, "the last one wins")


def test_counts():
    for word, count in (("1.5k", 1500), ("42", 42)):
        t.equal(target("-op noop -numreqs " + word, "options", "numreqs"), count, "-numreqs " + word)
        t.equal(target("-op noop -numreqs 1 -retry " + word, "options", "retry"), count, "-retry " + word)
        t.equal(plan_of("-op noop -numreqs 1 -maxerrors " + word)[0].get("maxerrors"), count, "-maxerrors " + word)
    t.equal(target("-op noop -numreqs 1 -queuedepth 1k", "options", "queuedepth"), 1000, "-queuedepth 1k")
    refused("-op noop -numreqs 1kB", m.whole_number("operations", 1))


def test_times():
    for word, seconds in (("1.5min", 90), ("7ns", 7e-9), ("0.5", 0.5)):
        t.equal(target("-op noop -numreqs 1 -timelimit " + word, "options", "timelimit"), seconds, "-timelimit " + word)
    refused("-op noop -numreqs 1 -timelimit 1mins", m.time() + m.TIME_UNITS)


def rate(words):
    """The rate of -throttle, as -verbose words it."""
    run = t.xdd("-targets", 1, "null", "-op", "noop", "-numreqs", 1, "-dryrun", *words.split())
    found = re.search(r"Throttle in (\S+) is, *([\d.]+)", run.out)
    return (found.group(1), float(found.group(2))) if found else run


def test_rates():
    for word, ops in (("0.5", 0.5), ("10K/s", 10000)):
        t.equal(rate("-throttle ops " + word), ("ops/sec", ops), "-throttle ops " + word)
    for word, megabytes in (("20", 20), ("10M", 10.49), ("500kB/s", 0.5)):
        t.equal(rate("-throttle bw " + word), ("MB/sec", megabytes), "-throttle bw " + word)
    for words in ("bw 10/s", "ops 10kB", "ops 0", "var 101%"):
        refused("-op noop -numreqs 1 -throttle " + words, r"expected .*, above 0 and up to")


def test_percentages():
    for word in ("70", "70%", "70.0%"):
        t.equal(target("-numreqs 1 -rwratio " + word, "options", "rwratio"), [word], "-rwratio " + word)
    t.equal(plan_of("-op noop -numreqs 1 -latency percentiles 50%,99.9%")[0].get("latency", {}).get("percentiles"),
            ["50%,99.9%"], "-latency percentiles")
    run = t.xdd("-targets", 1, "null", "-rwratio", "70%", "-numreqs", "1k", "-outputformat", "new", "+READOPS+WRITEOPS")
    t.ok(run.status == 0 and re.search(r"\s700\s+300\s", run.out), "-rwratio 70%: the operations", run)
    t.equal(target("-op noop -numreqs 1 -datapattern dedupe 25%", "options", "datapattern", "dedupe"), 25, "-datapattern dedupe 25%")
    refused("-op noop -numreqs 1 -datapattern dedupe 25.5%", m.whole_number("percent", 0, 100))


def request(words, number=0, of=()):
    """Bytes of a block and of a request."""
    return target("-op noop -numreqs 1 " + words, "options", "blocksize", number=number, of=of), target(
        "-op noop -numreqs 1 " + words, "resolved", "request_bytes", number=number, of=of)


def test_requests():
    for words, block, size in (("-reqsize 4k", K, 4 * K), ("-reqsize 4KiB", K, 4 * K), ("-reqsize 4096B", K, 4 * K),
                               ("-reqsize 4", K, 4 * K), ("-reqsize 0.5M", K, M // 2),
                               ("-blocksize 4k", 4 * K, 4 * K), ("-bs 4096B", 4 * K, 4 * K),
                               ("-bs 4k -reqsize 8", 4 * K, 32 * K), ("-reqsize 8 -bs 4k", 4 * K, 32 * K),
                               ("-bs 4k -reqsize 64k", 4 * K, 64 * K), ("-reqsize 64k -bs 4k", 4 * K, 64 * K),
                               ("-bs 512 -reqsize 64k", 512, 64 * K), ("-bs 4096 -bs 4k", 4 * K, 4 * K),
                               ("-reqsize 4k -reqsize 8", K, 8 * K), ("-reqsize 8 -reqsize 4k", K, 4 * K),
                               ("-reqsize 512B", 512, 512), ("-reqsize 1.5k", 512, 1536), ("-blocksize 1 -reqsize 4M", 1, 4 * M),
                               ("-reqsize 4k -startoffset 8", K, 4 * K), ("", K, 128 * K)):
        t.equal(request(words), (block, size), "block and request of '%s'" % words)
    t.may_warn(m.BLOCKSIZE_ALONE)
    t.equal(request("-bs 4096"), (4 * K, 512 * K), "-bs 4096: the unit only, as in the guide")
    t.equal(request("-bs 4k -bs 4096"), (4 * K, 512 * K), "-bs 4k -bs 4096: the last one wins")


def test_requests_of_targets():
    two = ("null", "null")
    for words, first, second in (("-reqsize target 1 4k", 128 * K, 4 * K), ("-reqsize 8 -reqsize target 1 4k", 8 * K, 4 * K),
                                 ("-blocksize 4k -reqsize target 1 4", 4 * K, 16 * K),
                                 ("-reqsize target 1 4 -blocksize 4k", 4 * K, 16 * K),
                                 ("-blocksize target 1 4k", 128 * K, 4 * K), ("-blocksize target 1 4k -reqsize 8", 8 * K, 32 * K),
                                 ("-reqsize target 1 512B -startoffset target 0 4", 128 * K, 512)):
        t.equal((request(words, 0, two)[1], request(words, 1, two)[1]), (first, second), words)
    refused("-op noop -numreqs 1 -bs target 1 4k -reqsize 6k", m.line("-reqsize 6k", m.block_multiple("4 KiB", 1)),
            m.nearest_are("4 KiB", "8 KiB"), of=two)


def test_bad_requests():
    base = "-op noop -numreqs 1 "
    refused(base + "-reqsize 5000B -bs 512", m.line("-reqsize 5000B", m.block_multiple("512 bytes")), "4608 bytes and 5 KiB")
    refused(base + "-reqsize 100B", m.block_multiple("1 KiB"), m.nearest_are("1 KiB"), "say -blocksize 100B for requests")
    refused(base + "-reqsize 512B -startoffset 7", "no multiple of the default block size", "-startoffset counts",
            "such as -blocksize 512: it counts in such blocks then")
    refused(base + "-reqsize 3G", "larger than 2 GiB")
    run = t.xdd("-targets", 1, "null", "-op", "noop", "-numreqs", 1, "-bs", "4kB", warns=["has 4000 bytes; kB and MB are powers of 1000"])
    t.equal(run.status, 0, "-bs 4kB: 4000 bytes, with a warning", run)


def test_blocks():
    file = big()
    for option, path in (("startoffset", ("startoffset",)), ("passoffset", ("passoffset",)), ("targetoffset", ("targetoffset",)),
                         ("seek range", ("seek", "range")), ("range", ("range",))):
        for word, blocks in (("256", 256), ("1M", 1024), ("64KiB", 64), ("0.5M", 512), ("50%", 2048), ("25.1%", 1024)):
            got = target("-op noop -numreqs 2 -reqsize 32k -%s %s" % (option, word), "options", *path, of=(file,))
            t.equal(got, blocks, "-%s %s" % (option, word))
    t.equal(target("-op noop -numreqs 1 -reqsize 4k -startoffset 1M -startoffset 3", "options", "startoffset"), 3, "the last one wins")
    t.equal(target("-op noop -numreqs 1 -bs 4k -startoffset 1M", "options", "startoffset"), 256, "in blocks of 4 KiB")
    refused("-op noop -numreqs 1 -startoffset 1.5k", m.line("-startoffset 1.5k", m.block_multiple("1 KiB")), m.nearest_are("1 KiB", "2 KiB"))
    refused("-op noop -numreqs 1 -seek range 100B", m.line("-seek range 100B", m.block_multiple("1 KiB")), m.nearest_are("1 KiB"))


def test_shares():
    file = big()
    for words, size in (("-bytes 50%", SIZE // 2), ("-mbytes 25%", SIZE // 4), ("-bytes 100%", SIZE), ("-bytes 33% -reqsize 64k", 21 * 64 * K)):
        t.equal(target("-op read " + words, "resolved", "pass_bytes", of=(file,)), size, words)
    odd = t.path("odd")
    with open(odd, "wb") as f:
        f.write(b"x" * (M + 100))
    t.equal(target("-op read -bytes 100%", "resolved", "pass_bytes", of=(odd,)), M + 100, "100 % of a file that is no whole requests")
    t.equal(target("-op read -startoffset 50% -reqsize 4k", "resolved", "pass_bytes", of=(file,)), SIZE // 2, "the second half of the file")
    t.equal(target("-op read -numreqs 1 -reqsize 4k -startoffset target 1 50%", "resolved", "start_bytes", of=(file, file), number=1),
            SIZE // 2, "-startoffset target 1 50%")
    base = "-op read -reqsize 4k "
    refused(base + "-bytes 0.01%", "is less than one request, which has 4 KiB", of=(file,))
    refused("-op write -bytes 50%", m.line("-bytes 50%", m.NO_SHARE), of=(t.path("new"),))
    t.ok(not os.path.exists(t.path("new")), "nothing was created")
    refused("-op noop -numreqs 1 -startoffset 50%", m.line("-startoffset 50%", m.NO_SHARE))
    refused(base + "-startoffset 101%", m.whole_number("blocks", 0), m.SHARE, of=(file,))
    refused(base + "-reqsize 50%", m.whole_number("blocks", 1), of=(file,))


def test_setup_file():
    with open(t.path("a.cfg"), "w", encoding="utf-8") as f:
        f.write("-op noop\n-blocksize 4k # one block\n-numreqs 1.5k -startoffset 1M\n")
    t.equal(target("-setup " + t.path("a.cfg"), "resolved", "request_bytes"), 4 * K, "a setup file: the request")
    t.equal(target("-setup " + t.path("a.cfg"), "options", "numreqs"), 1500, "a setup file: the count")


def test_measures():
    words = "-op noop -numreqs 100 -reqsize 4 -starttrigger 0 1 "
    for what, text in (("op 1k", "1000 operations"), ("percent 50%", "50 percent"), ("mbytes 0.25", "256 KiB"), ("kbytes 0.5M", "512 KiB"),
                       ("mbytes 0.1MB", "97.65625 KiB")):
        run = t.xdd("-targets", 2, "null", "null", *words.replace("100 ", "2000 ").split(), *what.split(), "-dryrun")
        t.ok(run.status == 0 and "target 0, " + text in run.out, "-starttrigger " + what, run)


def test_offsets():
    """The system calls of a run."""
    if not s.can_trace():
        t.skip("offsets of the system calls", s.sys_why())
        return
    log = t.path("trace")
    file = big()
    words = "-op read -reqsize 4k -startoffset 50% -numreqs 3".split()
    run = t.command(s.strace(log, "pread64") + [t.XDD, "-targets", "1", file, *words])
    with open(log, encoding="utf-8") as f:
        calls = re.findall(r"pread64\(\d+<%s>, .*, (\d+), (\d+)\) = (\d+)$" % re.escape(file), f.read(), re.M)
    t.equal((run.status, [tuple(map(int, c)) for c in calls]), (0, [(4 * K, SIZE // 2 + i * 4 * K, 4 * K) for i in range(3)]),
            "3 reads of 4 KiB from the middle of the file")


def once_through(title, words, path, size, calls):
    """A run with -bytes 100% covers `path`, of `size` bytes, each of them by one system call."""
    run, trace = s.trace(*words.split(), "-reqsize", "16k", "-bytes", "100%", "-targets", 1, path)
    extents = sorted((op.offset, op.size) for op in trace.of(path) if op.call in calls)
    wanted = [(at, min(16 * K, size - at)) for at in range(0, size, 16 * K)]
    t.equal((run.status, extents), (0, wanted), title, run)
    return {op.call for op in trace.of(path)}, [op.offset for op in trace.of(path)]


def test_once_through():
    """Content that exists is written once: the whole of a file or device, in one pass."""
    if not s.can_trace():
        return t.skip("once through what exists", s.sys_why())
    file, size = t.path("once"), 300 * K + 100
    with open(file, "wb") as f:
        f.write(b"x" * size)
    writes, mix = ("pwrite",), ("pread", "pwrite")
    done = once_through("-op write: each block of a file is written once", "-op write", file, size, writes)
    t.ok(done[0] == {"pwrite"} and done[1] == sorted(done[1]) and os.path.getsize(file) == size, "in sequence, and the file has the same size", done)
    done = once_through("-op write -seek random once: each block is written once", "-op write -seek random once -queuedepth 4", file, size, writes)
    t.ok(done[1] != sorted(done[1]) and os.path.getsize(file) == size, "in another order, and the file has the same size", done)
    for words in ("-rwratio 50", "-rwratio 50 random -seek random once"):
        done = once_through(words + ": each block is read or written, once", words, file, size, mix)
        t.ok(done[0] == set(mix) and os.path.getsize(file) == size, words + ": both occur, and the file has the same size", done)
    with open(file, "rb") as f:
        t.ok(f.read().count(b"x") < size, "something was written")
    for words, rest in (("-op write -reqsize 4k", "100% for all of it once"), ("-op write -reqsize 4k -startoffset 100k", "%d for the rest" % (size - 100 * K))):
        refused(words, "%s; say -bytes %s" % (m.NO_AMOUNT, rest), of=(file,))
    refused("-op write -reqsize 4k", m.NO_AMOUNT_SAY, of=("null",))
    dev = g.device("disk", M)
    if dev is None:
        return t.skip("once through a device", s.sys_why())
    done = once_through("a device: each block is written once", "-op write", dev, M, writes)
    why = g.admin("mkfs.ext4", "-q", "-F", dev)
    if why:
        return t.skip("the guard", why)
    before = g.digest(dev)
    run = t.xdd("-op", "write", "-bytes", "100%", "-targets", 1, dev)
    t.ok(g.refused(run, dev, ".*-force " + dev) and g.digest(dev) == before, "the guard refuses a device with a file system", run)
    return None


t.run(test_once_through, test_sizes, test_counts, test_times, test_rates, test_percentages, test_requests, test_requests_of_targets,
      test_bad_requests, test_blocks, test_shares, test_setup_file, test_measures, test_offsets)
t.done()
