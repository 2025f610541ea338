/*
 * From words to settings: finds each option's row, its target scope and its arguments. Setup
 * files are those of parse_setup.c. Nothing is applied here; see apply.c. Called by plan_build().
 */
#include "plan/parse.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "plan/errors.h"
#include "plan/foreign_answer.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

/* The words that are still to be read. */
struct cursor {
	const struct word *words;
	size_t n, i;
};

static size_t left(const struct cursor *c)
{
	return c->n - c->i;
}

static bool scope_is(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (strcmp(text, "all") == 0)
		return true;
	if (digits == 0)
		return false;
	if (text[digits] == '-')
		return text[digits + 1] &&
		       !text[digits + 1 + strspn(text + digits + 1, "0123456789")];
	return text[digits] == '\0';
}

/* An option that starts with a dash; `*name` without the dashes. */
static bool looks_like_option(const char *text, const char **name)
{
	if (text[0] != '-' || text[1] == '\0')
		return false;
	*name = text + (text[1] == '-' ? 2 : 1);
	return **name != '\0';
}

/* The option whose name is the first `len` characters of `text`. */
static const struct option *find_head(const struct option_table *table, const char *text,
				      size_t len)
{
	char head[32];

	if (len >= sizeof(head))
		return NULL;
	memcpy(head, text, len);
	head[len] = '\0';
	return option_find(table, head);
}

enum xdd_status parse_unknown_word(const struct option_table *table, struct arena *arena,
				   const struct word *w)
{
	struct setting s = { .name = *w, .arena = arena };
	const struct foreign_tool *tool;
	const struct foreign *row;
	const char *name, *near, *equals;
	const struct option *same;

	if (!looks_like_option(w->text, &name)) {
		same = option_find(table, w->text);
		if (same)
			return parse_error(XDD_BAD_OPTION, &s, NULL,
					   "is a stray word; did you mean -%s?", same->name);
		if (*w->text && access(w->text, F_OK) == 0)
			return parse_error(XDD_BAD_OPTION, &s, NULL,
					   "is a stray word; files and devices are named with "
					   "-target %.64s",
					   w->text);
		if (*w->text == '[' && w->file)
			return parse_error(XDD_BAD_OPTION, &s, NULL,
					   "is a stray word; a section is [name] on a line of its "
					   "own");
		return parse_error(
			XDD_BAD_OPTION, &s, NULL,
			"is a stray word: it belongs to no option, and options begin with -");
	}
	equals = strchr(name, '=');
	same = equals ? find_head(table, name, (size_t)(equals - name)) : NULL;
	if (same && same->type == OPT_REFUSED)
		return parse_error(XDD_BAD_OPTION, &s, NULL, "%s", same->help);
	if (same)
		return parse_error(XDD_BAD_OPTION, &s, NULL, "takes no value; say -%s", same->name);
	row = equals ? NULL : foreign_any(name, NULL, &tool);
	if (row)
		return foreign_report(arena, &s, NULL, tool, row, NULL);
	near = option_suggest(table, name);
	if (near)
		return parse_error(XDD_BAD_OPTION, &s, NULL, "is not an option; did you mean -%s?",
				   near);
	return parse_error(XDD_BAD_OPTION, &s, NULL, "is not an option; xdd -help lists them");
}

/* "-processor 0 1": the number of the target stands before the argument, without the word. */
static bool is_numbered(const struct cursor *c, const struct option *opt)
{
	const struct word *w = c->words + c->i;
	uint64_t n;

	return opt->numbered && left(c) > 1 && units_parse_u64(w[0].text, &n) == 0 &&
	       w[1].text[0] != '-';
}

/* "target <n>" after the option's name. */
static enum xdd_status take_scope(struct cursor *c, struct setting *s)
{
	const struct option *opt = s->opt;
	bool is_value = opt->type == OPT_TEXT || option_find_sub(opt, "target");

