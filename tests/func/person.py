#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-report: the block for people on a pseudo-terminal, at several widths: no line is wider than the terminal, the shape of
the block, and its numbers beside the document of -jsonout; what a pipe or a file gets; runs that fail or are canceled.
"""
import json
import os
import re
import signal
import unicodedata

import xdde2e as e
import xddsys as s
import xddterm
import xddtest as t

t.may_warn(t.CACHED, t.BUFFERED)

WIDTHS = (60, 80, 120, 200)
HEADINGS = ["rate", "IOPS", "p50", "p99", "max"]
CELL = r"(?:[\d.]+ (?:[kMGTPE]?B/s|[kMGTPE]?/s|ns|us|ms|s|min|h)|0 B/s|0 /s|-)"
WORDS = "-op read -target null -reqsize 4 -numreqs 200"


def on(columns, words, rows=50, env=None, **kwargs):
    """The screen of a run on a terminal of that size."""
    return xddterm.on_terminal(t.xdd_words(*(words.split() if isinstance(words, str) else words)), columns, rows,
                               cwd=t.tmp(), env=env, **kwargs)


def width(line):
    """Columns of a terminal that the line takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def table(screen):
    """The rows of the block by their label, each a dict by heading."""
    found, last = {}, ""
    begins = [i for i, line in enumerate(screen.lines) if line.split() == HEADINGS]
    if len(begins) != 1:
        return {}
    for line in screen.lines[begins[0] + 1:]:
        cells = re.findall(CELL, line)
        m = re.match(r"(.*?) +%s(?: |$)" % CELL, line)
        if not m:
            break
        label = m.group(1)
        last = label if not label.startswith(" ") else last
        names = HEADINGS if len(cells) == 5 else HEADINGS[2:]
        found[label.strip() if label.strip() not in found else last + label] = dict(zip(names, cells))
    return found


def combined(name):
    with open(t.path(name)) as f:
        return [r for r in json.load(f)["results"] if r["what"] == "COMBINED"][0]


def agrees(row, result, direction):
    """True if the row shows what the document has of that direction."""
    seconds = result["elapsed_ns"] / 1e9
    latency = result["latency"]["service"][direction]
    wanted = (result["bytes"][direction] / seconds, result["ops"][direction] / seconds, latency["percentiles_ns"]["50"],
              latency["percentiles_ns"]["99"], latency["maximum_ns"])
    return all(row[heading] == "-" if value is None else xddterm.near(row[heading], value) for heading, value in zip(HEADINGS, wanted))


def test_widths():
    deep = "a-directory-with-a-long-name/another-one-that-is-longer/"
    names = [deep + "first", deep + "\u6587\u4ef6\u540d\u7a31" * 10, deep + "caf\u00e9-" + "x" * 60]
    os.makedirs(t.path(deep), exist_ok=True)
    for name in names:
        with open(t.path(name), "wb") as f:
            f.write(bytes(65536))
    few = ["-targets", str(len(names)), *names, "-reqsize", "4", "-op", "read"]
    runs = {"one target": WORDS.split(), "a long name": ["-target", names[1], "-op", "read", "-reqsize", "4"],
            "several targets": few, "a mix": few[:-2] + ["-rwratio", "50", "-numreqs", "16", "-passes", "3"],
            "throttled": WORDS.split() + ["-throttle", "ops", "100000"],
            "5 passes": WORDS.split() + ["-passes", "5"], "512 targets": "-op noop -targets 512 " + "null " * 512 + "-numreqs 2"}
    for title, words in runs.items():
        for columns in WIDTHS:
            screen = on(columns, words, env={"LC_ALL": "C.UTF-8"} if columns != 80 else None)
            t.equal((screen.status, [line for line in screen.lines if width(line) > columns]), (0, []),
                    "%s: no line exceeds %d columns" % (title, columns), screen)
            t.ok(table(screen), "%s: a table at %d columns" % (title, columns), screen)
    screen = on(60, runs["several targets"], env={"LC_ALL": "C.UTF-8"})
    t.ok("\u2026" in screen.text and "..." not in screen.text, "UTF-8: an ellipsis stands for the middle of a name", screen)
    screen = on(60, runs["several targets"])
    t.ok("..." in screen.text and "\u2026" not in screen.text, "another locale: three points do", screen)
    screen = on(20, WORDS)
    t.equal((screen.status, bool(table(screen))), (0, True), "20 columns: the block of 60", screen)


