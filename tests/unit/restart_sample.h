/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A restart record, its text, and what is decoded from it, for unit tests.
 */
#ifndef RESTART_SAMPLE_H
#define RESTART_SAMPLE_H

#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/err.h"
#include "xdd/net/restart_file.h"

#define REQUEST 4096u
#define OPS 100u
#define BYTES (OPS * REQUEST - 96)

static struct restart_record sample, other;
static struct err why;

static inline void make_sample(struct restart_record *r)
{
	restart_record_free(r);
	restart_record_init(r);
	for (unsigned i = 0; i < WIRE_SESSION_BYTES; i++)
		r->run[i] = (uint8_t)(i * 17);
	strcpy(r->time, "2026-11-22 21:58:26 UTC");
	strcpy(r->source_host, "alpha");
	strcpy(r->source_name, "/data/from");
	r->source_size_bytes = BYTES;
	r->source_mtime_ns = -1500000000;
	r->source_ctime_ns = -1400000000;
	r->source_device = 2049;
	r->source_inode = 77;
	strcpy(r->destination_host, "beta");
	strcpy(r->destination_name, "/data/to");
	r->destination_size_bytes = BYTES;
	r->destination_mtime_ns = 1795384706123456789;
	r->destination_birth_ns = 1795384700000000000;
	r->destination_device = 2050;
	r->destination_inode = 78;
	r->req_bytes = REQUEST;
	r->bytes = BYTES;
	r->ops = OPS;
	r->pattern = 0x123456789abcdef0;
	r->offset_bytes = 10 * REQUEST;
	extents_add(&r->durable, 0, 10);
	extents_add(&r->durable, 20, 21);
	extents_add(&r->durable, 99, 100);
	r->durable_bytes = 12 * REQUEST - 96;
	r->end_bytes = BYTES;
	r->digest = (struct digest){ 0xfedcba9876543210, 0x0011223344556677 };
}

static inline void make_complete(struct restart_record *r)
{
	make_sample(r);
	r->complete = true;
	r->offset_bytes = 0;
	extents_add(&r->durable, 0, OPS);
	r->durable_bytes = BYTES;
}

static inline int set_up(void **state)
{
	make_sample(&sample);
	restart_record_free(&other);
	restart_record_init(&other);
	err_clear(&why);
	return 0;
}

static inline int tear_down(void **state)
{
	restart_record_free(&sample);
	restart_record_free(&other);
	return 0;
}

static inline char *encode(const struct restart_record *r)
{
	size_t size;
	char *text, *copy;

	assert_int_equal(restart_record_encode(r, &text, &size), 0);
	assert_int_equal(strlen(text), size);
	copy = strdup(text);
	assert_non_null(copy);
	free(text);
	return copy;
}

/* Decode into `other`. */
static inline int decode(const char *text, size_t size)
{
	restart_record_free(&other);
	restart_record_init(&other);
	err_set(&why, 0, "(none)");
	return restart_record_decode(text, size, &other, &why);
}

static inline void assert_same(const struct restart_record *a, const struct restart_record *b)
{
	char *text = encode(a), *again = encode(b);

	assert_string_equal(text, again);
	assert_int_equal(a->durable.n, b->durable.n);
	assert_int_equal(a->durable.total, b->durable.total);
	assert_string_equal(a->source_name, b->source_name);
	assert_string_equal(a->destination_name, b->destination_name);
	assert_int_equal(a->complete, b->complete);
	free(text);
	free(again);
}

static inline void check_round_trip(const struct restart_record *r)
{
	char *text = encode(r);

	assert_int_equal(decode(text, strlen(text)), 0);
	assert_same(r, &other);
	free(text);
}

#define FIXTURE_TEST(name) TEST_SETUP_TEARDOWN(name, set_up, tear_down)

#endif
