#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
How results are written: columns of -outputformat, CSV, -combinedout and -output files, and lines that stay
readable on a terminal of 80 columns and whole in a pipe.
"""
import csv
import fcntl
import os
import pty
import json
import re
import struct
import subprocess
import termios

import xddtest as t

# The guide's cheat sheet of output format identifiers, with the heading of each.
HEADINGS = {
    "WHAT": "What", "PASS": "Pass", "TARGET": "Target", "QUEUE": "Queue", "BYTESTRANSFERED": "Bytes_Xfered",
    "BYTESXFERED": "Bytes_Xfered", "BYTESREAD": "Bytes_Read", "BYTESWRITTEN": "Bytes_Written", "OPS": "Ops",
    "READOPS": "Read_Ops", "WRITEOPS": "Write_Ops", "BANDWIDTH": "Bandwidth", "READBANDWIDTH": "Read_BW",
    "WRITEBANDWIDTH": "Write_BW", "IOPS": "IOPS", "READIOPS": "Rd_IOPS", "WRITEIOPS": "Wrt_IOPS",
    "LATENCY": "Latency", "ELAPSEDTIME1STOP": "1st_Op", "ELAPSEDTIMEPASS": "Elapsed", "OVERHEADTIME": "Overhead",
    "PATTERNFILLTIME": "Pat_Fill", "BUFFERFLUSHTIME": "Flush", "CPUTIME": "CPU Time", "PERCENTCPUTIME": "Pct_CPU",
    "PERCENTCPU": "Pct_CPU", "USERTIME": "User Time", "USER": "User Time", "USRTIME": "User Time",
    "SYSTEMTIME": "Sys Time", "SYSTEM": "Sys Time", "SYSTIME": "Sys Time", "PERCENTUSER": "Pct_Usr",
    "PERCENTUSERTIME": "Pct_Usr", "PERCENTUSR": "Pct_Usr", "PERCENTSYSTEM": "Pct_Sys",
    "PERCENTSYSTEMTIME": "Pct_Sys", "PERCENTSYS": "Pct_Sys", "OPTYPE": "Op_Type", "XFERSIZEBYTES": "Xfer_Size",
    "XFERSIZEBLOCKS": "Xfer_Size", "XFERSIZEKBYTES": "Xfer_Size", "XFERSIZEMBYTES": "Xfer_Size",
    "E2EIOTIME": "E2E_I/O", "E2ESRTIME": "E2E_S/R", "E2EPERCENTSRTIME": "E2E_Pct_S/R", "E2ELAGTIME": "E2E_Lag",
    "E2EPERCENTLAGTIME": "E2E_Pct_Lag", "E2EFIRSTREADTIME": "E2E_1st_Rd", "E2ELASTWRITETIME": "E2E_Lst_Wrt",
    "DELIM": ""}
DEFAULTS = ("WHAT PASS TARGET QUEUE BYTESXFERED OPS ELAPSEDTIMEPASS BANDWIDTH IOPS LATENCY PERCENTCPUTIME OPTYPE "
            "XFERSIZEBYTES").split()
# CSV files have these after them.
OF_RUN = "ID STARTTIME TARGETNAME ENGINE PATTERN REQUESTEDIOPS REQUESTEDBANDWIDTH".split()
EVERY = [name for name in HEADINGS if name != "DELIM"]
SMALL = "-op read -targets 2 null null -numreqs 100 -reqsize 4".split()


def table(run):
    """The lines of the result table: heading, units, results."""
    lines = run.out.splitlines()
    begin = [i for i, line in enumerate(lines) if line.startswith("What")]
    others = ("Ending time", " This run", "Target ", "All targets, ", "Start skew")
    return [line for line in lines[begin[0]:] if not line.startswith(others)] if begin else []


# -outputformat


def test_identifiers():
    for name, heading in HEADINGS.items():
        run = t.xdd(*SMALL, "-outputformat", "new", "+WHAT+OPS+" + name)
        lines = table(run)
        if not t.ok(run.status == 0 and not run.error_lines() and len(lines) == 3, "+%s alone" % name, run):
            continue
        t.equal(" ".join(lines[0].split()), ("What Ops " + heading).strip(), "+%s: its heading" % name)
        t.equal(lines[2].split()[:2], ["COMBINED", "200"], "+%s: beside other columns" % name)
        t.equal(len(lines[2].split()), 2 if name == "DELIM" else 3, "+%s: one value" % name)


def test_every_identifier():
    run, rows = t.xdd_csv(*SMALL, "-verbose", "-outputformat", "new", "+" + "+".join(HEADINGS))
    t.equal((run.status, len(rows)), (0, 5), "every identifier at once", run)
    t.ok(all(list(r) == EVERY for r in rows), "CSV: every identifier is a column, in order", rows[:1])
    # PAGECACHED and HOLES are known on some file systems only.
    empty = re.compile("E2E|DESKEW|TAIL|FAIRNESS$|MISCOMPARES$|RESP|WRITELAT")
    t.equal({name for r in rows for name in r if r[name] == "" and name not in ("PAGECACHED", "HOLES")},
            {name for name in EVERY if empty.match(name)}, "CSV: empty is what a run of reads does not measure, and nothing else")
    t.equal({r[name] for r in rows for name in EVERY if empty.match(name)}, {""}, "CSV: ... in each line")
    same = (("BYTESTRANSFERED", "BYTESXFERED"), ("PERCENTCPUTIME", "PERCENTCPU"), ("USERTIME", "USER", "USRTIME"),
            ("SYSTEMTIME", "SYSTEM", "SYSTIME"), ("PERCENTUSER", "PERCENTUSERTIME", "PERCENTUSR"),
            ("PERCENTSYSTEM", "PERCENTSYSTEMTIME", "PERCENTSYS"))
    t.ok(all(len({r[name] for name in names}) == 1 for r in rows for names in same), "names of one column agree", rows)
    names = " ".join(" ".join(HEADINGS[name] for name in HEADINGS).split())
    t.equal(" ".join(table(run)[0].split()), names, "text: the heading of every identifier, in order")


def test_add():
    run, rows = t.xdd_csv(*SMALL, "-outputformat", "add", "+READOPS", "-outputformat", "add", "+CPUTIME")
    t.equal([list(r) for r in rows], [DEFAULTS + ["READOPS", "CPUTIME"] + OF_RUN], "add: after the default columns")
    t.ok(table(run)[0].split()[-4:] == ["Xfer_Size", "Read_Ops", "CPU", "Time"], "add: in text too", run)
    run, rows = t.xdd_csv(*SMALL, "-outputformat", "new", "+OPS", "-outputformat", "add", "+WHAT")
    t.equal([list(r.items()) for r in rows], [[("OPS", "200"), ("WHAT", "COMBINED")]], "add: after the columns of new")
    run, rows = t.xdd_csv(*SMALL, "-outputformat", "+WHAT+OPS")
    t.equal([list(r.items()) for r in rows], [[("WHAT", "COMBINED"), ("OPS", "200")]],
            "a list alone, as the guide has it")


# Files


def read_lines(file):
    with open(file, newline="") as f:
        return f.read().split("\n")


def test_csv():
    file = t.path("results.csv")
    for _ in range(3):
        run = t.xdd(*SMALL, "-verbose", "-csvout", file)
        t.equal((run.status, run.error_lines()), (0, []), "CSV: a run")
    lines = read_lines(file)
    t.ok(lines[-1] == "" and len(lines) == 17 and "\r" not in "".join(lines), "CSV: 15 lines and one heading", lines)
    t.equal([line for line in lines if "WHAT" in line], [",".join(DEFAULTS + OF_RUN)], "CSV: the heading is there once")
    t.ok(not any(" " in line for line in lines), "CSV: no padding", lines)
    rows = list(csv.reader(lines[:-1], strict=True))
    t.ok(all(len(row) == len(DEFAULTS + OF_RUN) for row in rows), "CSV: as many fields in every line")
    t.equal([row[0] for row in rows[1:]], ["TARGET_PASS"] * 2 + ["TARGET_AVERAGE"] * 2 + ["COMBINED"] +
            (["TARGET_PASS"] * 2 + ["TARGET_AVERAGE"] * 2 + ["COMBINED"]) * 2, "CSV: runs one after the other")
    run = t.xdd(*SMALL, "-outputformat", "new", "+OPS", "-csvout", file)
    t.ok(run.status == 2 and len(run.error_lines()) == 1 and read_lines(file) == lines,
         "CSV: other columns do not go into the file", run)


def test_text_and_csv_agree():
    run, rows = t.xdd_csv(*SMALL, "-verbose", "-qthreadinfo", "-passes", 2)
    text = [list(r.values()) for r in run.rows()]
    t.ok(len(text) == 2 * 2 * 2 + 2 + 1 and text == [[r[name] for name in DEFAULTS] for r in rows], "text and CSV say the same",
         (text, rows))


def test_of_run():
    """The columns that tell the rows of several runs apart."""
    name, engine = t.make_file('a "name", with blanks', 65536), t.ENGINE or "psync"
    a_id, file, document = 'a "run", with\nlines ' + "x" * 400, t.path("of_run.csv"), t.path("of_run.json")
    words = ["-op", "read", "-targets", 3, name, name, "null", "-numreqs", 4, "-reqsize", 4, "-verbose", "-ioengine", "target", 2,
             "libaio", "-throttle", "target", 0, "ops", 1000, "-throttle", "target", 1, "ops", 250.5, "-throttle", "target", 2,
             "bw", 20, "-seek", "target", 0, "random", "-seek", "target", 1, "random"]
    run = t.xdd(*words, "-id", a_id, "-csvout", file, "-jsonout", document)
    t.equal(run.status, 0, "CSV: a run of several targets", run)
    rows = t.read_csv(file)
    t.equal([[r[column] for column in ("WHAT", *OF_RUN[2:])] for r in rows],
            [[what, *values] for what in ("TARGET_PASS", "TARGET_AVERAGE") for values in (
                (name, engine, "random", "1000.000", ""), (name, engine, "random", "250.500", ""),
                ("null", "null", "sequential", "", "20.000"))] + [["COMBINED", "*", "mixed", "mixed", "", ""]],
            "CSV: target, engine, pattern and requested rate of each line")
    with open(document, encoding="utf-8") as f:
        start = json.load(f)["start_time"]
    t.equal({(r["ID"], r["STARTTIME"]) for r in rows}, {(a_id, start)}, "CSV: id, exact, and start of the run, as the document has it")
    t.ok(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", start), "in UTC, with milliseconds", start)
    run = t.xdd("-op", "read", "-targets", 2, name, name, "-numreqs", 4, "-throttle", "bw", 100, "-combinedout", file + "2",
                "-reqsize", 4)
    rows = t.read_csv(file + "2")
    t.equal([[r[column] for column in ("ID", *OF_RUN[2:])] for r in rows],
            [["", name, engine, "sequential", "", "200.000"]], "COMBINED: what all targets have in common, and the sum of the rates")


def test_old_file():
    """A file with the columns of an earlier build is not continued, except by their names."""
    file, old = t.path("old.csv"), ",".join(DEFAULTS) + "\n"
    with open(file, "w") as f:
        f.write(old)
    run = t.xdd(*SMALL, "-csvout", file)
    t.ok(run.status == 2 and len(run.error_lines()) == 1 and read_lines(file) == old.split("\n"), "CSV: an old file is refused", run)
    run = t.xdd(*SMALL, "-csvout", file, "-outputformat", "new", "+" + "+".join(DEFAULTS))
    t.equal((run.status, len(read_lines(file))), (0, 3), "CSV: its columns continue it", run)


def test_combinedout():
    file = t.path("combined.csv")
    for n in (100, 200, 300):
        t.xdd(*SMALL[:-3], n, "-reqsize", 4, "-verbose", "-qthreadinfo", "-combinedout", file)
    rows = t.read_csv(file)
    t.equal([(r["WHAT"], r["OPS"], r["BYTESXFERED"]) for r in rows],
            [("COMBINED", str(2 * n), str(2 * n * 4096)) for n in (100, 200, 300)], "-combinedout: a line for each run")
    t.equal(len(read_lines(file)), 5, "-combinedout: one heading")


def test_output():
    file = t.path("output.txt")
    texts = []
    for words in ([], ["-verbose"]):
        run = t.xdd(*SMALL, "-output", file, *words)
        t.equal((run.status, run.out, run.error_lines()), (0, "", []), "-output: nothing on standard output")
        with open(file) as f:
            texts.append(f.read())
    t.ok(texts[1].startswith(texts[0]), "-output: appends")
    for text, which in ((texts[0], "plain"), (texts[1][len(texts[0]):], "verbose")):
        labels = ["XDD version", "DISCLAIMER", "Starting time for this run, ", "ID for this run, '", "Passes, 1",
                  "Number of Targets, 2", "Computer Name, ", "Page size in bytes, ", "Target number, 0",
                  "Target number, 1", "\nWhat ", " COMBINED ", "Ending time for this run, ",
                  "This run terminated normally"]
        missing = [label for label in labels if text.count(label) != 1]
        missing += [label for label in ("Request size, 4, 1024-byte blocks, 4096", "Queue Depth, 1",
                                        "Number of Operations, 100") if text.count(label) != 2]
        t.ok(not missing, "-output: all sections, once (%s)" % which, "%s\n%s" % (missing, text))


# Terminals and pipes


def on_terminal(args, columns, rows=24):
    """The table of a run on a terminal of that size, and its status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    p = subprocess.Popen([t.XDD, "-report", "table"] + [str(a) for a in args], stdin=subprocess.DEVNULL, stdout=slave,
                         stderr=subprocess.PIPE, cwd=t.tmp())
    os.close(slave)
    out = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # EIO: the other end is closed
            break
        if not data:
            break
        out += data
    err = p.stderr.read()
    p.stderr.close()
    os.close(master)
    return out.decode().replace("\r\n", "\n"), err.decode(), p.wait(timeout=t.TIMEOUT)


