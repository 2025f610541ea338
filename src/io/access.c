/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operations of a pass: where operation n goes, and which way, when it is due, and lists of
 * them as files. Called by QThreads for each operation, by the gate, and by -seek save, which
 * writes the list out.
 */
#include "xdd/io/access.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/arith.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
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

/* The blocks of the owner follow each other, the blocks of others lie between them. */
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

/*
 * The schedule of -throttle.
 */

/* Later than any pass lasts, and early enough to add a clock reading. */
#define FOREVER_NS (UINT64_MAX / 4)

/* Evenly spread over [-1/2, 1/2). */
static double throttle_schedule_draw(const struct target_plan *t, uint64_t n)
{
	const struct random_key key = {
		.seed = t->seek.seed,
		.pass = 1,
		.target = (uint16_t)t->number,
		.rank = t->throttle.rank,
		.stream = RANDOM_STREAM_PACE,
	};
	const struct random_sequence sequence = random_sequence(&key);

	return (double)(random_u64(&sequence, n) >> 11) / 9007199254740992.0 - 0.5;
}

/* Operations before operation `n`, in intervals of a request of full size. */
static double intervals_before(const struct target_plan *t, uint64_t n)
{
	const uint64_t *bytes = t->throttle.bytes_before;
	uint64_t rows = n < t->n_rows ? n : t->n_rows;

	if (t->mix && t->throttle.by == THROTTLE_BANDWIDTH)
		return (double)mix_bytes(t->mix, n) / (double)t->req_bytes;
	if (!bytes)
		return (double)n;
	return (double)bytes[rows] / (double)t->req_bytes + (double)(n - rows);
}

/*
 * By how much operation `n`, due after so many intervals, is moved: by half of the interval to its
 * neighbour on that side at most. So neighbours keep their order, whatever their sizes.
 */
static double moved_by(const struct target_plan *t, uint64_t n, double intervals)
{
	double part = throttle_schedule_draw(t, n) * t->throttle.var_percent / 100;

	if (part > 0)
		return part * (intervals_before(t, n + 1) - intervals);
	return n ? part * (intervals - intervals_before(t, n - 1)) : 0;
}

static uint64_t to_ns(const struct target_plan *t, double intervals)
{
	double ns = intervals * t->throttle.interval_ns;

	return ns >= (double)FOREVER_NS ? FOREVER_NS : (uint64_t)ns;
}

void throttle_arrivals(struct poisson *arrivals, const struct target_plan *t, uint64_t pass)
{
	const struct random_key key = {
		.seed = t->seek.seed,
		.pass = (uint32_t)pass,
		.target = (uint16_t)t->number,
		.rank = t->throttle.rank,
		.stream = RANDOM_STREAM_ARRIVAL,
	};

	poisson_init(arrivals, &key);
}

static uint64_t arrival_ns(const struct target_plan *t, struct poisson *arrivals, uint64_t n)
{
	return to_ns(t, (double)poisson_arrival(arrivals, n) / POISSON_UNIT);
}

uint64_t throttle_due_ns(const struct target_plan *t, struct poisson *arrivals, uint64_t n)
{
	double intervals;

	if (!throttle_is_on(t))
		return 0;
	if (t->throttle.poisson)
		return arrival_ns(t, arrivals, n);
	intervals = intervals_before(t, n);
	if (t->throttle.var_percent > 0)
		intervals += moved_by(t, n, intervals);
	return to_ns(t, intervals);
}

uint64_t throttle_span_ns(const struct target_plan *t, struct poisson *arrivals, uint64_t n)
{
	double intervals;

	if (!throttle_is_on(t))
		return 0;
	if (t->throttle.poisson)
		return arrival_ns(t, arrivals, n);
	if (t->mix && t->throttle.by == THROTTLE_BANDWIDTH && n == t->pass_ops)
		return to_ns(t, (double)t->pass_bytes / (double)t->req_bytes);
	intervals = intervals_before(t, n);
	/* At a rate of bytes, a last operation that is shorter has a shorter interval. */
	if (t->throttle.by == THROTTLE_BANDWIDTH && !t->throttle.bytes_before && n &&
	    n == t->pass_ops && t->last_op_bytes)
		intervals -= 1 - (double)t->last_op_bytes / (double)t->req_bytes;
	return to_ns(t, intervals);
}

