/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of fio: options of its command line and of its job files. The first row of a word also says
 * how xdd fio reads it in a job file, and what it does with it: src/plan/fio_*.c.
 */
#include "plan/fio.h"
#include "plan/foreign_rows.h"

/* Of a job file: the type of the value, and the option. */
#define J(type_, option_) .type = FIO_##type_, .option = FIO_##option_

/* Reasons of several rows. */
#define REPLAYS "xdd does not read traces of others; -seek load <file> reads its own lists"
#define NO_ZONED "xdd does not know zones of a zoned device"
#define READS_SHARE "the number is the percentage of reads"
#define TRIMS "xdd discards in jobs of their own, rw=trim or randtrim"
#define VERIFY_FORM "xdd verifies 512-byte sectors (tagged), or the whole of the data"
#define RATES_ONLY "xdd holds a rate (-throttle); a missed rate is a warning at the end"
#define NO_PRIORITY "xdd sets no I/O priority; use ionice(1)"
#define DEDUPE "-datapattern dedupe copies units of the same MiB of a target"
#define MANY_HOSTS "xdd multi runs a command on many hosts; xddcp and -endtoend copy between hosts"
#define FLOWS "targets wait for each other by -lockstep, -starttrigger and -syncio"
#define SG_WRITES "the engine sg uses WRITE"
#define CGROUPS "start xdd in the control group instead"
#define TIMES "xdd always measures the time of each operation"
#define DELAY "a delay follows each operation"
#define FILES "-targets 4 <name>%d stands for four files, each with a queue of its own"
#define REPORTING \
	"is about the report of fio, or its progress; see -report, -jsonout and -heartbeat"

#define GAPS                                                                           \
	"-seek interleave <n> takes every n-th request; a line to try has one lap of " \
	"them, which fio repeats"

#define DIRECTIONS(word_)                                                                        \
	IS(word_, "read", "-op read", NULL, J(TEXT, RW)), IS(word_, "write", "-op write", NULL), \
		IS(word_, "randread", "-op read -seek random once", NULL),                       \
		IS(word_, "randwrite", "-op write -seek random once", NULL),                     \
		IS(word_, "rw readwrite mixed", "?-rwratio 50 -seek streams", READS_SHARE),      \
		IS(word_, "randrw", "?-rwratio 50 -seek random once", READS_SHARE),              \
		{ .word = word_,                                                                 \
		  .values = "read:-* write:-*",                                                  \
		  .sample = "read:-8k",                                                          \
		  .note = "a list of -seek load has its requests in any order" },                \
		{ .word = word_,                                                                 \
		  .values = "read:* write:*",                                                    \
		  .sample = "read:64k",                                                          \
		  .in_jobs = true,                                                               \
		  .note = GAPS,                                                                  \
		  J(TEXT, RW) },                                                                 \
		{ .word = word_,                                                                 \
		  .values = "rw:* readwrite:* randread:* randwrite:* randrw:*",                  \
		  .sample = "randread:8",                                                        \
		  .note = "each random request of xdd has an offset of its own" },               \
		IS(word_, "trim", "-op discard", NULL),                                          \
		IS(word_, "randtrim", "-op discard -seek random once", NULL),                    \
		IS(word_, "trimwrite randtrimwrite", NULL,                                       \
		   "xdd does not alternate discards and writes; give two targets with "          \
		   "different -op")

#define LATENCY_GOAL .note = "finds the greatest load with such a response time"
#define STEADY "-passes until <percent>", .note = "runs passes until the mean is certain"
#define ALWAYS "xdd always does so"
#define NO_EFFECT "it has no effect on what is measured"
#define ONE_SIZE "requests have one size, or the sizes of -reqsize mix"
#define NO_ZONES "say the extent with -startoffset and -seek range"
#define COMPLETION "xdd takes each completion as soon as it is there"
#define ONE_GROUP                                                                              \
	"a run of xdd is one group; sections of a setup file are runs one after another, and " \
	"-starttrigger lets a target wait for another"
#define SHELL_DOES "use the tool for it in front of xdd, such as nice, ionice, chrt or systemd-run"
#define INTERVALS "the rows of -intervals have operations, rates and latencies together"
#define VERIFY_NOTE \
	"-readback reads what was written, in a run after it; no other pattern finds as much"

