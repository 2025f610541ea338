/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists and ranges of values, and the axes and points of a grid: xdd/plan/runs.h. Called by xdd
 * sweep.
 */
#include "xdd/plan/runs.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/option.h"

#define MOST_COMPARED 1000 /* values of a list, each with all others */

/* An option with one value, by the name that its axis would have. */
struct fixed {
	const char *name;
	const char *value; /* "" of a flag */
	size_t use;	   /* of the option: its words may be values and a list */
};

/* Reading the words: the option that the next one belongs to. */
struct scan {
	struct vary *v;
	struct fixed *fixed;
	size_t n_fixed;
	size_t use;		  /* the number of options so far */
	const struct option *opt; /* NULL: none yet */
	const char *option_word;
	const char *target;	  /* of its scope; NULL: none */
	const struct option *row; /* whose arguments follow; NULL: a suboption may follow */
	size_t n_args;		  /* words since the row was named */
};

static void add_slot(struct scan *s, const char *word, size_t axis)
{
	struct vary *v = s->v;

	v->slots = xarena_room(v->arena, v->slots, v->n_slots, sizeof(*v->slots));
	v->slots[v->n_slots++] = (struct vary_slot){ word, axis };
}

/* Add an axis with its slot. Names are unique: "queuedepth", "queuedepth 2". */
static enum xdd_status add_axis(struct scan *s, const char *name, const struct vary_value *values,
				size_t n)
{
	struct vary *v = s->v;
	struct vary_axis *axes = xarena_room(v->arena, v->axes, v->n_axes, sizeof(*axes));

	v->axes = axes;
	for (size_t i = 0; i < v->n_axes; i++) {
		if (strcmp(axes[i].name, name) != 0)
			continue;
		return log_refuse("%s: -%s: has two lists", v->command, name);
	}
	axes[v->n_axes] = (struct vary_axis){ name, values, n, s->use };
	add_slot(s, NULL, v->n_axes++);
	return XDD_OK;
}

/* Values of one word each. */
static struct vary_value *values_of(struct arena *arena, const char *const *texts, size_t n)
{
	struct vary_value *values = xarena_alloc(arena, (n + 1) * sizeof(*values));

	for (size_t i = 0; i < n; i++)
		values[i] = (struct vary_value){ texts[i], &texts[i], 1 };
	return values;
}

/* The name of the axis that a word of this row is. */
static const char *axis_name(const struct scan *s, const struct option *row)
{
	const char *sub = row && row != s->opt ? row->name : NULL;
	const bool of_some = s->target && strcmp(s->target, "all") != 0;

	return xarena_printf(s->v->arena, "%s%s%s%s%s", s->opt->name, sub ? " " : "",
			     sub ? sub : "", of_some ? " target " : "", of_some ? s->target : "");
}

/* ---- options with one value ---- */

/* True if a later use of the row replaces an earlier one, which then counts for nothing. */
static bool is_replaced(const struct scan *s, const struct option *row)
{
	switch (row->type) {
	case OPT_FLAG:
	case OPT_SET:
	case OPT_U64:
	case OPT_SIZE:
	case OPT_AMOUNT:
	case OPT_BLOCKS:
	case OPT_SECONDS:
	case OPT_TEXT:
	case OPT_CHOICE:
		break;
	case OPT_CUSTOM:
		if (row->varies)
			break;
		return false;
	case OPT_BIT:
	case OPT_SUB:
	case OPT_NAMES:
	case OPT_ACTION:
	case OPT_REFUSED:
		return false;
	}
	return !row->collects && !s->opt->collects && !s->opt->numbered;
}

static void add_fixed(struct scan *s, const struct option *row, const char *value)
{
	if (!is_replaced(s, row))
		return;
	s->fixed = xarena_room(s->v->arena, s->fixed, s->n_fixed, sizeof(*s->fixed));
	s->fixed[s->n_fixed++] =
		(struct fixed){ .name = axis_name(s, row), .value = value, .use = s->use };
}

/* The last value would apply to all points. */
static enum xdd_status check_fixed(const struct scan *s)
{
	const struct vary *v = s->v;

