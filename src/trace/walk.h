/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks along traces. Private to src/trace.
 */
#ifndef XDD_TRACE_WALK_H
#define XDD_TRACE_WALK_H

#include "xdd/trace/trace.h"

struct trace_walk;

/*
 * A walk along a trace: the values that reports derive for each operation, and the sums.
 *
 * Distances are between operations of one pass whose numbers follow each other. Delta and loop are
 * between an operation and the one before it in the same slot of the same QThread, in the same
 * pass: at queue depth 1 that is the operation before it.
 */

struct trace_row {
	const struct trace_entry *entry;
	const struct trace_net *net; /* NULL: none */
	bool has_distance;	     /* the trace has the operation before it in its pass */
	bool has_delta;		     /* not the first of its slot in its pass */
	uint64_t distance_bytes;     /* from the end of the operation before, in either direction */
	uint64_t io_ns;
	int64_t relative_ns; /* start, from the first start of the trace */
	int64_t delta_ns;    /* from the end of the one before to the start; 0 without one */
	int64_t loop_ns;     /* from the end of the one before to the end; 0 without one */
	double mb_per_s;     /* 10^6 bytes; 0 when no time passed */
};

/* Over all rows that have the value in question. */
struct trace_sums {
	uint64_t ops;
	uint64_t failed;
	uint64_t distances;
	uint64_t average_distance_bytes;
	uint64_t longest_distance_bytes;
	uint64_t shortest_distance_bytes;
	double average_io_ns;
	uint64_t longest_io_ns;
	uint64_t shortest_io_ns;
	uint64_t deltas;
	double average_delta_ns;
	int64_t longest_delta_ns;
	int64_t shortest_delta_ns;
};

/* Returns NULL when memory is short. `trace` must outlive the walk. Free with trace_walk_free(). */
struct trace_walk *trace_walk_new(const struct trace *trace);
void trace_walk_free(struct trace_walk *w); /* accepts NULL */

/* The next row, in the order of the trace; false after the last. */
bool trace_walk_next(struct trace_walk *w, struct trace_row *row);

/* Of the rows so far. */
void trace_walk_sums(const struct trace_walk *w, struct trace_sums *sums);

/*
 * The rows of several traces in the order in which the operations began by the global clock.
 */

struct trace_merged_row {
	struct trace_row row;
	size_t trace;	  /* index of the trace it is from */
	int64_t start_ns; /* of the global clock, as is the end; since 1970 */
	int64_t end_ns;
};

struct trace_merge {
	struct trace_merged_row *rows;
	size_t n;
	struct trace_sums *sums; /* one a trace */
};

/* Returns 0 or -ENOMEM. The traces must outlive it. Free with trace_merge_free(), in any case. */
int trace_merge(struct trace_merge *m, const struct trace *const *traces, size_t n);
void trace_merge_free(struct trace_merge *m);

#endif
