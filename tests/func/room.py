#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Amounts that a file or a file system does not have: refused before the run, and nothing is touched."""
import os
import shutil

import messages as m
import xddsys as s
import xddtest as t

# Files of these tests are in memory, which runs that write enough say.
t.tolerate(m.DIRTY)
t.may_warn(m.REACHES, m.RANGE_STARTS_OVER)

KIB = 1024
ROOM = 1 << 20   # of the tmpfs
FULL = "target 0, %s: " + m.need_space("%s", "%s; write less", "%s")
SHORT = "target 0, %s: " + m.reach_to("%s", "%s; read less")


def look(*names):
    """Inode, size, blocks and times of change, or that there is none."""
    found = []
    for name in names:
        st = os.stat(name) if os.path.exists(name) else None
        found.append(st and (st.st_ino, st.st_size, st.st_blocks, st.st_mtime_ns, st.st_ctime_ns))
    return found


def refused(title, words, text, *files):
    """Status 2, one line, and all as before; with -dryrun too."""
    directories = sorted({os.path.dirname(name) for name in files})
    # The kernel may count other blocks of a file once it has written them back.
    for name in files:
        if os.path.exists(name):
            with open(name, "rb") as f:
                os.fsync(f.fileno())
    before = look(*files, *directories)
    for more in ([], ["-dryrun"]):
        run = t.xdd(*words, *more)
        t.ok(run.status == 2 and not run.out and len(run.error_lines()) == 1 and run.err.startswith("xdd: " + text) and
             "-timelimit" in run.err and look(*files, *directories) == before,
             title + ": refused" + ", -dryrun" * bool(more), "wanted: %s\n%s" % (text, run))


def done(title, words, statuses=(0,)):
    run = t.xdd(*words)
    return t.equal((run.status in statuses, "COMBINED" in run.out), (True, True), title, run)


def test_short_file():
    file, empty = t.make_file("file", 64 * KIB), t.make_file("empty", 0)
    read = ["-op", "read", "-targets", 1, file, "-reqsize", 4]
    done("all of a file", read + ["-numreqs", 16])
    for title, words, end in (
            ("-numreqs", "-numreqs 17", "68 KiB"), ("-bytes", "-bytes 65537", "65537 bytes"),
            ("-startoffset", "-numreqs 16 -startoffset 1", "65 KiB"),
            ("-passoffset", "-numreqs 8 -passes 3 -passoffset 17", "66 KiB"),
            ("-seek random", "-numreqs 20 -seek random range 100", "100 KiB"),
            ("-seek interleave", "-numreqs 8 -seek interleave 3", "88 KiB"),
            ("-queuedepth", "-numreqs 17 -queuedepth 8", "68 KiB")):
        refused("reads past the end, " + title, read + words.split(), SHORT % (file, end, "64 KiB"), file)
    refused("reads of an empty file", ["-op", "read", "-targets", 1, empty, "-reqsize", 4, "-numreqs", 1],
            SHORT % (empty, "4 KiB", "0 bytes"), empty)
    refused("reads and writes", ["-rwratio", 50, "-targets", 1, file, *"-reqsize 4 -numreqs 17".split()],
            SHORT % (file, "68 KiB", "64 KiB"), file)
    output = t.path("output")
    refused("with outputs", read + ["-numreqs", 17, "-output", output, "-csvout", output + ".csv"], SHORT % (file, "68 KiB", "64 KiB"),
            file, output, output + ".csv")
    for words in ("-timelimit 60", "-runtime 60"):
        run = t.xdd(*read, "-numreqs", 17, *words.split())
        t.ok(run.status == 6 and "warning: target 0, %s: the operations reach to 68 KiB, and it has 64 KiB\n" % file in run.err and
             "END-OF-FILE" in run.err, "reads past the end, %s: a warning" % words, run)
    done("-op noop", ["-op", "noop", "-targets", 1, file, "-reqsize", 4, "-numreqs", 17])
    done("reads and writes within the file", ["-rwratio", 50, "-targets", 1, file, *"-reqsize 4 -numreqs 16".split()])
    done("-stoptrigger", ["-op", "read", "-targets", 2, "null", file, *"-reqsize 4 -numreqs target 0 10 -numreqs target 1 1000".split(),
                          *"-stoptrigger 0 1 op 5".split()], (0, 6))
    if os.path.exists("/proc/version"):
        done("a file of procfs has no size that is true", "-op read -targets 1 /proc/version -blocksize 8 -reqsize 1 -numreqs 2".split())
    fresh = t.path("fresh")
    pair = ["-targets", 2, fresh, fresh, *"-op target 0 write -op target 1 read -reqsize 4 -starttrigger 0 1 percent 100".split()]
    refused("more than another target writes", pair + "-numreqs target 0 16 -numreqs target 1 17".split(),
            SHORT.replace("target 0", "target 1") % (fresh, "68 KiB", "64 KiB"), fresh)
    done("what another target writes", pair + ["-numreqs", 16])
    done("another target makes it long enough", pair + "-numreqs target 0 16 -numreqs target 1 17 -pretruncate target 0 68k".split())
    os.truncate(file, 64 * KIB)
    for reads, mixed in ((0, 1), (1, 0)):
        os.truncate(file, 64 * KIB)
        done("target %d reads and writes, target %d reads" % (mixed, reads),
             ["-targets", 2, file, file, *"-reqsize 4 -numreqs 20 -op target".split(), reads, "read", "-rwratio", "target", mixed, 50,
              "-pretruncate", "target", mixed, "80k", "-startdelay", "target", reads, 0.3])
    os.truncate(file, 64 * KIB)
    other = t.make_file("other", 128 * KIB)
    refused("another target reads and writes another file",
            ["-targets", 2, file, other, *"-reqsize 4 -numreqs 20 -op target 0 read -rwratio target 1 50".split()],
            SHORT % (file, "80 KiB", "64 KiB"), file, other)
    refused("another target reads the file", ["-targets", 2, file, file, *"-op read -reqsize 4 -numreqs 20".split()],
            SHORT % (file, "80 KiB", "64 KiB"), file)


