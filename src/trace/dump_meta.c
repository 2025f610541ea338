/*
 * The META block of a dump, and the entries by the layout that it describes.
 * Called by the reader of dumps.
 */
#include <string.h>

#include "trace/format.h"
#include "xdd/base/bytes.h"
#include "xdd/base/units.h"

/* State of reading a META block. */
struct meta {
	struct dump_reader *r;
	struct dump_layout *layout;
};

/* A whole number that may be negative. */
static bool get_signed(const char *text, int64_t *value)
{
	uint64_t v;

	if (units_parse_u64(text + (*text == '-'), &v) || v > INT64_MAX)
		return false;
	*value = *text == '-' ? -(int64_t)v : (int64_t)v;
	return true;
}

/* Two numbers with a blank between. */
static bool get_pair(char *text, int64_t *a, int64_t *b)
{
	char *blank = strchr(text, ' ');

	if (!blank)
		return false;
	*blank = '\0';
	return get_signed(text, a) && get_signed(blank + 1, b);
}

static char *unescape(char *text)
{
	char *out = text;

	for (char *in = text; *in; in++) {
		if (*in == '\\' && in[1])
			*out++ = *++in == 'n' ? '\n' : *in;
		else
			*out++ = *in;
	}
	*out = '\0';
	return text;
}

/* "name offset bytes"; an unknown field, or one of another width, is ignored. */
static bool take_field(struct meta *m, char *value)
{
	char *blank = strchr(value, ' ');
	int64_t off, bytes;

	if (!blank)
		return false;
	*blank = '\0';
	if (!get_pair(blank + 1, &off, &bytes) || off < 0 || bytes < 0 ||
	    off > DUMP_ENTRY_MAX_BYTES)
		return false;
	for (size_t i = 0; i < dump_n_fields && m->layout->n_fields < DUMP_FIELDS_MAX; i++) {
		if (strcmp(dump_fields[i].name, value) != 0 || dump_fields[i].bytes != bytes)
			continue;
		m->layout->fields[m->layout->n_fields++] =
			(struct dump_file_field){ &dump_fields[i], (uint32_t)off };
		m->layout->net |= dump_fields[i].net;
	}
	return true;
}

static int take_thread(struct meta *m, char *value, bool *good)
{
	int64_t qthread, tid;

	*good = get_pair(value, &qthread, &tid) && qthread >= 0 && qthread <= UINT32_MAX &&
		tid >= INT32_MIN && tid <= INT32_MAX;
	return *good ? dump_add_thread(m->r->dump, (uint32_t)qthread, (int32_t)tid) : 0;
}

struct meta_text {
	const char *name;
	size_t off;
};

static const struct meta_text meta_texts[] = {
	{ "program", offsetof(struct trace, program) }, { "host", offsetof(struct trace, host) },
	{ "path", offsetof(struct trace, path) },	{ "id", offsetof(struct trace, id) },
	{ "command", offsetof(struct trace, command) },
};

static bool take_text(struct trace *t, const char *name, char *value)
{
	for (size_t i = 0; i < sizeof(meta_texts) / sizeof(meta_texts[0]); i++) {
		if (strcmp(meta_texts[i].name, name) == 0) {
			*(const char **)((char *)t + meta_texts[i].off) = unescape(value);
			return true;
		}
	}
	return false;
}

static bool is_drift(int64_t ppb)
{
	return ppb >= -TRACE_MAX_DRIFT_PPB && ppb <= TRACE_MAX_DRIFT_PPB;
}

/* Unknown names are of later versions and are ignored. */
static bool take_number(struct meta *m, const char *name, const char *value)
{
	struct trace *t = &m->r->dump->trace;
	const struct {
		const char *name;
		uint64_t *to;
	} numbers[] = {
		{ "block_size", &t->block_size },
		{ "req_bytes", &t->req_bytes },
		{ "queue_depth", &t->queue_depth },
		{ "overwritten", &t->missing.overwritten },
		{ "unrecorded", &t->missing.unrecorded },
		{ "before_trigger", &t->missing.before },
		{ "global_at_ns", &t->global_at_ns },
		{ "entries", &m->layout->entries },
		{ "entry_bytes", &m->layout->entry_bytes },
	};
	const struct {
		const char *name;
		int64_t *to;
	} offsets[] = {
		{ "wall_ns", &t->wall_ns },
		{ "wall_end_ns", &t->wall_end_ns },
		{ "global_ns", &t->global_ns },
		{ "global_drift_ppb", &t->global_drift_ppb },
		{ "global_bound_ns", &t->global_bound_ns },
	};
	uint64_t v;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(numbers[i].name, name) == 0)
			return units_parse_u64(value, numbers[i].to) == 0;
	}
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		if (strcmp(offsets[i].name, name) == 0)
			return get_signed(value, offsets[i].to) && is_drift(t->global_drift_ppb);
	}
	if (strcmp(name, "target") == 0 && units_parse_u64(value, &v) == 0 && v <= UINT32_MAX)
		t->target = (uint32_t)v;
	else if (strcmp(name, "partial") == 0)
		t->partial = strcmp(value, "1") == 0;
	else if (strcmp(name, "cut") == 0)
		t->cut = strcmp(value, "1") == 0;
	return true;
}

static int take_line(struct meta *m, char *line, bool *good)
{
	char *value = strchr(line, '=');

	*good = value != NULL;
	if (!value)
		return 0;
	*value++ = '\0';
	if (strcmp(line, "thread") == 0)
		return take_thread(m, value, good);
	if (strcmp(line, "field") == 0)
		*good = take_field(m, value);
	else if (!take_text(&m->r->dump->trace, line, value))
		*good = take_number(m, line, value);
	return 0;
}

int dump_read_meta(struct dump_reader *r, struct dump_layout *layout, char *text, const char *where)
{
	struct meta m = { r, layout };
	char *end;
	int err = 0;

	for (char *line = text; *line && !err; line = end) {
		bool good;

		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		else
			end = line + strlen(line);
		err = take_line(&m, line, &good);
		if (!err && !good)
			dump_say(r, "%s: a line that makes no sense: %.60s", where, line);
	}
	return err;
}

/* Every field that is used lies in the entry. */
bool dump_layout_is_sound(const struct dump_layout *l)
{
	if (!l->entry_bytes || l->entry_bytes > DUMP_ENTRY_MAX_BYTES || !l->n_fields)
		return false;
	for (size_t i = 0; i < l->n_fields; i++) {
		if (l->fields[i].off + l->fields[i].known->bytes > l->entry_bytes)
			return false;
	}
	return true;
}

void dump_get_entry(const struct dump_layout *l, struct trace_entry *e, struct trace_net *net,
		    const unsigned char *p)
{
	for (size_t i = 0; i < l->n_fields; i++) {
		const struct dump_field *known = l->fields[i].known;
		uint64_t v = bytes_get(p + l->fields[i].off, known->bytes);
		char *to = (known->net ? (char *)net : (char *)e) + known->memory_off;
		uint32_t v4 = (uint32_t)v;
		uint16_t v2 = (uint16_t)v;

		switch (known->bytes) {
		case 8:
			memcpy(to, &v, 8);
			break;
		case 4:
			memcpy(to, &v4, 4);
			break;
		case 2:
			memcpy(to, &v2, 2);
			break;
		default:
			*(unsigned char *)to = (unsigned char)v;
		}
	}
}
