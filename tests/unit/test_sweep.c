/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pure parts of a sweep: the order of its points, when a point is done, its journal, and the
 * steady state by rounds.
 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "commands/sweep.h"
#include "xdd/base/codec.h"
#include "xdd/base/memory.h"
#include "xdd/report/sweep.h"
#include "xdd/stat/stats.h"

#define POINTS 6

/* ---- the order ---- */

TEST(test_order)
{
	size_t a[100], b[100], seen[100];
	unsigned first[POINTS] = { 0 };

	sweep_shuffle(7, 3, a, 100);
	sweep_shuffle(7, 3, b, 100);
	assert_memory_equal(a, b, sizeof(a));
	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < 100; i++)
		seen[a[i]]++;
	for (int i = 0; i < 100; i++)
		assert_int_equal(seen[i], 1);
	sweep_shuffle(7, 4, b, 100);
	assert_memory_not_equal(a, b, sizeof(a));
	sweep_shuffle(8, 3, b, 100);
	assert_memory_not_equal(a, b, sizeof(a));
	/* Each point is first as often as any other: 6000 rounds, five standard deviations. */
	for (uint64_t round = 1; round <= 6000; round++) {
		sweep_shuffle(1, round, a, POINTS);
		first[a[0]]++;
	}
	for (int i = 0; i < POINTS; i++)
		assert_in_range(first[i], 1000 - 145, 1000 + 145);
}

/* ---- the end of a point ---- */

static struct sweep_round round_of(uint64_t point, uint64_t round, double value)
{
	struct sweep_round r = { .point = point,
				 .round = round,
				 .start_ns = 1000 * round,
				 .elapsed_ns = 100000000,
				 .ops = 5,
				 .bytes = 4096,
				 .known = true,
				 .bound = RESULT_BOUND_DEVICE };

	for (int i = 0; i < FIGURE_COUNT; i++)
		r.values[i] = value + i;
	return r;
}

/* Rounds of a point with values 100 - `scatter` and 100 + `scatter`, two of each in turns. */
static uint64_t rounds_of(struct sweep_results *r, double scatter)
{
	const struct vary v = { .n_points = 1 };
	uint64_t n = 0;

	r->vary = &v;
	assert_int_equal(sweep_results_begin(r), 0);
	while (sweep_wants(r, &r->points[0])) {
		const double value = n % 4 < 2 ? 100 - scatter : 100 + scatter;
		const struct sweep_round round = round_of(0, ++n, value);

		assert_int_equal(sweep_results_add(r, &round), 0);
	}
	sweep_results_free(r);
	return n;
}

TEST(test_end_of_point)
{
	struct sweep_results fixed = { .least = 4, .most = 4 };
	struct sweep_results time = { .least = 2, .most = 100, .each_ns = 1000000000 };
	struct sweep_results until = { .least = 18, .most = 100, .until_percent = 3 };
	struct sweep_results known = until, wide = until, both = until;

	assert_int_equal(rounds_of(&fixed, 50), 4);
	assert_int_equal(rounds_of(&time, 50), 10);
	assert_int_equal(rounds_of(&known, 0.1), 18);
	assert_in_range(rounds_of(&until, 8), 19, 99);
	assert_int_equal(rounds_of(&wide, 90), 100);
	both.each_ns = 3000000000;
	assert_int_equal(rounds_of(&both, 90), 30);
}

TEST(test_failed_point)
{
	const struct vary v = { .n_points = 1 };
	struct sweep_results r = { .vary = &v, .least = 3, .most = 3 };
	struct sweep_round round = { .round = 1, .status = XDD_TARGET_FAILED };

	assert_int_equal(sweep_results_begin(&r), 0);
	assert_int_equal(sweep_results_add(&r, &round), 0);
	assert_false(sweep_wants(&r, &r.points[0]));
	r.points[0].status = XDD_IO_ERROR;
	assert_true(sweep_wants(&r, &r.points[0]));
	sweep_results_free(&r);
}

/* ---- the journal ---- */

