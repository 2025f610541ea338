/*
 * The restart monitor: a thread for each destination with -restart, which flushes the target and
 * then records what was written before the flush. QThreads report what they have written.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/endtoend/restart_state.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/io/engine.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

/* ---- records ---- */

static void set_time(struct restart_record *rec)
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(rec->time, sizeof(rec->time), "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &tm));
}

/*
 * Fields that follow from the others: the bytes of the durable operations, of which only the last
 * one of the copy may be short, and N of the first line.
 */
static void derive(struct restart_record *rec, uint64_t skipped_bytes, bool out_of_order)
{
	uint64_t first = out_of_order ? 0 : extents_first_missing(&rec->durable, 0);

	rec->durable_bytes = rec->durable.total * rec->req_bytes;
	if (rec->ops && extents_contains(&rec->durable, rec->ops - 1, rec->ops))
		rec->durable_bytes -= rec->ops * rec->req_bytes - rec->bytes;
	rec->offset_bytes = first < rec->ops ? first * rec->req_bytes : rec->bytes;
	rec->offset_bytes = rec->complete ? 0 : rec->offset_bytes + skipped_bytes;
}

/* Copy what was written so far. Returns 1; 0: nothing since the last time; or -ENOMEM. */
static int snapshot(struct restart *r, bool always)
{
	struct restart_record *rec = &r->record;
	int ret = 0;

	pthread_mutex_lock(&r->lock);
	if (r->dirty || always)
		ret = extents_copy(&rec->durable, &r->written);
	if (!ret && (r->dirty || always)) {
		ret = 1;
		r->dirty = false;
		rec->end_bytes = r->end_bytes;
		rec->digest = r->digest;
		derive(rec, r->skipped_bytes, r->out_of_order);
	}
	pthread_mutex_unlock(&r->lock);
	return ret;
}

/* The whole copy is durable, also the operations that there was no room for. */
static int mark_complete(struct restart *r)
{
	int err;

	pthread_mutex_lock(&r->lock);
	digest_join(&r->digest, r->forgotten);
	err = extents_add(&r->written, 0, r->record.ops);
	r->record.complete = !err;
	pthread_mutex_unlock(&r->lock);
	return err;
}

/*
 * After a failed flush the kernel forgets which pages it could not write: no later flush says so
 * again, so nothing may be recorded any more.
 */
static int flush(struct restart *r)
{
	uint64_t begin = clock_kernel_ns();
	int err = engine_flush(engine_of(r->plan), r->fd);

	pthread_mutex_lock(&r->lock);
	r->cost.flushes++;
	r->cost.flush_ns += clock_kernel_ns() - begin;
	pthread_mutex_unlock(&r->lock);
	if (!err && r->fd >= 0)
		err = restart_look_at(&r->record, r->fd, "");
	if (err) {
		r->failure = err;
		snprintf(r->why, sizeof(r->why), "-restart: cannot flush the target: %s",
			 strerror(-err));
	}
	return err;
}

static int write_record(struct restart *r)
{
	uint64_t begin = clock_kernel_ns();
	int err;

	set_time(&r->record);
	err = restart_record_write(r->path, &r->record);
	pthread_mutex_lock(&r->lock);
	r->cost.records++;
	r->cost.record_ns += clock_kernel_ns() - begin;
	/* Tried again with the next one, also if nothing is written until then. */
	r->dirty = r->dirty || err;
	pthread_mutex_unlock(&r->lock);
	if (err)
		snprintf(r->why, sizeof(r->why), "restart file %s: cannot be written (%s)", r->path,
			 strerror(-err));
	return err;
}

/* Make durable what was written so far, and record it. Returns 0 or -errno, with `r->why`. */
static int record(struct restart *r, bool always)
{
	int err = r->failure;

	if (err)
		return err;
	err = snapshot(r, always);
	if (err < 0)
		snprintf(r->why, sizeof(r->why), "-restart: %s", strerror(-err));
	if (err <= 0)
		return err;
	err = flush(r);
	return err ? err : write_record(r);
}

/* ---- the thread ---- */

/* Sleep until `deadline_ns` of the kernel's clock. False: the thread must end. */
static bool sleep_until(struct restart *r, uint64_t deadline_ns)
{
	const struct timespec deadline = clock_timespec(deadline_ns);
	bool quit;

	pthread_mutex_lock(&r->lock);
	while (!r->quit && pthread_cond_clockwait(&r->changed, &r->lock, CLOCK_MONOTONIC,
						  &deadline) != ETIMEDOUT)
		;
	quit = r->quit;
	pthread_mutex_unlock(&r->lock);
	return !quit;
}

