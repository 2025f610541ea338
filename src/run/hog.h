/*
 * The memory of -hogmemory, which is occupied before the first pass and until the end of the run,
 * so that the page cache cannot have it. Private to src/run. Main thread.
 */
#ifndef XDD_RUN_HOG_H
#define XDD_RUN_HOG_H

#include <stdbool.h>
#include <stddef.h>

struct run;

struct hog {
	void *memory; /* NULL: none */
	size_t bytes;
	int oom_before; /* the value to restore; -1: none */
};

/*
 * Occupy what the plan asks for; nothing without -hogmemory. Returns 0; -ECANCELED when the run was
 * stopped meanwhile; or another -errno, reported. hog_end() releases it in all cases.
 */
int hog_begin(struct hog *h, struct run *run);

/* Release it; accepts a hog that is all zeroes. */
void hog_end(struct hog *h);

#endif
