#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Where I/O buffers lie, what is locked in memory, and priority: seen in /proc, by strace and in the system's list of
shared memory. Two NUMA nodes and explicit huge pages are in tests/vm/guest-numa.sh.
"""
import os
import re
import resource

import messages as m
import xddsys as s
import xddtest as t
from xddresting import Resting

K, M = 1 << 10, 1 << 20
PAGE = resource.getpagesize()
FILE = t.make_file("data", 4 * M)
READ = ("-ioengine", "psync", "-op", "read")
ENGINES = t.engines()
# Locked memory cannot be seen: the sanitizers turn locking into a call without effect.
IGNORED = "the sanitizers ignore locking" if s.sanitized() else None


def resting(*args, **kwargs):
    return Resting(*READ, *args, **kwargs)


def locked(run):
    """Bytes that the process has locked."""
    return int(run.status("VmLck").split()[0]) * K


def warns(run, options):
    """Does it rest, with a warning for each of these options and no other message?"""
    return run.rests and [re.sub(r"^xdd: warning: (-\w+): .*", r"\1", line) for line in run.messages()] == options


def silent(run):
    return warns(run, [])


def priority_refused():
    """Why this process may not have a real-time priority; None if it may."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(os.sched_get_priority_max(os.SCHED_RR)))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError as e:
        return "real-time priorities: %s" % e.strerror
    return None


def priority_warnings(args):
    """Options of the warnings about priority that a run with these words prints."""
    return ["-maxpri"] if "-maxall" in args and priority_refused() else []


def is_locked(mapping):
    return "lo" in mapping["flags"]


def segments(run):
    """The segments of shared memory that the process has mapped."""
    return [m for m in run.mappings() if m["name"].startswith("/SYSV")]


def listed(pid):
    """The system's list of segments that this process made: dictionaries of words."""
    with open("/proc/sysvipc/shm") as f:
        names, *rows = (line.split() for line in f)
    return [dict(zip(names, row)) for row in rows if row[names.index("cpid")] == str(pid)]


def left_by(run):
    """
    The segments of a process that has ended. Its memory may outlast it: the kernel drops the last reference later, as
    Linux 6.17 seems to do after the threads made it enlarge the futex hash. Only the list shows when that is done.
    """
    t.until(lambda: not listed(run.pid))
    return listed(run.pid)


# Locking


def test_locked_by_default():
    if IGNORED or not unlimited():
        return t.skip("buffers are locked", IGNORED or "not without limit")
    for args, size in ((("-reqsize", 64), 64 * K), (("-reqsize", 64, "-queuedepth", 4), 256 * K),
                       (("-reqsize", 3), PAGE), (("-reqsize", 1024, "-memalign", 64), M + PAGE),
                       (("-sharedmemory", "-reqsize", 64), 64 * K)):
        with resting("-targets", 1, FILE, "-numreqs", 2, *args) as run:
            t.ok(silent(run) and locked(run) == size, "the I/O buffers are locked, and no more: %s" % (args,),
                 "%s\n%s" % (run.status("VmLck"), run))
    for args in (["-nomemlock"], ["-minall"], ["-maxall", "-minall"], ["-processlock", "-minall"]):
        with resting("-targets", 1, FILE, "-numreqs", 2, *args) as run:
            t.ok(warns(run, priority_warnings(args)), "%s: no message, except about a priority that is refused" % args, run)
            t.equal(locked(run), 0, "%s: nothing is locked" % args)
    return None


def unlimited():
    """True if this process may lock any amount of memory."""
    with open("/proc/self/status") as f:
        caps = int(re.search(r"^CapEff:\s*(\S+)", f.read(), re.M).group(1), 16)
    return caps >> 14 & 1  # CAP_IPC_LOCK


