#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What a copy prints and writes: progress on a terminal and elsewhere, the summary, failures, the log and the JSON document,
also after a signal. The figures are those of the copy that was made.
"""
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import xddwire as w
import xddcopywire as c


# Servers that stand in for ssh: they follow the protocol, and take their time.

PIECE, PIECES = 1 << 18, 24


def slow(pieces=PIECES, seconds=0.25, last=lambda: None):
    """A source of "a", whose data takes six seconds; before the last piece it calls `last`."""
    def scenario():
        s = c.Served()
        s.begin()
        size, data = PIECE * PIECES, bytes(PIECE)
        s.send(c.OFFER, c.file(1, "a", size) + c.END)
        s.expect(c.WANT)
        for i in range(pieces):
            if i == pieces - 1:
                last()
            s.block(1, i * PIECE, data)
            s.send(c.COUNTS, c.counts(walk_done=1, offered_files=1, offered_bytes=size, done_bytes=(i + 1) * PIECE,
                                      moved_bytes=(i + 1) * PIECE))
            time.sleep(seconds)
        if pieces < PIECES:
            wait_for_cancel(s, size)
            return
        s.send(c.FILE_END, c.file_end(1, PIECES, size))
        s.expect(c.RESULT)
        end(s, size)
    return scenario


def end(s, size, **values):
    s.send(c.FINISH, c.counts(walk_done=1, offered_files=1, offered_bytes=size, done_bytes=size, moved_bytes=size, **values))
    s.expect(c.FINISHED)
    s.send(c.BYE)
    s.expect(c.BYE)


def wait_for_cancel(s, size):
    """Send signs of life until CANCEL."""
    while True:
        try:
            kind, body = s.receive(0.5)
        except c.Ended:
            s.send(c.ALIVE)
            continue
        if kind in (c.CANCEL, None):
            break
    end(s, size, status=5)


def wait_for_file():
    """The test creates it."""
    while not os.path.exists(os.environ["XDD_LAST_PIECE"]):
        time.sleep(0.05)


SCENARIOS = {"slow": slow(), "held": slow(last=wait_for_file), "endless": slow(2)} if w.xxhash() else {}

if os.environ.get("XDD_SCENARIO"):
    c.serve(SCENARIOS)

import xddtest as t  # noqa: E402 - a server prints no TAP
import messages as m
import xddjson
import xddnet as net
import xddterm

if not w.xxhash():
    t.skip_all("the library xxHash is needed to compute checksums")

BY_SERVER = ["-S", "%s %s" % (shlex.quote(sys.executable), shlex.quote(os.path.abspath(__file__)))]


def words(*args):
    return [t.XDD, "copy", *[str(a) for a in args]]


def copy(*args, scenario=None, **kwargs):
    env = dict(os.environ, **({"XDD_SCENARIO": scenario} if scenario else {}))
    return t.command(words(*args), env=env, cwd=t.tmp(), **kwargs)


def document(path):
    """The JSON document, which its schema allows."""
    with open(path, encoding="utf-8") as f:
        found = xddjson.parse(f.read())
    schema = xddjson.schema("copy.schema.json")
    return found, list(xddjson.complaints(found, schema, schema))


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def make_tree(name, files=5, size=100000):
    top = t.path(name)
    os.makedirs(os.path.join(top, "d"))
    for i in range(files):
        with open(os.path.join(top, "d", "file %d" % i), "wb") as f:
            f.write(os.urandom(size))
    os.symlink("d", os.path.join(top, "link"))
    return name


def test_outputs():
    tree = make_tree("tree")
    with open(t.path(os.fsdecode(b"tree/new\n\x1b[2J\xff")), "wb") as f:
        f.write(b"12345")
    r = copy("-r", "-v", "-log", "log", "-jsonout", "json", tree, "there")
    first = re.match(r"copied 6 files, 500 kB, in [\d.]+ (ms|s), [\d.]+ [kM]B/s\n", r.out)
    t.ok(r.status == 0 and first and "  directories: 2, links: 1\n" in r.out and
         "  a checksum of all data that was sent was checked\n" in r.out and r.err == "", "a copy prints its summary, and nothing else", r)
    log = text_of(t.path("log"))
    entries = re.findall(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} copied (.*)$", log, re.M)
    t.ok(sorted(e for e in entries if e.startswith("file, 100000 bytes: ")) ==
         ["file, 100000 bytes: tree/d/file %d" % i for i in range(5)] and
         "file, 5 bytes: tree/new\\n\\x1b[2J\\xff" in entries and "directory, 0 bytes: tree/d" in entries and
         "exit status 0\n" in log and r.out.splitlines()[1] in log, "the log of -v has each name, escaped, and the summary", log)
    d, wrong = document(t.path("json"))
    t.equal(wrong, [], "the document is as its schema says", json.dumps(d, indent=1)[:3000])
    to = d["destination_side"]
    t.ok((d["status"], d["end"], to["files"], to["bytes"], to["directories"], to["links"]) ==
         (0, "normal", 6, 500005, 2, 1) and [d["source_side"]["offered_" + k] for k in ("files", "bytes", "directories", "links")] ==
         [6, 500005, 2, 1] and d["failures"] == [] and d["source_side"]["all_offered"] and
         d["settings"]["recursive"] and d["sources"][0]["path"] == tree and d["elapsed_ns"] > 0, "it has the counts of the copy",
         json.dumps(d, indent=1)[:3000])
    sides = ("source_side", "destination_side")
    t.equal([(side, name) for side in sides for name in ("moved_bytes", "storage_ns", "network_ns", "checking_ns")
             if not d[side][name]], [], "and times of both sides")
    r = copy("-r", tree + "/", "there")
    t.ok(r.status == 0 and r.out.startswith("copied 0 files, 0 B") and "  identical, skipped: 6 files, 500 kB\n" in r.out,
         "the second copy skips all", r)
    r = copy("-q", "-r", tree, "quiet")
    t.equal((r.status, r.out, r.err), (0, "", ""), "-q prints nothing")
    r = copy("-n", "-r", tree, "nothing")
    t.ok(r.status == 0 and "copy tree/d/file 3\n" in r.out and "copy tree/new\\n\\x1b[2J\\xff\n" in r.out and
         r.out.endswith("would copy 6 files, 500 kB\n") and not os.path.exists(t.path("nothing")), "-n lists the names", r)
    r = copy("-jsonout", "-", "-n", "-r", tree, "nothing")
    d = json.loads(r.out)
    t.equal((r.status, d["would_copy_files"], d["would_copy_bytes"]), (0, 6, 500005), "-jsonout -: the document alone", r)


def test_failures():
    """More failures than are printed; all are in the log and in the document."""
    tree = make_tree("broken")
    for i in range(150):
        os.mkfifo(t.path("%s/d/fifo%d" % (tree, i)))
    r = copy("-r", "-log", "log.broken", "-jsonout", "json.broken", tree, "there.broken")
    lines = r.err.splitlines()
    t.ok(r.status == 114 and len(lines) == 101 and all("/fifo" in line for line in lines[:100]) and
         "the log has the others" in lines[100], "100 failures are printed, and where the others are", r.err[-500:])
    t.ok("copied 5 files" in r.out and "failed: 150, the first ones:\n    " in r.out and r.out.count("/fifo") == 10,
         "the summary counts them, and repeats the first", r.out)
    log = text_of(t.path("log.broken"))
    d, wrong = document(t.path("json.broken"))
    t.ok(len(re.findall(r" failed .*/fifo\d+: ", log)) == 150 and len(d["failures"]) == 150 and not wrong and
         len({f["path"] for f in d["failures"]}) == 150 and {f["side"] for f in d["failures"]} == {"source"} and
         (d["end"], d["status"]) == ("errors", 114), "log and document have all of them", (wrong, log[-500:]))


def test_differences():
    """-k: which bytes differ is in the summary; a name that is missing, too."""
    tree = make_tree("original")
    copy("-r", tree, "compared")
    path = t.path("compared/d/file 2")
    st = os.stat(path)
    with open(path, "r+b") as f:
        f.seek(70000)
        f.write(b"\0" * 10)
    os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
    os.unlink(t.path("compared/d/file 4"))
    r = copy("-k", "-r", tree + "/", "compared", "-jsonout", "json.compared")
    d, wrong = document(t.path("json.compared"))
    t.ok(r.status == 7 and r.out.startswith("compared 5 files, ") and "  equal: 3 files, 300 kB\n" in r.out and
         "  different or failed: 3:\n" in r.out and re.search(r"    d/file 2: bytes \d+-\d+ differ", r.out) and
         "d/file 4: does not exist" in r.out and
         re.search(r"    d: modification time is ", r.out), "-k: equal files, and what differs", r)
    t.ok(not wrong and sorted(f["path"] for f in d["failures"] if f["differs"]) == ["d", "d/file 2", "d/file 4"] and
         d["status"] == 7, "the document has the differences", (wrong, d["failures"]))


def test_progress():
    """Where there is no terminal: a line after 5 s, and only there. The copy ends once it has one."""
    last = t.path("last piece")
    run = net.Started(words(*BY_SERVER, "host:a", "slow"), env={"XDD_SCENARIO": "held", "XDD_LAST_PIECE": last}, cwd=t.tmp())
    t.until(lambda: re.search(m.COPY_PROGRESS, run.text(), re.M), run.process)
    with open(last, "w", encoding="utf-8"):
        pass
    r = run.end()
    t.ok(r.status == 0 and len(r.progress) == 1 and all(line.startswith("xdd: ") for line in r.error_lines()) and
         re.fullmatch(r" *\d+ %, \d\.\d+ MB of 6.29 MB, [\d.]+ [kM]B/s(, \d+ s left)?\n", r.progress[0]),
         "a copy of 6 s has one line of progress", "%s%s" % (r.progress, r.err))
    t.ok("data goes through ssh" in r.err and "through ssh; a checksum of all data that was sent was checked\n" in r.out and
         os.path.getsize(t.path("slow")) == PIECE * PIECES, "data in ssh is named", r)


def on_terminal(columns):
    if not t.have_terminals():
        t.skip("progress on a terminal of %d columns" % columns, "needs pseudo-terminals")
        return
    r = xddterm.on_terminal(words(*BY_SERVER, "host:a", "terminal"), columns=columns, cwd=t.tmp(), env={"XDD_SCENARIO": "slow"})
    drawn = re.findall(r"\r\x1b\[K([^\r\n]+)", r.raw)
    drawn = [line for line in drawn if not line.startswith(("xdd:", "copied"))]
    t.ok(r.status == 0 and len(drawn) > 10 and all(len(line) < columns for line in drawn) and
         all(re.match(r" *\d+ %, |0 of", line) for line in drawn) and
         any(re.search(r"[kM]B/s, \d+ s left$", line) for line in drawn) and
         any(" of 6.29 MB, " in line and line.endswith("left") for line in drawn) is (columns == 100),
         "on %d columns a line is redrawn, and fits" % columns, r.raw[:2000])
    t.ok(not any("%, " in line and " of " in line for line in r.lines) and
         any(line.startswith("copied 1 file, 6.29 MB") for line in r.lines), "nothing of it remains", r)


def test_wide_terminal():
    on_terminal(100)


def test_narrow_terminal():
    on_terminal(40)


def test_signal():
    """A copy that is ended says what it has done, and writes all outputs."""
    r = subprocess.Popen(words(*BY_SERVER, "-log", "log.signal", "-jsonout", "json.signal", "host:a", "ended"), cwd=t.tmp(),
                         env=dict(os.environ, XDD_SCENARIO="endless"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    t.until(lambda: any(name.startswith(".xddcp-") for name in os.listdir(t.tmp())), r)
    time.sleep(1)
    r.send_signal(signal.SIGINT)
    try:
        out, err = r.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        r.kill()
        out, err = r.communicate()
    d, wrong = document(t.path("json.signal"))
    t.ok(r.returncode == 5 and out.startswith("canceled; copied 0 files, 0 B") and "  not copied: 1 of 1 file\n" in out and
         not os.path.exists(t.path("ended")), "SIGINT: the summary", (r.returncode, out, err))
    t.ok(not wrong and (d["end"], d["status"], d["source_side"]["offered_files"]) == ("canceled", 5, 1) and
         "exit status 5\n" in text_of(t.path("log.signal")), "the log and the document are complete", (wrong, d))


def refused(title, *args):
    """An output that cannot be written ends the copy before it begins."""
    r = copy(*args, t.path("small"), "there.refused")
    t.ok(r.status == 101 and "cannot write (" in r.err and not os.path.exists(t.path("there.refused")) and r.out == "", title, r)


def test_refused():
    with open(t.path("small"), "w") as f:
        f.write("small")
    os.mkfifo(t.path("pipe"))
    for option in ("-log", "-jsonout"):
        refused("%s in a directory that does not exist" % option, option, "missing/file")
        refused("%s is a directory" % option, option, t.tmp())
        refused("%s is a pipe that no process reads" % option, option, "pipe")
    with open(t.path("old"), "w") as f:
        f.write("old")
    r = copy("-jsonout", "old", t.path("small"), "missing/there")
    d, wrong = document(t.path("old"))
    t.ok(r.status == 119 and d["status"] == 119 and d["end"] == "errors" and not wrong, "a copy that fails leaves a document",
         (r, wrong))
    if os.path.exists("/dev/full"):
        r = copy("-jsonout", "/dev/full", t.path("small"), "full1")
        t.ok(r.status == 6 and "is incomplete (No space left" in r.err, "a document that cannot be written", r)
        r = copy("-log", "/dev/full", t.path("small"), "full2")
        t.ok(r.status == 6 and "is incomplete (No space left" in r.err, "a log that cannot be written", r)


def test_processor():
    """Processor time is read each 5 ms."""
    run = copy("-jsonout", "processor.json", "-size", "64M", "/dev/zero", "zeros")
    d, wrong = document(t.path("processor.json"))
    t.equal((run.status, wrong, [side for side in ("source_side", "destination_side") if not d[side]["cpu_ns"]]), (0, [], []),
            "processor time of both sides", d)


t.run_together(test_processor, test_outputs, test_failures, test_differences, test_progress, test_wide_terminal, test_narrow_terminal,
               test_signal, test_refused)
t.done()
