/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of a session, its end in every way and the proof of what is kept: src/net/session.c, in
 * the thread of the test, in which the other side acts while a step waits. test_session*.c have
 * both sides.
 */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "net/session_internal.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

#define TIMEOUT_NS (20 * NS_PER_SEC)

static struct session *rig;

static struct {
	/* actions of the control thread in each wait: the state after it, or an error */
	unsigned states[4];
	int errs[4];
	void (*acts[4])(void);
	size_t waited;

	unsigned aborted, failures, started;
	int start_err, export_err;
	bool no_random;
	const struct wire_range *asked;
	size_t n_asked, answer;
} play;

static struct connection the_connection = { .fd = -1, .peer = "there:1" };

#define CONNECTION (&the_connection)

static int fake_cond_wait(pthread_cond_t *changed, pthread_mutex_t *lock, uint64_t until_ns)
{
	const size_t i = play.waited++;

	assert_ptr_equal(changed, &rig->changed);
	assert_ptr_equal(lock, &rig->lock);
	if (until_ns != UINT64_MAX)
		return -ETIMEDOUT;
	if (i >= 4 || (!play.states[i] && !play.errs[i] && !play.acts[i]))
		fail_msg("nothing ends this wait");
	if (play.states[i])
		rig->state = play.states[i];
	if (play.errs[i])
		err_set(&rig->failed, play.errs[i], "the cause");
	if (play.acts[i]) {
		pthread_mutex_unlock(lock);
		play.acts[i]();
		pthread_mutex_lock(lock);
	}
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

static int fake_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	assert_ptr_equal(run, session_control);
	assert_ptr_equal(arg, rig);
	play.started++;
	return play.start_err ? play.start_err : -pthread_create(thread, NULL, nothing, NULL);
}

static void fake_abort(struct connection *c)
{
	assert_ptr_equal(c, &the_connection);
	play.aborted++;
}

static void fake_close(struct connection *c)
{
	(void)c;
}

static void fake_info(struct connection *c, struct connection_info *info)
{
	assert_ptr_equal(c, &the_connection);
	info->rtt_ns = 5;
}

static int fake_export_key(struct connection *c, const char *label, uint8_t out[WIRE_KEY_BYTES])
{
	assert_ptr_equal(c, &the_connection);
	assert_string_equal(label, "EXPORTER-xdd-end-to-end");
	memset(out, 6, WIRE_KEY_BYTES);
	return play.export_err;
}

static ssize_t fake_getrandom(void *buf, size_t size, unsigned flags)
{
	assert_int_equal(flags, 0);
	memset(buf, 8, size);
	return play.no_random ? (ssize_t)size - 1 : (ssize_t)size;
}

#define cond_wait fake_cond_wait
#define thread_start fake_thread_start
#define connection_abort fake_abort
#define connection_close fake_close
#define connection_info(c, i) fake_info(c, i)
#define connection_export_key fake_export_key
#define getrandom fake_getrandom
#include "../../src/net/session.c"

/* ---- a session ---- */

static struct stop run_stop;
static struct endtoend_options options;
static struct net_key key;

static void on_failed(void *arg)
{
	assert_ptr_equal(arg, &play);
	play.failures++;
}

static size_t on_prove(void *arg, const struct wire_range *ranges, size_t n, uint8_t *out)
{
	assert_ptr_equal(arg, &play);
	play.asked = ranges;
	play.n_asked = n;
	assert_int_equal(ranges[0].first, 2);
	memset(out, 5, play.answer);
	return play.answer;
}

static const struct wire_plan plan = { .req_bytes = 4096, .ops = 10, .connections = 2, .passes = 2 };

static void begin(bool source, enum session_state state)
{
	struct session_params params = {
		.target = 3,
		.options = &options,
		.key = &key,
		.stop = &run_stop,
		.failed = on_failed,
		.prove = on_prove,
		.arg = &play,
	};

	memset(&play, 0, sizeof(play));
	memset(&key, 0, sizeof(key));
	stop_init(&run_stop);
	options = (struct endtoend_options){ .role = source ? E2E_SOURCE : E2E_DESTINATION,
					     .timeout_ns = TIMEOUT_NS };
	rig = session_new(&params);
	assert_non_null(rig);
	rig->own = plan;
	rig->state = state;
	rig->control = CONNECTION;
	rig->data = calloc(2, sizeof(*rig->data));
	assert_non_null(rig->data);
	rig->data[1].connection = CONNECTION;
}

