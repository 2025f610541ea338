/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records for -R: the bytes of journals, sessions that are continued, and what is not believed:
 * src/copy/destination/journal*.c, commit_session.c and stale.c.
 */
#include "commit_rig.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "copy/destination/journal.h"
#include "xdd/base/units.h"

#define BLOCK 4096
#define BLOCKS 64
#define SIZE ((uint64_t)BLOCK * BLOCKS)
#define MTIME 1234567890123456789
#define VERSION 0xabcdef0123456789

/* ---- the C library, with faults ---- */

static int pread_error, thread_error;
static bool no_unnamed, die_at_head;

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
	if (!pread_error)
		return syscall(SYS_pread64, fd, data, size, offset);
	errno = pread_error;
	return -1;
}

/* The user that a file system has for all files; 0: their own. */
static uid_t one_user;

int fstat(int fd, struct stat *st)
{
	int ret = fstatat(fd, "", st, AT_EMPTY_PATH);

	if (!ret && one_user)
		st->st_uid = one_user;
	return ret;
}

int openat(int dir_fd, const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (__OPEN_NEEDS_MODE(flags)) {
		va_list args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	if (no_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_openat, dir_fd, path, flags, mode);
}

/* A record of a file that is being written: F; that has its name, or was removed: G. */
ssize_t write(int fd, const void *data, size_t size)
{
	struct journal_record r;
	size_t used;

	if (die_at_head && size > JOURNAL_MAGIC_BYTES &&
	    memcmp(data, JOURNAL_MAGIC, JOURNAL_MAGIC_BYTES) == 0)
		raise(SIGKILL);
	if (journal_decode(data, size, &r, &used) == 1) {
		if (r.type == JOURNAL_FILE)
			note('F');
		else if (r.type == JOURNAL_GONE)
			note('G');
	}
	return syscall(SYS_write, fd, data, size);
}

static int (*attr_init)(pthread_attr_t *);

__attribute__((constructor)) static void find_attr_init(void)
{
	*(void **)&attr_init = dlsym(RTLD_NEXT, "pthread_attr_init");
}

/* The thread sanitizer calls it in threads that it does not know yet. */
__attribute__((no_sanitize_thread)) int pthread_attr_init(pthread_attr_t *attr)
{
	return thread_error ? thread_error : attr_init(attr);
}

#ifdef __SANITIZE_THREAD__
/* A process that dies is a child of this one, and has threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}
#endif

/* ---- the bytes ---- */

static const struct extent some[] = { { 0, 4096 }, { 8192, 1u << 20 }, { 1u << 21, 1ull << 40 } };

static struct journal_record sample(unsigned i)
{
	struct journal_record r = { .type = (enum journal_type)(1 + i),
				    .session = 0xfedcba9876543210,
				    .tree_id = 42,
				    .resumable = true,
				    .boot = { 1, 2, 3 },
				    .host = "alpha",
				    .renamed = true,
				    .path = "a/b c\n/\xff",
				    .number = 77,
				    .size_bytes = 1ull << 40,
				    .mtime_ns = -5,
				    .version = 9,
				    .inode = 4,
				    .ranges = some,
				    .n_ranges = 3 };

	return r;
}

#define TYPES 6

TEST(test_records)
{
	uint8_t data[JOURNAL_MAX_RECORD_BYTES], again[JOURNAL_MAX_RECORD_BYTES];
	struct extent back[3];

	for (unsigned i = 0; i < TYPES; i++) {
		struct journal_record r = sample(i), d;
		size_t n = journal_encode(&r, data, sizeof(data)), used = 0;

		assert_true(n > 0);
		assert_int_equal(journal_encode(&r, again, n - 1), 0);
		assert_int_equal(journal_decode(data, n, &d, &used), 1);
		assert_int_equal(used, n);
		assert_int_equal(d.type, r.type);
		for (unsigned k = 0; k < 3 && d.n_ranges; k++)
			back[k] = journal_range(&d, k);
		d.ranges = back;
		assert_int_equal(journal_encode(&d, again, sizeof(again)), n);
		assert_memory_equal(data, again, n);
		for (size_t part = 0; part < n; part++)
			assert_int_equal(journal_decode(data, part, &d, &used), 0);
		for (size_t bit = 0; bit < 8 * n; bit++) {
			data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_not_equal(journal_decode(data, n, &d, &used), 1);
			data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

/* Ranges are in order, have bytes, and do not touch. */
TEST(test_ranges)
{
	static const struct {
		struct extent ranges[2];
		bool good;
	} cases[] = {
		{ { { 0, 4096 }, { 4097, 8192 } }, true },
		{ { { 0, 4096 }, { 4096, 8192 } }, false },
		{ { { 0, 4096 }, { 4095, 8192 } }, false },
		{ { { 0, 1 }, { 2, INT64_MAX } }, true },
		{ { { 0, 1 }, { 2, (uint64_t)INT64_MAX + 1 } }, false },
		{ { { 5, 5 }, { 6, 7 } }, false },
		{ { { 0, 1 }, { 3, 2 } }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct journal_record r = { .type = JOURNAL_RANGES,
						  .number = 1,
						  .ranges = cases[i].ranges,
						  .n_ranges = 2 };
		uint8_t data[JOURNAL_MAX_RECORD_BYTES];
		size_t n = journal_encode(&r, data, sizeof(data)), used;
		struct journal_record d;

		assert_true(n > 0);
		assert_int_equal(journal_decode(data, n, &d, &used) == 1, cases[i].good);
	}
}

TEST(test_paths)
{
	static const char *const bad[] = { "/",	 "a/",	 "/a",	 "a//b", ".",
					   "..", "a/..", "../a", "a/./b" };
	static const char *const good[] = { "", "a", "a/b", "...", "a/..b/.c" };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct journal_record r = { .type = JOURNAL_DIR, .path = bad[i] };
		uint8_t data[256];

		assert_false(journal_path_is_clean(bad[i]));
		assert_int_equal(journal_encode(&r, data, sizeof(data)), 0);
	}
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(journal_path_is_clean(good[i]));
}

TEST(test_names)
{
	char name[COPY_TEMPORARY_SIZE];
	uint64_t session, number;

	commit_temporary_name(UINT64_MAX, UINT64_MAX, name);
	assert_int_equal(commit_parse_name(name, &session, &number), COMMIT_TEMPORARY_NAME);
	assert_true(session == UINT64_MAX && number == UINT64_MAX);
	commit_journal_name(10, name);
	assert_string_equal(name, ".xddcp-000000000000000a.journal");
	assert_int_equal(commit_parse_name(name, &session, &number), COMMIT_JOURNAL_NAME);
	assert_true(session == 10);
	assert_int_equal(commit_parse_name(".xddcp-000000000000000a-", &session, &number),
			 COMMIT_NO_NAME);
	assert_int_equal(commit_parse_name(".xddcp-0x0000000000000a.journal", &session, &number),
			 COMMIT_NO_NAME);
}

/* ---- interrupted copies ---- */

static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)(1 + offset / BLOCK);
}

static struct commit_file *large(struct dir_node *dir, const char *name)
{
	struct commit_file *f = make_entry(dir, name, 0);

	f->entry->size_bytes = SIZE;
	f->entry->mtime_ns = MTIME;
	f->entry->version = VERSION;
	return f;
}

static void write_block(int fd, unsigned i)
{
	uint8_t data[BLOCK];

	memset(data, byte_at((uint64_t)i * BLOCK), BLOCK);
	assert_int_equal(pwrite(fd, data, BLOCK, (off_t)i * BLOCK), BLOCK);
}

static void write_blocks(struct commit *c, struct commit_file *f, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		write_block(f->fd, i);
		assert_int_equal(commit_wrote(c, f, (uint64_t)i * BLOCK, (i + 1ull) * BLOCK), 0);
	}
}

static void create_large(struct commit *c, struct commit_file *f)
{
	assert_int_equal(commit_create(c, f), 0);
	assert_int_equal(ftruncate(f->fd, (off_t)SIZE), 0);
}

/* The file has all that the journal lists. */
static void assert_durable(const struct commit_file *f, const struct extents *x)
{
	uint8_t data[BLOCK];

	for (size_t i = 0; i < x->n; i++) {
		for (uint64_t at = x->items[i].begin; at < x->items[i].end; at += BLOCK) {
			assert_int_equal(pread(f->fd, data, BLOCK, (off_t)at), BLOCK);
			assert_int_equal(data[0], byte_at(at));
			assert_int_equal(data[BLOCK - 1], byte_at(at));
		}
	}
}

static void wait_for(char letter, size_t n)
{
	for (unsigned i = 0; calls(letter) < n && i < 20000; i++)
		usleep(1000);
	assert_true(calls(letter) >= n);
}

static void wait_for_flush(size_t n)
{
	wait_for('s', n);
}

#define DEAD_SESSION 0x4441454444414544 /* "DEADDEAD" */

/* A file of that session with these blocks; returns its inode in `*st`. */
static void make_part(const char *path, unsigned from, unsigned to, struct stat *st)
{
	int fd;

	unlink(path);
	fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)SIZE), 0);
	for (unsigned i = from; i < to; i++)
		write_block(fd, i);
	assert_int_equal(fstat(fd, st), 0);
	close(fd);
}

