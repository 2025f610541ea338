/*
 * Numbers as people write them: src/base/units.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "xdd/base/nstime.h"
#include "xdd/base/units.h"

#define UNTOUCHED 0x5a5a5a5a5a5a5a5aull

typedef int parse_fn(const char *word, uint64_t *value);

struct parse_case {
	const char *word;
	int ret;
	uint64_t value;
};

static void check_cases(parse_fn *parse, const struct parse_case *c)
{
	for (; c->word; c++) {
		uint64_t value = UNTOUCHED;
		int ret = parse(c->word, &value);

		if (ret != c->ret || value != (c->ret ? UNTOUCHED : c->value))
			fail_msg("\"%s\": %d, %llu", c->word, ret, (unsigned long long)value);
	}
}

static void test_u64(void **state)
{
	static const struct parse_case cases[] = {
		{ "0", 0, 0 },
		{ "7", 0, 7 },
		{ "00042", 0, 42 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999999x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "4k", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "abc", -EINVAL, 0 },
		{ 0 },
	};

	(void)state;
	check_cases(units_parse_u64, cases);
}

static void test_size(void **state)
{
	static const struct parse_case cases[] = {
		{ "0", 0, 0 },
		{ "512", 0, 512 },
		{ "4k", 0, 4096 },
		{ "4K", 0, 4096 },
		{ "3m", 0, 3ull << 20 },
		{ "3M", 0, 3ull << 20 },
		{ "2g", 0, 2ull << 30 },
		{ "2G", 0, 2ull << 30 },
		{ "1t", 0, 1ull << 40 },
		{ "16777215T", 0, 16777215ull << 40 },
		{ "16777216T", -ERANGE, 0 },
		{ "18014398509481983k", 0, 18014398509481983ull << 10 },
		{ "18014398509481984k", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "k", -EINVAL, 0 },
		{ "4kk", -EINVAL, 0 },
		{ "4kb", -EINVAL, 0 },
		{ "4p", -EINVAL, 0 },
		{ "4 k", -EINVAL, 0 },
		{ "-4k", -EINVAL, 0 },
		{ "1.5k", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ 0 },
	};

	(void)state;
	check_cases(units_parse_size, cases);
}

static void test_seconds(void **state)
{
	static const struct parse_case cases[] = {
		{ "0", 0, 0 },
		{ "1", 0, NS_PER_SEC },
		{ "2.5", 0, 2500000000ull },
		{ ".25", 0, 250000000ull },
		{ "3s", 0, 3000000000ull },
		{ "1.5ms", 0, 1500000 },
		{ "7us", 0, 7000 },
		{ "9ns", 0, 9 },
		{ "2m", 0, 120ull * NS_PER_SEC },
		{ "1.5h", 0, 5400ull * NS_PER_SEC },
		{ "0.4ns", 0, 0 },
		{ "0.5ns", 0, 1 },
		{ "0.0000000015", 0, 2 },
		{ "0.0000000014999", 0, 1 },
		/* beyond what a double can tell apart */
		{ "1234567890.123456789", 0, 1234567890123456789ull },
		{ "0.123456789123456789123456789", 0, 123456789 },
		{ "3155760000", 0, 3155760000ull * NS_PER_SEC },
		{ "3155760000.000000001", -ERANGE, 0 },
		{ "876600h", 0, 3155760000ull * NS_PER_SEC },
		{ "876601h", -ERANGE, 0 },
		{ "18446744073709551615h", -ERANGE, 0 },
		{ "18446744073709551616ns", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ ".", -EINVAL, 0 },
		{ "5.", -EINVAL, 0 },
		{ "5.s", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1d", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
		{ 0 },
	};

	(void)state;
	check_cases(units_parse_seconds, cases);
}

static void test_real(void **state)
{
	static const struct {
		const char *word;
		double value;
	} good[] = { { "30.2", 30.2 }, { ".5", 0.5 }, { "7", 7 }, { "0", 0 }, { "007.250", 7.25 } };
	static const char *const bad[] = { "",	  ".",	 "7.",	"-1", "+1", "1e3",   "0x1p3",
					   "inf", "nan", "1,5", " 1", "1 ", "1.2.3", "5%" };
	char huge[400];
	double value;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		value = -1;
		assert_int_equal(units_parse_real(good[i].word, &value), 0);
		assert_true(value == good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		value = -1;
		if (units_parse_real(bad[i], &value) != -EINVAL || value != -1)
			fail_msg("\"%s\" was taken", bad[i]);
	}
	for (size_t i = 0; i < sizeof(huge) - 1; i++)
		huge[i] = '9';
	huge[sizeof(huge) - 1] = '\0';
	value = -1;
	assert_int_equal(units_parse_real(huge, &value), -ERANGE);
	assert_true(value == -1);
}

static void test_size_text(void **state)
{
	char buf[32];

	(void)state;
	assert_string_equal(units_size_text(0, buf, sizeof(buf)), "0 bytes");
	assert_string_equal(units_size_text(1, buf, sizeof(buf)), "1 byte");
	assert_string_equal(units_size_text(1500, buf, sizeof(buf)), "1500 bytes");
	assert_string_equal(units_size_text(1024, buf, sizeof(buf)), "1 KiB");
	assert_string_equal(units_size_text(4096, buf, sizeof(buf)), "4 KiB");
	assert_string_equal(units_size_text(1536, buf, sizeof(buf)), "1536 bytes");
	assert_string_equal(units_size_text(3ull << 20, buf, sizeof(buf)), "3 MiB");
	assert_string_equal(units_size_text(1ull << 63, buf, sizeof(buf)), "8 EiB");
	assert_string_equal(units_size_text(UINT64_MAX, buf, sizeof(buf)),
			    "18446744073709551615 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),	  cmocka_unit_test(test_size),
		cmocka_unit_test(test_seconds),	  cmocka_unit_test(test_real),
		cmocka_unit_test(test_size_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
