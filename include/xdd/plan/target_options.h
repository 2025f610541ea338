/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of struct target_plan and of struct plan in xdd/plan/plan.h, by option. Fields marked
 * "option" are set by the option table, those marked "resolved" by plan_resolve(). Const once the
 * plan is built; any thread.
 */
#ifndef XDD_PLAN_TARGET_OPTIONS_H
#define XDD_PLAN_TARGET_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/sets.h"
#include "xdd/sys/machine.h"

struct setting;
struct zipf;

/*
 * How the I/O buffers of a QThread lie in memory: one after the other in a region of its own.
 */

struct memory_plan {
	/* option */
	uint64_t align_asked; /* -memalign; 0: none */
	bool shared;	      /* in a segment of System V shared memory */
	bool huge_pages;      /* in explicit huge pages */
	enum mempolicy policy;
	const struct idset *nodes; /* for the policies bind and interleave */

	/* resolved */
	uint64_t page_bytes;  /* the region is whole pages of this size */
	uint64_t align_bytes; /* its start is a multiple of this: a power of two, a page at least */
	uint64_t shift_bytes; /* the first buffer begins so far after that */
	uint64_t stride_bytes; /* from one buffer to the next; 0: the operations need none */
	uint64_t last_bytes;   /* the last one takes no more than this, its shift included */
};

/*
 * Amounts of a target as options gave them, where their value is known only with the block size or
 * the size of the target. Set by the option table; plan_resolve() computes the fields that they
 * stand for.
 */

enum amount_kind {
	AMOUNT_AS_IS,	 /* without a suffix: the field has it already */
	AMOUNT_OF_BYTES, /* with a suffix */
	AMOUNT_SHARE,	 /* of the target, in units of 10^-6 percent */
};

/* Options for the same field share an entry: the last one wins. */
enum amount_entry {
	ENTRY_BLOCK, /* -blocksize; its field always has the value */
	ENTRY_REQUEST,
	ENTRY_WORK, /* -bytes and its variants */
	ENTRY_START,
	ENTRY_PASS_OFFSET,
	ENTRY_TARGET_OFFSET,
	ENTRY_RANGE,
	ENTRY_RANK_BLOCK,
	N_AMOUNT_ENTRIES,
};

struct amount {
	enum amount_kind kind;
	uint64_t value;
	const struct setting *from; /* NULL: the default */
};

/*
 * -lockstep, -starttrigger and -stoptrigger: the conditions on which a target waits; and
 * -timeserver.
 */

/* How much of a target's pass: a time, or a number of operations, a share of them, or bytes. */
enum measure_unit {
	MEASURE_TIME,	 /* nanoseconds */
	MEASURE_OPS,	 /* operations */
	MEASURE_PERCENT, /* of the operations of a pass; 100 is PLAN_RATIO_ONE */
	MEASURE_BYTES,	 /* bytes */
};

struct measure {
	enum measure_unit unit;
	uint64_t value; /* at least 1 */
};

/* -lockstep, of the slave. */
struct lockstep_plan {
	bool on;
	uint32_t master;
	struct measure when; /* of the master, between two requests */
	struct measure what; /* of the slave, for each request */
	bool run;	     /* one task before the first request */
	bool stop;	     /* no more than was requested, once the master has ended */
};

/* -starttrigger and -stoptrigger, of the target that starts or stops. */
struct trigger_plan {
	bool on;
	uint32_t by; /* the target that pulls it */
	struct measure when;
};

#define TIMESERVER_PORT 2000
#define TIMESERVER_BOUNCE 100
#define TIMESERVER_MAX_BOUNCE 10000

/* -timeserver, of the run. */
struct timeserver_options {
	const char *host; /* NULL: none */
	uint64_t port;
	uint64_t bounce;       /* exchanges of messages before the run */
	uint64_t max_error_ns; /* of the global clock before the run; 0: any */
	uint64_t wait_ns;      /* for the server, and for that error; 0: one attempt */
};

/*
 * -endtoend and -restart of a target. User guide, 5.2, 10.5 and 10.6.
 */

