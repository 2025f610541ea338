/*
 * Verification of what was read: the comparison with the pattern, and joining what is wrong into
 * extents. Called by QThreads after a read, outside the timed window.
 */
#include "xdd/io/verify.h"

#include <stdio.h>
#include <string.h>

#include "io/verify_internal.h"

/* Compared at a time: data and computed pattern together fit the nearest cache. */
#define PIECE_BYTES 8192

#define SCANS 32

/* The content of a buffer before a read: no text, no number, no pattern of this program. */
static const uint8_t poison[8] = { 0xdb, 'P', 'O', 'I', 'S', 'O', 'N', 0xdb };

void verifier_init(struct verifier *v, const struct target_plan *target,
		   const struct pattern *pattern, uint64_t run, const struct tag_book *book,
		   struct tag_history *history)
{
	*v = (struct verifier){
		.target = target,
		.pattern = pattern,
		.run = run,
		.book = book,
		.history = history,
		.scans = SCANS,
	};
}

void verify_poison(void *buf, size_t from, size_t size)
{
	uint8_t *bytes = buf;

	for (; from < size && from % sizeof(poison); from++)
		bytes[from] = poison[from % sizeof(poison)];
	for (; from + sizeof(poison) <= size; from += sizeof(poison))
		memcpy(bytes + from, poison, sizeof(poison));
	if (from < size)
		memcpy(bytes + from, poison, size - from);
}

const char *miscompare_name(enum miscompare_kind kind)
{
	static const char *const names[] = {
		[MISCOMPARE_OTHER] = "other data",
		[MISCOMPARE_ZEROS] = "zeros",
		[MISCOMPARE_POISON] = "never transferred",
		[MISCOMPARE_MISPLACED] = "misplaced",
		[MISCOMPARE_STALE] = "stale",
		[MISCOMPARE_TORN] = "torn",
		[MISCOMPARE_FLIPPED] = "flipped bits",
	};

	return names[kind];
}

bool all_zero(const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (data[i])
			return false;
	return n != 0;
}

bool all_poison(const uint8_t *data, size_t n, uint64_t pos)
{
	for (size_t i = 0; i < n; i++)
		if (data[i] != poison[(pos + i) % sizeof(poison)])
			return false;
	return n != 0;
}

const char *rest_text(const uint8_t *data, size_t n, uint64_t pos)
{
	if (all_zero(data, n))
		return "zeros";
	return all_poison(data, n, pos) ? "never transferred" : "other data";
}

struct difference difference_of(const uint8_t *a, const uint8_t *b, size_t n)
{
	struct difference d = { .first = n };

	for (size_t i = 0; i < n; i++) {
		if (a[i] == b[i])
			continue;
		if (d.first == n)
			d.first = i;
		d.last = i;
		d.bits += (unsigned)__builtin_popcount(a[i] ^ b[i]);
	}
	return d;
}

void flipped_text(char *text, size_t size, const uint8_t *a, const uint8_t *b, size_t n,
		  uint64_t offset)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < n; i++) {
		unsigned bits = a[i] ^ b[i];

		for (int bit = 0; bits; bit++, bits >>= 1) {
			if (!(bits & 1) || used + 48 > size)
				continue;
			used += (size_t)snprintf(text + used, size - used, "%sbit %d of byte %llu",
						 used ? ", " : "", bit,
						 (unsigned long long)(offset + i));
			if (used + 48 > size)
				used += (size_t)snprintf(text + used, size - used, ", ...");
		}
	}
}

struct miscompare miscompare_at(const struct verify_read *r, enum miscompare_kind kind, uint64_t at,
				uint64_t bytes)
{
	return (struct miscompare){
		.kind = kind,
		.offset = r->offset + at,
		.bytes = bytes,
		.op = r->op,
		.pass = r->pass,
	};
}

void miscompare_show(struct miscompare *m, uint64_t offset, const void *expected, const void *found,
		     size_t n)
{
	m->shown_at = offset;
	m->shown = n < VERIFY_SHOWN_BYTES ? (unsigned)n : VERIFY_SHOWN_BYTES;
	memcpy(m->expected, expected, m->shown);
	memcpy(m->found, found, m->shown);
}

void extent_close(struct verify_extents *s)
{
	if (!s->open)
		return;
	s->open = false;
	s->count++;
	s->detail = s->report(s->arg, &s->m);
}

/* Each sector that is torn or has flipped bits is told by itself: they differ in how. */
static bool joins(const struct verify_extents *s, const struct miscompare *m, uint64_t pos,
		  uint64_t key)
{
	return s->open && s->end == pos && s->m.kind == m->kind && s->key == key &&
	       m->kind != MISCOMPARE_TORN && m->kind != MISCOMPARE_FLIPPED;
}

void extent_add(struct verify_extents *s, const struct miscompare *m, uint64_t pos, uint64_t bytes,
		uint64_t key)
{
	if (joins(s, m, pos, key)) {
		s->m.bytes = m->offset + m->bytes - s->m.offset;
	} else {
		extent_close(s);
		s->open = true;
		s->m = *m;
		s->key = key;
	}
	s->end = pos + bytes;
}

/* All sectors of one piece of the request, of which some byte is wrong. */
static void compare_sectors(struct verify_extents *s, uint64_t pos, const uint8_t *expected,
			    size_t size)
{
	const uint8_t *found = (const uint8_t *)s->read->buf + pos;

	for (size_t at = 0; at < size; at += VERIFY_SECTOR_BYTES) {
		size_t n = size - at < VERIFY_SECTOR_BYTES ? size - at : VERIFY_SECTOR_BYTES;

		if (memcmp(found + at, expected + at, n) != 0)
			verify_bad_sector(s, pos + at, expected + at, n);
	}
}

static void verify_contents(struct verify_extents *s)
{
	const struct verify_read *r = s->read;
	uint8_t expected[PIECE_BYTES];

	for (uint64_t pos = 0; pos < r->bytes; pos += PIECE_BYTES) {
		size_t n = r->bytes - pos < PIECE_BYTES ? (size_t)(r->bytes - pos) : PIECE_BYTES;

		pattern_bytes(s->v->pattern, r->offset, pos, expected, n);
		if (memcmp((const char *)r->buf + pos, expected, n) != 0)
			compare_sectors(s, pos, expected, n);
	}
}

/* The first word of each sector. */
static void verify_location(struct verify_extents *s)
{
	const struct verify_read *r = s->read;
	uint8_t expected[VERIFY_SECTOR_BYTES];
	const size_t word = sizeof(uint64_t);

	for (uint64_t pos = 0; pos < r->bytes; pos += VERIFY_SECTOR_BYTES) {
		size_t left = r->bytes - pos < word ? (size_t)(r->bytes - pos) : word;

		pattern_bytes(s->v->pattern, r->offset, pos, expected, left);
		if (memcmp((const char *)r->buf + pos, expected, left) != 0)
			verify_bad_sector(s, pos, expected, left);
	}
}

uint64_t verify_read(struct verifier *v, const struct verify_read *r, bool detail,
		     verify_report_fn *report, void *arg)
{
	struct verify_extents s = {
		.v = v,
		.read = r,
		.report = report,
		.arg = arg,
		.detail = detail,
	};

	/* Where the contents are compared, the location is part of them. */
	if (!(v->target->verify & VERIFY_CONTENTS))
		verify_location(&s);
	else if (v->pattern->options->kind == PATTERN_TAGGED)
		verify_tagged(&s);
	else
		verify_contents(&s);
	extent_close(&s);
	return s.count;
}
