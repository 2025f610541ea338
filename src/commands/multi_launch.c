/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Launchers, and the words that they get for each rank: multi.h. Called by multi.c.
 *
 * Each rank has a launcher process of its own, whichever the launcher is, so each has a status, a
 * document and messages of its own, and words of its own.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/copy_line.h"
#include "commands/multi.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/runs.h"
#include "xdd/sys/child.h"

/* The kernel takes no longer word. */
#define WORD_MAX_BYTES (128u << 10)
#define MORE_WORDS 24
#define NAMED_WORD 128 /* bytes of a word in a message */

static const struct multi_launcher launchers[] = {
	{ .name = "ssh",
	  .command = "ssh",
	  .attached = "input",
	  .shell = true,
	  .users = true,
	  .addresses = true },
	/* Steps share the allocation: there is one for each rank. */
	{ .name = "srun", .command = "srun --overlap", .attached = "input" },
	{ .name = "mpirun", .command = "mpirun", .attached = "input" },
	/* It has no standard input for the other side. */
	{ .name = "pdsh",
	  .command = "pdsh",
	  .attached = "output",
	  .shell = true,
	  .end_signal = SIGINT,
	  .users = true },
};

#define N_LAUNCHERS (sizeof(launchers) / sizeof(launchers[0]))

/* ---- the choice ---- */

static const struct multi_launcher *find(const char *name)
{
	for (size_t i = 0; i < N_LAUNCHERS; i++)
		if (strcmp(launchers[i].name, name) == 0)
			return &launchers[i];
	return NULL;
}

static enum xdd_status split_command(struct multi *m)
{
	const char *from = "-S", *text = m->line.command;
	int err;

	if (!text && strcmp(m->launcher->name, "ssh") == 0) {
		from = "XDD_MULTI_SSH";
		text = getenv(from);
	}
	if (!text || (!*text && !m->line.command))
		text = m->launcher->command;
	err = copy_split(m->arena, text, &m->command);
	if (err)
		log_error("multi %s %.128s: %s", from, text,
			  err == -EINVAL ? "a quote is not closed" :
					   "expected a command, such as 'ssh -p 2222'");
	return err ? XDD_BAD_ARGUMENT : XDD_OK;
}

/* True if execvp(3) finds the program. */
static bool is_there(struct arena *arena, const char *program)
{
	const char *path = getenv("PATH");

	if (strchr(program, '/'))
		return access(program, X_OK) == 0;
	for (; path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
		int length = (int)strcspn(path, ":");
		char *name = xarena_printf(arena, "%.*s%s%s", length, path, length ? "/" : "./",
					   program);

		if (access(name, X_OK) == 0)
			return true;
	}
	return false;
}

static enum xdd_status check_program(struct multi *m)
{
	if (is_there(m->arena, m->command[0]))
		return XDD_OK;
	return log_refuse(
		"multi -launcher %s: cannot find the program \"%.128s\"; install it, or give "
		"another one with -S, or another launcher",
		m->launcher->name, m->command[0]);
}

static enum xdd_status check_hosts(const struct multi *m)
{
	for (size_t i = 0; i < m->hosts.n; i++) {
		const struct multi_host *h = &m->hosts.list[i];
		const char *name = m->launcher->name;

		if (h->user && !m->launcher->users)
			return log_refuse(
				"multi %s@%s: %s starts processes of this user only; leave out "
				"the user, or use -launcher ssh",
				h->user, h->name, name);
		if (strchr(h->name, ':') && !m->launcher->addresses)
			return log_refuse("multi %s: %s takes names of hosts, and no IPv6 address",
					  h->name, name);
	}
	return XDD_OK;
}

/* The directory of a program, or the program. */
static const char *program_of(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;

	if (strcmp(last, "xdd") == 0 || strncmp(last, "xdd.", 4) == 0)
		return path;
	return xarena_printf(arena, "%s%sxdd", path, *last ? "/" : "");
}

enum xdd_status multi_launcher_choose(struct multi *m)
{
	const char *name = m->line.launcher;
	enum xdd_status status;

	if (!name)
		name = getenv("SLURM_JOB_NODELIST") ? "srun" : "ssh";
	m->launcher = find(name);
	if (!m->launcher)
		return log_refuse("multi -launcher %.128s: expected ssh, srun, mpirun or pdsh",
				  name);
	m->remote_xdd = m->line.remote_xdd ? program_of(m->arena, m->line.remote_xdd) : "xdd";
	if (m->launcher->shell && ssh_has_control(m->remote_xdd))
		return log_refuse("multi -remotexdd: must not have control characters");
	status = split_command(m);
	if (!status)
		status = check_program(m);
	return status ? status : check_hosts(m);
}

