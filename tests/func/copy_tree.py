#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Trees of files that xddcp copies: links of both kinds, loops of links, empty directories, holes, names of any bytes, deep nesting,
owners, ACLs, extended attributes. Both trees are compared name by name, and by rsync, where there is one.

XDD_TEST_LONG=1 copies 100,000 files, and a tree of 10,000 levels.
"""
import hashlib
import os
import re
import socket
import stat
import subprocess

import xddssh
import xddsys as s
import xddtest as t

LONG = bool(os.environ.get("XDD_TEST_LONG"))
FAKE = xddssh.Fake()
ROOT = os.geteuid() == 0
FAILED = 114
KIB = 1024
ODD_NAMES = [b"new\nline", b"sp ace", b"-rf", b"--", b"quote'\"", b"\xff\xfe", b"x" * 255, b"$(touch x)", b"back\\slash", b" lead",
             b"tab\t", b"*", b"~", b"a:b", b"\xc3\xa9", b"\x1b[31m", b".hidden", b"..."]


def fresh(name):
    """A path in the test's directory at which nothing is."""
    path = t.path(name)
    subprocess.run(["rm", "-rf", "--", path], check=True)
    return path


def xddcp(*args, **kwargs):
    kwargs.setdefault("cwd", t.tmp())
    return xddssh.xddcp("-S", FAKE.ssh, *args, **kwargs)


def write(path, data=b"", mode=0o644):
    with open(path, "xb") as file:
        file.write(data)
        os.fchmod(file.fileno(), mode)


# ---- the tree ----

def write_holes(path, pieces, size):
    with open(path, "xb") as file:
        for offset in pieces:
            os.pwrite(file.fileno(), os.urandom(4 * KIB), offset)
        os.truncate(file.fileno(), size)


def make_deep(top, levels, name="a level of the tree"):
    at = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    for level in range(levels):
        os.mkdir(name, 0o755, dir_fd=at)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = below
        if level % 50 == 0:
            os.close(os.open("file", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=at))
    os.close(at)


def make_attributes(top):
    """False where the file system has none."""
    try:
        os.setxattr(top + "/files/f1", "user.text", b"value\0binary")
    except OSError:
        return False
    os.setxattr(top + "/files/f1", "user.empty", b"")
    os.setxattr(top + "/files", "user.of a directory", b"d" * 3000)
    os.setxattr(top + "/files/f2", "user.read-only", b"1")
    os.chmod(top + "/files/f2", 0o444)
    if t.have("setfacl"):
        subprocess.run(["setfacl", "-m", "u:daemon:r,g:daemon:rwx", top + "/files/f3"], check=True)
        subprocess.run(["setfacl", "-d", "-m", "u:daemon:rwx", top + "/acl"], check=True)
        write(top + "/acl/inherits", b"x")
    if ROOT:
        os.setxattr(top + "/files/f4", "trusted.mine", b"root's")
    return True


