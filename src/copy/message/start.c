/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages before the two sides of a copy are connected, START, STARTED, MEET and MET, and those
 * of both roles, FAILURE and COUNTS. Called by ssh.c, attempt.c, server.c and the channel threads;
 * doc/wire.md has the layouts.
 */
#include <stdlib.h>

#include "copy/message/body.h"

/* Bits of the settings, in the order of doc/wire.md. */
enum {
	RECURSIVE = 1 << 0,
	EVERYTHING = 1 << 1,
	VERIFY = 1 << 2,
	COMPARE_CONTENTS = 1 << 3,
	DRY_RUN = 1 << 4,
	IN_PLACE = 1 << 5,
	RESUME = 1 << 6,
	LIST = 1 << 7,
	LIST_NUL = 1 << 8,
	ORDERED_SOURCE = 1 << 9,
	ORDERED_DESTINATION = 1 << 10,
	DIRECT_SOURCE = 1 << 11,
	DIRECT_DESTINATION = 1 << 12,
	ENCRYPT = 1 << 13,
	FREE_PORTS = 1 << 14,
	PORT_GIVEN = 1 << 15,
	FORCE = 1 << 16,
	STAMPS = 1 << 17,
	STAMPS_BINARY = 1 << 18,
	INTO = 1 << 19,
	NEW_NAME = 1 << 20,
	TRUST = 1 << 21,
	ALL_SETTINGS = (1 << 22) - 1,
};

static uint32_t settings_bits(const struct copy_settings *s)
{
	return (s->recursive ? RECURSIVE : 0) | (s->everything ? EVERYTHING : 0) |
	       (s->verify ? VERIFY : 0) | (s->compare_contents ? COMPARE_CONTENTS : 0) |
	       (s->dry_run ? DRY_RUN : 0) | (s->in_place ? IN_PLACE : 0) |
	       (s->resume ? RESUME : 0) | (s->list ? LIST : 0) | (s->list_nul ? LIST_NUL : 0) |
	       (s->ordered_source ? ORDERED_SOURCE : 0) |
	       (s->ordered_destination ? ORDERED_DESTINATION : 0) |
	       (s->direct_source ? DIRECT_SOURCE : 0) |
	       (s->direct_destination ? DIRECT_DESTINATION : 0) | (s->encrypt ? ENCRYPT : 0) |
	       (s->free_ports ? FREE_PORTS : 0) | (s->port_given ? PORT_GIVEN : 0) |
	       (s->force ? FORCE : 0) | (s->stamps ? STAMPS : 0) |
	       (s->stamps_binary ? STAMPS_BINARY : 0) | (s->into ? INTO : 0) |
	       (s->new_name ? NEW_NAME : 0) | (s->trust ? TRUST : 0);
}

static void set_bits(struct copy_settings *s, uint32_t bits)
{
	s->recursive = bits & RECURSIVE;
	s->everything = bits & EVERYTHING;
	s->verify = bits & VERIFY;
	s->compare_contents = bits & COMPARE_CONTENTS;
	s->dry_run = bits & DRY_RUN;
	s->in_place = bits & IN_PLACE;
	s->resume = bits & RESUME;
	s->list = bits & LIST;
	s->list_nul = bits & LIST_NUL;
	s->ordered_source = bits & ORDERED_SOURCE;
	s->ordered_destination = bits & ORDERED_DESTINATION;
	s->direct_source = bits & DIRECT_SOURCE;
	s->direct_destination = bits & DIRECT_DESTINATION;
	s->encrypt = bits & ENCRYPT;
	s->free_ports = bits & FREE_PORTS;
	s->port_given = bits & PORT_GIVEN;
	s->force = bits & FORCE;
	s->stamps = bits & STAMPS;
	s->stamps_binary = bits & STAMPS_BINARY;
	s->into = bits & INTO;
	s->new_name = bits & NEW_NAME;
	s->trust = bits & TRUST;
}

static void put_settings(struct encoder *e, const struct copy_settings *s)
{
	enc_put(e, 2, s->port);
	enc_put(e, 4, settings_bits(s));
	enc_put(e, 4, s->connections);
	enc_put(e, 4, s->block_bytes);
	enc_put(e, 8, s->size_bytes);
	enc_put(e, 8, s->timeout_ns);
	enc_put(e, 8, s->begun_s);
}

size_t copy_encode_start(const struct copy_start *b, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);

	if (b->n_sources > COPY_MAX_SOURCES)
		return 0;
	enc_bytes(&e, b->key, sizeof(b->key));
	enc_bytes(&e, b->session, sizeof(b->session));
	enc_put(&e, 1, b->role);
	enc_put(&e, 1, b->peer_is_here);
	put_settings(&e, &b->settings);
	body_put_whole(&e, b->destination, COPY_MAX_PATH_BYTES);
	body_put_string(&e, b->own_host, text_bytes(b->own_host, COPY_MAX_HOST_BYTES));
	body_put_string(&e, b->peer_host, text_bytes(b->peer_host, COPY_MAX_HOST_BYTES));
	enc_put(&e, 2, b->n_sources);
	for (size_t i = 0; i < b->n_sources; i++)
		body_put_whole(&e, b->sources[i], COPY_MAX_PATH_BYTES);
	return enc_end(&e);
}

