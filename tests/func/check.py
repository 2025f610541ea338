#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd check, and xdd with a name only: what is measured and shown, that nothing is written, what is refused, what looks
wrong, and which command a first word is. No figure is compared with another one, or with what a device can do.
"""
import grp
import os
import re
import socket

import messages as m
import xddhold
import xddsys as s
import xddterm
import xddtest as t

KIB, MIB = 1 << 10, 1 << 20
SHORT = ("-seconds", "0.3")
STEP = "50000,idle"  # nanoseconds that pass with each reading of the clock: an operation at depth 1 has two
PHASES = ["sequential", "random", "random"]
SCALES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
TIMES = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9}
ROW = re.compile(r"^(sequential|random) (?:(\d+) (KiB|MiB), depth |x)(\d+) +([\d.]+) (\S*)B/s +([\d.]+) (\S*)/s"
                 r" +(?:-|([\d.]+) (\S+)) +(?:-|([\d.]+) (\S+)) +([\d.]+) (\S+)$")


def check(*words, **kwargs):
    return t.command([t.XDD, *[str(w) for w in words]], step=STEP, **kwargs)


def on_terminal(*words, **kwargs):
    return xddterm.on_terminal([t.XDD, *words, *SHORT], step=STEP, **kwargs)


def data(name, size):
    """A file without zeros, on the file system of the test's directory."""
    with open(t.path(name), "wb") as f:
        f.write(os.urandom(size))
        os.fsync(f.fileno())
    return t.path(name)


def rows(out):
    """The rows of the table: phase, request bytes (None where the row is short), depth, rate, IOPS, p50, p99, max; None for -."""
    found = []
    for line in out.splitlines():
        match = ROW.match(line)
        if match:
            g = match.groups()
            size = int(g[1]) * {"KiB": KIB, "MiB": MIB}[g[2]] if g[1] else None
            found.append((g[0], size, int(g[3]), float(g[4]) * SCALES[g[5]], float(g[6]) * SCALES[g[7]],
                          *(float(g[i]) * TIMES[g[i + 1]] if g[i] else None for i in (8, 10, 12))))
    table = [line for line in out.splitlines() if ROW.match(line) or re.fullmatch(r" +rate +IOPS +p50 +p99 +max", line)]
    t.ok(len({len(line) for line in table}) <= 1, "figures end where their heads do", out)
    return found


def wrong(out):
    """The sentences about what looks wrong, each in one line; None where there is no statement."""
    text = re.search(r"^What looks wrong:\n(.*?)(?:\n\n|\Z)", out, re.M | re.S)
    if not text:
        return [] if re.search(r"^Nothing looks wrong\.$", out, re.M) else None
    return [" ".join(item.split()) for item in re.split(r"^- ", text.group(1), flags=re.M) if item.strip()]


def says(out, pattern):
    return any(re.search(pattern, sentence) for sentence in wrong(out) or [])


def commands(out):
    """The commands that are suggested, as a shell sees them."""
    return [line.strip() for line in re.sub(r" \\\n *", " ", out).splitlines() if line.strip().startswith("xdd -")]


def file_system_of(file):
    """
    How the head names the file system of a file, as a pattern: by the last mount that has its path; by its kind where this
    process sees no such mount, as in a chroot.
    """
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        mounts = [(line.split(" - ")[0].split()[4], line.split(" - ")[1].split()[:2]) for line in f]
    mounts = [(p, of) for p, of in mounts if (file + "/").startswith(p.rstrip("/") + "/")]
    if not mounts:
        return r"[a-z][\w/]*"
    path, (kind, source) = max(mounts, key=lambda m: len(m[0]))
    return re.escape(", ".join([kind] + [source] * (source != kind) + ["mounted on " + path]))


