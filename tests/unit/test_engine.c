/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registry of engines, and batches of requests: src/io/engine.c. test_engine_psync.c,
 * test_engine_mmap.c and test_engine_queues.c have the engines.
 */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

#include "engines.h"
#include "xdd/base/err.h"
#include "xdd/io/engine.h"
#include "xdd/plan/plan.h"

TEST(test_registry)
{
	size_t n = 0;

	for (; engine_registry[n]; n++) {
		const struct engine *e = engine_from(engine_registry[n]);
		struct err why = { 0 };

		assert_string_equal(e->info.name, e->info.row.name);
		assert_ptr_equal(engine_named(e->info.name), &e->info);
		if (e->info.available && e->info.available(&why)) {
			assert_true(err_is_set(&why));
			continue;
		}
		assert_non_null(e->submit);
		assert_true((e->reap != NULL) == !!(e->info.caps & ENGINE_QUEUES));
	}
	assert_true(n >= 7);
	assert_null(engine_named("no such engine"));
	assert_null(engine_named(""));
	assert_int_equal(engine_named("psync")->caps, ENGINE_OWN_FILE | ENGINE_DISCARDS);
	assert_int_equal(engine_named("mmap")->caps, ENGINE_MAPS);
	assert_int_equal(engine_named("stdio")->caps, ENGINE_OPENS | ENGINE_BUFFERS);
	assert_int_equal(engine_named("null")->caps, ENGINE_NO_DATA | ENGINE_DISCARDS);
	assert_int_equal(engine_named("sg")->caps, ENGINE_SCSI | ENGINE_OPENS);
	assert_int_equal(engine_named("libaio")->caps, ENGINE_QUEUES | ENGINE_DIRECT);
	assert_int_equal(engine_named("io_uring")->caps, ENGINE_QUEUES | ENGINE_DIRECT |
								 ENGINE_REORDERS | ENGINE_OPENS |
								 ENGINE_DISCARDS);
}

TEST(test_engine_of)
{
	struct target_plan plan = { .kind = TARGET_FILE };
	struct err why;

	assert_string_equal(plan_engine(&plan)->name, "psync");
	plan.engine = engine_named("mmap");
	plan.engine_options = engine_options("mmap", "");
	assert_string_equal(plan_engine(&plan)->name, "mmap");
	assert_int_equal(plan_engine_caps(&plan), ENGINE_MAPS);
	plan.engine_options = engine_options("mmap", "touch");
	assert_int_equal(plan_engine_caps(&plan), ENGINE_MAPS | ENGINE_NO_DATA | ENGINE_NO_PATTERN);
	plan.engine = engine_named("stdio");
	plan.engine_options = engine_options("stdio", "unbuffered");
	assert_int_equal(plan_engine_caps(&plan), ENGINE_OPENS);
	plan.kind = TARGET_NULL;
	assert_string_equal(plan_engine(&plan)->name, "null");
	assert_int_equal(plan_engine_caps(&plan), ENGINE_NO_DATA | ENGINE_DISCARDS);
	assert_int_equal(engine_check(&plan, &why), 0);
}

/* The last engine of the registry that queues requests and that this kernel has. */
TEST(test_queueing)
{
	const struct engine_info *last = NULL;
	struct err why;

	for (size_t i = 0; engine_registry[i]; i++) {
		if (engine_registry[i]->caps & ENGINE_QUEUES &&
		    !engine_available(engine_registry[i], NULL))
			last = engine_registry[i];
	}
	assert_ptr_equal(engine_queueing(&why), last);
}

/*
 * The parser knows a keyword by its name alone: engines that share one have the
 * same arguments.
 */
