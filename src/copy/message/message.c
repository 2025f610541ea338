/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of a copy. Before the two sides are connected: START, STARTED, MEET and MET; of both
 * roles: FAILURE and COUNTS; about entries: an OFFER has files, directories and links, WANT and
 * RESULT answer, BUNDLE, FILE_END and SUMS bring contents. Called by all of src/copy; doc/wire.md
 * has the layouts.
 */
#include "copy/message/message.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/codec.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"

/* A string has its length in two bytes before it, with the NUL that it ends with. */

/* `n` from text_bytes(). */
static void body_put_string(struct encoder *e, const char *s, size_t n)
{
	enc_put(e, 2, n);
	enc_text(e, s, n);
}

/* A string of at most `most` bytes with its NUL, which must not be cut. */
static void body_put_whole(struct encoder *e, const char *s, size_t most)
{
	size_t n = text_bytes(s, most + 1);

	if (n > most)
		e->bad = true;
	body_put_string(e, s, n);
}

/* A string for display, cut to `size` bytes with its NUL. */
static void body_put_shown(struct encoder *e, const char *s, size_t size)
{
	size_t n = text_bytes(s, size);

	enc_put(e, 2, n);
	enc_shown(e, s, n);
}

/* A string of at most `most` bytes with its NUL. In the body; "" after a fault. */
static const char *body_get_string(struct decoder *d, size_t most)
{
	size_t n = dec_get(d, 2);

	return dec_text(d, n, 1, most);
}

/* A string for display, as a copy in `out` of `size` bytes. */
static void body_get_shown(struct decoder *d, char *out, size_t size)
{
	size_t n = dec_get(d, 2);

	dec_shown(d, n, out, size);
}

static bool body_get_bool(struct decoder *d)
{
	return dec_at_most(d, 1, 1) != 0;
}

/* An exit status of a copy, or 0. */
static uint32_t body_get_status(struct decoder *d)
{
	uint32_t status = (uint32_t)dec_get(d, 4);

	if (!status_is_known(status))
		d->bad = true;
	return status;
}

static uint64_t body_get_id(struct decoder *d)
{
	uint64_t id = dec_at_most(d, 8, COPY_MAX_ID);

	if (!id)
		d->bad = true;
	return id;
}

static enum wire_fault body_end(const struct decoder *d)
{
	return dec_end(d) ? WIRE_OK : WIRE_BAD_BODY;
}

/* The settings that are on or off, in the order of their bits (doc/wire.md). */
static const size_t bit_settings[] = {
	offsetof(struct copy_settings, recursive),
	offsetof(struct copy_settings, everything),
	offsetof(struct copy_settings, verify),
	offsetof(struct copy_settings, compare_contents),
	offsetof(struct copy_settings, dry_run),
	offsetof(struct copy_settings, in_place),
	offsetof(struct copy_settings, resume),
	offsetof(struct copy_settings, list),
	offsetof(struct copy_settings, list_nul),
	offsetof(struct copy_settings, ordered_source),
	offsetof(struct copy_settings, ordered_destination),
	offsetof(struct copy_settings, direct_source),
	offsetof(struct copy_settings, direct_destination),
	offsetof(struct copy_settings, encrypt),
	offsetof(struct copy_settings, free_ports),
	offsetof(struct copy_settings, port_given),
	offsetof(struct copy_settings, force),
	offsetof(struct copy_settings, stamps),
	offsetof(struct copy_settings, stamps_binary),
	offsetof(struct copy_settings, into),
	offsetof(struct copy_settings, new_name),
	offsetof(struct copy_settings, trust),
};

#define N_BIT_SETTINGS (sizeof(bit_settings) / sizeof(bit_settings[0]))

static uint32_t settings_bits(const struct copy_settings *s)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < N_BIT_SETTINGS; i++)
		if (*(const bool *)((const char *)s + bit_settings[i]))
			bits |= 1u << i;
	return bits;
}

static void set_bits(struct copy_settings *s, uint32_t bits)
{
	for (size_t i = 0; i < N_BIT_SETTINGS; i++)
		*(bool *)((char *)s + bit_settings[i]) = bits >> i & 1;
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
	set_bits(s, dec_flags(d, 4, (1u << N_BIT_SETTINGS) - 1));
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

#define N_COUNTS (sizeof(struct copy_counts) / sizeof(uint64_t))

size_t copy_encode_counts(const struct copy_counts *b, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);
	uint64_t fields[N_COUNTS];

	memcpy(fields, b, sizeof(fields));
	for (size_t i = 0; i < N_COUNTS; i++)
		enc_put(&e, 8, fields[i]);
	return enc_end(&e);
}

enum wire_fault copy_decode_counts(const uint8_t *body, size_t length, struct copy_counts *b)
{
	struct decoder d = dec_begin(body, length);
	uint64_t fields[N_COUNTS];