static void add(uint8_t *data, size_t *n, const struct journal_record *r)
{
	size_t size = journal_encode(r, data + *n, JOURNAL_MAX_RECORD_BYTES);

	assert_true(size > 0);
	*n += size;
}

static void add_file(uint8_t *data, size_t *n, uint64_t number, const char *path,
		     const struct stat *st)
{
	const struct journal_record r = { .type = JOURNAL_FILE,
					  .number = number,
					  .path = path,
					  .size_bytes = SIZE,
					  .mtime_ns = MTIME,
					  .version = VERSION,
					  .inode = st->st_ino };

	add(data, n, &r);
}

static void add_blocks(uint8_t *data, size_t *n, uint64_t number, unsigned from, unsigned to)
{
	const struct extent e = { (uint64_t)from * BLOCK, (uint64_t)to * BLOCK };
	const struct journal_record r = {
		.type = JOURNAL_RANGES, .number = number, .ranges = &e, .n_ranges = 1
	};

	add(data, n, &r);
}

/* The journal of two files, of which the second has got its name; the files too. */
static size_t make_journal(uint8_t *data)
{
	struct journal_record r = { .type = JOURNAL_HEAD,
				    .session = DEAD_SESSION,
				    .tree_id = TREE_ID,
				    .resumable = true,
				    .host = "alpha" };
	char path[256], name[COPY_TEMPORARY_SIZE];
	struct stat large_st, other_st;
	size_t n = JOURNAL_MAGIC_BYTES;

	commit_temporary_name(DEAD_SESSION, 1, name);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	make_part(path, 0, 30, &large_st);
	commit_temporary_name(DEAD_SESSION, 2, name);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	make_part(path, 50, 64, &other_st);
	memcpy(data, JOURNAL_MAGIC, JOURNAL_MAGIC_BYTES);
	add(data, &n, &r);
	r.type = JOURNAL_DIR;
	r.path = "";
	add(data, &n, &r);
	add_file(data, &n, 1, "large", &large_st);
	add_blocks(data, &n, 1, 0, 10);
	add_file(data, &n, 2, "other", &other_st);
	add_blocks(data, &n, 2, 60, 64);
	add_blocks(data, &n, 1, 10, 20);
	r.type = JOURNAL_GONE;
	r.number = 2;
	add(data, &n, &r);
	add_blocks(data, &n, 1, 20, 30);
	return n;
}

