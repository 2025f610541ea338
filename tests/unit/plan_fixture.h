/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common parts of the tests of plans: a plan of a command line, or the message that refuses it.
 */
#ifndef PLAN_FIXTURE_H
#define PLAN_FIXTURE_H

#include "parse_fixture.h"

#include "xdd/plan/plan.h"

static struct plan *plan;
static const struct target_plan *t0; /* target 0 of `plan` */

static inline int forget_plan(void **state)
{
	plan_free(plan);
	plan = NULL;
	messages();
	return 0;
}

/* Build `plan` from a line whose words are separated by single blanks. */
static inline enum xdd_status build(const char *line)
{
	static char text[2048]; /* the plan points into it, as it does into main's */
	char *argv[MAX_WORDS], *save = NULL;
	enum xdd_status status;
	int argc = 0;

	plan_free(plan);
	plan = NULL;
	snprintf(text, sizeof(text), "xdd %s", line);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(argc < MAX_WORDS - 1);
		argv[argc++] = w;
	}
	argv[argc] = NULL;
	status = plan_build(argc, argv, &plan);
	t0 = plan ? plan->targets : NULL;
	return status;
}

static inline void good(const char *line)
{
	enum xdd_status status = build(line);
	const char *said = messages();

	if (status != XDD_OK || !plan || *said)
		fail_msg("%s: status %d: %s", line, (int)status, said);
}

/* Refused with that status and one line that holds `text`. */
static inline void bad(const char *line, enum xdd_status wanted, const char *text)
{
	enum xdd_status status = build(line);
	const char *said = messages();

	if (status != wanted || (plan && wanted != XDD_TARGET_FAILED) || !strstr(said, text) ||
	    strncmp(said, "xdd: ", 5) != 0 || strchr(said, '\n') != said + strlen(said) - 1)
		fail_msg("%s: status %d, not %d with \"%s\": %s", line, (int)status, (int)wanted,
			 text, said);
}

#endif