static void get_settings(struct decoder *d, struct copy_settings *s)
{
	s->port = (uint16_t)dec_get(d, 2);
	set_bits(s, dec_flags(d, 4, ALL_SETTINGS));
	s->connections = (uint32_t)dec_at_most(d, 4, COPY_MAX_CONNECTIONS);
	s->block_bytes = (uint32_t)dec_at_most(d, 4, COPY_MAX_BLOCK_BYTES);
	s->size_bytes = dec_get(d, 8);
	s->timeout_ns = dec_amount(d);
	s->begun_s = dec_at_most(d, 8, COPY_MAX_BEGUN_S);
	if (!s->connections || s->block_bytes < COPY_MIN_BLOCK_BYTES || !s->timeout_ns ||
	    (s->size_bytes > (uint64_t)INT64_MAX && s->size_bytes != UINT64_MAX))
		d->bad = true;
}

static void get_sources(struct decoder *d, struct copy_start *b)
{
	size_t n = dec_get(d, 2);

	/* Each takes bytes of the body, so the number is bounded by what has arrived. */
	if (d->bad || n > COPY_MAX_SOURCES || (!n && b->role == COPY_SOURCE)) {
		d->bad = true;
		return;
	}
	b->sources = calloc(n + 1, sizeof(*b->sources));
	if (!b->sources) {
		d->bad = true;
		return;
	}
	b->n_sources = n;
	for (size_t i = 0; i < n; i++)
		b->sources[i] = body_get_string(d, COPY_MAX_PATH_BYTES);
}

enum wire_fault copy_decode_start(const uint8_t *body, size_t length, struct copy_start *b)
{
	struct decoder d = dec_begin(body, length);
	unsigned role;

	memset(b, 0, sizeof(*b));
	dec_bytes(&d, b->key, sizeof(b->key));
	dec_bytes(&d, b->session, sizeof(b->session));
	role = (unsigned)dec_get(&d, 1);
	if (role != COPY_SOURCE && role != COPY_DESTINATION)
		d.bad = true;
	b->role = (enum copy_role)role;
	b->peer_is_here = body_get_bool(&d);
	get_settings(&d, &b->settings);
	b->destination = body_get_string(&d, COPY_MAX_PATH_BYTES);
	b->own_host = body_get_string(&d, COPY_MAX_HOST_BYTES);
	b->peer_host = body_get_string(&d, COPY_MAX_HOST_BYTES);
	get_sources(&d, b);
	if (body_end(&d) == WIRE_OK)
		return WIRE_OK;
	copy_start_free(b);
	return WIRE_BAD_BODY;
}

void copy_start_free(struct copy_start *b)
{
	free(b->sources);
	b->sources = NULL;
	b->n_sources = 0;
}

size_t copy_encode_started(const struct copy_started *b, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);

	body_put_shown(&e, b->software, sizeof(b->software));
	body_put_shown(&e, b->host, sizeof(b->host));
	body_put_shown(&e, b->ssh_address, sizeof(b->ssh_address));
	enc_put(&e, 1, b->is_directory);
	return enc_end(&e);
}

enum wire_fault copy_decode_started(const uint8_t *body, size_t length, struct copy_started *b)
{
	struct decoder d = dec_begin(body, length);

	body_get_shown(&d, b->software, sizeof(b->software));
	body_get_shown(&d, b->host, sizeof(b->host));
	body_get_shown(&d, b->ssh_address, sizeof(b->ssh_address));
	b->is_directory = body_get_bool(&d);
	return body_end(&d);
}

size_t copy_encode_meet(const struct copy_meet *b, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);

	if (b->n_addresses > COPY_MAX_ADDRESSES)
		return 0;
	enc_put(&e, 1, b->how);
	enc_put(&e, 1, b->ok);
	enc_put(&e, 2, b->port);
	enc_put(&e, 2, b->n_addresses);
	body_put_shown(&e, b->text, sizeof(b->text));
	for (size_t i = 0; i < b->n_addresses; i++)
		body_put_shown(&e, b->addresses[i], sizeof(b->addresses[i]));
	return enc_end(&e);
}

enum wire_fault copy_decode_meet(const uint8_t *body, size_t length, struct copy_meet *b)
{
	struct decoder d = dec_begin(body, length);