static void write_journal(const uint8_t *data, size_t n)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/.xddcp-%016llx.journal", root,
		 (unsigned long long)DEAD_SESSION);
	fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
	assert_int_equal(write(fd, data, n), (int)n);
	close(fd);
}

static void make_dead(void)
{
	static uint8_t data[16 * JOURNAL_MAX_RECORD_BYTES];

	write_journal(data, make_journal(data));
}

static bool root_is_renamed(void)
{
	int fd = open(root, O_RDONLY);
	bool renamed = commit_root_was_renamed(fd, TREE_ID);

	close(fd);
	return renamed;
}

/* A process that writes to large and small files, and dies after a record. */
static void die(const char *session, bool renamed)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct commit_file *f, *g;
		struct commit *c;

		if (open_session(&c, session))
			_exit(1);
		commit_note_root(c, renamed);
		f = large(dirs_root(dirs), "large");
		g = large(sub("s"), "other");
		create_large(c, f);
		create_large(c, g);
		make(c, dirs_root(dirs), "small", 1);
		write_blocks(c, f, 0, 10);
		write_blocks(c, g, 20, 30);
		wait_for_flush(3); /* two files and the journal */
		forget_calls();
		write_blocks(c, f, 10, 20);
		write_blocks(c, f, 40, 50);
		wait_for_flush(2);
		usleep(20000);
		write_blocks(c, f, 60, 64);
		/* At once: _exit() sleeps in the thread sanitizer, and threads go on. */
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, SIGKILL);
	assert_int_equal(root_is_renamed(), renamed);
}

static int resume(struct commit_file *f, struct extents *x)
{
	extents_clear(x);
	return commit_resume(commit, f, x);
}

FIXTURE_TEST(test_resume)
{
	struct extents x = { .n = 0 };
	struct commit_file *f;
	struct dir_node *s;

	settings.resume = true;
	die("DEADDEAD", false);
	assert_int_equal(count_parts(), 3);
	begin();
	assert_string_equal(why.text, "");
	/* The small file is not continued. */
	assert_int_equal(count_parts(), 2);
	/* The journal keeps its name; until the end another one marks the root as of this copy. */
	assert_int_equal(count(true), 2);
	commit_announce(commit);
	assert_int_equal(count(true), 3);
	f = large(dirs_root(dirs), "large");
	assert_int_equal(resume(f, &x), 1);
	assert_int_equal(x.total, 30 * BLOCK);
	assert_true(extents_contains(&x, 0, 20 * BLOCK));
	assert_true(extents_contains(&x, 40 * BLOCK, 50 * BLOCK));
	assert_durable(f, &x);
	write_blocks(commit, f, 20, 40);
	write_blocks(commit, f, 50, 64);
	/* It can be claimed once. */
	assert_int_equal(resume(f, &x), 0);
	commit_put(commit, f);
	drain(commit);
	assert_int_equal(n_done, 1);
	/* The other one is not wanted any more. */
	s = sub("s");
	dirs_release(dirs, s);
	end();
	assert_int_equal(count_parts(), 0);
	assert_int_equal(count(true), 0);
	extents_clear(&x);
}

