# SPDX-License-Identifier: GPL-2.0-or-later
"""
The examples of the documents, run as they are written.

The convention of the documents:

* A block is fenced (Markdown, with "sh", "console" or no language), indented by four blanks (README), or between .EX
  and .EE (manual page).
* In a block of "console", a line "$ command" is followed by what it prints on a terminal of 80 columns; "..." stands for
  any lines. The output must have that shape: the same words, rows and columns, with any numbers.
  Two blanks end a command.
* Any other block with a line that begins with "xdd " is a script. It has to end with status 0.
* In the last column of a table of Markdown, each `xdd ...` with options is a command that has to end with status 0.
* A block whose first line is "# NAME.xdd", "# NAME.fio" or "; NAME.fio" is a file that later examples use.
* "example: WORDS" in a comment before a block changes what is done with it: "status N" is its exit status, "on a device
  with ext4" makes that file system on the devices first, and "not run (REASON)" leaves it out.

Examples of a document run in their order in one directory. Names of devices stand for loop devices, or files where there
are none, and absolute names for files in the directory. (Outputs are not compared then.) Amounts and times are made smaller.
Each command of README and of the tutorial runs. In other documents, a run, a sweep or a curve has -dryrun where the document
shows no output of it and no later example uses a file that it writes. The two sides of a copy between hosts run side by
side; a side without a partner has -dryrun.

As a program, with XDD set, "xddexamples.py DOCUMENT" runs the blocks of "console" of a Markdown document with the amounts
that they have, on devices full of data, and replaces the outputs that are shown with those of this machine. "..." in them
has to be put back by hand.
"""
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import xddnet as net
import xddports
import xddsys as s
import xddterm
import xddtest as t

MIB = 1 << 20
DEVICE_SIZE = 512 * MIB
# Files that examples read.
FILES = "a b s1 s2 s3 data disk.img /data/file /data/foo1 /tmp/file /mnt/a/file /mnt/b/file".split()
DATA = os.urandom(MIB)
# True if the outputs are for a document: nothing is made smaller.
full_size = False

# Names of devices, and absolute names of files: what comes before the last "/", and that.
NAMES = re.compile(r"(?P<device>/dev/(?:sd[a-zXY]|nvme\d+n\d+|loop\d+|disk/by-id/[\w-]+)\b)|"
                   r"(?<![\w./])(?P<directory>/(?:data|raid|mnt|srv|tmp|scratch)/(?:[\w.-]+/)*)")
COMMANDS = ("compare", "fio", "report", "tsread")
# A run, a sweep or a curve; and what such a command writes for others.
DRY = re.compile(r"xdd (?:(?:sweep|curve) |-(?!help|version|fullhelp|ioengine list)\w)")
WRITTEN = re.compile(r"(?:-(?:jsonout|csvout|output|o|errout|combinedout|restart file)|save|dump|output) ([\w./%-]+)")
ADDRESS = re.compile(r"\b192\.168\.(\d+\.\d+)\b")
# Amounts and times that are made smaller: pattern, and the greatest number that stays.
SMALLER = [(re.compile(pattern), most) for pattern, most in (
    (r"(-mbytes )(\d+)\b(?!%)", 8), (r"(-gbytes )(\d+)\b(?!%)", 0.008), (r"(-bytes )(\d+)(?=[GT]i?B?\b)", 0.008),
    (r"(-bytes )(\d+)(?=Mi?B?\b)", 8),
    (r"(-(?:timelimit|runtime|seconds|each) )(\d+)(?=s?\b(?![%.])(?!.* -heartbeat ))", 0.05), (r"(-passes )(\d+)\b", 5),
    # A beat sees no operation where the machine stood still for so long.
    (r"(-(?:timelimit|runtime) )(\d+)(?=s?\b.* -heartbeat )", 2),
    (r"(-(?:timelimit|runtime) )(\d+)(?=min\b)", 0.005), (r"(-numreqs )(\d+)\b", 2000), (r"(-(?:intervals|warmup) )(\d+)(?=s?\b)", 0.02),
    (r"(-heartbeat )(\d+)(?=s?\b)", 0.5), (r"(-hogmemory )(\d+)(?=%)", 1), (r"(seek range |random range )(\d{6,})\b", 400000),
    (r"(-startoffset |-seek range |random range )(\d+)(?=[GT]i?B?\b)", 0.1), (r"(\+ )(20)(?=\)\))", 4))]