	for (size_t i = 0; i < N_COUNTS; i++)
		fields[i] = dec_amount(&d);
	memcpy(b, fields, sizeof(fields));
	if (b->walk_done > 1 || b->status > UINT32_MAX || !status_is_known((uint32_t)b->status))
		d.bad = true;
	return body_end(&d);
}

#define MOST_MODE 07777

/* ---- writing ---- */

static void put_attrs(struct encoder *out, const struct copy_entry *e)
{
	size_t total = 0;

	for (size_t i = 0; i < e->n_attrs && !out->bad; i++) {
		const struct copy_attr *a = &e->attrs[i];
		size_t n = text_bytes(a->name, COPY_MAX_ATTR_NAME_BYTES + 1);

		total += n;
		if (n > COPY_MAX_ATTR_NAME_BYTES || total > COPY_MAX_ATTRS_BYTES ||
		    a->size > COPY_MAX_ATTRS_BYTES - total)
			out->bad = true;
		total += a->size;
		enc_put(out, 2, n);
		enc_put(out, 4, a->size);
		enc_text(out, a->name, n);
		enc_bytes(out, a->value, a->size);
	}
}

static void put_named(struct encoder *out, const struct copy_entry *e, size_t name)
{
	size_t target = text_bytes(e->target, COPY_MAX_PATH_BYTES + 1);

	enc_put(out, 1, e->flags);
	enc_put(out, 2, name);
	enc_put(out, 2, e->mode);
	enc_put(out, 2, e->n_attrs);
	enc_put(out, 8, e->id);
	enc_put(out, 4, e->uid);
	enc_put(out, 4, e->gid);
	enc_put(out, 8, (uint64_t)e->mtime_ns);
	enc_put(out, 8, (uint64_t)e->atime_ns);
	if (e->kind == COPY_FILE) {
		enc_put(out, 8, e->size_bytes);
		enc_put(out, 8, e->identity);
		enc_put(out, 8, e->version);
	}
	if (e->kind == COPY_SYMLINK)
		enc_put(out, 2, target);
	enc_text(out, e->name, name);
	if (e->kind == COPY_SYMLINK)
		enc_text(out, e->target, target);
	put_attrs(out, e);
	if (target > COPY_MAX_PATH_BYTES || e->n_attrs > COPY_MAX_ATTRS)
		out->bad = true;
}

static void put_link(struct encoder *out, const struct copy_entry *e, size_t name)
{
	enc_put(out, 1, e->flags);
	enc_put(out, 2, name);
	enc_put(out, 8, e->id);
	enc_put(out, 8, e->first);
	enc_text(out, e->name, name);
}

static void put_owner(struct encoder *out, const struct copy_entry *e, size_t name)
{
	enc_put(out, 1, e->group);
	enc_put(out, 2, name);
	enc_put(out, 4, e->group ? e->gid : e->uid);
	enc_text(out, e->name, name);
}

size_t copy_encode_entry(const struct copy_entry *e, uint8_t *out, size_t room)
{
	size_t name = text_bytes(e->name, COPY_MAX_NAME_BYTES + 1);
	struct encoder enc = enc_begin(out, room);

	enc_put(&enc, 1, e->kind);
	if (e->kind == COPY_LEAVE || e->kind == COPY_END)
		return enc_end(&enc);
	if (name > COPY_MAX_NAME_BYTES)
		return 0;
	if (e->kind == COPY_LINK)
		put_link(&enc, e, name);
	else if (e->kind == COPY_OWNER)
		put_owner(&enc, e, name);
	else
		put_named(&enc, e, name);
	return enc_end(&enc);
}

/* ---- reading ---- */

