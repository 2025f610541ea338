/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The encoder and decoder of all formats. An input is a list of fields, each a kind, a length and
 * bytes. They are read in order; what was read is written again and must give the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "xdd/base/codec.h"

enum kind {
	NUMBER,
	AMOUNT,
	BYTES,
	TEXT,
	SHOWN,
	ZEROS,
	KINDS,
};

static const char *const words[] = { "\x7f", "\x1b[", "\xff\xff\xff\xff\xff\xff\xff\xff" };

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	struct encoder e = enc_begin(data, FUZZ_MAX_BYTES);

	for (size_t i = 1 + fuzz_below(r, 20); i; i--) {
		enum kind kind = (enum kind)fuzz_below(r, KINDS);
		size_t n = 1 + fuzz_below(r, 8);

		enc_put(&e, 1, kind);
		enc_put(&e, 1, n);
		switch (kind) {
		case NUMBER:
			enc_put(&e, (unsigned)n, fuzz_u64(r));
			break;
		case AMOUNT:
			enc_put(&e, 8, fuzz_u64(r) >> 1);
			break;
		case ZEROS:
			enc_zeros(&e, n);
			break;
		default:
			enc_text(&e, "a text", n < 7 ? n : 7);
			if (n == 8)
				enc_zeros(&e, 1);
		}
	}
	return enc_end(&e);
}

/* Read a field of `n` bytes, and write it again. */
static void repeat(struct decoder *d, struct encoder *e, enum kind kind, size_t n)
{
	const uint8_t *bytes;
	const char *text;
	char shown[64];

	switch (kind) {
	case NUMBER:
		if (n && n <= 8)
			enc_put(e, (unsigned)n, dec_get(d, (unsigned)n));
		break;
	case AMOUNT:
		enc_put(e, 8, dec_amount(d));
		break;
	case BYTES:
		bytes = dec_take(d, n);
		enc_bytes(e, bytes, bytes ? n : 0);
		break;
	case TEXT:
		text = dec_text(d, n, 1, 32);
		if (strlen(text) >= 32)
			fuzz_fail("a text of %zu bytes", strlen(text));
		enc_text(e, text, strlen(text) + 1);
		break;
	case SHOWN:
		dec_shown(d, n, shown, sizeof(shown));
		fuzz_text_check(shown, strlen(shown));
		enc_shown(e, shown, strlen(shown) + 1);
		break;
	case ZEROS:
		dec_zeros(d, n);
		enc_zeros(e, d->bad ? 0 : n);
		break;
	default:
		d->bad = true;
	}
}

int fuzz_one(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1), *again = malloc(size + 1);
	struct decoder d;
	struct encoder e;
	int refused;

	if (!copy || !again)
		fuzz_fail("memory is short");
	copy = realloc(copy, size ? size : 1);
	memcpy(copy, data, size);
	d = dec_begin(copy, size);
	e = enc_begin(again, size);
	while (!d.bad && dec_left(&d)) {
		enum kind kind = (enum kind)dec_get(&d, 1);
		size_t n = dec_get(&d, 1);

		enc_put(&e, 1, kind);
		enc_put(&e, 1, n);
		repeat(&d, &e, kind, n);
	}
	refused = d.bad;
	if (!refused && (enc_end(&e) != size || memcmp(again, copy, size)))
		fuzz_fail("fields with two encodings were accepted");
	free(copy);
	free(again);
	return refused;
}

const struct fuzz_harness fuzz_harness = {
	.name = "codec",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
