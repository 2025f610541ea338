/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the messages of copies of files: src/copy/message. doc/wire.md has the layouts.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "copy/message/message.h"

static uint8_t body[WIRE_MAX_BODY_BYTES], again[WIRE_MAX_BODY_BYTES];

/* Decode and encode: the length of the new body, or 0 if it was refused. */
typedef size_t (*repeat_fn)(const uint8_t *in, size_t length, uint8_t *out);

/*
 * A body that is accepted is its own encoding. Each bit of it is flipped, and each length tried;
 * the copies have their exact size, for the sanitizer.
 */
static void check_variants(repeat_fn repeat, size_t length)
{
	assert_int_not_equal(length, 0);
	assert_int_equal(repeat(body, length, again), length);
	assert_memory_equal(body, again, length);
	for (size_t bit = 0; bit < length * 8; bit++) {
		uint8_t *copy = malloc(length);
		size_t found;

		assert_non_null(copy);
		memcpy(copy, body, length);
		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
		found = repeat(copy, length, again);
		if (found) {
			assert_int_equal(found, length);
			assert_memory_equal(copy, again, length);
		}
		free(copy);
	}
	for (size_t n = 0; n < length; n++) {
		uint8_t *copy = malloc(n + 1);
		size_t found;

		assert_non_null(copy);
		memcpy(copy, body, n);
		copy = realloc(copy, n ? n : 1);
		assert_non_null(copy);
		found = repeat(copy, n, again);
		if (found)
			assert_int_equal(found, n);
		free(copy);
	}
}

/* The encoder needs each byte, and no more. */
#define CHECK_ROOM(encode, value, length)                                     \
	do {                                                                  \
		for (size_t room = 0; room < (length); room++)                \
			assert_int_equal(encode((value), again, room), 0);    \
		assert_int_equal(encode((value), again, (length)), (length)); \
	} while (0)

/* ---- START, STARTED, MEET ---- */

static const char *sample_sources[] = { "/data/a", "name with\nnewline", "" };

static struct copy_start sample_start(void)
{
	struct copy_start b = {
		.key = "a key",
		.session = "a session",
		.role = COPY_SOURCE,
		.peer_is_here = true,
		.settings = { .recursive = true,
			      .resume = true,
			      .into = true,
			      .port = 40010,
			      .connections = 8,
			      .block_bytes = 1 << 20,
			      .size_bytes = UINT64_MAX,
			      .timeout_ns = 30000000000,
			      .begun_s = COPY_MAX_BEGUN_S },
		.destination = "/there",
		.own_host = "hosta",
		.peer_host = "hostb",
		.sources = sample_sources,
		.n_sources = 3,
	};

	return b;
}

static size_t repeat_start(const uint8_t *in, size_t length, uint8_t *out)
{
	struct copy_start b;
	size_t n;

	if (copy_decode_start(in, length, &b))
		return 0;
	n = copy_encode_start(&b, out, WIRE_MAX_BODY_BYTES);
	copy_start_free(&b);
	return n;
}

TEST(test_start)
{
	struct copy_start b = sample_start(), found;
	size_t length = copy_encode_start(&b, body, sizeof(body));

	assert_int_equal(copy_decode_start(body, length, &found), WIRE_OK);
	assert_memory_equal(found.key, b.key, sizeof(b.key));
	assert_memory_equal(found.session, b.session, sizeof(b.session));
	assert_int_equal(found.role, COPY_SOURCE);
	assert_true(found.peer_is_here);
	assert_memory_equal(&found.settings, &b.settings, sizeof(b.settings));
	assert_string_equal(found.destination, "/there");
	assert_string_equal(found.own_host, "hosta");
	assert_string_equal(found.peer_host, "hostb");
	assert_int_equal(found.n_sources, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(found.sources[i], sample_sources[i]);
	copy_start_free(&found);
	assert_null(found.sources);
	check_variants(repeat_start, length);
	CHECK_ROOM(copy_encode_start, &b, length);
}

/* Each of the settings that are flags has a bit of its own. */
TEST(test_settings)
{
	struct copy_settings s = { .connections = 1, .block_bytes = 4096, .timeout_ns = 1 };
	bool *const flags[] = {
		&s.recursive,
		&s.everything,
		&s.verify,
		&s.compare_contents,
		&s.dry_run,
		&s.in_place,
		&s.resume,
		&s.list,
		&s.list_nul,
		&s.ordered_source,
		&s.ordered_destination,
		&s.direct_source,
		&s.direct_destination,
		&s.encrypt,
		&s.free_ports,
		&s.port_given,
		&s.force,
		&s.stamps,
		&s.stamps_binary,
		&s.into,
		&s.new_name,
		&s.trust,
	};
	struct copy_start b = { .role = COPY_DESTINATION }, found;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		size_t length;

		*flags[i] = true;
		b.settings = s;
		length = copy_encode_start(&b, body, sizeof(body));
		assert_int_equal(copy_decode_start(body, length, &found), WIRE_OK);
		assert_memory_equal(&found.settings, &s, sizeof(s));
		copy_start_free(&found);
		*flags[i] = false;
	}
}

