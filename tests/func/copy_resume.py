#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Copies that are interrupted and continued with -R: kill -9 of each process at named points, sources that change in between,
new names, other copies in the same directory, and power failures on ext4. The journal is decoded here once more, as
doc/restart-files.md says: the next copy sends what it does not list as durable, and nothing else.

Case n is a function of the seed (XDD_TEST_SEED) and n.
"""
import collections
import json
import os
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile

import xddchange
import xddhold
import xddprocesses
import xddssh
import xddsys as s
import xddtest as t
from xddcrc import crc32c

SEED = int(os.environ.get("XDD_TEST_SEED", "1"))
LONG = bool(os.environ.get("XDD_TEST_LONG"))
LIMIT_S = 120
TEMPORARY = ".xddcp-"
LARGE = 6 << 20
BLOCK = 128 << 10
LARGE_NAME = "largefile"

# The point, up to which number of arrivals, and whether it is the "process" of the user, or an "other" one.
Point = collections.namedtuple("Point", "name most who")
# Parts of files are durable, and each data thread waits after its next block once that many were sent.
PARTS = Point("range durable", 12, "")
POINTS = (Point("signals ready", 1, "process"), Point("signals ready", 1, "other"), Point("journal created", 1, ""),
          Point("bundle sent", 1, ""), Point("block sent", 80, ""), Point("before rename", 30, ""),
          Point("after rename", 30, ""), PARTS)
# Where a thread of the source is held, the others go on, but the copy does not come to its end without this file.
KEEPS = "before rename:30"
SENT = ("bundle sent", "block sent")

Case = collections.namedtuple("Case", "number form victim again point nth")


# ---- journals ----

def read_journal(path, torn=False):
    """Path and durable ranges of each file that is listed, by number; and all records. `torn`: the power failed, so the
    journal ends before the first record that was not written as a whole, and may be empty."""
    with open(path, "rb") as f:
        data = f.read()
    if torn and not data:
        return {}, []
    assert data[:16] == b"xddcp journal 2\n", data[:16]
    at = 16
    files, records = {}, []
    while len(data) - at >= 12:
        crc, kind, zero, size = struct.unpack_from("<IHHI", data, at)
        body = data[at + 12:at + 12 + size]
        if len(body) < size:
            break
        sound = crc == crc32c(data[at + 4:at + 12 + size]) and zero == 0
        if torn and not sound:
            break
        assert sound, "%s: at %d" % (path, at)
        at += 12 + size
        records.append((kind, body))
        number = struct.unpack_from("<Q", body)[0] if kind in (4, 5, 6) else 0
        if kind == 4:
            files[number] = (body[40:-1], set())
        elif kind == 5:
            for begin, end in struct.iter_unpack("<QQ", body[8:]):
                files[number][1].update(range(begin, end, BLOCK))
        elif kind == 6:
            files.pop(number, None)
    return files, records


def journals(directory):
    return [os.path.join(directory, n) for n in os.listdir(directory) if n.startswith(TEMPORARY) and n.endswith(".journal")]


# ---- trees ----


def make_tree(root, large_files=2):
    r = random.Random(SEED)
    for d in range(3):
        os.makedirs(os.path.join(root, "d%d" % d))
        for i in range(12):
            with open(os.path.join(root, "d%d" % d, "f%d" % i), "wb") as f:
                f.write(r.randbytes(r.choice((0, 10, 1000, 70000))))
    for i in range(large_files):
        with open(os.path.join(root, "d%d" % i, LARGE_NAME), "wb") as f:
            f.write(t.noise(LARGE, r.randbytes))


def files_below(root):
    return {os.path.relpath(os.path.join(base, name), root): os.path.join(base, name)
            for base, _, names in os.walk(root) for name in names}


def final_names(root):
    return {k: v for k, v in files_below(root).items() if not os.path.basename(k).startswith(TEMPORARY)}


def temporary_names(root):
    return sorted(set(files_below(root)) - set(final_names(root)))


def wrong_names(source, destination):
    origin = files_below(source)
    return [k for k, v in final_names(destination).items() if k not in origin or xddssh.read(v) != xddssh.read(origin[k])]


def is_complete(source, destination):
    return set(files_below(source)) == set(files_below(destination)) and not wrong_names(source, destination)


def durable_bytes(destination, torn=False):
    """Of each file that a journal lists."""
    listed = {}
    for path in journals(destination) if os.path.isdir(destination) else []:
        try:
            files = read_journal(path, torn)[0]
        except FileNotFoundError:  # the copy has ended meanwhile
            continue
        for name, blocks in files.values():
            listed[os.fsdecode(name)] = len(blocks) * BLOCK
    return listed


def to_send(source, destination, torn=False):
    """Bytes that a copy has to send; and those that the journal says need not be sent."""
    listed = durable_bytes(destination, torn)
    there = final_names(destination)
    missing = {k: os.path.getsize(v) for k, v in files_below(source).items() if k not in there}
    durable = sum(listed.get(k, 0) for k in missing)
    return sum(missing.values()) - durable, durable


# ---- copies ----


def kill(pid):
    """Kill a process, and wait until it is gone. It may have ended by itself."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    signal.pidfd_send_signal(fd, signal.SIGKILL)
    select.select([fd], [], [], LIMIT_S)
    os.close(fd)


