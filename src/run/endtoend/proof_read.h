/*
 * Digests of what a side of a copy has on its storage, read by several threads with memory of a
 * fixed size. Private to src/run/endtoend/proof*.c.
 */
#ifndef XDD_RUN_ENDTOEND_PROOF_READ_H
#define XDD_RUN_ENDTOEND_PROOF_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/net/wire.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/wait.h"

/* Operations with consecutive numbers and adjacent data. All but the last one are full. */
struct proof_span {
	uint64_t op;	/* the first one */
	uint64_t begin; /* bytes from the start of the copied extent */
	uint64_t end;	/* the byte after the last one */
	size_t first;	/* place of its first digest */
};

struct proof_reader {
	/* const after proof_reader_open() */
	int fd;		     /* -1: nothing can be read */
	uint64_t from_bytes; /* start of the copied extent */
	uint64_t req_bytes;
	uint64_t align_bytes; /* of offsets and sizes with O_DIRECT; 1: through the page cache */
	unsigned threads;
	const struct stop *stop;
};

/*
 * Set up a reader of target `t`, in requests of `req_bytes`, for a run that may `stop`. Its file is
 * `path` or, where that is NULL, the open file `fd`: a regular file or a block device. O_DIRECT
 * where the plan has it and offsets allow it. Returns 0; or -errno, with a reader that reads
 * nothing. proof_reader_close() is called in both cases. Target thread.
 */
int proof_reader_open(struct proof_reader *r, const struct target_plan *t, uint64_t req_bytes,
		      const struct stop *stop, const char *path, int fd);
void proof_reader_close(struct proof_reader *r);

/*
 * The digest of each operation of `n` spans, with `have[i]` true where it could be read: not after
 * the end of the file, on an error, or once the run stops. Target thread.
 */
void proof_read(const struct proof_reader *r, const struct proof_span *spans, size_t n,
		struct digest *digests, bool *have);

/* Operations of a span. */
static inline uint64_t proof_span_ops(const struct proof_span *s, uint64_t req_bytes)
{
	return (s->end - s->begin + req_bytes - 1) / req_bytes;
}

#endif
