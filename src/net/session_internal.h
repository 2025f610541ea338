/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session between its files.
 *
 *   session.c           begin and end of a session, failures, waits; the calls of a target thread,
 *                       in the order of a run; digests of what the destination has kept
 *   session_control.c   the control thread: connects, sends posted messages, watches the time;
 *                       received messages by state; plans and results of both sides compared
 *   session_link.c      data connections, and connections from the listener
 *
 * Other threads never use the control connection. They change the state under the lock, mark the
 * message that goes with it as pending, and wake the control thread, which sends messages in the
 * order of their types.
 */
#ifndef NET_SESSION_INTERNAL_H
#define NET_SESSION_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/net/session.h"
#include "xdd/net/stream.h"
#include "xdd/net/wire.h"
#include "xdd/sync/wait.h"

#define SESSION_ALIVE_NS 1000000000ull

/*
 * How long a thread waits for the peer's ERROR, which explains a broken connection; at most for the
 * time limit.
 */
#define SESSION_GRACE_NS 2000000000ull

/* How long the control thread waits for the peer to close after the last message. */
#define SESSION_LINGER_NS 1000000000ull

/* The states of a session; bits, for sets of them. */
enum session_state {
	SESSION_NEW = 1 << 0,	   /* source: connects; destination: waits for its source */
	SESSION_GREETING = 1 << 1, /* source: HELLO is sent */
	SESSION_PLANNING = 1 << 2, /* HELLO and WELCOME are exchanged; source: PLAN is sent */
	SESSION_JUDGING = 1 << 3,  /* destination: the source waits for ACCEPT */
	SESSION_OPENING = 1 << 4,  /* the plans are accepted; the destination opens its file */
	SESSION_IDLE = 1 << 5,	   /* between passes */
	SESSION_PASS = 1 << 6,	   /* in a pass */
	SESSION_ENDING = 1 << 7,   /* PASS_END is sent, PASS_RESULT is due */
	SESSION_LEAVING = 1 << 8,  /* the source has sent BYE */
	SESSION_OVER = 1 << 9,	   /* both have */
};

/* Ranges of a question, or the body of a message. */
struct session_piece {
	void *data;
	size_t n;
};

/* Before the plans are accepted. */
struct session_proof {
	/* guarded by the lock of the session */
	struct session_piece queue[SESSION_PROOFS]; /* source: questions; destination: answers */
	unsigned queued;
	unsigned unanswered;	  /* destination: questions */
	struct session_piece out; /* the message that is posted */

	/* source: the control thread only; the lowest operation of the next question */
	uint64_t next_op;
};

struct session {
	/* const after session_new() */
	struct session_params params;
	struct connection_options socket;
	bool source;
	const char *own_name;  /* "source" or "destination" */
	const char *peer_name; /* the other */
	bool keyed;
	uint64_t timeout_ns;
	uint64_t alive_ns, grace_ns;
	char time_text[32]; /* the time limit, for messages */
	int wake_fd;	    /* eventfd: wakes the control thread */

	/* atomic inside: ends waits of connection_open() */
	struct stop halt;

	pthread_mutex_t lock;
	pthread_cond_t changed;

	/* guarded by lock; written by the control thread and by callers */
	enum session_state state;
	bool stopped;		       /* the run stops */
	struct err failed;	       /* the first cause */
	struct wire_error last_words;  /* for the peer; no text: it has its own */
	char reason[SESSION_WHY_SIZE]; /* why the run will stop, "": unknown */
	unsigned pending;	       /* bits 1 << enum wire_type */
	uint32_t pass;
	struct wire_pass own_pass, peer_pass;
	bool stop_posted; /* PASS_STOP of this pass */
	struct session_proof proof;
	struct connection *control;
	struct wire_hello peer_hello;
	struct stream_slot *data; /* by number */

	/* const once session_meet() has started the control thread; `have_key` under the lock */
	struct wire_plan own;
	uint8_t id[WIRE_SESSION_BYTES];

