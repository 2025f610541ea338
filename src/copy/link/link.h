/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the two sides of a copy meet, and the messages between them. Private to src/copy.
 */
#ifndef XDD_COPY_LINK_LINK_H
#define XDD_COPY_LINK_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "copy/message/message.h"
#include "xdd/base/err.h"
#include "xdd/copy/copy.h"
#include "xdd/net/connection.h"
#include "xdd/net/stream.h"
#include "xdd/net/wire.h"

struct arena;
struct link;

/*
 * A stream of messages between the two sides of a copy: the channel through ssh, which has control
 * messages, or a TCP connection for data. A data thread need not know which of them it has.
 *
 * Any thread may send on a channel, which locks, while one thread at a time receives. A data
 * connection, and a link inside of a channel, belong to one thread. link_abort() may be called by
 * any thread while the link is open. SIGPIPE must be ignored.
 */

/*
 * A channel on two descriptors that may be pipes, sockets or the same; a terminal becomes raw. The
 * link closes them, also when this fails. After the first message it sends, a channel sends ALIVE
 * in each second in which it sends nothing else, from a thread of its own. Receiving fails with
 * -ETIMEDOUT after `timeout_ns` without a byte; so does sending when no byte moves in either
 * direction for as long. Returns NULL without memory or threads.
 */
struct link *link_on_fds(int read_fd, int write_fd, uint64_t timeout_ns);

/* Another time limit for a channel: a server learns its own with START. */
void link_set_timeout(struct link *channel, uint64_t timeout_ns);

/*
 * The next message other than a sign of life must have come by `deadline_ns` of clock_now_ns(); 0:
 * no deadline. The thread that receives. link_receive() then returns -ETIMEDOUT.
 */
void link_set_deadline(struct link *channel, uint64_t deadline_ns);

/* True if a call on a channel has failed with -ETIMEDOUT. Any thread. */
bool link_timed_out(const struct link *channel);

/*
 * A data connection, number `number`, whose codes use `key`, after HELLO and WELCOME, which had
 * sequence 0. The link closes both, also when this fails. Receiving waits for the first byte of a
 * message without limit, because the other side may have nothing to send: the channel tells whether
 * it lives, and link_abort() ends the wait. Returns NULL without memory.
 */
struct link *link_on_connection(struct connection *c, struct wire_key *key, unsigned number);

/*
 * A data stream inside of `channel`, which is borrowed: sends only, as connection 0. The other side
 * receives its messages on the channel, with a `max_data` that is not 0. Returns NULL without
 * memory.
 */
struct link *link_inside(struct link *channel);

/* Accepts NULL. */
void link_close(struct link *l);

/*
 * Have calls return -ECONNABORTED. The end of one inside of a channel is only its own: the channel
 * still carries the end of the copy.
 */
void link_abort(struct link *l);

/*
 * Send bytes that are no message on a channel, before the first message: the banner of a server. A
 * channel sends nothing by itself before that. Returns 0 or -errno.
 */
int link_send_text(struct link *channel, const char *text);

/*
 * Send a message of `h->type`, whose body is `n` parts; the link fills in connection, sequence,
 * length, digest and code; the caller sets offset and the block's id. `ns` (may be NULL) gets time
 * added: [0] in digests, [1] in sending. Returns 0 or -errno, as receiving does, and again after
 * the first error; `iov` is changed.
 */
int link_send(struct link *l, struct wire_header *h, struct iovec *iov, int n, uint64_t ns[2]);

/* A message with one part or none. */
int link_send_body(struct link *l, enum wire_type type, const void *body, size_t length);

/*
 * Receive the header of the next message, except ALIVE, and check number, sequence and code.
 * `max_data` bounds BLOCK, BUNDLE and SUMS; with 0 a channel accepts no message of a data stream.
 * Returns 0; -EBADMSG: the peer broke the rules; -ECONNRESET: it is gone; -ETIMEDOUT;
 * -ECONNABORTED; or another -errno. An error comes with a message in `why`, which may be NULL.
 */
