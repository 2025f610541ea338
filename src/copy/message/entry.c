/*
 * Entries of an OFFER: files, directories, links. Called by the walk of the source, and by the
 * destination, 100,000 times in a second: the head of an entry has a fixed layout, whose length is
 * checked once. doc/wire.md has the layouts.
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

static size_t left(const struct copy_cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* A string of `n` bytes, of which `most` are allowed; NULL: it is none. */
static const char *take_string(struct copy_cursor *c, size_t n, size_t most)
{
	const uint8_t *p = c->at;

	if (n > most || n > left(c) || !is_string(p, n))
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

	if (left(c) < ATTR_BYTES)
		return false;
	name = get16(c->at);
	a->size = get32(c->at + 2);
	c->at += ATTR_BYTES;
	a->name = name > 1 ? take_string(c, name, COPY_MAX_ATTR_NAME_BYTES) : NULL;
	if (!a->name || a->size > left(c))
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

	if (left(c) < head)
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

	if (left(c) < LINK_BYTES || p[1] & ~known_flags(COPY_LINK))
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

	if (left(c) < OWNER_BYTES || p[1] > 1)
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
