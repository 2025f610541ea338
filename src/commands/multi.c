/*
 * The command xdd multi, which the script xdd-multi starts: a run on many hosts with one start and
 * one result. Called by main.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/line.h"
#include "commands/multi.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/plan/help.h"
#include "xdd/plan/option.h"

static enum xdd_status no_memory(void)
{
	log_error("multi: %s", strerror(ENOMEM));
	return XDD_INIT_FAILED;
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

static enum xdd_status add_ranks(struct multi *m, size_t host)
{
	const struct multi_host *h = &m->hosts.list[host];
	const bool more = has_more(&m->hosts, host);

	for (uint32_t k = 0; k < h->slots; k++) {
		struct multi_rank *r = &m->ranks[m->n];

		r->host = h;
		r->number = (uint32_t)m->n++;
		r->label = more ? arena_printf(m->arena, "%s.%" PRIu32, h->name, r->number) :
				  h->name;
		if (!r->label)
			return no_memory();
	}
	return XDD_OK;
}

static enum xdd_status make_ranks(struct multi *m)
{
	enum xdd_status status = XDD_OK;
	size_t n = 0;

	for (size_t i = 0; i < m->hosts.n; i++)
		n += m->hosts.list[i].slots;
	if (n > MULTI_MAX_RANKS) {
		log_error("multi: %zu ranks: must be at most %d", n, MULTI_MAX_RANKS);
		return XDD_BAD_ARGUMENT;
	}
	m->ranks = calloc(n, sizeof(*m->ranks));
	if (!m->ranks)
		return no_memory();
	for (size_t i = 0; i < m->hosts.n && !status; i++)
		status = add_ranks(m, i);
	return status;
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

static enum xdd_status check_words(struct multi *m)
{
	for (char *const *w = m->words; *w; w++) {
		const struct option *o =
			**w == '-' ? option_find(&run_options, *w + ((*w)[1] == '-' ? 2 : 1)) :
				     NULL;

		for (size_t i = 0; o && i < sizeof(reserved) / sizeof(reserved[0]); i++) {
			if (strcmp(o->name, reserved[i].name) != 0)
				continue;
			log_error("multi: %.128s: is no option of a run on many hosts; %s", *w,
				  reserved[i].say);
			return XDD_BAD_ARGUMENT;
		}
	}
	if (*m->words)
		return XDD_OK;
	log_error("multi: expected the options of xdd after --: xdd-multi -hosts a,b -- -op read "
		  "-targets 1 /data/big");
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status set_run_id(struct multi *m)
{
	uint64_t bits;

	m->run_id = m->line.run_id;
	if (m->run_id)
		return XDD_OK;
	if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
		bits = clock_kernel_ns();
	m->run_id = arena_printf(m->arena, "%016" PRIx64, bits);
	return m->run_id ? XDD_OK : no_memory();
}

/* ---- the run ---- */

static enum xdd_status print_words(struct multi *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct multi_rank *r = &m->ranks[i];

		printf("# rank %" PRIu32 " of %zu: %s\n", r->number, m->n, r->label);
		for (char *const *w = r->words; *w; w++) {
			const char *quoted = quote_word(m->arena, *w);

			if (!quoted)
				return no_memory();
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

static enum xdd_status prepare(struct multi *m)
{
	enum xdd_status status = check_words(m);

	if (!status)
		status = read_hosts(m);
	if (!status)
		status = make_ranks(m);
	if (!status)
		status = multi_launcher_choose(m);
	return status ? status : set_run_id(m);
}

static enum xdd_status run_line(struct multi *m)
{
	enum xdd_status status = prepare(m);

	if (!status)
		status = run(m);
	if (m->ranks)
		multi_result_free(m);
	free(m->ranks);
	return status;
}

static int multi_main(int argc, char **argv)
{
	struct multi m = { .line = { .slots = 1,
				     .start_in_ns = UINT64_MAX,
				     .timeout_ns = 30 * NS_PER_SEC,
				     .grace_ns = 10 * NS_PER_SEC } };
	enum xdd_status status;
	bool help = false;
	int own = 1;

	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	m.words = argv + (own < argc ? own + 1 : argc);
	status = line_read(&command_multi, own, argv, &m.line, &help);
	if (status)
		return (int)status;
	if (help || m.line.version) {
		if (help)
			command_help(&command_multi);
		else
			help_version();
		return command_flush() ? XDD_OK : XDD_IO_ERROR;
	}
	m.arena = arena_new();
	if (!m.arena)
		return (int)no_memory();
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
