# SPDX-License-Identifier: GPL-2.0-or-later
"""Outside witnesses of the order in which a program's operations reach the kernel: what the program says of
itself is no proof.

    with witness.Syscalls(4096) as seen:        # pread64 and pwrite64 of that size: psync
        run = seen.xdd(...)
    seen.ops()                                  # [Op(offset, size, write, begin, end)], in the order begun

    with witness.Block(device) as seen:         # requests to a block device, O_DIRECT: any engine
    with witness.Block(device, file) as seen:   # those to a file on the file system on it

Both trace in the kernel, in an instance of tracefs of their own, and take a clock that counts events, so that their
order is beyond doubt. Without tracefs (it is for root), Syscalls has strace look on, which costs a hundred times as
much: Syscalls.slow says so. available() and can_trace_block() say what there is; sys_why() of xddsys has the reason.
"""
import atexit
import collections
import os
import re
import shutil
import subprocess
import xddsys as s
import xddtest as t

TRACEFS = "/sys/kernel/tracing"
# For each processor; the kernel allocates and clears all of it for each trace.
BUFFER_KIB = 48 << 10 if os.environ.get("XDD_TEST_LONG") else 10 << 10

Op = collections.namedtuple("Op", "offset size write begin end result")

_NUMBERS = {"x86_64": (17, 18), "aarch64": (67, 68), "riscv64": (67, 68), "ppc64le": (179, 180), "s390x": (180, 181)}


def order_breaks(ops, span):
    """
    The number of operations that do not begin where the one before them ended, as the audit counts them; the first
    of `span` bytes follows the last.
    """
    breaks, at = 0, 0
    for op in ops:
        breaks += op.offset != at
        at = (op.offset + op.size) % span
    return breaks


def _cannot(reason):
    return s._cannot(reason)  # pylint: disable=protected-access


def _has_tracefs(*events):
    if os.geteuid() != 0:
        return _cannot("tracing the kernel is for root only")
    if not os.path.isdir(TRACEFS + "/instances"):
        subprocess.run(["mount", "-t", "tracefs", "none", TRACEFS], stderr=subprocess.DEVNULL, check=False)
    for event in events:
        if not os.path.isdir("%s/events/%s" % (TRACEFS, event)):
            return _cannot("this kernel has no trace event %s" % event)
    return True


def _traces_syscalls():
    if os.uname().machine not in _NUMBERS:
        return _cannot("the numbers of system calls are not known here")
    return _has_tracefs("raw_syscalls/sys_enter")


def available():
    """True if Syscalls works here."""
    return _traces_syscalls() or s.can_trace()


def can_trace_block():
    return _has_tracefs("block/block_bio_queue")


class Lost(Exception):
    """The trace has holes."""


class _Instance:
    """A tracefs instance. Events are those between start() and stop()."""

    made = 0

    def __init__(self):
        _Instance.made += 1
        self.path = "%s/instances/xdd-test-%d.%d" % (TRACEFS, os.getpid(), _Instance.made)
        os.mkdir(self.path)
        atexit.register(self.remove)
        self.write("tracing_on", "0")
        self.write("trace_clock", "counter")
        self.write("buffer_size_kb", str(BUFFER_KIB))
        self.write("options/overwrite", "0")

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(text)

    def own_pid(self):
        """The number of this process in traces: in a PID namespace, os.getpid() is another one."""
        self.write("tracing_on", "1")
        self.write("trace_marker", "own_pid")
        self.write("tracing_on", "0")
        pid = next(re.search(r"-(\d+) ", line).group(1) for line in self.lines() if line.endswith(": own_pid\n"))
        self.write("trace", "\n")
        return pid

    def event(self, name, condition):
        self.write("events/%s/filter" % name, condition)
        self.write("events/%s/enable" % name, "1")

    def lines(self):
        """The traced events, oldest first."""
        for cpu in os.listdir(self.path + "/per_cpu"):
            with open("%s/per_cpu/%s/stats" % (self.path, cpu), encoding="ascii") as file:
                for name, number in re.findall(r"^(.*): (\d+)$", file.read(), re.M):
                    if name in ("overrun", "commit overrun", "dropped events") and int(number):
                        raise Lost("%s: %s %s" % (cpu, name, number))
        with open(self.path + "/trace", encoding="ascii", errors="replace") as file:
            return [line for line in file if not line.startswith("#")]

    def remove(self):
        if os.path.isdir(self.path):
            self.write("tracing_on", "0")
            self.write("events/enable", "0")
            os.rmdir(self.path)


