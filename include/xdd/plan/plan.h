/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan: all options of a run, resolved. Built by plan_build() before the first thread starts,
 * passed as const from then on, freed by plan_free().
 *
 * Fields marked "option" are set by the option table; those marked "resolved" by plan_resolve()
 * from them and from the targets.
 */
#ifndef XDD_PLAN_PLAN_H
#define XDD_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xdd/base/arith.h"
#include "xdd/base/log.h"
#include "xdd/base/sets.h"
#include "xdd/base/status.h"
#include "xdd/plan/target_options.h"
#include "xdd/stat/stats.h"

struct engine_info;
struct mix_words;
struct plan_earlier;
struct request_mix;

#define PLAN_UNLIMITED UINT64_MAX /* number of operations of a pass that only time ends */
#define PLAN_MAX_TARGETS 8192
#define PLAN_MAX_REQUEST_BYTES (2ull << 30)
#define PLAN_RATIO_ONE 100000000u /* -rwratio: 100 % reads, in units of 10^-6 percent */
#define PLAN_DEFAULT_SEED 72058	  /* the seed the guide's program names as its default */

/* The columns of a result line unless -outputformat says otherwise; the user guide, 8.2. */
#define PLAN_DEFAULT_COLUMNS                                                             \
	"+WHAT+PASS+TARGET+QUEUE+BYTESXFERED+OPS+ELAPSEDTIMEPASS+BANDWIDTH+IOPS+LATENCY" \
	"+PERCENTCPUTIME+OPTYPE+XFERSIZEBYTES"

/* With one of these, a name of -target that no file has is a pattern of files. */
#define TARGET_PATTERN "*?["

/* Kinds of targets, as found before anything is opened for I/O. */
enum target_kind {
	TARGET_UNKNOWN,
	TARGET_NULL,
	TARGET_MISSING,
	TARGET_FILE,
	TARGET_BLOCK,
	TARGET_CHAR, /* character devices, fifos and the like: no size, no seeks promised */
};

enum op_request {
	OP_UNSET,
	OP_READ,
	OP_WRITE,
	OP_NOOP,
	OP_DISCARD,
	OP_MIXED, /* by -rwratio */
};

/*
 * When the next operation of a target may be issued: -ordering. The user guide, 5.7; strict is
 * ours.
 */
enum ordering {
	ORDERING_NONE,
	ORDERING_LOOSE,	 /* once its predecessor is about to be issued */
	ORDERING_STRICT, /* once its predecessor has been submitted to the kernel */
	ORDERING_SERIAL, /* once its predecessor is complete */
};

/* Flags of open(2) for writes: the kernel calls them complete once they are on the device. */
enum open_sync {
	OPEN_SYNC_NONE,
	OPEN_SYNC_FILE, /* O_SYNC: the data and all attributes are on the device */
	OPEN_SYNC_DATA, /* O_DSYNC: the data, and what is needed to read it */
	OPEN_SYNC_READ, /* O_RSYNC, which Linux defines as O_SYNC */
};

/* Kinds of verification: bits of a word. */
enum verify_kind {
	VERIFY_NONE = 0,
	VERIFY_CONTENTS = 1 << 0,
	VERIFY_LOCATION = 1 << 1,
};

