/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source of a copy: set-up, threads and the end. Called by attempt.c and server.c.
 */
#include "copy/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy/destination/commit.h"
#include "xdd/base/codec.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

#define BUF_ALIGN_BYTES (64u << 10)

/* ---- counts ---- */

static void add_thread(struct copy_counts *c, const struct data_counts *d)
{
	c->done_files += atomic_load(&d->files);
	c->done_bytes += atomic_load(&d->bytes);
	c->moved_bytes += atomic_load(&d->moved_bytes);
	c->storage_ns += atomic_load(&d->storage_ns);
	c->network_ns += atomic_load(&d->network_ns);
	c->waiting_ns += atomic_load(&d->waiting_ns);
	c->checking_ns += atomic_load(&d->checking_ns);
}

static void source_counts(void *arg, struct copy_counts *c)
{
	struct source *s = arg;

	pthread_mutex_lock(&s->lock);
	c->walk_done = s->walk_over;
	pthread_mutex_unlock(&s->lock);
	c->offered_files = atomic_load(&s->offered_files);
	c->offered_bytes = atomic_load(&s->offered_bytes);
	c->offered_dirs = atomic_load(&s->offered_dirs);
	c->offered_links = atomic_load(&s->offered_links);
	for (unsigned i = 0; i < s->n_data; i++)
		add_thread(c, &s->data[i].counts);
	c->cpu_ns = atomic_load(&s->cpu.cpu_ns);
	c->cpu_wait_ns = atomic_load(&s->cpu.wait_ns);
}

static bool all_answered(void *arg)
{
	struct source *s = arg;
	bool all;

	pthread_mutex_lock(&s->lock);
	/* The thread that has sent the last answer may still be busy. */
	all = s->books.n == 0 && !s->queue;
	pthread_mutex_unlock(&s->lock);
	return all;
}

/* ---- set-up ---- */

/* No more work is taken, and nothing is offered. Any thread, without the lock. */
static void source_close(struct source *s)
{
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->closing, true);
	pthread_cond_broadcast(&s->changed);
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
}

static void on_stop(void *source)
{
	source_close(source);
}

static int new_data_threads(struct source *s)
{
	size_t room = s->settings->block_bytes + READ_SPARE_BYTES;

	if (room < COPY_MAX_BUNDLE_BYTES)
		room = COPY_MAX_BUNDLE_BYTES;
	room = (room + BUF_ALIGN_BYTES - 1) / BUF_ALIGN_BYTES * BUF_ALIGN_BYTES;
	s->data = calloc(s->job->data->n, sizeof(*s->data));
	if (!s->data)
		return -ENOMEM;
	s->n_data = s->job->data->n;
	for (unsigned i = 0; i < s->n_data; i++) {
		struct data_thread *d = &s->data[i];

		d->s = s;
		d->number = i;
		d->link = s->job->data->links[i];
		d->buf = aligned_alloc(BUF_ALIGN_BYTES, room);
		if (!d->buf)
			return -ENOMEM;
	}
	return 0;
}

static const struct role_ops ops = {
	.receive = source_receive,
	.counts = source_counts,
	.all_answered = all_answered,
};

static int set_up(struct source *s, struct copy_job *job)
{
	int err;

	s->job = job;
	s->settings = job->settings;
	s->queue_end = &s->queue;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->read_lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	pthread_cond_init(&s->work, NULL);
	err = idmap_init(&s->books);
	if (!err)
		err = role_open(&s->role, job, COPY_SOURCE, &ops, s);
	if (!err)
		err = stop_on_request(job->stop, on_stop, s);
	return err;
}

static void free_books(struct source *s)
{
	struct idmap_link *next;

	for (struct idmap_link *l = idmap_next(&s->books, NULL); l; l = next) {
		next = idmap_next(&s->books, l);
		entry_free(IDMAP_STRUCT(l, struct entry));
	}
	idmap_free(&s->books);
}

void copy_source_close(struct source *s)
{
	role_close(s->role);
	/* A thread that waits in the kernel still has all of this; the process is about to end. */
	if (s->left_behind)
		return;
	work_clear(s);
	free_books(s);
	walk_close(s->walk);
	for (unsigned i = 0; i < s->n_data; i++)
		free(s->data[i].buf);
	free(s->data);
	stamps_close(s->stamps);
	pthread_cond_destroy(&s->work);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->read_lock);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- the copy ---- */

/* True once nothing is left to do: with the lock. */
static bool is_over(const struct source *s)
{
	if (atomic_load(&s->closing))
		return true;
	return s->walk_over && s->books.n == 0 && !s->queue && s->busy == 0;
}

