#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What a copy does in each direction: to another host, from it, between two others and within this one. Both sides of all of them
are processes of one host here, as with ssh to localhost.
"""
import os
import re

import xddssh as s
import xddtest as t
from xddssh import fresh, read, write

t.may_warn("^xdd: warning: copy: .* is the same file as its source, and was skipped$",
           "^xdd: warning: copy -[a-z]+: has no meaning within this host")
FAILED = 114
FAKE = s.Fake()


def here(path):
    return path


def host_a(path):
    return "hosta:" + path


def host_b(path):
    return "hostb:" + path


DIRECTIONS = {"push": (here, host_b), "pull": (host_a, here), "relay": (host_a, host_b), "local": (here, here)}


def each():
    """The name of each direction, and a function that copies: its last two words are paths."""
    for name, (of_source, of_destination) in DIRECTIONS.items():
        def copy(*words, source=of_source, destination=of_destination, **kwargs):
            *options, a, b = words
            remote = [] if source is destination is here else ["-S", FAKE.ssh]
            return s.xddcp(*remote, *options, source(a), destination(b), cwd=t.tmp(), **kwargs)

        yield name, copy


# A file that is its own destination

def test_itself():
    for name, copy in each():
        top = fresh("itself")
        a, b = write(os.path.join(top, "a"), b"0123456789"), os.path.join(top, "b")
        os.link(a, b)
        os.symlink(top, os.path.join(top, "way"))
        for words in ((), ("-i",), ("-i", "-size", "3"), ("-i", "-c"), ("-n",)):
            r = copy(*words, a, b)
            t.ok(r.status == FAILED and len(r.error_lines()) == 1 and "b: is the same file as the source %s;" % a in r.err and
                 read(a) == b"0123456789" and os.stat(a).st_ino == os.stat(b).st_ino,
                 "%s: another name of the source is refused %s" % (name, " ".join(words)), r)
        r = copy("-i", a, os.path.join(top, "way", "a"))
        t.ok(r.status == FAILED and "is the same file as the source" in r.err and read(a) == b"0123456789",
             "%s: its own name by way of a link" % name, r)
        r = copy("-k", a, b)
        t.ok(r.status == 0 and not r.err, "%s: -k compares it" % name, r)


def test_itself_in_trees():
    for name, copy in each():
        source, destination = fresh("tree"), fresh("other")
        for file in ("one", "two"):
            write(os.path.join(source, file), b"as it is")
        write(os.path.join(source, "three"), b"new")
        os.makedirs(os.path.join(source, "sub", "sub"))
        os.makedirs(os.path.join(destination, "sub", "sub"))
        write(os.path.join(source, "sub", "sub", "deep"), b"as it is")
        for file in ("one", os.path.join("sub", "sub", "deep")):
            os.link(os.path.join(source, file), os.path.join(destination, file))
        write(os.path.join(source, "two"), b"of the source")
        r = copy("-r", "-i", source + "/", destination)
        lines = [line for line in r.error_lines() if "is the same file as its source, and was skipped" in line]
        t.ok(r.status == 0 and sorted(re.findall(r"([a-z/]+): is the same", "\n".join(lines))) == ["one", "sub/sub/deep"] and
             read(os.path.join(source, "one")) == b"as it is" and read(os.path.join(destination, "three")) == b"new" and
             read(os.path.join(destination, "two")) == b"of the source", "%s: those in a tree are skipped with a line" % name, r)
        names = write(t.path("names"), os.fsencode("%s/one\n%s/three\n" % (source, source)))
        r = copy("-F", "-i", names, source)
        t.ok(r.status == 0 and r.err.count("is the same file as its source, and was skipped") == 2 and
             read(os.path.join(source, "three")) == b"new", "%s: those of a list too" % name, r)


# Names in the list of -n and in the log

def in_log(path):
    """The lines of entries, without their times and bytes."""
    return sorted(line.split(" ", 2)[2].split(", ")[0] + line.split("bytes")[1] for line in read(path).decode().splitlines()
                  if " bytes: " in line)


def test_names():
    top = fresh("source")
    os.makedirs(os.path.join(top, "d", "e"))
    write(os.path.join(top, "a"), b"a")
    write(os.path.join(top, "d", "e", "b"), b"b")
    os.symlink("a", os.path.join(top, "l"))
    below = ["a", "d/", "d/e/", "d/e/b", "l"]
    cases = (("a tree into a directory", ["-r", top], None, ["source/"] + ["source/" + name for name in below]),
             ("a tree as a new name", ["-r", top], "new", ["source/"] + ["source/" + name for name in below]),
             ("what is in a tree", ["-r", top + "/"], None, below),
             ("what is in a tree, for a new name", ["-r", top + "/"], "new", ["./"] + below),
             ("a file with a new name", [os.path.join(top, "a")], "new", ["a"]))
    for title, words, new, names in cases:
        wanted = sorted("copy " + name for name in names)
        logs = set()
        for name, copy in each():
            there = os.path.join(fresh("there"), *[new] * bool(new))
            r = copy("-n", *words, there)
            t.equal((r.status, sorted(line for line in r.out.splitlines() if line.startswith("copy "))), (0, wanted),
                    "%s: -n lists %s" % (name, title), r)
            log = t.path("log")
            if os.path.exists(log):
                os.unlink(log)
            r = copy("-v", "-O", log, *words, there)
            t.ok(r.status == 0, "%s: -v" % name, r)
            logs.add(tuple(in_log(log)))
        t.ok(len(logs) == 1 and len(max(logs)) >= len(names), "the log of -v has the same for %s in all directions" % title, logs)


# Refusals

def test_directory():
    top, there = fresh("source"), fresh("there")
    for words, text in (([], "is a directory; say -r to copy it"), (["-n"], "is a directory; say -r to copy it"),
                        (["-R"], "is a directory; say -r to copy it (-R and -a resume an interrupted copy; for -a of rsync say "
                                 "-r -P)"),
                        (["-F"], "is a directory; expected a list of names")):
        for name, copy in each():
            r = copy(*words, top, there)
            host = "hosta: " if name in ("pull", "relay") else ""
            t.equal((r.status, r.err, os.listdir(there)), (101, "xdd: copy: %s%s: %s\n" % (host, top, text), []),
                    "%s: a directory without -r %s" % (name, " ".join(words)), r)


def test_options_of_ssh():
    a = write(os.path.join(fresh("source"), "a"), b"a")
    for words in (["-S", "false"], ["-b", "/nonexistent"], ["-Y"]):
        name = {"-S": "-ssh", "-b": "-remotexdd", "-Y": "-tty"}[words[0]]
        r = s.xddcp(*words, a, t.path("copied"))
        t.ok(r.status == 0 and len(r.error_lines()) == 1 and "copy %s: has no meaning within this host" % name in r.err and
             read(t.path("copied")) == b"a", "%s within this host is named and ignored" % words[0], r)


def test_remote_xdd():
    a, there = write(os.path.join(fresh("source"), "a"), b"a"), t.path("copied")
    empty, named_xdd = fresh("empty"), fresh("xdd")
    if os.path.exists(there):
        os.unlink(there)
    for words, text in (("/nonexistent", 'cannot start "/nonexistent/xdd" there'),
                        (empty, 'cannot start "%s/xdd" there' % empty),
                        (named_xdd, 'cannot execute "%s" there; expected xdd, or its directory with a slash' % named_xdd)):
        for name, copy in each():
            if name == "local":
                continue
            r = copy("-b", words, a, there)
            t.ok(r.status == 103 and text in r.err and not os.path.exists(there),
                 "%s: -b %s is refused before anything is copied" % (name, os.path.basename(words)), r)


t.run_all()
