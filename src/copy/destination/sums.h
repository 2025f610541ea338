/*
 * Comparison of existing files with digests of the source. Private to src/copy/destination.
 */
#ifndef COPY_DESTINATION_SUMS_H
#define COPY_DESTINATION_SUMS_H

#include "copy/destination/destination.h"

/* A message of digests. Returns 0, -EBADMSG with `why`, or -ENOMEM. */
int sums_message(struct destination *d, const uint8_t *body, size_t length, char *why);

/* All digests of a file have come: the caller owns the item, which is gone then. */
void sums_complete(struct destination *d, struct item *i);

#endif
