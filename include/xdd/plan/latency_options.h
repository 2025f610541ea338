/*
 * -latency: which figures of latencies are shown.
 *
 * Part of struct plan in xdd/plan/plan.h. Fields marked "option" are set by the option table, those
 * marked "resolved" by plan_resolve(). Const once the plan is built; any thread.
 */
#ifndef XDD_PLAN_LATENCY_OPTIONS_H
#define XDD_PLAN_LATENCY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct latency_options {
	bool shown;		  /* option; any part of it was given */
	bool histogram;		  /* option; distributions as well */
	uint64_t interval_ns;	  /* option; figures of every such interval; 0: none */
	const char *file;	  /* option; NULL: none */
	const uint32_t *percents; /* option; of HISTOGRAM_ALL, ascending; NULL: not given */
	size_t n_percents;
};

#endif
