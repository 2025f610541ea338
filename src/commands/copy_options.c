/*
 * The options of xdd copy, and values for them. Called by copy_words.c; the help, the manual page
 * and the completion have the same rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands/copy_line.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"

#define LINE_FIELD(field) OPTION_FIELD(struct copy_line, field)
#define FLAG(field) .type = OPT_FLAG, .value = true, LINE_FIELD(request.field)
#define SETTING(field) FLAG(settings.field)

static const struct option what_rows[] = {
	{ .name = "recursive",
	  .aliases = "r",
	  SETTING(recursive),
	  .help = "copy directories with all that is in them",
	  .detail =
		  "A directory becomes one of the same name in a destination that exists; "
		  "otherwise it gets the name of the destination, and directories that lead to it "
		  "are created. A name that ends with a slash, "
		  "dir/, stands for what is in it. Symbolic links are copied as links, and names of "
		  "the same file (hard links) stay that. FIFOs, sockets and devices in a tree are "
		  "refused with a line each.",
	  .example = "xddcp -r results/ storage:results" },
	{ .name = "preserve",
	  .aliases = "P",
	  SETTING(everything),
	  .help = "copy permissions, owners, ACLs and extended attributes too",
	  .detail =
		  "Times are always copied. Without this option new files and directories get the "
		  "permissions of the source that the umask or the default ACL at the destination "
		  "leaves, without set-user-ID bits; those that exist keep theirs. Owners need the "
		  "rights of root at the destination; what could not be set is counted and "
		  "reported once.",
	  .example = "xddcp -r -P /home/ann root@storage:/home/" },
	{ .name = "contents",
	  .aliases = "c",
	  SETTING(compare_contents),
	  .help = "compare contents where size or time agree",
	  .detail = "Without it a file of the same size and modification time is skipped. With it "
		    "both sides read a file of the same size and compare digests, and only files "
		    "that differ are sent. It compares block devices too, which are always copied "
		    "without it.",
	  .example = "xddcp -r -c results/ storage:results" },
	{ .name = "resume",
	  .aliases = "R a",
	  SETTING(resume),
	  .help = "continue an interrupted copy; keep the parts if this one is interrupted",
	  .detail =
		  "The command is repeated as it was. Files that arrived are skipped, and parts of "
		  "large files that were durable at the destination are not sent again if the source "
		  "is unchanged: both sides read them and compare digests, and what differs is sent "
		  "again. Without it an interrupted copy leaves complete files only. A copy to a "
		  "device begins again.",
	  .example = "xddcp -r -R results/ storage:results" },
	{ .name = "trust",
	  SETTING(trust),
	  .help = "with -resume: keep parts without reading them",
	  .detail =
		  "It saves the time that reading them takes on both sides. A part is then kept if "
		  "its source has the inode, the size and the times that it had; bytes of the part "
		  "that have changed since the interruption stay unnoticed, and so do changes of a "
		  "source that is a device: -verify finds both.",
	  .example = "xddcp -R -trust disk.img storage:/vm/" },
	{ .name = "inplace",
	  .aliases = "i",
	  SETTING(in_place),
	  .help = "write into existing files, without temporary names",
	  .detail =
		  "For a destination that must keep its inode or has no room for a second copy of "
		  "a file. A file whose copy was interrupted is incomplete, and is named unless "
		  "the connection to its host was lost. All names of a file (hard links) get the new "
		  "contents; two sources for names of one file are refused. Devices are always "
		  "written in place.",
	  .example = "xddcp -i disk.img storage:/vm/disk.img" },
	{ .name = "size",
	  .arg = "<bytes>",
	  .type = OPT_SIZE,
	  .max = UINT64_MAX - 1,
	  LINE_FIELD(size_bytes),
	  .help = "copy the first <bytes> of the only source",
	  .detail = "The same as a size after the destination. A device whose size is not known "
		    "needs it.",
	  .example = "xddcp -size 10G /dev/zero storage:/dev/null" },
	{ .name = "list",
	  .aliases = "F",
	  SETTING(list),
	  .help = "the source is a file with names, one per line",
	  .detail =
		  "Relative names begin in the current directory, or in the home directory of another "
		  "host, and keep their directories below the destination; absolute names "
		  "lose theirs. Directories that the destination lacks are created. A name with .. is "
		  "refused. The list and its files are on the host of "
		  "the source. - is standard input. A directory in the list is copied without what "
		  "is in it, unless there is -recursive.",
	  .example = "xddcp -F list storage:/data" },
	{ .name = "null",
	  .aliases = "0",
	  SETTING(list_nul),
	  .help = "names in the list end with NUL, not with a newline",
	  .detail = "As find -print0 writes them: a name may have newlines in it.",
	  .example = "find . -name '*.dat' -print0 | xddcp -F -0 - storage:/data" },
	{ .name = "force",
	  SETTING(force),
	  .help = "write to a device that carries data",
	  .detail = "Without it a block device with a file system, a partition table or another "
		    "signature is refused. A device that is in use is always refused.",
	  .example = "xddcp -force disk.img storage:/dev/sdb" },
	{ 0 },
};

static const struct option instead_rows[] = {
	{ .name = "verify",
	  .aliases = "k",
	  SETTING(verify),
	  .help = "copy nothing; compare, and list what differs",
	  .detail =
		  "Both sides read, and digests of blocks are compared, as well as what the copy "
		  "would set: times; with -preserve permissions, owners, ACLs and extended "
		  "attributes. All differences of a file are in one line, with ranges of bytes; the "
		  "exit status is then 7. It is 0 only if the command without -verify would change "
		  "nothing. A directory that the "
		  "destination lacks has one line; what is in it is counted, and listed by -v.",
	  .example = "xddcp -r -k results/ storage:results" },
	{ .name = "dryrun",
	  .aliases = "n",
	  SETTING(dry_run),
	  .help = "change nothing; list what would be copied",
	  .detail =
		  "Both sides compare as in a copy. Files that are the same already are counted "
		  "only. Followed by a number and two names or more, -n is -retries, as in a later "
		  "program, and excludes it.",
	  .example = "xddcp -r -n results/ storage:results" },
	{ 0 },
};

static const struct option how_rows[] = {
	{ .name = "threads",
	  .aliases = "t",
	  .arg = "<#threads>",
	  .type = OPT_U64,
	  .min = 1,
	  .max = COPY_MAX_CONNECTIONS,
	  .def = "8 threads; 4 where this host has up to 4 processors",
	  LINE_FIELD(threads),
	  .hint = "times are always copied",
	  .help = "threads of each side, each with a connection",
	  .detail = "All of them take whole small files and blocks of large files from one queue.",
	  .example = "xddcp -t 16 disk.img storage:/vm/" },
	{ .name = "blocksize",
	  .arg = "<bytes>",
	  .type = OPT_SIZE,
	  .min = COPY_MIN_BLOCK_BYTES,
	  .max = COPY_MAX_BLOCK_BYTES,
	  .def = "1 MiB",
	  LINE_FIELD(block_bytes),
	  .help = "size of the requests for large files; a multiple of 4 KiB",
	  .example = "xddcp -blocksize 4M disk.img storage:/vm/" },
	{ .name = "directdestination",
	  .aliases = "d",
	  SETTING(direct_destination),
	  .help = "write large files by direct I/O at the destination",
	  .detail =
		  "The page cache of the destination is bypassed. Where the file system cannot do "
		  "that, a note says so. Followed by s, d or b and two names or more it is for the "
		  "source, the destination or both, as in a later program.",
	  .example = "xddcp -d -s disk.img storage:/vm/" },
	{ .name = "directsource",
	  .aliases = "s",
	  SETTING(direct_source),
	  .help = "read large files by direct I/O at the source",
	  .detail =
		  "The page cache of the source is bypassed. Where the file system cannot do that, "
		  "a note says so.",
	  .example = "xddcp -s disk.img storage:/vm/" },
	{ .name = "ordered",
	  .aliases = "o",
	  SETTING(ordered_destination),
	  .help = "write each large file in the order of its offsets",
	  .detail =
		  "Otherwise blocks are written as they arrive. Followed by s, d or b and two names "
		  "or more it is for reading, writing or both, as in a later program.",
	  .example = "xddcp -o disk.img storage:/vm/" },
	{ .name = "encrypt",
	  .aliases = "e",
	  SETTING(encrypt),
	  .help = "encrypt the data connections (TLS 1.3)",
	  .detail =
		  "Otherwise each message of a data connection has a code of the key of this copy, "
		  "and its data have a digest, but others in the network could read the data. Names "
		  "and attributes always move through ssh.",
	  .example = "xddcp -e secret.tar storage:" },
	{ 0 },
};

static const struct option link_rows[] = {
	{ .name = "port",
	  .aliases = "p",
	  .arg = "<port>",
	  .type = OPT_U64,
	  .min = 1,
	  .max = 65535,
	  LINE_FIELD(port),
	  .hint = "times are always copied, and -P copies permissions and owners",
	  .help = "listen at this port, or at one of those after it",
	  .detail =
		  "As many ports are tried as there are threads; the first free one takes all "
		  "connections. For a firewall that admits certain ports only. Otherwise the side "
		  "that listens takes the first free port from 40010 on. Where no connection is "
		  "possible in either direction the data move through ssh; a line says so.",
	  .example = "xddcp -p 50000 -t 4 disk.img storage:/vm/" },
	{ .name = "freeports",
	  .aliases = "f",
	  SETTING(free_ports),
	  .help = "end other xdd of this user that use the ports",
	  .detail = "For ports that an earlier copy has left in use. An xdd that waits for "
		    "connections there gets SIGTERM, also one of -e2e. A copy that has its "
		    "connections goes on.",
	  .example = "xddcp -f -p 50000 disk.img storage:/vm/" },
	{ .name = "ssh",
	  .aliases = "S",
	  .arg = "<command>",
	  .type = OPT_TEXT,
	  LINE_FIELD(ssh),
	  .help = "command in place of ssh, with its options",
	  .detail =
		  "Words are split as by a shell, with quotes and backslashes; nothing is expanded. "
		  "Without it the command is that of the variable XDDCP_SSH, or ssh.",
	  .example = "xddcp -S 'ssh -p 2222 -i key' disk.img ann@storage:/vm/" },
	{ .name = "tty",
	  .aliases = "Y",
	  FLAG(remote_tty),
	  .help = "ssh with a terminal on the other side",
	  .detail = "For hosts that refuse commands without one.",
	  .example = "xddcp -Y disk.img storage:/vm/" },
	{ .name = "remotexdd",
	  .aliases = "b",
	  .arg = "<path>",
	  .type = OPT_TEXT,
	  LINE_FIELD(remote_xdd),
	  .help = "xdd on the other hosts: its directory, or the program",
	  .detail = "A path is the program if its last part is xdd or begins with xdd and a dot; "
		    "otherwise, or with a slash at its end, it is the directory.",
	  .example = "xddcp -b /opt/xdd/bin disk.img storage:/vm/" },
	{ .name = "localxdd",
	  .aliases = "l",
	  .arg = "<directory>",
	  .type = OPT_TEXT,
	  LINE_FIELD(local_xdd),
	  .help = "directory of xdd on this host; for the script xddcp",
	  .example = "xddcp -l /opt/xdd/bin disk.img storage:/vm/" },
	{ .name = "timeout",
	  .arg = "<time>",
	  .type = OPT_SECONDS,
	  .min = NS_PER_SEC,
	  .max = 3600 * NS_PER_SEC,
	  .def = "30",
	  .unit = "seconds",
	  LINE_FIELD(timeout_ns),
	  .help = "end after this time without a sign of life of the other side",
	  .detail = "From 1 second to 1 hour. Where it is given, it is also the limit for the time "
		    "until ssh has connected and xdd has answered, with the time for a password; "
		    "otherwise that has no limit but those of ssh.",
	  .example = "xddcp -timeout 2min disk.img storage:/vm/" },
	{ .name = "retries",
	  .arg = "<#retries>",
	  .type = OPT_U64,
	  .max = 1000,
	  .def = "0",
	  LINE_FIELD(retries),
	  .help = "start again so many times after the connection was lost",
	  .detail = "With -resume each start continues where the one before has ended.",
	  .example = "xddcp -R -retries 5 disk.img storage:/vm/" },
	{ 0 },
};

static const struct option output_rows[] = {
	{ .name = "quiet",
	  .aliases = "q",
	  FLAG(quiet),
	  .help = "neither progress nor summary",
	  .example = "xddcp -q disk.img storage:/vm/" },
	{ .name = "log",
	  .aliases = "O",
	  .arg = "<file>",
	  .type = OPT_TEXT,
	  LINE_FIELD(request.log_path),
	  .help = "append a log to <file>; with -verbose it has all files",
	  .detail = "-O takes a new file, one whose name ends with .log, or an older log: for scp "
		    "the word after it is a source.",
	  .example = "xddcp -r -log copy.log results/ storage:results" },
	{ .name = "jsonout",
	  .arg = "<file>",
	  .type = OPT_TEXT,
	  LINE_FIELD(request.json_path),
	  .help = "write the results as JSON to <file>; - is standard output",
	  .example = "xddcp -r -jsonout copy.json results/ storage:results" },
	{ .name = "json",
	  .aliases = "J",
	  .type = OPT_FLAG,
	  .value = true,
	  LINE_FIELD(json),
	  .help = "write the results as JSON to standard output",
	  .example = "xddcp -q -J disk.img storage:/vm/" },
	{ .name = "verbose",
	  .aliases = "v V",
	  SETTING(stamps),
	  .help = "a log, and time stamps of all operations on both sides",
	  .example = "xddcp -v disk.img storage:/vm/" },
	{ .name = "dump",
	  .aliases = "w",
	  SETTING(stamps_binary),
	  .help = "the same, and dumps of the time stamps for xdd tsread",
	  .detail = "A number after it, as in a later program, is accepted and changes nothing; -W "
		    "with a number is understood, without the trace of the kernel.",
	  .example = "xddcp -w disk.img storage:/vm/" },
	{ .name = "help",
	  .aliases = "h",
	  .type = OPT_FLAG,
	  .value = true,
	  LINE_FIELD(help),
	  .help = "this text" },
	{ .name = "version",
	  .type = OPT_FLAG,
	  .value = true,
	  LINE_FIELD(version),
	  .help = "the version of xdd" },
	{ 0 },
};

static const struct option_group what = { "Copies", what_rows };
static const struct option_group instead = { "In place of a copy", instead_rows };
static const struct option_group how = { "Reading, writing and sending", how_rows };
static const struct option_group links = { "Connections", link_rows };
static const struct option_group output = { "Output", output_rows };
static const struct option_group *const groups[] = { &what, &instead, &how, &links, &output, NULL };

const struct option_table copy_options = { .groups = groups };

const char *copy_line_hint(const struct option *opt, const char *word)
{
	const char *name = word + strspn(word, "-");

	return opt->hint && strncmp(name, opt->name, strlen(opt->name)) != 0 ? opt->hint : "";
}

static int bad_value(const struct option *opt, const char *word, const char *text)
{
	const char *hint = copy_line_hint(opt, word);
	char range[192];

	if (opt->type == OPT_SECONDS)
		snprintf(range, sizeof(range), "a time from 1 second to 1 hour");
	else if (opt->type == OPT_U64)
		snprintf(range, sizeof(range), "a number from %" PRIu64 " to %" PRIu64, opt->min,
			 opt->max);
	else
		option_range(opt, range, sizeof(range));
	log_error("copy %s %.128s: expected %s%s%s", word, text, range, *hint ? "; " : "", hint);
	return COPY_BAD_ARGUMENTS;
}

int copy_line_value(struct copy_line *l, const struct option *opt, const char *word,
		    const char *text)
{
	void *field = (char *)l + opt->off;
	uint64_t n = 0;
	int err = 0;

	if (!*text) {
		log_error("copy %s: %s is empty", word, opt->arg);
		return COPY_BAD_ARGUMENTS;
	}
	if (opt->type == OPT_TEXT) {
		memcpy(field, &text, sizeof(text));
		return 0;
	}
	if (opt->type == OPT_SIZE)
		err = units_parse_size(text, &n);
	else if (opt->type == OPT_SECONDS)
		err = units_parse_seconds(text, &n);
	else
		err = units_parse_u64(text, &n);
	if (err || n < opt->min || n > opt->max)
		return bad_value(opt, word, text);
	memcpy(field, &n, sizeof(n));
	return 0;
}
