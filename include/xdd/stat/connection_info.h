/*
 * Facts of a TCP connection, for reports: filled by net, shown by report. Values only.
 */
#ifndef XDD_STAT_CONNECTION_INFO_H
#define XDD_STAT_CONNECTION_INFO_H

#include <stdbool.h>
#include <stdint.h>

#define CONNECTION_PEER_SIZE 80

/* Facts of a connection: TCP_INFO and what the kernel granted. */
struct connection_info {
	char local[CONNECTION_PEER_SIZE]; /* "192.168.1.5:40010", "[fe80::1%eth0]:40010" */
	char peer[CONNECTION_PEER_SIZE];
	char congestion[16];
	char cipher[48]; /* "" without TLS */
	bool kernel_tls;
	uint64_t send_buffer_bytes; /* as granted, without the kernel's own half */
	uint64_t receive_buffer_bytes;
	uint64_t rtt_ns, rtt_min_ns, rtt_variance_ns; /* 0: not measured */
	uint64_t window_segments;		      /* congestion window */
	uint64_t segment_bytes;
	uint64_t retransmits; /* segments, in the life of the connection */
	uint64_t transit_ns;  /* data was on its way to a peer that had room for it */
	uint64_t sent_bytes, received_bytes; /* without retransmissions; with TLS, of records */
};

#endif