	for (size_t i = 0; i < v->n_axes; i++) {
		for (size_t k = 0; k < s->n_fixed; k++) {
			const struct fixed *f = &s->fixed[k];

			if (strcmp(v->axes[i].name, f->name) != 0 || v->axes[i].use == f->use)
				continue;
			return log_refuse(
				"%s: -%s: is varied, and is %.64s for all points; leave one out",
				v->command, f->name, *f->value ? f->value : "given");
		}
	}
	return XDD_OK;
}

/* ---- words ---- */

/* A word that may be a list for `row`, which need not be the row that has the name. */
static enum xdd_status take_value(struct scan *s, const struct option *row,
				  const struct option *named, const char *word)
{
	struct arena *arena = s->v->arena;
	const struct vary_value *values;
	const char *const *texts;
	const char *why;
	size_t n;

	if (!vary_is_list(row, word)) {
		add_fixed(s, named, word);
		add_slot(s, word, 0);
		return XDD_OK;
	}
	why = vary_list(arena, row, word, &texts, &n);
	if (why)
		return log_refuse("%s: %s %.128s: %s", s->v->command, s->option_word, word, why);
	values = values_of(arena, texts, n);
	return add_axis(s, axis_name(s, named), values, n);
}

/* A word where a suboption may be: its name, a list of names, or its value. */
static enum xdd_status take_suboption(struct scan *s, const char *word)
{
	static const struct option names = { .type = OPT_CHOICE };
	const struct option *sub = option_find_sub(s->opt, word), *bare;
	const char *first = xarena_printf(s->v->arena, "%.*s", (int)strcspn(word, ","), word);

	s->n_args = 0;
	if (sub) {
		if (sub->arg || sub->arity)
			s->row = sub;
		add_slot(s, word, 0);
		return XDD_OK;
	}
	bare = option_find_bare(s->opt, first);
	if (bare)
		return take_value(s, bare, s->opt, word);
	if (option_find_sub(s->opt, first))
		return take_value(s, &names, s->opt, word);
	add_slot(s, word, 0);
	return XDD_OK;
}

static enum xdd_status take_argument(struct scan *s, const char *word)
{
	static const struct option count = { .type = OPT_U64 };
	const struct option *row = s->row;
	const size_t args = row ? row->n_args ? row->n_args : 1 : 0;

	/* An argument that may be left out is left out: this is the next suboption. */
	if (row && row != s->opt && row->arity && option_find_sub(s->opt, word))
		row = NULL;
	if (!row)
		return take_suboption(s, word);
	s->n_args++;
	if (row != s->opt && s->n_args >= args && !row->arity)
		s->row = NULL;
	/* -targets 1,2,4 name; "-4,-8" has one name for so many targets. */
	if (row->type == OPT_NAMES && s->n_args == 1 && strchr(word, ',') &&
	    !word[strspn(word, "-0123456789,.x+")])
		return take_value(
			s, strchr(word, '-') ? &(struct option){ .type = OPT_CHOICE } : &count, row,
			word);
	return take_value(s, row, row, word);
}

/* The option that a word is, and its value if that is joined to it: "--op=read". */
static const struct option *option_of(struct arena *arena, const char *word, const char **value)
{
	const char *name, *equals;
	const struct option *opt;

	*value = NULL;
	if (word[0] != '-' || !word[1])
		return NULL;
	name = word + (word[1] == '-' ? 2 : 1);
	opt = option_find(&run_options, name);
	equals = opt ? NULL : strchr(name, '=');
	if (!equals)
		return opt;
	name = xarena_printf(arena, "%.*s", (int)(equals - name), name);
	opt = option_find(&run_options, name);
	*value = equals + 1;
	return opt && (opt->arg || opt->arity || opt->type == OPT_SUB) ? opt : NULL;
}

