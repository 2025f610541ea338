/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a group, shared by the files group*.c.
 */
#ifndef XDD_SYNC_GROUP_INTERNAL_H
#define XDD_SYNC_GROUP_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/sync/group.h"
#include "xdd/sync/mpi_plugin.h"

/*
 * How the clocks of two ranks compare, from messages that go to and fro.
 */

#define GROUP_PINGS 20 /* exchanges with each rank */

/* Bounds of the other clock minus the own one. */
struct clock_bounds {
	int64_t low_ns, high_ns;
};

/* State of rank 0 while it measures one rank after another. */
struct group_pings {
	unsigned rank, done; /* exchanges with that rank */
	uint64_t sent_ns;
	struct clock_bounds bounds;
};

void clock_bounds_init(struct clock_bounds *b);

/*
 * An exchange: sent and received here at `sent_ns` and `received_ns`, answered there at
 * `answered_ns`. Whatever the two ways took, the difference lies within the bounds.
 */
void clock_bounds_add(struct clock_bounds *b, uint64_t sent_ns, uint64_t answered_ns,
		      uint64_t received_ns);

/* The middle, and how far the truth may be from it. */
int64_t clock_bounds_offset(const struct clock_bounds *b, uint64_t *bound_ns);

/*
 * The messages of all ranks on their way to the reader, on rank 0: those that several ranks send
 * are written once, with their number.
 */

/* A line waits this long for the same one of other ranks. */
#define GROUP_LOG_WAIT_NS 500000000ull
#define GROUP_LOG_LINES 64

struct group_line {
	char *text;		     /* without the newline */
	unsigned first, last, ranks; /* first and last to send it, and how many have */
};

struct group_log {
	pthread_mutex_t lock; /* guards all fields below */
	struct group_line lines[GROUP_LOG_LINES];
	unsigned n;
	uint64_t since_ns; /* when the first of them came */
};

/* The name of a rank's host, for messages. */
typedef const char *group_log_host(void *arg, unsigned rank);

void group_log_init(struct group_log *l);

/*
 * A line of `rank` has come at `now_ns`. Any thread. Returns 0 if there is no room: write what is
 * there, and call it again.
 */
int group_log_add(struct group_log *l, unsigned rank, const char *text, size_t size,
		  uint64_t now_ns);

/*
 * The lines that wait, as one text of malloc(), with the names of ranks where `size` ranks are not
 * of one mind; NULL: there are none, or they may wait longer. `now_ns` UINT64_MAX: none may.
 */
char *group_log_take(struct group_log *l, uint64_t now_ns, unsigned size, group_log_host *host,
		     void *arg);

void group_log_destroy(struct group_log *l);

#define GROUP_HOST_SIZE 65
#define GROUP_BOOT_SIZE 40
#define GROUP_VERSION_SIZE 16

/* Kinds of messages: the tags of MPI. */
enum group_tag {
	TAG_BEAT = 1, /* a sign of life */
	TAG_VOTE,
	TAG_LEAVE,
	TAG_DECISION,
	TAG_STOP,
	TAG_LOST,
	TAG_LOG,
	TAG_LOG_END, /* a rank sends no more lines */
	TAG_PING,
	TAG_PONG,
	TAG_CLOCK,
	TAG_WALL,	/* a rank has ended a pass: to rank 0 */
	TAG_WALL_OVER,	/* the first one that has */
	TAG_WALL_COUNT, /* the greatest count of all */
};

/* A message that the thread is to send. */
struct outgoing {
	struct outgoing *next;
	unsigned to;
	int tag;
	size_t size;
	char data[];
};

/* A call of all ranks, as in "xdd/sync/mpi_plugin.h". */
struct group_call {
	enum {
		CALL_BARRIER,
		CALL_BROADCAST,
		CALL_MAX,
		CALL_GATHER
	} kind;
	const void *data;
	size_t size;
	uint64_t value;

	/* once it has ended */
	uint64_t ended_ns;
	void *received; /* of malloc(), or NULL */
	const uint64_t *sizes;
};

struct ballot {
	unsigned votes;
	uint64_t pass;	     /* the last one that was begun; 0: none */
	int64_t released_ns; /* in the clock of rank 0 */
	uint64_t bound_ns;
};

/* A rank as rank 0 sees it, and rank 0 as others see it. */
struct peer {
	char host[GROUP_HOST_SIZE];
	char boot[GROUP_BOOT_SIZE];
	char version[GROUP_VERSION_SIZE];
	uint64_t pid, pid_ns, time_ns; /* the last two: numbers of the namespaces */
	uint64_t heard_ns;	       /* when the last message came */
	bool has_voted, has_left, has_said_all;
	struct ballot ballot;
	uint64_t wall_pass, wall_count; /* the last ones that came from it */
};