def make_tree(top):
    for name in ("", "/empty", "/files", "/odd", "/links", "/acl", "/holes", "/times", "/empty/more/and more"):
        os.makedirs(top + name, 0o755)
    for i in range(60):
        write("%s/files/f%d" % (top, i), os.urandom(i * i * 97), 0o600 + i % 64)
    write(top + "/files/large", os.urandom(3 << 20 | 5), 0o640)
    write(top + "/files/program", b"#!/bin/sh\n", 0o6755)
    for name in ODD_NAMES:
        write(os.path.join(os.fsencode(top), b"odd", name), name)
    os.makedirs(os.path.join(os.fsencode(top), b"odd", b"directory\n'\"", b" - "))
    for i, (name, to) in enumerate([("plain", "../files/f1"), ("dangling", "no/where"), ("self", "."), ("loop", "loop2"),
                                    ("loop2", "loop"), ("up", "../.."), ("absolute", "/etc/passwd"), ("long", "x/" * 2000)]):
        os.symlink(to, "%s/links/%s" % (top, name))
        os.utime("%s/links/%s" % (top, name), ns=(i, 10**18 + i), follow_symlinks=False)
    os.link(top + "/links/dangling", top + "/links/the same", follow_symlinks=False)
    os.link(top + "/links/dangling", top + "/files/a link", follow_symlinks=False)
    os.link(top + "/files/f7", top + "/links/f7")
    os.link(top + "/files/f7", top + "/files/again f7")
    os.link(top + "/files/large", top + "/links/large")
    write_holes(top + "/holes/middle", [0, 512 * KIB, 3 << 20], 4 << 20)
    write_holes(top + "/holes/end", [64 * KIB], 8 << 20)
    write_holes(top + "/holes/only", [], 1 << 20)
    write_holes(top + "/holes/small", [], 100)
    make_deep(top + "/empty", 120)
    attributes = make_attributes(top)
    if ROOT:
        os.chown(top + "/files/f8", 1, 2)
        os.chown(top + "/links/up", 3, 4, follow_symlinks=False)
        os.chown(top + "/files/f9", 54321, 54322)
        os.chown(top + "/empty", 2, 2)
    os.chmod(top + "/times", 0o2711)
    for name, ns in (("old", -(10**18)), ("zero", 0), ("whole", 1234567890 * 10**9), ("ns", 10**18 + 1)):
        write(top + "/times/" + name)
        os.utime(top + "/times/" + name, ns=(ns + 5, ns))
    os.utime(top + "/times", ns=(7, 77))
    return attributes


def add_specials(top):
    """Files that cannot be copied; their names."""
    os.mkfifo(top + "/files/a fifo")
    names = ["a fifo"]
    with socket.socket(socket.AF_UNIX) as sock:
        here = os.getcwd()
        os.chdir(top + "/files")
        sock.bind("a socket")
        os.chdir(here)
    names.append("a socket")
    if ROOT:
        try:
            for kind, mode in (("character", stat.S_IFCHR), ("block", stat.S_IFBLK)):
                os.mknod("%s/files/a %s device" % (top, kind), 0o600 | mode, os.makedev(1, 3))
                names.append("a %s device" % kind)
        except PermissionError:
            pass
    return names


def remove_specials(top, names):
    status = os.stat(top + "/files")
    for name in names:
        os.unlink("%s/files/%s" % (top, name))
    os.utime(top + "/files", ns=(status.st_atime_ns, status.st_mtime_ns))


# ---- comparing ----

def content(fd, status):
    digest = hashlib.sha1()
    while data := os.read(fd, 1 << 20):
        digest.update(data)
    return digest.hexdigest() if status.st_size else ""


def attributes_of(fd):
    return {name: os.getxattr(fd, name) for name in os.listxattr(fd) if not name.startswith("security.")}


class Snapshot:
    """All files below a directory, by their paths. `ignores` may name "owner", "attributes" and "links"."""

    def __init__(self, top, *ignores):
        self.ignores = ignores
        self.found = {}
        self.first = {}
        self.blocks = 0
        fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
        self.take_dir(fd, b"")
        os.close(fd)

    def facts(self, status):
        facts = [stat.filemode(status.st_mode), status.st_mtime_ns]
        if "owner" not in self.ignores:
            facts += [status.st_uid, status.st_gid]
        return facts

    def take(self, at, name, path):
        status = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
            self.take_dir(fd, path)
            os.close(fd)
            return
        facts = self.facts(status)
        if stat.S_ISLNK(status.st_mode):
            facts.append(os.readlink(name, dir_fd=at))
        elif stat.S_ISREG(status.st_mode):
            fd = os.open(name, os.O_RDONLY, dir_fd=at)
            facts += [status.st_size, content(fd, status)]
            if "attributes" not in self.ignores:
                facts.append(attributes_of(fd))
            os.close(fd)
            self.blocks += status.st_blocks
        if "links" not in self.ignores and status.st_nlink > 1:
            facts.append(self.first.setdefault(status.st_ino, path))
        self.found[path] = facts

    def take_dir(self, fd, path):
        facts = self.facts(os.fstat(fd))
        if "attributes" not in self.ignores:
            facts.append(attributes_of(fd))
        self.found[path] = facts
        for name in sorted(os.listdir(fd)):
            name = os.fsencode(name)
            self.take(fd, name, path + b"/" + name)

    def differences(self, other):
        lines = []
        for path in sorted(self.found.keys() | other.found.keys()):
            a, b = self.found.get(path), other.found.get(path)
            if a != b:
                lines.append("%r: %s, copy %s" % (path[-80:], a, b))
        return "\n".join(lines[:20])