	if (is_numbered(c, opt)) {
		s->scope = c->words[c->i++];
		return XDD_OK;
	}
	if (!left(c) || strcmp(c->words[c->i].text, "target") != 0)
		return XDD_OK;
	if (opt->scope == SCOPE_GLOBAL) {
		if (opt->type == OPT_FLAG || (left(c) > 1 && scope_is(c->words[c->i + 1].text)))
			return parse_error(XDD_BAD_OPTION, s, &c->words[c->i],
					   "is for the whole run and takes no target");
		return XDD_OK;
	}
	if (left(c) > 1 && scope_is(c->words[c->i + 1].text)) {
		s->scope = c->words[c->i + 1];
		c->i += 2;
		return XDD_OK;
	}
	if (is_value)
		return XDD_OK;
	if (left(c) > 1)
		s->scope = c->words[c->i + 1];
	return parse_error(
		XDD_BAD_ARGUMENT, s, left(c) > 1 ? &s->scope : &c->words[c->i],
		"expected a target number, a range such as 0-3, or \"all\" after \"target\"");
}

static size_t wanted_args(const struct option *row, const struct cursor *c)
{
	if (row->arity)
		return row->arity(c->words + c->i, left(c));
	if (row->n_args)
		return row->n_args;
	return row->arg ? 1 : 0;
}

/* "-help -op": the argument is the name of an option, with its dash or without. */
static bool takes_names(const struct option *row)
{
	return row->arg && strcmp(row->arg, "[<word> ...]") == 0;
}

/* The arguments of `row`, which is the option or one of its suboptions. */
static enum xdd_status take_args(const struct parse *p, struct cursor *c, struct setting *s,
				 const struct option *row)
{
	size_t want = wanted_args(row, c);

	s->args = c->words + c->i;
	s->n_args = want;
	for (size_t i = 0; i < want; i++) {
		if (c->i + i >= c->n)
			return parse_error(XDD_BAD_ARGUMENT, s, NULL, "missing argument %s",
					   row->arg);
		if (option_is_word(p->table, s->args[i].text) && !takes_names(row))
			return parse_error(XDD_BAD_ARGUMENT, s, NULL,
					   "missing argument %s: found option %s instead", row->arg,
					   s->args[i].text);
	}
	c->i += want;
	return XDD_OK;
}

static enum xdd_status add_setting(struct parse *p, const struct setting *s)
{
	if (p->n_settings == p->cap_settings) {
		size_t cap = p->cap_settings ? p->cap_settings * 2 : 64;
		struct setting *more = arena_alloc(p->arena, cap * sizeof(*more));

		if (!more)
			return plan_no_memory();
		if (p->n_settings)
			memcpy(more, p->settings, p->n_settings * sizeof(*more));
		p->settings = more;
		p->cap_settings = cap;
	}
	p->settings[p->n_settings] = *s;
	p->settings[p->n_settings++].section = p->section;
	return XDD_OK;
}

static const char *suboption_at(const void *opt, size_t i)
{
	const struct option *sub = option_sub(opt, i);

	return sub ? sub->name : NULL;
}

/* The suboption nearest to a word that is not one, or NULL. */
static const char *near_suboption(const struct option *opt, const char *text)
{
	return suggest_nearest(text, suboption_at, opt);
}

static enum xdd_status bad_suboption(const struct setting *s, const struct word *w)
{
	const char *near = near_suboption(s->opt, w->text);
	const size_t length = strlen(w->text);
	const struct option *sub;
	char list[512];

	/* The optional word of a suboption, as in "random [once]". */
	for (size_t i = 0; (sub = option_sub(s->opt, i)); i++) {
		if (length && sub->arg && sub->arg[0] == '[' &&
		    strncmp(sub->arg + 1, w->text, length) == 0 && sub->arg[1 + length] == ']')
			return parse_error(XDD_BAD_OPTION, s, w,
					   "is not a suboption; did you mean %s %s?", sub->name,
					   w->text);
	}
	if (near)
		return parse_error(XDD_BAD_OPTION, s, w, "is not a suboption; did you mean %s?",
				   near);
	return parse_error(XDD_BAD_OPTION, s, w, "expected one of %s",
			   parse_list_words(suboption_at, s->opt, list, sizeof(list)));
}

/* The suboption that a number stands for by itself, or NULL. */
static const struct option *bare_suboption(const struct option *opt, const char *text)
{
	const struct option *sub;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return NULL;
	for (size_t i = 0; (sub = option_sub(opt, i)) && !sub->bare; i++)
		;
	return sub;
}

/* A further suboption, perhaps misspelt, and not the next option. */
static bool is_suboption(const struct option *opt, const char *text)
{
	return option_find_sub(opt, text) || bare_suboption(opt, text) ||
	       (text[0] != '-' && near_suboption(opt, text));
}

