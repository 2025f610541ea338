/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engines that queue, before a run: what they check, the limits of the machine, and system calls
 * that are forbidden: src/io/engine.c, engine_libaio.c, engine_io_uring.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine_rig.h"
#include "engines.h"
#include "xdd/base/err.h"
#include "xdd/io/engine.h"

#define NOBODY 65534

static void check(const char *engine, const struct target_plan *changes, int ret, const char *part)
{
	struct target_plan plan = *changes;
	struct err why = { 0 };

	plan.path = plan.path ? plan.path : path;
	plan.kind = TARGET_FILE;
	plan.engine = engine_named(engine);
	if (!plan.engine_options)
		plan.engine_options = engine_options(engine, "");
	plan.req_bytes = plan.req_bytes ? plan.req_bytes : BLOCK;
	plan.size_bytes = SIZE;
	assert_int_equal(engine_check(&plan, &why), ret);
	if (part) {
		assert_non_null(strstr(why.text, part));
	}
}

/* Options of an engine with this batch. */
static void *batch_of(const char *engine, uint64_t batch)
{
	void *options = engine_options(engine, "");
	const struct option *row = option_find_in(engine_named(engine)->keywords, "batch");

	assert_non_null(row);
	memcpy((char *)options + row->off, &batch, sizeof(batch));
	return options;
}

TEST_SETUP(test_checks, refill)
{
	void *fixed = engine_options("io_uring", "fixedbufs");
	void *poll = engine_options("io_uring", "iopoll");

	if (offered(&(struct variant){ "libaio", "" })) {
		struct target_plan strict = { .queue_depth = 64,
					      .ordering = ORDERING_STRICT,
					      .qthreads = 2 };

		check("libaio", &(struct target_plan){ .queue_depth = 64 }, 0, NULL);
		for (int batch = 0; batch <= 2; batch++) {
			strict.engine_options = batch_of("libaio", (uint64_t)batch);
			check("libaio", &strict, batch > 1 ? -EINVAL : 0,
			      batch > 1 ? "batch: with -ordering strict and several -threads" :
					  NULL);
		}
		strict.qthreads = 1;
		check("libaio", &strict, 0, NULL);
		strict.qthreads = 2;
		strict.ordering = ORDERING_SERIAL;
		check("libaio", &strict, 0, NULL);
		/* It takes the kernel tens of milliseconds to give one up, for each target. */
		assert_int_equal(kernel.contexts, 0);
	}
	if (!offered(&(struct variant){ "io_uring", "" }))
		return;
	check("io_uring", &(struct target_plan){ .queue_depth = 32768 }, 0, NULL);
	check("io_uring", &(struct target_plan){ .queue_depth = 32769 }, -EINVAL, "-threads");
	check("io_uring", &(struct target_plan){ .queue_depth = 32769, .threads = 2 }, 0, NULL);
	check("io_uring", &(struct target_plan){ .queue_depth = 16385, .engine_options = fixed },
	      -EINVAL, "fixedbufs: ");
	check("io_uring",
	      &(struct target_plan){
		      .queue_depth = 1, .req_bytes = 2ull << 30, .engine_options = fixed },
	      -EINVAL, "fixedbufs: ");
	check("io_uring", &(struct target_plan){ .queue_depth = 1, .engine_options = poll },
	      -EINVAL, "-dio");
}

/*
 * Two targets that fit one by one, and not together; `other` stands between them and does not
 * count.
 */
static void check_all(const char *name, uint64_t depth, const char *other, int ret,
		      const char *part)
{
	const struct target_plan one = { .queue_depth = depth };
	struct target_plan targets[] = { one, one, one };
	const struct plan plan = { .n_targets = COUNT(targets), .targets = targets };
	const struct engine *engine = NULL;
	struct err why = { 0 };

	for (size_t i = 0; i < COUNT(targets); i++) {
		targets[i].engine = engine_named(i == 1 ? other : name);
		targets[i].engine_options = engine_options(i == 1 ? other : name, "");
	}
	assert_int_equal(engine_check_all(&plan, &engine, &why), ret);
	if (ret) {
		assert_string_equal(engine->info.name, name);
		if (!strstr(why.text, part))
			fail_msg("%s", why.text);
	}
}

TEST(test_check_all)
{
	if (!offered(&(struct variant){ "libaio", "" }))
		skip();
	check_all("libaio", 1ull << 40, "psync", -EAGAIN,
		  "come to 2199023255552, and the sysctl fs.aio-max-nr");
	check_all("libaio", 1, "psync", 0, NULL);
	check_all("psync", 1ull << 40, "psync", 0, NULL);
}

