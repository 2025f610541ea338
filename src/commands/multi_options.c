/*
 * The options of xdd multi. Called by multi.c; the help, the manual page and the completion have
 * the same rows.
 */
#include "commands/multi.h"
#include "xdd/base/units.h"
#include "xdd/plan/option.h"

#define LINE_FIELD(field) OPTION_FIELD(struct multi_line, field)
#define FLAG(field) .type = OPT_FLAG, .value = true, LINE_FIELD(field)
#define DAY_NS (24 * 3600 * NS_PER_SEC)

static const struct option host_rows[] = {
	{ .name = "hosts",
	  .aliases = "host client H n w",
	  .arg = "<host>,...",
	  .type = OPT_TEXT,
	  LINE_FIELD(hosts),
	  .help = "the hosts of the run, with commas between them",
	  .detail = "Each is a name, user@name or an address, [address] for IPv6, and may have a "
		    "number of ranks after a colon: a,ann@b,c:4 are six ranks. node[1-8,12] are "
		    "nine hosts.",
	  .example = "xdd-multi -hosts node1,node2,node3:2 -- -op read -targets 1 /data/big" },
	{ .name = "hostfile",
	  .aliases = "machinefile N",
	  .arg = "<file>",
	  .type = OPT_TEXT,
	  LINE_FIELD(host_file),
	  .help = "a file with a host on each line",
	  .detail = "As in -hosts; slots=4 after the name, as for mpirun, is the same as :4, and "
		    "max_slots=2 limits it. A # "
		    "begins a comment. Hosts of -hosts come first.",
	  .example = "xdd-multi -hostfile hosts -- -op read -targets 1 /data/big" },
	{ .name = "slots",
	  .aliases = "ppn npernode",
	  .arg = "<#ranks>",
	  .type = OPT_U64,
	  .min = 1,
	  .max = MULTI_MAX_RANKS,
	  .def = "1",
	  LINE_FIELD(slots),
	  .help = "ranks, which are processes of xdd, of each host without a number of its own",
	  .example = "xdd-multi -hosts a,b -slots 4 -- -op write -targets 1 /data/file.%r "
		     "-mbytes 100" },
	{ .name = "launcher",
	  .arg = "ssh|srun|mpirun|pdsh",
	  .type = OPT_TEXT,
	  LINE_FIELD(launcher),
	  .help = "the program that starts xdd on a host",
	  .detail = "It is started once for each rank. Inside an allocation of Slurm it is srun, "
		    "and the hosts are those of the allocation unless others are named; "
		    "otherwise it is ssh.",
	  .example = "xdd-multi -launcher srun -- -op read -targets 1 /data/big" },
	{ .name = "ssh",
	  .aliases = "S",
	  .arg = "<command>",
	  .type = OPT_TEXT,
	  LINE_FIELD(command),
	  .help = "command in place of that of the launcher, with its options",
	  .detail =
		  "Words are split as by a shell, with quotes and backslashes; nothing is expanded. "
		  "Without it the command is that of the variable XDD_MULTI_SSH if the launcher is "
		  "ssh.",
	  .example = "xdd-multi -S 'ssh -p 2222' -hosts a,b -- -op read -targets 1 /data/big" },
	{ .name = "remotexdd",
	  .aliases = "b",
	  .arg = "<path>",
	  .type = OPT_TEXT,
	  LINE_FIELD(remote_xdd),
	  .help = "xdd on the hosts: its directory, or the program",
	  .detail = "A path is the program if its last part is xdd or begins with xdd and a dot; "
		    "otherwise, or with a slash at its end, it is the directory.",
	  .example = "xdd-multi -b /opt/xdd/bin -hosts a,b -- -op read -targets 1 /data/big" },
	{ 0 },
};

static const struct option start_rows[] = {
	{ .name = "startin",
	  .arg = "<seconds>",
	  .type = OPT_SECONDS,
	  .min = 0,
	  .max = DAY_NS,
	  LINE_FIELD(start_in_ns),
	  .help = "start the first pass so long from now, on all hosts at once",
	  .detail = "Each host must have started xdd, opened its targets and asked the time server "
		    "by then; one that is late does not run, and is named. Without it: 5 seconds "
		    "and time to start each rank, and more the busier this host is. 0: each host "
		    "begins when it is ready.",
	  .example = "xdd-multi -startin 20 -hosts a,b -- -op read -targets 1 /data/big" },
	{ .name = "timeserver",
	  .arg = "<host>[:<port>]|none",
	  .type = OPT_TEXT,
	  LINE_FIELD(time_server),
	  .help = "the time server that all hosts ask",
	  .detail = "Without it xdd multi is the server itself, on a free port of this host, while "
		    "the run lasts. Names and addresses are those that the hosts can reach. none: "
		    "each host uses its own clock, such as one that NTP keeps.",
	  .example = "xdd-multi -timeserver clock:2000 -hosts a,b -- -op read -targets 1 /data" },
	{ .name = "runid",
	  .arg = "<text>",
	  .type = OPT_TEXT,
	  LINE_FIELD(run_id),
	  .help = "the name of the run in all documents",
	  .detail = "Without it a name that no other run has. xdd combine tells by it which "
		    "documents belong together." },
	{ .name = "timeout",
	  .arg = "<seconds>",
	  .type = OPT_SECONDS,
	  .min = 0,
	  .max = DAY_NS,
	  .def = "30",
	  .unit = "seconds",
	  LINE_FIELD(timeout_ns),
	  .help = "give a host no more time than this without a sign of life; 0: any time",
	  .detail = "xdd on each host gives one every second, whatever its storage does. The other "
		    "hosts go on." },
	{ .name = "grace",
	  .arg = "<seconds>",
	  .type = OPT_SECONDS,
	  .min = 0,
	  .max = DAY_NS,
	  .def = "10",
	  .unit = "seconds",
	  LINE_FIELD(grace_ns),
	  .help = "the time that hosts have to end and to send their results",
	  .detail = "After Ctrl-C, and for a host that was silent. Then its launcher is ended." },
	{ 0 },
};

static const struct option output_rows[] = {
	{ .name = "jsonout",
	  .aliases = "json",
	  .arg = "<file>",
	  .type = OPT_TEXT,
	  LINE_FIELD(json),
	  .help = "write the combined results as JSON to <file>; - is standard output",
	  .example = "xdd-multi -hosts a,b -jsonout all.json -- -op read -targets 1 /data/big" },
	{ .name = "out",
	  .aliases = "o",
	  .arg = "<directory>",
	  .type = OPT_TEXT,
	  LINE_FIELD(out),
	  .help = "keep the document and the messages of each host there",
	  .detail = "The files are <host>.json and <host>.log, with the rank before the ending "
		    "where a host has several. The directory is created where it is missing.",
	  .example = "xdd-multi -hosts a,b -out results -- -op read -targets 1 /data/big" },
	{ .name = "quiet", .aliases = "q", FLAG(quiet), .help = "no progress while the run lasts" },
	{ .name = "dryrun", FLAG(dry_run), .help = "start nothing; print the command of each rank" },
	{ .name = "version", FLAG(version), .help = "the version of xdd" },
	{ .name = "help", .aliases = "h", .help = "this text" },
	{ 0 },
};

static const struct option_group hosts = { "Hosts", host_rows };
static const struct option_group start = { "Start and end", start_rows };
static const struct option_group output = { "Output", output_rows };
static const struct option_group *const groups[] = { &hosts, &start, &output, NULL };

const struct option_table multi_options = { .groups = groups };
