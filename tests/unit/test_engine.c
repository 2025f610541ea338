/*
 * Engines: src/io/engine.c, and those that complete inside submit: engine_psync.c, engine_null.c,
 * engine_mmap.c. test_engine_queues.c has the others, and all of them side by side.
 *
 * pread and pwrite are this file's own: they can be told to fail, to be interrupted and to move
 * less than asked for, which no file does at will.
 */
#undef _FORTIFY_SOURCE /* it would have its own pread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engines.h"
#include "xdd/io/engine.h"

#define SIZE 10000

static char path[] = "/tmp/xdd-test-engine-XXXXXX";
static int fd;
static unsigned char buf[SIZE], data[SIZE];

/*
 * Results of the next calls: at most so many bytes, an error (negative), 0; then as the kernel
 * does.
 */
static const ssize_t *script;
static size_t script_left;
static unsigned calls;

/* Returns true when the call is to be made, with `size` cut. */
static bool next_step(size_t *size, ssize_t *ret)
{
	ssize_t step;

	calls++;
	if (!script_left)
		return true;
	script_left--;
	step = *script++;
	if (step > 0) {
		*size = (size_t)step < *size ? (size_t)step : *size;
		return true;
	}
	*ret = step ? -1 : 0;
	errno = (int)-step;
	return false;
}

ssize_t pread(int file, void *to, size_t size, off_t offset)
{
	ssize_t ret;

	return next_step(&size, &ret) ? syscall(SYS_pread64, file, to, size, offset) : ret;
}

ssize_t pwrite(int file, const void *from, size_t size, off_t offset)
{
	ssize_t ret;

	return next_step(&size, &ret) ? syscall(SYS_pwrite64, file, from, size, offset) : ret;
}

/* The size that files seem to have; 0: as they are. */
static off_t pretended_size;

int fstat(int file, struct stat *st)
{
	int ret = fstatat(file, "", st, AT_EMPTY_PATH);

	if (!ret && pretended_size)
		st->st_size = pretended_size;
	return ret;
}

static int make_file(void **state)
{
	(void)state;
	fd = mkstemp(path);
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (unsigned char)(i * 7 + i / 256);
	return fd < 0 ? -1 : 0;
}

static int remove_file(void **state)
{
	(void)state;
	close(fd);
	return unlink(path);
}

/* The file as it is at the start of each test. */
static int refill(void **state)
{
	(void)state;
	script_left = 0;
	calls = 0;
	memset(buf, 0, sizeof(buf));
	return ftruncate(fd, 0) || syscall(SYS_pwrite64, fd, data, SIZE, 0) != SIZE;
}

/* Run one request in a context of its own, for `file`. */
static void submit_to(const char *name, int file, struct io_request *req)
{
	const struct engine *e = engine_find(name);
	const struct target_plan plan = { .op = OP_MIXED, .kind = TARGET_FILE };
	const struct engine_params params = { .target = &plan, .fd = file, .depth = 1 };
	void *ctx = NULL;

	if (e->init)
		assert_int_equal(e->init(&ctx, &params), 0);
	io_request_reset(req);
	assert_int_equal(e->submit(ctx, req), 0);
	if (e->fini)
		e->fini(ctx);
}

static void submit(const char *name, struct io_request *req)
{
	submit_to(name, fd, req);
}

static struct io_request request(enum op_dir dir, uint64_t offset, uint64_t size)
{
	return (struct io_request){ .dir = dir, .buf = buf, .offset = offset, .size = size };
}

/* Run one request with the calls scripted. */
static void scripted(struct io_request *req, const ssize_t *steps, size_t n)
{
	script = steps;
	script_left = n;
	calls = 0;
	submit("psync", req);
}

