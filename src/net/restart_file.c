/*
 * Restart files as text, and back; see the header. Called by the restart monitor.
 *
 * The text of a record is unique: a decoded record is encoded again, and must give the same text.
 * So values that the file has twice, such as the offset of the first line, cannot differ.
 */
#include "xdd/net/restart_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/restart_field.h"
#include "xdd/base/file.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"

#define OPTION "-restart offset "
#define MAGIC "# xdd restart file, version "
#define COMPLETE "# The copy is complete."
#define CHECKSUM "# checksum "

void restart_record_init(struct restart_record *r)
{
	memset(r, 0, sizeof(*r));
	r->version = RESTART_VERSION;
	extents_init(&r->durable, RESTART_MAX_RANGES);
}

void restart_record_free(struct restart_record *r)
{
	extents_clear(&r->durable);
}

/* ---- encode ---- */

static void put_head(FILE *f, const struct restart_record *r)
{
	if (r->complete) {
		fprintf(f, COMPLETE "\n# %" PRIu64 " bytes written to file ", r->bytes);
		restart_put_text(f, r->destination_name);
		fputc('\n', f);
	} else {
		fprintf(f, OPTION "%" PRIu64 "\n", r->offset_bytes);
	}
	fprintf(f, MAGIC "%u\n", r->version);
}

static void put_record(FILE *f, const struct restart_record *r)
{
	put_head(f, r);
	for (size_t i = 0; i < restart_n_fields; i++) {
		if (!restart_has_field(r, &restart_fields[i]))
			continue;
		fprintf(f, "# %s ", restart_fields[i].name);
		restart_put_field(f, r, &restart_fields[i]);
		fputc('\n', f);
	}
	fprintf(f, "# ranges %zu\n", r->durable.n);
	for (size_t i = 0; i < r->durable.n; i++) {
		const struct extent *e = &r->durable.items[i];

		fprintf(f, "# durable %" PRIu64 " %" PRIu64 "\n", e->begin, e->end - e->begin);
	}
}

int restart_record_encode(const struct restart_record *r, char **text, size_t *size)
{
	struct memstream m;

	*text = NULL;
	*size = 0;
	if (!memstream_open(&m))
		return -ENOMEM;
	put_record(m.f, r);
	if (fflush(m.f)) {
		memstream_discard(&m);
		return -ENOMEM;
	}
	/* Of all bytes before its line. */
	fprintf(m.f, CHECKSUM "%016" PRIx64 "\n", digest_short(m.text, m.size));
	if (memstream_close(&m))
		return -ENOMEM;
	*text = m.text;
	*size = m.size;
	return 0;
}

/* ---- decode ---- */

/* A text that is being decoded. */
struct reader {
	char *at; /* the next line */
	unsigned line;
	char *why;
	size_t why_size;
};