def test_first_line():
    """It says what ran, of one target and of several that differ."""
    t.make_file("a", 1 << 20)
    t.make_file("b", 1 << 20)
    null, two = "-target null -numreqs 20 -reqsize 1 ", "-targets 2 a b -numreqs 8 -reqsize 1 "
    for words, line in (
            (null + "-op noop", "null: sequential no-ops of 1 KiB, depth 1, null"),
            (null + "-op noop -reqsize 3 -queuedepth 4 -seek random range 9", "null: random no-ops of 3 KiB, depth 4, null"),
            (null + "-op noop -seek zipf 1.2 range 99", "null: random no-ops of 1 KiB, depth 1, null"),
            (null + "-op noop -seek stagger range 99", "null: staggered no-ops of 1 KiB, depth 1, null"),
            (null + "-op noop -seek none", "null: no-ops of 1 KiB, depth 1, null"),
            (null + "-rwratio 30", "null: sequential reads and writes (30 % reads) of 1 KiB, depth 1, null"),
            (null + "-op write -reqsize mix 4k:1,64k:1", "null: sequential writes of 4 KiB to 64 KiB, depth 1, null"),
            (null + "-op noop -throttle ops 4000", "null: sequential no-ops of 1 KiB, depth 1, null, throttled to 4.00 k/s"),
            (null + "-op noop -throttle bw 4 poisson", "null: sequential no-ops of 1 KiB, depth 1, null, throttled to 4.00 MB/s, Poisson arrivals"),
            (two + "-op read", "2 targets: sequential reads of 1 KiB, depth 1, buffered, psync by default"),
            (two + "-op read -seek target 1 random range 64", "2 targets: reads of 1 KiB, depth 1, buffered, psync by default"),
            (two + "-op read -seek random range 64", "2 targets: random reads of 1 KiB, depth 1, buffered, psync by default"),
            (two + "-op target 0 read -op target 1 write", "2 targets: sequential reads and writes of 1 KiB, depth 1, buffered, psync by default"),
            (two + "-op read -reqsize target 0 4 -queuedepth target 1 3",
             "2 targets: sequential reads of 1 KiB to 4 KiB, depth 1 to 3, buffered, psync by default"),
            (two + "-op read -ioengine target 1 mmap", "2 targets: sequential reads of 1 KiB, depth 1, buffered"),
            (two + "-op read -ioengine psync", "2 targets: sequential reads of 1 KiB, depth 1, buffered, psync"),
            (two + "-op read -throttle ops 9000", "2 targets: sequential reads of 1 KiB, depth 1, buffered, psync by default, throttled to 9.00 k/s each"),
            (two + "-op read -throttle ops 9000 -throttle target 1 ops 8000",
             "2 targets: sequential reads of 1 KiB, depth 1, buffered, psync by default")):
        run = t.xdd(*words.split(), "-report", "person", cwd=t.tmp())
        first = " ".join(run.out.split("\n\n")[0].split())
        t.equal((run.status, re.sub(r", [\d.]+ [mun]?s$", "", first)), (0, line), words, run)


def on_device(words, law, columns=80):
    """A run on a file of 16 MiB whose operations take these times in ns."""
    t.make_file("data", 16 << 20)
    return on(columns, "-target data -reqsize 4 " + words, device="/data " + law, step=0)


def folded(screen):
    """Its text, with lines that were folded in one piece."""
    return "\n".join(screen.lines).replace("\n  ", " ") + "\n"