static enum xdd_status begin_option(struct scan *s, const struct option *opt, const char *word,
				    const char *value)
{
	s->opt = opt;
	s->option_word = value ? xarena_printf(s->v->arena, "%.*s", (int)(value - 1 - word), word) :
				 word;
	s->target = NULL;
	s->row = opt->type == OPT_SUB ? NULL : opt;
	s->n_args = 0;
	s->use++;
	add_slot(s, s->option_word, 0);
	if (opt->type == OPT_FLAG || opt->type == OPT_SET)
		add_fixed(s, opt, "");
	return value ? take_argument(s, value) : XDD_OK;
}

static enum xdd_status take_words(struct scan *s, const char *const *words, size_t n)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < n && !status; i++) {
		const char *value;
		const struct option *opt = option_of(s->v->arena, words[i], &value);

		if (opt) {
			status = begin_option(s, opt, words[i], value);
		} else if (words[i][0] == '-' &&
			   isalpha((unsigned char)words[i][1 + (words[i][1] == '-')])) {
			/* No option: the plan of the first point reports it. */
			s->opt = NULL;
			add_slot(s, words[i], 0);
		} else if (!s->opt || (s->row && s->row->type == OPT_ACTION)) {
			add_slot(s, words[i], 0);
		} else if (!s->n_args && !s->target && s->opt->scope == SCOPE_TARGET &&
			   strcmp(words[i], "target") == 0 && i + 1 < n) {
			add_slot(s, words[i], 0);
			s->target = words[++i];
			add_slot(s, words[i], 0);
		} else {
			status = take_argument(s, words[i]);
		}
	}
	return status;
}

static enum xdd_status count_points(struct vary *v)
{
	v->n_points = v->n_axes && v->pairs ? v->axes[0].n : 1;
	for (size_t i = 0; i < v->n_axes; i++) {
		if (!v->pairs)
			v->n_points *= v->axes[i].n;
		else if (v->axes[i].n != v->n_points) {
			return log_refuse(
				"%s: -pairs: -%s has %zu values and -%s has %zu; expected as "
				"many",
				v->command, v->axes[0].name, v->n_points, v->axes[i].name,
				v->axes[i].n);
		}
		if (v->n_points > VARY_MAX_POINTS)
			return log_refuse("%s: the lists make more than %d points", v->command,
					  VARY_MAX_POINTS);
	}
	return XDD_OK;
}

/* ---- -vary <option>=<list> ---- */

/* The words of `text` between blanks, after the words of `before`. */
static const char *const *split(struct arena *arena, const char *before, const char *text,
				size_t *n)
{
	char *copy = xarena_printf(arena, "%s %s", before, text), *save = NULL;
	const char **words = xarena_alloc(arena, (strlen(copy) / 2 + 2) * sizeof(*words));

	*n = 0;
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		words[(*n)++] = word;
	return words;
}

static enum xdd_status bad_extra(const struct scan *s, const char *text, const char *why)
{
	return log_refuse("%s: -vary %.128s: %s", s->v->command, text, why);
}

/* The values of a flag: with and without it. */
static enum xdd_status add_flag(struct scan *s, const char *name, const char *words)
{
	struct arena *arena = s->v->arena;
	struct vary_value *values = xarena_alloc(arena, 2 * sizeof(*values));
	size_t n;

	values[0] = (struct vary_value){ .text = "no" };
	values[1].text = "yes";
	values[1].words = split(arena, "", xarena_printf(arena, "-%s", words), &n);
	values[1].n_words = n;
	return add_axis(s, name, values, 2);
}

/* The values of a -vary, as they are read. */
struct extra {
	const char *option; /* "-queuedepth" */
	const char *command;
	struct vary_value *values;
	size_t n;
};

static enum xdd_status add_value(struct scan *s, struct extra *e, const struct vary_value *value)
{
	struct vary_value *values = xarena_room(s->v->arena, e->values, e->n, sizeof(*values));

	e->values = values;
	for (size_t i = 0; i < e->n && e->n <= MOST_COMPARED; i++) {
		if (strcmp(values[i].text, value->text) == 0)
			return bad_extra(s, e->option + 1,
					 xarena_printf(s->v->arena, "%.64s is in the list twice",
						       value->text));
	}
	if (e->n == VARY_MAX_VALUES)
		return bad_extra(s, e->option + 1,
				 xarena_printf(s->v->arena, "has more than %d values",
					       VARY_MAX_VALUES));
	values[e->n++] = *value;
	return XDD_OK;
}

