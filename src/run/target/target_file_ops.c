/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations on the file of a target before the first pass, after each pass, and before the next,
 * and open file descriptions of QThreads. All of them lie outside the timed window of operations,
 * and are timed where a column shows them.
 *
 * Called by run.c and by QThreads. The last QThread to leave a pass acts for its target, while the
 * others wait.
 */
#include "run/target/target_file_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/meter/meter.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/io/engine.h"
#include "xdd/io/target_file.h"
#include "xdd/plan/plan.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/clock.h"

/*
 * Open file descriptions of QThreads.
 */

/* Reserve for outputs, libraries and files that are open briefly. */
#define SPARE_DESCRIPTORS 128

/*
 * open(2) takes these flags as F_GETFL returns them; others apply to creation, or mean something
 * else here.
 */
#define KEPT_FLAGS (O_ACCMODE | O_DIRECT | O_NOATIME | O_SYNC)

static bool may_have(const struct target_plan *plan)
{
	return plan->qthreads > 1 && (plan_engine_caps(plan) & ENGINE_OWN_FILE) &&
	       plan->op == OP_READ && (plan->kind == TARGET_FILE || plan->kind == TARGET_BLOCK);
}

bool private_fd_wanted(const struct target *t)
{
	return t->run->private_fds && may_have(t->plan);
}

uint64_t private_fd_files(const struct plan *plan)
{
	uint64_t n = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		n += t->kind != TARGET_NULL;
		if (plan_engine_caps(t) & ENGINE_OPENS)
			n += t->qthreads;
		n += t->tail_bytes != 0;
	}
	return n;
}

void private_fd_begin(struct run *run)
{
	const uint64_t n = private_fd_files(run->plan) + SPARE_DESCRIPTORS;
	uint64_t own = 0, limit;

	for (size_t i = 0; i < run->plan->n_targets; i++) {
		if (may_have(&run->plan->targets[i]))
			own += run->plan->targets[i].qthreads - 1;
	}
	/* If the limit is still too low, the thread whose open() fails reports it. */
	fileopen_make_room(n, &limit);
	run->private_fds = own && fileopen_make_room(n + own, &limit);
}

int private_fd_open(struct qthread *q)
{
	struct target *t = q->target;
	int flags;

	q->private_fd = -1;
	/* QThread 0 uses the descriptor of the target. */
	if (!private_fd_wanted(t) || q->number == 0 || t->file.fd < 0)
		return t->file.fd;
	flags = fcntl(t->file.fd, F_GETFL);
	if (flags < 0)
		return t->file.fd;
	q->private_fd = fileopen_again(t->file.fd, flags & KEPT_FLAGS);
	if (q->private_fd < 0) {
		debug_line(DEBUG_OPEN, "target %u QThread %u: open /proc/self/fd/%d: %s",
			   t->plan->number, q->number, t->file.fd, strerror(-q->private_fd));
		return t->file.fd;
	}
	debug_line(DEBUG_OPEN, "target %u QThread %u: open /proc/self/fd/%d: descriptor %d",
		   t->plan->number, q->number, t->file.fd, q->private_fd);
	return q->private_fd;
}

void private_fd_close(struct qthread *q)
{
	if (q->private_fd < 0)
		return;
	debug_line(DEBUG_OPEN, "target %u QThread %u: close descriptor %d", q->target->plan->number,
		   q->number, q->private_fd);
	close(q->private_fd);
	q->private_fd = -1;
}

/* Report and count an error that belongs to no operation. */
static void file_error(struct target *t, const char *what, const struct err *why, int err)
{
	atomic_fetch_add(&t->run->failures.errors, 1);
	log_error("target %u, %s: %s: %s", t->plan->number, target_file_path(&t->file, t->plan),
		  what, err_text(why, err));
	run_explain(t, "%s: %s: %s", target_file_path(&t->file, t->plan), what, err_text(why, err));
}

