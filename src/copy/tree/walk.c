/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks over files that are copied, from the sources as the user named them; see the header.
 * Called by the source.
 */
#include "copy/tree/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "copy/destination/commit.h"
#include "copy/tree/dirs.h"
#include "copy/tree/walk_private.h"
#include "xdd/base/err.h"
#include "xdd/base/file.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

/* ---- names ---- */

/* The length of `path` without "/" and "/." at its end; at least 1, unless it is empty. */
static size_t trimmed(const char *path)
{
	size_t n = strlen(path);

	for (;;) {
		if (n > 1 && path[n - 1] == '/')
			n--;
		else if (n > 2 && path[n - 1] == '.' && path[n - 2] == '/')
			n -= 2;
		else
			return n;
	}
}

const char *walk_top_name(const char *source)
{
	const char *last = path_last(source);

	return copy_is_name(last) ? last : "";
}

/* ---- checks before anything is offered ---- */

static int check_size(const struct walk *w, const char *path, const struct stat *st,
		      struct err *why)
{
	if (w->settings->size_bytes == UINT64_MAX)
		return 0;
	if (w->n_sources > 1 || S_ISDIR(st->st_mode))
		return err_set(why, COPY_BAD_SIZE, "%s: a size is for one file or device", path);
	if (S_ISREG(st->st_mode) && w->settings->size_bytes > (uint64_t)st->st_size)
		return err_set(why, COPY_BAD_SIZE,
			       "%s: has %lld bytes, fewer than the size that is given", path,
			       (long long)st->st_size);
	return 0;
}

static int check_device(const struct walk *w, const char *path, const struct stat *st,
			struct err *why)
{
	if (w->n_sources > 1)
		return err_set(why, COPY_BAD_NAMES, "%s: a device must be the only source", path);
	if (S_ISCHR(st->st_mode) && w->settings->size_bytes == UINT64_MAX)
		return err_set(why, COPY_NEEDS_SIZE,
			       "%s: is a character device, which needs a size", path);
	return 0;
}

static int check_source(const struct walk *w, const char *path, struct err *why)
{
	struct stat st;

	if (stat(*path ? path : ".", &st))
		return err_set(
			why, COPY_NO_SOURCE, "%s: %s%s", path, strerror(errno),
			errno == ENOENT && strpbrk(path, "*?[") ?
				"; patterns are not expanded there: name the files, or say -F" :
				"");
	if (S_ISDIR(st.st_mode) && !w->settings->recursive)
		return err_set(why, COPY_BAD_ARGUMENTS, "%s: %s", path,
			       w->settings->resume ? COPY_IS_DIRECTORY_RESUME : COPY_IS_DIRECTORY);
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return err_set(why, COPY_NO_SOURCE, "%s: is a %s, which is not copied", path,
			       S_ISFIFO(st.st_mode) ? "FIFO" : "socket");
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) {
		int status = check_device(w, path, &st, why);

		if (status)
			return status;
	}
	return check_size(w, path, &st, why);
}

static int walk_check_sources(struct walk *w, struct err *why)
{
	struct walk_set tops = { .n = 0 };
	int status = 0;

	for (size_t i = 0; i < w->n_sources && !status; i++) {
		const char *path = w->sources[i], *name = walk_top_name(path);

		status = check_source(w, path, why);
		if (!status && *name && !walk_set_add(&tops, name, WALK_RELATIVE))
			status = err_set(why, COPY_BAD_NAMES,
					 "%s: two sources have this last component", path);
	}
	walk_set_free(&tops);
	return status;
}

/* ---- sources ---- */

/* Without "." of a path that has no directory, for messages. */
static const char *walk_source_shown(const char *directory)
{
	return strcmp(directory, ".") == 0 ? "" : directory;
}

