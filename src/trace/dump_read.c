/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading dumps: the blocks, the META block, and the entries by the layout that it describes;
 * doc/tsdump.md. Called by xdd tsread.
 *
 * A file may have been cut or changed: nothing in it is used before its checksum was verified, and
 * nothing is read after its end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format.h"
#include "xdd/base/codec.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/trace/trace.h"

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

/*
 * dump_read.c: take in the lines of a META block; strings of the trace point into `text`, which is
 * changed. `where` is the offset of the block, for complaints. Returns 0 or -ENOMEM.
 */
static int dump_read_meta(struct dump_reader *r, struct dump_layout *layout, char *text,
			  const char *where)
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

/* True if every field that is used lies in the entry. */
static bool dump_layout_is_sound(const struct dump_layout *l)
{
	if (!l->entry_bytes || l->entry_bytes > DUMP_ENTRY_MAX_BYTES || !l->n_fields)
		return false;
	for (size_t i = 0; i < l->n_fields; i++) {
		if (l->fields[i].off + l->fields[i].known->bytes > l->entry_bytes)
			return false;
	}
	return true;
}

/* The entry at `p` of a layout that is sound; `net` may be NULL if the layout has no network. */
static void dump_get_entry(const struct dump_layout *l, struct trace_entry *e,
			   struct trace_net *net, const unsigned char *p)
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

/* Complaints that are reported one by one. */
#define SAID_MAX 20

/* Number of the latest threads that are searched for a known one. */
#define THREADS_LOOK_BACK 128

struct block {
	uint32_t type;
	uint32_t number;
	uint32_t count;
	uint64_t at; /* of the header, in the file */
	uint64_t size;
	const unsigned char *payload;
};

/* State of reading a dump of this program. */
struct ours {
	struct dump_reader *r;
	struct dump_layout layout;
	uint32_t next_block;
	bool has_meta;
	bool has_end;
};

