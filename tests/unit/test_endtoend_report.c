/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares, the verdict and the lines of end-to-end copies: src/report/endtoend.c
 * and endtoend.c.
 */
#include "unit.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/jsonout.h"
#include "xdd/base/memory.h"
#include "xdd/report/endtoend.h"

#define MS 1000000ull

/* A side with 4 QThreads in a pass of one second: times in ms of each. */
static struct endtoend_side side_of(uint64_t storage, uint64_t checking, uint64_t network,
				    uint64_t waiting)
{
	return (struct endtoend_side){
		.known = true,
		.ops = 100,
		.bytes = 409600,
		.digest = "000102030405060708090a0b0c0d0e0f",
		.elapsed_ns = 1000 * MS,
		.storage_ns = 4 * storage * MS,
		.checking_ns = 4 * checking * MS,
		.network_ns = 4 * network * MS,
		.waiting_ns = 4 * waiting * MS,
	};
}

static struct endtoend_result *result_of(struct endtoend_side source,
					 struct endtoend_side destination)
{
	struct endtoend_result *r = endtoend_result_new(2);

	assert_non_null(r);
	r->target = 3;
	r->pass = 1;
	r->role = E2E_SOURCE;
	r->complete = true;
	memcpy(r->session, "ffeeddccbbaa99887766554433221100", ENDTOEND_HEX_SIZE);
	r->peer_host = "tape";
	r->peer_name = "/data/copy";
	r->source = source;
	r->destination = destination;
	r->n_qthreads = 4;
	r->info[0] = (struct connection_info){ .local = "10.0.0.1:5000",
					       .peer = "10.0.0.2:40010",
					       .congestion = "cubic",
					       .rtt_ns = 2 * MS,
					       .retransmits = 5 };
	r->info[1] = (struct connection_info){ .congestion = "cubic",
					       .rtt_ns = 1 * MS,
					       .retransmits = 2 };
	return r;
}

static enum copy_limit limit_of(struct endtoend_side source, struct endtoend_side destination)
{
	struct endtoend_result *r = result_of(source, destination);
	struct copy_verdict v = endtoend_verdict(r);

	free(r);
	assert_int_equal(v.other, COPY_LIMIT_UNKNOWN);
	return v.limit;
}

/* The shares reach the judge, which has a test of its own. */
TEST(test_verdict)
{
	struct endtoend_side serial = side_of(240, 1, 9, 750), side;

	assert_int_equal(limit_of(side_of(900, 20, 60, 0), side_of(50, 20, 30, 890)),
			 COPY_LIMIT_SOURCE_STORAGE);
	assert_int_equal(limit_of(side_of(30, 20, 940, 0), side_of(50, 20, 30, 890)),
			 COPY_LIMIT_NETWORK);
	assert_int_equal(limit_of(side_of(30, 20, 940, 0), side_of(900, 20, 60, 10)),
			 COPY_LIMIT_DESTINATION_STORAGE);
	/* One write at a time, by -ordering serial: its QThreads wait for that one. */
	serial.lanes = 1;
	assert_int_equal(limit_of(side_of(30, 20, 940, 0), serial), COPY_LIMIT_DESTINATION_STORAGE);
	side = side_of(30, 20, 60, 0);
	side.pace_ns = 4 * 880 * MS;
	assert_int_equal(limit_of(side, side_of(50, 20, 30, 890)), COPY_LIMIT_SOURCE_PACE);
	side = side_of(300, 20, 660, 0);
	side.cpu_ns = 4 * 50 * MS;
	side.cpu_wait_ns = 4 * 900 * MS;
	assert_int_equal(limit_of(side, side_of(50, 20, 30, 890)), COPY_LIMIT_SOURCE_PROCESSOR);
	/* The source has filled all buffers in a tenth of the time. */
	side = side_of(30, 20, 50, 0);
	side.elapsed_ns = 100 * MS;
	assert_int_equal(limit_of(side, side_of(900, 20, 60, 10)), COPY_LIMIT_DESTINATION_STORAGE);
}