int walk_named_dir(struct walk *w, const char *path, struct dir_node **dir)
{
	struct walk_named named = { .path = path_directory(path) };
	int err;

	if (!named.path)
		return -ENOMEM;
	if (w->named.path && strcmp(named.path, w->named.path) == 0) {
		free(named.path);
		*dir = w->named.node;
		return 0;
	}
	err = dirs_enter_path(w->dirs, named.path, walk_source_shown(named.path), &named.node,
			      NULL);
	if (err) {
		free(named.path);
		return err;
	}
	dirs_release(w->dirs, w->named.node);
	free(w->named.path);
	w->named = named;
	*dir = named.node;
	return 0;
}

/* A directory; with an empty `top`, its contents. */
static void start_dir(struct walk *w, struct walk_found *f, const char *path, const char *top)
{
	char *plain = strndup(path, trimmed(path));
	struct dir_node *node;
	int err = -ENOMEM;

	if (plain)
		err = dirs_enter_path(w->dirs, path, walk_source_shown(plain), &node, &f->st);
	free(plain);
	if (err)
		walk_fail_errno(w, f, NULL, path, "cannot open directory", err);
	else
		walk_found_dir(w, f, node, top, 0, true);
}

/* The size of a block device, or -errno. */
static int64_t device_size(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint64_t size;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, BLKGETSIZE64, &size))
		err = -errno;
	close(fd);
	return err ? err : (int64_t)size;
}

static void start_device(struct walk *w, struct walk_found *f, struct dir_node *dir, int at,
			 const char *name)
{
	int64_t size = S_ISBLK(f->st.st_mode) ? device_size(at, name) : INT64_MAX;
	uint64_t wanted = w->settings->size_bytes;
	mode_t mode = f->st.st_mode;

	if (size < 0) {
		walk_fail_errno(w, f, dir, name, "cannot read its size", (int)size);
		return;
	}
	if (wanted == UINT64_MAX)
		wanted = (uint64_t)size;
	if (wanted > (uint64_t)size) {
		walk_fail(w, f, COPY_BAD_SIZE, dir, name,
			  "has %lld bytes, fewer than the size that is given", (long long)size);
		return;
	}
	f->st.st_mode = S_IFREG | (mode & 0666);
	walk_found_name(w, f, dir, name);
	f->st.st_mode = mode;
	f->entry.identity = identity_of_file(w->host, &f->st);
	f->entry.version = identity_of_contents(&f->st);
	f->entry.size_bytes = wanted;
	f->entry.flags = COPY_DEVICE;
}

/* The file `path`, which is not a link; the entry gets the name `top`. */
static void start_file(struct walk *w, struct walk_found *f, const char *path, const char *top)
{
	const char *name = path_last(path);
	struct dir_node *dir;
	int err = walk_named_dir(w, path, &dir), at;

	if (err || strlen(name) >= sizeof(w->real_name)) {
		walk_fail_errno(w, f, NULL, path, "cannot open", err ? err : -ENAMETOOLONG);
		return;
	}
	at = dirs_fd(w->dirs, dir);
	if (at < 0) {
		walk_fail_errno(w, f, dir, name, "cannot open", at);
		return;
	}
	if (fstatat(at, name, &f->st, AT_SYMLINK_NOFOLLOW))
		walk_fail_errno(w, f, dir, name, "cannot read attributes", -errno);
	else if (S_ISCHR(f->st.st_mode) || S_ISBLK(f->st.st_mode))
		start_device(w, f, dir, at, name);
	else
		walk_found_name(w, f, dir, name);
	dirs_done(w->dirs, dir);
	if (f->failed || strcmp(name, top) == 0)
		return;
	snprintf(w->real_name, sizeof(w->real_name), "%s", name);
	snprintf(w->name, sizeof(w->name), "%s", top);
	f->name = w->real_name;
}

/* The first `size` bytes of a file. */
static void shorten(struct walk *w, struct walk_found *f)
{
	if (f->failed || f->entry.kind != COPY_FILE || f->entry.flags & COPY_DEVICE ||
	    w->settings->size_bytes == UINT64_MAX)
		return;
	if (f->entry.size_bytes >= w->settings->size_bytes) {
		f->entry.size_bytes = w->settings->size_bytes;
		return;
	}
	dirs_release(w->dirs, f->dir);
	walk_fail(w, f, COPY_BAD_SIZE, NULL, w->sources[0],
		  "has become smaller than the size that is given");
}

