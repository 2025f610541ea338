/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as people write them: src/base/units.c.
 */
#include "unit.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>

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

static void check_bad(parse_fn *parse, const char *const *words)
{
	for (; *words; words++)
		check_cases(parse, (const struct parse_case[]){ { *words, -EINVAL, 0 }, { 0 } });
}

TEST(test_u64)
{
	static const struct parse_case cases[] = {
		{ "0", 0, 0 },
		{ "7", 0, 7 },
		{ "00042", 0, 42 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999999x", -EINVAL, 0 },
		{ 0 },
	};
	static const char *const bad[] = { "",	    " 1",  "1 ",       "-1",  "+1",  "0x10",
					   "4k",    "1.5", "1e3",      "abc", "0b1", "1,000",
					   "1_000", "5-6", "\xd9\xa3", NULL };

	check_cases(units_parse_u64, cases);
	check_bad(units_parse_u64, bad);
}

TEST(test_size)
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
		{ "4kb", 0, 4000 },
		{ "4kB", 0, 4000 },
		{ "4KiB", 0, 4096 },
		{ "4kib", 0, 4096 },
		{ "4Ki", 0, 4096 },
		{ "1MiB", 0, 1ull << 20 },
		{ "1MB", 0, 1000000 },
		{ "1Gib", 0, 1ull << 30 },
		{ "2GB", 0, 2000000000ull },
		{ "1TiB", 0, 1ull << 40 },
		{ "3tb", 0, 3000000000000ull },
		{ "512B", 0, 512 },
		{ "0.5G", 0, 1ull << 29 },
		{ ".5m", 0, 1ull << 19 },
		{ "1.5k", 0, 1536 },
		{ "1.0k", 0, 1024 },
		{ "0.3k", 0, 307 },
		{ "0.0001k", 0, 0 },
		{ "16777215.9999999T", 0, 18446744073709441665ull },
		{ "18446744073709551615.4B", -EINVAL, 0 },
		{ "18446744073709551.615kB", 0, UINT64_MAX },
		{ "18446744073709551.616kB", -ERANGE, 0 },
		{ "18446744073709551.6154kB", 0, UINT64_MAX },
		{ "18446744073709551.6155kB", -ERANGE, 0 },
		{ 0 },
	};
	static const char *const bad[] = { "k",	   "4kk",   "1.5", "1.0",  "1.5B", "4KiBs",
					   "4iB",  "4 KiB", "4.k", "1,5k", "4K/s", "50%",
					   "1e3k", "4p",    "4 k", "-4k",  "",	   NULL };

	check_cases(units_parse_size, cases);
	check_bad(units_parse_size, bad);
}

TEST(test_count)
{
	static const struct parse_case cases[] = {
		{ "0", 0, 0 },
		{ "42", 0, 42 },
		{ "1k", 0, 1000 },
		{ "1K", 0, 1000 },
		{ "10M", 0, 10000000 },
		{ "2g", 0, 2000000000ull },
		{ "1T", 0, 1000000000000ull },
		{ "1.5k", 0, 1500 },
		{ ".25M", 0, 250000 },
		{ "1.2340k", 0, 1234 },
		{ "0.0000000000000000001k", -EINVAL, 0 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "18446744073709551.615k", 0, UINT64_MAX },
		{ "18446744073709551.616k", -ERANGE, 0 },
		{ 0 },
	};
	static const char *const bad[] = { "1.2345k", "0.0001k", "1.5",	 "1.0", "1kB", "1Ki",
					   "1B",      "k",	 "-1k",	 "1%",	"+5",  " 5",
					   "5 ",      "1e3",	 "0x10", "inf", ".",   "4KiB",
					   "1,000",   "",	 NULL };

	check_cases(units_parse_count, cases);
	check_bad(units_parse_count, bad);
}

static int parse_mib(const char *word, uint64_t *bytes)
{
	return units_parse_amount(word, 1ull << 20, bytes);
}

