/*
 * Numbers as people write them, and back. Pure functions; any thread.
 *
 * A parser accepts the whole word or nothing: leading blanks, signs, other letters and empty words
 * are -EINVAL, a value that does not fit is -ERANGE. No locale counts. `*value` is written only on
 * success (0).
 */
#ifndef XDD_BASE_UNITS_H
#define XDD_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits only: for files and protocols. */
int units_parse_u64(const char *word, uint64_t *value);

/* True if something follows the number: "4k" and "70%", but not "4", "0.5" or "k". */
bool units_has_suffix(const char *word);

/*
 * A whole number, or a number with decimals and one of k M G T in any case, for powers of 1000:
 * 1k and 1.5k, but not 1.2345k.
 */
int units_parse_count(const char *word, uint64_t *value);

/*
 * A number of bytes: digits, or a number with decimals and a suffix in any case: k Ki KiB, M Mi MiB
 * and so on up to T for powers of 1024, kB MB GB TB for powers of 1000, B for bytes. `*bytes` is
 * rounded to the nearest.
 */
int units_parse_size(const char *word, uint64_t *bytes);

/*
 * As units_parse_size(), but a number without a suffix, with decimals if need be, is in units of
 * `bare` bytes.
 */
int units_parse_amount(const char *word, uint64_t bare, uint64_t *bytes);

/*
 * A percentage, 0 to 100 with decimals, and % if need be; `*millionths` in units of 10^-6 percent,
 * rounded to the nearest. A larger one is -ERANGE.
 */
int units_parse_percent(const char *word, uint64_t *millionths);

/* As units_parse_percent(), in percent. */
int units_parse_percentage(const char *word, double *percent);

/* A decimal fraction such as 30.2, .5 or 7; no exponent, no hexadecimal, no inf or nan. */
int units_parse_real(const char *word, double *value);

/*
 * Operations per second, with decimals: 200, 10k or 0.5M, as in units_parse_count(); then /s if
 * need be.
 */
int units_parse_op_rate(const char *word, double *per_second);

/*
 * Bytes per second, with decimals: a suffix is as in units_parse_size(), then /s if need be, as in
 * 10MB/s; without one the number is in units of `bare` bytes per second.
 */
int units_parse_byte_rate(const char *word, double bare, double *per_second);

/*
 * A time in seconds with decimals, or with one of the suffixes ns, us, ms, s, sec, m, min, h; `*ns`
 * in nanoseconds, rounded to the nearest; a time above 0 is at least 1. A value above 100 years is
 * -ERANGE.
 */
int units_parse_seconds(const char *word, uint64_t *ns);

/*
 * Write `bytes` in the largest power of 1024 that divides it ("4 KiB", "1500 bytes", "1 byte") into
 * `buf` (at least 32 bytes); returns `buf`.
 */
char *units_size_text(uint64_t bytes, char *buf, size_t size);

#endif
