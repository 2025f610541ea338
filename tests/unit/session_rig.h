/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both sides of a copy in one process, over loopback.
 */
#ifndef XDD_TESTS_SESSION_RIG_H
#define XDD_TESTS_SESSION_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "net_proxy.h"
#include "xdd/net/session.h"
#include "xdd/sync/wait.h"

#define RIG_REQ 4096u
#define RIG_CONNECTIONS 8
#define RIG_TEXT 512

/* One side of a copy, and its outcome. */
struct rig_side {
	/* input */
	struct net_key key;
	bool encrypt;
	uint64_t timeout_ns;
	bool timeout_given;
	void (*change)(struct wire_plan *own); /* NULL: the plan of the copy */
	unsigned stop_at;	   /* before this step, from 1, the run stops; 0: never */
	enum stop_reason stop_for; /* of stop_at; 0: a signal */
	const char *explain;	   /* given to session_explain(); NULL: it is not called */
	uint64_t stop_after_ns;	   /* from the start; 0: never */
	unsigned end_after;	   /* source: passes, and then BYE */
	unsigned stop_pass_at;	   /* destination: pass to end early */
	unsigned fail_at;	   /* before this step the run reports a failure of its own */

	/* outcome */
	int err;
	char why[RIG_TEXT];
	unsigned steps;	 /* that were reached */
	unsigned begun;	 /* passes */
	unsigned failed; /* calls of session_params.failed */
	unsigned stops;	 /* calls of session_params.stop_pass */
	struct wire_plan peer;
	struct wire_pass own_pass, peer_pass; /* of the last pass */
	struct wire_range ranges[4];
	size_t n_ranges;
	uint64_t ended_ns;
};

struct rig_copy {
	/* input */
	unsigned connections, passes;
	uint64_t ops;
	uint64_t tail_bytes;   /* of the last operation; 0: all of the request */
	uint64_t skip_op;      /* the source cannot read it; UINT64_MAX: none */
	uint64_t bad_write;    /* the destination cannot write it; UINT64_MAX: none */
	uint64_t throttle_ns;  /* the source waits so long before each block */
	uint64_t open_late_ns; /* the destination, before it is ready */
	int accepts;	       /* 1: the destination asks for `ranges` only; -1: it refuses */
	struct wire_range ranges[4];
	size_t n_ranges;
	/* The destination asks before it accepts. Returns 0 or -errno. NULL: it does not. */
	int (*ask)(struct session *s, const struct rig_copy *c);
	const struct proxy_fault *fault;		  /* NULL: the source connects directly */
	void (*visit)(struct rig_copy *c, uint16_t port); /* instead of a source */
	uint32_t target;
	struct rig_side source, destination;

	/* outcome */
	uint8_t *data;	  /* as the destination wrote it */
	uint64_t written; /* blocks, of all passes */
	uint64_t refused; /* connections to the listener */
	uint64_t began_ns;

	/* outcome, with a fault: was it done, and the bytes of each connection */
	bool harmed;
	uint64_t forwarded[RIG_CONNECTIONS + 1][2]; /* [1]: of the source */
};

/* The plan of both sides. */
struct wire_plan rig_plan(const struct rig_copy *c);

/* A copy with all defaults: `ops` operations, 60 s of time limit. */
struct rig_copy rig_copy(unsigned connections, unsigned passes, uint64_t ops);

/* Byte `at` of the source in `pass`. */
uint8_t rig_byte(uint32_t target, unsigned pass, uint64_t at);

/* Run `n` copies at once, as targets of one run; fail the test where anything is left. */
void rig_run(struct rig_copy *copies, unsigned n);

/* True if the destination has the data of `pass` in operation `op`. */
bool rig_has(const struct rig_copy *c, unsigned pass, uint64_t op);
void rig_free(struct rig_copy *c);

#endif
