/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One command line out of the words of xdd for each part of one in the words of other tools. Some
 * depend on others:
 *
 *   @512          blocks have 512 bytes if nothing else is said
 *   @jobs N       the target stands for N targets
 *   @tasks N      the same, unless there are N targets
 *   @timebased    the amount is the range that time limits go over again and again
 *   @allocate     the amount is preallocated
 *   @log F        -intervals, with the length of ...
 *   @period T     ... an interval
 *   @json         the output is in JSON
 *   @verify       data that is read is verified
 *   @from F @to F a target to read or to write; not both
 *   @hosts, @hostfile H  xdd multi starts the run on these hosts
 *   @csv          a line for spreadsheets, unless there is one
 *
 * and for foreign_tasks.c:
 *
 *   @once         each file once, to its end
 *   @create N     files of N bytes are written
 *   @perfile      a file for each task
 *   @next, @any, @seed N, @distance N  reads of what other tasks wrote
 */
#include <string.h>

#include "plan/foreign_answer.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/option.h"

#define IF_NONE '?'

void fit_refuse(struct fitting *f, const char *why)
{
	f->why = f->why ? f->why : why;
}

/* NULL: there is no room for more. Groups do not move, because functions keep pointers to them. */
static struct group *new_group(struct fitting *f)
{
	if (f->n < f->room)
		return &f->groups[f->n++];
	fit_refuse(f, "there are too many words");
	return NULL;
}

static void add_group(struct fitting *f, const char **words, size_t n,
		      const struct foreign_part *part)
{
	struct group *g = new_group(f);

	if (!g)
		return;
	*g = (struct group){ .words = words, .n = n, .part = part };
	if (words[0][0] == IF_NONE) {
		g->if_none = true;
		words[0]++;
	}
	if (words[0][0] == '-')
		g->opt = option_find(f->table, words[0] + strspn(words[0], "-"));
}

static bool begins_group(const char *word)
{
	return word[0] == IF_NONE || foreign_is_special(word) ||
	       (word[0] == '-' && word[1] && !strchr("0123456789", word[1]));
}

static void add_part(struct fitting *f, const struct foreign_part *part)
{
	const char **words = NULL;
	int n = 0;

	if (part->row && !part->row->say) {
		f->lost[part - f->parts] = true;
	} else if (part->row) {
		n = foreign_words(f->arena, part->row, part->value, &words);
	} else if (part->opt) {
		words = xarena_alloc(f->arena, (part->n_words + 2) * sizeof(*words));
		words[n++] = part->joined ? xarena_printf(f->arena, "-%s", part->name) :
					    part->words[0].text;
		if (part->joined)
			words[n++] = part->value;
		for (size_t i = 1; i < part->n_words; i++)
			words[n++] = part->words[i].text;
		add_group(f, words, (size_t)n, part);
		return;
	}
	if (n < 0)
		fit_refuse(f, "a value is missing");
	for (int i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !begins_group(words[end]); end++)
			;
		add_group(f, words + i, (size_t)(end - i), part);
	}
	/* Words after a value that is not xdd's. */
	if (part->row && part->opt && !part->joined && part->n_words > 2)
		fit_refuse(f, "there are words after a value");
}

/* ---- words that depend on others ---- */

struct group *fit_find_special(struct fitting *f, const char *word)
{
	for (size_t i = 0; i < f->n; i++) {
		if (!f->groups[i].gone && strcmp(f->groups[i].words[0], word) == 0)
			return &f->groups[i];
	}
	return NULL;
}

struct group *fit_find_option(struct fitting *f, const char *name)
{
	const struct option *opt = option_find(f->table, name);

	for (size_t i = 0; i < f->n; i++) {
		if (!f->groups[i].gone && f->groups[i].opt == opt)
			return &f->groups[i];
	}
	return NULL;
}

struct group *fit_find_given(struct fitting *f, const char *name)
{
	const struct option *opt = option_find(f->table, name);

	for (size_t i = 0; i < f->n; i++) {
		struct group *g = &f->groups[i];

		if (!g->gone && !g->if_none && g->opt == opt)
			return g;
	}
	return NULL;
}

bool fit_has_option(struct fitting *f, const char *const *names)
{
	for (; *names; names++) {
		if (fit_find_option(f, *names))
			return true;
	}
	return false;
}

void fit_become(struct fitting *f, struct group *g, size_t n, const char *const *words)
{
	g->words = xarena_alloc(f->arena, n * sizeof(*words));
	g->n = n;
	memcpy(g->words, words, n * sizeof(*words));
	g->opt = option_find(f->table, words[0] + 1);
}

#define BECOME(f, g, ...) fit_become(f, g, FIT_LIST(__VA_ARGS__))

