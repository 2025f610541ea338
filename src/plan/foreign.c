/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding words of other tools, and putting their values into the words of xdd. Called by the
 * parser, the help and the page generator.
 */
#include "xdd/plan/foreign.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/fio.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/plan/plan.h"

static const struct foreign_tool *const tools[] = {
	&foreign_fio,	&foreign_dd,	       &foreign_sgp_dd,	  &foreign_ior,
	&foreign_xdisk, &foreign_sgpdd_survey, &foreign_elbencho, &foreign_common,
};

const struct foreign_tool *foreign_tool_at(size_t i)
{
	return i < sizeof(tools) / sizeof(tools[0]) ? tools[i] : NULL;
}

static int fold(char c)
{
	return c == '-' ? '_' : c;
}

static bool same_word(const char *a, const char *b)
{
	while (*a && fold(*a) == fold(*b)) {
		a++;
		b++;
	}
	return !*a && !*b;
}

/* True when `list`, words separated by blanks, holds `value`, or its begin with a star after it. */
static bool has_value(const char *list, const char *value)
{
	size_t len = strlen(value);

	while (*list) {
		size_t n = strcspn(list, " ");
		const size_t begin = n && list[n - 1] == '*' ? n - 1 : n;

		if ((n == len || begin < n) && strncmp(list, value, begin) == 0)
			return true;
		list += n + strspn(list + n, " ");
	}
	return false;
}

/*
 * True if the row is for the value. A letter, which other tools have too, is for numbers only where
 * its sample is one: "-w file" is no warm-up.
 */
static bool takes(const struct foreign *row, const char *value)
{
	if (row->kind == FOREIGN_COMMAND)
		return false;
	if (row->values)
		return value ? has_value(row->values, value) : !*row->values;
	return row->word[1] || !value || !row->sample || !isdigit((unsigned char)row->sample[0]) ||
	       isdigit((unsigned char)value[0]);
}

static const struct foreign *find(const struct foreign_tool *tool, const char *word,
				  const char *value, bool alone)
{
	for (const struct foreign *row = tool->rows; row->word; row++) {
		const bool is_alone = row->values && !*row->values;

		if (same_word(row->word, word) && takes(row, value) && (alone || !is_alone))
			return row;
	}
	return NULL;
}

const struct foreign *foreign_find(const struct foreign_tool *tool, const char *word,
				   const char *value)
{
	return find(tool, word, value, true);
}

const struct foreign *foreign_any(const char *word, const char *value,
				  const struct foreign_tool **tool)
{
	const struct foreign *row = NULL;

	for (size_t i = 0; !row && (*tool = foreign_tool_at(i)); i++)
		row = find(*tool, word, value, false);
	return row;
}

size_t foreign_letter(const struct foreign_tool *tool, const char *text)
{
	const char letter[] = { text[0], '\0' }, *value = text + 1;

	if (strcmp(tool->dashes, "-") != 0 || !text[0] || !value[0])
		return 0;
	for (const struct foreign *row = tool->rows; row->word; row++) {
		if (strcmp(row->word, letter) != 0)
			continue;
		if (row->values && has_value(row->values, value))
			return 1;
		if (!row->values && row->kind == FOREIGN_VALUE &&
		    (isdigit((unsigned char)value[0]) || value[0] == '/'))
			return 1;
	}
	return 0;
}

bool foreign_names_targets(const struct foreign *row)
{
	static const char *const begins[] = { "-target", "-%f", "-%l", "@from", "@to" };

	for (size_t i = 0; row->say && i < sizeof(begins) / sizeof(begins[0]); i++) {
		if (strncmp(row->say, begins[i], strlen(begins[i])) == 0)
			return true;
	}
	return false;
}

bool foreign_is_special(const char *word)
{
	static const char specials[] =
		"@512 @jobs @tasks @timebased @allocate @log @period @json @verify @from @to "
		"@hosts @hostfile @csv @once @create @perfile @next @any @seed @distance";

	return has_value(specials, word);
}

/* ---- templates ---- */

/* The words being made. */
struct words {
	struct arena *arena;
	const char **list;
	size_t n;
};

static void add(struct words *w, const char *word)
{
	w->list = xarena_room(w->arena, w->list, w->n, sizeof(*w->list));
	w->list[w->n++] = word;
}

static bool is_bare(const char *value)
{
	return *value && !value[strspn(value, "0123456789.")];
}

static char *replaced(struct arena *arena, const char *value, char from, char to)
{
	char *text = xarena_strdup(arena, value);

	for (char *c = text; *c; c++)
		*c = *c == from ? to : *c;
	return text;
}

/* The length of "name" in "name...", which stands for numbered files; 0: it is no such name. */
static size_t numbered_length(const char *value)
{
	const size_t len = strlen(value);

	return len > 3 && strcmp(value + len - 3, "...") == 0 ? len - 3 : 0;
}

char *foreign_numbered(struct arena *arena, const char *name, size_t len, const char *number)
{
	char *text = xarena_alloc(arena, 2 * len + strlen(number) + 1), *to = text;

	for (size_t i = 0; i < len; i++) {
		if (name[i] == '%')
			*to++ = '%';
		*to++ = name[i];
	}
	strcpy(to, number);
	return text;
}

