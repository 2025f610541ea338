/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files whose result is outstanding at the destination, by their ids. Private to
 * src/copy/destination.
 *
 * An item is added by the thread of the entries. A data thread takes it when contents arrive; from
 * then on it belongs to that thread, or to the stream with all threads that use it, until it is
 * passed to the commit or finished. Functions lock; any thread.
 */
#ifndef COPY_DESTINATION_ITEMS_H
#define COPY_DESTINATION_ITEMS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/destination/commit.h"
#include "copy/message/message.h"
#include "xdd/base/sets.h"

#define ITEMS_TABLE_SIZE 65536u /* a power of two */

/*
 * Files at most, of which some may have their RESULT: those that failed while data of them is still
 * on its way.
 */
#define ITEMS_MAX (COPY_WINDOW_ENTRIES + 65536u)

enum item_state {
	ITEM_SEND,  /* contents were asked for; none has arrived, or there is a stream */
	ITEM_SUMS,  /* digests were asked for */
	ITEM_TAKEN, /* belongs to one thread or to the commit */
};

/* A file that arrives in several messages, or whose digests do. */
struct stream {
	/* held while the file is opened, and for ordered writes */
	pthread_mutex_t lock;
	bool opened;
	int open_err;
	int direct_fd; /* -1: none */
	uint32_t direct_align;
	uint64_t next_offset; /* ordered: where the last write ended */

	/* guarded by items.lock */
	unsigned users;
	uint64_t messages, bytes;
	bool ended; /* FILE_END has come */
	uint64_t end_messages, end_bytes;
	bool failed;		  /* data that comes is dropped */
	bool source_failed;	  /* the status of FILE_END */
	struct extents got;	  /* bytes that came or need not come */
	struct extents differing; /* of digests */
	uint64_t n_blocks, n_differing;
	bool differing_cut; /* there are more ranges */
	int read_err;	    /* -errno: the file here cannot be compared */
};

struct item {
	struct commit_file file; /* first: the commit's callback gets it */
	struct item *next;	 /* in the table */
	struct item *next_link;	 /* links.c: links that wait for one file */
	uint64_t id;
	uint32_t cost_bytes;
	enum item_state state;	      /* guarded by items.lock */
	struct stream *stream;	      /* the same; NULL: no message has come */
	bool answered;		      /* RESULT LOST was sent already */
	bool exists;		      /* a regular file is there */
	struct inplace_file *inplace; /* -i, and the file has several names */
	bool resumed;		      /* it has bytes of an interrupted copy */
};

struct items {
	pthread_mutex_t lock;
	struct item **table;
	size_t n;	  /* guarded by lock, as all below */
	size_t n_awaited; /* contents or digests of so many must still arrive */

	/* the window: entries of all kinds without RESULT; atomic */
	_Atomic uint64_t open_entries, open_bytes;
};

/* Count an entry that is offered. Returns 0; -ENOSPC: more than the window allows. */
int items_open(struct items *t, uint32_t cost_bytes);
/* Its RESULT is sent. */
void items_close(struct items *t, uint32_t cost_bytes);

/* Returns 0 or -ENOMEM. */
int items_init(struct items *t);
void items_destroy(struct items *t);

/* Returns 0; -ENOSPC: there are too many. The item stays the caller's then. */
int items_add(struct items *t, struct item *i);

/* Take the item of `id` that waits for contents, as a whole. NULL: there is none. */
struct item *items_take(struct items *t, uint64_t id);

/*
 * Use the stream of `id`, in `state` (ITEM_SEND or ITEM_SUMS); creates it. NULL with `*err`:
 * -ENOENT or -ENOMEM.
 */
struct item *items_use(struct items *t, uint64_t id, enum item_state state, int *err);
/* As items_use(), for either state. */
struct item *items_use_any(struct items *t, uint64_t id, int *err);

/*
 * A user of a stream has `length` bytes at `offset` of it. Returns 0; -EBADMSG: they are out of
 * range or came before; or -ENOMEM. `*failed`: they are to be dropped.
 */
int items_claim(struct items *t, struct item *i, uint64_t offset, uint64_t length, bool *failed);

/*
 * The caller owns the item: `durable` bytes need not come. `*missing` are those that must (to be
 * freed), at most COPY_MAX_RANGES. Returns 0 or -ENOMEM.
 */
int items_resume(struct item *i, const struct extents *durable, struct extent **missing,
		 size_t *n_missing);

/* Nothing more is written or compared. Returns true for the first call. */
bool items_fail(struct items *t, struct item *i);

/* FILE_END has come to a user: so many messages and bytes are sent. -EBADMSG: it came before. */
int items_announce(struct items *t, struct item *i, const struct copy_file_end *e);

/* Add a range that differs, of so many blocks compared. */
void items_differ(struct items *t, struct item *i, uint64_t begin, uint64_t end);
void items_compared(struct items *t, struct item *i, uint64_t blocks);
void items_read_failed(struct items *t, struct item *i, int err);

/*
 * End the use, after a message with `bytes` (`messages` 1 for BLOCK and SUMS, else 0). Returns 1 if
 * everything has arrived and there is no other user: the item is the caller's, in ITEM_TAKEN. 0; or
 * -EBADMSG if there is more than was announced.
 */
int items_unuse(struct items *t, struct item *i, unsigned messages, uint64_t bytes);

/*
 * Bytes whose digests were compared and are equal; none if not all that differ are known. The
 * caller owns the item, and clears `*equal`. Returns 0 or -ENOMEM.
 */
int items_equal(const struct item *i, struct extents *equal);

/* The digests of a taken item are done with: it has no stream any more. */
void items_drop_stream(struct item *i);

/* Have a taken item wait for contents. */
void items_await(struct items *t, struct item *i);

/* Remove it from the table, if it is there. */
void items_remove(struct items *t, struct item *i);
size_t items_count(struct items *t);
size_t items_awaited(struct items *t);

#endif
