/*
 * Words of fio: options of its command line and of its job files.
 */
#include "plan/foreign_rows.h"

#define DIRECTIONS(word)                                                                \
	IS(word, "read", "-op read", NULL), IS(word, "write", "-op write", NULL),       \
		IS(word, "randread", "-op read -seek random", NULL),                    \
		IS(word, "randwrite", "-op write -seek random", NULL),                  \
		IS(word, "rw readwrite mixed", "?-rwratio 50",                          \
		   "the number is the percentage of reads"),                            \
		IS(word, "randrw", "?-rwratio 50 -seek random",                         \
		   "the number is the percentage of reads"),                            \
		IS(word, "trim", "-op discard", NULL),                                  \
		IS(word, "randtrim", "-op discard -seek random", NULL),                 \
		IS(word, "trimwrite randtrimwrite", NULL,                               \
		   "xdd does not alternate discards and writes; give two targets with " \
		   "different -op")

#define NO_LATENCY_GOAL "xdd does not search for a rate; try several with -throttle"
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
	"xdd writes and verifies in two runs, with -op write and with -op read; no other pattern finds as much"

static const struct foreign rows[] = {
	/* direction and pattern */
	DIRECTIONS("rw"),
	DIRECTIONS("readwrite"),
	IS("op", "randread", "-op read -seek random", NULL),
	IS("op", "randwrite", "-op write -seek random", NULL),
	IS("op", "randtrim", "-op discard -seek random", NULL),
	IS("op", "rw readwrite mixed", "?-rwratio 50", "the number is the percentage of reads"),
	IS("op", "randrw", "?-rwratio 50 -seek random", "the number is the percentage of reads"),
	V("rwmixread", "70", "-rwratio %v", NULL),
	V("rwmixwrite", "30", "-rwratio %-", "the number is the percentage of reads"),
	V("randseed", "42", "-seek seed %v", NULL),
	IS("randrepeat", "0 false", "",
	   "other offsets in each run: give -seek seed another number"),
	SWITCH("randrepeat", "", ALWAYS),
	IS("allrandrepeat", "0 false", "",
	   "other offsets in each run: give -seek seed another number"),
	SWITCH("allrandrepeat", "", ALWAYS),
	SWITCH("norandommap", "", "-seek random once is for each offset once, as fio has it"),
	SWITCH("softrandommap", "", "xdd keeps no map; -seek random once needs no memory"),
	IS("random_distribution", "random", "", "random offsets are uniform"),
	NOT("random_distribution", "zipf:1.2",
	    "-seek zipf 1.2 is the same; there is no other but uniform"),
	V("random_generator", "tausworthe64", "", "xdd has one generator, which covers any range"),
	NOT("percentage_random", "50", "give one target for each pattern"),
	NOT("rw_sequencer", "identical", "-seek none repeats one offset"),
	V("unified_rw_reporting", "1", "", "xdd shows directions and their sum"),

	/* amount and size */
	OVER("bs", "4k", "-bs %v @one", NULL),
	OVER("blocksize", "4k", "-bs %v @one", NULL),
	V("size", "256k", "-bytes %v", "for each target"),
	V("io_size", "256k", "-bytes %v", "for each target"),
	V("io_limit", "256k", "-bytes %v", "for each target"),
	V("number_ios", "100", "-numreqs %v", "for each target"),
	V("filesize", "1M", "-pretruncate %v", "for files that are written"),
	V("bssplit", "4k/60:64k/40", "-reqsize mix %/",
	  "exactly so in every cycle of operations; the same for reads and writes"),
	NOT("bsrange", "4k-64k", ONE_SIZE),
	NOT("blocksize_range", "4k-64k", ONE_SIZE),
	NOT("bs_unaligned", NULL, ONE_SIZE),
	NOT("bs_is_seq_rand", "1", ONE_SIZE),
	V("ba", "4k", "", "random offsets are multiples of the request size"),
	V("blockalign", "4k", "", "random offsets are multiples of the request size"),
	NOT("fill_device", "1", "without an amount, -timelimit writes as far as its time goes"),
	NOT("fill_fs", "1", "without an amount, -timelimit writes as far as its time goes"),
	V("offset", "64k", "-startoffset %B", NULL),
	V("offset_increment", "64k", "-targetoffset %B", NULL),
	NOT("offset_align", "4k", NO_ZONES),
	NOT("zonesize", "64k", NO_ZONES),
	NOT("zonerange", "64k", NO_ZONES),
	NOT("zoneskip", "64k", NO_ZONES),
	NOT("zonemode", "strided", NO_ZONES),

	/* targets */
	V("filename", "T", "-%f", NULL),
	V("directory", ".", "-targetdir %v", NULL),
	V("opendir", "d", "-targets %v", "the files of the directory"),
	NOT("filename_format", "$jobnum", "name each target"),
	NOT("nrfiles", "4",
	    "-targets 4 <name>%d stands for four files, each with a queue of its own"),
	NOT("openfiles", "4", "all targets are open during a run"),
	NOT("file_service_type", "random", "each target has a queue of its own"),
	SHOWN("numjobs", "4", "@jobs %v", "-targets -%v <name>",
	      "a target for each job; each has the whole amount and the queue depth"),
	V("name", "job", "-id %v", NULL),
	V("description", "text", "-id %v", NULL),
	IS("fallocate", "none 0", "", NULL),
	SHOWN("fallocate", "posix", "@allocate", "-preallocate <bytes>", NULL),
	V("fadvise_hint", "1", "", "xdd gives the kernel no advice"),
	SWITCH("create_on_open", "", ALWAYS),
	SWITCH("create_serialize", "", NO_EFFECT),
	SWITCH("create_fsync", "", NO_EFFECT),
	NOT("create_only", "1", "write the files with a run of xdd"),
	SWITCH("overwrite", "", "xdd writes in place, and does not lay out files before"),
	SWITCH("unlink", "-deletefile", NULL),
	SWITCH("unlink_each_loop", "-recreatefiles", NULL),
	SWITCH("invalidate", "-dropcache", NULL),
	NOT("pre_read", "1", "read the target once, with a run before"),
	SWITCH("file_append", NULL, "say the end of the file with -startoffset"),
	V("lockfile", "none", "", "targets take no locks"),
	SWITCH("allow_mounted_write", NULL,
	       "xdd never writes to a device in use; -force <device> is for signatures only"),
	SWITCH("readonly", "", "say -op read; xdd has no other safety switch for it"),

	/* engine and queue */
	V("iodepth", "32", "-queuedepth %v", NULL),
	IS("ioengine", "sync vsync pvsync pvsync2", "-ioengine psync", NULL),
	IS("ioengine", "posixaio", "-ioengine libaio", "asynchronous only with -dio"),
	IS("ioengine", "io_uring_cmd", NULL, "-ioengine io_uring or sg is the nearest"),
	IS("ioengine", "net netsplice rdma", NULL, "copy over a network with -endtoend"),
	IS("ioengine",
	   "splice cpuio falloc e4defrag rados rbd http gfapi libhdfs mtd libpmem dev-dax "
	   "external filecreate filestat filedelete libiscsi nbd libcufile ime_psync exec "
	   "xnvme libblkio solarisaio windowsaio binject",
	   NULL, "xdd -ioengine list shows those of xdd"),
	SWITCH("direct", "-dio", NULL),
	IS("buffered", "0 false", "-dio", NULL),
	SWITCH("buffered", "", "xdd is buffered without -dio"),
	SWITCH("atomic", NULL, "xdd does not write with RWF_ATOMIC"),
	SWITCH("hipri", "-ioengine io_uring iopoll", NULL),
	SWITCH("fixedbufs", "-ioengine io_uring fixedbufs", NULL),
	SWITCH("registerfiles", "-ioengine io_uring fixedfiles", NULL),
	SWITCH("sqthread_poll", "-ioengine io_uring sqpoll", NULL),
	NOT("sqthread_poll_cpu", "1", "the kernel chooses the processor"),
	SWITCH("nonvectored", "", ALWAYS),
	V("iodepth_batch", "8", "", "-ioengine io_uring batch <#requests> sets it"),
	V("iodepth_batch_submit", "8", "", "-ioengine io_uring batch <#requests> sets it"),
	V("iodepth_batch_complete", "8", "", COMPLETION),
	V("iodepth_batch_complete_min", "1", "", COMPLETION),
	V("iodepth_batch_complete_max", "8", "", COMPLETION),
	V("iodepth_low", "8", "", COMPLETION),
	SWITCH("serialize_overlap", NULL, "-ordering storage serial keeps one operation in flight"),
	V("io_submit_mode", "inline", "", "each QThread submits its own operations"),
	SWITCH("thread", "", "QThreads are threads"),

	/* flushes */
	V("fsync", "4", "-flushwrite %v", "with fdatasync(2); -latency has a row of the flushes"),
	V("fdatasync", "4", "-flushwrite %v", "-latency has a row of the flushes"),
	SWITCH("end_fsync", "-syncwrite", "the flush counts in the rates"),
	SWITCH("fsync_on_close", "-syncwrite", "the flush counts in the rates"),
	IS("sync", "0 none", "", NULL),
	IS("sync", "1 sync", "-osync", NULL),
	IS("sync", "dsync", "-odsync", NULL),
	NOT("sync_file_range", "write:8", "-flushwrite <#writes> flushes whole files"),
	NOT("write_barrier", "8", "-flushwrite <#writes> flushes"),

	/* data */
	SWITCH("zero_buffers", "", "zeros are the default"),
	SWITCH("refill_buffers", "-datapattern random", NULL),
	SWITCH("scramble_buffers", "-datapattern random", NULL),
	V("buffer_compress_percentage", "50", "-datapattern compress %v", NULL),
	V("buffer_compress_chunk", "4k", "", "the unit is 4 KiB"),
	V("dedupe_percentage", "30", "-datapattern dedupe %v", NULL),
	V("buffer_pattern", "0xdeadbeef", "-datapattern hex %x -datapattern replicate", NULL),
	IS("verify", "0 null", "", NULL),
	{ .word = "verify",
	  .values =
		  "md5 crc64 crc32 crc32c crc32c-intel crc16 crc7 xxhash sha1 sha256 sha512 sha3-224 "
		  "sha3-256 sha3-384 sha3-512 meta pattern",
	  .say = "?-datapattern tagged @verify",
	  .shown = "-datapattern tagged -verify contents",
	  .note = VERIFY_NOTE },
	V("verify_pattern", "0xdeadbeef", "-datapattern hex %x -datapattern replicate", NULL),
	SWITCH("do_verify", "", "-verify contents does it"),
	FLAG("verify_only", "", "say -op read"),
	SWITCH("verify_fatal", "-stoponerror", NULL),
	V("verify_backlog", "64", "", "each read is verified at once"),
	V("verify_async", "2", "", "the QThread that read the data verifies it"),
	V("verify_interval", "4096", "", "each sector of 512 bytes is verified"),
	SWITCH("verify_dump", "", "a miscompare prints the data found and expected"),
	SWITCH("verify_state_save", "", "the data itself says what was written"),
	SWITCH("verify_state_load", "", "the data itself says what was written"),

	/* time and rate */
	V("timeout", "10", "-runtime %v", NULL),
	{ .word = "time_based",
	  .kind = FOREIGN_SWITCH,
	  .say = "@timebased",
	  .shown = "",
	  .note = "without an amount, a target is gone over until the time is over" },
	V("start_delay", "1", "-startdelay %v", NULL),
	V("ramp_time", "5", "-warmup %v", "-runtime includes it, -timelimit does not"),
	V("loops", "3", "-passes %v", "xdd shows the scatter over the passes as well"),
	V("thinktime", "1000", "-operationdelay %us", NULL),
	NOT("thinktime_spin", "100", "-operationdelay sleeps"),
	NOT("thinktime_blocks", "4", "-operationdelay comes after each operation"),
	V("rate", "10m", "-throttle bw %B", NULL),
	V("rate_iops", "1000", "-throttle ops %v", "-latency shows response times as well"),
	IS("rate_process", "linear", "", ALWAYS),
	IS("rate_process", "poisson", "-throttle poisson", NULL),
	V("rate_min", "1m", "", "a rate that is not reached is reported"),
	V("rate_iops_min", "10", "", "a rate that is not reached is reported"),
	NOT("latency_target", "2ms", NO_LATENCY_GOAL),
	NOT("latency_window", "1s", NO_LATENCY_GOAL),
	NOT("latency_percentile", "99", NO_LATENCY_GOAL),
	V("max_latency", "10000", "-reportthreshold %us", "xdd reports the operation and goes on"),
	NOT("steadystate", "bw:5%",
	    "-passes until <percent> runs passes until the mean is certain"),
	NOT("ss", "bw:5%", "-passes until <percent> runs passes until the mean is certain"),

	/* processors and memory */
	V("cpus_allowed", "0", "-processor %v", NULL),
	NOT("cpumask", "1", "-processor <processors> takes a list"),
	IS("cpus_allowed_policy", "shared", "", "QThreads may run on any processor of -processor"),
	NOT("cpus_allowed_policy", "split", "-roundrobin <#processors> gives each QThread one"),
	V("numa_cpu_nodes", "0", "-processor node%v", NULL),
	NOT("numa_mem_policy", "bind:0", "-numa <nodes> says where buffers come from"),
	NOT("nice", "1", SHELL_DOES),
	NOT("prio", "1", SHELL_DOES),
	NOT("prioclass", "2", SHELL_DOES),
	NOT("cmdprio_percentage", "10", SHELL_DOES),
	NOT("ioscheduler", "none", "set it in /sys/block/<device>/queue/scheduler"),
	NOT("cgroup", "a", SHELL_DOES),
	NOT("uid", "1000", SHELL_DOES),
	NOT("gid", "1000", SHELL_DOES),
	IS("mem", "malloc mmap", "", NULL),
	IS("mem", "shm", "-sharedmemory", NULL),
	IS("mem", "mmaphuge", "-hugepages", NULL),
	IS("mem", "shmhuge", "-sharedmemory -hugepages", NULL),
	IS("iomem", "malloc mmap", "", NULL),
	IS("iomem", "shm", "-sharedmemory", NULL),
	IS("iomem", "mmaphuge", "-hugepages", NULL),
	IS("iomem", "shmhuge", "-sharedmemory -hugepages", NULL),
	V("iomem_align", "4096", "-memalign %v", NULL),
	V("mem_align", "4096", "-memalign %v", NULL),
	V("lockmem", "64m", "", "xdd locks its buffers where the limit allows it"),

	/* errors */
	V("continue_on_error", "all", "", "xdd goes on after errors; -stoponerror ends the run"),
	NOT("ignore_error", "EIO", "xdd counts every error"),
	SWITCH("exitall_on_error", "-stoponerror", NULL),
	NOT("exitall", NULL, "-stoptrigger ends a target when another has ended"),
	SWITCH("error_dump", "", "xdd prints the first errors; see -maxerrorstoprint"),

	/* groups */
	{ .word = "stonewall", .note = ONE_GROUP, .overrides = true },
	NOT("wait_for_previous", NULL, ONE_GROUP),
	NOT("wait_for", "job", ONE_GROUP),
	NOT("new_group", NULL, ONE_GROUP),
	NOT("flow", "8", "-lockstep keeps two targets in step"),
	NOT("exec_prerun", "true", "use the shell"),
	NOT("exec_postrun", "true", "use the shell"),
	NOT("client", "host",
	    "copy between hosts with -endtoend; start several by ssh and -starttime"),
	NOT("server", NULL,
	    "copy between hosts with -endtoend; start several by ssh and -starttime"),

	/* results */
	SWITCH("group_reporting", "", "the COMBINED line is the sum of all targets"),
	SHOWN("write_bw_log", "log", "@log %v", "-intervals 1 output %v", INTERVALS),
	SHOWN("write_iops_log", "log", "@log %v", "-intervals 1 output %v", INTERVALS),
	SHOWN("write_lat_log", "log", "@log %v", "-intervals 1 output %v", INTERVALS),
	SHOWN("write_hist_log", "log", "@log %v", "-intervals 1 output %v", INTERVALS),
	SHOWN("log_avg_msec", "500", "@period %ms", "-intervals %ms", INTERVALS),
	SHOWN("log_hist_msec", "500", "@period %ms", "-intervals %ms", INTERVALS),
	V("bwavgtime", "500", "", NO_EFFECT),
	V("iopsavgtime", "500", "", NO_EFFECT),
	SWITCH("per_job_logs", "", INTERVALS),
	SWITCH("log_unix_epoch", "", INTERVALS),
	SWITCH("log_max_value", "", INTERVALS),
	SWITCH("log_offset", "", INTERVALS),
	V("percentile_list", "50:99:99.9", "-latency percentiles %,", NULL),
	SWITCH("clat_percentiles", "?-latency percentiles 50,90,95,99,99.9", NULL),
	SWITCH("lat_percentiles", "?-latency percentiles 50,90,95,99,99.9", NULL),
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
	V("kb_base", "1024", "", NO_EFFECT),
	V("write_iolog", "log", "-seek save %v", "a list of operations, before the run"),
	NOT("read_iolog", "log", "-seek load <file> reads the lists of -seek save"),
	NOT("replay_no_stall", "1", "-seek load issues without the recorded times"),
	OVER("output", "out", "-output %v", NULL),
	{ .word = "output-format",
	  .values = "json json+",
	  .say = "@json",
	  .shown = "-jsonout <file>" },
	IS("output-format", "normal", "", NULL),
	NOT("output-format", "terse", "-csvout <file> has the results as CSV"),
	NOT("minimal", NULL, "-csvout <file> has the results as CSV"),
	V("status-interval", "1", "-heartbeat %v", NULL),
	V("eta", "never", "", "progress is shown on a terminal only; -heartbeat 0 turns it off"),
	V("eta-interval", "1", "", "progress is shown on a terminal only"),
	V("eta-newline", "1", "", "-heartbeat <seconds> lf prints lines"),
	FLAG("parse-only", "-dryrun", NULL),
	FLAG("showcmd", "-dryrun", "the report has the command line"),
	FLAG("enghelp", "-ioengine list", NULL),
	FLAG("cmdhelp", "-help", NULL),
	FLAG("idle-prof", "", "the columns of -outputformat have the processor time of xdd"),
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
