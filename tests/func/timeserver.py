#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
timeserver and gettime: their words, output and statuses; hostile peers; servers that die, step, or are silent.
"""
import errno
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time

import xddnet as net
import xddports
import xddsys
import xddtest as t
import xddtime as g

NS = 10**9
STEP = 20 * 365 * 86400 * NS
PACKETS = 1000000 if os.environ.get("XDD_TEST_LONG") else 100000
LIB = os.path.join(os.environ["TOP_SRCDIR"], "tests/lib/xddtime.py")


def program(name):
    """A link to xdd with this name, as it is installed."""
    path = t.path(name)
    if not os.path.islink(path):
        os.symlink(os.path.abspath(t.XDD), path)
    return path


def serve(*words, prefix=()):
    """Start a timeserver; the process, and its port."""
    server = net.Started([*prefix, program("timeserver"), "-foreground", "-port", 0, *words])
    found = t.until(lambda: re.search(r"port (\d+), process %d\n" % server.pid, server.text()), server.process)
    return server, int(found.group(1))


def gettime(port, *words, host="127.0.0.1", **kwargs):
    return t.command([program("gettime"), "-timeserver", host, "-port", str(port), *(str(word) for word in words)], **kwargs)


def is_now(text, add=0):
    """Is that the time of a moment ago, in whole seconds without a newline?"""
    return re.fullmatch(r"\d+", text) and time.time() - 60 < int(text) - add <= time.time() + 1


# ---- words and output ----

def test_background():
    run = t.command([program("timeserver.Linux"), "-port", "0"])
    found = re.fullmatch(r"timeserver: listening on port (\d+), process (\d+)\n", run.out)
    if not t.ok(run.status == 0 and found and not run.err, "timeserver goes to the background, and says where it is", run):
        return
    port, pid = (int(word) for word in found.groups())
    try:
        t.equal(os.readlink("/proc/%d/cwd" % pid), "/", "... and leaves the directory")
        v6 = ["::1", "[::1]"] if os.path.exists("/proc/net/if_inet6") else []
        for host in ("127.0.0.1", "127.3.2.1", "localhost", *v6):
            run = gettime(port, "-bounce", 3, host=host)
            t.ok(run.status == 0 and is_now(run.out) and not run.err, "gettime of %s" % host, run)
        for host in v6:
            run = t.xdd(*"-op noop -targets 1 null -numreqs 1 -jsonout - -timeserver port".split(), port, "-timeserver", "host", host,
                        "-timeserver", "bounce", 3)
            t.ok(run.status == 0 and json.loads(run.out)["clock"]["server"] == "[::1]:%d" % port, "-timeserver host %s" % host, run)
        for host in ("127.0.0.1:1", "localhost:1", "[::1]:1"):
            run = gettime(port, host=host)
            t.ok(run.status == 1 and not run.out and run.err.endswith('; give its port by the option or word "port"\n'),
                 "a port in the host is refused, and the way to give it shown: %s" % host, run)
        for host in ("[127.0.0.1]", "[localhost]", "[::1", "[]", "[:]"):
            run = gettime(port, host=host)
            t.ok(run.status == 1 and not run.out and 'cannot find the host "%s"' % host in run.err and "port" not in run.err,
                 "brackets of another kind: %s" % host, run)
        run = t.command([program("timeserver"), "-port", str(port)])
        t.ok(run.status == 1 and not run.out and "another program has this port" in run.err, "a port that is in use", run)
    finally:
        os.kill(pid, 15)
    t.ok(t.until(lambda: xddsys.has_ended(pid)), "SIGTERM ends it")


def test_output():
    run = t.command([program("gettime.Linux"), "-timeserver", "127.0.0.1", "-port", str(PORT), "-add", "20"])
    t.ok(run.status == 0 and is_now(run.out, 20) and not run.err, "-add: later seconds", run)
    run = gettime(PORT, "-bounce", 7, "-verbose")
    t.ok(run.status == 0 and is_now(run.out) and
         re.match(r"gettime: 127.0.0.1:%d \(UDP\): \d+ exchanges, \d+ lost, 0 steps, round trip [\d.]+ us, drift [-\d.]+ ppm\n"
                  r"Global Time now is \d+ ns, \+- \d+ ns, at \d+ ns of the monotonic clock\n"
                  r"delta is -?\d+ ticks or -?\d\.\d{9} seconds\n$" % PORT, run.err), "-verbose", run)
    run = t.command([t.XDD, "gettime", "-t", "127.0.0.1", "-p", str(PORT)])
    t.ok(run.status == 0 and is_now(run.out), "xdd gettime", run)
    run = t.command(["sh", "-c", 'g=$("$0" -timeserver 127.0.0.1 -port "$1" -add 5); echo $((g + 1))', program("gettime"),
                     str(PORT)])
    t.ok(run.status == 0 and is_now(run.out.strip(), 6), "a shell computes with it", run)


def test_wrong_words():
    for words, status, text in ((["-port", "0"], 2, "-port 0: expected a whole number, 1 to 65535"), (["-bounce", "0"], 2, "expected a whole number, 1 to 10000"),
                                (["-add", "x"], 2, "-add x: expected"), (["-waitfortime", "1700000000"], 2, "milliseconds"),
                                (["word"], 2, "expected an option"), (["-bonce", "3"], 3, "did you mean -bounce"),
                                (["-add"], 2, "missing argument <seconds>")):
        run = gettime(PORT, *words)
        t.ok(run.status == status and not run.out and text in run.err and len(run.error_lines()) == 1,
             "gettime " + " ".join(words), run)
    run = t.command([program("gettime")])
    t.ok(run.status == 2 and "expected -timeserver <host>" in run.err, "gettime without a server", run)
    for words, status, text in ((["-port", "65536"], 2, "expected a whole number, 0 to 65535"), (["-bind", "192.0.2.1"], 1, "address of this host"),
                                (["-bind", "no.such.host.invalid"], 1, "cannot find the host"), (["-x"], 3, "is not an option")):
        run = t.command([program("timeserver"), *words])
        t.ok(run.status == status and not run.out and text in run.err and len(run.error_lines()) == 1,
             "timeserver " + " ".join(words), run)


def test_unreachable():
    port = xddports.free_ports(1)
    run = gettime(port)
    t.ok(run.status == 1 and not run.out and len(run.error_lines()) == 1 and
         "no answer from the time server 127.0.0.1:%d by UDP (Connection refused); start xdd timeserver there\n" % port in run.err,
         "no server: nothing on standard output", run)


def test_wait():
    """Late by less than 0.1 ms, as soon as the machine is idle for a moment. Until then the time may be over at once."""
    late = []
    while len(late) < 40 and (not late or min(late) >= 100000):
        # More time where a program takes longer to start.
        until_ms = time.time_ns() // 10**6 + min(50 << len(late) // 2, 2000)
        run = gettime(PORT, "-bounce", 5, "-waitfortime", until_ms, "-verbose", tolerate="is over since 0")
        late.append(int(re.search(r"now is (\d+)", run.err).group(1)) - until_ms * 10**6)
    t.ok(0 <= min(late) < 100000, "-waitfortime: at the right time", late)
    t.diag("late by %s us" % ", ".join("%.1f" % (n / 1000) for n in late))
    run = gettime(PORT, "-waitfortime", time.time_ns() // 10**6 - 5000, warns="is over since 5")
    t.ok(run.status == 0 and is_now(run.out), "-waitfortime in the past: a warning", run)


# ---- hostile peers ----

# A sanitizer keeps what is freed.
GROWTH_KIB = 8192 if xddsys.sanitized() else 64


def memory(pid):
    return int(re.search(r"VmRSS:\s+(\d+) kB", open("/proc/%d/status" % pid).read()).group(1))


def packets(rng):
    """Endless packets, of which none is to be answered."""
    valid = g.encode(nonce=rng.getrandbits(64), client=rng.getrandbits(60))
    while True:
        kind = rng.randrange(8)
        if kind == 0:
            yield rng.randbytes(rng.randrange(1400))
        elif kind == 1:
            yield valid[:rng.randrange(64)]
        elif kind == 2:
            yield valid + rng.randbytes(1 + rng.randrange(100))
        elif kind == 3:
            at = rng.randrange(512)
            yield valid[:at // 8] + bytes([valid[at // 8] ^ 1 << at % 8]) + valid[at // 8 + 1:]
        elif kind == 4:
            yield REPLIES[rng.randrange(len(REPLIES))]
        elif kind == 5:
            yield b"XDDT" + rng.randbytes(60)
        else:
            yield CHEAP[rng.randrange(len(CHEAP))]


REPLIES = [g.encode(g.REPLY, n, 1, n, n + 1, 5) for n in range(20)]
CHEAP = [g.encode(version=2), g.encode(kind=3), g.encode(kind=0), g.encode(client=2**63), g.encode(received=1),
         g.encode(zero=b"\1" + bytes(11)), g.encode(magic=b"XDD2"), g.encode(server=7)]


def received(s):
    """Sizes of what a socket has received."""
    sizes = []
    try:
        while True:
            sizes.append(len(s.recv(2000, socket.MSG_DONTWAIT)))
    except BlockingIOError:
        return sizes


def flood(port, n):
    """Send n packets, one in ten of them a valid one again and again; sizes of the answers to both kinds."""
    bad, replay = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for s in (bad, replay):
        s.connect(("127.0.0.1", port))
    source, same, answers = packets(random.Random(1)), g.encode(nonce=77), []
    for i in range(n):
        if i % 10:
            bad.send(next(source))
        else:
            replay.send(same)
            answers += received(replay)
    t.until(lambda: not answers.extend(received(replay)) and answers, seconds=5)
    return received(bad), answers


def test_flood():
    gettime(PORT)
    flood(PORT, 2000)
    before = memory(SERVER.pid)
    results, times = [], []
    thread = threading.Thread(target=lambda: results.extend(flood(PORT, PACKETS)))
    thread.start()
    while thread.is_alive():
        times.append(gettime(PORT, "-bounce", 10))
    thread.join()
    bad, replayed = results
    t.ok(times and all(run.status == 0 and is_now(run.out) for run in times),
         "%d times during %d malformed, truncated and repeated packets" % (len(times), PACKETS),
         [str(run) for run in times if run.status != 0])
    t.equal(bad, [], "nothing that is malformed is answered")
    t.ok(replayed and set(replayed) == {g.BYTES} and len(replayed) <= PACKETS // 10 + 1,
         "an answer is as long as its request, and there is one for each", len(replayed))
    t.ok(memory(SERVER.pid) <= before + GROWTH_KIB, "the server does not grow", (before, memory(SERVER.pid)))


def dropped(port):
    """How many packets the kernel has dropped of those to this port of IPv4."""
    with open("/proc/net/udp") as f:
        return sum(int(fields[-1]) for fields in map(str.split, f) if fields[1].endswith(":%04X" % port))


def test_filter():
    """The kernel drops packets of other sizes, and with other beginnings; all others reach the server."""
    bad = [b"XDDT" + bytes(size - 4) for size in (4, 63, 65)] + [bytes(64), b"XDDU" + bytes(60), b"TDDX" + bytes(60)]
    server, port = serve("-bind", "127.0.0.1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for data in bad + [b"XDDT" + bytes(60)]:
            s.sendto(data, ("127.0.0.1", port))
    run = gettime(port)
    t.ok(run.status == 0 and t.until(lambda: dropped(port) == len(bad)), "the kernel drops what is no request", (dropped(port), run))
    server.signal(15)
    server.end()


def sockets(pid):
    """How many descriptors of a process are sockets."""
    directory = "/proc/%d/fd" % pid
    return sum(os.readlink(os.path.join(directory, name)).startswith("socket:") for name in os.listdir(directory))


def test_socket():
    """No connection of a stranger, and one socket for all addresses."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        t.equal(s.connect_ex(("127.0.0.1", PORT)), errno.ECONNREFUSED, "the server does not listen by TCP")
    t.equal(sockets(SERVER.pid), 1, "all addresses share one socket")


