/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ranks of a group act together: votes, barriers and data, the end of a pass that all ranks
 * share, and comparing their clocks. Called by the thread that has the run, the main thread or the
 * results manager, and by the thread of the group.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sync/group_internal.h"
#include "xdd/base/codec.h"
#include "xdd/sys/clock.h"

void clock_bounds_init(struct clock_bounds *b)
{
	b->low_ns = INT64_MIN;
	b->high_ns = INT64_MAX;
}

void clock_bounds_add(struct clock_bounds *b, uint64_t sent_ns, uint64_t answered_ns,
		      uint64_t received_ns)
{
	/* Clocks count from the start of a machine: the differences fit. */
	const int64_t high = (int64_t)(answered_ns - sent_ns);
	const int64_t low = (int64_t)(answered_ns - received_ns);

	if (high < b->high_ns)
		b->high_ns = high;
	if (low > b->low_ns)
		b->low_ns = low;
}

int64_t clock_bounds_offset(const struct clock_bounds *b, uint64_t *bound_ns)
{
	const uint64_t width = (uint64_t)b->high_ns - (uint64_t)b->low_ns;

	*bound_ns = width / 2 + 1;
	return (int64_t)((uint64_t)b->low_ns + width / 2);
}

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

/* Have the thread make a call of all ranks. Returns 0 with its end in `*c`, or -ECONNABORTED. */
static int call_all(struct group *g, struct group_call *c)
{
	int err = -ECONNABORTED;

	pthread_mutex_lock(&g->lock);
	begin_wait(g);
	if (!g->broken) {
		g->call = *c;
		g->call_wanted = true;
		while (g->call_wanted && !g->broken)
			pthread_cond_wait(&g->changed, &g->lock);
		err = g->call_wanted ? -ECONNABORTED : 0;
	}
	if (!err) {
		*c = g->call;
		g->call.received = NULL;
	}
	end_wait(g);
	pthread_mutex_unlock(&g->lock);
	return err;
}

