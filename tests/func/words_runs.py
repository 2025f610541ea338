#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Command lines of xdisk, IOR and sgpdd-survey: the line that xdd proposes is accepted, for the words of all examples in the
documentation of these tools, and its system calls are the ones that the other tool would issue: files, operations, offsets and
sizes of each process.
"""
import os
import re
import shlex

import messages as m
import xddsys as s
import xddtest as t

t.tolerate(m.RANDOM_STAYS)

K, M = 1 << 10, 1 << 20
WHERE = t.tmp()
SMALL = 1 * M


def xdd(words, **kwargs):
    return t.command([t.XDD, *words], cwd=WHERE, **kwargs)


def proposal(line):
    """(words that are left out, the words after "xdd") of the answer to a command line; None: there is none."""
    run = xdd(shlex.split(line))
    found = re.findall(r"^xdd: try(?:, without (.*?))?: xdd (.*)$", run.err, re.M)
    if run.status not in (2, 3) or len(found) != 1 or "XDD" in run.out or "Version" in run.out:
        t.ok(False, "%s: one command line is proposed" % line, run)
        return None
    return found[0]


# The words of the examples in the documentation of xdisk and IOR, and what the proposed line lacks. A process number that is
# left open there is 8 here.
EXAMPLES = (
    # xdisk: options
    ("-C100M -b1M -f file", ""), ("-S -r0 -b4k -C50G -f file", ""), ("-C 100G -R -b64k -f file", ""),
    ("-R1 -r50 -b512 -M8 -f /data/file1", ""), ("-R -r80 -b32k -M10 -f /dev/mapper/vg_data-lv_data -s4G", ""),
    ("-M 128 -f /data/F... -R -r 0", ""), ("-f /data/file1:/data/file2:/data/file3 -S -r0", ""), ("-F list -R -r 50 -Of", ""),
    ("-f file -S -r 100 -OD", ""), ("-f file -S -r 100 -OS", ""), ("-f file -S -r 100 -OSD", ""), ("-f file -R -r 0 -t60", ""),
    ("-f file -R -r 0 -t3600", ""), ("-f file -R -r 0 -t30 -w60", ""), ("-f file -R -r 0 -t300", ""), ("-f file -R -r 0 -t300 -i10", ""),
    ("-f file -R -r 0 -t300 -w600 -i10", ""), ("-f file -R -r 0 -z 80", ""), ("-f file -R -r 0 -z200", ""), ("-f file -R -r 0 -A4", ""),
    ("-f file -R -r 0 -M8 -A10", ""), ("-f file -R -r 0 -s 256M", ""), ("-f file -R -r 50 -xr", ""), ("-f file -R -r 50 -xw", ""),
    ('-f file -R -r 50 -T "Run 1 out of 5"', ""), ("-f file -R -r 50 -l en_US", "-l en_US"), ("-f file -R -r 50 -l de_DE", "-l de_DE"),
    ("-f file -R -r 50 -n DB_server_1", ""), ("-f file -R -r 50 -n DB_server_1:DB_server_2:DB_server_3", ""),
    ("-f file -R -r 50 -N list", ""),
    # xdisk: workloads and runs
    ("-R -r 80 -b 16k -M 4 -f /mount_point/F... -OD", ""), ("-R -r 80 -b 32k -M 32 -f /mount_point/F... -OD", ""),
    ("-S1 -r 100 -b 1M -M 8 -f /mount_point/F...", ""), ("-S1 -r 0 -b 1M -M 8 -f /mount_point/F...", ""),
    ("-R1 -r 100 -b 256k -M 4 -f /mount_point/F...", ""), ("-R -r 0 -b 1M -M 8 -t300 -f /mount_point/F...", ""),
    ("-S -r 0 -b 256k -M 4 -t300 -f /mount_point/F...", ""), ("-R -r 50 -b 64k -M 4 -t300 -f /mount_point/F...", ""),
    ("-R -r 50 -b 16k -M 10 -f /db2/data0/F1,/db2/data0/F2,/db2/data0/F3,/db2/data1/F0,/db2/data1/F1 -OD -t300", ""),
    ("-n host1,host2,host3,host4 -R -r50 -M4 -f/data/F... -b64k -OD -V -Q -t300", "-V"),
    ("-R -r80 -b 16k -M 8 -f /sap/oracle/data/F... -w600 -t 300 -V -OD -L /tmp/xdisk.txt", ""),
    ("-R -r0 -b 256k -M 8 -f /sap/oracle/data/F... -w600 -t 300 -V -OD -L /tmp/xdisk.txt", ""),
    ("-S -r100 -b 256k -M 8 -f /sap/oracle/data/F... -w600 -t 300 -V -OD -L /tmp/xdisk.txt", ""),
    ("-C10m -i5 -b64k -OD -f /backup/F...", ""), ("-R0 -r50 -t30 -i5 -b4k -OD -f /backup/F...", ""),
    ("-R -r50 -b8k -f /data/F1 -t10 -l de_DE -V", "-l de_DE"),
    # IOR
    ("-w -r -o filename", ""), ("-t 1m -b 16m -s 16", ""), ("-t 1m -b 16m -s 16 -F", ""), ("-t 1m -b 16m -s 16 -F -C", ""),
    ("-t 1m -b 16m -s 16 -F -C -e", ""), ("-a POSIX -b 4m -o file", ""), ("-w -o file -M 1%", ""), ("-k -E -W -i 5 -o file", ""),
    ("-k -E -w -W -i 5 -o file -O multiReRead=1", "-O multiReRead=1"), ("-w -F -N 3 -o file1@file2@file3", ""),
    ("-w -F -N 5 -o FS1/file@FS1/file@FS1/file@FS2/file@FS2/file", ""), ("-w -k -o file -D 10", ""), ("-r -E -o file -D 7", ""),
)


def test_examples():
    """Each is proposed, and accepted where its files are there."""
    for line, lacking in EXAMPLES:
        found = proposal(line)
        if not found:
            continue
        words = [re.sub(r"^/(?!tmp/)(.*/)?", "", w) for w in shlex.split(found[1])]
        at = words.index("--") if words[0] == "multi" else len(words)
        prepare(words[at + 1:] if words[0] == "multi" else words)
        run = xdd(words[:at] + ["-dryrun"] + words[at:])
        t.ok(found[0] == lacking and run.status == 0, "%s: %s" % (line, found[1]), "without %r\n%s" % (found[0], run))
    for line in ("-W -f script", "-f script"):
        run = xdd(shlex.split(line))
        t.ok(run.status == 3 and "try" not in run.err, "%s: no command line without its script" % line, run)


def prepare(words):
    """Files of the size of the examples, without blocks."""
    at = next((i for i, w in enumerate(words) if w in ("-target", "-targets")), None)
    if at is None:
        return
    names = []
    for w in words[at + 1:]:
        if w.startswith("-") and not w[1:].isdigit():
            break
        names.append(w)
    count = int(names[0].lstrip("-")) if words[at] == "-targets" and names[0].lstrip("-").isdigit() else 1
    for name in names:
        for n in range(count):
            path = os.path.join(WHERE, re.sub(r"%0(\d)d", lambda m: "%0*d" % (int(m.group(1)), n), name))
            if name.startswith("@") or name.lstrip("-").isdigit():
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "ab") as f:
                f.truncate(4 << 30)


# Operations


class Calls:
    """The operations of a proposed line: (file, operation, offset, size) in order, by thread."""

    def __init__(self, line, lacking="", **kwargs):
        found = proposal(line)
        self.run, self.by_thread, self.ops, self.trace = None, {}, [], None
        if not found:
            return
        t.equal(found[0], lacking, "%s: no word is lost" % line)
        self.run, self.trace = s.trace(*shlex.split(found[1]), cwd=WHERE, **kwargs)
        where = os.path.realpath(WHERE)
        for op in self.trace.ops:
            if os.path.dirname(op.path) != where:
                continue
            call = (os.path.basename(op.path), op.call[1:], op.offset, op.size)
            self.ops.append(call)
            self.by_thread.setdefault(op.pid, []).append(call)


def file(name, size=SMALL):
    with open(os.path.join(WHERE, name), "wb") as f:
        f.write(t.noise(size))
    return name


def of(name, op, first, end, size):
    return [(name, op, offset, size) for offset in range(first, end, size)]


def check(line, threads, ordered=True):
    """Each process issues these operations, in this order or in another one."""
    calls = Calls(line)
    if calls.run is None:
        return calls
    t.equal(calls.run.status, 0, line, calls.run)
    got = sorted(ops if ordered else sorted(ops) for ops in calls.by_thread.values())
    t.equal(got, sorted(ops if ordered else sorted(ops) for ops in threads), "%s: the operations of each process" % line)
    return calls


def check_timed(line, parts, size):
    """
    Until the time is over, each process stays in its part and reaches most of it. `parts`: (file, first, end) and the
    operations of each. An operation takes 5 ms.
    """
    calls = Calls(line, device="%s/ 5000000 %d" % (os.path.basename(WHERE), len(parts)))
    if calls.run is None:
        return
    t.equal(calls.run.status, 0, line, calls.run)
    seen = []
    for ops in calls.by_thread.values():
        name = {op[0] for op in ops}
        first, last = min(op[2] for op in ops), max(op[2] for op in ops)
        inside = [(part, kinds) for part, kinds in parts if name == {part[0]} and part[1] <= first and last + size <= part[2]]
        t.ok(inside and {op[1] for op in ops} == inside[0][1] and {op[3] for op in ops} == {size} and
             len({op[2] for op in ops}) > (inside[0][0][2] - inside[0][0][1]) // size // 2, "%s: a process in its part" % line, ops[:20])
        seen += [part for part, _ in inside]
    t.equal(sorted(seen), sorted(part for part, _ in parts), "%s: each part has its process" % line)


def test_xdisk():
    quarters = [(i * SMALL // 4, (i + 1) * SMALL // 4) for i in range(4)]
    file("T")
    check("-S1 -r 100 -b 64k -M 4 -f T -V", [of("T", "read", a, b, 64 * K) for a, b in quarters])
    check("-S1 -r 0 -b 64k -M 2 -f T -t 30 -w 5", [of("T", "write", a, b, 64 * K) for a, b in ((0, SMALL // 2), (SMALL // 2, SMALL))])
    check("-R1 -r 100 -b 16k -M 4 -f T", [of("T", "read", a, b, 16 * K) for a, b in quarters], ordered=False)
    check("-R1 -r 0 -f T", [of("T", "write", 0, SMALL, 4 * K)], ordered=False)
    for i in range(3):
        file("F%03d" % i)
    check("-M3 -f F... -S1 -r 100 -b 256k", [of("F%03d" % i, "read", 0, SMALL, 256 * K) for i in range(3)])
    file("a"), file("b")
    check("-S1 -r 100 -b 128k -M 2 -f a:b", [of(name, "read", 0, SMALL, 128 * K) for name in "ab"])
    check("-S1 -r 100 -b 128k -M 4 -f a,b",
          [of(name, "read", a, b, 128 * K) for name in "ab" for a, b in ((0, SMALL // 2), (SMALL // 2, SMALL))])
    check("-C 1m -b 64k -M 2 -f made", [of("made", "write", a, b, 64 * K) for a, b in ((0, SMALL // 2), (SMALL // 2, SMALL))])
    check("-C 1m -R -b 64k -f holes", [of("holes", "write", 0, SMALL, 64 * K)], ordered=False)
    for kind in ("-S -r 100", "-R -r 100"):
        check_timed("%s -b 16k -M 4 -f T -t 1" % kind, [(("T", a, b), {"read"}) for a, b in quarters], 16 * K)
    check_timed("-R -r 50 -b 16k -M 4 -f a:b -t 1 -OS",
                [((name, a, b), {"read", "write"}) for name in "ab" for a, b in ((0, SMALL // 2), (SMALL // 2, SMALL))], 16 * K)
    check_timed("-R -r 0 -b 4k -M 3 -f T -t 1 -s 512k", [(("T", i * 168 * K, (i + 1) * 168 * K), {"write"}) for i in range(3)], 4 * K)


def blocks(name, op, task, tasks, block, segments, size):
    """IOR: the block of a task in each segment of a shared file."""
    return [call for segment in range(segments)
            for call in of(name, op, (segment * tasks + task) * block, (segment * tasks + task + 1) * block, size)]


def test_ior():
    for line, tasks, block, segments, size in (("-t 64k -b 256k -s 2 -N 4", 4, 256 * K, 2, 64 * K), ("-N 2", 2, M, 1, 256 * K),
                                               ("-s 3", 1, M, 3, 256 * K), ("-t 128k -N 2 -s 2", 2, M, 2, 128 * K)):
        check("-w -o shared " + line, [blocks("shared", "write", i, tasks, block, segments, size) for i in range(tasks)])
        check("-r -o shared " + line, [blocks("shared", "read", i, tasks, block, segments, size) for i in range(tasks)])
    both = [blocks("both", op, i, 2, 128 * K, 2, 64 * K) for op in ("write", "read") for i in range(2)]
    calls = check("-w -r -o both -t 64k -b 128k -s 2 -N 2", both)
    kinds = [op[1] for op in calls.ops]
    t.equal(kinds, sorted(kinds, reverse=True), "all writes are before the reads")
    check("-o both -t 64k -b 128k -s 2 -N 2", both)
    check("-w -F -o own -t 64k -b 128k -s 2 -N 3", [of("own.%08d" % i, "write", 0, 256 * K, 64 * K) for i in range(3)])
    check("-r -C -o shared -t 64k -b 128k -N 4", [blocks("shared", "read", i, 4, 128 * K, 1, 64 * K) for i in range(4)])
    calls = Calls("-r -C -o shared -t 64k -b 128k -N 2 -V", "-V")
    t.ok(calls.run and len(calls.ops) == 4, "and in the order of other tasks", calls.run)


def test_checks():
    """IOR's FAQ: data of an existing file are verified several times; then a byte of it is wrong."""
    run = xdd(shlex.split("-op write -target checked -bs 256k -bytes 2m -datapattern tagged"))
    t.equal(run.status, 0, "a file with tags", run)
    line = "-k -E -W -i 3 -o checked"
    check(line, [3 * of("checked", "read", 0, M, 256 * K)])
    with open(os.path.join(WHERE, "checked"), "r+b") as f:
        f.seek(300000)
        f.write(b"\xff\x00")
    run = xdd(shlex.split(proposal(line)[1]))
    t.equal(run.status, 7, "a wrong byte is found", run)


def test_survey():
    file("T")
    if xdd(shlex.split("-op read -target T -dio -reqsize 4 -numreqs 1")).status:
        return t.skip("sgpdd-survey", "no direct I/O here")
    check("size=1 crglo=2 crghi=2 thrlo=2 thrhi=2 rszlo=64 rszhi=64 rawdevs=T tests_str=read",
          [of("T", "read", i * SMALL // 2, (i + 1) * SMALL // 2, 64 * K) for i in range(2)])


if s.can_trace():
    with open(os.path.join(WHERE, "list"), "w", encoding="ascii") as names:
        names.write("a\nb\n")
    t.run(test_xdisk, test_ior, test_checks, test_survey)
test_examples()
t.done()
