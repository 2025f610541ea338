/*
 * Setup files, up to the output of a dry run. An input is the contents of one.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* Blanks, lines, comments and quotes between the words of a command line. */
static size_t make(struct fuzz_random *r, uint8_t *data)
{
	static const char *const before[] = { "", "", "", "\"", "'", "\\" };
	static const char *const after[] = {
		" ", " ", "\n", "\t", " \\\n", " # a comment\n", "\r\n"
	};
	char words[FUZZ_MAX_BYTES / 8], *out = (char *)data;
	size_t size = fuzz_make_words(r, words, sizeof(words));

	for (const char *w = words; w < words + size; w += strlen(w) + 1) {
		const char *quote = before[fuzz_below(r, 6)];

		out = stpcpy(stpcpy(out, quote), w);
		if (*quote != '\\')
			out = stpcpy(out, quote);
		out = stpcpy(out, after[fuzz_below(r, 7)]);
	}
	return (size_t)(out - (char *)data);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	char *argv[] = { (char *)"xdd", (char *)"-setup", (char *)fuzz_file(0, data, size), NULL };

	return fuzz_plan(3, argv);
}

const struct fuzz_harness fuzz_harness = {
	.name = "setup",
	.make = make,
	.words = fuzz_option_words,
	.n_words = FUZZ_OPTION_WORDS,
};
