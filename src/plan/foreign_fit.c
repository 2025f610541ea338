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
 */
#include <errno.h>
#include <string.h>

#include "plan/foreign_answer.h"
#include "xdd/base/arena.h"

#define IF_NONE '?'

/* An option and its words. */
struct group {
	const char **words;
	size_t n;
	unsigned from;
	bool if_none; /* only where there is no other group of the same option */
	bool gone;
	const struct option *opt; /* NULL: special */
};

struct fitting {
	struct arena *arena;
	const struct option_table *table;
	struct group *groups;
	size_t n, room;
	bool complete;
	bool no_memory;
};

static void add_group(struct fitting *f, const char **words, size_t n, unsigned from)
{
	struct group *g = f->n < f->room ? &f->groups[f->n++] : NULL;

	if (!g) {
		f->no_memory = true;
		return;
	}
	*g = (struct group){ .words = words, .n = n, .from = from };
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
	unsigned from = part->words[0].pos;
	const char **words = NULL;
	int n = 0;

	if (part->row) {
		n = foreign_words(f->arena, part->row, part->value, &words);
	} else if (part->opt) {
		words = arena_alloc(f->arena, (part->n_words + 2) * sizeof(*words));
		f->no_memory = f->no_memory || !words;
		if (!words)
			return;
		words[n++] = part->joined ? arena_printf(f->arena, "-%s", part->name) :
					    part->words[0].text;
		if (part->joined)
			words[n++] = part->value;
		for (size_t i = 1; i < part->n_words; i++)
			words[n++] = part->words[i].text;
		add_group(f, words, (size_t)n, from);
		return;
	}
	if (n < 0)
		f->complete = false;
	for (int i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !begins_group(words[end]); end++)
			;
		add_group(f, words + i, (size_t)(end - i), from);
	}
	/* Words after a value that is not xdd's. */
	if (part->row && part->opt && !part->joined && part->n_words > 2)
		f->complete = false;
}

/* ---- words that depend on others ---- */

static struct group *find_special(struct fitting *f, const char *word)
{
	for (size_t i = 0; i < f->n; i++) {
		if (!f->groups[i].gone && strcmp(f->groups[i].words[0], word) == 0)
			return &f->groups[i];
	}
	return NULL;
}

static struct group *find_option(struct fitting *f, const char *name)
{
	const struct option *opt = option_find(f->table, name);

	for (size_t i = 0; i < f->n; i++) {
		if (!f->groups[i].gone && f->groups[i].opt == opt)
			return &f->groups[i];
	}
	return NULL;
}

/* Put these words, the first of which is an option, in place of what the group has. */
static void become(struct fitting *f, struct group *g, size_t n, const char *const *words)
{
	g->words = arena_alloc(f->arena, n * sizeof(*words));
	f->no_memory = f->no_memory || !g->words;
	g->n = g->words ? n : 0;
	for (size_t i = 0; i < g->n; i++) {
		g->words[i] = words[i];
		f->no_memory = f->no_memory || !words[i];
	}
	g->opt = option_find(f->table, words[0] + 1);
}

#define BECOME(f, g, ...)                                                      \
	become(f, g, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), \
	       (const char *[]){ __VA_ARGS__ })

static bool is_bare(const char *value)
{
	return !value[strspn(value, "0123456789")];
}

/* The blocks of dd. */
static void fit_blocks(struct fitting *f)
{
	struct group *blocks;

	while ((blocks = find_special(f, "@512"))) {
		blocks->gone = true;
		if (find_option(f, "blocksize"))
			continue;
		blocks->gone = false;
		if (find_option(f, "reqsize"))
			BECOME(f, blocks, "-blocksize", "512");
		else
			BECOME(f, blocks, "-blocksize", "512", "-reqsize", "1");
	}
}

/* A run that only writes has nothing to verify. */
static void fit_verify(struct fitting *f)
{
	struct group *verify, *op = find_option(f, "op");
	bool writes = op && op->n > 1 && strcmp(op->words[1], "write") == 0;

	while ((verify = find_special(f, "@verify"))) {
		verify->gone = true;
		if (!writes && !find_option(f, "verify")) {
			verify->gone = false;
			BECOME(f, verify, "-verify", "contents");
		}
	}
}

