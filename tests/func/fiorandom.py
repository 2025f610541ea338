#!/usr/bin/env python3
"""
xdd fio beside fio: job files made at random of settings that both have do the same operations, or xdd refuses them by
name. Operations are seen from outside, by strace, for each file, direction, offset and size. A seed makes the same jobs again.
"""
import os
import random
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddfio
import xddsys as s
import xddtest as t

t.tolerate(t.BUFFERED, "the operations reach to ", "start over after each ", "may end before")
SEED = int(os.environ.get("XDD_TEST_SEED", "1"))
JOBS = int(os.environ.get("XDD_TEST_JOBS", "200" if os.environ.get("XDD_TEST_LONG") else "20"))

FILE_BYTES = 1 << 20
RW = ("read", "write", "randread", "randwrite", "read", "write", "randread", "randwrite", "randrw", "write:12k", "read:4k", "read:-4k",
      "randread:4")


def settings(r):
    """The lines of a job, and if its offsets are drawn at random without a map, or its directions."""
    rw = r.choice(RW)
    drawn = rw == "randrw"
    lines = ["rw=" + rw, "bs=" + r.choice(("4k", "4k", "8k", "16k", "1k", "3k", "4096,8k"))]
    name = r.choice(("there1", "there1", "there2", "new", "there1:there2", "new%d", "a b"))
    lines.append("filename=" + name)
    lines.append("size=" + r.choice(("64k", "100k", "256k", "122k", "25%", "33%", "50%") if "there" in name else ("64k", "100k", "256k")))
    if r.random() < 0.3:
        lines.append("offset=" + r.choice(("0%", "64k", "25%", "33%") if "there" in name else ("64k",)))
    if r.random() < 0.2:
        lines.append("io_size=" + r.choice(("32k", "50k", "600k")))
    if r.random() < 0.1:
        lines.append("number_ios=%d" % r.randrange(1, 20))
        drawn = drawn or "rand" in rw
    if r.random() < 0.2:
        lines.append("numjobs=%d" % r.randrange(2, 4))
        lines.append("offset_increment=" + r.choice(("100k", "64k", "10%") if "there" in name else ("64k",)))
        if "there" not in name:  # The size of a file that clones of fio make at once is a matter of chance.
            lines[1] = "bs=4k"
    if "rand" in rw and r.random() < 0.2:
        lines.append(r.choice(("norandommap", "random_distribution=zipf:1.2", "random_distribution=pareto:0.5")))
        drawn = True
    if r.random() < 0.1:
        lines.append("loops=2")
    if "write" in rw and r.random() < 0.4 and "io_size" not in "".join(lines):  # fio verifies each lap.
        lines.append(r.choice(("verify=crc32c", "buffer_pattern=0xab", "zero_buffers", "buffer_compress_percentage=50", "dedupe_percentage=50",
                               "end_fsync=1", "fsync=4")))
    if r.random() < 0.2:
        lines.append(r.choice(("ioengine=libaio\niodepth=4\ndirect=0", "rate_iops=5000.5", "thinktime=10", "zonemode=zbd", "startdelay=0",
                               "group_reporting", "unlink=0", "time_based=0", "invalidate=0", "thinktime_blocks=2", "flow=1")))
    return lines, drawn or ("io_size" in "".join(lines) and "rand" in rw)


def make_job(r):
    """The text of a job file, and if operations are to be compared without their offsets."""
    text, loose = "", False
    for i in range(r.choice((1, 1, 2))):
        lines, drawn = settings(r)
        text += "[job%d]\n%s%s\n" % (i, "stonewall\n" if i else "", "\n".join(lines))
        loose = loose or drawn
    return text, loose


def is_written(text, file):
    """A job of the text writes the file."""
    return any(re.search(r"rw=\w*(write|rw)", job) and file in re.search(r"filename=(.*)", job).group(1).split(":")
               for job in text.split("[job")[1:])


def side(name, text, directory):
    """The run of one program, what it did to files, and which there are afterwards."""
    os.mkdir(directory)
    for file in ("there1", "there2"):
        t.make_file(os.path.join(directory, file), FILE_BYTES)
    job = os.path.join(directory, "job.fio")
    with open(job, "w", encoding="utf-8") as f:
        f.write(text)
    words = ["fio", "--output=/dev/null", job] if name == "fio" else [t.XDD, "fio", job, "-run"]
    run, found = xddfio.operations(words, directory)
    files = sorted(os.listdir(directory))
    shutil.rmtree(directory)
    return run, found, [file for file in files if file not in ("log", "job.fio") and not file.endswith("-verify.state")]


def test_random():
    if not t.have("fio") or not s.can_trace():
        return t.skip("random jobs beside fio", "needs fio and strace")
    refused = 0
    for seed in range(SEED, SEED + JOBS):
        text, loose = make_job(random.Random(seed))
        run, by_xdd, files = side("xdd", text, t.path("xdd"))
        title = "job %d" % seed
        if run.status == 2 and re.search(r"translates without it$|: expected |: has ", run.err):
            refused += 1
            t.ok(not by_xdd, title + ": refused by name, before it does anything", "%s\n%s" % (text, run))
            continue
        beside, by_fio, theirs = side("fio", text, t.path("fio"))
        if beside.status:
            refused += 1
            t.ok(True, title + ": fio refuses it", beside)
            continue
        # Before reads, fio writes a new file by other calls, as large as it is.
        by_xdd = {k: n for k, n in by_xdd.items() if k[0] == "read" or "there" in k[1] or
                  is_written(text, k[1]) and k[3] <= 16384}
        if loose:
            by_xdd, by_fio = [xddfio.without_offsets(found, "randrw" in text) for found in (by_xdd, by_fio)]
        wrong = {k: (by_xdd.get(k, 0), by_fio.get(k, 0)) for k in sorted(set(by_xdd) | set(by_fio))
                 if by_xdd.get(k, 0) != by_fio.get(k, 0)}
        t.ok(run.status == 0 and not wrong and files == theirs, title + ": does what fio does",
             "%s\nxdd, fio: %s\n%s %s\n%s" % (text, str(wrong)[:600], files, theirs, run))
    return t.ok(refused < JOBS * 3 // 4, "most jobs are compared", refused)


t.run(test_random)
t.done()
