/*
 * UTF-8, for texts from outside that go into JSON. Pure functions; any thread.
 */
#ifndef XDD_BASE_UTF8_H
#define XDD_BASE_UTF8_H

#include <stddef.h>

/*
 * The number of bytes of the character at `s`, or 0 if it is not well-formed UTF-8. The NUL at the
 * end of a text counts as a character. Source: The Unicode Standard, table 3-7.
 */
size_t utf8_length(const char *s);

#endif
