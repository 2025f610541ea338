/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of dd, sgp_dd, sgpdd-survey, IOR, xdisk and elbencho, and those that many tools share.
 */
#include "plan/foreign_rows.h"

#define OVER_FLAG(word_, say_, note_)                                            \
	{                                                                        \
		.word = word_, .kind = FOREIGN_FLAG, .say = say_, .note = note_, \
		.overrides = true,                                               \
	}

/* Of the tool where its other words are, and xdd has nothing like it. */
#define OVER_NOT_FLAG(word_, note_)                                                   \
	{                                                                             \
		.word = word_, .kind = FOREIGN_FLAG, .note = note_, .overrides = true \
	}

#define ONE_WAY "a run reads or writes: take one of if= and of=, or copy with xddcp"
#define BLOCKS "in blocks"

#define DD_FILES                                                                   \
	IS("if", "/dev/zero /dev/null", "", "zeros are the default"),              \
		IS("if", "/dev/urandom /dev/random", "-datapattern random", NULL), \
		SHOWN("if", "T", "@from %v", "-op read -target %v", ONE_WAY),      \
		IS("of", "/dev/null .", "", "xdd keeps nothing of what it reads"), \
		SHOWN("of", "new", "@to %v", "-op write -target %v", ONE_WAY),     \
		V("count", "4", "-numreqs %v @512", NULL),                         \
		V("skip", "2", "-startoffset %v @512", BLOCKS),                    \
		V("seek", "2", "-startoffset %v @512", BLOCKS)

static const struct foreign dd_rows[] = {
	DD_FILES,
	V("bs", "64k", "-bs %v @one", NULL),
	V("ibs", "64k", "-bs %v @one", NULL),
	V("obs", "64k", "-bs %v @one", NULL),
	V("iseek", "2", "-startoffset %v @512", BLOCKS),
	V("oseek", "2", "-startoffset %v @512", BLOCKS),
	IS("iflag", "direct", "-dio", NULL),
	IS("iflag", "nocache", "-dropcache", NULL),
	IS("iflag", "fullblock nofollow noatime", "", "it has no effect on what is measured"),
	IS("iflag", "sync dsync", "", "it has no effect on reads"),
	IS("oflag", "direct", "-dio", NULL),
	IS("oflag", "sync", "-osync", NULL),
	IS("oflag", "dsync", "-odsync", NULL),
	IS("oflag", "nocache", "-dropcache", NULL),
	IS("oflag", "append", NULL, "say the end of the file with -startoffset"),
	IS("conv", "fsync fdatasync", "-syncwrite", "the flush counts in the rates"),
	IS("conv", "notrunc", "", "xdd writes in place; -pretruncate 0 empties the file before"),
	IS("conv", "noerror sync", "", "xdd goes on after errors; -stoponerror ends the run"),
	IS("conv", "sparse excl nocreat", NULL, NULL),
	IS("status", "progress", "-heartbeat 1", "on a terminal xdd shows its progress by itself"),
	IS("status", "none noxfer", "", "results go to standard output"),
	{ 0 },
};

const struct foreign_tool foreign_dd = {
	.name = "dd",
	.dashes = "",
	.equals = true,
	.about =
		"dd reads and writes; a run of xdd does one of both. Without `bs=` dd issues requests of "
		"512 bytes.",
	.rows = dd_rows,
};

static const struct foreign sgp_dd_rows[] = {
	V("bpt", "128", "-reqsize %v @512", BLOCKS),
	V("thr", "4", "-queuedepth %v", NULL),
	SWITCH("dio", "-dio", NULL),
	SWITCH("odir", "-dio", NULL),
	SWITCH("coe", "", "xdd goes on after errors; -stoponerror ends the run"),
	SWITCH("time", "", "xdd always prints times"),
	SWITCH("sync", "-syncwrite", "SYNCHRONIZE CACHE with -ioengine sg"),
	SWITCH("blk_sgio", "-ioengine sg", NULL),
	SWITCH("fua", "-ioengine sg fua", NULL),
	SWITCH("dpo", "-ioengine sg dpo", NULL),
	V("cdbsz", "16", "", "xdd chooses the command by the address"),
	V("deb", "1", "", "-debug shows what happens in a run"),
	{ 0 },
};

const struct foreign_tool foreign_sgp_dd = {
	.name = "sgp_dd",
	.dashes = "",
	.equals = true,
	.about = "sgp_dd and sg_dd, of the sg3-utils: the words of dd, and these.",
	.rows = sgp_dd_rows,
};

#define TWO_PHASES "-w and -r together are -op write -readback, which also verifies"

#define NO_MPIIO "files are accessed with POSIX calls"

