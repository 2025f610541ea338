/*
 * Files that dead sessions have left in a tree: journals in its root, and temporary files in
 * the directories that these name. Called when a copy begins.
 *
 * A power failure may take the end of a journal, or all of it, and leave temporary files in
 * directories that it does not name any more. So the copy looks at each directory that it enters,
 * too, and the journals stay until it has entered the last one.
 *
 * A session is dead if the lock on its journal is free, and, where locks may not reach other hosts,
 * it was silent for long. What may be alive is left alone. An interrupted copy that can be resumed
 * is kept for another one of the same sources, and for a while.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "copy/destination/commit_state.h"
#include "copy/destination/stale.h"
#include "xdd/base/memory.h"

#define MAX_JOURNALS 256	  /* that are looked at when a copy begins */
#define KEPT_SECONDS (14 * 86400) /* a resumable copy of other sources */

/* ---- names in a directory ---- */

typedef bool each_name(void *arg, int dir_fd, const char *name);

/* Call `fn` for the names of this program, until it returns false. Returns 0 or -errno. */
static int for_names(int dir_fd, each_name *fn, void *arg)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int err;

	if (!d) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	errno = 0;
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, COPY_TEMPORARY_PREFIX, strlen(COPY_TEMPORARY_PREFIX)) == 0 &&
		    !fn(arg, dir_fd, e->d_name))
			break;
		errno = 0;
	}
	err = e ? 0 : -errno;
	closedir(d);
	return err;
}

/* ---- temporary files of one session ---- */

struct sweep {
	uint64_t session;
	stale_keep *keep;
	void *arg;
};

static bool sweep_name(void *arg, int dir_fd, const char *name)
{
	const struct sweep *s = arg;
	uint64_t session, number;

	if (journal_parse_name(name, &session, &number) != JOURNAL_TEMPORARY ||
	    session != s->session || (s->keep && s->keep(s->arg, number)))
		return true;
	commit_unlink_quietly(dir_fd, name);
	return true;
}

int commit_enter_path(struct commit *c, const char *path, struct dir_node **node)
{
	struct dir_node *at = dirs_root(c->dirs), *next;
	char name[NAME_MAX + 1];
	int err = 0;

	dirs_hold(c->dirs, at);
	while (*path && !err) {
		size_t n = strcspn(path, "/");

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		err = dirs_enter(c->dirs, at, name, &next);
		dirs_release(c->dirs, at);
		at = err ? NULL : next;
		path += n + (path[n] == '/');
	}
	*node = at;
	return err;
}

/* Sweep a directory of a journal, if it is still there. */
static void sweep_dir(struct commit *c, const char *path, struct sweep *s)
{
	struct dir_node *node;
	int fd;

	if (commit_enter_path(c, path, &node))
		return;
	fd = dirs_fd(c->dirs, node);
	if (fd >= 0) {
		for_names(fd, sweep_name, s);
		dirs_done(c->dirs, node);
	}
	dirs_release(c->dirs, node);
}

void stale_sweep(struct commit *c, int journal_fd, uint64_t session, stale_keep *keep, void *arg)
{
	struct sweep s = { session, keep, arg };
	struct journal_record rec;
	struct journal_reader r;

	sweep_dir(c, "", &s);
	if (journal_read(&r, journal_fd))
		return;
	while (journal_read_next(&r, &rec) == 1) {
		if (rec.type == JOURNAL_DIR && *rec.path)
			sweep_dir(c, rec.path, &s);
	}
	journal_read_end(&r);
}

/* ---- journals ---- */

/* Names of journals in the root. `clean`: what died before it was one is removed meanwhile. */
struct journals {
	bool clean;
	size_t n;
	char names[MAX_JOURNALS][COPY_TEMPORARY_SIZE];
};

/* Remove the start of a journal, by its temporary name, of a session that has died. */
static void remove_start(int root_fd, const char *name)
{
	struct journal_file j;

	if (journal_open_dead(&j, root_fd, name))
		return;
	commit_unlink_quietly(root_fd, name);
	journal_close(&j);
}