static void test_registry(void **state)
{
	size_t n = 0;

	(void)state;
	for (; engine_registry[n]; n++) {
		const struct engine *e = engine_from(engine_registry[n]);
		const char *why = NULL;

		assert_string_equal(e->info.name, e->info.row.name);
		assert_ptr_equal(engine_named(e->info.name), &e->info);
		if (e->available && e->available(&why)) {
			assert_non_null(why);
			continue;
		}
		assert_non_null(e->submit);
		assert_true((e->reap != NULL) == !!(e->info.caps & ENGINE_QUEUES));
	}
	assert_true(n >= 6);
	assert_null(engine_named("no such engine"));
	assert_null(engine_named(""));
	assert_int_equal(engine_named("psync")->caps, ENGINE_OWN_FILE);
	assert_int_equal(engine_named("mmap")->caps, ENGINE_MAPS);
	assert_int_equal(engine_named("null")->caps, ENGINE_NO_DATA);
	assert_int_equal(engine_named("sg")->caps, ENGINE_SCSI | ENGINE_OPENS);
	assert_int_equal(engine_named("libaio")->caps, ENGINE_QUEUES | ENGINE_DIRECT);
	assert_int_equal(engine_named("io_uring")->caps,
			 ENGINE_QUEUES | ENGINE_DIRECT | ENGINE_REORDERS | ENGINE_OPENS);
}

static void test_engine_of(void **state)
{
	struct target_plan plan = { .kind = TARGET_FILE };
	const char *why;

	(void)state;
	assert_string_equal(plan_engine(&plan)->name, "psync");
	plan.engine = engine_named("mmap");
	plan.engine_options = engine_options("mmap", "");
	assert_string_equal(plan_engine(&plan)->name, "mmap");
	assert_int_equal(plan_engine_caps(&plan), ENGINE_MAPS);
	plan.engine_options = engine_options("mmap", "touch");
	assert_int_equal(plan_engine_caps(&plan), ENGINE_MAPS | ENGINE_NO_DATA | ENGINE_NO_PATTERN);
	plan.kind = TARGET_NULL;
	assert_string_equal(plan_engine(&plan)->name, "null");
	assert_int_equal(plan_engine_caps(&plan), ENGINE_NO_DATA);
	assert_int_equal(engine_check(&plan, &why), 0);
}

/*
 * The parser knows a keyword by its name alone: engines that share one have the
 * same arguments.
 */
static void test_keywords(void **state)
{
	size_t shared = 0;

	(void)state;
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

static void test_names(void **state)
{
	char text[64];

	(void)state;
	assert_string_equal(engine_names(ENGINE_QUEUES, 0, text, sizeof(text)),
			    "libaio or io_uring");
	assert_string_equal(engine_names(ENGINE_QUEUES | ENGINE_REORDERS, 0, text, sizeof(text)),
			    "io_uring");
	assert_string_equal(engine_names(ENGINE_QUEUES, ENGINE_REORDERS, text, sizeof(text)),
			    "libaio");
	assert_string_equal(engine_names(ENGINE_QUEUES | ENGINE_MAPS, 0, text, sizeof(text)), "");
}

static void test_list(void **state)
{
	char text[4096] = "";
	FILE *f = tmpfile();
	int saved = dup(STDOUT_FILENO);
	size_t n;

	(void)state;
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
		const char *why = NULL;

		assert_non_null(strstr(text, e->info.name));
		assert_non_null(strstr(text, e->info.row.help));
		if (e->available && e->available(&why))
			assert_non_null(strstr(text, why));
	}
	assert_non_null(strstr(text, "psync     yes  "));
}