void dump_say(struct dump_reader *r, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	r->dump->complaints++;
	if (r->dump->complaints > SAID_MAX + 1 || !r->complain)
		return;
	if (r->dump->complaints > SAID_MAX) {
		r->complain(r->arg, "further complaints are left out");
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->complain(r->arg, text);
}

/* ---- room for what is read ---- */

struct trace_entry *dump_new_entry(struct trace_dump *d, bool net)
{
	struct trace_entry *e;

	if (d->trace.n == d->room) {
		size_t room = d->room ? d->room * 2 : 1024;
		struct trace_entry *more = aligned_alloc(64, room * sizeof(*more));
		struct trace_net *nets = NULL;

		if (!more)
			return NULL;
		if (d->trace.n)
			memcpy(more, d->storage, d->trace.n * sizeof(*more));
		free(d->storage);
		d->storage = more;
		if (net) {
			nets = realloc(d->net_storage, room * sizeof(*nets));
			if (!nets)
				return NULL;
			d->net_storage = nets;
		}
		d->room = room;
	}
	e = &d->storage[d->trace.n];
	memset(e, 0, sizeof(*e));
	if (net)
		memset(&d->net_storage[d->trace.n], 0, sizeof(*d->net_storage));
	d->trace.n++;
	return e;
}

int dump_add_thread(struct trace_dump *d, uint32_t qthread, int32_t tid)
{
	struct trace_thread *threads;

	/* Mostly a few take turns; the remaining duplicates are removed at the end. */
	for (size_t i = d->trace.n_threads, n = 0; i-- > 0 && n < THREADS_LOOK_BACK; n++) {
		if (d->thread_storage[i].qthread == qthread && d->thread_storage[i].tid == tid)
			return 0;
	}
	threads = array_room(d->thread_storage, d->trace.n_threads, sizeof(*threads));
	if (!threads)
		return -ENOMEM;
	d->thread_storage = threads;
	d->thread_storage[d->trace.n_threads++] = (struct trace_thread){ qthread, tid };
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct trace_thread *x = a, *y = b;

	if (x->qthread != y->qthread)
		return x->qthread < y->qthread ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/*
 * In the order of their QThreads, each once; a QThread of several ids, which is damage, gets the
 * least.
 */
static void sort_threads(struct trace_dump *d)
{
	struct trace_thread *t = d->thread_storage;
	size_t n = 0;

	if (d->trace.n_threads)
		qsort(t, d->trace.n_threads, sizeof(*t), by_thread);
	for (size_t i = 0; i < d->trace.n_threads; i++) {
		if (!n || t[n - 1].qthread != t[i].qthread)
			t[n++] = t[i];
	}
	d->trace.n_threads = n;
}

/* Point the trace to all that was read, in its order. */
static int dump_read_finish(struct trace_dump *d)
{
	struct trace *t = &d->trace;

	sort_threads(d);
	t->threads = d->thread_storage;
	t->entries = calloc(t->n + 1, sizeof(struct trace_entry *));
	if (d->net_storage)
		t->net = calloc(t->n + 1, sizeof(struct trace_net *));
	if (!t->entries || (d->net_storage && !t->net))
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		t->entries[i] = &d->storage[i];
		if (t->net)
			t->net[i] = &d->net_storage[i];
	}
	return trace_sort(t->entries, t->net, t->n);
}

void trace_dump_free(struct trace_dump *d)
{
	arena_free(d->arena);
	free(d->storage);
	free(d->net_storage);
	free(d->thread_storage);
	free(d->trace.entries);
	free(d->trace.net);
	memset(d, 0, sizeof(*d));
}

/* ---- META and entries ---- */

static int take_meta(struct ours *o, const struct block *b)
{
	char where[64], *text;

	/* The second is a copy of the first. */
	if (o->has_meta)
		return 0;
	text = arena_alloc(o->r->dump->arena, b->size + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, b->payload, b->size);
	snprintf(where, sizeof(where), "block %" PRIu32 " at byte %" PRIu64, b->number, b->at);
	o->has_meta = true;
	return dump_read_meta(o->r, &o->layout, text, where);
}

static int take_entries(struct ours *o, const struct block *b)
{
	if (!dump_layout_is_sound(&o->layout) || b->count > b->size / o->layout.entry_bytes) {
		dump_say(o->r,
			 "block %" PRIu32 " at byte %" PRIu64
			 ": its entries do not have the layout that the file describes",
			 b->number, b->at);
		return 0;
	}
	for (uint32_t i = 0; i < b->count; i++) {
		struct trace_dump *d = o->r->dump;
		struct trace_entry *e = dump_new_entry(d, o->layout.net);

		if (!e)
			return -ENOMEM;
		dump_get_entry(&o->layout, e,
			       o->layout.net ? &d->net_storage[d->trace.n - 1] : NULL,
			       b->payload + i * o->layout.entry_bytes);
	}
	return 0;
}

/* ---- blocks ---- */

static bool header_is_sound(const unsigned char *h)
{
	return bytes_get(h, 4) == DUMP_BLOCK_MARK && bytes_get(h + 28, 4) == crc32c(h, 28);
}

/* The offset of the next sound header from `at` on; the size of the file when there is none. */
static uint64_t find_header(const struct dump_reader *r, uint64_t at)
{
	static const unsigned char mark[4] = { 0x78, 0x42, 0x4c, 0x4b };

	while (at + DUMP_BLOCK_HEADER_SIZE <= r->size) {
		const unsigned char *p = memmem(r->data + at, r->size - at, mark, sizeof(mark));

		if (!p || (uint64_t)(r->data + r->size - p) < DUMP_BLOCK_HEADER_SIZE)
			break;
		if (header_is_sound(p))
			return (uint64_t)(p - r->data);
		at = (uint64_t)(p - r->data) + 1;
	}
	return r->size;
}

/*
 * The next block from `*at` on; `*at` is moved to its end. Returns false at the end of the file.
 * A block that is not sound has no payload.
 */
static bool next_block(struct dump_reader *r, uint64_t *at, struct block *b)
{
	struct decoder d;
	uint64_t found;
	uint32_t crc;

	if (*at >= r->size)
		return false;
	found = find_header(r, *at);
	if (found != *at)
		dump_say(r, "bytes %" PRIu64 " to %" PRIu64 " are no block: they were changed%s",
			 *at, found - 1, found == r->size ? ", or the file was cut there" : "");
	if (found == r->size)
		return false;
	d = dec_begin(r->data + found, DUMP_BLOCK_HEADER_SIZE);
	dec_take(&d, 4); /* the mark */
	*b = (struct block){ .at = found };
	b->type = (uint32_t)dec_get(&d, 4);
	b->number = (uint32_t)dec_get(&d, 4);
	b->count = (uint32_t)dec_get(&d, 4);
	b->size = dec_get(&d, 8);
	crc = (uint32_t)dec_get(&d, 4);
	*at = found + DUMP_BLOCK_HEADER_SIZE;
	if (b->size > r->size - *at) {
		dump_say(r,
			 "block %" PRIu32 " at byte %" PRIu64 ": cut short: %" PRIu64
			 " of its %" PRIu64 " bytes are there",
			 b->number, found, r->size - *at, b->size);
		*at = r->size;
	} else if (crc32c(r->data + *at, b->size) != crc) {
		dump_say(r,
			 "block %" PRIu32 " at byte %" PRIu64
			 ": its checksum is wrong: the %" PRIu64 " bytes after it were changed",
			 b->number, found, b->size);
		*at += b->size;
	} else {
		b->payload = r->data + *at;
		*at += b->size;
	}
	return true;
}

static int take_information(struct ours *o, const struct block *b)
{
	char *text = arena_alloc(o->r->dump->arena, b->size + 1);

	if (!text)
		return -ENOMEM;
	memcpy(text, b->payload, b->size);
	o->r->dump->trace.information = text;
	return 0;
}

static int take_block(struct ours *o, const struct block *b)
{
	if (b->number != o->next_block)
		dump_say(o->r,
			 "block %" PRIu32 " at byte %" PRIu64 ": block %" PRIu32 " should be here",
			 b->number, b->at, o->next_block);
	o->next_block = b->number + 1;
	if (!b->payload)
		return 0;
	switch (b->type) {
	case DUMP_BLOCK_INFORMATION:
		return take_information(o, b);
	case DUMP_BLOCK_ENTRY:
		return take_entries(o, b);
	case DUMP_BLOCK_END:
		o->has_end = true;
		return 0;
	default: /* META was taken before; others are of a later version */
		return 0;
	}
}

static int check_preamble(struct dump_reader *r, uint64_t *start)
{
	uint64_t major = bytes_get(r->data + 8, 2), size = bytes_get(r->data + 12, 4);

	*start = DUMP_PREAMBLE_SIZE;
	if (memcmp(r->data, DUMP_MAGIC, DUMP_MAGIC_SIZE) != 0 ||
	    bytes_get(r->data + 28, 4) != crc32c(r->data, 28)) {
		/* The blocks speak for themselves, where there are any. */
		if (find_header(r, 0) == r->size) {
			dump_say(r, "no dump of time stamps: it does not begin like one, and holds "
				    "no block of one");
			return -EBADMSG;
		}
		dump_say(r, "bytes 0 to %d were changed: they are not how a dump begins",
			 DUMP_PREAMBLE_SIZE - 1);
		return 0;
	}
	if (major != DUMP_VERSION_MAJOR) {
		dump_say(r, "version %" PRIu64 " of the format is not known, only %d", major,
			 DUMP_VERSION_MAJOR);
		return -EBADMSG;
	}
	*start = size < DUMP_PREAMBLE_SIZE ? DUMP_PREAMBLE_SIZE : size;
	return 0;
}

/* Either copy of META suffices. Complaints are reported when the blocks are read. */
static int find_meta(struct ours *o, uint64_t start)
{
	struct trace_dump *d = o->r->dump;
	struct dump_reader quiet = *o->r;
	unsigned complaints = d->complaints;
	uint64_t at = start;
	struct block b;
	int err = 0;

	quiet.complain = NULL;
	while (!err && !o->has_meta && next_block(&quiet, &at, &b)) {
		d->complaints = complaints;
		if (b.payload && b.type == DUMP_BLOCK_META) {
			err = take_meta(o, &b);
			complaints = d->complaints;
		}
	}
	d->complaints = complaints;
	return err;
}

static void check_complete(struct ours *o)
{
	struct trace_dump *d = o->r->dump;

	if (!o->has_end)
		dump_say(o->r, "the file was cut short: its last block is missing, at byte %zu",
			 o->r->size);
	if (o->layout.entries != UINT64_MAX && o->layout.entries > d->trace.n) {
		d->lost_entries = o->layout.entries - d->trace.n;
		dump_say(o->r, "%" PRIu64 " of %" PRIu64 " entries are lost", d->lost_entries,
			 o->layout.entries);
	}
}

static int read_ours(struct dump_reader *r)
{
	struct ours o = { .r = r, .layout.entries = UINT64_MAX };
	uint64_t start, at;
	struct block b;
	int err;

	if (r->size < DUMP_PREAMBLE_SIZE) {
		dump_say(r,
			 "no dump of time stamps, or cut short: it has %zu bytes, and one begins "
			 "with %d",
			 r->size, DUMP_PREAMBLE_SIZE);
		return -EBADMSG;
	}
	err = check_preamble(r, &start);
	if (!err)
		err = find_meta(&o, start);
	for (at = start; !err && next_block(r, &at, &b);)
		err = take_block(&o, &b);
	if (err)
		return err;
	check_complete(&o);
	if (o.has_meta)
		return 0;
	dump_say(r, "neither of the two blocks that describe the entries is sound: nothing can be "
		    "made of the rest");
	return -EBADMSG;
}

int trace_dump_parse(struct trace_dump *d, const void *data, size_t size, const char *name,
		     trace_complain *complain, void *arg)
{
	struct dump_reader r = { d, data, size, name, complain, arg };
	int err;

	memset(d, 0, sizeof(*d));
	d->trace.program = d->trace.host = d->trace.path = d->trace.id = "";
	d->trace.command = d->trace.information = "";
	d->arena = arena_new();
	if (!d->arena)
		return -ENOMEM;
	err = dump_is_old(data, size) ? dump_read_old(&r) : read_ours(&r);
	return err ? err : dump_read_finish(d);
}
