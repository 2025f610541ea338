/*
 * Starting threads. Called for QThreads, the results manager and their like.
 */
#include "xdd/run/thread.h"

/* Room for a few frames and a line of text; the sanitizers want far more. */
#define THREAD_STACK_BYTES (256 * 1024)

int thread_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	err = pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
#endif
	if (!err)
		err = pthread_create(thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return -err;
}
