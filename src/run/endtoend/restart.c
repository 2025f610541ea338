/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -restart: the beginning of a copy, and the restart monitor. The restart file is read, and
 * compared with the plans of both sides, by the target thread; the monitor continues.
 */
#include "run/endtoend/endtoend.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "xdd/base/err.h"
#include "xdd/base/sets.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/io/access.h"
#include "xdd/io/engine.h"
#include "xdd/net/restart_file.h"
#include "xdd/plan/plan.h"
#include "xdd/report/endtoend.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/ticker.h"
#include "xdd/sys/clock.h"

struct restart {
	/* const after restart_open() */
	const struct target_plan *plan;

	/* const after restart_accept() */
	char *path;
	bool resumes;
	/*
	 * Left out by -restart offset: whole operations, which have numbers in the record; or bytes
	 * before operation 0, where they are no multiple of the request size.
	 */
	uint64_t skipped_ops;
	uint64_t skipped_bytes;

	/*
	 * owned by the target thread before restart_begin(), then by the monitor, and after its end
	 * by the caller of restart_end()
	 */
	struct restart_record record;
	int failure;	/* -errno, after which nothing is recorded any more; 0: none */
	struct err why; /* its text, or the text of the last record that failed */

	/* const after restart_begin() */
	int fd; /* a duplicate of the target's; -1: null */

	/* owned by the callers of restart_begin(), restart_settle() and restart_end() */
	bool begun;
	struct ticker monitor;

	/* owned by the monitor */
	uint64_t next_ns; /* 0: it has not begun */
	bool warned;

	pthread_mutex_t lock;

	/* guarded by lock */
	bool dirty;		 /* operations were written since the last record */
	bool out_of_order;	 /* the offset of an operation does not follow from its number */
	struct extents written;	 /* numbers of operations, as in the record */
	uint64_t end_bytes;	 /* as in the record */
	struct digest digest;	 /* of `written` */
	struct digest forgotten; /* of operations that `written` had no room for */
	struct endtoend_monitor cost;
};

#define NAME_PART_MAX 50 /* of the default name: hosts and files */
#define PATTERN_SAMPLES 1024u

/* ---- patterns ---- */

/* The offset of operation `n` from the start of the extent. */
typedef uint64_t offset_of(const void *arg, uint64_t n);

/* Operations with numbers that are spread evenly, also over the first and the last ones. */
static uint64_t pattern_hash(uint64_t ops, offset_of *offset, const void *arg)
{
	uint64_t offsets[PATTERN_SAMPLES], n = 0, third = PATTERN_SAMPLES / 3;

	if (ops <= PATTERN_SAMPLES) {
		for (; n < ops; n++)
			offsets[n] = offset(arg, n);
		return digest_short(offsets, n * sizeof(offsets[0]));
	}
	for (uint64_t i = 0; i < third; i++) {
		offsets[n++] = offset(arg, i);
		offsets[n++] = offset(arg, ops - 1 - i);
		offsets[n++] = offset(arg, ops / third * i + random_splitmix64(i) % (ops / third));
	}
	return digest_short(offsets, n * sizeof(offsets[0]));
}

static uint64_t offset_of_access(const void *arg, uint64_t n)
{
	const struct access *a = arg;
	struct access_op op;

	access_op(a, n, &op);
	return op.offset - a->base;
}

static uint64_t offset_of_sequence(const void *arg, uint64_t n)
{
	return *(const uint64_t *)arg * n;
}

uint64_t restart_pattern(const struct target_plan *t)
{
	struct access a;

	if (t->pass_ops == PLAN_UNLIMITED)
		return 0;
	access_init(&a, t, 1);
	return pattern_hash(t->pass_ops, offset_of_access, &a);
}

static bool is_sequential(const struct wire_plan *peer)
{
	return peer->pattern == pattern_hash(peer->ops, offset_of_sequence, &peer->req_bytes);
}

/* ---- identity ---- */

