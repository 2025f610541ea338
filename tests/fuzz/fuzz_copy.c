/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of messages of copies of files. Each input is decoded as each kind of body: a decoder does
 * not rely on the header.
 *
 * A body that is accepted has one encoding only: its own bytes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "copy/message/message.h"
#include "fuzz.h"

#define MOST_RANGES 40
#define MOST_ENTRIES 20
#define MOST_ATTRS 5

static const char *const words[] = {
	"..",
	"/",
	"../",
	"/etc/passwd",
	"\x1b[2J",
	"\xff\xfe",
	"\n",
	"\xff\xff\xff\xff\xff\xff\xff\xff",
	"\xff\xff\xff\xff\xff\xff\xff\x7f",
	"user.name",
	"system.posix_acl_access",
};

/* The encoding of what an input was decoded as. */
static uint8_t encoded[WIRE_MAX_BODY_BYTES];

/* ---- valid bodies ---- */

static uint64_t make_id(struct fuzz_random *r)
{
	return 1 + fuzz_amount(r) % COPY_MAX_ID;
}

static uint32_t make_status(struct fuzz_random *r)
{
	static const uint32_t statuses[] = { 0, XDD_MISCOMPARE, COPY_FAILED, COPY_NOT_WRITABLE };

	return statuses[fuzz_below(r, 4)];
}

/* A name that is not empty, and nothing more. */
static const char *make_name(struct fuzz_random *r)
{
	static const char *const names[] = {
		"a", "file.c", "...", "\xff", "a\nb", "\xc3\xa4", "-r"
	};

	return names[fuzz_below(r, sizeof(names) / sizeof(names[0]))];
}

static size_t make_start(struct fuzz_random *r, uint8_t *body)
{
	const char *sources[3] = { make_name(r), make_name(r), "" };
	uint64_t bits = fuzz_u64(r);
	struct copy_start b = {
		.role = fuzz_once_in(r, 2) ? COPY_SOURCE : COPY_DESTINATION,
		.peer_is_here = bits & 1,
		.settings = { .recursive = bits & 2,
			      .everything = bits & 4,
			      .verify = bits & 8,
			      .dry_run = bits & 16,
			      .into = bits & 32,
			      .port = (uint16_t)fuzz_u64(r),
			      .connections = 1 + (uint32_t)fuzz_below(r, COPY_MAX_CONNECTIONS),
			      .block_bytes = COPY_MIN_BLOCK_BYTES << fuzz_below(r, 14),
			      .size_bytes = fuzz_once_in(r, 2) ? UINT64_MAX : fuzz_amount(r),
			      .timeout_ns = 1 + fuzz_amount(r) / 2,
			      .begun_s = fuzz_below(r, COPY_MAX_BEGUN_S + 1) },
		.destination = make_name(r),
		.own_host = make_name(r),
		.peer_host = make_name(r),
		.sources = sources,
		.n_sources = 1 + fuzz_below(r, 3),
	};

	return copy_encode_start(&b, body, FUZZ_MAX_BYTES);
}

static size_t make_started(struct fuzz_random *r, uint8_t *body)
{
	struct copy_started b;

	fuzz_text(r, b.software, sizeof(b.software));
	fuzz_text(r, b.host, sizeof(b.host));
	fuzz_text(r, b.ssh_address, sizeof(b.ssh_address));
	b.is_directory = fuzz_below(r, 2);
	return copy_encode_started(&b, body, FUZZ_MAX_BYTES);
}

static size_t make_meet(struct fuzz_random *r, uint8_t *body)
{
	struct copy_meet b = { .how = (enum copy_meet_how)(1 + fuzz_below(r, 3)),
			       .port = (uint16_t)fuzz_u64(r),
			       .ok = fuzz_once_in(r, 2),
			       .n_addresses = fuzz_below(r, COPY_MAX_ADDRESSES + 1) };

	fuzz_text(r, b.text, sizeof(b.text));
	for (size_t i = 0; i < b.n_addresses; i++)
		strcpy(b.addresses[i], fuzz_once_in(r, 2) ? "192.0.2.1" : "2001:db8::1");
	return copy_encode_meet(&b, body, FUZZ_MAX_BYTES);
}

static struct copy_entry make_entry(struct fuzz_random *r, const struct copy_attr *attrs)
{
	static const enum copy_kind kinds[] = { COPY_DIR,     COPY_LEAVE, COPY_FILE, COPY_FILE,
						COPY_SYMLINK, COPY_LINK,  COPY_OWNER };
	struct copy_entry e = { .kind = kinds[fuzz_below(r, 7)],
				.id = make_id(r),
				.name = make_name(r),
				.mode = (uint32_t)fuzz_below(r, 010000),
				.uid = (uint32_t)fuzz_u64(r),
				.gid = (uint32_t)fuzz_u64(r),
				.mtime_ns = (int64_t)fuzz_u64(r),
				.atime_ns = (int64_t)fuzz_u64(r) };

