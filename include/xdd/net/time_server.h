/*
 * The server of global time: answers each valid message of globaltime.h with its clock, by UDP and
 * TCP. Its clock is the wall clock at its start plus CLOCK_MONOTONIC since then, so a later step of
 * the wall clock does not reach its clients.
 *
 * Everything that arrives is hostile: a message that is not valid is dropped, or ends its TCP
 * connection. An answer is as long as its request. Memory is allocated at the start only. A server
 * belongs to one thread.
 */
#ifndef XDD_NET_TIME_SERVER_H
#define XDD_NET_TIME_SERVER_H

#include <stddef.h>
#include <stdint.h>

struct time_server;

/*
 * Listen on `port` (0: a free one) of all addresses of `host` (NULL: of this machine), by UDP and
 * TCP. Returns 0 and `*s`, or -errno with a text for people in `why` (`size` bytes).
 */
int time_server_open(struct time_server **s, const char *host, uint16_t port, char *why,
		     size_t size);

/* The port that it listens on. */
uint16_t time_server_port(const struct time_server *s);

/* Answer until descriptor `end_fd` is readable. Returns 0 or -errno. */
int time_server_serve(struct time_server *s, int end_fd);

/* Close everything and free it; accepts NULL. */
void time_server_close(struct time_server *s);

#endif