def of_rows(screen):
    """The cells of each row by its label."""
    return {label: " ".join(row.get(heading, "") for heading in HEADINGS).strip() for label, row in table(screen).items()}


def test_numbers():
    # 990 operations of 1 ms and 10 of 2 ms take 1.01 s. The 99th percentile is the 990th.
    screen = on_device("-op read -numreqs 1000 -jsonout one.json", "1000000*990,2000000*10")
    t.equal((screen.status, of_rows(screen)), (0, {"read": "4.06 MB/s 990 /s 1.00 ms 1.00 ms 2.00 ms"}), "one target: exact figures", screen)
    t.equal(screen.lines[0], "data: sequential reads of 4 KiB, depth 1, buffered, psync by default, 1.01 s", "the first line says what ran", screen)
    t.ok(agrees(table(screen)["read"], combined("one.json"), "read"), "one target: as in -jsonout", screen)
    screen = on_device("-op read -numreqs 1000", "1000000*989,2000000*11")
    t.equal(of_rows(screen), {"read": "4.05 MB/s 989 /s 1.00 ms 2.00 ms 2.00 ms"}, "one slow operation more: the 99th percentile", screen)
    screen = on_device("-rwratio 70 -numreqs 1000 -jsonout mix.json", "1000000*999,3000000")
    rows, result = of_rows(screen), combined("mix.json")
    slow = "read" if result["latency"]["service"]["read"]["maximum_ns"] > 2e6 else "write"
    wanted = {"read": "2.86 MB/s 699 /s 1.00 ms -", "write": "1.23 MB/s 299 /s 1.00 ms -", "both": "4.09 MB/s 998 /s 1.00 ms 1.00 ms"}
    t.equal(rows, {label: text + (" 3.00 ms" if label in (slow, "both") else " 1.00 ms") for label, text in wanted.items()},
            "a mix: a row for each direction and one for both", screen)
    t.ok(agrees(table(screen)["read"], result, "read") and agrees(table(screen)["write"], result, "write"), "a mix: as in -jsonout", screen)
    # The third begins at 10 ms and ends at 35 ms. Those of 15, 20, 25, 30 and 35 ms have waited for it.
    screen = on_device("-op read -numreqs 300 -throttle ops 200 -jsonout paced.json", "1000000*2,25000000,1000000*297")
    response = combined("paced.json")["latency"]["response"]["read"]
    t.equal(of_rows(screen), {"read service": "819 kB/s 200 /s 1.00 ms - 25.0 ms", "read response": "1.00 ms - 25.0 ms"},
            "-throttle: service and response times are labelled", screen)
    # The third is 24 ms longer than the others, and those after it wait 20, 16, 12, 8 and 4 ms. The last microseconds of a wait are
    # not exact.
    t.equal([round(response[name], -4) for name in ("maximum_ns", "mean_ns")] + [round(response["percentiles_ns"]["50"], -4)],
            [25e6, 1.28e6, 1e6], "-throttle: as in -jsonout", response)
    t.ok("throttled to 200 /s, 1.50 s\n" in folded(screen), "-throttle: the requested rate is named", screen)


def files(n):
    names = ["f%03d" % i for i in range(n)]
    for name in names:
        with open(t.path(name), "wb") as f:
            f.write(bytes(16384))
    return names


