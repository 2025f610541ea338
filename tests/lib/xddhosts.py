# SPDX-License-Identifier: GPL-2.0-or-later
"""
Hosts that start a run at one moment: network namespaces with clocks of their own, each with two links to the namespace of a
time server. For tests and the benchmark.

    server = net.namespace("server")
    hosts = [xddhosts.Host(number, server) for number in range(4)]
    start = xddhosts.Start("one", hosts, xddhosts.EQUAL, [2000] * 4, at_each, words)
    ...
    first_ns = start.first_ns(hosts[0])
"""
import xddnet as net
import xddtest as t
import xddtrace as x

NS = 10**9
# The hosts share the processors of this machine: one that has started leaves them to the others.
RUN = "-op noop -targets 1 null -reqsize 1 -numreqs 5 -operationdelay 1ms".split()

# Seconds that the clock of the host is ahead, and its second link; "a" is the way to the server.
HOSTS = ((5000, "a:delay=3 b:delay=0.2"), (-20, "a:delay=0.1 b:delay=2"), (7, "delay=0.5 jitter=1"), (100000, "a:delay=1 loss=5"))
DELAY_MS, DELAY_NS = 0.2, 200000   # of the first link, in each direction
EQUAL, UNEQUAL = 78, 79            # the links


def server_address(host, link):
    return "10.%d.%d.1" % (link, host.number)


class Host:
    """A host; its clock is `ahead_ns` of that of this machine."""

    def __init__(self, number, server):
        self.number, (ahead, settings) = number, HOSTS[number]
        self.ahead_ns = ahead * NS
        self.space = net.namespace("h%d" % number, ahead)
        for link, words in ((EQUAL, ["delay=%g" % DELAY_MS]), (UNEQUAL, settings.split())):
            net.link(self.space, server, ["10.%d.%d.2/24" % (link, number)], [server_address(self, link) + "/24"], *words)


class Start:
    """A run on all hosts: the ports of their time servers, and the start by the global clock of each; `runs`."""

    def __init__(self, label, hosts, link, ports, at):
        self.label, self.hosts, self.at = label, hosts, at
        self.runs = [host.space.start_xdd(*RUN, "-timeserver", "host", server_address(host, link), "port", port, "bounce", 50,
                                          "-runid", label, "-starttime", "%d.%09d" % divmod(ns, NS),
                                          "-ts", "dump", self.file(host, ""), "-jsonout", self.file(host, ".json"))
                     for host, port, ns in zip(hosts, ports, at)]

    def file(self, host, suffix):
        return t.path("%s.h%d%s" % (self.label, host.number, suffix))

    def dump(self, host):
        return self.file(host, ".target.0000.bin")

    def first_ns(self, host):
        """The first operation, by the monotonic clock of this machine."""
        return min(e["start_ns"] for e in x.Dump(self.dump(host)).entries) - host.ahead_ns
