/*
 * Files that come in several messages. Private to src/copy/destination. Each returns 0, -EBADMSG
 * with `why`, or -ENOMEM. Data threads, or the receiving thread where data comes through the
 * channel.
 */
#ifndef COPY_DESTINATION_STREAM_H
#define COPY_DESTINATION_STREAM_H

#include "copy/destination/destination.h"

int stream_block(struct destination *d, const struct wire_header *h, const uint8_t *body,
		 char *why);
int stream_file_end(struct destination *d, const uint8_t *body, size_t length, char *why);

/* The end of a message of digests for a file in use. */
int stream_sums_end(struct destination *d, struct item *i, char *why);

#endif
