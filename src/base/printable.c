/*
 * Text from outside for a terminal; see the header. Called where results and reports are written.
 */
#include "xdd/base/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/memstream.h"
#include "xdd/base/utf8.h"

/* Of a well-formed sequence. */
static uint32_t code_point(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;
	uint32_t code = len == 1 ? u[0] : u[0] & (0x7fu >> len);

	for (size_t i = 1; i < len; i++)
		code = code << 6 | (u[i] & 0x3f);
	return code;
}

/* C0, DEL and C1; marks, embeddings, overrides and isolates of direction; separators of lines. */
static bool is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
	       code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

size_t printable_unsafe(const char *s)
{
	size_t len = utf8_length(s);

	if (!len)
		return 1;
	return is_unsafe(code_point(s, len)) ? len : 0;
}

bool printable_is_safe(const char *text)
{
	for (; *text; text += utf8_length(text)) {
		if (printable_unsafe(text))
			return false;
	}
	return true;
}

void printable_mask(char *text)
{
	while (*text) {
		size_t unsafe = printable_unsafe(text);

		memset(text, '?', unsafe);
		text += unsafe ? unsafe : utf8_length(text);
	}
}

static void put_escape(FILE *f, const char *s, size_t len)
{
	unsigned char byte = (unsigned char)*s;

	if (byte == '\n')
		fputs("\\n", f);
	else if (byte == '\t')
		fputs("\\t", f);
	else if (len == 1)
		fprintf(f, "\\x%02x", byte);
	else
		fprintf(f, "\\u%04x", code_point(s, len));
}

/* Bytes of `kept` are unchanged; of `doubled` they come twice. */
static void put(FILE *f, const char *text, const char *kept, const char *doubled)
{
	while (*text) {
		size_t unsafe = strchr(kept, *text) ? 0 : printable_unsafe(text);
		size_t len = unsafe ? unsafe : utf8_length(text);

		if (strchr(doubled, *text))
			fputc(*text, f);
		if (unsafe)
			put_escape(f, text, len);
		else
			fwrite(text, 1, len, f);
		text += len;
	}
}

void printable_put(FILE *f, const char *text)
{
	put(f, text, "", "");
}

void printable_put_exact(FILE *f, const char *text)
{
	put(f, text, "", "\\");
}

void printable_put_lines(FILE *f, const char *text)
{
	put(f, text, "\n\t", "");
}

char *printable_dup(const char *text, bool lines)
{
	struct memstream m;

	if (!memstream_open(&m))
		return NULL;
	put(m.f, text, lines ? "\n\t" : "", "");
	return memstream_close(&m) ? NULL : m.text;
}
