/*
 * Latencies of operations, by direction: service time, from issue to completion, and response time,
 * from the due time of an operation, where a throttle sets one. And the times of flushes, which
 * belong to no operation.
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

/* In place of a direction: the flushes, in none of the others; they have service times only. */
#define LATENCY_FLUSHES (DIR_COUNT + 1)

/* Directions, all of them, and flushes: what tables have rows of. */
#define LATENCY_SUBJECTS (DIR_COUNT + 2)

struct latency {
	struct histogram_sum of[LATENCY_TIMES][DIR_COUNT];
	struct histogram_sum flushes; /* also those that failed */
};

void latency_init(struct latency *l);

/* Safe on latencies that are all zero, and when called again. */
void latency_free(struct latency *l);

/* Add `from`. Returns 0 or -ENOMEM, then with some values missing. */
int latency_add(struct latency *l, const struct latency *from);

/* Subtract the values of `earlier`, which `l` contains. */
void latency_subtract(struct latency *l, const struct latency *earlier);

/* One time in one direction, in all of them, or of flushes. The view is valid until `l` changes. */
struct histogram_view latency_view(const struct latency *l, enum latency_time time, unsigned dir);

#endif