def test_bind():
    server, port = serve("-bind", "127.0.0.2")
    t.equal((gettime(port, host="127.0.0.2").status, gettime(port).status), (0, 1), "-bind: answers on that address only")
    t.ok("listening on 127.0.0.2 port %d, " % port in server.text(), "... and says so", server.text())
    server.signal(15)
    t.equal(server.end().status, 0, "... without a warning")


def test_bind_name():
    """A name of several addresses, which a list of hosts of the test gives to it."""
    hosts = t.path("hosts")
    with open(hosts, "w") as f:
        f.write("".join("127.0.0.%d clocks\n" % n for n in (2, 3)))
    prefix = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
    if len(set(re.findall(r"^127\S+", t.command(prefix + ["getent", "ahosts", "clocks"]).out, re.M))) < 2:
        t.skip("-bind with several addresses", "no mounts in a namespace, or no name of several addresses")
        return
    server, port = serve("-bind", "clocks", prefix=prefix)
    answering = [host for host in ("127.0.0.2", "127.0.0.3") if gettime(port, host=host).status == 0]
    server.signal(15)
    run = server.end(warns="timeserver -bind clocks: is the name of several addresses; the server answers on %s:%d only" %
                     (answering[0] if answering else "?", port))
    t.ok(len(answering) == 1 and run.status == 0, "-bind with several addresses: the first, and a warning", (answering, run))


