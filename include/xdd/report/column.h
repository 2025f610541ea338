/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of result columns: identifiers of -outputformat, headings, units, formats, and how each
 * value is computed from a struct result. Text, CSV and JSON are writers over it.
 *
 * Names and text formats: the user guide 8.2 and xdd-columns(7). Any thread; no state.
 */
#ifndef XDD_REPORT_COLUMN_H
#define XDD_REPORT_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/plan/plan.h"
#include "xdd/report/result.h"

enum column_type {
	COLUMN_TEXT,
	COLUMN_COUNT,
	COLUMN_REAL,
	COLUMN_DELIMITER,
};

#define COLUMN_NO_UNIT ">>" /* in the units of the first column, which has none */
#define COLUMN_TEXT_MAX 72  /* room for a text of a column, with its NUL */

struct column_value {
	const struct column *column;
	uint64_t count;
	double real;
	bool unknown;		   /* there is no value, and 0 would be a wrong one */
	const char *text;	   /* static, of the plan, or `buf` */
	char buf[COLUMN_TEXT_MAX]; /* for a text that has to be asked for */
};

struct column {
	const char *id;	     /* upper case, without the plus sign */
	const char *aliases; /* further identifiers, separated by blanks, or NULL */
	enum column_type type;
	const char *heading; /* padded to the column's width, as are the units */
	const char *units;
	int width;
	int precision;	 /* COLUMN_REAL: digits after the point */
	bool identifies; /* tells rows of several runs apart: of the plan, text of any length */
	unsigned needs;	 /* enum figures_part: without these the value is unknown */

	/* Compute the value of `v->column` for `r`, from what follows or from anything in `r`. */
	void (*get)(const struct result *r, struct column_value *v);
	size_t off;		/* in struct result: uint64_t, struct span or struct extreme */
	size_t n;		/* numbers there, which are added up */
	enum latency_time time; /* of the histogram */
	unsigned dir;		/* enum op_dir, LATENCY_ALL_DIRS or LATENCY_FLUSHES */
	uint32_t stat;		/* its figure: report/latency.h */

	const char *help; /* for the help and the manual, without a capital and a full stop */
};

/* The chosen columns in order: pointers into the table, and the identifiers as written. */
struct column_list {
	const struct column **columns;
	const char **names;
	size_t n;
};

/* Row `i` of the table, or NULL past its end. */
const struct column *column_at(size_t i);

/* Row `i` of the part of the table in column.c, or NULL past its end; for column_at(). */
const struct column *column_latency_at(size_t i);

/* The parts of the table in files of their own; each ends with a row without an identifier. */
extern const struct column columns_endtoend[];
extern const struct column columns_extremes[];
extern const struct column columns_run[];

/* Bytes of the texts of any length that the columns of one result show, at most. */
size_t column_text_bytes(const struct plan *plan);

/* The row whose identifier or alias is `id` (`len` characters, case counts), or NULL. */
const struct column *column_find(const char *id, size_t len);

/* The identifier of the row nearest to a misspelt one, for "did you mean"; NULL: none is near. */
const char *column_suggest(const char *id, size_t len);

/* The field of `r` that a value is made of: `off` of its column. */
static inline const void *column_field(const struct result *r, const struct column_value *v)
{
	return (const char *)r + v->column->off;
}

/* The value of column `col` for `r`. */
void column_value(const struct column *col, const struct result *r, struct column_value *v);

/* The member of a column in documents: its identifier in lower case, into `buf`; returns `buf`. */
#define COLUMN_MEMBER_SIZE 32
char *column_member(const struct column *col, char *buf);

/* The text of column WHAT for a result, without blanks around it. */
const char *column_what(enum result_what what);

#define COLUMN_DEFAULTS PLAN_DEFAULT_COLUMNS
#define COLUMN_DEFAULTS_ENDTOEND PLAN_DEFAULT_COLUMNS "+E2EPERCENTSRTIME"

/* CSV files have these after the columns of the text, unless -outputformat new chose columns. */
#define COLUMN_CSV_DEFAULTS \
	"+ID+STARTTIME+TARGETNAME+ENGINE+PATTERN+REQUESTEDIOPS+REQUESTEDBANDWIDTH"

/*
 * Turn "+ID+ID..." into a list, to be freed by column_list_free(). Returns 0; -ENOMEM; or -EINVAL
 * with `*bad` and `*bad_len` at the identifier that is none (or at the text that lacks a plus
 * sign), and an empty list.
 */
int column_list_parse(struct column_list *list, const char *format, const char **bad,
		      size_t *bad_len);

/*
 * Report what column_list_parse() has refused in `format`, the value of `option`; `example` is a
 * list as it is expected.
 */
void column_list_refuse(const char *option, const char *format, const char *example,
			const char *bad, size_t bad_len);
void column_list_free(struct column_list *list);

#endif