class _Traced:
    """The way of both witnesses: made before, started and stopped around, read and removed afterwards."""

    def __init__(self):
        self.instance = _Instance()
        self.seen = None

    def __enter__(self):
        self.instance.write("tracing_on", "1")
        return self

    def xdd(self, *args, **kwargs):
        """Run xdd with this witness."""
        return t.xdd(*args, **kwargs)

    def __exit__(self, kind, *_):
        self.instance.write("tracing_on", "0")
        try:
            if kind is None:
                self.seen = self.instance.lines()
        finally:
            self.instance.remove()


class _TracedSyscalls(_Traced):
    slow = False
    LINE = re.compile(r"-(\d+) .*? (\d+): sys_(enter: NR|exit: NR) (-?\d+) (?:\((.*)\)|= (-?\w+))")

    def __init__(self, size):
        super().__init__()
        self.size = size
        numbers = " || ".join("id == %d" % n for n in _NUMBERS[os.uname().machine])
        # The processes that this one starts are followed; it makes no such calls itself.
        self.instance.write("options/event-fork", "1")
        self.instance.write("set_event_pid", self.instance.own_pid())
        self.instance.event("raw_syscalls/sys_enter", numbers)
        self.instance.event("raw_syscalls/sys_exit", numbers)

    def ops(self):
        ops, under_way = [], {}
        write_number = _NUMBERS[os.uname().machine][1]
        for line in self.seen:
            m = self.LINE.search(line)
            if not m:
                continue
            pid, at, number = m.group(1), int(m.group(2)), int(m.group(4))
            if m.group(5) is not None:
                args = [int(a, 16) for a in m.group(5).split(", ")]
                # Other than those of the loader of shared libraries.
                if self.size is None or args[2] == self.size:
                    under_way[pid] = len(ops)
                    ops.append([args[3], args[2], number == write_number, at, None, None])
            elif pid in under_way:
                i = under_way.pop(pid)
                ops[i][4:] = at, int(m.group(6), 0)
        return [Op._make(op) for op in ops]


class _Straced:
    """strace looks on."""

    slow = True
    # Raw: the data of a read is not known when it begins, and strace would keep back all arguments after it.
    BEGIN = re.compile(r"(\d+) +(pread|pwrite)64\(\w+, \w+, (\w+), (\w+)(?:\) += (-?\w+)| <unfinished|\) <)")
    END = re.compile(r"(\d+) +<\.\.\. p(?:read|write)64 resumed>.*= (-?\w+)")

    def __init__(self, size):
        self.size = size
        self.file = t.path("witness.%d" % os.getpid())
        self.prefix = s.strace(self.file, "pread64,pwrite64", "-e", "raw=pread64,pwrite64")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def xdd(self, *args, **kwargs):
        return t.command(self.prefix + t.xdd_words(*args), **kwargs)

    def ops(self):
        ops, under_way = [], {}
        with open(self.file, encoding="ascii", errors="replace") as file:
            for at, line in enumerate(file):
                m = self.BEGIN.match(line)
                if m and self.size in (None, int(m.group(3), 0)):
                    result = m.group(5)
                    under_way[m.group(1)] = len(ops)
                    ops.append([int(m.group(4), 0), int(m.group(3), 0), m.group(2) == "pwrite", 2 * at,
                                2 * at + 1 if result else None, int(result, 0) if result else None])
                m = self.END.match(line)
                if m and m.group(1) in under_way:
                    i = under_way.pop(m.group(1))
                    ops[i][4:] = 2 * at, int(m.group(2), 0)
        return [Op._make(op) for op in ops]


def Syscalls(size=None):  # pylint: disable=invalid-name
    """The witness of pread64 and pwrite64, of that size only if one is given."""
    return _TracedSyscalls(size) if _traces_syscalls() else _Straced(size)


