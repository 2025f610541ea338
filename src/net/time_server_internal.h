/*
 * Inside of the time server. For src/net/time_server*.c.
 */
#ifndef XDD_NET_TIME_SERVER_INTERNAL_H
#define XDD_NET_TIME_SERVER_INTERNAL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "net/time_message.h"
#include "net/time_stamp.h"

#define TIME_MAX_SOCKETS 32  /* of either kind */
#define TIME_BATCH 64	     /* datagrams of a system call */
#define TIME_MAX_CLIENTS 256 /* TCP connections */

/* Limits of a TCP connection. */
#define TIME_IDLE_NS 60000000000ull   /* between messages */
#define TIME_PARTIAL_NS 5000000000ull /* from the first to the last byte of a message */
#define TIME_MAX_MESSAGES (1u << 20)

/* Its clock. */
struct time_source {
	uint64_t base_ns;	  /* global time minus CLOCK_MONOTONIC; const */
	uint64_t id;		  /* const */
	struct time_reading last; /* the latest */
	uint64_t steady_ns;	  /* since then the wall clock was not set */
};

/* A datagram, and the room that its answer needs as well. */
struct time_datagram {
	uint8_t bytes[TIME_MESSAGE_BYTES + 1]; /* one more, which shows that one is longer */
	struct sockaddr_storage from;
	struct iovec iov;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct timespec)) +
			   CMSG_SPACE(sizeof(struct in6_pktinfo)) + 64];
	} control;
};

struct time_batch {
	struct time_datagram datagrams[TIME_BATCH];
	struct mmsghdr in[TIME_BATCH], out[TIME_BATCH];
};

/* A TCP connection; `fd` is -1 in a free slot. */
struct time_tcp {
	int fd;
	uint8_t address[16]; /* of its peer; of IPv6 the network */
	unsigned same;	     /* connections of this address, including this one */
	uint64_t heard_ns;   /* its latest message, or its begin */
	uint64_t partial_ns; /* the first byte of an incomplete message */
	unsigned messages;
	size_t have;
	uint8_t bytes[TIME_MESSAGE_BYTES];
};

struct time_server {
	int epoll;
	int udp[TIME_MAX_SOCKETS], listening[TIME_MAX_SOCKETS];
	size_t n_udp, n_listening;
	uint16_t port;
	struct time_source source;
	struct time_batch batch;
	size_t max_clients, n_clients;
	struct time_tcp clients[TIME_MAX_CLIENTS];
};

/* epoll_event.data: the number of an entry in one of the arrays, plus one of these. */
enum {
	TIME_EVENT_UDP = 0,
	TIME_EVENT_LISTENING = 1000,
	TIME_EVENT_CLIENT = 2000,
	TIME_EVENT_END = 3000,
};

/* Read both clocks; call it after something was received. */
void time_source_read(struct time_source *s);

/*
 * Turn the request in `bytes` (`size`), which arrived with `stamp_ns` (0: not known), into its
 * answer. False: it is no valid request.
 */
bool time_source_answer(struct time_source *s, uint8_t *bytes, size_t size, uint64_t stamp_ns);

/* Prepare a UDP socket, and answer what has arrived on one, a batch at most. */
void time_udp_prepare(int fd, int family);
void time_udp_serve(struct time_server *s, int fd);

/*
 * Accept connections, serve one, and close those whose time is over. time_tcp_close() leaves a free
 * slot as it is.
 */
void time_tcp_accept(struct time_server *s, int fd);
void time_tcp_serve(struct time_server *s, struct time_tcp *t);
void time_tcp_sweep(struct time_server *s, uint64_t now_ns);
void time_tcp_close(struct time_server *s, struct time_tcp *t);

#endif
