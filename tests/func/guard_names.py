#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The overwrite guard and names that lead elsewhere by the time they are opened: between passes, before the first one,
and all the time. What a name has led to during the run is refused, and not a byte of it changes.

XDD_TEST_LONG=1: as many attempts as it takes to meet a race that a few may miss.
"""
import ctypes
import multiprocessing
import os
import re
import signal
import subprocess

import messages as m
import xddsys as s
import xddtest as t
from xddguard import MIB, admin, device, digest, mount

LONG = os.environ.get("XDD_TEST_LONG", "") == "1"
RACES = 1500 if LONG else 60
# Each pass takes 50 ms, and some pass is over when the name has changed; the time limit ends a run that does not notice.
PASSES = "-reqsize 4 -numreqs 5 -throttle ops 100 -passes 10000 -reopen -runtime 20 -datapattern x".split()
CHANGED = "use a name that does not change during a run"
NO_FILE = "its name now leads to something other than a regular file; " + CHANGED
NO_DEVICE = "its name no longer leads to the same device; " + CHANGED
RENAME_EXCHANGE = 2
AT_FDCWD = -100

_libc = ctypes.CDLL(None, use_errno=True)


def link(to, name):
    """Have a name lead there at once, whatever it was."""
    os.symlink(to, name + ".new")
    os.rename(name + ".new", name)


def change_in_run(change, *args):
    """Run xdd, and call `change` with the process once a pass is over. Returns the run."""
    words = t.xdd_words(*args, "-verbose")
    with open(t.path("stdout"), "w+", errors="replace") as out:
        p = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)

        def shown():
            out.seek(0)
            return out.read()
        try:
            t.until(lambda: "TARGET_PASS" in shown(), p)
            change(p)
            err = p.communicate(timeout=t.TIMEOUT)[1].decode(errors="replace")
        finally:
            p.kill()
            p.wait()
        return t.Run(words, p.returncode, shown(), t.without(err, t.CACHED, t.BUFFERED))


def stopped(run, path, why, title):
    """The run ended between passes, with one line; the passes before it are reported."""
    pattern = r"xdd: target 0, %s: cannot open it for the next pass: %s$" % (re.escape(path), re.escape(why))
    lines = run.error_lines()
    t.ok(run.status == 6 and len(lines) == 1 and re.match(pattern, lines[0]) and run.row("COMBINED"), title, run)


def full_device(name):
    """A device with a file system, or None."""
    dev = device(name)
    return None if dev is None or admin("mkfs.ext4", "-q", "-F", dev) else dev


def engines():
    return [["-ioengine", name] for name in ("psync", "io_uring") if name in t.engines()]


def test_link_moves():
    full, blank, file = full_device("moves.full"), device("moves.blank"), t.path("moves.file")
    if full is None:
        return t.skip("a link that moves to a device", "no loop device or mkfs.ext4")
    before = digest(full)
    for words in engines():
        for real, why, what in ((file, NO_FILE, "file"), (blank, NO_DEVICE, "device")):
            name = t.path("moves.link")
            if real == file:
                s.sparse_file("moves.file", MIB)
            link(real, name)
            run = change_in_run(lambda _: link(full, name), "-op", "write", *PASSES, *words, "-targets", 1, name)
            stopped(run, name, why, "a link that moves from a %s to a device, %s" % (what, words[1]))
            t.equal(digest(full), before, "not a byte of the device has changed")
    return None


def test_link_moves_to_a_file():
    """Files that are no storage, or in use as a device, get in no other way either."""
    image = s.sparse_file("image", 16 * MIB)
    dev = s.loop_device(image)
    held = dev and os.open(dev, os.O_RDONLY | os.O_EXCL)
    for to, why in ((dev and image, "it backs a loop device in use; a file in use as a device is not written to"),
                    ("/proc/self/comm", "its name now leads to a file of the kernel, which is no storage")):
        name = t.path("to.link")
        link(s.sparse_file("to.file", MIB), name)
        if not to:
            t.skip("a link that moves to the file of a loop device", s.sys_why())
            continue
        run = change_in_run(lambda _, to=to, name=name: link(to, name), "-op", "write", *PASSES, "-targets", 1, name)
        stopped(run, name, why, "a link that moves to %s" % os.path.basename(to))
    if held:
        os.close(held)
        t.equal(os.stat(image).st_blocks, 0, "not a byte of the image has changed")


def test_link_moves_back():
    """From a device to a file: its rates would be reported as those of the device."""
    blank, file = device("back.blank"), t.make_file("back.file", MIB)
    if blank is None:
        return t.skip("a link that moves from a device to a file", s.sys_why())
    with open(file, "rb") as f:
        before = f.read()
    for op in ("write", "read"):
        name = t.path("back.link")
        link(blank, name)
        run = change_in_run(lambda _: link(file, name), "-op", op, *PASSES, "-targets", 1, name)
        stopped(run, name, NO_DEVICE, "a link that moves from a device to a file, " + op)
    with open(file, "rb") as f:
        t.ok(f.read() == before, "not a byte of the file has changed")
    return None


def test_node_disappears():
    blank, node = device("gone.blank"), t.path("gone.node")
    if blank is None:
        return t.skip("a device node that disappears", s.sys_why())
    os.mknod(node, 0o600 | 0o060000, os.stat(blank).st_rdev)
    try:
        os.close(os.open(node, os.O_RDONLY))
    except OSError as e:  # nodev
        return t.skip("a device node that disappears", e.strerror)
    run = change_in_run(lambda _: os.unlink(node), "-op", "write", *PASSES, "-targets", 1, node)
    stopped(run, node, m.NO_DEVICE, "a device node that disappears")
    return t.ok(not os.path.lexists(node), "no file is created in its place")


def test_file_disappears():
    """Those that are there before the run, and those that the run has created."""
    for made in (True, False):
        file = t.path("gone.file%d" % made)
        if made:
            s.sparse_file(os.path.basename(file), MIB)
        run = change_in_run(lambda _: os.unlink(file), "-op", "write", *PASSES, "-targets", 1, file)
        stopped(run, file, "no such file", "a file that disappears, %s the run" % ("from before" if made else "created by"))
        t.ok(not os.path.lexists(file), "it is not created again")


def test_file_replaced():
    """A regular file in its place is as good: -reopen is there to open what the name leads to."""
    file = s.sparse_file("replaced", MIB)

    def replace(process):
        os.rename(s.sparse_file("replacing", MIB), file)
        t.until(lambda: os.stat(file).st_blocks, process)
        process.send_signal(signal.SIGINT)
    run = change_in_run(replace, "-op", "write", *PASSES, "-targets", 1, file)
    t.ok(run.status == 5 and os.stat(file).st_blocks, "another regular file of that name is written to", run)


def swap_forever(a, b):
    """Have two names change places until this process is killed; not for longer than a test may take."""
    a, b = os.fsencode(a), os.fsencode(b)
    signal.alarm(600)
    while True:  # one of them may be missing for a moment, with -recreatefiles
        _libc.renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE)


def swapping(a, b):
    if not hasattr(_libc, "renameat2") or _libc.renameat2(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b),
                                                         RENAME_EXCHANGE):
        return None
    p = multiprocessing.get_context("fork").Process(target=swap_forever, args=(a, b), daemon=True)
    p.start()
    return p


def race(other, title, *args, runs=RACES):
    """Runs that write to a name while it leads to `other`, a mounted device, and to a new file by turns."""
    mounted, name = race.mounted, t.path("race.name")
    link(mounted, t.path("race.link"))
    if os.path.lexists(name):
        os.unlink(name)
    other(name)
    before = digest(mounted)
    swapper = swapping(name, t.path("race.link"))
    if swapper is None:
        return t.skip(title, "names cannot be exchanged here")
    seen, wrong = {}, []
    try:
        for _ in range(runs):
            # The name that -recreatefiles removes may be the link by then.
            if not any(os.path.islink(n) for _ in range(5) for n in (name, t.path("race.link"))):
                link(mounted, t.path("race.link"))
            run = t.xdd("-op", "write", "-reqsize", 4, "-numreqs", 1, "-datapattern", "x", "-targets", 1, name, *args)
            seen[run.status] = seen.get(run.status, 0) + 1
            if run.status not in (0, 2, 4, 6) or len(run.error_lines()) != (run.status != 0):
                wrong.append(run)
    finally:
        swapper.kill()
        swapper.join()
    t.diag("%s: statuses %s" % (title, seen))
    t.ok(not wrong and swapper.exitcode == -signal.SIGKILL, title + ": it is written to or refused in one line",
         "\n".join(str(run) for run in wrong[:3]))
    return t.equal(digest(mounted), before, title + ": not a byte of the mounted device has changed")


def test_races():
    race.mounted = full_device("race")
    why = race.mounted is None and "no loop device or mkfs.ext4" or mount(race.mounted, "race.mnt", "ext4")
    if why:
        return t.skip("names that change all the time", why)

    def file(name):
        with open(name, "wb") as f:
            f.truncate(MIB)

    blank = device("race.blank")

    def to_blank(name):
        os.symlink(blank, name)
    race(file, "a file and a mounted device, before the run")
    race(to_blank, "a blank and a mounted device, before the run")
    race(file, "a file and a mounted device, between passes", "-passes", 200, "-reopen", runs=RACES // 4)
    race(to_blank, "a blank and a mounted device, between passes", "-passes", 200, "-reopen", runs=RACES // 4)
    race(file, "a new file and a mounted device", "-recreatefiles", "-passes", 50, runs=RACES // 4)
    return None


if os.geteuid() != 0:
    t.skip_all("loop devices are for root only")
s.own_mounts()
t.run_all()
