/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The proof of what a destination has kept: src/run/endtoend/proof.c. Source and destination are
 * files in memory, and answers go to the destination without a session.
 */
#include "said.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/endtoend/endtoend.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/err.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/net/wire.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/thread.h"

#define REQ 4096u
#define FROM 8192u /* start of the extent, on both sides */
#define MIB (1ull << 20)

/* ---- what is called ---- */

static struct endtoend source;
static struct extents kept_ops, equal;
static struct digest equal_digest;
static struct run run;

static struct {
	unsigned asked, answered;
	unsigned most;	  /* questions without an answer */
	uint64_t ops[64]; /* of each question */
	uint8_t *bodies[64];
	size_t lengths[64];
	int prove_err, sums_err, kept_err;
	unsigned harm; /* this answer, from 1 */
	void (*harm_by)(struct wire_sums *sums);
	bool stop; /* the run, after the first answer */
} fake;

static uint8_t answer[WIRE_MAX_BODY_BYTES];

static int fake_prove(struct session *s, const struct wire_range *ranges, size_t n)
{
	(void)s;
	if (fake.prove_err)
		return fake.prove_err;
	assert_true(fake.asked < 64 && n > 0);
	for (size_t i = 0; i < n; i++)
		fake.ops[fake.asked] += ranges[i].count;
	assert_true(fake.ops[fake.asked] <= WIRE_MAX_PROOF_OPS);
	fake.lengths[fake.asked] = proof_answer(&source, ranges, n, answer);
	fake.bodies[fake.asked] = malloc(fake.lengths[fake.asked] + 1);
	memcpy(fake.bodies[fake.asked], answer, fake.lengths[fake.asked]);
	fake.asked++;
	if (fake.asked - fake.answered > fake.most)
		fake.most = fake.asked - fake.answered;
	return 0;
}

/* Change the first sums of an answer. */
static void harm(uint8_t *b, size_t length)
{
	struct wire_sums sums;
	size_t used;
	static uint8_t copy[WIRE_MAX_BODY_BYTES];

	assert_int_equal(wire_decode_sums(b, length, &sums, &used), WIRE_OK);
	fake.harm_by(&sums);
	memcpy(copy, sums.digests, sums.n * WIRE_SUM_BYTES);
	sums.digests = copy;
	wire_encode_sums(&sums, b, length);
}

static int fake_sums(struct session *s, uint8_t **b, size_t *length)
{
	(void)s;
	*b = NULL;
	if (fake.sums_err)
		return fake.sums_err;
	assert_true(fake.answered < fake.asked);
	*b = fake.bodies[fake.answered];
	*length = fake.lengths[fake.answered++];
	if (fake.answered == fake.harm)
		harm(*b, *length);
	if (fake.stop)
		stop_request(&run.stop, STOP_SIGNAL, 2);
	return 0;
}

static void fake_fail(struct session *s, enum xdd_status status, const char *text)
{
	(void)s;
	say("fail %d: %s\n", status, text);
}

static int fake_take_kept(struct restart *r, const struct wire_plan *peer, struct extents *out)
{
	(void)r, (void)peer;
	extents_init(out, 1000);
	return fake.kept_err ? fake.kept_err : extents_join(out, &kept_ops);
}

static void fake_kept_again(struct restart *r, const struct wire_plan *peer,
			    struct wire_range *ranges, size_t *n)
{
	(void)r, (void)peer, (void)ranges;
	*n = 17;
}

static void fake_written(struct restart *r, uint64_t op, uint64_t offset, uint64_t length,
			 struct digest d)
{
	(void)r;
	assert_int_equal(extents_add_new(&equal, op, op + 1), 0);
	digest_add(&equal_digest, offset, length, d);
}

static void fake_message(enum log_level level, const struct target_plan *t, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void fake_message(enum log_level level, const struct target_plan *t, const char *fmt, ...)
{
	va_list args;

	(void)t;
	say("%s: ", level == LOG_LEVEL_WARNING ? "warning" : "notice");
	va_start(args, fmt);
	vsay_line(fmt, args);
	va_end(args);
}

/* Without threads, where a test counts the spans of one. */
static unsigned n_started, spare_threads;

static int fake_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	if (n_started >= spare_threads)
		return -EAGAIN;
	n_started++;
	return thread_start(thread, fn, arg);
}

