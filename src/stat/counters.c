/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of a QThread, its longest and shortest operation, and sums of them. Called by QThreads,
 * by the heartbeat, and by the threads that add up their results.
 */
#include "xdd/stat/counters.h"

#include "xdd/stat/figures.h"

/*
 * Counters of a QThread and sums of them. Called by QThreads at the start of a pass, and by the
 * heartbeat and the results manager.
 */

const char *op_dir_name(enum op_dir dir)
{
	static const char *const names[DIR_COUNT] = {
		[DIR_READ] = "read",
		[DIR_WRITE] = "write",
		[DIR_NOOP] = "noop",
		[DIR_DISCARD] = "discard",
	};

	return names[dir];
}

static bool is_live(const struct figure_row *row)
{
	return row->live != FIGURE_NOT_LIVE;
}

void counters_reset(struct counters *c)
{
	for (const struct figure_row *row = figure_rows; figure_row_is_of_tally(row); row++) {
		_Atomic uint64_t *live = (void *)((char *)c + row->live);

		for (size_t i = 0; is_live(row) && i < row->n; i++)
			counters_set(&live[i], row->none);
	}
}

void tally_clear(struct tally *t)
{
	for (const struct figure_row *row = figure_rows; figure_row_is_of_tally(row); row++)
		for (size_t i = 0; i < row->n; i++)
			figure_row_at(t, row)[i] = row->none;
}

/* Acquire, so that later reads are not older. */
static uint64_t read_counter(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_acquire);
}

static void read_counters(uint64_t *values, const struct counters *c, const struct figure_row *row)
{
	const _Atomic uint64_t *live = (const void *)((const char *)c + row->live);

	for (size_t i = 0; i < row->n; i++)
		values[i] = read_counter(&live[i]);
}

void tally_add_counters(struct tally *t, const struct counters *c)
{
	struct tally now;
	uint64_t finished;

	tally_clear(&now);
	for (const struct figure_row *row = figure_rows; figure_row_is_of_tally(row); row++)
		if (is_live(row))
			read_counters(figure_row_at(&now, row), c, row);
	/*
	 * A QThread stores that it issues an operation, then its time and bytes, then that it has
	 * finished. Read in the other order: an operation that ends meanwhile is then counted as
	 * outstanding once too often, never too rarely, and with its bytes. On machines that
	 * reorder stores the owner's stores may still arrive in the other order; hence the clamp.
	 */
	for (int dir = 0; dir < DIR_COUNT; dir++) {
		now.bytes[dir] = read_counter(&c->bytes[dir]);
		now.busy_ns[dir] = read_counter(&c->busy_ns[dir]);
	}
	now.issued = read_counter(&c->issued);
	finished = tally_ops(&now) + now.errors + now.warmup_ops;
	now.outstanding = now.issued > finished ? now.issued - finished : 0;
	tally_add(t, &now);
}

void tally_add(struct tally *t, const struct tally *from)
{
	for (const struct figure_row *row = figure_rows; figure_row_is_of_tally(row); row++)
		figure_row_add(t, from, row, false);
}

void tally_subtract(struct tally *t, const struct tally *earlier)
{
	for (const struct figure_row *row = figure_rows; figure_row_is_of_tally(row); row++)
		for (size_t i = 0; is_live(row) && row->sum == FIGURE_SUM_ADD && i < row->n; i++)
			figure_row_at(t, row)[i] -= figure_row_read(earlier, row)[i];
}

static uint64_t sum_of(const uint64_t by_dir[DIR_COUNT])
{
	uint64_t sum = 0;

	for (int dir = 0; dir < DIR_COUNT; dir++)
		sum += by_dir[dir];
	return sum;
}

uint64_t tally_ops(const struct tally *t)
{
	return sum_of(t->ops);
}

uint64_t tally_bytes(const struct tally *t)
{
	return sum_of(t->bytes);
}

