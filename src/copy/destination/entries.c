/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offers: entries in the order of the walk. Directories are made, or compared, and entered here,
 * and get their attributes once all in them have ended; files and links are passed on. Called by
 * receive.c, and where entries end.
 *
 * The source is not trusted: ids go up one by one, names are single components (the decoder sees to
 * that), each entry lies below the root, and the window bounds what is kept.
 */
#include "copy/destination/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/tree/walk.h"
#include "xdd/base/memory.h"

#define MAX_DEPTH 65536
#define MAX_OPEN_BYTES \
	(64u << 20) /* of directories that are entered, which the window leaves out */

struct entries {
	struct level *levels; /* levels[0] is the root */
	size_t n;
	uint64_t open_bytes; /* encoded, of all levels */
	char *below; /* the path of the last level that is not LEVEL_THERE, below its node */
	size_t below_room;
	uint64_t last_id;
	uint64_t n_top; /* entries at the top */
	/*
	 * The names that are accepted at the top, of all sources. None of a list: there the other
	 * side knows which names were asked for.
	 */
	struct top_name {
		const char *name;
		bool came; /* an entry at the top has it */
	} * tops;
	size_t n_tops;
	bool ended; /* COPY_END has come */
	struct copy_entry *of_root;
	struct visits *visits; /* NULL: there is no list */
	struct copy_cursor cursor;
};

struct entries *entries_new(void)
{
	return calloc(1, sizeof(struct entries));
}

bool entries_complete(const struct entries *x)
{
	return x->ended && x->n <= 1;
}

const struct copy_entry *entries_of_root(const struct entries *x)
{
	return x->of_root;
}

/* ---- directories until they have their attributes ---- */

/* How a directory was found or made. */
struct way {
	bool made;	 /* it did not exist */
	mode_t old_mode; /* else: of directory_open_up() */
	struct visited *visited;
};

/* The value that a node of a directory below the root has. */
struct directory {
	struct copy_entry *entry; /* owned */
	uint32_t cost_bytes;
	struct way way;
	bool differs; /* receiving thread, while it is entered */

	/* atomic: 1 while it is entered, and entries and directories in it */
	_Atomic unsigned holds;
};

/* The root has no value, and is not counted: it lives as long as all others. */
static void directory_hold(struct dir_node *node)
{
	struct directory *x = dir_user(node);

	if (x)
		atomic_fetch_add(&x->holds, 1);
}

/*
 * Begin to count for the directory of `node`, which is entered, and whose parent counts; `e` has
 * its attributes. Returns 0 or -ENOMEM.
 */
static int directory_begin(struct dir_node *node, const struct copy_entry *e, uint32_t cost_bytes,
			   const struct way *way)
{
	struct directory *x = calloc(1, sizeof(*x));

	if (x)
		x->entry = meta_entry_dup(e);
	if (!x || !x->entry) {
		free(x);
		return -ENOMEM;
	}
	/* It may be entered again for other names of the list. */
	if (e->flags & COPY_IMPLIED)
		x->entry->mode |= S_IRWXU;
	x->cost_bytes = cost_bytes;
	x->way = *way;
	atomic_init(&x->holds, 1);
	dir_set_user(node, x);
	directory_hold(dir_parent(node));
	return 0;
}

