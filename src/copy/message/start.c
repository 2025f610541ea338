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

/* Of START before its strings: key, session, role, peer, numbers of the settings. */
#define START_FIXED_BYTES (WIRE_KEY_BYTES + WIRE_SESSION_BYTES + 4 + 4 + 4 + 4 + 8 + 8 + 8)
#define MEET_FIXED_BYTES 6

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

/* Bytes of a string that must not be cut; 0: it is too long. */
static size_t whole_string_bytes(const char *s, size_t size)
{
	size_t n = string_bytes(s, size + 1);

	return n <= size ? n : 0;
}

static size_t start_bytes(const struct copy_start *b)
{
	size_t path = whole_string_bytes(b->destination, COPY_MAX_PATH_BYTES);
	size_t total = START_FIXED_BYTES + 4 * BODY_LENGTH_BYTES + path;

	if (!path || b->n_sources > COPY_MAX_SOURCES)
		return 0;
	total += string_bytes(b->own_host, COPY_MAX_HOST_BYTES);
	total += string_bytes(b->peer_host, COPY_MAX_HOST_BYTES);
	for (size_t i = 0; i < b->n_sources; i++) {
		size_t n = whole_string_bytes(b->sources[i], COPY_MAX_PATH_BYTES);

		if (!n)
			return 0;
		total += BODY_LENGTH_BYTES + n;
	}
	return total;
}

static uint8_t *put_settings(uint8_t *p, const struct copy_settings *s)
{
	p = put16(p, s->port);
	p = put32(p, settings_bits(s));
	p = put32(p, s->connections);
	p = put32(p, s->block_bytes);
	p = put64(p, s->size_bytes);
	p = put64(p, s->timeout_ns);
	return put64(p, s->begun_s);
}

size_t copy_encode_start(const struct copy_start *b, uint8_t *out, size_t room)
{
	size_t total = start_bytes(b);
	uint8_t *p = out;

	if (!total || total > room)
		return 0;
	p = put_bytes(p, b->key, sizeof(b->key));
	p = put_bytes(p, b->session, sizeof(b->session));
	p = put8(p, b->role);
	p = put8(p, b->peer_is_here);
	p = put_settings(p, &b->settings);
	p = put_string(p, b->destination, string_bytes(b->destination, COPY_MAX_PATH_BYTES));
	p = put_string(p, b->own_host, string_bytes(b->own_host, COPY_MAX_HOST_BYTES));
	p = put_string(p, b->peer_host, string_bytes(b->peer_host, COPY_MAX_HOST_BYTES));
	p = put16(p, (unsigned)b->n_sources);
	for (size_t i = 0; i < b->n_sources; i++)
		p = put_string(p, b->sources[i], strlen(b->sources[i]) + 1);
	return (size_t)(p - out);
}

static void get_settings(struct body *c, struct copy_settings *s)
{
	uint32_t bits;

	s->port = (uint16_t)body_get16(c);
	bits = body_get32(c);
	set_bits(s, bits);
	s->connections = body_get32(c);
	s->block_bytes = body_get32(c);
	s->size_bytes = body_get64(c);
	s->timeout_ns = body_get_amount(c);
	s->begun_s = body_get64(c);
	if (bits & ~(uint32_t)ALL_SETTINGS || !s->connections ||
	    s->connections > COPY_MAX_CONNECTIONS || s->block_bytes < COPY_MIN_BLOCK_BYTES ||
	    s->block_bytes > COPY_MAX_BLOCK_BYTES || !s->timeout_ns ||
	    s->begun_s > COPY_MAX_BEGUN_S ||
	    (s->size_bytes > (uint64_t)INT64_MAX && s->size_bytes != UINT64_MAX))
		c->bad = true;
}

static void get_sources(struct body *c, struct copy_start *b)
{
	size_t n = body_get16(c);

	/* Each takes bytes of the body, so the number is bounded by what has arrived. */
	if (c->bad || n > COPY_MAX_SOURCES || (!n && b->role == COPY_SOURCE)) {
		c->bad = true;
		return;
	}
	b->sources = calloc(n + 1, sizeof(*b->sources));
	if (!b->sources) {
		c->bad = true;
		return;
	}
	b->n_sources = n;
	for (size_t i = 0; i < n; i++)
		b->sources[i] = body_get_string(c, 1, COPY_MAX_PATH_BYTES);
}

enum wire_fault copy_decode_start(const uint8_t *body, size_t length, struct copy_start *b)
{
	struct body c = { body, body + length, false };
	unsigned role;

	memset(b, 0, sizeof(*b));
	body_get_bytes(&c, b->key, sizeof(b->key));
	body_get_bytes(&c, b->session, sizeof(b->session));
	role = body_get8(&c);
	if (role != COPY_SOURCE && role != COPY_DESTINATION)
		c.bad = true;
	b->role = (enum copy_role)role;
	b->peer_is_here = body_get_bool(&c);
	get_settings(&c, &b->settings);
	b->destination = body_get_string(&c, 1, COPY_MAX_PATH_BYTES);
	b->own_host = body_get_string(&c, 1, COPY_MAX_HOST_BYTES);
	b->peer_host = body_get_string(&c, 1, COPY_MAX_HOST_BYTES);
	get_sources(&c, b);
	if (body_end(&c) == WIRE_OK)
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
	size_t software = string_bytes(b->software, sizeof(b->software));
	size_t host = string_bytes(b->host, sizeof(b->host));
	size_t address = string_bytes(b->ssh_address, sizeof(b->ssh_address));
	uint8_t *p = out;

