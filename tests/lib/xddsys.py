# SPDX-License-Identifier: GPL-2.0-or-later
"""Means of the system for functional tests: strace, loop devices, file systems, and I/O that goes wrong.

Everything made here is the test's own and goes away when it ends, by SIGTERM too. Where the machine
cannot do a thing, the function returns None, and the test says "# SKIP"; sys_why() has the reason.
"""
import atexit
import contextlib
import ctypes
import mmap
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import messages as m
import xddprocesses
import xddtest as t

_why = "?"
_attached = set()


def sys_why():
    """Why the last function here returned None."""
    return _why


def _cannot(reason):
    global _why
    _why = reason.strip().splitlines()[-1] if reason.strip() else "unknown reason"
    return None


def _ended(signum, _frame):
    sys.exit(128 + signum)


signal.signal(signal.SIGTERM, _ended)


CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000


def own_mounts():
    """
    Give this process, and what it starts from now on, mounts of its own. A namespace that another test makes
    meanwhile would have copies of them, and keep a device busy that is unmounted here. They also end with the test.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0 and libc.unshare(CLONE_NEWNS) == 0:
        libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)


def _admin(*args):
    """Run a command of the administrator; None when it fails."""
    if shutil.which(args[0]) is None:
        return _cannot("%s is not installed" % args[0])
    run = t.command(list(args))
    return run if run.status == 0 else _cannot("%s: %s" % (args[0], run.err or run.out))


def in_mounts(script):
    """
    The words before a command that runs it where the shell script `script` has changed the mounts, unseen by other processes.
    None: this machine cannot do that. "unshare" needs a mount point at /, which a chroot need not have.
    """
    words = ["unshare", "--mount", "sh", "-c", "{ %s; } && exec \"$@\"" % script, "sh"]
    if os.geteuid() != 0:
        return _cannot("mounts are for root only")
    return words if _admin(*words, "true") else None


def without_proc():
    """The words before a command that runs it where /proc is empty, or None."""
    if sanitized():
        return _cannot("sanitizers need /proc")
    return in_mounts("mount -t tmpfs none /proc") if os.path.isdir("/proc/self/fd") else _cannot("there is no /proc")


# Loop devices and file systems


def sparse_file(name, size):
    """A file of `size` bytes, all holes; returns its path."""
    file = t.path(name)
    with open(file, "wb") as f:
        f.truncate(size)
    return file


def loop_device(file, *options):
    """A loop device over that file, or None."""
    if os.geteuid() != 0:
        return _cannot("loop devices are for root only")
    run = _admin("losetup", *options, "--find", "--show", file)
    if run is None:
        return None
    t.tolerate(m.LOOP_BUFFERED)
    device = run.out.strip()
    atexit.register(detach, device)
    _attached.add(device)
    return device


def detach(device):
    """Detach a loop device, once: after that it may belong to another process."""
    if device in _attached:
        _attached.remove(device)
        file = backing_file(device)
        subprocess.run(["losetup", "--detach", device], stderr=subprocess.DEVNULL, check=False)
        # Where another process looks at the device just then, the kernel detaches it once that is done.
        t.until(lambda: not file or backing_file(device) != file, seconds=xddprocesses.END_S)


def backing_file(device):
    """The file that a loop device has, or None."""
    try:
        with open("/sys/block/%s/loop/backing_file" % os.path.basename(device), encoding="utf-8", errors="surrogateescape") as f:
            return f.read().rstrip("\n")
    except OSError:
        return None


def zram(size):
    """A new zram device, or None."""
    try:
        with open("/sys/class/zram-control/hot_add", encoding="ascii") as f:
            number = f.read().strip()
    except OSError as err:
        return _cannot(str(err))
    def remove():
        with open("/sys/class/zram-control/hot_remove", "w", encoding="ascii") as f:
            f.write(number)
    atexit.register(remove)
    with open("/sys/block/zram%s/disksize" % number, "w", encoding="ascii") as f:
        f.write(str(size))
    return "/dev/zram" + number


def set_queue(device, name, value):
    """Change a setting of a block device's queue, put back at the end: it outlasts the device's use. None: it cannot be done."""
    path = "/sys/block/%s/queue/%s" % (os.path.basename(device), name)
    try:
        with open(path, "r+", encoding="ascii") as file:
            before = file.read()
            file.seek(0)
            file.write(value)
    except OSError as err:
        return _cannot(str(err))
    before = re.sub(r".*\[(.*)\].*", r"\1", before.strip())
    atexit.register(lambda: open(path, "w", encoding="ascii").write(before))
    return True


def is_memory(path):
    """Return true if that path is in memory, where nothing can be dropped."""
    return t.command(["stat", "-f", "-c", "%T", path]).out.strip() in ("tmpfs", "ramfs")


def is_overlay(path):
    """Return true if that path is on overlayfs, as in a container: its files are cached as files of the layers below."""
    return t.command(["stat", "-f", "-c", "%T", path]).out.strip() == "overlayfs"


def _memory_directory():
    """A directory for files in memory, or None: /dev/shm without a mount of its own, as in a chroot, is a part of /dev."""
    path = os.path.realpath("/dev/shm")
    return path if os.path.ismount(path) and is_memory(path) and os.access(path, os.W_OK) else None


MEMORY = _memory_directory()


def _mounted(directory):
    atexit.register(subprocess.run, ["umount", "--lazy", directory], stderr=subprocess.DEVNULL)
    return directory


def ext4(name, size, options="defaults", inode_bytes=256):
    """
    The directory of a new ext4 file system of `size` bytes, mounted with these options, or None. With inodes of 128 bytes
    times are seconds.
    """
    own_mounts()
    device = loop_device(sparse_file(name + ".img", size))
    if device is None or _admin("mkfs.ext4", "-q", "-F", "-b", "4096", "-I", str(inode_bytes), device) is None:
        return None
    os.mkdir(t.path(name))
    if _admin("mount", "-t", "ext4", "-o", options, device, t.path(name)) is None:
        return None
    return _mounted(t.path(name))


def xfs(name):
    """The directory of a new XFS file system of the least size that mkfs.xfs takes, or None."""
    own_mounts()
    device = loop_device(sparse_file(name + ".img", 320 << 20))
    if device is None or _admin("mkfs.xfs", "-q", "-f", device) is None:
        return None
    os.mkdir(t.path(name))
    if _admin("mount", "-t", "xfs", device, t.path(name)) is None:
        return None
    return _mounted(t.path(name))


def tmpfs(name, size):
    """The directory of a new tmpfs of `size` bytes, or None."""
    if os.geteuid() != 0:
        return _cannot("mounting is for root only")
    os.mkdir(t.path(name))
    if _admin("mount", "-t", "tmpfs", "-o", "size=%d" % size, "xddtest", t.path(name)) is None:
        return None
    return _mounted(t.path(name))


# The page cache


def cpu_quota(percent):
    """
    control_group() that may use so much of one processor. It has the greatest weight: beside other work, too, it uses up its
    quota early in each period, and so the quota limits it and not the other work.
    """
    period_us = 100000
    quota_us = period_us * percent // 100
    return control_group(("cpu", {"cpu.cfs_period_us": period_us, "cpu.cfs_quota_us": quota_us, "cpu.shares": 262144}),
                         ("", {"cpu.max": "%d %d" % (quota_us, period_us), "cpu.weight": 10000}))


def read_limit(device, bytes_s):
    """control_group() that may read `bytes_s` bytes per second from a device."""
    number = os.stat(device).st_rdev
    number = "%d:%d" % (os.major(number), os.minor(number))
    return control_group(("blkio", {"blkio.throttle.read_bps_device": "%s %d" % (number, bytes_s)}),
                         ("", {"io.max": "%s rbps=%d" % (number, bytes_s)}))


@contextlib.contextmanager
def control_group(*choices):
    """
    A control group with limits: the first of the choices (hierarchy, settings) that this machine has. Yields the words that
    run a command in it, or None where it cannot make one.
    """
    own = "xddtest.%d" % os.getpid()
    for root, settings in choices:
        group = os.path.join("/sys/fs/cgroup", root, own)
        try:
            os.mkdir(group)
        except OSError as e:
            _cannot("%s: %s" % (group, e.strerror))
            continue
        try:
            for name, value in settings.items():
                # Creates no file where another file system is mounted.
                with open(os.open(os.path.join(group, name), os.O_WRONLY), "w", encoding="ascii") as f:
                    f.write(str(value))
        except OSError as e:
            _cannot("%s: %s" % (group, e.strerror))
            os.rmdir(group)
            continue
        try:
            yield ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group]
        finally:
            os.rmdir(group)
        return
    yield None


@contextlib.contextmanager
def only_cached(path, *extents):
    """
    In a with statement: have these extents (offset, size) of a file or a device in the page cache, and of a file on its
    disk nothing else. The kernel does not drop pages that are mapped, not even where another test has it drop all it can,
    and does not evict those that are locked, as far as the user may lock memory.
    """
    held = []
    locked = 0x2000  # MAP_LOCKED, which Python does not name

    def keep(size, offset):
        try:
            return mmap.mmap(f.fileno(), size, mmap.MAP_SHARED | locked, mmap.PROT_READ, offset=offset)
        except OSError:
            return mmap.mmap(f.fileno(), size, mmap.MAP_SHARED, mmap.PROT_READ, offset=offset)

    with open(path, "rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)  # Nothing is read ahead.
        for offset, size in extents:
            os.pread(f.fileno(), size, offset)
            held.append(keep(size, offset))
            held[-1].madvise(mmap.MADV_RANDOM)
            _ = held[-1][::mmap.PAGESIZE]  # This maps each page.
    try:
        yield
    finally:
        for pages in held:
            pages.close()


# strace


class Op:
    """A system call that read or wrote at an offset."""

    def __init__(self, pid, call, fd, path, size, offset, result):
        self.pid, self.call, self.fd, self.path = pid, call, fd, path
        self.size, self.offset, self.result = size, offset, result

    def __repr__(self):
        return "%s(%s, %d at %d) = %s" % (self.call, self.path, self.size, self.offset, self.result)


RESUMED = re.compile(r"<\.\.\. \w+ resumed>(.*)")


def calls_of(log):
    """The thread and the text of each call in a log of "strace -f", in the order in which they ended."""
    begun = {}
    with open(log, errors="replace") as f:
        for line in f:
            pid, _, text = line.rstrip("\n").partition(" ")
            text = text.strip()
            if text.endswith("<unfinished ...>"):
                begun[pid] = text[:-len("<unfinished ...>")]
                continue
            resumed = RESUMED.match(text)
            yield pid, begun.pop(pid, "") + resumed.group(1) if resumed else text


class Trace:
    """The operations of a run in the order in which they ended, and how its targets were opened."""

    def __init__(self, file, queue_log=None):
        self.ops, self.opens = [], []
        self._found = {}
        if queue_log and os.path.exists(queue_log):
            self._queued(queue_log)
        for pid, text in calls_of(file):
            self._call(pid, text)

    def _call(self, pid, text):
        m = re.match(r'(pread|pwrite)64\((\d+)<([^>]*)>, .*, (\d+), (\d+) *\) += (-?\d+)', text)
        if m:
            self.ops.append(Op(int(pid), m.group(1), int(m.group(2)), m.group(3), int(m.group(4)),
                               int(m.group(5)), int(m.group(6))))
        m = re.match(r'openat\(.*?, "([^"]*)", ([A-Z_|0-9]+).*\) += (\d+)<', text)
        if m:
            self._open(pid, m.group(1), m.group(2).split("|"), m.group(3))

    def _open(self, pid, path, flags, fd):
        """A file is found (O_PATH), looked at, and then opened by the descriptor: that is one opening, by its name."""
        found = self._found.pop(pid, None)
        if "O_PATH" in flags:
            self._found[pid] = (path, fd)
        elif found and path == "/proc/self/fd/" + found[1]:
            self.opens.append((found[0], flags))
        else:
            self.opens.append((path, flags))

    def _queued(self, file):
        """Requests of an engine that queues in the order of their submission; what each moved is not seen here."""
        with open(file, errors="replace") as f:
            for line in f:
                pid, call, fd, size, offset, path = line.rstrip("\n").split(" ", 5)
                self.ops.append(Op(int(pid), call, int(fd), path, int(size), int(offset), int(size)))

    def of(self, *paths):
        """Operations on these files."""
        names = {os.path.realpath(p) for p in paths}
        return [op for op in self.ops if op.path in names]

    def flags(self, path):
        """The flags of each open(2) of that file."""
        return [flags for name, flags in self.opens if name == path]


def can_trace():
    """True if strace is there and may be used."""
    if not t.have("strace"):
        return _cannot("strace is not installed")
    if _queue() and not _shim():
        return None
    run = t.command(["strace", "-o", "/dev/null", "true"])
    return True if run.status == 0 else _cannot("strace: " + run.err)


_traces = 0


def strace(log, calls, *more, env=None):
    """
    The words before a command that write these calls of all its threads to `log`: no data, and descriptors with their paths.
    The command stops at these calls only, if it can. `more`: other words of strace; `env`: other variables of the command.
    """
    # The leak checker cannot work in a traced process.
    env = dict(env or {}, ASAN_OPTIONS=t.sanitizer_options("ASAN_OPTIONS", "detect_leaks=0", env))
    # With a filter of calls in the kernel, strace sends no signal at a call.
    stops = [] if any(":signal=" in word for word in more) else ["--seccomp-bpf"]
    return ["strace", "-f", *stops, "-qq", "-y", "-s", "0", "-o", log, "-e", "signal=none", "-e", "trace=" + calls,
            *(word for name, value in env.items() for word in ("-E", "%s=%s" % (name, value))), *more]


def trace(*args, env=None, device=None, **kwargs):
    """
    Run xdd under strace; returns the run and its Trace. `env` is for xdd alone. `device`: xdd runs in virtual time, with this
    law for files; see virtual_time().
    """
    global _traces
    _traces += 1
    file = t.path("strace.%d" % _traces)
    env, log = dict(env or {}), None
    if _queue():
        log = t.path("queue.%d" % _traces)
        env.update(LD_PRELOAD=_shim(), XDD_QUEUE_LOG=log,
                   ASAN_OPTIONS=t.sanitizer_options("ASAN_OPTIONS", "verify_asan_link_order=0", env))
    elif device:
        env = {**t.device_environment(device), **env,
               "ASAN_OPTIONS": t.sanitizer_options("ASAN_OPTIONS", "verify_asan_link_order=0", env)}
    run = t.command(strace(file, "pread64,pwrite64,openat", env=env) + t.xdd_words(*args), **kwargs)
    result = Trace(file, log)
    os.unlink(file)
    return run, result


# I/O that goes wrong

# faults.c
_library = None


def _queue():
    """The engine that is asked for if it queues, else nothing."""
    engine = (t.ENGINE.split() or [""])[0]
    return engine if engine in ("libaio", "io_uring") else ""


def _shim():
    """The library, or None."""
    global _library
    if _queue():
        with open(t.XDD, "rb") as f:
            names = {"io_uring": b"liburing.so", "libaio": b"libaio.so"}
            if names[_queue()] not in f.read():
                return _cannot("what hands requests to %s is built into this binary" % _queue())
    if _library is None:
        compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
        source, library = os.path.join(os.path.dirname(__file__), "faults.c"), t.path("faults.so")
        if _admin(*compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl") is None:
            return None
        _library = library
    return _library


def _can_inject(what):
    """True if this fault can be injected into the engine too."""
    kernel = tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])
    if _queue() == "io_uring" and what in ("eio", "eintr") and kernel < (6, 10):
        return _cannot("this kernel cannot make a request of io_uring fail")
    if _queue() and (what == "hang" or what == "eintr" and _queue() == "libaio"):
        return _cannot("%s: not with %s" % (what, _queue()))
    return True


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(_Instruction))]


def forbid(number, error):
    """
    A function for preexec_fn that makes a system call fail, in its process and in the programs which that runs. It raises
    OSError where the kernel takes no seccomp filter.
    """
    rules = ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | error), (0x06, 0, 0, 0x7fff0000))
    program = _Program(len(rules), (_Instruction * len(rules))(*[_Instruction(*r) for r in rules]))
    libc = ctypes.CDLL(None, use_errno=True)

    def apply():
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")
    return apply


def library(name, code, *words, made=None):
    """The path of a shared library of this C code, or None where there is no compiler. `words` are more of the compiler's."""
    source, made = t.path(name + ".c"), made or t.path(name + ".so")
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if not t.have(compiler[0]):
        return None
    with open(source, "w") as f:
        f.write(code)
    run = t.command(compiler + ["-shared", "-fPIC", "-O1", "-o", made, source, *words])
    t.ok(run.status == 0, "the library %s" % name, run)
    return made