#define E2E_DEFAULT_PORT 40010
#define E2E_DEFAULT_TIMEOUT_NS (60ull * 1000000000)
#define E2E_MAX_ADDRESSES 16
#define E2E_MAX_CONNECTIONS 65536 /* of a target */
#define E2E_COOKIE_DIGITS 32

enum endtoend_role {
	E2E_NONE,
	E2E_SOURCE,
	E2E_DESTINATION,
};

/* An address of the destination, as option and resolved. */
struct endtoend_address {
	const char *host; /* a name or a number; an IPv6 number without its brackets */
	uint16_t port;	  /* the first port; option: 0 when it was not given */
	uint32_t ports;	  /* how many, from `port` on; option: 0 when it was not given */
};

struct endtoend_options {
	/* option */
	enum endtoend_role role;
	struct endtoend_address *addresses;
	size_t n_addresses;
	uint64_t port;	     /* -e2e port; 0: not given */
	uint64_t port_count; /* -e2e portcount; 0: not given */
	uint64_t timeout_ns; /* of each step, E2E_DEFAULT_TIMEOUT_NS where it was not given */
	bool timeout_given;
	const char *key_file; /* NULL: not given; XDD_E2E_KEY may have the key then */
	const char *cookie;   /* -cookie: 32 hexadecimal digits, a weak key; NULL: not given */
	bool encrypt;
	const char *congestion;	       /* algorithm; NULL: the system's */
	uint64_t send_buffer_bytes;    /* of a socket; 0: the kernel adapts it */
	uint64_t receive_buffer_bytes; /* the same */

	/* resolved: addresses[].port and .ports, whose sum is the number of QThreads */
};

/* -restart. */
struct restart_options {
	bool enabled;	       /* any suboption was given */
	uint64_t frequency_ns; /* default 1 s */
	const char *file;      /* NULL: not given */
	uint64_t offset_bytes; /* so much of the copy is done, and is left out */
	bool offset_given;
	bool trust; /* data that is there already is not compared with the source */
};

/* The data connections of a target, one for each QThread. Once the plan is resolved; any thread. */
uint64_t endtoend_connections(const struct endtoend_options *e);

/*
 * The address that data connection `connection` goes to, and its port in `*port`. The connections
 * are numbered through the ports of the first address, then through the ports of the next one.
 */
const struct endtoend_address *endtoend_address_of(const struct endtoend_options *e,
						   uint64_t connection, uint16_t *port);

/* "source", "destination" or "none". */
const char *endtoend_role_name(enum endtoend_role role);

/*
 * -heartbeat: fields that are shown of a target while it runs, and the output.
 */

/* Fields of a line: bits of a word. */
enum heartbeat_field {
	HEARTBEAT_TOD = 1 << 0,
	HEARTBEAT_ELAPSED = 1 << 1,
	HEARTBEAT_HOSTNAME = 1 << 2,
	HEARTBEAT_TARGET = 1 << 3,
	HEARTBEAT_OPS = 1 << 4,
	HEARTBEAT_BYTES = 1 << 5,
	HEARTBEAT_KBYTES = 1 << 6,
	HEARTBEAT_MBYTES = 1 << 7,
	HEARTBEAT_GBYTES = 1 << 8,
	HEARTBEAT_BW = 1 << 9,
	HEARTBEAT_IOPS = 1 << 10,
	HEARTBEAT_PCT = 1 << 11,
	HEARTBEAT_ETC = 1 << 12,
	HEARTBEAT_LATENCY = 1 << 13,
	HEARTBEAT_LF = 1 << 14, /* no field: on a terminal too, each line stays */
};

/* The fields that are shown when no word names one. */
#define HEARTBEAT_DEFAULT (HEARTBEAT_OPS | HEARTBEAT_BW | HEARTBEAT_PCT | HEARTBEAT_ETC)

struct heartbeat_options {
	bool off;	      /* option; not even the line that a terminal gets by default */
	uint64_t interval_ns; /* option; 0: not given */
	const char *output;   /* option; prefix of the files; NULL: standard error */
	bool append;	      /* option; to the files */
	unsigned fields;      /* option; of enum heartbeat_field */
	bool on;	      /* resolved; an option asks for it */
};

