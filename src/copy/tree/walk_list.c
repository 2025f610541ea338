/*
 * Names from a list. See walk_private.h.
 *
 * A relative name keeps its directories: those on the way are entered, and left once a name does
 * not share them. A directory that is named itself is offered, with -r with all in it. Links on the
 * way are followed, a link that is named is copied as such.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/tree/walk_private.h"
#include "xdd/base/text.h"

int walk_list_open(struct walk *w, const char *path, char *why, size_t size)
{
	struct walk_list *l = &w->list;
	struct stat st;
	int fd;

	if (w->settings->size_bytes != UINT64_MAX) {
		snprintf(why, size, "a size is for one file or device, not for a list");
		return COPY_BAD_SIZE;
	}
	l->end = w->settings->list_nul ? '\0' : '\n';
	l->line = malloc(WALK_MAX_LINE_BYTES);
	if (strcmp(path, "-") == 0)
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		l->file = fdopen(fd, "r");
	if (!l->line || !l->file) {
		snprintf(why, size, "list %s: %s", path, strerror(errno));
		if (fd >= 0 && !l->file)
			close(fd);
		return COPY_NO_SOURCE;
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		snprintf(why, size, "%s: " COPY_IS_DIRECTORY_LIST, path);
		return COPY_BAD_ARGUMENTS;
	}
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
static int enter(struct walk *w, struct walk_found *f, struct dir_node *parent, const char *path,
		 const char *name, bool follow, struct dir_node **node)
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
		err = enter(w, f, parent, path, path_last(path), true, &node);
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
	int err = enter(w, f, parent, w->list.line, name, false, &node);

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
static void step(struct walk *w, struct walk_found *f)
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
	step(w, f);
	return true;
}
