#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The destination of copies: full and unwritable file systems, files, directories and links in the way, links that point
outside, files in place, devices, direct and ordered writes, odd sizes and holes, -k, -c and -n. What cannot be written is
named once, the rest arrives, and no temporary file is left.
"""
import json
import os
import re
import shutil
import stat

import xddssh
import xddsys as s
import xddtest as t
from xddssh import fresh, noise, read, unprivileged, write

FAKE = xddssh.Fake()
copy = FAKE.copy
FAILED, NO_DIRECTORY, NOT_WRITABLE, BAD_SIZE, BAD_NAMES, MISCOMPARE = 114, 119, 120, 111, 102, 7
KIB, MIB = 1 << 10, 1 << 20
SIZES = (0, 1, 4095, 4096, 4097, 65535, 256 * KIB, 256 * KIB + 1, MIB, 3 * MIB + 17)


def temporary(top):
    return [n for _, dirs, files in os.walk(top) for n in files + dirs if n.startswith(".xddcp-")]


def listing(top):
    """All that a copy must not change."""
    found = {}
    for root, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(root, name)
            st = os.lstat(path)
            found[os.path.relpath(path, top)] = (st.st_mode, st.st_size, st.st_mtime_ns, st.st_ino)
    return found


# Sizes and holes

def test_sizes():
    if not s.MEMORY:
        t.skip("sizes in memory", "needs a /dev/shm in memory")
    for top in (None, s.MEMORY) if s.MEMORY else (None,):
        source = fresh("sizes")
        destination = fresh("xdd-copy-dest.%d" % os.getpid(), top)
        try:
            for n, size in enumerate(SIZES):
                write(os.path.join(source, "f%d" % size), noise(size, n))
            for words in ((), ("-d",), ("-o",), ("-d", "-o", "-t", "3"), ("-i",), ("-t", "1"), ("-blocksize", "4k")):
                for again in ("new", "old"):
                    for n, size in enumerate(SIZES):
                        there = os.path.join(destination, "f%d" % size)
                        if again == "old":
                            write(there, noise(max(0, size + (-1) ** n * 5000), 99))
                        elif os.path.exists(there):
                            os.unlink(there)
                    run = copy("-r", *words, source + "/", FAKE.place(destination))
                    wrong = [z for z in SIZES if read(os.path.join(destination, "f%d" % z)) !=
                             read(os.path.join(source, "f%d" % z))]
                    t.ok(run.status == 0 and not wrong and not temporary(destination),
                         "sizes from 0 to 3 MiB %s over %s files, %s" % (" ".join(words), again, top or "disk"),
                         "%s\n%s" % (wrong, run))
        finally:
            if top:
                shutil.rmtree(destination)


def test_holes():
    source, destination = fresh("source"), fresh("destination")
    path = os.path.join(source, "sparse")
    with open(path, "wb") as file:
        file.truncate(64 * MIB)
        for at in (0, 5 * MIB, 40 * MIB + 4096):
            file.seek(at)
            file.write(noise(8192, at))
    there = os.path.join(destination, "sparse")
    for words in ((), ("-i",), ("-d",), ("-o",)):
        if "-i" in words:
            write(there, noise(65 * MIB, 3))
            os.utime(there, (1, 1))
        elif os.path.exists(there):
            os.unlink(there)
        run = copy(*words, path, FAKE.place(destination))
        t.ok(run.status == 0 and read(there) == read(path) and os.stat(there).st_blocks <= os.stat(path).st_blocks + 16,
             "holes stay holes %s" % " ".join(words), "%s %s\n%s" % (os.stat(there), os.stat(path), run))
        t.ok(re.match(r"copied 1 file, [\d.]+ MB, in [\d.]+ m?s: [\d.]+ kB sent, [\d.]+ [kM]B/s\n"
                      "  holes: 67.1 MB, which were not sent\n", run.out), "and are not sent %s" % " ".join(words), run)


# Direct and ordered writes

def traced(words, source, place):
    """The sides that open with O_DIRECT (r: source, w: destination), and (descriptor, offset, size) of the writes, in their order."""
    log = t.path("strace.out")
    run = copy(*words, source, place, prefix=s.strace(log, "openat,open,pwrite64"))
    direct, writes = set(), []
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if "O_DIRECT" in line.replace("O_DIRECTORY", "") and " = -1" not in line:
                direct.add("r" if "O_RDONLY" in line else "w")
            found = re.search(r"pwrite64\((\d+)<[^>]*>, .*, (\d+), (\d+)(?:\)| <unfinished)", line)
            if found:
                writes.append((int(found[1]), int(found[3]), int(found[2])))
    return run, direct, writes


def test_direct_and_ordered():
    if not s.can_trace():
        return t.skip("direct and ordered writes", s.sys_why())
    source, destination = fresh("source"), fresh("destination")
    data = noise(20 * MIB + 123)
    path = write(os.path.join(source, "f"), data)
    there = os.path.join(destination, "f")
    run, direct, writes = traced(("-d",), path, FAKE.place(there))
    t.ok(run.status == 0 and direct == {"w"} and read(there) == data, "-d opens the file with O_DIRECT", run)
    unaligned = [w for w in writes if w[1] % 4096 or w[2] % 4096]
    t.ok(len(unaligned) == 1 and unaligned[0][2] < 4096 and len({w[0] for w in writes}) == 2,
         "only the tail is written through another descriptor", writes)
    os.unlink(there)
    run, direct, writes = traced(("-o",), path, FAKE.place(there))
    offsets = [w[1] for w in writes]
    t.ok(run.status == 0 and not direct and read(there) == data and len(offsets) > 10 and offsets == sorted(offsets),
         "-o writes in ascending order", "%s\n%s" % (offsets, run))
    for words, sides in ((["-s"], {"r"}), (["-d", "-s"], {"r", "w"}), (["-d", "s"], {"r"}), (["-d", "d"], {"w"}),
                         (["-d", "b"], {"r", "w"}), (["-d", "sd"], {"r", "w"})):
        os.unlink(there)
        run, direct, _ = traced(words, path, FAKE.place(there))
        t.ok(run.status == 0 and direct == sides and read(there) == data, "%s: direct I/O on the side that it names" % " ".join(words),
             "%s\n%s" % (direct, run))
    for size, words in ((MIB, ()), (64 * KIB, ("-blocksize", "64k")), (4 * MIB, ("-blocksize", "4M"))):
        os.unlink(there)
        run, _, writes = traced(words, path, FAKE.place(there))
        t.ok(run.status == 0 and max(w[2] for w in writes) == size and read(there) == data, "requests of %d KiB" % (size // KIB), run)
    return None


def test_sides():
    """The forms of a later program reach the settings of the side that they name."""
    path = write(os.path.join(fresh("source"), "f"), noise(10))
    for word, sides in (("s", (1, 0)), ("d", (0, 1)), ("b", (1, 1)), ("sd", (1, 1)), ("", (0, 1))):
        for letter, kind in (("-d", "direct"), ("-o", "ordered")):
            run = copy(letter, *[word] * bool(word), "-q", "-J", path, FAKE.place(os.path.join(fresh("destination"), "f")))
            settings = json.loads(run.out)["settings"]
            t.equal((settings[kind + "_source"], settings[kind + "_destination"]), sides, "%s %s" % (letter, word))


# Files that are there already

def test_in_the_way():
    source, destination, outside = fresh("source/t"), fresh("destination"), fresh("outside")
    source = os.path.dirname(source)
    top = os.path.join(destination, "t")
    for name in ("dir", "linked", "good"):
        os.mkdir(os.path.join(source, "t", name))
        write(os.path.join(source, "t", name, "x"), b"new")
    for name in ("file", "link", "pipe"):
        write(os.path.join(source, "t", name), b"new")
    os.symlink("nowhere", os.path.join(source, "t", "symlink"))
    os.mkdir(top)
    write(os.path.join(top, "dir"), b"a file")
    os.symlink(outside, os.path.join(top, "linked"))
    os.mkdir(os.path.join(top, "file"))
    write(os.path.join(outside, "victim"), b"precious")
    os.symlink(os.path.join(outside, "victim"), os.path.join(top, "link"))
    os.mkfifo(os.path.join(top, "pipe"))
    write(os.path.join(top, "symlink"), b"a file")
    run = copy("-r", os.path.join(source, "t"), FAKE.place(destination))
    t.equal((run.status, sorted(run.err.splitlines())), (FAILED, ["xdd: copy: fakehost:t/" + line for line in (
        "dir: is not a directory", "file: cannot be replaced, as it is a directory there", "linked: is not a directory")]),
            "a line for each file that is in the way")
    t.ok(os.listdir(outside) == ["victim"] and read(os.path.join(outside, "victim")) == b"precious",
         "links are not followed out of the destination", run)
    t.ok(read(os.path.join(top, "good", "x")) == b"new" and read(os.path.join(top, "link")) == b"new" and
         not os.path.islink(os.path.join(top, "link")) and read(os.path.join(top, "pipe")) == b"new" and
         os.readlink(os.path.join(top, "symlink")) == "nowhere" and read(os.path.join(top, "dir")) == b"a file",
         "other files are replaced as a whole", run)
    run = copy("-i", os.path.join(source, "t", "link"), FAKE.place(destination))
    os.unlink(os.path.join(top, "link"))
    os.symlink(os.path.join(outside, "victim"), os.path.join(top, "link"))
    run = copy("-r", "-i", os.path.join(source, "t"), FAKE.place(destination))
    t.ok(run.status == FAILED and read(os.path.join(outside, "victim")) == b"precious", "nor with -i", run)


def test_no_destination():
    source, fifo = write(os.path.join(fresh("source"), "f"), b"new"), os.path.join(fresh("destination"), "fifo")
    os.mkfifo(fifo)
    for words, path, status, says in (
            ((), fifo, BAD_NAMES, "is neither a file, a directory nor a device"),
            (("-k",), fifo, BAD_NAMES, "is neither a file, a directory nor a device"),
            ((), fifo + "/", NO_DIRECTORY, "is not a directory"),
            (("-i",), os.path.join(fifo, "f"), NO_DIRECTORY, "its directory does not exist")):
        run = copy("-q", *words, source, FAKE.place(path))
        t.equal((run.status, run.err, os.listdir(os.path.dirname(fifo))), 
                (status, "xdd: copy: %s: %s\n" % (FAKE.place(" " + path.rstrip("/")), says), ["fifo"]), " ".join((*words, says)))


def test_in_place():
    source, destination = fresh("source"), fresh("destination")
    path, there = os.path.join(source, "f"), os.path.join(destination, "f")
    for size in (10, 3 * MIB):
        write(path, noise(size))
        write(there, b"old")
        os.utime(there, (1, 1))
        other = os.path.join(destination, "other")
        if not os.path.exists(other):
            os.link(there, other)
        inode = os.stat(there).st_ino
        run = copy("-i", path, FAKE.place(destination))
        t.ok(run.status == 0 and os.stat(there).st_ino == inode and read(other) == read(path),
             "-i writes %d bytes into the file that is there" % size, run)
    for title, make in (("a FIFO", os.mkfifo), ("a symbolic link", lambda name: os.symlink("other", name))):
        os.unlink(there)
        make(there)
        run = copy("-i", "-r", source + "/", FAKE.place(destination))
        t.equal((run.status, run.err), (FAILED, "xdd: copy: fakehost:f: is not a regular file there, and -inplace replaces "
                                        "nothing\n"), "-i does not replace %s" % title)


def test_unwritable():
    prefix = unprivileged()
    if prefix is None:
        return t.skip("directories that cannot be written", "needs setpriv")
    source, destination = fresh("source"), fresh("destination")
    for name in ("a", "b"):
        os.mkdir(os.path.join(source, name))
        write(os.path.join(source, name, "f"), name.encode())
    os.mkdir(os.path.join(destination, "a"), 0o555)
    os.chmod(destination, 0o755)
    run = copy("-r", source + "/", FAKE.place(destination), prefix=prefix)
    lines = [line for line in run.err.splitlines() if "a/f" in line]
    t.ok(run.status == FAILED and len(lines) == 1 and "ermission denied" in lines[0] and
         read(os.path.join(destination, "b", "f")) == b"b", "one directory of two cannot be written", run)
    shutil.rmtree(destination)
    os.mkdir(destination, 0o555)

    def refused(path, status, says, title, *words, by=prefix):
        run = copy(*words, FAKE.place(path), prefix=by)
        t.equal((run.status, run.err), (status, "xdd: copy: %s: %s\n" % (FAKE.place(" " + path), says)), title)

    denied = "cannot write into the directory (Permission denied)"
    refused(destination, NOT_WRITABLE, denied, "the destination itself cannot be written", "-r", source)
    t.equal(os.listdir(destination), [], "and nothing is in it")
    new = os.path.join(destination, "new")
    refused(new, NOT_WRITABLE, "cannot create the directory (Permission denied)", "nor a directory be made in it", "-r", source)
    os.chmod(destination, 0o755)
    write(new, b"old")
    os.chmod(new, 0o666)
    os.chmod(destination, 0o555)
    file = os.path.join(source, "a/f")
    refused(new, NOT_WRITABLE, "no permission to write into its directory; -i writes into the file itself",
            "nor a file be replaced in it", file)
    run = copy("-i", file, FAKE.place(new), prefix=prefix)
    t.equal((run.status, run.err, read(new)), (0, "", b"a"), "-i needs no such permission")
    os.chmod(new, 0o444)
    refused(new, NOT_WRITABLE, denied, "and is no help for a file that cannot be written", file)
    refused(t.path("no/such/directory/f"), NO_DIRECTORY, "its directory does not exist", "a directory that does not exist", file,
            by=())
    return None


# Full file systems

def test_full():
    if os.geteuid():
        return t.skip("a full file system", "needs root")
    source, destination = fresh("source"), fresh("full")
    for n in range(200):
        write(os.path.join(source, "s%03d" % n), noise(20 * KIB, n))
    write(os.path.join(source, "large"), noise(6 * MIB))
    image = t.path("full.img")
    for kind in ("tmpfs", "ext4"):
        if kind == "tmpfs":
            mounted = t.command(["mount", "-t", "tmpfs", "-o", "size=2m", "none", destination])
        else:
            s.sparse_file("full.img", 8 * MIB)
            if not t.have("mkfs.ext4") or t.command(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", image]).status:
                t.skip("a full ext4", "needs mkfs.ext4")
                continue
            mounted = t.command(["mount", "-o", "loop", image, destination])
        if mounted.status:
            t.skip("a full " + kind, "cannot mount: " + mounted.err.strip())
            continue
        try:
            os.chmod(destination, 0o755)
            for words in ((), ("-d",)) if kind == "ext4" else ((),):
                for what in (source + "/", os.path.join(source, "large")):
                    more = [write(os.path.join(destination, "filler"), noise(5 * MIB))] if kind == "ext4" else []
                    run = copy("-r", *words, what, FAKE.place(destination))
                    lines = [line for line in run.err.splitlines() if "No space left" in line]
                    names = [n for n in os.listdir(destination) if n not in ("filler", "lost+found")]
                    wrong = [n for n in names if read(os.path.join(destination, n)) != read(os.path.join(source, n))]
                    t.ok(run.status == FAILED and len(lines) == 1 and not wrong and not temporary(destination),
                         "a full %s %s ends the copy of %s with one line" % (kind, " ".join(words), os.path.basename(what) or "many"),
                         "%s %s %s\n%s" % (lines, wrong, temporary(destination), run))
                    for name in names:
                        os.unlink(os.path.join(destination, name))
                    for name in more:
                        os.unlink(name)
        finally:
            t.command(["umount", destination])
    return None


def test_links_of_lost_files():
    """Names of a file of which the first one has no place: the directory for it cannot be made."""
    source = fresh("source")
    for name in ("a", "b"):
        os.makedirs(os.path.join(source, name, "deep"))
    first = write(os.path.join(source, "first"), b"two names")
    for name in ("a/deep/one", "b/deep/two"):
        os.link(first, os.path.join(source, name))
    os.unlink(first)
    for n in range(20):
        write(os.path.join(source, "b", "f%d" % n), noise(100, n))
    for blocked, first, other in (("a", "a/deep/one", "b/deep/two"), ("b", "b/deep/two", "a/deep/one")):
        destination = fresh("destination")
        write(os.path.join(destination, blocked), b"in the way")
        run = copy("-r", source + "/", FAKE.place(destination))
        links = [line for line in run.error_lines() if "its other name" in line]
        arrived = os.path.exists(os.path.join(destination, other))
        t.ok(run.status == FAILED and read(os.path.join(destination, blocked)) == b"in the way" and
             "copy: %s: is not a directory\n" % FAKE.place(blocked) in run.err and
             len(links) == (not arrived) and len(run.error_lines()) == 1 + len(links) and
             all("its other name %s was not copied" % first in line for line in links) and
             (blocked == "b" or len(os.listdir(os.path.join(destination, "b"))) == 21),
             "the directory %s cannot be made: the rest arrives, with a line for a name of a file in it" % blocked, run)
        for words in ("-n", "-k"):
            run = copy("-r", words, source + "/", FAKE.place(fresh("empty") if words == "-n" else destination))
            t.ok("unknown file" not in run.err and run.status == (0 if words == "-n" else run.status),
                 "%s of names of one file" % words, run)
    there = fresh("part")
    os.makedirs(os.path.join(there, "b", "deep"))
    os.makedirs(os.path.join(there, "a"))
    run = copy("-r", "-n", source + "/", FAKE.place(there))
    t.ok(run.status == 0 and "copy b/deep/two\n" in run.out and "copy a/deep/one\n" in run.out,
         "-n where the directory of one name is missing", run)
    run = copy("-r", "-k", source + "/", FAKE.place(there))
    t.ok(run.status == MISCOMPARE and "b/deep/two: does not exist" in run.err and "a/deep: does not exist" in run.err,
         "-k where the directory of one name is missing", run)


# Devices

def contents_of_device(path, data, device):
    """-c skips a device with the same contents, and copies what differs: both to it and from it."""
    def moved(title, source, to, same, *words):
        run = copy("-c", *words, source, FAKE.place(to))
        t.ok(run.status == 0 and ("1 file" in run.out and "identical" in run.out) == same, title, run)

    moved("-c copies a device that differs", path, device, False)
    t.ok(read(device)[:len(data)] == data, "and it has the contents", device)
    moved("-c skips a device with the same contents", path, device, True)
    moved("-c -n too", path, device, True, "-n")
    image = os.path.join(fresh("image"), "image")
    moved("-c copies from a device to a new file", device, image, False)
    moved("-c skips a file with the contents of the device", device, image, True)
    t.ok(copy("-n", device, FAKE.place(image)).out.startswith("copy "), "without -c it is not the same", image)
    # Its time stays that of the device.
    before = os.stat(image)
    with open(image, "r+b") as file:
        file.write(bytes([data[0] ^ 1]))
    os.utime(image, ns=(before.st_atime_ns, before.st_mtime_ns))
    moved("-c copies from a device to a file that differs", device, image, False)
    t.ok(read(image) == read(device), "and it has the contents", image)
    image = os.path.join(fresh("zeros"), "zeros")
    for title in ("to a new file", "again"):
        run = copy("-c", "/dev/zero", FAKE.place(image), "4096")
        t.ok(run.status == 0 and "copied 1 file" in run.out, "-c copies from a character device %s" % title, run)


def test_devices():
    source = fresh("source")
    data = noise(3 * MIB + 512)
    path = write(os.path.join(source, "f"), data)
    run = copy(path, FAKE.place("/dev/null"))
    t.ok(run.status == 0 and stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null takes any file", run)
    if os.stat("/dev").st_dev != os.stat("/").st_dev:
        for words in ((), ("-force",), ("-n",), ("-i",)):
            there = "/dev/xdd-no-such-device-%d" % os.getpid()
            run = copy(*words, path, FAKE.place(there))
            t.ok(run.status == NOT_WRITABLE and there + ": no such device, and no file is made among devices\n" in run.err and
                 not os.path.exists(there), "a mistyped device is refused %s" % " ".join(words), run)
    device = s.loop_device(s.sparse_file("device.img", 8 * MIB))
    if not device:
        return t.skip("block devices", "needs loop devices")
    for words in ((), ("-d",), ("-o",)):
        run = copy(*words, path, FAKE.place(device))
        t.ok(run.status == 0 and read(device)[:len(data)] == data, "a block device %s" % " ".join(words), run)
    run = copy("-k", path, FAKE.place(device))
    t.ok(run.status == 0, "-k compares a device", run)
    with open(device, "r+b") as file:
        file.seek(8192)
        file.write(bytes([data[8192] ^ 1]))
    run = copy("-k", path, FAKE.place(device))
    t.ok(run.status == MISCOMPARE and "bytes 8192-12287 differ (1 of " in run.err, "and finds a byte that differs", run)
    contents_of_device(path, data, device)
    run = t.command(["blockdev", "--setro", device]) if t.have("blockdev") else None
    if run and run.status == 0:
        for words in ((), ("-force",), ("-n",)):
            run = copy(*words, path, FAKE.place(device))
            t.ok(run.status == NOT_WRITABLE and device + ": the device is read-only\n" in run.err,
                 "a read-only device is refused %s" % " ".join(words), run)
        run = copy("-k", path, FAKE.place(device))
        t.ok(run.status == 0, "-k compares a read-only device", run)
        t.command(["blockdev", "--setrw", device])
    big = os.path.join(source, "big")
    with open(big, "wb") as file:
        file.truncate(9 * MIB)
    run = copy(big, FAKE.place(device))
    t.ok(run.status == BAD_SIZE, "a file larger than the device is refused", run)
    if not t.have("mkfs.ext4") or t.command(["mkfs.ext4", "-q", "-F", device]).status:
        return t.skip("devices with data", "needs mkfs.ext4")
    before = read(device)
    run = copy(path, FAKE.place(device))
    t.ok(run.status == NOT_WRITABLE and "ext4" in run.err and read(device) == before, "a device with a file system is refused", run)
    where = fresh("mounted")
    if t.command(["mount", device, where]).status == 0:
        for words in ((), ("-force",)):
            run = copy(*words, path, FAKE.place(device))
            t.ok(run.status == NOT_WRITABLE and "in use" in run.err or "mounted" in run.err,
                 "a mounted one is refused %s" % " ".join(words), run)
        image = t.path("device.img")
        for size in (100, 3 * MIB):
            small = write(os.path.join(fresh("small"), "small"), noise(size))
            run = copy("-i", small, FAKE.place(image))
            t.ok(run.status == FAILED and run.err.count("\n") == 1 and "it backs the loop device" in run.err and "is mounted on" in run.err,
                 "-i names why the file of a mounted one is refused, %d bytes" % size, run)
        t.command(["umount", where])
    run = copy("-force", path, FAKE.place(device))
    t.ok(run.status == 0 and read(device)[:len(data)] == data, "-force overwrites what is not in use", run)
    return None


# Comparison

def test_verify():
    source, destination = fresh("source/t"), fresh("destination")
    source = os.path.dirname(source)
    tree, there = os.path.join(source, "t"), os.path.join(destination, "t")
    files = {"same": 700000, "changed": 2 * MIB + 5, "empty": 0, "shorter": 10, "missing": 4, "small": 9}
    for n, (name, size) in enumerate(files.items()):
        write(os.path.join(tree, name), noise(size, n))
    os.symlink("a", os.path.join(tree, "link"))
    os.link(os.path.join(tree, "same"), os.path.join(tree, "zz"))
    t.ok(copy("-r", tree, FAKE.place(destination)).status == 0, "the tree to compare")
    run = copy("-r", "-k", tree, FAKE.place(destination))
    t.ok(run.status == 0 and not run.err, "-k of a copy finds no difference", run)
    with open(os.path.join(there, "changed"), "r+b") as file:
        for at in (0, 4096, 1000000, 2 * MIB + 4):
            byte = noise(2 * MIB + 5, 1)[at]
            file.seek(at)
            file.write(bytes([byte ^ 255]))
    write(os.path.join(there, "shorter"), b"123")
    os.unlink(os.path.join(there, "missing"))
    os.unlink(os.path.join(there, "link"))
    os.symlink("b", os.path.join(there, "link"))
    write(os.path.join(there, "small"), noise(8, 5) + b"\0")
    os.unlink(os.path.join(there, "zz"))
    shutil.copy2(os.path.join(there, "same"), os.path.join(there, "zz"))
    before = listing(there)
    run = copy("-r", "-k", tree, FAKE.place(destination))
    wanted = {"t/changed": "bytes 0-8191, 999424-1003519, 2097152-2097156 differ (4 of 513 blocks)",
              "t/small": "bytes 0-8 differ (1 of 1 blocks)", "t/shorter": "has 3 bytes, not 10",
              "t/missing": "does not exist", "t/link": "is not a symbolic link to a", "t/zz": "is not a hard link to"}
    for name, text in wanted.items():
        lines = [line for line in run.err.splitlines() if name in line and text in line]
        t.ok(len(lines) == 1, "-k names %s" % name, run)
    t.ok(run.status == MISCOMPARE and "t/same" not in run.err.replace("hard link to t/same", "") and listing(there) == before,
         "-k changes nothing", run)
    os.chmod(there, 0o700)
    run = copy("-r", "-k", tree + "/", FAKE.place(there))
    t.ok("copy: %s: modification time is " % FAKE.place(there) in run.err, "-k compares the directory that is the destination", run)
    for words, entries in ((("-r", tree), 8), (("-r", tree + "/"), 8), ((tree + "/same", tree + "/small"), 2)):
        run = copy("-k", *words, FAKE.place(t.path("not-there")))
        t.ok(run.status == MISCOMPARE and run.error_lines() == ["xdd: copy: %s: does not exist" % FAKE.place(t.path("not-there"))] and
             "different or failed: %d, %d of them in directories that are named:\n    %s: does" %
             (entries + 1, entries, FAKE.place(t.path("not-there"))) in run.out and
             "directories:" not in run.out,
             "-k names a destination directory that does not exist", run)
    os.makedirs(os.path.join(tree, "directory", "inner"))
    for name in ("directory/one", "directory/inner/two"):
        write(os.path.join(tree, name), b"x")
    run = copy("-r", "-k", "-v", "-log", t.path("log.of.k"), tree + "/", FAKE.place(there), tolerate=(r".*",), cwd=t.tmp())
    with open(t.path("log.of.k"), encoding="utf-8") as file:
        log = file.read()
    t.ok([line for line in run.error_lines() if "directory" in line] ==
         ["xdd: copy: fakehost:directory: does not exist"] and ", 3 of them in directories that are named:\n" in run.out and
         all("differs %s: directory/%s\n" % words in log for words in
             (("file, 1 bytes", "one"), ("directory, 0 bytes", "inner"), ("file, 1 bytes", "inner/two"))),
         "-k names a directory that does not exist, counts what is in it, and -v lists that", (run, log))


def test_contents():
    source, destination = fresh("source"), fresh("destination")
    path, there = write(os.path.join(source, "f"), b"0123456789"), os.path.join(destination, "f")
    copy(path, FAKE.place(destination))
    st = os.stat(path)
    write(there, b"0123456780")
    os.utime(there, ns=(st.st_atime_ns, st.st_mtime_ns))
    run = copy(path, FAKE.place(destination))
    t.ok(run.status == 0 and read(there) == b"0123456780", "equal size and time: skipped", run)
    run = copy("-c", path, FAKE.place(destination))
    t.ok(run.status == 0 and read(there) == b"0123456789", "-c compares contents", run)
    os.utime(there, (1, 1))
    inode = os.stat(there).st_ino
    run = copy("-c", path, FAKE.place(destination))
    t.ok(run.status == 0 and os.stat(there).st_ino == inode and os.stat(there).st_mtime_ns == st.st_mtime_ns,
         "equal contents only get the time", run)


def test_dry_run():
    source, destination = fresh("source"), fresh("destination")
    os.makedirs(os.path.join(source, "d/e"))
    write(os.path.join(source, "d/e/new"), b"1")
    write(os.path.join(source, "old"), b"12")
    write(os.path.join(source, "same"), b"1")
    os.symlink("x", os.path.join(source, "link"))
    shutil.copy2(os.path.join(source, "same"), destination)
    write(os.path.join(destination, "old"), b"1")
    before = listing(destination)
    for pull in (False, True):
        names = (FAKE.place(source + "/"), destination) if pull else (source + "/", FAKE.place(destination))
        run = copy("-r", "-n", *names)
        t.ok(run.status == 0 and listing(destination) == before and all(
            re.search(r"\b%s$" % name, run.out, re.M) for name in ("d/e/new", "old", "link")) and
             not re.search(r"copy.*same", run.out), "-n lists what would be copied, and changes nothing", run)
    run = copy("-r", "-n", source, FAKE.place(t.path("not-there")))
    t.ok(run.status == 0 and not os.path.exists(t.path("not-there")), "-n makes no directory", run)


s.own_mounts()
t.run_together(test_sizes, test_holes, test_direct_and_ordered, test_sides, test_in_the_way, test_no_destination, test_in_place, test_unwritable,
               test_full, test_links_of_lost_files, test_devices, test_verify, test_contents, test_dry_run)
t.done()
