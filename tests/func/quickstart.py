#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
contrib/quickstart in a copy of the tree that has a binary already, with commands of the test's own for those that install
and build: which packages it asks for, and what it runs.
"""
import os
import re
import shutil

import xddtest as t

SOURCE = os.path.join(os.environ["TOP_SRCDIR"], "contrib", "quickstart")
TOOLS = ["awk", "cat", "dirname", "env", "id", "mktemp", "nproc", "rm", "sh", "stat"]
BUILD = ["cc", "make", "autoreconf", "automake", "pkg-config"]


def tree():
    """A tree that is configured and built, by its looks."""
    top = t.path("tree")
    os.makedirs(top + "/contrib")
    os.makedirs(top + "/build")
    shutil.copy(SOURCE, top + "/contrib/quickstart")
    for name, mode in (("configure", 0o755), ("Makefile.in", 0o644), ("build/Makefile", 0o644)):
        with open(os.path.join(top, name), "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n")
        os.chmod(os.path.join(top, name), mode)
    os.symlink(os.path.abspath(t.XDD), top + "/build/xdd")
    return top


_paths = 0


def path_with(*names, uid=0, installed=()):
    """A directory for PATH with the usual tools, and with these commands, which record their words."""
    global _paths
    _paths += 1
    directory = t.path("bin%d" % _paths)
    os.mkdir(directory)
    for tool in TOOLS:
        os.symlink(shutil.which(tool), os.path.join(directory, tool))
    scripts = {name: 'echo "%s $*" >>"%s/calls"\n' % (name, directory) for name in names}
    scripts["id"] = "echo %d\n" % uid
    if "rpm" in names:
        scripts["rpm"] = 'for last; do :; done\ncase " %s " in *" $last "*) exit 0 ;; esac\nexit 1\n' % " ".join(installed)
    if "sudo" in names:
        scripts["sudo"] = 'echo "sudo $*" >>"%s/calls"\n"$@"\n' % directory
    for name, text in scripts.items():
        file = os.path.join(directory, name)
        if os.path.lexists(file):
            os.unlink(file)
        with open(file, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n" + text)
        os.chmod(file, 0o755)
    return directory


def quickstart(top, directory, *words, **env):
    return t.command([top + "/contrib/quickstart", *words], env={"PATH": directory, **env})


def calls(directory):
    file = os.path.join(directory, "calls")
    if not os.path.exists(file):
        return []
    with open(file, encoding="ascii") as f:
        return f.read().splitlines()


def test_table(top):
    run = quickstart(top, path_with(), "packages")
    rows = [line.split(None, 4) for line in run.out.splitlines()]
    t.ok(rows and all(len(row) == 5 for row in rows), "each line has packages of Debian, Fedora and SUSE, and a name", run)
    t.equal(sorted({row[0] for row in rows}), ["build", "ci", "test"], "the uses are build, test and ci")
    t.equal(len({row[1] for row in rows}), len(rows), "no package of Debian is there twice")
    return rows


def packages(rows, column):
    """Without "-", which stands for none."""
    return sorted({name for row in rows for name in row[column].split(",")} - {"-"})


def test_manager(top, rows, manager, column, words):
    directory = path_with(manager, "rpm")
    run = quickstart(top, directory, "deps")
    found = calls(directory)
    t.equal((run.status, len(found)), (0, 1), "%s is called once" % manager, run)
    begin = "%s %s " % (manager, words)
    t.ok(found and found[0].startswith(begin), "with " + words, "\n".join(found))
    t.equal(sorted(found[0][len(begin):].split()) if found else [], packages(rows, column), "for all packages of the table")
    t.ok(all(name in run.out for name in packages(rows, column)), "which are named before", run)
    directory = path_with(manager, "rpm", installed=packages(rows, column))
    run = quickstart(top, directory, "deps")
    t.equal((run.status, calls(directory)), (0, []), "nothing is installed when all are there", run)
    directory = path_with(manager, "rpm", "sudo", uid=1000, installed=packages(rows, column)[1:])
    quickstart(top, directory, "deps")
    t.equal(calls(directory)[:1], ["sudo %s %s %s" % (manager, words, packages(rows, column)[0])],
            "sudo is used by others than root, and only what is missing is installed")
    directory = path_with(manager, "rpm", uid=1000)
    run = quickstart(top, directory, "deps")
    t.ok(run.status == 1 and "as root, run: %s install " % manager in run.err, "without sudo it says what to run", run)


def test_elsewhere(top, rows):
    run = quickstart(top, path_with(), "deps")
    t.ok(run.status == 1 and all("  " + " ".join(row[4].split()) in run.out for row in rows),
         "without a known package manager it lists what is needed", run)
    t.ok(all(name in run.err for name in BUILD), "and ends if the tools are not there", run)


def test_run(top):
    directory = path_with("dnf", "rpm", *BUILD)
    run = quickstart(top, directory, "run", TMPDIR=t.tmp())
    t.equal(run.status, 0, "quickstart run ends well", run)
    t.ok(any(call.startswith("make -C %s/build" % top) for call in calls(directory)), "it builds in build/", run)
    t.equal(len(re.findall(r"^(?:sequential|random) .*/s .*s$", run.out, re.M)), 3, "it shows the check of a scratch file", run)
    t.ok("268 MB (256 MiB)" in run.out and "zeros only" not in run.out, "of 256 MiB that hold data", run)
    t.equal([name for name in os.listdir(t.tmp()) if name.startswith("xdd-quickstart")], [], "the file is removed")
    t.ok("-target" not in run.out.split("random 4 KiB, depth 32")[-1], "no command names it", run)


top = tree()
rows = test_table(top)
test_manager(top, rows, "dnf", 2, "-q -y install")
test_manager(top, rows, "zypper", 3, "--non-interactive install --no-recommends")
test_elsewhere(top, rows)
test_run(top)
t.done()