TEST(test_keywords)
{
	size_t shared = 0;

	for (size_t i = 0; engine_registry[i]; i++) {
		const struct option *row = engine_registry[i]->keywords;

		for (; row && row->name; row++) {
			assert_null(engine_named(row->name));
			assert_true(row->off < engine_registry[i]->options_size);
			for (size_t j = 0; j < i; j++) {
				const struct option *other =
					engine_registry[j]->keywords ?
						option_find_in(engine_registry[j]->keywords,
							       row->name) :
						NULL;

				if (!other)
					continue;
				shared++;
				assert_int_equal(other->type, row->type);
				assert_int_equal(other->min, row->min);
				assert_int_equal(other->max, row->max);
				assert_ptr_equal(other->arity, row->arity);
				assert_ptr_equal(other->choices, row->choices);
			}
		}
	}
	assert_int_equal(shared, 1); /* batch */
}

TEST(test_names)
{
	char text[64];

	assert_string_equal(engine_names(ENGINE_QUEUES, 0, text, sizeof(text)),
			    "libaio or io_uring");
	assert_string_equal(engine_names(ENGINE_QUEUES | ENGINE_REORDERS, 0, text, sizeof(text)),
			    "io_uring");
	assert_string_equal(engine_names(ENGINE_QUEUES, ENGINE_REORDERS, text, sizeof(text)),
			    "libaio");
	assert_string_equal(engine_names(ENGINE_QUEUES | ENGINE_MAPS, 0, text, sizeof(text)), "");
}

TEST(test_list)
{
	char text[4096] = "";
	FILE *f = tmpfile();
	int saved = dup(STDOUT_FILENO);
	size_t n;

	assert_non_null(f);
	fflush(stdout);
	dup2(fileno(f), STDOUT_FILENO);
	engine_print_list();
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	for (size_t i = 0; engine_registry[i]; i++) {
		const struct engine *e = engine_from(engine_registry[i]);
		struct err why = { 0 };

		assert_non_null(strstr(text, e->info.name));
		assert_non_null(strstr(text, e->info.row.help));
		if (e->info.available && e->info.available(&why))
			assert_non_null(strstr(text, why.text));
	}
	assert_non_null(strstr(text, "psync     yes  "));
}

TEST(test_batch)
{
	struct target_plan target = { .qthreads = 1, .ordering = ORDERING_STRICT };
	struct engine_params params = { .target = &target };
	static const struct {
		unsigned depth, least;
	} cases[] = { { 1, 1 }, { 31, 1 }, { 32, 2 }, { 128, 8 }, { 65536, 8 } };
	struct engine_batch b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		params.depth = cases[i].depth;
		engine_batch_init(&b, &params, 0);
		assert_int_equal(b.size, cases[i].least);
		assert_int_equal(b.most, params.depth);
		engine_batch_init(&b, &params, 5);
		assert_int_equal(b.size, 5);
		assert_int_equal(b.most, 5);
	}
	target.qthreads = 2;
	engine_batch_init(&b, &params, 5);
	assert_int_equal(b.size, 1);
	assert_int_equal(b.most, 1);
}

/*
 * A device that returns all that it has gets all at a time; one that does not gets little, and at
 * once when idle.
 */
TEST(test_batch_follows)
{
	struct target_plan target = { .qthreads = 1 };
	struct engine_params params = { .target = &target, .depth = 36 };
	struct engine_batch b;

	engine_batch_init(&b, &params, 0);
	assert_true(engine_batch_is_due(&b, 1, 0));
	assert_false(engine_batch_is_due(&b, 1, 1));
	assert_true(engine_batch_is_due(&b, 2, 1));
	for (unsigned size = 4; size <= 32; size *= 2) {
		engine_batch_adapt(&b, 36, 36);
		assert_int_equal(b.size, size);
	}
	engine_batch_adapt(&b, 36, 36);
	assert_int_equal(b.size, 36);
	assert_false(engine_batch_is_due(&b, 35, 0));
	/* Few requests say nothing about many. */
	engine_batch_adapt(&b, 1, 1);
	assert_int_equal(b.size, 36);
	engine_batch_adapt(&b, 35, 36);
	assert_int_equal(b.size, 2);
	engine_batch_adapt(&b, 1, 1);
	assert_int_equal(b.size, 2);
}

