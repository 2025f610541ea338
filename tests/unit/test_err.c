/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors with their text: src/base/err.c.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/err.h"

TEST(test_set)
{
	struct err e = { 0 };

	assert_int_equal(err_set(&e, -EINVAL, "port %u: expected %s", 0, "1 to 65535"), -EINVAL);
	assert_int_equal(e.no, -EINVAL);
	assert_string_equal(e.text, "port 0: expected 1 to 65535");
	/* An exit status is a number as well, and the later error replaces the earlier one. */
	assert_int_equal(err_set(&e, 106, "no source"), 106);
	assert_int_equal(e.no, 106);
	assert_string_equal(e.text, "no source");
	err_clear(&e);
	assert_int_equal(e.no, 0);
	assert_string_equal(e.text, "");
}

TEST(test_sys)
{
	char expected[ERR_TEXT_SIZE];
	struct err e = { 0 };

	assert_int_equal(err_sys(&e, -EADDRINUSE, "cannot listen on port %d", 7), -EADDRINUSE);
	assert_int_equal(e.no, -EADDRINUSE);
	snprintf(expected, sizeof(expected), "cannot listen on port 7 (%s)", strerror(EADDRINUSE));
	assert_string_equal(e.text, expected);
	assert_int_equal(err_errno(&e, -ENOMEM), -ENOMEM);
	assert_int_equal(e.no, -ENOMEM);
	assert_string_equal(e.text, strerror(ENOMEM));
}

/* A function may fail without a text. */
TEST(test_text)
{
	struct err e = { 0 };

	assert_string_equal(err_text(&e, -EACCES), strerror(EACCES));
	assert_string_equal(err_text(NULL, -EACCES), strerror(EACCES));
	assert_false(err_is_set(&e));
	err_set(&e, -EIO, "the key is wrong");
	assert_string_equal(err_text(&e, -EACCES), "the key is wrong");
	assert_true(err_is_set(&e));
}

TEST(test_long)
{
	char text[ERR_TEXT_SIZE + 100];
	struct err e = { 0 };

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(err_set(&e, -EINVAL, "%s", text), -EINVAL);
	assert_int_equal(strlen(e.text), ERR_TEXT_SIZE - 1);
	assert_int_equal(err_sys(&e, -EIO, "%s", text), -EIO);
	assert_int_equal(strlen(e.text), ERR_TEXT_SIZE - 1);
	text[ERR_TEXT_SIZE - 3] = '\0';
	assert_int_equal(err_sys(&e, -EIO, "%s", text), -EIO);
	assert_string_equal(e.text + ERR_TEXT_SIZE - 4, "x (");
}

TEST(test_around)
{
	char text[ERR_TEXT_SIZE];
	struct err e = { 0 };

	err_set(&e, -EIO, "expected %s", "a number");
	assert_int_equal(err_prefix(&e, "line %d: ", 3), -EIO);
	assert_int_equal(err_add(&e, "; see %s", "-help"), -EIO);
	assert_string_equal(e.text, "line 3: expected a number; see -help");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(err_add(&e, "%s", text), -EIO);
	assert_int_equal(strlen(e.text), ERR_TEXT_SIZE - 1);
	assert_int_equal(err_prefix(&e, "%s", text), -EIO);
	assert_string_equal(e.text, text);
}

TEST(test_nothing_to_set)
{
	assert_int_equal(err_set(NULL, -EINVAL, "%d", 1), -EINVAL);
	assert_int_equal(err_sys(NULL, -EIO, "%d", 1), -EIO);
	assert_int_equal(err_errno(NULL, -ENOMEM), -ENOMEM);
	err_clear(NULL);
}

RUN_TESTS(NULL, NULL)
