/*
 * The source of a copy, private to this directory: its threads and what they share.
 *
 *	walk		offers entries, waits while the window is full		offer.c
 *	data threads	take wanted files and blocks from one queue		data.c, work.c
 *	main		waits for the end					source.c
 *
 * The receiving thread of the role (role.h) puts wanted files into the queue, and takes entries
 * that have a result out of the books (receive.c). It never waits for another thread's sending.
 */
#ifndef COPY_SOURCE_SOURCE_H
#define COPY_SOURCE_SOURCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/cpu_use.h"
#include "copy/link/channel.h"
#include "copy/report/stamps.h"
#include "copy/role.h"
#include "copy/source/books.h"

struct large;
struct source;

/* One writer each, its thread; any reader. */
struct data_counts {
	_Atomic uint64_t files, bytes, moved_bytes;
	_Atomic uint64_t storage_ns, network_ns, waiting_ns, checking_ns;
};

static inline void count_add(_Atomic uint64_t *n, uint64_t more)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

/* Owned by its thread, except for the counts. */
struct data_thread {
	struct source *s;
	struct link *link;
	unsigned number;
	uint8_t *buf; /* aligned; for a block or a bundle */
	size_t buf_bytes;
	struct data_counts counts;
	struct stamp stamp; /* of the message that it is about to send */
	struct cpu_use cpu;
	uint64_t settling_ns; /* that it has waited for young files (settle.h) */
	pthread_t thread;
	bool started;
};

struct source {
	/* const while there are threads */
	struct copy_job *job;
	const struct copy_settings *settings;
	struct role *role;
	struct walk *walk;
	struct data_thread *data;
	unsigned n_data;
	struct stamps *stamps; /* NULL: without -v. Each data thread writes its part */

	pthread_mutex_t lock;
	pthread_cond_t changed; /* room in the window, or the end: walk, main */
	pthread_cond_t work;	/* data threads */

	/* guarded by lock */
	struct books books;
	struct entry *queue, **queue_end; /* wanted files */
	uint64_t queued_small_bytes;	  /* of records of bundles */
	size_t queued_ranges;
	struct large *open_files;	 /* a list: large files with blocks to take */
	unsigned busy;			 /* data threads that have work */
	bool walk_over;			 /* END was offered, or the walk has ended early */
	bool waits_for_room;		 /* the walk does */
	unsigned running;		 /* threads that have not ended */
	uint64_t done_files, done_bytes; /* FILEs with RESULT DONE */

	/* of the main thread */
	pthread_t walker;
	bool has_walker;
	int walk_err;	  /* -errno: its thread could not be started */
	bool left_behind; /* a thread did not end in time */

	/* atomic: no thread takes more work or sends. Set with the lock */
	_Atomic bool closing;

	/* atomic: one writer, the walk */
	_Atomic uint64_t offered_files, offered_bytes, offered_dirs, offered_links;

	struct cpu_sums cpu; /* of the data threads */

	/* -o: held across each read */
	pthread_mutex_t read_lock;
};

/* Add a read to the time stamp of the message that a thread is about to send. */
static inline void stamp_storage(struct data_thread *d, uint64_t begin_ns, uint64_t end_ns)
{
	if (!d->stamp.storage_begin_ns)
		d->stamp.storage_begin_ns = begin_ns;
	d->stamp.storage_end_ns = end_ns;
}

/* Record a message that was sent since `begin_ns`, with the reads before it. */
void stamp_sent(struct data_thread *d, uint64_t begin_ns, uint64_t offset_bytes, uint64_t bytes);

/* No more work is taken, and nothing is offered. Any thread, without the lock. */
void source_close(struct source *s);

/* The receiving thread: WANT and RESULT. As role_ops.receive. */
int source_receive(void *source, const struct wire_header *h, const uint8_t *body, char *why);

void *offer_thread(void *source);
void *data_thread(void *data);
/* The last call of each thread. One that ends late finds `closing` and touches nothing else. */
void source_thread_ends(struct source *s);

/* Name a file that has failed, to both sides. Any data thread. */
void source_entry_failed(struct source *s, const struct entry *e, const char *text);
/* "cannot read (Input/output error)". `err` is -errno. */
void source_errno_text(char *text, size_t size, const char *what, int err);

#endif