def alike(source, copy, what, *ignores):
    os.sync()
    a, b = Snapshot(source, *ignores), Snapshot(copy, *ignores)
    t.equal(b.differences(a) if len(a.found) > 1 else "nothing there", "", what)
    t.ok(abs(a.blocks - b.blocks) <= 64, what + ": as many blocks are allocated", "%d, copy %d" % (a.blocks, b.blocks))


def tools_agree(source, copy, what, flags="-aHAX"):
    run = t.command(["diff", "-r", "--no-dereference", source, copy])
    t.ok(run.status == 0, what + ": diff finds nothing", run)
    if t.have("getfacl"):
        acls = [t.command(["getfacl", "-R", "-p", "."], cwd=top).out for top in (source, copy)]
        t.ok(acls[0] == acls[1], what + ": getfacl agrees")
    if not t.have("rsync"):
        t.skip(what + ": rsync has nothing to do", "no rsync")
        return
    run = t.command(["rsync", flags, "--dry-run", "--itemize-changes", source + "/", copy + "/"])
    t.ok(run.status == 0 and run.out == "", what + ": rsync has nothing to do", run)


def skips_all(run, what):
    t.ok(run.status == 0 and re.search(r"^copied 0 files", run.out, re.M) and "identical, skipped" in run.out, what, run)


# ---- tests ----

def refusals(run):
    return sorted(line for line in run.err.splitlines() if "which is not copied" in line)


def test_everything():
    source, copy = fresh("all"), fresh("all copy")
    if not make_tree(source):
        t.skip("extended attributes", "the file system of %s has none" % t.tmp())
    specials = add_specials(source)
    why = xddssh.why_not()
    server = FAKE if why else xddssh.Sshd().__enter__()
    try:
        run = xddssh.xddcp("-S", server.ssh, "-r", "-P", source, server.place(copy), cwd=t.tmp())
        t.ok(run.status == FAILED and len(refusals(run)) == len(specials) and run.err.count("\n") == len(specials),
             "FIFOs, sockets and devices get a line each", run)
        for name in specials:
            t.ok("xdd: copy: %s/files/%s: is %s, which is not copied" % (source, name, name.replace("fifo", "FIFO")) in refusals(run),
                 name + " is refused", run)
            t.ok(not os.path.lexists("%s/files/%s" % (copy, name)), name + " is not made")
        remove_specials(source, specials)
        alike(source, copy, "-r -P copies everything")
        tools_agree(source, copy, "-r -P")
        run = xddssh.xddcp("-S", server.ssh, "-r", "-P", source + "/", server.place(copy), cwd=t.tmp())
        skips_all(run, "a second copy skips everything")
        alike(source, copy, "after the second copy")
        tools_agree(source, copy, "after the second copy")
        back = fresh("all back")
        run = xddssh.xddcp("-S", server.ssh, "-r", "-P", server.place(copy), back, cwd=t.tmp())
        t.ok(run.status == 0, "the copy is copied back", run)
        alike(source, back, "copied back")
    finally:
        if not why:
            server.__exit__()