def test_terminal():
    if not t.have_terminals():
        return t.skip("results on a terminal", "no pseudo-terminals here")
    with open(t.path("file"), "wb") as f:
        f.write(bytes(65536))
    runs = (("null", SMALL), ("a file", "-op read -targets 1 file -reqsize 4 -passes 3".split()),
            ("writes", "-op write -targets 2 a b -numreqs 9 -passes 2 -passdelay 0.1 -qthreadinfo".split()),
            ("large numbers", "-op noop -targets 1 null -reqsize 2097152 -numreqs 100000".split()),
            ("every column", SMALL + ["-outputformat", "new", "+" + "+".join(EVERY)]),
            ("errors", "-op read -targets 1 file -reqsize 4 -numreqs 17 -timelimit 60".split()))
    for title, args in runs:
        out, err, status = on_terminal(args, 80)
        t.equal((status, "COMBINED" in out), (6 if title == "errors" else 0, True), "terminal, %s: runs" % title,
                out + err)
        t.equal([line for line in out.splitlines() if len(line) > 80], [], "terminal, %s: 80 columns" % title)
        names = EVERY if title == "every column" else DEFAULTS
        words = out[out.index("What "):].split()
        wanted = " ".join(HEADINGS[name] for name in names).split()
        t.equal(words[:len(wanted)], wanted, "terminal, %s: every heading" % title)
    wide = on_terminal(SMALL, 200)[0].splitlines()
    return t.ok([line for line in wide if line.startswith("What") and line.endswith("Xfer_Size")],
                "a wide terminal has whole lines", "\n".join(wide))


