#!/usr/bin/env python3
"""
Bad input, one row a case: what is wrong is said in one clear line on standard error, the status is right,
nothing that looks like a result is printed, and nothing is created or changed.

Each row is run in a fresh directory that holds

    data   65536 bytes      empty   0 bytes      note   a line of text
    dir/   a directory      fifo    a pipe       and the row's own files

and is compared with what it was before, the directory's own time included. A row says what the message must
show: the option and its value, what is allowed, and where it stood, "(argument N)" or "(file:line)".
"""
import collections
import hashlib
import os
import re
import shlex
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddsys as s
import xddtest as t

t.may_warn(m.REACHES)

LIMIT_S = 20
LONGEST_LINE = 200
INT64_MAX = 2 ** 63 - 1
READ = "-op read -targets 1 data"       # the option under test is argument 6, its value argument 7
NULL = "-op read -targets 1 null -numreqs 1"

Row = collections.namedtuple("Row", "name args status at wants files prefix changes many out longest")
ROWS = []


def row(name, args, status, at, *wants, files=None, prefix=(), changes=(), many=False, out=False,
        longest=LONGEST_LINE):
    """
    args     a line for shlex, or a list of words
    at       the place that is to blame: the number of an argument, "file:line", or None where several options
             and the target together are wrong
    wants    regular expressions that the message must match
    files    further files: name to contents
    prefix   words before the command
    changes  files that may be new or different afterwards: those of a run that took place
    many     more lines than one are inherent
    out      so is output
    """
    words = args if isinstance(args, list) else shlex.split(args)
    place = [] if at is None else [r"\(argument %d\)" % at] if isinstance(at, int) else [re.escape("(%s)" % at)]
    ROWS.append(Row(name, words, status, at, place + list(wants), files or {}, list(prefix), set(changes), many,
                    out, longest))


def value(option, bad, *wants, base=READ, status=2, **kwargs):
    """A bad value of an option, or of "option suboption", behind `base`."""
    words = shlex.split(base) + ["-" + w if i == 0 else w for i, w in enumerate(option.split())] + [bad]
    shown = bad if bad and not re.search(r"\s", bad) else "'%s'" % bad
    row("-%s %r" % (option, bad if len(bad) < 40 else bad[:40] + "..."), words, status, len(words),
        m.line("-%s %s" % (re.escape(option), re.escape(shown))), *wants, **kwargs)


# Unknown options and stray words

for args, meant in (("-targts 1 data", "targets"), ("--targts 1 data", "targets"), ("-quedepth 4", "queuedepth"),
                    ("--queue-depth 4", "queuedepth"), ("-queue 4", "queuedepth"), ("-numreq 4", "numreqs"),
                    ("-reqsiz 4", "reqsize"), ("-sek random", "seek"), ("-mbyte 4", "mbytes"),
                    ("-OP read", "op"), ("-Verbose", "verbose"), ("---op read", "op"),
                    ("-outputfromat +OPS", "outputformat"), ("-timelmit 4", "timelimit"), ("-pases 4", "passes"),
                    ("-dryrum", "dryrun"), ("-strtoffset 4", "startoffset"), ("-tmielimit 1", "timelimit")):
    word = args.split()[0]
    row("unknown option, near one: " + word, args, 3, 1,
        m.line(word, m.no_option(meant)))

for word in ("-zzzz", "--zzzz", "-frobnicate", "-5", "-@", "-x"):
    row("unknown option, near none: " + word, word + " -targets 1 data", 3, 1,
        m.line(word, m.no_option()))
row("unknown option, very long", ["-" + "x" * 5000], 3, 1, m.line(r"-x{100,}\.\.\.", m.NO_OPTION), longest=300)
row("unknown option behind good ones", READ + " -qd 2 -zzzz", 3, 8, m.line("-zzzz", m.NO_OPTION))
row("unknown option with a newline in it", ["-zz\nzz"], 3, 1, "^xdd: .*" + m.NO_OPTION)
row("unknown option with a blank in it", ["-op read"], 3, 1, m.line("'-op read'", m.NO_OPTION))
row("option=value", "-op=read -targets 1 data", 3, 1, m.line("-op=read", ".* " + m.two_words("-op", "read")))
row("--option=value", "--queuedepth=4 -targets 1 data", 3, 1, m.two_words("-queuedepth", "4"))
row("unknown option=value", "-zzzz=4", 3, 1, m.line("-zzzz=4", m.NO_OPTION))

for args, at in ((READ + " extra", 6), (READ + " -dio 5", 7), (READ + " -verbose 2", 7), ("5 " + READ, 1),
                 (READ + " ''", 6), (READ + " -", 6), (READ + " --", 6), (READ + " -reqsize 4 k", 8),
                 (READ + " -seek random zzz", 8), (READ + " -seek stagger 4 4", 9)):
    word = shlex.split(args)[at - 1] or "''"
    row("stray word: " + args, args, 3, at, m.line(re.escape(word), m.STRAY))
row("an option without its dash", "op read -targets 1 data", 3, 1, m.line("op", m.STRAY + m.near("-op")))
row("more names than targets", "-op read -targets 1 data note", 3, 6, m.line("note", m.STRAY))

# Engines

for word, meant in (("io_urng", "io_uring"), ("libiao", "libaio"), ("psinc", "psync")):
    row("unknown engine: " + word, READ + " -ioengine " + word, 3, 7,
        m.line("-ioengine %s" % word, m.no_suboption(meant)))
for keyword, owners in (("touch", "mmap"), ("fua", "sg"), ("dpo", "sg"), ("fixedbufs", "io_uring"), ("fixedfiles", "io_uring"),
                        ("sqpoll", "io_uring"), ("iopoll", "io_uring"), ("batch 2", "libaio and io_uring")):
    row("keyword of another engine: " + keyword, READ + " -reqsize 4 -numreqs 1 -ioengine psync " + keyword, 2, 10,
        m.line("-ioengine %s" % keyword.split()[0], m.keyword_of_another(owners, "psync")))
row("a keyword before its engine", READ + " -reqsize 4 -numreqs 1 -ioengine batch 4 libaio", 2, 10,
    m.line("-ioengine batch", m.keyword_of_another("libaio and io_uring", "psync")))
for words, engine in (("libaio io_uring", "io_uring"), ("mmap touch psync", "psync"),
                      ("target 0 libaio batch 2 libaio", "libaio")):
    row("an engine that is not the first word: " + words, READ + " -reqsize 4 -numreqs 1 -ioengine " + words, 2, 10,
        m.line("-ioengine %s" % engine, m.ONE_ENGINE))
row("-threads with psync", READ + " -threads 2", 2, None, m.line("target 0, data: -threads", m.ENGINE_HAS))
row("sg on a file", READ + " -numreqs 1 -reqsize 4 -sgio", 2, None, m.line("target 0, data: -ioengine sg",
    m.SCSI_WANTED))

# Missing arguments

for option in ("-op", "-rwratio", "-blocksize", "-reqsize", "-numreqs", "-bytes", "-mbytes", "-queuedepth", "-passes",
               "-timelimit", "-startoffset", "-seek", "-targetdir", "-output", "-csvout", "-outputformat", "-id",
               "-setup", "-percentcpu", "-maxerrors", "-ioengine", "-threads"):
    row("missing argument at the end: " + option, READ + " " + option, 2, 6,
        m.line(option, m.missing()))
    row("missing argument before an option: " + option, READ + " %s -verbose" % option, 2, 6,
        m.line(option, m.missing(follows="-verbose")))
