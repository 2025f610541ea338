#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Time stamps of copies (-v, -w): the log, the reports and the dumps of both sides, and xdd tsread of the dumps."""
import csv
import glob
import io
import os
import re
import socket
import time

import xddssh
import xddtest as t

FAKE = xddssh.Fake()
MIB = 1 << 20
STEM = r"xddcp-[\w.-]+-%s-\d{4}-\d\d-\d\d-\d{6}-GMT"


def place(name):
    os.mkdir(t.path(name))
    return t.path(name)


def xddcp(where, *words):
    return xddssh.xddcp("-S", FAKE.ssh, *words, cwd=where)


def found(where, name, ending):
    """The files of a side: exactly one."""
    names = [one for one in os.listdir(where) if re.fullmatch(STEM % name + re.escape(ending), one)]
    t.ok(len(names) == 1, "%s%s: one file" % (name, ending), os.listdir(where))
    return os.path.join(where, names[0]) if names else os.devnull


def rows(text):
    """The detailed report."""
    lines = text.splitlines()
    head = [i for i, line in enumerate(lines) if line.startswith("Target, RWV Op")]
    if not head:
        return []
    table = [line for line in lines[head[0]:] if re.match(r"Target, RWV|\d+, [rwn],", line)]
    return list(csv.DictReader(io.StringIO("\n".join(table)), skipinitialspace=True))


def check_rows(side, got, letter, size, n):
    t.equal(len(got), n, "%s: a row for each message" % side)
    t.ok(all(r["RWV Op"] == letter for r in got), "%s: the direction" % side, got[:1])
    t.equal(sorted({int(r["OP Number"]) for r in got}), list(range(n)), "%s: each has a number of its own" % side)
    t.equal(sum(int(r["Bytes"]) for r in got), size, "%s: all bytes" % side)
    good = [r for r in got if 0 < int(r["StartTS"]) <= int(r["EndTS"]) and 0 < int(r["Net StartTS"]) <= int(r["Net EndTS"])]
    t.equal(len(good), n, "%s: times of storage and network" % side)
    first, then = (("EndTS", "Net StartTS"), ("Net EndTS", "StartTS"))[letter == "w"]
    t.ok(all(int(r[first]) <= int(r[then]) for r in got), "%s: one after the other" % side, got[:1])


def test_dumps():
    """A file of several blocks, with both reports and both dumps."""
    here, there = place("here"), place("there")
    t.make_file("here/data", 10 * MIB + 5)
    run = xddcp(here, "-w", "-t", "3", "data", FAKE.place(there))
    t.ok(run.status == 0, "-w", run)
    found(here, "data", ".log")
    ids, texts = set(), []
    for side, where, name, letter in (("source", here, "data", "r"), ("destination", there, "there", "w")):
        with open(found(where, name, ".%s.csv" % side), encoding="utf-8") as f:
            report = f.read()
        check_rows(side, rows(report), letter, 10 * MIB + 5, 11)
        t.ok("\nxddcp: the %s, on %s\nthe other side: " % (side, os.uname().nodename) in report, "%s: its host" % side, report[:1000])
        dump = found(where, name, ".%s.bin" % side)
        read = t.command([t.XDD, "tsread", dump])
        t.ok(read.status == 0 and not read.err, "%s: the dump is sound" % side, read)
        t.equal(rows(read.out), rows(report), "%s: the dump has the rows of the report" % side)
        with open(dump, "rb") as f:
            ids.update(re.findall(rb"\nid=([0-9a-f]{32})\n", f.read()))
        texts.append(dump)
    t.equal(len(ids), 1, "both dumps have the id of the copy")
    merged = t.command([t.XDD, "tsread", "-csv", *texts])
    t.ok(merged.status == 0 and merged.out.count("\n") == 23, "the dumps of both sides as one table", merged)
    t.equal(sorted(os.listdir(there)), sorted(["data"] + [os.path.basename(p) for p in glob.glob(there + "/xddcp-*")]),
            "nothing else is there")


def test_reports_only():
    """-v: no dump; small files are bundles; a second copy of the same tree has no rows."""
    here, there = place("here2"), place("there2")
    for i in range(300):
        os.makedirs("%s/tree/%d" % (here, i % 7), exist_ok=True)
        with open("%s/tree/%d/%d" % (here, i % 7, i), "wb") as f:
            f.write(b"x" * i)
    run = xddcp(here, "-rv", "tree", FAKE.place(there))
    t.ok(run.status == 0, "-v", run)
    t.ok(not glob.glob(here + "/*.bin") and not glob.glob(there + "/*.bin"), "-v writes no dump")
    with open(found(here, "tree", ".log"), encoding="utf-8") as f:
        t.equal(len(re.findall(r" copied file, \d+ bytes: tree/", f.read())), 300, "the log has all files")
    with open(found(here, "tree", ".source.csv"), encoding="utf-8") as f:
        got = rows(f.read())
    t.ok(0 < len(got) < 60 and all(int(r["Block Location"]) == 0 for r in got), "bundles: few rows", len(got))


