/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of other tools, and the words of xdd for them. They are refused, with the words to say
 * instead; doc/from-fio.md and the search of -help have the same tables.
 *
 * The tables are const; any thread.
 */
#ifndef XDD_PLAN_FOREIGN_H
#define XDD_PLAN_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/base/status.h"

struct arena;

/* Does the word take a value? */
enum foreign_kind {
	FOREIGN_VALUE,	/* always: --size=1G */
	FOREIGN_SWITCH, /* 0 or 1, or none: --direct=1; with 0 it says nothing */
	FOREIGN_FLAG,	/* never: -w */

	/* It is the name of a command: xdd sync a b. The option of that name is another row's. */
	FOREIGN_COMMAND,
};

/*
 * A word of another tool. In `say`, "%v" is its value, and in place of it
 *
 *   %us %ms %m %B      the value, with that unit if it is a bare number
 *   %,                 the value with commas in place of colons
 *   %:                 what follows the first colon in the value
 *   %-                 100 less the value
 *   %<                 what precedes the first slash or colon in the value
 *   %/                 fio's bssplit as -reqsize mix has it
 *   %x                 a pattern of fio as hexadecimal digits
 *   -%f                "-target <name>", or "-targets <n> <name> ..." for names with colons between
 *   -%l                the same for names with colons, commas or number signs between; "name..."
 *                      becomes "-targets <n> name%03d"
 *   @one               "-reqsize 1" if the value is a bare number, which is no request by itself
 *
 * An option after "?" applies only where the command line has no such option otherwise. A word
 * that begins with "@" depends on the rest of the command line: see foreign_fit.c. "@%v" is a list
 * of targets in the file <value>.
 */
struct foreign {
	const char *word; /* without dashes */

	/*
	 * This row is for these values only, separated by blanks, or for those that begin with what
	 * is before a star; "": for the word without a value; NULL: any.
	 */
	const char *values;
	enum foreign_kind kind;

	/* Beside other words of the tool the row applies although xdd has that option too. */
	bool overrides;

	/* The words of xdd; "": none are necessary; NULL: xdd has nothing like it. */
	const char *say;

	/*
	 * To be shown in place of `say`; NULL: `say` itself. Beside a `say` of NULL it is what
	 * comes near, such as another command, and no part of a command line to try.
	 */
	const char *shown;
	const char *note; /* differences, or why there are no words; NULL: nothing */

	/*
	 * A value for documents and tests; NULL: the first of `values`, or none. Where it is a
	 * number, a letter takes numbers only.
	 */
	const char *sample;

	const char *usual; /* a value with which it changes nothing; or NULL */

	/* There are no words of a run for it, but xdd fio translates it. */
	bool in_jobs;

	/* Of fio: how a job file has the word; enums of src/plan/fio.h. */
	unsigned char type, option;
};

struct foreign_tool {
	const char *name;
	const char *dashes;	    /* before a word, as its users write it: "--", "-" or "" */
	bool equals;		    /* an equals sign before the value, not a blank */
	const char *about;	    /* a paragraph for the document */
	const struct foreign *rows; /* ends with a row without a word */
};

extern const struct foreign_tool foreign_fio, foreign_dd, foreign_sgp_dd, foreign_ior,
	foreign_xdisk, foreign_sgpdd_survey, foreign_elbencho, foreign_common;

/* Tool `i`, or NULL past the last one. */
const struct foreign_tool *foreign_tool_at(size_t i);

/*
 * The row of `tool` for `word`, without dashes, with `value`, which may be NULL; NULL: there is
 * none. Dashes and underscores inside the word are the same.
 */
const struct foreign *foreign_find(const struct foreign_tool *tool, const char *word,
				   const char *value);

/*
 * A row of any tool for `word`, without dashes, with `value`; `*tool` is its tool. A value of NULL
 * may follow in a word of its own: no row for the word without a value is returned. NULL: none.
 */
const struct foreign *foreign_any(const char *word, const char *value,
				  const struct foreign_tool **tool);

/*
 * A row for `word` in the place of a command, as in "xdd trim": of a command of that name, or else
 * of an option with a dash; `*tool` is its tool. NULL: none.
 */
const struct foreign *foreign_command(const char *word, const struct foreign_tool **tool);

/*
 * The length of the word with which `text`, without dashes, begins, where the rest is its value, as
 * in -b16k and -OD: a letter of `tool` before a number, a path or a value of the letter's rows. 0:
 * it is none. A switch may have such a value too, as -S1 does.
 */
size_t foreign_letter(const struct foreign_tool *tool, const char *text);

/*
 * The first `len` characters of `name`, in which a percent sign stands for itself, and `number`, a
 * conversion, after them; in memory of `arena`.
 */
char *foreign_numbered(struct arena *arena, const char *name, size_t len, const char *number);

/* True if the row names targets. */
bool foreign_names_targets(const struct foreign *row);

/* True of a word that depends on the rest of the command line, such as "@jobs". */
bool foreign_is_special(const char *word);

/*
 * The words of xdd for a row and its value (NULL: none), as of `say`, in memory of `arena`.
 * Returns their number, 0 where there are none; -EINVAL: a value is needed.
 */
int foreign_words(struct arena *arena, const struct foreign *row, const char *value,
		  const char ***words);

/*
 * As foreign_words(), as one text, of `shown` or `say`, quoted for a shell; without a value
 * "<value>" stands in its place.
 */
char *foreign_text(struct arena *arena, const struct foreign *row, const char *value);

/* The advice about a word, with the note of its row, such as "say -dio"; in memory of `arena`. */
const char *foreign_advice(struct arena *arena, const struct foreign *row, const char *value);

/*
 * For a command line that plan_build() refused: report every word of other tools in it and, where
 * all are understood, the command line in xdd's words, by log_error(). True: there was such a
 * word; the lines that log_hold() keeps since `held` were dropped before, and `*status` is the new
 * status. Main thread.
 */
bool foreign_answer(int argc, char **argv, size_t held, enum xdd_status *status);

#endif
