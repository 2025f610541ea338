/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions of end-to-end copies, and the listener that accepts their connections.
 */
#ifndef XDD_NET_SESSION_H
#define XDD_NET_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/err.h"
#include "xdd/base/status.h"
#include "xdd/net/connection.h"
#include "xdd/net/wire.h"
#include "xdd/plan/target_options.h"
#include "xdd/sync/wait.h"

struct listener;
struct session;

/*
 * The listening sockets of a run, and a thread that accepts connections, reads the first message
 * of each, and passes it on to the session that expects it.
 *
 * Until then a peer is a stranger: the number of strangers, their bytes and their time are
 * limited, and none delays another.
 */

#define LISTENER_MAX_STRANGERS 64
#define LISTENER_STRANGER_NS (5ull * 1000000000)
#define LISTENER_QUIET_PER_SECOND 40

/* The first message of a connection. */
struct listener_guest {
	struct connection *connection;
	bool tls;			/* the peer has the key */
	uint8_t raw[WIRE_HEADER_BYTES]; /* as it came: only the session can check its code */
	struct wire_header header;	/* decoded without a check of the code */
	struct wire_hello hello;
};

/*
 * The session's answer to it, in the thread of the listener: it must not block. True: the
 * connection is the session's now, which sends the answer. False: it is refused, with a text for
 * the peer in `why` ("": closed without a word); -ESHUTDOWN there: the peer belongs to a session
 * that has ended, and does not count as refused.
 */
typedef bool listener_offer(void *arg, const struct listener_guest *guest, struct err *why);

/*
 * One socket for each address and port, which several sessions may name. `options` and `key`, which
 * may be NULL, are borrowed for the life of the listener. Returns NULL without memory. With `key`,
 * a control connection without TLS is refused; without one, a connection with TLS is closed.
 */
struct listener *listener_new(const struct connection_options *options, const struct net_key *key);

/* Listen on `host` and `port`. Returns 0, or -errno with a text in `why`. Before the start. */
int listener_add(struct listener *l, const char *host, uint16_t port, struct err *why);

/* The port of the first address, which the kernel chose where 0 was asked for. After an add. */
uint16_t listener_port(const struct listener *l);

/* Start and end the thread. listener_free() accepts NULL, ends it, and closes the sockets. */
int listener_start(struct listener *l, listener_offer *offer, void *arg);
void listener_free(struct listener *l);

/*
 * Set `quiet` while the sessions expect no more connections: strangers are then accepted so rarely,
 * at most LISTENER_QUIET_PER_SECOND, that they cost the copy nothing. Any thread.
 */
void listener_set_quiet(struct listener *l, bool quiet);

/* Connections that were refused, for a warning at the end. Any thread. */
uint64_t listener_refused(const struct listener *l);

/*
 * A session: the copy of one target to, or from, another host. It has a control connection, with a
 * thread of its own, and one data connection for each QThread.
 *
 *   source                     destination
 *   session_meet()    HELLO →  ← WELCOME, PLAN →              session_meet()
 *                     ← PROVE, SUMS →                         session_prove(), session_sums()
 *                     ← ACCEPT
 *                                                             opens its file
 *   session_ready()                                ← READY    session_ready()
 *   session_join()    HELLO →  ← WELCOME                      session_join()      each QThread
 *   session_begin()   PASS_BEGIN →                            session_begin()     each pass
 *   session_send()    DATA →                                  session_receive()
 *   session_last()    PASS_LAST →
 *   session_finish()  PASS_END →  ← PASS_RESULT               session_finish()
 *   session_close()   BYE →    ← BYE                          session_close()
 *
 * Every call ends when the run stops (-ECANCELED), when the peer reports an error or goes away,
 * and after the time limit of -e2e timeout. The first cause is kept: session_why().
 */

#define SESSION_WHY_SIZE 512

struct session_params {
	/* const, borrowed for the life of the session */
	uint32_t target; /* rank among the sessions of the run, from 0; the same on both sides */
	const struct endtoend_options *options;
	const struct net_key *key;
	struct stop *stop;
	struct listener *listener; /* destination */

	/*
	 * Called at most once, in any thread of the session: it has failed for a reason that lies
	 * with the peer or the network, session_why(), and the run is to stop.
	 */
	void (*failed)(void *arg);

	/* Called in the control thread, source: the destination ends pass `pass` early. */
	void (*stop_pass)(void *arg, uint32_t pass);

	/*
	 * Called in session_meet(), source: encode the digests of the operations in `ranges`, which
	 * are of the plan, ascending also from call to call, and WIRE_MAX_PROOF_OPS at most.
	 * Operations that cannot be read are left out. Returns the length in `out`, which has
	 * WIRE_MAX_BODY_BYTES.
	 */
	size_t (*prove)(void *arg, const struct wire_range *ranges, size_t n, uint8_t *out);
	void *arg;
};

/* The options of the sockets of a copy. */
struct connection_options session_sockets(const struct endtoend_options *o);

/*
 * Thread that sets up the run: the session registers with `stop`, which must not be requested once
 * it is freed. Returns NULL without memory or descriptors. session_free() accepts NULL, after all
 * threads have left the session; it waits at most some seconds for the peer to get the last
 * message.
 */
struct session *session_new(const struct session_params *params);
void session_free(struct session *s);

