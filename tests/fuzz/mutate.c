/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mutations of inputs, and the generator of their random numbers. Called by the driver and the
 * harnesses.
 */
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "xdd/base/random.h"

uint64_t fuzz_u64(struct fuzz_random *r)
{
	r->state += RANDOM_GOLDEN;
	return random_splitmix64(r->state);
}

size_t fuzz_below(struct fuzz_random *r, size_t bound)
{
	return (size_t)(((unsigned __int128)fuzz_u64(r) * bound) >> 64);
}

bool fuzz_once_in(struct fuzz_random *r, size_t n)
{
	return fuzz_below(r, n) == 0;
}

uint64_t fuzz_amount(struct fuzz_random *r)
{
	uint64_t value = fuzz_u64(r) >> 1;

	return value >> fuzz_below(r, 63);
}

void fuzz_text(struct fuzz_random *r, char *out, size_t size)
{
	static const char *const pieces[] = { "xdd", " ", "\xc3\xa4", "\xf0\x9f\x98\x80", "." };
	size_t n = fuzz_below(r, 12);

	*out = '\0';
	while (n--) {
		const char *piece = pieces[fuzz_below(r, 5)];

		if (strlen(out) + strlen(piece) < size)
			strcat(out, piece);
	}
}

const char *fuzz_number(struct fuzz_random *r, char *buf, size_t size)
{
	static const char *const limits[] = { "0",
					      "-1",
					      "1",
					      "255",
					      "256",
					      "65535",
					      "65536",
					      "2147483647",
					      "2147483648",
					      "4294967295",
					      "1e3",
					      "4294967296",
					      "0x10",
					      "1.5",
					      "9223372036854775807",
					      "nan",
					      "inf",
					      "1e400",
					      ".",
					      "9223372036854775808",
					      "",
					      "007",
					      "1/3",
					      "+5",
					      "18446744073709551615",
					      " 1",
					      "1 ",
					      "0.0000001",
					      "1,000",
					      "18446744073709551616",
					      "100",
					      "100%",
					      "-0",
					      "0.5,1.5,0..3",
					      "99999999999999999999999" };
	static const char *const units[] = { "", "", "", "k", "m", "g", "K", "Ki", "ms", "s", "%" };

	size_t most, number;

	if (fuzz_once_in(r, 3))
		return limits[fuzz_below(r, sizeof(limits) / sizeof(limits[0]))];
	/* One draw per statement: the compiler chooses the order of arguments. */
	most = (size_t)1 << fuzz_below(r, 14);
	number = fuzz_below(r, most);
	snprintf(buf, size, "%zu%s", number,
		 units[fuzz_below(r, sizeof(units) / sizeof(units[0]))]);
	return buf;
}

/* A position in the input, mostly among its first and last bytes, which matter most. */
static size_t pick(struct fuzz_random *r, size_t size)
{
	size_t near = size < 256 ? size : 256;

	switch (fuzz_below(r, 4)) {
	case 0:
		return fuzz_below(r, near);
	case 1:
		return size - 1 - fuzz_below(r, near);
	default:
		return fuzz_below(r, size);
	}
}

static size_t insert(uint8_t *data, size_t size, size_t at, const void *what, size_t n)
{
	if (size + n > FUZZ_MAX_BYTES)
		return size;
	memmove(data + at + n, data + at, size - at);
	memcpy(data + at, what, n);
	return size + n;
}

static size_t erase(uint8_t *data, size_t size, size_t at, size_t n)
{
	n = n < size - at ? n : size - at;
	memmove(data + at, data + at + n, size - at - n);
	return size - n;
}

/* Replace `width` bytes by a limit, or change their value a little. */
static void change_number(struct fuzz_random *r, uint8_t *data, size_t size, size_t at)
{
	static const uint64_t values[] = { 0,	       1,	   0x7f,       0x80,
					   0xff,       0x100,	   0x7fff,     0x8000,
					   0xffff,     0x10000,	   1024,       1u << 31,
					   0x7fffffff, UINT32_MAX, 1ull << 32, 1ull << 63,
					   INT64_MAX,  UINT64_MAX };
	size_t width = (size_t)1 << fuzz_below(r, 4);
	uint64_t value = 0;

	if (at + width > size)
		return;
	memcpy(&value, data + at, width);
	if (fuzz_once_in(r, 2))
		value += fuzz_below(r, 33) - 16;
	else
		value = values[fuzz_below(r, sizeof(values) / sizeof(values[0]))];
	memcpy(data + at, &value, width);
}

/* Copy a piece of the input over another one. */
static size_t copy_piece(struct fuzz_random *r, uint8_t *data, size_t size)
{
	uint8_t piece[128];
	size_t from = pick(r, size), n = 1 + fuzz_below(r, sizeof(piece));

	n = n < size - from ? n : size - from;
	memcpy(piece, data + from, n);
	return insert(data, size, pick(r, size), piece, n);
}

static size_t mutate_once(struct fuzz_random *r, uint8_t *data, size_t size,
			  const char *const *words, size_t n_words)
{
	uint8_t byte = (uint8_t)fuzz_u64(r);
	char number[32];
	const char *text;
	size_t at;

	if (!size)
		return insert(data, size, 0, &byte, 1);
	at = pick(r, size);
	switch (fuzz_below(r, 9)) {
	case 0:
		data[at] ^= (uint8_t)(1u << fuzz_below(r, 8));
		return size;
	case 1:
		data[at] = byte;
		return size;
	case 2:
		return insert(data, size, at, &byte, 1);
	case 3:
		return erase(data, size, at, 1 + fuzz_below(r, 4));
	case 4:
		return erase(data, size, at, 1 + fuzz_below(r, 64));
	case 5:
		change_number(r, data, size, at);
		return size;
	case 6:
		return copy_piece(r, data, size);
	case 7:
		text = fuzz_number(r, number, sizeof(number));
		return insert(data, size, at, text, strlen(text));
	default:
		text = words[fuzz_below(r, n_words)];
		return insert(data, size, at, text, strlen(text));
	}
}

size_t fuzz_mutate(struct fuzz_random *r, uint8_t *data, size_t size, const char *const *words,
		   size_t n_words)
{
	size_t most = (size_t)1 << fuzz_below(r, 4);

	for (size_t times = 1 + fuzz_below(r, most); times > 0; times--)
		size = mutate_once(r, data, size, words, n_words);
	return size;
}

uint64_t fuzz_hash(const uint8_t *data, size_t size)
{
	uint64_t hash = size;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 0x100000001b3ull;
	return random_splitmix64(hash);
}
