#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The emulated link of network tests (tests/lib/linkemu.c, tests/lib/xddnet.py), checked against ping, iperf3 and the
counters of the kernel: delay, jitter, loss, order, duplicates, rate, corruption, cuts; and that nothing of it stays.

Bounds allow for chance (more than four standard deviations). A frame is never early, and a busy machine makes it late
by any time: what the emulator decides of frames is exact, and is read from it.
"""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

import xddnet as net
import xddsys
import xddtest as t

if net.why_not("ping"):
    t.skip_all(net.why_not("ping"))

A4, B4, A6, B6 = "10.231.1.1", "10.231.1.2", "fd31:1::1", "fd31:1::2"


def make_link(*settings, **kwargs):
    """Two namespaces and a link between them that has found its neighbours."""
    a, b = net.namespace("a"), net.namespace("b")
    made = net.link(a, b, [A4 + "/24", A6 + "/64"], [B4 + "/24", B6 + "/64"], **kwargs)
    for address in (B4, B6):
        a.command("ping", "-c1", "-W5", address)
    made.set(*settings)
    return a, b, made


def remove(a, b, made):
    """Returns the last counters."""
    counters = made.end()
    a.remove()
    b.remove()
    return counters


Ping = collections.namedtuple("Ping", "sent times order duplicates run")


def ping(a, count, interval, address=B4):
    """Times of the replies in ms, by arrival, their numbers by arrival, and the number of duplicates."""
    run = a.command("ping", "-c", count, "-i", interval, "-W", "2", address)
    replies = re.findall(r"icmp_seq=(\d+) ttl=\d+ time=([\d.]+) ms( \(DUP!\))?", run.out)
    first = [(int(n), float(ms)) for n, ms, dup in replies if not dup]
    return Ping(count, [ms for _, ms in first], [n for n, _ in first], len(replies) - len(first), run)


def delays(made, way, n):
    """The delays in ms that the last `n` frames of a direction were given."""
    return [(fate.due - fate.arrived) / 1e6 for fate in made.fates()[way][-n:]]


def test_delay():
    a, b, made = make_link("a:delay=7", "b:delay=13")
    for address in (B4, B6):
        got = ping(a, 50, 0.02, address)
        t.equal(len(got.times), 50, "delay, %s: all replies arrive" % address, got.run)
        t.ok(min(got.times, default=0) >= 19.99, "delay, %s: none before its time" % address, got.run)
        t.equal([set(delays(made, way, 50)) for way in "ab"], [{7.0}, {13.0}], "delay, %s: each frame has it" % address)
    made.set("delay=0")
    got = ping(a, 50, 0.02)
    t.equal([len(got.times)] + [set(delays(made, way, 50)) for way in "ab"], [50, {0.0}, {0.0}], "no delay", got.run)
    remove(a, b, made)


def test_jitter():
    a, b, made = make_link("delay=20", "a:jitter=5")
    got = ping(a, 200, 0.012)
    n = len(got.times)
    t.equal((n, got.order), (200, sorted(got.order)), "jitter: all replies arrive in order", got.run)
    t.ok(n and min(got.times) >= 34.99, "jitter: none before its time", got.run)
    given = delays(made, "a", 200)
    # 50, with a standard deviation of 6. A frame that came late and close to the one before it may have to wait for it.
    t.ok(min(given) >= 15 and 25 < sum(ms < 17.5 for ms in given) < 75 and 25 < sum(ms > 22.5 for ms in given) < 75,
         "jitter: a quarter of the frames has the least delays, a quarter the longest", given)
    t.equal(set(delays(made, "b", 200)), {20.0}, "jitter: none in the other direction")
    remove(a, b, made)


def test_loss():
    a, b, made = make_link("a:loss=5")
    before = made.counters()
    got = ping(a, 1000, 0.002)
    after = made.counters()
    lost = 1000 - len(got.times)
    # 50, with a standard deviation of 7.
    t.ok(20 < lost < 80, "loss=5: about 5 % of 1000 replies are missing", got.run)
    counted = after["a"]["lost"] - before["a"]["lost"]
    t.ok(lost <= counted <= lost + 10, "loss=5: its counter agrees with ping", (lost, counted))
    made.set("loss=1/10")
    before = made.counters()
    got = ping(a, 200, 0.005)
    after = made.counters()
    for way in "ab":
        received, lost = (after[way][name] - before[way][name] for name in ("received", "lost"))
        t.ok(received // 10 <= lost <= received // 10 + 1, "loss=1/10, %s: one frame of ten" % way, (before, after))
    remove(a, b, made)


def test_order():
    a, b, made = make_link("a:reorder=1/10", "a:late=25")
    got = ping(a, 100, 0.01)
    t.equal(sorted(got.order), list(range(1, 101)), "reorder: all replies arrive", got.run)
    given = delays(made, "a", 100)
    late = [i for i, ms in enumerate(given) if ms == 25]
    t.ok(len(late) == 10 and late == list(range(late[0], 100, 10)) and given.count(0) == 90, "reorder: one of ten is late", given)
    fates = sorted(made.fates()["a"][-100:], key=lambda fate: fate.due)
    t.equal(got.order != sorted(got.order), fates != sorted(fates), "reorder: others overtake it, if they came in time", got.run)
    made.set("reorder=0", "b:duplicate=20")
    before = made.counters()
    got = ping(a, 200, 0.005)
    after = made.counters()
    t.ok(10 < got.duplicates < 80, "duplicate=20: about 40 of 200 replies arrive twice", got.run)
    counted = after["b"]["duplicated"] - before["b"]["duplicated"]
    t.ok(got.duplicates <= counted <= got.duplicates + 5, "duplicate=20: its counter agrees with ping", (counted, got.run))
    remove(a, b, made)


def iperf(a, b, *args):
    """Mbit/s that the server received, or None and its output."""
    server = b.start("iperf3", "-s", "-1")
    if not b.wait_for_port(5201, server):
        return None, server.text()
    run = a.command("iperf3", "-c", B4, "-J", *args, timeout=60)
    server.end(timeout=20)
    try:
        return json.loads(run.out)["end"]["sum_received"]["bits_per_second"] / 1e6, run
    except (KeyError, ValueError):
        return None, run


def paced_wrong(fates, mbit, delay_ms):
    """Frames whose last byte does not leave the queue as the rate says: (number, the frame)."""
    wrong, free = [], None
    for n, fate in enumerate(fates):
        leaves = fate.due - delay_ms * 1000000
        if free is not None and leaves != max(free, fate.arrived) + fate.length * 8000 // mbit:
            wrong.append((n, fate))
        free = leaves
    return wrong


def test_rate():
    if not t.have("iperf3"):
        t.skip("rates", "iperf3 is not installed")
        return
    for mbit, delay_ms, words in ((50, 5, ()), (1000, 25, ("queue=100",))):
        a, b, made = make_link("rate=%d" % mbit, "delay=%d" % delay_ms, *words)
        # Until both devices are up, the first frames are refused.
        refused = made.counters()["a"]["refused"]
        got, run = iperf(a, b, "-P", "4", "-t", "2", "-O", "1")
        title = "rate=%d %s: " % (mbit, " ".join(words))
        # Frames that wait may arrive together: their times of departure have the rate.
        t.ok(got, title + "iperf3 receives data", run)
        fates = made.fates()
        t.equal([(len(fates[way]), paced_wrong(fates[way], mbit, delay_ms)) for way in "ab"], [(256, [])] * 2,
                title + "each frame leaves when the one before it has left, at this rate")
        counters = remove(a, b, made)
        t.equal(counters["a"]["refused"], refused, title + "no frame is dropped that no setting drops", counters)


# Send `sys.argv[2]` bytes of a known sequence; receive them, and report their number and the number of wrong bits.
SEND = r"""
import socket, sys
data = bytes(range(256)) * 512
with socket.create_connection((sys.argv[1], 7777)) as s:
    size, sent = int(sys.argv[2]), 0
    while sent < size:
        sent += s.send(data[sent % 65536:][:min(65536, size - sent)])
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
"""
RECEIVE = r"""
import socket, sys
right = bytes(range(256)) * 512
with socket.create_server(("::", 7777), family=socket.AF_INET6, dualstack_ipv6=True) as s:
    s, _ = s.accept()
    got = wrong = 0
    while True:
        data = s.recv(65536)
        if not data:
            break
        expected = right[got % 65536:][:len(data)]
        if data != expected:
            x = int.from_bytes(data, "big") ^ int.from_bytes(expected, "big")
            wrong += bin(x).count("1")
        got += len(data)
    print(got, wrong)
