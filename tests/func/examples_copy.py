#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Every command line of xddcp in the documents runs. A script stands for ssh: its hosts are directories here. Absolute names are
below those directories, and amounts are smaller.
"""
import os
import re

import xddexamples as e
import xddports
import xddssh
import xddtest as t

HOSTS = ("alpha", "beta", "storage")
DOCUMENTS = (("doc/xddcp.md", 14), ("doc/xddcp.1", 35), ("doc/user-guide.md", 1), ("README", 1))
DEVICES = ("/dev/zero", "/dev/null")
XDD_DIRECTORY = os.path.dirname(os.path.abspath(t.XDD))


def blocks(name):
    """(line, text) of each block with a command of xddcp."""
    with open(os.path.join(os.environ["TOP_SRCDIR"], name), encoding="utf-8") as f:
        lines = f.read().splitlines()
    for line, _, text, _ in e.reader_of(name)(lines):
        if any(re.match(r"(.* \| )?xddcp ", one) for one in text):
            yield line, text


def here(command):
    """The command with the names of this test."""
    def remote(found):
        return found.group(0) if found.group(2) in DEVICES else "%s:%s" % (found.group(1), t.path(found.group(1)) + found.group(2))

    def local(found):
        return found.group(0) if found.group(0) in DEVICES else t.path("local") + found.group(0)

    command = command.replace("/opt/xdd/bin", XDD_DIRECTORY).replace("10G", "10M").replace("'ssh ", "'%s " % SSH.ssh)
    command = re.sub(r"\b(%s):(/[\w./-]*)" % "|".join(HOSTS), remote, command)
    command = re.sub(r"(?<=\s)/(?:home|data|dev)\b[\w./-]*", local, command)
    return re.sub(r"\b50000\b", lambda _: str(xddports.free_ports(1)), command)


def make_all():
    for host in HOSTS:
        for directory in ("vm", "data/run7/sub", "home", "dev", "results"):
            os.makedirs(os.path.join(t.path(host), directory))
        for file in ("vm/disk.img", "data/run7/sub/one", "data/run7/two", "dev/sdb", "results/three"):
            t.make_file(os.path.join(host, file), 3 << 20)
    for directory in ("cwd/results/sub", "local/home/ann"):
        os.makedirs(t.path(directory))
    for file in ("disk.img", "results/one", "results/sub/two", "secret.tar", "new.dat", "key"):
        t.make_file("cwd/" + file, 2 << 20)
    t.make_file("local/home/ann/letter", 5000)
    with open(t.path("cwd/mark"), "w", encoding="ascii"):
        pass
    os.utime(t.path("cwd/mark"), (1, 1))
    with open(t.path("cwd/list"), "w", encoding="ascii") as f:
        f.write("disk.img\nresults/one\n")


def check(name, least):
    n = 0
    for line, text in blocks(name):
        for one in text:
            n += 1
            run = t.command(["sh", "-c", here(one)], cwd=t.path("cwd"), env={"PATH": PATH, "XDDCP_SSH": SSH.ssh})
            t.ok(run.status == 0 and not run.err, "%s:%d: %s" % (name, line, one), run)
    t.ok(n >= least, "%s has its examples" % name, n)


# The host is the word before the command; its home directory is the directory of its name.
SSH = xddssh.Fake(before='for word; do host=$command; command=$word; done; cd "%s/${host##*@}" || exit 255' % t.tmp())
PATH = ":".join((os.path.dirname(xddssh.XDDCP), XDD_DIRECTORY, os.environ.get("PATH", "/usr/bin:/bin")))
make_all()
for document, count in DOCUMENTS:
    check(document, count)
t.done()
