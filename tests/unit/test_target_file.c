/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets as files: src/io/target_file.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "scratch.h"
#include "xdd/io/target_file.h"

#define NOBODY 65534

static const char path[] = "file", missing[] = "missing", nowhere[] = "no/where";

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static struct target_plan plan_of(const char *name, enum op_request op)
{
	return (struct target_plan){ .name = name, .path = name, .op = op, .kind = TARGET_FILE };
}

/* Of a target that the plan did not find. */
static struct target_plan plan_of_missing(void)
{
	struct target_plan plan = plan_of(missing, OP_WRITE);

	plan.kind = TARGET_MISSING;
	return plan;
}

static void check(const char *name, enum op_request op, int ret, const char *text)
{
	struct target_plan plan = plan_of(name, op);
	struct err why = { .text = "not set" };

	assert_int_equal(target_file_check(&plan, &why), ret);
	if (text)
		assert_string_equal(why.text, text);
	else
		assert_false(err_is_set(&why));
}

TEST(test_check)
{
	char below[80];

	for (int op = OP_READ; op <= OP_MIXED; op++) {
		check(path, (enum op_request)op, 0, NULL);
		check(directory, (enum op_request)op, -EISDIR, "is a directory");
		check("/dev/zero", (enum op_request)op, 0, NULL);
	}
	check(missing, OP_READ, -ENOENT, "no such file");
	check(missing, OP_NOOP, -ENOENT, "no such file");
	check(missing, OP_MIXED, -ENOENT, "no such file");
	check(missing, OP_WRITE, 0, NULL);
	check("no such file in this directory", OP_WRITE, 0, NULL);
	check(nowhere, OP_WRITE, -ENOENT, "its directory does not exist");
	check(nowhere, OP_READ, -ENOENT, "no such file");
	snprintf(below, sizeof(below), "%s/below", path);
	check(below, OP_WRITE, -ENOTDIR, NULL);
	check("", OP_READ, -ENOENT, "no such file");
	assert_int_equal(access(missing, F_OK), -1); /* nothing was made */
}

TEST(test_check_special)
{
	struct target_plan null = {
		.name = "null", .path = "null", .kind = TARGET_NULL, .op = OP_READ
	};
	struct err why = { .text = "not set" };

	assert_int_equal(target_file_check(&null, &why), 0);
	assert_false(err_is_set(&why));

	assert_int_equal(mkfifo(missing, 0600), 0);
	check(missing, OP_READ, -ESPIPE, "is a pipe or a socket");
	check(missing, OP_WRITE, -ESPIPE, "is a pipe or a socket");
	unlink(missing);

	/* a link to nothing can be written through; there is nothing to read */
	assert_int_equal(symlink("elsewhere", missing), 0);
	check(missing, OP_WRITE, 0, NULL);
	check(missing, OP_READ, -ENOENT, "no such file");
	unlink(missing);
	assert_int_equal(symlink("no/where", missing), 0);
	check(missing, OP_WRITE, -ENOENT, "its directory does not exist");
	unlink(missing);
}

/* No file is created among devices, by way of a link either. */
TEST(test_check_devices)
{
	static const char none[] = "/dev/xdd-no-such-device";
	struct stat root, dev;

	if (stat("/", &root) || stat("/dev", &dev) || root.st_dev == dev.st_dev)
		skip();
	check(none, OP_WRITE, -ENODEV, "no such device, and no file is made among devices");
	assert_int_equal(symlink(none, missing), 0);
	check(missing, OP_WRITE, -ENODEV, "no such device, and no file is made among devices");
	unlink(missing);
}

static void check_permissions(void)
{
	assert_int_equal(chmod(path, 0), 0);
	check(path, OP_READ, -EACCES, "no permission to read it");
	check(path, OP_NOOP, -EACCES, "no permission to read it");
	check(path, OP_WRITE, -EACCES, "no permission to write to it");
	assert_int_equal(chmod(path, 0444), 0);
	check(path, OP_READ, 0, NULL);
	check(path, OP_WRITE, -EACCES, "no permission to write to it");
	check(path, OP_MIXED, -EACCES, "no permission to write to it");
	assert_int_equal(chmod(path, 0222), 0);
	check(path, OP_WRITE, 0, NULL);
	check(path, OP_MIXED, -EACCES, "no permission to read it");
	assert_int_equal(chmod(directory, 0555), 0);
	check(missing, OP_WRITE, -EACCES, "no permission to create files in its directory");
	assert_int_equal(chmod(directory, 0755), 0);
	check(missing, OP_WRITE, 0, NULL);
	assert_int_equal(chmod(path, 0644), 0);
}