	if (e.kind == COPY_FILE) {
		e.size_bytes = fuzz_amount(r);
		e.flags = (uint32_t)fuzz_below(r, 8);
	} else if (e.kind == COPY_SYMLINK) {
		e.target = make_name(r);
	} else if (e.kind == COPY_LINK) {
		e.id = e.id < 2 ? 2 : e.id;
		e.first = 1 + fuzz_amount(r) % (e.id - 1);
	} else if (e.kind == COPY_DIR && fuzz_once_in(r, 4)) {
		e.name = "";
	} else if (e.kind == COPY_OWNER) {
		e.group = fuzz_once_in(r, 2);
	}
	if (e.kind == COPY_FILE || e.kind == COPY_DIR) {
		e.attrs = attrs;
		e.n_attrs = fuzz_below(r, MOST_ATTRS + 1);
	}
	return e;
}

static size_t make_offer(struct fuzz_random *r, uint8_t *body)
{
	size_t n = 1 + fuzz_below(r, MOST_ENTRIES), total = 0;
	struct copy_attr attrs[MOST_ATTRS];

	for (size_t i = 0; i < MOST_ATTRS; i++)
		attrs[i] =
			(struct copy_attr){ "user.x", (const uint8_t *)"values", fuzz_below(r, 7) };
	while (n--) {
		struct copy_entry e = make_entry(r, attrs);

		total += copy_encode_entry(&e, body + total, FUZZ_MAX_BYTES - total);
	}
	if (fuzz_once_in(r, 2)) {
		struct copy_entry end = { .kind = COPY_END };

		total += copy_encode_entry(&end, body + total, FUZZ_MAX_BYTES - total);
	}
	return total;
}

static size_t make_wants(struct fuzz_random *r, uint8_t *body)
{
	struct extent ranges[MOST_RANGES];
	size_t n = 1 + fuzz_below(r, MOST_ENTRIES), total = 0;
	uint64_t at = 0, align = fuzz_once_in(r, 2) ? COPY_MIN_BLOCK_BYTES : 1;

	for (size_t i = 0; i < MOST_RANGES; i++) {
		ranges[i].begin = ((at + align - 1) / align + fuzz_below(r, 1000)) * align;
		ranges[i].end = at = ranges[i].begin + 1 + fuzz_below(r, 1000);
	}
	while (n--) {
		struct copy_want w = { make_id(r), COPY_SUMS, ranges, 0 };

		if (fuzz_once_in(r, 2))
			w.how = COPY_SEND;
		if (w.how == COPY_SEND || align > 1)
			w.n_ranges = fuzz_below(r, MOST_RANGES + 1);
		total += copy_encode_want(&w, body + total, FUZZ_MAX_BYTES - total);
	}
	return total;
}

static size_t make_results(struct fuzz_random *r, uint8_t *body)
{
	size_t n = 1 + fuzz_below(r, MOST_ENTRIES), total = 0;

	while (n--) {
		struct copy_result b = { make_id(r), (enum copy_outcome)(1 + fuzz_below(r, 6)) };

		total += copy_encode_result(&b, body + total, FUZZ_MAX_BYTES - total);
	}
	return total;
}

static size_t make_bundle(struct fuzz_random *r, uint8_t *body)
{
	size_t n = 1 + fuzz_below(r, MOST_ENTRIES), total = 0;

	while (n--) {
		uint32_t status = make_status(r);
		uint32_t size = status ? 5 : (uint32_t)fuzz_below(r, 500);

		memset(body + total, 0, copy_bundle_bytes(size));
		copy_bundle_head(make_id(r), size, status, body + total);
		memset(body + total + COPY_BUNDLE_RECORD_BYTES, 'x', status ? size - 1 : size);
		total += copy_bundle_bytes(size);
	}
	return total;
}

static size_t make_file_end(struct fuzz_random *r, uint8_t *body)
{
	struct copy_file_end b = { .id = make_id(r),
				   .messages = fuzz_amount(r),
				   .bytes = fuzz_amount(r),
				   .status = make_status(r) };

	fuzz_text(r, b.text, sizeof(b.text));
	return copy_encode_file_end(&b, body, FUZZ_MAX_BYTES);
}

