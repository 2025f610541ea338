/*
 * Messages about a plan that is refused: log_error(), one line each. Main thread, while a plan is
 * built.
 */
#ifndef XDD_PLAN_ERRORS_H
#define XDD_PLAN_ERRORS_H

#include "xdd/base/text.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

/*
 * Report a bad value of an option: "file:line: -name value: <text>; hint", or on the command line
 * "-name value: <text> (argument N); hint". `w` is the word to blame, or NULL. Returns `status`.
 */
enum xdd_status parse_error(enum xdd_status status, const struct setting *s, const struct word *w,
			    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * Report a word that is none of those that `at` returns for `words`, with the one that is probably
 * meant. Returns XDD_BAD_ARGUMENT.
 */
enum xdd_status parse_error_words(const struct setting *s, const struct word *w, suggest_word_at at,
				  const void *words);

/* Write "a, b or c" to `buf`; returns `buf`. */
char *parse_list_words(suggest_word_at at, const void *words, char *buf, size_t size);

/* Report what a target cannot do: "target 0, path: <text>". Returns XDD_BAD_ARGUMENT. */
enum xdd_status plan_refuse(const struct target_plan *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Report that memory is short. Returns XDD_INIT_FAILED. */
enum xdd_status plan_no_memory(void);

#endif