static void assert_start_refused(const struct copy_start *b)
{
	struct copy_start found;
	size_t length = copy_encode_start(b, body, sizeof(body));

	assert_int_not_equal(length, 0);
	assert_int_equal(copy_decode_start(body, length, &found), WIRE_BAD_BODY);
}

TEST(test_start_limits)
{
	static char path[COPY_MAX_PATH_BYTES + 1];
	const char *long_source = path;
	struct copy_start b = sample_start();

	b.settings.connections = COPY_MAX_CONNECTIONS + 1;
	assert_start_refused(&b);
	b.settings.connections = 0;
	assert_start_refused(&b);
	b = sample_start();
	b.settings.block_bytes = COPY_MAX_BLOCK_BYTES + 1;
	assert_start_refused(&b);
	b.settings.block_bytes = COPY_MIN_BLOCK_BYTES - 1;
	assert_start_refused(&b);
	b = sample_start();
	b.settings.size_bytes = (uint64_t)INT64_MAX + 1;
	assert_start_refused(&b);
	b = sample_start();
	b.settings.timeout_ns = 0;
	assert_start_refused(&b);
	b = sample_start();
	b.settings.begun_s++;
	assert_start_refused(&b);
	b = sample_start();
	b.n_sources = 0;
	assert_start_refused(&b);
	b = sample_start();
	memset(path, 'p', sizeof(path) - 2);
	b.sources = &long_source;
	b.n_sources = 1;
	assert_int_not_equal(copy_encode_start(&b, body, sizeof(body)), 0);
	path[sizeof(path) - 2] = 'p';
	assert_int_equal(copy_encode_start(&b, body, sizeof(body)), 0);
}

/* Names that do not fit into a message are the caller's problem, and not cut. */
TEST(test_start_too_long)
{
	static char path[COPY_MAX_PATH_BYTES];
	static const char *names[COPY_MAX_SOURCES + 1];
	struct copy_start b = sample_start();

	memset(path, 'p', sizeof(path) - 1);
	for (size_t i = 0; i < COPY_MAX_SOURCES + 1; i++)
		names[i] = path;
	b.sources = names;
	b.n_sources = COPY_MAX_SOURCES;
	assert_int_equal(copy_encode_start(&b, body, sizeof(body)), 0);
	path[1] = '\0';
	assert_int_not_equal(copy_encode_start(&b, body, sizeof(body)), 0);
	b.n_sources++;
	assert_int_equal(copy_encode_start(&b, body, sizeof(body)), 0);
}

static size_t repeat_started(const uint8_t *in, size_t length, uint8_t *out)
{
	struct copy_started b;

	return copy_decode_started(in, length, &b) ?
		       0 :
		       copy_encode_started(&b, out, WIRE_MAX_BODY_BYTES);
}

TEST(test_started)
{
	struct copy_started b = { "xdd 8.0.0", "ho\x1bst", "", true }, found;
	size_t length = copy_encode_started(&b, body, sizeof(body));

	assert_int_equal(copy_decode_started(body, length, &found), WIRE_OK);
	assert_string_equal(found.software, "xdd 8.0.0");
	assert_string_equal(found.host, "ho?st");
	assert_string_equal(found.ssh_address, "");
	assert_true(found.is_directory);
	check_variants(repeat_started, length);
	CHECK_ROOM(copy_encode_started, &b, length);
}

static size_t repeat_meet(const uint8_t *in, size_t length, uint8_t *out)
{
	struct copy_meet b;

	return copy_decode_meet(in, length, &b) ? 0 :
						  copy_encode_meet(&b, out, WIRE_MAX_BODY_BYTES);
}

