/*
 * The proof of what a destination has kept from an interrupted copy: both sides read it, and
 * compare digests, while they meet. What differs is copied again. Private to src/run.
 */
#ifndef XDD_RUN_ENDTOEND_PROOF_H
#define XDD_RUN_ENDTOEND_PROOF_H

#include <stddef.h>
#include <stdint.h>

#include "xdd/net/wire.h"

struct endtoend;

/*
 * Destination, with a plan `peer` that -restart has accepted: compare what it has kept with the
 * source, unless -restart trust is given, and list in `ranges` what is missing then. Reports.
 * Returns 1; or -errno with a text in `why`. Target thread, while it decides on the plan.
 */
int proof_accept(struct endtoend *e, const struct wire_plan *peer, struct wire_range *ranges,
		 size_t *n, char *why, size_t size);

/* Source: struct session_params.prove, for a struct endtoend. Target thread. */
size_t proof_answer(void *arg, const struct wire_range *ranges, size_t n, uint8_t *out);

/* Source: the sides have met, or not. Target thread. */
void proof_end(struct endtoend *e);

#endif
