/*
 * The client of global time, and its sockets. Bursts of exchanges feed the estimate, the first one
 * in the thread of the caller, later ones in a thread of the client.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "net/time_exchange.h"
#include "xdd/base/units.h"
#include "xdd/net/globaltime.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/* How waits end early: `stop` (or NULL), and descriptor `wake_fd` when it is readable (or -1). */
struct time_wait {
	struct stop *stop;
	int wake_fd;
};

/* The wall clock and clock_now_ns(). */
struct time_reading time_reading(void);

/* The arrival of a message. */
struct time_arrival {
	struct time_reading read;
	uint64_t stamp_ns; /* wall clock when the kernel had it; 0: not known */
};

struct time_link {
	int fd; /* -1: closed */
	bool tcp;
	size_t have; /* TCP: bytes of the next message */
	uint8_t buffer[TIME_MESSAGE_BYTES];
};

/* How often a wait looks whether the run stops. */
#define LOOK_NS (50 * NS_PER_MS)

/* ---- waits ---- */

/*
 * Wait for poll(2) `events` on `fd` (-1: none) until clock `until_ns`. Returns 1; 0 at that time;
 * or -ECANCELED.
 */
static int time_wait(const struct time_wait *w, int fd, short events, uint64_t until_ns)
{
	for (;;) {
		struct pollfd p[2] = { { .fd = fd, .events = events },
				       { .fd = w->wake_fd, .events = POLLIN } };
		uint64_t now_ns = clock_now_ns(), left_ns;
		struct timespec limit;

		if (w->stop && stop_requested(w->stop))
			return -ECANCELED;
		left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
		limit = clock_timespec(w->stop ? ns_earlier(left_ns, LOOK_NS) : left_ns);
		if (ppoll(p, 2, &limit, NULL) < 0 && errno != EINTR)
			return -errno;
		if (p[1].revents)
			return -ECANCELED;
		if (p[0].revents)
			return 1;
		if (now_ns >= until_ns)
			return 0;
	}
}

/* ---- times ---- */

struct time_reading time_reading(void)
{
	struct time_reading r;

	r.before_ns = clock_now_ns();
	r.wall_ns = clock_wall_ns();
	r.after_ns = clock_now_ns();
	return r;
}

/* clock_now_ns() when the answer to a message that left at `sent` arrived, or a bit later. */
static uint64_t time_arrival_ns(const struct time_arrival *a, const struct time_reading *sent)
{
	const bool usable = time_same_wall(sent, &a->read);

	return time_stamp_arrival(usable ? a->stamp_ns : 0, &a->read, sent->after_ns);
}

/* ---- links ---- */

static int connect_link(int fd, const struct sockaddr_storage *to, socklen_t size,
			const struct time_wait *w, uint64_t until_ns)
{
	int result = 0;
	socklen_t result_size = sizeof(result);

	if (connect(fd, (const struct sockaddr *)to, size) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	result = time_wait(w, fd, POLLOUT, until_ns);
	if (result <= 0)
		return result ? result : -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &result_size) != 0)
		return -errno;
	return -result;
}