def test_targets():
    for n in (2, 5, 100):
        screen = on(80, ["-op", "read", "-reqsize", "4", "-targets", n, *files(n), "-jsonout", "many.json"])
        rows = table(screen)
        wanted = files(n) + ["all"] if n <= 20 else None
        t.ok(screen.lines[0].startswith("%d targets: " % n), "%d targets: the first line says so" % n, screen)
        if wanted:
            t.equal(list(rows), wanted, "%d targets: a row for each and one for all" % n, screen)
        else:
            t.equal([re.sub(r"f\d+$", "F", label) for label in rows], ["slowest: F", "fastest: F", "all"],
                    "%d targets: the slowest, the fastest and all" % n, screen)
            t.ok("98 more targets lie between these two" in screen.lines, "... and how many are left out", screen)
        result = combined("many.json")
        t.ok(agrees(rows["all"], result, "read"), "%d targets: all of them as in -jsonout" % n, screen)
    screen = on(80, ["-op", "read", "-reqsize", "4", "-targets", 12, *files(12)], rows=20)
    t.equal((len(table(screen)), len(screen.lines) <= 20), (3, True), "12 targets on 20 lines: those that fit", screen)
    os.makedirs(t.path("long"), exist_ok=True)
    for i in range(30):
        with open(t.path("long/%d-%s" % (i, "x" * 60)), "wb") as f:
            f.write(bytes(16384))
    screen = on(60, "-op read -reqsize 4 -target long")
    t.equal(list(table(screen)), ["slowest", "fastest", "all"], "long names: the rows are labelled", screen)
    below = [re.search(r"^%s: +(long/\d+-x+)" % end, screen.text.replace("\n  ", " "), re.M) for end in ("slowest", "fastest")]
    t.ok(all(below), "... and their names are below the table", screen)
    screen = on(60, "-rwratio 50 -reqsize 4 -numreqs 50 -throttle ops 100000 -targets 3 null null null", rows=24)
    t.equal(re.findall(r"^(#|all)", screen.text, re.M), ["#", "#", "all"],
            "three targets with many rows: the ends by their numbers, and all", screen)
    t.ok("1 more target lies between these two" in screen.lines, "... and one between them", screen)
    screen = on(80, "-reqsize 4 -numreqs 10 -targets 2 null null -op target 0 read -op target 1 write")
    text = "\n".join(screen.lines)
    t.ok(re.search(r"^#0 null read +\d.*\n#1 null write +\d.*\nall     read +\d.*\n        write +\d.*\n        both +\d",
                   text, re.M), "two directions: each target and all by direction", screen)


def test_verdicts():
    one, five = on(80, WORDS), on(80, WORDS + " -passes 5")
    t.ok("certainty: " in one.text and "to mean much; to measure for longer: -timelimit 10s without -bytes" in " ".join(one.text.split()), "a short run is called so", one)
    t.ok(re.search(r"^certainty: [\d.]+ .?B/s \+-[\d.]+ % is the mean of 5 passes", five.text, re.M) and ", 5 passes, " in
         five.text, "5 passes: mean, interval and number", five)
    read = "-op read -target null -reqsize 4 "
    long = on(120, read + "-timelimit 0.3")
    t.ok("measured once; to see how far it repeats: -passes 5" in long.text, "one pass is called so", long)
    long = on(120, read + "-runtime 0.3")
    advice = re.search(r"how far it repeats: (-timelimit 0\.3 -passes 5) in\s+place\s+of\s+-runtime", long.text)
    t.ok(advice, "one pass that -runtime ended: what replaces it", long)
    longer = on(120, read + (advice.group(1) if advice else ""))
    t.ok(", 5 passes, " in longer.text and "is the mean of 5 passes" in longer.text, "the advised options make 5 passes",
         longer)

    paced = on(80, "-op read -target null -reqsize 4 -numreqs 20 -throttle ops 50")
    t.ok("limited by: -throttle, as requested: the next request was not due yet 100 % of the time" in " ".join(paced.text.split()), "-throttle is named as the limit", paced)
    for law, words in (("1000000", "-throttle, as requested: the next request was not due yet 80 % of the time"), ("4900000", "the device: xdd waited for it 97 % of the time")):
        paced = on_device("-op read -numreqs 300 -throttle ops 200", law)
        t.ok("limited by: " + words in " ".join(paced.text.split()), "-throttle and operations of %s ns: the greater share is the limit" % law, paced)
    # 4.096 MB/s and 2.048 twice: a mean of 2.731, 4.303 * 1.182 / sqrt(3) of which are 108 %.
    passes = on_device("-op read -numreqs 1000 -passes 3", "1000000*1000,2000000*2000")
    t.ok("certainty: 2.73 MB/s is the mean of 3 passes, too few to say how far it repeats" in passes.text and
         "not reproducible: pass 1 is 100 % faster than the others" in passes.text, "3 passes: an interval that reaches zero is none, and the pass that differs", passes)
    with open(t.path("cached"), "wb") as f:
        f.write(os.urandom(32 << 20))
    with s.only_cached(t.path("cached"), (0, 32 << 20)):
        cached = on(80, "-op read -target cached -reqsize 1024")
        filed = on(80, "-op read -target cached -reqsize 1024 -report person -output cached.out").text
    text = " ".join(cached.text.split())
    t.ok("came from memory (the page cache), not from the device" in text, "the page cache disturbed: said in the verdict",
         cached)
    t.equal((text.count("(the page cache)"), "warning" in text), (1, False), "... once, and not as a warning", cached)
    t.equal(" ".join(filed.split()).count("(the page cache)"), 1, "... also where the table goes to a file", filed)
    t.ok("next: add -dio and -dropcache to read from the device" in text, "... and what to try next", cached)
    log = on(80, "-op write -target log -reqsize 4 -numreqs 8 -flushwrite 1 -syncwrite")
    t.ok(re.search(r"^note: 9 flushes to the device took \S+ \ws?, \S+ \ws? each; p50, p99 and max of writes leave them out",
                   " ".join(log.text.split()).replace(" note:", "\nnote:"), re.M), "flushes: their number, their time, and that of one", log)
    t.equal((list(table(log)), table(log)["flush"]["rate"]), (["write", "flush"], "-"), "and a row of their own", log)


