#!/usr/bin/env python3
"""
End-to-end copies while things go wrong: loss, delay, reordering, bits inverted on the way, a link that is cut, a side
that is killed, stopped or interrupted, storage that fails or is full on either side. A wrong file is never called
complete, and both sides end in time, with the right status and a reason.
"""
import os
import random
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddcopy as c
import xddnet as net
import xddsys as s
import xddtest as t

t.tolerate(t.CACHED, t.BUFFERED)

LONG = bool(os.environ.get("XDD_TEST_LONG"))
MIB = 1 << 20
ADDRESS = "10.240.1.2"
# The limit of each step in seconds, and the time that an end may take beyond it on a busy machine.
TIMEOUT, GRACE = 4, 15


def words_of(source, destination, size, reqsize=64):
    return (["-op", "read", "-targets", 1, source, "-reqsize", reqsize, "-bytes", size],
            ["-op", "write", "-targets", 1, destination, "-reqsize", reqsize])


class Network:
    """Two hosts and an emulated link."""

    def __init__(self, *settings):
        self.ns = net.namespace("src"), net.namespace("dst")
        self.link = net.link(*self.ns, ["10.240.1.1/24"], [ADDRESS + "/24"])
        self.ns[0].command("ping", "-c1", "-W5", ADDRESS)
        self.link.set(*settings)

    def end(self):
        self.link.end()
        for ns in self.ns:
            ns.remove()


def last_line(run):
    """The reason, in standard error."""
    lines = [line for line in run.error_lines() if line.startswith("xdd: ")]
    return lines[-1] if lines else ""


def both_fail(title, src, dst, statuses, texts=(".", "."), seconds=None):
    """Both sides end with these statuses, each with one line that matches its text."""
    t.equal((src.status, dst.status), statuses, title + ": the statuses of source and destination", "%s\n%s" % (src, dst))
    for side, run, text in (("source", src, texts[0]), ("destination", dst, texts[1])):
        if run.status in (-signal.SIGKILL, "timeout", 5):
            continue
        t.ok(re.search(text, last_line(run)), "%s: the %s says why" % (title, side), "expected: %s\n%s" % (text, run))
    if seconds:
        t.ok(max(src.seconds, dst.seconds) < seconds, "%s: in less than %g s" % (title, seconds),
             (src.seconds, dst.seconds))


def both_well(title, src, dst, source, destination):
    t.equal((src.status, dst.status), (0, 0), title + ": both sides end well", "%s\n%s" % (src, dst))
    t.ok(c.equal_files(source, destination), title + ": the files are equal")
    c.remove(destination)


# The network


def test_bad_network():
    size = 12 * MIB + 77
    source, destination = c.write_random("source", size), t.path("destination")
    network = Network("delay=25")
    for settings in ("loss=1", "reorder=2 late=3", "jitter=8 duplicate=1", "corrupt=1", "loss=1 reorder=1 corrupt=1",
                     "loss=0.5 rate=40"):
        network.link.set("loss=0", "reorder=0", "jitter=0", "duplicate=0", "corrupt=0", "rate=0")
        network.link.set(*settings.split())
        for ordering in ("none", "serial"):
            src_words, dst_words = words_of(source, destination, size)
            src, dst = c.both(src_words, [*dst_words, "-ordering", "storage", ordering], c.to(ADDRESS + ":7000,4"),
                              ns=network.ns)
            both_well("50 ms and %s, -ordering %s" % (settings, ordering), src, dst, source, destination)
    network.end()


