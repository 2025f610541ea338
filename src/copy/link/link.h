/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between the two sides of a copy, and the bytes below them.
 */
#ifndef XDD_COPY_LINK_LINK_H
#define XDD_COPY_LINK_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "xdd/base/err.h"
#include "xdd/net/connection.h"
#include "xdd/net/wire.h"

struct duplex;
struct link;

/*
 * Bytes in both directions over two descriptors, as the standard input and output of ssh: pipes,
 * sockets, or a terminal. For link.c.
 *
 * One thread may send while another receives; duplex_abort() may be called by any thread. SIGPIPE
 * must be ignored.
 */

/*
 * A stream of messages between the two sides of a copy: the channel through ssh, which has control
 * messages, or a TCP connection for data. A data thread need not know which of them it has.
 *
 * Any thread may send on a channel, which locks, while one thread at a time receives. A data
 * connection, and a link inside of a channel, belong to one thread. link_abort() may be called by
 * any thread while the link is open. SIGPIPE must be ignored.
 */

/*
 * A channel on two descriptors that may be pipes, sockets or the same; a terminal becomes raw. The
 * link closes them, also when this fails. After the first message it sends, a channel sends ALIVE
 * in each second in which it sends nothing else, from a thread of its own. Receiving fails with
 * -ETIMEDOUT after `timeout_ns` without a byte; so does sending when no byte moves in either
 * direction for as long. Returns NULL without memory or threads.
 */
struct link *link_on_fds(int read_fd, int write_fd, uint64_t timeout_ns);

/* Another time limit for a channel: a server learns its own with START. */
void link_set_timeout(struct link *channel, uint64_t timeout_ns);

/*
 * The next message other than a sign of life must have come by `deadline_ns` of clock_now_ns(); 0:
 * no deadline. The thread that receives. link_receive() then returns -ETIMEDOUT.
 */
void link_set_deadline(struct link *channel, uint64_t deadline_ns);

/* True if a call on a channel has failed with -ETIMEDOUT. Any thread. */
bool link_timed_out(const struct link *channel);

/*
 * A data connection, number `number`, whose codes use `key`, after HELLO and WELCOME, which had
 * sequence 0. The link closes both, also when this fails. Receiving waits for the first byte of a
 * message without limit, because the other side may have nothing to send: the channel tells whether
 * it lives, and link_abort() ends the wait. Returns NULL without memory.
 */
struct link *link_on_connection(struct connection *c, struct wire_key *key, unsigned number);

/*
 * A data stream inside of `channel`, which is borrowed: sends only, as connection 0. The other side
 * receives its messages on the channel, with a `max_data` that is not 0. Returns NULL without
 * memory.
 */
struct link *link_inside(struct link *channel);

/* Accepts NULL. */
void link_close(struct link *l);

/*
 * Have calls return -ECONNABORTED. The end of one inside of a channel is only its own: the channel
 * still carries the end of the copy.
 */
void link_abort(struct link *l);

/*
 * Send bytes that are no message on a channel, before the first message: the banner of a server. A
 * channel sends nothing by itself before that. Returns 0 or -errno.
 */
int link_send_text(struct link *channel, const char *text);

/*
 * Send a message of `h->type`, whose body is `n` parts; the link fills in connection, sequence,
 * length, digest and code; the caller sets offset and the block's id. `ns` (may be NULL) gets time
 * added: [0] in digests, [1] in sending. Returns 0 or -errno, as receiving does, and again after
 * the first error; `iov` is changed.
 */
int link_send(struct link *l, struct wire_header *h, struct iovec *iov, int n, uint64_t ns[2]);

/* A message with one part or none. */
int link_send_body(struct link *l, enum wire_type type, const void *body, size_t length);

/*
 * Receive the header of the next message, except ALIVE, and check number, sequence and code.
 * `max_data` bounds BLOCK, BUNDLE and SUMS; with 0 a channel accepts no message of a data stream.
 * Returns 0; -EBADMSG: the peer broke the rules; -ECONNRESET: it is gone; -ETIMEDOUT;
 * -ECONNABORTED; or another -errno. An error comes with a message in `why`, which may be NULL.
 */
int link_receive(struct link *l, uint64_t max_data, struct wire_header *h, struct err *why);

/*
 * Receive its body into `buf`, which has room for h->length bytes, and check its digest. `ns` as
 * above: [0] digests, [1] receiving. Errors as above.
 */
int link_receive_body(struct link *l, const struct wire_header *h, void *buf, uint64_t ns[2],
		      struct err *why);

/* False for TCP, with facts of the connection, which are all zero for a channel. */
bool link_is_channel(const struct link *l);
void link_info(struct link *l, struct connection_info *info);

#endif
