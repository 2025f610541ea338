#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
End-to-end copies between two runs of xdd over loopback: sizes, engines, orders, several passes and targets, limits,
and what both sides say when one of them ends early.
"""
import os
import re
import signal
import socket
import time

import messages as m
import xdde2e as e
import xddports
import xddsys as s
import xddtest as t

MIB = 1 << 20
_names = 0


def fresh(kind="copy"):
    """A name that no file has."""
    global _names
    _names += 1
    return t.path("%s.%d" % (kind, _names))


def source_of(size):
    """A file of `size` random bytes, made once."""
    file = t.path("source.%d" % size)
    if not os.path.exists(file):
        with open(file, "wb") as f:
            f.write(t.noise(size))
    return file


def copied(copy, description):
    """Both sides end with status 0, and the files are equal."""
    t.equal(copy.statuses() + (copy.statuses() == (0, 0) and copy.same(),), (0, 0, True),
            description + ": both sides end with status 0 and the files are equal", copy)


SMALL = ["-blocksize", 4096, "-reqsize", 1]
LARGE = ["-blocksize", MIB, "-reqsize", 1]


def test_sizes():
    for size in (0, 1, 4095, 4096, MIB, MIB + 1, 64 * MIB):
        copied(e.Copy(source_of(size), fresh(), LARGE, ports=2).run(), "%d bytes" % size)


def test_families():
    copied(e.Copy(source_of(MIB + 1), fresh(), SMALL, ports=2, address="::1").run(), "IPv6")
    copied(e.Copy(source_of(MIB + 1), fresh(), SMALL, ports=2, address="localhost").run(), "a host name")


def test_first():
    copied(e.Copy(source_of(MIB + 1), fresh(), LARGE, early=1.5).run(), "the source starts first")


def test_engines():
    for reads in t.engines():
        if reads in ("sg", "null"):
            continue
        for depth in (1, 4):
            words = ["-ioengine", reads]
            copied(e.Copy(source_of(8 * MIB + 5), fresh(), ["-blocksize", 65536, "-reqsize", 1], reads=words, ports=depth).run(),
                   "%s reads, psync writes, %d connections" % (reads, depth))
            # A destination whose writes are in a buffer is refused: e2e_options.py.
            words += ["unbuffered"] if reads == "stdio" else []
            if reads != "mmap":
                copied(e.Copy(source_of(8 * MIB + 5), fresh(), ["-blocksize", 65536, "-reqsize", 1], writes=words, ports=depth).run(),
                       "psync reads, %s writes, %d connections" % (reads, depth))


def test_depths():
    for depth in (1, 4, 16, 64):
        copied(e.Copy(source_of(8 * MIB + 5), fresh(), SMALL, ports=depth).run(), "%d connections" % depth)


def test_orders():
    for ordering in ("none", "loose", "strict", "serial"):
        words = ["-ordering", "storage", ordering] if ordering != "none" else []
        for engine in ("psync", "libaio"):
            # Several QThreads that complete requests inside submit are in strict order only where they are serial.
            if engine not in t.engines() or (ordering, engine) == ("strict", "psync"):
                continue
            copied(e.Copy(source_of(8 * MIB + 5), fresh(), ["-blocksize", 16384, "-reqsize", 1, "-ioengine", engine, *words],
                          ports=4).run(),
                   "%s, %s on both sides" % (engine, ordering))


def test_order_of_both():
    """
    Both sides in order, and sockets that hold less than a block: a source that waited for its turn before it sends, or
    for the destination while it has the turn, would wait for ever.
    """
    for engine in [name for name in ("libaio", "io_uring") if name in t.engines()]:
        for words in ([], ["-throttle", "ops", "4000"]):
            copied(e.Copy(source_of(8 * MIB + 5), fresh(), ["-blocksize", 65536, "-reqsize", 1, "-ordering", "storage", "serial"],
                          reads=["-ioengine", engine, "-dio", "-e2e", "sendbuffer", 4096, *words], writes=["-e2e", "receivebuffer", 4096],
                          ports=3, timeout=30).run(),
                   "serial on both sides, %s reads%s" % (engine, ", throttled" if words else ""))


def test_longer_file():
    file = fresh()
    with open(file, "wb") as f:
        f.write(b"x" * (3 * MIB))
    copied(e.Copy(source_of(MIB + 1), file, SMALL, ports=4).run(), "a destination that was longer")


def test_sparse():
    file = fresh("sparse")
    with open(file, "wb") as f:
        f.seek(5 * MIB)
        f.write(b"data")
        f.truncate(9 * MIB + 77)
    copied(e.Copy(file, fresh(), LARGE, ports=3).run(), "a sparse source")


def test_passes():
    copied(e.Copy(source_of(MIB + 1), fresh(), ["-passes", 3, *SMALL], ports=4).run(), "three passes")
    copied(e.Copy(source_of(MIB + 1), fresh(), ["-passes", 3, "-nobarrier", *SMALL], ports=4).run(), "three passes without a barrier")


def test_targets():
    copied(e.Copy([source_of(MIB + 1), source_of(8 * MIB + 5)], [fresh(), fresh()], SMALL, ports=4).run(), "two targets")


def figures(run, *names):
    """Numbers of the COMBINED row."""
    row = run.row("COMBINED") or {}
    return tuple(int(row.get(name, -1)) for name in names)


def test_null():
    amount = ["-bytes", 8 * MIB + 5]
    copy = e.Copy("null", "null", [*LARGE, *amount], ports=2).run()
    t.equal((copy.statuses(), figures(copy.source.run, "Bytes_Xfered", "Ops"), figures(copy.destination.run, "Bytes_Xfered", "Ops")),
            ((0, 0), (8 * MIB + 5, 9), (8 * MIB + 5, 9)), "memory to memory: both sides count the same", copy)
    file = fresh()
    copy = e.Copy("null", file, LARGE, reads=amount, ports=2).run()
    t.equal((copy.statuses(), os.path.getsize(file)), ((0, 0), 8 * MIB + 5), "memory to a file: its size is the amount", copy)
    copy = e.Copy(source_of(MIB + 1), "null", SMALL, ports=2).run()
    t.equal((copy.statuses(), figures(copy.destination.run, "Bytes_Xfered", "Ops")), ((0, 0), (MIB + 1, 257)),
            "a file to memory: the destination counts all of it", copy)


def test_direct():
    for engine in [name for name in ("psync", "libaio", "io_uring") if name in t.engines()]:
        copied(e.Copy(source_of(8 * MIB + 777), fresh(), ["-blocksize", 65536, "-reqsize", 1, "-dio", "-ioengine", engine],
                      ports=4).run(), "-dio and a tail, " + engine)
    copied(e.Copy(source_of(MIB + 1), fresh(), SMALL, writes=["-preallocate", 4 * MIB], ports=2).run(),
           "-preallocate of more than the amount")
    copied(e.Copy(source_of(MIB + 1), fresh(), SMALL, writes=["-syncwrite"], ports=2).run(), "-syncwrite")


def test_offsets():
    """Another offset on each side: the destination writes at its own, and keeps what lies before."""
    file = fresh()
    with open(file, "wb") as f:
        f.write(b"x" * 8192)
    copy = e.Copy(source_of(MIB + 1), file, SMALL, reads=["-startoffset", 1], writes=["-startoffset", 2], ports=2).run()
    with open(source_of(MIB + 1), "rb") as f:
        wanted = b"x" * 8192 + f.read()[4096:]
    with open(file, "rb") as f:
        t.equal((copy.statuses(), f.read() == wanted), ((0, 0), True), "start offsets: each side has its own", copy)


def test_seeks():
    """The source's pattern decides the order, and the blocks lie where it read them."""
    size = 4 * MIB
    copied(e.Copy(source_of(size), fresh(), [*SMALL, "-bytes", size], reads=["-seek", "stagger", "-seek", "range", size // 4096],
                  ports=4).run(), "a staggered source")


def traced(name, *words, ports=4, size=2 * MIB + 5):
    """A copy of 64 KiB blocks whose destination is traced; the copy and its writes in the order in which they ended."""
    log, file = fresh("strace"), fresh()
    copy = e.Copy(source_of(size), file, ["-blocksize", 65536, "-reqsize", 1], writes=words, ports=ports,
                  prefix_destination=s.strace(log, "pwrite64,openat")).run()
    copied(copy, name)
    return copy, s.Trace(log).of(file)


def test_writes():
    if not s.can_trace():
        t.skip("writes as strace sees them", s.sys_why())
        return
    wanted = [(i * 65536, min(65536, 2 * MIB + 5 - i * 65536)) for i in range(33)]
    _, writes = traced("traced")
    t.equal(sorted((w.offset, w.size) for w in writes), wanted, "each block is written once")
    _, writes = traced("traced, serial", "-ordering", "storage", "serial")
    t.equal([(w.offset, w.size) for w in writes], wanted, "serial: each block once, in the order of the file")


def test_network_order():
    for words in (["-ordering", "network", "serial"], ["-ordering", "network", "loose"]):
        copied(e.Copy(source_of(8 * MIB + 5), fresh(), SMALL, reads=words, ports=4).run(), " ".join(words))


def test_devices():
    size = 16 * MIB
    devices = [s.loop_device(s.sparse_file("disk.%d" % i, size)) for i in range(2)]
    if None in devices:
        t.skip("block devices at either end", s.sys_why())
        return
    with open(devices[0], "wb") as f:
        f.write(t.noise(size))
    copy = e.Copy(devices[0], devices[1], LARGE, reads=["-bytes", size], ports=2).run()
    with open(devices[0], "rb") as a, open(devices[1], "rb") as b:
        t.equal((copy.statuses(), a.read() == b.read()), ((0, 0), True), "from a block device to another", copy)
    file = fresh()
    copy = e.Copy(devices[1], file, LARGE, reads=["-bytes", size], ports=2).run()
    with open(devices[1], "rb") as a, open(file, "rb") as b:
        t.equal((copy.statuses(), a.read() == b.read()), ((0, 0), True), "from a block device to a file", copy)
    copy = e.Copy(source_of(8 * MIB), devices[0], LARGE, ports=2).run()
    with open(source_of(8 * MIB), "rb") as a, open(devices[0], "rb") as b:
        t.equal((copy.statuses(), a.read() == b.read(8 * MIB)), ((0, 0), True), "from a file to a block device", copy)


def test_failed_reads():
    """One block cannot be read: all others are copied, the direct tail too, and both sides call the copy incomplete."""
    size = 2 * MIB + 777
    env = s.faults("eio", start=3 * 65536, end=4 * 65536, file=os.path.basename(source_of(size)))
    if env is None:
        t.skip("a block that cannot be read", s.sys_why())
        return
    for title, words in (("psync", []), ("psync, serial", ["-ordering", "storage", "serial"]), ("psync, -dio", ["-dio"])):
        file = fresh()
        copy = e.Copy(source_of(size), file, ["-blocksize", 65536, "-reqsize", 1], writes=words, ports=4, env=env).run()
        with open(source_of(size), "rb") as f:
            wanted = f.read()
        with open(file, "rb") as f:
            found = f.read()
        t.equal((copy.statuses(), found[:3 * 65536] == wanted[:3 * 65536], found[4 * 65536:] == wanted[4 * 65536:]),
                ((6, 6), True, True), title + ": status 6 on both sides, and all other blocks are right", copy)
        t.ok("the copy is incomplete: 1 operations failed on the source" in copy.destination.run.err,
             title + ": the destination says that the copy is incomplete", copy)


PACED = ["-throttle", "bw", "16"]
IN_TIME_S = 30  # a copy that waits for more than that waits for a limit of 60 s


def test_limits():
    for title, both, reads, writes, least in (
            ("-timelimit of the source", (), ["-timelimit", 1], (), 0.9),
            ("-timelimit of the destination", (), (), ["-timelimit", 1], 0.9),
            ("-runtime of the source, three passes", ["-passes", 3], ["-runtime", 2], (), 1.9),
            ("-runtime of the destination", (), (), ["-runtime", 1], 0.9)):
        copy = e.Copy(source_of(64 * MIB), fresh(), ["-blocksize", 65536, "-reqsize", 1, *both], reads=[*PACED, *reads],
                      writes=writes, ports=3, waits=True).run()
        counts = [figures(side.run, "Bytes_Xfered", "Ops") for side in (copy.source, copy.destination)]
        t.equal((copy.statuses(), counts[0] == counts[1], 0 < counts[0][1] < 3 * 1024), ((0, 0), True, True),
                title + ": both sides end with status 0 and the same counts, before the amount", copy)
        t.ok(least < copy.source.seconds < IN_TIME_S, title + ": it ends the copy in time", copy.source.seconds)


def await_data(copy):
    """Wait until the file of the destination has data; its name."""
    name = copy.destination_files[0]
    t.until(lambda: os.path.exists(name) and os.path.getsize(name), copy.destination.process)
    return name


def test_signals():
    for name, other in (("source", "destination"), ("destination", "source")):
        copy = e.Copy(source_of(64 * MIB), fresh(), ["-blocksize", 65536, "-reqsize", 1], reads=PACED, ports=3).start()
        await_data(copy)
        getattr(copy, name).signal(signal.SIGINT)
        copy.finish()
        both = {side.name: side.run for side in (copy.source, copy.destination)}
        t.equal((both[name].status, both[other].status), (5, 6), "SIGINT on the %s: status 5 there, 6 on the other side" % name, copy)
        t.ok(re.search("the %s was interrupted by signal 2$" % name, both[other].err, re.M),
             "SIGINT on the %s: the other side names the reason" % name, copy)


def test_waiting():
    """A destination whose source never comes ends by a signal; a source whose destination never comes, by its time limit."""
    port = xddports.free_ports(1)
    alone = e.Side("destination", ["-targets", 1, fresh(), "-reqsize", 1, "-e2e", "isdest", "-e2e", "dest", "127.0.0.1:%d,1" % port]).start()
    t.ok(alone.await_err(m.E2E_WAITS), "a destination says that it waits, and where", alone.err())
    alone.signal(signal.SIGTERM)
    t.equal(alone.finish().status, 5, "a destination that waits ends at a signal", alone.run)
    port = xddports.free_ports(1)
    alone = e.Side("source", ["-targets", 1, source_of(MIB), "-reqsize", 1, "-e2e", "issource", "-e2e", "dest", "127.0.0.1:%d,1" % port,
                              "-e2e", "timeout", 2]).start()
    t.equal((alone.finish().status, 1.9 < alone.seconds < IN_TIME_S), (4, True), "a source without a destination ends after its time limit", alone.run)


def test_taken_port():
    port = xddports.free_ports(2)
    with socket.socket() as held:
        held.bind(("127.0.0.1", port + 1))
        held.listen()
        file = fresh()
        alone = e.Side("destination", ["-targets", 1, file, "-reqsize", 1, "-e2e", "isdest", "-e2e", "dest", "127.0.0.1:%d,2" % port]).start()
        alone.finish()
    t.equal((alone.run.status, len(alone.run.error_lines()), os.path.exists(file)), (4, 1, False),
            "a port in use: status 4, one line, and no file is made", alone.run)
    t.ok("127.0.0.1:%d" % (port + 1) in alone.run.err, "a port in use: the line names it", alone.run)


def test_mismatch():
    for title, reads, texts in (("the request size", ["-reqsize", 2], ("8192", "4096")),
                                ("the number of passes", ["-passes", 2], ("2", "1"))):
        file = fresh()
        copy = e.Copy(source_of(MIB + 1), file, SMALL, reads=reads, ports=2).run()
        lines = [run.error_lines()[-1] for run in (copy.source.run, copy.destination.run)]
        t.equal((copy.statuses(), os.path.exists(file)), ((4, 4), False), title + " differs: status 4 on both sides, no file", copy)
        t.ok(all(text in line for line in lines for text in texts), title + " differs: both sides name both values", copy)


def test_same_file():
    file = fresh()
    with open(file, "wb") as f:
        f.write(t.noise(MIB))
    with open(file, "rb") as f:
        before = f.read()
    link = fresh("link")
    os.link(file, link)
    for title, name, words in (("itself", file, ["-startoffset", 4]), ("a link to it", link, [])):
        copy = e.Copy(file, name, SMALL, writes=words, ports=2).run()
        t.equal(copy.statuses(), (4, 4), "a copy of a file to %s: refused on both sides" % title, copy)
        t.ok("are one" in copy.source.run.err, "a copy of a file to %s: the source is told" % title, copy)
        with open(file, "rb") as f:
            t.ok(f.read() == before, "a copy of a file to %s: the file has all of its bytes" % title, copy)


def meanwhile(file, change, **kwargs):
    """A copy of two seconds; `change` is called with the file of the destination once that is there."""
    copy = e.Copy(file, fresh(), ["-reqsize", 1, "-blocksize", 4096], reads=["-throttle", "ops", 20], **kwargs).start()
    change(await_data(copy))
    return copy.finish()


def test_changes():
    """Other programs use the files while they are copied."""
    file = fresh("growing")
    with open(file, "wb") as f:
        f.write(os.urandom(40 * 4096))

    def grow(_):
        with open(file, "ab") as f:
            f.write(b"more")

    def rewrite(_):
        before = os.stat(file)
        with open(file, "r+b") as f:
            f.write(os.urandom(40 * 4096))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    for title, change in (("grows", grow), ("is rewritten, and its time restored", rewrite)):
        copy = meanwhile(file, change)
        t.ok(copy.statuses() == (6, 6) and all("changed while it was copied" in side.run.err for side in (copy.source, copy.destination)),
             "the source %s: status 6 on both sides, with the reason" % title, copy)
    coarse = s.ext4("seconds", 64 * MIB, inode_bytes=128)
    if coarse is None:
        t.skip("a file system with times of seconds", s.sys_why())
    else:
        file = os.path.join(coarse, "file")
        # All of it happens in one second, as far as the times tell. The clock for them may be a tick late.
        while not 0.05 < time.time() % 1 < 0.2:
            time.sleep(0.01)
        with open(file, "wb") as f:
            f.write(os.urandom(40 * 4096))
        copy = meanwhile(file, rewrite)
        t.ok(copy.statuses() == (6, 6) and "changed while it was copied" in copy.source.run.err,
             "a source with times of seconds is rewritten: status 6 on both sides", copy)
    copy = meanwhile(source_of(40 * 4096), os.unlink)
    t.ok(copy.statuses() == (6, 6) and all("the file of the destination was removed while it was written" in side.run.err
                                           for side in (copy.source, copy.destination)),
         "the destination's file is removed: status 6 on both sides, with the reason", copy)


def test_debug():
    """Each message that one side sends is received by the other one, as it was sent. HELLO comes before the session."""
    copy = e.Copy(source_of(MIB + 1), fresh(), SMALL + ["-passes", 2, "-debug", "e2e"], ports=2).run()
    said = {}
    for side in (copy.source, copy.destination):
        for what, way, rest in re.findall(r"DEBUG_E2E [0-9.]+ (\S+) (to|from) \S+ (target \d+, connection .* bytes)$", side.run.err, re.M):
            said.setdefault((side.name, way), []).append((what, rest))
    blocks = [what for what, _ in said.get(("source", "to"), ())].count("DATA")
    t.equal(copy.statuses() + (blocks,), (0, 0, 2 * 257), "-debug e2e shows all blocks of two passes", copy)
    for one, other in (("source", "destination"), ("destination", "source")):
        t.equal(sorted(line for line in said[one, "to"] if line[0] != "HELLO"), sorted(said[other, "from"]),
                "-debug e2e: the %s sends what the %s receives" % (one, other))


def test_more_targets():
    """A source has more targets than its destination: both end, whichever target connects first."""
    for attempt in range(6):
        copy = e.Copy([source_of(MIB + 1)] * 3, [fresh() for _ in range(3)], SMALL, ports=1,
                      warns_destination=(m.E2E_REFUSED,))
        words = copy.destination.words
        at = words.index("3")
        copy.destination.words = words[:at] + ["2"] + words[at + 1:at + 3] + words[at + 4:]
        copy.start().finish(30)
        t.ok(0 not in copy.statuses() and "timeout" not in copy.statuses(),
             "three targets to two, try %d: both sides fail" % attempt, copy)


if __name__ == "__main__":
    t.run_together(test_sizes, test_families, test_first, test_engines, test_depths, test_orders, test_order_of_both,
                   test_longer_file, test_sparse, test_passes, test_targets, test_null, test_direct, test_offsets, test_seeks,
                   test_writes, test_network_order, test_devices, test_failed_reads, test_limits, test_signals, test_waiting,
                   test_taken_port, test_mismatch, test_same_file, test_changes, test_debug, test_more_targets)
    t.done()
