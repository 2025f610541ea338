#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What lies at the destination already or is made on the way: directories that lead to the names of a list, those into which their
owner may not write, links and FIFOs in the place of files, the mask of the process, and default ACLs.
"""
import os
import re
import stat
import struct
import subprocess

import xddssh
import xddsys as s
import xddtest as t

FAKE = xddssh.Fake()
ROOT = os.geteuid() == 0


def xddcp(*args, **kwargs):
    kwargs.setdefault("cwd", t.tmp())
    return xddssh.xddcp("-S", FAKE.ssh, *args, **kwargs)


def write(path, data=b"data"):
    with open(path, "xb") as file:
        file.write(data)


def mode(path):
    return "%04o" % stat.S_IMODE(os.lstat(path).st_mode)


def test_on_the_way():
    """Directories that a list does not name."""
    source, copy = t.path("listed"), t.path("listed copy")
    os.makedirs(source + "/open/shared")
    os.mkdir(source + "/there")
    for name in ("open/1", "open/shared/2", "there/3", "open/shared/4"):
        write("%s/%s" % (source, name))
    os.chmod(source + "/open", 0o751)
    os.chmod(source + "/open/shared", 0o577)
    os.utime(source + "/open/shared", ns=(10 ** 18, 10 ** 18))
    os.makedirs(copy + "/there")
    os.chmod(copy + "/there", 0o705)
    # The second way through open/shared begins when the first has ended.
    write(t.path("list"), b"open/shared/2\nthere/3\nopen/shared/4\nopen/1\n")
    run = xddcp("-F", "../list", FAKE.place(copy), cwd=source)
    t.ok(run.status == 0 and os.path.exists(copy + "/open/shared/4"), "a list, with two ways through a directory", run)
    t.equal([mode(copy + name) for name in ("/open", "/open/shared", "/there")], ["0751", "0755", "0705"],
            "directories on the way that are made have the permissions of the source that the mask leaves, and their owner may write", run)


ORDERS = ("s/d/x s/d s/e s", "s/d s/e s/d/x s/e/x s", "s s/d s/d/x s/e s/d/y", "s/d/x s/d s/d/y s/e s")


def test_orders():
    """A list names directories before, between or after their contents: each gets the attributes of the source."""
    source = t.path("orders")
    for name in ("d", "e"):
        os.makedirs("%s/s/%s" % (source, name))
        for file in ("x", "y"):
            write("%s/s/%s/%s" % (source, name, file))
    for name in ("d/x", "d/y", "d", "e/x", "e/y", "e", ""):
        os.utime("%s/s/%s" % (source, name), ns=(10 ** 18, 10 ** 18))
    os.chmod(source + "/s/d", 0o555)
    os.chmod(source, 0o755)
    users = [("root", [], os.path.abspath(t.XDD))] if ROOT else []
    other = s.for_nobody() if ROOT else ([], os.path.abspath(t.XDD))
    users += [("another user", *other)] if other else []
    os.mkdir(t.path("of orders"))
    os.chmod(t.path("of orders"), 0o777)
    for user, prefix, binary in users:
        for number, order in enumerate(ORDERS):
            for words in ("", "-P"):
                to = t.path("of orders/%s %d%s" % (user, number, words))
                # The second time all is there, except a file. Others may not make it in a directory of 0555 that is not named yet.
                for time in ("first", "second") if not prefix and ROOT else ("first",):
                    run = t.command([*prefix, "sh", "-c", 'cd "$0" && printf "%%s\\n" %s | "$1" copy %s -F - "$2"' % (order, words),
                                     source, binary, to], cwd="/")
                    found = [(mode("%s/%s" % (to, name)), os.stat("%s/%s" % (to, name)).st_mtime_ns) for name in ("s", "s/d", "s/e")]
                    t.equal((run.status, found), (0, [(value, 10 ** 18) for value in ("0755", "0555", "0755")]),
                            "directories in the order %s, by %s, %s, the %s time" % (order, user, words or "without -P", time), run)
                    os.unlink(to + "/s/d/x")


def test_own_directories():
    """A user who is not root copies files into directories of its own that it may not write into."""
    other = s.for_nobody() if ROOT else ([], os.path.abspath(t.XDD))
    if not other:
        return t.skip("directories that their owner may not write into", "needs another user")
    prefix, binary = other
    top = t.path("of another user")
    os.mkdir(top)
    if ROOT:
        os.chown(top, 65534, 65534)

    def run(words):
        return t.command([*prefix, "sh", "-c", "cd '%s' && %s" % (top, words.replace("COPY", "'%s' copy -r" % binary))], cwd="/")
    made = run("mkdir -p s/closed/in d && echo 1 >s/closed/in/1 && chmod 0555 s/closed/in s/closed s && COPY s/ d && COPY s named && "
               "chmod 0555 d")
    t.ok(made.status == 0, "a tree of directories that are not writable", made)
    more = run("chmod 0755 s s/closed/in && echo 2 >s/closed/in/2 && echo 3 >s/3 && chmod 0555 s s/closed/in && COPY s/ d && "
               "COPY s/ named")
    found = [[mode(os.path.join(top, where, name)) for name in ("", "closed", "closed/in")] for where in ("d", "named")]
    t.ok(more.status == 0 and os.path.exists(top + "/d/closed/in/2") and os.path.exists(top + "/named/3"), "files are added", more)
    t.equal(found, [["0555"] * 3] * 2, "the permissions are as before")
    kept = run("COPY s d")
    t.ok(kept.status == 120 and mode(top + "/d") == "0555", "a directory that is no copy of the source is left as it is", kept)
    beside = run("echo old-one >one && mkdir w && echo older >w/one && chmod 0555 w && COPY one w/one")
    t.ok(beside.status == 120 and "w/one: no permission to write into its directory; -i writes into the file itself" in beside.err,
         "a file that may be written, without room for another one: the line names -i", beside)
    beside = run("COPY -i one w/one && cmp one w/one")
    t.ok(beside.status == 0, "-i does so", beside)
    unread = run("mkdir u d2 && chmod 0300 u && mkdir d2/u && chmod 0 d2/u && COPY -P u d2")
    t.ok(unread.status == 114 and unread.err.count("\n") == 1 and "cannot read directory" in unread.err,
         "directories that their owner may not read", unread)
    subprocess.run(["chmod", "-R", "u+rwx", top], check=True)
    return None


def test_no_files_in_place():
    """-i writes into files, and never through or in place of anything else: the line says so."""
    copy, outside = t.path("in place"), t.path("outside")
    os.mkdir(copy)
    write(outside, b"old")
    write(t.path("small"))
    write(t.path("large"), bytes(1 << 21))
    for name in ("small", "large"):
        for kind, make in (("link", lambda path: os.symlink(outside, path)), ("FIFO", os.mkfifo)):
            make("%s/%s" % (copy, name))
            run = xddcp("-i", name, FAKE.place(copy))
            t.ok(run.status == 114 and "%s: is not a regular file there" % name in run.err and os.path.getsize(outside) == 3,
                 "-i and a %s in the place of a %s file" % (kind, name), run)
            os.unlink("%s/%s" % (copy, name))


def test_two_names_in_place():
    """-i does not write two sources into one file that has two names: a line has both, and a file that is right stays so."""
    def prepare(first, second, old, same=()):
        source, to = xddssh.fresh("two sources"), xddssh.fresh("one file")
        write(source + "/1", first)
        write(source + "/2", second)
        write(to + "/1", old)
        os.link(to + "/1", to + "/2")
        for path in same:
            os.utime(path.replace("SOURCE", source).replace("TO", to), ns=(10 ** 18, 10 ** 18))
        return source, to

    for title, words, size in (("small", ["-i"], 9), ("large", ["-i"], 1 << 20), ("-c", ["-i", "-c"], 9), ("-n", ["-i", "-n"], 9)):
        contents = [bytes([byte]) * size for byte in b"123"]
        source, to = prepare(*contents)
        run = xddcp("-r", *words, source + "/", FAKE.place(to))
        named = re.findall(r"(\w+): is the same file as (\w+) there, which cannot have the contents or attributes of two sources; copy without -inplace",
                           run.err)
        with open(to + "/1", "rb") as file:
            found = file.read()
        t.ok(run.status == 114 and named and {frozenset(pair) for pair in named} == {frozenset("12")} and found in contents,
             "two sources for one file, %s: the line has both names" % title, run)
    run = xddcp("-r", source + "/", FAKE.place(to))
    again = xddcp("-r", "-k", source + "/", FAKE.place(to))
    t.ok(run.status == 0 and again.status == 0, "without -i both arrive", "%s %s" % (run, again))

    for name in "12":
        source, to = prepare(b"right", b"right", b"right", ["SOURCE/" + name, "TO/1"])
        with open("%s/%s" % (source, "21"["12".index(name)]), "wb") as file:
            file.write(b"other")
        run = xddcp("-r", "-i", source + "/", FAKE.place(to))
        compared = xddcp("-k", source + "/1", source + "/2", FAKE.place(to))
        t.ok(run.status == 114 and compared.status == 7, "one of two sources is there already (%s): the status tells" % name, run)
    source, to = prepare(b"right", b"right", b"right", ["SOURCE/1", "SOURCE/2", "TO/1"])
    for words in (["-i"], ["-i", "-c"]):
        run = xddcp("-r", *words, source + "/", FAKE.place(to))
        t.ok(run.status == 0 and not run.err, "both sources are there already: %s" % words, run)


def prepare_two_names(second):
    """A source, and a destination where each second file is another name of the one before."""
    source, to = xddssh.fresh("two files"), xddssh.fresh("one of two names")
    for number, name in enumerate(("a", "b", "link a", "link b", "empty a", "empty b")):
        for top in (source, to):
            path = "%s/%s" % (top, name)
            if top == to and name.endswith("b"):
                os.link(path[:-1] + "a", path, follow_symlinks=False)
            elif name.startswith("link"):
                os.symlink("a", path)
            else:
                write(path, b"" if name.startswith("empty") else b"data")
            os.utime(path, ns=(10 ** 18, 10 ** 18 + (number if second or name.startswith("link") else 0)), follow_symlinks=False)
    for top in (source, to):
        for name in ("a", "empty a"):
            os.chmod("%s/%s" % (top, name), 0o600)
    return source, to


def test_two_names():
    """Two sources that are one file at the destination become two where their attributes differ."""
    def inodes():
        return {name: os.lstat("%s/%s" % (to, name)).st_ino for name in os.listdir(to)}

    for words in (["-P"], ["-c"], ["-c", "-P"]):
        source, to = prepare_two_names("-c" in words)
        before = inodes()
        listed = xddcp("-r", "-n", *words, source + "/", FAKE.place(to))
        t.ok(listed.status == 0 and inodes() == before, "-n changes nothing: %s" % words, listed)
        run = xddcp("-r", *words, source + "/", FAKE.place(to))
        compared = xddcp("-r", "-k", *words, source + "/", FAKE.place(to))
        t.equal((run.status, compared.status), (0, 0), "each of two names has its attributes: %s" % words, "%s %s" % (run, compared))
        after = inodes()
        t.equal(sorted(re.findall("(?m)^copy (.*)", listed.out)), sorted(name for name in after if after[name] != before[name]),
                "-n lists the names that are replaced: %s" % words, listed)
        again = xddcp("-r", *words, source + "/", FAKE.place(to))
        t.equal((again.status, len(set(after.values())), inodes() == after), (0, 6, True),
                "two names are two files, also after another copy: %s" % words, again)
    for words in (["-P"], ["-c"]):
        source, to = prepare_two_names("-c" in words)
        runs = [xddcp("-r", "-i", *words, source + "/", FAKE.place(to)) for _ in range(2)]
        t.ok(all(run.status == 114 and run.err.count("is the same file as") == 2 for run in runs),
             "-i refuses what has other attributes than another source for its file: %s" % words, runs)


MODES = (0o644, 0o755, 0o600, 0o640, 0o666, 0o777, 0o604, 0o444, 0o400, 0o200, 0, 0o1644, 0o2755, 0o4755, 0o6711)


def accesses(path):
    """The permissions of all below a directory, with the access lists."""
    found = {}
    for where, dirs, files in os.walk(path):
        for name in [where] + [os.path.join(where, name) for name in files]:
            lists = [os.getxattr(name, kind) for kind in os.listxattr(name) if kind.startswith("system.posix_acl")]
            found[os.path.relpath(name, path)] = (mode(name), lists)
        dirs.sort()
    return found


def make_all(top, mask):
    """Files and directories that are created with each of the modes, under this mask."""
    before = os.umask(mask)
    for place in ("plain", "acl", "shared"):
        os.makedirs("%s/%s" % (top, place), exist_ok=True)
        for value in MODES:
            os.mkdir("%s/%s/d%04o" % (top, place, value), value & 0o777)
            for number in (1, 2):
                path = "%s/%s/%04o.%d" % (top, place, value, number)
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, value & 0o777))
                if not mask:  # the source
                    os.chmod(path, value)
    os.umask(before)


def test_created():
    """Without -P new files and directories get what the kernel gives them, on storage and in memory."""
    source = t.path("created")
    make_all(source, 0)
    for top in (t.tmp(), s.tmpfs("memory", 16 << 20)):
        if not top:
            t.skip("permissions of files in memory", s.sys_why())
            continue
        for mask in (0o022, 0o077, 0o177, 0o002):
            places = ["%s/%s %03o" % (top, name, mask) for name in ("kernel", "copy")]
            for to in places:
                for name in ("plain", "acl", "shared"):
                    os.makedirs("%s/%s" % (to, name))
                os.chmod(to + "/shared", 0o2775)
                acl = t.have("setfacl") and not t.command(["setfacl", "-d", "-m", "u:daemon:rwx,g::r,m::rx,o::-", to + "/acl"]).status
            make_all(places[0], mask)
            run = t.xdd("copy", "-r", source + "/", places[1], umask=mask)
            wanted, found = map(accesses, places)
            t.ok(run.status == 0 and wanted == found, "umask %03o: permissions%s of new files, in %s" %
                 (mask, " and ACLs" * acl, "memory" if top != t.tmp() else "files"),
                 "%s\n%s" % ([(name, found.get(name), wanted[name]) for name in wanted if found.get(name) != wanted[name]], run))


def test_kept():
    """Without -P what exists keeps its permissions, except bits that would give the rights of an owner."""
    source, to = t.path("new contents"), t.path("old")
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in (
        (1, 6, 2 ** 32 - 1), (2, 6, 7), (4, 0, 2 ** 32 - 1), (16, 6, 2 ** 32 - 1), (32, 0, 2 ** 32 - 1)))
    os.makedirs(source + "/dir")
    os.makedirs(to + "/dir")
    for name in ("closed", "set-id", "acl", "same"):
        for top in (source, to):
            write("%s/%s" % (top, name), b"the old" if top == to and name != "same" else b"contents")
        os.chmod("%s/%s" % (source, name), 0o6777)
    for name in ("same", "dir"):
        os.utime("%s/%s" % (source, name), ns=(7, 7))
    for name, value in (("closed", 0o600), ("set-id", 0o6711), ("same", 0o640), ("dir", 0o750), ("", 0o701)):
        os.chmod("%s/%s" % (to, name), value)
    os.chmod(source, 0o777)
    os.utime(to + "/same", ns=(7, 7))
    try:
        os.setxattr(to + "/acl", "system.posix_acl_access", acl)
    except OSError:
        t.skip("files with ACLs", "the file system of %s has none" % t.tmp())
        os.chmod(to + "/acl", 0o660)
    names = ("closed", "set-id", "acl", "same", "dir", "")
    before = [accesses(to)[name or "."] for name in names]
    for words in ([], ["-c"], ["-i"]):
        for name in ("closed", "set-id", "acl"):
            with open("%s/%s" % (to, name), "r+b") as file:
                file.write(b"OLD")
        os.chmod(to + "/set-id", 0o6711)
        run = xddcp("-r", *words, source + "/", FAKE.place(to))
        after = [accesses(to)[name or "."] for name in names]
        wanted = before if words == ["-i"] else [before[0], ("0711", before[1][1]), *before[2:]]
        with open(to + "/closed", "rb") as file:
            t.ok(run.status == 0 and file.read() == b"contents", "existing files are replaced: %s" % words, run)
        t.equal(after, wanted, "permissions and ACLs are kept: %s" % words, run)
    run = xddcp("-r", "-P", source + "/", FAKE.place(to))
    t.equal((run.status, [mode("%s/%s" % (to, name)) for name in names]), (0, ["6777", "6777", "6777", "6777", mode(source + "/dir"), "0777"]),
            "-P gives them the permissions of the source", run)


os.umask(0o022)
t.run_all()
