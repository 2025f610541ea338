/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at the data of a target before a pass and at its end: src/run/meter/sample.c, with a page
 * cache that is made here. test_datamap.c has the maps.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access_plan.h"
#include "run/meter/sample.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/io/datamap.h"

/* ---- what is called ---- */

static struct {
	bool is_all, no_write_back;
	int drop_err, take_err, dirty_err, cache_err;
	bool cache_sampled;
	double resident;      /* share */
	uint64_t dirty_below; /* bytes before this offset are dirty */

	/* recorded */
	unsigned dropped, taken, asked;
	uint64_t begin, end, most; /* of the map; bytes of an operation that are looked at */
	size_t cells;
	bool cache, holes;
	char said[200];
} fake;

static bool fake_is_all(int fd)
{
	(void)fd;
	return fake.is_all;
}

static bool fake_writes_back(int fd)
{
	(void)fd;
	return !fake.no_write_back;
}

static int fake_drop(int fd)
{
	(void)fd;
	fake.dropped++;
	return fake.drop_err;
}

static int fake_dirty(int fd, uint64_t offset, uint64_t bytes, uint64_t *dirty)
{
	(void)fd;
	fake.asked++;
	fake.most = bytes > fake.most ? bytes : fake.most;
	*dirty = offset >= fake.dirty_below	   ? 0 :
		 fake.dirty_below - offset < bytes ? fake.dirty_below - offset :
						     bytes;
	return fake.dirty_err;
}

static int fake_take(struct datamap *m, int fd, uint64_t begin, uint64_t end, size_t cells,
		     bool cache, bool holes)
{
	(void)fd;
	fake.taken++;
	fake.begin = m->begin = begin;
	fake.end = m->end = end;
	fake.cells = cells;
	fake.cache = cache;
	fake.holes = holes;
	m->cache_err = fake.cache_err;
	m->cache_sampled = fake.cache_sampled;
	return fake.take_err;
}

static void fake_add(const struct datamap *m, uint64_t offset, uint64_t bytes, double *covered,
		     double *resident, double *holes)
{
	(void)m, (void)offset, (void)holes;
	*covered += (double)bytes;
	*resident += (double)bytes * fake.resident;
}

__attribute__((format(printf, 2, 3))) static void fake_warning(const struct target_plan *t,
							       const char *fmt, ...)
{
	va_list args;

	(void)t;
	va_start(args, fmt);
	vsnprintf(fake.said, sizeof(fake.said), fmt, args);
	va_end(args);
}

#define pagecache_is_all fake_is_all
#define pagecache_writes_back fake_writes_back
#define pagecache_drop fake_drop
#define pagecache_dirty fake_dirty
#define datamap_take fake_take
#define datamap_add fake_add
#undef target_warning
#define target_warning fake_warning
#undef report_finding
#define report_finding(...) strcpy(fake.said, "finding")

#include "../../src/run/meter/sample.c"

/* ---- the run ---- */

#define FILE_OPS 5000u
#define QTHREADS 2u

static struct target_plan target_plan;
static struct plan plan;
static struct run run;
static struct target target;
static struct qthread qthreads[QTHREADS];

static int set_up(void **state)
{
	memset(&fake, 0, sizeof(fake));
	memset(&target, 0, sizeof(target));
	memset(qthreads, 0, sizeof(qthreads));
	target_plan = plan_of(SEEK_SEQUENTIAL, FILE_OPS);
	target_plan.kind = TARGET_FILE;
	target_plan.qthreads = QTHREADS;
	target_plan.extent_bytes = FILE_OPS * REQ;
	plan = (struct plan){ .n_targets = 1, .targets = &target_plan, .passes = 3 };
	run.plan = &plan;
	run.targets = &target;
	target.run = &run;
	target.plan = &target_plan;
	target.qthreads = qthreads;
	target.pass = 1;
	target.file.fd = memfd_create("target", MFD_CLOEXEC);
	assert_int_equal(ftruncate(target.file.fd, START + FILE_OPS * REQ), 0);
	for (unsigned i = 0; i < QTHREADS; i++)
		counters_reset(&qthreads[i].counters);
	return 0;
}

static int tear_down(void **state)
{
	close(target.file.fd);
	return 0;
}

#define RIG_TEST(name) TEST_SETUP_TEARDOWN(name, set_up, tear_down)

/* ---- before a pass ---- */

