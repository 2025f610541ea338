/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of the hosts of xdd multi. An input is what a host writes to standard error: its first
 * byte is the size of the pieces in which it arrives.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/multi.h"
#include "fuzz.h"
#include "xdd/report/heartbeat.h"

static const char *const words[] = {
	"@xdd ",	"@xdd 1 ",
	"@xdd 2 ",	"ready",
	"running",	"ending",
	" pass=",	" passes=",
	" done=",	" bytes=",
	" ops=",	" elapsed=",
	" left=",	"-1",
	"1000000",	"1000001",
	"\x1b[2J",	"\r\n",
	"\n",		"\xff",
	"\xe2\x80\xae", "18446744073709551616",
};

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	char *out = (char *)data;

	*out++ = (char)(1 + fuzz_below(r, 255));
	for (size_t i = 0, n = fuzz_below(r, 24); i <= n; i++) {
		struct progress_line p = { .state = (enum progress_state)fuzz_below(r, 3),
					   .pass = fuzz_below(r, 9),
					   .passes = fuzz_u64(r),
					   .bytes = fuzz_u64(r),
					   .ops = fuzz_u64(r) };

		p.done_ppm = fuzz_once_in(r, 3) ? -1 : (int64_t)fuzz_below(r, 1000001);
		p.elapsed_ns = fuzz_u64(r);
		p.left_s = fuzz_once_in(r, 3) ? -1 : (int64_t)(fuzz_u64(r) >> 1);
		if (fuzz_once_in(r, 2))
			out += progress_line_encode(&p, out);
		else
			out += sprintf(out, "xdd: message %zu of a host\n", i);
	}
	return (size_t)(out - (char *)data);
}

/* The display adds these up. */
static void check_progress(const struct progress_line *p)
{
	char text[PROGRESS_LINE_SIZE];
	struct progress_line again;
	size_t length;

	if ((unsigned)p->state > PROGRESS_ENDING || p->done_ppm < -1 || p->done_ppm > 1000000 ||
	    p->left_s < -1)
		fuzz_fail("a line of progress makes no sense");
	length = progress_line_encode(p, text);
	if (length >= sizeof(text))
		fuzz_fail("a line of progress has %zu bytes", length);
	text[length - 1] = '\0';
	if (progress_line_decode(text, &again) || memcmp(p, &again, sizeof(again)) != 0)
		fuzz_fail("a line of progress changes: %s", text);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	struct multi m = { .n = 1 };
	struct multi_rank *r = calloc(1, sizeof(*r));
	size_t piece = size && data[0] ? data[0] : 1;
	bool answered;

	if (!r)
		fuzz_fail("memory is short");
	m.ranks = r;
	r->label = "host";
	for (size_t at = 1; at < size; at += piece)
		multi_messages_take(&m, r, (const char *)data + at,
				    size - at < piece ? size - at : piece);
	multi_messages_take(&m, r, NULL, 0);
	if (r->line_bytes)
		fuzz_fail("the last line is not taken");
	for (size_t i = 0; i < MULTI_LAST_LINES; i++)
		if (r->last[i])
			fuzz_text_check(r->last[i], strlen(r->last[i]));
	if (r->has_progress)
		check_progress(&r->progress);
	answered = r->answered;
	multi_result_free(&m);
	free(r);
	fuzz_messages_clear();
	return !answered;
}

const struct fuzz_harness fuzz_harness = {
	.name = "multi",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