static int fail(struct reader *rd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct reader *rd, const char *fmt, ...)
{
	int n = snprintf(rd->why, rd->why_size, "line %u: ", rd->line);
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < rd->why_size)
		vsnprintf(rd->why + n, rd->why_size - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* The next line without its end, which each line has. NULL: there is none. */
static char *next_line(struct reader *rd)
{
	char *line = rd->at, *end = strchr(line, '\n');

	rd->line++;
	if (!end)
		return NULL;
	*end = '\0';
	rd->at = end + 1;
	return line;
}

/* The rest of the next line after `prefix`. NULL: it has another beginning. */
static char *next_value(struct reader *rd, const char *prefix)
{
	char *line = next_line(rd);
	size_t n = strlen(prefix);

	return line && strncmp(line, prefix, n) == 0 ? line + n : NULL;
}

/* The first line or, of a complete copy, the first two; and the version. */
static int take_head(struct reader *rd, struct restart_record *r)
{
	char *line = next_line(rd), *value;
	uint64_t version;

	if (line && strcmp(line, COMPLETE) == 0)
		r->complete = next_line(rd) != NULL;
	else if (!line || strncmp(line, OPTION, strlen(OPTION)) != 0 ||
		 units_parse_u64(line + strlen(OPTION), &r->offset_bytes))
		return fail(rd, "is not from a restart file of xdd");
	value = next_value(rd, MAGIC);
	if (!value || units_parse_u64(value, &version))
		return fail(rd, "is not from a restart file of xdd");
	if (!version || version > RESTART_VERSION)
		return fail(rd, "is of version %" PRIu64 ", this xdd reads versions 1 to %d",
			    version, RESTART_VERSION);
	r->version = (unsigned)version;
	return 0;
}

static int take_fields(struct reader *rd, struct restart_record *r)
{
	for (size_t i = 0; i < restart_n_fields; i++) {
		const struct restart_field *field = &restart_fields[i];
		char prefix[64], *value;

		if (!restart_has_field(r, field))
			continue;
		snprintf(prefix, sizeof(prefix), "# %s ", field->name);
		value = next_value(rd, prefix);
		if (!value || !restart_parse_field(value, r, field))
			return fail(rd, "expected \"%s%s\"", prefix, restart_field_form(field));
	}
	return 0;
}

static bool parse_range(char *text, struct wire_range *range)
{
	char *blank = strchr(text, ' ');

	if (!blank)
		return false;
	*blank = '\0';
	return units_parse_u64(text, &range->first) == 0 &&
	       units_parse_u64(blank + 1, &range->count) == 0;
}

static int take_ranges(struct reader *rd, struct restart_record *r)
{
	char *value = next_value(rd, "# ranges ");
	uint64_t n, end = 0;

	if (!value || units_parse_u64(value, &n) || n > RESTART_MAX_RANGES)
		return fail(rd, "expected \"# ranges NUMBER\", at most %d", RESTART_MAX_RANGES);
	for (uint64_t i = 0; i < n; i++) {
		struct wire_range range;
		int err;

		value = next_value(rd, "# durable ");
		if (!value || !parse_range(value, &range))
			return fail(rd, "expected \"# durable FIRST COUNT\"");
		/* Ranges that touch would be one. */
		if (!range.count || range.first > r->ops || range.count > r->ops - range.first ||
		    (i && range.first <= end))
			return fail(rd, "these operations are out of order or not of the copy");
		end = range.first + range.count;
		err = extents_add(&r->durable, range.first, end);
		if (err)
			return err;
	}
	return 0;
}

/* Check the relations between fields. */
static int check(struct reader *rd, const struct restart_record *r)
{
	uint64_t full, durable;

	if (!r->req_bytes || __builtin_mul_overflow(r->ops, r->req_bytes, &full) ||
	    r->bytes > full || full - r->bytes >= r->req_bytes)
		return fail(rd, "the numbers of bytes and operations above do not match");
	durable = r->durable.total * r->req_bytes;
	/* Only the last operation may be shorter. */
	if (r->ops && extents_contains(&r->durable, r->ops - 1, r->ops))
		durable -= full - r->bytes;
	if (r->durable_bytes != durable || (r->complete && durable != r->bytes))
		return fail(rd, "the durable operations have %" PRIu64 " bytes, not %" PRIu64,
			    durable, r->durable_bytes);
	if (r->end_bytes > INT64_MAX || r->offset_bytes > INT64_MAX ||
	    r->destination_start_bytes > INT64_MAX)
		return fail(rd, "an offset above is larger than any file");
	return 0;
}

/* Compare with the text that `r` gives: it has the checksum, and each value in one form only. */
static int check_text(struct reader *rd, const char *text, size_t size,
		      const struct restart_record *r)
{
	size_t same = 0, own_size;
	char *own;
	int err = restart_record_encode(r, &own, &own_size);

	if (err)
		return err;
	while (same < size && same < own_size && text[same] == own[same])
		same++;
	free(own);
	if (same == size && same == own_size)
		return 0;
	rd->line = 1;
	for (size_t i = 0; i < same; i++)
		rd->line += text[i] == '\n';
	return fail(rd, "does not match the rest: the file is damaged");
}

static int decode(struct reader *rd, struct restart_record *r)
{
	int err = take_head(rd, r);

	if (!err)
		err = take_fields(rd, r);
	if (!err)
		err = take_ranges(rd, r);
	if (!err)
		err = check(rd, r);
	if (!err && !next_value(rd, CHECKSUM))
		err = fail(rd, "expected \"" CHECKSUM "NUMBER\": the file is incomplete");
	return err;
}

int restart_record_decode(const char *text, size_t size, struct restart_record *r, char *why,
			  size_t why_size)
{
	struct reader rd = { .line = 1, .why = why, .why_size = why_size };
	char *copy;
	int err;

	if (size > RESTART_MAX_BYTES || memchr(text, '\0', size))
		return fail(&rd, "is not from a restart file of xdd");
	rd.line = 0;
	copy = malloc(size + 1);
	if (!copy) {
		snprintf(why, why_size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	memcpy(copy, text, size);
	copy[size] = '\0';
	rd.at = copy;
	err = decode(&rd, r);
	if (!err)
		err = check_text(&rd, text, size, r);
	if (err == -ENOMEM)
		snprintf(why, why_size, "%s", strerror(ENOMEM));
	free(copy);
	return err;
}

/* ---- files ---- */

static int read_text(const char *path, char **text, size_t *size)
{
	/* A pipe without a writer would be waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EMEDIUMTYPE;
	if (!err)
		err = readfile(fd, RESTART_MAX_BYTES, text, size);
	close(fd);
	return err;
}

int restart_record_read(const char *path, struct restart_record *r, char *why, size_t why_size)
{
	char *text = NULL;
	size_t size = 0;
	int err = read_text(path, &text, &size);

	if (err == -EMEDIUMTYPE)
		snprintf(why, why_size, "is not a regular file");
	else if (err)
		snprintf(why, why_size, "cannot be read (%s)", strerror(-err));
	else if (!size)
		err = -ENOENT;
	else
		err = restart_record_decode(text, size, r, why, why_size);
	free(text);
	return err;
}

int restart_record_write(const char *path, const struct restart_record *r)
{
	struct newfile n;
	size_t size;
	char *text;
	int err = restart_record_encode(r, &text, &size);

	if (err)
		return err;
	err = newfile_open(&n, path);
	if (!err) {
		n.durable = true;
		errno = 0;
		if (fwrite(text, 1, size, n.f) != size)
			err = errno ? -errno : -EIO;
		err = newfile_close(&n, err);
	}
	free(text);
	return err;
}