TEST(test_amount)
{
	static const struct parse_case cases[] = {
		{ "16", 0, 16ull << 20 },
		{ "0.5", 0, 1ull << 19 },
		{ "1.25", 0, 1310720 },
		{ "16M", 0, 16ull << 20 },
		{ "16MB", 0, 16000000 },
		{ "1G", 0, 1ull << 30 },
		{ "512B", 0, 512 },
		{ "17592186044415", 0, 17592186044415ull << 20 },
		{ "17592186044416", -ERANGE, 0 },
		{ 0 },
	};
	static const char *const bad[] = { "16x", "50%", "", NULL };

	check_cases(parse_mib, cases);
	check_bad(parse_mib, bad);
}

TEST(test_percent)
{
	static const struct parse_case cases[] = {
		{ "0", 0, 0 },
		{ "70", 0, 70000000 },
		{ "70%", 0, 70000000 },
		{ "0.000001%", 0, 1 },
		{ "33.3333335", 0, 33333334 },
		{ "100%", 0, 100000000 },
		{ "100.0", 0, 100000000 },
		{ "100.000001", -ERANGE, 0 },
		{ "101%", -ERANGE, 0 },
		{ 0 },
	};
	static const char *const bad[] = { "70%%", "70 %", "%", "-1%", "1k", "", NULL };

	check_cases(units_parse_percent, cases);
	check_bad(units_parse_percent, bad);
}

static int parse_megabytes(const char *word, double *per_second)
{
	return units_parse_byte_rate(word, 1e6, per_second);
}

TEST(test_rates_and_percentages)
{
	static const struct {
		int (*parse)(const char *word, double *value);
		const char *word;
		int ret;
		double value;
	} cases[] = {
		{ units_parse_op_rate, "200", 0, 200 },
		{ units_parse_op_rate, "0.5", 0, 0.5 },
		{ units_parse_op_rate, "10k", 0, 10000 },
		{ units_parse_op_rate, "1.5M", 0, 1500000 },
		{ units_parse_op_rate, "10k/s", 0, 10000 },
		{ units_parse_op_rate, "10/s", 0, 10 },
		{ units_parse_op_rate, "500iops", 0, 500 },
		{ units_parse_op_rate, "2.5kIOPS", 0, 2500 },
		{ units_parse_op_rate, "10kops/s", 0, 10000 },
		{ units_parse_op_rate, "10ops", 0, 10 },
		{ units_parse_op_rate, "iops", -EINVAL, 0 },
		{ units_parse_op_rate, "10opsops", -EINVAL, 0 },
		{ units_parse_op_rate, "10kkkkiops/s", -EINVAL, 0 },
		{ units_parse_op_rate, "10kB", -EINVAL, 0 },
		{ units_parse_op_rate, "10k/m", -EINVAL, 0 },
		{ units_parse_op_rate, "/s", -EINVAL, 0 },
		{ parse_megabytes, "20", 0, 20e6 },
		{ parse_megabytes, "0.25", 0, 250000 },
		{ parse_megabytes, "10M", 0, 10485760 },
		{ parse_megabytes, "10MB", 0, 10e6 },
		{ parse_megabytes, "10MB/s", 0, 10e6 },
		{ parse_megabytes, "10MiB/s", 0, 10485760 },
		{ parse_megabytes, "0.5G", 0, 536870912 },
		{ parse_megabytes, "500B/s", 0, 500 },
		{ parse_megabytes, "10/s", -EINVAL, 0 },
		{ parse_megabytes, "10MB/", -EINVAL, 0 },
		{ parse_megabytes, "10MBps", -EINVAL, 0 },
		{ parse_megabytes, "10%", -EINVAL, 0 },
		{ parse_megabytes, "10MiBMiBMiB/s", -EINVAL, 0 },
		{ units_parse_percentage, "0", 0, 0 },
		{ units_parse_percentage, "62.5%", 0, 62.5 },
		{ units_parse_percentage, "100", 0, 100 },
		{ units_parse_percentage, "100.000001", -ERANGE, 0 },
		{ units_parse_percentage, "1k", -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double value = -1, want = cases[i].ret ? -1 : cases[i].value;
		int ret = cases[i].parse(cases[i].word, &value);

		if (ret != cases[i].ret || value < want || value > want)
			fail_msg("\"%s\": %d, %g", cases[i].word, ret, value);
	}
}

TEST(test_has_suffix)
{
	assert_true(units_has_suffix("4k"));
	assert_true(units_has_suffix("0.5GiB"));
	assert_true(units_has_suffix("70%"));
	assert_false(units_has_suffix("4096"));
	assert_false(units_has_suffix("0.5"));
	assert_false(units_has_suffix("k"));
	assert_false(units_has_suffix(""));
}

/* Every value, written in any unit that divides it, is read as it was. */
TEST(test_round_trips)
{
	static const struct {
		const char *suffix;
		uint64_t unit;
	} units[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "k", 1024 },
		{ "KiB", 1024 },
		{ "kB", 1000 },
		{ "M", 1ull << 20 },
		{ "MB", 1000000 },
		{ "MiB", 1ull << 20 },
		{ "GiB", 1ull << 30 },
		{ "GB", 1000000000 },
		{ "T", 1ull << 40 },
		{ "TB", 1000000000000ull },
	};
	uint64_t seed = 72058, value;
	char word[64];

	for (unsigned i = 0; i < 20000; i++) {
		size_t u = i % (sizeof(units) / sizeof(units[0]));
		uint64_t number;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		number = (seed >> (seed % 64)) / units[u].unit;
		snprintf(word, sizeof(word), "%llu%s", (unsigned long long)number, units[u].suffix);
		assert_int_equal(units_parse_size(word, &value), 0);
		if (value != number * units[u].unit)
			fail_msg("\"%s\": %llu", word, (unsigned long long)value);
		snprintf(word, sizeof(word), "%llu.%03llu", (unsigned long long)number / 1000,
			 (unsigned long long)number % 1000);
		assert_int_equal(units_parse_amount(word, 1000, &value), 0);
		assert_true(value == number);
	}
}