uint64_t target_flush(struct target *t, const char *option)
{
	uint64_t begin, took_ns;
	int err;

	results_settle(&t->run->results);
	begin = clock_now_ns();
	err = engine_flush(t->engine, t->file.fd);
	took_ns = clock_now_ns() - begin;
	results_settled(&t->run->results);
	if (!err)
		return took_ns;
	file_error(t, option, NULL, err);
	if (t->run->plan->stop_on_error)
		run_stop(t->run, STOP_ERROR, -err);
	return took_ns;
}

void target_flush_pass(struct target *t)
{
	const uint64_t took_ns = target_flush(t, "-syncwrite");

	/* Of a pass that ends in its warm-up nothing is measured. */
	if (plan_warms_up(t->plan) && !atomic_load(&t->state.measured_ns))
		return;
	counters_add(&t->state.sync_ns, took_ns);
	counters_add(&t->state.syncs, 1);
	if (t->syncs.counts)
		histogram_add(&t->syncs, took_ns);
}

void target_drain(struct qthread *q, bool ends_pass)
{
	struct target *t = q->target;
	uint64_t begin, held = 0;
	int err;

	if (!t->engine->drain || q->broken)
		return;
	results_settle(&t->run->results);
	begin = clock_now_ns();
	err = t->engine->drain(q->ctx, ends_pass, &held);
	q->apart_ns += clock_now_ns() - begin;
	results_settled(&t->run->results);
	/* The last operations took until now. */
	if (held && atomic_load(&q->counters.last_done_ns)) {
		counters_set(&q->counters.last_done_ns, clock_now_ns());
		cputime_last(q);
	}
	if (!err)
		return;
	file_error(t,
		   held ? "cannot write the data of operations that were complete" :
			  "cannot close its stream and open it again",
		   NULL, err);
	if (t->run->plan->stop_on_error)
		run_stop(t->run, STOP_ERROR, -err);
}

/*
 * Make ext4 check the privileges of the file now. It does so at the first write to an inode that
 * was just loaded, as after a mount, under a lock that other writes share, and io_uring reorders
 * the writes that wait for it. To allocate an allocated range changes nothing and triggers the
 * check; the inode of an open file stays loaded. Where that is impossible the first writes may be
 * out of order.
 */