# ---- other servers ----

class Changing:
    """A server of the test in a process of its own, which is told to change."""

    def __init__(self, *words):
        self.process = subprocess.Popen([sys.executable, LIB, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        self.process.kill()
        self.process.communicate()


def test_silent():
    """A firewall that drops UDP: status 1 after the time limit, with advice."""
    server = Changing("lost=100")
    run = gettime(server.port, "-bounce", 5)
    t.ok(run.status == 1 and not run.out and len(run.error_lines()) == 1 and
         "no answer from the time server 127.0.0.1:%d by UDP (Connection timed out); start xdd timeserver there, and let UDP pass\n" %
         server.port in run.err, "a silent server: no time, and advice", run)
    server.end()


def test_slow():
    """A client waits longer for the first answer of a server than for later ones."""
    server = Changing("slow_us=1500000")
    run = gettime(server.port, "-bounce", 1)
    t.ok(run.status == 0 and is_now(run.out) and not run.err, "a server that answers after 1.5 s", run)
    server.end()


def test_impossible_times():
    """A server that claims to have had a request for longer than the exchange took says nothing about the time."""
    server = Changing("hold=%d" % (3600 * NS))
    run = gettime(server.port, "-bounce", 5)
    t.ok(run.status == 1 and not run.out and "by UDP (its times are impossible)\n" in run.err,
         "impossible times: no time, status 1", run)
    run = t.xdd("-op", "read", "-targets", 1, "null", "-reqsize", "4k", "-numreqs", 1, "-timeserver", "host", "127.0.0.1",
                "-timeserver", "port", server.port)
    t.ok(run.status == 1 and "its times are impossible" in run.err, "impossible times: no run", run)
    server.end()


# Changes of a server, and the warning of its client. STEP is longer than this host is up: the time was before its
# clock began.
CHANGES = (("nothing", "", None), ("step", "step=%d" % STEP, "stepped, or it was started again"),
           ("another server", "id", "stepped, or it was started again"), ("death", "", "does not answer any more"),
           ("another server with impossible times", "id hold=%d" % (3600 * NS), "does not answer any more"))


def change_servers():
    """Change the servers of clients that wait for a time, once each client knows the time; of each: title, good, why."""
    base = time.time_ns()
    origin = time.monotonic_ns()
    clock = g.Clock(base, 200, origin)
    servers = [Changing("base=%d" % base, "origin=%d" % origin, "ppm=200") for _ in CHANGES]
    # A client asks again after 1, 3 and 7 s, and just before the time.
    until_ms = clock.now() // 10**6 + 8000
    runs = [net.Started([program("gettime"), "-timeserver", "127.0.0.1", "-port", server.port, "-verbose", "-bounce", 10,
                         "-waitfortime", until_ms]) for server in servers]
    for server in servers:
        server.tell("answers=10")
    for server, (name, line, _) in zip(servers, CHANGES):
        if line:
            server.tell(line)
        if name == "death":
            server.end()
    results = []
    for server, run, (name, _, warning) in zip(servers, runs, CHANGES):
        end = run.end(warns=[warning] if warning else [])
        found = re.search(r"now is (\d+) ns, \+- (\d+) ns, at (\d+) ns", end.err)
        at, bound, local = (int(word) for word in found.groups()) if found else (0, 0, 0)
        truth = clock.at(local) + (STEP if name == "step" else 0)
        said = len(end.warnings) == 1 and warning in end.warnings[0] if warning else not end.warnings
        results.append(("%s: the time is within its bound" % name, end.status == 0 and abs(at - truth) <= bound and said,
                        (at - truth, bound, end.warnings, end)))
        server.end()
    return results


def test_changes():
    """Servers that step, begin again or die."""
    for title, good, why in change_servers():
        t.ok(good, title, why)


SERVER, PORT = serve()
t.run_together(test_background, test_output, test_wrong_words, test_unreachable, test_wait, test_flood, test_filter,
               test_socket, test_bind, test_bind_name, test_silent, test_slow, test_impossible_times, test_changes)
SERVER.signal(15)
t.equal(SERVER.end().status, 0, "the server has survived everything")
t.done()