static void walk_source_start(struct walk *w, struct walk_found *f, const char *path)
{
	const char *top = walk_top_name(path);
	char *real;
	struct stat st;
	int err = 0;

	if (stat(*path ? path : ".", &st))
		err = -errno;
	if (!err && S_ISDIR(st.st_mode)) {
		start_dir(w, f, path, top);
		return;
	}
	if (!err && (!*top || strlen(top) >= COPY_MAX_NAME_BYTES))
		err = -ENAMETOOLONG;
	if (!err)
		err = fileopen_follow(path, &real);
	if (err) {
		walk_fail_errno(w, f, NULL, path, "cannot open", err);
		return;
	}
	start_file(w, f, real, top);
	free(real);
	shorten(w, f);
}

static bool walk_source(struct walk *w, struct walk_found *f)
{
	if (w->next_source == w->n_sources)
		return false;
	walk_source_start(w, f, w->sources[w->next_source++]);
	return true;
}

#define CLOCK_DIFFERENCE_S 3600 /* of a file server and this host, at most */

/* ---- entries ---- */

static void fail(struct walk *w, struct walk_found *f, int status, struct dir_node *dir,
		 const char *name)
{
	f->failed = true;
	f->dir = NULL;
	f->failure.id = 0;
	f->failure.status = (uint32_t)status;
	f->failure.differs = false;
	if (dir)
		dirs_path(w->dirs, dir, name, f->failure.path, sizeof(f->failure.path));
	else
		snprintf(f->failure.path, sizeof(f->failure.path), "%s", name ? name : "");
}

void walk_fail(struct walk *w, struct walk_found *f, int status, struct dir_node *dir,
	       const char *name, const char *fmt, ...)
{
	va_list args;

	fail(w, f, status, dir, name);
	va_start(args, fmt);
	vsnprintf(f->failure.text, sizeof(f->failure.text), fmt, args);
	va_end(args);
}

void walk_fail_errno(struct walk *w, struct walk_found *f, struct dir_node *dir, const char *name,
		     const char *what, int err)
{
	walk_fail(w, f, COPY_FAILED, dir, name, "%s (%s)", what, strerror(-err));
}

/* An entry with a name and the attributes of f->st. */
static void found(struct walk *w, struct walk_found *f, enum copy_kind kind, struct dir_node *dir,
		  const char *name)
{
	if (name != w->name)
		memcpy(w->name, name, strlen(name) + 1);
	f->failed = false;
	f->dir = dir;
	f->name = w->name;
	f->entry = (struct copy_entry){
		.kind = kind,
		.id = w->next_id++,
		.name = w->name,
		.mode = f->st.st_mode & 07777,
		.uid = f->st.st_uid,
		.gid = f->st.st_gid,
		.mtime_ns = timespec_ns(&f->st.st_mtim),
		.atime_ns = timespec_ns(&f->st.st_atim),
	};
}

/* A file or a symbolic link, or another name of one. True: the first name. */
static bool found_first(struct walk *w, struct walk_found *f, enum copy_kind kind,
			struct dir_node *dir, const char *name)
{
	uint64_t first = 0;
	bool is_last = false;

	if (f->st.st_nlink > 1)
		first = walk_links_first(&w->links, &f->st, w->next_id, &is_last);
	if (f->st.st_nlink > 1 && !first)
		w->links.full = true;
	found(w, f, kind, dir, name);
	if (first && first != f->entry.id) {
		f->entry.kind = COPY_LINK;
		f->entry.first = first;
		f->entry.flags = is_last ? COPY_LAST_NAME : 0;
		return false;
	}
	if (first)
		f->entry.flags |= COPY_HAS_LINKS;
	return true;
}

static void found_file(struct walk *w, struct walk_found *f, struct dir_node *dir, const char *name)
{
	const bool first = found_first(w, f, COPY_FILE, dir, name);

	f->entry.size_bytes = (uint64_t)f->st.st_size;
	f->entry.identity = identity_of_file(w->host, &f->st);
	f->entry.version = identity_of_contents(&f->st);
	if (!first)
		return;
	if (f->st.st_blocks * 512 < f->st.st_size)
		f->entry.flags |= COPY_SPARSE;
}