/* A file that has its name is forgotten once that is durable, not before. */
FIXTURE_TEST(test_order_of_names)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
	size_t renamed = 0, durable = 0, gone = 0;
	struct commit_file *files[6];

	settings.resume = true;
	for (unsigned n = 1; n <= 6; n += 5) {
		begin();
		for (unsigned i = 0; i < n; i++) {
			files[i] = large(dirs_root(dirs), names[i]);
			create_large(commit, files[i]);
			write_blocks(commit, files[i], 0, 64);
		}
		wait_for('F', n);
		flush_delay_us = 1000;
		forget_calls();
		for (unsigned i = 0; i < n; i++)
			commit_put(commit, files[i]);
		end();
		assert_int_equal(calls('G'), n);
		assert_int_equal(calls('D'), n);
		renamed = durable = gone = 0;
		for (const char *p = order; *p; p++) {
			renamed += *p == 'R';
			gone += *p == 'G';
			if (*p == 'S' || *p == 'd')
				durable = renamed;
			assert_true(gone <= durable);
		}
		forget_calls();
	}
}

/* Interrupted again, in order: what is there is kept, and continued by a third one. */
FIXTURE_TEST(test_interrupted_again)
{
	struct extents x = { .n = 0 };
	struct commit_file *f;

	settings.resume = true;
	die("DEADDEAD", false);
	begin();
	f = large(dirs_root(dirs), "large");
	assert_int_equal(resume(f, &x), 1);
	write_blocks(commit, f, 20, 40);
	commit_drop(commit, f, true);
	assert_true(f->kept);
	forget(f);
	f = make(commit, dirs_root(dirs), "small", 2);
	commit_drop(commit, f, true);
	forget(f);
	end_early(true);
	assert_int_equal(count_parts(), 2);

	begin();
	f = large(dirs_root(dirs), "large");
	assert_int_equal(resume(f, &x), 1);
	assert_int_equal(x.total, 50 * BLOCK);
	assert_durable(f, &x);
	commit_drop(commit, f, false);
	assert_int_equal(count_parts(), 1);
	forget(f);
	end_early(true);

	begin();
	f = large(dirs_root(dirs), "large");
	assert_int_equal(resume(f, &x), 0);
	forget(f);
	end();
	assert_int_equal(count(true), 0);
	assert_int_equal(count_parts(), 0);
	extents_clear(&x);
}

FIXTURE_TEST(test_changed_source)
{
	struct extents x = { .n = 0 };
	struct commit_file *f;
	struct dir_node *s;

	settings.resume = true;
	die("DEADDEAD", false);
	begin();
	f = large(dirs_root(dirs), "large");
	f->entry->version++;
	assert_int_equal(resume(f, &x), 0);
	assert_int_equal(count_parts(), 1);
	forget(f);
	s = sub("s");
	f = large(s, "other");
	f->entry->size_bytes--;
	assert_int_equal(resume(f, &x), 0);
	assert_int_equal(count_parts(), 0);
	forget(f);
	dirs_release(dirs, s);
	end();
	assert_int_equal(count(true), 0);
}

/* Replaced, cut or extended after the copy died: not believed. */
FIXTURE_TEST(test_changed_file)
{
	struct extents x = { .n = 0 };
	char command[256];
	struct commit_file *f;

	settings.resume = true;
	for (unsigned i = 0; i < 5; i++) {
		static const char *const changes[] = {
			"truncate -s 100000 \"$f\"",
			"printf x >> \"$f\"",
			"cp -p \"$f\" x && mv x \"$f\"",
			"rm -f \"$f\" && ln -s /etc/passwd \"$f\"",
			"ln -f \"$f\" other",
		};

		make_dead();
		snprintf(command, sizeof(command), "cd %s && for f in .xddcp-*-1.part; do %s; done",
			 root, changes[i]);
		assert_int_equal(system(command), 0);
		begin();
		f = large(dirs_root(dirs), "large");
		assert_int_equal(resume(f, &x), 0);
		forget(f);
		end();
		assert_int_equal(count_parts(), 0);
	}
}

/* The next copy continues the file that the dead one has left. */
static void assert_continued(void)
{
	struct extents x = { .n = 0 };
	struct commit_file *f;

	begin();
	f = large(dirs_root(dirs), "large");
	assert_int_equal(resume(f, &x), 1);
	commit_drop(commit, f, false);
	forget(f);
	end();
	extents_clear(&x);
}

/* A file that has its last permissions already can be continued. */
FIXTURE_TEST(test_permissions)
{
	char command[256];

	settings.resume = true;
	make_dead();
	snprintf(command, sizeof(command), "chmod 0 %s/.xddcp-*-1.part", root);
	assert_int_equal(system(command), 0);
	assert_continued();
}