def test_corrected():
    """Attributes and names that the copy has and should not, or not so."""
    source, copy = fresh("right"), fresh("wrong")
    for name in (source, source + "/dir", copy, copy + "/dir"):
        os.mkdir(name)
    for name in ("mode", "time", "link", "dir/second", "kind", "attribute"):
        write(source + "/" + name, b"data")
    os.chmod(source + "/mode", 0o640)
    os.link(source + "/link", source + "/dir/link")
    os.symlink("mode", source + "/symlink")
    os.symlink("old", copy + "/symlink")
    os.symlink("mode", copy + "/kind")
    subprocess.run(["cp", "-a", source + "/mode", source + "/time", source + "/attribute", copy], check=True)
    os.chmod(copy + "/mode", 0o777)
    os.utime(copy + "/time", ns=(1, 1))
    write(copy + "/link", b"other")
    os.chmod(copy + "/dir", 0o700)
    try:
        os.setxattr(copy + "/attribute", "user.wrong", b"1")
    except OSError:
        pass
    run = xddcp("-r", "-P", source + "/", FAKE.place(copy))
    t.ok(run.status == 0, "a copy over an older one", run)
    alike(source, copy, "what differs is corrected")
    write(copy + "/dir/stays")
    t.ok(xddcp("-r", "-P", source + "/", FAKE.place(copy)).status == 0 and os.path.exists(copy + "/dir/stays"),
         "names that the source does not have stay")


def test_too_many_attributes():
    """More attributes than a message has room for: the entry is copied, and it is said that they are not."""
    top = s.tmpfs("attributes", 32 << 20)
    source = top and top + "/from"
    try:
        if not top:
            raise OSError(s.sys_why())
        os.makedirs(source + "/dir")
        for name in ("/dir/file", "/dir", "/alone"):
            if name != "/dir":
                write(source + name, b"data")
            for i in range(1025):
                os.setxattr(source + name, "user.%d" % i, b"1")
        os.removexattr(source + "/alone", "user.0")
    except OSError as why:
        t.skip("more attributes than can be copied", "no file system for them here: %s" % why)
        return
    run = xddcp("-r", "-P", source + "/", FAKE.place(top + "/to"))
    t.equal(run.status, 114, "more attributes than can be copied: the status", run)
    failed = re.findall(r"^xdd: copy: (.*): it has more than 1024 attributes or 256 KiB of them: none are copied$", run.err, re.M)
    t.equal(sorted(os.path.relpath(name, source) for name in failed), ["dir", "dir/file"], "which ones, a line each", run)
    t.equal([len(os.listxattr(top + "/to" + name)) for name in ("/dir/file", "/dir", "/alone")], [0, 0, 1024],
            "the attributes of the others are there")
    with open(top + "/to/dir/file", "rb") as file:
        t.equal(file.read(), b"data", "and the contents of all")


def test_plain():
    source, copy = fresh("plain"), fresh("plain copy")
    make_tree(source)
    for name in ("files/program", "times"):
        os.chmod("%s/%s" % (source, name), 0o711)
    run = xddcp("-r", source, FAKE.place(copy), umask=0)
    t.ok(run.status == 0, "-r without -P", run)
    if ROOT:
        for name in ("files/f8", "files/f9", "empty"):
            status = os.stat("%s/%s" % (copy, name))
            t.equal((status.st_uid, status.st_gid), (0, 0), "without -P the owner of %s is the user" % name)
    if t.have("setfacl"):
        # The group bits of a file with an ACL are its mask.
        for top in (source, copy):
            for name in ("files/f3", "acl", "acl/inherits"):
                status = os.stat("%s/%s" % (top, name))
                subprocess.run(["setfacl", "-b", "%s/%s" % (top, name)], check=True)
                os.chmod("%s/%s" % (top, name), 0o700)
                os.utime("%s/%s" % (top, name), ns=(status.st_atime_ns, status.st_mtime_ns))
    alike(source, copy, "permissions, times, links and contents", "owner", "attributes")


def test_set_user_id():
    source, copy = fresh("set-id"), fresh("set-id copy")
    if not ROOT:
        return t.skip("programs of other users", "needs root")
    os.mkdir(source)
    write(source + "/other", b"x")
    os.chown(source + "/other", 1, 1)
    os.chmod(source + "/other", 0o6755)
    write(source + "/own", b"x", 0o4755)
    run = xddcp("-r", source, FAKE.place(copy))
    modes = [os.stat("%s/%s" % (copy, name)).st_mode & 0o7777 for name in ("other", "own")]
    t.ok(run.status == 0 and modes == [0o755, 0o755], "without -P no program runs as its owner",
         "%s %s" % ([oct(m) for m in modes], run))
    run = xddcp("-r", "-P", source + "/", FAKE.place(copy))
    t.equal(os.stat(copy + "/own").st_mode & 0o7777, 0o4755, "with -P it does", run)
    status = os.stat(copy + "/other")
    t.ok(run.status == 0 and (status.st_mode & 0o7777, status.st_uid) == (0o6755, 1), "with -P it is one of its owner", run)
    return None


