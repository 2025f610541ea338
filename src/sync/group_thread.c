/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread of a group: it makes all calls of MPI, sends what others have queued, and takes what
 * comes. Started by group_begin(). On rank 0 any thread that has a message calls the log of the
 * group.
 *
 * Numbers in messages between ranks are little-endian; messages of other lengths than expected,
 * and of ranks that do not send them, are ignored.
 */
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sync/group_internal.h"
#include "xdd/base/codec.h"
#include "xdd/base/memory.h"
#include "xdd/sys/clock.h"

#define NAME "xdd: "

void group_log_init(struct group_log *l)
{
	memset(l, 0, sizeof(*l));
	pthread_mutex_init(&l->lock, NULL);
}

static int add(struct group_log *l, unsigned rank, const char *text, size_t size, uint64_t now_ns)
{
	struct group_line *line;

	for (unsigned i = 0; i < l->n; i++) {
		line = &l->lines[i];
		if (strncmp(line->text, text, size) == 0 && !line->text[size] &&
		    line->first != rank && line->last != rank) {
			line->last = rank;
			line->ranks++;
			return 1;
		}
	}
	if (l->n == GROUP_LOG_LINES)
		return 0;
	line = &l->lines[l->n];
	line->text = strndup(text, size);
	/* A line for which there is no memory is lost: there is no better place to say so. */
	if (!line->text)
		return 1;
	line->first = line->last = rank;
	line->ranks = 1;
	if (!l->n++)
		l->since_ns = now_ns;
	return 1;
}

int group_log_add(struct group_log *l, unsigned rank, const char *text, size_t size,
		  uint64_t now_ns)
{
	int done;

	pthread_mutex_lock(&l->lock);
	done = add(l, rank, text, size, now_ns);
	pthread_mutex_unlock(&l->lock);
	return done;
}

static void write_line(FILE *f, const struct group_line *line, unsigned size, const char *host)
{
	const bool named = strncmp(line->text, NAME, strlen(NAME)) == 0;
	const char *rest = named ? line->text + strlen(NAME) : line->text;

	if (line->ranks == 1 && line->first)
		fprintf(f, "%srank %u on %s: %s\n", named ? NAME : "", line->first, host, rest);
	else if (line->ranks == 1)
		fprintf(f, "%s\n", line->text);
	else if (line->ranks == size)
		fprintf(f, "%s (all %u ranks)\n", line->text, size);
	else
		fprintf(f, "%s (%u of %u ranks; one is rank %u on %s)\n", line->text, line->ranks,
			size, line->first, host);
}

char *group_log_take(struct group_log *l, uint64_t now_ns, unsigned size, group_log_host *host,
		     void *arg)
{
	struct memstream m = { 0 };

	pthread_mutex_lock(&l->lock);
	if (l->n && (now_ns == UINT64_MAX || now_ns > l->since_ns + GROUP_LOG_WAIT_NS)) {
		if (memstream_open(&m)) {
			for (unsigned i = 0; i < l->n; i++)
				write_line(m.f, &l->lines[i], size, host(arg, l->lines[i].first));
			if (memstream_close(&m))
				m.text = NULL;
		}
		for (unsigned i = 0; i < l->n; i++)
			free(l->lines[i].text);
		l->n = 0;
	}
	pthread_mutex_unlock(&l->lock);
	return m.text;
}

void group_log_destroy(struct group_log *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->lines[i].text);
	pthread_mutex_destroy(&l->lock);
}

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

/* ---- votes ---- */

size_t group_encode_ballot(char *p, const struct ballot *b)
{
	struct encoder e = enc_begin(p, GROUP_BALLOT_BYTES);

	enc_put(&e, 4, b->votes);
	enc_put(&e, 8, b->pass);
	enc_put(&e, 8, (uint64_t)b->released_ns);
	enc_put(&e, 8, b->bound_ns);
	return enc_end(&e);
}

