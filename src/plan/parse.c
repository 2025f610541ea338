/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From words to settings: finds each option's row, its target scope and its arguments. Settings of
 * a run are not applied here; see plan.c. Called by plan_build() and by commands.
 */
#include "plan/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/files.h"
#include "plan/foreign_answer.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/line.h"

/*
 * Messages about a plan that is refused.
 */

#define SHOWN_MAX 128		    /* characters of a word or a file name that a message shows */
#define SHOWN_SIZE (SHOWN_MAX + 32) /* and what goes around them */

/* A word for a message: in quotes if it is empty or has blanks, and cut if it is long. */
static char *show_word(const char *text, char *buf, size_t size)
{
	const char *quote = !*text || text[strcspn(text, " \t\r\n\v\f")] ? "'" : "";

	snprintf(buf, size, "%s%.*s%s%s", quote, SHOWN_MAX, text,
		 strlen(text) > SHOWN_MAX ? "..." : "", quote);
	return buf;
}

/* "file:line: " for a word of a setup file, otherwise ""; a long file name is cut at its start. */
static char *show_line(const struct word *w, char *buf, size_t size)
{
	size_t len = w->file ? strlen(w->file) : 0, cut = len > SHOWN_MAX ? len - SHOWN_MAX : 0;

	*buf = '\0';
	if (w->file)
		snprintf(buf, size, "%s%s:%u: ", cut ? "..." : "", w->file + cut, w->pos);
	return buf;
}

/* " (argument 5)" for a word of the command line, otherwise "". */
static char *show_argument(const struct word *w, char *buf, size_t size)
{
	*buf = '\0';
	if (!w->file && w->pos)
		snprintf(buf, size, " (argument %u)", w->pos);
	return buf;
}

/*
 * The hint about a list of values, or about a short name, where the option was typed as one; or
 * NULL.
 */
static const char *hint_of(const struct setting *s, const struct word *w)
{
	const char *name = s->name.text + strspn(s->name.text, "-");

	if (s->opt && w && w == s->args && !s->command &&
	    vary_is_list(s->sub ? s->sub : s->opt, w->text))
		return "a list is for xdd sweep";
	return s->opt && strcmp(name, s->opt->name) != 0 ? s->opt->hint : NULL;
}

enum xdd_status parse_error(enum xdd_status status, const struct setting *s, const struct word *w,
			    const char *fmt, ...)
{
	const char *hint = hint_of(s, w), *command = s->command ? s->command : "";
	char text[1024], name[SHOWN_SIZE], value[SHOWN_SIZE] = "";
	char line[SHOWN_SIZE], argument[SHOWN_SIZE];
	const struct word *at = w ? w : &s->name;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (w)
		show_word(w->text, value, sizeof(value));
	log_error("%s%s%s%s%s%s%s%s%s: %s%s%s%s", command, *command ? " " : "",
		  show_line(at, line, sizeof(line)), show_word(s->name.text, name, sizeof(name)),
		  s->sub ? " " : "", s->sub ? s->sub->name : "", w == &s->scope ? " target" : "",
		  w ? " " : "", value, text, show_argument(at, argument, sizeof(argument)),
		  hint ? "; " : "", hint ? hint : "");
	return status;
}

enum xdd_status parse_no_target(const struct plan *plan, const struct setting *s,
				const struct word *w)
{
	const size_t n = plan->n_targets;

	if (n == 1)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "is not a target: there is one, number 0");
	return parse_error(XDD_BAD_ARGUMENT, s, w, "is not a target: there are %zu, 0 to %zu", n,
			   n - 1);
}

char *parse_list_words(suggest_word_at at, const void *words, char *buf, size_t size)
{
	const char *word;

	*buf = '\0';
	for (size_t i = 0; (word = at(words, i)) != NULL; i++)
		text_add(buf, size, "%s%s", !i ? "" : at(words, i + 1) ? ", " : " or ", word);
	return buf;
}

enum xdd_status parse_error_words(const struct setting *s, const struct word *w, suggest_word_at at,
				  const void *words)
{
	const char *near = suggest_nearest(w->text, at, words);
	char list[256];

	parse_list_words(at, words, list, sizeof(list));
	if (near)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "expected %s; did you mean %s?", list,
				   near);
	return parse_error(XDD_BAD_ARGUMENT, s, w, "expected %s", list);
}

/*
 * Setup files and their sections: the words of a file become settings where -setup stands, those
 * of a section settings of its own.
 */

#define SETUP_MAX_DEPTH 32
#define SETUP_MAX_FILES 1000