int group_barrier(struct group *g, uint64_t *entered_ns, uint64_t *left_ns)
{
	struct group_call c = { .kind = CALL_BARRIER };
	int err;

	if (entered_ns)
		*entered_ns = clock_now_ns();
	err = call_all(g, &c);
	if (left_ns)
		*left_ns = c.ended_ns;
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

int group_gather(struct group *g, const void *data, size_t size, struct group_piece *pieces)
{
	const bool fits = size <= GROUP_PIECE_MAX;
	/* The others wait for this rank, whatever it has. */
	struct group_call c = { CALL_GATHER, .data = data, .size = fits ? size : 0 };
	int err = call_all(g, &c);
	char *at = c.received;

	if (err)
		return err;
	for (unsigned i = 0; !g->place.rank && i < g->place.size; i++) {
		pieces[i] = (struct group_piece){ .data = at, .size = c.sizes[i] };
		at += (c.sizes[i] / XDD_MPI_UNIT + 1) * XDD_MPI_UNIT;
	}
	return fits ? 0 : -EFBIG;
}

int group_broadcast(struct group *g, void *data, size_t size)
{
	struct group_call c = { CALL_BROADCAST, .data = data, .size = size };
	int err = call_all(g, &c);

	if (!err && size)
		memcpy(data, c.received, size);
	if (!err)
		free(c.received);
	return err;
}

int group_max(struct group *g, uint64_t *value)
{
	struct group_call c = { CALL_MAX, .value = *value };
	int err = call_all(g, &c);

	if (!err)
		memcpy(value, c.received, sizeof(*value));
	if (!err)
		free(c.received);
	return err;
}

/* ---- stops ---- */

#define STOP_BYTES 8

void group_stop(struct group *g, enum stop_reason reason, int detail)
{
	char text[STOP_BYTES];
	struct encoder e = enc_begin(text, sizeof(text));

	enc_put(&e, 4, (uint64_t)reason);
	enc_put(&e, 4, (uint32_t)detail);
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

/*
 * The end of a pass that all ranks share, once it is over on one of them.
 *
 * Each rank tells rank 0 once for each pass that it has ended it or learned of the end, and how
 * far it had come then. The first one decides: rank 0 sends that to all ranks. It has the counts
 * of all then, and sends the greatest. A rank votes for the next pass after it has told, and
 * messages of two ranks keep their order: so none learns of an end in a later pass.
 */

#define TOLD_BYTES 20
#define OVER_BYTES 16
#define COUNT_BYTES 16

/* The first rank that has ended a pass. Rank 0, with the lock. */
static void decide(struct group *g, uint64_t pass, unsigned rank, uint32_t target)
{
	char text[OVER_BYTES];
	struct encoder e = enc_begin(text, sizeof(text));

	g->wall = (struct group_wall){ .pass = pass, .rank = rank, .target = target };
	g->wall_over = true;
	enc_put(&e, 8, pass);
	enc_put(&e, 4, rank);
	enc_put(&e, 4, target);
	group_put_all(g, TAG_WALL_OVER, text, sizeof(text));
	group_wake(g);
	pthread_cond_broadcast(&g->changed);
}

/* Send the greatest count, once all ranks have told theirs. Rank 0, with the lock. */
static void group_wall_count(struct group *g)
{
	char text[COUNT_BYTES];
	struct encoder e = enc_begin(text, sizeof(text));
	uint64_t most = 0;

	for (unsigned i = 0; i < g->place.size; i++) {
		if (g->peers[i].wall_pass != g->wall.pass)
			return;
		if (g->peers[i].wall_count > most)
			most = g->peers[i].wall_count;
	}
	g->wall_count = most;
	g->wall_counted = true;
	enc_put(&e, 8, g->wall.pass);
	enc_put(&e, 8, most);
	group_put_all(g, TAG_WALL_COUNT, text, sizeof(text));
	group_wake(g);
}

/* A rank has told. Rank 0, with the lock. */
static void be_told(struct group *g, unsigned from, uint64_t pass, uint32_t target, uint64_t n)
{
	struct peer *p = &g->peers[from];

	if (pass < g->wall.pass || pass <= p->wall_pass)
		return;
	if (pass > g->wall.pass)
		decide(g, pass, from, target);
	p->wall_pass = pass;
	p->wall_count = n;
	group_wall_count(g);
}

void group_wall_tell(struct group *g, uint64_t pass, uint32_t target, uint64_t n)
{
	char text[TOLD_BYTES];
	struct encoder e = enc_begin(text, sizeof(text));

	enc_put(&e, 8, pass);
	enc_put(&e, 4, target);
	enc_put(&e, 8, n);
	pthread_mutex_lock(&g->lock);
	if (g->place.rank)
		group_put(g, 0, TAG_WALL, text, sizeof(text));
	else
		be_told(g, 0, pass, target, n);
	pthread_mutex_unlock(&g->lock);
}

int group_wall_wait(struct group *g, uint64_t pass, struct group_wall *wall)
{
	int err;

	pthread_mutex_lock(&g->lock);
	g->waiting++;
	group_wake(g);
	while (g->wall.pass < pass && !g->broken)
		pthread_cond_wait(&g->changed, &g->lock);
	g->waiting--;
	*wall = g->wall;
	err = g->wall.pass == pass ? 0 : -ECONNABORTED;
	pthread_mutex_unlock(&g->lock);
	return err;
}

void group_on_wall(struct group *g, const struct group_wall_calls *calls, void *arg)
{
	pthread_mutex_lock(&g->stop_lock);
	g->wall_calls = calls;
	g->wall_arg = arg;
	pthread_mutex_unlock(&g->stop_lock);
	pthread_mutex_lock(&g->lock);
	g->watches_wall = calls != NULL;
	pthread_mutex_unlock(&g->lock);
}

/* TAG_WALL: a rank has told. With the lock. */
static void take_told(struct group *g, const struct xdd_mpi_message *m)
{
	struct decoder d = dec_begin(m->data, m->size);
	const uint64_t pass = dec_get(&d, 8);
	const uint32_t target = (uint32_t)dec_get(&d, 4);
	const uint64_t n = dec_get(&d, 8);

	if (dec_end(&d) && g->place.rank == 0)
		be_told(g, m->from, pass, target, n);
}

/* TAG_WALL_OVER: which rank was the first. With the lock. */
static void take_over(struct group *g, const struct xdd_mpi_message *m)
{
	struct decoder d = dec_begin(m->data, m->size);
	struct group_wall wall;

	wall.pass = dec_get(&d, 8);
	wall.rank = (unsigned)dec_get(&d, 4);
	wall.target = (uint32_t)dec_get(&d, 4);
	if (!dec_end(&d) || m->from != 0)
		return;
	g->wall = wall;
	g->wall_over = true;
	pthread_cond_broadcast(&g->changed);
}

/* TAG_WALL_COUNT: the greatest count. With the lock. */
static void take_count(struct group *g, const struct xdd_mpi_message *m)
{
	struct decoder d = dec_begin(m->data, m->size);
	const uint64_t pass = dec_get(&d, 8), most = dec_get(&d, 8);

	if (!dec_end(&d) || m->from != 0 || pass != g->wall.pass)
		return;
	g->wall_count = most;
	g->wall_counted = true;
}

void group_take_wall(struct group *g, const struct xdd_mpi_message *m)
{
	pthread_mutex_lock(&g->lock);
	if (m->tag == TAG_WALL)
		take_told(g, m);
	else if (m->tag == TAG_WALL_OVER)
		take_over(g, m);
	else if (m->tag == TAG_WALL_COUNT)
		take_count(g, m);
	pthread_mutex_unlock(&g->lock);
}

void group_call_wall(struct group *g)
{
	struct group_wall wall;
	bool over, counted;
	uint64_t most;

	pthread_mutex_lock(&g->lock);
	wall = g->wall;
	over = g->wall_over;
	counted = g->wall_counted;
	most = g->wall_count;
	g->wall_over = g->wall_counted = false;
	pthread_mutex_unlock(&g->lock);
	if (!over && !counted)
		return;
	pthread_mutex_lock(&g->stop_lock);
	if (over && g->wall_calls)
		g->wall_calls->over(g->wall_arg, &wall);
	if (counted && g->wall_calls)
		g->wall_calls->counted(g->wall_arg, wall.pass, most);
	pthread_mutex_unlock(&g->stop_lock);
}