static size_t make_sums(struct fuzz_random *r, uint8_t *body)
{
	static const uint8_t digests[16 * MOST_ENTRIES];
	struct wire_sums b = { .id = make_id(r),
			       .block_bytes = COPY_MIN_BLOCK_BYTES << fuzz_below(r, 14),
			       .n = 1 + fuzz_below(r, MOST_ENTRIES),
			       .digests = digests };

	b.offset_bytes = fuzz_below(r, 1000) * b.block_bytes;
	b.end_bytes = b.offset_bytes + b.n * b.block_bytes - fuzz_below(r, b.block_bytes);
	return wire_encode_sums(&b, body, FUZZ_MAX_BYTES);
}

static size_t make_failure(struct fuzz_random *r, uint8_t *body)
{
	struct copy_failure b = { .id = make_id(r) - 1,
				  .status = make_status(r),
				  .differs = fuzz_once_in(r, 2) };

	copy_failure_path(&b, make_name(r));
	fuzz_text(r, b.text, sizeof(b.text));
	return copy_encode_failure(&b, body, FUZZ_MAX_BYTES);
}

static size_t make_counts(struct fuzz_random *r, uint8_t *body)
{
	struct copy_counts b = { .offered_files = fuzz_amount(r),
				 .offered_bytes = fuzz_amount(r),
				 .walk_done = fuzz_below(r, 2),
				 .done_files = fuzz_amount(r),
				 .storage_ns = fuzz_amount(r),
				 .status = make_status(r) };

	return copy_encode_counts(&b, body, FUZZ_MAX_BYTES);
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	static size_t (*const makers[])(struct fuzz_random *, uint8_t *) = {
		make_start,  make_started,  make_meet, make_offer,   make_wants,  make_results,
		make_bundle, make_file_end, make_sums, make_failure, make_counts,
	};

	return makers[fuzz_below(r, sizeof(makers) / sizeof(makers[0]))](r, data);
}

/* ---- checks ---- */

static bool same(const char *name, const uint8_t *body, size_t size, size_t size_again)
{
	if (size != size_again || memcmp(body, encoded, size) != 0)
		fuzz_fail("%s of %zu bytes has another encoding, of %zu bytes", name, size,
			  size_again);
	return true;
}

static bool check_start(const uint8_t *body, size_t size)
{
	struct copy_start b;
	size_t n;

	if (copy_decode_start(body, size, &b))
		return false;
	if (b.n_sources > COPY_MAX_SOURCES || b.settings.connections > COPY_MAX_CONNECTIONS)
		fuzz_fail("a start beyond its limits");
	n = copy_encode_start(&b, encoded, sizeof(encoded));
	copy_start_free(&b);
	return same("a start", body, size, n);
}

static bool check_started(const uint8_t *body, size_t size)
{
	struct copy_started b;

	if (copy_decode_started(body, size, &b))
		return false;
	fuzz_text_check(b.software, strlen(b.software));
	fuzz_text_check(b.host, strlen(b.host));
	fuzz_text_check(b.ssh_address, strlen(b.ssh_address));
	return same("a started", body, size, copy_encode_started(&b, encoded, sizeof(encoded)));
}

static bool check_meet(const uint8_t *body, size_t size)
{
	struct copy_meet b;

	if (copy_decode_meet(body, size, &b))
		return false;
	fuzz_text_check(b.text, strlen(b.text));
	for (size_t i = 0; i < b.n_addresses; i++)
		fuzz_text_check(b.addresses[i], strlen(b.addresses[i]));
	return same("a meet", body, size, copy_encode_meet(&b, encoded, sizeof(encoded)));
}

/* The destination creates what has this name. */
static void check_name(const struct copy_entry *e)
{
	if (e->kind == COPY_LEAVE || e->kind == COPY_END || e->kind == COPY_OWNER)
		return;
	if (strchr(e->name, '/') || !strcmp(e->name, ".") || !strcmp(e->name, "..") ||
	    (!*e->name && e->kind != COPY_DIR) || strlen(e->name) >= COPY_MAX_NAME_BYTES)
		fuzz_fail("an entry has the name \"%s\"", e->name);
	if (e->kind == COPY_SYMLINK && (!*e->target || strlen(e->target) >= COPY_MAX_PATH_BYTES))
		fuzz_fail("a symbolic link has the target \"%s\"", e->target);
}

