#!/usr/bin/env python3
"""
Attributes of what xddcp copies: each one that cannot be set has a line, the others are set all the same, and the status says so.
Status 0 means that both trees are equal.
"""
import os
import re
import shutil
import stat
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddssh
import xddsys as s
import xddtest as t

ROOT = os.geteuid() == 0
FAILED = 114
ACL = "system.posix_acl_access"
OLD = 10 ** 18
ENOSPC, EPERM = 28, 1


def fresh(name):
    path = t.path(name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def copy(*args, **kwargs):
    return t.xdd("copy", *args, **kwargs)


def acl(uid):
    """An access list in which this user may read."""
    none = (1 << 32) - 1
    entries = [(1, 6, none), (2, 4, uid), (4, 4, none), (16, 4, none), (32, 0, none)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def make_tree(top):
    """Two files, a directory and a link with attributes of all kinds. Raises OSError where they cannot be had."""
    os.makedirs(top + "/dir")
    for name in ("dir/file", "program"):
        xddssh.write("%s/%s" % (top, name), b"data of %s" % name.encode())
    os.symlink("program", top + "/link")
    for name in ("dir", "dir/file", "program", "link"):
        os.chown("%s/%s" % (top, name), 3, 4, follow_symlinks=False)
    for name in ("dir", "dir/file", "program"):
        os.setxattr("%s/%s" % (top, name), "user.text", b"value")
        os.setxattr("%s/%s" % (top, name), "user.more", b"another")
        os.setxattr("%s/%s" % (top, name), ACL, acl(77))
    os.setxattr(top + "/dir", "system.posix_acl_default", acl(78))
    os.setxattr(top + "/program", "security.capability", struct.pack("<IIIII", 0x02000001, 0x2000, 0, 0, 0))
    for name in ("dir/file", "link", "program", "dir", ""):
        os.utime("%s/%s" % (top, name), ns=(OLD, OLD + len(name)), follow_symlinks=False)


def facts(path):
    status = os.lstat(path)
    found = {"permissions": "%04o" % stat.S_IMODE(status.st_mode), "times": status.st_mtime_ns, "owner": (status.st_uid, status.st_gid)}
    for name in os.listxattr(path, follow_symlinks=False):
        kind = "ACL" if name.startswith("system.") else "extended attributes"
        found.setdefault(kind, {})[name] = os.getxattr(path, name, follow_symlinks=False)
    if stat.S_ISREG(status.st_mode):
        found["contents"] = xddssh.read(path)
    return found


def wrong_kinds(source, other):
    """The kinds of facts in which two trees differ."""
    wrong = set()
    for where, dirs, files in os.walk(source):
        for path in [where] + [os.path.join(where, name) for name in dirs + files]:
            a, b = facts(path), facts(other + path[len(source):])
            wrong |= {kind for kind in a.keys() | b.keys() if a.get(kind) != b.get(kind)}
    return wrong


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
    return None


if not ROOT:
    t.skip_all("owners can be given by root only")
t.run(test_each_failure, test_existing, test_as_user)
t.done()