def test_limits():
    """Without rights: what the limit allows is locked, and nothing is said."""
    if s.for_nobody() is None:
        return t.skip("locking within a limit", s.sys_why())
    os.chmod(FILE, 0o644)
    for limit, size, wanted in ((0, 64, 0), (64 * K, 64, 64 * K), (64 * K, 128, 0), (256 * K, 128, 128 * K)):
        prefix, binary = s.for_nobody(limit)
        with resting("-targets", 1, FILE, "-numreqs", 2, "-reqsize", size, prefix=prefix, binary=binary) as run:
            title = "a limit of %d KiB and buffers of %d KiB" % (limit // K, size)
            t.ok(silent(run), title + ": the run goes on, silently", run)
            if not IGNORED and run.rests:
                t.equal(locked(run), wanted, title + ": locked")
    return None


def test_process_lock():
    if IGNORED or not unlimited():
        return t.skip("the process is locked", IGNORED or "not without limit")
    prefixes = [["prlimit", "--memlock=%s" % limit] for limit in ("unlimited:unlimited", "65536:65536")]
    for prefix in [p for p in prefixes if t.have("prlimit") and t.command(p + ["true"]).status == 0] or [[]]:
        for args in (["-processlock"], ["-plock"], ["-maxall"], ["-noproclock", "-processlock"]):
            title = "%s %s" % (" ".join(prefix[-1:]), " ".join(args))
            with resting("-targets", 1, FILE, "-numreqs", 2, "-queuedepth", 2, *args, prefix=prefix) as run:
                whole = [m for m in run.mappings() if not m["name"].startswith("[v")]
                t.ok(warns(run, priority_warnings(args)) and all(is_locked(m) for m in whole), title + ": all of it",
                     "%s\n%s" % (run, [m for m in whole if not is_locked(m)]))
                t.ok(locked(run) >= 64 * K and any("libc" in m["name"] for m in whole) and
                     any(m["name"] == "[heap]" for m in whole), title + ": and that is something", run.status("VmLck"))
    for args in (["-processlock", "-noproclock"], ["-maxall", "-noplock"]):
        with resting("-targets", 1, FILE, "-numreqs", 2, "-reqsize", 64, *args) as run:
            t.equal(locked(run), 64 * K, "%s: the I/O buffers alone" % args)
    with resting("-targets", 1, FILE, "-numreqs", 2, "-queuedepth", 2, *"-processlock -nomemlock -sharedmemory".split()) as run:
        t.ok(len(segments(run)) == 2 and not any(is_locked(m) for m in segments(run)),
             "-processlock -nomemlock: not the I/O buffers", segments(run))
        t.ok(locked(run) and all(is_locked(m) for m in run.mappings() if "libc" in m["name"]),
             "-processlock -nomemlock: but the process")
    return None


def test_process_lock_within_limit():
    """Without rights, and with a limit that is high enough."""
    if IGNORED or s.for_nobody(256 * M) is None:
        return t.skip("the process is locked within a limit", IGNORED or s.sys_why())
    os.chmod(FILE, 0o644)
    prefix, binary = s.for_nobody(256 * M)
    with resting("-targets", 1, FILE, "-numreqs", 2, "-queuedepth", 4, "-sharedmemory", "-processlock", prefix=prefix,
                 binary=binary) as run:
        own = [m for m in run.mappings() if m["name"] == binary or m["name"].startswith("/SYSV")]
        t.ok(silent(run) and len(own) > 4 and all(is_locked(m) for m in own), "-processlock within a limit",
             "%s\n%s" % (run, own))
    return None


NO_RIGHT = {"-maxpri": "cannot raise the priority (Operation not permitted); use CAP_SYS_NICE or a real-time limit (ulimit -r) of 99",
            "-processlock": "the process is not locked in memory: Operation not permitted; it takes CAP_IPC_LOCK, or a higher "
                            "memlock limit (ulimit -l)"}


def test_no_right():
    """One warning, and the run goes on."""
    if s.for_nobody(0) is None:
        return t.skip("without the right to lock or to go first", s.sys_why())
    os.chmod(FILE, 0o644)
    prefix, binary = s.for_nobody(0)
    for args, wanted in ((["-processlock"], ["-processlock"]), (["-maxpri"], ["-maxpri"]),
                         (["-maxall"], ["-maxpri", "-processlock"]), (["-maxall", "-minall"], ["-maxpri"]),
                         (["-nomemlock"], []), (["-minall"], [])):
        if IGNORED:
            wanted = [w for w in wanted if w != "-processlock"]
        run = t.command(prefix + [binary, "-op", "read", "-targets", "2", FILE, FILE, "-numreqs", "4", "-queuedepth", "4",
                                  "-passes", "3"] + args, warns=["^xdd: warning: %s: " % option for option in wanted])
        got = ["xdd: warning: %s: %s" % (option, NO_RIGHT[option]) for option in wanted]
        t.equal((run.status, run.error_lines(), "COMBINED" in run.out), (0, got, True),
                "%s without the right: %d warnings" % (" ".join(args), len(wanted)), run)
    return None


# Priority


def test_priority():
    if priority_refused():
        return t.skip("-maxpri", priority_refused())
    highest = os.sched_get_priority_max(os.SCHED_RR)
    for option in ("-maxpri", "-maximumpriority", "-maxall"):
        with resting("-targets", 2, FILE, FILE, "-numreqs", 2, "-queuedepth", 2, option) as run:
            got = {(int(run.task(tid)[41]), int(run.task(tid)[40])) for tid in run.tasks()}
            t.ok(silent(run) and got == {(os.SCHED_RR, highest)}, option + ": all threads have the highest priority",
                 "%s\n%s" % (got, run))
            t.ok("Maximum Process Priority, enabled" in str(run), option + ": it is shown", run)
    with resting("-targets", 1, FILE, "-numreqs", 2) as run:
        got = {int(run.task(tid)[41]) for tid in run.tasks()}
        t.equal((got, "Maximum Process Priority, disabled" in str(run)), ({os.SCHED_OTHER}, True),
                "without it they have none", got)
    return None


# Shared memory


def test_shared_memory():
    for args, number, size in (((), 1, 128 * K), (("-queuedepth", 4), 4, 128 * K), (("-reqsize", 4096), 1, 4 * M),
                               (("-memalign", 64), 1, 128 * K + PAGE)):
        title = "-sharedmemory %s" % " ".join(str(a) for a in args)
        with resting("-targets", 1, FILE, "-numreqs", 1, "-sharedmemory", *args) as run:
            found, rows = segments(run), listed(run.pid)
            t.ok(silent(run) and [m["Size"] for m in found] == [size] * number, title + ": segments of that size", found)
            t.ok([int(r["size"]) for r in rows] == [size] * number and {r["nattch"] for r in rows} == {"1"} and
                 {r["perms"] for r in rows} == {"1600"}, title + ": marked for removal", rows)
            t.ok("I/O memory buffer is a shared memory segment\n" in str(run), title + ": it is shown", run)
            run.kill()
            t.equal(left_by(run), [], title + ": kill -9 leaves none")
    with resting("-targets", 1, FILE, "-numreqs", 1, "-sharedmemory", "-queuedepth", 2) as run:
        t.equal(len(listed(run.pid)), 2, "-sharedmemory: the segments of a run", run)
        run.hold.go()
        t.equal((run.process.wait(t.TIMEOUT), left_by(run)), (0, []), "-sharedmemory: none is left by a run that ends", run)


def test_marked_at_once():
    if s.can_trace() is None:
        return t.skip("segments are marked for removal as soon as they are attached", s.sys_why())
    log = t.path("segments")
    run = t.command(s.strace(log, "shmget,shmat,shmctl,pread64,madvise") +
                    t.xdd_words(*READ, "-targets", 1, FILE, "-numreqs", 8, "-queuedepth", 2, "-sharedmemory"))
    with open(log) as f:
        calls = [re.match(r"(\d+) +(?:<\.\.\. )?(\w+)(.*)", line).groups() for line in f]
    threads = {tid for tid, call, _ in calls if call == "shmget"}
    t.equal((run.status, len(threads)), (0, 2), "a segment for each QThread", "%s\n%s" % (run, calls))
    for tid in threads:
        own = []
        for caller, call, rest in calls:
            if caller == tid and call.startswith("shm") and (not own or own[-1] != call):
                own.append(call)
                if call == "shmctl":
                    t.ok("IPC_RMID" in rest, "it is marked for removal", rest)
        t.equal(own, ["shmget", "shmat", "shmctl"], "made, attached, marked for removal: nothing in between")
    return None


def test_killed_in_between():
    """SIGKILL between the two system calls leaves a segment, and the help says how to remove it."""
    said = t.xdd("-help", "sharedmemory")
    t.equal((said.status, "SIGKILL" in said.out, "ipcrm -m" in said.out), (0, True, True),
            "-help says what SIGKILL can leave", said)
    if s.can_trace() is None or not t.have("ipcrm"):
        return t.skip("a segment that SIGKILL leaves", s.sys_why() if t.have("ipcrm") else "ipcrm is not installed")
    log = t.path("killed")
    t.command(s.strace(log, "shmget,shmat", "-e", "inject=shmat:signal=KILL") +
              t.xdd_words(*READ, "-targets", 1, FILE, "-sharedmemory"))
    with open(log) as f:
        ids = re.findall(r"shmget\(.*= (\d+)$", f.read(), re.M)
    with open("/proc/sysvipc/shm") as f:
        names, *rows = (line.split() for line in f)
    left = [row[names.index("nattch")] for row in rows if row[names.index("shmid")] in ids]
    removed = [t.command(["ipcrm", "-m", one]).status for one in ids]
    t.equal((left, removed), (["0"], [0]), "SIGKILL while a segment is created leaves it; ipcrm removes it")
    return None


# Alignment


def addresses(size, *args):
    """Where the buffers of the reads are; of `size` KiB, which tells them from those of the program's loader."""
    log = t.path("addresses")
    run = t.command(s.strace(log, "pread64", "-e", "raw=pread64") +
                    t.xdd_words(*READ, "-targets", 1, FILE, "-reqsize", size, *args))
    with open(log) as f:
        found = re.findall(r"pread64\((?:0x)?\w+(?:<[^>]*>)?, (0x\w+), 0x%x," % (size * K), f.read())
    return run, [int(a, 16) for a in found]


def test_alignment():
    if s.can_trace() is None:
        return t.skip("-memalign", s.sys_why())
    for align in (1, 3, 64, 512, PAGE - 1):
        run, found = addresses(16, "-memalign", align, "-numreqs", 16, "-queuedepth", 2)
        t.ok(run.status == 0 and len(found) == 16 and {a % PAGE for a in found} == {align},
             "-memalign %d: that many bytes after the start of a page" % align, "%s\n%s" % (run, found))
    # The guide: offset by the number of bytes; of which a page takes none away.
    for align in (5000, 6000, 3 * PAGE, 3 * PAGE + 512, 1000000, 0):
        run, found = addresses(16, "-memalign", align, "-numreqs", 16, "-queuedepth", 2)
        t.ok(run.status == 0 and len(found) == 16 and {a % PAGE for a in found} == {align % PAGE},
             "-memalign %d: so many bytes after the start of a page" % align, "%s\n%s" % (run, found))
    for align in (PAGE, 64 * K, 4 * M):
        run, found = addresses(16, "-memalign", align, "-numreqs", 16, "-queuedepth", 2)
        t.ok(run.status == 0 and len(found) == 16 and {a % align for a in found} == {0},
             "-memalign %d: at a multiple" % align, "%s\n%s" % (run, found))
        run, found = addresses(16, "-memalign", align, "-numreqs", 4, "-sharedmemory")
        t.ok(run.status == 0 and len(found) == 4 and {a % align for a in found} == {0},
             "-memalign %d -sharedmemory: at a multiple" % align, "%s\n%s" % (run, found))
    for size, align in ((16, PAGE), (2048, 2 * M)):
        run, found = addresses(size, "-numreqs", 2)
        t.ok(run.status == 0 and len(found) == 2 and {a % align for a in found} == {0}, "%d KiB: at %d bytes" % (size, align),
             found)
    return None


def test_engines_misaligned():
    """Each engine moves the same data to and from buffers that are where they should not be."""
    for engine in ("psync", "mmap", "libaio", "io_uring", "io_uring fixedbufs"):
        if engine.split()[0] not in ENGINES:
            t.skip("misaligned buffers: " + engine, "this xdd or this kernel does not have it")
            continue
        for args in (["-memalign", "64"], ["-memalign", "6000"], ["-memalign", "1", "-sharedmemory"], ["-memalign", "64k"],
                     ["-sharedmemory", "-reqsize", "2048"]):
            new = t.make_file("written", 4 * M)
            run = t.command([t.XDD, "-op", "write", "-targets", "1", new, "-reqsize", "12", "-bytes", "4m", "-queuedepth", "5",
                             "-ioengine"] + engine.split() + args)
            again = t.command([t.XDD, "-op", "read", "-targets", "1", new, "-reqsize", "12", "-queuedepth", "5",
                               "-ioengine"] + engine.split() + args)
            row = again.row("COMBINED") or {}
            with open(new, "rb") as f:
                data = f.read()
            t.ok(run.status == again.status == 0 and row.get("Bytes_Xfered") == str(4 * M) and data == bytes(4 * M),
                 "%s %s: writes and reads" % (engine, " ".join(args)), "%s\n%s" % (run, again))
            os.unlink(new)


def test_direct():
    device = s.loop_device(s.sparse_file("disk", 8 * M))
    if device is None:
        return t.skip("-memalign with -dio", s.sys_why())
    run = t.xdd("-op", "read", "-targets", 1, device, *"-dio -reqsize 1 -blocksize 4096 -numreqs 4 -memalign 512".split())
    t.ok(run.status == 0, "-dio -memalign 512: what the device can take", run)
    kernel = tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])
    run = t.xdd("-op", "read", "-targets", 1, device, *"-dio -blocksize 4096 -numreqs 4 -memalign 3".split())
    if kernel < (6, 1):
        return t.skip("-dio -memalign 3", "this kernel does not tell what a device can take")
    return t.ok(run.status == 2 and len(run.error_lines()) == 1 and not run.out and
                re.search(r"-memalign 3: must place the buffers at multiples of \d+ bytes with -dio", run.err),
                "-dio -memalign 3: refused", run)


