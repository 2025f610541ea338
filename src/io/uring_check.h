/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reasons against io_uring, found before a run. For the io_uring engine.
 *
 * What returns int returns 0 or -errno, with a message in `why` unless strerror() says it all.
 */
#ifndef XDD_IO_URING_CHECK_H
#define XDD_IO_URING_CHECK_H

#include "xdd/base/err.h"
#include "xdd/plan/plan.h"

/* The keywords of the engine. */
struct uring_options {
	uint64_t batch;	  /* requests that the kernel gets in one call; 0: the engine decides */
	bool fixed_bufs;  /* buffers registered with the kernel */
	bool fixed_files; /* files registered with the kernel */
	bool sqpoll;	  /* a kernel thread takes requests in */
	bool iopoll;	  /* completions are polled for */
};

/* Check that this build and this kernel have io_uring, with all features that the engine needs. */
int uring_available(struct err *why);

/* Check that it can drive `target` as planned. Opens nothing for writing, changes nothing. */
int uring_check(const struct target_plan *target, struct err *why);

/*
 * Check that the buffers that all targets register fit into the memlock limit. Returns 0 or -errno
 * with a message in `why`.
 */
int uring_check_all(const struct plan *plan, struct err *why);

/*
 * The part of it that is about iopoll, by a read of what is there. A target that does not exist yet
 * passes; it is tried again when it does.
 */
int uring_check_iopoll(const struct target_plan *target, struct err *why);

struct io_uring_sqe;

/* Fill in a request that discards a range of the block device `fd` (Linux 6.12). */
void uring_prep_block_discard(struct io_uring_sqe *sqe, int fd, uint64_t offset, uint64_t bytes);

/* Why a ring could not be set up with `err`, -errno. */
const char *uring_why_no_ring(int err);

#endif