static bool decode_ballot(struct ballot *b, const struct xdd_mpi_message *m)
{
	struct decoder d = dec_begin(m->data, m->size);
	struct ballot read;

	read.votes = (unsigned)dec_get(&d, 4) & (GROUP_STOP | GROUP_END | GROUP_MORE);
	read.pass = dec_get(&d, 8);
	read.released_ns = (int64_t)dec_get(&d, 8);
	read.bound_ns = dec_get(&d, 8);
	if (dec_end(&d))
		*b = read;
	return dec_end(&d);
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

static void take_log_end(struct group *g, const struct xdd_mpi_message *m)
{
	pthread_mutex_lock(&g->lock);
	g->peers[m->from].has_said_all = true;
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
	struct encoder e = enc_begin(text, sizeof(text));

	enc_put(&e, 8, (uint64_t)offset_ns);
	enc_put(&e, 8, bound_ns);
	pthread_mutex_lock(&g->lock);
	group_put(g, g->pings.rank, TAG_CLOCK, text, sizeof(text));
	pthread_mutex_unlock(&g->lock);
}

/* Send the next question about a clock. Thread of the group, of rank 0. */
static void group_ping(struct group *g)
{
	struct group_pings *p = &g->pings;
	uint64_t bound;
	int64_t offset;

	for (; p->rank < g->place.size; p->rank++, p->done = 0) {
		if (!p->done)
			clock_bounds_init(&p->bounds);
		if (shares_clock(g, p->rank)) {
			tell_clock(g, 0, CLOCK_SAME_MACHINE_NS);
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
	struct decoder d = dec_begin(m->data, m->size);
	const int64_t offset_ns = (int64_t)dec_get(&d, 8);
	const uint64_t bound_ns = dec_get(&d, 8);

	if (!dec_end(&d))
		return;
	pthread_mutex_lock(&g->lock);
	g->clock.offset_ns = offset_ns;
	g->clock.bound_ns = bound_ns;
	g->has_clock = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

/* Act on a message; without the lock. Thread of the group. */
static void group_take(struct group *g, const struct xdd_mpi_message *m)
{
	if (m->from >= g->place.size)
		return;
	pthread_mutex_lock(&g->lock);
	g->peers[m->from].heard_ns = clock_now_ns();
	pthread_mutex_unlock(&g->lock);
	switch ((enum group_tag)m->tag) {
	case TAG_BEAT:
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
	case TAG_LOG_END:
		take_log_end(g, m);
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

#define BEAT_NS (NS_PER_SEC / 2)
/* Ranks of other hosts that are silent for so long are gone. */
#define SILENCE_NS (5 * NS_PER_SEC)
/* MPI needs a few calls to deliver what a process sent before it ended. */
#define LAST_RECEIVES 100
/* This thread did not run for so long, and cannot judge the others by that time. */
#define ASLEEP_NS NS_PER_SEC

/*
 * How often to look while nothing waits, while another rank may end the pass, while a thread waits,
 * and how long to look at once.
 */
#define IDLE_NS (NS_PER_SEC / 20)
#define WALL_NS (NS_PER_SEC / 1000)
#define EAGER_NS 20000
#define SPIN_NS 2000000

static bool is_first(const struct group *g)
{
	return g->place.rank == 0;
}

/* The library does not work: without it, no rank can be reached. */
static void mpi_failed(struct group *g, const char *what)
{
	char how[256];

	snprintf(how, sizeof(how), "%s: %s", what, g->mpi->explain(g->world));
	group_break(g, g->place.rank, how);
}

static void send_queued(struct group *g)
{
	struct outgoing *out, *next;

	pthread_mutex_lock(&g->lock);
	out = g->out;
	g->out = NULL;
	g->out_last = &g->out;
	pthread_mutex_unlock(&g->lock);
	for (; out; out = next) {
		next = out->next;
		if (g->mpi->send(g->world, out->to, out->tag, out->data, out->size) < 0)
			mpi_failed(g, "cannot send");
		free(out);
	}
}

/* True if there was one. */
static bool receive_one(struct group *g)
{
	struct xdd_mpi_message m;
	int got = g->mpi->receive(g->world, &m);

	if (got < 0)
		mpi_failed(g, "cannot receive");
	if (got <= 0)
		return false;
	group_take(g, &m);
	free(m.data);
	return true;
}

/* Begin the call of all ranks. With the lock: its data belong to the thread that waits. */
static int begin_call(struct group *g)
{
	const struct group_call *c = &g->call;

	switch (c->kind) {
	case CALL_BROADCAST:
		return g->mpi->broadcast_begin(g->world, c->data, c->size);
	case CALL_MAX:
		return g->mpi->max_begin(g->world, c->value);
	case CALL_GATHER:
		return g->mpi->gather_begin(g->world, c->data, c->size);
	case CALL_BARRIER:
		break;
	}
	return g->mpi->barrier_begin(g->world);
}

static void end_call(struct group *g, void *received, const uint64_t *sizes)
{
	g->call_running = false;
	pthread_mutex_lock(&g->lock);
	g->call_wanted = false;
	g->call.ended_ns = clock_now_ns();
	g->call.received = received;
	g->call.sizes = sizes;
	/* At once, lest a rank that has left MPI already looks as if it were gone. */
	g->ending |= g->closing;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

static void drive_call(struct group *g)
{
	const uint64_t *sizes = NULL;
	void *received = NULL;
	int err = 0, done;

	pthread_mutex_lock(&g->lock);
	if (g->call_wanted && !g->call_running && !g->broken) {
		err = begin_call(g);
		g->call_running = !err;
	}
	pthread_mutex_unlock(&g->lock);
	if (err)
		mpi_failed(g, "cannot begin a call of all ranks");
	if (!g->call_running)
		return;
	done = g->mpi->call_done(g->world, &received, &sizes);
	if (done < 0)
		mpi_failed(g, "cannot end a call of all ranks");
	if (done > 0)
		end_call(g, received, sizes);
}

static void beat(struct group *g, uint64_t now)
{
	if (now < g->beat_ns + BEAT_NS)
		return;
	g->beat_ns = now;
	pthread_mutex_lock(&g->lock);
	if (is_first(g))
		group_put_all(g, TAG_BEAT, NULL, 0);
	else
		group_put(g, 0, TAG_BEAT, NULL, 0);
	pthread_mutex_unlock(&g->lock);
}

/* The rank that has been silent for too long, or the number of ranks. */
static unsigned silent_rank(struct group *g, uint64_t now)
{
	const unsigned first = is_first(g) ? 1 : 0, end = is_first(g) ? g->place.size : 1;
	const bool slept = now > g->awake_ns + ASLEEP_NS;
	unsigned found = g->place.size;

	pthread_mutex_lock(&g->lock);
	for (unsigned i = first; i < end; i++) {
		if (slept || !g->peers[i].heard_ns)
			g->peers[i].heard_ns = now;
		else if (now > g->peers[i].heard_ns + SILENCE_NS && found == g->place.size)
			found = i;
	}
	pthread_mutex_unlock(&g->lock);
	return found;
}

static void group_thread_watch(struct group *g, uint64_t now)
{
	const unsigned silent = silent_rank(g, now);

	g->awake_ns = now;
	if (silent < g->place.size)
		group_break(g, silent, "it has not been heard of for 5 s");
}

void group_wake(struct group *g)
{
	const uint64_t one = 1;

	/* A counter that is full wakes as well. */
	if (write(g->wake_fd, &one, sizeof(one)) < 0)
		return;
}

/* A rank that ended because another one is gone has named that one. */
static void take_last_words(struct group *g)
{
	for (int i = 0; i < LAST_RECEIVES && !group_is_broken(g); i++) {
		if (!receive_one(g))
			sched_yield();
	}
}

/*
 * Processes have ended: `fds` of the n watches says which. A launcher kills all ranks as soon as
 * one has ended, so that several may be seen at once; nothing then says which was the first.
 */
static void take_ended(struct group *g, const struct pollfd *fds, unsigned n)
{
	unsigned lost = g->place.size;
	char how[256] = "its process has ended";
	size_t used = strlen(how);

	for (unsigned i = n; i-- > 0;) {
		if (fds[i].revents && g->watches[i].rank < lost)
			lost = g->watches[i].rank;
	}
	if (lost == g->place.size)
		return;
	take_last_words(g);
	for (unsigned i = 0; i < n; i++) {
		const unsigned rank = g->watches[i].rank;
		int more;

		if (!fds[i].revents || rank == lost)
			continue;
		more = snprintf(how + used, sizeof(how) - used, ", as has rank %u", rank);
		if (more < 0 || (size_t)more >= sizeof(how) - used) {
			how[used] = '\0';
			break;
		}
		used += (size_t)more;
	}
	group_break(g, lost, how);
}

/* Sleep until there is something to do, a process ends, or `length_ns` are over. */
static void sleep_for(struct group *g, uint64_t length_ns)
{
	const struct timespec length = clock_timespec(length_ns);
	struct pollfd fds[GROUP_WATCHES + 1];
	uint64_t count;
	unsigned n;

	pthread_mutex_lock(&g->lock);
	n = g->broken ? 0 : g->n_watches;
	for (unsigned i = 0; i < n; i++)
		fds[i] = (struct pollfd){ .fd = g->watches[i].fd, .events = POLLIN };
	pthread_mutex_unlock(&g->lock);
	fds[n] = (struct pollfd){ .fd = g->wake_fd, .events = POLLIN };
	if (ppoll(fds, n + 1, &length, NULL) <= 0)
		return;
	if (fds[n].revents && read(g->wake_fd, &count, sizeof(count)) < 0)
		return;
	take_ended(g, fds, n);
}

/* True if the thread is to end. Sleeps, if nothing has happened. */
static bool group_thread_rest(struct group *g, bool busy, uint64_t *spin_until)
{
	uint64_t now = clock_now_ns(), length = IDLE_NS;
	bool ends;

	pthread_mutex_lock(&g->lock);
	if (g->watches_wall)
		length = WALL_NS;
	if (g->waiting)
		length = EAGER_NS;
	if (busy || (g->call_running && now < *spin_until))
		length = 0;
	if (!g->call_running && g->spins)
		*spin_until = now + SPIN_NS;
	ends = g->ending && (!g->out || g->leaving);
	pthread_mutex_unlock(&g->lock);
	if (!length)
		sched_yield();
	else if (!ends)
		sleep_for(g, length);
	return ends;
}

/* Measure the clocks of the others, one after another: the next question, or the end. */
static void begin_pings(struct group *g)
{
	bool begin;

	pthread_mutex_lock(&g->lock);
	begin = g->pings_wanted;
	g->pings_wanted = false;
	pthread_mutex_unlock(&g->lock);
	if (begin)
		group_ping(g);
}

static void group_thread_run(struct group *g)
{
	uint64_t spin_until = 0;
	bool busy;

	do {
		uint64_t now = clock_now_ns();

		beat(g, now);
		begin_pings(g);
		send_queued(g);
		busy = receive_one(g);
		group_call_wall(g);
		drive_call(g);
		group_thread_watch(g, now);
		if (is_first(g))
			group_show_log(g, now);
	} while (!group_thread_rest(g, busy, &spin_until));
}

void *group_main(void *arg)
{
	struct group *g = arg;

	/* Calls of all ranks end when all threads have looked: sleeps must be short. */
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	g->world = g->mpi->begin(&g->place, g->why, sizeof(g->why));
	pthread_mutex_lock(&g->lock);
	g->library = g->world ? g->mpi->library(g->world) : NULL;
	g->began = true;
	pthread_cond_broadcast(&g->changed);
	/* The main thread prepares what the loop needs. */
	while (!g->ready)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
	if (!g->world)
		return NULL;
	g->awake_ns = clock_now_ns();
	group_thread_run(g);
	if (!g->leaving)
		g->mpi->end(g->world);
	return NULL;
}
