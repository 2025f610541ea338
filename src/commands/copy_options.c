/*
 * The options of xdd copy, and values for them. Called by copy_words.c; the help, the manual page
 * and the completion have the same rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "commands/copy_line.h"
#include "xdd/base/log.h"
#include "xdd/base/nstime.h"
#include "xdd/base/units.h"

#define LINE_FIELD(field) OPTION_FIELD(struct copy_line, field)
#define FLAG(field) .type = OPT_FLAG, .value = true, LINE_FIELD(request.field)
#define SETTING(field) FLAG(settings.field)

static const struct option what_rows[] = {
	{ .name = "recursive",
	  .aliases = "r",
	  SETTING(recursive),
	  .help = "copy directories with all that is in them" },
	{ .name = "preserve",
	  .aliases = "P",
	  SETTING(everything),
	  .help = "copy owners, ACLs and extended attributes too",
	  .detail =
		  "Permissions and times are always copied. Owners need the rights of root on the "
		  "destination; what could not be set is counted and reported once." },
	{ .name = "contents",
	  .aliases = "c",
	  SETTING(compare_contents),
	  .help = "compare contents where size or time agree",
	  .detail = "Without it a file of the same size and modification time is skipped. With it "
		    "both sides read such a file and compare digests." },
	{ .name = "resume",
	  .aliases = "R a",
	  SETTING(resume),
	  .help = "continue an interrupted copy, and keep what this one has if it is interrupted" },
	{ .name = "inplace",
	  .aliases = "i",
	  SETTING(in_place),
	  .help = "write into existing files, without temporary names" },
	{ .name = "size",
	  .arg = "<bytes>",
	  .type = OPT_SIZE,
	  .max = UINT64_MAX - 1,
	  LINE_FIELD(size_bytes),
	  .help = "copy the first <bytes> of the only source",
	  .detail = "The same as a size after the destination." },
	{ .name = "list",
	  .aliases = "F",
	  SETTING(list),
	  .help = "the source is a file with names, one per line" },
	{ .name = "null",
	  .aliases = "0",
	  SETTING(list_nul),
	  .help = "names in the list end with NUL, not with a newline" },
	{ .name = "force", SETTING(force), .help = "write to a device that carries data" },
	{ 0 },
};

static const struct option instead_rows[] = {
	{ .name = "verify",
	  .aliases = "k",
	  SETTING(verify),
	  .help = "copy nothing; compare, and list ranges that differ" },
	{ .name = "dryrun",
	  .aliases = "n",
	  SETTING(dry_run),
	  .help = "change nothing; list what would be copied" },
	{ 0 },
};

static const struct option how_rows[] = {
	{ .name = "threads",
	  .aliases = "t",
	  .arg = "<#threads>",
	  .type = OPT_U64,
	  .min = 1,
	  .max = COPY_MAX_CONNECTIONS,
	  .unit = "threads",
	  .def = "8",
	  LINE_FIELD(threads),
	  .help = "threads of each side, each with a connection" },
	{ .name = "blocksize",
	  .arg = "<bytes>",
	  .type = OPT_SIZE,
	  .min = COPY_MIN_BLOCK_BYTES,
	  .max = COPY_MAX_BLOCK_BYTES,
	  .def = "1 MiB",
	  LINE_FIELD(block_bytes),
	  .help = "size of the requests for large files" },
	{ .name = "directdestination",
	  .aliases = "d",
	  SETTING(direct_destination),
	  .help = "write large files without the page cache of the destination" },
	{ .name = "directsource",
	  .aliases = "s",
	  SETTING(direct_source),
	  .help = "read large files without the page cache of the source" },
	{ .name = "ordered",
	  .aliases = "o",
	  SETTING(ordered_destination),
	  .help = "write each large file in the order of its offsets" },
	{ .name = "encrypt",
	  .aliases = "e",
	  SETTING(encrypt),
	  .help = "encrypt the data connections (TLS 1.3)" },
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
	  .help = "first port of the data connections, one for each thread" },
	{ .name = "freeports",
	  .aliases = "f",
	  SETTING(free_ports),
	  .help = "end other xdd of this user that use the ports" },
	{ .name = "ssh",
	  .aliases = "S",
	  .arg = "<command>",
	  .type = OPT_TEXT,
	  LINE_FIELD(ssh),
	  .help = "command in place of ssh, with its options" },
	{ .name = "tty", .aliases = "Y", FLAG(remote_tty), .help = "ssh with a terminal" },
	{ .name = "remotexdd",
	  .aliases = "b",
	  .arg = "<path>",
	  .type = OPT_TEXT,
	  LINE_FIELD(remote_xdd),
	  .help = "xdd on the other hosts: the program or its directory" },
	{ .name = "localxdd",
	  .aliases = "l",
	  .arg = "<directory>",
	  .type = OPT_TEXT,
	  LINE_FIELD(local_xdd),
	  .help = "directory of xdd on this host; for the script xddcp" },
	{ .name = "timeout",
	  .arg = "<time>",
	  .type = OPT_SECONDS,
	  .min = NS_PER_SEC,
	  .max = 3600 * NS_PER_SEC,
	  .def = "30",
	  .unit = "seconds",
	  LINE_FIELD(timeout_ns),
	  .help = "end the copy after this time without a sign of life" },
	{ .name = "retries",
	  .arg = "<#retries>",
	  .type = OPT_U64,
	  .max = 1000,
	  .def = "0",
	  LINE_FIELD(retries),
	  .help = "start again so many times after the connection was lost" },
	{ 0 },
};

static const struct option output_rows[] = {
	{ .name = "quiet", .aliases = "q", FLAG(quiet), .help = "neither progress nor summary" },
	{ .name = "log",
	  .aliases = "O",
	  .arg = "<file>",
	  .type = OPT_TEXT,
	  LINE_FIELD(request.log_path),
	  .help = "log of the copy with all files" },
	{ .name = "jsonout",
	  .arg = "<file>",
	  .type = OPT_TEXT,
	  LINE_FIELD(request.json_path),
	  .help = "results as JSON" },
	{ .name = "json",
	  .aliases = "J",
	  .type = OPT_FLAG,
	  .value = true,
	  LINE_FIELD(json),
	  .help = "results as JSON to standard output" },
	{ .name = "verbose",
	  .aliases = "v",
	  SETTING(stamps),
	  .help = "a log, and time stamps of all operations on both sides" },
	{ .name = "dump",
	  .aliases = "w",
	  SETTING(stamps_binary),
	  .help = "the same, and dumps of the time stamps for xdd tsread" },
	{ .name = "help",
	  .aliases = "h",
	  .type = OPT_FLAG,
	  .value = true,
	  LINE_FIELD(help),
	  .help = "this text" },
	{ 0 },
};

static const struct option_group what = { "Copies", what_rows };
static const struct option_group instead = { "In place of a copy", instead_rows };
static const struct option_group how = { "Reading, writing and sending", how_rows };
static const struct option_group links = { "Connections", link_rows };
static const struct option_group output = { "Output", output_rows };
static const struct option_group *const groups[] = { &what, &instead, &how, &links, &output, NULL };

const struct option_table copy_options = { .groups = groups };

static int bad_value(const struct option *opt, const char *word, const char *text)
{
	char range[192];

	log_error("copy %s %.128s: expected %s", word, text,
		  option_range(opt, range, sizeof(range)) ? range : "a value");
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