/* Where the decimal point is a comma, if the machine has such a locale. */
TEST(test_locale)
{
	static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8" };
	uint64_t bytes = 0;
	double value = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		setlocale(LC_ALL, names[i]);
		assert_int_equal(units_parse_real("2.5", &value), 0);
		assert_true(value == 2.5);
		assert_int_equal(units_parse_real("2,5", &value), -EINVAL);
		assert_int_equal(units_parse_size("1.5kIb", &bytes), 0);
		assert_true(bytes == 1536);
	}
	setlocale(LC_ALL, "C");
}

TEST(test_seconds)
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
		{ "1min", 0, 60ull * NS_PER_SEC },
		{ "0.5min", 0, 30ull * NS_PER_SEC },
		{ "10sec", 0, 10ull * NS_PER_SEC },
		{ "1.5h", 0, 5400ull * NS_PER_SEC },
		{ "0.4ns", 0, 1 },
		{ "0.0ns", 0, 0 },
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
		{ 0 },
	};
	static const char *const bad[] = { "1mins", "1M",  "",	 ".",	"5.",  "5.s", "s",
					   "-1",    "1d",  "1S", "1 s", "1e3", "0x1", "1,5",
					   "inf",   "nan", "+1", " 1",	NULL };

	check_cases(units_parse_seconds, cases);
	check_bad(units_parse_seconds, bad);
}

TEST(test_real)
{
	static const struct {
		const char *word;
		double value;
	} good[] = { { "30.2", 30.2 }, { ".5", 0.5 }, { "7", 7 }, { "0", 0 }, { "007.250", 7.25 } };
	static const char *const bad[] = { "",	  ".",	 "7.",	"-1", "+1", "1e3",   "0x1p3",
					   "inf", "nan", "1,5", " 1", "1 ", "1.2.3", "5%" };
	char huge[400];
	double value;

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

TEST(test_size_text)
{
	char buf[32];

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

RUN_TESTS(NULL, NULL)
