/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peers that send what they may not: each message in each wrong state, and blocks outside of the
 * plan. The destination says what is wrong, and writes nothing.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "net_rig.h"
#include "session_rig.h"
#include "xdd/base/err.h"
#include "xdd/sys/clock.h"

#define TIMEOUT_NS (20 * SECOND_NS)

/* A source that the test plays. */
struct raw {
	struct connection *c;
	uint32_t number;
	uint64_t sent;
};

static const struct connection_options options = { .timeout_ns = TIMEOUT_NS };
static uint8_t body[WIRE_MAX_BODY_BYTES];
static struct wire_error answer;
static uint16_t port;

static void raw_send(struct raw *r, struct wire_header h, size_t length)
{
	h.connection = r->number;
	h.length = length;
	h.digest = digest_data(body, length);
	if (r->number == WIRE_NO_CONNECTION || h.type == WIRE_HELLO)
		h.sequence = r->sent++;
	connection_send_message(r->c, &h, NULL, body);
}

static void raw_open(struct raw *r, uint32_t number, uint8_t id)
{
	struct wire_hello hello = { .purpose = number == WIRE_NO_CONNECTION ? WIRE_CONTROL :
									      WIRE_TRANSFER };
	struct err why;

	*r = (struct raw){ .number = number };
	memset(hello.session, id, sizeof(hello.session));
	assert_int_equal(connection_open(&r->c, "127.0.0.1", port, &options, NULL, NULL,
					 clock_now_ns() + TIMEOUT_NS, &why),
			 0);
	raw_send(r, (struct wire_header){ .type = WIRE_HELLO }, wire_encode_hello(&hello, body));
}

/* The type of the next message that is not ALIVE; 0: there is none. Keeps the text of an ERROR. */
static enum wire_type raw_receive(struct raw *r)
{
	struct wire_header h = { .type = WIRE_ALIVE };
	enum wire_fault fault;

	while (h.type == WIRE_ALIVE) {
		if (connection_receive_header(r->c, NULL, 0, &h, &fault) < 0 ||
		    connection_receive(r->c, body, h.length) < 0)
			return 0;
		if (h.type == WIRE_ERROR)
			assert_int_equal(wire_decode_error(body, h.length, &answer), WIRE_OK);
	}
	return h.type;
}

/* The control connection in the states that a source can bring a destination to. */
enum stage {
	PLANNED, /* READY has come */
	IN_PASS, /* PASS_BEGIN is sent */
	AT_END,	 /* PASS_END is sent, without a block on any connection */
	STAGES,
};

static void raw_control(struct raw *r, const struct rig_copy *c, enum stage stage)
{
	struct wire_plan plan = rig_plan(c);
	struct wire_pass pass = { 0 };

	raw_open(r, WIRE_NO_CONNECTION, 7);
	assert_int_equal(raw_receive(r), WIRE_WELCOME);
	raw_send(r, (struct wire_header){ .type = WIRE_PLAN },
		 wire_encode_plan(&plan, NULL, 0, body));
	assert_int_equal(raw_receive(r), WIRE_ACCEPT);
	assert_int_equal(raw_receive(r), WIRE_READY);
	if (stage >= IN_PASS)
		raw_send(r, (struct wire_header){ .type = WIRE_PASS_BEGIN, .pass = 1 }, 0);
	if (stage >= AT_END)
		raw_send(r, (struct wire_header){ .type = WIRE_PASS_END, .pass = 1 },
			 wire_encode_pass(&pass, body));
}

static struct rig_copy visited(void (*visit)(struct rig_copy *c, uint16_t port))
{
	struct rig_copy c = rig_copy(1, 2, 10);

	c.destination.timeout_ns = TIMEOUT_NS;
	c.destination.timeout_given = true;
	c.visit = visit;
	return c;
}

static void assert_nothing_written(const struct rig_copy *c)
{
	assert_int_equal(c->written, 0);
	for (uint64_t i = 0; i < c->ops * RIG_REQ; i++)
		assert_int_equal(c->data[i], 0);
}

/* ---- the control connection ---- */

static enum stage wrong;
static char own_address[CONNECTION_PEER_SIZE];