bool copy_is_name(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

static uint32_t known_flags(enum copy_kind kind)
{
	switch (kind) {
	case COPY_FILE:
		return COPY_SPARSE | COPY_HAS_LINKS | COPY_DEVICE;
	case COPY_SYMLINK:
		return COPY_HAS_LINKS;
	case COPY_DIR:
		return COPY_IMPLIED;
	case COPY_LINK:
		return COPY_LAST_NAME;
	default:
		return 0;
	}
}

static void get_attrs(struct copy_cursor *c, struct copy_entry *e)
{
	struct decoder *d = &c->in;
	size_t total = 0;

	for (size_t i = 0; i < e->n_attrs && !d->bad; i++) {
		struct copy_attr *a = &c->attrs[i];
		size_t name = dec_get(d, 2);

		a->size = dec_get(d, 4);
		a->name = dec_text(d, name, 2, COPY_MAX_ATTR_NAME_BYTES);
		a->value = dec_take(d, a->size);
		total += name + a->size;
		if (total > COPY_MAX_ATTRS_BYTES)
			d->bad = true;
	}
	e->attrs = c->attrs;
}

static void get_named(struct copy_cursor *c, struct copy_entry *e)
{
	struct decoder *d = &c->in;
	size_t name, target = 0;

	e->flags = dec_flags(d, 1, known_flags(e->kind));
	name = dec_get(d, 2);
	e->mode = (uint32_t)dec_at_most(d, 2, MOST_MODE);
	e->n_attrs = dec_at_most(d, 2, COPY_MAX_ATTRS);
	e->id = body_get_id(d);
	e->uid = (uint32_t)dec_get(d, 4);
	e->gid = (uint32_t)dec_get(d, 4);
	e->mtime_ns = (int64_t)dec_get(d, 8);
	e->atime_ns = (int64_t)dec_get(d, 8);
	if (e->kind == COPY_FILE) {
		e->size_bytes = dec_amount(d);
		e->identity = dec_get(d, 8);
		e->version = dec_get(d, 8);
	}
	if (e->kind == COPY_SYMLINK)
		target = dec_get(d, 2);
	e->name = dec_text(d, name, 1, COPY_MAX_NAME_BYTES);
	if (!copy_is_name(e->name) && (*e->name || e->kind != COPY_DIR))
		d->bad = true;
	if (e->kind == COPY_SYMLINK)
		e->target = dec_text(d, target, 2, COPY_MAX_PATH_BYTES);
	if (e->n_attrs)
		get_attrs(c, e);
}

static void get_link(struct decoder *d, struct copy_entry *e)
{
	size_t name;

	e->flags = dec_flags(d, 1, known_flags(COPY_LINK));
	name = dec_get(d, 2);
	e->id = body_get_id(d);
	e->first = dec_get(d, 8);
	e->name = dec_text(d, name, 1, COPY_MAX_NAME_BYTES);
	if (!copy_is_name(e->name) || !e->first || e->first >= e->id)
		d->bad = true;
}

static void get_owner(struct decoder *d, struct copy_entry *e)
{
	size_t name;
	uint32_t number;

	e->group = body_get_bool(d);
	name = dec_get(d, 2);
	number = (uint32_t)dec_get(d, 4);
	if (e->group)
		e->gid = number;
	else
		e->uid = number;
	e->name = dec_text(d, name, 2, COPY_MAX_NAME_BYTES);
}

static void get_kind(struct copy_cursor *c, struct copy_entry *e)
{
	switch (e->kind) {
	case COPY_DIR:
	case COPY_FILE:
	case COPY_SYMLINK:
		get_named(c, e);
		return;
	case COPY_LINK:
		get_link(&c->in, e);
		return;
	case COPY_OWNER:
		get_owner(&c->in, e);
		return;
	case COPY_LEAVE:
		return;
	case COPY_END:
		if (!dec_left(&c->in))
			return;
		break;
	}
	c->in.bad = true;
}

/* True if `d` has another item. `*fault` is set if it has not. */
static bool has_more(const struct decoder *d, enum wire_fault *fault)
{
	*fault = d->bad ? WIRE_BAD_BODY : WIRE_OK;
	return !d->bad && dec_left(d);
}

enum wire_fault copy_decode_entry(struct copy_cursor *c, struct copy_entry *e, bool *more)
{
	enum wire_fault fault;

	*more = has_more(&c->in, &fault);
	if (!*more)
		return fault;
	memset(e, 0, sizeof(*e));
	e->kind = (enum copy_kind)dec_get(&c->in, 1);
	get_kind(c, e);
	*more = !c->in.bad;
	return *more ? WIRE_OK : WIRE_BAD_BODY;
}

/* ---- WANT ---- */

size_t copy_encode_want(const struct copy_want *w, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);

	if (w->n_ranges > COPY_MAX_RANGES)
		return 0;
	enc_put(&e, 8, w->id);
	enc_put(&e, 4, w->how);
	enc_put(&e, 4, w->n_ranges);
	for (size_t i = 0; i < w->n_ranges; i++) {
		enc_put(&e, 8, w->ranges[i].begin);
		enc_put(&e, 8, w->ranges[i].end);
	}
	return enc_end(&e);
}

/* Ascending, disjoint and not empty; each begins at a multiple of `align`. */
static void get_ranges(struct copy_want_cursor *c, size_t n, uint64_t align)
{
	uint64_t end_of_last = 0;

	for (size_t i = 0; i < n && !c->in.bad; i++) {
		struct extent *x = &c->ranges[i];

		x->begin = dec_get(&c->in, 8);
		x->end = dec_amount(&c->in);
		if (x->begin < end_of_last || x->begin >= x->end || x->begin % align)
			c->in.bad = true;
		end_of_last = x->end;
	}
}

enum wire_fault copy_decode_want(struct copy_want_cursor *c, struct copy_want *w, bool *more)
{
	enum wire_fault fault;

