/*
 * From settings to the plan: creates the targets, gives every option its default, and applies the
 * settings left to right, so that the last one wins. Called by plan_build() once all words are read.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/parse.h"
#include "plan/value.h"
#include "xdd/base/arena.h"
#include "xdd/base/log.h"
#include "xdd/base/nstime.h"
#include "xdd/base/units.h"

#define SHOWN_MAX 128		    /* characters of a word or a file name that a message shows */
#define SHOWN_SIZE (SHOWN_MAX + 32) /* and what goes around them */

/* A word for a message: in quotes where its ends would not be seen, and cut when it is long. */
static char *show_word(const char *text, char *buf, size_t size)
{
	const char *quote = !*text || text[strcspn(text, " \t\r\n\v\f")] ? "'" : "";

	snprintf(buf, size, "%s%.*s%s%s", quote, SHOWN_MAX, text,
		 strlen(text) > SHOWN_MAX ? "..." : "", quote);
	return buf;
}

/* Where a word stands, with a blank before it; of a long file name the end is shown. */
static char *show_place(const struct word *w, char *buf, size_t size)
{
	size_t len = w->file ? strlen(w->file) : 0, cut = len > SHOWN_MAX ? len - SHOWN_MAX : 0;

	*buf = '\0';
	if (w->file)
		snprintf(buf, size, " (%s%s:%u)", cut ? "..." : "", w->file + cut, w->pos);
	else if (w->pos)
		snprintf(buf, size, " (argument %u)", w->pos);
	return buf;
}

/* The hint is about how to write a number; it helps those who wrote one with a letter behind it. */
static bool wants_hint(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && text[digits];
}

enum xdd_status parse_error(enum xdd_status status, const struct setting *s, const struct word *w,
			    const char *fmt, ...)
{
	const struct option *row = s->sub ? s->sub : s->opt;
	const char *hint = w && w == s->args && row && wants_hint(w->text) ? row->hint : NULL;
	char text[1024], name[SHOWN_SIZE], value[SHOWN_SIZE] = "", place[SHOWN_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (w)
		show_word(w->text, value, sizeof(value));
	log_error("%s%s%s%s%s%s: %s%s%s%s", show_word(s->name.text, name, sizeof(name)),
		  s->sub ? " " : "", s->sub ? s->sub->name : "", w == &s->scope ? " target" : "",
		  w ? " " : "", value, text, show_place(w ? w : &s->name, place, sizeof(place)),
		  hint ? "; " : "", hint ? hint : "");
	return status;
}

enum xdd_status plan_refuse(const struct target_plan *t, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("target %u, %s: %s", t->number, t->path, text);
	return XDD_BAD_ARGUMENT;
}

enum xdd_status plan_no_memory(void)
{
	log_error("%s", strerror(ENOMEM));
	return XDD_INIT_FAILED;
}

char *parse_list_words(suggest_word_at at, const void *words, char *buf, size_t size)
{
	size_t len = 0;
	const char *word;

	*buf = '\0';
	for (size_t i = 0; (word = at(words, i)) != NULL && len < size; i++) {
		const char *apart = !i ? "" : at(words, i + 1) ? ", " : " or ";

		len += (size_t)snprintf(buf + len, size - len, "%s%s", apart, word);
	}
	return buf;
}

enum xdd_status parse_error_words(const struct setting *s, const struct word *w, suggest_word_at at,
				  const void *words)
{
	const char *near = suggest_nearest(w->text, at, words);
	char list[256];

	parse_list_words(at, words, list, sizeof(list));
	if (near)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "%s is wanted; did you mean %s?", list,
				   near);
	return parse_error(XDD_BAD_ARGUMENT, s, w, "%s is wanted", list);
}

static enum xdd_status want_u64(const struct setting *s, const struct option *row)
{
	const char *unit = row->unit ? " of " : "";

	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "a whole number%s%s is wanted, %" PRIu64 " to %" PRIu64, unit,
			   row->unit ? row->unit : "", row->min, row->max);
}

static enum xdd_status store_u64(const struct setting *s, const struct option *row, void *field)
{
	uint64_t v;

	if (units_parse_u64(s->args[0].text, &v) || v < row->min || v > row->max)
		return want_u64(s, row);
	*(uint64_t *)field = v * (row->scale ? row->scale : 1);
	return XDD_OK;
}

static enum xdd_status store_size(const struct setting *s, const struct option *row, void *field)
{
	char lo[32], hi[32];
	uint64_t v;

