#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Random and mutated command lines, with -dryrun and as tiny runs: each ends by itself with a status of its own; a
refusal is one line; no file remains except those requested; a JSON document has the status of the process.

Command n is a function of the seed (XDD_TEST_SEED) and n. XDD_FUZZ_COMMANDS says how many of each kind there are;
XDD_TEST_LONG=1 makes 20,000 in total. XDD_TEST_ONLY="<kind> <n>" runs one of them, and shows it.
"""
import collections
import concurrent.futures
import json
import os
import random
import re
import resource
import shlex
import shutil

import xddsys as s
import xddtest as t

t.look_at_all_warnings()

SEED = int(os.environ.get("XDD_TEST_SEED", "1"))
LONG = os.environ.get("XDD_TEST_LONG")
LIMIT_S = 60
FILE_MAX = 32 << 20     # of what a run may write
WORKERS = 2

TARGETS = ("d0", "d1", "null", "null", "new", "empty", "d0", "missing", "dir", "/dev/null", "/dev/zero")
SMALL = ("0", "1", "2", "3", "4", "7", "8", "16")
ODD = ("-1", "", "0", "1.5", "1e3", "0x10", "1k", "nan", "inf", "99999999999999999999", "18446744073709551615",
       "9223372036854775807", "4294967296", "65536", "a", "-", "--", "target", "\x1b[1m", "\xe9", "\n", "'", "%s", "0.0001")
# %n: a small number, %t: one of a target, %s: a short time.
FRAGMENTS = """
-passes %n|-queuedepth %n|-queuedepth target %t %n|-reqsize %n|-blocksize 512|-numreqs target %t %n|-kbytes %n|-bytes 5000
-startoffset %n|-passoffset %n|-targetoffset %n|-seek random|-seek stagger range %n|-seek interleave %n|-seek none
-seek random seed %n range 100|-seek load list|-seek save seeks|-seek disthist %n|-seek seekhist %n|-randomize|-range %n
-datapattern random|-datapattern sequenced|-datapattern hex deadbeef replicate|-datapattern ascii ab|-datapattern file d1
-datapattern tagged|-datapattern compress 50|-datapattern x inverse|-verify contents|-verify location|-dio|-dropcache
-ioengine psync|-ioengine libaio|-ioengine io_uring|-ioengine io_uring batch %n|-ioengine mmap|-ioengine mmap touch
-ioengine null|-ioengine io_uring sqpoll|-threads %n|-sgio|-ordering storage serial|-ordering storage loose
-ordering storage strict|-ordering storage none|-memalign 4096|-memalign %n|-numa local|-nomemlock|-processor 0|-singleproc 0
-roundrobin all|-passes until 50 %n|-passdelay %s|-startdelay %s|-targetstartdelay %s|-timelimit %s|-throttle ops 1000
-throttle bw 10|-throttle delay %s|-throttle ops 5000 var 10|-operationdelay %s|-nobarrier|-stoponerror|-maxerrors %n
-maxerrorstoprint %n|-lockstep 0 1 op 1 op 1 wait complete|-lockstep 1 0 percent 10 kbytes 4 run stop|-syncio %n
-starttrigger 0 1 op 1|-stoptrigger 0 1 percent 50|-deskew|-verbose|-unverbose|-reallyverbose|-qthreadinfo|-id commandline
-id 'a "b"'|-output out.txt|-errout err.txt|-csvout out.csv|-combinedout com.csv|-jsonout j2.json|-outputformat new +WHAT+OPS
-outputformat add +RESPP99|-percentcpu relative|-heartbeat 0.01 ops pct etc lat|-heartbeat 0.01 output hb|-heartbeat off
-latency p50 p99|-latency histogram|-latency intervals 0.01|-latency output lat.csv|-intervals %s|-intervals 0.01 output int.csv|-ts summary|-ts detailed
-ts output rep|-ts dump dmp|-ts size %n wrap|-ts size %n oneshot|-timerinfo|-extendedstats|-debug io|-debug ts|-setup setup
-setup loop|-createnewfiles|-recreatefiles|-reopen|-deletefile|-preallocate 8k|-pretruncate 8k|-syncwrite|-flushwrite %n
-retry %n|-reportthreshold %s|-op target %t write|-rwratio %n|-rwratio 50 random|-help|-help op|-version|-fullhelp
--rw=randread --bs=4k --iodepth=%n|--rw=randrw --rwmixread=70|--direct=1 --ioengine=libaio|--filename=d0:d1 --numjobs=%n
--size=8k --time_based|--fallocate=posix|--output-format=json --output=out.txt|--write_bw_log=log|-iodepth|if=d0 bs=4k count=%n
if=/dev/zero of=d0|of=d1 conv=fsync,notrunc oflag=dsync|thr=%n bpt=%n|-w -t 4k -b 8k -o d1 -e|-op randread|--op=read|-help %n iodepth
-targetdir dir|-target d1|-targets 1 d0|-verify target %t contents|-hugepages|-sharedmemory
""".replace("\n", "|").strip("|").split("|")
# These change the machine, take its processors, or wait for years.
NEVER = re.compile(r"-+(force|dropcache|maxpri|maxall|processlock|starttime|st)$")
SUBCOMMANDS = """
tsread dump.bin|tsread -csv dump.bin|tsread -json dump.bin|tsread -c -o ts.txt dump.bin dump.bin|tsread d0|tsread -help
compare a.json a.json|compare a.json a.json -- a.json a.json|compare -failif p99+10% a.json a.json|compare a.json d0|compare -help
""".replace("\n", "|").strip("|").split("|")

Command = collections.namedtuple("Command", "kind number words json")


def fragment(r, targets):
    text = r.choice(FRAGMENTS)
    return [w.replace("%n", r.choice(SMALL)).replace("%t", str(r.randrange(targets))).replace(
        "%s", r.choice(("0.001", "0.01", "5ms"))) for w in shlex.split(text)]


def mutate(r, words, odd):
    """Change one word or its place."""
    at = r.randrange(len(words)) if words else 0
    how = r.randrange(6)
    if not words or how == 0:
        words.insert(at, r.choice(odd))
    elif how == 1:
        del words[at]
    elif how == 2:
        words.insert(at, words[r.randrange(len(words))])
    elif how == 3:
        words[at] = r.choice(odd)
    elif how == 4 and words[at]:
        place = r.randrange(len(words[at]))
        words[at] = words[at][:place] + r.choice(("", "x", "-", "9", "\t")) + words[at][place + 1:]
    else:
        other = r.randrange(len(words))
        words[at], words[other] = words[other], words[at]


def make(kind, number):
    """A command: "dry", "real" or "sub"."""
    r = random.Random("%d %s %d" % (SEED, kind, number))
    if kind == "sub":
        words = shlex.split(r.choice(SUBCOMMANDS))
        head, words = words[:1], words[1:]
    else:
        n = r.choice((1, 1, 2, 2, 3))
        head, words = [], ["-op", r.choice(("read", "read", "write", "noop")), "-targets", str(n)]
        words += [r.choice(TARGETS[:7] if r.random() < 0.8 else TARGETS) for _ in range(n)]
        words += ["-reqsize", "4", "-numreqs", r.choice(SMALL[1:])]
        for _ in range(r.choice((0, 1, 1, 2, 3, 5))):
            words += fragment(r, n)
    # Real runs stay small because their numbers are small.
    odd = ODD if kind != "real" else SMALL + ODD[:6] + ODD[12:]
    for _ in range(r.choice((0, 0, 0, 1, 1, 2, 6))):
        mutate(r, words, odd)
    words = [w for w in words if not NEVER.match(w)]
    document = None
    if kind == "dry":
        words.append("-dryrun")
    elif kind == "real":
        if r.random() < 0.6:
            document = "json"
            words += ["-jsonout", document]
        words += ["-runtime", "0.3"]
    return Command(kind, number, head + words, document)


class Place:
    """A directory with what the commands use, and what is there after one."""

    def __init__(self, name, sources):
        self.sources = sources
        self.path = os.path.join(BASE, name)

    def fill(self):
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(os.path.join(self.path, "dir"))
        for name in ("d0", "d1"):
            with open(os.path.join(self.path, name), "wb") as f:
                f.write(bytes(range(256)) * 256)
        for name, text in (("empty", ""), ("setup", "-verbose # said\n-reqsize 1\n"), ("loop", "-setup loop\n"),
                           ("list", "0 0 4 r 0 0\n1 8 4 r 0 0\n2 4 4 n 0 0\n")):
            with open(os.path.join(self.path, name), "w", encoding="ascii") as f:
                f.write(text)
        for name, source in self.sources.items():
            shutil.copy(source, os.path.join(self.path, name))

    def state(self):
        found = {}
        for where, _, files in os.walk(self.path):
            for name in files:
                st = os.lstat(os.path.join(where, name))
                found[os.path.relpath(os.path.join(where, name), self.path)] = st.st_ino, st.st_size, st.st_mtime_ns
        return found


def limits():
    """Of this process and what it runs; set here, since code between fork() and exec() is not for processes with threads."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MAX, FILE_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def wrong(command, place):
    """Run it; returns its status, and what is wrong or None."""
    place.fill()
    before = place.state()
    run = t.command([t.XDD] + command.words, timeout=LIMIT_S, cwd=place.path)
    after = place.state()
    why = judge(command, run)
    if not why:
        why = strays(command, before, after)
    if not why and command.json:
        why = judge_json(os.path.join(place.path, command.json), run)
    return run.status, why and "%s\n%s" % (why, run)


