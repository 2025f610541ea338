/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of xdd check: a target, what is known of its device, the measurements, and what looks
 * wrong about them. Private to src/commands; main thread.
 */
#ifndef XDD_COMMANDS_CHECK_H
#define XDD_COMMANDS_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "commands/commands.h"
#include "xdd/base/err.h"
#include "xdd/report/result.h"

/* The disk below a target, as /sys describes it. */
struct check_device {
	char name[64]; /* of the disk; "": not known */
	char model[128];
	char scheduler[32];
	bool rotational_known, rotational;
	bool is_virtual; /* a disk of a virtual machine: `rotational` says nothing */
	bool removable;
	uint64_t most_bytes;		  /* of a request; 0: not known */
	uint64_t queue_depth;		  /* of a SCSI device; 0: not known */
	uint64_t usb_mbits;		  /* the speed of its USB link; 0: none */
	char link_now[48], link_most[48]; /* PCI Express, if it runs below its best; else "" */
	char raid[32];			  /* its level; "": no RAID */
	uint64_t raid_degraded;		  /* members that are missing */
	char raid_action[32];		  /* "resync" and the like; "": idle */
	char loop_file[256];		  /* of a loop device */
	bool loop_buffered;		  /* which reads the file through the page cache */
};

struct check_target {
	const char *name; /* as given */
	char *path;	  /* the same as a target of a run */
	bool block;	  /* a block device; otherwise a file */
	uint64_t size_bytes;
	bool direct;	     /* reads bypass the page cache */
	bool memory;	     /* the file lies in memory and nowhere else */
	uint64_t unit_bytes; /* of the small requests */
	uint64_t large_bytes;
	const char *engine;
	struct err why_engine; /* why a better one is not available; none: it is the best */
	char file_system[32], mount_point[256], source[128]; /* of a file; "": not known */
	struct err use;	    /* of a block device, such as "is mounted on /"; "": none */
	bool no_sys;	    /* nothing can be known of the device, as /sys is not mounted */
	char new_file[256]; /* a name beside a file for one more, if that can be created; or "" */
	uint64_t new_bytes; /* its size */
	struct check_device device;
};

enum check_phase {
	CHECK_LARGE,  /* sequential, large requests */
	CHECK_SINGLE, /* random, small, one at a time */
	CHECK_DEEP,   /* random, small, many at a time */
	CHECK_PHASES,
};

/* The measurements of a phase. */
struct check_row {
	bool measured; /* operations completed */
	bool partial;  /* cut short */
	uint64_t req_bytes, depth;
	uint64_t ops, bytes, errors, outstanding;
	double seconds;
	double times[FIGURE_ROUND]; /* figures of histograms, ns; NAN: not known */
	uint64_t first_error_offset;
	char first_error[160];
	uint64_t cache_bytes, resident_bytes; /* of what was read; 0: not known */
	uint64_t covered_bytes, hole_bytes;   /* the same for holes */
	bool others, split;		      /* findings of the run */
	char stopped[256], limited[256];      /* their sentences; "": there are none */
	uint64_t device_bytes, device_ops, device_requests; /* 0: not known */
	double starved, quota; /* shares of the time, from 0 to 1: by others, by a CPU quota */
};

struct check_result {
	struct check_row rows[CHECK_PHASES];
	unsigned sampled, zeros; /* blocks that were looked at, and blocks of zeros only */
};

/* Sentences. */
#define CHECK_NOTES_MAX 24
#define CHECK_NOTE_SIZE 512

struct check_notes {
	size_t n;
	char text[CHECK_NOTES_MAX][CHECK_NOTE_SIZE];
};

void check_note(struct check_notes *notes, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Find out what `name` is, and how it can be read. Opens it for reading. Returns XDD_OK, with `t`
 * to be released by check_target_free(), or another status with one line given to log_error().
 */
enum xdd_status check_target_open(struct check_target *t, const char *name);
void check_target_free(struct check_target *t);

/*
 * The size of a file for a write test: a tenth of what is free at most. 0: there is too little. A
 * pure function.
 */
uint64_t check_new_bytes(const struct statvfs *fs);

/* Count blocks of zeros in a sample of the target. */
void check_sample_zeros(const struct check_target *t, struct check_result *result);

/*
 * Describe disk `name`, a directory of /sys/class/block below `root` ("" but in tests). `d` is all
 * zero before; what is not known stays so.
 */
void check_device_read(struct check_device *d, const char *root, const char *name);

/* A row without figures. */
void check_row_begin(struct check_row *row, const struct check_target *t, enum check_phase phase);

/*
 * Measure a phase, for `limit_ns` at most. `title` precedes the progress. Returns the status of the
 * run.
 */
enum xdd_status check_measure(struct runner *runner, const struct check_target *t,
			      enum check_phase phase, uint64_t limit_ns, const char *title,
			      struct check_row *row);

/* A figure of the row: rates are 0 where it is not measured. */
double check_figure(const struct check_row *row, enum pass_figure figure);

/* Note what looks wrong. A pure function. */
void check_judge(const struct check_target *t, const struct check_result *result,
		 struct check_notes *notes);

/* Note commands to go on with: a sentence, then its command, and so on. A pure function. */
void check_advise(const struct check_target *t, const struct check_result *result,
		  struct check_notes *notes);

#endif
