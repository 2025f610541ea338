/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linkemu: a network link between two TAP devices, with a delay, a rate and faults. For tests of
 * programs that use a network; the kernel of the usual test machine has no netem. It needs root.
 *
 *     linkemu NETNS:DEVICE NETNS:DEVICE [[a:|b:]NAME=VALUE...]
 *
 * It creates each DEVICE in the network namespace /run/netns/NETNS, prints "ready", and moves
 * Ethernet frames between them until its standard input ends; the devices go away with it. Settings
 * apply to both directions: those with "a:" to frames that the first device sends, those with "b:"
 * to frames of the second.
 *
 *     delay=MS      from one end to the other
 *     jitter=MS     is added to the delay or subtracted, uniform; frames stay in order
 *     rate=MBIT     in Mbit/s of Ethernet frames without checksum and preamble; 0: no limit
 *     queue=MS      with a rate: a frame that would wait longer is dropped (default 50)
 *     loss=CHANCE   frames that are dropped
 *     reorder=CHANCE, late=MS
 *                   frames that are late by that much (default 1), so that others overtake them
 *     duplicate=CHANCE
 *                   frames that arrive twice
 *     corrupt=CHANCE, fix=0|1
 *                   TCP segments with data in which one bit of the data is inverted; with fix=1 the
 *                   checksum is corrected, so that only the program can notice
 *     cut=SECONDS   nothing passes from now on, for so long: 0 ends it, "inf" is for good
 *     seed=N        of the random numbers
 *
 * CHANCE is a percentage, for each frame, or 1/N: every N-th. The same seed gives the n-th frame of
 * a direction the same fate. A line of settings on standard input changes them and is answered by
 * "ok" or "error"; the line "counters" by the counters of both directions as JSON, which are also
 * printed at the end; the line "fates" by [arrival, due, length] of the latest 256 frames that were
 * put in transit in each direction, with CLOCK_MONOTONIC in nanoseconds. Frames are late by up to
 * twice GRAIN_NS, so that not every frame costs a wake-up.
 *
 * The main thread reads settings; each direction has a thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "linkemu.h"

#define BATCH 256
#define GRAIN_NS 100000u

static const char *const counter_names[COUNTERS] = {
	"received",   "received_bytes", "sent",	      "sent_bytes", "lost",    "reordered",
	"duplicated", "corrupted",	"queue_full", "cut",	    "refused",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct direction directions[2];
static int ending; /* an eventfd */

/* ---- a direction ---- */

/* Read what there is. Returns false when the device is gone. */
static bool receive(struct direction *d, struct frame *f)
{
	for (int i = 0; i < BATCH; i++) {
		ssize_t n = read(d->from, f->data, FRAME_MAX);

		/* EIO: the device is down for now. */
		if (n < 0)
			return errno == EAGAIN || errno == EINTR || errno == EIO;
		f->length = (size_t)n;
		arrive(d, f, now_ns());
	}
	return true;
}

/* Returns false when the program is to end. */
static bool wait_for_frame(struct direction *d, uint64_t woken_ns)
{
	struct pollfd fds[] = { { .fd = d->from, .events = POLLIN },
				{ .fd = ending, .events = POLLIN } };
	uint64_t now = now_ns(), wait_ns;
	struct timespec ts = { 0 };

	/* Under load, a wake-up is for all frames of an interval. */
	if (d->n_heap && now - woken_ns < GRAIN_NS) {
		ts = (struct timespec){ .tv_nsec = (long)(GRAIN_NS - (now - woken_ns)) };
		nanosleep(&ts, NULL);
		now = now_ns();
	}
	if (d->n_heap) {
		wait_ns = d->heap[0]->due_ns > now ? d->heap[0]->due_ns - now : 0;
		ts.tv_sec = (time_t)(wait_ns / 1000000000u);
		ts.tv_nsec = (long)(wait_ns % 1000000000u);
	}
	/* A device that is down reports an error at once: look again from time to time. */
	if (ppoll(fds, 2, d->n_heap ? &ts : NULL, NULL) > 0 &&
	    fds[0].revents & (POLLERR | POLLHUP)) {
		ts = (struct timespec){ .tv_nsec = 1000000 };
		nanosleep(&ts, NULL);
	}
	return !(fds[1].revents & POLLIN);
}

static void *move_frames(void *arg)
{
	struct direction *d = arg;
	struct frame *f = malloc(sizeof(*f) + FRAME_MAX);
	uint64_t woken_ns = 0;

	while (f && wait_for_frame(d, woken_ns)) {
		woken_ns = now_ns();
		pthread_mutex_lock(&lock);
		d->now = d->set;
		pthread_mutex_unlock(&lock);
		if (!receive(d, f))
			break;
		send_due(d, now_ns());
		pthread_mutex_lock(&lock);
		memcpy(d->published, d->counters, sizeof(d->published));
		memcpy(d->published_fates, d->fates, sizeof(d->published_fates));
		d->n_published = d->n_fates;
		pthread_mutex_unlock(&lock);
	}
	free(f);
	drop_all(d);
	return NULL;
}

/* ---- settings ---- */

static bool parse_number(const char *text, double *to)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0))
		return false;
	*to = value;
	return true;
}

static bool parse_chance(const char *text, struct chance *to)
{
	double value;

	if (strncmp(text, "1/", 2) == 0) {
		if (!parse_number(text + 2, &value) || value < 1 || value > 1e15)
			return false;
		*to = (struct chance){ .every = (uint64_t)value };
		return true;
	}
	if (!parse_number(text, &value) || value > 100)
		return false;
	*to = (struct chance){ .percent = value };
	return true;
}

