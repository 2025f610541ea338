/*
 * Help from the option table, on standard output. Main thread.
 */
#ifndef XDD_PLAN_HELP_H
#define XDD_PLAN_HELP_H

#include "xdd/plan/option.h"

/* Print every option with one line of help. */
void help_usage(const struct option_table *table);

/* Print every option with all details. */
void help_full(const struct option_table *table);

/*
 * Print all details of the option `name`, with or without dashes. Returns 0, or -1 if there is none
 * of that name.
 */
int help_option(const struct option_table *table, const char *name);

void help_version(void);

#endif
