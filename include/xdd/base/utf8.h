/*
 * UTF-8, for texts of people that go into JSON. Pure functions; any thread.
 */
#ifndef XDD_BASE_UTF8_H
#define XDD_BASE_UTF8_H

#include <stddef.h>

/*
 * The bytes of the character at `s` when it is well-formed UTF-8, else 0. At the end of a text the NUL counts
 * as a character. The Unicode Standard, table 3-7.
 */
size_t utf8_length(const char *s);

#endif
