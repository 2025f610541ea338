#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd fio beside fio: job files made at random of settings that both have do the same operations, or xdd refuses them by
name. Operations are seen from outside, by strace, for each file, direction, offset and size. A seed makes the same jobs again.
"""
import os
import random
import re
import shutil

import xddfio
import xddsys as s
import xddtest as t

SEED = int(os.environ.get("XDD_TEST_SEED", "1"))
JOBS = int(os.environ.get("XDD_TEST_JOBS", "200" if os.environ.get("XDD_TEST_LONG") else "20"))

THERE = {"there1": os.urandom(1 << 20), "there2": os.urandom(1 << 20)}
RW = ("read", "write", "randread", "randwrite", "read", "write", "randread", "randwrite", "read", "write", "randread", "randwrite", "randrw",
      "randrw", "rw", "write:12k", "read:4k", "read:-4k", "randread:4")
OF_WRITES = ("verify=crc32c", "verify=md5", "verify=pattern\nverify_pattern=0xabcd", "verify=crc32c\ndo_verify=0", "verify=null",
             "verify=meta\nverify_interval=512", "buffer_pattern=0xab", "zero_buffers", "refill_buffers", "scramble_buffers=1",
             "buffer_compress_percentage=50\nrefill_buffers", "dedupe_percentage=50", "end_fsync=1", "fsync_on_close=1", "fsync=4",
             "fdatasync=3", "sync=1", "sync=dsync", "fallocate=none", "fallocate=posix", "overwrite=1", "sync_file_range=write:4",
             "buffer_compress_percentage=30\nbuffer_pattern=0x12", "file_append=1", "verify=crc32c\nverify_backlog=4", "fill_device=0")
OF_RANDOM = ("norandommap", "random_distribution=zipf:1.2", "random_distribution=pareto:0.5", "random_distribution=random", "randseed=9",
             "randrepeat=0", "allrandrepeat=0", "percentage_random=40", "random_generator=lfsr", "softrandommap=1", "ba=8k")
OF_ANY = ("ioengine=libaio\niodepth=4\ndirect=0", "ioengine=libaio\niodepth=4\ndirect=1", "ioengine=libaio\niodepth=8\niodepth_batch=4",
          "ioengine=posixaio\niodepth=4", "ioengine=sync", "ioengine=pvsync", "ioengine=pvsync2", "ioengine=vsync", "ioengine=net",
          "buffered=1", "rate_iops=5000.5", "rate=20m", "thinktime=10", "thinktime_blocks=2", "thinktime=10\nrate=20m", "zonemode=zbd",
          "startdelay=0", "startdelay=5ms", "group_reporting", "unlink=0", "time_based=0", "invalidate=0", "flow=1", "thread", "nice=0",
          "pre_read=0", "mem=mmap", "iomem_align=4k", "gtod_reduce=1", "write_lat_log", "percentile_list=50:99", "kb_base=1024",
          "description=some words", "continue_on_error=io", "exitall_on_error", "latency_target=1s", "unlink=1",
          "cpus_allowed=0", "numa_cpu_nodes=0", "rw_sequencer=sequential", "clocksource=clock_gettime", "max_latency=10s",
          "unified_rw_reporting=1", "create_on_open=0", "file_service_type=roundrobin", "openfiles=9", "lockfile=none", "runtime=90")


def settings(r):
    """The lines of a job, and what each program draws by itself in it (see xddfio.differences)."""
    rw = r.choice(RW)
    drawn = {"directions"} if "rw" in rw else set()
    # How far the reads of a sequential mix come follows from their number, which fio draws.
    drawn |= {"offsets"} if rw == "rw" else set()
    lines = [r.choice(("rw=", "readwrite=")) + rw,
             r.choice(("bs=", "blocksize=")) + r.choice(("4k", "4K", "8k", "16k", "1k", "3k", "0x1000", "4kb", "4096,8k", "8k,", ",8k"))]
    name = r.choice(("there1", "there1", "there2", "new", "there1:there2", "new%d", "a b", "new1:new2", "c\\:d"))
    there = "there" in name
    lines.append("filename=" + name)
    lines.append("size=" + r.choice(("64k", "100k", "256k", "122k", "25%", "33%", "50%") if there else ("64k", "100k", "256k")))
    if r.random() < 0.3:
        lines.append("offset=" + r.choice(("0%", "64k", "25%", "33%") if there else ("64k",)))
    if r.random() < 0.2:
        lines.append(r.choice(("io_size=", "io_limit=")) + r.choice(("32k", "50k", "600k")))
        drawn |= {"offsets"} if "rand" in rw else set()
    if r.random() < 0.1:
        lines.append("number_ios=%d" % r.randrange(1, 20))
        drawn |= {"offsets"} if "rand" in rw else set()
    if r.random() < 0.2:
        lines.append("numjobs=%d" % r.randrange(2, 4))
        lines.append("offset_increment=" + r.choice(("100k", "64k", "10%") if there else ("64k",)))
        if not there:  # The size of a file that clones of fio make at once is a matter of chance.
            lines[1] = "bs=4k"
    if "rand" in rw and r.random() < 0.3:
        lines.append(r.choice(OF_RANDOM))
        drawn |= {"offsets"} if re.match("norandommap|random_distribution=[zp]", lines[-1]) else set()
    if r.random() < 0.1:
        lines.append(r.choice(("bssplit=4k/50:16k/50", "bsrange=4k-8k", "bssplit=4k/50:8k/50,16k/100", "bsrange=4k-4k")))
        drawn |= {"sizes", "offsets"}
    if r.random() < 0.1:
        lines.append("loops=2")
    if "w" in rw and r.random() < 0.5:
        lines.append(r.choice(OF_WRITES))
    for _ in range(r.choice((0, 1, 2))):
        lines.append(r.choice(OF_ANY))
    # The first clone of fio that ends takes the file away from those that begin later.
    if any(line.startswith("numjobs=") for line in lines):
        lines = [line for line in lines if line != "unlink=1"]
    return lines, drawn


def make_job(r):
    """The text of a job file, and what each program draws by itself in it."""
    text, drawn = "", set()
    if r.random() < 0.2:
        text = "; made at random\n[global]\ninvalidate=1 ; of all\n%s\n" % r.choice(("group_reporting", "thread=1", "stonewall=0"))
    for i in range(r.choice((1, 1, 2))):
        lines, of_job = settings(r)
        text += "[job%d]\n%s%s\n" % (i, "stonewall\n" if i else "", "\n".join(lines))
        drawn |= of_job
    return text, drawn


def side(name, text):
    """Run the job file by one program, in a directory of its own."""
    directory = t.path(name)
    os.mkdir(directory)
    for file, data in THERE.items():
        with open(os.path.join(directory, file), "wb") as f:
            f.write(data)
    with open(os.path.join(directory, "job.fio"), "w", encoding="utf-8") as f:
        f.write(text)
    result = xddfio.side(name, "job.fio", directory)
    shutil.rmtree(directory)
    return result


def test_random():
    if not t.have("fio") or not s.can_trace():
        return t.skip("random jobs beside fio", "needs fio and strace")
    refused = 0
    for seed in range(SEED, SEED + JOBS):
        text, drawn = make_job(random.Random(seed))
        mine = side("xdd", text)
        title = "job %d" % seed
        if mine.run.status == 2 and re.search(xddfio.REFUSED, mine.run.err.rstrip()):
            refused += 1
            t.ok(not mine.done and len(mine.run.error_lines()) == 1, title + ": refused by name, before it does anything",
                 "%s\n%s" % (text, mine.run))
            continue
        theirs = side("fio", text)
        if theirs.run.status:
            refused += 1
            t.ok(True, title + ": fio refuses it", theirs.run)
            continue
        found = xddfio.differences(mine, theirs, drawn)
        t.ok(mine.run.status == 0 and not found, title + ": does what fio does", "%s\n%s\n%s" % (text, "\n".join(found), mine.run))
    return t.ok(refused < JOBS * 3 // 4, "most jobs are compared", refused)


t.run_all()
