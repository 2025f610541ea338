/*
 * xdd compare: what differs between two documents of -jsonout.
 */
#ifndef XDD_REPORT_COMPARE_H
#define XDD_REPORT_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses, as diff(1) has them. */
enum compare_status {
	COMPARE_SAME = 0,      /* no real difference between the results */
	COMPARE_DIFFERENT = 1, /* a difference that is not chance */
	COMPARE_TROUBLE = 2,   /* bad arguments or documents: one line was given to log_error() */
};

/*
 * The whole command: `argv[0]` is the word compare, the two files follow. Writes to standard output.
 * Returns the exit status. Called by main, with no other threads about.
 */
enum compare_status compare_main(int argc, char **argv);

/*
 * Write a line for each value that differs between `a` and `b`, with its path (compare_diff.c): `skip`
 * names members that are left out, and ends with NULL. Returns how many lines there were.
 */
size_t compare_diff(FILE *f, const json_t *a, const json_t *b, const char *const *skip);

#endif