TEST(test_meet)
{
	struct copy_meet b = { .how = COPY_CONNECT,
			       .port = 40010,
			       .n_addresses = 2,
			       .addresses = { "192.0.2.1", "2001:db8::1" } },
			 found;
	struct copy_meet met = { .how = COPY_LISTEN, .ok = true, .text = "all is well" };
	size_t length = copy_encode_meet(&b, body, sizeof(body));

	assert_int_equal(copy_decode_meet(body, length, &found), WIRE_OK);
	assert_int_equal(found.how, COPY_CONNECT);
	assert_int_equal(found.port, 40010);
	assert_false(found.ok);
	assert_int_equal(found.n_addresses, 2);
	assert_string_equal(found.addresses[0], "192.0.2.1");
	assert_string_equal(found.addresses[1], "2001:db8::1");
	check_variants(repeat_meet, length);
	CHECK_ROOM(copy_encode_meet, &b, length);
	length = copy_encode_meet(&met, body, sizeof(body));
	check_variants(repeat_meet, length);
	*b.addresses[1] = '\0';
	length = copy_encode_meet(&b, body, sizeof(body));
	assert_int_equal(copy_decode_meet(body, length, &found), WIRE_BAD_BODY);
	b.n_addresses = COPY_MAX_ADDRESSES + 1;
	assert_int_equal(copy_encode_meet(&b, body, sizeof(body)), 0);
}

/* ---- OFFER ---- */

static const struct copy_attr sample_attrs[] = {
	{ "user.x", (const uint8_t *)"value", 5 },
	{ "user.empty", NULL, 0 },
};

static const struct copy_entry sample_entries[] = {
	{ .kind = COPY_OWNER, .name = "user", .uid = 1000 },
	{ .kind = COPY_OWNER, .name = "group", .group = true, .gid = 100 },
	{ .kind = COPY_DIR, .id = 1, .name = "", .mode = 0755, .mtime_ns = -1 },
	{ .kind = COPY_DIR, .id = 2, .name = "d", .flags = COPY_IMPLIED },
	{ .kind = COPY_FILE,
	  .id = 3,
	  .name = "...",
	  .flags = COPY_SPARSE | COPY_HAS_LINKS,
	  .mode = 07777,
	  .uid = 1000,
	  .gid = 100,
	  .size_bytes = INT64_MAX,
	  .identity = UINT64_MAX - 1,
	  .version = 1,
	  .mtime_ns = 1234567890123456789,
	  .atime_ns = INT64_MIN,
	  .attrs = sample_attrs,
	  .n_attrs = 2 },
	{ .kind = COPY_LINK, .id = 4, .name = "other\nname", .first = 3, .flags = COPY_LAST_NAME },
	{ .kind = COPY_SYMLINK, .id = 5, .name = "..s", .target = "../../x", .uid = 7 },
	{ .kind = COPY_SYMLINK, .id = 6, .name = "t", .target = "u", .flags = COPY_HAS_LINKS },
	{ .kind = COPY_LEAVE },
	{ .kind = COPY_FILE, .id = COPY_MAX_ID, .name = "device", .flags = COPY_DEVICE },
	{ .kind = COPY_LEAVE },
	{ .kind = COPY_END },
};
#define N_ENTRIES (sizeof(sample_entries) / sizeof(sample_entries[0]))

static struct copy_cursor cursor;

static void assert_same_string(const char *a, const char *b)
{
	if (!a || !b)
		assert_ptr_equal(a, b);
	else
		assert_string_equal(a, b);
}

static void assert_same_entry(const struct copy_entry *a, const struct copy_entry *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->id, b->id);
	assert_same_string(a->name, b->name);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
	assert_int_equal(a->size_bytes, b->size_bytes);
	assert_int_equal(a->identity, b->identity);
	assert_int_equal(a->version, b->version);
	assert_int_equal(a->mtime_ns, b->mtime_ns);
	assert_int_equal(a->atime_ns, b->atime_ns);
	assert_int_equal(a->first, b->first);
	assert_same_string(a->target, b->target);
	assert_int_equal(a->group, b->group);
	assert_int_equal(a->n_attrs, b->n_attrs);
	for (size_t i = 0; i < a->n_attrs; i++) {
		assert_string_equal(a->attrs[i].name, b->attrs[i].name);
		assert_int_equal(a->attrs[i].size, b->attrs[i].size);
		if (a->attrs[i].size)
			assert_memory_equal(a->attrs[i].value, b->attrs[i].value, a->attrs[i].size);
	}
}

