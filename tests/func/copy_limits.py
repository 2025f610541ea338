#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The verdict on copies in set-ups whose limit is known: storage, network, processor and pace of either side, for end-to-end
copies and for xddcp. And the rate of the source of an end-to-end copy: that of the data that the destination has.
"""
import contextlib
import os
import re
import shlex

import witness
import xdde2e as e
import xddjson as j
import xddnet as net
import xddssh
import xddsys
import xddtest as t

FAKE = xddssh.Fake()
MIB = 1 << 20
BLOCKS = ["-blocksize", 1024, "-reqsize", 256]
if not xddsys.MEMORY:
    t.skip_all("needs a /dev/shm in memory")
MEMORY = xddsys.MEMORY + "/xddtest.limits.%d" % os.getpid()
TEXTS = {"source-storage": "the storage of the source", "network": "the network",
         "destination-storage": "the storage of the destination", "source-processor": "the processor of the source",
         "destination-processor": "the processor of the destination", "source-pace": "the pace requested at the source",
         "destination-pace": "the pace requested at the destination"}
QUOTA = ", which a CPU quota stopped"


def in_memory(name, size=None):
    """A name in a file system in memory; with a size, a file there."""
    path = "%s.%s" % (MEMORY, name)
    if size and not os.path.exists(path):
        xddssh.write(path, xddssh.noise(size))
    return path


def shaped(rate="100mbit"):
    """A network namespace whose loopback device carries no more, or None."""
    why = net.why_not("tc")
    if why:
        t.skip("limits of a network", why)
        return None
    ns = net.namespace("limit")
    run = ns.command("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")
    if run.status == 0:
        return ns
    t.skip("limits of a network", run.err)
    return None


def e2e(title, limit, size, source, destination, suffix="", **kwargs):
    """A copy that `limit` limits, as every output of both sides says."""
    files = {side: t.path("%s.json" % side) for side in ("source", "destination")}
    words = [*BLOCKS, "-bytes", size, *kwargs.pop("both", ())]
    copy = e.Copy(source, destination, words, ports=kwargs.pop("ports", 2),
                  reads=[*kwargs.pop("reads", ()), "-jsonout", files["source"]],
                  writes=[*kwargs.pop("writes", ()), "-jsonout", files["destination"]], **kwargs).run()
    t.equal(copy.statuses(), (0, 0), title + ": both sides end with status 0", copy)
    line = r"^End-to-end, target 0, limited by %s%s: source reads" % (TEXTS[limit], suffix)
    t.ok(all(re.search(line, side.run.out, re.M) for side in (copy.source, copy.destination)), "%s: %s" % (title, limit), copy)
    documents = [j.check(files[side], "%s, %s" % (title, side)) for side in files]
    found = [document["endtoend"][-1] for document in documents]
    bounds = [j.rows(document, "TARGET_AVERAGE")[0]["bound"] for document in documents]
    t.ok("device" not in bounds, title + ": no target is said to wait for a device", bounds)
    page = t.xdd("report", files["source"])
    t.ok(page.status == 0 and ", by %s</li>" % TEXTS[limit] in page.out, title + ": and the page", page.err)
    t.equal([(x["bound"], x["bound_between"]) for x in found], [(limit, None)] * 2, title + ": the documents say it too",
            [(x["source"], x["destination"]) for x in found])
    if suffix:
        its = found[0][limit.split("-", maxsplit=1)[0]]
        t.ok(its["cpu_quota_ns"] >= (its["cpu_ns"] + its["cpu_wait_ns"]) / 2 > 0, title + ": stopped by a quota", its)
    return copy


@contextlib.contextmanager
def undisturbed():
    """Storage and networks take their time by a real clock here: where root may, other work on the machine adds nothing to it."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def slow(size, us):
    """A file whose reads and writes take so long, each by itself; None: skipped."""
    found = witness.slow_fs(size, "constant:%d" % us)
    if not found:
        t.skip("limits of storage", xddsys.sys_why())
    return found


def test_pace():
    source = in_memory("source", 64 * MIB)
    e2e("a source with -throttle", "source-pace", 4 * MIB, source, in_memory("copy"), reads=["-throttle", "bw", 5])
    e2e("a destination with -throttle", "destination-pace", 8 * MIB, source, in_memory("copy"), writes=["-throttle", "bw", 10])
    e2e("a source with -throttle and io_uring", "source-pace", 4 * MIB, source, in_memory("copy"),
        reads=["-throttle", "bw", 5, "-ioengine", "io_uring"])


@undisturbed()
def test_storage():
    file = slow(64 * MIB, 10000)
    if not file:
        return
    memory = in_memory("source", 64 * MIB)
    e2e("slow reads", "source-storage", 16 * MIB, file.data, in_memory("copy"), reads=["-dio"])
    e2e("slow reads at depth 8", "source-storage", 32 * MIB, file.data, in_memory("copy"), reads=["-dio"], ports=8)
    e2e("slow writes", "destination-storage", 16 * MIB, memory, file.data, writes=["-dio"], ports=1)


