#!/usr/bin/env python3
"""
Cross-checks: what a run says of the page cache, of holes, of the device and of itself, against files and
devices of which that is known.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xdde2e as e
import xddjson
import xddsys
import xddtest as t

t.look_at_all_warnings()
MIB = 1 << 20
SIZE = 32 * MIB
COLUMNS = ("-outputformat", "add", "+PAGECACHED+HOLES")


def on_disk(name):
    """A file of SIZE with data in it, all of it on its disk."""
    file = t.make_file(name, SIZE)
    with open(file, "rb") as f:
        os.fsync(f.fileno())
    return file


def read(file, *args):
    """Read the file whole; returns the run, its COMBINED row and the warnings."""
    run, rows = t.xdd_csv("-op", "read", "-targets", 1, file, "-reqsize", 256, "-mbytes", SIZE // MIB, *COLUMNS, *args)
    rows = [r for r in rows if r["WHAT"] == "COMBINED"]
    return run, rows[0] if rows else {"PAGECACHED": "-1", "HOLES": "-1"}


def read_kept(least, file, extents, *args):
    """
    The same with these extents of it in the page cache. The kernel may evict pages before they are found, and never adds
    any: with less than `least` percent it is done again, 5 times at most.
    """
    for _ in range(5):
        with xddsys.only_cached(file, *extents):
            run, row = read(file, *args)
        if float(row["PAGECACHED"] or 0) >= least:
            break
    return run, row


def test_page_cache():
    if xddsys.is_memory(t.tmp()):
        return t.skip("page cache", "the test's directory is in memory")
    file = on_disk("cached")
    run, row = read_kept(99.5, file, [(0, SIZE)])
    t.ok(float(row["PAGECACHED"]) > 99, "a file that was just read: about 100 %", run)
    t.ok("100 % of what was read was in the page cache before" in run.err, "and a warning", run)
    run, row = read(file, "-dropcache")
    t.ok(float(row["PAGECACHED"]) < 2 and "page cache" not in run.err, "-dropcache: about 0, no warning", run)
    run, row = read(file, "-passes", 3, "-dropcache")
    t.ok(float(row["PAGECACHED"]) < 2, "-dropcache: before each pass", run)
    run, row = read_kept(49, file, [], "-passes", 2)
    t.ok(49 <= float(row["PAGECACHED"]) <= 52, "the second of two passes finds what the first has read", run)
    run, row = read_kept(45, file, [(0, SIZE // 2)], "-verbose")
    t.ok(45 <= float(row["PAGECACHED"]) <= 55, "half of the file dropped: about 50 %", run)
    t.ok(re.search(r"^Target 0, page cache: (4[5-9]|5[0-5])\.\d % of what was read", run.out, re.M),
         "-verbose says it", run)
    with xddsys.only_cached(file, (0, SIZE)):
        run, row = read(file, "-dio")
    if run.status == 0:
        t.ok(row["PAGECACHED"] == "" and "page cache" not in run.err, "-dio: not measured", run)
    else:
        t.skip("-dio: not measured", "no -dio in the test's directory")
    with xddsys.only_cached(file, (0, SIZE // 4)):
        run, rows = t.xdd_csv("-op", "read", "-targets", 1, file, "-reqsize", 64, "-mbytes", SIZE // MIB // 4, *COLUMNS,
                              "-startoffset", SIZE // 2 // 1024)
    t.ok(rows and float(rows[0]["PAGECACHED"]) < 10, "what is not going to be read does not count", run)
    with xddsys.only_cached(file, (0, SIZE)):
        def trial():
            run = t.xdd("-op", "read", "-targets", 1, file, "-reqsize", 4, "-numreqs", 20)
            return (run.status, run.err) == (0, ""), run
        good, run = t.again(trial)  # no trial is what takes a second
    t.ok(good, "a trial of 80 KiB is not warned of", run)


def test_dropcache_system():
    file = on_disk("other")  # and in memory: it was just written
    if os.geteuid() != 0 or not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        t.skip("-dropcache system", "not root")
    elif not xddsys.is_memory(t.tmp()):
        run, row = read(file, "-dropcache", "system", "-passes", 2)
        t.ok(run.status == 0 and float(row["PAGECACHED"]) < 2, "-dropcache system: about 0, in each pass", run)
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
    t.ok(run.status == 0 and float(row["PAGECACHED"]) < 2, "-dropcache: what is dirty is written back first", run)
    t.equal(open(file, "rb").read(), open(t.make_file("same", SIZE), "rb").read(), "and nothing is lost")


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
    t.ok(74 <= float(row["HOLES"]) <= 76, "three quarters of it", run)
    run, row = read(on_disk("whole"))
    t.ok(float(row["HOLES"]) == 0 and "never written" not in run.err, "a whole file has none", run)
    if xddsys.is_memory("/dev/shm"):
        memory = "/dev/shm/xddtest.%d" % os.getpid()
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
    # On a machine that has no processor to spare, it says that.
    warnings = [line for line in run.error_lines() if "generator-bound" not in line and "starved" not in line]
    t.ok(run.status == 0 and not warnings, "a device of its own: nothing to warn of", run)
    line = re.search(r"^Device %s: (\d+) requests and (\d+) merged for (\d+) operations, (\d+) bytes for %d$" % (
        os.path.basename(device), SIZE), run.out, re.M)
    # A new device may be looked at by programs of the machine (udev reads some KiB of each).
    t.ok(line and line.group(3) == "512" and 0 <= int(line.group(4)) - SIZE < MIB, "what the device was asked for", run)
    name = os.path.basename(device)
    uses = (xddjson.check(t.path("device.json"), "-jsonout of a device") or {}).get("devices", [])
    t.ok(len(uses) == 1 and line and [uses[0][k] for k in ("device", "ops", "bytes", "requests", "merged", "device_bytes")] ==
         [name, 512, SIZE] + [int(line.group(i)) for i in (1, 2, 4)], "-jsonout has it as well", uses)
    other = subprocess.Popen(["sh", "-c", "while dd if=%s of=/dev/null bs=1M iflag=direct; do :; done" % device],
                             stderr=subprocess.DEVNULL, start_new_session=True)
    run = t.xdd("-op", "read", "-targets", 1, device, "-dio", "-reqsize", 64, "-mbytes", SIZE // MIB,
                "-operationdelay", 0.004)
    os.killpg(other.pid, signal.SIGKILL)
    other.wait(timeout=t.TIMEOUT)
    t.ok("other I/O was active" in run.err, "a second reader of the device is noticed", run)
    other = subprocess.Popen(["dd", "if=" + device, "of=/dev/null", "bs=4k", "count=600", "iflag=direct"],
                             stderr=subprocess.DEVNULL)
    run = t.xdd("-op", "read", "-targets", 1, device, "-dio", "-reqsize", 256, "-numreqs", 128, "-operationdelay", 0.01)
    other.wait(timeout=t.TIMEOUT)
    t.ok(run.status == 0 and "the kernel split them" not in run.err, "small requests of another program are not split ones", run)
    if xddsys.set_queue(device, "max_sectors_kb", "64") is None:
        return t.skip("requests that the kernel splits", xddsys.sys_why())
    run = t.xdd("-op", "read", "-targets", 1, device, "-dio", "-reqsize", 256, "-mbytes", SIZE // MIB)
    t.ok("the kernel split them" in run.err, "requests that the kernel splits", run)


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
         "other I/O was active" not in copy.destination.run.err, "counts of a device begin with the first operation",
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
    run = t.xdd("-op", "read", *words)
    t.ok(re.search(m.warning("20 targets, of which .*/small.0 is one", "(9[5-9]|100) % of what was read was in the page cache before"),
                   run.err), "20 files of 1 MiB read from memory", run)
    run = t.xdd("-op", "read", "-targets", 3, *files[:3], "-reqsize", 64, "-mbytes", 1)
    t.ok("page cache" not in run.err or re.search(m.OTHERS_USE_DEVICE, run.err), "three of them are a trial", run)
    run = t.xdd("-op", "write", *words)
    t.ok(re.search(m.warning("20 targets, of which .*/small.0 is one", r"\d+ % of what was written, [\d.]+ MB, was in memory"),
                   run.err), "20 files of 1 MiB written to memory", run)
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


def test_limit():
    """A control group that limits the device: it is no limit of the device."""
    device = xddsys.loop_device(xddsys.sparse_file("limited", 2 * SIZE), "--direct-io=on")
    if device is None:
        return t.skip("limits of I/O", xddsys.sys_why())
    words = t.xdd_words("-op", "read", "-target", device, "-dio", "-reqsize", 64, "-timelimit", 1)
    with xddsys.read_limit(device, 20 * MIB) as group:
        if not group:
            t.skip("limits of I/O", xddsys.sys_why())
        else:
            run = t.command(group + words + ["-jsonout", t.path("limit.json")], warns=[m.IO_LIMIT])
            average = xddjson.rows(xddjson.check(t.path("limit.json"), "-jsonout of a limited run"), "TARGET_AVERAGE")[0]
            t.ok(re.search(m.IO_LIMIT, run.err).groups() == ("21.0 MB/s", "reads"), "a limit that is reached is told", run)
            t.equal(average["bound"], "io_quota", "and is the verdict")
            run = t.command(group + words + ["-report", "person"])
            t.ok("limited by: what its control group allows on the device" in " ".join(run.out.split()), "also for people", run)
            run = t.command(group + words + ["-throttle", "bw", "10"])
            t.ok(not re.search(m.IO_LIMIT, run.err), "one that is not reached is not told", run)
    number = os.stat(device).st_rdev
    group = xddsys.in_mounts("mount -t tmpfs none /sys/fs/cgroup && echo '%d:%d rbps=max wbps=1 riops=2000 wiops=max' "
                             ">/sys/fs/cgroup/io.max" % (os.major(number), os.minor(number)))
    with open("/proc/self/cgroup", encoding="ascii") as f:
        unified = "0::/\n" in f
    if not group or not unified:
        return t.skip("limits of version 2", xddsys.sys_why() or "this process is in a group of its own")
    run = t.command(group + words)
    return t.ok(re.search(m.IO_LIMIT, run.err).groups() == ("2.00 k/s", "reads"), "limits of version 2 are read", run)


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
        # The kernel may evict pages between the load and the run.
        for _ in range(5):
            with xddsys.only_cached(file, (0, SIZE)):
                run = t.xdd("-op", "read", "-targets", 1, file, "-dio", "-reqsize", 256, "-mbytes", SIZE // MIB, "-verbose")
            cached = re.search(r"^Target 0, page cache: (99|100)\.\d % of what was read", run.out, re.M)
            if run.status or cached:
                break
        if run.status:
            t.skip("ext4 with data=journal", "it has no O_DIRECT")
        else:
            t.equal(run.err.count(ignored(file)), 1, "-dio that is ignored is warned of")
            t.ok(cached, "and what the page cache has is measured", run)
            t.ok(re.search(r"^xdd: warning: device loop\d+: it transferred [\d.]+ \w+, and this run read %.1f MB with -dio" % (SIZE / 1e6),
                           run.err, re.M), "the device transferred far less than was read", run)
            t.ok("\tDirect I/O, enabled, and ignored by the file system\n" in run.out, "-verbose says so", run)
        run = t.xdd("-op", "write", "-targets", 1, new, "-dio", "-reqsize", 64, "-mbytes", 1, "-passes", 2, "-reopen")
        t.equal(run.err.count(ignored(new)), 0 if run.status else 1, "of a new file once, when it is open")
    if xddsys.is_memory("/dev/shm"):
        memory = "/dev/shm/xddtest.%d" % os.getpid()
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
    """Return the verdict of the run on target 0, "" for a line without verdict, or None without a line."""
    found = re.search(r"^Target 0, (?:([a-z-]+): )?its QThreads were ", run.out, re.M)
    return found and (found.group(1) or "")


def until(wanted, *args, words=()):
    """
    Run until the verdict is the wanted one, eight times at most: other users of this machine may be the cause of another.
    Returns (whether it was, the run).
    """
    for _ in range(8):
        run = t.command(list(words) + t.xdd_words(*args, "-verbose"))
        if verdict(run) in wanted:
            return True, run
    return False, run


def test_paced():
    """A target that waits for its own pace is not bound by a device, which may not even be there."""
    for name, words in (("-throttle ops", "-numreqs 40 -throttle ops 80"), ("-throttle delay", "-numreqs 30 -throttle delay 0.02"),
                        ("-operationdelay", "-numreqs 30 -operationdelay 0.02")):
        good, run = until(["paced"], "-op", "noop", "-targets", 1, "null", *words.split())
        t.ok(good and re.search(r", and \d+\.\d % idle until an operation was due$", run.out, re.M), name + ": paced", run)
    file = t.make_file("paced", MIB)
    good, run = until(["paced"], "-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 40 -throttle ops 80".split(), "-jsonout",
                      t.path("paced.json"))
    average = xddjson.rows(xddjson.check(t.path("paced.json"), "-jsonout of a paced target"), "TARGET_AVERAGE")[0]
    t.ok(good and average["bound"] == "paced", "a file: paced, and so in -jsonout", run)


def test_starved():
    """Others keep the one processor busy that xdd may use."""
    if not t.have("taskset"):
        return t.skip("starved", "no taskset")
    words = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    hogs = [subprocess.Popen(words + ["sh", "-c", "while :; do :; done"], start_new_session=True) for _ in range(4)]
    try:
        good, run = until(["starved"], "-op", "noop", "-targets", 1, "null", "-timelimit", 0.7, words=words)
    finally:
        for hog in hogs:
            os.killpg(hog.pid, signal.SIGKILL)
        for hog in hogs:
            hog.wait(timeout=t.TIMEOUT)
    return t.ok(good, "four others on its processor: starved", run)


def test_quota():
    """A quota this small is used up early in each period, however many others run."""
    with xddsys.cpu_quota(2) as words:
        if not words:
            return t.skip("CPU quota", xddsys.sys_why())
        document = t.path("quota.json")
        args = t.xdd_words("-op", "noop", "-targets", 1, "null", "-timelimit", 0.7, "-verbose", "-jsonout", document)
        run = t.command(words + args)
        average = xddjson.rows(xddjson.check(document, "-jsonout under a CPU quota"), "TARGET_AVERAGE")[0]
        t.equal((verdict(run), average["bound"]), ("quota", "quota"), "a CPU quota of 2 %", run)
        t.ok(average["wait_ns"] <= average["elapsed_ns"], "it waited no longer than the run took", run)
        person = t.command(words + t.xdd_words("-op", "noop", "-targets", 1, "null", "-timelimit", 0.7, "-report", "person"))
        t.ok(re.search(r"limited by.*the CPU quota of its control group: it stopped xdd \d+ % of the time", " ".join(person.out.split())),
             "the result says what stopped it", person)
        memory = "/dev/shm/xddtest.quota.%d" % os.getpid()
        with open(memory, "wb") as f:
            f.write(bytes(64 * MIB))
        try:
            check = t.command(words + [t.XDD, "check", memory])
        finally:
            os.unlink(memory)
        # Other programs may well take the processors in another of its measurements.
        shares = [int(n) for n in re.findall(r" for (\d+) % of the time", " ".join(check.out.split()))]
        return t.ok("The CPU quota of its control group stopped xdd" in " ".join(check.out.split()) and max(shares) <= 100,
                    "so does a check", check)


def stopped(words):
    """The status of a command that SIGSTOP stops for 2 s, and all that it printed."""
    out = t.path("stopped.out")
    with open(out, "wb") as f, subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=f, stderr=f) as p:
        xddsys.settle(p, 0.2)
        p.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WNOWAIT)
        time.sleep(2)
        p.send_signal(signal.SIGCONT)
    with open(out, encoding="utf-8") as f:
        return p.returncode, f.read()


def test_stopped():
    """A process that SIGSTOP stops for most of its run: that is no device."""
    file, document = t.make_file("stopped", MIB), t.path("stopped.json")
    words = t.xdd_words("-op", "read", "-targets", 1, file, "-reqsize", 4, "-runtime", 2.5, "-jsonout", document)
    status, text = stopped(words)
    average = xddjson.rows(xddjson.check(document, "-jsonout of a run that was stopped"), "TARGET_AVERAGE")[0]
    found = re.search(r"^xdd: warning: xdd itself was stopped for (\d\.\d+) s \(by a signal, ", text, re.M)
    t.ok(found and 1.8 < float(found.group(1)) < 3, "a stop is told", text)
    t.ok(average["bound"] != "device", "and is no part of the verdict", average["bound"])
    # A sweep of one point, which lasts longer than it takes to stop it.
    document = t.path("stopped.sweep.json")
    words = [t.XDD, "sweep", "-op", "read", "-target", file, "-reqsize", "4", "-rounds", "1", "-round", "4", "-jsonout", document]
    status, text = stopped(words)
    with open(document, encoding="utf-8") as f:
        findings = json.load(f)["points"][0]["rounds"][0]["findings"]
    t.ok(status == 0 and "stopped" in findings and "Finding: xdd itself was stopped for a while" in text,
         "a sweep keeps the finding of a round, and shows it", text)


def test_bound():
    good, run = until(["generator-bound", "starved"], "-op", "noop", "-targets", 1, "null", "-numreqs", 10000000)
    t.ok(good, "null: limited only by xdd itself or by other processes", run)
    t.xdd("-op", "noop", "-targets", 1, "null", "-numreqs", 1, "-jsonout", t.path("short.json"))
    average = xddjson.rows(xddjson.check(t.path("short.json"), "-jsonout of one operation"), "TARGET_AVERAGE")[0]
    t.equal(average["bound"] is None, average["elapsed_ns"] < 1000000, "no verdict on a pass of less than 1 ms")
    if not xddsys.is_memory("/dev/shm"):
        return t.skip("-dio that waits for nothing", "/dev/shm is not in memory")
    memory = "/dev/shm/xddtest.%d" % os.getpid()
    said = "^" + m.warning("target 0, %s", m.BOUND) + "$"
    with open(memory, "wb") as f:
        f.write(bytes(SIZE))
    try:
        # Time that this machine gives to other ones counts as a wait: then it is done again, 8 times at most.
        for _ in range(8):
            run = t.xdd("-op", "read", "-targets", 1, memory, "-reqsize", 4, "-timelimit", 1.1, "-dio", "-verbose")
            if run.status or t.ENGINE == "io_uring" or re.search(said % re.escape(memory), run.err, re.M):
                break
        slow = t.xdd("-op", "read", "-targets", 1, memory, "-reqsize", 4, "-timelimit", 1.1, "-dio", "-operationdelay", 0.01)
        small = t.xdd("-op", "read", "-targets", 1, memory, "-reqsize", 4, "-mbytes", 1, "-dio")
        cached = t.xdd("-op", "read", "-targets", 1, memory, "-reqsize", 4, "-mbytes", SIZE // MIB)
    finally:
        os.unlink(memory)
    if run.status:
        return t.skip("-dio that waits for nothing", "no -dio in /dev/shm")
    if t.ENGINE == "io_uring":
        # It may leave reads of tmpfs to threads of the kernel, which a QThread waits for as for a device.
        t.ok(bool(re.search(said % re.escape(memory), run.err, re.M)) == (verdict(run) in ("generator-bound", "starved")),
             "-dio that waits for threads of the kernel at most", run)
    else:
        t.ok(re.search(said % re.escape(memory), run.err, re.M),
             "-dio that waits for nothing but processors is warned of", run)
    for each in (slow, small):
        each.err = each.err.replace(ignored(memory) + "\n", "")
    for name, run in (("a device that is waited for", slow), ("a trial of 1 MiB", small), ("memory without -dio", cached)):
        t.equal((run.status, run.err), (0, ""), name + ": no such warning", run)
    return True


t.run(test_page_cache, test_dropcache_system, test_dropcache_writes_back, test_holes, test_devices, test_counted,
      test_small, test_loop, test_limit, test_direct_ignored, test_paced, test_starved, test_quota, test_stopped, test_bound)
t.done()
