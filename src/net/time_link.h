/*
 * The socket of a client of global time, UDP or TCP, and the times at which messages leave and
 * arrive. A link belongs to one thread. Private to src/net.
 */
#ifndef XDD_NET_TIME_LINK_H
#define XDD_NET_TIME_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/time_message.h"
#include "net/time_stamp.h"

struct stop;

/* How waits end early: `stop` (or NULL), and descriptor `wake_fd` when it is readable (or -1). */
struct time_wait {
	struct stop *stop;
	int wake_fd;
};

/*
 * Wait for poll(2) `events` on `fd` (-1: none) until clock `until_ns`. Returns 1; 0 at that time;
 * or -ECANCELED.
 */
int time_wait(const struct time_wait *w, int fd, short events, uint64_t until_ns);

/* The wall clock and clock_now_ns(). */
struct time_reading time_reading(void);

/* The arrival of a message. */
struct time_arrival {
	struct time_reading read;
	uint64_t stamp_ns; /* wall clock when the kernel had it; 0: not known */
};

/* clock_now_ns() when the answer to a message that left at `sent` arrived, or a bit later. */
uint64_t time_arrival_ns(const struct time_arrival *a, const struct time_reading *sent);

struct time_link {
	int fd; /* -1: closed */
	bool tcp;
	size_t have; /* TCP: bytes of the next message */
	uint8_t buffer[TIME_MESSAGE_BYTES];
};

/* Returns 0 or -errno; -ETIMEDOUT: no TCP connection until `until_ns`. */
int time_link_open(struct time_link *l, const struct sockaddr_storage *to, socklen_t size, bool tcp,
		   const struct time_wait *w, uint64_t until_ns);

/* Close it, unless it is closed. */
void time_link_close(struct time_link *l);

/* Returns 0; -EAGAIN: not now; or another -errno. */
int time_link_send(struct time_link *l, const uint8_t bytes[TIME_MESSAGE_BYTES]);

/*
 * Take what has arrived, without waiting. Returns 1 with a valid message; 0: something else has
 * arrived, and there may be more; -EAGAIN: nothing; or another -errno.
 */
int time_link_receive(struct time_link *l, struct time_message *m, struct time_arrival *a);

#endif
