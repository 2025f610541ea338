/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions and answers of the sides of a resumed copy about its durable part, and digests of
 * stored data. Called by the target thread while the sides meet.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/endtoend/endtoend.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/err.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/io/access.h"
#include "xdd/net/wire.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/thread.h"
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

/* Operations of a span. */
static inline uint64_t proof_span_ops(const struct proof_span *s, uint64_t req_bytes)
{
	return (s->end - s->begin + req_bytes - 1) / req_bytes;
}

#define BUFFER_BYTES (1u << 20) /* of each thread */
#define MEMORY_ALIGN 4096u	/* of buffers, and a multiple of any sector of O_DIRECT */
#define MAX_THREADS 8u

/* ---- opening ---- */

/* Data that can be read again, at any offset. */
static int proof_read_judge(void *arg, int fd, const struct stat *st)
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
		return fileopen_judged(path, O_RDONLY | flags, proof_read_judge, NULL);
	err = fstat(fd, &st) ? -errno : proof_read_judge(NULL, fd, &st);
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

static int proof_reader_open(struct proof_reader *r, const struct target_plan *t,
			     uint64_t req_bytes, const struct stop *stop, const char *path, int fd)
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

/*
 * Set up a reader of target `t`, in requests of `req_bytes`, for a run that may `stop`. Its file is
 * `path` or, where that is NULL, the open file `fd`: a regular file or a block device. O_DIRECT
 * where the plan has it and offsets allow it. Returns 0; or -errno, with a reader that reads
 * nothing. proof_reader_close() is called in both cases. Target thread.
 */
static void proof_reader_close(struct proof_reader *r)
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

/*
 * The digest of each operation of `n` spans, with `have[i]` true where it could be read: not after
 * the end of the file, on an error, or once the run stops. Target thread.
 */
static void proof_read(const struct proof_reader *r, const struct proof_span *spans, size_t n,
		       struct digest *digests, bool *have)
{
	struct work w = { .reader = r, .spans = spans, .n = n, .digests = digests, .have = have };
	pthread_t threads[MAX_THREADS];
	unsigned started = 0;

	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < proof_span_ops(&spans[i], r->req_bytes); k++)
			have[spans[i].first + k] = false;
	hold(HOLD_PROOF_BEGUN);
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

/*
 * Questions and answers of the sides of a resumed copy about its durable part. Called by the
 * target thread while the sides meet.
 */

#define QUESTION_BYTES (256ull << 20) /* of data that one question is about, where possible */
#define SPAN_BYTES (1ull << 20)	      /* the same, of what a thread takes at a time */

/* The memory of a side: spans and digests of one question. */
struct proof {
	struct proof_reader reader;
	struct access access; /* source */
	bool opened;
	struct proof_span spans[WIRE_MAX_PROOF_OPS];
	size_t n_spans;
	struct digest digests[WIRE_MAX_PROOF_OPS];
	bool have[WIRE_MAX_PROOF_OPS];
};

/* The bytes of operation `op` of `plan`, of which only the last one may be shorter. */
static uint64_t op_bytes(const struct wire_plan *plan, uint64_t op)
{
	return op + 1 == plan->ops ? plan->bytes - op * plan->req_bytes : plan->req_bytes;
}

/* The bytes of `n` operations of `plan` from `first` on. */
static uint64_t ops_bytes(const struct wire_plan *plan, uint64_t first, uint64_t n)
{
	return n ? (n - 1) * plan->req_bytes + op_bytes(plan, first + n - 1) : 0;
}

/* ---- source ---- */

static void open_source(struct endtoend *e, struct proof *p)
{
	struct target *t = e->target;

	p->opened = true;
	access_init(&p->access, t->plan, 1);
	/* The answers leave out operations that cannot be read. */
	(void)proof_reader_open(&p->reader, t->plan, t->plan->req_bytes, &t->run->stop, NULL,
				t->file.fd);
}

/* Add operation `op` to the spans; `*n_ops` is the number of those before it. */
static void add_op(struct proof *p, uint64_t op, size_t *n_ops)
{
	struct proof_span *last = p->n_spans ? &p->spans[p->n_spans - 1] : NULL;
	struct access_op at;
	uint64_t begin;

	access_op(&p->access, op, &at);
	begin = at.offset - p->access.base;
	if (last && last->end == begin && last->op + (*n_ops - last->first) == op &&
	    at.offset + at.size - p->access.base - last->begin <= SPAN_BYTES)
		last->end += at.size;
	else
		p->spans[p->n_spans++] = (struct proof_span){ op, begin, begin + at.size, *n_ops };
	++*n_ops;
}

