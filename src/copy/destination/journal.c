/*
 * Records of journals; see the header.
 */
#include "copy/destination/journal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "xdd/base/bytes.h"

#define HEAD_BYTES 12 /* checksum (4), type (2), zero (2), bytes that follow (4) */

/* A buffer that is written or read, with its end. */
struct cursor {
	uint8_t *out;
	const uint8_t *in;
	size_t at, size;
	bool bad;
};

bool journal_path_is_clean(const char *path)
{
	if (!*path)
		return true;
	for (;;) {
		size_t n = strcspn(path, "/");

		if (!n || n > NAME_MAX || (n == 1 && path[0] == '.') ||
		    (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}

/* ---- encode ---- */

static void put(struct cursor *c, unsigned n, uint64_t value)
{
	if (c->size - c->at < n) {
		c->bad = true;
		return;
	}
	bytes_put(c->out + c->at, n, value);
	c->at += n;
}

static void put_bytes(struct cursor *c, const void *data, size_t n)
{
	if (c->size - c->at < n) {
		c->bad = true;
		return;
	}
	memcpy(c->out + c->at, data, n);
	c->at += n;
}

/* A text with its NUL, up to the end of the record. */
static void put_text(struct cursor *c, const char *text, size_t limit)
{
	size_t n = strlen(text) + 1;

	if (n > limit)
		c->bad = true;
	else
		put_bytes(c, text, n);
}

static void put_path(struct cursor *c, const char *path)
{
	if (!journal_path_is_clean(path))
		c->bad = true;
	else
		put_text(c, path, JOURNAL_MAX_PATH_BYTES);
}

static void put_head(struct cursor *c, const struct journal_record *r)
{
	put(c, 8, r->session);
	put(c, 8, r->tree_id);
	put(c, 8, r->resumable);
	put_bytes(c, r->boot, sizeof(r->boot));
	put_text(c, r->host, sizeof(r->host));
}

static void put_file(struct cursor *c, const struct journal_record *r)
{
	put(c, 8, r->number);
	put(c, 8, r->size_bytes);
	put(c, 8, (uint64_t)r->mtime_ns);
	put(c, 8, r->version);
	put(c, 8, r->inode);
	if (!*r->path)
		c->bad = true;
	put_path(c, r->path);
}

static void put_ranges(struct cursor *c, const struct journal_record *r)
{
	if (!r->n_ranges || r->n_ranges > JOURNAL_MAX_RANGES)
		c->bad = true;
	put(c, 8, r->number);
	for (size_t i = 0; i < r->n_ranges && !c->bad; i++) {
		put(c, 8, r->ranges[i].begin);
		put(c, 8, r->ranges[i].end);
	}
}

static void put_body(struct cursor *c, const struct journal_record *r)
{
	switch (r->type) {
	case JOURNAL_HEAD:
		put_head(c, r);
		break;
	case JOURNAL_ROOT:
		put(c, 8, r->renamed);
		break;
	case JOURNAL_DIR:
		put_path(c, r->path);
		break;
	case JOURNAL_FILE:
		put_file(c, r);
		break;
	case JOURNAL_RANGES:
		put_ranges(c, r);
		break;
	case JOURNAL_GONE:
		put(c, 8, r->number);
		break;
	default:
		c->bad = true;
	}
}

size_t journal_encode(const struct journal_record *r, uint8_t *out, size_t room)
{
	struct cursor c = { .out = out, .size = room };

	put(&c, 4, 0);
	put(&c, 2, r->type);
	put(&c, 2, 0);
	put(&c, 4, 0);
	put_body(&c, r);
	if (c.bad)
		return 0;
	bytes_put(out + 8, 4, c.at - HEAD_BYTES);
	bytes_put(out, 4, crc32c(0, out + 4, c.at - 4));
	return c.at;
}

/* ---- decode ---- */

static uint64_t get(struct cursor *c)
{
	uint64_t value;

	if (c->size - c->at < 8) {
		c->bad = true;
		return 0;
	}
	value = bytes_get(c->in + c->at, 8);
	c->at += 8;
	return value;
}

static bool get_flag(struct cursor *c)
{
	uint64_t value = get(c);

	c->bad = c->bad || value > 1;
	return value == 1;
}

/* The rest of the record. */
static const char *get_text(struct cursor *c, size_t limit)
{
	const char *text = (const char *)c->in + c->at;
	size_t n = c->size - c->at;

	if (c->bad || !n || n > limit || memchr(text, '\0', n) != text + n - 1) {
		c->bad = true;
		return "";
	}
	c->at = c->size;
	return text;
}

static const char *get_path(struct cursor *c)
{
	const char *path = get_text(c, JOURNAL_MAX_PATH_BYTES);

	c->bad = c->bad || !journal_path_is_clean(path);
	return path;
}

static void get_head(struct cursor *c, struct journal_record *r)
{
	const char *host;

	r->session = get(c);
	r->tree_id = get(c);
	r->resumable = get_flag(c);
	if (c->bad || c->size - c->at < sizeof(r->boot)) {
		c->bad = true;
		return;
	}
	memcpy(r->boot, c->in + c->at, sizeof(r->boot));
	c->at += sizeof(r->boot);
	host = get_text(c, sizeof(r->host));
	memcpy(r->host, host, strlen(host) + 1);
}

static void get_file(struct cursor *c, struct journal_record *r)
{
	r->number = get(c);
	r->size_bytes = get(c);
	r->mtime_ns = (int64_t)get(c);
	r->version = get(c);
	r->inode = get(c);
	r->path = get_path(c);
	c->bad = c->bad || !*r->path || r->size_bytes > INT64_MAX;
}

static void get_ranges(struct cursor *c, struct journal_record *r)
{
	uint64_t end = 0;
	size_t rest;

	r->number = get(c);
	rest = c->size - c->at;
	r->n_ranges = rest / 16;
	r->range_bytes = c->in + c->at;
	if (c->bad || !rest || rest % 16 || r->n_ranges > JOURNAL_MAX_RANGES) {
		c->bad = true;
		return;
	}
	for (size_t i = 0; i < r->n_ranges; i++) {
		struct extent e = journal_range(r, i);

		if (e.begin >= e.end || e.end > INT64_MAX || (i && e.begin <= end))
			c->bad = true;
		end = e.end;
	}
	c->at = c->size;
}

static void get_body(struct cursor *c, struct journal_record *r)
{
	switch (r->type) {
	case JOURNAL_HEAD:
		get_head(c, r);
		break;
	case JOURNAL_ROOT:
		r->renamed = get_flag(c);
		break;
	case JOURNAL_DIR:
		r->path = get_path(c);
		break;
	case JOURNAL_FILE:
		get_file(c, r);
		break;
	case JOURNAL_RANGES:
		get_ranges(c, r);
		break;
	case JOURNAL_GONE:
		r->number = get(c);
		break;
	default:
		c->bad = true;
	}
}

int journal_decode(const uint8_t *data, size_t size, struct journal_record *r, size_t *used)
{
	struct cursor c = { .in = data, .at = HEAD_BYTES };
	size_t body;

	memset(r, 0, sizeof(*r));
	if (size < HEAD_BYTES)
		return 0;
	body = bytes_get(data + 8, 4);
	if (body > JOURNAL_MAX_RECORD_BYTES - HEAD_BYTES || bytes_get(data + 6, 2))
		return -EBADMSG;
	if (size - HEAD_BYTES < body)
		return 0;
	c.size = HEAD_BYTES + body;
	if (bytes_get(data, 4) != crc32c(0, data + 4, c.size - 4))
		return -EBADMSG;
	r->type = (enum journal_type)bytes_get(data + 4, 2);
	get_body(&c, r);
	if (c.bad || c.at != c.size)
		return -EBADMSG;
	*used = c.size;
	return 1;
}

struct extent journal_range(const struct journal_record *r, size_t i)
{
	const uint8_t *at = r->range_bytes + 16 * i;

	return (struct extent){ bytes_get(at, 8), bytes_get(at + 8, 8) };
}