static void found_link(struct walk *w, struct walk_found *f, struct dir_node *dir, const char *name)
{
	int at = dirs_fd(w->dirs, dir), err;
	ssize_t n;

	if (at < 0) {
		walk_fail_errno(w, f, dir, name, "cannot read symbolic link", at);
		return;
	}
	n = readlinkat(at, name, w->target, sizeof(w->target));
	err = -errno;
	dirs_done(w->dirs, dir);
	if (n < 0) {
		walk_fail_errno(w, f, dir, name, "cannot read symbolic link", err);
	} else if (n == sizeof(w->target)) {
		walk_fail_errno(w, f, dir, name, "cannot read symbolic link", -ENAMETOOLONG);
	} else {
		w->target[n] = '\0';
		if (found_first(w, f, COPY_SYMLINK, dir, name))
			f->entry.target = w->target;
	}
}

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFIFO:
		return "FIFO";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
		return "character device";
	case S_IFBLK:
		return "block device";
	default:
		return "file of a kind that is not known";
	}
}

static void fail_kind(struct walk *w, struct walk_found *f, struct dir_node *dir, const char *name,
		      mode_t mode)
{
	walk_fail(w, f, COPY_FAILED, dir, name, "is a %s, which is not copied", kind_name(mode));
}

void walk_found_name(struct walk *w, struct walk_found *f, struct dir_node *dir, const char *name)
{
	if (strlen(name) >= COPY_MAX_NAME_BYTES) {
		walk_fail_errno(w, f, dir, name, "cannot be copied", -ENAMETOOLONG);
		return;
	}
	if (S_ISREG(f->st.st_mode))
		found_file(w, f, dir, name);
	else if (S_ISLNK(f->st.st_mode))
		found_link(w, f, dir, name);
	else
		fail_kind(w, f, dir, name, f->st.st_mode);
	if (!f->failed)
		dirs_hold(w->dirs, dir);
}

void walk_found_dir(struct walk *w, struct walk_found *f, struct dir_node *node, const char *name,
		    uint32_t flags, bool read)
{
	if (strlen(name) >= COPY_MAX_NAME_BYTES) {
		walk_fail_errno(w, f, node, NULL, "cannot be copied", -ENAMETOOLONG);
		dirs_release(w->dirs, node);
		return;
	}
	found(w, f, COPY_DIR, node, name);
	f->entry.flags = flags;
	if (walk_push(w, node, read)) {
		walk_fail_errno(w, f, node, NULL, "cannot be copied", -ENOMEM);
		dirs_release(w->dirs, node);
		w->next_id--;
		return;
	}
	dirs_hold(w->dirs, node);
}

void walk_found_leave(struct walk *w, struct walk_found *f)
{
	walk_pop(w);
	f->failed = false;
	f->dir = NULL;
	f->name = "";
	f->entry = (struct copy_entry){ .kind = COPY_LEAVE, .name = "" };
}

/* ---- directories ---- */

/* Temporary files and journals of copies, which those remove. */
static bool is_temporary(const char *name)
{
	uint64_t session, number;

	return strncmp(name, COPY_TEMPORARY_PREFIX, strlen(COPY_TEMPORARY_PREFIX)) == 0 &&
	       commit_parse_name(name, &session, &number) != COMMIT_NO_NAME;
}

/* An entry that is not known to be a directory. False: nothing to say about it. */
static bool walk_look(struct walk *w, struct walk_found *f, const char *name)
{
	struct dir_node *dir = w->levels[w->n_levels - 1].node;
	int err = 0;

	if (fstatat(w->fd, name, &f->st, AT_SYMLINK_NOFOLLOW))
		err = -errno;
	if (!err && S_ISDIR(f->st.st_mode))
		return walk_enter(w, f, name);
	if (err)
		walk_fail_errno(w, f, dir, name, "cannot read attributes", err);
	else
		walk_found_name(w, f, dir, name);
	return true;
}

