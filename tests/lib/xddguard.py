# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices for tests of the overwrite guard: made here, filled by the tools of the administrator, compared by content.

Everything goes away when the test ends.
"""
import atexit
import errno
import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
import xddsys as s
import xddtest as t

MIB = 1 << 20
PIECE = 64 << 10
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4c80, 0x4c81

os.environ["PATH"] += ":/usr/sbin:/sbin"


def admin(*args, stdin=None):
    """Run a tool of the administrator; None, or why it cannot be had."""
    if shutil.which(args[0]) is None:
        return "%s is not installed" % args[0]
    p = subprocess.run(args, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=t.TIMEOUT,
                       check=False)
    return None if p.returncode == 0 else "%s: %s" % (args[0], (p.stdout.decode(errors="replace").strip()
                                                                or "failed").splitlines()[-1])


def digest(device):
    """
    A digest of all that is on the device, after its page cache is written back. It covers the pieces that are not all zeros,
    each with its offset, so that holes in the file of a loop device need not be read. In a chroot with mounts of its own
    that file has no name, and the device is read.
    """
    subprocess.run(["blockdev", "--flushbufs", device], check=False)
    h = hashlib.sha256()
    file = s.backing_file(device)
    with open(file if file and os.path.exists(file) else device, "rb", buffering=0) as f:
        size = f.seek(0, os.SEEK_END)
        h.update(b"%d" % size)
        at = 0
        while True:
            try:
                begin = f.seek(at, os.SEEK_DATA)
            except OSError as e:
                if e.errno not in (errno.ENXIO, errno.EINVAL):
                    raise
                begin = at if e.errno == errno.EINVAL else size  # a device says nothing of holes; there is no more data
            if begin >= size:
                return h.hexdigest()
            to = f.seek(begin, os.SEEK_HOLE) if stat.S_ISREG(os.fstat(f.fileno()).st_mode) else size
            at = f.seek(begin // PIECE * PIECE)
            while at < to and (piece := f.read(PIECE)):
                if piece.strip(b"\0"):
                    h.update(b"%d" % at + piece)
                at += len(piece)


def device(name, size=64 * MIB):
    return s.loop_device(s.sparse_file(name + ".img", size))


def device_without_discards(size):
    """
    A loop device of a number of its own, which is removed at the end: a queue whose discards are switched off once
    takes no other value any more. Returns its name, or None.
    """
    number = 100000 + os.getpid() % 100000
    dev = "/dev/loop%d" % number

    def remove():
        subprocess.run(["losetup", "--detach", dev], stderr=subprocess.DEVNULL, check=False)
        with open("/dev/loop-control", "rb") as control:
            fcntl.ioctl(control, LOOP_CTL_REMOVE, number)

    try:
        with open("/dev/loop-control", "rb") as control:
            fcntl.ioctl(control, LOOP_CTL_ADD, number)
        atexit.register(remove)
        if admin("losetup", dev, s.sparse_file("none.img", size)):
            return None
        with open("/sys/block/%s/queue/discard_max_bytes" % os.path.basename(dev), "w", encoding="ascii") as f:
            f.write("0")
    except OSError:
        return None
    return dev


def refused(run, path, why):
    """The run refused to start because of that target, with one line that matches."""
    return (run.status == 4 and len(run.error_lines()) == 1 and "COMBINED" not in run.out and
            re.match(r"xdd: target \d+, %s: .*%s" % (re.escape(path), why), run.err))


def mount(dev, name, kind):
    """Read-only, or the file system itself would change bytes."""
    s.own_mounts()
    os.mkdir(t.path(name))
    why = admin("mount", "-t", kind, "-o", "ro", dev, t.path(name))
    if why is None:
        atexit.register(subprocess.run, ["umount", "--lazy", t.path(name)], stderr=subprocess.DEVNULL)
    return why