def test_as_user():
    """A user who is not root: says once how many owners could not be set."""
    other = s.for_nobody() if ROOT else None
    if not ROOT or not other:
        return t.skip("-P as a user who is not root", "needs root, to make files of others")
    source, copies = fresh("owned"), fresh("of another user")
    os.makedirs(source + "/closed")
    write(source + "/closed/in")
    for i in range(50):
        write("%s/f%d" % (source, i), b"x" * i)
        os.chown("%s/f%d" % (source, i), i, i)
    write(source + "/secret", b"", 0o600)
    os.chmod(source + "/closed", 0o700)
    os.mkdir(copies)
    os.chown(copies, 65534, 65534)
    prefix, binary = other
    os.mkdir(t.path("bin"), 0o755)
    os.rename(binary, t.path("bin/xdd"))
    fake = xddssh.Fake(name="ssh-of-other", remote_xdd=t.path("bin"))
    with open(fake.calls, "ab") as calls:
        os.fchmod(calls.fileno(), 0o666)
    run = t.command([*prefix, t.path("bin/xdd"), "copy", "-S", fake.ssh, "-r", "-P", source, fake.place(copies + "/copy")], cwd="/")
    lines = [line for line in run.out.splitlines() if "owners or attributes not set" in line]
    t.ok(run.status == FAILED and len(lines) == 1 and re.search(r"not set: 5[0-9] ", lines[0]), "the owners are counted, once", run)
    t.ok(run.err.count("\n") == 2 and "closed" in run.err and "secret" in run.err, "what cannot be read gets a line each", run)
    t.equal(len(os.listdir(copies + "/copy")), 51, "the other files are there")
    return None


def test_names():
    """Each odd name as a source, and as a destination."""
    source, copy = fresh("names"), fresh("names copy")
    os.mkdir(source)
    os.mkdir(copy)
    for name in map(os.fsdecode, ODD_NAMES):
        write(os.path.join(source, name), os.fsencode(name))
        run = xddcp("--", name, FAKE.place(copy + "/" + name), cwd=source) if ":" not in name else \
            xddcp("./" + name, FAKE.place(copy + "/" + name), cwd=source)
        t.ok(run.status == 0, "%r is copied" % name, run)
    for top in (source, copy):
        os.utime(top, ns=(0, 0))
    alike(source, copy, "odd names", "owner", "attributes")
    back = fresh("names back")
    os.mkdir(back)
    run = xddcp(*[FAKE.place(copy + "/" + os.fsdecode(name)) for name in ODD_NAMES], back)
    t.ok(run.status == 0, "odd names from the other host", run)
    names = sorted(os.listdir(os.fsencode(back)))
    t.equal(names, sorted(ODD_NAMES), "all of them")
    for form, wanted in (("%s", ["names"]), ("%s/", sorted(map(os.fsdecode, ODD_NAMES))), ("%s/.", sorted(map(os.fsdecode, ODD_NAMES)))):
        into = fresh("names into")
        os.mkdir(into)
        run = xddcp("-r", form % "names", FAKE.place(into))
        t.equal((run.status, sorted(os.listdir(into))), (0, wanted), "into a directory: " + form % "names", run)


def test_deep():
    levels = 10000 if LONG else 1500
    source, copy = fresh("deep"), fresh("deep copy")
    os.mkdir(source)
    make_deep(source, levels)
    run = xddcp("-r", source, FAKE.place(copy))
    count = int(t.command(["sh", "-c", "find %s -type d | wc -l" % copy.replace(" ", "\\ ")]).out)
    t.ok(run.status == 0 and count == levels + 1, "%d levels" % levels, "%d %s" % (count, run))
    run = xddcp("-r", source + "/", FAKE.place(copy))
    skips_all(run, "%d levels, again" % levels)
    fresh("deep")
    fresh("deep copy")


