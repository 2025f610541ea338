/*
 * Variables in the values of a job file: ${NAME} of the environment, and the keywords of fio.
 * Called by the parser.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/fio.h"
#include "xdd/base/memstream.h"

#define EXPANDED_MAX_BYTES 65536

static long keyword_number(size_t i)
{
	static const int of[] = { _SC_PAGESIZE, _SC_PHYS_PAGES, _SC_NPROCESSORS_ONLN };
	long n = sysconf(of[i]);

	return i == 1 ? n / ((1 << 20) / sysconf(_SC_PAGESIZE)) : n;
}

/* Replace a keyword at `*text` by its number. False: there is none. */
static bool put_keyword(FILE *out, const char **text)
{
	static const char *const words[] = { "$pagesize", "$mb_memory", "$ncpus" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strncmp(*text, words[i], strlen(words[i])) != 0)
			continue;
		fprintf(out, "%ld", keyword_number(i));
		*text += strlen(words[i]);
		return true;
	}
	return false;
}

static int put_variable(struct fio_file *f, FILE *out, const char *path, unsigned line,
			const char **text)
{
	const char *name = *text + 2, *end = strchr(name, '}'), *value;
	char *copy;

	if (!end)
		return fio_fail(f, path, line, "expected } after ${");
	copy = arena_printf(f->arena, "%.*s", (int)(end - name), name);
	if (!copy)
		return -ENOMEM;
	value = getenv(copy);
	if (!value)
		return fio_fail(f, path, line, "${%.60s} is not set in the environment", copy);
	fputs(value, out);
	*text = end + 1;
	return 0;
}

/* "4096*8", which a keyword has begun, is its product, as in fio. */
static void multiply(char *text)
{
	unsigned long long product = 1;
	const char *at = text;

	if (!strchr(text, '*') || text[strspn(text, "0123456789*")])
		return;
	for (;;) {
		char *end;
		unsigned long long factor = strtoull(at, &end, 10);

		if (end == at || __builtin_mul_overflow(product, factor, &product))
			return;
		at = end;
		if (!*at)
			break;
		at++;
	}
	/* No product has more digits than its factors. */
	sprintf(text, "%llu", product);
}

int fio_expand(struct fio_file *f, const char *path, unsigned line, const char **value)
{
	const char *text = *value;
	bool keyword = false;
	struct memstream m;
	int err = 0;

	if (!strchr(text, '$'))
		return 0;
	if (!memstream_open(&m))
		return -ENOMEM;
	while (!err && *text && ftell(m.f) <= EXPANDED_MAX_BYTES) {
		if (text[0] == '\\' && text[1] == '$') {
			fputc('$', m.f);
			text += 2;
		} else if (text[0] == '$' && text[1] == '{') {
			err = put_variable(f, m.f, path, line, &text);
		} else if (text[0] == '$' && put_keyword(m.f, &text)) {
			keyword = true;
		} else {
			fputc(*text++, m.f);
		}
	}
	if (memstream_close(&m))
		return -ENOMEM;
	if (!err && m.size > EXPANDED_MAX_BYTES)
		err = fio_fail(f, path, line, "has more than 65536 bytes with its variables");
	if (!err && keyword)
		multiply(m.text);
	*value = arena_strdup(f->arena, m.text);
	free(m.text);
	return err || *value ? err : -ENOMEM;
}