struct target_plan {
	/* option */
	const char *name;
	const char *dir;	    /* "" when none */
	const char *from_directory; /* that was named in place of its files; NULL: none */
	enum op_request op;
	uint32_t read_ratio; /* of PLAN_RATIO_ONE; for OP_MIXED */
	bool ratio_random;
	bool ratio_given;    /* -rwratio has set `op` */
	uint64_t block_size; /* bytes */
	uint64_t req_blocks;
	bool block_size_given, req_blocks_given;
	const struct mix_words *mix_words;	 /* -reqsize mix; NULL: one size */
	uint64_t numreqs;			 /* 0: not given */
	uint64_t amount_bytes;			 /* 0: not given */
	struct amount amounts[N_AMOUNT_ENTRIES]; /* some of these numbers, as given */
	uint64_t queue_depth;
	bool queue_depth_given;
	uint64_t start_offset_blocks;
	uint64_t pass_offset_blocks;
	uint64_t target_offset_blocks;
	uint64_t start_delay_ns;
	uint64_t target_start_delay_ns; /* times the target's number */
	uint64_t time_limit_ns;		/* per pass; 0: none */
	uint64_t warmup_ns;		/* at the start of each pass, in no figure; 0: none */
	uint64_t warmup_ops;		/* the same in operations; one of both is 0 */
	struct throttle_options throttle;
	double snooze_percent; /* of the mean response time, after each operation; 0: none */
	bool direct_io;
	bool drop_cache;	/* empty the page cache of the target before each pass */
	bool drop_system_cache; /* -dropcache system names it: struct plan */
	bool randomize;
	struct seek_options seek;
	struct layout_options layout;
	const struct engine_info *engine; /* see plan_engine() */
	bool engine_by_default;		  /* no -ioengine has named it */
	void *engine_options;	/* keywords of `engine`, in its own struct; NULL: it has none */
	enum ordering ordering; /* option; of operations on storage */
	enum ordering network_ordering; /* option; of sends and receives */
	struct heartbeat_options heartbeat;
	uint64_t threads;		/* QThreads of an asynchronous engine; 0: not given, one */
	const struct idset *processors; /* that its QThreads may run on; NULL: not given */
	bool create_new_files;		/* a file of its own for every pass */
	bool recreate_files;		/* remove the file and create it again for each pass */
	bool reopen;			/* close and open between passes */
	bool delete_file;		/* remove the file after the run */
	enum open_sync open_sync;	/* flag of open(2) */
	bool sync_write;		/* flush at the end of each pass */
	uint64_t flush_writes;		/* flush after so many writes; 0: never */
	bool flush_between;		/* but not after the last one of a pass */
	uint64_t preallocate_bytes;	/* 0: none */
	bool pretruncate;		/* give the file this size before the first write */
	uint64_t pretruncate_bytes;
	uint64_t report_threshold_ns; /* operations that take longer are reported; 0: none */
	uint64_t retries;	      /* further tries of an operation that failed */
	struct pattern_options pattern;
	unsigned verify; /* of enum verify_kind; VERIFY_NONE once resolved where nothing is read */
	bool verify_named; /* -verify names this target */
	struct lockstep_plan lockstep;
	struct trigger_plan start_trigger;
	struct trigger_plan stop_trigger;
	struct trace_options trace;
	struct endtoend_options endtoend; /* its addresses are resolved as well */
	struct restart_options restart;

	/* resolved */
	bool forced; /* -force names it */
	uint32_t number;
	const char *path; /* directory and name; "null" for the null device */
	enum target_kind kind;
	dev_t device;			  /* number of a device; it must not change during a run */
	uint64_t size_bytes;		  /* of the target before the run; 0 when it has none */
	const struct target_plan *writer; /* of the file that this target reads; NULL: none */
	/* first of the targets that recreate one file together; NULL: not one of them */
	const struct target_plan *shared_with;
	uint32_t sharers; /* number of these targets */
	bool foreseen;	  /* kind and size are those after earlier runs: plan_runs_foresee() */
	uint64_t written_bytes;	 /* where the writers end; PLAN_UNLIMITED: only time ends them */
	uint32_t io_align_bytes; /* of offsets and sizes with -dio; 1 without it */
	uint32_t memory_align_bytes; /* and of buffers; 0: not known */
	bool direct_ignored; /* -dio goes through the page cache: struct directio, before the run */
	struct memory_plan memory;
	uint32_t qthreads;	       /* threads that issue operations */
	uint64_t first_qthread;	       /* QThreads of the targets before it */
	const struct request_mix *mix; /* several sizes of requests; NULL: one */
	uint64_t req_bytes;	       /* of a request; the largest size of a mix */
	uint64_t pass_ops;	       /* PLAN_UNLIMITED when only a time limit ends the pass */
	uint64_t pass_bytes;	       /* PLAN_UNLIMITED in the same case */
	uint64_t last_op_bytes;	       /* size of operation pass_ops - 1 */
	uint64_t tail_bytes;	       /* of it, through the page cache with -dio */
	uint64_t start_bytes;	       /* start offset plus the target's own offset */
	uint64_t pass_offset_bytes;
	uint64_t range_bytes;  /* 0: unbounded (sequential, interleave without -seek range) */
	uint64_t extent_bytes; /* of a pass: from its first byte to the end of its last operation */
	uint64_t end_bytes;    /* the byte after the last one that a run may touch */
	uint64_t delay_ns;     /* both start delays together */
	const struct seek_row *rows; /* -seek load; NULL: none */
	size_t n_rows;
};

