# SPDX-License-Identifier: GPL-2.0-or-later
"""The workloads, and the goal of each, as in doc/performance.md; a row without a goal has none."""
import dataclasses
from typing import Optional

KIB, MIB = 1 << 10, 1 << 20


@dataclasses.dataclass(frozen=True)
class Goal:
    """A figure of xdd, compared with a multiple of another contender's, or with a plain number."""
    # iops, ns_per_op, cpu_us_per_op, insns_per_op, p50_us, p90_us, p99_us, wall_ms, maxrss_mib, mb_per_s, cpu_s_per_gb,
    # answers_per_cpu_s
    figure: str
    relation: str  # ">=", "<=", or "=": off by `value` of the other's figure at most
    value: float
    # "limit" (the better loop), "batch loop", "fio", "untraced", "table"; None: `value` is the figure
    against: Optional[str] = None
    more: bool = False  # `value` is a difference to the other's figure, not a multiple of it

    def text(self):
        label = {"iops": "IOPS", "ns_per_op": "ns/op", "cpu_us_per_op": "CPU/op", "insns_per_op": "instructions/op",
                 "wall_ms": "start to end", "skew_us": "skew", "maxrss_mib": "memory", "p50_us": "p50", "p90_us": "p90", "p99_us": "p99",
                 "mb_per_s": "rate", "cpu_s_per_gb": "CPU/GB", "answers_per_cpu_s": "answers/CPU s", "page_mb": "page",
                 "ns_once": "a number"}
        unit = {"wall_ms": " ms", "skew_us": " us", "maxrss_mib": " MiB", "page_mb": " MB", "ns_once": " ns"}
        if self.relation == "=":
            return "%s = %s +- %g %%" % (label[self.figure], self.against, 100 * self.value)
        if self.more:
            return "%s %s %s + %g" % (label[self.figure], self.relation, self.against, self.value)
        what = "%g x %s" % (self.value, self.against) if self.against else \
            "%g%s" % (self.value, unit.get(self.figure, ""))
        return "%s %s %s" % (label[self.figure], self.relation, what)


@dataclasses.dataclass(frozen=True)
class Work:
    """Reads, or writes, for some time, by each contender in turn."""
    name: str
    title: str
    place: str  # of places.py
    engine: str = "psync"
    size: int = 4 * KIB
    threads: int = 1
    depth: int = 1  # outstanding in each thread; asynchronous engines
    apart: bool = False  # xdd: each thread is a target of its own, instead of all on one
    direct: bool = False
    random: bool = False
    ordering: str = ""  # xdd's -ordering, compared with none
    syscalls: bool = False  # count them as well
    stamps: bool = False  # xdd with a time stamp of every operation; against xdd without
    person: bool = False  # xdd with the result for people, which has percentiles; against xdd with the table
    percentiles: bool = False  # of the latencies, against fio's
    instructions: bool = False  # count those in user space instead of measuring times
    # Work of xdd alone, against itself: the data that it writes, or verifies when it reads.
    op: str = "read"
    pattern: str = ""
    verify: bool = False
    goals: tuple = ()


@dataclasses.dataclass(frozen=True)
class Start:
    """A run of one operation on each of so many targets, from start to end."""
    name: str
    title: str
    targets: int
    place: str = "tmpfs"
    goals: tuple = ()


@dataclasses.dataclass(frozen=True)
class Own:
    """The cost of xdd by itself, measured by a function of sweeps.py."""
    name: str
    title: str
    function: str
    figures: tuple  # their names, and how they are shown
    place: str = "null"
    goals: tuple = ()


@dataclasses.dataclass(frozen=True)
class Answers:
    """Answers of a time server over the loopback device: timeserver.py."""
    name: str
    title: str
    place: str = "null"
    goals: tuple = ()


@dataclasses.dataclass(frozen=True)
class Hosts:
    """Starts of four hosts that have a time server: timeserver.py."""
    name: str
    title: str
    place: str = "null"
    goals: tuple = ()