class Rig:
    def __init__(self, ssh, place, directory=None):
        self.ssh, self.place = ssh, place
        self.directory = tempfile.mkdtemp(prefix="xddresume.", dir=directory or s.MEMORY or t.tmp())
        self.source = os.path.join(self.directory, "source")
        self.destination = os.path.join(self.directory, "copy")
        self.xdd = os.path.join(self.directory, "xdd")
        shutil.copy(t.XDD, self.xdd)
        make_tree(self.source)
        self.processes = xddprocesses.Processes(self.xdd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.processes.all():
            kill(pid)
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, *flags, form="push", env=None, destination=None, source=None, prefix=()):
        source = source or self.source + "/"
        destination = destination or self.destination
        if form == "pull":
            source = self.place(source)
        else:
            destination = self.place(destination)
        return subprocess.Popen([*prefix, self.xdd, "copy", "-S", self.ssh, "-b", self.xdd, "-t", "2", "-blocksize", str(BLOCK),
                                 "-r", "-J", *flags, source, destination], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True, text=True, errors="replace",
                                env=env)

    def finish(self, process):
        """Status, messages, and the JSON document or None."""
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return -999, process.communicate()[1] + "(the copy did not end)", None
        try:
            document = json.loads(out)
        except ValueError:
            document = None
        return process.returncode, err, document

    def copy(self, *flags, **kwargs):
        return self.finish(self.start(*flags, **kwargs))

    def meet(self, process, h, point, nth):
        """Wait until a thread is held at the point."""
        sent = 0
        while True:
            held = h.wait(process, point.who)
            if point.name in SENT and held.point != point.name:
                continue
            if held.point != "block sent" or point is not PARTS:
                return
            sent += 1
            if sent < nth:
                held.go()

    def strike(self, process, h, victim):
        """A process dies, or all receive SIGINT, before the threads that are held go on."""
        if victim == "Ctrl-C":
            os.killpg(process.pid, signal.SIGINT)
            while h.wait(process, "process").point != "signal taken":
                pass
        else:
            kill(self.processes.victim(victim, process.pid))

    def interrupt(self, point, victim, *flags, nth=8, **kwargs):
        """A copy that loses a process while a thread is held. Returns its messages."""
        with hold_at(point, nth) as h:
            process = self.start(*flags, env=h.env, **kwargs)
            try:
                self.meet(process, h, point, nth)
            except xddhold.Missed as missed:
                raise xddhold.Missed("%s; %s" % (missed, self.finish(process))) from None
            self.strike(process, h, victim)
        _, err, _ = self.finish(process)
        left = self.processes.wait_none()
        return err + ("(processes stay: %s)" % left if left else "")


def hold_at(point, nth):
    names = [point.name, "block sent"] if point is PARTS else ["%s:%d" % (point.name, nth)] + [KEEPS] * (point.name in SENT)
    return xddhold.at(*names, "signal taken:1")


def judge_interrupted(rig, out):
    wrong = ["wrong files with final names: %s" % wrong_names(rig.source, rig.destination)] * bool(
        os.path.isdir(rig.destination) and wrong_names(rig.source, rig.destination))
    return wrong + [out] * ("(" in out and "stay" in out)


