/*
 * Numbers as people write them, and back. Pure functions; any thread.
 *
 * A parser accepts the whole word or nothing: leading blanks, signs, trailing letters and empty
 * words are -EINVAL, a value that does not fit is -ERANGE. `*value` is written only on success (0).
 */
#ifndef XDD_BASE_UNITS_H
#define XDD_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Decimal digits only. */
int units_parse_u64(const char *word, uint64_t *value);

/* Decimal digits, then at most one of k K m M g G t T (1024, 1024^2, ...); `*bytes` in bytes. */
int units_parse_size(const char *word, uint64_t *bytes);

/* A decimal fraction such as 30.2, .5 or 7; no exponent, no hexadecimal, no inf or nan. */
int units_parse_real(const char *word, double *value);

/*
 * A time in seconds with decimals, or with one of the suffixes ns, us, ms, s, m, h; `*ns` in
 * nanoseconds, rounded to the nearest. A value above 100 years is -ERANGE.
 */
int units_parse_seconds(const char *word, uint64_t *ns);

/*
 * Write `bytes` in the largest power of 1024 that divides it ("4 KiB", "1500 bytes", "1 byte") into
 * `buf` (at least 32 bytes); returns `buf`.
 */
char *units_size_text(uint64_t bytes, char *buf, size_t size);

#endif
