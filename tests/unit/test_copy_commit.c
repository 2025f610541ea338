/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How complete files become durable and get their names: src/copy/destination/commit*.c.
 */
#include "commit_rig.h"

#include <sys/xattr.h>

#include "copy/destination/commit_state.h"

/* ---- tests ---- */

/*
 * Data first, then the name, then its flush, then the result: no more files are renamed than were
 * put before the last flush, and no more are done than were renamed before it.
 */
static void assert_order(void)
{
	size_t put = 0, put_flushed = 0, renamed = 0, renamed_flushed = 0, done = 0;

	for (const char *p = order; *p; p++) {
		put += *p == 'p';
		renamed += *p == 'R';
		done += *p == 'D';
		/* A slow machine may have a few files flushed one by one. */
		put_flushed = *p == 'S' ? put : put_flushed + (*p == 'f');
		renamed_flushed = *p == 'S' || *p == 'd' ? renamed : renamed_flushed;
		assert_true(renamed <= put_flushed);
		assert_true(done <= renamed_flushed);
	}
}

FIXTURE_TEST(test_order_of_many)
{
	begin();
	flush_delay_us = 1000;
	put_many(20);
	drain(commit);
	assert_int_equal(n_done, 20);
	end();
	assert_order();
	assert_int_equal(calls('D'), 20);
	assert_true(calls('S') > 0);
	assert_int_equal(count(false), 20);
	assert_int_equal(count(true), 0);
	assert_contents("f7");
}

/* syncfs(2) is used where it reports errors: on these file systems, and since Linux 5.8. */
FIXTURE_TEST(test_kinds_of_flush)
{
	static const struct {
		long magic;
		const char *release;
		enum commit_flush flush;
		bool shared;
	} cases[] = {
		{ TMPFS, "6.1.0", COMMIT_FLUSH_NONE, false },
		{ TMPFS, "5.7", COMMIT_FLUSH_NONE, false },
		{ 0x858458f6, "6.1.0", COMMIT_FLUSH_NONE, false }, /* ramfs */
		{ EXT4, "6.1.0-18-amd64", COMMIT_FLUSH_ALL, false },
		{ EXT4, "5.8.0", COMMIT_FLUSH_ALL, false },
		{ EXT4, "5.7.19", COMMIT_FLUSH_EACH, false },
		{ EXT4, "5.10.1", COMMIT_FLUSH_ALL, false },
		{ EXT4, "4.19.0", COMMIT_FLUSH_EACH, false },
		{ EXT4, "6.0", COMMIT_FLUSH_ALL, false },
		{ EXT4, "6", COMMIT_FLUSH_EACH, false },
		{ EXT4, "next", COMMIT_FLUSH_EACH, false },
		{ 0x58465342, "6.1.0", COMMIT_FLUSH_ALL, false },  /* xfs */
		{ 0x9123683e, "6.1.0", COMMIT_FLUSH_ALL, false },  /* btrfs */
		{ 0xf2f52010, "6.1.0", COMMIT_FLUSH_ALL, false },  /* f2fs */
		{ 0xca451a4e, "6.1.0", COMMIT_FLUSH_ALL, false },  /* bcachefs */
		{ 0x4d44, "6.1.0", COMMIT_FLUSH_ALL, false },	   /* vfat */
		{ 0x2011bab0, "6.1.0", COMMIT_FLUSH_ALL, false },  /* exfat */
		{ 0x6969, "6.1.0", COMMIT_FLUSH_ALL, true },	   /* nfs */
		{ 0x00c36400, "6.1.0", COMMIT_FLUSH_ALL, true },   /* ceph */
		{ 0x794c7630, "6.1.0", COMMIT_FLUSH_EACH, false }, /* overlay */
		{ FUSE, "6.1.0", COMMIT_FLUSH_EACH, true },
		{ 1, "6.1.0", COMMIT_FLUSH_EACH, true },
	};
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		magic = cases[i].magic;
		release = cases[i].release;
		begin();
		put("a", (unsigned)i);
		drain(commit);
		assert_int_equal(commit->n_fs, 1);
		assert_int_equal(commit->fs[0].flush, cases[i].flush);
		end();
		assert_int_equal(commit_fs_is_shared(fd), cases[i].shared);
	}
	close(fd);
}