/* The digests of span `s`, without operations that could not be read. Returns their length. */
static size_t encode_span(const struct proof *p, const struct proof_span *s, uint64_t req_bytes,
			  uint8_t *out, size_t room)
{
	const size_t ops = proof_span_ops(s, req_bytes);
	size_t length = 0;

	for (size_t k = 0, n; k < ops; k += n ? n : 1) {
		uint8_t digests[64 * WIRE_SUM_BYTES];
		struct wire_sums sums = {
			.id = s->op + k,
			.offset_bytes = s->begin + k * req_bytes,
			.block_bytes = (uint32_t)req_bytes,
			.digests = digests,
		};

		for (n = 0; n < 64 && k + n < ops && p->have[s->first + k + n]; n++)
			wire_put_sum(p->digests[s->first + k + n], digests + n * WIRE_SUM_BYTES);
		sums.n = n;
		sums.end_bytes = k + n == ops ? s->end : sums.offset_bytes + n * req_bytes;
		if (n)
			length += wire_encode_sums(&sums, out + length, room - length);
	}
	return length;
}

size_t proof_answer(void *arg, const struct wire_range *ranges, size_t n, uint8_t *out)
{
	struct endtoend *e = arg;
	struct proof *p = e->proof;
	size_t length = 0, n_ops = 0;

	/* The destination knows this session: sources of later targets may go on. */
	atomic_store(&e->met, true);
	if (!p)
		p = e->proof = calloc(1, sizeof(*p));
	for (size_t i = 0; i < n; i++)
		e->compared_bytes += ops_bytes(&e->own, ranges[i].first, ranges[i].count);
	/* Without an answer all of it is copied again. */
	if (!p)
		return 0;
	if (!p->opened)
		open_source(e, p);
	p->n_spans = 0;
	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < ranges[i].count; k++)
			add_op(p, ranges[i].first + k, &n_ops);
	proof_read(&p->reader, p->spans, p->n_spans, p->digests, p->have);
	for (size_t i = 0; i < p->n_spans; i++)
		length += encode_span(p, &p->spans[i], p->reader.req_bytes, out + length,
				      WIRE_MAX_BODY_BYTES - length);
	return length;
}

void proof_end(struct endtoend *e)
{
	if (e->proof && e->proof->opened)
		proof_reader_close(&e->proof->reader);
	free(e->proof);
	e->proof = NULL;
}

/* ---- destination ---- */

/* A question: operations whose digests the source is to send. */
struct question {
	struct wire_range ranges[WIRE_MAX_PROOF_OPS];
	size_t n;
};

/* The comparison of what was kept. */
struct comparison {
	struct endtoend *e;
	const struct wire_plan *peer;
	struct extents kept; /* operations of this session */
	uint64_t next;	     /* the first operation that was not asked for */
	uint64_t equal_bytes;
	struct question questions[SESSION_PROOFS];
	struct digest theirs[WIRE_MAX_PROOF_OPS];
	struct proof proof;
};

/* The next question, with fewer operations than would take long. False: all was asked. */
static bool proof_ask(struct comparison *c, struct question *q)
{
	uint64_t room = QUESTION_BYTES / c->peer->req_bytes;

	room = room > WIRE_MAX_PROOF_OPS ? WIRE_MAX_PROOF_OPS : room ? room : 1;
	q->n = 0;
	for (size_t i = 0; i < c->kept.n && room; i++) {
		const struct extent *x = &c->kept.items[i];
		uint64_t begin = x->begin > c->next ? x->begin : c->next, count;

		if (begin >= x->end)
			continue;
		count = x->end - begin < room ? x->end - begin : room;
		q->ranges[q->n++] = (struct wire_range){ begin, count };
		c->next = begin + count;
		room -= count;
	}
	return q->n;
}

/* True if the operations of `s` are in the question, from range `*i` on. */
static bool was_asked(const struct question *q, const struct proof_span *s, uint64_t ops,
		      uint64_t next, size_t *i)
{
	while (*i < q->n && q->ranges[*i].first + q->ranges[*i].count <= s->op)
		++*i;
	return *i < q->n && s->op >= next && s->op >= q->ranges[*i].first &&
	       ops <= q->ranges[*i].first + q->ranges[*i].count - s->op;
}

/* True if these digests are of whole operations, at offsets that they can have. */
static bool are_whole(const struct comparison *c, const struct wire_sums *sums)
{
	const struct wire_plan *peer = c->peer;

	return sums->block_bytes == peer->req_bytes && sums->end_bytes <= peer->bytes &&
	       sums->end_bytes - sums->offset_bytes == ops_bytes(peer, sums->id, sums->n);
}

