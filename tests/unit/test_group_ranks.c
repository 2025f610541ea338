/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ranks of a run as threads of one process, with messages in memory in the place of MPI: what
 * they do together, an error on one of them, and one that is gone.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit.h"

#include "config.h"
#include "sync/group_internal.h"
#include "xdd/base/log.h"

#define RANKS 4
#define ROUNDS 20
#define PART_BYTES 300007 /* more than one message */

/* ---- messages in memory ---- */

struct message {
	struct message *next;
	struct xdd_mpi_message m;
};

/* The data of a rank in a call of all ranks. */
struct sent {
	void *data;
	size_t size;
};

struct xdd_mpi_world {
	unsigned rank;
	unsigned call;	  /* the number of the one that it has begun */
	unsigned arrived; /* the same, as the others see it */
	/* Of the call and the one before it: no other can be in use. */
	struct sent sent[2];
	void *(*receive)(struct xdd_mpi_world *w);
	uint64_t sizes[RANKS]; /* rank 0: of what all have sent */
};

/* All ranks; guarded by `lock`. */
static struct {
	pthread_mutex_t lock;
	unsigned begun;
	struct xdd_mpi_world worlds[RANKS];
	struct message *first[RANKS];
	bool cut[RANKS]; /* no message goes in or out */
	bool old;	 /* the last rank runs another version */
	bool fails;	 /* the last rank cannot gather */
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct xdd_mpi_world *begin(struct xdd_mpi_place *place, char *why, size_t size)
{
	struct xdd_mpi_world *w;

	(void)why;
	(void)size;
	pthread_mutex_lock(&fake.lock);
	w = &fake.worlds[fake.begun];
	*w = (struct xdd_mpi_world){ .rank = fake.begun++ };
	pthread_mutex_unlock(&fake.lock);
	*place = (struct xdd_mpi_place){ .rank = w->rank, .size = RANKS, .ranks_per_node = RANKS };
	return w;
}

static const char *text(struct xdd_mpi_world *w)
{
	(void)w;
	return "threads";
}

static int post(struct xdd_mpi_world *w, unsigned to, int tag, const void *data, size_t size)
{
	struct message *m = calloc(1, sizeof(*m)), **last;
	char *copy = malloc(size + 1);

	if (!m || !copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	m->m = (struct xdd_mpi_message){ w->rank, tag, copy, size };
	pthread_mutex_lock(&fake.lock);
	if (fake.cut[w->rank] || fake.cut[to]) {
		free(copy);
		free(m);
	} else {
		for (last = &fake.first[to]; *last; last = &(*last)->next)
			;
		*last = m;
	}
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

static int receive(struct xdd_mpi_world *w, struct xdd_mpi_message *m)
{
	struct message *first;

	pthread_mutex_lock(&fake.lock);
	first = fake.first[w->rank];
	if (first)
		fake.first[w->rank] = first->next;
	pthread_mutex_unlock(&fake.lock);
	if (!first)
		return 0;
	*m = first->m;
	free(first);
	return 1;
}

static int sent(struct xdd_mpi_world *w)
{
	(void)w;
	return 1;
}

/* ---- calls of all ranks ---- */

static void *copy_of(const void *data, size_t size)
{
	void *copy = calloc(1, size + 1);

	if (!copy)
		abort();
	if (data)
		memcpy(copy, data, size);
	return copy;
}

/* Let data name another version of xdd. */
static void change_version(char *data, size_t size)
{
	char *version = memmem(data, size, PACKAGE_VERSION, strlen(PACKAGE_VERSION));

	if (version)
		*version = 'X';
}

static int call_begin(struct xdd_mpi_world *w, const void *data, size_t size,
		      void *(*receive_data)(struct xdd_mpi_world *))
{
	struct sent *s;

	pthread_mutex_lock(&fake.lock);
	s = &w->sent[++w->call % 2];
	free(s->data);
	*s = (struct sent){ copy_of(data, size), size };
	w->receive = receive_data;
	if (fake.old && w->rank == RANKS - 1)
		change_version(s->data, size);
	if (!fake.cut[w->rank])
		w->arrived = w->call;
	pthread_mutex_unlock(&fake.lock);
	return 0;
}

/* The data of rank `from` in the call of `w`. */
static const struct sent *sent_by(const struct xdd_mpi_world *w, unsigned from)
{
	return &fake.worlds[from].sent[w->call % 2];
}

static void *receive_nothing(struct xdd_mpi_world *w)
{
	(void)w;
	return NULL;
}

static void *receive_first(struct xdd_mpi_world *w)
{
	const struct sent *s = sent_by(w, 0);

	return copy_of(s->data, s->size);
}

static void *receive_greatest(struct xdd_mpi_world *w)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < RANKS; i++) {
		const uint64_t *value = sent_by(w, i)->data;

		most = *value > most ? *value : most;
	}
	return copy_of(&most, sizeof(most));
}

static size_t bytes_in(size_t size)
{
	return (size / XDD_MPI_UNIT + 1) * XDD_MPI_UNIT;
}

static void *receive_all(struct xdd_mpi_world *w)
{
	size_t bytes = 0;
	char *all, *at;

	for (unsigned i = 0; i < RANKS; i++) {
		w->sizes[i] = sent_by(w, i)->size;
		bytes += bytes_in(w->sizes[i]);
	}
	at = all = copy_of(NULL, bytes);
	for (unsigned i = 0; i < RANKS; i++) {
		memcpy(at, sent_by(w, i)->data, w->sizes[i]);
		at += bytes_in(w->sizes[i]);
	}
	return all;
}

static int barrier_begin(struct xdd_mpi_world *w)
{
	return call_begin(w, NULL, 0, receive_nothing);
}

static int broadcast_begin(struct xdd_mpi_world *w, const void *data, size_t size)
{
	return call_begin(w, data, size, receive_first);
}

static int max_begin(struct xdd_mpi_world *w, uint64_t value)
{
	return call_begin(w, &value, sizeof(value), receive_greatest);
}

static int gather_begin(struct xdd_mpi_world *w, const void *data, size_t size)
{
	if (fake.fails && w->rank == RANKS - 1)
		return -1;
	return call_begin(w, data, size, w->rank ? receive_nothing : receive_all);
}

static int call_done(struct xdd_mpi_world *w, void **data, const uint64_t **sizes)
{
	bool done = true;

	pthread_mutex_lock(&fake.lock);
	for (unsigned i = 0; i < RANKS; i++)
		done &= fake.worlds[i].arrived >= w->call;
	if (done)
		*data = w->receive(w);
	*sizes = w->sizes;
	pthread_mutex_unlock(&fake.lock);
	return done;
}

static void end(struct xdd_mpi_world *w)
{
	(void)w;
}

/* In the place of group_plugin.c. */
const struct xdd_mpi *group_load(void)
{
	static const struct xdd_mpi mpi = {
		.abi = XDD_MPI_ABI,
		.bytes = sizeof(mpi),
		.begin = begin,
		.library = text,
		.explain = text,
		.send = post,
		.receive = receive,
		.sent = sent,
		.barrier_begin = barrier_begin,
		.broadcast_begin = broadcast_begin,
		.max_begin = max_begin,
		.gather_begin = gather_begin,
		.call_done = call_done,
		.end = end,
	};

	return &mpi;
}

bool group_launched(unsigned *rank, unsigned *size)
{
	*rank = 0;
	*size = 1;
	return false;
}

/* ---- ranks ---- */

/* A rank does something and says whether all went as it should. */
struct rank {
	pthread_t thread;
	bool (*act)(struct group *g);
	bool good;
};

static void *rank_main(void *arg)
{
	struct rank *r = arg;
	struct group *g;

	if (group_begin(&g) != XDD_OK)
		return NULL;
	r->good = r->act(g);
	group_end(g);
	return NULL;
}

static void start_all(struct rank *ranks, void *(*begin_at)(void *), bool (*what)(struct group *g))
{
	fake.begun = 0;
	memset(fake.worlds, 0, sizeof(fake.worlds));
	memset(fake.cut, 0, sizeof(fake.cut));
	for (unsigned i = 0; i < RANKS; i++) {
		ranks[i] = (struct rank){ .act = what };
		assert_int_equal(pthread_create(&ranks[i].thread, NULL, begin_at, &ranks[i]), 0);
	}
	for (unsigned i = 0; i < RANKS; i++)
		pthread_join(ranks[i].thread, NULL);
	for (unsigned i = 0; i < RANKS; i++) {
		struct xdd_mpi_message m;

		while (receive(&fake.worlds[i], &m))
			free(m.data);
		free(fake.worlds[i].sent[0].data);
		free(fake.worlds[i].sent[1].data);
	}
}

/* All ranks do it. */
static void act(bool (*what)(struct group *g))
{
	struct rank ranks[RANKS];

	start_all(ranks, rank_main, what);
	for (unsigned i = 0; i < RANKS; i++)
		assert_true(ranks[i].good);
}

/* ---- what they do ---- */

static atomic_uint entered;

/* No rank leaves a barrier that another one has not entered. */
static bool meet(struct group *g)
{
	bool good = group_size(g) == RANKS && group_ranks_per_node(g) == RANKS;

	for (unsigned i = 1; i <= ROUNDS; i++) {
		uint64_t in, out;

		atomic_fetch_add(&entered, 1);
		good &= group_barrier(g, &in, &out) == 0 && in <= out;
		good &= atomic_load(&entered) >= i * RANKS;
	}
	return good;
}

TEST(test_barrier)
{
	atomic_store(&entered, 0);
	act(meet);
	assert_int_equal(atomic_load(&entered), ROUNDS * RANKS);
}

static size_t bytes_of(unsigned rank, unsigned round)
{
	static const size_t sizes[] = { 0, 1, 4096, PART_BYTES };

	return sizes[(rank + round) % 4];
}

static bool is_filled(const char *data, size_t size, unsigned rank)
{
	for (size_t i = 0; i < size; i++)
		if (data[i] != (char)(i * 7 + rank))
			return false;
	return true;
}

static bool gather(struct group *g)
{
	const unsigned rank = group_rank(g);
	char *data = malloc(PART_BYTES);
	bool good = data != NULL;

	for (size_t i = 0; good && i < PART_BYTES; i++)
		data[i] = (char)(i * 7 + rank);
	for (unsigned round = 0; good && round < 8; round++) {
		struct group_piece pieces[RANKS] = { { .size = 0 } };

		good &= group_gather(g, data, bytes_of(rank, round), pieces) == 0;
		for (unsigned i = 0; good && !rank && i < RANKS; i++)
			good &= pieces[i].size == bytes_of(i, round) &&
				is_filled(pieces[i].data, pieces[i].size, i) &&
				!pieces[i].data[pieces[i].size];
		free(pieces[0].data);
	}
	free(data);
	return good;
}

TEST(test_gather)
{
	act(gather);
}

static bool broadcast(struct group *g)
{
	const unsigned rank = group_rank(g);
	char *data = calloc(1, PART_BYTES);
	bool good = data != NULL;
	uint64_t most = 1000 + rank;

	for (size_t i = 0; good && !rank && i < PART_BYTES; i++)
		data[i] = (char)(i * 7 + 9);
	good = good && group_broadcast(g, data, PART_BYTES) == 0 && is_filled(data, PART_BYTES, 9);
	free(data);
	return good && group_max(g, &most) == 0 && most == 1000 + RANKS - 1;
}

TEST(test_broadcast)
{
	act(broadcast);
}

/* The decision is the union, and one that has left counts with its last word. */
static bool vote(struct group *g)
{
	const unsigned rank = group_rank(g);
	unsigned all = 0;
	bool good = group_vote(g, rank == 1 ? GROUP_MORE : 0, &all) == 0 && all == GROUP_MORE;

	if (rank == 3)
		group_leave(g, GROUP_END);
	else
		good &= group_vote(g, 0, &all) == 0 && all == GROUP_END;
	return good;
}

TEST(test_vote)
{
	act(vote);
}

struct stops {
	atomic_uint n;
	atomic_int reason, detail;
};

static void await_stop(struct stops *s)
{
	const struct timespec ms = { 0, 1000000 };

	while (!atomic_load(&s->n))
		nanosleep(&ms, NULL);
}

static void be_stopped(void *arg, enum stop_reason reason, int detail)
{
	struct stops *s = arg;

	atomic_store(&s->reason, (int)reason);
	atomic_store(&s->detail, detail);
	atomic_fetch_add(&s->n, 1);
}

/* An error on one rank stops all, and they still meet. Later reasons change nothing. */
static bool stop_all(struct group *g)
{
	struct stops s = { .n = 0 };
	unsigned all = 0;
	bool good;

	group_on_stop(g, be_stopped, &s);
	if (group_rank(g) == 2) {
		group_stop(g, STOP_ERROR, 5);
		group_stop(g, STOP_SIGNAL, 6);
	}
	if (group_rank(g) != 2)
		await_stop(&s);
	good = group_vote(g, GROUP_STOP, &all) == 0 && all == GROUP_STOP &&
	       group_barrier(g, NULL, NULL) == 0;
	group_on_stop(g, NULL, NULL);
	if (group_rank(g) == 2)
		return good && atomic_load(&s.n) == 0;
	/* A stop that comes while it is registered may be told twice. */
	return good && atomic_load(&s.n) >= 1 && atomic_load(&s.reason) == STOP_ERROR &&
	       atomic_load(&s.detail) == 5;
}

TEST(test_error)
{
	act(stop_all);
}

/* One rank is not heard of any more: no wait lasts, and all runs are stopped. */
static bool lose(struct group *g)
{
	struct stops s = { .n = 0 };
	char data[8] = "";
	unsigned all = 0;
	bool good;

	group_on_stop(g, be_stopped, &s);
	good = group_barrier(g, NULL, NULL) == 0;
	if (group_rank(g) == 3) {
		pthread_mutex_lock(&fake.lock);
		fake.cut[3] = true;
		pthread_mutex_unlock(&fake.lock);
	}
	good &= group_barrier(g, NULL, NULL) == -ECONNABORTED && group_is_broken(g) &&
		group_vote(g, 0, &all) == -ECONNABORTED &&
		group_broadcast(g, data, sizeof(data)) == -ECONNABORTED;
	await_stop(&s);
	group_on_stop(g, NULL, NULL);
	return good && atomic_load(&s.n) == 1 && atomic_load(&s.reason) == STOP_ERROR;
}

TEST(test_lost)
{
	act(lose);
}

static atomic_uint told; /* messages about the version */

/* A thread that has no processor for a while. */
static void tell_slowly(void *arg, const char *line, size_t size)
{
	static const char wanted[] = "-mpi: rank 3 on ";
	const struct timespec pause = { .tv_nsec = 100000000 };

	(void)arg;
	nanosleep(&pause, NULL);
	if (memmem(line, size, wanted, strlen(wanted)))
		atomic_fetch_add(&told, 1);
}

static void *refused_main(void *arg)
{
	struct rank *r = arg;
	struct group *g;

	r->good = group_begin(&g) != XDD_OK && atomic_load(&told) == 1;
	return NULL;
}

/* A launcher may end all ranks once one has ended: by then, rank 0 has said why. */
TEST(test_versions)
{
	struct rank ranks[RANKS];

	fake.old = true;
	log_divert(tell_slowly, NULL);
	/* As in a process whose words are not read yet. */
	log_hold();
	start_all(ranks, refused_main, NULL);
	log_release();
	log_divert(NULL, NULL);
	fake.old = false;
	for (unsigned i = 0; i < RANKS; i++)
		assert_true(ranks[i].good);
	assert_int_equal(atomic_load(&told), 1);
}

static void *failing_main(void *arg)
{
	struct rank *r = arg;
	struct group *g;

	r->good = group_begin(&g) != XDD_OK;
	return NULL;
}

/* An error of MPI on one rank ends the run of all at once. */
TEST(test_call_fails)
{
	struct rank ranks[RANKS];

	fake.fails = true;
	start_all(ranks, failing_main, NULL);
	fake.fails = false;
	for (unsigned i = 0; i < RANKS; i++)
		assert_true(ranks[i].good);
}

RUN_TESTS(NULL, NULL)