/* A size that the user asked for neither grows nor shrinks, and holds for a device that is idle. */
TEST(test_batch_fixed)
{
	struct target_plan target = { .qthreads = 1 };
	struct engine_params params = { .target = &target, .depth = 32 };
	struct engine_batch b;

	engine_batch_init(&b, &params, 5);
	assert_false(engine_batch_is_due(&b, 4, 0));
	assert_true(engine_batch_is_due(&b, 5, 0));
	engine_batch_adapt(&b, 32, 32);
	assert_int_equal(b.size, 5);
	engine_batch_adapt(&b, 1, 32);
	assert_int_equal(b.size, 5);
}

/*
 * Adjacent requests, which the kernel would merge, are in one batch only where the user chose its
 * size.
 */
TEST(test_batch_ends)
{
	struct target_plan target = { .qthreads = 1 };
	struct engine_params params = { .target = &target, .depth = 32 };
	static const struct {
		uint64_t offset, size;
		bool ends;
	} cases[] = {
		{ 0x8000, 0x1000, false }, { 0x9000, 0x1000, true },  { 0xb000, 0x1000, false },
		{ 0xa800, 0x800, true },   { 0xb000, 0x1000, true },  { 0xb000, 0x1000, false },
		{ 0xb800, 0x1000, false }, { 0x20000, 0x800, false },
	};
	struct engine_batch adaptive, chosen;

	engine_batch_init(&adaptive, &params, 0);
	engine_batch_init(&chosen, &params, 5);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct io_request req = { .offset = cases[i].offset, .size = cases[i].size };

		assert_int_equal(engine_batch_ends(&adaptive, &req), cases[i].ends);
		assert_false(engine_batch_ends(&chosen, &req));
	}
}

static int shm_errno;
static int shm_flags;
static size_t shm_bytes;

/* The kernel refuses each segment of shared memory. */
int shmget(key_t shm_key, size_t size, int flags)
{
	assert_int_equal(shm_key, IPC_PRIVATE);
	shm_bytes = size;
	shm_flags = flags;
	errno = shm_errno;
	return -1;
}

/* The message names the setting that helps; other errors have none. */
TEST(test_no_segment)
{
	static const struct {
		int err;
		bool huge;
		const char *why;
	} cases[] = {
		{ EPERM, true,
		  "-sharedmemory -hugepages: the kernel wants the right to lock memory, or the group of "
		  "the sysctl vm.hugetlb_shm_group" },
		{ EPERM, false, "" },
		{ ENOMEM, true,
		  "-sharedmemory -hugepages: not enough huge pages are left; see the sysctl "
		  "vm.nr_hugepages" },
		{ ENOMEM, false, "" },
		{ EINVAL, true,
		  "-sharedmemory: a segment may not be so large; see the sysctl kernel.shmmax" },
		{ EINVAL, false,
		  "-sharedmemory: a segment may not be so large; see the sysctl kernel.shmmax" },
		{ ENOSPC, true,
		  "-sharedmemory: no segment is left; see the sysctls kernel.shmmni and kernel.shmall" },
		{ ENOSPC, false,
		  "-sharedmemory: no segment is left; see the sysctls kernel.shmmni and kernel.shmall" },
		{ ENFILE, true, "" },
		{ ENFILE, false, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct memory_plan plan = { .shared = true,
						  .huge_pages = cases[i].huge,
						  .page_bytes = 4096 };
		struct err why = { 0 };
		struct io_buffer b;

		shm_errno = cases[i].err;
		assert_int_equal(io_buffer_alloc(&b, 5000, &plan, false, &why), -cases[i].err);
		assert_string_equal(why.text, cases[i].why);
		assert_int_equal(shm_bytes, 8192);
		assert_int_equal(shm_flags, IPC_CREAT | 0600 | (cases[i].huge ? SHM_HUGETLB : 0));
		assert_null(b.data);
	}
}

RUN_TESTS(NULL, NULL)