/*
 * -intervals: progress of each interval of time.
 */

struct interval_options {
	bool shown;		/* option; any part of it was given */
	uint64_t length_ns;	/* option, resolved; 0: no intervals */
	const char *file;	/* option; CSV; NULL: a table in the text output */
	const char *prometheus; /* option; OpenMetrics text; NULL: none */
};

/*
 * -latency: which figures of latencies are shown.
 */

struct latency_options {
	bool shown;		  /* option; any part of it was given */
	bool histogram;		  /* option; distributions as well */
	uint64_t interval_ns;	  /* option; figures of every such interval; 0: none */
	const char *file;	  /* option; NULL: none */
	const uint32_t *percents; /* option; of HISTOGRAM_ALL, ascending; NULL: not given */
	size_t n_percents;
};

/*
 * The blocks of a file that the targets of all ranks share: -blockperrank, -segments, -reorder.
 *
 * The file consists of segments, and a segment has one block for each target of each rank, in the
 * order of their indexes: block i of segment k begins at (k * n_owners + i) * block_bytes.
 */

/* Whose blocks a target reads. */
enum reorder {
	REORDER_NONE,	 /* its own */
	REORDER_DEFAULT, /* of the next host, rank or target: the first with others */
	REORDER_RANKS,	 /* of the next rank */
	REORDER_NODE,	 /* of the next host */
	REORDER_SHIFT,	 /* so many targets further */
	REORDER_RANDOM,	 /* of another target, each of exactly one */
};

struct layout_options {
	uint64_t block_blocks; /* option; 0: no blocks */
	uint64_t segments;     /* option; 0: not given */
	enum reorder reorder;  /* option */
	uint64_t shift;	       /* option; targets */
	uint64_t seed;	       /* option; of REORDER_RANDOM */

	uint64_t block_bytes;  /* resolved; 0: no blocks */
	uint64_t n_segments;   /* resolved; that a pass covers */
	uint64_t index;	       /* resolved; rank * targets of a rank + number of the target */
	uint64_t n_owners;     /* resolved; targets of all ranks */
	uint64_t owner;	       /* resolved; index of the target whose blocks it accesses */
	uint32_t owner_number; /* resolved; number of that target in its own rank */
};

/*
 * -datapattern: the data to write.
 */

/* The first bytes of each sector of tagged data; xdd/io/tag.h has the whole of it. */
#define PATTERN_TAG_MAGIC "XDDtag1\n"

enum pattern_kind {
	PATTERN_CHARACTER, /* one byte, repeated; zeros unless another is given */
	PATTERN_ASCII,
	PATTERN_HEX,
	PATTERN_FILE,
	PATTERN_RANDOM,
	PATTERN_RANDOM_BY_TARGET,
	PATTERN_SEQUENCED,
	PATTERN_LFPAT,
	PATTERN_LTPAT,
	PATTERN_CJTPAT,
	PATTERN_CRPAT,
	PATTERN_CSPAT,
	PATTERN_REDUCIBLE, /* compress, dedupe, or both */
	PATTERN_TAGGED,
};

struct pattern_options {
	enum pattern_kind kind; /* option */
	bool given;		/* option; a pattern or a modifier was given */
	const char *use;	/* option; the -datapattern that named it, by its word */
	const char *scope;	/* option; its word after "target"; NULL: all targets */
	const char *word;   /* option; the word that stands for the character; NULL: not given */
	const char *text;   /* option; string of ascii, digits of hex */
	const char *file;   /* option; name of file */
	const char *prefix; /* option; digits; NULL: none */
	bool replicate;	    /* option */
	bool inverse;	    /* option */
	uint64_t compress;  /* option; percent that a compressor saves */
	uint64_t dedupe;    /* option; percent of units that are copies */

	/* resolved */
	const uint8_t *bytes; /* ascii, hex, file */
	size_t n_bytes;
};

/*
 * -seek: the access pattern, and the list of operations of -seek load.
 */

enum seek_pattern {
	SEEK_SEQUENTIAL,
	SEEK_RANDOM,
	SEEK_ONCE, /* -seek random once */
	SEEK_ZIPF,
	SEEK_STAGGER,
	SEEK_INTERLEAVE,
	SEEK_STREAMS,
	SEEK_NONE,
	SEEK_LOAD,
};