static size_t repeat_entries(const uint8_t *in, size_t length, uint8_t *out)
{
	struct copy_entry e;
	size_t total = 0;
	bool more = true;

	cursor.in = dec_begin(in, length);
	for (;;) {
		if (copy_decode_entry(&cursor, &e, &more))
			return 0;
		if (!more)
			return total;
		total += copy_encode_entry(&e, out + total, WIRE_MAX_BODY_BYTES - total);
	}
}

static size_t encode_entries(void)
{
	size_t total = 0;

	for (size_t i = 0; i < N_ENTRIES; i++) {
		size_t n =
			copy_encode_entry(&sample_entries[i], body + total, sizeof(body) - total);

		assert_int_not_equal(n, 0);
		total += n;
	}
	return total;
}

TEST(test_entries)
{
	size_t length = encode_entries();
	struct copy_entry e;
	bool more;

	cursor.in = dec_begin(body, length);
	for (size_t i = 0; i < N_ENTRIES; i++) {
		assert_int_equal(copy_decode_entry(&cursor, &e, &more), WIRE_OK);
		assert_true(more);
		assert_same_entry(&e, &sample_entries[i]);
	}
	assert_int_equal(copy_decode_entry(&cursor, &e, &more), WIRE_OK);
	assert_false(more);
	check_variants(repeat_entries, length);
}

/* Room for the largest head is demanded of all kinds with a head like that of files. */
TEST(test_entry_room)
{
	for (size_t i = 0; i < N_ENTRIES; i++) {
		const struct copy_entry *e = &sample_entries[i];
		size_t length = copy_encode_entry(e, body, sizeof(body));

		for (size_t room = 0; room < length; room++)
			assert_int_equal(copy_encode_entry(e, again, room), 0);
		assert_int_equal(copy_encode_entry(e, again, length + 24), length);
	}
}

/* The fault of one entry. */
static enum wire_fault entry_fault(const struct copy_entry *e)
{
	size_t length = copy_encode_entry(e, body, sizeof(body));
	struct copy_entry found;
	bool more;

	assert_int_not_equal(length, 0);
	cursor.in = dec_begin(body, length);
	return copy_decode_entry(&cursor, &found, &more);
}

TEST(test_names)
{
	static const char *const bad[] = { ".", "..", "/", "a/b", "/a", "a/", "../a" };
	static const char *const good[] = { "a", "...", ".a", "..a", "a.", "-", "\n", "\xff", "~" };
	const enum copy_kind kinds[] = { COPY_DIR, COPY_FILE, COPY_SYMLINK, COPY_LINK };

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct copy_entry e = { .kind = kinds[k], .id = 2, .first = 1 };

		e.target = e.kind == COPY_SYMLINK ? "t" : NULL;
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			e.name = bad[i];
			assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
		}
		for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
			e.name = good[i];
			assert_int_equal(entry_fault(&e), WIRE_OK);
		}
		e.name = "";
		assert_int_equal(entry_fault(&e), e.kind == COPY_DIR ? WIRE_OK : WIRE_BAD_BODY);
	}
}

TEST(test_entry_limits)
{
	struct copy_entry e = { .kind = COPY_FILE, .id = 5, .name = "a", .mode = 010000 };
	char name[COPY_MAX_NAME_BYTES + 1];

	assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
	e.mode = 0;
	e.flags = COPY_IMPLIED;
	assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
	e.flags = 0;
	e.size_bytes = (uint64_t)INT64_MAX + 1;
	assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
	e.size_bytes = 0;
	e.id = 0;
	assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
	e.id = COPY_MAX_ID + 1;
	assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
	e.id = 5;
	memset(name, 'n', sizeof(name));
	name[COPY_MAX_NAME_BYTES - 1] = '\0';
	e.name = name;
	assert_int_equal(entry_fault(&e), WIRE_OK);
	name[COPY_MAX_NAME_BYTES - 1] = 'n';
	name[COPY_MAX_NAME_BYTES] = '\0';
	assert_int_equal(copy_encode_entry(&e, body, sizeof(body)), 0);
	e = (struct copy_entry){ .kind = COPY_LINK, .id = 5, .name = "a", .first = 5 };
	assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
	e.first = 0;
	assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
	e = (struct copy_entry){ .kind = COPY_SYMLINK, .id = 5, .name = "a", .target = "" };
	assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
	e = (struct copy_entry){ .kind = COPY_OWNER, .name = "" };
	assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
}