static bool is_left_out(struct walk *w, const char *name)
{
	struct stat st;

	return w->left_out_ino && w->ino == w->left_out_ino && walk_borrow(w) >= 0 &&
	       fstatat(w->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ino == w->left_out_ino && st.st_dev == w->left_out_dev;
}

/* The next entry, or the end of the directory. False: nothing to say about it. */
static bool next_in_level(struct walk *w, struct walk_found *f)
{
	struct walk_level *l = &w->levels[w->n_levels - 1];
	const char *name;
	unsigned char type;
	int more = walk_read(w, &name, &type);

	if (more > 0 && (is_temporary(name) || is_left_out(w, name)))
		return false;
	if (more > 0 && walk_borrow(w) < 0) {
		l->failed = true;
		more = w->fd;
		w->fd = -1;
	}
	if (more > 0 && type == DT_DIR)
		return walk_enter(w, f, name);
	if (more > 0 && type != DT_FIFO && type != DT_SOCK && type != DT_CHR && type != DT_BLK)
		return walk_look(w, f, name);
	if (more == 0)
		walk_found_leave(w, f);
	else if (more < 0)
		walk_fail_errno(w, f, l->node, NULL, "cannot read directory", more);
	else
		fail_kind(w, f, l->node, name, DTTOIF(type));
	return true;
}

/* ---- the walk ---- */

int walk_open(struct walk **w, const struct copy_settings *settings, const char *const *sources,
	      size_t n, struct err *why)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	int status = 0, root;

	*w = NULL;
	if (walk)
		walk->buffer = malloc(WALK_BUFFER_BYTES);
	root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk && walk->buffer && root >= 0)
		walk->dirs = dirs_new(root, 0);
	if (!walk || !walk->dirs) {
		err_set(why, COPY_FAILED, "cannot begin: %s", strerror(errno));
		if (walk)
			free(walk->buffer);
		free(walk);
		return COPY_FAILED;
	}
	walk->settings = settings;
	walk->sources = sources;
	walk->n_sources = n;
	walk->next_id = 1;
	walk->links.most = COPY_MAX_FIRSTS;
	walk->links.keep = settings->list;
	walk->fd = -1;
	walk->host = identity_host();
	walk->avoid_since = time(NULL) - CLOCK_DIFFERENCE_S;
	if (settings->list)
		status = walk_list_open(walk, sources[0], why);
	else
		status = walk_check_sources(walk, why);
	if (status)
		walk_close(walk);
	else
		*w = walk;
	return status;
}

void walk_close(struct walk *w)
{
	if (!w)
		return;
	while (w->n_levels)
		walk_pop(w);
	dirs_release(w->dirs, w->named.node);
	free(w->named.path);
	walk_list_close(&w->list);
	walk_links_free(&w->links);
	dirs_free(w->dirs);
	free(w->levels);
	free(w->buffer);
	free(w);
}

void walk_avoid(struct walk *w, const char *journal, const char *made)
{
	w->journal = journal;
	w->made = made;
}

void walk_leave_out(struct walk *w, uint64_t dev, uint64_t ino)
{
	w->left_out_dev = dev;
	w->left_out_ino = ino;
}

/* True, once, if a link may have become a file of its own. */
static bool warn_links(struct walk *w, struct walk_found *f)
{
	if (!w->links.full || w->warn_links)
		return false;
	w->warn_links = true;
	walk_fail(w, f, 0, NULL, NULL,
		  "too many files have several names; some are copied as separate files");
	return true;
}

bool walk_next(struct walk *w, struct walk_found *f)
{
	if (w->ended)
		return false;
	f->dirs = w->dirs;
	while (w->n_levels && w->levels[w->n_levels - 1].read) {
		if (next_in_level(w, f))
			return true;
	}
	if (!(w->list.file ? walk_list(w, f) : walk_source(w, f)) && !warn_links(w, f)) {
		w->ended = true;
		f->failed = false;
		f->dir = NULL;
		f->name = "";
		f->entry = (struct copy_entry){ .kind = COPY_END, .name = "" };
	}
	return true;
}
