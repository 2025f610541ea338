# SPDX-License-Identifier: GPL-2.0-or-later
"""
Trees with attributes of all kinds, for tests of copies: what they have, and in what two of them differ.

    make_tree(t.path("source"))             # as root
    wrong_kinds(t.path("source"), t.path("copy"))
"""
import os
import stat
import struct

import xddssh

ACL = "system.posix_acl_access"
OLD = 10 ** 18


def acl(uid):
    """An access list in which this user may read."""
    none = (1 << 32) - 1
    entries = [(1, 6, none), (2, 4, uid), (4, 4, none), (16, 6, none), (32, 0, none)]
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