/* ---- the words of xdd ---- */

static const char *number(struct arena *arena, uint64_t n)
{
	return xarena_printf(arena, "%" PRIu64, n);
}

/* The number of ranks of each host, if all have as many. Otherwise 1. */
static uint32_t ranks_per_node(const struct multi *m)
{
	const struct multi_host *list = m->hosts.list;
	size_t i = 1;

	while (i < m->hosts.n && list[i].slots == list[0].slots &&
	       strcmp(list[i].name, list[i - 1].name) != 0)
		i++;
	return i == m->hosts.n ? list[0].slots : 1;
}

/* True if the words of xdd have this option. */
static bool is_given(const struct multi *m, const char *name)
{
	bool given = false;

	for (char *const *w = m->words; *w && !given; w++) {
		const struct option *o =
			**w == '-' ? option_find(&run_options, *w + ((*w)[1] == '-' ? 2 : 1)) :
				     NULL;

		given = o && strcmp(o->name, name) == 0;
	}
	return given;
}

/* The options that this command gives to each xdd. */
static size_t own_words(const struct multi *m, const struct multi_rank *r, const char **w)
{
	size_t n = 0;

	w[n++] = "-runid";
	w[n++] = m->run_id;
	w[n++] = "-rank";
	w[n++] = number(m->arena, r->number);
	w[n++] = "-ranks";
	w[n++] = number(m->arena, m->n);
	if (ranks_per_node(m) > 1 && !is_given(m, "rankspernode")) {
		w[n++] = "-rankspernode";
		w[n++] = number(m->arena, ranks_per_node(m));
	}
	if (m->time_port) {
		w[n++] = "-timeserver";
		w[n++] = "host";
		w[n++] = multi_time_host(m, r->host);
		w[n++] = "-timeserver";
		w[n++] = "port";
		w[n++] = m->time_port;
	}
	if (m->start_time) {
		w[n++] = "-starttime";
		w[n++] = m->start_time;
	}
	w[n++] = "-jsonout";
	w[n++] = "-";
	w[n++] = "-attached";
	w[n++] = m->launcher->attached;
	return n;
}

/* Replace the placeholders of a word. NULL: reported. */
static const char *replace(const struct multi *m, const struct multi_rank *r, const char *word)
{
	const struct placeholders p = { .host = r->host->name,
					.rank = r->number,
					.n_ranks = (uint32_t)m->n };
	const char *result, *why = placeholder_replace(m->arena, word, &p, &result);

	if (!why)
		return result;
	return log_fail(NULL, "multi %.*s: %s", NAMED_WORD, word, why);
}

/* All words of xdd for a rank. NULL: reported. */
static const char **xdd_words(const struct multi *m, const struct multi_rank *r, size_t *n)
{
	size_t user = 0;
	const char **w;

	while (m->words[user])
		user++;
	w = xarena_alloc(m->arena, (user + MORE_WORDS) * sizeof(*w));
	w[0] = m->remote_xdd;
	for (*n = 1; *n <= user; (*n)++) {
		w[*n] = replace(m, r, m->words[*n - 1]);
		if (!w[*n])
			return NULL;
	}
	*n += own_words(m, r, w + *n);
	return w;
}

/* The words as a command of a shell. NULL: reported. */
static const char *shell_command(struct arena *arena, const char *const *w, size_t n)
{
	size_t size = sizeof("exec");
	char *text, *to;

	for (size_t i = 0; i < n; i++) {
		if (ssh_has_control(w[i]))
			return log_fail(
				NULL,
				"multi: a word of xdd has control characters, which not every "
				"shell of another host takes as they are");
		size += 4 * strlen(w[i]) + 3;
	}
	text = xarena_alloc(arena, size);
	to = stpcpy(text, "exec");
	for (size_t i = 0; i < n; i++) {
		const char *quoted =
			xneed(i ? ssh_quote(arena, w[i]) : ssh_quote_path(arena, w[i]));

		*to++ = ' ';
		to = stpcpy(to, quoted);
	}
	if ((size_t)(to - text) < WORD_MAX_BYTES)
		return text;
	return log_fail(
		NULL,
		"multi: the command for a host is longer than 128 KiB; use -setup with a file on "
		"the hosts");
}

/* ---- the words of launchers ---- */