static const struct foreign rows[] = {
	/* direction and pattern */
	DIRECTIONS("rw"),
	DIRECTIONS("readwrite"),
	IS("op", "randread", "-op read -seek random once", NULL),
	IS("op", "randwrite", "-op write -seek random once", NULL),
	IS("op", "randtrim", "-op discard -seek random once", NULL),
	IS("op", "rw readwrite mixed", "?-rwratio 50 -seek streams", READS_SHARE),
	IS("op", "randrw", "?-rwratio 50 -seek random once", READS_SHARE),
	V("rwmixread", "70", "-rwratio %v", NULL, J(COUNT, RWMIXREAD)),
	V("rwmixwrite", "30", "-rwratio %-", READS_SHARE, J(COUNT, RWMIXWRITE)),
	V("randseed", "42", "-seek seed %v", NULL, J(COUNT, RANDSEED)),
	IS("randrepeat", "0 false", "", "other offsets in each run: give -seek seed another number",
	   J(BOOL, RANDREPEAT)),
	SWITCH("randrepeat", "", ALWAYS),
	IS("allrandrepeat", "0 false", "",
	   "other offsets in each run: give -seek seed another number", J(BOOL, RANDREPEAT)),
	SWITCH("allrandrepeat", "", ALWAYS),
	SWITCH("norandommap", "", "then say -seek random without once", J(BOOL, NORANDOMMAP)),
	SWITCH("softrandommap", "", "xdd keeps no map; -seek random once needs no memory"),
	IS("random_distribution", "random", "", "random offsets are uniform",
	   J(TEXT, RANDOM_DISTRIBUTION)),
	{ .word = "random_distribution",
	  .values = "zipf:*",
	  .say = "-seek zipf %:",
	  .sample = "zipf:1.2",
	  .note = NULL },
	NOT("random_distribution", "pareto:0.5",
	    "random offsets are uniform, or have hot spots: -seek zipf"),
	V("random_generator", "tausworthe64", "", "xdd has one generator, which covers any range"),
	NOT("percentage_random", "50", "give one target for each pattern", .usual = "100"),
	NOT("rw_sequencer", "identical", "-seek none repeats one offset", .usual = "sequential"),
	V("unified_rw_reporting", "1", "", "xdd shows directions and their sum"),

	/* amount and size */
	OVER("bs", "4k", "-bs %v @one", NULL, J(BYTES, BS)),
	OVER("blocksize", "4k", "-bs %v @one", NULL, J(BYTES, BS)),
	V("size", "256k", "-bytes %v", "for each target", J(AMOUNT, SIZE)),
	V("io_size", "256k", "-bytes %v", "for each target", J(AMOUNT, IO_SIZE)),
	V("io_limit", "256k", "-bytes %v", "for each target", J(AMOUNT, IO_SIZE)),
	V("number_ios", "100", "-numreqs %v", "for each target", J(COUNT, NUMBER_IOS)),
	V("filesize", "1M", "-pretruncate %v", "for files that are written", J(AMOUNT, FILESIZE)),
	V("bssplit", "4k/60:64k/40", "-reqsize mix %/",
	  "exactly so in every cycle of operations; the same for reads and writes",
	  J(TEXT, BSSPLIT)),
	IN_JOBS("bsrange", "4k-64k", ONE_SIZE, J(TEXT, BSRANGE)),
	IN_JOBS("blocksize_range", "4k-64k", ONE_SIZE, J(TEXT, BSRANGE)),
	NOT("bs_unaligned", NULL, ONE_SIZE),
	NOT("bs_is_seq_rand", "1", ONE_SIZE),
	NOT("ba", "4k", "random offsets are multiples of the request size"),
	NOT("blockalign", "4k", "random offsets are multiples of the request size"),
	NOT("fill_device", "1", "without an amount, -timelimit writes as far as its time goes"),
	NOT("fill_fs", "1", "without an amount, -timelimit writes as far as its time goes"),
	V("offset", "64k", "-startoffset %B", NULL, J(AMOUNT, OFFSET)),
	V("offset_increment", "64k", "-targetoffset %B", NULL, J(AMOUNT, OFFSET_INCREMENT)),
	IN_JOBS("offset_align", "4k", NO_ZONES, J(BYTES, OFFSET_ALIGN)),
	NOT("zonesize", "64k", NO_ZONES),
	NOT("zonerange", "64k", NO_ZONES),
	NOT("zoneskip", "64k", NO_ZONES),
	NOT("zonemode", "strided", NO_ZONES),

	/* targets */
	V("filename", "T", "-%f", NULL, J(TEXT, FILENAME)),
	V("directory", ".", "-targetdir %v", NULL, J(TEXT, DIRECTORY)),
	V("opendir", "d", "-targets %v", "the files of the directory", J(TEXT, OPENDIR)),
	IN_JOBS("filename_format", "$jobnum", "name each target", J(TEXT, FILENAME_FORMAT)),
	IN_JOBS("nrfiles", "4", FILES, J(COUNT, NRFILES)),
	NOT("openfiles", "4", "all targets are open during a run", J(LEFT_OUT, NONE)),
	NOT("file_service_type", "random", "each target has a queue of its own", J(LEFT_OUT, NONE)),
	SHOWN("numjobs", "4", "@jobs %v", "-targets -%v <name>",
	      "a target for each job; each has the whole amount and the queue depth",
	      J(COUNT, NUMJOBS)),
	V("name", "job", "-id %v", NULL, J(TEXT, NAME)),
	V("description", "text", "-id %v", NULL, J(TEXT, DESCRIPTION)),
	IS("fallocate", "none 0", "", NULL, J(TEXT, FALLOCATE)),
	SHOWN("fallocate", "posix", "@allocate", "-preallocate <bytes>", NULL),
	V("fadvise_hint", "1", "", "xdd gives the kernel no advice"),
	SWITCH("create_on_open", "", ALWAYS),
	SWITCH("create_serialize", "", NO_EFFECT),
	SWITCH("create_fsync", "", NO_EFFECT),
	IN_JOBS("create_only", "1", "write the files with a run of xdd", J(BOOL, CREATE_ONLY)),
	SWITCH("overwrite", "", "xdd writes in place, and does not lay out files before",
	       J(BOOL, OVERWRITE)),
	SWITCH("unlink", "-deletefile", NULL, J(BOOL, UNLINK)),
	SWITCH("unlink_each_loop", "-recreatefiles", NULL, J(CHANGES, NONE)),
	SWITCH("invalidate", "-dropcache", NULL, J(BOOL, INVALIDATE)),
	IN_JOBS("pre_read", "1", "read the target once, with a run before", J(BOOL, PRE_READ)),
	SWITCH("file_append", NULL, "say the end of the file with -startoffset"),
	NOT("lockfile", "exclusive", "targets take no locks"),
	SWITCH("allow_mounted_write", NULL,
	       "xdd never writes to a device in use; -force <device> is for signatures only",
	       J(LEFT_OUT, NONE)),
	SWITCH("readonly", "", "say -op read; xdd has no other safety switch for it"),

	/* engine and queue */
	V("iodepth", "32", "-queuedepth %v", NULL, J(COUNT, IODEPTH)),
	IS("ioengine", "sync vsync pvsync pvsync2", "-ioengine psync", NULL, J(TEXT, IOENGINE)),
	IS("ioengine", "posixaio", "-ioengine libaio", "asynchronous only with -dio"),
	IS("ioengine", "io_uring_cmd", NULL, "-ioengine io_uring or sg is the nearest"),
	IS("ioengine", "net netsplice rdma", NULL, "copy over a network with -endtoend"),
	IS("ioengine",
	   "splice cpuio falloc e4defrag rados rbd http gfapi libhdfs mtd libpmem dev-dax "
	   "external filecreate filestat filedelete libiscsi nbd libcufile ime_psync exec "
	   "xnvme libblkio solarisaio windowsaio binject",
	   NULL, "xdd -ioengine list shows xdd's engines"),
	SWITCH("direct", "-dio", NULL, J(BOOL, DIRECT)),
	IS("buffered", "0 false", "-dio", NULL, J(BOOL, BUFFERED)),
	SWITCH("buffered", "", "xdd is buffered without -dio"),
	SWITCH("atomic", NULL, "xdd does not write with RWF_ATOMIC"),
	SWITCH("hipri", "-ioengine io_uring iopoll", NULL, J(BOOL, HIPRI)),
	SWITCH("fixedbufs", "-ioengine io_uring fixedbufs", NULL, J(BOOL, FIXEDBUFS)),
	SWITCH("registerfiles", "-ioengine io_uring fixedfiles", NULL, J(BOOL, REGISTERFILES)),
	SWITCH("sqthread_poll", "-ioengine io_uring sqpoll", NULL, J(BOOL, SQTHREAD_POLL)),
	NOT("sqthread_poll_cpu", "1", "the kernel chooses the processor", J(LEFT_OUT, NONE)),
	SWITCH("nonvectored", "", ALWAYS),
	V("iodepth_batch", "8", "", "-ioengine io_uring batch <#requests> sets it",
	  J(COUNT, IODEPTH_BATCH)),
	V("iodepth_batch_submit", "8", "", "-ioengine io_uring batch <#requests> sets it",
	  J(COUNT, IODEPTH_BATCH)),
	V("iodepth_batch_complete", "8", "", COMPLETION),
	V("iodepth_batch_complete_min", "1", "", COMPLETION),
	V("iodepth_batch_complete_max", "8", "", COMPLETION),
	NOT("iodepth_low", "8", "xdd keeps the queue depth full"),
	SWITCH("serialize_overlap", NULL, "-ordering storage serial keeps one operation in flight",
	       J(LEFT_OUT, NONE)),
	V("io_submit_mode", "inline", "", "each QThread submits its own operations"),
	SWITCH("thread", "", "QThreads are threads"),

	/* flushes */
	V("fsync", "4", "-flushwrite %v", "with fdatasync(2); -latency has a row of the flushes",
	  J(COUNT, FSYNC)),
	V("fdatasync", "4", "-flushwrite %v", "-latency has a row of the flushes",
	  J(COUNT, FDATASYNC)),
	SWITCH("end_fsync", "-syncwrite", "the flush counts in the rates", J(BOOL, END_FSYNC)),
	SWITCH("fsync_on_close", "-syncwrite", "the flush counts in the rates",
	       J(BOOL, FSYNC_ON_CLOSE)),
	IS("sync", "0 none", "", NULL, J(TEXT, SYNC)),
	IS("sync", "1 sync", "-osync", NULL),
	IS("sync", "dsync", "-odsync", NULL),
	NOT("sync_file_range", "write:8", "-flushwrite <#writes> flushes whole files"),
	NOT("write_barrier", "8", "-flushwrite <#writes> flushes"),

	/* data */
	SWITCH("zero_buffers", "", "zeros are the default", J(BOOL, ZERO_BUFFERS)),
	SWITCH("refill_buffers", "-datapattern random", NULL),
	SWITCH("scramble_buffers", "-datapattern random", NULL),
	V("buffer_compress_percentage", "50", "-datapattern compress %v", NULL,
	  J(COUNT, BUFFER_COMPRESS)),
	V("buffer_compress_chunk", "4k", "", "the unit is 4 KiB"),
	V("dedupe_percentage", "30", "-datapattern dedupe %v", NULL, J(COUNT, DEDUPE)),
	V("buffer_pattern", "0xdeadbeef", "-datapattern hex %x -datapattern replicate", NULL,
	  J(TEXT, BUFFER_PATTERN)),
	IS("verify", "0 null", "", NULL, J(TEXT, VERIFY)),
	{ .word = "verify",
	  .values =
		  "md5 crc64 crc32 crc32c crc32c-intel crc16 crc7 xxhash sha1 sha256 sha512 sha3-224 "
		  "sha3-256 sha3-384 sha3-512 meta pattern",
	  .say = "?-datapattern tagged @verify",
	  .shown = "-datapattern tagged -verify contents",
	  .note = VERIFY_NOTE },
	V("verify_pattern", "0xdeadbeef", "-datapattern hex %x -datapattern replicate", NULL,
	  J(TEXT, VERIFY_PATTERN)),
	SWITCH("do_verify", "", "-verify contents does it", J(BOOL, DO_VERIFY)),
	FLAG("verify_only", "", "say -op read", J(BOOL, VERIFY_ONLY)),
	SWITCH("verify_fatal", "-stoponerror", NULL),
	V("verify_backlog", "64", "", "each read is verified at once"),
	V("verify_async", "2", "", "the QThread that read the data verifies it"),
	V("verify_interval", "4096", "", "each sector of 512 bytes is verified"),
	SWITCH("verify_dump", "", "a miscompare prints the data found and expected"),
	SWITCH("verify_state_save", "", "the data itself says what was written"),
	SWITCH("verify_state_load", "", "the data itself says what was written"),

	/* time and rate */
	V("timeout", "10", "-runtime %v", NULL, J(SECONDS, RUNTIME)),
	{ .word = "time_based",
	  .kind = FOREIGN_SWITCH,
	  .say = "@timebased",
	  .shown = "",
	  .note = "without an amount, a target is gone over until the time is over",
	  J(BOOL, TIME_BASED) },
	V("start_delay", "1", "-startdelay %v", NULL),
	V("ramp_time", "5", "-warmup %v", "-runtime includes it, -timelimit does not",
	  J(SECONDS, RAMP_TIME)),
	V("loops", "3", "-passes %v", "xdd shows the scatter over the passes as well",
	  J(COUNT, LOOPS)),
	V("thinktime", "1000", "-operationdelay %us", NULL, J(USEC, THINKTIME)),
	NOT("thinktime_spin", "100", "-operationdelay sleeps"),
	NOT("thinktime_blocks", "4", "-operationdelay comes after each operation",
	    J(COUNT, THINKTIME_BLOCKS)),
	V("rate", "10m", "-throttle bw %B", NULL, J(BYTES, RATE)),
	V("rate_iops", "1000", "-throttle ops %v", "-latency shows response times as well",
	  J(BYTES, RATE_IOPS)),
	IS("rate_process", "linear", "", ALWAYS, J(TEXT, RATE_PROCESS)),
	IS("rate_process", "poisson", "-throttle poisson", NULL),
	V("rate_min", "1m", "", "a rate that is not reached is reported"),
	V("rate_iops_min", "10", "", "a rate that is not reached is reported"),
	NEAR("latency_target", "2ms", "xdd curve -goal p99=%us", LATENCY_GOAL),
	NEAR("latency_window", "1s", "xdd curve -goal <goal>", LATENCY_GOAL, J(LEFT_OUT, NONE)),
	NEAR("latency_percentile", "99", "xdd curve -goal <goal>", LATENCY_GOAL, J(LEFT_OUT, NONE)),
	V("max_latency", "10000", "-reportthreshold %us", "xdd reports the operation and goes on",
	  J(CHANGES, NONE)),
	NEAR("steadystate", "bw:5%", STEADY),
	NEAR("ss", "bw:5%", STEADY),

	/* processors and memory */
	V("cpus_allowed", "0", "-processor %v", NULL, J(TEXT, CPUS_ALLOWED)),
	IN_JOBS("cpumask", "1", "-processor <processors> takes a list", J(TEXT, CPUMASK)),
	IS("cpus_allowed_policy", "shared", "", "QThreads may run on any processor of -processor"),
	NOT("cpus_allowed_policy", "split", "-roundrobin <#processors> gives each QThread one"),
	V("numa_cpu_nodes", "0", "-processor node%v", NULL, J(TEXT, NUMA_CPU_NODES)),
	IS("numa_mem_policy", "default", "", NULL, J(TEXT, NUMA_MEM_POLICY)),
	IS("numa_mem_policy", "local", "-numa local", NULL),
	{ .word = "numa_mem_policy", .values = "bind:*", .say = "-numa %:", .sample = "bind:0" },
	{ .word = "numa_mem_policy",
	  .values = "interleave:*",
	  .say = "-numa interleave:%:",
	  .sample = "interleave:0" },
	NOT("numa_mem_policy", "prefer:0", "-numa has nodes, local and interleave"),
	NOT("nice", "1", SHELL_DOES, J(LEFT_OUT, NONE)),
	NOT("prio", "1", SHELL_DOES, J(LEFT_OUT, NONE)),
	NOT("prioclass", "2", SHELL_DOES, J(LEFT_OUT, NONE)),
	NOT("cmdprio_percentage", "10", SHELL_DOES),
	NOT("ioscheduler", "none", "set it in /sys/block/<device>/queue/scheduler",
	    J(LEFT_OUT, NONE)),
	NOT("cgroup", "a", SHELL_DOES, J(LEFT_OUT, NONE)),
	NOT("uid", "1000", SHELL_DOES, J(LEFT_OUT, NONE)),
	NOT("gid", "1000", SHELL_DOES, J(LEFT_OUT, NONE)),
	IS("mem", "malloc mmap", "", NULL, J(TEXT, MEM)),
	IS("mem", "shm", "-sharedmemory", NULL),
	IS("mem", "mmaphuge", "-hugepages", NULL),
	IS("mem", "shmhuge", "-sharedmemory -hugepages", NULL),
	IS("iomem", "malloc mmap", "", NULL, J(TEXT, MEM)),
	IS("iomem", "shm", "-sharedmemory", NULL),
	IS("iomem", "mmaphuge", "-hugepages", NULL),
	IS("iomem", "shmhuge", "-sharedmemory -hugepages", NULL),
	V("iomem_align", "4096", "-memalign %v", NULL, J(COUNT, MEM_ALIGN)),
	V("mem_align", "4096", "-memalign %v", NULL, J(COUNT, MEM_ALIGN)),
	V("lockmem", "64m", "", "xdd locks its buffers where the limit allows it"),

	/* errors */
	V("continue_on_error", "all", "", "xdd goes on after errors; -stoponerror ends the run"),
	NOT("ignore_error", "EIO", "xdd counts every error", J(LEFT_OUT, NONE)),
	SWITCH("exitall_on_error", "-stoponerror", NULL, J(BOOL, EXITALL_ON_ERROR)),
	SWITCH("exitall", "-stonewall", "it ends the pass of all targets", J(BOOL, EXITALL)),
	SWITCH("error_dump", "", "xdd prints the first errors; see -maxerrorstoprint"),

	/* groups */
	{ .word = "stonewall",
	  .note = ONE_GROUP,
	  .overrides = true,
	  .in_jobs = true,
	  J(BOOL, STONEWALL) },
	IN_JOBS("wait_for_previous", NULL, ONE_GROUP, J(BOOL, STONEWALL)),
	IN_JOBS("wait_for", "job", ONE_GROUP, J(TEXT, WAIT_FOR)),
	NOT("new_group", NULL, ONE_GROUP, J(LEFT_OUT, NONE)),
	NOT("flow", "8", "-lockstep keeps two targets in step"),
	NOT("exec_prerun", "true", "use the shell"),
	NOT("exec_postrun", "true", "use the shell"),
	SHOWN("client", "hosta", "@hosts %v", "xdd multi -hosts %v --", NULL),
	NOT("server", NULL, MANY_HOSTS),

	/* results */
	SWITCH("group_reporting", "", "the COMBINED line is the sum of all targets"),
	SHOWN("write_bw_log", "log", "@log %v", "-intervals 1 output %v", INTERVALS,
	      J(PREFIX, WRITE_BW_LOG)),
	SHOWN("write_iops_log", "log", "@log %v", "-intervals 1 output %v", INTERVALS,
	      J(PREFIX, WRITE_IOPS_LOG)),
	SHOWN("write_lat_log", "log", "@log %v", "-intervals 1 output %v", INTERVALS,
	      J(PREFIX, WRITE_LAT_LOG)),
	SHOWN("write_hist_log", "log", "@log %v", "-intervals 1 output %v", INTERVALS),
	SHOWN("log_avg_msec", "500", "@period %ms", "-intervals %ms", INTERVALS,
	      J(COUNT, LOG_AVG_MSEC)),
	SHOWN("log_hist_msec", "500", "@period %ms", "-intervals %ms", INTERVALS),
	V("bwavgtime", "500", "", NO_EFFECT),
	V("iopsavgtime", "500", "", NO_EFFECT),
	SWITCH("per_job_logs", "", INTERVALS),
	SWITCH("log_unix_epoch", "", INTERVALS),
	SWITCH("log_max_value", "", INTERVALS),
	SWITCH("log_offset", "", INTERVALS),
	V("percentile_list", "50:99:99.9", "-latency percentiles %,", NULL,
	  J(TEXT, PERCENTILE_LIST)),
	SWITCH("clat_percentiles", "?-latency percentiles 50,90,95,99,99.9", NULL,
	       J(BOOL, CLAT_PERCENTILES)),
	SWITCH("lat_percentiles", "?-latency percentiles 50,90,95,99,99.9", NULL,
	       J(BOOL, LAT_PERCENTILES)),
	SWITCH("slat_percentiles", "", "times are from the submission to the completion"),
	V("significant_figures", "4", "", "percentiles are accurate to 0.4 %"),
	SWITCH("disable_lat", "", NO_EFFECT),
	SWITCH("disable_clat", "", NO_EFFECT),
	SWITCH("disable_slat", "", NO_EFFECT),
	SWITCH("disable_bw_measurement", "", NO_EFFECT),
	SWITCH("gtod_reduce", "", "xdd measures only what its outputs show"),
	V("gtod_cpu", "0", "", "xdd reads the clock of the processor"),
	V("clocksource", "cpu", "", "xdd chooses the clock; -timerinfo shows it"),
	V("unit_base", "8", "", NO_EFFECT),
	V("kb_base", "1024", "", NO_EFFECT, J(COUNT, KB_BASE)),
	V("write_iolog", "log", "-seek save %v", "a list of operations, before the run"),
	NOT("read_iolog", "log", "-seek load <file> reads the lists of -seek save",
	    J(TEXT, READ_IOLOG)),
	NOT("replay_no_stall", "1", "-seek load issues without the recorded times",
	    J(LEFT_OUT, NONE)),
	OVER("output", "out", "-output %v", NULL, J(LINE, NONE)),
	{ .word = "output-format",
	  .values = "json json+",
	  .say = "@json",
	  .shown = "-jsonout <file>",
	  J(LINE, NONE) },
	IS("output-format", "normal", "", NULL, J(LINE, NONE)),
	NOT("output-format", "terse", "-csvout <file> has the results as CSV"),
	NOT("minimal", NULL, "-csvout <file> has the results as CSV", J(LEFT_OUT, NONE)),
	V("status-interval", "1", "-heartbeat %v", NULL, J(LINE, NONE)),
	V("eta", "never", "", "progress is shown on a terminal only; -heartbeat 0 turns it off"),
	V("eta-interval", "1", "", "progress is shown on a terminal only"),
	V("eta-newline", "1", "", "-heartbeat <seconds> lf prints lines"),
	FLAG("parse-only", "-dryrun", NULL, J(LINE, NONE)),
	FLAG("showcmd", "-dryrun", "the report has the command line", J(LINE, NONE)),
	FLAG("enghelp", "-ioengine list", NULL, J(LINE, NONE)),
	FLAG("cmdhelp", "-help", NULL, J(LINE, NONE)),
	FLAG("idle-prof", "", "the columns of -outputformat have the processor time of xdd"),

	/* more words of job files */
	SWITCH("allow_file_create", "", "xdd creates the files of a job that are missing",
	       J(BOOL, ALLOW_FILE_CREATE)),
	SWITCH("append-terse", "", REPORTING),
	SWITCH("bandwidth-log", "", REPORTING),
	SWITCH("block_error_percentiles", "", TRIMS),
	NOT("blocksize_unaligned", "1",
	    "each request of a target has the same size, except in a list (-seek load)"),
	SWITCH("cgroup_nodelete", "", CGROUPS),
	V("cgroup_weight", "1", "", CGROUPS),
	V("cmdprio", "1", "", NO_PRIORITY),
	NOT("cmdprio_bssplit", "4k/50", NO_PRIORITY),
	V("cmdprio_class", "1", "", NO_PRIORITY),
	SWITCH("dedupe_global", NULL, DEDUPE),
	NOT("dedupe_mode", "working_set", DEDUPE, .usual = "repeat"),
	V("dedupe_working_set_percentage", "1", "", DEDUPE),
	V("disable_bw", "1", "", TIMES),
	SWITCH("disk_util", "",
	       "a warning reports other users of the device; iostat(1) shows its utilization"),
	V("exit_what", "1", "", "see exitall"),
	SWITCH("experimental_verify", "", VERIFY_FORM),
	V("fileoffset", "64k", "-startoffset %B", NULL, J(AMOUNT, OFFSET)),
	V("flow_id", "1", "", FLOWS),
	V("flow_sleep", "1", "", FLOWS),
	SWITCH("force_async", "", "xdd does not force asynchronous execution"),
	V("hipri_percentage", "1", "", "iopoll is for all operations"),
	V("hugepage-size", "1", "", "-hugepages uses the default size"),
	SWITCH("ignore_zone_limits", "", NO_ZONED),
	V("job_max_open_zones", "1", "", NO_ZONED),
	SWITCH("latency_run", "",
	       "xdd does not search a queue depth; xdd curve -goal finds the greatest load with a response time"),
	SWITCH("log_alternate_epoch", "", INTERVALS),
	V("log_alternate_epoch_clock_id", "1", "", INTERVALS),
	V("log_compression", "1", "", INTERVALS),
	V("log_compression_cpus", "1", "", INTERVALS),
	V("log_entries", "1", "", INTERVALS),
	V("log_hist_coarseness", "1", "", INTERVALS),
	SWITCH("log_prio", "", INTERVALS),
	SWITCH("log_store_compressed", "", INTERVALS),
	V("log_window_value", "1", "", INTERVALS),
	V("max_open_zones", "1", "", NO_ZONED),
	NOT("merge_blktrace_file", "1", REPLAYS),
	V("merge_blktrace_iters", "1", "", REPLAYS),
	V("merge_blktrace_scalars", "1", "", REPLAYS),
	SWITCH("nowait", "", "xdd does not use RWF_NOWAIT"),
	IN_JOBS("nr_files", "4", FILES, J(COUNT, NRFILES)),
	V("priohint", "1", "", "start xdd with ionice(1) instead"),
	NOT("profile", "tiobench", "xdd has no profiles", J(TEXT, PROFILE)),
	V("rate_cycle", "1", "", RATES_ONLY),
	SWITCH("rate_ignore_thinktime", "", RATES_ONLY),
	V("ratecycle", "1", "", RATES_ONLY),
	V("ratemin", "1", "", RATES_ONLY),
	SWITCH("read_beyond_wp", "", NO_ZONED),
	SWITCH("read_iolog_chunked", "", REPLAYS),
	SWITCH("readfua", "-ioengine sg fua", NULL, J(BOOL, READFUA)),
	V("replay_align", "1", "", REPLAYS),
	V("replay_redirect", "1", "", REPLAYS),
	V("replay_scale", "1", "", REPLAYS),
	SWITCH("replay_skip", "", REPLAYS),
	V("replay_time_scale", "1", "", REPLAYS),
	OVER("runtime", "10", "-runtime %v", NULL, J(SECONDS, RUNTIME)),
	NOT("sg_write_mode", "1", SG_WRITES, .usual = "write"),
	V("ss_dur", "10", "", "see steadystate"),
	V("ss_ramp", "1", "", "see steadystate"),
	OVER("startdelay", "5", "-startdelay %v", NULL, J(TEXT, STARTDELAY)),
	SWITCH("stats", "", TIMES),
	V("steadystate_duration", "10", "", "see steadystate"),
	V("steadystate_ramp_time", "1", "", "see steadystate"),
	V("stream_id", "1", "", SG_WRITES),
	NOT("thinktime_blocks_type", "1", DELAY, .usual = "complete"),
	NOT("thinktime_iotime", "1", DELAY),
	SWITCH("thp", "", "the engine mmap gives the kernel no advice"),
	NOT("trim_backlog", "1", TRIMS),
	V("trim_backlog_batch", "1", "", TRIMS),
	NOT("trim_percentage", "1", TRIMS),
	SWITCH("trim_verify_zero", NULL, TRIMS),
	SWITCH("uncached", "", "use direct=1 (-dio) or -dropcache"),
	SWITCH("unique_filename", "", "is about how fio itself works; xdd has nothing of the kind"),
	SWITCH("userspace_reap", "", "libaio collects by io_getevents"),
	V("verify_async_cpus", "1", "", "each QThread verifies what it has read"),
	V("verify_backlog_batch", "1", "",
	  "what was written is verified after all of it, or while it is read in a mix"),
	SWITCH("verify_header_seed", "", VERIFY_FORM),
	V("verify_offset", "1", "", VERIFY_FORM),
	SWITCH("verify_write_sequence", "", VERIFY_FORM),
	V("write_hint", "1", "", "xdd gives no hints on the life of data"),
	V("write_mode", "1", "", "xdd writes by WRITE only"),
	SWITCH("writefua", "-ioengine sg fua", NULL, J(BOOL, WRITEFUA)),
	V("zone_reset_frequency", "1", "", NO_ZONED),
	V("zone_reset_threshold", "1", "", NO_ZONED),
	V("zonecapacity", "1", "", NO_ZONED),
	{ 0 },
};

const struct foreign_tool foreign_fio = {
	.name = "fio",
	.dashes = "--",
	.equals = true,
	.about =
		"`xdd fio JOB.fio` reads whole job files. Without `--bs` fio issues requests of 4 KiB;\n"
		"xdd issues 128 KiB without `-bs` and `-reqsize`.",
	.rows = rows,
};
