/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures, their table and their sums: src/stat/figures.c; figures of passes:
 * src/report/statistics.c.
 */
#include "unit.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/report/result.h"
#include "xdd/report/sweep.h"
#include "xdd/stat/figures.h"

/* Figures of a pass of two reads from `first_ns` to `last_ns`, without latencies. */
static struct figures pass_of(uint64_t first_ns, uint64_t last_ns)
{
	struct figures f;

	figures_init(&f);
	f.known = FIGURES_ALL & ~(unsigned)FIGURES_LATENCY;
	f.tally.ops[DIR_READ] = 2;
	f.tally.bytes[DIR_READ] = 8192;
	f.tally.first_issue_ns = first_ns;
	f.tally.last_done_ns = last_ns;
	f.extremes = (struct extremes){ .any = true,
					.of = { { .took_ns = last_ns }, { .took_ns = first_ns } } };
	f.cpu = (struct cpu_time){ .user_ns = 3, .sys_ns = 4 };
	f.cache = (struct cache_state){ .range_bytes = 8192,
					.resident_bytes = 4096,
					.hole_bytes = 512,
					.accuracy = CACHE_SAMPLED };
	f.wait_ns = 5;
	f.begin_ns = first_ns + 7000;
	f.finish_ns = last_ns + 7000;
	f.first_op_ns = first_ns + 1;
	f.lag_ns = 6;
	f.first_read_ns = first_ns + 2;
	f.last_write_ns = last_ns - first_ns;
	figures_set_elapsed(&f);
	return f;
}

TEST(test_elapsed)
{
	struct figures f = pass_of(100, 350);

	assert_int_equal(f.elapsed_ns, 250);
}

TEST(test_sum)
{
	struct figures sum, a = pass_of(100, 350), b = pass_of(1000, 1010);

	figures_init(&sum);
	assert_int_equal(sum.known, FIGURES_ALL);
	assert_int_equal(figures_add(&sum, &a), 0);
	assert_int_equal(figures_add(&sum, &b), 0);
	assert_int_equal(sum.known, FIGURES_ALL & ~(unsigned)FIGURES_LATENCY);
	assert_int_equal(sum.parts, 2);
	assert_int_equal(tally_ops(&sum.tally), 4);
	assert_int_equal(tally_bytes(&sum.tally), 16384);
	assert_int_equal(sum.extremes.of[EXTREMES_LONGEST].took_ns, 1010);
	assert_int_equal(sum.extremes.of[EXTREMES_SHORTEST].took_ns, 100);
	assert_int_equal(sum.cpu.user_ns, 6);
	assert_int_equal(sum.cpu.sys_ns, 8);
	assert_int_equal(sum.cache.range_bytes, 16384);
	assert_int_equal(sum.cache.resident_bytes, 8192);
	assert_int_equal(sum.cache.hole_bytes, 1024);
	assert_int_equal(sum.cache.accuracy, CACHE_SAMPLED);
	assert_int_equal(sum.wait_ns, 10);
	/*
	 * The elapsed times, and not the time from the first issue to the last completion of both.
	 */
	assert_int_equal(sum.elapsed_ns, 260);
	assert_int_equal(sum.begin_ns, 7100);
	assert_int_equal(sum.finish_ns, 8010);
	assert_int_equal(sum.first_op_ns, 101);
	assert_int_equal(sum.lag_ns, 12);
	assert_int_equal(sum.first_read_ns, 102);
	assert_int_equal(sum.last_write_ns, 250);
	figures_free(&sum);
}

/* The first read, or the begin, of a sum is that of a part that knows it. */
TEST(test_first_read)
{
	struct figures sum, a = pass_of(100, 350), b = pass_of(50, 60);

	a.first_read_ns = 0;
	a.begin_ns = a.finish_ns = 0;
	figures_init(&sum);
	figures_add(&sum, &a);
	assert_int_equal(sum.first_read_ns, 0);
	figures_add(&sum, &b);
	assert_int_equal(sum.first_read_ns, 52);
	assert_int_equal(sum.begin_ns, 7050);
	assert_int_equal(sum.finish_ns, 7060);
	figures_free(&sum);
}

/* The first part says when the first operation was complete, also where that is unknown. */
TEST(test_first_is_unknown)
{
	struct figures sum, a = pass_of(100, 350), b = pass_of(1000, 1010);

	a.first_op_ns = 0;
	figures_init(&sum);
	figures_add(&sum, &a);
	figures_add(&sum, &b);
	assert_int_equal(sum.first_op_ns, 0);
	figures_free(&sum);
}

