#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-hogmemory: memory that a run occupies, seen in /proc.
"""
import json
import os
import re
import signal
import subprocess

import messages as m
import xddsys as s
import xddtest as t

t.may_warn(m.HOG_NOT_LOCKED)

LIMIT_S = 60
M = 1 << 20
BYTES = 64 * M
NULL = ["-op", "noop", "-targets", 1, "null"]


def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def status_kib(pid, name):
    found = re.search(r"^%s:\s+(\d+) kB" % name, read("/proc/%d/status" % pid), re.M)
    return int(found.group(1)) if found else 0


def test_occupied():
    out = t.path("out")
    before = read("/proc/self/oom_score_adj").strip()
    with open(out, "wb") as f:
        p = subprocess.Popen(t.xdd_words(*NULL, "-numreqs", 10 ** 6, "-operationdelay", "10ms", "-hogmemory", "64m", "-verbose",
                                         "-jsonout", t.path("json")), stdout=f, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    seen = t.until(lambda: status_kib(p.pid, "VmRSS") * 1024 >= BYTES, p)
    t.ok(seen and p.poll() is None, "the process has the memory", read(out))
    t.equal(read("/proc/%d/oom_score_adj" % p.pid).strip(), "1000", "the kernel would end it first")
    p.send_signal(signal.SIGINT)
    t.equal(p.wait(timeout=LIMIT_S), 5, "a signal ends the run as without it")
    t.ok(re.search(r"^Memory to occupy, %d$" % BYTES, read(out), re.M), "-verbose has the bytes", read(out))
    said = re.search(r"^Memory occupied, %d, bytes, (not )?locked, [\d.]+, seconds$" % BYTES, read(out), re.M)
    t.ok(said, "-verbose says whether it is locked", read(out))
    with open(t.path("json")) as f:
        t.equal(json.load(f)["plan"]["resolved"]["hog_bytes"], BYTES, "-jsonout has the bytes")
    t.equal(read("/proc/self/oom_score_adj").strip(), before, "no other process is affected")


def test_locked():
    nobody = s.for_nobody(64 << 10)
    if nobody is None:
        return t.skip("memory that cannot be locked", s.sys_why())
    run = t.command(nobody[0] + [nobody[1]] + [str(a) for a in NULL] + "-numreqs 4 -hogmemory 16m -verbose".split(),
                    warns=(m.HOG_NOT_LOCKED,))
    t.ok(run.status == 0 and "bytes, not locked," in run.out and run.error_lines() == [
        "xdd: warning: -hogmemory: the memory is not locked and may be swapped out: the memlock limit (ulimit -l) is 64 KiB; needs "
        "CAP_IPC_LOCK, or a higher limit"], "memory that cannot be locked: one warning", run)
    return None


def test_interrupted():
    """A signal ends a run that is still occupying memory: strace delays it between two steps."""
    if not s.can_trace():
        return t.skip("a signal while memory is occupied", s.sys_why())
    with open(t.path("out"), "wb") as out:
        p = subprocess.Popen(s.strace("/dev/null", "openat", "-P", "/proc/meminfo", "-e", "inject=openat:delay_enter=100000:when=9+") +
                             t.xdd_words(*NULL, "-numreqs", 4, "-hogmemory", "512m", "-verbose"), stdout=out, stderr=out,
                             stdin=subprocess.DEVNULL)

    def child():
        words = read("/proc/%d/task/%d/children" % (p.pid, p.pid)).split()
        return int(words[0]) if words else 0

    begun = t.until(lambda: child() and read("/proc/%d/oom_score_adj" % child()).strip() == "1000" and
                    status_kib(child(), "VmRSS") >= 48 << 10, p)
    pid = child()
    if pid and p.poll() is None:
        os.kill(pid, signal.SIGINT)
    status = p.wait(timeout=LIMIT_S)
    text = read(t.path("out"))
    t.ok(begun and status == 5 and "Memory occupied" not in text and "This run was canceled" in text,
         "a signal while memory is occupied ends the run, with status 5", "%s\n%s" % (status, text))
    return None


def test_shares():
    total = int(re.search(r"^MemTotal:\s+(\d+) kB", read("/proc/meminfo"), re.M).group(1)) * 1024
    run = t.xdd(*NULL, "-numreqs", 4, "-hogmemory", "2.5%", "-dryrun")
    said = re.search(r"^Memory to occupy, (\d+)$", run.out, re.M)
    # A control group may have less than the host.
    t.ok(run.status == 0 and said and 0 < int(said.group(1)) <= total * 0.025, "-dryrun has the bytes of a share", run)
    run = t.xdd(*NULL, "-numreqs", 4, "-dryrun")
    t.ok(run.status == 0 and "Memory to occupy" not in run.out, "without the option there is none", run)


GROUP = r"""
mount --make-rprivate / && mount -t tmpfs none /sys/fs/cgroup && mount --bind "$TMPDIR/cgroup" /proc/$$/cgroup || exit 99
d="/sys/fs/cgroup/$1$2"
mkdir -p "$d" && echo 1073741824 > "$d/$3" && echo 104857600 > "$d/$4" && : > "$d/memory.stat" || exit 99
shift 4
exec "$@"
"""


def test_groups():
    """The limit of a control group, whichever controllers are mounted with that of memory."""
    if s.in_mounts("mount --make-rprivate /") is None:
        return t.skip("limits of control groups", s.sys_why())
    old = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    for controllers, path, files in (("memory", "/a/b", old), ("cpu,memory", "/job", old), ("memory,hugetlb", "/", old),
                                     ("cpu,memory,pids", "/job", old), ("", "/job", ("memory.max", "memory.current"))):
        with open(os.path.join(os.environ["TMPDIR"], "cgroup"), "w", encoding="ascii") as f:
            f.write("9:cpuset:/\n3:memoryless:/x\n5:%s:%s\n" % (controllers, path) if controllers else "0::%s\n" % path)
        run = t.command(["unshare", "-m", "sh", "-c", GROUP, "sh", controllers, path, *files] + t.xdd_words(*NULL, "-numreqs", 1, "-hogmemory", "3g"))
        if run.status == 99:
            return t.skip("limits of control groups", "the mounts cannot be made here")
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and
             "of 1024 MiB by %s of the control group %s;" % (files[0], path) in run.err, "%s of %s%s" % (files[0], controllers, path), run)
    return None


def test_refused():
    new = t.path("new")
    for word in ("0", "0%", "101%", "-1", "x", "%", "1e9", "5.5.5%", "", "100%", "99999G"):
        run = t.xdd("-op", "write", "-targets", 1, new, "-numreqs", 1, "-hogmemory", word)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and "-hogmemory" in run.err and not run.out and
             not os.path.exists(new), "refused: -hogmemory %s" % word, run)
    run = t.xdd(*NULL, "-numreqs", 1, "-hogmemory", "200%")
    t.ok("above 0 and up to 100%" in run.err, "and the message says how large a share may be", run)
    run = t.xdd(*NULL, "-numreqs", 1, "-hogmemory")
    t.ok(run.status == 2 and len(run.error_lines()) == 1, "refused: -hogmemory without an argument", run)


t.run_all()