def judge(command, run):
    if run.status not in range(8):
        return "status %s" % run.status
    if re.search(r"Sanitizer|runtime error|Assertion|assert", run.err):
        return "a sanitizer or an assertion"
    errors = [line for line in run.error_lines() if line.startswith("xdd: ") and not re.match(r"xdd: (warning|note): ", line)]
    # All words of other tools are answered at once, and so are the words after -help.
    many = len(errors) > 1 and run.status in (2, 3) and re.search(" is a word of |^xdd: -help ", run.err, re.M)
    if command.kind == "dry" and len(errors) != (run.status != 0) and not many:
        return "%d lines of errors" % len(errors)
    if run.status in (2, 3) and command.kind == "real" and len(errors) != 1 and "err.txt" not in command.words and not many:
        return "%d lines of errors for a refusal" % len(errors)
    if re.search("[\x00-\x08\x0e-\x1f\x7f]", run.err):
        return "control characters in a message"
    return None


def strays(command, before, after):
    """Files that the command did not request; with -dryrun, any change."""
    if command.kind == "dry":
        return "a dry run changed files" if before != after else None
    words = {os.path.normpath(w) for w in command.words if w} | set(command.words)
    words |= {"dir/" + w for w in words}
    for name in set(after) - set(before):
        if not any(name == w or name.startswith(w + ".") for w in words):
            return "nothing asks for the file %r" % name
    return None


