/*
 * Sources as the user named them. See walk_private.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "copy/tree/identity.h"
#include "copy/tree/walk_private.h"
#include "xdd/base/file.h"
#include "xdd/base/text.h"

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

bool walk_top_name(const char *source, char name[COPY_MAX_NAME_BYTES])
{
	size_t n = trimmed(source), start = n;

	while (start > 0 && source[start - 1] != '/')
		start--;
	name[0] = '\0';
	if (source[n] || n == start || n - start >= COPY_MAX_NAME_BYTES)
		return false;
	memcpy(name, source + start, n - start);
	name[n - start] = '\0';
	if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return true;
	name[0] = '\0';
	return false;
}

/* ---- checks before anything is offered ---- */

static int check_size(const struct walk *w, const char *path, const struct stat *st, char *why,
		      size_t size)
{
	if (w->settings->size_bytes == UINT64_MAX)
		return 0;
	if (w->n_sources > 1 || S_ISDIR(st->st_mode)) {
		snprintf(why, size, "%s: a size is for one file or device", path);
		return COPY_BAD_SIZE;
	}
	if (S_ISREG(st->st_mode) && w->settings->size_bytes > (uint64_t)st->st_size) {
		snprintf(why, size, "%s: has %lld bytes, fewer than the size that is given", path,
			 (long long)st->st_size);
		return COPY_BAD_SIZE;
	}
	return 0;
}

static int check_device(const struct walk *w, const char *path, const struct stat *st, char *why,
			size_t size)
{
	if (w->n_sources > 1) {
		snprintf(why, size, "%s: a device must be the only source", path);
		return COPY_BAD_NAMES;
	}
	if (S_ISCHR(st->st_mode) && w->settings->size_bytes == UINT64_MAX) {
		snprintf(why, size, "%s: is a character device, which needs a size", path);
		return COPY_NEEDS_SIZE;
	}
	return 0;
}

static int check_source(const struct walk *w, const char *path, char *why, size_t size)
{
	struct stat st;

	if (stat(*path ? path : ".", &st)) {
		snprintf(why, size, "%s: %s%s", path, strerror(errno),
			 errno == ENOENT && strpbrk(path, "*?[") ?
				 "; patterns are not expanded there: name the files, or say -F" :
				 "");
		return COPY_NO_SOURCE;
	}
	if (S_ISDIR(st.st_mode) && !w->settings->recursive) {
		snprintf(why, size, "%s: %s", path,
			 w->settings->resume ? COPY_IS_DIRECTORY_RESUME : COPY_IS_DIRECTORY);
		return COPY_BAD_ARGUMENTS;
	}
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		snprintf(why, size, "%s: is a %s, which is not copied", path,
			 S_ISFIFO(st.st_mode) ? "FIFO" : "socket");
		return COPY_NO_SOURCE;
	}
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) {
		int status = check_device(w, path, &st, why, size);

		if (status)
			return status;
	}
	return check_size(w, path, &st, why, size);
}

int walk_check_sources(struct walk *w, char *why, size_t size)
{
	struct walk_set tops = { .n = 0 };
	char name[COPY_MAX_NAME_BYTES];
	int status = 0;

	for (size_t i = 0; i < w->n_sources && !status; i++) {
		const char *path = w->sources[i];

		status = check_source(w, path, why, size);
		if (!status && walk_top_name(path, name) &&
		    !walk_set_add(&tops, name, WALK_RELATIVE)) {
			snprintf(why, size, "%s: two sources have this last component", path);
			status = COPY_BAD_NAMES;
		}
	}
	walk_set_free(&tops);
	return status;
}

/* ---- sources ---- */

/* Without "." of a path that has no directory, for messages. */
static const char *shown(const char *directory)
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
	err = dirs_enter_path(w->dirs, named.path, shown(named.path), &named.node, NULL);
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
		err = dirs_enter_path(w->dirs, path, shown(plain), &node, &f->st);
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

static void start(struct walk *w, struct walk_found *f, const char *path)
{
	char top[COPY_MAX_NAME_BYTES], *real;
	bool named = walk_top_name(path, top);
	struct stat st;
	int err = 0;

	if (stat(*path ? path : ".", &st))
		err = -errno;
	if (!err && S_ISDIR(st.st_mode)) {
		start_dir(w, f, path, top);
		return;
	}
	if (!err && !named)
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

bool walk_source(struct walk *w, struct walk_found *f)
{
	if (w->next_source == w->n_sources)
		return false;
	start(w, f, w->sources[w->next_source++]);
	return true;
}