	/* guarded by lock: set in PLANNING, const after it */
	struct wire_plan peer;
	struct wire_range *ranges;
	size_t n_ranges;
	uint8_t key[WIRE_KEY_BYTES];
	bool have_key;

	/* atomic: the pass whose PASS_END has arrived */
	_Atomic uint32_t ended_pass;

	/* the thread that calls session_meet() and session_free() */
	pthread_t thread;
	bool has_thread;

	/* guarded by lock */
	bool thread_over;

	/* the control thread only */
	uint8_t *body;		      /* WIRE_MAX_BODY_BYTES */
	uint64_t sent, received;      /* messages */
	uint64_t sent_ns, heard_ns;   /* the last message */
	uint64_t silence_ns;	      /* time limit of this state */
	uint64_t meet_ns;	      /* source: until then it tries again to be answered */
	enum session_state now_state; /* as the message that is acted on found them */
	uint32_t now_pass;
};

struct link {
	struct session *session; /* const */
	struct connection *connection;
	struct wire_key *key;	      /* NULL: none */
	struct digest_stream *stream; /* destination */
	uint32_t number;
	uint32_t pass;
	uint64_t count;	  /* DATA and SKIP in this pass */
	uint64_t next_op; /* destination: the lowest that may follow */
};

/* ---- session.c ---- */

/*
 * The session has failed: `fmt` is the message. `blame` says where the cause lies, and
 * `tell` that the peer gets the text too. The first cause counts. Returns the negative errno that
 * the caller is to return. Without the lock. Any thread.
 */
enum session_blame {
	BLAME_SELF,
	BLAME_PEER,
	BLAME_PEER_SILENTLY, /* the peer knows, or cannot be reached */
};
int session_broke(struct session *s, enum session_blame blame, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* 0; or -errno of a session that has failed, -ECANCELED of one that has stopped. With the lock. */
int session_error(const struct session *s);

/* Wait for a change of the session, as cond_wait(). With the lock. */
int session_sleep(struct session *s, uint64_t until_ns);

/* Have the control thread send `type`. With the lock. */
void session_post(struct session *s, enum wire_type type);

/* Wake all who wait for a change, the control thread among them. With the lock. */
void session_notify(struct session *s);

void session_lock(struct session *s);
void session_unlock(struct session *s);

/* The terms of the first messages of the session. Those of data need the key. */
struct stream_terms session_streams(const struct session *s);

/*
 * The keys of both sides fit; with one, derive the key of the session. Returns 0 or -errno. Control
 * thread.
 */
int session_take_key(struct session *s);

/* A sentence about options that only one side has, or NULL. */
const char *session_flags_differ(uint32_t source, uint32_t destination);

/* The posted PROVE or SUMS into the body. Returns its length. Control thread. */
size_t session_proof_encode(struct session *s);

/* PROVE at the source, SUMS at the destination. Return 0 or -errno. Control thread. */
int session_take_prove(struct session *s, const struct wire_header *h, const uint8_t *body);
int session_take_sums(struct session *s, const struct wire_header *h, const uint8_t *body);

/* ---- session_control.c ---- */

void *session_control(void *arg);

/*
 * The control connection has failed with `err`; with -EBADMSG because of `fault`. Returns -errno,
 * or SESSION_STRANGER_GONE on a destination that knows no plan of the peer yet, or SESSION_RETRY.
 * Control thread.
 */
int session_lost(struct session *s, int err, enum wire_fault fault);

/* Not an errno: the destination waits for another source. */
#define SESSION_STRANGER_GONE 1

/* Not an errno: the source has no answer yet, and tries again. */
#define SESSION_RETRY 2

/* Between these attempts. */
#define SESSION_PAUSE_NS 250000000ull

/* The source waits for the end of the other one, which may be a stranger. */
#define SESSION_BUSY "the destination is busy with another source"

/* True if both sides have copied the same; else `why` has both values. */
bool session_results_fit(const struct wire_pass *source, const struct wire_pass *destination,
			 struct err *why);

#endif