TEST(test_attr_limits)
{
	static struct copy_attr attrs[COPY_MAX_ATTRS + 1];
	static const uint8_t value[COPY_MAX_ATTRS_BYTES];
	struct copy_entry e = { .kind = COPY_FILE, .id = 1, .name = "a", .attrs = attrs };

	for (size_t i = 0; i < COPY_MAX_ATTRS + 1; i++)
		attrs[i] = (struct copy_attr){ "n", value, 1 };
	e.n_attrs = COPY_MAX_ATTRS;
	assert_int_equal(entry_fault(&e), WIRE_OK);
	e.n_attrs++;
	assert_int_equal(copy_encode_entry(&e, body, sizeof(body)), 0);
	e.n_attrs = 1;
	attrs[0].size = COPY_MAX_ATTRS_BYTES - 2;
	assert_int_equal(entry_fault(&e), WIRE_OK);
	attrs[0].size++;
	assert_int_equal(copy_encode_entry(&e, body, sizeof(body)), 0);
	attrs[0] = (struct copy_attr){ "", value, 1 };
	assert_int_equal(entry_fault(&e), WIRE_BAD_BODY);
}

/* Nothing follows the end, and an unknown kind is no entry. */
TEST(test_entry_order)
{
	static const uint8_t after_end[] = { COPY_END, COPY_LEAVE };
	static const uint8_t unknown[] = { COPY_END + 1 }, zero[] = { 0 };
	struct copy_entry e;
	bool more;

	cursor.in = dec_begin(after_end, sizeof(after_end));
	assert_int_equal(copy_decode_entry(&cursor, &e, &more), WIRE_BAD_BODY);
	assert_false(more);
	cursor.in = dec_begin(unknown, sizeof(unknown));
	assert_int_equal(copy_decode_entry(&cursor, &e, &more), WIRE_BAD_BODY);
	cursor.in = dec_begin(zero, sizeof(zero));
	assert_int_equal(copy_decode_entry(&cursor, &e, &more), WIRE_BAD_BODY);
}

/* ---- WANT, RESULT ---- */

static struct copy_want_cursor want_cursor;

static size_t repeat_wants(const uint8_t *in, size_t length, uint8_t *out)
{
	struct copy_want w;
	size_t total = 0;
	bool more;

	want_cursor.in = dec_begin(in, length);
	for (;;) {
		if (copy_decode_want(&want_cursor, &w, &more))
			return 0;
		if (!more)
			return total;
		total += copy_encode_want(&w, out + total, WIRE_MAX_BODY_BYTES - total);
	}
}

TEST(test_wants)
{
	static const struct extent ranges[] = { { 0, 1 }, { 1, 5 }, { 7, INT64_MAX } };
	static const struct extent blocks = { 8192, 10000 };
	const struct copy_want wants[] = {
		{ .id = 1, .how = COPY_SEND },
		{ .id = 2, .how = COPY_SEND, .ranges = ranges, .n_ranges = 3 },
		{ .id = 3, .how = COPY_SUMS },
		{ .id = COPY_MAX_ID, .how = COPY_SUMS, .ranges = &blocks, .n_ranges = 1 },
	};
	struct copy_want w;
	size_t length = 0;
	bool more;

	for (size_t i = 0; i < 4; i++)
		length += copy_encode_want(&wants[i], body + length, sizeof(body) - length);
	want_cursor.in = dec_begin(body, length);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(copy_decode_want(&want_cursor, &w, &more), WIRE_OK);
		assert_true(more);
		assert_int_equal(w.id, wants[i].id);
		assert_int_equal(w.how, wants[i].how);
		assert_int_equal(w.n_ranges, wants[i].n_ranges);
		if (w.n_ranges)
			assert_memory_equal(w.ranges, wants[i].ranges,
					    w.n_ranges * sizeof(*w.ranges));
	}
	assert_int_equal(copy_decode_want(&want_cursor, &w, &more), WIRE_OK);
	assert_false(more);
	check_variants(repeat_wants, length);
	CHECK_ROOM(copy_encode_want, &wants[1], copy_encode_want(&wants[1], body, sizeof(body)));
}

static void assert_want_refused(const struct copy_want *w)
{
	size_t length = copy_encode_want(w, body, sizeof(body));

	assert_int_not_equal(length, 0);
	assert_int_equal(repeat_wants(body, length, again), 0);
}