static void send_wrong(struct rig_copy *c, uint16_t to)
{
	struct raw r;

	port = to;
	raw_control(&r, c, wrong);
	raw_send(&r, (struct wire_header){ .type = WIRE_READY }, 0);
	assert_int_equal(raw_receive(&r), WIRE_ERROR);
	memcpy(own_address, r.c->local, sizeof(own_address));
	connection_close(r.c);
}

/* Of all messages in all states test_session_control.c has the words. */
TEST(test_wrong_messages)
{
	static const char *const when[STAGES] = { "between passes", "during a pass",
						  "at the end of a pass" };

	for (wrong = PLANNED; wrong < STAGES; wrong++) {
		struct rig_copy c = visited(send_wrong);
		char text[128];

		rig_run(&c, 1);
		snprintf(text, sizeof(text), "the source at %s sent READY, which is not allowed %s",
			 own_address, when[wrong]);
		assert_string_equal(c.destination.why, text);
		assert_string_equal(answer.text, c.destination.why);
		assert_int_equal(c.destination.err, -EPROTO);
		assert_int_equal(c.destination.failed, 1);
		assert_nothing_written(&c);
		rig_free(&c);
	}
}

/* Results of a pass that are none. */
static void send_malformed(struct rig_copy *c, uint16_t to)
{
	struct wire_pass pass = { 0 };
	struct raw r;
	size_t length;

	port = to;
	raw_control(&r, c, IN_PASS);
	length = wire_encode_pass(&pass, body);
	memset(body, 0xff, length);
	raw_send(&r, (struct wire_header){ .type = WIRE_PASS_END, .pass = 1 }, length);
	assert_int_equal(raw_receive(&r), WIRE_ERROR);
	connection_close(r.c);
}

TEST(test_malformed)
{
	struct rig_copy c = visited(send_malformed);

	rig_run(&c, 1);
	assert_non_null(strstr(c.destination.why, " sent a message whose contents are malformed"));
	assert_string_equal(answer.text, c.destination.why);
	assert_int_equal(c.destination.err, -EBADMSG);
	assert_nothing_written(&c);
	rig_free(&c);
}

static struct wire_header odd;
static uint64_t odd_sequence;

static void send_odd(struct rig_copy *c, uint16_t to)
{
	struct raw r;

	port = to;
	raw_control(&r, c, PLANNED);
	r.sent += odd_sequence;
	raw_send(&r, odd, 0);
	assert_int_equal(raw_receive(&r), WIRE_ERROR);
	connection_close(r.c);
}

static void assert_odd(struct wire_header h, uint64_t sequence, const char *text)
{
	struct rig_copy c = visited(send_odd);

	odd = h;
	odd_sequence = sequence;
	rig_run(&c, 1);
	assert_non_null(strstr(c.destination.why, text));
	assert_int_equal(c.destination.begun, 0);
	assert_nothing_written(&c);
	rig_free(&c);
}

TEST(test_odd_headers)
{
	const struct wire_header begin = { .type = WIRE_PASS_BEGIN, .pass = 1 };
	struct wire_header h = begin;

	h.target = 1;
	assert_odd(h, 0, "a message with a field out of range");
}

/* ---- blocks ---- */

static struct wire_header block;
static size_t block_bytes;
static bool block_twice;

static void send_block(struct rig_copy *c, uint16_t to)
{
	struct raw control, data;

	port = to;
	raw_control(&control, c, IN_PASS);
	raw_open(&data, 0, 7);
	assert_int_equal(raw_receive(&data), WIRE_WELCOME);
	memset(body, 0, sizeof(body));
	raw_send(&data, block, block_bytes);
	if (block_twice)
		raw_send(&data, block, block_bytes);
	assert_int_equal(raw_receive(&control), WIRE_ERROR);
	connection_close(data.c);
	connection_close(control.c);
}

static void assert_refused(struct wire_header h, size_t bytes, const char *text)
{
	struct rig_copy c = visited(send_block);

	block = h;
	block_bytes = bytes;
	rig_run(&c, 1);
	if (!strstr(c.destination.why, text))
		fail_msg("\"%s\" has no \"%s\"", c.destination.why, text);
	assert_string_equal(answer.text, c.destination.why);
	assert_nothing_written(&c);
	rig_free(&c);
}