/* The control thread has been woken so often since the last look. */
static uint64_t wakes(void)
{
	uint64_t n;

	return read(rig->wake_fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static void end(void)
{
	session_free(rig);
	stop_destroy(&run_stop);
}

/* ---- the life of a session ---- */

TEST(test_new)
{
	static const struct {
		uint64_t timeout_ns, alive_ns, grace_ns;
		const char *text;
	} cases[] = {
		{ 4 * SESSION_ALIVE_NS - 4, SESSION_ALIVE_NS - 1, SESSION_GRACE_NS, NULL },
		{ 4 * SESSION_ALIVE_NS, SESSION_ALIVE_NS, SESSION_GRACE_NS, NULL },
		{ 4 * SESSION_ALIVE_NS + 4, SESSION_ALIVE_NS, SESSION_GRACE_NS, NULL },
		{ 300 * NS_PER_MS, 75 * NS_PER_MS, 300 * NS_PER_MS, "0.3 s" },
		{ 90 * NS_PER_SEC, SESSION_ALIVE_NS, SESSION_GRACE_NS, "90 s" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct session_params params = { .options = &options, .stop = &run_stop };

		stop_init(&run_stop);
		options = (struct endtoend_options){ .role = E2E_SOURCE,
						     .timeout_ns = cases[i].timeout_ns,
						     .congestion = "reno",
						     .send_buffer_bytes = 5,
						     .receive_buffer_bytes = 6 };
		rig = session_new(&params);
		assert_non_null(rig);
		assert_int_equal(rig->alive_ns, cases[i].alive_ns);
		assert_int_equal(rig->grace_ns, cases[i].grace_ns);
		if (cases[i].text)
			assert_string_equal(rig->time_text, cases[i].text);
		assert_false(rig->keyed);
		assert_int_equal(rig->state, SESSION_NEW);
		assert_int_equal(rig->socket.timeout_ns, cases[i].timeout_ns);
		assert_string_equal(rig->socket.congestion, "reno");
		assert_int_equal(rig->socket.send_buffer_bytes, 5);
		assert_int_equal(rig->socket.receive_buffer_bytes, 6);
		end();
	}
}

/* The words for the peer when the run stops, with the reason that was given first. */
TEST(test_stops)
{
	static const struct {
		enum stop_reason why;
		bool explained;
		enum xdd_status status;
		const char *words;
	} cases[] = {
		{ STOP_SIGNAL, false, XDD_CANCELED, "the source was interrupted by signal 15" },
		{ STOP_SIGNAL, true, XDD_CANCELED, "the source was interrupted by signal 15" },
		{ STOP_START, false, XDD_TARGET_FAILED, "the source could not start" },
		{ STOP_START, true, XDD_TARGET_FAILED, "the source: no\\x1broom" },
		{ STOP_ERROR, false, XDD_IO_ERROR, "the source stopped after an error" },
		{ STOP_ERROR, true, XDD_IO_ERROR, "the source: no\\x1broom" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(true, SESSION_PASS);
		if (cases[i].explained) {
			session_explain(rig, "no\033room");
			session_explain(rig, "another one");
		}
		stop_request(&run_stop, cases[i].why, 15);
		assert_int_equal(session_error(rig), -ECANCELED);
		assert_int_equal(rig->last_words.status, cases[i].status);
		assert_string_equal(rig->last_words.text, cases[i].words);
		assert_string_equal(session_why(rig), "");
		assert_int_equal(play.failures, 0);
		/* All calls end. */
		assert_int_equal(play.aborted, 1);
		assert_true(stop_requested(&rig->halt));
		assert_int_equal(wakes(), 1);
		end();
	}
	/* One that is over, or has failed, stays as it is. */
	begin(true, SESSION_OVER);
	stop_request(&run_stop, STOP_SIGNAL, 15);
	assert_int_equal(session_error(rig), 0);
	assert_int_equal(play.aborted, 0);
	end();
	begin(true, SESSION_PASS);
	err_set(&rig->failed, -EIO, "the cause");
	stop_request(&run_stop, STOP_SIGNAL, 15);
	assert_int_equal(session_error(rig), -EIO);
	assert_string_equal(rig->last_words.text, "");
	end();
}

/* The peer and the run learn of a failure. The first cause is kept. */
TEST(test_fails)
{
	static const struct {
		enum session_blame blame;
		bool told;
		unsigned failures;
	} cases[] = {
		{ BLAME_SELF, true, 0 },
		{ BLAME_PEER, true, 1 },
		{ BLAME_PEER_SILENTLY, false, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(false, SESSION_PASS);
		assert_int_equal(session_broke(rig, cases[i].blame, -EPROTO, "problem %d", 5),
				 -EPROTO);
		assert_string_equal(session_why(rig), "problem 5");
		assert_string_equal(rig->last_words.text, cases[i].told ? "problem 5" : "");
		assert_int_equal(rig->last_words.status, cases[i].told ? XDD_IO_ERROR : 0);
		assert_int_equal(play.failures, cases[i].failures);
		assert_int_equal(play.aborted, 1);
		assert_int_equal(wakes(), 1);
		assert_int_equal(session_broke(rig, BLAME_PEER, -EIO, "another"), -EPROTO);
		session_fail(rig, XDD_CANCELED, "a third");
		assert_string_equal(session_why(rig), "problem 5");
		assert_int_equal(play.failures, cases[i].failures);
		end();
	}
	begin(false, SESSION_OVER);
	assert_int_equal(session_broke(rig, BLAME_PEER, -EIO, "late"), -EIO);
	assert_string_equal(session_why(rig), "");
	assert_int_equal(play.failures, 0);
	end();
	begin(false, SESSION_PASS);
	rig->params.failed = NULL;
	session_broke(rig, BLAME_PEER, -EIO, "no callback");
	end();
	begin(false, SESSION_PASS);
	session_fail(rig, XDD_TARGET_FAILED, "no\033room");
	assert_int_equal(session_error(rig), -ECANCELED);
	assert_string_equal(session_why(rig), "no\\x1broom");
	assert_string_equal(rig->last_words.text, "no\\x1broom");
	assert_int_equal(rig->last_words.status, XDD_TARGET_FAILED);
	assert_int_equal(play.failures, 0);
	end();
}

TEST(test_info)
{
	static const struct {
		uint32_t number;
		bool there;
	} cases[] = { { WIRE_NO_CONNECTION, true }, { 0, false }, { 1, true }, { 2, false } };
	struct connection_info info;

	begin(true, SESSION_PASS);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		info.rtt_ns = 0;
		assert_int_equal(session_info(rig, cases[i].number, &info), cases[i].there);
		assert_int_equal(info.rtt_ns, cases[i].there ? 5 : 0);
	}
	rig->control = NULL;
	assert_false(session_info(rig, WIRE_NO_CONNECTION, &info));
	free(rig->data);
	rig->data = NULL;
	assert_false(session_info(rig, 1, &info));
	end();
}

/* ---- the proof ---- */

static void take_answer(void)
{
	struct wire_header h = { .length = 4 };

	assert_int_equal(session_take_sums(rig, &h, (const uint8_t *)"sums"), 0);
}

TEST(test_prove)
{
	const struct wire_range ranges[] = { { 2, 3 }, { 7, 1 } };
	struct wire_header h = { .length = 4 };
	uint8_t *body = NULL, encoded[64];
	size_t length = 0;

	begin(false, SESSION_JUDGING);
	assert_int_equal(session_prove(rig, ranges, 2), 0);
	assert_int_equal(rig->pending, 1u << WIRE_PROVE);
	assert_int_equal(rig->proof.unanswered, 1);
	assert_int_equal(wakes(), 1);
	assert_int_equal(session_proof_encode(rig), wire_encode_prove(ranges, 2, encoded));
	assert_memory_equal(rig->body, encoded, 36);
	rig->pending = 0;
	assert_int_equal(session_prove(rig, ranges, 1), 0);
	assert_int_equal(session_proof_encode(rig), 20);
	/* Answers wait in their order; each was asked for. */
	take_answer();
	h.length = 0;
	assert_int_equal(session_take_sums(rig, &h, (const uint8_t *)""), 0);
	assert_int_equal(rig->proof.queued, 2);
	assert_int_equal(rig->proof.unanswered, 0);
	assert_int_equal(session_sums(rig, &body, &length), 0);
	assert_int_equal(length, 4);
	assert_memory_equal(body, "sums", 4);
	free(body);
	assert_int_equal(session_sums(rig, &body, &length), 0);
	assert_int_equal(length, 0);
	free(body);
	/* One that is still to come. */
	rig->proof.unanswered = 1;
	play.acts[0] = take_answer;
	assert_int_equal(session_sums(rig, &body, &length), 0);
	assert_int_equal(play.waited, 1);
	assert_int_equal(length, 4);
	free(body);
	play.acts[1] = NULL;
	play.errs[1] = -EPIPE;
	assert_int_equal(session_sums(rig, &body, &length), -EPIPE);
	assert_null(body);
	assert_int_equal(session_prove(rig, ranges, 2), -EPIPE);
	end();
	/* One that was not asked for, and one more than are kept. */
	for (int full = 0; full < 2; full++) {
		begin(false, SESSION_JUDGING);
		rig->proof.unanswered = full ? SESSION_PROOFS + 1 : 0;
		for (int i = 0; i < (full ? SESSION_PROOFS : 0); i++)
			take_answer();
		assert_int_equal(session_take_sums(rig, &h, (const uint8_t *)"sums"), -EPROTO);
		assert_string_equal(session_why(rig),
				    "the source at there:1 sent digests that were not asked for");
		end();
	}
}

static void sent(void)
{
	rig->pending = 0;
}

/* A question follows the one before once that is sent. */
TEST(test_prove_twice)
{
	const struct wire_range range = { 2, 3 };

	begin(false, SESSION_JUDGING);
	assert_int_equal(session_prove(rig, &range, 1), 0);
	play.acts[0] = sent;
	assert_int_equal(session_prove(rig, &range, 1), 0);
	assert_int_equal(play.waited, 1);
	assert_int_equal(rig->pending, 1u << WIRE_PROVE);
	play.errs[1] = -EPIPE;
	assert_int_equal(session_prove(rig, &range, 1), -EPIPE);
	assert_int_equal(rig->proof.unanswered, 2);
	end();
}

/* The questions that a source answers: of its operations, each once, and a few at a time. */
TEST(test_questions)
{
	static const struct {
		struct wire_range range;
		uint64_t ops, next_op;
		bool taken;
	} cases[] = {
		{ { 2, 3 }, 10, 0, true },
		{ { 2, 3 }, 10, 2, true },
		{ { 2, 3 }, 10, 3, false },
		{ { 2, 8 }, 10, 0, true },
		{ { 2, 9 }, 10, 0, false },
		{ { 10, 1 }, 10, 0, false },
		{ { 2, 3 }, WIRE_NO_SIZE, 0, false },
	};
	uint8_t body[64];
	struct wire_header h = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(true, SESSION_PLANNING);
		rig->own.ops = cases[i].ops;
		rig->proof.next_op = cases[i].next_op;
		h.length = wire_encode_prove(&cases[i].range, 1, body);
		assert_int_equal(session_take_prove(rig, &h, body), cases[i].taken ? 0 : -EBADMSG);
		assert_int_equal(rig->proof.queued, cases[i].taken);
		if (cases[i].taken)
			assert_int_equal(rig->proof.next_op,
					 cases[i].range.first + cases[i].range.count);
		end();
	}
	begin(true, SESSION_PLANNING);
	for (uint64_t i = 0; i <= SESSION_PROOFS; i++) {
		const struct wire_range range = { i, 1 };

		h.length = wire_encode_prove(&range, 1, body);
		assert_int_equal(session_take_prove(rig, &h, body),
				 i < SESSION_PROOFS ? 0 : -EBADMSG);
	}
	assert_int_equal(rig->proof.next_op, SESSION_PROOFS);
	end();
	begin(true, SESSION_PLANNING);
	rig->params.prove = NULL;
	assert_int_equal(session_take_prove(rig, &h, body), -EBADMSG);
	end();
}

static void ask(void)
{
	const struct wire_range range = { 2, 3 };
	uint8_t body[64];
	struct wire_header h = { .length = wire_encode_prove(&range, 1, body) };

	assert_int_equal(session_take_prove(rig, &h, body), 0);
}

/* A source that waits for ACCEPT answers, with the lock only where it needs it. */
TEST(test_answers)
{
	begin(true, SESSION_PLANNING);
	play.answer = 7;
	play.acts[0] = ask;
	play.states[1] = SESSION_OPENING;
	session_lock(rig);
	assert_int_equal(session_await_accept(rig), 0);
	session_unlock(rig);
	assert_int_equal(play.waited, 2);
	assert_int_equal(play.n_asked, 1);
	assert_int_equal(rig->pending, 1u << WIRE_SUMS);
	assert_int_equal(session_proof_encode(rig), 7);
	assert_int_equal(rig->body[6], 5);
	end();
	begin(true, SESSION_IDLE);
	session_lock(rig);
	assert_int_equal(session_await_accept(rig), 0);
	session_unlock(rig);
	assert_int_equal(play.waited, 0);
	end();
	begin(true, SESSION_PLANNING);
	play.errs[0] = -EPIPE;
	session_lock(rig);
	assert_int_equal(session_await_accept(rig), -EPIPE);
	session_unlock(rig);
	end();
}

/* ---- keys ---- */

TEST(test_keys)
{
	static const struct {
		bool source, keyed, encrypt;
		uint32_t peer;
		int export_err, expected;
		const char *why;
	} cases[] = {
		{ true, false, false, 0, 0, 0, "" },
		{ true, true, false, WIRE_CAN_KEY, 0, 0, "" },
		{ false, true, true, WIRE_CAN_KEY | WIRE_CAN_ENCRYPT, 0, 0, "" },
		/* Other flags say nothing of keys. */
		{ false, true, false, WIRE_CAN_KEY | WIRE_RESUMES, 0, 0, "" },
		{ true, true, false, 0, 0, -EINVAL,
		  "the source has a key, the destination has none: give both the same -e2e key" },
		{ false, true, false, 0, 0, -EINVAL,
		  "the destination has a key, the source has none: give both the same -e2e key" },
		{ true, true, false, WIRE_CAN_KEY | WIRE_CAN_ENCRYPT, 0, -EINVAL,
		  "the destination has -e2e encrypt, the source has not: give it to both" },
		{ true, true, false, WIRE_CAN_KEY, -EIO, -EIO,
		  "the source has no key for the data: Input/output error" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].source, SESSION_PLANNING);
		rig->keyed = cases[i].keyed;
		options.encrypt = cases[i].encrypt;
		rig->peer_hello.flags = cases[i].peer;
		play.export_err = cases[i].export_err;
		assert_int_equal(session_take_key(rig), cases[i].expected);
		assert_string_equal(session_why(rig), cases[i].why);
		assert_int_equal(rig->have_key, cases[i].keyed && !cases[i].expected);
		assert_int_equal(rig->key[31],
				 cases[i].keyed && (rig->have_key || cases[i].export_err) ? 6 : 0);
		{
			const struct stream_terms t = session_streams(rig);

			assert_int_equal(t.key != NULL, rig->have_key);
			assert_int_equal(t.flags,
					 (cases[i].keyed ? WIRE_CAN_KEY : 0) |
						 (cases[i].encrypt ? WIRE_CAN_ENCRYPT : 0));
			assert_int_equal(t.target, 3);
			assert_int_equal(t.n, 2);
			assert_ptr_equal(t.session, rig->id);
		}
		end();
	}
}

/* ---- the plans ---- */

static struct {
	int result;
	size_t n;
} verdict;

static int judge(void *arg, const struct wire_plan *own, const struct wire_plan *peer,
		 struct wire_range *ranges, size_t *n, struct err *why)
{
	assert_ptr_equal(arg, &play);
	assert_int_equal(own->ops, 10);
	assert_int_equal(peer->bytes, 77);
	assert_int_equal(*n, 0);
	ranges[0] = (struct wire_range){ 3, 4 };
	*n = verdict.n;
	return verdict.result < 0 ? err_set(why, verdict.result, "no room") : verdict.result;
}

TEST(test_meet_destination)
{
	static const struct {
		int verdict;
		size_t n;
		bool no_judge;
		int expected;
		uint32_t flags;
		size_t ranges;
	} cases[] = {
		{ 0, 0, false, 0, 0, 0 },
		{ 0, 0, true, 0, 0, 0 },
		{ 1, 1, false, 0, WIRE_RESUMES, 1 },
		{ 1, 0, false, 0, WIRE_RESUMES, 0 },
		/* Those of a destination that wants all are ignored. */
		{ 0, 1, false, 0, 0, 0 },
		{ -EACCES, 1, false, -EACCES, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_range ranges[4];
		struct wire_plan peer;
		size_t n = 9;

		begin(false, SESSION_PLANNING);
		free(rig->data);
		rig->data = NULL;
		rig->peer.bytes = 77;
		play.states[0] = SESSION_JUDGING;
		verdict.result = cases[i].verdict;
		verdict.n = cases[i].n;
		assert_int_equal(session_meet(rig, &plan, &peer, ranges, &n,
					      cases[i].no_judge ? NULL : judge, &play),
				 cases[i].expected);
		assert_int_equal(play.started, 1);
		assert_true(rig->has_thread);
		assert_int_equal(peer.bytes, 77);
		assert_non_null(rig->data);
		if (!cases[i].expected) {
			assert_int_equal(rig->own.flags, cases[i].flags);
			assert_int_equal(rig->n_ranges, cases[i].ranges);
			if (cases[i].ranges)
				assert_int_equal(rig->ranges[0].count, 4);
			assert_int_equal(rig->state, SESSION_OPENING);
			assert_int_equal(rig->pending, 1u << WIRE_ACCEPT);
		} else {
			assert_string_equal(session_why(rig), "no room");
			assert_int_equal(rig->last_words.status, XDD_TARGET_FAILED);
			assert_int_equal(rig->pending, 0);
		}
		rig->thread_over = true;
		end();
	}
}

TEST(test_meet_source)
{
	for (size_t n_ranges = 0; n_ranges < 3; n_ranges++) {
		struct wire_range ranges[2] = { { 0, 0 } };
		struct wire_plan peer = { 0 };
		size_t n = 9;

		begin(true, SESSION_PLANNING);
		free(rig->data);
		rig->peer.bytes = 77;
		rig->ranges = calloc(2, sizeof(*rig->ranges));
		rig->ranges[1].first = 5;
		rig->n_ranges = n_ranges;
		play.states[0] = SESSION_OPENING;
		assert_int_equal(session_meet(rig, &plan, &peer, ranges, &n, judge, &play), 0);
		assert_int_equal(n, n_ranges);
		assert_int_equal(ranges[1].first, n_ranges == 2 ? 5 : 0);
		assert_int_equal(peer.bytes, 77);
		assert_int_equal(rig->id[15], 8);
		assert_int_equal(rig->pending, 0);
		rig->thread_over = true;
		end();
	}
	/* Without a plan of the other side. */
	for (int source = 0; source < 2; source++) {
		struct wire_plan peer = { 0 };
		size_t n = 9;

		begin(source, SESSION_PLANNING);
		free(rig->data);
		rig->peer.bytes = 77;
		play.errs[0] = -EPIPE;
		assert_int_equal(session_meet(rig, &plan, &peer, NULL, &n, judge, &play), -EPIPE);
		assert_int_equal(peer.bytes, 0);
		assert_int_equal(n, 9);
		rig->thread_over = true;
		end();
	}
	/* Nor without a thread, or a random number. */
	for (int no_random = 0; no_random < 2; no_random++) {
		struct wire_plan peer;
		size_t n;

		begin(true, SESSION_NEW);
		free(rig->data);
		play.start_err = -EAGAIN;
		play.no_random = no_random;
		assert_int_equal(session_meet(rig, &plan, &peer, NULL, &n, judge, &play),
				 no_random ? -EIO : -EAGAIN);
		assert_int_equal(play.started, !no_random);
		assert_string_equal(session_why(rig),
				    no_random ? "the control thread cannot start: Input/output "
						"error" :
						"the control thread cannot start: Resource "
						"temporarily unavailable");
		assert_int_equal(play.failures, 0);
		assert_false(rig->has_thread);
		end();
	}
}

/* A control thread that does not end in time has its connection aborted. */
TEST(test_end)
{
	for (int over = 0; over < 2; over++) {
		struct wire_plan peer;
		size_t n;

		begin(true, SESSION_OPENING);
		free(rig->data);
		assert_int_equal(session_meet(rig, &plan, &peer, NULL, &n, NULL, NULL), 0);
		rig->thread_over = over;
		rig->state = SESSION_OVER;
		play.waited = 0;
		end();
		assert_int_equal(play.waited, !over);
		assert_int_equal(play.aborted, !over);
	}
	session_free(NULL);
}

/* ---- ready, passes, close ---- */

TEST(test_ready)
{
	begin(false, SESSION_OPENING);
	assert_int_equal(session_ready(rig), 0);
	assert_int_equal(rig->state, SESSION_IDLE);
	assert_int_equal(rig->pending, 1u << WIRE_READY);
	end();
	begin(true, SESSION_OPENING);
	play.states[0] = SESSION_IDLE;
	assert_int_equal(session_ready(rig), 0);
	assert_int_equal(play.waited, 1);
	assert_int_equal(rig->pending, 0);
	end();
	for (int source = 0; source < 2; source++) {
		begin(source, SESSION_OPENING);
		err_set(&rig->failed, -EPIPE, "the cause");
		assert_int_equal(session_ready(rig), -EPIPE);
		assert_int_equal(rig->state, SESSION_OPENING);
		end();
	}
}

TEST(test_begin)
{
	static const struct {
		unsigned state, next;
		int expected;
		size_t waited;
	} cases[] = {
		{ SESSION_PASS, 0, 1, 0 },
		{ SESSION_ENDING, 0, 1, 0 },
		{ SESSION_LEAVING, 0, 0, 0 },
		{ SESSION_IDLE, SESSION_PASS, 1, 1 },
		{ SESSION_IDLE, SESSION_LEAVING, 0, 1 },
		{ SESSION_IDLE, SESSION_ENDING, 1, 1 },
	};

	begin(true, SESSION_IDLE);
	session_explain(rig, "of the pass before");
	assert_int_equal(session_begin(rig, 4), 1);
	assert_int_equal(rig->pass, 4);
	assert_int_equal(rig->state, SESSION_PASS);
	assert_int_equal(rig->pending, 1u << WIRE_PASS_BEGIN);
	assert_string_equal(rig->reason, "");
	end();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(false, cases[i].state);
		play.states[0] = cases[i].next;
		assert_int_equal(session_begin(rig, 4), cases[i].expected);
		assert_int_equal(play.waited, cases[i].waited);
		assert_int_equal(rig->pending, 0);
		end();
	}
	for (int source = 0; source < 2; source++) {
		begin(source, SESSION_IDLE);
		session_explain(rig, "the reason");
		err_set(&rig->failed, -EPIPE, "the cause");
		assert_int_equal(session_begin(rig, 4), -EPIPE);
		assert_int_equal(rig->state, SESSION_IDLE);
		/* It explains the end. */
		assert_string_equal(rig->reason, "the reason");
		end();
	}
}

/* A destination ends a pass once, while it goes on. */
TEST(test_stop_pass)
{
	static const struct {
		bool source;
		enum session_state state;
		uint32_t pass;
		bool posted, posts;
	} cases[] = {
		{ false, SESSION_PASS, 4, false, true },
		{ true, SESSION_PASS, 4, false, false },
		{ false, SESSION_ENDING, 4, false, false },
		{ false, SESSION_PASS, 3, false, false },
		{ false, SESSION_PASS, 4, true, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].source, cases[i].state);
		rig->pass = 4;
		rig->stop_posted = cases[i].posted;
		session_stop_pass(rig, cases[i].pass);
		assert_int_equal(rig->pending, cases[i].posts ? 1u << WIRE_PASS_STOP : 0);
		assert_int_equal(rig->stop_posted, cases[i].posts || cases[i].posted);
		end();
	}
}

TEST(test_finish)
{
	static const struct {
		bool source;
		uint64_t own_ops, own_failed, peer_ops;
		int err, expected; /* while it waits */
		const char *error; /* that is sent with the result */
		const char *why;
	} cases[] = {
		{ true, 5, 0, 5, 0, 0, "", "" },
		{ false, 5, 0, 5, 0, 0, "", "" },
		{ false, 4, 1, 5, 0, 0, "no room", "" },
		{ true, 5, 0, 4, 0, -EBADMSG, "",
		  "pass 4 did not arrive as it was sent: the source sent 5 blocks, the destination "
		  "wrote 4" },
		{ false, 5, 0, 4, 0, -EBADMSG, "",
		  "pass 4 did not arrive as it was sent: the source sent 4 blocks, the destination "
		  "wrote 5" },
		{ true, 5, 0, 5, -EPIPE, -EPIPE, "", "the cause" },
		{ false, 5, 0, 5, -EPIPE, -EPIPE, "", "the cause" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct wire_pass own = { .ops = cases[i].own_ops,
					       .failed = cases[i].own_failed };
		const bool source = cases[i].source;
		struct wire_pass peer = { 0 };

		begin(source, SESSION_PASS);
		session_explain(rig, "no room");
		rig->peer_pass.ops = cases[i].peer_ops;
		play.states[0] = source ? SESSION_IDLE : SESSION_ENDING;
		play.errs[0] = cases[i].err;
		assert_int_equal(session_finish(rig, 4, &own, &peer), cases[i].expected);
		assert_int_equal(play.waited, 1);
		assert_string_equal(session_why(rig), cases[i].why);
		if (!cases[i].err) {
			assert_int_equal(peer.ops, cases[i].peer_ops);
			assert_int_equal(rig->own_pass.ops, cases[i].own_ops);
			assert_string_equal(rig->own_pass.error, cases[i].error);
			assert_int_equal(rig->state, SESSION_IDLE);
		}
		assert_int_equal(rig->pending, source	     ? 1u << WIRE_PASS_END :
					       !cases[i].err ? 1u << WIRE_PASS_RESULT :
							       0);
		end();
	}
	for (int source = 0; source < 2; source++) {
		const struct wire_pass own = { .ops = 5 };
		struct wire_pass peer;

		begin(source, SESSION_PASS);
		err_set(&rig->failed, -EPIPE, "the cause");
		assert_int_equal(session_finish(rig, 4, &own, &peer), -EPIPE);
		assert_int_equal(rig->pending, 0);
		assert_int_equal(play.waited, 0);
		end();
	}
}

/* The source leaves first. */
TEST(test_close)
{
	static const struct {
		bool source;
		unsigned states[2];
		int errs[2], expected;
		bool says;
	} cases[] = {
		{ true, { SESSION_OVER }, { 0 }, 0, true },
		{ false, { SESSION_LEAVING, SESSION_OVER }, { 0 }, 0, true },
		{ true, { 0 }, { -EPIPE }, -EPIPE, true },
		{ false, { 0 }, { -EPIPE }, -EPIPE, false },
		{ false, { SESSION_LEAVING, 0 }, { 0, -EPIPE }, -EPIPE, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].source, SESSION_IDLE);
		memcpy(play.states, cases[i].states, sizeof(cases[i].states));
		memcpy(play.errs, cases[i].errs, sizeof(cases[i].errs));
		assert_int_equal(session_close(rig), cases[i].expected);
		assert_int_equal(rig->pending, cases[i].says ? 1u << WIRE_BYE : 0);
		end();
	}
	begin(true, SESSION_IDLE);
	err_set(&rig->failed, -EPIPE, "the cause");
	assert_int_equal(session_close(rig), -EPIPE);
	assert_int_equal(rig->state, SESSION_IDLE);
	assert_int_equal(rig->pending, 0);
	end();
}

RUN_TESTS_IF(digest_available(&reason), NULL, NULL)
