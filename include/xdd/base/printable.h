/*
 * Text from outside, such as the name of a file, made safe for a terminal: characters that control
 * the terminal, change the direction of text or end a line, and bytes that are not UTF-8, become
 * \n, \t, \x1b or \u202e. A backslash is unchanged, so the result is for people and not for
 * programs, except that of printable_put_exact(). Any thread.
 */
#ifndef XDD_BASE_PRINTABLE_H
#define XDD_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The number of bytes at `s` that must be escaped; 0: the character there may be printed. */
size_t printable_unsafe(const char *s);

/* True if all of it may be printed. */
bool printable_is_safe(const char *text);

/* Replace each byte that must be escaped with a question mark. */
void printable_mask(char *text);

/* Write `text` as part of one line. */
void printable_put(FILE *f, const char *text);

/*
 * As printable_put(), with \\ for a backslash: the bytes of `text` can be told from the result, for
 * programs that read it.
 */
void printable_put_exact(FILE *f, const char *text);

/* Write whole lines: newlines and tabs are unchanged. */
void printable_put_lines(FILE *f, const char *text);

/*
 * The text that printable_put() or, with `lines`, printable_put_lines() would write. The caller
 * frees it. NULL when memory is short.
 */
char *printable_dup(const char *text, bool lines);

#endif
