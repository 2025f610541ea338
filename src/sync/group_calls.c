/*
 * The ranks of a group act together: votes, barriers and data. Called by the thread that has the
 * run: the main thread or the results manager.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sync/group_internal.h"
#include "xdd/base/bytes.h"
#include "xdd/sys/clock.h"

/* Have the thread of the group look often. With the lock. */
static void begin_wait(struct group *g)
{
	g->waiting++;
	group_wake(g);
}

static int end_wait(struct group *g)
{
	g->waiting--;
	return g->broken ? -ECONNABORTED : 0;
}

bool group_is_broken(struct group *g)
{
	bool broken;

	pthread_mutex_lock(&g->lock);
	broken = g->broken;
	pthread_mutex_unlock(&g->lock);
	return broken;
}

/* Send what this rank has to say to rank 0, or count it there. With the lock. */
static void cast(struct group *g, int tag)
{
	char text[GROUP_BALLOT_BYTES];

	if (g->place.rank) {
		group_put(g, 0, tag, text, group_encode_ballot(text, &g->mine));
		return;
	}
	g->peers[0].ballot = g->mine;
	g->peers[0].has_voted |= tag == TAG_VOTE;
	g->peers[0].has_left |= tag == TAG_LEAVE;
	group_count_votes(g);
	group_wake(g);
}

int group_vote(struct group *g, unsigned votes, unsigned *all)
{
	int err;

	pthread_mutex_lock(&g->lock);
	g->has_decision = false;
	g->mine.votes = votes;
	begin_wait(g);
	cast(g, TAG_VOTE);
	while (!g->has_decision && !g->broken)
		pthread_cond_wait(&g->changed, &g->lock);
	*all = g->decision;
	err = g->has_decision ? 0 : -ECONNABORTED;
	end_wait(g);
	pthread_mutex_unlock(&g->lock);
	return err;
}

void group_leave(struct group *g, unsigned votes)
{
	pthread_mutex_lock(&g->lock);
	g->mine.votes = votes;
	cast(g, TAG_LEAVE);
	pthread_mutex_unlock(&g->lock);
}

int group_barrier(struct group *g, uint64_t *entered_ns, uint64_t *left_ns)
{
	int err;

	pthread_mutex_lock(&g->lock);
	if (entered_ns)
		*entered_ns = clock_now_ns();
	begin_wait(g);
	g->barrier_wanted = true;
	while (g->barrier_wanted && !g->broken)
		pthread_cond_wait(&g->changed, &g->lock);
	if (left_ns)
		*left_ns = g->barrier_left_ns;
	err = g->barrier_wanted ? -ECONNABORTED : 0;
	end_wait(g);
	pthread_mutex_unlock(&g->lock);
	return err;
}

void group_released(struct group *g, uint64_t pass, uint64_t at_ns)
{
	const struct group_clock clock = group_clock(g);

	pthread_mutex_lock(&g->lock);
	g->mine.pass = pass;
	g->mine.released_ns = (int64_t)at_ns + clock.offset_ns;
	g->mine.bound_ns = clock.bound_ns;
	pthread_mutex_unlock(&g->lock);
}

const struct group_skew *group_skews(struct group *g, size_t *n, struct group_skew *most)
{
	pthread_mutex_lock(&g->lock);
	*n = g->n_skews;
	*most = g->most;
	pthread_mutex_unlock(&g->lock);
	return g->skews;
}

/* ---- data ---- */

/* Wait for the next data of a rank. With the lock. */
static int take_piece(struct group *g, unsigned from, struct group_piece *piece)
{
	struct peer *p = &g->peers[from];
	struct incoming *in;

	while (!(p->first && p->first->have == p->first->size) && !g->broken)
		pthread_cond_wait(&g->changed, &g->lock);
	if (g->broken)
		return -ECONNABORTED;
	in = p->first;
	p->first = in->next;
	piece->data = in->data;
	piece->size = in->size;
	free(in);
	return 0;
}