def preload(name, code, *words):
    """The environment in which this library is in front of others, or None."""
    made = library(name, code, *words)
    if made is None:
        return None
    return {"LD_PRELOAD": made, "ASAN_OPTIONS": t.sanitizer_options("ASAN_OPTIONS", "verify_asan_link_order=0")}


def faults(what, **settings):
    """
    Environment in which pread and pwrite go wrong, or None. What: "eio" fails, "short" moves at most 1000
    bytes, "eintr" is interrupted two times of three, "slow" sleeps `ns` (5 ms) before, "hang" never returns.
    "attribute": the function `call` that sets attributes fails (EIO), of extended ones those that begin with `attribute`.
    Settings: start, end (offsets), file (part of a file's name), ns; for "eio" also times (how often, total)
    and errno (another one).
    """
    if not _can_inject(what) or not _shim():
        return None
    names = {"start": "XDD_FAULT_FROM", "end": "XDD_FAULT_TO", "file": "XDD_FAULT_FILE", "ns": "XDD_FAULT_NS",
             "times": "XDD_FAULT_TIMES", "errno": "XDD_FAULT_ERRNO", "call": "XDD_FAULT_CALL",
             "attribute": "XDD_FAULT_ATTRIBUTE"}
    env = {"XDD_FAULT": what, "LD_PRELOAD": _shim()}
    env.update({names[k]: str(v) for k, v in settings.items()})
    # A library before that of the sanitizer is intended here, as are threads that are left behind.
    env["ASAN_OPTIONS"] = t.sanitizer_options("ASAN_OPTIONS", "verify_asan_link_order=0")
    env["TSAN_OPTIONS"] = t.sanitizer_options("TSAN_OPTIONS", "report_thread_leaks=0")
    return env


