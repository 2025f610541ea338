/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that are given twice with different values. Called once all settings are applied, and by
 * plan_warn().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/log.h"

/*
 * Two operations for all targets, as in "-op read -target A -op write -target B": the last one
 * would hold for A as well, and overwrite it.
 */

#define CHECK_OPERATIONS_VALUE_MAX 64 /* characters of a value that a message shows */

/* -op and -rwratio, for all targets. */
static bool is_operation(const struct setting *s)
{
	return (strcmp(s->opt->name, "op") == 0 || strcmp(s->opt->name, "rwratio") == 0) &&
	       (!s->scope.text || strcmp(s->scope.text, "all") == 0);
}

/* Both stand on the command line, or in the same setup file or section of it. */
static bool same_origin(const struct setting *a, const struct setting *b)
{
	if (a->section != b->section)
		return false;
	if (!a->name.file || !b->name.file)
		return a->name.file == b->name.file;
	return strcmp(a->name.file, b->name.file) == 0;
}

/* True if both have targets do the same: "-rwratio 100" is "-op read". */
static bool same_operation(const struct setting *a, const struct setting *b)
{
	struct target_plan first = { 0 }, second = { 0 };

	return parse_apply(a, &first) == XDD_OK && parse_apply(b, &second) == XDD_OK &&
	       first.op == second.op && first.read_ratio == second.read_ratio &&
	       (first.op != OP_MIXED || first.ratio_random == second.ratio_random);
}

/* Text that grows to the end of its buffer. */
struct text {
	char *buf;
	size_t size, len;
	bool cut; /* some text did not fit */
};

static void add_option(struct text *t, const struct setting *s, uint64_t first, uint64_t last)
{
	char targets[48];
	int n;

	if (first == last)
		snprintf(targets, sizeof(targets), "%llu", (unsigned long long)first);
	else
		snprintf(targets, sizeof(targets), "%llu-%llu", (unsigned long long)first,
			 (unsigned long long)last);
	n = snprintf(t->buf + t->len, t->size - t->len, "%s-%s target %s %.*s%s", t->len ? " " : "",
		     s->opt->name, targets, CHECK_OPERATIONS_VALUE_MAX, s->args[0].text,
		     s->n_args > 1 ? " random" : "");
	t->cut |= n < 0 || (size_t)n >= t->size - t->len;
	if (t->cut)
		t->buf[t->len] = '\0';
	else
		t->len += (size_t)n;
}

/*
 * The operations of `origin`, each with the targets beside it: after it if an operation comes
 * first, before it if targets do. Returns false if targets or operations are left.
 */
static bool by_neighbours(const struct parse *p, const struct setting *origin, struct text *text)
{
	const struct setting *op = NULL; /* where an operation comes first: waits for its targets */
	uint64_t first = 0, end = 0;	 /* the targets since the last operation */

	for (size_t i = 0; i < p->n_settings; i++) {
		const struct setting *s = &p->settings[i];

		if (s->opt->type == OPT_NAMES)
			end = s->last + 1;
		if (!is_operation(s) || !same_origin(s, origin))
			continue;
		if (first < end)
			add_option(text, op ? op : s, first, end - 1);
		else if (op || end)
			return false;
		if (op || !end)
			op = s;
		first = end;
	}
	if (op && first < end)
		add_option(text, op, first, end - 1);
	else if (op || first < end)
		return false;
	return true;
}

/* The first of them for the first target, and so on. */
static void one_by_one(const struct parse *p, const struct setting *origin, struct text *text)
{
	uint64_t target = 0;

	for (size_t i = 0; i < p->n_settings && target < p->plan->n_targets; i++) {
		const struct setting *s = &p->settings[i];

		if (!is_operation(s) || !same_origin(s, origin))
			continue;
		add_option(text, s, target, target);
		target++;
	}
}

static enum xdd_status check_operations_refuse(const struct parse *p, const struct setting *before,
					       const struct setting *s)
{
	char where[160] = "", options[512] = "", what[640];
	struct text text = { .buf = options, .size = sizeof(options) };

	if (s->name.file)
		snprintf(where, sizeof(where), "%.128s:%u: ", s->name.file, s->name.pos);
	if (by_neighbours(p, s, &text)) {
		snprintf(what, sizeof(what), "say %s%s", options, text.cut ? " ..." : "");
	} else {
		text.len = 0;
		text.cut = false;
		one_by_one(p, s, &text);
		snprintf(what, sizeof(what), "say which target each is for, as in %s%s", options,
			 text.cut ? " ..." : "");
	}
	return log_refuse("%s-%s %.*s: is a second operation for all targets, after -%s %.*s; %s",
			  where, s->opt->name, CHECK_OPERATIONS_VALUE_MAX, s->args[0].text,
			  before->opt->name, CHECK_OPERATIONS_VALUE_MAX, before->args[0].text,
			  what);
}

