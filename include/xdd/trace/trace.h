/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces of operations: their records, reports, files for other programs, and dumps.
 */
#ifndef XDD_TRACE_TRACE_H
#define XDD_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/stat/counters.h"

/*
 * A trace: a record of each operation of a target, from a run or from a dump.
 *
 * Times come from a monotonic clock of the machine the trace is from; `to_global_ns` makes them
 * comparable with times of other machines. Values only; any thread.
 */

#define TRACE_NO_CPU UINT16_MAX /* the processor is not known */

/* One operation; a cache line, for QThreads write these while a pass is measured. */
struct trace_entry {
	uint64_t op; /* number in its pass */
	uint64_t offset_bytes;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t size_bytes; /* as planned */
	uint32_t done_bytes; /* as the kernel said */
	uint32_t pass;
	uint32_t qthread;
	int32_t error; /* 0, or a positive errno; ENODATA: the end of the target */
	uint32_t slot; /* of the QThread: operations of one slot never overlap */
	uint16_t cpu_start;
	uint16_t cpu_end;
	uint8_t dir; /* enum op_dir */
	uint8_t spare[3];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct trace_entry) == 64, "an entry is a cache line");

/* The network transfer of an operation; of end-to-end runs. */
struct trace_net {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t bytes;
	uint32_t calls;
	uint16_t cpu_start;
	uint16_t cpu_end;
};

/* Operations that are not among the entries, and why. */
struct trace_missing {
	uint64_t overwritten; /* overwritten by newer ones, the table being full */
	uint64_t unrecorded;  /* not recorded: the table was full, and old ones are kept */
	uint64_t before;      /* completed before the trigger */
};

struct trace_thread {
	uint32_t qthread;
	int32_t tid; /* of the kernel */
};

/* Strings belong to the owner of the trace and are never NULL: "" when unknown. */
struct trace {
	const char *program; /* name and version of the program that recorded it */
	const char *host;
	const char *path;	 /* of the target */
	const char *id;		 /* -id of the run */
	const char *command;	 /* line of the run */
	const char *information; /* sections about run, system and target, as in a report */
	uint32_t target;
	uint64_t block_size;
	uint64_t req_bytes;
	uint64_t queue_depth;
	int64_t wall_ns;	  /* wall clock minus monotonic clock, when the run began */
	int64_t wall_end_ns;	  /* the same when it ended */
	int64_t global_ns;	  /* global clock minus wall clock; 0 without a time server */
	uint64_t global_at_ns;	  /* when that was so, of the clock of the entries; 0: always */
	int64_t global_drift_ppb; /* 10^-9 by which the global clock is faster than that clock */
	int64_t global_bound_ns;  /* global times are true within this; 0: not known */
	bool partial;		  /* the run was cut short */
	bool cut;		  /* the table was smaller than the run might be */
	struct trace_missing missing;
	const struct trace_thread *threads; /* in the order of their QThreads, each once */
	size_t n_threads;

	/* in the order of their passes, and in these of their numbers */
	const struct trace_entry **entries;
	const struct trace_net **net; /* of each entry; NULL: there was no network */
	size_t n;
};

/* More than any clock drifts: a dump with more is not believed. */
#define TRACE_MAX_DRIFT_PPB 1000000

/* Global clock minus the clock of the entries, when that is `ns`. */
int64_t trace_to_global_ns(const struct trace *t, uint64_t ns);

/* The global time when the clock of the entries is `ns`. */
static inline int64_t trace_global_ns(const struct trace *t, uint64_t ns)
{
	return (int64_t)(ns + (uint64_t)trace_to_global_ns(t, ns));
}

/* 'r', 'w' or 'n'. */
char trace_letter(const struct trace_entry *e);

/*
 * Put `n` entries into the order of a trace. `net`, which may be NULL, goes along. Returns 0 or
 * -ENOMEM.
 */
int trace_sort(const struct trace_entry **entries, const struct trace_net **net, size_t n);

/* Put `n` entries into the order in which they ended. */
void trace_sort_by_end(const struct trace_entry **entries, size_t n);

/*
 * The detailed and summary reports of a trace, in the layout of the user guide, 10.7, with further
 * columns after the guide's. doc/output.md explains them.
 *
 * Each returns 0 or -ENOMEM; errors of the stream are the caller's to look for.
 */

/* The parts of a report. */
struct trace_text {
	bool detailed;
	bool summary;
	bool normalize; /* times of the global clock */
};

/* Number of the target and the sections of information, then the reports. */
int trace_text_write(FILE *f, const struct trace *t, const struct trace_text *want);

/*
 * The detailed report of several traces as one, in the order of the global clock, each row with the
 * host it is from; then the summaries one by one.
 */
int trace_text_merged(FILE *f, const struct trace *const *traces, size_t n,
		      const struct trace_text *want);

/*
 * Traces for other programs: CSV, and JSON in the trace event format of Chrome, which Perfetto
 * reads.
 *
 * Each returns 0 or -ENOMEM; errors of the stream are the caller's to look for.
 */

/* One header line, one line per operation, all traces merged by the global clock. */
int trace_export_csv(FILE *f, const struct trace *const *traces, size_t n);

/*
 * A process for each host, a thread for each slot of a QThread of a target, and in it an event for
 * each operation. Times are microseconds from the first start, which "otherData" has in nanoseconds
 * since 1970.
 */
int trace_export_json(FILE *f, const struct trace *const *traces, size_t n);

/*
 * Dumps: traces as binary files. doc/tsdump.md describes the format byte by byte, and the format
 * of older programs of this family, which is read as well.
 */

/* Write `t` to `f`. Returns 0, or -errno. */
int trace_dump_write(FILE *f, const struct trace *t);

/* The sound parts of a dump that was read. */
struct trace_dump {
	struct trace trace;

	/* 0 when all of it is sound */
	unsigned complaints;
	uint64_t lost_entries; /* entries known to be missing from the file */

	/* private */
	struct arena *arena;
	struct trace_entry *storage;
	struct trace_net *net_storage;
	struct trace_thread *thread_storage;
	size_t room;
};

/* Receives the complaints, one line at a time. */
typedef void trace_complain(void *arg, const char *text);

/*
 * Read a dump that lies in `data` (`size` bytes, only looked at during the call) as far as it is
 * sound. Damage is reported to `complain`. `name` is the name of the file: it has the target of a
 * dump of older programs, and must outlive `*d`. Returns 0 with `*d` filled in, perhaps after
 * complaints; -EBADMSG when nothing is usable, after complaints; -ENOMEM. Free with
 * trace_dump_free() in any case. Any thread.
 */
int trace_dump_parse(struct trace_dump *d, const void *data, size_t size, const char *name,
		     trace_complain *complain, void *arg);
void trace_dump_free(struct trace_dump *d);

#endif
