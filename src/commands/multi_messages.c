/*
 * The messages of the hosts: multi.h. Called by multi_run.c.
 *
 * A line is a message for people, which is shown with the label of its rank before it, or the
 * progress of the run there, for the display.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/multi.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/sys/clock.h"

/* Keep one of the last messages. */
static void keep(struct multi_rank *r, const char *text)
{
	char **at = &r->last[r->n_lines++ % MULTI_LAST_LINES];

	free(*at);
	*at = printable_dup(text, false);
}

static void show(const struct multi_rank *r, const char *text)
{
	struct memstream out;

	if (!memstream_open(&out))
		return;
	fprintf(out.f, "%s: ", r->label);
	printable_put(out.f, text);
	fputc('\n', out.f);
	if (!memstream_close(&out))
		log_raw(out.text);
	free(out.text);
}

static void take_line(struct multi_rank *r)
{
	struct progress_line p;

	r->line[r->line_bytes] = '\0';
	/* Of a terminal on the other side. */
	if (r->line_bytes && r->line[r->line_bytes - 1] == '\r')
		r->line[r->line_bytes - 1] = '\0';
	r->line_bytes = 0;
	if (progress_line_decode(r->line, &p) == 0) {
		r->progress = p;
		if (!r->answered)
			hold(HOLD_HOST_ANSWERED);
		r->has_progress = r->answered = true;
		r->sign_ns = clock_kernel_ns();
		return;
	}
	if (!*r->line)
		return;
	keep(r, r->line);
	show(r, r->line);
	if (r->log)
		fprintf(r->log, "%s\n", r->line);
}

void multi_messages_take(struct multi *m, struct multi_rank *r, const char *bytes, size_t n)
{
	(void)m;
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || r->line_bytes + 1 == sizeof(r->line))
			take_line(r);
		if (bytes[i] != '\n')
			r->line[r->line_bytes++] = bytes[i] ? bytes[i] : '?';
	}
	if (!n && r->line_bytes)
		take_line(r);
}