def sanitized():
    """True if the binary was built with ASan or TSan, which take memory and time of their own."""
    with open(t.XDD, "rb") as f:
        data = f.read()
    return b"__asan_init" in data or b"__tsan_init" in data


# A run without rights, and what is known of a process from outside


def threads(process):
    """How many threads it has, without the one of the thread sanitizer; 0 once it has ended."""
    try:
        count = len(os.listdir("/proc/%d/task" % process.pid))
    except OSError:
        return 0
    return max(count - ("thread" in os.environ.get("XDD_SANITIZERS", "")), 0)


def has_ended(pid):
    """True once all threads of the process have ended, reaped or not."""
    return xddprocesses.await_end(pid, 0)


def stop(pid):
    """Stop a process of any parent; returns once each of its threads stands still, True, or after the limit, False."""
    def running():
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/stat" % (pid, tid), encoding="ascii", errors="replace") as f:
                if f.read().rpartition(")")[2].split()[0] != "T":
                    return True
        return False
    os.kill(pid, signal.SIGSTOP)
    return t.until(lambda: not running())


def io_bytes(pid, direction="rchar"):
    """The bytes that a process has read so far, or written ("wchar"), with its files and pipes; 0: it has ended."""
    try:
        with open("/proc/%d/io" % pid, encoding="ascii") as f:
            return int(re.search(direction + r": (\d+)", f.read())[1])
    except OSError:
        return 0


