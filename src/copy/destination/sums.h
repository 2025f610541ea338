/*
 * Comparison of existing files, and of parts of an interrupted copy, with digests of the source.
 * Private to src/copy/destination.
 */
#ifndef COPY_DESTINATION_SUMS_H
#define COPY_DESTINATION_SUMS_H

#include "copy/destination/destination.h"

/* A message of digests. Returns 0, -EBADMSG with `why`, or -ENOMEM. */
int sums_message(struct destination *d, const uint8_t *body, size_t length, char *why);

/* All digests of a file have come: the caller owns the item, which is gone then. */
void sums_complete(struct destination *d, struct item *i);

/*
 * Ask for the digests of the bytes that an interrupted copy has of a file, in whole blocks: `want`
 * has the ranges, which are to be freed as `*ranges`. If there are none, it asks for the contents.
 * The item is the caller's. Returns 0 or -ENOMEM.
 */
int sums_prove(struct item *i, const struct extents *durable, struct copy_want *want,
	       struct extent **ranges);

/*
 * Keep bytes that are there, and ask for the others, as above. Returns 1 if nothing is missing; 0
 * with `want`; or -ENOMEM.
 */
int sums_keep(struct destination *d, struct item *i, const struct extents *durable,
	      struct copy_want *want, struct extent **ranges);

#endif