	if (units_parse_size(s->args[0].text, &v) || v < row->min || v > row->max)
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[0],
			"a size in bytes is wanted, with K, M, G or T if need be, %s to %s",
			units_size_text(row->min, lo, sizeof(lo)),
			units_size_text(row->max, hi, sizeof(hi)));
	*(uint64_t *)field = v;
	return XDD_OK;
}

/* A limit of a time, for a message. */
static char *time_text(uint64_t ns, char *buf, size_t size)
{
	const uint64_t second = NS_PER_SEC, ms = second / 1000;

	if (ns == PLAN_CENTURY_NS)
		snprintf(buf, size, "100 years");
	else if (ns % second)
		snprintf(buf, size, "%" PRIu64 "ms", ns / ms);
	else
		snprintf(buf, size, "%" PRIu64 "s", ns / second);
	return buf;
}

enum xdd_status parse_time(const struct setting *s, const struct word *w, uint64_t min,
			   uint64_t max, uint64_t *ns)
{
	char lo[32], hi[32];
	uint64_t v;

	if (units_parse_seconds(w->text, &v) == 0 && v >= min && v <= max) {
		*ns = v;
		return XDD_OK;
	}
	time_text(min, lo, sizeof(lo));
	time_text(max, hi, sizeof(hi));
	if (min == 1)
		return parse_error(
			XDD_BAD_ARGUMENT, s, w,
			"a time above 0 and up to %s is wanted: seconds with decimals, or with ms, "
			"us, m or h",
			hi);
	return parse_error(
		XDD_BAD_ARGUMENT, s, w,
		"a time of %s to %s is wanted: seconds with decimals, or with ms, us, m or h",
		min ? lo : "0", hi);
}

static const char *choice_at(const void *choices, size_t i)
{
	return ((const struct choice *)choices)[i].word;
}

static enum xdd_status store_choice(const struct setting *s, const struct option *row, void *field)
{
	const char *word = s->args[0].text;

	for (const struct choice *c = row->choices; c->word; c++) {
		if (strcmp(word, c->word) == 0 || (c->alias && strcmp(word, c->alias) == 0)) {
			*(int *)field = c->value;
			return XDD_OK;
		}
	}
	return parse_error_words(s, &s->args[0], choice_at, row->choices);
}

static enum xdd_status store_text(const struct setting *s, const struct option *row, void *field)
{
	if (!*s->args[0].text)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "%s cannot be empty",
				   row->arg);
	*(const char **)field = s->args[0].text;
	return XDD_OK;
}

static void store_value(const struct option *row, void *field)
{
	if (row->size == sizeof(bool))
		*(bool *)field = row->value;
	else if (row->size)
		*(int *)field = row->value;
}

/* The value of a row into its field, and the further fields that it sets. */
static enum xdd_status store(const struct setting *s, const struct option *row, void *dst)
{
	void *field = (char *)dst + row->off;
	enum xdd_status status = XDD_OK;

	switch (row->type) {
	case OPT_FLAG:
	case OPT_SET:
		store_value(row, field);
		break;
	case OPT_BIT:
		*(unsigned *)field |= (unsigned)row->value;
		break;
	case OPT_U64:
		status = store_u64(s, row, field);
		break;
	case OPT_SIZE:
		status = store_size(s, row, field);
		break;
	case OPT_SECONDS:
		status = parse_time(s, &s->args[0], row->min, row->max, field);
		break;
	case OPT_TEXT:
		status = store_text(s, row, field);
		break;
	case OPT_CHOICE:
		status = store_choice(s, row, field);
		break;
	case OPT_CUSTOM:
	case OPT_NAMES:
	case OPT_SUB:
	case OPT_ACTION:
	case OPT_REFUSED:
		break;
	}
	if (row->sets && !s->by_default)
		*(bool *)((char *)dst + row->sets) = true;
	if (row->selects)
		*(int *)((char *)dst + row->selects) = row->value;
	return status;
}

enum xdd_status parse_apply_row(const struct setting *s, const struct option *row, void *dst)
{
	enum xdd_status status = store(s, row, dst);

	return !status && row->apply ? row->apply(s, dst) : status;
}

enum xdd_status parse_apply(const struct setting *s, void *dst)
{
	if (s->sub && s->opt->source)
		return s->opt->source->apply(s, dst);
	return parse_apply_row(s, s->sub ? s->sub : s->opt, dst);
}