	b->how = (enum copy_meet_how)dec_get(&d, 1);
	if (b->how < COPY_LISTEN || b->how > COPY_INSIDE)
		d.bad = true;
	b->ok = body_get_bool(&d);
	b->port = (uint16_t)dec_get(&d, 2);
	b->n_addresses = dec_at_most(&d, 2, COPY_MAX_ADDRESSES);
	body_get_shown(&d, b->text, sizeof(b->text));
	for (size_t i = 0; i < b->n_addresses; i++) {
		body_get_shown(&d, b->addresses[i], sizeof(b->addresses[i]));
		if (!*b->addresses[i])
			d.bad = true;
	}
	return body_end(&d);
}

#define N_COUNTS (sizeof(struct copy_counts) / sizeof(uint64_t))

void copy_failure_path(struct copy_failure *f, const char *path)
{
	static const char cut[] = "...";
	size_t n = strlen(path);

	if (n < sizeof(f->path)) {
		memcpy(f->path, path, n + 1);
		return;
	}
	memcpy(f->path, cut, sizeof(cut) - 1);
	path += n - (sizeof(f->path) - sizeof(cut));
	memcpy(f->path + sizeof(cut) - 1, path, sizeof(f->path) - sizeof(cut) + 1);
}

size_t copy_encode_failure(const struct copy_failure *b, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);

	enc_put(&e, 8, b->id);
	enc_put(&e, 4, b->status);
	enc_put(&e, 1, b->differs);
	body_put_string(&e, b->path, text_bytes(b->path, sizeof(b->path)));
	body_put_shown(&e, b->text, sizeof(b->text));
	return enc_end(&e);
}

enum wire_fault copy_decode_failure(const uint8_t *body, size_t length, struct copy_failure *b)
{
	struct decoder d = dec_begin(body, length);
	const char *path;

	b->id = dec_at_most(&d, 8, COPY_MAX_ID);
	b->status = body_get_status(&d);
	b->differs = body_get_bool(&d);
	path = body_get_string(&d, sizeof(b->path));
	memcpy(b->path, path, strlen(path) + 1);
	body_get_shown(&d, b->text, sizeof(b->text));
	return body_end(&d);
}

/* The struct has numbers only; this is their order on the wire. */
static void list_counts(const struct copy_counts *b, uint64_t out[N_COUNTS])
{
	const uint64_t fields[] = {
		b->offered_files,  b->offered_bytes, b->offered_dirs, b->offered_links,
		b->walk_done,	   b->done_files,    b->done_bytes,   b->skipped_files,
		b->skipped_bytes,  b->dirs,	     b->links,	      b->failed,
		b->warnings,	   b->moved_bytes,   b->storage_ns,   b->network_ns,
		b->waiting_ns,	   b->checking_ns,   b->flush_ns,     b->resumed_bytes,
		b->owners_not_set, b->status,	     b->cpu_ns,	      b->cpu_wait_ns,
		b->quota_ns,	   b->transit_ns,
	};

	_Static_assert(sizeof(fields) == sizeof(struct copy_counts), "all fields");
	memcpy(out, fields, sizeof(fields));
}

size_t copy_encode_counts(const struct copy_counts *b, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);
	uint64_t fields[N_COUNTS];

	list_counts(b, fields);
	for (size_t i = 0; i < N_COUNTS; i++)
		enc_put(&e, 8, fields[i]);
	return enc_end(&e);
}

enum wire_fault copy_decode_counts(const uint8_t *body, size_t length, struct copy_counts *b)
{
	struct decoder d = dec_begin(body, length);

	b->offered_files = dec_amount(&d);
	b->offered_bytes = dec_amount(&d);
	b->offered_dirs = dec_amount(&d);
	b->offered_links = dec_amount(&d);
	b->walk_done = dec_at_most(&d, 8, 1);
	b->done_files = dec_amount(&d);
	b->done_bytes = dec_amount(&d);
	b->skipped_files = dec_amount(&d);
	b->skipped_bytes = dec_amount(&d);
	b->dirs = dec_amount(&d);
	b->links = dec_amount(&d);
	b->failed = dec_amount(&d);
	b->warnings = dec_amount(&d);
	b->moved_bytes = dec_amount(&d);
	b->storage_ns = dec_amount(&d);
	b->network_ns = dec_amount(&d);
	b->waiting_ns = dec_amount(&d);
	b->checking_ns = dec_amount(&d);
	b->flush_ns = dec_amount(&d);
	b->resumed_bytes = dec_amount(&d);
	b->owners_not_set = dec_amount(&d);
	b->status = dec_at_most(&d, 8, UINT32_MAX);
	b->cpu_ns = dec_amount(&d);
	b->cpu_wait_ns = dec_amount(&d);
	b->quota_ns = dec_amount(&d);
	b->transit_ns = dec_amount(&d);
	if (!status_is_known((uint32_t)b->status))
		d.bad = true;
	return body_end(&d);
}