/*
 * Seek lists as files, before the run, for targets with -seek save, seekhist or disthist.
 *
 * The list is computed twice, once for the figures at the top of the file and once to write it, so
 * that it need not be held in memory.
 */

/* One operation in blocks. */
struct seek {
	uint64_t block;
	uint64_t blocks;
	uint64_t distance; /* from the end of the one before; 0 for the first */
	char op;
};

/* A walk along the list. */
struct walk {
	const struct target_plan *target;
	struct access access;
	uint64_t own_bytes; /* the target's own offset, which does not go into the file */
	uint64_t n;	    /* the next operation */
	uint64_t end;	    /* block after the operation before */
};

struct figures {
	uint64_t lowest; /* location */
	uint64_t highest;
	uint64_t longest; /* distance */
	uint64_t shortest;
	uint64_t average;
};

/* Counts in equal buckets over low to high. */
struct histogram {
	const char *name;
	uint64_t low;
	uint64_t high;
	uint64_t n_buckets; /* 0: not wanted */
	uint64_t *counts;
};

static void walk_start(struct walk *w, const struct target_plan *t)
{
	w->target = t;
	access_init(&w->access, t, 1);
	w->own_bytes = t->start_bytes - t->start_offset_blocks * t->block_size -
		       t->layout.owner * t->layout.block_bytes;
	w->n = 0;
	w->end = 0;
}

/* Returns false after the last operation. */
static bool walk_next(struct walk *w, struct seek *s)
{
	static const char letters[DIR_COUNT] = { 'r', 'w', 'n', 'd' };
	uint64_t block_size = w->target->block_size;
	struct access_op op;

	if (w->n == w->target->pass_ops)
		return false;
	access_op(&w->access, w->n, &op);
	s->block = (op.offset - w->own_bytes) / block_size;
	s->blocks = op.size / block_size + (op.size % block_size != 0);
	s->op = letters[op.dir];
	s->distance = 0;
	if (w->n)
		s->distance = s->block > w->end ? s->block - w->end : w->end - s->block;
	w->end = s->block + s->blocks;
	w->n++;
	return true;
}

static void get_figures(const struct target_plan *t, struct figures *f)
{
	uint64_t shortest = UINT64_MAX;
	uint128 sum = 0;
	struct walk w;
	struct seek s;

	memset(f, 0, sizeof(*f));
	f->lowest = UINT64_MAX;
	walk_start(&w, t);
	while (walk_next(&w, &s)) {
		if (s.block < f->lowest)
			f->lowest = s.block;
		if (s.block > f->highest)
			f->highest = s.block;
		if (w.n == 1)
			continue; /* the first has no distance */
		if (s.distance > f->longest)
			f->longest = s.distance;
		if (s.distance < shortest)
			shortest = s.distance;
		sum += s.distance;
	}
	if (w.n > 1) {
		f->shortest = shortest;
		f->average = (uint64_t)(sum / (w.n - 1));
	}
}

static int histogram_init(struct histogram *h, const char *name, uint64_t n_buckets, uint64_t low,
			  uint64_t high)
{
	*h = (struct histogram){ .name = name, .low = low, .high = high, .n_buckets = n_buckets };
	if (n_buckets) {
		h->counts = calloc(n_buckets, sizeof(*h->counts));
		if (!h->counts)
			return -ENOMEM;
	}
	return 0;
}

