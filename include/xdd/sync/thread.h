/*
 * Threads: a run has many of them, so each has a small stack.
 */
#ifndef XDD_SYNC_THREAD_H
#define XDD_SYNC_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Start `fn(arg)` in a joinable thread that receives no signal from outside. Returns 0 or -errno.
 * Any thread.
 */
int thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);

/* Size of their stacks; 0: the default of the system. Any thread. */
size_t thread_stack_bytes(void);

/*
 * True: a known limit keeps this process from starting `more` threads; `text` names the limit and
 * the room it leaves. Counts of other processes may change at any time. Any thread.
 */
bool thread_limit_exceeded(uint64_t more, char *text, size_t size);

/*
 * Explain -errno of thread_start(), with the limit that caused it where that is known. Returns a
 * text, perhaps in `text`. Any thread.
 */
const char *thread_error(int err, char *text, size_t size);

#define THREAD_TEXT_SIZE 256

#endif
