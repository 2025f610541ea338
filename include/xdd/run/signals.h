/*
 * The signals that end a run, SIGINT, SIGTERM and SIGHUP, and SIGUSR1, which asks for a line of the heartbeat.
 */
#ifndef XDD_RUN_SIGNALS_H
#define XDD_RUN_SIGNALS_H

#include <pthread.h>

struct run;

/* Where the process is between signals_start() and signals_end(). */
enum signals_when {
	SIGNALS_BEFORE, /* a run is to come */
	SIGNALS_DURING,
	SIGNALS_AFTER, /* its results are being written */
};

/* Its memory is the caller's; the contents are private to signals.c. */
struct signals {
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	enum signals_when when;
	struct run *run; /* while SIGNALS_DURING */
	int sig;	 /* the first that came; 0: none */
};

/*
 * SIGUSR1 waits until signals_start() has somebody take it, instead of ending the process. The first that main
 * does.
 */
void signals_block_progress(void);

/*
 * From here on one thread takes the signals, and all others that are started later have them blocked. The first
 * ends the run, or keeps one that is to come from beginning, and outputs that take nothing any more are cut
 * (outwait.h); the second, 0.1 s later or more, ends the process at once. Called once, by main, before any output is opened. Returns 0 or -errno.
 */
int signals_start(struct signals *s);

/* The run has come to where it can be stopped; one that was to be already is. Called by run_execute(). */
void signals_attach(struct signals *s, struct run *run);

/*
 * The run is over: nothing of it is touched any more, and how it ended does not change. Called by the results
 * manager before it writes the end, and by run_execute(), also where none was attached. Once is enough.
 */
void signals_detach(struct signals *s);

/* The thread ends; signals stay blocked. Called by main, after signals_start() has succeeded. */
void signals_end(struct signals *s);

#endif
