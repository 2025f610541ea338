/*
 * Messages about entries: an OFFER has files, directories and links; WANT and RESULT answer;
 * BUNDLE, FILE_END and SUMS bring contents. Called by the walk and the data threads of the source,
 * and by the destination; doc/wire.md has the layouts.
 *
 * An OFFER is decoded 100,000 times in a second: the head of an entry has a fixed layout, whose
 * length is checked once. WANT and RESULT are called once or twice a file.
 */
#include "copy/message/body.h"

/*
 * Heads of entries. All kinds have their number first, and those with a name its length at 2.
 *
 * DIR, FILE, SYMLINK: kind 1, flags 1, length of name 2, mode 2, number of attributes 2, id 8,
 *	uid 4, gid 4, mtime 8, atime 8; FILE: size 8, identity 8, version 8; SYMLINK: length of
 *	target 2; strings
 * LINK: kind 1, flags 1, length of name 2, id 8, first 8; name
 * OWNER: kind 1, group 1, length of name 2, number 4; name
 * LEAVE, END: kind 1
 */
enum {
	HEAD_BYTES = 40,
	FILE_BYTES = HEAD_BYTES + 24,
	SYMLINK_BYTES = HEAD_BYTES + 2,
	LINK_BYTES = 20,
	OWNER_BYTES = 8,
	ATTR_BYTES = 6, /* length of name 2, of value 4 */
	MOST_MODE = 07777,
};

/* ---- writing ---- */

/* Bytes of the attributes; 0: beyond the limits. At least 1, so that no attributes are not 0. */
static size_t attrs_bytes_plus_1(const struct copy_entry *e)
{
	size_t heads = e->n_attrs * ATTR_BYTES, total = 0;

	if (e->n_attrs > COPY_MAX_ATTRS)
		return 0;
	for (size_t i = 0; i < e->n_attrs; i++) {
		size_t n = string_bytes(e->attrs[i].name, COPY_MAX_ATTR_NAME_BYTES + 1);

		if (n > COPY_MAX_ATTR_NAME_BYTES || e->attrs[i].size > COPY_MAX_ATTRS_BYTES)
			return 0;
		total += n + e->attrs[i].size;
		if (total > COPY_MAX_ATTRS_BYTES)
			return 0;
	}
	return heads + total + 1;
}

static uint8_t *put_attrs(uint8_t *p, const struct copy_entry *e)
{
	for (size_t i = 0; i < e->n_attrs; i++) {
		size_t n = strlen(e->attrs[i].name) + 1;

		p = put16(p, (unsigned)n);
		p = put32(p, (uint32_t)e->attrs[i].size);
		p = put_bytes(p, e->attrs[i].name, n);
		p = put_bytes(p, e->attrs[i].value, e->attrs[i].size);
	}
	return p;
}

static size_t encode_named(const struct copy_entry *e, size_t name, uint8_t *out, size_t room)
{
	size_t target = e->kind == COPY_SYMLINK ? string_bytes(e->target, COPY_MAX_PATH_BYTES + 1) :
						  0;
	size_t attrs = e->n_attrs ? attrs_bytes_plus_1(e) : 1;
	uint8_t *p = out;

	if (!attrs || target > COPY_MAX_PATH_BYTES || FILE_BYTES + name + target + attrs - 1 > room)
		return 0;
	p = put8(p, e->kind);
	p = put8(p, e->flags);
	p = put16(p, (unsigned)name);
	p = put16(p, e->mode);
	p = put16(p, (unsigned)e->n_attrs);
	p = put64(p, e->id);
	p = put32(p, e->uid);
	p = put32(p, e->gid);
	p = put64(p, (uint64_t)e->mtime_ns);
	p = put64(p, (uint64_t)e->atime_ns);
	if (e->kind == COPY_FILE) {
		p = put64(p, e->size_bytes);
		p = put64(p, e->identity);
		p = put64(p, e->version);
	}
	if (e->kind == COPY_SYMLINK)
		p = put16(p, (unsigned)target);
	p = put_bytes(p, e->name, name);
	p = put_bytes(p, e->target, target);
	return (size_t)(put_attrs(p, e) - out);
}

static size_t encode_link(const struct copy_entry *e, size_t name, uint8_t *out, size_t room)
{
	uint8_t *p = out;

	if (LINK_BYTES + name > room)
		return 0;
	p = put8(p, e->kind);
	p = put8(p, e->flags);
	p = put16(p, (unsigned)name);
	p = put64(p, e->id);
	p = put64(p, e->first);
	return (size_t)(put_bytes(p, e->name, name) - out);
}