static int64_t time_ns(const struct statx_timestamp *t)
{
	return t->tv_sec * (int64_t)NS_PER_SEC + t->tv_nsec;
}

/* Look at the destination: fill the fields of `rec` that identify it. Returns 0 or -errno. */
static int restart_look_at(struct restart_record *rec, int fd, const char *path)
{
	struct statx st;

	if (statx(fd, path, *path ? 0 : AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st))
		return -errno;
	rec->destination_inode = st.stx_ino;
	if (!S_ISREG(st.stx_mode)) {
		/* A device has no size here, and its node is made again at every start. */
		rec->destination_device = makedev(st.stx_rdev_major, st.stx_rdev_minor);
		rec->destination_inode = 0;
		rec->destination_size_bytes = WIRE_NO_SIZE;
		rec->destination_mtime_ns = rec->destination_birth_ns = 0;
		return 0;
	}
	rec->destination_device = makedev(st.stx_dev_major, st.stx_dev_minor);
	rec->destination_size_bytes = st.stx_size;
	rec->destination_mtime_ns = time_ns(&st.stx_mtime);
	rec->destination_birth_ns = st.stx_mask & STATX_BTIME ? time_ns(&st.stx_btime) : 0;
	return 0;
}

/* The part of the record that names the copy. */
static void restart_describe(const struct restart *r, struct restart_record *rec,
			     const struct wire_plan *own, const struct wire_plan *peer)
{
	const uint64_t back = r->skipped_ops * peer->req_bytes;

	memcpy(rec->run, peer->run, sizeof(rec->run));
	snprintf(rec->source_host, sizeof(rec->source_host), "%s", peer->host);
	snprintf(rec->source_name, sizeof(rec->source_name), "%s", peer->name);
	rec->source_size_bytes = peer->size_bytes;
	rec->source_mtime_ns = peer->mtime_ns;
	rec->source_ctime_ns = peer->ctime_ns;
	rec->source_device = peer->device;
	rec->source_inode = peer->inode;
	rec->source_start_bytes = peer->start_bytes - back;
	snprintf(rec->destination_host, sizeof(rec->destination_host), "%s", own->host);
	snprintf(rec->destination_name, sizeof(rec->destination_name), "%s", own->name);
	rec->destination_start_bytes = own->start_bytes - back;
	rec->req_bytes = peer->req_bytes;
	rec->bytes = peer->bytes + back;
	rec->ops = peer->ops + r->skipped_ops;
	/* The hash depends on the number of operations, which -restart offset changes. */
	rec->pattern = is_sequential(peer) ? 0 : peer->pattern ? peer->pattern : 1;
}

/* ---- the name of the restart file ---- */

/* Append a dot and `part`, which may be text of the other side. */
static void add_part(char *name, size_t size, const char *part)
{
	size_t n = strlen(name), end = n + NAME_PART_MAX;

	if (!*part)
		part = "NA";
	if (n + 1 < size)
		name[n++] = '.';
	for (; *part && n <= end && n + 1 < size; part++)
		name[n++] = (unsigned char)*part <= ' ' || strchr("/%\x7f", *part) ? '_' : *part;
	name[n] = '\0';
}

/* xdd.SRCHOST.SRCBASE.DSTHOST.DSTBASE.YYYY-MM-DD-hhmm-GMT.rst in the current directory. */
static char *default_path(const struct wire_plan *own, const struct wire_plan *peer)
{
	char name[5 * (NAME_PART_MAX + 2)] = "xdd", date[32];
	time_t now = time(NULL);
	struct tm tm;

	add_part(name, sizeof(name), peer->host);
	add_part(name, sizeof(name), path_last(peer->name));
	add_part(name, sizeof(name), own->host);
	add_part(name, sizeof(name), path_last(own->name));
	strftime(date, sizeof(date), "%Y-%m-%d-%H%M-GMT", gmtime_r(&now, &tm));
	add_part(name, sizeof(name), date);
	add_part(name, sizeof(name), "rst");
	return strdup(name);
}

