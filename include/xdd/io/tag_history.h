/*
 * The results of tagged reads of a target, to find data that is older than other data proves it
 * should be, in a run that only reads.
 *
 * A write of a sequential pass says in its tags what was written before it in the same pass. Once
 * such a tag is seen, older data in that extent, seen before or after, is a write that was lost.
 * Passes are told apart by the run, whose number grows with time, and by the generation with which
 * they began. What is kept is bounded: where data of too many passes alternates, some of it goes
 * unchecked.
 */
#ifndef XDD_IO_TAG_HISTORY_H
#define XDD_IO_TAG_HISTORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/io/tag.h"

#define TAG_HISTORY_STRETCHES 128
#define TAG_HISTORY_SWEEPS 16
#define TAG_HISTORY_RUNS 16
#define TAG_HISTORY_STALE 64

/* Data of one pass of a run. */
struct tag_extent {
	struct tag tag; /* of some sector of it */
	uint64_t offset;
	uint64_t end;
	uint64_t op; /* the read that saw it */
	uint64_t pass;
};

/* Data that is older than it should be. */
struct tag_stale {
	struct tag_extent what;
	struct tag newer; /* the tag that proves it */
};

struct tag_history {
	pthread_mutex_t lock;

	/* guarded by lock: what was seen, and still may prove too old */
	struct tag_extent seen[TAG_HISTORY_STRETCHES];
	unsigned n_seen;

	/* guarded by lock: from `offset` to `end`, nothing may be older than the pass of the tag */
	struct tag_extent sweeps[TAG_HISTORY_SWEEPS];
	unsigned n_sweeps;

	/* guarded by lock: which number this target had in the runs that wrote it */
	struct {
		uint64_t run;
		uint32_t target;
	} runs[TAG_HISTORY_RUNS];
	unsigned n_runs;

	/* guarded by lock: what has been found and not been taken */
	struct tag_stale stale[TAG_HISTORY_STALE];
	unsigned n_stale;
};

/* Returns 0 or -errno, with `*h` to be given to tag_history_free(), which accepts NULL. */
int tag_history_new(struct tag_history **h);
void tag_history_free(struct tag_history *h);

/* True if the data of `a` must have been written before that of `b`. */
bool tag_is_older(const struct tag *a, const struct tag *b);

/* True if they were written in the same pass of the same run. */
bool tag_same_pass(const struct tag *a, const struct tag *b);

/* Add an extent that was read; its tag is that of the highest offset in it. Any thread. */
void tag_history_add(struct tag_history *h, const struct tag_extent *s);

/* Take one that was found to be too old. False: there is none. Any thread. */
bool tag_history_take(struct tag_history *h, struct tag_stale *stale);

/*
 * True if data of a target that had this number in that run may be here: it has that number now
 * (`own`), or was found to have had it then. Any thread.
 */
bool tag_history_target(struct tag_history *h, const struct tag *tag, uint32_t own);

#endif
