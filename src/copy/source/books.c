/*
 * Entries without a result: a hash table by id that grows. Called with the lock of the source.
 */
#include "copy/source/books.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/units.h"

#define FIRST_BITS 10
#define GROUP_BITS 3 /* 8 pointers are a cache line */

struct entry *entry_new(const struct walk_found *found, size_t encoded_bytes)
{
	const char *name = found->entry.kind == COPY_FILE ? found->name : found->entry.name;
	size_t length = strlen(name) + 1;
	struct entry *e = calloc(1, sizeof(*e) + length);

	if (!e)
		return NULL;
	e->id = found->entry.id;
	e->dirs = found->dirs;
	e->size_bytes = found->entry.size_bytes;
	e->file_bytes = (uint64_t)found->st.st_size;
	e->dev = found->st.st_dev;
	e->ino = found->st.st_ino;
	e->mtime_ns = timespec_ns(&found->st.st_mtim);
	e->ctime_ns = timespec_ns(&found->st.st_ctim);
	e->type = found->st.st_mode & S_IFMT;
	e->uid = found->st.st_uid;
	e->encoded_bytes = (uint32_t)encoded_bytes;
	e->kind = (uint8_t)found->entry.kind;
	e->flags = (uint8_t)found->entry.flags;
	memcpy(e->name, name, length);
	return e;
}

void entry_free(struct entry *e)
{
	if (!e)
		return;
	if (e->dir)
		dirs_release(e->dirs, e->dir);
	free(e->ranges);
	free(e);
}

bool entry_is_small(const struct entry *e)
{
	return e->size_bytes <= COPY_SMALL_FILE_BYTES && !(e->flags & (COPY_SPARSE | COPY_DEVICE));
}

/*
 * Fibonacci hashing of groups of consecutive ids, which share a cache line: ids are used in order.
 * Groups are spread evenly, so runs of used slots stay short.
 */
static size_t slot_of(const struct books *b, uint64_t id)
{
	uint64_t group = (id >> GROUP_BITS) * 0x9e3779b97f4a7c15ull;

	return (size_t)(group >> (64 - b->bits + GROUP_BITS) << GROUP_BITS |
			(id & ((1u << GROUP_BITS) - 1)));
}

static size_t after(const struct books *b, size_t slot)
{
	return (slot + 1) & (((size_t)1 << b->bits) - 1);
}

static void put(struct books *b, struct entry *e)
{
	size_t i = slot_of(b, e->id);

	while (b->slots[i])
		i = after(b, i);
	b->slots[i] = e;
}

int books_init(struct books *b)
{
	memset(b, 0, sizeof(*b));
	b->slots = calloc((size_t)1 << FIRST_BITS, sizeof(struct entry *));
	b->bits = FIRST_BITS;
	return b->slots ? 0 : -ENOMEM;
}

void books_free(struct books *b)
{
	for (size_t i = 0; b->slots && i < (size_t)1 << b->bits; i++)
		entry_free(b->slots[i]);
	free(b->slots);
	memset(b, 0, sizeof(*b));
}

static int grow(struct books *b)
{
	struct books more = { .bits = b->bits + 1 };

	more.slots = calloc((size_t)1 << more.bits, sizeof(struct entry *));
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)1 << b->bits; i++)
		if (b->slots[i])
			put(&more, b->slots[i]);
	free(b->slots);
	b->slots = more.slots;
	b->bits = more.bits;
	return 0;
}

int books_add(struct books *b, struct entry *e)
{
	if (b->n >= (size_t)1 << (b->bits - 1)) {
		int err = grow(b);

		if (err)
			return err;
	}
	put(b, e);
	b->n++;
	e->listed = true;
	return 0;
}

static size_t find_slot(const struct books *b, uint64_t id)
{
	size_t i = slot_of(b, id);

	while (b->slots[i] && b->slots[i]->id != id)
		i = after(b, i);
	return i;
}

struct entry *books_find(const struct books *b, uint64_t id)
{
	return b->slots[find_slot(b, id)];
}

/* True if `slot` lies in the cyclic range from after `from` to `to`. */
static bool lies_between(size_t slot, size_t from, size_t to)
{
	return from <= to ? slot > from && slot <= to : slot > from || slot <= to;
}

void books_remove(struct books *b, struct entry *e)
{
	size_t hole = find_slot(b, e->id);

	/* Entries after it move into the hole, unless they would lie before their own slot. */
	b->slots[hole] = NULL;
	for (size_t i = after(b, hole); b->slots[i]; i = after(b, i)) {
		if (lies_between(slot_of(b, b->slots[i]->id), hole, i))
			continue;
		b->slots[hole] = b->slots[i];
		b->slots[i] = NULL;
		hole = i;
	}
	b->n--;
	e->listed = false;
	if (e->counted) {
		e->counted = false;
		b->window_entries--;
		b->window_bytes -= e->encoded_bytes;
	}
}

void books_count(struct books *b, struct entry *e)
{
	e->counted = true;
	b->window_entries++;
	b->window_bytes += e->encoded_bytes;
}

bool books_have_room(const struct books *b, size_t encoded_bytes)
{
	return b->window_entries < COPY_WINDOW_ENTRIES &&
	       b->window_bytes + encoded_bytes <= COPY_WINDOW_BYTES;
}
