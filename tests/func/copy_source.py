#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The source of copies: files that cannot be read, that change, shrink, grow or vanish while they are read, holes, direct reads,
parts of files, devices, and contents that are compared. Others always arrive, and the failures are named exactly once.
"""
import ctypes
import fcntl
import glob
import mmap
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

import xddhold
import xddssh
import xddsys as s
import xddtest as t
from xddssh import fresh, noise, read, unprivileged, write

FAKE = xddssh.Fake()
copy = FAKE.copy
FAILED, NO_SOURCE, BAD_SIZE, MISCOMPARE = 114, 106, 111, 7
KIB, MIB = 1 << 10, 1 << 20


def failures(run):
    """Lines about files: those that have a path and a cause."""
    return [line for line in run.err.splitlines() if "(" in line or "while it was copied" in line]


def same_trees(a, b):
    return t.command(["diff", "-r", "--no-dereference", a, b]).status == 0


# Files that cannot be read

def test_unreadable():
    prefix = unprivileged()
    if prefix is None:
        return t.skip("a file that cannot be read", "needs setpriv")
    source, destination = fresh("source"), fresh("destination")
    for n in range(1000):
        directory = os.path.join(source, "d%d" % (n % 10))
        os.makedirs(directory, exist_ok=True)
        write(os.path.join(directory, "f%d" % n), noise(n, n))
    bad = os.path.join(source, "d3", "f503")
    os.chmod(bad, 0)
    large = write(os.path.join(source, "large"), noise(3 * MIB))
    os.chmod(large, 0)
    run = copy("-r", source, FAKE.place(destination), prefix=prefix)
    lines = failures(run)
    t.ok(run.status == FAILED and len(lines) == 2 and sum("d3/f503" in line for line in lines) == 1
         and sum("source/large" in line for line in lines) == 1 and all("Permission denied" in line for line in lines),
         "two unreadable files among a thousand are named, once each", run)
    pulled = fresh("pulled")
    run = copy("-r", FAKE.place(source), pulled, prefix=prefix)
    lines = failures(run)
    t.ok(run.status == FAILED and len(lines) == 2 and all("Permission denied" in line for line in lines),
         "the same from another host", run)
    os.unlink(bad)
    os.unlink(large)
    t.ok(all(same_trees(source, os.path.join(d, "source")) for d in (destination, pulled)), "all others are there, and nothing else")


def test_named_unreadable():
    """A source that is named and cannot be read has one line in each direction, and others arrive."""
    prefix = unprivileged()
    if prefix is None:
        return t.skip("a named directory that cannot be read", "needs setpriv")
    names = ("first", "sealed", "last")
    for name in names:
        write(os.path.join(fresh(name), "file"), b"x")
    os.chmod(t.path("sealed"), 0)
    for title, there, here in (("push", str, FAKE.place), ("pull", FAKE.place, str),
                               ("two hosts", lambda path: "hosta:" + path, lambda path: "hostb:" + path)):
        to = fresh("to")
        run = copy("-r", *(there(t.path(name)) for name in names), here(to), prefix=prefix)
        lines = [line for line in run.err.splitlines() if "warning" not in line]
        t.ok(run.status == FAILED and len(lines) == 1 and "sealed: cannot read directory (Permission denied)" in lines[0] and
             all(same_trees(t.path(name), os.path.join(to, name)) for name in ("first", "last")),
             "a named directory that cannot be read, %s" % title, run)
    os.chmod(t.path("sealed"), 0o755)
    to = fresh("to")
    run = copy("-r", *(FAKE.place(t.path(name) + "/") for name in names), to)
    t.ok(run.status == 0 and not run.err and os.listdir(to) == ["file"], "three sources that stand for their contents", run)


def test_missing():
    source = fresh("source")
    destination = fresh("destination")
    run = copy(os.path.join(source, "nothing"), FAKE.place(destination))
    t.ok(run.status == NO_SOURCE and run.err.count("\n") == 1 and "nothing" in run.err and not os.listdir(destination),
         "a source that does not exist", run)
    run = copy(FAKE.place(os.path.join(source, "nothing")), destination)
    t.ok(run.status == NO_SOURCE and run.err.count("\n") == 1 and "nothing" in run.err and not os.listdir(destination),
         "a source that does not exist on the other host", run)


# Files that change while they are read

def held_copy(source, destination, meddle):
    """Copy a file, and call `meddle` after its first block."""
    with xddhold.at("block sent:1") as h:
        h.env["PATH"] = os.path.dirname(os.path.abspath(t.XDD)) + ":" + h.env["PATH"]
        p = subprocess.Popen([xddssh.XDDCP, "-S", FAKE.ssh, "-r", "-t", "1", "-blocksize", "4k", source, FAKE.place(destination)],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=h.env,
                             start_new_session=True)
        h.wait(p)
        meddle()
    out, err = p.communicate(timeout=t.TIMEOUT)
    return t.Run(p.args, p.returncode, out.decode(), err.decode())


def test_vanished():
    """A source that was there when the command began has one line, of the source."""
    for name in ("before", "vanished", "after"):
        write(t.path(name), b"x")
    remover = xddssh.Fake(before="rm -f '%s'" % t.path("vanished"), name="remover")
    to = fresh("to")
    run = remover.copy("-q", *(t.path(name) for name in ("before", "vanished", "after")), remover.place(to))
    t.ok(run.status == FAILED and run.err == "xdd: copy: %s: cannot open (No such file or directory)\n" % t.path("vanished") and
         sorted(os.listdir(to)) == ["after", "before"], "a source that vanishes while ssh starts", run)


def test_made_when_read():
    """Files that the kernel makes when they are read have other sizes than they say: a line tells, and none is copied."""
    destination = fresh("destination")
    for path, says in (("/proc/version", "more bytes can be read than its size, %d, as from files in /proc"),
                       ("/sys/kernel/mm/transparent_hugepage/enabled", "fewer bytes can be read than its size, %d, as from files in /sys")):
        if not os.path.exists(path):
            t.skip(path, "there is none")
            continue
        run = copy(path, FAKE.place(destination))
        line = "xdd: copy: %s: cannot be copied (%s); use cat\n" % (path, says % os.stat(path).st_size)
        t.ok(run.status == FAILED and run.err == line and not os.listdir(destination), path, run)


def test_changes():
    def shrink(path):
        os.truncate(path, 2 * MIB)

    def grow(path):
        with open(path, "ab") as file:
            file.write(b"more")

    def rewrite(path):
        with open(path, "r+b") as file:
            file.write(b"other")

    def replace(path):
        os.rename(write(path + ".new", noise(4 * MIB, 2)), path)

    for how, says in ((shrink, "became shorter|changed"), (grow, "changed"), (rewrite, "changed"), (replace, "changed"),
                      (os.unlink, "changed")):
        source, destination = fresh("source"), fresh("destination")
        big = write(os.path.join(source, "big"), noise(4 * MIB))
        write(os.path.join(source, "small"), noise(100))
        run = held_copy(source, destination, lambda: how(big))
        lines = failures(run)
        there = os.path.join(destination, "source")
        t.ok(run.status == FAILED and len(lines) == 1 and "source/big" in lines[0] and re.search(says, lines[0])
             and os.listdir(there) == ["small"],
             "%s while it is read: it is named and not there" % how.__name__, run)


def rewrite_all(path, size):
    """A process that writes a file again and again, each time with another byte; it stops when its input ends."""
    text = ("import os, select, sys\n"
            "file = os.open(sys.argv[1], os.O_RDWR)\n"
            "for n in range(1 << 40):\n"
            "    os.pwrite(file, bytes([n % 256]) * int(sys.argv[2]), 0)\n"
            "    if n == 1: print('begun', flush=True)\n"
            "    if select.select([0], [], [], 0)[0]: break\n")
    process = subprocess.Popen([sys.executable, "-c", text, path, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def test_rewritten():
    """A file that is written all the time: with the time that it has already, or in the middle of a write that has set its time."""
    coarse = s.ext4("seconds", 64 * MIB, inode_bytes=128)
    for what, top, copies in (("nanoseconds", t.tmp(), 12), ("seconds", coarse, 3)):
        if top is None:
            t.skip("a file system with times of seconds", s.sys_why())
            continue
        source = fresh("source", top)
        path = write(os.path.join(source, "file"), bytes(200000))
        writer = rewrite_all(path, 200000)
        torn, runs = [], []
        for _ in range(copies):
            destination = fresh("destination")
            runs.append(t.xdd("copy", "-q", "-r", source, destination))
            there = os.path.join(destination, "source", "file")
            if os.path.exists(there) and len(set(read(there))) > 1:
                torn.append(runs[-1])
        writer.communicate(b"end")
        t.ok(not torn and all(run.status in (0, FAILED) for run in runs), "a file that is written all the time, times of %s: "
             "no copy has parts of two versions" % what, "%d of %d\n%s" % (len(torn), copies, runs[-1]))
    if coarse is None:
        return
    source, destination = fresh("source", coarse), fresh("destination")
    path = os.path.join(source, "large")

    def rewrite():
        with open(path, "r+b") as file:
            file.write(b"\2" * MIB)
    # All of it happens in one second, as far as the times tell.
    while time.time() % 1 > 0.1:
        time.sleep(0.01)
    write(path, b"\1" * MIB)
    run = held_copy(source, destination, rewrite)
    there = os.path.join(destination, "source", "large")
    t.ok(run.status == FAILED and "changed while it was copied" in run.err and not os.path.exists(there),
         "a file that is written again in the same second", run)


class HeldWrite:
    """A single write that stands still after its first half: the second half of its buffer is a page fault that waits."""
    CALLS = {"x86_64": 323, "aarch64": 282}
    HALF = 1 << 17
    API, REGISTER, ZEROPAGE = 0xc018aa3f, 0xc020aa00, 0xc020aa04

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.faults = libc.syscall(self.CALLS[os.uname().machine], os.O_CLOEXEC)
        if self.faults < 0:
            raise OSError(ctypes.get_errno(), "userfaultfd")
        fcntl.ioctl(self.faults, self.API, bytearray(struct.pack("QQQ", 0xaa, 0, 0)))
        self.buffer = mmap.mmap(-1, 2 * self.HALF)
        self.buffer[:self.HALF] = b"\0" * self.HALF
        begin = ctypes.addressof(ctypes.c_char.from_buffer(self.buffer))
        self.second = begin + self.HALF
        fcntl.ioctl(self.faults, self.REGISTER, bytearray(struct.pack("QQQQ", self.second, self.HALF, 1, 0)))
        self.file = os.open(path, os.O_RDWR)
        self.thread = threading.Thread(target=libc.pwrite, args=(self.file, ctypes.c_void_p(begin), ctypes.c_size_t(2 * self.HALF),
                                                                 ctypes.c_long(0)))
        self.thread.start()
        while os.pread(self.file, 1, self.HALF - 1) != b"\0":
            time.sleep(0.001)

    def go_on(self):
        fcntl.ioctl(self.faults, self.ZEROPAGE, bytearray(struct.pack("QQQq", self.second, self.HALF, 0, 0)))
        self.thread.join()
        os.close(self.file)
        os.close(self.faults)


def opened_by_others(path):
    """True if another process has the file open."""
    for link in glob.iglob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(link) == path and not link.startswith("/proc/%d/" % os.getpid()):
                return True
        except OSError:
            pass
    return False


# While the link $XDD_STILL exists, the kernel's clock for times of files stands at the ctime of the file that it names.
STILL = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
    struct stat st;

    if (id == CLOCK_REALTIME_COARSE && stat(getenv("XDD_STILL"), &st) == 0) {
        *now = st.st_ctim;
        return 0;
    }
    return syscall(SYS_clock_gettime, id, now);
}
"""