static void put_line(FILE *f, char *line)
{
	assert_non_null(line);
	fputs(line, f);
	free(line);
}

static char *journal(size_t *size)
{
	const struct sweep_journal header = {
		.words = "-op read \xc3\xa4", .seed = 5, .points = POINTS, .started_ns = 77
	};
	struct memstream m;

	assert_true(memstream_open(&m));
	put_line(m.f, sweep_journal_header(&header));
	for (uint64_t i = 0; i < 4; i++) {
		struct sweep_round round = round_of(i % POINTS, 1 + i / POINTS, 1.5e9 + (double)i);

		round.findings = 5;
		if (i == 2)
			round.values[FIGURE_P99] = NAN;
		round.known = i != 3;
		round.responded = i == 1;
		round.values[FIGURE_RESPONSE_P99] = i == 1 ? 2.5 : 0;
		if (i == 2) {
			round.n_columns = 2;
			round.columns[0] = 0.125;
			round.columns[1] = NAN;
		}
		put_line(m.f, sweep_journal_round(&round));
	}
	assert_int_equal(memstream_close(&m), 0);
	*size = m.size;
	return m.text;
}

struct read_back {
	struct sweep_round rounds[16];
	size_t n;
};

static int take(void *arg, const struct sweep_round *round)
{
	struct read_back *b = arg;

	if (b->n == 16)
		return -ENOMEM;
	b->rounds[b->n++] = *round;
	return 0;
}

static int decode(const char *text, size_t size, struct read_back *b, size_t *whole, size_t *line)
{
	struct sweep_journal_lines lines = { .take = take, .arg = b };
	size_t used = 0;
	int err;

	b->n = 0;
	*whole = 0;
	do {
		err = sweep_journal_line(&lines, (const uint8_t *)text + *whole, size - *whole,
					 &used);
		*whole += err == 1 ? used : 0;
	} while (err == 1);
	*line = lines.line;
	if (!err && lines.header.words) {
		assert_true(sweep_journal_matches(&lines.header, "-op read \xc3\xa4"));
		assert_false(sweep_journal_matches(&lines.header, "-op write"));
		assert_int_equal(lines.header.seed, 5);
		assert_int_equal(lines.header.points, POINTS);
		assert_int_equal(lines.header.started_ns, 77);
	}
	free((char *)(uintptr_t)lines.header.words);
	return err ? err : lines.line ? 0 : -EBADMSG;
}

TEST(test_journal)
{
	size_t size, whole, line;
	char *text = journal(&size);
	struct read_back b;

	assert_int_equal(decode(text, size, &b, &whole, &line), 0);
	assert_int_equal(whole, size);
	assert_int_equal(b.n, 4);
	assert_int_equal(b.rounds[1].point, 1);
	assert_true(fabs(b.rounds[1].values[0] - 1500000001) < 1e-6);
	assert_int_equal(b.rounds[1].findings, 5);
	assert_int_equal(b.rounds[1].bound, RESULT_BOUND_DEVICE);
	assert_true(isnan(b.rounds[2].values[FIGURE_P99]));
	assert_false(b.rounds[3].known);
	assert_int_equal(b.rounds[1].n_columns, 0);
	assert_int_equal(b.rounds[2].n_columns, 2);
	assert_true(fabs(b.rounds[2].columns[0] - 0.125) < 1e-9 && isnan(b.rounds[2].columns[1]));
	assert_false(b.rounds[0].responded);
	assert_true(b.rounds[1].responded && b.rounds[1].values[FIGURE_RESPONSE_P99] > 2.4);
	free(text);
}

/* The result of a journal of two points with this round only. */
static int decode_round(const struct sweep_round *round)
{
	const struct sweep_journal header = {
		.words = "-op read \xc3\xa4", .seed = 5, .points = POINTS, .started_ns = 77
	};
	size_t whole, line;
	struct memstream m;
	struct read_back b;
	int err;

	assert_true(memstream_open(&m));
	put_line(m.f, sweep_journal_header(&header));
	put_line(m.f, sweep_journal_round(round));
	assert_int_equal(memstream_close(&m), 0);
	err = decode(m.text, m.size, &b, &whole, &line);
	assert_int_equal(b.n, !err);
	if (!err)
		assert_true(
			b.rounds[0].point == round->point && b.rounds[0].round == round->round &&
			b.rounds[0].bound == round->bound && b.rounds[0].status == round->status);
	free(m.text);
	return err;
}

