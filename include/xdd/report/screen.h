/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A text screen: how wide and high it is, and text and tables that fit on it.
 *
 * Texts come from printable_dup(): UTF-8 without control characters. A struct screen belongs to
 * one thread at a time.
 */
#ifndef XDD_REPORT_SCREEN_H
#define XDD_REPORT_SCREEN_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SCREEN_MIN_COLUMNS 60

struct screen {
	unsigned columns; /* at least SCREEN_MIN_COLUMNS */
	unsigned rows;	  /* 0: unknown */
	bool colour;
	const char *gap;  /* stands for the middle of a name that is too long */
	locale_t unicode; /* (locale_t)0: widths are estimates, which are not too small */
};

/* Colours and weights; they repeat what the words say. */
enum screen_tone {
	SCREEN_PLAIN,
	SCREEN_BOLD,
	SCREEN_GOOD,
	SCREEN_CAUTION,
	SCREEN_BAD,
};

/*
 * Look at the terminal `fd`, or else at the environment: COLUMNS, LINES, NO_COLOR, TERM and the
 * locale. screen_free() may follow in any case.
 */
void screen_init(struct screen *s, int fd);
void screen_free(struct screen *s);

/* The columns that `text` takes. */
unsigned screen_width(const struct screen *s, const char *text);

/* A copy of `text` that takes `columns` at most: its middle is left out. NULL: no memory. */
char *screen_shorten(const struct screen *s, const char *text, unsigned columns);

/*
 * Write "label: text" in lines that fit on the screen, broken between words; the lines after the
 * first one begin with two blanks. `label` has the tone; NULL: there is none.
 */
void screen_wrap(const struct screen *s, FILE *f, enum screen_tone tone, const char *label,
		 const char *text);

/*
 * Write a text, which may come from outside, to standard output: in lines as screen_wrap() on a
 * terminal, in one line elsewhere.
 */
void screen_say(const char *text);

/*
 * Write `len` bytes of whole lines, and fold those that do not fit between words: their further
 * lines are indented by two blanks more than the first one.
 */
void screen_fold(const struct screen *s, FILE *f, const char *text, size_t len);

/* A column of a table; its cells are on the right, or on the left, as in the last column. */
struct screen_column {
	const char *heading;
	bool left;
	unsigned leave; /* columns with the greatest number are left out first; 0: stays */

	/* owned by the functions below */
	unsigned width;
	bool left_out;
};

struct screen_table {
	const struct screen *screen;
	struct screen_column *columns;
	size_t n;
	unsigned gap;
};

/* Make columns as wide as these cells, one for each; NULL: as wide as the headings. */
void screen_table_widen(struct screen_table *t, const char *const *cells);

/*
 * Once all widths are known: choose the gap, and leave columns out until a row fits. Where those
 * that stay are too wide together, cells of the widest are cut.
 */
void screen_table_fit(struct screen_table *t);

/* Write a row, or the headings where `cells` is NULL. */
void screen_table_put(const struct screen_table *t, FILE *f, const char *const *cells);

/* Write which columns are left out, except those without a heading; nothing where none is. */
void screen_table_end(const struct screen_table *t, FILE *f);

#endif