def test_in_a_write():
    """The kernel is in the middle of a write, which has set the time of the file before it copies the bytes."""
    still, env = t.path("still"), s.preload("still", STILL)
    if env is None:
        return t.skip("a file in the middle of a write", s.sys_why())
    source, destination = fresh("source"), fresh("destination")
    path = write(os.path.join(source, "file"), b"\1" * (1 << 18))
    try:
        held = HeldWrite(path)
    except (OSError, KeyError) as err:
        return t.skip("a file in the middle of a write", "no page fault can be held here (%s)" % err)
    os.symlink(path, still)  # however long it takes until xdd has opened the file, the write has just begun
    process = subprocess.Popen([t.XDD, "copy", "-q", "-r", source, destination], stdin=subprocess.DEVNULL,
                               env=dict(os.environ, XDD_STILL=still, **env))
    t.until(lambda: opened_by_others(os.path.realpath(path)), process)
    held.go_on()
    os.unlink(still)
    status = process.wait(timeout=t.TIMEOUT)
    found = set(read(os.path.join(destination, "source", "file")))
    t.equal((status, found), (0, {0}), "a file in the middle of a write is read when the write has ended")
    return None


def test_open_elsewhere():
    """A file that another program has open for writing, as a log, is copied all the same; an old one at once."""
    source, destination = fresh("source"), fresh("destination")
    path = write(os.path.join(source, "log"), b"line\n")
    with open(path, "ab"):
        run = copy("-r", source, FAKE.place(destination))
        t.ok(run.status == 0 and same_trees(source, os.path.join(destination, "source")), "a file that is open for writing", run)


