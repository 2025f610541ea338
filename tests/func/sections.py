#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Several runs in one setup file, and -readback: which words each run has, what is checked before the first one, what a
later one finds, the names of results, and how a failure or a signal ends them.
"""
import json
import os
import re
import signal
import subprocess
import sys

import messages as m
import xddhold
import xddsys as s
import xddtest as t

# Files of these tests are in memory, which runs that move enough say.
t.tolerate(t.CACHED, m.DIRTY)

WRITE_READ = """
# three runs
-target f -reqsize 64k
[write]         # makes the file
-op write -bytes 1M -datapattern sequenced
  [read]
-op read -verify contents -datapattern sequenced
[part]
-op read -numreqs 3 -reqsize 4k
"""
_dirs = 0


def fresh(text=None):
    """An empty directory, with a setup file."""
    global _dirs
    _dirs += 1
    where = t.path("dir%d" % _dirs)
    os.makedirs(where)
    if text is not None:
        with open(os.path.join(where, "t.xdd"), "w", encoding="utf-8") as f:
            f.write(text)
    return where


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def xdd(where, words, **kwargs):
    return t.xdd(*words.split(), cwd=where, timeout=60, **kwargs)


def ran(run):
    """The name, operation and number of operations of each run."""
    return re.findall(r"^\[(\S+)\]\n(?:.*\n)*?COMBINED\s+\d+\s+\d+\s+\d+\s+\d+\s+(\d+) .* (\w+)\s+\d+$", run.out.replace("\n COMBINED", "\nCOMBINED"),
                      re.M)


def runs(text, words, wanted, **kwargs):
    where = fresh(text)
    run = xdd(where, words, **kwargs)
    t.equal((run.status, run.err, ran(run)), (0, "", wanted), words, run)
    return where, run


def refused(text, words, pattern, status=2, title=None, created=()):
    """One message, and nothing is created."""
    where = fresh(text)
    run = xdd(where, words)
    t.ok(run.status == status and len(run.error_lines()) == 1 and re.search(pattern, run.err) and
         sorted(os.listdir(where)) == sorted(["t.xdd", *created]), "refused: " + (title or words), run)


def test_runs():
    all_runs = [("write", "16", "write"), ("read", "16", "read"), ("part", "3", "read")]
    where, run = runs(WRITE_READ, "-setup t.xdd", all_runs)
    t.ok("ID for this run, 'write'" in run.out and os.path.getsize(where + "/f") == 1 << 20, "each has its name", run)
    runs(WRITE_READ, "-setup t.xdd -section part write", [all_runs[0], all_runs[2]])
    runs(WRITE_READ, "-section write --setup=t.xdd -section part", [all_runs[0], all_runs[2]])
    where = fresh(WRITE_READ)
    run = xdd(where, "-setup t.xdd -section write -id job")
    t.ok(run.status == 0 and "ID for this run, 'job write'" in run.out and "[write]" not in run.out, "one section is a run as any other", run)
    runs("[a]\n-op write\n[b]\n-op read\n", "-target f -setup t.xdd -reqsize 4k -numreqs 7", [("a", "7", "write"), ("b", "7", "read")])
    where = fresh("-reqsize 4k\n[a]\n-op write -numreqs 5\n")
    with open(where + "/u.xdd", "w", encoding="utf-8") as f:
        f.write("-target f\n[b]\n-op read\n[c]\n-op read -numreqs 1\n")
    run = xdd(where, "-numreqs 2 -setup t.xdd -setup u.xdd")
    t.equal((run.status, ran(run)), (0, [("a", "5", "write"), ("b", "2", "read"), ("c", "1", "read")]), "two files with sections", run)
    run = xdd(where, "-setup t.xdd -setup u.xdd -numreqs 4")
    t.equal((run.status, ran(run)), (0, [("a", "4", "write"), ("b", "4", "read"), ("c", "4", "read")]), "words after -setup override", run)
    with open(where + "/[x]", "w", encoding="utf-8") as f:
        f.write("x" * 4096)
    with open(where + "/v.xdd", "w", encoding="utf-8") as f:
        f.write("-op read -targets 2\n'[x]'\n\\[x]\n")
    run = xdd(where, "-setup v.xdd -reqsize 4k -numreqs 1")
    t.ok(run.status == 0 and run.out.count(", [x], read") == 2, "a quoted word in brackets is a word", run)
    run = t.command(["sh", "-c", 'echo f | "$@"', "sh"] + t.xdd_words("-setup", "t.xdd", "-targets", "@-"),
                    cwd=fresh("-reqsize 4k -numreqs 2\n[a]\n-op write\n[b]\n-op read\n"), timeout=60)
    t.equal((run.status, ran(run)), (0, [("a", "2", "write"), ("b", "2", "read")]), "a list of names that can be read once only", run)
    run = t.command(["sh", "-c", 'cat t.xdd | "$@"', "sh"] + t.xdd_words("-setup", "/dev/stdin"), cwd=fresh(WRITE_READ), timeout=60)
    t.equal((run.status, ran(run)), (0, all_runs), "a setup file that can be read once only", run)
    where = fresh("#!%s -setup\n%s" % (os.path.abspath(t.XDD), WRITE_READ))
    os.chmod(where + "/t.xdd", 0o755)
    run = t.command(["./t.xdd"] + t.xdd_words("-section", "write", "part")[1:], cwd=where, timeout=60)
    t.equal((run.status, ran(run)), (0, all_runs[::2]), "a setup file that is a command", run)


def test_refused():
    """Before the first run opens anything, whichever run is wrong."""
    base = "-target f -reqsize 64k\n[write]\n-op write -bytes 1M\n[read]\n-op read %s\n"
    for more, pattern, status in (("-numreqs 0", r"t.xdd:5: -numreqs 0: expected", 2), ("-numreqs", r"t.xdd:5: -numreqs: missing argument", 2),
                                  ("-nosuch", "t.xdd:5: -nosuch: is not an option", 3),
                                  ("-numreqs 17", "section read: target 0, f: the operations reach to 1088 KiB, and it has 1 MiB", 2),
                                  ("-target g", "section read: target 1, g: No such file", 4),
                                  ("-targetdir nowhere", "section read: target 0, nowhere/f: No such file", 4),
                                  ("-csvout f", "section read: -csvout f: this is target 0", 2),
                                  ("-errout e", "section read: -errout e: is for all runs", 2),
                                  ("-section read", "t.xdd:5: -section: must be on the command line", 2),
                                  ("\n[read]", "t.xdd:6: section read: there is another one of that name", 2),
                                  ("\n[a/b]", "t.xdd:6: section a/b: expected a name of 1 to 64 characters", 2),
                                  ("\n[c] -op read", r"t.xdd:6: \[c\]: is a stray word; a section is \[name\] on a line of its own", 3),
                                  ("\n[c]\n", "section c: target 0, f: is not empty, and no operation is given", 2)):
        refused(base % more, "-setup t.xdd", "^xdd: " + pattern, status, "a section with " + more.strip())
    for words, pattern in (("-section raed", "-section raed: is no section; did you mean read"),
                           ("-section x", "-section x: is no section; expected write, read or part"),
                           ("-jsonout r.json", "section read: -jsonout r.json: the run \"write\" writes that file too; give each run its own, with %s"),
                           ("-jsonout -", "section read: -jsonout -: takes the document of one run"),
                           ("-ts output r", "section read: -ts output r.*: the run \"write\" writes that file too"),
                           ("-starttime %d" % (t.next_begin_ns() // 10**9 + 3000), "section read: -starttime: must be later than the start time of the run \"write\""),
                           ("-seek save l", "section read: -seek save l.T0.txt: the run \"write\" writes that file too"),
                           ("-heartbeat output h -heartbeat 1", "section read: -heartbeat output h.*: the run \"write\" writes that file too"),
                           ("-setup deeper", "-setup deeper: cannot be read")):
        refused(WRITE_READ, "-setup t.xdd " + words, "^xdd: " + pattern)
    refused(WRITE_READ + "-outputformat new +WHAT+OPS\n", "-setup t.xdd -csvout r.csv",
            "section part: -csvout r.csv: .* has other columns in this file")
    refused("-target f\n[a]\n-csvout f2\n-op write -numreqs 1\n[b]\n-op write -target f2 -numreqs 1\n", "-setup t.xdd",
            "section b: -csvout f2: this is target 1")
    refused("-reqsize 4k -numreqs 1 -op write -stonewall save r\n[a]\n-target f\n[b]\n-target g\n", "-setup t.xdd",
            "section b: -stonewall save r.R0.txt: the run \"a\" writes that file too")
    refused("-reqsize 4k -numreqs 1 -op write\n[a]\n-target f -seek save l\n[b]\n-target l.T0.txt\n", "-setup t.xdd",
            "section b: -seek save l.T0.txt: this is target 0")
    refused("-target t.xdd -op read -numreqs 1\n", "-setup t.xdd -seek save l -jsonout l.T0.txt",
            "-seek save l.T0.txt: this is the file of -jsonout too")
    refused("-op read -target t.xdd\n", "-setup t.xdd -keepgoing", "-keepgoing: is for several runs")
    refused("-op read -target t.xdd\n", "-setup t.xdd -section a", "-section a: no setup file has sections")
    refused(WRITE_READ, "sweep -setup t.xdd -queuedepth 1,2", "-setup t.xdd: has 3 sections, and one run is expected here")
    where = fresh("-setup u.xdd\n")
    with open(where + "/u.xdd", "w", encoding="utf-8") as f:
        f.write("-target f\n[b]\n-op read\n")
    run = xdd(where, "-setup t.xdd")
    t.ok(run.status == 2 and m.line("section b", "must be in a setup file that the command line names"), "a section of an inner file", run)
    where = fresh(WRITE_READ)
    run = xdd(where, "-setup t.xdd -dryrun")
    t.equal((run.status, run.err, run.out.count("Dry run:"), re.findall(r"^\[(\w+)\]$", run.out, re.M), os.listdir(where)),
            (0, "", 3, ["write", "read", "part"], ["t.xdd"]), "-dryrun shows all, and creates nothing", run)


def test_finds():
    """A later run finds what earlier ones leave."""
    where = fresh("-reqsize 64k\n[new]\n-target f -op write -bytes 1M -createnewfiles -passes 2\n[second]\n-target f.00000002 -op read\n"
                  "[timed]\n-target g -op write -timelimit 0.05\n[whole]\n-target g -op read\n[recreate]\n"
                  "-target g -op write -numreqs 2 -recreatefiles\n[two]\n-target g -op read\n[many]\n-targets 3 n%d -op write -numreqs 2\n"
                  "[back]\n-targets 3 n%d -op read\n[long]\n-target t.xdd -op read -reqsize 1 -blocksize 1 -numreqs 4\n")
    run = xdd(where, "-setup t.xdd")
    found = {name: int(ops) for name, ops, _ in ran(run)}
    t.ok(run.status == 0 and found.get("whole") == found.get("timed") and found.get("two") == 2 and found.get("back") == 6,
         "files of passes, of a time, recreated and numbered", run)
    for more, pattern in (("-deletefile", "section read: target 0, f: No such file"), ("-pretruncate 2M", None), ("-bytes 64k", "and it has 64 KiB")):
        text = "-target f -reqsize 64k\n[write]\n-op write -bytes 1M %s\n[read]\n-op read -bytes 1M\n" % more
        if pattern:
            refused(text, "-setup t.xdd", pattern, 4 if "delete" in more else 2, "a read after " + more)
        else:
            run = xdd(fresh(text), "-setup t.xdd")
            t.ok(run.status == 0, "a read after " + more, run)


def test_outputs():
    where = fresh(WRITE_READ)
    run = xdd(where, "-setup t.xdd -jsonout r%%.%s.json -csvout r.csv -output r.txt -errout r.err -id job")
    docs = {}
    for name in ("write", "read", "part"):
        with open("%s/r%%.%s.json" % (where, name), encoding="utf-8") as f:
            docs[name] = json.load(f)
    t.equal((run.status, run.out, {k: (d["id"], d["status"], d["results"][-1]["operation"]) for k, d in docs.items()}),
            (0, "", {"write": ("job write", 0, "write"), "read": ("job read", 0, "read"), "part": ("job part", 0, "read")}),
            "a document for each", run)
    with open(where + "/r.csv", encoding="utf-8") as f:
        lines = f.read().splitlines()
    at = lines[0].split(",").index("ID")
    t.equal([line.split(",")[at] for line in lines], ["ID", "job write", "job read", "job part"], "one CSV file, with the names in it")
    run = xdd(where, "compare r%.read.json r%.read.json")
    t.ok("expected" not in run.err and run.status in (0, 3), "xdd compare reads one", run)
    run = xdd(where, "-setup t.xdd -section read part -seek save l.%s")
    t.ok(run.status == 0 and {"l.read.T0.txt", "l.part.T0.txt"} <= set(os.listdir(where)), "lists of seeks have the name too", run)
    run = xdd(where, "-setup t.xdd -report person")
    t.ok(run.status == 0 and re.search(r"^\[write\]\nf: sequential writes.*^\[read\]\nf: sequential reads", run.out, re.M | re.S),
         "blocks for people have the names above", run)


def test_saved():
    """A section loads what an earlier one saves, and the checks before the first one know it."""
    text = ("-target f -reqsize 4k\n[one]\n-op write -numreqs 20 -seek random -seek range 1M -seek save l\n"
            "[two]\n-op write %s\n[three]\n-op write -seek load l.T0.txt\n")
    where, run = runs(text % "-seek load l", "-setup t.xdd", [("one", "20", "write"), ("two", "20", "write"), ("three", "20", "write")])
    xdd(where, "-target f -op write -reqsize 4k -numreqs 3 -seek save l")
    run = xdd(where, "-setup t.xdd")
    t.equal((run.status, ran(run)[1:]), (0, [("two", "20", "write"), ("three", "20", "write")]), "a list of an earlier command counts no more", run)
    where = fresh(text % "-seek load l")
    run = xdd(where, "-setup t.xdd -dryrun")
    t.ok(run.status == 0 and os.listdir(where) == ["t.xdd"], "-dryrun knows the list too", run)
    for words, pattern in (("-seek load l -reqsize 1k", "section two: target 0, f: -seek load l.T0.txt: operation 0 has 4 blocks"),
                           ("-seek load l -op read", "section two: target 0, f: -op read: the list of -seek load l writes"),
                           ("-seek load k", "section two: -seek load k: No such file"),
                           ("-seek load l -csvout l.T0.txt", "section two: -csvout l.T0.txt: -seek load reads this file")):
        refused(text % words, "-setup t.xdd", "^xdd: " + pattern, title=words)
    refused("-target f -reqsize 4k -op write -numreqs 2\n[a]\n-seek load l\n[b]\n-seek save l\n", "-setup t.xdd",
            "section a: -seek load l: No such file", title="a list that a later section saves")
    record = "-target f -reqsize 4k\n[w]\n-op write -numreqs 9 -stonewall save s\n[r]\n-op read -stonewall load s %s\n"
    runs(record % "", "-setup t.xdd", [("w", "9", "write"), ("r", "9", "read")])
    refused(record % "-reqsize 8k", "-setup t.xdd", "section r: target 0, f: -stonewall load: s.R0.txt: target 0 was written with other options",
            title="a record of other work")
    refused(record % "-stonewall load x", "-setup t.xdd", "section r: target 0, f: -stonewall load: x.R0.txt: No such file", title="no record")


def test_errout():
    """Messages of each section, in a file of its own or in one of all."""
    text = "-target null -op noop -numreqs 1 -blocksize 4096\n[a]\n%s\n[b]\n%s\n"
    for name, files in (("e%%.%s", ["e%.a", "e%.b"]), ("e", ["e"])):
        where = fresh(text % ("", ""))
        run = xdd(where, "-setup t.xdd -errout " + name)
        said = {f: text_of(os.path.join(where, f)).count("xdd: warning: ") for f in os.listdir(where) if f.startswith("e")}
        t.equal((run.status, run.err, said), (0, "", dict(zip(files, [1, 1] if len(files) > 1 else [2]))), "-errout " + name, run)
    for a, b in (("-errout e", "-errout f"), ("-errout e", ""), ("", "-errout e")):
        where = fresh(text % (a, b) + "[c]\n-errout e\n")
        run = xdd(where, "-setup t.xdd")
        t.ok(run.status == 2 and "is for all runs" in run.err and os.listdir(where) == ["t.xdd"], "-errout: %s, %s, e" % (a, b), run)


def test_byte_order_mark():
    mark = "\ufeff"
    runs(mark + "[a]\r\n-op noop\r\n[b]\r\n-op noop -numreqs 2", "-target null -numreqs 1 -setup t.xdd", [("a", "1", "noop"), ("b", "2", "noop")])
    for text in ("-op noop", "# x\n-op noop", ""):
        where = fresh(mark + text)
        run = xdd(where, "-target null -op noop -numreqs 1 -setup t.xdd")
        t.equal((run.status, run.err), (0, ""), "a byte order mark and %r" % text, run)
    refused("-op noop\n" + mark + "-op noop", "-target null -numreqs 1 -setup t.xdd", "stray word", 3, "a mark further down")


def test_ends():
    text = WRITE_READ.replace("[part]", "[bad]\n-op read -datapattern tagged -verify contents\n[part]")
    where = fresh(text)
    run = xdd(where, "-setup t.xdd")
    t.ok(run.status == 7 and [r[0] for r in ran(run)] == ["write", "read", "bad"] and
         "section part: is not run: bad ended with status 7; -keepgoing goes on" in run.err, "a run that fails is the last one", run)
    run = xdd(where, "-setup t.xdd -keepgoing")
    t.ok(run.status == 7 and [r[0] for r in ran(run)] == ["write", "read", "bad", "part"], "-keepgoing: all are run, the status is the worst",
         run)
    where = fresh("-target f -reqsize 64k\n[timed]\n-op write -timelimit 0.05\n[whole]\n-op read -bytes 512T\n[next]\n-op read -numreqs 1\n")
    run = xdd(where, "-setup t.xdd -keepgoing")
    t.ok(run.status == 2 and re.search("^xdd: section whole: target 0, f: the operations reach to 512 TiB", run.err, re.M) and
         [r[0] for r in ran(run)] == ["timed", "next"], "what could not be known before the first run names its section", run)
    where = fresh("-target null -op write -reqsize 4k\n[first]\n-numreqs 1\n[long]\n-timelimit 300 -heartbeat 0.05 ops\n[never]\n-numreqs 1\n[nor]\n-numreqs 1\n")
    with open(where + "/out", "wb") as out, open(where + "/err", "wb") as err:
        with subprocess.Popen(t.xdd_words("-setup", "t.xdd", "-keepgoing"), cwd=where, stdout=out, stderr=err) as child:
            t.until(lambda: re.search(r"[1-9]\d*,ops", text_of(where + "/err")), child)
            child.send_signal(signal.SIGINT)
            status = child.wait(60)
    text = text_of(where + "/out")
    t.ok(status == 5 and text.count("COMBINED") == 2 and "[never]" not in text and
         "section never: is not run and the 1 after it: a signal came" in text_of(where + "/err"), "SIGINT ends all, with the results so far",
         text + text_of(where + "/err"))


def test_readback():
    where = fresh()
    run = xdd(where, "-op write -target f -reqsize 64k -bytes 1M -readback -csvout r.csv")
    t.equal((run.status, run.err, ran(run)), (0, "", [("write", "16", "write"), ("read", "16", "read")]), "-readback", run)
    with open(where + "/r.csv", encoding="utf-8") as f:
        t.equal(len(f.read().splitlines()), 3, "both rates are rows")
    with open(where + "/f", "rb") as f:
        t.equal(f.read(8), b"XDDtag1\n", "the data are tagged")
    for words in ("-deletefile", "-dropcache", "-dio", "-passes 2", "-seek random once", "-seek random", "-seek zipf 1.1 range 4M", "-recreatefiles", "-pretruncate 4M", "-verify contents",
                  "-datapattern sequenced", "-datapattern random", "-syncwrite", "-queuedepth 4", "-targets 2 g%d"):
        where = fresh()
        run = xdd(where, "-op write -target f -reqsize 64k -bytes 1M -readback " + words)
        if words == "-dio" and "does not support -dio" in run.err:
            continue
        t.ok(run.status == 0 and [r[0] for r in ran(run)] == ["write", "read"] and os.path.exists(where + "/f") == (words != "-deletefile"),
             "-readback " + words, run)
        t.equal([line for line in run.error_lines() if "reach to" in line], [], "no doubt about the end of what was written " + words)
    # Time ends the writes; 1 % of them would take as long.
    for words in ("-timelimit 0.2", "-runtime 0.2", "-timelimit 0.2 -passes 2 -queuedepth 4", "-timelimit 0.2 -seek random",
                  "-timelimit 0.2 -seek random once", "-timelimit 0.2 -targets 2 g h"):
        run = xdd(fresh(), "-verbose -op write -target f -reqsize 4k -bytes 64M -throttle ops 800 -readback " + words)
        found = [(r[0], r[2]) for r in ran(run)]
        ops = {(r["Op_Type"], r["Target"]): [] for r in run.rows() if r["What"] == "TARGET_PASS"}
        for r in run.rows():
            if r["What"] == "TARGET_PASS":
                ops[r["Op_Type"], r["Target"]].append(int(r["Ops"]))
        # Each pass reads what the longest one wrote.
        wanted = {("read", target): [max(n)] * len(n) for (op, target), n in ops.items() if op == "write"}
        t.ok(run.status == 0 and found == [("write", "write"), ("read", "read")] and wanted and
             {k: n for k, n in ops.items() if k[0] == "read"} == wanted and 0 < int(ran(run)[0][1]) < 2000,
             "what was written is read, and no more: " + words, (run, ops))
    for words, first in (("-verify location", 0), ("-verify location -verify contents", 0), ("-datapattern tagged -verify location", b"XDDtag1\n")):
        where = fresh()
        run = xdd(where, "-op write -target f -reqsize 64k -bytes 1M -verbose -readback " + words)
        with open(where + "/f", "rb") as f:
            f.seek(512)
            word = f.read(8)
        t.ok(run.status == 0 and "enabled for Location verification" in run.out and
             word == (first or (512).to_bytes(8, sys.byteorder)), "-readback %s: the location is verified" % words, "%r\n%s" % (word, run))
    run = xdd(fresh(), "-op write -targets 2 f f -reqsize 64k -numreqs 4 -datapattern target 0 a -datapattern target 1 b -readback")
    t.ok(run.status == 7 and "DATA MISCOMPARE" in run.err, "what is not as it was written is a miscompare", run)
    runs("-target f -reqsize 64k -op write\n[a]\n-numreqs 3 -readback\n[b]\n-numreqs 2\n", "-setup t.xdd",
         [("a-write", "3", "write"), ("a-read", "3", "read"), ("b", "2", "write")])
    for words, pattern in (("-op read -target t.xdd", "target 0, t.xdd: must write, to be read back; its operation is read"),
                           ("-rwratio 50 -target f -numreqs 1", "target 0, f: must write, to be read back; its operation is mixed"),
                           ("-op write -target f -timelimit 1", "target 0, f: must write all that is read back, and may end early"),
                           ("-op write -target f -numreqs 9 -reqsize 1 -runtime 9 -seek zipf 1 range 9", "target 0, f: cannot be read back where"),
                           *(("-op write -target f -numreqs 9 -timelimit 9 " + words, "target 0, f: cannot be read back where -timelimit or -runtime may end "
                              "a pass: its offsets must be sequential or random, and offsets of each pass the same$")
                             for words in ("-passoffset 9", "-seek stagger range 9000", "-seek interleave 2")),
                           ("-op write -target f -numreqs 1 -createnewfiles", "-readback: write: target 0, f: is created for each pass"),
                           ("-op write -targets 2 f f -numreqs 1", "-readback: write: target 0, f: -datapattern tagged.* target 1 writes to"),
                           ("-op write -target f -numreqs 1 -jsonout j", "-jsonout j: the run \"write\" writes that file too")):
        refused("", words + " -readback", pattern)
    refused("", "multi -hosts nohost.invalid -- -op write -target f -numreqs 1 -readback", "-readback: makes two runs, and one is expected here")
    refused("", "sweep -op write -target f -numreqs 1,2 -readback", "-readback: makes two runs, and one is expected here")
    if s.can_trace() is None:
        return t.skip("the order of operations", s.sys_why())
    run, trace = s.trace("-op", "write", "-target", where + "/o", "-reqsize", 4, "-numreqs", 3, "-readback", timeout=60)
    t.equal("".join(op.call[1] for op in trace.of(where + "/o")), "wwwrrr", "all is written before anything is read", run)
    return None


def test_stuck():
    """A run whose threads do not return ends all, with the greatest status of all."""
    env = s.faults("hang", start=65536, end=131072, file="stuck")
    if env is None:
        return t.skip("a run whose threads do not return", s.sys_why())
    where = fresh("-reqsize 64k -op read -numreqs 2\n[bad]\n-target data -datapattern tagged -verify contents\n[hang]\n-target stuck\n"
                  "[never]\n-target data\n")
    for name in ("data", "stuck"):
        with open(os.path.join(where, name), "wb") as f:
            f.write(b"x" * 131072)
    with open(where + "/out", "wb") as out, open(where + "/err", "wb") as err:
        with xddhold.at("operation:1", "signal taken:1", env=dict(os.environ, **env)) as h, \
                subprocess.Popen(t.xdd_words("-setup", "t.xdd", "-keepgoing"), cwd=where, stdout=out, stderr=err, env=h.env) as child:
            h.wait(child).go()
            h.wait(child)  # of the second section
            child.send_signal(signal.SIGINT)
            h.wait(child)
            h.go()
            status = child.wait(60)
    text = text_of(where + "/err")
    t.ok(status == 7 and "are abandoned" in text and "section never: is not run: a signal came" in text,
         "a run that is stuck: the status is the greatest, and others are named", "%s %s" % (status, text))
    return None


t.run(test_runs, test_refused, test_finds, test_outputs, test_saved, test_errout, test_byte_order_mark, test_ends, test_stuck, test_readback)
t.done()
