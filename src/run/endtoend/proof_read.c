/*
 * Digests of stored data. Called by proof.c on both sides of a copy that is resumed.
 */
#include "run/endtoend/proof_read.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/sync/thread.h"

#define BUFFER_BYTES (1u << 20) /* of each thread */
#define MEMORY_ALIGN 4096u	/* of buffers, and a multiple of any sector of O_DIRECT */
#define MAX_THREADS 8u

/* ---- opening ---- */

/* Data that can be read again, at any offset. */
static int judge(void *arg, int fd, const struct stat *st)
{
	(void)arg, (void)fd;
	return S_ISREG(st->st_mode) || S_ISBLK(st->st_mode) ? 0 : -ENOTSUP;
}

/* A descriptor of its own. */
static int open_target(const char *path, int fd, int flags)
{
	struct stat st;
	int err;

	if (path)
		return fileopen_judged(path, O_RDONLY | flags, judge, NULL);
	err = fstat(fd, &st) ? -errno : judge(NULL, fd, &st);
	return err ? err : fileopen_again(fd, O_RDONLY | flags);
}

/* As many as the user lets work at a time on this target. */
static unsigned threads_of(const struct target_plan *t)
{
	uint64_t n = t->queue_depth > t->qthreads ? t->queue_depth : t->qthreads;

	if (t->ordering == ORDERING_SERIAL || !n)
		return 1;
	return n < MAX_THREADS ? (unsigned)n : MAX_THREADS;
}

int proof_reader_open(struct proof_reader *r, const struct target_plan *t, uint64_t req_bytes,
		      const struct stop *stop, const char *path, int fd)
{
	uint64_t align = t->io_align_bytes ? t->io_align_bytes : 1, to;

	*r = (struct proof_reader){ .fd = -1, .req_bytes = req_bytes, .align_bytes = 1 };
	r->threads = threads_of(t);
	r->stop = stop;
	plan_pass_range(t, 1, &r->from_bytes, &to);
	if (t->kind == TARGET_NULL)
		return -ENOTSUP;
	if (t->direct_io && req_bytes % align == 0 && r->from_bytes % align == 0 &&
	    MEMORY_ALIGN % align == 0) {
		r->align_bytes = align;
		r->fd = open_target(path, fd, O_DIRECT);
	}
	if (r->fd < 0) {
		r->align_bytes = 1;
		r->fd = open_target(path, fd, 0);
	}
	return r->fd < 0 ? r->fd : 0;
}

void proof_reader_close(struct proof_reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

/* ---- reading ---- */

/* Spans that threads take one after the other. */
struct work {
	/* const */
	const struct proof_reader *reader;
	const struct proof_span *spans;
	size_t n;

	/* each entry is written by the thread that took its span */
	struct digest *digests;
	bool *have;

	/* atomic: the next span */
	_Atomic size_t next;
};

/*
 * Read `size` bytes at `offset` of the extent. Returns how many there are, or -errno. O_DIRECT
 * reads whole sectors, and cannot go on after the end of the file.
 */
static ssize_t read_extent(const struct proof_reader *r, uint8_t *buf, uint64_t size,
			   uint64_t offset)
{
	const uint64_t at = r->from_bytes + offset;
	ssize_t n;

	if (r->align_bytes == 1)
		return readfile_at(r->fd, buf, size, at);
	do
		n = pread(r->fd, buf, (size + r->align_bytes - 1) / r->align_bytes * r->align_bytes,
			  (off_t)at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (uint64_t)n > size ? (ssize_t)size : n;
}

/* Operations that fit into the buffer, several at a time. */
static void read_small(const struct work *w, const struct proof_span *s, uint8_t *buf)
{
	const uint64_t req = w->reader->req_bytes, step = BUFFER_BYTES / req * req;
	size_t i = s->first;

	for (uint64_t at = s->begin; at < s->end; at += step) {
		uint64_t size = s->end - at < step ? s->end - at : step;
		ssize_t n = read_extent(w->reader, buf, size, at);

		for (uint64_t k = 0; k < size; k += req, i++) {
			uint64_t length = size - k < req ? size - k : req;

			w->have[i] = n >= 0 && k + length <= (uint64_t)n;
			if (w->have[i])
				w->digests[i] = digest_data(buf + k, length);
		}
	}
}

/* An operation that is larger than the buffer, in pieces. */
static bool read_pieces(const struct work *w, uint64_t begin, uint64_t end, uint8_t *buf,
			struct digest_stream *stream)
{
	digest_stream_start(stream);
	for (uint64_t at = begin; at < end; at += BUFFER_BYTES) {
		uint64_t size = end - at < BUFFER_BYTES ? end - at : BUFFER_BYTES;

		if (stop_requested(w->reader->stop) ||
		    read_extent(w->reader, buf, size, at) != (ssize_t)size)
			return false;
		digest_stream_add(stream, buf, size);
	}
	return true;
}

static void read_large(const struct work *w, const struct proof_span *s, uint8_t *buf)
{
	const uint64_t req = w->reader->req_bytes;
	struct digest_stream *stream = digest_stream_new();
	size_t i = s->first;

	for (uint64_t at = s->begin; at < s->end && stream; at += req, i++) {
		uint64_t end = s->end - at < req ? s->end : at + req;

		w->have[i] = read_pieces(w, at, end, buf, stream);
		if (w->have[i])
			w->digests[i] = digest_stream_end(stream);
	}
	digest_stream_free(stream);
}

static void *work_main(void *arg)
{
	struct work *w = arg;
	uint8_t *buf = aligned_alloc(MEMORY_ALIGN, BUFFER_BYTES + MEMORY_ALIGN);
	size_t i;

	while (buf && !stop_requested(w->reader->stop) &&
	       (i = atomic_fetch_add(&w->next, 1)) < w->n) {
		if (w->reader->req_bytes <= BUFFER_BYTES)
			read_small(w, &w->spans[i], buf);
		else
			read_large(w, &w->spans[i], buf);
	}
	free(buf);
	return NULL;
}

void proof_read(const struct proof_reader *r, const struct proof_span *spans, size_t n,
		struct digest *digests, bool *have)
{
	struct work w = { .reader = r, .spans = spans, .n = n, .digests = digests, .have = have };
	pthread_t threads[MAX_THREADS];
	unsigned started = 0;

	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < proof_span_ops(&spans[i], r->req_bytes); k++)
			have[spans[i].first + k] = false;
	if (r->fd < 0)
		return;
	/* This thread is one of them, and enough where no other can start. */
	while (started + 1 < r->threads && started + 1 < n &&
	       thread_start(&threads[started], work_main, &w) == 0)
		started++;
	work_main(&w);
	while (started)
		pthread_join(threads[--started], NULL);
}
