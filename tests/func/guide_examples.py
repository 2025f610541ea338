#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The guide's examples 10.1, 10.2 and 10.4 as printed, on files in ext4 and on loop devices, buffered and
direct, at queue depths 1, 4 and 32: strace has to show each operation that was asked for once, and no other. Each depth is
there on files and on devices, and buffered and direct, for examples 1 and 2 or for example 4; "make check-long" has
all combinations.
"""
import collections
import os

import xddsys as s
import xddtest as t

MIB = 1 << 20
RANGE = 4000000 * 1024
IN_ORDER, AT_RANDOM, ALL = (1, 2), (4,), (1, 2, 4)
# By direct: depths with their examples.
if t.ENGINE or os.environ.get("XDD_TEST_LONG"):
    DEPTHS = (32,) if t.ENGINE else (1, 4, 32)
    ON_FILES = ON_DEVICES = {dio: [(depth, ALL) for depth in DEPTHS] for dio in (False, True)}
else:
    ON_FILES = {False: [(1, IN_ORDER)], True: [(4, AT_RANDOM), (32, IN_ORDER)]}
    ON_DEVICES = {False: [(4, IN_ORDER), (32, AT_RANDOM)], True: [(1, AT_RANDOM)]}


if not s.can_trace():
    t.skip_all(s.sys_why())


def passes_of(ops, n):
    """Operations, in `n` parts of equal length: passes do not overlap."""
    size = len(ops) // n
    return [collections.Counter((op.call, op.offset, op.size) for op in ops[i * size:(i + 1) * size])
            for i in range(n)]


def check_opened(trace, targets, dio, title):
    flags = [f for target in targets for f in trace.flags(target)]
    direct = ["O_DIRECT" in f for f in flags if "O_NONBLOCK" not in f and "O_EXCL" not in f]
    t.ok(len(direct) == len(targets) and all(d == dio for d in direct),
         "%s: %s" % (title, "O_DIRECT" if dio else "through the page cache"), trace.opens)


def check_results(run, targets, ops, size, title):
    """The lines of three passes over all targets."""
    wrong = []
    for number in range(targets):
        for p in (1, 2, 3):
            row = run.row("TARGET_PASS", Pass=p, Target=number)
            if not row or (int(row["Ops"]), int(row["Bytes_Xfered"])) != (ops, ops * size):
                wrong.append(("TARGET_PASS", number, p, row))
        row = run.row("TARGET_AVERAGE", Pass=3, Target=number)
        if not row or (int(row["Ops"]), int(row["Bytes_Xfered"])) != (3 * ops, 3 * ops * size):
            wrong.append(("TARGET_AVERAGE", number, row))
    row = run.row("COMBINED", Pass=3, Target=targets)
    if not row or (int(row["Ops"]), int(row["Bytes_Xfered"])) != (3 * ops * targets, 3 * ops * targets * size):
        wrong.append(("COMBINED", row))
    t.ok(not wrong and len(run.rows()) == 4 * targets + 1, title + ": result lines", "%s\n%s" % (wrong, run))


def run_example(title, args, targets, ops, size, dio):
    """Run one example; returns its operations, target by target and pass by pass."""
    run, trace = s.trace(*args)
    if not t.ok(run.status == 0 and not run.error_lines(), title + ": runs", run):
        return None
    check_opened(trace, targets, dio, title)
    check_results(run, len(targets), ops, size, title)
    found = [trace.of(target) for target in targets]
    complete = all(op.result == op.size for one in found for op in one)
    counts = [len(one) for one in found]
    if not t.ok(complete and counts == [3 * ops] * len(targets), "%s: %d operations a pass, each complete" %
                (title, ops), "counts: %s" % counts):
        return None
    return [passes_of(one, 3) for one in found]


def sequential(call, ops, size):
    return collections.Counter((call, n * size, size) for n in range(ops))


def with_options(args, depth, dio):
    return args + (["-queuedepth", depth] if depth > 1 else []) + (["-dio"] if dio else [])


def example1(target, depth, dio, title):
    args = with_options("-op read -targets 1 TARGET -reqsize 128 -mbytes 64 -passes 3 -verbose".split(), depth, dio)
    args[args.index("TARGET")] = target
    found = run_example(title, args, [target], 512, 128 * 1024, dio)
    if found:
        t.ok(found[0] == [sequential("pread", 512, 128 * 1024)] * 3, title + ": each offset once a pass")


def example2(targets, depth, dio, title):
    args = with_options("-op write -targets 2 ONE TWO -blocksize 512 -reqsize 128 -mbytes 64 -verbose "
                        "-passes 3 -timelimit 10".split(), depth, dio)
    args[args.index("ONE")], args[args.index("TWO")] = targets
    found = run_example(title, args, targets, 1024, 128 * 512, dio)
    if found:
        t.ok(found == [[sequential("pwrite", 1024, 128 * 512)] * 3] * 2, title + ": each offset once a pass")


EXAMPLE4 = ("-op read -targets 1 TARGET -reqsize 8 -mbytes 16 -passes 3 -verbose "
            "-seek random -seek range 4000000").split()


def random_places():
    """The requests of example 4: offsets do not depend on the kind of target, and can be saved."""
    args = ["null" if word == "TARGET" else word for word in EXAMPLE4]
    run = t.xdd(*args, "-seek", "save", t.path("places"))
    with open(t.path("places.T0.txt")) as f:
        rows = [line.split() for line in f if not line.startswith("#")]
    places = [int(row[1]) * 1024 for row in rows]
    t.ok(run.status == 0 and len(places) == 2048 and all(row[2:4] == ["8", "r"] for row in rows),
         "example 4 has 2048 operations", run)
    t.ok(all(place % 8192 == 0 and place + 8192 <= RANGE for place in places) and len(set(places)) > 2000,
         "example 4 stays in its range, at whole requests")
    return collections.Counter(("pread", place, 8192) for place in places)


def example4(target, depth, dio, title, places):
    args = with_options([target if word == "TARGET" else word for word in EXAMPLE4], depth, dio)
    found = run_example(title, args, [target], 2048, 8192, dio)
    if found:
        t.ok(found[0] == [places] * 3, title + ": the same places in every pass")


def on(kind, readable, writable, dio, places, depths):
    """The examples of each depth; `readable` holds the range of example 4."""
    for depth, examples in depths[dio]:
        where = "on %s, %s, depth %d" % (kind, "direct" if dio else "buffered", depth)
        if 1 in examples:
            example1(readable, depth, dio, "example 1 " + where)
        if 2 in examples:
            example2(writable, depth, dio, "example 2 " + where)
        if 4 in examples:
            example4(readable, depth, dio, "example 4 " + where, places)


def on_files(places):
    kind, directory = "a file in ext4", s.ext4("ext4", 320 * MIB)
    if directory is None:
        t.diag("no ext4 of our own: " + s.sys_why())
        kind, directory = "a file", t.tmp()
    readable = os.path.join(directory, "readable")
    with open(readable, "wb") as f:
        f.truncate(RANGE)
    for dio in (False, True):
        if dio and directory == t.tmp() and t.xdd("-op", "read", "-targets", 1, readable, "-numreqs", 1, "-dio").status:
            t.skip("examples on %s, direct" % kind, "no direct I/O here")
            continue
        writable = [os.path.join(directory, "BIGFILE%d" % i) for i in (1, 2)]
        on(kind, readable, writable, dio, places, ON_FILES)
        t.equal([os.path.getsize(f) for f in writable], [64 * MIB] * 2, "example 2 on %s: 64 MiB each" % kind)
        for f in writable:
            os.unlink(f)


def on_devices(places):
    devices = [s.loop_device(s.sparse_file("disk%d" % i, size))
               for i, size in enumerate((RANGE, 64 * MIB, 64 * MIB))]
    if None in devices:
        t.skip("examples on a loop device", s.sys_why())
        return
    for dio in (False, True):
        on("a loop device", devices[0], devices[1:], dio, places, ON_DEVICES)


places = random_places()
on_files(places)
on_devices(places)
t.done()
