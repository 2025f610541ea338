/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a target opens its file: src/run/target/target_file_ops.c, with a file system that is made
 * here. test_target_file.c has files.
 */
#include "said.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "run/meter/meter.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/io/engine.h"
#include "xdd/io/target_file.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/clock.h"

#define FD 55

/* ---- what is called ---- */

static uint64_t time_ns;

static struct {
	int open_err, stat_err, data_err, make_room_err;
	off_t size;
	blkcnt_t blocks;
	bool ignored;
} fake;

static uint64_t fake_now(void)
{
	return time_ns;
}

static int fake_open(struct target_file *f, const struct target_plan *t, uint64_t pass,
		     struct err *why)
{
	(void)t;
	say_line("open pass %" PRIu64, pass);
	time_ns += 70;
	f->fd = fake.open_err ? -1 : FD;
	return fake.open_err ? err_set(why, fake.open_err, "the file") : 0;
}

static int fake_fstat(int fd, struct stat *st)
{
	assert_int_equal(fd, FD);
	*st = (struct stat){ .st_size = fake.size, .st_blocks = fake.blocks };
	return fake.stat_err;
}

static int fake_fallocate(int fd, int mode, off_t from, off_t bytes)
{
	assert_true(fd == FD && mode == FALLOC_FL_KEEP_SIZE && bytes == 1);
	say_line("allocate at %lld", (long long)from);
	return 0;
}

static void fake_directio(struct directio *d, int fd, const char *path)
{
	assert_true(fd == FD && !path);
	d->ignored = fake.ignored;
}

static void fake_warn(const struct target_plan *t, const char *path)
{
	(void)t, (void)path;
	say_line("ignored");
}

static void fake_sample(struct target *t)
{
	(void)t;
	say_line("sample");
}

static const char *fake_path(const struct target_file *f, const struct target_plan *t)
{
	(void)f, (void)t;
	return "path";
}

static const struct engine *fake_engine(const struct target_plan *t);

static int fake_data(struct target *t)
{
	(void)t;
	return fake.data_err;
}

__attribute__((format(printf, 4, 5))) static int
fake_fail(struct target *t, enum stop_reason reason, int err, const char *fmt, ...)
{
	va_list args;

	(void)t;
	say("fail %d: ", reason == STOP_START);
	va_start(args, fmt);
	vsay_line(fmt, args);
	va_end(args);
	return err;
}

#define clock_now_ns fake_now
#define target_file_open fake_open
#define target_file_path fake_path
#define fstat fake_fstat
#define fallocate fake_fallocate
#define directio_query fake_directio
#define plan_warn_dio fake_warn
#define dirty_sample_open fake_sample
#define engine_of fake_engine
#define target_data_open fake_data
#define run_fail fake_fail
#undef log_error
#define log_error(...) say_line(__VA_ARGS__)

#include "../../src/run/target/target_file_ops.c"

static struct engine engine = { .info = { .name = "recorder" } };
static struct target_plan plans[2];
static struct plan the_plan = { .n_targets = 2, .targets = plans };
static struct run run;
static struct target targets[2], *const target = targets;

static const struct engine *fake_engine(const struct target_plan *t)
{
	(void)t;
	return &engine;
}

static int set_up(void **state)
{
	memset(&fake, 0, sizeof(fake));
	memset(&run, 0, sizeof(run));
	memset(targets, 0, sizeof(targets));
	said[0] = '\0';
	time_ns = 1000;
	stop_init(&run.stop);
	run.plan = &the_plan;
	run.targets = targets;
	for (unsigned i = 0; i < 2; i++) {
		plans[i] = (struct target_plan){ .number = i,
						 .kind = TARGET_FILE,
						 .op = OP_WRITE,
						 .direct_io = true,
						 .ordering = ORDERING_STRICT,
						 .queue_depth = 2,
						 .start_bytes = 512 };
		targets[i].run = &run;
		targets[i].plan = &plans[i];
		targets[i].file.fd = -1;
	}
	engine.info.caps = ENGINE_REORDERS;
	fake.size = 1024;
	fake.blocks = 2;
	return 0;
}

