#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-endtoend and -restart on the command line: every suboption and alternate name, what they make of ports, queue depth and
amount (seen through -dryrun), and every refusal, which is one line and changes nothing.
"""
import os
import re

import messages as m
import xddtest as t
from xddbad import row, check_rows

os.environ.pop("XDD_E2E_KEY", None)
t.may_warn(m.WEAK_KEY, m.NO_RESTART_FILE, m.SOURCE_WORDS, m.SOURCE_ORDERS, m.PARTS_ONLY, m.RANGE_STARTS_OVER, m.REACHES, m.BUFFERED)

LIMIT_S = 20
SOURCE = "-targets 1 data -e2e issource"
DESTINATION = "-targets 1 new -e2e isdestination"
TO = " -e2e destination h"


def make_directory():
    path = t.path("dry")
    os.mkdir(path)
    for name, size in (("data", 65536), ("empty", 0), ("odd", 1000001)):
        with open(os.path.join(path, name), "wb") as f:
            f.write(bytes(size))
    with open(os.path.join(path, "k"), "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as f:
        f.write("x" * 16)
    return path


WHERE = make_directory()


def dry(args, **kwargs):
    return t.xdd("-dryrun", *args.split(), cwd=WHERE, timeout=LIMIT_S, **kwargs)


def facts(run):
    """The lines of each target, and under "addresses" its addresses: (host, first port, ports)."""
    targets = []
    for line in run.out.splitlines():
        if line.startswith("\tTarget number"):
            targets.append({"addresses": []})
        elif line.startswith("\t\t") and targets:
            text = line.strip("\t")
            address = re.match(r"End-to-End Destination Address \d+ of \d+ '(.*)' base port (\d+) for (\d+) ports "
                               r"\[ports (\d+) - (\d+)\]$", text)
            if address:
                host, first, n, low, high = address.groups()
                targets[-1]["addresses"].append((host, int(first), int(n)))
                t.ok(low == first and int(high) == int(first) + int(n) - 1, "its first and its last port: " + text, run)
            head, comma, rest = text.partition(",")
            targets[-1][head] = rest.strip()
            if re.match(r"\s*\d+$", head) and rest.strip() == "Bytes":
                targets[-1].setdefault("bytes", []).append(int(head))
    return targets


def resolves(args, wanted, **kwargs):
    """The dry run of `args` shows these facts of the first target."""
    run = dry(args, **kwargs)
    got = facts(run)
    found = {name: got[0].get(name) for name in wanted} if got else {}
    t.equal((run.status, found), (0, wanted), args, run)


DEPTH, OPS, RATIO = "Queue Depth", "Number of Operations", "Read/write ratio"
READS, WRITES = "100.00 READ,  0.00 WRITE", "0.00 READ, 100.00 WRITE"


def test_names():
    for option in ("-e2e", "-endtoend", "--e2e", "--endtoend"):
        for role, line, ratio in (("issource", "SOURCE", READS), ("issrc", "SOURCE", READS),
                                  ("isdestination", "DESTINATION", WRITES), ("isdest", "DESTINATION", WRITES)):
            target = "data" if line == "SOURCE" else "new"
            resolves("-targets 1 %s %s %s %s destination h" % (target, option, role, option),
                     {"End-to-End ACTIVE: this target is the %s side" % line: "", RATIO: ratio})
    for word in ("destination", "dest", "host"):
        resolves("%s %s h" % (SOURCE, word), {"addresses": [("h", 40010, 1)]})
    for word in ("port", "baseport"):
        resolves("%s destination h %s 2010" % (SOURCE, word), {"addresses": [("h", 2010, 1)]})
        resolves("%s %s 2010 destination h" % (SOURCE, word), {"addresses": [("h", 2010, 1)]})
    for words in ("timeout 5", "timeout 2500ms", "key k", "key k encrypt", "congestion bbr", "sendbuffer 1M",
                  "receivebuffer 4096"):
        resolves("%s destination h -e2e %s" % (SOURCE, words), {"addresses": [("h", 40010, 1)]})
    for words in ("-congestion reno", "-cookie " + "0123456789abcdefABCDEF0123456789", "-cookie " + "f" * 32 + " -e2e encrypt"):
        resolves("%s%s %s" % (SOURCE, TO, words), {"addresses": [("h", 40010, 1)]})
    resolves("%s%s -e2e encrypt" % (SOURCE, TO), {"addresses": [("h", 40010, 1)]},
             env=dict(os.environ, XDD_E2E_KEY="x" * 16))


def test_warnings():
    run = dry(SOURCE + TO + " -cookie " + "0" * 32)
    t.ok(re.search(m.WEAK_KEY, run.err) and len(run.error_lines()) == 1, "-cookie is a weak key, said once", run)
    for word in ("sourcepath", "srcpath"):
        run = dry("%s%s -e2e %s file 1234567" % (SOURCE, TO, word))
        t.ok(re.search("-e2e sourcepath: has no effect", run.err) and run.status == 0, "-e2e %s has no effect" % word, run)
    for word in ("sourcemonitor", "srcmon"):
        run = dry("%s%s -e2e %s" % (SOURCE, TO, word))
        t.ok(re.search("-e2e sourcemonitor: has no effect", run.err) and run.status == 0, "-e2e %s has no effect" % word, run)
    for words in ("enable", "file x", "frequency 5"):
        run = dry("%s%s -restart %s" % (SOURCE, TO, words))
        t.ok(re.search(m.NO_RESTART_FILE, run.err) and run.status == 0, "-restart %s makes no file on the source" % words, run)
    for words, parts in (("-seek random", True), ("-seek none", True), ("-seek range 256 -bytes 1000000", True),
                         ("-seek stagger", False), ("-seek interleave 1", False), ("-seek none -numreqs 1", False)):
        run = dry("-targets 1 odd -e2e issource%s %s" % (TO, words))
        t.ok(run.status == 0 and bool(re.search(m.PARTS_ONLY, run.err)) == parts,
             "%s: %s" % (words, "not all is copied, with a warning" if parts else "all is copied"), run)
    run = dry(DESTINATION + TO + " -ordering network serial")
    t.ok(re.search(m.SOURCE_ORDERS, run.err) and run.status == 0, "-ordering network is for the source", run)
    t.ok(not dry(SOURCE + TO + " -ordering network serial").err, "-ordering network on the source: no warning")
    for offset in (5, 0):
        t.ok(not dry("%s%s -restart offset %d" % (SOURCE, TO, offset)).err, "-restart offset %d is for the source too" % offset)


def test_ports():
    many = " ".join("destination h%d:2010,4" % i for i in range(1, 5))
    four = [("h%d" % i, 2010, 4) for i in range(1, 5)]
    resolves("%s %s" % (SOURCE, many), {"addresses": four, DEPTH: "16"})
    # The sum of the ports overrides the queue depth, before and after.
    resolves("-queuedepth 3 %s %s" % (SOURCE, many), {"addresses": four, DEPTH: "16"})
    resolves("%s %s -queuedepth 64" % (SOURCE, many), {"addresses": four, DEPTH: "16"})
    # -e2e port is for addresses without their own, wherever it stands.
    resolves("%s destination a port 2010 destination b:3000 destination c" % SOURCE,
             {"addresses": [("a", 2010, 1), ("b", 3000, 1), ("c", 2010, 1)], DEPTH: "3"})
    resolves("%s destination a portcount 3 destination b:3000,2" % SOURCE,
             {"addresses": [("a", 40010, 3), ("b", 3000, 2)], DEPTH: "5"})
    resolves("%s destination a destination b:3000,2" % SOURCE, {"addresses": [("a", 40010, 1), ("b", 3000, 2)], DEPTH: "3"})
    # Without numbers, the queue depth is dealt in turn.
    resolves("%s destination a -queuedepth 4 -e2e port 3010" % SOURCE, {"addresses": [("a", 3010, 4)], DEPTH: "4"})
    resolves("%s destination a destination b -queuedepth 5" % SOURCE,
             {"addresses": [("a", 40010, 3), ("b", 40010, 2)], DEPTH: "5"})
    resolves("%s destination a destination b destination c" % SOURCE,
             {"addresses": [("a", 40010, 1), ("b", 40010, 1), ("c", 40010, 1)], DEPTH: "3"})
    resolves("%s destination [::1]:2010,4 destination fe.example" % SOURCE,
             {"addresses": [("::1", 2010, 4), ("fe.example", 40010, 1)], DEPTH: "5"})
    resolves("%s %s" % (SOURCE, " ".join("dest h%d" % i for i in range(16))), {DEPTH: "16"})
    resolves("%s destination h:65535" % SOURCE, {"addresses": [("h", 65535, 1)]})
    resolves("%s destination h:65436,100" % SOURCE, {"addresses": [("h", 65436, 100)], DEPTH: "100"})


def test_queues():
    """Engines that queue: a QThread for each port, and more operations than ports."""
    for engine in ("libaio", "io_uring"):
        if t.xdd("-dryrun", "-op", "read", "-targets", 1, "data", "-ioengine", engine, cwd=WHERE).status:
            t.skip("engine " + engine, "not available")
            continue
        base = "%s -ioengine %s" % (SOURCE, engine)
        resolves(base + " -e2e destination h:2010,4", {"addresses": [("h", 2010, 4)], DEPTH: "8"})
        resolves(base + " -e2e destination h:2010,4 -queuedepth 32", {"addresses": [("h", 2010, 4)], DEPTH: "32"})
        resolves(base + " -e2e destination h:2010,4 -queuedepth 4", {"addresses": [("h", 2010, 4)], DEPTH: "4"})
        resolves(base + " -e2e destination h:2010,4 -queuedepth 3", {"addresses": [("h", 2010, 4)], DEPTH: "8"})
        resolves(base + " -e2e destination h:2010,4 -threads 9", {"addresses": [("h", 2010, 4)], DEPTH: "8"})
        resolves(base + " -e2e destination h", {"addresses": [("h", 40010, 1)], DEPTH: "2"})
        resolves(base + " -e2e destination h -queuedepth 4", {"addresses": [("h", 40010, 4)], DEPTH: "4"})
        resolves(base + " -e2e destination h -queuedepth 32 -threads 4", {"addresses": [("h", 40010, 4)], DEPTH: "32"})


def test_amounts():
    resolves(DESTINATION + TO, {OPS: "unlimited"})
    resolves("-targets 1 data -e2e isdest" + TO, {OPS: "unlimited", RATIO: WRITES})
    resolves("-targets 1 data -op write -e2e isdest -timelimit 5" + TO, {OPS: "unlimited"})
    resolves("-targets 1 null -e2e isdest" + TO, {OPS: "unlimited"})
    resolves(DESTINATION + TO + " -mbytes 1", {OPS: "8", "bytes": [1 << 20]})
    resolves("-targets 1 odd -e2e issource" + TO, {OPS: "8", "bytes": [1000001]})
    resolves("-targets 1 empty -e2e issource" + TO, {OPS: "0"})
    # A source with a size is read once; a time limit does not make it start over.
    resolves("-targets 1 odd -e2e issource -timelimit 5" + TO, {OPS: "8", "bytes": [1000001]})
    resolves("-targets 1 odd -e2e issource -runtime 5" + TO, {OPS: "8", "bytes": [1000001]})
    resolves("-targets 1 null -e2e issource -timelimit 5" + TO, {OPS: "unlimited"})
    resolves("-targets 1 null -e2e issource -mbytes 1" + TO, {OPS: "8"})
    resolves("-targets 1 odd -e2e issource -seek random" + TO, {OPS: "8", "Seek pattern": "random"})


def test_restart():
    for option in ("-restart", "-rst"):
        for words, lines in (("enable", {"RESTART: interval in seconds between records": "1"}),
                             ("frequency 2.5", {"RESTART: interval in seconds between records": "2.5"}),
                             ("freq 10ms", {"RESTART: interval in seconds between records": "0.01"}),
                             ("file a.rst", {"RESTART: file": "a.rst"})):
            resolves("%s%s %s %s" % (DESTINATION, TO, option, words), lines)
    done = {"RESTART: RESUMING COPY: Starting offset": "", "RESTART: RESUMING COPY: Remaining data": ""}
    for word in ("offset", "byteoffset"):
        # The amount, the start offset, the offset of the copy, and what remains of it.
        resolves("-targets 1 odd -e2e issource%s -restart %s 1000" % (TO, word),
                 dict(done, bytes=[999001, 1000, 1000, 999001], **{OPS: "8"}))
        resolves("%s%s -bytes 1000001 -restart %s 1000" % (DESTINATION, TO, word),
                 dict(done, bytes=[999001, 1000, 1000, 999001], **{OPS: "8"}))
        resolves("%s%s -numreqs 2 -startoffset 1 -restart %s 1K" % (SOURCE, TO.replace("h", "h -reqsize 4"), word),
                 dict(done, bytes=[7168, 2048, 1024, 7168], **{OPS: "2"}))
    resolves("-targets 1 odd -e2e issource%s -restart offset 1000001" % TO, {OPS: "0"})
    resolves("-targets 1 odd -e2e issource%s -bytes 500 -restart offset 500" % TO, {OPS: "0"})
    resolves("%s%s -restart offset 4096" % (DESTINATION, TO), {OPS: "unlimited"})
    run = dry("%s%s -reqsize 4 -numreqs 10 -restart frequency 5 -restart offset 8192" % (DESTINATION, TO))
    t.equal(re.findall(r"^\t\t(RESTART: .*|\t +\d+, +Bytes)$", run.out, re.M)[-6:],
            ["RESTART: interval in seconds between records, 5", "RESTART: file, named by hosts, files and time",
             "RESTART: RESUMING COPY: Starting offset", "\t           8192,     Bytes", "RESTART: RESUMING COPY: Remaining data",
             "\t          32768,     Bytes"], "-dryrun shows what a restart does", run)
    t.equal(sorted(os.listdir(WHERE)), ["data", "empty", "k", "odd"], "-dryrun makes no file")


# Refusals: the side and its words

row("both sides", SOURCE + " isdestination" + TO, 2, 4,
    m.line("-e2e isdestination", m.is_side_already(0, "source")))
row("both sides, the other way round", DESTINATION + " -e2e issource" + TO, 2, 6,
    m.line("-e2e issource", m.is_side_already(0, "destination")))
row("both sides, one in a setup file", SOURCE + TO + " -setup a.cfg", 2, "a.cfg:1",
    m.is_side_already(0, "source"), files={"a.cfg": "-e2e isdest\n"})
row("no side", "-op read -targets 1 data" + TO, 2, 6, m.line("-e2e destination", m.E2E_SIDE))
row("no side, a key", "-op read -targets 1 data -e2e key k", 2, 6, m.line("-e2e key", m.E2E_SIDE))
row("no side for the target that is named", "-targets 2 data data -e2e target 0 issource -e2e target 0 dest h "
    "-e2e target 1 dest h -op read", 2, 14, m.line("-e2e destination", m.E2E_SIDE))
for words in ("-restart enable", "-congestion cubic", "-cookie " + "0" * 32):
    row("without -endtoend: " + words, "-op read -targets 1 data " + words, 2, 6,
        m.line(words.replace(" cubic", "").replace(" " + "0" * 32, ""), m.NOT_A_COPY))
row("no suboption", "-targets 1 data -e2e", 2, 4, m.line("-e2e", m.missing("<suboption>")))
row("no such suboption", SOURCE + " -e2e destinatoin h", 3, 7, m.line("-e2e destinatoin", m.no_suboption("destination")))
row("no such suboption of -restart", DESTINATION + TO + " -restart enabel", 3, 10,
    m.line("-restart enabel", m.no_suboption("enable")))
row("a source without an address", SOURCE, 2, None, m.line("target 0, data", m.e2e_address("issource")))
row("a destination without an address", DESTINATION, 2, None, m.line("target 0, new", m.e2e_address("isdestination")))
row("a source that writes", SOURCE + TO + " -op write", 2, None, m.line("target 0, data", m.ONLY_READS))
row("a source that does nothing", SOURCE + TO + " -op noop", 2, None, m.line("target 0, data", m.ONLY_READS))
row("a source that mixes", SOURCE + TO + " -rwratio 99", 2, None, m.line("target 0, data", m.ONLY_READS))
row("a destination that reads", "-targets 1 data -e2e isdest -op read" + TO, 2, None,
    m.line("target 0, data", m.ONLY_WRITES))
row("a destination that mixes", "-targets 1 data -e2e isdest -rwratio 1" + TO, 2, None,
    m.line("target 0, data", m.ONLY_WRITES))
row("a source that is missing", "-targets 1 nosuch -e2e issource" + TO, 4, None, m.line("target 0, nosuch", m.NO_FILE))
row("a source and a destination in one run", "-targets 2 data new -e2e target 0 issource -e2e target 1 isdest" + TO, 2,
    None, m.line("target 1, new", m.other_side("destination", 0, "source")))

# Addresses and ports

for bad, why in (("''", m.ADDRESS_FORM), ("' h'", m.ADDRESS_FORM), ("'h h'", m.ADDRESS_FORM), ("user@h", m.ADDRESS_FORM),
                 ("h/x", m.ADDRESS_FORM), (":2010", m.ADDRESS_FORM), ("h:", m.ADDRESS_PORT), ("h:x", m.ADDRESS_PORT),
                 ("h:0", m.ADDRESS_PORT), ("h:65536", m.ADDRESS_PORT), ("h:-1", m.ADDRESS_PORT), ("h:1k", m.ADDRESS_PORT),
                 ("h:2010,", m.ADDRESS_COUNT), ("h:2010,0", m.ADDRESS_COUNT), ("h:2010,x", m.ADDRESS_COUNT),
                 ("h,4", m.ADDRESS_COUNT_ALONE), ("h:2010,4,0", m.ADDRESS_NUMA), ("h:65530,7", m.PORTS_END),
                 ("::1", m.ADDRESS_BRACKETS), ("::1:2010,4", m.ADDRESS_BRACKETS), ("[::1", m.ADDRESS_BRACKET_MISSING),
                 ("[::1]2010", m.ADDRESS_AFTER_BRACKET), ("[h]", m.ADDRESS_IPV6), ("[127.0.0.1]:1", m.ADDRESS_IPV6)):
    word = bad if bad == "''" or " " in bad else bad.strip("'")
    row("an address: " + bad, SOURCE + " destination " + bad, 2, 7, m.line("-e2e destination " + re.escape(word), why))
row("an address that is too long", SOURCE + " destination " + "x" * 256, 2, 7, m.ADDRESS_LONG, longest=300)
row("17 addresses", SOURCE + " destination h" * 17, 2, 39, m.line("-e2e destination h", m.ADDRESSES_TOO_MANY))
row("no address after destination", SOURCE + " destination", 2, 4,
    m.line("-e2e destination", m.missing(r"<host>\[:<port>\[,<#ports>\]\]")))
for word in ("port", "baseport"):
    for bad in ("0", "65536", "-1", "x", "1k", "''"):
        row("-e2e %s %s" % (word, bad), SOURCE + TO + " -e2e %s %s" % (word, bad), 2, 11,
            m.line("-e2e port %s" % re.escape(bad), m.PORT))
for bad in ("0", "65536", "x"):
    row("-e2e portcount " + bad, SOURCE + TO + " -e2e portcount " + bad, 2, 11,
        m.line("-e2e portcount " + bad, m.whole_number("ports", 1, 65535)))
row("ports that end past 65535", SOURCE + TO + " port 65535 portcount 2", 2, None,
    m.line("target 0, data", m.ports_end("h", 2, 65535)))
row("a queue depth that ends past 65535", SOURCE + TO + ":65530 -queuedepth 7", 2, None,
    m.line("target 0, data", m.ports_end("h", 7, 65530)))
row("more ports than a target may have", SOURCE + " dest a:1,65535 dest b:1,65535", 2, None,
    m.line("target 0, data", m.ports_too_many(131070)))

# Values

for bad in ("0", "1", "1.9", "86401", "x", "-1"):
    row("-e2e timeout " + bad, SOURCE + TO + " -e2e timeout " + bad, 2, 11,
        m.line("-e2e timeout %s" % re.escape(bad), m.E2E_TIMEOUT))
for bad in ("''", "'a b'", "a/b", "0123456789abcdef"):
    row("-e2e congestion " + bad, SOURCE + TO + " -e2e congestion " + bad, 2, 11,
        m.line("-e2e congestion " + bad, m.ALGORITHM))
    row("-congestion " + bad, SOURCE + TO + " -congestion " + bad, 2, 10, m.line("-congestion " + bad, m.ALGORITHM))
for word in ("sendbuffer", "receivebuffer"):
    for bad in ("0", "4095", "2G", "x"):
        row("-e2e %s %s" % (word, bad), SOURCE + TO + " -e2e %s %s" % (word, bad), 2, 11,
            m.line("-e2e %s %s" % (word, bad), m.SIZE))
for bad in ("0" * 31, "0" * 33, "0" * 31 + "g", "''"):
    row("-cookie " + bad, SOURCE + TO + " -cookie " + bad, 2, 10, m.line("-cookie " + bad, m.COOKIE))
row("an empty name of a key", SOURCE + TO + " -e2e key ''", 2, 11, m.line("-e2e key ''", ".*" + m.EMPTY))
row("encryption without a key", SOURCE + TO + " encrypt", 2, None, m.line("target 0, data", m.E2E_KEY))
row("a cookie and a key", SOURCE + TO + " key k -cookie " + "0" * 32, 2, None, m.line("target 0, data", m.TWO_KEYS))
for bad in ("0", "5ms", "86401", "x"):
    row("-restart frequency " + bad, DESTINATION + TO + " -restart frequency " + bad, 2, 11,
        m.line("-restart frequency " + bad, "expected a time of 10ms to 86400s"))
for bad in ("x", "-1", "9223372036854775808"):
    row("-restart offset " + bad, DESTINATION + TO + " -restart offset " + bad, 2, 11,
        m.line("-restart offset " + bad, m.SIZE))
row("-restart file ''", DESTINATION + TO + " -restart file ''", 2, 11, m.line("-restart file ''", ".*" + m.EMPTY))

# Refusals of a destination

for words, option in (("-seek random", "-seek"), ("-seek interleave 2", "-seek"), ("-seek stagger", "-seek"), ("-seek none", "-seek"),
                      ("-seek range 100", "-seek range"), ("-range 100", "-seek range"), ("-seek save x", "-seek save"),
                      ("-seek disthist 5", "-seek disthist"), ("-seek seekhist 5", "-seek seekhist"), ("-randomize", "-randomize")):
    row("a destination with " + words, DESTINATION + TO + " " + words, 2, None,
        m.line("target 0, new", m.source_decides(option)))
row("a destination with -seek load", DESTINATION + TO + " -seek load x", 2, None, m.line("target 0, new"))
for words in ("-datapattern random", "-datapattern x"):
    row("a destination with " + words, DESTINATION + TO + " " + words, 2, None, m.line("target 0, new", m.SOURCE_HAS_DATA))
row("a source with -verify and no pattern", SOURCE + TO + " -op read -reqsize 4 -numreqs 1 -verify contents", 2, None,
    m.line("target 0, data", "-verify contents: the source of an end-to-end copy has the data of its file; name their pattern"))
row("a destination with -verify", DESTINATION + TO + " -verify contents", 2, None, m.line("target 0, new", "-verify: "))
row("a destination with a buffer of the C library", "-targets 1 new -ioengine stdio -bytes 1M -e2e isdest" + TO, 2, None,
    m.line("target 0, new", "-ioengine stdio: a destination reports what is in the file, not what is in a buffer; say unbuffered"))
row("a destination with mmap and no amount", "-targets 1 data -ioengine mmap -e2e isdest" + TO, 2, None,
    m.line("target 0, data", m.amount_of_destination("mmap")))
for words, option in (("-starttrigger 0 1 op 1", "-starttrigger"), ("-stoptrigger 0 1 op 1", "-stoptrigger"),
                      ("-lockstep 0 1 op 1 op 1 wait complete", "-lockstep")):
    row("a destination with " + words, "-targets 2 a b -e2e isdest" + TO + " " + words, 2, None,
        m.line("target 1, b", m.destination_waits(option)))
row("a destination with -syncio", "-targets 2 a b -e2e isdest" + TO + " -syncio 5", 2, None,
    "^xdd: " + m.destination_waits("-syncio"))
for words, option in (("key a -e2e target 1 key b", "-e2e key"), ("congestion cubic -e2e target 1 congestion bbr", "-e2e congestion"),
                      ("sendbuffer 1M -e2e target 1 sendbuffer 2M", "-e2e sendbuffer"),
                      ("receivebuffer 1M -e2e target 1 receivebuffer 2M", "-e2e receivebuffer")):
    row("destinations that differ: " + option, "-targets 2 a b -e2e isdest" + TO + " " + words, 2, None,
        m.line("target 1, b", m.same_for_all(option, 0)))
row("sources that differ in their key", "-targets 2 data data -e2e issource" + TO + " key a -e2e target 1 key b", 2, None,
    m.line("target 1, data", m.same_for_all("-e2e key", 0)))

# Refusals of a source

row("a source with -seek load", SOURCE + TO + " -seek load x", 2, None, m.line("target 0, data", m.LIST_OF_COPY))
row("a source with gaps", SOURCE + TO + " -reqsize 1 -numreqs 8 -seek interleave 3", 2, None,
    m.line("target 0, data", m.outside_of_copy("22 KiB", "8 KiB")))
row("a source with a range that is larger than the amount",
    SOURCE + TO + " -reqsize 1 -numreqs 8 -seek random range 64", 2, None,
    m.line("target 0, data", m.outside_of_copy("64 KiB", "8 KiB")))
row("a source that transfers nothing", SOURCE + TO + " -ioengine null", 2, None,
    m.line("target 0, data", "-ioengine null, " + m.NO_DATA_TO_COPY))
row("a source that only touches", SOURCE + TO + " -ioengine mmap touch", 2, None,
    m.line("target 0, data", "-ioengine mmap, " + m.NO_DATA_TO_COPY))
row("a source without a size", "-targets 1 null -e2e issource" + TO, 2, None, m.line("target 0, null", m.NO_AMOUNT))
row("a source whose size is not true", "-targets 1 /proc/version -e2e issource" + TO, 2, None,
    m.line("target 0, /proc/version", m.DATA_WITHOUT_SIZE))

# -restart

row("-restart and passes", DESTINATION + TO + " -restart enable -passes 2", 2, None, m.line("target 0, new", m.RESTART_PASSES))
row("-restart offset and passes", SOURCE + TO + " -restart offset 5 -passes 2", 2, None,
    m.line("target 0, data", m.RESTART_PASSES))
row("-restart of the null device", "-targets 1 null -e2e isdest -restart enable" + TO, 2, None,
    m.line("target 0, null", m.RESTART_NULL))
for option, words in (("createnewfiles", ""), ("recreatefiles", ""), ("pretruncate", " 0"), ("deletefile", "")):
    row("-restart and -" + option, DESTINATION + TO + " -restart enable -" + option + words, 2, None,
        m.line("target 0, new", m.restart_removes(option)))
row("-restart offset past the end", SOURCE + TO + " -restart offset 65537", 2, None, m.line("target 0, data", m.NOTHING_TO_READ))
row("-restart offset past the amount", SOURCE + TO + " -bytes 500 -restart offset 501", 2, None,
    m.line("target 0, data", m.past_end_of_copy(501, 500)))
row("-restart offset past the largest", DESTINATION + TO + " -startoffset 1 -restart offset 9223372036854775807", 2, None,
    m.line("target 0, new", "-restart offset 9223372036854775807: reaches past the largest offset, " + m.EIB))
row("a restart file that is the target", "-targets 1 data -e2e isdest -restart file data" + TO, 2, None,
    m.line("target 0, data", m.restart_file_is("data", 0)))
row("a restart file that is a link to the target", "-targets 1 data -e2e isdest -restart file link" + TO, 2, None,
    m.line("target 0, data", m.restart_file_is("link", 0)), files={"link@": "data"})
row("a restart file that is the new target", DESTINATION + TO + " -restart file ./new", 2, None,
    m.line("target 0, new", m.restart_file_is("./new", 0)))
row("two targets with one restart file", "-targets 2 a b -e2e isdest -restart file x" + TO, 2, None,
    m.line("target 1, b", m.restart_file_of("x", 0)))
row("a restart file in no directory", DESTINATION + TO + " -restart file nodir/x", 2, None,
    m.line("target 0, new", "-restart file nodir/x: "))
row("a restart file that is a directory", DESTINATION + TO + " -restart file dir", 2, None,
    m.line("target 0, new", "-restart file dir: "))

check_rows()
t.run_all()
