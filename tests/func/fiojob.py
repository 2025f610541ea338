#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd fio: job files of fio as commands of xdd. Every option that fio knows is mapped or listed; commands pass a dry
run, and -run runs them; bad files are refused in one line. fioexamples.py has fio beside them.
"""
import os
import re
import shlex
import signal
import subprocess

import messages as m
import xddsys as s
import xddtest as t

# Random writes may leave the end of a new file out; loops start over in a range.
# Files of jobs are in memory, which runs that move enough say.
t.tolerate(t.CACHED, m.DIRTY)
t.tolerate("start over after each ")

# The options of fio 3.33 (fio --cmdhelp=all), and some of its engines.
OPTIONS = """
description name wait_for filename lockfile directory filename_format unique_filename opendir rw readwrite bs blocksize
ba blockalign bsrange blocksize_range bssplit bs_unaligned blocksize_unaligned randrepeat randseed norandommap
ignore_error rw_sequencer ioengine iodepth iodepth_batch iodepth_batch_submit iodepth_batch_complete_min
iodepth_batch_complete iodepth_batch_complete_max iodepth_low serialize_overlap io_submit_mode size io_size io_limit
fill_device fill_fs filesize file_append offset fileoffset offset_increment offset_align number_ios random_generator
random_distribution percentage_random allrandrepeat nrfiles nr_files file_service_type openfiles fallocate fadvise_hint
fsync fdatasync write_barrier sync_file_range direct atomic buffered overwrite loops numjobs startdelay runtime timeout
time_based verify_only ramp_time clocksource mem iomem verify do_verify verify_interval verify_offset verify_pattern
verify_fatal verify_dump verify_async verify_backlog verify_backlog_batch experimental_verify verify_state_load
verify_state_save trim_percentage trim_verify_zero trim_backlog trim_backlog_batch write_iolog read_iolog
read_iolog_chunked replay_no_stall replay_redirect replay_scale replay_align replay_time_scale replay_skip
merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters exec_prerun exec_postrun ioscheduler zonemode zonesize
zonecapacity zonerange zoneskip read_beyond_wp max_open_zones job_max_open_zones ignore_zone_limits
zone_reset_threshold zone_reset_frequency lockmem rwmixread rwmixwrite nice prio prioclass thinktime thinktime_spin
thinktime_blocks thinktime_blocks_type thinktime_iotime rate rate_min ratemin rate_process rate_cycle ratecycle
rate_ignore_thinktime rate_iops rate_iops_min max_latency latency_target latency_window latency_percentile latency_run
invalidate sync write_hint create_serialize create_fsync create_on_open create_only allow_file_create
allow_mounted_write pre_read cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes numa_mem_policy end_fsync
fsync_on_close unlink unlink_each_loop exitall exit_what exitall_on_error stonewall wait_for_previous new_group thread
per_job_logs write_bw_log bwavgtime write_lat_log write_iops_log iopsavgtime log_entries log_avg_msec log_hist_msec
log_hist_coarseness write_hist_log log_max_value log_offset log_prio log_compression log_compression_cpus
log_store_compressed log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id block_error_percentiles
group_reporting stats zero_buffers refill_buffers scramble_buffers buffer_pattern buffer_compress_percentage
buffer_compress_chunk dedupe_percentage dedupe_mode dedupe_working_set_percentage dedupe_global clat_percentiles
lat_percentiles slat_percentiles percentile_list significant_figures disk_util gtod_reduce disable_lat disable_clat
disable_slat disable_bw_measurement disable_bw gtod_cpu unified_rw_reporting continue_on_error error_dump profile cgroup
cgroup_nodelete cgroup_weight uid gid kb_base unit_base hugepage-size flow_id flow flow_sleep steadystate ss
steadystate_duration ss_dur steadystate_ramp_time ss_ramp
iomem_align mem_align userspace_reap cmdprio_percentage cmdprio_class cmdprio cmdprio_bssplit nowait hipri fixedbufs
registerfiles sqthread_poll sqthread_poll_cpu nonvectored uncached force_async readfua writefua sg_write_mode stream_id
hipri_percentage thp
""".split()

# Values other than the default, where 1 is none.
VALUES = {
    "description": "words", "name": "other", "filename": "other", "directory": ".", "filename_format": "$jobnum",
    "opendir": ".", "rw": "write:8", "readwrite": "write:8", "bs": "8k", "blocksize": "8k", "bsrange": "1k-8k",
    "blocksize_range": "1k-8k", "bssplit": "8k/50:4k/50", "randrepeat": "0", "allrandrepeat": "0", "ioengine": "mmap",
    "iodepth": "4", "iodepth_batch": "4", "iodepth_batch_submit": "4", "size": "512k", "io_size": "256k",
    "io_limit": "256k", "filesize": "128k", "offset": "64k", "fileoffset": "25%", "offset_increment": "8k",
    "nrfiles": "2", "nr_files": "2", "fallocate": "native", "loops": "2", "numjobs": "2", "runtime": "10",
    "timeout": "1m", "mem": "shm", "iomem": "mmap", "verify": "crc32c", "do_verify": "0", "verify_pattern": "0xab",
    "rwmixread": "30", "rwmixwrite": "30", "invalidate": "0", "buffered": "0", "sync": "dsync", "cpumask": "0x1",
    "cpus_allowed": "0", "numa_cpu_nodes": "0", "numa_mem_policy": "local", "write_bw_log": "log",
    "write_lat_log": "log", "write_iops_log": "log", "buffer_pattern": '"abc"', "kb_base": "1000",
    "buffer_compress_percentage": "40", "dedupe_percentage": "20", "percentile_list": "50:99", "number_ios": "7",
    "mem_align": "512", "iomem_align": "512", "steadystate": "bw:10%", "rate": "1m,2m", "thinktime_blocks": "4", "rate_process": "poisson", "read_iolog": "log",
}

BASES = {
    "a sequential read": "rw=read\nioengine=psync\nbs=4k",
    "a random mix with io_uring": "rw=randrw\nioengine=io_uring\nbs=4k",
    "a write": "rw=write\nioengine=libaio\nbs=4k",
}


def write(name, text):
    with open(t.path(name), "w") as f:
        f.write(text)
    return t.path(name)


def fio(*args, **kwargs):
    return t.command([t.XDD, "fio"] + [str(a) for a in args], cwd=kwargs.pop("cwd", t.tmp()), **kwargs)


def convert(text, *args, **kwargs):
    return fio(write("job.fio", text), *args, **kwargs)


def commands(run):
    """The words of each command."""
    return [shlex.split(line)[1:] for line in run.out.splitlines() if line.startswith("xdd ")]


def one_command(text):
    """The only command of a job file, without its first word."""
    run = convert(text)
    lines = [line[4:] for line in run.out.splitlines() if line.startswith("xdd ")]
    return lines[-1] if run.status == 0 and lines else run


def groups_of(run):
    """The text of each group of commands."""
    return run.out.rstrip("\n").split("\n\n")


def every_option(title, base):
    """A group for each option: its command differs from that without the option, or the option is listed."""
    t.make_file("data", 4 << 20)
    # These begin groups, are for other settings of their section, or have an effect on new files.
    names = [n for n in OPTIONS if n not in ("stonewall", "wait_for_previous", "wait_for", "kb_base", "overwrite")]
    text = "[global]\nfilename=data\nsize=1m\nstonewall\n%s\n[job]\n" % base
    for name in names:
        text += "[job]\n%s=%s\n" % (name, VALUES.get(name, "1"))
    run = convert(text, "-leaveout", ",".join(names))
    groups = [re.sub(r"group \d+ of \d+", "group", g) for g in groups_of(run)]
    if not t.equal((run.status, len(groups)), (0, len(names) + 1), title + ": a group for each option of fio", run):
        return
    lost = [n for n, g in zip(names, groups[1:]) if g == groups[0] and "left out: [job] %s=" % n not in g]
    t.equal(lost, [], title + ": each option changes the command or is listed as left out")
    unknown = [n for n, g in zip(names, groups[1:]) if "not an option of fio" in g]
    t.equal(unknown, [], title + ": each option of fio is known")


def test_every_option():
    for title, base in BASES.items():
        every_option(title, base)


def test_reasons():
    """Options that reasons recommend exist."""
    text = "[global]\nfilename=data\nsize=1m\n[job]\n" + "".join("%s=%s\n" % (n, VALUES.get(n, "1")) for n in OPTIONS
                                                              if n not in ("opendir", "profile", "read_iolog", "rw"))
    run = convert(text, "-leaveout", ",".join(OPTIONS))
    words = set(re.findall(r"(?<![\w-])-([a-z]{3,})", "\n".join(x for x in run.out.splitlines() if x[0] == "#")))
    t.ok(len(words) > 10, "reasons name options of xdd", run)
    wrong = [w for w in sorted(words) if t.command([t.XDD, "-help", w]).status != 0]
    t.equal(wrong, [], "each option that a reason names is one of xdd")


def test_unknown():
    run = convert("[job]\nfilename=data\nsize=1m\nio_deph=3\n")
    t.equal((run.status, run.err), (2, "xdd: %s:4: io_deph=3: is not an option of fio, as far as xdd knows; -leaveout io_deph "
                                       "translates without it\n" % t.path("job.fio")),
            "a word that is no option of fio is refused with its line", run)
    run = convert("[job]\nfilename=data\nsize=1m\nio_deph=3\n", "-leaveout", "other,io_deph")
    t.ok("# left out: [job] io_deph=3 (%s:4): is not an option of fio, as far as xdd knows" % t.path("job.fio") in run.out,
         "with -leaveout it is listed", run)


def test_refused():
    """A setting that xdd cannot do and without which another job would run is refused by name, unless -leaveout names it."""
    t.make_file("data", 4 << 20)
    for settings, name in (("rw=randread\nrandom_distribution=pareto:0.5", "random_distribution"),
                           ("rw=randread\nrandom_distribution=z", "random_distribution"),
                           ("rw=randread\nrandom_distribution=zipf:1.2x", "random_distribution"), ("rw=read\nzonemode=strided", "zonemode"),
                           ("rw=read\nthinktime=1ms\nthinktime_blocks=4", "thinktime_blocks"), ("rw=read:-8k", "rw"),
                           ("rw=randread:8", "rw"), ("rw=read:6k", "rw"), ("rw=write:4k", "rw"), ("rw=randrw\nbs=4k,8k", "bs"), ("rw=randwrite\nbs=4k,8k", "bs"), ("rw=read\nloops=2\nio_size=64k", "loops"),
                           ("rw=read\nbsrange=3k-64k", "bsrange"), ("rw=randrw\nbssplit=4k/50:8k/50,8k/100", "bssplit"), ("rw=randread\nbssplit=4k/50:8k/50", "bssplit"),
                           ("rw=randwrite\nbsrange=4k-16k\nnorandommap", "bsrange"), ("rw=write\nverify=null", "verify"), ("rw=randrw\nverify=md5", "verify"),
                           ("rw=write\nverify=md5\nloops=2", "verify"), ("rw=write\nverify=md5\ntime_based\nruntime=1", "verify"),
                           ("rw=randrw\nfsync=4", "fsync"), ("rw=write\nfsync=4\nfdatasync=4", "fdatasync"), ("rw=write\nloops=2\nfsync=4", "loops"),
                           ("rw=read\nbssplit=4k/50:8k/50\nnumber_ios=9", "number_ios"), ("rw=read\nioengine=net", "ioengine"), ("rw=trimwrite", "rw"), ("rw=read\nread_iolog=log", "read_iolog"),
                           ("rw=write\nfilesize=16k-64k", "filesize"), ("rw=read\nrate=1m\nthinktime=10", "thinktime"),
                           ("rw=read\nramp_time=1\nloops=2", "ramp_time"), ("rw=write\nbuffer_pattern=%o", "buffer_pattern"),
                           ("rw=read\nstartdelay=1-5", "startdelay"), ("rw=rw:4k", "rw"), ("rw=rw\nbsrange=4k-64k", "bsrange"),
                           ("filename=data:more\nrw=write\nfsync=4", "fsync"), ("rw=write\ndedupe_mode=working_set", "dedupe_mode"),
                           ("rw=randwrite\ncmdprio_bssplit=4k/50", "cmdprio_bssplit"),
                           ("rw=randread\npercentage_random=50", "percentage_random"), ("rw=read\nlatency_target=5ms", "latency_target"),
                           ("rw=randrw\nrate_iops=40,10", "rate_iops"), ("rw=read\nallow_file_create=0", "allow_file_create"),
                           ("rw=write\nverify=crc32c\ntrim_percentage=10", "trim_percentage")):
        text = "[job]\nfilename=data\nsize=1m\n%s\n" % settings
        run = convert(text)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and run.out == "" and
             re.search(r"job\.fio:\d+: %s=\S+: .*; -leaveout %s translates without it$" % (name, name), run.err),
             "refused by name: " + settings.replace("\n", " "), run)
        run = convert(text, "-leaveout", name)
        t.ok(run.status == 0 and len(commands(run)) >= 1 and "interleave" not in run.out and re.search(r"^# left out: \[job\] %s=" % name, run.out, re.M),
             "without it: " + settings.replace("\n", " "), run)
    run = convert("[job]\nfilename=data\nsize=1m\nzonemode=none\nflow=0\npercentage_random=100\nrw=randread:1\n")
    t.equal(run.status, 0, "values that change nothing are accepted", run)


def test_mapping():
    """Settings and the words they become."""
    t.make_file("data", 4 << 20)
    head = "[job]\nfilename=data\n"
    for settings, words in (
            ("rw=randread\nbs=4k\nsize=1m\nioengine=libaio\niodepth=32\ndirect=1",
             "-op read -target data -ioengine libaio -dio -reqsize 4k -queuedepth 32 -bytes 1M -seek random once range 1M"),
            ("rw=read\nioengine=sg\nsize=1m", "-op read -target data -ioengine sg -reqsize 4k -bytes 1M"),
            ("rw=write\nbs=512\nsize=1m\noffset=512\nzero_buffers",
             "-op write -target data -reqsize 512B -bytes 1M -startoffset 512B"),
            ("rw=write\nbs=64k\nsize=1m\nzero_buffers\nnumjobs=2\noffset_increment=1m",
             "-op write -targets -2 data -reqsize 64k -bytes 1M -startoffset target 1 1M"),
            ("rw=randrw\nrwmixwrite=10\nrwmixread=80\nrate_iops=40,10\nsize=1m\nzero_buffers\ninvalidate=0",
             "-rwratio 80 random -target data -reqsize 4k -bytes 1M -seek random once range 1M -throttle ops 50"),
            ("rw=randrw\nrwmixread=80\nrwmixwrite=10\nsize=1m\nzero_buffers\ninvalidate=0",
             "-rwratio 90 random -target data -reqsize 4k -bytes 1M -seek random once range 1M"),
            ("filename=more\nrw=write\nsize=1m\nzero_buffers", "-op write -targets 2 data more -reqsize 4k -bytes 512k"),
            ("rw=randrw\nrwmixread=70\nbs=8k\nsize=50%\nzero_buffers\ninvalidate=0",
             "-rwratio 70 random -target data -reqsize 8k -bytes 2M -seek random once range 2M"),
            ("rw=read\nsize=1m\nruntime=1m\ntime_based\ninvalidate=0",
             "-op read -target data -reqsize 4k -timelimit 60 -seek range 1M"),
            ("rw=read\nsize=1m\nloops=3\ninvalidate=0", "-op read -target data -reqsize 4k -bytes 1M -passes 3"),
            ("rw=read\nsize=1m\nio_size=3m\ninvalidate=0",
             "-op read -target data -reqsize 4k -bytes 3M -seek range 1M"),
            ("rw=write\nsize=64k\nzero_buffers\nrate=10m\nfdatasync=5\nend_fsync=1",
             "-op write -target data -reqsize 4k -bytes 64k -throttle bw 10M -flushwrite 5 -flushbetween -syncwrite"),
            ("rw=write\nsize=64k\nzero_buffers\nfdatasync=8\nend_fsync=1", "-op write -target data -reqsize 4k -bytes 64k -flushwrite 8 -flushbetween -syncwrite"),
            ("rw=rw\nrwmixread=100\nsize=1m\ninvalidate=0", "-op read -target data -reqsize 4k -bytes 1M"),
            ("rw=read\nsize=1m\nruntime=1m\ntime_based\nramp_time=5\ninvalidate=0",
             "-op read -target data -reqsize 4k -timelimit 60 -seek range 1M -warmup 5"),
            ("rw=write\nsize=64k\nzero_buffers\nsync=1",
             "-op write -target data -reqsize 4k -bytes 64k -osync"),
            ("rw=write\nsize=64k\nzero_buffers\nsync=dsync\nfsync=4",
             "-op write -target data -reqsize 4k -bytes 64k -flushwrite 4 -flushbetween -odsync"),
            ("rw=write\nsize=64k\nzero_buffers\nrate_iops=100,200\nthinktime=0",
             "-op write -target data -reqsize 4k -bytes 64k -throttle ops 200"),
            ("rw=write\nsize=64k\nzero_buffers\nrate_iops=300\nrate_process=poisson",
             "-op write -target data -reqsize 4k -bytes 64k -throttle ops 300 poisson"),
            ("rw=write\nsize=64k\nzero_buffers\nrate=1m\nrate_process=poisson",
             "-op write -target data -reqsize 4k -bytes 64k -throttle bw 1M poisson"),
            ("rw=write\nsize=64k\nbuffer_pattern=0xdead\"x\"-7",
             "-op write -target data -reqsize 4k -bytes 64k -datapattern hex dead78f9ffffff replicate"),
            ("rw=write\nsize=64k\noffset=512\nzero_buffers",
             "-op write -target data -blocksize 512 -reqsize 4k -bytes 64k -startoffset 512B"),
            ("rw=write\nsize=64kib\nbs=1k\nzero_buffers", "-op write -target data -reqsize 1k -bytes 63k"),
            ("kb_base=1000\nrw=write\nsize=64k\nbs=1k\nzero_buffers",
             "-op write -target data -blocksize 1000 -reqsize 1000B -bytes 64000B"),
            ("rw=write\nsize=64k\nbs=,16k\nzero_buffers", "-op write -target data -reqsize 16k -bytes 64k"),
            ("rw=write\nsize=64k\nbs=16k,\nzero_buffers", "-op write -target data -reqsize 4k -bytes 64k"),
            ("rw=write\nsize=100000\nzero_buffers", "-op write -target data -reqsize 4k -bytes 100k"),
            ("rw=read\nioengine=null\nsize=1m\niodepth=4", "-op read -target null -reqsize 4k -queuedepth 4 -bytes 1M"),
            ("rw=read\nsize=1m\ncpumask=0x3\nmem=shmhuge\ninvalidate=0\nstartdelay=500 ms\nnuma_mem_policy=local",
             "-op read -target data -reqsize 4k -bytes 1M -startdelay 500ms -processor 0,1 -numa local -sharedmemory -hugepages"),
            ("rw=read\nsize=1m\ninvalidate=0\npercentile_list=50:99.9",
             "-op read -target data -reqsize 4k -bytes 1M -latency percentiles 50,99.9"),
            ("rw=read\nsize=1m\ninvalidate=0\npercentile_list=50:100.5", "-op read -target data -reqsize 4k -bytes 1M"),
            ("rw=read\nsize=1m\ninvalidate=0\npercentile_list=0\nwrite_bw_log=log",
             "-op read -target data -reqsize 4k -bytes 1M -intervals 1 output log.csv"),
            ("ioengine=null\nsize=8g\nbs=2097153", "-op read -target null -blocksize 2097153 -reqsize 2097153B -bytes 8587841535B"),
            ("ioengine=null\nsize=8g\nbs=2097152\noffset=1", "-op read -target null -blocksize 1 -reqsize 2M -bytes 8G -startoffset 1B"),
            ("size=8k\nramp_time=365d\nruntime=365d\nthinktime=31536000s\nstartdelay=365d\ninvalidate=0",
             "-op read -target data -reqsize 4k -bytes 8k -timelimit 31536000 -throttle delay 31536000 -warmup 31536000 -startdelay 31536000"),
            ("ioengine=null\nsize=1024p\nloops=15\n[other]\nioengine=null\nsize=8k",
             "-op read -targets -2 null -reqsize 4k -bytes 15728640T -bytes target 1 8k -seek target 0 range 1048576T"),
            ("ioengine=null\nsize=8k\noffset=9223372036854767615",
             "-op read -target null -blocksize 1 -reqsize 4k -bytes 8k -startoffset 9223372036854767615B"),
            ("size=1m\nloops=1000000001\ninvalidate=0", "-op read -target data -reqsize 4k -bytes 1M -passes 1000000000"),
            ("size=1m\nrw=write\nbuffer_pattern='it s'\nnuma_cpu_nodes=0,1\nnuma_mem_policy=interleave:0,1",
             "-op write -target data -reqsize 4k -bytes 1M -datapattern file 'it s' -processor node0,node1 -numa interleave:0,1"),
            ("size=1m\nrw=write\nzero_buffers\nnuma_mem_policy=bind:0,2-3", "-op write -target data -reqsize 4k -bytes 1M -numa 0,2-3"),
            ("size=1m\nrw=write\nzero_buffers\nnuma_mem_policy=default", "-op write -target data -reqsize 4k -bytes 1M"),
            ("size=1m\nrw=write\nbsrange=4k-8k,8k-16k\nzero_buffers", "-op write -target data -reqsize mix 8k:1,16k:1 -bytes 1M"),
            ("filename=a\\$b\nsize=1m\nrw=write\nzero_buffers", "-op write -targets 2 data 'a$b' -reqsize 4k -bytes 512k")):
        t.equal(one_command(head + settings), words, "the command for " + settings.replace("\n", " "))
    for settings, said in (
            ("rw=rw\nrwmixread=100", ""), ("rw=read\nrwmixread=100", "# left out: [job] rwmixread=100 (%s:5): is for rw and randrw"),
            ("thinktime=31536001s", "# left out: [job] thinktime=31536001s (%s:4): is longer than a year"),
            ("startdelay=31536001", "# left out: [job] startdelay=31536001 (%s:4): is longer than a year"),
            ("cpumask=0", "# left out: [job] cpumask=0 (%s:4): cannot be read; -processor has a list"),
            ("numa_cpu_nodes=0-1", "# left out: [job] numa_cpu_nodes=0-1 (%s:4): expected a list of nodes; -processor node0 is for the "
                                   "processors of a node"),
            *(("numa_mem_policy=" + policy, "# left out: [job] numa_mem_policy=%s (%%s:4): -numa has nodes, local and interleave" % policy)
              for policy in ("bind:", "bind", "bind:x", "interleave:", "interleave:x", "prefer:0", "locals")),
            ("rw=write\nverify=md5\nioengine=null", "# left out: [job] verify=md5 (%s:5): the null device moves no data"),
            ("rw=write\nsync=1\nioengine=mmap", "# note: [job] sync=1: a flush after each write takes the place of O_SYNC, which "
                                                "ioengine=mmap does not use, and is not part of the latency")):
        run = convert(head + "size=1m\n" + settings)
        t.equal((run.status, re.findall("# (?!group).*", run.out)), (0, [said.replace("%s", t.path("job.fio"))] if said else []),
                "what is left out of " + settings.replace("\n", " "), run)


def test_said():
    """All that is left out, noted or refused of settings, with their lines."""
    head = "[job]\nfilename=data\nsize=1m\n"
    t.make_file("data", 1 << 20)
    random, writes, huge = "is for random offsets", "is for writes", "buffers are mapped memory of each QThread"
    for settings, reasons in (
            ("randseed=5\nrandrepeat=0\nnorandommap=1\nrandom_distribution=zipf:1.2", [random] * 4),
            ("rw=randread\nrandseed=5\nnorandommap=1\nrandom_distribution=zipf:10", []),
            ("time_based=1", ["has no runtime beside it"]),
            ("loops=3\nruntime=5\ntime_based=1", ["time_based repeats the job until its runtime"]),
            ("rate=1m\nrate_iops=10", ["rate_iops is lower"]), ("rate=40k\nrate_iops=10", ["rate_iops is lower"]),
            ("rate_iops=10\nrate=39k", ["rate is lower"]), ("rate_process=poisson", ["there is no rate"]),
            ("rate_process=linear\nrate=1m", []),
            ("fsync=2\nfdatasync=3\nsync=1\nend_fsync=1\nfsync_on_close=1", [writes] * 5),
            ("buffer_pattern=0x1\nbuffer_compress_percentage=50\ndedupe_percentage=20\nzero_buffers=1", [writes] * 4),
            ("verify_pattern=0x12\nrw=write\nverify=md5", ["is for verify=pattern"]), ("verify_pattern=0x12\nrw=write\nverify=pattern", []),
            ("mem=mmap", [huge]), ("mem=mmapshared", [huge]), ("mem=mmaphuge", []), ("mem=shm", []),
            ("iomem_align=1073741825", ["-memalign has at most 1 GiB"]), ("iomem_align=1073741824", [])):
        run = convert(head + settings)
        lines = settings.split("\n")
        t.equal((run.status, re.findall("# left out: .*", run.out)),
                (0, ["# left out: [job] %s (%s:%d): %s" % (lines[i], t.path("job.fio"), 4 + i, reason) for i, reason in enumerate(reasons)]),
                "left out: " + " ".join(lines), run)
    for settings, notes in (
            ("rw=rw\nrate=1m", ["the rate is the sum of reads and writes"]),
            ("rw=randread\nrandrepeat=0", ["randrepeat=0: each pass has offsets of its own, the same in every run; -seek seed <number> "
                                           "chooses others"]),
            ("rw=randread\nrandrepeat=1", []),
            ("rw=write\nverify=md5", ["verify=md5: xdd writes and verifies data of its own (-datapattern tagged); what fio wrote does not "
                                      "verify"])):
        run = convert(head + settings)
        t.equal((run.status, re.findall("# note: .*", run.out)), (0, ["# note: [job] " + note for note in notes]),
                "notes on " + settings.replace("\n", " "), run)
    delay, zipf = "a delay follows each operation", "xdd has uniform offsets and -seek zipf <theta>"
    loops = "fio counts the writes between flushes over all loops"
    for settings, reason in (
            *(("rw=randread\nrandom_distribution=" + text, zipf) for text in ("pareto:0.9", "zipf:0", "zipf:10.1", "zipf:1x", "zipf:")),
            ("thinktime=1ms\nthinktime_blocks=4", delay), ("rate=1m\nthinktime=5", "a target has a rate or a delay, and not both"),
            ("rw=write\nfsync=2\nfdatasync=3", "xdd flushes in one way, and fsync is another"),
            ("rw=write\nfsync=2\nloops=3", loops), ("rw=write\nfdatasync=2\nloops=3", loops),
            ("rw=rw\nfsync=2", "between two writes of a mix, fio flushes after each read as well")):
        run = convert(head + settings)
        lines = settings.split("\n")
        t.equal((run.status, run.out, run.err), (2, "", "xdd: %s:%d: %s: %s; -leaveout %s translates without it\n" % (
            t.path("job.fio"), 3 + len(lines), lines[-1], reason, lines[-1].split("=")[0])), "refused: " + " ".join(lines), run)
    for settings, message in (("ioengine=libaio\niodepth=65537", "5: iodepth: expected 65536 at most"),
                              ("runtime=31536001", "1: [job]: has a runtime of more than a year"),
                              ("runtime=31536000\nramp_time=31536001", "1: [job]: has a ramp_time of more than a year")):
        run = convert(head + settings)
        t.equal((run.out, run.err), ("", "xdd: %s:%s\n" % (t.path("job.fio"), message)), message, run)
    t.equal(convert(head + "ioengine=libaio\niodepth=65536").status, 0, "the largest depth")


def test_time():
    """Verification reads the writes before time ended them, and no more."""
    for settings in ("runtime=1\nrate_iops=1000", "runtime=1\nrate_iops=1000\nrw=randwrite", "runtime=1\nrate_iops=1000\nnumjobs=2"):
        t.make_file("data", 4 << 20)
        with open(t.path("soak"), "wb") as f:
            f.truncate(64 << 20)
        run = convert("[soak]\nfilename=soak\nsize=64m\nbs=4k\nrw=write\nverify=crc32c\n%s\n" % settings, "-run")
        t.ok(run.status == 0 and "MISCOMPARE" not in run.err, "verify within runtime: " + settings.replace("\n", " "), run)


def test_new_files():
    """A file that a group reads is written before, also if a group before has removed it."""
    run = convert("[global]\nsize=1m\nzero_buffers\n[a]\nfilename=kept\nrw=write\n[b]\nfilename=removed\nrw=write\nunlink=1\n"
                  "[c]\nstonewall\nfilename=removed\nrw=read\n")
    t.equal(commands(run)[-2:], [["-op", "write", "-target", "removed", "-reqsize", "1M", "-bytes", "1M", "-syncwrite"],
                                 ["-op", "read", "-target", "removed", "-reqsize", "4k", "-bytes", "1M", "-dropcache"]],
            "a removed file", run)


def test_most_targets():
    """1024 targets of a command are the most."""
    for n, status in ((1024, 0), (1025, 2)):
        run = convert("[job]\nioengine=null\nsize=1m\nrw=read\nnumjobs=%d\n" % n)
        t.equal((run.status, "-targets -%d null" % n in run.out), (status, not status), "numjobs=%d" % n, run)


def test_pre_read():
    """The page cache is filled by a command before."""
    t.make_file("data", 4 << 20)
    run = convert("[job]\nfilename=data\nsize=1m\nrw=read\npre_read=1\nnumjobs=2\n")
    t.equal(commands(run), [["-op", "read", "-target", "data", "-reqsize", "1M", "-bytes", "4M"],
                            ["-op", "read", "-targets", "-2", "data", "-reqsize", "4k", "-bytes", "1M"]], "pre_read reads the file once", run)
    run = convert("[job]\nfilename=new\nsize=1m\nrw=randread\npre_read=1\n", "-run")
    t.equal((run.status, run.out.count("COMBINED")), (0, 3), "of a new file after it was written", run)


def test_bssplit():
    """Sizes with percentages are a mix; those of one direction where a job has one."""
    t.make_file("split", 1 << 20)
    for value, rw, wanted in (("4k/60:64k/40", "read", "mix 4k:3,64k:2"), ("64k/40:4096/60", "read", "mix 4k:3,64k:2"),
                              ("4k/50:16k/:64k/", "write", "mix 4k:2,16k:1,64k:1"), ("4k/30:8k/50:4k/20", "read", "mix 4k:1,8k:1"),
                              ("8k/100:4k/", "read", "8k"), ("4k:8k:16k", "read", "mix 4k:1,8k:1,16k:1"),
                              ("4k/10:8k/90,512/50:1k/50", "write", "mix 512B:1,1k:1"),
                              (",8k/10:16k/90", "read", "4k"), ("4k/10:8k/90,", "write", "mix 4k:1,8k:9")):
        run = convert("[job]\nfilename=split\nsize=1m\nrw=%s\nbssplit=%s\n" % (rw, value))
        words = commands(run)[-1]
        at = words.index("-reqsize") + 1
        t.equal((run.status, " ".join(words[at:at + len(wanted.split())]), words[at + len(wanted.split())]),
                (0, wanted, "-bytes"), "bssplit=%s, rw=%s" % (value, rw), run)
    for value in ("4k/60:64k/50", "4k/x", "/50", "4k/101", "4k/0", ":".join("%dk" % n for n in range(1, 34))):
        run = convert("[job]\nfilename=split\nsize=1m\nrw=read\nbssplit=%s\n" % value)
        t.ok(run.status and "expected up to 32 sizes with percentages" in run.err, "bssplit=%.20s is refused" % value, run)
    run = convert("[job]\nfilename=split\nsize=128k\nrw=read\ntime_based\nruntime=1\nbssplit=4k/33:64k/67\n")
    t.ok(run.status and "more than its part of a file" in run.err, "a cycle that the file does not hold is refused", run)


def test_trims():
    """rw=trim and randtrim: discards, of the third block size, by an engine that can."""
    file = t.make_file("trimmed", 1 << 20)
    job = "[job]\nfilename=%s\nsize=1m\nrw=%s\nbs=4k,8k,64k\nioengine=%s\niodepth=4\n"
    run = convert(job % (file, "trim", "io_uring"), "-run")
    with open(file, "rb") as f:
        t.ok(run.status == 2 and "fio discards blocks of devices only" in run.err and bytes(65536) not in f.read(),
             "rw=trim of a file is refused, as fio does", run)
    device = s.loop_device(file)
    if not device:
        return t.skip("rw=trim", s.sys_why())
    run = convert(job % (device, "trim", "io_uring"))
    t.equal(commands(run), [["-op", "discard", "-target", device, "-ioengine", "io_uring", "-reqsize", "64k", "-queuedepth", "4",
                             "-bytes", "1M"]], "rw=trim", run)
    run = convert(job % (device, "randtrim", "libaio") + "bs=64k\nverify=md5\n", "-run")
    with open(file, "rb") as f:
        t.ok(run.status == 0 and "ioengine=libaio" in run.out and "verify=md5" in run.out and bytes(65536) in f.read(),
             "rw=randtrim runs with another engine than libaio, without verification", run)
    run = convert(job % (file, "trimwrite", "psync"))
    return t.ok(commands(run) == [] and "xdd discards or writes" in run.out + run.err, "rw=trimwrite is refused", run)


def test_text():
    """Comments, sections, variables, lists, files that are included."""
    t.make_file("a:b", 1 << 20)
    t.make_file("c d'e", 1 << 20)
    write("part.fio", "bs=16k ; of all\n")
    run = convert("; a comment\n# another\n[global]\r\nsize=${SIZE}k # here\n\tinclude part.fio\ninvalidate=0\n"
                  "[first] ; and here\nfilename=a\\:b:c d'e\n[global]\nbs=32k\n[second]\nstonewall\n"
                  "filename=-x:null\nsize=$pagesize*16\nrw=write\nzero_buffers\n", env={"SIZE": "128"})
    page = os.sysconf("SC_PAGESIZE")
    t.equal(commands(run),
            [["-op", "read", "-targets", "2", "a:b", "c d'e", "-reqsize", "16k", "-bytes", "64k"],
             ["-op", "write", "-targets", "2", "./-x", "./null", "-reqsize", "32k", "-bytes", "%dk" % (page * 8 // 1024)]],
            "comments, variables, lists of names and included files", run)
    t.make_file("k1", 1 << 16)
    run = convert("[global]\nrw=write\nsize=64k\nzero_buffers\nstonewall\n[a]\nfilename=k*\n[b]\nname=other\n"
                  "[c]\nfilename_format=$jobname-$clientuid-$filenum\n")
    t.equal([words[2:-4] for words in commands(run)], [["-targets", "-1", "k*"], ["-target", "b.0.0"], ["-target", "c--0"]],
            "names are no patterns of files; the section names the files that have none", run)


def test_script():
    """The output is a script."""
    t.make_file("it's $HOME", 1 << 16)
    run = convert("[job]\nfilename=it's $HOME\nsize=64k\nrw=write\n[after `touch bad`]\nstonewall\nfilename=x\n"
                  "size=64k\nrw=write\nnice=1\n")
    script = write("script", run.out)
    shown = t.command(["sh", "-c", 'xdd() { for w; do echo "<$w>"; done; }; . "$0"', script], cwd=t.tmp())
    t.equal([w[1:-1] for w in shown.out.splitlines()], [w for c in commands(run) for w in c],
            "a shell that reads the output gets the words of each command", shown)
    t.ok(not os.path.exists(t.path("bad")), "and runs nothing of a job's name")


BAD = {
    "bs=4q\n": "3: bs=4q: expected numbers for reads and writes, such as 4k or 4k,8k",
    "bs=\n": "3: bs=: expected numbers for reads and writes, such as 4k or 4k,8k",
    "iodepth\n": "3: iodepth: expected a number",
    "direct=yes\n": "3: direct=yes: expected 0 or 1",
    "rw=wirte\n": "3: rw=wirte: expected read, write, rw, trim, or one of these with rand before it",
    "size=101%\n": "3: size=101%: is out of range; expected bytes or a percentage, such as 1g or 50%",
    "size=99999999999999999999\n": "3: size=99999999999999999999: is out of range; expected bytes or a percentage, "
                                   "such as 1g or 50%",
    "runtime=1x\n": "3: runtime=1x: expected a time, such as 30, 10s or 1m",
    "kb_base=1001\n": "3: kb_base: expected 1000 or 1024",
    "[x\n": "3: expected ] after the name of a section",
    "[]\n": "3: expected a name between [ and ]",
    "=4\n": "3: expected a name before =",
    "rw read\n": "3: rw read: expected name=value",
    "bs=${NO_SUCH_VARIABLE}\n": "3: ${NO_SUCH_VARIABLE} is not set in the environment",
    "filename=${x\n": "3: expected } after ${",
    "include no-such-file\n": "3: include no-such-file: No such file or directory",
    "include self.fio\n": "3: include: files include each other more than 8 deep",
    "include job.fio\n": "1: a file that is included cannot begin a section",
    "filename=\x1b[31m\n": "3: has the byte 0x1b, which cannot be printed; expected text in UTF-8",
    "size=1m\nbs=2m\n": "1: [job]: has requests that are larger than its part of a file; expected a smaller bs or a "
                        "larger size",
    "filename=none\n": "1: [job]: has no size, and none does not exist; expected size=",
    "size=1m\nnumjobs=9999\n": "1: [job]: numjobs and files make more targets than the 1024 of a command, or the 20000 "
                               "of all",
    "filename=none\nsize=50%\noffset=10%\n": "5: offset=10%: the size of none is not known; -leaveout offset translates without it",
    "size=1m\nrw=rw\nrwmixread=101\n": "1: [job]: expected rwmixread and rwmixwrite from 0 to 100",
    "ioengine=null\nsize=8g\nbs=2147483649\n": "1: [job]: has requests that xdd cannot do; they have 2 GiB and 2097152 blocks at most",
    "ioengine=null\nsize=8g\nbs=2097153\noffset=1\n": "1: [job]: has requests that xdd cannot do; they have 2 GiB and 2097152 blocks at most",
    "ioengine=null\nsize=8k\noffset=9223372036854767616\n": "1: [job]: ends above offset 2^63-1",
    "size=1m\nramp_time=31536001\n": "1: [job]: has a ramp_time of more than a year",
    "size=1m\nruntime=31536001\n": "1: [job]: has a runtime of more than a year",
    "ioengine=null\nsize=1024p\nloops=16\n[other]\nioengine=null\nsize=8k\n": "1: [job]: does more than 2^64 bytes",
    "size=1m\nbsrange=4k-8k,16k-8k\nrw=write\n": "4: bsrange=4k-8k,16k-8k: expected sizes, such as 4k-64k",
    "[" + "x" * 256 + "]\n": "3: has a section name of more than 255 characters",
    "[x]\n" * 10000: "10002: has more than 10000 sections",
    "bs=" + "$pagesize" * 16385 + "\n": "3: has more than 65536 bytes with its variables",
    "size=1m\nfilename=-\n": "1: [job]: standard input and output are no targets",
    "size=1m\nfilename=a::b\n": "1: [job]: filename: expected names with colons between them",
    "size=1m\nrw=write\nbuffer_compress_percentage=101\n": "1: [job]: expected percentages of compression and dedupe up to 100",
    "size=1m\nrw=write\ndedupe_percentage=101\n": "1: [job]: expected percentages of compression and dedupe up to 100",
    "[a] b\n": "3: expected nothing after the ] of a section",
    "size=1m\nrate=1m\nrate_process=fixed\n": "1: [job]: expected rate_process=linear or poisson",
    "ioengine=null\n": "1: [job]: has no size; expected size=",
    "size=1m\nbs=4\0k\n": "4: has a NUL byte; expected text",
}


def test_bad():
    write("self.fio", "\n\ninclude self.fio\n")
    for text, message in BAD.items():
        run = fio("job.fio") if not write("job.fio", "[job]\n; text\n" + text) else fio("job.fio")
        file = "self.fio" if "self" in text else "job.fio"
        t.equal((run.status, run.err, run.out), (2, "xdd: %s:%s\n" % (file, message), ""),
                "one line and status 2: " + repr(text[:99]))
    for args, status, message in (
            (["no.fio"], 2, "xdd: no.fio: No such file or directory\n"),
            ([], 2, "xdd: fio: expected a job file: xdd fio <job file> [-run], or xdd fio -h\n"),
            (["job.fio", "two.fio"], 2, "xdd: fio two.fio: expected one job file\n"),
            (["-rum", "job.fio"], 3, "xdd: fio -rum: is not an option; did you mean -run?\n"),
            (["job.fio", "-o"], 2, "xdd: fio -o: missing argument <file>\n"),
            (["job.fio", "-report"], 2, "xdd: fio -report: missing argument person|table|auto\n"),
            (["job.fio", "-report", "peson"], 2, "xdd: fio -report peson: expected person|table|auto\n")):
        run = fio(*args)
        t.equal((run.status, run.err, run.out), (status, message, ""), "one line: xdd fio " + " ".join(args))
    for text, message in (("", "has no job; expected a section such as [job]"),
                          ("[global]\nbs=4k\n", "has no job; expected a section such as [job]"),
                          ("a" * (1 << 20) + "\n", "is longer than 1048576 bytes, with all that it includes")):
        run = convert(text)
        t.equal((run.status, run.err), (2, "xdd: %s: %s\n" % (t.path("job.fio"), message)), message)
    run = convert("bs=4k\n")
    t.equal((run.status, run.err),
            (2, "xdd: %s:1: expected a section, such as [job], before the first setting\n" % t.path("job.fio")),
            "a setting before the first section")


def test_command_line():
    """Settings of fio's own command line."""
    t.make_file("data", 4 << 20)
    run = fio("--bs=8k", "--invalidate=0", "--name=a;b", "--filename=data", "--size", "1m", "--direct", "--name", "second",
              "--filename=data", "--rw=write", "--zero_buffers", "--size=64k", "--nice=3")
    t.equal((run.status, commands(run)),
            (0, [["-op", "read", "-op", "target", "1", "write", "-targets", "-2", "data", "-dio", "target", "0", "-reqsize", "8k",
                  "-bytes", "1M", "-bytes", "target", "1", "64k"]]), "settings typed as for fio", run)
    t.ok("# left out: [second] nice=3 (command line:15): " in run.out, "a setting that is left out has its argument", run)
    for args, message in (
            (["--rw=read", "job.fio"], "fio job.fio: expected a job file or settings, and not both"),
            (["--rw=read"], "fio: expected a job, such as --name=job"),
            (["--name=a", "--bs=q"],
             "command line:3: bs=q: expected numbers for reads and writes, such as 4k or 4k,8k")):
        run = fio(*args)
        t.equal((run.status, run.err), (2, "xdd: %s\n" % message), message)