TEST(test_journal_limits)
{
	struct sweep_round round = round_of(POINTS - 1, 1, 1);

	round.bound = RESULT_BOUNDS - 1;
	round.status = XDD_MISCOMPARE;
	assert_int_equal(decode_round(&round), 0);
	round.point = POINTS;
	assert_int_equal(decode_round(&round), -EBADMSG);
	round = round_of(0, 0, 1);
	assert_int_equal(decode_round(&round), -EBADMSG);
	round = round_of(0, 1, 1);
	round.bound = (enum result_bound)RESULT_BOUNDS;
	assert_int_equal(decode_round(&round), -EBADMSG);
	round = round_of(0, 1, 1);
	round.status = XDD_MISCOMPARE + 1;
	assert_int_equal(decode_round(&round), -EBADMSG);
}

/* The result of a header and a round, one of which has another value of `key`; NULL: without it. */
static int decode_changed(bool in_header, const char *key, const char *value, struct read_back *b)
{
	const struct sweep_journal header = {
		.words = "-op read \xc3\xa4", .seed = 5, .points = POINTS, .started_ns = 77
	};
	const struct sweep_round round = { .point = 1,
					   .round = 2,
					   .start_ns = 3,
					   .elapsed_ns = 4,
					   .ops = 5,
					   .bytes = 6,
					   .errors = 7,
					   .miscompares = 8,
					   .max_ns = 9,
					   .findings = 10,
					   .known = true,
					   .responded = true,
					   .n_columns = 1,
					   .columns = { -0.5 } };
	char *lines[2] = { sweep_journal_header(&header), sweep_journal_round(&round) };
	json_t *o = json_loads(lines[!in_header] + SWEEP_JOURNAL_DIGITS + 1, 0, NULL);
	struct sweep_journal_lines read = { .take = take, .arg = b };
	int err = 1;

	assert_non_null(o);
	assert_non_null(json_object_get(o, key));
	if (value)
		json_object_set_new(o, key, json_loads(value, JSON_DECODE_ANY, NULL));
	else
		json_object_del(o, key);
	free(lines[!in_header]);
	lines[!in_header] = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	b->n = 0;
	for (size_t i = 0; i < 2; i++) {
		const size_t at = i == !in_header ? 0 : SWEEP_JOURNAL_DIGITS + 1;
		const size_t length = strcspn(lines[i] + at, "\n");
		char *line;
		size_t used;

		assert_true(asprintf(&line, "%08x %.*s\n", crc32c(lines[i] + at, length),
				     (int)length, lines[i] + at) > 0);
		if (err == 1)
			err = sweep_journal_line(&read, (uint8_t *)line, strlen(line), &used);
		free(line);
		free(lines[i]);
	}
	free((char *)(uintptr_t)read.header.words);
	return err;
}