def start_slowly(network, source, destination, size, *more):
    """A copy that takes a few seconds, once data flows."""
    network.link.set("rate=20")
    sides = c.Sides(*words_of(source, destination, size), c.to(ADDRESS + ":7000,2") + list(more), ns=network.ns)
    begin = network.link.counters()["a"]["sent_bytes"]
    net.until(lambda: network.link.counters()["a"]["sent_bytes"] > begin + size // 10)
    return sides


def test_inverted_bits():
    """Bits that TCP does not notice."""
    size = 4 * MIB
    source, destination = c.write_random("source", size), t.path("destination")
    network = Network("fix=1")
    for way in "ab":
        sides = start_slowly(network, source, destination, size, "-e2e", "timeout", TIMEOUT)
        network.link.set(way + ":corrupt=1/20" if way == "a" else "b:corrupt=100", "rate=0")
        src, dst = sides.end(TIMEOUT + GRACE)
        both_fail("inverted bits in what the %s sends" % ("source" if way == "a" else "destination"), src, dst, (6, 6))
        network.link.set("corrupt=0")
    network.end()


def test_cut():
    size = 8 * MIB
    source, destination = c.write_random("source", size), t.path("destination")
    network = Network()
    sides = start_slowly(network, source, destination, size, "-e2e", "timeout", 30)
    network.link.cut(5)
    time.sleep(1)
    network.link.set("rate=0")
    src, dst = sides.end()
    both_well("a link that is cut for 5 s", src, dst, source, destination)
    t.ok(src.seconds > 5, "a link that is cut for 5 s: the copy waits for it", src.seconds)
    sides = start_slowly(network, source, destination, size, "-e2e", "timeout", TIMEOUT)
    network.link.cut()
    begin = time.monotonic()
    src, dst = sides.end(TIMEOUT + GRACE)
    seconds = time.monotonic() - begin
    both_fail("a link that is cut for good", src, dst, (6, 6))
    t.ok(TIMEOUT * 0.5 < seconds < TIMEOUT + GRACE, "a link that is cut for good: ends after -e2e timeout", seconds)
    network.end()


# The sides


def signal_one(network, which, number, *more):
    """A copy in which one side gets a signal: the outcomes of both, and how long the end took."""
    size = 8 * MIB
    source, destination = c.write_random("source", size), t.path("destination")
    sides = start_slowly(network, source, destination, size, "-e2e", "timeout", TIMEOUT, *more)
    victim, other = ((sides.source, sides.destination) if which == "source" else (sides.destination, sides.source))
    begin = time.monotonic()
    victim.signal(number)
    run = other.end(TIMEOUT + GRACE)
    seconds = time.monotonic() - begin
    if number == signal.SIGSTOP:
        victim.signal(signal.SIGCONT)
    runs = victim.end(TIMEOUT + GRACE), run
    return (*(runs if which == "source" else reversed(runs)), seconds)


def test_signals():
    network = Network()
    names = {"source": "destination", "destination": "source"}
    for which, other in names.items():
        src, dst, seconds = signal_one(network, which, signal.SIGKILL)
        both_fail("kill -9 of the " + which, src, dst, (-9, 6) if which == "source" else (6, -9))
        t.ok(seconds < GRACE, "kill -9 of the %s: the %s ends at once" % (which, other), seconds)

        src, dst, seconds = signal_one(network, which, signal.SIGINT)
        text = "interrupted by signal 2"
        both_fail("SIGINT for the " + which, src, dst, (5, 6) if which == "source" else (6, 5),
                  (".", "source was " + text) if which == "source" else ("destination was " + text, "."))
        t.ok(seconds < GRACE, "SIGINT for the %s: the %s ends at once" % (which, other), seconds)

        src, dst, seconds = signal_one(network, which, signal.SIGSTOP)
        both_fail("SIGSTOP of the " + which, src, dst, (6, 6))
        t.ok(TIMEOUT * 0.5 < seconds < TIMEOUT + GRACE,
             "SIGSTOP of the %s: the %s ends after -e2e timeout" % (which, other), seconds)
    network.end()


# The storage


def local(source, destination, size, more=(), ports=2, timeout=60, **kwargs):
    """A copy over the loopback interface."""
    return c.both(*words_of(source, destination, size), [*c.to("127.0.0.1:%d,%d" % (c.free_ports(ports), ports)),
                                                         "-e2e", "timeout", TIMEOUT, *more], timeout=timeout, **kwargs)


def test_full():
    """A destination without room: known before, and found out while writing."""
    directory = s.tmpfs("small", 4 * MIB)
    if directory is None:
        t.skip("a full destination", s.sys_why())
        return
    size = 12 * MIB
    source, destination = c.write_random("source", size), os.path.join(directory, "destination")
    src, dst = local(source, destination, size)
    t.ok(src.status not in (0, "timeout") and dst.status not in (0, "timeout"), "a destination without room: both fail",
         "%s\n%s" % (src, dst))
    t.ok(re.search("No space left", dst.err), "a destination without room: it says so", dst)
    t.ok(re.search("operations failed on the destination", src.err), "a destination without room: the source says so", src)
    t.ok(not os.path.exists(destination) or os.path.getsize(destination) <= size, "a destination without room: its file")


def test_errors():
    size = 4 * MIB
    source, destination = c.write_random("source", size), t.path("destination")
    for name, fault in (("a read error", {"file": "/source", "start": 2 * MIB, "end": 2 * MIB + 1, "times": 1}),
                        ("a write error", {"file": "/destination", "start": 2 * MIB, "end": 2 * MIB + 1, "times": 1})):
        env = s.faults("eio", **fault)
        if env is None:
            t.skip(name, s.sys_why())
            continue
        for more in ([], ["-stoponerror"]):
            title = name + " " + " ".join(more)
            envs = (env, {}) if name == "a read error" else ({}, env)
            src, dst = local(source, destination, size, more, env=envs)
            both_fail(title, src, dst, (6, 6))
            t.ok(re.search("Input/output error", src.err + dst.err), title + ": it is named", "%s\n%s" % (src, dst))
            c.remove(destination)
    env = s.faults("hang", file="/destination", start=2 * MIB, end=2 * MIB + 1)
    if env is None:
        t.skip("a destination whose storage hangs", s.sys_why())
        return
    # Small buffers, so that the source cannot send all of it.
    src, dst = local(source, destination, size, ["-e2e", "sendbuffer", 65536, "-e2e", "receivebuffer", 65536], ports=1,
                     env=({}, env), timeout=TIMEOUT + GRACE)
    both_fail("a destination whose storage hangs", src, dst, (6, 6), ("no data moved", "."))


def test_truncated_source():
    """A source file that shrinks under the copy, and one that is shorter than the amount."""
    size = 4 * MIB
    source, destination = c.write_random("source", size - 100), t.path("destination")
    src, dst = local(source, destination, size)
    t.ok(src.status not in (0, "timeout") and dst.status not in (0, "timeout"), "a source that is too short: both fail",
         "%s\n%s" % (src, dst))


# A byte on its way


def flip_one(source, destination, size, flip, r):
    """A copy through the proxy; the proxy and both outcomes."""
    port = c.free_ports(2)
    proxy = c.Proxy(port, 2, flip)
    src_words, dst_words = words_of(source, destination, size, reqsize=16)
    limit = ["-e2e", "timeout", TIMEOUT]
    key = ["-e2e", "key", KEY] if r.random() < 0.3 else []
    src, dst = c.both(src_words, dst_words, c.to("127.0.0.1:%d,2" % proxy.base) + limit + key,
                      peer_more=c.to("127.0.0.1:%d,2" % port) + limit + key, timeout=TIMEOUT + GRACE)
    proxy.close()
    return proxy, src, dst


KEY = None


def test_flipped_byte():
    """Any byte, on any connection, in either direction."""
    global KEY
    size = MIB // 2 + 4321
    source, destination = c.write_random("source", size), t.path("destination")
    KEY = c.write_random("key", 32)
    os.chmod(KEY, 0o600)
    r = random.Random(20)
    proxy, src, dst = flip_one(source, destination, size, None, random.Random(1))
    both_well("through a proxy", src, dst, source, destination)
    sizes = {stream: n for stream, n in proxy.sizes.items() if n}
    t.ok(len(sizes) >= 4, "through a proxy: it has seen all connections", sizes)
    tries, undetected, wrong, unclear = 1000 if LONG else 20, [], [], []
    for i in range(tries):
        # Headers are few bytes: half of the tries are in the first and last 4 KiB of a stream.
        stream = r.choice(sorted(sizes))
        n = sizes[stream]
        at = r.choice([r.randrange(n), r.randrange(min(n, 4096)), n - 1 - r.randrange(min(n, 4096)), r.randrange(n)])
        flip = stream, at, r.randrange(8)
        proxy, src, dst = flip_one(source, destination, size, flip, r)
        equal = c.equal_files(source, destination)
        seen = "try %d, %s\n%s\n%s" % (i, flip, src, dst)
        if proxy.flipped and src.status == 0 and dst.status == 0:
            undetected.append(seen)
        if not equal and dst.status == 0 or not equal and src.status == 0:
            wrong.append(seen)
        if any(run.status not in range(7) or run.status != 0 and not last_line(run) for run in (src, dst)):
            unclear.append(seen)
        c.remove(destination)
    t.ok(not undetected, "a flipped byte: detected in %d tries" % tries, "\n".join(undetected[:3]))
    t.ok(not wrong, "a flipped byte: a wrong file is never called complete", "\n".join(wrong[:3]))
    t.ok(not unclear, "a flipped byte: both sides end in time, and say why", "\n".join(unclear[:3]))


LOCAL = (test_full, test_errors, test_truncated_source, test_flipped_byte)
if net.why_not():
    t.skip("faults of networks", net.why_not())
    t.run(*LOCAL)
else:
    t.run(test_bad_network, test_inverted_bits, test_cut, test_signals, *LOCAL)
t.done()
