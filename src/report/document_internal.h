/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the reader of documents. Private to src/report/document*.c.
 */
#ifndef XDD_REPORT_DOCUMENT_INTERNAL_H
#define XDD_REPORT_DOCUMENT_INTERNAL_H

#include "xdd/report/document.h"

/* Where the first value is kept that is not as it should be, and the part that it is in. */
struct document_check {
	char *why;	  /* DOCUMENT_WHY_SIZE; "": none so far */
	const char *part; /* "results: " */
	bool no_memory;	  /* then, if that was the reason */
};

/* Keep that `key` is not what is expected. Returns false. */
bool document_wrong(const struct document_check *c, const char *key, const char *expected);

/* A whole number, or a text of digits, as jvalue_count() writes it. */
bool document_whole(const json_t *value, uint64_t *out);

/*
 * A count at `o`.`key`; 0 and false where it is not as it should be. It must be there, except with
 * `known`: if it is not, it is 0.
 */
bool document_count(const struct document_check *c, const json_t *o, const char *key,
		    uint64_t *value, bool *known);

/* document_result.c: the results and copies of a run. False: memory is short. */
bool document_take_results(struct document *d);

/* document_result.c: make a document of version 1 one of this version. False: memory is short. */
bool document_upgrade(json_t *root);

#endif
