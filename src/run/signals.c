/*
 * SIGINT, SIGTERM and SIGHUP: the first ends the run in good order, the second at once. SIGUSR1 asks for
 * a line of the heartbeat. One thread waits for them; all others have them blocked. Used by run_execute().
 */
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
			if (debug_on(DEBUG_USER1))
				observe_state(s->run);
			heartbeat_now(&s->run->heartbeat);
			continue;
		}
		if (first_ns && clock_kernel_ns() - first_ns < SAME_SIGNAL_NS)
			continue;
		if (first_ns)
			_exit(XDD_CANCELED);
		first_ns = clock_kernel_ns();
		log_notice(
			"signal %d, SIG%s: no further operations are issued; once more ends at once",
			sig, sigabbrev_np(sig));
		run_stop(s->run, STOP_SIGNAL, sig);
	}
	debug_line(DEBUG_TASK, "signals: thread %d ends", gettid());
	return NULL;
}

int signals_start(struct signals *s, struct run *run)
{
	sigset_t set;
	int err;

	s->run = run;
	signals_set(&set);
	err = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (!err)
		err = pthread_create(&s->thread, NULL, signals_main, s);
	s->started = !err;
	return -err;
}

void signals_end(struct signals *s)
{
	if (!s->started)
		return;
	pthread_kill(s->thread, SIGNALS_QUIT);
	pthread_join(s->thread, NULL);
	s->started = false;
}