TEST(test_want_limits)
{
	static struct extent many[COPY_MAX_RANGES + 1];
	struct extent ranges[2] = { { 5, 6 }, { 4, 5 } };
	struct copy_want w = { .id = 1, .how = COPY_SEND, .ranges = ranges, .n_ranges = 2 };

	assert_want_refused(&w);
	ranges[1] = (struct extent){ 6, 6 };
	assert_want_refused(&w);
	ranges[1] = (struct extent){ 6, (uint64_t)INT64_MAX + 1 };
	assert_want_refused(&w);
	w.n_ranges = 1;
	w.how = COPY_SUMS;
	assert_want_refused(&w);
	for (size_t i = 0; i <= COPY_MAX_RANGES; i++)
		many[i] = (struct extent){ 2 * i, 2 * i + 1 };
	w = (struct copy_want){ 1, COPY_SEND, many, COPY_MAX_RANGES };
	assert_int_equal(repeat_wants(body, copy_encode_want(&w, body, sizeof(body)), again),
			 16 + 16 * COPY_MAX_RANGES);
	w.n_ranges++;
	assert_int_equal(copy_encode_want(&w, body, sizeof(body)), 0);
	w = (struct copy_want){ .id = COPY_MAX_ID + 1, .how = COPY_SEND };
	assert_want_refused(&w);
	w.id = 0;
	assert_want_refused(&w);
}