def test_direct_new_file():
    """A file that is not there yet: its device says what it will take, before the file is made."""
    device = s.loop_device(s.sparse_file("sectors", 64 * M), "--sector-size", "4096")
    directory = t.path("sectors.mnt")
    os.mkdir(directory)
    if device is None or s._admin("mkfs.ext4", "-q", "-F", "-b", "4096", device) is None or \
            s._admin("mount", "-t", "ext4", device, directory) is None:
        return t.skip("-dio and a new file", s.sys_why())
    s._mounted(directory)
    words = ["-op", "write", "-targets", 1, os.path.join(directory, "new"), "-dio", "-numreqs", 4]
    before = os.listdir(directory)
    cases = [(["-blocksize", 512, "-reqsize", 1], r"-dio: the request size .* must be a multiple of 4096 bytes; it is 512")]
    if os.path.exists("/sys/block/%s/queue/dma_alignment" % os.path.basename(device)):
        cases.append((["-reqsize", 4, "-memalign", 3], r"-memalign 3: must place the buffers at multiples of \d+ bytes with -dio"))
    for more, text in cases:
        run = t.xdd(*words, *more)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and re.search(text, run.err) and os.listdir(directory) == before,
             "-dio and a new file, refused: %s" % more, run)
    run = t.xdd(*words, "-reqsize", 4, "-memalign", 4096)
    return t.ok(run.status == 0, "-dio and a new file: what fits", run)