def test_standard_input():
    run = t.command(["sh", "-c", 'echo "[job]\nsize=64k\nrw=write\nfilename=x\nbs=a" | "$0" fio -', t.XDD])
    t.equal((run.status, run.err.split(": ", 1)[1][:17]), (2, "standard input:5:"), "a job file from standard input", run)


# Job files in the manner of those that people have, each with the number of its commands.
JOBS = {
    "sequential": (1, "[seqwrite]\nrw=write\nbs=1m\nsize=8m\nioengine=psync\nend_fsync=1\nfilename=w1\n"),
    "random read": (2, "[global]\nioengine=libaio\niodepth=16\ndirect=1\nbs=4k\nsize=4m\ngroup_reporting\n"
                       "[rr]\nrw=randread\nnumjobs=4\nfilename=r1\n"),
    "mix": (2, "[mix]\nrw=randrw\nrwmixread=70\nbs=8k\nsize=4m\nioengine=psync\nruntime=10\n"),
    "database": (2, "[global]\nsize=4m\nioengine=psync\n[data]\nrw=randrw\nbs=8k\nnumjobs=2\nfilename=db\n"
                    "[log]\nrw=write\nbs=4k\nfdatasync=1\nrate_iops=2000\nfilename=wal\nsize=256k\n"),
    "one after the other": (3, "[global]\nsize=2m\nfilename=s1\n[w]\nrw=write\n[r]\nstonewall\nrw=read\n"
                               "[rr]\nwait_for=r\nrw=randread\n"),
    "many files": (2, "[files]\nnrfiles=4\nsize=4m\nrw=randread\niodepth=8\nioengine=libaio\ndirectory=.\n"),
    "server": (2, "[global]\nsize=1m\nbs=16k\nnrfiles=2\n[readers]\nrw=randread\nnumjobs=2\n[writer]\nrw=write\n"),
    "verify": (2, "[v]\nrw=randwrite\nbs=4k\nsize=1m\nverify=crc32c\nioengine=libaio\niodepth=4\ndirect=1\n"),
    "verify pattern": (2, "[v]\nrw=write\nbs=4k\nsize=1m\nverify=pattern\nverify_pattern=0xdeadbeef\nunlink=1\n"),
    "verify shared": (2, "[v]\nrw=write\nbs=4k\nsize=1m\nverify=md5\nnumjobs=2\nfilename=vs\n"),
    "paced": (1, "[p]\nrw=write\nsize=64k\nthinktime=1ms\nbs=4k\nsync=1\n"),
    "loops": (2, "[l]\nrw=randread\nsize=1m\nloops=3\nrandrepeat=0\nrandseed=7\n"),
    "different loops": (2, "[global]\nsize=1m\n[a]\nloops=2\n[b]\nloops=3\n"),
    "logs": (2, "[g]\nrw=read\nsize=1m\nwrite_lat_log=lat\nwrite_bw_log=bw\nlog_avg_msec=100\n"),
    "null": (1, "[n]\nioengine=null\nsize=1g\nbs=4k\nrw=randwrite\niodepth=8\n"),
    "odd sizes": (1, "[o]\nrw=write\nbs=1500\nsize=100000\noffset=3000\nfilename=odd\n"),
    "data": (1, "[d]\nrw=write\nsize=1m\nbuffer_compress_percentage=50\ndedupe_percentage=25\nfallocate=native\n"),
    "laid out again": (2, "[a]\nrw=write\nsize=1m\noverwrite=1\n"),
}


