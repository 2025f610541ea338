#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Files that xdd replaces: what they keep of the old file, and links that another user has planted.
"""
import errno
import os
import re
import stat
import struct
import subprocess

import messages as m
import xddhold
import xddsys as s
import xddtest as t

NOBODY = 65534
RUN = "-op noop -targets 1 null -numreqs 1".split()
ROOT = os.geteuid() == 0
ACL = "system.posix_acl_access"
# Each way to replace a file: its words, and the suffix after the name.
WAYS = (("-jsonout", RUN + ["-jsonout"], ""), ("-ts dump", RUN + ["-ts", "dump"], ".target.0000.bin"),
        ("-ts output", RUN + ["-ts", "output"], ".target.0000.csv"), ("-seek save", RUN + ["-seek", "save"], ".T0.txt"),
        ("tsread -o", None, ""))


def replace(words, name, prefix=(), binary=None):
    """Run a way with the file `name`, without its suffix."""
    if words is None:
        dump = t.path("dump")
        if not os.path.exists(dump + ".target.0000.bin"):
            t.xdd(*RUN, "-ts", "dump", dump)
        words = ["tsread", "-o", name, dump + ".target.0000.bin"]
    else:
        words = words + [name]
    return t.command(list(prefix) + [binary or t.XDD] + words)


def put(name, text="old\n", mode=0o644, owner=None):
    with open(name, "w") as f:
        f.write(text)
    if owner is not None:
        os.chown(name, owner, owner)
    os.chmod(name, mode)


def read(name):
    with open(name, errors="replace") as f:
        return f.read()


def test_mode_and_owner():
    for number, (title, words, suffix) in enumerate(WAYS):
        name = t.path("kept%d" % number)
        for mode, kept in ((0o600, 0o600), (0o640, 0o640), (0o4775, 0o775)):
            put(name + suffix, mode=mode, owner=NOBODY if ROOT else None)
            before = os.stat(name + suffix)
            run = replace(words, name)
            now = os.stat(name + suffix)
            t.ok(run.status == 0 and read(name + suffix) != "old\n" and stat.S_IMODE(now.st_mode) == kept and
                 (now.st_uid, now.st_gid) == (before.st_uid, before.st_gid),
                 "%s: a file of mode %o keeps its owner and has mode %o" % (title, mode, kept), (oct(now.st_mode), now, run))
        os.unlink(name + suffix)
        old = os.umask(0o027)
        run = replace(words, name)
        os.umask(old)
        t.ok(run.status == 0 and stat.S_IMODE(os.stat(name + suffix).st_mode) == 0o640, "%s: a new file has the usual mode" % title)


def acl(user, rights, mask):
    """An ACL that lets `user` in, and only the owner besides."""
    entries = ((1, 6, 0xffffffff), (2, rights, user), (4, 0, 0xffffffff), (16, mask, 0xffffffff), (32, 0, 0xffffffff))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def test_attributes():
    name, text = t.path("attributes"), "ACL and attributes are kept"
    for attribute, value in (("user.note", b"mine"), (ACL, acl(NOBODY, 4, 4))):
        put(name)
        try:
            os.setxattr(name, attribute, value)
        except OSError as e:
            if e.errno not in (errno.ENOTSUP, errno.EPERM):
                raise
            t.skip(text, "%s: %s" % (attribute, e.strerror))
            continue
        before = os.stat(name).st_mode
        run = replace(RUN + ["-jsonout"], name)
        t.ok(run.status == 0 and read(name) != "old\n" and os.stat(name).st_mode == before and
             os.listxattr(name).count(attribute) == 1 and os.getxattr(name, attribute) == value, "%s: %s" % (text, attribute), run)


def test_without_right():
    """An owner that cannot be kept gives no user more rights than before: the group is another one."""
    user = s.for_nobody()
    if user is None:
        return t.skip("the owner cannot be kept", s.sys_why())
    name = t.path("free/of-root")
    put(name, mode=0o676, owner=0)
    run = replace(RUN + ["-jsonout"], name, *user)
    now = os.stat(name)
    return t.ok(run.status == 0 and (now.st_uid, stat.S_IMODE(now.st_mode)) == (NOBODY, 0o666), "the owner cannot be kept",
                (now, run))


def test_own_links():
    for number, (title, words, suffix) in enumerate(WAYS):
        link, aim = t.path("link%d" % number), t.path("aim%d" % number)
        os.symlink(os.path.basename(aim), link + suffix)
        run = replace(words, link)
        t.ok(run.status == 0 and os.path.islink(link + suffix) and os.path.isfile(aim), "%s: a link to nothing is followed" % title, run)


def unchanged(before, victim):
    if not os.path.exists(victim):
        return False
    now = os.stat(victim)
    return read(victim) == "victim\n" and [now.st_ino, now.st_mode, now.st_uid] == [before.st_ino, before.st_mode, before.st_uid]


def sticky(name, victim):
    """A directory in which all may plant links, and a file that they must not reach."""
    directory = t.path(name)
    os.mkdir(directory)
    os.chmod(directory, 0o1777)
    put(victim, "victim\n", 0o600)
    return directory


def plant(aim, link):
    os.symlink(aim, link)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)


def test_planted():
    """Refused whatever fs.protected_symlinks says, since no system call sees that the link is followed."""
    if not ROOT:
        return t.skip("planted links", "only root can make links of another user")
    victim = t.path("victim")
    directory = sticky("sticky", victim)
    before = os.stat(victim)
    for number, (title, words, suffix) in enumerate(WAYS):
        for aim in (victim, t.path("nothing")):
            name = os.path.join(directory, "%d" % number)
            plant(aim, name + suffix)
            run = replace(words, name)
            t.ok(run.status == 2 and m.NO_PERMISSION in run.err and len(run.error_lines()) == 1 and
                 os.path.islink(name + suffix) and unchanged(before, victim) and not os.path.exists(t.path("nothing")),
                 "%s: a link to %s that was planted is not followed" % (title, os.path.basename(aim)), run)
            os.unlink(name + suffix)
    name = os.path.join(directory, "mine")
    put(name, mode=0o666, owner=NOBODY)
    run = replace(RUN + ["-jsonout"], name)
    now = os.stat(name)
    return t.ok(run.status == 0 and (now.st_uid, stat.S_IMODE(now.st_mode)) == (0, 0o644),
                "a file that was planted is replaced by one of our own", (now, run))


def test_planted_late():
    """A link that is planted during the run, between the check and the writing of the file."""
    if not ROOT:
        return t.skip("links planted during the run", "only root can make links of another user")
    victim = t.path("victim-of-late")
    directory = sticky("late", victim)
    before = os.stat(victim)
    words = RUN + "-passes 100000 -passdelay 1 -verbose -jsonout".split() + [directory + "/j", "-ts", "dump", directory + "/d"]
    with xddhold.at("pass ended:1") as h, subprocess.Popen([t.XDD] + words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                           stderr=subprocess.PIPE, text=True, env=h.env) as p:
        try:
            h.wait(p)
            for name in ("/j", "/d.target.0000.bin"):
                plant(victim, directory + name)
            p.terminate()
            h.go()
            err = p.communicate(timeout=t.TIMEOUT)[1]
        finally:
            p.kill()
    t.ok(unchanged(before, victim) and "-ts dump %s/d.target.0000.bin: " % directory + m.NO_PERMISSION in err and
         not os.path.islink(directory + "/j"), "links planted during the run", err)


def test_planted_target():
    """The file that a planted link leads to is neither removed nor created: no system call follows the link."""
    if not ROOT:
        return t.skip("planted links to targets", "only root can make links of another user")
    victim = t.path("victim-of-target")
    directory = sticky("targets", victim)
    before, link = os.stat(victim), directory + "/link"
    for aim, words in ((victim, ["-recreatefiles"]), (victim, ["-deletefile"]), (t.path("nothing-yet"), [])):
        plant(aim, link)
        run = t.xdd("-op", "write", "-targets", 1, link, "-reqsize", 1, "-numreqs", 1, *words)
        t.ok(run.status == 4 and len(run.error_lines()) == 1 and unchanged(before, victim) and os.path.islink(link) and
             not os.path.exists(t.path("nothing-yet")), " ".join(["a planted link to a target"] + words), run)
        os.unlink(link)
    # A link of one's own, into another directory.
    put(t.path("aim-of-own"))
    os.symlink(t.path("aim-of-own"), link)
    run = t.xdd("-op", "write", "-targets", 1, link, "-reqsize", 1, "-numreqs", 1, "-recreatefiles", "-passes", 2, "-deletefile")
    return t.ok(run.status == 0 and os.path.islink(link) and not os.path.exists(t.path("aim-of-own")),
                "a link of one's own is followed to remove a file", run)


def test_no_proc():
    """Without /proc a file cannot get its name from its descriptor."""
    hide = s.without_proc()
    if hide is None:
        return t.skip("without /proc", s.sys_why())
    directory = t.path("no-proc")
    os.mkdir(directory)
    for number, (title, words, suffix) in enumerate(WAYS):
        name = "%s/%d" % (directory, number)
        put(name + suffix, mode=0o640)
        run = replace(words, name, hide)
        t.ok(run.status == 0 and read(name + suffix) != "old\n" and stat.S_IMODE(os.stat(name + suffix).st_mode) == 0o640,
             title + ": without /proc", run)
    return t.equal(len(os.listdir(directory)), len(WAYS), "without /proc: nothing else is left")


def test_never_more_rights():
    """A file with a temporary name, as there are without /proc: a process that waits for it must not be able to read it."""
    title = "a private file has no more rights before it is complete"
    strace = s.strace(t.path("trace"), "fchmod,rename")
    hide = s.without_proc()
    if hide is None or not s.can_trace():
        return t.skip(title, s.sys_why())
    name = t.path("private")
    put(name, mode=0o600)
    run = replace(RUN + ["-jsonout"], name, strace + hide)
    with open(t.path("trace")) as f:
        calls = f.read()
    modes = re.findall(r"fchmod\(\d+<[^>]*>, 0([0-7]+)\)", calls)
    return t.ok(run.status == 0 and "rename(" in calls and set(modes) == {"600"} and read(name) != "old\n", title, (modes, run))


os.umask(0o022)
t.run_all()