for sub, arg in (("range", "<#blocks>"), ("interleave", "<factor>"), ("seed", "<number>"), ("save", "<file>"),
                 ("load", "<file>"), ("disthist", "<#buckets>"), ("seekhist", "<#buckets>")):
    row("missing argument of a suboption: " + sub, READ + " -seek random " + sub, 2, 6,
        m.line("-seek %s" % sub, m.missing(arg)))
row("missing argument of a keyword: batch", READ + " -ioengine io_uring batch", 2, 6,
    m.line("-ioengine batch", m.missing("<#requests>")))
row("missing argument of a suboption before an option", READ + " -seek range -qd 2", 2, 6,
    m.line("-seek range", m.missing("<#blocks>", follows="-qd")))
row("missing argument behind a target", "-targets 1 data -op target 0", 2, 4, m.line("-op", m.MISSING))
row("missing argument at the end of a setup file", READ + " -setup a.cfg -numreqs 1", 2, "a.cfg:2",
    m.line("-reqsize", m.MISSING), files={"a.cfg": "-op read\n-reqsize\n"})
row("missing list of columns", READ + " -outputformat new", 2, 6, m.line("-outputformat", m.MISSING))

# Which targets

row("no arguments", "", 2, None, "^xdd: " + m.NO_TARGET + ": .*-targets")
row("no target", "-op read -numreqs 1", 2, None, "^xdd: " + m.NO_TARGET)
row("-targets alone", "-targets", 2, 1, m.line("-targets", m.missing("<n> <name> ...")))
row("-target alone", "-target", 2, 1, m.line("-target", m.missing("<name>")))
row("-target before an option", "-target -op read", 2, 1, m.line("-target", m.MISSING))
row("-targets with too few names", "-op read -targets 3 data note", 2, 4,
    m.line("-targets 3", m.names_wanted(3, 2)))
row("-targets with too few names before an option", "-targets 2 data -op read", 2, 2,
    m.line("-targets 2", m.names_wanted(2, 1)))
row("-targets -N without a name", "-targets -2", 2, 1, m.line("-targets", m.MISSING))
row("-targets -N before an option", "-targets -2 -op read", 2, 1, m.line("-targets", m.MISSING))
for number in ("abc", "0", "-0", "-x", "1.5", "1k", "9000", "8193", "-8193", "-9000", "99999999999999999999", "''",
               "+1", "' 1'", "data"):
    shown = number if "'" not in number or number == "''" else number
    row("-targets %s" % number, "-targets %s data -op read" % number, 2, 2,
        m.line("-targets %s" % re.escape(shown), m.TARGET_COUNT))
row("-targets with an empty name", "-op read -targets 2 data ''", 2, 6,
    m.line("-targets ''", m.TARGET_NAME_EMPTY))
row("-targets -N with an empty name", "-targets -2 ''", 2, 3, m.TARGET_NAME_EMPTY)
row("-target with an empty name", "-target ''", 2, 2, m.line("-target ''", m.TARGET_NAME_EMPTY))
row("more than 8192 targets in all", "-op noop -targets 1 null -targets -8192 null", 2, 7,
    m.line("-targets -8192", m.too_many_targets(8193)))
row("the name of a target too long", ["-op", "read", "-targets", "1", "x" * 5000], 2, 3,
    m.line("-targets", m.TARGET_NAME_LONG))

# Scopes

for scope, known in (("3", 3), ("99999999999999999999999", 3), ("0-3", 3), ("7-9", 3)):
    row("target %s of 3" % scope, "-op target %s read -targets -3 null -numreqs 1" % scope, 2, 3,
        m.line("-op target %s" % scope, m.no_such_target(3)))
row("target 1 of 1", "-op target 1 read -targets 1 data", 2, 3,
    m.line("-op target 1", m.no_such_target(1)))
row("target of a reversed range", "-op target 2-1 read -targets -3 null -numreqs 1", 2, 3,
    m.line("-op target 2-1", ".*" + m.LOWER_FIRST))
for scope in ("x", "-1", "1-", "-", "1-x", "ALL", "1.5", "0x1", "1,2", "+1", "read", "''"):
    row("target %s" % scope, "-op target %s read -targets -3 null -numreqs 1" % scope, 2, 3,
        m.line("-op target %s" % re.escape(scope), ".*" + m.TARGET_SCOPE))
row("target at the end", "-targets 1 data -op target", 2, 5, m.line("-op target", ".*" + m.TARGET_SCOPE))
row("target before an option", "-targets 1 data -dio target -verbose", 2, 6,
    m.line("-dio target -verbose", ".*" + m.TARGET_SCOPE))
for args in ("-verbose target 0", "-passes target 0 3", "-output target 0 x", "-id target all x",
             "-maxerrors target 0-1 3", "-percentcpu target 0 absolute"):
    row("a target for the whole run: " + args, READ + " " + args, 3, 7,
        m.line("%s target" % args.split()[0], ".*" + m.WHOLE_RUN))

# Numbers: every option that takes one, against every way of not being one

COUNTS = (("reqsize", "blocks", 1, 2097152), ("numreqs", "operations", 1, INT64_MAX),
          ("kbytes", "KiB", 1, INT64_MAX >> 10), ("mbytes", "MiB", 1, INT64_MAX >> 20),
          ("gbytes", "GiB", 1, INT64_MAX >> 30), ("queuedepth", "operations", 1, 65536),
          ("passes", "passes", 1, 1000000000), ("startoffset", "blocks", 0, INT64_MAX),
          ("passoffset", "blocks", 0, INT64_MAX), ("targetoffset", "blocks", 0, INT64_MAX),
          ("maxerrors", "errors", 1, INT64_MAX), ("maxerrorstoprint", "errors", 1, INT64_MAX),
          ("seek range", "blocks", 1, INT64_MAX), ("seek interleave", None, 1, 1 << 30),
          ("seek seed", None, 0, 2 ** 64 - 1), ("seek disthist", "buckets", 1, 1000000),
          ("seek seekhist", "buckets", 1, 1000000), ("threads", "threads", 1, 65536),
          ("ioengine batch", "requests", 1, 65536))
NO_NUMBERS = ("-1", "", "4k", "1.5")
FURTHER_NO_NUMBERS = ("0x10", "1e3", "+5", " 5", "5 ", "1,000", "abc", "0b1", "٣", "5-6", "1_000", "inf", ".", "4K",
                      "9" * 30, str(2 ** 63), str(2 ** 64), str(2 ** 64 + 1), "9" * 5000)

for option, unit, least, most in COUNTS:
    allowed = m.whole_number(unit, least, most)
    base = READ + " -ioengine io_uring" if option == "ioengine batch" else READ
    for bad in NO_NUMBERS + (str(most + 1),) + (("0",) if least else ()):
        value(option, bad, allowed, base=base)
for bad in FURTHER_NO_NUMBERS:
    if len(bad) < 100:
        value("numreqs", bad, m.whole_number("operations", 1, INT64_MAX))