# An example needs what the machine of the test may lack.
LACKING = re.compile(r"NUMA|node\d? |huge page|nr_hugepages|is not (built|available)|does not support -dio|this process may use: |"
                     r"io_uring.*not|no such processor|-roundrobin|built without")


# Stands for timeout(1): SIGINT comes in the middle of the run, however long it takes to begin.
TIMEOUT = """#!/usr/bin/env python3
import os
import signal
import socket
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory(dir="/tmp") as directory, socket.socket(socket.AF_UNIX) as s:
    s.bind(directory + "/s")
    s.settimeout(%d)
    s.listen()
    env = dict(os.environ, XDD_TEST_HOLD="operation:1000@%%s/s" %% directory)
    with subprocess.Popen(sys.argv[sys.argv.index("xdd"):], env=env) as p:
        held = s.accept()[0]
        with held.makefile() as f:
            f.readline()
        p.send_signal(signal.SIGINT)
        held.close()
sys.exit(p.returncode)
""" % (t.TIMEOUT / 2)


class Example:
    """
    A block: its line in the document, and a file or its commands with their outputs (None: not shown). `raw` are the
    lines of each command in a block of "console".
    """

    def __init__(self, line, language, lines, directive):
        self.line, self.directive, self.commands, self.raw, self.file = line, directive, [], [], None
        self.text = "\n".join(lines)
        first = re.match(r"[#;] ([\w.-]+\.(?:xdd|fio))$", lines[0]) if lines else None
        if first:
            self.file = first.group(1)
        elif language == "console" or any(re.match(r"\$ ", one) for one in lines):
            self._console(lines)
        elif language in ("", "sh") and any(one.strip().startswith("xdd ") for one in lines):
            self._script(lines)

    def _script(self, lines):
        """One command for each line of xdd; the whole block, where other lines belong to it."""
        joined = re.sub(r" *\\\n *", " ", "\n".join(lines)).splitlines()
        joined = [one for one in joined if one.strip() and not one.startswith("#")]
        if all(one.startswith("xdd ") for one in joined):
            self.commands = [(without_remark(one), None) for one in joined]
        else:
            self.commands = [("\n".join(joined), None)]

    def _console(self, lines):
        for one in lines:
            if self.commands and self.commands[-1][0].endswith("\\"):
                self.commands[-1] = (self.commands[-1][0][:-1] + one.lstrip("> "), [])
                self.raw[-1].append(one)
            elif one.startswith("$ "):
                self.commands.append((without_remark(one[2:]), []))
                self.raw.append([one])
            elif self.commands:
                self.commands[-1][1].append(one)


def said_by(run):
    return "\n".join(run.lines) if isinstance(run, xddterm.Screen) else run.err + run.out


def without_remark(command):
    """A command without the words that explain it, two blanks or more after it."""
    return re.sub(r" {2,}[a-z].*", "", command)


# Reading a document


def examples_of(name):
    """The examples of a document, which has to be in the source tree."""
    with open(os.path.join(os.environ["TOP_SRCDIR"], name), encoding="utf-8") as f:
        lines = f.read().splitlines()
    return [e for e in (Example(*block) for block in reader_of(name)(lines)) if e.commands or e.file]


def reader_of(name):
    return {".md": fenced, ".1": manual, ".5": manual, ".7": manual}.get(os.path.splitext(name)[1], indented)


def fenced(lines):
    inside, directive, language, begin = False, "", "", 0
    for number, line in enumerate(lines, 1):
        if line.strip().startswith("```"):
            if inside:
                yield begin, language, [one for one in lines[begin:number - 1]], directive
                directive = ""
            begin, language, inside = number, line.strip().strip("`"), not inside
        elif not inside and line.strip():
            found = re.match(r"<!-- example: (.*) -->$", line)
            directive = found.group(1) if found else ""
            if line.startswith("| "):
                yield number, "sh", re.findall(r"`(xdd (?:[^`]* )?-[^`]+)`", line.rsplit(" | ", 1)[-1]), ""


