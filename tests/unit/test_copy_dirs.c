/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories of a tree and their descriptors: src/copy/tree/dirs.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/tree/dirs.h"
#include "leftovers.h"
#include "scratch.h"
#include "xdd/base/units.h"

#define NOBODY 65534
#define DEPTH 1500
#define WIDTH 100

static struct dirs *tree(size_t limit)
{
	struct dirs *t = dirs_new(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), limit);

	assert_non_null(t);
	return t;
}

static void make_dir(const char *name)
{
	assert_int_equal(mkdir(name, 0755), 0);
}

/* The descriptor of `node` is that of the directory at `path`. */
static void is_dir(struct dirs *t, struct dir_node *node, const char *path)
{
	struct stat a, b;
	int fd = dirs_fd(t, node);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &a), 0);
	dirs_done(t, node);
	assert_int_equal(stat(path, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(a.st_dev, b.st_dev);
}

TEST(test_names)
{
	static const char *const invalid[] = { "", ".", "..", "/", "/tmp", "names/..", "names/" };
	struct leftovers before = leftovers_count();
	struct dirs *t = tree(0);
	struct dir_node *node = NULL;
	int fd;

	make_dir("names");
	assert_int_equal(symlink("names", "names-link"), 0);
	fd = open("names-file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	assert_int_equal(mkfifo("names-fifo", 0600), 0);
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		assert_int_equal(dirs_enter(t, dirs_root(t), invalid[i], &node), -EINVAL);
	assert_int_equal(dirs_enter(t, dirs_root(t), "names-none", &node), -ENOENT);
	assert_int_equal(dirs_enter(t, dirs_root(t), "names-link", &node), -ELOOP);
	assert_int_equal(dirs_enter(t, dirs_root(t), "names-file", &node), -ENOTDIR);
	assert_int_equal(dirs_enter(t, dirs_root(t), "names-fifo", &node), -ENOTDIR);
	assert_null(node);
	assert_int_equal(dirs_enter(t, dirs_root(t), "names", &node), 0);
	is_dir(t, node, "names");
	is_dir(t, dirs_root(t), ".");
	assert_null(dir_user(node));
	dir_set_user(node, &fd);
	assert_ptr_equal(dir_user(node), &fd);
	assert_ptr_equal(dir_parent(node), dirs_root(t));
	assert_string_equal(dir_name(node), "names");
	dirs_free(t); /* ends with its last node */
	is_dir(t, node, "names");
	dirs_release(t, node);
	leftovers_assert_none(&before);
}

TEST(test_path)
{
	struct dirs *t = tree(0);
	struct dir_node *a, *b, *c;
	char buf[64], cut[16];

	make_dir("path");
	make_dir("path/sub");
	assert_int_equal(symlink("path", "path-link"), 0);
	assert_int_equal(dirs_enter(t, dirs_root(t), "path", &a), 0);
	assert_int_equal(dirs_enter(t, a, "sub", &b), 0);
	assert_string_equal(dirs_path(t, dirs_root(t), NULL, buf, sizeof(buf)), ".");
	assert_string_equal(dirs_path(t, dirs_root(t), "x", buf, sizeof(buf)), "x");
	assert_string_equal(dirs_path(t, b, "x", buf, sizeof(buf)), "path/sub/x");
	assert_string_equal(dirs_path(t, b, NULL, buf, sizeof(buf)), "path/sub");
	assert_string_equal(dirs_path(t, b, "fi", cut, sizeof(cut)), "path/sub/fi");
	assert_string_equal(dirs_path(t, b, "filename", cut, sizeof(cut)), ".../filename");
	assert_string_equal(dirs_path(t, b, "1234567890123456", cut, sizeof(cut)), ".../");
	dirs_release(t, a);

	assert_int_equal(dirs_enter_path(t, "path-link/sub/..", "my", &c, NULL), 0);
	is_dir(t, c, "path");
	assert_true(dir_same(c, dir_parent(b)));
	assert_false(dir_same(c, b));
	assert_string_equal(dirs_path(t, c, "x", buf, sizeof(buf)), "my/x");
	dirs_release(t, c);
	assert_int_equal(dirs_enter_path(t, "/", "/", &c, NULL), 0);
	assert_string_equal(dirs_path(t, c, "x", buf, sizeof(buf)), "/x");
	assert_string_equal(dirs_path(t, c, NULL, buf, sizeof(buf)), "/");
	dirs_release(t, c);
	assert_int_equal(dirs_enter_path(t, "", "", &c, NULL), 0);
	assert_string_equal(dirs_path(t, c, "x", buf, sizeof(buf)), "x");
	dirs_release(t, c);
	dirs_release(t, b);
	dirs_free(t);
}

/* More directories than descriptors, each entered twice. */
TEST(test_limit)
{
	struct leftovers before = leftovers_count();
	struct dirs *t = tree(4);
	struct dir_node *nodes[WIDTH];
	char name[32];

	for (int i = 0; i < WIDTH; i++) {
		snprintf(name, sizeof(name), "limit%d", i);
		make_dir(name);
		assert_int_equal(dirs_enter(t, dirs_root(t), name, &nodes[i]), 0);
		assert_true(leftovers_count().descriptors <= before.descriptors + 1 + 4);
	}
	for (int i = 0; i < 2 * WIDTH; i++) {
		snprintf(name, sizeof(name), "limit%d", i % WIDTH);
		is_dir(t, nodes[i % WIDTH], name);
		assert_true(leftovers_count().descriptors <= before.descriptors + 1 + 4);
	}
	/* Borrowed ones stay open, however many there are. */
	for (int i = 0; i < WIDTH; i++)
		assert_true(dirs_fd(t, nodes[i]) >= 0);
	assert_int_equal(leftovers_count().descriptors, before.descriptors + 1 + WIDTH);
	for (int i = 0; i < WIDTH; i++)
		dirs_done(t, nodes[i]);
	assert_true(leftovers_count().descriptors <= before.descriptors + 1 + 4);
	for (int i = 0; i < WIDTH; i++)
		dirs_release(t, nodes[i]);
	dirs_free(t);
	leftovers_assert_none(&before);
}

/* The process has no descriptor left, before the limit of the tree. */
TEST(test_no_descriptors)
{
	struct rlimit old, few;
	struct dirs *t = tree(1000);
	struct dir_node *nodes[WIDTH];
	char name[32];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 32;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < WIDTH; i++) {
		snprintf(name, sizeof(name), "few%d", i);
		make_dir(name);
		assert_int_equal(dirs_enter(t, dirs_root(t), name, &nodes[i]), 0);
	}
	for (int i = 0; i < WIDTH; i++) {
		snprintf(name, sizeof(name), "few%d", i);
		is_dir(t, nodes[i], name);
		dirs_release(t, nodes[i]);
	}
	dirs_free(t);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

TEST(test_deep)
{
	static struct dir_node *nodes[DEPTH];
	struct leftovers before = leftovers_count();
	struct dirs *t = tree(8);
	struct dir_node *at = dirs_root(t);
	char path[256];

	make_dir("deep");
	for (int i = 0; i < DEPTH; i++) {
		int fd = dirs_fd(t, at);

		if (i)
			assert_int_equal(
				mkdirat(fd, "a long name so that no path leads here", 0700), 0);
		dirs_done(t, at);
		assert_int_equal(dirs_enter(t, at,
					    i ? "a long name so that no path leads here" : "deep",
					    &nodes[i]),
				 0);
		if (i)
			dirs_release(t, at);
		at = nodes[i];
	}
	for (int i = 0; i < DEPTH; i += 100) { /* from the top, and from the bottom */
		assert_true(dirs_fd(t, nodes[i]) >= 0);
		dirs_done(t, nodes[i]);
		assert_true(dirs_fd(t, nodes[DEPTH - 1 - i]) >= 0);
		dirs_done(t, nodes[DEPTH - 1 - i]);
		assert_true(leftovers_count().descriptors <= before.descriptors + 1 + 8);
	}
	dirs_path(t, at, "x", path, sizeof(path));
	assert_true(strlen(path) < sizeof(path));
	assert_memory_equal(path, ".../a long", 10);
	assert_string_equal(path + strlen(path) - 2, "/x");
	dirs_release(t, at);
	dirs_free(t);
	leftovers_assert_none(&before);
}

/* A directory that was replaced while it was closed. */
TEST(test_replaced)
{
	struct dirs *t = tree(4);
	struct dir_node *victim, *other[8];
	char name[32];

	make_dir("victim");
	assert_int_equal(dirs_enter(t, dirs_root(t), "victim", &victim), 0);
	for (int i = 0; i < 8; i++) { /* so that it is closed */
		snprintf(name, sizeof(name), "other%d", i);
		make_dir(name);
		assert_int_equal(dirs_enter(t, dirs_root(t), name, &other[i]), 0);
	}
	assert_int_equal(rename("victim", "moved"), 0);
	assert_int_equal(dirs_fd(t, victim), -ENOENT);
	assert_int_equal(symlink("moved", "victim"), 0);
	assert_int_equal(dirs_fd(t, victim), -ELOOP);
	assert_int_equal(unlink("victim"), 0);
	make_dir("victim");
	assert_int_equal(dirs_fd(t, victim), -ESTALE);
	assert_int_equal(rmdir("victim"), 0);
	assert_int_equal(rename("moved", "victim"), 0);
	is_dir(t, victim, "victim");
	dirs_release(t, victim);
	for (int i = 0; i < 8; i++)
		dirs_release(t, other[i]);
	dirs_free(t);
}

/* A directory that may be searched only. */
TEST(test_search_only)
{
	struct dirs *t;
	struct dir_node *node, *sub;

	make_dir("search");
	make_dir("search/sub");
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(chmod("search", 0111), 0);
	assert_int_equal(geteuid() ? 0 : seteuid(NOBODY), 0);
	t = tree(0);
	assert_int_equal(dirs_enter(t, dirs_root(t), "search", &node), 0);
	assert_int_equal(dirs_enter(t, node, "sub", &sub), 0);
	is_dir(t, sub, "search/sub");
	assert_int_equal(fsync(dirs_fd(t, node)), -1);
	assert_int_equal(errno, EBADF);
	dirs_done(t, node);
	dirs_release(t, node);
	dirs_release(t, sub);
	dirs_free(t);
	assert_int_equal(getuid() ? 0 : seteuid(0), 0);
	assert_int_equal(chmod("search", 0755), 0);
}

/* Bytes of a node: a destination has as many as directories with files that are not complete. */
TEST(test_memory)
{
	enum {
		NODES = 100000,
		MOST_BYTES = 96
	};
	struct dir_node **nodes = malloc(NODES * sizeof(struct dir_node *));
	struct dirs *t = tree(4);
	size_t before = mallinfo2().uordblks;

	make_dir("a name of 20 bytes..");
	for (int i = 0; i < NODES; i++)
		assert_int_equal(dirs_enter(t, dirs_root(t), "a name of 20 bytes..", &nodes[i]), 0);
	/* Zero with allocators other than that of the C library. */
	assert_true(mallinfo2().uordblks - before <= (size_t)NODES * MOST_BYTES);
	for (int i = 0; i < NODES; i++)
		dirs_release(t, nodes[i]);
	dirs_free(t);
	free(nodes);
}

struct race {
	_Atomic bool stop;
};

static void *swap_with_link(void *arg)
{
	struct race *r = arg;

	while (!atomic_load(&r->stop))
		renameat2(AT_FDCWD, "race/dir", AT_FDCWD, "race/link", RENAME_EXCHANGE);
	return NULL;
}

/* A directory is exchanged with a link to one outside all the time: that one is never opened. */
TEST(test_race)
{
	struct race r = { .stop = false };
	uint64_t end_ns = clock_kernel_ns() + NS_PER_SEC / 2;
	unsigned entered = 0, refused = 0;
	struct dirs *t = tree(4);
	struct dir_node *top, *dir;
	struct stat outside;
	pthread_t thread;

	make_dir("race");
	make_dir("race/dir");
	make_dir("outside");
	assert_int_equal(symlink("../outside", "race/link"), 0);
	assert_int_equal(stat("outside", &outside), 0);
	assert_int_equal(dirs_enter(t, dirs_root(t), "race", &top), 0);
	assert_int_equal(pthread_create(&thread, NULL, swap_with_link, &r), 0);
	while (clock_kernel_ns() < end_ns || !entered || !refused) {
		struct stat st;
		int err = dirs_enter_stat(t, top, "dir", &dir, &st);

		if (err) {
			assert_true(err == -ELOOP || err == -ENOTDIR);
			refused++;
			continue;
		}
		assert_true(st.st_ino != outside.st_ino);
		entered++;
		dirs_release(t, dir);
		assert_true(clock_kernel_ns() < end_ns + 20 * NS_PER_SEC);
	}
	atomic_store(&r.stop, true);
	pthread_join(thread, NULL);
	dirs_release(t, top);
	dirs_free(t);
}

struct share {
	struct dirs *t;
	struct dir_node *nodes[WIDTH];
	ino_t inodes[WIDTH];
};

static void *use_all(void *arg)
{
	struct share *s = arg;
	unsigned long wrong = 0;

	for (int i = 0; i < 20 * WIDTH; i++) {
		int k = i * 7 % WIDTH;
		struct stat st;
		int fd;

		dirs_hold(s->t, s->nodes[k]);
		fd = dirs_fd(s->t, s->nodes[k]);
		if (fd < 0 || fstat(fd, &st) || st.st_ino != s->inodes[k])
			wrong++;
		dirs_done(s->t, s->nodes[k]);
		dirs_release(s->t, s->nodes[k]);
	}
	return (void *)wrong;
}

/* Threads that share a few descriptors for a chain of directories. */
TEST(test_threads)
{
	struct share s = { .t = tree(4) };
	struct leftovers before = leftovers_count();
	struct dir_node *at = dirs_root(s.t);
	pthread_t threads[4];

	for (int i = 0; i < WIDTH; i++) {
		struct stat st;

		assert_int_equal(mkdirat(dirs_fd(s.t, at), "chain", 0700), 0);
		dirs_done(s.t, at);
		assert_int_equal(dirs_enter_stat(s.t, at, "chain", &s.nodes[i], &st), 0);
		s.inodes[i] = st.st_ino;
		at = s.nodes[i];
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_all, &s), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	for (int i = 0; i < WIDTH; i++)
		dirs_release(s.t, s.nodes[i]);
	leftovers_assert_none(&before);
	dirs_free(s.t);
}

RUN_TESTS(enter_directory, remove_directory)
