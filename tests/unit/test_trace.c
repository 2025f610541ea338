/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording time stamps from many threads: each completed operation is recorded or counted, what is
 * kept is what was asked for, and without gaps. And the sums over entries.
 */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plan/feature.h"
#include "run/issue/trace.h"
#include "trace/walk.h"

#define THREADS 6

static _Atomic uint64_t next_op, next_time;

struct work {
	struct trace_writer *writer;
	uint64_t ops; /* of all threads */
};

/* A target resolved as a plan would. */
static void make_plan(struct target_plan *t, uint32_t qthreads, uint64_t ops, uint64_t size,
		      bool wrap, bool oneshot)
{
	struct plan plan = { .passes = 1, .n_targets = 1, .targets = t };

	*t = (struct target_plan){
		.path = "null",
		.qthreads = qthreads,
		.queue_depth = qthreads,
		.pass_ops = ops,
		.trace = { .on = true, .size_ops = size, .wrap = wrap, .oneshot = oneshot },
	};
	assert_int_equal(feature_trace.target[TARGET_SIZE](&plan, t), XDD_OK);
}

/* Operations of all threads, as they complete: times rise from one completion to the next. */
static void *work(void *arg)
{
	const struct work *w = arg;
	uint64_t n;

	while ((n = atomic_fetch_add(&next_op, 1)) < w->ops) {
		struct io_request req = { .op = n, .size = 512, .done = 512, .issue_ns = n + 1 };

		trace_issue(&req);
		trace_done(w->writer, &req, NULL, 1, 1000000 + atomic_fetch_add(&next_time, 1));
	}
	return NULL;
}

static void record(struct trace_table *table, const struct target_plan *plan, uint64_t ops)
{
	pthread_t threads[THREADS];
	struct work works[THREADS];

	memset(table, 0, sizeof(*table));
	assert_int_equal(trace_open(table, plan, 0), 0);
	atomic_store(&next_op, 0);
	atomic_store(&next_time, 0);
	for (uint32_t i = 0; i < plan->qthreads; i++) {
		works[i] = (struct work){ &table->writers[i], ops };
		assert_int_equal(pthread_create(&threads[i], NULL, work, &works[i]), 0);
	}
	for (uint32_t i = 0; i < plan->qthreads; i++)
		pthread_join(threads[i], NULL);
}

/* Every operation once, and each entry whole. */
static void check_entries(const struct trace *t, uint64_t ops, uint64_t all)
{
	uint64_t sum = t->n + t->missing.overwritten + t->missing.unrecorded + t->missing.before;

	assert_int_equal(t->n, ops);
	assert_int_equal(sum, all);
	for (size_t i = 0; i < t->n; i++) {
		const struct trace_entry *e = t->entries[i];

		assert_true(i == 0 || t->entries[i - 1]->op < e->op);
		assert_int_equal(e->start_ns, e->op + 1);
		assert_int_equal(e->size_bytes, 512);
		assert_true(e->qthread < THREADS);
	}
}

/* The ends are those of the newest or the oldest completions, all of them. */
static void check_window(const struct trace *t, uint64_t first, uint64_t n)
{
	char *seen = calloc(n, 1);

	assert_non_null(seen);
	assert_int_equal(t->n, n);
	for (size_t i = 0; i < t->n; i++) {
		uint64_t at = t->entries[i]->end_ns - 1000000 - first;

		assert_true(at < n && !seen[at]);
		seen[at] = 1;
	}
	free(seen);
}

TEST(test_whole)
{
	static const uint64_t sizes[] = { 1, 5, 100, 4096, 100000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (uint32_t threads = 1; threads <= THREADS; threads += THREADS - 1) {
			struct target_plan plan;
			struct trace_table table;
			struct trace t = { 0 };

			make_plan(&plan, threads, sizes[i], 0, false, false);
			record(&table, &plan, sizes[i]);
			assert_int_equal(trace_collect(&table, &t), 0);
			check_entries(&t, sizes[i], sizes[i]);
			check_window(&t, 0, sizes[i]);
			free(t.entries);
			trace_close(&table);
		}
	}
}