/* Only what has pages, and is read, is looked at. */
RIG_TEST(test_kinds)
{
	static const struct {
		enum target_kind kind;
		bool looks;
	} cases[] = {
		{ TARGET_FILE, true },	{ TARGET_BLOCK, true }, { TARGET_MISSING, true },
		{ TARGET_NULL, false }, { TARGET_CHAR, false }, { TARGET_UNKNOWN, false },
	};

	target_plan.size_bytes = START + FILE_OPS * REQ;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		target_plan.kind = cases[i].kind;
		target_plan.op = OP_READ;
		fake.taken = 0;
		cache_sample_take(&target);
		assert_int_equal(fake.taken, cases[i].looks);
		assert_true(!fake.taken || fake.holes == (cases[i].kind == TARGET_FILE));
		target_plan.op = OP_WRITE;
		dirty_sample_open(&target);
		assert_int_equal(target.writes_back, cases[i].looks);
	}
}

RIG_TEST(test_take)
{
	static const struct {
		enum op_request op;
		bool drop, direct, ignored, memory;
		uint64_t pass, size;
		size_t targets;
		unsigned taken, dropped;
		bool cache, holes;
		size_t cells;
		enum cache_accuracy accuracy;
	} cases[] = {
		{ OP_READ, 0, 0, 0, 0, 1, 9, 1, 1, 0, 1, 1, 8192, CACHE_EXACT },
		{ OP_READ, 0, 0, 0, 0, 3, 9, 127, 1, 0, 1, 1, 64, CACHE_EXACT },
		{ OP_READ, 0, 0, 0, 0, 3, 9, 126, 1, 0, 1, 1, 65, CACHE_EXACT },
		{ OP_READ, 0, 0, 0, 0, 3, 9, 900, 1, 0, 1, 1, 64, CACHE_EXACT },
		{ OP_READ, 0, 0, 0, 0, 4, 9, 1, 0, 0, 0, 0, 0, CACHE_EXACT },
		{ OP_READ, 0, 0, 0, 0, 1, 3, 1, 0, 0, 0, 0, 0, CACHE_EXACT },
		{ OP_READ, 0, 1, 0, 0, 1, 9, 1, 1, 0, 0, 1, 8192, CACHE_NOT_MEASURED },
		{ OP_READ, 0, 1, 1, 0, 1, 9, 1, 1, 0, 1, 1, 8192, CACHE_EXACT },
		{ OP_READ, 0, 0, 0, 1, 1, 9, 1, 0, 0, 0, 0, 0, CACHE_NOT_MEASURED },
		{ OP_READ, 1, 0, 0, 1, 1, 9, 1, 1, 1, 1, 1, 8192, CACHE_NOT_MEASURED },
		{ OP_READ, 1, 1, 0, 0, 1, 9, 1, 1, 1, 1, 1, 8192, CACHE_NOT_MEASURED },
		{ OP_MIXED, 0, 0, 0, 0, 1, 9, 1, 1, 0, 1, 1, 8192, CACHE_EXACT },
		{ OP_WRITE, 0, 0, 0, 0, 1, 9, 1, 0, 0, 0, 0, 0, CACHE_EXACT },
		{ OP_WRITE, 1, 0, 0, 0, 1, 9, 1, 1, 1, 1, 0, 8192, CACHE_EXACT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t size = cases[i].size * BLOCK;

		memset(&fake, 0, sizeof(fake));
		memset(&target.cache_sample, 0, sizeof(target.cache_sample));
		target_plan.op = cases[i].op;
		target_plan.drop_cache = cases[i].drop;
		target_plan.direct_io = cases[i].direct;
		target.direct_ignored = cases[i].ignored;
		fake.is_all = cases[i].memory;
		target.pass = cases[i].pass;
		plan.n_targets = cases[i].targets;
		assert_int_equal(ftruncate(target.file.fd, (off_t)size), 0);
		cache_sample_take(&target);
		assert_int_equal(fake.taken, cases[i].taken);
		assert_int_equal(fake.dropped, cases[i].dropped);
		assert_true(fake.cache == cases[i].cache && fake.holes == cases[i].holes);
		assert_int_equal(fake.cells, cases[i].cells);
		assert_int_equal(target.cache_sample.accuracy, cases[i].accuracy);
		if (fake.taken)
			assert_true(fake.begin == START && fake.end == size);
	}
}

RIG_TEST(test_accuracy)
{
	fake.cache_sampled = true;
	cache_sample_take(&target);
	assert_int_equal(target.cache_sample.accuracy, CACHE_SAMPLED);
	fake.cache_err = -EPERM;
	cache_sample_take(&target);
	assert_int_equal(target.cache_sample.accuracy, CACHE_UNKNOWN);
	cache_sample_free(&target.cache_sample);
	assert_int_equal(target.cache_sample.accuracy, CACHE_EXACT);
}

/* -dropcache: pages that stay are reported, and errors. */
RIG_TEST(test_drop)
{
	static const struct {
		int err;
		double resident;
		const char *says;
	} cases[] = {
		{ 0, 0, "" },
		{ 0, 1, "finding" },
		{ -EIO, 0, "-dropcache: Input/output error" },
		{ -EIO, 1, "-dropcache: Input/output error" },
		{ -EOPNOTSUPP, 0, "" },
		{ -EOPNOTSUPP, 1, "finding" },
	};

	target_plan.drop_cache = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.said[0] = '\0';
		fake.drop_err = cases[i].err;
		fake.resident = cases[i].resident;
		cache_sample_take(&target);
		assert_string_equal(fake.said, cases[i].says);
	}
	fake.said[0] = '\0';
	fake.take_err = -ENOMEM;
	cache_sample_take(&target);
	assert_string_equal(fake.said, "");
}