def test_pull_and_paths():
    """A pull: the report of the destination is in its directory, the log in the current one."""
    here, there = place("here3"), place("there3")
    other = place("cwd3")
    t.make_file("there3/data", 2 * MIB)
    run = xddcp(other, "-v", FAKE.place(there + "/data"), here + "/")
    t.ok(run.status == 0, "a pull with -v", run)
    found(other, "data", ".log")
    found(here, "here3", ".destination.csv")
    with open(t.path("own.log"), "w", encoding="ascii"):
        pass
    run = xddcp(other, "-v", "-log", t.path("own.log"), FAKE.place(there + "/data"), here + "/again")
    t.ok(run.status == 0 and os.path.getsize(t.path("own.log")), "-log names the log", run)


def test_verify():
    """-k: both sides have rows for what they read, also where they write into one directory."""
    both = place("both")
    t.make_file("both/data", 40 * MIB)
    t.command(["cp", "-p", "both/data", "both/copy"], cwd=t.tmp())
    run = xddcp(both, "-kw", "data", FAKE.place(both + "/copy"))
    t.ok(run.status == 0, "-k with -w", run)
    for side, name in (("source", "data"), ("destination", "copy")):
        with open(found(both, name, ".%s.csv" % side), encoding="utf-8") as f:
            got = rows(f.read())
        t.ok(sum(int(r["Bytes"]) for r in got) == 40 * MIB and {r["RWV Op"] for r in got} == {"r"}, "%s: all bytes were read" % side, got)


def test_one_time():
    """The files of both sides of a copy have one time in their names, although ssh takes more than a second."""
    slow = xddssh.Fake(before="sleep 1.2", name="slow-ssh")
    here, there = place("here7"), place("there7")
    t.make_file("here7/data", 1000)
    for words in (("data", slow.place(there + "/copy")), (slow.place(there + "/copy"), "./")):
        run = slow.copy("-v", *words, cwd=here)
        names = [one for where in (here, there) for one in os.listdir(where) if one.startswith("xddcp-")]
        times = {re.search(r"\d{4}-\d\d-\d\d-\d{6}-GMT", name).group() for name in names}
        t.ok(run.status == 0 and len(names) == 3 and len(times) == 1, "log and time stamps have one time", (run, names))
        for where in (here, there):
            for one in glob.glob(where + "/xddcp-*"):
                os.unlink(one)


def test_own_log():
    """A copy of the current directory leaves its log out: it grows while it would be read."""
    here, there = place("here5"), place("there5")
    t.make_file("here5/data", 100)
    for _ in range(2):
        run = xddcp(here, "-rv", "./", FAKE.place(there))
        t.ok(run.status == 0 and not run.err, "-rv of the current directory", run)
        now = [name for name in os.listdir(there) if name.endswith(".log")]
        time.sleep(1.1)
    t.ok(len(glob.glob(here + "/*.log")) == 2 and len(now) == 1, "the log of an earlier copy is copied, its own is not", now)


def test_links():
    """A source that knows the name of the report puts links there: what these point to is left alone."""
    here, there = place("here6"), place("there6")
    xddssh.write(t.path("outside6"), b"as it was")
    target = t.path("outside6")
    for s in range(60):
        report = time.strftime("xddcp-%s-there6-%%Y-%%m-%%d-%%H%%M%%S-GMT.destination.csv" % socket.gethostname(), time.gmtime(time.time() + s))
        os.symlink(target, os.path.join(here, report))
    run = xddcp(here, "-rv", "-log", t.path("links.log"), "./", FAKE.place(there))
    t.ok(run.status == 0, "the names of reports are links", run)
    with open(target, "rb") as f:
        t.equal(f.read(), b"as it was", "a file outside of the destination")
    reports = [name for name in os.listdir(there) if name.endswith(".destination.csv") and not os.path.islink(os.path.join(there, name))]
    t.equal(len(reports), 1, "the report has replaced a link")


def test_failures():
    """Time stamps that cannot be written are an error; the copy itself is complete."""
    here, there = place("here4"), place("there4")
    t.make_file("here4/data", MIB)
    os.chmod(here, 0o500)
    if os.access(here, os.W_OK):
        os.chmod(here, 0o700)
        t.skip("a directory that cannot be written", "root writes everywhere")
        return
    run = xddcp(here, "-v", "-log", t.path("elsewhere.log"), "data", FAKE.place(there))
    os.chmod(here, 0o700)
    t.ok(run.status == 114 and "cannot write the time stamps" in run.err, "a directory that cannot be written", run)
    t.ok(os.path.getsize(there + "/data") == MIB, "the file arrived")


t.run_all()