def test_file():
    file = data("file", 8 * MIB)
    run = check(file, *SHORT)
    t.equal((run.status, run.err), (0, ""), "xdd FILE ends with status 0 and no message", run)
    head = re.escape("%s: file, 8.39 MB (8 MiB) " % file) + file_system_of(os.path.realpath(file)) + " "
    t.ok(re.match(head, " ".join(run.out.split())), "the first lines have the size and the file system", "%s\n%s" % (head, run))
    found = rows(run.out)
    t.equal([r[0] for r in found], PHASES, "three measurements are shown", run)
    t.equal([(r[1], r[2]) for r in found], [(MIB, 8), (4 * KIB, 1), (4 * KIB, 32)],
            "they are of 1 MiB at depth 8, and of 4 KiB at depths 1 and 32", run)
    t.ok(all(abs(r[3] / (r[4] * r[1]) - 1) < 0.02 for r in found), "each rate is IOPS times the size of a request", run)
    times = [[x * 1.01 ** i for i, x in enumerate(r[5:8]) if x is not None] for r in found]
    t.ok(all(x[0] > 0 and x == sorted(x) for x in times), "p50, p99 and max ascend", run)
    short = re.search(r"^\(sequential 1 MiB, depth 8: (\d+) requests in \S+ \S+: too", run.out, re.M)
    seconds = 8 / found[0][4]
    t.ok(short and short.group(1) == "8" if seconds < 0.19 else not short or seconds < 0.21,
         "it says which measurement is too short, and how long it was", run)
    t.ok(run.out.startswith(file + ": file, 8.39 MB (8 MiB)\n"), "the first line names the file and its size", run)
    t.ok(wrong(run.out) is not None, "there is a statement about what looks wrong", run)
    t.equal(re.sub(r"\S*\d\S*", "N", check("check", "-s", "300ms", file).out).split("\n")[0],
            re.sub(r"\S*\d\S*", "N", run.out).split("\n")[0], "xdd check FILE does the same")