"""


def start_copy(a, b, address, size, stopped=False):
    """The receiver, which is `stopped` before there is a sender, and the sender."""
    receiver = b.start(sys.executable, "-c", RECEIVE)
    b.wait_for_port(7777, receiver)
    if stopped:
        t.ok(xddsys.stop(receiver.pid), "the receiver stands still")
    return receiver, a.start(sys.executable, "-c", SEND, address, size)


def copied(receiver, sender):
    """Bytes received, and wrong bits."""
    run = receiver.end(60)
    sender.end(10)
    return tuple(int(word) for word in run.out.split())


def tcp_counter(ns, name):
    found = [line.split() for line in ns.read("/proc/net/snmp").splitlines() if line.startswith("Tcp:")]
    return int(dict(zip(*found))[name])


def checksum_errors(ns):
    return tcp_counter(ns, "InCsumErrors")


def test_corruption():
    a, b, made = make_link()
    size = 3000001
    for address in (B4, B6):
        made.set("a:corrupt=1/50", "fix=0")
        before, errors = made.counters(), checksum_errors(b)
        t.equal(copied(*start_copy(a, b, address, size)), (size, 0), "corrupt, %s: the kernel repairs it" % address)
        counted = made.counters()["a"]["corrupted"] - before["a"]["corrupted"]
        t.ok(counted >= size / 1500 // 50 - 1, "corrupt, %s: one segment of 50" % address, counted)
        t.equal(checksum_errors(b) - errors, counted, "corrupt, %s: the kernel counts as many wrong checksums" % address)
        made.set("fix=1")
        before, errors, repeated = made.counters(), checksum_errors(b), tcp_counter(a, "RetransSegs")
        got, wrong = copied(*start_copy(a, b, address, size))
        counted = made.counters()["a"]["corrupted"] - before["a"]["corrupted"]
        # On a busy machine TCP sends segments again that have arrived; the receiver ignores one of the two.
        repeated = tcp_counter(a, "RetransSegs") - repeated
        t.ok(got == size and max(1, counted - repeated) <= wrong <= counted,
             "corrupt, %s, fix=1: each is a wrong bit for the program" % address, (got, wrong, counted, repeated))
        t.equal(checksum_errors(b) - errors, 0, "corrupt, %s, fix=1: and unknown to the kernel" % address)
    remove(a, b, made)


def test_cut():
    a, b, made = make_link("delay=1")
    # A receiver that is stopped, with room for a part: the copy is in progress until the test goes on.
    b.sysctl("ipv4.tcp_rmem", "4096 131072 1000000")
    before = made.counters()["a"]["sent_bytes"]
    receiver, sender = start_copy(a, b, B4, 5000000, stopped=True)
    t.ok(t.until(lambda: made.counters()["a"]["sent_bytes"] - before > 100000), "data passes before the cut", made.counters())
    made.cut()
    receiver.signal(signal.SIGCONT)

    def drops_more(than):
        """The sender tries again and again."""
        return t.until(lambda: made.counters()["a"]["cut"] > than)
    cut = drops_more(0)
    passed = made.counters()["a"]
    more = drops_more(passed["cut"])
    t.equal((cut, more, made.counters()["a"]["sent"]), (True, True, passed["sent"]), "cut: nothing passes", made.counters())
    t.ok(receiver.running() and sender.running(), "cut: both ends wait")
    begin = time.monotonic()
    made.cut(0.5)
    t.equal(copied(receiver, sender), (5000000, 0), "cut for 0.5 s: the copy goes on, and is complete")
    t.ok(time.monotonic() - begin >= 0.5, "cut for 0.5 s: not before that time", time.monotonic() - begin)
    t.ok(made.counters()["a"]["cut"] > 0, "cut: is counted", made.counters())
    made.cut()
    got = ping(a, 3, 0.1)
    t.equal(got.times, [], "cut for good: no replies", got.run)
    made.heal()
    t.ok(t.until(lambda: ping(a, 1, 0.1).times), "healed: replies again")
    t.ok(not made.set("losss=1") and not made.set("loss=101") and not made.set("delay=x"), "bad settings are refused")
    t.ok(made.set("loss=1", "b:delay=2"), "good ones are not")
    remove(a, b, made)


def test_names():
    """Pairs of devices, host names, commands in the background."""
    a, b = net.namespace("a"), net.namespace("b")
    net.veth(a, b, ["10.231.2.1/24"], ["10.231.2.2/24"])
    net.veth(a, b, ["fd31:3::1/64"], ["fd31:3::2/64"])
    a.hosts({"other": "10.231.2.2", "other6": "fd31:3::2"})
    t.equal([a.command("ping", "-c1", "-W5", name).status for name in ("other", "other6")], [0, 0],
            "two pairs of devices, by the names of hosts")
    sleeper = b.start("sleep", "1000")
    sleeper.signal(signal.SIGTERM)
    t.equal(sleeper.end(20).status, -signal.SIGTERM, "a signal reaches the command itself")
    t.equal(b.start("sleep", "1000").end(0.1).status, "timeout", "a command that does not end")
    a.remove()
    b.remove()


# The helper in a test that fails: by an exception, and killed.
FAILING = r"""
import os, signal, sys
import xddnet as net
a, b = net.namespace("a"), net.namespace("b")
a.hosts({"x": "10.0.0.1"})
link = net.link(a, b, ["10.231.4.1/24"], ["10.231.4.2/24"])
sleeper = a.start("sleep", "1000")
print(a.name, b.name, link.process.pid, sleeper.pid, flush=True)
if sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
raise ValueError
"""


def left(words):
    """The namespaces and processes of these that still exist."""
    names = [name for name in words[:2] if os.path.exists("/run/netns/" + name) or os.path.exists("/etc/netns/" + name)]
    return names + [pid for pid in words[2:] if os.path.exists("/proc/%s/exe" % pid)]


def test_nothing_stays():
    for how in ("raise", "kill"):
        child = subprocess.Popen([sys.executable, "-c", FAILING, how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 text=True)
        words = child.communicate(timeout=60)[0].split()
        t.equal((len(words), how == "kill", child.returncode), (4, child.returncode < 0, child.returncode),
                "%s: the helper's test has begun" % how)
        if how == "kill":
            t.ok(words[0] in left(words), "kill: leaves its namespaces", left(words))
            subprocess.run([sys.executable, "-c", "import xddnet; print(xddnet.why_not())"], check=False, timeout=60)
        t.equal(t.until(lambda: not left(words)), True, "%s: nothing stays" % how, left(words))


t.run_all()