def test_random():
    """Only some operations of a random pass reach the end of its range: what a random pass wrote can be read."""
    for number in range(5):
        file = t.path("random%d" % number)
        words = ["-targets", 1, file, *"-reqsize 4 -numreqs 20 -seek random seed".split(), number]
        run = t.xdd("-op", "write", *words)
        size = os.path.getsize(file)
        t.ok(run.status == 0 and t.xdd("-op", "read", *words).status == 0, "random reads of what was written, to %d" % size, run)
        os.truncate(file, size - 1)
        refused("random reads of one byte more, to %d" % size, ["-op", "read", *words], "target 0, %s: " % file + m.reach_to("80 KiB", ""),
                file)
    file = t.make_file("mixed", 64 * KIB)
    rows = "".join("%d %d 4 %s 0 0\n" % (n, 4 * n, "w" if n == 16 else "r") for n in range(17))
    with open(t.path("last"), "w", encoding="ascii") as f:
        f.write(rows)
    done("a list whose last operation writes", ["-targets", 1, file, "-reqsize", 4, "-seek", "load", t.path("last")])


def test_loaded():
    """A list may read what it has written before."""
    file, places = t.make_file("listed", 4096), t.path("list")
    for title, rows, end in (("writes, then reads", "0 4 4 w 0 0\n1 4 4 r 0 0\n", None), ("reads, then writes", "0 4 4 r 0 0\n1 4 4 w 0 0\n", "8 KiB")):
        with open(places, "w", encoding="ascii") as f:
            f.write("".join("%s %s\n" % tuple(row.split(" ", 1)) for row in rows.splitlines()))
        words = ["-targets", 1, file, "-reqsize", 4, "-seek", "load", places]
        if end:
            refused("-seek load, " + title, words, SHORT % (file, end, "4 KiB"), file)
        else:
            done("-seek load, " + title, words)
        os.truncate(file, 4096)


