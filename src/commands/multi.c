/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command xdd multi, which the script xdd-multi starts: a run on many hosts with one start and
 * one result. Called by main.
 */
#include "commands/multi.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/commands.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/plan/line.h"
#include "xdd/plan/option.h"
#include "xdd/report/combine.h"
#include "xdd/report/jvalue.h"

/*
 * The options; the help, the manual page and the completion have the same rows.
 */

#define LINE_FIELD(field) OPTION_FIELD(struct multi, line.field)
#define FLAG(field) OPTION_FLAG(struct multi, line.field)
#define DAY_NS (24 * 3600 * NS_PER_SEC)

static const struct option host_rows[] = {
	{ .name = "hosts",
	  .aliases = "host client H n w",
	  OPTION_TEXT("<host>,..."),
	  LINE_FIELD(hosts),
	  .help = "the hosts of the run, with commas between them",
	  .detail = "Each is a name, user@name or an address, [address] for IPv6, and may have a "
		    "number of ranks after a colon: a,ann@b,c:4 are six ranks. node[1-8,12] are "
		    "nine hosts.",
	  .example = "xdd-multi -hosts node1,node2,node3:2 -- -op read -targets 1 /data/big" },
	{ .name = "hostfile",
	  .aliases = "machinefile N",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(host_file),
	  .help = "a file with a host on each line",
	  .detail = "As in -hosts; slots=4 after the name, as for mpirun, is the same as :4, and "
		    "max_slots=2 limits it. A # "
		    "begins a comment. Hosts of -hosts come first.",
	  .example = "xdd-multi -hostfile hosts -- -op read -targets 1 /data/big" },
	{ .name = "slots",
	  .aliases = "ppn npernode",
	  OPTION_NUMBER("<#ranks>", 1, MULTI_MAX_RANKS),
	  .def = "1",
	  LINE_FIELD(slots),
	  .help = "ranks, which are processes of xdd, of each host without a number of its own",
	  .example = "xdd-multi -hosts a,b -slots 4 -- -op write -targets 1 /data/file.%r "
		     "-mbytes 100" },
	{ .name = "launcher",
	  OPTION_TEXT("ssh|srun|mpirun|pdsh"),
	  LINE_FIELD(launcher),
	  .help = "the program that starts xdd on a host",
	  .detail = "It is started once for each rank. Inside an allocation of Slurm it is srun, "
		    "and the hosts come from the allocation unless others are named; "
		    "otherwise it is ssh.",
	  .example = "xdd-multi -launcher srun -- -op read -targets 1 /data/big" },
	{ .name = "ssh",
	  .aliases = "S",
	  OPTION_TEXT("<command>"),
	  LINE_FIELD(command),
	  .help = "command that replaces the command of the launcher, with its options",
	  .detail =
		  "Words are split as by a shell, with quotes and backslashes; nothing is expanded. "
		  "Without it the command comes from the variable XDD_MULTI_SSH if the launcher is "
		  "ssh.",
	  .example = "xdd-multi -S 'ssh -p 2222' -hosts a,b -- -op read -targets 1 /data/big" },
	{ .name = "remotexdd",
	  .aliases = "b",
	  OPTION_TEXT("<path>"),
	  LINE_FIELD(remote_xdd),
	  .help = "xdd on the hosts: its directory, or the program",
	  .detail = "A path is the program if its last part is xdd or begins with xdd and a dot; "
		    "otherwise, or with a slash at its end, it is the directory.",
	  .example = "xdd-multi -b /opt/xdd/bin -hosts a,b -- -op read -targets 1 /data/big" },
	{ 0 },
};

