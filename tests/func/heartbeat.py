#!/usr/bin/env python3
"""
The heartbeat: lines to standard error and to files, on a terminal, unasked and when a signal asks; its
values against the results of the run.
"""
import csv
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddsys as s
import xddtest as t

t.may_warn(m.NO_FIELD)

LIMIT_S = 60
# 100 operations of 1 KiB a second.
PACED = "-op noop -targets 1 null -reqsize 1 -operationdelay 0.01".split()
EVERY_WORD = "target ops bytes kbytes mbytes gbytes bw iops pct etc".split()
LEGEND = ["/TARGET", "/OPS", "/BYTES", "/KB", "/MB", "/GB", "/BW", "/IOPS", "/PCT", "/ET"]
GROUP = (r",0000,tgt,\d{10},ops,\d{15},B,\d{11}\.\d,KiB,\d{8}\.\d,MiB,\d{5}\.\d,GiB,(?:-1.00|\d{3,}\.\d\d),MBps"
         r",(?:-1.00|\d{3,}\.\d\d),iops,(?:-1.00|\d+\.\d\d)%,-?\d{6,7},s")


def lines(run):
    return [line for line in run.err.splitlines() if line.startswith("Pass,")]


def begun(run):
    """Those since the first operation; a run that begins late has lines of targets that wait."""
    return [line for line in lines(run) if "WAITING" not in line]


def begun_rows(path):
    """The same of a file, without its first line."""
    return [row for row in rows(path)[1:] if "WAITING" not in row[2]]


def ops_of(line):
    return [int(n) for n in re.findall(r",(\d{10}),ops", line)]


def test_lines():
    # The pass ends between two beats; a stall may bring its end close to one, where it has no line of its own.
    for _ in range(5):
        run = t.xdd(*PACED, "-numreqs", 150, "-heartbeat", 0.4, *EVERY_WORD)
        beats = begun(run)
        if beats and "[*]" in beats[-1]:
            break
    t.ok(run.status == 0 and 3 <= len(beats) <= run.seconds / 0.4 + 2, "a line every 0.4 s of 1.5 s, and the last one", run)
    t.ok(lines(run) == run.error_lines(), "nothing else on standard error", run)
    form = re.compile(r"Pass,0001,%s \+ \[[-|/\\*]\]%s$" % ("".join(LEGEND), GROUP))
    t.ok(all(form.match(line) for line in beats), "every field, in the order of the format", beats)
    values = [ops_of(line)[0] for line in beats]
    t.ok(values == sorted(values) and values[-1] == 150, "operations never go backwards and end at all of them", values)
    t.ok(beats and "[*]" in beats[-1] and ",100.00%" in beats[-1] and ",0000000,s" in beats[-1],
         "the last line is complete: 100 %, nothing left", beats[-1:])
    for line in beats:
        n = ops_of(line)[0]
        t.equal((",%015d,B" % (1024 * n) in line, ",%013.1f,KiB" % n in line, ",%010.1f,MiB" % (n / 1024) in line),
                (True, True, True), "bytes, KiB and MiB agree with the operations", line)
    percents = [float(p) for line in beats for p in re.findall(r"([\d.]+)%", line)]
    t.ok(all(abs(p - n / 1.5) < 0.01 for p, n in zip(percents, values)), "percent of the operations", beats)