row("-numreqs of 5000 digits", READ.split() + ["-numreqs", "9" * 5000], 2, 7,
    m.line(r"-numreqs 9+\.\.\.", m.whole_number("operations")), longest=300)
value("reqsize", "4K", m.reqsize_of(4))
value("numreqs", "-1", base="-op read -numreqs 4 -targets 1 data")

for bad in ("-1", "", "0", "4x", "4kb", "1.5k", "0x10", "k", "2G", "1073741825", "9" * 30, " 4k", "4 k", "4kk",
            "1e3"):
    value("blocksize", bad, m.size("1 GiB"))
for bad in ("-1", "", "0", "0k", "4x", "1.5g", "16777216T", "16777217T", "99999999999T", str(2 ** 64)):
    value("bytes", bad, m.size("%d bytes" % (2 ** 64 - 1)))
for size in ("8388608T", str(2 ** 63), str(2 ** 64 - 1)):
    row("more bytes than a file can have: " + size, READ + " -bytes " + size, 2, None,
        m.line("target 0, data", m.PAST_LARGEST))
    row("the same, a byte each", READ + " -blocksize 1 -reqsize 1 -bytes " + size, 2, None,
        m.line("target 0, data", m.PAST_LARGEST))

for option in ("timelimit", "runtime", "passdelay"):
    for bad in ("0", "-1", "", "abc"):
        value(option, bad, m.positive_time(m.SECONDS))
for bad in ("0.0", "0ms", "1e3", "0x1", ".", "5.", "1,5", "inf", "nan", "+1", " 1", "1d", "1min", "1 s",
            "0.0000000001", "999999999999", "877000h", "9" * 30):
    value("timelimit", bad, m.positive_time(m.TIME_UNITS))
for option in ("startdelay", "targetstartdelay", "operationdelay"):
    for bad in ("-1", "", "abc"):
        value(option, bad, m.time())
value("heartbeat seconds", "86401", m.time("86400s"))

# Words to choose from

for bad, near in (("reed", "read"), ("READ", "read"), ("wirte", "write"), ("", None), ("rw", None), ("1", None)):
    value("op", bad, m.choice("read, write or noop"), *([m.near(near)] if near else []),
          base="-targets 1 data -numreqs 1")
for bad in ("101", "-1", "abc", "", "50%", "1e1", "100.0001", "nan", "9" * 30):
    value("rwratio", bad, m.PERCENT_READS, base="-targets 1 data -numreqs 1")
row("-rwratio with another word behind it", "-targets 1 data -rwratio 50 randm", 3, 6,
    m.line("-rwratio randm", m.ONLY_RANDOM))
for bad, near in (("all", None), ("", None), ("absolut", "absolute"), ("5", None)):
    value("percentcpu", bad, m.choice("absolute or relative"), *([m.near(near)] if near else []))
row("-seek rnadom", READ + " -seek rnadom", 3, 7, m.line("-seek rnadom", m.no_suboption("random")))
row("-seek random rnage", READ + " -seek random rnage 5", 3, 8,
    m.line("-seek rnage", m.no_suboption("range")))
for bad in ("foo", "5", ""):
    row("-seek %r" % bad, READ.split() + ["-seek", bad], 3, 7,
        m.line("-seek " + (bad or "''"), m.one_of("sequential, random, range, .*")))

# Text that is empty

for option, what in (("targetdir", "<directory>"), ("output", "<file>"), ("csvout", "<file>"),
                     ("combinedout", "<file>"), ("jsonout", "<file>"),
                     ("errout", "<file>"), ("id", "<text>"), ("setup", "<file>"), ("seek save", "<file>"),
                     ("seek load", "<file>")):
    value(option, "", what + " " + m.EMPTY)
value("outputformat", "", m.COLUMN_LIST)
value("help", "", m.NO_OPTION, base="-op read -targets 1 data")

# Amounts and places that do not fit 64 bits, or the target

row("no amount of work for a write", "-op write -targets 1 data", 2, None,
    m.line("target 0, data", m.NO_AMOUNT_SAY))
row("no amount of work for a new file", "-op write -targets 1 new", 2, None, m.line("target 0, new", m.NO_AMOUNT))
row("no amount of work on null", "-op read -targets 1 null", 2, None, m.NO_AMOUNT)
row("no amount of work for noop", "-op noop -targets 1 data", 2, None, m.NO_AMOUNT)
row("no operation on a file with data", "-targets 1 data -numreqs 1", 2, None,
    m.line("target 0, data", m.NO_OPERATION_SAY))
row("no operation on one of three", "-op target 0 read -op target 2 read -targets 3 data data data -numreqs 1", 2,
    None, m.line("target 1, data", ".*" + m.NO_OPERATION))
row("nothing to read in an empty file", "-op read -targets 1 empty", 2, None,
    m.line("target 0, empty", m.NOTHING_TO_READ))
row("nothing to read behind the start offset", READ + " -startoffset 64", 2, None,
    "target 0, data: " + m.NOTHING_TO_READ + ": the start offset .* 65536 bytes")
row("numreqs times reqsize", NULL + " -numreqs 9223372036854775807 -reqsize 2", 2, None,
    "^xdd: target 0, null: -numreqs 9223372036854775807: .*" + m.EIB)
row("numreqs times reqsize, just too much", NULL + " -numreqs 9007199254740992 -reqsize 1", 2, None,
    "-numreqs 9007199254740992: .*" + m.EIB)
row("startoffset times blocksize", NULL + " -startoffset 9007199254740992", 2, None,
    "^xdd: target 0, null: -startoffset 9007199254740992,.* blocks of 1024 bytes, .*" + m.EIB)
row("startoffset times blocksize, past 64 bits", NULL + " -startoffset 9223372036854775807 -blocksize 1G -reqsize 1",
    2, None, "-startoffset 9223372036854775807,.*" + m.EIB)
row("startoffset and one request", NULL + " -startoffset 9007199254740991", 2, None,
    "target 0, null: " + m.PAST_LARGEST)
row("passoffset times passes", NULL + " -passes 3 -passoffset 4611686018427387", 2, None,
    "-passoffset 4611686018427387,.*" + m.EIB)
row("passoffset times passes, past 64 bits", NULL + " -passes 1000000000 -passoffset 9007199254740991", 2, None,
    "-passoffset 9007199254740991,.*" + m.EIB)
row("targetoffset times the target's number", "-op read -targets -3 null -numreqs 1 -targetoffset 9007199254740000",
    2, None, "^xdd: target 2, null: .*-targetoffset 9007199254740000.*" + m.EIB)
row("targetoffset past 64 bits", "-op read -targets -3 data -numreqs 1 -targetoffset 9223372036854775807", 2, None,
    "^xdd: target 1, data: .*-targetoffset 9223372036854775807.*" + m.EIB)
row("targetoffset of the third target, no warning about the second",
    "-op read -targets -3 data -numreqs 1 -targetoffset 9007199254740000", 2, None,
    "^xdd: target 2, data: .*-targetoffset 9007199254740000.*" + m.EIB)
row("interleave times numreqs", NULL + " -seek interleave 1073741824 -numreqs 99999999999", 2, None,
    m.PAST_LARGEST)
row("start delays together", "-op read -targets -8 null -numreqs 1 -targetstartdelay 876000h", 2, None,
    m.line("target 6, null", m.DELAYS_TOO_LONG))
