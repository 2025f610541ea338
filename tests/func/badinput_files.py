#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Bad input, one row a case: what is wrong is said in one clear line on standard error, the status is right,
nothing that looks like a result is printed, and nothing is created or changed.
Lists of operations, setup files, targets and outputs; runs that fail.
"""
import os
import re
import subprocess

import messages as m
import xddsys as s
import xddtest as t
from xddbad import LIMIT_S, READ, ROWS, row, check, check_rows, digest

t.may_warn(m.REACHES)

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
row("load file in a missing directory", READ + " -seek load nodir/x", 2, None, m.line("-seek load nodir/x", m.NO_FILE))
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
row("save into a missing directory", READ + " -numreqs 1 -seek save nodir/x", 2, None,
    m.line("-seek save nodir/x: nodir/x.T0.txt", m.no_directory("nodir")))
row("save into a missing directory, other outputs untouched",
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
row("bad value in a setup file", SETUP, 2, "a.cfg:4", m.line("-reqsize 4x", m.whole_number("blocks", 1, 2097152)),
    files={"a.cfg": "-op read\n-reqsize\n# here:\n 4x\n"})
row("bad value after CRLF lines", SETUP, 2, "a.cfg:2", m.line("-numreqs x"),
    files={"a.cfg": "-op read\r\n-numreqs x\r\n"})
row("bad value after a continued line", SETUP, 2, "a.cfg:3", m.line("-numreqs x"),
    files={"a.cfg": "-op \\\nread\n-numreqs x\n"})
row("bad value in a nested setup file", SETUP, 2, "b.cfg:2", m.line("-numreqs 0"),
    files={"a.cfg": "-op read\n-setup b.cfg\n", "b.cfg": "\n-numreqs 0\n"})
row("bad value after a nested setup file", SETUP, 2, "a.cfg:2", m.line("-numreqs 0"),
    files={"a.cfg": "-setup b.cfg\n-numreqs 0\n", "b.cfg": "\n\n-op read\n\n"})
row("bad value on the command line after a setup file", SETUP + " -numreqs 0", 2, 9, m.line("-numreqs 0"),
    files={"a.cfg": "-op read\n"})
row("bad scope in a setup file", SETUP, 2, "a.cfg:2", m.line("-op target 4", m.no_such_target()),
    files={"a.cfg": "\n-op target 4 read\n"})
row("refused option in a setup file", SETUP, 3, "a.cfg:1", m.line("-multipath"), files={"a.cfg": "-multipath\n"})
row("target in a setup file without its name", READ + " -setup a.cfg", 2, "a.cfg:1",
    m.line("-targets 2", m.names_wanted(2, 1)),
    files={"a.cfg": "-targets 2 data"})
row("setup file larger than any", SETUP, 2, 7, m.SETUP_TOO_LARGE, files={"a.cfg": "#" * ((16 << 20) + 1)})

# Targets that cannot be opened

for op in ("-op read", "-rwratio 50", "-op noop", "-op discard"):
    row("missing target: " + op, op + " -targets 1 nosuch -numreqs 1", 4, None,
        m.line("target 0, nosuch", m.NO_FILE))
row("missing target and no amount", "-op read -targets 1 nosuch", 4, None, m.line("target 0, nosuch", m.NO_FILE))
row("missing target, the last of three", "-op write -op target 2 read -targets 3 new1 new2 nosuch -numreqs 1", 4,
    None, m.line("target 2, nosuch", m.NO_FILE))
row("missing target in a directory of targets", READ + " -targetdir dir", 4, None,
    m.line("target 0, dir/data", m.NO_FILE))
row("missing directory of targets", "-op write -targets 1 new -numreqs 1 -targetdir nodir", 4, None,
    m.line("target 0, nodir/new", ".*" + m.DIRECTORY_MISSING))
row("missing directory of a target to write", "-op write -targets 1 nodir/new -numreqs 1", 4, None,
    m.line("target 0, nodir/new", ".*" + m.DIRECTORY_MISSING))
row("missing directory, one target of two", "-op write -targets 2 new nodir/new -numreqs 1", 4, None,
    m.line("target 1, nodir/new"))
for op in ("read", "write", "noop", "discard"):
    row("directory as a target: " + op, "-op %s -targets 1 dir -numreqs 1" % op, 4, None,
        m.line("target 0, dir", "is a directory; " + m.NOT_A_FILE))
    row("pipe as a target: " + op, "-op %s -targets 1 fifo -numreqs 1" % op, 4, None,
        m.line("target 0, fifo", "is a pipe or a socket; " + m.NOT_A_FILE))
row("file as a directory", "-op write -targets 1 data/x -numreqs 1", 4, None, m.line("target 0, data/x",
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
    row("-%s in a missing directory" % option, READ + " -%s nodir/x" % option, 2, None,
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
permission("new file in a read-only directory", "-op write -targets 1 locked/new -numreqs 1", 4, None,
    m.line("target 0, locked/new", m.NO_CREATING))
permission("file in a closed directory", "-op read -targets 1 closed/x -numreqs 1", 4, None,
    m.line("target 0, closed/x", m.NO_PERMISSION))
permission("unreadable setup file", READ + " -setup wo", 2, 7, m.line("-setup wo", m.unreadable(m.NO_PERMISSION)))
permission("unreadable load file", READ + " -seek load wo", 2, None, m.line("-seek load wo", m.NO_PERMISSION))
permission("save into a read-only directory", READ + " -numreqs 1 -reqsize 1 -seek save locked/s", 2, None,
    m.line("-seek save locked/s: locked/s.T0.txt", m.cannot_create_in("locked")))
for option in ("output", "csvout", "combinedout", "errout", "jsonout"):
    permission("-%s to a read-only file" % option, READ + " -%s ro" % option, 2, None,
        m.line("-%s ro" % option, m.NO_PERMISSION))
    permission("-%s in a read-only directory" % option, READ + " -%s locked/x" % option, 2, None,
        m.line("-%s locked/x" % option, m.cannot_create_in("locked")))


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
    # Data in the page cache of the device is visible in the file only after it is written back.
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


check_rows()
check_permissions()
check_full_disk()
check_block_device()
check_standard_output()
t.done()
