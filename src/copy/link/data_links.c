/*
 * The common part of both ends of data connections: data_terms.h.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "copy/link/data_terms.h"
#include "xdd/net/digest.h"

void data_keys_forget(struct data_keys *k)
{
	explicit_bzero(k, sizeof(*k));
}

int data_keys_derive(struct data_keys *k, const struct data_terms *terms, char *why, size_t size)
{
	const char *missing;
	int err;

	memset(k, 0, sizeof(*k));
	if (!digest_available(&missing) || !net_key_available(&missing)) {
		snprintf(why, size, "%s", missing);
		return -ENOTSUP;
	}
	err = wire_key_derive(terms->key, "xdd copy: codes", k->codes);
	if (!err && terms->settings->encrypt) {
		k->tls.present = true;
		err = wire_key_derive(terms->key, "xdd copy: TLS", k->tls.bytes);
	}
	if (err)
		snprintf(why, size, "OpenSSL cannot derive a key");
	return err;
}

struct connection_options data_options(const struct data_terms *terms)
{
	return (struct connection_options){ .timeout_ns = terms->settings->timeout_ns };
}

int data_send_hello(struct connection *c, enum wire_type type, const struct data_terms *terms,
		    uint32_t number, struct wire_key *key)
{
	struct wire_hello hello = {
		.purpose = WIRE_TRANSFER,
		.flags = WIRE_CAN_KEY | (terms->settings->encrypt ? WIRE_CAN_ENCRYPT : 0),
		.software = PACKAGE_STRING,
	};
	struct wire_header h = { .type = type, .connection = number };
	uint8_t body[WIRE_MAX_HELLO_BYTES];

	memcpy(hello.session, terms->session, sizeof(hello.session));
	h.length = wire_encode_hello(&hello, body);
	h.digest = digest_data(body, (size_t)h.length);
	return connection_send_message(c, &h, key, body);
}

bool data_hello_is_right(const struct wire_hello *hello, const struct data_terms *terms)
{
	return hello->purpose == WIRE_TRANSFER &&
	       memcmp(hello->session, terms->session, sizeof(hello->session)) == 0;
}

void data_links_close(struct data_links *links)
{
	for (unsigned i = 0; i < links->n; i++)
		link_close(links->links[i]);
	memset(links, 0, sizeof(*links));
}
