/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The context that a QThread has of its engine: qthread_open_engine() in src/run/qthread.c.
 */
#include "said.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/io/engine.h"
#include "xdd/io/target_file.h"

#define FD 55
#define BUFFERED_FD 56
#define DEPTH 3u

static struct {
	int err;
	bool stopped; /* before */
	enum stop_reason reason;
	int detail;
} fake;

__attribute__((format(printf, 2, 3))) static void fake_explain(struct target *t, const char *fmt,
							       ...)
{
	va_list args;

	(void)t;
	say("explain: ");
	va_start(args, fmt);
	vsay_line(fmt, args);
	va_end(args);
}

static bool fake_stop(struct run *run, enum stop_reason reason, int detail)
{
	(void)run;
	fake.reason = reason;
	fake.detail = detail;
	return !fake.stopped;
}

static int fake_fd(struct qthread *q)
{
	(void)q;
	return FD;
}

static const char *fake_path(const struct target_file *f, const struct target_plan *t)
{
	(void)f, (void)t;
	return "path";
}

#define run_explain fake_explain
#define run_stop fake_stop
#define private_fd_open fake_fd
#define target_file_path fake_path
#undef log_error
#define log_error(...) say_line(__VA_ARGS__)

#include "../../src/run/qthread.c"

static struct target_plan target_plan = { .number = 4 };
static struct iovec buffers[DEPTH];
static struct run run;
static struct target target;
static struct qthread qthread;

static int fake_init(void **ctx, const struct engine_params *p)
{
	assert_true(p->target == &target_plan && p->fd == FD && p->buffered_fd == BUFFERED_FD);
	assert_true(p->depth == DEPTH && p->buffers == buffers);
	*ctx = &fake;
	return fake.err ? err_set(p->why, fake.err, "no room") : 0;
}

static struct engine engine = { .info = { .name = "recorder" }, .init = fake_init };

#define EXPLAINED "explain: path: engine recorder: no room\n"
#define FAILED "target 4, path: engine recorder: no room\n"

TEST(test_engine)
{
	static const struct {
		int err;
		enum stop_reason reason;
		bool stopped;
		unsigned errors;
		const char *says;
	} cases[] = {
		{ 0, STOP_START, false, 0, "" },
		{ 0, STOP_ERROR, false, 0, "" },
		{ -ENOMEM, STOP_START, false, 0, EXPLAINED FAILED },
		{ -ENOMEM, STOP_ERROR, false, 1, EXPLAINED FAILED },
		{ -ENOMEM, STOP_START, true, 0, EXPLAINED },
		{ -ENOMEM, STOP_ERROR, true, 0, EXPLAINED },
	};

	target.run = &run;
	target.plan = &target_plan;
	target.engine = &engine;
	target.file.buffered_fd = BUFFERED_FD;
	qthread.target = &target;
	qthread.ring.depth = DEPTH;
	qthread.ring.buffers = buffers;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&fake, 0, sizeof(fake));
		said[0] = '\0';
		atomic_store(&run.failures.errors, 0);
		qthread.ctx = NULL;
		fake.err = cases[i].err;
		fake.stopped = cases[i].stopped;
		assert_int_equal(qthread_open_engine(&qthread, cases[i].reason), cases[i].err);
		assert_ptr_equal(qthread.ctx, &fake);
		assert_string_equal(said, cases[i].says);
		assert_int_equal(atomic_load(&run.failures.errors), cases[i].errors);
		assert_int_equal(fake.detail, -cases[i].err);
		assert_int_equal(fake.reason, cases[i].err ? cases[i].reason : STOP_NONE);
	}
	engine.init = NULL;
	qthread.ctx = NULL;
	assert_int_equal(qthread_open_engine(&qthread, STOP_START), 0);
	assert_null(qthread.ctx);
}

RUN_TESTS(NULL, NULL)
