#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Bad input, one row a case: what is wrong is said in one clear line on standard error, the status is right,
nothing that looks like a result is printed, and nothing is created or changed. Words and values.
"""
import re
import shlex

import messages as m
import xddtest as t
from xddbad import INT64_MAX, READ, NULL, row, value, check_rows

# Unknown options and stray words

for args, meant in (("-targts 1 data", "targets"), ("--targts 1 data", "targets"), ("-quedepth 4", "queuedepth"),
                    ("--queue-dept 4", "queuedepth"), ("-queue 4", "queuedepth"), ("-numreq 4", "numreqs"),
                    ("-reqsiz 4", "reqsize"), ("-sek random", "seek"), ("-mbyte 4", "mbytes"),
                    ("-OP read", "op"), ("-Verbose", "verbose"), ("---op read", "op"),
                    ("-outputfromat +OPS", "outputformat"), ("-timelmit 4", "timelimit"), ("-pases 4", "passes"),
                    ("-dryrum", "dryrun"), ("-strtoffset 4", "startoffset"), ("-tmielimit 1", "timelimit")):
    word = args.split()[0]
    row("unknown option, near one: " + word, args, 3, 1,
        m.line(word, m.no_option(meant)))

for word in ("-zzzz", "--zzzz", "-frobnicate", "-5", "-@", "-y"):
    row("unknown option, near none: " + word, word + " -targets 1 data", 3, 1,
        m.line(word, m.no_option()))
row("unknown option, very long", ["-" + "x" * 5000], 3, 1, m.line(r"-x{100,}\.\.\.", m.NO_OPTION), longest=300)
row("unknown option after good ones", READ + " -qd 2 -zzzz", 3, 8, m.line("-zzzz", m.NO_OPTION))
row("unknown option with a newline in it", ["-zz\nzz"], 3, 1, "^xdd: .*" + m.NO_OPTION)
row("unknown option with a blank in it", ["-op read"], 3, 1, m.line("'-op read'", m.NO_OPTION))
row("an option without a value: -option=value", "-dio=1 -targets 1 data", 3, 1, m.line("-dio=1", m.no_value("-dio")))
row("--option=value with a bad value", "--queuedepth=x -targets 1 data", 2, 1, m.line("--queuedepth x", m.WHOLE_NUMBER))
row("unknown option=value", "-zzzz=4", 3, 1, m.line("-zzzz=4", m.NO_OPTION))

for args, at in ((READ + " extra", 6), (READ + " -dio 5", 7), (READ + " -verbose 2", 7), ("5 " + READ, 1),
                 (READ + " ''", 6), (READ + " -", 6), (READ + " --", 6), (READ + " -reqsize 4 k", 8),
                 (READ + " -seek random zzz", 8), (READ + " -seek stagger 4 4", 9)):
    word = shlex.split(args)[at - 1] or "''"
    row("stray word: " + args, args, 3, at, m.line(re.escape(word), m.STRAY))
row("an option without its dash", "op read -targets 1 data", 3, 1, m.line("op", m.STRAY + m.near("-op")))
row("a file without -target", "-op read data", 3, 3, m.line("data", m.STRAY + "; files and devices are named with -target data"))
row("more names than targets", "-op read -targets 1 data note", 3, 6, m.line("note", m.STRAY))

# Commands, whose lines are read by the same code

for command, status in (("check", 3), ("combine", 2), ("compare", 2), ("copy", 101), ("fio", 3), ("gettime", 3), ("multi", 3),
                        ("report", 3), ("timeserver", 3), ("tsread", 3)):
    row("xdd %s: an unknown option" % command, command + " --zzzz", status, None,
        m.line(command + " --zzzz", m.NO_OPTION + "; xdd %s -help lists them" % command))
    row("xdd %s: a value of an option without" % command, command + " --help=x", status, None,
        m.line(command + " --help", m.no_value("-help")))
for args, subject in (("combine -jsonout", "-jsonout"), ("combine --hosts= data", "--hosts ''"), ("copy -log -v data b:", "-log"),
                      ("gettime --port=0", "--port 0"), ("report -axis -noplots data", "-axis"), ("sweep -rounds=x", "-rounds x"),
                      ("tsread -o -csv data", "-o"), ("curve -each=-1", "-each -1"), ("multi -slots=0", "-slots 0")):
    command = args.split()[0]
    row("xdd " + args, args, 101 if command == "copy" else 2, None, m.line("%s %s" % (command, subject)))

# Engines

for word, meant in (("io_urng", "io_uring"), ("libiao", "libaio"), ("psinc", "psync")):
    row("unknown engine: " + word, READ + " -ioengine " + word, 3, 7,
        m.line("-ioengine %s" % word, m.no_suboption(meant)))
row("a word of random", READ + " -seek once", 3, 7, m.line("-seek once", m.no_suboption("random once")))
for keyword, owners in (("touch", "mmap"), ("fua", "sg"), ("dpo", "sg"), ("fixedbufs", "io_uring"), ("fixedfiles", "io_uring"),
                        ("sqpoll", "io_uring"), ("iopoll", "io_uring"), ("batch 2", "libaio and io_uring"), ("bufsize 4k", "stdio"),
                        ("unbuffered", "stdio")):
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
row("missing argument after a target", "-targets 1 data -op target 0", 2, 4, m.line("-op", m.MISSING))
row("missing argument at the end of a setup file", READ + " -setup a.cfg -numreqs 1", 2, "a.cfg:2",
    m.line("-reqsize", m.MISSING), files={"a.cfg": "-op read\n-reqsize\n"})
row("missing list of columns", READ + " -outputformat new", 2, 6, m.line("-outputformat", m.MISSING))

# Which targets

row("no arguments", "", 2, None, "^xdd: " + m.NO_TARGET + "; .*-targets")
row("no target", "-op read -numreqs 1", 2, None, "^xdd: " + m.NO_TARGET)
row("-targets alone", "-targets", 2, 1, m.line("-targets", m.missing(re.escape("[<n>] <name> ..."))))
row("-target alone", "-target", 2, 1, m.line("-target", m.missing("<name> ...")))
row("-target before an option", "-target -op read", 2, 1, m.line("-target", m.MISSING))
row("-targets with too few names", "-op read -targets 3 data note", 2, 4,
    m.line("-targets 3", m.names_wanted(3, 2)))
row("-targets with too few names before an option", "-targets 2 data -op read", 2, 2,
    m.line("-targets 2", m.names_wanted(2, 1)))
row("-section without a setup file", "-op read -targets 1 data -section a", 2, 7, m.line("-section a", "no setup file has sections"))
row("-section without a name", "-op read -targets 1 data -section", 2, 6, m.line("-section", m.MISSING))
row("-keepgoing with one run", "-op read -targets 1 data -keepgoing", 2, None, m.line("-keepgoing", "is for several runs"))
row("-readback of reads", "-op read -targets 1 data -readback", 2, None, "must write, to be read back; its operation is read")
row("-targets with one name without a conversion", "-op read -targets 3 data%2d", 2, 4, m.line("-targets 3", m.names_wanted(3, 1)))
row("-targets with a wrong conversion", "-op read -targets 3 data%d%x", 2, 5, m.line("-targets data%d%x", '"%x" ' + m.NO_NUMBER))
row("-targets -N without a name", "-targets -2", 2, 1, m.line("-targets", m.MISSING))
row("-targets -N before an option", "-targets -2 -op read", 2, 1, m.line("-targets", m.MISSING))
for number in ("0", "-0", "9000", "8193", "-8193", "-9000", "99999999999999999999"):
    row("-targets %s" % number, "-targets %s data -op read" % number, 2, 2,
        m.line("-targets %s" % re.escape(number), m.TARGET_COUNT))
row("-targets -y", "-targets -y data -op read", 2, 2, m.line("-targets -y", m.TARGET_COUNT))
row("-targets with an empty name first", "-targets '' data -op read", 2, 2, m.line("-targets ''", m.TARGET_NAME_EMPTY))
for number in ("abc", "1.5", "1k", "+1"):
    row("a name that is no count: " + number, "-targets data %s -op read" % number, 4, None,
        "^xdd: target 1, %s: " % re.escape(number))
row("-targets with an empty name", "-op read -targets 2 data ''", 2, 6,
    m.line("-targets ''", m.TARGET_NAME_EMPTY))
row("-targets -N with an empty name", "-targets -2 ''", 2, 3, m.TARGET_NAME_EMPTY)
row("-target with an empty name", "-target ''", 2, 2, m.line("-target ''", m.TARGET_NAME_EMPTY))
row("more than 8192 targets in total", "-op noop -targets 1 null -targets -8192 null", 2, 7,
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

# Numbers: every option that takes one refuses a word and what is beyond its range. Which words are numbers: unit/test_units

COUNTS = (("reqsize", "blocks", 1, 2097152), ("numreqs", "operations", 1, INT64_MAX),
          ("queuedepth", "operations", 1, 65536),
          ("passes", "passes", 1, 1000000000), ("startoffset", "blocks", 0, INT64_MAX),
          ("passoffset", "blocks", 0, INT64_MAX), ("targetoffset", "blocks", 0, INT64_MAX),
          ("maxerrors", "errors", 1, INT64_MAX), ("maxerrorstoprint", "errors", 1, INT64_MAX),
          ("seek range", "blocks", 1, INT64_MAX), ("seek interleave", None, 1, 1 << 30),
          ("seek seed", None, 0, 2 ** 64 - 1), ("seek disthist", "buckets", 1, 1000000),
          ("seek seekhist", "buckets", 1, 1000000), ("threads", "threads", 1, 65536),
          ("ioengine batch", "requests", 1, 65536), ("rank", None, 0, (1 << 20) - 1), ("ranks", "ranks", 1, 1 << 20),
          ("rankspernode", "ranks", 1, 1 << 20))
for option, unit, least, most in COUNTS:
    allowed = m.whole_number(unit, least, most)
    base = READ + " -ioengine io_uring" if option == "ioengine batch" else READ
    for bad in ("4kbs", str(most + 1), *(("0",) if least else ())):
        value(option, bad, allowed, base=base)
for bad in ("-1", "", " 5", "٣", "9" * 30):
    value("numreqs", bad, m.whole_number("operations", 1, INT64_MAX))
row("-numreqs of 5000 digits", READ.split() + ["-numreqs", "9" * 5000], 2, 7,
    m.line(r"-numreqs 9+\.\.\.", m.whole_number("operations")), longest=300)
for option, unit, shift in (("kbytes", "KiB", 10), ("mbytes", "MiB", 20), ("gbytes", "GiB", 30)):
    for bad in ("0.0", "4x", "101%", "0%", "50%%", str((INT64_MAX >> shift) + 1), "8388608T"):
        value(option, bad, m.amount_of(unit, INT64_MAX >> shift))
for option in ("startoffset", "passoffset", "targetoffset", "seek range"):
    for bad in ("4x", "101%", "% ", "%", "-1%", "1.5", "8388608T"):
        value(option, bad, m.whole_number("blocks"), m.SHARE)
    value(option, "1500B", m.block_multiple("1 KiB"), m.nearest_are("1 KiB", "2 KiB"))
value("seek range", "0%", m.whole_number("blocks", 1))
value("seek range", "0k", m.whole_number("blocks", 1))
value("reqsize", "4KB", m.block_multiple("1 KiB"), m.nearest_are("3 KiB", "4 KiB"), "-blocksize 4000B")
value("reqsize", "50%", m.whole_number("blocks", 1))
for bad in ("4k", "4k:1,", ",4k:1", "4k 1"):
    row("-reqsize mix %s" % bad, READ.split() + ["-reqsize", "mix", bad], 2, 8, m.SIZE_AND_WEIGHT)
for bad, text in (("4k:0", "4k: " + m.MIX_WEIGHT), ("4k:", m.MIX_WEIGHT), ("4k:-1", m.MIX_WEIGHT), ("4k:1.5", m.MIX_WEIGHT),
                  ("4k:1:2", m.MIX_WEIGHT), ("4k:1000001", m.MIX_WEIGHT), (":1", ":1: a size is missing: " + m.MIX_SIZE), ("0:1", m.MIX_SIZE),
                  ("4x:1", m.MIX_SIZE), ("-4:1", m.MIX_SIZE), ("4k:1,8k:10000", m.MIX_SUM), ("4k:1,4:2", "4: " + m.MIX_TWICE),
                  ("4k:1,3G:1", "3G: is " + m.LARGER_THAN_2_GIB), ("4k:1,5000B:1", "5000 bytes: " + m.block_multiple("1 KiB")),
                  (",".join("%d:1" % n for n in range(1, 34)), "has more than 32 sizes")):
    row("-reqsize mix %s" % bad, READ + " -reqsize mix " + bad, 2, 8, m.line(r"-reqsize \S+", "(.* )?" + text))
for sizes in ("4k:60,64k:40", "1:1", "4k/60:64k/40"):
    row("-reqsize %s" % sizes, READ + " -reqsize " + sizes, 2, 7, m.line("-reqsize " + sizes, "sizes with weights need the word mix: -reqsize mix " + sizes))
row("-reqsize mix without sizes", READ + " -reqsize mix", 2, 6, m.line("-reqsize", m.MISSING))
for words in ("random once", "zipf 1", "stagger", "interleave 2", "none"):
    row("-reqsize mix and -seek " + words, READ + " -reqsize mix 4k:1,8k:1 -seek " + words, 2, None,
        m.line("target 0, data", m.MIX_SEEK))
for words in ("-blockperrank 64k", "-endtoend issource -endtoend destination localhost"):
    row("-reqsize mix and " + words, READ + " -reqsize mix 4k:1,8k:1 " + words, 2, None,
        m.line("target 0, data", m.MIX_APART + words.split()[0]))
row("-reqsize mix at random offsets, and a pattern that begins with each request",
    READ + " -reqsize mix 4k:1,8k:1 -seek random -datapattern hex 0102 -verify contents", 2, None,
    m.line("target 0, data", "-verify: the pattern begins again with each request.* say -datapattern tagged"))
row("-reqsize mix and -lockstep by bytes", "-op read -targets 2 data data -numreqs 4 -reqsize mix 4k:1,8k:1 "
    "-lockstep 0 1 kbytes 4 op 1 wait complete", 2, None, m.line("target 0, data", "-lockstep: the requests of -reqsize mix differ"))
value("numreqs", "-1", base="-op read -numreqs 4 -targets 1 data")

for bad in ("0", "4kbs", "4%", "2G", "1073741825"):
    value("blocksize", bad, m.size("1 GiB"))
for bad in ("0", "0k", "4x", "16777216T", str(2 ** 64)):
    value("bytes", bad, m.size("%d bytes" % (2 ** 64 - 1)))
for size in ("8388608T", str(2 ** 63), str(2 ** 64 - 1)):
    row("more bytes than a file can have: " + size, READ + " -bytes " + size, 2, None,
        m.line("target 0, data", m.PAST_LARGEST))
    row("the same, a byte each", READ + " -blocksize 1 -reqsize 1 -bytes " + size, 2, None,
        m.line("target 0, data", m.PAST_LARGEST))

for bad in ("0", "abc"):
    value("passdelay", bad, m.positive_time(m.SECONDS))
for option in ("timelimit", "runtime", "startdelay", "targetstartdelay", "operationdelay"):
    for bad in ("abc", "877000h"):
        value(option, bad, m.time())
value("heartbeat seconds", "86401", m.time("86400s"))

# Words to choose from

for bad, near in (("reed", "read"), ("READ", "read"), ("wirte", "write"), ("", None), ("rx", None), ("1", None)):
    value("op", bad, m.choice("read, write, noop or discard"), *([m.near(near)] if near else []),
          base="-targets 1 data -numreqs 1")
for bad in ("101", "abc", "100.0001"):
    value("rwratio", bad, m.PERCENT_READS, base="-targets 1 data -numreqs 1")
row("-rwratio with another word after it", "-targets 1 data -rwratio 50 randm", 3, 6,
    m.line("-rwratio randm", m.ONLY_RANDOM))
for bad, near in (("", None), ("all", None), ("absolut", "absolute"), ("5", None)):
    value("percentcpu", bad, m.choice("absolute or relative"), *([m.near(near)] if near else []))
for bad, near in (("", None), ("persn", "person"), ("tables", "table"), ("json", None)):
    value("report", bad, m.choice("auto, person or table"), *([m.near(near)] if near else []))
for bad in ("5", "5k"):
    row("-throttle " + bad, READ + " -throttle " + bad, 3, 7, m.line("-throttle " + bad, re.escape(m.without_name(bad))))
row("-seek rnadom", READ + " -seek rnadom", 3, 7, m.line("-seek rnadom", m.no_suboption("random")))
row("-seek random rnage", READ + " -seek random rnage 5", 3, 8,
    m.line("-seek rnage", m.no_suboption("range")))
for bad in ("foo", "5", ""):
    row("-seek %r" % bad, READ.split() + ["-seek", bad], 3, 7,
        m.line("-seek " + (bad or "''"), m.one_of("sequential, random, zipf, range, .*")))

# Text that is empty

for option, what in (("targetdir", "<directory>"), ("output", "<file>"), ("csvout", "<file>"),
                     ("combinedout", "<file>"), ("jsonout", "<file>"),
                     ("errout", "<file>"), ("id", "<text>"), ("setup", "<file>"), ("seek save", "<file>"),
                     ("seek load", "<file>")):
    value(option, "", what + " " + m.EMPTY)
value("outputformat", "", m.COLUMN_LIST)
for bad in ("", "a b", "x" * 65, "\xe9"):
    value("runid", bad, "expected 1 to 64 printable ASCII characters, without blanks")
value("help", "", m.NO_OPTION, base="-op read -targets 1 data")

# Amounts and places that do not fit 64 bits, or the target

row("no amount of work for a write", "-op write -targets 1 data", 2, None,
    m.line("target 0, data", m.NO_AMOUNT_ALL))
row("no amount of work for a write after a start offset", "-op write -targets 1 data -startoffset 4", 2, None,
    m.line("target 0, data", m.NO_AMOUNT + "; say -bytes 61440 for the rest of it, or -numreqs"))
row("no amount of work for a mix in random order", "-rwratio 50 -seek random -targets 1 data", 2, None,
    m.line("target 0, data", m.NO_AMOUNT_RANDOM))
row("no amount of work for a discard", "-op discard -targets 1 data", 2, None, m.line("target 0, data", m.NO_AMOUNT_ALL))
row("no amount of work for a new file", "-op write -targets 1 new", 2, None, m.line("target 0, new", m.NO_AMOUNT))
row("no amount of work on null", "-op read -targets 1 null", 2, None, m.NO_AMOUNT)
row("no amount of work for noop", "-op noop -targets 1 data", 2, None, m.NO_AMOUNT)

# Discards

DISCARD = "-op discard -targets 1 data -bytes 100% "
for engine in ("libaio", "mmap", "sg"):
    row("-op discard with " + engine, DISCARD + "-ioengine " + engine, 2, None,
        m.line("target 0, data", m.DISCARD_ENGINE % engine))
row("-op discard with a mix", DISCARD + "-rwratio 50", 2, 9, m.line("-rwratio 50", m.DISCARD_MIX))
row("-op discard after a mix", "-rwratio 50 " + DISCARD, 2, 4, m.line("-op discard", m.DISCARD_MIX))
row("-op trim after -rwratio 0", "-rwratio 0 " + DISCARD, 2, 4, m.line("-op discard", m.DISCARD_MIX))
row("-op discard with a data pattern", DISCARD + "-datapattern random", 2, None,
    m.line("target 0, data", "-datapattern: " + m.DISCARD_PATTERN))
for option, words in (("pretruncate", "-pretruncate 0"), ("pretruncate", "-pretruncate 1M"), ("preallocate", "-preallocate 1M"),
                      ("pretruncate", "-preallocate 1M -pretruncate 1M")):
    row("-op discard with " + words, DISCARD + words, 2, None, m.line("target 0, data", "-%s: is for what is written, and -op discard" % option))
row("-op discard with -verify", DISCARD + "-verify contents", 2, None,
    m.line("target 0, data", "-verify: nothing is read by -op discard"))
row("-op discard of an empty file", "-op discard -targets 1 empty -numreqs 1", 2, None,
    m.line("target 0, empty", m.DISCARD_EMPTY))
row("-op discard past the end", "-op discard -targets 1 data -bytes 64k -startoffset 1k", 2, None,
    m.line("target 0, data", m.DISCARD_PAST))
row("-op discard of a character device", "-op discard -targets 1 /dev/zero -numreqs 1", 2, None,
    m.line("target 0, /dev/zero", m.DISCARD_CHAR))
row("-op discard with a list that reads too", "-op discard -targets 1 data -seek load list", 2, None,
    m.line("target 0, data", "-seek load list: " + m.DISCARD_LIST), files={"list": "0 0 4 d\n1 4 4 r\n"})
row("-op read with a list that discards", "-op read -targets 1 data -seek load list", 2, None,
    m.line("target 0, data", "-op read: the list of -seek load list discards; leave out -op"), files={"list": "0 0 4 d\n"})
row("-rwratio with a list that discards", "-rwratio 50 -targets 1 data -seek load list", 2, None,
    m.line("target 0, data", "-rwratio: the list of -seek load list discards; leave one out"), files={"list": "0 0 4 d\n"})
row("-op discard of a directory's files", "-op discard -target dir2 -bytes 100%", 2, None,
    m.line("target 0, dir2/file", "is one of the files in directory dir2"), files={"dir2/": b"", "dir2/file": "x" * 4096})
row("-op discard as a side of a copy", DISCARD + "-e2e issource -e2e destination 127.0.0.1", 2, None,
    m.line("target 0, data", "-e2e issource: a source only reads"))
row("-op discard of new files", "-op discard -targets 1 data -reqsize 4 -numreqs 1 -recreatefiles", 2, None,
    m.line("target 0, data", "-recreatefiles: a new file holds nothing that could be discarded"))
row("no operation on a file with data", "-targets 1 data -numreqs 1", 2, None,
    m.line("target 0, data", m.NO_OPERATION_SAY))
row("no operation on one of three", "-op target 0 read -op target 2 read -targets 3 data data data -numreqs 1", 2,
    None, m.line("target 1, data", ".*" + m.NO_OPERATION))
row("nothing to read in an empty file", "-op read -targets 1 empty", 2, None,
    m.line("target 0, empty", m.NOTHING_TO_READ))
row("nothing to read after the start offset", READ + " -startoffset 64", 2, None,
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
    m.line("target 0, data", "-reqsize, -blocksize: a request of 2097152 blocks of 4096 bytes is " + m.LARGER_THAN_2_GIB))
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
row("two operations for all targets, before and after a setup file", "-op read -setup a.cfg -op write -numreqs 1", 2,
    None, m.line("-op write", m.SECOND_OPERATION), files={"a.cfg": "-targets 2 data note"})

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
row("refused after good options", READ + " -multipath", 3, 6, m.line("-multipath"))
row("refused with two dashes", "--multipath", 3, 1, m.line("--multipath"))
row("refused with =value", "--multipath=x", 3, 1, m.line("--multipath=x", ".*multipath device itself"))
for words, name, pos, problem in (
        ("port 5", "-timeserver port", None, "expected -timeserver host <name> as well"),
        ("maxerror 1", "-timeserver maxerror", None, "expected -timeserver host <name> as well"),
        ("wait 1", "-timeserver wait", None, "expected -timeserver host <name> as well"),
        ("host h port 0", "-timeserver port 0", 10, "expected a whole number.*"),
        ("host h port 65536", "-timeserver port 65536", 10, "expected a whole number.*"),
        ("host h bounce 0", "-timeserver bounce 0", 10, "expected a whole number.*"),
        ("host h maxerror 0", "-timeserver maxerror 0", 10, "expected milliseconds, .*"),
        ("host h maxerror -1", "-timeserver maxerror -1", 10, "expected milliseconds, .*"),
        ("host h maxerror 2h", "-timeserver maxerror 2h", 10, "expected milliseconds, .*"),
        ("host h maxerror 1ps", "-timeserver maxerror 1ps", 10, "expected milliseconds, .*"),
        ("host h wait -1", "-timeserver wait -1", 10, ".*")):
    row("-timeserver " + words, READ + " -timeserver " + words, 2, pos, m.line(name, problem))

# Whole lines

WRITE = "-op write -target data -numreqs 10 "
for words, blamed, line in (
        ("-datapattern hex xyz", True, "-datapattern hex xyz: expected hexadecimal digits, 0-9, a-f or A-F"),
        ("-datapattern hex ''", True, "-datapattern hex '': <hex digits> cannot be empty"),
        ("-datapattern sequenced prefix 12x", True, "-datapattern prefix 12x: expected 1 to 16 hexadecimal digits, 0-9, a-f or A-F"),
        ("-datapattern sequenced prefix 01234567890123456", True,
         "-datapattern prefix 01234567890123456: expected 1 to 16 hexadecimal digits, 0-9, a-f or A-F"),
        ("-datapattern prefix 12", False, "target 0, data: -datapattern prefix 12: is for sequenced data; say -datapattern sequenced prefix 12"),
        ("-datapattern ''", True, "-datapattern <character> '': expected a character"),
        ("-datapattern inverse tagged", False, "target 0, data: -datapattern tagged: cannot be inverse"),
        ("-ts wrap oneshot summary", False, "target 0, data: -ts wrap and -ts oneshot: when the table is full either the newest "
                                            "operations are kept or the oldest; say one of them"),
        ("-ts summary triggerop 10", False, "target 0, data: -ts triggerop 10: a pass has 10 operations, 0 to 9"),
        ("-ts summary size 0", True, "-ts size 0: expected a whole number of operations, 1 to 1099511627776"),
        ("-seek range 1", False, "target 0, data: -seek range 1: is smaller than one request of 128 blocks"),
        ("-blockperrank 1m -seek stagger", False, "target 0, data: -blockperrank: must be with sequential or random requests; -seek is staggered"),
        ("-blockperrank 1m -seek random range 5", False,
         "target 0, data: -seek range: cannot be combined with -blockperrank, whose segments are the range"),
        ("-segments 4", False, "target 0, data: -segments: needs -blockperrank, the size of the block of a target"),
        ("-reorder", False, "target 0, data: -reorder: needs -blockperrank, the size of the block of a target"),
        ("-reorder -blockperrank 4k -reqsize 4", False, "target 0, data: -reorder: must be for targets that read, and this one is written to")):
    at = 6 + len(shlex.split(words)) if blamed else None
    row("the line of " + words, WRITE + words, 2, at, "^xdd: " + re.escape(line) + (r" \(argument %d\)" % at if at else "") + "$")


check_rows()
t.done()
