#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The option table as a user meets it: help, alternate names, scopes, setup files, sizes, and -dryrun, through which
the effect of an option is read here without a run.
"""
import collections
import json
import os
import re

import messages as m
import xddsys as s
import xddtest as t

# Files of these tests are in memory, which runs that move enough say.
t.tolerate(t.CACHED)
t.may_warn(m.REACHES)
t.may_warn(m.WEAK_KEY)

LIMIT_S = 30
K, M, G = 1 << 10, 1 << 20, 1 << 30

_directories = 0


def directory(**files):
    """A fresh directory with `data` in it, 64 KiB; `a_cfg="..."` makes a file a.cfg."""
    global _directories
    _directories += 1
    path = t.path("d%d" % _directories)
    os.mkdir(path)
    with open(os.path.join(path, "data"), "wb") as f:
        f.write(bytes(65536))
    for name, text in files.items():
        with open(os.path.join(path, name.replace("_", ".")), "w", newline="") as f:
            f.write(text)
    return path


SHARED = directory()


def xdd(*args, cwd=SHARED, **kwargs):
    """One string is split at blanks; several are words as they stand."""
    words = args[0].split() if len(args) == 1 else args
    return t.xdd(*words, cwd=cwd, timeout=LIMIT_S, **kwargs)


class Shown:
    """The output of -dryrun: `all` (label to value) and `targets`, one such dictionary each."""

    def __init__(self, run):
        self.run, self.all, self.targets = run, {}, []
        label = None
        for line in run.out.splitlines():
            depth = len(line) - len(line.lstrip("\t"))
            head, comma, value = line.strip("\t").partition(",")
            into = self.targets[-1] if self.targets and depth >= 2 else self.all
            if line.startswith("\tTarget number"):
                self.targets.append({})
            elif depth == 3 and re.match(r"\s*\d+,\s+Bytes$", line.strip("\t")):
                into[label] = int(head)
            elif depth < 3 and comma:
                label = head
                into[label] = value.strip()

    def each(self, label):
        return [target.get(label) for target in self.targets]


def look(*args, **kwargs):
    """Dry-run these words."""
    words = args[0].split() if len(args) == 1 else list(args)
    return Shown(xdd("-dryrun", *words, **kwargs))


def shown(wanted, label, *args, **kwargs):
    """The value of `label` of all targets, or of the run."""
    what = look(*args, **kwargs)
    got = what.each(label) if isinstance(wanted, list) else what.all.get(label)
    return t.equal((what.run.status, what.run.err, got), (0, "", wanted), " ".join(args).replace("\n", " "),
                   "%s:\ngot:    %r\nwanted: %r\n%s" % (label, got, wanted, what.run))


RATIO = "Read/write ratio"
READS, WRITES = "100.00 READ,  0.00 WRITE", "0.00 READ, 100.00 WRITE"
OPS, BYTES = "Number of Operations", "Total data transfer for this TARGET"
DEPTH, BLOCK = "Queue Depth", "Blocksize in bytes"
PATTERN, START, RANGE, PATH = "Seek pattern", "Start offset", "Seek Range", "Fully qualified target pathname"
ORDERING = "Storage Operation Ordering is"
DIO, LIMIT, PASSES, REQUEST = "Direct I/O", "Per-pass time limit in seconds", "Passes", "Request size"

SOON = t.next_begin_ns() // 10**9 + 3600

# Every option: its alternate names, arguments that change something, and where -dryrun shows it. A label of None
# is one that it does not show. New options need a row here.

Option = collections.namedtuple("Option", "name aliases args label value")
OPTIONS = [Option(*row) for row in (
    ("targets", "", "2 data data", "Number of Targets", "4"),
    ("target", "", "data", "Number of Targets", "3"),
    ("targetdir", "td", ".", PATH, ["'./data'"] * 2),
    ("dio", "directio", "-op noop", DIO, ["enabled"] * 2),
    ("dropcache", "", "-op noop", None, None),
    ("createnewfiles", "cnf", "-op write -targetdir target 1 ..", RATIO, [WRITES] * 2),
    ("recreatefiles", "recreate", "-op write -targetdir target 1 ..", RATIO, [WRITES] * 2),
    ("reopen", "reop", "", None, None),
    ("deletefile", "del", "", "Delete file", ["enabled"] * 2),
    ("preallocate", "pa preallocation", "1k", "Preallocation", ["1024"] * 2),
    ("pretruncate", "pt", "3M", "Pretruncation", ["3145728"] * 2),
    ("range", "", "50", RANGE, [50 * K] * 2),
    ("syncwrite", "sw", "", "File write synchronization", ["enabled"] * 2),
    ("osync", "", "", "Synchronous writes", ["O_SYNC"] * 2),
    ("odsync", "", "", "Synchronous writes", ["O_DSYNC"] * 2),
    ("orsync", "", "", "Synchronous writes", ["O_RSYNC"] * 2),
    ("flushwrite", "fw", "6", "Flushwrite interval", ["6"] * 2),
    ("flushbetween", "", "-flushwrite 3", "Flushwrite interval", ["3, not after the last write"] * 2),
    ("retry", "ret", "2", None, None),
    ("reportthreshold", "rept report_threshold", "0.5", None, None),
    ("force", "", "data", None, None),
    ("op", "operation", "write", RATIO, [WRITES] * 2),
    ("rwratio", "rw", "30", RATIO, ["30.00 READ, 70.00 WRITE"] * 2),
    ("blocksize", "bs", "512", BLOCK, ["512"] * 2),
    ("reqsize", "rs", "3", REQUEST, ["3, 1024-byte blocks, 3072, bytes"] * 2),
    ("numreqs", "nr", "7", OPS, ["7"] * 2),
    ("bytes", "b", "3000", BYTES, [3000] * 2),
    ("kbytes", "kb", "3", BYTES, [3 * K] * 2),
    ("mbytes", "mb", "3", BYTES, [3 * M] * 2),
    ("gbytes", "gb", "3", BYTES, [3 * G] * 2),
    ("queuedepth", "qd", "4", DEPTH, ["4"] * 2),
    ("datapattern", "dp", "sequenced inverse", "Data pattern in buffer", ["sequenced ,inversed"] * 2),
    ("verify", "", "location", "Data pattern in buffer", ["sequenced"] * 2),
    ("ioengine", "", "mmap", None, None),
    ("threads", "", "2 -ioengine libaio -dio -op noop", DIO, ["enabled"] * 2),
    ("sgio", "scsigeneric", "-ioengine psync", None, None),
    ("ordering", "or order", "storage serial", ORDERING, ["serial"] * 2),
    ("serialordering", "so", "", ORDERING, ["serial"] * 2),
    ("looseordering", "lo", "", ORDERING, ["loose"] * 2),
    ("noordering", "no", "-serialordering target 1", ORDERING, ["none", "serial"]),
    ("memalign", "mal", "64k", "I/O memory buffer alignment in bytes", ["65536"] * 2),
    ("sharedmemory", "shm", "", None, None),
    ("hugepages", "", "-op noop", None, None),
    ("numa", "", "0", "I/O memory buffer NUMA nodes", ["0"] * 2),
    ("nomemlock", "nomlock", "", None, None),
    ("processlock", "plock", "", None, None),
    ("noproclock", "noplock", "", None, None),
    ("hogmemory", "", "16m", "Memory to occupy", str(16 * M)),
    ("maxpri", "maximumpriority", "", "Maximum Process Priority", "enabled"),
    ("maxall", "", "", "Maximum Process Priority", "enabled"),
    ("minall", "", "", None, None),
    ("processor", "pr", t.PROCESSOR, "Processor", [t.PROCESSOR] * 2),
    ("singleproc", "sp", t.PROCESSOR, "Processor", [t.PROCESSOR] * 2),
    ("roundrobin", "rr", "1", "Processor", [t.PROCESSOR] * 2),
    ("startoffset", "sto", "5", START, [5 * K] * 2),
    ("passoffset", "po", "6", "Pass offset", [6 * K] * 2),
    ("targetoffset", "to", "2", START, ["0", 2 * K]),
    ("seek", "s", "random", PATTERN, ["random"] * 2),
    ("randomize", "rand", "", "Pass seek randomization", ["enabled"] * 2),
    ("passes", "p", "3", PASSES, "3"),
    ("passdelay", "pdelay delay", "1.5", "Pass Delay in seconds", "1.500000"),
    ("startdelay", "sd", "1", None, None),
    ("targetstartdelay", "tsd", "1", None, None),
    ("timelimit", "tl", "2.5", LIMIT, ["2.500000"] * 2),
    ("warmup", "", "2.5", "Warm-up", ["2.500000 seconds"] * 2),
    ("runtime", "rt", "1m", "Total run-time limit in seconds", "60.000000"),
    ("throttle", "throt", "ops 50", "Throttle in ops/sec is", ["50.00"] * 2),
    ("operationdelay", "opdelay", "1ms", None, None),
    ("snooze", "", "80", "Snooze in percent of the mean response time", ["80"] * 2),
    ("lockstep", "ls", "0 1 op 8 kbytes 4 wait stop", "Lockstep",
     [None, "slave of target 0, every 8 operations, 4 KiB, wait first, then stop"]),
    ("starttrigger", "st", "0 1 percent 50", "Start trigger", [None, "target 0, 50 percent"]),
    ("stoptrigger", "et", "1 0 time 1.5", "Stop trigger", ["target 1, 1.5 seconds", None]),
    ("syncio", "sio", "7", "I/O Synchronization", "7"),
    ("starttime", "stime", "%d.5" % SOON, "Global start time", "%d.500000" % SOON),
    ("timeserver", "tsvr", "host clock port 5", "Timeserver hostname", "clock"),
    ("rank", "", "2 -ranks 4", "Rank", "2 of 4"),
    ("ranks", "", "4", "Rank", "0 of 4"),
    ("rankspernode", "", "2", None, None),
    ("attached", "", "output", None, None),
    ("mpi", "", "", None, None),
    ("blockperrank", "bpr", "4", "Blocks", ["0 of 2, 4096, bytes, in 1, segments", "1 of 2, 4096, bytes, in 1, segments"]),
    ("segments", "", "4 -blockperrank 1", "Blocks", ["0 of 2, 1024, bytes, in 4, segments", "1 of 2, 1024, bytes, in 4, segments"]),
    ("stonewall", "", "5", None, None),
    ("reorder", "", "-blockperrank 4", "Blocks read", ["1 of 2", "0 of 2"]),
    ("deskew", "", "", None, None),
    ("endtoend", "e2e", "issource destination h:2000,3", DEPTH, ["3"] * 2),
    ("restart", "rst", "offset 5 -e2e issource destination h", START, [5] * 2),
    ("congestion", "", "bbr -e2e issource destination h", None, None),
    ("cookie", "", "%032x -e2e issource destination h" % 1, None, None),
    ("nobarrier", "nb", "", "Pass synchronization barriers", "disabled"),
    ("stoponerror", "soe", "", None, None),
    ("maxerrors", "", "9", "Maximum Error Threshold", "9"),
    ("maxerrorstoprint", "mep", "9", None, None),
    ("verbose", "", "", None, None),
    ("unverbose", "unv", "", None, None),
    ("reallyverbose", "rv", "", None, None),
    ("quiet", "q", "", None, None),
    ("qthreadinfo", "", "", None, None),
    ("heartbeat", "hb", "3 tod ops", "Heartbeat Interval", ["3, options, /TOD/Ops"] * 2),
    ("id", "identifier", "here", "ID for this run", "'here'"),
    ("runid", "", "nightly-17", None, None),
    ("output", "o", "file", None, None),
    ("errout", "eo", "file", None, None),
    ("csvout", "csvo", "file", None, None),
    ("combinedout", "combo", "file", None, None),
    ("jsonout", "jsono", "file", None, None),
    ("outputformat", "ofmt", "add +USERTIME", None, None),
    ("percentcpu", "pcpu", "relative", None, None),
    ("report", "", "table", None, None),
    ("latency", "", "percentiles 50,99.9 histogram", None, None),
    ("intervals", "", "1 output file prometheus x.prom", None, None),
    ("timestamps", "ts timestamp", "summary", "Timestamping", ["enabled with options, SUMMARY"] * 2),
    ("timerinfo", "ti", "", None, None),
    ("extendedstats", "extstats", "", None, None),
    ("debug", "", "io open", None, None),
    ("setup", "", "a.cfg", DEPTH, ["5"] * 2),
    ("section", "", "a -setup s.cfg", DEPTH, ["6"] * 2),
    ("keepgoing", "", "-setup s.cfg -section a", DEPTH, ["6"] * 2),
    ("readback", "", "-op write -targetoffset 2", None, None),
    ("dryrun", "dry", "", None, None),
    ("help", "h", "op", None, None),
    ("fullhelp", "exthelp", "", None, None),
    ("version", "ver V v", "", None, None),
)]
NO_RUN = ("help", "fullhelp", "version")
# Options that this build or this kernel does not have.
ABSENT = tuple(name for name, words in (("numa", "-numa 0"), ("mpi", "-mpi"))
               if xdd("-dryrun -op noop -targets 1 null -numreqs 1 " + words).status)
BASE = "-op read -targets 2 data data -reqsize 1 -numreqs 2"
AMOUNTS = ("bytes", "kbytes", "mbytes", "gbytes")


def test_help():
    usage = xdd("-help")
    t.equal((usage.status, usage.out.startswith("usage: xdd "), usage.err), (0, True, ""),
            "-help: on standard output, status 0", usage)
    listed = re.findall(r"^  -(\S+)", usage.out, re.M)
    t.equal(sorted(listed), sorted(o.name for o in OPTIONS),
            "-help lists every option, and each has a row in this test")
    t.equal(re.findall(r"^    -(\S+)", usage.out, re.M), "target op blocksize bytes dio seek rwratio queuedepth runtime passes latency jsonout "
            "dryrun".split(), "-help lists the options of the first days before all others")
    for command in ("compare", "tsread"):
        t.ok(re.search(r"^  xdd %s  +\w" % command, usage.out, re.M), "-help lists the command " + command, usage)
    t.ok("\n  -queuedepth (-qd) [target <n>] " in usage.out, "-help shows short names", usage)
    t.ok(max(map(len, usage.out.splitlines())) < 80, "-help fits 80 columns", usage)
    both = xdd("-help op -qd")
    t.equal(both.out, xdd("-help op").out + xdd("-help qd").out, "-help op -qd explains both", both)
    full = xdd("-fullhelp")
    t.equal((full.status, full.err), (0, ""), "-fullhelp: on standard output, status 0", full)
    t.equal(re.findall(r"^  -(\S+)", full.out, re.M), listed,
            "-fullhelp explains every option, in the order of -help")
    also = {m.group(1): m.group(2) or "" for m in
            re.finditer(r"^  -(\S+)[^\n]*\n(?:      [^\n]*\n)*?(?:      Also: ([^\n]*)\n|\n|(?=  -))", full.out,
                        re.M)}
    t.equal({n: a.replace("-", "") for n, a in also.items()}, {o.name: o.aliases for o in OPTIONS},
            "-fullhelp names the alternate names")
    # An example is one line, to be copied; a range says what it says.
    wide = [line for line in full.out.splitlines() if len(line) >= 80 and not re.match(" +(Example|Allowed):", line)]
    t.ok(not wide, "-fullhelp fits 80 columns", "\n".join(wide))
    text_of = {option.name: xdd("-help", option.name).out for option in OPTIONS}
    t.equal([name for name, text in text_of.items() if not text.startswith("  -" + name) or text not in full.out], [],
            "-help of each option: the text of -fullhelp")
    names = {option.name: [option.name, *option.aliases.split()] for option in OPTIONS}
    for dashes in ("", "-", "--"):
        run = xdd("-help", *(dashes + name for own in names.values() for name in own))
        t.equal((run.status, run.out, run.err), (0, "".join(text_of[name] * len(own) for name, own in names.items()), ""),
                "-help of all names, with %d dashes" % len(dashes))
    for sub in "sequential random range stagger interleave none seed save load disthist seekhist".split():
        t.ok(re.search(r"^ +%s\b" % sub, xdd("-help seek").out, re.M), "-help seek describes " + sub)
    for sub in ("psync libaio io_uring sg mmap null list batch fixedbufs fixedfiles sqpoll iopoll touch fua "
                "dpo").split():
        t.ok(re.search(r"^ +%s\b" % sub, xdd("-help ioengine").out, re.M), "-help ioengine describes " + sub)
    for sub in "summary detailed output append dump wrap oneshot size triggertime triggerop normalize on off".split():
        t.ok(re.search(r"^ +%s\b" % sub, xdd("-help timestamps").out, re.M), "-help timestamps describes " + sub)
    t.ok(xdd("-help op -zzzz").status == 0, "-help ends the reading of the command line")
    t.ok(xdd("-op read -targets 1 data -help").out == usage.out, "-help after other options")
    for name in ("-version", "-ver", "--version", "-V", "-v"):
        run = xdd(name)
        t.ok(run.status == 0 and re.match(r"xdd: Version \d+\.\d+\S*\n$", run.out) and not run.err, name, run)


def test_names():
    """Alternate names, two dashes with the last of them; and that the option does what its row says."""
    where = directory(a_cfg="-queuedepth 5\n", s_cfg="[a]\n-queuedepth 6\n[b]\n")
    plain = look(BASE, cwd=where)
    t.equal((plain.run.status, len(plain.targets), plain.run.err), (0, 2, ""), "-dryrun", plain.run)
    for option in OPTIONS:
        if option.name in NO_RUN + ABSENT:
            continue
        base = BASE
        # Two operations for all targets are refused, and -numreqs overrides the amounts in bytes.
        if option.name in ("op", "rwratio") or "-op " in option.args:
            base = BASE.replace("-op read ", "")
        if option.name in AMOUNTS:
            base = BASE.replace("-numreqs 2", "-timelimit 60")
        names = [option.name] + option.aliases.split()
        for name in names:
            word = ("--" if name is names[-1] else "-") + name
            what = look("%s %s %s" % (base, word, option.args), cwd=where)
            if option.name in AMOUNTS:
                what.run.err = re.sub("xdd: warning: [^\n]*the operations reach to[^\n]*\n", "", what.run.err)
            good = what.run.status == 0 and not [line for line in what.run.error_lines() if "warning" not in line]
            if option.label:
                got, before = ((w.each(option.label) if isinstance(option.value, list) else w.all.get(option.label))
                               for w in (what, plain))
                good = good and got == option.value and before != option.value
            t.ok(good, "%s %s" % (word, option.args), "%s: wanted %r\n%s" % (option.label, option.value, what.run) if not good else "")
    t.equal(sorted(os.listdir(where)), ["a.cfg", "data", "s.cfg"], "-dryrun creates none of the files that were named")


def test_scopes():
    """The guide's example; unit/test_parse has scopes, names of targets, setup files, and options that are given again."""
    where = directory(s1="x" * 9000, s3="x" * 9000)
    run = xdd("-verbose -op read -op target 1 write -targets 3 s1 s2 s3 -reqsize 1 -numreqs 7", cwd=where)
    t.equal([(r["Target"], r["Op_Type"], r["Ops"], r["Bytes_Xfered"]) for r in run.rows() if r["What"] == "TARGET_PASS"],
            [("0", "read", "7", "7168"), ("1", "write", "7", "7168"), ("2", "read", "7", "7168")], "read, write, read", run)
    with open(os.path.join(where, "s1"), "rb") as a, open(os.path.join(where, "s3"), "rb") as b:
        t.ok(a.read() == b.read() == b"x" * 9000, "what is read is not written")
    t.equal(os.path.getsize(os.path.join(where, "s2")), 7168, "what is written")


