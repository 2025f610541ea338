/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys and TLS by OpenSSL, and stand-ins without it: the key of -e2e key and of -cookie, which is
 * read once, before anything is opened (connection.h); keys of sessions, which compute the codes of
 * headers (wire.h); and TLS (connection_internal.h).
 *
 * In TLS the key is an external PSK of TLS 1.3, always with a fresh Diffie-Hellman exchange, so a
 * recorded session cannot be replayed, nor read by a later thief of the key. There are no
 * certificates: a client that verifies them without trusting any, and a server that has none, can
 * only succeed with the PSK.
 */
#include "config.h"

#include "net/connection_internal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/err.h"
#include "xdd/net/connection.h"
#include "xdd/net/wire.h"

#define ENVIRONMENT "XDD_E2E_KEY"

#ifdef HAVE_OPENSSL
#include <ctype.h>
#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/ssl.h>
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

/* ---- TLS ---- */

/* The name of the key, which there is one of. */
#define IDENTITY "xdd"

/* Both have the hash that the PSK belongs to, SHA-256. */
#define CIPHERS "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
#define CIPHER_ID "\x13\x01"

/*
 * Records have at most 16 KiB. More than two in a buffer cost more in the processor's caches than
 * the system calls that they save, and so does any buffer on the way out.
 */
#define READ_BYTES (32 * 1024)

struct tls_context {
	SSL_CTX *ssl;
	const struct net_key *key;
	bool server;
};

struct tls {
	/* guarded by lock: OpenSSL lets only one thread at a time use an object */
	SSL *ssl;
	pthread_mutex_t lock;
};

/* ---- the key of TLS ---- */

static SSL_SESSION *psk_session(SSL *ssl)
{
	const struct tls_context *ctx = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, (const unsigned char *)CIPHER_ID);
	SSL_SESSION *s = SSL_SESSION_new();

	if (s && cipher &&
	    SSL_SESSION_set1_master_key(s, ctx->key->bytes, sizeof(ctx->key->bytes)) &&
	    SSL_SESSION_set_cipher(s, cipher) &&
	    SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION))
		return s;
	SSL_SESSION_free(s);
	return NULL;
}

static int use_session(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *size,
		       SSL_SESSION **session)
{
	*session = NULL;
	if (md && !EVP_MD_is_a(md, "SHA256"))
		return 1;
	*session = psk_session(ssl);
	*id = (const unsigned char *)IDENTITY;
	*size = strlen(IDENTITY);
	return *session != NULL;
}

static int find_session(SSL *ssl, const unsigned char *id, size_t size, SSL_SESSION **session)
{
	*session = NULL;
	if (size != strlen(IDENTITY) || memcmp(id, IDENTITY, size) != 0)
		return 1;
	*session = psk_session(ssl);
	return *session != NULL;
}

/* ---- contexts ---- */

static bool set_up(struct tls_context *ctx)
{
	SSL_CTX *ssl = ctx->ssl;

	SSL_CTX_set_app_data(ssl, ctx);
	SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
					 SSL_OP_NO_COMPRESSION | SSL_OP_ENABLE_KTLS);
	SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_quiet_shutdown(ssl, 1);
	SSL_CTX_set_default_read_buffer_len(ssl, READ_BYTES);
	if (ctx->server) {
		SSL_CTX_set_psk_find_session_callback(ssl, find_session);
	} else {
		SSL_CTX_set_psk_use_session_callback(ssl, use_session);
		SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	}
	return SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) &&
	       SSL_CTX_set_max_proto_version(ssl, TLS1_3_VERSION) &&
	       SSL_CTX_set_ciphersuites(ssl, CIPHERS) && SSL_CTX_set_num_tickets(ssl, 0) &&
	       SSL_CTX_set_max_early_data(ssl, 0);
}

struct tls_context *tls_context_new(const struct net_key *key, bool server)
{
	struct tls_context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	/* Threads that are stuck in the kernel may outlive main(): nothing is freed then. */
	OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
	ctx->key = key;
	ctx->server = server;
	ctx->ssl = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
	if (ctx->ssl && set_up(ctx))
		return ctx;
	tls_context_free(ctx);
	return NULL;
}

void tls_context_free(struct tls_context *ctx)
{
	if (!ctx)
		return;
	SSL_CTX_free(ctx->ssl);
	free(ctx);
}

