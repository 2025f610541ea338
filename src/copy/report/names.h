/*
 * Names of the entries of a copy between their OFFER and RESULT, so that the log of -v and the list
 * of -n are the same whichever side this process is: a path begins with the name that a source has
 * at the top. Called by report.c.
 */
#ifndef COPY_REPORT_NAMES_H
#define COPY_REPORT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "copy/message/message.h"

struct copy_report;
struct names;

/* `report` gets copy_report_entry() for each entry at its end. NULL without memory. */
struct names *names_new(struct copy_report *report);
/* Accepts NULL. */
void names_free(struct names *n);

/* The body of an OFFER, which may be wrong. One thread. */
void names_offer(struct names *n, const uint8_t *body, size_t length);
/* The body of a RESULT. Any thread. */
void names_result(struct names *n, const uint8_t *body, size_t length);

#endif
