/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of a target before a pass, and dirty pages at its end; see the header.
 */
#include "run/meter/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/random.h"
#include "xdd/io/access.h"
#include "xdd/io/datamap.h"
#include "xdd/plan/plan.h"
#include "xdd/report/result.h"
#include "xdd/stat/counters.h"

#define DROP_CACHES "/proc/sys/vm/drop_caches"

/* Cells of the maps of all targets together, and of one at least. */
#define SAMPLE_CELLS 8192
#define SAMPLE_CELLS_LEAST 64

/* Operations of a pass that are looked up, where they do not follow each other. */
#define CACHE_SAMPLE_OPS 16384

static bool has_pages(const struct target_plan *t)
{
	return t->kind == TARGET_FILE || t->kind == TARGET_BLOCK || t->kind == TARGET_MISSING;
}

static void warn_of_drop(const struct target *t, int err)
{
	const struct datamap *m = &t->cache_sample.map;
	double all = 0, resident = 0, holes = 0;

	datamap_add(m, m->begin, m->end - m->begin, &all, &resident, &holes);
	if (err && err != -EOPNOTSUPP)
		target_warning(t->plan, "-dropcache: %s", strerror(-err));
	else if (all > 0 && 100 * resident / all >= rule_table[RULE_STAYED].limit)
		report_finding(t->run->report, finding_of_target(t->plan), SAYS(STAYED),
			       100 * resident / all);
}

/* The size of the target now: a file may have grown in the pass before. */
static uint64_t size_now(const struct target *t)
{
	struct stat st;

	if (t->plan->kind == TARGET_BLOCK || fstat(t->file.fd, &st) < 0)
		return t->plan->size_bytes;
	return (uint64_t)st.st_size;
}

static enum cache_accuracy cache_of(const struct target *t, bool measured)
{
	const struct datamap *m = &t->cache_sample.map;

	if (!measured)
		return CACHE_NOT_MEASURED;
	return m->cache_err ? CACHE_UNKNOWN : m->cache_sampled ? CACHE_SAMPLED : CACHE_EXACT;
}

void cache_sample_take(struct target *t)
{
	const struct target_plan *plan = t->plan;
	const struct plan *run = t->run->plan;
	size_t cells = SAMPLE_CELLS / run->n_targets;
	uint64_t begin, end, size;
	bool reads = plan->op == OP_READ || plan->op == OP_MIXED, memory, measured;
	int err = 0;

	cache_sample_free(&t->cache_sample);
	if (t->pass > run->passes || t->file.fd < 0 || !has_pages(plan) ||
	    (!reads && !plan->drop_cache))
		return;
	memory = pagecache_is_all(t->file.fd);
	measured = (!plan->direct_io || t->direct_ignored) && !memory;
	if (reads)
		t->cache_sample.accuracy = cache_of(t, measured);
	/* A file that is in memory only has no device that a hole could spare. */
	if (memory && !plan->drop_cache)
		return;
	plan_pass_range(plan, t->pass, &begin, &end);
	size = size_now(t);
	if (end > size)
		end = size;
	if (begin >= end)
		return;
	if (plan->drop_cache)
		err = pagecache_drop(t->file.fd);
	if (datamap_take(&t->cache_sample.map, t->file.fd, begin, end,
			 cells > SAMPLE_CELLS_LEAST ? cells : SAMPLE_CELLS_LEAST,
			 measured || plan->drop_cache, reads && plan->kind == TARGET_FILE))
		return;
	if (plan->drop_cache)
		warn_of_drop(t, err);
	if (!reads || memory)
		datamap_free(&t->cache_sample.map);
	if (reads)
		t->cache_sample.accuracy = cache_of(t, measured);
}

struct cache_sums {
	double covered, resident, holes;
};

/* Operations that follow each other: one extent, which they may go through several times. */
static void add_sequence(const struct target *t, uint64_t issued, struct cache_sums *s)
{
	const struct access *a = &t->state.access;
	const struct access_laps laps = access_laps(a, issued);
	struct cache_sums lap = { 0 };

	if (laps.whole)
		datamap_add(&t->cache_sample.map, a->base, laps.lap_bytes, &lap.covered,
			    &lap.resident, &lap.holes);
	s->covered = lap.covered * (double)laps.whole;
	s->resident = lap.resident * (double)laps.whole;
	s->holes = lap.holes * (double)laps.whole;
	datamap_add(&t->cache_sample.map, a->base, laps.rest_bytes, &s->covered, &s->resident,
		    &s->holes);
}

/*
 * Any other operations, one by one; of many, some chosen at random. Returns true when all were
 * looked up.
 */
static bool cache_add_ops(const struct target *t, uint64_t issued, struct cache_sums *s)
{
	const bool all = issued <= CACHE_SAMPLE_OPS;
	const double scale = all ? 1 : (double)issued / CACHE_SAMPLE_OPS;

	for (uint64_t i = 0; i < (all ? issued : CACHE_SAMPLE_OPS); i++) {
		uint64_t n = all ? i : random_splitmix64((i + 1) * RANDOM_GOLDEN) % issued;
		struct access_op op;

		access_op(&t->state.access, n, &op);
		if (op.dir == DIR_READ)
			datamap_add(&t->cache_sample.map, op.offset, op.size, &s->covered,
				    &s->resident, &s->holes);
	}
	s->covered *= scale;
	s->resident *= scale;
	s->holes *= scale;
	return all;
}

