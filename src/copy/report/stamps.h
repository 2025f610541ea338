/*
 * Time stamps of one side of a copy (-v, -w): a record of each message with data, with the time of
 * its storage and network transfer. Callers: source/ and destination/.
 *
 * Each data thread records into a table of its own, without a lock. The tables have a fixed size;
 * what does not fit is counted.
 */
#ifndef COPY_REPORT_STAMPS_H
#define COPY_REPORT_STAMPS_H

#include <stddef.h>
#include <stdint.h>

#include "copy/link/channel.h"
#include "xdd/sys/clock.h"

/* Records of all threads together. */
#define STAMPS_MAX (128u << 10)

struct stamps;

/* One message: a block of a large file, or a bundle of small files. */
struct stamp {
	uint64_t offset_bytes; /* in its file; 0 for a bundle */
	uint32_t bytes;
	uint64_t storage_begin_ns, storage_end_ns;
	uint64_t network_begin_ns, network_end_ns; /* 0: not known */
};

/*
 * Where the settings ask for time stamps: `*s` for job->data->n threads. Otherwise, and without
 * memory, it is NULL, which the other functions accept. Returns 0 or -ENOMEM. Main thread.
 */
int stamps_open(struct stamps **s, const struct copy_job *job, enum copy_role side);

/* The clock, where there are time stamps. Any thread. */
static inline uint64_t stamps_now(const struct stamps *s)
{
	return s ? clock_now_ns() : 0;
}

/* Record a message of data thread `thread`, by this thread only. */
void stamps_add(struct stamps *s, unsigned thread, const struct stamp *stamp);

/*
 * Write the report, and with -w the dump, into the directory `dir_fd`, which may be AT_FDCWD. All
 * data threads have ended. `partial`: the copy ended early. Returns 0, or -errno with the name of
 * the file in `name` (COPY_STEM_BYTES + 32). Main thread.
 */
int stamps_write(struct stamps *s, int dir_fd, bool partial, char *name, size_t size);

void stamps_close(struct stamps *s);

#endif
