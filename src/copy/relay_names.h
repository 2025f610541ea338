/*
 * Names of the entries that pass through a relay, for the list of -n and the log of -v. Called by
 * relay.c.
 */
#ifndef COPY_RELAY_NAMES_H
#define COPY_RELAY_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "copy/report/report.h"

struct relay_names;

/* NULL without memory, or when `report` needs no names; all functions accept that. */
struct relay_names *relay_names_new(struct copy_report *report);
void relay_names_free(struct relay_names *n);

/*
 * Remember the entries of an OFFER; and report those of a RESULT. Messages that are wrong are left
 * to the servers. A thread each.
 */
void relay_names_offer(struct relay_names *n, const uint8_t *body, size_t length);
void relay_names_result(struct relay_names *n, const uint8_t *body, size_t length);

#endif