row("a request of more than 2 GiB", READ + " -blocksize 4096 -reqsize 2097152", 2, None,
    m.line("target 0, data", "a request of 2097152 blocks of 4096 bytes .*" + m.LARGER_THAN_2_GIB))
row("a request of a little more than 2 GiB", READ + " -blocksize 1025 -reqsize 2097152", 2, None, m.LARGER_THAN_2_GIB)
row("buffers larger than memory", READ + " -queuedepth 65536 -reqsize 2097152 -numreqs 1", 2, None,
    m.line("-reqsize, -queuedepth", m.BUFFERS_TOO_LARGE + r" 131072\.0 GiB, and this machine has"))
row("buffers of all targets larger than memory",
    "-op read -targets -8000 data -queuedepth 1000 -reqsize 2097152 -numreqs 1",
    2, None, m.BUFFERS_TOO_LARGE)

# Ranges

row("range smaller than a request", READ + " -reqsize 8 -numreqs 1 -seek range 7", 2, None,
    m.line("target 0, data: -seek range 7", m.range_too_small(8)))
row("random range smaller than a request", READ + " -reqsize 8 -numreqs 1 -seek random range 4", 2, None,
    "-seek range 4: .*" + m.SMALLER_THAN_REQUEST)
row("range smaller than a request, of one target",
    "-op read -targets 2 data data -reqsize 8 -numreqs 1 -seek target 1 range 4", 2, None,
    "^xdd: target 1, data: -seek range 4")
row("range past the largest offset", READ + " -numreqs 1 -seek range 9223372036854775807", 2, None,
    "-seek range 9223372036854775807: .*" + m.EIB)
row("stagger range too small", READ + " -reqsize 8 -numreqs 4 -seek stagger range 31", 2, None,
    m.line("target 0, data: -seek stagger", "a range of 31 blocks " + m.range_does_not_hold(4, 8)))
row("stagger range too small for the bytes", READ + " -reqsize 8 -bytes 9000 -seek stagger range 8", 2, None,
    m.range_does_not_hold(2, 8))
row("stagger without an amount", READ + " -timelimit 1 -seek stagger", 2, None,
    "-seek stagger: " + m.SAY_HOW_MANY)
row("random without a range", "-op write -targets 1 null -timelimit 1 -seek random", 2, None,
    "-seek random: " + m.SAY_RANGE)
for sub in ("save s", "seekhist 5", "disthist 5"):
    row("seek %s without an amount" % sub, READ + " -timelimit 1 -reqsize 1 -seek " + sub, 2, None,
        "-seek %s: " % sub.split()[0] + m.SAY_HOW_MANY)
row("timed pass on less than a request", READ + " -reqsize 128 -timelimit 1", 2, None,
    m.less_than_request(65536, 131072))

# Direct I/O

DIO = READ + " -dio -numreqs 2 -blocksize 1 "
row("-dio: request size", DIO + "-reqsize 100", 2, None,
    m.line("target 0, data: -dio", m.dio_multiple("the request size", 100)))
row("-dio: start offset", DIO + "-reqsize 4096 -startoffset 100", 2, None,
    "-dio: " + m.dio_multiple("the start offset", 100))
row("-dio: pass offset", DIO + "-reqsize 4096 -passes 2 -passoffset 100", 2, None,
    "-dio: " + m.dio_multiple("the pass offset", 100))
row("-dio: target offset", "-op read -targets -2 data -dio -numreqs 2 -blocksize 1 -reqsize 4096 -targetoffset 100",
    2, None, m.line("target 1, data: -dio", m.dio_multiple("the start offset .*-targetoffset", 100)))
row("-dio: last operation on a character device", "-op read -targets 1 /dev/zero -dio -reqsize 4 -bytes 5000", 2, None,
    "-dio: " + m.dio_multiple("the size of the last operation", 904))
row("-dio: stagger in blocks of 1 byte", DIO + "-reqsize 4096 -seek stagger", 2, None, "-dio: " + m.DIO_BLOCK_SIZE)
row("-dio: write of a new file", "-op write -targets 1 new -dio -reqsize 1 -blocksize 1000 -numreqs 1", 2, None,
    "target 0, new: -dio: " + m.DIO_REQUEST_SIZE)
row("-dio: one target of two", "-op read -targets 2 data data -dio target 1 -reqsize 100 -blocksize 1 -numreqs 1", 2,
    None, "^xdd: target 1, data: -dio")

# Lists of operations

GOOD = "# a list\n#\n0 0 8 r 0 0\n1 8 8 r 0 0\n2 16 8 r 0 0\n3 24 8 r 0 0\n"
LOAD = READ + " -reqsize 8 -seek load list"
for what, line, why in (("one word", "garbage", m.SIX_FIELDS),
                        ("three fields", "4 32 8", m.SIX_FIELDS),
                        ("five fields", "4 32 8 r 0", m.SIX_FIELDS),
                        ("seven fields", "4 32 8 r 0 0 0", m.SIX_FIELDS),
                        ("bad ordinal", "x 32 8 r 0 0", m.not_a_number("ordinal")),
                        ("negative location", "4 -32 8 r 0 0", m.not_a_number("location")),
                        ("fractional location", "4 3.2 8 r 0 0", m.not_a_number("location")),
                        ("location of 30 digits", "4 " + "9" * 30 + " 8 r 0 0", m.not_a_number("location")),
                        ("location at 2^64-1", "4 18446744073709551615 8 r 0 0", m.LOCATION_LARGE),
                        ("no blocks", "4 32 0 r 0 0", m.LIST_SIZE),
                        ("huge request", "4 32 4294967296 r 0 0", m.LIST_SIZE),
                        ("request with a suffix", "4 32 8k r 0 0", m.LIST_SIZE),
                        ("unknown operation", "4 32 8 x 0 0", m.LIST_OPERATION),
                        ("long operation", "4 32 8 read 0 0", m.LIST_OPERATION),
                        ("bad time", "4 32 8 r 0 -1", m.LIST_TIME),
                        ("NUL byte", "4 32 8 r 0 0\0", m.NUL_BYTE),
                        ("binary", "\x01\x02\x7f", m.SIX_FIELDS),
                        ("long line", "z" * 100000, m.SIX_FIELDS)):
    row("load file, line 7: " + what, LOAD, 2, None, m.line("-seek load list", m.list_line(7, why)),
        files={"list": GOOD + line + "\n8 40 8 r 0 0\n"})
row("load file, line 7 without a newline", LOAD, 2, None, m.list_line(7, m.SIX_FIELDS), files={"list": GOOD + "4 32"})
row("load file, line 7 of a list for all", LOAD.replace("-targets 1 data", "-targets 2 data data"), 2, None,
    r"list\.T0\.txt: " + m.list_line(7), files={"list.T0.txt": GOOD + "x", "list.T1.txt": GOOD})
row("load file missing", READ + " -seek load nosuch", 2, None, m.line("-seek load nosuch", m.NO_FILE))
row("load file empty", READ + " -seek load empty", 2, None, m.line("-seek load empty", m.NO_OPERATIONS))
row("load file of comments", LOAD, 2, None, "-seek load list: " + m.NO_OPERATIONS, files={"list": "# nothing\n\n"})
row("load file is a directory", READ + " -seek load dir", 2, None, m.line("-seek load dir", m.IS_DIRECTORY))
row("load file in a missing folder", READ + " -seek load nodir/x", 2, None, m.line("-seek load nodir/x", m.NO_FILE))
row("list with a larger request than -reqsize", READ + " -reqsize 4 -seek load list", 2, None,
    "-seek load list: " + m.list_request(8, 4), files={"list": GOOD})