static void test_batch(void **state)
{
	struct target_plan target = { .qthreads = 1, .ordering = ORDERING_STRICT };
	struct engine_params params = { .target = &target };
	static const struct {
		unsigned depth, least;
	} cases[] = { { 1, 1 }, { 31, 1 }, { 32, 2 }, { 128, 8 }, { 65536, 8 } };
	struct engine_batch b;

	(void)state;
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
static void test_batch_follows(void **state)
{
	struct target_plan target = { .qthreads = 1 };
	struct engine_params params = { .target = &target, .depth = 36 };
	struct engine_batch b;

	(void)state;
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
static void test_batch_fixed(void **state)
{
	struct target_plan target = { .qthreads = 1 };
	struct engine_params params = { .target = &target, .depth = 32 };
	struct engine_batch b;

	(void)state;
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
static void test_batch_ends(void **state)
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

	(void)state;
	engine_batch_init(&adaptive, &params, 0);
	engine_batch_init(&chosen, &params, 5);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct io_request req = { .offset = cases[i].offset, .size = cases[i].size };

		assert_int_equal(engine_batch_ends(&adaptive, &req), cases[i].ends);
		assert_false(engine_batch_ends(&chosen, &req));
	}
}

static void test_null(void **state)
{
	(void)state;
	for (int dir = 0; dir < DIR_COUNT; dir++) {
		struct io_request req = { .dir = (enum op_dir)dir, .size = 1ull << 40 };

		submit_to("null", -1, &req);
		assert_int_equal(req.done, 1ull << 40);
		assert_int_equal(req.error, 0);
	}
}

static void test_transfers(void **state)
{
	struct io_request req = request(DIR_READ, 100, 5000);

	(void)state;
	submit("psync", &req);
	assert_int_equal(req.done, 5000);
	assert_int_equal(req.error, 0);
	assert_memory_equal(buf, data + 100, 5000);
	assert_int_equal(calls, 1);

	req = request(DIR_WRITE, SIZE + 50, 5000);
	submit("psync", &req);
	assert_int_equal(req.done, 5000);
	assert_int_equal(req.error, 0);
	memset(buf, 0, sizeof(buf));
	req = request(DIR_READ, SIZE + 50, 5000);
	submit("psync", &req);
	assert_int_equal(req.error, 0);
	assert_memory_equal(buf, data + 100, 5000);
}

static void test_noop(void **state)
{
	struct io_request req = request(DIR_NOOP, 0, 5000);

	(void)state;
	submit_to("psync", -1, &req);
	assert_int_equal(req.done, 5000);
	assert_int_equal(req.error, 0);
	assert_int_equal(calls, 0);
}

static void test_short_transfers(void **state)
{
	static const ssize_t steps[] = { 1, 100, -EINTR, 2000, -EINTR };
	struct io_request req = request(DIR_READ, 10, 6000);

	(void)state;
	scripted(&req, steps, 5);
	assert_int_equal(req.done, 6000);
	assert_int_equal(req.error, 0);
	assert_int_equal(calls, 6);
	assert_memory_equal(buf, data + 10, 6000);

	req = request(DIR_WRITE, SIZE, 6000);
	scripted(&req, steps, 5);
	assert_int_equal(req.done, 6000);
	assert_int_equal(req.error, 0);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(syscall(SYS_pread64, fd, buf, SIZE, SIZE), 6000);
	assert_memory_equal(buf, data + 10, 6000);
}

static void test_end_of_file(void **state)
{
	struct io_request req = request(DIR_READ, SIZE - 300, 1000);

	(void)state;
	submit("psync", &req);
	assert_int_equal(req.done, 300);
	assert_int_equal(req.error, -ENODATA);
	assert_memory_equal(buf, data + SIZE - 300, 300);
	req = request(DIR_READ, SIZE, 1000);
	submit("psync", &req);
	assert_int_equal(req.done, 0);
	assert_int_equal(req.error, -ENODATA);
}

static void check_script(enum op_dir dir, const ssize_t *steps, size_t n, uint64_t done, int error)
{
	struct io_request req = request(dir, 0, 4000);

	scripted(&req, steps, n);
	assert_int_equal(req.done, done);
	assert_int_equal(req.error, error);
	assert_int_equal(calls, n);
}

static void test_errors(void **state)
{
	static const ssize_t eio[] = { 1000, -EIO }, eagain[] = { -EAGAIN }, zero[] = { 512, 0 };
	static const ssize_t einval[] = { -EINVAL }, partly[] = { 904, -EINVAL };
	struct io_request req = request(DIR_READ, 0, 100);

	(void)state;
	for (int dir = DIR_READ; dir <= DIR_WRITE; dir++) {
		check_script((enum op_dir)dir, eio, 2, 1000, -EIO);
		check_script((enum op_dir)dir, eagain, 1, 0, -EAGAIN);
		check_script((enum op_dir)dir, einval, 1, 0, -EINVAL);
	}
	check_script(DIR_READ, zero, 2, 512, -ENODATA);
	check_script(DIR_WRITE, zero, 2, 512, -ENOSPC);
	check_script(DIR_READ, partly, 2, 904, -ENODATA); /* a direct read of the last sector */
	check_script(DIR_WRITE, partly, 2, 904, -EINVAL);

	submit_to("psync", -1, &req);
	assert_int_equal(req.done, 0);
	assert_int_equal(req.error, -EBADF);
	req = request(DIR_READ, UINT64_MAX - 4096, 100);
	scripted(&req, NULL, 0);
	assert_int_equal(req.error, -EINVAL);
}

/* A real one, where the file system can. */
static void test_direct_end_of_file(void **state)
{
	struct io_request req;
	void *aligned = NULL;
	int direct = open(path, O_RDONLY | O_DIRECT);

	(void)state;
	if (direct < 0)
		skip();
	assert_int_equal(posix_memalign(&aligned, 4096, 8192), 0);
	req = (struct io_request){ .dir = DIR_READ, .buf = aligned, .offset = 8192, .size = 8192 };
	submit_to("psync", direct, &req);
	close(direct);
	assert_int_equal(req.done, SIZE - 8192);
	assert_int_equal(req.error, -ENODATA);
	assert_memory_equal(aligned, data + 8192, SIZE - 8192);
	free(aligned);
}

/* ---- mmap ---- */

static struct target_plan mapped_plan(enum op_request op)
{
	return (struct target_plan){
		.path = path,
		.kind = TARGET_FILE,
		.engine = engine_named("mmap"),
		.engine_options = engine_options("mmap", ""),
		.op = op,
		.size_bytes = SIZE,
		.block_size = 1,
		.req_bytes = 1000,
		.pass_ops = 10,
		.pass_bytes = SIZE,
		.last_op_bytes = 1000,
		.queue_depth = 1,
	};
}

static void *map_open(const struct target_plan *plan, int file)
{
	const struct engine_params params = { .target = plan, .fd = file, .depth = 1 };
	void *ctx = NULL;

	assert_int_equal(engine_find("mmap")->init(&ctx, &params), 0);
	return ctx;
}

static void map_run(void *ctx, struct io_request *req, uint64_t done, int error)
{
	io_request_reset(req);
	assert_int_equal(engine_find("mmap")->submit(ctx, req), 0);
	assert_int_equal(req->done, done);
	assert_int_equal(req->error, error);
}

static void test_mmap_transfers(void **state)
{
	const struct target_plan plan = mapped_plan(OP_MIXED);
	struct io_request req = request(DIR_READ, 100, 5000);
	unsigned char back[SIZE];
	int writable = open(path, O_WRONLY); /* as for -op write */
	void *ctx = map_open(&plan, writable);

	(void)state;
	map_run(ctx, &req, 5000, 0);
	assert_memory_equal(buf, data + 100, 5000);
	req = request(DIR_WRITE, 4000, 5000);
	map_run(ctx, &req, 5000, 0);
	assert_int_equal(syscall(SYS_pread64, fd, back, SIZE, 0), SIZE);
	assert_memory_equal(back + 4000, data + 100, 5000);
	assert_memory_equal(back, data, 4000);
	req = request(DIR_NOOP, 1ull << 50, 5000);
	map_run(ctx, &req, 5000, 0);

	req = request(DIR_READ, SIZE - 300, 1000);
	map_run(ctx, &req, 300, -ENODATA);
	req = request(DIR_READ, SIZE, 1000);
	map_run(ctx, &req, 0, -ENODATA);
	req = request(DIR_READ, UINT64_MAX - 10, 1000);
	map_run(ctx, &req, 0, -ENODATA);
	req = request(DIR_WRITE, SIZE - 300, 1000);
	map_run(ctx, &req, 300, -ENOSPC);
	engine_find("mmap")->fini(ctx);
	close(writable);
}

static void test_mmap_touch(void **state)
{
	struct target_plan plan = mapped_plan(OP_MIXED);
	struct io_request req = request(DIR_READ, 100, 9000);
	unsigned char back[SIZE];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), changed = 0;
	void *ctx;

	(void)state;
	plan.engine_options = engine_options("mmap", "touch");
	ctx = map_open(&plan, fd);
	map_run(ctx, &req, 9000, 0);
	assert_int_equal(buf[0], 0);

	memset(buf, 0xee, sizeof(buf));
	req = request(DIR_WRITE, 100, 9000);
	map_run(ctx, &req, 9000, 0);
	engine_find("mmap")->fini(ctx);
	assert_int_equal(syscall(SYS_pread64, fd, back, SIZE, 0), SIZE);
	for (size_t i = 0; i < SIZE; i++) {
		changed += back[i] != data[i];
		if (back[i] != data[i])
			assert_true(i == 100 || i % page == 0);
	}
	assert_true(changed >= 1 && changed <= 1 + 9000 / page);
}

