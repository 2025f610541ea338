/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data patterns: what the bytes of a request are. A pure function of the plan and of where the
 * request lies, so that written data can be computed again when it is read, by any thread, in any
 * run.
 *
 * Tagged data is not among them: it depends on the write as well; see tag.h.
 */
#ifndef XDD_IO_PATTERN_H
#define XDD_IO_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/plan/plan.h"

/* The unit of random data and of dedupe. */
#define PATTERN_CHUNK_BYTES 4096

/* Whole MiB of a target in which dedupe is exact. */
#define PATTERN_DEDUPE_UNITS 256

/* The pattern of one target; const after pattern_init(), shared by its QThreads. */
struct pattern {
	const struct pattern_options *options;
	uint64_t seed;
	uint16_t target; /* for random data: 0 where all targets have the same */

	/* repeated, or at the start of a request; longer than it was given */
	uint8_t *tile;
	size_t n_tile;
	size_t once; /* bytes of a request before the zeros begin; SIZE_MAX: all of them */

	/* sequenced */
	uint64_t keep; /* bits of the offset that remain */
	uint64_t prefix;
};

/*
 * Returns 0 or -ENOMEM. Free with pattern_destroy(), which may be called on one that is all zero.
 */
int pattern_init(struct pattern *p, const struct target_plan *target);
void pattern_destroy(struct pattern *p);

/* True if requests differ in their data; if not, a buffer is filled only once. */
bool pattern_moves(const struct pattern *p);

/*
 * True if a byte of the target is the same for any request that covers it. False for patterns that
 * begin again with each request.
 */
bool pattern_by_place(const struct pattern *p);

/* Bytes `pos` to `pos + size` of the request at `offset` of the target, into `out`. Any thread. */
void pattern_bytes(const struct pattern *p, uint64_t offset, uint64_t pos, void *out, size_t size);

/* The bytes of an 8B/10B pattern into `out`. Returns how many; 0 when `kind` is none of them. */
#define PATTERN_8B10B_MAX 2048
size_t pattern_8b10b(enum pattern_kind kind, uint8_t out[PATTERN_8B10B_MAX]);

#endif
