/*
 * Placeholders in words of a command line: placeholder.h.
 */
#include "xdd/plan/placeholder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/memory.h"

#define NUMBER_BYTES sizeof("4294967295")

/* The texts for the placeholders of one rank. */
struct values {
	const char *host;
	char rank[NUMBER_BYTES], n_ranks[NUMBER_BYTES];
};

/* The text for the letter after a percent sign; NULL: it is no placeholder. */
static const char *value_of(const struct values *v, char letter)
{
	switch (letter) {
	case 'h':
		return v->host;
	case 'r':
		return v->rank;
	case 'n':
		return v->n_ranks;
	case '%':
	case '\0':
		return "%";
	default:
		return NULL;
	}
}

/* Returns the length of the result, or 0 with the letter of no placeholder in `*wrong`. */
static size_t measure(const struct values *v, const char *word, char *wrong)
{
	size_t length = 0;

	for (; *word; word++) {
		const char *value;

		if (*word != '%') {
			length++;
			continue;
		}
		value = value_of(v, word[1]);
		if (!value) {
			*wrong = word[1];
			return 0;
		}
		length += strlen(value);
		if (word[1])
			word++;
	}
	return length;
}

static void fill(const struct values *v, const char *word, char *to)
{
	for (; *word; word++) {
		if (*word != '%') {
			*to++ = *word;
			continue;
		}
		to = stpcpy(to, value_of(v, word[1]));
		if (word[1])
			word++;
	}
	*to = '\0';
}

static int say_wrong(char letter, char *why, size_t size)
{
	char sign[3] = { '%', letter, '\0' };

	/* Parts of a character of several bytes, and control characters, are not shown. */
	if (letter <= ' ' || letter > '~')
		sign[1] = '\0';
	snprintf(why, size,
		 "\"%s\" is no placeholder; expected %%h, %%r, %%n, or %%%% for a percent sign",
		 sign);
	return -EINVAL;
}

int placeholder_replace(struct arena *arena, const char *word, const struct placeholders *p,
			const char **result, char *why, size_t size)
{
	struct values v = { .host = p->host };
	char wrong = '\0', *to;
	size_t length;

	*result = word;
	if (!strchr(word, '%'))
		return 0;
	snprintf(v.rank, sizeof(v.rank), "%" PRIu32, p->rank);
	snprintf(v.n_ranks, sizeof(v.n_ranks), "%" PRIu32, p->n_ranks);
	length = measure(&v, word, &wrong);
	if (wrong)
		return say_wrong(wrong, why, size);
	if (length > PLACEHOLDER_MAX_BYTES) {
		snprintf(why, size, "is longer than %u bytes with its placeholders replaced",
			 PLACEHOLDER_MAX_BYTES);
		return -E2BIG;
	}
	to = arena_alloc(arena, length + 1);
	if (!to) {
		snprintf(why, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	fill(&v, word, to);
	*result = to;
	return 0;
}
