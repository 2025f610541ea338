/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Job files of fio as text: sections, settings, comments, include, variables; and values as fio
 * writes them: sizes, times, patterns.
 */
#include "plan/fio.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/arith.h"
#include "xdd/base/file.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

/* ---- variables ---- */

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
	copy = xarena_printf(f->arena, "%.*s", (int)(end - name), name);
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

static int fio_expand(struct fio_file *f, const char *path, unsigned line, const char **value)
{
	const char *text = *value;
	bool keyword = false;
	struct memstream m;
	int err = 0;

	if (!strchr(text, '$'))
		return 0;
	xmemstream_open(&m);
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
	xmemstream_close(&m);
	if (!err && m.size > EXPANDED_MAX_BYTES)
		err = fio_fail(f, path, line, "has more than 65536 bytes with its variables");
	if (!err && keyword)
		multiply(m.text);
	*value = xarena_strdup(f->arena, m.text);
	free(m.text);
	return err;
}

#define INCLUDE_DEPTH_MAX 8
#define SECTION_NAME_MAX 255 /* as in fio */

/* Where the parser is. */
struct source {
	const char *path;
	unsigned line;
	unsigned depth; /* of include */
};

int fio_fail(struct fio_file *f, const char *path, unsigned line, const char *fmt, ...)
{
	va_list ap;

	if (line)
		snprintf(f->why, sizeof(f->why), "%.200s:%u: ", path, line);
	else
		snprintf(f->why, sizeof(f->why), "%.200s: ", path);
	va_start(ap, fmt);
	text_vadd(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

const char *fio_why(const struct fio_file *f)
{
	return f->why;
}

static int fail(struct fio_file *f, const struct source *s, const char *what)
{
	return fio_fail(f, s->path, s->line, "%s", what);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* Cut blanks at both ends, in place. */
static char *trim(char *text)
{
	size_t n;

	while (is_blank(*text))
		text++;
	n = strlen(text);
	while (n && is_blank(text[n - 1]))
		text[--n] = '\0';
	return text;
}

/* Only characters that can be shown: commands and messages repeat what stands here. */
static int check_characters(struct fio_file *f, const struct source *s, const char *text)
{
	for (; *text; text += utf8_length(text)) {
		if (*text != '\t' && printable_unsafe(text))
			return fio_fail(f, s->path, s->line,
					"has the byte 0x%02x, which cannot be printed; expected "
					"text in UTF-8",
					(unsigned)(unsigned char)*text);
	}
	return 0;
}

static void keep_path(struct fio_file *f, const char *path)
{
	struct fio_path *p = xarena_alloc(f->arena, sizeof(*p));

	p->path = xarena_strdup(f->arena, path);
	p->next = f->paths;
	f->paths = p;
}

static int read_file(struct fio_file *f, const struct source *from, const char *path, char **data,
		     size_t *size)
{
	bool standard = strcmp(path, "-") == 0;
	int fd, err;

	if (!standard)
		keep_path(f, path);
	fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		err = -errno;
	else
		err = readfile(fd, FIO_FILE_MAX_BYTES - f->bytes, data, size);
	if (fd >= 0 && !standard)
		close(fd);
	if (!err)
		f->bytes += *size;
	if (!err)
		return 0;
	if (err == -ENOMEM)
		memory_end();
	if (err == -EFBIG)
		return fio_fail(f, path, 0, "is longer than %u bytes, with all that it includes",
				FIO_FILE_MAX_BYTES);
	return from ? fio_fail(f, from->path, from->line, "include %.200s: %s", path,
			       strerror(-err)) :
		      fio_fail(f, standard ? "standard input" : path, 0, "%s", strerror(-err));
}

/* ---- lines ---- */

static int add_section(struct fio_file *f, const struct source *s, const char *name)
{
	struct fio_section *section;

	if (!*name)
		return fail(f, s, "expected a name between [ and ]");
	if (strlen(name) > SECTION_NAME_MAX)
		return fail(f, s, "has a section name of more than 255 characters");
	if (f->n_sections++ >= FIO_SECTIONS_MAX)
		return fail(f, s, "has more than 10000 sections");
	section = xarena_alloc(f->arena, sizeof(*section));
	section->name = xarena_strdup(f->arena, name);
	section->path = s->path;
	section->line = s->line;
	section->global = strncmp(name, "global", strlen("global")) == 0;
	section->end = &section->settings;
	*f->end = section;
	f->end = &section->next;
	f->last = section;
	return 0;
}

static int parse_section(struct fio_file *f, const struct source *s, char *line)
{
	char *end = strchr(line, ']');

	if (!end)
		return fail(f, s, "expected ] after the name of a section");
	if (trim(end + 1)[0])
		return fail(f, s, "expected nothing after the ] of a section");
	if (s->depth)
		return fail(f, s, "a file that is included cannot begin a section");
	*end = '\0';
	return add_section(f, s, trim(line + 1));
}

static int add_setting(struct fio_file *f, const struct source *s, char *line)
{
	struct fio_setting *setting = xarena_alloc(f->arena, sizeof(*setting));
	char *value = strchr(line, '=');
	int err = 0;

	if (value)
		*value++ = '\0';
	line = trim(line);
	if (!*line)
		return fail(f, s, "expected a name before =");
	if (strpbrk(line, " \t"))
		return fio_fail(f, s->path, s->line, "%.60s: expected name=value", line);
	setting->name = xarena_strdup(f->arena, line);
	setting->value = value ? xarena_strdup(f->arena, trim(value)) : NULL;
	if (setting->value)
		err = fio_expand(f, s->path, s->line, &setting->value);
	if (!err && setting->value)
		err = check_characters(f, s, setting->value);
	setting->section = f->last->name;
	setting->path = s->path;
	setting->line = s->line;
	*f->last->end = setting;
	f->last->end = &setting->next;
	return err;
}

static int parse_text(struct fio_file *f, struct source *s, char *text, size_t size);

/* A name that is not found as it stands is looked up beside the file that includes it. */
static int include(struct fio_file *f, const struct source *from, char *name)
{
	struct source s = { .depth = from->depth + 1 };
	const char *path = name;
	size_t size;
	char *data;
	int err;

	if (s.depth > INCLUDE_DEPTH_MAX)
		return fail(f, from, "include: files include each other more than 8 deep");
	if (name[0] != '/' && access(name, F_OK) != 0 && strchr(from->path, '/'))
		path = xarena_printf(f->arena, "%.*s%s", (int)(path_last(from->path) - from->path),
				     from->path, name);
	s.path = xarena_strdup(f->arena, path);
	err = read_file(f, from, path, &data, &size);
	if (err)
		return err;
	err = parse_text(f, &s, data, size);
	free(data);
	return err;
}

static int parse_line(struct fio_file *f, const struct source *s, char *line)
{
	static const char word[] = "include";
	int err;

	line = trim(line);
	line[strcspn(line, ";#")] = '\0';
	line = trim(line);
	if (!*line)
		return 0;
	err = check_characters(f, s, line);
	if (err)
		return err;
	if (*line == '[')
		return parse_section(f, s, line);
	if (strncmp(line, word, sizeof(word) - 1) == 0 && is_blank(line[sizeof(word) - 1]))
		return include(f, s, trim(line + sizeof(word)));
	if (!f->last)
		return fail(f, s, "expected a section, such as [job], before the first setting");
	return add_setting(f, s, line);
}

static int parse_text(struct fio_file *f, struct source *s, char *text, size_t size)
{
	char *end = text + size;
	int err = 0;

	while (!err && text < end) {
		char *stop = memchr(text, '\n', (size_t)(end - text));

		if (!stop)
			stop = end;
		s->line++;
		if (memchr(text, '\0', (size_t)(stop - text)))
			return fail(f, s, "has a NUL byte; expected text");
		*stop = '\0'; /* the file is followed by a NUL */
		err = parse_line(f, s, text);
		text = stop + 1;
	}
	return err;
}

int fio_read(struct fio_file *f, const char *path)
{
	struct source s = { .path = path };
	size_t size;
	char *data;
	int err;

	f->end = &f->sections;
	err = read_file(f, NULL, path, &data, &size);
	if (err)
		return err;
	if (strcmp(path, "-") == 0)
		s.path = "standard input";
	err = parse_text(f, &s, data, size);
	free(data);
	return err;
}

int fio_read_word(struct fio_file *f, unsigned number, const char *name, const char *value)
{
	struct source s = { .path = "command line", .line = number };
	const char *text = value ? xarena_printf(f->arena, "%s=%s", name, value) : name;
	char *copy = xarena_strdup(f->arena, text);
	int err;

	if (!f->end)
		f->end = &f->sections;
	err = check_characters(f, &s, copy);
	if (!err && strcmp(name, "name") == 0 && value)
		return add_section(f, &s, value);
	if (!err && !f->last)
		err = add_section(f, &s, "global");
	return err ? err : add_setting(f, &s, copy);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The digits at `*text`, decimal, or hexadecimal after 0x. */
static int parse_whole(const char **text, uint64_t *value)
{
	bool hex = (*text)[0] == '0' && ((*text)[1] == 'x' || (*text)[1] == 'X');
	const char *from = *text + (hex ? 2 : 0);
	unsigned long long v;
	char *end;

	if (strspn(from, hex ? "0123456789abcdefABCDEF" : "0123456789") == 0)
		return -EINVAL;
	errno = 0;
	v = strtoull(from, &end, hex ? 16 : 10);
	if (errno == ERANGE)
		return -ERANGE;
	*value = v;
	*text = end;
	return 0;
}

/* The digits after a decimal point, as a share of one. */
static double parse_fraction(const char **text)
{
	double share = 0, digit = 1;

	if (**text != '.')
		return 0;
	while (is_digit(*++*text)) {
		digit /= 10;
		share += digit * (**text - '0');
	}
	return share;
}

int fio_parse_bytes(const char *text, unsigned kb_base, uint64_t *value)
{
	static const char letters[] = "kmgtp";
	uint64_t whole, base = kb_base;
	const char *letter;
	bool cut, hex = text[0] == '0' && (text[1] | 0x20) == 'x';
	int err = parse_whole(&text, &whole);

	if (err)
		return err;
	/* Fractions are cut off, as in fio, which takes no unit after them or after 0x. */
	cut = *text == '.' || hex;
	parse_fraction(&text);
	letter = *text ? strchr(letters, *text | 0x20) : NULL;
	if (letter && cut)
		return -EINVAL;
	if (letter) {
		text++;
		/* With kb_base=1024, which is the default, fio has 4k = 4096 and 4kib = 4000. */
		if ((text[0] | 0x20) == 'i') {
			if ((text[1] | 0x20) == 'b')
				base = kb_base == 1000 ? 1024 : 1000;
			text++;
		}
	}
	if ((*text | 0x20) == 'b')
		text++;
	if (*text)
		return -EINVAL;
	for (size_t i = 0; letter && i <= (size_t)(letter - letters); i++) {
		if (__builtin_mul_overflow(whole, base, &whole))
			return -ERANGE;
	}
	*value = whole;
	return 0;
}

/* Nanoseconds of the unit at `*text`, which is passed by. 0: it is none. */
static uint64_t time_unit(const char **text)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "msec", NS_PER_MS },
		{ "usec", NS_PER_US },
		{ "nsec", 1 },
		{ "min", 60 * NS_PER_SEC },
		{ "sec", NS_PER_SEC },
		{ "ms", NS_PER_MS },
		{ "us", NS_PER_US },
		{ "ns", 1 },
		{ "s", NS_PER_SEC },
		{ "m", 60 * NS_PER_SEC },
		{ "h", 3600 * NS_PER_SEC },
		{ "d", 24 * 3600 * NS_PER_SEC },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].name);

		if (strncasecmp(*text, units[i].name, n) == 0) {
			*text += n;
			return units[i].ns;
		}
	}
	return 0;
}

