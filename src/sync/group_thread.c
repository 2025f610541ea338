/*
 * The thread of a group: it makes all calls of MPI, sends what others have queued, and takes what
 * comes. Started by group_begin().
 */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sync/group_internal.h"
#include "xdd/sys/clock.h"

#define BEAT_NS (NS_PER_SEC / 2)
/* Ranks of other hosts that are silent for so long are gone. */
#define SILENCE_NS (5 * NS_PER_SEC)
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

static void drive_barrier(struct group *g)
{
	bool begin;
	int done;

	pthread_mutex_lock(&g->lock);
	begin = g->barrier_wanted && !g->barrier_running;
	pthread_mutex_unlock(&g->lock);
	if (begin) {
		g->barrier_running = true;
		if (g->mpi->barrier_begin(g->world) < 0)
			mpi_failed(g, "cannot begin a barrier");
	}
	if (!g->barrier_running)
		return;
	done = g->mpi->barrier_done(g->world);
	if (done < 0)
		mpi_failed(g, "cannot end a barrier");
	if (done <= 0)
		return;
	g->barrier_running = false;
	pthread_mutex_lock(&g->lock);
	g->barrier_wanted = false;
	g->barrier_left_ns = clock_now_ns();
	/* At once, lest a rank that has left MPI already looks as if it were gone. */
	g->ending |= g->closing;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
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

static void watch(struct group *g, uint64_t now)
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
static bool rest(struct group *g, bool busy, uint64_t *spin_until)
{
	uint64_t now = clock_now_ns(), length = IDLE_NS;
	bool ends;

	pthread_mutex_lock(&g->lock);
	if (g->watches_wall)
		length = WALL_NS;
	if (g->waiting)
		length = EAGER_NS;
	if (busy || (g->barrier_running && now < *spin_until))
		length = 0;
	if (!g->barrier_running && g->spins)
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

static void run(struct group *g)
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
		drive_barrier(g);
		watch(g, now);
		if (is_first(g))
			group_show_log(g, now);
	} while (!rest(g, busy, &spin_until));
}

void *group_main(void *arg)
{
	struct group *g = arg;

	/* Short sleeps are to be short: barriers end when all threads have looked. */
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
	run(g);
	if (!g->leaving)
		g->mpi->end(g->world);
	return NULL;
}
