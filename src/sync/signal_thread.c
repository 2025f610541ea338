/*
 * One thread waits for the signals that end a program; all other threads have them blocked. Called
 * for runs (src/run/progress/signals.c) and copies (src/copy/process.c).
 *
 * That thread also writes messages, so it must not depend on their reader: it waits only briefly
 * for room in an output, and a handler takes the second signal.
 */
#include "xdd/sync/signal_thread.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/base/units.h"

/* Private to this module: ends the thread. */
#define SIGNAL_QUIT SIGRTMIN

/* How long messages of the signal thread wait for room: no second signal can come in this time. */
#define MESSAGE_NS SAME_SIGNAL_NS

/* atomic: clock from which a signal is the second one */
static _Atomic uint64_t second_from_ns;

/* atomic: a signal of the parent repeats the first one, which came from elsewhere */
static atomic_bool parent_repeats;

static bool is_ignored(int sig)
{
	struct sigaction old;

	return sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

/* The signals that end the program. */
static void set_of_ends(const struct signal_thread *s, sigset_t *set)
{
	sigemptyset(set);
	if (!s->keep_ignored || !is_ignored(SIGINT))
		sigaddset(set, SIGINT);
	if (!s->keep_ignored || !is_ignored(SIGTERM))
		sigaddset(set, SIGTERM);
	/* nohup makes the process ignore it on purpose. */
	if (!is_ignored(SIGHUP))
		sigaddset(set, SIGHUP);
}

static void set_of_others(const struct signal_thread *s, sigset_t *set)
{
	sigemptyset(set);
	if (s->progress)
		sigaddset(set, SIGUSR1);
	sigaddset(set, SIGNAL_QUIT);
}

static bool is_from_parent(const siginfo_t *info)
{
	return info->si_code == SI_USER && info->si_pid == getppid();
}

static void end_at_once(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (is_from_parent(info) && atomic_exchange(&parent_repeats, false))
		return;
	if (clock_kernel_ns() >= atomic_load(&second_from_ns))
		_exit(XDD_CANCELED);
}

/* From here on the second signal ends the process, whatever the signal thread does or waits for. */
static void expect_second(const struct signal_thread *s, const siginfo_t *first)
{
	struct sigaction action = { .sa_sigaction = end_at_once,
				    .sa_flags = SA_RESTART | SA_SIGINFO };
	sigset_t ends;

	atomic_store(&parent_repeats, !is_from_parent(first));
	atomic_store(&second_from_ns, clock_kernel_ns() + SAME_SIGNAL_NS);
	set_of_ends(s, &ends);
	sigfillset(&action.sa_mask);
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		if (sigismember(&ends, sig) == 1)
			sigaction(sig, &action, NULL);
	}
	pthread_sigmask(SIG_UNBLOCK, &ends, NULL);
}

/* The next signal; 0 at `until_ns`; negative when there was none. */
static int wait_signal(const sigset_t *set, uint64_t until_ns, siginfo_t *info)
{
	uint64_t now = clock_kernel_ns(), left;
	struct timespec timeout;
	int sig;

	if (until_ns == UINT64_MAX)
		return sigwaitinfo(set, info);
	left = until_ns > now ? until_ns - now : 0;
	timeout = (struct timespec){ .tv_sec = (time_t)(left / NS_PER_SEC),
				     .tv_nsec = (long)(left % NS_PER_SEC) };
	sig = sigtimedwait(set, info, &timeout);
	return sig < 0 && errno == EAGAIN ? 0 : sig;
}

static void *signal_main(void *arg)
{
	struct signal_thread *s = arg;
	uint64_t late_ns = UINT64_MAX;
	sigset_t set, ends;
	bool first = true;

	outwait_limit(clock_kernel_ns() + MESSAGE_NS);
	debug_line(DEBUG_TASK, "signals: thread %d starts", gettid());
	set_of_others(s, &set);
	set_of_ends(s, &ends);
	sigorset(&set, &set, &ends);
	for (;;) {
		siginfo_t info;
		int sig = wait_signal(&set, late_ns, &info);

		if (sig < 0)
			continue;
		outwait_limit(clock_kernel_ns() + MESSAGE_NS);
		if (sig == SIGNAL_QUIT)
			break;
		if (sig == 0) {
			late_ns = UINT64_MAX;
			s->late(s->arg);
		} else if (sig == SIGUSR1) {
			s->progress(s->arg);
			hold(HOLD_SIGNAL_TAKEN);
		} else if (first) {
			first = false;
			set_of_others(s, &set);
			expect_second(s, &info);
			if (s->late)
				late_ns = clock_kernel_ns() + s->late_ns;
			s->first(s->arg, sig);
			hold(HOLD_SIGNAL_TAKEN);
		}
	}
	debug_line(DEBUG_TASK, "signals: thread %d ends", gettid());
	return NULL;
}

int signal_thread_start(struct signal_thread *s)
{
	sigset_t set, ends, old;
	int err;

	set_of_others(s, &set);
	set_of_ends(s, &ends);
	sigorset(&set, &set, &ends);
	err = pthread_sigmask(SIG_BLOCK, &set, &old);
	if (err)
		return -err;
	err = pthread_create(&s->thread, NULL, signal_main, s);
	if (err)
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	else
		hold(HOLD_SIGNALS_READY);
	return -err;
}

void signal_thread_end(struct signal_thread *s)
{
	pthread_kill(s->thread, SIGNAL_QUIT);
	pthread_join(s->thread, NULL);
}