int fio_parse_time(const char *text, uint64_t unit_ns, uint64_t *ns)
{
	uint64_t sum = 0;

	do {
		uint64_t whole, part, unit = unit_ns;
		double fraction;
		int err = parse_whole(&text, &whole);

		if (err)
			return err;
		fraction = parse_fraction(&text);
		while (*text == ' ')
			text++;
		if (*text)
			unit = time_unit(&text);
		if (!unit)
			return -EINVAL;
		if (__builtin_mul_overflow(whole, unit, &part) ||
		    __builtin_add_overflow(part, (uint64_t)(fraction * (double)unit), &part) ||
		    __builtin_add_overflow(sum, part, &sum))
			return -ERANGE;
	} while (*text);
	*ns = sum;
	return 0;
}

char *fio_size_text(uint64_t bytes, char *buf)
{
	static const char suffixes[] = "BkMGT";
	size_t i = 0;

	while (bytes && bytes % 1024 == 0 && i < sizeof(suffixes) - 2) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, FIO_SIZE_SIZE, "%llu%c", (unsigned long long)bytes, suffixes[i]);
	return buf;
}

char *fio_time_text(uint64_t ns, char *buf)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} units[] = { { "", NS_PER_SEC }, { "ms", NS_PER_MS }, { "us", NS_PER_US }, { "ns", 1 } };
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	snprintf(buf, FIO_SIZE_SIZE, "%llu%s", (unsigned long long)(ns / units[i].ns),
		 units[i].suffix);
	return buf;
}

