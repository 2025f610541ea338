/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ranks of a run: their beginning and end, and what is known of them. Called by the command
 * that runs a plan, by the thread of the group, and by all threads with a message.
 */
#include "xdd/sync/group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config.h"
#include "sync/group_internal.h"
#include "xdd/base/codec.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/sysfile.h"

/*
 * How a group ends: ranks that are gone, ranks that stop their run, and the messages for the
 * reader on their way to rank 0.
 */

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

static void group_end_forward(struct group *g, const char *text, size_t size)
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
		group_end_forward(g, text, size);
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
	struct decoder d = dec_begin(m->data, m->size);
	const uint64_t reason = dec_get(&d, 4);
	const int detail = (int)dec_get(&d, 4);

	if (!dec_end(&d))
		return;
	if (reason != STOP_START && reason != STOP_SIGNAL && reason != STOP_ERROR)
		return;
	if (g->place.rank == 0) {
		pthread_mutex_lock(&g->lock);
		group_put_all(g, TAG_STOP, m->data, m->size);
		pthread_mutex_unlock(&g->lock);
	}
	be_stopped(g, (enum stop_reason)reason, detail);
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
	/* Before the ranks have met, each knows its own host only. */
	n = snprintf(line, sizeof(line), "xdd: rank %u%s%s is gone: %s; the run ends\n", rank,
		     *g->peers[rank].host ? " on " : "", g->peers[rank].host, how);
	if (n > 0 && (size_t)n < sizeof(line))
		log_undiverted(line, (size_t)n);
}

/* A rank, and a text. */
#define LOST_BYTES 260

