#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
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
import termios

import messages as m
import xddtest as t

t.virtual_time()
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


def ops_of(line):
    return [int(n) for n in re.findall(r",(\d{10}),ops", line)]


def test_lines():
    run = t.xdd(*PACED, "-numreqs", 150, "-heartbeat", 0.4, *EVERY_WORD)
    beats = lines(run)
    t.equal((run.status, lines(run)), (0, run.error_lines()), "nothing else on standard error", run)
    form = re.compile(r"Pass,0001,%s \+ \[[-|/\\*]\]%s$" % ("".join(LEGEND), GROUP))
    t.ok(all(form.match(line) for line in beats), "every field, in the order of the format", beats)
    # Operations 1 to 150 are due at 0, 10 ms, 20 ms ...; of two things that are due at 0.4 s the line comes first.
    t.equal([ops_of(line) for line in beats], [[40], [80], [120], [150]], "a line every 0.4 s, and the last one", beats)
    t.equal(["[*]" in line for line in beats], [False, False, False, True], "which is complete")
    t.ok(",100.00%" in beats[-1] and ",0000000,s" in beats[-1], "100 %, nothing left", beats[-1:])
    for line in beats:
        n = ops_of(line)[0]
        t.equal((",%015d,B" % (1024 * n) in line, ",%013.1f,KiB" % n in line, ",%010.1f,MiB" % (n / 1024) in line),
                (True, True, True), "bytes, KiB and MiB agree with the operations", line)
    percents = [p for line in beats for p in re.findall(r"([\d.]+)%", line)]
    t.equal(percents, ["26.67", "53.33", "80.00", "100.00"], "percent of the operations", beats)


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
    """During a long setup before the first pass, here of a table of 200 MB, the heartbeat shows WAITING."""
    run = t.xdd(*"-op noop -targets 2 null null -reqsize 4 -timelimit 0.1 -ts size 1000000 summary -heartbeat 0.01 ops bw pct etc "
                "lat".split(), real=True)  # the setup takes real time
    beats = lines(run)
    begun = next((i for i, line in enumerate(beats) if "[" in line), len(beats))
    t.ok(run.status == 0 and begun and beats[:begun] == ["Pass,0001,/OPS/BW/PCT/ET/LAT + WAITING + WAITING"] * begun,
         "a target that is not set up waits, in pass 1", beats[:3])
    t.ok(beats[begun:] and all(line.startswith("Pass,0001,") for line in beats), "and then the pass begins", beats[-3:])


def test_latency():
    """Median, 99th percentile and longest of the operations since the last line, each of a known length."""
    file = t.path("law")
    run = t.xdd("-op", "write", "-targets", 1, file, *"-reqsize 1 -numreqs 200 -passes 2 -heartbeat 0.2552 ops latency".split(),
                device="/law 1000000,1000000,1000000,7000000")
    # Both passes take 0.5 s. A percentile is the middle of its bucket of the histogram.
    form = "Pass,%04d,/OPS/LAT + [%s],%010d,ops,%s,ms_p50,-,ms_p99,7.000000,ms_max"
    p50 = "1.001471"
    t.equal((run.status, lines(run)),
            (0, [form % of for of in ((1, "|", 103, p50), (1, "*", 200, p50), (2, "-", 4, "-"), (2, "\\", 107, p50),
                                      (2, "*", 200, p50))]), "median, 99th percentile and longest since the last line", run)
    run = t.xdd("-op", "write", "-targets", 1, file, *"-reqsize 1 -numreqs 60 -queuedepth 2 -heartbeat 0.55 ops latency".split(),
                device="/law 20000000")
    t.equal((run.status, [(ops_of(line)[0], re.search(r",ops,(.*),ms_p50", line).group(1)) for line in lines(run)]),
            (0, [(27, "39.976959"), (54, "39.976959"), (60, "-")]), "of all QThreads, of which each has too few", run)


