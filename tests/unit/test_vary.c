/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists and ranges of values, and the points that they make: src/plan/vary.c.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/plan/option.h"
#include "xdd/plan/runs.h"

/* The values of `text` with blanks between them, or "!" and what is wrong. */
static const char *list(enum option_type type, const char *text, char *buf, size_t size)
{
	const struct option row = { .type = type };
	struct arena *arena = arena_new();
	const char *const *values;
	const char *why;
	size_t n, len = 0;

	assert_non_null(arena);
	why = vary_list(arena, &row, text, &values, &n);
	*buf = '\0';
	if (why)
		snprintf(buf, size, "!%s", why);
	for (size_t i = 0; i < n && !why; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? " " : "", values[i]);
	arena_free(arena);
	return buf;
}

TEST(test_lists)
{
	static const struct {
		enum option_type type;
		const char *text, *values;
	} cases[] = {
		{ OPT_U64, "1", "1" },
		{ OPT_U64, "1,2,4..64x2", "1 2 4 8 16 32 64" },
		{ OPT_U64, "1..9+2", "1 3 5 7 9" },
		{ OPT_U64, "1..8+3", "1 4 7" },
		{ OPT_U64, "3..5", "3 4 5" },
		{ OPT_U64, "7..7", "7" },
		{ OPT_U64, "5..100x3", "5 15 45" },
		{ OPT_U64, "1k..4kx2", "1k 2k 4k" },
		{ OPT_U64, "500..2kx2",
		  "!the numbers of a range need the same unit, or each a unit" },
		{ OPT_BLOCKS, "4k,64k,1M", "4k 64k 1M" },
		{ OPT_BLOCKS, "4k..64kx4", "4k 16k 64k" },
		{ OPT_BLOCKS, "256k..2Mx2", "256k 512k 1M 2M" },
		{ OPT_BLOCKS, "1M..2M+512k", "1M 1536k 2M" },
		{ OPT_BLOCKS, "10%..30%+10%", "10% 20% 30%" },
		{ OPT_BLOCKS, "0B..1k+512B", "0B 512B 1k" },
		{ OPT_SIZE, "18446744073709551615..18446744073709551615",
		  "!expected a range such as 1..8, 1..64x2 or 0..1M+64k" },
		{ OPT_SECONDS, "0.5..2+0.5", "0.5 1 1.5 2" },
		{ OPT_SECONDS, "0.25..1x2", "0.25 0.5 1" },
		{ OPT_SECONDS, "1ms..1sx10", "1ms 10ms 100ms 1s" },
		{ OPT_CHOICE, "read,write", "read write" },
		{ OPT_CHOICE, "read..write", "read..write" },
		{ OPT_U64, "", "!expected a value before and after each comma" },
		{ OPT_U64, "1,", "!expected a value before and after each comma" },
		{ OPT_U64, ",1", "!expected a value before and after each comma" },
		{ OPT_U64, "1,,2", "!expected a value before and after each comma" },
		{ OPT_U64, "1,2,1", "!1 is in the list twice" },
		{ OPT_U64, "8..1", "!a range begins with its smaller number" },
		{ OPT_U64, "1..8x1", "!expected a whole number from 2 after the x of a range" },
		{ OPT_U64, "1..8x2.5", "!expected a whole number from 2 after the x of a range" },
		{ OPT_U64, "0..8x2", "!a range with a factor begins above 0" },
		{ OPT_U64, "1..8+0", "!the step of a range is above 0" },
		{ OPT_U64, "1..", "!expected a range such as 1..8, 1..64x2 or 0..1M+64k" },
		{ OPT_U64, "..8", "!expected a range such as 1..8, 1..64x2 or 0..1M+64k" },
		{ OPT_U64, "1..8x", "!expected a range such as 1..8, 1..64x2 or 0..1M+64k" },
		{ OPT_U64, "a..b", "!expected a range such as 1..8, 1..64x2 or 0..1M+64k" },
		{ OPT_U64, "1..1000000", "!has more than 10000 values" },
		{ OPT_BLOCKS, "4k..64k",
		  "4k 5k 6k 7k 8k 9k 10k 11k 12k 13k 14k 15k 16k 17k 18k 19k 20k 21k 22k 23k 24k "
		  "25k 26k 27k 28k 29k 30k 31k 32k 33k 34k 35k 36k 37k 38k 39k 40k 41k 42k 43k 44k "
		  "45k 46k 47k 48k 49k 50k 51k 52k 53k 54k 55k 56k 57k 58k 59k 60k 61k 62k 63k 64k" },
		{ OPT_BLOCKS, "4k..1M",
		  "!the numbers of a range need the same unit, or a step or factor" },
	};
	char buf[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(list(cases[i].type, cases[i].text, buf, sizeof(buf)),
				    cases[i].values);
}

/* All points of a command line, one a line. */
static const char *points(const char *line, const char *extra, bool pairs, char *buf, size_t size)
{
	struct arena *arena = arena_new();
	char *copy, *save = NULL;
	const char *words[64], *out[96];
	size_t n = 0, len = 0;
	struct vary v;

	assert_non_null(arena);
	copy = arena_strdup(arena, line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		words[n++] = word;
	*buf = '\0';
	if (vary_read(arena, "sweep", words, n, &extra, extra ? 1 : 0, pairs, &v)) {
		arena_free(arena);
		return "refused";
	}
	for (size_t i = 0; i < v.n_points; i++) {
		const size_t n_out = vary_words(&v, i, NULL, out);

		assert_true(n_out < vary_room(&v, NULL));
		for (size_t k = 1; k < n_out; k++)
			len += (size_t)snprintf(buf + len, size - len, "%s%s", out[k],
						k + 1 < n_out ? " " : "\n");
	}
	for (size_t i = 0; i < v.n_axes; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? "|" : "",
					v.axes[i].name);
	arena_free(arena);
	return buf;
}

TEST(test_points)
{
	static const struct {
		const char *line, *extra, *points;
	} cases[] = {
		{ "-op read -target a,b", NULL, "-op read -target a,b\n" },
		{ "-op read,write -qd 1,2", NULL,
		  "-op read -qd 1\n-op read -qd 2\n-op write -qd 1\n-op write -qd 2\nop|queuedepth" },
		{ "--op=read,write", NULL, "--op read\n--op write\nop" },
		{ "-ioengine psync,libaio", NULL, "-ioengine psync\n-ioengine libaio\nioengine" },
		{ "-queuedepth target 1 2,4", NULL,
		  "-queuedepth target 1 2\n-queuedepth target 1 4\nqueuedepth target 1" },
		{ "-seek random range 1g,2g seed 5", NULL,
		  "-seek random range 1g seed 5\n-seek random range 2g seed 5\nseek range" },
		{ "-throttle ops 100,200", NULL,
		  "-throttle ops 100\n-throttle ops 200\nthrottle ops" },
		{ "-rwratio 0,50..100+25 random", NULL,
		  "-rwratio 0 random\n-rwratio 50 random\n-rwratio 75 random\n-rwratio 100 "
		  "random\nrwratio" },
		{ "-targets 1,2 null null", NULL,
		  "-targets 1 null null\n-targets 2 null null\ntargets" },
		{ "-targets -1,-2 null", NULL, "-targets -1 null\n-targets -2 null\ntargets" },
		{ "-processor 0,1 -id a,b", NULL, "-processor 0,1 -id a,b\n" },
		{ "-op read", "processor=|0,1|2",
		  "-op read -processor 0,1\n-op read -processor 2\n"
		  "processor" },
		{ "-op read", "dio", "-op read\n-op read -dio\ndio" },
		{ "-op read", "seek=sequential,random range 1g",
		  "-op read -seek sequential\n-op read -seek random range 1g\nseek" },
		{ "-op read", "queuedepth=1..3,8..16x2",
		  "-op read -queuedepth 1\n-op read -queuedepth 2\n-op read -queuedepth 3\n-op read "
		  "-queuedepth 8\n-op read -queuedepth 16\nqueuedepth" },
		{ "-op read", "queuedepth target 1=1..2",
		  "-op read -queuedepth target 1 1\n-op read -queuedepth target 1 2\n"
		  "queuedepth target 1" },
		{ "-op read", "seek=sequential,random range 1g..2gx2 seed 5",
		  "-op read -seek sequential\n-op read -seek random range 1g seed 5\n-op read -seek "
		  "random range 2g seed 5\nseek" },
		{ "-op read", "throttle=|ops 1..2|bw 0.5..1+0.5",
		  "-op read -throttle ops 1\n-op read -throttle ops 2\n-op read -throttle bw 0.5\n"
		  "-op read -throttle bw 1\nthrottle" },
		{ "-op read", "target=../a,..",
		  "-op read -target ../a\n-op read -target ..\ntarget" },
		{ "-op read", "queuedepth=4..1", "refused" },
		{ "-op read", "queuedepth=1..4,2", "refused" },
		{ "-op read", "queuedepth=1..20000", "refused" },
		{ "-qd 1,2 -queuedepth 4,8", NULL, "refused" },
		{ "-qd 1,,2", NULL, "refused" },
		{ "-op read", "nonsense=1,2", "refused" },
		{ "-op read", "queuedepth", "refused" },
	};
	char buf[1024];

	log_hold();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(points(cases[i].line, cases[i].extra, false, buf, sizeof(buf)),
				    cases[i].points);
	log_drop(0);
	log_release();
}

/* A column shows a value as its option has it. */
TEST(test_texts)
{
	static const char *const texts[] = { "random range 1g", "random range 2g", "sequential" };
	const char *extra = "seek=random range 1g..2gx2,sequential", *word = "-dio";
	struct arena *arena = arena_new();
	struct vary v;

	assert_int_equal(vary_read(arena, "sweep", &word, 1, &extra, 1, false, &v), XDD_OK);
	assert_int_equal(v.n_points, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(v.axes[0].values[i].text, texts[i]);
	arena_free(arena);
}

/* The same points with -vary and without: ranges of every kind, and 100 values. */
TEST(test_same_ranges)
{
	static const char *const lists[] = { "1..100", "1..64x2", "1..9+4,16", "1k..4kx2" };
	char plain[4096], varied[4096], line[64], extra[64];

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		snprintf(line, sizeof(line), "-op read -queuedepth %s", lists[i]);
		snprintf(extra, sizeof(extra), "queuedepth=%s", lists[i]);
		assert_string_equal(points(line, NULL, false, plain, sizeof(plain)),
				    points("-op read", extra, false, varied, sizeof(varied)));
	}
}

TEST(test_pairs)
{
	char buf[256];

	assert_string_equal(points("-qd 1,2 -op read,write", NULL, true, buf, sizeof(buf)),
			    "-qd 1 -op read\n-qd 2 -op write\nqueuedepth|op");
	log_hold();
	assert_string_equal(points("-qd 1,2,3 -op read,write", NULL, true, buf, sizeof(buf)),
			    "refused");
	log_drop(0);
	log_release();
}

RUN_TESTS(NULL, NULL)
