/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control thread of a session: each message in each state, its fields, the words of each
 * error, signs of life, and attempts to connect: src/net/session_control.c, in the thread of the
 * test, with its connection and its clock. test_session*.c have both sides.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/session_internal.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define MOST 32
#define TIMEOUT_NS (20 * NS_PER_SEC)

static struct {
	uint64_t now_ns;

	/* messages of this side */
	struct wire_header sent[MOST];
	size_t n_sent;
	int send_err;
	char words[WIRE_MAX_TEXT_BYTES]; /* of an ERROR */

	/* the message that arrives */
	struct wire_header in;
	uint8_t body[4096];
	int header_err, body_err;
	enum wire_fault fault;

	/* waits: the results, of which the last repeats; a 0 lasts to the end of the wait */
	int waits[4];
	size_t n_waits, waited;
	uint64_t wait_ns[MOST];
	int wake_fd;

	/* connections */
	int open_errs[4]; /* the last repeats */
	size_t n_opens, opened;
	uint64_t until_ns, opened_ns[MOST];
	unsigned closed, aborted;

	unsigned failures, stops;
} play;

static char the_connection;

#define CONNECTION ((struct connection *)&the_connection)

static uint64_t fake_now_ns(void)
{
	return play.now_ns;
}

static const char *fake_peer(const struct connection *c)
{
	assert_ptr_equal(c, &the_connection);
	return "there:1";
}

static int fake_send_message(struct connection *c, const struct wire_header *h,
			     struct wire_key *key, const void *body)
{
	struct wire_error e;

	assert_ptr_equal(c, &the_connection);
	assert_null(key);
	assert_true(digest_equal(h->digest, digest_data(body, h->length)));
	if (play.send_err)
		return play.send_err;
	assert_true(play.n_sent < MOST);
	play.sent[play.n_sent++] = *h;
	if (h->type == WIRE_ERROR && wire_decode_error(body, h->length, &e) == WIRE_OK)
		snprintf(play.words, sizeof(play.words), "%s", e.text);
	return 0;
}

static int fake_receive_header(struct connection *c, struct wire_key *key, uint64_t max_data,
			       struct wire_header *h, enum wire_fault *fault)
{
	assert_ptr_equal(c, &the_connection);
	assert_null(key);
	assert_int_equal(max_data, 0);
	*h = play.in;
	*fault = play.fault;
	return play.header_err;
}

static int fake_receive(struct connection *c, void *buf, size_t size)
{
	assert_ptr_equal(c, &the_connection);
	assert_true(size <= sizeof(play.body));
	memcpy(buf, play.body, size);
	return play.body_err;
}

static int fake_wait(struct connection *c, int wake_fd, uint64_t timeout_ns)
{
	const size_t last = play.n_waits ? play.n_waits - 1 : 0;
	const int result = play.waits[play.waited < last ? play.waited : last];

	assert_ptr_equal(c, &the_connection);
	assert_true(play.waited < MOST);
	play.wait_ns[play.waited++] = timeout_ns;
	play.wake_fd = wake_fd;
	if (!result)
		play.now_ns += timeout_ns;
	return result;
}

static int fake_open(struct connection **c, const char *host, uint16_t port,
		     const struct connection_options *options, const struct net_key *key,
		     struct stop *stop, uint64_t until_ns, struct err *why)
{
	const size_t last = play.n_opens ? play.n_opens - 1 : 0;
	const int err = play.open_errs[play.opened < last ? play.opened : last];

	assert_string_equal(host, "there");
	assert_int_equal(port, 7);
	assert_int_equal(options->timeout_ns, TIMEOUT_NS);
	assert_null(key);
	assert_non_null(stop);
	assert_true(play.opened < MOST);
	play.until_ns = until_ns;
	play.opened_ns[play.opened++] = play.now_ns;
	if (!err)
		*c = CONNECTION;
	return err ? err_set(why, err, "cannot open it") : 0;
}

static void fake_close(struct connection *c)
{
	assert_ptr_equal(c, &the_connection);
	play.closed++;
}

static void fake_abort(struct connection *c)
{
	assert_ptr_equal(c, &the_connection);
	play.aborted++;
}

/* It lasts to its end. */
static int fake_sleep(struct session *s, uint64_t until_ns)
{
	(void)s;
	if (until_ns == UINT64_MAX)
		fail_msg("nothing ends this wait");
	play.now_ns = until_ns;
	return -ETIMEDOUT;
}

#define clock_now_ns fake_now_ns
#define clock_kernel_ns fake_now_ns
#define connection_peer fake_peer
#define connection_send_message fake_send_message
#define connection_receive_header fake_receive_header
#define connection_receive fake_receive
#define connection_wait fake_wait
#define connection_open fake_open
#define connection_close fake_close
#define connection_abort fake_abort
#define session_sleep fake_sleep
#include "../../src/net/session_control.c"
#undef connection_open
#undef session_sleep

/* ---- a session ---- */

static struct stop run_stop;
static struct endtoend_address address;
static struct endtoend_options options;
static struct session *s;

static void on_failed(void *arg)
{
	assert_ptr_equal(arg, &play);
	play.failures++;
}