void cache_sample_state(const struct target *t, uint64_t issued, struct cache_state *data)
{
	const struct datamap *m = &t->cache_sample.map;
	struct cache_sums s = { 0 };
	bool exact;

	*data = (struct cache_state){ .accuracy = t->cache_sample.accuracy,
				      .holes_unknown = m->hole_err };
	if (!m->n || !issued)
		return;
	if (access_reads_in_sequence(&t->state.access)) {
		add_sequence(t, issued, &s);
		exact = datamap_is_exact(m, m->begin + (uint64_t)s.covered);
	} else {
		exact = cache_add_ops(t, issued, &s) && datamap_has_all_pages(m);
	}
	data->range_bytes = (uint64_t)(s.covered + 0.5);
	data->resident_bytes = (uint64_t)(s.resident + 0.5);
	data->hole_bytes = (uint64_t)(s.holes + 0.5);
	if (!exact && data->accuracy == CACHE_EXACT)
		data->accuracy = CACHE_SAMPLED;
}

void cache_drop_system(struct run *run)
{
	int fd = open(DROP_CACHES, O_WRONLY | O_CLOEXEC);

	sync();
	/* 3: pages, and the names and inodes that the kernel keeps. */
	if (fd < 0 || write(fd, "3\n", 2) != 2)
		log_warning("-dropcache system: %s: %s", DROP_CACHES, strerror(errno));
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < run->plan->n_targets; i++)
		cache_sample_take(&run->targets[i]);
}

void cache_sample_free(struct cache_sample *s)
{
	datamap_free(&s->map);
	s->accuracy = CACHE_EXACT;
}

/*
 * Dirty pages at the end of a pass. The kernel visits each page that it is asked about, so
 * operations are looked up one by one, a bounded number of pages each: some milliseconds, whatever
 * the size of the pass.
 */

/* Operations that are looked up, and bytes at the start of each. */
#define DIRTY_SAMPLE_OPS 1024
#define SAMPLE_BYTES (256ull << 10)

/* Few operations are looked up whole, as far as that is this much. */
#define WHOLE_BYTES (256ull << 20)

void dirty_sample_open(struct target *t)
{
	const struct target_plan *plan = t->plan;
	bool pages = plan->kind == TARGET_FILE || plan->kind == TARGET_BLOCK ||
		     plan->kind == TARGET_MISSING;

	/* The operations of a copy arrive in the order of the source. */
	t->writes_back = pages && plan_writes(plan) && !plan->sync_write && t->file.fd >= 0 &&
			 plan->endtoend.role != E2E_DESTINATION &&
			 (!plan->direct_io || t->direct_ignored) &&
			 pagecache_writes_back(t->file.fd);
}

/* The operations that the pass has issued; they are complete. */
static struct tally tally_of(const struct target *t)
{
	struct tally tally;

	tally_clear(&tally);
	for (uint32_t i = 0; i < t->plan->qthreads; i++)
		tally_add_counters(&tally, &t->qthreads[i].counters);
	return tally;
}

struct dirty_sums {
	double dirty, written; /* bytes, of the operations that were looked up */
};

/* Returns 0 or -errno. */
static int add_op(const struct target *t, uint64_t n, uint64_t most, struct dirty_sums *s)
{
	uint64_t dirty = 0, size;
	struct access_op op;
	int err;

	access_op(&t->state.access, n, &op);
	if (op.dir != DIR_WRITE || !op.size)
		return 0;
	size = op.size < most ? op.size : most;
	err = pagecache_dirty(t->file.fd, op.offset, size, &dirty);
	if (err)
		return err;
	s->dirty += (double)dirty / (double)size * (double)op.size;
	s->written += (double)op.size;
	return 0;
}

/*
 * Look up `n` of the `issued` operations. One of each n-th part is drawn at random: at a regular
 * distance they could all meet the same phase of a pattern. Returns 0 or -errno.
 */
static int dirty_add_ops(const struct target *t, uint64_t issued, uint64_t n, uint64_t most,
			 struct dirty_sums *s)
{
	int err = 0;

	for (uint64_t i = 0; i < n && !err; i++) {
		uint64_t begin = (uint64_t)((double)issued / (double)n * (double)i);
		uint64_t end = (uint64_t)((double)issued / (double)n * (double)(i + 1));
		uint64_t op = begin;

		if (end > begin + 1)
			op += random_splitmix64((i + 1) * RANDOM_GOLDEN) % (end - begin);
		err = add_op(t, op < issued ? op : issued - 1, most, s);
	}
	return err;
}

struct dirty_sample dirty_sample_take(const struct target *t)
{
	struct dirty_sample sample = { .known = false };
	struct dirty_sums s = { 0 };
	struct tally tally;
	uint64_t n, most;
	double bytes;

	if (!t->writes_back || t->file.fd < 0)
		return sample;
	tally = tally_of(t);
	n = tally.issued < DIRTY_SAMPLE_OPS ? tally.issued : DIRTY_SAMPLE_OPS;
	most = n && WHOLE_BYTES / n > SAMPLE_BYTES ? WHOLE_BYTES / n : SAMPLE_BYTES;
	if (dirty_add_ops(t, tally.issued, n, most, &s) || s.written <= 0)
		return sample;
	sample.known = true;
	sample.sampled = n < tally.issued || t->plan->req_bytes > most;
	sample.share = s.dirty / s.written;
	bytes = sample.share * (double)tally.bytes[DIR_WRITE];
	/* Pages that are written over and over are dirty once. */
	most = size_now(t);
	sample.bytes = bytes < (double)most ? (uint64_t)bytes : most;
	return sample;
}
