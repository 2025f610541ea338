#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Signals at random moments of thirteen kinds of runs, some of them twice, and with outputs that have no reader: the run
ends soon, with status 5; its documents, dumps and CSV files are whole and say so; and no file is left over.

Run n is a function of the seed (XDD_TEST_SEED) and n, except for the moment at which the signal arrives.
XDD_FUZZ_SIGNALS says how many there are; XDD_TEST_LONG=1 makes 300, and 600 with stalled outputs.
"""
import collections
import concurrent.futures
import csv
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time

import xddjson as j
import xddstall
import xddsys as s
import xddtest as t

SEED = int(os.environ.get("XDD_TEST_SEED", "1"))
LONG = os.environ.get("XDD_TEST_LONG")
LIMIT_S = 60
WORKERS = 6
SIGNALS = ("INT", "INT", "TERM", "TERM", "HUP", "USR1", "PIPE")
STALLS = ("stdout", "stderr", "both", "-output", "-csvout", "-latency output", "-intervals 1ms output", "-heartbeat 0.01 ops output")
FIFO_SUFFIX = {"-heartbeat 0.01 ops output": ".T0000.csv"}

# Each lasts until a signal ends it, however long the machine stands still before. f, g: files of 1 MiB; new: none.
KINDS = """
-op read -targets 1 f -reqsize 4 -numreqs 200 -passes 100000
-op write -targets 1 new -reqsize 4 -numreqs 100 -passes 100000 -deletefile
-op write -targets 1 new -reqsize 4 -numreqs 4 -passes 100000 -createnewfiles -deletefile -throttle ops 1000
-op read -targets 2 f g -reqsize 4 -numreqs 256 -queuedepth 8 -ioengine libaio -passes 100000
-op read -targets 2 f g -reqsize 4 -numreqs 256 -queuedepth 8 -ioengine io_uring -passes 100000 -reopen
-op read -targets 1 f -reqsize 4 -numreqs 256 -queuedepth 4 -ioengine mmap -passes 100000
-op noop -targets -4 null -reqsize 4 -queuedepth 16 -timelimit 600
-op noop -targets 2 null null -numreqs 600000 -lockstep 0 1 op 1 op 1 wait complete -throttle ops 1000
-op read -targets 2 f g -reqsize 4 -numreqs 100 -startdelay target 1 600 -starttrigger 0 1 percent 100
-op noop -targets 1 null -numreqs 100 -throttle ops 500 -passes 2000 -passdelay 0.1 -ts dump dmp -ts summary output rep
-op read -targets 1 f -reqsize 4 -numreqs 256 -passes 100000 -heartbeat 0.01 ops output hb -latency intervals 0.01 output lat.csv -intervals 1ms output int.csv
-op write -targets 1 new -reqsize 4 -numreqs 256 -datapattern tagged -passes 100000 -syncwrite -csvout out.csv -qthreadinfo
-targets 2 f g -numreqs 600000 -rwratio 50 -seek random range 200 -operationdelay 0.001 -syncio 10 -queuedepth 2
""".strip().splitlines()

Case = collections.namedtuple("Case", "number words early sends stall")


def make(number, stalled):
    """
    The words of a run, what is sent when (seconds after the one before), and which output stalls. The first moment is
    after the start of the process where it is an `early` one, and else after it sees to signals.
    """
    r = random.Random("%d %d %d" % (SEED, number, stalled))
    words = shlex.split(KINDS[number % len(KINDS)]) + ["-jsonout", "doc.json"]
    stall = STALLS[number // len(KINDS) % len(STALLS)] if stalled else None
    if stall and stall.startswith("-"):
        words += stall.split() + ["fifo"]
    elif stall == "stderr":
        words += ["-debug", "io"]
    elif stall:
        words += ["-qthreadinfo"]
    first = r.choice(SIGNALS)
    early = r.random() < 0.2
    sends = [(r.uniform(0, 0.05 if early else 0.5), first)]
    if r.random() < 0.15:
        sends.append((r.uniform(0.12, 0.3), r.choice(SIGNALS[:4])))
    if first in ("USR1", "PIPE"):
        sends.append((r.uniform(0, 0.2), "TERM"))
    return Case(number, words, early, sends, stall)


def expects(pid, name):
    """True if the program has begun to handle that signal: before, the signal has the action that the kernel gave it."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
            masks = re.findall(r"^Sig(?:Blk|Ign|Cgt):\s*([0-9a-f]+)", f.read(), re.M)
    except OSError:
        return False
    return any(int(mask, 16) >> (getattr(signal, "SIG" + name) - 1) & 1 for mask in masks)