/* Reads of the source and of the destination, in bytes. */
static _Atomic uint64_t most_bytes;

static ssize_t fake_read(int fd, void *buf, size_t size, uint64_t at)
{
	uint64_t most = most_bytes;

	while (size > most && !atomic_compare_exchange_weak(&most_bytes, &most, size))
		continue;
	return readfile_at(fd, buf, size, at);
}

#define session_prove fake_prove
#define session_sums fake_sums
#define session_fail fake_fail
#define restart_take_kept fake_take_kept
#define restart_kept_again fake_kept_again
#define restart_written fake_written
#define target_message fake_message
#define thread_start fake_start
#define readfile_at fake_read

#include "../../src/run/endtoend/proof.c"

static struct target_plan source_plan, destination_plan;
static struct target source_target, destination_target;
static struct endtoend destination;
static struct wire_plan peer;
static char destination_path[64];
static int destination_fd = -1;

static uint8_t byte_at(uint64_t at)
{
	return (uint8_t)(at / 7 + at / 4096);
}

static int file_of(uint64_t size)
{
	int fd = memfd_create("data", MFD_CLOEXEC);
	static uint8_t data[1 << 20];

	assert_true(fd >= 0);
	for (uint64_t at = 0; at < size; at += sizeof(data)) {
		const size_t n = size - at < sizeof(data) ? size - at : sizeof(data);

		for (size_t i = 0; i < n; i++)
			data[i] = byte_at(at + i);
		assert_int_equal(pwrite(fd, data, n, (off_t)(FROM + at)), n);
	}
	return fd;
}

/* Two equal files of `bytes`, in requests of `req`, of which everything was kept. */
static void set_up_copy(uint64_t req, uint64_t bytes)
{
	const uint64_t ops = (bytes + req - 1) / req;

	memset(&fake, 0, sizeof(fake));
	memset(&run, 0, sizeof(run));
	memset(&source_target, 0, sizeof(source_target));
	memset(&destination_target, 0, sizeof(destination_target));
	stop_init(&run.stop);
	source_plan = (struct target_plan){ .op = OP_READ,
					    .block_size = 1024,
					    .req_blocks = req / 1024,
					    .req_bytes = req,
					    .pass_ops = ops,
					    .last_op_bytes = bytes - (ops - 1) * req,
					    .start_offset_blocks = FROM / 1024,
					    .start_bytes = FROM,
					    .pass_offset_bytes = 5 * REQ,
					    .pass_offset_blocks = 5 * REQ / 1024,
					    .kind = TARGET_FILE,
					    .qthreads = 1,
					    .queue_depth = 1,
					    .seek.pattern = SEEK_SEQUENTIAL };
	destination_plan = source_plan;
	destination_plan.op = OP_WRITE;
	destination_plan.path = destination_path;
	peer = (struct wire_plan){ .req_bytes = req, .bytes = bytes, .ops = ops };
	source_target.run = destination_target.run = &run;
	source_target.plan = &source_plan;
	source_target.file.fd = file_of(bytes);
	destination_target.plan = &destination_plan;
	source = (struct endtoend){ .target = &source_target, .own = peer, .sends = true };
	destination = (struct endtoend){ .target = &destination_target };
	destination_fd = file_of(bytes);
	snprintf(destination_path, sizeof(destination_path), "/proc/self/fd/%d", destination_fd);
	extents_init(&kept_ops, 1000);
	extents_init(&equal, 1000);
	extents_add(&kept_ops, 0, ops);
	equal_digest = (struct digest){ 0 };
	said[0] = '\0';
	n_started = spare_threads = 0;
	most_bytes = 0;
}

static void tear_down_copy(void)
{
	proof_end(&source);
	assert_null(source.proof);
	for (unsigned i = fake.answered; i < fake.asked; i++)
		free(fake.bodies[i]);
	close(source_target.file.fd);
	close(destination_fd);
	extents_clear(&kept_ops);
	extents_clear(&equal);
	stop_destroy(&run.stop);
}

static int prove(void)
{
	struct wire_range ranges[1];
	struct err why = { 0 };
	size_t n = 0;
	int ret = proof_accept(&destination, &peer, ranges, &n, &why);

	assert_int_equal(n, kept_ops.total && !fake.kept_err ? 17 : 0);
	if (ret < 0)
		assert_string_equal(why.text, strerror(-ret));
	return ret;
}

