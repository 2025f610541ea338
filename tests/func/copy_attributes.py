#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Attributes of what xddcp copies: each one that cannot be set has a line, the others are set all the same, and the status says so.
Status 0 means that both trees are equal.
"""
import os
import re
import shutil

import xddssh
import xddsys as s
import xddtest as t
from xddattributes import ACL, OLD, acl, facts, make_tree, wrong_kinds

ROOT = os.geteuid() == 0
FAILED = 114
ENOSPC, EPERM = 28, 1


def fresh(name):
    path = t.path(name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def copy(*args, **kwargs):
    return t.xdd("copy", *args, **kwargs)


FAULTS = [  # the function that fails, and for which attribute; what the lines name; how many
    ({"call": "fchownat"}, {"owner"}, 5),
    ({"call": "fchownat", "errno": EPERM}, {"owner"}, 5),
    ({"call": "fchmod"}, {"permissions"}, 4),
    ({"call": "futimens"}, {"times"}, 4),
    ({"call": "utimensat"}, {"times"}, 1),
    ({"call": "fsetxattr", "attribute": "user.text", "errno": ENOSPC}, {"extended attributes"}, 3),
    ({"call": "fsetxattr", "attribute": "security.", "errno": EPERM}, {"extended attributes"}, 1),
    ({"call": "fsetxattr", "attribute": "system.posix_acl_access"}, {"ACL"}, 3),
    ({"call": "fsetxattr", "attribute": "system.posix_acl_default"}, {"ACL"}, 1),
    ({"call": "fsetxattr"}, {"ACL", "extended attributes"}, 6),
]


def test_each_failure():
    source = fresh("source")
    try:
        make_tree(source)
    except OSError as err:
        return t.skip("attributes that cannot be set", "not all of them can be had here (%s)" % err)
    os.chown(source, 5, 5)
    for fault, kinds, lines in FAULTS:
        env = s.faults("attribute", file="/copy", **fault)
        if env is None:
            return t.skip("attributes that cannot be set", s.sys_why())
        what = " ".join(str(value) for value in fault.values())
        to = fresh("copy")
        run = copy("-r", "-P", source, to, env=env)
        named = re.findall(r"cannot set (.*) \(", run.err)
        wrong = wrong_kinds(source, to)
        t.equal((run.status, set(named), run.err.count("\n")), (FAILED, kinds, lines), "%s fails: the status, and the lines" % what, run)
        # The kernel sets the group bits of permissions where an ACL is set.
        t.ok(kinds & wrong and wrong <= kinds | ({"permissions"} if "ACL" in kinds else set()), "%s fails: all others are set" % what,
             "%s %s" % (wrong, run))
        if fault.get("attribute") == ACL:
            t.equal(facts(to + "/dir/file")["permissions"], "0640", "%s fails: the group does not get the rights of the mask" % what)
        again = copy("-r", "-P", source + "/", to)
        t.equal((again.status, wrong_kinds(source, to)), (0, set()), "%s no longer fails: another copy repairs the tree" % what, again)
    return None


def test_existing():
    """Attributes of files that are there already."""
    source, to = t.path("source"), t.path("copy")
    if not os.path.exists(to):
        return t.skip("attributes of existing files", "there is no tree")
    for call, kind, change in (("fchmod", "permissions", lambda path: os.chmod(path, 0o7)),
                               ("fchownat", "owner", lambda path: os.chown(path, 1, 1)),
                               ("fremovexattr", "extended attributes", lambda path: os.setxattr(path, "user.old", b"1"))):
        for name in ("", "dir", "dir/file"):
            change("%s/%s" % (to, name))
        run = copy("-r", "-P", source + "/", to, env=s.faults("attribute", file="/copy", call=call))
        t.equal((run.status, run.err.count("cannot set %s (" % kind)), (FAILED, 3), "%s fails for what is there" % call, run)
        run = copy("-r", "-P", source + "/", to)
        t.equal((run.status, wrong_kinds(source, to)), (0, set()), "%s no longer fails" % call, run)
    return None


def set_time(path):
    os.utime(path, ns=(5, 5), follow_symlinks=False)


CHANGES = [  # what becomes of an existing copy, and the words of -k; where only -P copies it
    ("time", ["modification time is 1970-01-01 00:00:00.000000005 UTC, not 2001-09-09 01:46:40.00000000"], False,
     ("", "dir", "dir/file", "empty", "link"), set_time),
    ("mode", ["permissions are 0705, not 0"], True, ("", "dir", "dir/file", "empty"), lambda path: os.chmod(path, 0o705)),
    ("owner", ["owner is 9, not ", "group is 8, not "], True, ("", "dir", "dir/file", "empty", "link"),
     lambda path: os.chown(path, 9, 8, follow_symlinks=False)),
    ("attribute", ["attribute user.text differs", "attribute user.more is missing", "attribute user.old is not at the source"], True,
     ("dir", "dir/file", "empty"), lambda path: (os.setxattr(path, "user.text", b"changed"), os.removexattr(path, "user.more"),
                                                 os.setxattr(path, "user.old", b"1"))),
    ("ACL", ["attribute %s differs" % ACL], True, ("dir/file", "empty"), lambda path: os.setxattr(path, ACL, acl(99))),
    ("no ACL", ["attribute %s is missing" % ACL], True, ("dir",), lambda path: os.removexattr(path, ACL)),
    ("all", ["owner is 9, not ", "permissions are 0705, not ", "modification time is ", "attribute user.old is not at the source"], True,
     ("", "dir", "dir/file", "empty"),
     lambda path: (os.setxattr(path, "user.old", b"1"), os.chown(path, 9, 8), os.chmod(path, 0o705), set_time(path))),
]


def changed_times(top):
    return {path: os.lstat(path).st_ctime_ns for where, dirs, files in os.walk(top)
            for path in [where] + [os.path.join(where, name) for name in dirs + files]}


def test_compared():
    """-k names each difference that another copy would change, and status 0 means that there is none."""
    source, to = fresh("compared"), fresh("compared to")
    try:
        make_tree(source)
        xddssh.write(source + "/empty", b"")
        for name in ("user.text", "user.more", ACL):
            os.setxattr(source + "/empty", name, os.getxattr(source + "/program", name))
        os.utime(source + "/empty", ns=(OLD, OLD))
        os.utime(source, ns=(OLD, OLD))
    except OSError as err:
        return t.skip("attributes that differ", "not all of them can be had here (%s)" % err)
    for what, words, only_everything, names, change in CHANGES:
        for options in (["-P"], ["-P", "-c"], []):
            copy("-r", "-P", source + "/", to)
            for name in names:
                change(os.path.join(to, name))
            before = changed_times(to)
            compared = copy("-r", "-k", *options, source + "/", to)
            wanted = [] if only_everything and not options else words
            if options or not only_everything:
                lines = {name: [line for line in compared.err.splitlines() if ("%s: " % (name or to)) in line] for name in names}
                t.ok(compared.status == 7 and all(len(found) == 1 and all(word in found[0] for word in wanted) for found in lines.values())
                     and compared.err.count("\n") == len(names), "-k %s names what differs in one line: %s" % (" ".join(options), what),
                     compared)
            t.equal(changed_times(to), before, "-k %s changes nothing: %s" % (" ".join(options), what))
            copied = copy("-r", *options, source + "/", to)
            again = copy("-r", "-k", *options, source + "/", to)
            t.equal((copied.status, again.status, again.err), (0, 0, ""), "a copy %s makes it equal: %s" % (" ".join(options), what),
                    "%s %s" % (copied, again))
            t.ok(compared.status == 7 or changed_times(to) == before, "-k %s: 0 means that a copy changes nothing: %s" % (options, what))
            before = changed_times(to)
            copy("-r", *options, source + "/", to)
            t.equal(changed_times(to), before, "and a second copy %s changes nothing: %s" % (" ".join(options), what))
    copy("-r", "-P", source + "/", to)
    os.utime(to + "/dir", ns=(5, 5))
    with open(to + "/dir/file", "r+b") as file:
        file.write(b"D")
    os.chmod(to + "/dir/file", 0o705)
    run = copy("-r", "-k", "-P", source + "/", to)
    t.ok(run.status == 7 and re.search("dir/file: bytes 0-15 differ .*; permissions are 0705, not .*; modification time is ", run.err) and
         "different or failed: 2" in run.out, "contents and attributes are named in one line", run)
    return None


def test_as_user():
    """A user may not read some of its own files: they are compared and corrected all the same."""
    other = s.for_nobody()
    if not other:
        return t.skip("files that their owner may not read", "needs another user")
    prefix, binary = other
    top = t.path("of another user")
    os.mkdir(top)
    os.chown(top, 65534, 65534)

    def run(words):
        return t.command([*prefix, "sh", "-c", "cd '%s' && %s" % (top, words.replace("COPY", "'%s' copy -r -P" % binary))], cwd="/")
    made = run("mkdir s && echo 1 >s/1 && COPY s d && chmod 0200 d/1 && COPY s/ d")
    t.equal((made.status, made.err, facts(top + "/d/1")), (0, "", facts(top + "/s/1")), "a file that its owner may not read", made)
    os.setxattr(top + "/s/1", ACL, acl(77))
    os.chmod(top + "/s/1", 0)
    made = run("COPY s/ d")
    t.equal((made.status, made.err, facts(top + "/d/1")), (0, "", facts(top + "/s/1")), "its ACL can be read", made)
    os.setxattr(top + "/s/1", "user.text", b"value")
    for words in ("COPY s/ d", "COPY -k s/ d"):
        made = run(words)
        t.ok(made.status == FAILED and "s/1: its attributes cannot be read: Permission denied" in made.err,
             "its other attributes cannot, which is a failure: " + words, made)
    return None


if not ROOT:
    t.skip_all("owners can be given by root only")
t.run_all()
