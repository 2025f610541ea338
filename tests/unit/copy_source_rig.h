/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source with a walk and a report of the test's own, and a destination that the test plays.
 */
#ifndef XDD_TESTS_COPY_SOURCE_RIG_H
#define XDD_TESTS_COPY_SOURCE_RIG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "copy/role.h"

#define RIG_MAX_LINKS 8
#define RIG_BLOCK_BYTES (64u << 10)

/* A message of data that has arrived. */
struct rig_message {
	enum wire_type type;
	uint64_t id, offset;
	unsigned link;
	uint8_t *body;
	size_t length;
};

struct rig {
	/* set by the test before rig_start() */
	struct copy_settings settings;
	const char **names; /* files in the directory; ends with NULL */
	uint32_t flags;	    /* of all entries */
	uint64_t generated; /* entries without files, after the names */
	unsigned n_links;
	bool hangs; /* the walk does, before its end, until rig_let_go(): then it finds no more */

	char dir[64];
	int dir_fd;
	struct dirs *dirs;
	struct copy_job job;
	struct data_links links;
	struct stop stop;
	struct copy_counts sent;	   /* of the source, in its FINISH */
	struct link *channel;		   /* of the destination */
	int fd;				   /* its own */
	struct link *peers[RIG_MAX_LINKS]; /* the same */
	pthread_t source, receivers[RIG_MAX_LINKS];
	struct source *opened; /* freed by its thread, unless threads of it still run */
	int status;	       /* of copy_source_run() */

	/* guarded by lock */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct rig_message *messages;
	size_t n_messages;
	bool hold; /* data is not received */
	bool hung; /* the walk is */
	size_t n_failures;
	char failure[WIRE_MAX_TEXT_BYTES]; /* the latest one: "path: text" */

	/* of the channel; the test's thread */
	uint8_t *body;
	struct wire_header h;
	uint64_t walk_at;
	unsigned failures_sent;
};

/* A directory, and usual settings: one small block, four connections. */
void rig_init(struct rig *r);
/* Write a file of `size` bytes with contents that depend on `seed`. */
void rig_file(struct rig *r, const char *name, size_t size, unsigned seed);
uint8_t *rig_contents(size_t size, unsigned seed);
void rig_start(struct rig *r);
/* Wait for the end of the source, and free all. Returns its status. */
int rig_end(struct rig *r);

/* The channel is lost. */
void rig_lose(struct rig *r);
/* Wait until a message of data has arrived: the file that it is of is open. */
void rig_await_data(struct rig *r);
/* Wait until the walk hangs. */
void rig_await_hung(struct rig *r);
void rig_let_go(struct rig *r);
/* Entries that the source has offered and that have no result yet. */
size_t rig_unanswered(struct rig *r);
/* Threads of the source that run: after rig_end() those that were left behind. */
unsigned rig_threads(struct rig *r);

/*
 * The next message of the source on the channel: its header is in r->h, its body in r->body. COUNTS
 * are left out, FAILUREs are counted.
 */
void rig_next(struct rig *r, enum wire_type expected);
/* The next message of any type; false: the channel has ended. */
bool rig_any(struct rig *r);

void rig_want(struct rig *r, uint64_t id, enum copy_how how, const struct extent *missing,
	      size_t n);
void rig_result(struct rig *r, uint64_t id, enum copy_outcome outcome);
/* Read offers until END. Returns the number of entries with an id. */
uint64_t rig_offers(struct rig *r);
/* The source finishes: answer it, with so many files. */
void rig_finish(struct rig *r, uint64_t files, uint64_t bytes);
/* The source must send ERROR with this text. */
void rig_expect_error(struct rig *r, const char *text);

void rig_hold(struct rig *r, bool hold);
/* Wait for FILE_END of a file, and for all messages before it. */
struct copy_file_end rig_file_end(struct rig *r, uint64_t id);
/* Wait for the record of a small file. */
struct copy_bundle_file rig_record(struct rig *r, uint64_t id);
/* Put the blocks of a file together; checks that none overlap. Returns their bytes. */
uint64_t rig_blocks(struct rig *r, uint64_t id, uint8_t *out, size_t size);

#endif