/* Change a byte at `at` of the extent. */
static void change(int fd, uint64_t at)
{
	const uint8_t other = (uint8_t)(byte_at(at) + 1);

	assert_int_equal(pwrite(fd, &other, 1, (off_t)(FROM + at)), 1);
}

static struct digest digest_of_all(uint64_t bytes)
{
	struct digest d = { 0 };
	uint8_t *data = malloc(bytes);

	for (uint64_t op = 0; op < peer.ops; op++) {
		const uint64_t at = op * peer.req_bytes;
		const uint64_t n = bytes - at < peer.req_bytes ? bytes - at : peer.req_bytes;

		for (uint64_t i = 0; i < n; i++)
			data[i] = byte_at(at + i);
		digest_add(&d, at, n, digest_data(data, n));
	}
	free(data);
	return d;
}

/* ---- equal sides ---- */

/* Sizes of requests around the buffer of a thread and the bytes of a question. */
TEST(test_equal)
{
	static const struct {
		uint64_t req, bytes, most; /* bytes of a read */
		unsigned questions;
	} cases[] = {
		{ REQ, 1, 1, 1 },
		{ REQ, REQ, REQ, 1 },
		{ REQ, 10 * REQ + 1, 10 * REQ + 1, 1 },
		{ REQ, 3 * MIB + 5, MIB, 1 },
		{ 3072, 2 * MIB, 341 * 3072, 1 },
		{ MIB, 2 * MIB + 5, MIB, 1 },
		{ 2 * MIB, 5 * MIB + 5, MIB, 1 },
		{ MIB + 1024, 3 * MIB, MIB, 1 },
		{ 1024, 16384 * 1024, MIB, 1 },
		{ 1024, 16384 * 1024 + 1, MIB, 2 },
		{ 64 * MIB, 65 * MIB, MIB, 1 },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t bytes = cases[i / 2].bytes;
		char text[200];

		set_up_copy(cases[i / 2].req, bytes);
		/* Alone, and with others. */
		spare_threads = i % 2 ? 100 : 0;
		source_plan.queue_depth = destination_plan.queue_depth = 4;
		assert_int_equal(prove(), 1);
		assert_int_equal(most_bytes, cases[i / 2].most);
		assert_int_equal(fake.asked, cases[i / 2].questions);
		assert_int_equal(fake.answered, fake.asked);
		assert_true(equal.total == peer.ops && equal.n == 1);
		assert_true(digest_equal(equal_digest, digest_of_all(bytes)));
		assert_true(source.compared_bytes == bytes && destination.compared_bytes == bytes);
		assert_true(atomic_load(&source.met));
		snprintf(text, sizeof(text),
			 "notice: all of the %" PRIu64
			 " bytes that were durable equal the source: nothing is copied\n",
			 bytes);
		assert_said(text);
		tear_down_copy();
	}
}

/* Parts that were kept, also of more than one question; two of them have no answer at most. */
TEST(test_parts)
{
	set_up_copy(1024, 60000 * 1024 + 100);
	extents_clear(&kept_ops);
	extents_init(&kept_ops, 1000);
	extents_add(&kept_ops, 5, 10);
	extents_add(&kept_ops, 11, 12);
	extents_add(&kept_ops, 100, 60001);
	assert_int_equal(prove(), 1);
	assert_true(fake.asked == 4 && fake.most == SESSION_PROOFS);
	assert_true(fake.ops[0] == 16384 && fake.ops[1] == 16384 && fake.ops[2] == 16384);
	assert_int_equal(fake.ops[3], 5 + 1 + 59901 - 3 * 16384);
	assert_true(equal.total == kept_ops.total && equal.n == 3);
	assert_int_equal(destination.compared_bytes, (5 + 1 + 59900) * 1024 + 100);
	assert_int_equal(source.compared_bytes, destination.compared_bytes);
	assert_said("notice: all of the 61343844 bytes that were durable equal the source\n");
	tear_down_copy();
	/* A question is about 256 MiB at most, or one operation. */
	set_up_copy(REQ, REQ);
	peer.req_bytes = 256 * MIB / 3;
	kept_ops.items[0].end = 10;
	for (unsigned i = 0; i < 2; i++) {
		struct question *asked = calloc(1, sizeof(*asked));
		struct comparison *c = calloc(1, sizeof(*c));

		c->peer = &peer;
		c->kept = kept_ops;
		assert_true(proof_ask(c, asked));
		assert_true(asked->n == 1 && asked->ranges[0].count == (i ? 1 : 3));
		assert_int_equal(c->next, i ? 1 : 3);
		c->next = 10;
		assert_false(proof_ask(c, asked));
		free(c);
		free(asked);
		peer.req_bytes = 512 * MIB;
	}
	tear_down_copy();
	/* Nothing was kept. */
	set_up_copy(REQ, 3 * REQ);
	extents_clear(&kept_ops);
	assert_int_equal(prove(), 1);
	assert_int_equal(fake.asked, 0);
	assert_said("");
	fake.kept_err = -ENOMEM;
	assert_int_equal(prove(), -ENOMEM);
	tear_down_copy();
}

