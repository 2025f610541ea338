/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The work of one side of a copy, and what both roles have in common: they receive control
 * messages, report failures and counts to both sides, and end a copy in good order, early or not.
 * Callers: attempt.c and server.c, source/ and destination/.
 *
 *	role_open(), hooks of the role's own with job->stop, role_start(), its threads
 *	the work, which is over with role_all_offered() and all RESULTs, or role_nothing_left();
 *	of a destination role_wait_finish(); threads joined
 *	role_finish(), role_close()
 *
 * Two threads belong to a role: one receives and passes messages to ops->receive(); the other one
 * reports counts each 250 ms, and sends CANCEL or ERROR once the copy is to end.
 *
 * A copy ends early by stop_request(job->stop): from a signal, role_cancel(), role_fatal(), a
 * message of the peer, or the loss of the channel. Data connections are aborted then. All threads
 * of the role end; files that are not complete are dropped; complete ones are committed. Then the
 * ends are exchanged as always, if the channel is still there.
 */
#ifndef COPY_ROLE_H
#define COPY_ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "copy/link/link.h"
#include "copy/message/message.h"
#include "copy/report/report.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/sync/wait.h"

#define COPY_COUNTS_NS (NS_PER_SEC / 4)

/*
 * SIGINT, SIGTERM and SIGHUP in a copy. The first one ends it in good order, within
 * COPY_SIGNAL_GRACE_NS as far as the other side is concerned; the second one ends the process.
 * Callers: copy.c, attempt.c, server.c, role.c. (signals.c)
 */

#define COPY_SIGNAL_GRACE_NS (5 * NS_PER_SEC)

struct copy_signals; /* private to signals.c */

/* Ends a wait for the other side: aborts its channel, or ends ssh. In the signal thread. */
typedef void copy_signals_cut(void *arg);

/*
 * Start the thread that takes the signals; all threads that are started later have them blocked.
 * A server keeps ignoring the signals that it was started to ignore. Returns 0 or -errno. Main
 * thread, once, while there is no other thread.
 */
int copy_signals_start(struct copy_signals **s, bool server);

/*
 * From now on the first signal stops `stop` with STOP_SIGNAL, and calls `cut` once it has been
 * attached for another COPY_SIGNAL_GRACE_NS. Without `stop` (NULL) it calls `cut` at once. A signal
 * that came before counts as one that comes now. Main thread.
 */
void copy_signals_attach(struct copy_signals *s, struct stop *stop, copy_signals_cut *cut,
			 void *arg);

/* Signals touch none of these any more. May be called again. `s` may be NULL. Main thread. */
void copy_signals_detach(struct copy_signals *s);

/* The first signal that came, at most `wait_ns` from now, or 0. `s` may be NULL. Any thread. */
int copy_signals_await(struct copy_signals *s, uint64_t wait_ns);

/* End the thread. Accepts NULL. Main thread. */
void copy_signals_end(struct copy_signals *s);

/*
 * The work of a role. The role receives on `channel` in a thread of its own, from the
 * message after the meeting to BYE. All borrowed.
 */