static void on_stop_pass(void *arg, uint32_t pass)
{
	assert_ptr_equal(arg, &play);
	assert_int_equal(pass, 1);
	play.stops++;
}

static size_t on_prove(void *arg, const struct wire_range *ranges, size_t n, uint8_t *out)
{
	(void)arg, (void)ranges, (void)n, (void)out;
	return 0;
}

static struct wire_plan plan(void)
{
	return (struct wire_plan){
		.req_bytes = 4096,
		.bytes = 40960,
		.ops = 10,
		.passes = 2,
		.connections = 1,
		.final_bytes = WIRE_NO_SIZE,
		.host = "host",
		.name = "name",
	};
}

static void begin(bool source, enum session_state state)
{
	struct session_params params = {
		.target = 3,
		.options = &options,
		.stop = &run_stop,
		.failed = on_failed,
		.stop_pass = on_stop_pass,
		.prove = on_prove,
		.arg = &play,
	};

	memset(&play, 0, sizeof(play));
	play.now_ns = 100 * NS_PER_SEC;
	stop_init(&run_stop);
	address = (struct endtoend_address){ "there", 7, 1 };
	options = (struct endtoend_options){ .role = source ? E2E_SOURCE : E2E_DESTINATION,
					     .addresses = &address,
					     .n_addresses = 1,
					     .timeout_ns = TIMEOUT_NS };
	s = session_new(&params);
	assert_non_null(s);
	s->own = plan();
	s->state = state;
	s->control = CONNECTION;
	s->pass = 1;
	memset(s->id, 9, sizeof(s->id));
	s->sent_ns = s->heard_ns = play.now_ns;
	s->silence_ns = TIMEOUT_NS;
	s->meet_ns = play.now_ns + TIMEOUT_NS;
}

static void end(void)
{
	s->control = NULL;
	session_free(s);
	stop_destroy(&run_stop);
}

/* Why it failed, and what the peer is told. */
static void assert_failed(int err, const char *why, bool told)
{
	assert_int_equal(session_error(s), err);
	assert_string_equal(session_why(s), why);
	assert_string_equal(s->last_words.text, told ? why : "");
	assert_int_equal(play.failures, 1);
}

/* A body that the type may have, in play.body. Returns its length. */
static size_t put_body(enum wire_type type)
{
	const struct wire_error error = { .status = XDD_IO_ERROR, .text = "no room" };
	const struct wire_pass pass = { .ops = 4 };
	const struct wire_plan own = plan();
	struct wire_hello hello = { .purpose = WIRE_CONTROL };

	memset(hello.session, 9, sizeof(hello.session));
	switch (type) {
	case WIRE_HELLO:
	case WIRE_WELCOME:
		return wire_encode_hello(&hello, play.body);
	case WIRE_PLAN:
	case WIRE_ACCEPT:
		return wire_encode_plan(&own, NULL, 0, play.body);
	case WIRE_PASS_END:
	case WIRE_PASS_RESULT:
		return wire_encode_pass(&pass, play.body);
	case WIRE_ERROR:
		return wire_encode_error(&error, play.body);
	case WIRE_PROVE:
		return wire_encode_prove(&(struct wire_range){ 0, 1 }, 1, play.body);
	default:
		return 0;
	}
}

static struct wire_header header(enum wire_type type)
{
	const bool in_pass = type >= WIRE_PASS_BEGIN && type <= WIRE_PASS_RESULT;

	return (struct wire_header){
		.type = type,
		.target = 3,
		.connection = WIRE_NO_CONNECTION,
		.pass = type == WIRE_PASS_BEGIN ? 2 : in_pass,
		.length = put_body(type),
	};
}

static int act_on(enum wire_type type)
{
	const struct wire_header h = header(type);

	s->proof.unanswered = 1;
	return act(s, &h, play.body);
}

/* ---- messages in states ---- */

#define ANY (SESSION_OVER * 2 - 1)

/* The states in which a side may get a message, and the one after it; 0: as it was. */
static const struct {
	enum wire_type type;
	unsigned source, destination, next_source, next_destination;
} allowed[] = {
	{ WIRE_WELCOME, SESSION_GREETING, 0, SESSION_PLANNING, 0 },
	{ WIRE_PLAN, 0, SESSION_PLANNING, 0, SESSION_JUDGING },
	{ WIRE_PROVE, SESSION_PLANNING, 0, 0, 0 },
	{ WIRE_SUMS, 0, SESSION_JUDGING, 0, 0 },
	{ WIRE_ACCEPT, SESSION_PLANNING, 0, SESSION_OPENING, 0 },
	{ WIRE_READY, SESSION_OPENING, 0, SESSION_IDLE, 0 },
	{ WIRE_PASS_BEGIN, 0, SESSION_IDLE, 0, SESSION_PASS },
	{ WIRE_PASS_STOP, SESSION_PASS | SESSION_ENDING, 0, 0, 0 },
	{ WIRE_PASS_END, 0, SESSION_PASS, 0, SESSION_ENDING },
	{ WIRE_PASS_RESULT, SESSION_ENDING, 0, SESSION_IDLE, 0 },
	{ WIRE_BYE, SESSION_LEAVING, SESSION_IDLE, SESSION_OVER, SESSION_LEAVING },
	{ WIRE_ALIVE, ANY, ANY, 0, 0 },
};

