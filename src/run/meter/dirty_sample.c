/*
 * Dirty pages at the end of a pass; see the header.
 *
 * The kernel visits each page that it is asked about, so operations are looked up one by one, a
 * bounded number of pages each: some milliseconds, whatever the size of the pass.
 */
#include "run/meter/dirty_sample.h"

#include <sys/stat.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/random.h"
#include "xdd/io/access.h"
#include "xdd/io/pagecache.h"
#include "xdd/plan/plan.h"
#include "xdd/stat/counters.h"

/* Operations that are looked up, and bytes at the start of each. */
#define SAMPLE_OPS 1024
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

/* Pages that are written over and over are dirty once. */
static uint64_t most_bytes(const struct target *t)
{
	struct stat st;

	if (t->plan->kind == TARGET_BLOCK || fstat(t->file.fd, &st) < 0)
		return t->plan->size_bytes;
	return (uint64_t)st.st_size;
}

struct sums {
	double dirty, written; /* bytes, of the operations that were looked up */
};

/* Returns 0 or -errno. */
static int add_op(const struct target *t, uint64_t n, uint64_t most, struct sums *s)
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
static int add_ops(const struct target *t, uint64_t issued, uint64_t n, uint64_t most,
		   struct sums *s)
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
	struct sums s = { 0 };
	struct tally tally;
	uint64_t n, most;
	double bytes;

	if (!t->writes_back || t->file.fd < 0)
		return sample;
	tally = tally_of(t);
	n = tally.issued < SAMPLE_OPS ? tally.issued : SAMPLE_OPS;
	most = n && WHOLE_BYTES / n > SAMPLE_BYTES ? WHOLE_BYTES / n : SAMPLE_BYTES;
	if (add_ops(t, tally.issued, n, most, &s) || s.written <= 0)
		return sample;
	sample.known = true;
	sample.sampled = n < tally.issued || t->plan->req_bytes > most;
	sample.share = s.dirty / s.written;
	bytes = sample.share * (double)tally.bytes[DIR_WRITE];
	sample.bytes = bytes < (double)most_bytes(t) ? (uint64_t)bytes : most_bytes(t);
	return sample;
}
