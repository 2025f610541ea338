#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Copies within a host, without ssh: the other side is a process of this xdd, and data goes through the loopback interface.
"""
import os

import xddsys as s
import xddtest as t


def copy(*args, **kwargs):
    # No address of a session in which the test runs matters.
    env = dict(os.environ, SSH_CONNECTION="192.0.2.1 1 192.0.2.2 2", PATH="/nonexistent")
    return t.command([t.XDD, "copy", *args], env=env, cwd=t.tmp(), **kwargs)


def write(name, data):
    os.makedirs(os.path.dirname(t.path(name)), exist_ok=True)
    with open(t.path(name), "wb") as f:
        f.write(data)


def read(name):
    with open(t.path(name), "rb") as f:
        return f.read()


def test_trees():
    write("tree/a", b"1")
    write("tree/d/large", os.urandom(3 << 20))
    os.symlink("a", t.path("tree/link"))
    r = copy("-r", "tree", "new")
    t.ok(r.status == 0 and read("new/d/large") == read("tree/d/large") and os.readlink(t.path("new/link")) == "a",
         "a tree within this host", r)
    r = copy("-r", "tree/", "new")
    t.ok(r.status == 0 and "skipped: 2 files" in r.out, "again: all is there", r)
    r = copy("-r", "tree", "tree")
    t.ok(r.status == 0 and sorted(os.listdir(t.path("tree/tree"))) == ["a", "d", "link"], "a tree into itself ends", r)


def test_names():
    write("x:y", b"a colon")
    r = copy("./x:y", "./z:z")
    t.ok(r.status == 0 and read("z:z") == b"a colon", "names with colons", r)
    r = copy("missing", "other")
    t.equal((r.status, r.err), (106, "xdd: copy: missing: No such file or directory\n"), "a source that is not there", r)
    r = copy("-e", "./x:y", "encrypted")
    t.ok(r.status == 0 and read("encrypted") == b"a colon", "encrypted", r)


def test_without_proc():
    """As in a chroot: the other side is started by the path of this one."""
    hide = s.without_proc()
    if hide is None:
        return t.skip("without /proc", s.sys_why())
    write("alone", b"no /proc")
    r = t.command(hide + [t.XDD, "copy", "alone", "alone.new"], cwd=t.tmp())
    return t.ok(r.status == 0 and read("alone.new") == b"no /proc", "without /proc", r)


ENDED = """
#include <signal.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[2], "-server") == 0) {
		kill(getpid(), SIGTERM);
		_exit(9);
	}
}
"""


def test_ended_at_once():
    """The other process gets SIGTERM, as the whole group does, before it can say a word: the copy is canceled."""
    env = s.preload("ended", ENDED)
    if env is None:
        return t.skip("SIGTERM at once", "no C compiler")
    write("early", b"1")
    r = t.command([t.XDD, "copy", "early", "early.new"], env=dict(os.environ, **env), cwd=t.tmp())
    return t.ok(r.status == 5 and "ssh" not in r.err and not os.path.exists(t.path("early.new")), "SIGTERM at once", r)


test_trees()
test_names()
test_ended_at_once()
test_without_proc()
t.done()
