/*
 * Initialisers of rows about words of other tools. Included by the tables.
 */
#ifndef XDD_PLAN_FOREIGN_ROWS_H
#define XDD_PLAN_FOREIGN_ROWS_H

#include "xdd/plan/foreign.h"

#define V(word_, sample_, say_, note_)                                       \
	{                                                                    \
		.word = word_, .sample = sample_, .say = say_, .note = note_ \
	}
#define IS(word_, values_, say_, note_)                                      \
	{                                                                    \
		.word = word_, .values = values_, .say = say_, .note = note_ \
	}
#define SWITCH(word_, say_, note_)                                                \
	{                                                                         \
		.word = word_, .kind = FOREIGN_SWITCH, .say = say_, .note = note_ \
	}
#define FLAG(word_, say_, note_)                                                \
	{                                                                       \
		.word = word_, .kind = FOREIGN_FLAG, .say = say_, .note = note_ \
	}
#define SHOWN(word_, sample_, say_, shown_, note_)                                            \
	{                                                                                     \
		.word = word_, .sample = sample_, .say = say_, .shown = shown_, .note = note_ \
	}
/* xdd has nothing like it. */
#define NOT(word_, sample_, note_)                              \
	{                                                       \
		.word = word_, .sample = sample_, .note = note_ \
	}
/* Of the tool where its other words are, although xdd has an option of that name. */
#define OVER(word_, sample_, say_, note_)                                                        \
	{                                                                                        \
		.word = word_, .sample = sample_, .say = say_, .note = note_, .overrides = true, \
	}

#endif
