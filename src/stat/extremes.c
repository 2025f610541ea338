/*
 * The longest and the shortest operation. Called by QThreads, and by the threads that add up their
 * results.
 */
#include "xdd/stat/extremes.h"

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