def test_words():
    # The regular lines are far apart, so that one line alone is written, at the end, however long the machine takes.
    paced = [*PACED, "-numreqs", 20, "-hb", 60]
    for word, label in zip(EVERY_WORD, LEGEND):
        beats = lines(t.xdd(*paced, "-hb", word))
        t.ok(beats and beats[-1].startswith("Pass,0001,%s + [*]," % label), word + " alone", beats)
    host = os.uname().nodename
    for words, form in (("lf", r""), ("elapsed", r"/ELAPSED,\d+,"), ("tod", r"/TOD,\w{3} [\w :]+,"), ("3 lf", r""),
                        ("hostname elapsed", r"/HOST,%s,/ELAPSED,\d+," % re.escape(host))):
        beats = lines(t.xdd(*paced, "-hb", *words.split()))
        t.ok(beats and re.match(r"Pass,0001,%s \+ \[\*\]$" % form, beats[-1]), words + " alone: no fields that were not named", beats)
    run = t.xdd(*paced, "-hb", "lf")
    t.ok("warning: target 0, null: -heartbeat: no field is named, and its lines show none; name some, such as ops bw pct etc" in
         run.err and len(run.error_lines()) == 2, "which is said", run)
    both = lines(t.xdd(*paced, "-hb", "ops", "-hb", "pct"))
    t.ok(both and both[-1].startswith("Pass,0001,/OPS/PCT + [*],0000000020,ops,100.00%"), "words add up", both)
    run = t.xdd(*paced, "-heartbeat", "hostname", "tod", "elapsed", "ops")
    form = r"Pass,0001,/HOST,%s,/TOD,\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4},/ELAPSED,\d+,/OPS \+ \[\*\],0000000020,ops$"
    t.ok(lines(run) and re.match(form % re.escape(os.uname().nodename), lines(run)[-1]), "hostname, tod, elapsed", run)
    run = t.xdd(*PACED, "-numreqs", 20, "-heartbeat", "600")
    t.ok(lines(run) and lines(run)[-1].startswith("Pass,0001,/OPS/BW/PCT/ET + [*]"),
         "a number alone: ops, bw, pct and etc", run)
    run = t.xdd(*PACED, "-numreqs", 20, "-heartbeat", "seconds", "600", "iops")
    t.ok(lines(run) and lines(run)[-1].startswith("Pass,0001,/IOPS + [*]"), "the word seconds before the number", run)
    t.equal(lines(t.xdd(*paced, "-heartbeat", "ops", "-heartbeat", "0")), [], "0 turns it off")
    t.equal(len(lines(t.xdd(*paced, "-heartbeat", "0", "-heartbeat", "ops"))), 1, "the last one wins")


def test_before_setup():
    """During a long setup before the first pass, here of a table of 1 GB, the heartbeat shows WAITING."""
    run = t.xdd(*"-op noop -targets 2 null null -reqsize 4 -timelimit 0.4 -ts size 6000000 summary -heartbeat 0.01 ops bw pct etc "
                "lat".split())
    beats = lines(run)
    begun = next((i for i, line in enumerate(beats) if "[" in line), len(beats))
    t.ok(run.status == 0 and begun and beats[:begun] == ["Pass,0001,/OPS/BW/PCT/ET/LAT + WAITING + WAITING"] * begun,
         "a target that is not set up waits, in pass 1", beats[:3])
    t.ok(beats[begun:] and all(line.startswith("Pass,0001,") for line in beats), "and then the pass begins", beats[-3:])


def test_latency():
    run = t.xdd("-op", "noop", "-targets", 2, "null", "null", "-reqsize", 1, "-timelimit", 1.2, "-passes", 2,
                "-heartbeat", 0.25, "ops", "latency")
    form = r"Pass,000[12],/OPS/LAT(?: \+ \[[-|/\\*]\],\d+,ops,[\d.]+,ms_p50,[\d.]+,ms_p99,[\d.]+,ms_max)+$"
    beats = begun(run)
    t.ok(run.status == 0 and len(beats) > 4 and all(re.match(form, line) for line in beats), "latency: its fields", run)
    seen = [[float(x) for x in re.findall(r",([\d.]+),ms", line)] for line in beats if "[*]" not in line]
    seen = [v[i:i + 3] for v in seen for i in range(0, len(v), 3)]
    # On a busy machine a target may have done nothing for as long.
    t.ok(any(any(v) for v in seen) and all(0 < v[0] <= v[1] <= v[2] for v in seen if any(v)),
         "latency: median, 99th percentile, longest", seen)


def test_since_last_line():
    """Rates and latencies of a line are those of the operations since the line before."""
    prefix = t.path("since")
    t.xdd(*"-op noop -targets 1 null -reqsize 1 -numreqs 5 -operationdelay 0.5 -heartbeat 0.1 ops bw iops latency output".split(),
          prefix)
    table = [[x if x == "-" else float(x) for x in row[3:14:2]] for row in begun_rows(prefix + ".T0000.csv")]
    done = [row[0] - before[0] for before, row in zip([[0]] + table, table)]
    t.ok(len(table) > 10 and sum(done) == 5, "five operations in many lines", table)
    t.ok(all((row[1], row[2], row[5]) == (0, 0, 0) for row, n in zip(table, done) if n == 0),
         "nothing was done since the line before: no rates, no latency", table)
    t.ok(all(0 < row[2] <= 1000 * n and row[5] > 0 for row, n in zip(table, done) if n and row is not table[-1]),
         "and where something was, some", table)
    t.equal({x for row in table for x in row[3:5]}, {"-"}, "and no percentile of so few operations")