def test_read_errors():
    source, destination = fresh("source"), fresh("destination")
    write(os.path.join(source, "big"), noise(4 * MIB))
    write(os.path.join(source, "other"), noise(4 * MIB))
    env = s.faults("eio", file="/source/big", start=2 * MIB, end=3 * MIB)
    if env is None:
        return t.skip("a file with an error in the middle", "needs a C compiler")
    run = copy("-r", source, FAKE.place(destination), env=dict(os.environ, **env))
    lines = failures(run)
    t.ok(run.status == FAILED and len(lines) == 1 and "source/big: cannot read (Input/output error)" in lines[0]
         and os.listdir(os.path.join(destination, "source")) == ["other"], "an error in the middle of a file", run)
    env = s.faults("short", file="/source/")
    run = copy("-r", source, FAKE.place(destination), env=dict(os.environ, **env))
    t.ok(run.status == 0 and same_trees(source, os.path.join(destination, "source")), "short reads are continued", run)
    return None


# Holes, direct reads, parts

def holes(path, size, pieces):
    with open(path, "wb") as file:
        file.truncate(size)
        for at, data in pieces:
            file.seek(at)
            file.write(data)
    return path


def test_holes():
    source, destination = fresh("source"), fresh("destination")
    holes(os.path.join(source, "all"), 100 * MIB, ())
    holes(os.path.join(source, "some"), 50 * MIB, ((0, noise(4096)), (20 * MIB, noise(64 * KIB)), (50 * MIB - 4096, noise(4096))))
    holes(os.path.join(source, "little"), 128 * KIB, ((64 * KIB, noise(4096)),))
    holes(os.path.join(source, "odd"), 3 * MIB + 5, ((MIB + 3, b"x"),))
    for words in ((), ("-d",), ("-s",), ("-t", "1")):
        shutil.rmtree(destination)
        os.mkdir(destination)
        run = copy("-r", *words, source, FAKE.place(destination))
        there = os.path.join(destination, "source")
        blocks = [[os.stat(os.path.join(d, name)).st_blocks for name in sorted(os.listdir(source))] for d in (source, there)]
        t.ok(run.status == 0 and same_trees(source, there) and blocks[0] == blocks[1],
             "holes are holes %s" % " ".join(words), "%s\n%s" % (blocks, run))