/* ---- sides that differ ---- */

TEST(test_differs)
{
	static const struct {
		uint64_t req, bytes, at;
		uint64_t op, op_bytes;
	} cases[] = {
		{ REQ, 4 * REQ + 10, 0, 0, REQ },
		{ REQ, 4 * REQ + 10, REQ, 1, REQ },
		{ REQ, 4 * REQ + 10, 3 * REQ - 1, 2, REQ },
		{ REQ, 4 * REQ + 10, 4 * REQ + 9, 4, 10 },
		{ 2 * MIB, 5 * MIB, 2 * MIB - 1, 0, 2 * MIB },
		{ 2 * MIB, 5 * MIB, 5 * MIB - 1, 2, MIB },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t op = cases[i / 2].op;
		char text[300];

		set_up_copy(cases[i / 2].req, cases[i / 2].bytes);
		change(i % 2 ? destination_fd : source_target.file.fd, cases[i / 2].at);
		assert_int_equal(prove(), 1);
		assert_int_equal(equal.total, peer.ops - 1);
		assert_false(extents_contains(&equal, op, op + 1));
		snprintf(text, sizeof(text),
			 "warning: %" PRIu64 " of the %" PRIu64
			 " bytes that were durable differ from the source, or cannot be compared: "
			 "they are copied again\n",
			 cases[i / 2].op_bytes, cases[i / 2].bytes);
		assert_said(text);
		tear_down_copy();
	}
}

/* An end that is missing on one side is copied again, with the operation that it cuts. */
TEST(test_short)
{
	static const struct {
		uint64_t req, bytes, left;
		uint64_t equal;
	} cases[] = {
		{ REQ, 4 * REQ + 10, 4 * REQ + 9, 4 },	{ REQ, 4 * REQ + 10, 4 * REQ, 4 },
		{ REQ, 4 * REQ + 10, 4 * REQ - 1, 3 },	{ REQ, 4 * REQ + 10, 0, 0 },
		{ 2 * MIB, 5 * MIB, 4 * MIB, 2 },	{ 2 * MIB, 5 * MIB, 4 * MIB - 1, 1 },
		{ REQ, 200 * REQ, 100 * REQ + 1, 100 },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		int fd;

		set_up_copy(cases[i / 2].req, cases[i / 2].bytes);
		fd = i % 2 ? destination_fd : source_target.file.fd;
		assert_int_equal(ftruncate(fd, (off_t)(FROM + cases[i / 2].left)), 0);
		assert_int_equal(prove(), 1);
		assert_int_equal(equal.total, cases[i / 2].equal);
		assert_true(equal.n == (cases[i / 2].equal != 0));
		assert_memory_equal(said, "warning: ", 9);
		tear_down_copy();
	}
}

/* Operations that do not follow each other in the file: each has a span of its own. */
TEST(test_random)
{
	set_up_copy(REQ, 64 * REQ);
	source_plan.seek.pattern = SEEK_RANDOM;
	source_plan.seek.seed = 1;
	source_plan.range_bytes = 64 * REQ;
	assert_int_equal(prove(), 1);
	assert_int_equal(equal.total, 64);
	assert_in_range(source.proof->n_spans, 48, 64);
	tear_down_copy();
}

