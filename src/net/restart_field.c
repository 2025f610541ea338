/*
 * The fields of a restart file: their text and their comparison. Called by restart_file.c and the
 * restart monitor.
 */
#include "net/restart_field.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/net/restart_file.h"

#define AT(member) offsetof(struct restart_record, member)
#define TEXT(member) RESTART_TEXT, AT(member), sizeof(((struct restart_record *)0)->member), 0
#define NUMBER(member) RESTART_NUMBER, AT(member), 0, 0
#define SIGNED(member) RESTART_SIGNED, AT(member), 0, 0

#define VALUE_TEXT_MAX 100 /* characters of a value in a message */

const struct restart_field restart_fields[] = {
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

const size_t restart_n_fields = sizeof(restart_fields) / sizeof(restart_fields[0]);

bool restart_has_field(const struct restart_record *r, const struct restart_field *field)
{
	return r->version >= field->since;
}

/* ---- text ---- */

void restart_put_text(FILE *f, const char *text)
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

void restart_put_field(FILE *f, const struct restart_record *r, const struct restart_field *field)
{
	const void *at = (const char *)r + field->offset;
	char text[DIGEST_TEXT_SIZE];

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
		for (size_t i = 0; i < WIRE_SESSION_BYTES; i++)
			fprintf(f, "%02x", ((const uint8_t *)at)[i]);
		break;
	case RESTART_DIGEST:
		fputs(digest_text(*(const struct digest *)at, text), f);
		break;
	}
}

bool restart_parse_field(const char *value, struct restart_record *r,
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

const char *restart_field_form(const struct restart_field *field)
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
static bool is_lost(const struct restart_record *old, const struct restart_record *now, char *why,
		    size_t why_size)
{
	uint64_t end = old->destination_start_bytes + old->end_bytes;

	if (old->destination_birth_ns && now->destination_birth_ns &&
	    old->destination_birth_ns != now->destination_birth_ns)
		snprintf(why, why_size, "the destination is another file of the same name");
	else if (now->destination_size_bytes < end)
		snprintf(why, why_size,
			 "the destination has %" PRIu64 " bytes now, of %" PRIu64
			 " that were written",
			 now->destination_size_bytes, end);
	else
		return false;
	return true;
}

bool restart_record_matches(const struct restart_record *old, const struct restart_record *now,
			    char *why, size_t why_size)
{
	for (size_t i = 0; i < restart_n_fields; i++) {
		const struct restart_field *field = &restart_fields[i];
		char *was, *is;

		if (!field->identity || !restart_has_field(old, field) || is_equal(old, now, field))
			continue;
		was = value_text(old, field);
		is = value_text(now, field);
		snprintf(why, why_size, "%s was %s, and is %s now", field->identity,
			 was ? was : "?", is ? is : "?");
		free(was);
		free(is);
		return false;
	}
	return !is_lost(old, now, why, why_size);
}

bool restart_record_unchanged(const struct restart_record *old, const struct restart_record *now)
{
	return old->destination_size_bytes != WIRE_NO_SIZE &&
	       old->destination_size_bytes == now->destination_size_bytes &&
	       old->destination_mtime_ns == now->destination_mtime_ns;
}
