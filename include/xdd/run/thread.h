/*
 * Starting threads: many of them, so with a small stack each. Private to src/run.
 */
#ifndef XDD_RUN_THREAD_H
#define XDD_RUN_THREAD_H

#include <pthread.h>

/* Start `fn(arg)` in a joinable thread that no signal from outside reaches. Returns 0 or -errno. Any thread. */
int thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);

#endif
