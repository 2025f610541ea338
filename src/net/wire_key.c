/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Authentication codes by HMAC-SHA256 of OpenSSL, and a stand-in without it: no key can be made
 * then. Called for every header of a session with a key.
 *
 * The algorithm is fetched and the context allocated once per key, because both cost more than the
 * code itself. The key is set for each code: versions of OpenSSL 3.0 do not reset a context that
 * keeps its key.
 */
#include "config.h"

#include "net/wire_body.h"

#include <errno.h>

#ifdef HAVE_OPENSSL

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

#define HMAC_BYTES 32

_Static_assert(HMAC_BYTES == WIRE_KEY_BYTES, "a code is a key");

struct wire_key {
	uint8_t bytes[WIRE_KEY_BYTES];
	EVP_MAC_CTX *context;
};

static EVP_MAC_CTX *new_context(void)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
		OSSL_PARAM_construct_end(),
	};
	EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;

	EVP_MAC_free(mac); /* the context keeps a reference */
	if (context && !EVP_MAC_CTX_set_params(context, params)) {
		EVP_MAC_CTX_free(context);
		return NULL;
	}
	return context;
}

struct wire_key *wire_key_new(const uint8_t bytes[WIRE_KEY_BYTES])
{
	struct wire_key *key = calloc(1, sizeof(*key));

	if (!key)
		return NULL;
	memcpy(key->bytes, bytes, WIRE_KEY_BYTES);
	key->context = new_context();
	if (!key->context) {
		wire_key_free(key);
		return NULL;
	}
	return key;
}

void wire_key_free(struct wire_key *key)
{
	if (!key)
		return;
	EVP_MAC_CTX_free(key->context);
	OPENSSL_cleanse(key->bytes, sizeof(key->bytes));
	free(key);
}

static bool compute(struct wire_key *key, const void *data, size_t size, uint8_t out[HMAC_BYTES])
{
	size_t length;

	return EVP_MAC_init(key->context, key->bytes, sizeof(key->bytes), NULL) &&
	       EVP_MAC_update(key->context, data, size) &&
	       EVP_MAC_final(key->context, out, &length, HMAC_BYTES) && length == HMAC_BYTES;
}

int wire_key_derive(const uint8_t secret[WIRE_KEY_BYTES], const char *label,
		    uint8_t out[WIRE_KEY_BYTES])
{
	struct wire_key *key = wire_key_new(secret);
	bool done = key && compute(key, label, strlen(label), out);

	wire_key_free(key);
	return done ? 0 : -EIO;
}

bool wire_key_code(struct wire_key *key, const void *data, size_t size,
		   uint8_t out[WIRE_CODE_BYTES])
{
	uint8_t full[HMAC_BYTES];

	if (!compute(key, data, size, full))
		return false;
	memcpy(out, full, WIRE_CODE_BYTES);
	return true;
}

bool wire_key_check(struct wire_key *key, const void *data, size_t size,
		    const uint8_t code[WIRE_CODE_BYTES])
{
	uint8_t own[WIRE_CODE_BYTES];

	return wire_key_code(key, data, size, own) && CRYPTO_memcmp(own, code, sizeof(own)) == 0;
}

#else

struct wire_key *wire_key_new(const uint8_t bytes[WIRE_KEY_BYTES])
{
	(void)bytes;
	return NULL;
}

void wire_key_free(struct wire_key *key)
{
	(void)key;
}

int wire_key_derive(const uint8_t secret[WIRE_KEY_BYTES], const char *label,
		    uint8_t out[WIRE_KEY_BYTES])
{
	(void)secret;
	(void)label;
	(void)out;
	return -ENOTSUP;
}

bool wire_key_code(struct wire_key *key, const void *data, size_t size,
		   uint8_t out[WIRE_CODE_BYTES])
{
	(void)key;
	(void)data;
	(void)size;
	(void)out;
	return false;
}

bool wire_key_check(struct wire_key *key, const void *data, size_t size,
		    const uint8_t code[WIRE_CODE_BYTES])
{
	(void)key;
	(void)data;
	(void)size;
	(void)code;
	return false;
}

#endif