FIXTURE_TEST(test_order_of_few)
{
	begin();
	put("a", 0);
	drain(commit);
	put("b", 1);
	put("c", 2);
	drain(commit);
	end();
	assert_memory_equal(order, "pfRdD", 5);
	assert_int_equal(calls('f'), 3);
	assert_int_equal(calls('d') >= 2, 1);
	assert_int_equal(calls('S'), 0);
	assert_contents("c");
	begin();
	commit_changed_dir(commit);
	put("d", 3);
	drain(commit);
	assert_int_equal(calls('S'), 0);
	end();
	assert_int_equal(calls('S'), 1);
}

FIXTURE_TEST(test_memory)
{
	magic = TMPFS;
	begin();
	put_many(300);
	drain(commit);
	assert_int_equal(n_done, 300);
	end();
	assert_int_equal(calls('S') + calls('f') + calls('d'), 0);
	/* they had no names before, and need a rename only to replace others */
	assert_int_equal(calls('R'), 0);
	assert_int_equal(count(false), 300);
	begin();
	put_many(300);
	end();
	assert_int_equal(calls('R'), 300);
	assert_int_equal(count(false), 300);
	assert_int_equal(count(true), 0);
}

/* The thread that puts a file in memory names and reports it, also in place and with -R. */
FIXTURE_TEST(test_memory_at_once)
{
	char path[128];
	struct commit_file *f;

	magic = TMPFS;
	begin();
	put("a", 0);
	assert_int_equal(n_done, 1);
	f = make_entry(dirs_root(dirs), "a", 1);
	snprintf(path, sizeof(path), "%s/a", root);
	f->fd = open(path, O_RDWR);
	commit_put(commit, f);
	assert_int_equal(n_done, 2);
	end();
	settings.resume = true;
	begin();
	f = make(commit, dirs_root(dirs), "b", 2);
	assert_int_equal(commit_wrote(commit, f, 0, 1), 0);
	commit_put(commit, f);
	assert_int_equal(n_done, 3);
	f = make(commit, dirs_root(dirs), "c", 3);
	assert_int_equal(commit_wrote(commit, f, 0, 1), 0);
	close_error = EDQUOT;
	n_close = 0;
	commit_put(commit, f);
	close_error = 0;
	assert_int_equal(n_done, 4);
	end();
	assert_int_equal(done_err[2], 0);
	assert_int_equal(done_err[3], -EDQUOT);
	assert_int_equal(calls('S') + calls('f') + calls('d'), 0);
	assert_int_equal(count(false), 2);
	assert_int_equal(count(true), 0);
}

/* Each file system has a number; the ones that there are too many of share the last. */
FIXTURE_TEST(test_file_systems)
{
	const uint32_t last = COMMIT_MAX_FS - 1;
	const int proc = open("/proc", O_RDONLY), sys = open("/sys", O_RDONLY);
	struct dir_node *node = dirs_root(dirs);
	const int here = dirs_fd(dirs, node);

	begin();
	for (int round = 0; round < 2; round++) {
		assert_int_equal(commit_fs_of(commit, here), 0);
		assert_int_equal(commit_fs_of(commit, proc), 1);
	}
	assert_int_equal(commit->n_fs, 2);
	assert_int_equal(commit->fs[1].flush, COMMIT_FLUSH_ALL);
	assert_true(commit->fs[1].fd >= 0 && !commit->each);
	for (uint32_t i = 2; i < last; i++)
		commit->fs[i] = (struct commit_fs){ .fd = -1, .dev = (dev_t)-i };
	commit->n_fs = last;
	assert_int_equal(commit_fs_of(commit, sys), last);
	assert_int_equal(commit->fs[last].flush, COMMIT_FLUSH_EACH);
	assert_true(commit->fs[last].fd == -1 && commit->each);
	close(sys);
	assert_int_equal(commit_fs_of(commit, proc), 1);
	commit->fs[1].dev = 0;
	assert_int_equal(commit_fs_of(commit, proc), last);
	assert_int_equal(commit->n_fs, COMMIT_MAX_FS);
	close(proc);
	dirs_done(dirs, node);
	end();
}

/* Create a file for an entry with this mode; it is dropped. True: nothing is to be set. */
static bool has_mode(struct dir_node *dir, mode_t mode)
{
	struct commit_file *f = make_entry(dir, "file", 0);
	struct stat st;
	bool has;

	f->mode = mode;
	assert_int_equal(commit_create(commit, f), 0);
	assert_int_equal(fstat(f->fd, &st), 0);
	has = f->has_mode;
	if (has)
		assert_int_equal(st.st_mode & 07777, mode);
	else
		assert_int_equal(st.st_mode & 07777 & ~mode & ~0600, 0);
	commit_drop(commit, f, false);
	forget(f);
	return has;
}