def test_direct():
    source, destination = fresh("source"), fresh("destination")
    for size in (0, 1, 4095, 4096, 300 * KIB, MIB, MIB + 1, 5 * MIB - 1, 9 * MIB + 4096):
        write(os.path.join(source, "f%d" % size), noise(size, size))
    for words in (("-s",), ("-s", "-blocksize", "4k"), ("-s", "-d", "-o"), ("-o", "-t", "3"), ("-s", "-blocksize", "12k")):
        shutil.rmtree(destination)
        os.mkdir(destination)
        run = copy("-r", *words, source, FAKE.place(destination))
        t.ok(run.status == 0 and same_trees(source, os.path.join(destination, "source")), "direct reads: " + " ".join(words), run)


def test_size():
    source, destination = fresh("source"), fresh("destination")
    data = noise(3 * MIB)
    file = write(os.path.join(source, "f"), data)
    for size in (0, 1, 100, 256 * KIB, MIB, 3 * MIB - 1, 3 * MIB):
        there = os.path.join(destination, "f%d" % size)
        run = copy(file, FAKE.place(there), str(size))
        t.ok(run.status == 0 and read(there) == data[:size], "the first %d bytes" % size, run)
    there = os.path.join(destination, "more")
    run = copy(file, FAKE.place(there), str(3 * MIB + 1))
    t.ok(run.status == BAD_SIZE and not os.path.exists(there), "more bytes than there are", run)


