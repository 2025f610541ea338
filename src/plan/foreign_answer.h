/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the answer to a command line with words of other tools. Main thread.
 */
#ifndef XDD_PLAN_FOREIGN_ANSWER_H
#define XDD_PLAN_FOREIGN_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/parse.h"
#include "xdd/plan/foreign.h"

/*
 * An option of the command line with the words that belong to it, in xdd's words or in words of a
 * tool.
 */
struct foreign_part {
	const struct word *words; /* as typed; NULL: the same words as the part before */
	size_t n_words;
	const char *name;	  /* without dashes and value; "": no option */
	const char *value;	  /* in the same word, or the next word; NULL: none */
	bool joined;		  /* the value is in the word of the name: --bs=4k, -b4k */
	const struct option *opt; /* xdd's, of that name; or NULL */
	const struct foreign_tool *tool;
	const struct foreign *row; /* NULL: xdd's words, or unknown */
};

/* The words of xdd in place of some parts. */
struct foreign_fit {
	const char **words; /* without "xdd" */
	unsigned *from;	    /* of each word: the number of the argument that it replaces */
	size_t n;
	bool *lost;		   /* of each part: the words do not have it */
	const char *multi, *hosts; /* xdd multi starts them, with this option; NULL: it does not */
	const char *why;	   /* the words make no sense together; NULL: they do */
};

/*
 * Join the words of xdd for all parts but part `leave`, if there is one of that number, to a
 * command line, in memory of the arena: options that apply together, such as -queuedepth twice,
 * become one.
 */
void foreign_fit(struct arena *arena, const struct option_table *table,
		 const struct foreign_part *parts, size_t n, size_t leave, struct foreign_fit *fit);

/* Report one word of a tool and the words of xdd for it, by parse_error(). */
enum xdd_status foreign_report(struct arena *arena, const struct setting *s, const struct word *w,
			       const struct foreign_tool *tool, const struct foreign *row,
			       const char *value);

#endif