struct watch {
	unsigned rank;
	int fd; /* of pidfd_open(2) */
};

/* Each rank watches so many others: with fewer on a host, any rank notices any other. */
#define GROUP_WATCHES 32

struct group {
	/* const after group_begin() */
	const struct xdd_mpi *mpi;
	struct xdd_mpi_place place;
	struct peer *peers; /* the names of all; the other fields: guarded by `lock` */
	const char *library;
	pthread_t thread;
	struct group_clock clock; /* as it was measured at `clock_ns` */
	uint64_t clock_ns;
	int64_t wall_ns;

	/* the thread of the group only */
	struct xdd_mpi_world *world;
	uint64_t beat_ns;  /* when the last sign of life was sent */
	uint64_t awake_ns; /* when the thread last ran */
	struct group_pings pings;
	bool call_running;

	/* guarded by `lock`, up to the end */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* for those who wait, and for `ready` */
	bool began, ready;	/* begin() of the plugin has returned; the loop may begin */
	char why[256];		/* begin() failed, if `library` is NULL */
	bool closing;		/* the next barrier is the last */
	bool ending, leaving; /* the thread is to end; without MPI's end, as the group is broken */
	int wake_fd;	      /* of eventfd(2), for the thread */
	struct watch watches[GROUP_WATCHES];
	unsigned n_watches;
	bool spins;	  /* this host has a processor for each of its ranks */
	unsigned waiting; /* threads that wait: look often */
	struct outgoing *out, **out_last;
	size_t n_logs;
	bool call_wanted; /* the data of `call` are valid while it is set */
	struct group_call call;
	bool has_decision, has_clock, pings_wanted;
	unsigned decision;
	struct ballot mine;
	struct group_skew *skews;
	size_t n_skews;
	uint64_t n_passes; /* the last one with a skew */
	struct group_skew most;
	struct group_wall wall;	      /* the last one */
	bool wall_over, wall_counted; /* the run is to be told */
	uint64_t wall_count;
	bool watches_wall; /* look often for it */
	bool broken;
	unsigned lost;
	bool has_stopped;
	enum stop_reason reason;
	int detail;

	/* guarded by stop_lock, and held during the call */
	pthread_mutex_t stop_lock;
	void (*stopped)(void *arg, enum stop_reason reason, int detail);
	void *stopped_arg;
	const struct group_wall_calls *wall_calls;
	void *wall_arg;

	struct group_log log; /* rank 0; has a lock of its own */
};

#define GROUP_BALLOT_BYTES 28

/* group_plugin.c: the functions of the plugin, or NULL with one line given to log_error(). */
const struct xdd_mpi *group_load(void);

/* True if the launcher says that this process is one of several; `*rank` is its number. */
bool group_launched(unsigned *rank, unsigned *size);

/* group_thread.c: the thread; and have it look for something to do: any thread. */
void *group_main(void *arg);
void group_wake(struct group *g);

/* ---- group_thread.c ---- */

/* Queue a message; with the lock. False: no memory, and the group is broken. */
bool group_put(struct group *g, unsigned to, int tag, const void *data, size_t size);

/* As group_put(), to all others. */
void group_put_all(struct group *g, int tag, const void *data, size_t size);

/* Returns GROUP_BALLOT_BYTES, the bytes written to `p`. */
size_t group_encode_ballot(char *p, const struct ballot *b);

/* Decide, once all ranks have voted or left; rank 0, with the lock. */
void group_count_votes(struct group *g);

/* ---- group_calls.c ---- */

/* A message about the end of a pass; and: tell the run what is new. Thread of the group. */
void group_take_wall(struct group *g, const struct xdd_mpi_message *m);
void group_call_wall(struct group *g);

/* ---- group.c ---- */

/* A rank is gone, or cannot go on: `how` is the reason. Without the lock; any thread. */
void group_break(struct group *g, unsigned rank, const char *how);

/* Take a message: another rank has lost a rank, or stops the run. Thread of the group. */
void group_take_lost(struct group *g, const struct xdd_mpi_message *m);
void group_take_stop(struct group *g, const struct xdd_mpi_message *m);

/* A line that rank `rank` has for the reader. Any thread. */
void group_log_line(struct group *g, unsigned rank, const char *text, size_t size);

/* Write the lines that have waited long enough; all of them: `now_ns` is UINT64_MAX. Rank 0. */
void group_show_log(struct group *g, uint64_t now_ns);

#endif
