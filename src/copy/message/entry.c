/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages about entries: an OFFER has files, directories and links; WANT and RESULT answer;
 * BUNDLE, FILE_END and SUMS bring contents. Called by the walk and the data threads of the source,
 * and by the destination; doc/wire.md has the layouts.
 */
#include "copy/message/body.h"
#include "xdd/base/text.h"

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

/* The last component of a path. */
static bool is_name(const char *name)
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
	if (!is_name(e->name) && (*e->name || e->kind != COPY_DIR))
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
	if (!is_name(e->name) || !e->first || e->first >= e->id)
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
