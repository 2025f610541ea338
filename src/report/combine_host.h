/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of xdd combine: a host's document as checked values, times of all hosts, passes.
 *
 * Private to src/report/combine*.c. One thread.
 */
#ifndef XDD_REPORT_COMBINE_HOST_H
#define XDD_REPORT_COMBINE_HOST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/report/combine.h"
#include "xdd/report/document.h"
#include "xdd/report/result.h"

/* An interval of global time. */
struct combine_span {
	uint64_t from_ns;
	uint64_t to_ns;
};

/* A pass of a target. */
struct combine_pass {
	uint32_t host;
	const struct document_result *r;
};

#define COMBINE_LABEL_SIZE 128

/* A host and its document, which is the caller's. */
struct combine_host {
	const struct document *doc;
	const char *name;		/* of the host; "?" where the document does not say */
	const char *called;		/* the name that the user has given, or the same */
	char label[COMBINE_LABEL_SIZE]; /* that, with what tells it apart from others */
	struct document_clock clock;

	const struct document_result *combined; /* NULL: the run did not begin */
	struct result sum;			/* that, with its figures, which are owned */
	struct combine_pass *passes;		/* owned; by pass and target */
	size_t n_passes;			/* passes times targets */
	uint64_t last_pass;			/* the greatest number; 0: none */
	bool idle;				/* nothing was done */
	bool placed;				/* the times of all passes are known */
	struct combine_span *spans; /* owned: when it was transferring; in order and apart */
	size_t n_spans;
};

/* ---- combine_host.c ---- */

/*
 * Fill `host` from a document whose sums are checked. False: reported; combine_host_free() is safe
 * in any case.
 */
bool combine_host_read(struct combine_host *host, uint32_t number, const struct document *doc);
void combine_host_free(struct combine_host *host);

/* The sum of their lengths. */
uint64_t combine_spans_length(const struct combine_span *spans, size_t n);

/* How far apart the beginnings or ends of hosts are. */
struct combine_skew {
	uint64_t skew_ns;
	bool bound_known;
	uint64_t bound_ns;    /* the true skew differs by at most this */
	uint32_t first, last; /* numbers of hosts */
};

/* The times of all hosts together. */
struct combine_times {
	bool known; /* the global times of all passes are; else only `elapsed_ns` is */
	uint64_t begin_ns, finish_ns;
	uint64_t elapsed_ns; /* without the time in which every host was between passes */
	uint64_t window_ns;  /* while all hosts were transferring */
	struct combine_skew start, end;
};

/*
 * Processes on one machine without a time server: set the bounds of their clocks, which follow from
 * the one that all of them read.
 */
void combine_share_clock(struct combine_host *hosts, size_t n);

/* Returns 0 or -ENOMEM. */
int combine_times(struct combine_times *t, const struct combine_host *hosts, size_t n);

/*
 * The statistics over the passes that all hosts have done (into `statistics`), which took
 * `elapsed_ns` together; the times of each pass (into `times`); and lines to be read about hosts
 * that differ (into `notes`). False: reported.
 */
bool combine_passes(const struct combine_host *hosts, size_t n, uint64_t elapsed_ns,
		    json_t *statistics, json_t *times, json_t *notes);

/* The member "stonewall": passes that all of them have. */
json_t *combine_stonewall(const struct combine_host *hosts, size_t n);

/* Its lines to be read. */
void combine_stonewall_text(const json_t *doc, FILE *to);

/* ---- combine_belong.c ---- */

/* Check that these documents are of one run. False: reported. */
bool combine_belong(const struct combine_host *hosts, size_t n, const struct combine_options *o);

/* Set the labels, and find hosts of which there are several documents: a line of `notes`. */
void combine_label(struct combine_host *hosts, size_t n, json_t *notes);

/* Find what is missing: names go to `missing`, lines about it and about hosts to `notes`. */
void combine_missing(const struct combine_host *hosts, size_t n, const struct combine_options *o,
		     json_t *missing, json_t *notes);

/*
 * The values at which `member` of the documents differs: an array of objects with "name" and
 * "values", each of which has "value" and "hosts".
 */
json_t *combine_differences(const struct combine_host *hosts, size_t n, const char *member);

/* ---- combine.c ---- */

/* All hosts together. Filled by combine.c. */
struct combination {
	struct combine_host *hosts;
	size_t n;
	struct combine_times times;
	struct result sum; /* of all hosts; its figures are owned */
	uint32_t slowest, fastest;
	double fairness;
	double window_bytes, window_ops; /* while all hosts were transferring, by their means */
	json_t *missing, *notes, *statistics, *pass_times;
};

#endif
