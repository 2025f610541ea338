/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One attempt to do a copy, by the process that its user has started: servers, data connections,
 * and the role of this host. Caller: copy.c. Main thread.
 */
#ifndef COPY_ATTEMPT_H
#define COPY_ATTEMPT_H

#include "copy/link/link.h"
#include "copy/report/report.h"
#include "copy/role.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/copy/copy.h"
#include "xdd/sync/wait.h"

/* For a server that is gone to be seen as such, after its connection was lost. */
#define ATTEMPT_CAUSE_NS NS_PER_SEC

struct copy_attempt {
	/* const, borrowed */
	const struct copy_request *request;
	struct copy_report *report;
	struct copy_signals *signals;
	const char *const *sources; /* their paths */

	struct data_terms terms;
	struct ssh servers[2]; /* of the source and of the destination; one may be this process */
	bool here[2];	       /* this process has that role */
	struct data_links links;
	struct stop stop;
	bool begun;	   /* data connections were there */
	bool is_directory; /* the destination was one, once all servers have started */
	bool lost;	   /* a connection was lost, whatever has failed before that */
	enum copy_role at; /* the side that `why` is about */
	struct err why;
};

/* Of the servers. */
static inline unsigned side_of(enum copy_role role)
{
	return role == COPY_SOURCE ? 0 : 1;
}

/* The channel to the server with that role; NULL: it is this process. */
static inline struct link *channel_to(const struct copy_attempt *a, enum copy_role role)
{
	return a->servers[side_of(role)].channel;
}

/*
 * Copy. Returns the exit status of both sides; `a->why` tells why the session was lost or could not
 * begin, "": it ended in good order. All is closed.
 */
int copy_attempt(struct copy_attempt *a);

/* Where a side is, and the name of its host for messages. */
const struct copy_place *attempt_place(const struct copy_attempt *a, enum copy_role role);

/* ---- copy.c ---- */

/* Two servers: pass messages between them until both end. Returns as copy_attempt(). */
int attempt_relay(struct copy_attempt *a);

#endif
