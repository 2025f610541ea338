/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A destination that commits files; see the header.
 */
#include "commit_rig.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "copy/destination/commit_state.h"

/* ---- the C library, with faults ---- */

long magic;
const char *release;
pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
char order[1 << 18];
static size_t n_order;
_Atomic int syncfs_error, fsync_error, fdatasync_error, rename_error, close_error;
_Atomic bool syncfs_after_rename;
_Atomic unsigned flush_delay_us;
void (*_Atomic on_fsync)(void);
_Atomic unsigned n_close;

void note(char letter)
{
	pthread_mutex_lock(&log_lock);
	if (n_order < sizeof(order) - 1)
		order[n_order++] = letter;
	pthread_mutex_unlock(&log_lock);
}

void forget_calls(void)
{
	pthread_mutex_lock(&log_lock);
	memset(order, 0, n_order);
	n_order = 0;
	pthread_mutex_unlock(&log_lock);
}

int fstatfs(int fd, struct statfs *st)
{
	if (syscall(SYS_fstatfs, fd, st))
		return -1;
	st->f_type = magic;
	return 0;
}

int uname(struct utsname *u)
{
	memset(u, 0, sizeof(*u));
	strcpy(u->release, release);
	return 0;
}

int syncfs(int fd)
{
	(void)fd;
	note('S');
	usleep(flush_delay_us);
	if (!syncfs_error || (syncfs_after_rename && !calls('R')))
		return 0;
	errno = syncfs_error;
	return -1;
}

int fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	note(S_ISDIR(st.st_mode) ? 'd' : 'f');
	if (!S_ISDIR(st.st_mode) && on_fsync)
		on_fsync();
	if (!fsync_error)
		return 0;
	errno = fsync_error;
	return -1;
}

