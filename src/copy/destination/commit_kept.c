/*
 * Files of an interrupted session that is continued: -R. The thread of the entries claims those
 * whose source is the same; the others are removed at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/destination/commit_state.h"
#include "copy/destination/stale.h"
#include "xdd/net/digest.h"
#include "xdd/sys/clock.h"

#define BUCKETS 1024
#define MAX_FILES 65536 /* of a journal */
#define NUMBERS_OF_RUN (1ull << 40)
#define MAX_RANGES_OF_FILE 16384 /* more are sent again */

struct kept_file {
	struct kept_file *next_path, *next_number;
	uint64_t number;
	uint64_t size_bytes;
	int64_t mtime_ns;
	uint64_t version;
	uint64_t inode;
	struct extents durable;
	char path[];
};

struct commit_kept {
	size_t n;			      /* not claimed yet */
	uint64_t last_number;		      /* the greatest one that was seen */
	struct kept_file *by_path[BUCKETS];   /* not claimed yet */
	struct kept_file *by_number[BUCKETS]; /* all */
};

/* ---- the table ---- */

static struct kept_file **path_bucket(struct commit_kept *k, const char *path)
{
	return &k->by_path[digest_short(path, strlen(path)) % BUCKETS];
}

static struct kept_file *find_number(struct commit_kept *k, uint64_t number)
{
	struct kept_file *f = k->by_number[number % BUCKETS];

	while (f && f->number != number)
		f = f->next_number;
	return f;
}

static struct kept_file *find_path(struct commit_kept *k, const char *path)
{
	struct kept_file *f = *path_bucket(k, path);

	while (f && strcmp(f->path, path) != 0)
		f = f->next_path;
	return f;
}

static void take_path(struct commit_kept *k, struct kept_file *f)
{
	struct kept_file **at = path_bucket(k, f->path);

	while (*at != f)
		at = &(*at)->next_path;
	*at = f->next_path;
	k->n--;
}

static void free_file(struct kept_file *f)
{
	extents_clear(&f->durable);
	free(f);
}

static void forget(struct commit_kept *k, struct kept_file *f)
{
	struct kept_file **at = &k->by_number[f->number % BUCKETS];

	take_path(k, f);
	while (*at != f)
		at = &(*at)->next_number;
	*at = f->next_number;
	free_file(f);
}

static int add_file(struct commit_kept *k, const struct journal_record *r)
{
	struct kept_file *f, **bucket;

	if (k->n >= MAX_FILES || find_number(k, r->number) || find_path(k, r->path))
		return -EBADMSG;
	f = calloc(1, sizeof(*f) + strlen(r->path) + 1);
	if (!f)
		return -ENOMEM;
	f->number = r->number;
	f->size_bytes = r->size_bytes;
	f->mtime_ns = r->mtime_ns;
	f->version = r->version;
	f->inode = r->inode;
	extents_init(&f->durable, MAX_RANGES_OF_FILE);
	strcpy(f->path, r->path);
	bucket = path_bucket(k, f->path);
	f->next_path = *bucket;
	*bucket = f;
	bucket = &k->by_number[f->number % BUCKETS];
	f->next_number = *bucket;
	*bucket = f;
	k->n++;
	return 0;
}

static int add_ranges(struct commit_kept *k, const struct journal_record *r)
{
	struct kept_file *f = find_number(k, r->number);

	if (!f)
		return -EBADMSG;
	for (size_t i = 0; i < r->n_ranges; i++) {
		struct extent e = journal_range(r, i);
		int err;

		if (e.end > f->size_bytes)
			return -EBADMSG;
		err = extents_add(&f->durable, e.begin, e.end);
		if (err && err != -ENOSPC)
			return err;
	}
	return 0;
}

static int add_record(struct commit_kept *k, const struct journal_record *r)
{
	struct kept_file *f;

	if (r->number > k->last_number)
		k->last_number = r->number;
	switch (r->type) {
	case JOURNAL_FILE:
		return add_file(k, r);
	case JOURNAL_RANGES:
		return add_ranges(k, r);
	case JOURNAL_GONE:
		f = find_number(k, r->number);
		if (f)
			forget(k, f);
		return 0;
	default:
		return 0;
	}
}

/* ---- adoption ---- */

/*
 * Read the records of the journal up to the first damaged one. Records after it are cut off,
 * because others will be appended. Returns 0 or -errno.
 */
static int read_kept(struct commit_kept *k, struct journal_file *j, bool *renamed)
{
	struct journal_record rec;
	struct journal_reader r;
	uint64_t end = 0;
	int err = journal_read(&r, j->fd);

	if (err)
		return err;
	do {
		end = r.end;
		err = journal_read_next(&r, &rec);
		if (err == 1 && rec.type == JOURNAL_ROOT)
			*renamed = rec.renamed;
		if (err == 1)
			err = add_record(k, &rec) ?: 1;
	} while (err == 1);
	journal_read_end(&r);
	if (err && err != -EBADMSG)
		return err;
	if (ftruncate(j->fd, (off_t)end))
		return -errno;
	j->size = end;
	return 0;
}

static bool is_kept(void *arg, uint64_t number)
{
	struct commit_kept *k = arg;

	if (number > k->last_number)
		k->last_number = number;
	return find_number(k, number);
}

/*
 * This run begins above the numbers of all earlier runs, even where the journal has lost the
 * records that named them: a run that creates less than one file per ns stays below the time.
 */
