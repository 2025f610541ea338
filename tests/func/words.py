#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Words of other tools: each word of the table in doc/from-fio.md is refused with the words of xdd for it, and the
command line that the answer proposes is right.
"""
import functools
import os
import re
import shlex

import xddtest as t

t.look_at_all_warnings()

T = t.make_file("T", 1 << 20)
WHERE = t.tmp()
os.mkdir(t.path("d"))
t.make_file("d/f", 1 << 20)
with open(t.path("list"), "w", encoding="ascii") as names:
    names.write("T\n")
DIRECT = t.xdd("-op", "read", "-target", T, "-dio", "-reqsize", 4, "-numreqs", 1).status == 0
NONE, NOTHING, JOBS = "(none)", "(leave it out)", "(xdd fio)"
# A word of each tool that needs no words of xdd, so that its letters are taken as its own.
NEUTRAL = {"fio": "--thread=1", "dd": "status=none", "sgp_dd": "coe=1", "IOR": "-k", "xdisk": "-Q",
           "sgpdd-survey": "crglo=1", "elbencho": "--nolive", "other tools": ""}
# The rest of the command line, except the parts that the word is about: by the options of xdd.
BASE = (("-op read", "-op -rwratio"), ("-target T", "-target -targets"), ("-bs 4k", "-bs"), ("-bytes 64k", "-bytes -numreqs"))


def xdd(words):
    return t.command([t.XDD, *words], cwd=WHERE)


@functools.cache  # Many rows have one command, and a dry run leaves all as it is.
def dry(line):
    """Run a command line that was proposed, after "xdd", with -dryrun."""
    words = shlex.split(line)
    at = words.index("--") if words[0] == "multi" else len(words)
    return xdd(words[:at] + ["-dryrun"] + words[at:])


def rows():
    """(tool, typed, words of xdd) of each row of the page, with t.PROCESSOR for its processor 0."""
    tool = None
    with open(os.path.join(os.environ["TOP_SRCDIR"], "doc", "from-fio.md"), encoding="utf-8") as f:
        for line in f:
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if line.startswith("| ") and cells[1] == "xdd":
                tool = cells[0]
            elif line.startswith("| `"):
                typed, said = cells[0].split("`")[1], cells[1].strip("`")
                if said == "-processor 0":
                    typed, said = (re.sub("0$", t.PROCESSOR, words) for words in (typed, said))
                yield tool, typed, said


@functools.cache
def is_refused(words):
    return xdd(shlex.split("-op read -target T " + words)).status != 0


def lacks(said):
    """The reason why this machine cannot run these words; None: it can."""
    engine = re.search(r"-ioengine (\w+)", said)
    if engine and engine.group(1) not in ("psync", "list") and engine.group(1) not in t.engines():
        return "no engine " + engine.group(1)
    for words in ("-hugepages", "-sharedmemory", "-processor node0", "-ioengine sg", "-ioengine io_uring iopoll"):
        if words in said and is_refused(words + " -dryrun"):
            return "not here: " + words
    if "-dio" in said and is_refused("-dio -reqsize 4 -numreqs 1"):
        return "no direct I/O here"
    return None


def rest(said):
    """The rest of the command line, for words of xdd that stand for one of another tool."""
    options = set(re.findall(r"(?:^| )(-[a-z]+)", said)) if "<" not in said else set()
    if options & {"-createnewfiles", "-recreatefiles"}:
        return "-op write -target new -bs 4k -bytes 64k"
    if "-throttle poisson" in said:
        return "-throttle ops 100 -op read -target T -bs 4k -bytes 64k"
    return " ".join(words for words, about in BASE if not options & set(about.split()))


def test_table():
    tools = set()
    for tool, typed, said in rows():
        tools.add(tool)
        title = "%s: %s" % (tool, typed)
        if typed.startswith("xdd "):
            word = typed.split()[1]
            run = xdd([word, "T", "d/f"])
            t.ok(run.status == 2 and run.err.startswith("xdd: %s: is no command and no such file; say %s" % (word, said)), title, run)
            continue
        words = shlex.split("%s %s" % (rest(said), NEUTRAL[tool])) + typed.split(" ", 1)
        why = lacks(said)
        if why:
            t.skip(title, why)
            continue
        run = xdd(words)
        if "%s (%s)" % (said, tool) in run.err:  # a letter alone, with a meaning in each of several tools
            t.ok(run.status == 3 and "%s: means " % typed in run.err, title, run)
            continue
        without = re.escape(", without " + " ".join(shlex.quote(w) for w in typed.split(" ", 1)))
        # Names of files for each task cannot be made of one that is given in the words of xdd; commands, and words with
        # a value that is not known, are no part of a line.
        apart = "<" in said or (said.startswith(("xdd", "+")) and not said.endswith(" --"))
        without = without if said in (NONE, JOBS) else "(?:%s)?" % without if apart else ""
        proposed = re.search(r"^xdd: try%s: xdd (.*)$" % without, run.err, re.M)
        means = {NONE: "xdd has nothing like it", JOBS: "xdd fio translates it"}[said] if said in (NONE, JOBS) else "leave it out" if said == NOTHING else "say " + said
        named = re.search(r"^xdd: %s: is a word of .*%s" % (re.escape(typed), re.escape(means)), run.err, re.M)
        second = dry(proposed.group(1)) if proposed else None
        # A value of an option of xdd is a bad argument.
        status = 2 if typed.startswith("-op ") and not NEUTRAL[tool] else 3
        t.ok(run.status == status and second and (named or said in proposed.group(1)) and second.status == 0, "%s is %s" % (title, said),
             "%s\n%s" % (run, second))
    t.equal(tools, set(NEUTRAL), "the page has a table for each tool")


def answer(title, line, proposed, *says, status=3):
    """The whole answer to a command line; `proposed` is the command line after "try: xdd", or None."""
    run = xdd(shlex.split(line))
    found = re.findall(r"^xdd: try: xdd (.*)$", run.err, re.M)
    missing = [text for text in says if text not in run.err]
    t.ok(run.status == status and found == ([] if proposed is None else [proposed]) and not missing and not run.out,
         title, "%s\nmissing: %s" % (run, missing))


def test_lines():
    answer("words with one dash and their values in the next word", "-op randread -iodepth 32 -direct 1 -size 1M -filename T",
           "-op read -target T -dio -reqsize 4k -queuedepth 32 -bytes 1M -seek random once range 1M", "-iodepth 32: is a word of fio; say -queuedepth 32")
    answer("a switch with 0 needs no words", "--rw=read --direct=0 --filename=T", "-op read -target T -reqsize 4k -bytes 1M -dropcache")
    answer("a switch without a value", "-rw read -direct -filename T", "-op read -target T -dio -reqsize 4k -bytes 1M")
    answer("a name is no pattern of files", "--rw=write --size=64k --filename=T[1]",
           "-op write -targets -1 'T[1]' -reqsize 4k -bytes 64k -datapattern random")
    answer("a share of reads is not overridden by the mix", "--rw=randrw --rwmixread=70 --filename=T",
           "-rwratio 70 random -target T -reqsize 4k -bytes 1M -seek random once range 1M -datapattern random -dropcache")
    for more, seek in (("", "random once"), (" --norandommap", "random"), (" --random_distribution=zipf:1.2", "zipf 1.2")):
        answer("offsets as fio has them:" + more, "--rw=randread --size=1M --filename=T" + more,
               "-op read -target T -reqsize 4k -bytes 1M -seek %s range 1M -dropcache" % seek)
    answer("what would be another job is left out, and named", "--rw=randread --size=1M --filename=T --bssplit=4k/50:8k/50", None,
           "xdd: try, without --bssplit=4k/50:8k/50: xdd -op read -target T -reqsize 4k")
    answer("offsets beside a word of xdd", "--rw=randread --size=1M --filename=T --norandommap -verbose",
           "-op read -seek random -bytes 1M -target T -verbose")
    answer("a bare number of bytes is a block and a request", "--rw=read --bs=4096 --filename=T -verbose",
           "-op read -bs 4096 -reqsize 1 -target T -verbose")
    answer("several names", "--rw=write --size=12k --filename=a:b:c",
           "-op write -targets 3 a b c -reqsize 4k -bytes 4k -datapattern random")
    answer("several jobs", "--rw=read --filename=T --numjobs=4", "-op read -targets -4 T -reqsize 4k -bytes 1M -dropcache")
    answer("several jobs without a name", "--rw=read --numjobs=4", None, "--numjobs=4: is a word of fio; say -targets -4 <name>")
    answer("an amount that is gone over until the time is over", "--rw=read --size=1M --runtime=2 --time_based --filename=T",
           "-op read -target T -reqsize 4k -timelimit 2 -seek range 1M -dropcache")
    answer("... beside a word of xdd", "--rw=read --size=1M --runtime=2 --time_based --filename=T -verbose",
           "-op read -range 1M -runtime 2 -target T -verbose")
    answer("... in bytes", "--rw=read --size=1048576 --runtime=2 --time_based --filename=T -verbose",
           "-op read -range 1048576B -runtime 2 -target T -verbose")
    answer("an amount that is preallocated", "--rw=write --size=1M --fallocate=posix --filename=new",
           "-op write -target new -reqsize 4k -bytes 1M -datapattern random -preallocate 1M")
    answer("a log and its period", "--rw=read --filename=T --write_bw_log=l --log_avg_msec=100",
           "-op read -target T -reqsize 4k -bytes 1M -dropcache -intervals 100ms output l.csv")
    answer("results as JSON", "--rw=read --filename=T --output=o --output-format=json",
           "-op read -target T -reqsize 4k -bytes 1M -dropcache -jsonout o")
    answer("engines with keywords become one", "--rw=read --filename=T --ioengine=sync --ioengine=vsync",
           "-op read -target T -reqsize 4k -bytes 1M -dropcache")
    answer("dd reads", "if=T of=/dev/null bs=64k count=4 skip=2", "-op read -target T -bs 64k -numreqs 4 -startoffset 2")
    answer("dd without bs", "if=T count=4", "-op read -target T -numreqs 4 -blocksize 512 -reqsize 1")
    answer("dd writes, with lists of flags", "if=/dev/zero of=new bs=64k count=4 oflag=direct,dsync conv=notrunc,fsync",
           "-op write -target new -bs 64k -numreqs 4 -dio -odsync -syncwrite")
    answer("dd copies: xdd does not", "if=T of=new", None, "if=T: is a word of dd")
    answer("sgp_dd", "if=T bs=512 bpt=128 thr=4", "-op read -target T -bs 512 -reqsize 128 -queuedepth 4")
    answer("letters of IOR that are options of xdd", "-w -t 64k -b 256k -o new -e",
           "-op write -bs 64k -blockperrank 256k -target new -syncwrite", "-o new: is a word of IOR; say -target new")
    answer("IOR: tasks that share a file", "-w -t 64k -b 256k -s 4 -N 4 -D 10 -o new",
           "-op write -bs 64k -blockperrank 256k -segments 4 -stonewall 10 -targets -4 new")
    answer("IOR: the block that it has by itself", "-w -t 64k -s 2 -o new", "-op write -bs 64k -segments 2 -blockperrank 1m -target new")
    answer("IOR: limits of 0 are none", "-r -t 64k -b 64k -o T -D 0 -T 0", "-op read -bs 64k -blockperrank 64k -target T")
    answer("IOR: a file for one task", "-w -F -t 64k -b 256k -o new", "-op write -bs 64k -target new.00000000 -bytes 256k",
           "a file for each task, with its number after the name")
    answer("IOR: a file for each rank", "-w -F -t 64k -b 128k -s 2 -o new -rank 0 -ranks 2",
           "-op write -bs 64k -target new.%r -rank 0 -ranks 2 -bytes 256k")
    answer("IOR: a file for each task, with segments", "-w -F -N 3 -t 64k -b 256k -s 4 -o new",
           "-op write -bs 64k -targets 3 new.%08d -bytes 1m")
    answer("IOR: files of tasks in several directories", "-w -F -N 3 -t 64k -o a/f@b/f",
           "-op write -bs 64k -targets 3 a/f.00000000 b/f.00000001 a/f.00000002 -bytes 1m")
    answer("IOR: a percent sign in a name", "-w -F -N 2 -t 64k -o 'a%d'", "-op write -bs 64k -targets 2 a%%d.%08d -bytes 1m")
    answer("IOR: one task reads what it wrote", "-r -C -t 64k -b 64k -o T", "-op read -bs 64k -blockperrank 64k -target T",
           "-C: is a word of IOR; say -reorder; for reads of a file that tasks share")
    answer("IOR: tasks read what others wrote", "-r -C -N 4 -Q 2 -t 64k -b 64k -o T",
           "-op read -bs 64k -blockperrank 64k -targets -4 T -reorder 2")
    answer("IOR: by chance", "-w -r -Z -X 7 -N 4 -t 64k -b 64k -o new",
           "-op write -readback -bs 64k -blockperrank 64k -targets -4 new -reorder random 7")
    answer("IOR writes and then reads", "-w -r -t 64k -b 256k -o new", "-op write -readback -bs 64k -blockperrank 256k -target new",
           "-w and -r together are -op write -readback")
    answer("IOR does so without a word", "-t 64k -b 256k -o new -N 2", "-bs 64k -blockperrank 256k -targets -2 new -op write -readback")
    answer("IOR without a name", "-t 64k -b 256k", "-bs 64k -blockperrank 256k -target testFile -op write -readback")
    answer("IOR writes and verifies", "-w -W -o new", "-op write -datapattern tagged -target new -readback -bs 256k -blockperrank 1m")
    answer("IOR: what -readback cannot do is left out, and named", "-w -r -D 10 -t 64k -b 256k -o new", None,
           "xdd: try, without -D 10: xdd -op write -readback -bs 64k -blockperrank 256k -target new")
    answer("a word of IOR that xdd has nothing for", "-w -c -t 64k -b 256k -V -p -o new", None,
           "xdd: try, without -c, -V, -p: xdd -op write -bs 64k -blockperrank 256k -target new\n")
    answer("IOR: letters of other tools too", "-a POSIX -w -t 64k -b 256k -s 4 -i 2 -o new",
           "-op write -bs 64k -blockperrank 256k -segments 4 -passes 2 -target new")
    answer("IOR: values in the same words", "-w -t64k -b256k -s4 -N4 -onew", None, "-onew: is not an option")
    answer("IOR: numbers in the same words", "-w -t64k -b256k -s4 -N4 -o new",
           "-op write -bs 64k -blockperrank 256k -segments 4 -targets -4 new", "-t64k: is a word of IOR; say -bs 64k")
    answer("xdisk", "-R -r 80 -b 16k -M 4 -f T -O D -t 30 -w 5 -i 5",
           "-seek random -rwratio 80 -bs 16k -targets -4 T -dio -timelimit 30 -warmup 5 -intervals 5 -targetoffset 25% -range 25%",
           "-r 80: is a word of xdisk; say -rwratio 80")
    answer("xdisk: values in the same words", "-R1 -r100 -b16k -M4 -fT -OSD", None, "-fT: is not an option")
    answer("xdisk: numbers, paths and flags in the same words", "-R1 -r100 -b16k -M4 -f/data/F1 -OSD -A8",
           "-seek random once -op read -bs 16k -targets -4 /data/F1 -dio -osync -queuedepth 8 -targetoffset 25% -bytes 25%", "-OSD: is a word of xdisk")
    answer("xdisk: a file for each process", "-S -r 0 -b 1m -M 2 -f a:b -s 4m", "-op write -bs 1m -targets 2 a b -range 4m -timelimit 5")
    names = ["f%d" % i for i in range(70)]
    answer("xdisk: 70 files", "-f %s -r100 -b16k" % ":".join(names), "-targets 70 %s -op read -bs 16k -timelimit 5" % " ".join(names))
    answer("xdisk: several processes for each file", "-R -r 80 -b 4k -M 4 -f a:b -t 9",
           "-seek random -rwratio 80 -bs 4k -targets 4 a b a b -timelimit 9 -startoffset target 2 50% -startoffset target 3 50% -range 50%")
    answer("xdisk: files with numbers", "-R -r 80 -b 4k -M 4 -f /data/F... -t 9",
           "-seek random -rwratio 80 -bs 4k -targets 4 /data/F%03d -timelimit 9", "-f /data/F...: is a word of xdisk; say -targets <n> /data/F%03d")
    answer("xdisk: parts of a device in whole requests", "-R -r 80 -b 4k -M 3 -f T -t 9 -s 1G",
           "-seek random -rwratio 80 -bs 4k -targets -3 T -timelimit 9 -range 349524k -targetoffset 349524k")
    answer("a letter that is a number to one tool and a flag to another", "rw -w T", None,
           "-w: is a word of IOR; say -op write", "T: is a stray word; files and devices are named with -target T")
    answer("-V of xdisk comes first", "-V -R -r 80 -b 4k -f T -t 9", "-csvout - -seek random -rwratio 80 -bs 4k -target T -timelimit 9")
    answer("-v of IOR comes first", "-v -w -t 64k -b 64k -o new", "-verbose -op write -bs 64k -blockperrank 64k -target new")
    for words in ("-V", "-v", "-version", "-version -op read -target T"):
        run = xdd(shlex.split(words))
        t.ok(run.status == 0 and re.fullmatch(r"xdd: Version \S+\n", run.out) and not run.err, "%s is xdd's" % words, run)
    for words in ("-V -op read -target T", "-op read -target T -v", "-op read -target T --v"):
        run = xdd(shlex.split(words))
        t.ok(run.status == 2 and not run.out and "nothing would run; say -verbose" in run.err and
             run.err.count("\n") == 1, "%s is refused" % words, run)
    answer("xdisk: two lists of files", "-R -r 80 -b 4k -F list -f F... -t 9", None, "no command line of xdd is proposed: there are two lists of files")
    answer("-f alone may be a word of several tools", "-f script", None, "-f script: means -target script (xdisk), or nothing that xdd has (IOR)")
    answer("xdisk: a size without a suffix is in bytes", "-R -r 80 -b 4k -f T -t 9 -s 1048576",
           "-seek random -rwratio 80 -bs 4k -target T -timelimit 9 -range 1048576B")
    answer("xdisk: its own values where it has no words", "-f /data/ior -M4 -R -V -t1",
           "-targets -4 /data/ior -seek random -csvout - -timelimit 1 -op read -bs 4k -targetoffset 25% -range 25%")
    answer("xdisk: once, whatever the time", "-S1 -r 0 -b 1m -f T -t 9 -w 3", "-op write -bs 1m -target T -bytes 100%")
    answer("xdisk: processes create a file together", "-C 1G -R -M 4 -b 1m -f new -OD",
           "-op write -bytes 256m -seek random once -bs 1m -targets -4 new -dio -targetoffset 256m")
    answer("xdisk: other hosts", "-n a:b#c -R -r 80 -b 4k -f T -t 9",
           "multi -hosts a,b,c -- -seek random -rwratio 80 -bs 4k -target T -timelimit 9", "say xdd multi -hosts ")
    answer("xdisk: hosts in a file", "-N list -R -r 80 -b 4k -f T -t 9",
           "multi -hostfile list -- -seek random -rwratio 80 -bs 4k -target T -timelimit 9")
    answer("xdisk: words that have no effect in xdd multi", "-n a,b -R -r 80 -b 4k -f T -t 9 -V -l de_DE", None,
           "xdd: try, without -V, -l de_DE: xdd multi -hosts a,b -- -seek random -rwratio 80 -bs 4k -target T -timelimit 9\n")
    answer("xdisk: a list of files and another number of processes", "-R -r 80 -b 4k -F list -M 2 -t 9", None,
           "xdd: try, without -M 2: xdd -seek random -rwratio 80 -bs 4k -targets @list -timelimit 9\n")
    answer("xdisk: files with commas between", "-S1 -r 100 -b 1m -f a,b,c", "-op read -bs 1m -targets 3 a b c")
    answer("xdisk: a list of files", "-R -r 0 -F list -O f -T text", "-seek random -op write -targets @list -flushwrite 1 -id text -bs 4k -timelimit 5")
    answer("xdisk: create a file", "-C 256k -f new -b64k", "-op write -bytes 256k -target new -bs 64k")
    answer("sgpdd-survey", "size=64 crglo=1 crghi=4 thrlo=1 thrhi=16 rszlo=64 rszhi=1024 rawdevs=T tests_str=read",
           "-bytes 16m -queuedepth 4 -reqsize 1024k -targets -4 T -dio -op read -targetoffset 25%", "thrhi=16: is a word of sgpdd-survey")
    answer("a letter with a value alone is no word of other tools", "-op read -target T -p5", None, "-p5: is not an option")
    answer("such a letter by itself is xdd's", "-op read -target T -o out -iodepth 4", "-op read -target T -o out -queuedepth 4")
    answer("names and values that need quotes", "--rw=write --size=4k '--filename=a file'",
           "-op write -target 'a file' -reqsize 4k -bytes 4k -datapattern random")
    answer("options of xdd with equals signs stay", "--bs=4k --op=read --filename=T -verbose", "-bs 4k -op read -target T -verbose")
    answer("the version is not printed beside a refusal", "--rw=read --filename=T -V", None, "--rw=read: is a word of fio")
    answer("what cannot be translated is named", "--rw=read --filename=T --thinktime_blocks=4", None,
           "xdd: try, without --thinktime_blocks=4: xdd -op read -target T -reqsize 4k -bytes 1M -dropcache\n")
    answer("a job of several runs", "--rw=read -bsrange 4k-8k --size=64k --filename='a b' --direct",
           "fio -run --name=job --rw=read --bsrange=4k-8k --size=64k '--filename=a b' --direct", "xdd fio translates it")
    answer("... whose name is typed", "-op randread --name=a --filename=T --pre_read=1", "fio -run --rw=randread --name=a --filename=T --pre_read=1")
    answer("beside words of xdd", "-op read -target T --bsrange=4k-8k", None, "xdd: try, without --bsrange=4k-8k: xdd -op read -target T\n")
    answer("an option of xdd that takes no value", "--dio=1 -op read -target T", None, "--dio=1: takes no value; say -dio")
    answer("a value is missing", "-op read -target T -iodepth", None, "-iodepth: is a word of fio; say -queuedepth <value>")
    answer("a word that is unknown: no command line", "--rw=read --filename=T -zzzz", None, "-zzzz: is not an option")
    answer("a stray word after a switch", "--rw=read --filename=T -direct T", None, "T: is a stray word")
    answer("what is wrong besides is said", "--rw=read --filename=T -queuedepth x", None, "-queuedepth x: expected a whole number")
    answer("no word of other tools: as before", "-op read -target T -quedepth 4", None, "did you mean -queuedepth?")
    answer("a value only: status 2, as before", "-op randread -target T", "-op read -seek random once -target T", status=2)
    # Both sides of limits, and groups of words that become one.
    tasks = ["%s.%08d" % ("ab"[i % 2], i) for i in range(128)]
    read, write = "-op read -target T -verbose", "-op write -target new -verbose -bytes 1M"
    for line, left_out, proposed in (
            ("-w -F -N 128 -t 64k -o a@b", "", "-op write -bs 64k -targets 128 %s -bytes 1m" % " ".join(tasks)),
            ("-w -F -N 129 -t 64k -o a@b", "-N 129", "-op write -bs 64k -target a.00000000 -bytes 1m"),
            ("-R -C 64k -b 4k -M 16 -f new", "", "-seek random once -op write -bytes 4k -bs 4k -targets -16 new -targetoffset 4k"),
            ("-R -C 64k -b 4k -M 17 -f new", "-M 17", "-seek random once -op write -bytes 64k -bs 4k -target new"),
            ("-R -r 80 -b 4k -M 3 -f T -t 9 -s 12k", "", "-seek random -rwratio 80 -bs 4k -targets -3 T -timelimit 9 -range 4k -targetoffset 4k"),
            ("-R -r 80 -b 4k -M 3 -f T -t 9 -s 11k", "-s 11k",
             "-seek random -rwratio 80 -bs 4k -targets -3 T -timelimit 9 -targetoffset 33.333333% -range 33.333333%"),
            ("-C 1G -R -w 3 -b 1m -f new", "", "-op write -bytes 1G -seek random once -bs 1m -target new"),
            ("-S1 -r 0 -b 1m -f T -s 4m", "", "-op write -bs 1m -target T -bytes 4m"),
            ("-R -r 0 -b 4k -f T -t 9 -z 10", "", "-seek random -op write -bs 4k -target T -timelimit 9 -snooze 10"),
            ("-R -r 0 -b 4k -f T -t 9 -A 8 -z 10", "", "-seek random -op write -bs 4k -target T -timelimit 9 -queuedepth 8"),
            ("-n a -N list -R -r 80 -b 4k -f T -t 9", "-N list", "multi -hosts a -- -seek random -rwratio 80 -bs 4k -target T -timelimit 9"),
            ("size=64 crghi=4 thrhi=18 rszhi=1024 rawdevs=T tests_str=read", "thrhi=18",
             "-bytes 16m -reqsize 1024k -targets -4 T -dio -op read -targetoffset 25%"),
            ("size=64 crghi=1 thrhi=18 rszhi=1024 rawdevs=T tests_str=read", "", "-mbytes 64 -queuedepth 18 -reqsize 1024k -target T -dio -op read"),
            ("--rw=randwrite --norandommap --filename=T -verbose", "", "-op write -seek random -target T -verbose -bytes 100%"),
            ("--rw=read --filename=T -verbose --write_bw_log=l --write_lat_log=m", "", read + " -intervals 1 output l"),
            ("--rw=read --filename=T -verbose --write_bw_log=l --log_avg_msec=100", "", read + " -intervals 100ms output l"),
            ("--rw=read --filename=T -verbose --log_avg_msec=100", "", read + " -intervals 100ms"),
            ("--rw=read --filename=T -verbose --output-format=json", "", read + " -jsonout -"),
            ("--rw=read --filename=T -verbose --output-format=json --output=o", "", read + " -jsonout o"),
            ("--rw=write --filename=new -verbose --size=1M --fallocate=posix", "", write + " -preallocate 1M"),
            ("--rw=write --filename=new -verbose --fallocate=posix", "--fallocate=posix", "-op write -target new -verbose -bytes 100%"),
            ("--rw=write --filename=new --size=1M -verbose --buffer_compress_percentage=50 --dedupe_percentage=25", "",
             "-op write -target new -bytes 1M -verbose -datapattern compress 50 dedupe 25")):
        run = xdd(shlex.split(line))
        t.equal((run.status, run.error_lines()[-1]),
                (3, "xdd: try%s: xdd %s" % (", without " + left_out if left_out else "", proposed)), line)


def test_elbencho():
    """Its letters, which IOR and xdisk have too, beside --direct without a value or -n and -N; paths come last."""
    dio = "--direct" if DIRECT else "--nolive"
    say = "-dio" if DIRECT else "-heartbeat 0"
    answer("-j alone: of IOR, or a number of jobs", "-op read -target T -j 4", None,
           "-j 4: means -deskew (IOR), or -targets -4 <name> (other tools)")
    answer("elbencho: threads of a file have a part each", "-w -r -t 2 -s 1m -b 128k %s new" % dio,
           "-op write -readback -bytes 512k -bs 128k %s -targets -2 new -targetoffset 512k" % say,
           "-t 2: is a word of elbencho; say -targets -2 <name>", "-s 1m: is a word of elbencho; say -bytes 1m",
           "new: is a word of elbencho; say -target new")
    answer("elbencho: random reads of several files", "-r -b 4k --rand %s T d/f" % dio,
           "-op read -bs 4k -seek random %s -target T -target d/f" % say)
    answer("elbencho: paths after a value", "-r --lat -b 4k T", "-op read -latency percentiles 50,90,95,99,99.9 -bs 4k -target T",
           "T: is a word of elbencho; say -target T (argument 5)")
    answer("elbencho: --threads", "-w -b 4k --threads 4 --size 1m --lat new",
           "-op write -bs 4k -bytes 256k -latency percentiles 50,90,95,99,99.9 -targets -4 new -targetoffset 256k")
    answer("elbencho: hosts", "--hosts a,b -w -t 2 -b 128k -s 1m new",
           "multi -hosts a,b -- -op write -bs 128k -bytes 512k -targets -2 new -targetoffset 512k")
    run = xdd("-w -t 4 -n 2 -N 10 -s 64k -b 64k d".split())
    t.ok(run.status == 3 and "\nxdd: try, without -n 2, -N 10: xdd -op write -bytes 64k -bs 64k -targets 4 d/f%03d\n" in run.err,
         "elbencho: a file for each thread in a directory", run)
    run = xdd("-r -t 4 -n 2 -N 10 -s 64k -b 64k d".split())
    t.ok(run.status == 3 and "\nxdd: try, without -t 4, -n 2, -N 10: xdd -op read -bytes 64k -bs 64k -target d\n" in run.err,
         "elbencho: the files of a directory", run)


def test_gaps():
    """rw=read:64k of fio."""
    for size, lap, end in (("", "64k", "1M"), (" --size=512k", "32k", "512k")):
        answer("a gap after each request" + size, "--rw=read:64k --bs=4k --filename=T" + size,
               "-op read -target T -reqsize 4k -bytes %s -seek interleave 17 range %s -dropcache" % (lap, end),
               "-seek interleave <n> takes every n-th request")
    for words, why in (("read:-8k", "a list of -seek load has its requests in any order"),
                       ("randread:8", "each random request of xdd has an offset of its own")):
        run = xdd(["--rw=" + words, "--bs=4k", "--filename=T"])
        t.ok(run.status == 3 and why in run.err and "\nxdd: try, without --rw=%s: xdd " % words in run.err, "--rw=" + words, run)


def test_subjects():
    """A word of another program in the place of a command, a value in its form, and a list of values for one run."""
    for line, status, said in (
            ("read T", 2, "read: is no command and no such file; say -op read"),
            ("sync d e", 2, "sync: is no command and no such file; say xddcp -r <from> <to>; "),
            ("engines", 2, "engines: is no command and no such file; say -ioengine list\n"),
            ("info T", 2, "info: is no command and no such file; say xdd <device>; a quick check, which only reads\n"),
            ("stat T", 2, "stat: is no command and no such file; say xdd <device>; "),
            ("history", 2, "history: is no command and no such file; say xdd-nightly -- <options>; "),
            ("devices", 2, "devices: is no command and no such file; xdd has nothing like it; lsblk(8) lists devices; "),
            ("summary r.json", 2, "summary: is no command and no such file; leave it out; "),
            ("run -op read -target T", 3, "run: is a word of other tools; leave it out; a run has options only (argument 1)\n"),
            ("-op read T", 3, "T: is a stray word; files and devices are named with -target T (argument 3)\n"),
            ("-op write new", 3, "new: is a stray word: it belongs to no option; options begin with -, and files and devices are named "
             "with -target (argument 3)\n"),
            ("-op readwrite T", 3, "T: is a stray word; files and devices are named with -target T (argument 3)\n"),
            ("-op random -target T", 2, "-op random: is a word of other tools; say -seek random; beside -op read or -op write (argument 2)\n"),
            ("-rw 70/30 -target T", 2, "-rw 70/30: expected the percentage of reads alone; say -rwratio 70 (argument 2)\n"),
            ("-rw 70:30 -target T", 2, "expected the percentage of reads alone; say -rwratio 70 "),
            ("-rw 70/30/5 -target T", 2, "expected the percentage of reads, 0 to 100"),
            ("-rw /30 -target T", 2, "expected the percentage of reads, 0 to 100"),
            ("-op read -target T -Mb 1", 3, "-Mb: is not an option; did you mean -mbytes?"),
            ("plot r.json", 2, "plot: is no command and no such file; say xdd report <results.json>; "),
            ("cmp T d/f", 2, "cmp: is no command and no such file; say xddcp -k <one> <other>; "),
            ("metadata", 2, "metadata: is no command and no such file; xdd has nothing like it; "),
            ("trim -target T", 3, "trim: is a word of other tools; say -op discard (argument 1)"),
            ("rsync -av d e", 3, "rsync: is a word of other tools; say xddcp <from> <to>; "),
            ("-op read -target T -seek zipf:1.2", 3, "-seek zipf:1.2: is not a suboption; did you mean zipf 1.2?"),
            ("-op read -target T -throttle ops=5", 3, "-throttle ops=5: is not a suboption; did you mean ops 5?"),
            ("-op read -target T -bs 4k,64k", 2, "; a list is for xdd sweep"),
            ("-op read -target T -qd 1..4", 2, "; a list is for xdd sweep"),
            ("sweep -bs 4k,64k -op read -target T -csv s.csv", 3, "-csv: is a word of other tools; say -csvout <value> "),
            ("sweep -bs 4k,64k -op read -target T -runs 2", 3, "-runs: is a word of other tools; say -passes <value>; xdd sweep and xdd curve "
             "have -rounds "),
            ("sweep -bs 4k,64k --rw=read --filename=T", 3, "--filename=T: is a word of fio; say -target T"),
            ("sweep -bs=4k,64k --iodepth=1,4 -op read -target T", 3, "--iodepth=1,4: is a word of fio; say -queuedepth 1,4"),
            ("if=T of=new bs=64k", 3, "is proposed: a run reads or writes; xddcp T new copies"),
            ("-op copy -target T", 2, "-op copy: is a word of other tools; say xddcp <from> <to>")):
        run = xdd(line.split())
        t.ok(run.status == status and said in run.err and not run.out and "\nxdd: try" not in run.err, line, run)


def test_lone_letters():
    """A letter that tools differ about, without another word of one of them, is not guessed."""
    base = "-op read -target T -bs 4k "
    for letter, meanings in (("-t 1", "means -bs 1 -reqsize 1 (IOR), or -timelimit 1 (xdisk), or -targets -1 <name> (elbencho)"),
                             ("-n 100", "xdd multi -hosts 100 -- (xdisk)"), ("-D", "nothing that xdd has (elbencho)")):
        run = xdd((base + letter).split())
        t.ok(run.status == 3 and meanings in run.err and "means " in run.err and len(run.error_lines()) == 1, "alone: " + letter, run)
    answer("-t beside another word of xdisk", "-R -r80 -f T -t 1", "-seek random -rwratio 80 -target T -timelimit 1 -bs 4k",
           "-t 1: is a word of xdisk; say -timelimit 1")


def test_guesses():
    """Words that a newcomer guesses, with the line to try."""
    base = "-op read -target T -bytes 64k"
    for typed, proposed, *says in (
            ("-zero", "", "leave it out; zeros are the default"), ("-random-data", " -datapattern random"), ("-label x", " -id x"),
            ("-log x", " -output x", "-errout has the messages"), ("-silent", " -quiet"), ("-summary", "", "-verbose shows each pass"),
            ("-nocache", " -dio", "-dropcache empties it"), ("-pin " + t.PROCESSOR, " -processor " + t.PROCESSOR), ("-shuffle", " -seek random once"),
            ("-list-engines", " -ioengine list"), ("-human", " -report person"), ("-count", None, "say -numreqs <value>"),
            ("-fsync", " -syncwrite", "-flushwrite <#writes>: more"), ("-fsync 4", " -flushwrite 4", "is a word of fio"),
            ("--json", " -jsonout -"), ("--json out", " -jsonout out"), ("-csv", " -csvout - -quiet"), ("-mix 70/30", " -rwratio 70"), ("-reads 70", " -rwratio 70"),
            ("-skip 4k", " -startoffset 4k"), ("-slowest 1ms", " -reportthreshold 1ms"),
            ("-nosync", "", "leave it out"), ("-maxlatency 10ms", " -reportthreshold 10ms"), ("-bwlimit 10m", " -throttle bw 10m")):
        answer(typed, "%s %s" % (base, typed), None if proposed is None else base + proposed, *says)
    for typed, says in (("-append", "say -startoffset <bytes>; where the file ends"), ("-backward", "say -seek load <file>"),
                        ("-seek reverse", "say -seek load <file>; tac(1) reverses"),
                        ("-steady-state", "say xdd -op write -target <device>"), ("-history", "say xdd-nightly -- "),
                        ("-list", "say xdd -help; commands and options; -ioengine list has the engines")):
        run = xdd(shlex.split("%s %s" % (base, typed)))
        t.ok(run.status == 3 and "%s: is a word of other tools; %s" % (typed, says) in run.err, typed, run)
    for engine, guesses in (("io_uring", ("-uring", "-async", "-ioengine uring")), ("libaio", ("-aio", "-ioengine aio"))):
        if engine not in t.engines():
            t.skip("guesses of " + engine, "no engine " + engine)
            continue
        for typed in guesses:
            answer(typed, "%s %s" % (base, typed), "%s -ioengine %s" % (base, engine))


def test_setup_file():
    with open(t.path("a.cfg"), "w", encoding="ascii") as f:
        f.write("-op read\n-target T\n-iodepth 4\n")
    run = xdd(["-setup", "a.cfg"])
    t.equal((run.status, run.err), (3, "xdd: a.cfg:3: -iodepth: is a word of fio; say -queuedepth <value>\n"),
            "a setup file: the line, and no command line", run)


def found(word, *lines):
    """-help finds these lines for a word, in this order."""
    run = xdd(["-help", word])
    at = [run.out.find(line) for line in lines]
    t.ok(run.status == 0 and -1 not in at and at == sorted(at) and not run.err, "-help %s" % word, "%s\n%s" % (at, run))


def test_stray():
    """A word after one that takes no value is no value of it; the message names the position of the word itself."""
    for word, say in (("--direct", "say -dio"), ("--thread", "leave it out; QThreads are threads")):
        run = t.command([t.XDD, word, "foo", "-targets", "1", "null", "-numreqs", "1"])
        t.equal((run.status, run.error_lines()),
                (3, ["xdd: %s: is a word of fio; %s (argument 1)" % (word, say),
                     "xdd: foo: is a stray word: it belongs to no option; options begin with -, and files and devices are named with "
                     "-target (argument 2)"]),
                word + " foo")
    run = t.command([t.XDD, "-direct", "1", "-targets", "1", "null", "-numreqs", "1"])
    t.equal((run.status, run.error_lines()[0]), (3, "xdd: -direct 1: is a word of fio; say -dio (argument 2)"), "-direct 1")


def test_help():
    found("iodepth", "--iodepth (fio) ", "-queuedepth <value>")
    found("--iodepth", "--iodepth (fio) ", "-queuedepth <value>")
    found("randread", "--rw=randread (fio) ", "-op read -seek random once")
    found("fsync", "--fsync (fio) ", "-flushwrite <value>", "conv=fsync (dd) ", "-syncwrite")
    found("percentiles", "-latency percentiles ", "xdd compare ")
    found("ramp_time", "--ramp_time (fio) ", "-warmup <value>")
    found("group_reporting", "--group_reporting (fio) ", "no words are necessary")
    found("histogram", "-latency histogram ", "-seek disthist")
    found("seekhist", "-seek seekhist")
    found("metadata", "-metadata (other tools) ", "xdd has nothing like it; ")
    found("replay", "-replay (other tools) ", "-seek load <file>; ")
    found("burst", "-burst (other tools) ", "-throttle ops <rate> poisson; ")
    found("iperf", "-iperf (other tools) ", "xddcp /dev/zero <host>:/dev/null 10G; ", "-iperf3 (other tools) ")
    found("nvme", "-nvme (other tools) ", "-targets ")
    found("elbencho", "elbencho ", "its words are answered with words of xdd")
    found("hosts", "--hosts (elbencho) ", "xdd multi -hosts <value> --")
    for word in ("zoned", "backwards", "grafana", "passthrough", "s3", "stride", "badblocks", "iperf3", "crash"):
        found(word, "-%s (other tools) " % word)
    found("columns", "+WHAT ", "+ERRORS ", "+BANDWIDTH ", "in MBytes/s")
    found("BANDWIDTH", "+BANDWIDTH ", "in MBytes/s")
    found("+bandwidth", "+BANDWIDTH ", "in MBytes/s")
    found("check", "usage: xdd [check] ")
    run = xdd(["-help", "e"])
    t.equal((run.status, run.out), (0, xdd(["-help", "-e"]).out), "a short word is no part of other words", run)
    run = xdd(["-help", "qd", "nosuch"])
    t.equal((run.status, run.out), (2, xdd(["-help", "qd"]).out), "several words: those that are known are explained", run)
    run = xdd(["-help", "a"])
    wide = [line for word in ("a", "rate", "columns", "size", "the") for line in xdd(["-help", word]).out.splitlines()
            if len(line) > 79]
    t.ok(not wide, "the search fits 80 columns", "\n".join(wide))


t.run(test_help, test_table, test_lines, test_guesses, test_elbencho, test_gaps, test_subjects, test_lone_letters, test_stray, test_setup_file)
t.done()
