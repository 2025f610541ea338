/*
 * How a group ends: ranks that are gone, ranks that stop their run, and the messages for the reader
 * on their way to rank 0. Called by the thread of the group, and by all threads with a message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync/group_internal.h"
#include "xdd/base/bytes.h"
#include "xdd/base/log.h"
#include "xdd/sys/clock.h"

#define LINE_MAX_BYTES 8192
/* Lines that a rank sends at most, so that rank 0 does not drown. */
#define LINES_MAX 10000

static const char *host_of(void *arg, unsigned rank)
{
	return group_host(arg, rank);
}

void group_show_log(struct group *g, uint64_t now_ns)
{
	char *text = group_log_take(&g->log, now_ns, g->place.size, host_of, g);

	if (text)
		log_undiverted(text, strlen(text));
	free(text);
}

/* Rank 0 is gone: there is no better place than the own standard error. */
static void show_alone(struct group *g, const char *text, size_t size)
{
	char *line = NULL;
	int n = asprintf(&line, "rank %u on %s: %.*s\n", g->place.rank,
			 group_host(g, g->place.rank), (int)size, text);

	if (n > 0)
		log_undiverted(line, (size_t)n);
	free(line);
}

static void forward(struct group *g, const char *text, size_t size)
{
	bool alone;

	pthread_mutex_lock(&g->lock);
	alone = g->broken && g->lost == 0;
	if (!alone && g->n_logs++ < LINES_MAX)
		group_put(g, 0, TAG_LOG, text, size);
	pthread_mutex_unlock(&g->lock);
	if (alone)
		show_alone(g, text, size);
}

void group_log_line(struct group *g, unsigned rank, const char *text, size_t size)
{
	if (size > LINE_MAX_BYTES)
		size = LINE_MAX_BYTES;
	size = strnlen(text, size);
	if (g->place.rank) {
		forward(g, text, size);
		return;
	}
	while (!group_log_add(&g->log, rank, text, size, clock_now_ns()))
		group_show_log(g, UINT64_MAX);
}

static void be_stopped(struct group *g, enum stop_reason reason, int detail)
{
	bool first;

	pthread_mutex_lock(&g->lock);
	first = !g->has_stopped;
	if (first) {
		g->has_stopped = true;
		g->reason = reason;
		g->detail = detail;
	}
	pthread_mutex_unlock(&g->lock);
	pthread_mutex_lock(&g->stop_lock);
	if (first && g->stopped)
		g->stopped(g->stopped_arg, reason, detail);
	pthread_mutex_unlock(&g->stop_lock);
}

void group_take_stop(struct group *g, const struct xdd_mpi_message *m)
{
	const char *p = m->data;
	uint64_t reason;

	if (m->size != 8)
		return;
	reason = bytes_get(p, 4);
	if (reason != STOP_START && reason != STOP_SIGNAL && reason != STOP_ERROR)
		return;
	if (g->place.rank == 0) {
		pthread_mutex_lock(&g->lock);
		group_put_all(g, TAG_STOP, m->data, m->size);
		pthread_mutex_unlock(&g->lock);
	}
	be_stopped(g, (enum stop_reason)reason, (int)bytes_get(p + 4, 4));
}

/* The rank that says what has happened: the lowest one that is left. */
static bool speaks(const struct group *g, unsigned lost)
{
	return g->place.rank == (lost == 0 ? 1u : 0u) || g->place.rank == lost;
}

static void say_lost(struct group *g, unsigned rank, const char *how)
{
	char line[512];
	int n;

	group_show_log(g, UINT64_MAX);
	n = snprintf(line, sizeof(line), "xdd: rank %u on %s is gone: %s; the run ends\n", rank,
		     g->peers[rank].host, how);
	if (n > 0 && (size_t)n < sizeof(line))
		log_undiverted(line, (size_t)n);
}

void group_break(struct group *g, unsigned rank, const char *how)
{
	char lost[260] = "";
	bool first;

	pthread_mutex_lock(&g->lock);
	first = !g->broken && !(g->ending && !g->leaving);
	if (first) {
		g->broken = true;
		g->lost = rank;
		bytes_put(lost, 4, rank);
		strncat(lost + 4, how, sizeof(lost) - 5);
		group_put_all(g, TAG_LOST, lost, sizeof(lost));
	}
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	if (!first)
		return;
	if (speaks(g, rank))
		say_lost(g, rank, how);
	be_stopped(g, STOP_ERROR, 0);
}

void group_take_lost(struct group *g, const struct xdd_mpi_message *m)
{
	const char *p = m->data;
	uint64_t rank;

	if (m->size != 260 || p[259])
		return;
	rank = bytes_get(p, 4);
	if (rank < g->place.size)
		group_break(g, (unsigned)rank, p + 4);
}