def run(case, directory):
    """
    Run it in that directory; returns (status, stdout, stderr, sent), status None for one that had to be killed. `sent`
    has the signals, and whether the program expected each.
    """
    os.mkdir(directory)
    for name in "fg":
        with open(os.path.join(directory, name), "wb") as f:
            f.write(bytes(1 << 20))
    fifo = case.stall and case.stall.startswith("-") and os.path.join(directory, "fifo" + FIFO_SUFFIX.get(case.stall, ""))
    stalled = xddstall.Stalled(fifo or None) if case.stall else None
    streams = {name: open(os.path.join(directory, "." + name), "wb") for name in ("stdout", "stderr")}
    full = {"both": ("stdout", "stderr")}.get(case.stall, (case.stall,))
    # A second signal ends the process without waiting for its threads: a report of that would wait for the reader.
    env = dict(os.environ, TSAN_OPTIONS=t.sanitizer_options("TSAN_OPTIONS", "report_thread_leaks=0"))
    p = subprocess.Popen([t.XDD] + case.words, stdin=subprocess.DEVNULL, cwd=directory, env=env,
                         **{name: stalled.w if name in full else f for name, f in streams.items()})
    sent = []
    try:
        # One whose stderr stalls may wait in a warning, before it has begun to see to signals.
        end = time.monotonic() + (1 if case.stall in ("stderr", "both") else 20)
        while not case.early and p.poll() is None and not expects(p.pid, "INT") and time.monotonic() < end:
            time.sleep(0.005)
        for after, name in case.sends:
            time.sleep(after)
            if p.poll() is None:
                sent.append((name, expects(p.pid, name)))
                p.send_signal(getattr(signal, "SIG" + name))
        try:
            status = p.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            status = None
    finally:
        p.kill()
        p.wait()
        if stalled:
            stalled.close()
    texts = []
    for name, f in streams.items():
        f.close()
        with open(f.name, encoding="utf-8", errors="replace") as f:
            texts.append(f.read())
        os.unlink(f.name)
    if fifo:
        os.unlink(fifo)
    return status, texts[0], texts[1], sent


def wrong(case, directory):
    """(status, what is wrong or None)"""
    status, out, err, sent = run(case, directory)
    why = judge(case, directory, status, out, err, sent)
    return status, why and "%s\nsent: %s of %s, stalled: %s\n%s\n%s%s" % (
        why, sent, case.sends, case.stall, shlex.join(case.words), err[-2000:], out[-2000:])


def judge(case, directory, status, out, err, sent):
    ends = [name for name, _ in sent if name in ("INT", "TERM", "HUP")]
    if status is None:
        return "no end within %d s" % LIMIT_S
    if re.search("Sanitizer|runtime error|Assertion", err):
        return "a sanitizer or an assertion"
    if status < 0:
        early = [getattr(signal, "SIG" + name) for name, expected in sent if not expected]
        return None if -status in early and not out else "signal %d" % -status
    if status != (5 if ends else 0):
        return "status %d" % status
    return files_wrong(case, directory, status, len(ends) > 1)


def files_wrong(case, directory, status, twice):
    """The files that exist are whole. Two signals end a run at once: it need not have written anything."""
    names = set(os.listdir(directory))
    strays = [n for n in names if not re.match(
        r"(f|g|doc\.json|out\.csv|lat\.csv|int\.csv|(hb|fifo)\.T\d+\.csv|dmp\.target\.\d+\.bin|rep\.target\.\d+\.csv)$", n) and
        not (re.match(r"new(\.\d+)?$", n) and (twice or "-deletefile" not in case.words))]
    if strays:
        return "left behind: %s" % strays
    if "doc.json" in names:
        why = document_wrong(os.path.join(directory, "doc.json"), status)
        if why:
            return why
    elif not twice:
        return "no document"
    for name in sorted(names):
        file = os.path.join(directory, name)
        if name.endswith(".bin"):
            read = t.command([t.XDD, "tsread", "-csv", file])
            if read.status != 0:
                return "a dump that cannot be read: %s" % read
        elif name.endswith(".csv") and not name.startswith("rep") and not csv_whole(file):
            return "%s has part of a line" % name
    return None


def document_wrong(file, status):
    try:
        document = j.load(file)
    except ValueError as why:
        return "no JSON: %s" % why
    if document["status"] != status or (document["end"] == "normal") != (status == 0) or document["partial"] != (status == 5):
        return "the document says %r, status %s, partial %s" % (document["end"], document["status"], document["partial"])
    return None


def csv_whole(file):
    with open(file, newline="", encoding="utf-8") as f:
        text = f.read()
    widths = {len(row) for row in csv.reader(text.splitlines()) if row}
    # lat.csv has a comment line of another width first.
    return (not text or text.endswith("\n")) and len(widths) <= (2 if file.endswith("lat.csv") else 1)


def test_signals(stalled, n):
    title = "%d runs with signals%s" % (n, ", outputs stalled" if stalled else "")
    statuses, findings = collections.Counter(), []

    def worker(first):
        for number in range(first, n, WORKERS):
            directory = t.path("%s%d" % ("s" if stalled else "r", number))
            case = make(number, stalled)
            status, why = wrong(case, directory)
            shutil.rmtree(directory, ignore_errors=True)
            statuses[status] += 1
            if why:
                findings.append("run %d, seed %d: %s" % (number, SEED, why))
            if len(findings) >= 3:
                return

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for future in [pool.submit(worker, first) for first in range(WORKERS)]:
            future.result()
    t.diag("by status: %s" % dict(sorted(statuses.items(), key=str)))
    t.ok(not findings, title, "\n\n".join(findings))
    t.ok(statuses[5] * 2 > n, title + ": most of them met a run", statuses)


EACH = int(os.environ.get("XDD_FUZZ_SIGNALS", "300" if LONG else "13" if s.sanitized() else "26"))
t.diag("seed %d" % SEED)
test_signals(False, EACH)
test_signals(True, 2 * EACH)
t.done()
