/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names in a copy: of its entries in reports, and names that it may create. Callers:
 * report.c; attempt.c and server.c.
 */
#ifndef XDD_COPY_REPORT_NAMES_H
#define XDD_COPY_REPORT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "copy/link/channel.h"
#include "copy/message/message.h"

struct copy_report;
struct names;

/*
 * Names of the entries of a copy between their OFFER and RESULT, so that the log of -v and the
 * list of -n are the same whichever side this process is: a path begins with the name that a
 * source has at the top. Called by report.c.
 */

/* `report` gets copy_report_entry() for each entry at its end. NULL without memory. */
struct names *names_new(struct copy_report *report);
/* Accepts NULL. */
void names_free(struct names *n);

/* The body of an OFFER, which may be wrong. One thread. */
void names_offer(struct names *n, const uint8_t *body, size_t length);
/* The body of a RESULT. Any thread. */
void names_result(struct names *n, const uint8_t *body, size_t length);

/*
 * The names that a copy may create in its destination directory: its sources'. Callers:
 * attempt.c, server.c.
 */

/*
 * Set the names of `job` from its sources: last components, "" for a source that stands for its
 * contents. With a list any name is possible. Returns 0 or -ENOMEM. copy_tops_free() frees them.
 */
int copy_tops_set(struct copy_job *job);
void copy_tops_free(struct copy_job *job);

#endif