/* Operations that follow each other make a span of at most 1 MiB. */
TEST(test_spans)
{
	static const struct wire_range ranges[] = { { 0, 300 }, { 302, 1 }, { 303, 2 } };
	const struct proof_span *s;

	set_up_copy(REQ, 400 * REQ);
	proof_answer(&source, ranges, 3, answer);
	assert_int_equal(source.proof->n_spans, 3);
	s = source.proof->spans;
	assert_true(s[0].op == 0 && s[0].begin == 0 && s[0].end == 256 * REQ && s[0].first == 0);
	assert_true(s[1].op == 256 && s[1].end == 300 * REQ && s[1].first == 256);
	assert_true(s[2].op == 302 && s[2].begin == 302 * REQ && s[2].end == 305 * REQ &&
		    s[2].first == 300);
	assert_int_equal(source.compared_bytes, 303 * REQ);
	tear_down_copy();
}

/* ---- sides that cannot be compared ---- */

TEST(test_unreadable)
{
	static const char again[] = ": all of it is copied again; -restart trust keeps it without "
				    "that\n";
	char text[300];
	int sockets[2];

	for (unsigned i = 0; i < 3; i++) {
		const char *reason = i ? "Operation not supported" : "No such file or directory";

		set_up_copy(REQ, 3 * REQ);
		if (i == 0)
			destination_plan.path = (char *)"/proc/self/fd/none";
		if (i == 1)
			destination_plan.kind = TARGET_NULL;
		if (i == 2)
			destination_plan.path = (char *)"/dev/null";
		assert_int_equal(prove(), 1);
		assert_int_equal(fake.asked, 0);
		snprintf(text, sizeof(text),
			 "warning: cannot be read to compare it with the source (%s)%s", reason,
			 again);
		assert_said(text);
		tear_down_copy();
	}
	/* A source that cannot be read answers nothing. */
	for (unsigned i = 0; i < 2; i++) {
		set_up_copy(REQ, 3 * REQ);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
		assert_int_equal(dup2(sockets[0], source_target.file.fd), source_target.file.fd);
		if (i)
			source_plan.kind = TARGET_NULL;
		assert_int_equal(prove(), 1);
		assert_int_equal(equal.total, 0);
		assert_said("warning: 12288 of the 12288 bytes that were durable differ from the "
			    "source, or cannot be compared: they are copied again\n");
		close(sockets[0]);
		close(sockets[1]);
		tear_down_copy();
	}
}

/* The session fails, or the run stops. */
TEST(test_errors)
{
	for (unsigned i = 0; i < 3; i++) {
		set_up_copy(REQ, 3 * REQ);
		fake.prove_err = i == 0 ? -EPIPE : 0;
		fake.sums_err = i == 1 ? -EBADMSG : 0;
		fake.stop = i == 2;
		assert_int_equal(prove(), i == 0 ? -EPIPE : i == 1 ? -EBADMSG : -ECANCELED);
		assert_int_equal(equal.total, 0);
		assert_said("");
		tear_down_copy();
	}
	/* A run that stops reads nothing. */
	set_up_copy(2 * MIB, 5 * MIB);
	stop_request(&run.stop, STOP_SIGNAL, 2);
	assert_int_equal(proof_answer(&source, &(struct wire_range){ 0, 3 }, 1, answer), 0);
	assert_int_equal(most_bytes, 0);
	tear_down_copy();
}

/* ---- a source that is wrong ---- */

static void other_op(struct wire_sums *s)
{
	s->id += 100;
}

static void next_op(struct wire_sums *s)
{
	s->id++;
}

static void other_size(struct wire_sums *s)
{
	s->block_bytes /= 2;
	s->end_bytes = s->offset_bytes + s->n * s->block_bytes;
}

static void past_end(struct wire_sums *s)
{
	s->offset_bytes += REQ;
	s->end_bytes += REQ;
}

static void no_sums(struct wire_sums *s)
{
	s->n--;
	s->end_bytes -= REQ;
}

