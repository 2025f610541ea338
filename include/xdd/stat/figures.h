/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The figures of a result, the structs in it, and the table of its figures. Values only.
 */
#ifndef XDD_STAT_FIGURES_H
#define XDD_STAT_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/stat/counters.h"
#include "xdd/stat/histogram.h"
#include "xdd/sys/clock.h"

/*
 * The state of data before it was read: in the page cache, on a device, or never written.
 */

/* The accuracy of the share of the page cache; a sum has the greatest of its parts. */
enum cache_accuracy {
	CACHE_EXACT,
	CACHE_SAMPLED,	    /* an estimate */
	CACHE_NOT_MEASURED, /* -dio, or a file that exists in memory only */
	CACHE_UNKNOWN,
};

/* Bytes that one or several passes have read. */
struct cache_state {
	uint64_t range_bytes;	 /* bytes that reads were issued for; 0: nothing is known */
	uint64_t resident_bytes; /* of these, in the page cache; see `accuracy` */
	uint64_t hole_bytes;	 /* of these, never written */
	enum cache_accuracy accuracy;
	bool holes_unknown; /* `hole_bytes` is not measured; of a sum, not of all its parts */
};

/* Add `from` to `sum`. Any thread. */
void cache_state_add(struct cache_state *sum, const struct cache_state *from);

/*
 * Facts of a TCP connection, for reports: filled by net, shown by report. Values only.
 */

#define CONNECTION_PEER_SIZE 80

/* Facts of a connection: TCP_INFO and what the kernel granted. */
struct connection_info {
	char local[CONNECTION_PEER_SIZE]; /* "192.168.1.5:40010", "[fe80::1%eth0]:40010" */
	char peer[CONNECTION_PEER_SIZE];
	char congestion[16];
	char cipher[48]; /* "" without TLS */
	bool kernel_tls;
	uint64_t send_buffer_bytes; /* as granted, without the kernel's own half */
	uint64_t receive_buffer_bytes;
	uint64_t rtt_ns, rtt_min_ns, rtt_variance_ns; /* 0: not measured */
	uint64_t window_segments;		      /* congestion window */
	uint64_t segment_bytes;
	uint64_t retransmits; /* segments, in the life of the connection */
	uint64_t transit_ns;  /* data was on its way to a peer that had room for it */
	uint64_t sent_bytes, received_bytes; /* without retransmissions; with TLS, of records */
};

/*
 * Latencies of operations, by direction: service time, from issue to completion, and response
 * time, from the due time of an operation, where a throttle sets one. And the times of flushes,
 * which belong to no operation.
 */

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

/*
 * The figures of a result: all that is measured of a QThread, a target or a run, in one pass or in
 * several.
 *
 * A struct figures belongs to one thread at a time. It owns the memory of its latencies; a copy by
 * assignment borrows it and is not freed.
 */

/*
 * Figures that not every run measures, as bits of a mask: those an output needs, and those that are
 * known.
 */
enum figures_part {
	FIGURES_LATENCY = 1u << 0,  /* latency */
	FIGURES_EXTREMES = 1u << 1, /* extremes */
	FIGURES_OVERHEAD = 1u << 2, /* tally.overhead_ns */
	FIGURES_ORDER = 1u << 3,    /* tally.order_breaks */
	FIGURES_WAIT = 1u << 4,	    /* wait_ns */
	FIGURES_QTHREADS = 1u << 5, /* figures of each QThread */
	FIGURES_PASSES = 1u << 6,   /* statistics over the passes */
	FIGURES_STARTS = 1u << 7,   /* the starts of several targets */
	FIGURES_CPU = 1u << 8,	    /* cpu */
	FIGURES_DESKEW = 1u << 9,   /* window, tail and fairness of struct result */
	FIGURES_NETWORK = 1u << 10, /* end-to-end: net_ns, net_wait_ns and check_ns of the tally */
	FIGURES_LAG = 1u << 11,	    /* end-to-end: lag_ns */
	/* percentiles and maxima of `latency`, which may be of a sample on the null device */
	FIGURES_PERCENTILES = 1u << 12,

