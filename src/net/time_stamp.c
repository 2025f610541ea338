/*
 * Kernel time stamps: time_stamp.h. Called by time_link.c and time_server_udp.c.
 */
#include "net/time_stamp.h"

#include <string.h>

#include "xdd/base/units.h"

/* Two readings of the same wall clock differ by less, beyond the time that they took. */
#define SAME_WALL_NS 1000

/* The two clocks hardly differ in rate for so long; an older stamp is not used. */
#define OLDEST_NS (10 * NS_PER_MS)

bool time_same_wall(const struct time_reading *a, const struct time_reading *b)
{
	int64_t a_least = (int64_t)(a->wall_ns - a->after_ns);
	int64_t a_most = (int64_t)(a->wall_ns - a->before_ns);
	int64_t b_least = (int64_t)(b->wall_ns - b->after_ns);
	int64_t b_most = (int64_t)(b->wall_ns - b->before_ns);

	return a_least <= b_most + SAME_WALL_NS && b_least <= a_most + SAME_WALL_NS;
}

void time_stamp_enable(int fd)
{
	const int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
}

uint64_t time_stamp_of(struct msghdr *h)
{
	struct timespec ts;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
	}
	return 0;
}

uint64_t time_stamp_arrival(uint64_t stamp_ns, const struct time_reading *now, uint64_t since_ns)
{
	const uint64_t age_ns = now->wall_ns - stamp_ns;

	if (!stamp_ns || stamp_ns > now->wall_ns || age_ns > OLDEST_NS ||
	    now->after_ns - age_ns < since_ns)
		return now->before_ns;
	/* Rounded up: too late an arrival widens a bound, too early a one breaks it. */
	return ns_earlier(now->before_ns, now->after_ns - age_ns);
}