/* The words of a section become settings of its own. */
static enum xdd_status read_section(struct parse *p, struct section *section,
				    const struct word *words, size_t n_words)
{
	struct setting *settings = p->settings;
	const size_t n = p->n_settings, cap = p->cap_settings;
	enum xdd_status status;

	section->before = n;
	p->settings = NULL;
	p->n_settings = p->cap_settings = 0;
	p->section = section->name;
	status = parse_words(p, words, n_words);
	p->section = NULL;
	section->settings = p->settings;
	section->n_settings = p->n_settings;
	p->settings = settings;
	p->n_settings = n;
	p->cap_settings = cap;
	return status;
}

static enum xdd_status refuse_section(const char *file, const struct setup_section *found,
				      const char *why)
{
	return log_refuse("%.128s:%u: section %s: %s", file, found->line, found->name, why);
}

/* `file` has room in p->sections. */
static enum xdd_status add_section(struct parse *p, const char *file, const struct setup_words *all,
				   size_t i)
{
	const struct setup_section *found = &all->sections[i];
	const size_t end = i + 1 < all->n_sections ? found[1].first : all->n;
	struct section *section = &p->sections[p->n_sections];

	for (size_t k = 0; k < p->n_sections; k++) {
		if (strcmp(p->sections[k].name, found->name) == 0)
			return refuse_section(file, found, "there is another one of that name");
	}
	*section = (struct section){ .name = found->name, .file = file, .line = found->line };
	p->n_sections++;
	return read_section(p, section, all->words + found->first, end - found->first);
}

static enum xdd_status add_sections(struct parse *p, const char *file,
				    const struct setup_words *all)
{
	enum xdd_status status = XDD_OK;
	struct section *more;

	if (!all->n_sections)
		return XDD_OK;
	if (p->section || p->setup->outer)
		return refuse_section(file, &all->sections[0],
				      "must be in a setup file that the command line names");
	more = xarena_alloc(p->arena, (p->n_sections + all->n_sections) * sizeof(*more));
	if (p->n_sections)
		memcpy(more, p->sections, p->n_sections * sizeof(*more));
	p->sections = more;
	for (size_t i = 0; i < all->n_sections && !status && !p->done; i++)
		status = add_section(p, file, all, i);
	return status;
}

enum xdd_status parse_choice(struct parse *p, const struct setting *s)
{
	if (s->name.file)
		return parse_error(XDD_BAD_ARGUMENT, s, NULL,
				   "must be on the command line, and not in a setup file");
	p->choices = xarena_room(p->arena, p->choices, p->n_choices, sizeof(*p->choices));
	p->choices[p->n_choices++] = *s;
	return XDD_OK;
}

/* Words before the first section take the place of the option; the words of a section follow. */
static enum xdd_status read_setup(struct parse *p, const struct word *name)
{
	struct setup_words all;
	enum xdd_status status = setup_file_read(p->arena, name, &all);

	if (status)
		return status;
	plan_add_setup(p->plan, name->text);
	status = parse_words(p, all.words, all.n_sections ? all.sections[0].first : all.n);
	if (!status && !p->done)
		status = add_sections(p, name->text, &all);
	return status;
}

/* -setup: its words stand where the option stands. */
enum xdd_status parse_setup(struct parse *p, const struct setting *s)
{
	struct setup_file self = { .outer = p->setup };
	const struct word *name = &s->args[0];
	enum xdd_status status;
	struct stat st;
	size_t depth = 0;

