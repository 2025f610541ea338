/*
 * Help from an option table, on standard output. Called by plan_build() and the commands; main
 * thread.
 */
#ifndef XDD_PLAN_HELP_H
#define XDD_PLAN_HELP_H

#include "xdd/base/status.h"
#include "xdd/plan/option.h"

/* Print every option with one line of help, group by group. */
void help_list(const struct option_table *table);

/*
 * Print `text` in lines that fit a terminal, indented by `indent` columns. The first continues at
 * column `col` of the line, if that is not past the indentation; a `col` of 0 begins a line.
 */
void help_wrapped(const char *text, int indent, int col);

/* Print every option with all details. */
void help_full(const struct option_table *table);

/*
 * Print all details of the option `name`, with or without dashes. Returns 0, or -1 if there is none
 * of that name.
 */
int help_option(const struct option_table *table, const char *name);

/*
 * Report a word of -help that names nothing; `near` is the option that is probably meant, without
 * its dash, or NULL. Returns XDD_BAD_ARGUMENT.
 */
enum xdd_status help_unknown(const struct setting *s, const struct word *w, const char *near);

void help_version(void);

#endif