void group_break(struct group *g, unsigned rank, const char *how)
{
	char lost[LOST_BYTES];
	struct encoder e = enc_begin(lost, sizeof(lost));
	const size_t text = text_bytes(how, LOST_BYTES - 4);
	bool first;

	pthread_mutex_lock(&g->lock);
	first = !g->broken && !(g->ending && !g->leaving);
	if (first) {
		g->broken = true;
		g->lost = rank;
		enc_put(&e, 4, rank);
		enc_text(&e, how, text);
		enc_zeros(&e, LOST_BYTES - 4 - text);
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
	struct decoder d = dec_begin(m->data, m->size);
	const uint64_t rank = dec_get(&d, 4);
	const uint8_t *how = dec_take(&d, LOST_BYTES - 4);

	if (dec_end(&d) && !how[LOST_BYTES - 5] && rank < g->place.size)
		group_break(g, (unsigned)rank, (const char *)how);
}

/* Clocks that follow a time server may differ by 500 ppm at most. */
#define DRIFT_NS_PER_SECOND 500000

/* ---- what is known ---- */

unsigned group_rank(const struct group *g)
{
	return g ? g->place.rank : 0;
}

unsigned group_size(const struct group *g)
{
	return g ? g->place.size : 1;
}

unsigned group_ranks_per_node(const struct group *g)
{
	return g ? g->place.ranks_per_node : 1;
}

const char *group_host(const struct group *g, unsigned rank)
{
	return g->peers[rank].host;
}

const char *group_library(const struct group *g)
{
	return g->library;
}

struct group_clock group_clock(const struct group *g)
{
	struct group_clock c = g->clock;

	/* Ranks on one machine have one clock. */
	if (c.bound_ns > CLOCK_SAME_MACHINE_NS)
		c.bound_ns += (clock_now_ns() - g->clock_ns) / NS_PER_SEC * DRIFT_NS_PER_SECOND;
	return c;
}

int64_t group_wall_ns(const struct group *g)
{
	return g->wall_ns;
}

/* ---- the beginning ---- */

#define ROSTER_BYTES (GROUP_HOST_SIZE + GROUP_BOOT_SIZE + GROUP_VERSION_SIZE + 24)

static uint64_t namespace_number(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

static void describe_self(struct peer *p)
{
	char line[GROUP_BOOT_SIZE] = "", *boot;

	gethostname(p->host, sizeof(p->host) - 1);
	boot = sysfile_line("/proc/sys/kernel/random/boot_id", line, sizeof(line));
	snprintf(p->boot, sizeof(p->boot), "%.39s", boot ? boot : p->host);
	snprintf(p->version, sizeof(p->version), "%s", PACKAGE_VERSION);
	p->pid = (uint64_t)getpid();
	p->pid_ns = namespace_number("/proc/self/ns/pid");
	p->time_ns = namespace_number("/proc/self/ns/time");
}

static void encode_peer(char *to, const struct peer *p)
{
	struct encoder e = enc_begin(to, ROSTER_BYTES);

	enc_bytes(&e, p->host, sizeof(p->host));
	enc_bytes(&e, p->boot, sizeof(p->boot));
	enc_bytes(&e, p->version, sizeof(p->version));
	enc_put(&e, 8, p->pid);
	enc_put(&e, 8, p->pid_ns);
	enc_put(&e, 8, p->time_ns);
}

static void decode_peer(struct peer *p, const char *from)
{
	struct decoder d = dec_begin(from, ROSTER_BYTES);

	dec_bytes(&d, p->host, sizeof(p->host));
	dec_bytes(&d, p->boot, sizeof(p->boot));
	dec_bytes(&d, p->version, sizeof(p->version));
	/* A text of another rank may lack its end. */
	p->host[sizeof(p->host) - 1] = '\0';
	p->boot[sizeof(p->boot) - 1] = '\0';
	p->version[sizeof(p->version) - 1] = '\0';
	p->pid = dec_get(&d, 8);
	p->pid_ns = dec_get(&d, 8);
	p->time_ns = dec_get(&d, 8);
}

/* Rank 0 joins the entries of all ranks. Returns 0 or -errno. */
static int join_roster(struct group *g, char *roster)
{
	struct group_piece *pieces = calloc(g->place.size, sizeof(*pieces));
	char mine[ROSTER_BYTES] = "";
	int err = pieces ? 0 : -ENOMEM;

	encode_peer(mine, &g->peers[g->place.rank]);
	if (!err)
		err = group_gather(g, mine, sizeof(mine), pieces);
	for (unsigned i = 0; pieces && i < g->place.size; i++) {
		if (!err && g->place.rank == 0 && pieces[i].size == ROSTER_BYTES)
			memcpy(roster + (size_t)i * ROSTER_BYTES, pieces[i].data, ROSTER_BYTES);
	}
	if (pieces)
		free(pieces[0].data);
	free(pieces);
	return err;
}

static int group_meet(struct group *g)
{
	const size_t bytes = (size_t)g->place.size * ROSTER_BYTES;
	char *roster = calloc(1, bytes);
	int err = roster ? join_roster(g, roster) : -ENOMEM;

	if (!err)
		err = group_broadcast(g, roster, bytes);
	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; !err && i < g->place.size; i++)
		decode_peer(&g->peers[i], roster + (size_t)i * ROSTER_BYTES);
	pthread_mutex_unlock(&g->lock);
	free(roster);
	return err;
}

/* The kernel says when a rank on this host ends. Each watches those that follow it. */
static void watch_others(struct group *g)
{
	const struct peer *self = &g->peers[g->place.rank];
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	long here = 1;

	for (unsigned i = 1; i < g->place.size; i++) {
		const unsigned rank = (g->place.rank + i) % g->place.size;
		const struct peer *p = &g->peers[rank];
		struct watch *watch;

		if (strcmp(p->boot, self->boot) != 0)
			continue;
		here++;
		if (p->pid_ns != self->pid_ns || g->n_watches == GROUP_WATCHES)
			continue;
		pthread_mutex_lock(&g->lock);
		watch = &g->watches[g->n_watches];
		watch->rank = rank;
		watch->fd = (int)syscall(SYS_pidfd_open, (pid_t)p->pid, 0);
		g->n_watches += watch->fd >= 0;
		pthread_mutex_unlock(&g->lock);
	}
	pthread_mutex_lock(&g->lock);
	g->spins = here <= processors;
	pthread_mutex_unlock(&g->lock);
}

static int measure_clocks(struct group *g)
{
	char text[8];
	int err = 0;

	pthread_mutex_lock(&g->lock);
	g->pings.rank = 1;
	g->pings_wanted = g->place.rank == 0;
	g->waiting++;
	group_wake(g);
	while (!g->has_clock && !g->broken)
		pthread_cond_wait(&g->changed, &g->lock);
	g->waiting--;
	if (g->broken)
		err = -ECONNABORTED;
	pthread_mutex_unlock(&g->lock);
	bytes_put(text, 8, (uint64_t)clock_wall_offset_ns());
	if (!err)
		err = group_broadcast(g, text, sizeof(text));
	g->wall_ns = bytes_get_signed(text, 8);
	g->clock_ns = clock_now_ns();
	return err;
}

/*
 * All ranks must run one version. Rank 0 names the first that does not; the others end after it, as
 * a launcher may end all ranks once one has ended.
 */
static enum xdd_status check_versions(struct group *g)
{
	unsigned i = 1;

	while (i < g->place.size && strcmp(g->peers[i].version, g->peers[0].version) == 0)
		i++;
	if (i >= g->place.size)
		return XDD_OK;
	if (g->place.rank == 0) {
		log_error("-mpi: rank %u on %s runs xdd %s, rank 0 on %s xdd %s; install "
			  "one version on all hosts",
			  i, g->peers[i].host, g->peers[i].version, g->peers[0].host,
			  g->peers[0].version);
		/* The words that may name a file for messages are not read after this. */
		log_release();
	}
	group_barrier(g, NULL, NULL);
	return XDD_INIT_FAILED;
}

/* Lines of this process that are for the reader. */
static void divert(void *arg, const char *text, size_t size)
{
	struct group *g = arg;

	while (size) {
		const char *end = memchr(text, '\n', size);
		const size_t n = end ? (size_t)(end - text) : size;

		if (n)
			group_log_line(g, g->place.rank, text, n);
		text += end ? n + 1 : n;
		size -= end ? n + 1 : n;
	}
}

static struct group *group_new(const struct xdd_mpi *mpi)
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->mpi = mpi;
	g->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (g->wake_fd < 0) {
		free(g);
		return NULL;
	}
	g->out_last = &g->out;
	pthread_mutex_init(&g->lock, NULL);
	pthread_mutex_init(&g->stop_lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	group_log_init(&g->log);
	g->skews = calloc(GROUP_SKEWS, sizeof(*g->skews));
	return g;
}

static void group_free(struct group *g)
{
	while (g->out) {
		struct outgoing *out = g->out;

		g->out = out->next;
		free(out);
	}
	for (unsigned i = 0; i < g->n_watches; i++)
		close(g->watches[i].fd);
	close(g->wake_fd);
	group_log_destroy(&g->log);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->stop_lock);
	pthread_mutex_destroy(&g->lock);
	free(g->call.received);
	free(g->skews);
	free(g->peers);
	free(g);
}