int link_receive(struct link *l, uint64_t max_data, struct wire_header *h, struct err *why);

/*
 * Receive its body into `buf`, which has room for h->length bytes, and check its digest. `ns` as
 * above: [0] digests, [1] receiving. Errors as above.
 */
int link_receive_body(struct link *l, const struct wire_header *h, void *buf, uint64_t ns[2],
		      struct err *why);

/*
 * Receive both, with the body in `*body`, which has `*room` bytes of malloc() and grows. Errors as
 * above, and -ENOMEM.
 */
int link_receive_message(struct link *l, uint64_t max_data, struct wire_header *h, uint8_t **body,
			 size_t *room, struct err *why);

/* False for TCP, with facts of the connection, which are all zero for a channel. */
bool link_is_channel(const struct link *l);
void link_info(struct link *l, struct connection_info *info);

/*
 * How the two sides of a copy meet: servers through ssh, data connections, and the programs that
 * have their ports.
 *
 * attempt.c asks for the steps of two ways to meet: one side listens and the other one connects,
 * first with the server (of two servers the destination) as the listener, then with its peer; or
 * data goes inside of the channel.
 */

/* ---- ssh and the server: ssh.c ---- */

struct ssh {
	pid_t pid; /* -1: none, or ended */
	struct link *channel;
	struct copy_started started;
	bool was_ended;	       /* ssh_end() did not wait for its own end any more */
	_Atomic int cut, open; /* for ssh.c: ssh_cut() was called; there is a channel to abort */
};

/*
 * Start ssh to `place`, wait for the banner, send `start`. The child ends with this process, and
 * ignores SIGINT. A place without host (NULL) is a server of this host, started
 * without ssh. `s` is all zero. Returns 0, or an exit status (enum copy_status) with a text in
 * `why` that names the remedy, and follows the name of the host; ssh_end() is due then as well.
 * Main thread.
 */
int ssh_start(struct ssh *s, const struct copy_request *request, const struct copy_place *place,
	      const struct copy_start *start, struct err *why);

/*
 * Receive STARTED, the answer to START; other messages may have been sent meanwhile. Returns as
 * ssh_start(). Main thread.
 */
int ssh_await_start(struct ssh *s, struct err *why);

/*
 * End ssh_start() and ssh_await_start() in another thread, and make the channel fail: after a
 * signal the user does not wait for a host or for a prompt any more. Any thread, until ssh_end().
 */
void ssh_cut(struct ssh *s);

/*
 * True if it ends within `wait_ns` by itself, before ssh_end() asks it to: its status then tells
 * why. Main thread.
 */
bool ssh_has_ended(const struct ssh *s, uint64_t wait_ns);

/*
 * Close the channel, wait at most `wait_ns` for the end of ssh, then end it; at once after
 * ssh_cut(), after a time limit of the channel, and where there is no channel. Returns its exit
 * status, or 128 + the signal. Safe on one that is all zero or has ended.
 */
int ssh_end(struct ssh *s, uint64_t wait_ns);

/* ---- data connections: data.c ---- */

struct data_links {
	struct link *links[COPY_MAX_CONNECTIONS];
	unsigned n;
	bool inside; /* data goes through the channel; then n is 1, and links[0] sends only */
};

/* Of one side; the same on both sides. */
struct data_terms {
	uint8_t key[WIRE_KEY_BYTES];
	uint8_t session[WIRE_SESSION_BYTES];
	const struct copy_settings *settings;
};

/* Derived from the key of the copy: nothing that has one of them knows the other. */
struct data_keys {
	uint8_t codes[WIRE_KEY_BYTES];
	struct net_key tls; /* present with -e */
};

/* Returns 0, or -errno with a text: this xdd was built without a library. */
int data_keys_derive(struct data_keys *k, const struct data_terms *terms, struct err *why);

/* The terms of all data connections, for their first messages; both are borrowed. */
struct stream_terms data_streams(const struct data_terms *terms, const struct data_keys *keys);

