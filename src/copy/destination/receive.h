/*
 * Data threads of the destination. Private to src/copy/destination.
 */
#ifndef COPY_DESTINATION_RECEIVE_H
#define COPY_DESTINATION_RECEIVE_H

#include "copy/destination/destination.h"

struct receivers;

/* Start a thread for each data connection. Returns 0 or -errno; those that run are in `*r`. */
int receivers_start(struct receivers **r, struct destination *d);

/* Join all; their connections are aborted. Accepts NULL. */
void receivers_end(struct receivers *r);

/*
 * A message of data with its checked body, in data thread `thread`, or in the receiving thread
 * where data comes through the channel. `stamp` has the times of its transfer. Returns 0, -EBADMSG
 * with `why`, or -ENOMEM.
 */
int receive_message(struct destination *d, unsigned thread, struct stamp *stamp,
		    const struct wire_header *h, const uint8_t *body, char *why);

#endif
