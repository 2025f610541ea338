/*
 * Text in CSV files. Any thread that has the stream.
 */
#ifndef XDD_BASE_CSVTEXT_H
#define XDD_BASE_CSVTEXT_H

#include <stdio.h>

/* Write a field of a CSV file, in quotes where RFC 4180 asks for them. */
void csvtext_write(FILE *f, const char *text);

/* Write a finite number with the 15 digits of a double, without an exponent: 2483780.25. */
void csvtext_number(FILE *f, double x);

#endif
