/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies between two sides: their measurements, and the part that limited them.
 */
#ifndef XDD_REPORT_ENDTOEND_H
#define XDD_REPORT_ENDTOEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/plan/target_options.h"
#include "xdd/stat/figures.h"

/*
 * The part that limited a copy between two sides: one judgement for end-to-end copies and copies
 * of files. Pure functions, any thread.
 */

/*
 * Shares of the time that the data threads of a side had, from 0 to 1. Storage, network, checking,
 * waiting and pace do not overlap; the processor is used, or missing, in all of them.
 */
struct copy_shares {
	double storage;	  /* reads, or writes: of what its threads, or its lanes, could do */
	double network;	  /* sends, or receives of payload */
	double waiting;	  /* for the peer, or for work that other threads find */
	double checking;  /* digests */
	double pace;	  /* its own pace by request: no operation was due */
	double processor; /* running, or ready to run and without a processor */
	double quota;	  /* a CPU quota stopped the control group of its threads */
	double transit; /* of a source: data was on its way to a destination that had room for it */
	double flush;	/* of the one thread that flushes and renames; else 0 */
};

enum copy_limit {
	COPY_LIMIT_UNKNOWN, /* too short to tell, or a side has not reported */
	COPY_LIMIT_SOURCE_STORAGE,
	COPY_LIMIT_NETWORK,
	COPY_LIMIT_DESTINATION_STORAGE,
	COPY_LIMIT_SOURCE_PROCESSOR,
	COPY_LIMIT_DESTINATION_PROCESSOR,
	COPY_LIMIT_SOURCE_PACE,
	COPY_LIMIT_DESTINATION_PACE,
	COPY_LIMIT_FILES, /* files had to be found or created; data threads waited */
	COPY_LIMITS,
};

struct copy_verdict {
	enum copy_limit limit; /* the largest part */
	enum copy_limit other; /* nearly as large: it is unclear; COPY_LIMIT_UNKNOWN: clear */
	bool quota;	       /* `limit` is a processor that a CPU quota took */
};

/* The share that `ns` of all threads together are of `elapsed_ns` of each of `n`: 1 at most. */
double copy_share(uint64_t ns, uint64_t elapsed_ns, uint64_t n);

/*
 * Judge two sides. `names`: both sides wait where names of files are found or created; without it
 * the source waits for its own threads only.
 */
struct copy_verdict copy_limit_judge(const struct copy_shares *source,
				     const struct copy_shares *destination, bool names);

/* "source-storage" and so on, "unclear"; NULL: unknown. For documents. */
const char *copy_verdict_name(const struct copy_verdict *v);

/* "source-storage" and so on; NULL: unknown. */
const char *copy_limit_name(enum copy_limit limit);

/* The part of that name; COPY_LIMIT_UNKNOWN: none has it. */
enum copy_limit copy_limit_named(const char *name);

#define COPY_VERDICT_SIZE 160

/*
 * As text: "the storage of the source", or "unclear: the network or the storage of the source".
 * Returns `buf`; NULL: unknown.
 */
const char *copy_verdict_text(const struct copy_verdict *v, char buf[COPY_VERDICT_SIZE]);

/*
 * An end-to-end copy as both of its sides measured it: what the run passes to the writers.
 *
 * A struct endtoend_result belongs to one thread at a time.
 */

#define ENDTOEND_HEX_SIZE 33 /* 16 bytes in hexadecimal, with the NUL */

/* One side of a copy in a pass, or in all of them. Times are sums over its QThreads. */
struct endtoend_side {
	bool known;	/* false: it ended before it could report */
	uint64_t lanes; /* operations that its storage does at a time; 0: one per QThread */
	uint64_t ops;	/* sent, or written */
	uint64_t bytes;
	uint64_t failed;		/* operations */
	char digest[ENDTOEND_HEX_SIZE]; /* of all blocks; of several passes: of the last one */
	uint64_t elapsed_ns;
	uint64_t storage_ns;  /* reads, or writes */
	uint64_t network_ns;  /* sending, or receiving data */
	uint64_t waiting_ns;  /* for a message or a turn */
	uint64_t checking_ns; /* checksums */
	uint64_t pace_ns;     /* for its own pace by request, such as -throttle */
	uint64_t cpu_ns;      /* running on a processor, in any of these */
	uint64_t cpu_wait_ns; /* ready to run, and without a processor */
	uint64_t quota_ns;    /* in which a CPU quota stopped its control group */
	uint64_t transit_ns;  /* source: data was on its way to a peer that had room for it */
	uint64_t retransmits; /* segments */
};

/* The cost of the restart monitor of a destination. */
struct endtoend_monitor {
	bool used;
	uint64_t flushes; /* of the target, before what was written is recorded */
	uint64_t flush_ns;
	uint64_t records; /* written to the restart file */
	uint64_t record_ns;
};

struct endtoend_result {
	uint32_t target;
	uint64_t pass;	 /* from 1; 0: the sums over all passes */
	uint64_t passes; /* of these: how many */
	enum endtoend_role role;
	bool complete;			 /* both sides have the same count and digest */
	char session[ENDTOEND_HEX_SIZE]; /* the same on both sides of a run */
	const char *peer_host;		 /* borrowed, for the time of the call; "": unknown */
	const char *peer_name;		 /* of its target; the same */
	uint64_t resumed_bytes;		 /* that the destination had already, and kept */
	uint64_t compared_bytes; /* that it had, compared with the source; 0: not compared */
	struct endtoend_monitor monitor; /* of this side, if it is a destination */
	struct endtoend_side source, destination;
	uint32_t n_qthreads; /* of either side: data connections */
	uint32_t n_info;     /* entries of `info`; of several passes: after the last one */
	struct connection_info info[];
};

/* Bytes that the destination had, and that were copied again, as they did not equal the source. */
static inline uint64_t endtoend_differing_bytes(const struct endtoend_result *r)
{
	return r->compared_bytes > r->resumed_bytes ? r->compared_bytes - r->resumed_bytes : 0;
}

/* Allocate a result with room for `n` connections; NULL: no memory. To be freed by free(). */
struct endtoend_result *endtoend_result_new(uint32_t n);

/*
 * Add pass `from` to the sums `*sum` (NULL at first), which the caller frees by free(). Returns 0
 * or -ENOMEM.
 */
int endtoend_result_add(struct endtoend_result **sum, const struct endtoend_result *from);

/* Shares of the time that the QThreads of a side had. */
struct copy_shares endtoend_shares(const struct endtoend_side *side, uint32_t n_qthreads);

/* The part of the copy that limited it. */
struct copy_verdict endtoend_verdict(const struct endtoend_result *r);

/* The text lines about the sums over the passes. */
void endtoend_write(FILE *f, const struct endtoend_result *r);

#endif
