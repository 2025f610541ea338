/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control messages of one side of a copy, between its threads and its channel. Callers:
 * copy.c, server.c, and the two roles.
 */
#ifndef COPY_LINK_CHANNEL_H
#define COPY_LINK_CHANNEL_H

#include <stdbool.h>
#include <sys/types.h>

#include "copy/link/link.h"
#include "copy/link/meet.h"
#include "copy/message/message.h"
#include "copy/report/report.h"
#include "xdd/base/err.h"
#include "xdd/sync/wait.h"

struct copy_signals; /* src/copy/process.h */

/*
 * The work of a role. The role receives on `channel` in a thread of its own, from the
 * message after the meeting to BYE. All borrowed.
 */
struct copy_job {
	const struct copy_settings *settings;
	const char *const *sources; /* of the source */
	size_t n_sources;
	const char *destination; /* of the destination */
	const char *own_host, *peer_host;
	/* The log of this copy, which grows meanwhile: a source leaves it out. Zeros: none. */
	dev_t log_dev;
	ino_t log_ino;
	uint8_t session[WIRE_SESSION_BYTES];
	/* Set before copy_source_run() and copy_destination(). */
	struct link *channel;
	struct data_links *data;
	struct copy_report *report; /* never NULL; of a server it prints nothing */
	/*
	 * The destination accepts only these names at the top (last components of the sources);
	 * NULL: any, where the source is not the one that was asked for names, as with -F.
	 */
	const char *const *top_names;
	size_t n_top_names;
	/*
	 * Stops all threads of the role: a signal (STOP_SIGNAL), or the role itself after an error
	 * (STOP_ERROR). src/copy/role.h registers a hook that aborts the data connections.
	 */
	struct stop *stop;
	struct copy_signals *signals; /* NULL: none; role_start() lets them stop the role */
	bool is_remote;		      /* the user has started the copy on another host */
	bool is_server;		      /* the end of this process is a message too: ssh reports it */
	bool peer_is_server;	      /* the same of the other side */
	/*
	 * Set by the role: why the session was lost or ended by a fault, in words; "": it was not.
	 * It is in no report yet; the caller may try again.
	 */
	struct err why;
	enum copy_role why_side; /* the side that the words are about */
	bool lost;		 /* they are about a connection that was lost */
};

/*
 * One side of the copy, from the first OFFER to BYE: destination/destination.c, source/source.c.
 * Starts and joins its threads; leaves no temporary file, except what -R keeps. Returns the worse
 * exit status of both sides; the causes are in the report, and were sent to the peer where it can
 * still be reached. Main thread.
 *
 * A source is opened before the two sides meet, so that names that are missing are found first: it
 * returns 0 or an exit status with job->why. A server tells its peer about them, in the run.
 */
int copy_destination(struct copy_job *job);
struct source;
int copy_source_open(struct source **s, struct copy_job *job);
int copy_source_run(struct source *s);
void copy_source_close(struct source *s);

/*
 * Set job->top_names from its sources: last components, "" for a source that stands for its
 * contents. With a list any name is possible. Returns 0 or -ENOMEM. copy_tops_free() frees them.
 */
int copy_tops_set(struct copy_job *job);
void copy_tops_free(struct copy_job *job);

/* True if the name of a destination names a directory of this host. Any thread. */
bool copy_is_directory(const char *destination);

#endif