def judge_next(rig, case, send, durable):
    """The next copy. Without -R it removes what the first one left."""
    flags = ["-R"] if case.again else []
    status, err, document = rig.copy(*flags, form=case.form)
    if status or not document or not is_complete(rig.source, rig.destination):
        return ["the next copy: status %s, %s\n%s" % (status, temporary_names(rig.destination), err)]
    side = document["destination_side"]
    moved, resumed = side["moved_bytes"], side["resumed_bytes"]
    if (moved, resumed) != ((send, durable) if case.again else (send + durable, 0)):
        return ["sent %d and continued %d bytes, expected %d and %d" % (moved, resumed, send, durable)]
    return []


def one_kill(rig, case):
    """Returns durable bytes, and what is wrong."""
    out = rig.interrupt(case.point, case.victim, "-R", nth=case.nth, form=case.form)
    wrong = judge_interrupted(rig, out)
    send, durable = to_send(rig.source, rig.destination) if os.path.isdir(rig.destination) else (None, 0)
    if send is None:
        # It had not begun.
        send = sum(os.path.getsize(f) for f in files_below(rig.source).values())
    wrong += judge_next(rig, case, send, durable)
    shutil.rmtree(rig.destination, ignore_errors=True)
    return durable, wrong


def kills(rig, n, victims, what):
    """`n` copies: each victim at each point, in an order of the seed; then each again."""
    failed = []
    pairs = [(v, p) for v in victims for p in POINTS if p.who != "process" or v in ("initiator", "Ctrl-C")]
    random.Random("%d %s" % (SEED, what)).shuffle(pairs)
    for number in range(n):
        r = random.Random("%d %s %d" % (SEED, what, number))
        victim, point = pairs[number % len(pairs)]
        case = Case(number, r.choice(("push", "pull")), victim, number % 4 != 3, point, r.randint(1, point.most))
        durable, wrong = one_kill(rig, case)
        if point is PARTS and not durable:
            wrong.append("no parts of files are durable")
        if wrong:
            failed.append("%s\n%s" % (case, "\n".join(wrong)))
    t.ok(not failed, "%d copies with -R that lose a process, %s: the next one sends the rest" % (n, what), "\n".join(failed[:4]))


# ---- other tests ----


def test_again_and_again(rig):
    """A copy that is interrupted many times gets further each time."""
    sent = []
    for rounds in range(6):
        out = rig.interrupt(PARTS, ("server", "Ctrl-C", "initiator")[rounds % 3], "-R")
        send, _ = to_send(rig.source, rig.destination)
        sent.append(send)
    status, err, document = rig.copy("-R")
    t.ok(all(a >= b for a, b in zip(sent, sent[1:])) and sent[-1] < sent[0], "a copy that is interrupted again goes on",
         "%s\n%s" % (sent, out))
    t.equal((status, document and document["destination_side"]["moved_bytes"]), (0, sent[-1]), "and ends", err)
    t.ok(is_complete(rig.source, rig.destination), "and is complete", temporary_names(rig.destination))
    shutil.rmtree(rig.destination)


def test_archive(rig):
    """-a is -R of the guide."""
    rig.interrupt(PARTS, "server", "-a")
    send, durable = to_send(rig.source, rig.destination)
    status, err, document = rig.copy("-a")
    side = document["destination_side"] if document else {}
    t.equal((status, side.get("moved_bytes"), side.get("resumed_bytes")), (0, send, durable), "-a continues", err)
    t.ok(durable > 0 and is_complete(rig.source, rig.destination), "-a continues what was durable", durable)
    shutil.rmtree(rig.destination)


def test_compared(rig):
    """-c continues what is to replace files of equal size."""
    shutil.copytree(rig.source, rig.destination)
    for directory in ("d0", "d1"):
        change(os.path.join(rig.destination, directory, LARGE_NAME), "contents")
    rig.interrupt(PARTS, "server", "-R", "-c")
    durable = sum(durable_bytes(rig.destination).values())
    status, err, document = rig.copy("-R", "-c")
    t.ok(status == 0 and durable and is_complete(rig.source, rig.destination), "-R -c over files of equal size is complete", err)
    t.equal(document and document["destination_side"]["resumed_bytes"], durable, "and continues what was durable", err)
    shutil.rmtree(rig.destination)