def test_since_last_line():
    """Rates and latencies of a line are those of the operations since the line before."""
    prefix = t.path("since")
    t.xdd("-op", "write", "-targets", 1, t.path("law"), *"-reqsize 1 -numreqs 5 -operationdelay 0.49 -heartbeat 0.1 ops bw iops "
          "latency output".split(), prefix, device="/law 20000000")
    table = [[x if x == "-" else float(x) for x in row[3:14:2]] for row in rows(prefix + ".T0000.csv")[1:]]
    done = [row[0] - before[0] for before, row in zip([[0] * 6] + table, table)]
    t.equal((len(table), sum(done)), (25, 5), "five operations in many lines", table)
    t.equal([row[1:3] + row[5:] for row, n in zip(table, done) if n == 0], [[0, 0, 0]] * 20,
            "nothing was done since the line before: no rates, no latency", table)
    t.equal([row[1:3] + row[5:] for row, n in zip(table, done) if n], [[0.01, 10, 20]] * 5,
            "and where something was, some", table)
    t.equal({x for row in table for x in row[3:5]}, {"-"}, "and no percentile of so few operations")


def test_closing_lines():
    """Each pass ends with a line about what was done since the line before."""
    prefix, files = t.path("closing"), [t.path("closing.0"), t.path("closing.1")]
    for words in "", "-nobarrier":
        run = t.xdd("-op", "write", "-targets", 2, *files, *"-reqsize 1 -numreqs 20 -numreqs target 1 30 -operationdelay 0.01 "
                    "-passes 3 -verbose -heartbeat 30 ops bw iops pct latency output".split(), prefix, *words.split(),
                    "-outputformat", "new", "+WHAT+PASS+TARGET+BANDWIDTH+IOPS", device="/closing. 1000000 2")
        passes = {(int(r["Target"]), int(r["Pass"])): r for r in run.rows() if r["What"] == "TARGET_PASS"}
        for n in range(2):
            table = rows(prefix + ".T%04d.csv" % n)[1:]
            t.equal([(row[1], row[2].split()[-1], int(row[3]), row[9]) for row in table],
                    [("%04d" % p, "[*]", (20, 30)[n], "100.00%") for p in (1, 2, 3)],
                    "target %d %s: a line at the end of each pass" % (n, words))
            t.equal([(float(row[7]), float(row[10]), float(row[14])) for row in table],
                    [(round(float(passes[n, p]["IOPS"]), 2), 1, 1) for p in (1, 2, 3)],
                    "target %d %s: with the rates and latencies of the pass" % (n, words), (table, passes))
    beats = lines(t.xdd(*PACED, "-numreqs", 20, "-passes", 3, "-heartbeat", 30, "ops", "lf"))
    t.equal(beats, ["Pass,%04d,/OPS + [*],0000000020,ops" % p for p in (1, 2, 3)], "on standard error as well")


def test_no_closing_line():
    """Less than a tenth of an interval after a regular line there is no line about the end of a pass."""
    for operations, last in ((205, "-"), (215, "*")):
        run = t.xdd(*PACED, "-numreqs", operations, "-heartbeat", 1, "ops")
        beats = [line[line.index("["):][:3] for line in lines(run)]
        t.equal(beats, ["[|]", "[/]"] + (["[*]"] if last == "*" else []),
                "a pass that ends %g s after a regular line" % (operations / 100 - 2.01))


def left_after(seconds, *args):
    """The time left in the first line, of a run that is then ended."""
    run = t.xdd(*"-op noop -targets 2 null null -reqsize 1".split(), *args, "-heartbeat", seconds, "etc", step=50000,
                at={seconds * 1.1: signal.SIGINT})
    return [int(n) for n in re.findall(r",(-?\d+),s", lines(run)[0])]


