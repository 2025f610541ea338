/*
 * Events: sleeping on a counter. Called by the QThreads of targets that wait for each other.
 */
#include "xdd/sync/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "xdd/sync/futex.h"
#include "xdd/sys/clock.h"

void event_init(struct event *e)
{
	atomic_init(&e->count, 0);
	atomic_init(&e->listeners, 0);
}

uint32_t event_listen(struct event *e)
{
	atomic_fetch_add(&e->listeners, 1);
	return atomic_load(&e->count);
}

void event_leave(struct event *e)
{
	atomic_fetch_sub(&e->listeners, 1);
}

void event_wait(struct event *e, uint32_t key, uint64_t until_ns)
{
	const bool limited = until_ns != UINT64_MAX;
	struct timespec until;

	while (atomic_load(&e->count) == key && (!limited || clock_now_ns() < until_ns)) {
		if (limited)
			until = clock_deadline(until_ns);
		futex_wait(&e->count, key, limited ? &until : NULL);
	}
	event_leave(e);
}

void event_wake(struct event *e)
{
	atomic_fetch_add(&e->count, 1);
	futex_wake_all(&e->count);
}
