/*
 * The part that limited a copy between two sides: one judgement for end-to-end copies and copies of
 * files. Pure functions, any thread.
 */
#ifndef XDD_REPORT_COPY_LIMIT_H
#define XDD_REPORT_COPY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * For people: "the storage of the source", or "unclear: the network or the storage of the source".
 * Returns `buf`; NULL: unknown.
 */
const char *copy_verdict_text(const struct copy_verdict *v, char buf[COPY_VERDICT_SIZE]);

#endif