/* "3", "0-3" or "all". */
static enum xdd_status scope_range(const struct parse *p, const struct setting *s, uint64_t *first,
				   uint64_t *last)
{
	const char *text = s->scope.text, *dash = strchr(text, '-');
	char head[32];
	int err;

	*first = 0;
	*last = p->plan->n_targets - 1;
	if (strcmp(text, "all") == 0)
		return XDD_OK;
	if (dash) {
		snprintf(head, sizeof(head), "%.*s", (int)(dash - text), text);
		err = units_parse_u64(head, first) || units_parse_u64(dash + 1, last);
	} else {
		err = units_parse_u64(text, first);
		*last = *first;
	}
	if (!err && *first <= *last && *last < p->plan->n_targets)
		return XDD_OK;
	if (!err && *first > *last)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->scope,
				   "a range of targets is wanted with the lower number first");
	if (p->plan->n_targets == 1)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->scope,
				   "no such target: there is one, number 0");
	return parse_error(XDD_BAD_ARGUMENT, s, &s->scope,
			   "no such target: there are %zu, 0 to %zu", p->plan->n_targets,
			   p->plan->n_targets - 1);
}

static enum xdd_status apply_setting(struct parse *p, struct setting *s)
{
	uint64_t first = 0, last = p->plan->n_targets - 1;
	enum xdd_status status = XDD_OK;

	if (s->opt->scope == SCOPE_GLOBAL)
		return parse_apply(s, p->plan);
	if (s->scope.text)
		status = scope_range(p, s, &first, &last);
	s->first = first;
	s->last = last;
	for (uint64_t i = first; !status && i <= last; i++)
		status = parse_apply(s, &p->plan->targets[i]);
	return status;
}

enum xdd_status parse_defaults(struct arena *arena, const struct option *opt,
			       const struct option *rows, void *dst, enum option_scope scope)
{
	for (const struct option *row = rows; row->name; row++) {
		struct word def = { .text = row->def };
		struct setting s = { .opt = opt ? opt : row,
				     .sub = opt ? row : NULL,
				     .name = { .text = row->name },
				     .args = &def,
				     .n_args = 1,
				     .by_default = true,
				     .arena = arena };
		enum xdd_status status = XDD_OK;

		if (!opt && row->scope != scope)
			continue;
		if (row->subs)
			status = parse_defaults(arena, row, row->subs, dst, scope);
		else if (row->source)
			status = row->source->init(&s, dst);
		else if (row->def)
			status = parse_apply(&s, dst);
		if (status)
			return status;
	}
	return XDD_OK;
}

static enum xdd_status all_defaults(struct parse *p)
{
	enum xdd_status status = XDD_OK;

	for (const struct option_group *const *g = p->table->groups; *g && !status; g++) {
		status = parse_defaults(p->arena, NULL, (*g)->options, p->plan, SCOPE_GLOBAL);
		for (size_t i = 0; i < p->plan->n_targets && !status; i++)
			status = parse_defaults(p->arena, NULL, (*g)->options, &p->plan->targets[i],
						SCOPE_TARGET);
	}
	return status;
}

static enum xdd_status collect_names(struct parse *p, struct target_names *names)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < p->n_settings && !status; i++) {
		struct setting *s = &p->settings[i];

		if (s->opt->type != OPT_NAMES)
			continue;
		s->first = names->n;
		status = s->opt->apply(s, names);
		s->last = names->n - 1;
	}
	return status;
}

static enum xdd_status make_targets(struct parse *p)
{
	struct target_names names = { .n = 0 };
	enum xdd_status status = collect_names(p, &names);
	struct plan *plan = p->plan;

	if (status)
		return status;
	if (!names.n) {
		log_error("no target is given: say -targets 1 <file or device>, or xdd -help");
		return XDD_BAD_ARGUMENT;
	}
	plan->targets = arena_alloc(p->arena, names.n * sizeof(*plan->targets));
	if (!plan->targets)
		return plan_no_memory();
	plan->n_targets = names.n;
	for (size_t i = 0; i < names.n; i++) {
		plan->targets[i].name = names.names[i];
		plan->targets[i].number = (uint32_t)i;
	}
	return XDD_OK;
}

enum xdd_status apply_settings(struct parse *p)
{
	enum xdd_status status = make_targets(p);

	if (!status)
		status = all_defaults(p);
	for (size_t i = 0; i < p->n_settings && !status; i++) {
		if (p->settings[i].opt->type != OPT_NAMES)
			status = apply_setting(p, &p->settings[i]);
	}
	if (!status)
		status = parse_check_operations(p);
	p->plan->settings = p->settings;
	p->plan->n_settings = p->n_settings;
	return status ? status : plan_sort_settings(p->plan);
}