row("list past the largest offset", LOAD, 2, None, "-seek load list: " + m.LIST_PAST_LARGEST,
    files={"list": "0 9223372036854775800 8 r 0 0\n"})
row("-numreqs larger than the list", LOAD + " -numreqs 5", 2, None,
    "-numreqs 5: " + m.more_than_list("4 operations"), files={"list": GOOD})
for amount, size in (("-bytes 32769", 32769), ("-kbytes 33", 33792), ("-mbytes 1", 1 << 20)):
    row("more bytes than the list: " + amount, LOAD + " " + amount, 2, None,
        "-bytes %s: " % size + m.more_than_list("32768 bytes"), files={"list": GOOD})
row("-op read against a list that writes", LOAD, 2, None, "-op read: " + m.list_has("list", "writes"),
    files={"list": GOOD.replace("r", "w")})
row("-op write against a list that reads", LOAD.replace("read", "write"), 2, None,
    "-op write: " + m.list_has("list", "reads"), files={"list": GOOD})
row("-op read against a mixed list", LOAD, 2, None, "-op read: " + m.list_has("list", "mixes"),
    files={"list": GOOD + "4 32 8 w 0 0\n"})
row("save into a missing folder", READ + " -numreqs 1 -seek save nodir/x", 2, None,
    m.line("-seek save nodir/x: nodir/x.T0.txt", m.no_directory("nodir")))
row("save into a missing folder, other outputs untouched",
    READ + " -numreqs 1 -seek save nodir/x -output o -errout e -csvout c", 2, None,
    m.line("-seek save nodir/x: nodir/x.T0.txt", m.no_directory("nodir")))
row("save over a directory", READ + " -numreqs 1 -seek save d", 2, None, m.line("-seek save d: d.T0.txt",
    m.IS_DIRECTORY),
    files={"d.T0.txt/": ""})
row("save of the second target over a directory", "-op read -targets -2 data -reqsize 1 -numreqs 1 -seek save d", 2,
    None, "-seek save d: d.T1.txt: " + m.IS_DIRECTORY, files={"d.T1.txt/": ""})

SAVE_OVER = "-op write -targets 2 o ./s.T0.txt -reqsize 1 -numreqs 1 -seek target 0 save s"
row("save over a target that is there", SAVE_OVER, 2, None,
    m.line("target 1, ./s.T0.txt", m.list_replaces_target("s", "s.T0.txt")),
    files={"s.T0.txt": "x"})
row("save over a target that is yet to be made", SAVE_OVER.replace("./", ""), 2, None,
    m.line("target 1, s.T0.txt", m.list_replaces_target("s", "s.T0.txt")))

# Setup files

SETUP = READ + " -setup a.cfg"
row("setup file missing", READ + " -setup nosuch", 2, 7, m.line("-setup nosuch", m.unreadable(m.NO_FILE)))
row("setup file is a directory", READ + " -setup dir", 2, 7, m.line("-setup dir", m.unreadable(m.IS_DIRECTORY)))
row("setup file in a file", READ + " -setup data/x", 2, 7, m.line("-setup data/x", m.unreadable(m.NOT_A_DIRECTORY)))
row("setup file with a NUL byte", SETUP, 2, 7, m.line("-setup a.cfg", ".*" + m.NUL_BYTE),
    files={"a.cfg": "-op\0read\n"})
row("setup file includes itself", SETUP, 2, "a.cfg:2", m.line("-setup a.cfg", m.SETUP_LOOP),
    files={"a.cfg": "-op read\n-setup a.cfg\n"})
row("setup file includes itself by another name", SETUP, 2, "a.cfg:1", m.line(r"-setup \./dir/\.\./a.cfg",
    m.SETUP_LOOP),
    files={"a.cfg": "-setup ./dir/../a.cfg"})
row("two setup files in a loop", SETUP, 2, "b.cfg:1", m.line("-setup a.cfg", m.SETUP_LOOP),
    files={"a.cfg": "-setup b.cfg", "b.cfg": "-setup a.cfg"})
row("three setup files in a loop", SETUP, 2, "c.cfg:1", m.line("-setup a.cfg", m.SETUP_LOOP),
    files={"a.cfg": "-setup b.cfg", "b.cfg": "-setup c.cfg", "c.cfg": "-setup a.cfg"})
row("setup files nested too deep", READ + " -setup n0", 2, "n31:1",
    m.line("-setup n32", m.SETUP_NESTED),
    files={"n%d" % i: "-setup n%d" % (i + 1) for i in range(40)})
row("setup file with an open single quote", SETUP, 2, "a.cfg:2",
    m.line("-setup a.cfg", m.OPEN_QUOTE), files={"a.cfg": "-op read\n-id 'never\nclosed\n"})
row("setup file with an open double quote", SETUP, 2, "a.cfg:1", m.OPEN_QUOTE, files={"a.cfg": '"'})
row("unknown option in a setup file", SETUP, 3, "a.cfg:3",
    m.line("-qeuedepth", m.no_option("queuedepth")), files={"a.cfg": "# first\n\n-qeuedepth 4\n"})
row("stray word in a setup file", SETUP, 3, "a.cfg:1", m.line("read", m.STRAY), files={"a.cfg": "-op read read"})
row("bad value in a setup file", SETUP, 2, "a.cfg:4", m.line("-reqsize 4k", m.whole_number("blocks", 1, 2097152)),
    files={"a.cfg": "-op read\n-reqsize\n# here:\n 4k\n"})
row("bad value behind CRLF lines", SETUP, 2, "a.cfg:2", m.line("-numreqs x"),
    files={"a.cfg": "-op read\r\n-numreqs x\r\n"})
row("bad value behind a line that goes on", SETUP, 2, "a.cfg:3", m.line("-numreqs x"),
    files={"a.cfg": "-op \\\nread\n-numreqs x\n"})
row("bad value in a nested setup file", SETUP, 2, "b.cfg:2", m.line("-numreqs 0"),
    files={"a.cfg": "-op read\n-setup b.cfg\n", "b.cfg": "\n-numreqs 0\n"})
row("bad value behind a nested setup file", SETUP, 2, "a.cfg:2", m.line("-numreqs 0"),
    files={"a.cfg": "-setup b.cfg\n-numreqs 0\n", "b.cfg": "\n\n-op read\n\n"})
row("bad value on the command line behind a setup file", SETUP + " -numreqs 0", 2, 9, m.line("-numreqs 0"),
    files={"a.cfg": "-op read\n"})
row("bad scope in a setup file", SETUP, 2, "a.cfg:2", m.line("-op target 4", m.no_such_target()),
    files={"a.cfg": "\n-op target 4 read\n"})
row("refused option in a setup file", SETUP, 3, "a.cfg:1", m.line("-multipath"), files={"a.cfg": "-multipath\n"})
row("target in a setup file without its name", READ + " -setup a.cfg", 2, "a.cfg:1",
    m.line("-targets 2", m.names_wanted(2, 1)),
    files={"a.cfg": "-targets 2 data"})