def test_equals():
    """--option=value is "-option value"."""
    one = "-targets 1 null -numreqs 3 -dryrun "
    plain = xdd(*(one + "-op noop -seek random -id a=b -queuedepth target 0 2 -reqsize 4").split())
    for words in ("--op=noop --seek=random --id=a=b --queuedepth=target 0 2 --reqsize=4", "-op=noop -seek=random -id=a=b "
                  "-queuedepth=target 0 2 -reqsize=4"):
        run = xdd(*(one + words).split())
        t.equal((run.status, of_plan(run)), (0, of_plan(plain)), "%s is the same" % words, run)
    with open(t.path("equals.cfg"), "w", encoding="ascii") as f:
        f.write("--op=noop\n--targets=1 null\n--queuedepth=x\n")
    run = xdd("-setup", t.path("equals.cfg"), "-numreqs", 3)
    t.ok(run.status == 2 and "equals.cfg:3: --queuedepth x: expected" in run.err, "a setup file: where it stands", run)


def of_plan(run):
    """The id, and the lines about the target."""
    return re.findall(r"^(?:ID|\t\t(?!Process ID)).*$", run.out, re.M)


def test_suboptions():
    one = "-targets 1 data -op write -reqsize 1 -numreqs 2 "
    for word, name in (("sequential", "sequential"), ("random seed 5", "random"), ("stagger", "staggered"), ("staggered", "staggered"),
                       ("stagger 4", "staggered"), ("interleave 2", "interleaved"), ("streams", "streams"), ("none", "none")):
        shown([name], PATTERN, one + "-seek " + word)
    for args in ("-seek range 40 random seed 7", "-seek random -seek range 40 -seek seed 7", "-seek target 0 random range 40"):
        what = look(one + args)
        t.equal((what.each(PATTERN), what.each(RANGE)), (["random"], [40 * K]), args)
    where = directory()
    run = xdd(one + "-seek random range 40 seed 7 save list", cwd=where)
    again = xdd(one + "-seek save other seed 7 range 40 random", cwd=where)
    lists = []
    for name in ("list.T0.txt", "other.T0.txt"):
        with open(os.path.join(where, name)) as f:
            lists.append(f.read())
    t.ok(run.status == 0 and again.status == 0 and lists[0] == lists[1] and len(lists[0].splitlines()) == 4,
         "suboptions in any order: the same list", run)
    shown(["loaded"], PATTERN, "-targets 1 data -reqsize 1 -seek load list", cwd=where)


