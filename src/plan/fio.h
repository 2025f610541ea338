/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Job files of fio, from their text to command lines. Private to src/plan; one thread. Memory
 * and errors as in xdd/plan/fio.h.
 */
#ifndef PLAN_FIO_H
#define PLAN_FIO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/base/memory.h"
#include "xdd/plan/fio.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/mix.h"

/* Options that have a meaning for xdd; the others are rows with a reason only. */
enum fio_option {
	FIO_NONE,
	FIO_ALLOW_FILE_CREATE,
	FIO_BS,
	FIO_BSRANGE,
	FIO_BSSPLIT,
	FIO_BUFFERED,
	FIO_BUFFER_COMPRESS,
	FIO_BUFFER_PATTERN,
	FIO_CLAT_PERCENTILES,
	FIO_CPUMASK,
	FIO_CPUS_ALLOWED,
	FIO_CREATE_ONLY,
	FIO_DEDUPE,
	FIO_DESCRIPTION,
	FIO_DIRECT,
	FIO_DIRECTORY,
	FIO_DO_VERIFY,
	FIO_END_FSYNC,
	FIO_EXITALL,
	FIO_EXITALL_ON_ERROR,
	FIO_FALLOCATE,
	FIO_FDATASYNC,
	FIO_FILENAME,
	FIO_FILENAME_FORMAT,
	FIO_FILESIZE,
	FIO_FIXEDBUFS,
	FIO_FSYNC,
	FIO_FSYNC_ON_CLOSE,
	FIO_HIPRI,
	FIO_INVALIDATE,
	FIO_IODEPTH,
	FIO_IODEPTH_BATCH,
	FIO_IOENGINE,
	FIO_IO_SIZE,
	FIO_KB_BASE,
	FIO_LAT_PERCENTILES,
	FIO_LOG_AVG_MSEC,
	FIO_LOOPS,
	FIO_MEM,
	FIO_MEM_ALIGN,
	FIO_NAME,
	FIO_NORANDOMMAP,
	FIO_NRFILES,
	FIO_NUMA_CPU_NODES,
	FIO_NUMA_MEM_POLICY,
	FIO_NUMBER_IOS,
	FIO_NUMJOBS,
	FIO_OFFSET,
	FIO_OFFSET_ALIGN,
	FIO_OFFSET_INCREMENT,
	FIO_OPENDIR,
	FIO_OVERWRITE,
	FIO_PERCENTILE_LIST,
	FIO_PRE_READ,
	FIO_PROFILE,
	FIO_RANDOM_DISTRIBUTION,
	FIO_RANDREPEAT,
	FIO_RANDSEED,
	FIO_RATE,
	FIO_RATE_IOPS,
	FIO_RATE_PROCESS,
	FIO_READFUA,
	FIO_READ_IOLOG,
	FIO_REGISTERFILES,
	FIO_RAMP_TIME,
	FIO_RUNTIME,
	FIO_RW,
	FIO_RWMIXREAD,
	FIO_RWMIXWRITE,
	FIO_SIZE,
	FIO_SQTHREAD_POLL,
	FIO_STARTDELAY,
	FIO_STONEWALL,
	FIO_SYNC,
	FIO_THINKTIME,
	FIO_THINKTIME_BLOCKS,
	FIO_TIME_BASED,
	FIO_UNLINK,
	FIO_VERIFY,
	FIO_VERIFY_ONLY,
	FIO_VERIFY_PATTERN,
	FIO_WAIT_FOR,
	FIO_WRITEFUA,
	FIO_WRITE_BW_LOG,
	FIO_WRITE_IOPS_LOG,
	FIO_WRITE_LAT_LOG,
	FIO_ZERO_BUFFERS,
	FIO_OPTIONS,
};

enum fio_type {
	FIO_BY_SAY,   /* listed as left out where `say` has words, even none; else FIO_CHANGES */
	FIO_LEFT_OUT, /* not done; the note is the reason */
	FIO_CHANGES,  /* the same, and another job would run without it */
	FIO_LINE,     /* a word of the command line only; in a job file it is left out */
	FIO_TEXT,
	FIO_PREFIX,  /* a text that need not be there */
	FIO_BOOL,    /* 0 or 1; 1 without a value */
	FIO_COUNT,   /* a number, with the suffixes of sizes */
	FIO_BYTES,   /* up to three with commas: reads, writes, trims */
	FIO_AMOUNT,  /* bytes, or a percentage */
	FIO_SECONDS, /* a time in seconds without a suffix */
	FIO_USEC,
};

#define FIO_FILE_MAX_BYTES (1u << 20) /* of a job file, and of all that it includes */
#define FIO_SECTIONS_MAX 10000
#define FIO_TARGETS_MAX 1024	    /* of one command */
#define FIO_ALL_TARGETS_MAX 20000   /* of all commands */
#define FIO_REQUEST_MAX 2147483648u /* bytes of a request of xdd */