enum percent_cpu {
	PERCENT_CPU_ABSOLUTE, /* of one processor: may exceed 100 */
	PERCENT_CPU_RELATIVE, /* of all processors of the machine */
};

/* -attached: the stream whose other end belongs to the program that started this one. */
enum attached_to {
	ATTACHED_NO,
	ATTACHED_INPUT,
	ATTACHED_OUTPUT,
};

enum report_form {
	REPORT_AUTO,   /* as text where standard output is a terminal */
	REPORT_PERSON, /* the result block */
	REPORT_TABLE,  /* the guide's table */
};

/* -passes until: the least and, where it is not given, the greatest number of passes. */
#define PLAN_UNTIL_MIN_PASSES STATS_UNTIL_MIN
#define PLAN_UNTIL_DEFAULT_PASSES 100
#define PLAN_UNTIL_MAX_PASSES 10000

/* A file that is read before the run: by no target. */
struct plan_input {
	const char *option; /* in words, with its dash */
	const char *path;
	const struct plan_input *next; /* NULL: the last one */
};

struct plan {
	/* option */
	uint64_t passes;      /* the most there will be */
	double until_percent; /* pass on until the bandwidth is known to +- this; 0: all passes */
	uint64_t pass_delay_ns;
	uint64_t run_time_ns; /* 0: no limit */
	uint64_t max_errors;  /* per target and pass; 0: no limit */
	uint64_t max_errors_to_print;
	bool stop_on_error;
	uint64_t operation_delay_ns;
	uint64_t start_time_ns; /* global clock, since 1970; 0: at once */
	struct timeserver_options timeserver;
	uint64_t syncio_ops;	/* all targets meet after so many operations; 0: never */
	uint64_t rank, n_ranks; /* this process among the processes of the run; rank < n_ranks */
	uint64_t ranks_per_node;
	bool ranks_given;
	bool mpi; /* the ranks communicate */
	enum attached_to attached;
	bool deskew;
	bool no_barrier;
	bool verbose;
	bool really_verbose;
	bool qthread_info;
	bool dry_run;
	bool timer_info;
	bool keep_going; /* the next run follows although this one fails */
	bool read_back;	 /* a run that reads follows, or this is it */
	/*
	 * Of a run of -readback that writes: the operations that each target had in a pass, the
	 * most of all passes, which the run fills in; of the one that reads, what it does at most.
	 * UINT64_MAX: all, or not known. NULL: of another run.
	 */
	uint64_t *written_ops;
	bool list_engines;	    /* -ioengine list: nothing else in the plan counts */
	const struct setting *help; /* -help and its words: nothing else counts; NULL: not given */
	bool max_priority;
	bool process_lock;
	bool no_memory_lock;
	double hog_percent; /* -hogmemory as a share; 0: bytes, or none */
	uint64_t hog_bytes; /* memory to occupy during the run, resolved of a share; 0: none */
	const struct idset *processors; /* -singleproc, -roundrobin; NULL: neither was given */
	bool round_robin; /* each QThread on one of them in turn, not each on any of them */
	bool extended_stats;
	unsigned debug_kinds; /* of enum debug_kind */
	enum percent_cpu percent_cpu;
	enum report_form report_form;
	const char *id;		   /* NULL: not given */
	const char *run_id;	   /* the same in the documents of all hosts; NULL: not given */
	const char *output_file;   /* NULL: standard output, unless `quiet` */
	bool quiet;		   /* neither results on standard output nor unasked progress */
	const char *errout_file;   /* NULL: standard error */
	const char *csv_file;	   /* NULL: none */
	const char *combined_file; /* NULL: none */
	const char *json_file;	   /* NULL: none; "-": standard output */
	bool columns_chosen;	   /* -outputformat new: CSV has these, and no others */
	const char *output_format; /* "+ID+ID..."; NULL: the default columns */
	struct latency_options latency;
	struct interval_options intervals;
	struct stonewall_options stonewall;
	const char **force; /* devices that may be overwritten whatever they hold */
	size_t n_force;

