/*
 * The durable ranges of files that are not complete, in the journal, for -R.
 *
 * Data threads report what they have written. Each second the commit thread takes the ranges that
 * are new, flushes the file, and appends the ranges to the journal, in this order: a record never
 * says more than what is durable. After a flush that failed nothing more of the file is recorded,
 * and the file fails when it is complete: the kernel reports a lost page only once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/destination/commit_state.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"

#define RECORD_NS NS_PER_SEC

/* ---- files that are tracked ---- */

int commit_track(struct commit *c, struct commit_file *f, bool listed)
{
	struct commit_progress *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->file = f;
	p->listed = listed;
	pthread_mutex_lock(&c->progress_lock);
	/* Two threads may come with the first ranges of a file. */
	if (f->progress) {
		pthread_mutex_unlock(&c->progress_lock);
		free(p);
		return 0;
	}
	p->next = c->progress;
	p->at = &c->progress;
	if (p->next)
		p->next->at = &p->next;
	c->progress = p;
	f->progress = p;
	atomic_fetch_add(&c->n_progress, 1);
	pthread_mutex_unlock(&c->progress_lock);

	pthread_mutex_lock(&c->lock);
	if (c->asleep)
		pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

int commit_wrote(struct commit *c, struct commit_file *f, uint64_t begin, uint64_t end)
{
	bool tracked;
	int err = 0;

	if (!c->resume || !f->number)
		return 0;
	pthread_mutex_lock(&c->progress_lock);
	tracked = f->progress;
	if (tracked)
		err = extents_add(&f->progress->fresh, begin, end);
	pthread_mutex_unlock(&c->progress_lock);
	if (tracked)
		return err;
	err = commit_track(c, f, false);
	return err ? err : commit_wrote(c, f, begin, end);
}

/* ---- records ---- */

static int list_file(struct commit *c, const struct commit_file *f)
{
	char path[JOURNAL_MAX_PATH_BYTES];
	struct journal_record r = { .type = JOURNAL_FILE,
				    .path = path,
				    .number = f->number,
				    .size_bytes = f->entry->size_bytes,
				    .mtime_ns = f->entry->mtime_ns,
				    .version = f->entry->version };
	struct stat st;

	if (fstat(f->fd, &st))
		return -errno;
	r.inode = st.st_ino;
	if (!dirs_whole_path(c->dirs, f->dir, f->entry->name, path, sizeof(path)))
		return -ENAMETOOLONG;
	return commit_record(c, &r);
}

static int list_ranges(struct commit *c, const struct commit_file *f, const struct extents *x)
{
	int err = 0;

	for (size_t i = 0; i < x->n && !err; i += JOURNAL_MAX_RANGES) {
		size_t rest = x->n - i;
		const struct journal_record r = {
			.type = JOURNAL_RANGES,
			.number = f->number,
			.ranges = x->items + i,
			.n_ranges = rest < JOURNAL_MAX_RANGES ? rest : JOURNAL_MAX_RANGES,
		};

		err = commit_record(c, &r);
	}
	return err;
}

/*
 * Flush the file and record the ranges. `*listed` becomes true. Returns -errno of the flush; where
 * the journal cannot be written, more is sent again, and the file is none the worse for it.
 */
static int record(struct commit *c, const struct commit_file *f, const struct extents *x,
		  bool *listed)
{
	if (c->fs[f->fs].flush != COMMIT_FLUSH_NONE && fdatasync(f->fd))
		return -errno;
	if (!*listed && list_file(c, f))
		return 0;
	*listed = true;
	list_ranges(c, f, x);
	return 0;
}

/* The next file with ranges that are not recorded, and these; it is marked. NULL: there is none. */
static struct commit_progress *take_fresh(struct commit *c, struct extents *x, bool *listed)
{
	struct commit_progress *p;

	pthread_mutex_lock(&c->progress_lock);
	for (p = c->progress; p && (p->round == c->record_round || !p->fresh.n || p->err);)
		p = p->next;
	if (p) {
		p->round = c->record_round;
		p->flushing = true;
		*x = p->fresh;
		*listed = p->listed;
		p->fresh = (struct extents){ .n = 0 };
	}
	pthread_mutex_unlock(&c->progress_lock);
	return p;
}

static void give_back(struct commit *c, struct commit_progress *p, bool listed, int err)
{
	pthread_mutex_lock(&c->progress_lock);
	p->flushing = false;
	p->listed = listed;
	if (err)
		p->err = err;
	pthread_cond_broadcast(&c->flushed);
	pthread_mutex_unlock(&c->progress_lock);
}

static void record_all(struct commit *c)
{
	struct commit_progress *p;
	bool any = false, listed;
	struct extents x;

	c->record_round++;
	while ((p = take_fresh(c, &x, &listed))) {
		int err = record(c, p->file, &x, &listed);

		give_back(c, p, listed, err);
		extents_clear(&x);
		any = true;
	}
	if (any) {
		commit_flush_journal(c);
		hold(HOLD_RANGE_DURABLE);
	}
}

/* ---- ends ---- */

int commit_untrack(struct commit *c, struct commit_file *f, bool keep)
{
	struct commit_progress *p = f->progress;
	int err;

	if (!p)
		return 0;
	pthread_mutex_lock(&c->progress_lock);
	while (p->flushing)
		pthread_cond_wait(&c->flushed, &c->progress_lock);
	*p->at = p->next;
	if (p->next)
		p->next->at = p->at;
	atomic_fetch_sub(&c->n_progress, 1);
	pthread_mutex_unlock(&c->progress_lock);

	err = p->err;
	if (keep && !err && p->fresh.n)
		err = record(c, f, &p->fresh, &p->listed);
	f->kept = p->listed;
	f->progress = NULL;
	extents_clear(&p->fresh);
	free(p);
	return err;
}

void commit_gone(struct commit *c, struct commit_file *f)
{
	const struct journal_record gone = { .type = JOURNAL_GONE, .number = f->number };

	if (f->kept)
		commit_record(c, &gone);
	f->kept = false;
}

int commit_proven(struct commit *c, struct commit_file *f, const struct extents *proven)
{
	const struct journal_record gone = { .type = JOURNAL_GONE, .number = f->number };
	int err = commit_record(c, &gone);

	if (!err)
		err = list_file(c, f);
	if (!err)
		err = list_ranges(c, f, proven);
	return err;
}

/* ---- the commit thread ---- */

void commit_tick(struct commit *c)
{
	const uint64_t now_ns = clock_kernel_ns();

	if (atomic_load(&c->n_progress) && now_ns - c->recorded_ns >= RECORD_NS) {
		record_all(c);
		c->recorded_ns = clock_kernel_ns();
	}
	if (now_ns - c->touched_ns >= JOURNAL_TOUCH_NS) {
		c->touched_ns = now_ns;
		pthread_mutex_lock(&c->journal_lock);
		journal_touch(&c->journal);
		pthread_mutex_unlock(&c->journal_lock);
	}
}

uint64_t commit_sleep_ns(const struct commit *c)
{
	const uint64_t now_ns = clock_kernel_ns(), due_ns = c->recorded_ns + RECORD_NS;

	if (!atomic_load(&c->n_progress))
		return JOURNAL_TOUCH_NS;
	return due_ns > now_ns ? due_ns - now_ns : 0;
}