	/* of struct result, whose result_known() knows them */
	FIGURES_VERIFIED = 1u << 13, /* tally.miscompares */
	FIGURES_FILE = 1u << 14,     /* sync_ns, open_ns and close_ns of the tally */
	FIGURES_ALL = (1u << 15) - 1,
};

struct figures {
	struct tally tally; /* first: its numbers have one offset in both */
	unsigned known;	    /* enum figures_part; in a sum: known of all its terms */
	uint32_t parts;	    /* figures that were added: figures_add() */
	struct latency latency;
	struct extremes extremes;
	struct cpu_time cpu;
	struct cache_state cache;
	uint64_t wait_ns;     /* of the QThreads: ready to run, without a processor */
	uint64_t first_op_ns; /* completion time of the first operation; 0: unknown */
	uint64_t elapsed_ns;  /* first issue to last completion, summed over passes */

	/* first issue, last completion: global clock, since 1970; 0: nothing was completed */
	uint64_t begin_ns, finish_ns;

	/* end-to-end, as far as this side or the other measured it */
	uint64_t lag_ns;	/* time that the QThreads of the destination waited */
	uint64_t first_read_ns; /* start of the pass to the first read; of a sum: the least */
	uint64_t last_write_ns; /* to the last write; of a sum: the greatest; 0: unknown */
};

/* An empty sum: nothing was done, and all of that is known. */
void figures_init(struct figures *f);

/* Free the latencies. Safe on figures that are all zero, and when called again. */
void figures_free(struct figures *f);

/*
 * Add `from` to `sum`; the first operation is the first part's. Returns 0, or -ENOMEM with
 * latencies missing from the sum.
 */
int figures_add(struct figures *sum, const struct figures *from);

/* Set the elapsed time of one pass, once its tally is complete. */
void figures_set_elapsed(struct figures *f);

/*
 * The table of figures: a row for each number of struct figures. Counters, sums, and the writers
 * and readers of the object of a result in documents read it. Const; any thread.
 */

/* How a number of a sum follows from its parts. */
enum figure_sum {
	FIGURE_SUM_ADD,
	FIGURE_SUM_LEAST,
	FIGURE_SUM_GREATEST,
	FIGURE_SUM_FIRST, /* the first part's */
	FIGURE_SUM_CACHE, /* cache_state_add() adds it */
};

#define FIGURE_NOT_LIVE SIZE_MAX

struct figure_row {
	const char *member; /* of the object of a result in documents; NULL: of none */
	size_t off;	    /* in struct figures, and in struct tally: uint64_t */
	size_t n;	    /* numbers there: 1, or DIR_COUNT, one for each direction */
	size_t live;	    /* in struct counters, where QThreads count; or FIGURE_NOT_LIVE */
	enum figure_sum sum;
	uint64_t none;	  /* the value where nothing was measured, which is left out of sums */
	unsigned part;	  /* enum figures_part that it belongs to; 0: each run measures it */
	const char *help; /* of a member that QThreads count: for metrics */
	bool required;	  /* documents of all versions have the member, and never null */

	/* False: the value is not known, though its part is. NULL: it always is. */
	bool (*known)(const struct figures *f);
};

/*
 * In the order of documents; the rows of the tally come first. After the last row is one without
 * numbers.
 */
extern const struct figure_row figure_rows[];

/* The numbers of a row in a struct figures, or of a row of the tally in a struct tally. */
static inline uint64_t *figure_row_at(void *figures, const struct figure_row *row)
{
	return (uint64_t *)(void *)((char *)figures + row->off);
}

static inline const uint64_t *figure_row_read(const void *figures, const struct figure_row *row)
{
	return (const uint64_t *)(const void *)((const char *)figures + row->off);
}

static inline bool figure_row_is_of_tally(const struct figure_row *row)
{
	return row->n && row->off < sizeof(struct tally);
}

/* Add the numbers of a row of `from` to the numbers of `sum`, both as figure_row_at() has them. */
void figure_row_add(void *sum, const void *from, const struct figure_row *row, bool first);

#endif