static void begin_numbers(struct commit *c, const struct commit_kept *k)
{
	struct journal_record none = { .type = JOURNAL_GONE };

	c->kept_numbers = clock_wall_ns();
	/* The clock was set back, or the numbers are not from a clock. */
	if (c->kept_numbers <= k->last_number)
		c->kept_numbers = k->last_number + NUMBERS_OF_RUN;
	none.number = c->kept_numbers;
	atomic_store(&c->numbers, c->kept_numbers);
	commit_record(c, &none);
	commit_flush_journal(c);
}

int commit_adopt(struct commit *c, struct journal_file *j, const struct journal_record *head)
{
	struct commit_kept *k = calloc(1, sizeof(*k));
	bool renamed = false;
	int err;

	if (!k)
		return -ENOMEM;
	c->kept = k;
	err = read_kept(k, j, &renamed);
	/* Numbers near the end are not from this program; the next ones must not meet others. */
	if (!err && k->last_number > UINT64_MAX / 2)
		err = -EBADMSG;
	if (err) {
		commit_kept_free(c, false);
		return err;
	}
	stale_sweep(c, j->fd, head->session, is_kept, k);
	c->session = head->session;
	c->journal = *j;
	c->journal_tried = true;
	c->renamed_root = renamed;
	begin_numbers(c, k);
	return 0;
}

bool commit_is_kept(const struct commit *c, uint64_t number)
{
	return c->kept && find_number(c->kept, number);
}

/* ---- claims ---- */

/* One that is longer than its source has bytes that nothing would cut off again. */
static bool is_same_file(const struct kept_file *k, const struct stat *st)
{
	const struct extents *x = &k->durable;
	const uint64_t size = (uint64_t)st->st_size;

	return S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_ino == k->inode &&
	       size <= k->size_bytes && (!x->n || size >= x->items[x->n - 1].end);
}

/*
 * Open the file that the journal means, and no other; it may have the permissions of the source
 * already, without the right to write. Returns a descriptor or -errno.
 */
static int open_kept(int dir_fd, const char *name, const struct kept_file *k)
{
	int path_fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd;
	char self[64];
	struct stat st;

	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, &st) || !is_same_file(k, &st)) {
		close(path_fd);
		return -ESTALE;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = chmod(self, 0600) ? -1 : open(self, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(path_fd);
	return fd;
}

/* Open it for `f`, or remove it. Returns 1 or 0. */
static int claim(struct commit *c, struct commit_file *f, const struct kept_file *k, bool wanted)
{
	const struct journal_record gone = { .type = JOURNAL_GONE, .number = k->number };
	char name[COPY_TEMPORARY_SIZE];
	int dir_fd = dirs_fd(c->dirs, f->dir), fd = -ESTALE, fs;

	if (dir_fd < 0)
		return 0;
	journal_temporary_name(c->session, k->number, name);
	fs = commit_place(c, f->dir, dir_fd, true);
	if (wanted && fs >= 0)
		fd = open_kept(dir_fd, name, k);
	if (fd < 0) {
		unlinkat(dir_fd, name, 0);
		commit_record(c, &gone);
	}
	dirs_done(c->dirs, f->dir);
	if (fd < 0)
		return 0;
	f->fd = fd;
	f->number = k->number;
	f->fs = (uint32_t)fs;
	f->losses = atomic_load(&c->fs[fs].losses);
	f->kept = true;
	return 1;
}

int commit_resume(struct commit *c, struct commit_file *f, struct extents *durable)
{
	char path[JOURNAL_MAX_PATH_BYTES];
	struct kept_file *k;
	int ret, err = 0;

	if (!c->kept || !c->kept->n)
		return 0;
	if (!dirs_whole_path(c->dirs, f->dir, f->entry->name, path, sizeof(path)))
		return 0;
	k = find_path(c->kept, path);
	if (!k)
		return 0;
	take_path(c->kept, k);
	ret = claim(c, f, k,
		    k->size_bytes == f->entry->size_bytes && k->mtime_ns == f->entry->mtime_ns &&
			    k->version == f->entry->version);
	if (ret)
		err = extents_copy(durable, &k->durable);
	if (ret && !err)
		err = commit_track(c, f, true);
	extents_clear(&k->durable);
	if (err)
		commit_drop(c, f, false);
	return err ? err : ret;
}

/* ---- the end ---- */

static void remove_file(struct commit *c, const struct kept_file *k)
{
	char dir[JOURNAL_MAX_PATH_BYTES], name[COPY_TEMPORARY_SIZE];
	struct dir_node *node;
	char *slash;
	int fd;

	strcpy(dir, k->path);
	slash = strrchr(dir, '/');
	*(slash ? slash : dir) = '\0';
	if (commit_enter_path(c, dir, &node))
		return;
	journal_temporary_name(c->session, k->number, name);
	fd = dirs_fd(c->dirs, node);
	if (fd >= 0) {
		commit_unlink_quietly(fd, name);
		dirs_done(c->dirs, node);
	}
	dirs_release(c->dirs, node);
}

void commit_kept_free(struct commit *c, bool remove)
{
	struct commit_kept *k = c->kept;

	if (!k)
		return;
	for (size_t i = 0; i < BUCKETS && remove; i++) {
		for (struct kept_file *f = k->by_path[i]; f; f = f->next_path)
			remove_file(c, f);
	}
	for (size_t i = 0; i < BUCKETS; i++) {
		struct kept_file *f;

		while ((f = k->by_number[i])) {
			k->by_number[i] = f->next_number;
			free_file(f);
		}
	}
	free(k);
	c->kept = NULL;
}
