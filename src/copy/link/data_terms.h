/*
 * The common part of both ends of data connections: keys, options, and their first messages. For
 * data.c.
 */
#ifndef COPY_LINK_DATA_TERMS_H
#define COPY_LINK_DATA_TERMS_H

#include <stddef.h>
#include <stdint.h>

#include "copy/link/meet.h"
#include "xdd/net/connection.h"
#include "xdd/net/wire.h"

/* Derived from the key of the copy: nothing that has one of them knows the other. */
struct data_keys {
	uint8_t codes[WIRE_KEY_BYTES];
	struct net_key tls; /* present with -e */
};

/* Returns 0, or -errno with a text: this xdd was built without a library. */
int data_keys_derive(struct data_keys *k, const struct data_terms *terms, char *why, size_t size);

/* Send HELLO or WELCOME of connection `number`. Returns 0 or -errno. */
int data_send_hello(struct connection *c, enum wire_type type, const struct data_terms *terms,
		    uint32_t number, struct wire_key *key);

#endif