/* The pages after the new end of a file are gone: reading them is a SIGBUS. */
static void test_mmap_truncated(void **state)
{
	const struct target_plan plan = mapped_plan(OP_MIXED);
	struct io_request req = request(DIR_READ, 0, SIZE);
	void *ctx = map_open(&plan, fd);

	(void)state;
	assert_int_equal(ftruncate(fd, 1000), 0);
	map_run(ctx, &req, 1000, -ENODATA);
	assert_memory_equal(buf, data, 1000);
	req = request(DIR_READ, 8192, 100);
	map_run(ctx, &req, 0, -ENODATA);
	req = request(DIR_READ, 500, 500);
	map_run(ctx, &req, 500, 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	req = request(DIR_WRITE, 0, 100);
	map_run(ctx, &req, 0, -ENOSPC);
	engine_find("mmap")->fini(ctx);
}

/* A page is gone though the file is as long as before: its device failed. */
static void test_mmap_error(void **state)
{
	const struct target_plan plan = mapped_plan(OP_READ);
	struct io_request req = request(DIR_READ, 10, SIZE - 10);
	off_t page = sysconf(_SC_PAGESIZE);
	void *ctx;

	(void)state;
	if (page > 8192)
		skip();
	ctx = map_open(&plan, fd);
	assert_int_equal(ftruncate(fd, page), 0);
	pretended_size = SIZE;
	map_run(ctx, &req, (uint64_t)page - 10, -EIO);
	assert_memory_equal(buf, data + 10, (size_t)page - 10);
	req = request(DIR_READ, (uint64_t)page + 10, 100);
	map_run(ctx, &req, 0, -EIO);
	req = request(DIR_READ, 10, 100);
	map_run(ctx, &req, 100, 0);
	pretended_size = 0;
	engine_find("mmap")->fini(ctx);
}

static void test_mmap_empty(void **state)
{
	const struct target_plan plan = mapped_plan(OP_READ);
	struct io_request req = request(DIR_READ, 0, 100);
	void *ctx;

	(void)state;
	assert_int_equal(ftruncate(fd, 0), 0);
	ctx = map_open(&plan, fd);
	map_run(ctx, &req, 0, -ENODATA);
	engine_find("mmap")->fini(ctx);
	engine_find("mmap")->fini(NULL);
}

static void check_mmap(const struct target_plan *plan, int ret, const char *part)
{
	const char *why = NULL;

	assert_int_equal(engine_check(plan, &why), ret);
	if (part)
		assert_non_null(strstr(why, part));
}

static void test_mmap_check(void **state)
{
	struct target_plan plan = mapped_plan(OP_READ);

	(void)state;
	plan.end_bytes = SIZE + 1;
	check_mmap(&plan, 0, NULL); /* a read past the end is an error of the operation */
	plan.op = OP_WRITE;
	check_mmap(&plan, -EINVAL, "cannot grow");
	plan.end_bytes = SIZE;
	check_mmap(&plan, 0, NULL);

	plan = mapped_plan(OP_WRITE);
	plan.kind = TARGET_MISSING;
	check_mmap(&plan, -EINVAL, "must be there");
	plan.kind = TARGET_CHAR;
	check_mmap(&plan, -ENODEV, "only files and block devices");
	plan = mapped_plan(OP_READ);
	plan.direct_io = true;
	check_mmap(&plan, -EINVAL, "-dio");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registry),
		cmocka_unit_test(test_engine_of),
		cmocka_unit_test(test_keywords),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_batch_follows),
		cmocka_unit_test(test_batch_fixed),
		cmocka_unit_test(test_batch_ends),
		cmocka_unit_test(test_null),
		cmocka_unit_test_setup(test_transfers, refill),
		cmocka_unit_test_setup(test_noop, refill),
		cmocka_unit_test_setup(test_short_transfers, refill),
		cmocka_unit_test_setup(test_end_of_file, refill),
		cmocka_unit_test_setup(test_errors, refill),
		cmocka_unit_test_setup(test_direct_end_of_file, refill),
		cmocka_unit_test_setup(test_mmap_transfers, refill),
		cmocka_unit_test_setup(test_mmap_touch, refill),
		cmocka_unit_test_setup(test_mmap_truncated, refill),
		cmocka_unit_test_setup(test_mmap_error, refill),
		cmocka_unit_test_setup(test_mmap_empty, refill),
		cmocka_unit_test_setup(test_mmap_check, refill),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