/* A line "name=value" of a job file. */
struct fio_setting {
	struct fio_setting *next;
	const char *name;
	const char *value;   /* NULL: the line has none */
	const char *section; /* its name */
	const char *path;    /* the file, for messages */
	unsigned line;
	bool listed; /* the user was told that it is left out */
};

struct fio_section {
	struct fio_section *next;
	const char *name;
	const char *path;
	unsigned line;
	bool global;
	struct fio_setting *settings;
	struct fio_setting **end; /* where the next setting goes */
};

/* ---- fio_read.c: values as fio writes them ---- */

/* A number of bytes: 4k, 1mb, 4kib, 0x1000. `kb_base` is 1024 or 1000. -EINVAL or -ERANGE. */
int fio_parse_bytes(const char *text, unsigned kb_base, uint64_t *value);

#define FIO_SIZE_SIZE 32

/* Bytes in words of xdd, such as 512B or 64k, into `buf` of FIO_SIZE_SIZE bytes; returns `buf`. */
char *fio_size_text(uint64_t bytes, char *buf);

/* A time in words of xdd, such as 60 (seconds) or 500ms, in the same way. */
char *fio_time_text(uint64_t ns, char *buf);

/* A time such as 10s, 1m30s or 500ms; a number alone counts units of `unit_ns`. */
int fio_parse_time(const char *text, uint64_t unit_ns, uint64_t *ns);

/* One of several sizes of requests. */
struct fio_split {
	uint64_t bytes;
	uint64_t percent; /* or a weight */
	bool blank;	  /* it shares what is left of 100 */
};

/*
 * "4k/60:64k/", up to a comma: the sizes, each once and the least first, with weights that have no
 * common divisor. Those without a percentage share what is left of 100. `list` has room for
 * MIX_MAX_SIZES. Returns their number, or -EINVAL.
 */
int fio_parse_splits(const char *text, unsigned kb_base, struct fio_split *list);

/* Sizes and weights as -reqsize mix has them. */
const char *fio_splits_text(struct arena *arena, const struct fio_split *list, int n);

/* A pattern such as 0xdead"text"12 as hexadecimal digits. 0 or -EINVAL. */
int fio_parse_pattern(struct arena *arena, const char *text, const char **hex);

/* ---- fio_jobs.c: fio's options, rows of foreign_fio ---- */

/* How a job has the option: FIO_BY_SAY is resolved. */
enum fio_type fio_type_of(const struct foreign *row);

/* Row `i` of those that are the first of their word; NULL past the last. */
const struct foreign *fio_row(size_t i);

/* ---- fio_jobs.c: the jobs of a file ---- */

struct fio_value {
	struct fio_setting *setting; /* NULL: not set */
	uint64_t n;		     /* of a FIO_BYTES the first, for reads; 0: the default */
	uint64_t write;		     /* of a FIO_BYTES the second */
	uint64_t trim;		     /* of a FIO_BYTES the third */
	unsigned percent;	     /* of a FIO_AMOUNT; 0: it is in bytes */
};

/* A line for the user: a setting that is left out, or something that xdd does otherwise. */
struct fio_note {
	struct fio_note *next;
	bool left_out;
	const char *section;
	const struct fio_setting *setting; /* NULL: none in particular */
	const char *text;
};

struct fio_job {
	struct fio_job *next;
	const struct fio_section *section;
	const char *name;
	struct fio_value v[FIO_OPTIONS];
};

/* Make jobs of the sections, in groups. `*groups` is NULL where there are none. */
int fio_jobs(struct fio_file *f, struct fio_group **groups);

bool fio_is_set(const struct fio_job *j, enum fio_option option);
/* The number of an option, or `otherwise` where it is not set. */
uint64_t fio_number(const struct fio_job *j, enum fio_option option, uint64_t otherwise);
/* The text of an option, or `otherwise`. */
const char *fio_text(const struct fio_job *j, enum fio_option option, const char *otherwise);

struct fio_map;