TEST(test_wrap)
{
	static const uint64_t sizes[] = { 1, 7, 300, 5000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (uint32_t threads = 1; threads <= THREADS; threads += THREADS - 1) {
			struct target_plan plan;
			struct trace_table table;
			struct trace t = { 0 };

			make_plan(&plan, threads, 100000, sizes[i], i % 2, false);
			assert_true(plan.trace.wrap && plan.trace.cut);
			record(&table, &plan, 100000);
			assert_int_equal(trace_collect(&table, &t), 0);
			check_entries(&t, sizes[i], 100000);
			assert_int_equal(t.missing.overwritten, 100000 - sizes[i]);
			if (threads == 1)
				check_window(&t, 100000 - sizes[i], sizes[i]);
			free(t.entries);
			trace_close(&table);
		}
	}
}

TEST(test_oneshot)
{
	static const uint64_t sizes[] = { 1, 7, 300, 5000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (uint32_t threads = 1; threads <= THREADS; threads += THREADS - 1) {
			struct target_plan plan;
			struct trace_table table;
			struct trace t = { 0 };

			make_plan(&plan, threads, 50000, sizes[i], false, true);
			record(&table, &plan, 50000);
			assert_int_equal(trace_collect(&table, &t), 0);
			check_entries(&t, sizes[i], 50000);
			assert_int_equal(t.missing.unrecorded, 50000 - sizes[i]);
			if (threads == 1)
				check_window(&t, 0, sizes[i]);
			free(t.entries);
			trace_close(&table);
		}
	}
}

/*
 * One QThread records now and then, the others fill the table again and again: no gap all the same.
 */
TEST(test_slow_writer)
{
	struct target_plan plan;
	struct trace_table table = { 0 };
	struct trace t = { 0 };

	make_plan(&plan, 4, 100000, 1000, true, false);
	assert_int_equal(trace_open(&table, &plan, 0), 0);
	for (uint64_t n = 0; n < 100000; n++) {
		struct io_request req = { .op = n, .size = 512, .done = 512, .issue_ns = n + 1 };
		uint32_t who = n % 997 == 0 ? 3 : n % 101 == 0 ? 2 : n % 2;

		trace_done(&table.writers[who], &req, NULL, 1, 1000000 + n);
	}
	assert_int_equal(trace_collect(&table, &t), 0);
	check_entries(&t, 1000, 100000);
	check_window(&t, 99000, 1000);
	/* Late completions are not recorded, and disturb nothing. */
	for (uint64_t n = 0; n < 10000; n++) {
		struct io_request req = { .op = n, .size = 512, .issue_ns = n + 1 };

		trace_done(&table.writers[0], &req, NULL, 1, 5000000 + n);
	}
	check_window(&t, 99000, 1000);
	free(t.entries);
	trace_close(&table);
}

/* End-to-end: each entry keeps its network part, when the table wraps too. */
TEST(test_network)
{
	struct plan all = { .passes = 1 };
	struct target_plan plan = { .qthreads = 1,
				    .queue_depth = 1,
				    .pass_ops = 5000,
				    .path = "null",
				    .endtoend = { .role = E2E_SOURCE } };
	struct trace_table table = { 0 };
	struct trace t = { 0 };

	plan.trace = (struct trace_options){ .on = true, .wrap = true, .size_ops = 1500 };
	assert_int_equal(feature_trace.target[TARGET_SIZE](&all, &plan), XDD_OK);
	assert_int_equal(trace_open(&table, &plan, 0), 0);
	for (uint64_t n = 0; n < 5000; n++) {
		struct io_request req = { .op = n, .issue_ns = n + 1 };
		struct trace_net net = { .start_ns = 10 * n, .bytes = (uint32_t)n, .calls = 1 };

		trace_done(table.writers, &req, n % 3 ? &net : NULL, 1, n + 2);
	}
	assert_int_equal(trace_collect(&table, &t), 0);
	assert_int_equal(t.n, 1500);
	assert_non_null(t.net);
	for (size_t i = 0; i < t.n; i++) {
		uint64_t n = t.entries[i]->op;

		assert_int_equal(t.net[i]->bytes, n % 3 ? n : 0);
		assert_int_equal(t.net[i]->start_ns, n % 3 ? 10 * n : 0);
		assert_int_equal(t.net[i]->cpu_end, n % 3 ? 0 : TRACE_NO_CPU);
	}
	assert_int_equal(t.entries[0]->op, 3500);
	free(t.entries);
	free(t.net);
	trace_close(&table);
}