def test_dry():
    """Each command can be typed: it passes a dry run when those before it have been run."""
    for name, (number, text) in JOBS.items():
        directory = t.path("dry " + name)
        os.mkdir(directory)
        run = convert(text, cwd=directory)
        t.equal((run.status, len(commands(run))), (0, number), name + ": the number of commands", run)
        for i, words in enumerate(commands(run), 1):
            dry = t.command([t.XDD, *words, "-dryrun"], cwd=directory)
            t.ok(dry.status == 0 and not dry.error_lines(), "%s: a dry run of xdd %s" % (name, shlex.join(words)), dry)
            if i < number:
                t.command([t.XDD, *words], cwd=directory)


def test_run():
    """-run runs the commands, and ends with the first that fails."""
    for name in ("one after the other", "verify", "verify pattern", "verify shared", "database", "laid out again"):
        directory = t.path(name + " run")
        os.mkdir(directory)
        run = convert(JOBS[name][1], "-run", cwd=directory)
        t.equal((run.status, run.out.count("COMBINED")), (0, JOBS[name][0]), name + ": -run runs each command", run)
        titles = re.findall(r"^# (group .*)$", run.out, re.M)
        t.ok(len(titles) == 2 * JOBS[name][0] and titles[:JOBS[name][0]] == titles[JOBS[name][0]:],
             name + ": ... below its title", run)
    t.make_file("data", 4 << 20)
    run = convert("[a]\nrw=read\nsize=64k\nfilename=data\ncreate_only=1\n", "-run")
    t.equal((run.status, run.error_lines()), (2, ["xdd: fio -run: no job became a command"]),
            "-run of jobs that have nothing to do", run)
    run = convert("[a]\nrw=write\nsize=64k\nfilename=good\n[b]\nstonewall\nrw=write\nsize=64k\nfilename=no/such/dir\n",
                  "-run")
    t.ok(run.status == 4 and not os.path.exists(t.path("good")) and len(run.error_lines()) == 1,
         "nothing runs when one command is refused", run)
    run = convert("[a]\nrw=write\nsize=64k\nfilename=tagged\n[b]\nstonewall\nverify=crc32c\nsize=64k\nfilename=tagged\n"
                  "[c]\nstonewall\nrw=write\nsize=64k\nfilename=third\n", "-run")
    t.ok(run.status == 7 and not os.path.exists(t.path("third")),
         "the first command that fails ends the rest and gives the status", run)