static const struct foreign ior_rows[] = {
	FLAG("w", "-op write", TWO_PHASES),
	FLAG("r", "-op read", TWO_PHASES),
	V("t", "64k", "-bs %v @one", "the transfer size of IOR is the request size"),
	OVER("b", "256k", "-blockperrank %v", "for each target; with a file for each it is -bytes"),
	{ .word = "s",
	  .sample = "4",
	  .say = "-segments %v ?-blockperrank 1m",
	  .shown = "-segments %v -blockperrank 1m",
	  .note = "a block has 1 MiB unless -b says otherwise; -s is -seek",
	  .overrides = true },
	OVER("o", "T", "-target %v", NULL),
	IS("a", "POSIX posix", "", NULL),
	NOT("a", "MPIIO",
	    "files are accessed with POSIX calls; -rank and -ranks are for several processes"),
	FLAG("e", "-syncwrite",
	     "the flush counts in the rates; the column FLUSHLATMEAN has its time"),
	FLAG("Y", "-flushwrite 1",
	     "with fdatasync(2), which counts in the rates; -osync makes it part of each write"),
	FLAG("z", "-seek random once", NULL),
	{ .word = "F",
	  .kind = FOREIGN_FLAG,
	  .say = "@perfile",
	  .shown = "-targets <n> <name>... -bytes <bytes>",
	  .note = "a file for each task, with its number after the name" },
	{ .word = "C",
	  .kind = FOREIGN_FLAG,
	  .say = "@next",
	  .shown = "-reorder",
	  .note = "for reads of a file that tasks share" },
	{ .word = "Z",
	  .kind = FOREIGN_FLAG,
	  .say = "@any",
	  .shown = "-reorder random",
	  .note = "for reads of a file that tasks share" },
	SHOWN("X", "7", "@seed %v", "-reorder random %v", "with -Z"),
	SHOWN("Q", "1", "@distance %v", "-reorder %v", "with -C; for -Z it has no effect"),
	FLAG("B", "-dio", NULL),
	FLAG("posix.odirect", "-dio", NULL),
	V("i", "3", "-passes %v", "with -readback all writes come before the reads"),
	IS("D", "0", "", "0 is no limit"),
	IS("T", "0", "", "0 is no limit"),
	V("D", "10", "-stonewall %v", "all targets stop together, and both rates are shown"),
	V("T", "1", "-runtime %m", NULL),
	V("M", "10%", "-hogmemory %v", "by each process; -M is for all tasks of a node together"),
	V("d", "1", "-passdelay %v", NULL),
	V("G", "42", "-seek seed %v", NULL),
	NOT("J", "4096", "for HDF5; -memalign aligns buffers"),
	OVER_NOT_FLAG("p", "-preallocate <bytes>"),
	OVER_NOT_FLAG("V", NO_MPIIO),
	OVER_FLAG("v", "-verbose", NULL),
	FLAG("vv", "-verbose", NULL),
	FLAG("x", NULL, "the rest of a short transfer is always transferred"),
	SHOWN("N", "4", "@tasks %v", "-targets -%v <name>",
	      "a target for each task; -ranks is for processes"),
	FLAG("k", "", "files stay; -deletefile removes them"),
	FLAG("E", "", "files are used as they are"),
	FLAG("g", "", "passes begin together, once all targets are open; -nobarrier ends that"),
	FLAG("m", "-createnewfiles", NULL),
	OVER_FLAG("q", "-stoponerror", NULL),
	{ .word = "R",
	  .kind = FOREIGN_FLAG,
	  .say = "?-datapattern tagged @verify",
	  .shown = "-datapattern tagged -verify contents",
	  .note = "-op write with -readback writes, and then reads and verifies" },
	{ .word = "W",
	  .kind = FOREIGN_FLAG,
	  .say = "?-datapattern tagged @verify",
	  .shown = "-datapattern tagged -verify contents",
	  .note = "-op write with -readback writes, and then reads and verifies" },
	FLAG("u", NULL, "name each target, or -targetdir target 0 <directory>"),
	V("A", "7", "-id %v", NULL),
	V("j", "3", "-deskew", "the slowest target beside the fastest"),
	IS("l", "offset o", "-datapattern sequenced", NULL),
	IS("l", "incompressible i", "-datapattern random", NULL),
	IS("l", "timestamp t", "-datapattern tagged", NULL),
	FLAG("K", "", "files stay; -deletefile removes them"),
	FLAG("c", NULL, NO_MPIIO),
	FLAG("H", NULL, NO_MPIIO),
	V("U", "hints", NULL, NO_MPIIO),
	FLAG("S", NULL, NO_MPIIO),
	FLAG("P", NULL, NO_MPIIO),
	FLAG("I", NULL, NO_MPIIO),
	FLAG("n", NULL, NO_MPIIO),
	V("f", "script", NULL, "-setup reads a file; each of its [sections] is a run"),
	V("O", "checkRead=1", NULL, "say each directive in xdd's words"),
	{ 0 },
};