row("setup file larger than any", SETUP, 2, 7, m.SETUP_TOO_LARGE, files={"a.cfg": "#" * ((16 << 20) + 1)})

# Two operations for all targets: the last one would hold for those beside the first as well

for args, last, before, meant in (
        ("-op read -target data -op write -target note", "-op write", "-op read",
            "say -op target 0 read -op target 1 write"),
        ("-target data -op read -target note -op write", "-op write", "-op read",
            "say -op target 0 read -op target 1 write"),
        ("-op read -targets 2 data empty -op write -target note", "-op write", "-op read",
         "say -op target 0-1 read -op target 2 write"),
        ("-rwratio 50 random -target data -op target 1 read -op w -targets 2 note empty", "-op w", "-rwratio 50",
         "say -rwratio target 0 50 random -op target 1-2 w"),
        ("-op read -target data -rwratio 25 -target note", "-rwratio 25", "-op read",
         "say -op target 0 read -rwratio target 1 25"),
        ("-rwratio 75 -target data -rwratio 25 -target note", "-rwratio 25", "-rwratio 75",
         "say -rwratio target 0 75 -rwratio target 1 25"),
        ("-rwratio 50 -target data -rwratio 50 random -target note", "-rwratio 50", "-rwratio 50",
         "say -rwratio target 0 50 -rwratio target 1 50 random"),
        ("-op read -op write -targets 2 data note", "-op write", "-op read",
         "say which target each is for, as in -op target 0 read -op target 1 write"),
        ("-targets 2 data note -op read -op write", "-op write", "-op read",
         "say which target each is for, as in -op target 0 read -op target 1 write"),
        ("-op write -targets 2 data note -op target all read", "-op read", "-op write",
            "say which target each is for")):
    row("two operations for all targets: " + args, args + " -reqsize 1 -numreqs 1", 2, None,
        m.line(last, m.second_operation(before, meant)))
row("two operations for all targets, in a setup file", "-setup a.cfg -numreqs 1", 2, None,
    m.line("a.cfg:3: -op write", m.second_operation("-op read", "say -op target 0 read -op target 1 write$")),
        files={"a.cfg": "-op read\n-target data\n-op write -target note"})
row("two operations for all targets, before and behind a setup file", "-op read -setup a.cfg -op write -numreqs 1", 2,
    None, m.line("-op write", m.SECOND_OPERATION), files={"a.cfg": "-targets 2 data note"})

# Targets that cannot be opened

for op in ("-op read", "-rwratio 50", "-op noop"):
    row("missing target: " + op, op + " -targets 1 nosuch -numreqs 1", 4, None,
        m.line("target 0, nosuch", m.NO_FILE))
row("missing target and no amount", "-op read -targets 1 nosuch", 4, None, m.line("target 0, nosuch", m.NO_FILE))
row("missing target, the last of three", "-op write -op target 2 read -targets 3 new1 new2 nosuch -numreqs 1", 4,
    None, m.line("target 2, nosuch", m.NO_FILE))
row("missing target in a directory of targets", READ + " -targetdir dir", 4, None,
    m.line("target 0, dir/data", m.NO_FILE))
row("missing directory of targets", "-op write -targets 1 new -numreqs 1 -targetdir nodir", 4, None,
    m.line("target 0, nodir/new", ".*" + m.DIRECTORY_MISSING))
row("missing folder of a target to write", "-op write -targets 1 nodir/new -numreqs 1", 4, None,
    m.line("target 0, nodir/new", ".*" + m.DIRECTORY_MISSING))
row("missing folder, one target of two", "-op write -targets 2 new nodir/new -numreqs 1", 4, None,
    m.line("target 1, nodir/new"))
for op in ("read", "write", "noop"):
    row("directory as a target: " + op, "-op %s -targets 1 dir -numreqs 1" % op, 4, None,
        m.line("target 0, dir", "is a directory; " + m.NOT_A_FILE))
    row("pipe as a target: " + op, "-op %s -targets 1 fifo -numreqs 1" % op, 4, None,
        m.line("target 0, fifo", "is a pipe or a socket; " + m.NOT_A_FILE))
row("file as a folder", "-op write -targets 1 data/x -numreqs 1", 4, None, m.line("target 0, data/x",
    m.NOT_A_DIRECTORY))
row("name too long for the file system", "-op write -targets 1 %s -numreqs 1" % ("x" * 300), 4, None,
    m.NAME_TOO_LONG, longest=400)
row("a loop of symbolic links", "-op read -targets 1 loop -numreqs 1", 4, None,
    m.line("target 0, loop", m.TOO_MANY_LINKS), files={"loop@": "loop"})
row("a name with a newline", ["-op", "read", "-targets", "1", "no\nsuch", "-numreqs", "1"], 4, None,
    m.line("target 0, no.such", m.NO_FILE))
row("64 targets, one missing", "-op read -targets -63 data -target nosuch -numreqs 1", 4, None,
    m.line("target 63, nosuch", m.NO_FILE))

# Outputs

for option in ("output", "csvout", "combinedout", "errout"):
    row("-%s in a missing folder" % option, READ + " -%s nodir/x" % option, 2, None,
        m.line("-%s nodir/x" % option, m.no_directory("nodir")))
    row("-%s is a directory" % option, READ + " -%s dir" % option, 2, None, m.line("-%s dir" % option, m.IS_DIRECTORY))
    row("-%s is the target" % option, READ + " -%s ./data" % option, 2, None,
        m.line(r"-%s \./data" % option, m.is_target(0)))
row("-output under a file", READ + " -output note/x", 2, None, m.line("-output note/x", m.NOT_A_DIRECTORY))
row("-output would be the target to make", "-op write -targets 1 new -numreqs 1 -output new", 2, None,
    m.line("-output new", m.is_target(0)))
for args in ("-output x -csvout x", "-output x -csvout ./x", "-csvout x -combinedout dir/../x",
             "-output note -errout note", "-errout x -combinedout x"):
    first, second = args.split()[0], args.split()[2]
    row("two outputs to one file: " + args, READ + " -numreqs 1 -reqsize 1 " + args, 2, None,
        "this is the file of %s too" % "(%s|%s)" % (first, second))
for option in ("csvout", "combinedout"):
    for name, header in (("other columns", "What,Ops\n1,2\n"), ("no header", "just text\n"), ("binary", "\0\1\2")):
        row("-%s to a file with %s" % (option, name), READ + " -%s x.csv" % option, 2, None,
            m.line("-%s x.csv" % option, m.OTHER_COLUMNS), files={"x.csv": header})
row("identifier near one", READ + " -outputformat new +WAHT", 2, None,
    m.line("-outputformat WAHT", m.NO_COLUMN + m.near(r"\+WHAT")))
row("identifier in lower case", READ + " -outputformat add +what", 2, None,
    "-outputformat what: .*" + m.near(r"\+WHAT"))
row("identifier near none", READ + " -outputformat new +OPS+ZZZZZZZZ", 2, None,
    m.line("-outputformat ZZZZZZZZ", m.NO_COLUMN))
for bad in ("+", "WHAT", "+WHAT+", "++WHAT", ""):
    row("-outputformat new %r" % bad, READ.split() + ["-outputformat", "new", bad], 2, None,
        m.line("-outputformat %s" % re.escape(bad or "''"), m.COLUMN_PLUS))