	/* resolved */
	bool person;			 /* standard output gets the result block */
	bool drop_system_cache;		 /* empty all caches of the kernel before each pass */
	const struct plan_input *inputs; /* which no output may replace */
	bool supposes_files;  /* targets are supposed to be files of any size, and not examined */
	const char *run_name; /* among the runs of the command line; NULL: the only one */
	const struct plan_earlier *earlier; /* runs before it, while they are foreseen; or NULL */
	size_t n_earlier;
	const char *command_line;	/* the words as given, for -id commandline and reports */
	const struct setting *settings; /* the options as given, in order; option.h */
	size_t n_settings;
	const struct setting **by_option; /* the same, sorted by option and suboption */
	size_t n_targets;
	struct target_plan *targets;
	const char **target_notes; /* on words with several names; ends with NULL; or NULL */

	/* owned by the plan: backing store of strings and arrays */
	struct arena *arena;
};

/*
 * Read the command line and its setup files, apply the option table, examine the targets (stat and
 * sizes; nothing is opened for writing, created or changed) and resolve the rest.
 *
 * Returns XDD_OK with `*out` to be freed by plan_free(), or another status with one line already
 * given to log_error(). With XDD_TARGET_FAILED `*out` is set too: it names the outputs and the
 * paths of all targets, but is not resolved and cannot be run. `*out` is NULL with any other
 * status, and when there is nothing to run: -help and the like, which have printed to standard
 * output. Main thread, while no run is active.
 */
enum xdd_status plan_build(int argc, char **argv, struct plan **out);

/*
 * Check the words of a run on another host: names of options, their arguments and ranges, as far as
 * no file has a say. Returns XDD_OK, or another status with lines given to log_error(). Main
 * thread.
 */
enum xdd_status plan_check_words(int argc, char **argv);

/*
 * Refuse a plan whose files need more blocks than their file systems have, with one line to
 * log_error(). Nothing is opened. Called by run_check() once the targets are known to be usable.
 */
enum xdd_status plan_check_room(const struct plan *plan);

/*
 * Refuse a time of -starttime that is past, or too far ahead, of a clock that shows `now_ns` since
 * 1970, with one line to log_error(); `clock` names that clock. Called for the wall clock while the
 * plan is built, and with -timeserver before the run.
 */
enum xdd_status plan_check_start_time(const struct plan *plan, uint64_t now_ns, const char *clock);

/*
 * The size in bytes that the target will have once the other targets of the run have written;
 * UINT64_MAX: any.
 */
uint64_t plan_size_in_run(const struct target_plan *t);

/*
 * True if something other than the amount may end the passes of the target: time, another target.
 * The amount then is a limit that need not be reached.
 */