static const char *const when[] = {
	"before the sides have met",
	"before the answer to the first message",
	"before the plans are exchanged",
	"before the plan is accepted",
	"while the destination opens its file",
	"between passes",
	"during a pass",
	"at the end of a pass",
	"after the end of the session",
};

static void check_message(bool source, enum session_state state, size_t number, enum wire_type type)
{
	unsigned may = 0, next = 0;
	char text[256];
	int r;

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (allowed[i].type == type) {
			may = source ? allowed[i].source : allowed[i].destination;
			next = source ? allowed[i].next_source : allowed[i].next_destination;
		}
	begin(source, state);
	r = act_on(type);
	if (may & state) {
		assert_int_equal(r, 0);
		assert_int_equal(s->state, next ? next : state);
		assert_int_equal(session_error(s), 0);
	} else if (!source && state == SESSION_PLANNING) {
		/* It may be a stranger. */
		assert_int_equal(r, SESSION_STRANGER_GONE);
		assert_int_equal(session_error(s), 0);
	} else if (state == SESSION_OVER) {
		assert_int_equal(r, -EPROTO);
		assert_string_equal(session_why(s), "");
	} else {
		assert_int_equal(r, -EPROTO);
		snprintf(text, sizeof(text), "the %s at there:1 sent %s, which is not allowed %s",
			 source ? "destination" : "source", wire_type_name(type), when[number]);
		assert_failed(-EPROTO, text, true);
	}
	end();
}

TEST(test_messages)
{
	for (int source = 0; source < 2; source++)
		for (size_t number = 0; number < 10; number++)
			for (enum wire_type type = WIRE_HELLO; type <= WIRE_SUMS; type++)
				if (type != WIRE_ERROR)
					check_message(source, 1u << number, number, type);
}

/* Each message changes the session. */
TEST(test_effects)
{
	begin(true, SESSION_GREETING);
	assert_int_equal(act_on(WIRE_WELCOME), 0);
	assert_int_equal(s->pending, 1u << WIRE_PLAN);
	assert_int_equal(s->peer_hello.purpose, WIRE_CONTROL);
	assert_false(s->have_key);
	end();
	begin(false, SESSION_PLANNING);
	s->silence_ns = 1;
	assert_int_equal(act_on(WIRE_PLAN), 0);
	assert_int_equal(s->silence_ns, TIMEOUT_NS);
	assert_string_equal(s->peer.host, "host");
	end();
	begin(true, SESSION_PLANNING);
	assert_int_equal(act_on(WIRE_ACCEPT), 0);
	assert_string_equal(s->peer.name, "name");
	assert_int_equal(s->n_ranges, 0);
	end();
	begin(false, SESSION_IDLE);
	s->stop_posted = true;
	assert_int_equal(act_on(WIRE_PASS_BEGIN), 0);
	assert_int_equal(s->pass, 2);
	assert_false(s->stop_posted);
	end();
	begin(false, SESSION_PASS);
	assert_int_equal(act_on(WIRE_PASS_END), 0);
	assert_int_equal(s->peer_pass.ops, 4);
	assert_int_equal(atomic_load(&s->ended_pass), 1);
	end();
	begin(true, SESSION_ENDING);
	assert_int_equal(act_on(WIRE_PASS_RESULT), 0);
	assert_int_equal(s->peer_pass.ops, 4);
	assert_int_equal(atomic_load(&s->ended_pass), 0);
	end();
	/* PASS_STOP may cross PASS_END on its way, and is no news then. */
	for (int ending = 0; ending < 2; ending++) {
		begin(true, ending ? SESSION_ENDING : SESSION_PASS);
		assert_int_equal(act_on(WIRE_PASS_STOP), 0);
		assert_int_equal(play.stops, !ending);
		s->params.stop_pass = NULL;
		assert_int_equal(act_on(WIRE_PASS_STOP), 0);
		end();
	}
}