const struct foreign_tool foreign_ior = {
	.name = "IOR",
	.dashes = "-",
	.about =
		"A process of xdd has a target for each task of IOR; -rank and -ranks make several processes one\n"
		"run. Letters that are options of xdd (-b, -o, -p, -q, -s, -v, -V) are taken as IOR's only beside other\n"
		"words of IOR. The command line that xdd proposes has the values that IOR has without a word: transfers of\n"
		"256 KiB, blocks of 1 MiB, and without -w, -r, -W and -R a write that is read back. Files stay.",
	.rows = ior_rows,
};

#define ONE_PASS "xdd goes once over the data unless there is a time limit"

static const struct foreign xdisk_rows[] = {
	IS("S", "1", "@once", ONE_PASS),
	IS("S", "0", "", "sequential access is the default"),
	FLAG("S", "", "sequential access is the default"),
	IS("R", "1", "-seek random once @once", NULL),
	IS("R", "0", "-seek random", NULL),
	FLAG("R", "-seek random", NULL),
	SHOWN("C", "256k", "-op write @create %v", "-op write -bytes %v",
	      "with -R say -seek random once: no holes remain"),
	IS("r", "100", "-op read", NULL),
	IS("r", "0", "-op write", NULL),
	V("r", "80", "-rwratio %v", NULL),
	OVER("b", "16k", "-bs %v @one", "the request size"),
	SHOWN("M", "4", "@tasks %v", "-targets -%v <name>",
	      "a target for each process; -targetoffset gives each its own range"),
	V("f", "T", "-%l", NULL),
	V("F", "list", "-targets @%v", NULL),
	IS("O", "D", "-dio", NULL),
	IS("O", "S", "-osync", NULL),
	IS("O", "W", "-odsync", NULL),
	IS("O", "R", "-orsync", NULL),
	IS("O", "SD DS", "-dio -osync", NULL),
	IS("O", "WD DW", "-dio -odsync", NULL),
	IS("O", "RW WR", "-odsync -orsync", NULL),
	IS("O", "f", "-flushwrite 1", "with fdatasync(2)"),
	IS("O", "C", NULL, "of AIX; -dio is the nearest"),
	V("t", "30", "-timelimit %v", NULL),
	V("w", "5", "-warmup %v", "-timelimit begins after it"),
	V("i", "5", "-intervals %v", NULL),
	V("z", "80", "-snooze %v", NULL),
	V("A", "4", "-queuedepth %v", "of each target"),
	OVER("s", "1G", "-range %B", "xdd knows the size of devices"),
	FLAG("c", "-verbose", "with -dio it shows the requests that the device counted"),
	IS("x", "r w s", "-latency histogram", "reads and writes have rows of their own"),
	OVER_FLAG("q", "", "-verbose shows more"),
	FLAG("Q", "", "-csvout appends to a file, with one header"),
	FLAG("P", NULL, "-csvout begins a new file with a header"),
	V("T", "text", "-id %v", "at the start of the results, and the column ID"),
	V("l", "de_DE", NULL, "numbers always have a decimal point"),
	V("L", "log", "-csvout %v", "a line for each run; -output writes the text to a file"),
	FLAG("d", "-verbose", NULL),
	{ .word = "V",
	  .kind = FOREIGN_FLAG,
	  .say = "@csv",
	  .shown = "-csvout -",
	  .note = "a line with the values for spreadsheets",
	  .overrides = true },
	SHOWN("n", "hosta,hostb", "@hosts %v", "xdd multi -hosts %, --", NULL),
	SHOWN("N", "list", "@hostfile %v", "xdd multi -hostfile %v --", NULL),
	{ 0 },
};

const struct foreign_tool foreign_xdisk = {
	.name = "xdisk",
	.dashes = "-",
	.about =
		"A value may follow its letter without a blank. Letters that are options of xdd (-b, -q, -s, -V) are taken\n"
		"as xdisk's only beside other words of xdisk. The command line that xdd proposes has the values that xdisk has\n"
		"without a word: requests of 4 KiB and 5 seconds; without -r it reads. Processes that share a file get\n"
		"a part of it each.",
	.rows = xdisk_rows,
};

#define IN_LISTS "xdd sweep takes all values of a range or a list"

