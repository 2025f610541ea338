/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outside of a run: signals, -attached, and the other ranks of a run with -mpi. Called by
 * run_execute(), the results manager and the command that carries out a plan.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "run/coord/pace.h"
#include "run/progress/heartbeat.h"
#include "run/progress/ranks.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"
#include "xdd/net/globaltime.h"
#include "xdd/plan/plan.h"
#include "xdd/report/heartbeat.h"
#include "xdd/report/result.h"
#include "xdd/run/run.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/*
 * SIGINT, SIGTERM and SIGHUP: the first ends the run in good order, the second at once. SIGUSR1
 * requests a line of the heartbeat. "xdd/sync/thread.h" has the thread that takes them.
 */

void signals_block_progress(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Before the constructors of the libraries, which take a part of a millisecond. */
__attribute__((section(".preinit_array"),
	       used)) static void (*const block_early)(void) = signals_block_progress;

/* ---- the signal thread ---- */

/* Consequence of the first signal in each phase. */
static const char *const consequences[] = {
	[SIGNALS_BEFORE] = "nothing is begun",
	[SIGNALS_DURING] = "no further operations are issued",
	[SIGNALS_AFTER] = "the results are being written",
};

static void take_first(void *arg, int sig)
{
	struct signals *s = arg;

	outwait_end();
	pthread_mutex_lock(&s->lock);
	s->sig = sig;
	if (s->run)
		run_stop(s->run, STOP_SIGNAL, sig);
	stop_request(&s->before, STOP_SIGNAL, sig);
	/* With s->lock: the document of a run that this signal ends must contain the message. */
	log_notice("signal %d, SIG%s: %s; once more ends at once", sig, sigabbrev_np(sig),
		   consequences[s->when]);
	pthread_mutex_unlock(&s->lock);
}

static void debug_qthread(const struct qthread *q)
{
	const struct target *t = q->target;
	struct tally tally;

	tally_clear(&tally);
	tally_add_counters(&tally, &q->counters);
	debug_print(DEBUG_USER1,
		    "target %u QThread %u: pass %" PRIu64 ", %" PRIu64 " issued, %" PRIu64
		    " done, %" PRIu64 " failed, %" PRIu64 " outstanding, %" PRIu64 " bytes",
		    t->plan->number, q->number, t->pass, tally.issued, tally_ops(&tally),
		    tally.errors, tally.outstanding, tally_bytes(&tally));
}

/* -debug user1: show the progress of each QThread. */
static void debug_state(const struct run *run)
{
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		const struct target *t = &run->targets[i];

		for (uint32_t k = 0; k < t->plan->qthreads; k++)
			debug_qthread(&t->qthreads[k]);
	}
}

static void show_progress(void *arg)
{
	struct signals *s = arg;

	pthread_mutex_lock(&s->lock);
	if (s->run && debug_on(DEBUG_USER1))
		debug_state(s->run);
	if (s->run)
		heartbeat_now(&s->run->heartbeat);
	pthread_mutex_unlock(&s->lock);
}

int signals_start(struct signals *s)
{
	s->thread =
		(struct signal_thread){ .first = take_first, .progress = show_progress, .arg = s };
	s->when = SIGNALS_BEFORE;
	s->run = NULL;
	s->sig = 0;
	stop_init(&s->before);
	pthread_mutex_init(&s->lock, NULL);
	return signal_thread_start(&s->thread);
}

void signals_attach(struct signals *s, struct run *run)
{
	pthread_mutex_lock(&s->lock);
	s->when = SIGNALS_DURING;
	s->run = run;
	if (s->sig)
		run_stop(run, STOP_SIGNAL, s->sig);
	pthread_mutex_unlock(&s->lock);
}

void signals_detach(struct signals *s)
{
	pthread_mutex_lock(&s->lock);
	s->when = SIGNALS_AFTER;
	s->run = NULL;
	pthread_mutex_unlock(&s->lock);
}