TEST(test_triggers)
{
	struct plan all = { .passes = 2 };
	struct target_plan plan = {
		.qthreads = 1, .queue_depth = 1, .pass_ops = 100, .path = "null"
	};
	struct trace_table table = { 0 };
	struct trace t = { 0 };

	plan.trace = (struct trace_options){ .on = true, .trigger_op = 30 };
	assert_int_equal(feature_trace.target[TARGET_SIZE](&all, &plan), XDD_OK);
	assert_int_equal(plan.trace.size_ops, 170);
	assert_int_equal(trace_open(&table, &plan, 0), 0);
	for (uint64_t n = 0; n < 200; n++) {
		struct io_request req = { .op = n % 100, .issue_ns = n + 1 };

		trace_done(table.writers, &req, NULL, n / 100 + 1, n + 2);
	}
	assert_int_equal(trace_collect(&table, &t), 0);
	assert_int_equal(t.n, 170);
	assert_int_equal(t.missing.before, 30);
	assert_int_equal(t.entries[0]->op, 30);
	assert_int_equal(t.entries[70]->op, 0);
	assert_int_equal(t.entries[70]->pass, 2);
	free(t.entries);
	trace_close(&table);

	plan.trace = (struct trace_options){ .on = true,
					     .triggered_by_time = true,
					     .trigger_time_ns = 5150 };
	assert_int_equal(feature_trace.target[TARGET_SIZE](&all, &plan), XDD_OK);
	t = (struct trace){ 0 };
	/* The wall clock is ahead by 5000, and a time server says that it is ahead by 4980. */
	for (uint64_t later = 0; later <= 20; later += 20) {
		assert_int_equal(trace_open(&table, &plan, 5000), 0);
		if (later)
			trace_trigger(table.writers, 150 + later);
		for (uint64_t n = 0; n < 200; n++) {
			struct io_request req = { .op = n % 100, .issue_ns = n };

			trace_done(table.writers, &req, NULL, n / 100 + 1, n + 1);
		}
		assert_int_equal(trace_collect(&table, &t), 0);
		assert_int_equal(t.n, 50 - later);
		assert_int_equal(t.missing.before, 150 + later);
		assert_int_equal(t.entries[0]->start_ns, 150 + later);
		free(t.entries);
		trace_close(&table);
		t = (struct trace){ 0 };
	}
}

/* By pass, operation, start, QThread, in whatever order they come; or by their ends. */
TEST(test_sort)
{
	static const struct trace_entry e[] = {
		{ .pass = 1, .op = 0, .start_ns = 9, .end_ns = 90 },
		{ .pass = 1, .op = 1, .start_ns = 2, .end_ns = 80 },
		{ .pass = 1, .op = 1, .start_ns = 3, .end_ns = 70 },
		{ .pass = 1, .op = 1, .start_ns = 3, .end_ns = 60, .qthread = 1 },
		{ .pass = 2, .op = 0, .start_ns = 1, .end_ns = 50 },
	};
	enum {
		N = sizeof(e) / sizeof(e[0])
	};

	for (size_t first = 0; first < N; first++) {
		for (size_t step = 1; step < N; step++) {
			const struct trace_entry *entries[N];
			const struct trace_net *net[N];
			struct trace_net nets[N];

			for (size_t i = 0; i < N; i++) {
				entries[i] = &e[(first + i * step) % N];
				net[i] = &nets[entries[i] - e];
			}
			assert_int_equal(trace_sort(entries, NULL, N), 0);
			for (size_t i = 0; i < N; i++)
				assert_ptr_equal(entries[i], &e[i]);
			trace_sort_by_end(entries, N);
			for (size_t i = 0; i < N; i++)
				assert_ptr_equal(entries[i], &e[N - 1 - i]);
			for (size_t i = 0; i < N; i++)
				entries[i] = &e[(first + i * step) % N];
			assert_int_equal(trace_sort(entries, net, N), 0);
			for (size_t i = 0; i < N; i++) {
				assert_ptr_equal(entries[i], &e[i]);
				assert_ptr_equal(net[i], &nets[i]);
			}
		}
	}
}

/* Sums over nothing are 0. */
TEST(test_walk_nothing)
{
	static const struct trace_sums nothing = { 0 };
	const struct trace t = { .n = 0 };
	struct trace_walk *w = trace_walk_new(&t);
	struct trace_sums s;

	assert_non_null(w);
	trace_walk_sums(w, &s);
	assert_int_equal(s.ops, 0);
	assert_memory_equal(&s, &nothing, sizeof(s));
	trace_walk_free(w);
}

