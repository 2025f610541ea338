/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions about measuring that no option answers, and their answers. Printed by xdd -help, and in
 * doc/questions.md and xdd(1) by mkdoc.
 */
#ifndef XDD_COMMANDS_QUESTION_H
#define XDD_COMMANDS_QUESTION_H

#include <stdbool.h>
#include <stddef.h>

struct question {
	const char *word;    /* "xdd -help <word>" answers it; may have blanks */
	const char *also;    /* other words and phrases, with commas between them; NULL: none */
	const char *heading; /* the question */

	/*
	 * Paragraphs that end with "\n". A line that begins with two blanks is printed as it is: a
	 * command, or a row of a table.
	 */
	const char *answer;
};

/* Question `i` in the order of the document; NULL past the last one. */
const struct question *question_at(size_t i);

/*
 * The question for the words of a user, in either case: its word, one of the others, or a sentence
 * with a phrase of several words in it. NULL: none.
 */
const struct question *question_find(const char *words);

/*
 * Take the next paragraph, or the next lines that are printed as they are, from `*answer`. Returns
 * its length without the line end, and its start in `*part`; `*verbatim` says which it is. 0: there
 * are no more.
 */
size_t question_part(const char **answer, const char **part, bool *verbatim);

#endif