static void trigger_privilege_check(const struct target *t)
{
	const struct target_plan *plan = t->plan;
	struct stat st;

	if (plan->ordering != ORDERING_STRICT || plan->queue_depth == 1 || !plan->direct_io ||
	    plan->kind != TARGET_FILE || !plan_writes(plan) ||
	    !(t->engine->info.caps & ENGINE_REORDERS))
		return;
	if (fstat(t->file.fd, &st) == 0 && plan->start_bytes < (uint64_t)st.st_size &&
	    (uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size)
		(void)fallocate(t->file.fd, FALLOC_FL_KEEP_SIZE, (off_t)plan->start_bytes, 1);
}

/* The file system of a file that this run creates may ignore O_DIRECT: that is known now. */
static void check_direct(struct target *t)
{
	bool known = t->direct_ignored;
	struct directio d;

	directio_query(&d, t->file.fd, NULL);
	t->direct_ignored = d.ignored;
	if (d.ignored && !t->plan->direct_ignored && !known)
		plan_warn_dio(t->plan, target_file_path(&t->file, t->plan));
}

/* Open the file for `pass`. Returns 0 or -errno, perhaps with a text in `why`. */
static int open_for(struct target *t, uint64_t pass, struct err *why)
{
	uint64_t begin = clock_now_ns();
	int err = target_file_open(&t->file, t->plan, pass, why);

	if (t->file.fd >= 0)
		atomic_store(&t->next_open_ns, clock_now_ns() - begin);
	if (!err)
		trigger_privilege_check(t);
	if (!err && t->plan->direct_io && t->file.fd >= 0)
		check_direct(t);
	if (!err)
		dirty_sample_open(t);
	return err;
}

/*
 * Wait until the target that creates the file has opened it. Returns 0, or -ECANCELED when the run
 * stops.
 */
static int await_writer(struct target *t)
{
	struct run *run = t->run;
	const struct target *writer;

	if (!t->plan->writer || t->plan->kind != TARGET_MISSING)
		return 0;
	writer = &run->targets[t->plan->writer->number];
	for (;;) {
		uint32_t key = event_listen(&run->opened);
		bool stopped = stop_why(&run->stop) != STOP_NONE;

		if (stopped || atomic_load(&writer->is_open)) {
			event_leave(&run->opened);
			return stopped ? -ECANCELED : 0;
		}
		event_wait(&run->opened, key, UINT64_MAX);
	}
}

int target_open(struct target *t)
{
	struct err why = { 0 };
	int err;

	t->engine = engine_of(t->plan);
	err = await_writer(t);
	if (err)
		return err;
	err = open_for(t, 1, &why);
	atomic_store(&t->is_open, !err);
	event_signal(&t->run->opened);
	if (err)
		run_explain(t, "%s: %s", target_file_path(&t->file, t->plan), err_text(&why, err));
	if (err && run_stop(t->run, STOP_START, -err))
		log_error("target %u, %s: %s", t->plan->number, target_file_path(&t->file, t->plan),
			  err_text(&why, err));
	if (err)
		return err;
	err = target_data_open(t);
	return err ? run_fail(t, STOP_START, err, "cannot set up its data pattern: %s",
			      strerror(-err)) :
		     0;
}

/* Failure to preallocate a file is a warning: it can be written all the same. */
static int reshape(struct target *t, const char **what, struct err *why)
{
	int err = target_file_reshape(&t->file, t->plan, what, why);

	if (err != -EOPNOTSUPP)
		return err;
	if (t->file.pass == 1)
		target_warning(t->plan, "%s: %s; continuing without it", *what, err_text(why, err));
	return 0;
}

/* Remove the file, which is closed, and create it again for `pass`. */
static int recreate_alone(struct target *t, uint64_t pass, const char **what, struct err *why)
{
	int err;

	*what = "cannot remove it";
	err = target_file_remove(&t->file, t->plan);
	if (err)
		return err;
	*what = "cannot create it";
	err = open_for(t, pass, why);
	return err ? err : reshape(t, what, why);
}

/* The target whose fields count for the file that `t` recreates with others; NULL: with none. */
static struct target *first_sharer(const struct target *t)
{
	const struct target_plan *first = t->plan->shared_with;

	return first ? &t->run->targets[first->number] : NULL;
}

/* The target has closed the file that it recreates with others. */
static void shared_closed(struct target *t)
{
	struct target *first = first_sharer(t);

	if (!first)
		return;
	t->closed_itself++;
	atomic_fetch_add(&first->closed, 1);
	event_signal(&t->run->opened);
}

/*
 * Wait until the targets of the file have closed it, and one of them has recreated it. `*mine`: it
 * is this target that has to. Returns 0, or -ECANCELED when the run stops.
 */
static int await_sharers(struct target *t, struct target *first, bool *mine)
{
	const uint64_t turn = t->closed_itself;
	struct run *run = t->run;

	for (;;) {
		uint32_t key = event_listen(&run->opened);
		bool stopped = stop_why(&run->stop) != STOP_NONE;
		uint64_t before = turn - 1;

		*mine = atomic_load(&first->closed) >= turn * t->plan->sharers &&
			atomic_compare_exchange_strong(&first->recreating, &before, turn);
		if (stopped || *mine || atomic_load(&first->recreated) >= turn) {
			event_leave(&run->opened);
			return stopped ? -ECANCELED : 0;
		}
		event_wait(&run->opened, key, UINT64_MAX);
	}
}

/*
 * Recreate the file, which is closed. Of several targets of one file the first that finds it closed
 * by all does that, and gives it its size; the others open what it has created.
 */
static int recreate(struct target *t, uint64_t pass, const char **what, struct err *why)
{
	struct target *first = first_sharer(t);
	bool mine = true;
	int err = first ? await_sharers(t, first, &mine) : 0;

	if (err)
		return err;
	if (mine) {
		err = recreate_alone(t, pass, what, why);
	} else {
		*what = "cannot open it after another target has created it";
		err = open_for(t, pass, why);
	}
	if (mine && first && !err) {
		atomic_store(&first->recreated, t->closed_itself);
		event_signal(&t->run->opened);
	}
	return err;
}

/* Prepare the file for the first pass. */
static int shape(struct target *t, const char **what, struct err *why)
{
	int err;

	if (!plan_recreates(t->plan))
		return reshape(t, what, why);
	*what = "cannot close it";
	err = target_file_close(&t->file, t->plan, false);
	shared_closed(t);
	if (!err)
		err = recreate(t, 1, what, why);
	atomic_store(&t->state.open_ns, atomic_exchange(&t->next_open_ns, 0));
	return err;
}

int target_reshape(struct qthread *q)
{
	struct target *t = q->target;
	const char *what = NULL;
	struct err why = { 0 };
	int err;

	if (!t->run->opens_together)
		return 0;
	/* Nothing changes before all targets are open. */
	err = barrier_wait(&t->run->start, NULL);
	if (err >= 0 && q->number == 0) {
		err = shape(t, &what, &why);
		if (err)
			run_fail(t, STOP_START, err, "%s: %s", what, err_text(&why, err));
	}
	if (err >= 0)
		err = barrier_wait(&t->file_barrier, NULL);
	return err < 0 ? err : 0;
}

bool target_releases_file(const struct target *t)
{
	return plan_reopens(t->plan) || t->pass >= t->run->plan->passes;
}

/*
 * True: no pass follows. The results manager, which decides, reads the same clock later: it may
 * find that time is over where this does not, and never the other way round.
 */
static bool is_last(const struct target *t)
{
	const struct run *run = t->run;

	if (t->pass >= run->plan->passes || stop_requested(&run->stop))
		return true;
	/* The source of an end-to-end copy decides. */
	return t->plan->endtoend.role != E2E_DESTINATION &&
	       clock_now_ns() + run->plan->pass_delay_ns >= atomic_load(&run->end_ns);
}

static void close_timed(struct target *t)
{
	uint64_t begin;
	int err;

	results_settle(&t->run->results);
	begin = clock_now_ns();
	err = target_file_close(&t->file, t->plan, false);
	atomic_store(&t->state.close_ns, clock_now_ns() - begin);
	results_settled(&t->run->results);
	if (err)
		file_error(t, "cannot close it", NULL, err);
}

static int reopen(struct target *t, const char **what, struct err *why)
{
	int err;

	if (t->plan->recreate_files) {
		err = recreate(t, t->pass + 1, what, why);
		t->unused = !err;
		return err;
	}
	*what = "cannot open it for the next pass";
	err = open_for(t, t->pass + 1, why);
	if (!err) {
		t->unused = true;
		err = reshape(t, what, why);
	}
	return err;
}

void target_file_sync_pass(struct qthread *q)
{
	struct target *t = q->target;

	t->unused = false;
	/* A run that is stopped does not wait for the data to be written. */
	if (t->plan->sync_write && plan_changes(t->plan) && !stop_requested(&t->run->stop)) {
		target_flush_pass(t);
		cputime_last(q);
	}
}

void target_file_end_pass(struct qthread *q)
{
	struct target *t = q->target;
	const char *what = NULL;
	struct err why = { 0 };
	bool last;
	int err;

	last = is_last(t);
	if (t->file.fd >= 0 && (last || plan_reopens(t->plan)))
		close_timed(t);
	shared_closed(t);
	if (last || !plan_reopens(t->plan))
		return;
	err = reopen(t, &what, &why);
	if (err && err != -ECANCELED) {
		file_error(t, what, &why, err);
		run_stop(t->run, STOP_ERROR, -err);
	}
}

void target_close(struct target *t, bool discard)
{
	int err = target_file_close(&t->file, t->plan, discard || t->unused);

	if (err)
		file_error(t, "cannot close it", NULL, err);
	if (t->plan->delete_file && !discard && t->plan->kind != TARGET_NULL) {
		err = target_file_delete(&t->file, t->plan);
		if (err)
			file_error(t, "-deletefile", NULL, err);
	}
	target_file_free(&t->file);
}
