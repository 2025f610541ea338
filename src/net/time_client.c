/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client of global time: its socket, and the estimate of the difference of two clocks. Bursts
 * of exchanges feed the estimate, the first one in the thread of the caller, later ones in a thread
 * of the client. Called by run, gettime and multi.
 */
#include <errno.h>
#include <math.h>
#include <netdb.h>
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
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/net/globaltime.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/* ---- the estimate: intervals of the difference of two clocks and of its rate ---- */

#define PPM 1e-6

/* Exchanges within this time share an entry. */
#define ENTRY_NS (250 * NS_PER_MS)

/* Differences fit: all times are below 2^63. */
static int64_t time_estimate_between(uint64_t from_ns, uint64_t to_ns)
{
	return (int64_t)(to_ns - from_ns);
}

static const struct time_rate any_rate = { -TIME_DRIFT_PPM * PPM, TIME_DRIFT_PPM *PPM };
static const struct time_rate no_pairs = { -INFINITY, INFINITY };

void time_estimate_init(struct time_estimate *e)
{
	memset(e, 0, sizeof(*e));
	e->closed = no_pairs;
	e->rate = any_rate;
	e->round_trip_ns = UINT64_MAX;
}

static struct time_entry entry_of(const struct time_sample *s)
{
	return (struct time_entry){
		.lower_at_ns = s->received_ns,
		.lower_ns = time_estimate_between(s->received_ns, s->server_sent_ns),
		.upper_at_ns = s->sent_ns,
		.upper_ns = time_estimate_between(s->sent_ns, s->server_received_ns),
	};
}

/* The rates that are possible between an entry and `at_ns`. */
static struct time_rate rate_at(const struct time_estimate *e, uint64_t at_ns)
{
	return at_ns >= e->entries[0].upper_at_ns ? e->rate : any_rate;
}

/* How far a bound that holds `ns` earlier (negative: later) moves; one more for the rounding. */
static int64_t lowest(struct time_rate r, int64_t ns)
{
	return (int64_t)floor((ns >= 0 ? r.min : r.max) * (double)ns) - 1;
}

static int64_t highest(struct time_rate r, int64_t ns)
{
	return (int64_t)ceil((ns >= 0 ? r.max : r.min) * (double)ns) + 1;
}

static int64_t lower_at(const struct time_entry *x, struct time_rate r, uint64_t at_ns)
{
	return x->lower_ns + lowest(r, time_estimate_between(x->lower_at_ns, at_ns));
}

static int64_t upper_at(const struct time_entry *x, struct time_rate r, uint64_t at_ns)
{
	return x->upper_ns + highest(r, time_estimate_between(x->upper_at_ns, at_ns));
}

/* Narrow `r` to the mean rates that are possible between two entries. */
static void narrow(struct time_rate *r, const struct time_entry *old, const struct time_entry *new)
{
	int64_t to_lower_ns = time_estimate_between(old->upper_at_ns, new->lower_at_ns);
	int64_t to_upper_ns = time_estimate_between(old->lower_at_ns, new->upper_at_ns);

	if (to_lower_ns > 0)
		r->min = fmax(r->min,
			      (double)(new->lower_ns - old->upper_ns - 1) / (double)to_lower_ns);
	if (to_upper_ns > 0)
		r->max = fmin(r->max,
			      (double)(new->upper_ns - old->lower_ns + 1) / (double)to_upper_ns);
}

/* The rates of all pairs. */
static struct time_rate rate_of_pairs(const struct time_estimate *e)
{
	struct time_rate r = e->closed;

	for (size_t i = 0; i + 1 < e->n; i++)
		narrow(&r, &e->entries[i], &e->entries[e->n - 1]);
	return r;
}

/* Forget all entries except the newest. */
static void keep_newest(struct time_estimate *e)
{
	e->entries[0] = e->entries[e->n - 1];
	e->n = 1;
	e->closed = no_pairs;
	e->rate = any_rate;
}

/*
 * The margin admits a rate that varies, and pairs that exclude each other by less: the rate is then
 * anywhere between them. By more, the rate has changed: older entries tell nothing about the
 * present one.
 */
static void update_rate(struct time_estimate *e)
{
	const double margin = TIME_RATE_MARGIN_PPM * PPM;
	struct time_rate r = rate_of_pairs(e);

	if (r.max - r.min < -margin) {
		keep_newest(e);
		return;
	}
	e->rate.min = fmin(fmax(fmin(r.min, r.max) - margin, any_rate.min), any_rate.max);
	e->rate.max = fmax(fmin(fmax(r.min, r.max) + margin, any_rate.max), any_rate.min);
}

