/*
 * Words for a shell. Called where command lines are printed.
 */
#include "xdd/base/quote.h"

#include <string.h>

#include "xdd/base/arena.h"

char *quote_word(struct arena *arena, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./+:,=@%";
	char *out, *o;

	if (*word && !word[strspn(word, plain)])
		return arena_strdup(arena, word);
	out = arena_alloc(arena, strlen(word) * 4 + 3);
	if (!out)
		return NULL;
	o = out;
	*o++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			o = stpcpy(o, "'\\''");
		else
			*o++ = *word;
	}
	*o++ = '\'';
	*o = '\0';
	return out;
}