static const struct foreign sgpdd_survey_rows[] = {
	V("size", "1", "-mbytes %v", "of each target; sgpdd-survey divides it among the regions"),
	V("crglo", "1", "", IN_LISTS),
	SHOWN("crghi", "4", "@tasks %v", "-targets -%v <name>", "-targetoffset 25% for 4 regions"),
	V("thrlo", "1", "?-queuedepth %v", IN_LISTS),
	V("thrhi", "16", "-queuedepth %v", "of each region; " IN_LISTS),
	V("rszlo", "1024", "?-reqsize %vk", IN_LISTS),
	V("rszhi", "1024", "-reqsize %vk", IN_LISTS),
	V("scsidevs", "T", "-%l -dio", "-ioengine sg sends SCSI commands"),
	V("rawdevs", "T", "-%l -dio", NULL),
	V("tests_str", "write", "-op %v", IN_LISTS),
	{ 0 },
};

const struct foreign_tool foreign_sgpdd_survey = {
	.name = "sgpdd-survey",
	.dashes = "",
	.equals = true,
	.about =
		"Variables that the script of the Lustre I/O kit takes from its environment. The survey is a command\n"
		"of xdd sweep: see recipe 42 and [from-others.md](from-others.md#sgpdd-survey).",
	.rows = sgpdd_survey_rows,
};

#define NO_FILES "each target is a file, open during the whole run: -targets <n> <name>%d"

static const struct foreign elbencho_rows[] = {
	FLAG("w", "-op write", TWO_PHASES),
	FLAG("r", "-op read", TWO_PHASES),
	SHOWN("t", "2", "@tasks %v", "-targets -%v <name>",
	      "a target for each thread, with its part"),
	SHOWN("threads", "2", "@tasks %v", "-targets -%v <name>",
	      "a target for each thread, with its part", .overrides = true),
	OVER("s", "256k", "-bytes %v", "of a file; threads have a part each"),
	OVER("b", "64k", "-bs %v @one", NULL),
	NOT("n", "2", NO_FILES),
	NOT("N", "10", NO_FILES),
	FLAG("d", "", "directories must be there"),
	FLAG("mkdirs", "", "directories must be there"),
	FLAG("F", "-deletefile", NULL),
	FLAG("D", NULL, "directories stay"),
	FLAG("deldirs", NULL, "directories stay"),
	FLAG("direct", "-dio", NULL),
	FLAG("write", "-op write", NULL),
	FLAG("read", "-op read", NULL),
	V("block", "64k", "-bs %v @one", NULL),
	OVER_FLAG("rand", "-seek random", NULL),
	V("randamount", "256k", "-seek random -bytes %v", "for each target"),
	FLAG("sync", "-syncwrite", "one flush after each pass; -osync: in each write"),
	FLAG("lat", "?-latency percentiles 50,90,95,99,99.9", NULL),
	FLAG("latpercent", "?-latency percentiles 50,90,95,99,99.9", NULL),
	FLAG("lathisto", "-latency histogram", NULL),
	V("rwmixpct", "70", "-rwratio %v", NULL),
	FLAG("infloop", "@timebased", "-timelimit or -runtime repeats the work"),
	V("limitread", "10m", "-throttle bw %B", NULL),
	V("limitwrite", "10m", "-throttle bw %B", NULL),
	V("csvfile", "results", "-csvout %v", NULL),
	V("jsonfile", "results", "-jsonout %v", NULL),
	V("trunctosize", "256k", "-pretruncate %v", NULL),
	FLAG("trunc", "-pretruncate 0", NULL),
	SHOWN("preallocfile", NULL, "@allocate", "-preallocate <bytes>", NULL),
	FLAG("delfiles", "-deletefile", NULL),
	V("cores", "0", "-processor %v", NULL),
	V("zones", "0", "-processor node%v", NULL),
	SHOWN("hosts", "a,b", "@hosts %v", "xdd multi -hosts %v --", NULL),
	SHOWN("hostsfile", "list", "@hostfile %v", "xdd multi -hostfile %v --", NULL),
	NOT("files", "4", NO_FILES),
	NOT("dirs", "4", NO_FILES),
	FLAG("nolive", "-heartbeat 0", NULL),
	V("liveint", "1000", "-heartbeat %ms", NULL),
	{ 0 },
};

const struct foreign_tool foreign_elbencho = {
	.name = "elbencho",
	.dashes = "--",
	.about =
		"Its `--size`, `--iodepth` and others mean what fio means by them. Letters are taken as its own where `--direct` has no\n"
		"value, or `-n` and `-N` are together, or beside other words of it. Its paths are targets: of a directory\n"
		"that is written each thread has a file.",
	.rows = elbencho_rows,
};

