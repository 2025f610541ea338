/*
 * The messages between the ranks of a group. Called by its thread. Numbers are little-endian;
 * messages of other lengths than expected, and of ranks that do not send them, are ignored.
 */
#include <stdlib.h>
#include <string.h>

#include "sync/group_internal.h"
#include "xdd/base/bytes.h"
#include "xdd/sys/clock.h"

#define PIECE_HEADER 16

bool group_put(struct group *g, unsigned to, int tag, const void *data, size_t size)
{
	struct outgoing *out = malloc(sizeof(*out) + size);

	if (!out) {
		g->broken = true;
		g->lost = g->place.rank;
		pthread_cond_broadcast(&g->changed);
		return false;
	}
	out->next = NULL;
	out->to = to;
	out->tag = tag;
	out->size = size;
	if (size)
		memcpy(out->data, data, size);
	*g->out_last = out;
	g->out_last = &out->next;
	group_wake(g);
	return true;
}

void group_put_all(struct group *g, int tag, const void *data, size_t size)
{
	for (unsigned i = 0; i < g->place.size; i++) {
		if (i != g->place.rank)
			group_put(g, i, tag, data, size);
	}
}

/* ---- data in parts ---- */

bool group_put_piece(struct group *g, unsigned to, const char *data, size_t size)
{
	static const size_t part_bytes = (size_t)1 << 20;
	char *part = malloc(PIECE_HEADER + part_bytes);
	size_t done = 0;
	bool ok = part;

	while (ok) {
		const size_t n = size - done < part_bytes ? size - done : part_bytes;

		bytes_put(part, 8, size);
		bytes_put(part + 8, 8, done);
		if (n)
			memcpy(part + PIECE_HEADER, data + done, n);
		ok = group_put(g, to, TAG_PIECE, part, PIECE_HEADER + n);
		done += n;
		if (done == size)
			break;
	}
	free(part);
	return ok;
}

/* The piece that the next part belongs to. */
static struct incoming *open_piece(struct peer *peer, uint64_t size, uint64_t offset)
{
	struct incoming **p = &peer->first;

	while (*p && (*p)->have == (*p)->size)
		p = &(*p)->next;
	if (*p)
		return (*p)->size == size && (*p)->have == offset ? *p : NULL;
	if (offset || size > GROUP_PIECE_MAX)
		return NULL;
	*p = calloc(1, sizeof(**p));
	if (!*p)
		return NULL;
	(*p)->data = malloc(size + 1);
	(*p)->size = size;
	if ((*p)->data)
		return *p;
	free(*p);
	*p = NULL;
	return NULL;
}

/* False: the part is wrong, or there is no memory for it. With the lock. */
static bool add_part(struct peer *peer, const struct xdd_mpi_message *m)
{
	const char *data = m->data;
	struct incoming *in;
	size_t n;

	if (m->size < PIECE_HEADER)
		return false;
	n = m->size - PIECE_HEADER;
	in = open_piece(peer, bytes_get(data, 8), bytes_get(data + 8, 8));
	if (!in || n > in->size - in->have)
		return false;
	memcpy(in->data + in->have, data + PIECE_HEADER, n);
	in->have += n;
	in->data[in->have] = '\0';
	return true;
}

static void take_piece(struct group *g, const struct xdd_mpi_message *m)
{
	bool ok;

	pthread_mutex_lock(&g->lock);
	ok = add_part(&g->peers[m->from], m);
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	if (!ok)
		group_break(g, m->from, "its data cannot be taken (no memory, or damaged)");
}

/* ---- votes ---- */

size_t group_encode_ballot(char *p, const struct ballot *b)
{
	bytes_put(p, 4, b->votes);
	bytes_put(p + 4, 8, b->pass);
	bytes_put(p + 12, 8, (uint64_t)b->released_ns);
	bytes_put(p + 20, 8, b->bound_ns);
	return GROUP_BALLOT_BYTES;
}

static bool decode_ballot(struct ballot *b, const struct xdd_mpi_message *m)
{
	const char *p = m->data;

	if (m->size != GROUP_BALLOT_BYTES)
		return false;
	b->votes = (unsigned)bytes_get(p, 4) & (GROUP_STOP | GROUP_END | GROUP_MORE);
	b->pass = bytes_get(p + 4, 8);
	b->released_ns = bytes_get_signed(p + 12, 8);
	b->bound_ns = bytes_get(p + 20, 8);
	return true;
}

/* How far the releases into the last pass were apart, if all ranks were in that. */
static void count_skew(struct group *g)
{
	const struct peer *first = g->peers, *last = g->peers;
	struct group_skew s = { .pass = g->peers[0].ballot.pass };
	const uint64_t known = g->n_passes;

	for (unsigned i = 0; i < g->place.size; i++) {
		const struct peer *p = &g->peers[i];

		if (p->ballot.pass != s.pass)
			return;
		if (p->ballot.released_ns < first->ballot.released_ns)
			first = p;
		if (p->ballot.released_ns > last->ballot.released_ns)
			last = p;
	}
	if (s.pass <= known)
		return;
	g->n_passes = s.pass;
	s.first = (unsigned)(first - g->peers);
	s.last = (unsigned)(last - g->peers);
	s.skew_ns = (uint64_t)(last->ballot.released_ns - first->ballot.released_ns);
	s.bound_ns = first->ballot.bound_ns + last->ballot.bound_ns;
	if (!g->most.pass || s.skew_ns > g->most.skew_ns)
		g->most = s;
	if (g->skews && g->n_skews < GROUP_SKEWS)
		g->skews[g->n_skews++] = s;
}

