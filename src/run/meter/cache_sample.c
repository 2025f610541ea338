/*
 * The data of a target before a pass; see the header.
 */
#include "run/meter/cache_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/random.h"
#include "xdd/io/access.h"
#include "xdd/io/datamap.h"
#include "xdd/io/pagecache.h"
#include "xdd/plan/plan.h"
#include "xdd/report/finding.h"
#include "xdd/report/result.h"

#define DROP_CACHES "/proc/sys/vm/drop_caches"

/* Cells of the maps of all targets together, and of one at least. */
#define SAMPLE_CELLS 8192
#define SAMPLE_CELLS_LEAST 64

/* Operations of a pass that are looked up, where they do not follow each other. */
#define SAMPLE_OPS 16384

/* Pages that -dropcache did not drop, in percent, from which it warns. */
#define STAYED_WARN 10.0

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
		log_warning("target %u, %s: -dropcache: %s", t->plan->number, t->plan->path,
			    strerror(-err));
	else if (all > 0 && 100 * resident / all >= STAYED_WARN)
		report_finding(
			t->run->report, FINDING_CACHED, t->plan->number,
			"target %u, %s: -dropcache: %.0f %% of the pages stayed: another process "
			"uses or has locked them",
			t->plan->number, t->plan->path, 100 * resident / all);
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
	uint64_t begin, end;
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
	plan_pass_range(plan, t->pass, &begin, &end);
	if (end > size_now(t))
		end = size_now(t);
	if (begin >= end)
		return;
	if (plan->drop_cache)
		err = pagecache_drop(t->file.fd, begin, end - begin);
	/* A file that is in memory only has no device that a hole could spare. */
	if (memory && !plan->drop_cache)
		return;
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

struct sums {
	double covered, resident, holes;
};

/* Operations that follow each other: one extent, which they may go through several times. */
static void add_sequence(const struct target *t, uint64_t issued, struct sums *s)
{
	const struct access *a = &t->state.access;
	const struct access_laps laps = access_laps(a, issued);
	struct sums lap = { 0 };

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
static bool add_ops(const struct target *t, uint64_t issued, struct sums *s)
{
	const bool all = issued <= SAMPLE_OPS;
	const double scale = all ? 1 : (double)issued / SAMPLE_OPS;

	for (uint64_t i = 0; i < (all ? issued : SAMPLE_OPS); i++) {
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
	struct sums s = { 0 };
	bool exact;

	*data = (struct cache_state){ .accuracy = t->cache_sample.accuracy,
				      .holes_unknown = m->hole_err };
	if (!m->n || !issued)
		return;
	if (access_reads_in_sequence(&t->state.access)) {
		add_sequence(t, issued, &s);
		exact = datamap_is_exact(m, m->begin + (uint64_t)s.covered);
	} else {
		exact = add_ops(t, issued, &s) && datamap_has_all_pages(m);
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
