/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a walk: the memory of names, the directories that it reads, and names from a list.
 * See walk_private.h.
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
#include "xdd/base/codec.h"
#include "xdd/base/err.h"
#include "xdd/base/memory.h"
#include "xdd/base/random.h"
#include "xdd/base/text.h"

/*
 * The memory of a walk: names at the top, and files with several names. See walk_private.h.
 *
 * Both are tables with open addressing. Names are known by 64 bits of a hash: among a million of
 * names, two are taken for the same one with a probability below 10^-7.
 */

#define FIRST_SIZE 256

/* ---- names ---- */

static uint64_t hash_name(const char *name, enum walk_kind kind)
{
	size_t n = strlen(name);
	uint64_t h = random_splitmix64(n * RANDOM_GOLDEN + (uint64_t)kind);

	for (; n >= 8; name += 8, n -= 8)
		h = random_splitmix64(h ^ bytes_get(name, 8));
	if (n)
		h ^= bytes_get(name, (unsigned)n);
	h = random_splitmix64(h + RANDOM_GOLDEN);
	return h ? h : 1;
}

/* The slot that has `h`, or the free one for it. */
static uint64_t *find_name(const struct walk_set *s, uint64_t h)
{
	size_t i = (size_t)h & (s->size - 1);

	while (s->slots[i] && s->slots[i] != h)
		i = (i + 1) & (s->size - 1);
	return &s->slots[i];
}

static int grow_names(struct walk_set *s)
{
	struct walk_set larger = { .n = s->n, .size = s->size ? 2 * s->size : FIRST_SIZE };

	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < s->size; i++) {
		if (s->slots[i])
			*find_name(&larger, s->slots[i]) = s->slots[i];
	}
	free(s->slots);
	*s = larger;
	return 0;
}

static bool walk_set_has(const struct walk_set *s, const char *name, enum walk_kind kind)
{
	return s->size && *find_name(s, hash_name(name, kind));
}

bool walk_set_add(struct walk_set *s, const char *name, enum walk_kind kind)
{
	uint64_t h = hash_name(name, kind), *slot;

	if (4 * s->n >= 3 * s->size && grow_names(s))
		return false;
	slot = find_name(s, h);
	if (*slot)
		return false;
	*slot = h;
	s->n++;
	return true;
}

void walk_set_free(struct walk_set *s)
{
	free(s->slots);
	*s = (struct walk_set){ .n = 0 };
}

/* ---- files with several names ---- */

struct walk_link {
	uint64_t ino;
	uint64_t id;   /* 0: free */
	uint32_t dev;  /* the index of its device */
	uint32_t left; /* names that were not seen */
};

/* The index of a device. Returns 0 or -ENOMEM. */
static int dev_index(struct walk_links *l, uint64_t dev, uint32_t *index)
{
	uint64_t *devs;

	for (uint32_t i = 0; i < l->n_devs; i++) {
		if (l->devs[i] == dev) {
			*index = i;
			return 0;
		}
	}
	devs = array_room(l->devs, l->n_devs, sizeof(*devs));
	if (!devs)
		return -ENOMEM;
	l->devs = devs;
	*index = l->n_devs;
	devs[l->n_devs++] = dev;
	return 0;
}

static size_t link_home(const struct walk_links *l, uint32_t dev, uint64_t ino)
{
	return (size_t)random_splitmix64(ino * RANDOM_GOLDEN + dev) & (l->size - 1);
}

static struct walk_link *find_link(const struct walk_links *l, uint32_t dev, uint64_t ino)
{
	size_t i = link_home(l, dev, ino);

	while (l->slots[i].id && (l->slots[i].ino != ino || l->slots[i].dev != dev))
		i = (i + 1) & (l->size - 1);
	return &l->slots[i];
}

static int grow_links(struct walk_links *l)
{
	struct walk_links larger = *l;

	larger.size = l->size ? 2 * l->size : FIRST_SIZE;
	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < l->size; i++) {
		const struct walk_link *x = &l->slots[i];

		if (x->id)
			*find_link(&larger, x->dev, x->ino) = *x;
	}
	free(l->slots);
	*l = larger;
	return 0;
}