/* Within one origin all earlier operations are the same, so that the last of them is enough. */
enum xdd_status parse_check_operations(const struct parse *p)
{
	/* With a single target all operations are for it, and the last one wins. */
	if (p->plan->n_targets == 1)
		return XDD_OK;
	for (size_t i = 0; i < p->n_settings; i++) {
		const struct setting *s = &p->settings[i];

		if (!is_operation(s))
			continue;
		for (size_t k = i; k > 0; k--) {
			const struct setting *before = &p->settings[k - 1];

			if (!is_operation(before) || !same_origin(before, s))
				continue;
			if (!same_operation(before, s))
				return check_operations_refuse(p, before, s);
			break;
		}
	}
	return XDD_OK;
}

/*
 * As in "-reqsize 4 -target A -reqsize 1024 -target B": the last one holds for A as well.
 *
 * A setup file, a section of it and the command line may override each other: only words of one
 * source are compared.
 */

#define REPEATED_VALUE_MAX 64 /* characters of a value that a message shows */
#define VALUES_MAX 4	      /* values that a message shows */
#define VALUE_SIZE 160	      /* a value, with its option and its origin */
#define MESSAGE_MAX 640	      /* all of them */

/* Options that set the same value in different ways, some with suboptions. */
static const char *const same_value[][9] = {
	{ "op", "rwratio" },
	{ "seek sequential", "seek random", "seek zipf", "seek stagger", "seek interleave",
	  "seek streams", "seek none", "seek load" },
	{ "throttle ops", "throttle bw", "throttle delay" },
	{ "osync", "odsync", "orsync" },
	{ "numreqs", "bytes", "kbytes", "mbytes", "gbytes" },
	{ "singleproc", "roundrobin" },
};

static const struct option *row_of(const struct setting *s)
{
	return s->sub ? s->sub : s->opt;
}

/* "throttle ops" */
static const char *option_text(const struct setting *s, char *buf)
{
	bool named = s->sub && option_find_sub(s->opt, s->sub->name);

	snprintf(buf, REPEATED_VALUE_MAX + 1, "%s%s%s", s->opt->name, named ? " " : "",
		 named ? s->sub->name : "");
	return buf;
}

static int value_group(const struct setting *s)
{
	char option[REPEATED_VALUE_MAX + 1];

	option_text(s, option);
	for (size_t i = 0; i < sizeof(same_value) / sizeof(same_value[0]); i++) {
		for (size_t k = 0; same_value[i][k]; k++) {
			if (strcmp(option, same_value[i][k]) == 0)
				return (int)i;
		}
	}
	return -1;
}

/* True for a value that a later one for all targets can replace. */
static bool is_value(const struct setting *s)
{
	return (s->n_args || value_group(s) >= 0) && !s->by_default && !row_of(s)->collects &&
	       s->opt->type != OPT_NAMES && (!s->scope.text || strcmp(s->scope.text, "all") == 0);
}

static bool replaces(const struct setting *a, const struct setting *b)
{
	if (row_of(a) == row_of(b))
		return a->opt == b->opt;
	return value_group(a) >= 0 && value_group(a) == value_group(b);
}

static bool same_words(const struct setting *a, const struct setting *b)
{
	if (a->n_args != b->n_args || row_of(a) != row_of(b))
		return false;
	for (size_t i = 0; i < a->n_args; i++) {
		if (strcmp(a->args[i].text, b->args[i].text) != 0)
			return false;
	}
	return true;
}

/* The settings that amounts and operations come from differ. */
static void forget_origins(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	if (s->opt->scope != SCOPE_TARGET)
		return;
	for (unsigned i = 0; i < N_AMOUNT_ENTRIES; i++)
		t->amounts[i].from = NULL;
	t->ratio_given = false;
}

/* True if both have the same effect, as -bytes 1M and -mbytes 1 have. */
static bool same_effect(const struct setting *a, const struct setting *b)
{
	const size_t size = sizeof(struct plan) > sizeof(struct target_plan) ?
				    sizeof(struct plan) :
				    sizeof(struct target_plan);
	char *first, *second;
	bool same;

	if (same_words(a, b))
		return true;
	if (a->opt->source || b->opt->source)
		return false;
	first = calloc(1, size);
	second = calloc(1, size);
	same = first && second && parse_apply(a, first) == XDD_OK &&
	       parse_apply(b, second) == XDD_OK;
	if (same) {
		forget_origins(a, first);
		forget_origins(b, second);
		same = memcmp(first, second, size) == 0;
	}
	free(first);
	free(second);
	return same;
}