static size_t encode_owner(const struct copy_entry *e, size_t name, uint8_t *out, size_t room)
{
	uint8_t *p = out;

	if (OWNER_BYTES + name > room)
		return 0;
	p = put8(p, e->kind);
	p = put8(p, e->group);
	p = put16(p, (unsigned)name);
	p = put32(p, e->group ? e->gid : e->uid);
	return (size_t)(put_bytes(p, e->name, name) - out);
}

size_t copy_encode_entry(const struct copy_entry *e, uint8_t *out, size_t room)
{
	size_t name;

	if (e->kind == COPY_LEAVE || e->kind == COPY_END) {
		if (!room)
			return 0;
		put8(out, e->kind);
		return 1;
	}
	name = string_bytes(e->name, COPY_MAX_NAME_BYTES + 1);
	if (name > COPY_MAX_NAME_BYTES)
		return 0;
	switch (e->kind) {
	case COPY_LINK:
		return encode_link(e, name, out, room);
	case COPY_OWNER:
		return encode_owner(e, name, out, room);
	default:
		return encode_named(e, name, out, room);
	}
}

/* ---- reading ---- */

void copy_cursor_init(struct copy_cursor *c, const uint8_t *body, size_t length)
{
	c->at = body;
	c->end = body + length;
}

static size_t entry_left(const struct copy_cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* A string of `n` bytes, of which `most` are allowed; NULL: it is none. */
static const char *take_string(struct copy_cursor *c, size_t n, size_t most)
{
	const uint8_t *p = c->at;

	if (n > most || n > entry_left(c) || !is_string(p, n))
		return NULL;
	c->at += n;
	return (const char *)p;
}

/* The last component of a path. */
static bool is_name(const char *name, size_t n)
{
	if (n <= 3 && (n == 1 || (name[0] == '.' && (n == 2 || name[1] == '.'))))
		return false;
	return !memchr(name, '/', n);
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

static bool take_attr(struct copy_cursor *c, struct copy_attr *a, size_t *total)
{
	size_t name;

	if (entry_left(c) < ATTR_BYTES)
		return false;
	name = get16(c->at);
	a->size = get32(c->at + 2);
	c->at += ATTR_BYTES;
	a->name = name > 1 ? take_string(c, name, COPY_MAX_ATTR_NAME_BYTES) : NULL;
	if (!a->name || a->size > entry_left(c))
		return false;
	a->value = c->at;
	c->at += a->size;
	*total += name + a->size;
	return *total <= COPY_MAX_ATTRS_BYTES;
}

static bool take_attrs(struct copy_cursor *c, struct copy_entry *e)
{
	size_t total = 0;

	if (e->n_attrs > COPY_MAX_ATTRS)
		return false;
	for (size_t i = 0; i < e->n_attrs; i++) {
		if (!take_attr(c, &c->attrs[i], &total))
			return false;
	}
	e->attrs = c->attrs;
	return true;
}

static bool id_is_right(uint64_t id)
{
	return id && id <= COPY_MAX_ID;
}

/* The fields of fixed length. */
static void read_head(const uint8_t *p, struct copy_entry *e)
{
	e->flags = p[1];
	e->mode = get16(p + 4);
	e->n_attrs = get16(p + 6);
	e->id = get64(p + 8);
	e->uid = get32(p + 16);
	e->gid = get32(p + 20);
	e->mtime_ns = (int64_t)get64(p + 24);
	e->atime_ns = (int64_t)get64(p + 32);
}

static bool decode_named(struct copy_cursor *c, struct copy_entry *e)
{
	size_t head = e->kind == COPY_FILE    ? FILE_BYTES :
		      e->kind == COPY_SYMLINK ? SYMLINK_BYTES :
						HEAD_BYTES;
	const uint8_t *p = c->at;
	size_t name, target = 0;

	if (entry_left(c) < head)
		return false;
	name = get16(p + 2);
	read_head(p, e);
	if (e->kind == COPY_FILE) {
		e->size_bytes = get64(p + HEAD_BYTES);
		e->identity = get64(p + HEAD_BYTES + 8);
		e->version = get64(p + HEAD_BYTES + 16);
	}
	if (e->kind == COPY_SYMLINK)
		target = get16(p + HEAD_BYTES);
	if ((e->flags & ~known_flags(e->kind)) || e->mode > MOST_MODE || !id_is_right(e->id) ||
	    e->size_bytes > (uint64_t)INT64_MAX)
		return false;
	c->at += head;
	e->name = take_string(c, name, COPY_MAX_NAME_BYTES);
	if (!e->name || !(is_name(e->name, name) || (name == 1 && e->kind == COPY_DIR)))
		return false;
	if (e->kind == COPY_SYMLINK) {
		e->target = target > 1 ? take_string(c, target, COPY_MAX_PATH_BYTES) : NULL;
		if (!e->target)
			return false;
	}
	return !e->n_attrs || take_attrs(c, e);
}

static bool decode_link(struct copy_cursor *c, struct copy_entry *e)
{
	const uint8_t *p = c->at;
	size_t name;

	if (entry_left(c) < LINK_BYTES || p[1] & ~known_flags(COPY_LINK))
		return false;
	e->flags = p[1];
	name = get16(p + 2);
	e->id = get64(p + 4);
	e->first = get64(p + 12);
	c->at += LINK_BYTES;
	e->name = take_string(c, name, COPY_MAX_NAME_BYTES);
	return e->name && is_name(e->name, name) && id_is_right(e->id) && e->first &&
	       e->first < e->id;
}

static bool decode_owner(struct copy_cursor *c, struct copy_entry *e)
{
	const uint8_t *p = c->at;
	size_t name;

	if (entry_left(c) < OWNER_BYTES || p[1] > 1)
		return false;
	e->group = p[1];
	name = get16(p + 2);
	if (e->group)
		e->gid = get32(p + 4);
	else
		e->uid = get32(p + 4);
	c->at += OWNER_BYTES;
	e->name = name > 1 ? take_string(c, name, COPY_MAX_NAME_BYTES) : NULL;
	return e->name;
}

static bool decode_kind(struct copy_cursor *c, struct copy_entry *e)
{
	switch (e->kind) {
	case COPY_DIR:
	case COPY_FILE:
	case COPY_SYMLINK:
		return decode_named(c, e);
	case COPY_LINK:
		return decode_link(c, e);
	case COPY_OWNER:
		return decode_owner(c, e);
	case COPY_LEAVE:
		c->at++;
		return true;
	case COPY_END:
		c->at++;
		return c->at == c->end;
	}
	return false;
}

enum wire_fault copy_decode_entry(struct copy_cursor *c, struct copy_entry *e, bool *more)
{
	*more = c->at != c->end;
	if (!*more)
		return WIRE_OK;
	memset(e, 0, sizeof(*e));
	e->kind = (enum copy_kind) * c->at;
	if (decode_kind(c, e))
		return WIRE_OK;
	*more = false;
	return WIRE_BAD_BODY;
}

/*
 * A want: id 8, how 4, number of ranges 4; ranges: begin 8, end 8. A result: id in the low 56 bits
 * of 8 bytes, outcome in the high 8.
 */
enum {
	WANT_BYTES = 16,
	RANGE_BYTES = 16,
	RESULT_BYTES = 8,
	OUTCOME_SHIFT = 56,
};

size_t copy_encode_want(const struct copy_want *w, uint8_t *out, size_t room)
{
	uint8_t *p = out;

	if (w->n_ranges > COPY_MAX_RANGES || WANT_BYTES + w->n_ranges * RANGE_BYTES > room)
		return 0;
	p = put64(p, w->id);
	p = put32(p, w->how);
	p = put32(p, (uint32_t)w->n_ranges);
	for (size_t i = 0; i < w->n_ranges; i++) {
		p = put64(p, w->ranges[i].begin);
		p = put64(p, w->ranges[i].end);
	}
	return (size_t)(p - out);
}

void copy_want_cursor_init(struct copy_want_cursor *c, const uint8_t *body, size_t length)
{
	c->at = body;
	c->end = body + length;
}

/* Ascending, disjoint and not empty; each begins at a multiple of `align`. */
static bool take_ranges(struct copy_want_cursor *c, size_t n, uint64_t align)
{
	uint64_t end_of_last = 0;

	for (size_t i = 0; i < n; i++) {
		struct extent *x = &c->ranges[i];

		x->begin = get64(c->at);
		x->end = get64(c->at + 8);
		if (x->begin < end_of_last || x->begin >= x->end || x->begin % align ||
		    x->end > (uint64_t)INT64_MAX)
			return false;
		end_of_last = x->end;
		c->at += RANGE_BYTES;
	}
	return true;
}

static bool take_want(struct copy_want_cursor *c, struct copy_want *w)
{
	uint32_t how;

	if ((size_t)(c->end - c->at) < WANT_BYTES)
		return false;
	w->id = get64(c->at);
	how = get32(c->at + 8);
	w->n_ranges = get32(c->at + 12);
	w->how = (enum copy_how)how;
	w->ranges = c->ranges;
	c->at += WANT_BYTES;
	if (!w->id || w->id > COPY_MAX_ID || (how != COPY_SEND && how != COPY_SUMS) ||
	    w->n_ranges > COPY_MAX_RANGES || w->n_ranges * RANGE_BYTES > (size_t)(c->end - c->at))
		return false;
	return take_ranges(c, w->n_ranges, how == COPY_SUMS ? COPY_MIN_BLOCK_BYTES : 1);
}

enum wire_fault copy_decode_want(struct copy_want_cursor *c, struct copy_want *w, bool *more)
{
	*more = c->at != c->end;
	if (!*more || take_want(c, w))
		return WIRE_OK;
	*more = false;
	return WIRE_BAD_BODY;
}

size_t copy_encode_result(const struct copy_result *r, uint8_t *out, size_t room)
{
	if (room < RESULT_BYTES)
		return 0;
	put64(out, r->id | (uint64_t)r->outcome << OUTCOME_SHIFT);
	return RESULT_BYTES;
}

enum wire_fault copy_check_results(const uint8_t *body, size_t length, size_t *n)
{
	if (length % RESULT_BYTES)
		return WIRE_BAD_BODY;
	for (size_t at = 0; at < length; at += RESULT_BYTES) {
		uint64_t raw = get64(body + at), outcome = raw >> OUTCOME_SHIFT;

		if (!(raw & COPY_MAX_ID) || outcome < COPY_DONE || outcome > COPY_WOULD)
			return WIRE_BAD_BODY;
	}
	*n = length / RESULT_BYTES;
	return WIRE_OK;
}

struct copy_result copy_result_at(const uint8_t *body, size_t i)
{
	uint64_t raw = get64(body + i * RESULT_BYTES);

	return (struct copy_result){ raw & COPY_MAX_ID, (enum copy_outcome)(raw >> OUTCOME_SHIFT) };
}

#define FILE_END_BYTES 28

/* ---- BUNDLE ---- */

void copy_bundle_head(uint64_t id, uint32_t size, uint32_t status, uint8_t out[16])
{
	put32(put32(put64(out, id), size), status);
}

void copy_bundle_cursor_init(struct copy_bundle_cursor *c, const uint8_t *body, size_t length)
{
	c->at = body;
	c->end = body + length;
}

static bool is_text(const uint8_t *p, size_t n)
{
	return n <= WIRE_MAX_TEXT_BYTES && is_string(p, n) && printable_is_safe((const char *)p);
}

static bool is_zero(const uint8_t *p, const uint8_t *end)
{
	unsigned any = 0;

	while (p < end)
		any |= *p++;
	return !any;
}

static bool take_file(struct copy_bundle_cursor *c, struct copy_bundle_file *f)
{
	size_t left = (size_t)(c->end - c->at), whole;

	if (left < COPY_BUNDLE_RECORD_BYTES)
		return false;
	f->id = get64(c->at);
	f->size = get32(c->at + 8);
	f->status = get32(c->at + 12);
	f->data = c->at + COPY_BUNDLE_RECORD_BYTES;
	whole = copy_bundle_bytes(f->size);
	if (!f->id || f->id > COPY_MAX_ID || f->size > COPY_SMALL_FILE_BYTES || whole > left ||
	    !is_status(f->status) || (f->status && !is_text(f->data, f->size)))
		return false;
	c->at += whole;
	return is_zero(f->data + f->size, c->at);
}

enum wire_fault copy_decode_bundle(struct copy_bundle_cursor *c, struct copy_bundle_file *f,
				   bool *more)
{
	*more = c->at != c->end;
	if (!*more || take_file(c, f))
		return WIRE_OK;
	*more = false;
	return WIRE_BAD_BODY;
}

/* ---- FILE_END ---- */

size_t copy_encode_file_end(const struct copy_file_end *b, uint8_t *out, size_t room)
{
	size_t text = b->status ? string_bytes(b->text, sizeof(b->text)) : 0;
	uint8_t *p = out;

	if (FILE_END_BYTES + text > room)
		return 0;
	p = put64(p, b->id);
	p = put64(p, b->messages);
	p = put64(p, b->bytes);
	p = put32(p, b->status);
	if (!text)
		return FILE_END_BYTES;
	put8(put_bytes(p, b->text, text - 1), 0);
	printable_mask((char *)p);
	return FILE_END_BYTES + text;
}

enum wire_fault copy_decode_file_end(const uint8_t *body, size_t length, struct copy_file_end *b)
{
	struct body c = { body, body + length, false };

	b->id = body_get_id(&c);
	b->messages = body_get_amount(&c);
	b->bytes = body_get_amount(&c);
	b->status = body_get_status(&c);
	*b->text = '\0';
	if (c.bad || !b->status)
		return body_end(&c);
	if (!is_text(c.at, (size_t)(c.end - c.at)))
		return WIRE_BAD_BODY;
	memcpy(b->text, c.at, (size_t)(c.end - c.at));
	return WIRE_OK;
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
