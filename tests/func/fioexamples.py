#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The job files of tests/fio by xdd fio -run, which carries them out, or refuses them by the name of a setting before it does
anything. Those that begin with "row-" are for words of the table (src/plan/foreign_fio.c): beside fio, they have the same
operations, flushes, files and contents. "ex-" are in the manner of the examples of fio, "real-" of storage projects, and have
settings of the rows together; "make check-long" compares them with fio too. In a file, "; drawn:" names what each program
draws by itself, and which only agrees within bounds.
"""
import concurrent.futures
import os
import re
import shutil

import xddfio
import xddsys as s
import xddtest as t

t.tolerate(t.BUFFERED, "start over after each ")

JOBS = os.path.join(os.environ["TOP_SRCDIR"], "tests", "fio")
# The NUMA node of t.PROCESSOR; 0 where the kernel knows none.
NODE = next((name[4:] for name in os.listdir("/sys/devices/system/cpu/cpu" + t.PROCESSOR) if re.match(r"node\d", name)), "0")
ENVIRONMENT = {"DIRECTORY": ".", "KIND": "randwrite", "DEPTH": "4", "BLOCK": "8k",
               "PROCESSOR": t.PROCESSOR, "MASK": str(1 << int(t.PROCESSOR)), "NODE": NODE}
THERE = {"there1": os.urandom(1 << 20), "there2": os.urandom(1 << 20)}
WORKERS = 4  # fio sleeps most of the time

# Each is refused by the name of this setting.
REFUSED = {
    "ex-backwards": "rw", "ex-butterfly": "flow", "ex-dedupe-set": "dedupe_mode", "ex-file-server": "bssplit",
    "ex-flow": "flow", "ex-hot-zones": "random_distribution", "ex-jesd219": "blockalign",
    "ex-latency-goal": "latency_target", "ex-priority-by-size": "cmdprio_bssplit",
    "ex-priority-share": "cmdprio_percentage", "ex-processor-load": "cpuload", "ex-replay": "read_iolog",
    "ex-stripes": "loops", "ex-surface": "fill_device", "ex-until-steady": "ss",
    "ex-zone-rates": "zonemode", "ex-zoned-reads": "zonemode", "ex-zoned-writes": "zonemode",
    "real-random-mix": "bssplit", "row-align": "ba", "row-append": "file_append", "row-barrier": "write_barrier",
    "row-blktrace": "merge_blktrace_file", "row-both-flushes": "fdatasync", "row-depth-low": "iodepth_low",
    "row-engine-splice": "ioengine", "row-file-size-range": "filesize", "row-fsync-of-a-mix": "fsync",
    "row-fsync-over-loops": "loops", "row-fsync-two-closes": "fsync_on_close", "row-gap-second-lap": "rw", "row-hooks": "exec_prerun",
    "row-fewer-requests": "number_ios", "row-loops-of-work": "loops", "row-smaller-file": "size", "row-split-by-direction-random": "bssplit",
    "row-loops-verify": "verify", "row-normal": "random_distribution", "row-pareto": "random_distribution",
    "row-pattern-of-a-format": "verify_pattern", "row-percentage-random": "percentage_random",
    "row-range-of-sizes-random": "bsrange", "row-rate-and-pause": "thinktime", "row-sequencer": "rw_sequencer",
    "row-sequencer-runs": "rw", "row-sizes-by-direction-mixed": "bs",
    "row-sequential-mix-files": "rw", "row-split-number": "number_ios", "row-split-random": "bssplit", "row-text-fraction": "size", "row-think-blocks": "thinktime_blocks",
    "row-think-spin": "thinktime_spin", "row-trim-write": "rw", "row-trims": "trim_percentage",
    "row-unaligned": "bs_unaligned", "row-unknown": "io_deph", "row-verify-beside-part": "verify",
    "row-verify-mix": "verify", "row-verify-null": "verify", "row-verify-repeats": "verify", "row-write-back": "sync_file_range",
    "row-zones": "zonemode", "row-loops-part": "loops", "row-loops-split": "loops", "row-zipf-files": "random_distribution",
}

# fio does not run, or does nothing, where there is nothing to compare.
NOTHING = {"ex-null", "row-create-only"}


def directory_of(name, program):
    """A directory with the job file and the files that it reads."""
    directory = t.path("%s.%s" % (name, program))
    os.mkdir(directory)
    for there, data in THERE.items():
        with open(os.path.join(directory, there), "wb") as f:
            f.write(data)
    shutil.copy(os.path.join(JOBS, name + ".fio"), os.path.join(directory, "job.fio"))
    shutil.copy(os.path.join(JOBS, "common.part"), directory)
    return directory


def files_of(directory):
    return {file.name: (file.stat().st_ino, file.stat().st_size, file.stat().st_mtime_ns) for file in os.scandir(directory)}


def carry_out(name):
    """Run a job file that is not compared by xdd, or one that is by xdd and by fio, each in a directory of its own."""
    if name in REFUSED or is_composed(name):
        directory = directory_of(name, "xdd")
        before = files_of(directory)
        run = t.command([t.XDD, "fio", "job.fio", "-run"], cwd=directory, env=ENVIRONMENT,
                        tolerate="-dropcache left ")  # the files have just been written
        return run, files_of(directory) == before
    sides = []
    for program in ("xdd", "fio"):
        directory = directory_of(name, program)
        sides.append(xddfio.side(program, "job.fio", directory, env=ENVIRONMENT))
        shutil.rmtree(directory)
    return sides


def is_composed(name):
    """Is this an example of settings that files of rows compare with fio one by one?"""
    return not name.startswith("row-") and not os.environ.get("XDD_TEST_LONG")


def check_alone(name, run, untouched):
    if name in REFUSED:
        t.ok(run.status == 2 and untouched and len(run.error_lines()) == 1 and
             re.search(r"job\.fio:\d+: %s=" % REFUSED[name], run.err), name + ": refused by the name of " + REFUSED[name], run)
    else:
        t.ok(run.status == 0 and not run.error_lines() and (name in NOTHING or "COMBINED" in run.out), name + ": its commands run", run)


def check_beside_fio(name, mine, theirs):
    with open(os.path.join(JOBS, name + ".fio"), encoding="utf-8") as f:
        drawn = re.search(r"^; drawn: (.*)", f.read(), re.M)
    found = xddfio.differences(mine, theirs, drawn[1].split() if drawn else ())
    t.ok(not found and mine.run.status == 0 and (theirs.done or name in NOTHING), name + ": does what fio does",
         "%s\n%s\n%s" % ("\n".join(found[:20]), mine.run, theirs.run))


def test_examples():
    names = sorted(file[:-4] for file in os.listdir(JOBS) if file.endswith(".fio"))
    t.equal(sorted((set(REFUSED) | NOTHING) - set(names)), [], "the lists of this test name job files that exist")
    t.ok(len(names) >= 120 and len(REFUSED) < len(names) / 2, "most job files are carried out", len(names))
    if not t.have("fio") or not s.can_trace():
        t.skip("job files beside fio", "needs fio and strace")
        names = [name for name in names if name in REFUSED or is_composed(name)]
    elif int(t.PROCESSOR) > 30:
        t.skip("row-processors", "cpumask of fio ends at processor 30, and this process may use none of them")
        names.remove("row-processors")
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for name, (first, second) in zip(names, pool.map(carry_out, names)):
            if isinstance(second, bool):
                check_alone(name, first, second)
            else:
                check_beside_fio(name, first, second)


def test_command_lines():
    """The command line that fio prints for a job file has the commands of the file."""
    if not t.have("fio"):
        return t.skip("command lines of fio", "needs fio")
    t.make_file("there1", 1 << 20)
    for name in ("row-directions", "row-offset", "row-fsync", "ex-four-patterns", "ex-direct-depths"):
        job = os.path.join(JOBS, name + ".fio")
        line = t.command(["fio", "--showcmd", job], cwd=t.tmp()).out.split()
        runs = [t.command([t.XDD, "fio", *words], cwd=t.tmp()) for words in ([job], line, ["--", *line[1:]])]
        found = [[text for text in run.out.splitlines() if text.startswith("xdd ")] for run in runs]
        t.ok(line[:1] == ["fio"] and found[0] and found[0] == found[1] == found[2], name + ": the command line of fio is its job file",
             "\n".join(map(str, (line, *runs))))


t.run_all()
