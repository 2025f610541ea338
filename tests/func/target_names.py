#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Words that stand for targets: several names, patterns, directories and lists, with a count and without.
"""
import os
import re
import socket

import messages as m
import xddtest as t

MOST = 8192


def tree():
    """A directory with files, an empty one, a directory, a link and a socket; and lists."""
    where = t.path("tree")
    if os.path.isdir(where):
        return where
    os.makedirs(where + "/d/sub")
    for name in ("d/f10", "d/f2", "d/f1", "d/sub/deep", "8", "odd[1]", "a b", "@list", "plain"):
        with open(os.path.join(where, name), "w", encoding="utf-8") as f:
            f.write("x" * 4096)
    with open(where + "/d/empty", "w", encoding="utf-8"):
        pass
    os.symlink("f1", where + "/d/link")
    with socket.socket(socket.AF_UNIX) as s:
        here = os.getcwd()
        os.chdir(where)      # the name of a socket is short
        s.bind("d/socket")
        os.chdir(here)
    with open(where + "/names", "w", encoding="utf-8") as f:
        f.write("# the disks\n\n  d/f2 \na b\r\n\td/f1\n#d/f10\nplain")
    return where


def xdd(words, *more, **kwargs):
    return t.xdd("-op", "read", "-bs", 1, "-reqsize", 1, "-numreqs", 1, *words.split(), *more, cwd=tree(), **kwargs)


def named(run):
    return re.findall(r"^Target\[\d+\] Q\[1\], (.*), \w+, 1 op of 1 bytes$", run.out, re.M)


def targets(wanted, words, *more, **kwargs):
    run = xdd(words, *more, **kwargs)
    t.equal((run.status, named(run)), (0, wanted), " ".join([words, *more]), run)


def refused(pattern, words, *more, status=2):
    run = xdd(words, *more)
    t.ok(run.status == status and len(run.error_lines()) == 1 and re.search(pattern, run.err),
         "refused: " + " ".join([words, *more]), run)


def test_several():
    targets(["plain", "d/f1"], "-targets plain d/f1")
    targets(["plain", "d/f1"], "-target plain d/f1")
    targets(["plain", "d/f1", "d/f2"], "-targets plain -target d/f1 d/f2 -queuedepth 1")
    targets(["plain", "plain"], "-targets plain plain")
    targets(["null", "null"], "-targets null null")
    targets(["plain", "8"], "-targets plain 8")
    targets(["./8", "plain"], "-targets ./8 plain")
    targets(["8"], "-target 8")
    refused("^xdd: -quedepth: is not an option; did you mean -queuedepth", "-targets plain -quedepth 4", status=3)
    with open(tree() + "/a.cfg", "w", encoding="utf-8") as f:
        f.write("-targets plain # one\n d/f1\n d/f2\n-queuedepth 1\n")
    targets(["plain", "d/f1", "d/f2"], "-setup a.cfg")


def test_commas():
    """Commas separate names where there is no file of the whole name."""
    for name in ("u,v", "u", "p,q"):
        with open(os.path.join(tree(), name), "w", encoding="utf-8") as f:
            f.write("x" * 4096)
    targets(["plain", "d/f1"], "-target plain,d/f1")
    targets(["plain", "d/f1", "d/f2", "8"], "-targets plain,d/f1 d/f2,8")
    targets(["d/f1", "d/f10", "d/f2", "plain"], "-targets d,plain")
    targets(["d/f1", "d/f2"], "-targetdir d -target f1,f2")
    targets(["p,q"], "-target p,q")
    targets(["p,q"], "-targets 1 p,q")
    refused("^xdd: target 0, plain,: No such file", "-target plain,", status=4)
    refused("^xdd: target 0, plain,,8: No such file", "-target plain,,8", status=4)
    refused("^xdd: target 0, plain,8: No such file", "-targets 1 plain,8", status=4)
    refused("^xdd: target 1, absent: No such file", "-target plain,absent", status=4)
    run = xdd("-target plain,8 -dryrun")
    t.ok("plain,8: names 2 targets; no file has this name" in run.out, "-dryrun says that it is a list", run)
    run = t.xdd("-op", "write", "-target", "new1,new2", "-bs", 1, "-reqsize", 10, "-numreqs", 1, cwd=tree())
    t.equal((run.status, sorted(n for n in os.listdir(tree()) if n.startswith("new"))), (0, ["new1", "new2"]),
            "files that do not exist yet", run)
    run = xdd("-target u,v")
    t.equal((run.status, named(run), run.err), (0, ["u,v"], ""), "a file of that name", run)
    with open(os.path.join(tree(), "v"), "w", encoding="utf-8") as f:
        f.write("y" * 4096)
    t.may_warn(m.COMMAS_IN_NAME)
    run = xdd("-target u,v")
    t.ok(run.status == 0 and named(run) == ["u,v"] and len(run.err.splitlines()) == 1 and
         run.err.startswith("xdd: warning: -target u,v: " + m.COMMAS_IN_NAME), "a file of that name, and of its parts", run)


def test_count():
    targets(["plain", "d/f1"], "-targets 2 plain d/f1")
    targets(["plain"] * 3, "-targets -3 plain")
    targets(["plain", "8"], "-targets 2 plain 8")
    targets(["odd[1]"], "-targets 1 odd[1]")
    targets(["@list"], "-targets 1 @list")
    refused("^xdd: target 0, d: is a directory", "-targets 1 d", status=4)
    refused(r"^xdd: target 0, \*: ", "-targets 1 *", status=4)
    refused(m.line("-targets 8", m.names_wanted(8, 0)), "-targets 8")
    for word in ("2k", "1.5", "+2", ".5"):
        refused(r"^xdd: -targets %s: expected names, or their number first, .*; \./%s is a file" % (re.escape(word), re.escape(word)),
                "-targets %s plain" % word)


def test_numbered():
    """One name with a number in it stands for as many as the count says."""
    for name in ("n00", "n01", "n02", "n3%d", "n4%d", "n40", "n5%", "n50", "n51", "n%2d"):
        with open(os.path.join(tree(), name), "w", encoding="utf-8") as f:
            f.write("x" * 4096)
    targets(["n00", "n01", "n02"], "-targets 3 n%02d")
    targets(["n00"], "-targets 1 n%02d")
    targets(["n00", "n01", "plain", "n00"], "-targets 2 n0%d -targets 1 plain -targets 1 n%02d")
    targets(["d/../n00", "d/../n01"], "-targetdir d -targets 2 ../n%02d")
    targets(["n5%", "n5%"], "-targets 2 n5% n5%")
    targets(["n3%d", "n4%d"], "-targets 2 n3%d n4%d")
    targets(["n3%d", "n3%d"], "-targets -2 n3%d")
    targets(["n3%d", "n4%d"], "-targets n3%d n4%d")
    targets(["n3%d"], "-targets 1 n3%d")            # there is a file of that name
    targets(["n5%"], "-targets 1 n5%")
    targets(["n%2d"], "-targets 1 n%2d")
    run = xdd("-targets 3 n%02d -op target 1 noop")
    t.equal((run.status, re.findall(r"^Target\[(\d)\] Q\[1\], (\S+), (\w+),", run.out, re.M)),
            (0, [("0", "n00", "read"), ("1", "n01", "noop"), ("2", "n02", "read")]), "-op target 1: by number", run)
    run = xdd("-targets 3 n%02d -dryrun")
    t.ok("n%02d: 3 names, n00 to n02.\n" in run.out, "-dryrun says what the name stands for", run)
    run = xdd("-targets 3 n%02d -targets d/f* -targets 2 n%02d -dryrun")
    t.ok(run.out.endswith("\nn%02d: 3 names, n00 to n02.\nd/f*: matches 3 files or devices.\nn%02d: 2 names, n00 to n01.\n"
                          "Dry run: nothing was opened, created or changed.\n"), "... of each name", run)
    run = xdd("-targets 8192 null%04d -dryrun")
    t.ok(run.status == 4 and "target 0, null0000: " in run.err, "8192 names", run)
    refused("^xdd: -targets 8192: is too many", "-targets 1 plain -targets 8192 n%02d")
    for name in ("n%2d", "n%0d", "n%010d", "n%s", "n%%d", "n"):
        refused(m.line("-targets 3", m.names_wanted(3, 1)), "-targets 3 " + name)
    refused(m.line("-targets %d%", '"%" ' + m.NO_NUMBER), "-targets 2 %d%")
    run = xdd("-targets 2", "x" * 4094 + "%02d")
    t.ok(run.status == 2 and re.search("^xdd: -targets: " + m.TARGET_NAME_LONG, run.err), "names too long", run)
    run = t.xdd("-op", "write", "-targets", 3, "w%%%d", "-bs", 1, "-reqsize", 10, "-numreqs", 1, cwd=tree())
    t.equal((run.status, sorted(n for n in os.listdir(tree()) if n.startswith("w"))), (0, ["w%0", "w%1", "w%2"]),
            "%% is a percent sign", run)


def test_patterns():
    targets(["d/f1", "d/f10", "d/f2"], "-targets d/f*")
    targets(["d/f1", "d/f2"], "-target d/f?")
    targets(["plain", "d/f1", "d/f2"], "-targets plain d/f[12]")
    targets(["odd[1]"], "-targets odd[1]")
    targets(["odd[1]"], "-targets odd*")
    targets(["d/empty", "d/f1", "d/f10", "d/f2", "d/link"], "-op target 0 noop -targets d/*")
    refused("^xdd: -targets x\\*: matches no file and no device; -targets 1 ", "-targets x*")
    refused("^xdd: -targets d/s\\*: matches no file and no device", "-targets d/s*")
    targets(["d/f1", "d/f10", "d/f2"], "-targets f* -targetdir d")
    targets(["d/f1", "d/f2"], "-targetdir d/ -targets f[12]")


def test_directory():
    targets(["d/f1", "d/f10", "d/f2"], "-targets d")
    targets(["d/f1", "d/f10", "d/f2"], "-target d/")
    run = xdd("-dryrun -targets d")
    t.ok(run.status == 0 and "d: is a directory; targets are its 3 files with data, not its 1 empty files, directories and links.\n" in run.out,
         "-dryrun says what the directory stands for", run)
    run = xdd("-dryrun -targets d/f*")
    t.ok("d/f*: matches 3 files or devices.\n" in run.out, "-dryrun says what the pattern stands for", run)
    os.makedirs(tree() + "/nothing", exist_ok=True)
    refused("^xdd: -targets nothing: is a directory without files that have data", "-targets nothing")
    for words in ("-op write", "-rwratio 50"):
        run = t.xdd(*words.split(), "-targets", "d", "-bs", 1, "-reqsize", 1, "-numreqs", 1, cwd=tree())
        t.ok(run.status == 2 and re.search(r"^xdd: target 0, d/f1: is one of the files in directory d, which are only read; .* 'd/\*'$",
                                           run.err, re.M), words + " in a directory that is named is refused", run)
    run = t.xdd(*"-op write -targets d/ -bs 1 -reqsize 1 -numreqs 1".split(), cwd=tree())
    t.equal((run.status, run.err), (2, "xdd: target 0, d/f1: is one of the files in directory d/, which are only read; name the files "
                                    "to write to, as in 'd/*'\n"), "with one slash", run)
    with open(tree() + "/d/f1", encoding="utf-8") as f:
        t.equal(f.read(), "x" * 4096, "and changes nothing")


def test_list():
    names = ["d/f2", "a b", "d/f1", "plain"]
    targets(names, "-targets @names")
    targets(["8"] + names + ["null"], "-target 8 @names null")
    run = t.command(["sh", "-c", '"$@" < names', "sh"] + t.xdd_words("-op", "read", "-bs", 1, "-reqsize", 1, "-numreqs", 1, "-targets", "@-"),
                    cwd=tree())
    t.equal((run.status, named(run)), (0, names), "-targets @-: standard input", run)
    targets(["./@list"], "-targets ./@list")
    targets(["d/f1"], "-targets 1 d/f1")
    for text, pattern in (("# none\n\n", "names no target"), ("a\0b\n", "is not a list of names: it holds a NUL byte"),
                          ("x" * 5000 + "\n", m.TARGET_NAME_LONG), ("\n".join(["null"] * (MOST + 1)), "is too many: 8192 targets are the most")):
        with open(tree() + "/bad", "w", encoding="utf-8") as f:
            f.write(text)
        refused("^xdd: -targets( @bad)?: .*" + pattern, "-targets @bad")
    refused("^xdd: -targets @missing: cannot be read .*; ./@missing is a target of that name", "-targets @missing")
    refused("^xdd: -targets @: expected the name of a list", "-targets @")
    with open(tree() + "/many", "w", encoding="utf-8") as f:
        f.write("null\n" * 300)
    run = xdd("-targets @many -dryrun")
    t.ok(run.status == 0 and "@many: lists 300 targets.\n" in run.out, "a list of 300 targets", run)


def test_scopes():
    """The numbers of targets follow the order of the names."""
    run = xdd("-targets d/f[12] plain -op target 2 noop")
    t.equal(re.findall(r"^Target\[(\d)\] Q\[1\], (\S+), (\w+),", run.out, re.M),
            [("0", "d/f1", "read"), ("1", "d/f2", "read"), ("2", "plain", "noop")], "-op target 2", run)


t.run_all()