def test_advice():
    """All of the commands, and half of the rate that was reached among them."""
    file = data("advice", 8 * MIB)
    out = check(file, *SHORT).out
    head = re.search(r"^  read only, (direct I/O|through the page cache), -ioengine (\S+)$", out, re.M)
    how = (" -dio" if head.group(1) == "direct I/O" else "") + " -ioengine " + head.group(2)
    rate = re.search(r"-throttle ops (\d+)", out)
    deep = rows(out)[2][4]
    t.ok(abs(int(rate.group(1)) - deep / 2) <= 0.01 * deep, "half of the rate that it reached", out)
    disk = os.statvfs(t.tmp())
    size = next((n for n in (1024, 512, 256, 128, 64) if n * MIB // disk.f_frsize <= disk.f_bavail // 10), 0)
    tail = re.sub(r" \\\n *", " ", out[out.index("\nHow certain"):])
    t.equal(tail, """
How certain the figures are, and a file for xdd compare:
  xdd -op read -target %s%s -queuedepth 32 -reqsize 4k -seek random -timelimit 10s -passes 5 -jsonout before.json
Response times at half the rate that it reached:
  xdd -op read -target %s%s -queuedepth 32 -reqsize 4k -seek random -timelimit 30s -throttle ops %s -latency percentiles 50,99,99.9
""" % (file, how, file, how, rate.group(1)) + ("" if not size else """\
Writes, to a new file that is removed afterwards:
  xdd -op write -target %s%s -bytes %dM -reqsize 1M -queuedepth 8 -datapattern random -syncwrite -deletefile
""" % (t.path("xdd-write-test"), " -dio" if head.group(1) == "direct I/O" else "", size)), "the commands")
    brief = check(file, *SHORT, "-brief").out
    t.ok("xdd -" not in brief and brief.startswith(out[:out.index("\n\n")]), "-brief leaves them out", brief)


def test_commands():
    """Each suggested command is accepted as it stands."""
    file = data("a name with 'quotes'", 1 * MIB)
    run = check(file, *SHORT)
    suggested = commands(run.out)
    t.ok(len(suggested) >= 2, "commands to go on with are suggested", run)
    for text in suggested:
        dry = t.command(["sh", "-c", 'xdd() { "$XDD" "$@" -dryrun; }; ' + text], cwd=t.tmp(), tolerate=(t.CACHED, t.BUFFERED))
        t.equal(dry.status, 0, "this one is accepted: " + re.sub(r"\s+", " ", text.replace(t.tmp(), "")), dry)
    t.ok(not any(re.search(r"-op (write|mixed)|-rwratio", text) and "-target '%s'" % file in text for text in suggested),
         "none of them writes to the file", run)


def test_widths():
    if not t.have_terminals():
        t.skip("the widths of terminals", "no pseudo-terminals")
        return
    file = data("a-long-name-" + "x" * 100, 1 * MIB)
    for columns in (60, 80, 120, 200):
        screen = on_terminal(os.path.basename(file), columns=columns, cwd=t.tmp())
        lines = [line for line in screen.lines if not re.search(r"x{30}", line) or "..." in line]
        t.ok(screen.status == 0 and max(map(len, lines)) <= columns,
             "on a terminal of %d columns no line is longer, except a name in a command" % columns, screen)
        t.equal(len(rows("\n".join(screen.lines))), 3, "and the table is whole", screen)
    device = s.loop_device(file)
    if device:
        screen = on_terminal(device, columns=60)
        t.ok(max(map(len, screen.lines)) <= 60, "long names of other files are folded", screen)
    else:
        t.skip("long names of other files are folded", s.sys_why())
    screen = on_terminal(file, columns=20)
    t.equal(screen.status, 0, "a terminal of 20 columns gets the text of 60", screen)


READ_ONLY_CALLS = "open,openat,openat2,creat,truncate,ftruncate,fallocate,unlink,unlinkat,rename,renameat2,write," \
    "pwrite64,pwritev,pwritev2,fsync,fdatasync,sync_file_range,chmod,fchmod,utimensat,link,symlink,mkdir"


def test_reads_only():
    if not s.can_trace():
        t.skip("nothing is written", s.sys_why())
        return
    file, log = data("traced", 1 * MIB), t.path("strace")
    os.chmod(file, 0o444)
    before = os.stat(file)
    run = t.command(s.strace(log, READ_ONLY_CALLS) + [t.XDD, file, *SHORT])
    with open(log) as f:
        calls = [line.split(None, 1)[1] for line in f if "(" in line]
    opened = [line for line in calls if re.match(r"open", line) and file in line]
    t.equal(run.status, 0, "a file without permission to write is checked", run)
    t.ok(opened and all("O_RDONLY" in line or "O_PATH" in line for line in opened),
         "the file is opened for reading only", "\n".join(opened))
    others = [line for line in calls if not re.match(r"open", line) and (file in line.split(")")[0] or "traced" in line)
              and not re.match(r"write\([12]<", line)]
    t.equal(others, [], "and no call changes it")
    made = [line for line in calls if re.match(r"open", line) and "O_CREAT" in line and
            "/tsan.rodata" not in line]
    t.equal(made, [], "no file is created")
    after = os.stat(file)
    t.equal((after.st_mtime_ns, after.st_size, after.st_ino), (before.st_mtime_ns, before.st_size, before.st_ino),
            "the file is as it was")


def refused(title, name, problem, status=2, words=()):
    run = check(name, *SHORT, *words)
    t.ok(run.status == status and len(run.error_lines()) == 1 and run.out == "" and
         re.search(m.line("check: " + re.escape(name), problem), run.err), title, run)


def test_refused():
    small = data("small", 100)
    refused("a directory", t.tmp(), m.CHECK_DIRECTORY)
    refused("a character device", "/dev/null", m.CHECK_CHARACTER)
    # A device has its kind by its name, and its disks by the names beside it.
    for name, message in (("nvme0", m.check_controller(re.escape(t.path("nvme0n1")))), ("nvme-fabrics", m.CHECK_CHARACTER),
                          ("null", m.CHECK_CHARACTER)):
        os.symlink("/dev/null", t.path(name))
        open(t.path(name + "n1"), "w").close()
        refused("a character device with the name " + name, t.path(name), message)
    refused("a name that does not exist", t.path("missing"), m.CHECK_MISSING + "$")
    refused("a file below a file", small + "/x", m.NOT_A_DIRECTORY)
    refused("a small file", small, m.check_needs(4096))
    open(t.path("empty"), "w").close()
    refused("an empty file", t.path("empty"), m.CHECK_EMPTY)
    refused("a file of the kernel", "/proc/version", m.CHECK_EMPTY)
    os.mkfifo(t.path("fifo"))
    refused("a pipe", t.path("fifo"), m.CHECK_PIPE)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(t.path("socket"))
        refused("a socket", t.path("socket"), m.CHECK_SOCKET)
    open(t.path("job.fio"), "w").write("[job]\nrw=read\n")
    refused("a job file of fio", t.path("job.fio"), m.CHECK_FIO)
    run = check(t.path("empty"), data("fine", 16 * KIB), t.path("missing"), *SHORT)
    t.ok(run.status == 2 and len(run.error_lines()) == 2 and run.out == "",
         "of several names, all that cannot be checked are reported, and none is checked", run)
    for words, status, problem in (
            (["-seconds"], 2, m.CHECK_NO_TIME), (["-seconds", "0"], 2, m.CHECK_TIME), (["-seconds", "x"], 2, m.CHECK_TIME),
            (["-secnods", "1"], 3, m.NO_OPTION + m.near("-seconds")), (["-op", "read"], 3, m.CHECK_RUN_OPTION)):
        run = check("check", t.path("fine"), *words)
        t.ok(run.status == status and len(run.error_lines()) == 1 and re.search(problem, run.err) and run.out == "",
             "xdd check FILE %s is refused" % " ".join(words), run)
    run = check("check")
    t.ok(run.status == 2 and re.search(m.CHECK_NOTHING, run.err), "xdd check without a name is refused", run)


def test_rights():
    other = s.for_nobody()
    if not other:
        t.skip("a file that may not be read", s.sys_why())
        return
    prefix, binary = other
    file = data("secret", 16 * KIB)
    os.chmod(file, 0o600)
    for mode, group, said in ((0o600, 0, ""), (0o600, 1, ""), (0o640, 0, ""), (0o640, 1, ", or become a member of group %s" % grp.getgrgid(1).gr_name)):
        os.chown(file, 0, group)
        os.chmod(file, mode)
        run = t.command(prefix + [binary, file])
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and re.search(m.NO_PERMISSION + "; use sudo%s$" % said, run.err),
             "a user without rights gets one line: mode %o of group %d" % (mode, group), run)
    os.chmod(file, 0o644)
    run = t.command(prefix + [binary, file, *SHORT])
    t.ok(run.status == 0 and len(rows(run.out)) == 3, "and a check of a file that all may read", run)
    t.ok(commands(run.out) and not any("-op write" in c for c in commands(run.out)),
         "without a command that writes beside it, where the user may not", run)


def first_word(word, *more, **kwargs):
    return check(word, *more, cwd=t.tmp(), **kwargs)


def test_first_word():
    data("plain", 16 * KIB)
    run = first_word("plain", *SHORT)
    t.ok(run.status == 0 and len(rows(run.out)) == 3, "a name without a slash is checked if there is such a file", run)
    run = first_word("compar")
    t.ok(run.status == 2 and re.search(m.no_command("compare"), run.err), "a word near to a command is explained", run)
    run = t.xdd("check", "curv")
    t.ok(run.status == 2 and re.search(m.CHECK_COMMAND, run.err), "and after check as well", run)
    run = first_word("qwertz")
    t.ok(run.status == 2 and re.search(m.NO_COMMAND, run.err), "a word that is nothing is explained", run)
    run = first_word("./compar")
    t.ok(run.status == 2 and re.search(m.CHECK_MISSING, run.err), "a word with a slash is a file", run)
    run = first_word("queuedepth", "4")
    t.ok(run.status == 3 and re.search(m.STRAY, run.err), "the name of an option is explained as before", run)
    run = first_word("missing.img")
    t.ok(run.status == 2 and re.search(m.CHECK_MISSING, run.err), "a word with a dot is a file", run)


def test_memory():
    directory = s.tmpfs("memory", 8 * MIB)
    if not directory:
        t.skip("a file in memory", s.sys_why())
        return
    with open(directory + "/file", "wb") as f:
        f.write(os.urandom(2 * MIB))
    run = check(directory + "/file", *SHORT)
    t.equal(run.status, 0, "a file in memory is checked", run)
    t.ok(says(run.out, m.CHECK_IN_MEMORY), "with the note that these are figures of memory", run)
    t.ok("through the page cache" in run.out, "and that direct I/O is not used", run)
    others = [text for text in wrong(run.out) if not re.search(m.CHECK_IN_MEMORY + "|" + m.CHECK_BUSY, text)]
    t.equal(others, [], "nothing is concluded about a device", run)


def test_holes():
    run = check(s.sparse_file("sparse", 8 * MIB), *SHORT)
    t.ok(run.status == 0 and says(run.out, m.CHECK_HOLES), "holes are reported", run)
    with open(t.path("zeros"), "wb") as f:
        f.write(bytes(8 * MIB))
        os.fsync(f.fileno())
    run = check(t.path("zeros"), *SHORT)
    t.ok(run.status == 0 and says(run.out, m.CHECK_ZEROS), "blocks of zeros are reported", run)
    run = check(data("full", 8 * MIB), *SHORT)
    t.ok(run.status == 0 and not says(run.out, m.CHECK_ZEROS) and not says(run.out, m.CHECK_HOLES),
         "data is neither of them", run)


def test_sizes():
    for size in (4096, 4097, 10000, 65536, MIB + 512):
        run = check(data("size", size), *SHORT)
        t.ok(run.status == 0 and len(rows(run.out)) == 3, "a file of %d bytes is checked" % size, run)


def test_loop():
    device = s.loop_device(data("disk.img", 8 * MIB))
    if not device:
        t.skip("a loop device", s.sys_why())
        return
    # In virtual time a run has no figures of the device.
    run = check(device, *SHORT, real=True)
    t.equal((run.status, run.out.splitlines()[0]), (0, device + ": block device, 8.39 MB (8 MiB)"),
            "a loop device is checked", run)
    t.ok(re.search(r"loop device of \S*disk\.img", " ".join(run.out.split())), "its file is named", run)
    with open("/sys/block/%s/loop/dio" % os.path.basename(device)) as f:
        buffered = f.read().strip() == "0"
    t.equal(says(run.out, m.CHECK_LOOP), buffered, "it is reported that its file goes through the page cache, if it does", run)
    t.ok(not says(run.out, "came from elsewhere"), "its reads reach the device", run)
    t.ok(not any("write" in c for c in commands(run.out)), "no command that writes is suggested for a device", run)


def test_no_sys():
    words = s.in_mounts("umount -l /sys")
    if not words:
        t.skip("/sys that is not mounted", s.sys_why())
        return
    run = t.command(words + [t.XDD, data("no-sys", 8 * MIB), *SHORT])
    t.ok(run.status == 0 and re.search(m.CHECK_NO_SYS, run.out, re.M), "without /sys it says that it could not look", run)


def test_errors():
    file = data("bad", MIB)
    env = s.faults("eio", file="bad", start=512 * KIB, end=516 * KIB)
    if not env:
        t.skip("reads that fail", s.sys_why())
        return
    run = check(file, *SHORT, env=env)
    if "engine io_uring" in run.out and run.status == 0:
        t.skip("reads that fail", "faults cannot be injected into io_uring here")
        return
    t.equal(run.status, 6, "the status is 6 when reads fail", run)
    t.ok(says(run.out, m.check_failed(512 * KIB)), "the number of errors is shown, and the offset of the first one", run)
    t.equal((run.err, len(rows(run.out))), ("", 3), "there are no other messages, and all measurements", run)
    t.equal(commands(run.out), [], "no further measurements are suggested", run)


def test_ctrl_c():
    file = s.sparse_file("endless", 1 << 40)
    run = xddhold.interrupted([t.XDD, file, "-seconds", "3600"], 100)
    t.equal(run.status, 5, "Ctrl-C ends the check with status 5", run)
    t.ok("sequential" in run.out and "cut short" in run.out, "what was measured is shown, and that it was cut short", run)
    t.ok(re.search(r"^random 4 KiB, depth 32 +not measured$", run.out, re.M), "... which are named", run)
    t.equal(run.out.count("not measured"), 2, "the other measurements are not made", run)


def test_several():
    names = [data("one", 64 * KIB), data("two", 64 * KIB)]
    run = check(*names, *SHORT)
    t.equal((run.status, len(rows(run.out))), (0, 6), "several names are checked one after the other", run)
    table = run.out.split("\n\n")[-1].splitlines()
    found = [ROW.match(line).groups() for line in run.out.splitlines() if ROW.match(line)]
    wanted = [["/" + name, *("%s %sB/s %s %s/s" % (*large[4:6], *one[6:8])).split(), *([one[10], one[11]] if one[10] else ["-"]),
               *("%s %s/s" % deep[6:8]).split()] for name, large, one, deep in zip(("one", "two"), found[::3], found[1::3], found[2::3])]
    shown = [[line.split()[0][-4:], *line.split()[1:]] for line in table]
    t.equal(shown, [["seq.", "random", "p99", "deep"], *wanted], "a table of all of them follows, with figures of their own", run)
    run = check(names[0], *SHORT)
    t.ok(run.status == 0 and table[0] not in run.out, "one name has no such table", run)


def test_help():
    run = check("check", "-help")
    t.ok(run.status == 0 and "-seconds" in run.out and run.out.startswith("usage: xdd [check]"), "xdd check -help", run)
    t.equal(check("-help", "check").out, run.out, "xdd -help check is the same")
    t.ok(re.search(r"^  xdd check ", check("-help").out, re.M), "xdd -help lists the command")


def test_progress():
    if not t.have_terminals():
        t.skip("progress", "no pseudo-terminals")
        return
    screen = on_terminal(data("shown", 64 * KIB))
    t.ok("1 of 3, sequential" in screen.text and "3 of 3, random" in screen.text, "a terminal shows which measurement runs",
         screen.text)
    t.ok(not any("1 of 3" in line for line in screen.lines), "and the result has no trace of it", screen)


t.run_all()