/* The guide's sample, 10.7: its first three rows. */
TEST(test_walk)
{
	struct trace_entry e[] = {
		{ .op = 0, .start_ns = 10288350303715490, .end_ns = 10288350437959490 },
		{ .op = 1, .start_ns = 10288350437966490, .end_ns = 10288350478994490 },
		{ .op = 2, .start_ns = 10288350478997490, .end_ns = 10288350533440490 },
		{ .op = 0, .start_ns = 10288350600000000, .end_ns = 10288350600000000 },
	};
	const struct trace_entry *entries[4];
	struct trace t = { .entries = entries, .n = 4, .block_size = 1024, .req_bytes = 4194304 };
	struct trace_walk *w;
	struct trace_row r;
	struct trace_sums s;

	for (size_t i = 0; i < 4; i++) {
		e[i].pass = i < 3 ? 1 : 2;
		e[i].offset_bytes = i * 4194304 + (i == 2) * 4096;
		e[i].size_bytes = e[i].done_bytes = 4194304;
		entries[i] = &e[i];
	}
	w = trace_walk_new(&t);
	assert_non_null(w);
	assert_true(trace_walk_next(w, &r));
	assert_int_equal(r.io_ns, 134244000);
	assert_true(r.relative_ns == 0 && r.delta_ns == 0 && r.loop_ns == 0 && !r.has_delta);
	assert_true(r.mb_per_s > 31.2435 && r.mb_per_s < 31.2445);
	assert_true(trace_walk_next(w, &r));
	assert_true(r.relative_ns == 134251000 && r.delta_ns == 7000 && r.loop_ns == 41035000);
	assert_true(r.has_distance && r.distance_bytes == 0);
	assert_true(trace_walk_next(w, &r));
	assert_true(r.relative_ns == 175282000 && r.delta_ns == 3000 && r.loop_ns == 54446000);
	assert_int_equal(r.distance_bytes, 4096);
	/* Another pass, an operation that took no time. */
	assert_true(trace_walk_next(w, &r));
	assert_true(!r.has_distance && !r.has_delta && r.io_ns == 0 && r.mb_per_s == 0);
	assert_false(trace_walk_next(w, &r));
	trace_walk_sums(w, &s);
	assert_int_equal(s.ops, 4);
	assert_int_equal(s.failed, 0);
	assert_int_equal(s.distances, 2);
	assert_int_equal(s.average_distance_bytes, 2048);
	assert_int_equal(s.longest_distance_bytes, 4096);
	assert_int_equal(s.shortest_distance_bytes, 0);
	assert_int_equal(s.average_io_ns, 57428750);
	assert_int_equal(s.deltas, 2);
	assert_int_equal(s.longest_io_ns, 134244000);
	assert_int_equal(s.shortest_io_ns, 0);
	assert_true(s.average_delta_ns > 4999 && s.average_delta_ns < 5001);
	assert_true(s.longest_delta_ns == 7000 && s.shortest_delta_ns == 3000);
	trace_walk_free(w);
}

/* Distances in both directions, and none where an operation before is missing. */
TEST(test_walk_distances)
{
	static const struct {
		uint64_t op, offset;
		bool has;
		uint64_t distance;
	} rows[] = {
		{ 0, 5000, false, 0 }, { 1, 5100, true, 0 },  { 2, 4000, true, 1200 },
		{ 3, 4107, true, 7 },  { 5, 9000, false, 0 }, { 6, 9130, true, 30 },
		{ 6, 9000, false, 0 },
	};
	struct trace_entry e[7];
	const struct trace_entry *entries[7];
	const struct trace t = { .entries = entries, .n = 7 };
	struct trace_walk *w;
	struct trace_sums s;
	struct trace_row r;

	for (size_t i = 0; i < 7; i++) {
		e[i] = (struct trace_entry){ .op = rows[i].op,
					     .offset_bytes = rows[i].offset,
					     .size_bytes = 100,
					     .error = i == 3 ? -5 : i == 4,
					     .pass = 1 };
		entries[i] = &e[i];
	}
	w = trace_walk_new(&t);
	assert_non_null(w);
	for (size_t i = 0; i < 7; i++) {
		assert_true(trace_walk_next(w, &r));
		assert_int_equal(r.has_distance, rows[i].has);
		assert_int_equal(r.distance_bytes, rows[i].distance);
	}
	trace_walk_sums(w, &s);
	assert_int_equal(s.failed, 2);
	assert_int_equal(s.distances, 4);
	assert_int_equal(s.average_distance_bytes, (1200 + 7 + 30) / 4);
	assert_int_equal(s.longest_distance_bytes, 1200);
	assert_int_equal(s.shortest_distance_bytes, 0);
	trace_walk_free(w);
}

