/*
 * Measured numbers for people: three significant digits and a decimal unit, such as "412 MB/s".
 *
 * Each function writes to `buf` (SCALED_SIZE bytes) and returns it. A value that rounds to the next
 * unit is written in that unit: 999.7 kB/s is "1.00 MB/s". A value that is unknown or infinite is
 * "-". The decimal point does not depend on the locale. Sizes that are powers of two are those of
 * units_size_text(). Pure functions; any thread.
 */
#ifndef XDD_BASE_SCALED_H
#define XDD_BASE_SCALED_H

#define SCALED_SIZE 24

/* Bytes per second: "412 MB/s", "512 B/s", "0 B/s". */
char *scaled_rate(double bytes_per_s, char *buf);

/* Operations per second: "103 k/s", "512 /s", "1.94 /s". */
char *scaled_ops(double per_s, char *buf);

/* A time in nanoseconds: "120 ns", "12.0 us", "1.94 ms", "3.00 s"; from 1000 s on in min or h. */
char *scaled_time(double ns, char *buf);

/* An amount: "67.1 MB", "512 B"; whole numbers below 1000 have no decimals. */
char *scaled_bytes(double bytes, char *buf);

/* A number without a unit: "1.25 M", "999", "12"; whole numbers below 1000 have no decimals. */
char *scaled_count(double n, char *buf);

#endif
