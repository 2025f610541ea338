/*
 * Two operations for all targets, as in "-op read -target A -op write -target B": the last one
 * would hold for A as well, and overwrite it. Called once all settings are applied.
 */
#include <stdio.h>
#include <string.h>

#include "plan/parse.h"
#include "plan/value.h"
#include "xdd/base/log.h"

#define VALUE_MAX 64 /* characters of a value that a message shows */

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
		     s->opt->name, targets, VALUE_MAX, s->args[0].text,
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

static enum xdd_status refuse(const struct parse *p, const struct setting *before,
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
	log_error("%s-%s %.*s: is a second operation for all targets, after -%s %.*s; %s", where,
		  s->opt->name, VALUE_MAX, s->args[0].text, before->opt->name, VALUE_MAX,
		  before->args[0].text, what);
	return XDD_BAD_ARGUMENT;
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
				return refuse(p, before, s);
			break;
		}
	}
	return XDD_OK;
}