/* List a setting as left out, once. An option that is not set is not listed. */
void fio_leave(const struct fio_map *m, const struct fio_job *j, enum fio_option option,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* List something that xdd does otherwise. The same text is listed once in a group. */
void fio_note(const struct fio_map *m, const struct fio_job *j, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* fio_fail() about a job. */
int fio_fail_job(const struct fio_map *m, const struct fio_job *j, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* True if the user was told that the setting is left out. */
static inline bool fio_is_listed(const struct fio_job *j, enum fio_option option)
{
	return j->v[option].setting && j->v[option].setting->listed;
}

/*
 * As fio_leave(), for a setting without which another job would run: -EINVAL with a line for the
 * user, unless -leaveout names it.
 */
int fio_refuse(const struct fio_map *m, const struct fio_job *j, enum fio_option option,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* ---- fio_map.c: jobs to commands ---- */

/* Options of a target, in the order in which a command has them. */
enum fio_slot {
	SLOT_OP,
	SLOT_ENGINE,
	SLOT_DIO,
	SLOT_BLOCKSIZE,
	SLOT_REQSIZE,
	SLOT_QUEUEDEPTH,
	SLOT_AMOUNT,
	SLOT_TIMELIMIT,
	SLOT_STARTOFFSET,
	SLOT_SEEK,
	SLOT_RANDOMIZE,
	SLOT_THROTTLE,
	SLOT_PATTERN,
	SLOT_VERIFY,
	SLOT_FLUSHWRITE,
	SLOT_FLUSHBETWEEN,
	SLOT_SYNCWRITE,
	SLOT_OPENSYNC,
	SLOT_WARMUP,
	SLOT_STARTDELAY,
	SLOT_PROCESSOR,
	SLOT_NUMA,
	SLOT_SHARED,
	SLOT_HUGE,
	SLOT_MEMALIGN,
	SLOT_PREALLOCATE,
	SLOT_PRETRUNCATE,
	SLOT_DROPCACHE,
	SLOT_DELETE,
	SLOTS,
};

/* An option of a target: "-queuedepth" and "32". NULL: the target does not have it. */
struct fio_words {
	const char *option;
	const char *args; /* "" for none; quoted where a shell needs it */
};

struct fio_target {
	const char *path;
	const struct fio_job *job;
	struct fio_words slot[SLOTS];
	struct fio_words data; /* as the pattern of a file that is laid out; NULL: zeros */
	uint64_t layout_bytes; /* the file must have as much for a read; 0: nothing */
	uint64_t start_bytes;  /* where the target's range begins */
	uint64_t end_bytes;    /* where the target's range ends; 0: not known */
	uint64_t lap_bytes;    /* after which offsets repeat; 0: they do not */
	uint64_t ops;	       /* their number, if requests have one size; 0: not known */
	uint64_t stride;       /* bytes from a request to the next; 0: they lie side by side */
	bool writes, reads, discards, random;
	bool verifies;	   /* reads are compared with the data pattern */
	bool only_time;	   /* nothing but time ends it */
	bool verify_after; /* read back and verify once all is written */
	bool overwrite;	   /* the file is laid out before it is written, too */
	bool pre_read;	   /* a command before reads the file into the page cache */
	bool plain;	   /* lay out with zeros */
	bool whole;	   /* it goes over each request of its range */
	bool ragged;	   /* the range is no multiple of the request */
	bool repeats;	   /* it may go over a request of its range several times */
	bool removes;	   /* the file is gone after the group */
	bool made;	   /* another command writes the file before */
};

/* The file of a path, as a command finds it. */
struct fio_known {
	struct fio_known *next;
	const char *path;
	bool exists;
	bool is_file;	/* a regular file, or nothing yet */
	uint64_t bytes; /* 0: not known, or empty */
	bool changed;	/* a command before has written or removed it */
};

struct fio_map {
	struct fio_file *file;
	struct fio_group *group;
	struct fio_known *known;
	unsigned number; /* of the group, from 1 */
	unsigned groups;
	size_t all_targets;

	/* of this group */
	struct fio_target *targets;
	size_t n_targets;
	struct fio_target *read_back;
	size_t n_read_back;
	uint64_t passes;
	uint64_t runtime_ns; /* of the whole run; 0: none */
	bool reads_back;     /* the run reads back what it wrote, by -readback */
};

/* Add the targets of a job to its group. (fio_jobs.c) */
int fio_map_job(struct fio_map *m, const struct fio_job *j);

/* The file of a path, which is looked at when it is first named. */
struct fio_known *fio_known(struct fio_map *m, const char *path);

/* Reads and writes of a mix: all of one direction is no mix. */
int fio_map_mix(struct fio_map *m, const struct fio_job *j, struct fio_target *t);

/* Set the operation, amount, offsets and rate of a target: file `file` of a clone. */
int fio_map_amount(struct fio_map *m, const struct fio_job *j, struct fio_target *t, size_t clone,
		   size_t file);

/* Fill the slots of a target that depend on its job only. */
int fio_map_options(struct fio_map *m, const struct fio_job *j, struct fio_target *t);

/* The engine of a job, and whether it has one operation outstanding at most. */
struct fio_engine {
	const char *name; /* of fio */
	const char *ours; /* of xdd */
	bool one;	  /* fio ignores iodepth */
	const char *why;  /* the difference; or NULL */
};

/* The engine that a job names; psync where xdd has none like it, which fio_has_engine() says. */
const struct fio_engine *fio_engine(const struct fio_job *j);
bool fio_has_engine(const struct fio_job *j);

/* The number of files of each clone of a job. */
size_t fio_files(const struct fio_job *j);

/* The path of file `file` of a clone of a job, as fio makes it. */
const char *fio_path(struct fio_map *m, const struct fio_job *j, size_t clone, size_t file);

/* Set an option of a target. */
void fio_put(struct fio_map *m, struct fio_target *t, enum fio_slot slot, const char *option,
	     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