def test_zero():
    destination = fresh("destination")
    there = os.path.join(destination, "zeros")
    run = copy("/dev/zero", FAKE.place(there), str(5 * MIB + 7))
    t.ok(run.status == 0 and read(there) == bytes(5 * MIB + 7), "bytes of /dev/zero", run)
    run = copy("/dev/zero", FAKE.place(there))
    t.ok(run.status == 118, "a device without a size needs one", run)


def test_loop_device():
    destination = fresh("destination")
    data = noise(6 * MIB)
    image = write(t.path("image"), data)
    device = s.loop_device(image)
    if not device:
        return t.skip("a block device as source", "needs loop devices")
    for words in ((), ("-s",)):
        there = os.path.join(destination, "whole")
        run = copy(*words, device, FAKE.place(there))
        t.ok(run.status == 0 and read(there) == data, "a block device %s" % " ".join(words), run)
        run = copy(*words, device, FAKE.place(there), "1000")
        t.ok(run.status == 0 and read(there) == data[:1000], "a part of a block device %s" % " ".join(words), run)
    return None


# A source that gives nothing

def test_stalled_list():
    """The list of names comes through a pipe that stays open without data: a signal ends the copy all the same."""
    source, destination = fresh("source"), fresh("destination")
    write(os.path.join(source, "f"), b"x")
    with xddhold.at("WELCOME received:1") as h:
        h.env["PATH"] = os.path.dirname(os.path.abspath(t.XDD)) + ":" + h.env["PATH"]
        p = subprocess.Popen([xddssh.XDDCP, "-S", FAKE.ssh, "-F", "-", FAKE.place(destination)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=h.env, cwd=source, start_new_session=True)
        p.stdin.write(b"f\n")
        p.stdin.flush()
        h.wait(p)
    p.send_signal(signal.SIGINT)
    begin = time.monotonic()
    try:
        p.wait(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
    seconds = time.monotonic() - begin
    p.stdin.close()
    run = t.Run(p.args, p.wait(), p.stdout.read().decode(), p.stderr.read().decode())
    t.ok(run.status == 5, "a signal while the list of names stalls", "%.1f s\n%s" % (seconds, run))


# Comparing contents

def test_contents():
    source, destination = fresh("source"), fresh("destination")
    for n in range(20):
        write(os.path.join(source, "s%d" % n), noise(1000 + n, n))
    write(os.path.join(source, "big"), noise(20 * MIB))
    run = copy("-r", source, FAKE.place(destination))
    there = os.path.join(destination, "source")
    t.ok(run.status == 0 and same_trees(source, there), "a tree to compare with", run)
    run = copy("-k", "-r", source, FAKE.place(destination))
    t.ok(run.status == 0, "-k: they are equal", run)
    for name, at in (("s3", 7), ("big", 10 * MIB + 1)):
        path = os.path.join(there, name)
        before = os.stat(path)
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ 1]))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    run = copy("-k", "-r", source, FAKE.place(destination))
    lines = [line for line in run.err.splitlines() if "differ" in line]
    t.ok(run.status == MISCOMPARE and len([line for line in lines if "/s3" in line]) == 1
         and len([line for line in lines if "/big" in line and "10485760-10489855" in line]) == 1, "-k: the ranges that differ", run)
    run = copy("-r", source, FAKE.place(destination))
    t.ok(run.status == 0 and not same_trees(source, there), "size and time are equal: they are skipped", run)
    run = copy("-c", "-r", source, FAKE.place(destination))
    t.ok(run.status == 0 and same_trees(source, there), "-c: files with other contents are copied", run)
    os.utime(os.path.join(there, "big"), ns=(0, 10 ** 18))
    run = copy("-c", "-r", source, FAKE.place(destination))
    t.ok(run.status == 0 and os.stat(os.path.join(there, "big")).st_mtime_ns == os.stat(os.path.join(source, "big")).st_mtime_ns,
         "-c: another time is corrected", run)


t.run_together(test_unreadable, test_named_unreadable, test_missing, test_vanished, test_made_when_read, test_changes,
               test_rewritten, test_in_a_write, test_open_elsewhere, test_read_errors, test_holes, test_direct, test_size,
               test_zero, test_loop_device, test_stalled_list, test_contents)
t.done()