/* The target thread starts the monitor, and may be bound to a processor for its operations. */
static void leave_processor(void)
{
	cpu_set_t all;

	if (sched_getaffinity(getpid(), sizeof(all), &all) == 0)
		(void)sched_setaffinity(0, sizeof(all), &all);
}

static void warn(const struct restart *r)
{
	log_warning("target %u, %s: %s; %s", r->plan->number, r->plan->path, r->why,
		    r->failure ? "no more is recorded" : "it is tried again");
}

static void *monitor_main(void *arg)
{
	struct restart *r = arg;
	uint64_t period = r->plan->restart.frequency_ns, next = clock_kernel_ns() + period, now;
	bool warned = false;

	pthread_setname_np(pthread_self(), "xdd restart");
	leave_processor();
	while (sleep_until(r, next)) {
		if (record(r, false) && !warned) {
			warn(r);
			warned = true;
		}
		now = clock_kernel_ns();
		next += period;
		/* A flush that takes longer leaves beats out. */
		if (next <= now)
			next += (now - next) / period * period + period;
	}
	return NULL;
}

int restart_begin(struct restart *r, int fd, char *why, size_t size)
{
	struct restart_record before;
	int err = 0;

	if (!r)
		return 0;
	if (fd >= 0) {
		r->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		err = r->fd < 0 ? -errno : 0;
	}
	before = r->record;
	if (!err && fd >= 0)
		err = restart_look_at(&r->record, r->fd, "");
	if (err) {
		snprintf(why, size, "-restart: %s", strerror(-err));
		return err;
	}
	if (r->resumes && !restart_record_matches(&before, &r->record, r->why, sizeof(r->why))) {
		snprintf(why, size, "-restart: %s: it was replaced while it was opened", r->why);
		return -ESTALE;
	}
	err = record(r, true);
	if (err) {
		snprintf(why, size, "%s", r->why);
		return err;
	}
	if (!r->plan->restart.file)
		log_notice("target %u, %s: the restart file is %s", r->plan->number, r->plan->path,
			   r->path);
	err = thread_start(&r->monitor, monitor_main, r);
	if (err)
		snprintf(why, size, "-restart: %s", thread_error(err, r->why, sizeof(r->why)));
	r->monitored = r->begun = !err;
	return err;
}

void restart_written(struct restart *r, uint64_t op, uint64_t offset, uint64_t length,
		     struct digest d)
{
	struct digest block = { 0, 0 };
	uint64_t end = offset + length;
	int err;

	if (!r)
		return;
	offset += r->skipped_ops * r->record.req_bytes;
	end += r->skipped_ops * r->record.req_bytes;
	op += r->skipped_ops;
	digest_add(&block, offset, length, d);
	pthread_mutex_lock(&r->lock);
	err = extents_add_new(&r->written, op, op + 1);
	/* Without room or memory it is not recorded, and copied again after a restart. */
	if (err && err != -EEXIST)
		digest_join(&r->forgotten, block);
	if (!err) {
		digest_join(&r->digest, block);
		r->end_bytes = end > r->end_bytes ? end : r->end_bytes;
		r->dirty = true;
	}
	pthread_mutex_unlock(&r->lock);
}

static void end_monitor(struct restart *r)
{
	if (!r->monitored)
		return;
	pthread_mutex_lock(&r->lock);
	r->quit = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->monitor, NULL);
	r->monitored = false;
}

int restart_settle(struct restart *r, char *why, size_t size)
{
	if (!r || !r->begun)
		return 0;
	end_monitor(r);
	record(r, false);
	if (!r->failure)
		return 0;
	r->begun = false;
	snprintf(why, size, "%s", r->why);
	return r->failure;
}

int restart_end(struct restart *r, bool complete, char *why, size_t size)
{
	int err;

	if (!r || !r->begun)
		return 0;
	end_monitor(r);
	r->begun = false;
	err = complete ? mark_complete(r) : 0;
	if (err)
		snprintf(r->why, sizeof(r->why), "-restart: %s", strerror(-err));
	else
		err = record(r, complete);
	if (err)
		snprintf(why, size, "%s", r->why);
	return err;
}

const char *restart_path(const struct restart *r)
{
	return r ? r->path : NULL;
}

void restart_costs(struct restart *r, struct restart_cost *cost)
{
	*cost = (struct restart_cost){ 0 };
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	*cost = r->cost;
	pthread_mutex_unlock(&r->lock);
}
