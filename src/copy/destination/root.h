/*
 * The name of the destination that the user gave: a directory into which files go, the new name of
 * the only source, or a device. Private to src/copy/destination.
 */
#ifndef COPY_DESTINATION_ROOT_H
#define COPY_DESTINATION_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "copy/link/channel.h"
#include "xdd/io/guard.h"

struct root {
	int fd; /* the directory below which all lies; -1: none, see `device` and `missing` */
	/*
	 * The name of the only source there, where that is not its own: owned. NULL: names are
	 * those of the source.
	 */
	char *name;
	bool is_entry;	 /* the only source, a directory, is the root itself */
	bool renamed;	 /* the same, and not because the source is given as its contents */
	bool fresh;	 /* the root was made, and is empty */
	mode_t old_mode; /* before its owner got the right to write into it; META_KEEP_MODE */
	bool missing;	 /* -k, -n: it does not exist */
	int device;	 /* a device is written in place: its descriptor; -1: none */
	int claim;	 /* the exclusive claim on it; -1: none */
	bool block;	 /* a block device */
	bool guarded;	 /* -i: `loops` is read */
	struct guard_loops loops;
};

/* The identity of a copy in its journals: of host, sources and destination. */
uint64_t root_tree_id(const struct copy_job *job);

/*
 * Find out what the name of the destination means for a copy whose first entry is `first` (NULL:
 * there is none), and open it. Creates its last component where that may be necessary, except with
 * -k and -n. Returns 0, or an exit status with a text in `why`. `*r` is closed by root_close().
 */
int root_open(struct root *r, const struct copy_job *job, const struct copy_entry *first, char *why,
	      size_t size);
/* Safe on one that was never opened, but initialized. */
void root_close(struct root *r);
void root_init(struct root *r);

/* device.c: the same for a device; `st` is of `path`. */
int device_open(struct root *r, const struct copy_job *job, const char *path, const struct stat *st,
		uint64_t size_bytes, char *why, size_t size);

/*
 * Check an open file that is written in place: a regular one, and not in use as a device. Returns 0
 * or -errno, with the reason in `why`, which is empty where it is that of errno.
 */
int root_guard(const struct root *r, int fd, char *why, size_t size);

#endif
