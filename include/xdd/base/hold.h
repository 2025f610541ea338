/*
 * Hold points: places where a test stops this process to act while it is there (doc/design.md lists
 * them). XDD_TEST_HOLD names points and the socket of the test:
 *
 *	XDD_TEST_HOLD='POINT[:N][,POINT[:N]]...@SOCKET'
 *
 * A thread that reaches POINT, with N only the one that reaches it for the Nth time or in operation
 * N, connects to the listening Unix socket SOCKET, sends the line "POINT<tab>N<tab>PID", and waits
 * until the test closes the connection or ends. Child processes have the same points.
 *
 * Without the variable a point costs one predicted branch, and none is in the path of operations.
 */
#ifndef XDD_BASE_HOLD_H
#define XDD_BASE_HOLD_H

#include <stdbool.h>
#include <stdint.h>

/* A row of each is in src/base/hold.c. */
enum hold_point {
	HOLD_SIGNALS_READY,
	HOLD_SIGNAL_TAKEN,
	HOLD_OUTPUT_FULL,
	HOLD_OPERATION, /* hold_operation() */
	HOLD_PASS_BEGUN,
	HOLD_PASS_ENDED,
	HOLD_PASS_CLOSED,
	HOLD_RESULTS_WRITTEN,
	HOLD_STRANGER_LATE,
	HOLD_HOST_ANSWERED,
	HOLD_WELCOME_SENT,
	HOLD_WELCOME_RECEIVED,
	HOLD_BUNDLE_SENT,
	HOLD_BLOCK_SENT,
	HOLD_JOURNAL_CREATED,
	HOLD_RANGE_DURABLE,
	HOLD_BEFORE_RENAME,
	HOLD_AFTER_RENAME,
	HOLD_CAUSE_AWAITED,
	HOLD_POINTS,
};

/* const after hold_start(): bits of the points of XDD_TEST_HOLD. Private to hold_wants(). */
extern uint32_t hold_points;

/*
 * Read XDD_TEST_HOLD, once, before other threads start. A process that has more rights than its
 * user (set-user-ID, capabilities) ignores it. Returns 0, or -EINVAL with a message: a name that
 * does not exist must not make a test pass.
 */
int hold_start(void);

/* Private to hold(). */
void hold_reach(enum hold_point point);
void hold_reach_operation(uint64_t n);

static inline bool hold_wants(enum hold_point point)
{
	return __builtin_expect((hold_points >> point & 1) != 0, 0);
}

/* Any thread; with locks of the caller, where the point is in a section that has them. */
static inline void hold(enum hold_point point)
{
	if (hold_wants(point))
		hold_reach(point);
}

/* Operation `n` of a pass of a target is about to be submitted. */
static inline void hold_operation(uint64_t n)
{
	if (hold_wants(HOLD_OPERATION))
		hold_reach_operation(n);
}

#endif