struct seek_options {
	enum seek_pattern pattern; /* option */
	uint64_t range_blocks;	   /* option; 0: implied by the amount of work */
	uint64_t interleave;	   /* option; factor */
	uint64_t seed;		   /* option */
	double theta;		   /* option; of SEEK_ZIPF */
	const struct zipf *zipf;   /* resolved; ranks of SEEK_ZIPF */
	const char *save_file;	   /* option; NULL: none */
	const char *load_file;	   /* option; NULL: none */
	uint64_t disthist;	   /* option; buckets, 0: none */
	uint64_t seekhist;	   /* option; buckets, 0: none */
};

/* True if the pattern has its offsets in random order. */
static inline bool seek_is_random(enum seek_pattern pattern)
{
	return pattern == SEEK_RANDOM || pattern == SEEK_ONCE || pattern == SEEK_ZIPF;
}

/* One row of a -seek load file. */
struct seek_row {
	uint64_t block; /* in blocks of the target, start offset included */
	uint32_t blocks;
	char op; /* 'r', 'w', 'n' or 'd' (discard) */
};

/*
 * -stonewall: all targets end a pass together, once the first one has ended it.
 */

struct stonewall_options {
	bool on;	       /* option */
	uint64_t after_ns;     /* option; since the start of a pass; 0: no time */
	bool wear_out;	       /* option: go on until all have done what the first one had */
	const char *save_file; /* option; NULL: none */
	const char *load_file; /* option; NULL: none */
};

/*
 * -throttle: the rate of a target.
 */

enum throttle_by {
	THROTTLE_NONE,
	THROTTLE_OPS,
	THROTTLE_BANDWIDTH,
	THROTTLE_DELAY,
};

struct throttle_options {
	enum throttle_by by;	      /* option */
	double rate;		      /* option; operations or 10^6 bytes per second */
	double var_percent;	      /* option; of the interval between operations; 0: none */
	bool poisson;		      /* option; arrivals of a Poisson process */
	uint64_t delay_ns;	      /* option; after each operation */
	double interval_ns;	      /* resolved; between operations of full size, with
					 -throttle poisson the mean; 0: not paced */
	uint64_t rank;		      /* resolved; arrivals of each rank are its own */
	const uint64_t *bytes_before; /* resolved; n_rows + 1, at a rate of bytes with -seek load */
};

/*
 * -timestamps: the table of time stamps of a target, and its reports. The user guide, 5.2.
 */

#define PLAN_TRACE_ENTRY_BYTES 64u /* memory that the time stamps of an operation take */
#define PLAN_TRACE_NET_BYTES 32u   /* the same of its network part, of end-to-end targets */
#define PLAN_TRACE_DEFAULT_OPS \
	(1ull << 20) /* size of the table of a target without a number of ops */

struct trace_options {
	bool on;	   /* option; by itself, or by an option that needs time stamps */
	bool summary;	   /* option; resolved: a report of that kind is written */
	bool detailed;	   /* option; resolved: a detailed report is written */
	bool normalize;	   /* option; times of the global clock in the reports */
	bool append;	   /* option; to the report file that exists */
	bool wrap;	   /* option; keep the newest operations when the table is full */
	bool oneshot;	   /* option; keep the oldest */
	uint64_t size_ops; /* option; 0: not given. resolved: operations that the table holds */
	bool triggered_by_time;	  /* option */
	uint64_t trigger_time_ns; /* option; of the global clock */
	uint64_t trigger_op;	  /* option; operation of the first pass */
	const char *output;	  /* option; prefix, NULL: none */
	const char *dump;	  /* option; prefix, NULL: none */

	/* resolved */
	bool cut;		 /* the table may be smaller than the run */
	bool size_by_default;	 /* and not by an option */
	uint32_t chunk_ops;	 /* entries that a QThread takes for itself at a time */
	uint64_t chunks;	 /* of the table; more than size_ops, for those that are not full */
	const char *report_path; /* NULL: with the results */
	const char *dump_path;	 /* NULL: none */
};

#endif