static void check_entry(const struct copy_entry *e)
{
	size_t total = 0;

	check_name(e);
	if (e->mode > 07777 || e->size_bytes > INT64_MAX || e->id > COPY_MAX_ID)
		fuzz_fail("an entry beyond its limits");
	if (e->kind == COPY_LINK && (!e->first || e->first >= e->id))
		fuzz_fail("link %" PRIu64 " of %" PRIu64, e->id, e->first);
	for (size_t i = 0; i < e->n_attrs; i++)
		total += strlen(e->attrs[i].name) + 1 + e->attrs[i].size;
	if (total > COPY_MAX_ATTRS_BYTES)
		fuzz_fail("attributes of %zu bytes", total);
}

static bool check_offer(const uint8_t *body, size_t size)
{
	static struct copy_cursor c;
	struct copy_entry e;
	size_t total = 0;
	bool more;

	c.in = dec_begin(body, size);
	for (;;) {
		if (copy_decode_entry(&c, &e, &more))
			return false;
		if (!more)
			return same("an offer", body, size, total);
		check_entry(&e);
		total += copy_encode_entry(&e, encoded + total, sizeof(encoded) - total);
	}
}

static bool check_wants(const uint8_t *body, size_t size)
{
	static struct copy_want_cursor c;
	struct copy_want w;
	size_t total = 0;
	bool more;

	c.in = dec_begin(body, size);
	for (;;) {
		if (copy_decode_want(&c, &w, &more))
			return false;
		if (!more)
			return same("wants", body, size, total);
		for (size_t i = 0; i < w.n_ranges; i++) {
			if (w.ranges[i].begin >= w.ranges[i].end || w.ranges[i].end > INT64_MAX ||
			    (i && w.ranges[i].begin < w.ranges[i - 1].end))
				fuzz_fail("range %zu is out of order", i);
		}
		total += copy_encode_want(&w, encoded + total, sizeof(encoded) - total);
	}
}

static bool check_results(const uint8_t *body, size_t size)
{
	size_t n, total = 0;

	if (copy_check_results(body, size, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		struct copy_result b = copy_result_at(body, i);

		total += copy_encode_result(&b, encoded + total, sizeof(encoded) - total);
	}
	return same("results", body, size, total);
}

static bool check_bundle(const uint8_t *body, size_t size)
{
	struct decoder c = dec_begin(body, size);
	struct copy_bundle_file f;
	size_t total = 0;
	bool more;

	for (;;) {
		if (copy_decode_bundle(&c, &f, &more))
			return false;
		if (!more)
			return same("a bundle", body, size, total);
		if (f.size > COPY_SMALL_FILE_BYTES)
			fuzz_fail("a small file of %" PRIu32 " bytes", f.size);
		if (f.status)
			fuzz_text_check((const char *)f.data, strlen((const char *)f.data));
		memset(encoded + total, 0, copy_bundle_bytes(f.size));
		copy_bundle_head(f.id, f.size, f.status, encoded + total);
		memcpy(encoded + total + COPY_BUNDLE_RECORD_BYTES, f.data, f.size);
		total += copy_bundle_bytes(f.size);
	}
}

static bool check_file_end(const uint8_t *body, size_t size)
{
	struct copy_file_end b;

	if (copy_decode_file_end(body, size, &b))
		return false;
	fuzz_text_check(b.text, strlen(b.text));
	return same("an end", body, size, copy_encode_file_end(&b, encoded, sizeof(encoded)));
}

static bool check_sums(const uint8_t *body, size_t size)
{
	struct wire_sums b;
	struct digest all = { 0 };

	if (copy_decode_sums(body, size, &b))
		return false;
	for (size_t i = 0; i < b.n; i++)
		digest_join(&all, wire_sums_at(&b, i));
	return same("sums", body, size, wire_encode_sums(&b, encoded, sizeof(encoded)));
}

static bool check_failure(const uint8_t *body, size_t size)
{
	struct copy_failure b;

	if (copy_decode_failure(body, size, &b))
		return false;
	fuzz_text_check(b.text, strlen(b.text));
	return same("a failure", body, size, copy_encode_failure(&b, encoded, sizeof(encoded)));
}

static bool check_counts(const uint8_t *body, size_t size)
{
	struct copy_counts b;

	if (copy_decode_counts(body, size, &b))
		return false;
	return same("counts", body, size, copy_encode_counts(&b, encoded, sizeof(encoded)));
}

int fuzz_one(const uint8_t *data, size_t size)
{
	static bool (*const checks[])(const uint8_t *, size_t) = {
		check_start, check_started, check_meet,	  check_offer,
		check_wants, check_results, check_bundle, check_file_end,
		check_sums,  check_failure, check_counts,
	};
	bool accepted = false;

	/* An empty body is one without entries. */
	if (!size)
		return 1;
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		accepted |= checks[i](data, size);
	return !accepted;
}

const struct fuzz_harness fuzz_harness = {
	.name = "copy",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