/* How far the attached run is; PROGRESS_READY before there is one. Any thread. */
static void signals_progress(struct signals *s, struct progress_line *p)
{
	*p = (struct progress_line){ .state = PROGRESS_READY, .done_ppm = -1, .left_s = -1 };
	pthread_mutex_lock(&s->lock);
	if (s->run)
		heartbeat_summary(&s->run->heartbeat, p);
	if (s->when == SIGNALS_AFTER)
		p->state = PROGRESS_ENDING;
	pthread_mutex_unlock(&s->lock);
}

int signals_taken(struct signals *s)
{
	int sig;

	pthread_mutex_lock(&s->lock);
	sig = s->sig;
	pthread_mutex_unlock(&s->lock);
	return sig;
}

void signals_end(struct signals *s)
{
	signal_thread_end(&s->thread);
	stop_destroy(&s->before);
	pthread_mutex_destroy(&s->lock);
}

/*
 * -attached: one thread waits for the end of standard input, or for the end of the reader of
 * standard output, and writes the lines of progress.
 */

#define LINE_NS NS_PER_SEC

/* For the results, once the other program is gone; the process then ends whatever it waits for. */
#define END_NS (30 * NS_PER_SEC)

/* For room in standard error: its reader may have stalled. */
#define ROOM_NS (NS_PER_SEC / 10)

struct attached {
	/* const after attached_start() */
	struct signals *signals;
	pthread_t thread;
	struct pollfd watched;
	int quit_fd;

	/* owned by the thread */
	uint64_t line_ns; /* when the next line is due */
	uint64_t end_ns;  /* when the process ends at once; UINT64_MAX: the other one is there */
};

static void write_line(const struct attached *a)
{
	struct progress_line p;
	char text[PROGRESS_LINE_SIZE];
	size_t length;
	int err;

	signals_progress(a->signals, &p);
	length = progress_line_encode(&p, text);
	outwait_limit(clock_kernel_ns() + ROOM_NS);
	outwait_write(STDERR_FILENO, text, length, &err);
}

/* True: the other program is gone. Bytes on standard input mean nothing. */
static bool is_gone(const struct attached *a, short events)
{
	char bytes[256];
	ssize_t n;

	if (a->watched.fd != STDIN_FILENO || !events)
		return events != 0;
	n = read(STDIN_FILENO, bytes, sizeof(bytes));
	return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

static void end_run(struct attached *a)
{
	log_notice(a->watched.fd == STDIN_FILENO ?
			   "-attached: standard input has ended, so the run ends" :
			   "-attached: standard output has no reader, so the run ends");
	a->watched.fd = -1;
	a->end_ns = clock_kernel_ns() + END_NS;
	kill(getpid(), SIGINT);
}

static int wait_ms(const struct attached *a, uint64_t now_ns)
{
	uint64_t until_ns = ns_earlier(a->line_ns, a->end_ns);

	return until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS + 1) : 0;
}

static void *attached_main(void *arg)
{
	struct attached *a = arg;

	debug_line(DEBUG_TASK, "attached: thread %d starts", gettid());
	for (;;) {
		struct pollfd fds[2] = { { .fd = a->quit_fd, .events = POLLIN }, a->watched };
		uint64_t now_ns = clock_kernel_ns();

		if (now_ns >= a->line_ns) {
			write_line(a);
			a->line_ns = now_ns + LINE_NS;
		}
		if (now_ns >= a->end_ns) {
			kill(getpid(), SIGINT);
			a->end_ns = UINT64_MAX;
		}
		if (poll(fds, 2, wait_ms(a, now_ns)) <= 0)
			continue;
		if (fds[0].revents)
			break;
		if (is_gone(a, fds[1].revents))
			end_run(a);
	}
	debug_line(DEBUG_TASK, "attached: thread %d ends", gettid());
	return NULL;
}

