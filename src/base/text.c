/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text: names of files, text from outside, words for a shell, and suggestions after a misspelt
 * option, keyword or column. Called where files are checked and made, and by the writers of
 * results, tables, reports and command lines.
 */
#include "xdd/base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "xdd/base/memory.h"

char *text_vadd(char *buf, size_t size, const char *fmt, va_list ap)
{
	const size_t length = strlen(buf);

	vsnprintf(buf + length, size - length, fmt, ap);
	return buf;
}

char *text_add(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vadd(buf, size, fmt, ap);
	va_end(ap);
	return buf;
}

char *text_list(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;

	if (*buf)
		text_add(buf, size, ", ");
	va_start(ap, fmt);
	text_vadd(buf, size, fmt, ap);
	va_end(ap);
	return buf;
}

char *text_hex(const void *bytes, size_t n, char *buf)
{
	for (size_t i = 0; i < n; i++)
		sprintf(buf + 2 * i, "%02x", ((const unsigned char *)bytes)[i]);
	buf[2 * n] = '\0';
	return buf;
}

void text_fold(FILE *f, const char *text, int width, int indent)
{
	int at = indent;

	while (*text) {
		const int len = (int)strcspn(text, " ");

		if (at > indent && at + 1 + len > width) {
			fprintf(f, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', f);
			at++;
		}
		fprintf(f, "%.*s", len, text);
		at += len;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', f);
}

size_t list_next(const char **list, const char **word)
{
	size_t length;

	if (!*list)
		return 0;
	*word = *list + strspn(*list, " ,");
	length = strcspn(*word, " ,");
	*list = *word + length;
	return length;
}

bool list_has(const char *list, const char *word, size_t length,
	      int (*compare)(const char *, const char *, size_t))
{
	const char *own;

	for (size_t n; (n = list_next(&list, &own));) {
		if (n == length && compare(own, word, n) == 0)
			return true;
	}
	return false;
}

const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_directory(const char *path)
{
	size_t len = (size_t)(path_last(path) - path);

	if (len == 0)
		return strdup(".");
	return strndup(path, len > 1 ? len - 1 : len);
}

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

/* Bytes of printable ASCII at the start of `text`, up to a `doubled` one. */
static size_t plain_length(const char *text, char doubled)
{
	size_t len = 0;

	while (text[len] >= ' ' && text[len] <= '~' && text[len] != doubled)
		len++;
	return len;
}

/* Bytes of `kept` are unchanged; a `doubled` one, unless that is NUL, comes twice. */
static void put(FILE *f, const char *text, const char *kept, char doubled)
{
	for (;;) {
		size_t len = plain_length(text, doubled), unsafe;

		fwrite(text, 1, len, f);
		text += len;
		if (!*text)
			return;
		unsafe = strchr(kept, *text) ? 0 : printable_unsafe(text);
		len = unsafe ? unsafe : utf8_length(text);
		if (*text == doubled)
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
	put(f, text, "", '\0');
}

void printable_put_exact(FILE *f, const char *text)
{
	put(f, text, "", '\\');
}

void printable_put_lines(FILE *f, const char *text)
{
	put(f, text, "\n\t", '\0');
}

char *printable_dup(const char *text, bool lines)
{
	struct memstream m;

	if (!memstream_open(&m))
		return NULL;
	put(m.f, text, lines ? "\n\t" : "", '\0');
	return memstream_close(&m) ? NULL : m.text;
}

size_t utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (*s < 0x80)
		return 1;
	if (*s < 0xc2 || *s > 0xf4)
		return 0;
	len = *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	if (*s == 0xe0)
		low = 0xa0;
	else if (*s == 0xed)
		high = 0x9f;
	else if (*s == 0xf0)
		low = 0x90;
	else if (*s == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < len; i++) {
		if (s[i] < low || s[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

#define DIGITS 15 /* that each double keeps */
#define MOST_DECIMALS 24

void csvtext_write(FILE *f, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

char *csvtext_number(double x, char text[CSVTEXT_NUMBER_SIZE])
{
	const int before = x != 0 ? (int)floor(log10(fabs(x))) + 1 : 1;
	const int decimals = before >= DIGITS ? 0 : DIGITS - before;
	size_t n;

	snprintf(text, CSVTEXT_NUMBER_SIZE, "%.*f",
		 decimals < MOST_DECIMALS ? decimals : MOST_DECIMALS, x);
	n = strlen(text);
	if (strchr(text, '.')) {
		while (text[n - 1] == '0')
			n--;
		n -= text[n - 1] == '.';
		text[n] = '\0';
	}
	return text;
}

char *quote_word(struct arena *arena, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./+:,=@%";
	char *out, *o;

	if (*word && !word[strspn(word, plain)])
		return arena_strdup(arena, word);
	out = arena_alloc(arena, strlen(word) * 4 + 3);
	if (!out)
		return NULL;
	o = out;
	*o++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			o = stpcpy(o, "'\\''");
		else
			*o++ = *word;
	}
	*o++ = '\'';
	*o = '\0';
	return out;
}

#define SUGGEST_MAX_LEN 63

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

unsigned suggest_distance(const char *a, size_t a_len, const char *b)
{
	size_t b_len = strlen(b);
	unsigned row[3][SUGGEST_MAX_LEN + 1];
	unsigned *before = row[0], *last = row[1], *now = row[2];

	if (a_len > SUGGEST_MAX_LEN || b_len > SUGGEST_MAX_LEN)
		return (unsigned)(a_len > b_len ? a_len : b_len);
	for (size_t j = 0; j <= b_len; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned *spare = before;
		int ca = tolower((unsigned char)a[i - 1]);

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			int cb = tolower((unsigned char)b[j - 1]);

			now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
			    cb == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[b_len];
}

int suggest_is_near(unsigned distance, size_t len)
{
	return distance <= 1 + len / 4 && distance < len;
}

const char *suggest_nearest(const char *word, suggest_word_at at, const void *words)
{
	const char *candidate, *nearest = NULL;
	size_t len = strlen(word);
	unsigned best = 0;

	for (size_t i = 0; (candidate = at(words, i)) != NULL; i++) {
		unsigned d = suggest_distance(word, len, candidate);

		if (!nearest || d < best) {
			best = d;
			nearest = candidate;
		}
	}
	return nearest && suggest_is_near(best, len) ? nearest : NULL;
}
