#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Options that are given twice with different values for all targets: xdd warns, and names the value that applies.
"""
import messages as m
import xddjson
import xddtest as t

t.look_at_all_warnings()


def dry(words, targets=("null",)):
    """-dryrun of some options; the targets follow them, so that they are the first arguments."""
    return t.xdd(*words.split(), "-targets", len(targets), *targets, "-dryrun")


def said(run, *wanted):
    return run.status == 0 and run.error_lines() == ["xdd: warning: " + w for w in wanted]


def test_values():
    two = ("null", "null")
    cases = [
        ("-op read -numreqs 1 -reqsize 4 -reqsize 1024", two,
         m.repeated("reqsize", [("4", 6), ("1024", 8)], "1024", "-reqsize target 0 4")),
        ("-op read -numreqs 1 -reqsize 4 -rs 1024", ("null",), m.repeated("reqsize", [("4", 6), ("1024", 8)], "1024")),
        ("-op read -numreqs 1 -reqsize 4 -reqsize target all 8 -rs 16", ("null",),
         m.repeated("reqsize", [("4", 6), ("8", 10), ("16", 12)], "16")),
        ("-op read -numreqs 1 -reqsize 4 -reqsize 8 -reqsize 4", ("null",),
         m.repeated("reqsize", [("4", 6), ("8", 8), ("4", 10)], "4")),
        ("-op read -numreqs 1 -reqsize 1 -reqsize 2 -reqsize 3 -reqsize 4 -reqsize 5", ("null",),
         m.repeated("reqsize", [("1", 6), ("2", 8), ("3", 10), ("5", 14)], "5").replace("4 times", "5 times").replace(
             " and ", ", ... and ")),
        ("-op read -numreqs 1 -passes 3 -p 5", two, m.repeated("passes", [("3", 6), ("5", 8)], "5")),
        ("-op read -numreqs 1 -passes 20 -passes until 5 30", two,
         m.repeated("passes", [("20", 6), ("until 5 30", 8)], "until 5 30")),
        ("-op read -numreqs 1 -throttle ops 100 -throttle ops 200", two,
         m.repeated("throttle ops", [("100", 7), ("200", 10)], "200", "-throttle target 0 ops 100")),
        ("-op read -numreqs 1 -datapattern a -datapattern b", ("null",), m.repeated("datapattern", [("a", 6), ("b", 8)], "b")),
        ("-op read -numreqs 1 -timelimit 5 -timelimit 6s", ("null",), m.repeated("timelimit", [("5", 6), ("6s", 8)], "6s")),
        ("-op read -numreqs 1 -seek seed 1 -seek random seed 2", ("null",), m.repeated("seek seed", [("1", 7), ("2", 11)], "2")),
        ("-op read -mbytes 1 -numreqs 3", ("null",), m.repeated("", [("-mbytes 1", 4), ("-numreqs 3", 6)], "-numreqs 3")),
        ("-op read -numreqs 3 -mbytes 1", ("null",), m.repeated("", [("-numreqs 3", 4), ("-mbytes 1", 6)], "-numreqs 3")),
        ("-op read -numreqs 3 -mbytes 1 -numreqs 4 -mbytes 2", ("null",),
         m.repeated("", [("-numreqs 3", 4), ("-mbytes 1", 6), ("-numreqs 4", 8), ("-mbytes 2", 10)], "-numreqs 4")),
        ("-op read -mbytes 1 -mbytes 2 -mbytes 3 -numreqs 5 -mbytes 4", ("null",),
         m.repeated("", [("-mbytes 1", 4), ("-mbytes 2", 6), ("-mbytes 3", 8), ("-mbytes 4", 12)], "-numreqs 5").replace(
             " and ", ", ... and ")),
        ("-op read -bytes 9 -kbytes 4", two,
         m.repeated("", [("-bytes 9", 4), ("-kbytes 4", 6)], "-kbytes 4", "-bytes target 0 9")),
        ("-op read -numreqs 1 -op write", ("null",), m.repeated("op", [("read", 2), ("write", 6)], "write")),
        ("-op read -numreqs 1 -seek zipf 0.9 random", ("null",), m.repeated("", [("-seek zipf 0.9", 5), ("-seek random", 5)], "-seek random")),
        ("-op read -numreqs 1 -seek random -seek zipf 1", two,
         m.repeated("", [("-seek random", 5), ("-seek zipf 1", 7)], "-seek zipf 1", "-seek target 0 random")),
        ("-op read -numreqs 1 -seek random once -seek random", ("null",),
         m.repeated("", [("-seek random once", 5), ("-seek random", 8)], "-seek random")),
        ("-op read -numreqs 1 -throttle ops 100 bw 5", ("null",), m.repeated("", [("-throttle ops 100", 5), ("-throttle bw 5", 5)], "-throttle bw 5")),
        ("-op read -numreqs 1 -osync -odsync", two, m.repeated("", [("-osync", 5), ("-odsync", 6)], "-odsync", "-osync target 0")),
        ("-op read -numreqs 1 -rwratio 70", ("null",), m.repeated("", [("-op read", 2), ("-rwratio 70", 6)], "-rwratio 70")),
    ]
    for words, targets, wanted in cases:
        run = dry(words, targets)
        t.ok(said(run, wanted), "%s for %d targets" % (words, len(targets)), "%s\nwanted: %s" % (run, wanted))
    run = dry("-op read -mbytes 1 -numreqs 3 -reqsize 4 -reqsize 5")
    t.equal((run.status, len(run.error_lines())), (0, 2), "one warning for each option", run)


def test_silent():
    file = t.make_file("other", 2 << 20)
    for words in ("-reqsize 4 -rs 4", "-reqsize 4 -reqsize target 1 8", "-reqsize target 0 4 -reqsize target 0 8",
                  "-throttle ops 100 -throttle var 5", "-throttle ops 100 poisson", "-seek random -seek seed 3", "-seek zipf 1 -seek target 0 random",
                  "-osync -odsync target 0", "-osync -osync", "-id one -id two",
                  "-ts summary -ts detailed", "-debug io -debug open", "-outputformat add +READOPS -outputformat add +ERRORS",
                  "-latency percentiles 50 -latency histogram", "-seek random -seek range 1000", "-dio -dio",
                  "-heartbeat 1 ops -heartbeat bw", "-verbose -unverbose",
                  "-starttrigger 0 1 op 1 -starttrigger 0 2 op 1", "-maxall -minall", "-dropcache -dropcache system"):
        run = dry("-op read -numreqs 10 " + words, (file, file, file))
        t.equal((run.status, [line for line in run.error_lines() if "applies" in line]), (0, []), "nothing about %s" % words, run)
    for words in ("-bytes 1M -mbytes 1", "-kbytes 1024 -mbytes 1", "-mbytes 1 -mb 1"):
        run = dry("-op read " + words)
        t.ok(said(run), "the same amount: %s" % words, run)
    run = dry("-numreqs 1 -op read -rwratio 100")
    t.ok(said(run), "the same operation", run)
    run = dry("-numreqs 1 -op read -rwratio 100 -target null -rwratio 100")
    t.ok(said(run), "the same operation for two targets", run)
    run = dry("-target null -numreqs 1 -op read -e2e issource -e2e destination 127.0.0.1 -e2e destination localhost", ())
    t.ok("applies" not in run.err, "nothing about the addresses of a copy", run)


def setup(name, text):
    with open(t.path(name), "w") as f:
        f.write(text)
    return t.path(name)


def test_sources():
    file = setup("a.xdd", "-op read\n-numreqs 3\n-reqsize 4\n")
    for words in ("-setup %s -reqsize 8", "-reqsize 8 -setup %s", "-reqsize 4 -setup %s -reqsize 4"):
        run = dry(words % file)
        t.ok(said(run), "the command line and a setup file: %s" % words, run)
    run = dry("-setup %s -setup %s" % (file, setup("b.xdd", "-reqsize 9")))
    t.ok(said(run), "two setup files", run)
    run = dry("-setup %s -setup %s" % (file, file))
    t.ok(said(run), "the same setup file twice", run)
    run = dry("-reqsize 4 -setup %s -reqsize 8" % file)
    t.ok(said(run, m.repeated("reqsize", [("4", 2), ("8", 6)], "8")), "the command line twice, with a setup file between", run)
    twice = setup("c.xdd", "-op read -numreqs 3\n-reqsize 4\n# a comment\n-reqsize 8\n")
    run = dry("-setup " + twice)
    wanted = m.repeated("reqsize", [("4", "line 2"), ("8", "line 4")], "8")
    t.ok(said(run, "%s:4: %s" % (twice, wanted)), "twice in one setup file", run)
    run = dry("-setup %s -reqsize 5" % twice)
    t.ok(said(run), "nothing where the command line overrides both", run)


def test_run():
    """It is a warning: the run takes place, with the value that it names, and -jsonout has it."""
    name = t.path("run.json")
    run = t.xdd("-op", "read", "-numreqs", 7, "-reqsize", 4, "-reqsize", 8, "-targets", 1, "null", "-jsonout", name)
    document = xddjson.check(name, "-jsonout")
    wanted = m.repeated("reqsize", [("4", 6), ("8", 8)], "8")
    t.ok(said(run, wanted), "a run has the warning", run)
    t.equal(document["plan"]["targets"][0]["resolved"]["request_bytes"], 8192, "and the value that applies")
    t.equal([x["text"] for x in document["messages"]], [wanted], "which the document has as well")
    run = t.xdd("-op", "read", "-numreqs", 7, "-reqsize", 4, "-reqsize", 8, "-nonsense", "-targets", 1, "null")
    t.ok(run.status != 0 and "applies" not in run.err, "a refused command line has its one line only", run)
    long = "x" * 3000
    run = t.xdd("-op", "read", "-numreqs", 7, "-csvout", t.path("a" + long[:200]), "-csvout", t.path("b"), "-targets", 1, "null", "-dryrun")
    t.ok(run.status == 0 and len(run.err) < 700 and run.err.count("\n") == 1, "a long value is cut", run)


t.run_all()