def test_shown_words():
    """How -dryrun shows data patterns and time stamps."""
    one = "-op write -targets 1 null -numreqs 10 "
    with open(t.path("eleven"), "w", encoding="ascii") as f:
        f.write("x" * 11)
    for words, wanted in (("crpat", "crpat"), ("cspat", "cspat"), ("ascii abc", "ASCII: 'abc' <3 bytes> Not Replicated"),
                          ("ascii abc -datapattern replicate", "ASCII: 'abc' <3 bytes> Replicated"),
                          ("hex abcd -datapattern replicate", "HEX: 0xabcd <2 bytes>, Replicated"),
                          ("sequenced prefix 1f -datapattern inverse", "sequenced ,inversed ,PREFIX: 0x1f <2 nibbles>"),
                          ("compress 30 dedupe 20", "compress 30 percent ,dedupe 20 percent"), ("dedupe 20", "dedupe 20 percent"),
                          ("compress 0", "compress 0 percent"), ("file " + t.path("eleven"), "file '%s' <11 bytes>" % t.path("eleven"))):
        shown([wanted], "Data pattern in buffer", one + "-datapattern " + words)
    for words, wanted, size in (("detailed -ts triggertime 3000000000 -ts size 8", "DETAILED SUMMARY WRAP TRIGTIME 3000000000", "8"),
                                ("summary -ts normalize -ts oneshot -ts triggerop 4 -ts size 9", "SUMMARY NORMALIZE ONESHOT :TRIGOP 4", "6"),
                                ("wrap -ts detailed -ts append -ts output z -ts size 3", "DETAILED SUMMARY APPEND WRAP", "3")):
        what = look(one + "-ts " + words)
        t.equal((what.run.status, what.targets[0].get("Timestamping"), what.targets[0].get("Timestamp table size in operations")),
                (0, "enabled with options, " + wanted, size), "-ts " + words, what.run)


