/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of processors and nodes, as the kernel writes them: src/base/sets.c.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "xdd/base/sets.h"

struct parse_case {
	const char *text;
	int ret;
	const char *again; /* how it is written back */
};

TEST(test_parse)
{
	static const struct parse_case cases[] = {
		{ "0", 0, "0" },
		{ "3", 0, "3" },
		{ "0-3,8", 0, "0-3,8" },
		{ "8,0-3", 0, "0-3,8" },
		{ "1,2,3,5", 0, "1-3,5" },
		{ "2-5,4-7", 0, "2-7" },
		{ "7,7,7", 0, "7" },
		{ "5-5", 0, "5" },
		{ "63,64,65", 0, "63-65" },
		{ "007", 0, "7" },
		{ "0-8191", 0, "0-8191" },
		{ "8191", 0, "8191" },
		{ "8192", -ERANGE, NULL },
		{ "0-8192", -ERANGE, NULL },
		{ "18446744073709551615", -ERANGE, NULL },
		{ "99999999999999999999", -ERANGE, NULL },
		{ "000000000000000000000000000000000000000000001", -EINVAL, NULL },
		{ "", -EINVAL, NULL },
		{ ",", -EINVAL, NULL },
		{ "1,", -EINVAL, NULL },
		{ ",1", -EINVAL, NULL },
		{ "1,,2", -EINVAL, NULL },
		{ "-", -EINVAL, NULL },
		{ "1-", -EINVAL, NULL },
		{ "-1", -EINVAL, NULL },
		{ "3-1", -EINVAL, NULL },
		{ "1-2-3", -EINVAL, NULL },
		{ "0x3", -EINVAL, NULL },
		{ " 1", -EINVAL, NULL },
		{ "1 ", -EINVAL, NULL },
		{ "1;2", -EINVAL, NULL },
		{ "a", -EINVAL, NULL },
		{ "+1", -EINVAL, NULL },
	};
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct parse_case *c = &cases[i];
		struct idset s = { 0 };
		int ret = idset_parse(&s, c->text);

		if (ret != c->ret ||
		    (c->again && strcmp(idset_text(&s, text, sizeof(text)), c->again) != 0))
			fail_msg("\"%s\": %d, \"%s\"", c->text, ret, text);
	}
}

TEST(test_members)
{
	struct idset s = { 0 };

	assert_int_equal(idset_count(&s), 0);
	assert_int_equal(idset_nth(&s, 0), -1);
	assert_int_equal(idset_parse(&s, "2,63-65,8191"), 0);
	assert_int_equal(idset_count(&s), 5);
	assert_true(idset_has(&s, 64));
	assert_false(idset_has(&s, 66));
	assert_false(idset_has(&s, IDSET_SIZE));
	assert_false(idset_has(&s, UINT32_MAX));
	assert_int_equal(idset_nth(&s, 0), 2);
	assert_int_equal(idset_nth(&s, 2), 64);
	assert_int_equal(idset_nth(&s, 4), 8191);
	assert_int_equal(idset_nth(&s, 5), -1);
	/* The words are the kernel's: bit n of the whole is number n. */
	assert_true(s.words[2 / IDSET_BITS_PER_WORD] & 1ul << 2);
}

TEST(test_sets)
{
	struct idset a = { 0 }, b = { 0 }, both;
	char text[64];

	idset_parse(&a, "0-3,100");
	idset_parse(&b, "2-5");
	both = a;
	idset_intersect(&both, &b);
	assert_string_equal(idset_text(&both, text, sizeof(text)), "2-3");
	idset_merge(&b, &a);
	assert_string_equal(idset_text(&b, text, sizeof(text)), "0-5,100");
	assert_int_equal(idset_first_outside(&a, &b), -1);
	assert_int_equal(idset_first_outside(&b, &a), 4);
	assert_int_equal(idset_first_outside(&a, &both), 0);
}

TEST(test_text)
{
	struct idset s = { 0 };
	char text[16];

	assert_string_equal(idset_text(&s, text, sizeof(text)), "none");
	idset_parse(&s, "1,3,5,7,9,11,13,15,17,19");
	assert_string_equal(idset_text(&s, text, sizeof(text)), "1,3,5,7,9,11...");
	assert_true(strlen(text) < sizeof(text));
}

RUN_TESTS(NULL, NULL)
