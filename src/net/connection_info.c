/*
 * Facts of a connection, for reports. <netinet/tcp.h> is not included: its struct tcp_info is the
 * old one.
 */
#include "net/connection_internal.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/units.h"

/* The kernel doubles what is asked for, and keeps one half for its own data. */
static uint64_t buffer_bytes(int fd, int which)
{
	int value = 0;
	socklen_t size = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, which, &value, &size) != 0 || value < 0)
		return 0;
	return (uint64_t)value / 2;
}

/* Where nothing was measured yet the kernel says that the least was the most possible. */
static uint64_t least_ns(uint32_t us)
{
	return us == UINT32_MAX ? 0 : us * NS_PER_US;
}

/* Kernels before 4.9 leave zeros. */
static uint64_t transit_ns(const struct tcp_info *ti)
{
	const uint64_t busy_us = ti->tcpi_busy_time, full_us = ti->tcpi_rwnd_limited;

	return busy_us > full_us ? (busy_us - full_us) * NS_PER_US : 0;
}

static void from_kernel(int fd, struct connection_info *info)
{
	struct tcp_info ti;
	socklen_t size = sizeof(ti);

	memset(&ti, 0, sizeof(ti));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &size) != 0)
		return;
	info->rtt_ns = ti.tcpi_rtt * NS_PER_US;
	info->rtt_min_ns = least_ns(ti.tcpi_min_rtt);
	info->rtt_variance_ns = ti.tcpi_rttvar * NS_PER_US;
	info->window_segments = ti.tcpi_snd_cwnd;
	info->segment_bytes = ti.tcpi_snd_mss;
	info->retransmits = ti.tcpi_total_retrans;
	info->transit_ns = transit_ns(&ti);
	info->sent_bytes = ti.tcpi_bytes_sent - ti.tcpi_bytes_retrans;
	info->received_bytes = ti.tcpi_bytes_received;
}

void connection_info(struct connection *c, struct connection_info *info)
{
	socklen_t size = sizeof(info->congestion);

	memset(info, 0, sizeof(*info));
	memcpy(info->local, c->local, sizeof(info->local));
	memcpy(info->peer, c->peer, sizeof(info->peer));
	if (getsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, info->congestion, &size) != 0)
		info->congestion[0] = '\0';
	info->congestion[sizeof(info->congestion) - 1] = '\0';
	info->send_buffer_bytes = buffer_bytes(c->fd, SO_SNDBUF);
	info->receive_buffer_bytes = buffer_bytes(c->fd, SO_RCVBUF);
	from_kernel(c->fd, info);
	if (c->tls) {
		snprintf(info->cipher, sizeof(info->cipher), "%s", tls_cipher(c->tls));
		info->kernel_tls = tls_kernel(c->tls);
	}
}