def test_pipe():
    for title, args in (("default columns", []), ("every column", ["-outputformat", "new", "+" + "+".join(EVERY)])):
        run = t.xdd(*SMALL, "-verbose", *args)
        lines = table(run)
        names = EVERY if args else DEFAULTS
        t.ok(len(lines) == 2 + 5 and lines[0].split() == " ".join(HEADINGS[n] for n in names).split(),
             "pipe, %s: a line each" % title, run)
        t.ok(all(len(line.split()) == len(names) for line in lines[2:]), "pipe, %s: all values" % title, lines)
        run = t.xdd(*SMALL, "-numreqs", 5, "-operationdelay", 0.002, *args)
        t.equal(len({len(line) for line in table(run)}), 1, "pipe, %s: values stand under their headings" % title)


def test_columns_stay_apart():
    run = t.xdd(*("-op read -targets 2 null null -reqsize 2097152 -numreqs 10000 -passes 2 -verbose").split(),
                "-outputformat", "new", "+" + "+".join(EVERY))
    lines = table(run)
    t.ok(run.status == 0 and all(len(line.split()) == len(EVERY) for line in lines[2:]),
         "huge values do not run into their neighbours", "\n".join(lines))
    last = dict(zip(EVERY, lines[-1].split()))
    t.equal((last["BYTESXFERED"], last["OPS"]), (str(40000 << 31), "40000"), "huge values are whole")
    t.ok(float(last["BANDWIDTH"]) > 1e6, "a bandwidth wider than its column", last)


for test in (test_identifiers, test_every_identifier, test_add, test_csv, test_text_and_csv_agree, test_of_run, test_old_file, test_combinedout,
             test_output, test_terminal, test_pipe, test_columns_stay_apart):
    test()
t.done()