def judge_json(file, run):
    """A document that was begun is complete, and knows the status."""
    if not os.path.exists(file):
        return "results, and no document" if run.rows() else None
    with open(file, encoding="utf-8") as f:
        try:
            document = json.load(f)
        except ValueError as why:
            return "no JSON: %s" % why
    return None if document["status"] == run.status else "JSON says status %s" % document["status"]


def run_all(kind, n):
    """Results by status, and up to three findings."""
    statuses, findings = collections.Counter(), []

    def worker(first):
        place = Place("%s%d" % (kind, first), SOURCES)
        for number in range(first, n, WORKERS):
            command = make(kind, number)
            status, why = wrong(command, place)
            statuses[status] += 1
            if why:
                findings.append("%s %d, seed %d: %s\n%s" % (kind, number, SEED, why, shlex.join(command.words)))
            if len(findings) >= 3:
                return

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for future in [pool.submit(worker, first) for first in range(WORKERS)]:
            future.result()
    return statuses, findings


def test_kind(kind, title, n):
    statuses, findings = run_all(kind, n)
    t.diag("%s: %d, by status: %s" % (title, sum(statuses.values()), dict(sorted(statuses.items(), key=str))))
    t.ok(not findings, "%s: statuses, messages, files" % title, "\n\n".join(findings))
    refused = sum(statuses[x] for x in (2, 3, 4))
    t.ok(statuses[0] * 10 >= n and refused * 10 >= n, "%s: one in ten is accepted, and one refused" % title, statuses)


def sources():
    """A dump and a document to read."""
    run = t.xdd("-op", "noop", "-targets", 1, "null", "-reqsize", 4, "-numreqs", 10, "-passes", 3, "-ts", "dump",
                t.path("made"), "-jsonout", t.path("made.json"))
    t.equal(run.status, 0, "a dump and a document to read")
    return {"dump.bin": t.path("made.target.0000.bin"), "a.json": t.path("made.json")}


BASE = os.path.join(s.MEMORY or t.tmp(), "xddfuzz.%d" % os.getpid())
SOURCES = sources()
EACH = int(os.environ.get("XDD_FUZZ_COMMANDS", "6500" if LONG else "60" if s.sanitized() else "200"))
t.diag("seed %d" % SEED)
limits()
try:
    if os.environ.get("XDD_TEST_ONLY"):
        which, number = os.environ["XDD_TEST_ONLY"].split()
        one = make(which, int(number))
        t.diag(shlex.join(one.words))
        t.equal(wrong(one, Place("one", SOURCES))[1], None, "this one")
    else:
        test_kind("dry", "dry runs", EACH)
        test_kind("real", "tiny runs", EACH)
        test_kind("sub", "tsread and compare", EACH // 4 if not LONG else EACH + 500)
finally:
    shutil.rmtree(BASE, ignore_errors=True)
t.done()