static int tear_down(void **state)
{
	stop_destroy(&run.stop);
	return 0;
}

#define RIG_TEST(name) TEST_SETUP_TEARDOWN(name, set_up, tear_down)

#define OPENED "open pass 1\nsample\n"
#define ALLOCATED "open pass 1\nallocate at 512\nsample\n"

static void opens(const char *text)
{
	assert_int_equal(target_open(target), 0);
	assert_said(text);
	tear_down(NULL);
	set_up(NULL);
}

/* Where an engine would reorder the first writes, the privileges of the file are checked before. */
RIG_TEST(test_privileges)
{
	opens(ALLOCATED);
	plans[0].op = OP_MIXED;
	opens(ALLOCATED);
	plans[0].ordering = ORDERING_LOOSE;
	opens(OPENED);
	plans[0].ordering = ORDERING_SERIAL;
	opens(OPENED);
	plans[0].queue_depth = 1;
	opens(OPENED);
	plans[0].direct_io = false;
	opens(OPENED);
	plans[0].kind = TARGET_BLOCK;
	opens(OPENED);
	plans[0].op = OP_READ;
	opens(OPENED);
	engine.info.caps = 0;
	opens(OPENED);
	/* Only an allocated range. */
	fake.stat_err = -1;
	opens(OPENED);
	fake.size = 513;
	opens(ALLOCATED);
	fake.size = 512;
	opens(OPENED);
	fake.size = 1025;
	opens(OPENED);
	fake.blocks = 3;
	opens(ALLOCATED);
	fake.blocks = 1;
	opens(OPENED);
}

/* A file system that ignores -dio is reported once. */
RIG_TEST(test_direct)
{
	plans[0].op = OP_READ;
	fake.ignored = true;
	assert_int_equal(target_open(target), 0);
	assert_said("open pass 1\nignored\nsample\n");
	assert_true(target->direct_ignored && target->is_open);
	assert_int_equal(target->next_open_ns, 70);
	assert_int_equal(target_open(target), 0);
	assert_said(OPENED);
	target->direct_ignored = false;
	plans[0].direct_ignored = true;
	assert_int_equal(target_open(target), 0);
	assert_said(OPENED);
	fake.ignored = false;
	assert_int_equal(target_open(target), 0);
	assert_false(target->direct_ignored);
	plans[0].direct_io = false;
	fake.ignored = true;
	assert_int_equal(target_open(target), 0);
	assert_false(target->direct_ignored);
}

RIG_TEST(test_fails)
{
	plans[0].op = OP_READ;
	fake.data_err = -ENOMEM;
	assert_int_equal(target_open(target), -ENOMEM);
	assert_said(OPENED "fail 1: cannot set up its data pattern: Cannot allocate memory\n");
	fake.open_err = -ENOENT;
	assert_int_equal(target_open(target), -ENOENT);
	assert_said("open pass 1\ntarget 0, path: the file\n");
	assert_false(target->is_open);
}

/* A target that reads what another one creates waits for that. */
RIG_TEST(test_awaits)
{
	plans[1].op = OP_READ;
	plans[1].kind = TARGET_MISSING;
	plans[1].writer = &plans[0];
	atomic_store(&targets[0].is_open, true);
	assert_int_equal(target_open(&targets[1]), 0);
	assert_said(OPENED);
	atomic_store(&targets[0].is_open, false);
	stop_request(&run.stop, STOP_SIGNAL, 2);
	assert_int_equal(target_open(&targets[1]), -ECANCELED);
	atomic_store(&targets[0].is_open, true);
	assert_int_equal(target_open(&targets[1]), -ECANCELED);
	assert_said("");
	plans[1].kind = TARGET_FILE;
	assert_int_equal(target_open(&targets[1]), 0);
	plans[1].kind = TARGET_MISSING;
	plans[1].writer = NULL;
	assert_int_equal(target_open(&targets[1]), 0);
}

RUN_TESTS(NULL, NULL)
