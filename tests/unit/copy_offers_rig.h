/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A destination of a copy, and a source for it that a test plays: it sends what it is told, right
 * or wrong, and collects what the destination says. Data goes through the channel.
 */
#ifndef XDD_TESTS_COPY_OFFERS_RIG_H
#define XDD_TESTS_COPY_OFFERS_RIG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "copy/role.h"
#include "xdd/sync/wait.h"

#define RIG_MAX_ID 300000
#define RIG_MTIME_NS 1234567890123456789ll

struct source_rig {
	char dir[64];  /* a new directory, for the test */
	char path[96]; /* the destination */
	struct copy_settings settings;
	struct copy_job job;
	struct stop stop;
	struct data_links data;
	const char *source;   /* NULL: any names are offered at the top, as of a list */
	struct link *channel; /* of the source */
	int fd;		      /* its own */
	struct link *inside;
	pthread_t thread;
	int status; /* of copy_destination() */

	/* the offer that is collected */
	uint8_t offer[COPY_MAX_OFFER_BYTES];
	size_t offer_bytes;
	uint64_t last_id;

	/* answers of the destination */
	uint8_t outcome[RIG_MAX_ID]; /* by id; 0: none */
	uint8_t want[RIG_MAX_ID];    /* by id: the latest how */
	struct extent ranges[8];     /* of the latest want with ranges */
	size_t n_ranges;
	unsigned n_results, n_failures, n_warnings;
	struct copy_failure failure;   /* the latest one */
	struct copy_counts counts;     /* the latest ones */
	bool finished, canceled, over; /* FINISHED, CANCEL or ERROR have come; the channel ended */
	struct wire_error error;       /* of CANCEL or ERROR */
};

/* A new directory, and settings without anything special; the destination is DIR/NAME. */
void rig_open(struct source_rig *r, const char *name);
/* Start the destination. */
void rig_start(struct source_rig *r);

/* Entries with usual attributes are collected, and sent by rig_send(). They return the id. */
struct copy_entry rig_entry(struct source_rig *r, enum copy_kind kind, const char *name);
uint64_t rig_add(struct source_rig *r, const struct copy_entry *e);
uint64_t rig_dir(struct source_rig *r, const char *name);
uint64_t rig_file(struct source_rig *r, const char *name, uint64_t size_bytes);
uint64_t rig_symlink(struct source_rig *r, const char *name, const char *target);
uint64_t rig_link(struct source_rig *r, const char *name, uint64_t first);
uint64_t rig_last_link(struct source_rig *r, const char *name, uint64_t first);
void rig_leave(struct source_rig *r);
void rig_end(struct source_rig *r);
void rig_send(struct source_rig *r);

/* Data. Errors of sending do not matter: the destination may have ended. */
void rig_bundle(struct source_rig *r, uint64_t id, uint32_t status, const void *data,
		uint32_t size);
void rig_block(struct source_rig *r, uint64_t id, uint64_t offset, const void *data, size_t size);
void rig_file_end(struct source_rig *r, uint64_t id, uint64_t messages, uint64_t bytes,
		  uint32_t status);
void rig_sums(struct source_rig *r, uint64_t id, const void *data, uint64_t offset, size_t size);

/* Receive until there is a WANT for `id`, it has its result, or the destination ends the copy. */
void rig_until_want(struct source_rig *r, uint64_t id, enum copy_how how);
void rig_until_result(struct source_rig *r, uint64_t id, enum copy_outcome outcome);
void rig_until_canceled(struct source_rig *r);

/* Send CANCEL. */
void rig_cancel(struct source_rig *r);

/* Abort the channel of the destination, as a signal does; not after it has ended. */
void rig_abort(struct source_rig *r);

/* End the channel. */
void rig_hang_up(struct source_rig *r);

void rig_send_finish(struct source_rig *r);
/* FINISH, FINISHED and BYE. Returns the status of the destination. */
int rig_finish(struct source_rig *r);
/* All counts of the destination but its times. */
void rig_assert_counts(const struct source_rig *r, const struct copy_counts *wanted);
/* The destination ends the session by ERROR, whose text contains `text`. Returns the status. */
int rig_refused(struct source_rig *r, const char *text);

/* Remove all, and check that no thread or descriptor is left. */
void rig_close(struct source_rig *r);

/* Files below rig->dir: the whole contents of one, and the number of temporary files. */
void rig_assert_contents(struct source_rig *r, const char *name, const void *data, size_t size);
void rig_write(struct source_rig *r, const char *name, const void *data, size_t size);
unsigned rig_temporary_files(struct source_rig *r);
bool rig_exists(struct source_rig *r, const char *name);
char *rig_path(struct source_rig *r, const char *name, char buf[256]);

#endif