/* Free a slot, and close the gap in the chain of those that follow. */
static void drop_link(struct walk_links *l, struct walk_link *x)
{
	size_t mask = l->size - 1, gap = (size_t)(x - l->slots), i = gap;

	for (;;) {
		size_t home;

		i = (i + 1) & mask;
		if (!l->slots[i].id)
			break;
		home = link_home(l, l->slots[i].dev, l->slots[i].ino);
		if (((i - home) & mask) >= ((i - gap) & mask)) {
			l->slots[gap] = l->slots[i];
			gap = i;
		}
	}
	l->slots[gap].id = 0;
	l->n--;
}

uint64_t walk_links_first(struct walk_links *l, const struct stat *st, uint64_t id, bool *is_last)
{
	struct walk_link *x;
	uint32_t dev;

	*is_last = false;
	if (4 * l->n >= 3 * l->size && l->n < l->most && grow_links(l))
		return 0;
	if (dev_index(l, st->st_dev, &dev))
		return 0;
	x = find_link(l, dev, st->st_ino);
	if (x->id) {
		id = x->id;
		*is_last = !l->keep && --x->left == 0;
		if (*is_last)
			drop_link(l, x);
		return id;
	}
	if (l->n >= l->most)
		return 0;
	*x = (struct walk_link){
		.dev = dev, .ino = st->st_ino, .id = id, .left = (uint32_t)st->st_nlink - 1
	};
	l->n++;
	return id;
}

void walk_links_free(struct walk_links *l)
{
	free(l->slots);
	free(l->devs);
	*l = (struct walk_links){ .most = l->most, .keep = l->keep };
}

/*
 * Reading directories, the last one entered first. See walk_private.h.
 *
 * Entries are read a buffer at a time. The part of a buffer that is not used yet when a
 * subdirectory is entered is kept, up to a limit for all levels together; beyond it, the one of the
 * outermost level is read again, from the offset after the entry of the subdirectory.
 */

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

