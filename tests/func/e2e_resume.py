#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-restart proves what the destination has kept: a source or a destination that another program changes between the attempts
never gives a wrong file with status 0. What differs is copied again, and the result says what was compared.

Round n of the random changes is a function of the seed (XDD_TEST_SEED) and n, except for how far the copy had come.
XDD_TEST_ROUNDS sets their number.
"""
import os
import random
import re
import signal

import messages as m
import xddchange
import xdde2e as e
import xddhold
import xddsys as s
import xddtest as t
import xddwire as w
from xddresume import CTIME, OPS, PLAN, REMEDY, REQUEST, SIZE, Record, Resumable, fresh, sent, source

SEED = int(os.environ.get("XDD_TEST_SEED", "1"))
LONG = os.environ.get("XDD_TEST_LONG") == "1"
ROUNDS = int(os.environ.get("XDD_TEST_ROUNDS", "200" if LONG else "20"))
DIFFER = m.warning(m.ANY_TARGET, r"\d+ of the \d+ bytes that were durable differ from the source, or cannot be compared: they "
                                 "are copied again")
t.may_warn(DIFFER)
CANNOT_READ = m.warning(m.ANY_TARGET, "cannot be read to compare it with the source .*: all of it is copied again")


def rewrite(path, at, data):
    """In place, under the size and the time that it had."""
    before = os.stat(path)
    xddchange.write_at(path, at, data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def flip(path, at):
    with open(path, "rb") as f:
        f.seek(at)
        byte = f.read(1)[0]
    rewrite(path, at, bytes([byte ^ 0xff]))


def figures(copy, side="destination"):
    """(resumed, compared, differing) bytes of a side."""
    c = e.document(copy.json[side])["endtoend"][-1]
    return tuple(c[name] for name in ("resumed_bytes", "compared_bytes", "differing_bytes"))


def documented(r, reads=(), writes=(), gives_up=False):
    """
    The copy once more, with documents of both sides. `gives_up`: a source whose destination has refused before they met
    does not wait for another one.
    """
    names = {side: fresh("json") for side in ("source", "destination")}
    copy = r.copy(reads=["-jsonout", names["source"], *reads], writes=["-jsonout", names["destination"], *writes])
    copy.json = names
    copy.start()
    if gives_up and copy.destination.process.wait(e.TIMEOUT) and "waits for its source" not in copy.destination.err():
        copy.source.signal(signal.SIGKILL)
    return copy.finish()


def kept_bytes(ops):
    return len(ops) * REQUEST - (777 if OPS - 1 in ops else 0)


# ---- the source ----

def refused(r, problem, what):
    copy = r.copy().run()
    text = "restart file %s: %s" % (r.file, problem)
    t.ok(copy.statuses() == (4, 4) and all(text in side.run.err and REMEDY in side.run.err for side in (copy.source, copy.destination)),
         "%s: both sides refuse it, and say why" % what, "expected %s\n%s" % (text, copy))


def test_source_rewritten():
    r = Resumable()
    r.interrupt()
    rewrite(r.source, SIZE // 2, b"other")
    refused(r, CTIME, "a source that was rewritten, with its time restored")
    r = Resumable()
    r.interrupt()
    was = os.stat(r.source)
    other = source()
    os.utime(other, ns=(was.st_atime_ns, was.st_mtime_ns))
    os.rename(other, r.source)
    refused(r, "the inode number of the source was %d" % was.st_ino, "a source that was replaced by one of its size and time")


def test_complete_source_rewritten():
    r = Resumable()
    r.copy().run()
    rewrite(r.source, SIZE // 2, b"other")
    copy = r.copy().run()
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, OPS), "a complete copy whose source was rewritten is made again",
            copy)


# ---- the destination ----

def test_destination_changed():
    r = Resumable()
    r.interrupt(40)
    ops = r.record().ops
    some = sorted(ops)
    for op in (some[0], some[-1]):
        flip(r.destination, op * REQUEST + 5)
    changed = {some[0], some[-1]}
    flip(r.destination, some[1] * REQUEST + REQUEST - 1)
    changed.add(some[1])
    copy = documented(r)
    expected = (kept_bytes(ops - changed), kept_bytes(ops), kept_bytes(changed))
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, OPS - len(ops - changed)),
            "bytes of the destination that changed are copied again", copy)
    t.equal((figures(copy), figures(copy, "source")), (expected, expected), "both sides report what was compared, and what differed", copy)
    line = "%d bytes of earlier runs, which equal the source, and %d bytes that did not were copied again" % (expected[0], expected[2])
    t.ok(line in copy.destination.run.out and line in copy.source.run.out, "both sides say so", copy)
    t.ok("%d of the %d bytes that were durable differ" % (expected[2], expected[1]) in copy.destination.run.err, "a warning says so", copy)


def test_complete_destination_changed():
    """Its time is restored."""
    r = Resumable()
    r.copy().run()
    flip(r.destination, SIZE - 1)
    copy = documented(r)
    last = REQUEST - 777
    t.equal((copy.statuses(), copy.same(), sent(copy), figures(copy)), ((0, 0), True, 1, (SIZE - last, SIZE, last)),
            "a complete copy, of which a byte changed: it is copied again", copy)


def test_all_changed():
    r = Resumable()
    r.interrupt()
    ops = r.record().ops
    size = os.path.getsize(r.destination)
    rewrite(r.destination, 0, t.noise(size))
    copy = documented(r)
    t.equal((copy.statuses(), copy.same(), sent(copy), figures(copy)), ((0, 0), True, OPS, (0, kept_bytes(ops), kept_bytes(ops))),
            "a destination of other contents is copied as a whole", copy)


def test_unreadable():
    if os.geteuid() == 0:
        t.skip("a destination that cannot be read", "root reads all")
        return
    r = Resumable()
    r.interrupt()
    os.chmod(r.destination, 0o200)
    r.kwargs["warns_destination"] = [CANNOT_READ]
    copy = r.copy().run()
    os.chmod(r.destination, 0o600)
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, OPS), "a destination that cannot be read is copied as a whole", copy)


# ---- -restart trust, and earlier records ----

def test_trust():
    r = Resumable()
    r.interrupt()
    ops = r.record().ops
    flip(r.destination, min(ops) * REQUEST)
    copy = documented(r, writes=["-restart", "trust"])
    t.equal((copy.statuses(), copy.same(), sent(copy), figures(copy)), ((0, 0), False, OPS - len(ops), (kept_bytes(ops), 0, 0)),
            "-restart trust keeps what is recorded, changed or not", copy)
    line = "%d bytes of earlier runs, which were not compared (-restart trust)" % kept_bytes(ops)
    t.ok(line in copy.destination.run.out and line in copy.source.run.out, "-restart trust: both sides say so", copy)


def make_version_1(path):
    """Give a restart file the form that it had before version 2."""
    with open(path) as f:
        lines = [line for line in f.read().splitlines() if not line.startswith(("# source-ctime-ns ", "# checksum "))]
    text = "\n".join(lines).replace("# xdd restart file, version 2", "# xdd restart file, version 1") + "\n"
    with open(path, "w") as f:
        f.write(text + "# checksum %016x\n" % w.checksum(text.encode()))


def test_version_1():
    if not w.xxhash():
        t.skip("a restart file of version 1", "no libxxhash")
        return
    r = Resumable()
    r.interrupt()
    make_version_1(r.file)
    missing = OPS - len(r.record().ops)
    copy = r.copy(writes=["-restart", "trust"]).run()
    t.ok(copy.statuses() == (4, 4) and "leave -restart trust out" in copy.destination.run.err,
         "a restart file of version 1 is not trusted", copy)
    copy = r.copy().run()
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, missing), "a restart file of version 1 is compared", copy)
    r = Resumable()
    r.interrupt()
    make_version_1(r.file)
    rewrite(r.source, min(r.record().ops) * REQUEST, b"other")
    copy = r.copy().run()
    t.equal((copy.statuses(), copy.same()), ((0, 0), True), "a restart file of version 1, and another source: what differs is copied",
            copy)


# ---- several targets, other orders, deaths ----

def test_targets():
    """Two targets with a restart file each, one of which has changed."""
    sources, copies, files = [source(), source()], [fresh("copy"), fresh("copy")], [fresh("restart"), fresh("restart")]
    words = [word for i, file in enumerate(files) for word in ("-restart", "target", i, "file", file, "-restart", "target", i,
                                                              "frequency", 0.02)]

    def copy(reads=(), **kwargs):
        return e.Copy(sources, copies, PLAN, ports=2, reads=reads, writes=words, **kwargs)

    first = copy(["-throttle", "delay", 0.05]).start()
    t.until(lambda: min(len(Record(file).ops) for file in files) >= 20, first.destination.process)
    first.destination.signal(signal.SIGKILL)
    first.finish()
    kept = [Record(file).ops for file in files]
    flip(copies[1], min(kept[1]) * REQUEST)
    second = copy().run()
    t.equal((second.statuses(), second.same(), all(kept)), ((0, 0), True, True), "two targets, of which one has changed", second)
    t.equal(len(re.findall(DIFFER, second.destination.run.err, re.M)), 1, "the other one is kept", second)


def test_random_order():
    """The source alone knows which bytes an operation has."""
    r = Resumable(reads=["-seek", "random", "once"])
    r.interrupt(40)
    ops = r.record().ops
    copy = documented(r)
    t.equal((copy.statuses(), copy.same(), sent(copy), figures(copy)), ((0, 0), True, OPS - len(ops), (kept_bytes(ops), kept_bytes(ops), 0)),
            "offsets in random order: what was copied is kept", copy)
    r = Resumable(reads=["-seek", "random", "once"])
    r.interrupt(40)
    with open(r.destination, "rb") as f:
        data = f.read()
    at = next(at for at in range(0, len(data), REQUEST) if any(data[at:at + REQUEST]))
    flip(r.destination, at)
    copy = documented(r)
    t.equal((copy.statuses(), copy.same(), figures(copy)[2]), ((0, 0), True, REQUEST), "offsets in random order: what changed is copied again",
            copy)


def test_large_requests():
    """They are larger than the buffers in which they are compared; the last one is short."""
    size = 3 << 20
    both = ["-blocksize", size, "-reqsize", 1]
    for words in ([], ["-dio"]):
        r = Resumable(size=10 * size + 12345)
        r.both = [*both, "-e2e", "timeout", 10, *words]
        r.interrupt(4)
        ops = r.record().ops
        flip(r.destination, (min(ops) + 1) * size - 1)
        copy = documented(r)
        t.equal((copy.statuses(), copy.same(), sent(copy), figures(copy)[2]), ((0, 0), True, 11 - len(ops) + 1, size),
                " ".join(["requests of 3 MiB", *words]), copy)


def test_offsets():
    """The copied extent begins at other offsets of the files."""
    r = Resumable(reads=["-startoffset", 2], writes=["-startoffset", 5])
    r.interrupt(40)
    ops = r.record().ops
    flip(r.destination, (5 + min(ops)) * REQUEST)
    flip(r.destination, (5 + max(ops)) * REQUEST)
    copy = documented(r)
    with open(r.source, "rb") as a, open(r.destination, "rb") as b:
        a.seek(2 * REQUEST)
        b.seek(5 * REQUEST)
        same = a.read() == b.read()
    t.equal((copy.statuses(), same, sent(copy), figures(copy)[2]), ((0, 0), True, OPS - 2 - len(ops) + 2, 2 * REQUEST),
            "start offsets that differ", copy)


def test_devices():
    """A block device has no time of change: the comparison alone finds other contents."""
    devices = [s.loop_device(s.sparse_file("disk.%d" % i, OPS * REQUEST)) for i in range(2)]
    if None in devices:
        t.skip("block devices at both ends", s.sys_why())
        return
    with open(devices[0], "wb") as f:
        f.write(t.noise(OPS * REQUEST))
    for words in ([], ["-dio"]):
        r = Resumable(words, reads=["-bytes", OPS * REQUEST])
        r.source, r.destination = devices
        r.interrupt(40)
        ops = r.record().ops
        xddchange.write_at(devices[0], min(ops) * REQUEST, os.urandom(16))
        xddchange.write_at(devices[1], max(ops) * REQUEST, os.urandom(16))
        copy = documented(r)
        with open(devices[0], "rb") as a, open(devices[1], "rb") as b:
            same = a.read() == b.read()
        t.equal((copy.statuses(), same, sent(copy), figures(copy)[2]), ((0, 0), True, OPS - len(ops) + 2, 2 * REQUEST),
                " ".join(["block devices of which both have changed", *words]), copy)


def test_pattern():
    """A source that also verifies the pattern that its file has."""
    r = Resumable()
    run = t.xdd("-targets", 1, r.source, "-op", "write", *PLAN[:4], "-numreqs", OPS, "-datapattern", "sequenced")
    t.equal(run.status, 0, "a source with a pattern", run)
    r.kwargs["reads"] = ["-verify", "contents", "-datapattern", "sequenced"]
    r.interrupt()
    missing = OPS - len(r.record().ops)
    copy = r.copy().run()
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, missing), "a source that verifies its pattern", copy)


def test_deaths():
    """kill -9 of either side while they compare: the next copy compares again, and is right."""
    for victim, other in (("source", "destination"), ("destination", "source")):
        r = Resumable()
        r.interrupt(60)
        before = r.record().lines
        flip(r.destination, min(r.record().ops) * REQUEST)
        copy = r.copy()
        with xddhold.at("proof begun:1") as h:
            copy.prefix[victim] = ["env", "%s=%s" % (xddhold.VARIABLE, h.value)]
            copy.start()
            h.wait()
            getattr(copy, victim).signal(signal.SIGKILL)
            getattr(copy, victim).process.wait(e.TIMEOUT)
        copy.finish()
        t.ok(getattr(copy, other).run.status in (4, 6) and getattr(copy, other).seconds < 30,
             "the %s is killed while they compare: the other side ends" % victim, copy)
        t.equal(r.record().lines, before, "the %s is killed while they compare: the restart file is as it was" % victim)
        missing = OPS - len(r.record().ops)
        copy = r.copy().run()
        t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, missing + 1),
                "the %s is killed while they compare: the next copy is right" % victim, copy)


# ---- random changes ----

def random_change(copy, r):
    """Returns what was changed."""
    done = []
    for _ in range(r.choice((0, 1, 1, 2))):
        kind = r.choice(("destination",) * 6 + ("source", "record"))
        if kind == "destination" and os.path.exists(copy.destination) and os.path.getsize(copy.destination):
            done.append("destination " + xddchange.contents(r, copy.destination, 3 * REQUEST))
        elif kind == "source":
            done.append(xddchange.source(r, copy.source, 3 * REQUEST))
        elif kind == "record" and os.path.exists(copy.file):
            done.append(xddchange.record(r, copy.file, "record"))
    return done


def recorded(copy):
    """Operations in the restart file, which may be damaged."""
    try:
        return len(copy.record().ops)
    except ValueError:
        return 0


def interrupt(copy, r):
    """End a side once some operations are recorded; a copy that is refused ends by itself."""
    ops = recorded(copy) + r.choice((3, 10, 40))
    run = copy.copy(reads=["-throttle", "delay", 0.02]).start()
    t.until(lambda: recorded(copy) >= ops, run.destination.process)
    if run.destination.process.poll() is not None:
        run.source.signal(signal.SIGKILL)
    side, sig = r.choice(((run.destination, signal.SIGKILL), (run.source, signal.SIGKILL), (run.destination, signal.SIGINT)))
    if side.process.poll() is None:
        side.signal(sig)
    return run.finish()


def is_refused(copy):
    return copy.destination.run.status == 4 and REMEDY in copy.destination.run.err


def test_random_changes():
    failed, compared, differing, refusals = [], 0, 0, 0
    for number in range(ROUNDS):
        r = random.Random("%d resumptions %d" % (SEED, number))
        copy = Resumable(ports=r.choice((1, 2, 4)))
        done = []
        for _ in range(r.choice((1, 1, 2))):
            interrupt(copy, r)
            done.append(random_change(copy, r))
        last = documented(copy, gives_up=True)
        if is_refused(last):
            # The message says so.
            refusals += 1
            os.unlink(copy.file)
            last = documented(copy)
        if last.statuses() != (0, 0) or not last.same():
            failed.append("%d %s: %s\n%s" % (number, done, last.statuses(), last))
        else:
            compared += figures(last)[1] > 0
            differing += figures(last)[2] > 0
        for path in (copy.source, copy.destination):
            os.unlink(path)
    print("# %d rounds: %d compared, %d of them differed, %d refused" % (ROUNDS, compared, differing, refusals))
    t.ok(not failed, "%d copies whose source, destination or restart file changes: none is wrong" % ROUNDS,
         "%d of %d\n%s" % (len(failed), ROUNDS, "\n".join(failed[:4])))
    t.ok(ROUNDS < 20 or compared >= ROUNDS // 4 and differing and refusals, "many of these were continued, some with other bytes, some refused",
         "%d compared, %d differed, %d refused" % (compared, differing, refusals))


if __name__ == "__main__":
    t.run_together(test_source_rewritten, test_complete_source_rewritten, test_destination_changed,
                   test_complete_destination_changed, test_all_changed, test_unreadable, test_trust, test_version_1,
                   test_targets, test_random_order, test_large_requests, test_offsets, test_devices, test_pattern, test_deaths,
                   test_random_changes)
    t.done()
