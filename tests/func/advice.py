#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Advice that results for people print ("next: ..."): each is taken, and has the effect that it promises.
"""
import os
import re

import xddsys
import xddtest as t

t.look_at_all_warnings()
MIB = 1 << 20
SIZE = 32 * MIB


def on_disk(name):
    file = t.make_file(name, SIZE)
    with open(file, "rb") as f:
        os.fsync(f.fileno())
    return file


def person(*words, env=None, real=True):
    """The run, and its result without line ends. Its devices and their counts are real."""
    run = t.xdd(*words, "-report", "person", env=env, real=real)
    return run, " ".join(run.out.split())


def advised(text, pattern):
    """The advice, which follows "next: " or "; "."""
    return re.search(r"next: (?:[^;]*; )?" + pattern, text)


def test_memory():
    if xddsys.is_memory(t.tmp()):
        return t.skip("reads from memory", "the test's directory is in memory")
    file = on_disk("cached")
    words = ["-op", "read", "-target", file, "-reqsize", 256, "-mbytes", SIZE // MIB]
    with xddsys.only_cached(file, (0, SIZE)):
        run, text = person(*words)
    t.ok(advised(text, "add -dio and -dropcache to read from the device"), "reads from memory: what reads the device", run)
    for option in ("-dio", "-dropcache"):
        with open(file, "rb") as f:
            f.read()
        run, text = person(*words, option)
        t.ok(run.status == 0 and "page cache before" not in text, option + " does", run)
    return True


def test_dirty():
    if xddsys.is_memory(t.tmp()):
        return t.skip("writes to memory", "the test's directory is in memory")
    words = ["-op", "write", "-target", on_disk("dirty"), "-reqsize", 256, "-mbytes", SIZE // MIB]
    run, text = person(*words)
    t.ok(advised(text, "add -dio or -syncwrite to measure the device"), "writes to memory: what measures the device", run)
    for option in ("-dio", "-syncwrite"):
        run, text = person(*words, option)
        t.ok(run.status == 0 and "in memory when the run ended" not in text, option + " does", run)
    return True


def test_holes():
    if xddsys.is_memory(t.tmp()):
        return t.skip("holes", "the test's directory is in memory")
    words = ["-target", xddsys.sparse_file("holes", SIZE), "-reqsize", 256, "-mbytes", SIZE // MIB]
    run, text = person("-op", "read", *words)
    t.ok(advised(text, "write all of it first, with -op write"), "holes: what fills them", run)
    t.equal(t.xdd("-op", "write", *words, "-syncwrite").status, 0, "it is written")
    run, text = person("-op", "read", *words)
    return t.ok(run.status == 0 and "was never written" not in text, "then there are none", run)


def test_rate():
    """Each operation rests for 20 ms, so that one request at a time makes 50 operations per second at most."""
    words = ["-op", "noop", "-target", "null", "-operationdelay", 0.02, "-timelimit", 1]
    run, text = person(*words, "-throttle", "ops", 150)
    t.ok(advised(text, "use a lower rate or a greater -queuedepth"), "a rate that is not reached: what reaches it", run)
    for name, more in (("a lower rate", ["-throttle", "ops", 10]),
                       ("a greater -queuedepth", ["-throttle", "ops", 150, "-queuedepth", 32])):
        run, text = person(*words, *more)
        t.ok(run.status == 0 and "rate not reached" not in text, name + " does", run)


def test_split():
    device = xddsys.loop_device(on_disk("disk"), "--direct-io=on")
    if not device or not xddsys.set_queue(device, "max_sectors_kb", "64"):
        return t.skip("requests that the kernel splits", xddsys.sys_why())
    words = ["-op", "read", "-target", device, "-dio", "-mbytes", SIZE // MIB]
    run, text = person(*words, "-reqsize", 256)
    t.ok(advised(text, "use a smaller -reqsize, which the kernel does not split"), "split requests: what avoids it", run)
    run, text = person(*words, "-reqsize", 64)
    return t.ok(run.status == 0 and "kernel split" not in text, "a smaller -reqsize is not split", run)


def test_zeros():
    device = xddsys.zram(SIZE)
    if not device:
        return t.skip("zeros that are not stored", xddsys.sys_why())
    words = ["-op", "write", "-target", device, "-reqsize", 256, "-mbytes", SIZE // MIB, "-dio"]
    run, text = person(*words)
    t.ok(advised(text, "add -datapattern random to write data that does not compress"), "zeros: what is stored", run)
    run, text = person(*words, "-datapattern", "random")
    t.ok(run.status == 0 and "zeros" not in text, "-datapattern random is", run)
    with open("/sys/block/%s/mm_stat" % os.path.basename(device), encoding="ascii") as f:
        stored = int(f.read().split()[1])
    return t.ok(stored >= SIZE, "it does not compress", stored)


def test_depth():
    """A file whose requests take 20 ms each, however many there are."""
    env = xddsys.faults("slow", file="slow", ns=20000000)
    if not env:
        return t.skip("a greater -queuedepth", xddsys.sys_why())
    words = ["-op", "read", "-target", on_disk("slow"), "-dio", "-reqsize", 4, "-seek", "random", "-timelimit", 1]
    iops = []
    for more in ([], ["-queuedepth", 8]):
        run, text = person(*words, *more, env=env)
        found = re.search(r"read +\S+ \S+ +([\d.]+) (k?)/s", text)
        iops.append(float(found.group(1)) * (1000 if found.group(2) else 1) if found else 0)
        t.equal(bool(advised(text, "try -queuedepth 8 to see what the device does with several requests at once")), not more,
                "-queuedepth 8 is advised at depth 1 only: %s" % more, run)
    # At depth 1 there are 50 per second at most.
    return t.ok(iops[1] > 60 >= iops[0], "it shows what the device does with several requests", iops)


def test_trial():
    words = ["-op", "read", "-target", "null", "-reqsize", 4]
    run, text = person(*words, "-numreqs", 10, real=False)
    t.ok("to mean much; to measure for longer: -timelimit 10s without -bytes, -numreqs or another amount of work" in text, "a trial: what is none", run)
    run, text = person(*words, "-timelimit", 1, real=False)
    t.ok("to mean much" not in text and "1.00 s" in text, "a time limit without an amount of work is", run)
    run, text = person(*words, "-timelimit", 0.01, "-numreqs", 10**9, real=False)
    t.ok("to mean much; to measure for longer: a greater -timelimit" in text, "a trial by -timelimit", run)
    run, text = person(*words, "-timelimit", 1, "-numreqs", 10**12, real=False)
    return t.ok("to mean much" not in text, "a greater one is none", run)


t.run(test_trial, test_memory, test_dirty, test_holes, test_rate, test_split, test_zeros, test_depth)
t.done()
