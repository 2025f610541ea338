/*
 * Reading dumps; doc/tsdump.md. Called by xdd tsread.
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
#include "xdd/base/bytes.h"
#include "xdd/base/memory.h"
#include "xdd/trace/dump.h"

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
	if (r->dump->complaints > SAID_MAX || !r->complain)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->complain(r->arg, text);
	if (r->dump->complaints == SAID_MAX)
		r->complain(r->arg, "further complaints are left out");
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
static int finish(struct trace_dump *d)
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
	return bytes_get(h, 4) == DUMP_BLOCK_MARK && bytes_get(h + 28, 4) == crc32c(0, h, 28);
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
	const unsigned char *h;
	uint64_t found;

	if (*at >= r->size)
		return false;
	found = find_header(r, *at);
	if (found != *at)
		dump_say(r, "bytes %" PRIu64 " to %" PRIu64 " are no block: they were changed%s",
			 *at, found - 1, found == r->size ? ", or the file was cut there" : "");
	if (found == r->size)
		return false;
	h = r->data + found;
	*b = (struct block){ .type = (uint32_t)bytes_get(h + 4, 4),
			     .number = (uint32_t)bytes_get(h + 8, 4),
			     .count = (uint32_t)bytes_get(h + 12, 4),
			     .at = found,
			     .size = bytes_get(h + 16, 8) };
	*at = found + DUMP_BLOCK_HEADER_SIZE;
	if (b->size > r->size - *at) {
		dump_say(r,
			 "block %" PRIu32 " at byte %" PRIu64 ": cut short: %" PRIu64
			 " of its %" PRIu64 " bytes are there",
			 b->number, found, r->size - *at, b->size);
		*at = r->size;
	} else if (crc32c(0, r->data + *at, b->size) != bytes_get(h + 24, 4)) {
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
	    bytes_get(r->data + 28, 4) != crc32c(0, r->data, 28)) {
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
	return err ? err : finish(d);
}
