/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of JSON documents from values of the program, over jansson.
 *
 * Each returns a new reference, or NULL when memory is short; jvalue_put()
 * and jansson's functions with _new take such a NULL as a failure, and pass it on. No builder of a
 * document looks at each of them: the writer compares jvalue_lost() before and after.
 */
#ifndef XDD_REPORT_JVALUE_H
#define XDD_REPORT_JVALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/base/file.h"
#include "xdd/report/endtoend.h"
#include "xdd/stat/figures.h"

/* Count what jansson asks for in vain. Before any value is made; main thread. */
void jvalue_start(void);

/*
 * The number of requests for memory of jansson that have failed since jvalue_start(): a document
 * that was made while it grew lacks members, and must not be written. Any thread.
 */
unsigned long jvalue_lost(void);

/* Have jvalue_lost() count memory that a builder of a document lacks itself. Any thread. */
void jvalue_no_memory(void);

/*
 * Parse a document that `read` gives piece by piece, as json_load_callback() does. NULL as there,
 * and if memory was short meanwhile, where jvalue_lost() has grown: the parser of jansson then
 * leaves out characters or aborts, so it gets no more of them.
 */
json_t *jvalue_load(json_load_callback_t read, void *arg, size_t flags, json_error_t *error);

/* As json_dumps(): the caller frees the text. NULL where memory is short. */
char *jvalue_dump(const json_t *value, size_t flags);

/* As jvalue_load() for a document in memory. */
json_t *jvalue_parse(const char *text, size_t size, size_t flags, json_error_t *error);

/* `text`, with U+FFFD in the place of bytes that are not UTF-8; null for NULL. */
json_t *jvalue_text(const char *text);

/* A whole number; one above 2^63 - 1, which JSON readers do not take as one, as text. */
json_t *jvalue_count(uint64_t value);

/* As jvalue_count(); null where the number is not known, or is 0 and so not given. */
json_t *jvalue_known(bool known, uint64_t value);
json_t *jvalue_given(uint64_t value);

/* Null where there is no such number in JSON: infinite, or none at all. */
json_t *jvalue_real(double value);

/* Whole nanoseconds; null for NAN. */
json_t *jvalue_ns(double ns);

/* A time as UTC: "2025-03-03T10:15:02.123Z". */
json_t *jvalue_time(uint64_t wall_ns);

/* An interval, and the stonewall of a pass, as objects. */
struct span;
struct stonewall_result;
json_t *jvalue_span(const struct span *s);
json_t *jvalue_stonewall(const struct stonewall_result *s);

/* Facts of a connection, as an object. */
json_t *jvalue_connection(const struct connection_info *c);

/* The shares of a side of a copy. */
json_t *jvalue_shares(const struct copy_shares *s);

/* The two parts of a copy of which either may have limited it; null: its verdict is clear. */
json_t *jvalue_between(const struct copy_verdict *v);

/* The messages that the log keeps (log_kept()): an array of objects with level and text. */
json_t *jvalue_messages(void);

/*
 * Give `object` that member; takes `value` over. Without one the member is left out. Returns 0 or
 * -1.
 */
int jvalue_put(json_t *object, const char *key, json_t *value);

/*
 * Write a text, number or truth to display: no quotes, escapes for what would control a terminal,
 * and yes or no. Nothing for any other value.
 */
void jvalue_write(FILE *f, const json_t *value);

/* True for a value that is shown in one piece, as is a list of plain ones. */
bool jvalue_is_plain(const json_t *value);

/* As jvalue_write() for any value: "(none)", "(empty)", or "(there)" for one that is not plain. */
void jvalue_show(FILE *f, const json_t *value);

/* How all documents are written: jansson's flags. */
#define JVALUE_FORMAT (JSON_COMPACT | JSON_REAL_PRECISION(15))

/*
 * The output of a document: a file that is complete or stays as it was; or, for what can only be
 * written, such as standard output, a spool that is written there at the end. The first error
 * decides. Belongs to one thread at a time.
 */
struct jsonfile {
	FILE *f;	  /* to write to; NULL: not open */
	const char *path; /* borrowed; NULL: standard output */
	struct newfile file;
	int error;	    /* the first errno; 0: none */
	unsigned long lost; /* of jvalue_lost() at first */
};

/* `spool`, owned from here on, or NULL: `path` is a file. Returns 0 or -errno. */
int jsonfile_open(struct jsonfile *j, const char *path, FILE *spool);

/* Remember an errno; of several the first. */
void jsonfile_fail(struct jsonfile *j, int err);

/* Write `value` to `f`, a part of the document, and release it. NULL: memory was short. */
void jsonfile_put(struct jsonfile *j, FILE *f, json_t *value);

/* Write a member, but the first of its object; as an array, of items that waited in a spool. */
void jsonfile_member(struct jsonfile *j, const char *key, json_t *value);
void jsonfile_put_array(struct jsonfile *j, const char *key, FILE *items);

/* All is written. Returns 0 or the first -errno; jsonfile_close() is still due. */
int jsonfile_end(struct jsonfile *j);

/* jsonfile_end(), and put the document in its place. Returns 0 or the first -errno. */
int jsonfile_close(struct jsonfile *j);

/* Close it and leave nothing. Safe on one that is all zero. */
void jsonfile_discard(struct jsonfile *j);

#endif
