/*
 * The end of a run, which any thread may request: a reason that is set once, and waits that end
 * with it.
 *
 * Every wait in the program is either registered here or stop_sleep_until(), so one stop_request()
 * ends them all. Any thread may call these functions, except stop_init(), stop_register(),
 * stop_on_request() and stop_destroy(), which belong to the thread that sets up the run.
 */
#ifndef XDD_SYNC_STOP_H
#define XDD_SYNC_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct barrier;

enum stop_reason {
	STOP_NONE,
	STOP_START,  /* a target or a thread could not start */
	STOP_SIGNAL, /* the user asked */
	STOP_ERROR,  /* -stoponerror */
};

/* A kind of wait, and the function that ends it. */
struct stop_hook {
	void (*cancel)(void *arg);
	void *arg;
};

struct stop {
	/*
	 * atomic: reason and detail of the first stop_request() in one word; 0: none. stop.c only
	 */
	_Atomic uint64_t first;

	/* atomic: enum stop_reason; the first reason wins */
	_Atomic int reason;

	/* atomic: detail of the reason: a signal number or an errno; read it after stop_why() */
	_Atomic int detail;

	/* atomic: the word that sleepers wait on; changes when the run stops */
	_Atomic uint32_t wake;

	/* const once the threads run */
	struct stop_hook *hooks;
	size_t n_hooks;
};

void stop_init(struct stop *s);

/* Have `b` cancelled by stop_request(). Returns 0 or -ENOMEM. `b` must outlive `s`. */
int stop_register(struct stop *s, struct barrier *b);

/*
 * Have stop_request() call `cancel(arg)`, in its thread. Returns 0 or -ENOMEM. `arg` must outlive
 * `s`.
 */
int stop_on_request(struct stop *s, void (*cancel)(void *arg), void *arg);

/* Ask the run to stop. Returns true when this call was the first. Not for signal handlers. */
bool stop_request(struct stop *s, enum stop_reason reason, int detail);

static inline bool stop_requested(const struct stop *s)
{
	return atomic_load_explicit(&s->reason, memory_order_relaxed) != STOP_NONE;
}

static inline enum stop_reason stop_why(const struct stop *s)
{
	return (enum stop_reason)atomic_load(&s->reason);
}

/*
 * Sleep until clock_now_ns() reaches `deadline_ns`. Returns 0, or -ECANCELED at once when the run
 * stops or had stopped already.
 */
int stop_sleep_until(struct stop *s, uint64_t deadline_ns);

/* Free the list of registered waits. The objects themselves belong to the caller. */
void stop_destroy(struct stop *s);

#endif
