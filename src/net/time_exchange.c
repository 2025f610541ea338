/*
 * The arithmetic of global time, its message, and kernel time stamps. Called by time_client.c and
 * time_server.c.
 */
#include "net/time_exchange.h"

#include <math.h>
#include <string.h>

#include "xdd/base/codec.h"
#include "xdd/base/units.h"

/*
 * Intervals of the difference of two clocks and of its rate.
 */

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

/* ---- extrapolation ---- */

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

/* ---- rates ---- */

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

/* ---- entries ---- */

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

/* ---- answers ---- */

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

/* Offsets of the fields. */
enum {
	MAGIC_AT = 0,
	VERSION_AT = 4,
	TYPE_AT = 6,
	NONCE_AT = 8,
	CLIENT_AT = 16,
	RECEIVED_AT = 24,
	SENT_AT = 32,
	SERVER_AT = 40,
	ZERO_AT = 48,
	CHECKSUM_AT = 60,
};

static const uint8_t zeros[CHECKSUM_AT - ZERO_AT];

void time_message_encode(const struct time_message *m, uint8_t out[TIME_MESSAGE_BYTES])
{
	bytes_put(out + MAGIC_AT, 4, TIME_MESSAGE_MAGIC);
	bytes_put(out + VERSION_AT, 2, TIME_MESSAGE_VERSION);
	bytes_put(out + TYPE_AT, 2, m->type);
	bytes_put(out + NONCE_AT, 8, m->nonce);
	bytes_put(out + CLIENT_AT, 8, m->client_ns);
	bytes_put(out + RECEIVED_AT, 8, m->received_ns);
	bytes_put(out + SENT_AT, 8, m->sent_ns);
	bytes_put(out + SERVER_AT, 8, m->server_id);
	memset(out + ZERO_AT, 0, sizeof(zeros));
	bytes_put(out + CHECKSUM_AT, 4, crc32c(0, out, CHECKSUM_AT));
}

static bool in_range(const struct time_message *m)
{
	if (m->client_ns > TIME_MESSAGE_MAX_NS)
		return false;
	if (m->type == TIME_REQUEST)
		return !m->received_ns && !m->sent_ns && !m->server_id;
	return m->type == TIME_REPLY && m->server_id && m->received_ns <= m->sent_ns &&
	       m->sent_ns <= TIME_MESSAGE_MAX_NS;
}

bool time_message_decode(const uint8_t *in, size_t size, struct time_message *m)
{
	/* The checks are in the order of their cost: a flood is to be cheap. */
	if (size != TIME_MESSAGE_BYTES || bytes_get(in + MAGIC_AT, 4) != TIME_MESSAGE_MAGIC ||
	    bytes_get(in + VERSION_AT, 2) != TIME_MESSAGE_VERSION ||
	    memcmp(in + ZERO_AT, zeros, sizeof(zeros)) != 0)
		return false;
	m->type = (enum time_message_type)bytes_get(in + TYPE_AT, 2);
	m->nonce = bytes_get(in + NONCE_AT, 8);
	m->client_ns = bytes_get(in + CLIENT_AT, 8);
	m->received_ns = bytes_get(in + RECEIVED_AT, 8);
	m->sent_ns = bytes_get(in + SENT_AT, 8);
	m->server_id = bytes_get(in + SERVER_AT, 8);
	return in_range(m) && bytes_get(in + CHECKSUM_AT, 4) == crc32c(0, in, CHECKSUM_AT);
}

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
