/*
 * Messages on a connection: headers and bodies of wire.h. Called by sessions.
 */
#include "net/connection_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "xdd/base/log.h"

static void debug_message(const char *what, const struct connection *c, const struct wire_header *h)
{
	char number[16] = "control";

	if (h->connection != WIRE_NO_CONNECTION)
		snprintf(number, sizeof(number), "%" PRIu32, h->connection);
	debug_print(DEBUG_E2E,
		    "%s %s %s: target %" PRIu32 ", connection %s, pass %" PRIu32
		    ", sequence %" PRIu64 ", offset %" PRIu64 ", %" PRIu64 " bytes",
		    wire_type_name(h->type), what, connection_peer(c), h->target, number, h->pass,
		    h->sequence, h->offset, h->length);
}

int connection_send_message(struct connection *c, const struct wire_header *h, struct wire_key *key,
			    const void *body)
{
	uint8_t header[WIRE_HEADER_BYTES];
	struct iovec iov[2] = {
		{ .iov_base = header, .iov_len = sizeof(header) },
		{ .iov_base = (void *)body, .iov_len = h->length },
	};

	if (debug_on(DEBUG_E2E))
		debug_message("to", c, h);
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
	if (*fault != WIRE_OK)
		return -EBADMSG;
	if (debug_on(DEBUG_E2E))
		debug_message("from", c, h);
	return 0;
}
