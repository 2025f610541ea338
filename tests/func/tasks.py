#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The tasks of a storage engineer's week, each typed first in the words of fio, IOR, dd or sgp_dd. xdd solves it, or its
answer leads to the solution in the next try: see tests/lib/xddtasks.py.
"""
import os
import re
import shlex
import signal
import subprocess

import xddsys as s
import xddtasks as tasks
import xddterm
import xddtest as t
from xddtasks import KIB, MIB, solve

t.look_at_all_warnings()

DIRECT = tasks.has_direct_io()
DIO = int(DIRECT)


def about(low, high):
    return lambda value: value is not None and low <= value <= high


def check_a_target():
    rows = (r"(?i)sequential", r"(?i)random.*\b32\b", r"p99", r"next|looks wrong")
    solve("quick check of a file: T", "T -seconds 1", json_too=False, says=rows)
    solve("quick check: check T", "check T -seconds 1", json_too=False, says=rows)
    device = s.loop_device(tasks.master(4 * MIB))
    if device is None:
        t.skip("quick check of a device", s.sys_why())
    else:
        solve("quick check of a device", device + " -seconds 1", json_too=False, says=(*rows, "/dev/loop"))
    solve("a file that is not there is reported, with the command for it", "nothing.img", json_too=False, status=2,
          says=(r"nothing\.img",))


def reads():
    standard = {"request": 4096, "depth": 32, "op": "read", "pattern": "random once", "dio": DIRECT, "bytes": MIB, "p50": True,
                "errors": 0}
    solve("4 KiB random reads at depth 32, direct, in fio's words",
          "--name=job --rw=randread --bs=4k --iodepth=32 --direct=%d --filename=T --size=1M" % DIO, figures=standard)
    solve("the same with one dash and blanks",
          "-op randread -bs 4k -iodepth 32 -direct %d -filename T -size 1M" % DIO, figures=standard)
    solve("the same with libaio", "--rw=randread --bs=4k --iodepth=32 --filename=T --size=1M --direct=1 --ioengine=libaio"
          if DIRECT else "--rw=randread --bs=4k --iodepth=32 --filename=T --size=1M --ioengine=libaio",
          figures={"engine": "libaio", "request": 4096, "depth": 32, "pattern": "random once"})
    solve("the same with io_uring", "--rw=randread --bs=4k --iodepth=8 --filename=T --size=1M --ioengine=io_uring",
          figures={"engine": "io_uring", "request": 4096, "depth": 8}) if "io_uring" in t.engines() else None
    solve("requests of 4 KiB with -bs 4k", "-op read -target T -bs 4k -bytes 1M", figures={"request": 4096, "ops": 256})
    solve("requests of 4 KiB with -reqsize 4k", "-op read -target T -reqsize 4KiB", figures={"request": 4096, "ops": 256})
    solve("sequential read of a file, in dd's words", "if=T of=/dev/null bs=64k",
          figures={"op": "read", "request": 64 * KIB, "bytes": MIB, "targets": ["T"]})
    solve("dd with count, skip and direct", "if=T of=/dev/null bs=4k count=10 skip=100" + (" iflag=direct" if DIRECT else ""),
          figures={"op": "read", "request": 4096, "ops": 10, "start": 100 * 4096, "dio": DIRECT})
    solve("sgp_dd with threads", "if=T of=/dev/null bs=512 bpt=128 thr=4",
          figures={"op": "read", "request": 64 * KIB, "depth": 4})
    solve("a read of a part of the file", "--rw=read --bs=64k --filename=T --offset=256k --size=512k",
          figures={"op": "read", "start": 256 * KIB, "bytes": 512 * KIB})
    solve("half of the file", "-op read -target T -bytes 50% -reqsize 64k", figures={"bytes": MIB // 2})
    solve("random reads in the first half", "-op read -target T -reqsize 4k -numreqs 100 -seek random -seek range 50%",
          figures={"pattern": "random", "range": MIB // 2, "ops": 100})
    solve("reads past the page cache, in fio's words", "--rw=read --bs=64k --filename=T --invalidate=1",
          figures={"op": "read", "dropcache": lambda v: v})


def mixes_and_writes():
    solve("70 % reads, 30 % writes, random, 4 KiB",
          "--rw=randrw --rwmixread=70 --bs=4k --iodepth=8 --filename=T --size=1M",
          figures={"request": 4096, "depth": 8, "pattern": "random once", "reads": 70, "p50": True})
    solve("the mix with xdd's ratio and a percent sign", "-op rw -rwratio 70% -target T -reqsize 4k -bytes 1M -seek random",
          second="-rwratio 70% -target T -reqsize 4k -bytes 1M -seek random", figures={"reads": 70, "request": 4096})
    solve("sequential write with fsync at the end", "--rw=write --bs=256k --size=1M --filename=new --end_fsync=1",
          figures={"op": "write", "request": 256 * KIB, "bytes": MIB, "flushed": True, "syncwrite": True})
    solve("dd write with conv=fsync", "if=/dev/zero of=new bs=256k count=4 conv=fsync",
          figures={"op": "write", "request": 256 * KIB, "ops": 4, "flushed": True, "targets": ["new"]})
    solve("latency of a log: fdatasync after each write of 2300 bytes",
          "--rw=write --bs=2300 --fdatasync=1 --size=23000 --filename=wal --ioengine=sync",
          figures={"op": "write", "request": 2300, "ops": 10, "flushwrite": 1, "flushed": True})
    solve("a flush after each 4th write", "--rw=write --bs=4k --fsync=4 --size=64k --filename=wal",
          figures={"op": "write", "request": 4096, "ops": 16, "flushwrite": 4, "flushed": True})
    solve("dd with oflag=dsync", "if=/dev/zero of=new bs=4k count=8 oflag=dsync",
          figures={"op": "write", "ops": 8, "open_sync": "O_DSYNC"})
    solve("IOR: write 1 MiB in transfers of 256 KiB, fsync", "-a POSIX -w -t 256k -b 1m -o new -e",
          figures={"op": "write", "request": 256 * KIB, "bytes": MIB, "targets": ["new"], "syncwrite": True})
    solve("xdisk: OLTP, values in the same words", "-R -r80 -b16k -M4 -f T -t0.2",
          figures={"request": 16 * KIB, "reads": 80, "pattern": "random", "targets": ["T"] * 4, "limit_ns": 200000000})
    solve("xdisk: create a file, then flush each write", "-C 256k -b 64k -f new -Of",
          figures={"op": "write", "bytes": 256 * KIB, "flushwrite": 1})
    solve("IOR: four tasks, two segments", "-a POSIX -w -t 64k -b 256k -s 2 -N 4 -o new",
          figures={"op": "write", "bytes": 2 * MIB, "targets": ["new"] * 4})
    solve("sgpdd-survey: its greatest cell", "size=1 crglo=1 crghi=2 thrlo=1 thrhi=4 rszlo=64 rszhi=64 rawdevs=T tests_str=read",
          figures={"depth": 2, "request": 64 * KIB, "targets": ["T"] * 2, "dio": 1, "bytes": MIB}) if DIRECT else None
    solve("data that does not compress", "--rw=write --bs=64k --size=256k --filename=new --refill_buffers",
          figures={"op": "write", "datapattern": ["random"]})
    solve("data that compresses to a half", "--rw=write --bs=64k --size=256k --filename=new --buffer_compress_percentage=50",
          figures={"op": "write", "datapattern": ["compress"]})
    solve("space allocated before", "--rw=write --bs=64k --size=256k --filename=new --fallocate=posix",
          figures={"op": "write", "preallocate": 256 * KIB})
    solve("write and verify", "--rw=write --bs=64k --size=256k --filename=new --verify=crc32c",
          figures={"op": "write", "datapattern": ["tagged"]})
    solve("verify what was written", "--rw=read --bs=64k --size=256k --filename=new --verify=crc32c --verify_only",
          before=("-op write -target new -reqsize 64 -bytes 256K -datapattern tagged",),
          second="-op read -bs 64k -bytes 256k -target new -verify contents -datapattern tagged",
          figures={"op": "read", "bytes": 256 * KIB})


def several_targets():
    both = {"targets": ["a", "b"], "bytes": MIB // 2, "op": "read"}
    solve("several files, one number, in fio's words", "--rw=read --bs=64k --filename=a:b --group_reporting", figures=both)
    solve("several files after -targets", "-op read -targets a b -reqsize 64k", figures=both)
    solve("several files after -target", "-op read -target a b -reqsize 64k", figures=both)
    three = {"targets": ["d/1", "d/2", "d/3"], "bytes": 192 * KIB}
    solve("files by a pattern", "-op read -targets 'd/*' -reqsize 4k", figures=three)
    solve("the files of a directory", "-op read -targets d -reqsize 4k", figures=three)
    with open(os.path.join(t.tmp(), "list"), "w", encoding="ascii") as f:
        f.write("a\nb\n")
    solve("files from a list", "-op read -targets @%s -reqsize 64k" % t.path("list"), figures=both)
    solve("four jobs on one file", "--rw=randread --bs=4k --filename=T --size=256k --numjobs=4 --group_reporting",
          figures={"request": 4096, "pattern": "random once", "targets": ["T"] * 4})
    solve("one target reads, another writes: A is not overwritten",
          "-op read -target a -op write -target new -reqsize 64k -bytes 256k",
          second="-target a -op target 0 read -target new -op target 1 write -reqsize 64k -bytes 256k",
          figures={"targets": ["a", "new"], "op": "read", "errors": 0})


def rates_and_times():
    solve("a rate limit, with response times", "--rw=randread --bs=4k --filename=T --size=200k --rate_iops=500",
          figures={"throttle_ops": ["500"], "ops": 50, "response_p50": True})
    solve("10k operations per second", "-op read -target T -reqsize 4k -numreqs 100 -throttle ops 10k",
          figures={"throttle_ops": ["10k"], "ops": 100})
    solve("a bandwidth limit", "--rw=read --bs=64k --filename=T --rate=10m", figures={"throttle_bw": lambda v: v, "ops": 16})
    solve("a run of a given time", "--rw=randread --bs=4k --filename=T --runtime=200ms --time_based",
          figures={"op": "read", "request": 4096, "p99": True, "ops": lambda n: n > 0})
    solve("a fixed time with seconds", "-op read -target T -reqsize 4k -runtime 0.2s",
          figures={"run_ns": 200000000, "ops": lambda n: n > 0})
    solve("think time", "--rw=read --bs=64k --filename=T --thinktime=1000", figures={"delay": about(0.000999, 0.001001)})
    solve("three repetitions", "--rw=read --bs=64k --filename=T --loops=3", figures={"passes": 3, "bytes": 3 * MIB})
    solve("the same offsets each time", "--rw=randread --bs=4k --filename=T --size=64k --randseed=42", figures={"seed": 42})
    solve("processors", "--rw=read --bs=64k --filename=T --cpus_allowed=" + t.PROCESSOR,
          figures={"processor": lambda v: v})
    solve("the limit of the program itself", "--rw=read --bs=4k --ioengine=null --size=1M --filename=null",
          figures={"bytes": MIB, "request": 4096})
    solve("run after a warm-up: what there is instead", "--rw=read --bs=64k --filename=T --ramp_time=5", status=3,
          json_too=False, says=("ramp_time",))


def results():
    solve("percentiles", "-op read -target T -reqsize 4k -latency", says=("LATENCY", "P50"), figures={"p50": True})
    solve("chosen percentiles, in fio's words", "--rw=read --bs=64k --filename=T --percentile_list=50:99:99.9",
          says=("P50 .*P99 .*P99.9",))
    solve("rates of each interval as CSV, in fio's words",
          "--rw=read --bs=4k --filename=T --runtime=0.4 --time_based --write_bw_log=log --log_avg_msec=100",
          figures={"ops": lambda n: n > 0, "intervals": lambda n: n > 1})
    solve("rates of each interval as CSV", "-op read -target T -reqsize 4k -runtime 0.4 -intervals 0.1 output rates.csv",
          files=(("rates.csv", "(?i)iops"), ("rates.csv", "(?m)^.*all.*$")))
    solve("results in JSON", "--rw=read --bs=64k --filename=T --output-format=json --output=out.json", json_too=False,
          files=(("out.json", '"format": *"xdd results"'),))
    solve("one number for a script", "-op read -target T -csvout - -outputformat new +BANDWIDTH -output /dev/null",
          json_too=False, says=(r"^\s*\d+(\.\d+)?\s*$",))
    two = ("-op read -target T -reqsize 64 -passes 5 -jsonout one.json", "-op read -target T -reqsize 64 -passes 5 -jsonout two.json")
    solve("compare two runs", "compar one.json two.json", second="compare one.json two.json",
          before=two, json_too=False, status=(0, 1), says=("(?i)bandwidth",))
    solve("a line each second", "--rw=read --bs=4k --filename=T --runtime=0.3 --time_based --status-interval=1",
          figures={"ops": lambda n: n > 0})
    solve("a trace of each operation", "-op read -target T -reqsize 64k -ts dump trace -numreqs 4", json_too=False,
          files=(("trace.target.0000.bin", ""),))
    solve("the trace as CSV", "tsread -csv trace.target.0000.bin", json_too=False, says=("START_NS",),
          before=("-op read -target T -reqsize 64 -ts dump trace -numreqs 4",))


def jobs_and_help():
    job = t.path("job.fio")
    with open(job, "w", encoding="ascii") as f:
        f.write("[global]\nbs=4k\nsize=256k\nfilename=T\n[reads]\nrw=randread\nioengine=libaio\niodepth=4\n")
    solve("a job file of fio", "fio %s -run" % job, json_too=False, says=("-queuedepth 4", "-seek random"))
    solve("a setup file", "-setup %s" % setup_file(), figures={"request": 4096, "ops": 256})
    solve("a typing error", "-op read -target T -quedepth 4 -reqsize 64k",
          second="-op read -target T -queuedepth 4 -reqsize 64k", figures={"depth": 4})
    solve("what would be done", "--parse-only --rw=read --filename=T --bs=4k", json_too=False,
          second="-op read -target T -reqsize 4k -dryrun", says=("4096",))
    for word, says in (("iodepth", "-queuedepth"), ("percentiles", "-latency"), ("columns", "BANDWIDTH"),
                       ("randread", "-seek"), ("compare", "-failif"), ("fsync", "-syncwrite|-flushwrite")):
        solve("help for %s" % word, "-help " + word, json_too=False, says=(says,))
    for words in ("--version", "-V", "--help", "-h"):
        solve("xdd %s" % words, words, json_too=False, says=("xdd",))


def setup_file():
    with open(t.path("job.xdd"), "w", encoding="ascii") as f:
        f.write("-op read -target T # the file\n-reqsize 4k\n")
    return t.path("job.xdd")


def safety():
    solve("a device that does not exist is not created", "if=/dev/zero of=/dev/sdzz bs=64k count=1", status=4,
          json_too=False, says=("/dev/sdzz",))
    disk = t.path("disk")
    with open(disk, "wb") as f:
        f.truncate(8 * MIB)
    device = s.loop_device(disk) if t.have("mkfs.ext4") else None
    if device is None or t.command(["mkfs.ext4", "-q", "-F", device]).status:
        t.skip("a device with a file system is not overwritten", s.sys_why())
        return
    solve("a device with a file system is not overwritten", "if=/dev/zero of=%s bs=64k count=1" % device, status=4,
          json_too=False, says=("ext4", "-force"))


# Tasks around the command: other users, terminals, signals, cron


def as_another_user():
    user = s.for_nobody()
    if user is None:
        t.skip("another user", s.sys_why())
        return
    prefix, binary = user
    file = os.path.join(scratch_for_all(), "T")
    run = t.command(prefix + [binary, "-op", "read", "-target", file, "-bs", "64k"], cwd="/")
    t.ok(run.status == 0 and "100 % of what" not in run.err, "another user reads, and is told nothing that is not known", run)


def scratch_for_all():
    where = tasks.scratch()
    os.chmod(where, 0o755)
    return where


def interrupted():
    where = tasks.scratch()
    p = subprocess.Popen([t.XDD] + shlex.split("-op read -target T -reqsize 4k -seek random -runtime 60 -heartbeat 0.1 ops"),
                         cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        # A heartbeat with operations: the run has begun.
        line = b"-"
        while line and not re.search(rb"[1-9]\d*,ops", line):
            line = p.stderr.readline()
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=t.TIMEOUT)
    finally:
        p.kill()
        p.wait()
    text = out.decode() + err.decode()
    t.ok(p.returncode == 5 and "COMBINED" in text and "partial" in text, "Ctrl-C: results, marked as partial, status 5", text)


def from_cron():
    where = tasks.scratch()
    words = shlex.split("-op read -target T -reqsize 64k -dropcache -output result.txt")
    p = subprocess.run([t.XDD] + words, cwd=where, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=t.TIMEOUT,
                       check=False)
    result = os.path.join(where, "result.txt")
    t.ok(p.returncode == 0 and not p.stdout and "COMBINED" in tasks.text_of(result),
         "cron: no output except the file, status 0", p)


def on_a_terminal():
    if not t.have_terminals():
        t.skip("the result on a terminal", "no pseudo-terminals here")
        return
    screen = xddterm.on_terminal([t.XDD] + shlex.split("-op read -target T -reqsize 4k -seek random"), 80, cwd=tasks.scratch())
    t.ok(screen.status == 0 and any("p50" in line and "p99" in line for line in screen.lines) and
         max(len(line) for line in screen.lines) <= 80, "the result on a terminal fits 80 columns, with percentiles", screen)


s.own_mounts()
t.run(check_a_target, reads, mixes_and_writes, several_targets, rates_and_times, results, jobs_and_help, safety,
      as_another_user, interrupted, from_cron, on_a_terminal)
t.done()