/* ---- opening ---- */

static int restart_refuse(const struct restart *r, struct err *why, const char *problem)
{
	return err_set(
		why, -EINVAL,
		"restart file %s: %s; to copy everything, remove it or name another with -restart "
		"file",
		r->path, problem);
}

/* Read the restart file, if there is one. Returns 0 or -errno, with a text in `why`. */
static int read_record(struct restart *r, struct err *why)
{
	struct err problem;
	int err = restart_record_read(r->path, &r->record, &problem);

	if (err == -ENOENT)
		return 0;
	if (err)
		return restart_refuse(r, why, problem.text);
	r->resumes = true;
	return 0;
}

int restart_open(struct restart **out, const struct target_plan *t, struct err *why)
{
	struct restart *r;
	int err = 0;

	*out = NULL;
	if (!t->restart.enabled || t->endtoend.role != E2E_DESTINATION)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return err_errno(why, -ENOMEM);
	r->plan = t;
	r->fd = -1;
	r->cost.used = true;
	restart_record_init(&r->record);
	extents_init(&r->written, RESTART_MAX_RANGES);
	pthread_mutex_init(&r->lock, NULL);
	*out = r;
	if (!t->restart.file)
		return 0;
	r->path = strdup(t->restart.file);
	if (r->path)
		return read_record(r, why);
	err = -ENOMEM;
	return err_errno(why, err);
}

void restart_free(struct restart *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	pthread_mutex_destroy(&r->lock);
	restart_record_free(&r->record);
	extents_clear(&r->written);
	free(r->path);
	free(r);
}

/* ---- answering the source ---- */

/* -restart offset leaves out the same part on both sides. */
static int check_offset(const struct wire_plan *own, const struct wire_plan *peer, struct err *why)
{
	if (own->skipped_bytes == peer->skipped_bytes)
		return 0;
	return err_set(why, -EINVAL,
		       "the source leaves out %" PRIu64 " bytes, the destination %" PRIu64
		       ": give both the same -restart offset",
		       peer->skipped_bytes, own->skipped_bytes);
}

/* The first part of what a record has, which the user vouches for. */
static int add_skipped(struct restart *r, const struct wire_plan *own, const struct wire_plan *peer)
{
	r->skipped_ops = r->skipped_bytes = 0;
	if (own->skipped_bytes % peer->req_bytes == 0)
		r->skipped_ops = own->skipped_bytes / peer->req_bytes;
	else
		r->skipped_bytes = own->skipped_bytes;
	r->end_bytes = r->skipped_ops * peer->req_bytes;
	return extents_add(&r->written, 0, r->skipped_ops);
}

/*
 * Compare the record that was read with this copy. Returns 1: it is of this copy; 0: of another one
 * that is complete or of which nothing is durable, so that nothing is lost; or -errno with a text
 * in `why`.
 */
static int restart_compare(struct restart *r, const struct restart_record *now, int found,
			   struct err *why)
{
	const struct restart_record *old = &r->record;
	struct err problem;
	bool same = !found && restart_record_matches(old, now, &problem);

	if (old->complete && !(same && restart_record_unchanged(old, now)))
		return 0;
	/* The time of the last change of any kind is not in it. */
	if (same && old->version < RESTART_VERSION && r->plan->restart.trust)
		return restart_refuse(
			r, why,
			"is of an earlier version, which does not name the source exactly: "
			"leave -restart trust out");
	if (same)
		return 1;
	/* A run that could not start removes the file that it created. */
	if (!old->durable.total)
		return 0;
	if (found)
		err_sys(&problem, found, "the destination cannot be examined");
	return restart_refuse(r, why, problem.text);
}