@undisturbed()
def test_network():
    ns = shaped()
    if not ns:
        return
    source = in_memory("source", 64 * MIB)
    both = {"prefix_source": ns.words(), "prefix_destination": ns.words(), "waits": False}
    e2e("a network of 12.5 MB/s", "network", 16 * MIB, source, in_memory("copy"), **both)
    e2e("a network of 12.5 MB/s and io_uring", "network", 16 * MIB, source, in_memory("copy"), both=["-ioengine", "io_uring"],
        **both)
    file = slow(64 * MIB, 4000)
    if file:
        e2e("reads of 60 MB/s and a network of 12.5", "network", 16 * MIB, file.data, in_memory("copy"), reads=["-dio"], ports=1,
            **both)
        e2e("a network of 12.5 MB/s and writes of 60", "network", 24 * MIB, source, file.data, writes=["-dio"], ports=1, **both)
    xddcp("a network of 12.5 MB/s", "network", source, FAKE.place(in_memory("over")), prefix=ns.words())


SLOW_PIPE = """import os, time
while True:
    data = os.read(0, 65536)
    if not data:
        break
    os.write(1, data)
    time.sleep(len(data) / 20e6)
"""


def test_channel():
    """Data goes through an ssh of 20 MB/s, as no connection to the server can be made."""
    if net.why_not():
        return t.skip("an ssh of 20 MB/s", net.why_not())
    here, there = net.namespace("here"), net.namespace("there")
    pipe = xddssh.write(t.path("slow.py"), SLOW_PIPE.encode())
    remote = " ".join(map(shlex.quote, there.words()))
    fake = xddssh.Fake(name="slow-ssh",
                       prefix="sh -c 'python3 \"$0\" | \"$@\"' %s %s" % (shlex.quote(pipe), remote))
    xddcp("an ssh of 20 MB/s", "network", in_memory("small", 24 * MIB), fake.place(in_memory("through")), fake=fake, prefix=here.words())
    return None


def test_processor():
    """One thread of a side, which a quota of 1 ms in 100 stops for far longer than other work on the machine can delay it."""
    source = in_memory("source", 64 * MIB)
    with xddsys.cpu_quota(1) as words:
        if not words:
            return t.skip("CPU quotas", xddsys.sys_why())
        e2e("a source with a CPU quota", "source-processor", 16 * MIB, source, in_memory("copy"), QUOTA, ports=1,
            prefix_source=words)
        e2e("a destination with a CPU quota", "destination-processor", 16 * MIB, source, in_memory("copy"), QUOTA, ports=1,
            prefix_destination=words)
        small = in_memory("sixteen", 16 * MIB)
        fake = xddssh.Fake(name="quota-ssh", prefix=" ".join(map(shlex.quote, words)))
        xddcp("a source with a CPU quota", "source-processor", fake.place(small), in_memory("from"), QUOTA, fake=fake, ports=1)
        xddcp("a destination with a CPU quota", "destination-processor", small, fake.place(in_memory("to")), QUOTA, fake=fake,
              ports=1)
    return None


def xddcp(title, limit, source, where, suffix="", prefix=(), fake=FAKE, ports=None):
    """A copy to another host that `limit` limits, as the summary and the document say."""
    file = t.path("copy.json")
    run = xddssh.xddcp("-S", fake.ssh, "-w", "-jsonout", file, *(["-threads", str(ports)] if ports else []), source, where, prefix=prefix)
    t.equal(run.status, 0, "xddcp, %s: status 0" % title, run)
    t.ok(re.search(r"\n  bottleneck: %s%s\n    source reads" % (TEXTS[limit], suffix), run.out), "xddcp, %s: %s" % (title, limit), run)
    document, rules = j.load(file), j.schema("copy.schema.json")
    t.equal(list(j.complaints(document, rules, rules)), [], "xddcp, %s: the document is as its schema says" % title)
    t.equal((document["bottleneck"], document["bottleneck_between"]), (limit, None), "xddcp, %s: the document says it too" % title,
            document)


def test_rate_of_source():
    """Buffers of the network take a part of a small copy at once."""
    copy = e2e("a copy of 10 MB/s", "destination-pace", 16 * MIB, in_memory("source", 64 * MIB), in_memory("copy"),
               both=["-verbose"], writes=["-throttle", "bw", 10])
    rates = {}
    for side in (copy.source, copy.destination):
        rows = [line.split() for line in side.run.out.splitlines() if line.startswith((" TARGET_PASS ", " TARGET_AVERAGE ", " COMBINED "))]
        rates[side.name] = [float(row[7]) for row in rows]
    t.equal(len(rates["source"]), 3, "rates: all results", copy)
    # Where the machine stands still, it does so for both sides.
    t.ok(all(rate < 11 for rate in rates["source"]) and
         all(abs(a / b - 1) < 0.1 for a, b in zip(rates["source"], rates["destination"])),
         "rates: both sides have the rate of the copy, not of the buffers", rates)


try:
    t.run(test_pace, test_storage, test_network, test_channel, test_processor, test_rate_of_source)
finally:
    for name in os.listdir(xddsys.MEMORY):
        # -w names its tables after the file that it copies to.
        if os.path.basename(MEMORY) + "." in name:
            os.unlink(os.path.join(xddsys.MEMORY, name))
t.done()
