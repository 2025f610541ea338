/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys, by OpenSSL, and stand-ins without it: the key of -e2e key and of -cookie, which is read
 * once, before anything is opened (connection.h); and keys of sessions, which compute the codes of
 * headers (wire.h).
 */
#include "config.h"

#include "xdd/base/err.h"
#include "xdd/net/connection.h"
#include "xdd/net/wire.h"

#include <errno.h>
#include <string.h>

#define ENVIRONMENT "XDD_E2E_KEY"

#ifdef HAVE_OPENSSL
#include <ctype.h>
#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/base/text.h"

/* Blanks and line ends around the text may come on top. */
#define MAX_FILE_BYTES (2 * NET_KEY_MAX_BYTES)

bool net_key_available(const char **why)
{
	*why = NULL;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* `origin` names the file, or the variable, for messages. */
static int derive(const char *text, size_t n, const char *origin, struct net_key *key,
		  struct err *why)
{
	while (n && is_blank(text[n - 1]))
		n--;
	for (; n && is_blank(*text); n--)
		text++;
	if (n < NET_KEY_MIN_BYTES || n > NET_KEY_MAX_BYTES)
		return err_set(why, -EINVAL, "%s: expected a key of %d to %d bytes, not %zu",
			       origin, NET_KEY_MIN_BYTES, NET_KEY_MAX_BYTES, n);
	if (!EVP_Digest(text, n, key->bytes, NULL, EVP_sha256(), NULL))
		return err_set(why, -EIO, "%s: OpenSSL cannot compute SHA-256", origin);
	key->present = true;
	return 0;
}

static int check_file(int fd, const char *origin, struct err *why)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
		return err_set(why, -EINVAL, "%s: expected a file or a pipe with the key", origin);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return err_set(why, -EACCES,
			       "%s: must not be accessible to other users (mode %04o); chmod 600",
			       origin, (unsigned)st.st_mode & 07777);
	return 0;
}

static int read_open(int fd, const char *origin, struct net_key *key, struct err *why)
{
	int err = check_file(fd, origin, why);
	char *text;
	size_t n;

	/* A pipe without a writer did not block when it was opened; one that has a writer may. */
	if (!err && fcntl(fd, F_SETFL, 0) < 0)
		err = -errno;
	if (err)
		return err;
	err = readfile(fd, MAX_FILE_BYTES, &text, &n);
	if (err == -EFBIG)
		err_set(why, err, "%s: expected a key of %d to %d bytes", origin, NET_KEY_MIN_BYTES,
			NET_KEY_MAX_BYTES);
	if (err)
		return err;
	err = derive(text, n, origin, key, why);
	OPENSSL_cleanse(text, n);
	free(text);
	return err;
}

static int read_file(const char *path, struct net_key *key, struct err *why)
{
	char *safe = printable_dup(path, false);
	const char *origin = safe ? safe : "?";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int err = fd < 0 ? -errno : read_open(fd, origin, key, why);

	if (err && !err_is_set(why))
		err_sys(why, err, "%s: cannot read the key", origin);
	if (fd >= 0)
		close(fd);
	free(safe);
	return err;
}

int net_key_load(const char *path, struct net_key *key, struct err *why)
{
	const char *text = getenv(ENVIRONMENT);

	memset(key, 0, sizeof(*key));
	err_clear(why);
	if (path)
		return read_file(path, key, why);
	return text ? derive(text, strlen(text), ENVIRONMENT, key, why) : 0;
}

int net_key_from_cookie(const char *digits, struct net_key *key, struct err *why)
{
	char lower[NET_KEY_MAX_BYTES];
	size_t n = strlen(digits);

	memset(key, 0, sizeof(*key));
	err_clear(why);
	if (n > sizeof(lower))
		n = sizeof(lower);
	for (size_t i = 0; i < n; i++)
		lower[i] = (char)tolower((unsigned char)digits[i]);
	return derive(lower, n, "-cookie", key, why);
}

void net_key_forget(struct net_key *key)
{
	OPENSSL_cleanse(key, sizeof(*key));
}

/*
 * Authentication codes of headers by HMAC-SHA256. The algorithm is fetched and the context
 * allocated once per key, because both cost more than the code itself. The key is set for each
 * code: versions of OpenSSL 3.0 do not reset a context that keeps its key.
 */

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

#include <stdio.h>
#include <stdlib.h>

bool net_key_available(const char **why)
{
	*why = "this xdd was built without OpenSSL";
	return false;
}

int net_key_load(const char *path, struct net_key *key, struct err *why)
{
	const char *no;

	memset(key, 0, sizeof(*key));
	err_clear(why);
	if (!path && !getenv(ENVIRONMENT))
		return 0;
	net_key_available(&no);
	return err_set(why, -ENOTSUP, "%s: %s", path ? "-e2e key" : ENVIRONMENT, no);
}

int net_key_from_cookie(const char *digits, struct net_key *key, struct err *why)
{
	const char *no;

	(void)digits;
	memset(key, 0, sizeof(*key));
	net_key_available(&no);
	return err_set(why, -ENOTSUP, "%s", no);
}

void net_key_forget(struct net_key *key)
{
	memset(key, 0, sizeof(*key));
}

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
