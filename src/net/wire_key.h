/*
 * The authentication code of a header. Private to src/net.
 */
#ifndef XDD_NET_WIRE_KEY_H
#define XDD_NET_WIRE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/net/wire.h"

/* Compute the code of `size` bytes of `data`. False: the library failed, and `out` is undefined. */
bool wire_key_code(struct wire_key *key, const void *data, size_t size,
		   uint8_t out[WIRE_CODE_BYTES]);

/* True if `code` is that of `data`. The time does not depend on where they differ. */
bool wire_key_check(struct wire_key *key, const void *data, size_t size,
		    const uint8_t code[WIRE_CODE_BYTES]);

#endif
