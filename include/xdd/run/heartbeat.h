/*
 * The heartbeat: a thread that shows how far the targets are while they run. Private to src/run.
 */
#ifndef XDD_RUN_HEARTBEAT_H
#define XDD_RUN_HEARTBEAT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/base/counters.h"
#include "xdd/base/latency.h"
#include "xdd/plan/plan.h"
#include "xdd/report/heartbeat.h"

struct run;
struct target;

/* The pass of a target that was complete last. */
struct heartbeat_last {
	uint64_t pass; /* 0: none */
	bool cut;      /* the run was stopped before it was complete */
	uint64_t limit_ns;
	uint64_t ops;
	uint64_t done_ops;
	uint64_t bytes;
	uint64_t elapsed_ns;

	/* for the latency of an interval: the pass that a line was last about, and what it had then */
	uint64_t shown_pass;
	struct latency shown;
};

/* Lines that go to one place at one interval: standard error, or the file of a target. */
struct heartbeat_stream {
	struct outfile file; /* not open: standard error */
	bool redrawn;	     /* on a terminal, each over the one before */
	bool unasked;	     /* the progress that a terminal gets by itself */
	uint32_t first;	     /* of the targets whose lines go here */
	uint32_t last;
	uint64_t interval_ns;
	uint64_t next_ns;
	uint64_t beats;
};

struct heartbeat {
	/* const after heartbeat_start() */
	struct run *run;
	uint64_t start_ns;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;
	pthread_cond_t changed;

	/* guarded by lock */
	bool quit;
	struct heartbeat_last *last; /* one a target */
	struct heartbeat_sample *samples;
	struct heartbeat_stream *streams;
	size_t n_streams;
};

/*
 * Set up, open the files of -heartbeat output, and start the thread where anything is to be shown. Returns
 * 0 or -errno, then with one line given to log_error() where a file is to blame. By the thread that sets up
 * the run, before there are others.
 */
int heartbeat_start(struct heartbeat *h, struct run *run);

/* A pass of `t` is complete: its last QThread says so before it sets up the next. */
void heartbeat_pass_done(struct heartbeat *h, const struct target *t, const struct tally *tally);

/* A QThread has its histograms: from now on lines may look at them. */
void heartbeat_ready(struct heartbeat *h);

/* Write a line of all targets to standard error. Any thread. */
void heartbeat_now(struct heartbeat *h);

/*
 * Write the last lines, and end the thread. By the results manager, before it writes how the run ended;
 * again is harmless.
 */
void heartbeat_end(struct heartbeat *h);

/* Free what heartbeat_start() made; accepts a zeroed one. */
void heartbeat_destroy(struct heartbeat *h);

#endif