static bool has_modes(struct dir_node *dir, mode_t mode)
{
	bool first = has_mode(dir, mode), second = has_mode(dir, mode);

	assert_int_equal(first, second);
	return first;
}

/* Files in memory have their permissions as they are created, where that is exact. */
FIXTURE_TEST(test_modes)
{
	struct dir_node *dir = sub("dir"), *other = sub("other");
	mode_t before;

	magic = TMPFS;
	before = umask(022);
	begin();
	for (unsigned round = 0; round < 2; round++) {
		assert_true(has_modes(dir, 0644));
		assert_true(has_modes(dir, 0755));
		assert_true(has_modes(other, 0600));
		assert_false(has_modes(other, 0666)); /* the mask */
		assert_false(has_modes(dir, 0775));
		assert_false(has_modes(dir, 0444)); /* its owner opens it again */
		assert_false(has_modes(dir, 0));
		for (mode_t special = 01000; special < 010000; special += 01000)
			assert_false(has_modes(dir, special | 0755));
	}
	end();
	umask(0);
	begin();
	assert_true(has_modes(dir, 0666));
	end();
	settings.everything = true;
	begin();
	assert_false(has_modes(dir, 0644));
	end();
	settings.everything = false;
	settings.resume = true;
	begin();
	assert_false(has_modes(dir, 0644));
	end();
	settings.resume = false;
	magic = EXT4;
	begin();
	assert_false(has_modes(dir, 0644));
	end();
	umask(before);
	dirs_release(dirs, dir);
	dirs_release(dirs, other);
}

/* rwx for the owner, r-x for the group, --- for others, as the kernel has it. */
static const uint8_t acl[] = { 2,    0, 0, 0,				/* version */
			       1,    0, 7, 0, 0xff, 0xff, 0xff, 0xff,	/* owner */
			       4,    0, 5, 0, 0xff, 0xff, 0xff, 0xff,	/* group */
			       0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff }; /* others */

/* Files of a directory with a default ACL get other permissions than they are created with. */
FIXTURE_TEST(test_modes_of_acl)
{
	struct dir_node *dir = sub("acl"), *other = sub("other");
	char path[128];

	snprintf(path, sizeof(path), "%s/acl", root);
	if (setxattr(path, "system.posix_acl_default", acl, sizeof(acl), 0)) {
		dirs_release(dirs, dir);
		dirs_release(dirs, other);
		skip();
	}
	magic = TMPFS;
	begin();
	for (unsigned round = 0; round < 2; round++) {
		assert_false(has_modes(dir, 0644));
		assert_true(has_modes(other, 0644));
		assert_true(has_modes(dir, 0640));
		assert_false(has_modes(dir, 0660));
	}
	end();
	dirs_release(dirs, dir);
	dirs_release(dirs, other);
}

FIXTURE_TEST(test_others)
{
	magic = FUSE;
	begin();
	put_many(6);
	drain(commit);
	end();
	assert_int_equal(calls('f'), 6);
	assert_true(calls('d') >= 1);
	assert_int_equal(count(false), 6);
}

/* Without a drain, and without being asked to hurry, files get their names soon. */
FIXTURE_TEST(test_alone)
{
	size_t n = 0;

	begin();
	for (unsigned round = 0; round < 3; round++) {
		put_many(8);
		for (unsigned i = 0; n < 8 * (round + 1) && i < 2000; i++) {
			usleep(1000);
			pthread_mutex_lock(&log_lock);
			n = n_done;
			pthread_mutex_unlock(&log_lock);
		}
		assert_int_equal(n, 8 * (round + 1));
		usleep(round * 700000); /* the thread sleeps then */
	}
	end();
}

FIXTURE_TEST(test_failed_flush)
{
	begin();
	flush_delay_us = 1000;
	syncfs_error = fsync_error = EIO;
	put_many(20);
	drain(commit);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(done_err[i], -EIO);
	assert_string_equal(done_what, "flush");
	assert_int_equal(calls('R'), 0);
	assert_int_equal(count(false), 0);
	end();
	assert_int_equal(count(true), 0);
}

