/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journals of sweeps. An input is the lines of one; in half of them the checksums are repaired, so
 * that the code after their check is reached.
 *
 * What is accepted is within its bounds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "xdd/base/codec.h"
#include "xdd/base/memory.h"
#include "xdd/report/sweep.h"

#define CRC_TEXT 9

static const char *const words[] = { "\"point\":",  "-1",   "1e999",	    "9223372036854775807",
				     "\"values\":", "[]",   "null",	    "\n",
				     "{}",	    "true", "\"columns\":", "\"version\":2" };

static void put_line(FILE *f, char *line)
{
	if (!line)
		fuzz_fail("memory is short");
	fputs(line, f);
	free(line);
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	struct sweep_journal header = { .words = "-op read",
					.seed = fuzz_u64(r) >> 1,
					.points = 1 + fuzz_below(r, 100) };
	struct memstream m;
	size_t size;

	if (!memstream_open(&m))
		fuzz_fail("memory is short");
	put_line(m.f, sweep_journal_header(&header));
	for (size_t i = fuzz_below(r, 5); i; i--) {
		struct sweep_round round = { .point = fuzz_below(r, header.points),
					     .round = 1 + fuzz_below(r, 9),
					     .ops = fuzz_u64(r) >> 1,
					     .known = fuzz_once_in(r, 2),
					     .responded = fuzz_once_in(r, 2),
					     .columns = { 1, NAN, 3 },
					     .n_columns = fuzz_below(r, 4) };

		for (int k = 0; k < FIGURE_ROUND; k++)
			round.values[k] = k == FIGURE_P50 && fuzz_once_in(r, 2) ? NAN : k + 1;
		put_line(m.f, sweep_journal_round(&round));
	}
	if (memstream_close(&m))
		fuzz_fail("memory is short");
	size = m.size < FUZZ_MAX_BYTES ? m.size : FUZZ_MAX_BYTES;
	memcpy(data, m.text, size);
	free(m.text);
	return size;
}

static void repair(char *text, size_t size)
{
	char *end, digits[CRC_TEXT];

	for (; size && (end = memchr(text, '\n', size)); text = end + 1) {
		const size_t length = (size_t)(end - text);

		size -= length + 1;
		if (length < CRC_TEXT)
			continue;
		snprintf(digits, sizeof(digits), "%08x",
			 crc32c(text + CRC_TEXT, length - CRC_TEXT));
		memcpy(text, digits, CRC_TEXT - 1);
	}
}

static int take(void *arg, const struct sweep_round *round)
{
	const struct sweep_journal *header = arg;

	if (round->point >= header->points || !round->round ||
	    (unsigned)round->bound >= RESULT_BOUNDS || !(round->values[0] >= 0) ||
	    !(round->values[FIGURE_RESPONSE] >= 0) || round->n_columns > SWEEP_MAX_COLUMNS)
		fuzz_fail("a round that is out of bounds was accepted");
	return 0;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	struct sweep_journal_lines lines = { .take = take };
	size_t whole = 0, used = 0;
	int got;

	if (!copy)
		fuzz_fail("memory is short");
	memcpy(copy, data, size);
	if (fuzz_hash(data, size) & 1)
		repair(copy, size);
	lines.arg = &lines.header;
	while ((got = sweep_journal_line(&lines, (uint8_t *)copy + whole, size - whole, &used)) ==
	       1) {
		if (!used || used > size - whole || !lines.header.words)
			fuzz_fail("the decoder counts wrong");
		whole += used;
	}
	free((char *)(uintptr_t)lines.header.words);
	free(copy);
	return got != 0;
}

const struct fuzz_harness fuzz_harness = {
	.name = "sweep",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