#define NO_NAMES                                                                              \
	"xdd reads, writes and discards data; +OPENTIME and +CLOSETIME are columns with the " \
	"times to open and close a target"
#define NO_ZONES "-startoffset and -bytes keep a run within an extent"
#define OWN_LISTS "-seek load <file>", .note = "a list of -seek save; without recorded times"
#define NO_TRACES "xdd reads no traces of other programs; -seek load <file> takes its own lists"
#define ANY_ORDER \
	"-seek load <file>", .note = "tac(1) reverses the lines of a list that -seek save wrote"
#define NETWORK "xddcp /dev/zero <host>:/dev/null 10G", .note = "it measures the network alone"
#define BURSTS                                                                                    \
	"-throttle ops <rate> poisson", .note = "operations come at random times, several close " \
						"together; there is no pause after every so many"
#define FILES_ONLY "targets are files, block devices and SCSI devices"
#define HOST_MEMORY "buffers are in the memory of the host"
#define POSIX_CALLS \
	"files are accessed with POSIX calls; -mpi makes the processes of mpirun one run"
#define COPIES "xddcp <from> <to>", .note = "copies files and trees, also between hosts"
#define COMPARES "xddcp -k <one> <other>", .note = "compares files or trees, and copies nothing"
#define SURFACE                                                                           \
	"xdd -op write -target <device> -readback",                                       \
		.note = "writes all and compares it, which destroys what was there; -op " \
			"read finds what cannot be read"
#define NO_CRASH                                                                         \
	"nothing records what was acknowledged before a crash; -datapattern tagged and " \
	"-verify find what is missing or old"
#define NO_ADVICE "xdd gives the kernel no advice; -dropcache empties the page cache"
#define NO_HEALTH "use smartctl or nvme smart-log"
#define STRIDE "-seek interleave <factor>", .note = "every <factor>th request"
#define HOT_SPOTS "-seek zipf <theta>"
#define TAGS "-datapattern tagged -verify contents"
#define TAGS_TELL "tags tell lost, torn and old sectors"
#define PICTURES "xdd report <results.json>", .note = "a page of HTML with pictures"
#define GATE "xdd compare -failif <limits> <old.json> <new.json>"
#define CHECKS "xdd <device>", .note = "a quick check, which only reads"
#define MIRRORS "xddcp -r <from> <to>", .note = "what the source lacks stays at the destination"
#define EACH_PASS "a pass goes once over all of the target without an amount or a time limit"
#define ROUNDS "xdd sweep and xdd curve have -rounds"
#define READS_ONLY "the number is the percentage of reads"
#define FILLS                                                                                        \
	"xdd -op write -target <device> -bytes 100% -passes 2 -reqsize 1M -datapattern random -dio", \
		.note = "destroys what is there; then random writes until the rates of "             \
			"-intervals no longer fall"
#define STDOUT "- is standard output, and a name is a file"
#define NEAREST_DEPTH "requests in flight on each target"
#define PERSON "the default on a terminal; in a pipe or a file too"
#define UNKNOWN_WORDS "its words are not known here; xdd -help <word> searches"