/* A failure is reported once: also files that were begun before it and put later have lost data. */
FIXTURE_TEST(test_begun_before_failure)
{
	struct commit_file *early;

	begin();
	early = make(commit, dirs_root(dirs), "early", 100);
	syncfs_error = fsync_error = EIO;
	put_many(20);
	drain(commit);
	syncfs_error = fsync_error = 0;
	commit_put(commit, early);
	put("late", 101);
	drain(commit);
	end();
	assert_int_equal(done_err[100], -EIO);
	assert_int_equal(done_err[101], 0);
	assert_int_equal(count(false), 1);
	assert_int_equal(count(true), 0);
}

/* The flush after the renames fails: the names may not be durable. */
FIXTURE_TEST(test_failed_second_flush)
{
	unsigned failed = 0;

	begin();
	syncfs_after_rename = true;
	syncfs_error = ENOSPC;
	put_many(20);
	drain(commit);
	assert_int_equal(n_done, 20);
	/* The first ones are committed by themselves where the thread sleeps when they come. */
	for (unsigned i = 0; i < 20; i++)
		failed += done_err[i] == -ENOSPC;
	assert_true(failed > 0);
	end();
	assert_int_equal(count(true), 0);
}

FIXTURE_TEST(test_failed_fsync)
{
	begin();
	fsync_error = EIO;
	put("a", 0);
	drain(commit);
	assert_int_equal(done_err[0], -EIO);
	fsync_error = 0;
	put("b", 1);
	drain(commit);
	assert_int_equal(done_err[1], 0);
	end();
	assert_int_equal(count(false), 1);
	assert_int_equal(count(true), 0);
}

FIXTURE_TEST(test_failed_rename)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/a", root);
	assert_int_equal(mkdir(path, 0700), 0);
	begin();
	put("a", 0);
	drain(commit);
	assert_int_equal(done_err[0], -EISDIR);
	assert_string_equal(done_what, "rename");
	rename_error = EIO;
	put_many(20);
	drain(commit);
	assert_int_equal(done_err[19], -EIO);
	end();
	assert_int_equal(count(false), 1);
	assert_int_equal(count(true), 0);
}

FIXTURE_TEST(test_failed_close)
{
	struct commit_file *files[8];

	begin();
	for (unsigned i = 0; i < 8; i++)
		files[i] = make(commit, dirs_root(dirs), (char[]){ (char)('a' + i), 0 }, i);
	n_close = 0;
	close_error = EDQUOT;
	for (unsigned i = 0; i < 8; i++)
		commit_put(commit, files[i]);
	drain(commit);
	close_error = 0;
	end();
	assert_int_equal(calls('x'), 1);
	assert_string_equal(done_what, "close");
	assert_int_equal(count(false), 7);
	assert_int_equal(count(true), 0);
}

/* An existing file, or a link, is replaced; never changed before. */
FIXTURE_TEST(test_replace)
{
	char path[128], target[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/a", root);
	snprintf(target, sizeof(target), "%s/target", root);
	assert_int_equal(symlink("target", path), 0);
	close(open(target, O_CREAT | O_WRONLY, 0600));
	begin();
	put("a", 0);
	drain(commit);
	end();
	assert_contents("a");
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_size, 0);
}

FIXTURE_TEST(test_in_place_and_links)
{
	struct commit_file *f;
	char name[COPY_TEMPORARY_SIZE], path[256], old[PATH_MAX];
	ssize_t n;

	begin();
	/* in place: flushed, and closed */
	f = make(commit, dirs_root(dirs), "a", 0);
	snprintf(path, sizeof(path), "%s/a", root);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", f->fd);
	n = readlink(name, old, sizeof(old) - 1);
	assert_true(n > 0);
	old[n] = '\0';
	assert_int_equal(rename(old, path), 0);
	f->number = 0;
	commit_put(commit, f);
	/* a link */
	f = calloc(1, sizeof(*f));
	f->entry = calloc(1, sizeof(*f->entry));
	f->entry->name = strdup("link");
	f->entry->id = 1;
	f->dir = dirs_root(dirs);
	dirs_hold(dirs, f->dir);
	f->fd = -1;
	assert_int_equal(commit_reserve(commit, f, name), 0);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(symlink("nowhere", path), 0);
	commit_put(commit, f);
	drain(commit);
	end();
	assert_int_equal(calls('x'), 0);
	snprintf(path, sizeof(path), "%s/link", root);
	assert_int_equal(readlink(path, name, sizeof(name)), 7);
	assert_contents("a");
}

