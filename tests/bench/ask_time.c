/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The load of the row "timeserver": asks a time server on 127.0.0.1 as often as it answers, with
 * up to BATCH requests in flight on each of a few sockets, and counts the answers.
 *
 *   ask_time PORT SECONDS PID
 *
 * prints "<answers> <seconds> <processor seconds of process PID meanwhile>". tests/bench/run
 * compiles and runs it.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS 4
#define BATCH 32
#define BYTES 64

/* A request with nonce 1 (doc/globaltime.md); its checksum is computed at the start. */
static uint8_t request[BYTES] = { 'X', 'D', 'D', 'T', 1, 0, 1, 0, 1 };

static uint8_t answers[BATCH][BYTES];
static struct iovec ask_iov = { request, BYTES }, iovs[BATCH];
static struct mmsghdr asks[BATCH], got[BATCH];

static double seconds(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) != 0)
		return 0;
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void set_checksum(void)
{
	uint32_t crc = UINT32_MAX;

	for (int i = 0; i < BYTES - 4; i++) {
		crc ^= request[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	for (int i = 0; i < 4; i++)
		request[BYTES - 4 + i] = (uint8_t)(~crc >> 8 * i);
}

static int connected(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	perror("ask_time");
	exit(1);
}

/* Take what has been answered, and ask as often again; at first, and after silence, a batch. */
static unsigned turn(int fd, int ready)
{
	int n = recvmmsg(fd, got, BATCH, MSG_DONTWAIT, NULL);
	unsigned asked = n > 0 ? (unsigned)n : ready ? 0 : BATCH;

	if (asked)
		sendmmsg(fd, asks, asked, 0);
	return n > 0 ? (unsigned)n : 0;
}

int main(int argc, char **argv)
{
	struct pollfd p[SOCKETS];
	uint64_t answered = 0;
	clockid_t server;
	double begin, cpu, end;

	if (argc != 4 || clock_getcpuclockid((pid_t)atoi(argv[3]), &server) != 0)
		return 2;
	set_checksum();
	for (int i = 0; i < BATCH; i++) {
		iovs[i] = (struct iovec){ answers[i], BYTES };
		got[i].msg_hdr = (struct msghdr){ .msg_iov = &iovs[i], .msg_iovlen = 1 };
		asks[i].msg_hdr = (struct msghdr){ .msg_iov = &ask_iov, .msg_iovlen = 1 };
	}
	for (int i = 0; i < SOCKETS; i++)
		p[i] = (struct pollfd){ .fd = connected(atoi(argv[1])), .events = POLLIN };
	begin = seconds(CLOCK_MONOTONIC);
	cpu = seconds(server);
	end = begin + atof(argv[2]);
	while (seconds(CLOCK_MONOTONIC) < end) {
		int ready = poll(p, SOCKETS, 20);

		for (int i = 0; i < SOCKETS; i++)
			answered += turn(p[i].fd, ready);
	}
	printf("%llu %.6f %.6f\n", (unsigned long long)answered, seconds(CLOCK_MONOTONIC) - begin,
	       seconds(server) - cpu);
	return 0;
}
