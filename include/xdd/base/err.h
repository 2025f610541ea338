/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An error with its text, for the caller of the function that failed.
 */
#ifndef XDD_BASE_ERR_H
#define XDD_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

#define ERR_TEXT_SIZE 1024

/*
 * A function that fails sets the struct err of its caller and returns its number, so that
 * `return err_set(e, -EINVAL, "...")` does both. All zero: no error. It belongs to one thread at a
 * time.
 */
struct err {
	int no;			  /* a negative errno, or an exit status; 0: no error */
	char text[ERR_TEXT_SIZE]; /* one line without a newline, cut to fit; "": no error */
};

/* Each replaces what `e` has, or does nothing where `e` is NULL, and returns `no`. Any thread. */

int err_set(struct err *e, int no, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Without a value. */
void err_vset(struct err *e, int no, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* With strerror(-no) after the text: "cannot listen (Address already in use)". */
int err_sys(struct err *e, int no, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The text is strerror(-no). */
int err_errno(struct err *e, int no);

/* Put a text before or after the text that `e` has, which is not NULL here. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_add(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* No error. */
void err_clear(struct err *e);

static inline bool err_is_set(const struct err *e)
{
	return e->text[0] != '\0';
}

/* The text; strerror(-no) where `e` has none or is NULL: a function failed and set none. */
const char *err_text(const struct err *e, int no);

#endif
