/*
 * Progress for programs: xdd/report/progress_line.h. Called by an attached run and by xdd multi.
 */
#include "xdd/report/progress_line.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MARK PROGRESS_LINE_MARK "1 "
#define ALL_PPM 1000000

static const char *const states[] = {
	[PROGRESS_READY] = "ready",
	[PROGRESS_RUNNING] = "running",
	[PROGRESS_ENDING] = "ending",
};

size_t progress_line_encode(const struct progress_line *p, char text[PROGRESS_LINE_SIZE])
{
	int n = snprintf(text, PROGRESS_LINE_SIZE,
			 MARK "%s pass=%" PRIu64 " passes=%" PRIu64 " done=%" PRId64
			      " bytes=%" PRIu64 " ops=%" PRIu64 " elapsed=%" PRIu64 " left=%" PRId64
			      "\n",
			 states[p->state], p->pass, p->passes, p->done_ppm, p->bytes, p->ops,
			 p->elapsed_ns, p->left_s);

	return (size_t)n;
}

/* Read `label` and a number up to `max` after it, and move `*text` past both. */
static bool take_number(const char **text, const char *label, uint64_t max, uint64_t *out)
{
	size_t length = strlen(label);
	const char *c = *text + length;
	uint64_t n = 0;

	if (strncmp(*text, label, length) != 0 || !isdigit((unsigned char)*c))
		return false;
	for (; isdigit((unsigned char)*c); c++) {
		unsigned digit = (unsigned)(*c - '0');

		if (n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*text = c;
	*out = n;
	return true;
}

/* As take_number(), for a number that may be unknown, -1. */
static bool take_known(const char **text, const char *label, uint64_t max, int64_t *out)
{
	size_t length = strlen(label);
	uint64_t n = 0;

	if (strncmp(*text, label, length) == 0 && strncmp(*text + length, "-1", 2) == 0) {
		*text += length + 2;
		*out = -1;
		return true;
	}
	if (!take_number(text, label, max, &n))
		return false;
	*out = (int64_t)n;
	return true;
}

static bool take_state(const char **text, enum progress_state *state)
{
	for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		size_t length = strlen(states[i]);

		if (strncmp(*text, states[i], length) == 0) {
			*text += length;
			*state = (enum progress_state)i;
			return true;
		}
	}
	return false;
}

int progress_line_decode(const char *text, struct progress_line *p)
{
	memset(p, 0, sizeof(*p));
	if (strncmp(text, PROGRESS_LINE_MARK, sizeof(PROGRESS_LINE_MARK) - 1) != 0)
		return -ENOMSG;
	if (strncmp(text, MARK, sizeof(MARK) - 1) != 0)
		return -EBADMSG;
	text += sizeof(MARK) - 1;
	if (take_state(&text, &p->state) && take_number(&text, " pass=", UINT64_MAX, &p->pass) &&
	    take_number(&text, " passes=", UINT64_MAX, &p->passes) &&
	    take_known(&text, " done=", ALL_PPM, &p->done_ppm) &&
	    take_number(&text, " bytes=", UINT64_MAX, &p->bytes) &&
	    take_number(&text, " ops=", UINT64_MAX, &p->ops) &&
	    take_number(&text, " elapsed=", UINT64_MAX, &p->elapsed_ns) &&
	    take_known(&text, " left=", INT64_MAX, &p->left_s) && !*text)
		return 0;
	return -EBADMSG;
}