TEST(test_no_verdict)
{
	struct endtoend_side side = side_of(500, 0, 500, 0), unknown = side;

	unknown.known = false;
	assert_int_equal(limit_of(unknown, side), COPY_LIMIT_UNKNOWN);
	assert_int_equal(limit_of(side, unknown), COPY_LIMIT_UNKNOWN);
	unknown = side;
	unknown.elapsed_ns = 0;
	assert_int_equal(limit_of(side, unknown), COPY_LIMIT_UNKNOWN);
}

/* Operations in flight overlap: their times are a share of what all lanes could do. */
TEST(test_shares)
{
	struct endtoend_side side = side_of(8000, 100, 300, 200);
	struct copy_shares shares;

	side.lanes = 64;
	shares = endtoend_shares(&side, 4);
	assert_true(shares.storage == 0.5);
	assert_true(shares.checking == 0.1);
	assert_true(shares.network == 0.3);
	assert_true(shares.waiting == 0.2);
	side.lanes = 0;
	assert_true(endtoend_shares(&side, 4).storage == 1);
}

/* Figures of a side are added, each; its lanes and its digest are not. */
TEST(test_sum_of_each)
{
	struct endtoend_side one = { .known = true, .lanes = 3 };
	struct endtoend_result *sum = NULL, *r;
	uint64_t *const first = &one.elapsed_ns, *const end = &one.retransmits + 1;

	one.ops = 10;
	one.bytes = 20;
	one.failed = 30;
	for (uint64_t *n = first; n < end; n++)
		*n = (uint64_t)(40 + (n - first));
	r = result_of(one, one);
	assert_int_equal(endtoend_result_add(&sum, r), 0);
	assert_int_equal(endtoend_result_add(&sum, r), 0);
	one.ops *= 2;
	one.bytes *= 2;
	one.failed *= 2;
	for (uint64_t *n = first; n < end; n++)
		*n *= 2;
	assert_memory_equal(&sum->source, &one, sizeof(one));
	assert_memory_equal(&sum->destination, &one, sizeof(one));
	free(r);
	free(sum);
}

TEST(test_sums)
{
	struct endtoend_side half = side_of(100, 200, 300, 400);
	struct endtoend_result *sum = NULL, *r = result_of(half, half);

	r->resumed_bytes = 7;
	assert_int_equal(endtoend_result_add(&sum, r), 0);
	r->pass = 2;
	r->info[0].retransmits = 50;
	r->destination.digest[0] = 'f';
	assert_int_equal(endtoend_result_add(&sum, r), 0);
	assert_int_equal(sum->pass, 0);
	assert_int_equal(sum->passes, 2);
	assert_int_equal(sum->source.ops, 200);
	assert_int_equal(sum->destination.bytes, 819200);
	assert_int_equal(sum->source.elapsed_ns, 2000 * MS);
	assert_int_equal(sum->source.network_ns, 2400 * MS);
	assert_int_equal(sum->resumed_bytes, 14);
	assert_true(sum->complete);
	/* The connections lived through both passes: they have counted already. */
	assert_int_equal(sum->info[0].retransmits, 50);
	assert_int_equal(sum->destination.digest[0], 'f');
	r->complete = false;
	r->source.known = false;
	assert_int_equal(endtoend_result_add(&sum, r), 0);
	assert_false(sum->complete);
	assert_false(sum->source.known);
	assert_true(sum->destination.known);
	free(r);
	free(sum);
}

static char *lines_of(const struct endtoend_result *r)
{
	struct memstream m;

	memstream_open(&m);
	assert_non_null(m.f);
	endtoend_write(m.f, r);
	assert_int_equal(memstream_close(&m), 0);
	return m.text;
}

