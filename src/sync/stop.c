/*
 * The end of a run. stop_request() is called by the signal thread, by threads that could not start
 * and by -stoponerror; stop_sleep_until() by the throttle and the other waits for a time.
 */
#include "xdd/sync/stop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xdd/base/memory.h"
#include "xdd/sync/barrier.h"
#include "xdd/sync/futex.h"
#include "xdd/sys/clock.h"

void stop_init(struct stop *s)
{
	memset(s, 0, sizeof(*s));
	atomic_init(&s->first, 0);
	atomic_init(&s->reason, STOP_NONE);
	atomic_init(&s->detail, 0);
	atomic_init(&s->wake, 0);
}

int stop_on_request(struct stop *s, void (*cancel)(void *arg), void *arg)
{
	struct stop_hook *hooks = array_room(s->hooks, s->n_hooks, sizeof(*hooks));

	if (!hooks)
		return -ENOMEM;
	s->hooks = hooks;
	s->hooks[s->n_hooks++] = (struct stop_hook){ cancel, arg };
	return 0;
}

static void cancel_barrier(void *arg)
{
	barrier_cancel(arg);
}

int stop_register(struct stop *s, struct barrier *b)
{
	return stop_on_request(s, cancel_barrier, b);
}

bool stop_request(struct stop *s, enum stop_reason reason, int detail)
{
	uint64_t mine = (uint64_t)reason << 32 | (uint32_t)detail;
	uint64_t first = 0;
	bool won;

	if (reason == STOP_NONE)
		return false;
	won = atomic_compare_exchange_strong(&s->first, &first, mine);
	if (won)
		first = mine;

	/*
	 * Every caller publishes the first request, its own or not, so that each of them finds the
	 * run stopped when it returns. The detail is stored first, so that readers of the reason
	 * find it.
	 */
	atomic_store(&s->detail, (int)(uint32_t)first);
	atomic_store(&s->reason, (int)(first >> 32));
	if (!won)
		return false;

	atomic_store(&s->wake, 1);
	futex_wake_all(&s->wake);
	for (size_t i = 0; i < s->n_hooks; i++)
		s->hooks[i].cancel(s->hooks[i].arg);
	return true;
}

int stop_sleep_until(struct stop *s, uint64_t deadline_ns)
{
	for (;;) {
		struct timespec deadline;

		if (stop_why(s) != STOP_NONE)
			return -ECANCELED;
		if (clock_now_ns() >= deadline_ns)
			return 0;
		deadline = clock_deadline(deadline_ns);
		futex_wait(&s->wake, 0, &deadline);
	}
}

void stop_destroy(struct stop *s)
{
	free(s->hooks);
	s->hooks = NULL;
	s->n_hooks = 0;
}
