#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The tasks of a first week with xdd, each typed first as users of fio, IOR, elbencho, dd, rsync and iperf3 would type it.
The first try works, or its answer leads to the second one: see tests/lib/xddtasks.py. A task that xdd cannot do is solved
by an answer that says so.
"""
import os

import xddsys as s
import xddtasks as tasks
import xddtest as t
from xddtasks import KIB, MIB, solve

t.look_at_all_warnings()

NUMBER = r"^\s*\d+(\.\d+)?\s*$"
READ = "-op read -target T -bs 4k "


def plain(title, first, *says, **more):
    """A task whose result is text."""
    solve(title, first, json_too=False, says=says, **more)


def in_words_of_others():
    solve("elbencho: two threads write a file", "-w -t 2 -s 512k -b 64k --nolive new",
          figures={"op": "write", "targets": ["new"] * 2, "bytes": 512 * KIB, "request": 64 * KIB})
    solve("elbencho: random reads", "-r -b 4k --rand --nolive T", figures={"op": "read", "pattern": "random", "request": 4096})
    solve("elbencho: files of a directory", "-w -t 3 -n 1 -N 5 -s 64k -b 64k d",
          second="-op write -bytes 64k -bs 64k -targets 3 d/f%03d",
          figures={"targets": ["d/f000", "d/f001", "d/f002"], "bytes": 192 * KIB})
    plain("IOR: write and read back", "-a POSIX -w -r -t 64k -b 256k -o new", r"COMBINED .*write", r"COMBINED .*read")
    solve("words of fio beside a target of xdd", "-target T --rw=randread --bs=4k --iodepth=8 --size=256k",
          figures={"op": "read", "depth": 8, "pattern": "random once", "bytes": 256 * KIB})
    plain("gaps between requests", "--rw=read:64k --bs=4k --filename=T", r"^Target\[0\] .* 16 ops of 4096 bytes",
          "COMBINED .*read")
    solve("hot spots", "--rw=randread --random_distribution=zipf:1.2 --filename=T --bs=4k --size=1m",
          figures={"pattern": "zipf", "ops": 256})
    solve("hot spots, with a colon", READ + "-numreqs 50 -seek zipf:1.2", second=READ + "-numreqs 50 -seek zipf 1.2",
          figures={"pattern": "zipf", "ops": 50})
    solve("data that compresses and has doubles",
          "--buffer_compress_percentage=50 --dedupe_percentage=30 --rw=write --filename=new --size=1m --bs=64k",
          figures={"datapattern": ["compress", "dedupe"], "bytes": MIB})
    solve("data that compresses and has doubles, at a depth",
          "--buffer_compress_percentage=50 --dedupe_percentage=30 --rw=write -target new --size=1m --bs=64k -qd 2",
          figures={"datapattern": ["compress", "dedupe"], "bytes": MIB, "depth": 2})
    solve("several sizes", "--bssplit=4k/50:8k/50 --rw=read --filename=T --size=96k", figures={"op": "read", "bytes": 96 * KIB})
    solve("mmap", "--rw=read --ioengine=mmap --bs=4k --filename=T", figures={"engine": "mmap", "ops": 256})
    solve("mmap as a word", READ + "-mmap", figures={"engine": "mmap", "ops": 256})
    solve("discard, in fio's words", "--rw=trim --bs=4k --filename=T --size=64k", figures={"op": "discard", "ops": 16})
    plain("several hosts, in fio's words", "--client=a --rw=read --filename=T", "xdd multi -hosts a --", status=3)
    plain("two groups of a job file", "fio %s" % job_file(), "group 1 of 2", "group 2 of 2")


def job_file():
    file = t.path("two.fio")
    with open(file, "w", encoding="ascii") as f:
        f.write("[a]\nrw=read\nbs=4k\nfilename=T\n[b]\nstonewall\nrw=randread\nbs=4k\nfilename=T\n")
    return file


def numbers():
    plain("percentiles without a word", READ + "-latency 99,99.99", r"P99 +P99\.99")
    plain("a percentile with its letter", READ + "-latency p99.9", r"P99\.9")
    plain("a histogram", READ + "-histogram", r"^LATENCY_COMBINED .*\| us")
    solve("a rate with its unit", READ + "-numreqs 20 -throttle 500iops", figures={"throttle_ops": ["500iops"], "ops": 20})
    solve("a rate of bytes", READ + "-numreqs 20 -throttle 10MB/s", figures={"throttle_bw": ["10MB/s"], "ops": 20})
    solve("a rate without its unit", READ + "-numreqs 20 -throttle 500", second=READ + "-numreqs 20 -throttle ops 500",
          figures={"throttle_ops": ["500"], "ops": 20})
    plain("one number for a script", READ + "-q -csvout - -outputformat new +BANDWIDTH", NUMBER)
    solve("a quiet run", READ + "-q", figures={"ops": 256})
    solve("a run that tells more", READ + "-v", second=READ + "-verbose", figures={"ops": 256})
    solve("a part of the file", READ + "-size 25%", figures={"bytes": MIB // 4})
    solve("until the mean is certain", READ + "-until 50", figures={"passes": lambda n: n >= 3, "op": "read"})
    plain("slow operations", READ + "-max_latency 0.001", "COMBINED")
    solve("a depth with a dash in its name", READ + "--queue-depth 8", figures={"depth": 8})
    solve("a time with a unit", READ + "-timelimit 5sec -numreqs 5", figures={"ops": 5})
    plain("a log of the run", READ + "-output r.txt", files=(("r.txt", "COMBINED"),))


def targets():
    both = {"targets": ["a", "b"], "bytes": MIB // 2}
    solve("two targets with a comma", "-op read -target a,b -bs 64k", figures=both)
    solve("a file with a comma in its name", "-op read -target x,y -bs 64k",
          before=("-op write -targets 1 x,y -bytes 64k -bs 64k",), figures={"targets": ["x,y"], "bytes": 64 * KIB})
    solve("many files", "-op write -targets 20 d/n%02d -bytes 64k -bs 64k", figures={"ops": 20, "bytes": 20 * 64 * KIB})
    solve("a target without its option", "-op read T -bs 4k", second="-op read -target T -bs 4k", figures={"ops": 256})
    solve("a target first", "T -op read -bs 4k", second="-target T -op read -bs 4k", figures={"ops": 256})
    solve("an operation first", "read -target T -bs 4k", second="-op read -target T -bs 4k", figures={"ops": 256})
    solve("an operation with a slip", "-op raed -target T -bs 4k", second="-op read -target T -bs 4k", figures={"ops": 256})
    plain("a directory that is not there", "-op write -target nodir/x -bytes 64k", "nodir/x: its directory does not exist",
          status=4)


def data():
    tagged = "-op write -target new -bytes 256k -bs 64k -datapattern tagged"
    solve("verify yesterday's data", "-op read -target new -bs 64k -verify", before=(tagged,),
          second="-op read -target new -bs 64k -verify -datapattern tagged", figures={"op": "read", "errors": 0})
    plain("write and verify", "-op write -target new -bytes 256k -bs 64k -verify", "COMBINED .*read",
          second="-op write -target new -bytes 256k -bs 64k -readback")
    solve("replay a list", READ + "-replay list", second=READ + "-seek load list",
          before=(READ + "-numreqs 10 -seek random -seek save list",), figures={"ops": 10})
    solve("discard", "-op trim -target T -bs 4k -bytes 256k", figures={"op": "discard", "ops": 64})


def changed_byte():
    """A byte of tagged data that changed is found, and named."""
    where = tasks.scratch()
    words = ["-target", "T", "-bs", "64k", "-datapattern", "tagged"]
    run = t.command([t.XDD, "-op", "write", "-bytes", "256k", *words], cwd=where)
    with open(os.path.join(where, "T"), "r+b") as f:
        f.seek(70000)
        byte = f.read(1)[0]
        f.seek(70000)
        f.write(bytes((byte ^ 1,)))
    found = t.command([t.XDD, "-op", "read", "-bytes", "256k", "-verify", *words], cwd=where)
    t.ok(run.status == 0 and found.status == 7 and "flipped bits: bit 0 of byte 70000" in found.err, "a changed byte is found", found)


def many_runs():
    plain("all combinations of sizes and depths", "-op read -target T -bs 4k,64k -qd 1,2,4", "^6 points",
          second="sweep -op read -target T -bs 4k,64k -qd 1,2,4")
    plain("a load curve", "curve %s -load 50 -round 0.02 -rounds 3" % READ, r"^ *50 ")
    plain("a page with pictures", "plot one.json", "<!DOCTYPE html>", second="report one.json",
          before=(READ + "-jsonout one.json",))
    two = tuple(READ + "-passes 5 -jsonout %s.json" % name for name in ("old", "new"))
    plain("a gate for CI", "compare old.json new.json --fail-if p50+100000%", "within", before=two)


def copies():
    plain("copy a tree, in rsync's words", "copy -av d e", second="copy -r d e", files=(("e/1", ""), ("e/3", "")))
    plain("what would be copied", "copy -n -r d e", "would copy 3 files")
    plain("copy with compression", "copy -z T U", second="copy T U", files=(("U", ""),))
    plain("measure a copy", "copy -jsonout m.json T U", "copied 1 file", files=(("m.json", '"bytes"'),))
    plain("compare two files", "copy -k T U", "equal: 1 file", before=("copy T U",))
    plain("delete at the destination: there is no such thing", "copy --delete -r d e", "xddcp has nothing like it", status=101)
    plain("limit a copy: there is no such thing", "copy --bwlimit=10m T U", "xddcp has nothing like it", status=101)
    plain("leave out files", "copy --exclude 1 -r d e", "-F -0 <list>", status=101)
    plain("dd from a file to a file", "if=T of=new bs=64k", "xddcp T new copies", status=3)


def devices():
    image = os.path.join(tasks.scratch(), "disk")
    with open(image, "wb") as f:
        f.truncate(4 * MIB)
    device = s.loop_device(image)
    if device is None:
        t.skip("an image to a device and back", s.sys_why())
        return
    plain("an image to a device", "copy T %s" % device, "copied 1 file")
    plain("a device to an image", "copy %s image" % device, "copied 1 file", files=(("image", ""),))
    plain("a quick check of a device", device + " -seconds 1", "(?i)sequential", "(?i)random", device)


def questions():
    """-help of a subject says whether there is such a thing, and what comes near."""
    for word, says in (("metadata", "has nothing like it"), ("zoned", "has nothing like it"), ("passthrough", "-ioengine sg"),
                       ("blktrace", "-seek load"), ("backwards", "-seek load"), ("iperf3", "xddcp /dev/zero"),
                       ("burst", "poisson"), ("badblocks", "-readback"), ("prometheus", "prometheus"), ("cgroup", "systemd-run"),
                       ("polling", "iopoll"), ("cluster", "xdd multi -hosts"), ("mpirun", "-mpi"), ("resume", "-restart")):
        plain("xdd -help " + word, "-help " + word, says)


t.run(in_words_of_others, numbers, targets, data, changed_byte, many_runs, copies, devices, questions)
t.done()