struct tls *tls_new(struct tls_context *ctx, int fd)
{
	struct tls *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	t->ssl = SSL_new(ctx->ssl);
	if (t->ssl && SSL_set_fd(t->ssl, fd)) {
		if (ctx->server)
			SSL_set_accept_state(t->ssl);
		else
			SSL_set_connect_state(t->ssl);
		return t;
	}
	tls_free(t);
	return NULL;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* ---- results ---- */

/* -errno for a call that returned `result`; `err` is the errno after it. */
static int failure(struct tls *t, int result, int err, short *events)
{
	switch (SSL_get_error(t->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		*events = POLLIN;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		*events = POLLOUT;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return -ECONNRESET;
	case SSL_ERROR_SYSCALL:
		return err && err != EPIPE ? -err : -ECONNRESET;
	default:
		if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
			return -ECONNRESET;
		return -EBADMSG;
	}
}

/* ---- the handshake ---- */

/* An alert of the peer, or what it sent without one, about the key. */
static bool is_about_key(void)
{
	switch (ERR_GET_REASON(ERR_peek_error())) {
	case SSL_R_BINDER_DOES_NOT_VERIFY:
	case SSL_R_CERTIFICATE_VERIFY_FAILED:
	case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
	case SSL_R_NO_SHARED_CIPHER:
	case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
	case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
	case SSL_R_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY:
		return true;
	default:
		return false;
	}
}

int tls_handshake(struct tls *t, short *events)
{
	int result, err;

	ERR_clear_error();
	errno = 0;
	result = SSL_do_handshake(t->ssl);
	err = errno;
	if (result != 1) {
		err = failure(t, result, err, events);
		return err == -EBADMSG && is_about_key() ? -EACCES : err;
	}
	/* The kernel decrypts record by record. */
	if (!BIO_get_ktls_recv(SSL_get_rbio(t->ssl)))
		SSL_set_read_ahead(t->ssl, 1);
	return SSL_session_reused(t->ssl) ? 0 : -EACCES;
}

/* ---- data ---- */

ssize_t tls_write(struct tls *t, const void *buf, size_t size, short *events)
{
	size_t done = 0;
	int result, err = 0;

	pthread_mutex_lock(&t->lock);
	ERR_clear_error();
	errno = 0;
	result = size ? SSL_write_ex(t->ssl, buf, size, &done) : 1;
	if (result != 1)
		err = failure(t, result, errno, events);
	pthread_mutex_unlock(&t->lock);
	return err ? err : (ssize_t)done;
}

ssize_t tls_read(struct tls *t, void *buf, size_t size, short *events)
{
	size_t done = 0;
	int result, err = 0;

	pthread_mutex_lock(&t->lock);
	ERR_clear_error();
	errno = 0;
	result = SSL_read_ex(t->ssl, buf, size, &done);
	if (result != 1)
		err = failure(t, result, errno, events);
	pthread_mutex_unlock(&t->lock);
	return err ? err : (ssize_t)done;
}

bool tls_pending(struct tls *t)
{
	bool pending;

	pthread_mutex_lock(&t->lock);
	pending = SSL_has_pending(t->ssl);
	pthread_mutex_unlock(&t->lock);
	return pending;
}

int tls_export_key(struct tls *t, const char *label, uint8_t *out, size_t size)
{
	int ok;

	pthread_mutex_lock(&t->lock);
	ok = SSL_export_keying_material(t->ssl, out, size, label, strlen(label), NULL, 0, 0);
	pthread_mutex_unlock(&t->lock);
	return ok == 1 ? 0 : -EIO;
}

const char *tls_cipher(const struct tls *t)
{
	return SSL_get_cipher_name(t->ssl);
}

bool tls_kernel(const struct tls *t)
{
	return BIO_get_ktls_send(SSL_get_wbio(t->ssl));
}

#else /* !HAVE_OPENSSL */

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

struct tls_context *tls_context_new(const struct net_key *key, bool server)
{
	(void)key, (void)server;
	return NULL;
}

void tls_context_free(struct tls_context *ctx)
{
	(void)ctx;
}

struct tls *tls_new(struct tls_context *ctx, int fd)
{
	(void)ctx, (void)fd;
	return NULL;
}

void tls_free(struct tls *t)
{
	(void)t;
}

int tls_handshake(struct tls *t, short *events)
{
	(void)t, (void)events;
	return -ENOTSUP;
}

ssize_t tls_write(struct tls *t, const void *buf, size_t size, short *events)
{
	(void)t, (void)buf, (void)size, (void)events;
	return -ENOTSUP;
}

ssize_t tls_read(struct tls *t, void *buf, size_t size, short *events)
{
	(void)t, (void)buf, (void)size, (void)events;
	return -ENOTSUP;
}

bool tls_pending(struct tls *t)
{
	(void)t;
	return false;
}

int tls_export_key(struct tls *t, const char *label, uint8_t *out, size_t size)
{
	(void)t, (void)label, (void)out, (void)size;
	return -ENOTSUP;
}

const char *tls_cipher(const struct tls *t)
{
	(void)t;
	return "";
}

bool tls_kernel(const struct tls *t)
{
	(void)t;
	return false;
}

#endif
