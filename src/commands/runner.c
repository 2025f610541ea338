/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plans in this process, and messages that are kept; see the header. Called by commands that make
 * measurements of their own, and by run.c.
 */
#include "commands/runner.h"

#include <string.h>

#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/run/run.h"
#include "xdd/sync/thread.h"

void captured_add(void *captured, const char *text, size_t size)
{
	struct captured *c = captured;
	const size_t room = sizeof(c->text) - 1 - c->size;

	if (size > room)
		size = room;
	memcpy(c->text + c->size, text, size);
	c->size += size;
	c->text[c->size] = '\0';
}

const char *captured_message(const char *line)
{
	static const char prefix[] = "xdd: ";
	const size_t length = sizeof(prefix) - 1;

	return strncmp(line, prefix, length) == 0 ? line + length : line;
}

enum xdd_status runner_begin(struct runner *r)
{
	struct err why;
	int err;

	*r = (struct runner){ .stuck = false };
	err = signals_start(&r->signals);
	if (!err)
		return XDD_OK;
	log_error("the run cannot be set up: %s", thread_error(err, &why));
	return XDD_INIT_FAILED;
}

enum xdd_status runner_plan_next(const struct plan_series *series, const char *const *words,
				 struct plan **plan)
{
	enum xdd_status status;
	int n = 0;

	while (words[n])
		n++;
	/* The words are not changed; argv of main() is not const for reasons of its age. */
	status = plan_series_build(series, n, (char **)(uintptr_t)words, plan);
	if (!status)
		return XDD_OK;
	plan_free(*plan);
	*plan = NULL;
	return status;
}

enum xdd_status runner_plan(const char *const *words, struct plan **plan)
{
	return runner_plan_next(NULL, words, plan);
}

enum xdd_status runner_run(struct runner *r, const struct plan *plan,
			   const struct report_sink *sink)
{
	struct report *report;
	struct globaltime_client *clock = NULL;
	enum xdd_status status = run_check(plan);

	if (!status)
		status = timebase_open(plan, &r->signals.before, &clock);
	if (!status)
		status = report_open_sink(plan, sink, &report);
	if (!status) {
		status = run_execute(plan, report, &r->signals, clock, NULL, &r->stuck);
		report_close(report);
	}
	if (!r->stuck)
		globaltime_end(clock);
	return status;
}

bool runner_is_canceled(struct runner *r)
{
	return signals_taken(&r->signals) != 0;
}

void runner_end(struct runner *r)
{
	signals_end(&r->signals);
}
