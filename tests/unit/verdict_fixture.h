/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of runs for the verdict.
 */
#ifndef VERDICT_FIXTURE_H
#define VERDICT_FIXTURE_H

#include "report/person.h"
#include "xdd/base/units.h"

/* A run of 10 s on one file with -dio, of which nothing is known yet. */
static inline struct verdict_facts plain(void)
{
	return (struct verdict_facts){
		.targets = 1,
		.files = true,
		.direct = true,
		.depth = 32,
		.qthreads = 1,
		.queues = true,
		.processors = 4,
		.passes_ran = 1,
		.elapsed_ns = 10 * NS_PER_SEC,
		.ops = 1000000,
	};
}

static inline struct verdict_facts bound_by(enum result_bound bound)
{
	struct verdict_facts f = plain();

	f.bounds[bound] = (struct verdict_bound){ .n = 1,
						  .busy = { 0.25, 0.25 },
						  .waited = { 0.5, 0.5 },
						  .held = { 0.625, 0.625 },
						  .idle = { 0.934, 0.934 } };
	return f;
}

/* A finding with `about`, a sentence and an advice. */
#define FOUND(rule_, target_, about, says, advice_)                               \
	{                                                                         \
		.rule = (rule_), .target = (target_), .text = about says advice_, \
		.sentence = sizeof(about) - 1, .advice = sizeof(about says) - 1,  \
	}

#endif