mode_t directory_open_up(int fd)
{
	char path[32];
	struct stat st;

	/* Permissions do not hold root up. */
	if (!geteuid() || fstat(fd, &st) || st.st_uid != geteuid() ||
	    (st.st_mode & S_IRWXU) == S_IRWXU)
		return META_KEEP_MODE;
	/* fchmod() refuses a descriptor of O_PATH. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, (st.st_mode & 07777) | S_IRWXU) ? META_KEEP_MODE : st.st_mode & 07777;
}

mode_t directory_open_up_at(int at, const char *name)
{
	int fd = geteuid() ? openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	mode_t old_mode;

	if (fd < 0)
		return META_KEEP_MODE;
	old_mode = directory_open_up(fd);
	close(fd);
	return old_mode;
}

mode_t directory_first_mode(const struct copy_entry *e, bool everything)
{
	return everything ? S_IRWXU : (e->mode & 0777) | S_IRWXU;
}

/*
 * Permissions of a directory that was made, without -P: a default ACL was inherited, as was the bit
 * that has its files belong to the group of the directory.
 */
static mode_t usual_mode(const struct destination *d, int fd, const struct stat *st,
			 const struct copy_entry *e)
{
	mode_t mode = e->mode & 0777 & meta_creation_mask(fd, d->mask);

	/* It may be entered again for other names of the list. */
	if (e->flags & COPY_IMPLIED)
		mode |= S_IRWXU;
	return mode | (st->st_mode & S_ISGID);
}

void directory_attributes(struct destination *d, struct dir_node *node, const struct copy_entry *e,
			  bool made, mode_t old_mode)
{
	struct meta_result result = { .not_set = false };
	int fd = dirs_fd(d->dirs, node);
	struct stat st = { .st_mode = 0 };
	struct meta_file f = { .st = &st, .fd = fd };

	if (fd < 0) {
		dest_failed(d, e->id, node, NULL, "open to set attributes", fd);
		return;
	}
	if (fstat(fd, &st) || made || old_mode != META_KEEP_MODE || !meta_same(&f, e, d->owners)) {
		if (made && !d->owners)
			old_mode = usual_mode(d, fd, &st, e);
		meta_apply(fd, e, old_mode, d->owners, &result);
		commit_changed_dir(d->commit);
	}
	dirs_done(d->dirs, node);
	dest_attributes(d, e->id, node, NULL, &result);
}

static void directory_finish(struct destination *d, struct dir_node *node, struct directory *x)
{
	const struct way *way = &x->way;
	enum copy_outcome outcome = way->made ? COPY_DONE : COPY_SAME;

	if (d->settings->verify)
		outcome = x->differs ? COPY_DIFFERS : COPY_EQUAL;
	if (way->visited)
		visits_leave(d, d->entries->visits, way->visited, node, x->entry->id);
	else if (!copy_reads_only(d->job) && (way->made || !(x->entry->flags & COPY_IMPLIED)))
		directory_attributes(d, node, x->entry, way->made, way->old_mode);
	dest_result(d, x->entry->id, x->cost_bytes, outcome);
	dir_set_user(node, NULL);
	free(x->entry);
	free(x);
}

void directory_release(struct destination *d, struct dir_node *node)
{
	struct directory *x = dir_user(node);

	while (x && atomic_fetch_sub(&x->holds, 1) == 1) {
		struct dir_node *parent = dir_parent(node);

		directory_finish(d, node, x);
		/* The parent stays: it is held until its own turn in this loop. */
		dirs_release(d->dirs, node);
		node = parent;
		x = dir_user(node);
	}
}

/* ---- levels ---- */

static void return_fd(struct destination *d, struct level *l)
{
	if (l->fd >= 0)
		dirs_done(d->dirs, l->node);
	l->fd = -1;
}

static int push(struct destination *d, const struct level *level)
{
	struct entries *x = d->entries;
	struct level *levels = array_room(x->levels, x->n, sizeof(*levels));

	if (!levels)
		return -ENOMEM;
	x->levels = levels;
	if (x->n)
		return_fd(d, &levels[x->n - 1]);
	levels[x->n] = *level;
	levels[x->n].mask = META_KEEP_MODE;
	levels[x->n++].fd = -1;
	x->open_bytes += level->cost_bytes;
	return 0;
}

/* The directory that entries lie in now, with its descriptor. Returns 0 or -errno. */
static int top(struct destination *d, struct level **out)
{
	struct level *l = &d->entries->levels[d->entries->n - 1];

	*out = l;
	if (l->kind != LEVEL_THERE || l->fd >= 0 || !l->node)
		return 0;
	l->fd = dirs_fd(d->dirs, l->node);
	return l->fd < 0 ? l->fd : 0;
}

mode_t entries_mask(struct destination *d, struct level *level)
{
	if (level->mask == META_KEEP_MODE)
		level->mask = meta_creation_mask(level->fd, d->mask);
	return level->mask;
}

static enum copy_outcome outcome_below(enum level_kind kind)
{
	return kind == LEVEL_LOST ? COPY_LOST : kind == LEVEL_WOULD ? COPY_WOULD : COPY_DIFFERS;
}

static void pop(struct destination *d)
{
	struct entries *x = d->entries;
	struct level *l = &x->levels[--x->n];

	return_fd(d, l);
	x->open_bytes -= l->cost_bytes;
	if (l->kind == LEVEL_LOST)
		return;
	if (l->is_root || l->kind != LEVEL_THERE)
		dest_result(d, l->id, l->cost_bytes,
			    l->kind != LEVEL_THERE	? outcome_below(l->kind) :
			    l->differs			? COPY_DIFFERS :
			    d->settings->verify		? COPY_EQUAL :
			    d->root.fresh && l->is_root ? COPY_DONE :
							  COPY_SAME);
	else
		directory_release(d, l->node);
}

void entries_free(struct destination *d, struct entries *x)
{
	if (!x)
		return;
	while (x->n > 1) {
		struct level *l = &x->levels[--x->n];

		return_fd(d, l);
		if (l->kind == LEVEL_THERE && !l->is_root)
			directory_release(d, l->node);
	}
	if (x->n)
		return_fd(d, &x->levels[0]);
	free(x->levels);
	free(x->below);
	free(x->tops);
	free(x->of_root);
	visits_free(x->visits);
	free(x);
}

/* ---- directories ---- */

static void count_failed(struct destination *d, enum level_kind kind)
{
	role_count_failed(d->role, kind == LEVEL_LOST ? COPY_FAILED : XDD_MISCOMPARE);
}

/*
 * x->below becomes the path of a name in the last level below the node of that. Nested levels that
 * are not there have one node, so the path of each is the begin of the next one's.
 */
static int set_below(struct entries *x, size_t at, const char *name)
{
	size_t length = strlen(name), room = at + length + 2;
	char *below = x->below;

	if (room > x->below_room) {
		below = realloc(x->below, 2 * room);
		if (!below)
			return -ENOMEM;
		x->below = below;
		x->below_room = 2 * room;
	}
	if (at)
		below[at++] = '/';
	memcpy(below + at, name, length + 1);
	return 0;
}

/*
 * An entry that has no place ends; later names of its file find how. Returns 0, -ENOMEM, or
 * -EBADMSG with `why`.
 */
static int end_early(struct destination *d, const struct level *l, const struct copy_entry *e,
		     enum copy_outcome outcome, struct err *why)
{
	struct entries *x = d->entries;
	int err;

	dest_result(d, e->id, 0, outcome);
	if (e->kind == COPY_LINK)
		links_omit(d, e);
	if (!(e->flags & COPY_HAS_LINKS) || !l->node)
		return 0;
	err = set_below(x, l->below_bytes, e->name);
	if (!err)
		err = links_expect(d, l->node, x->below, e, true, why);
	if (!err)
		links_file_ended(d, e->id, outcome);
	return err;
}

/* An entry in a directory that is not there has the result of the directory. As end_early(). */
static int below_nothing(struct destination *d, const struct level *l, const struct copy_entry *e,
			 struct err *why)
{
	enum copy_outcome outcome = outcome_below(l->kind);

	if (outcome != COPY_WOULD)
		count_failed(d, l->kind);
	return end_early(d, l, e, outcome, why);
}

static int enter_nothing(struct destination *d, const struct level *in, const struct copy_entry *e,
			 uint32_t cost_bytes, enum level_kind kind)
{
	struct level l = { .kind = kind, .node = in->node, .id = e->id, .cost_bytes = cost_bytes };
	int err = set_below(d->entries, in->below_bytes, e->name);

	if (kind == LEVEL_LOST)
		dest_result(d, e->id, 0, COPY_LOST);
	if (err)
		return err;
	l.below_bytes = in->below_bytes + (in->below_bytes ? 1 : 0) + strlen(e->name);
	return push(d, &l);
}

/* Returns true if it differs, which has a line then. */
static bool verify_directory(struct destination *d, struct dir_node *in, struct dir_node *node,
			     const struct copy_entry *e)
{
	char text[WIRE_MAX_TEXT_BYTES] = "";
	int fd = dirs_fd(d->dirs, node);
	struct stat st;

	if (fd < 0) {
		dest_failed(d, e->id, in, e->name, "open", fd);
		return false;
	}
	if (!(e->flags & COPY_IMPLIED) && !fstat(fd, &st))
		meta_differences(&(struct meta_file){ .st = &st, .fd = fd }, e, d->owners, text,
				 sizeof(text));
	dirs_done(d->dirs, node);
	if (*text)
		dest_differs(d, e->id, in, e->name, "%s", text);
	return *text;
}

/* Its name is the destination's, not the source's. */
static bool verify_root(struct destination *d, const struct level *root, const struct copy_entry *e)
{
	struct copy_entry of_root = *e;

	of_root.name = NULL;
	return verify_directory(d, NULL, root->node, &of_root);
}

/* The entry stands for the destination itself. */
static int enter_root(struct destination *d, const struct copy_entry *e, uint32_t cost_bytes)
{
	struct entries *x = d->entries;
	struct level l = x->levels[0];

	l.id = e->id;
	l.cost_bytes = cost_bytes;
	l.is_root = true;
	if (!(e->flags & COPY_IMPLIED)) {
		free(x->of_root);
		x->of_root = meta_entry_dup(e);
		if (!x->of_root)
			return -ENOMEM;
	}
	if (d->settings->verify && l.kind == LEVEL_THERE)
		l.differs = verify_root(d, &l, e);
	if (l.kind != LEVEL_ABSENT)
		dest_tally_add(&d->tally.dirs, 1);
	return push(d, &l);
}

/* It is there: another file in its place is a failure of all below. */
static int enter_there(struct destination *d, const struct level *in, const struct copy_entry *e,
		       uint32_t cost_bytes, const struct way *way)
{
	struct level l = {
		.kind = LEVEL_THERE, .fresh = way->made, .id = e->id, .cost_bytes = cost_bytes
	};
	int err = dirs_enter(d->dirs, in->node, e->name, &l.node);

	if (err == -ENOENT && d->settings->verify) {
		dest_differs(d, e->id, in->node, e->name, "does not exist");
		return enter_nothing(d, in, e, cost_bytes, LEVEL_ABSENT);
	}
	if (err == -ENOENT && d->settings->dry_run)
		return enter_nothing(d, in, e, cost_bytes, LEVEL_WOULD);
	if (!err)
		err = directory_begin(l.node, e, cost_bytes, way);
	if (err && way->visited)
		visits_leave(d, d->entries->visits, way->visited, NULL, e->id);
	if (err == -ELOOP || err == -ENOTDIR) {
		dest_failed_text(d, e->id, in->node, e->name, "is not a directory");
		return enter_nothing(d, in, e, cost_bytes, LEVEL_LOST);
	}
	if (err) {
		if (l.node)
			dirs_release(d->dirs, l.node);
		dest_failed(d, e->id, in->node, e->name, "open", err);
		return enter_nothing(d, in, e, cost_bytes, LEVEL_LOST);
	}
	if (d->settings->verify) {
		struct directory *x = dir_user(l.node);

		x->differs = verify_directory(d, in->node, l.node, e);
	}
	if (!way->made)
		commit_look(d->commit, l.node);
	dest_tally_add(&d->tally.dirs, 1);
	return push(d, &l);
}

/* Before the first directory that is made: one that exists leaves the root alone. */
static void announce(struct destination *d, struct level *in, const char *name)
{
	struct stat st;

	if (d->announced)
		return;
	if (!fstatat(in->fd, name, &st, AT_SYMLINK_NOFOLLOW) || errno != ENOENT)
		return;
	d->announced = true;
	commit_announce(d->commit);
}

static int enter(struct destination *d, struct level *in, const struct copy_entry *e,
		 uint32_t cost_bytes)
{
	struct way way = { .old_mode = META_KEEP_MODE };

	if (in->kind != LEVEL_THERE) {
		if (in->kind != LEVEL_WOULD)
			count_failed(d, in->kind);
		return enter_nothing(d, in, e, cost_bytes, in->kind);
	}
	if (copy_reads_only(d->job))
		return enter_there(d, in, e, cost_bytes, &way);
	announce(d, in, e->name);
	way.made = !mkdirat(in->fd, e->name, directory_first_mode(e, d->owners));
	if (!way.made && errno != EEXIST) {
		dest_failed(d, e->id, in->node, e->name, "create", -errno);
		return enter_nothing(d, in, e, cost_bytes, LEVEL_LOST);
	}
	if (way.made)
		commit_changed_dir(d->commit);
	way.visited =
		visits_enter(d->entries->visits, in->fd, e, cost_bytes, way.made, &way.old_mode);
	return enter_there(d, in, e, cost_bytes, &way);
}

static int take_dir(struct destination *d, struct level *in, const struct copy_entry *e,
		    uint32_t cost_bytes, struct err *why)
{
	struct entries *x = d->entries;
	bool at_top = x->n == 1;

	if (d->root.device >= 0)
		return dest_violation(why, "a directory, while the destination is a device");
	if (!*e->name && (!at_top || d->root.name))
		return dest_violation(why, "a directory without a name");
	if (x->n >= MAX_DEPTH || x->open_bytes + cost_bytes > MAX_OPEN_BYTES)
		return dest_violation(why, "more directories in each other than are supported");
	if (at_top && (!*e->name || d->root.is_entry))
		return enter_root(d, e, cost_bytes);
	return enter(d, in, e, cost_bytes);
}

static int take_leave(struct destination *d, struct err *why)
{
	struct entries *x = d->entries;
	struct level *l = &x->levels[x->n - 1];

	if (x->n <= 1)
		return dest_violation(why, "the end of a directory that it had not begun");
	if (l->kind != LEVEL_LOST && items_open(&d->items, l->cost_bytes))
		return dest_violation(why, "more than fits into the window");
	pop(d);
	return 0;
}

/* ---- other entries ---- */

struct item *entries_item(struct destination *d, const struct level *level,
			  const struct copy_entry *e, uint32_t cost_bytes)
{
	struct item *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->file.entry = meta_entry_dup(e);
	if (!i->file.entry) {
		free(i);
		return NULL;
	}
	i->file.dir = level->node;
	i->file.fd = -1;
	i->link.id = e->id;
	i->cost_bytes = cost_bytes;
	i->state = ITEM_TAKEN;
	if (level->node) {
		dirs_hold(d->dirs, level->node);
		directory_hold(level->node);
	}
	return i;
}

/* True: an entry at the top, which stands for a source that a user has named. */
static bool is_named(const struct destination *d)
{
	return d->entries->n == 1 && !d->settings->list;
}

static int take_link(struct destination *d, const struct level *l, const struct copy_entry *e,
		     uint32_t cost_bytes, struct err *why)
{
	struct item *i;
	int err = 0;

	if (!l->node)
		return dest_violation(why, "a link, while the destination is a device");
	if (items_open(&d->items, cost_bytes))
		return dest_violation(why, "more than fits into the window");
	if (e->flags & COPY_HAS_LINKS)
		err = links_expect(d, l->node, e->name, e, false, why);
	if (err)
		return err;
	i = entries_item(d, l, e, cost_bytes);
	if (!i)
		return -ENOMEM;
	if (e->kind == COPY_LINK)
		return links_make(d, i, is_named(d), why);
	links_symlink(d, i, l->fresh);
	return 0;
}

/*
 * True if the name was asked for. Its source has come then, or the first of several that had not.
 */
static bool take_top_name(struct destination *d, const char *name)
{
	bool asked = d->settings->list;

	for (size_t k = 0; k < d->entries->n_tops; k++) {
		struct top_name *top = &d->entries->tops[k];

		if (strcmp(top->name, name) != 0)
			continue;
		asked = true;
		if (top->came)
			continue;
		top->came = true;
		break;
	}
	return asked;
}

/*
 * A source that cannot be offered has a failure, so more of them are missing only if the other side
 * hides one. That fails here, and the rest of the copy goes on.
 */
static void check_all_came(struct destination *d)
{
	const struct entries *x = d->entries;
	uint64_t missing = 0;

	for (size_t k = 0; k < x->n_tops; k++)
		missing += !x->tops[k].came;
	if (missing <= role_never_offered(d->role))
		return;
	for (size_t k = 0; k < x->n_tops; k++) {
		const char *name = x->tops[k].name;

		if (!x->tops[k].came)
			role_fail(d->role, 0, COPY_FAILED, name,
				  "%swas not offered, and no reason was given",
				  *name ? "" : "a source that stands for its contents ");
	}
}

/*
 * A symbolic link that is named is followed by its source, and directories need -r: others would
 * lead what a later copy writes to places of the other side's choice.
 */
static int check_kind(struct destination *d, const struct copy_entry *e, struct err *why)
{
	if (!is_named(d))
		return 0;
	if (e->kind == COPY_SYMLINK)
		return dest_violation(why, DEST_NO_FILE);
	if (e->kind == COPY_DIR && !d->settings->recursive)
		return dest_violation(why, "a directory, without -r");
	return 0;
}

/* An entry at the top has a name that was asked for, and may get another one here. */
static int check_top(struct destination *d, struct copy_entry *e, struct err *why)
{
	struct entries *x = d->entries;

	if (!take_top_name(d, e->name))
		return dest_violation(why, "a file that was not asked for");
	if (x->n_top++ && (d->root.name || d->root.is_entry || d->root.device >= 0) &&
	    !(e->kind == COPY_DIR && !*e->name))
		return dest_violation(why, "more than one file for one name");
	if (d->root.name)
		e->name = d->root.name;
	return check_kind(d, e, why);
}

static int take_named(struct destination *d, struct copy_entry *e, uint32_t cost_bytes,
		      struct err *why)
{
	struct level *l;
	int err;

	if (e->id != d->entries->last_id + 1)
		return dest_violation(why, "entries out of order");
	d->entries->last_id = e->id;
	err = d->entries->n == 1 ? check_top(d, e, why) : 0;
	if (err)
		return err;
	err = top(d, &l);
	if (err) {
		dest_failed(d, e->id, l->node, e->name, "open its directory", err);
		if (e->kind == COPY_DIR)
			return enter_nothing(d, l, e, cost_bytes, LEVEL_LOST);
		return end_early(d, l, e, COPY_LOST, why);
	}
	if (e->kind == COPY_DIR)
		return take_dir(d, l, e, cost_bytes, why);
	if (l->kind != LEVEL_THERE)
		return below_nothing(d, l, e, why);
	if (e->kind == COPY_FILE)
		return existing_offer(d, l, e, cost_bytes, why);
	return take_link(d, l, e, cost_bytes, why);
}

static int take_end(struct destination *d, struct err *why)
{
	if (d->entries->n != 1)
		return dest_violation(why, "the end of all within a directory");
	check_all_came(d);
	d->entries->ended = true;
	commit_entered_all(d->commit);
	atomic_store(&d->all_offered, true);
	if (d->commit && !items_awaited(&d->items))
		commit_hurry(d->commit);
	return 0;
}

static int take_entry(struct destination *d, struct copy_entry *e, uint32_t cost_bytes,
		      struct err *why)
{
	if (d->entries->ended)
		return dest_violation(why, "more after the end of all");
	switch (e->kind) {
	case COPY_DIR:
	case COPY_FILE:
	case COPY_SYMLINK:
	case COPY_LINK:
		return take_named(d, e, cost_bytes, why);
	case COPY_LEAVE:
		return take_leave(d, why);
	case COPY_OWNER:
		return d->owners ? meta_owners_add(d->owners, e) : 0;
	case COPY_END:
		return take_end(d, why);
	}
	return dest_violation(why, "an entry of an unknown kind");
}

static int list_tops(struct destination *d)
{
	const struct copy_job *job = d->job;
	struct entries *x = d->entries;

	x->tops = calloc(job->n_sources + 1, sizeof(*x->tops));
	if (!x->tops)
		return -ENOMEM;
	x->n_tops = d->settings->list ? 0 : job->n_sources;
	for (size_t k = 0; k < x->n_tops; k++)
		x->tops[k].name = walk_top_name(job->sources[k]);
	return 0;
}

/* The first entry decides what the name of the destination means. */
static int begin(struct destination *d, const struct copy_entry *e)
{
	struct level root = { .kind = LEVEL_THERE, .fd = -1 };
	int err = begin_root(d, e);

	if (!err)
		err = list_tops(d);
	if (!err && d->settings->list) {
		d->entries->visits = visits_new();
		err = d->entries->visits ? 0 : -ENOMEM;
	}
	if (err)
		return err;
	root.fresh = d->root.fresh;
	root.node = d->dirs ? dirs_root(d->dirs) : NULL;
	if (d->root.missing)
		root.kind = d->settings->verify ? LEVEL_ABSENT : LEVEL_WOULD;
	if (root.kind == LEVEL_ABSENT)
		dest_differs(d, 0, NULL, NULL, "does not exist");
	return push(d, &root);
}

int entries_offer(struct destination *d, const uint8_t *body, size_t length, struct err *why)
{
	struct copy_cursor *c = &d->entries->cursor;
	struct copy_entry e;
	bool more = true;
	int err = 0;

	dest_busy(d);
	copy_report_offer(d->job->report, body, length);
	c->in = dec_begin(body, length);
	while (!err && !dest_stopped(d)) {
		const uint8_t *at = c->in.at;

		if (copy_decode_entry(c, &e, &more) != WIRE_OK)
			err = dest_violation(why, wire_fault_text(WIRE_BAD_BODY));
		if (err || !more)
			break;
		if (!d->entries->n && e.kind != COPY_OWNER)
			err = begin(d, &e);
		if (!err && !dest_stopped(d))
			err = take_entry(d, &e, (uint32_t)(c->in.at - at), why);
	}
	answers_flush_wants(d);
	dest_idle(d);
	return err;
}