struct copy_job {
	const struct copy_settings *settings;
	const char *const *sources; /* of the source; the destination knows their names by them */
	size_t n_sources;
	const char *destination; /* of the destination */
	const char *peer_host;
	/* The log of this copy, which grows meanwhile: a source leaves it out. Zeros: none. */
	dev_t log_dev;
	ino_t log_ino;
	uint8_t session[WIRE_SESSION_BYTES];
	/* Set before copy_source_run() and copy_destination(). */
	struct link *channel;
	struct data_links *data;
	struct copy_report *report; /* never NULL; of a server it prints nothing */
	/*
	 * Stops all threads of the role: a signal (STOP_SIGNAL), or the role itself after an error
	 * (STOP_ERROR). role_start() registers a hook that aborts the data connections.
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

/* -k, -n: nothing is written at the destination. */
static inline bool copy_reads_only(const struct copy_job *job)
{
	return job->settings->verify || job->settings->dry_run;
}

/* True if the name of a destination names a directory of this host. Any thread. */
bool copy_is_directory(const char *destination);

struct role; /* private to role.c */

/* Of the source or the destination; `arg` is role_open()'s. */
struct role_ops {
	/*
	 * A message other than FAILURE, COUNTS, CANCEL, ERROR, FINISH, FINISHED and BYE: OFFER for
	 * the destination, WANT and RESULT for the source, and messages of data, up to
	 * COPY_MAX_BLOCK_BYTES, where they come through the channel. The body's digest is checked;
	 * it is valid during the call. Returns 0; -EBADMSG with a text in `why` for a message that
	 * is a fault of the peer; or another -errno: both end the copy by ERROR. Once the copy is
	 * stopped the function ignores messages: the ends are still to come. Receiving thread.
	 *
	 * That of a source must not wait and not send, as the destination may be waiting to send.
	 */
	int (*receive)(void *arg, const struct wire_header *h, const uint8_t *body,
		       struct err *why);
	/* Set all fields except failed, warnings and status. `*c` is zero. Any thread. */
	void (*counts)(void *arg, struct copy_counts *c);
	/*
	 * True if no entry that was offered lacks its RESULT, and no WANT waits to be taken: after
	 * role_all_offered() FINISHED may come. Source. Receiving thread.
	 */
	bool (*all_answered)(void *arg);
};

/* Returns 0 or -ENOMEM. Main thread. */
int role_open(struct role **r, struct copy_job *job, enum copy_role is, const struct role_ops *ops,
	      void *arg);

/*
 * Start the threads of the role, and let signals stop it. After the hooks are registered, and
 * before other threads start. Returns 0 or -errno. Main thread.
 */
int role_start(struct role *r);

/*
 * A name that is not copied, or differs, or, with status 0, a warning: to the report of this side,
 * to the peer, and into the counts. Any thread, except the receiving one of a source.
 */
void role_failure(struct role *r, const struct copy_failure *f);
/* As role_failure(); `path` may be NULL. */
void role_fail(struct role *r, uint64_t id, int status, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Count one more that has failed, without a line: below a directory that has failed. */
void role_count_failed(struct role *r, int status);

/*
 * Failures of the peer, so far, for names that have no entry: sources that it cannot offer, and
 * what it leaves out below them. Receiving thread.
 */
uint64_t role_never_offered(const struct role *r);

/*
 * Send a control message. Returns 0 or -errno; a channel that fails ends the copy. 0 as well if the
 * peer may have ended in good order: the receiving thread finds out. Any thread, except the
 * receiving one of a source.
 */
int role_send(struct role *r, enum wire_type type, const void *body, size_t length);

/*
 * Source: END is about to be sent. From now on a destination that is a server may end without
 * FINISH, and need not take what is sent to it. The walk.
 */
void role_all_offered(struct role *r);

/*
 * Destination: END has come, all RESULTs are decided, and all data that was wanted has come. A
 * server then does not wait for FINISH, unless the copy ends early. Any thread, more than once.
 */
void role_nothing_left(struct role *r);

/*
 * End the copy early, in good order, with a cause: "the destination file system is full". The first
 * call counts. role_fatal() is for faults after which the peer cannot go on: it ends without an
 * exchange. Neither waits, but both run the hooks of job->stop. Any thread.
 */
void role_cancel(struct role *r, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void role_fatal(struct role *r, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Data connection `number` has failed with -errno (link_receive(), link_send(), with its `why`, or
 * NULL). Unless the copy ends already or is heard to end within a second, this is fatal. The
 * thread of the connection.
 */
void role_link_failed(struct role *r, unsigned number, int err, const struct err *why);

static inline bool role_stopped(const struct copy_job *job)
{
	return stop_requested(job->stop);
}

/*
 * Destination: wait for FINISH, or, of a server, for role_nothing_left(). False: it cannot come any
 * more. A source sends FINISH whenever it can, after CANCEL too; role_stopped() then tells that the
 * copy ended early. Main thread.
 */
bool role_wait_finish(struct role *r);

/*
 * All threads of the role are joined, and everything is done. Source: send FINISH, wait for
 * FINISHED, which may have come; destination: send FINISHED; then both send BYE and wait for that
 * of the other side, except a server that is the destination. Returns the worse status of both
 * sides. Main thread.
 */
int role_finish(struct role *r);

/* The final counts of the peer; false: it has sent none. After role_finish(). Main thread. */
bool role_peer_counts(struct role *r, struct copy_counts *c);

/* End the threads. Accepts NULL. The channel can only be closed after this. Main thread. */
void role_close(struct role *r);

/* The worse of two exit statuses: a cancel, else the greater one. Any thread. */
int copy_worse_status(int a, int b);

#endif
