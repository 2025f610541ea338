/*
 * Bytes in both directions over two descriptors, as the standard input and output of ssh: pipes,
 * sockets, or a terminal. For link.c.
 *
 * One thread may send while another receives; duplex_abort() may be called by any thread. SIGPIPE
 * must be ignored.
 */
#ifndef COPY_LINK_DUPLEX_H
#define COPY_LINK_DUPLEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct duplex;

/*
 * Own `read_fd` and `write_fd`, which may be the same, and have them not block; a terminal
 * becomes raw. They are closed also when this fails. Returns NULL without memory or descriptors.
 */
struct duplex *duplex_new(int read_fd, int write_fd, uint64_t timeout_ns);

/* Give the descriptors their flags and modes back and close them. Accepts NULL. */
void duplex_free(struct duplex *d);

/* The time limit; a new one is that of later waits. */
void duplex_set_timeout(struct duplex *d, uint64_t timeout_ns);
uint64_t duplex_timeout(const struct duplex *d);

/* True if a call has failed with -ETIMEDOUT. Any thread. */
bool duplex_timed_out(const struct duplex *d);

/* Have all present and future calls return -ECONNABORTED. */
void duplex_abort(struct duplex *d);

/*
 * Send all of `n` parts, or receive `size` bytes. Return 0; -ECONNRESET when the other side has
 * closed it; -ECONNABORTED; -ETIMEDOUT; or another -errno. Receiving fails after the time limit
 * without a byte. Sending fails when for as long no byte could be sent and none was received: a
 * peer that sends is there, and only slow to receive. `iov` is changed.
 */
int duplex_send(struct duplex *d, struct iovec *iov, int n);
int duplex_receive(struct duplex *d, void *buf, size_t size);

/* Sleep until clock_now_ns() reaches `until_ns`. Returns 0 or -ECONNABORTED. */
int duplex_sleep(struct duplex *d, uint64_t until_ns);

#endif
