#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Whatever xdd prints on a terminal of 80 columns fits: results with every option that adds lines, tables of commands, and
help. Excepted are command lines, which have to be copied, paths, time stamps and CSV, which are exact, and messages.
"""
import re

import xddterm
import xddtest as t

COLUMNS = 80
READ = "-op read -target null -reqsize 4 -numreqs 2000 "
COMMANDS = ("sweep", "curve", "compare", "check", "multi", "report", "combine", "fio", "copy", "tsread", "timeserver", "gettime")
# The command line of a run, in the output of compare.
EXACT = re.compile(r"  (/\S*/)?xdd ")


def fits(title, words, status=0):
    screen = xddterm.on_terminal([t.XDD, *(words.split() if isinstance(words, str) else words)], COLUMNS, cwd=t.tmp())
    lines = [line.expandtabs() for line in screen.lines if not EXACT.match(line)]
    t.ok(screen.status == status and lines and all(len(line) <= COLUMNS for line in lines), title,
         "%s\n%s" % ([line for line in lines if len(line) > COLUMNS], screen))
    return screen


def test_runs():
    fits("a run", READ)
    fits("-verbose", READ + "-passes 6 -verbose -extendedstats -warmup 10ops -order serial")
    fits("-verbose of writes", "-op write -target new -bytes 4M -reqsize 64k -syncwrite -flushwrite 4 -verbose -throttle ops 1000 -latency")
    fits("-verbose of a file that is read", "-op read -target new -reqsize 64k -verbose -dropcache -passes 3")
    fits("-deskew, -stonewall", READ + "-target null -passes 2 -deskew -stonewall -verbose")
    fits("-latency", READ.replace("-op read", "-rwratio 50") + "-passes 3 -latency histogram -latency intervals 0.1 -intervals 0.1 -verbose")
    fits("-report table", READ + "-passes 3 -deskew -report table -verbose")
    fits("-passes until", READ + "-passes until 2")
    fits("-dryrun", READ + "-dryrun -verbose")


def test_commands():
    for name in ("a", "b"):
        fits("sweep " + name, "sweep %s -queuedepth 1,2,4 -reqsize 4k,64k -rounds 3 -runid x -jsonout s%s.json" % (READ.replace("-reqsize 4 ", ""), name))
        t.xdd(*READ.split(), "-target", "null", "-passes", 3, "-jsonout", t.path(name + ".json"), "-output", "/dev/null")
    fits("curve", "curve -op read -target null -reqsize 4k -timelimit 0.01 -load 50,90 -rounds 3 -goal p99=2ms -jsonout c.json")
    for title, words in (("runs", "a.json b.json"), ("sweeps", "sa.json sb.json"), ("curves", "c.json c.json")):
        screen = fits("compare " + title, "compare " + words)
        t.ok("\nResults" in screen.text.replace("\r", ""), "which shows results", screen)
    fits("compare -failif", "compare -failif p99.9+10%,bandwidth-5% a.json b.json", 3)
    fits("combine", "combine -force a.json b.json -jsonout ab.json")
    t.make_file("data", 1 << 20)
    fits("check", "check data -seconds 0.1")


def test_help():
    fits("-help", "-help")
    fits("-fullhelp", "-fullhelp")
    for command in COMMANDS:
        fits(command + " -help", command + " -help")
    for words in ("latency", "throttle", "columns", "questions", "engine", "how long", "metadata", "percentiles", "sweep", "compare"):
        fits("-help " + words, "-help " + words)


if not t.have_terminals():
    t.skip_all("there are no pseudo-terminals")
t.run_all()
