/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tagged sectors: their checksum, making and reading them, the book of tagged writes, and the
 * history of tagged reads. Called by the run when it fills buffers, by QThreads before an
 * operation is issued and after it is over, outside the timed window, and by verify.
 */
#include "xdd/io/tag.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "xdd/base/random.h"

/*
 * The checksum of tagged sectors, from the library xxHash; without it a stand-in that says so.
 */

#ifdef HAVE_XXHASH

#include <xxhash.h>

bool tag_available(const char **why)
{
	(void)why;
	return true;
}

/* XXH3 with 64 bits. */
static uint64_t tag_hash(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

#else

bool tag_available(const char **why)
{
	*why = "this xdd was built without the library xxHash";
	return false;
}

static uint64_t tag_hash(const void *data, size_t size)
{
	(void)data;
	(void)size;
	return 0;
}

#endif

#define SUMMED_FROM 16
#define PAYLOAD_WORDS ((TAG_SECTOR_BYTES - TAG_HEADER_BYTES) / sizeof(uint64_t))

/* A sector as it lies on the target. */
struct sector {
	char magic[TAG_MAGIC_BYTES];
	uint64_t checksum;
	uint64_t run;
	uint64_t offset;
	uint64_t generation;
	uint64_t oldest;
	uint64_t since;
	uint64_t request;
	uint64_t sweep;
	uint32_t target;
	uint32_t pass;
	uint32_t bytes;
	uint32_t zero;
	uint64_t payload[PAYLOAD_WORDS];
};

_Static_assert(sizeof(struct sector) == TAG_SECTOR_BYTES, "a tagged sector has no gaps");
_Static_assert(offsetof(struct sector, run) == TAG_AT_RUN, "the format is in tag.h");
_Static_assert(offsetof(struct sector, offset) == TAG_AT_OFFSET, "the format is in tag.h");
_Static_assert(offsetof(struct sector, generation) == TAG_AT_GENERATION, "the format is in tag.h");
_Static_assert(offsetof(struct sector, target) == TAG_AT_TARGET, "the format is in tag.h");
_Static_assert(offsetof(struct sector, payload) == TAG_HEADER_BYTES, "the format is in tag.h");

static uint64_t checksum_of(const void *sector)
{
	return tag_hash((const char *)sector + SUMMED_FROM, TAG_SECTOR_BYTES - SUMMED_FROM);
}

/* Word i depends on no other, so the compiler may make several at a time. */
static void fill_payload(struct sector *s)
{
	uint64_t seed = tag_hash((const char *)s + SUMMED_FROM, TAG_HEADER_BYTES - SUMMED_FROM);

	for (size_t i = 0; i < PAYLOAD_WORDS; i++) {
		s->payload[i] = htole64(random_splitmix64(seed + (i + 1) * RANDOM_GOLDEN));
	}
}

void tag_write(const struct tag *tag, void *sector)
{
	struct sector s = {
		.run = htole64(tag->run),
		.offset = htole64(tag->offset),
		.generation = htole64(tag->generation),
		.oldest = htole64(tag->oldest),
		.since = htole64(tag->since),
		.request = htole64(tag->request),
		.sweep = htole64(tag->sweep),
		.target = htole32(tag->target),
		.pass = htole32(tag->pass),
		.bytes = htole32(tag->bytes),
	};

	memcpy(s.magic, TAG_MAGIC, TAG_MAGIC_BYTES);
	fill_payload(&s);
	s.checksum = htole64(checksum_of(&s));
	memcpy(sector, &s, sizeof(s));
}

void tag_fill(const struct tag *tag, void *buf, uint64_t bytes)
{
	struct tag t = *tag;

	for (uint64_t at = 0; at < bytes; at += TAG_SECTOR_BYTES) {
		t.offset = tag->offset + at;
		tag_write(&t, (char *)buf + at);
	}
}

enum tag_state tag_read(const void *sector, struct tag *tag)
{
	struct sector s;

	if (memcmp(sector, TAG_MAGIC, TAG_MAGIC_BYTES) != 0)
		return TAG_NONE;
	/* With -memalign a buffer begins at any byte. */
	memcpy(&s, sector, TAG_HEADER_BYTES);
	*tag = (struct tag){
		.run = le64toh(s.run),
		.offset = le64toh(s.offset),
		.generation = le64toh(s.generation),
		.oldest = le64toh(s.oldest),
		.since = le64toh(s.since),
		.request = le64toh(s.request),
		.sweep = le64toh(s.sweep),
		.target = le32toh(s.target),
		.pass = le32toh(s.pass),
		.bytes = le32toh(s.bytes),
	};
	return le64toh(s.checksum) == checksum_of(sector) ? TAG_GOOD : TAG_BROKEN;
}

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

int tag_history_new(struct tag_history **h)
{
	int err;

	*h = calloc(1, sizeof(**h));
	if (!*h)
		return -ENOMEM;
	err = pthread_mutex_init(&(*h)->lock, NULL);
	if (err) {
		free(*h);
		*h = NULL;
	}
	return -err;
}

void tag_history_free(struct tag_history *h)
{
	if (!h)
		return;
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/*
 * True if the data of `a` must have been written before the data of `b`.
 *
 * Writes of one run to several targets are numbered apart.
 */
static bool tag_is_older(const struct tag *a, const struct tag *b)
{
	if (a->run != b->run)
		return a->run < b->run;
	return a->target == b->target && a->since < b->since;
}

bool tag_same_pass(const struct tag *a, const struct tag *b)
{
	return a->run == b->run && a->target == b->target && a->since == b->since;
}

static void found_stale(struct tag_history *h, const struct tag_extent *what, uint64_t offset,
			uint64_t end, const struct tag *newer)
{
	struct tag_stale *stale;

	if (h->n_stale == TAG_HISTORY_STALE)
		return;
	stale = &h->stale[h->n_stale++];
	stale->what = *what;
	stale->what.offset = offset;
	stale->what.end = end;
	stale->newer = *newer;
}

/* Hold `s` against one sweep. True: all of it, or what was left of it, is dealt with. */
static bool hold_against(struct tag_history *h, struct tag_extent *s,
			 const struct tag_extent *sweep)
{
	uint64_t from = s->offset > sweep->offset ? s->offset : sweep->offset;
	uint64_t to = s->end < sweep->end ? s->end : sweep->end;

	if (from >= to || !tag_is_older(&s->tag, &sweep->tag))
		return false;
	found_stale(h, s, from, to, &sweep->tag);
	if (from > s->offset)
		s->end = from; /* the part after the sweep is not followed up */
	else
		s->offset = to;
	return s->offset >= s->end;
}

static void tag_history_remember(struct tag_history *h, const struct tag_extent *s)
{
	for (unsigned i = 0; i < h->n_seen; i++) {
		struct tag_extent *o = &h->seen[i];

		if (!tag_same_pass(&o->tag, &s->tag) || s->offset > o->end || s->end < o->offset)
			continue;
		if (s->offset < o->offset)
			o->offset = s->offset;
		if (s->end > o->end)
			o->end = s->end;
		return;
	}
	if (h->n_seen < TAG_HISTORY_STRETCHES)
		h->seen[h->n_seen++] = *s;
}

/*
 * The sweep that the tag of `s` proves, longer than before or new; NULL when there is nothing new.
 */
static const struct tag_extent *learn_sweep(struct tag_history *h, const struct tag_extent *s)
{
	struct tag_extent *sweep;

	if (s->tag.sweep >= s->tag.request)
		return NULL;
	for (unsigned i = 0; i < h->n_sweeps; i++) {
		sweep = &h->sweeps[i];
		if (!tag_same_pass(&sweep->tag, &s->tag) || sweep->offset != s->tag.sweep)
			continue;
		if (s->tag.request <= sweep->end)
			return NULL;
		sweep->end = s->tag.request;
		return sweep;
	}
	if (h->n_sweeps == TAG_HISTORY_SWEEPS)
		return NULL;
	sweep = &h->sweeps[h->n_sweeps++];
	*sweep = *s;
	sweep->offset = s->tag.sweep;
	sweep->end = s->tag.request;
	return sweep;
}

void tag_history_add(struct tag_history *h, const struct tag_extent *s)
{
	struct tag_extent rest = *s;
	const struct tag_extent *sweep;
	bool done = false;

	pthread_mutex_lock(&h->lock);
	for (unsigned i = 0; i < h->n_sweeps && !done; i++)
		done = hold_against(h, &rest, &h->sweeps[i]);
	if (!done)
		tag_history_remember(h, &rest);
	sweep = learn_sweep(h, s);
	for (unsigned i = 0; sweep && i < h->n_seen;) {
		if (hold_against(h, &h->seen[i], sweep))
			h->seen[i] = h->seen[--h->n_seen];
		else
			i++;
	}
	pthread_mutex_unlock(&h->lock);
}

bool tag_history_take(struct tag_history *h, struct tag_stale *stale)
{
	bool any;

	pthread_mutex_lock(&h->lock);
	any = h->n_stale != 0;
	if (any) {
		*stale = h->stale[0];
		h->n_stale--;
		memmove(h->stale, h->stale + 1, h->n_stale * sizeof(h->stale[0]));
	}
	pthread_mutex_unlock(&h->lock);
	return any;
}

bool tag_history_target(struct tag_history *h, const struct tag *tag, uint32_t own)
{
	bool good = true;
	unsigned i = 0;

	pthread_mutex_lock(&h->lock);
	while (i < h->n_runs && h->runs[i].run != tag->run)
		i++;
	if (i < h->n_runs && tag->target == own)
		h->runs[i].target = own;
	else if (i < h->n_runs)
		good = h->runs[i].target == tag->target;
	else if (i < TAG_HISTORY_RUNS) {
		h->runs[i].run = tag->run;
		h->runs[i].target = tag->target;
		h->n_runs++;
	}
	pthread_mutex_unlock(&h->lock);
	return good;
}