/* Only the pass that is due may be named. */
TEST(test_passes)
{
	static const struct {
		bool source;
		enum session_state state;
		enum wire_type type;
		uint32_t pass;
		const char *why;
	} cases[] = {
		{ false, SESSION_IDLE, WIRE_PASS_BEGIN, 1,
		  "the source at there:1 sent PASS_BEGIN of pass 1 after pass 1" },
		{ false, SESSION_IDLE, WIRE_PASS_BEGIN, 3,
		  "the source at there:1 sent PASS_BEGIN of pass 3 after pass 1" },
		{ false, SESSION_PASS, WIRE_PASS_END, 0,
		  "the source at there:1 sent PASS_END of pass 0 in pass 1" },
		{ false, SESSION_PASS, WIRE_PASS_END, 2,
		  "the source at there:1 sent PASS_END of pass 2 in pass 1" },
		{ true, SESSION_ENDING, WIRE_PASS_RESULT, 2,
		  "the destination at there:1 sent PASS_RESULT of pass 2 in pass 1" },
		{ true, SESSION_PASS, WIRE_PASS_STOP, 0,
		  "the destination at there:1 sent PASS_STOP of pass 0 in pass 1" },
		{ true, SESSION_PASS, WIRE_PASS_STOP, 2,
		  "the destination at there:1 sent PASS_STOP of pass 2 in pass 1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_header h;

		begin(cases[i].source, cases[i].state);
		h = header(cases[i].type);
		h.pass = cases[i].pass;
		assert_int_equal(act(s, &h, play.body), -EPROTO);
		assert_failed(-EPROTO, cases[i].why, true);
		assert_int_equal(play.stops, 0);
		assert_int_equal(s->state, cases[i].state);
		assert_int_equal(s->peer_pass.ops, 0);
		end();
	}
}

/* Bodies that are too short, and a WELCOME to something else. */
TEST(test_malformed)
{
	static const struct {
		bool source;
		enum session_state state;
		enum wire_type type;
	} cases[] = {
		{ true, SESSION_GREETING, WIRE_WELCOME },
		{ true, SESSION_PLANNING, WIRE_ACCEPT },
		{ true, SESSION_PLANNING, WIRE_PROVE },
		{ true, SESSION_ENDING, WIRE_PASS_RESULT },
		{ false, SESSION_PASS, WIRE_PASS_END },
		{ false, SESSION_IDLE, WIRE_ERROR },
		{ true, SESSION_NEW, WIRE_ERROR },
	};
	char why[128];
	struct wire_header h;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].source, cases[i].state);
		h = header(cases[i].type);
		h.length--;
		assert_int_equal(act(s, &h, play.body), -EBADMSG);
		snprintf(why, sizeof(why),
			 "the %s at there:1 sent a message whose contents are malformed",
			 cases[i].source ? "destination" : "source");
		assert_failed(-EBADMSG, why, true);
		end();
	}
	/* A stranger. */
	begin(false, SESSION_PLANNING);
	h = header(WIRE_PLAN);
	h.length--;
	assert_int_equal(act(s, &h, play.body), SESSION_STRANGER_GONE);
	end();
	for (int i = 0; i < 2; i++) {
		begin(true, SESSION_GREETING);
		h = header(WIRE_WELCOME);
		play.body[i ? 0 : 8]++;
		assert_int_equal(act(s, &h, play.body), -EBADMSG);
		assert_int_equal(s->state, SESSION_GREETING);
		end();
	}
}

