/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text: lists in a buffer, names of files, text from outside for terminals, JSON and CSV, words for
 * a shell, and how near two words are. No state; any thread that has the stream or arena.
 */
#ifndef XDD_BASE_TEXT_H
#define XDD_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct arena;

/*
 * Append to the text in `buf`, of `size` bytes; what has no room is left out. text_list(): after a
 * comma, unless the text is the first of the list. All return `buf`.
 */
char *text_add(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
char *text_list(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
char *text_vadd(char *buf, size_t size, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* The `n` bytes as 2 `n` hexadecimal digits in `buf`, with a NUL after them. Returns `buf`. */
char *text_hex(const void *bytes, size_t n, char *buf);

/*
 * Write `text`, which begins in column `indent`, and a newline: in lines of `width` columns, broken
 * at blanks, of which further ones are indented as well.
 */
void text_fold(FILE *f, const char *text, int width, int indent);

/*
 * The next word of a list, which has blanks or commas between its words, and may be NULL: returns
 * its length, 0 at the end. `*list` becomes the rest.
 */
size_t list_next(const char **list, const char **word);

/* True if the list has a word of these `length` bytes, by strncmp() or strncasecmp(). */
bool list_has(const char *list, const char *word, size_t length,
	      int (*compare)(const char *, const char *, size_t));

/*
 * Names of files.
 */

/* The name after the last slash. */
const char *path_last(const char *path);

/*
 * The directory of a file, "." where none is named. The caller frees it. NULL when memory is short.
 */
char *path_directory(const char *path);

/*
 * Text from outside, such as the name of a file, made safe for a terminal: characters that control
 * the terminal, change the direction of text or end a line, and bytes that are not UTF-8, become
 * \n, \t, \x1b or \u202e. A backslash is unchanged, so programs cannot read the text back, unless
 * printable_put_exact() wrote it. Any thread.
 */

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

/*
 * UTF-8, for texts from outside that go into JSON.
 */

/*
 * The number of bytes of the character at `s`, or 0 if it is not well-formed UTF-8. The NUL at the
 * end of a text counts as a character. Source: The Unicode Standard, table 3-7.
 */
size_t utf8_length(const char *s);

/* Write a field of a CSV file, in quotes where RFC 4180 asks for them. */
void csvtext_write(FILE *f, const char *text);

/*
 * A finite number with the 15 digits of a double, without an exponent: 2483780.25. Returns `text`.
 */
#define CSVTEXT_NUMBER_SIZE 400 /* DBL_MAX has 309 digits */
char *csvtext_number(double x, char text[CSVTEXT_NUMBER_SIZE]);

/*
 * Words for a shell: command lines in reports and messages.
 */

/* `word`, in quotes where a shell needs them; memory of `arena`. NULL: no memory. */
char *quote_word(struct arena *arena, const char *word);

/*
 * "Did you mean": how near two words are.
 */

/*
 * The number of insertions, deletions, replacements and swaps of neighbours that turn `a` (`a_len`
 * characters) into `b`, ignoring case. For words longer than 63 characters it is their length.
 * (Optimal string alignment distance.) Pure; any thread.
 */
unsigned suggest_distance(const char *a, size_t a_len, const char *b);

/* Word `i` of some words, or NULL past the last one. */
typedef const char *(*suggest_word_at)(const void *words, size_t i);

/* The word of `words` nearest to a misspelt word, or NULL when none is near. Any thread. */
const char *suggest_nearest(const char *word, suggest_word_at at, const void *words);

/*
 * True when `distance` is small enough to suggest the word, for a misspelt word of `len`
 * characters.
 */
int suggest_is_near(unsigned distance, size_t len);

#endif