/* The values that replace each other, in their order. */
struct values {
	const struct setting *first[VALUES_MAX - 1], *last;
	const struct setting *applies; /* numreqs overrides the amounts in bytes, wherever it is */
	size_t n;		       /* of all */
	bool different, mixed;
};

/* The words of a value, "4" or "until 5 20". */
static const char *value_text(const struct setting *s, char *buf)
{
	*buf = '\0';
	for (size_t i = 0; i < s->n_args; i++)
		text_add(buf, REPEATED_VALUE_MAX + 1, "%s%s", i ? " " : "", s->args[i].text);
	return buf;
}

/* A value, "4"; with its option, "-mbytes 4", where the others have another. */
static const char *shown(const struct setting *s, bool with_option, char *buf)
{
	char value[REPEATED_VALUE_MAX + 1], option[REPEATED_VALUE_MAX + 1];

	value_text(s, value);
	if (with_option)
		snprintf(buf, VALUE_SIZE, "-%s%s%s", option_text(s, option), *value ? " " : "",
			 value);
	else
		snprintf(buf, VALUE_SIZE, "%s", value);
	return buf;
}

/* Of a value; of an option whose suboptions exclude each other, or that has no value. */
static unsigned position(const struct setting *s, const struct values *v)
{
	return s->n_args && !(v->mixed && s->sub) ? s->args[0].pos : s->name.pos;
}

static void add_value(const struct setting *s, const struct values *v, char *buf)
{
	char value[VALUE_SIZE];

	text_add(buf, MESSAGE_MAX, "%s (%s %u)", shown(s, v->mixed, value),
		 s->name.file ? "line" : "argument", position(s, v));
}

static bool is_numreqs(const struct setting *s)
{
	return s && strcmp(s->opt->name, "numreqs") == 0;
}

static void repeated_collect(const struct plan *plan, const struct setting *last, struct values *v)
{
	*v = (struct values){ .last = last };
	for (const struct setting *s = plan->settings; s <= last; s++) {
		if (!is_value(s) || !replaces(s, last) || !same_origin(s, last))
			continue;
		if (s != last && v->n < VALUES_MAX - 1)
			v->first[v->n] = s;
		v->n++;
		if (!is_numreqs(v->applies) || is_numreqs(s))
			v->applies = s;
		/* "random" after "random once" is shown with its option. */
		v->mixed |= row_of(s) != row_of(last) || !s->n_args != !last->n_args;
		v->different |= !same_effect(s, last);
	}
}

static void list_values(const struct values *v, char *buf)
{
	const size_t n = v->n - 1 < VALUES_MAX - 1 ? v->n - 1 : VALUES_MAX - 1;
	*buf = '\0';
	for (size_t i = 0; i < n; i++) {
		text_add(buf, MESSAGE_MAX, i ? ", " : "");
		add_value(v->first[i], v, buf);
	}
	text_add(buf, MESSAGE_MAX, v->n - 1 > n ? ", ... and " : " and ");
	add_value(v->last, v, buf);
}

static void warn_values(const struct plan *plan, const struct values *v)
{
	const struct setting *s = v->applies, *other = s == v->last ? v->first[0] : v->last;
	char value[VALUE_SIZE], option[REPEATED_VALUE_MAX + 1], values[MESSAGE_MAX];
	char file[160] = "", subject[VALUE_SIZE] = "", hint[256] = "";

	if (s->name.file)
		snprintf(file, sizeof(file), "%.128s:%u: ", s->name.file, position(v->last, v));
	if (!v->mixed && v->n == 2)
		snprintf(subject, sizeof(subject), "-%s: given twice, ", option_text(s, option));
	else if (!v->mixed)
		snprintf(subject, sizeof(subject), "-%s: given %zu times, ", option_text(s, option),
			 v->n);
	if (s->opt->scope == SCOPE_TARGET && plan->n_targets > 1)
		snprintf(hint, sizeof(hint),
			 " to all targets; for one target say -%s target 0%s%s%s", other->opt->name,
			 option_text(other, option) + strlen(other->opt->name),
			 other->n_args ? " " : "", value_text(other, value));
	list_values(v, values);
	log_warning("%s%s%s: %s applies%s", file, subject, values, shown(s, v->mixed, value), hint);
}

/* True if no later setting replaces it, of whichever source. */
static bool is_last(const struct plan *plan, const struct setting *s)
{
	for (const struct setting *t = s + 1; t < plan->settings + plan->n_settings; t++) {
		if (is_value(t) && replaces(s, t))
			return false;
	}
	return true;
}

void plan_warn_repeated(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_settings; i++) {
		const struct setting *s = &plan->settings[i];
		struct values v;

		if (!is_value(s) || !is_last(plan, s))
			continue;
		repeated_collect(plan, s, &v);
		if (v.different)
			warn_values(plan, &v);
	}
}