@dataclasses.dataclass(frozen=True)
class Copy:
    """A copy from one process to another over the loopback device, by each contender in turn: network.py."""
    name: str
    title: str
    against: tuple  # names of contenders
    place: str = "copy"
    encrypted: bool = False  # xdd: with a key and TLS
    goals: tuple = ()


@dataclasses.dataclass(frozen=True)
class Files:
    """A copy of `count` files of `size` bytes through ssh, by each contender in turn: files.py."""
    name: str
    title: str
    against: tuple  # names of contenders
    count: int = 1
    size: int = 4 << 30
    exists: bool = False  # the copy is there already, and nothing is to be sent
    share: float = 0  # of the bytes, which an interrupted copy has
    options: tuple = ()  # of xddcp
    round_trip_ms: int = 0  # of a link, against the same link without
    place: str = "files"
    goals: tuple = ()


def _rate(value, against):
    return Goal("mb_per_s", ">=", value, against)


def _iops(value, against="limit"):
    return Goal("iops", ">=", value, against)


def _cpu(value, against):
    return Goal("cpu_us_per_op", "<=", value, against)


def _device(place, title, engine, depth, goals=()):
    return Work("%s-%s-%d" % (place, engine, depth),
                "%s, O_DIRECT, random 4 KiB, %s, depth %d" % (title, engine, depth), place, engine,
                depth=depth, direct=True, random=True, goals=goals, syscalls=True)


def _threads(place, title, threads):
    return Work("%s-psync-%d" % (place, threads),
                "%s, O_DIRECT, random 4 KiB, psync, %d thread%s" % (title, threads, "s" * (threads > 1)),
                place, threads=threads, direct=True, random=True, syscalls=True)


def _ordered(depth, ordering):
    return Work("null-%s-%d" % (ordering, depth), "null device, depth %d, -ordering %s" % (depth, ordering), "null",
                "null", threads=depth, ordering=ordering, goals=(Goal("ns_per_op", "<=", 100, "xdd none", more=True),))


def _strict(place, title, engine, value):
    return Work("%s-strict-%s" % (place, engine), "%s, O_DIRECT, sequential 4 KiB, %s, depth 32, -ordering strict" % (
        title, engine), place, engine, depth=32, direct=True, ordering="strict", goals=(_iops(value, "xdd none"),))


def _percentiles(place, title):
    # fio's histogram is off by 1.6 % at most, xdd's by less than 1 %; the rest is chance.
    goals = tuple(Goal(figure, "=", value, "fio") for figure, value in (("p50_us", 0.03), ("p90_us", 0.03), ("p99_us", 0.1)))
    return Work("%s-percentiles" % place, "file with %s, O_DIRECT, random 4 KiB, psync, 16 threads: latencies" % title, place,
                threads=16, direct=True, random=True, percentiles=True, goals=goals)


def _instructions(place, title, most, engine="psync", depth=1):
    return Work("instructions-%s%s" % (place, "" if engine in ("null", "psync") else "-" + engine),
                title + ": user-space instructions", place, engine, depth=depth, random=place != "null",
                instructions=True, goals=(Goal("insns_per_op", "<=", most),) if most else ())


# Of asynchronous engines: at least the IOPS of the better bare loop and of fio, at hardly more CPU than that loop.
_QUEUED = (_iops(0.97), _iops(1, "fio"), _cpu(1.1, "limit"))


def _devices(place, title):
    return tuple(_device(place, title, engine, depth, _QUEUED)
                 for engine in ("libaio", "io_uring") for depth in (32, 128))



_SMALL_FILES = (_rate(3, "rsync"), _rate(1.5, "tar"), _rate(10, "scp"))

