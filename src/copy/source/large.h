/*
 * Large files, which several data threads read: their blocks, or digests of these.
 */
#ifndef COPY_SOURCE_LARGE_H
#define COPY_SOURCE_LARGE_H

#include "copy/source/open.h"
#include "copy/source/source.h"

struct large {
	/* const while it is shared */
	struct entry *entry;
	int fd;
	uint64_t step_bytes;  /* that a thread takes at a time: a block, or several for digests */
	uint64_t align_bytes; /* of direct reads */
	bool stream;	      /* it cannot be read at an offset */

	/* guarded by the lock of the source */
	struct large *next;
	unsigned users; /* threads that work on it */
	bool shared;	/* in the list of open files */

	/* guarded by its lock */
	pthread_mutex_t lock;
	uint64_t at_bytes;	 /* the next byte to take */
	size_t range;		 /* of entry->ranges */
	bool sparse;		 /* holes are left out */
	uint64_t data_end_bytes; /* of the extent of data that at_bytes lies in */
	bool exhausted;
	bool dropped; /* the copy or a connection ended first: nothing more is sent of it */
	int64_t ctime_ns;
	uint32_t status;
	char text[WIRE_MAX_TEXT_BYTES];

	/* atomic: reads go around the page cache; cleared where that is refused */
	_Atomic bool direct;
	/* atomic: what was sent */
	_Atomic uint64_t messages, bytes;
};

/*
 * Open the file of a want and do all of its work, with the help of other threads. Returns 0, or
 * -errno of the connection.
 */
int large_answer(struct data_thread *d, struct held_dir *held, struct entry *e);

/* Help with a file, whose user this thread is. Returns as above. */
int large_help(struct data_thread *d, struct large *f);

#endif
