/*
 * The state of a role, and what its files need of each other: role.c begins and ends a role,
 * role_end.c has how it ends, role_receive.c and role_speak.c its two threads.
 */
#ifndef COPY_ROLE_STATE_H
#define COPY_ROLE_STATE_H

#include <pthread.h>

#include "copy/role.h"
#include "xdd/sys/clock.h"

/* Ends that the speaking thread announces to the peer. */
enum role_end {
	END_NONE,
	END_CANCEL, /* CANCEL, and the exchange follows */
	END_FATAL,  /* ERROR, and nothing follows */
};

struct role {
	/* const after role_open() */
	struct copy_job *job;
	enum copy_role is;
	const struct role_ops *ops;
	void *arg;
	uint64_t begun_ns;
	uint64_t throttled_ns; /* cgroup_throttled_ns() then */

	pthread_t receiver, speaker; /* main thread */
	bool has_receiver, has_speaker;

	/* owned by the receiving thread */
	uint8_t *body;
	size_t room;
	uint64_t never_offered; /* role_never_offered() */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* guarded by lock */
	enum role_end end;	 /* the first one counts */
	enum role_end announced; /* of the second thread, then of role_finish() */
	struct wire_error cause; /* of it */
	bool started;		 /* the data connections are there */
	bool canceled;		 /* CANCEL was sent or received */
	bool all_offered;	 /* source: role_all_offered() */
	bool finish_sent;	 /* source: FINISHED may come, as it may earlier from a server */
	bool nothing_left;	 /* destination: role_nothing_left() */
	bool finish_seen, bye_seen;
	bool complete; /* FINISHED has passed: what is lost from now on does not matter */
	bool over;     /* nothing comes from the peer any more */
	bool quiet;    /* the speaking thread is to end */
	int status;
	uint64_t failed, warnings;
	struct copy_counts peer;
};

/* The time of the kernel's clock in `ns` nanoseconds, to wait for `changed`. */
static inline struct timespec role_deadline_in(uint64_t ns)
{
	return clock_timespec(clock_kernel_ns() + ns);
}

/* ---- role_end.c ---- */

/* Keep the worse status. r->lock is held. */
void role_set_status(struct role *r, int status);

/*
 * Nothing comes from the peer any more; unless the ends are exchanged, `text` is the cause, with
 * the side that it speaks of. NULL: that is as it should be. Any thread.
 */
void role_end_receiving(struct role *r, enum copy_role side, int status, const char *text);

/* The channel has failed with -errno. Any thread. */
void role_channel_failed(struct role *r, int err);

/*
 * As role_channel_failed(), when something was sent: the peer may have said why it has ended. The
 * receiving thread gets some time to find that; it does not wait for itself. Any thread.
 */
void role_not_sent(struct role *r, int err);

/* ---- role_receive.c: the receiving thread; `arg` is the role ---- */
void *role_receive_main(void *arg);

/* True in the receiving thread of a role. */
bool role_is_receiver(void);

/* ---- role_speak.c: the speaking thread; `arg` is the role ---- */
void *role_speak_main(void *arg);

/* COUNTS, FINISH or FINISHED, with the counts of this side. Returns 0 or -errno. Any thread. */
int role_send_counts(struct role *r, enum wire_type type);

/* End the speaking thread: it says what it must, and no more. Main thread. */
void role_end_speaking(struct role *r);

/* Announce a fault that was found after the speaking thread had ended. Main thread. */
void role_announce_late(struct role *r);

#endif