def test_closing_lines():
    """Each pass ends with a line about what was done since the line before."""
    prefix = t.path("closing")
    for words, files in (("", 1), ("-nobarrier", 2)):
        run = t.xdd("-op", "noop", "-targets", 2, "null", "null", *"-reqsize 1 -numreqs 20 -numreqs target 1 30 -operationdelay 0.01 "
                    "-passes 3 -verbose -heartbeat 30 ops bw iops pct latency output".split(), prefix, *words.split(),
                    "-outputformat", "new", "+WHAT+PASS+TARGET+BANDWIDTH+IOPS")
        passes = {(int(r["Target"]), int(r["Pass"])): r for r in run.rows() if r["What"] == "TARGET_PASS"}
        for n in range(2):
            table = rows(prefix + ".T%04d.csv" % n)[1:]
            t.equal([(row[1], row[2].split()[-1], int(row[3]), row[9]) for row in table],
                    [("%04d" % p, "[*]", (20, 30)[n], "100.00%") for p in (1, 2, 3)],
                    "target %d %s: a line at the end of each pass" % (n, words))
            t.ok(all(abs(float(row[7]) / float(passes[n, int(row[1])]["IOPS"]) - 1) < .01 and
                     float(row[10]) > 0 and float(row[14]) > 0 for row in table),
                 "target %d %s: with the rates and latencies of the pass" % (n, words), (table, passes))
    beats = lines(t.xdd(*PACED, "-numreqs", 20, "-passes", 3, "-heartbeat", 30, "ops", "lf"))
    t.equal(beats, ["Pass,%04d,/OPS + [*],0000000020,ops" % p for p in (1, 2, 3)], "on standard error as well")


def test_no_closing_line():
    """Less than a tenth of an interval after a regular line there is no line about the end of a pass."""
    found = []
    for _ in range(8):
        # Beats at 1 and 2 s after the start of the run, which is a little before that of the pass.
        run = t.xdd(*"-op noop -targets 1 null -timelimit 2 -operationdelay 1ms -heartbeat 1 ops pct".split())
        found.append([line[line.index("["):][:3] for line in lines(run)])
        if len(found[-1]) == 2 and "[*]" not in found[-1]:
            break
    t.ok(len(found[-1]) == 2 and "[*]" not in found[-1], "a pass that ends just after a regular line has no other", found)


def left_after(seconds, *args):
    """The time left in the first line, of a run that is then ended."""
    with subprocess.Popen(t.xdd_words(*"-op noop -targets 2 null null -reqsize 1".split(), *args, "-heartbeat", seconds, "etc"),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
        line = p.stderr.readline()
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=LIMIT_S)
    return [int(n) for n in re.findall(r",(-?\d+),s", line)]


def test_time_left():
    """That of the whole run: all passes, delays, and -runtime."""
    for title, args, low, high in (
            ("passes that time ends, with delays", "-timelimit 2 -passes 5 -passdelay 3 -startdelay 1".split(), 19, 26),
            ("-runtime ends them", "-timelimit 2 -passes 500 -runtime 30".split(), 25, 30),
            ("passes of operations", "-numreqs 100 -operationdelay 0.02 -passes 20".split(), 35, 200),
            ("the slower target counts", "-numreqs 10 -numreqs target 1 1000 -operationdelay 0.02".split(), 15, 100),
            ("-passes until", "-timelimit 2 -passes until 5".split(), -1, -1),
            ("-passes until and -runtime", "-timelimit 2 -passes until 5 -runtime 40".split(), 35, 40)):
        # A machine that stands still lets a pass begin late, or operations seem slow.
        for _ in range(4):
            left = left_after(0.5 if "-startdelay" not in args else 1.5, *args)
            good = len(left) == 2 and left[0] == left[1] and low <= left[0] <= high
            if good:
                break
        t.ok(good, "time left: " + title, left)