/* Continue the copy of the record. Returns 0 or -ENOMEM. */
static int restart_resume(struct restart *r)
{
	const struct restart_record *old = &r->record;
	const bool trust = r->plan->restart.trust;

	r->end_bytes = old->end_bytes > r->end_bytes ? old->end_bytes : r->end_bytes;
	r->digest = old->digest;
	if (old->complete)
		target_notice(r->plan,
			      "the restart file %s says that it is complete: %s; to copy it again, "
			      "remove that file",
			      r->path,
			      trust ? "nothing is copied, and nothing compared (-restart trust)" :
				      "what equals the source is not copied");
	else
		target_notice(r->plan, "%" PRIu64 " of %" PRIu64 " bytes are durable: %s",
			      old->durable_bytes, old->bytes,
			      trust ? "the others are copied, and nothing is compared "
				      "(-restart trust)" :
				      "they are compared with the source, and the others copied");
	return extents_join(&r->written, &old->durable);
}

/* The operations of this session that are missing. */
static size_t list_missing(const struct restart *r, const struct wire_plan *peer,
			   struct wire_range *ranges)
{
	const uint64_t end = r->skipped_ops + peer->ops;
	struct extent gap = { 0, r->skipped_ops };
	size_t n = 0;

	while (n < WIRE_MAX_RANGES && extents_next_missing(&r->written, gap.end, end, &gap))
		ranges[n++] =
			(struct wire_range){ gap.begin - r->skipped_ops, gap.end - gap.begin };
	return n;
}

/* Replace the record that was read by the record of this copy, with nothing durable. */
static void begin_record(struct restart *r, struct restart_record *now)
{
	restart_record_free(&r->record);
	r->record = *now;
}

int restart_accept(struct restart *r, const struct wire_plan *own, const struct wire_plan *peer,
		   struct wire_range *ranges, size_t *n, struct err *why)
{
	struct restart_record now;
	int err = check_offset(own, peer, why), found = 0;

	*n = 0;
	if (err || !r)
		return err;
	if (peer->ops == WIRE_NO_SIZE)
		return err_set(why, -EINVAL,
			       "-restart: a copy that only time ends cannot be resumed; give "
			       "the source -bytes or -numreqs");
	if (add_skipped(r, own, peer))
		return err_errno(why, -ENOMEM);
	if (!r->path)
		r->path = default_path(own, peer);
	if (!r->path)
		return err_errno(why, -ENOMEM);
	if (!r->plan->restart.file)
		err = read_record(r, why);
	if (err)
		return err;
	restart_record_init(&now);
	restart_describe(r, &now, own, peer);
	if (r->plan->kind != TARGET_NULL)
		found = restart_look_at(&now, AT_FDCWD, r->plan->path);
	if (r->resumes)
		err = restart_compare(r, &now, found, why);
	r->resumes = err == 1;
	if (err < 0)
		return err;
	if (r->resumes && restart_resume(r))
		return err_errno(why, -ENOMEM);
	r->out_of_order = now.pattern != 0;
	begin_record(r, &now);
	if (r->resumes)
		*n = list_missing(r, peer, ranges);
	return r->resumes;
}

int restart_take_kept(struct restart *r, const struct wire_plan *peer, struct extents *kept)
{
	const uint64_t end = r->skipped_ops + peer->ops;
	int err = 0;

	if (r->plan->restart.trust)
		return 0;
	for (size_t i = 0; i < r->written.n && !err; i++) {
		const struct extent *x = &r->written.items[i];
		uint64_t from = x->begin > r->skipped_ops ? x->begin : r->skipped_ops;
		uint64_t to = x->end < end ? x->end : end;

		if (from < to)
			err = extents_add(kept, from - r->skipped_ops, to - r->skipped_ops);
	}
	extents_clear(&r->written);
	if (!err)
		err = extents_add(&r->written, 0, r->skipped_ops);
	r->end_bytes = r->skipped_ops * peer->req_bytes;
	r->digest = (struct digest){ 0 };
	return err;
}

