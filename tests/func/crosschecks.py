#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Cross-checks: what a run says of the page cache, of holes, of the device and of itself, against files and
devices of which that is known.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess

import messages as m
import xdde2e as e
import xddjson
import xddsys
import xddtest as t

t.look_at_all_warnings()
t.virtual_time()
MIB = 1 << 20
SIZE = 32 * MIB
COLUMNS = ("-outputformat", "add", "+PAGECACHED+HOLES")


def on_disk(name):
    """A file of SIZE with data in it, all of it on its disk."""
    file = t.make_file(name, SIZE)
    with open(file, "rb") as f:
        os.fsync(f.fileno())
    return file


def read(file, *args, **kwargs):
    """Read the file whole; returns the run, its COMBINED row and the warnings."""
    run, rows = t.xdd_csv("-op", "read", "-targets", 1, file, "-reqsize", 256, "-mbytes", SIZE // MIB, *COLUMNS, *args,
                          **kwargs)
    rows = [r for r in rows if r["WHAT"] == "COMBINED"]
    return run, rows[0] if rows else {"PAGECACHED": "-1", "HOLES": "-1"}


def read_kept(file, extents, *args):
    """The same with these extents of it in the page cache."""
    with xddsys.only_cached(file, *extents):
        return read(file, *args)