row("-outputformat with another word", READ + " -outputformat nwe +WHAT", 3, 7,
    m.line("-outputformat nwe", m.choice("add or new")))
row("-outputformat without plus signs", READ + " -outputformat WHAT", 2, 7,
    r"^xdd: -outputformat WHAT: .*\+WHAT\+OPS")
row("-outputformat without plus signs before an option", READ + " -outputformat WHAT -qd 2", 2, 7,
    m.line("-outputformat WHAT", m.COLUMN_LIST))

# Help, and options that are not to be had

row("-help of no option", "-help nosuch", 2, 2, m.line("-help nosuch", m.no_option()))
row("-help of no option, with a dash", "-help -nosuch", 2, 2, m.NO_OPTION)
row("-help of nearly an option", "-help quedepth", 2, 2,
    m.line("-help quedepth", m.no_option("queuedepth")))
for words, instead in (("multipath mp", "multipath device itself as a target"),
                       ("readafterwrite raw", "a writing and a reading target"),
                       ("writeafterread war", "-endtoend"), ("targetin tin", "-targets and -op"),
                       ("targetout tout", "-targets and -op"),
                       ("xni", "TCP"), ("ibdevice", "TCP"), ("devicefile devf", "-targets"),
                       ("interactive inter", "-dryrun")):
    for word in words.split():
        row("refused: -" + word, "-%s something -targets 1 data" % word, 3, 1, m.line("-" + word, ".*" + instead))
row("refused behind good options", READ + " -multipath", 3, 6, m.line("-multipath"))
row("refused with two dashes", "--multipath", 3, 1, m.line("--multipath"))
for word in ("endtoend", "e2e", "restart", "timeserver"):
    row("not in this version: -" + word, "-%s -targets 1 data" % word, 3, 1,
        m.line("-%s" % word, m.NOT_IN_VERSION))

# Runs that take place and fail: the errors are counted and make the status

PAST = ("I/O ERROR on Target 0 .*: " + m.io_error("read", 8192, 65536, "data") + "operation 8 of pass 1: " +
        m.end_of_file(0))
row("read past the end of a file", READ + " -reqsize 8 -numreqs 9 -timelimit 60", 6, None, PAST,
    m.line("warning: target 0, data", m.reach_to("72 KiB", "64 KiB")),
    many=True, out=True)
row("read across the end of a file", READ + " -reqsize 48 -numreqs 2 -timelimit 60", 6, None,
    m.io_error("read", 49152, 49152, "data") + ".*" + m.end_of_file(16384), many=True, out=True)
row("random reads past the end of a file",
    READ + " -reqsize 8 -numreqs 20 -seek random range 100000 -queuedepth 4 -timelimit 60",
    6, None, m.end_of_file(0), many=True, out=True)
row("read past the end, one line shown", READ + " -reqsize 8 -numreqs 20 -maxerrorstoprint 1 -timelimit 60", 6, None,
    PAST,
    "target 0, data: " + m.more_failed("11", m.END_OF_FILE), many=True, out=True)
row("read past the end, ends at two errors", READ + " -reqsize 8 -numreqs 20 -maxerrors 2 -timelimit 60", 6, None,
    m.errors_end_pass(2), many=True, out=True)
row("read past the end, stops", READ + " -reqsize 8 -numreqs 20 -stoponerror -timelimit 60", 6, None, PAST, many=True,
    out=True)
row("read of an empty file", "-op read -targets 1 empty -numreqs 1 -timelimit 60", 6, None,
    "at offset 0 of empty, .*" + m.END_OF_FILE,
    many=True, out=True)
if os.stat("/dev").st_dev != os.stat("/").st_dev:
    row("a mistyped device", "-op write -targets 1 /dev/no_such_disk -numreqs 3", 4, None, m.NO_DEVICE)
if os.path.exists("/dev/full"):
    row("write to /dev/full", "-op write -targets 1 /dev/full -numreqs 3", 6, None,
        m.io_error("write", 131072, 0, "/dev/full") + ".*" + m.NO_SPACE, many=True, out=True)
    row("-output to /dev/full", READ + " -numreqs 1 -reqsize 1 -output /dev/full", 6, None,
        "-output /dev/full: .*" + m.NO_SPACE)
    row("-csvout to /dev/full", READ + " -numreqs 1 -reqsize 1 -csvout /dev/full", 6, None,
        "-csvout /dev/full: .*" + m.NO_SPACE, out=True)


# Permissions. Root may read and write everything, unless that right of it is taken away.

def unprivileged():
    """Words before a command that have it keep to permissions, or None where there are none."""
    if os.geteuid() != 0:
        return []
    words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    if not t.have(words[0]):
        return None
    file = t.path("permission")
    with open(file, "w"):
        os.chmod(file, 0o400)
    allowed = t.command(words + ["sh", "-c", 'test ! -w "$1" && : 2>/dev/null >>"$1"', "sh", file]).status == 0
    plain = t.command(words + ["true"]).status == 0
    return words if plain and not allowed else None


PERMISSIONS = []


def permission(name, args, status, at, *wants, **kwargs):
    PERMISSIONS.append((name, args, status, at, wants, kwargs))


permission("read-only file to write", "-op write -targets 1 ro -numreqs 1 -reqsize 1", 4, None,
    m.line("target 0, ro", m.NO_WRITING))
permission("read-only file to read and write", "-rwratio 50 -targets 1 ro -numreqs 1 -reqsize 1", 4, None,
    m.line("target 0, ro", m.NO_WRITING))
permission("unreadable file", "-op read -targets 1 wo -numreqs 1 -reqsize 1", 4, None,
    m.line("target 0, wo", m.NO_READING))
permission("unreadable file, one target of two", "-op read -targets 2 data wo -reqsize 1 -numreqs 1", 4, None,
    m.line("target 1, wo", m.NO_READING))
permission("new file in a read-only folder", "-op write -targets 1 locked/new -numreqs 1", 4, None,
    m.line("target 0, locked/new", m.NO_CREATING))
permission("file in a closed folder", "-op read -targets 1 closed/x -numreqs 1", 4, None,
    m.line("target 0, closed/x", m.NO_PERMISSION))
permission("unreadable setup file", READ + " -setup wo", 2, 7, m.line("-setup wo", m.unreadable(m.NO_PERMISSION)))
permission("unreadable load file", READ + " -seek load wo", 2, None, m.line("-seek load wo", m.NO_PERMISSION))
permission("save into a read-only folder", READ + " -numreqs 1 -reqsize 1 -seek save locked/s", 2, None,
    m.line("-seek save locked/s: locked/s.T0.txt", m.cannot_create_in("locked")))
for option in ("output", "csvout", "combinedout", "errout", "jsonout"):
    permission("-%s to a read-only file" % option, READ + " -%s ro" % option, 2, None,
        m.line("-%s ro" % option, m.NO_PERMISSION))
    permission("-%s in a read-only folder" % option, READ + " -%s locked/x" % option, 2, None,
        m.line("-%s locked/x" % option, m.cannot_create_in("locked")))

MODES = {"ro": 0o444, "wo": 0o200, "locked/": 0o555, "closed/": 0o000}


# Running the rows