static void histogram_count(struct histogram *h, uint64_t value)
{
	if (h->n_buckets)
		h->counts[(uint128)(value - h->low) * h->n_buckets /
			  ((uint128)(h->high - h->low) + 1)]++;
}

static void histogram_print(const struct histogram *h, FILE *out)
{
	for (uint64_t i = 0; i < h->n_buckets; i++)
		fprintf(out, "#%s %04" PRIu64 " %10" PRIu64 "\n", h->name, i, h->counts[i]);
}

/* Write the list, unless there is no `list`, and count. */
static int write_list(const struct target_plan *t, FILE *list, const struct figures *f,
		      struct histogram *seekhist, struct histogram *disthist)
{
	struct poisson arrivals;
	struct walk w;
	struct seek s;

	if (list && fprintf(list,
			    "# Longest seek=%" PRIu64 ", Shortest seek=%" PRIu64
			    ", Average seek distance=%" PRIu64 "\n"
			    "#Ordinal Location Reqsize Operation Time1 Time2\n",
			    f->longest, f->shortest, f->average) < 0)
		return -errno;
	throttle_arrivals(&arrivals, t, 1);
	walk_start(&w, t);
	while (walk_next(&w, &s)) {
		/* Of the two times the first is when the operation is due. */
		if (list &&
		    fprintf(list,
			    "%010" PRIu64 " %012" PRIu64 " %" PRIu64 " %c %016" PRIu64 " %016d\n",
			    w.n - 1, s.block, s.blocks, s.op,
			    throttle_due_ns(t, &arrivals, w.n - 1), 0) < 0)
			return -errno;
		histogram_count(seekhist, s.block);
		if (w.n > 1)
			histogram_count(disthist, s.distance);
	}
	return 0;
}

/* The list, unless there is no `list`, and the histograms. */
static int write_seeks(const struct target_plan *t, FILE *list, FILE *histograms)
{
	struct histogram seekhist = { 0 }, disthist = { 0 };
	struct figures f;
	int ret;

	get_figures(t, &f);
	ret = histogram_init(&seekhist, "SeekHist", t->seek.seekhist, f.lowest, f.highest);
	if (!ret)
		ret = histogram_init(&disthist, "DistHist", t->seek.disthist, 0, f.longest);
	if (ret)
		goto out;

	ret = write_list(t, list, &f, &seekhist, &disthist);
	if (ret)
		goto out;
	histogram_print(&seekhist, histograms);
	histogram_print(&disthist, histograms);
out:
	free(seekhist.counts);
	free(disthist.counts);
	return ret;
}

static int log_histograms(const struct target_plan *t)
{
	struct memstream m;
	int ret, err;

	if (!memstream_open(&m))
		return -ENOMEM;
	ret = write_seeks(t, NULL, m.f);
	err = memstream_close(&m);
	if (!ret && !err)
		log_raw(m.text);
	free(m.text);
	return ret ? ret : err;
}

int seekfile_write(const struct target_plan *target, FILE *f)
{
	return target->pass_ops == PLAN_UNLIMITED ? -EINVAL : write_seeks(target, f, f);
}

static int save_to(const struct target_plan *t, const char *path)
{
	struct newfile f;
	int ret = newfile_open(&f, path);

	return ret ? ret : newfile_close(&f, seekfile_write(t, f.f));
}

int seekfile_save(const struct target_plan *target, char **path)
{
	const struct seek_options *seek = &target->seek;
	char *name;
	int ret;

	if (path)
		*path = NULL;
	if (!seek->save_file && !seek->seekhist && !seek->disthist)
		return 0;
	if (target->pass_ops == PLAN_UNLIMITED)
		return -EINVAL;
	if (!seek->save_file)
		return log_histograms(target);

	if (asprintf(&name, "%s.T%" PRIu32 ".txt", seek->save_file, target->number) < 0)
		return -ENOMEM;
	ret = save_to(target, name);
	if (path)
		*path = name;
	else
		free(name);
	return ret;
}
