/*
 * Reading directories, the last one entered first. See walk_private.h.
 *
 * Entries are read a buffer at a time. The part of a buffer that is not used yet when a
 * subdirectory is entered is kept, up to a limit for all levels together; beyond it, that of the
 * outermost level is read again, from the offset after the entry of the subdirectory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy/tree/walk_private.h"

/* As the kernel writes it. */
struct kernel_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t length;
	unsigned char type;
	char name[];
};

static struct walk_level *last_level(struct walk *w)
{
	return &w->levels[w->n_levels - 1];
}

static void done_reading(struct walk *w)
{
	if (w->fd >= 0)
		dirs_done(w->dirs, last_level(w)->node);
	w->fd = -1;
}

/* Forget a rest; it is read again. */
static void drop_rest(struct walk *w, struct walk_level *l)
{
	w->saved_bytes -= l->rest_size;
	free(l->rest);
	l->rest = NULL;
	l->rest_size = 0;
	l->end_off = l->used_off;
}

/* Keep what the last level has not used of the buffer. */
static void save_rest(struct walk *w)
{
	struct walk_level *l = last_level(w);

	done_reading(w);
	if (w->at == w->end)
		return;
	l->rest_size = (uint32_t)(w->end - w->at);
	l->rest = malloc(l->rest_size);
	w->saved_bytes += l->rest_size;
	if (l->rest)
		memcpy(l->rest, w->buffer + w->at, l->rest_size);
	else
		drop_rest(w, l);
	for (; w->saved_bytes > WALK_MAX_SAVED_BYTES; w->oldest_saved++)
		drop_rest(w, &w->levels[w->oldest_saved]);
}