void fit_add(struct fitting *f, const struct group *like, size_t n, const char *const *words)
{
	struct group *g = new_group(f);

	if (!g)
		return;
	*g = (struct group){ .part = like->part };
	fit_become(f, g, n, words);
}

void fit_lose(struct fitting *f, struct group *g)
{
	if (!g)
		return;
	g->gone = true;
	f->lost[g->part - f->parts] = true;
}

static bool is_bare(const char *value)
{
	return !value[strspn(value, "0123456789")];
}

/* The blocks of dd. */
static void fit_blocks(struct fitting *f)
{
	struct group *blocks;

	while ((blocks = fit_find_special(f, "@512"))) {
		blocks->gone = true;
		if (fit_find_option(f, "blocksize"))
			continue;
		blocks->gone = false;
		if (fit_find_option(f, "reqsize"))
			BECOME(f, blocks, "-blocksize", "512");
		else
			BECOME(f, blocks, "-blocksize", "512", "-reqsize", "1");
	}
}

/* A run that only writes has nothing to verify. */
static void fit_verify(struct fitting *f)
{
	struct group *verify, *op = fit_find_option(f, "op");
	bool writes = op && op->n > 1 && strcmp(op->words[1], "write") == 0;

	while ((verify = fit_find_special(f, "@verify"))) {
		verify->gone = true;
		if (!writes && !fit_find_option(f, "verify")) {
			verify->gone = false;
			BECOME(f, verify, "-verify", "contents");
		}
	}
}

static void fit_jobs(struct fitting *f)
{
	struct group *jobs = fit_find_special(f, "@jobs"), *tasks = fit_find_special(f, "@tasks"),
		     *target = fit_find_option(f, "target"), *list = fit_find_option(f, "targets");

	if (!jobs && !tasks)
		return;
	jobs = jobs ? jobs : tasks;
	jobs->gone = true;
	if (strcmp(jobs->words[1], "1") == 0)
		return;
	if (tasks && list && strcmp(list->words[1], jobs->words[1]) == 0)
		return;
	if (!target || list)
		fit_refuse(f, "there must be one name for several jobs");
	else
		BECOME(f, target, "-targets", xarena_printf(f->arena, "-%s", jobs->words[1]),
		       target->words[1]);
}

static void fit_amount(struct fitting *f)
{
	struct group *allocate = fit_find_special(f, "@allocate"),
		     *again = fit_find_special(f, "@timebased"),
		     *amount = fit_find_option(f, "bytes");

	if (allocate && amount)
		BECOME(f, allocate, "-preallocate", amount->words[1]);
	else if (allocate)
		allocate->gone = true;
	if (!again)
		return;
	again->gone = true;
	if (amount && is_bare(amount->words[1]))
		BECOME(f, amount, "-range", xarena_printf(f->arena, "%sB", amount->words[1]));
	else if (amount)
		BECOME(f, amount, "-range", amount->words[1]);
}

static void fit_outputs(struct fitting *f)
{
	struct group *json = fit_find_special(f, "@json"), *output = fit_find_option(f, "output"),
		     *period = fit_find_special(f, "@period"), *log = fit_find_special(f, "@log");
	const char *length = period ? period->words[1] : "1";

	if (json && output) {
		json->gone = true;
		BECOME(f, output, "-jsonout", output->words[1]);
	} else if (json) {
		BECOME(f, json, "-jsonout", "-");
	}
	if (log)
		BECOME(f, log, "-intervals", length, "output", log->words[1]);
	else if (period)
		BECOME(f, period, "-intervals", length);
	if (log && period)
		period->gone = true;
	while ((log = fit_find_special(f, "@log")))
		log->gone = true;
}

/* xdisk has colons, commas and number signs between hosts. */
static const char *with_commas(struct fitting *f, const char *hosts)
{
	char *text = xarena_strdup(f->arena, hosts);

	for (char *c = text; *c; c++)
		*c = *c == ':' || *c == '#' ? ',' : *c;
	return text;
}

/* xdd multi, which has its own summary, starts the run on other hosts. */
static void fit_hosts(struct fitting *f)
{
	struct group *hosts = fit_find_special(f, "@hosts"),
		     *file = fit_find_special(f, "@hostfile"), *csv = fit_find_special(f, "@csv");
	struct group *g = hosts ? hosts : file;

	if (csv && fit_find_option(f, "csvout"))
		csv->gone = true;
	else if (csv && g)
		fit_lose(f, csv);
	else if (csv)
		BECOME(f, csv, "-csvout", "-");
	if (!g)
		return;
	f->multi = hosts ? "-hosts" : "-hostfile";
	f->hosts = hosts ? with_commas(f, g->words[1]) : g->words[1];
	g->gone = true;
	if (hosts && file)
		fit_lose(f, file);
}

