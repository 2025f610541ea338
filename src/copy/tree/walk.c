/*
 * Walks over files that are copied; see the header. Called by the source.
 */
#include "copy/tree/walk.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/tree/identity.h"
#include "copy/tree/walk_private.h"
#include "xdd/base/units.h"

#define CLOCK_DIFFERENCE_S 3600 /* of a file server and this host, at most */
#define TEMPORARY_PREFIX ".xddcp-"

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
	size_t prefix = strlen(TEMPORARY_PREFIX);

	if (strncmp(name, TEMPORARY_PREFIX, prefix) != 0)
		return false;
	name += prefix;
	for (int i = 0; i < 16; i++) {
		if (!isxdigit((unsigned char)*name++))
			return false;
	}
	if (strcmp(name, ".journal") == 0)
		return true;
	if (*name++ != '-' || !isdigit((unsigned char)*name))
		return false;
	while (isdigit((unsigned char)*name))
		name++;
	return strcmp(name, ".part") == 0;
}

/* An entry that is not known to be a directory. False: nothing to say about it. */
static bool look(struct walk *w, struct walk_found *f, const char *name)
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

/*
 * The descriptor is borrowed while entries are used, except those of a rest, which a directory has
 * after a subdirectory was left.
 */
static int borrow(struct walk *w, struct dir_node *dir)
{
	if (w->fd < 0)
		w->fd = dirs_fd(w->dirs, dir);
	return w->fd;
}

static bool is_left_out(struct walk *w, const char *name)
{
	struct stat st;

	return w->left_out_ino && w->ino == w->left_out_ino &&
	       borrow(w, w->levels[w->n_levels - 1].node) >= 0 &&
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
	if (more > 0 && borrow(w, l->node) < 0) {
		l->failed = true;
		more = w->fd;
		w->fd = -1;
	}
	if (more > 0 && type == DT_DIR)
		return walk_enter(w, f, name);
	if (more > 0 && type != DT_FIFO && type != DT_SOCK && type != DT_CHR && type != DT_BLK)
		return look(w, f, name);
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
	      size_t n, char *why, size_t size)
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
		snprintf(why, size, "cannot begin: %s", strerror(errno));
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
	walk->fd = -1;
	walk->host = identity_host();
	walk->avoid_since = time(NULL) - CLOCK_DIFFERENCE_S;
	if (settings->list)
		status = walk_list_open(walk, sources[0], why, size);
	else
		status = walk_check_sources(walk, why, size);
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