def indented(lines):
    block = []
    for number, line in enumerate([*lines, ""], 1):
        if line.startswith("    ") or (block and not line and number < len(lines) and lines[number].startswith("    ")):
            block.append(line[4:])
        elif block:
            yield number - len(block) - 1, "", block, ""
            block = []


def manual(lines):
    block, begin, directive = None, 0, ""
    for number, line in enumerate(lines, 1):
        if line == ".EX":
            block, begin = [], number
        elif line == ".EE":
            yield begin, "sh", block, directive
            block, directive = None, ""
        elif block is not None:
            block.append(re.sub(r"\\f.", "", line).replace("\\-", "-").replace("\\e", "\\").replace("\\&", ""))
        elif line.startswith('.\\" example: '):
            directive = line[len('.\\" example: '):]


# Running one


class Document:
    """
    A document and the directory that its examples run in. `existing` are files that hold data, `before` has scripts for
    examples that need more, by a pattern of their text.
    """

    def __init__(self, name, existing=FILES, before=(), run=False):
        self.run = run
        self.name, self.before, self.devices, self.waiting, self.time_server = name, before, {}, None, None
        self.ports = {}  # documented port: port to use
        self.stand_ins = False  # a file stands for a device: outputs look otherwise
        self.where = t.path(os.path.basename(name) + ".d")
        self.network = "127.%d" % random.randint(1, 250)
        os.makedirs(os.path.join(self.where, "bin"))
        os.symlink(os.path.abspath(t.XDD), os.path.join(self.where, "bin", "xdd"))
        self._script("bin/ssh", "#!/bin/sh\nshift\nexec \"$@\"\n")
        self._script("bin/timeout", TIMEOUT)
        with open(os.path.join(os.environ["TOP_SRCDIR"], name), encoding="utf-8") as f:
            text = f.read()
        for file in [file for file in existing if re.search(r"(?<!\w)%s\b" % re.escape(file), text + str(before))]:
            self._data(self._here(file) if file.startswith("/") else os.path.join(self.where, file), 16 * MIB)

    def _script(self, name, text):
        with open(os.path.join(self.where, name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(os.path.join(self.where, name), 0o755)

    def _data(self, file, size):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as f:
            for _ in range(size // len(DATA)):
                f.write(DATA)

    def _here(self, file):
        return os.path.join(self.where, "root", file.lstrip("/"))

    def _named(self, match):
        """The name of this machine for one of the document."""
        name = match["device"]
        if not name:
            os.makedirs(self._here(match["directory"]), exist_ok=True)
            return os.path.join(self._here(match["directory"]), "")
        if name not in self.devices:
            file = os.path.join(self.where, name.replace("/", "_"))
            self._data(file, DEVICE_SIZE if full_size else 16 * MIB)
            os.truncate(file, DEVICE_SIZE)
            device = s.loop_device(file, *(["--direct-io=on"] if full_size else []))
            self.stand_ins = self.stand_ins or not device
            self.devices[name] = device or file
        return self.devices[name]

    def _time_server(self, _):
        """A time server of this machine, which ends with the test."""
        if not self.time_server:
            server = net.Started([t.XDD, "timeserver", "-foreground", "-port", 0])
            t.until(lambda: "listening" in server.text(), server.process)
            self.time_server = "127.0.0.1 port " + re.search(r"listening on port (\d+)", server.text())[1]
        return self.time_server

    def _port(self, match):
        """The first of four free ports: the kernel gives 40010 to others, too."""
        if match[0] not in self.ports:
            self.ports[match[0]] = xddports.free_ports(4)
        return str(self.ports[match[0]])

    def words_here(self, command):
        """The command with names and amounts of this machine."""
        command = NAMES.sub(self._named, command)
        command = ADDRESS.sub(lambda m: self.network + "." + m.group(1), command)
        command = re.sub(r"\bhostb\b", self.network + ".9.9", command)
        command = re.sub(r"(?<=-timeserver host )clock\b", self._time_server, command)
        command = re.sub(r"(?<=-port )2001\b|(?<=:)40010\b", self._port, command)
        for pattern, most in () if full_size else SMALLER:
            command = pattern.sub(lambda m, most=most: m.group(1) + ("%g" % min(float(m.group(2)), most)), command)
        checks = re.match(r"xdd (?:check )?([^-\s]\S*)(?: [^-\s]\S*)*$", command)
        if checks and checks[1] not in COMMANDS and not full_size:
            command += " -seconds 0.4"
        return command

    def there(self, text):
        """Output with the names that the document has."""
        for name, device in self.devices.items():
            for here, there in ((device, name), (os.path.basename(device), os.path.basename(name))):
                text = re.sub(re.escape(here) + r"(?!\d)", there, text)
        for port, here in self.ports.items():
            text = text.replace(":%d " % here, ":%s " % port)
        text = text.replace(os.path.join(self.where, "_dev_"), "/images/")
        return text.replace(os.path.join(self.where, "root", ""), "/")

    def _env(self):
        return {"PATH": os.path.join(self.where, "bin") + ":" + os.environ["PATH"],
                "ASAN_OPTIONS": t.sanitizer_options("ASAN_OPTIONS", "detect_leaks=0")}

    def shell(self, command):
        # A run that is attached to its standard input goes on while that is open.
        reading, writing = os.pipe()
        try:
            return t.command(["sh", "-ec", command], cwd=self.where, env=self._env(),
                             stdin=reading if "-attached input" in command else subprocess.DEVNULL)
        finally:
            os.close(reading)
            os.close(writing)

    def store(self, example):
        """Write the file that an example is."""
        self._script(example.file, self.words_here(example.text) + "\n")

    def prepared(self, example):
        """Make the file system that an example has on its devices. False if that cannot be done here."""
        found = re.search(r"on a device with (\w+)", example.directive)
        if not found:
            return True
        self.words_here(example.text)
        devices = [self.devices[name["device"]] for name in NAMES.finditer(example.text) if name["device"]]
        mkfs = "mkfs." + found[1]
        return t.have(mkfs) and all(one.startswith("/dev/") and t.command([mkfs, "-q", "-F", one]).status == 0 for one in devices)

    def printed(self, command, shown):
        """The lines that a command prints on a terminal; none where the document shows none."""
        if self._copy("copy", command, []):
            return shown
        screen = xddterm.on_terminal(["sh", "-ec", self.words_here(command)], cwd=self.where, env=self._env())
        print("%s\n%s" % (command, screen), file=sys.stderr)
        blank = [""] if shown and not shown[-1] else []
        return [self.there(line) for line in screen.lines] + blank if shown else []

    def check(self):
        """One result for each example, and for each output that is shown."""
        examples = examples_of(self.name)
        for n, example in enumerate(examples):
            title = "%s:%d" % (self.name, example.line)
            if example.file:
                self.store(example)
            elif example.directive.startswith("not run"):
                t.skip(title, example.directive)
            elif not self.prepared(example):
                t.skip(title, "%s: %s" % (example.directive, s.sys_why() or "no loop device, or no mkfs"))
            else:
                for pattern, script in self.before:
                    if re.search(pattern, example.text):
                        run = self.shell(self.words_here(script))
                        t.ok(run.status == 0, "%s: prepared" % title, run)
                later = [*example.commands, *(one for e in examples[n + 1:] for one in e.commands or [(e.text, None)])]
                for i, (command, shown) in enumerate(example.commands, 1):
                    self._one(title, example, command, shown, [text for text, _ in later[i:]])
        return len(examples)

    def _has_dryrun(self, command, shown, later):
        """Is this a run without an output that is shown and without a file that a later command uses?"""
        if self.run or shown or not DRY.match(command) or re.search(r"[\n;|&<>`]|\$\(", command):
            return False
        files = WRITTEN.findall(command)
        if re.search(r"-op write|-rwratio", command):
            files += [word for words in re.findall(r"-targets?(?: -\d+)?((?: [^-\s]\S*)+)", command) for word in words.split()]
        return not any(re.search(r"(?<![\w./])%s" % re.escape(file.split("%")[0]), text) for file in files for text in later)

    def _one(self, title, example, command, shown, later):
        if self._copy(title, command, later, shown):
            return
        program = command.split()[0]
        missing = [name for name in [program, *re.findall(r" \| (\w+)", command)] if name not in ("xdd", "for", "while") and
                   name[0] not in "(#" and "=" not in name and not t.have(name)]
        if missing:
            t.skip(title, "%s is not installed" % missing[0])
            return
        given = re.search(r"status (\d+)", example.directive)
        # A comparison says by its status what the runs of the test were like.
        expected = (int(given[1]),) if given else (0, 1, 3, 4) if command.startswith("xdd compare") else (0,)
        here = self.words_here(command) + (" -dryrun" if self._has_dryrun(command, shown, later) else "")
        run = self._run(here, shown)
        said = said_by(run)
        if run.status not in expected and LACKING.search(said):
            t.skip(title, said.splitlines()[0])
            return
        runs = t.ok(run.status in expected, "%s: %s: status %s" % (title, command.splitlines()[0], " or ".join(map(str, expected))),
                    "%s\n%s" % (here, run))
        if runs:
            self._compare(title, command, shown, run)
        else:
            self._end_started()

    def _end_started(self):
        """End what the lines of an example would have ended that did not run."""
        of_examples = ("PATH=%s:" % os.path.join(self.where, "bin")).encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open("/proc/%s/environ" % pid, "rb") as f:
                    ours = of_examples in f.read()
                if ours and not (self.waiting and int(pid) == self.waiting.pid):
                    os.kill(int(pid), signal.SIGKILL)

    def _run(self, here, shown):
        """Run a command, on a terminal if the document shows its output."""
        if shown and t.have_terminals():
            return xddterm.on_terminal(["sh", "-ec", here], cwd=self.where, env=self._env())
        return self.shell(here)

    def _compare(self, title, command, shown, run):
        if self.stand_ins and shown:
            t.skip("%s: its output" % title, "no loop devices: " + s.sys_why())
        elif shown and isinstance(run, xddterm.Screen):
            why = different(shown, self.there(said_by(run)).splitlines())
            t.ok(not why, "%s: %s: its output has the documented shape" % (title, command), "%s\n%s" % (why, run))

    # Copies between hosts

    def _copy(self, title, command, later, shown=None):
        """Run a side of a copy; a document may show the output of the source. True if the command was one."""
        sides = [line for line in command.splitlines() if re.search(r"-(e2e|endtoend) is", line)]
        if not sides:
            return False
        rest = "\n".join(line for line in command.splitlines() if line not in sides)
        if rest:
            self.shell(self.words_here(rest))
        following = next((line for c in later for line in c.splitlines() if " is" in line and
                          re.search(r"-(e2e|endtoend) is", line)), "")
        for i, side in enumerate(sides):
            partner = (sides[i + 1:] or [following])[0]
            if "isdest" in side and "issource" in partner:
                self.waiting = subprocess.Popen(["sh", "-ec", self.words_here(side)], cwd=self.where, start_new_session=True,
                                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                                env=dict(os.environ, **self._env()))
            elif "issource" in side and self.waiting:
                self._source(title, side, shown)
            else:
                run = self.shell(self.words_here(side) + " -dryrun")
                t.ok(run.status == 0, "%s: %s: is accepted" % (title, side), run)
        return True

    def _source(self, title, side, shown):
        run = self._run(self.words_here(side), shown)
        try:
            err = self.waiting.communicate(timeout=t.TIMEOUT)[1].decode()
        finally:
            self.waiting.kill()
        t.equal((self.waiting.returncode, run.status), (0, 0), "%s: %s: both sides end well" % (title, side),
                "%s\ndestination: %s" % (run, err))
        self.waiting = None
        self._compare(title, side, shown, run)


# The shape of an output

UNITS = r"(?:[kMGT]?B/s|[kMG]?/s|Ki?B|Mi?B|Gi?B|Ti?B|kB|[num]s|s|min|h|k|M|G|bytes|B)"
NUMBER = re.compile(r"[-+]?(?<![A-Za-z_.])\d[\d.,:]*(?:e[-+]?\d+)?(?: ?%s\b|(?= ?/s))?(?:/s\b)?" % UNITS)
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+")
DAY = re.compile(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)( [A-Z][a-z][a-z])\b")


# Lines that say how the run went on this machine: a document shows one case of them. Settings of a loop device, such as
# max_sectors_kb, stay when it is detached, so two devices that look alike may differ.
LABELS = re.compile(r"[a-z][a-z ]*: |- |\S+: |\d+ targets: ")
BY_CHANCE = re.compile(
    r"(limited|limited by|certainty|not reproducible|disturbed|rate not reached|next): |- |\((sequential|random) .*: too short to be exact\)$|(What|Nothing) looks wrong|"
    r"xdd: warning: |Target \d+, not reproducible|  [ab]\d*, all targets, is not reproducible|No difference between|"
    r"  targets \d+ device (?!name |backing file )|  (all targets  )?p99|The results differ|Several runs of each|(a|b)\d* has |The runs cannot")
# Sentences that may be folded.
SENTENCES = re.compile(r"  [ab]\d*, all targets, is not|The results differ|Several runs of each|[ab]\d* has ")
# Parts that differ from machine to machine: the line about a device, the advice for it, the answers of compare, how far
# a target was at a beat, digests, and empty columns of a histogram.
MACHINE = [(re.compile(pattern), to) for pattern, to in (
    (r"^(\S+: (?:block device|file), ).*", r"\1"), (r" -ioengine \w+", ""), (r"\b(real|may be chance|unsteady|unknown)$", "VERDICT"),
    (r"([-+][\d.]+ to [-+][\d.]+ %|[\d.e+-]+ to [\d.e+-]+ times|too few passes)(?= +VERDICT$)", "INTERVAL"),
    (r"\b[\d.e+-]+ times(?= +INTERVAL)", "+0 %"),
    (r" \+ \[.\]", " + STATE"), (r"\bdigest [0-9a-f]+", "digest"), (r"(?<= )(___|---)(?= |$)", "0"),
    # A percentile of too few operations, and another machine has enough.
    (r"(?<=[ ,])-(?=[ ,]|$)", "0"))]


def logical(lines):
    """Lines as they were before they were wrapped."""
    found = []
    for line in lines:
        if found and found[-1].endswith("\\"):
            found[-1] = found[-1][:-1] + line.strip()
        elif found and re.match(r"  \S", line) and (LABELS.match(found[-1]) or SENTENCES.match(found[-1])):
            found[-1] += line[1:]
        else:
            found.append(line)
    return found


def shape(lines):
    """Lines with any number as N, without repeated ones, those by chance, and blanks that only align."""
    found = []
    for line in logical(lines):
        if BY_CHANCE.match(line):
            continue
        for pattern, to in MACHINE:
            line = pattern.sub(to, line)
        line = NUMBER.sub("N", DAY.sub("DAY", TIME.sub("TIME", line)))
        line = re.sub(r"[-=_.#*]{4,}", "----", line)
        line = " ".join(line.split())
        if line and (not found or found[-1] != line):
            found.append(line)
    return found


def different(documented, printed):
    """The first line that the two shapes do not share; "" if they are the same."""
    expected, got = shape(documented), shape(printed)
    at, anything = 0, False
    for line in expected:
        if line == "...":
            anything = True
            continue
        while anything and at < len(got) and got[at] != line:
            at += 1
        if at >= len(got) or got[at] != line:
            return "documented: %s\nprinted:    %s" % (line, got[at] if at < len(got) else "(the end)")
        at, anything = at + 1, False
    return "" if anything or at == len(got) else "printed, but not documented: %s" % got[at]


# As a program


def refresh(name):
    """Replace the outputs of a document, Markdown or README, by those that its commands have here."""
    with open(name, encoding="utf-8") as f:
        lines = f.read().splitlines()
    document, blocks = Document(name), []
    for begin, language, block, directive in reader_of(name)(lines):
        example = Example(begin, language, block, directive)
        if example.file:
            document.store(example)
        elif not directive.startswith("not run"):
            document.prepared(example)
            outputs = [document.printed(command, shown) for command, shown in example.commands]
            if example.raw:
                blocks.append((begin, len(block), [line for raw, output in zip(example.raw, outputs) for line in raw + output]))
    indent = "" if reader_of(name) is fenced else "    "
    for begin, length, block in reversed(blocks):
        lines[begin:begin + length] = [(indent + line).rstrip() for line in block]
    with open(name, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    full_size = True
    refresh(sys.argv[1])
