/*
 * SIGINT, SIGTERM and SIGHUP: the first ends the run in good order, the second at once. SIGUSR1
 * requests a line of the heartbeat. One thread waits for them; all other threads have them blocked.
 *
 * That thread also writes messages, so it must not depend on their reader: it waits only briefly
 * for room in an output, and a handler takes the second signal.
 */
#include "xdd/run/signals.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "run/progress/heartbeat.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/debug.h"
#include "xdd/base/log.h"
#include "xdd/base/nstime.h"
#include "xdd/base/outwait.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/stop.h"

/* Private to this module: ends the thread. */
#define SIGNALS_QUIT SIGRTMIN

/*
 * A signal this soon after the first is part of it: timeout(1) sends to the program and to its
 * group, and sudo(8) repeats what the terminal has sent to both.
 */
#define SAME_SIGNAL_NS (NS_PER_SEC / 10)

/* How long messages of the signal thread wait for room: no second signal can come in this time. */
#define MESSAGE_NS SAME_SIGNAL_NS

/* atomic: clock from which a signal is the second one */
static _Atomic uint64_t second_from_ns;

/* The signals that end a run. */
static void set_of_ends(sigset_t *set)
{
	struct sigaction old;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	/* nohup makes the process ignore it on purpose. */
	if (sigaction(SIGHUP, NULL, &old) != 0 || old.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
}

static void set_of_others(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGNALS_QUIT);
}

void signals_block_progress(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* ---- the signal thread ---- */

static void end_at_once(int sig)
{
	(void)sig;
	if (clock_kernel_ns() >= atomic_load(&second_from_ns))
		_exit(XDD_CANCELED);
}

/* From here on the second signal ends the process, whatever the signal thread does or waits for. */
static void expect_second(void)
{
	struct sigaction action = { .sa_handler = end_at_once, .sa_flags = SA_RESTART };
	sigset_t ends;

	atomic_store(&second_from_ns, clock_kernel_ns() + SAME_SIGNAL_NS);
	set_of_ends(&ends);
	sigfillset(&action.sa_mask);
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		if (sigismember(&ends, sig) == 1)
			sigaction(sig, &action, NULL);
	}
	pthread_sigmask(SIG_UNBLOCK, &ends, NULL);
}

/* Consequence of the first signal in each phase. */
static const char *const consequences[] = {
	[SIGNALS_BEFORE] = "nothing is begun",
	[SIGNALS_DURING] = "no further operations are issued",
	[SIGNALS_AFTER] = "the results are being written",
};

static void take_first(struct signals *s, int sig)
{
	expect_second();
	outwait_end();
	pthread_mutex_lock(&s->lock);
	s->sig = sig;
	if (s->run)
		run_stop(s->run, STOP_SIGNAL, sig);
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

static void show_progress(struct signals *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->run && debug_on(DEBUG_USER1))
		debug_state(s->run);
	if (s->run)
		heartbeat_now(&s->run->heartbeat);
	pthread_mutex_unlock(&s->lock);
}

static void *signals_main(void *arg)
{
	struct signals *s = arg;
	sigset_t set, ends;
	bool first = true;

	outwait_limit(clock_kernel_ns() + MESSAGE_NS);
	debug_line(DEBUG_TASK, "signals: thread %d starts", gettid());
	set_of_others(&set);
	set_of_ends(&ends);
	sigorset(&set, &set, &ends);
	for (;;) {
		int sig = sigwaitinfo(&set, NULL);

		if (sig < 0)
			continue;
		outwait_limit(clock_kernel_ns() + MESSAGE_NS);
		if (sig == SIGNALS_QUIT)
			break;
		if (sig == SIGUSR1) {
			show_progress(s);
		} else if (first) {
			first = false;
			set_of_others(&set);
			take_first(s, sig);
		}
	}
	debug_line(DEBUG_TASK, "signals: thread %d ends", gettid());
	return NULL;
}

int signals_start(struct signals *s)
{
	sigset_t set, ends, old;
	int err;

	s->when = SIGNALS_BEFORE;
	s->run = NULL;
	s->sig = 0;
	pthread_mutex_init(&s->lock, NULL);
	set_of_others(&set);
	set_of_ends(&ends);
	sigorset(&set, &set, &ends);
	err = pthread_sigmask(SIG_BLOCK, &set, &old);
	if (err)
		return -err;
	err = pthread_create(&s->thread, NULL, signals_main, s);
	if (err)
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
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
	pthread_kill(s->thread, SIGNALS_QUIT);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
}