int walk_borrow(struct walk *w)
{
	if (w->fd < 0)
		w->fd = dirs_fd(w->dirs, last_level(w)->node);
	return w->fd;
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
	struct walk_level *levels = array_room(w->levels, w->n_levels, sizeof(*levels));

	if (!levels)
		return -ENOMEM;
	w->levels = levels;
	if (w->n_levels)
		save_rest(w);
	levels[w->n_levels++] = (struct walk_level){ .node = node, .read = read };
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
static int walk_level_fill(struct walk *w)
{
	struct walk_level *l = last_level(w);
	ssize_t n;

	if (walk_borrow(w) < 0)
		return w->fd;
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
			int more = walk_level_fill(w);

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
	if (w->list.file || (w->made && !*w->made && !is_old(w, fd)))
		return MADE_ANY;
	if (w->made && *w->made)
		return strcmp(w->made, name) ? MADE_NOT : MADE_NAME;
	for (size_t i = 0; i < w->n_sources; i++) {
		const char *top = walk_top_name(w->sources[i]);

		if (!*top)
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

/*
 * Names from a list. See walk_private.h.
 *
 * A relative name keeps its directories: those on the way are entered, and left once a name does
 * not share them. A directory that is named itself is offered, with -r with all in it. Links on
 * the way are followed, a link that is named is copied as such.
 */

int walk_list_open(struct walk *w, const char *path, struct err *why)
{
	struct walk_list *l = &w->list;
	struct stat st;
	int fd;

	if (w->settings->size_bytes != UINT64_MAX)
		return err_set(why, COPY_BAD_SIZE,
			       "a size is for one file or device, not for a list");
	l->end = w->settings->list_nul ? '\0' : '\n';
	l->line = malloc(WALK_MAX_LINE_BYTES);
	if (strcmp(path, "-") == 0)
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		l->file = fdopen(fd, "r");
	if (!l->line || !l->file) {
		err_set(why, COPY_NO_SOURCE, "list %s: %s", path, strerror(errno));
		if (fd >= 0 && !l->file)
			close(fd);
		return COPY_NO_SOURCE;
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(why, COPY_BAD_ARGUMENTS, "%s: " COPY_IS_DIRECTORY_LIST, path);
	return 0;
}

void walk_list_close(struct walk_list *l)
{
	if (l->file)
		fclose(l->file);
	free(l->line);
	walk_set_free(&l->tops);
}

/* ---- lines ---- */

/* Read a name. Returns 1; 0 at the end; -ENAMETOOLONG: it was skipped; or -errno. */
static int read_line(struct walk_list *l)
{
	bool fits = true;
	int c;

	l->length = 0;
	while ((c = getc_unlocked(l->file)) != EOF && c != l->end) {
		if (l->length + 1 < WALK_MAX_LINE_BYTES)
			l->line[l->length++] = (char)c;
		else
			fits = false;
	}
	l->line[l->length] = '\0';
	if (!fits)
		return -ENAMETOOLONG;
	if (c == EOF && ferror(l->file))
		return -EIO;
	return c != EOF || l->length;
}

/*
 * Drop empty components and "." from the name. Returns false if it has "..". The whole name may
 * become "", for the directory that names are relative to.
 */
static bool normalize(struct walk_list *l)
{
	char *in = l->line, *out = l->line;

	l->absolute = *in == '/';
	while (*in) {
		size_t n = strcspn(in, "/");

		if (n == 2 && in[0] == '.' && in[1] == '.')
			return false;
		if (n && !(n == 1 && *in == '.')) {
			if (l->absolute || out > l->line)
				*out++ = '/';
			memmove(out, in, n);
			out += n;
		}
		in += n;
		in += *in == '/';
	}
	*out = '\0';
	return true;
}

/* Names at the top of the destination. False: another name is there already. */
static bool claim_top(struct walk_list *l)
{
	size_t n = strcspn(l->line, "/");
	char saved, *end = l->line + n;
	bool free_name;

	if (l->absolute) {
		const char *top = path_last(l->line);

		return !walk_set_has(&l->tops, top, WALK_RELATIVE) &&
		       walk_set_add(&l->tops, top, WALK_ABSOLUTE);
	}
	saved = *end;
	*end = '\0';
	free_name = !walk_set_has(&l->tops, l->line, WALK_ABSOLUTE);
	if (free_name)
		walk_set_add(&l->tops, l->line, WALK_RELATIVE);
	*end = saved;
	return free_name;
}

/*
 * Read a name that can be copied. Returns true if there is one, or a failure of one; false at the
 * end.
 */
static bool next_line(struct walk *w, struct walk_found *f)
{
	struct walk_list *l = &w->list;
	int more;

	do {
		more = l->broken ? 0 : read_line(l);
	} while (more > 0 && !l->length);
	if (!more)
		return false;
	l->pending = false;
	if (more < 0) {
		walk_fail_errno(w, f, NULL, more == -EIO ? w->sources[0] : l->line,
				"cannot read list", more);
		l->broken = more == -EIO;
	} else if (strlen(l->line) != l->length) {
		walk_fail(w, f, COPY_BAD_NAMES, NULL, l->line,
			  "is followed by NUL in the list; say -null");
	} else if (!normalize(l)) {
		walk_fail(w, f, COPY_BAD_NAMES, NULL, l->line, "has \"..\", which a list must not");
	} else if (*l->line && !claim_top(l)) {
		walk_fail(w, f, COPY_BAD_NAMES, NULL, l->line,
			  "another name in the list has this name at the destination");
	} else {
		l->pending = true;
	}
	return true;
}

/* ---- the way to a name ---- */

/* The number of levels on the way of the pending name; `*at`: the rest of the name after them. */
static size_t shared_levels(const struct walk *w, const char **at)
{
	size_t i = *w->list.line ? w->list.root : 0;

	for (*at = w->list.line; i < w->n_levels; i++) {
		const char *name = path_last(dir_name(w->levels[i].node));
		size_t n = strlen(name);

		if (w->list.absolute || w->levels[i].absolute || strncmp(*at, name, n) != 0 ||
		    (*at)[n] != '/')
			break;
		*at += n + 1;
	}
	return i;
}

/* The directory that the next component lies in. No reference. 0 or -errno. */
static int parent_of(struct walk *w, struct dir_node **dir)
{
	if (w->list.absolute)
		return walk_named_dir(w, w->list.line, dir);
	if (w->n_levels) {
		*dir = w->levels[w->n_levels - 1].node;
		return 0;
	}
	return walk_named_dir(w, ".", dir);
}

/* Enter directory `name`; with `follow` also through a link, by its `path`. */
static int walk_list_enter(struct walk *w, struct walk_found *f, struct dir_node *parent,
			   const char *path, const char *name, bool follow, struct dir_node **node)
{
	int err = dirs_enter_stat(w->dirs, parent, name, node, &f->st);

	if (follow && (err == -ELOOP || err == -ENOTDIR))
		err = dirs_enter_path(w->dirs, path, path, node, &f->st);
	return err;
}

/* Enter the directory of the component at `at`. */
static void enter_implied(struct walk *w, struct walk_found *f, const char *at)
{
	size_t length = (size_t)(at - w->list.line) + strcspn(at, "/");
	char *path = strndup(w->list.line, length);
	struct dir_node *parent, *node;
	int err = path ? parent_of(w, &parent) : -ENOMEM;

	if (!err)
		err = walk_list_enter(w, f, parent, path, path_last(path), true, &node);
	if (err) {
		w->list.pending = false;
		walk_fail_errno(w, f, NULL, w->list.line, "cannot open", err);
	} else {
		walk_found_dir(w, f, node, path_last(path), COPY_IMPLIED, false);
		w->list.pending = !f->failed;
	}
	free(path);
}

static void named_dir(struct walk *w, struct walk_found *f, struct dir_node *parent,
		      const char *name)
{
	struct dir_node *node;
	int err = walk_list_enter(w, f, parent, w->list.line, name, false, &node);

	if (err) {
		walk_fail_errno(w, f, parent, name, "cannot open directory", err);
		return;
	}
	walk_found_dir(w, f, node, name, 0, w->settings->recursive);
	if (!f->failed)
		w->levels[w->n_levels - 1].absolute = w->list.absolute;
}

/* The pending name itself, whose directories are entered. */
static void take_name(struct walk *w, struct walk_found *f)
{
	const char *name = path_last(w->list.line);
	struct dir_node *dir;
	int err = parent_of(w, &dir), at = err;

	w->list.pending = false;
	if (!err)
		at = dirs_fd(w->dirs, dir);
	if (at < 0) {
		walk_fail_errno(w, f, NULL, w->list.line, "cannot open", at);
		return;
	}
	err = fstatat(at, name, &f->st, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
	dirs_done(w->dirs, dir);
	if (err == -ENOENT && name[strlen(name) - 1] == '\r')
		walk_fail(w, f, COPY_FAILED, dir, name,
			  "does not exist; the list has carriage returns at the ends of its lines");
	else if (err)
		walk_fail_errno(w, f, dir, name, "cannot read attributes", err);
	else if (S_ISDIR(f->st.st_mode))
		named_dir(w, f, dir, name);
	else
		walk_found_name(w, f, dir, name);
}

/* The name "." or "/": the contents of that directory. */
static void take_root(struct walk *w, struct walk_found *f)
{
	const char *path = w->list.absolute ? "/" : ".";
	struct dir_node *node;
	int err;

	w->list.pending = false;
	w->list.root = false;
	err = dirs_enter_path(w->dirs, path, w->list.absolute ? "/" : "", &node, &f->st);
	if (err) {
		walk_fail_errno(w, f, NULL, path, "cannot open directory", err);
		return;
	}
	walk_found_dir(w, f, node, "", 0, w->settings->recursive);
	if (!f->failed && !w->settings->recursive && !w->list.absolute)
		w->list.root = true;
	else if (!f->failed)
		w->levels[w->n_levels - 1].absolute = true;
}

/* A step to the pending name, or the name. */
static void walk_list_step(struct walk *w, struct walk_found *f)
{
	const char *at;
	size_t shared = shared_levels(w, &at);

	if (w->n_levels > shared)
		walk_found_leave(w, f);
	else if (!*w->list.line)
		take_root(w, f);
	else if (!w->list.absolute && strchr(at, '/'))
		enter_implied(w, f, at);
	else
		take_name(w, f);
}

bool walk_list(struct walk *w, struct walk_found *f)
{
	if (!w->list.pending) {
		if (!next_line(w, f)) {
			w->list.root = false;
			if (!w->n_levels)
				return false;
			walk_found_leave(w, f);
			return true;
		}
		if (!w->list.pending)
			return true; /* a failure */
	}
	walk_list_step(w, f);
	return true;
}