#define OUTSIDE "which is not within its plan"
#define DATA(...)                                         \
	(struct wire_header)                              \
	{                                                 \
		.type = WIRE_DATA, .pass = 1, __VA_ARGS__ \
	}

/* Of all limits test_session_link.c has the neighbours. */
TEST(test_blocks)
{
	const uint64_t end = 10 * RIG_REQ;

	assert_refused(DATA(.sequence = 10), RIG_REQ, "sent DATA 10 of pass 1 on connection 0");
	assert_refused(DATA(.offset = end - RIG_REQ + 1), RIG_REQ, OUTSIDE);
	assert_refused(DATA(.offset = INT64_MAX - RIG_REQ), RIG_REQ, OUTSIDE);
	assert_refused(DATA(), RIG_REQ + 1, "a message with a length out of range");
}

TEST(test_block_twice)
{
	struct rig_copy c = visited(send_block);

	block = DATA(.sequence = 4, .offset = 4 * RIG_REQ);
	block_bytes = RIG_REQ;
	block_twice = true;
	rig_run(&c, 1);
	block_twice = false;
	assert_non_null(strstr(c.destination.why, "sent DATA 4 of pass 1 on connection 0, "));
	rig_free(&c);
}

/* PASS_LAST has the number of blocks in its own pass. */
static void send_last_of_both(struct rig_copy *c, uint16_t to)
{
	struct wire_pass pass = { 0 };
	struct raw control, data;

	port = to;
	raw_control(&control, c, IN_PASS);
	raw_open(&data, 0, 7);
	assert_int_equal(raw_receive(&data), WIRE_WELCOME);
	raw_send(&data, (struct wire_header){ .type = WIRE_SKIP, .pass = 1 }, 0);
	raw_send(&data, (struct wire_header){ .type = WIRE_PASS_LAST, .pass = 1, .sequence = 1 },
		 0);
	raw_send(&control, (struct wire_header){ .type = WIRE_PASS_END, .pass = 1 },
		 wire_encode_pass(&pass, body));
	assert_int_equal(raw_receive(&control), WIRE_PASS_RESULT);
	raw_send(&control, (struct wire_header){ .type = WIRE_PASS_BEGIN, .pass = 2 }, 0);
	raw_send(&data, (struct wire_header){ .type = WIRE_PASS_LAST, .pass = 2, .sequence = 1 },
		 0);
	assert_int_equal(raw_receive(&control), WIRE_ERROR);
	connection_close(data.c);
	connection_close(control.c);
}

TEST(test_last_of_pass)
{
	struct rig_copy c = visited(send_last_of_both);

	rig_run(&c, 1);
	assert_non_null(strstr(c.destination.why, "sent PASS_LAST 1 of pass 2 on connection 0, "));
	rig_free(&c);
}

/* ---- results ---- */

static struct wire_pass claim;

static void send_claim(struct rig_copy *c, uint16_t to)
{
	struct raw control, data;

	port = to;
	raw_control(&control, c, IN_PASS);
	raw_open(&data, 0, 7);
	assert_int_equal(raw_receive(&data), WIRE_WELCOME);
	raw_send(&data, (struct wire_header){ .type = WIRE_PASS_LAST, .pass = 1 }, 0);
	raw_send(&control, (struct wire_header){ .type = WIRE_PASS_END, .pass = 1 },
		 wire_encode_pass(&claim, body));
	while (raw_receive(&control) == WIRE_PASS_RESULT)
		continue;
	connection_close(data.c);
	connection_close(control.c);
}

static void assert_claim(struct wire_pass pass, const char *text)
{
	struct rig_copy c = visited(send_claim);

	claim = pass;
	rig_run(&c, 1);
	assert_string_equal(c.destination.why, text);
	assert_string_equal(answer.text, text);
	assert_int_equal(c.destination.err, -EBADMSG);
	rig_free(&c);
}