# Huge pages and NUMA


def huge_pages():
    """Size of an explicit huge page, and how many are left."""
    with open("/proc/meminfo") as f:
        found = dict(re.findall(r"^(\w+): +(\d+)", f.read(), re.M))
    with open("/proc/sys/vm/nr_overcommit_hugepages") as f:
        more = int(f.read())
    return int(found.get("Hugepagesize", 0)) * K, int(found.get("HugePages_Free", 0)) - int(found.get("HugePages_Rsvd", 0)) + more


def test_huge_pages():
    size, left = huge_pages()
    if not size:
        return t.skip("-hugepages", "this kernel has none")
    new = t.path("huge")
    run = t.xdd("-op", "write", "-targets", 1, new, "-blocksize", size, "-reqsize", 1, "-numreqs", 1, "-queuedepth", left + 1,
                "-hugepages")
    return t.ok(run.status == 2 and len(run.error_lines()) == 1 and not os.path.exists(new) and not run.out and
                re.search(r"-hugepages: the I/O buffers take %d of the huge pages of .*, and there are %d left; see the sysctl "
                          r"vm.nr_hugepages" % (left + 1, left), run.err), "-hugepages: refused when there are too few", run)


def test_numa():
    if "without libnuma" in t.xdd("-op", "read", "-targets", 1, FILE, "-numa", 0).err:
        return t.skip("-numa", "this xdd was built without libnuma")
    if not os.path.exists("/proc/self/numa_maps"):
        return t.skip("-numa", "this kernel knows no NUMA nodes")
    for word, policy in (("0", "bind:0"), ("node0", "bind:0"), ("interleave", "interleave:0"), ("interleave:0", "interleave:0"),
                         ("interleave:node0", "interleave:0"), ("local", "prefer:0")):
        with resting("-targets", 1, FILE, "-numreqs", 2, "-numa", word, "-sharedmemory") as run:
            with open("/proc/%d/numa_maps" % run.pid) as f:
                lines = [line for line in f if "/SYSV" in line]
        policy_of = lines[0].split()[1] if lines else None
        if word == "interleave":
            t.equal((len(lines), policy_of.startswith("interleave:0")), (1, True), "-numa interleave", lines)
        else:
            t.ok(len(lines) == 1 and policy_of in (policy, policy.replace("prefer:", "prefer=")), "-numa %s" % word, lines)
    return None