int walk_push(struct walk *w, struct dir_node *node, bool read)
{
	if (w->n_levels == w->levels_size) {
		size_t size = w->levels_size ? 2 * w->levels_size : 16;
		struct walk_level *larger = realloc(w->levels, size * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		w->levels = larger;
		w->levels_size = size;
	}
	if (w->n_levels)
		save_rest(w);
	w->levels[w->n_levels++] = (struct walk_level){ .node = node, .read = read };
	w->at = w->end = 0;
	w->seek = false;
	return 0;
}

void walk_pop(struct walk *w)
{
	struct walk_level *l;

	done_reading(w);
	dirs_release(w->dirs, last_level(w)->node);
	w->n_levels--;
	w->at = w->end = 0;
	w->seek = true;
	if (!w->n_levels)
		return;
	l = last_level(w);
	if (l->rest) {
		memcpy(w->buffer, l->rest, l->rest_size);
		w->end = l->rest_size;
		w->saved_bytes -= l->rest_size;
		free(l->rest);
		l->rest = NULL;
		l->rest_size = 0;
	}
	if (w->oldest_saved >= w->n_levels)
		w->oldest_saved = w->n_levels - 1;
}

/* Read a buffer. Returns 1, 0 at the end, or -errno. */
static int fill(struct walk *w)
{
	struct walk_level *l = last_level(w);
	ssize_t n;

	if (w->fd < 0) {
		w->fd = dirs_fd(w->dirs, l->node);
		if (w->fd < 0)
			return w->fd;
	}
	if (w->seek && lseek(w->fd, l->end_off, SEEK_SET) < 0)
		return -errno;
	w->seek = false;
	n = syscall(SYS_getdents64, w->fd, w->buffer, WALK_BUFFER_BYTES);
	if (n < 0) /* a directory that may only be searched is open with O_PATH */
		return errno == EBADF ? -EACCES : -errno;
	w->at = 0;
	w->end = (size_t)n;
	return n > 0;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

int walk_read(struct walk *w, const char **name, unsigned char *type)
{
	struct walk_level *l = last_level(w);

	if (l->failed)
		return 0;
	for (;;) {
		const struct kernel_dirent *e;

		if (w->at == w->end) {
			int more = fill(w);

			l->failed = more < 0;
			if (more <= 0)
				return more;
		}
		e = (const struct kernel_dirent *)(w->buffer + w->at);
		w->at += e->length;
		l->used_off = e->off;
		if (w->at == w->end)
			l->end_off = e->off;
		if (is_dots(e->name))
			continue;
		*name = e->name;
		*type = e->type;
		w->ino = e->ino;
		return 1;
	}
}

/*
 * A directory that is its own parent, by a mount or in a file system that is damaged. The one that
 * is compared changes at depths that are powers of two, so a loop of any length is found at last.
 */
static bool is_loop(const struct walk *w, const struct dir_node *node)
{
	size_t depth = 1;

	while (2 * depth <= w->n_levels)
		depth *= 2;
	return dir_same(w->levels[w->n_levels - 1].node, node) ||
	       dir_same(w->levels[depth - 1].node, node);
}

enum made_here {
	MADE_NOT,
	MADE_NAME, /* a directory of this name */
	MADE_ANY,  /* directories of any names */
};

/* A directory that was made long before this copy. Not known on some file systems. */
static bool is_old(const struct walk *w, int fd)
{
	struct statx st;

	return !statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) && st.stx_mask & STATX_BTIME &&
	       st.stx_btime.tv_sec < w->avoid_since;
}

/* The directory `name` in a directory of the destination, `fd`: does this copy make it? */
static enum made_here is_made_here(const struct walk *w, int fd, const char *name)
{
	char top[COPY_MAX_NAME_BYTES];

	if (w->list.file || (w->made && !*w->made && !is_old(w, fd)))
		return MADE_ANY;
	if (w->made && *w->made)
		return strcmp(w->made, name) ? MADE_NOT : MADE_NAME;
	for (size_t i = 0; i < w->n_sources; i++) {
		if (!walk_top_name(w->sources[i], top))
			return MADE_ANY;
		if (strcmp(top, name) == 0)
			return MADE_NAME;
	}
	return MADE_NOT;
}

/*
 * The destination has made its journal before any directory, and a directory that it made has
 * changed since then, so others cost no look at the file system. The hour is for clocks of servers.
 */
static enum made_here is_own_copy(struct walk *w, const char *name, const struct stat *st)
{
	struct dir_node *parent = last_level(w)->node;
	enum made_here made = MADE_NOT;
	struct stat journal;
	int at;

	if (!w->journal || st->st_ctime < w->avoid_since)
		return MADE_NOT;
	at = dirs_fd(w->dirs, parent);
	if (at < 0)
		return MADE_NOT;
	if (!fstatat(at, w->journal, &journal, AT_SYMLINK_NOFOLLOW))
		made = is_made_here(w, at, name);
	dirs_done(w->dirs, parent);
	return made;
}

/* Say that a directory is this copy's; of many in one directory once. False: it was said. */
static bool refuse_own(struct walk *w, struct walk_found *f, const char *name, enum made_here made)
{
	struct walk_level *l = last_level(w);

	if (made == MADE_NAME) {
		walk_fail(w, f, COPY_FAILED, l->node, name,
			  "is the copy itself; a directory cannot be copied into itself");
		return true;
	}
	if (l->own)
		return false;
	l->own = true;
	walk_fail(w, f, COPY_FAILED, l->node, NULL,
		  "is the destination; new directories in it cannot be copied into themselves");
	return true;
}

bool walk_enter(struct walk *w, struct walk_found *f, const char *name)
{
	enum made_here made;
	struct dir_node *parent = last_level(w)->node, *node;
	int err = dirs_enter_stat(w->dirs, parent, name, &node, &f->st);

	if (err == -ELOOP || err == -ENOTDIR) {
		walk_fail(w, f, COPY_FAILED, parent, name, "was replaced while it was read");
	} else if (err) {
		walk_fail_errno(w, f, parent, name, "cannot open directory", err);
	} else if (is_loop(w, node)) {
		walk_fail(w, f, COPY_FAILED, parent, name, "is a directory that contains itself");
		dirs_release(w->dirs, node);
	} else if ((made = is_own_copy(w, name, &f->st)) != MADE_NOT) {
		dirs_release(w->dirs, node);
		return refuse_own(w, f, name, made);
	} else {
		walk_found_dir(w, f, node, name, 0, true);
	}
	return true;
}
