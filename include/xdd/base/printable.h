/*
 * Text of others, such as the name of a file, made safe for a terminal: characters that control one, that
 * turn the direction of text, that end a line, and bytes that are no UTF-8 become \n, \t, \x1b or \u202e.
 * A backslash stays as it is, so the result is for people and not for programs. Any thread.
 */
#ifndef XDD_BASE_PRINTABLE_H
#define XDD_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* How many bytes at `s` must not be printed as they are; 0: the character there may. */
size_t printable_unsafe(const char *s);

/* Write `text`, which is to be part of one line. */
void printable_put(FILE *f, const char *text);

/* The same of whole lines: ends of lines and tabs stay. */
void printable_put_lines(FILE *f, const char *text);

/*
 * What printable_put() or, with `lines`, printable_put_lines() would write. To be freed; NULL when memory
 * is short.
 */
char *printable_dup(const char *text, bool lines);

#endif