TEST(test_journal_members)
{
	static const char *const counts[] = { "point",	     "round", "start",	  "elapsed",
					      "ops",	     "bytes", "max",	  "errors",
					      "miscompares", "bound", "findings", "status" };
	static const struct {
		bool in_header;
		const char *key, *value;
		bool good;
	} rows[] = {
		{ false, "point", "5", true },
		{ false, "point", "6", false },
		{ false, "round", "1", true },
		{ false, "round", "0", false },
		{ false, "findings", "4294967295", true },
		{ false, "findings", "4294967296", false },
		{ false, "bound", "7", true },
		{ false, "bound", "8", false },
		{ false, "status", "7", true },
		{ false, "status", "8", false },
		{ false, "values", "[]", true },
		{ false, "values", "[1]", false },
		{ false, "values", "null", false },
		{ false, "values", NULL, false },
		{ false, "responses", "[]", true },
		{ false, "responses", "[1]", false },
		{ false, "responses", "{}", false },
		{ false, "responses", NULL, false },
		{ false, "responses", "[0,null,null,null,null]", true },
		{ false, "responses", "[null,1,1,1,1]", false },
		{ false, "responses", "[-1,1,1,1,1]", false },
		{ false, "responses", "[1,1,1,1,\"x\"]", false },
		{ false, "responses", "[1e24,1,1,1,1]", true },
		{ false, "responses", "[1.1e24,1,1,1,1]", false },
		{ false, "columns", NULL, true },
		{ false, "columns", "[]", true },
		{ false, "columns", "5", false },
		{ false, "columns", "[null,-1e24]", true },
		{ false, "columns", "[-1.1e24]", false },
		{ false, "columns", "[\"x\"]", false },
		{ false, "columns", "[1,2,3,4,5,6,7,8]", true },
		{ false, "columns", "[1,2,3,4,5,6,7,8,9]", false },
		{ true, "format", "\"xdd other\"", false },
		{ true, "format", NULL, false },
		{ true, "words", "5", false },
		{ true, "version", "0", false },
		{ true, "version", "99", false },
		{ true, "seed", "-1", false },
		{ true, "points", "2", true },
		{ true, "points", "1", false }, /* the round is of the second */
		{ true, "points", "0", false },
		{ true, "points", "100000", true },
		{ true, "points", "100001", false },
		{ true, "started", "0.5", false },
	};
	struct read_back b;
	const struct sweep_round *r = b.rounds;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const int err = decode_changed(rows[i].in_header, rows[i].key, rows[i].value, &b);

		if (err != (rows[i].good ? 1 : -EBADMSG) || b.n != rows[i].good)
			fail_msg("%s: %s: %d", rows[i].key, rows[i].value ? rows[i].value : "-",
				 err);
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		assert_int_equal(decode_changed(false, counts[i], NULL, &b), -EBADMSG);
		assert_int_equal(decode_changed(false, counts[i], "-1", &b), -EBADMSG);
		assert_int_equal(decode_changed(false, counts[i], "\"1\"", &b), -EBADMSG);
	}
	assert_int_equal(decode_changed(false, "status", "6", &b), 1);
	assert_true(r->point == 1 && r->round == 2 && r->start_ns == 3 && r->elapsed_ns == 4);
	assert_true(r->ops == 5 && r->bytes == 6 && r->errors == 7 && r->miscompares == 8);
	assert_true(r->max_ns == 9 && r->findings == 10 && r->bound == 0 && r->status == 6);
	assert_true(r->known && r->responded && r->n_columns == 1 &&
		    fabs(r->columns[0] + 0.5) < 1e-9);
}

/* Cut to any length, it has the lines before that, and nothing else. */
TEST(test_torn)
{
	size_t size, whole, line;
	char *text = journal(&size);
	struct read_back b;

	for (size_t n = 0; n < size; n++) {
		size_t lines = 0, end = 0;
		int err;

		for (size_t i = 0; i < n; i++) {
			if (text[i] == '\n') {
				lines++;
				end = i + 1;
			}
		}
		err = decode(text, n, &b, &whole, &line);
		assert_int_equal(err, lines ? 0 : -EBADMSG);
		assert_int_equal(whole, end);
		assert_int_equal(b.n, lines ? lines - 1 : 0);
	}
	free(text);
}

/* No bit of a whole line can change unnoticed; one of a newline tears or joins lines. */
TEST(test_damage)
{
	size_t size, whole, line;
	char *text = journal(&size);
	struct read_back b;

	for (size_t i = 0; i < size; i++) {
		for (int bit = 0; bit < 8; bit++) {
			const bool last = i == size - 1;

			text[i] = (char)(text[i] ^ 1 << bit);
			if (last)
				assert_int_equal(decode(text, size, &b, &whole, &line), 0);
			else
				assert_int_equal(decode(text, size, &b, &whole, &line), -EBADMSG);
			text[i] = (char)(text[i] ^ 1 << bit);
		}
	}
	free(text);
}

