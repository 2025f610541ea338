/*
 * The signals that end a run, SIGINT, SIGTERM and SIGHUP, and SIGUSR1, which requests a line of the
 * heartbeat.
 */
#ifndef XDD_RUN_SIGNALS_H
#define XDD_RUN_SIGNALS_H

#include <pthread.h>

#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"

struct progress_line;
struct run;

/* Phases of the process between signals_start() and signals_end(). */
enum signals_when {
	SIGNALS_BEFORE, /* no run has begun */
	SIGNALS_DURING,
	SIGNALS_AFTER, /* its results are being written */
};

/* The caller owns the memory; the contents are private to signals.c. */
struct signals {
	struct signal_thread thread;
	struct stop before;   /* ends the waits before a run, with the first signal; any thread */
	pthread_mutex_t lock; /* guards all fields below */
	enum signals_when when;
	struct run *run; /* while SIGNALS_DURING */
	int sig;	 /* the first one; 0: none */
};

/*
 * Block SIGUSR1 until signals_start() has started the thread that takes it, so that it does not end
 * the process. Main thread, before anything else.
 */
void signals_block_progress(void);

/*
 * Start the thread that takes the signals, for all runs of the process; threads that are started
 * later have them blocked. The first signal ends the run, or prevents the next one, and limits how
 * long outputs may wait for their readers (output.h). The second, 0.1 s later or more, ends the
 * process at once. Returns 0 or -errno. Main thread, once, before any output is opened.
 */
int signals_start(struct signals *s);

/* From now on a signal stops `run`; one that came before stops it here. run_execute(). */
void signals_attach(struct signals *s, struct run *run);

/*
 * The run is over: signals no longer touch it or change how it ended. The results manager before it
 * writes the end, and run_execute(), also where no run was attached. May be called again.
 */
void signals_detach(struct signals *s);

/* How far the attached run is; PROGRESS_READY before there is one. Any thread. */
void signals_progress(struct signals *s, struct progress_line *p);

/* The first signal that came, or 0. Any thread. */
int signals_taken(struct signals *s);

/* End the thread; the signals stay blocked. Main thread, after signals_start() has succeeded. */
void signals_end(struct signals *s);

#endif
