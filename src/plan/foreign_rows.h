/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Initialisers of rows about words of other tools: the last argument is the note, and other fields
 * may follow. Included by the tables.
 */
#ifndef XDD_PLAN_FOREIGN_ROWS_H
#define XDD_PLAN_FOREIGN_ROWS_H

#include "xdd/plan/foreign.h"

#define V(word_, sample_, say_, ...)                                               \
	{                                                                          \
		.word = word_, .sample = sample_, .say = say_, .note = __VA_ARGS__ \
	}
#define IS(word_, values_, say_, ...)                                              \
	{                                                                          \
		.word = word_, .values = values_, .say = say_, .note = __VA_ARGS__ \
	}
#define SWITCH(word_, say_, ...)                                                        \
	{                                                                               \
		.word = word_, .kind = FOREIGN_SWITCH, .say = say_, .note = __VA_ARGS__ \
	}
/* The word without a value, where it takes one elsewhere; before the rows with a value. */
#define BARE(word_, say_, ...)                                                  \
	{                                                                       \
		.word = word_, .kind = FOREIGN_FLAG, .values = "", .say = say_, \
		.note = __VA_ARGS__                                             \
	}
#define COMMAND(word_, ...)                                                  \
	{                                                                    \
		.word = word_, .kind = FOREIGN_COMMAND, .shown = __VA_ARGS__ \
	}
#define FLAG(word_, say_, ...)                                                        \
	{                                                                             \
		.word = word_, .kind = FOREIGN_FLAG, .say = say_, .note = __VA_ARGS__ \
	}
#define SHOWN(word_, sample_, say_, shown_, ...)                                \
	{                                                                       \
		.word = word_, .sample = sample_, .say = say_, .shown = shown_, \
		.note = __VA_ARGS__                                             \
	}
/* xdd has nothing like it. */
#define NOT(word_, sample_, ...)                                      \
	{                                                             \
		.word = word_, .sample = sample_, .note = __VA_ARGS__ \
	}
/* No words of a run stand for it exactly: what is shown comes near, or is a command. */
#define NEAR(word_, sample_, ...)                                      \
	{                                                              \
		.word = word_, .sample = sample_, .shown = __VA_ARGS__ \
	}
/* No words of a run stand for it, and xdd fio translates it. */
#define IN_JOBS(word_, sample_, ...)                                                   \
	{                                                                              \
		.word = word_, .sample = sample_, .in_jobs = true, .note = __VA_ARGS__ \
	}
/* Of the tool where its other words are, although xdd has an option of that name. */
#define OVER(word_, sample_, say_, ...)                                           \
	{                                                                         \
		.word = word_, .sample = sample_, .say = say_, .overrides = true, \
		.note = __VA_ARGS__                                               \
	}

#endif