/* As many as there are processes: the number is not known here. */
static void add_numbered(struct words *w, const char *value, size_t len)
{
	add(w, "-targets");
	add(w, "<n>");
	add(w, foreign_numbered(w->arena, value, len, "%03d"));
}

/* "a:b": targets 2 a b, where `between` has the colon. */
static void add_files(struct words *w, const char *value, const char *between)
{
	char *names = xarena_strdup(w->arena, value), *save = NULL;
	size_t n = 1;

	for (const char *c = value; *c; c++)
		n += strchr(between, *c) != NULL;
	/* The name of -target may be a pattern of files; names of -targets stand for themselves. */
	if (n == 1 && !strpbrk(value, TARGET_PATTERN)) {
		add(w, "-target");
		add(w, names);
		return;
	}
	add(w, "-targets");
	add(w, xarena_printf(w->arena, "%zu", n));
	for (char *name = strtok_r(names, between, &save); name;
	     name = strtok_r(NULL, between, &save))
		add(w, name);
}

/* fio's bssplit as -reqsize mix has it; a value that is none as it is. */
static const char *split_sizes(struct arena *arena, const char *value)
{
	struct fio_split list[MIX_MAX_SIZES];
	const int n = fio_parse_splits(value, 1024, list);

	return n > 0 ? fio_splits_text(arena, list, n) : value;
}

/* A pattern of fio as hexadecimal digits; a value that is none as it is. */
static const char *pattern_digits(struct arena *arena, const char *value)
{
	const char *hex;

	return fio_parse_pattern(arena, value, &hex) ? value : hex;
}

/* The text for the part of a template that begins with "%", whose `*len` characters it replaces. */
static const char *filled(struct arena *arena, const char *spec, size_t *len, const char *value)
{
	static const char *const units[] = { "us", "ms", "m", "B" };

	*len = 2;
	if (!value)
		return xarena_strdup(arena, "<value>");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strncmp(spec + 1, units[i], strlen(units[i])) != 0)
			continue;
		*len = 1 + strlen(units[i]);
		return xarena_printf(arena, "%s%s", value, is_bare(value) ? units[i] : "");
	}
	switch (spec[1]) {
	case '/':
		return split_sizes(arena, value);
	case ':':
		return xarena_strdup(arena, strchr(value, ':') ? strchr(value, ':') + 1 : value);
	case ',':
		return replaced(arena, value, ':', ',');
	case '-':
		return xarena_printf(arena, "%g", 100 - atof(value));
	case '<':
		return xarena_printf(arena, "%.*s", (int)strcspn(value, "/:"), value);
	case 'x':
		return pattern_digits(arena, value);
	default:
		return xarena_strdup(arena, value);
	}
}

/* One word of a template. */
static void add_token(struct words *w, const char *token, size_t len, const char *value)
{
	char *word = xarena_printf(w->arena, "%.*s", (int)len, token), *at;
	size_t spec;

	if (strcmp(word, "@one") == 0) {
		if (value && is_bare(value)) {
			add(w, "?-reqsize");
			add(w, "1");
		}
		return;
	}
	if (strcmp(word, "-%f") == 0 || strcmp(word, "-%l") == 0) {
		if (word[2] == 'l' && value && numbered_length(value))
			add_numbered(w, value, numbered_length(value));
		else
			add_files(w, value ? value : "<name>", word[2] == 'f' ? ":" : ":,#");
		return;
	}
	at = strchr(word, '%');
	/* 100% is a share. */
	if (at && at[1]) {
		const char *text = filled(w->arena, at, &spec, value);

		word = xarena_printf(w->arena, "%.*s%s%s", (int)(at - word), word, text, at + spec);
	}
	add(w, word);
}

static int expand(struct arena *arena, const char *template, const char *value, const char ***words)
{
	struct words w = { .arena = arena };

	while (*template) {
		/* The name of a value may have blanks. */
		size_t len = *template == '<' ? strcspn(template, ">") : 0;

		len += strcspn(template + len, " ");

		add_token(&w, template, len, value);
		template += len;
		template += strspn(template, " ");
	}
	*words = w.list;
	return (int)w.n;
}

static bool is_off(const struct foreign *row, const char *value)
{
	return row->kind == FOREIGN_SWITCH && value && has_value("0 false no", value);
}

int foreign_words(struct arena *arena, const struct foreign *row, const char *value,
		  const char ***words)
{
	*words = NULL;
	if (!row->say || is_off(row, value))
		return 0;
	if (!value && strchr(row->say, '%'))
		return -EINVAL;
	return expand(arena, row->say, value, words);
}

char *foreign_text(struct arena *arena, const struct foreign *row, const char *value)
{
	const char *template = row->shown ? row->shown : row->say, **words;
	char *text = xarena_strdup(arena, "");
	int n;

	if (!template || is_off(row, value))
		return text;
	n = expand(arena, template, value, &words);
	for (int i = 0; i < n; i++) {
		const char *word = words[i] + (words[i][0] == '?');
		const char *quoted = word[0] == '<' ? word : xneed(quote_word(arena, word));

		if (!foreign_is_special(word))
			text = xarena_printf(arena, "%s%s%s", text, *text ? " " : "", quoted);
	}
	return text;
}