	*more = has_more(&c->in, &fault);
	if (!*more)
		return fault;
	w->id = body_get_id(&c->in);
	w->how = (enum copy_how)dec_get(&c->in, 4);
	w->n_ranges = dec_at_most(&c->in, 4, COPY_MAX_RANGES);
	w->ranges = c->ranges;
	if (w->how != COPY_SEND && w->how != COPY_SUMS)
		c->in.bad = true;
	get_ranges(c, w->n_ranges, w->how == COPY_SUMS ? COPY_MIN_BLOCK_BYTES : 1);
	*more = !c->in.bad;
	return *more ? WIRE_OK : WIRE_BAD_BODY;
}

/* ---- RESULT: the id in the low 56 bits of 8 bytes, the outcome in the high 8 ---- */

enum {
	RESULT_BYTES = 8,
	OUTCOME_SHIFT = 56,
};

size_t copy_encode_result(const struct copy_result *r, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);

	enc_put(&e, RESULT_BYTES, r->id | (uint64_t)r->outcome << OUTCOME_SHIFT);
	return enc_end(&e);
}

enum wire_fault copy_check_results(const uint8_t *body, size_t length, size_t *n)
{
	struct decoder d = dec_begin(body, length);

	while (!d.bad && dec_left(&d)) {
		uint64_t raw = dec_get(&d, RESULT_BYTES), outcome = raw >> OUTCOME_SHIFT;

		if (!(raw & COPY_MAX_ID) || outcome < COPY_DONE || outcome > COPY_WOULD)
			d.bad = true;
	}
	*n = length / RESULT_BYTES;
	return body_end(&d);
}

struct copy_result copy_result_at(const uint8_t *body, size_t i)
{
	uint64_t raw = bytes_get(body + i * RESULT_BYTES, RESULT_BYTES);

	return (struct copy_result){ raw & COPY_MAX_ID, (enum copy_outcome)(raw >> OUTCOME_SHIFT) };
}

/* ---- BUNDLE ---- */

void copy_bundle_head(uint64_t id, uint32_t size, uint32_t status,
		      uint8_t out[COPY_BUNDLE_RECORD_BYTES])
{
	bytes_put(out, 8, id);
	bytes_put(out + 8, 4, size);
	bytes_put(out + 12, 4, status);
}

enum wire_fault copy_decode_bundle(struct decoder *in, struct copy_bundle_file *f, bool *more)
{
	enum wire_fault fault;

	*more = has_more(in, &fault);
	if (!*more)
		return fault;
	f->id = body_get_id(in);
	f->size = (uint32_t)dec_at_most(in, 4, COPY_SMALL_FILE_BYTES);
	f->status = body_get_status(in);
	if (f->status) {
		const char *text = dec_text(in, f->size, 1, WIRE_MAX_TEXT_BYTES);

		if (!printable_is_safe(text))
			in->bad = true;
		f->data = (const uint8_t *)text;
	} else {
		f->data = dec_take(in, f->size);
	}
	dec_zeros(in, copy_bundle_bytes(f->size) - COPY_BUNDLE_RECORD_BYTES - f->size);
	*more = !in->bad;
	return *more ? WIRE_OK : WIRE_BAD_BODY;
}

/* ---- FILE_END ---- */

size_t copy_encode_file_end(const struct copy_file_end *b, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);

	enc_put(&e, 8, b->id);
	enc_put(&e, 8, b->messages);
	enc_put(&e, 8, b->bytes);
	enc_put(&e, 4, b->status);
	if (b->status)
		enc_shown(&e, b->text, text_bytes(b->text, sizeof(b->text)));
	return enc_end(&e);
}

enum wire_fault copy_decode_file_end(const uint8_t *body, size_t length, struct copy_file_end *b)
{
	struct decoder d = dec_begin(body, length);

	b->id = body_get_id(&d);
	b->messages = dec_amount(&d);
	b->bytes = dec_amount(&d);
	b->status = body_get_status(&d);
	*b->text = '\0';
	if (b->status)
		dec_shown(&d, dec_left(&d), b->text, sizeof(b->text));
	return body_end(&d);
}

/* ---- SUMS ---- */

enum wire_fault copy_decode_sums(const uint8_t *body, size_t length, struct wire_sums *b)
{
	size_t used;
	enum wire_fault fault = wire_decode_sums(body, length, b, &used);

	if (fault)
		return fault;
	if (used != length || !b->id || b->id > COPY_MAX_ID ||
	    b->block_bytes < COPY_MIN_BLOCK_BYTES || b->block_bytes > COPY_MAX_BLOCK_BYTES ||
	    b->offset_bytes % b->block_bytes)
		return WIRE_BAD_BODY;
	return WIRE_OK;
}