def test_largest_amount():
    """-bytes up to 2^64-1, which only time or a signal can end; files and devices have no such offsets: badinput.py."""
    for words in ("-op noop -targets 1 null", "-op read -targets 1 null -seek random", "-targets 1 null -seek stagger -queuedepth 4",
                  "-op noop -targets 1 data -seek interleave 7", "-op noop -targets 1 null -blocksize 1 -reqsize 1",
                  "-op read -targets 1 data -reqsize 4 -seek random range 64"):
        run = xdd(words + " -bytes 18446744073709551615 -timelimit 0.1")
        row = run.row("COMBINED") or {}
        t.ok(run.status == 0 and not run.error_lines() and int(row.get("Ops", 0)) > 0, words + " -bytes 2^64-1", run)
    shown([2 ** 64 - 1], BYTES, "-op noop -targets 1 null -bytes 18446744073709551615")


def test_id():
    one = "-op noop -targets 1 null -numreqs 1".split()
    shown("'No ID Specified'", "ID for this run", *one)
    shown("'first second run'", "ID for this run", *one, "-id", "first", "-identifier", "second run")
    shown("'target'", "ID for this run", *one, "-id", "target")
    run = xdd(*one, "-id", "two words", "-id", "commandline", "-dryrun")
    line = "%s -op noop -targets 1 null -numreqs 1 -id 'two words' -id commandline -dryrun" % t.XDD
    t.ok("ID for this run, 'two words %s'" % line in run.out, "-id commandline: the line, as one would type it", run)


