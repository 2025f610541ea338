/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of mkdoc.
 */
#ifndef DOC_MKDOC_H
#define DOC_MKDOC_H

#include "xdd/plan/option.h"

/* In two parts: tools that look for licences would read the rest of this line otherwise. */
#define LICENCE_LINE      \
	"# SPDX-License-" \
	"Identifier: GPL-2.0-or-later\n"

/* The options of xdd-nightly, a script. */
extern const struct option_table mkdoc_nightly;

/* Print the bash completion. */
void mkdoc_completion(void);

/* Print the completions for zsh and fish. */
void mkdoc_zsh(void);
void mkdoc_fish(void);

/* Text as roff wants it: no line begins with a dot, backslashes and dashes are literal. */
void mkdoc_roff(const char *text);

/* Print the members of the documents that doc/<name>.schema.json describes, for a manual page. */
void mkdoc_schema(const char *name);

#endif