def test_tmpfs():
    directory = s.tmpfs("room", ROOM)
    if directory is None:
        return t.skip("a file system that is too small", s.sys_why())
    a, b, c = (os.path.join(directory, name) for name in "abc")
    write = ["-op", "write", "-reqsize", 64]
    refused("a new file", write + ["-targets", 1, a, "-numreqs", 17], FULL % (a, "", "1088 KiB", "1 MiB"), a)
    refused("one byte too much", write + ["-targets", 1, a, "-bytes", ROOM + 1], FULL % (a, "", "1028 KiB", "1 MiB"), a)
    refused("three files", write + ["-targets", 3, a, b, c, "-numreqs", 6],
            FULL % (a, " of this and 2 other targets", "1152 KiB", "1 MiB"), a, b, c)
    refused("-passoffset", write + ["-targets", 1, a, *"-numreqs 8 -passes 3 -passoffset 512".split()],
            FULL % (a, "", "1536 KiB", "1 MiB"), a)
    refused("-createnewfiles", write + ["-targets", 1, a, *"-numreqs 6 -passes 3 -createnewfiles".split()],
            FULL % (a, "", "1152 KiB", "1 MiB"), a, a + ".00000001")
    refused("-seek stagger", write + ["-targets", 1, a, *"-numreqs 17 -seek stagger range 9999".split()],
            FULL % (a, "", "1088 KiB", "1 MiB"), a)
    refused("-seek random", write + ["-targets", 1, a, *"-numreqs 400 -seek random range 160000".split()],
            "target 0, %s: " % a + m.need_space(), a)
    mix = ["-op", "write", "-targets", 1, a, "-reqsize", "mix"]
    refused("-reqsize mix", mix + ["4k:60,64k:40", "-bytes", ROOM + 1], FULL % (a, "", "1028 KiB", "1 MiB"), a)
    refused("-reqsize mix -seek random", mix + ["4k:1,8k:1", *"-numreqs 4000 -seek random range 64M".split()],
            "target 0, %s: " % a + m.need_space(), a)
    refused("-dio", write + ["-targets", 1, a, "-dio", "-numreqs", 17], FULL % (a, "", "1088 KiB", "1 MiB"), a)
    refused("-pretruncate", write + ["-targets", 1, a, *"-numreqs 17 -pretruncate 8m".split()], FULL % (a, "", "1088 KiB", "1 MiB"), a)
    link = t.path("link")
    os.symlink(a, link)
    refused("a link to what is not there", write + ["-targets", 1, link, "-numreqs", 17], FULL % (link, "", "1088 KiB", "1 MiB"), a)
    # Amounts that fit to the byte, and blocks that are allocated already.
    done("all of the file system, -reqsize mix", mix + ["4k:60,64k:40", "-bytes", ROOM])
    done("again, -seek random", mix + ["4k:60,64k:40", *"-numreqs 4000 -seek random range 1M".split()])
    os.unlink(a)
    done("all of the file system", write + ["-targets", 1, a, "-numreqs", 16])
    for words in ("-passes 3", "-seek random", "-recreatefiles -passes 3", "-pretruncate 0", "-seek range 64", "-numreqs 20 -seek range 256",
                  "-reopen -passes 2 -passoffset 0"):
        done("again, where it is: " + words, write + ["-targets", 1, a, "-numreqs", 16, *words.split()])
    done("several targets in one file", write + ["-targets", 3, a, a, a, "-numreqs", 16])
    done("several targets, a part each", write + ["-targets", 4, a, a, a, a, "-numreqs", 4, "-targetoffset", 256])
    refused("past the end of a file", write + ["-targets", 1, a, *"-numreqs 16 -startoffset 512".split()], FULL % (a, "", "512 KiB", "0 bytes"), a)
    refused("another file", write + ["-targets", 2, a, b, "-numreqs", 1],
            FULL % (a, " of this and 1 other target", "64 KiB", "0 bytes"), a, b)
    done("in place of another", write + ["-targets", 2, a, b, *"-numreqs 8 -recreatefiles target 0".split()])
    for name in (a, b):
        os.unlink(name)
    with open(a, "wb") as f:
        f.truncate(2 * ROOM)
    refused("a file of holes", write + ["-targets", 1, a, "-numreqs", 32], FULL % (a, "", "2 MiB", "1 MiB"), a)
    refused("reads and writes of holes", ["-rwratio", 10, "-reqsize", 64, "-targets", 1, a, "-numreqs", 32],
            "target 0, %s: " % a + m.need_space(), a)
    refused("reads and writes of holes, -reqsize mix", ["-rwratio", 10, "-reqsize", "mix", "60k:1,64k:1", "-targets", 1, a, "-numreqs", 32],
            "target 0, %s: " % a + m.need_space(), a)
    done("reads and mostly no writes of holes", ["-rwratio", 60, "-reqsize", 64, "-targets", 1, a, "-numreqs", 32])
    os.unlink(a)
    for words in ("-timelimit 60", "-runtime 60"):
        run = t.xdd(*write, "-targets", 1, a, "-numreqs", 20, *words.split())
        t.ok(run.status == 6 and os.path.getsize(a) and m.NO_SPACE in run.err, "%s: it runs into the end" % words, run)
        os.unlink(a)
    done("-op noop", ["-op", "noop", "-reqsize", 64, "-targets", 1, t.make_file("noop", 4096), "-numreqs", 99999])
    return None


