/*
 * Access patterns: where operation n of a pass goes, and which way. Called by QThreads for each
 * operation, and by -seek save, which writes the list out.
 */
#include "xdd/io/access.h"

#include <stdbool.h>

#include "xdd/base/random.h"
#include "xdd/plan/mix.h"

static void init_direction(struct access *a)
{
	a->turn = ACCESS_FIXED;
	a->dir = DIR_NOOP;
	switch (a->target->op) {
	case OP_READ:
		a->dir = DIR_READ;
		break;
	case OP_WRITE:
		a->dir = DIR_WRITE;
		break;
	case OP_DISCARD:
		a->dir = DIR_DISCARD;
		break;
	case OP_MIXED:
		a->turn = a->target->ratio_random ? ACCESS_DRAWN : ACCESS_EVEN;
		break;
	case OP_NOOP:
	case OP_UNSET:
		break;
	}
}

static void init_interleave(struct access *a)
{
	uint64_t factor = a->target->seek.interleave;

	if (!a->slots) {
		a->place = ACCESS_LINEAR;
		a->step = factor * a->req_bytes;
		return;
	}
	a->place = ACCESS_INTERLEAVED;
	a->stride = factor ? factor : 1;
	a->round = a->slots / a->stride;
	a->longer = a->slots % a->stride;
}

static void init_once(struct access *a)
{
	if (!a->slots)
		a->slots = 1;
	a->has_tail = plan_ends_with_tail(a->target);
	permutation_init(&a->order, &a->location, a->slots, 0);
}

/* The hot spots are the same for all targets and passes, of which several may be one file. */
static void init_hot_spots(struct access *a)
{
	const struct random_key key = {
		.seed = a->target->seek.seed,
		.pass = 1,
		.stream = RANDOM_STREAM_HOT_SPOTS,
	};
	const struct random_sequence sequence = random_sequence(&key);

	if (!a->slots)
		a->slots = 1;
	permutation_init(&a->order, &sequence, a->slots, 0);
}

static void init_blocks(struct access *a)
{
	const struct layout_options *l = &a->target->layout;

	switch (a->target->seek.pattern) {
	case SEEK_RANDOM:
		a->place = ACCESS_RANDOM_BLOCKS;
		break;
	case SEEK_ONCE:
		a->place = ACCESS_ONCE_BLOCKS;
		init_once(a);
		break;
	case SEEK_ZIPF:
		a->place = ACCESS_ZIPF_BLOCKS;
		init_hot_spots(a);
		break;
	default:
		a->place = ACCESS_BLOCKS;
	}
	a->block_slots = l->block_bytes / a->req_bytes;
	a->segment_bytes = l->n_owners * l->block_bytes;
}

static void init_mix(struct access *a)
{
	if (a->target->seek.pattern == SEEK_RANDOM) {
		a->place = ACCESS_MIXED_RANDOM;
		return;
	}
	a->place = ACCESS_MIXED;
	a->lap_bytes = mix_lap_bytes(a->target);
}

static void init_place(struct access *a)
{
	if (a->target->mix) {
		init_mix(a);
		return;
	}
	if (a->target->layout.block_bytes) {
		init_blocks(a);
		return;
	}
	switch (a->target->seek.pattern) {
	case SEEK_SEQUENTIAL:
		a->place = a->slots ? ACCESS_WRAPPED : ACCESS_LINEAR;
		a->step = a->req_bytes;
		break;
	case SEEK_RANDOM:
		a->place = ACCESS_RANDOM;
		a->step = a->req_bytes;
		if (!a->slots)
			a->slots = 1;
		break;
	case SEEK_ONCE:
		a->place = ACCESS_ONCE;
		a->step = a->req_bytes;
		init_once(a);
		break;
	case SEEK_ZIPF:
		a->place = ACCESS_ZIPF;
		a->step = a->req_bytes;
		init_hot_spots(a);
		break;
	case SEEK_STAGGER:
		a->place = ACCESS_STAGGERED;
		break;
	case SEEK_INTERLEAVE:
		init_interleave(a);
		break;
	case SEEK_STREAMS:
		a->place = ACCESS_STREAMS;
		break;
	case SEEK_NONE:
		a->place = ACCESS_LINEAR;
		a->step = 0;
		break;
	case SEEK_LOAD:
		a->place = ACCESS_LOADED;
		break;
	}
}

