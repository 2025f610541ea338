/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that stand in for others in a test say what they were called with, in one text.
 * assert_said() compares that and clears it. Not for more than one thread at a time.
 */
#ifndef TESTS_UNIT_SAID_H
#define TESTS_UNIT_SAID_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

__attribute__((unused)) static char said[8192];

__attribute__((format(printf, 1, 0), unused)) static void vsay(const char *fmt, va_list args)
{
	const size_t n = strlen(said);

	assert_in_range(vsnprintf(said + n, sizeof(said) - n, fmt, args), 0, sizeof(said) - n - 1);
}

__attribute__((format(printf, 1, 2), unused)) static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsay(fmt, args);
	va_end(args);
}

__attribute__((format(printf, 1, 0), unused)) static void vsay_line(const char *fmt, va_list args)
{
	vsay(fmt, args);
	say("\n");
}

__attribute__((format(printf, 1, 2), unused)) static void say_line(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsay_line(fmt, args);
	va_end(args);
}

__attribute__((unused)) static void assert_said(const char *text)
{
	assert_string_equal(said, text);
	said[0] = '\0';
}

#endif