TEST(test_lines)
{
	struct endtoend_result *sum = NULL,
			       *r = result_of(side_of(30, 20, 940, 0), side_of(50, 25, 30, 890));
	char *text;

	r->source.cpu_ns = 4 * 40 * MS;
	r->source.cpu_wait_ns = 4 * 20 * MS;
	r->destination.pace_ns = 4 * 10 * MS;
	r->monitor = (struct endtoend_monitor){ true, 12, 1500000000, 13, 4000000 };
	assert_int_equal(endtoend_result_add(&sum, r), 0);
	text = lines_of(sum);
	assert_string_equal(
		text,
		"End-to-end, target 3, limited by the network: source reads 3.0 %, checks 2.0 %, "
		"sends 94.0 %, waits 0.0 % (processor 6.0 %); destination waits 89.0 %, receives "
		"3.0 %, checks 2.5 %, writes 5.0 %, paces 1.0 % (processor 0.0 %)\n"
		"End-to-end, target 3, both sides confirm 100 operations, 409600 bytes, digest "
		"000102030405060708090a0b0c0d0e0f\n"
		"End-to-end, target 3, 2 connections, retransmissions 7, round trip 1.000 to 2.000 "
		"ms, congestion control cubic\n"
		"End-to-end, target 3, restart monitor: 12 flushes in 1.500 s, 13 records in 0.004 "
		"s\n");
	free(text);
	free(sum);
	free(r);
}

/* A peer that ended early leaves its part out. */
TEST(test_lines_of_one_side)
{
	struct endtoend_result *r = result_of(side_of(30, 20, 940, 0), side_of(0, 0, 0, 0));
	char *text;

	r->pass = 0;
	r->passes = 2;
	r->complete = false;
	r->destination.known = false;
	r->source.failed = 3;
	r->n_info = 0;
	text = lines_of(r);
	assert_string_equal(
		text,
		"End-to-end, target 3, source reads 3.0 %, checks 2.0 %, sends 94.0 %, waits 0.0 "
		"% (processor 0.0 %); the destination did not report its times\n"
		"End-to-end, target 3, not confirmed by the other side: 100 operations, 409600 "
		"bytes, 3 failed on the source, 0 on the destination, digest of the last pass "
		"000102030405060708090a0b0c0d0e0f\n");
	free(text);
	r->source.known = false;
	r->destination = side_of(50, 25, 30, 890);
	text = lines_of(r);
	assert_non_null(strstr(text,
			       "target 3, the source did not report its times; destination waits "
			       "89.0 %, receives 3.0 %, checks 2.5 %, writes 5.0 % (processor 0.0 "
			       "%)\n"));
	free(text);
	free(r);
}

static json_int_t number(const json_t *o, const char *key)
{
	assert_true(json_is_integer(json_object_get(o, key)));
	return json_integer_value(json_object_get(o, key));
}

TEST(test_json)
{
	struct endtoend_result *r = result_of(side_of(30, 20, 940, 0), side_of(50, 25, 30, 890));
	json_t *o, *side;

	r->destination.known = false;
	o = jsonout_endtoend_value(r);
	assert_non_null(o);
	assert_string_equal(json_string_value(json_object_get(o, "session")),
			    "ffeeddccbbaa99887766554433221100");
	assert_string_equal(json_string_value(json_object_get(o, "peer_host")), "tape");
	assert_true(json_is_true(json_object_get(o, "confirmed")));
	assert_true(json_is_null(json_object_get(o, "bound")));
	assert_true(json_is_null(json_object_get(o, "bound_between")));
	assert_true(json_is_null(json_object_get(o, "destination")));
	side = json_object_get(o, "source");
	assert_int_equal(number(side, "network_ns"), 3760 * MS);
	assert_true(json_real_value(json_object_get(json_object_get(side, "shares"), "network")) ==
		    0.94);
	assert_int_equal(json_array_size(json_object_get(o, "connections")), 2);
	assert_int_equal(
		number(json_array_get(json_object_get(o, "connections"), 1), "retransmits"), 2);
	json_decref(o);
	free(r);
}

RUN_TESTS(NULL, NULL)