static void init_sequences(struct access *a, uint64_t pass)
{
	struct random_key key = {
		.seed = a->target->seek.seed,
		.pass = a->target->randomize ? (uint32_t)pass : 1,
		.target = (uint16_t)(a->target->layout.block_bytes ? a->target->layout.owner :
								     a->target->number),
		.stream = RANDOM_STREAM_LOCATION,
	};

	a->location = random_sequence(&key);
	key.stream = RANDOM_STREAM_DIRECTION;
	a->direction = random_sequence(&key);
}

static uint64_t count_plain_ops(const struct access *a)
{
	if (a->turn != ACCESS_FIXED)
		return 0;
	switch (a->place) {
	case ACCESS_LINEAR:
	case ACCESS_RANDOM:
		return a->last_op;
	case ACCESS_WRAPPED:
		return a->slots < a->last_op ? a->slots : a->last_op;
	default:
		return 0;
	}
}

void access_init(struct access *a, const struct target_plan *target, uint64_t pass)
{
	uint64_t end;

	*a = (struct access){
		.target = target,
		.req_bytes = target->req_bytes,
		.last_op = UINT64_MAX,
		.last_bytes = target->last_op_bytes,
	};
	plan_pass_range(target, pass, &a->base, &end);
	if (target->pass_ops != PLAN_UNLIMITED && target->last_op_bytes &&
	    target->last_op_bytes != target->req_bytes)
		a->last_op = target->pass_ops - 1;

	/* A range smaller than a request still has one place: its start. */
	if (target->range_bytes) {
		a->slots = target->range_bytes / target->req_bytes;
		if (!a->slots)
			a->slots = 1;
	}
	init_sequences(a, pass);
	init_direction(a);
	init_place(a);
	a->plain_ops = count_plain_ops(a);
}

/*
 * Slots 0, k, 2k, ..., then 1, k+1, ..., and so on up to k-1, which visits each slot once. The
 * first slots % k of these rounds are one operation longer than the others.
 */
static uint64_t interleaved_slot(const struct access *a, uint64_t n)
{
	uint64_t i = n % a->slots;
	uint64_t in_longer = a->longer * (a->round + 1);

	if (i < in_longer)
		return i / (a->round + 1) + i % (a->round + 1) * a->stride;
	i -= in_longer;
	return a->longer + i / a->round + i % a->round * a->stride;
}

/*
 * Of the first n operations, p * n read, rounded to the nearest integer (plan_reads_of()). So
 * operation n reads when p * (n + 1) + 1/2 has reached the next integer, which its fraction being
 * less than p shows. Only that fraction matters: n may be taken modulo the denominator of p, and
 * the product fits 64 bits for any n.
 */
static bool reads_evenly(uint32_t ratio, uint64_t n)
{
	uint64_t sum = (n % PLAN_RATIO_ONE + 1) * ratio + PLAN_RATIO_ONE / 2;

	return sum % PLAN_RATIO_ONE < ratio;
}

static enum op_dir direction_of(const struct access *a, uint64_t n)
{
	bool reads;

	switch (a->turn) {
	case ACCESS_EVEN:
		reads = reads_evenly(a->target->read_ratio, n);
		break;
	case ACCESS_DRAWN:
		reads = random_below(&a->direction, n, PLAN_RATIO_ONE) < a->target->read_ratio;
		break;
	case ACCESS_FIXED:
	default:
		return a->dir;
	}
	return reads ? DIR_READ : DIR_WRITE;
}

static enum op_dir seek_row_dir(const struct seek_row *row)
{
	switch (row->op) {
	case 'r':
		return DIR_READ;
	case 'w':
		return DIR_WRITE;
	case 'd':
		return DIR_DISCARD;
	}
	return DIR_NOOP;
}

static void loaded_op(const struct access *a, uint64_t n, struct access_op *op)
{
	const struct target_plan *t = a->target;
	/* A pass longer than the list starts it over. */
	const struct seek_row *row = &t->rows[n < t->n_rows ? n : n % t->n_rows];

	op->offset = a->base + row->block * t->block_size;
	op->size = row->blocks * t->block_size;
	if (n == a->last_op && a->last_bytes < op->size)
		op->size = a->last_bytes;
	op->dir = seek_row_dir(row);
}

/* A random request of a mix is one of the whole requests of its own size in the range. */
static void mixed_op(const struct access *a, uint64_t n, struct access_op *op)
{
	const struct mix_op m = mix_op(a->target->mix, n);
	uint64_t place = m.before, slots;

	if (a->place == ACCESS_MIXED_RANDOM) {
		slots = a->target->range_bytes / m.size;
		place = random_below(&a->location, n, slots ? slots : 1) * m.size;
	} else if (place >= a->lap_bytes) {
		place %= a->lap_bytes;
	}
	op->offset = a->base + place;
	op->size = n == a->last_op ? a->last_bytes : m.size;
	op->dir = direction_of(a, n);
}

