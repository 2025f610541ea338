#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
End-to-end copies between hosts, which are network namespaces: the guide's examples 10.5 and 10.6 as printed, on its
addresses and two interfaces, over IPv4 and IPv6, by numbers and by names of hosts.
"""
import os
import re
import signal

import messages as m
import xdde2e as e
import xddnet as net
import xddtest as t

if net.why_not():
    t.skip_all(net.why_not())

# The guide's amount is for the long test.
MBYTES = 3000 if os.environ.get("XDD_TEST_LONG") else 300
MIB = 1 << 20

# The addresses of the guide, and one for IPv6 each; all those of an interface belong to the destination.
INTERFACES = (["192.168.17.10", "192.168.1.5", "192.168.2.5", "fd00:1::5"],
              ["192.168.3.5", "192.168.4.5", "fd00:3::5"])


def with_length(address):
    return address + ("/64" if ":" in address else "/24")


def neighbour(address):
    """The source's address in the same network."""
    return re.sub("[0-9]+$", "77", address)


class Hosts:
    """Host A, the source, and host B, the destination."""

    def __init__(self):
        self.a, self.b = net.namespace("hostA"), net.namespace("hostB")
        self.devices = [net.veth(self.a, self.b, [with_length(neighbour(x)) for x in addresses],
                                 [with_length(x) for x in addresses])[0] for addresses in INTERFACES]
        self.a.hosts({"hostB": "192.168.17.10", "hostB6": "fd00:1::5"})
        self.b.hosts({"hostB": "192.168.17.10", "hostB6": "fd00:1::5"})

    def sent(self):
        """Bytes that A has sent through each interface."""
        rows = dict(re.findall(r"^ *(\S+): *(.*)", self.a.read("/proc/net/dev"), re.M))
        return [int(rows[device].split()[8]) for device in self.devices]


HOSTS = Hosts()


def copy(title, source, destination, files=None, first="destination"):
    """Run both sides with these words: they end well, and the files are equal."""
    sides = [e.Side("source", source), e.Side("destination", destination)]
    for side in sides if first == "source" else reversed(sides):
        side.start(prefix=HOSTS.a.words() if side.name == "source" else HOSTS.b.words())
    src, dst = (side.finish() for side in sides)
    t.equal((src.status, dst.status), (0, 0), title + ": both sides end well", "%s\n%s" % (src, dst))
    if files:
        t.ok(e.same_files(*files), title + ": the files are equal")
        os.unlink(files[1])
    return src, dst


def check_percentage(title, run):
    """The value at the end of each result line: the share of the time that went into the network."""
    lines = [line for line in run.out.splitlines() if re.match(r" *(TARGET_PASS|TARGET_AVERAGE|COMBINED)", line)]
    values = [float(line.split()[-1]) for line in lines if re.fullmatch(r"[\d.]+", line.split()[-1])]
    t.ok(lines and len(values) == len(lines) and all(0 <= value <= 100 for value in values),
         title + ": result lines end with a percentage", run)


def test_example_10_5():
    foo1, foo2 = t.path("foo1"), t.path("foo2")
    with open(e.random_file("foo1", 8 * MIB), "r+b") as f:
        f.truncate(MBYTES * MIB)
    words = "-reqsize 4096 -mbytes %d -verbose" % MBYTES
    for host in ("192.168.17.10", "[fd00:1::5]", "hostB", "hostB6"):
        title = "example 10.5, %s" % host
        to = ["-e2e", "destination", host, "-e2e", "port", 2010]
        src, dst = copy(title, ["-op", "read", "-targets", 1, foo1, *words.split(), "-e2e", "issource", *to],
                        ["-op", "write", "-targets", 1, foo2, *words.split(), "-e2e", "isdestination", *to], (foo1, foo2))
        check_percentage(title + ", source", src)
        check_percentage(title + ", destination", dst)


def test_example_10_6():
    plus = "-reqsize 1024 -mbytes %d -verbose" % MBYTES
    for four in (["192.168.%d.5:40010,4" % i for i in (1, 2, 3, 4)],
                 ["[fd00:1::5]:40010,4", "[fd00:3::5]:40010,4", "192.168.2.5:40010,4", "hostB:40010,4"]):
        title = "example 10.6, " + four[0]
        before = HOSTS.sent()
        src, dst = copy(title, ["-targets", 1, "null", "-op", "read", "-e2e", "issource", *e.to(four), *plus.split()],
                        ["-targets", 1, "null", "-op", "write", "-e2e", "isdestination", *e.to(four), *plus.split()])
        for side, run in (("source", src), ("destination", dst)):
            row = run.row("COMBINED")
            t.equal(row and int(row["Bytes_Xfered"]), MBYTES * MIB, "%s, %s: all bytes" % (title, side), run)
        sent = [after - b for after, b in zip(HOSTS.sent(), before)]
        # QThreads take the next operation when they are ready, so the shares may differ.
        t.ok(min(sent) > MBYTES * MIB / 20 and sum(sent) > MBYTES * MIB,
             "%s: the data goes through both interfaces" % title, sent)


def test_file_over_four_addresses():
    size = 40 * MIB + 12345
    source, destination = e.random_file("source", size), t.path("destination")
    four = e.to("192.168.%d.5:40010,2" % i for i in (1, 2, 3, 4))
    for order in ("none", "serial", "loose"):
        for first in ("destination", "source"):
            copy("a file over four addresses, -ordering %s, %s first" % (order, first),
                 ["-op", "read", "-targets", 1, source, "-reqsize", 256, "-bytes", size, "-e2e", "issource", *four],
                 ["-op", "write", "-targets", 1, destination, "-reqsize", 256, "-ordering", "storage", order, "-e2e",
                  "isdestination", *four], (source, destination), first)


def test_listens_only_there():
    """The destination listens on the addresses that it was given, and on no other."""
    side = HOSTS.b.start_xdd(*"-op write -targets 1 null -reqsize 1024 -e2e isdestination".split(),
                             *e.to(["192.168.1.5:40010,2", "[fd00:1::5]:40020,1"]))
    HOSTS.b.wait_for_port(40010, side)
    HOSTS.b.wait_for_port(40020, side)
    listening = sorted(line.split()[3] for line in HOSTS.b.command("ss", "-Htln").out.splitlines())
    t.equal(listening, ["192.168.1.5:40010", "192.168.1.5:40011", "[fd00:1::5]:40020"],
            "it listens on the addresses and ports that were given")
    side.signal(signal.SIGINT)
    t.equal(side.end(20, tolerate=m.E2E_NO_KEY).status, 5, "a destination that waits ends by SIGINT with status 5")


def test_no_route():
    """A destination that cannot be reached, and names that do not resolve."""
    words = "-op read -targets 1 null -reqsize 1024 -mbytes 10 -e2e issource -e2e timeout 3".split()
    for host in ("192.168.17.99", "198.51.100.1", "nosuchhost.invalid"):
        run = HOSTS.a.xdd(*words, *e.to([host + ":40010,1"]), timeout=60)
        t.ok(run.status not in (0, "timeout") and len(run.error_lines()) == 1, "no host %s: one line, and an end" % host, run)


t.run_all()