/* The sessions of a run, by rank; the argument of session_offer(). */
struct session_table {
	struct session **sessions;
	size_t n;
};

/* Pass a connection to the session that expects it. For listener_start(), with all sessions. */
bool session_offer(void *table, const struct listener_guest *guest, struct err *why);

/*
 * Meet the peer and compare plans. `own` is this side's plan, and `peer` becomes the plan of the
 * other side. Source: `ranges` (at most WIRE_MAX_RANGES) and `*n` become the operations that the
 * destination asks for where WIRE_RESUMES is set in `peer->flags`; else it asks for all.
 * Destination: `accept` is called once the plan of the source is known. It returns 0 for all
 * operations; 1 for those in `ranges`, whose number `*n` may be 0; or refuses the plan with a
 * negative errno and a text in `why`.
 *
 * Returns 0 or -errno; session_why() has the text. Target thread.
 */
typedef int session_accept(void *arg, const struct wire_plan *own, const struct wire_plan *peer,
			   struct wire_range *ranges, size_t *n, struct err *why);
int session_meet(struct session *s, const struct wire_plan *own, struct wire_plan *peer,
		 struct wire_range *ranges, size_t *n, session_accept *accept, void *arg);

/*
 * Destination, while it decides on the plan: ask for the digests of operations that it has kept, at
 * most WIRE_MAX_PROOF_OPS, ascending from call to call; and wait for the next answer, in `*body`,
 * which the caller frees: any number of struct wire_sums. At most SESSION_PROOFS questions have no
 * answer. Return 0 or -errno. Target thread.
 */
#define SESSION_PROOFS 2
int session_prove(struct session *s, const struct wire_range *ranges, size_t n);
int session_sums(struct session *s, uint8_t **body, size_t *length);

/* Destination: its file is open. Source: wait for that. Target thread. */
int session_ready(struct session *s);

/* A data connection, of QThread `connection`, which owns it from then on. */
struct link;

/* Returns 0 and `*link`, or -errno. It is freed by session_leave(), NULL accepted. QThread. */
int session_join(struct session *s, uint32_t connection, struct link **link);
void session_leave(struct link *link);

/*
 * Source: announce that pass `pass` begins. Destination: wait until the source does. Returns 1; 0
 * on the destination when the source has ended the run as it should; or -errno.
 */
int session_begin(struct session *s, uint32_t pass);

/* A block, or an operation without one. */
struct net_block {
	uint64_t op;
	uint64_t offset; /* from the start of the copied extent */
	uint64_t length; /* bytes */
	struct digest digest;
	bool failed; /* the source could not read it: there is no data */
	bool last;   /* session_receive(): no more in this pass */
};

/* Source: send a block whose digest is set. QThread. */
int session_send(struct link *link, uint32_t pass, const struct net_block *b, const void *data);

/* Source: this connection has no more blocks in this pass. QThread. */
int session_last(struct link *link, uint32_t pass);

/*
 * Destination: wait until there is something to receive, at most `timeout_ns`. Returns 1; 0; or
 * -errno. QThread.
 */
int session_wait(struct link *link, uint64_t timeout_ns);

/*
 * Destination: receive the header of the next block. Its length is at most the request size of the
 * plan, it lies within the bytes of the plan where these are known, and operation numbers ascend.
 * Then its data, unless it failed or is the last: `data` has room for it; -EBADMSG when its digest
 * is wrong. `*first_ns` is the clock when the header had arrived; `*check_ns` grows by the time for
 * the digest. QThread.
 */
int session_receive(struct link *link, uint32_t pass, struct net_block *b, uint64_t *first_ns);
int session_receive_data(struct link *link, const struct net_block *b, void *data,
			 uint64_t *check_ns);

/* Destination: a limit of this side ends the pass. Any thread. */
void session_stop_pass(struct session *s, uint32_t pass);

/*
 * All blocks of the pass are sent, or written: exchange the results. `peer` becomes the result of
 * the other side, with the text of session_explain() there. Compares counts and digests. Returns 0;
 * -EBADMSG when they differ; or -errno. Last QThread to leave.
 */
int session_finish(struct session *s, uint32_t pass, const struct wire_pass *own,
		   struct wire_pass *peer);

/*
 * Tell the peer that this side has failed: `text` is one line that makes sense on either side ("the
 * destination: write error ..."), `status` the exit status of this run. The first cause counts; all
 * calls of the session end then. Any thread.
 */
void session_fail(struct session *s, enum xdd_status status, const char *text);

/*
 * Note an error of this side: `text` is one line that does not name the side. The session goes on;
 * the peer gets the text if this run stops after an error or cannot start, and with the result of a
 * pass in which operations failed. The first text of a pass counts. Any thread, before it stops the
 * run.
 */
void session_explain(struct session *s, const char *text);

/*
 * End a session that has gone well, after the last pass. It returns 0 on the source once the
 * destination has called it as well, and so has done its last work. Target thread.
 */
int session_close(struct session *s);

/*
 * Why it failed, "" when it has not, or when only the run has stopped: one line,
 * escaped. It does not change once it is set. Any thread.
 */
const char *session_why(const struct session *s);

/* Facts for reports. `connection` as in wire.h. False: there is none now. Any thread. */
bool session_info(struct session *s, uint32_t connection, struct connection_info *info);

#endif
