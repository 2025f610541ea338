/*
 * The book of tagged writes. Called by QThreads before an operation is issued and after it is over,
 * outside the timed window.
 */
#include "xdd/io/tag_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xdd/io/tag.h"

#define LOG_MIN 4096
#define LOG_PER_PLACE 16

/* Memory that the kernel fills in as it is touched. */
static void make_bounds(struct tag_book *b, uint64_t first, uint64_t end)
{
	uint64_t sectors = (end - first + TAG_SECTOR_BYTES - 1) / TAG_SECTOR_BYTES;
	void *map;

	if (sectors > TAG_BOOK_MAX_BYTES / sizeof(*b->bounds))
		return;
	map = mmap(NULL, sectors * sizeof(*b->bounds), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return;
	b->bounds = map;
	b->first = first;
	b->sectors = sectors;
}

int tag_book_init(struct tag_book *b, uint32_t depth, uint64_t first, uint64_t end, bool tears)
{
	memset(b, 0, sizeof(*b));
	atomic_init(&b->next, 1);
	b->depth = depth;
	b->tears = tears;
	b->places = aligned_alloc(_Alignof(struct tag_book_place), depth * sizeof(*b->places));
	if (!b->places)
		return -ENOMEM;
	memset(b->places, 0, depth * sizeof(*b->places));
	for (uint32_t i = 0; i < depth; i++)
		atomic_init(&b->places[i].number, UINT64_MAX);
	if (end <= first)
		return 0;
	b->log_size = depth > LOG_MIN / LOG_PER_PLACE ? depth * LOG_PER_PLACE : LOG_MIN;
	b->log = calloc(b->log_size, sizeof(*b->log));
	if (!b->log) {
		tag_book_destroy(b);
		return -ENOMEM;
	}
	make_bounds(b, first, end);
	return 0;
}

void tag_book_destroy(struct tag_book *b)
{
	free(b->places);
	free(b->log);
	if (b->bounds)
		munmap(b->bounds, b->sectors * sizeof(*b->bounds));
	memset(b, 0, sizeof(*b));
}

/*
 * The order matters. This write shows a number no higher than its own before it takes its own, and
 * looks at the others after that. So another one either sees this one outstanding, or has looked
 * before this one took its number, which is then the higher of the two and above any bound of the
 * other.
 */
uint64_t tag_book_write(struct tag_book *b, uint32_t place, uint64_t offset, uint64_t bytes,
			uint64_t *oldest)
{
	struct tag_book_place *own = &b->places[place];
	uint64_t number;

	own->logged = atomic_load(&b->logged);
	atomic_store_explicit(&own->offset, offset, memory_order_relaxed);
	atomic_store_explicit(&own->bytes, bytes, memory_order_relaxed);
	atomic_store(&own->number, atomic_load(&b->next));
	number = atomic_fetch_add(&b->next, 1);
	own->oldest = number;
	for (uint32_t i = 0; i < b->depth; i++) {
		uint64_t other = atomic_load(&b->places[i].number);

		if (other < own->oldest)
			own->oldest = other;
	}
	*oldest = own->oldest;
	return number;
}

static bool touches(const _Atomic uint64_t *other, const _Atomic uint64_t *other_bytes,
		    uint64_t offset, uint64_t bytes)
{
	uint64_t at = atomic_load_explicit(other, memory_order_acquire);
	uint64_t n = atomic_load_explicit(other_bytes, memory_order_acquire);

	return at < offset + bytes && offset < at + n;
}

/* An entry that is being written, or has been replaced, counts as one that touches. */
static bool logged_touches(const struct tag_book *b, uint64_t i, uint64_t offset, uint64_t bytes)
{
	const struct tag_book_entry *e = &b->log[i % b->log_size];

	if (atomic_load(&e->number) != i + 1 || touches(&e->offset, &e->bytes, offset, bytes))
		return true;
	return atomic_load(&e->number) != i + 1;
}

/* A write is logged before it stops being outstanding: looking in this order misses none. */
static bool overlaps_others(const struct tag_book *b, const struct tag_book_place *own,
			    uint64_t logged, uint64_t offset, uint64_t bytes)
{
	uint64_t end;

	for (uint32_t i = 0; i < b->depth; i++) {
		const struct tag_book_place *p = &b->places[i];

		if (p != own && atomic_load(&p->number) != UINT64_MAX &&
		    touches(&p->offset, &p->bytes, offset, bytes))
			return true;
	}
	end = atomic_load(&b->logged);
	if (end - logged > b->log_size)
		return true;
	for (; logged < end; logged++) {
		if (logged_touches(b, logged, offset, bytes))
			return true;
	}
	return false;
}

bool tag_book_overlaps(const struct tag_book *b, uint64_t logged, uint64_t offset, uint64_t bytes)
{
	return overlaps_others(b, NULL, logged, offset, bytes);
}

/* The bound of the sector at `offset`, or NULL. */
static _Atomic uint64_t *bound_at(const struct tag_book *b, uint64_t offset)
{
	uint64_t i = (offset - b->first) / TAG_SECTOR_BYTES;

	return b->bounds && offset >= b->first && i < b->sectors ? &b->bounds[i] : NULL;
}

/* To `value` at least, marked or not. */
static void raise_bound(_Atomic uint64_t *bound, uint64_t value, uint64_t mark)
{
	uint64_t now = atomic_load_explicit(bound, memory_order_relaxed), new;

	do {
		new = now & ~TAG_BOOK_DUBIOUS;
		if (new < value)
			new = value;
		new |= mark;
	} while (new != now &&
		 !atomic_compare_exchange_weak_explicit(bound, &now, new, memory_order_acq_rel,
							memory_order_relaxed));
}

static void log_write(struct tag_book *b, const struct tag_book_place *own)
{
	uint64_t i = atomic_fetch_add(&b->logged, 1);
	struct tag_book_entry *e = &b->log[i % b->log_size];

	atomic_store(&e->number, 0);
	atomic_store(&e->offset, atomic_load_explicit(&own->offset, memory_order_relaxed));
	atomic_store(&e->bytes, atomic_load_explicit(&own->bytes, memory_order_relaxed));
	atomic_store(&e->number, i + 1);
}

/* All bounds of the write. */
static void raise_bounds(struct tag_book *b, const struct tag_book_place *own, uint64_t mark)
{
	uint64_t offset = atomic_load_explicit(&own->offset, memory_order_relaxed);
	uint64_t bytes = atomic_load_explicit(&own->bytes, memory_order_relaxed);

	for (uint64_t at = 0; at < bytes; at += TAG_SECTOR_BYTES) {
		_Atomic uint64_t *bound = bound_at(b, offset + at);

		if (bound)
			raise_bound(bound, own->oldest, mark);
	}
}

/* True if another write to its sectors was outstanding at any time since it was prepared. */
static bool met_others(const struct tag_book *b, const struct tag_book_place *own)
{
	return overlaps_others(b, own, own->logged,
			       atomic_load_explicit(&own->offset, memory_order_relaxed),
			       atomic_load_explicit(&own->bytes, memory_order_relaxed));
}

/*
 * A write that met no other takes marks away: what two left behind is overwritten. But two may have
 * come and gone after it looked, and left a mark that it takes for an older one. So it looks again,
 * and puts marks back. A read that misses one in between finds this write outstanding.
 */
static void settle_bounds(struct tag_book *b, const struct tag_book_place *own)
{
	bool met = b->tears && met_others(b, own);

	raise_bounds(b, own, met ? TAG_BOOK_DUBIOUS : 0);
	if (b->tears && !met && met_others(b, own))
		raise_bounds(b, own, TAG_BOOK_DUBIOUS);
}

void tag_book_written(struct tag_book *b, uint32_t place, bool good)
{
	struct tag_book_place *own = &b->places[place];

	if (b->log) {
		if (good)
			settle_bounds(b, own);
		log_write(b, own);
	}
	atomic_store(&own->number, UINT64_MAX);
}

/* Not logged: no sector has changed. */
void tag_book_release(struct tag_book *b, uint32_t place)
{
	atomic_store(&b->places[place].number, UINT64_MAX);
}

uint64_t tag_book_read(const struct tag_book *b, uint64_t offset, uint64_t bytes, uint64_t *bounds)
{
	uint64_t logged = atomic_load(&b->logged);

	for (uint64_t at = 0; at < bytes; at += TAG_SECTOR_BYTES) {
		const _Atomic uint64_t *bound = bound_at(b, offset + at);

		*bounds++ = bound ? atomic_load_explicit(bound, memory_order_acquire) : 0;
	}
	return logged;
}

uint64_t tag_book_next(const struct tag_book *b)
{
	return atomic_load(&b->next);
}

void tag_book_forget(struct tag_book *b, uint64_t from)
{
	uint64_t kept = from > b->first ? (from - b->first) / TAG_SECTOR_BYTES : 0;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = kept * sizeof(*b->bounds);
	uint64_t end = b->sectors * sizeof(*b->bounds), whole = (at + page - 1) / page * page;

	if (!b->bounds || kept >= b->sectors)
		return;
	for (; at < whole && at < end; at += sizeof(*b->bounds))
		atomic_store_explicit(&b->bounds[at / sizeof(*b->bounds)], 0, memory_order_relaxed);
	/* Whole pages go back to the kernel, and are zeros when they are touched again. */
	if (whole < end)
		madvise((char *)b->bounds + whole, end - whole, MADV_DONTNEED);
}