/* ---- steady state ---- */

TEST(test_steady)
{
	static const double level[] = { 100, 100, 100, 100, 100 };
	/* The range is 20 %, and the line is level. */
	static const double range[] = { 110, 90, 100, 90, 110 };
	static const double beyond[] = { 110.1, 89.8, 100, 89.9, 110.2 };
	/* A line that rises by 10 %, and by a little more. */
	static const double rise[] = { 95, 97.5, 100, 102.5, 105 };
	static const double steep[] = { 94.9, 97.45, 100, 102.55, 105.1 };
	static const double settles[] = { 500, 300, 200, 150, 120, 110, 105, 103, 102, 101, 101 };
	struct stats_steady s;

	s = stats_steady(level, 4);
	assert_false(s.reached);
	assert_true(isnan(s.range));
	s = stats_steady(level, 5);
	assert_true(s.reached);
	assert_int_equal(s.after, 5);
	assert_true(stats_steady(range, 5).reached);
	assert_true(fabs(stats_steady(range, 5).range - 0.2) < 1e-12);
	assert_false(stats_steady(beyond, 5).reached);
	assert_true(stats_steady(rise, 5).reached);
	assert_true(fabs(stats_steady(rise, 5).slope - 0.1) < 1e-12);
	assert_false(stats_steady(steep, 5).reached);
	s = stats_steady(settles, 11);
	assert_true(s.reached);
	/* 120 110 105 103 102: the fit changes by 15 %; 110 105 103 102 101: by 8 %. */
	assert_int_equal(s.after, 10);
}

/* With a round that has no figures, `after` is the number of a round. */
TEST(test_steady_round)
{
	const struct vary v = { .n_points = 1 };
	struct sweep_results r = { .vary = &v };

	assert_int_equal(sweep_results_begin(&r), 0);
	for (uint64_t i = 1; i <= 6; i++) {
		struct sweep_round round = round_of(0, i, 100);

		round.known = i != 2;
		assert_int_equal(sweep_results_add(&r, &round), 0);
		assert_int_equal(sweep_steady(&r.points[0]).after, i == 6 ? 6 : 0);
	}
	sweep_results_free(&r);
}

/* ---- further columns ---- */

/* The mean is that of the rounds that have a value. */
TEST(test_columns)
{
	const struct vary v = { .n_points = 1 };
	struct sweep_results r = { .vary = &v, .least = 3, .most = 3 };
	const double x[] = { 1, NAN, 4, 4 };

	assert_int_equal(sweep_results_begin(&r), 0);
	assert_true(isnan(sweep_column_mean(&r, &r.points[0], 0).mean));
	for (uint64_t i = 0; i < 4; i++) {
		struct sweep_round round = round_of(0, i + 1, 100);

		round.n_columns = 1;
		round.columns[0] = x[i];
		assert_int_equal(sweep_results_add(&r, &round), 0);
	}
	assert_int_equal(sweep_column_mean(&r, &r.points[0], 0).n, 3);
	assert_true(fabs(sweep_column_mean(&r, &r.points[0], 0).mean - 3) < 1e-9);
	/* 3 values with a standard deviation of the square root of 3: Student's t is 4.3027. */
	assert_true(fabs(sweep_column_mean(&r, &r.points[0], 0).percent - 100 * 4.3027 / 3) < 0.01);
	assert_int_equal(sweep_column_mean(&r, &r.points[0], 1).n, 0);
	sweep_results_free(&r);
}

/* ---- seeds ---- */

/* Each round has the seed after the one before, below 2^31. */
TEST(test_round_seed)
{
	const struct sweep_results r = { .seed = 42 }, last = { .seed = INT32_MAX };

	assert_int_equal(sweep_round_seed(&r, 1), 43);
	assert_int_equal(sweep_round_seed(&r, 3), 45);
	assert_int_equal(sweep_round_seed(&last, 1), 0);
}

RUN_TESTS(NULL, NULL)