/* Start the thread, and MPI in it. */
static enum xdd_status group_start(struct group *g)
{
	struct err why;
	int err = thread_start(&g->thread, group_main, g);

	if (err)
		return log_fail(XDD_INIT_FAILED, "-mpi: %s", thread_error(err, &why));
	pthread_mutex_lock(&g->lock);
	while (!g->began)
		pthread_cond_wait(&g->changed, &g->lock);
	g->peers = calloc(g->place.size ? g->place.size : 1, sizeof(*g->peers));
	/* Without memory the thread ends at once. */
	if (!g->peers)
		g->ending = g->leaving = true;
	else if (g->library)
		describe_self(&g->peers[g->place.rank]);
	g->ready = true;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	if (g->library && g->peers)
		return XDD_OK;
	log_error("-mpi: MPI does not start: %s", g->library ? strerror(ENOMEM) : g->why);
	pthread_join(g->thread, NULL);
	return XDD_INIT_FAILED;
}

/* A launcher of another MPI starts processes that do not know of each other. */
static enum xdd_status check_launcher(const struct group *g)
{
	unsigned rank, size;

	if (g->place.size > 1 || !group_launched(&rank, &size))
		return XDD_OK;
	return log_fail(XDD_INIT_FAILED,
			"-mpi: the launcher has started %u processes, and MPI sees one: the plugin "
			"was built with %s; use the launcher of that MPI (with srun: --mpi=pmix or "
			"--mpi=pmi2)",
			size, g->library);
}

/* End the thread without MPI's end: other ranks do not answer. */
static void leave(struct group *g)
{
	pthread_mutex_lock(&g->lock);
	g->ending = g->leaving = true;
	group_wake(g);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->thread, NULL);
}

/* Ranks that end because another one is gone leave the message to rank 0. */
static void say_not_met(const struct group *g, int err)
{
	if (g->place.rank == 0)
		log_error("-mpi: the ranks cannot meet: %s", strerror(-err));
	else if (err != -ECONNABORTED)
		log_error("-mpi: rank %u on %s: the ranks cannot meet: %s", g->place.rank,
			  group_host(g, g->place.rank), strerror(-err));
}

static enum xdd_status join_all(struct group *g)
{
	enum xdd_status status = check_launcher(g);
	int err;

	if (status)
		return status;
	err = group_meet(g);
	if (!err)
		err = measure_clocks(g);
	if (err) {
		say_not_met(g, err);
		return XDD_INIT_FAILED;
	}
	/* Ranks that end for their version are not reported as lost. */
	status = check_versions(g);
	if (!status)
		watch_others(g);
	return status;
}

enum xdd_status group_begin(struct group **out)
{
	const struct xdd_mpi *mpi;
	struct group *g;
	enum xdd_status status;

	*out = NULL;
	mpi = group_load();
	g = mpi ? group_new(mpi) : NULL;
	if (mpi && !g)
		log_error("-mpi: no memory, or no file descriptor");
	status = g ? group_start(g) : XDD_INIT_FAILED;
	if (status) {
		if (g)
			group_free(g);
		return status;
	}
	status = join_all(g);
	if (status) {
		leave(g);
		group_free(g);
		return status;
	}
	log_divert(divert, g);
	*out = g;
	return XDD_OK;
}

/* ---- the end ---- */

/* Tell rank 0 that there are no more lines; there, wait for the last line of each rank. */
static void end_lines(struct group *g)
{
	pthread_mutex_lock(&g->lock);
	g->waiting++;
	group_wake(g);
	if (g->place.rank)
		group_put(g, 0, TAG_LOG_END, NULL, 0);
	for (unsigned i = 1; !g->place.rank && i < g->place.size; i++) {
		while (!g->peers[i].has_said_all && !g->broken)
			pthread_cond_wait(&g->changed, &g->lock);
	}
	g->waiting--;
	pthread_mutex_unlock(&g->lock);
}

void group_end(struct group *g)
{
	bool broken;

	if (!g)
		return;
	end_lines(g);
	if (g->place.rank == 0)
		group_show_log(g, UINT64_MAX);
	log_divert(NULL, NULL);
	pthread_mutex_lock(&g->lock);
	g->closing = true;
	pthread_mutex_unlock(&g->lock);
	broken = group_barrier(g, NULL, NULL) < 0;
	if (broken)
		leave(g);
	else
		pthread_join(g->thread, NULL);
	group_free(g);
}
