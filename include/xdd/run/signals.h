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
 * From here on one thread takes the signals, and all others that are started later have them blocked. The first
 * ends the run, or keeps one that is to come from beginning; the second, 0.1 s later or more, ends the process
 * at once. Called once, by main, before any output is opened. Returns 0 or -errno.
 */
int signals_start(struct signals *s);

/* The run has come to where it can be stopped; one that was to be already is. Called by run_execute(). */
void signals_attach(struct signals *s, struct run *run);

/* The run is over: nothing of it is touched any more. Called by run_execute(), also where none was attached. */
void signals_detach(struct signals *s);

/* The thread ends; signals stay blocked. Called by main, after signals_start() has succeeded. */
void signals_end(struct signals *s);

#endif