def test_setup_files():
    """unit/test_setup_words has the words of a file, unit/test_parse their meaning."""
    run = xdd("-targets 1 null -numreqs 2 -setup empty.cfg -dryrun -id commandline", cwd=directory(empty_cfg=""))
    t.ok("-setup empty.cfg -dryrun -id commandline'" in run.out, "-id commandline names the setup file", run)


def snapshot(top):
    found = {}
    for root, dirs, files in os.walk(top):
        for name in [""] + dirs + files:
            st = os.lstat(os.path.join(root, name))
            found[os.path.join(root, name)] = (st.st_ino, st.st_mode, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
    return found


def test_dryrun_touches_nothing():
    where = directory(old_csv="", res_txt="before\n")
    os.mkdir(os.path.join(where, "sub"))
    args = ("-op write -targets 3 data new sub/new -reqsize 1 -numreqs 5 -passes 3 -output out "
            "-csvout old.csv -combinedout c.csv -errout err -seek random save list -dio target 0 -blocksize 4096").split()
    before = snapshot(where)
    run = xdd(*args, "-dryrun", cwd=where)
    t.ok(run.status == 0 and not run.rows() and "COMBINED" not in run.out and len(Shown(run).targets) == 3,
         "-dryrun: all three targets are shown, and no results", run)
    t.equal(snapshot(where), before, "-dryrun creates and changes nothing")
    t.ok(not run.err, "-dryrun of files that cannot be at fault says nothing on standard error", run)
    run = xdd(*args, "-dryrun", "-timelimit", "100000", "-startdelay", "3600", cwd=where)
    t.ok(run.status == 0, "-dryrun waits for nothing", run)
    run = xdd("-dryrun -op read -targets 2 data nosuch -numreqs 1", cwd=where)
    t.equal((run.status, run.out), (4, ""), "-dryrun finds what a run would", run)
    if not s.can_trace():
        t.skip("-dryrun opens nothing for writing", s.sys_why())
        return
    run, trace = s.trace(*args, "-dryrun", cwd=where)
    elsewhere = ("/proc", "/sys", "/etc", "/lib", "/usr", "/dev")
    writing = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"}
    ours = [(name, flags) for name, flags in trace.opens if not name.startswith(elsewhere)]
    t.ok(run.status == 0 and trace.opens and not any(writing & set(flags) for _, flags in ours),
         "-dryrun opens nothing for writing", "%s\n%s" % (ours, run))
    t.ok(not [name for name, _ in ours if os.path.basename(name) in ("data", "new")],
         "-dryrun does not open its targets", ours)


def test_verbose():
    args = "-op noop -targets 1 null -numreqs 3 -passes 2 -queuedepth 2 "
    for more, rows, full in (("", {"COMBINED"}, False), ("-verbose", {"COMBINED", "TARGET_PASS", "TARGET_AVERAGE"},
        True),
                             ("-verbose -unverbose", {"COMBINED"}, False),
                             ("-reallyverbose -unv", {"COMBINED"}, False),
                             ("-unverbose -verbose", {"COMBINED", "TARGET_PASS", "TARGET_AVERAGE"}, True),
                             ("-reallyverbose", {"COMBINED", "TARGET_PASS", "TARGET_AVERAGE"}, True)):
        run = xdd(args + more)
        t.ok(run.status == 0 and {r["What"] for r in run.rows()} == rows and ("XDD DISCLAIMER" in run.out) == full,
             (more or "without -verbose") + ": " + " ".join(sorted(rows)), run)
    sizes = r"^Size of TARGET_DATA is \d+"
    t.ok(re.search(sizes, xdd(args + "-reallyverbose").out, re.M) and not re.search(sizes, xdd(args + "-verbose").out,
        re.M),
         "-reallyverbose shows the sizes of internal structures, -verbose does not")
    run = xdd(args + "-qthreadinfo")
    t.equal(sum(int(r["Ops"]) for r in run.rows() if r["What"] == "QUEUE_PASS"), 6, "-qthreadinfo: QUEUE_PASS lines")


def test_quiet():
    args = "-op noop -targets 1 null -numreqs 3 -passes 2 "
    for more in ("-quiet", "-q", "-q -latency", "-q -verbose", "-q -intervals 1", "-q -qthreadinfo", "-q -report table"):
        run = xdd(args + more)
        t.equal((run.status, run.out, run.err), (0, "", ""), more + ": no results", run)
    run = xdd(args + "-q -csvout - -outputformat new +OPS")
    t.equal((run.status, run.out, run.err), (0, "OPS\n6\n", ""), "-q -csvout -: one number", run)
    run = xdd(args + "-q -jsonout -")
    t.ok(run.status == 0 and json.loads(run.out)["plan"]["options"]["quiet"] is True and not run.err, "-q -jsonout -", run)
    where = directory()
    run = xdd(args + "-q -output result", cwd=where)
    with open(os.path.join(where, "result"), encoding="utf-8") as f:
        t.ok(run.status == 0 and not run.out and "COMBINED" in f.read(), "-q -output: the file has the results", run)
    run = xdd("-op read -target absent -q")
    t.equal((run.status, run.out, len(run.error_lines())), (4, "", 1), "-q: messages stay", run)
    run = xdd(args + "-q -report person")
    t.equal((run.status, run.out, len(run.error_lines())), (2, "", 1), "-q -report person is refused", run)
    where = directory(a_cfg="[one]\n-op noop -targets 1 null -numreqs 3\n[two]\n-op noop -targets 1 null -numreqs 3\n")
    run = xdd("-setup a.cfg -q", cwd=where)
    t.equal((run.status, run.out), (0, ""), "-q: sections", run)


def test_links():
    """The binary by its other names."""
    for name in ("xdd.Linux", "other"):
        link = t.path(name)
        os.symlink(t.XDD, link)
        run = t.command([link, "-version"], timeout=LIMIT_S)
        t.equal((run.status, run.out[:12]), (0, "xdd: Version"), name + ": is xdd")
    run = xdd("gettimeofday")
    t.equal((run.status, run.out), (2, ""), "a word that is no command: status 2")
    t.ok("xdd: gettimeofday: " in run.err, "a word that is no command: the message names it", run)


t.run_all()