static bool note_journal(void *arg, int dir_fd, const char *name)
{
	struct journals *all = arg;
	uint64_t session, number;

	switch (journal_parse_name(name, &session, &number)) {
	case JOURNAL_JOURNAL:
		snprintf(all->names[all->n++], COPY_TEMPORARY_SIZE, "%s", name);
		break;
	case JOURNAL_TEMPORARY:
		if (number == JOURNAL_START_NUMBER && all->clean)
			remove_start(dir_fd, name);
		break;
	case JOURNAL_NO_NAME:
		break;
	}
	return all->n < MAX_JOURNALS;
}

/*
 * The head, and how the root was understood. Returns 0; -EBADMSG: it is damaged; -EPROTONOSUPPORT:
 * it is of a later version; or another -errno.
 */
static int read_head(int fd, struct journal_record *head, bool *renamed)
{
	struct journal_record rec;
	struct journal_reader r;
	int got = journal_read(&r, fd);

	*renamed = false;
	if (got)
		return got;
	got = journal_read_next(&r, &rec);
	if (got == 1)
		*head = rec;
	while (got == 1 && journal_read_next(&r, &rec) == 1 && rec.type == JOURNAL_ROOT)
		*renamed = rec.renamed;
	journal_read_end(&r);
	return got == 1 ? 0 : got ? got : -EBADMSG;
}

static bool is_worth_keeping(const struct commit *c, const struct journal_file *j,
			     const struct journal_record *head)
{
	return head->resumable && head->tree_id != c->tree_id &&
	       time(NULL) - j->used.tv_sec < KEPT_SECONDS;
}

/* Journals of later versions, which are kept. */
struct later {
	size_t n;
	char name[COPY_TEMPORARY_SIZE]; /* of the first one */
};

/* Its files are looked for in the directories that the copy enters. The journal stays locked. */
static void note_dead(struct commit *c, struct journal_file *j, uint64_t session)
{
	struct commit_dead *dead = array_room(c->dead, c->n_dead, sizeof(*dead));

	if (!dead) {
		journal_leave(j); /* the next copy does it */
		return;
	}
	c->dead = dead;
	dead[c->n_dead++] = (struct commit_dead){ .session = session, .journal = *j };
}

/*
 * Remove what a dead session has left, unless it is another copy that can be resumed. A journal
 * whose session may be alive, or of another user, or that cannot be read now, is left alone.
 */
static void sweep_journal(struct commit *c, int root_fd, const char *name, struct later *later)
{
	struct journal_record head;
	struct journal_file j;
	uint64_t session, number;
	bool renamed, wanted;
	int err;

	if (journal_open_dead(&j, root_fd, name))
		return;
	journal_parse_name(name, &session, &number);
	err = read_head(j.fd, &head, &renamed);
	if (err == -EPROTONOSUPPORT && !later->n++)
		snprintf(later->name, sizeof(later->name), "%s", name);
	wanted = err ? err != -EBADMSG : head.session == session && is_worth_keeping(c, &j, &head);
	if (wanted) {
		journal_leave(&j);
		return;
	}
	stale_sweep(c, j.fd, session, NULL, NULL);
	note_dead(c, &j, session);
}

/* A dead session that can be continued. */
struct candidate {
	struct journal_file j;
	struct journal_record head;
};

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* Keep the journal in `*best` if it is of this copy, and the latest one. */
static void consider(const struct commit *c, int root_fd, const char *name, struct candidate *best)
{
	struct candidate now;
	uint64_t session, number;
	bool renamed;

	if (journal_open_dead(&now.j, root_fd, name))
		return;
	journal_parse_name(name, &session, &number);
	if (read_head(now.j.fd, &now.head, &renamed) || !now.head.resumable ||
	    now.head.tree_id != c->tree_id || now.head.session != session ||
	    (best->j.fd >= 0 && is_later(&best->j.used, &now.j.used))) {
		journal_leave(&now.j);
		return;
	}
	journal_leave(&best->j);
	*best = now;
}

/*
 * Continue the latest session of this copy, if there is one. Returns 0 or -errno; a damaged journal
 * is a warning.
 */
