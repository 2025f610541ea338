/*
 * Kernel time stamps of received datagrams, as times of a monotonic clock. The kernel stamps with
 * the wall clock, which may be set at any moment: a stamp counts only while the difference of the
 * two clocks does not change. Pure functions, except time_stamp_enable(); any thread. Private to
 * src/net, and to the tests.
 */
#ifndef XDD_NET_TIME_STAMP_H
#define XDD_NET_TIME_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* The wall clock between two readings of the monotonic clock. */
struct time_reading {
	uint64_t before_ns, wall_ns, after_ns;
};

/* True if the wall clock was not set between two readings. */
bool time_same_wall(const struct time_reading *a, const struct time_reading *b);

/* Have the kernel stamp what the socket receives, where it can. */
void time_stamp_enable(int fd);

/* The stamp of a received message; 0: it has none. */
uint64_t time_stamp_of(struct msghdr *h);

/*
 * The arrival of a message with stamp `stamp_ns` (0: none): a time of the monotonic clock that is
 * not before it. `now` was read after the message. The wall clock was not set since `since_ns`.
 */
uint64_t time_stamp_arrival(uint64_t stamp_ns, const struct time_reading *now, uint64_t since_ns);

#endif