bool plan_may_end_early(const struct plan *plan, const struct target_plan *t);

/* The least number of passes: "-passes until" may end with fewer than plan->passes. */
uint64_t plan_sure_passes(const struct plan *plan);

/*
 * Warn about each -ts triggertime before `now_ns` of the global clock: log_warning(). Called by
 * plan_warn() without a time server, and with one by the part that asks it.
 */
void plan_warn_trigger_times(const struct plan *plan, uint64_t now_ns);

/*
 * Warn about doubtful options of a plan that can run: log_warning(). Called by main once nothing
 * can refuse the plan any more, so that a refusal is one line.
 */
void plan_warn(const struct plan *plan);

/* A message about a target: "target 0, <path>: <text>". Otherwise as log_error() and so on. */
void target_message(enum log_level level, const struct target_plan *t, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define target_error(...) target_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define target_warning(...) target_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define target_notice(...) target_message(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define target_fail(value, t, ...) (target_error(t, __VA_ARGS__), (value))
#define plan_refuse(t, ...) target_fail(XDD_BAD_ARGUMENT, t, __VA_ARGS__)

/* Accepts NULL. */
void plan_free(struct plan *plan);

/*
 * Copy `plan` to `*copy` without the files that get results: what remains goes to standard output.
 * The copy borrows the memory of `plan` and is not freed. Any thread.
 */
void plan_without_outputs(struct plan *copy, const struct plan *plan);

/* The size of the region that holds `depth` buffers of a target, in bytes. */
uint64_t plan_region_bytes(const struct memory_plan *memory, uint64_t depth);

/* The share of the queue depth that a QThread of the target has: the first ones have one more. */
uint32_t plan_depth_of(const struct target_plan *t, uint32_t qthread);

/*
 * The processors that a QThread of the target may run on: `*one`, or the set returned; NULL: all,
 * and `*one` is then -1.
 */
const struct idset *plan_processors_of(const struct plan *plan, const struct target_plan *t,
				       uint32_t qthread, int *one);

/* "read", "write", "noop", "discard" or "mixed". */
const char *plan_op_name(enum op_request op);

/* "none", "loose", "strict" or "serial". */
const char *plan_ordering_name(enum ordering ordering);

/* "O_SYNC", "O_DSYNC", "O_RSYNC" or "none". */
const char *plan_open_sync_name(enum open_sync sync);

/* True if passes of the target begin with a warm-up. */
bool plan_warms_up(const struct target_plan *t);

/* True if the operations of the target have a time, or another target, to wait for. */
bool plan_is_paced(const struct plan *plan, const struct target_plan *t);

/*
 * True if a run can know in which order the operations of `t` reach the kernel. Several QThreads
 * without an order overtake each other inside the system calls, where nothing counts.
 */
bool plan_knows_order(const struct target_plan *t);

/* Warn that the file system ignores -dio for `path`, a file of the target. */
void plan_warn_dio(const struct target_plan *t, const char *path);

/*
 * The bytes that pass number `pass`, from 1, of the target may touch: from `*from` to before `*to`.
 * If only time limits the pass, `*to` is the end of the range, or the largest offset.
 */
static inline void plan_pass_range(const struct target_plan *t, uint64_t pass, uint64_t *from,
				   uint64_t *to)
{
	*from = t->start_bytes + (pass - 1) * t->pass_offset_bytes;
	/* The rows of a list include the start offset. */
	if (t->rows)
		*from -= t->start_offset_blocks * t->block_size;
	*to = *from + t->extent_bytes;
}

/* Past the last target: for loops over all of them. */
static inline struct target_plan *plan_end(const struct plan *plan)
{
	return plan->targets + plan->n_targets;
}

/* True if operations of the target read. */
static inline bool plan_reads(const struct target_plan *t)
{
	return t->op == OP_READ || t->op == OP_MIXED;
}

/* True if nothing but -runtime ends a pass: the first pass lasts as long as the run. */
bool plan_first_pass_is_last(const struct plan *plan);

/* Memory that -hogmemory leaves to the host, which has so much. */
static inline uint64_t plan_hog_reserve_bytes(uint64_t total_bytes)
{
	const uint64_t least = 128ull << 20;

	return total_bytes / 32 > least ? total_bytes / 32 : least;
}

/* True if operations of the target write. */
static inline bool plan_writes(const struct target_plan *t)
{
	return t->op == OP_WRITE || t->op == OP_MIXED;
}

/* True if operations change what the target holds, so that the overwrite guard judges it. */
static inline bool plan_changes(const struct target_plan *t)
{
	return plan_writes(t) || t->op == OP_DISCARD;
}

/* Memory that the time stamps of an operation take. */
static inline uint64_t plan_trace_bytes(const struct target_plan *t)
{
	return PLAN_TRACE_ENTRY_BYTES + (t->endtoend.role == E2E_NONE ? 0 : PLAN_TRACE_NET_BYTES);
}

static inline bool plan_reopens(const struct target_plan *t)
{
	return t->kind != TARGET_NULL && (t->reopen || t->recreate_files || t->create_new_files);
}

/* True if a file that exists before the run is removed, and created again, for the first pass. */
static inline bool plan_recreates(const struct target_plan *t)
{
	return t->recreate_files && !t->create_new_files && t->kind == TARGET_FILE &&
	       plan_writes(t);
}

/* True if the file gets another size or allocation before the first operation. */
static inline bool plan_reshapes(const struct target_plan *t)
{
	return (t->preallocate_bytes || t->pretruncate) && plan_writes(t) &&
	       (t->kind == TARGET_FILE || t->kind == TARGET_MISSING);
}

/*
 * -seek random once: true if the range holds the shorter last operation beside all whole requests,
 * each of which has one operation. It is then the end of the range.
 */
static inline bool plan_ends_with_tail(const struct target_plan *t)
{
	uint64_t slots = t->range_bytes / t->req_bytes;

	return t->seek.pattern == SEEK_ONCE && t->last_op_bytes < t->req_bytes &&
	       t->pass_ops == slots + 1 &&
	       t->last_op_bytes <= t->range_bytes - slots * t->req_bytes;
}

/*
 * -seek stagger: the offset of operation `n` from the start of the range: the block at or below n /
 * pass_ops of it.
 */
static inline uint64_t plan_stagger_offset(const struct target_plan *t, uint64_t n)
{
	uint64_t range_blocks = t->range_bytes / t->block_size;

	return (uint64_t)((uint128)n * range_blocks / t->pass_ops) * t->block_size;
}

/* -rwratio without random: how many of the first `n` operations read. */
static inline uint64_t plan_reads_of(const struct target_plan *t, uint64_t n)
{
	const uint64_t part = n % PLAN_RATIO_ONE * t->read_ratio + PLAN_RATIO_ONE / 2;

	return n / PLAN_RATIO_ONE * t->read_ratio + part / PLAN_RATIO_ONE;
}

/*
 * True if a target with -createnewfiles creates the file that `path` leads to, in any pass, and
 * replaces an existing one. Reads directories; any thread.
 */
bool plan_makes_file(const struct plan *plan, const struct target_plan *t, const char *path);

/* Write a measure as text, "8 operations", to `buf` (48 bytes are enough); returns `buf`. */
char *plan_measure_text(const struct measure *m, char *buf, size_t size);

/*
 * "sequential", "random", "random once", "zipf", "staggered", "interleaved", "streams", "none" or
 * "loaded".
 */
const char *plan_seek_name(enum seek_pattern pattern);

/* True if `text` can be the name of a run of several hosts; else it is not as expected. */
#define PLAN_RUN_ID_EXPECTED "expected 1 to 64 printable ASCII characters, without blanks"
bool plan_run_id_fits(const char *text);

#endif
