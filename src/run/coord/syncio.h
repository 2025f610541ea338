/*
 * -syncio: the targets of a pass meet after every so many operations. Private to src/run.
 *
 * A target is in round r once r times that many of its operations are complete. Round r is open, so
 * that its operations may be issued, once all targets that have not ended their pass are in it. The
 * state is kept for two passes, because some targets set up the next pass while others are still in
 * the one before.
 */
#ifndef XDD_RUN_COORD_SYNCIO_H
#define XDD_RUN_COORD_SYNCIO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct syncio_target {
	uint64_t round;
	bool over;
};

struct syncio_pass {
	/* atomic: the round that is open */
	_Atomic uint64_t open;

	/* guarded by syncio.lock */
	uint64_t pass;
	size_t missing; /* targets not over and not past the open round */
	struct syncio_target *targets;
};

struct syncio {
	/* const after syncio_init() */
	size_t n_targets;

	pthread_mutex_t lock;
	struct syncio_pass passes[2];
};

/* Returns 0 or -errno. Main thread. */
int syncio_init(struct syncio *s, size_t n_targets);

/* Accepts zeroed memory that was never set up. */
void syncio_destroy(struct syncio *s);

/* Set up pass `pass`, from 1, of a target. Before any of its operations. */
void syncio_begin(struct syncio *s, size_t target, uint64_t pass);

/* Number of the round that is open in this pass. Any thread. */
static inline uint64_t syncio_open(const struct syncio *s, uint64_t pass)
{
	return atomic_load(&s->passes[pass & 1].open);
}

/*
 * A target has completed its operations before those of `round`. True: that opened a round. Any
 * thread.
 */
bool syncio_reach(struct syncio *s, size_t target, uint64_t pass, uint64_t round);

/* A target has ended its pass. True: that opened a round. Any thread. */
bool syncio_leave(struct syncio *s, size_t target, uint64_t pass);

#endif
