/*
 * Words of a command, as a shell splits them. Called by copy_words.c.
 */
#include <errno.h>
#include <string.h>

#include "commands/copy_line.h"
#include "xdd/base/memory.h"

/* Copy one word to `*to`, without its quotes; returns what follows it, or NULL: an open quote. */
static const char *one_word(const char *text, char **to)
{
	char quote = '\0';

	for (; *text && (quote || !strchr(" \t\n", *text)); text++) {
		if (quote ? *text == quote : *text == '\'' || *text == '"')
			quote = quote ? '\0' : *text;
		else if (*text == '\\' && quote != '\'' && text[1] &&
			 (!quote || strchr("\"\\$`", text[1])))
			*(*to)++ = *++text;
		else
			*(*to)++ = *text;
	}
	*(*to)++ = '\0';
	return quote ? NULL : text;
}

int copy_split(struct arena *arena, const char *text, const char *const **words)
{
	const size_t size = strlen(text) + 1;
	const char **list = arena_alloc(arena, sizeof(*list) * (size / 2 + 2));
	char *to = arena_alloc(arena, size + 1);
	size_t n = 0;

	if (!list || !to)
		return -ENOMEM;
	while (*(text += strspn(text, " \t\n"))) {
		list[n++] = to;
		text = one_word(text, &to);
		if (!text)
			return -EINVAL;
	}
	*words = list;
	return n && *list[0] ? 0 : -ENODATA;
}
