/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common part of both ends of data connections: keys, options, and the terms of their first
 * messages. For data.c.
 */
#ifndef COPY_LINK_DATA_TERMS_H
#define COPY_LINK_DATA_TERMS_H

#include <stddef.h>
#include <stdint.h>

#include "copy/link/meet.h"
#include "xdd/net/connection.h"
#include "xdd/net/stream.h"
#include "xdd/net/wire.h"

/* Derived from the key of the copy: nothing that has one of them knows the other. */
struct data_keys {
	uint8_t codes[WIRE_KEY_BYTES];
	struct net_key tls; /* present with -e */
};

/* Returns 0, or -errno with a text: this xdd was built without a library. */
int data_keys_derive(struct data_keys *k, const struct data_terms *terms, struct err *why);

/* The terms of all data connections, for their first messages; both are borrowed. */
struct stream_terms data_streams(const struct data_terms *terms, const struct data_keys *keys);

#endif
