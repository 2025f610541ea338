/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time server: kernel time stamps on a wall clock that may be set, its answers, and the address
 * that they come from: src/net/time_server.c, with clocks of the test.
 */
#include "unit.h"

#include <stdint.h>
#include <string.h>

#include "xdd/sys/clock.h"

/*
 * Each reading of the monotonic clock takes `step_ns`, but the one with the number `quick` a tenth
 * of it; the wall clock is ahead by `ahead_ns`.
 */
static uint64_t kernel_ns, step_ns, ahead_ns;
static unsigned readings, quick;

static uint64_t fake_kernel_ns(void)
{
	readings++;
	return kernel_ns += readings == quick ? step_ns / 10 : step_ns;
}

static uint64_t fake_wall_ns(void)
{
	return kernel_ns + ahead_ns;
}

#define clock_kernel_ns fake_kernel_ns
#define clock_wall_ns fake_wall_ns
#include "../../src/net/time_server.c"

#define MS 1000000u

static struct time_reading reading(uint64_t before, uint64_t wall, uint64_t after)
{
	return (struct time_reading){ before, wall, after };
}

/* Two readings agree if the wall clock may have gone on with the monotonic one, within 1 us. */
TEST(test_same_wall)
{
	const struct time_reading a = reading(1000000, 5000000, 1000100);
	static const struct {
		uint64_t before, wall, after;
		bool same;
	} cases[] = {
		{ 2000000, 6000000, 2000100, true },  { 2000000, 6001100, 2000100, true },
		{ 2000000, 6001101, 2000100, false }, { 2000000, 5998900, 2000100, true },
		{ 2000000, 5998899, 2000100, false }, { 2000000, 6003000, 2002000, true },
		{ 2000000, 5000000, 2000100, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct time_reading b =
			reading(cases[i].before, cases[i].wall, cases[i].after);

		assert_int_equal(time_same_wall(&a, &b), cases[i].same);
		assert_int_equal(time_same_wall(&b, &a), cases[i].same);
	}
}

TEST(test_stamp_arrival)
{
	const uint64_t now = 100 * MS, wall = 900 * MS;
	const struct time_reading r = reading(now, wall, now + 40);
	static const struct {
		uint64_t age_ns, since_ns, arrival_ns;
	} cases[] = {
		/* It has come before the first reading, or after it. */
		{ 50, 0, 100 * MS - 10 },
		{ 40, 0, 100 * MS },
		{ 39, 0, 100 * MS },
		{ 0, 0, 100 * MS },
		/* Too old. */
		{ 10 * MS, 0, 90 * MS + 40 },
		{ 10 * MS + 1, 0, 100 * MS },
		/* The wall clock was set since. */
		{ 5 * MS, 95 * MS + 40, 95 * MS + 40 },
		{ 5 * MS, 95 * MS + 41, 100 * MS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(time_stamp_arrival(wall - cases[i].age_ns, &r, cases[i].since_ns),
				 cases[i].arrival_ns);
	assert_int_equal(time_stamp_arrival(0, &r, 0), now);
	assert_int_equal(time_stamp_arrival(wall + 1, &r, 0), now);
}

/* The reading that took the least time, and the moment at which the wall clock was set. */
TEST(test_source)
{
	struct time_source s;

	kernel_ns = 1000;
	step_ns = 100;
	ahead_ns = 7000;
	readings = 0;
	assert_int_equal(time_source_start(&s), 0);
	assert_int_equal(readings, 2 * (1 + START_READINGS));
	assert_int_not_equal(s.id, 0);
	/* All took as long: the first one counts. */
	assert_int_equal(s.last.before_ns, 1100);
	assert_int_equal(s.last.after_ns, 1200);
	assert_int_equal(s.steady_ns, 1200);
	assert_int_equal(s.base_ns, 7000);

	/* The last of all is the best. */
	kernel_ns = 1000;
	readings = 0;
	quick = 2 * (1 + START_READINGS);
	assert_int_equal(time_source_start(&s), 0);
	assert_int_equal(s.last.before_ns, 1000 + 100 * (quick - 1));
	assert_int_equal(s.last.after_ns, s.last.before_ns + 10);
	assert_int_equal(s.base_ns, 7000);
	s.steady_ns = 1200;

	kernel_ns = 5 * MS;
	time_source_read(&s);
	assert_int_equal(s.steady_ns, 1200);
	assert_int_equal(s.last.before_ns, 5 * MS + 100);
	ahead_ns += MS;
	time_source_read(&s);
	assert_int_equal(s.last.after_ns, 5 * MS + 400);
	assert_int_equal(s.steady_ns, 5 * MS + 400);
	assert_int_equal(s.base_ns, 7000);
}

TEST(test_source_answer)
{
	struct time_message m = { .type = TIME_REQUEST, .nonce = 5, .client_ns = 77 };
	uint8_t bytes[TIME_MESSAGE_BYTES + 1], before[sizeof(bytes)];
	struct time_source s = { .base_ns = 7000,
				 .id = 9,
				 .last = reading(10 * MS, 30 * MS, 10 * MS),
				 .steady_ns = 9 * MS };

	kernel_ns = 20 * MS;
	step_ns = 1;
	time_message_encode(&m, bytes);
	assert_true(time_source_answer(&s, bytes, TIME_MESSAGE_BYTES, 30 * MS - 500));
	assert_true(time_message_decode(bytes, TIME_MESSAGE_BYTES, &m));
	assert_int_equal(m.type, TIME_REPLY);
	assert_int_equal(m.nonce, 5);
	assert_int_equal(m.client_ns, 77);
	assert_int_equal(m.server_id, 9);
	assert_int_equal(m.received_ns, 7000 + 10 * MS - 500);
	assert_int_equal(m.sent_ns, 7000 + 20 * MS + 1);

	/* A reply, or a request of another size, stays as it is. */
	memcpy(before, bytes, sizeof(bytes));
	assert_false(time_source_answer(&s, bytes, TIME_MESSAGE_BYTES, 0));
	m = (struct time_message){ .type = TIME_REQUEST };
	assert_memory_equal(bytes, before, TIME_MESSAGE_BYTES);
	time_message_encode(&m, bytes);
	assert_false(time_source_answer(&s, bytes, TIME_MESSAGE_BYTES + 1, 0));
	assert_false(time_source_answer(&s, bytes, TIME_MESSAGE_BYTES - 1, 0));
}

/* ---- control data ---- */

static union {
	struct cmsghdr align;
	char bytes[256];
} control;

static struct msghdr message;

static void add(int level, int type, const void *data, size_t size)
{
	struct cmsghdr *c;

	message.msg_control = &control;
	c = (struct cmsghdr *)((char *)&control + message.msg_controllen);
	message.msg_controllen += CMSG_SPACE(size);
	assert_true(message.msg_controllen <= sizeof(control));
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), data, size);
}

static void clear(void)
{
	memset(&control, 0, sizeof(control));
	message = (struct msghdr){ 0 };
}

TEST(test_stamp_of)
{
	const struct timespec ts = { .tv_sec = 3, .tv_nsec = 5 };
	const struct in_pktinfo v4 = { .ipi_ifindex = 4 };

	clear();
	assert_int_equal(time_stamp_of(&message), 0);
	add(IPPROTO_IP, IP_PKTINFO, &v4, sizeof(v4));
	add(SOL_SOCKET, SCM_RIGHTS, &ts, sizeof(ts));
	assert_int_equal(time_stamp_of(&message), 0);
	add(SOL_SOCKET, SCM_TIMESTAMPNS, &ts, sizeof(ts));
	assert_int_equal(time_stamp_of(&message), 3000000005);
}

/* An answer comes from the address of its request; a link-local one keeps its device. */
TEST(test_own_address)
{
	const struct timespec ts = { .tv_sec = 3 };
	const struct in_pktinfo v4 = { .ipi_ifindex = 4, .ipi_spec_dst = { 0x0100007f } };
	struct in6_pktinfo v6 = { .ipi6_ifindex = 6 };

	clear();
	add(SOL_SOCKET, SCM_TIMESTAMPNS, &ts, sizeof(ts));
	assert_null(own_address(&message));
	add(IPPROTO_IP, IP_PKTINFO, &v4, sizeof(v4));
	assert_non_null(own_address(&message));
	{
		struct in_pktinfo got;

		memcpy(&got, CMSG_DATA(own_address(&message)), sizeof(got));
		assert_int_equal(got.ipi_ifindex, 0);
		assert_int_equal(got.ipi_spec_dst.s_addr, 0x0100007f);
	}
	for (int local = 0; local < 2; local++) {
		struct in6_pktinfo got;

		clear();
		v6.ipi6_addr = (struct in6_addr){ .s6_addr = { local ? 0xfe : 0x20, 0x80 } };
		add(SOL_SOCKET, SCM_TIMESTAMPNS, &ts, sizeof(ts));
		add(IPPROTO_IPV6, IPV6_PKTINFO, &v6, sizeof(v6));
		memcpy(&got, CMSG_DATA(own_address(&message)), sizeof(got));
		assert_int_equal(got.ipi6_ifindex, local ? 6 : 0);
		assert_memory_equal(&got.ipi6_addr, &v6.ipi6_addr, sizeof(got.ipi6_addr));
	}
}

TEST(test_prepare_answer)
{
	const struct in_pktinfo v4 = { .ipi_ifindex = 4 };
	struct iovec iov = { .iov_len = TIME_MESSAGE_BYTES + 1 };
	struct mmsghdr out;
	char peer[16];

	for (int own = 0; own < 2; own++) {
		clear();
		message.msg_name = peer;
		message.msg_namelen = sizeof(peer);
		message.msg_iov = &iov;
		message.msg_iovlen = 1;
		if (own)
			add(IPPROTO_IP, IP_PKTINFO, &v4, sizeof(v4));
		prepare_answer(&out, &message);
		assert_ptr_equal(out.msg_hdr.msg_name, peer);
		assert_int_equal(out.msg_hdr.msg_namelen, sizeof(peer));
		assert_ptr_equal(out.msg_hdr.msg_iov, &iov);
		assert_int_equal(out.msg_hdr.msg_iovlen, 1);
		assert_int_equal(iov.iov_len, TIME_MESSAGE_BYTES);
		assert_ptr_equal(out.msg_hdr.msg_control, own ? &control : NULL);
		assert_int_equal(out.msg_hdr.msg_controllen, own ? CMSG_SPACE(sizeof(v4)) : 0);
	}
}

/* ---- the socket ---- */

static int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

/* Each socket has stamps, own addresses and room; one for all hosts also takes IPv4. */
TEST(test_socket)
{
	static const char *const hosts[] = { "127.0.0.1", "::1", NULL };
	int plain = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int room = option_of(plain, SOL_SOCKET, SO_RCVBUF);

	close(plain);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct time_server *s;
		struct err why;
		int err = time_server_open(&s, hosts[i], 0, &why);

		if (i && connection_is_absent(err))
			continue;
		assert_int_equal(err, 0);
		assert_int_equal(option_of(s->fd, SOL_SOCKET, SO_TIMESTAMPNS), 1);
		assert_true(option_of(s->fd, SOL_SOCKET, SO_RCVBUF) > room);
		if (option_of(s->fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6) {
			assert_int_equal(option_of(s->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO), 1);
			assert_int_equal(option_of(s->fd, IPPROTO_IPV6, IPV6_V6ONLY),
					 hosts[i] != NULL);
		} else {
			assert_int_equal(option_of(s->fd, IPPROTO_IP, IP_PKTINFO), 1);
		}
		assert_true(s->port > 0);
		time_server_close(s);
	}
	time_server_close(NULL);
}

/* The kernel drops all but datagrams of the right size and kind. */
TEST(test_filter)
{
	static const struct {
		size_t size, damage; /* of a byte, from 1; 0: none */
		bool arrives;
	} cases[] = {
		{ TIME_MESSAGE_BYTES, 0, true },      { TIME_MESSAGE_BYTES - 1, 0, false },
		{ TIME_MESSAGE_BYTES + 1, 0, false }, { 0, 0, false },
		{ TIME_MESSAGE_BYTES, 1, false },     { TIME_MESSAGE_BYTES, 4, false },
		{ TIME_MESSAGE_BYTES, 5, true },
	};
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct time_server *s;
	struct err why;

	assert_int_equal(time_server_open(&s, "127.0.0.1", 0, &why), 0);
	a.sin_port = htons(s->port);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct time_message m = { .type = TIME_REQUEST };
		uint8_t bytes[TIME_MESSAGE_BYTES + 1] = { 0 };

		time_message_encode(&m, bytes);
		if (cases[i].damage)
			bytes[cases[i].damage - 1]++;
		assert_int_equal(sendto(fd, bytes, cases[i].size, 0, (struct sockaddr *)&a,
					sizeof(a)),
				 cases[i].size);
		/* Over loopback it is there at once. */
		assert_int_equal(recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT),
				 cases[i].arrives ? (ssize_t)cases[i].size : -1);
	}
	time_server_close(s);
	close(fd);
}

RUN_TESTS(NULL, NULL)
