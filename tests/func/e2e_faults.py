#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
End-to-end copies while things go wrong: loss, delay, reordering, bits inverted on the way, a link that is cut, a side
that is killed, stopped or interrupted, storage that fails or is full on either side. A wrong file is never called
complete, and both sides end in time, with the right status and a reason.
"""
import concurrent.futures
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import time

import messages as m
import xdde2e as e
import xddjson
import xddnet as net
import xddports
import xddproxy
import xddsys as s
import xddtest as t

# A first message with an inverted bit is refused.
t.tolerate(m.E2E_REFUSED)

LONG = bool(os.environ.get("XDD_TEST_LONG"))
MIB = 1 << 20
NUMBERS = itertools.count()
ADDRESS = "10.240.1.2"
# The limit of each step in seconds, and the time that an end may take beyond it on a busy machine.
TIMEOUT, GRACE = 4, 15


def copy_of(source, destination, size, *both, writes=(), **kwargs):
    """An e.Copy of `size` bytes, in requests of 64 KiB; each side writes a document."""
    both = ("-reqsize", 64, "-e2e", "timeout", TIMEOUT, *both)
    documents = [t.path("%s.%d.json" % (side, next(NUMBERS))) for side in ("source", "destination")]
    copy = e.Copy(source, destination, both, reads=["-bytes", size, "-jsonout", documents[0]],
                  writes=["-jsonout", documents[1], *writes], **dict({"timeout": TIMEOUT + 3 * GRACE}, **kwargs))
    copy.source.document, copy.destination.document = documents
    return copy


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


def both_fail(title, copy, statuses, texts=(".", ".")):
    """Both sides end with these statuses, each with one line that matches its text."""
    t.equal(copy.statuses(), statuses, title + ": the statuses of source and destination", copy)
    for side, text in ((copy.source, texts[0]), (copy.destination, texts[1])):
        if side.run.status not in (-signal.SIGKILL, "timeout", 5):
            t.ok(re.search(text, last_line(side.run)), "%s: the %s says why" % (title, side.name), side.run)
        # A side that was not ready to run when it failed has no results.
        if side.run.status in (5, 6) and os.path.exists(getattr(side, "document", "")):
            xddjson.check(side.document, "%s: the document of the %s" % (title, side.name))


def both_well(title, copy):
    t.equal(copy.statuses(), (0, 0), title + ": both sides end well", copy)
    t.ok(e.same_files(copy.source_files[0], copy.destination_files[0]), title + ": the files are equal")
    remove(copy.destination_files[0])


def remove(file):
    if os.path.exists(file):
        os.unlink(file)


# The network


def bad_network(ordering):
    size = 12 * MIB + 77
    source, destination = e.random_file("source", size), t.path("destination")
    network = Network("delay=25")
    for settings in ("loss=1", "reorder=2 late=3", "jitter=8 duplicate=1", "corrupt=1", "loss=1 reorder=1 corrupt=1",
                     "loss=0.5 rate=40"):
        network.link.set("loss=0", "reorder=0", "jitter=0", "duplicate=0", "corrupt=0", "rate=0")
        network.link.set(*settings.split())
        # TCP waits twice as long after each loss: where the machine stands still as well, for more than 30 s.
        copy = copy_of(source, destination, size, "-e2e", "timeout", 120, writes=["-ordering", "storage", ordering],
                       addresses=[ADDRESS + ":7000,4"], namespaces=network.ns, timeout=t.TIMEOUT)
        both_well("50 ms and %s, -ordering %s" % (settings, ordering), copy.run())
    network.end()


def test_bad_network():
    bad_network("none")


def test_bad_network_in_order():
    bad_network("serial")


def start_slowly(network, source, destination, size, *both):
    """A copy that takes a few seconds, once data flows."""
    network.link.set("rate=20")
    begin = network.link.counters()["a"]["sent_bytes"]
    copy = copy_of(source, destination, size, *both, addresses=[ADDRESS + ":7000,2"], namespaces=network.ns).start()
    t.until(lambda: network.link.counters()["a"]["sent_bytes"] > begin + size // 10)
    return copy


def test_inverted_bits():
    """Bits that TCP does not notice."""
    size = 4 * MIB
    source, destination = e.random_file("source", size), t.path("destination")
    network = Network("fix=1")
    for sender, setting in (("source", "a:corrupt=1/20"), ("destination", "b:corrupt=100")):
        copy = start_slowly(network, source, destination, size)
        network.link.set(setting, "rate=0")
        both_fail("inverted bits in what the %s sends" % sender, copy.finish(), (6, 6))
        network.link.set("corrupt=0")
    network.end()


def test_cut():
    size = 8 * MIB
    source, destination = e.random_file("source", size), t.path("destination")
    network = Network()
    copy = start_slowly(network, source, destination, size, "-e2e", "timeout", 30)
    network.link.cut(5)
    time.sleep(1)
    network.link.set("rate=0")
    both_well("a link that is cut for 5 s", copy.finish())
    t.ok(copy.source.seconds > 5, "a link that is cut for 5 s: the copy waits for it", copy.source.seconds)
    copy = start_slowly(network, source, destination, size)
    network.link.cut()
    begin = time.monotonic()
    both_fail("a link that is cut for good", copy.finish(), (6, 6))
    seconds = time.monotonic() - begin
    t.ok(TIMEOUT * 0.5 < seconds < TIMEOUT + GRACE, "a link that is cut for good: ends after -e2e timeout", seconds)
    network.end()


# The sides


def signal_one(network, which, number):
    """A copy in which one side gets a signal, and how long the end of the other took."""
    size = 8 * MIB
    # Only SIGSTOP is to end by the timeout: that is longer for the others, as the machine may stand still before them.
    patience = () if number == signal.SIGSTOP else ("-e2e", "timeout", 30)
    copy = start_slowly(network, e.random_file("source", size), t.path("destination"), size, *patience)
    victim, other = (copy.source, copy.destination) if which == "source" else (copy.destination, copy.source)
    begin = time.monotonic()
    victim.signal(number)
    other.finish()
    seconds = time.monotonic() - begin
    if number == signal.SIGSTOP:
        victim.signal(signal.SIGCONT)
    victim.finish()
    return copy, seconds


def test_signals():
    network = Network()
    for which, other in (("source", "destination"), ("destination", "source")):
        def statuses(of_victim):
            return (of_victim, 6) if which == "source" else (6, of_victim)  # pylint: disable=cell-var-from-loop
        title = "kill -9 of the " + which
        copy, seconds = signal_one(network, which, signal.SIGKILL)
        both_fail(title, copy, statuses(-signal.SIGKILL))
        t.ok(seconds < GRACE, "%s: the %s ends at once" % (title, other), seconds)

        title = "SIGINT for the " + which
        copy, seconds = signal_one(network, which, signal.SIGINT)
        both_fail(title, copy, statuses(5), ["%s was interrupted by signal 2" % which] * 2)
        t.ok(seconds < GRACE, "%s: the %s ends at once" % (title, other), seconds)

        title = "SIGSTOP of the " + which
        copy, seconds = signal_one(network, which, signal.SIGSTOP)
        both_fail(title, copy, (6, 6))
        t.ok(TIMEOUT * 0.5 < seconds < TIMEOUT + GRACE, "%s: the %s ends after -e2e timeout" % (title, other), seconds)
    network.end()


# The storage


def with_fault(side, what, **settings):
    """Arguments of a copy whose side has this fault of s.faults(); None when that cannot be."""
    env = s.faults(what, **settings)
    return env and {"prefix_" + side: ["env"] + ["%s=%s" % item for item in env.items()]}


def test_full():
    """A destination without room."""
    directory = s.tmpfs("small", 4 * MIB)
    if directory is None:
        t.skip("a full destination", s.sys_why())
        return
    size = 12 * MIB
    source, destination = e.random_file("source", size), os.path.join(directory, "destination")
    copy = copy_of(source, destination, size, ports=2).run()
    both_fail("a full destination", copy, (6, 6),
              ("operations failed on the destination, the first: write of .*: No space left on device", "No space left"))
    remove(destination)
    copy = copy_of(source, destination, size, "-stoponerror", ports=2).run()
    both_fail("a full destination, -stoponerror", copy, (6, 6),
              ("the destination: write of .* at offset .*: No space left on device", "No space left"))


def test_errors():
    size = 4 * MIB
    source, destination = e.random_file("source", size), t.path("destination")
    for side, name in (("source", "a read error"), ("destination", "a write error")):
        fault = with_fault(side, "eio", file="/" + side, start=2 * MIB, end=2 * MIB + 1, times=1)
        if fault is None:
            t.skip(name, s.sys_why())
            continue
        for more in ([], ["-stoponerror"]):
            title = " ".join([name, *more])
            copy = copy_of(source, destination, size, *more, ports=2, **fault).run()
            both_fail(title, copy, (6, 6))
            t.ok("Input/output error" in getattr(copy, side).run.err, title + ": it is named", copy)
            other = copy.destination if side == "source" else copy.source
            t.ok(re.search("the %s%s .* at offset .*: Input/output error" % (side, ":" if more else ", the first:"),
                           last_line(other.run)),
                 title + ": the other side names it too", copy)
            remove(destination)


def test_not_opened():
    """A destination that cannot be opened, because the file is a program that runs: its source has connected by then."""
    size = MIB
    destination = shutil.copy(shutil.which("sleep"), t.path("program"))
    with subprocess.Popen([destination, "300"]) as program:
        copy = copy_of(e.random_file("source", size), destination, size).run()
        program.kill()
    both_fail("a destination that is busy", copy, (4, 4), ("the destination: .*Text file busy", "Text file busy"))


def test_hang():
    """Storage that does not answer: with small buffers, so that the source cannot send all of the data."""
    size = 4 * MIB
    fault = with_fault("destination", "hang", file="/destination", start=2 * MIB, end=2 * MIB + 1)
    if fault is None:
        t.skip("a destination whose storage hangs", s.sys_why())
        return
    # Signs of life come each second: before the source ends, ten of them would have to fail.
    sides = e.Copy(e.random_file("source", size), t.path("destination"),
                   ["-reqsize", 64, "-e2e", "sendbuffer", 65536, "-e2e", "receivebuffer", 65536],
                   reads=["-bytes", size, "-e2e", "timeout", 10], writes=["-e2e", "timeout", 60], timeout=t.TIMEOUT, **fault)
    copy = sides.run()
    both_fail("a destination whose storage hangs", copy, (6, 6), ("no data moved", "."))


# A byte on its way


def flip_one(source, number, size, flip, key):
    """Copy number `number` goes through a proxy; both, and true where the files are equal."""
    destination = t.path("destination.%d" % number)
    port = xddports.free_ports(2)
    proxy = xddproxy.Proxy(port, 2, flip)
    copy = copy_of(source, destination, size, *key, addresses=["127.0.0.1:%d,2" % port],
                   through=["127.0.0.1:%d,2" % proxy.base]).run()
    proxy.close()
    same = e.same_files(source, destination)
    remove(destination)
    return proxy, copy, same


# The record that closes TLS; it follows the last message of the session.
TLS_END = 24
# The version in the header of the first record, which TLS ignores (RFC 8446, 5.1). Encrypted records authenticate theirs.
TLS_VERSION = (1, 2)
GREETING = 184     # HELLO and WELCOME at most


def choose_flip(r, sizes):
    """A stream, a byte of it, and a bit. Headers are few bytes: half of the tries are near the ends of the stream."""
    stream = r.choice(sorted(sizes))
    n = sizes[stream]
    at = r.choice((r.randrange(n), r.randrange(n), r.randrange(min(n, 4096)), n - 1 - r.randrange(min(n, 4096))))
    return stream, at, r.randrange(8)


def test_flipped_byte():
    """Any byte, on any connection, in either direction, with a key or without; several copies at a time."""
    size = MIB // 2 + 4321
    source = e.random_file("source", size)
    keys = [], [], ["-e2e", "key", e.random_file("key", 32)]
    os.chmod(keys[2][2], 0o600)
    r = random.Random(20)
    proxy, copy, same = flip_one(source, 0, size, None, [])
    t.equal((copy.statuses(), same), ((0, 0), True), "through a proxy: both sides end well, and the files are equal", copy)
    sizes = {stream: n for stream, n in proxy.sizes.items() if n}
    t.ok(len(sizes) >= 4, "through a proxy: it has seen all connections", sizes)
    tries, flipped, undetected, wrong, unclear = 1000 if LONG else 20, 0, [], [], []
    chosen = [(choose_flip(r, sizes), r.choice(keys)) for _ in range(tries)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        copies = list(pool.map(lambda i: flip_one(source, i, size, *chosen[i]), range(tries)))
    for i, ((flip, key), (proxy, copy, same)) in enumerate(zip(chosen, copies)):
        if key and proxy.flipped and (flip[1] >= proxy.sizes[flip[0]] - TLS_END or flip[1] in TLS_VERSION):
            proxy.flipped = False
        statuses, seen = copy.statuses(), "try %d, %s\n%s" % (i, flip, copy)
        # The source tries again where its first message, or the answer to it, was damaged.
        greeting = not key and flip[0][:2] == (0, 0) and flip[1] < GREETING and statuses == (0, 0)
        flipped += proxy.flipped
        if proxy.flipped and statuses == (0, 0) and not greeting:
            undetected.append(seen)
        if 0 in statuses and not same:
            wrong.append(seen)
        if any(run.status not in range(7) or run.status != 0 and not last_line(run)
               for run in (copy.source.run, copy.destination.run)):
            unclear.append(seen)
    # The streams of a data connection differ in length from copy to copy; a thread that is late gets none of the file.
    t.ok(flipped > 0.5 * tries, "a flipped byte: most tries have one", (flipped, tries))
    t.ok(not undetected, "a flipped byte: detected in %d tries" % tries, "\n".join(undetected[:3]))
    t.ok(not wrong, "a flipped byte: a wrong file is never called complete", "\n".join(wrong[:3]))
    t.ok(not unclear, "a flipped byte: both sides end in time, and say why", "\n".join(unclear[:3]))


LOCAL = (test_full, test_errors, test_not_opened, test_hang, test_flipped_byte)
if net.why_not():
    t.skip("faults of networks", net.why_not())
    t.run_together(*LOCAL)
else:
    t.run_together(test_bad_network, test_bad_network_in_order, test_inverted_bits, test_cut, test_signals, *LOCAL)
t.done()
