/*
 * Dumps: traces as binary files. doc/tsdump.md describes the format byte by byte, and the format of
 * older programs of this family, which is read as well.
 */
#ifndef XDD_TRACE_DUMP_H
#define XDD_TRACE_DUMP_H

#include <stdint.h>
#include <stdio.h>

#include "xdd/trace/trace.h"

/* Write `t` to `f`. Returns 0, or -errno. */
int trace_dump_write(FILE *f, const struct trace *t);

/* The sound parts of a dump that was read. */
struct trace_dump {
	struct trace trace;

	/* 0 when all of it is sound */
	unsigned complaints;
	uint64_t lost_entries; /* entries known to be missing from the file */

	/* private */
	struct arena *arena;
	struct trace_entry *storage;
	struct trace_net *net_storage;
	struct trace_thread *thread_storage;
	size_t room;
};

/* Receives the complaints, one line at a time. */
typedef void trace_complain(void *arg, const char *text);

/*
 * Read a dump that lies in `data` (`size` bytes, only looked at during the call) as far as it is
 * sound. Damage is reported to `complain`. `name` is that of the file: it has the target of a dump
 * of older programs, and must outlive `*d`. Returns 0 with `*d` filled in, perhaps after
 * complaints; -EBADMSG when nothing is usable, after complaints; -ENOMEM. Free with
 * trace_dump_free() in any case. Any thread.
 */
int trace_dump_parse(struct trace_dump *d, const void *data, size_t size, const char *name,
		     trace_complain *complain, void *arg);
void trace_dump_free(struct trace_dump *d);

#endif