/* True: no difference of the clocks is consistent with both, whatever the rate. */
static bool contradict(const struct time_entry *old, const struct time_entry *new)
{
	return upper_at(old, any_rate, new->lower_at_ns) < new->lower_ns ||
	       upper_at(new, any_rate, old->lower_at_ns) < old->lower_ns;
}

/* Keep the bounds of `new` in `x` that are narrower, at the most probable rate. */
static void merge(struct time_entry *x, const struct time_entry *new, struct time_rate rate)
{
	const double middle = (rate.min + rate.max) / 2;
	const struct time_rate r = { middle, middle };

	if (lower_at(x, r, new->lower_at_ns) < new->lower_ns) {
		x->lower_at_ns = new->lower_at_ns;
		x->lower_ns = new->lower_ns;
	}
	if (upper_at(x, r, new->upper_at_ns) > new->upper_ns) {
		x->upper_at_ns = new->upper_at_ns;
		x->upper_ns = new->upper_ns;
	}
}

/* Drop every second entry of the older half, except the first: those that remain span all time. */
static void thin(struct time_estimate *e)
{
	size_t kept = 1;

	for (size_t i = 1; i < e->n; i++) {
		if (i >= e->n / 2 || i % 2 == 0)
			e->entries[kept++] = e->entries[i];
	}
	e->n = kept;
}

static void time_estimate_append(struct time_estimate *e, const struct time_entry *new)
{
	if (e->n)
		e->closed = rate_of_pairs(e);
	if (e->n == TIME_ESTIMATE_ENTRIES)
		thin(e);
	e->entries[e->n++] = *new;
}

static bool belongs_to_newest(const struct time_estimate *e, const struct time_entry *new)
{
	const struct time_entry *x = &e->entries[e->n - 1];
	uint64_t begin_ns = ns_earlier(x->upper_at_ns, x->lower_at_ns);

	return new->lower_at_ns - begin_ns < ENTRY_NS;
}

enum time_verdict time_estimate_add(struct time_estimate *e, const struct time_sample *s)
{
	const struct time_entry new = entry_of(s);
	const int64_t round_trip_ns =
		time_estimate_between(s->sent_ns, s->received_ns) -
		time_estimate_between(s->server_received_ns, s->server_sent_ns);
	bool stepped = false;

	if (s->received_ns < s->sent_ns || contradict(&new, &new))
		return TIME_REFUSED;
	for (size_t i = 0; i < e->n && !stepped; i++)
		stepped = contradict(&e->entries[i], &new);
	if (stepped)
		time_estimate_init(e);
	if (e->n && belongs_to_newest(e, &new))
		merge(&e->entries[e->n - 1], &new, e->rate);
	else
		time_estimate_append(e, &new);
	update_rate(e);
	/* A server that is slower than its clock says may make it negative. */
	e->round_trip_ns =
		ns_earlier(e->round_trip_ns, round_trip_ns > 0 ? (uint64_t)round_trip_ns : 0);
	return stepped ? TIME_STEPPED : TIME_FITS;
}

bool time_estimate_get(const struct time_estimate *e, uint64_t at_ns, int64_t *offset_ns,
		       uint64_t *bound_ns)
{
	int64_t low = INT64_MIN, high = INT64_MAX;
	struct time_rate r;

	if (!e->n)
		return false;
	r = rate_at(e, at_ns);
	for (size_t i = 0; i < e->n; i++) {
		int64_t l = lower_at(&e->entries[i], r, at_ns);
		int64_t h = upper_at(&e->entries[i], r, at_ns);

		low = l > low ? l : low;
		high = h < high ? h : high;
	}
	/* Their difference fits in 64 bits without a sign, whichever is larger. */
	*bound_ns =
		(low <= high ? (uint64_t)high - (uint64_t)low : (uint64_t)low - (uint64_t)high) /
			2 +
		1;
	*offset_ns = (low <= high ? low : high) + (int64_t)(*bound_ns - 1);
	return true;
}