uint64_t tally_busy_ns(const struct tally *t)
{
	return sum_of(t->busy_ns);
}

uint64_t tally_elapsed_ns(const struct tally *t)
{
	return t->last_done_ns > t->first_issue_ns ? t->last_done_ns - t->first_issue_ns : 0;
}

/*
 * The longest and the shortest operation. Called by QThreads, and by the threads that add up their
 * results.
 */

/* Each store is a release: a reader that sees a new field does not see an older `turn`. */
static void write_field(_Atomic uint64_t *field, uint64_t value)
{
	atomic_store_explicit(field, value, memory_order_release);
}

static uint64_t read_field(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_acquire);
}

static void write_extreme(struct extreme_live *e, const struct extreme *o)
{
	write_field(&e->took_ns, o->took_ns);
	write_field(&e->op, o->op);
	write_field(&e->offset, o->offset);
	write_field(&e->bytes, o->bytes);
	atomic_store_explicit(&e->dir, (uint32_t)o->dir, memory_order_release);
}

void extremes_reset(struct extremes_live *e)
{
	static const struct extreme nothing;

	for (int i = 0; i < EXTREMES_COUNT; i++)
		write_extreme(&e->of[i], &nothing);
	atomic_store(&e->turn, 0);
}

void extremes_note(struct extremes_live *e, const struct extreme *o)
{
	uint32_t turn = atomic_load_explicit(&e->turn, memory_order_relaxed);
	bool first = turn == 0;

	atomic_store_explicit(&e->turn, turn + 1, memory_order_relaxed);
	if (first || o->took_ns > read_field(&e->of[EXTREMES_LONGEST].took_ns))
		write_extreme(&e->of[EXTREMES_LONGEST], o);
	if (first || o->took_ns < read_field(&e->of[EXTREMES_SHORTEST].took_ns))
		write_extreme(&e->of[EXTREMES_SHORTEST], o);
	/* 0 says that there is nothing. */
	turn = turn + 2 ? turn + 2 : 2;
	atomic_store_explicit(&e->turn, turn, memory_order_release);
}

static void read_extreme(const struct extreme_live *e, struct extreme *o)
{
	o->took_ns = read_field(&e->took_ns);
	o->op = read_field(&e->op);
	o->offset = read_field(&e->offset);
	o->bytes = read_field(&e->bytes);
	o->dir = (enum op_dir)atomic_load_explicit(&e->dir, memory_order_acquire);
}

struct extremes extremes_read(const struct extremes_live *e, uint64_t target, uint64_t pass)
{
	struct extremes now = { 0 };
	uint32_t turn, after;

	do {
		turn = atomic_load_explicit(&e->turn, memory_order_acquire);
		for (int i = 0; i < EXTREMES_COUNT; i++) {
			read_extreme(&e->of[i], &now.of[i]);
			now.of[i].target = target;
			now.of[i].pass = pass;
		}
		after = atomic_load_explicit(&e->turn, memory_order_acquire);
	} while (turn != after || turn % 2);
	now.any = turn != 0;
	return now;
}

static bool is_earlier(const struct extreme *a, const struct extreme *b)
{
	if (a->pass != b->pass)
		return a->pass < b->pass;
	return a->target != b->target ? a->target < b->target : a->op < b->op;
}

static bool is_beyond(const struct extreme *a, const struct extreme *b, enum extremes_which which)
{
	if (a->took_ns == b->took_ns)
		return is_earlier(a, b);
	return which == EXTREMES_LONGEST ? a->took_ns > b->took_ns : a->took_ns < b->took_ns;
}

void extremes_add(struct extremes *e, const struct extremes *from)
{
	if (!from->any)
		return;
	for (int i = 0; i < EXTREMES_COUNT; i++) {
		if (!e->any || is_beyond(&from->of[i], &e->of[i], (enum extremes_which)i))
			e->of[i] = from->of[i];
	}
	e->any = true;
}
