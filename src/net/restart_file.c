/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restart files as text, and back: their fields, with a comparison; see the header. Called by the
 * restart monitor.
 *
 * The text of a record is unique: a decoded record is encoded again, and must give the same text.
 * So values that the file has twice, such as the offset of the first line, cannot differ.
 */
#include "xdd/net/restart_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

enum restart_type {
	RESTART_NUMBER,
	RESTART_SIGNED,
	RESTART_TEXT,
	RESTART_RUN,
	RESTART_DIGEST,
};

struct restart_field {
	const char *name;
	enum restart_type type;
	size_t offset;	/* in struct restart_record */
	size_t size;	/* RESTART_TEXT: of the array */
	unsigned since; /* the first version that has it; 0: all */
	/*
	 * Its meaning, where it belongs to the identity of a copy: the beginning of "... was 5, and
	 * is 6 now". NULL: it may change.
	 */
	const char *identity;
};

#define AT(member) offsetof(struct restart_record, member)
#define TEXT(member) RESTART_TEXT, AT(member), sizeof(((struct restart_record *)0)->member), 0
#define NUMBER(member) RESTART_NUMBER, AT(member), 0, 0
#define SIGNED(member) RESTART_SIGNED, AT(member), 0, 0

#define VALUE_TEXT_MAX 100 /* characters of a value in a message */

static const struct restart_field restart_fields[] = {
	{ "run", RESTART_RUN, AT(run), 0, 0, NULL },
	{ "time", TEXT(time), NULL },
	{ "source-host", TEXT(source_host), "the host of the source" },
	{ "source-name", TEXT(source_name), "the name of the source" },
	{ "source-size", NUMBER(source_size_bytes), "the size of the source in bytes" },
	{ "source-mtime-ns", SIGNED(source_mtime_ns),
	  "the time of the last change of the source, in ns," },
	{ "source-device", NUMBER(source_device), "the device number of the source" },
	{ "source-inode", NUMBER(source_inode), "the inode number of the source" },
	{ "source-ctime-ns", RESTART_SIGNED, AT(source_ctime_ns), 0, 2,
	  "the time of the last change of any kind of the source, in ns," },
	{ "source-start", NUMBER(source_start_bytes), "the start offset in the source" },
	{ "destination-host", TEXT(destination_host), "the host of the destination" },
	{ "destination-name", TEXT(destination_name), "the name of the destination" },
	{ "destination-size", NUMBER(destination_size_bytes), NULL },
	{ "destination-mtime-ns", SIGNED(destination_mtime_ns), NULL },
	{ "destination-birth-ns", SIGNED(destination_birth_ns), NULL },
	{ "destination-device", NUMBER(destination_device),
	  "the device number of the destination" },
	{ "destination-inode", NUMBER(destination_inode), "the inode number of the destination" },
	{ "destination-start", NUMBER(destination_start_bytes),
	  "the start offset in the destination" },
	{ "request-size", NUMBER(req_bytes), "the request size in bytes" },
	{ "bytes", NUMBER(bytes), "the number of bytes to copy" },
	{ "operations", NUMBER(ops), "the number of operations" },
	{ "pattern", NUMBER(pattern), "the hash of the offsets of the source (its -seek options)" },
	{ "durable-bytes", NUMBER(durable_bytes), NULL },
	{ "durable-end", NUMBER(end_bytes), NULL },
	{ "durable-digest", RESTART_DIGEST, AT(digest), 0, 0, NULL },
};

#define RESTART_FIELDS (sizeof(restart_fields) / sizeof(restart_fields[0]))

/* The text of `r` has the field. */
static bool restart_has_field(const struct restart_record *r, const struct restart_field *field)
{
	return r->version >= field->since;
}

/* ---- text ---- */

/* Write `text` as part of one line, with %XX for bytes that are unsafe in it. */
static void restart_put_text(FILE *f, const char *text)
{
	while (*text) {
		size_t unsafe = *text == '%' ? 1 : printable_unsafe(text);
		size_t n = unsafe ? unsafe : utf8_length(text);

		for (; n; n--, text++)
			fprintf(f, unsafe ? "%%%02x" : "%c", (unsigned char)*text);
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Two digits. False: there are others. */
static bool parse_byte(const char *text, uint8_t *byte)
{
	int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);

	if (low < 0)
		return false;
	*byte = (uint8_t)(high << 4 | low);
	return true;
}

static bool parse_bytes(const char *text, uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!parse_byte(text + 2 * i, &bytes[i]))
			return false;
	}
	return !text[2 * n];
}

static bool parse_text(const char *value, char *out, size_t size)
{
	size_t n = 0;

	for (; *value; value++) {
		uint8_t byte = (uint8_t)*value;

		if (byte == '%') {
			if (!parse_byte(value + 1, &byte) || !byte)
				return false;
			value += 2;
		}
		if (n + 1 >= size)
			return false;
		out[n++] = (char)byte;
	}
	out[n] = '\0';
	return true;
}

