/*
 * SIGINT, SIGTERM and SIGHUP: the first ends the run in good order, the second at once. SIGUSR1
 * requests a line of the heartbeat. "xdd/sync/thread.h" has the thread that takes them.
 */
#include "xdd/run/signals.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "run/progress/heartbeat.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/plan/plan.h"
#include "xdd/report/progress_line.h"
#include "xdd/sync/wait.h"

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

void signals_progress(struct signals *s, struct progress_line *p)
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