static const struct option start_rows[] = {
	{ .name = "startin",
	  OPTION_TIME("<seconds>", 0, DAY_NS),
	  LINE_FIELD(start_in_ns),
	  .help = "start the first pass so long from now, on all hosts at once",
	  .detail = "Each host must have started xdd, opened its targets and asked the time server "
		    "by then; one that is late does not run, and is named. Without it: 5 seconds "
		    "and time to start each rank, and more the busier this host is. 0: each host "
		    "begins when it is ready.",
	  .example = "xdd-multi -startin 20 -hosts a,b -- -op read -targets 1 /data/big" },
	{ .name = "timeserver",
	  OPTION_TEXT("<host>[:<port>]|none"),
	  LINE_FIELD(time_server),
	  .help = "the time server that all hosts ask",
	  .detail = "Without it xdd multi is the server itself, on a free port of this host, while "
		    "the run lasts. Names and addresses are those that the hosts can reach. none: "
		    "each host uses its own clock, such as one that NTP keeps.",
	  .example = "xdd-multi -timeserver clock:2000 -hosts a,b -- -op read -targets 1 /data" },
	{ .name = "runid",
	  OPTION_TEXT("<text>"),
	  LINE_FIELD(run_id),
	  .help = "the name of the run in all documents",
	  .detail = "Without it a name that no other run has. xdd combine tells by it which "
		    "documents belong together." },
	{ .name = "timeout",
	  OPTION_TIME("<seconds>", 0, DAY_NS),
	  .def = "30",
	  .unit = "seconds",
	  LINE_FIELD(timeout_ns),
	  .help = "give a host no more time than this without a sign of life; 0: any time",
	  .detail = "xdd on each host gives one every second, whatever its storage does. The other "
		    "hosts go on." },
	{ .name = "grace",
	  OPTION_TIME("<seconds>", 0, DAY_NS),
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
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(json),
	  .help = "write the combined results as JSON to <file>; - is standard output",
	  .example = "xdd-multi -hosts a,b -jsonout all.json -- -op read -targets 1 /data/big" },
	{ .name = "out",
	  .aliases = "o",
	  OPTION_TEXT("<directory>"),
	  LINE_FIELD(out),
	  .help = "keep the document and the messages of each host there",
	  .detail = "The files are <host>.json and <host>.log, with the rank before the ending "
		    "where a host has several. The directory is created where it is missing.",
	  .example = "xdd-multi -hosts a,b -out results -- -op read -targets 1 /data/big" },
	{ .name = "quiet", .aliases = "q", FLAG(quiet), .help = "no progress while the run lasts" },
	{ .name = "dryrun", FLAG(dry_run), .help = "start nothing; print the command of each rank" },
	{ .name = "version", .type = OPT_ACTION, .help = "the version of xdd" },
	{ OPTION_HELP, .aliases = "h" },
	{ 0 },
};

static const struct option_table multi_options = {
	OPTION_GROUPS(OPTION_GROUP("Hosts", host_rows), OPTION_GROUP("Start and end", start_rows),
		      OPTION_GROUP("Output", output_rows)),
};

/*
 * The results of a run on many hosts.
 */

/* A start that is later than this is worth a warning. */
#define LATE_NS (10 * NS_PER_MS)

/* ---- files of -out ---- */

static char *out_path(const struct multi *m, const struct multi_rank *r, const char *ending)
{
	return arena_printf(m->arena, "%s/%s%s", m->line.out, r->label, ending);
}

static enum xdd_status bad_file(const char *option, const char *path, int err)
{
	return log_refuse("multi -%s %s: %s", option, path, output_strerror(err));
}

static enum xdd_status open_log(const struct multi *m, struct multi_rank *r)
{
	char *path = out_path(m, r, ".log");
	int fd = path ? output_open(path, O_TRUNC) : -ENOMEM;

	if (fd < 0)
		return bad_file("out", path ? path : m->line.out, fd);
	r->log = fdopen(fd, "w");
	if (r->log)
		return XDD_OK;
	close(fd);
	return bad_file("out", path, ENOMEM);
}

/* Open the files of -out. Returns a status, reported. */
static enum xdd_status multi_result_open(struct multi *m)
{
	enum xdd_status status = XDD_OK;
	char why[OUTPUT_WHY_SIZE];

	if (m->line.json && output_check_new(m->line.json, why))
		return log_refuse("multi -jsonout %s: %s", m->line.json, why);
	if (command_same_file(m->line.json, m->line.host_file))
		return log_refuse("multi -jsonout %s: is the file of -hostfile; use another file",
				  m->line.json);
	if (!m->line.out)
		return XDD_OK;
	if (mkdir(m->line.out, 0777) && errno != EEXIST)
		return bad_file("out", m->line.out, errno);
	for (size_t i = 0; i < m->n && !status; i++)
		status = open_log(m, &m->ranks[i]);
	return status;
}