static size_t repeat_results(const uint8_t *in, size_t length, uint8_t *out)
{
	size_t n, total = 0;

	if (copy_check_results(in, length, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct copy_result r = copy_result_at(in, i);

		total += copy_encode_result(&r, out + total, WIRE_MAX_BODY_BYTES - total);
	}
	return total;
}

TEST(test_results)
{
	size_t length = 0, n;

	for (enum copy_outcome o = COPY_DONE; o <= COPY_WOULD; o++) {
		struct copy_result r = { COPY_MAX_ID - o, o };

		length += copy_encode_result(&r, body + length, sizeof(body) - length);
	}
	assert_int_equal(copy_check_results(body, length, &n), WIRE_OK);
	assert_int_equal(n, COPY_WOULD);
	for (size_t i = 0; i < n; i++) {
		struct copy_result r = copy_result_at(body, i);

		assert_int_equal(r.outcome, i + 1);
		assert_int_equal(r.id, COPY_MAX_ID - r.outcome);
	}
	check_variants(repeat_results, length);
	assert_int_equal(copy_encode_result(&(struct copy_result){ 1, COPY_DONE }, body, 7), 0);
}

/* ---- data ---- */

static size_t put_record(size_t at, uint64_t id, const char *data, uint32_t size, uint32_t status)
{
	memset(body + at, 0, copy_bundle_bytes(size));
	copy_bundle_head(id, size, status, body + at);
	memcpy(body + at + COPY_BUNDLE_RECORD_BYTES, data, size);
	return at + copy_bundle_bytes(size);
}

static size_t repeat_bundle(const uint8_t *in, size_t length, uint8_t *out)
{
	struct decoder c = dec_begin(in, length);
	struct copy_bundle_file f;
	size_t total = 0;
	bool more;

	for (;;) {
		if (copy_decode_bundle(&c, &f, &more))
			return 0;
		if (!more)
			return total;
		memset(out + total, 0, copy_bundle_bytes(f.size));
		copy_bundle_head(f.id, f.size, f.status, out + total);
		memcpy(out + total + COPY_BUNDLE_RECORD_BYTES, f.data, f.size);
		total += copy_bundle_bytes(f.size);
	}
}

TEST(test_bundle)
{
	static const char text[] = "cannot read (Input/output error)";
	struct decoder c;
	struct copy_bundle_file f;
	size_t length = 0;
	bool more;

	length = put_record(length, 7, "contents", 8, 0);
	length = put_record(length, 8, "", 0, 0);
	length = put_record(length, 9, "c", 1, 0);
	length = put_record(length, 10, text, sizeof(text), COPY_FAILED);
	c = dec_begin(body, length);
	assert_int_equal(copy_decode_bundle(&c, &f, &more), WIRE_OK);
	assert_true(more);
	assert_int_equal(f.id, 7);
	assert_int_equal(f.size, 8);
	assert_int_equal(f.status, 0);
	assert_memory_equal(f.data, "contents", 8);
	assert_int_equal(copy_decode_bundle(&c, &f, &more), WIRE_OK);
	assert_int_equal(f.size, 0);
	assert_int_equal(copy_decode_bundle(&c, &f, &more), WIRE_OK);
	assert_int_equal(copy_decode_bundle(&c, &f, &more), WIRE_OK);
	assert_int_equal(f.status, COPY_FAILED);
	assert_string_equal((const char *)f.data, text);
	assert_int_equal(copy_decode_bundle(&c, &f, &more), WIRE_OK);
	assert_false(more);
	check_variants(repeat_bundle, length);
}

TEST(test_bundle_limits)
{
	static char data[COPY_SMALL_FILE_BYTES + 1];

	assert_int_not_equal(
		repeat_bundle(body, put_record(0, 1, data, COPY_SMALL_FILE_BYTES, 0), again), 0);
	assert_int_equal(repeat_bundle(body, put_record(0, 1, data, COPY_SMALL_FILE_BYTES + 1, 0),
				       again),
			 0);
	assert_int_equal(repeat_bundle(body, put_record(0, 0, "x", 1, 0), again), 0);
	assert_int_equal(repeat_bundle(body, put_record(0, 1, "x", 1, COPY_FAILED), again), 0);
	assert_int_equal(repeat_bundle(body, put_record(0, 1, "\n", 2, COPY_FAILED), again), 0);
	assert_int_equal(repeat_bundle(body, put_record(0, 1, "x", 2, 99), again), 0);
	assert_int_equal(repeat_bundle(body, put_record(0, 1, "", 0, COPY_FAILED), again), 0);
}

static size_t repeat_file_end(const uint8_t *in, size_t length, uint8_t *out)
{
	struct copy_file_end b;

	return copy_decode_file_end(in, length, &b) ?
		       0 :
		       copy_encode_file_end(&b, out, WIRE_MAX_BODY_BYTES);
}

TEST(test_file_end)
{
	struct copy_file_end b = { .id = 3, .messages = 4, .bytes = 5 }, found;
	size_t length = copy_encode_file_end(&b, body, sizeof(body));

	check_variants(repeat_file_end, length);
	CHECK_ROOM(copy_encode_file_end, &b, length);
	b.status = COPY_FAILED;
	strcpy(b.text, "changed while it was read");
	length = copy_encode_file_end(&b, body, sizeof(body));
	assert_int_equal(copy_decode_file_end(body, length, &found), WIRE_OK);
	assert_int_equal(found.id, 3);
	assert_int_equal(found.messages, 4);
	assert_int_equal(found.bytes, 5);
	assert_int_equal(found.status, COPY_FAILED);
	assert_string_equal(found.text, b.text);
	check_variants(repeat_file_end, length);
	CHECK_ROOM(copy_encode_file_end, &b, length);
	memset(b.text, 't', sizeof(b.text));
	length = copy_encode_file_end(&b, body, sizeof(body));
	assert_int_equal(copy_decode_file_end(body, length, &found), WIRE_OK);
	assert_int_equal(strlen(found.text), sizeof(b.text) - 1);
}

static size_t repeat_sums(const uint8_t *in, size_t length, uint8_t *out)
{
	struct wire_sums b;

	return copy_decode_sums(in, length, &b) ? 0 :
						  wire_encode_sums(&b, out, WIRE_MAX_BODY_BYTES);
}

TEST(test_sums)
{
	uint8_t digests[3 * 16];
	struct wire_sums b = { .id = 9,
			       .offset_bytes = 8192,
			       .block_bytes = 4096,
			       .end_bytes = 8192 + 2 * 4096 + 1,
			       .n = 3,
			       .digests = digests },
			 found;
	size_t length;

	for (size_t i = 0; i < 3; i++)
		wire_put_sum((struct digest){ i, 100 + i }, digests + i * 16);
	length = wire_encode_sums(&b, body, sizeof(body));
	assert_int_equal(copy_decode_sums(body, length, &found), WIRE_OK);
	assert_int_equal(found.id, 9);
	assert_int_equal(found.offset_bytes, 8192);
	assert_int_equal(found.end_bytes, b.end_bytes);
	assert_int_equal(found.n, 3);
	assert_int_equal(wire_sums_at(&found, 2).low, 2);
	assert_int_equal(wire_sums_at(&found, 2).high, 102);
	check_variants(repeat_sums, length);
	CHECK_ROOM(wire_encode_sums, &b, length);
	b.offset_bytes++;
	assert_int_equal(repeat_sums(body, wire_encode_sums(&b, body, sizeof(body)), again), 0);
	b.offset_bytes = b.end_bytes = 8192;
	b.n = 0;
	assert_int_equal(repeat_sums(body, wire_encode_sums(&b, body, sizeof(body)), again), 0);
	b.end_bytes = INT64_MAX;
	b.n = 3;
	assert_int_equal(repeat_sums(body, wire_encode_sums(&b, body, sizeof(body)), again), 0);
}

/* ---- both directions ---- */

static size_t repeat_failure(const uint8_t *in, size_t length, uint8_t *out)
{
	struct copy_failure b;

	return copy_decode_failure(in, length, &b) ?
		       0 :
		       copy_encode_failure(&b, out, WIRE_MAX_BODY_BYTES);
}

TEST(test_failure)
{
	struct copy_failure b = { .id = 12,
				  .status = COPY_FAILED,
				  .path = "d/na\nme",
				  .text = "cannot open\n (Permission denied)" },
			    found;
	size_t length = copy_encode_failure(&b, body, sizeof(body));

	assert_int_equal(copy_decode_failure(body, length, &found), WIRE_OK);
	assert_int_equal(found.id, 12);
	assert_int_equal(found.status, COPY_FAILED);
	assert_false(found.differs);
	assert_string_equal(found.path, "d/na\nme");
	assert_string_equal(found.text, "cannot open? (Permission denied)");
	check_variants(repeat_failure, length);
	CHECK_ROOM(copy_encode_failure, &b, length);
	memset(b.path, 'p', sizeof(b.path));
	memset(b.text, 't', sizeof(b.text));
	length = copy_encode_failure(&b, body, sizeof(body));
	assert_true(length <= 2 * WIRE_MAX_NAME_BYTES);
	assert_int_equal(copy_decode_failure(body, length, &found), WIRE_OK);
}

TEST(test_failure_path)
{
	static char path[COPY_MAX_PATH_BYTES + 100];
	struct copy_failure b;

	copy_failure_path(&b, "a/b");
	assert_string_equal(b.path, "a/b");
	memset(path, 'p', COPY_MAX_PATH_BYTES - 2);
	path[COPY_MAX_PATH_BYTES - 2] = 'e';
	copy_failure_path(&b, path);
	assert_string_equal(b.path, path);
	for (size_t n = COPY_MAX_PATH_BYTES; n < sizeof(path); n++) {
		memset(path, 'p', n);
		memcpy(path + n - 2, "qe", 3);
		copy_failure_path(&b, path);
		assert_int_equal(strnlen(b.path, sizeof(b.path)), COPY_MAX_PATH_BYTES - 1);
		assert_memory_equal(b.path, "...pp", 5);
		assert_string_equal(b.path + COPY_MAX_PATH_BYTES - 4, "pqe");
	}
}

static size_t repeat_counts(const uint8_t *in, size_t length, uint8_t *out)
{
	struct copy_counts b;

	return copy_decode_counts(in, length, &b) ?
		       0 :
		       copy_encode_counts(&b, out, WIRE_MAX_BODY_BYTES);
}

TEST(test_counts)
{
	const size_t n = sizeof(struct copy_counts) / sizeof(uint64_t);
	struct copy_counts b, found;
	size_t length;

	for (size_t i = 0; i < n; i++)
		memcpy((uint8_t *)&b + i * sizeof(uint64_t), &(uint64_t){ 1000 + i },
		       sizeof(uint64_t));
	b.walk_done = 1;
	b.status = COPY_FAILED;
	length = copy_encode_counts(&b, body, sizeof(body));
	assert_int_equal(copy_decode_counts(body, length, &found), WIRE_OK);
	assert_memory_equal(&found, &b, sizeof(b));
	check_variants(repeat_counts, length);
	CHECK_ROOM(copy_encode_counts, &b, length);
}

/* The id of a block has all its bits in the header. */
TEST(test_block_id)
{
	struct wire_header h = { .type = WIRE_COPY_BLOCK };

	copy_set_block_id(&h, COPY_MAX_ID - 1);
	assert_int_equal(copy_block_id(&h), COPY_MAX_ID - 1);
	assert_int_equal(h.target, 0xfffffffe);
	assert_int_equal(h.pass, 0xffffff);
}

RUN_TESTS(NULL, NULL)
