/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common parts of the bare loops: arguments, threads, offsets, and the line of results.
 *
 * A limit program is limit.c and one file with a loop. It does the work of a benchmark's hot path
 * and nothing else, so its figures are the limit of the machine. tests/bench/run compiles and runs
 * them.
 */
#ifndef XDD_BENCH_LIMIT_H
#define XDD_BENCH_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* From the command line; const once the threads run. */
struct limit_args {
	const char *path;    /* -f; NULL: no file */
	size_t size;	     /* -s: bytes of a request */
	uint64_t span_bytes; /* -p: bytes of the file to use, from its start */
	unsigned threads;    /* -t */
	unsigned depth;	     /* -q: outstanding in each thread; asynchronous loops only */
	uint64_t ops;	     /* -n: of all threads; UINT64_MAX: until the time is over */
	double seconds;	     /* -T; 0: until the operations are done */
	bool direct;	     /* -d: O_DIRECT */
	bool random;	     /* -r: random offsets; otherwise sequential, repeated */
	bool batch;	     /* -b: submit in batches; otherwise each replacement at once */
	bool fixed;	     /* -F: registered buffers and file */
	bool defer;	     /* -D: single issuer and deferred task work */
};

struct limit_thread {
	/* const after creation */
	const struct limit_args *args;
	unsigned number;
	uint64_t ops;	      /* its share */
	uint64_t first_bytes; /* start of its extent of the file */
	uint64_t slots;	      /* whole requests in the extent */

	/* owned by the thread, set before its loop starts */
	int fd;
	char *buf; /* depth * size bytes, touched, page aligned, from 2 MiB up huge-page aligned */
	void *ctx; /* of the loop */

	/* owned by the thread */
	uint64_t next_slot;
	uint64_t random_state;
	uint64_t done; /* operations: the loop counts here */
	uint64_t start_ns, end_ns;
	double cpu_s;
	int error; /* 0 or -errno */
};

struct limit_loop {
	int (*prepare)(struct limit_thread *t); /* in the thread; may be NULL; 0 or -errno */
	int (*run)(struct limit_thread *t);	/* the timed loop; 0 or -errno */
};

/* Set when the time is over. */
extern _Atomic bool limit_stop;

/*
 * Run the loop as the arguments say and print "<ops> <seconds> <CPU seconds>". Returns the status
 * for main().
 */
int limit_main(int argc, char **argv, const struct limit_loop *loop);

static inline uint64_t limit_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* True if no further operation may be started after `started` ones. */
static inline bool limit_over(const struct limit_thread *t, uint64_t started)
{
	return started >= t->ops || atomic_load_explicit(&limit_stop, memory_order_relaxed);
}

/* Offset of the next operation. */
static inline uint64_t limit_next(struct limit_thread *t)
{
	uint64_t slot, x;

	if (t->args->random) {
		/* xorshift64 */
		x = t->random_state;
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		t->random_state = x;
		slot = (uint64_t)((unsigned __int128)x * t->slots >> 64);
	} else {
		slot = t->next_slot;
		t->next_slot = slot + 1 < t->slots ? slot + 1 : 0;
	}
	return t->first_bytes + slot * t->args->size;
}

#endif
