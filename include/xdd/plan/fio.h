/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Job files of fio: read, and mapped to command lines of xdd. One thread.
 *
 * Everything that these functions return lives in the arena of the job file. A function that
 * returns int returns 0 or -errno; with -EINVAL, fio_why() has one line for the user.
 */
#ifndef XDD_PLAN_FIO_H
#define XDD_PLAN_FIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "xdd/base/memory.h"

struct fio_section;
struct fio_job;
struct fio_note;

/* The name of a file that was read. */
struct fio_path {
	struct fio_path *next;
	const char *path;
};

/* A job file. All zero except for the arena before fio_read() or fio_read_word(). */
struct fio_file {
	struct arena *arena;
	struct fio_section *sections;
	struct fio_section *last;
	struct fio_section **end;
	size_t n_sections;
	size_t bytes;		/* read so far */
	struct fio_path *paths; /* that were read, without standard input */
	const char *report;	/* of -report, for each command; or NULL */
	bool typed;	   /* as a command line of xdd: iodepth counts where no engine is named */
	const char *leave; /* names of -leaveout, with commas between them; or NULL */
	const struct fio_setting *refused; /* that fio_why() names; or NULL */
	char why[512];
};

/*
 * Read a job file and the files that it includes; "-" is standard input. Returns 0, or -EINVAL with
 * fio_why().
 */
int fio_read(struct fio_file *f, const char *path);

/*
 * Add a setting of a command line, in argument `number`, as fio reads it: "name" begins a job, and
 * settings before the first job are for all. `value` may be NULL.
 */
int fio_read_word(struct fio_file *f, unsigned number, const char *name, const char *value);

/*
 * True if `name` is a setting of fio; `*word` is the name that fio_read_word() takes, and
 * `*is_switch` says that it need not have a value.
 */
bool fio_is_setting(const char *name, const char **word, bool *is_switch);

/* Keep a line for the user, "<path>:<line>: <text>", or without a line if it is 0. -EINVAL. */
int fio_fail(struct fio_file *f, const char *path, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
const char *fio_why(const struct fio_file *f);

enum fio_stage {
	FIO_LAYOUT, /* write the files that fio would create before the jobs */
	FIO_RUN,
	FIO_READ_BACK, /* verify what was written */
};

struct fio_command {
	struct fio_command *next;
	enum fio_stage stage;
	const char *title; /* for the line before it */
	const char *line;  /* for a shell */
	const char *check; /* for a check before files exist that other commands write */
};

/* Jobs that run at the same time, and the commands for them. */
struct fio_group {
	struct fio_group *next;
	struct fio_job *jobs;
	struct fio_job **jobs_end;
	struct fio_note *notes;
	struct fio_note **notes_end;
	struct fio_command *commands;
	struct fio_command **commands_end;
};

/*
 * Make jobs of the sections, in groups, map all groups to commands, and list what is left out.
 * `*groups` is NULL where there are no jobs.
 */
int fio_map(struct fio_file *f, struct fio_group **groups);

/* Print the groups as a script for a shell, with what was left out as comments. */
void fio_print(FILE *out, const struct fio_group *groups);

#endif