def change(path, how):
    if how == "contents":
        with open(path, "r+b") as f:
            f.write(b"another beginning")
    elif how == "size":
        os.truncate(path, LARGE - BLOCK)
    elif how == "time":
        os.utime(path, ns=(0, 1))
    else:
        os.remove(path)


def test_changed_source(rig):
    for how in ("contents", "size", "time", "removed"):
        rig.interrupt(PARTS, "server", "-R")
        changed = os.path.join("d0", LARGE_NAME)
        others = durable_bytes(rig.destination)
        others = sum(n for name, n in others.items() if name != changed)
        kept = shutil.copytree(rig.source, rig.source + ".kept")
        change(os.path.join(rig.source, changed), how)
        there = set(final_names(rig.destination))
        status, err, document = rig.copy("-R")
        resumed = document["destination_side"]["resumed_bytes"] if document else -1
        wrong = wrong_names(rig.source, rig.destination)
        if how == "removed" and changed in there:
            wrong = [w for w in wrong if w != changed]
        t.ok(status == 0 and not wrong and not temporary_names(rig.destination),
             "a source that changed meanwhile (%s) is sent as it is" % how,
             "%s %s %s %s" % (status, wrong, temporary_names(rig.destination), err))
        t.equal(resumed, others, "a source that changed meanwhile (%s) is not continued, others are" % how)
        shutil.rmtree(rig.destination)
        shutil.rmtree(rig.source)
        shutil.move(kept, rig.source)


# ---- what is kept is proven ----


Part = collections.namedtuple("Part", "name path begins")


def a_part(rig):
    """A file of which blocks are durable, its temporary file, and the offsets of these blocks."""
    for path in journals(rig.destination):
        session = os.path.basename(path)[len(TEMPORARY):-len(".journal")]
        for number, (listed, begins) in read_journal(path)[0].items():
            name = os.fsdecode(listed)
            directory = os.path.join(rig.destination, os.path.dirname(name))
            if begins and name not in final_names(rig.destination):
                return Part(name, os.path.join(directory, "%s%s-%d.part" % (TEMPORARY, session, number)), sorted(begins))
    return None