/* A file system gives all files one user, who is not the user of this process. */
FIXTURE_TEST(test_one_user)
{
	settings.resume = true;
	make_dead();
	one_user = geteuid() + 1;
	assert_continued();
	one_user = 0;
}

/* Another copy, or one without -R. */
FIXTURE_TEST(test_other_copies)
{
	struct extents x = { .n = 0 };
	struct commit_file *f;
	struct commit *c;
	struct copy_job job = { .settings = &settings };
	int fd;

	settings.resume = true;
	die("DEADDEAD", true);
	fd = open(root, O_RDONLY);
	assert_false(commit_root_was_renamed(fd, TREE_ID + 1));
	close(fd);
	for (unsigned i = 0; i < 2; i++) {
		settings.resume = i;
		assert_int_equal(commit_open(&c, &job, dirs, TREE_ID + 1, NULL, NULL, &why), 0);
		f = large(dirs_root(dirs), "large");
		assert_int_equal(commit_resume(c, f, &x), 0);
		forget(f);
		commit_close(c, false, NULL);
		assert_int_equal(count_parts(), 3);
	}
	settings.resume = false;
	begin();
	assert_int_equal(count_parts(), 0);
	end();
	assert_int_equal(count(true), 0);
}

/* A live session is neither continued nor disturbed. */
FIXTURE_TEST(test_alive)
{
	struct extents x = { .n = 0 };
	struct commit_file *f, *g;
	struct commit *other;

	settings.resume = true;
	assert_int_equal(open_session(&other, "OTHERONE"), 0);
	f = large(dirs_root(dirs), "large");
	create_large(other, f);
	write_blocks(other, f, 0, 64);
	wait_for_flush(2);
	begin();
	g = large(dirs_root(dirs), "large");
	assert_int_equal(resume(g, &x), 0);
	forget(g);
	end();
	assert_int_equal(count_parts(), 1);
	assert_int_equal(count(true), 2);
	commit_put(other, f);
	commit_close(other, false, NULL);
	assert_int_equal(n_done, 1);
	assert_int_equal(done_err[0], 0);
}

/* A process that dies while it creates its journal. */
static void die_creating(bool named)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct commit *c;

		no_unnamed = named;
		die_at_head = true;
		open_session(&c, "DEADDEAD");
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, SIGKILL);
}

/* A journal without a head has no name, or one that the next copy removes once it is dead. */
FIXTURE_TEST(test_no_head)
{
	char path[256], name[COPY_TEMPORARY_SIZE];
	int fd;

	settings.resume = true;
	die_creating(false);
	assert_int_equal(count(true), 0);
	die_creating(true);
	assert_int_equal(count_parts(), 1);

	commit_temporary_name(DEAD_SESSION, JOURNAL_START_NUMBER, name);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	begin();
	assert_int_equal(count_parts(), 1);
	end();
	close(fd);

	no_unnamed = true;
	begin();
	assert_int_equal(count_parts(), 0);
	assert_int_equal(count(true), 1); /* its own journal */
	end();
	no_unnamed = false;
}

/* Bytes that are continued of a file with this journal; what it says is in the file. */
static uint64_t resumed(const char *name)
{
	struct extents x = { .n = 0 };
	struct commit_file *f;
	uint64_t total;
	int got;

	begin();
	f = large(dirs_root(dirs), name);
	got = resume(f, &x);
	assert_true(got == 0 || got == 1);
	if (got)
		assert_durable(f, &x);
	total = x.total;
	commit_drop(commit, f, false);
	forget(f);
	extents_clear(&x);
	end();
	assert_int_equal(count_parts(), 0);
	assert_int_equal(count(true), 0);
	return total;
}

FIXTURE_TEST(test_each_prefix)
{
	static uint8_t data[16 * JOURNAL_MAX_RECORD_BYTES];
	uint64_t last = 0, total = 0, most_other = 0;
	size_t n;

	settings.resume = true;
	n = make_journal(data);
	for (size_t part = 0; part <= n; part++) {
		make_journal(data);
		write_journal(data, part);
		total = resumed("large");
		assert_true(total >= last);
		last = total;
		make_journal(data);
		write_journal(data, part);
		total = resumed("other");
		most_other = total > most_other ? total : most_other;
	}
	assert_int_equal(last, 30 * BLOCK);
	assert_int_equal(most_other, 4 * BLOCK);
	assert_int_equal(total, 0);
}

FIXTURE_TEST(test_each_damage)
{
	static uint8_t data[16 * JOURNAL_MAX_RECORD_BYTES];
	size_t n;

	settings.resume = true;
	n = make_journal(data);
	for (size_t i = 0; i < n; i++) {
		make_journal(data);
		data[i] ^= (uint8_t)(1u << i % 8);
		write_journal(data, n);
		assert_true(resumed("large") < 30 * BLOCK);
	}
}