static void fit_jobs(struct fitting *f)
{
	struct group *jobs = find_special(f, "@jobs"), *tasks = find_special(f, "@tasks"),
		     *target = find_option(f, "target"), *list = find_option(f, "targets");

	if (!jobs && !tasks)
		return;
	jobs = jobs ? jobs : tasks;
	jobs->gone = true;
	if (strcmp(jobs->words[1], "1") == 0)
		return;
	if (tasks && list && strcmp(list->words[1], jobs->words[1]) == 0)
		return;
	if (!target || list)
		f->complete = false;
	else
		BECOME(f, target, "-targets", arena_printf(f->arena, "-%s", jobs->words[1]),
		       target->words[1]);
}

static void fit_amount(struct fitting *f)
{
	struct group *allocate = find_special(f, "@allocate"),
		     *again = find_special(f, "@timebased"), *amount = find_option(f, "bytes");

	if (allocate && amount)
		BECOME(f, allocate, "-preallocate", amount->words[1]);
	else if (allocate)
		allocate->gone = true;
	if (!again)
		return;
	again->gone = true;
	if (amount && is_bare(amount->words[1]))
		BECOME(f, amount, "-range", arena_printf(f->arena, "%sB", amount->words[1]));
	else if (amount)
		BECOME(f, amount, "-range", amount->words[1]);
}

static void fit_outputs(struct fitting *f)
{
	struct group *json = find_special(f, "@json"), *output = find_option(f, "output"),
		     *period = find_special(f, "@period"), *log = find_special(f, "@log");
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
	while ((log = find_special(f, "@log")))
		log->gone = true;
}

/* if= and of=. */
static void fit_direction(struct fitting *f)
{
	struct group *from = find_special(f, "@from"), *to = find_special(f, "@to");

	if (from && to)
		f->complete = false;
	else if (from)
		BECOME(f, from, "-op", "read", "-target", from->words[1]);
	else if (to)
		BECOME(f, to, "-op", "write", "-target", to->words[1]);
}

/* A command line that says to read and to write would do what comes last. */
static void fit_operation(struct fitting *f)
{
	const struct group *op = find_option(f, "op");

	for (size_t i = 0; op && i < f->n; i++) {
		const struct group *g = &f->groups[i];

		if (!g->gone && g->opt == op->opt && g->n == 2 && op->n == 2 &&
		    strcmp(g->words[1], op->words[1]) != 0)
			f->complete = false;
	}
}

/* ---- the same option twice ---- */

/* True if the words of `a` are the first of those of `b`. */
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

static int join(struct fitting *f, struct foreign_fit *fit)
{
	size_t room = 1;

	for (size_t i = 0; i < f->n; i++) {
		f->groups[i].gone = f->groups[i].gone || is_needless(f, &f->groups[i]);
		room += f->groups[i].n;
	}
	fit->n = 0;
	fit->complete = f->complete;
	fit->words = arena_alloc(f->arena, room * sizeof(*fit->words));
	fit->from = arena_alloc(f->arena, room * sizeof(*fit->from));
	if (!fit->words || !fit->from)
		return -ENOMEM;
	for (size_t i = 0; i < f->n; i++) {
		const struct group *g = &f->groups[i];

		for (size_t k = 0; k < g->n && !g->gone; k++) {
			fit->from[fit->n] = g->from;
			fit->words[fit->n++] = g->words[k];
		}
	}
	return 0;
}

#define GROUPS_PER_PART 4
#define GROUPS_EXTRA 8

int foreign_fit(struct arena *arena, const struct option_table *table,
		const struct foreign_part *parts, size_t n, struct foreign_fit *fit)
{
	struct fitting f = { .arena = arena,
			     .table = table,
			     .room = n * GROUPS_PER_PART + GROUPS_EXTRA,
			     .complete = true };

	f.groups = arena_alloc(arena, f.room * sizeof(*f.groups));
	if (!f.groups)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		add_part(&f, &parts[i]);
	fit_blocks(&f);
	fit_verify(&f);
	fit_jobs(&f);
	fit_amount(&f);
	fit_outputs(&f);
	fit_direction(&f);
	fit_operation(&f);
	return f.no_memory ? -ENOMEM : join(&f, fit);
}
