/*
 * Starting threads. Called for QThreads, the results manager and their like.
 */
#include "xdd/run/thread.h"

#include <signal.h>

/* Room for a few frames and a line of text; the sanitizers want far more. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define THREAD_STACK_BYTES (256 * 1024)
#else
#define THREAD_STACK_BYTES 0
#endif

/*
 * Signals from outside are for the one thread that waits for them, whichever threads there are before
 * it. Those that a thread brings upon itself stay as they are.
 */
static void block_signals(sigset_t *old)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGSEGV);
	sigdelset(&set, SIGBUS);
	sigdelset(&set, SIGFPE);
	sigdelset(&set, SIGILL);
	sigdelset(&set, SIGABRT);
	sigdelset(&set, SIGTRAP);
	sigdelset(&set, SIGSYS);
	sigdelset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

size_t thread_stack_bytes(void)
{
	return THREAD_STACK_BYTES;
}

int thread_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t old;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	if (thread_stack_bytes())
		err = pthread_attr_setstacksize(&attr, thread_stack_bytes());
	block_signals(&old);
	if (!err)
		err = pthread_create(thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}
