/*
 * Messages of both roles: FAILURE and COUNTS. Called by their channel threads; doc/wire.md has the
 * layouts.
 */
#include "copy/message/body.h"

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