def test_time_left():
    """That of the whole run: all passes, delays, and -runtime."""
    for title, args, wanted in (
            ("passes that time ends, with delays", "-timelimit 2 -passes 5 -passdelay 3 -startdelay 1".split(), 26),
            ("-runtime ends them", "-timelimit 2 -passes 500 -runtime 30".split(), 30),
            ("passes of operations", "-numreqs 100 -operationdelay 0.02 -passes 20".split(), 39),
            ("the slower target counts", "-numreqs 10 -numreqs target 1 1000 -operationdelay 0.02".split(), 19),
            ("-passes until", "-timelimit 2 -passes until 5".split(), -1),
            ("-passes until and -runtime", "-timelimit 2 -passes until 5 -runtime 40".split(), 40)):
        left = left_after(0.5 if "-startdelay" not in args else 1.5, *args)
        t.equal(left, [wanted] * 2, "time left: " + title)
    run = t.xdd(*"-op noop -target null -timelimit 2 -passes 2 -passdelay 4 -heartbeat 1 etc".split())
    left = [int(n) for line in lines(run) for n in re.findall(r",(-?\d+),s", line)]
    t.equal(left, sorted(left, reverse=True), "time left: does not rise", run)
    t.ok({5, 4, 3} <= set(left), "time left: falls between passes", left)
    run = t.xdd(*"-op noop -targets 2 null null -timelimit 1 -passes 2 -passdelay 4 -startdelay target 1 3 -heartbeat 1 etc".split())
    left = [int(n) for line in lines(run) for n in re.findall(r",(-?\d+),s", line)]
    t.equal(left, sorted(left, reverse=True), "time left, with a start delay of one target: does not rise", run)
    t.equal(sorted(set(left), reverse=True), list(range(11, -1, -1)), "time left, with a start delay of one target: falls each second", left)


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

    run = t.xdd("-op", "noop", "-targets", 2, "null", "null", "-reqsize", 1, "-numreqs", 5, "-targetstartdelay", 0.5,
                "-heartbeat", 0.2, "ops")
    t.equal([line.split("/OPS + ")[1][4:] for line in lines(run)],
            ["0000000005,ops + WAITING"] * 2 + ["0000000005,ops + [*],0000000005,ops"], "a target that has not begun waits", run)


def test_passes():
    run = t.xdd(*PACED, "-numreqs", 30, "-passes", 3, "-passdelay", 0.35, "-heartbeat", 0.1, "ops")
    seen = [(int(line[5:9]), ops_of(line)[0]) for line in lines(run)]
    t.ok(run.status == 0 and seen == sorted(seen) and seen[-1][0] == 3 and seen[-1][1] > 25, "passes follow each other", seen)
    t.ok({(1, 30), (2, 30)} <= set(seen), "between passes the one that is complete is shown", seen)

    run = t.xdd(*PACED, "-timelimit", 1, "-heartbeat", 0.3, "pct", "etc")
    percents = [float(p) for line in lines(run) for p in re.findall(r"([\d.]+)%", line)]
    t.equal(percents, [30, 60, 90, 100], "a pass that time ends: percent of the time", run)


def rows(path):
    with open(path, newline="") as f:
        return list(csv.reader(f))


def test_files():
    words = "-op noop -targets 2 null null -reqsize 1 -numreqs 40 -operationdelay 0.01".split()
    prefix = t.path("beats")
    files = [prefix + ".T%04d.csv" % n for n in range(2)]
    run = t.xdd(*words, "-heartbeat", 0.15, "output", prefix, "ops", "pct", "elapsed")
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


