#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Faults by count: in one run after another call k fails, of the requests for memory, of the system calls and of the messages,
until a run no longer reaches it. Whatever fails, no process ends by a signal, hangs or stays, the status is one that the
manual lists, it comes with a message unless it is 0, it is 0 only if all results are right, and no temporary file is left.

XDD_TEST_LONG lets each call fail; otherwise XDD_TEST_SEED draws XDD_TEST_CALLS (1) of each class and kind of run.
XDD_TEST_KINDS names kinds of runs, XDD_TEST_CLASSES classes, and XDD_TEST_AT one k.
"""
import contextlib
import filecmp
import json
import os
import random
import re
import shutil
import signal
import time

import xddattributes
import xddcount
import xddports
import xddssh
import xddtest as t

LONG = bool(os.environ.get("XDD_TEST_LONG"))
SEED = int(os.environ.get("XDD_TEST_SEED", "1"))
CALLS = int(os.environ.get("XDD_TEST_CALLS", "1"))
AT = int(os.environ.get("XDD_TEST_AT", "0"))
# A run takes milliseconds, and one whose other side is silent up to 10 s. Past this it hangs.
BOUND_S = 60
# So many calls from one place in a row, such as those of a loop that reads a file, are enough: then each STRIDE-th fails.
ALIKE, STRIDE = 64, 16

OF_A_RUN = {0, 1, 2, 3, 4, 5, 6, 7}
OF_A_COPY = {0, 1, 5, 6, 7, 101, 102, 103, 105, 106, 108, 109, 111, 112, 114, 115, 118, 119, 120}


class Kind:
    """
    A kind of run. `words`: its command. `given`: the files that it finds, by name: bytes, text, or None for a directory.
    `leaves`: patterns of the names that it may leave in its directory. Of a run with status 0: `same` are files that are
    equal to those of a run without faults, `lines` those with as many lines, `documents` JSON with its status; `out` is what
    standard output has, and `exact` says that it is that of the run without faults. `statuses` may come with faults, and then
    a message, or what standard output has of `fault`. `template` is a directory that is copied before each run; `interrupted`
    says how it is made, see there. `trees`: the second one is equal to the first one, with all attributes.
    """

    def __init__(self, name, *words, given=None, leaves=(), same=(), lines=(), documents=(), out="", exact=False,
                 fault="(?!)", statuses=frozenset(OF_A_RUN), template=None, interrupted=None, trees=()):
        self.name, self.words, self.given, self.out = name, [str(word) for word in words], given or {}, out
        self.leaves = [re.compile(p) for p in (*map(re.escape, (*self.given, *same, *lines, *documents)), *leaves)]
        self.same, self.lines, self.documents, self.exact = same, lines, documents, exact
        self.fault, self.statuses, self.template, self.trees = fault, statuses, template, trees
        self.interrupted = interrupted

    def prepare(self, directory):
        if self.template:
            shutil.copytree(self.template, directory, symlinks=True, dirs_exist_ok=True)
        for name, content in self.given.items():
            path = os.path.join(directory, name)
            if content is None:
                os.mkdir(path)
                continue
            with open(path, "wb") as f:
                f.write(content if isinstance(content, bytes) else content.encode())
            os.chmod(path, 0o600)

    def start(self, name, words, place):
        return xddcount.Started(name, words, place.directory, place.counter.env, place.logs)

    def run(self, place):
        """The runs of all commands."""
        return [self.start("xdd", [t.XDD, *self.words], place).finish(place.end)]

    def wrong(self, place, runs):
        """Faults of a run that ended as one without faults does, as texts."""
        found = ["%s differs" % name for name in self.same if not equal_files(place.path(name), place.usual(name))]
        found += ["%s has other lines" % name for name in self.lines if number_of_lines(place.path(name)) !=
                  number_of_lines(place.usual(name))]
        found += ["there is no " + name for name in self.documents if not os.path.exists(place.path(name))]
        if self.trees:
            found += ["%s differ" % kind for kind in sorted(xddattributes.wrong_kinds(*map(place.path, self.trees)))]
        if self.out and not re.search(self.out, runs[0].out, re.S | re.M):
            found.append("standard output lacks " + self.out)
        if self.exact and runs[0].out != place.usual_runs[0].out:
            found.append("standard output differs")
        return found


def equal_files(a, b):
    return os.path.exists(a) and filecmp.cmp(a, b, shallow=False)


def number_of_lines(path):
    if not os.path.exists(path):
        return None
    with open(path, "rb") as f:
        return f.read().count(b"\n")


class Place:
    """The directory of a run, and that of the run without faults."""

    def __init__(self, counter):
        self.counter, self.end = counter, 0
        self.top = t.path("faults")
        self.directory, self.logs, self.kept = [os.path.join(self.top, name) for name in ("run", "logs", "usual")]
        self.usual_runs = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def usual(self, name):
        return os.path.join(self.kept, name)

    def make(self, kind):
        for directory in (self.directory, self.logs):
            shutil.rmtree(directory, ignore_errors=True)
            os.makedirs(directory)
        kind.prepare(self.directory)
        self.end = time.monotonic() + BOUND_S

    def keep(self, runs):
        """These runs were without faults."""
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(self.directory, self.kept, symlinks=True)
        self.usual_runs = runs

    def files(self):
        return [os.path.relpath(os.path.join(top, name), self.directory) for top, dirs, names in os.walk(self.directory)
                for name in (*dirs, *names)]


# Files of the runs

PAGE = 4096
BLOCK = bytes(range(256)) * 16
DATA = b"".join(i.to_bytes(8, "little") * 512 for i in range(16))
SMALL = ("-reqsize", "4k", "-numreqs", "8")
NOOP = ("-op", "noop", "-target", "null", "-numreqs", "10")


class EndToEnd(Kind):
    """
    Both sides of an end-to-end copy. The source starts once the destination listens. A side waits 3 s for the
    other.
    """

    def __init__(self, name, both=(), destination=(), **kwargs):
        super().__init__(name, given=dict({"data": DATA}, **kwargs.pop("given", {})), same=("copy",), **kwargs)
        self.both, self.destination = both, destination

    def run(self, place):
        both = ("-reqsize", "4k", "-e2e", "timeout", "3", "-e2e", "destination",
                "127.0.0.1:%d,2" % xddports.free_ports(2), *self.both)
        words = [t.XDD, "-op", "write", "-target", "copy", "-e2e", "isdestination", *both, *self.destination]
        there = self.start("destination", words, place)
        listens = there.await_text("err", "waits for ", place.end) or there.process.poll() is None
        runs = []
        if listens:
            here = self.start("source", [t.XDD, "-op", "read", "-target", "data", "-e2e", "issource", *both], place)
            runs.append(here.finish(place.end))
        runs.append(there.finish(place.end))
        return runs


class TimeServer(Kind):
    """A time server, and a client that asks it."""

    def run(self, place):
        foreground = ["-foreground"] if "-foreground" in self.words else []
        server = self.start("timeserver", [t.XDD, "timeserver", "-port", "0", *foreground], place)
        pid = None
        if server.await_text("out", "process", place.end) or server.process.poll() is None:
            found = re.search(r"port (\d+), process (\d+)\n", server.text("out"))
            runs = []
            if found:
                pid = int(found[2])
                words = [t.XDD, "gettime", "-timeserver", "127.0.0.1", "-port", found[1], "-bounce", "2"]
                runs.append(self.start("gettime", words, place).finish(place.end))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid or server.process.pid, signal.SIGTERM)
            return runs + [server.finish(place.end)]
        return [server.finish(place.end)]

    def wrong(self, place, runs):
        now = time.time()
        return [] if len(runs) == 2 and re.fullmatch(r"\d+", runs[0].out) and abs(int(runs[0].out) - now) < BOUND_S else [
            "that is not the time: " + runs[0].out]


def documents():
    """A document of a run, one of a run beside it, a dump of time stamps, and a journal of a sweep."""
    made = {}
    for name, rank in (("a.json", 0), ("b.json", 1)):
        run = t.xdd(*NOOP, "-passes", 3, "-runid", "faults", "-rank", rank, "-ranks", 2, "-jsonout", t.path(name))
        t.equal(run.status, 0, "a document of a run", run)
        made[name] = read(t.path(name))
    run = t.xdd("-op", "write", "-target", t.path("stamped"), *SMALL, "-ts", "dump", t.path("dump"))
    t.equal(run.status, 0, "a dump of time stamps", run)
    made["dump"] = read(t.path("dump.target.0000.bin"))
    return made


def tree_with_attributes():
    """A template: the directory "from", whose files have attributes, and "to". None: not all of them can be had."""
    template = t.path("attributes")
    try:
        xddattributes.make_tree(template + "/from")
    except OSError:
        return None
    os.mkdir(template + "/to")
    return template


def interrupted(place, kind, which, holds):
    """
    A template: the directory of the first run of this kind that a fault in the second half of its calls has ended so that it
    holds what `holds` looks for.
    """
    run_once(kind, place, which, 0)
    for at in range(place.counter.counts[which] // 2, 1000):
        run_once(kind, place, which, at)
        if holds(place) or not place.counter.reached:
            break
    t.ok(holds(place), "%s: an interrupted run" % kind.name, place.counter.failed)
    template = t.path("template.%d" % len(os.listdir(t.tmp())))
    shutil.copytree(place.directory, template, symlinks=True, ignore=shutil.ignore_patterns(*kind.documents))
    return template


def has_rounds(place):
    """A sweep has left a journal of some rounds."""
    return (number_of_lines(place.path("sweep.json.journal")) or 0) > 2


def has_parts(place):
    """A copy has left a part with data that its journal knows."""
    return {name.rpartition(".")[2] for name in place.files()} >= {"part", "journal"}


def read(path):
    with open(path, "rb") as f:
        return f.read()


def kinds():
    made = documents()
    two = {"a.json": made["a.json"], "b.json": made["b.json"]}
    fake = xddssh.Fake(name="faults-ssh")
    few, far = ["-timeout", "2"], ["-S", fake.ssh, "-remotexdd", t.XDD]
    tree = {"from": None, "from/a": DATA, "from/b": b"", "from/d": None, "from/d/c": BLOCK}
    there = {"to": None, "to/a": DATA, "to/b": b"", "to/d": None, "to/d/c": BLOCK}
    copies = {"given": dict(tree, to=None), "same": ("to/from/a", "to/from/b", "to/from/d/c"), "leaves": ("to/from", "to/from/d"),
              "statuses": OF_A_COPY}
    job = "[global]\nbs=4k\nsize=32k\n[a]\nrw=write\nbuffer_pattern=0xab\nfilename=f1\n[b]\nstonewall\nrw=read\nfilename=f1\n"
    outputs = ("-jsonout", "out.json", "-csvout", "out.csv", "-latency", "output", "latency.csv", "-intervals", "0.05",
               "output", "intervals.csv", "-heartbeat", "0.05", "-verbose")
    setup = "[first]\n-op write\n-target f\n-reqsize 4k\n-numreqs 8\n[second]\n-op read\n-target f\n-reqsize 4k\n-numreqs 8\n"
    write = ("-op", "write", "-target", "f", *SMALL, "-datapattern", "hex", "a55a", "replicate")
    reads = ("-op", "read", "-target", "data", *SMALL)
    points = ("sweep", *NOOP, "-queuedepth", "1,2", "-rounds", "2", "-jsonout", "sweep.json")
    parts = ("copy", *few, "-q", "-R", "-blocksize", "64k", "-t", "1", "from", "to")
    key = "0123456789abcdef" * 4 + "\n"
    all_kinds = [
        Kind("null", *NOOP, "-passes", "2", out="terminated normally"),
        Kind("outputs", *NOOP, "-passes", "2", *outputs, lines=("out.csv", "latency.csv"), leaves=("intervals.csv",),
             documents=("out.json",), out="terminated normally"),
        Kind("sections", "-setup", "setup", "-jsonout", "%s.json", given={"setup": setup}, leaves=("f",),
             documents=("first.json", "second.json"), out="terminated normally"),
        Kind("help", "-help", "throttle", exact=True),
        Kind("refusal", "--rw=randread", "--bs=4k", "--filename=nothing", "--iodepth=4"),
        Kind("psync", *write, "-syncwrite", "-preallocate", "32k", same=("f",)),
        Kind("readback", "-op", "write", "-target", "f", *SMALL, "-readback", "-retry", "1", leaves=("f",)),
        Kind("stdio", "-ioengine", "stdio", *write, "-flushwrite", "2", same=("f",)),
        Kind("mmap", "-ioengine", "mmap", *write, "-syncwrite", given={"f": bytes(8 * PAGE)}, same=("f",)),
        Kind("libaio", "-ioengine", "libaio", "-queuedepth", "4", *write, "-readback", same=("f",)),
        Kind("io_uring", "-ioengine", "io_uring", "-queuedepth", "4", *write, "-readback", same=("f",)),
        Kind("order", *write, "-queuedepth", "3", "-ordering", "storage", "serial", "-recreatefiles", "-passes", "2", same=("f",)),
        Kind("seek save", *reads, "-seek", "random", "save", "offsets", given={"data": DATA}, leaves=(r"offsets.*",)),
        Kind("time stamps", *reads, "-ts", "detailed", "output", "ts", "dump", "ts", given={"data": DATA},
             lines=("ts.target.0000.csv",), leaves=(r"ts\..*bin",)),
        Kind("tsread", "tsread", "-json", "-o", "events.json", "dump", given={"dump": made["dump"]}, same=("events.json",)),
        Kind("sweep", "sweep", *NOOP, "-queuedepth", "1,2", "-rounds", "2", "-jsonout", "sweep.json", "-csvout", "sweep.csv",
             lines=("sweep.csv",), documents=("sweep.json",), leaves=("sweep.json.journal",)),
        Kind("sweep resumed", *points, "-resume", documents=("sweep.json",), leaves=("sweep.json.journal",),
             interrupted=(Kind("sweep", *points, documents=("sweep.json",)), "error", has_rounds)),
        Kind("check", "check", "-seconds", "0.1", "data", given={"data": DATA}, out="sequential.*random",
             fault="reads? failed, the first one at offset"),
        Kind("report", "report", "-noplots", "a.json", "-o", "page.html", given=two, same=("page.html",)),
        Kind("compare", "compare", "a.json", "b.json", given=two, exact=True, statuses={2}),
        Kind("combine", "combine", "-jsonout", "all.json", "-csvout", "all.csv", "a.json", "b.json", given=two,
             documents=("all.json",), same=("all.json", "all.csv"), exact=True),
        Kind("combine to standard output", "combine", "-jsonout", "-", "a.json", "b.json", given=two, exact=True),
        Kind("fio", "fio", "job.fio", "-run", given={"job.fio": job}, same=("f1",)),
        Kind("copy", "copy", *few, "-q", "-r", "from", "to", **copies),
        # The journal says what the directory of another name is, to the copy that follows one which was cut short.
        Kind("copy of another name", "copy", *few, "-q", "-r", "from", "to", given=tree, same=("to/a", "to/b", "to/d/c"),
             leaves=("to", "to/d", r"to/\.xddcp-\w+\.journal"), statuses=OF_A_COPY),
        Kind("copy resumed", *parts, same=("to",), leaves=("from", r"\.xddcp-\w+(\.journal|-\d+\.part)"), statuses=OF_A_COPY,
             interrupted=(Kind("copy", *parts, given={"from": 48 * DATA}), "message", has_parts)),
        Kind("copy by ssh", "copy", *few, "-r", *far, "-jsonout", "copy.json", "from", fake.host + ":to",
             documents=("copy.json",), **copies),
        Kind("copy of attributes", "copy", *few, "-q", "-r", "-P", "-t", "2", "-e", *far, fake.host + ":from", "to", **copies),
        Kind("copy that verifies", "copy", *few, "-k", "-r", "from", "to", given=dict(tree, **there), statuses=OF_A_COPY),
        Kind("multi", "multi", "-q", "-hosts", "a,b", "-S", fake.ssh, "-b", t.XDD, "-startin", "0", "-timeout", "5", "-grace", "2",
             "-jsonout", "multi.json", "-out", "kept", "--", *NOOP, documents=("multi.json",),
             leaves=("kept", r"kept/[ab]\.(json|log)"), lines=("kept/a.json", "kept/b.json")),
        EndToEnd("end to end"),
        EndToEnd("end to end encrypted", both=("-e2e", "key", "key", "-e2e", "encrypt"), given={"key": key}),
        EndToEnd("end to end restart", leaves=("restart",),
                 destination=("-restart", "enable", "-restart", "file", "restart", "-restart", "frequency", "10ms")),
        TimeServer("time server", "-foreground"),
        TimeServer("time server daemon"),
    ]
    attributes = tree_with_attributes()
    if attributes:
        all_kinds.append(Kind("copy of all attributes", "copy", *few, "-q", "-r", "-P", "from", "to", template=attributes,
                              trees=("from", "to/from"), leaves=(r"(from|to)(/.*)?",), statuses=OF_A_COPY))
    names = {kind.name for kind in all_kinds}
    only = [name.strip() for name in os.environ.get("XDD_TEST_KINDS", "").split(",") if name.strip()]
    for name in set(only) - names:
        t.ok(False, "XDD_TEST_KINDS: there is no " + name)
    return [kind for kind in all_kinds if not only or kind.name in only]


# Checks of every run


def is_message(line):
    return re.match(r"[\w./-]+: ", line) and not re.match(r"xdd: (warning|note): |DEBUG_", line)


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def document_wrong(path, usual, status):
    """Faults of a document that a run with that status has left; `usual` is one without faults, or None."""
    try:
        document = load(path)
    except ValueError as e:
        return ["%s is no JSON: %s" % (path, e)]
    found = []
    if status is not None and document.get("status", status) != status:
        found.append("%s has status %s" % (path, document["status"]))
    lacks = sorted(shape(load(usual)) - shape(document))[:3] if usual else []
    return found + ["%s lacks %s" % (path, name) for name in lacks]


def shape(value, name=""):
    """
    The names of all members of a document, as paths. Environments and messages depend on the machine, and the parts of
    "bound_shares" and "bottleneck_between" on the time: null where passes took less than 1 ms, or one part was enough.
    """
    if name.endswith((".bound_shares", ".bottleneck_between", ".bound_between")):
        return {name}
    if isinstance(value, dict):
        return {path for key, member in value.items() if key not in ("environment", "messages", "devices", "intervals")
                for path in shape(member, "%s.%s" % (name, key))}
    if isinstance(value, list):
        return {path for member in value for path in shape(member, name + "[]")}
    return {name}


def judge(kind, place, runs, left):
    """Faults of a run, as texts."""
    usual = [run.status for run in runs] == [run.status for run in place.usual_runs]
    found = ["left running: " + words for words in left]
    for run in runs:
        if run.status == "timeout":
            found.append("%s: hangs" % run.args[0])
        elif run.status < 0 or run.status >= 128:
            found.append("%s: ended by signal %d" % (run.args[0], -run.status if run.status < 0 else run.status - 128))
        elif run.status not in kind.statuses and not usual:
            found.append("%s: status %d" % (run.args[0], run.status))
        elif run.status and not usual and place.counter.descriptor != 2 and not (
                any(is_message(line) for line in run.error_lines()) or re.search(kind.fault, run.out)):
            found.append("%s: status %d without a message" % (run.args[0], run.status))
    if not place.counter.site[0].startswith(b"unlink"):
        found += ["left: " + name for name in place.files() if not any(p.fullmatch(name) for p in kind.leaves)]
    if usual:
        found += kind.wrong(place, runs)
    for name in kind.documents:
        if os.path.exists(place.path(name)):
            # Of several documents each has the status of its own run.
            found += document_wrong(place.path(name), place.usual(name) if usual else None,
                                    runs[-1].status if len(kind.documents) == 1 else None)
    return found


def run_once(kind, place, which, at):
    """One run: its commands, and processes that it left."""
    place.counter.arm(which, at)
    place.make(kind)
    begin = time.monotonic()
    runs = kind.run(place)
    left = xddcount.left_running(BOUND_S)
    place.seconds = time.monotonic() - begin
    return runs, left


class Loop:
    """Outcomes of the runs of a kind and class."""

    def __init__(self):
        self.runs, self.wrong, self.statuses, self.slowest = 0, [], {}, (0, 0)

    def try_at(self, kind, place, which, at):
        """Let call `at` fail; returns if a run came so far."""
        runs, left = run_once(kind, place, which, at)
        found = judge(kind, place, runs, left)
        self.runs += 1
        statuses = ",".join(str(run.status) for run in runs)
        self.statuses[statuses] = self.statuses.get(statuses, 0) + 1
        self.slowest = max(self.slowest, (place.seconds, at))
        if found:
            self.wrong.append("%d: %s; %s\n%s" % (at, place.counter.failed, "; ".join(found), "\n".join(
                "%s\n%s" % (" ".join(run.args), run.err) for run in runs)))
        return place.counter.reached


def loop(kind, place, which, count, draw):
    """Runs in which calls fail, of the `count` that a run without faults makes."""
    done = Loop()
    if AT:
        done.try_at(kind, place, which, AT)
    elif LONG:
        at, before, alike = 1, None, 0
        while done.try_at(kind, place, which, at):
            alike = alike + 1 if place.counter.site == before else 0
            before = place.counter.site
            at += STRIDE if alike > ALIKE else 1
    else:
        for at in sorted(draw.sample(range(1, count + 1), min(CALLS, count))):
            done.try_at(kind, place, which, at)
    return done


def test_kind(kind):
    place = Place(xddcount.Counter())
    if kind.interrupted:
        kind.template = interrupted(place, *kind.interrupted)
    runs, left = run_once(kind, place, "memory", 0)
    place.keep(runs)
    found = judge(kind, place, runs, left)
    counts = place.counter.counts
    if not t.equal(found, [], "%s: without faults" % kind.name, "\n".join(map(str, runs))):
        return
    draw = random.Random("%d %s" % (SEED, kind.name))
    for which in os.environ.get("XDD_TEST_CLASSES", " ".join(xddcount.CLASSES)).split():
        begin = time.monotonic()
        done = loop(kind, place, which, counts[which], draw)
        t.ok(not done.wrong, "%s, %s: %d runs, of about %d calls" % (kind.name, which, done.runs, counts[which]),
             "%d of %d\n%s" % (len(done.wrong), done.runs, "\n".join(done.wrong[:int(os.environ.get("XDD_TEST_SHOW", "3"))])))
        t.diag("%.1f s, the slowest %.2f s at %d; statuses: %s" % (time.monotonic() - begin, *done.slowest, done.statuses))


def test_of(kind):
    def test():
        test_kind(kind)
    test.__name__ = kind.name
    return test


if xddcount.library() is None:
    t.skip_all("needs a C compiler")
if os.environ.get("XDD_SANITIZERS", "no") != "no":
    t.skip_all("a sanitizer has its own memory")
t.diag("XDD_TEST_SEED=%d" % SEED)
t.run_together(*map(test_of, kinds()))
t.done()