/*
 * The row for a word that is neither a suboption nor a misspelt one, and is its own argument; or
 * NULL.
 */
static const struct option *other_suboption(const struct option *opt, const char *text)
{
	return text[0] && text[1] && near_suboption(opt, text) ? NULL : opt->other;
}

/* "-seek random range 100": one or more suboptions, each with its own arguments. */
static enum xdd_status take_suboptions(struct parse *p, struct cursor *c, struct setting *s)
{
	if (!left(c) || option_is_word(p->table, c->words[c->i].text)) {
		if (!s->opt->alone)
			return take_args(p, c, s, s->opt);
		s->sub = s->opt->alone;
		return add_setting(p, s);
	}
	s->sub = NULL;
	do {
		const char *text = c->words[c->i].text;
		bool first = !s->sub;
		enum xdd_status status;

		s->further = !first;
		s->sub = option_find_sub(s->opt, text);
		if (s->sub)
			c->i++;
		else if (first && s->opt->other)
			s->sub = other_suboption(s->opt, text);
		else
			s->sub = bare_suboption(s->opt, text);
		if (!s->sub)
			return bad_suboption(s, &c->words[c->i]);
		status = take_args(p, c, s, s->sub);
		if (!status)
			status = s->sub->type == OPT_ACTION ? s->sub->act(p, s) : add_setting(p, s);
		if (status)
			return status;
	} while (!p->done && left(c) && is_suboption(s->opt, c->words[c->i].text));
	return XDD_OK;
}

static enum xdd_status take_option(struct parse *p, struct cursor *c)
{
	struct setting s = { .name = c->words[c->i], .arena = p->arena };
	enum xdd_status status;
	const char *name;

	if (!looks_like_option(s.name.text, &name) || !(s.opt = option_find(p->table, name)))
		return parse_unknown_word(p->table, p->arena, &s.name);
	c->i++;
	if (s.opt->type == OPT_REFUSED)
		return parse_error(XDD_BAD_OPTION, &s, NULL, "%s", s.opt->help);
	status = take_scope(c, &s);
	if (status)
		return status;
	if (s.opt->type == OPT_SUB)
		return take_suboptions(p, c, &s);
	status = take_args(p, c, &s, s.opt);
	if (status)
		return status;
	if (s.opt->type == OPT_ACTION)
		return s.opt->act(p, &s);
	return add_setting(p, &s);
}

bool option_takes_value(const struct option *opt)
{
	return opt->arg || opt->arity || opt->type == OPT_SUB;
}

/* The "=" of "--op=read", an option with its value; NULL: no such word. */
static const char *value_sign(const struct option_table *table, const char *text)
{
	const struct option *opt;
	const char *name, *equals;

	if (!looks_like_option(text, &name) || !(equals = strchr(name, '=')))
		return NULL;
	opt = find_head(table, name, (size_t)(equals - name));
	if (!opt || opt->type == OPT_REFUSED || !option_takes_value(opt))
		return NULL;
	return equals;
}

/* Make two words of each "--op=read". */
static enum xdd_status split_words(const struct parse *p, struct cursor *c)
{
	const struct word *words = c->words;
	size_t n = 0, n_words = c->n;
	struct word *split;

	for (size_t i = 0; i < n_words; i++)
		n += value_sign(p->table, words[i].text) ? 2 : 1;
	if (n == n_words)
		return XDD_OK;
	split = arena_alloc(p->arena, n * sizeof(*split));
	if (!split)
		return plan_no_memory();
	c->words = split;
	c->n = n;
	for (size_t i = 0; i < n_words; i++) {
		const char *equals = value_sign(p->table, words[i].text);

		*split = words[i];
		if (equals) {
			split->text = arena_printf(p->arena, "%.*s", (int)(equals - words[i].text),
						   words[i].text);
			if (!split->text)
				return plan_no_memory();
			*++split = words[i];
			split->text = equals + 1;
		}
		split++;
	}
	return XDD_OK;
}

enum xdd_status parse_words(struct parse *p, const struct word *words, size_t n_words)
{
	struct cursor c = { .words = words, .n = n_words };
	enum xdd_status split = split_words(p, &c);

	if (split)
		return split;
	while (left(&c) && !p->done) {
		enum xdd_status status = take_option(p, &c);

		if (status)
			return status;
	}
	return XDD_OK;
}
