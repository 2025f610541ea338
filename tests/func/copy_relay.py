#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Copies between two other hosts: what the relay passes on is complete, and its report has what both sides say.
"""
import json
import os
import sys

import xddssh as s
import xddtest as t

FAILED = 114


def write(name, data):
    os.makedirs(os.path.dirname(t.path(name)), exist_ok=True)
    with open(t.path(name), "wb") as f:
        f.write(data)


def make_tree():
    for i in range(300):
        write("tree/d%d/f%d" % (i % 7, i), b"%d" % i)
    write("tree/large", os.urandom(5 << 20))
    os.symlink("large", t.path("tree/link"))


def same(a, b):
    return t.command(["diff", "-r", "--no-dereference", t.path(a), t.path(b)]).status == 0


def copy(ssh, *args):
    return s.xddcp("-S", ssh, *args, cwd=t.tmp())


def places(source, destination):
    return "hosta:" + t.path(source), "hostb:" + t.path(destination)


def test_names(fake):
    os.mkdir(t.path("new"))
    r = copy(fake.ssh, "-n", "-r", *places("tree", "new"))
    pull = copy(fake.ssh, "-n", "-r", fake.place(t.path("tree")), t.path("new"))
    lines = sorted(line for line in r.out.splitlines() if line.startswith("copy "))
    t.ok(r.status == 0 and len(lines) >= 302 and not os.listdir(t.path("new")), "-n lists what would be copied", r)
    t.ok(lines == sorted(line for line in pull.out.splitlines() if line.startswith("copy ")), "the same as to this host", pull)
    r = copy(fake.ssh, "-v", "-O", t.path("log"), "-r", *places("tree", "logged"))
    with open(t.path("log"), encoding="utf-8") as f:
        log = f.read()
    t.ok(r.status == 0 and "tree/d3/f3" in log and "tree/large" in log, "-v: the log has each name", r)


def test_failures(fake):
    os.mkfifo(t.path("tree/fifo"))
    os.mkdir(t.path("failing"))
    os.makedirs(t.path("failing/d1/f1"))
    r = copy(fake.ssh, "-r", "hosta:%s/" % t.path("tree"), "hostb:" + t.path("failing"))
    t.equal((r.status, sorted(line.split(": ")[2] for line in r.err.splitlines())),
            (FAILED, ["hosta:" + t.path("tree/fifo"), "hostb:d1/f1"]), "failures of both hosts, with their names", r)
    os.rmdir(t.path("failing/d1/f1"))
    os.unlink(t.path("tree/fifo"))


def test_inside():
    if not s.isolation():
        t.skip("data through the relay", "needs network namespaces")
        return
    ssh = s.Fake(name="isolated", prefix=s.isolation()).ssh
    r = copy(ssh, "-r", *places("tree", "inside"))
    t.ok(r.status == 0 and same("tree", "inside") and "data goes through ssh" in r.err + r.out, "data through the relay", r)
    r = copy(ssh, "-r", "-c", "hosta:%s/" % t.path("tree"), "hostb:" + t.path("inside"))
    t.ok(r.status == 0 and "skipped: 301 files" in r.out, "digests through the relay", r)


# A program that passes on what it reads 0.6 s later: sh -c "$last" | this
DELAY = """import os, queue, threading, time
q = queue.Queue()
def read():
    data = b"x"
    while data:
        data = os.read(0, 65536)
        q.put((time.monotonic() + 0.6, data))
threading.Thread(target=read).start()
while True:
    at, data = q.get()
    time.sleep(max(at - time.monotonic(), 0))
    if not data:
        break
    os.write(1, data)
"""


def test_last_words():
    """
    The destination has ended while counts, failures and FINISH of the source are still on their way. They reach the report,
    and no connection is called lost.
    """
    os.mkfifo(t.path("tree/fifo"))
    os.mkdir(t.path("late"))
    with open(t.path("delay.py"), "w", encoding="utf-8") as f:
        f.write(DELAY)
    ssh = s.Fake(name="late-ssh", before="case \" $* \" in *' hosta '*)\n"
                 "for last; do :; done; PATH=%s:$PATH; export PATH; SSH_CONNECTION='127.0.0.1 50000 127.0.0.1 22'\n"
                 "export SSH_CONNECTION\n"
                 "sh -c \"$last\" | %s %s; exit;; esac" % (os.path.dirname(os.path.abspath(t.XDD)), sys.executable,
                                                         t.path("delay.py"))).ssh
    r = copy(ssh, "-r", "-jsonout", t.path("late.json"), "hosta:%s/" % t.path("tree"), "hostb:" + t.path("late"))
    os.unlink(t.path("tree/fifo"))
    with open(t.path("late.json"), encoding="utf-8") as f:
        document = json.load(f)
    source, destination = document["source_side"], document["destination_side"]
    t.equal((r.status, len(r.err.splitlines()), source["failed"], source["status"], source["files"], destination["files"]),
            (FAILED, 1, 1, FAILED, 301, 301), "the last words of a source whose destination has ended", r)
    t.ok(same("tree", "late"), "all files are there")


make_tree()
fake_ssh = s.Fake()
test_names(fake_ssh)
test_failures(fake_ssh)
test_last_words()
test_inside()
t.done()