static bool parse_signed(const char *value, int64_t *number)
{
	bool negative = *value == '-';
	uint64_t size;

	if (units_parse_u64(value + negative, &size) || size > INT64_MAX)
		return false;
	*number = negative ? -(int64_t)size : (int64_t)size;
	return true;
}

/* The high half first: digest_text(). */
static bool parse_digest(const char *value, struct digest *d)
{
	uint8_t bytes[16];

	if (!parse_bytes(value, bytes, sizeof(bytes)))
		return false;
	*d = (struct digest){ 0, 0 };
	for (size_t i = 0; i < 8; i++) {
		d->high = d->high << 8 | bytes[i];
		d->low = d->low << 8 | bytes[8 + i];
	}
	return true;
}

static void restart_put_field(FILE *f, const struct restart_record *r,
			      const struct restart_field *field)
{
	const void *at = (const char *)r + field->offset;
	char text[DIGEST_TEXT_SIZE], id[2 * WIRE_SESSION_BYTES + 1];

	switch (field->type) {
	case RESTART_NUMBER:
		fprintf(f, "%" PRIu64, *(const uint64_t *)at);
		break;
	case RESTART_SIGNED:
		fprintf(f, "%" PRId64, *(const int64_t *)at);
		break;
	case RESTART_TEXT:
		restart_put_text(f, at);
		break;
	case RESTART_RUN:
		fputs(text_hex(at, WIRE_SESSION_BYTES, id), f);
		break;
	case RESTART_DIGEST:
		fputs(digest_text(*(const struct digest *)at, text), f);
		break;
	}
}

/* Write the value of a field, or parse it; false: it is malformed or out of range. */
static bool restart_parse_field(const char *value, struct restart_record *r,
				const struct restart_field *field)
{
	void *at = (char *)r + field->offset;

	switch (field->type) {
	case RESTART_NUMBER:
		return units_parse_u64(value, at) == 0;
	case RESTART_SIGNED:
		return parse_signed(value, at);
	case RESTART_TEXT:
		return parse_text(value, at, field->size);
	case RESTART_RUN:
		return parse_bytes(value, at, WIRE_SESSION_BYTES);
	case RESTART_DIGEST:
		return parse_digest(value, at);
	}
	return false;
}

/* A word for the form of its value, for messages. */
static const char *restart_field_form(const struct restart_field *field)
{
	switch (field->type) {
	case RESTART_NUMBER:
	case RESTART_SIGNED:
		return "NUMBER";
	case RESTART_TEXT:
		return "TEXT";
	case RESTART_RUN:
	case RESTART_DIGEST:
		break;
	}
	return "32 HEXADECIMAL DIGITS";
}

/* ---- identity ---- */

/* The text of a value, which the caller frees; "?" when memory is short. */
static char *value_text(const struct restart_record *r, const struct restart_field *field)
{
	struct memstream m;

	if (memstream_open(&m))
		restart_put_field(m.f, r, field);
	if (memstream_close(&m))
		return strdup("?");
	if (m.size > VALUE_TEXT_MAX)
		memcpy(m.text + VALUE_TEXT_MAX - 3, "...", sizeof("..."));
	return m.text;
}

static bool is_equal(const struct restart_record *a, const struct restart_record *b,
		     const struct restart_field *field)
{
	const char *at = (const char *)a + field->offset, *bt = (const char *)b + field->offset;

	if (field->type == RESTART_TEXT)
		return strcmp(at, bt) == 0;
	return memcmp(at, bt, sizeof(uint64_t)) == 0;
}

/* The destination that `old` describes was removed, replaced or shortened. */
static bool is_lost(const struct restart_record *old, const struct restart_record *now,
		    struct err *why)
{
	uint64_t end = old->destination_start_bytes + old->end_bytes;

	if (old->destination_birth_ns && now->destination_birth_ns &&
	    old->destination_birth_ns != now->destination_birth_ns)
		err_set(why, -EINVAL, "the destination is another file of the same name");
	else if (now->destination_size_bytes < end)
		err_set(why, -EINVAL,
			"the destination has %" PRIu64 " bytes now, of %" PRIu64
			" that were written",
			now->destination_size_bytes, end);
	else
		return false;
	return true;
}

bool restart_record_matches(const struct restart_record *old, const struct restart_record *now,
			    struct err *why)
{
	for (size_t i = 0; i < RESTART_FIELDS; i++) {
		const struct restart_field *field = &restart_fields[i];
		char *was, *is;

		if (!field->identity || !restart_has_field(old, field) || is_equal(old, now, field))
			continue;
		was = value_text(old, field);
		is = value_text(now, field);
		err_set(why, -EINVAL, "%s was %s, and is %s now", field->identity, was ? was : "?",
			is ? is : "?");
		free(was);
		free(is);
		return false;
	}
	return !is_lost(old, now, why);
}

bool restart_record_unchanged(const struct restart_record *old, const struct restart_record *now)
{
	return old->destination_size_bytes != WIRE_NO_SIZE &&
	       old->destination_size_bytes == now->destination_size_bytes &&
	       old->destination_mtime_ns == now->destination_mtime_ns;
}

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
	for (size_t i = 0; i < RESTART_FIELDS; i++) {
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
	struct err *why;
};