def test_targets():
    words = "-op noop -targets 3 null null null -reqsize 1 -operationdelay 0.01".split()
    run = t.xdd(*words, "-numreqs", 30, "-numreqs", "target", 1, 60, "-heartbeat", 60, "ops")
    t.ok(lines(run) and ops_of(lines(run)[-1]) == [30, 60, 30], "one group a target", run)
    run = t.xdd(*words, "-numreqs", 30, "-heartbeat", "target", 1, 60, "ops", "-heartbeat", "target", 1, "target")
    t.ok(lines(run) and lines(run)[-1] == "Pass,0001,/TARGET/OPS + [*],0001,tgt,0000000030,ops",
         "target with a number after it is the scope, without one the word", run)
    run = t.xdd(*words, "-numreqs", 30, "-heartbeat", 60, "lf", "-heartbeat", "target", 1, "ops", "bytes")
    t.equal(lines(run)[-2:] + lines(run)[-3:-2], ["Pass,0001,/OPS/BYTES + [*],0000000030,ops,000000000030720,B", "Pass,0001, + [*]",
                                                  "Pass,0001, + [*]"], "targets with other fields have a line and a legend of their own")

    def wait():
        run = t.xdd("-op", "noop", "-targets", 2, "null", "null", "-reqsize", 1, "-numreqs", 5, "-targetstartdelay", 0.5,
                    "-heartbeat", 0.2, "ops")
        return lines(run) and lines(run)[0].endswith(",0000000005,ops + WAITING"), run
    good, run = t.again(wait)
    t.ok(good, "a target that has not begun waits", run)


def test_passes():
    run = t.xdd(*PACED, "-numreqs", 30, "-passes", 3, "-passdelay", 0.35, "-heartbeat", 0.1, "ops")
    seen = [(int(line[5:9]), ops_of(line)[0]) for line in begun(run)]
    t.ok(run.status == 0 and seen == sorted(seen) and seen[-1][0] == 3 and seen[-1][1] > 25, "passes follow each other", seen)
    t.ok({(1, 30), (2, 30)} <= set(seen), "between passes the one that is complete is shown", seen)

    def timed():
        run = t.xdd(*PACED, "-timelimit", 1, "-heartbeat", 0.3, "pct", "etc")
        percents = [float(p) for line in lines(run) for p in re.findall(r"([\d.]+)%", line)]
        return percents == sorted(percents) and percents[-1:] == [100.0] and 15 < percents[0] < 90, run
    good, run = t.again(timed)
    t.ok(good, "a pass that time ends: percent of the time", run)


def rows(path):
    with open(path, newline="") as f:
        return list(csv.reader(f))


def test_files():
    words = "-op noop -targets 2 null null -reqsize 1 -numreqs 40 -operationdelay 0.01".split()
    prefix = t.path("beats")
    files = [prefix + ".T%04d.csv" % n for n in range(2)]
    for _ in range(5):
        run = t.xdd(*words, "-heartbeat", 0.15, "output", prefix, "ops", "pct", "elapsed")
        if all("[*]" in rows(f)[-1][4] for f in files):
            break
    t.ok(run.status == 0 and not lines(run), "output: nothing on standard error", run)
    t.ok(all(os.path.exists(f) for f in files), "a file for each target")
    for file in files:
        table = rows(file)
        t.equal(table[0], "Pass_label Pass Elapsed_label Elapsed Fields Ops Ops_unit Percent".split(),
                "the first line names the columns")
        t.ok(len(table) > 2 and all(len(row) == len(table[0]) for row in table), "as many values in each line", table)
        t.equal((table[-1][5], table[-1][7]), ("0000000040", "100.00%"), "it ends with all of them")
    t.xdd(*words, "-heartbeat", 600, "output", prefix, "ops")
    t.equal([len(rows(f)) for f in files], [2, 2], "a further run recreates the files")
    t.xdd(*words, "-heartbeat", 600, "output", prefix, "ops", "append")
    t.equal([len(rows(f)) for f in files], [3, 3], "append: the header stands once")
    run = t.xdd(*"-op noop -targets 2 null null -reqsize 1 -numreqs 5 -targetstartdelay 0.5 -heartbeat 0.1 output".split(),
                prefix, *EVERY_WORD, "latency", "tod", "elapsed")
    table = rows(files[1])
    t.ok(any("WAITING" in row[6] for row in table) and "WAITING" not in table[-1][6] and
         {len(row) for row in table} == {len(table[0])}, "a row of a target that waits has as many fields as any other", table)
    t.equal((table[-1][9], table[-1][23]), ("0000000005", "100.00%"), "a pass of which no row tells has one at its end")
    run = t.xdd(*"-op noop -targets 1 null -numreqs 1 -heartbeat append".split(),
                warns="-heartbeat append: ")
    t.equal((run.status, len(run.error_lines()), "-heartbeat append: there is no file" in run.err), (0, 1, True),
            "append without a file: said", run)