/* Write `size` bytes, or the document `json`, to a new file. Returns 0 or -errno. */
static int write_file(const char *path, const char *bytes, size_t size, const json_t *json)
{
	struct newfile f;
	int err = newfile_open(&f, path);

	if (err)
		return err;
	/* An error of the file is known when it is closed. */
	if (json) {
		if (json_dumpf(json, f.f, JVALUE_FORMAT) && !ferror(f.f))
			err = -ENOMEM;
		fputc('\n', f.f);
	} else if (bytes) {
		fwrite(bytes, 1, size, f.f);
	}
	return newfile_close(&f, err);
}

static enum xdd_status keep_document(const struct multi *m, const struct multi_rank *r)
{
	char *path;
	int err;

	if (!m->line.out || !r->document_bytes)
		return XDD_OK;
	path = out_path(m, r, ".json");
	err = path ? write_file(path, r->document, r->document_bytes, NULL) : -ENOMEM;
	if (!err)
		return XDD_OK;
	bad_file("out", path ? path : m->line.out, err);
	return XDD_IO_ERROR;
}

/* ---- one rank ---- */

/* True if xdd refused the start time, because it was over when xdd began there. */
static bool was_late(const struct multi *m, const struct multi_rank *r)
{
	bool late = false;

	for (size_t i = 0; m->start_time && !r->answered && i < MULTI_LAST_LINES; i++)
		late |= r->last[i] && strstr(r->last[i], "-starttime ") &&
			strstr(r->last[i], " in the past");
	return late;
}

static void set_why(const struct multi *m, struct multi_rank *r)
{
	const char *name = m->launcher->name;

	if (was_late(m, r)) {
		snprintf(r->why, sizeof(r->why),
			 "was reached after the start time; use a longer -startin");
		r->status = XDD_TARGET_FAILED;
	} else if (r->status == 0 || (m->interrupted && r->status == XDD_CANCELED))
		snprintf(r->why, sizeof(r->why), "%s", r->results.root ? "" : "sent no results");
	else if (r->status == CHILD_SSH)
		snprintf(r->why, sizeof(r->why), "%s cannot reach it, or is not let in", name);
	else if (r->status == CHILD_NOT_FOUND || r->status == CHILD_NOT_EXECUTABLE)
		snprintf(r->why, sizeof(r->why),
			 "cannot start \"%.128s\" there; install xdd there, or give its path with "
			 "-remotexdd",
			 m->remote_xdd);
	else if (r->status > CHILD_SIGNAL)
		snprintf(r->why, sizeof(r->why), "%s was ended by signal %d", name,
			 r->status - CHILD_SIGNAL);
	else
		snprintf(r->why, sizeof(r->why), "ended with status %d", r->status);
}

/* The documents of the others are kept, whatever is wrong with this one. */
static void check_document(const struct multi *m, struct multi_rank *r)
{
	struct document *d = &r->results;
	const char *why = NULL;

	if (!document_read(d, "combine", r->label) || !combine_check(d, m->n > 1))
		why = "sent results that cannot be combined";
	else if (!d->run_id || strcmp(d->run_id, m->run_id) != 0 || !d->ranked ||
		 d->rank != r->number || d->ranks != m->n)
		why = "sent results of another run or rank";
	if (!why)
		return;
	if (!*r->why)
		snprintf(r->why, sizeof(r->why), "%s", why);
	document_free(d);
}

static void read_document(const struct multi *m, struct multi_rank *r)
{
	int err = 0;

	if (r->document_bytes)
		err = document_parse(&r->results, r->document, r->document_bytes);
	if (err == -ENOMEM && !*r->why)
		snprintf(r->why, sizeof(r->why), "its results cannot be read: %s", strerror(-err));
	if (err && !*r->why)
		snprintf(r->why, sizeof(r->why), MULTI_NOISE_TEXT);
	if (r->results.root)
		check_document(m, r);
	if (!*r->why)
		set_why(m, r);
	free(r->document);
	r->document = NULL;
}

static enum xdd_status worse(enum xdd_status a, enum xdd_status b)
{
	return a > b ? a : b;
}

/* The status of a rank among the statuses of xdd; without results it is no better than 4. */
static enum xdd_status status_of(const struct multi *m, const struct multi_rank *r)
{
	enum xdd_status status = XDD_OK;