	if (!*name->text)
		return parse_error(XDD_BAD_ARGUMENT, s, name, "%s cannot be empty", s->opt->arg);
	if (stat(name->text, &st) == 0) {
		self.dev = st.st_dev;
		self.ino = st.st_ino;
		for (const struct setup_file *f = p->setup; f; f = f->outer, depth++) {
			if (f->dev == st.st_dev && f->ino == st.st_ino)
				return parse_error(
					XDD_BAD_ARGUMENT, s, name,
					"is a loop of setup files: this file is being read already");
		}
	}
	if (depth >= SETUP_MAX_DEPTH)
		return parse_error(XDD_BAD_ARGUMENT, s, name,
				   "setup files are nested more than %d deep", SETUP_MAX_DEPTH);
	/* Files that each name the next one twice would never end. */
	if (++p->n_setup_files > SETUP_MAX_FILES)
		return parse_error(XDD_BAD_ARGUMENT, s, name, "more than %d setup files are read",
				   SETUP_MAX_FILES);
	p->setup = &self;
	status = read_setup(p, name);
	p->setup = self.outer;
	return status;
}

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
	const char *name, *equals, *value;
	const struct option *same;

	if (!looks_like_option(w->text, &name)) {
		same = option_find(table, w->text);
		if (same)
			return parse_error(XDD_BAD_OPTION, &s, NULL,
					   "is a stray word; did you mean -%s?", same->name);
		/* "xdd trim -target T", as other tools have commands. */
		row = w->pos == 1 && !w->file ? foreign_command(w->text, &tool) : NULL;
		if (row)
			return foreign_report(arena, &s, NULL, tool, row, NULL);
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
			"is a stray word: it belongs to no option; options begin with -, and files "
			"and devices are named with -target");
	}
	equals = strchr(name, '=');
	value = equals ? equals + 1 : NULL;
	same = equals ? find_head(table, name, (size_t)(equals - name)) : NULL;
	if (same && same->type == OPT_REFUSED)
		return parse_error(XDD_BAD_OPTION, &s, NULL, "%s", same->help);
	if (same)
		return parse_error(XDD_BAD_OPTION, &s, NULL, "takes no value; say -%s", same->name);
	if (equals)
		name = xarena_printf(arena, "%.*s", (int)(equals - name), name);
	row = foreign_any(name, value, &tool);
	if (row)
		return foreign_report(arena, &s, NULL, tool, row, value);
	return option_unknown(XDD_BAD_OPTION, &s, NULL, option_suggest(table, name));
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
		struct setting *more = xarena_alloc(p->arena, cap * sizeof(*more));

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

/*
 * "-throttle ops 500 (operations per second) or -throttle bw 500 (...)": the suboptions that `text`
 * may be without a name; "" if it is none.
 */
static char *list_bare(const struct setting *s, const char *text)
{
	const char *first = xarena_printf(s->arena, "%.*s", (int)strcspn(text, ","), text);
	char *list = xarena_strdup(s->arena, "");
	const struct option *sub;

	for (size_t i = 0; (sub = option_sub(s->opt, i)); i++) {
		if (sub->bare && sub->bare(first))
			list = xarena_printf(s->arena, "%s%s-%s %s %.32s (%s)", list,
					     *list ? " or " : "", s->opt->name, sub->name, text,
					     sub->unit);
	}
	return list;
}

static enum xdd_status bad_suboption(const struct setting *s, const struct word *w)
{
	const char *near = near_suboption(s->opt, w->text);
	const size_t length = strlen(w->text);
	const char *numbers = list_bare(s, w->text);
	const struct option *sub;
	char list[512];

	if (*numbers)
		return parse_error(XDD_BAD_OPTION, s, w, "expected a name before the number: %s",
				   numbers);
	/* The optional word of a suboption, as in "random [once]". */
	for (size_t i = 0; (sub = option_sub(s->opt, i)); i++) {
		if (length && sub->arg && sub->arg[0] == '[' &&
		    strncmp(sub->arg + 1, w->text, length) == 0 && sub->arg[1 + length] == ']')
			return parse_error(XDD_BAD_OPTION, s, w,
					   "is not a suboption; did you mean %s %s?", sub->name,
					   w->text);
	}
	/* "zipf:1.2", as other tools have it. */
	for (size_t i = 0; (sub = option_sub(s->opt, i)); i++) {
		const size_t len = strlen(sub->name);

		if (sub->arg && strncmp(w->text, sub->name, len) == 0 && w->text[len] &&
		    strchr(":=", w->text[len]) && w->text[len + 1])
			return parse_error(XDD_BAD_OPTION, s, w,
					   "is not a suboption; did you mean %s %.64s?", sub->name,
					   w->text + len + 1);
	}
	if (near)
		return parse_error(XDD_BAD_OPTION, s, w, "is not a suboption; did you mean %s?",
				   near);
	return parse_error(XDD_BAD_OPTION, s, w, "expected one of %s",
			   parse_list_words(suboption_at, s->opt, list, sizeof(list)));
}

