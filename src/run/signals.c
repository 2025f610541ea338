/*
 * SIGINT, SIGTERM and SIGHUP: the first ends the run in good order, the second at once. SIGUSR1 asks for
 * a line of the heartbeat. One thread waits for them; all others have them blocked.
 */
#include "xdd/run/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/debug.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/run/internal.h"
#include "xdd/run/observe.h"

/* Private to this module: tells the thread to go. */
#define SIGNALS_QUIT SIGRTMIN

/*
 * What comes so soon after the first signal is part of it: timeout(1) sends to the program and to its
 * group, and sudo(8) passes on what the terminal has sent to both.
 */
#define SAME_SIGNAL_NS (UNITS_NS_PER_SEC / 10)

static void signals_set(sigset_t *set)
{
	struct sigaction old;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGNALS_QUIT);
	/* nohup has it ignored, and means it. */
	if (sigaction(SIGHUP, NULL, &old) != 0 || old.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
}

/* What the first signal means for what there is to do. */
static const char *const consequences[] = {
	[SIGNALS_BEFORE] = "nothing is begun",
	[SIGNALS_DURING] = "no further operations are issued",
	[SIGNALS_AFTER] = "the results are being written",
};

static void take_first(struct signals *s, int sig)
{
	pthread_mutex_lock(&s->lock);
	s->sig = sig;
	log_notice("signal %d, SIG%s: %s; once more ends at once", sig, sigabbrev_np(sig),
		   consequences[s->when]);
	if (s->run)
		run_stop(s->run, STOP_SIGNAL, sig);
	pthread_mutex_unlock(&s->lock);
}

static void show_progress(struct signals *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->run && debug_on(DEBUG_USER1))
		observe_state(s->run);
	if (s->run)
		heartbeat_now(&s->run->heartbeat);
	pthread_mutex_unlock(&s->lock);
}

static void *signals_main(void *arg)
{
	struct signals *s = arg;
	uint64_t first_ns = 0;
	sigset_t set;

	debug_line(DEBUG_TASK, "signals: thread %d starts", gettid());
	signals_set(&set);
	for (;;) {
		int sig = sigwaitinfo(&set, NULL);

		if (sig < 0)
			continue;
		if (sig == SIGNALS_QUIT)
			break;
		if (sig == SIGUSR1) {
			show_progress(s);
			continue;
		}
		if (first_ns && clock_kernel_ns() - first_ns < SAME_SIGNAL_NS)
			continue;
		if (first_ns)
			_exit(XDD_CANCELED);
		first_ns = clock_kernel_ns();
		take_first(s, sig);
	}
	debug_line(DEBUG_TASK, "signals: thread %d ends", gettid());
	return NULL;
}

int signals_start(struct signals *s)
{
	sigset_t set;
	int err;

	s->when = SIGNALS_BEFORE;
	s->run = NULL;
	s->sig = 0;
	pthread_mutex_init(&s->lock, NULL);
	signals_set(&set);
	err = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (!err)
		err = pthread_create(&s->thread, NULL, signals_main, s);
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

void signals_end(struct signals *s)
{
	pthread_kill(s->thread, SIGNALS_QUIT);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
}