class Block(_Traced):
    """
    The witness of requests to a block device; with `file`, to that file on it (which must have its blocks). ops() counts in
    `by_workers` those that threads of the kernel issue for io_uring: requests that would have had to wait.
    """

    LINE = re.compile(r" (\d+): block_(bio_queue|rq_complete): \d+,\d+ (\w+) (?:\(.*\) )?(\d+) \+ (\d+) .*\[(.*)\]")

    def __init__(self, device, file=None):
        super().__init__()
        self.extents = _extents(file) if file else None
        self.by_workers = 0
        number = os.stat(device).st_rdev
        condition = "dev == %d" % (os.major(number) << 20 | os.minor(number))
        self.instance.event("block/block_bio_queue", condition)
        self.instance.event("block/block_rq_complete", condition)

    def _place(self, byte):
        if self.extents is None:
            return byte
        for logical, physical, length in self.extents:
            if physical <= byte < physical + length:
                return logical + byte - physical
        return None

    def ops(self):
        ops, under_way = [], {}
        own = (os.path.basename(t.XDD)[:15], "iou-")
        for line in self.seen:
            m = self.LINE.search(line)
            # Others look at devices too, such as at partitions of new ones.
            if not m or m.group(2) == "bio_queue" and not m.group(6).startswith(own):
                continue
            at, flags = int(m.group(1)), m.group(3)
            offset, size = self._place(int(m.group(4)) * 512), int(m.group(5)) * 512
            # Neither metadata and journal of a file system, nor flushes.
            if offset is None or not size or "M" in flags:
                continue
            if m.group(2) == "bio_queue":
                self.by_workers += m.group(6).startswith("iou-")
                under_way[offset] = len(ops)
                ops.append([offset, size, "W" in flags, at, None, None])
            elif offset in under_way:
                i = under_way.pop(offset)
                ops[i][4] = at
        return [Op._make(op) for op in ops]


def _extents(file):
    """(offset in the file, offset on the device, length) of its pieces, in bytes."""
    run = t.command(["filefrag", "-v", "-b4096", file])
    pieces = re.findall(r"^ *\d+: +(\d+)\.\. +\d+: +(\d+)\.\. +\d+: +(\d+):", run.out, re.M)
    return [tuple(4096 * int(n) for n in piece) for piece in pieces]


# The file system that takes its time, which is a witness too


class SlowFs:
    """
    tests/lib/slowfs.c, mounted: `data` is its file, of `size` bytes. `delay` and other options as its head
    explains. log() ends it and returns what arrived, [Arrival], in that order.
    """

    Arrival = collections.namedtuple("Arrival", "number kind offset size arrived_ns delay_ns answered_ns")
    count = 0

    def __init__(self, program, size, delay, options=()):
        SlowFs.count += 1
        self.directory, self.file = t.path("slow.%d" % SlowFs.count), t.path("slow.%d.log" % SlowFs.count)
        os.mkdir(self.directory)
        self.process = subprocess.Popen([program, "-s", str(size), "-d", delay, "-l", self.file, *options, self.directory],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        atexit.register(self.end)
        self.ready = self.process.stdout.readline() == b"ready\n"
        self.why = "" if self.ready else self.process.stderr.read().decode()
        self.data = os.path.join(self.directory, "data")

    def end(self):
        """Unmounts; every user of the file, such as a loop device, must be gone. Answers no request any more."""
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        subprocess.run(["umount", "--lazy", self.directory], stderr=subprocess.DEVNULL, check=False)

    def log(self):
        self.end()
        with open(self.file, encoding="ascii") as file:
            rows = [line.split() for line in file]
        return [self.Arrival(int(r[0]), r[1], *(int(n) for n in r[2:])) for r in rows]


def slow_fs(size, delay="constant:1000", options=()):
    """A SlowFs, or None."""
    program = os.path.join(os.environ.get("TOP_BUILDDIR", "."), "tests/lib/slowfs")
    if not os.path.exists(program):
        return _cannot("built without libfuse3: no tests/lib/slowfs")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return _cannot("no /dev/fuse")
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        return _cannot("fusermount3 is not installed")
    found = SlowFs(program, size, delay, options)
    return found if found.ready else _cannot("slowfs: " + found.why)
