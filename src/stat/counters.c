/*
 * Counters of a QThread and sums of them. Called by QThreads at the start of a pass, and by the
 * heartbeat and the results manager.
 */
#include "xdd/stat/counters.h"

#include <string.h>

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

void counters_reset(struct counters *c)
{
	for (int dir = 0; dir < DIR_COUNT; dir++) {
		counters_set(&c->ops[dir], 0);
		counters_set(&c->bytes[dir], 0);
		counters_set(&c->failed_bytes[dir], 0);
		counters_set(&c->failed_ops[dir], 0);
		counters_set(&c->busy_ns[dir], 0);
	}
	counters_set(&c->errors, 0);
	counters_set(&c->miscompares, 0);
	counters_set(&c->fill_ns, 0);
	counters_set(&c->overhead_ns, 0);
	counters_set(&c->issued, 0);
	counters_set(&c->warmup_ops, 0);
	counters_set(&c->order_breaks, 0);
	counters_set(&c->retries, 0);
	counters_set(&c->flush_ns, 0);
	counters_set(&c->flushes, 0);
	counters_set(&c->net_ns, 0);
	counters_set(&c->net_wait_ns, 0);
	counters_set(&c->check_ns, 0);
	counters_set(&c->first_issue_ns, UINT64_MAX);
	counters_set(&c->last_done_ns, 0);
}

void tally_clear(struct tally *t)
{
	memset(t, 0, sizeof(*t));
	t->first_issue_ns = UINT64_MAX;
}

/* Acquire, so that later reads are not older. */
static uint64_t read_counter(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_acquire);
}

void tally_add_counters(struct tally *t, const struct counters *c)
{
	struct tally now;
	uint64_t finished;

	/*
	 * Read the finished operations before the issued ones: an operation that ends meanwhile is
	 * then counted as outstanding once too often, never too rarely. On machines that reorder
	 * stores the owner's stores may still arrive in the other order; hence the clamp.
	 */
	tally_clear(&now);
	now.errors = read_counter(&c->errors);
	now.warmup_ops = read_counter(&c->warmup_ops);
	now.miscompares = read_counter(&c->miscompares);
	now.fill_ns = read_counter(&c->fill_ns);
	now.overhead_ns = read_counter(&c->overhead_ns);
	for (int dir = 0; dir < DIR_COUNT; dir++) {
		now.ops[dir] = read_counter(&c->ops[dir]);
		now.failed_bytes[dir] = read_counter(&c->failed_bytes[dir]);
		now.failed_ops[dir] = read_counter(&c->failed_ops[dir]);
		now.bytes[dir] = read_counter(&c->bytes[dir]);
		now.busy_ns[dir] = read_counter(&c->busy_ns[dir]);
	}
	now.retries = read_counter(&c->retries);
	now.flush_ns = read_counter(&c->flush_ns);
	now.flushes = read_counter(&c->flushes);
	now.net_ns = read_counter(&c->net_ns);
	now.net_wait_ns = read_counter(&c->net_wait_ns);
	now.check_ns = read_counter(&c->check_ns);
	now.first_issue_ns = read_counter(&c->first_issue_ns);
	now.last_done_ns = read_counter(&c->last_done_ns);
	now.order_breaks = read_counter(&c->order_breaks);
	now.issued = read_counter(&c->issued);

	finished = tally_ops(&now) + now.errors + now.warmup_ops;
	now.outstanding = now.issued > finished ? now.issued - finished : 0;
	tally_add(t, &now);
}

void tally_add(struct tally *t, const struct tally *from)
{
	for (int dir = 0; dir < DIR_COUNT; dir++) {
		t->ops[dir] += from->ops[dir];
		t->bytes[dir] += from->bytes[dir];
		t->failed_bytes[dir] += from->failed_bytes[dir];
		t->failed_ops[dir] += from->failed_ops[dir];
		t->busy_ns[dir] += from->busy_ns[dir];
	}
	t->errors += from->errors;
	t->miscompares += from->miscompares;
	t->fill_ns += from->fill_ns;
	t->overhead_ns += from->overhead_ns;
	t->issued += from->issued;
	t->warmup_ops += from->warmup_ops;
	t->outstanding += from->outstanding;
	t->order_breaks += from->order_breaks;
	t->retries += from->retries;
	t->flushes += from->flushes;
	t->flush_ns += from->flush_ns;
	t->sync_ns += from->sync_ns;
	t->open_ns += from->open_ns;
	t->close_ns += from->close_ns;
	t->net_ns += from->net_ns;
	t->net_wait_ns += from->net_wait_ns;
	t->check_ns += from->check_ns;
	if (from->first_issue_ns < t->first_issue_ns)
		t->first_issue_ns = from->first_issue_ns;
	if (from->last_done_ns > t->last_done_ns)
		t->last_done_ns = from->last_done_ns;
}

void tally_subtract(struct tally *t, const struct tally *earlier)
{
	for (int dir = 0; dir < DIR_COUNT; dir++) {
		t->ops[dir] -= earlier->ops[dir];
		t->bytes[dir] -= earlier->bytes[dir];
		t->failed_ops[dir] -= earlier->failed_ops[dir];
		t->failed_bytes[dir] -= earlier->failed_bytes[dir];
	}
	t->errors -= earlier->errors;
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