/* A journal that is right in itself, but says what cannot be. */
FIXTURE_TEST(test_wrong_journals)
{
	static uint8_t data[16 * JOURNAL_MAX_RECORD_BYTES];
	struct stat st = { .st_ino = 1 };
	char command[256];
	size_t n;

	settings.resume = true;
	/* twice the same number, the same path, ranges of no file, beyond the end of the file */
	for (unsigned i = 0; i < 5; i++) {
		n = make_journal(data);
		switch (i) {
		case 0:
			add_file(data, &n, 1, "x", &st);
			break;
		case 1:
			add_file(data, &n, 9, "large", &st);
			break;
		case 2:
			add_blocks(data, &n, 5, 0, 1);
			break;
		case 3:
			add_blocks(data, &n, 1, 64, 65);
			break;
		case 4:
			add_file(data, &n, UINT64_MAX, "x", &st);
			break;
		}
		/* All before it is good. */
		write_journal(data, n);
		assert_int_equal(resumed("large"), i == 4 ? 0 : 30 * BLOCK);
	}
	/* other permissions: another user may have written to it */
	n = make_journal(data);
	write_journal(data, n);
	snprintf(command, sizeof(command), "chmod 666 %s/.xddcp-*.journal", root);
	assert_int_equal(system(command), 0);
	begin();
	assert_int_equal(count_parts(), 2);
	end();
	assert_int_equal(count(true), 3);
}

static void journal_path(char *path, size_t size)
{
	snprintf(path, size, "%s/.xddcp-%016llx.journal", root, (unsigned long long)DEAD_SESSION);
}

