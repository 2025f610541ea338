/*
 * Messages about a plan that is refused. Called while a plan is built.
 */
#include "plan/errors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/log.h"

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

/* True if the word is a number with a suffix: the hint is about how to write a number. */
static bool needs_hint(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && text[digits];
}

enum xdd_status parse_error(enum xdd_status status, const struct setting *s, const struct word *w,
			    const char *fmt, ...)
{
	const struct option *row = s->sub ? s->sub : s->opt;
	const char *hint = w && w == s->args && row && needs_hint(w->text) ? row->hint : NULL;
	char text[1024], name[SHOWN_SIZE], value[SHOWN_SIZE] = "";
	char line[SHOWN_SIZE], argument[SHOWN_SIZE];
	const struct word *at = w ? w : &s->name;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (w)
		show_word(w->text, value, sizeof(value));
	log_error("%s%s%s%s%s%s%s: %s%s%s%s", show_line(at, line, sizeof(line)),
		  show_word(s->name.text, name, sizeof(name)), s->sub ? " " : "",
		  s->sub ? s->sub->name : "", w == &s->scope ? " target" : "", w ? " " : "", value,
		  text, show_argument(at, argument, sizeof(argument)), hint ? "; " : "",
		  hint ? hint : "");
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
		return parse_error(XDD_BAD_ARGUMENT, s, w, "expected %s; did you mean %s?", list,
				   near);
	return parse_error(XDD_BAD_ARGUMENT, s, w, "expected %s", list);
}