	if (r->status > XDD_OK && r->status <= XDD_MISCOMPARE)
		status = (enum xdd_status)r->status;
	else if (m->interrupted)
		status = XDD_CANCELED;
	return *r->why && !r->results.root ? worse(status, XDD_TARGET_FAILED) : status;
}

static void report_rank(const struct multi_rank *r)
{
	size_t n = r->n_lines < MULTI_LAST_LINES ? r->n_lines : MULTI_LAST_LINES;

	if (r->results.root && r->results.late_ns > (double)LATE_NS)
		log_warning("multi: %s: started %.3f s late; use a longer -startin", r->label,
			    r->results.late_ns / NS_PER_SEC);
	if (!*r->why)
		return;
	log_error("multi: %s: %s%s", r->label, r->why, n ? "; its last messages:" : "");
	for (size_t i = r->n_lines - n; i < r->n_lines; i++)
		if (r->last[i % MULTI_LAST_LINES])
			log_error("multi: %s:   %s", r->label, r->last[i % MULTI_LAST_LINES]);
}

/* ---- all of them ---- */

/* The documents that there are as one. NULL: there is none, reported. */
static json_t *multi_result_combine(const struct multi *m, size_t *n)
{
	struct document *docs = arena_alloc(m->arena, m->n * sizeof(*docs));
	const char **hosts = arena_alloc(m->arena, m->n * sizeof(*hosts));
	const struct combine_options options = { .rank_hosts = hosts, .n_rank_hosts = m->n };

	*n = 0;
	for (size_t i = 0; i < m->n && docs && hosts; i++) {
		hosts[i] = m->ranks[i].host->name;
		/* Borrowed. */
		if (m->ranks[i].results.root)
			docs[(*n)++] = m->ranks[i].results;
	}
	if (*n)
		return combine_documents(docs, *n, &options);
	return log_fail(NULL, "multi: no host has sent results");
}

static enum xdd_status write_json(const struct multi *m, const json_t *all)
{
	int err = write_file(m->line.json, NULL, 0, all);

	if (!err)
		return XDD_OK;
	bad_file("jsonout", m->line.json, err);
	return XDD_IO_ERROR;
}

/* The printed results are incomplete. */
static enum xdd_status multi_result_no_memory(void)
{
	return log_fail(XDD_IO_ERROR, "multi: %s; the results are incomplete", strerror(ENOMEM));
}

/* The document is last, so that it has the status of all. Returns that status. */
static enum xdd_status multi_result_print(const struct multi *m, json_t *all,
					  enum xdd_status status)
{
	bool json = m->line.json && output_standard(m->line.json) == STDOUT_FILENO;

	if (!json) {
		if (combine_print_text(all, stdout) == -ENOMEM)
			status = worse(status, multi_result_no_memory());
		status = command_flush() ? status : worse(status, XDD_IO_ERROR);
	}
	if (combine_set_status(all, status))
		return worse(status, multi_result_no_memory());
	if (json) {
		if (json_dumpf(all, stdout, JVALUE_FORMAT) && !ferror(stdout))
			status = worse(status, multi_result_no_memory());
		putchar('\n');
		return command_flush() ? status : worse(status, XDD_IO_ERROR);
	}
	return m->line.json ? worse(status, write_json(m, all)) : status;
}

/* Read the documents, report hosts that failed, combine and print. Returns the exit status. */
static enum xdd_status multi_result(struct multi *m)
{
	enum xdd_status status = m->interrupted ? XDD_CANCELED : XDD_OK;
	json_t *all;
	size_t n;

	for (size_t i = 0; i < m->n; i++) {
		struct multi_rank *r = &m->ranks[i];

		status = worse(status, keep_document(m, r));
		read_document(m, r);
		report_rank(r);
		status = worse(status, status_of(m, r));
	}
	all = multi_result_combine(m, &n);
	if (!all)
		return worse(status, XDD_TARGET_FAILED);
	if (n < m->n)
		log_warning("multi: there are results of %zu of %zu ranks", n, m->n);
	status = worse(status, (enum xdd_status)json_integer_value(json_object_get(all, "status")));
	status = multi_result_print(m, all, status);
	json_decref(all);
	return status;
}

void multi_result_free(struct multi *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct multi_rank *r = &m->ranks[i];

		document_free(&r->results);
		free(r->document);
		for (size_t k = 0; k < MULTI_LAST_LINES; k++)
			free(r->last[k]);
		if (r->log)
			fclose(r->log);
	}
}