/* The spans of an answer, and the digests of the source. False: it is wrong. */
static bool take_answer(struct comparison *c, const struct question *q, const uint8_t *body,
			size_t length)
{
	struct proof *p = &c->proof;
	uint64_t next = 0;
	size_t n_ops = 0, range = 0;

	p->n_spans = 0;
	for (size_t used; length; body += used, length -= used) {
		struct proof_span *s = &p->spans[p->n_spans];
		struct wire_sums sums;

		if (wire_decode_sums(body, length, &sums, &used) != WIRE_OK)
			return false;
		*s = (struct proof_span){ sums.id, sums.offset_bytes, sums.end_bytes, n_ops };
		if (!was_asked(q, s, sums.n, next, &range) || !are_whole(c, &sums))
			return false;
		for (size_t k = 0; k < sums.n; k++)
			c->theirs[n_ops++] = wire_sums_at(&sums, k);
		next = s->op + sums.n;
		p->n_spans++;
	}
	return true;
}

/* Keep the operations that are equal on both sides: they count as written. */
static void keep_equal(struct comparison *c)
{
	struct proof *p = &c->proof;
	const uint64_t req = c->peer->req_bytes;

	proof_read(&p->reader, p->spans, p->n_spans, p->digests, p->have);
	for (size_t i = 0; i < p->n_spans; i++) {
		const struct proof_span *s = &p->spans[i];

		for (uint64_t k = 0; k < proof_span_ops(s, req); k++) {
			uint64_t bytes = op_bytes(c->peer, s->op + k);
			size_t at = s->first + k;

			if (!p->have[at] || !digest_equal(p->digests[at], c->theirs[at]))
				continue;
			restart_written(c->e->restart, s->op + k, s->begin + k * req, bytes,
					p->digests[at]);
			c->equal_bytes += bytes;
		}
	}
}

/* Compare the next answer, which is to question `q`. Returns 0 or -errno. */
static int compare_answer(struct comparison *c, const struct question *q)
{
	struct session *session = c->e->session;
	uint8_t *body;
	size_t length;
	int err = session_sums(session, &body, &length);
	bool right = !err && take_answer(c, q, body, length);

	free(body);
	if (err)
		return err;
	if (!right) {
		session_fail(session, XDD_IO_ERROR,
			     "the source sent digests that were not asked for");
		return -EBADMSG;
	}
	keep_equal(c);
	return stop_requested(&c->e->target->run->stop) ? -ECANCELED : 0;
}

/* While one answer is compared, the source works on the next one. */
static int compare_all(struct comparison *c)
{
	unsigned asked = 0, answered = 0;
	bool more = true;
	int err = 0;

	while (!err && (more || answered < asked)) {
		struct question *q = &c->questions[asked % SESSION_PROOFS];

		if (more && asked - answered < SESSION_PROOFS) {
			more = proof_ask(c, q);
			if (more)
				err = session_prove(c->e->session, q->ranges, q->n);
			asked += more;
			continue;
		}
		err = compare_answer(c, &c->questions[answered++ % SESSION_PROOFS]);
	}
	return err;
}

static void proof_report(const struct comparison *c, int unreadable)
{
	const struct target_plan *t = c->e->target->plan;
	const uint64_t kept = c->e->compared_bytes;

	if (unreadable)
		target_warning(t,
			       "cannot be read to compare it with the source (%s): all of it is "
			       "copied again; -restart trust keeps it without that",
			       strerror(-unreadable));
	else if (c->equal_bytes < kept)
		target_warning(t,
			       "%" PRIu64 " of the %" PRIu64 " bytes that were durable differ from "
			       "the source, or cannot be compared: they are copied again",
			       kept - c->equal_bytes, kept);
	else
		target_notice(t,
			      "all of the %" PRIu64 " bytes that were durable equal the source%s",
			      kept, kept == c->peer->bytes ? ": nothing is copied" : "");
}

/* Compare all of `c->kept`. Returns 0 or -errno of the session. */
static int proof_compare(struct comparison *c)
{
	struct target *t = c->e->target;
	int unreadable, err = 0;

	for (size_t i = 0; i < c->kept.n; i++)
		c->e->compared_bytes += ops_bytes(c->peer, c->kept.items[i].begin,
						  c->kept.items[i].end - c->kept.items[i].begin);
	unreadable = proof_reader_open(&c->proof.reader, t->plan, c->peer->req_bytes, &t->run->stop,
				       t->plan->path, -1);
	if (!unreadable)
		err = compare_all(c);
	proof_reader_close(&c->proof.reader);
	if (!err)
		proof_report(c, unreadable);
	return err;
}

int proof_accept(struct endtoend *e, const struct wire_plan *peer, struct wire_range *ranges,
		 size_t *n, struct err *why)
{
	struct comparison *c = calloc(1, sizeof(*c));
	int err = c ? restart_take_kept(e->restart, peer, &c->kept) : -ENOMEM;

	if (!err && c->kept.total) {
		c->e = e;
		c->peer = peer;
		err = proof_compare(c);
		restart_kept_again(e->restart, peer, ranges, n);
	}
	if (err)
		err_errno(why, err);
	if (c)
		extents_clear(&c->kept);
	free(c);
	return err ? err : 1;
}
