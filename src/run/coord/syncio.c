/*
 * Rounds of -syncio. Called by the gate.
 */
#include "run/coord/syncio.h"

#include <errno.h>
#include <stdlib.h>

int syncio_init(struct syncio *s, size_t n_targets)
{
	int err = pthread_mutex_init(&s->lock, NULL);

	if (err)
		return -err;
	s->n_targets = n_targets;
	for (int i = 0; i < 2; i++) {
		s->passes[i].targets = calloc(n_targets, sizeof(*s->passes[i].targets));
		if (!s->passes[i].targets)
			return -ENOMEM;
	}
	return 0;
}

void syncio_destroy(struct syncio *s)
{
	if (!s->n_targets)
		return;
	for (int i = 0; i < 2; i++)
		free(s->passes[i].targets);
	pthread_mutex_destroy(&s->lock);
	s->n_targets = 0;
}

void syncio_begin(struct syncio *s, size_t target, uint64_t pass)
{
	struct syncio_pass *p = &s->passes[pass & 1];

	pthread_mutex_lock(&s->lock);
	/* The first target sets up for all: none of them is in the round that opens next. */
	if (p->pass != pass) {
		p->pass = pass;
		p->missing = s->n_targets;
		atomic_store(&p->open, 0);
	}
	p->targets[target] = (struct syncio_target){ 0 };
	pthread_mutex_unlock(&s->lock);
}

/* All targets are past the open round: open that of the slowest. With s->lock. */
static bool open_next(struct syncio *s, struct syncio_pass *p)
{
	uint64_t lowest = UINT64_MAX;
	size_t missing = 0;

	for (size_t i = 0; i < s->n_targets; i++) {
		const struct syncio_target *t = &p->targets[i];

		if (t->over || t->round > lowest)
			continue;
		missing = t->round == lowest ? missing + 1 : 1;
		lowest = t->round;
	}
	if (!missing)
		return false;
	p->missing = missing;
	atomic_store(&p->open, lowest);
	return true;
}

bool syncio_reach(struct syncio *s, size_t target, uint64_t pass, uint64_t round)
{
	struct syncio_pass *p = &s->passes[pass & 1];
	struct syncio_target *t = &p->targets[target];
	uint64_t open, was;
	bool opened = false;

	pthread_mutex_lock(&s->lock);
	open = atomic_load(&p->open);
	was = t->round;
	/* QThreads may arrive here out of order. */
	if (round > was)
		t->round = round;
	if (was <= open && t->round > open && --p->missing == 0)
		opened = open_next(s, p);
	pthread_mutex_unlock(&s->lock);
	return opened;
}

bool syncio_leave(struct syncio *s, size_t target, uint64_t pass)
{
	struct syncio_pass *p = &s->passes[pass & 1];
	struct syncio_target *t = &p->targets[target];
	bool opened = false;

	pthread_mutex_lock(&s->lock);
	t->over = true;
	if (t->round <= atomic_load(&p->open) && --p->missing == 0)
		opened = open_next(s, p);
	pthread_mutex_unlock(&s->lock);
	return opened;
}