/* A further suboption, perhaps misspelt, and not the next option. */
static bool is_suboption(const struct option *opt, const char *text)
{
	return option_find_sub(opt, text) || option_find_bare(opt, text) ||
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
			s->sub = option_find_bare(s->opt, text);
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
	split = xarena_alloc(p->arena, n * sizeof(*split));
	c->words = split;
	c->n = n;
	for (size_t i = 0; i < n_words; i++) {
		const char *equals = value_sign(p->table, words[i].text);

		*split = words[i];
		if (equals) {
			split->text = xarena_printf(p->arena, "%.*s", (int)(equals - words[i].text),
						    words[i].text);
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
	p->n_words += c.n;
	while (left(&c) && !p->done) {
		enum xdd_status status = take_option(p, &c);

		if (status)
			return status;
	}
	return XDD_OK;
}

/*
 * Command lines of commands.
 */

const struct option *line_option(const struct line *l, const char **value)
{
	const char *name, *equals;
	const struct option *opt;

	*value = NULL;
	if (l->ended || !looks_like_option(l->argv[l->at], &name))
		return NULL;
	opt = option_find(l->options, name);
	equals = opt ? NULL : strchr(name, '=');
	if (!equals)
		return opt;
	opt = find_head(l->options, name, (size_t)(equals - name));
	*value = opt ? equals + 1 : NULL;
	return opt;
}

enum xdd_status line_store(struct line *l, const struct option *opt, const char *word,
			   const char *value)
{
	char name[SHOWN_SIZE];
	const struct word arg = { .text = value };
	struct setting s = { .opt = opt, .command = l->name, .args = &arg, .n_args = !!value };
	enum xdd_status status;

	snprintf(name, sizeof(name), "%.*s", value ? (int)strcspn(word, "=") : SHOWN_MAX, word);
	s.name.text = name;
	if (value && !opt->arg)
		return parse_error(XDD_BAD_OPTION, &s, NULL, "takes no value; say -%s", opt->name);
	if (opt->arg && !value)
		return parse_error(XDD_BAD_ARGUMENT, &s, NULL, "missing argument %s", opt->arg);
	if (value && !*value)
		return parse_error(XDD_BAD_ARGUMENT, &s, &arg, "%s cannot be empty", opt->arg);
	status = parse_apply(&s, l->to);
	if (!status && l->stored)
		l->stored(l, opt, word, value);
	return status;
}

static enum xdd_status line_unknown(const struct line *l, const char *word)
{
	const char *near = option_suggest(l->options, word);
	const struct setting s = { .name = { .text = word }, .command = l->name };

	if (near)
		return option_unknown(XDD_BAD_OPTION, &s, NULL, near);
	return parse_error(XDD_BAD_OPTION, &s, NULL, "is not an option; xdd %s -help lists them%s",
			   l->name,
			   l->operand && access(word, F_OK) == 0 ?
				   ", and ./ before it makes it the name of a file" :
				   "");
}

enum xdd_status line_store_next(struct line *l, const struct option *opt, const char *word)
{
	const char *value = opt->arg ? l->argv[l->at] : NULL;
	const struct setting s = { .opt = opt, .command = l->name, .name = { .text = word } };

	if (value && strcmp(value, "--") == 0)
		value = NULL;
	if (value && option_is_word(l->options, value))
		return parse_error(XDD_BAD_ARGUMENT, &s, NULL,
				   "missing argument %s: found option %s instead", opt->arg, value);
	if (value)
		l->at++;
	return line_store(l, opt, word, value);
}

static enum xdd_status line_take_option(struct line *l)
{
	const char *word = l->argv[l->at], *value;
	const struct option *opt = line_option(l, &value);

	if (!opt)
		return line_unknown(l, word);
	l->at++;
	if (value)
		return line_store(l, opt, word, value);
	if (opt->type != OPT_ACTION)
		return line_store_next(l, opt, word);
	l->shows = opt->name;
	return XDD_OK;
}

static enum xdd_status line_take(struct line *l)
{
	const char *word = l->argv[l->at], *name;
	const struct setting s = { .name = { .text = word }, .command = l->name };

	if (l->other) {
		const int at = l->at;
		enum xdd_status status = l->other(l);

		if (status || l->at != at)
			return status;
	}
	if (!l->ended && looks_like_option(word, &name))
		return line_take_option(l);
	l->at++;
	if (!l->ended && strcmp(word, "--") == 0) {
		l->ended = true;
		return XDD_OK;
	}
	if (l->operand)
		return l->operand(l, word);
	return parse_error(XDD_BAD_ARGUMENT, &s, NULL,
			   "is a stray word; expected an option, and xdd %s -help lists them",
			   l->name);
}

enum xdd_status line_read(struct line *l, int argc, char *const *argv)
{
	enum xdd_status status = XDD_OK;

	l->argc = argc;
	l->argv = argv;
	for (l->at = 1; l->at < argc && !l->shows && !status;)
		status = line_take(l);
	return status;
}