ROWS = (
    Work("null-1", "null device, depth 1", "null", "null", syscalls=True, goals=(_iops(3, "fio"), _iops(0.9))),
    Work("null-32", "null device, depth 32 (xdd and the loop: threads; fio: one job)", "null", "null", threads=32,
         syscalls=True, goals=(_iops(5, "fio"),)),
    Work("tmpfs-4k-1", "tmpfs, sequential 4 KiB, psync, 1 thread", "tmpfs", syscalls=True, goals=(_iops(0.97),)),
    Work("tmpfs-4k-4", "tmpfs, sequential 4 KiB, psync, 4 threads", "tmpfs", threads=4, syscalls=True,
         goals=(_iops(0.97),)),
    Work("tmpfs-4k-4t", "tmpfs, sequential 4 KiB, psync, 4 threads (xdd: 4 targets)", "tmpfs", threads=4, apart=True),
    Work("tmpfs-4k-1-ts", "tmpfs, sequential 4 KiB, psync, 1 thread, every operation stamped", "tmpfs", stamps=True,
         goals=(_iops(0.97, "untraced"),)),
    Work("tmpfs-4k-4-ts", "tmpfs, sequential 4 KiB, psync, 4 threads, every operation stamped", "tmpfs", threads=4,
         stamps=True, goals=(_iops(0.97, "untraced"),)),
    Work("null-1-ts", "null device, depth 1, every operation stamped", "null", "null", stamps=True),
    Work("null-1-person", "null device, depth 1, -report person", "null", "null", person=True,
         goals=(_iops(0.95, "table"), _cpu(1.05, "table"))),
    Work("tmpfs-4k-1-person", "tmpfs, sequential 4 KiB, psync, 1 thread, -report person", "tmpfs", person=True,
         goals=(_iops(0.98, "table"),)),
    Work("tmpfs-1m-1", "tmpfs, sequential 1 MiB, psync, 1 thread", "tmpfs", size=MIB, goals=(_iops(0.95),)),
    Work("tmpfs-1m-4", "tmpfs, sequential 1 MiB, psync, 4 threads", "tmpfs", size=MIB, threads=4,
         goals=(_iops(0.95),)),
    Work("cache-1m-1", "cached file, sequential 1 MiB, psync, 1 thread", "cache", size=MIB, goals=(_iops(0.95),)),
    Work("cache-1m-4", "cached file, sequential 1 MiB, psync, 4 threads", "cache", size=MIB, threads=4,
         goals=(_iops(0.95),)),
    Work("fill-random", "tmpfs, sequential writes of 1 MiB, psync, 1 thread, random data", "tmpfs", size=MIB, op="write",
         pattern="random", goals=(_iops(0.8, "constant"),)),
    Work("fill-tagged", "tmpfs, sequential writes of 1 MiB, psync, 1 thread, tagged data", "tmpfs", size=MIB, op="write",
         pattern="tagged"),
    Work("verify-tagged", "tmpfs, sequential reads of 1 MiB, psync, 1 thread, tagged data verified", "tmpfs", size=MIB,
         pattern="tagged", verify=True, goals=(Goal("iops", ">=", round(2e9 / MIB)),)),
    Work("verify-random", "tmpfs, sequential reads of 1 MiB, psync, 1 thread, random data verified", "tmpfs", size=MIB,
         pattern="random", verify=True),
    _threads("loop", "loop device", 1),
    *_devices("loop", "loop device"),
    _threads("zram", "zram", 1),
    *_devices("zram", "zram"),
    _threads("disk", "file on disk", 32),
    *_devices("disk", "file on disk"),
    *_devices("slow", "file with a latency of 1 ms"),
    *_devices("tmpfs", "tmpfs"),
    _ordered(8, "serial"),
    _ordered(32, "serial"),
    _ordered(8, "strict"),
    _ordered(32, "strict"),
    _strict("loop", "loop device", "io_uring", 0.95),
    _strict("loop", "loop device", "libaio", 0.95),
    _strict("slow", "file with a latency of 1 ms", "libaio", 0.9),
    _strict("slowloop", "loop device with a latency of 1 ms", "io_uring", 0.9),
    _percentiles("slow", "a latency of 1 ms"),
    _percentiles("lognormal", "lognormal latencies, 1 ms in the middle"),
    _percentiles("bimodal", "latencies of 1 ms, and of 8 ms for one in 20"),
    _instructions("null", "null device, depth 1", 100, "null"),
    _instructions("tmpfs", "tmpfs, random 4 KiB, psync", 180),
    _instructions("tmpfs", "tmpfs, random 4 KiB, libaio, depth 32", 250, "libaio", 32),
    _instructions("tmpfs", "tmpfs, random 4 KiB, io_uring, depth 32", None, "io_uring", 32),
    Copy("copy", "tmpfs to tmpfs, 4 connections, 1 MiB, every block checked", ("loop", "iperf3", "rsync", "scp"),
         goals=(_rate(0.9, "loop"), Goal("cpu_s_per_gb", "<=", 1.15, "loop"), _rate(1, "iperf3"), _rate(3, "rsync"),
                _rate(8, "scp"))),
    Copy("copy-encrypted", "the same, over TLS", ("scp aes128-gcm",), encrypted=True, goals=(_rate(2.5, "scp aes128-gcm"),)),
    Copy("copy-null", "null device to null device, 4 connections, 1 MiB, every block checked", ("loop",), "copynull",
         goals=(_rate(0.95, "loop"),)),
    Files("files-4g", "xddcp of a file of 4 GiB, tmpfs to tmpfs", ("loop", "scp", "rsync"),
          goals=(_rate(0.9, "loop"), _rate(8, "scp"), _rate(3, "rsync"))),
    Files("files-4g-encrypted", "the same, encrypted", ("loop", "scp aes128-gcm"), options=("-e",),
          goals=(_rate(2.5, "scp aes128-gcm"),)),
    Files("files-resume", "the same, of which an interrupted copy has 90 %: -R", ("whole", "trust"), share=0.9, options=("-R",),
          goals=(Goal("wall_ms", "<=", 1, "whole"),)),
    Files("files-64k", "xddcp of 10,000 files of 64 KiB", ("loop", "rsync", "tar", "scp"), 10000, 64 * KIB, goals=_SMALL_FILES),
    Files("files-1k", "xddcp of 100,000 files of 1 KiB", ("loop", "rsync", "tar", "scp"), 100000, KIB,
          goals=(_rate(0.8, "loop"), *_SMALL_FILES)),
    Files("files-same", "xddcp of 100,000 files of 1 KiB that are there already", ("rsync",), 100000, KIB, exists=True,
          goals=(_rate(1, "rsync"),)),
    Files("files-far", "xddcp of 100,000 files of 1 KiB, 50 ms round trip", (), 100000, KIB, round_trip_ms=50,
          goals=(Goal("wall_ms", "<=", 1.5, "xdd near"),)),
    Files("files-start", "xddcp of a file of 1 KiB", ("ssh", "scp", "rsync"), 1, KIB,
          goals=(Goal("wall_ms", "<=", 50, "ssh", more=True),)),
    Answers("timeserver", "answers of a time server, per second of its processor time",
            goals=(Goal("answers_per_cpu_s", ">=", 100000),)),
    Hosts("hosts", "starts of four hosts with 0.2 ms to the time server, between the first and the last one",
          goals=(Goal("skew_us", "<=", 100),)),
    Own("sweep-point", "xdd sweep on the null device: a run of a point", "points", (("wall_ms", "ms"), ("cpu_ms", "CPU ms")),
        goals=(Goal("wall_ms", "<=", 10),)),
    Own("sweep-plan", "xdd sweep: a grid of 10,000 points, checked", "plans", (("wall_ms", "ms"), ("cpu_ms", "CPU ms")),
        goals=(Goal("wall_ms", "<=", 1000),)),
    Own("report", "xdd report: a sweep of 100 points and 100,000 rows of intervals", "page",
        (("wall_ms", "ms"), ("cpu_ms", "CPU ms"), ("page_mb", "page MB")), goals=(Goal("wall_ms", "<=", 2000), Goal("page_mb", "<=", 3))),
    Own("seek-once", "-seek random once, 10^12 requests: an offset", "offsets", (("ns_once", "ns"), ("ns_zipf", "ns, zipf 1.1")),
        goals=(Goal("ns_once", "<=", 40),)),
    Start("start-1", "a run of one operation, 1 target", 1, goals=(Goal("wall_ms", "<=", 5),)),
    Start("start-64", "a run of one operation each, 64 targets", 64),
    Start("start-512", "a run of one operation each, 512 targets", 512,
          goals=(Goal("wall_ms", "<=", 80), Goal("maxrss_mib", "<=", 25))),
)
