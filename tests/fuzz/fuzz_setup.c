/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Setup files, up to the output of a dry run. An input is the contents of one.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "xdd/plan/runs.h"

/* A line that begins a section, and sometimes is almost one. */
static char *add_section(struct fuzz_random *r, char *out)
{
	static const char *const lines[] = { "\n[a]\n",	  "\n[b] # second\n", "\n [c-d.1]\r\n",
					     "\n[a]",	  "\n[a b]\n",	      "\n[]\n",
					     "\n'[a]'\n", "\n[a] -op\n",      "\n[a]*\n" };

	return stpcpy(out, lines[fuzz_below(r, fuzz_once_in(r, 4) ? 9 : 3)]);
}

/* Blanks, lines, comments, quotes and sections between the words of a command line. */
static size_t make(struct fuzz_random *r, uint8_t *data)
{
	static const char *const before[] = { "", "", "", "\"", "'", "\\" };
	static const char *const after[] = {
		" ", " ", "\n", "\t", " \\\n", " # a comment\n", "\r\n"
	};
	const bool several = fuzz_once_in(r, 3);
	char words[FUZZ_MAX_BYTES / 8], *out = (char *)data;
	size_t size = fuzz_make_words(r, words, sizeof(words));

	for (const char *w = words; w < words + size; w += strlen(w) + 1) {
		const char *quote = before[fuzz_below(r, 6)];

		out = stpcpy(stpcpy(out, quote), w);
		if (*quote != '\\')
			out = stpcpy(out, quote);
		out = stpcpy(out, after[fuzz_below(r, 7)]);
		if (several && fuzz_once_in(r, 8))
			out = add_section(r, out);
	}
	return (size_t)(out - (char *)data);
}

/* Each run of the file, as far as they are checked before the first. */
static void foresee(struct plan_runs *runs)
{
	const size_t n = plan_runs_count(runs);

	if (n < 2)
		fuzz_fail("%zu runs are several", n);
	for (size_t i = 0; i < n; i++) {
		struct plan *plan;
		enum xdd_status status;

		fuzz_messages_clear();
		status = plan_runs_foresee(runs, i, NULL, &plan);
		if (!status != (plan != NULL))
			fuzz_fail("status %d with a plan or none", (int)status);
		fuzz_messages_check(status ? 1 : 0);
		if (status)
			return;
		if (strcmp(plan->run_name, plan_runs_name(runs, i)) != 0)
			fuzz_fail("run %zu has the plan of %s", i, plan->run_name);
	}
}

int fuzz_one(const uint8_t *data, size_t size)
{
	char *argv[] = { (char *)"xdd", (char *)"-setup", (char *)fuzz_file(0, data, size), NULL };
	struct plan_runs *runs = NULL;
	struct plan *plan = NULL;

	fuzz_messages_clear();
	plan_build_runs(3, argv, &plan, &runs);
	fuzz_messages_clear();
	fuzz_output_check();
	if (runs && plan)
		fuzz_fail("one run and several");
	if (runs)
		foresee(runs);
	plan_free(plan);
	plan_runs_free(runs);
	return fuzz_plan(3, argv);
}

const struct fuzz_harness fuzz_harness = {
	.name = "setup",
	.make = make,
	.words = fuzz_option_words,
	.n_words = FUZZ_OPTION_WORDS,
};