def terminal(args, columns=80):
    """Run with standard error on a terminal; returns what it showed."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    p = subprocess.Popen(t.xdd_words(*args), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                         env=dict(os.environ, LC_ALL="C", **t.clock_environment()))
    os.close(slave)
    out = b""
    while select.select([master], [], [], LIMIT_S)[0]:
        try:
            out += os.read(master, 65536)
        except OSError:
            break
    p.kill()
    p.wait(timeout=t.TIMEOUT)
    os.close(master)
    return out.decode()


def test_terminal():
    if not t.have_terminals():
        return t.skip("a terminal", "no pseudo-terminals here")
    shown = terminal([*PACED, "-numreqs", 60, "-heartbeat", 0.1, "ops"])
    parts = shown.split("\r\033[K")
    t.ok(len(parts) > 3 and all("\n" not in p for p in parts[:-1]) and shown.endswith("\r\n"),
         "asked for: each line over the one before, the last one stays", repr(shown))
    shown = terminal([*PACED, "-numreqs", 60, "-heartbeat", 0.1, "ops", "lf"])
    t.equal(("\033" in shown, shown.count("\r\n") > 3), (False, True), "lf: each line stays", repr(shown))
    shown = terminal([*PACED, "-numreqs", 350, "-passes", 1])
    t.ok(re.search(r"pass 1 of 1, \d+ %, [\d.]+ [kMGT]?B/s, [\d.]+ [kMGT]?/s, \d+ s left", shown), "unasked after 2 s",
         repr(shown))
    t.equal((shown.endswith("\r\033[K"), "\n" in shown), (True, False), "unasked: wiped out at the end", repr(shown))

    t.equal(terminal([*PACED, "-numreqs", 100]), "", "a run of a second shows nothing")
    t.equal(terminal([*PACED, "-numreqs", 250, "-heartbeat", 0]), "", "-heartbeat 0: nothing at all")
    shown = terminal([*PACED, "-numreqs", 60, "-heartbeat", 0.1, *EVERY_WORD], columns=40)
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
        done = t.until(lambda: os.path.exists(last) and os.path.getsize(last) >= 10240, p)
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
    run = t.xdd(*PACED, "-timelimit", 30, at={0.605: signal.SIGUSR1, 0.805: signal.SIGINT})
    t.ok(re.search(r"^Pass,0001,/OPS/BW/PCT/ET \+ \[\|\],0000000061,ops,", run.err, re.M), "SIGUSR1: a line now", run)
    t.equal((run.status, run.row("COMBINED")["Ops"]), (5, "81"), "and the run goes on", run)
    t.equal(run.error_lines()[1:], ["xdd: note: signal 2, SIGINT: no further operations are issued; once more ends at once"],
            "SIGINT: what it does", run)
    run = t.xdd(*PACED, "-timelimit", 30, "-hb", 60, "pct", "bytes", at={0.605: signal.SIGUSR1, 0.805: signal.SIGTERM})
    t.equal(run.error_lines(), ["Pass,0001,/BYTES/PCT + [|],000000000062464,B,2.02%",
                                "xdd: note: signal 15, SIGTERM: no further operations are issued; once more ends at once",
                                "Pass,0001,/BYTES/PCT + [|],000000000082944,B,2.67%"], "SIGUSR1: with the fields that were asked for", run)


def test_sigint():
    """The thread of the heartbeat leaves signals to the one that waits for them."""
    run = t.xdd(*"-op noop -targets 1 null -timelimit 30 -hb 1 ops".split(), step=10000, at={2.5: signal.SIGINT})
    t.equal((run.status, "COMBINED" in run.out), (5, True), "SIGINT with a heartbeat: results, status 5", run)


def test_cut_short():
    """Operations that were not done are not shown as done."""
    for words, percent in (("-numreqs 1000", "7.10%"), ("-timelimit 20", "3.50%")):
        for interval, ops in ((0.2, [20, 40, 60, 71]), (600, [71])):
            prefix = t.path("cut")
            run = t.xdd(*PACED, *words.split(), "-hb", interval, "ops", "pct", "etc", "output", prefix, at={0.705: signal.SIGINT})
            table = rows(prefix + ".T0000.csv")[1:]
            t.equal((run.status, [int(row[3]) for row in table]), (5, ops), "SIGINT with %s, every %g s" % (words, interval), table)
            t.ok(all("[*]" not in row[2] for row in table), "no line says that a pass is complete")
            t.equal((table[-1][5], int(table[-1][6])), (percent, 0), "the last percentage, with nothing left to do", table)


def test_failures():
    """Operations that failed are done as well."""
    file = t.make_file("short", 4096)
    # Without a regular line just before the end, which would be the last one.
    for interval in 0.1, 600:
        run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 1 -numreqs 16 -timelimit 600 -operationdelay 0.05".split(),
                    "-maxerrorstoprint", 1, "-hb", interval, "ops", "pct", warns=m.REACHES)
        seen = [(ops_of(line)[0], float(re.search(r"([\d.]+)%", line).group(1))) for line in lines(run)]
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


t.run_all()