/* The words with a blank between each. */
static const char *join(struct arena *arena, const char *const *words, size_t n)
{
	const char *text = "";

	for (size_t i = 0; i < n; i++)
		text = xarena_printf(arena, "%s%s%s", text, i ? " " : "", words[i]);
	return text;
}

/* Add the values of an item with ranges, which the option reads as it does without -vary. */
static enum xdd_status add_ranges(struct scan *s, struct extra *e, const struct vary_value *item)
{
	struct arena *arena = s->v->arena;
	struct vary v = { .arena = arena, .command = e->command };
	struct scan scan = { .v = &v };
	enum xdd_status status = take_words(&scan, item->words, item->n_words);
	size_t n_option; /* words before those that a column shows */

	split(arena, e->option, "", &n_option);
	if (!status)
		status = count_points(&v);
	for (size_t i = 0; i < v.n_points && !status; i++) {
		const char **words = xarena_alloc(arena, vary_room(&v, NULL) * sizeof(*words));
		struct vary_value value;

		/* The first word is the name of the program. */
		value.n_words = vary_words(&v, i, NULL, words) - 1;
		value.words = words + 1;
		value.text = join(arena, value.words + n_option, value.n_words - n_option);
		status = add_value(s, e, &value);
	}
	return status;
}

static enum xdd_status add_item(struct scan *s, struct extra *e, const char *text)
{
	struct vary_value item = { .text = text };

	if (!*text)
		return bad_extra(s, e->option + 1,
				 "expected a value before and after each separator");
	item.words = split(s->v->arena, e->option, text, &item.n_words);
	return strstr(text, "..") ? add_ranges(s, e, &item) : add_value(s, e, &item);
}

/* The values of `list`, which begins with its separator unless that is a comma. */
static enum xdd_status add_extra(struct scan *s, const char *name, const char *words,
				 const char *list)
{
	struct arena *arena = s->v->arena;
	const char separator[2] = { strchr("|;", *list) && *list ? *list : ',', '\0' };
	struct extra e = { .option = xarena_printf(arena, "-%s", words),
			   .command = xarena_printf(arena, "%s: -vary", s->v->command) };
	enum xdd_status status = XDD_OK;

	list += *list == *separator;
	for (bool more = true; more && !status;) {
		const size_t length = strcspn(list, separator);
		const char *text = xarena_printf(arena, "%.*s", (int)length, list);

		status = add_item(s, &e, text);
		more = list[length];
		list += length + 1;
	}
	return status ? status : add_axis(s, name, e.values, e.n);
}

/*
 * The axis of -vary by the names that the option and its suboption have, whatever the user calls
 * them: the words to begin with in `*words`, and the name of the axis.
 */
static const char *extra_name(struct scan *s, const struct option *opt, const char *given,
			      const char **words)
{
	struct arena *arena = s->v->arena;
	size_t n, i = 1;
	const char *const *all = split(arena, "", given, &n);
	const bool scoped = n > 2 && strcmp(all[1], "target") == 0;
	const struct option *sub = NULL;
	const char *rest = "";

	s->opt = opt;
	s->target = scoped ? all[2] : NULL;
	s->use++;
	i = scoped ? 3 : 1;
	if (i < n)
		sub = option_find_sub(opt, all[i]);
	i += sub != NULL;
	for (; i < n; i++)
		rest = xarena_printf(arena, "%s %s", rest, all[i]);
	*words = xarena_printf(arena, "%s%s%s%s%s%s", opt->name, scoped ? " target " : "",
			       scoped ? all[2] : "", sub ? " " : "", sub ? sub->name : "", rest);
	return xarena_printf(arena, "%s%s", axis_name(s, sub), rest);
}

static enum xdd_status take_extra(struct scan *s, const char *text)
{
	struct arena *arena = s->v->arena;
	const char *words;
	const char *equals = strchr(text, '='), *name = text + strspn(text, "-");
	const char *head, *value;
	const struct option *opt;