def idle_user():
    """The number of a user without processes. Tests that run side by side get different ones."""
    busy = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            busy.add(os.stat("/proc/" + pid).st_uid)
    # Below 65536: the user namespace of a container often has no more.
    users, first = range(20000, 60000), os.getpid()
    return next(user for user in (users[(first + n) % len(users)] for n in range(len(users))) if user not in busy)


def for_nobody(memlock=None):
    """
    How to run xdd without any rights: (words before it, the binary), or None. `memlock` is its limit on locked
    memory, in bytes. Files that it is to make belong into the directory t.path("free").
    """
    if os.geteuid() != 0 or not t.have("setpriv") or not t.have("prlimit"):
        return _cannot("only root can give its rights away, with setpriv and prlimit")
    binary, free = t.path("xdd-for-all"), t.path("free")
    if not os.path.exists(binary):
        # The directory of this test, and the one that the suite has made for it.
        for directory in (t.tmp(), os.environ.get("TMPDIR")):
            if directory and t.tmp().startswith(directory + "/") and os.stat(directory).st_mode & 0o7777 == 0o700 or directory == t.tmp():
                os.chmod(directory, 0o711)
        shutil.copy(t.XDD, binary)
        os.chmod(binary, 0o755)
        os.mkdir(free)
        os.chmod(free, 0o777)
    prefix = ["prlimit", "--rtprio=0:0"] + (["--memlock=%d:%d" % (memlock, memlock)] if memlock is not None else [])
    prefix += ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    # Capabilities may outlive the change of user until xdd is started: ask xdd to look for itself.
    run = t.command(prefix + [binary, "-op", "noop", "-targets", "1", binary, "-numreqs", "1"])
    return (prefix, binary) if run.status == 0 else _cannot("not all may use the directory of this test: " + run.err)