bool time_estimate_drift(const struct time_estimate *e, double *ppm)
{
	struct time_rate r = rate_of_pairs(e);

	*ppm = 0;
	if (e->n < 2 || r.max - r.min > TIME_DRIFT_PPM * PPM)
		return false;
	*ppm = (r.min + r.max) / 2 / PPM;
	return true;
}

/* ---- waits ---- */

/* How waits end early: `stop` (or NULL), and descriptor `wake_fd` when it is readable (or -1). */
struct time_wait {
	struct stop *stop;
	int wake_fd;
};

/* How often a wait looks whether the run stops. */
#define LOOK_NS (50 * NS_PER_MS)

/*
 * Wait until `fd` (-1: none) is readable or clock `until_ns`. Returns 1; 0 at that time; or
 * -ECANCELED.
 */
static int time_wait(const struct time_wait *w, int fd, uint64_t until_ns)
{
	for (;;) {
		struct pollfd p[2] = { { .fd = fd, .events = POLLIN },
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

/* The arrival of a message. */
struct time_arrival {
	struct time_reading read;
	uint64_t stamp_ns; /* wall clock when the kernel had it; 0: not known */
};

/* The wall clock and clock_now_ns(). */
static struct time_reading time_reading(void)
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

/* ---- the socket ---- */

/* A socket that is connected to `to`, or -errno. */
static int open_socket(const struct sockaddr_storage *to, socklen_t size)
{
	int fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	time_stamp_enable(fd);
	if (connect(fd, (const struct sockaddr *)to, size) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/*
 * Take a datagram that has arrived. Returns 1 with a valid message; 0: something else has arrived,
 * and there may be more; -EAGAIN: nothing; or another -errno.
 */
static int receive_message(int fd, struct time_message *m, struct time_arrival *a)
{
	uint8_t bytes[TIME_MESSAGE_BYTES + 1]; /* one more, which shows that one is longer */
	struct iovec iov = { bytes, sizeof(bytes) };
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct msghdr h = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(fd, &h, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	a->read = time_reading();
	a->stamp_ns = time_stamp_of(&h);
	return time_message_decode(bytes, (size_t)n, m);
}

/*
 * Requests without an answer yet; an answer that is late counts until its place is needed. The low
 * bits of a nonce are that place.
 */
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
	char server[320];
	int wake_fd; /* readable: the thread ends */
	bool following;
	pthread_t thread;

	/* guarded by burst_lock, which is held during a burst */
	pthread_mutex_t burst_lock;
	int fd; /* -1: closed */
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
	const unsigned place = b->sent % MAX_IN_FLIGHT;
	struct in_flight *f = &c->in_flight[place];
	struct time_message m = { .type = TIME_REQUEST };
	uint8_t bytes[TIME_MESSAGE_BYTES];
	int err;

	if (getrandom(&m.nonce, sizeof(m.nonce), 0) != sizeof(m.nonce))
		return -EIO;
	m.nonce = m.nonce / MAX_IN_FLIGHT * MAX_IN_FLIGHT + place;
	if (f->used) {
		b->outstanding--;
		count_lost(c, 1);
	}
	*f = (struct in_flight){ .nonce = m.nonce, .used = true };
	/* The checksum and the system call come after the time, which is never too late. */
	f->sent = time_reading();
	m.client_ns = f->sent.after_ns;
	time_message_encode(&m, bytes);
	err = send(c->fd, bytes, sizeof(bytes), 0) < 0 ? errno : 0;
	b->last_ns = f->sent.after_ns;
	b->next_ns =
		b->last_ns +
		(b->answered ? clamp(2 * b->trip_ns, LEAST_PACE_NS, MOST_PACE_NS) : FIRST_PACE_NS);
	if (err) {
		f->used = false;
		return err == EAGAIN || err == EINTR || err == ENOBUFS ? 0 : -err;
	}
	b->sent++;
	b->outstanding++;
	return 0;
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
	struct in_flight *f = &c->in_flight[m->nonce % MAX_IN_FLIGHT];
	struct time_sample s;
	bool good;

	if (m->type != TIME_REPLY || !f->used || m->nonce != f->nonce ||
	    m->client_ns != f->sent.after_ns)
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
		n = receive_message(c->fd, &m, &a);
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
	err = time_wait(b->wait, c->fd, until_ns);
	return err > 0 ? receive_answers(c, b) : err;
}

/*
 * Do `n` exchanges on the socket, which is open. Returns 0 when there was an answer, or -errno:
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

static void close_socket(struct globaltime_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* Open the socket if it is closed, and do a burst. */
static int reach(struct globaltime_client *c, unsigned n, const struct time_wait *wait,
		 uint64_t patience_ns, uint64_t until_ns)
{
	if (c->fd < 0)
		c->fd = open_socket(&c->address, c->address_size);
	return c->fd < 0 ? c->fd : do_burst(c, n, wait, patience_ns, until_ns);
}

/* Try all addresses, each for `each_ns`. Returns 0 or the -errno that says most. */
static int try_addresses(struct globaltime_client *c, const struct addrinfo *list, unsigned n,
			 const struct time_wait *wait, uint64_t each_ns)
{
	int worst = 0;

	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		int err;

		memset(&c->address, 0, sizeof(c->address));
		memcpy(&c->address, a->ai_addr, a->ai_addrlen);
		c->address_size = a->ai_addrlen;
		/* Requests that another address did not answer say nothing about this one. */
		memset(&c->counts, 0, sizeof(c->counts));
		err = reach(c, n, wait, each_ns, UINT64_MAX);
		if (!err || err == -ECANCELED)
			return err;
		close_socket(c);
		/* An address that is silent says more than one that is absent. */
		if (!worst || err == -ETIMEDOUT)
			worst = err;
	}
	return worst;
}

static int say_no_server(const struct globaltime_settings *s, int err, struct err *why)
{
	char peer[300];

	connection_host_text(s->host, s->port, peer, sizeof(peer));
	return err_set(why, err, "no answer from the time server %s by UDP (%s)%s", peer,
		       err == -EPROTO ? "its times are impossible" : strerror(-err),
		       err == -ECONNREFUSED ? "; start xdd timeserver there" :
		       err == -ETIMEDOUT    ? "; start xdd timeserver there, and let UDP pass" :
					      "");
}

static int find_server(struct globaltime_client *c, const struct globaltime_settings *s,
		       struct stop *stop, struct err *why)
{
	const struct time_wait wait = { .stop = stop, .wake_fd = -1 };
	const uint64_t limit_ns = s->timeout_ns ? s->timeout_ns : GLOBALTIME_TIMEOUT_NS;
	const unsigned n = s->bounce ? s->bounce : (unsigned)GLOBALTIME_BOUNCE;
	char peer[CONNECTION_PEER_SIZE];
	unsigned n_addresses = 0;
	struct addrinfo *list;
	int err = connection_resolve(s->host, s->port, 0, &list, why);

	if (err)
		return err;
	for (const struct addrinfo *a = list; a; a = a->ai_next)
		n_addresses++;
	err = try_addresses(c, list, n, &wait, limit_ns / n_addresses);
	freeaddrinfo(list);
	if (err)
		return say_no_server(s, err, why);
	connection_address_text(&c->address, peer, sizeof(peer));
	snprintf(c->server, sizeof(c->server), "%s (UDP)", peer);
	return 0;
}

int globaltime_begin(struct globaltime_client **out, const struct globaltime_settings *s,
		     struct stop *stop, struct err *why)
{
	struct globaltime_client *c = calloc(1, sizeof(*c));
	int err;

	*out = NULL;
	if (!c)
		return err_errno(why, -ENOMEM);
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->burst_lock, NULL);
	time_estimate_init(&c->estimate);
	c->fd = -1;
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = c->wake_fd >= 0 ? find_server(c, s, stop, why) : err_errno(why, -errno);
	if (err) {
		globaltime_end(c);
		return err;
	}
	*out = c;
	return 0;
}

/* ---- the thread ---- */

/* One small burst; the socket is opened again after a failure. Returns 0 or -errno. */
static int burst_again(struct globaltime_client *c, unsigned n, uint64_t until_ns)
{
	const struct time_wait wait = { .wake_fd = c->wake_fd };
	int err;

	pthread_mutex_lock(&c->burst_lock);
	err = reach(c, n, &wait, FOLLOW_PATIENCE_NS, until_ns);
	/* Silence for less than the usual time says nothing about the server. */
	if (err && err != -ECANCELED && (err != -ETIMEDOUT || until_ns == UINT64_MAX)) {
		close_socket(c);
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

		if (time_wait(&wait, -1, clock_now_ns() + period_ns) < 0)
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
	close_socket(c);
	if (c->wake_fd >= 0)
		close(c->wake_fd);
	pthread_mutex_destroy(&c->burst_lock);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