void restart_kept_again(struct restart *r, const struct wire_plan *peer, struct wire_range *ranges,
			size_t *n)
{
	/* Operations without room in the set are copied, and count then. */
	r->forgotten = (struct digest){ 0 };
	*n = list_missing(r, peer, ranges);
}

/*
 * The restart monitor: a thread for each destination with -restart, which flushes the target and
 * then records what was written before the flush. QThreads report what they have written.
 */

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
static void restart_monitor_derive(struct restart_record *rec, uint64_t skipped_bytes,
				   bool out_of_order)
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
		restart_monitor_derive(rec, r->skipped_bytes, r->out_of_order);
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
static int restart_monitor_flush(struct restart *r)
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
		err_set(&r->why, err, "-restart: cannot flush the target: %s", strerror(-err));
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
		err_sys(&r->why, err, "restart file %s: cannot be written", r->path);
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
		err_set(&r->why, err, "-restart: %s", strerror(-err));
	if (err <= 0)
		return err;
	err = restart_monitor_flush(r);
	return err ? err : write_record(r);
}

/* ---- the thread ---- */

/* The target thread starts the monitor, and may be bound to a processor for its operations. */
static void leave_processor(void)
{
	struct idset all;

	if (sched_getaffinity(getpid(), sizeof(all.words), (cpu_set_t *)all.words) == 0)
		(void)sched_setaffinity(0, sizeof(all.words), (const cpu_set_t *)all.words);
}

static void restart_monitor_warn(const struct restart *r)
{
	target_warning(r->plan, "%s; %s", r->why.text,
		       r->failure ? "no more is recorded" : "it is tried again");
}

/* A beat of the monitor. Returns when the next one is due. */
static uint64_t restart_monitor(void *arg)
{
	struct restart *r = arg;
	const uint64_t period_ns = r->plan->restart.frequency_ns;

	if (!r->next_ns) {
		pthread_setname_np(pthread_self(), "xdd restart");
		leave_processor();
		r->next_ns = clock_kernel_ns();
	} else if (record(r, false) && !r->warned) {
		restart_monitor_warn(r);
		r->warned = true;
	}
	/* A flush that takes longer leaves beats out. */
	r->next_ns += ((clock_kernel_ns() - r->next_ns) / period_ns + 1) * period_ns;
	return r->next_ns;
}

int restart_begin(struct restart *r, int fd, struct err *why)
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
	if (err)
		return err_set(why, err, "-restart: %s", strerror(-err));
	if (r->resumes && !restart_record_matches(&before, &r->record, &r->why))
		return err_set(why, -ESTALE, "-restart: %s: it was replaced while it was opened",
			       r->why.text);
	err = record(r, true);
	if (err)
		return err_set(why, err, "%s", r->why.text);
	if (!r->plan->restart.file)
		target_notice(r->plan, "the restart file is %s", r->path);
	ticker_add(&r->monitor, restart_monitor, r, 0);
	err = ticker_start(&r->monitor, "restart monitor");
	if (err)
		err_set(why, err, "-restart: %s", thread_error(err, &r->why));
	r->begun = !err;
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

int restart_settle(struct restart *r, struct err *why)
{
	if (!r || !r->begun)
		return 0;
	ticker_end(&r->monitor);
	record(r, false);
	if (!r->failure)
		return 0;
	r->begun = false;
	return err_set(why, r->failure, "%s", r->why.text);
}

int restart_end(struct restart *r, bool complete, struct err *why)
{
	int err;

	if (!r || !r->begun)
		return 0;
	ticker_end(&r->monitor);
	r->begun = false;
	err = complete ? mark_complete(r) : 0;
	if (err)
		err_set(&r->why, err, "-restart: %s", strerror(-err));
	else
		err = record(r, complete);
	return err ? err_set(why, err, "%s", r->why.text) : 0;
}

void restart_costs(struct restart *r, struct endtoend_monitor *cost)
{
	*cost = (struct endtoend_monitor){ 0 };
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	*cost = r->cost;
	pthread_mutex_unlock(&r->lock);
}