def terminal(args, seconds, columns=80, stop=None):
    """Run with standard error on a terminal; returns what it showed."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    p = subprocess.Popen(t.xdd_words(*args), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    out, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                out += os.read(master, 65536)
            except OSError:
                break
        elif stop and time.monotonic() > end - stop:
            p.send_signal(signal.SIGINT)
            stop = None
    p.kill()
    p.wait(timeout=t.TIMEOUT)
    os.close(master)
    return out.decode()


def test_terminal():
    if not t.have_terminals():
        return t.skip("a terminal", "no pseudo-terminals here")
    shown = terminal([*PACED, "-numreqs", 60, "-heartbeat", 0.1, "ops"], 30)
    parts = shown.split("\r\033[K")
    t.ok(len(parts) > 3 and all("\n" not in p for p in parts[:-1]) and shown.endswith("\r\n"),
         "asked for: each line over the one before, the last one stays", repr(shown))
    shown = terminal([*PACED, "-numreqs", 60, "-heartbeat", 0.1, "ops", "lf"], 30)
    t.equal(("\033" in shown, shown.count("\r\n") > 3), (False, True), "lf: each line stays", repr(shown))
    shown = terminal([*PACED, "-numreqs", 350, "-passes", 1], 30)
    t.ok(re.search(r"pass 1 of 1, \d+ %, [\d.]+ [kMGT]?B/s, [\d.]+ [kMGT]?/s, \d+ s left", shown), "unasked after 2 s",
         repr(shown))
    t.equal((shown.endswith("\r\033[K"), "\n" in shown), (True, False), "unasked: wiped out at the end", repr(shown))

    def short():
        shown = terminal([*PACED, "-numreqs", 100], 30)
        return not shown, shown
    quiet, shown = t.again(short)
    t.ok(quiet, "a run of a second shows nothing", repr(shown))
    t.equal(terminal([*PACED, "-numreqs", 250, "-heartbeat", 0], 30), "", "-heartbeat 0: nothing at all")
    shown = terminal([*PACED, "-numreqs", 60, "-heartbeat", 0.1, *EVERY_WORD], 30, columns=40)
    return t.ok(all(len(p.rstrip("\r\n")) < 40 for p in shown.split("\r\033[K")[:-1]), "cut to the width", repr(shown))


def test_stopped_terminal():
    """Ctrl-S holds back the lines, and not the passes."""
    if not t.have_terminals():
        return t.skip("a terminal that is stopped", "no pseudo-terminals here")
    master, slave = pty.openpty()
    last = t.path("stopped.00000003")
    termios.tcflow(slave, termios.TCOOFF)
    with subprocess.Popen(t.xdd_words("-op", "write", "-targets", 1, t.path("stopped"), *"-reqsize 1 -numreqs 10 -operationdelay "
                                      "0.05 -passes 3 -createnewfiles -heartbeat 0.1 ops".split()),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave) as p:
        end = time.monotonic() + LIMIT_S
        while (not os.path.exists(last) or os.path.getsize(last) < 10240) and time.monotonic() < end:
            time.sleep(0.01)
        done = time.monotonic() < end
        termios.tcflow(slave, termios.TCOON)
        status = p.wait(timeout=t.TIMEOUT)
    os.close(slave)
    shown = ""
    try:
        while True:
            shown += os.read(master, 65536).decode()
    except OSError:  # all was read
        pass
    os.close(master)
    return t.ok(done and status == 0 and "0000000010,ops" in shown, "a terminal that is stopped holds up no pass",
                (done, status, shown))


def test_signals():
    p = subprocess.Popen(t.xdd_words(*PACED, "-timelimit", 30), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    s.settle(p, 0.6)
    p.send_signal(signal.SIGUSR1)
    # Of two signals that wait, the one with the lower number would be taken first, which is SIGINT.
    err = p.stderr.readline()
    p.send_signal(signal.SIGINT)
    out, more = p.communicate(timeout=LIMIT_S)
    err += more
    t.ok(re.search(r"^Pass,0001,/OPS/BW/PCT/ET \+ \[\|\],\d{10},ops,", err, re.M), "SIGUSR1: a line now", err)
    t.equal((p.returncode, "COMBINED" in out), (5, True), "and the run goes on", (p.returncode, out))


def test_sigint():
    """The thread of the heartbeat leaves signals to the one that waits for them."""
    with subprocess.Popen([t.XDD] + "-op noop -targets 1 null -timelimit 30 -hb 1 ops".split(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        p.stdout.readline()
        s.settle(p, 0.5, qthreads=2)  # one is that of the heartbeat
        p.send_signal(signal.SIGINT)
        out = p.communicate(timeout=t.TIMEOUT)[0].decode()
    t.equal((p.returncode, "COMBINED" in out), (5, True), "SIGINT with a heartbeat: results, status 5",
            (p.returncode, out))


def cut_short(words, interval):
    """Rows of the heartbeat of a run that SIGINT ends, without those of before its start, and the status of the run."""
    prefix = t.path("cut")
    with subprocess.Popen([t.XDD, *PACED, *words.split(), "-hb", interval, "ops", "pct", "etc", "output", prefix],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        p.stdout.readline()
        s.settle(p, 0.7, qthreads=2)  # one is that of the heartbeat
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=t.TIMEOUT)
    return begun_rows(prefix + ".T0000.csv"), p.returncode


def test_cut_short():
    """Operations that were not done are not shown as done."""
    for words, ends in (("-numreqs 1000", lambda ops: ops / 10), ("-timelimit 20", None)):
        table, status = cut_short(words, "0.2")
        percents = [float(row[5].rstrip("%")) for row in table]
        t.equal(status, 5, "SIGINT with %s: status 5" % words)
        t.ok(percents and percents == sorted(percents) and percents[-1] < 50,
             "SIGINT with %s: percentages increase to less than 50" % words, table)
        t.ok(all("[*]" not in row[2] for row in table), "SIGINT with %s: no line is that of a whole pass" % words, table)
        # A regular line just before the end would be the last one, so there is none.
        table, _ = cut_short(words, "600")
        t.equal([int(row[6]) for row in table], [0], "SIGINT with %s: one last line, with nothing left to do" % words)
        t.ok(table and (not ends or abs(float(table[0][5].rstrip("%")) - ends(int(table[0][3]))) < 0.01),
             "SIGINT with %s: its percentage is that of its operations" % words, table)


def test_failures():
    """Operations that failed are done as well."""
    file = t.make_file("short", 4096)
    # Without a regular line just before the end, which would be the last one.
    for interval in 0.1, 600:
        run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 1 -numreqs 16 -timelimit 600 -operationdelay 0.05".split(),
                    "-maxerrorstoprint", 1, "-hb", interval, "ops", "pct", warns=m.REACHES)
        seen = [(ops_of(line)[0], float(re.search(r"([\d.]+)%", line).group(1))) for line in begun(run)]
        t.equal(run.status, 6, "-hb %s: a run with failures has status 6" % interval)
        if interval < 1:
            t.ok([p for ops, p in seen if ops == 4 and 30 < p < 100], "failures count in the percentage, not in the operations", run)
        else:
            t.equal(seen, [(4, 100.0)], "failures count in the percentage of the last line")


def test_bad_input():
    data = t.make_file("data", 4096)
    os.symlink(data, t.path("link.T0000.csv"))
    for args, status, part in (
            ("-heartbeat opps", 3, "did you mean ops?"),
            ("-heartbeat", 2, m.MISSING),
            ("-heartbeat 1x", 2, "a time of 0 to"),
            ("-heartbeat -1", 3, "one of seconds, ops"),
            ("-heartbeat ops pcct", 3, "did you mean pct?"),
            ("-heartbeat output", 2, m.MISSING),
            ("-heartbeat output no/such/directory", 2, m.no_directory("no/such")),
            ("-heartbeat output %s" % t.path("link"), 2, m.is_target(0)),
            ("-heartbeat target 7 ops", 2, "target")):
        run = t.xdd("-op", "read", "-targets", 1, data, "-reqsize", 1, *args.split())
        t.equal((run.status, part in run.err, len(run.error_lines())), (status, True, 1), args, run)
    t.equal(os.path.getsize(data), 4096, "nothing was changed")


t.run(test_lines, test_words, test_before_setup, test_latency, test_since_last_line, test_closing_lines, test_no_closing_line,
      test_time_left, test_targets, test_passes, test_files, test_terminal, test_stopped_terminal,
      test_signals, test_sigint, test_cut_short, test_failures, test_bad_input)
t.done()
