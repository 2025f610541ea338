/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines, up to the output of a dry run. An input is words that end with a NUL each.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	return fuzz_make_words(r, (char *)data, FUZZ_MAX_BYTES / 4);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	char *argv[FUZZ_MAX_WORDS + 2] = { (char *)"xdd" }, *text = malloc(size + 1);
	int argc = 1, refused;

	if (!text)
		fuzz_fail("memory is short");
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *w = text; w < text + size && argc <= FUZZ_MAX_WORDS; w += strlen(w) + 1)
		argv[argc++] = w;
	refused = fuzz_plan(argc, argv);
	free(text);
	return refused;
}

const struct fuzz_harness fuzz_harness = {
	.name = "command",
	.make = make,
	.words = fuzz_option_words,
	.n_words = FUZZ_OPTION_WORDS,
};
