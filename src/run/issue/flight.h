/*
 * The issue loop's state, and the parts of it in other files. Private to src/run/issue.
 */
#ifndef XDD_RUN_ISSUE_FLIGHT_H
#define XDD_RUN_ISSUE_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "run/issue/issue.h"
#include "xdd/io/engine.h"

/* The next step of a QThread. */
enum issue_state {
	ISSUE,	   /* take the next number, into a free slot */
	WAIT_TURN, /* the operation has its number, and waits for its turn in the TOT */
	WAIT_GATE, /* it has its turn, and waits for the gate */
	DRAIN,	   /* nothing more is issued; collect the outstanding requests */
	FLUSH,	   /* the same, then flush and go on */
	DONE,
};

/* When an operation lets the next one have the turn. */
enum leave_when {
	LEAVE_TAKEN,	 /* loose: once it has its number */
	LEAVE_SUBMITTED, /* strict */
	LEAVE_COMPLETE,	 /* serial, and strict with an engine that completes inside submit */
};

/*
 * A QThread in a pass. Inlined functions have `extras` as a parameter, so that the compiler knows
 * it.
 */
struct flight {
	/* const */
	struct qthread *q;
	unsigned extras; /* enum issue_extra */
	enum leave_when leave_when;
	uint64_t end_ns;
	uint64_t limit_ns; /* of a destination: when to ask the source to end the pass */

	enum issue_state state;
	unsigned outstanding;
	bool has_turn;
	struct io_request *req; /* in WAIT_TURN and WAIT_GATE: has its number */
	uint64_t now_ns;
	uint64_t look_ns; /* when to check again; UINT64_MAX: after a completion */
	bool skip;	  /* of a destination: f->req is not to be written */
	bool again;	  /* of a destination: an operation was skipped */
};

/* ---- issue.c, for issue_net.c ---- */

/* The operation `n` has the turn no longer, if it has it. */
void flight_leave_turn(struct flight *f, uint64_t n);

/* The work after a complete operation that is accounted for. Its slot is not free yet. */
void flight_finish(struct flight *f, struct io_request *req);

/* Collect what is complete, without a wait. */
void flight_poll(struct flight *f);

/* ---- issue_net.c: end-to-end copies ---- */

/* A destination begins a pass. */
void net_begin(struct flight *f);

/* Source: operation `n` of the session into `req`. */
void net_set_op(const struct target *t, uint64_t n, struct io_request *req);

/*
 * Destination: receive the next operation, into the oldest free slot, as f->req. False: nothing is
 * there yet, and f->look_ns is set; or no more will come, and the state is DRAIN.
 */
bool net_take(struct flight *f);

/* Destination: f->req is about to wait for its turn. */
void net_await_turn(struct flight *f);

/* Destination: f->req, which has its turn, is not written. `failed`: it was received. */
void net_skip(struct flight *f, bool failed);

/* `req` is stamped, and is submitted next. */
void net_issue(struct flight *f, struct io_request *req);

/* The QThread has waited for a turn, the gate or a slot. */
void net_held(struct flight *f, uint64_t ns);

/* The QThread was in reap of an engine that queues. */
void net_waited(struct flight *f, uint64_t ns);

/* Source: a read is complete, or has failed. It keeps its slot until it is sent. */
void net_read(struct flight *f, struct io_request *req);

/*
 * Nothing can be issued now. Source: send the next block if its read is complete. True: done, or
 * an operation was skipped, so that another may be issued.
 */
bool net_step(struct flight *f);

#endif