TEST(test_latencies)
{
	struct figures sum, part;
	struct histogram h = { 0 };
	struct histogram_view v;

	assert_int_equal(histogram_init(&h, 1), 0);
	histogram_add(&h, 1000);
	histogram_add(&h, 3000);
	figures_init(&sum);
	figures_init(&part);
	histogram_sum_add_live(&part.latency.of[LATENCY_SERVICE][DIR_WRITE], &h);
	assert_int_equal(figures_add(&sum, &part), 0);
	assert_int_equal(figures_add(&sum, &part), 0);
	v = latency_view(&sum.latency, LATENCY_SERVICE, LATENCY_ALL_DIRS);
	assert_int_equal(histogram_count(&v), 4);
	assert_int_equal(histogram_min(&v), 1000);
	assert_int_equal(histogram_max(&v), 3000);
	figures_free(&part);
	/* The sum has memory of its own. */
	assert_int_equal(histogram_count(&v), 4);
	figures_free(&sum);
	figures_free(&sum);
	histogram_free(&h, 1);
}

/* The state of the cache of several targets is as exact as the least exact of them. */
TEST(test_cache_states)
{
	struct cache_state sum = { .accuracy = CACHE_EXACT };
	const struct cache_state one = { .range_bytes = 1,
					 .resident_bytes = 20,
					 .hole_bytes = 300,
					 .accuracy = CACHE_SAMPLED },
				 other = { .range_bytes = 4,
					   .holes_unknown = true,
					   .accuracy = CACHE_EXACT };

	cache_state_add(&sum, &one);
	assert_int_equal(sum.accuracy, CACHE_SAMPLED);
	assert_false(sum.holes_unknown);
	cache_state_add(&sum, &other);
	assert_int_equal(sum.accuracy, CACHE_SAMPLED);
	assert_true(sum.holes_unknown);
	cache_state_add(&sum, &one);
	assert_true(sum.holes_unknown);
	assert_int_equal(sum.range_bytes, 6);
	assert_int_equal(sum.resident_bytes, 40);
	assert_int_equal(sum.hole_bytes, 600);
}

/* Values of latency histogram `which`, flushes after the directions of both times. */
static struct histogram_sum *latency_at(struct latency *l, unsigned which)
{
	if (which == LATENCY_TIMES * DIR_COUNT)
		return &l->flushes;
	return &l->of[which / DIR_COUNT][which % DIR_COUNT];
}

static uint64_t count_in(const struct latency *l, enum latency_time time, unsigned dir)
{
	const struct histogram_view v = latency_view(l, time, dir);

	return histogram_count(&v);
}

/* Each histogram is added, viewed and subtracted as the one that it is. */
TEST(test_each_latency)
{
	const unsigned n = LATENCY_TIMES * DIR_COUNT + 1;
	struct latency all, part;
	struct histogram h = { 0 };

	assert_int_equal(histogram_init(&h, 1), 0);
	latency_init(&all);
	latency_init(&part);
	for (unsigned i = 0; i < n; i++) {
		histogram_add(&h, 10 * i);
		/* i + 1 values */
		assert_int_equal(histogram_sum_add_live(latency_at(&part, i), &h), 0);
	}
	assert_int_equal(latency_add(&all, &part), 0);
	assert_int_equal(latency_add(&all, &part), 0);
	for (unsigned time = 0; time < LATENCY_TIMES; time++) {
		uint64_t sum = 0;

		for (unsigned dir = 0; dir < DIR_COUNT; dir++) {
			const uint64_t wanted = 2 * (time * DIR_COUNT + dir + 1);

			assert_int_equal(count_in(&all, time, dir), wanted);
			sum += wanted;
		}
		assert_int_equal(count_in(&all, time, LATENCY_ALL_DIRS), sum);
	}
	assert_int_equal(count_in(&all, LATENCY_SERVICE, LATENCY_FLUSHES), 2 * n);
	assert_int_equal(count_in(&all, LATENCY_RESPONSE, LATENCY_FLUSHES), 0);
	latency_subtract(&all, &part);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(latency_at(&all, i)->n, i + 1);
		assert_int_equal(latency_at(&all, i)->sum_ns, latency_at(&part, i)->sum_ns);
	}
	latency_free(&all);
	latency_free(&part);
	for (unsigned i = 0; i < n; i++)
		assert_true(!latency_at(&all, i)->counts && latency_at(&all, i)->n == 0);
	histogram_free(&h, 1);
}

