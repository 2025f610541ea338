/*
 * A condition that threads wait for without a lock. A thread that changes the condition signals the
 * event, at the cost of one load while no thread waits.
 *
 *	key = event_listen(e);
 *	if (the condition holds)
 *		event_leave(e);
 *	else
 *		event_wait(e, key, until_ns);
 *
 * in a loop. The condition lies in atomics that are stored and loaded in sequential consistency:
 * then either the waiter sees the change or the signal finds the waiter.
 */
#ifndef XDD_SYNC_EVENT_H
#define XDD_SYNC_EVENT_H

#include <stdatomic.h>
#include <stdint.h>

struct event {
	/* atomic: changes with every signal that has a listener; the waiters sleep on it */
	_Atomic uint32_t count;

	/* atomic: threads between event_listen() and the end of their wait */
	_Atomic uint32_t listeners;
};

/* The caller owns the memory; there is nothing to destroy. */
void event_init(struct event *e);

/* Begin to count signals; one event_leave() or event_wait() ends it. Any thread. */
uint32_t event_listen(struct event *e);
void event_leave(struct event *e);

/*
 * Sleep until there was a signal since event_listen() gave `key`, or clock_now_ns() reaches
 * `until_ns`.
 */
void event_wait(struct event *e, uint32_t key, uint64_t until_ns);

/* Wake all that listen. Any thread. */
void event_wake(struct event *e);

/*
 * As event_wake(), without a system call while no thread listens: for changes that are frequent.
 * Any thread.
 */
static inline void event_signal(struct event *e)
{
	if (__builtin_expect(atomic_load(&e->listeners) != 0, 0))
		event_wake(e);
}

#endif
