/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An error with its text. Called by functions that leave the message to their caller: files,
 * sockets, copies, end-to-end runs, engines.
 */
#include "xdd/base/err.h"

#include <stdio.h>
#include <string.h>

#include "xdd/base/text.h"

void err_vset(struct err *e, int no, const char *fmt, va_list ap)
{
	if (!e)
		return;
	e->no = no;
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
}

int err_set(struct err *e, int no, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, no, fmt, ap);
	va_end(ap);
	return no;
}

int err_sys(struct err *e, int no, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return no;
	va_start(ap, fmt);
	err_vset(e, no, fmt, ap);
	va_end(ap);
	return err_add(e, " (%s)", strerror(-no));
}

int err_errno(struct err *e, int no)
{
	return err_set(e, no, "%s", strerror(-no));
}

int err_prefix(struct err *e, const char *fmt, ...)
{
	struct err whole;
	va_list ap;

	va_start(ap, fmt);
	err_vset(&whole, e->no, fmt, ap);
	va_end(ap);
	err_add(&whole, "%s", e->text);
	*e = whole;
	return e->no;
}

int err_add(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vadd(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return e->no;
}

void err_clear(struct err *e)
{
	if (!e)
		return;
	e->no = 0;
	e->text[0] = '\0';
}

const char *err_text(const struct err *e, int no)
{
	return e && err_is_set(e) ? e->text : strerror(-no);
}