# Limits that targets share


def test_fixed_buffers():
    """The buffers of each of two targets are within the memlock limit, and those of both are not."""
    if "io_uring" not in ENGINES or s.for_nobody(512 * K) is None:
        return t.skip("fixedbufs of two targets", "no io_uring" if "io_uring" not in ENGINES else s.sys_why())
    prefix, binary = s.for_nobody(512 * K)
    names = [os.path.join(t.path("free"), "fixed%d" % i) for i in range(2)]
    args = "-reqsize 64 -numreqs 4 -queuedepth 5 -nomemlock -ioengine io_uring fixedbufs".split()
    run = t.command(prefix + [binary, "-op", "write", "-targets", "2"] + names + args)
    t.ok(run.status == 2 and len(run.error_lines()) == 1 and
         "-ioengine io_uring: fixedbufs: the buffers of its targets lock 640 KiB, and the memlock limit (ulimit -l) is 512 KiB"
         in run.err and not any(os.path.exists(n) for n in names), "fixedbufs of two targets: refused, nothing is made", run)
    run = t.command(prefix + [binary, "-op", "write", "-targets", "1"] + names[:1] + args)
    return t.ok("memlock" not in run.err.replace("memlock limit (ulimit -l) does not allow", ""), "those of one are not refused",
                run)


