/*
 * Latencies of operations, by direction: service time, from issue to completion, and response time,
 * from when an operation was due, where something paces them.
 */
#ifndef XDD_STAT_LATENCY_H
#define XDD_STAT_LATENCY_H

#include "xdd/stat/histogram.h"

enum latency_time {
	LATENCY_SERVICE,
	LATENCY_RESPONSE,
	LATENCY_TIMES,
};

/* All directions together; otherwise an enum op_dir. */
#define LATENCY_ALL_DIRS DIR_COUNT

struct latency {
	struct histogram_sum of[LATENCY_TIMES][DIR_COUNT];
};

void latency_init(struct latency *l);

/* Safe on one that is all zero, and again. */
void latency_free(struct latency *l);

/* Add `from`. Returns 0 or -ENOMEM, then with a part of it missing. */
int latency_add(struct latency *l, const struct latency *from);

/* Take the values of `earlier`, which are among those of `l`, out of it again. */
void latency_subtract(struct latency *l, const struct latency *earlier);

/* One time in one direction, or in all of them. The view is good as long as `l` is not changed. */
struct histogram_view latency_view(const struct latency *l, enum latency_time time, unsigned dir);

#endif