def test_page_cache():
    if xddsys.is_memory(t.tmp()):
        return t.skip("page cache", "the test's directory is in memory")
    file = on_disk("cached")
    run, row = read_kept(file, [(0, SIZE)])
    t.equal(row["PAGECACHED"], "100.000", "a file that was just read: 100 %", run)
    t.ok("100 % of what was read came from memory (the page cache)" in run.err, "and a warning", run)
    run, row = read(file, "-dropcache")
    t.equal((row["PAGECACHED"], run.err), ("0.000", ""), "-dropcache: nothing, no warning", run)
    run, row = read(file, "-passes", 3, "-dropcache")
    t.equal(row["PAGECACHED"], "0.000", "-dropcache: before each pass", run)
    run, row = read_kept(file, [], "-passes", 2)
    t.equal(row["PAGECACHED"], "50.000", "the second of two passes finds what the first has read", run)
    run, row = read_kept(file, [(0, SIZE // 2)], "-verbose")
    t.equal(row["PAGECACHED"], "50.000", "half of the file dropped: 50 %", run)
    t.ok("\nTarget 0, page cache: 50.0 % of what was read was in it before, and 0.0 % was never written\n" in run.out,
         "-verbose says it", run)
    with xddsys.only_cached(file, (0, SIZE)):
        run, row = read(file, "-dio", "-verbose")
    if run.status == 0:
        t.ok(row["PAGECACHED"] == "" and "page cache" not in run.err and "\nTarget 0, page cache: not measured, -dio reads past it; "
             "0.0 % of what was read was never written\n" in run.out, "-dio: not measured", run)
    else:
        t.skip("-dio: not measured", "no -dio in the test's directory")
    with xddsys.only_cached(file, (0, SIZE // 4)):
        run, rows = t.xdd_csv("-op", "read", "-targets", 1, file, "-reqsize", 64, "-mbytes", SIZE // MIB // 4, *COLUMNS,
                              "-startoffset", SIZE // 2 // 1024)
    t.equal(rows[0]["PAGECACHED"], "0.000", "what is not going to be read does not count", run)
    with xddsys.only_cached(file, (0, SIZE)):
        run = t.xdd("-op", "read", "-targets", 1, file, "-reqsize", 4, "-numreqs", 20)
    t.equal((run.status, run.err), (0, ""), "a trial of 80 KiB is not warned of", run)


def test_dropcache_system():
    file = on_disk("other")  # and in memory: it was just written
    if os.geteuid() != 0 or not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        t.skip("-dropcache system", "not root")
    elif not xddsys.is_memory(t.tmp()):
        run, row = read(file, "-dropcache", "system", "-passes", 2)
        t.equal((run.status, row["PAGECACHED"]), (0, "0.000"), "-dropcache system: nothing, in each pass", run)
    words = ["-op", "noop", "-targets", 1, "null", "-numreqs", 1, "-dropcache", "system"]
    run = t.xdd(*words, "-nobarrier", "-passes", 2)
    t.equal((run.status, len(run.error_lines()), "-nobarrier" in run.err), (2, 1, True),
            "not between passes that overlap", run)
    if os.geteuid() == 0 and t.have("setpriv"):
        run = t.command(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + t.xdd_words(*words), cwd="/")
        t.equal((run.status, len(run.error_lines()), "drop_caches" in run.err), (2, 1, True),
                "refused without the right", run)


def test_dropcache_writes_back():
    if xddsys.is_memory(t.tmp()):
        return t.skip("-dropcache of dirty pages", "the test's directory is in memory")
    file = t.make_file("dirty", SIZE)
    run, row = read(file, "-dropcache")
    t.equal((run.status, row["PAGECACHED"]), (0, "0.000"), "-dropcache: what is dirty is written back first", run)
    t.equal(open(file, "rb").read(), open(t.make_file("same", SIZE), "rb").read(), "and nothing is lost")


def test_dropcache_of_a_part():
    """The kernel keeps blocks of pages that reach past the end of a range that it is to drop."""
    if xddsys.is_memory(t.tmp()):
        return t.skip("-dropcache of a part", "the test's directory is in memory")
    file = on_disk("part")
    run, rows = t.xdd_csv("-op", "read", "-targets", 1, file, "-reqsize", 4, "-numreqs", 20, "-startoffset", 1024, *COLUMNS, "-dropcache")
    t.equal((run.status, run.err, rows[-1]["PAGECACHED"]), (0, "", "0.000"), "-dropcache where a pass reads a part of the file", run)


def test_dropcache_stays():
    """Pages that another process has mapped cannot be dropped."""
    if xddsys.is_memory(t.tmp()):
        return t.skip("-dropcache of mapped pages", "the test's directory is in memory")
    file = on_disk("mapped")
    run, row = read_kept(file, [(0, SIZE // 2)], "-dropcache")
    t.equal(row["PAGECACHED"], "50.000", "-dropcache: half of the file is mapped by another process, and stays", run)
    t.ok(re.search(m.STAYED % 50, run.err, re.M), "and a warning says so", run)
    run, row = read_kept(file, [(0, SIZE // 20)], "-dropcache")
    t.ok("stayed" not in run.err, "a part of 5 % is not warned of", run)
    env = xddsys.preload("fadvise", "int posix_fadvise(void) { return 5; }\nint posix_fadvise64(void) { return 5; }\n")
    if env:
        with xddsys.only_cached(file):
            run, row = read(file, "-dropcache", env=env)
        t.equal((run.status, run.err), (0, "xdd: warning: target 0, %s: -dropcache: Input/output error\n" % file),
                "pages that the kernel fails to drop: a warning with the reason", run)
    return True


def test_holes():
    if xddsys.is_memory(t.tmp()):
        return t.skip("holes", "the test's directory is in memory")
    file = t.path("sparse")
    with open(file, "wb") as f:
        f.truncate(SIZE)
    run, row = read(file)
    t.ok(float(row["HOLES"]) == 100 and "100 % of what was read was never written" in run.err, "a sparse file", run)
    with open(file, "r+b") as f:
        f.write(bytes(SIZE // 4))
        os.fsync(f.fileno())
    run, row = read(file)
    t.equal(row["HOLES"], "75.000", "three quarters of it", run)
    run, row = read(on_disk("whole"))
    t.ok(float(row["HOLES"]) == 0 and "never written" not in run.err, "a whole file has none", run)
    if xddsys.MEMORY:
        memory = xddsys.MEMORY + "/xddtest.%d" % os.getpid()
        with open(memory, "wb") as f:
            f.truncate(SIZE)
        try:
            run, row = read(memory, "-verbose")
        finally:
            os.unlink(memory)
        t.equal((run.status, run.err, "page cache:" in run.out), (0, "", False), "a file in memory is no such thing",
                run)
    file = t.path("set aside")
    with open(file, "wb") as f:
        try:
            os.posix_fallocate(f.fileno(), 0, SIZE)
        except OSError:
            pass
    run, row = read(file)
    if xddsys.is_memory(t.tmp()):
        t.skip("space set aside and never written", "the test's directory is in memory")
    else:
        t.ok(float(row["HOLES"]) == 100, "space set aside and never written", run)


def test_devices():
    device = xddsys.loop_device(xddsys.sparse_file("disk", 2 * SIZE), "--direct-io=on")
    if device is None:
        return t.skip("devices", xddsys.sys_why())
    run = t.xdd("-op", "read", "-targets", 1, device, "-dio", "-reqsize", 64, "-mbytes", SIZE // MIB, "-verbose",
                "-seek", "random", "-jsonout", t.path("device.json"))
    t.equal((run.status, run.err), (0, ""), "a device of its own: nothing to warn of", run)
    line = re.search(r"^Device %s: (\d+) requests and (\d+) merged for (\d+) operations, (\d+) bytes for %d$" % (
        os.path.basename(device), SIZE), run.out, re.M)
    # A new device may be looked at by programs of the machine (udev reads some KiB of each).
    t.ok(line and line.group(3) == "512" and 0 <= int(line.group(4)) - SIZE < MIB, "what the device was asked for", run)
    name = os.path.basename(device)
    uses = (xddjson.check(t.path("device.json"), "-jsonout of a device") or {}).get("devices", [])
    t.ok(len(uses) == 1 and line and [uses[0][k] for k in ("device", "ops", "bytes", "requests", "merged", "device_bytes")] ==
         [name, 512, SIZE] + [int(line.group(i)) for i in (1, 2, 4)], "-jsonout has it as well", uses)
    # 512 reads take 2.044 s.
    run = t.xdd("-op", "read", "-targets", 1, device, "-dio", "-reqsize", 64, "-mbytes", SIZE // MIB, "-operationdelay", 0.004,
                at={1: ["dd", "if=" + device, "of=/dev/null", "bs=1M", "iflag=direct"]})
    t.ok("something else used it" in run.err, "a second reader of the device is noticed", run)
    run = t.xdd("-op", "read", "-targets", 1, device, "-dio", "-reqsize", 256, "-numreqs", 128, "-operationdelay", 0.01,
                at={0.5: ["dd", "if=" + device, "of=/dev/null", "bs=4k", "count=600", "iflag=direct"]})
    t.ok(run.status == 0 and "the kernel split " not in run.err, "small requests of another program are not split ones", run)
    if xddsys.set_queue(device, "max_sectors_kb", "64") is None:
        return t.skip("requests that the kernel splits", xddsys.sys_why())
    run = t.xdd("-op", "read", "-targets", 1, device, "-dio", "-reqsize", 256, "-mbytes", SIZE // MIB)
    t.ok("the kernel split " in run.err, "requests that the kernel splits", run)


def test_counted():
    """I/O of others on the device before the first operation can begin is not held against the run."""
    device = xddsys.loop_device(xddsys.sparse_file("counted", 2 * SIZE), "--direct-io=on")
    if device is None:
        return t.skip("what is counted of a device", xddsys.sys_why())
    document = t.path("counted.json")
    copy = e.Copy("null", device, both=["-reqsize", 64, "-mbytes", SIZE // MIB],
                  writes=["-dio", "-jsonout", document])
    copy.destination.start()
    copy.destination.await_err(m.E2E_WAITS)
    other = t.command(["dd", "if=" + device, "of=/dev/null", "bs=1M", "iflag=direct"])
    copy.source.start()
    copy.finish()
    uses = (xddjson.check(document, "-jsonout of a run on a device") or {}).get("devices", [])
    t.ok(other.status == 0 and copy.statuses() == (0, 0) and uses and uses[0]["device_bytes"] < SIZE + MIB and
         "something else used it" not in copy.destination.run.err, "counts of a device begin with the first operation",
         "%s\n%s" % (uses, copy))
    return True


def test_small():
    """Targets of which each is too small to be judged, and all together are not."""
    if xddsys.is_memory(t.tmp()):
        return t.skip("many small files", "the test's directory is in memory")
    files = []
    for i in range(20):
        files.append(t.make_file("small.%d" % i, MIB))
    words = ["-targets", len(files), *files, "-reqsize", 64, "-mbytes", 1]
    with contextlib.ExitStack() as cached:
        for file in files:
            cached.enter_context(xddsys.only_cached(file, (0, MIB)))
        run = t.xdd("-op", "read", *words)
    t.ok(re.search(m.warning("20 targets, of which .*/small.0 is one", "100 % of what was read came from memory"),
                   run.err), "20 files of 1 MiB read from memory", run)
    run = t.xdd("-op", "read", "-targets", 3, *files[:3], "-reqsize", 64, "-mbytes", 1)
    t.ok("page cache before" not in run.err, "three of them are a trial", run)
    run = t.xdd("-op", "write", *words)
    if xddsys.is_overlay(t.tmp()):
        t.skip("20 files of 1 MiB written to memory", "overlayfs does not say what is dirty")
    else:
        written = m.warning("20 targets, of which .*/small.0 is one",
                            r"\d+ % of what was written, [\d.]+ MB, was still in memory")
        t.ok(re.search(written, run.err), "20 files of 1 MiB written to memory", run)
    sparse = [xddsys.sparse_file("sparse.%d" % i, MIB) for i in range(20)]
    run = t.xdd("-op", "read", "-targets", len(sparse), *sparse, "-reqsize", 64, "-mbytes", 1)
    t.ok(re.search(m.warning("20 targets, of which .*/sparse.0 is one", "100 % of what was read was never written"), run.err),
         "20 files that are holes", run)
    return True


def test_loop():
    """A loop device that uses the page cache, with direct I/O to it or without, and a file on one."""
    image = on_disk("image")
    device, direct = xddsys.loop_device(image), xddsys.loop_device(on_disk("direct"), "--direct-io=on")
    if device is None or direct is None:
        return t.skip("loop devices and the page cache", xddsys.sys_why())
    read = ["-op", "read", "-reqsize", 256, "-mbytes", SIZE // MIB]
    for words in ([], ["-dio"]):
        run = t.xdd(*read, "-target", device, *words)
        t.equal(len(re.findall(m.LOOP_BUFFERED, run.err)), 1, "a loop device that uses the page cache: %s" % words, run)
    run = t.xdd(*read, "-target", direct, "-dio")
    t.ok(not re.search(m.LOOP_BUFFERED, run.err), "one that does not", run)
    run = t.xdd("-op", "read", "-reqsize", 4, "-numreqs", 10, "-target", device, "-dio")
    t.ok(not re.search(m.LOOP_BUFFERED, run.err), "a trial", run)
    where = xddsys.ext4("files", 64 * MIB)
    if where:
        run = t.xdd("-op", "write", "-target", where + "/new", "-dio", "-reqsize", 256, "-mbytes", 20)
        t.ok(re.search(m.LOOP_BUFFERED, run.err), "a new file on one", run)
    return True


def told_limit(device, file, limit):
    """The words before a command that reads `limit` of the device in a file of its control group; the kernel does not see it."""
    number = os.stat(device).st_rdev
    # Version 1 has limits of the group itself only, version 2 those above it as well.
    return xddsys.in_mounts("own=$(sed -n 's/^.*:blkio://p' /proc/self/cgroup) && mount -t tmpfs none %s && cd %s && "
                            "mkdir -p \"./$own\" && echo '%d:%d %s' >\"./$own/%s\"" %
                            (os.path.dirname(file), os.path.dirname(file), os.major(number), os.minor(number), limit,
                             os.path.basename(file)))


def test_limit():
    """A control group that limits the device: it is no limit of the device."""
    device = xddsys.loop_device(xddsys.sparse_file("limited", 2 * SIZE), "--direct-io=on")
    if device is None:
        return t.skip("limits of I/O", xddsys.sys_why())
    # The kernel allows four times what xdd reads of the limit: the device is slow, and the limit is reached however
    # late a busy machine releases requests. tests/real-time/limit.py has one limit for both.
    old, unified = "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", "/sys/fs/cgroup/io.max"
    told = told_limit(device, old, "%d" % (2 * MIB)) if os.path.exists(os.path.dirname(old)) else \
        told_limit(device, unified, "rbps=%d wbps=max riops=max wiops=max" % (2 * MIB))
    words = t.xdd_words("-op", "read", "-target", device, "-dio", "-reqsize", 64, "-timelimit", 1, "-queuedepth", 4)
    with xddsys.read_limit(device, 8 * MIB) as group:
        if not group or not told:
            t.skip("limits of I/O", xddsys.sys_why())
        else:
            group = group + told
            run = t.command(group + words + ["-jsonout", t.path("limit.json"), "-report", "person"], warns=[m.IO_LIMIT])
            average = xddjson.rows(xddjson.check(t.path("limit.json"), "-jsonout of a limited run"), "TARGET_AVERAGE")[0]
            t.equal(average["bound"], "io_quota", "a limit that is reached is the verdict")
            t.ok("limited by: what its control group (a container, for example) allows on the device: " in " ".join(run.out.split()), "and the block says it", run)
            run = t.command(group + words, warns=[m.IO_LIMIT])
            t.ok(re.search(m.IO_LIMIT, run.err).groups() == ("2.10 MB/s", "reads"), "a limit that is reached is told", run)
            run = t.command(group + [t.XDD, "check", device, "-seconds", "0.6"])
            t.ok("Device %s: a control group allows 2.10 MB/s of reads, and this" % os.path.basename(device) in " ".join(run.out.split()), "a check tells it", run)
            run = t.command(group + words + ["-throttle", "bw", "1"])
            t.ok(not re.search(m.IO_LIMIT, run.err), "one that is not reached is not told", run)
    told = told_limit(device, unified, "rbps=max wbps=max riops=50 wiops=max")
    with open("/proc/self/cgroup", encoding="ascii") as f:
        alone = "0::/\n" in f
    if not told or not alone:
        return t.skip("limits of version 2", xddsys.sys_why() or "this process is in a group of its own")
    run = t.command(told + words)
    return t.ok(re.search(m.IO_LIMIT, run.err).groups() == ("50.0 /s", "reads"), "limits of version 2 are read", run)


def ignored(path):
    return m.warning("target 0, " + path, m.NO_DIRECT_IO)


def test_direct_ignored():
    """File systems that accept O_DIRECT and go through the page cache."""
    where = xddsys.ext4("journal", 64 * MIB, "data=journal")
    if where is None:
        t.skip("ext4 with data=journal", xddsys.sys_why())
    else:
        file, new = where + "/file", where + "/new"
        shutil.copy(t.make_file("data", SIZE), file)
        os.sync()
        with xddsys.only_cached(file, (0, SIZE)):
            run = t.xdd("-op", "read", "-targets", 1, file, "-dio", "-reqsize", 256, "-mbytes", SIZE // MIB, "-verbose")
        if run.status:
            t.skip("ext4 with data=journal", "it has no O_DIRECT")
        else:
            t.equal(run.err.count(ignored(file)), 1, "-dio that is ignored is warned of")
            t.ok("\nTarget 0, page cache: 100.0 % of what was read" in run.out, "and what the page cache has is measured", run)
            t.ok(re.search(r"^xdd: warning: device loop\d+ transferred [\d.]+ \w+, but this run read %.1f MB with -dio" % (SIZE / 1e6),
                           run.err, re.M), "the device transferred far less than was read", run)
            t.ok("\tDirect I/O, enabled, and ignored by the file system\n" in run.out, "-verbose says so", run)
        run = t.xdd("-op", "write", "-targets", 1, new, "-dio", "-reqsize", 64, "-mbytes", 1, "-passes", 2, "-reopen")
        t.equal(run.err.count(ignored(new)), 0 if run.status else 1, "of a new file once, when it is open")
    if xddsys.MEMORY:
        memory = xddsys.MEMORY + "/xddtest.%d" % os.getpid()
        try:
            run = t.xdd("-op", "write", "-targets", 1, memory, "-dio", "-reqsize", 4, "-numreqs", 4)
        finally:
            if os.path.exists(memory):
                os.unlink(memory)
        t.ok(run.status or run.error_lines() == [ignored(memory)], "of a file in memory", run)
    if xddsys.is_memory(t.tmp()):
        return t.skip("-dio that is direct", "files of the test are in memory")
    file = on_disk("direct")
    with xddsys.only_cached(file, (0, SIZE)):
        run = t.xdd("-op", "read", "-targets", 1, file, "-dio", "-reqsize", 256, "-mbytes", SIZE // MIB)
    return t.ok(run.status or "-dio" not in run.err, "-dio that is direct is not warned of", run)


def verdict(run):
    """The verdict of the run on target 0, "" for a line without verdict, or None without a line; and the rest of the line."""
    found = re.search(r"^Target 0, (?:([a-z-]+): )?its QThreads were (.*)$", run.out, re.M)
    return (found.group(1) or "", found.group(2)) if found else (None, "")


def shares(own, idle=None):
    """The line of a verdict where only xdd itself works, of the process that runs in virtual time."""
    text = "%.1f %% of the time in xdd itself, 0.0 %% in the kernel, %s0.0 %% without a processor" % (own, "" if idle else "and ")
    return text + (", and %.1f %% idle until an operation was due" % idle if idle else "")


def test_paced():
    """A target that waits for its own pace is not bound by a device, which may not even be there."""
    # A pass lasts until a further operation is due, here 0.5 s. Before each one a QThread looks at the clock for 40 us.
    for name, words, own in (("-throttle ops", "-numreqs 40 -throttle ops 80", 0.4),
                             ("-throttle delay", "-numreqs 30 -throttle delay 0.02", 0),
                             ("-operationdelay", "-numreqs 30 -operationdelay 0.02", 0)):
        run = t.xdd("-op", "noop", "-targets", 1, "null", *words.split(), "-verbose")
        t.equal(verdict(run), ("paced", shares(own, 100 - own)), name + ": paced", run)
    # Of 500 ms reads take 40.
    file = t.make_file("paced", MIB)
    run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 40 -throttle ops 80 -verbose".split(), "-jsonout",
                t.path("paced.json"), device="/paced 1000000")
    average = xddjson.rows(xddjson.check(t.path("paced.json"), "-jsonout of a paced target"), "TARGET_AVERAGE")[0]
    t.equal((verdict(run), average["bound"]), (("paced", shares(0.3, 92)), "paced"), "a file: paced, and so in -jsonout", run)


def test_device():
    """A target that waits for its device all the time, and for more and less than four fifths of it."""
    file = t.make_file("waited", 4 * MIB)
    # An operation takes 1 ms and two looks at the clock.
    for step, wanted, own in ((None, "device-bound", 0), (100000, "device-bound", 100 * 0.2 / 1.2),
                              (130000, "mixed", 100 * 0.26 / 1.26)):
        run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 1000 -verbose".split(), device="/waited 1000000",
                    step=step)
        t.equal(verdict(run), (wanted, shares(own)), "each read takes 1 ms, and each look at the clock %s ns" % step, run)


def test_starved():
    """Others keep the one processor busy that xdd may use: it has a fifth of its time, or less where still others run."""
    if not t.have("taskset"):
        return t.skip("starved", "no taskset")
    words = ["taskset", "-c", t.PROCESSOR]
    hogs = [subprocess.Popen(words + ["sh", "-c", "echo; while :; do :; done"], stdout=subprocess.PIPE, start_new_session=True)
            for _ in range(4)]
    try:
        for hog in hogs:
            hog.stdout.readline()  # it runs
        run = t.command(words + t.xdd_words("-op", "noop", "-targets", 1, "null", "-timelimit", 0.7, "-verbose"))
    finally:
        for hog in hogs:
            os.killpg(hog.pid, signal.SIGKILL)
        for hog in hogs:
            hog.communicate(timeout=t.TIMEOUT)
    return t.equal(verdict(run)[0], "starved", "four others on its processor: starved", run)


def test_quota():
    """A quota this small is used up early in each period; see cpu_quota()."""
    with xddsys.cpu_quota(2) as words:
        if not words:
            return t.skip("CPU quota", xddsys.sys_why())
        document = t.path("quota.json")
        args = t.xdd_words("-op", "noop", "-targets", 1, "null", "-timelimit", 0.7, "-verbose", "-jsonout", document)
        run = t.command(words + args)
        average = xddjson.rows(xddjson.check(document, "-jsonout under a CPU quota"), "TARGET_AVERAGE")[0]
        t.equal((verdict(run)[0], average["bound"]), ("quota", "quota"), "a CPU quota of 2 %", run)
        t.ok(average["wait_ns"] <= average["elapsed_ns"], "it waited no longer than the run took", run)
        person = t.command(words + t.xdd_words("-op", "noop", "-targets", 1, "null", "-timelimit", 0.7, "-report", "person"))
        t.ok(re.search(r"limited by.*the CPU quota of its control group \(.*\), which stopped xdd \d+ % of the time", " ".join(person.out.split())),
             "the result says what stopped it", person)
        memory = (xddsys.MEMORY or t.tmp()) + "/xddtest.quota.%d" % os.getpid()
        with open(memory, "wb") as f:
            f.write(bytes(64 * MIB))
        try:
            check = t.command(words + [t.XDD, "check", memory])
        finally:
            os.unlink(memory)
        found = re.findall(r"- Limited by the CPU quota of its control group \([^)]*\), which stopped xdd (\d+) % of the time\.", " ".join(check.out.split()))
        return t.ok(len(found) == 1 and int(found[0]) <= 100, "so does a check", check)


def test_stopped():
    """A process that stands still for most of its run: that is no device."""
    file, document = t.make_file("stopped", MIB), t.path("stopped.json")
    # xdd itself works for 0.4 of 1.4 ms, and of the whole time for 6 %. A stop counts from the moment, 0.03 s after it begins,
    # at which a thread looks again.
    run = t.xdd("-op", "read", "-targets", 1, file, "-reqsize", 4, "-runtime", 2.5, "-jsonout", document, device="/stopped 1000000",
                step=200000, at={0.2: "+2"})
    average = xddjson.rows(xddjson.check(document, "-jsonout of a run that was stopped"), "TARGET_AVERAGE")[0]
    t.equal(re.findall("^" + m.STOPPED + r"(\S+ s) \(by a signal, ", run.err, re.M), ["1.97 s"], "a stop is told", run)
    t.equal(average["bound"], "mixed", "and is no part of the verdict")
    document = t.path("stopped.sweep.json")
    run = t.command([t.XDD, "sweep", "-op", "read", "-target", file, "-reqsize", "4", "-rounds", "1", "-round", "4", "-jsonout",
                     document], device="/stopped 1000000", at={0.2: "+2"})
    with open(document, encoding="utf-8") as f:
        findings = json.load(f)["points"][0]["rounds"][0]["findings"]
    t.ok(run.status == 0 and "stopped" in findings and "Finding: xdd itself was stopped for a while" in run.out,
         "a sweep keeps the finding of a round, and shows it", (findings, run))


def test_bound():
    run = t.xdd("-op", "noop", "-targets", 1, "null", "-numreqs", 100000, "-verbose", step=1000)
    t.equal(verdict(run), ("generator-bound", shares(100)), "null: limited only by xdd itself", run)
    for step in 10000, 1000000:
        run = t.xdd("-op", "noop", "-targets", 1, "null", "-numreqs", 1, "-jsonout", t.path("short.json"), step=step)
        average = xddjson.rows(xddjson.check(t.path("short.json"), "-jsonout of one operation"), "TARGET_AVERAGE")[0]
        t.equal((average["elapsed_ns"] // 1000000, average["bound"]), ((0, None), (2, "generator"))[step > 10000],
                "no verdict on a pass of less than 1 ms")
    if not xddsys.MEMORY:
        return t.skip("-dio that waits for nothing", "no /dev/shm in memory")
    memory = xddsys.MEMORY + "/xddtest.%d" % os.getpid()
    said = m.warning("target 0, " + memory, "xdd was the limit, not the device: .* of the time; the device might do more")
    read = "-op read -targets 1 %s -reqsize 4 " % memory
    try:
        with open(memory, "wb") as f:
            f.write(bytes(SIZE))
        for title, words, device, wanted in (
                ("-dio that waits for nothing but processors", "-timelimit 1.1 -dio", None, True),
                ("a device that is waited for", "-timelimit 1.1 -dio", "/xddtest. 10000000", False),
                ("a target that waits for its pace", "-timelimit 1.1 -dio -operationdelay 0.01", None, False),
                ("a trial of 1 MiB", "-mbytes 1 -dio", None, False),
                ("memory without -dio", "-mbytes %d" % (SIZE // MIB), None, False)):
            run = t.xdd(*(read + words).split(), device=device, step=10000)
            if run.status:
                t.skip(title, "no -dio in /dev/shm")
                continue
            err = [line for line in run.error_lines() if line != ignored(memory)]
            t.ok((len(err), wanted) in ((0, False), (1, True)) and all(re.fullmatch(said, line) for line in err),
                 "%s: %swarned of" % (title, "" if wanted else "not "), run)
    finally:
        os.unlink(memory)
    return True


t.run_all()