/* ---- hosts and ranks ---- */

static enum xdd_status read_hosts(struct multi *m)
{
	const struct multi_line *l = &m->line;
	uint32_t slots = (uint32_t)l->slots;
	enum xdd_status status = XDD_OK;

	if (l->hosts)
		status = multi_hosts_add(m->arena, &m->hosts, l->hosts, "-hosts", slots);
	if (!status && l->host_file)
		status = multi_hosts_read(m->arena, &m->hosts, l->host_file, slots);
	if (!status && !l->hosts && !l->host_file && getenv("SLURM_JOB_NODELIST"))
		status = multi_hosts_slurm(m->arena, &m->hosts, slots);
	if (!status && !m->hosts.n) {
		log_error("multi: expected hosts: xdd-multi -hosts <host>,... -- <options of xdd>");
		status = XDD_BAD_ARGUMENT;
	}
	return status;
}

/* True if the list has another entry for the same name, or this one has several ranks. */
static bool has_more(const struct multi_hosts *h, size_t i)
{
	bool more = h->list[i].slots > 1;

	for (size_t k = 0; k < h->n && !more; k++)
		more = k != i && strcmp(h->list[k].name, h->list[i].name) == 0;
	return more;
}

static void add_ranks(struct multi *m, size_t host)
{
	const struct multi_host *h = &m->hosts.list[host];
	const bool more = has_more(&m->hosts, host);

	for (uint32_t k = 0; k < h->slots; k++) {
		struct multi_rank *r = &m->ranks[m->n];

		r->host = h;
		r->number = (uint32_t)m->n++;
		r->label = more ? xarena_printf(m->arena, "%s.%" PRIu32, h->name, r->number) :
				  h->name;
	}
}

static enum xdd_status make_ranks(struct multi *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->hosts.n; i++)
		n += m->hosts.list[i].slots;
	if (n > MULTI_MAX_RANKS)
		return log_refuse("multi: %zu ranks: must be at most %d", n, MULTI_MAX_RANKS);
	m->ranks = xcalloc(n, sizeof(*m->ranks));
	for (size_t i = 0; i < m->hosts.n; i++)
		add_ranks(m, i);
	return XDD_OK;
}

/* ---- the options of xdd ---- */

/* Options that this command gives to each xdd, and what to say instead. */
static const struct reserved {
	const char *name, *say;
} reserved[] = {
	{ "jsonout", "give xdd multi -jsonout <file> or -out <directory>, before --" },
	{ "runid", "give xdd multi -runid <text>, before --" },
	{ "rank", "xdd multi sets it" },
	{ "ranks", "xdd multi sets it" },
	{ "timeserver", "give xdd multi -timeserver <host>, before --" },
	{ "starttime", "give xdd multi -startin <seconds>, before --" },
	{ "attached", "xdd multi sets it" },
	{ "mpi", "use mpirun or srun without xdd multi" },
	{ "dryrun", "give xdd multi -dryrun, before --" },
};

static enum xdd_status refuse_reserved(const char *word)
{
	const struct option *o =
		*word == '-' ? option_find(&run_options, word + (word[1] == '-' ? 2 : 1)) : NULL;

	for (size_t i = 0; o && i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		if (strcmp(o->name, reserved[i].name) == 0)
			return log_refuse("multi: %.128s: is no option of a run on many hosts; %s",
					  word, reserved[i].say);
	}
	return XDD_OK;
}

static enum xdd_status check_words(struct multi *m)
{
	for (char *const *w = m->words; *w; w++) {
		enum xdd_status status = refuse_reserved(*w);

		if (status)
			return status;
	}
	if (*m->words)
		return XDD_OK;
	return log_refuse(
		"multi: expected the options of xdd after --: xdd-multi -hosts a,b -- -op read "
		"-targets 1 /data/big");
}

static enum xdd_status set_run_id(struct multi *m)
{
	uint64_t bits;

	m->run_id = m->line.run_id;
	if (m->run_id && !plan_run_id_fits(m->run_id))
		return log_refuse("multi -runid %.128s: " PLAN_RUN_ID_EXPECTED, m->run_id);
	if (m->run_id)
		return XDD_OK;
	if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
		bits = clock_kernel_ns();
	m->run_id = xarena_printf(m->arena, "%016" PRIx64, bits);
	return XDD_OK;
}