def test_createnewfiles():
    """The files of an earlier run give their blocks back."""
    directory = s.tmpfs("passes", ROOM)
    if directory is None:
        return t.skip("files for each pass", s.sys_why())
    file = os.path.join(directory, "file")
    words = ["-op", "write", "-reqsize", 64, "-targets", 1, file, *"-numreqs 5 -passes 3 -createnewfiles".split()]
    done("a file for each pass", words)
    done("the same files again", words)
    refused("a file more", words + ["-passes", 4], FULL % (file, "", "320 KiB", "64 KiB"), file + ".00000001", file + ".00000004")
    return None


def test_unlimited():
    if os.geteuid():
        return t.skip("a tmpfs without a limit", "mounting is for root only")
    directory = s.tmpfs("unlimited", 0)
    if directory is None:
        return t.skip("a tmpfs without a limit", s.sys_why())
    return done("a tmpfs without a limit", ["-op", "write", "-reqsize", 64, "-targets", 1, os.path.join(directory, "a"), "-numreqs", 64])


def test_disks():
    for kind, directory, size in (("ext4", s.ext4("ext4", 16 << 20), 16), ("XFS", s.xfs("xfs"), 320)):
        if directory is None:
            t.skip(kind, s.sys_why())
            continue
        file = os.path.join(directory, "file")
        write = ["-op", "write", "-reqsize", 1024, "-targets", 1, file]
        refused(kind, write + ["-numreqs", size + 1], "target 0, %s: " % file + m.need_space("%d MiB" % (size + 1)), file)
        done(kind + ", half of it", write + ["-numreqs", size // 2])
        done(kind + ", again", write + ["-numreqs", size // 2])
        os.unlink(file)
        done(kind + ", -preallocate alone", write + ["-numreqs", 1, "-preallocate", "%dm" % (size // 2)])
        done(kind + ", into what is preallocated", write + ["-numreqs", size // 2])
        refused(kind + ", past that", write + ["-numreqs", size, "-startoffset", size << 9],
                "target 0, %s: " % file + m.need_space("%d MiB" % size), file)


def test_reserved():
    """The reserved blocks of a file system are for root."""
    directory = s.ext4("reserved", 32 << 20)
    if directory is None:
        return t.skip("reserved blocks", s.sys_why())
    device = next((line.split()[0] for line in open("/proc/mounts", encoding="utf-8") if line.split()[1] == directory), None)
    if not t.have("setpriv") or not t.have("tune2fs") or t.command(["tune2fs", "-m", "40", device]).status:
        return t.skip("reserved blocks", "setpriv or tune2fs is missing, or fails")
    # In the directory: those above it may be closed to others.
    binary = shutil.copy(t.XDD, os.path.join(directory, "xdd"))
    os.chmod(binary, 0o755)
    os.chmod(directory, 0o777)
    fs = os.statvfs(directory)
    amount = (fs.f_bavail + fs.f_bfree) // 2 * fs.f_frsize
    words = ["./xdd"] + t.xdd_words(*"-op write -reqsize 1024 -targets 1 file -dryrun -bytes".split(), amount)[1:]
    run = t.command(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] + words, cwd=directory)
    t.equal((run.status, "of free space" in run.err), (2, True), "reserved blocks: not for others", run)
    run = t.command(words, cwd=directory)
    return t.ok(run.status == 0, "reserved blocks: for root", run)


t.run_all()
