/*
 * The elapsed time of all targets together; see the header.
 *
 * With -nobarrier the window is the whole run, and targets report passes in any order. Up to the
 * time that each target has reached, no further pass can begin, so the spans before it are final
 * and only their length is kept.
 */
#include "run/results/window.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int window_init(struct window *w, size_t n_targets)
{
	*w = (struct window){ .room = n_targets, .n_targets = n_targets };
	w->spans = calloc(n_targets, sizeof(*w->spans));
	w->ends = calloc(n_targets, sizeof(*w->ends));
	if (w->spans && w->ends)
		return 0;
	window_destroy(w);
	return -ENOMEM;
}

void window_destroy(struct window *w)
{
	free(w->spans);
	free(w->ends);
	*w = (struct window){ 0 };
}

static void remove_spans(struct window *w, size_t at, size_t n)
{
	memmove(&w->spans[at], &w->spans[at + n], (w->n - at - n) * sizeof(*w->spans));
	w->n -= n;
}

/* Add the spans before `end_ns` to the length. */
static void settle(struct window *w, uint64_t end_ns)
{
	size_t done = 0;

	while (done < w->n && w->spans[done].last_ns <= end_ns) {
		w->busy_ns += w->spans[done].last_ns - w->spans[done].first_ns;
		done++;
	}
	remove_spans(w, 0, done);
	if (w->n && w->spans[0].first_ns < end_ns) {
		w->busy_ns += end_ns - w->spans[0].first_ns;
		w->spans[0].first_ns = end_ns;
	}
}

/* Returns false when there is no room for one more. */
static bool has_room(struct window *w)
{
	size_t room = w->room * 2;
	struct window_span *spans;

	if (w->n < w->room)
		return true;
	spans = reallocarray(w->spans, room, sizeof(*spans));
	if (!spans)
		return false;
	w->spans = spans;
	w->room = room;
	return true;
}

/* Join span `at` with those after it that it reaches. */
static void join(struct window *w, size_t at)
{
	struct window_span *s = &w->spans[at];
	size_t next = at + 1;

	while (next < w->n && w->spans[next].first_ns <= s->last_ns) {
		if (w->spans[next].last_ns > s->last_ns)
			s->last_ns = w->spans[next].last_ns;
		next++;
	}
	remove_spans(w, at + 1, next - at - 1);
}

static void insert(struct window *w, uint64_t first_ns, uint64_t last_ns)
{
	size_t at = w->n;

	while (at && w->spans[at - 1].first_ns > first_ns)
		at--;
	if (at && w->spans[at - 1].last_ns >= first_ns) {
		at--;
	} else if (has_room(w)) {
		memmove(&w->spans[at + 1], &w->spans[at], (w->n - at) * sizeof(*w->spans));
		w->spans[at] = (struct window_span){ first_ns, last_ns };
		w->n++;
	} else if (at) {
		at--;
	} else {
		w->spans[0].first_ns = first_ns;
	}
	if (w->spans[at].last_ns < last_ns)
		w->spans[at].last_ns = last_ns;
	join(w, at);
}

void window_add(struct window *w, size_t target, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t all = UINT64_MAX;

	if (last_ns <= first_ns)
		return;
	insert(w, first_ns, last_ns);
	w->ends[target] = last_ns;
	for (size_t i = 0; i < w->n_targets; i++) {
		if (w->ends[i] < all)
			all = w->ends[i];
	}
	settle(w, all);
}

/* A target that has ended its last pass is in no delay: from then on everything counts. */
uint64_t window_close(struct window *w)
{
	uint64_t first = UINT64_MAX, last = 0, ns;

	for (size_t i = 0; i < w->n_targets; i++) {
		if (w->ends[i] && w->ends[i] < first)
			first = w->ends[i];
		if (w->ends[i] > last)
			last = w->ends[i];
		w->ends[i] = 0;
	}
	if (last)
		settle(w, first);
	ns = w->busy_ns + (last ? last - first : 0);
	w->n = 0;
	w->busy_ns = 0;
	return ns;
}
