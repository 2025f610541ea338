/*
 * The fields of a restart file, one line each. Private to src/net/restart_*.c.
 */
#ifndef XDD_NET_RESTART_FIELD_H
#define XDD_NET_RESTART_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct restart_record;

enum restart_type {
	RESTART_NUMBER,
	RESTART_SIGNED,
	RESTART_TEXT,
	RESTART_RUN,
	RESTART_DIGEST,
};

struct restart_field {
	const char *name;
	enum restart_type type;
	size_t offset;	/* in struct restart_record */
	size_t size;	/* RESTART_TEXT: of the array */
	unsigned since; /* the first version that has it; 0: all */
	/*
	 * Its meaning, where it belongs to the identity of a copy: the beginning of "... was 5, and
	 * is 6 now". NULL: it may change.
	 */
	const char *identity;
};

extern const struct restart_field restart_fields[];
extern const size_t restart_n_fields;

/* The text of `r` has the field. */
bool restart_has_field(const struct restart_record *r, const struct restart_field *field);

/* Write `text` as part of one line, with %XX for bytes that are unsafe in it. */
void restart_put_text(FILE *f, const char *text);

/* Write the value of a field, or parse it; false: it is malformed or out of range. */
void restart_put_field(FILE *f, const struct restart_record *r, const struct restart_field *field);
bool restart_parse_field(const char *value, struct restart_record *r,
			 const struct restart_field *field);

/* A word for the form of its value, for messages. */
const char *restart_field_form(const struct restart_field *field);

#endif