TEST(test_wrong)
{
	static const struct {
		void (*by)(struct wire_sums *sums);
		uint64_t bytes;
	} cases[] = {
		{ other_op, 3 * REQ },	   { next_op, 3 * REQ }, { other_size, 3 * REQ },
		{ past_end, 3 * REQ },	   { no_sums, 3 * REQ }, { next_op, 3 * REQ - 1 },
		{ past_end, 3 * REQ - 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up_copy(REQ, cases[i].bytes);
		fake.harm = 1;
		fake.harm_by = cases[i].by;
		assert_int_equal(prove(), -EBADMSG);
		assert_int_equal(equal.total, 0);
		assert_said("fail 6: the source sent digests that were not asked for\n");
		tear_down_copy();
	}
}

/* Sums of an answer must ascend, and stay within a range of the question. */
TEST(test_asked)
{
	static const struct question asked = { { { 5, 3 }, { 10, 2 } }, 2 };
	static const struct {
		uint64_t op, ops, next;
		bool good;
	} cases[] = {
		{ 5, 3, 0, true },  { 5, 4, 0, false }, { 4, 1, 0, false },  { 4, 2, 0, false },
		{ 7, 1, 7, true },  { 6, 1, 7, false }, { 8, 1, 0, false },  { 7, 2, 0, false },
		{ 10, 2, 0, true }, { 11, 1, 0, true }, { 11, 2, 0, false }, { 12, 1, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct proof_span span = { .op = cases[i].op };
		size_t range = 0;

		assert_int_equal(was_asked(&asked, &span, cases[i].ops, cases[i].next, &range),
				 cases[i].good);
	}
}

/* ---- readers ---- */

TEST(test_threads)
{
	static const struct {
		uint64_t depth;
		uint32_t qthreads;
		enum ordering ordering;
		unsigned threads;
	} cases[] = {
		{ 1, 1, ORDERING_NONE, 1 },  { 4, 1, ORDERING_NONE, 4 },
		{ 1, 4, ORDERING_NONE, 4 },  { 9, 9, ORDERING_STRICT, 8 },
		{ 8, 1, ORDERING_LOOSE, 8 }, { 7, 9, ORDERING_SERIAL, 1 },
		{ 0, 0, ORDERING_NONE, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct target_plan t = { .queue_depth = cases[i].depth,
					       .qthreads = cases[i].qthreads,
					       .ordering = cases[i].ordering };

		assert_int_equal(threads_of(&t), cases[i].threads);
	}
	/* As many as there are spans, and as the reader may have; this thread is one. */
	for (unsigned depth = 1; depth < 9; depth++) {
		set_up_copy(REQ, 5 * MIB);
		spare_threads = 100;
		source_plan.queue_depth = depth;
		assert_int_equal(prove(), 1);
		assert_int_equal(n_started, depth < 5 ? depth - 1 : 4);
		tear_down_copy();
	}
}

/* O_DIRECT where the plan has it and offsets allow it; whole sectors are read then. */
TEST(test_direct)
{
	static const struct {
		bool direct;
		uint64_t req, align, used;
	} cases[] = {
		{ true, REQ, 512, 512 }, { true, REQ, 4096, 4096 },	 { false, REQ, 512, 1 },
		{ true, 1024, 4096, 1 }, { true, 3 * REQ, 3 * 4096, 1 }, { true, REQ, 16384, 1 },
	};
	static const char name[] = "test-proof-XXXXXX";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *tmp = getenv("TMPDIR");
		struct proof_reader r;
		uint8_t *buf = aligned_alloc(4096, 16384);
		char path[300];
		int fd, probe;

		set_up_copy(cases[i].req, 3 * cases[i].req);
		destination_plan.direct_io = cases[i].direct;
		destination_plan.io_align_bytes = cases[i].align;
		snprintf(path, sizeof(path), "%s/%s", tmp ? tmp : "/tmp", name);
		fd = mkstemp(path);
		assert_true(fd >= 0);
		memset(buf, 7, 16384);
		assert_int_equal(pwrite(fd, buf, 16384, 0), 16384);
		assert_int_equal(proof_reader_open(&r, &destination_plan, cases[i].req, &run.stop,
						   path, -1),
				 0);
		assert_int_equal(r.from_bytes, FROM);
		/* A file system may have none. */
		probe = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
		assert_int_equal(r.align_bytes, probe < 0 ? 1 : cases[i].used);
		if (probe >= 0)
			close(probe);
		assert_int_equal(!!(fcntl(r.fd, F_GETFL) & O_DIRECT), r.align_bytes > 1);
		assert_int_equal(read_extent(&r, buf, 100, 0), 100);
		assert_int_equal(read_extent(&r, buf, 4096, 4096), 4096);
		assert_int_equal(read_extent(&r, buf, 4096, 8192), 0);
		proof_reader_close(&r);
		assert_int_equal(r.fd, -1);
		assert_int_equal(read_extent(&r, buf, 4096, 0), -EBADF);
		close(fd);
		unlink(path);
		free(buf);
		tear_down_copy();
	}
}

RUN_TESTS(NULL, NULL)
