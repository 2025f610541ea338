/*
 * Open file descriptions of QThreads. Called by run.c before the run, and by each QThread when it
 * opens and closes the context of its engine.
 */
#include "run/target/private_fd.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"

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
