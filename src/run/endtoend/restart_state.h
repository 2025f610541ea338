/*
 * The state of -restart for a target. Private to src/run/endtoend/restart*.c.
 */
#ifndef XDD_RUN_ENDTOEND_RESTART_STATE_H
#define XDD_RUN_ENDTOEND_RESTART_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/endtoend/restart.h"
#include "xdd/base/sets.h"
#include "xdd/net/restart_file.h"
#include "xdd/plan/plan.h"

struct restart {
	/* const after restart_open() */
	const struct target_plan *plan;

	/* const after restart_accept() */
	char *path;
	bool resumes;
	/*
	 * Left out by -restart offset: whole operations, which have numbers in the record; or bytes
	 * before operation 0, where they are no multiple of the request size.
	 */
	uint64_t skipped_ops;
	uint64_t skipped_bytes;

	/*
	 * owned by the target thread before restart_begin(), then by the monitor, and after its end
	 * by the caller of restart_end()
	 */
	struct restart_record record;
	int failure;		    /* -errno, after which nothing is recorded any more; 0: none */
	char why[RESTART_WHY_SIZE]; /* its text, or that of the last record that failed */

	/* const after restart_begin() */
	int fd; /* a duplicate of the target's; -1: null */
	pthread_t monitor;

	/* owned by the callers of restart_begin(), restart_settle() and restart_end() */
	bool begun;
	bool monitored; /* the thread runs */

	pthread_mutex_t lock;
	pthread_cond_t changed; /* quit */

	/* guarded by lock */
	bool quit;
	bool dirty;		 /* operations were written since the last record */
	bool out_of_order;	 /* the offset of an operation does not follow from its number */
	struct extents written;	 /* numbers of operations, as in the record */
	uint64_t end_bytes;	 /* as in the record */
	struct digest digest;	 /* of `written` */
	struct digest forgotten; /* of operations that `written` had no room for */
	struct restart_cost cost;
};

/* Look at the destination: fill the fields of `rec` that identify it. Returns 0 or -errno. */
int restart_look_at(struct restart_record *rec, int fd, const char *path);

#endif