/* A pass without blocks, of which the source says otherwise. */
TEST(test_claim)
{
	assert_claim((struct wire_pass){ .ops = 1 },
		     "pass 1 did not arrive as it was sent: the source sent 1 blocks, the "
		     "destination wrote 0");
}

/* ---- strangers ---- */

static void assert_answer(struct raw *r, const char *text)
{
	assert_int_equal(raw_receive(r), WIRE_ERROR);
	assert_string_equal(answer.text, text);
	connection_close(r->c);
}

static void intrude(struct rig_copy *c, uint16_t to)
{
	struct raw control, other;

	port = to;
	raw_control(&control, c, PLANNED);
	raw_open(&other, WIRE_NO_CONNECTION, 8);
	assert_answer(&other, "the destination is busy with another source");
	raw_open(&other, 0, 8);
	assert_answer(&other, "the destination knows no such session");
	raw_open(&other, 1, 7);
	assert_answer(&other, "the destination expects no such data connection");
	raw_open(&other, 0, 7);
	assert_int_equal(raw_receive(&other), WIRE_WELCOME);
	connection_close(other.c);
	raw_open(&other, 0, 7);
	assert_answer(&other, "the destination has this data connection already");
	raw_send(&control, (struct wire_header){ .type = WIRE_BYE }, 0);
	assert_int_equal(raw_receive(&control), WIRE_BYE);
	connection_close(control.c);
}

TEST(test_intruders)
{
	struct rig_copy c = visited(intrude);

	rig_run(&c, 1);
	assert_string_equal(c.destination.why, "");
	assert_int_equal(c.destination.err, 0);
	assert_int_equal(c.refused, 4);
	assert_nothing_written(&c);
	rig_free(&c);
}

/* The ERROR on the control connection says that the session has ended: what comes later is late. */
static void come_late(struct rig_copy *c, uint16_t to)
{
	struct raw control, other;

	port = to;
	raw_control(&control, c, PLANNED);
	raw_send(&control, (struct wire_header){ .type = WIRE_WELCOME }, 0);
	assert_int_equal(raw_receive(&control), WIRE_ERROR);
	raw_open(&other, 0, 7);
	assert_answer(&other, "the copy has ended on the destination");
	raw_open(&other, 0, 8);
	assert_answer(&other, "the copy has ended on the destination");
	connection_close(control.c);
}

TEST(test_late_connections_of_the_source)
{
	struct rig_copy c = visited(come_late);

	rig_run(&c, 1);
	assert_true(c.destination.err < 0);
	/* The one of another session. */
	assert_int_equal(c.refused, 1);
	assert_nothing_written(&c);
	rig_free(&c);
}

/* A peer that has sent no plan can be anything, and ends nothing. */
static void waste_time(struct rig_copy *c, uint16_t to)
{
	struct raw r;

	port = to;
	raw_open(&r, WIRE_NO_CONNECTION, 1);
	assert_int_equal(raw_receive(&r), WIRE_WELCOME);
	connection_close(r.c);

	raw_open(&r, WIRE_NO_CONNECTION, 2);
	while (raw_receive(&r) != WIRE_WELCOME) {
		connection_close(r.c);
		raw_open(&r, WIRE_NO_CONNECTION, 2);
	}
	raw_send(&r, (struct wire_header){ .type = WIRE_BYE }, 0);
	assert_int_equal(raw_receive(&r), 0);
	connection_close(r.c);

	raw_open(&r, WIRE_NO_CONNECTION, 3);
	while (raw_receive(&r) != WIRE_WELCOME) {
		connection_close(r.c);
		raw_open(&r, WIRE_NO_CONNECTION, 3);
	}
	/* Silence, for LISTENER_STRANGER_NS. */
	assert_int_equal(raw_receive(&r), 0);
	connection_close(r.c);
	intrude(c, to);
}

TEST(test_no_plan)
{
	struct rig_copy c = visited(waste_time);

	rig_run(&c, 1);
	assert_string_equal(c.destination.why, "");
	assert_int_equal(c.destination.err, 0);
	rig_free(&c);
}

RUN_TESTS_IF(digest_available(&reason), NULL, NULL)
