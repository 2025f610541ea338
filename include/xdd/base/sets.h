/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of whole numbers: of any size as ranges, and of small numbers as bits; and structs that are
 * found by their numbers.
 */
#ifndef XDD_BASE_SETS_H
#define XDD_BASE_SETS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A set of whole numbers, kept as disjoint ranges: operations or bytes that are done. The ranges
 * are sorted and neither overlap nor touch, so their number stays small where numbers arrive
 * nearly in order.
 *
 * A lookup needs log n steps for n ranges. So does a number that extends the last range or begins
 * a new one after it, without moving others; a range in the middle moves those after it.
 *
 * A set belongs to one thread at a time.
 */

/* Numbers `begin` to `end - 1`. */
struct extent {
	uint64_t begin;
	uint64_t end;
};

/* A set that is all zero is empty, and has no limit. */
struct extents {
	struct extent *items; /* ascending; `n` of them */
	size_t n;
	size_t room;
	size_t limit;	/* most ranges that it may have; 0: any number */
	uint64_t total; /* numbers in the set */
};

void extents_init(struct extents *x, size_t limit);

/* Free the memory; the set is empty then, with the same limit. */
void extents_clear(struct extents *x);

/*
 * Add `begin` to `end - 1`, of which some or all may be in the set already; an empty range changes
 * nothing. Returns 0; -EINVAL when `end` is below `begin`; -ENOSPC when the set would have more
 * ranges than its limit; or -ENOMEM. The set is unchanged after an error.
 */
int extents_add(struct extents *x, uint64_t begin, uint64_t end);

/* As extents_add(), but a number that is in the set already is an error, -EEXIST. */
int extents_add_new(struct extents *x, uint64_t begin, uint64_t end);

/* Add all ranges of `from`. Returns as above; after an error some of them may be in the set. */
int extents_join(struct extents *x, const struct extents *from);

/* Make `x` equal to `from`, except for the limit, which is not applied. Returns 0 or -ENOMEM. */
int extents_copy(struct extents *x, const struct extents *from);

/* True if all numbers, or any number, of a range are in the set; of an empty range: all, none. */
bool extents_contains(const struct extents *x, uint64_t begin, uint64_t end);
bool extents_overlaps(const struct extents *x, uint64_t begin, uint64_t end);

/* The lowest number from `from` on that is not in the set. */
uint64_t extents_first_missing(const struct extents *x, uint64_t from);

/*
 * Find the first range from `from` on, and below `end`, that is not in the set. False: there is
 * none. To list all of them, continue from the end of each.
 */
bool extents_next_missing(const struct extents *x, uint64_t from, uint64_t end, struct extent *gap);

/*
 * Sets of small numbers, such as processors and NUMA nodes, in the notation of the kernel:
 * "0-3,8". A set that is all zero is empty. Pure functions; any thread.
 */

/* Numbers are 0 to IDSET_SIZE - 1: the most processors a Linux kernel knows. */
#define IDSET_SIZE 8192
#define IDSET_BITS_PER_WORD (CHAR_BIT * sizeof(unsigned long))

/* The words have the layout of the kernel's masks, and system calls take them as they are. */
struct idset {
	unsigned long words[IDSET_SIZE / IDSET_BITS_PER_WORD];
};

/* `id` has to be below IDSET_SIZE. */
void idset_add(struct idset *s, unsigned id);
bool idset_has(const struct idset *s, unsigned id);
unsigned idset_count(const struct idset *s);

/* The member with `n` members below it, or -1 when there are not so many. */
int idset_nth(const struct idset *s, unsigned n);

/* Add all of `from`. */
void idset_merge(struct idset *s, const struct idset *from);

/* Keep only what is in `other` as well. */
void idset_intersect(struct idset *s, const struct idset *other);

/* The lowest member that is not in `other`, or -1 when all of them are. */
int idset_first_outside(const struct idset *s, const struct idset *other);

/*
 * Call `take(arg, item)` for each item of `text`, with commas between them, until one returns an
 * error. Returns that, 0, or -EINVAL for an item too long to be one.
 */
int idset_each_item(const char *text, int (*take)(void *arg, char *item), void *arg);

/*
 * Add the numbers and ranges of `text`, "0-3,8". Returns 0; -EINVAL when it is anything else, or a
 * range has its ends the wrong way round; -ERANGE when a number is IDSET_SIZE or more. `*s` may
 * then have some of them.
 */
int idset_parse(struct idset *s, const char *text);

/*
 * Write the set as "0-3,8" into `buf`, "none" when it is empty. A text that does not fit ends in
 * "...". Returns `buf`.
 */
char *idset_text(const struct idset *s, char *buf, size_t size);

/*
 * A map of structs by their numbers, which are unique. The structs are the caller's, each with a
 * link as its member `link`. The lists of numbers that follow each other do so in memory as well:
 * ids of entries of a copy are used in order.
 *
 * A map belongs to one thread at a time.
 */

struct idmap_link {
	struct idmap_link *next;
	uint64_t id;
};

/* A map that is all zero has to be initialized, or freed. */
struct idmap {
	struct idmap_link **lists;
	size_t n_lists; /* a power of two */
	size_t n;	/* structs */
};

/* Returns 0 or -ENOMEM. */
int idmap_init(struct idmap *m);

/* Free the memory of the map; what is in it stays the caller's. */
void idmap_free(struct idmap *m);

/* Add a struct, whose `id` is set. Without memory lists become longer. */
void idmap_add(struct idmap *m, struct idmap_link *link);

/* Take a struct out. False: it is not in the map. */
bool idmap_remove(struct idmap *m, struct idmap_link *link);

/* The link with that id, or NULL. */
struct idmap_link *idmap_find(const struct idmap *m, uint64_t id);

/* The first link, with `link` NULL, and the one after `link`, in any order; NULL: there is none. */
struct idmap_link *idmap_next(const struct idmap *m, const struct idmap_link *link);

/* The struct of a link; NULL of NULL. */
#define IDMAP_STRUCT(link_, type_) ((type_ *)idmap_struct(link_, offsetof(type_, link)))
static inline void *idmap_struct(struct idmap_link *link, size_t offset)
{
	return link ? (char *)link - offset : NULL;
}

#endif