static int restart_file_fail(struct reader *rd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int restart_file_fail(struct reader *rd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(rd->why, -EINVAL, fmt, ap);
	va_end(ap);
	return err_prefix(rd->why, "line %u: ", rd->line);
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
		return restart_file_fail(rd, "is not from a restart file of xdd");
	value = next_value(rd, MAGIC);
	if (!value || units_parse_u64(value, &version))
		return restart_file_fail(rd, "is not from a restart file of xdd");
	if (!version || version > RESTART_VERSION)
		return restart_file_fail(rd,
					 "is of version %" PRIu64
					 ", this xdd reads versions 1 to %d",
					 version, RESTART_VERSION);
	r->version = (unsigned)version;
	return 0;
}

static int take_fields(struct reader *rd, struct restart_record *r)
{
	for (size_t i = 0; i < RESTART_FIELDS; i++) {
		const struct restart_field *field = &restart_fields[i];
		char prefix[64], *value;

		if (!restart_has_field(r, field))
			continue;
		snprintf(prefix, sizeof(prefix), "# %s ", field->name);
		value = next_value(rd, prefix);
		if (!value || !restart_parse_field(value, r, field))
			return restart_file_fail(rd, "expected \"%s%s\"", prefix,
						 restart_field_form(field));
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
		return restart_file_fail(rd, "expected \"# ranges NUMBER\", at most %d",
					 RESTART_MAX_RANGES);
	for (uint64_t i = 0; i < n; i++) {
		struct wire_range range;
		int err;

		value = next_value(rd, "# durable ");
		if (!value || !parse_range(value, &range))
			return restart_file_fail(rd, "expected \"# durable FIRST COUNT\"");
		/* Ranges that touch would be one. */
		if (!range.count || range.first > r->ops || range.count > r->ops - range.first ||
		    (i && range.first <= end))
			return restart_file_fail(
				rd, "these operations are out of order or not of the copy");
		end = range.first + range.count;
		err = extents_add(&r->durable, range.first, end);
		if (err)
			return err;
	}
	return 0;
}

/* Check the relations between fields. */
static int restart_file_check(struct reader *rd, const struct restart_record *r)
{
	uint64_t full, durable;

	if (!r->req_bytes || __builtin_mul_overflow(r->ops, r->req_bytes, &full) ||
	    r->bytes > full || full - r->bytes >= r->req_bytes)
		return restart_file_fail(rd,
					 "the numbers of bytes and operations above do not match");
	durable = r->durable.total * r->req_bytes;
	/* Only the last operation may be shorter. */
	if (r->ops && extents_contains(&r->durable, r->ops - 1, r->ops))
		durable -= full - r->bytes;
	if (r->durable_bytes != durable || (r->complete && durable != r->bytes))
		return restart_file_fail(rd,
					 "the durable operations have %" PRIu64
					 " bytes, not %" PRIu64,
					 durable, r->durable_bytes);
	if (r->end_bytes > INT64_MAX || r->offset_bytes > INT64_MAX ||
	    r->destination_start_bytes > INT64_MAX)
		return restart_file_fail(rd, "an offset above is larger than any file");
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
	return restart_file_fail(rd, "does not match the rest: the file is damaged");
}

static int restart_file_decode(struct reader *rd, struct restart_record *r)
{
	int err = take_head(rd, r);

	if (!err)
		err = take_fields(rd, r);
	if (!err)
		err = take_ranges(rd, r);
	if (!err)
		err = restart_file_check(rd, r);
	if (!err && !next_value(rd, CHECKSUM))
		err = restart_file_fail(rd,
					"expected \"" CHECKSUM "NUMBER\": the file is incomplete");
	return err;
}

int restart_record_decode(const char *text, size_t size, struct restart_record *r, struct err *why)
{
	struct reader rd = { .line = 1, .why = why };
	char *copy;
	int err;

	if (size > RESTART_MAX_BYTES || memchr(text, '\0', size))
		return restart_file_fail(&rd, "is not from a restart file of xdd");
	rd.line = 0;
	copy = malloc(size + 1);
	if (!copy)
		return err_errno(why, -ENOMEM);
	memcpy(copy, text, size);
	copy[size] = '\0';
	rd.at = copy;
	err = restart_file_decode(&rd, r);
	if (!err)
		err = check_text(&rd, text, size, r);
	if (err == -ENOMEM)
		err_errno(why, -ENOMEM);
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

int restart_record_read(const char *path, struct restart_record *r, struct err *why)
{
	char *text = NULL;
	size_t size = 0;
	int err = read_text(path, &text, &size);

	if (err == -EMEDIUMTYPE)
		err_set(why, err, "is not a regular file");
	else if (err)
		err_sys(why, err, "cannot be read");
	else if (!size)
		err = -ENOENT;
	else
		err = restart_record_decode(text, size, r, why);
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