static int take_all(struct group *g, const void *data, size_t size, struct group_piece *pieces)
{
	struct group_piece piece = { .data = malloc(size + 1), .size = size };
	int err = piece.data ? 0 : -ENOMEM;

	if (!err && size)
		memcpy(piece.data, data, size);
	for (unsigned i = 0; !err; i++) {
		if (pieces)
			pieces[i] = piece;
		else
			free(piece.data);
		if (i + 1 == g->place.size)
			break;
		err = take_piece(g, i + 1, &piece);
	}
	return err;
}

int group_gather(struct group *g, const void *data, size_t size, struct group_piece *pieces)
{
	int err;

	if (size > GROUP_PIECE_MAX)
		return -EFBIG;
	pthread_mutex_lock(&g->lock);
	begin_wait(g);
	if (g->place.rank)
		err = group_put_piece(g, 0, data, size) ? 0 : -ENOMEM;
	else
		err = take_all(g, data, size, pieces);
	if (end_wait(g))
		err = -ECONNABORTED;
	pthread_mutex_unlock(&g->lock);
	return err;
}

int group_broadcast(struct group *g, void *data, size_t size)
{
	struct group_piece piece = { .size = 0 };
	int err = 0;

	pthread_mutex_lock(&g->lock);
	begin_wait(g);
	for (unsigned i = 1; !g->place.rank && i < g->place.size; i++)
		group_put_piece(g, i, data, size);
	if (g->place.rank)
		err = take_piece(g, 0, &piece);
	if (end_wait(g))
		err = -ECONNABORTED;
	pthread_mutex_unlock(&g->lock);
	if (!err && g->place.rank && piece.size != size)
		err = -EPROTO;
	if (!err && g->place.rank && size)
		memcpy(data, piece.data, size);
	free(piece.data);
	return err;
}

static uint64_t greatest(const struct group *g, struct group_piece *pieces)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < g->place.size; i++) {
		const uint64_t v = pieces[i].size == 8 ? bytes_get(pieces[i].data, 8) : UINT64_MAX;

		most = v > most ? v : most;
	}
	return most;
}

int group_max(struct group *g, uint64_t *value)
{
	struct group_piece *pieces = calloc(g->place.size, sizeof(*pieces));
	char text[8];
	int err;

	if (!pieces)
		return -ENOMEM;
	bytes_put(text, 8, *value);
	err = group_gather(g, text, sizeof(text), pieces);
	if (!err && !g->place.rank)
		bytes_put(text, 8, greatest(g, pieces));
	for (unsigned i = 0; i < g->place.size; i++)
		free(pieces[i].data);
	free(pieces);
	if (!err)
		err = group_broadcast(g, text, sizeof(text));
	if (!err)
		*value = bytes_get(text, 8);
	return err;
}

/* ---- stops ---- */

void group_stop(struct group *g, enum stop_reason reason, int detail)
{
	char text[8];

	bytes_put(text, 4, (uint64_t)reason);
	bytes_put(text + 4, 4, (uint32_t)detail);
	pthread_mutex_lock(&g->lock);
	/* A stop that another rank has caused is known. */
	if (!g->has_stopped) {
		g->has_stopped = true;
		g->reason = reason;
		g->detail = detail;
		if (g->place.rank)
			group_put(g, 0, TAG_STOP, text, sizeof(text));
		else
			group_put_all(g, TAG_STOP, text, sizeof(text));
	}
	pthread_mutex_unlock(&g->lock);
}

void group_on_stop(struct group *g, void (*stopped)(void *arg, enum stop_reason reason, int detail),
		   void *arg)
{
	bool now;
	enum stop_reason reason;
	int detail;

	/* In this order: a stop in between is seen once or twice, and never lost. */
	pthread_mutex_lock(&g->stop_lock);
	g->stopped = stopped;
	g->stopped_arg = arg;
	pthread_mutex_unlock(&g->stop_lock);
	pthread_mutex_lock(&g->lock);
	now = g->has_stopped;
	reason = g->reason;
	detail = g->detail;
	pthread_mutex_unlock(&g->lock);
	if (now && stopped)
		stopped(arg, reason, detail);
}