void group_count_votes(struct group *g)
{
	unsigned all = 0, voted = 0;
	char decision[4];

	for (unsigned i = 0; i < g->place.size; i++) {
		if (!g->peers[i].has_voted && !g->peers[i].has_left)
			return;
		voted += g->peers[i].has_voted;
		all |= g->peers[i].ballot.votes;
	}
	count_skew(g);
	if (!voted)
		return;
	bytes_put(decision, 4, all);
	for (unsigned i = 0; i < g->place.size; i++) {
		if (i && g->peers[i].has_voted)
			group_put(g, i, TAG_DECISION, decision, sizeof(decision));
		else if (!i && g->peers[0].has_voted)
			g->has_decision = true;
		g->peers[i].has_voted = false;
	}
	g->decision = all;
	pthread_cond_broadcast(&g->changed);
}

static void take_ballot(struct group *g, const struct xdd_mpi_message *m)
{
	struct peer *p = &g->peers[m->from];

	pthread_mutex_lock(&g->lock);
	if (g->place.rank == 0 && decode_ballot(&p->ballot, m)) {
		p->has_voted |= m->tag == TAG_VOTE;
		p->has_left |= m->tag == TAG_LEAVE;
		group_count_votes(g);
	}
	pthread_mutex_unlock(&g->lock);
}

static void take_decision(struct group *g, const struct xdd_mpi_message *m)
{
	if (m->size != 4)
		return;
	pthread_mutex_lock(&g->lock);
	g->decision = (unsigned)bytes_get(m->data, 4);
	g->has_decision = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

/* ---- clocks ---- */

/* The clock of that rank is the one of rank 0: both lie on one machine. */
static bool shares_clock(const struct group *g, unsigned rank)
{
	const struct peer *a = &g->peers[0], *b = &g->peers[rank];

	return strcmp(a->boot, b->boot) == 0 && a->time_ns == b->time_ns;
}

static void tell_clock(struct group *g, int64_t offset_ns, uint64_t bound_ns)
{
	char text[16];

	bytes_put(text, 8, (uint64_t)offset_ns);
	bytes_put(text + 8, 8, bound_ns);
	pthread_mutex_lock(&g->lock);
	group_put(g, g->pings.rank, TAG_CLOCK, text, sizeof(text));
	pthread_mutex_unlock(&g->lock);
}

void group_ping(struct group *g)
{
	struct group_pings *p = &g->pings;
	uint64_t bound;
	int64_t offset;

	for (; p->rank < g->place.size; p->rank++, p->done = 0) {
		if (!p->done)
			clock_bounds_init(&p->bounds);
		if (shares_clock(g, p->rank)) {
			tell_clock(g, 0, GROUP_SAME_CLOCK_NS);
		} else if (p->done < GROUP_PINGS) {
			p->sent_ns = clock_now_ns();
			if (g->mpi->send(g->world, p->rank, TAG_PING, NULL, 0) < 0)
				group_break(g, p->rank, "its clock cannot be measured");
			return;
		} else {
			offset = clock_bounds_offset(&p->bounds, &bound);
			/* To be added to the clock of that rank. */
			tell_clock(g, -offset, bound);
		}
	}
	pthread_mutex_lock(&g->lock);
	g->has_clock = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

static void take_ping(struct group *g)
{
	char now[8];

	bytes_put(now, 8, clock_now_ns());
	if (g->mpi->send(g->world, 0, TAG_PONG, now, sizeof(now)) < 0)
		group_break(g, 0, "it cannot be answered");
}

static void take_pong(struct group *g, const struct xdd_mpi_message *m)
{
	const uint64_t now = clock_now_ns();

	if (m->size != 8 || m->from != g->pings.rank)
		return;
	clock_bounds_add(&g->pings.bounds, g->pings.sent_ns, bytes_get(m->data, 8), now);
	g->pings.done++;
	group_ping(g);
}

static void take_clock(struct group *g, const struct xdd_mpi_message *m)
{
	const char *p = m->data;

	if (m->size != 16)
		return;
	pthread_mutex_lock(&g->lock);
	g->clock.offset_ns = bytes_get_signed(p, 8);
	g->clock.bound_ns = bytes_get(p + 8, 8);
	g->has_clock = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

void group_take(struct group *g, const struct xdd_mpi_message *m)
{
	if (m->from >= g->place.size)
		return;
	pthread_mutex_lock(&g->lock);
	g->peers[m->from].heard_ns = clock_now_ns();
	pthread_mutex_unlock(&g->lock);
	switch ((enum group_tag)m->tag) {
	case TAG_BEAT:
		break;
	case TAG_PIECE:
		take_piece(g, m);
		break;
	case TAG_VOTE:
	case TAG_LEAVE:
		take_ballot(g, m);
		break;
	case TAG_DECISION:
		take_decision(g, m);
		break;
	case TAG_STOP:
		group_take_stop(g, m);
		break;
	case TAG_LOST:
		group_take_lost(g, m);
		break;
	case TAG_LOG:
		group_log_line(g, m->from, m->data, m->size);
		break;
	case TAG_PING:
		take_ping(g);
		break;
	case TAG_PONG:
		take_pong(g, m);
		break;
	case TAG_CLOCK:
		take_clock(g, m);
		break;
	case TAG_WALL:
	case TAG_WALL_OVER:
	case TAG_WALL_COUNT:
		group_take_wall(g, m);
		break;
	}
}