static const struct foreign common_rows[] = {
	/* subjects of -help */
	NOT("metadata", NULL, NO_NAMES),
	NOT("mdtest", NULL, NO_NAMES),
	NOT("rename", NULL, NO_NAMES),
	NOT("readdir", NULL, NO_NAMES),
	NOT("zoned", NULL, NO_ZONES),
	NOT("zbd", NULL, NO_ZONES),
	NOT("zns", NULL, NO_ZONES),
	NOT("smr", NULL, NO_ZONES),
	NEAR("replay", "list", OWN_LISTS),
	NOT("blktrace", "trace", NO_TRACES),
	NEAR("backwards", NULL, ANY_ORDER),
	NEAR("backward", NULL, ANY_ORDER),
	NEAR("reverse", NULL, ANY_ORDER),
	NEAR("iperf", NULL, NETWORK),
	NEAR("iperf3", NULL, NETWORK),
	NEAR("netperf", NULL, NETWORK),
	NEAR("burst", "4", BURSTS),
	NEAR("bursty", NULL, BURSTS),
	V("nvme", "T", "-target %v", "a block device as any other; no NVMe commands of its own"),
	NOT("passthrough", NULL, "-ioengine sg sends SCSI commands; there are no NVMe commands"),
	NEAR("grafana", NULL, "-intervals <seconds> prometheus <file>"),
	NOT("s3", NULL, FILES_ONLY),
	NOT("object", NULL, FILES_ONLY),
	NOT("hdfs", NULL, FILES_ONLY),
	NOT("gpu", NULL, HOST_MEMORY),
	NOT("cuda", NULL, HOST_MEMORY),
	NOT("gds", NULL, HOST_MEMORY),
	NOT("mpiio", NULL, POSIX_CALLS),
	NOT("hdf5", NULL, POSIX_CALLS),
	NOT("netcdf", NULL, POSIX_CALLS),
	NEAR("exclude", NULL, "xddcp -F <list>", .note = "a copy of the files that a list names"),
	V("bwlimit", "10m", "-throttle bw %B", "of a run; a copy is as fast as it can be"),
	NEAR("scp", NULL, COPIES),
	NEAR("rsync", NULL, COPIES),
	COMMAND("sync", MIRRORS),
	{ .word = "op", .values = "copy", .shown = "xddcp <from> <to>" },
	IS("ioengine", "aio", "-ioengine libaio", "asynchronous only with -dio"),
	IS("ioengine", "uring iouring", "-ioengine io_uring", NULL),
	{ .word = "seek", .values = "reverse backward backwards", .shown = ANY_ORDER },
	IS("op", "random rand", "-seek random", "beside -op read or -op write"),
	IS("op", "sequential seq", "-seek sequential", "beside -op read or -op write"),
	IS("op", "verify check compare", "-op read -verify",
	   "with the -datapattern that was written"),
	NEAR("cp", NULL, COPIES),
	NEAR("mirror", NULL, COPIES),
	NEAR("badblocks", NULL, SURFACE),
	NEAR("burnin", NULL, SURFACE),
	NOT("crash", NULL, NO_CRASH),
	NOT("durable", NULL, NO_CRASH),
	NOT("powerfail", NULL, NO_CRASH),
	NOT("fadvise", NULL, NO_ADVICE),
	NOT("readahead", NULL, NO_ADVICE),
	FLAG("cold", "-dropcache", NULL),
	FLAG("polling", "-ioengine io_uring iopoll", NULL),
	V("affinity", "0", "-processor %v", NULL),
	FLAG("unmap", "-op discard", NULL),
	NOT("smart", NULL, NO_HEALTH),
	NOT("temperature", NULL, NO_HEALTH),
	NEAR("stride", "2", STRIDE),
	NEAR("strided", NULL, STRIDE),
	NEAR("hotspot", NULL, HOT_SPOTS),
	NEAR("pareto", NULL, HOT_SPOTS),
	NEAR("entropy", "50", "-datapattern compress <percent>"),
	NEAR("steady-state", NULL, FILLS),
	NEAR("steady", NULL, FILLS),
	NEAR("precondition", NULL, FILLS),
	FLAG("corruption", TAGS, TAGS_TELL),
	FLAG("integrity", TAGS, TAGS_TELL),
	FLAG("checksum", TAGS, TAGS_TELL),
	FLAG("bitrot", TAGS, TAGS_TELL),
	NEAR("throughput", NULL, "+BANDWIDTH",
	     .note = "a column of -outputformat; all results have it"),
	NOT("xml", NULL, "-jsonout and -csvout have the results"),
	NOT("yaml", NULL, "-jsonout and -csvout have the results"),
	NOT("units", "MiB", "results choose their units; -jsonout has all digits"),
	NEAR("columns", "IOPS", "-outputformat new <+ID+ID>",
	     .note = "such as +IOPS; xdd -help columns lists them"),
	NEAR("graph", NULL, PICTURES),
	NEAR("chart", NULL, PICTURES),
	NEAR("regression", NULL, GATE),
	NEAR("baseline", NULL, GATE),
	NEAR("cluster", NULL, "xdd multi -hosts <hosts> -- <options>"),
	NOT("spdk", NULL, "targets are accessed through the kernel; -ioengine list shows how"),
	NEAR("hdparm", NULL, CHECKS),
	NEAR("ioping", NULL, CHECKS),
	NEAR("test", NULL, CHECKS),
	NEAR("info", NULL, CHECKS),
	NEAR("stat", NULL, CHECKS),
	FLAG("run", "", "a run has options only"),
	FLAG("engines", "-ioengine list", NULL),
	FLAG("list-engines", "-ioengine list", NULL),
	NEAR("list", NULL, "xdd -help",
	     .note = "commands and options; -ioengine list has the engines"),
	NOT("devices", NULL, "lsblk(8) lists devices; xdd <device> examines one"),
	NEAR("history", NULL, "xdd-nightly -- <options>",
	     .note = "keeps the runs of nights and reports changes; -jsonout keeps one run"),
	NOT("vdbench", NULL, UNKNOWN_WORDS),
	NOT("iozone", NULL, UNKNOWN_WORDS),
	NOT("bonnie", NULL, UNKNOWN_WORDS),
	NOT("diskspd", NULL, UNKNOWN_WORDS),
	NOT("sysbench", NULL, UNKNOWN_WORDS),

	/* words of a command line */
	FLAG("trim", "-op discard", NULL),
	FLAG("discard", "-op discard", NULL),
	V("engine", "psync", "-ioengine %v", NULL),
	FLAG("uring", "-ioengine io_uring", NULL),
	FLAG("io_uring", "-ioengine io_uring", NULL),
	FLAG("iouring", "-ioengine io_uring", NULL),
	FLAG("libaio", "-ioengine libaio", "asynchronous only with -dio"),
	FLAG("aio", "-ioengine libaio", "asynchronous only with -dio"),
	FLAG("async", "-ioengine io_uring", "or libaio; -queuedepth keeps so many in flight"),
	FLAG("psync", "-ioengine psync", "the default"),
	FLAG("mmap", "-ioengine mmap", NULL),
	FLAG("poll", "-ioengine io_uring iopoll", NULL),
	V("zipf", "1.2", "-seek zipf %v", NULL),
	V("compress", "50", "-datapattern compress %v", NULL),
	V("dedupe", "30", "-datapattern dedupe %v", NULL),
	V("ops", "100", "-numreqs %v", NULL),
	NEAR("pattern", "random", "-seek <pattern>",
	     .note = "of data it is -datapattern <pattern>"),
	NEAR("dd", NULL, "xdd <words of dd>"),
	NEAR("ior", NULL, "xdd <words of IOR>"),
	NEAR("elbencho", NULL, "xdd <words of elbencho>"),
	V("until", "5", "-passes until %v", "runs passes until the mean is certain"),
	V("maxlatency", "10ms", "-reportthreshold %v", "names each operation that takes longer"),
	V("slowest", "1ms", "-reportthreshold %v", "names each operation that takes longer"),
	NEAR("plot", NULL, PICTURES),
	NEAR("bench", NULL, CHECKS),
	NEAR("benchmark", NULL, CHECKS),
	NEAR("cmp", NULL, COMPARES),
	NEAR("diff", NULL, COMPARES),
	FLAG("zero", "", "zeros are the default of -datapattern"),
	FLAG("zeros", "", "zeros are the default of -datapattern"),
	FLAG("random-data", "-datapattern random", NULL),
	FLAG("randomdata", "-datapattern random", NULL),
	NEAR("append", NULL, "-startoffset <bytes>", .note = "where the file ends"),
	V("count", "4", "-numreqs %v", NULL),
	V("skip", "4k", "-startoffset %v", "blocks, or bytes with a suffix"),
	BARE("fsync", "-syncwrite", "one flush after each pass; -flushwrite <#writes>: more"),
	BARE("fdatasync", "-syncwrite", "one flush after each pass; -flushwrite <#writes>: more"),
	FLAG("nosync", "", "xdd flushes only where -syncwrite or another option says so"),
	FLAG("no-sync", "", "xdd flushes only where -syncwrite or another option says so"),
	FLAG("noverify", "", "xdd verifies only with -verify and -readback"),
	FLAG("no-verify", "", "xdd verifies only with -verify and -readback"),
	FLAG("nocache", "-dio", "past the page cache; -dropcache empties it before a pass"),
	FLAG("no-cache", "-dio", "past the page cache; -dropcache empties it before a pass"),
	FLAG("shuffle", "-seek random once", "each request of the range once"),
	FLAG("seq", "-seek sequential", "the default"),
	FLAG("random-read", "-op read -seek random", NULL),
	FLAG("random-write", "-op write -seek random", NULL),
	FLAG("randrw", "-rwratio 50 -seek random", READS_ONLY),
	V("reads", "70", "-rwratio %v", READS_ONLY),
	V("rwmix", "70/30", "-rwratio %<", READS_ONLY),
	V("mix", "70/30", "-rwratio %<", READS_ONLY "; sizes are -reqsize mix"),
	V("reclen", "4k", "-bs %v @one", NULL),
	V("bsize", "4k", "-bs %v @one", NULL),
	V("xfersize", "4k", "-bs %v @one", NULL),
	V("length", "256k", "-bytes %v", "for each target"),
	V("total", "256k", "-bytes %v", "for each target"),
	FLAG("once", "", EACH_PASS),
	V("loop", "3", "-passes %v", NULL),
	V("times", "3", "-passes %v", NULL),
	V("maxtime", "10s", "-runtime %v", NULL),
	V("max-time", "10s", "-runtime %v", NULL),
	V("sleep", "1", "-operationdelay %v", "after each operation; -passdelay: between passes"),
	V("pause", "1", "-passdelay %v", "between passes; -operationdelay: after each operation"),
	V("rampup", "5", "-warmup %v", "-runtime includes it, -timelimit does not"),
	V("ramp-up", "5", "-warmup %v", "-runtime includes it, -timelimit does not"),
	V("workers", "4", "-queuedepth %v", NEAREST_DEPTH),
	V("concurrency", "4", "-queuedepth %v", NEAREST_DEPTH),
	V("inflight", "4", "-queuedepth %v", NEAREST_DEPTH),
	V("in-flight", "4", "-queuedepth %v", NEAREST_DEPTH),
	V("pin", "0", "-processor %v", NULL),
	SHOWN("host", "hosta", "@hosts %v", "xdd multi -hosts %v --", NULL),
	V("label", "text", "-id %v", NULL),
	V("title", "text", "-id %v", NULL),
	V("log", "log", "-output %v", "appends the results; -errout has the messages"),
	V("logfile", "log", "-output %v", "appends the results; -errout has the messages"),
	FLAG("silent", "-quiet", NULL),
	FLAG("summary", "", "a result is a summary; -verbose shows each pass"),
	FLAG("human", "-report person", PERSON),
	FLAG("human-readable", "-report person", PERSON),
	FLAG("pretty", "-report person", PERSON),
	FLAG("p99", "-latency percentiles 50,99", NULL),
	FLAG("latency-percentiles", "-latency percentiles 50,90,95,99,99.9", NULL),
	V("skew", "1.2", "-seek zipf %v", "hot spots"),
	V("rate-limit", "10m", "-throttle bw %B", NULL),
	V("iops-limit", "1000", "-throttle ops %v", NULL),
	V("duration", "10s", "-runtime %v", NULL),
	V("time", "10s", "-runtime %v", NULL),
	V("seconds", "10", "-runtime %v", NULL),
	V("depth", "32", "-queuedepth %v", NULL),
	V("io-depth", "32", "-queuedepth %v", NULL),
	V("qdepth", "32", "-queuedepth %v", NULL),
	V("outstanding", "32", "-queuedepth %v", NULL),
	V("block-size", "4k", "-bs %v @one", NULL),
	V("request-size", "4k", "-bs %v @one", NULL),
	V("file", "T", "-target %v", NULL),
	V("device", "T", "-target %v", NULL),
	V("dev", "T", "-target %v", NULL),
	V("disk", "T", "-target %v", NULL),
	V("path", "T", "-target %v", NULL),
	SHOWN("jobs", "4", "@jobs %v", "-targets -%v <name>", "a target for each job"),
	SHOWN("j", "4", "@jobs %v", "-targets -%v <name>", "a target for each job"),
	FLAG("random", "-seek random", NULL),
	FLAG("sequential", "-seek sequential", "the default"),
	FLAG("randread", "-op read -seek random", NULL),
	FLAG("randwrite", "-op write -seek random", NULL),
	FLAG("o_direct", "-dio", NULL),
	FLAG("odirect", "-dio", NULL),
	FLAG("dsync", "-odsync", NULL),
	FLAG("percentiles", "-latency percentiles 50,90,95,99,99.9", NULL),
	FLAG("histogram", "-latency histogram", NULL),
	V("iops", "1000", "-throttle ops %v", NULL),
	V("bandwidth", "10m", "-throttle bw %B", NULL),
	V("limit", "10m", "-throttle bw %B", NULL),
	V("readpct", "70", "-rwratio %v", NULL),
	V("read-percent", "70", "-rwratio %v", NULL),
	V("seed", "42", "-seek seed %v", NULL),
	V("repeat", "3", "-passes %v", ROUNDS),
	V("runs", "3", "-passes %v", ROUNDS),
	V("iterations", "3", "-passes %v", ROUNDS),
	V("ramp", "5", "-warmup %v", "-runtime includes it, -timelimit does not"),
	BARE("csv", "-csvout - -quiet", STDOUT),
	V("csv", "results", "-csvout %v", NULL),
	BARE("json", "-jsonout -", STDOUT),
	V("json", "results", "-jsonout %v", NULL),
	V("interval", "1", "-intervals %v", NULL),
	V("cpu", "0", "-processor %v", NULL),
	V("cpus", "0", "-processor %v", NULL),
	FLAG("dry-run", "-dryrun", NULL),
	FLAG("progress", "-heartbeat 1", "on a terminal xdd shows its progress by itself"),
	{ 0 },
};

const struct foreign_tool foreign_common = {
	.name = "other tools",
	.dashes = "-",
	.about = "Words that one guesses.",
	.rows = common_rows,
};