static bool parse_setting(struct settings *s, const char *name, const char *value)
{
	struct {
		const char *name;
		double *number;
		struct chance *chance;
	} const known[] = {
		{ "delay", &s->delay_ms, NULL },  { "jitter", &s->jitter_ms, NULL },
		{ "rate", &s->rate_mbit, NULL },  { "queue", &s->queue_ms, NULL },
		{ "late", &s->late_ms, NULL },	  { "fix", &s->fix, NULL },
		{ "seed", &s->seed, NULL },	  { "loss", NULL, &s->loss },
		{ "reorder", NULL, &s->reorder }, { "duplicate", NULL, &s->duplicate },
		{ "corrupt", NULL, &s->corrupt },
	};
	double seconds;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(name, known[i].name) != 0)
			continue;
		if (known[i].chance)
			return parse_chance(value, known[i].chance);
		return parse_number(value, known[i].number) && *known[i].number < 1e9;
	}
	if (strcmp(name, "cut") != 0 || !parse_number(value, &seconds))
		return false;
	s->cut_until_ns = seconds < 1e9 ? now_ns() + (uint64_t)(seconds * 1e9) : UINT64_MAX;
	return true;
}

/* A word that sets something in one direction or both. It is changed. */
static bool apply_word(char *word)
{
	int only = -1;
	char *value;
	bool good = true;

	if ((word[0] == 'a' || word[0] == 'b') && word[1] == ':') {
		only = word[0] - 'a';
		word += 2;
	}
	value = strchr(word, '=');
	if (!value)
		return false;
	*value++ = '\0';
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 2; i++)
		if (only < 0 || only == i)
			good = good && parse_setting(&directions[i].set, word, value);
	pthread_mutex_unlock(&lock);
	return good;
}

static void print_counters(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 2; i++) {
		printf("%s\"%c\": {", i ? ", " : "{", 'a' + i);
		for (int k = 0; k < COUNTERS; k++)
			printf("%s\"%s\": %" PRIu64, k ? ", " : "", counter_names[k],
			       directions[i].published[k]);
		printf("}");
	}
	pthread_mutex_unlock(&lock);
	printf("}\n");
}

/* [arrival, due, length] of the latest frames in transit, the oldest first. */
static void print_fates(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 2; i++) {
		const struct direction *d = &directions[i];

		printf("%s\"%c\": [", i ? ", " : "{", 'a' + i);
		for (uint64_t n = d->n_published > FATES ? d->n_published - FATES : 0;
		     n < d->n_published; n++) {
			const struct fate *f = &d->published_fates[n % FATES];
			bool last = n + 1 == d->n_published;

			printf("[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]%s", f->arrived_ns,
			       f->due_ns, f->length, last ? "" : ", ");
		}
		printf("]");
	}
	pthread_mutex_unlock(&lock);
	printf("}\n");
}

static void read_commands(void)
{
	char line[1024];

	while (fgets(line, sizeof(line), stdin)) {
		bool good = true;

		if (strcmp(line, "counters\n") == 0) {
			print_counters();
		} else if (strcmp(line, "fates\n") == 0) {
			print_fates();
		} else {
			for (char *w = strtok(line, " \n"); w; w = strtok(NULL, " \n"))
				good = apply_word(w) && good;
			puts(good ? "ok" : "error");
		}
		fflush(stdout);
	}
}

/* ---- from start to end ---- */

/* Create NETNS:DEVICE. Returns its descriptor or -1; this thread stays in the namespace. */
static int open_device(const char *where)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	const char *colon = strchr(where, ':');
	char path[256];
	int ns, tap, bad;

	if (!colon || strlen(colon + 1) >= IFNAMSIZ)
		return -1;
	snprintf(path, sizeof(path), "/run/netns/%.*s", (int)(colon - where), where);
	snprintf(request.ifr_name, IFNAMSIZ, "%s", colon + 1);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0)
		return -1;
	bad = setns(ns, CLONE_NEWNET);
	close(ns);
	if (bad)
		return -1;
	tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (tap < 0 || ioctl(tap, TUNSETIFF, &request) == 0)
		return tap;
	close(tap);
	return -1;
}

static int open_devices(char **where)
{
	int fds[2];

	for (int i = 0; i < 2; i++) {
		fds[i] = open_device(where[i]);
		if (fds[i] < 0) {
			fprintf(stderr, "linkemu: %s: %s\n", where[i], strerror(errno));
			return -1;
		}
	}
	for (int i = 0; i < 2; i++) {
		directions[i].from = fds[i];
		directions[i].to = fds[1 - i];
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		directions[i].set = (struct settings){ .queue_ms = 50, .late_ms = 1, .seed = 1 };
		directions[i].salt = (uint64_t)i << 40;
	}
	for (int i = 3; i < argc; i++) {
		if (!apply_word(argv[i])) {
			fprintf(stderr, "linkemu: %s: bad setting; see the head of linkemu.c\n",
				argv[i]);
			return 2;
		}
	}
	if (argc < 3) {
		fprintf(stderr, "linkemu: bad arguments; see the head of linkemu.c\n");
		return 2;
	}
	ending = eventfd(0, EFD_CLOEXEC);
	if (ending < 0 || open_devices(argv + 1))
		return 1;
	/* Delays are to be exact, on a busy machine too where that is allowed. */
	prctl(PR_SET_TIMERSLACK, 1);
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, move_frames, &directions[i]))
			return 1;
	puts("ready");
	fflush(stdout);
	read_commands();
	eventfd_write(ending, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	print_counters();
	return 0;
}
