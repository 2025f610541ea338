/*
 * The end of a pass that all ranks share, once it is over on one of them. Called by the threads of
 * the run, and by the thread of the group.
 *
 * Each rank tells rank 0 once for each pass that it has ended it or learned of the end, and how far
 * it had come then. The first one decides: rank 0 sends that to all ranks. It has the counts of all
 * then, and sends the greatest. A rank votes for the next pass after it has told, and messages of
 * two ranks keep their order: so none learns of an end in a later pass.
 */
#include <errno.h>

#include "sync/group_internal.h"
#include "xdd/base/bytes.h"

#define TOLD_BYTES 20
#define OVER_BYTES 16
#define COUNT_BYTES 16

/* The first rank that has ended a pass. Rank 0, with the lock. */
static void decide(struct group *g, uint64_t pass, unsigned rank, uint32_t target)
{
	char text[OVER_BYTES];

	g->wall = (struct group_wall){ .pass = pass, .rank = rank, .target = target };
	g->wall_over = true;
	bytes_put(text, 8, pass);
	bytes_put(text + 8, 4, rank);
	bytes_put(text + 12, 4, target);
	group_put_all(g, TAG_WALL_OVER, text, sizeof(text));
	group_wake(g);
	pthread_cond_broadcast(&g->changed);
}

/* Send the greatest count, once all ranks have told theirs. Rank 0, with the lock. */
static void count(struct group *g)
{
	char text[COUNT_BYTES];
	uint64_t most = 0;

	for (unsigned i = 0; i < g->place.size; i++) {
		if (g->peers[i].wall_pass != g->wall.pass)
			return;
		if (g->peers[i].wall_count > most)
			most = g->peers[i].wall_count;
	}
	g->wall_count = most;
	g->wall_counted = true;
	bytes_put(text, 8, g->wall.pass);
	bytes_put(text + 8, 8, most);
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
	count(g);
}

void group_wall_tell(struct group *g, uint64_t pass, uint32_t target, uint64_t n)
{
	char text[TOLD_BYTES];

	bytes_put(text, 8, pass);
	bytes_put(text + 8, 4, target);
	bytes_put(text + 12, 8, n);
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

void group_take_wall(struct group *g, const struct xdd_mpi_message *m)
{
	const char *p = m->data;

	pthread_mutex_lock(&g->lock);
	if (m->tag == TAG_WALL && m->size == TOLD_BYTES && g->place.rank == 0) {
		be_told(g, m->from, bytes_get(p, 8), (uint32_t)bytes_get(p + 8, 4),
			bytes_get(p + 12, 8));
	} else if (m->tag == TAG_WALL_OVER && m->size == OVER_BYTES && m->from == 0) {
		g->wall.pass = bytes_get(p, 8);
		g->wall.rank = (unsigned)bytes_get(p + 8, 4);
		g->wall.target = (uint32_t)bytes_get(p + 12, 4);
		g->wall_over = true;
		pthread_cond_broadcast(&g->changed);
	} else if (m->tag == TAG_WALL_COUNT && m->size == COUNT_BYTES && m->from == 0 &&
		   bytes_get(p, 8) == g->wall.pass) {
		g->wall_count = bytes_get(p + 8, 8);
		g->wall_counted = true;
	}
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