def overwrite(path, data, at):
    """In place, without a trace in size and time of change."""
    before = os.stat(path)
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_source(path, data):
    before = os.stat(path)
    with open(path + ".other", "wb") as f:
        f.write(data)
    os.utime(path + ".other", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.rename(path + ".other", path)


def disturb(rig, part, how, r):
    """Change a source or its part so that sizes and times of change do not tell."""
    source, begins = os.path.join(rig.source, part.name), part.begins
    if how == "replaced":
        replace_source(source, r.randbytes(os.path.getsize(source)))
    elif how == "rewritten":
        overwrite(source, r.randbytes(os.path.getsize(source)), 0)
    elif how == "one byte":
        overwrite(source, b"x", r.choice(begins) + r.randrange(BLOCK))
    elif how == "part":
        overwrite(part.path, r.randbytes(100), r.choice(begins) + r.randrange(BLOCK - 100))
    elif how == "part cut":
        os.truncate(part.path, r.randrange(begins[-1]))
    elif how == "part replaced":
        shutil.copy(source, part.path + ".other")
        os.rename(part.path + ".other", part.path)


def restore(path, data, before):
    with open(path, "wb") as f:
        f.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


WAYS = ("replaced", "rewritten", "one byte", "part", "part cut", "part replaced", "nothing")


def continued(rig, how, form, r, *flags):
    """A copy that is interrupted, disturbed, and continued. Returns what is wrong, and the bytes of its part that were kept."""
    out = rig.interrupt(PARTS, "server", "-R", form=form)
    part = a_part(rig)
    source = os.path.join(rig.source, part.name)
    with open(source, "rb") as f:
        data, before = f.read(), os.stat(source)
    listed = durable_bytes(rig.destination)
    disturb(rig, part, how, r)
    status, err, document = rig.copy("-R", *flags, form=form)
    kept = document["destination_side"]["resumed_bytes"] - sum(listed.values()) + listed[part.name] if document else -1
    wrong = [status] * bool(status) + temporary_names(rig.destination) + wrong_names(rig.source, rig.destination)
    shutil.rmtree(rig.destination)
    restore(source, data, before)
    return wrong, kept, listed[part.name], out + err


# How a source or its part changes, and which share of the part is kept with and without -trust.
WAYS = {"nothing": ("all", "all"), "replaced": ("none", "none"), "rewritten": ("none", "none"), "one byte": ("none", "none"),
        "part": ("some", "all"), "part cut": ("none", "none"), "part replaced": ("none", "none")}


def share(kept, listed):
    return "none" if kept == 0 else "all" if kept == listed else "some" if 0 < kept < listed else "%d of %d" % (kept, listed)


def test_disturbed(rig, n):
    """A source or its part changes between two attempts: status 0 means that all is equal."""
    failed = []
    for number in range(n):
        how, form = list(WAYS)[number % len(WAYS)], ("push", "pull")[number // len(WAYS) % 2]
        wrong, kept, listed, err = continued(rig, how, form, random.Random("%d disturbed %d" % (SEED, number)))
        told = "from the interrupted copy, and are sent again" in err
        if wrong or share(kept, listed) not in (WAYS[how][0], "none" if how == "part" else "") or told != (how == "part"):
            failed.append("%d, %s, %s: %s, kept %s\n%s" % (number, how, form, wrong, share(kept, listed), err))
    t.ok(not failed, "%d copies that are continued after a source or a part has changed" % n, "\n".join(failed[:4]))


def test_trust(rig):
    """-trust keeps parts of an unchanged source without reading them."""
    for how, (_, expected) in WAYS.items():
        wrong, kept, listed, err = continued(rig, how, "push", random.Random(SEED), "-trust")
        t.equal((share(kept, listed), len(wrong)), (expected, 1 if how == "part" else 0), "-trust: " + how, err)
    status, err, _ = rig.copy("-trust")
    t.ok(status == 105 and "-trust is about parts of an interrupted copy; say -resume too" in err, "-trust without -R", err)


def parts_below(root):
    return {k: v for k, v in files_below(root).items() if k.endswith(".part")}


def test_changed_hole(rig):
    """Bytes in a part where its source has a hole are not sent, and do not stay."""
    source = os.path.join(rig.directory, "sparse")
    os.mkdir(source)
    sparse = os.path.join(source, LARGE_NAME)
    with open(sparse, "wb") as f:
        f.truncate(LARGE)
    xddchange.write_at(sparse, LARGE // 2, t.noise(LARGE // 2))
    for trust in ([], ["-trust"]):
        rig.interrupt(PARTS, "server", "-R", source=source + "/")
        part, = parts_below(rig.destination).values()
        xddchange.write_at(part, 4096, b"not of the source")
        status, err, document = rig.copy("-R", *trust, source=source + "/")
        t.equal((status, wrong_names(source, rig.destination), document and document["destination_side"]["resumed_bytes"] > 0),
                (0, [], True), "a hole of the source is one of a part that is continued%s" % (", -trust" * len(trust)), err)
        shutil.rmtree(rig.destination)
    shutil.rmtree(source)


def test_device(rig):
    """A character device may have other contents at a second time, and a pipe has no offsets: both are read from their begin."""
    os.mkdir(rig.destination)
    words = [rig.xdd, "copy", "-S", rig.ssh, "-b", rig.xdd, "-t", "2", "-blocksize", str(BLOCK), "-R", "-J", "-size", str(LARGE),
             "/dev/zero", rig.place(rig.destination) + "/file"]
    with hold_at(PARTS, 8) as h:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, text=True, env=h.env)
        rig.meet(process, h, PARTS, 8)
        rig.strike(process, h, "server")
    rig.finish(process)
    rig.processes.wait_none()
    listed = durable_bytes(rig.destination)
    r = subprocess.run([*words[:-2], "-trust", *words[-2:]], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=LIMIT_S, check=False)
    side = json.loads(r.stdout)["destination_side"]
    t.equal((r.returncode, side["moved_bytes"], side["resumed_bytes"]), (0, LARGE, 0), "a character device is not continued",
            r.stderr)
    t.equal(temporary_names(rig.destination), [], "a character device: nothing is left")
    t.ok(listed, "a character device: a part was there", listed)
    shutil.rmtree(rig.destination)


def random_change(rig, r):
    """Returns what was changed."""
    done = []
    for _ in range(r.choice((0, 1, 1, 2, 3))):
        parts = sorted(parts_below(rig.destination).values())
        kind = r.choice(("part", "part", "source", "journal"))
        if kind == "part" and parts:
            done.append("part " + xddchange.contents(r, r.choice(parts), BLOCK, LARGE))
        elif kind == "source":
            done.append(xddchange.source(r, os.path.join(rig.source, "d%d" % r.randrange(2), LARGE_NAME), BLOCK))
        elif kind == "journal" and journals(rig.destination):
            done.append(xddchange.record(r, journals(rig.destination)[0], "journal"))
    return done


def test_random_changes(rig, n):
    """Sources, parts and journals that change at random between the attempts of a copy."""
    failed, resumed = [], 0
    for number in range(n):
        r = random.Random("%d changes %d" % (SEED, number))
        done = []
        for _ in range(r.choice((1, 1, 2))):
            rig.interrupt(PARTS, "Ctrl-C", "-R", nth=r.randint(1, PARTS.most))
            done.append(random_change(rig, r))
        status, err, document = rig.copy("-R")
        resumed += bool(document and document["destination_side"]["resumed_bytes"])
        if status or not is_complete(rig.source, rig.destination):
            failed.append("%d %s: status %d, wrong %s, left %s\n%s" % (
                number, done, status, wrong_names(rig.source, rig.destination), temporary_names(rig.destination), err))
        shutil.rmtree(rig.destination)
        for i in range(2):
            with open(os.path.join(rig.source, "d%d" % i, LARGE_NAME), "wb") as f:
                f.write(t.noise(LARGE, r.randbytes))
    t.ok(not failed, "%d copies whose source, part or journal changes: none is wrong" % n,
         "%d of %d\n%s" % (len(failed), n, "\n".join(failed[:4])))
    t.ok(resumed >= n // 4, "%d copies whose source, part or journal changes: many were continued" % n, resumed)


def test_new_name(rig):
    """-r directory host:new: the next copy continues in it, and not in new/directory."""
    rig.interrupt(PARTS, "server", "-R", source=rig.source)
    send, durable = to_send(rig.source, rig.destination)
    status, err, document = rig.copy("-R", source=rig.source)
    t.equal((status, document and document["destination_side"]["moved_bytes"]), (0, send), "a new name is continued", err)
    t.ok(durable and is_complete(rig.source, rig.destination), "a new name is continued, not a directory in it",
         "%d %s" % (durable, sorted(os.listdir(rig.destination))))
    shutil.rmtree(rig.destination)


def test_new_name_again(rig):
    """The same without -R: the next copy completes the new name, as one that is complete is a directory to copy into."""
    for victim in ("Ctrl-C", "server", "initiator"):
        # A file has its name, and the large ones cannot be complete.
        with xddhold.at("after rename:1", "block sent", "signal taken:1") as h:
            process = rig.start(env=h.env, source=rig.source)
            while h.wait(process).point != "after rename":
                pass
            rig.strike(process, h, victim)
        rig.finish(process)
        rig.processes.wait_none()
        was_complete = is_complete(rig.source, rig.destination)
        compared = rig.copy("-k", source=rig.source)[0]
        status, err, _ = rig.copy(source=rig.source)
        t.equal((was_complete, compared, status), (False, 7, 0), "a new name whose copy loses %s is copied again" % victim, err)
        t.ok(is_complete(rig.source, rig.destination), "a new name whose copy loses %s: all is in it, and nothing else" % victim,
             sorted(os.listdir(rig.destination)))
        status, err, _ = rig.copy(source=rig.source)
        t.equal((status, os.path.isdir(os.path.join(rig.destination, "source"))), (0, True), "a complete one is a directory", err)
        shutil.rmtree(rig.destination)


def test_side_by_side(rig):
    """Three copies into one directory, of which two are held in the middle of their files while the third one ends."""
    other = os.path.join(rig.directory, "other")
    os.mkdir(other)
    os.mkdir(rig.destination)
    with open(os.path.join(other, "second-" + LARGE_NAME), "wb") as f:
        f.write(t.noise(LARGE))
    with xddhold.at("block sent") as of_first, xddhold.at("block sent") as of_second:
        first = rig.start("-R", env=of_first.env)
        of_first.wait(first)
        second = rig.start(env=of_second.env, source=other + "/")
        of_second.wait(second)
        third = rig.copy("-R", source=os.path.join(rig.source, "d2"))
    results = [rig.finish(first), rig.finish(second), third]
    t.equal([r[0] for r in results], [0, 0, 0], "three copies into one directory", "\n".join(r[1] for r in results))
    t.ok(not temporary_names(rig.destination) and
         set(final_names(rig.destination)) >= set(files_below(rig.source)) | {"second-" + LARGE_NAME, "d2/f1"},
         "three copies into one directory leave their files only", temporary_names(rig.destination))
    shutil.rmtree(rig.destination)
    shutil.rmtree(other)


def test_lost_records(rig):
    """A power failure may leave temporary files in directories that the journal does not name any more."""
    for times, size, flags in ((1, 0, []), (1, 0, ["-R"]), (1, None, ["-R"]), (2, None, ["-R"])):
        for _ in range(times):
            rig.interrupt(PARTS, "server", "-R")
            path, = journals(rig.destination)
            with open(path, "rb") as f:
                head = 16 + 12 + struct.unpack_from("<I", f.read(28), 24)[0]
            os.truncate(path, head if size is None else size)
        left = [n for n in temporary_names(rig.destination) if os.path.dirname(n)]
        status, err, _ = rig.copy(*flags)
        what = "%s journal%s%s" % ("an empty" if size == 0 else "a lost end of the", ", and -R" * bool(flags), ", twice" * (times - 1))
        t.equal((bool(left), status, temporary_names(rig.destination)), (True, 0, []), "%s: nothing is left" % what, err)
        t.ok(is_complete(rig.source, rig.destination), "%s: the copy is complete" % what)
        shutil.rmtree(rig.destination)


# ---- durability ----


def order_of(log):
    """Calls of a traced destination that have ended, in order: (name of the call, its file or names)."""
    events = []
    for line in log:
        m = re.match(r"^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed>)(.*)\) += (-?\d+)", line)
        if not m:
            continue
        call, args, result = m.group(1), m.group(2), int(m.group(3))
        if result < 0:
            continue
        names = re.findall(r'"([^"]*)"', args)
        # -y: the process that called is not known by its thread, but the name of its descriptor is.
        fd = re.match(r"\d+<([^>]*)>", args)
        if call in ("fsync", "fdatasync", "syncfs", "pwrite64", "write"):
            events.append((call, os.path.basename(fd.group(1)) if fd else ""))
        elif call.startswith("renameat"):
            events.append(("rename", names[-2], names[-1]))
    return events


def test_order(directory):
    """strace sees that contents are flushed before each rename, and names before the end."""
    with Rig(FAKE.ssh, FAKE.place, directory) as rig:
        log = os.path.join(rig.directory, "trace")
        # Complete lines, in the order in which the calls ended; each thread has its own descriptors open.
        status, err, _ = rig.copy("-R", prefix=s.strace(log, "fsync,fdatasync,syncfs,renameat,renameat2,write,pwrite64", "-z"))
        with open(log, encoding="utf-8", errors="replace") as f:
            events = order_of(f)
        dirty, wrong, renamed, unflushed = set(), [], 0, 0
        for event in events:
            call = event[0]
            if call in ("write", "pwrite64") and event[1].endswith(".part"):
                dirty.add(event[1])
            elif call in ("fsync", "fdatasync"):
                dirty.discard(event[1])
                unflushed = 0 if call == "fsync" and not event[1].endswith(".part") else unflushed
            elif call == "syncfs":
                dirty.clear()
                unflushed = 0
            elif call == "rename" and event[1].endswith(".part") and not event[2].endswith(".journal"):
                renamed += 1
                unflushed += 1
                if event[1] in dirty:
                    wrong.append(event)
        t.ok(status == 0 and not wrong, "on a file system with storage, files are flushed before they get their names",
             "%s %s %s" % (status, wrong[:4], err))
        t.ok(renamed >= len(files_below(rig.source)), "each file is renamed", renamed)
        t.equal(unflushed, 0, "names are flushed before the end")
        t.ok(sum(e[0] in ("syncfs", "fsync") for e in events) < renamed / 2, "small files are not flushed one by one",
             collections.Counter(e[0] for e in events))


def power_failure(number, image, mounted, rig):
    """Kill the destination, and look at a copy of the device: only what was flushed is there."""
    r = random.Random("%d power %d" % (SEED, number))
    destination = os.path.join(mounted, "copy")
    point = r.choice(POINTS[1:])
    out = rig.interrupt(point, "server", "-R", nth=r.randint(1, point.most), destination=destination)
    after = os.path.join(rig.directory, "after")
    subprocess.run(["cp", "--sparse=always", image, after + ".img"], check=True)
    device = s.loop_device(after + ".img")
    os.makedirs(after, exist_ok=True)
    subprocess.run(["mount", device, after], check=True)
    try:
        there = os.path.join(after, "copy")
        os.makedirs(there, exist_ok=True)
        wrong = wrong_names(rig.source, there)
        send, _ = to_send(rig.source, there, torn=True)
        # The same copy, as far as the journal knows, when the host is up again.
        os.rename(mounted, mounted + ".old")
        os.symlink(after, mounted)
        try:
            status, err, document = rig.copy("-R", destination=destination)
        finally:
            os.remove(mounted)
            os.rename(mounted + ".old", mounted)
        moved = document["destination_side"]["moved_bytes"] if document else -1
        if status or not is_complete(rig.source, there) or moved != send:
            wrong += ["status %s, sent %d, expected %d, differ %s, names %s, %s" % (
                status, moved, send, wrong_names(rig.source, there),
                sorted(set(files_below(rig.source)) ^ set(files_below(there))), err)]
    finally:
        subprocess.run(["umount", after], check=True)
        s.detach(device)
        os.remove(after + ".img")
        shutil.rmtree(destination, ignore_errors=True)
    return ["%d %s\n%s" % (number, w, out) for w in wrong]


def test_power_failures(rig, n):
    outer = os.path.join(rig.directory, "power")
    os.mkdir(outer)
    image = s.sparse_file("power.img", 96 << 20)
    device = s.loop_device(image)
    mounted = os.path.join(outer, "disk")
    if device is None or not t.have("mkfs.ext4"):
        t.skip("power failures", "needs a loop device and mkfs.ext4")
        return
    subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True)
    failed = []
    for number in range(n):
        # Not mounted itself, so that the directory can be exchanged.
        os.makedirs(mounted + ".device", exist_ok=True)
        subprocess.run(["mount", device, mounted + ".device"], check=True)
        os.symlink(mounted + ".device", mounted)
        try:
            failed += power_failure(number, image, mounted, rig)
        finally:
            os.remove(mounted)
            subprocess.run(["umount", mounted + ".device"], check=True)
    t.ok(not failed, "%d power failures: no wrong file, and the rest is sent" % n, "\n".join(map(str, failed[:4])))


# ---- main ----

FAKE = xddssh.Fake()


def test_kills():
    with Rig(FAKE.ssh, FAKE.place) as rig:
        kills(rig, 120 if LONG else 48, ("server", "initiator", "Ctrl-C"), "without sshd")
        test_again_and_again(rig)
        test_archive(rig)
        test_compared(rig)
        test_changed_source(rig)


def test_changes():
    with Rig(FAKE.ssh, FAKE.place) as rig:
        test_disturbed(rig, 200 if LONG else 21)
        test_trust(rig)
        test_changed_hole(rig)
        test_device(rig)


def test_others():
    with Rig(FAKE.ssh, FAKE.place) as rig:
        test_random_changes(rig, 200 if LONG else 12)
        test_new_name(rig)
        test_new_name_again(rig)
        test_lost_records(rig)
        test_side_by_side(rig)
        test_power_failures(rig, 40 if LONG else 8)


def test_with_sshd():
    reason = xddssh.why_not()
    if reason:
        t.skip("interrupted copies through sshd", reason)
        return
    with xddssh.Sshd() as server, Rig(server.ssh, server.place) as rig:
        kills(rig, 56 if LONG else 14, ("ssh", "server"), "through sshd")


def test_storage():
    directory = s.ext4("disk", 256 << 20)
    if directory is None:
        t.skip("order of flushes on ext4", s.sys_why())
    elif not s.can_trace():
        t.skip("order of flushes on ext4", s.sys_why())
    else:
        test_order(directory)


s.own_mounts()
t.run_together(test_with_sshd, test_kills, test_changes, test_others, test_storage)
t.done()