/* ---- several sizes ---- */

static int compare_splits(const void *a, const void *b)
{
	const struct fio_split *x = a, *y = b;

	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Read "4k/60:64k/40". Returns the number of sizes, or -EINVAL. */
static int read_splits(const char *text, unsigned kb_base, struct fio_split *list)
{
	int n = 0;

	for (const char *end = text + strcspn(text, ","); text < end; text++) {
		size_t size = strcspn(text, "/:,"), percent;
		char word[32], *rest;

		if (n == MIX_MAX_SIZES)
			return -EINVAL;
		snprintf(word, sizeof(word), "%.*s", (int)(size < 31 ? size : 31), text);
		if (fio_parse_bytes(word, kb_base, &list[n].bytes) || !list[n].bytes)
			return -EINVAL;
		text += size;
		percent = *text == '/' ? strcspn(++text, ":,") : 0;
		list[n].percent = percent ? strtoul(text, &rest, 10) : 0;
		if (percent && (rest != text + percent || list[n].percent > 100))
			return -EINVAL;
		list[n++].blank = !percent;
		text += percent;
	}
	return n;
}

/*
 * The percentages as weights, which are all there are, and each size once. Returns the number of
 * sizes, or -EINVAL if they are more than 100 % together.
 */
static int weigh_splits(struct fio_split *list, int n)
{
	uint64_t sum = 0, blank = 0, common = 0;
	int kept = 0;

	for (int i = 0; i < n; i++) {
		sum += list[i].percent;
		blank += list[i].blank;
	}
	if (!n || sum > 100 || (sum == 0 && !blank))
		return -EINVAL;
	for (int i = 0; i < n; i++) {
		list[i].percent *= blank ? blank : 1;
		if (list[i].blank)
			list[i].percent = 100 - sum;
	}
	qsort(list, (size_t)n, sizeof(*list), compare_splits);
	for (int i = 0; i < n; i++) {
		if (!list[i].percent)
			continue;
		if (kept && list[kept - 1].bytes == list[i].bytes)
			list[kept - 1].percent += list[i].percent;
		else
			list[kept++] = list[i];
	}
	for (int i = 0; i < kept; i++)
		common = gcd(common, list[i].percent);
	for (int i = 0; i < kept; i++)
		list[i].percent /= common;
	return kept;
}

int fio_parse_splits(const char *text, unsigned kb_base, struct fio_split *list)
{
	const int n = read_splits(text, kb_base, list);

	return n < 0 ? n : weigh_splits(list, n);
}

const char *fio_splits_text(struct arena *arena, const struct fio_split *list, int n)
{
	const char *words = "";
	char size[FIO_SIZE_SIZE];

	for (int i = 0; i < n; i++)
		words = xarena_printf(arena, "%s%s%s:%llu", words, i ? "," : "",
				      fio_size_text(list[i].bytes, size),
				      (unsigned long long)list[i].percent);
	return words;
}

/* ---- patterns ---- */

/* "text", where a backslash protects the next character. */
static int put_string(FILE *out, const char **text)
{
	const char *c = *text + 1;

	for (; *c && *c != '"'; c++) {
		if (*c == '\\' && c[1])
			c++;
		fprintf(out, "%02x", (unsigned)(unsigned char)*c);
	}
	if (*c != '"')
		return -EINVAL;
	*text = c + 1;
	return 0;
}

static void put_hex(FILE *out, const char **text)
{
	const char *from = *text + 2;
	size_t n = strspn(from, "0123456789abcdefABCDEF");

	fprintf(out, "%s%.*s", n % 2 ? "0" : "", (int)n, from);
	*text = from + n;
}

/* A decimal number: its bytes, the lowest first; four of a negative one, as in fio. */
static int put_decimal(FILE *out, const char **text)
{
	bool negative = **text == '-';
	uint64_t value;

	if (negative)
		++*text;
	if (!is_digit(**text) || parse_whole(text, &value) || (negative && value > INT32_MAX))
		return -EINVAL;
	if (negative) {
		uint32_t low = 0u - (uint32_t)value;

		for (int i = 0; i < 4; i++, low >>= 8)
			fprintf(out, "%02x", (unsigned)(low & 0xff));
		return 0;
	}
	do {
		fprintf(out, "%02x", (unsigned)(value & 0xff));
		value >>= 8;
	} while (value);
	return 0;
}

int fio_parse_pattern(struct arena *arena, const char *text, const char **hex)
{
	struct memstream m;
	int err = *text ? 0 : -EINVAL;

	xmemstream_open(&m);
	while (!err && *text) {
		if (*text == '"')
			err = put_string(m.f, &text);
		else if (text[0] == '0' && (text[1] | 0x20) == 'x' && text[2])
			put_hex(m.f, &text);
		else
			err = put_decimal(m.f, &text);
	}
	xmemstream_close(&m);
	if (!err && !m.size)
		err = -EINVAL;
	if (!err)
		*hex = xarena_strdup(arena, m.text);
	free(m.text);
	return err;
}
