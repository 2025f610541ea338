/*
 * Messages on a connection: headers and bodies of wire.h. Called by sessions.
 */
#include "net/connection_internal.h"

#include <errno.h>

int connection_send_message(struct connection *c, const struct wire_header *h, struct wire_key *key,
			    const void *body)
{
	uint8_t header[WIRE_HEADER_BYTES];
	struct iovec iov[2] = {
		{ .iov_base = header, .iov_len = sizeof(header) },
		{ .iov_base = (void *)body, .iov_len = h->length },
	};

	wire_encode(h, key, header);
	return connection_send(c, iov, h->length ? 2 : 1);
}

int connection_receive_header(struct connection *c, struct wire_key *key, uint64_t max_data,
			      struct wire_header *h, enum wire_fault *fault)
{
	uint8_t header[WIRE_HEADER_BYTES];
	int err = connection_receive_first(c, header, sizeof(header));

	*fault = WIRE_OK;
	if (err)
		return err;
	*fault = wire_decode(header, key, max_data, h, NULL);
	return *fault == WIRE_OK ? 0 : -EBADMSG;
}