/* if= and of=. */
static void fit_direction(struct fitting *f)
{
	struct group *from = fit_find_special(f, "@from"), *to = fit_find_special(f, "@to");
	const char *source, *copy;

	if (from && to) {
		source = xneed(quote_word(f->arena, from->words[1]));
		copy = xneed(quote_word(f->arena, to->words[1]));
		fit_refuse(f, xarena_printf(f->arena, "a run reads or writes; xddcp %s %s copies",
					    source, copy));
	} else if (from) {
		BECOME(f, from, "-op", "read", "-target", from->words[1]);
	} else if (to) {
		BECOME(f, to, "-op", "write", "-target", to->words[1]);
	}
}

/* Of two -datapattern the last would replace the first, but both shares may be in one. */
static void fit_pattern(struct fitting *f)
{
	const struct option *opt = option_find(f->table, "datapattern");
	struct group *compress = NULL, *dedupe = NULL;

	for (size_t i = 0; i < f->n; i++) {
		struct group *g = &f->groups[i];

		if (g->gone || g->opt != opt || g->n != 3)
			continue;
		if (strcmp(g->words[1], "compress") == 0)
			compress = g;
		else if (strcmp(g->words[1], "dedupe") == 0)
			dedupe = g;
	}
	if (!compress || !dedupe)
		return;
	BECOME(f, compress, "-datapattern", "compress", compress->words[2], "dedupe",
	       dedupe->words[2]);
	dedupe->gone = true;
}

/* A command line that says to read and to write would do what comes last. */
static void fit_operation(struct fitting *f)
{
	const struct group *op = fit_find_option(f, "op");

	for (size_t i = 0; op && i < f->n; i++) {
		const struct group *g = &f->groups[i];

		if (!g->gone && g->opt == op->opt && g->n == 2 && op->n == 2 &&
		    strcmp(g->words[1], op->words[1]) != 0)
			fit_refuse(f, "there are two operations");
	}
}

/* ---- the same option twice ---- */

/* True if `b` begins with the words of `a`. */
static bool begins_with(const struct group *b, const struct group *a)
{
	if (a->n > b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (strcmp(a->words[i], b->words[i]) != 0)
			return false;
	}
	return true;
}

static bool is_needless(const struct fitting *f, const struct group *g)
{
	for (const struct group *other = f->groups; other < f->groups + f->n; other++) {
		if (other == g || other->gone || other->opt != g->opt)
			continue;
		if (g->if_none && (!other->if_none || other < g))
			return true;
		if (begins_with(other, g) && (other->n > g->n || other < g))
			return true;
	}
	return false;
}

static void join(struct fitting *f, struct foreign_fit *fit)
{
	size_t room = 1;

	for (size_t i = 0; i < f->n; i++) {
		f->groups[i].gone = f->groups[i].gone || is_needless(f, &f->groups[i]);
		room += f->groups[i].n;
	}
	fit->n = 0;
	fit->why = f->why;
	fit->lost = f->lost;
	fit->multi = f->multi;
	fit->hosts = f->hosts;
	fit->words = xarena_alloc(f->arena, room * sizeof(*fit->words));
	fit->from = xarena_alloc(f->arena, room * sizeof(*fit->from));
	for (size_t i = 0; i < f->n; i++) {
		const struct group *g = &f->groups[i];

		for (size_t k = 0; k < g->n && !g->gone; k++) {
			fit->from[fit->n] = g->part->words[0].pos;
			fit->words[fit->n++] = g->words[k];
		}
	}
}

#define GROUPS_PER_PART 4
#define GROUPS_EXTRA 160

void foreign_fit(struct arena *arena, const struct option_table *table,
		 const struct foreign_part *parts, size_t n, size_t leave, struct foreign_fit *fit)
{
	struct fitting f = { .arena = arena,
			     .table = table,
			     .room = n * GROUPS_PER_PART + GROUPS_EXTRA,
			     .parts = parts,
			     .n_parts = n };

	f.groups = xarena_alloc(arena, f.room * sizeof(*f.groups));
	f.lost = xarena_alloc(arena, n * sizeof(*f.lost) + 1);
	for (size_t i = 0; i < n; i++) {
		if (i != leave)
			add_part(&f, &parts[i]);
	}
	fit_tasks(&f);
	fit_blocks(&f);
	fit_verify(&f);
	fit_jobs(&f);
	fit_amount(&f);
	fit_outputs(&f);
	fit_hosts(&f);
	fit_direction(&f);
	fit_operation(&f);
	fit_pattern(&f);
	join(&f, fit);
}
