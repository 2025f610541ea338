/*
 * Seek lists as files. Called by main before the run, for targets with -seek save, seekhist or
 * disthist.
 *
 * The list is computed twice, once for the figures at the top of the file and once to write it, so
 * that it need not be held in memory.
 */
#include "xdd/io/seekfile.h"

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
#include "xdd/io/access.h"
#include "xdd/io/throttle_schedule.h"

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
