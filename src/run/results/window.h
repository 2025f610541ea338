/*
 * The elapsed time of all targets together. Private to src/run; used by the results manager alone.
 *
 * It lasts from the earliest issue to the latest completion, without the times in which every
 * target was between two passes or before its first one: a delay counts unless all targets share
 * it.
 */
#ifndef XDD_RUN_RESULTS_WINDOW_H
#define XDD_RUN_RESULTS_WINDOW_H

#include <stddef.h>
#include <stdint.h>

/* A time in which some target was in a pass. */
struct window_span {
	uint64_t first_ns;
	uint64_t last_ns;
};

struct window {
	struct window_span *spans; /* disjoint, in order, not in `busy_ns` yet */
	uint64_t *ends;		   /* of each target: end of its latest pass; 0: none */
	size_t n, room, n_targets;
	uint64_t busy_ns;
};

/* Returns 0; or -ENOMEM, and then the window is one of no targets. */
int window_init(struct window *w, size_t n_targets);
void window_destroy(struct window *w);

/*
 * Add a pass of a target, after its earlier ones. All times in nanoseconds of one clock. When
 * memory is short, a pause of all targets may be counted as elapsed time.
 */
void window_add(struct window *w, size_t target, uint64_t first_ns, uint64_t last_ns);

/* End the window and begin the next. Returns its length in nanoseconds. */
uint64_t window_close(struct window *w);

#endif