/* Nothing is forbidden for root, so use another user meanwhile. */
TEST(test_check_permissions)
{
	bool root = geteuid() == 0;

	if (root) {
		if (chown(directory, NOBODY, (gid_t)-1) || chown(path, NOBODY, (gid_t)-1) ||
		    seteuid(NOBODY))
			skip();
	}
	check_permissions();
	if (root) {
		assert_int_equal(seteuid(0), 0);
		assert_int_equal(chown(directory, 0, (gid_t)-1), 0);
		assert_int_equal(chown(path, 0, (gid_t)-1), 0);
	}
}

static int open_target(struct target_file *file, const struct target_plan *plan)
{
	struct err why = { .text = "not set" };

	return target_file_open(file, plan, 1, &why);
}

TEST(test_open_modes)
{
	static const struct {
		enum op_request op;
		int mode;
	} cases[] = { { OP_READ, O_RDONLY },
		      { OP_NOOP, O_RDONLY },
		      { OP_WRITE, O_WRONLY },
		      { OP_DISCARD, O_WRONLY },
		      { OP_MIXED, O_RDWR } };
	struct target_file file = { 0 };
	struct stat st;

	for (size_t i = 0; i < 5; i++) {
		struct target_plan plan = plan_of(path, cases[i].op);

		file.created = true; /* of a pass before */
		assert_int_equal(open_target(&file, &plan), 0);
		assert_int_equal(fcntl(file.fd, F_GETFL) & (O_ACCMODE | O_DIRECT), cases[i].mode);
		assert_int_equal(fcntl(file.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		assert_false(file.created);
		/* never truncated, never removed when it was there before */
		assert_int_equal(target_file_close(&file, &plan, true), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, 7);
	}
}

TEST(test_open_creates)
{
	struct target_plan plan = plan_of_missing();
	struct target_file file = { 0 }, second = { 0 };

	/* discarded: as if it had never been */
	assert_int_equal(open_target(&file, &plan), 0);
	assert_true(file.created);
	assert_int_equal(open_target(&second, &plan), 0);
	assert_false(second.created);
	assert_int_equal(target_file_close(&second, &plan, true), 0);
	assert_int_equal(access(missing, F_OK), 0);
	assert_int_equal(target_file_close(&file, &plan, true), 0);
	assert_int_equal(file.fd, -1);
	assert_int_equal(access(missing, F_OK), -1);
	assert_int_equal(target_file_close(&file, &plan, true), 0); /* closed already */

	/* kept when something was written, discarded or not */
	assert_int_equal(open_target(&file, &plan), 0);
	assert_int_equal(pwrite(file.fd, "x", 1, 0), 1);
	assert_int_equal(target_file_close(&file, &plan, true), 0);
	assert_int_equal(access(missing, F_OK), 0);
	unlink(missing);

	/* kept when all went well */
	assert_int_equal(open_target(&file, &plan), 0);
	assert_int_equal(target_file_close(&file, &plan, false), 0);
	assert_int_equal(access(missing, F_OK), 0);
	unlink(missing);
}

TEST(test_discard_spares_others)
{
	struct target_plan plan = plan_of_missing();
	struct target_file file = { 0 };

	assert_int_equal(open_target(&file, &plan), 0);
	unlink(missing);
	write_file(missing, ""); /* another's, though as empty */
	assert_int_equal(target_file_close(&file, &plan, true), 0);
	assert_int_equal(access(missing, F_OK), 0);
	unlink(missing);
}

TEST(test_open_through_link)
{
	struct target_plan plan = plan_of_missing();
	struct target_file file = { 0 };
	char aim[80];

	snprintf(aim, sizeof(aim), "%s/aim", directory);
	assert_int_equal(symlink("aim", missing), 0);
	assert_int_equal(open_target(&file, &plan), 0);
	assert_int_equal(target_file_close(&file, &plan, false), 0);
	assert_int_equal(access(aim, F_OK), 0);
	unlink(aim);
	unlink(missing);
}

/*
 * Try to open it for a pass. Returns -errno, which is 0 for a file that could be opened; that is
 * closed again.
 */
static int try_open(const struct target_plan *plan, const struct guard *guard, uint64_t pass)
{
	struct target_file file = { .guard = guard };
	struct err why = { .text = "not set" };
	int err = target_file_open(&file, plan, pass, &why);

	assert_int_equal(file.fd >= 0, !err);
	if (err == -ESTALE)
		assert_non_null(strstr(why.text, "use a name that does not change during a run"));
	target_file_close(&file, plan, false);
	return err;
}

/* A file is created where none was found, for the first pass; and where it is removed for each. */
TEST(test_creates_only_new)
{
	struct target_plan plan = plan_of(missing, OP_WRITE);

	assert_int_equal(try_open(&plan, NULL, 1), -ENOENT);
	plan.reopen = true;
	assert_int_equal(try_open(&plan, NULL, 2), -ENOENT);
	plan.kind = TARGET_BLOCK;
	assert_int_equal(try_open(&plan, NULL, 2), -ENOENT);
	plan.kind = TARGET_MISSING;
	assert_int_equal(try_open(&plan, NULL, 2), -ENOENT);
	assert_int_equal(access(missing, F_OK), -1);
	assert_int_equal(try_open(&plan, NULL, 1), 0);
	assert_int_equal(unlink(missing), 0);
	plan.recreate_files = true;
	assert_int_equal(try_open(&plan, NULL, 2), 0);
	assert_int_equal(unlink(missing), 0);
}

/* A name must lead to the file that the plan found, for reads too. */
TEST(test_other_kind)
{
	static const enum op_request ops[] = { OP_READ, OP_NOOP, OP_WRITE, OP_MIXED };
	struct stat zero, null;

	assert_int_equal(stat("/dev/zero", &zero), 0);
	assert_int_equal(stat("/dev/null", &null), 0);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct target_plan plan = plan_of("/dev/zero", ops[i]);

		assert_int_equal(try_open(&plan, NULL, 1), -ESTALE);
		plan.kind = TARGET_MISSING;
		assert_int_equal(try_open(&plan, NULL, 1), -ESTALE);
		plan.kind = TARGET_CHAR;
		plan.device = null.st_rdev;
		assert_int_equal(try_open(&plan, NULL, 1), -ESTALE);
		plan.device = zero.st_rdev;
		assert_int_equal(try_open(&plan, NULL, 1), 0);
		plan = plan_of(path, ops[i]);
		plan.kind = TARGET_CHAR;
		plan.device = zero.st_rdev;
		assert_int_equal(try_open(&plan, NULL, 1), -ESTALE);
		plan.kind = TARGET_BLOCK;
		assert_int_equal(try_open(&plan, NULL, 1), -ESTALE);
	}
}

/* A pipe is not waited for. */
TEST(test_pipe)
{
	struct target_plan plan = plan_of_missing();

	assert_int_equal(mkfifo(missing, 0600), 0);
	assert_int_equal(try_open(&plan, NULL, 1), -ESTALE);
	plan.op = OP_READ;
	assert_int_equal(try_open(&plan, NULL, 1), -ESTALE);
	unlink(missing);
}

/*
 * A node of a block device, whatever it is (the number is none of a driver): not claimed, not
 * written to.
 */
TEST(test_unclaimed)
{
	struct guard guard = { 0 };
	struct target_plan plan = plan_of_missing();

	if (mknod(missing, S_IFBLK | 0600, makedev(0, 1)))
		skip(); /* that is for root */
	assert_int_equal(try_open(&plan, &guard, 1), -ESTALE);
	plan.kind = TARGET_BLOCK;
	plan.device = makedev(0, 1);
	assert_int_equal(try_open(&plan, &guard, 1), -ESTALE);
	assert_int_equal(try_open(&plan, NULL, 1), -ESTALE);
	plan.op = OP_READ;
	assert_int_not_equal(try_open(&plan, &guard, 1), -ESTALE); /* the kernel refuses it */
	unlink(missing);
}

/*
 * The file of a pass takes the place of a regular file only, and of what appears after that of
 * nothing.
 */
TEST(test_new_files)
{
	struct target_plan plan = plan_of_missing();
	struct target_file file = { 0 };
	char name[96];

	plan.create_new_files = true;
	snprintf(name, sizeof(name), "%s.00000001", missing);
	assert_int_equal(symlink(path, name), 0);
	assert_int_equal(open_target(&file, &plan), -EEXIST);
	unlink(name);
	write_file(name, "old");
	assert_int_equal(open_target(&file, &plan), 0);
	assert_true(file.created);
	assert_int_equal(target_file_close(&file, &plan, true), 0);
	assert_int_equal(access(name, F_OK), -1);
	target_file_free(&file);
}

TEST(test_open_fails)
{
	static const enum op_request ops[] = { OP_READ, OP_NOOP, OP_MIXED };
	struct target_file file = { 0 };
	struct target_plan plan;
	struct err why;

	for (size_t i = 0; i < 3; i++) {
		plan = plan_of(missing, ops[i]);
		assert_int_equal(target_file_open(&file, &plan, 1, &why), -ENOENT);
		assert_string_equal(why.text, "no such file");
		assert_int_equal(file.fd, -1);
		assert_int_equal(access(missing, F_OK), -1);
	}
	plan = plan_of(nowhere, OP_WRITE);
	assert_int_equal(open_target(&file, &plan), -ENOENT);
	plan = plan_of(directory, OP_WRITE);
	assert_int_equal(open_target(&file, &plan), -EISDIR);
	assert_int_equal(target_file_close(&file, &plan, true), 0);
}

TEST(test_direct)
{
	struct target_plan plan = plan_of("/proc/self/maps", OP_READ);
	struct target_file file = { 0 };
	struct err why;

	/* a file system that is known not to support it */
	plan.direct_io = true;
	assert_int_equal(target_file_open(&file, &plan, 1, &why), -EINVAL);
	assert_string_equal(why.text, "the file system does not support -dio");
	assert_int_equal(file.fd, -1);

	/* and this one, which may go either way, but leaves nothing behind when it does not */
	plan = plan_of_missing();
	plan.direct_io = true;
	if (target_file_open(&file, &plan, 1, &why)) {
		assert_int_equal(access(missing, F_OK), -1);
		return;
	}
	assert_int_equal(fcntl(file.fd, F_GETFL) & O_DIRECT, O_DIRECT);
	assert_true(file.created);
	assert_int_equal(target_file_close(&file, &plan, true), 0);
}

/* -pretruncate and -preallocate of a file that is open. */
static int reshape(struct target_plan *plan, uint64_t *size, uint64_t *blocks, const char **what,
		   uint64_t *made)
{
	struct target_file file = { 0 };
	struct err why = { .text = "not set" };
	struct stat st;
	int err;

	unlink(missing);
	write_file(missing, "0123456789");
	assert_int_equal(target_file_open(&file, plan, 1, &why), 0);
	err = target_file_reshape(&file, plan, what, &why);
	assert_int_equal(fstat(file.fd, &st), 0);
	*size = (uint64_t)st.st_size;
	*blocks = (uint64_t)st.st_blocks;
	*made = file.made_bytes;
	assert_int_equal(target_file_close(&file, plan, false), 0);
	target_file_free(&file);
	unlink(missing);
	return err;
}

TEST(test_reshape)
{
	struct target_plan plan = plan_of(missing, OP_WRITE);
	uint64_t size, blocks, made;
	const char *what = NULL;

	assert_int_equal(reshape(&plan, &size, &blocks, &what, &made), 0);
	assert_true(size == 10 && made == 0);
	plan.pretruncate = true;
	for (plan.pretruncate_bytes = 0; plan.pretruncate_bytes <= 20;
	     plan.pretruncate_bytes += 5) {
		assert_int_equal(reshape(&plan, &size, &blocks, &what, &made), 0);
		assert_int_equal(size, plan.pretruncate_bytes);
		assert_int_equal(made, plan.pretruncate_bytes);
	}
	plan.pretruncate_bytes = (uint64_t)INT64_MAX + 1;
	assert_int_equal(reshape(&plan, &size, &blocks, &what, &made), -EINVAL);
	assert_string_equal(what, "-pretruncate");
	assert_true(size == 10 && made == 0);
	/* A target that is read keeps its size. */
	plan.op = OP_READ;
	assert_int_equal(reshape(&plan, &size, &blocks, &what, &made), 0);
	assert_int_equal(size, 10);

	plan = plan_of(missing, OP_WRITE);
	plan.preallocate_bytes = (uint64_t)INT64_MAX + 1;
	assert_int_equal(reshape(&plan, &size, &blocks, &what, &made), -EINVAL);
	assert_string_equal(what, "-preallocate");
	plan.preallocate_bytes = 1 << 20;
	if (reshape(&plan, &size, &blocks, &what, &made) == -EOPNOTSUPP)
		skip();
	assert_int_equal(reshape(&plan, &size, &blocks, &what, &made), 0);
	assert_true(size == 10 && made == 0 && blocks >= (1 << 20) / 512);
	plan.pretruncate = true;
	plan.pretruncate_bytes = 7;
	assert_int_equal(reshape(&plan, &size, &blocks, &what, &made), 0);
	assert_true(size == 7 && made == 7 && blocks >= (1 << 20) / 512);
}

TEST(test_null)
{
	struct target_plan plan = {
		.name = "null", .path = "null", .kind = TARGET_NULL, .op = OP_WRITE
	};
	struct target_file file = { .created = true };

	assert_int_equal(open_target(&file, &plan), 0);
	assert_int_equal(file.fd, -1);
	assert_false(file.created);
	assert_int_equal(target_file_close(&file, &plan, true), 0);
	assert_int_equal(access("null", F_OK), -1);
}

static int begin(void **state)
{
	if (enter_directory(state))
		return -1;
	write_file(path, "content");
	return 0;
}

RUN_TESTS(begin, remove_directory)
