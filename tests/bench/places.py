# SPDX-License-Identifier: GPL-2.0-or-later
"""Files and devices of the workloads, created on first use and removed at the end. Used by run."""
import contextlib
import errno
import os
import shutil
import stat
import subprocess
import tempfile
import time

from commands import Skip, call
from files import make_tree

MIB = 1 << 20


def write_data(path, size):
    """Fill a file or device with data that does not compress."""
    block = os.urandom(8 * MIB)
    with open(path, "r+b" if os.path.exists(path) else "wb", buffering=0) as file:
        for start in range(0, size, len(block)):
            part = memoryview(block)[:size - start]
            while part:
                part = part[file.write(part):]
        os.fsync(file.fileno())


def file_system_of(path):
    """The type of the file system that `path` is on, by the longest mount point above it."""
    path = os.path.realpath(path)
    best, kind = "", "?"
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            words = line.split()
            point = words[1].replace("\\040", " ")
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, kind = point, words[2]
    return kind


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


class Places:
    """get(NAME) is (path, bytes) of a place, or raises Skip. As a context manager, removes them all at its end."""

    def __init__(self, disk_directory, size):
        self.disk_directory = disk_directory
        # Memory in use: three files of this size, and their share of the page cache.
        self.size = size if available_bytes() > 8 * size else 32 * MIB
        self.made = {}
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return self.stack.__exit__(*exc)

    def get(self, name):
        if name not in self.made:
            try:
                self.made[name] = getattr(self, "_make_" + name)()
            except Skip as err:
                self.made[name] = err
            except OSError as err:
                self.made[name] = Skip(str(err))
        if isinstance(self.made[name], Skip):
            raise self.made[name]
        return self.made[name]

    def _directory(self, parent):
        directory = tempfile.mkdtemp(prefix="xdd-bench.", dir=parent)
        self.stack.callback(shutil.rmtree, directory, ignore_errors=True)
        return directory

    def _memory_directory(self):
        """A directory on a tmpfs: there is one on any Linux with glibc."""
        if not os.path.isdir("/dev/shm") or file_system_of("/dev/shm") != "tmpfs":
            raise Skip("/dev/shm is no tmpfs")
        free = os.statvfs("/dev/shm")
        if free.f_bavail * free.f_frsize < 4 * self.size:
            raise Skip("/dev/shm is too small")
        return self._directory("/dev/shm")

    def _make_null(self):
        return None, 1 << 30

    def _make_tmpfs(self):
        path = os.path.join(self._memory_directory(), "file")
        write_data(path, self.size)
        return path, self.size

    def _make_copy(self):
        """A source and a destination on a tmpfs, large enough that starting programs is a small part of a copy."""
        size = 4 * self.size
        if available_bytes() < 4 * size:
            raise Skip("there is not enough memory for two files of %d MiB" % (size // MIB))
        directory = self._memory_directory()
        free = os.statvfs(directory)
        if free.f_bavail * free.f_frsize < 2 * size:
            raise Skip("/dev/shm is too small")
        source, destination = (os.path.join(directory, name) for name in ("source", "destination"))
        write_data(source, size)
        shutil.copyfile(source, destination)
        return source, destination, size

    def files(self, count, size):
        """A directory of `count` files (for one, the file itself), one for copies of it, and their bytes: (source,
        destination, bytes). All rows share the destination; only the source that was asked for last exists."""
        total = count * max(size, 4096)
        if not hasattr(self, "files_of"):
            self.files_of, self.files_directory = None, self._memory_directory()
        source, destination = (os.path.join(self.files_directory, name) for name in ("source", "copies"))
        shutil.rmtree(destination, ignore_errors=True)
        os.mkdir(destination)
        if self.files_of != (count, size):
            shutil.rmtree(source, ignore_errors=True)
            self.files_of = None
            free = os.statvfs(self.files_directory)
            if available_bytes() < 2.5 * total:
                raise Skip("there is not enough memory for copies of %d MiB" % (total // MIB))
            if free.f_bavail * free.f_frsize < 2.2 * total or (free.f_files and free.f_ffree < 3 * count):
                raise Skip("/dev/shm is too small for copies of %d MiB" % (total // MIB))
            os.mkdir(source)
            if count == 1:
                write_data(os.path.join(source, "file"), size)
            else:
                make_tree(os.path.join(source, "tree"), count, size)
            self.files_of = (count, size)
        return os.path.join(source, "file" if count == 1 else "tree"), destination, count * size

    def _make_copynull(self):
        return None, None, 16 * self.size

    def _make_disk(self):
        os.makedirs(self.disk_directory, exist_ok=True)
        kind = file_system_of(self.disk_directory)
        if kind in ("tmpfs", "ramfs"):
            raise Skip("%s is on %s; --dir names a directory on a disk" % (self.disk_directory, kind))
        path = os.path.join(self._directory(self.disk_directory), "file")
        write_data(path, self.size)
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        except OSError:
            raise Skip("%s has no direct I/O; --dir names another directory" % kind) from None
        return path, self.size

    def _make_cache(self):
        path, size = self.get("disk")
        with open(path, "rb", buffering=0) as file:
            while file.read(MIB):
                pass
        return path, size

    def _make_loop(self):
        if os.geteuid():
            raise Skip("only root can make a loop device")
        path = os.path.join(self._memory_directory(), "loop")
        write_data(path, self.size)
        device = call(["losetup", "--find", "--show", path]).strip()
        # The kernel removes it with its last user, which is this process; its file as well.
        try:
            self.stack.callback(os.close, os.open(device, os.O_RDONLY | os.O_CLOEXEC))
        finally:
            call(["losetup", "--detach", device])
        os.unlink(path)
        return device, self.size

    def _delayed(self, delay):
        """The file of a file system that takes its time with each request: tests/lib/slowfs.c says what `delay` may be."""
        program = os.path.abspath(os.path.join(os.environ.get("TOP_BUILDDIR", "."), "tests", "lib", "slowfs"))
        if not os.path.exists(program):
            raise Skip("tests/lib/slowfs is not built: it needs libfuse3")
        directory = self._directory("/dev/shm")
        mounted = subprocess.Popen([program, "-s", str(self.size), "-d", delay, directory],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.stack.callback(mounted.wait)
        self.stack.callback(mounted.stdin.close)
        if mounted.stdout.readline() != b"ready\n":
            raise Skip("slowfs cannot be mounted")
        return os.path.join(directory, "data"), self.size

    def _make_slow(self):
        return self._delayed("constant:1000")

    def _make_lognormal(self):
        return self._delayed("lognormal:1000:0.5")

    def _make_bimodal(self):
        return self._delayed("bimodal:1000:8000:5")

    def _make_slowloop(self):
        if os.geteuid():
            raise Skip("only root can make a loop device")
        path, size = self.get("slow")
        device = call(["losetup", "--find", "--show", "--direct-io=on", path]).strip()
        self.stack.callback(call, ["losetup", "--detach", device])
        return device, size

    def _make_zram(self):
        control = "/sys/class/zram-control"
        if not os.path.isdir(control):
            raise Skip("this kernel has no zram, or its module is not loaded")
        if os.geteuid():
            raise Skip("only root can make a zram device")
        number = read_text(control + "/hot_add")
        self.stack.callback(write_text, control + "/hot_remove", number)
        self.stack.callback(reset_zram, "/sys/block/zram%s/reset" % number)
        write_text("/sys/block/zram%s/disksize" % number, str(self.size))
        device = "/dev/zram" + number
        if not os.path.exists(device) or not stat.S_ISBLK(os.stat(device).st_mode):
            raise Skip(device + " is not there")
        write_data(device, self.size)
        return device, self.size


def read_text(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def reset_zram(path):
    """The kernel closes the file of an io_uring some time after its process has ended: try for 10 s."""
    for _ in range(100):
        try:
            return write_text(path, "1")
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
        time.sleep(0.1)
    return write_text(path, "1")


def write_text(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