/* ---- at its end ---- */

static struct dirty_sample dirty(uint64_t ops)
{
	target_plan.op = OP_WRITE;
	target.file.buffered_fd = -1;
	access_init(&target.state.access, &target_plan, 1);
	dirty_sample_open(&target);
	for (unsigned i = 0; i < QTHREADS; i++) {
		const uint64_t own = i ? ops / 2 : ops - ops / 2;

		counters_set(&qthreads[i].counters.issued, own);
		atomic_store(&qthreads[i].counters.bytes[DIR_WRITE], own * target_plan.req_bytes);
	}
	fake.asked = 0;
	fake.most = 0;
	return dirty_sample_take(&target);
}

/* Up to 1024 operations are looked up, each of them whole where they are few or small. */
RIG_TEST(test_dirty)
{
	static const struct {
		uint64_t ops, req_bytes;
		unsigned asked;
		uint64_t most;
		bool sampled;
	} cases[] = {
		{ 1, 4096, 1, 4096, false },
		{ 1023, 4096, 1023, 4096, false },
		{ 1024, 4096, 1024, 4096, false },
		{ 1025, 4096, 1024, 4096, true },
		{ 1, 256ull << 20, 1, 256ull << 20, false },
		{ 1, (256ull << 20) + 1024, 1, 256ull << 20, true },
		{ 1024, 256ull << 10, 1024, 256ull << 10, false },
		{ 1024, 257ull << 10, 1024, 256ull << 10, true },
		{ 512, 512ull << 10, 512, 512ull << 10, false },
		{ 512, 513ull << 10, 512, 512ull << 10, true },
	};
	struct dirty_sample s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		target_plan.req_bytes = cases[i].req_bytes;
		target_plan.req_blocks = cases[i].req_bytes / BLOCK;
		target_plan.last_op_bytes = cases[i].req_bytes;
		fake.dirty_below = UINT64_MAX;
		s = dirty(cases[i].ops);
		assert_true(s.known && s.share == 1);
		assert_int_equal(fake.asked, cases[i].asked);
		assert_int_equal(fake.most, cases[i].most);
		assert_int_equal(s.sampled, cases[i].sampled);
		assert_int_equal(s.bytes,
				 cases[i].ops * cases[i].req_bytes < START + FILE_OPS * REQ ?
					 cases[i].ops * cases[i].req_bytes :
					 START + FILE_OPS * REQ);
	}
}

RIG_TEST(test_dirty_share)
{
	struct dirty_sample s;

	fake.dirty_below = START + 10 * REQ + REQ / 4;
	s = dirty(41);
	assert_true(s.known && s.bytes == 10 * REQ + REQ / 4 && !s.sampled);
	assert_true(s.share == 0.25);
	/* A pass that has issued nothing; and what cannot be known. */
	s = dirty(0);
	assert_true(!s.known && !fake.asked);
	fake.dirty_err = -ENOSYS;
	s = dirty(41);
	assert_true(!s.known && fake.asked == 1);
	fake.dirty_err = 0;
	fake.no_write_back = true;
	s = dirty(41);
	assert_true(!s.known && !fake.asked);
}

RIG_TEST(test_writes_back)
{
	target_plan.op = OP_WRITE;
	dirty_sample_open(&target);
	assert_true(target.writes_back);
	target_plan.direct_io = true;
	dirty_sample_open(&target);
	assert_false(target.writes_back);
	target.direct_ignored = true;
	dirty_sample_open(&target);
	assert_true(target.writes_back);
	target_plan.sync_write = true;
	dirty_sample_open(&target);
	assert_false(target.writes_back);
	target_plan.sync_write = false;
	target_plan.endtoend.role = E2E_DESTINATION;
	dirty_sample_open(&target);
	assert_false(target.writes_back);
	target_plan.endtoend.role = E2E_SOURCE;
	target_plan.op = OP_READ;
	dirty_sample_open(&target);
	assert_false(target.writes_back);
}

RUN_TESTS(NULL, NULL)
