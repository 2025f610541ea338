/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories by nodes and cached descriptors, and numbers of files that both sides of a copy
 * compare; see the header. Called by the walk, by threads of both roles that open files, and by
 * the destination.
 *
 * Opening happens without the lock: the node that is opened is held by its caller, its parents by
 * it, and their names never change. If two threads open the same directory, one descriptor is
 * kept.
 */
#include "copy/tree/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy/message/message.h"
#include "xdd/net/wire.h"
#include "xdd/sys/sysfile.h"

#define HOW (O_DIRECTORY | O_CLOEXEC)
#define NO_LINKS (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static int open_no_links(int at, const char *name, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags, .resolve = NO_LINKS };
	int fd = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	/*
	 * A kernel before 5.6, or a filter of system calls that does not know it. One component
	 * without O_NOFOLLOW's exceptions is as safe.
	 */
	if (errno == ENOSYS || errno == EPERM)
		fd = openat(at, name, flags | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

/*
 * Open the directory `name` in `at`, one component that is no link and neither "." nor "..". One
 * that may not be read is opened with O_PATH. Returns a descriptor or -errno: -ELOOP or -ENOTDIR
 * where it is a link or another file, -EINVAL for another name.
 */
static int opendir_below(int at, const char *name)
{
	int fd;

	if (!copy_is_name(name))
		return -EINVAL;
	fd = open_no_links(at, name, O_RDONLY | HOW);
	return fd == -EACCES ? open_no_links(at, name, O_PATH | HOW) : fd;
}

/* As opendir_below(), for a path, absolute or relative to `at`; links are followed. "" is `at`. */
static int opendir_path(int at, const char *path)
{
	int fd;

	if (!*path)
		path = ".";
	fd = openat(at, path, O_RDONLY | HOW);
	if (fd < 0 && errno == EACCES)
		fd = openat(at, path, O_PATH | HOW);
	return fd < 0 ? -errno : fd;
}

#define MAX_OPEN 4096
#define MIN_OPEN 4
#define CUT_BYTES 4	/* of ".../" */
#define CLOSE_AT_ONCE 8 /* when the process has no descriptor left */

struct dir_node {
	/* const */
	struct dir_node *parent; /* a reference; NULL: the root, or by path */
	dev_t dev;
	ino_t ino;

	void *user; /* of the user of this module */

	/* guarded by the lock of the tree */
	struct dir_node *newer, *older; /* in the list of open ones that are not borrowed */
	int fd;				/* -1: closed */
	uint32_t refs;
	uint32_t borrows;

	/* const */
	bool by_path;
	char name[]; /* or a path, its NUL, and what is shown for it */
};

struct dirs {
	pthread_mutex_t lock;
	struct dir_node *root;
	size_t limit; /* const */
	size_t n_open;
	struct dir_node *newest, *oldest;
};

static size_t open_limit(size_t limit)
{
	struct rlimit files;

	if (!limit && getrlimit(RLIMIT_NOFILE, &files) == 0)
		limit = files.rlim_cur / 2;
	if (limit > MAX_OPEN)
		return MAX_OPEN;
	return limit < MIN_OPEN ? MIN_OPEN : limit;
}

/* A node with `name` and room for `more` bytes after its NUL. */
static struct dir_node *node_new(const char *name, size_t more, int fd)
{
	size_t length = strlen(name);
	struct dir_node *node = malloc(sizeof(*node) + length + 1 + more);

	if (!node)
		return NULL;
	*node = (struct dir_node){ .fd = fd, .refs = 1 };
	memcpy(node->name, name, length);
	node->name[length] = '\0';
	return node;
}

struct dirs *dirs_new(int root_fd, size_t limit)
{
	struct dirs *t = calloc(1, sizeof(*t));
	struct dir_node *root = node_new("", 0, root_fd);
	struct stat st;

	if (!t || !root || fstat(root_fd, &st)) {
		free(t);
		free(root);
		close(root_fd);
		return NULL;
	}
	root->dev = st.st_dev;
	root->ino = st.st_ino;
	t->root = root;
	t->limit = open_limit(limit);
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void dirs_free(struct dirs *t)
{
	if (t)
		dirs_release(t, t->root);
}

struct dir_node *dirs_root(struct dirs *t)
{
	return t->root;
}

/* ---- the list of open ones ---- */

static void list_remove(struct dirs *t, struct dir_node *node)
{
	if (node->newer)
		node->newer->older = node->older;
	else
		t->newest = node->older;
	if (node->older)
		node->older->newer = node->newer;
	else
		t->oldest = node->newer;
	node->newer = node->older = NULL;
}

static void list_add(struct dirs *t, struct dir_node *node)
{
	node->newer = NULL;
	node->older = t->newest;
	if (t->newest)
		t->newest->newer = node;
	else
		t->oldest = node;
	t->newest = node;
}

/* Descriptors to be closed once the lock is released. */
struct doomed {
	int fds[CLOSE_AT_ONCE];
	size_t n;
};

static void close_doomed(const struct doomed *d)
{
	for (size_t i = 0; i < d->n; i++)
		close(d->fds[i]);
}

static void doom_oldest(struct dirs *t, struct doomed *d)
{
	struct dir_node *node = t->oldest;

	list_remove(t, node);
	d->fds[d->n++] = node->fd;
	node->fd = -1;
	t->n_open--;
}

/* Room in the table of descriptors of the process. Returns false if there is none to gain. */
static bool close_some(struct dirs *t)
{
	struct doomed d = { .n = 0 };

	pthread_mutex_lock(&t->lock);
	while (t->oldest && d.n < CLOSE_AT_ONCE)
		doom_oldest(t, &d);
	pthread_mutex_unlock(&t->lock);
	close_doomed(&d);
	return d.n;
}

/* ---- opening ---- */

/* Borrow what is open. Locked. */
static int dirs_borrow(struct dirs *t, struct dir_node *node)
{
	if (node->fd >= 0 && node != t->root && node->borrows++ == 0)
		list_remove(t, node);
	return node->fd;
}

/* A node that was opened as `fd` and is borrowed from then on. Locked. Returns its descriptor. */
static int dirs_adopt(struct dirs *t, struct dir_node *node, int fd, struct doomed *d)
{
	if (node->fd >= 0) { /* another thread was faster */
		d->fds[d->n++] = fd;
		return dirs_borrow(t, node);
	}
	node->fd = fd;
	node->borrows++;
	t->n_open++;
	while (t->n_open > t->limit && t->oldest && d->n < CLOSE_AT_ONCE)
		doom_oldest(t, d);
	return fd;
}

/* Open below the descriptor `at`, with the descriptors of others if there is none left. */
static int open_dir(struct dirs *t, int at, const char *name, bool by_path, struct stat *st)
{
	int fd;

	do {
		fd = by_path ? opendir_path(at, name) : opendir_below(at, name);
	} while ((fd == -EMFILE || fd == -ENFILE) && close_some(t));
	if (fd >= 0 && fstat(fd, st)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* Open a known node whose parent is open as `at`; it is borrowed then. */
static int open_again(struct dirs *t, struct dir_node *node, int at)
{
	struct doomed d = { .n = 0 };
	struct stat st;
	int fd = open_dir(t, at, node->name, node->by_path, &st);

	if (fd < 0)
		return fd;
	if (st.st_dev != node->dev || st.st_ino != node->ino) {
		close(fd);
		return -ESTALE;
	}
	pthread_mutex_lock(&t->lock);
	fd = dirs_adopt(t, node, fd, &d);
	pthread_mutex_unlock(&t->lock);
	close_doomed(&d);
	return fd;
}

/*
 * The nearest of `node` and its parents that is open, borrowed. `*levels` is the number of steps
 * from there down to `node`.
 */
static struct dir_node *nearest_open(struct dirs *t, struct dir_node *node, size_t *levels)
{
	*levels = 0;
	pthread_mutex_lock(&t->lock);
	while (dirs_borrow(t, node) < 0) {
		node = node->parent ? node->parent : t->root;
		(*levels)++;
	}
	pthread_mutex_unlock(&t->lock);
	return node;
}

/* `*path` gets the `levels` nodes that lead to `node`, the last one is `node`. */
static int list_path(struct dir_node *node, size_t levels, struct dir_node ***path)
{
	*path = malloc(levels * sizeof(struct dir_node *));
	if (!*path)
		return -ENOMEM;
	for (size_t i = levels; i > 0; i--) {
		(*path)[i - 1] = node;
		node = node->parent;
	}
	return 0;
}

/* Open the nodes from the borrowed `from` to the last of `path`, which is borrowed then. */
static int open_path(struct dirs *t, struct dir_node *from, struct dir_node **path, size_t n)
{
	int fd = from->fd; /* borrowed, so it does not change */

	for (size_t i = 0; i < n && fd >= 0; i++) {
		fd = open_again(t, path[i], fd);
		dirs_done(t, from);
		from = path[i];
	}
	return fd;
}

int dirs_fd(struct dirs *t, struct dir_node *node)
{
	struct dir_node **path = &node, *from;
	size_t levels;
	int fd;

	from = nearest_open(t, node, &levels);
	if (!levels)
		return node->fd;
	if (levels > 1 && list_path(node, levels, &path)) {
		dirs_done(t, from);
		return -ENOMEM;
	}
	fd = open_path(t, from, path, levels);
	if (levels > 1)
		free(path);
	return fd;
}

void dirs_done(struct dirs *t, struct dir_node *node)
{
	struct doomed d = { .n = 0 };

	if (node == t->root)
		return;
	pthread_mutex_lock(&t->lock);
	if (--node->borrows == 0) {
		list_add(t, node);
		if (t->n_open > t->limit)
			doom_oldest(t, &d);
	}
	pthread_mutex_unlock(&t->lock);
	close_doomed(&d);
}

/* ---- nodes ---- */

/* Give a new node its place. `fd` is open, and `parent` borrowed by the caller. */
static void node_join(struct dirs *t, struct dir_node *node, struct dir_node *parent,
		      const struct stat *st)
{
	struct doomed d = { .n = 0 };

	node->parent = parent;
	node->dev = st->st_dev;
	node->ino = st->st_ino;
	pthread_mutex_lock(&t->lock);
	(parent ? parent : t->root)->refs++;
	t->n_open++;
	list_add(t, node);
	if (t->n_open > t->limit)
		doom_oldest(t, &d);
	pthread_mutex_unlock(&t->lock);
	close_doomed(&d);
}

int dirs_enter_stat(struct dirs *t, struct dir_node *parent, const char *name,
		    struct dir_node **node, struct stat *st)
{
	struct stat own;
	int at = dirs_fd(t, parent), fd;

	if (at < 0)
		return at;
	if (!st)
		st = &own;
	fd = open_dir(t, at, name, false, st);
	dirs_done(t, parent);
	if (fd < 0)
		return fd;
	*node = node_new(name, 0, fd);
	if (!*node) {
		close(fd);
		return -ENOMEM;
	}
	node_join(t, *node, parent, st);
	return 0;
}

int dirs_enter(struct dirs *t, struct dir_node *parent, const char *name, struct dir_node **node)
{
	return dirs_enter_stat(t, parent, name, node, NULL);
}

int dirs_enter_path(struct dirs *t, const char *path, const char *shown, struct dir_node **node,
		    struct stat *st)
{
	size_t n = strlen(path), n_shown = strlen(shown);
	struct stat own;
	int fd;

	if (!st)
		st = &own;
	fd = open_dir(t, t->root->fd, path, true, st);
	if (fd < 0)
		return fd;
	*node = node_new(path, n_shown + 1, fd);
	if (!*node) {
		close(fd);
		return -ENOMEM;
	}
	memcpy((*node)->name + n + 1, shown, n_shown + 1);
	(*node)->by_path = true;
	node_join(t, *node, NULL, st);
	return 0;
}

void dirs_hold(struct dirs *t, struct dir_node *node)
{
	pthread_mutex_lock(&t->lock);
	node->refs++;
	pthread_mutex_unlock(&t->lock);
}

/* A node without references. Locked. Returns its descriptor, -1: none. */
static int node_end(struct dirs *t, struct dir_node *node)
{
	int fd = node->fd;

	if (fd >= 0 && node != t->root) {
		list_remove(t, node);
		t->n_open--;
	}
	return fd;
}

void dirs_release(struct dirs *t, struct dir_node *node)
{
	while (node) {
		struct dir_node *parent;
		int fd = -1;
		bool last;

		pthread_mutex_lock(&t->lock);
		last = --node->refs == 0;
		if (last)
			fd = node_end(t, node);
		pthread_mutex_unlock(&t->lock);
		if (!last)
			return;
		if (fd >= 0)
			close(fd);
		if (node == t->root) {
			pthread_mutex_destroy(&t->lock);
			free(t);
			free(node);
			return;
		}
		parent = node->parent ? node->parent : t->root;
		free(node);
		node = parent;
	}
}

void *dir_user(const struct dir_node *node)
{
	return node->user;
}

void dir_set_user(struct dir_node *node, void *user)
{
	node->user = user;
}

struct dir_node *dir_parent(const struct dir_node *node)
{
	return node->parent;
}

const char *dir_name(const struct dir_node *node)
{
	return node->name;
}

bool dir_same(const struct dir_node *a, const struct dir_node *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* ---- paths ---- */

/* The part of a path that a node adds: its name, or what is shown for it. */
static const char *shown_name(const struct dir_node *node)
{
	return node->by_path ? node->name + strlen(node->name) + 1 : node->name;
}

/* Put `name` before `*at`, with a slash unless it ends with one. False: it does not fit. */
static bool prepend(char *buf, char **at, const char *name)
{
	size_t n = strlen(name), slash = **at && n && name[n - 1] != '/';

	if ((size_t)(*at - buf) < n + slash + CUT_BYTES)
		return false;
	if (slash)
		*--*at = '/';
	*at -= n;
	memcpy(*at, name, n);
	return true;
}

/* As dirs_path(); `*fits` is false if it is cut. */
static char *write_path(struct dirs *t, struct dir_node *node, const char *name, char *buf,
			size_t size, bool *fits)
{
	char *at = buf + size - 1;

	*at = '\0';
	*fits = !name || prepend(buf, &at, name);
	for (; *fits && node && node != t->root; node = node->parent)
		*fits = prepend(buf, &at, shown_name(node));
	if (!*fits) {
		at -= CUT_BYTES;
		memcpy(at, ".../", CUT_BYTES);
	} else if (!*at) {
		*--at = '.';
	}
	memmove(buf, at, (size_t)(buf + size - at));
	return buf;
}

char *dirs_path(struct dirs *t, struct dir_node *node, const char *name, char *buf, size_t size)
{
	bool fits;

	return write_path(t, node, name, buf, size, &fits);
}

bool dirs_whole_path(struct dirs *t, struct dir_node *node, const char *name, char *buf,
		     size_t size)
{
	bool fits;

	write_path(t, node, name, buf, size, &fits);
	return fits;
}

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

uint64_t identity_host(void)
{
	char line[64];
	const char *boot = sysfile_line(BOOT_ID, line, sizeof(line));

	return boot && *boot ? digest_short(boot, strlen(boot)) : 0;
}

uint64_t identity_of_file(uint64_t host, const struct stat *st)
{
	const bool block = S_ISBLK(st->st_mode);
	const uint64_t parts[] = {
		host,
		block,
		block ? st->st_rdev : st->st_dev,
		block ? 0 : st->st_ino,
	};
	uint64_t id;

	if (!host || (!block && !S_ISREG(st->st_mode)))
		return 0;
	id = digest_short(parts, sizeof(parts));
	return id ? id : 1;
}

uint64_t identity_of_contents(const struct stat *st)
{
	const uint64_t parts[] = {
		st->st_ino,
		(uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec,
		(uint64_t)st->st_ctim.tv_nsec,
	};
	uint64_t id;

	if (!S_ISREG(st->st_mode))
		return 0;
	id = digest_short(parts, sizeof(parts));
	return id ? id : 1;
}