def peak_bytes(*words):
    """Run xddcp with these words; returns (status, the most memory of a process of it)."""
    with open(os.devnull, "w", encoding="ascii") as nowhere:
        process = subprocess.Popen([t.XDD, "copy", *words], stdin=subprocess.DEVNULL, stdout=nowhere, stderr=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss << 10


def test_deep_absent():
    """Directories that are not there, in each other: the path of each is long, and no side keeps all of them."""
    if os.environ.get("XDD_SANITIZERS", "no") != "no":
        t.skip("memory for long paths", "the sanitizers take memory")
        return
    source, copy = fresh("long"), fresh("long copy")
    os.mkdir(source)
    # All paths together take 60 MB.
    make_deep(source, 750, "d" * 200)
    os.mkdir(copy)
    write(os.path.join(copy, "long"), b"in the way")
    for words, destination, expected, what in ((["-n"], "new", 0, "-n"), (["-k"], "new", 7, "-k"),
                                               ([], "long copy/", FAILED, "below a failure")):
        status, peak = peak_bytes("-r", *words, source, t.path(destination))
        t.ok(status == expected and peak < 32 << 20, "750 long names in each other, %s: little memory" % what, (status, peak))
    fresh("long")


def test_many():
    """Many files: a second copy, and the memory of both sides."""
    n = 100000 if LONG else 5000
    source, copy = fresh("many"), fresh("many copy")
    os.mkdir(source)
    for i in range(0, n, 100):
        os.mkdir("%s/d%d" % (source, i))
        for j in range(i, i + 100):
            write("%s/d%d/%d" % (source, i, j), b"%d" % j)
    run = xddcp("-r", source, FAKE.place(copy), timeout=600)
    t.ok(run.status == 0 and "copied %d files" % n in run.out.replace(",", ""), "%d files" % n, run)
    alike(source, copy, "%d files" % n, "owner")
    run = xddcp("-r", source + "/", FAKE.place(copy), timeout=600)
    skips_all(run, "%d files, again" % n)


def copied_into_itself(source, destination, what, *args):
    run = xddcp(*args, "-r", source, FAKE.place(destination))
    depth = max(top[len(t.tmp()):].count("/") for top, _, _ in os.walk(t.tmp() + "/" + "self"))
    t.ok(depth < 12, what + ": it ends", "%d levels, %s" % (depth, run))
    says = re.findall("cannot be copied into (?:itself|themselves)$", run.err, re.M)
    t.ok(run.status == (FAILED if says else 0) and run.err.count("\n") == len(says) <= 1, what + ": it says so", run)


def test_into_itself():
    for files in (True, False):
        for into in ("in", "in/new", "new", "new/in/new"):
            top = fresh("self")
            os.makedirs(top + "/in/dir/dir/dir")
            for directory in (top, top + "/in", top + "/in/dir"):
                if files:
                    write(directory + "/file", b"data")
            what = "into %s, %s" % (into, "with files" if files else "directories only")
            copied_into_itself(top, "%s/%s" % (top, into), what)
    top = fresh("self")
    os.makedirs(top + "/in")
    for i in range(30000 if os.environ.get("XDD_TEST_LONG") else 5000):  # The kernel lists some 1,000 at a time.
        os.mkdir("%s/in/%d" % (top, i))
    made = set(os.listdir(top + "/in"))
    for resume in ([], ["-R"]):
        copied_into_itself(top, top + "/in", "a wide directory" + " -R" * len(resume), *resume)
        # The wide directory is made once; the second copy finds what the first one has found.
        for name in set(os.listdir(top + "/in")) - made:
            subprocess.run(["rm", "-rf", "--", os.path.join(top, "in", name)], check=True)


def test_lists():
    source, copy = fresh("listed"), fresh("listed copy")
    os.makedirs(source + "/a/b")
    os.makedirs(source + "/c")
    for name in ("a/1", "a/b/2", "c/3", "4", "a/not"):
        write("%s/%s" % (source, name), name.encode())
    os.mkdir(copy)
    names = "a/1\na/b/2\n./c//3\n4\n%s/a/not\n" % source
    with open(t.path("list"), "w", encoding="ascii") as file:
        file.write(names)
    run = xddcp("-F", t.path("list"), FAKE.place(copy), cwd=source)
    found = sorted(os.path.relpath(os.path.join(top, name), copy) for top, _, files in os.walk(copy) for name in files)
    t.equal((run.status, found), (0, ["4", "a/1", "a/b/2", "c/3", "not"]), "a list of names", run)
    for name in ("a/link", "link"):
        os.link(source + "/4", "%s/%s" % (source, name))
    with open(t.path("list"), "w", encoding="ascii") as file:
        file.write("4\na/link\na/link\nlink\n4\n")
    run = xddcp("-F", t.path("list"), FAKE.place(copy), cwd=source)
    t.equal((run.status, os.stat(copy + "/link").st_nlink, sorted(os.listdir(copy)), sorted(os.listdir(copy + "/a"))),
            (0, 3, ["4", "a", "c", "link", "not"], ["1", "b", "link"]), "hard links of a list that has names twice", run)
    copy = fresh("listed copy")
    with open(t.path("list"), "wb") as file:
        file.write(b"a/1\0../x\0none\0")
    run = t.command(["sh", "-c", 'exec "$0" copy -S "$1" -F -0 - "$2" <../list', os.path.abspath(t.XDD), FAKE.ssh, FAKE.place(copy)],
                    cwd=source)
    found = sorted(os.path.relpath(os.path.join(top, name), copy) for top, _, files in os.walk(copy) for name in files)
    t.equal((run.status, found), (FAILED, ["a/1"]), "a list on standard input, with names that cannot be copied", run)
    t.ok("../x" in run.err and "none" in run.err and run.err.count("\n") == 2, "they get a line each", run)


def test_parents():
    """Directories that lead to the destination of a tree or a list are made, as the umask says; a file needs its own."""
    source, top = fresh("to be led to"), fresh("leads")
    os.makedirs(source + "/in")
    write(source + "/in/file", b"data")
    write(t.path("listed"), b"in/file\n")
    os.mkdir(top)
    place = FAKE.place(top + "/a/b/c")
    for word, status, says in (("-n", 0, "would copy 1 file"), ("-k", 7, "does not exist")):
        run = xddcp(word, "-r", source, place)
        t.ok(run.status == status and says in run.out + run.err and not os.listdir(top), "%s: none is made" % word, run)
    mask = os.umask(0o027)
    run = xddcp("-r", source, place)
    os.umask(mask)
    t.equal((run.status, [stat.S_IMODE(os.stat(top + path).st_mode) for path in ("/a", "/a/b")], os.listdir(top + "/a/b/c")),
            (0, [0o750, 0o750], ["in"]), "a tree: they are made", run)
    run = xddcp("-F", t.path("listed"), FAKE.place(top + "/d/e/f"), cwd=source)
    t.ok(run.status == 0 and os.path.exists(top + "/d/e/f/in/file"), "a list: they are made", run)
    write(top + "/file", b"data")
    for words, destination in ((["-r", source], "/file/b/c"), ([source + "/in/file"], "/g/h"), ([source + "/in/file"], "/g/h/")):
        run = xddcp(*words, FAKE.place(top + destination))
        t.ok(run.status == 119 and "its directory does not exist" in run.err and sorted(os.listdir(top)) == ["a", "d", "file"],
             "%s %s: none is made" % (" ".join(words[:-1]), destination), run)


s.own_mounts()
t.run_together(test_parents, test_everything, test_corrected, test_too_many_attributes, test_plain, test_set_user_id,
               test_as_user, test_names, test_deep, test_deep_absent, test_many, test_into_itself, test_lists)
t.done()
