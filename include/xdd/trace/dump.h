/*
 * Dumps: traces as binary files. doc/tsdump.md describes the format byte by byte, and what older
 * programs of this family wrote, which is read as well.
 */
#ifndef XDD_TRACE_DUMP_H
#define XDD_TRACE_DUMP_H

#include <stdint.h>
#include <stdio.h>

#include "xdd/trace/trace.h"

/* Write `t` to `f`. Returns 0, or -errno. */
int trace_dump_write(FILE *f, const struct trace *t);

/* A dump that was read: what is sound of it. */
struct trace_dump {
	struct trace trace;

	/* 0 when all of it is sound */
	unsigned complaints;
	uint64_t lost_entries; /* entries that the file should hold and does not, as far as is known */

	/* private */
	struct arena *arena;
	struct trace_entry *storage;
	struct trace_net *net_storage;
	struct trace_thread *thread_storage;
	size_t room;
};

/* Is told what is wrong, a line at a time. */
typedef void trace_complain(void *arg, const char *text);

/*
 * Read a dump that lies in `data` (`size` bytes, only looked at during the call) as far as it is sound.
 * What is wrong with it goes to `complain`. `name`, the file's, tells the target of a dump of older
 * programs, and has to outlive `*d`. Returns 0 when there is something in `*d`, perhaps with complaints;
 * -EBADMSG when there is nothing that could be used, also with complaints; -ENOMEM. Free with
 * trace_dump_free() in any case. Any thread.
 */
int trace_dump_parse(struct trace_dump *d, const void *data, size_t size, const char *name,
		     trace_complain *complain, void *arg);
void trace_dump_free(struct trace_dump *d);

#endif
