/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heartbeat: lines that show the progress of the targets. Private to src/run.
 *
 * The thread of the sampler makes them, and a thread of the heartbeat writes them: a reader that
 * stalls delays no sample.
 */
#ifndef XDD_RUN_PROGRESS_HEARTBEAT_H
#define XDD_RUN_PROGRESS_HEARTBEAT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/plan/plan.h"
#include "xdd/report/heartbeat.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"

struct progress_line;
struct run;
struct target;

/* History that the lines of a target need. */
struct heartbeat_target {
	/* the pass that was completed last; 0: none */
	uint64_t pass;
	bool cut; /* the run was stopped before it was complete */
	uint64_t limit_ns;
	uint64_t ops;
	uint64_t done_ops;
	uint64_t bytes;
	uint64_t elapsed_ns;
	uint64_t end_ns;

	/* the latencies of its operations that no line has shown; 0: there are none */
	double median_ns; /* NAN: too few operations */
	double p99_ns;
	uint64_t longest_ns;

	/* the last line: its pass, when it was made, and what it counted */
	uint64_t line_pass;
	uint64_t line_ns;
	uint64_t line_ops;
	uint64_t line_bytes;
	struct latency line_latency;
};

/* Lines that go to one output at one interval: standard error, or the file of a target. */
struct heartbeat_stream {
	/* const from heartbeat_start() to heartbeat_end() */
	bool redrawn;	/* on a terminal, each over the one before */
	bool unasked;	/* the progress that a terminal gets by itself */
	uint32_t first; /* of the targets whose lines go here */
	uint32_t last;
	uint64_t interval_ns;

	/* owned by the writing thread, and by heartbeat_end() once that has ended */
	struct outfile file; /* not open: standard error */

	/* guarded by heartbeat.lock */
	uint64_t next_ns;
	uint64_t line_ns;     /* when the last regular line was made */
	uint64_t closed_pass; /* the last pass whose end needs no further line */
	uint64_t beats;
	char *pending; /* lines that are made and not written; NULL: none */
	size_t pending_bytes;
};

struct heartbeat {
	/* const after heartbeat_start() */
	struct run *run;
	uint64_t start_ns;
	pthread_t writer;
	bool started;

	pthread_mutex_t lock; /* target.sample_lock is taken after it */
	pthread_cond_t changed;

	/* guarded by lock */
	bool quit;
	bool over;			   /* no further pass begins */
	struct heartbeat_target *targets;  /* one for each target */
	struct heartbeat_sample *samples;  /* of all targets, as they are now */
	struct heartbeat_sample *selected; /* room for the samples of a line */
	struct heartbeat_stream *streams;
	size_t n_streams;
};

/*
 * Set up, open the files of -heartbeat output, and subscribe to the sampler if anything is shown.
 * Returns 0 or -errno; an error of a file is reported. Main thread, before others exist.
 */
int heartbeat_start(struct heartbeat *h, struct run *run);

/*
 * A pass of `t` is complete, with the counts in `tally`. `latency` is empty where latencies are not
 * kept. The last QThread to leave the pass, before it sets up the next.
 */
void heartbeat_pass_done(struct heartbeat *h, const struct target *t, const struct tally *tally,
			 const struct latency *latency);

/*
 * A pass has ended; `more`: another one follows. Streams whose targets are all complete get a line
 * about it. The results manager, before it starts the next pass; with -nobarrier the last QThread
 * of a target to leave its pass.
 */
void heartbeat_pass_closed(struct heartbeat *h, bool more);

/* The calling QThread has its histograms: from now on lines may read them. */
void heartbeat_ready(struct heartbeat *h);

/* Sum up all targets; the state is PROGRESS_READY or PROGRESS_RUNNING. Any thread. */
void heartbeat_summary(struct heartbeat *h, struct progress_line *p);

/* Write a line of all targets to standard error. Any thread. */
void heartbeat_now(struct heartbeat *h);

/*
 * Write the last lines and end the thread. May be called again. The results manager, before it
 * writes how the run ended, and the main thread.
 */
void heartbeat_end(struct heartbeat *h);

/* Free everything; accepts a zeroed heartbeat. Main thread. */
void heartbeat_destroy(struct heartbeat *h);

#endif