/* The ranges that a destination asks for are of the operations of the source. */
TEST(test_ranges)
{
	static const struct {
		struct wire_range range;
		uint32_t flags;
		bool fits;
	} cases[] = {
		{ { 0, 10 }, WIRE_RESUMES, true },
		{ { 9, 1 }, WIRE_RESUMES, true },
		{ { 0, 11 }, WIRE_RESUMES, false },
		{ { 10, 1 }, WIRE_RESUMES, false },
		{ { 11, 1 }, WIRE_RESUMES, false },
		{ { 0, 10 }, 0, false },
		{ { 9, INT64_MAX - 9 }, WIRE_RESUMES, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_plan peer = plan();
		struct wire_header h;

		begin(true, SESSION_PLANNING);
		h = header(WIRE_ACCEPT);
		peer.flags = cases[i].flags;
		h.length = wire_encode_plan(&peer, &cases[i].range, 1, play.body);
		assert_int_equal(act(s, &h, play.body), cases[i].fits ? 0 : -EBADMSG);
		if (cases[i].fits) {
			assert_int_equal(s->n_ranges, 1);
			assert_int_equal(s->ranges[0].first, cases[i].range.first);
		}
		end();
	}
}

/* ---- plans and results ---- */

TEST(test_plans)
{
	static const struct {
		size_t field;
		uint64_t source, destination;
		const char *why; /* NULL: they fit */
	} cases[] = {
#define OF(member) offsetof(struct wire_plan, member)
		{ OF(bytes), 5, 5, NULL },
		{ OF(bytes), WIRE_NO_SIZE, 5, NULL },
		{ OF(bytes), 5, WIRE_NO_SIZE, NULL },
		{ OF(ops), WIRE_NO_SIZE, 5, NULL },
		{ OF(ops), 5, WIRE_NO_SIZE, NULL },
		{ OF(bytes), 5, 6,
		  "the source copies 5 bytes per pass, the destination expects 6: give both the "
		  "same amount, or the destination none" },
		{ OF(ops), 6, 5,
		  "the source copies 6 requests per pass, the destination expects 5: give both the "
		  "same amount, or the destination none" },
		{ OF(req_bytes), 5, 6,
		  "the source sends requests of 5 bytes, the destination expects 6: give both the "
		  "same -reqsize and -blocksize" },
		{ OF(passes), 5, 6,
		  "the number of passes is 5 on the source and 6 on the destination: give both the "
		  "same -passes" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_plan source = plan(), destination = plan();
		struct err why = { 0 };

		memcpy((char *)&source + cases[i].field, &cases[i].source, 8);
		memcpy((char *)&destination + cases[i].field, &cases[i].destination, 8);
		assert_int_equal(session_plans_fit(&source, &destination, &why), !cases[i].why);
		assert_string_equal(why.text, cases[i].why ? cases[i].why : "");
		assert_int_equal(why.no, cases[i].why ? -EINVAL : 0);
	}
	/* Each side says so, whichever it is. */
	for (int source = 0; source < 2; source++) {
		begin(source, SESSION_PLANNING);
		s->own.connections = 2;
		assert_int_equal(act_on(source ? WIRE_ACCEPT : WIRE_PLAN), -EINVAL);
		assert_failed(-EINVAL,
			      source ? "the number of data connections is 2 on the source and 1 on "
				       "the destination: give both the same ports, or the same "
				       "-queuedepth" :
				       "the number of data connections is 1 on the source and 2 on "
				       "the destination: give both the same ports, or the same "
				       "-queuedepth",
			      true);
		end();
	}
}

TEST(test_results)
{
	static const struct {
		struct wire_pass source, destination;
		const char *why;
	} cases[] = {
		{ { .ops = 5, .bytes = 9 }, { .ops = 5, .bytes = 9 }, NULL },
		/* A destination that could not write some of them says so itself. */
		{ { .ops = 5, .bytes = 9 }, { .ops = 3, .failed = 2 }, NULL },
		{ { .ops = 5 },
		  { .ops = 3, .failed = 1 },
		  "the source sent 5 blocks, the destination wrote 3" },
		{ { .ops = 5 },
		  { .ops = 3, .failed = 3 },
		  "the source sent 5 blocks, the destination wrote 3" },
		{ { .bytes = 5 },
		  { .bytes = 6 },
		  "the source sent 5 bytes, the destination wrote 6" },
		{ { .digest = { .low = 1 } },
		  { .digest = { .high = 2 } },
		  "the source sent data with the digest 00000000000000000000000000000001, the "
		  "destination wrote 00000000000000020000000000000000" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err why = { 0 };

		assert_int_equal(session_results_fit(&cases[i].source, &cases[i].destination, &why),
				 !cases[i].why);
		assert_string_equal(why.text, cases[i].why ? cases[i].why : "");
		assert_int_equal(why.no, cases[i].why ? -EBADMSG : 0);
	}
}

/* ---- errors of the connection ---- */

/* The words for each error; the peer is not told what it knows. */
TEST(test_lost)
{
	static const struct {
		int err, expected;
		const char *why; /* %s: the peer's name */
		bool told;
	} cases[] = {
		{ -ETIMEDOUT, -ETIMEDOUT,
		  "the connection to the %1$s at there:1 was lost: no sign of life for 20 s",
		  true },
		{ -EAGAIN, -ETIMEDOUT,
		  "the connection to the %1$s at there:1 was lost: no sign of life for 20 s",
		  true },
		{ -ECONNRESET, -ECONNRESET,
		  "the connection to the %1$s at there:1 was closed by the %1$s before the end",
		  false },
		{ -EBADMSG, -EBADMSG, "the %1$s at there:1 sent data with a wrong checksum", true },
		{ -EPIPE, -EPIPE, "the connection to the %1$s at there:1 was lost: Broken pipe",
		  true },
		{ -EHOSTUNREACH, -EHOSTUNREACH,
		  "the connection to the %1$s at there:1 was lost: No route to host", true },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const bool source = i % 2;
		char why[256];

		begin(source, SESSION_IDLE);
		assert_int_equal(session_lost(s, cases[i / 2].err, WIRE_BAD_DATA),
				 cases[i / 2].expected);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(why, sizeof(why), cases[i / 2].why, source ? "destination" : "source");
#pragma GCC diagnostic pop
		assert_failed(cases[i / 2].expected, why, cases[i / 2].told);
		/* The first cause is kept. */
		assert_int_equal(session_lost(s, -ENOMEM, WIRE_OK), cases[i / 2].expected);
		assert_failed(cases[i / 2].expected, why, cases[i / 2].told);
		end();
	}
}

/*
 * A source without an answer tries again while time is left; a destination forgets a peer that has
 * sent no plan.
 */
TEST(test_forgotten)
{
	static const struct {
		bool source;
		enum session_state state;
		int err;
		uint64_t left_ns; /* to the last attempt of the source */
		int expected;
	} cases[] = {
		{ false, SESSION_PLANNING, -ECONNRESET, 0, SESSION_STRANGER_GONE },
		{ false, SESSION_PLANNING, -ETIMEDOUT, 0, SESSION_STRANGER_GONE },
		{ false, SESSION_JUDGING, -ECONNRESET, 0, -ECONNRESET },
		{ false, SESSION_GREETING, -ECONNRESET, NS_PER_SEC, -ECONNRESET },
		{ true, SESSION_GREETING, -ECONNRESET, SESSION_PAUSE_NS + 1, SESSION_RETRY },
		{ true, SESSION_GREETING, -EPIPE, SESSION_PAUSE_NS + 1, SESSION_RETRY },
		{ true, SESSION_GREETING, -ETIMEDOUT, SESSION_PAUSE_NS + 1, -ETIMEDOUT },
		{ true, SESSION_GREETING, -ECONNRESET, SESSION_PAUSE_NS, -ECONNRESET },
		{ true, SESSION_PLANNING, -ECONNRESET, NS_PER_SEC, -ECONNRESET },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const bool stopped = i % 2;
		const int expected = cases[i / 2].expected;

		begin(cases[i / 2].source, cases[i / 2].state);
		s->meet_ns = play.now_ns + cases[i / 2].left_ns;
		s->stopped = stopped;
		assert_int_equal(session_lost(s, cases[i / 2].err, WIRE_OK),
				 stopped ? -ECANCELED : expected);
		assert_int_equal(play.failures, expected < 0 && !stopped);
		end();
	}
}

TEST(test_error_of_peer)
{
	static const struct {
		bool source;
		enum session_state state;
		const char *text;
		int expected;
	} cases[] = {
		{ true, SESSION_GREETING, "no room", -EREMOTEIO },
		{ true, SESSION_GREETING, SESSION_BUSY, SESSION_RETRY },
		{ true, SESSION_PLANNING, SESSION_BUSY, -EREMOTEIO },
		{ false, SESSION_PLANNING, "no room", SESSION_STRANGER_GONE },
		{ false, SESSION_PASS, "no room", -EREMOTEIO },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_error e = { .status = XDD_IO_ERROR };
		struct wire_header h;

		begin(cases[i].source, cases[i].state);
		snprintf(e.text, sizeof(e.text), "%s", cases[i].text);
		h = header(WIRE_ERROR);
		h.length = wire_encode_error(&e, play.body);
		assert_int_equal(act(s, &h, play.body), cases[i].expected);
		if (cases[i].expected < 0)
			assert_failed(-EREMOTEIO, cases[i].text, false);
		else
			assert_int_equal(session_error(s), 0);
		end();
	}
}

/* ---- receiving and sending ---- */

TEST(test_receive)
{
	static const char field[] =
		"the source at there:1 sent a message with a field out of range";
	static const struct {
		uint32_t target, connection;
		uint64_t sequence;
		int header_err, body_err;
		const char *why; /* NULL: it is taken */
	} cases[] = {
		{ 3, WIRE_NO_CONNECTION, 5, 0, 0, NULL },
		{ 2, WIRE_NO_CONNECTION, 5, 0, 0, field },
		{ 4, WIRE_NO_CONNECTION, 5, 0, 0, field },
		{ 3, 0, 5, 0, 0, field },
		{ 3, WIRE_NO_CONNECTION, 4, 0, 0, field },
		{ 3, WIRE_NO_CONNECTION, 6, 0, 0, field },
		{ 3, WIRE_NO_CONNECTION, 5, -EBADMSG, 0,
		  "the source at there:1 sent a header with a wrong checksum" },
		{ 3, WIRE_NO_CONNECTION, 5, 0, -ECONNRESET,
		  "the connection to the source at there:1 was closed by the source before the end" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(false, SESSION_PASS);
		s->received = 5;
		play.in = header(WIRE_PASS_END);
		play.in.digest = digest_data(play.body, play.in.length);
		play.in.target = cases[i].target;
		play.in.connection = cases[i].connection;
		play.in.sequence = cases[i].sequence;
		play.header_err = cases[i].header_err;
		play.fault = cases[i].header_err ? WIRE_BAD_CHECKSUM : WIRE_OK;
		play.body_err = cases[i].body_err;
		play.now_ns += 7;
		assert_int_equal(session_receive_message(s) == 0, !cases[i].why);
		if (cases[i].why)
			assert_string_equal(session_why(s), cases[i].why);
		assert_int_equal(s->received, cases[i].why ? 5 : 6);
		assert_int_equal(s->heard_ns, cases[i].why ? play.now_ns - 7 : play.now_ns);
		end();
	}
	/* A body that is not what the header says, and one that is too long. */
	begin(false, SESSION_PASS);
	play.in = header(WIRE_PASS_END);
	play.in.digest = (struct digest){ .low = 1 };
	assert_int_equal(session_receive_message(s), -EBADMSG);
	assert_failed(-EBADMSG, "the source at there:1 sent data with a wrong checksum", true);
	end();
	begin(false, SESSION_PASS);
	play.in = header(WIRE_PASS_END);
	play.in.length = WIRE_MAX_BODY_BYTES + 1;
	assert_int_equal(session_receive_message(s), -EBADMSG);
	assert_failed(-EBADMSG, field, true);
	end();
}

/* The session sends posted messages by type; messages about a pass carry its number. */
TEST(test_send)
{
	static const struct {
		enum wire_type type;
		uint32_t pass;
	} order[] = {
		{ WIRE_PLAN, 0 },	 { WIRE_ACCEPT, 0 },	{ WIRE_READY, 0 },
		{ WIRE_PASS_BEGIN, 5 },	 { WIRE_PASS_STOP, 5 }, { WIRE_PASS_END, 5 },
		{ WIRE_PASS_RESULT, 5 }, { WIRE_BYE, 0 },	{ WIRE_PROVE, 0 },
		{ WIRE_SUMS, 0 },
	};
	const size_t n = sizeof(order) / sizeof(order[0]);
	uint8_t body[4096];

	for (int source = 0; source < 2; source++) {
		begin(source, SESSION_LEAVING);
		s->sent = 3;
		s->pass = 5;
		s->own_pass.ops = 4;
		for (size_t i = 0; i < n; i++)
			s->pending |= 1u << order[i].type;
		play.now_ns++;
		assert_int_equal(send_posted(s), 0);
		assert_int_equal(play.n_sent, n);
		for (size_t i = 0; i < n; i++) {
			const struct wire_header *h = &play.sent[i];

			assert_int_equal(h->type, order[i].type);
			assert_int_equal(h->pass, order[i].pass);
			assert_int_equal(h->target, 3);
			assert_int_equal(h->connection, WIRE_NO_CONNECTION);
			assert_int_equal(h->sequence, 3 + i);
			assert_int_equal(h->offset, 0);
			if (h->type == WIRE_PLAN || h->type == WIRE_ACCEPT)
				assert_int_equal(h->length,
						 wire_encode_plan(&s->own, NULL, 0, body));
			else if (h->type == WIRE_PASS_END || h->type == WIRE_PASS_RESULT)
				assert_int_equal(h->length, wire_encode_pass(&s->own_pass, body));
			else
				assert_int_equal(h->length, 0);
		}
		assert_int_equal(s->pending, 0);
		assert_int_equal(s->sent_ns, play.now_ns);
		/* The last word is the destination's. */
		assert_int_equal(s->state, source ? SESSION_LEAVING : SESSION_OVER);
		end();
	}
	/* Of one that has ended, nothing. */
	begin(true, SESSION_IDLE);
	s->pending = 1u << WIRE_BYE;
	s->stopped = true;
	assert_int_equal(send_posted(s), 0);
	assert_int_equal(play.n_sent, 0);
	end();
	begin(true, SESSION_IDLE);
	s->pending = 1u << WIRE_BYE;
	play.send_err = -ECONNRESET;
	assert_int_equal(send_posted(s), -ECONNRESET);
	assert_int_equal(s->sent, 0);
	assert_int_equal(s->pending, 1u << WIRE_BYE);
	end();
}

/* ---- signs of life ---- */

/* A step sends one after SESSION_ALIVE_NS, and waits for the next one or for the end of silence. */
TEST(test_alive)
{
	const uint64_t alive = SESSION_ALIVE_NS;
	const struct {
		uint64_t sent_ago, heard_ago; /* ns */
		int waits;
		unsigned sent;
		uint64_t wait_ns;
		int expected;
	} cases[] = {
		{ 0, 0, 0, 0, alive, 0 },
		{ alive - 1, 0, 0, 0, 1, 0 },
		{ alive, 0, 0, 1, alive, 0 },
		{ 0, TIMEOUT_NS - 1, 0, 0, 1, 0 },
		{ 0, TIMEOUT_NS, 0, 0, 0, -ETIMEDOUT },
		{ 0, TIMEOUT_NS + 5, 0, 0, 0, -ETIMEDOUT },
		/* A message in the socket counts first. */
		{ 0, TIMEOUT_NS, 1, 0, 0, 0 },
		{ 0, 0, -ECONNRESET, 0, alive, -ECONNRESET },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(true, SESSION_IDLE);
		s->sent_ns = play.now_ns - cases[i].sent_ago;
		s->heard_ns = play.now_ns - cases[i].heard_ago;
		play.waits[0] = cases[i].waits;
		play.in = header(WIRE_ALIVE);
		assert_int_equal(s->alive_ns, alive);
		assert_int_equal(session_control_step(s), cases[i].expected);
		assert_int_equal(play.n_sent, cases[i].sent);
		if (cases[i].sent)
			assert_int_equal(play.sent[0].type, WIRE_ALIVE);
		assert_int_equal(play.waited, 1);
		assert_int_equal(play.wait_ns[0], cases[i].wait_ns);
		assert_int_equal(play.wake_fd, s->wake_fd);
		end();
	}
	/* Nothing is waited for once it is over; a sign of life that cannot be sent ends it. */
	begin(true, SESSION_OVER);
	assert_int_equal(session_control_step(s), 0);
	assert_int_equal(play.waited, 0);
	end();
	begin(true, SESSION_IDLE);
	s->sent_ns -= alive;
	play.send_err = -EHOSTUNREACH;
	assert_int_equal(session_control_step(s), -EHOSTUNREACH);
	assert_int_equal(play.waited, 0);
	end();
}

/* ---- the connection ---- */

TEST(test_connect)
{
	begin(true, SESSION_NEW);
	s->sent = s->received = 5;
	s->silence_ns = s->heard_ns = s->sent_ns = 1;
	s->control = NULL;
	assert_int_equal(connect_control(s), 0);
	assert_int_equal(play.until_ns, s->meet_ns);
	assert_ptr_equal(s->control, CONNECTION);
	assert_int_equal(s->state, SESSION_GREETING);
	assert_int_equal(play.sent[0].type, WIRE_HELLO);
	assert_int_equal(play.sent[0].sequence, 0);
	assert_int_equal(play.sent[0].pass, 0);
	assert_int_equal(s->received, 0);
	assert_int_equal(s->silence_ns, TIMEOUT_NS);
	assert_int_equal(s->heard_ns, play.now_ns);
	assert_int_equal(s->sent_ns, play.now_ns);
	end();
	begin(true, SESSION_NEW);
	play.open_errs[0] = -EHOSTUNREACH;
	assert_int_equal(connect_control(s), -EHOSTUNREACH);
	assert_failed(-EHOSTUNREACH, "cannot open it", false);
	end();
}

/* A destination waits for its source, without limit where no option has one. */
TEST(test_accept)
{
	begin(false, SESSION_NEW);
	s->received = s->sent = 9;
	s->heard_ns = s->silence_ns = 0;
	assert_int_equal(accept_control(s), 0);
	assert_int_equal(s->state, SESSION_PLANNING);
	assert_int_equal(s->received, 1);
	assert_int_equal(s->sent, 1);
	assert_int_equal(s->heard_ns, play.now_ns);
	/* Until its plan has come. */
	assert_int_equal(s->silence_ns, LISTENER_STRANGER_NS);
	assert_int_equal(play.sent[0].type, WIRE_WELCOME);
	end();
	begin(false, SESSION_NEW);
	s->control = NULL;
	options.timeout_given = true;
	assert_int_equal(accept_control(s), -ETIMEDOUT);
	assert_failed(-ETIMEDOUT, "no source has connected for 20 s (-e2e timeout)", false);
	assert_int_equal(play.now_ns, 120 * NS_PER_SEC);
	end();
	begin(false, SESSION_NEW);
	s->stopped = true;
	assert_int_equal(accept_control(s), -ECANCELED);
	assert_int_equal(play.n_sent, 0);
	end();
	/* Flags that differ. */
	begin(false, SESSION_NEW);
	s->peer_hello.flags = WIRE_CAN_KEY;
	assert_int_equal(accept_control(s), -EINVAL);
	assert_int_equal(play.n_sent, 0);
	end();
}

/* The last message, and the time that the peer has to read it and to close. */
TEST(test_last_words)
{
	static const struct {
		bool source, stopped, words;
		int send_err, waits[3], body_err;
		size_t n_waits, sent, waited;
	} cases[] = {
		/* The end of a session: the source closes first. */
		{ true, false, false, 0, { 1 }, 0, 1, 0, 0 },
		{ false, false, false, 0, { 1 }, -ECONNRESET, 1, 0, 1 },
		{ false, false, false, 0, { 0 }, 0, 1, 0, 1 },
		/* An early one. */
		{ true, true, true, 0, { 0 }, 0, 1, 1, 1 },
		{ true, true, true, 0, { 1, 1, 0 }, 0, 3, 1, 3 },
		{ true, true, true, 0, { 1 }, -ECONNRESET, 1, 1, 1 },
		{ true, true, true, 0, { -ECONNRESET }, 0, 1, 1, 1 },
		{ true, true, true, -EPIPE, { 0 }, 0, 1, 0, 0 },
		/* The peer has said why. */
		{ true, true, false, 0, { 0 }, 0, 1, 0, 0 },
		{ false, true, false, 0, { 0 }, 0, 1, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].source, SESSION_IDLE);
		s->stopped = cases[i].stopped;
		s->last_words.status = XDD_CANCELED;
		if (cases[i].words)
			snprintf(s->last_words.text, sizeof(s->last_words.text), "good bye");
		play.send_err = cases[i].send_err;
		memcpy(play.waits, cases[i].waits, sizeof(cases[i].waits));
		play.n_waits = cases[i].n_waits;
		play.body_err = cases[i].body_err;
		last_words(s);
		assert_int_equal(play.n_sent, cases[i].sent);
		assert_string_equal(play.words, cases[i].sent ? "good bye" : "");
		assert_int_equal(play.waited, cases[i].waited);
		for (size_t k = 0; k < play.waited; k++) {
			assert_int_equal(play.wait_ns[k], SESSION_LINGER_NS);
			assert_int_equal(play.wake_fd, -1);
		}
		assert_int_equal(play.aborted, 1);
		end();
	}
}

/* The whole thread: a source tries again every SESSION_PAUSE_NS, to the end of its time. */
TEST(test_attempts)
{
	begin(true, SESSION_NEW);
	s->control = NULL;
	s->timeout_ns = NS_PER_SEC;
	play.waits[0] = 1;
	play.header_err = -ECONNRESET;
	assert_null(session_control(s));
	assert_true(s->thread_over);
	/* At 0, 250, 500 and 750 ms: after that one no time is left. */
	assert_int_equal(play.opened, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(play.opened_ns[i], 100 * NS_PER_SEC + i * SESSION_PAUSE_NS);
	assert_int_equal(play.until_ns, 101 * NS_PER_SEC);
	assert_int_equal(play.closed, 3);
	assert_int_equal(play.aborted, 1);
	assert_failed(-ECONNRESET,
		      "the connection to the destination at there:1 was closed by the destination "
		      "before the end",
		      false);
	end();
	/* A run that stops ends the attempts. */
	begin(true, SESSION_NEW);
	s->control = NULL;
	s->stopped = true;
	play.open_errs[0] = -ECANCELED;
	assert_null(session_control(s));
	assert_int_equal(play.opened, 1);
	assert_int_equal(play.aborted, 0);
	end();
}

RUN_TESTS_IF(digest_available(&reason), NULL, NULL)