/* Those of a launcher without a shell: its options for the host, then the words of xdd. */
static char **plain_words(const struct multi *m, const struct multi_host *h, const char *const *w,
			  size_t n)
{
	const bool srun = strcmp(m->launcher->name, "srun") == 0;
	const char *list = xarena_printf(m->arena, "--nodelist=%s", h->name);
	size_t own = 0;
	const char **all, **to;

	while (m->command[own])
		own++;
	all = xarena_alloc(m->arena, (own + n + MORE_WORDS) * sizeof(*all));
	memcpy(all, m->command, own * sizeof(*all));
	to = all + own;
	if (srun) {
		*to++ = "--nodes=1";
		*to++ = "--ntasks=1";
		*to++ = list;
	} else {
		*to++ = "-np";
		*to++ = "1";
		*to++ = "--host";
		*to++ = h->name;
	}
	memcpy(to, w, n * sizeof(*to));
	return (char **)(uintptr_t)all;
}

/*
 * pdsh has placeholders of its own where it starts ssh, %h for one, and none where it is its own
 * rsh. An empty word of the shell between both characters leaves none in either case.
 */
static const char *without_placeholders(struct arena *arena, const char *command)
{
	char *text = xarena_alloc(arena, 3 * strlen(command) + 1), *to = text;

	for (; *command; command++) {
		*to++ = *command;
		if (*command == '%')
			to = stpcpy(to, "''");
	}
	*to = '\0';
	return text;
}

static char **pdsh_words(const struct multi *m, const struct multi_host *h, const char *shell)
{
	const char *host = h->user ? xarena_printf(m->arena, "%s@%s", h->user, h->name) : h->name;
	const char *command = without_placeholders(m->arena, shell);
	size_t own = 0;
	const char **all, **to;

	while (m->command[own])
		own++;
	all = xarena_alloc(m->arena, (own + MORE_WORDS) * sizeof(*all));
	memcpy(all, m->command, own * sizeof(*all));
	to = all + own;
	/* One SIGINT ends it and the commands; no names before the lines; their status. */
	*to++ = "-b";
	*to++ = "-N";
	*to++ = "-S";
	*to++ = "-w";
	*to++ = host;
	*to++ = command;
	return (char **)(uintptr_t)all;
}

/*
 * A command for the shell of the host that interrupts the xdd of a rank. The words of pdsh, and of
 * the ssh that it starts, have the same options, so the program must be xdd.
 */
static const char *interrupt_command(const struct multi *m, const struct multi_rank *r)
{
	char *id = xarena_strdup(m->arena, m->run_id);

	/* Other characters may mean something to the shell, and in a regular expression. */
	for (char *c = id; *c; c++) {
		if (!isalnum((unsigned char)*c))
			*c = '.';
	}
	return xarena_printf(m->arena,
			     "exec pkill -INT -f '^[^ ]*xdd[^ ]* .*-runid %s -rank %" PRIu32 " '",
			     id, r->number);
}

static enum xdd_status set_words(const struct multi *m, struct multi_rank *r)
{
	const struct multi_host *h = r->host;
	const char **w, *command = NULL;
	size_t n;

	w = xdd_words(m, r, &n);
	if (w && m->launcher->shell)
		command = shell_command(m->arena, w, n);
	if (!w || (m->launcher->shell && !command))
		return XDD_BAD_ARGUMENT;
	if (strcmp(m->launcher->name, "pdsh") == 0) {
		r->words = pdsh_words(m, h, command);
		r->ask = pdsh_words(m, h, interrupt_command(m, r));
	} else if (!m->launcher->shell) {
		r->words = plain_words(m, h, w, n);
	} else {
		r->words = xneed(
			ssh_words(m->arena, m->command, SSH_BATCH, h->user, h->name, command));
	}
	return XDD_OK;
}

/* Mistakes in the options of xdd are found here, and not on each host. */
static enum xdd_status check_words(const struct multi *m)
{
	size_t n = 0;
	char **w;

	while (m->words[n])
		n++;
	w = xarena_alloc(m->arena, (n + 2) * sizeof(*w));
	w[0] = (char *)(uintptr_t) "xdd";
	for (size_t i = 0; i < n; i++) {
		w[i + 1] = (char *)(uintptr_t)replace(m, &m->ranks[0], m->words[i]);
		if (!w[i + 1])
			return XDD_BAD_ARGUMENT;
	}
	return plan_check_words((int)n + 1, w);
}

enum xdd_status multi_launcher_words(struct multi *m)
{
	enum xdd_status status = check_words(m);

	for (size_t i = 0; i < m->n && !status; i++)
		status = set_words(m, &m->ranks[i]);
	return status;
}
