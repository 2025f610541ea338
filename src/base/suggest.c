/*
 * String distance for suggestions after a misspelt option, keyword or column.
 */
#include "xdd/base/suggest.h"

#include <ctype.h>
#include <string.h>

#define SUGGEST_MAX_LEN 63

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

unsigned suggest_distance(const char *a, size_t a_len, const char *b)
{
	size_t b_len = strlen(b);
	unsigned row[3][SUGGEST_MAX_LEN + 1];
	unsigned *before = row[0], *last = row[1], *now = row[2];

	if (a_len > SUGGEST_MAX_LEN || b_len > SUGGEST_MAX_LEN)
		return (unsigned)(a_len > b_len ? a_len : b_len);
	for (size_t j = 0; j <= b_len; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned *spare = before;
		int ca = tolower((unsigned char)a[i - 1]);

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			int cb = tolower((unsigned char)b[j - 1]);

			now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
			    cb == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[b_len];
}

int suggest_is_near(unsigned distance, size_t len)
{
	return distance <= 1 + len / 4 && distance < len;
}

const char *suggest_nearest(const char *word, suggest_word_at at, const void *words)
{
	const char *candidate, *nearest = NULL;
	size_t len = strlen(word);
	unsigned best = 0;

	for (size_t i = 0; (candidate = at(words, i)) != NULL; i++) {
		unsigned d = suggest_distance(word, len, candidate);

		if (!nearest || d < best) {
			best = d;
			nearest = candidate;
		}
	}
	return nearest && suggest_is_near(best, len) ? nearest : NULL;
}
