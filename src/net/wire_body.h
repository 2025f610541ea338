/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sizes of bodies, for the checks of headers, and the authentication code of a header. Private to
 * src/net; doc/wire.md has the layouts.
 */
#ifndef XDD_NET_WIRE_BODY_H
#define XDD_NET_WIRE_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/net/wire.h"

/* Fixed parts, before the texts. */
#define WIRE_HELLO_FIXED_BYTES (4 + 4 + WIRE_SESSION_BYTES)
#define WIRE_PLAN_FIXED_BYTES (WIRE_SESSION_BYTES + 14 * 8)
#define WIRE_ERROR_FIXED_BYTES 4
#define WIRE_SUMS_FIXED_BYTES (3 * 8 + 2 * 4)

#define WIRE_RANGE_BYTES 16
#define WIRE_PASS_BYTES (18 * 8)
#define WIRE_MOST_PASS_BYTES (WIRE_PASS_BYTES + WIRE_MAX_TEXT_BYTES)

/* struct copy_counts of copies of files, whose bodies are of a later layer. */
#define WIRE_COUNTS_BYTES (26 * 8)

/* A text has at least its NUL. */
#define WIRE_LEAST_HELLO_BYTES (WIRE_HELLO_FIXED_BYTES + 1)
#define WIRE_MOST_HELLO_BYTES (WIRE_HELLO_FIXED_BYTES + sizeof(((struct wire_hello *)0)->software))
#define WIRE_LEAST_ERROR_BYTES (WIRE_ERROR_FIXED_BYTES + 1)

/* Each name has its length before it, and the ranges their number. */
#define WIRE_LEAST_PLAN_BYTES (WIRE_PLAN_FIXED_BYTES + 4 + 1 + 4 + 1 + 4)
#define WIRE_MOST_PLAN_BYTES                                                     \
	(WIRE_PLAN_FIXED_BYTES + 4 + sizeof(((struct wire_plan *)0)->host) + 4 + \
	 sizeof(((struct wire_plan *)0)->name) + 4 + WIRE_MAX_RANGES * WIRE_RANGE_BYTES)

/* The number of ranges is before them, and there is at least one. */
#define WIRE_LEAST_PROVE_BYTES (4 + WIRE_RANGE_BYTES)
#define WIRE_MOST_PROVE_BYTES (4 + WIRE_MAX_PROOF_OPS * WIRE_RANGE_BYTES)

/* None; or one for each operation. */
#define WIRE_MOST_SUMS_BYTES (WIRE_MAX_PROOF_OPS * (WIRE_SUMS_FIXED_BYTES + WIRE_SUM_BYTES))

_Static_assert(WIRE_MOST_SUMS_BYTES <= WIRE_MAX_BODY_BYTES, "digests fit");
_Static_assert(WIRE_MOST_HELLO_BYTES <= WIRE_MAX_HELLO_BYTES, "a hello fits");
_Static_assert(WIRE_MOST_PLAN_BYTES <= WIRE_MAX_BODY_BYTES, "a plan fits");

/* Compute the code of `size` bytes of `data`. False: the library failed, and `out` is undefined. */
bool wire_key_code(struct wire_key *key, const void *data, size_t size,
		   uint8_t out[WIRE_CODE_BYTES]);

/* True if `code` is the code of `data`. The time does not depend on where they differ. */
bool wire_key_check(struct wire_key *key, const void *data, size_t size,
		    const uint8_t code[WIRE_CODE_BYTES]);

#endif