/* Returns 0 or -errno; -ETIMEDOUT: no TCP connection until `until_ns`. */
static int time_link_open(struct time_link *l, const struct sockaddr_storage *to, socklen_t size,
			  bool tcp, const struct time_wait *w, uint64_t until_ns)
{
	const int type = (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, on = 1;
	int fd = socket(to->ss_family, type, 0), err;

	if (fd < 0)
		return -errno;
	if (tcp)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	else
		time_stamp_enable(fd);
	err = connect_link(fd, to, size, w, until_ns);
	if (err) {
		close(fd);
		return err;
	}
	*l = (struct time_link){ .fd = fd, .tcp = tcp };
	return 0;
}

/* Close it, unless it is closed. */
static void time_link_close(struct time_link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* Returns 0; -EAGAIN: not now; or another -errno. */
static int time_link_send(struct time_link *l, const uint8_t bytes[TIME_MESSAGE_BYTES])
{
	ssize_t n = send(l->fd, bytes, TIME_MESSAGE_BYTES, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	/* The buffers of a connection have room for all messages that may be in flight. */
	return n == TIME_MESSAGE_BYTES ? 0 : -ECONNRESET;
}

/*
 * Take what has arrived, without waiting. Returns 1 with a valid message; 0: something else has
 * arrived, and there may be more; -EAGAIN: nothing; or another -errno.
 */
static int time_link_receive(struct time_link *l, struct time_message *m, struct time_arrival *a)
{
	/* A datagram that is longer than a message is none: the spare byte shows it. */
	uint8_t spare;
	struct iovec iov[2] = { { l->buffer + l->have, sizeof(l->buffer) - l->have },
				{ &spare, 1 } };
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct msghdr h = { .msg_iov = iov,
			    .msg_iovlen = l->tcp ? 1 : 2,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(l->fd, &h, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0 && l->tcp)
		return -ECONNRESET;
	a->read = time_reading();
	a->stamp_ns = l->tcp ? 0 : time_stamp_of(&h);
	if (!l->tcp)
		return time_message_decode(l->buffer, (size_t)n, m);
	l->have += (size_t)n;
	if (l->have < sizeof(l->buffer))
		return 0;
	l->have = 0;
	return time_message_decode(l->buffer, sizeof(l->buffer), m) ? 1 : -EBADMSG;
}

/* Requests without an answer yet; an answer that is late counts until its place is needed. */
#define MAX_IN_FLIGHT 64u

/* The next request does not wait for an answer longer than that. */
#define FIRST_PACE_NS (100 * NS_PER_MS)
#define LEAST_PACE_NS (1 * NS_PER_MS)
#define MOST_PACE_NS (20 * NS_PER_MS)

/* After the last request of a burst. */
#define LEAST_GRACE_NS (20 * NS_PER_MS)
#define MOST_GRACE_NS NS_PER_SEC

/* The thread. */
#define FOLLOW_EXCHANGES 8
#define FOLLOW_PATIENCE_NS NS_PER_SEC
#define FIRST_PERIOD_NS NS_PER_SEC
#define LAST_PERIOD_NS (16 * NS_PER_SEC)

/*
 * Before a moment: a process that is woken late on one side moves the estimate by half of that, and
 * the exchanges of all hosts coincide.
 */
#define REFRESH_EXCHANGES 40

struct in_flight {
	uint64_t nonce;
	struct time_reading sent;
	bool used;
};

struct globaltime_client {
	/* const after globaltime_begin() */
	struct sockaddr_storage address;
	socklen_t address_size;
	bool tcp;
	char server[320];
	int wake_fd; /* readable: the thread ends */
	bool following;
	pthread_t thread;

	/* guarded by burst_lock, which is held during a burst */
	pthread_mutex_t burst_lock;
	struct time_link link;
	struct in_flight in_flight[MAX_IN_FLIGHT];

	/* guarded by lock */
	pthread_mutex_t lock;
	struct time_estimate estimate;
	struct globaltime counts; /* exchanges, lost, server_id, steps, answering */
};

/* One burst. */
struct burst {
	const struct time_wait *wait;
	uint64_t patience_ns; /* without an answer */
	uint64_t until_ns;    /* it ends then, whatever is missing */
	unsigned n, sent, answered, refused, outstanding;
	uint64_t next_ns;  /* of the next request */
	uint64_t heard_ns; /* of the latest answer, or the start */
	uint64_t last_ns;  /* of the latest request */
	uint64_t trip_ns;  /* smallest; UINT64_MAX: none yet */
};

static uint64_t clamp(uint64_t ns, uint64_t least_ns, uint64_t most_ns)
{
	return ns_earlier(ns_later(ns, least_ns), most_ns);
}

/* ---- exchanges ---- */

static void count_lost(struct globaltime_client *c, unsigned n)
{
	pthread_mutex_lock(&c->lock);
	c->counts.lost += n;
	pthread_mutex_unlock(&c->lock);
}

static int send_request(struct globaltime_client *c, struct burst *b)
{
	struct in_flight *f = &c->in_flight[b->sent % MAX_IN_FLIGHT];
	struct time_message m = { .type = TIME_REQUEST };
	uint8_t bytes[TIME_MESSAGE_BYTES];
	int err;

	if (getrandom(&m.nonce, sizeof(m.nonce), 0) != sizeof(m.nonce))
		return -EIO;
	if (f->used) {
		b->outstanding--;
		count_lost(c, 1);
	}
	*f = (struct in_flight){ .nonce = m.nonce, .used = true };
	/* The checksum and the system call come after the time, which is never too late. */
	f->sent = time_reading();
	m.client_ns = f->sent.after_ns;
	time_message_encode(&m, bytes);
	err = time_link_send(&c->link, bytes);
	b->last_ns = f->sent.after_ns;
	b->next_ns =
		b->last_ns +
		(b->answered ? clamp(2 * b->trip_ns, LEAST_PACE_NS, MOST_PACE_NS) : FIRST_PACE_NS);
	if (err) {
		f->used = false;
		return err == -EAGAIN || err == -ENOBUFS ? 0 : err;
	}
	b->sent++;
	b->outstanding++;
	return 0;
}

static struct in_flight *time_client_find(struct globaltime_client *c, uint64_t nonce)
{
	for (unsigned i = 0; i < MAX_IN_FLIGHT; i++) {
		if (c->in_flight[i].used && c->in_flight[i].nonce == nonce)
			return &c->in_flight[i];
	}
	return NULL;
}

/* Take account of an exchange; the lock is held. False: its times are impossible. */
static bool add_sample(struct globaltime_client *c, const struct time_message *m,
		       const struct time_sample *s)
{
	const bool other = c->counts.server_id && c->counts.server_id != m->server_id;
	struct time_estimate e = c->estimate;
	enum time_verdict verdict;

	if (other)
		time_estimate_init(&e);
	verdict = time_estimate_add(&e, s);
	if (verdict == TIME_REFUSED) {
		c->counts.lost++;
		return false;
	}
	c->estimate = e;
	c->counts.server_id = m->server_id;
	c->counts.answering = true;
	c->counts.exchanges++;
	if (other || verdict == TIME_STEPPED)
		c->counts.steps++;
	return true;
}

/* An answer counts if its request has none yet: so neither forgeries nor repeats do. */
static void take_answer(struct globaltime_client *c, struct burst *b, const struct time_message *m,
			const struct time_arrival *a)
{
	struct in_flight *f = m->type == TIME_REPLY ? time_client_find(c, m->nonce) : NULL;
	struct time_sample s;
	bool good;

	if (!f || m->client_ns != f->sent.after_ns)
		return;
	s = (struct time_sample){ .sent_ns = f->sent.after_ns,
				  .server_received_ns = m->received_ns,
				  .server_sent_ns = m->sent_ns,
				  .received_ns = time_arrival_ns(a, &f->sent) };
	f->used = false;
	pthread_mutex_lock(&c->lock);
	good = add_sample(c, m, &s);
	pthread_mutex_unlock(&c->lock);
	b->outstanding--;
	if (!b->outstanding)
		b->next_ns = a->read.after_ns;
	if (!good) {
		b->refused++;
		return;
	}
	b->answered++;
	b->heard_ns = a->read.after_ns;
	b->trip_ns = ns_earlier(b->trip_ns, s.received_ns - s.sent_ns);
}

static int receive_answers(struct globaltime_client *c, struct burst *b)
{
	struct time_message m;
	struct time_arrival a;
	int n;

	do {
		n = time_link_receive(&c->link, &m, &a);
		if (n > 0)
			take_answer(c, b, &m, &a);
	} while (n >= 0);
	return n == -EAGAIN ? 0 : n;
}

/* ---- bursts ---- */

/* When a burst ends that hears no more. */
static uint64_t end_of(const struct burst *b)
{
	uint64_t end_ns = b->heard_ns + b->patience_ns;

	if (b->sent == b->n && b->answered)
		end_ns = b->last_ns + clamp(4 * b->trip_ns, LEAST_GRACE_NS, MOST_GRACE_NS);
	return ns_earlier(end_ns, b->until_ns);
}

static int time_client_step(struct globaltime_client *c, struct burst *b)
{
	uint64_t now_ns = clock_now_ns(), until_ns = end_of(b);
	int err;

	if (now_ns >= until_ns)
		return -ETIMEDOUT;
	if (b->sent < b->n && now_ns >= b->next_ns)
		return send_request(c, b);
	if (b->sent < b->n)
		until_ns = ns_earlier(until_ns, b->next_ns);
	err = time_wait(b->wait, c->link.fd, POLLIN, until_ns);
	return err > 0 ? receive_answers(c, b) : err;
}

/*
 * Do `n` exchanges on the link, which is open. Returns 0 when there was an answer, or -errno:
 * -ETIMEDOUT: none in time; -EPROTO: none with times that are possible.
 */
static int do_burst(struct globaltime_client *c, unsigned n, const struct time_wait *wait,
		    uint64_t patience_ns, uint64_t until_ns)
{
	uint64_t now_ns = clock_now_ns();
	struct burst b = { .wait = wait,
			   .patience_ns = patience_ns,
			   .until_ns = until_ns,
			   .n = n,
			   .next_ns = now_ns,
			   .heard_ns = now_ns,
			   .last_ns = now_ns,
			   .trip_ns = UINT64_MAX / 8 };
	int err = 0;

	memset(c->in_flight, 0, sizeof(c->in_flight));
	while (!err && (b.sent < n || b.outstanding))
		err = time_client_step(c, &b);
	count_lost(c, b.outstanding);
	if (err == -ECANCELED || b.answered)
		return err == -ECANCELED ? err : 0;
	return b.refused ? -EPROTO : err;
}

/* ---- reaching the server ---- */

struct attempt {
	const struct globaltime_settings *settings;
	const struct addrinfo *list;
	const struct time_wait *wait;
	unsigned n_addresses;
};

/* Try all addresses by UDP or TCP. Returns 0 or the -errno that says most. */
static int try_addresses(struct globaltime_client *c, const struct attempt *t, bool tcp,
			 uint64_t limit_ns)
{
	const unsigned n = t->settings->bounce ? t->settings->bounce : (unsigned)GLOBALTIME_BOUNCE;
	const uint64_t each_ns = limit_ns / t->n_addresses;
	int worst = 0;

	for (const struct addrinfo *a = t->list; a; a = a->ai_next) {
		uint64_t now_ns = clock_now_ns();
		int err;

		memset(&c->address, 0, sizeof(c->address));
		memcpy(&c->address, a->ai_addr, a->ai_addrlen);
		c->address_size = a->ai_addrlen;
		c->tcp = tcp;
		/* Requests that another address did not answer say nothing about this one. */
		memset(&c->counts, 0, sizeof(c->counts));
		err = time_link_open(&c->link, &c->address, c->address_size, tcp, t->wait,
				     now_ns + each_ns);
		if (!err)
			err = do_burst(c, n, t->wait, each_ns, UINT64_MAX);
		if (!err || err == -ECANCELED)
			return err;
		time_link_close(&c->link);
		/* An address that is silent says more than one that is absent. */
		if (!worst || err == -ETIMEDOUT)
			worst = err;
	}
	return worst;
}

static const char *time_client_reason(int err)
{
	return err == -EPROTO ? "its times are impossible" : strerror(-err);
}

static int say_no_server(const struct globaltime_settings *s, int udp, int tcp, char *why,
			 size_t size)
{
	char peer[300];

	connection_host_text(s->host, s->port, peer, sizeof(peer));
	if (s->tcp)
		snprintf(why, size, "no answer from the time server %s (TCP: %s)", peer,
			 time_client_reason(tcp));
	else
		snprintf(why, size, "no answer from the time server %s (UDP: %s; TCP: %s)", peer,
			 time_client_reason(udp), time_client_reason(tcp));
	return tcp;
}

static int time_client_reach(struct globaltime_client *c, const struct attempt *t, char *why,
			     size_t size)
{
	const uint64_t limit_ns = t->settings->timeout_ns ? t->settings->timeout_ns :
							    GLOBALTIME_TIMEOUT_NS;
	int udp = -EPROTONOSUPPORT, tcp;
	char peer[CONNECTION_PEER_SIZE];

	if (!t->settings->tcp)
		udp = try_addresses(c, t, false, limit_ns / 2);
	if (udp == -ECANCELED)
		return udp;
	tcp = udp ? try_addresses(c, t, true, t->settings->tcp ? limit_ns : limit_ns / 2) : 0;
	if (tcp == -ECANCELED)
		return tcp;
	if (tcp)
		return say_no_server(t->settings, udp, tcp, why, size);
	connection_address_text(&c->address, peer, sizeof(peer));
	snprintf(c->server, sizeof(c->server), "%s (%s)", peer, c->tcp ? "TCP" : "UDP");
	return 0;
}

static int find_server(struct globaltime_client *c, const struct globaltime_settings *s,
		       struct stop *stop, char *why, size_t size)
{
	const struct time_wait wait = { .stop = stop, .wake_fd = -1 };
	struct attempt t = { .settings = s, .wait = &wait };
	struct addrinfo *list;
	int err = connection_resolve(s->host, s->port, 0, &list, why, size);

	if (err)
		return err;
	t.list = list;
	for (const struct addrinfo *a = list; a; a = a->ai_next)
		t.n_addresses++;
	err = time_client_reach(c, &t, why, size);
	freeaddrinfo(list);
	return err;
}

int globaltime_begin(struct globaltime_client **out, const struct globaltime_settings *s,
		     struct stop *stop, char *why, size_t size)
{
	struct globaltime_client *c = calloc(1, sizeof(*c));
	int err;

	*out = NULL;
	snprintf(why, size, "%s", strerror(ENOMEM));
	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->burst_lock, NULL);
	time_estimate_init(&c->estimate);
	c->link.fd = -1;
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = c->wake_fd >= 0 ? find_server(c, s, stop, why, size) : -errno;
	if (err) {
		globaltime_end(c);
		return err;
	}
	*out = c;
	return 0;
}

/* ---- the thread ---- */

/* The burst of burst_again(). Returns 0 or -errno. */
static int small_burst(struct globaltime_client *c, const struct time_wait *wait, unsigned n,
		       uint64_t until_ns)
{
	uint64_t limit_ns = ns_earlier(until_ns, clock_now_ns() + FOLLOW_PATIENCE_NS);
	int err = 0;

	if (c->link.fd < 0)
		err = time_link_open(&c->link, &c->address, c->address_size, c->tcp, wait,
				     limit_ns);
	return err ? err : do_burst(c, n, wait, FOLLOW_PATIENCE_NS, until_ns);
}

/* One small burst; the link is opened again after a failure. Returns 0 or -errno. */
static int burst_again(struct globaltime_client *c, unsigned n, uint64_t until_ns)
{
	const struct time_wait wait = { .wake_fd = c->wake_fd };
	int err;

	pthread_mutex_lock(&c->burst_lock);
	err = small_burst(c, &wait, n, until_ns);
	/* Silence for less than the usual time says nothing about the server. */
	if (err && err != -ECANCELED && (err != -ETIMEDOUT || until_ns == UINT64_MAX)) {
		time_link_close(&c->link);
		pthread_mutex_lock(&c->lock);
		c->counts.answering = false;
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&c->burst_lock);
	return err;
}

int globaltime_refresh(struct globaltime_client *c, uint64_t until_ns)
{
	return burst_again(c, REFRESH_EXCHANGES, until_ns);
}

/* Steps until now: after one the drift has to be found again. */
static unsigned steps_of(struct globaltime_client *c)
{
	unsigned steps;

	pthread_mutex_lock(&c->lock);
	steps = c->counts.steps;
	pthread_mutex_unlock(&c->lock);
	return steps;
}

static void *time_client_follow(void *arg)
{
	struct globaltime_client *c = arg;
	const struct time_wait wait = { .wake_fd = c->wake_fd };
	uint64_t period_ns = FIRST_PERIOD_NS;
	int err = 0;

	for (;;) {
		unsigned steps = steps_of(c);

		if (time_wait(&wait, -1, 0, clock_now_ns() + period_ns) < 0)
			return NULL;
		err = burst_again(c, FOLLOW_EXCHANGES, UINT64_MAX);
		if (err == -ECANCELED)
			return NULL;
		if (err || steps_of(c) != steps)
			period_ns = FIRST_PERIOD_NS;
		else
			period_ns = ns_earlier(2 * period_ns, LAST_PERIOD_NS);
	}
}

int globaltime_follow(struct globaltime_client *c)
{
	int err = thread_start(&c->thread, time_client_follow, c);

	c->following = !err;
	return err;
}

/* ---- answers ---- */

void globaltime_get(struct globaltime_client *c, uint64_t at_ns, struct globaltime *out)
{
	pthread_mutex_lock(&c->lock);
	*out = c->counts;
	time_estimate_get(&c->estimate, at_ns, &out->offset_ns, &out->bound_ns);
	out->drift_known = time_estimate_drift(&c->estimate, &out->drift_ppm);
	out->round_trip_ns = c->estimate.round_trip_ns;
	pthread_mutex_unlock(&c->lock);
}

const char *globaltime_server(const struct globaltime_client *c)
{
	return c->server;
}

void globaltime_end(struct globaltime_client *c)
{
	if (!c)
		return;
	if (c->following) {
		uint64_t one = 1;

		while (write(c->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
		pthread_join(c->thread, NULL);
	}
	time_link_close(&c->link);
	if (c->wake_fd >= 0)
		close(c->wake_fd);
	pthread_mutex_destroy(&c->burst_lock);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