/* ---- the run ---- */

static enum xdd_status print_words(struct multi *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct multi_rank *r = &m->ranks[i];

		printf("# rank %" PRIu32 " of %zu: %s\n", r->number, m->n, r->label);
		for (char *const *w = r->words; *w; w++) {
			const char *quoted = xneed(quote_word(m->arena, *w));

			printf("%s%s", w == r->words ? "" : " ", quoted);
		}
		putchar('\n');
	}
	return command_flush() ? XDD_OK : XDD_IO_ERROR;
}

static enum xdd_status run(struct multi *m)
{
	enum xdd_status status = multi_signals(m);

	if (!status)
		status = multi_time_begin(m);
	if (!status)
		status = multi_launcher_words(m);
	if (!status && m->line.dry_run)
		status = print_words(m);
	else if (!status) {
		status = multi_result_open(m);
		if (!status)
			status = multi_run(m);
		multi_time_end(m);
		if (!status)
			status = multi_result(m);
	}
	multi_time_end(m);
	return status;
}

static enum xdd_status multi_prepare(struct multi *m)
{
	enum xdd_status status = check_words(m);

	if (!status)
		status = read_hosts(m);
	if (!status)
		status = make_ranks(m);
	if (!status)
		status = multi_launcher_choose(m);
	if (!status)
		status = set_run_id(m);
	return status;
}

static enum xdd_status run_line(struct multi *m)
{
	enum xdd_status status = multi_prepare(m);

	if (!status)
		status = run(m);
	if (m->ranks)
		multi_result_free(m);
	free(m->ranks);
	return status;
}

/* The words after "--" are for xdd. */
static enum xdd_status take_words(struct line *l)
{
	struct multi *m = l->to;
	const char *word = l->argv[l->at], *value;
	enum xdd_status status;

	if (strcmp(word, "--") != 0) {
		if (line_option(l, &value) || !option_is_word(&run_options, word))
			return XDD_OK;
		status = refuse_reserved(word);
		return status ? status :
				log_fail(XDD_BAD_OPTION,
					 "multi %s: is an option of a run; say it after --", word);
	}
	m->words = l->argv + l->at + 1;
	l->at = l->argc;
	return XDD_OK;
}

static int multi_main(int argc, char **argv)
{
	struct multi m = { .line = { .slots = 1,
				     .start_in_ns = UINT64_MAX,
				     .timeout_ns = 30 * NS_PER_SEC,
				     .grace_ns = 10 * NS_PER_SEC },
			   .words = argv + argc };
	struct line l = {
		.name = "multi", .options = &multi_options, .to = &m, .other = take_words
	};
	enum xdd_status status = line_read(&l, argc, argv);

	if (status)
		return (int)status;
	if (l.shows)
		return (int)command_show(&command_multi, l.shows);
	m.arena = xarena_new();
	status = run_line(&m);
	arena_free(m.arena);
	return (int)status;
}

const struct command command_multi = {
	.name = "multi",
	.summary = "one run on many hosts: one start, one result; also as xdd-multi",
	.usage =
		"usage: xdd-multi -hosts <host>,... [<option> ...] -- <option of xdd> ...\n"
		"       xdd-multi -hostfile <file> [<option> ...] -- <option of xdd> ...\n"
		"       xdd-multi [<option> ...] -- <option of xdd> ...      inside of Slurm\n"
		"\n"
		"Starts xdd on all hosts with the same options and one start time, gathers their\n"
		"results and combines them. In the options of xdd %h stands for the host, %r for\n"
		"the rank (from 0), %n for the number of ranks, and %% for a percent sign. A host\n"
		"that fails is named with its last messages; the results of the others are kept.\n"
		"xdd-multi is xdd multi.\n",
	.options = &multi_options,
	.footer =
		"Exit status: the greatest of all hosts, where a host that cannot be reached, has\n"
		"no xdd, is silent or sends no results counts as 4: 0 done; 1 initialisation\n"
		"failed; 2 invalid argument; 3 invalid option; 4 a target or host could not\n"
		"start; 5 a signal ended the run; 6 I/O errors; 7 data miscompares.\n",
	.main = multi_main,
};
