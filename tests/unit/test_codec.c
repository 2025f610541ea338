/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The encoder and decoder of all wire and file formats: limits, faults that stay, texts.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "xdd/base/codec.h"

TEST(test_crc)
{
	unsigned char zeroes[32] = { 0 };

	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(zeroes, sizeof(zeroes)), 0x8a9136aa);
	assert_int_equal(crc32c("", 0), 0);
}

TEST(test_numbers)
{
	static const uint8_t expected[] = { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };
	uint8_t b[8];

	bytes_put(b, 8, 0x8877665544332211);
	assert_memory_equal(b, expected, sizeof(b));
	assert_int_equal(bytes_get(b, 8), 0x8877665544332211);
	for (unsigned n = 1; n <= 8; n++) {
		uint64_t low = 0x8877665544332211 & (UINT64_MAX >> (64 - 8 * n));
		struct encoder e = enc_begin(b, n);
		struct decoder d = dec_begin(expected, n);

		memset(b, 0xee, sizeof(b));
		enc_put(&e, n, 0x8877665544332211);
		assert_int_equal(enc_end(&e), n);
		assert_memory_equal(b, expected, n);
		assert_true(n == 8 || b[n] == 0xee);
		assert_int_equal(dec_get(&d, n), low);
		assert_true(dec_end(&d));
	}
	bytes_put(b, 4, (uint32_t)-5);
	assert_true(bytes_get_signed(b, 4) == -5);
	assert_true(bytes_get_signed("\x7f", 1) == 127);
}

/* Fields of each kind, into each size of a buffer: all or nothing, and never a byte beyond. */
static void put_all(struct encoder *e)
{
	enc_put(e, 2, 0x1234);
	enc_bytes(e, "abc", 3);
	enc_bytes(e, NULL, 0);
	enc_zeros(e, 2);
	enc_text(e, "text", 5);
	enc_shown(e, "\x1b", 2);
}

TEST(test_encode_room)
{
	static const char expected[] = "\x34\x12"
				       "abc\0\0text\0?";
	const size_t whole = sizeof(expected);

	for (size_t room = 0; room <= whole; room++) {
		uint8_t *out = malloc(room + 1);
		struct encoder e;

		assert_non_null(out);
		out[room] = 0xee;
		e = enc_begin(out, room);
		put_all(&e);
		assert_int_equal(enc_end(&e), room == whole ? whole : 0);
		assert_int_equal(out[room], 0xee);
		if (room == whole)
			assert_memory_equal(out, expected, whole);
		free(out);
	}
}

/* After a fault a field that would fit is not written either. */
TEST(test_encode_fault_stays)
{
	uint8_t out[4] = { 0 };
	struct encoder e = enc_begin(out, sizeof(out));

	enc_put(&e, 8, 1);
	enc_put(&e, 1, 0x55);
	assert_int_equal(enc_end(&e), 0);
	assert_int_equal(out[0], 0);
	assert_null(enc_room(&e, 1));
	e = enc_begin(out, sizeof(out));
	assert_null(enc_room(&e, SIZE_MAX));
	e = enc_begin(out, sizeof(out));
	e.bad = true;
	enc_put(&e, 1, 0x55);
	assert_int_equal(out[0], 0);
}

TEST(test_decode_fault_stays)
{
	static const uint8_t in[] = { 1, 2, 3 };
	struct decoder d = dec_begin(in, sizeof(in));
	uint8_t kept = 9;

	assert_int_equal(dec_get(&d, 2), 0x0201);
	assert_false(dec_end(&d));
	assert_int_equal(dec_get(&d, 2), 0);
	assert_true(d.bad);
	assert_int_equal(dec_get(&d, 1), 0);
	assert_null(dec_take(&d, 0));
	dec_bytes(&d, &kept, 1);
	assert_int_equal(kept, 9);
	assert_string_equal(dec_text(&d, 1, 1, 10), "");
	assert_false(dec_end(&d));
	d = dec_begin(in, sizeof(in));
	assert_null(dec_take(&d, SIZE_MAX));
	d = dec_begin(in, sizeof(in));
	assert_ptr_equal(dec_take(&d, 3), in);
	assert_true(dec_end(&d));
}

#define ASSERT_FAULT(expected, call)                          \
	do {                                                  \
		struct decoder d = dec_begin(in, sizeof(in)); \
                                                              \
		(void)(call);                                 \
		assert_int_equal(d.bad, expected);            \
	} while (0)

TEST(test_limits)
{
	uint8_t in[8] = { 5, 0, 0, 0, 0, 0, 0, 0x7f };

	ASSERT_FAULT(false, dec_at_most(&d, 1, 5));
	ASSERT_FAULT(true, dec_at_most(&d, 1, 4));
	ASSERT_FAULT(false, dec_flags(&d, 1, 7));
	ASSERT_FAULT(true, dec_flags(&d, 1, 6));
	ASSERT_FAULT(false, dec_amount(&d));
	in[7] = 0x80;
	ASSERT_FAULT(true, dec_amount(&d));
	ASSERT_FAULT(true, dec_zeros(&d, 1));
	ASSERT_FAULT(false, (dec_take(&d, 1), dec_zeros(&d, 6)));
	ASSERT_FAULT(true, (dec_take(&d, 1), dec_zeros(&d, 7)));
	ASSERT_FAULT(true, dec_zeros(&d, 9));
}

/* A value out of range is not passed on. */
TEST(test_limits_yield_zero)
{
	static const uint8_t in[] = { 9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct decoder d = dec_begin(in, sizeof(in));

	assert_int_equal(dec_at_most(&d, 1, 8), 0);
	d = dec_begin(in, sizeof(in));
	assert_int_equal(dec_flags(&d, 1, 1), 0);
	d = dec_begin(in, sizeof(in));
	assert_int_equal(dec_amount(&d), 0);
}

static bool is_text(const char *in, size_t size, size_t n, size_t least, size_t most)
{
	struct decoder d = dec_begin(in, size);
	const char *text = dec_text(&d, n, least, most);

	assert_string_equal(text, d.bad ? "" : in);
	return !d.bad;
}

TEST(test_texts)
{
	assert_true(is_text("abc", 4, 4, 1, 4));
	assert_true(is_text("", 1, 1, 1, 4));
	assert_false(is_text("", 1, 1, 2, 4));
	assert_false(is_text("abc", 4, 4, 1, 3));
	assert_false(is_text("abc", 3, 4, 1, 4));
	assert_false(is_text("abc", 3, 3, 1, 4));
	assert_false(is_text("a\0c", 4, 4, 1, 4));
	assert_false(is_text("abc", 4, 0, 0, 4));
	assert_int_equal(text_bytes("abc", 10), 4);
	assert_int_equal(text_bytes("abc", 3), 3);
	assert_int_equal(text_bytes(NULL, 3), 1);
}

TEST(test_shown)
{
	char out[8] = "before", coded[16];
	struct encoder e = enc_begin(coded, sizeof(coded));
	struct decoder d = dec_begin("a\n", 3);

	dec_shown(&d, 3, out, sizeof(out));
	assert_true(d.bad);
	assert_string_equal(out, "");
	enc_shown(&e, "a\nb\xff", 5);
	d = dec_begin(coded, enc_end(&e));
	dec_shown(&d, dec_left(&d), out, sizeof(out));
	assert_true(dec_end(&d));
	assert_string_equal(out, "a?b?");
	d = dec_begin("12345678", 9);
	dec_shown(&d, 9, out, sizeof(out));
	assert_true(d.bad);
}

RUN_TESTS(NULL, NULL)