	name = xarena_printf(arena, "%.*s", equals ? (int)(equals - name) : (int)strlen(name),
			     name);
	head = xarena_printf(arena, "-%.*s", (int)strcspn(name, " "), name);
	opt = option_of(arena, head, &value);
	if (!opt)
		return bad_extra(s, text, "expected <option>=<list>, with an option of a run");
	if (!equals && (opt->arg || opt->type == OPT_SUB))
		return bad_extra(s, text, "expected a list after =");
	name = extra_name(s, opt, name, &words);
	return equals ? add_extra(s, name, words, equals + 1) : add_flag(s, name, words);
}

enum xdd_status vary_read(struct arena *arena, const char *command, const char *const *words,
			  size_t n_words, const char *const *extra, size_t n_extra, bool pairs,
			  struct vary *v)
{
	struct scan s = { .v = v };
	enum xdd_status status;

	*v = (struct vary){ .arena = arena, .command = command, .pairs = pairs };
	status = take_words(&s, words, n_words);
	for (size_t i = 0; i < n_extra && !status; i++)
		status = take_extra(&s, extra[i]);
	if (!status)
		status = check_fixed(&s);
	return status ? status : count_points(v);
}

bool vary_add_axis(struct vary *v, const char *name, const struct vary_value *values, size_t n)
{
	/* The room of the arrays is not known any more. */
	struct scan s = { .v = v };

	return !add_axis(&s, name, values, n) && !count_points(v);
}

size_t vary_at(const struct vary *v, size_t point, size_t axis)
{
	if (v->pairs)
		return point;
	for (size_t i = v->n_axes; --i > axis;)
		point /= v->axes[i].n;
	return point % v->axes[axis].n;
}

size_t vary_room(const struct vary *v, const char *const *more)
{
	size_t n = 2 + v->n_slots;

	for (size_t i = 0; i < v->n_axes; i++) {
		size_t most = 0;

		for (size_t k = 0; k < v->axes[i].n; k++) {
			const size_t words = v->axes[i].values[k].n_words;

			most = words > most ? words : most;
		}
		n += most;
	}
	while (more && *more++)
		n++;
	return n;
}

size_t vary_words(const struct vary *v, size_t point, const char *const *more, const char **words)
{
	size_t n = 0;

	words[n++] = "xdd";
	for (size_t i = 0; i < v->n_slots; i++) {
		const struct vary_value *value;

		if (v->slots[i].word) {
			words[n++] = v->slots[i].word;
			continue;
		}
		value = &v->axes[v->slots[i].axis].values[vary_at(v, point, v->slots[i].axis)];
		for (size_t k = 0; k < value->n_words; k++)
			words[n++] = value->words[k];
	}
	while (more && *more)
		words[n++] = *more++;
	words[n] = NULL;
	return n;
}

/* ---- lists and ranges of values ---- */

#define MOST_DECIMALS 6

/* A number of a range: `scaled` is its value times 10^decimals. */
struct number {
	uint64_t scaled;
	unsigned decimals;
	const char *suffix; /* rest of the word */
	size_t suffix_length;
};

/* A growing list. */
struct values {
	struct arena *arena;
	const char **texts;
	size_t n, room;
};

static bool is_number_type(enum option_type type)
{
	return type == OPT_U64 || type == OPT_SIZE || type == OPT_AMOUNT || type == OPT_BLOCKS ||
	       type == OPT_SECONDS;
}

bool vary_is_list(const struct option *row, const char *text)
{
	/* The commas of a mix of sizes are part of its one value. */
	if (row->form && strchr(text, ':'))
		return false;
	if (is_number_type(row->type) || row->varies)
		return strchr(text, ',') || strstr(text, "..");
	return row->type == OPT_CHOICE && strchr(text, ',');
}

static const char *add(struct values *v, const char *text)
{
	if (v->n == VARY_MAX_VALUES)
		return xarena_printf(v->arena, "has more than %d values", VARY_MAX_VALUES);
	v->texts = xarena_room(v->arena, v->texts, v->n, sizeof(*v->texts));
	v->texts[v->n++] = text;
	return NULL;
}

