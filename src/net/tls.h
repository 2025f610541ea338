/*
 * TLS 1.3 of a connection, by OpenSSL: both sides prove that they have the key (an external PSK);
 * there are no certificates. For src/net/connection*.c and listener*.c.
 *
 * Calls do not block: they return -EAGAIN with the poll(2) events to wait for in `*events`. One
 * thread may write while another reads. SIGPIPE must be ignored: OpenSSL uses write(2).
 */
#ifndef XDD_NET_TLS_H
#define XDD_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xdd/net/key.h"

/* The first byte of a TLS connection: the type of a handshake record. */
#define TLS_FIRST_BYTE 0x16

struct tls_context;
struct tls;

/*
 * For connections of one side. `key` is borrowed for its life. Return NULL without memory or
 * without OpenSSL. The free functions accept NULL.
 */
struct tls_context *tls_context_new(const struct net_key *key, bool server);
void tls_context_free(struct tls_context *ctx);
struct tls *tls_new(struct tls_context *ctx, int fd);
void tls_free(struct tls *t);

/*
 * A step of the handshake, before anything else. Returns 0 when it is complete and the peer has
 * the key; -EAGAIN; -EACCES: the peer refused the key, or has not proved that it has it;
 * -ECONNRESET: it closed the connection; or another -errno.
 */
int tls_handshake(struct tls *t, short *events);

/*
 * Write or read at most `size` bytes. Return how many, or -errno; -ECONNRESET at the end,
 * -EBADMSG: what arrived is damaged. A write that returned -EAGAIN is repeated with the same bytes.
 */
ssize_t tls_write(struct tls *t, const void *buf, size_t size, short *events);
ssize_t tls_read(struct tls *t, void *buf, size_t size, short *events);

/* True: there are bytes to read that poll(2) does not see. */
bool tls_pending(struct tls *t);

/* A key for `label` that only the two sides know. Returns 0 or -EIO. */
int tls_export_key(struct tls *t, const char *label, uint8_t *out, size_t size);

/* The cipher; and whether the kernel encrypts what is sent. */
const char *tls_cipher(const struct tls *t);
bool tls_kernel(const struct tls *t);

#endif