def test_faults():
    with open(t.path("short"), "wb") as f:
        f.write(bytes(8192))
    failed = on(80, "-op read -target short -reqsize 4 -numreqs 5 -timelimit 60")
    t.ok("errors: 3 of 5 requests failed" in failed.text, "errors are counted", failed)
    t.equal(failed.status, 6, "errors: the exit status is that of the table", failed)
    t.ok("errors" not in on(80, WORDS).text, "without errors they are not mentioned")
    wrong = on(80, "-op read -target short -reqsize 4 -datapattern sequenced -verify contents")
    t.ok(re.search(r"^wrong data: \d+ extents? of what was read", wrong.text, re.M), "wrong data are counted", wrong)
    t.equal(wrong.status, 7, "wrong data: the exit status", wrong)
    on(80, "-op write -target good -reqsize 4 -numreqs 8 -datapattern sequenced")
    right = on(80, "-op read -target good -reqsize 4 -datapattern sequenced -verify contents")
    t.ok("verified: all data that was read is as expected" in right.text, "verified data are called so", right)
    canceled = on(80, "-op write -target begun -reqsize 4 -numreqs 100000 -throttle ops 20", at={1.01: signal.SIGTERM})
    # Operation 20 was due at 1 s.
    t.equal((canceled.status, list(table(canceled)), table(canceled)["write service"]["IOPS"], ", 1.01 s\n" in folded(canceled)),
            (5, ["write service", "write response"], "20.8 /s", True), "canceled: the block of what was done", canceled)
    t.ok("partial: the run was canceled before its end" in canceled.text, "canceled: it says so", canceled)


def test_hang():
    """A device that never answers: the block of what it did, and what is outstanding."""
    env = s.faults("hang", file="hangs", start=8192)
    if env is None:
        return t.skip("a device that never answers", s.sys_why())
    screen = on(80, "-op write -reqsize 4 -targets 2 works hangs -numreqs 4", env=env, at={1: signal.SIGTERM})
    t.equal((screen.status, list(table(screen))), (5, ["works", "hangs", "all"]), "a hung device: the block", screen)
    return t.ok("hung: 1 request on hangs never completed" in screen.text, "... names what is outstanding", screen)


