/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contexts of engines for unit tests, and a kernel that can be told what to do.
 *
 * engine_rig.c has an io_setup, io_submit and io_getevents of its own: they can be told to fail, to
 * hold requests back and to move less than asked for. The functions that set io_uring up and submit
 * to it call those of liburing.
 */
#ifndef TESTS_UNIT_ENGINE_RIG_H
#define TESTS_UNIT_ENGINE_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "xdd/io/engine.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BLOCK 4096u
#define BLOCKS 256u
#define TAIL 700u /* the file does not end at a block */
#define SIZE (BLOCKS * BLOCK + TAIL)
#define DEPTH 128u
#define QUICK_NS 1000000000u /* nothing was waited for, on a busy machine */

/* The file, its content, and the memory of the buffers. */
extern char path[];
extern unsigned char *data, *memory;

/* Instructions to the functions that replace those of the libraries, and counts of their calls. */
struct fake_kernel {
	long room;  /* requests that are taken in one call */
	int refuse; /* the next calls: -errno, so many times */
	int refusals;
	bool hold; /* take requests without carrying them out */
	void *held[DEPTH];
	long n_held;
	long cut; /* bytes: the most that a transfer moves; 0: no limit */
	unsigned submits;
	unsigned contexts; /* that were made */

	/* of io_uring; `refuse` and `refusals` are for it, too */
	unsigned ring_flags; /* that the kernel knows */
	bool no_files;	     /* it takes none */
	bool no_buffers;
	int taken;	/* requests */
	unsigned asked; /* for completions, by io_uring without a wait */
};

extern struct fake_kernel kernel;

/* A kernel that does what it is asked for. */
void kernel_reset(void);

int io_submit(void *ctx, long n, void **iocbs);

/* An engine with keywords. */
struct variant {
	const char *engine;
	const char *keywords;
};

/* A context, its requests and their buffers. */
struct rig {
	const struct engine *engine;
	struct target_plan plan;
	void *ctx;
	int fd;
	unsigned depth;
	struct iovec buffers[DEPTH];
	struct io_request requests[DEPTH];
	struct io_request *done[DEPTH];
	struct err why;
};

/* All but the context. */
void rig_prepare(struct rig *r, const struct variant *v, int fd, unsigned depth, bool direct);

/* Returns what init does. */
int rig_init(struct rig *r);

/* Both; returns what init does. */
int rig_try(struct rig *r, const struct variant *v, int fd, unsigned depth, bool direct);

/* As rig_try(); init must succeed. */
void rig_open(struct rig *r, const struct variant *v, int fd, unsigned depth, bool direct);

/* Closes its file as well. */
void rig_close(struct rig *r);

/*
 * Reap like a caller that ignores signals: until `min` have come, or `want` where there is no time
 * limit, or one call has lasted for `timeout_ns`. The rings of the tests before are taken apart by
 * and by, and that wakes the thread that had them. Returns how many came, in `r->done`; `*last_ns`,
 * which may be NULL, says how long the last call was.
 */
int reap(struct rig *r, unsigned min, unsigned max, uint64_t timeout_ns, int want,
	 uint64_t *last_ns);

/* As reap(); the number must be `want`. Returns how long the last call was. */
uint64_t reap_ns(struct rig *r, unsigned min, uint64_t timeout_ns, int want);

/* Submit the request of that slot. */
struct io_request *start(struct rig *r, unsigned slot, enum op_dir dir, uint64_t offset,
			 uint64_t size);

/* True if this build and this kernel have the engine and its keywords. */
bool offered(const struct variant *v);

int open_file(int flags);

/* Keep the depth filled, and check every byte. */
void fill_depth(const struct variant *v, int flags);

/* For a group of tests. */
int make_file(void **state);
int remove_file(void **state);

/* The file as it is at the start of each test. */
int refill(void **state);

#endif