/* A rename to another name of the file itself does nothing: the temporary one is removed. */
FIXTURE_TEST(test_equal_links)
{
	const int fd = dirs_fd(dirs, dirs_root(dirs));
	char name[COPY_TEMPORARY_SIZE];

	begin();
	put("a", 0);
	drain(commit);
	for (uint64_t id = 1; id < 4; id++) {
		struct commit_file *f = make_entry(dirs_root(dirs), id < 3 ? "b" : "c", id);

		f->entry->kind = COPY_LINK;
		assert_int_equal(commit_reserve(commit, f, name), 0);
		assert_int_equal(linkat(fd, "a", fd, name, 0), 0);
		commit_put(commit, f);
	}
	drain(commit);
	dirs_done(dirs, dirs_root(dirs));
	end();
	assert_int_equal(n_done, 4);
	assert_int_equal(calls('x'), 0);
	assert_contents("a");
	assert_int_equal(count(false), 3);
	assert_int_equal(count(true), 0);
}

/* The queue is bounded: those that put files wait for the flush, and go on. */
FIXTURE_TEST(test_bound)
{
	char name[32];

	begin();
	flush_delay_us = 20000;
	for (unsigned i = 0; i < MAX_FILES; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		put(name, i);
	}
	drain(commit);
	assert_int_equal(n_done, MAX_FILES);
	end();
	assert_int_equal(count(false), MAX_FILES);
	assert_order();
}

static size_t most_pending;

static void note_pending(void)
{
	pthread_mutex_lock(&commit->lock);
	if (commit->pending.n > most_pending)
		most_pending = commit->pending.n;
	pthread_mutex_unlock(&commit->lock);
	/* A flush takes its time, in which files would pile up without the bound. */
	usleep(100);
}

/* Where each file is flushed, few are open at a time. */
FIXTURE_TEST(test_bound_each)
{
	char name[32];

	magic = FUSE;
	begin();
	on_fsync = note_pending;
	most_pending = 0;
	for (unsigned i = 0; i < 4 * COMMIT_ROOM_FILES_EACH; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		put(name, i);
	}
	drain(commit);
	end();
	assert_int_equal(n_done, 4 * COMMIT_ROOM_FILES_EACH);
	assert_true(most_pending <= COMMIT_ROOM_FILES_EACH);
}

static void *put_a_quarter(void *arg)
{
	char name[32];

	for (uintptr_t i = (uintptr_t)arg; i < 4000; i += 4) {
		snprintf(name, sizeof(name), "f%zu", (size_t)i);
		put(name, i);
	}
	return NULL;
}

FIXTURE_TEST(test_threads)
{
	pthread_t threads[4];

	begin();
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, put_a_quarter, (void *)i);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	drain(commit);
	assert_int_equal(n_done, 4000);
	end();
	assert_int_equal(count(false), 4000);
	assert_int_equal(count(true), 0);
}

FIXTURE_TEST(test_drop)
{
	struct commit_file *f;

	begin();
	f = make(commit, dirs_root(dirs), "a", 0);
	assert_int_equal(count(true), 2); /* and the journal */
	commit_drop(commit, f, false);
	assert_int_equal(f->fd, -1);
	assert_int_equal(f->number, 0);
	assert_int_equal(count(true), 1);
	forget(f);
	end();
	assert_int_equal(count(true), 0);
	assert_int_equal(count(false), 0);
}

/* Nothing is touched where nothing is to be written. */
FIXTURE_TEST(test_passive)
{
	struct stat before, after;

	assert_int_equal(stat(root, &before), 0);
	settings.dry_run = true;
	begin();
	end();
	settings.dry_run = false;
	begin();
	drain(commit);
	end();
	assert_int_equal(stat(root, &after), 0);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	assert_string_equal(order, "");
}