def test_bad():
    cases = [("-memalign", v, m.SIZE) for v in ("-1", "x", "1.5", "2G", "1073741825", "")]
    if "without libnuma" not in t.xdd("-op", "read", "-targets", 1, FILE, "-numa", 0).err:
        cases += [("-numa", v, m.NUMA_NODES) for v in
                  ("", "x", "-1", "node", "nodes0", "0,", "1-0", "interleave:", "interleave:x", "interleaved", "Local", "99999")]
        cases += [("-numa", v, "cannot use memory of NUMA node 8191; this process may use: ") for v in
                  ("8191", "node8191", "0,8191", "interleave:8191")]
    for option, value, pattern in cases:
        new = t.path("not-made")
        run = t.xdd("-op", "write", "-targets", 1, new, "-numreqs", 1, option, value)
        t.equal((run.status, len(run.error_lines()), pattern in run.err, option in run.err, run.out, os.path.exists(new)),
                (2, 1, True, True, "", False), "%s %r is refused" % (option, value), run)
    for option in ("-memalign", "-numa"):
        run = t.xdd("-op", "read", "-targets", 1, FILE, option)
        t.equal((run.status in (2, 3), m.MISSING in run.err), (True, True), option + " without a word is refused",
                run)
    for option in "nomemlock noproclock processlock maxpri maxall minall".split():
        run = t.xdd("-op", "read", "-targets", 1, FILE, "-" + option, "target", 0)
        t.equal((run.status in (2, 3), len(run.error_lines())), (True, 1), "-%s is for all targets" % option, run)


if __name__ == "__main__":
    s.own_mounts()
    t.run(test_locked_by_default, test_limits, test_process_lock, test_process_lock_within_limit, test_no_right, test_priority, test_shared_memory,
          test_marked_at_once, test_killed_in_between, test_alignment, test_engines_misaligned, test_direct, test_direct_new_file, test_huge_pages, test_numa,
          test_fixed_buffers, test_bad)
    t.done()