/* Each slot once, then each once more in another order, and so on. */
static uint64_t once_slot(const struct access *a, uint64_t n)
{
	struct permutation again;

	if (n < a->slots)
		return permutation_at(&a->order, n);
	if (n == a->last_op && a->has_tail)
		return a->slots;
	permutation_init(&again, &a->location, a->slots, n / a->slots);
	return permutation_at(&again, n % a->slots);
}

/* The slot of a rank that is drawn. Neighbouring ranks have slots anywhere in the range. */
static uint64_t zipf_slot(const struct access *a, uint64_t n)
{
	return permutation_at(&a->order, zipf_draw(a->target->seek.zipf, &a->location, n) - 1);
}

/* The number of operations of the same direction before operation n. */
static uint64_t stream_slot(const struct access *a, uint64_t n)
{
	const uint64_t reads = plan_reads_of(a->target, n);
	const uint64_t slot = direction_of(a, n) == DIR_READ ? reads : n - reads;

	return a->slots ? slot % a->slots : slot;
}

/* The blocks of the owner follow each other, those of others lie between them. */
static uint64_t block_place(const struct access *a, uint64_t slot)
{
	return slot / a->block_slots * a->segment_bytes + slot % a->block_slots * a->req_bytes;
}

void access_any_op(const struct access *a, uint64_t n, struct access_op *op)
{
	uint64_t place = 0;

	switch (a->place) {
	case ACCESS_LINEAR:
		place = n * a->step;
		break;
	case ACCESS_WRAPPED:
		/* Mostly the pass ends before its range does: spare the division. */
		place = (n < a->slots ? n : n % a->slots) * a->step;
		break;
	case ACCESS_INTERLEAVED:
		place = interleaved_slot(a, n) * a->req_bytes;
		break;
	case ACCESS_STREAMS:
		place = stream_slot(a, n) * a->req_bytes;
		break;
	case ACCESS_RANDOM:
		place = random_below(&a->location, n, a->slots) * a->step;
		break;
	case ACCESS_STAGGERED:
		place = plan_stagger_offset(a->target, n);
		break;
	case ACCESS_LOADED:
		loaded_op(a, n, op);
		return;
	case ACCESS_BLOCKS:
		place = block_place(a, n < a->slots ? n : n % a->slots);
		break;
	case ACCESS_RANDOM_BLOCKS:
		place = block_place(a, random_below(&a->location, n, a->slots));
		break;
	case ACCESS_ONCE:
		place = once_slot(a, n) * a->step;
		break;
	case ACCESS_ONCE_BLOCKS:
		place = block_place(a, once_slot(a, n));
		break;
	case ACCESS_ZIPF:
		place = zipf_slot(a, n) * a->step;
		break;
	case ACCESS_ZIPF_BLOCKS:
		place = block_place(a, zipf_slot(a, n));
		break;
	case ACCESS_MIXED:
	case ACCESS_MIXED_RANDOM:
		mixed_op(a, n, op);
		return;
	}
	op->offset = a->base + place;
	op->size = n == a->last_op ? a->last_bytes : a->req_bytes;
	op->dir = direction_of(a, n);
}

bool access_reads_in_sequence(const struct access *a)
{
	return a->turn == ACCESS_FIXED && a->dir == DIR_READ &&
	       (a->place == ACCESS_MIXED ||
		((a->place == ACCESS_LINEAR || a->place == ACCESS_WRAPPED) &&
		 a->step == a->req_bytes));
}

/* The bytes of the first `ops` operations, the shorter one included. */
static uint64_t bytes_of(const struct access *a, uint64_t ops)
{
	const struct request_mix *mix = a->target->mix;
	uint64_t bytes = mix ? mix_bytes(mix, ops) : ops * a->req_bytes, full;

	if (ops - 1 != a->last_op)
		return bytes;
	full = mix ? mix_op(mix, a->last_op).size : a->req_bytes;
	return bytes - (full - a->last_bytes);
}

struct access_laps access_laps(const struct access *a, uint64_t ops)
{
	struct access_laps laps = { .lap_bytes = UINT64_MAX, .rest_bytes = bytes_of(a, ops) };

	if (a->place == ACCESS_WRAPPED)
		laps.lap_bytes = a->slots * a->req_bytes;
	else if (a->place == ACCESS_MIXED)
		laps.lap_bytes = a->lap_bytes;
	laps.whole = laps.rest_bytes / laps.lap_bytes;
	laps.rest_bytes %= laps.lap_bytes;
	return laps;
}