static int adopt(struct commit *c, int root_fd, const struct journals *all, char *why, size_t size)
{
	struct candidate best = { .j = { .fd = -1 } };
	int err;

	for (size_t i = 0; i < all->n; i++)
		consider(c, root_fd, all->names[i], &best);
	if (best.j.fd < 0)
		return 0;
	err = commit_adopt(c, &best.j, &best.head);
	if (!err)
		return 0;
	journal_leave(&best.j);
	if (err != -EBADMSG)
		return err;
	snprintf(why, size, "cannot continue an interrupted copy: its journal is damaged");
	return 0;
}

/* Adds to what `why` says already. */
static void warn_later(const struct later *later, char *why, size_t size)
{
	const size_t n = strlen(why);
	char more[48] = "";

	if (later->n > 1)
		snprintf(more, sizeof(more), " and %zu more", later->n - 1);
	if (later->n)
		snprintf(why + n, size - n,
			 "%s%s%s: written by a later version of xdd, so temporary files of that "
			 "copy stay; remove them with that version",
			 n ? "; " : "", later->name, more);
}

int commit_sweep(struct commit *c, char *why, size_t size)
{
	struct later later = { .n = 0 };
	struct dir_node *root = dirs_root(c->dirs);
	struct journals *all = calloc(1, sizeof(*all));
	int fd, err;

	if (!all)
		return -ENOMEM;
	all->clean = true;
	fd = dirs_fd(c->dirs, root);
	err = fd < 0 ? fd : for_names(fd, note_journal, all);
	if (!err && c->resume)
		err = adopt(c, fd, all, why, size);
	/* The lock on the one that is continued is held: it counts as alive. */
	for (size_t i = 0; i < all->n && !err; i++)
		sweep_journal(c, fd, all->names[i], &later);
	if (!err)
		warn_later(&later, why, size);
	if (fd >= 0)
		dirs_done(c->dirs, root);
	free(all);
	return err;
}

/* ---- directories that the copy enters ---- */

static bool is_left(const struct commit *c, uint64_t session, uint64_t number)
{
	for (size_t i = 0; i < c->n_dead; i++) {
		if (c->dead[i].session == session)
			return true;
	}
	return session == c->session && number <= c->kept_numbers && !commit_is_kept(c, number);
}

static bool look_at_name(void *arg, int dir_fd, const char *name)
{
	struct commit *c = arg;
	uint64_t session, number;

	if (journal_parse_name(name, &session, &number) == JOURNAL_TEMPORARY &&
	    is_left(c, session, number))
		commit_unlink_quietly(dir_fd, name);
	return true;
}

void commit_look(struct commit *c, struct dir_node *dir)
{
	int fd;

	if (!c || (!c->n_dead && !c->kept))
		return;
	fd = dirs_fd(c->dirs, dir);
	if (fd < 0)
		return; /* then nothing can be copied into it either */
	for_names(fd, look_at_name, c);
	dirs_done(c->dirs, dir);
}

void commit_entered_all(struct commit *c)
{
	char name[COPY_TEMPORARY_SIZE];
	struct dir_node *root;
	int fd;

	if (!c || !c->n_dead)
		return;
	root = dirs_root(c->dirs);
	fd = dirs_fd(c->dirs, root);
	for (size_t i = 0; i < c->n_dead && fd >= 0; i++) {
		journal_name(c->dead[i].session, name);
		unlinkat(fd, name, 0);
	}
	if (fd >= 0)
		dirs_done(c->dirs, root);
	stale_leave(c);
}

void stale_leave(struct commit *c)
{
	for (size_t i = 0; i < c->n_dead; i++)
		journal_leave(&c->dead[i].journal);
	free(c->dead);
	c->dead = NULL;
	c->n_dead = 0;
}

/* ---- before a copy begins ---- */

bool commit_root_was_renamed(int root_fd, uint64_t tree_id)
{
	struct journals *all = calloc(1, sizeof(*all));
	struct journal_record head;
	bool found = false, renamed;
	struct journal_file j;

	if (all && for_names(root_fd, note_journal, all))
		all->n = 0;
	for (size_t i = 0; all && i < all->n && !found; i++) {
		if (journal_open_dead(&j, root_fd, all->names[i]))
			continue;
		found = !read_head(j.fd, &head, &renamed) && head.tree_id == tree_id && renamed;
		journal_leave(&j);
	}
	free(all);
	return found;
}