/* Rows that begin together are in the order of their traces; operations may overlap. */
TEST(test_merge)
{
	static const struct trace_net nets[2] = { { .bytes = 1 }, { .bytes = 2 } };
	static const struct trace_net *const net[2] = { &nets[0], &nets[1] };
	static const size_t order[][2] = { { 1, 0 }, { 0, 0 }, { 1, 1 }, { 0, 1 } };
	struct trace_entry e[2][2];
	const struct trace_entry *entries[2][2];
	struct trace t[2];
	const struct trace *both[2] = { &t[0], &t[1] };
	struct trace_merge m;

	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < 2; k++) {
			e[i][k] = (struct trace_entry){ .op = k,
							.start_ns = 100 + 50 * k,
							.end_ns = 190 + 50 * k };
			entries[i][k] = &e[i][k];
		}
		t[i] = (struct trace){ .entries = entries[i], .n = 2, .wall_ns = i ? -5 : 0 };
	}
	t[1].net = (const struct trace_net **)(uintptr_t)net;
	assert_int_equal(trace_merge(&m, both, 2), 0);
	assert_int_equal(m.n, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct trace_merged_row *r = &m.rows[i];
		const size_t which = order[i][0], n = order[i][1];

		assert_int_equal(r->trace, which);
		assert_ptr_equal(r->row.entry, &e[which][n]);
		assert_ptr_equal(r->row.net, which ? net[n] : NULL);
		assert_int_equal(r->start_ns, 100 + 50 * n - 5 * which);
		assert_int_equal(r->end_ns, 190 + 50 * n - 5 * which);
	}
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(m.sums[i].ops, 2);
		assert_true(m.sums[i].longest_delta_ns == -40 &&
			    m.sums[i].shortest_delta_ns == -40);
	}
	trace_merge_free(&m);
	t[1].wall_ns = 0;
	assert_int_equal(trace_merge(&m, both, 2), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(m.rows[i].trace, i % 2);
	trace_merge_free(&m);
}

/* A clock that drifts, before and after the time at which its offset was measured. */
TEST(test_global_time)
{
	static const struct {
		uint64_t ns;
		int64_t ppb, offset;
	} cases[] = {
		{ 5000000000, 1000, 1100 },
		{ 6000000000, 1000, 2100 },
		{ 6500000000, 1000, 2600 },
		{ 6500000000, -1000, -400 },
		{ 3500000000, 1000, -400 },
		{ 3500000000, -1000, 2600 },
		{ 5000999999, 1000, 1100 },
		{ 5001000000, 1000, 1101 },
		{ 3000000005000000000, 1000000, 3000000000001100 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct trace t = { .wall_ns = 100,
					 .global_ns = 1000,
					 .global_at_ns = 5000000000,
					 .global_drift_ppb = cases[i].ppb };

		assert_true(trace_to_global_ns(&t, cases[i].ns) == cases[i].offset);
		assert_true(trace_global_ns(&t, cases[i].ns) ==
			    (int64_t)cases[i].ns + cases[i].offset);
	}
}

/* Operations that overlap: dead time is that of a slot, and never negative. */
TEST(test_walk_slots)
{
	enum {
		N = 3000
	};
	struct trace_entry *e = aligned_alloc(64, N * sizeof(*e));
	const struct trace_entry **entries = calloc(N, sizeof(*entries));
	struct trace t = { .entries = entries, .n = N, .block_size = 512 };
	struct trace_walk *w;
	struct trace_sums s;
	struct trace_row r;

	assert_non_null(e);
	assert_non_null(entries);
	memset(e, 0, N * sizeof(*e));
	for (size_t i = 0; i < N; i++) {
		e[i].op = i;
		e[i].pass = 1;
		e[i].qthread = (uint32_t)(i % 10);
		e[i].slot = (uint32_t)(i / 10 % 30);
		e[i].start_ns = 1000 + i;
		e[i].end_ns = 1000 + i + 290;
		entries[i] = &e[i];
	}
	w = trace_walk_new(&t);
	assert_non_null(w);
	while (trace_walk_next(w, &r))
		assert_int_equal(r.delta_ns, r.entry->op < 300 ? 0 : 10);
	trace_walk_sums(w, &s);
	assert_int_equal(s.deltas, N - 300);
	trace_walk_free(w);
	free(e);
	free(entries);
}

RUN_TESTS(NULL, NULL)