/* The journal of another boot that wrote to it so long ago. */
static void make_silent(time_t seconds)
{
	struct timespec times[2];
	char path[256];

	make_dead();
	journal_path(path, sizeof(path));
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= seconds;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static time_t silence(void)
{
	struct stat st;
	char path[256];

	journal_path(path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	return time(NULL) - st.st_mtim.tv_sec;
}

/* Where locks do not reach all hosts, a look at a journal is no sign that its session lives. */
FIXTURE_TEST(test_silence)
{
	struct copy_job job = { .settings = &settings };
	struct extents x = { .n = 0 };
	struct commit_file *f;
	struct commit *c;

	magic = FUSE;
	settings.resume = true;
	make_silent(60);
	for (unsigned i = 0; i < 2; i++) {
		begin();
		f = large(dirs_root(dirs), "large");
		assert_int_equal(resume(f, &x), 0);
		forget(f);
		end();
		assert_in_range(silence(), 59, 119);
	}
	make_silent(3600);
	assert_int_equal(commit_open(&c, &job, dirs, TREE_ID + 1, NULL, NULL, &why), 0);
	commit_close(c, false, NULL);
	assert_in_range(silence(), 3599, 7200);
	assert_false(root_is_renamed());
	assert_int_equal(resumed("large"), 30 * BLOCK);
	make_silent(15 * 86400);
	assert_int_equal(commit_open(&c, &job, dirs, TREE_ID + 1, NULL, NULL, &why), 0);
	commit_entered_all(c);
	commit_close(c, false, NULL);
	assert_int_equal(count(true), 0);
}

/* A temporary file of the dead session, in a directory of which no record is left. */
static void make_lost(const char *dir, uint64_t number)
{
	char path[256], name[COPY_TEMPORARY_SIZE];
	struct stat st;

	commit_temporary_name(DEAD_SESSION, number, name);
	snprintf(path, sizeof(path), "%s/%s/%s", root, dir, name);
	make_part(path, 0, 1, &st);
}

/* The records of "s" are lost: they were the last ones, and not flushed. */
static void cut_journal(void)
{
	struct journal_record rec;
	struct records r;
	uint64_t end = 0;
	char path[256];
	int fd;

	journal_path(path, sizeof(path));
	fd = open(path, O_RDONLY);
	assert_int_equal(records_read(&r, fd), 0);
	do {
		end = r.in.end;
		assert_int_equal(records_next(&r, &rec), 1);
	} while (rec.type != JOURNAL_DIR || strcmp(rec.path, "s") != 0);
	records_end(&r);
	close(fd);
	assert_int_equal(truncate(path, (off_t)end), 0);
}

/* Directories whose records were lost are looked at when the copy enters them. */
FIXTURE_TEST(test_lost_directories)
{
	struct extents x = { .n = 0 };
	struct dir_node *s = sub("s");
	struct commit_file *f, *g;
	uint64_t number = 2;

	settings.resume = true;
	make_dead();
	for (unsigned i = 0; i < 3; i++) {
		make_lost("s", number + 1);
		begin();
		f = large(dirs_root(dirs), "large");
		assert_int_equal(resume(f, &x), 1);
		assert_int_equal(x.total, 30 * BLOCK);
		assert_int_equal(count_parts(), 2);
		commit_look(commit, s);
		commit_look(commit, dirs_root(dirs));
		assert_int_equal(count_parts(), 1);
		g = make_entry(s, "new", 0);
		create_large(commit, g);
		number = g->number;
		/* A list of files may enter a directory again. */
		commit_look(commit, s);
		assert_int_equal(count_parts(), 2);
		commit_drop(commit, g, false);
		commit_drop(commit, f, true);
		forget(f);
		forget(g);
		end_early(true);
		cut_journal();
	}
	begin();
	end();
	assert_int_equal(count_parts(), 0);
	assert_int_equal(count(true), 0);
	dirs_release(dirs, s);
	extents_clear(&x);
}

/* ---- paths that do not fit ---- */

/* Enter, or make, `name`, and give the parent up. */
static struct dir_node *below(struct dir_node *parent, const char *name)
{
	int fd = dirs_fd(dirs, parent);
	struct dir_node *node;

	assert_true(fd >= 0);
	assert_true(mkdirat(fd, name, 0700) == 0 || errno == EEXIST);
	dirs_done(dirs, parent);
	assert_int_equal(dirs_enter(dirs, parent, name, &node), 0);
	dirs_release(dirs, parent);
	return node;
}

/* A directory whose path is longer than the journal takes; they differ in the first name only. */
static struct dir_node *deep(const char *first)
{
	struct dir_node *node = sub(first);
	char name[201];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t n = 0; n < JOURNAL_MAX_PATH_BYTES; n += sizeof(name))
		node = below(node, name);
	return node;
}

/* The paths in the journal of the session that was interrupted, one per line. */
static void journal_paths(char *text, size_t size)
{
	struct journal_record rec;
	struct records r;
	char command[160];
	FILE *find;
	int fd;

	snprintf(command, sizeof(command), "echo %s/.xddcp-*.journal", root);
	find = popen(command, "r");
	assert_non_null(find);
	assert_non_null(fgets(command, sizeof(command), find));
	pclose(find);
	command[strcspn(command, "\n")] = '\0';
	fd = open(command, O_RDONLY);
	assert_int_equal(records_read(&r, fd), 0);
	text[0] = '\0';
	while (records_next(&r, &rec) == 1) {
		size_t n = strlen(text);

		if (rec.path)
			snprintf(text + n, size - n, "%s\n", rec.path);
	}
	records_end(&r);
	close(fd);
}

/* A journal of a later version is kept with its files, and named. */
FIXTURE_TEST(test_later_versions)
{
	static uint8_t data[16 * JOURNAL_MAX_RECORD_BYTES];
	static const struct {
		char version[3];
		bool later;
	} rows[] = { { "3\n", true }, { "9\n", true },	{ "10", true },
		     { "99", true },  { "0\n", false }, { "1\n", false },
		     { "2x", false }, { "a\n", false }, { ":0", false } };
	char other[128], command[300];
	size_t n;

	snprintf(other, sizeof(other), "%s/.xddcp-0123456789abcdef.journal", root);
	for (unsigned i = 0; i < 4 * sizeof(rows) / sizeof(rows[0]); i++) {
		const bool later = rows[i / 4].later, two = i & 1;
		struct stat st;

		settings.resume = i & 2;
		n = make_journal(data);
		memcpy(data + JOURNAL_MAGIC_BYTES - 2, rows[i / 4].version, 2);
		write_journal(data, n);
		snprintf(command, sizeof(command), "cp -p %s/.xddcp-4*.journal %s", root, other);
		assert_int_equal(two ? system(command) : 0, 0);
		begin();
		assert_int_equal(strstr(why.text, "later version") != NULL, later);
		assert_int_equal(strstr(why.text, "and 1 more") != NULL, later && two);
		if (later)
			assert_string_equal(
				strstr(why.text, ".journal") + strlen(".journal"),
				two ? " and 1 more: written by a later version of xdd, so "
				      "temporary files of that copy stay; remove them with that "
				      "version" :
				      ": written by a later version of xdd, so temporary files of "
				      "that copy stay; remove them with that version");
		assert_int_equal(strstr(why.text, " more") != NULL, later && two);
		commit_look(commit, dirs_root(dirs));
		end();
		assert_int_equal(count_parts(), later ? 2 : 0);
		assert_int_equal(count(true), later ? 3 + two : 0);
		assert_int_equal(stat(other, &st) == 0, later && two);
		unlink(other);
	}
}

/* A path that is cut may be that of another file: it is not recorded, and not looked for. */
FIXTURE_TEST(test_long_paths)
{
	static char text[2 * JOURNAL_MAX_PATH_BYTES];
	struct dir_node *nodes[4];
	struct commit_file *files[4];
	struct extents x = { .n = 0 };

	settings.resume = true;
	begin();
	nodes[0] = deep("a");
	nodes[1] = deep("b");
	nodes[2] = below(sub("..."), "c");
	nodes[3] = dirs_root(dirs);
	for (unsigned i = 0; i < 4; i++) {
		files[i] = large(nodes[i], "large");
		create_large(commit, files[i]);
		write_blocks(commit, files[i], 0, 64);
		commit_drop(commit, files[i], true);
		assert_int_equal(files[i]->kept, i >= 2);
		forget(files[i]);
	}
	end_early(true);
	assert_int_equal(count_parts(), 2);
	journal_paths(text, sizeof(text));
	assert_string_equal(text, ".../c\n.../c/large\n\nlarge\n");

	begin();
	assert_string_equal(why.text, "");
	for (unsigned i = 0; i < 4; i++) {
		files[i] = large(nodes[i], "large");
		assert_int_equal(resume(files[i], &x), i >= 2);
		assert_int_equal(x.total, i >= 2 ? SIZE : 0);
		commit_drop(commit, files[i], false);
		forget(files[i]);
		if (i < 3)
			dirs_release(dirs, nodes[i]);
	}
	end();
	assert_int_equal(count(true), 0);
	extents_clear(&x);
}

/* A copy that cannot begin, or cannot read a journal, leaves it to the next one. */
FIXTURE_TEST(test_no_begin)
{
	settings.resume = true;
	make_dead();
	thread_error = EAGAIN;
	assert_int_equal(open_session(&commit, "SESSION1"), -EAGAIN);
	thread_error = 0;
	assert_int_equal(count(true), 2);
	assert_int_equal(resumed("large"), 30 * BLOCK);
	make_dead();
	pread_error = EIO;
	begin();
	pread_error = 0;
	end();
	assert_int_equal(count_parts(), 2);
	assert_int_equal(resumed("large"), 30 * BLOCK);
}

/* Data first, then the journal; a flush that failed is recorded nowhere, and fails the file. */
FIXTURE_TEST(test_failed_flush)
{
	struct extents x = { .n = 0 };
	struct commit_file *f;

	settings.resume = true;
	begin();
	f = large(dirs_root(dirs), "large");
	create_large(commit, f);
	write_blocks(commit, f, 0, 10);
	wait_for_flush(2);
	fdatasync_error = EIO;
	write_blocks(commit, f, 10, 20);
	wait_for_flush(4); /* that of the journal: the one that fails is over */
	usleep(20000);
	fdatasync_error = 0;
	write_blocks(commit, f, 20, 30);
	usleep(1200000);
	commit_put(commit, f);
	drain(commit);
	assert_int_equal(done_err[0], -EIO);
	f = large(dirs_root(dirs), "large");
	create_large(commit, f);
	write_blocks(commit, f, 0, 10);
	fdatasync_error = EIO;
	commit_drop(commit, f, true);
	fdatasync_error = 0;
	forget(f);
	end_early(true);
	begin();
	f = large(dirs_root(dirs), "large");
	assert_int_equal(resume(f, &x), 0);
	forget(f);
	end();
	assert_int_equal(count(true), 0);
}

/* Without storage nothing is flushed, and all that was written counts. */
FIXTURE_TEST(test_memory_only)
{
	struct extents x = { .n = 0 };
	struct commit_file *f;

	magic = TMPFS;
	settings.resume = true;
	begin();
	f = large(dirs_root(dirs), "large");
	create_large(commit, f);
	write_blocks(commit, f, 0, 10);
	usleep(1700000);
	write_blocks(commit, f, 10, 12);
	commit_drop(commit, f, true);
	forget(f);
	end_early(true);
	begin();
	f = large(dirs_root(dirs), "large");
	assert_int_equal(resume(f, &x), 1);
	assert_int_equal(x.total, 12 * BLOCK);
	commit_put(commit, f);
	drain(commit);
	end();
	assert_int_equal(n_done, 1);
	assert_int_equal(count(true), 0);
	extents_clear(&x);
}

static void *write_fourth(void *arg)
{
	struct commit_file *f = arg;
	static _Atomic unsigned next;

	for (unsigned i; (i = next++) < BLOCKS;) {
		write_blocks(commit, f, i, i + 1);
		usleep(40000);
	}
	return NULL;
}

FIXTURE_TEST(test_threads)
{
	struct extents x = { .n = 0 };
	struct commit_file *f;
	pthread_t threads[4];

	settings.resume = true;
	begin();
	f = large(dirs_root(dirs), "large");
	create_large(commit, f);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, write_fourth, f);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	commit_drop(commit, f, true);
	forget(f);
	end_early(true);
	begin();
	f = large(dirs_root(dirs), "large");
	assert_int_equal(resume(f, &x), 1);
	assert_int_equal(x.total, SIZE);
	commit_drop(commit, f, false);
	forget(f);
	end();
	extents_clear(&x);
}

RUN_TESTS(NULL, NULL)