	if (3 * BODY_LENGTH_BYTES + software + host + address + 1 > room)
		return 0;
	p = put_text(p, b->software, software);
	p = put_text(p, b->host, host);
	p = put_text(p, b->ssh_address, address);
	p = put8(p, b->is_directory);
	return (size_t)(p - out);
}

enum wire_fault copy_decode_started(const uint8_t *body, size_t length, struct copy_started *b)
{
	struct body c = { body, body + length, false };

	body_get_text(&c, 1, b->software, sizeof(b->software));
	body_get_text(&c, 1, b->host, sizeof(b->host));
	body_get_text(&c, 1, b->ssh_address, sizeof(b->ssh_address));
	b->is_directory = body_get_bool(&c);
	return body_end(&c);
}

static size_t meet_bytes(const struct copy_meet *b)
{
	size_t total = MEET_FIXED_BYTES + BODY_LENGTH_BYTES;

	total += string_bytes(b->text, sizeof(b->text));
	for (size_t i = 0; i < b->n_addresses; i++)
		total += BODY_LENGTH_BYTES + string_bytes(b->addresses[i], sizeof(b->addresses[i]));
	return total;
}

size_t copy_encode_meet(const struct copy_meet *b, uint8_t *out, size_t room)
{
	uint8_t *p = out;

	if (b->n_addresses > COPY_MAX_ADDRESSES || meet_bytes(b) > room)
		return 0;
	p = put8(p, b->how);
	p = put8(p, b->ok);
	p = put16(p, b->port);
	p = put16(p, (unsigned)b->n_addresses);
	p = put_text(p, b->text, string_bytes(b->text, sizeof(b->text)));
	for (size_t i = 0; i < b->n_addresses; i++)
		p = put_text(p, b->addresses[i],
			     string_bytes(b->addresses[i], sizeof(b->addresses[i])));
	return (size_t)(p - out);
}

enum wire_fault copy_decode_meet(const uint8_t *body, size_t length, struct copy_meet *b)
{
	struct body c = { body, body + length, false };
	unsigned how = body_get8(&c);

	if (how < COPY_LISTEN || how > COPY_INSIDE)
		return WIRE_BAD_BODY;
	b->how = (enum copy_meet_how)how;
	b->ok = body_get_bool(&c);
	b->port = (uint16_t)body_get16(&c);
	b->n_addresses = body_get16(&c);
	if (b->n_addresses > COPY_MAX_ADDRESSES)
		return WIRE_BAD_BODY;
	body_get_text(&c, 1, b->text, sizeof(b->text));
	for (size_t i = 0; i < b->n_addresses; i++)
		body_get_text(&c, 2, b->addresses[i], sizeof(b->addresses[i]));
	return body_end(&c);
}

#define FAILURE_FIXED_BYTES 13 /* id 8, status 4, differs 1 */
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
	size_t path = string_bytes(b->path, sizeof(b->path));
	size_t text = string_bytes(b->text, sizeof(b->text));
	uint8_t *p = out;

	if (FAILURE_FIXED_BYTES + 2 * BODY_LENGTH_BYTES + path + text > room)
		return 0;
	p = put64(p, b->id);
	p = put32(p, b->status);
	p = put8(p, b->differs);
	p = put_string(p, b->path, path);
	return (size_t)(put_text(p, b->text, text) - out);
}

enum wire_fault copy_decode_failure(const uint8_t *body, size_t length, struct copy_failure *b)
{
	struct body c = { body, body + length, false };
	const char *path;

	b->id = body_get_amount(&c);
	b->status = body_get_status(&c);
	b->differs = body_get_bool(&c);
	if (b->id > COPY_MAX_ID)
		c.bad = true;
	path = body_get_string(&c, 1, sizeof(b->path));
	memcpy(b->path, path, strlen(path) + 1);
	body_get_text(&c, 1, b->text, sizeof(b->text));
	return body_end(&c);
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
	uint64_t fields[N_COUNTS];
	uint8_t *p = out;

	if (sizeof(fields) > room)
		return 0;
	list_counts(b, fields);
	for (size_t i = 0; i < N_COUNTS; i++)
		p = put64(p, fields[i]);
	return sizeof(fields);
}

enum wire_fault copy_decode_counts(const uint8_t *body, size_t length, struct copy_counts *b)
{
	struct body c = { body, body + length, false };

	b->offered_files = body_get_amount(&c);
	b->offered_bytes = body_get_amount(&c);
	b->offered_dirs = body_get_amount(&c);
	b->offered_links = body_get_amount(&c);
	b->walk_done = body_get_amount(&c);
	b->done_files = body_get_amount(&c);
	b->done_bytes = body_get_amount(&c);
	b->skipped_files = body_get_amount(&c);
	b->skipped_bytes = body_get_amount(&c);
	b->dirs = body_get_amount(&c);
	b->links = body_get_amount(&c);
	b->failed = body_get_amount(&c);
	b->warnings = body_get_amount(&c);
	b->moved_bytes = body_get_amount(&c);
	b->storage_ns = body_get_amount(&c);
	b->network_ns = body_get_amount(&c);
	b->waiting_ns = body_get_amount(&c);
	b->checking_ns = body_get_amount(&c);
	b->flush_ns = body_get_amount(&c);
	b->resumed_bytes = body_get_amount(&c);
	b->owners_not_set = body_get_amount(&c);
	b->status = body_get_amount(&c);
	b->cpu_ns = body_get_amount(&c);
	b->cpu_wait_ns = body_get_amount(&c);
	b->quota_ns = body_get_amount(&c);
	b->transit_ns = body_get_amount(&c);
	if (b->walk_done > 1 || b->status > UINT32_MAX || !is_status((uint32_t)b->status))
		c.bad = true;
	return body_end(&c);
}