def test_parent():
    """The ends of children are ignored where a parent ignores them; without /proc the program is found by its path."""
    job = write("small.fio", "[a]\nrw=write\nsize=64k\nfilename=small\n[b]\nstonewall\nrw=read\nsize=64k\nfilename=small\n")
    words = [t.XDD, "fio", job, "-run"]
    run = t.command(words, cwd=t.tmp(), preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), timeout=60)
    t.equal((run.status, run.out.count("COMBINED")), (0, 2), "-run where the ends of children are ignored", run)
    hide = s.without_proc()
    if hide:
        run = t.command(hide + words, cwd=t.tmp())
        t.equal((run.status, run.out.count("COMBINED")), (0, 2), "-run without /proc", run)
    else:
        t.skip("-run without /proc", s.sys_why())
    env = s.preload("no_exec", "#include <errno.h>\nint execv(const char *p, char *const a[]) { errno = EACCES; return -1; }\n")
    if env is None:
        return t.skip("-run that cannot start a command", "no C compiler")
    run = t.command(words, cwd=t.tmp(), env=env)
    return t.ok(run.status == 1 and re.fullmatch(r"xdd: fio: cannot start /\S+: Permission denied\n", run.err),
                "-run that cannot start a command says so", run)


def test_interrupted():
    """A signal to xdd fio reaches the run, and no other begins."""
    job = write("job.fio", "[a]\nrw=write\nsize=1m\nfilename=long\ntime_based\nruntime=600\n[b]\nstonewall\nrw=write\n"
                           "size=64k\nfilename=after\n")
    p = subprocess.Popen([t.XDD, "fio", job, "-run", "-o", "-"], cwd=t.tmp(), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, start_new_session=True)
    # The file is there before the first operation; before that, a signal leaves no results.
    long = t.path("long")
    t.until(lambda: os.path.exists(long) and os.stat(long).st_blocks, p)
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=t.TIMEOUT)
    t.equal((p.returncode, b"COMBINED" in out, os.path.exists(t.path("after"))), (5, True, False),
            "a signal ends the run with its results and status 5, and the rest", err)


def test_output():
    run = convert(JOBS["null"][1], "-o", "commands")
    with open(t.path("commands")) as f:
        text = f.read()
    t.equal((run.status, run.out, text), (0, "", convert(JOBS["null"][1]).out), "-o writes the commands to a file", run)
    run = convert("[job]\nbs=q\n", "-o", "commands")
    with open(t.path("commands")) as f:
        t.equal((run.status, f.read()), (2, text), "a job file that is refused changes no file", run)


t.run_all()
