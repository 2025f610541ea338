/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the answer to a command line with words of other tools. Main thread.
 */
#ifndef XDD_PLAN_FOREIGN_ANSWER_H
#define XDD_PLAN_FOREIGN_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/parse.h"
#include "xdd/base/memory.h"
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

/*
 * A command line that is put together from words of other tools, group by group. For foreign_fit.c
 * and foreign_tasks.c.
 */

/* An option and its words. */
struct group {
	const char **words;
	size_t n;
	const struct foreign_part *part; /* that it comes from */
	bool if_none;			 /* only where there is no other group of the same option */
	bool gone;
	const struct option *opt; /* NULL: special */
};

struct fitting {
	struct arena *arena;
	const struct option_table *table;
	struct group *groups;
	size_t n, room;
	bool *lost; /* of each part: it is not in the command line */
	const struct foreign_part *parts;
	size_t n_parts;
	const char *multi, *hosts; /* an option of xdd multi, and its value; NULL: none */
	const char *why;	   /* no command line is possible; NULL: one is */
};

/* The first group of a special word, or of an option, that is not gone; NULL: none. */
struct group *fit_find_special(struct fitting *f, const char *word);
struct group *fit_find_option(struct fitting *f, const char *name);

/* The first group of an option that applies whether or not there are others; NULL: none. */
struct group *fit_find_given(struct fitting *f, const char *name);

/* True if there is an option of these, which end with NULL. */
bool fit_has_option(struct fitting *f, const char *const *names);

/* Put `n` words, the first of which is an option, in place of what the group has. */
void fit_become(struct fitting *f, struct group *g, size_t n, const char *const *words);

/* Add a group with `n` words, for the part of `like`. */
void fit_add(struct fitting *f, const struct group *like, size_t n, const char *const *words);

/* No command line is possible; the first reason counts. */
void fit_refuse(struct fitting *f, const char *why);

/* The word of the group is not in the command line that is proposed. */
void fit_lose(struct fitting *f, struct group *g);

#define FIT_LIST(...)                                                              \
	sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), (const char *[]) \
	{                                                                          \
		__VA_ARGS__                                                        \
	}

/*
 * Where words of xdisk, IOR or sgpdd-survey name the targets: the values that these tools have by
 * default, and the files and parts of files of their processes. (foreign_tasks.c)
 */
void fit_tasks(struct fitting *f);

#endif
