/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common parts of the tests of -restart: a directory with a target, the plans of both sides, and
 * the operations that are written. The file that includes this calls the functions below from one
 * thread, except write_ops().
 */
#ifndef RESTART_FIXTURE_H
#define RESTART_FIXTURE_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/endtoend/endtoend.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/io/engine.h"
#include "xdd/report/endtoend.h"

#define REQUEST 4096u
#define OPS 100u
#define BYTES (OPS * REQUEST - 96)
#define LAST_BYTES (REQUEST - 96)
#define NEVER_NS (24 * 3600 * NS_PER_SEC)

static char home[] = "/tmp/xdd-test-restart-XXXXXX";
static struct err why;
static struct target_plan plan;
static struct wire_plan own, peer;
static struct wire_range ranges[WIRE_MAX_RANGES];
static size_t n_ranges;
static struct restart *r;
static int fd = -1;

/* ---- in place of that of the C library ---- */

static _Atomic unsigned flushes;
static _Atomic int flush_error; /* of all calls */
static sem_t flush_began, flush_may_end;
static _Atomic bool flush_waits;

int fdatasync(int of)
{
	(void)of;
	flushes++;
	if (flush_waits) {
		sem_post(&flush_began);
		sem_wait(&flush_may_end);
	}
	errno = flush_error;
	return flush_error ? -1 : 0;
}

/* ---- set-up ---- */

static inline void make_file(const char *name, size_t size)
{
	int new = open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(new >= 0);
	assert_int_equal(ftruncate(new, (off_t)size), 0);
	close(new);
}

static inline int enter(void **state)
{
	keeps_open = 1;
	return !mkdtemp(home) || chdir(home) || log_open("log");
}

static inline int leave(void **state)
{
	static const char *const names[] = { "log", "target", "file", "other" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	return chdir("/") || rmdir(home);
}

static inline int set_up(void **state)
{
	unlink("file");
	make_file("target", BYTES);
	plan = (struct target_plan){
		.name = "target",
		.path = "target",
		.kind = TARGET_FILE,
		.engine = engine_named("psync"),
		.endtoend.role = E2E_DESTINATION,
		.restart = { .enabled = true, .frequency_ns = NEVER_NS, .file = "file" }
	};
	own = (struct wire_plan){ .req_bytes = REQUEST,
				  .bytes = WIRE_NO_SIZE,
				  .ops = WIRE_NO_SIZE,
				  .host = "beta",
				  .name = "/data/to" };
	peer = (struct wire_plan){ .run = { 1, 2, 3 },
				   .req_bytes = REQUEST,
				   .bytes = BYTES,
				   .ops = OPS,
				   .size_bytes = BYTES,
				   .mtime_ns = 1234567890123456789,
				   .device = 2049,
				   .inode = 77,
				   .host = "alpha",
				   .name = "/data/from" };
	flushes = 0;
	flush_error = 0;
	flush_waits = false;
	return 0;
}

/* The hash of a source that reads from its start to its end. */
static inline void set_pattern(uint64_t ops)
{
	struct target_plan source = { .op = OP_READ,
				      .req_bytes = REQUEST,
				      .pass_ops = ops,
				      .pass_bytes = ops * REQUEST,
				      .last_op_bytes = REQUEST,
				      .read_ratio = PLAN_RATIO_ONE };

	peer.pattern = restart_pattern(&source);
}

static inline int end(bool complete)
{
	int err = restart_end(r, complete, &why);

	restart_free(r);
	r = NULL;
	if (fd >= 0)
		close(fd);
	fd = -1;
	return err;
}

static inline int tear_down(void **state)
{
	end(false);
	return 0;
}

static inline int accept_peer(void)
{
	int err;

	set_pattern(peer.ops);
	err_clear(&why);
	err = restart_open(&r, &plan, &why);
	if (!err)
		err = restart_accept(r, &own, &peer, ranges, &n_ranges, &why);
	return err;
}

static inline int begin(void)
{
	fd = open("target", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return restart_begin(r, fd, &why);
}

static inline struct digest digest_of(uint64_t op)
{
	return (struct digest){ op * 3, op * 7 };
}

static inline void write_ops(uint64_t from, uint64_t to)
{
	for (uint64_t op = from; op < to; op++)
		restart_written(r, op, op * REQUEST, op == OPS - 1 ? LAST_BYTES : REQUEST,
				digest_of(op));
}

static inline struct digest digest_of_ops(uint64_t from, uint64_t to)
{
	struct digest sum = { 0, 0 };

	for (uint64_t op = from; op < to; op++)
		digest_add(&sum, op * REQUEST, op == OPS - 1 ? LAST_BYTES : REQUEST, digest_of(op));
	return sum;
}

static inline struct restart_record *read_record(void)
{
	static struct restart_record rec;

	restart_record_free(&rec);
	restart_record_init(&rec);
	assert_int_equal(restart_record_read("file", &rec, &why), 0);
	return &rec;
}

static inline void assert_first_line(const char *expected)
{
	char line[100] = "";
	FILE *f = fopen("file", "r");

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, expected);
}

/* A copy of which operations 0 to 9 and 20 to 29 were written. */
static inline void interrupt_copy(void)
{
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	write_ops(0, 10);
	write_ops(20, 30);
	assert_int_equal(end(false), 0);
}

static inline void complete_copy(void)
{
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	write_ops(0, OPS);
	assert_int_equal(end(true), 0);
}

#define FIXTURE_TEST(name) TEST_SETUP_TEARDOWN(name, set_up, tear_down)

#endif
