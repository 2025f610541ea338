#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
All that runs in virtual time say on devices that follow a law: text, messages, CSV files and documents, without what they
say of the machine. What they should say is in runs_whole.txt; tests/lib/xddwhole.py has how it is renewed.
"""
import json
import os
import re

import xddterm
import xddtest as t
import xddwhole

xddwhole.in_virtual_time()

LAW = "/dev. 200000,300000*3,700000 2"
ONE = "-percentcpu absolute -target dev.a -reqsize 4 -dio "
TWO = "-percentcpu absolute -targets 2 dev.a dev.b -reqsize 4 -dio "
LATE = "-queuedepth 3 -seek random range 200 -throttle target 1 ops 3000 "
READS = TWO + "-op read -numreqs 12 "
WRITES = TWO + "-op write -numreqs 12 "
PAST = "-percentcpu absolute -targets 2 dev.a dev.b -reqsize 4 -dio -op read -timelimit 9 -numreqs 12 -startoffset target 1 1000 "  # the end of one
DEBUG = READS + "-debug all "
LONG = "-percentcpu absolute -op read -target dev.a -reqsize 4 -dio -seek random -timelimit 0.8 -report person "
SLOW = {"law": "/dev. 4000000,6000000*3,9000000"}
WORK = {"step": 1000}
DRY = "-targets 2 new.a new.b -op write -reqsize 8 -numreqs 6 -dryrun -verbose "
# Words of each run, and what else it has: its law, what happens when.
RUNS = [
    (TWO + LATE + "-rwratio 60 -numreqs 20 -passes 2 -verbose -qthreadinfo -latency histogram -deskew -intervals 10ms -id here "
     "-runid r -extendedstats -outputformat add +LATP50+FLUSHES+LONGEST -jsonout j.json -csvout c.csv", {}),
    (READS + "-passes 2 -report person", {}),
    (TWO + "-numreqs 12 -passes 6 -report person -queuedepth 4 -rwratio 50 random -intervals 2ms -latency", {}),
    (READS + "-passes until 3 20 -report person -startdelay 0.001 -passdelay 0.002 -combinedout c.csv", {}),
    (DEBUG + "-lockstep 0 1 op 2 op 3 wait complete", {}),
    (DEBUG + "-lockstep 0 1 kbytes 8 percent 25 run stop -passes 2", {}),
    (DEBUG + "-lockstep 0 1 time 0.002 op 2 wait stop", {}),
    (DEBUG + "-syncio 5 -passes 2 -queuedepth 2", {}),
    (DEBUG + "-starttrigger 0 1 op 4 -stoptrigger 0 1 percent 75", {}),
    (DEBUG + "-starttrigger 0 1 time 0.002 -stoptrigger 1 0 kbytes 20 -passes 2", {}),
    (DEBUG + "-throttle target 0 ops 2000 -throttle target 1 bw 5 -ordering storage serial -queuedepth 2", {}),
    (DEBUG + "-throttle target 0 delay 0.001 -ordering target 1 storage loose -queuedepth 2 -operationdelay 0.0003", {}),
    (DEBUG + "-snooze 50 -targetstartdelay 0.001 -nobarrier -passes 2", {}),
    (DEBUG + "-throttle target 0 ops 2000 var 20 -timelimit 0.004 -ts size 5 oneshot output ts", {}),
    (READS + "-stonewall -numreqs target 1 20 -passes 2 -verbose -deskew -jsonout j.json", {}),
    (WRITES + "-stonewall wearout save w -numreqs target 1 20", {}),
    (READS + "-warmup 3ops -passes 2 -verbose -throttle ops 2500 poisson -queuedepth 2 -outputformat add +RESPP50+RESPMAX -csvout c.csv", {}),
    (READS + "-warmup 0.002 -timelimit 0.005 -numreqs 100 -passes 3 -verbose", {}),
    (READS + "-runtime 0.006 -numreqs 10 -passes 9 -verbose -intervals 3ms", {}),
    (READS + "-numreqs 200 -passes 2 -verbose -jsonout j.json", {"at": {0.02: 2}}),
    (READS + "-numreqs 200 -passes 2 -report person", {"at": {0.02: 15}}),
    (WRITES + "-flushwrite 5 -syncwrite -datapattern sequenced -passes 2 -verbose -latency -recreatefiles -jsonout j.json", {}),
    ("-targets 2 new.a new.b -op write -reqsize 4 -numreqs 6 -createnewfiles -passes 2 -deletefile -preallocate 64k -verbose", {}),
    (READS + "-datapattern sequenced -verify contents -maxerrorstoprint 2 -verbose", {}),
    (TWO + "-op target 0 read -op target 1 write -numreqs 12 -datapattern x -verify contents -retry 2 "
     "-reportthreshold 0.0005 -reopen -passes 2", {}),
    (READS + "-datapattern sequenced -verify location -maxerrors 3", {}),
    (PAST + "-retry 1 -maxerrorstoprint 3 -verbose -jsonout j.json", {}),
    (PAST + "-maxerrors 2 -passes 2 -report person", {}),
    (PAST + "-stoponerror -passes 2 -verbose", {}),
    (ONE + "-op read -numreqs 20 -ts summary -queuedepth 2 -passes 2 -seek stagger range 200 -verbose -seek disthist 4 seekhist 4", {}),
    (ONE + "-op read -numreqs 10 -ts detailed output ts size 6 wrap -queuedepth 2 -seek random range 100 save s -randomize", {}),
    (ONE + "-op read -numreqs 10 -ts detailed oneshot size 6 -reqsize mix 4k:3,8k:1 -passoffset 4 -passes 2 -seek range 40", {}),
    (ONE + "-op read -numreqs 60 -heartbeat 5ms ops bytes kbytes mbytes gbytes bw iops pct etc target elapsed output hb", {}),
    (TWO + "-op read -numreqs 60 -heartbeat 8ms ops latency lf -passes 2 -queuedepth 2", {}),
    (ONE + "-numreqs 40 -passes 3 -intervals 4ms output i.csv prometheus p.txt -rwratio 30 -queuedepth 2", {}),
    (ONE + "-op read -numreqs 20 -timelimit 0.1 -verbose", {"law": "/dev. hang:7,200000"}),
    (TWO + LATE + "-rwratio 60 -numreqs 40 -passes 4 -dryrun -verbose", {}),
    (TWO + LATE + "-reallyverbose -dryrun -lockstep 0 1 op 1 op 1 wait complete -throttle bw 3 -flushwrite 3 -blocksize 512 -rwratio 50 "
     "-datapattern sequenced -verify contents -startdelay 1 -passdelay 2 -timelimit 3 -runtime 4 -maxerrors 5 -id commandline "
     "-processor target 1 0 -ts summary -heartbeat 1 -range 1000", {}),
    ("-targets 2 new.a new.b -op write -reqsize 8 -bytes 100k -dryrun -verbose -ordering storage serial -preallocate 4k -pretruncate 8k "
     "-syncwrite -deletefile -syncio 3 -seek interleave 2 -targetoffset 7 -passoffset 2 -passes 3", {}),
    # Runs that take seconds, each with another limit.
    (LONG + "-passes 4", SLOW),
    (LONG + "-passes 3 -throttle ops 50 -queuedepth 2", SLOW),
    (LONG + "-passes 3 -throttle bw 0.5 poisson -warmup 0.1", SLOW),
    (LONG + "-passes 3 -snooze 60 -jsonout j.json", SLOW),
    (LONG + "-passes 3 -operationdelay 0.02", SLOW),
    (LONG + "-target dev.b -passes 3 -lockstep 0 1 op 1 op 3 wait complete", SLOW),
    (LONG + "-target dev.b -passes 3 -throttle target 1 ops 60 -jsonout j.json", SLOW),
    (LONG + "-passes 3 -verbose", dict(SLOW, at={0.4: "+0.3"})),
    (LONG + "-passes 3", dict(SLOW, law="/dev. 5000000*150,20000000")),
    (LONG + "-runtime 1", SLOW),
    (LONG + "-passes 3", dict(SLOW, law="/dev. hang:60,5000000")),
    (LONG + "-passes 3", {"law": "/dev. 300000", "step": 50000}),
    (LONG + "-passes 3 -target dev.b -queuedepth 4 -jsonout j.json", {"law": "/dev. 300000", "step": 50000}),
    ("-percentcpu absolute -target null -op noop -reqsize 4 -timelimit 0.5 -passes 3 -report person", {"step": 100000}),
    ("-percentcpu absolute -target null -op write -reqsize 4 -numreqs 50 -passes 3 -verbose -timerinfo -extendedstats", {"step": 100000}),
    # On terminals.
    (TWO + LATE + "-rwratio 60 -numreqs 40 -passes 2 -latency histogram intervals 10ms", {"columns": 80}),
    (TWO + LATE + "-op read -numreqs 40 -report table -extendedstats -deskew", {"columns": 70}),
    (TWO + LATE + "-rwratio 60 -numreqs 40 -passes 3 -intervals 5ms", {"columns": 100}),
    ("-targets 30 " + "dev.a a-long-name-of-a-file/dev.b " * 15 + "-dio -op read -reqsize 4 -numreqs 5 -throttle target 3 ops 100",
     {"columns": 60}),
    (ONE + "-op read -numreqs 40 -heartbeat 1ms -passes 2 -latency", {"columns": 120}),
    (LONG + "-passes 3", dict(SLOW, columns=80)),
    # Other outputs; a second run continues them.
    (READS + "-csvout c.csv -output o.txt -latency histogram output l.csv -combinedout k.csv -errout e.txt", {"again": True}),
    (READS + "-latency percentiles 25,99.95 intervals 10ms -passes 4 -throttle ops 2000 -verbose", {}),
    (READS + "-latency percentiles 50 intervals 10ms output l.csv", {}),
    (READS + "-outputformat new +WHAT+OPS+TARGETNAME+LATMIN+LATP999+READLATMAX+WRITELATP50+SHORTESTOP+LONGESTTYPE+DESKEWBANDWIDTH", {}),
    # Signals and errors.
    (READS + "-numreqs 200 -debug user1", {"at": {0.01: 10, 0.015: 2}}),
    (LONG + "-passes 3", dict(SLOW, law="/dev. hang:60,5000000", at={0.5: 2, 0.7: 2})),
    (PAST + "-passes 2 -stoponerror -report person", {}),
    (PAST + "-op target 1 write -createnewfiles target 1 -verbose", {}),
    (TWO + "-op write -datapattern tagged -numreqs 20 -readback -report person", {}),
    (READS + "-datapattern tagged -verify contents -report person", {}),
    ("-targets 2 new.a new.a -op write -reqsize 4 -numreqs 6 -recreatefiles -passes 2 -targetoffset 24 -starttime 1900009999", {}),
    # Work takes time: a microsecond for each reading of the clock, so the number of readings shows.
    (TWO + LATE + "-rwratio 60 -numreqs 12 -passes 2 -verbose -qthreadinfo -deskew -latency -extendedstats -jsonout j.json", WORK),
    (WRITES + "-datapattern sequenced -flushwrite 5 -syncwrite -passes 2 -startdelay 0.001 -passdelay 0.002 -reopen -jsonout j.json", WORK),
    (READS + "-datapattern x -verify contents -maxerrorstoprint 1 -queuedepth 3 -passes 2 -verbose -intervals 2ms -outputformat "
     "add +OVERHEADTIME+PATTERNFILLTIME+CPUTIME+USERTIME+SYSTEMTIME+PERCENTUSER+ELAPSEDTIME1STOP+OPENTIME+CLOSETIME", WORK),
    (READS + "-queuedepth 4 -passes 2 -outputformat add +OVERHEADTIME+CPUTIME+LATMEAN -jsonout j.json", WORK),
    (DEBUG + "-ordering target 0 storage serial -ordering target 1 storage loose -queuedepth 3 -warmup 2ops -timelimit 0.004", WORK),
    (DEBUG + "-syncio 4 -throttle target 1 ops 2500 poisson -snooze target 0 30 -rwratio target 1 50 -op target 0 read", WORK),
    (DEBUG + "-target dev.a -lockstep 0 1 op 2 op 3 wait complete -lockstep 1 2 op 1 kbytes 8 run stop -stonewall 4ms", WORK),
    (DEBUG + "-targets 3 dev.a dev.a dev.b -starttrigger 0 1 percent 50 -stoptrigger 0 2 mbytes 0.03 -passes 2", WORK),
    (ONE + "-op read -numreqs 24 -queuedepth 3 -ts detailed size 20 triggerop 3 -retry 2 -reportthreshold 0.00065 -passes 2", WORK),
    (ONE + "-op read -numreqs 300 -heartbeat 3ms ops bw iops pct etc latency tod hostname output hb append -runtime 0.04 -passes 5", WORK),
    ("-targets 3 new.a new.a dev.b -op write -op target 2 read -reqsize 4 -numreqs 6 -recreatefiles target 0-1 -passes 3 -targetoffset 24 "
     "-verbose -debug open", WORK),
    ("-targets 2 dev.a dev.a -op target 0 write -op target 1 read -reqsize 4 -dio -numreqs 8 -lockstep 0 1 op 1 op 1 wait complete "
     "-datapattern tagged -verify contents -passes 2 -verbose", WORK),
    # Plans in documents.
    (READS + "-lockstep 0 1 percent 25 kbytes 8 run stop -jsonout j.json", {}),
    (READS + "-lockstep 0 1 time 0.001 mbytes 0.01 wait complete -jsonout j.json", {}),
    (READS + "-starttrigger 0 1 op 3 -stoptrigger 0 1 percent 75 -jsonout j.json", {}),
    (ONE + "-op read -numreqs 10 -reqsize mix 4k:3,8k:1 -jsonout j.json", {}),
    ("-targets 2 new.a new.b -op write -reqsize 4 -blockperrank 8 -segments 2 -datapattern sequenced -timelimit target 1 3 -jsonout j.json", {}),
    # Dry runs.
    (DRY + "-datapattern ascii hello replicate inverse -numa local -osync", {}),
    (DRY + "-datapattern sequenced prefix ff -ts detailed triggertime 2000000000 triggerop 5 dump d append normalize -snooze 7", {}),
    (DRY + "-datapattern random -throttle delay 0.5 -odsync -hogmemory 1m -starttime 1900019999 -combinedout k -csvout c", {}),
    (DRY + "-datapattern compress 40 -datapattern dedupe 60 -passes until 4 30 -blockperrank 8 -segments 3 -numa interleave", {}),
    (DRY + "-datapattern cspat -starttrigger 0 1 op 4 -stoptrigger 0 1 time 3 -bytes 9999 -dio", {}),
    (DRY + "-datapattern tagged -lockstep 0 1 time 2 mbytes 1 run stop -rank 0 -ranks 2", {}),
    (DRY.replace("new.b", "").replace("2 new", "1 new") + "-e2e isdest destination 127.0.0.1:40020,2 -restart file r", {}),
    (ONE + "-dryrun -verbose -e2e issource destination 127.0.0.1:40020,2 -restart offset 4096", {}),
    # Warm-ups with limits, with errors, and longer than the pass.
    (DEBUG.replace("12", "100") + "-warmup 3ops -timelimit 0.002 -throttle ops 2500 -queuedepth 2 -passes 2", {}),
    (READS.replace("12", "100") + "-warmup 3ops -timelimit 0.002 -operationdelay 0.0001 -ordering storage serial -queuedepth 3 -passes 2", WORK),
    (READS + "-warmup 0.9 -passes 2 -verbose -qthreadinfo -outputformat add +OVERHEADTIME -jsonout j.json", WORK),
    (PAST + "-warmup 6ops -retry 1 -passes 2 -verbose -queuedepth 2 -outputformat add +OVERHEADTIME", WORK),
    # Errors that end a pass, in each order.
    (PAST + "-maxerrors 3 -queuedepth 3 -ordering storage serial -verbose", WORK),
    (PAST + "-maxerrors 3 -queuedepth 3 -ordering storage loose -throttle ops 3000 -verbose -debug all", {}),
    (PAST + "-maxerrors 5 -nobarrier -passes 3 -passdelay 0.002 -queuedepth 2 -qthreadinfo", {}),
    # A stop trigger during the sleep of a throttle, and during the interval of the last operation.
    (DEBUG.replace("12", "4") + "-stoptrigger 0 1 op 2 -throttle target 0 ops 10 -throttle target 1 ops 4", {}),
    (READS + "-stoptrigger 0 1 percent 100 -throttle target 0 ops 10 -throttle target 1 ops 3 -numreqs target 1 2 -csvout c.csv", {}),
    # A target that writes to the page cache and issues nothing.
    ("-targets 2 new.a new.b -op write -reqsize 4 -numreqs 6 -starttrigger 0 1 time 5 -stonewall", {}),
]
OF_MACHINE = re.compile(r"Environment, |Computer Name|OS release|Machine hardware|Number of (processors|physical)|Page size|Megabytes of|"
                        r"Clock Ticks|IOIO|Clock, |Size of|\s+Process ID")
# In lines of -timestamps: the thread, and its processors.
OF_THREAD = re.compile(r"^((?:[\w.-]+, +){14})\d+((?:, +[\w.-]+){4}), \d+, \d+$")


def made():
    """A directory with what the runs work on."""
    directory = t.path("run%d" % len(os.listdir(t.tmp())))
    os.mkdir(directory)
    xddwhole.make_devices(directory)
    os.mkdir(os.path.join(directory, "a-long-name-of-a-file"))
    os.link(os.path.join(directory, "dev.b"), os.path.join(directory, "a-long-name-of-a-file", "dev.b"))
    return directory


def from_first(lines, moment):
    """
    What matches as time since the first of all: a file system may have xdd read the clock once more before it, and in runs
    in which work takes time that moves all that follows.
    """
    def ns(found):
        return int(found[2].replace(".", ""))
    first = min((ns(found) for line in lines for found in re.finditer(moment, line)), default=0)
    return [re.sub(moment, lambda found: found[1] + str(ns(found) - first), line) for line in lines]


def text(words):
    words = words.replace(t.XDD, "xdd").replace('host="%s"' % os.uname().nodename, 'host="here"')
    words = re.sub(r"(?m)^(Starting time for this run), .*(?<!2030)$", r"\1, now", words)  # in real time
    words = re.sub(r"thread \d+ (starts|ends)", r"thread T \1", words)
    lines = [OF_THREAD.sub(r"\1T\2", line.rstrip()) for line in words.splitlines() if line.strip() and not OF_MACHINE.match(line)]
    return from_first(from_first(lines, r"(\b)(\d{17})\b"), r"(DEBUG_\w+ +)(\d+\.\d{9})\b")


def document(file):
    found = xddwhole.known(json.loads(file))
    del found["environment"], found["xdd"], found["command_line"], found["clock"]["machine"]
    # Where a target has one QThread, its rows say all.
    if not any(row.get("qthread") for row in found["results"]):
        found["results"] = [row for row in found["results"] if row["what"] != "QUEUE_PASS"]
    for result in found["results"]:
        if result["what"] == "COMBINED":
            result.get("columns", {}).pop("nodename", None)
        else:
            result.pop("columns", None)
    return from_first(xddwhole.lines_of_members(found), r'((?:begin|finish|achieved)_ns": )(\d{19})\b')


def done(words, columns=0, again=False, law=LAW, step=0, **kwargs):
    """Status, standard output and standard error of a run, and of `again` another one; on a terminal of so many columns."""
    if columns:
        screen = xddterm.on_terminal([t.XDD, *words], columns, device=law, step=step, **kwargs)
        return screen.status, screen.text.replace("\r", "\n"), ""
    run = t.command([t.XDD, *words], device=law, step=step, **kwargs)
    return done(words, law=law, step=step, **kwargs) if again else (run.status, run.out, run.err)


def said(words, **kwargs):
    directory = made()
    status, out, err = done(words.split(), cwd=directory, **kwargs)
    lines = ["==== " + words, "status %s" % status] + text(out) + ["error: " + line for line in text(err)]
    for name in sorted(os.listdir(directory)):
        if os.path.isdir(os.path.join(directory, name)) or name.startswith(("dev.", "new.")):
            continue
        with open(os.path.join(directory, name), encoding="utf-8") as f:
            lines += ["---- " + name] + (document if name.endswith(".json") else text)(f.read())
    return lines


def test_runs():
    got = [line for words, kwargs in RUNS for line in said(words, **kwargs)]
    xddwhole.compare("runs_whole.txt", got, "runs say what they should")


t.run_all()