def test_copy():
    with open(t.path("source"), "wb") as f:
        f.write(os.urandom(1 << 20))
    copy = e.Copy(t.path("source"), t.path("copied"), both=["-reqsize", "64", "-report", "person"]).run()
    t.equal(copy.statuses(), (0, 0), "an end-to-end copy", copy)
    for side, run, rows in (("source", copy.source.run, ["read"]), ("destination", copy.destination.run, ["write"])):
        screen = xddterm.Screen(run.status, run.out)
        t.equal(list(table(screen)), rows, "the %s of a copy: its table" % side, run)
        t.ok(re.search(r"^copy complete: both sides confirm 16 requests, digest\s+[0-9a-f]{32}$", run.out, re.M),
             "the %s of a copy: it is confirmed" % side, run)
    return True


def masked(text):
    return re.sub(r" +", " ", re.sub(r"\d+", "0", text))


def test_elsewhere():
    pipe = t.xdd(*WORDS.split())
    asked = t.xdd(*WORDS.split(), "-report", "table")
    t.ok("COMBINED" in pipe.out and pipe.out.startswith("Starting time for this run, "), "a pipe gets the table", pipe)
    t.equal(masked(pipe.out), masked(asked.out), "... the same as with -report table")
    plain = on(80, WORDS + " -report table")
    t.ok("COMBINED" in plain.text and not table(plain), "-report table: the table on a terminal", plain)
    person = t.xdd(*WORDS.split(), "-report", "person")
    t.ok(table(xddterm.Screen(0, person.out)) and "COMBINED" not in person.out, "-report person: the block in a pipe", person)
    t.ok("\033" not in person.out, "... without escape codes")
    formatted = on(200, WORDS + " -outputformat new +WHAT+OPS").text
    t.ok(0 <= formatted.find("p99") < formatted.find("Starting time") < formatted.find("COMBINED"),
         "-outputformat: the guide's output follows the block", formatted)
    verbose = on(200, WORDS + " -verbose").text
    t.ok(0 <= verbose.find("TARGET_PASS") < verbose.find("This run terminated") < verbose.find("p99"),
         "-verbose: the block follows the guide's output", verbose)
    kept = on(80, WORDS + " -report person -output results")
    with open(t.path("results")) as f:
        text = f.read()
    t.equal((bool(table(kept)), "COMBINED" in kept.text, "COMBINED" in text, "p99" in text), (True, False, True, False),
            "-output: the file has the table, the terminal the block", kept)
    quiet = on(80, WORDS + " -output results")
    t.equal(quiet.text, "", "-output without -report: the terminal stays empty", quiet)
    document = on(80, WORDS + " -jsonout -")
    t.equal(json.loads(document.text)["status"], 0, "-jsonout -: the document alone", document)
    t.ok("Dry run" in on(80, WORDS + " -dryrun").text, "-dryrun: shows what it would do")


def test_colours():
    for title, env, coloured in (("a terminal", {"TERM": "xterm"}, True), ("NO_COLOR", {"TERM": "xterm", "NO_COLOR": "1"}, False),
                                 ("an empty NO_COLOR", {"TERM": "xterm", "NO_COLOR": ""}, True),
                                 ("TERM=dumb", {"TERM": "dumb"}, False), ("no TERM", {"TERM": ""}, False)):
        screen = on(80, WORDS, env=env)
        t.equal("\033[" in screen.raw, coloured, "%s: %s" % (title, "colours" if coloured else "no colours"), screen.raw)
    evil = "evil\033[31m\nname"
    with open(t.path(evil), "wb") as f:
        f.write(bytes(4096))
    screen = on(80, ["-op", "read", "-target", evil, "-reqsize", "4"])
    t.ok("\033" not in screen.raw and "\\x1b[31m\\nname" in screen.text, "a name does not control the terminal", screen)


if not t.have_terminals():
    t.skip_all("no pseudo-terminals here")
t.run_all()