int attached_start(struct attached **a_out, const struct plan *plan, struct signals *signals)
{
	struct attached *a;
	int err;

	*a_out = NULL;
	if (plan->attached == ATTACHED_NO)
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->signals = signals;
	a->end_ns = UINT64_MAX;
	a->watched.fd = STDOUT_FILENO;
	if (plan->attached == ATTACHED_INPUT)
		a->watched = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	a->quit_fd = eventfd(0, EFD_CLOEXEC);
	err = a->quit_fd < 0 ? -errno : thread_start(&a->thread, attached_main, a);
	if (err) {
		if (a->quit_fd >= 0)
			close(a->quit_fd);
		free(a);
		return err;
	}
	*a_out = a;
	return 0;
}

void attached_end(struct attached *a)
{
	const uint64_t one = 1;

	if (!a)
		return;
	while (write(a->quit_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(a->thread, NULL);
	close(a->quit_fd);
	free(a);
}

/*
 * The ranks of a run with -mpi.
 */

/* This run stops: tell the other ranks. In the thread that stops it. */
static void tell_others(void *arg)
{
	struct run *run = arg;

	group_stop(run->group, stop_why(&run->stop), atomic_load(&run->stop.detail));
}

/* Another rank has stopped. In the thread of the group. */
static void stop_too(void *arg, enum stop_reason reason, int detail)
{
	run_stop(arg, reason, detail);
}

/* A rank has ended the pass. In the thread of the group. */
static void wall_over(void *arg, const struct group_wall *wall)
{
	stonewall_close(arg, wall->pass, wall->target);
}

static void wall_counted(void *arg, uint64_t pass, uint64_t most)
{
	stonewall_go_on(arg, pass, most);
}

int ranks_attach(struct run *run)
{
	static const struct group_wall_calls calls = { wall_over, wall_counted };
	int err = run->group ? stop_on_request(&run->stop, tell_others, run) : 0;

	if (!run->group || err)
		return err;
	group_on_stop(run->group, stop_too, run);
	if (run->plan->stonewall.on)
		group_on_wall(run->group, &calls, run);
	return 0;
}

void ranks_leave(struct group *g, struct run *run, enum xdd_status status)
{
	bool failed = !run || (status && status <= XDD_TARGET_FAILED);

	if (!g)
		return;
	if (failed)
		group_stop(g, STOP_START, 0);
	if (run) {
		group_on_stop(g, NULL, NULL);
		group_on_wall(g, NULL, NULL);
	}
	failed |= run && stop_requested(&run->stop);
	group_leave(g, failed ? GROUP_STOP : GROUP_END);
}

void ranks_clock(const struct run *run, struct clock_result *clock)
{
	if (!run->group)
		return;
	clock->ranks = true;
	clock->server = group_host(run->group, 0);
	clock->offset_ns = ranks_wall_ns(run) - clock_wall_offset_ns();
	clock->bound_ns = clock->bound_at_end_ns = group_clock(run->group).bound_ns;
}

void ranks_globaltime(const struct run *run, struct globaltime *g)
{
	*g = (struct globaltime){
		.offset_ns = ranks_wall_ns(run),
		.bound_ns = group_clock(run->group).bound_ns,
	};
}

int64_t ranks_wall_ns(const struct run *run)
{
	return group_wall_ns(run->group) + group_clock(run->group).offset_ns;
}

bool ranks_begin_pass(struct run *run, bool more, bool over)
{
	unsigned votes = (more ? GROUP_MORE : 0) | (over ? GROUP_END : 0);

	if (!run->group)
		return more && !over;
	if (stop_requested(&run->stop))
		votes |= GROUP_STOP;
	if (group_vote(run->group, votes, &votes) || votes & (GROUP_STOP | GROUP_END) ||
	    !(votes & GROUP_MORE))
		return false;
	/* All ranks go there, also those that are stopped meanwhile. */
	return group_barrier(run->group, NULL, NULL) == 0;
}

void ranks_released(struct run *run, uint64_t pass, uint64_t at_ns)
{
	if (run->group)
		group_released(run->group, pass, at_ns);
}
