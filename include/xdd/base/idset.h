/*
 * Sets of small numbers, such as processors and NUMA nodes, in the notation of the kernel: "0-3,8".
 * A set that is all zero is empty. Pure functions; any thread.
 */
#ifndef XDD_BASE_IDSET_H
#define XDD_BASE_IDSET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Numbers are 0 to IDSET_SIZE - 1: the most processors a Linux kernel knows. */
#define IDSET_SIZE 8192
#define IDSET_BITS_PER_WORD (CHAR_BIT * sizeof(unsigned long))

/* The words are those of the kernel's own masks, and can be passed to it as they are. */
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

#endif
