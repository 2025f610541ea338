/*
 * A screen for people: how wide and high it is, and text that fits on it. Private to src/report.
 *
 * Texts are those of printable_dup(): UTF-8 without control characters. A struct screen belongs to
 * one thread at a time.
 */
#ifndef XDD_REPORT_SCREEN_H
#define XDD_REPORT_SCREEN_H

#include <locale.h>
#include <stdbool.h>
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

/* Write `text` in a tone, or as it is where the screen has no colours. */
void screen_put(const struct screen *s, FILE *f, enum screen_tone tone, const char *text);

/*
 * Write "label: text" in lines that fit on the screen, broken between words; the lines after the
 * first one begin with two blanks. `label` has the tone; NULL: there is none.
 */
void screen_wrap(const struct screen *s, FILE *f, enum screen_tone tone, const char *label,
		 const char *text);

#endif