/* Read digits, decimals and a suffix from `text` of `length` bytes. */
static bool read_number(const char *text, size_t length, struct number *x)
{
	size_t i = 0;
	bool point = false;

	*x = (struct number){ .scaled = 0 };
	for (; i < length && (isdigit((unsigned char)text[i]) || (text[i] == '.' && !point)); i++) {
		if (text[i] == '.') {
			point = true;
			continue;
		}
		if (x->scaled > (UINT64_MAX - 9) / 10)
			return false;
		x->scaled = x->scaled * 10 + (uint64_t)(text[i] - '0');
		x->decimals += point;
	}
	x->suffix = text + i;
	x->suffix_length = length - i;
	return i > (size_t)point && x->decimals <= MOST_DECIMALS;
}

static bool same_suffix(const struct number *a, const struct number *b)
{
	return a->suffix_length == b->suffix_length &&
	       strncasecmp(a->suffix, b->suffix, a->suffix_length) == 0;
}

static bool raise_decimals(struct number *x, unsigned decimals)
{
	for (; x->decimals < decimals; x->decimals++) {
		if (x->scaled > UINT64_MAX / 10)
			return false;
		x->scaled *= 10;
	}
	return true;
}

/* ---- ranges whose ends have different units ---- */

struct unit {
	const char *suffix;
	uint64_t size;
};

static const struct unit sizes[] = {
	{ "T", 1ull << 40 }, { "G", 1ull << 30 }, { "M", 1ull << 20 },
	{ "k", 1ull << 10 }, { "B", 1 },	  { NULL, 0 },
};

