#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
All that commands say of runs in virtual time and of their documents: sweeps, curves, xdd compare, xdd
combine, CSV and plots of xdd report. What they should say is in documents_whole.txt; tests/lib/xddwhole.py has how it is
renewed.
"""
import json
import os
import re

import xddtest as t
import xddwhole

os.environ["TZ"] = "UTC"
t.virtual_time()
if t.FOR_PLACE:
    t.skip_all("direct I/O on a file system of a disk: messages name what this one is on")
t.look_at_all_warnings()

ENVIRONMENT = {"host": {"name": "here"}, "processors": {"model": "P", "online": 2, "configured": 2, "allowed": 2}}
ONE = "-op read -target dev.a -dio -seek random "
TWO = "-percentcpu absolute -targets 2 dev.a dev.b -dio -reqsize 4 -seek random -queuedepth 3 -numreqs 40 -throttle target 1 ops 3000 "
SWEEP = "sweep " + ONE + "-timelimit 20ms -orderseed 3 "
CURVE = "curve " + ONE + "-reqsize 4 -queuedepth 4 -each 20ms -rounds 3 -orderseed 3 -load 20,40,60,80,95 -goal mean=0.5ms "
SLOW, FAST, STILL = "exponential:200000 2", "exponential:150000 2", "200000,300000*3,700000 2"
# Commands in one directory, one after the other: words, and the law of their devices.
COMMANDS = [
    (TWO + "-rwratio 60 -passes 5 -intervals 10ms -latency -runid r -jsonout r1.json", SLOW),
    (TWO + "-rwratio 60 -passes 5 -intervals 10ms -latency -runid r -jsonout r2.json", FAST),
    (TWO + "-passes 5 -op read -runid r -jsonout r3.json", STILL),
    (SWEEP + "-reqsize 4 -rounds 3 -queuedepth 1,2,4 -jsonout s1.json -csvout s1.csv", SLOW),
    (SWEEP + "-reqsize 4 -rounds 3 -queuedepth 1,2,4 -jsonout s2.json", FAST),
    (SWEEP + "-rounds 2 -queuedepth 1,2 -reqsize 4k,16k -jsonout g1.json", SLOW),
    (SWEEP + "-rounds 2 -queuedepth 1,2 -reqsize 4k,16k -jsonout g2.json", FAST),
    (CURVE + "-jsonout c1.json -csvout c1.csv", SLOW),
    (CURVE + "-jsonout c2.json", FAST),
    ("compare r1.json r2.json", ""),
    ("compare r1.json r1.json", ""),
    ("compare r1.json r3.json", ""),
    ("compare -failif bandwidth-5%,p99+10% r1.json r2.json r1.json -- r2.json r1.json r2.json", ""),
    ("compare s1.json s2.json", ""),
    ("compare -failif latency+5% s2.json s1.json", ""),
    ("compare g1.json g2.json", ""),
    ("compare g1.json s1.json", ""),
    ("compare c1.json c2.json", ""),
    ("compare -failif knee-5%,response+10% c2.json c1.json", ""),
    ("combine h1.json h2.json h3.json -jsonout h.json -csvout h.csv", ""),
    ("combine h1.json h2.json -hosts one,two,three,four -force", ""),
    ("combine h1.json r3.json", ""),
    ("compare h.json r1.json", ""),
    ("report -csv r1.json h.json s1.json g1.json c1.json", ""),
    ("report -csv -columns +LATP50+RESPMAX+FLUSHES r1.json", ""),
    ("report -noplots -output n1.html r1.json r2.json", ""),
    ("report -noplots -output n2.html h.json r3.json", ""),
    ("report -noplots -output n3.html g1.json g2.json", ""),
    ("report -noplots -output n4.html c1.json c2.json", ""),
    ("report -plots p1 -output o.html r1.json", ""),
    ("report -plots p2 -output o.html s1.json s2.json", ""),
    ("report -plots p3 -output o.html g1.json", ""),
    ("report -plots p4 -output o.html c1.json", ""),
]
VERSION = t.xdd("-version").out.split()[2]


def text(words):
    words = words.replace(t.XDD, "xdd").replace(VERSION, "<version>")
    return [line.rstrip() for line in words.splitlines() if line.strip()]


def made():
    """A directory with what the commands work on."""
    os.chdir(t.tmp())
    for name in "ab":
        with open("dev." + name, "wb") as f:
            f.write(bytes(range(256)) * 4096)


def settle(name):
    """Take what is of this machine out of a document."""
    with open(name, encoding="utf-8") as f:
        document = json.load(f)
    if "environment" in document:
        document["environment"] = ENVIRONMENT
    with open(name, "w", encoding="utf-8") as f:
        json.dump(document, f)
    return document


def make_hosts():
    """Documents of three hosts, of which one began later and has another plan."""
    for number, (name, late_ns) in enumerate((("one", 0), ("two", 3000000), ("three", 0)), 1):
        document = settle("r%d.json" % (number if number < 3 else 1))
        first = settle("r1.json")["results"][0]["begin_ns"]
        move = first + late_ns - document["results"][0]["begin_ns"]
        for row in document["results"]:
            if row.get("begin_ns") is not None:
                row["begin_ns"] += move
                row["finish_ns"] += move
        document["environment"] = dict(ENVIRONMENT, host={"name": name})
        document["plan"]["targets"][0]["options"]["queuedepth"] = number
        with open("h%d.json" % number, "w", encoding="utf-8") as f:
            json.dump(document, f)


def files():
    return {os.path.join(d, name): os.stat(os.path.join(d, name)).st_mtime_ns for d, _, names in os.walk(".") for name in names}


def said(words, law):
    before = files()
    run = t.command([t.XDD, *words.split()], step=0, **({"device": "dev. " + law} if law else {}))
    lines = ["==== " + words, "status %s" % run.status] + text(run.out) + ["error: " + line for line in text(run.err)]
    for name in sorted(name for name, when in files().items() if before.get(name) != when):
        if name.endswith(".json"):
            settle(name)
        elif name.endswith((".csv", ".svg", ".gp", ".dat", "n1.html", "n2.html", "n3.html", "n4.html")):
            with open(name, encoding="utf-8") as f:
                lines += ["---- " + name] + text(re.sub(r"<style>.*?</style>|sha256-[^']*", "", f.read(), flags=re.S).replace("><", ">\n<"))
    return lines


def test_commands():
    made()
    got = []
    for words, law in COMMANDS:
        if "h1.json" in words and not os.path.exists("h1.json"):
            make_hosts()
        got += said(words, law)
    xddwhole.compare("documents_whole.txt", got, "commands say what they should")


t.run_all()