int fdatasync(int fd)
{
	note('s');
	usleep(flush_delay_us);
	if (!fdatasync_error)
		return (int)syscall(SYS_fdatasync, fd);
	errno = fdatasync_error;
	return -1;
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	if (!strstr(to, ".journal"))
		note('R');
	if (rename_error && !strstr(to, ".journal")) {
		errno = rename_error;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

int close(int fd)
{
	struct stat st;

	if (close_error && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && n_close-- == 0) {
		syscall(SYS_close, fd);
		errno = close_error;
		return -1;
	}
	return (int)syscall(SYS_close, fd);
}

size_t calls(char letter)
{
	size_t n = 0;

	pthread_mutex_lock(&log_lock);
	for (const char *p = order; *p; p++)
		n += *p == letter;
	pthread_mutex_unlock(&log_lock);
	return n;
}

/* ---- the destination ---- */

char root[64];
struct dirs *dirs;
struct commit *commit;
struct copy_settings settings;
struct err why;

size_t n_done;
int done_err[MAX_FILES];
char done_what[16];

static void on_done(void *arg, struct commit_file *f, int err, const char *what)
{
	assert_ptr_equal(arg, &n_done);
	assert_int_equal(f->fd, -1);
	note(err ? 'x' : 'D');
	pthread_mutex_lock(&log_lock);
	done_err[f->entry->id] = err;
	if (err)
		snprintf(done_what, sizeof(done_what), "%s", what);
	n_done++;
	pthread_mutex_unlock(&log_lock);
	dirs_release(dirs, f->dir);
	free((char *)f->entry->name);
	free(f->entry);
	free(f);
}

int open_session(struct commit **c, const char *session)
{
	static struct copy_job job = { .settings = &settings };

	memcpy(job.session, session, 8);
	return commit_open(c, &job, dirs, TREE_ID, on_done, &n_done, &why);
}

int set_up(void **state)
{
	int fd;

	/* Quick where there is a file system in memory; the kind is that of the test anyway. */
	strcpy(root, "/dev/shm/xdd-commit.XXXXXX");
	if (!mkdtemp(root)) {
		strcpy(root, "commit.XXXXXX");
		assert_non_null(mkdtemp(root));
	}
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	dirs = dirs_new(fd, 0);
	assert_non_null(dirs);
	memset(&settings, 0, sizeof(settings));
	magic = EXT4;
	release = "6.1.0";
	syncfs_error = fsync_error = fdatasync_error = rename_error = close_error = 0;
	syncfs_after_rename = false;
	flush_delay_us = 0;
	on_fsync = NULL;
	n_done = 0;
	forget_calls();
	memset(done_err, 0, sizeof(done_err));
	done_what[0] = '\0';
	return 0;
}

int tear_down(void **state)
{
	char command[128];

	dirs_free(dirs);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

void begin(void)
{
	assert_int_equal(open_session(&commit, "ABCDEFGH"), 0);
}

void end(void)
{
	uint64_t ns = 0;

	commit_entered_all(commit);
	commit_close(commit, false, &ns);
	commit = NULL;
}

void end_early(bool keep)
{
	commit_close(commit, keep, NULL);
	commit = NULL;
}

struct commit_file *make_entry(struct dir_node *dir, const char *name, uint64_t id)
{
	struct commit_file *f = calloc(1, sizeof(*f));

	f->entry = calloc(1, sizeof(*f->entry));
	f->entry->name = strdup(name);
	f->entry->id = id;
	f->entry->kind = COPY_FILE;
	f->dir = dir;
	f->fd = -1;
	dirs_hold(dirs, dir);
	return f;
}

struct commit_file *make(struct commit *c, struct dir_node *dir, const char *name, uint64_t id)
{
	struct commit_file *f = make_entry(dir, name, id);

	assert_int_equal(commit_create(c, f), 0);
	assert_int_equal(write(f->fd, name, strlen(name)), (int)strlen(name));
	return f;
}

void put(const char *name, uint64_t id)
{
	struct commit_file *f = make(commit, dirs_root(dirs), name, id);

	note('p');
	commit_put(commit, f);
}

/* They are put at once, so that they are one batch, unless the machine is very slow. */
void put_many(size_t n)
{
	struct commit_file **files = calloc(n, sizeof(*files));
	char name[32];

	assert_non_null(files);
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%zu", i);
		files[i] = make(commit, dirs_root(dirs), name, i);
	}
	for (size_t i = 0; i < n; i++) {
		note('p');
		commit_put(commit, files[i]);
	}
	free(files);
}

void drain(struct commit *c)
{
	commit_hurry(c);
	pthread_mutex_lock(&c->lock);
	while (c->done_files < c->put_files)
		pthread_cond_wait(&c->room, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

void forget(struct commit_file *f)
{
	dirs_release(dirs, f->dir);
	free((char *)f->entry->name);
	free(f->entry);
	free(f);
}

size_t count(bool own)
{
	const size_t n = strlen(COPY_TEMPORARY_PREFIX);
	DIR *d = opendir(root);
	struct dirent *e;
	size_t found = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			found += !strncmp(e->d_name, COPY_TEMPORARY_PREFIX, n) == own;
	}
	closedir(d);
	return found;
}

static size_t parts;

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	parts += !strncmp(path + at->base, COPY_TEMPORARY_PREFIX, strlen(COPY_TEMPORARY_PREFIX)) &&
		 strstr(path, ".part");
	return 0;
}

size_t count_parts(void)
{
	parts = 0;
	assert_int_equal(nftw(root, visit, 8, FTW_PHYS), 0);
	return parts;
}

void assert_contents(const char *name)
{
	char path[128], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), (int)strlen(name));
	assert_string_equal(text, name);
	close(fd);
}

struct dir_node *sub(const char *name)
{
	char path[128];
	struct dir_node *node;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	mkdir(path, 0700);
	assert_int_equal(dirs_enter(dirs, dirs_root(dirs), name, &node), 0);
	return node;
}