static const struct unit times[] = {
	{ "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 }, { NULL, 0 },
};

static const struct unit counts[] = {
	{ "", 1 },
	{ NULL, 0 },
};

static const struct unit *units_of(const struct option *row)
{
	if (row->type == OPT_SECONDS)
		return times;
	return row->type == OPT_U64 ? counts : sizes;
}

/* Make `x` a whole number of the smallest unit of the type. */
static bool to_base(const struct option *row, struct arena *arena, const char *text, size_t length,
		    struct number *x)
{
	const char *word = xarena_printf(arena, "%.*s", (int)length, text);
	int err = -1;

	x->decimals = 0;
	if (!word || !x->suffix_length || !is_number_type(row->type))
		return false;
	if (row->type == OPT_SECONDS)
		err = units_parse_seconds(word, &x->scaled);
	else if (row->type == OPT_U64)
		err = units_parse_count(word, &x->scaled);
	else
		err = units_parse_size(word, &x->scaled);
	return !err;
}

static const char *base_text(const struct option *row, struct arena *arena, uint64_t value)
{
	const struct unit *u = units_of(row);

	while (u[1].suffix && (value % u->size || !value))
		u++;
	return xarena_printf(arena, "%" PRIu64 "%s", value / u->size, u->suffix);
}

/* ---- ranges ---- */

struct range {
	struct number first, last, step;
	bool base;    /* they are of the smallest unit */
	bool factors; /* the step multiplies */
};

static const char *range_text(const struct option *row, struct arena *arena, const struct range *r,
			      uint64_t value)
{
	uint64_t one = 1;
	char fraction[MOST_DECIMALS + 2] = "";
	size_t end;

	if (r->base)
		return base_text(row, arena, value);
	for (unsigned i = 0; i < r->first.decimals; i++)
		one *= 10;
	if (value % one) {
		snprintf(fraction, sizeof(fraction), ".%0*" PRIu64, (int)r->first.decimals,
			 value % one);
		for (end = strlen(fraction); fraction[end - 1] == '0'; end--)
			fraction[end - 1] = '\0';
	}
	return xarena_printf(arena, "%" PRIu64 "%s%.*s", value / one, fraction,
			     (int)r->first.suffix_length, r->first.suffix);
}

static const char *add_range(struct values *v, const struct option *row, const struct range *r)
{
	uint64_t x = r->first.scaled;

	for (;;) {
		const char *why = add(v, range_text(row, v->arena, r, x));

		if (why)
			return why;
		if (r->factors) {
			if (x > r->last.scaled / r->step.scaled)
				return NULL;
			x *= r->step.scaled;
		} else {
			if (r->last.scaled - x < r->step.scaled)
				return NULL;
			x += r->step.scaled;
		}
	}
}

/* Give all numbers of the range the same unit and the same decimals. */
static const char *align(struct arena *arena, const struct option *row, struct range *r,
			 const char *const *texts, const size_t *lengths)
{
	struct number *numbers[] = { &r->first, &r->last, &r->step };
	const size_t n = r->factors ? 2 : 3;
	unsigned decimals = 0;

	for (size_t i = 1; i < n; i++)
		r->base |= !same_suffix(numbers[0], numbers[i]);
	for (size_t i = 0; r->base && i < n; i++) {
		if (!to_base(row, arena, texts[i], lengths[i], numbers[i]))
			return "the numbers of a range need the same unit, or each a unit";
	}
	for (size_t i = 0; i < n; i++)
		decimals = numbers[i]->decimals > decimals ? numbers[i]->decimals : decimals;
	for (size_t i = 0; i < n; i++) {
		if (!raise_decimals(numbers[i], decimals))
			return "a number of the range is too large";
	}
	return NULL;
}

static const char *check_range(const struct range *r)
{
	if (r->first.scaled > r->last.scaled)
		return "a range begins with its smaller number";
	if (r->factors && (r->step.scaled < 2 || r->step.decimals || r->step.suffix_length))
		return "expected a whole number from 2 after the x of a range";
	if (r->factors && !r->first.scaled)
		return "a range with a factor begins above 0";
	if (!r->factors && !r->step.scaled)
		return "the step of a range is above 0";
	return NULL;
}

/* "A..B", "A..BxF" or "A..B+S"; `dots` is where the two dots are. */
static const char *take_range(struct values *v, const struct option *row, const char *text,
			      const char *dots)
{
	const char *last = dots + 2, *sign = last + strcspn(last, "x+");
	const char *texts[3] = { text, last, *sign ? sign + 1 : "" };
	const size_t lengths[3] = { (size_t)(dots - text), (size_t)(sign - last),
				    strlen(texts[2]) };
	struct range r = { .factors = *sign == 'x' };
	const char *why;

	if (!read_number(texts[0], lengths[0], &r.first) ||
	    !read_number(texts[1], lengths[1], &r.last) ||
	    (*sign && !read_number(texts[2], lengths[2], &r.step)))
		return "expected a range such as 1..8, 1..64x2 or 0..1M+64k";
	if (!*sign) {
		r.step = r.first;
		r.step.scaled = 1;
		r.step.decimals = 0;
		if (!same_suffix(&r.first, &r.last))
			return "the numbers of a range need the same unit, or a step or factor";
	}
	why = align(v->arena, row, &r, texts, lengths);
	if (!why)
		why = check_range(&r);
	return why ? why : add_range(v, row, &r);
}

static const char *find_twice(struct arena *arena, const struct values *v)
{
	for (size_t i = 0; i < v->n && v->n <= 1000; i++) {
		for (size_t k = i + 1; k < v->n; k++) {
			if (strcmp(v->texts[i], v->texts[k]) == 0)
				return xarena_printf(arena, "%.64s is in the list twice",
						     v->texts[i]);
		}
	}
	return NULL;
}

const char *vary_list(struct arena *arena, const struct option *row, const char *text,
		      const char *const **values, size_t *n)
{
	struct values v = { .arena = arena };
	const char *why = NULL;

	for (bool more = true; more && !why;) {
		const size_t length = strcspn(text, ",");
		const char *item = xarena_printf(arena, "%.*s", (int)length, text);
		const char *dots = is_number_type(row->type) || row->varies ? strstr(item, "..") :
									      NULL;

		if (!length)
			why = "expected a value before and after each comma";
		else
			why = dots ? take_range(&v, row, item, dots) : add(&v, item);
		more = text[length];
		text += length + 1;
	}
	if (!why)
		why = find_twice(arena, &v);
	*values = v.texts;
	*n = v.n;
	return why;
}