/* tmpfs has nothing to poll. */
TEST_SETUP(test_iopoll_refused, refill)
{
	char shm[] = "/dev/shm/xdd-test-queues-XXXXXX";
	void *poll = engine_options("io_uring", "iopoll");
	int fd = mkstemp(shm), direct = open(shm, O_RDONLY | O_DIRECT);

	if (fd >= 0) {
		close(fd);
		unlink(shm);
	}
	if (direct < 0 || !offered(&(struct variant){ "io_uring", "" }))
		skip();
	snprintf(shm, sizeof(shm), "/proc/self/fd/%d", direct);
	check("io_uring",
	      &(struct target_plan){
		      .path = shm, .queue_depth = 1, .direct_io = true, .engine_options = poll },
	      -EOPNOTSUPP, "iopoll: ");
	close(direct);
	/* One that is not there yet is tried later, and others cannot be opened at all. */
	check("io_uring",
	      &(struct target_plan){
		      .path = "none", .queue_depth = 1, .direct_io = true, .engine_options = poll },
	      0, NULL);
	check("io_uring",
	      &(struct target_plan){ .path = "/dev/null/none",
				     .queue_depth = 1,
				     .direct_io = true,
				     .engine_options = poll },
	      -ENOTDIR, NULL);
}

/* Run `child` in a process of its own, which may lose what it was allowed. */
static void in_child(int (*child)(void))
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define EXPECT(condition)                                                   \
	do {                                                                \
		if (!(condition)) {                                         \
			print_error("line %d: %s\n", __LINE__, #condition); \
			_exit(1);                                           \
		}                                                           \
	} while (0)

static int child_memlock(void)
{
	const struct rlimit limit = { .rlim_cur = 256 << 10, .rlim_max = 256 << 10 };
	const struct variant forced = { "io_uring", "fixedbufs" };
	const struct variant by_itself = { "io_uring", "" };
	const struct target_plan target = {
		.path = path,
		.kind = TARGET_FILE,
		.engine = engine_named("io_uring"),
		.queue_depth = 3,
		.req_bytes = 64 << 10,
		.memory.stride_bytes = 64 << 10,
		.engine_options = engine_options("io_uring", "fixedbufs"),
	};
	struct target_plan targets[] = { target, target };
	struct plan plan = { .n_targets = 1, .targets = targets };
	const struct engine *engine;
	struct err all;
	char text[ENGINE_TEXT_BYTES];
	struct err why;
	struct rig r;
	int fd = open_file(O_RDONLY);

	EXPECT(!setrlimit(RLIMIT_MEMLOCK, &limit));
	if (!geteuid() && (setgid(NOBODY) || setuid(NOBODY)))
		return 0; /* the only user of a namespace */
	/* The memory of rings that are gone is given back by and by. */
	for (int i = 0; i < 200 && engine_check(&targets[0], &why); i++)
		usleep(10000);
	EXPECT(engine_check(&targets[0], &why) == 0);
	EXPECT(engine_check_all(&plan, &engine, &all) == 0);
	/* Each of two fits, and both together do not. */
	plan.n_targets = 2;
	EXPECT(engine_check_all(&plan, &engine, &all) == -ENOMEM);
	EXPECT(engine == engine_find("io_uring") &&
	       strstr(all.text, "memlock limit (ulimit -l) is 256 KiB"));
	targets[1].engine_options = engine_options("io_uring", "");
	EXPECT(engine_check_all(&plan, &engine, &all) == 0);

	EXPECT(rig_try(&r, &forced, fd, DEPTH, true) == -ENOMEM);
	EXPECT(strstr(r.why.text, "memlock"));
	for (int i = 0; i < 200 && rig_try(&r, &by_itself, fd, DEPTH, true); i++)
		usleep(10000);
	EXPECT(r.ctx);
	r.engine->describe(r.ctx, text, sizeof(text));
	EXPECT(strstr(text, "not the buffers: there is a memlock limit"));
	r.requests[3].size = BLOCK;
	EXPECT(r.engine->submit(r.ctx, &r.requests[3]) == 0);
	EXPECT(reap(&r, 1, DEPTH, UINT64_MAX, 1, NULL) == 1);
	EXPECT(r.done[0]->done == BLOCK && !memcmp(r.done[0]->buf, data, BLOCK));
	r.engine->fini(r.ctx);
	return 0;
}

TEST_SETUP(test_memlock_limit, refill)
{
	if (!offered(&(struct variant){ "io_uring", "" }))
		skip();
	in_child(child_memlock);
}

/* From now on the two system calls fail. */
static bool forbid(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = COUNT(code), .filter = code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void expect_forbidden(const char *engine, int err)
{
	const struct target_plan plan = { .path = path,
					  .kind = TARGET_FILE,
					  .engine = engine_named(engine),
					  .engine_options = engine_options(engine, "") };
	struct err why;

	EXPECT(engine_find(engine)->info.available(&why) == err);
	EXPECT(strstr(why.text, "seccomp"));
	EXPECT(engine_check(&plan, &why) == err);
	EXPECT(strstr(why.text, "seccomp"));
}

static int child_no_permission(void)
{
	if (!forbid(EPERM))
		return 0;
	expect_forbidden("libaio", -EPERM);
	expect_forbidden("io_uring", -EPERM);
	return 0;
}

static int child_no_system_call(void)
{
	if (!forbid(ENOSYS))
		return 0;
	expect_forbidden("libaio", -ENOSYS);
	expect_forbidden("io_uring", -ENOSYS);
	return 0;
}

TEST_SETUP(test_forbidden, refill)
{
	if (!offered(&(struct variant){ "libaio", "" }) ||
	    !offered(&(struct variant){ "io_uring", "" }))
		skip();
	in_child(child_no_permission);
	in_child(child_no_system_call);
}

RUN_TESTS(make_file, remove_file)