void source_thread_ends(struct source *s)
{
	pthread_mutex_lock(&s->lock);
	s->running--;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* A thread that has not ended COPY_SIGNAL_GRACE_NS after a stop waits for a file or for a list. */
static bool wait_for_threads(struct source *s)
{
	const uint64_t until_ns = clock_kernel_ns() + COPY_SIGNAL_GRACE_NS;
	bool ended;

	pthread_mutex_lock(&s->lock);
	while (s->running &&
	       cond_wait(&s->changed, &s->lock, role_stopped(s->job) ? until_ns : UINT64_MAX) == 0)
		;
	ended = !s->running;
	pthread_mutex_unlock(&s->lock);
	return ended;
}

static void join_or_detach(pthread_t thread, bool join)
{
	if (join)
		pthread_join(thread, NULL);
	else
		pthread_detach(thread);
}

/* All threads; they are detached where some are stuck. */
static void leave_threads(struct source *s, bool join)
{
	if (s->has_walker)
		join_or_detach(s->walker, join);
	for (unsigned i = 0; i < s->n_data; i++)
		if (s->data[i].started)
			join_or_detach(s->data[i].thread, join);
}

static int start_data(struct source *s)
{
	int err = 0;

	for (unsigned i = 0; i < s->n_data && !err; i++) {
		pthread_mutex_lock(&s->lock);
		s->running++;
		pthread_mutex_unlock(&s->lock);
		err = thread_start(&s->data[i].thread, data_thread, &s->data[i]);
		s->data[i].started = !err;
		if (err)
			source_thread_ends(s);
	}
	return err;
}

static int start_walk(struct source *s)
{
	int err;

	pthread_mutex_lock(&s->lock);
	s->running++;
	pthread_mutex_unlock(&s->lock);
	err = thread_start(&s->walker, offer_thread, s);
	s->has_walker = !err;
	if (err)
		source_thread_ends(s);
	return err;
}

/* False: some threads have not ended, and will find that the copy is closing. */
static bool end_threads(struct source *s)
{
	bool ended;

	source_close(s);
	ended = wait_for_threads(s);
	leave_threads(s, ended);
	return ended;
}

/* The walk and the data threads work until all is done, or the copy stops. */
static void do_work(struct source *s)
{
	int err = start_walk(s);

	if (!err)
		err = start_data(s);
	if (err)
		role_fatal(s->role, XDD_INIT_FAILED, "cannot start a thread (%s)", strerror(-err));
	pthread_mutex_lock(&s->lock);
	while (!is_over(s))
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/* The role ends before the other side can be told: for the caller. Returns the status. */
static int source_fail(struct copy_job *job, const struct err *why)
{
	job->why = *why;
	job->why_side = COPY_SOURCE;
	return why->no;
}

static int cannot_start(struct copy_job *job, int err)
{
	struct err why;

	err_set(&why, XDD_INIT_FAILED, "cannot start (%s)", strerror(-err));
	return source_fail(job, &why);
}

/* Both sides must agree about what is there now. */
static int compare_counts(struct source *s)
{
	struct copy_counts peer;
	struct copy_failure f = { .status = COPY_FAILED };

	if (!role_peer_counts(s->role, &peer) ||
	    (peer.done_files == s->done_files && peer.done_bytes == s->done_bytes))
		return XDD_OK;
	snprintf(f.text, sizeof(f.text),
		 "the two sides disagree: the destination counts %" PRIu64 " files and %" PRIu64
		 " bytes, the source %" PRIu64 " and %" PRIu64,
		 peer.done_files, peer.done_bytes, s->done_files, s->done_bytes);
	copy_report_failure(s->job->report, COPY_SOURCE, &f);
	return COPY_FAILED;
}

/* Start what needs the channel and the data connections. Returns 0 or an exit status. */
static int source_start(struct source *s)
{
	int err = new_data_threads(s);

	if (!err)
		err = stamps_open(&s->stamps, s->job, COPY_SOURCE);
	if (!err)
		err = role_start(s->role);
	return err ? cannot_start(s->job, err) : 0;
}

static void open_walk(struct source *s)
{
	const struct copy_job *job = s->job;
	char journal[COPY_TEMPORARY_SIZE];

	if (walk_open(&s->walk, s->settings, job->sources, job->n_sources, &s->no_walk))
		return;
	/* The destination decides whether it gets the name of a single source. */
	commit_journal_name(bytes_get(job->session, 8), journal);
	walk_leave_out(s->walk, job->log_dev, job->log_ino);
	walk_avoid(s->walk, journal, s->settings->into ? NULL : "");
}

int copy_source_open(struct source **out, struct copy_job *job)
{
	struct source *s = calloc(1, sizeof(*s));
	int status, err;

	if (!s)
		return cannot_start(job, -ENOMEM);
	err = set_up(s, job);
	status = err ? cannot_start(job, err) : 0;
	if (!status)
		open_walk(s);
	if (!status && err_is_set(&s->no_walk) && !job->is_server)
		status = source_fail(job, &s->no_walk);
	if (status)
		copy_source_close(s);
	else
		*out = s;
	return status;
}

int copy_source_run(struct source *s)
{
	int status = source_start(s);

	if (status)
		return status;
	if (err_is_set(&s->no_walk))
		role_fatal(s->role, s->no_walk.no, "%s", s->no_walk.text);
	else
		do_work(s);
	s->left_behind = !end_threads(s);
	if (!s->left_behind)
		stamps_write(s->stamps, s->role, AT_FDCWD, role_stopped(s->job));
	status = role_finish(s->role);
	return copy_worse_status(status, compare_counts(s));
}