TEST(test_names_of_directions)
{
	static const char *const names[] = { "read", "write", "noop", "discard" };

	for (int i = 0; i < DIR_COUNT; i++)
		assert_string_equal(op_dir_name((enum op_dir)i), names[i]);
}

/* Each number of a tally, and each counter of a QThread, has one row. */
TEST(test_table_is_complete)
{
	unsigned char tally[sizeof(struct tally)] = { 0 }, live[sizeof(struct counters)] = { 0 };
	const size_t end = offsetof(struct counters, check_ns) + sizeof(uint64_t);
	const struct figure_row *row = figure_rows;

	for (; figure_row_is_of_tally(row); row++) {
		for (size_t i = 0; i < row->n * sizeof(uint64_t); i++) {
			assert_int_equal(tally[row->off + i]++, 0);
			if (row->live != FIGURE_NOT_LIVE)
				assert_int_equal(live[row->live + i]++, 0);
		}
	}
	assert_null(memchr(tally, 0, sizeof(tally)));
	assert_null(memchr(live, 0, end));
	/* They are the first rows. */
	for (; row->n; row++)
		assert_true(row->off >= sizeof(struct tally));
}

/* True for a number in the results of documents that says what they are of. */
static bool is_of_kind(const char *name)
{
	static const char *const names[] = { "host",	    "pass",	     "passes",
					     "target",	    "targets",	     "qthread",
					     "queue_depth", "request_bytes", "block_bytes",
					     "longest",	    "shortest" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static const struct figure_row *row_of(const char *member)
{
	for (const struct figure_row *row = figure_rows; row->n; row++)
		if (row->member && strcmp(row->member, member) == 0)
			return row;
	return NULL;
}

/* Each figure has its own mark of being unknown. */
TEST(test_known)
{
	static const struct figures none, full = { .begin_ns = 1,
						   .finish_ns = 1,
						   .first_op_ns = 1,
						   .first_read_ns = 1,
						   .last_write_ns = 1,
						   .cache.range_bytes = 1 };
	struct figures holes = full, resident = full;

	holes.cache.holes_unknown = true;
	resident.cache.accuracy = CACHE_NOT_MEASURED;
	for (const struct figure_row *row = figure_rows; row->n; row++) {
		if (!row->known)
			continue;
		assert_false(row->known(&none));
		assert_true(row->known(&full));
		assert_int_equal(row->known(&holes),
				 row->off != offsetof(struct figures, cache.hole_bytes));
		assert_int_equal(row->known(&resident),
				 row->off != offsetof(struct figures, cache.resident_bytes));
	}
}

/* The properties of a definition in a schema of doc: a new reference. */
static json_t *properties_of(const char *schema, const char *definition)
{
	const char *top = getenv("TOP_SRCDIR");
	char path[4096];
	json_t *all, *properties;

	snprintf(path, sizeof(path), "%s/doc/%s", top ? top : ".", schema);
	all = json_load_file(path, 0, NULL);
	properties = json_object_get(json_object_get(json_object_get(all, "$defs"), definition),
				     "properties");
	assert_true(json_is_object(properties));
	json_incref(properties);
	json_decref(all);
	return properties;
}

/* The figures that doc/jsonout.schema.json says results have are those of the table. */
TEST(test_schema)
{
	json_t *result = properties_of("jsonout.schema.json", "result"), *property;
	size_t found = 0, members = 0;
	const char *name;

	json_object_foreach(result, name, property)
	{
		const char *ref = json_string_value(json_object_get(property, "$ref"));
		const struct figure_row *row = row_of(name);
		const char *kind = !row			   ? NULL :
				   row->n == DIR_COUNT	   ? "directions" :
				   row->part || row->known ? "amount" :
							     "count";

		if (!row) {
			if (ref && !is_of_kind(name))
				fail_msg("%s has no row in figure_rows[]", name);
			continue;
		}
		if (!ref || strcmp(ref + strlen("#/$defs/"), kind) != 0)
			fail_msg("%s is %s in the schema, and %s by its row", name, ref, kind);
		found++;
	}
	for (const struct figure_row *row = figure_rows; row->n; row++)
		members += row->member != NULL;
	assert_int_equal(found, members);
	json_decref(result);
}

static bool has_word(json_t *array, const char *word)
{
	for (size_t i = 0; i < json_array_size(array); i++)
		if (strcmp(json_string_value(json_array_get(array, i)), word) == 0)
			return true;
	return false;
}

/* Statistics and rounds of sweeps have the figures of passes that their schemas say. */
TEST(test_schema_of_passes)
{
	json_t *statistic = properties_of("jsonout.schema.json", "statistic");
	json_t *round = properties_of("sweep.schema.json", "round");
	json_t *figure = properties_of("jsonout.schema.json", "figure");

	for (enum pass_figure i = 0; i < FIGURE_ROUND; i++) {
		bool of_round = i < FIGURE_COUNT || i == FIGURE_MAX;

		for (int k = 0; k < SWEEP_RESPONSES; k++)
			of_round |= sweep_responses[k] == i;
		assert_non_null(figure_name(i));
		assert_non_null(figure_unit(i));
		if (!json_object_get(statistic, figure_name(i)) != (i >= FIGURE_ALL))
			fail_msg("%s in statistics and by the table", figure_name(i));
		if (!json_object_get(round, figure_name(i)) == of_round)
			fail_msg("%s in rounds and by the table", figure_name(i));
		if (i < FIGURE_ALL &&
		    !has_word(json_object_get(json_object_get(figure, "unit"), "enum"),
			      figure_unit(i)->name))
			fail_msg("%s: the schema has no unit %s", figure_name(i),
				 figure_unit(i)->name);
	}
	json_decref(figure);
	json_decref(statistic);
	json_decref(round);
}

TEST(test_figure_of_pass)
{
	struct figures f = pass_of(0, 500000000);
	struct histogram h = { 0 };

	f.tally.busy_ns[DIR_READ] = 3000;
	assert_int_equal(figure_of_pass(&f, FIGURE_BANDWIDTH), 16384);
	assert_int_equal(figure_of_pass(&f, FIGURE_IOPS), 4);
	assert_int_equal(figure_of_pass(&f, FIGURE_LATENCY), 1500);
	assert_true(isnan(figure_of_pass(&f, FIGURE_FLUSH)));
	f.tally.flushes = 2;
	f.tally.flush_ns = 5000;
	assert_int_equal(figure_of_pass(&f, FIGURE_FLUSH), 2500);

	/* Of latencies that are kept, and not of others. */
	assert_int_equal(histogram_init(&h, 1), 0);
	histogram_add(&h, 1000);
	histogram_add(&h, 3000);
	histogram_sum_add_live(&f.latency.of[LATENCY_RESPONSE][DIR_READ], &h);
	assert_true(isnan(figure_of_pass(&f, FIGURE_RESPONSE)));
	f.known |= FIGURES_LATENCY;
	assert_int_equal(figure_of_pass(&f, FIGURE_RESPONSE), 2000);
	assert_int_equal(figure_of_pass(&f, FIGURE_RESPONSE_MAX), 3000);
	assert_true(isnan(figure_of_pass(&f, FIGURE_P50)));
	assert_true(isnan(figure_of_pass(&f, FIGURE_KNEE)));

	assert_int_equal(figure_of_response(FIGURE_LATENCY), FIGURE_RESPONSE);
	assert_int_equal(figure_of_response(FIGURE_P999), FIGURE_RESPONSE_P999);
	assert_int_equal(figure_of_response(FIGURE_MAX), FIGURE_RESPONSE_MAX);
	assert_int_equal(figure_of_response(FIGURE_IOPS), FIGURE_IOPS);

	/* Of a direction, also where latencies are of a sample. */
	f.tally.ops[DIR_WRITE] = 8;
	assert_int_equal(figure_of_dir(&f, FIGURE_IOPS, DIR_WRITE), 16);
	assert_true(isnan(figure_of_dir(&f, FIGURE_RESPONSE, DIR_WRITE)));
	f.known &= ~(unsigned)FIGURES_LATENCY;
	assert_int_equal(figure_of_dir(&f, FIGURE_RESPONSE, DIR_READ), 2000);
	assert_true(isnan(figure_of_dir(&f, FIGURE_BANDWIDTH, LATENCY_FLUSHES)));
	assert_int_equal(figure_of_dir(&f, FIGURE_IOPS, LATENCY_FLUSHES), 4);

	/* Nothing was done. */
	figures_free(&f);
	figures_init(&f);
	for (enum pass_figure i = 0; i < FIGURE_ROUND; i++)
		assert_true(isnan(figure_of_pass(&f, i)));
	histogram_free(&h, 1);
}

RUN_TESTS(NULL, NULL)