def make(directory, files):
    """The sentinels and the row's own files: "name/" is a directory, "name@" a symbolic link."""
    os.mkdir(directory)
    everything = dict({"data": bytes(range(256)) * 256, "empty": b"", "note": b"not to be changed\n", "dir/": b""},
                      **files)
    for name, content in everything.items():
        path = os.path.join(directory, name.rstrip("/@"))
        if name.endswith("/"):
            os.mkdir(path)
        elif name.endswith("@"):
            os.symlink(content, path)
        else:
            with open(path, "wb") as f:
                f.write(content if isinstance(content, bytes) else content.encode())
        if name in MODES:
            os.chmod(path, MODES[name])
    os.mkfifo(os.path.join(directory, "fifo"))


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha1(f.read()).hexdigest()


def look(directory):
    """All there is: name to kind, mode, size, times and contents."""
    seen = {}
    for top, dirs, files in os.walk(directory):
        for name in ["."] + dirs + files:
            path = os.path.normpath(os.path.join(top, name))
            st = os.lstat(path)
            whole = digest(path) if stat.S_ISREG(st.st_mode) and os.access(path, os.R_OK) else None
            seen[os.path.relpath(path, directory)] = (st.st_mode, st.st_ino, st.st_size if whole else 0,
                st.st_mtime_ns, whole)
    return seen


def problems(case, run, before, after):
    found = []
    lines = run.err.split("\n")
    if run.status != case.status:
        found.append("the status is %s, not %s" % (run.status, case.status))
    if run.err and lines.pop() != "":
        found.append("the last line of stderr has no end")
    if any(not line.startswith("xdd: ") or not line[5:].strip() for line in lines):
        found.append('a line of stderr does not begin with "xdd: "')
    if not lines or (len(lines) > 1 and not case.many):
        found.append("%d lines on stderr" % len(lines))
    found += ["too long a line: %d characters" % len(line) for line in lines if len(line) > case.longest]
    found += ["stderr does not match " + want for want in case.wants if not any(re.search(want,
        line) for line in lines)]
    if run.out and not case.out:
        found.append("there is output")
    for name in sorted(set(before) | set(after)):
        if before.get(name) != after.get(name) and name not in case.changes:
            found.append("%s is %s" % (name,
                "new" if name not in before else "gone" if name not in after else "changed"))
    return found


_number = 0


def check(case):
    global _number
    _number += 1
    directory = t.path("case%d" % _number)
    make(directory, case.files)
    before = look(directory)
    run = t.command(case.prefix + [t.XDD] + case.args, timeout=LIMIT_S, cwd=directory)
    found = problems(case, run, before, look(directory))
    for name in ("closed", "locked"):
        if os.path.isdir(os.path.join(directory, name)):
            os.chmod(os.path.join(directory, name), 0o700)
    t.ok(not found, case.name, "\n".join(found) + "\n" + str(run) if found else "")


def check_permissions():
    prefix = unprivileged()
    for name, args, status, at, wants, kwargs in PERMISSIONS:
        if prefix is None:
            t.skip(name, "root's rights cannot be taken away")
            continue
        files = {"ro": "x" * 1024, "wo": "x" * 1024, "locked/": "", "closed/": ""}
        row(name, args, status, at, *wants, files=files, prefix=prefix, **kwargs)
        check(ROWS[-1])


def check_full_disk():
    names = ("full disk", "full disk, several threads", "full disk, -output")
    directory = s.tmpfs("full", 1 << 20)
    if directory is None:
        for name in names:
            t.skip(name, s.sys_why())
        return
    new = os.path.join(directory, "new")
    for name, more in zip(names, ([], ["-queuedepth", "8"])):
        run = t.xdd(*"-op write -targets 1 new -reqsize 64 -numreqs 40 -timelimit 60".split(), *more, timeout=LIMIT_S,
            cwd=directory)
        size = os.path.getsize(new) if os.path.exists(new) else None
        said = ("^xdd: I/O ERROR on Target 0 .*" + m.io_error("write", 65536, r"\d+", "new") + ".*: " + m.NO_SPACE,
                m.line("target 0, new", m.more_failed(r"\d+", m.NO_SPACE)))
        t.ok(run.status == 6 and size and all(re.search(want, run.err, re.M) for want in said),
             name + ": reported and counted, status 6, and the file stays", "size: %s\n%s" % (size, run))
        os.unlink(new)
    fill(os.path.join(directory, "filler"))
    target = t.make_file("small", 4096)
    run = t.xdd("-op", "read", "-targets", 1, target, "-reqsize", 4, "-output", "results", timeout=LIMIT_S,
                cwd=directory)
    t.ok(run.status == 6 and re.search(m.line("-output results", ".*" + m.NO_SPACE), run.err, re.M),
         names[2] + ": said, status 6", run)


def fill(file):
    """Write until the disk is full."""
    with open(file, "wb", buffering=0) as f:
        try:
            while f.write(bytes(4096)):
                pass
        except OSError:
            pass


def check_block_device():
    past = m.reach_to(".*", "1 MiB$", "the device")
    rows = (("read past its end", "-op read -numreqs 9", past),
            ("write past its end", "-op write -numreqs 9", past),
            ("-startoffset past its end", "-op read -numreqs 1 -startoffset 1024", past),
            ("random range past its end", "-op read -numreqs 1 -seek random range 2000", past),
            ("-seek stagger past its end", "-op read -reqsize 4 -numreqs 2 -seek stagger range 2043", past),
            ("no operation", "-numreqs 1", m.NO_OPERATION_SAY),
            ("-dio in half sectors", "-op read -numreqs 1 -dio -blocksize 256 -reqsize 1",
             "-dio: " + m.dio_multiple("the request size", 256)))
    image = t.make_file("image", 1 << 20)
    device = s.loop_device(image)
    if device is None:
        for name, _, _ in rows:
            t.skip("a block device: " + name, s.sys_why())
        return
    before = digest(image)
    for name, args, want in rows:
        run = t.xdd("-targets", 1, device, *args.split(), timeout=LIMIT_S, cwd=t.tmp())
        t.ok(run.status == 2 and not run.out and len(run.error_lines()) == 1 and
             re.search(m.line("target 0, " + device, want), run.err), "a block device: " + name, run)
    # What is in the page cache of the device has to reach the file to be seen there.
    subprocess.run(["sync", device], stderr=subprocess.DEVNULL)
    t.equal(digest(image), before, "a block device: nothing was written")


def check_standard_output():
    if not os.path.exists("/dev/full"):
        t.skip("full standard output", "no /dev/full")
        return
    file = t.make_file("readable", 4096)
    with open("/dev/full", "w") as full:
        p = subprocess.run([t.XDD, "-op", "read", "-targets", "1", file, "-reqsize", "4"], stdin=subprocess.DEVNULL,
            stdout=full,
                           stderr=subprocess.PIPE, timeout=LIMIT_S)
    lines = p.stderr.decode().splitlines()
    t.ok(p.returncode == 6 and len(lines) == 1 and m.NO_SPACE in lines[0],
         "full standard output: one line, status 6",
         "status %s\n%s" % (p.returncode, "\n".join(lines)))


for entry in list(ROWS):
    check(entry)
check_permissions()
check_full_disk()
check_block_device()
check_standard_output()
t.done()
