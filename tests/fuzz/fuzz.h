/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract between a fuzz harness, one file per kind of input, and driver.c, which tries
 * inputs.
 *
 * Everything here is for one thread.
 */
#ifndef XDD_TESTS_FUZZ_H
#define XDD_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_MAX_BYTES 16384 /* of an input */

/* A generator; the same state gives the same sequence on every machine. */
struct fuzz_random {
	uint64_t state;
};

struct fuzz_harness {
	const char *name;
	/* Write a valid input of at most FUZZ_MAX_BYTES bytes to `data`; returns its size. */
	size_t (*make)(struct fuzz_random *r, uint8_t *data);
	/* Texts that mutations insert. */
	const char *const *words;
	size_t n_words;
};

/* Each harness defines these two. */
extern const struct fuzz_harness fuzz_harness;

/*
 * Pass `data` to the code under test. A wrong result ends the process by fuzz_fail(). Returns 0
 * when the input was accepted, 1 when it was refused as it should be.
 */
int fuzz_one(const uint8_t *data, size_t size);

/* ---- mutate.c ---- */

uint64_t fuzz_u64(struct fuzz_random *r);

/* Uniform from 0 to `bound` - 1; `bound` is at least 1. */
size_t fuzz_below(struct fuzz_random *r, size_t bound);

/* True once in `n` times. */
bool fuzz_once_in(struct fuzz_random *r, size_t n);

/* From 0 to 2^63 - 1, as often with few digits as with many. */
uint64_t fuzz_amount(struct fuzz_random *r);

/* A text of `size` bytes at most with its end, in UTF-8. */
void fuzz_text(struct fuzz_random *r, char *out, size_t size);

/* A number as users and attackers write it: small, a limit, with a unit, or no number. */
const char *fuzz_number(struct fuzz_random *r, char *buf, size_t size);

/*
 * Change `size` bytes of `data` at 1 to 8 positions; returns the new size, FUZZ_MAX_BYTES at most.
 */
size_t fuzz_mutate(struct fuzz_random *r, uint8_t *data, size_t size, const char *const *words,
		   size_t n_words);

/* A number that depends on all bytes. */
uint64_t fuzz_hash(const uint8_t *data, size_t size);

/* ---- support.c ---- */

/* Print the failure on standard error, and abort. */
void fuzz_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/*
 * Send messages of the program and its standard output to memory; change to a new directory with
 * the small files that inputs name. Called once. fuzz_clean_up() removes the directory.
 */
void fuzz_set_up(void);
void fuzz_clean_up(void);

/* Forget the messages so far. */
void fuzz_messages_clear(void);

#define FUZZ_SOME SIZE_MAX

/*
 * Check the messages since then: `errors` of them, or with FUZZ_SOME any number but 0, each one
 * clean line; other lines are warnings or notes.
 */
void fuzz_messages_check(size_t errors);

/*
 * Check that text for people is UTF-8, and that nothing but ends of lines and tabs controls a
 * terminal.
 */
void fuzz_text_check(const char *text, size_t size);

/* Words of all documents in JSON, for fuzz_harness.words. */
#define FUZZ_JSON_WORDS                                                                          \
	"null", "true", "{", "}", "[", "]", ",", ":", "\"", "-1", "1e300", "\\u0000", "\\u001b", \
		"\xff"

/* Check the text that went to standard output since the last call in the same way. */
void fuzz_output_check(void);

/*
 * The path of a file in memory with this contents, valid until the next call with the same `slot`
 * (0 or 1).
 */
const char *fuzz_file(unsigned slot, const void *data, size_t size);

/* ---- words.c ---- */

#define FUZZ_MAX_WORDS 256

/*
 * Words of a command line, without its first: targets, an operation, an amount, and a few options
 * drawn from the option table. Each ends with a NUL. Returns the bytes used of `out`.
 */
size_t fuzz_make_words(struct fuzz_random *r, char *out, size_t size);

/* Names of options and suboptions, and values, for mutations. */
#define FUZZ_OPTION_WORDS 53
extern const char *const fuzz_option_words[FUZZ_OPTION_WORDS];

/* Build a plan of these words and print it as a dry run does. Returns as fuzz_one() does. */
int fuzz_plan(int argc, char **argv);

#endif