struct data_listener; /* private to data.c */

/*
 * Find a free port on `address`, and listen; on all addresses where it is "", or not one of this
 * host. Ports are tried from settings->port on, then any free one; with port_given only as many as
 * there are connections. With both port_given and free_ports, other xdd processes of this user are
 * ended that have all of those. Each connection is welcomed when it comes. `terms->settings` is
 * borrowed for the life of the listener. Returns 0 with `*port`; or -errno with a text in `why`;
 * -EADDRINUSE and -EACCES: no port. Any thread.
 */
int data_listen(struct data_listener **l, const struct data_terms *terms, const char *address,
		uint16_t *port, struct err *why);
/*
 * Wait for all connections, at most `wait_ns`, and no longer than settings->timeout_ns. Returns 0;
 * or with a text -ETIMEDOUT: it may be called again, or -ENOMEM. `links` is set on 0 only.
 */
int data_accept(struct data_listener *l, struct data_links *links, uint64_t wait_ns,
		struct err *why);
/* Accepts NULL. The links that were accepted stay. */
void data_listener_free(struct data_listener *l);

/*
 * Connect all, to the addresses in turn: each has `wait_ns`, and fails at once where nothing
 * listens. Names and numbers that mean the same address are tried once. Returns 0, or -errno with
 * the text of the first that failed. Any thread.
 */
int data_connect(struct data_links *links, const struct data_terms *terms,
		 const struct copy_meet *to, uint64_t wait_ns, struct err *why);

void data_links_close(struct data_links *links);

/* End all waits of their threads, as link_abort(). Any thread, until data_links_close(). */
void data_links_abort(struct data_links *links);
/* The sum of connection_info.transit_ns; 0 where data goes through the channel. As above. */
uint64_t data_links_transit_ns(const struct data_links *links);

/* Answer a step of meeting that returned `err`, with the text of `why` where it failed. */
void meet_answer(struct copy_meet *m, int err, const struct err *why);

/*
 * The first line of a server, before any message: "XDD-COPY 6 8.0.0". It tells the output of xdd
 * from the output of login scripts, and from an xdd that does not know copies. For ssh.c and
 * server.c.
 */

/* Other output that may come before the banner. */
#define BANNER_MAX_NOISE (64u << 10)

struct banner {
	unsigned protocol;
	char version[32]; /* printable */
	char noise[128];  /* any bytes: the last line that was not empty, or a part of it */
};

enum banner_end {
	BANNER_FOUND,
	BANNER_CLOSED, /* the end of the output came first */
	BANNER_NOISE,  /* too much other output */
	BANNER_CUT,
	BANNER_LATE, /* the time limit came first */
};

/* Send the banner of this program, before any message. Returns 0 or -errno. Server. */
int banner_send(struct link *channel);

/*
 * Read from `fd`, which does not block, up to the end of the banner and no further, for at most
 * `limit_ns`; 0: without a limit, because a password may be asked for. `*cut` ends it within 50 ms
 * when it is set, and so does the limit. Main thread of the other side.
 */
enum banner_end banner_await(int fd, struct banner *b, uint64_t limit_ns, const atomic_int *cut);

/*
 * The command line of ssh for a server of a copy. For ssh.c.
 */

/*
 * The words that start a server at `place`, in memory of `arena`; NULL at the end. Returns NULL
 * with a text in `why`: a name that must not be given to ssh, or a path that no shell takes, or no
 * memory. Main thread.
 */
char **ssh_command(struct arena *arena, const struct copy_request *request,
		   const struct copy_place *place, struct err *why);

/*
 * Programs that have TCP ports of this host, found through /proc.
 */

#define PORT_OWNER_SIZE 64

/*
 * Describe the program that listens on `port`: "process 1234 (nginx)". False: there is none, or it
 * cannot be seen, as with other users' processes. Any thread.
 */
bool port_owner(uint16_t port, char text[PORT_OWNER_SIZE]);

#endif
