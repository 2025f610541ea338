/*
 * Starting threads: many of them, so with a small stack each. Private to src/run, but for
 * thread_error().
 */
#ifndef XDD_RUN_THREAD_H
#define XDD_RUN_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Start `fn(arg)` in a joinable thread that no signal from outside reaches. Returns 0 or -errno. Any thread. */
int thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);

/* The size of their stacks; 0: that of the system. */
size_t thread_stack_bytes(void);

/*
 * Whether a limit that is known keeps this process from starting `more` threads; `text` says which,
 * and for how many there is room. Counts of others may change the next moment. Any thread.
 */
bool thread_limit_exceeded(uint64_t more, char *text, size_t size);

/* What -errno of thread_start() means, with the limit that is to blame where it is known; `text` may hold it. */
const char *thread_error(int err, char *text, size_t size);

#define THREAD_TEXT_SIZE 256

#endif