/* The journal goes last, when the root may have its times already. */
FIXTURE_TEST(test_times_of_root)
{
	const struct timespec times[2] = { { 1000, 1 }, { 2000, 2 } };
	struct stat st;

	begin();
	put("a", 0);
	drain(commit);
	assert_int_equal(utimensat(AT_FDCWD, root, times, 0), 0);
	end();
	assert_int_equal(stat(root, &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 2000);
	assert_int_equal(count(true), 0);
}

/* ---- other sessions ---- */

/* A process that dies with files of each kind. */
static void die_with_files(const char *session)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct commit *c;

		if (open_session(&c, session))
			_exit(1);
		make(c, dirs_root(dirs), "a", 0);
		make(c, sub("s"), "b", 1);
		make(c, sub("t"), "c", 2);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

FIXTURE_TEST(test_dead_session)
{
	die_with_files("DEADDEAD");
	assert_int_equal(count_parts(), 3);
	assert_int_equal(count(true), 2);
	begin();
	assert_int_equal(count_parts(), 0);
	end();
	assert_int_equal(count(true), 0);
}

FIXTURE_TEST(test_two_sessions)
{
	struct commit *other;
	struct commit_file *f, *g;

	assert_int_equal(open_session(&other, "OTHERONE"), 0);
	f = make(other, dirs_root(dirs), "other", 1);
	begin();
	assert_int_equal(count_parts(), 1);
	g = make(commit, dirs_root(dirs), "mine", 0);
	commit_put(commit, g);
	drain(commit);
	end();
	assert_int_equal(count_parts(), 1);
	commit_put(other, f);
	drain(other);
	commit_close(other, false, NULL);
	assert_int_equal(count(false), 2);
	assert_int_equal(count(true), 0);
	assert_int_equal(calls('x'), 0);
}

static void make_name(const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* Names that look alike, and temporary files without any journal, stay. */
FIXTURE_TEST(test_stale_names)
{
	static const char *const names[] = { ".xddcp-",
					     ".xddcp-0123456789abcdef.journal.x",
					     ".xddcp-0123456789abcdef-1.part.x",
					     ".xddcp-0123456789ABCDEF-1.part",
					     ".xddcp-0123456789abcdef-01.part",
					     ".xddcp-0123456789abcdef-.part",
					     ".xddcp-fedcba9876543210-1.part",
					     "file" };
	const size_t n = sizeof(names) / sizeof(names[0]);
	char name[COPY_TEMPORARY_SIZE];
	unsigned others;

	for (size_t i = 0; i < n; i++)
		make_name(root, names[i]);
	others = count_parts();
	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), ".xddcp-0123456789abcdef-%u.part", i);
		make_name(root, name);
	}
	make_name(root, ".xddcp-0123456789abcdef.journal");
	begin();
	assert_int_equal(count_parts(), others);
	commit_look(commit, dirs_root(dirs));
	end();
	assert_int_equal(count(true) + count(false), n);
}

/* A journal without records, as after a power failure: the copy looks where it enters. */
FIXTURE_TEST(test_lost_records)
{
	struct dir_node *s, *t;
	char path[256];

	make_name(root, ".xddcp-0123456789abcdef.journal");
	s = sub("s");
	t = sub("t");
	snprintf(path, sizeof(path), "%s/s", root);
	make_name(path, ".xddcp-0123456789abcdef-1.part");
	snprintf(path, sizeof(path), "%s/t", root);
	make_name(path, ".xddcp-0123456789abcdef-2.part");
	/* Interrupted before the second directory: the journal stays for the next copy. */
	begin();
	commit_look(commit, s);
	end_early(false);
	assert_int_equal(count_parts(), 1);
	assert_int_equal(count(true), 1);
	begin();
	commit_look(commit, s);
	commit_look(commit, t);
	end();
	assert_int_equal(count_parts(), 0);
	assert_int_equal(count(true), 0);
	dirs_release(dirs, s);
	dirs_release(dirs, t);
}

/* Damaged journals and those of other users stop nothing. */
FIXTURE_TEST(test_odd_journals)
{
	static const char *const names[] = { ".xddcp-0123456789abcdef.journal",
					     ".xddcp-0123456789abcde0.journal" };
	char path[128];

	make_name(root, names[0]);
	snprintf(path, sizeof(path), "%s/%s", root, names[1]);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof(path), "%s/.xddcp-0123456789abcde1.journal", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.xddcp-0123456789abcde2.journal", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	begin();
	put("a", 0);
	drain(commit);
	end();
	/* The damaged one is of a dead session; the others are not of this program. */
	assert_int_equal(count(true), 3);
}

/* A copy looks at 256 journals, and the next one at those that are left. */
FIXTURE_TEST(test_many_journals)
{
	char name[64];

	for (unsigned i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), ".xddcp-%016x.journal", 0x1000 + i);
		make_name(root, name);
	}
	begin();
	end();
	assert_int_equal(count(true), 44);
	begin();
	end();
	assert_int_equal(count(true), 0);
}

RUN_TESTS(NULL, NULL)
