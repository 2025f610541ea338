/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slowfs: a file system with one file, "data", that delays each request. For tests and benchmarks
 * that need a device with a latency: depth, order, percentiles, hangs. It needs libfuse3, and no
 * root if fusermount3 is installed.
 *
 *     slowfs [-s BYTES] [-m] [-d DELAY] [-S SEED] [-l LOG] [-n REQUEST] [-q DEPTH,TOTAL] DIRECTORY
 *
 * -s  size of the file (default 64 MiB); it reads as zeroes, and forgets written data
 * -m  keep the data in memory
 * -d  the delay of each request, in microseconds:
 *         constant:US                 always the same (the default: constant:1000)
 *         lognormal:MEDIAN:SIGMA      exp(ln MEDIAN + SIGMA z), z standard normal
 *         bimodal:FAST:SLOW:PERCENT   SLOW for so many percent of the requests, else FAST
 *     The delay of the n-th request depends on the seed and n only.
 * -l  write a line for each request, in the order of their arrival, when it ends:
 *         number r|w offset bytes arrival_ns delay_ns answered_ns
 *     by CLOCK_MONOTONIC; answered 0: never
 * -n  never answer the request that arrives as this number (from 0)
 * -q  answer requests for the middle half of the file only while DEPTH of them are outstanding, one
 *     at a time, the oldest first, and all once TOTAL have arrived: who does not keep so many
 *     outstanding has no answer for HELD_NS
 *
 * One thread accepts requests, so the order of arrival is that of the kernel; another answers them
 * when they are due, so any number is outstanding. It prints "ready" once it is mounted, ends with
 * its standard input (or by SIGTERM), and unmounts then.
 */
#define FUSE_USE_VERSION 35

#include <errno.h>
#include <fuse_lowlevel.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define FILE_INODE 2
#define LARGEST (1u << 20)
#define OUTSTANDING_MAX 4096
#define HELD_NS 20000000000u

enum delay_kind {
	DELAY_CONSTANT,
	DELAY_LOGNORMAL,
	DELAY_BIMODAL,
};

static struct {
	uint64_t size_bytes;
	enum delay_kind kind;
	double a, b, c; /* of the delay, microseconds */
	uint64_t seed;
	uint64_t never; /* UINT64_MAX: all are answered */
	const char *log;
	bool in_memory;
	uint64_t held_depth, held_total; /* 0: -q is not given */
} opt = { .size_bytes = 64u << 20, .a = 1000, .seed = 1, .never = UINT64_MAX };

struct arrival {
	uint64_t offset, bytes, arrived_ns, delay_ns, answered_ns;
	bool write;
};

/* A request that waits for its time. */
struct pending {
	uint64_t due_ns, number;
	fuse_req_t req;
	uint64_t offset;
	size_t bytes;
	bool write, held;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

/* guarded by lock: a heap, the earliest first, and all that ever arrived */
static struct pending heap[OUTSTANDING_MAX];
static size_t n_pending;
static struct arrival *arrivals;
static uint64_t n_arrivals, room;
static uint64_t held_pending, held_arrived;
static bool ending;

static char *memory;
static char zeroes[LARGEST];
static struct fuse_session *session;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- delays ---- */

/* splitmix64, as a function of the number of a draw; in [0, 1). */
static double uniform(uint64_t draw)
{
	uint64_t x = opt.seed * 0x9e3779b97f4a7c15u + draw * 0xbf58476d1ce4e5b9u;

	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	x ^= x >> 31;
	return (double)(x >> 11) / 9007199254740992.0;
}

static uint64_t delay_ns(uint64_t number)
{
	double u = uniform(2 * number), v = uniform(2 * number + 1), us = opt.a;

	if (opt.kind == DELAY_LOGNORMAL) /* Box and Muller */
		us = exp(log(opt.a) + opt.b * sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v));
	else if (opt.kind == DELAY_BIMODAL && u * 100 < opt.c)
		us = opt.b;
	return (uint64_t)(us * 1000);
}

/* ---- the heap ---- */

static void heap_put(struct pending p)
{
	size_t i = n_pending++;

	for (; i && heap[(i - 1) / 2].due_ns > p.due_ns; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = p;
}

static struct pending heap_take(void)
{
	struct pending first = heap[0], last = heap[--n_pending];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < n_pending) {
		if (child + 1 < n_pending && heap[child + 1].due_ns < heap[child].due_ns)
			child++;
		if (last.due_ns <= heap[child].due_ns)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

/* ---- answers ---- */

static void answer(const struct pending *p)
{
	if (p->write)
		fuse_reply_write(p->req, p->bytes);
	else
		fuse_reply_buf(p->req, memory ? memory + p->offset : zeroes, p->bytes);
}

/* The first pending request may be answered before it is due, as those that are held are. */
static bool may_answer(void)
{
	return heap[0].held && (held_pending >= opt.held_depth || held_arrived >= opt.held_total);
}

static void *answer_all(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	while (!ending) {
		uint64_t now = now_ns();
		struct timespec due;
		struct pending p;

		if (!n_pending) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		if (heap[0].due_ns > now && !may_answer()) {
			due.tv_sec = (time_t)(heap[0].due_ns / 1000000000u);
			due.tv_nsec = (long)(heap[0].due_ns % 1000000000u);
			pthread_cond_timedwait(&changed, &lock, &due);
			continue;
		}
		p = heap_take();
		held_pending -= p.held;
		arrivals[p.number].answered_ns = now;
		pthread_mutex_unlock(&lock);
		answer(&p);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* ---- requests ---- */

static void arrive(fuse_req_t req, bool write, uint64_t offset, size_t bytes)
{
	struct pending p = { .req = req, .offset = offset, .bytes = bytes, .write = write };
	uint64_t now = now_ns();

	pthread_mutex_lock(&lock);
	if (n_arrivals == room) {
		struct arrival *more;

		room = room ? 2 * room : 1u << 16;
		more = realloc(arrivals, room * sizeof(*more));
		if (!more)
			abort();
		arrivals = more;
	}
	p.number = n_arrivals++;
	p.held = opt.held_depth && offset >= opt.size_bytes / 4 && offset < opt.size_bytes / 4 * 3;
	p.due_ns = now + (p.held ? HELD_NS : delay_ns(p.number));
	held_arrived += p.held;
	held_pending += p.held;
	arrivals[p.number] = (struct arrival){ offset, bytes, now, p.due_ns - now, 0, write };
	if (p.number == opt.never) {
		pthread_mutex_unlock(&lock);
		return;
	}
	if (n_pending == OUTSTANDING_MAX)
		abort();
	heap_put(p);
	/* The other thread sleeps until the first is due; or it waits for more that it holds. */
	if (heap[0].number == p.number || p.held)
		pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static void attributes(fuse_ino_t ino, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_ino = ino;
	st->st_mode = ino == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0666;
	st->st_nlink = ino == FUSE_ROOT_ID ? 2 : 1;
	st->st_uid = getuid();
	st->st_gid = getgid();
	st->st_blksize = 4096;
	if (ino == FILE_INODE)
		st->st_size = (off_t)opt.size_bytes;
	st->st_blocks = st->st_size / 512;
}

static void slow_init(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	conn->want |= conn->capable & (FUSE_CAP_ASYNC_DIO | FUSE_CAP_ASYNC_READ);
	conn->max_background = OUTSTANDING_MAX - 1;
	conn->congestion_threshold = OUTSTANDING_MAX - 1;
}

static void slow_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e = { .ino = FILE_INODE,
				      .attr_timeout = 1e6,
				      .entry_timeout = 1e6 };

	if (parent != FUSE_ROOT_ID || strcmp(name, "data") != 0) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	attributes(FILE_INODE, &e.attr);
	fuse_reply_entry(req, &e);
}

static void slow_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	attributes(ino, &st);
	fuse_reply_attr(req, &st, 1e6);
}

/* The size does not change. */
static void slow_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *to, int set,
			 struct fuse_file_info *fi)
{
	(void)to;
	(void)set;
	slow_getattr(req, ino, fi);
}

static void slow_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (ino != FILE_INODE) {
		fuse_reply_err(req, EISDIR);
		return;
	}
	fi->direct_io = 1;
	fuse_reply_open(req, fi);
}

static void slow_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		      struct fuse_file_info *fi)
{
	uint64_t offset = (uint64_t)off;

	(void)ino;
	(void)fi;
	if (offset >= opt.size_bytes)
		size = 0;
	else if (size > opt.size_bytes - offset)
		size = opt.size_bytes - offset;
	arrive(req, false, offset, size > LARGEST ? LARGEST : size);
}

static void slow_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	uint64_t offset = (uint64_t)off;

	(void)ino;
	(void)fi;
	if (offset > opt.size_bytes || size > opt.size_bytes - offset) {
		fuse_reply_err(req, ENOSPC);
		return;
	}
	if (memory)
		memcpy(memory + offset, buf, size);
	arrive(req, true, offset, size);
}

static void slow_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	(void)fi;
	fuse_reply_err(req, 0);
}

static const struct fuse_lowlevel_ops ops = {
	.init = slow_init,
	.lookup = slow_lookup,
	.getattr = slow_getattr,
	.setattr = slow_setattr,
	.open = slow_open,
	.read = slow_read,
	.write = slow_write,
	.fsync = slow_fsync,
};

/* ---- from start to end ---- */

static bool parse_delay(const char *text)
{
	char rest;

	if (sscanf(text, "constant:%lf%c", &opt.a, &rest) == 1)
		opt.kind = DELAY_CONSTANT;
	else if (sscanf(text, "lognormal:%lf:%lf%c", &opt.a, &opt.b, &rest) == 2)
		opt.kind = DELAY_LOGNORMAL;
	else if (sscanf(text, "bimodal:%lf:%lf:%lf%c", &opt.a, &opt.b, &opt.c, &rest) == 3)
		opt.kind = DELAY_BIMODAL;
	else
		return false;
	return opt.a > 0 && opt.b >= 0 && opt.c >= 0;
}

static const char *parse_args(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:d:S:l:n:mq:")) != -1) {
		switch (c) {
		case 's':
			opt.size_bytes = strtoull(optarg, NULL, 10);
			break;
		case 'd':
			if (!parse_delay(optarg))
				return NULL;
			break;
		case 'S':
			opt.seed = strtoull(optarg, NULL, 10);
			break;
		case 'l':
			opt.log = optarg;
			break;
		case 'n':
			opt.never = strtoull(optarg, NULL, 10);
			break;
		case 'm':
			opt.in_memory = true;
			break;
		case 'q':
			if (sscanf(optarg, "%" SCNu64 ",%" SCNu64, &opt.held_depth,
				   &opt.held_total) != 2)
				return NULL;
			break;
		default:
			return NULL;
		}
	}
	return opt.size_bytes && optind == argc - 1 ? argv[optind] : NULL;
}

/* The process that started this has ended, or closed the input to end it. */
static void *watch_parent(void *arg)
{
	char c;

	(void)arg;
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	kill(getpid(), SIGTERM);
	return NULL;
}

static int write_log(void)
{
	FILE *f = fopen(opt.log, "w");

	if (!f)
		return 1;
	for (uint64_t i = 0; i < n_arrivals; i++) {
		const struct arrival *a = &arrivals[i];

		fprintf(f,
			"%" PRIu64 " %c %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			"\n",
			i, a->write ? 'w' : 'r', a->offset, a->bytes, a->arrived_ns, a->delay_ns,
			a->answered_ns);
	}
	return fclose(f) ? 1 : 0;
}

static int serve(void)
{
	pthread_condattr_t attr;
	pthread_t watcher, answerer;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attr);
	/* Timers of this process are to be exact. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (pthread_create(&answerer, NULL, answer_all, NULL) ||
	    pthread_create(&watcher, NULL, watch_parent, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	fuse_session_loop(session);
	pthread_mutex_lock(&lock);
	ending = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(answerer, NULL);
	return opt.log ? write_log() : 0;
}

int main(int argc, char **argv)
{
	const char *directory = parse_args(argc, argv);
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int status = 1;

	if (!directory) {
		fprintf(stderr, "slowfs: bad arguments; see the head of slowfs.c\n");
		return 2;
	}
	if (opt.in_memory) {
		memory = calloc(1, opt.size_bytes);
		if (!memory)
			return 1;
	}
	fuse_opt_add_arg(&args, "slowfs");
	fuse_opt_add_arg(&args, "-ofsname=slowfs");
	session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (!session)
		return 1;
	if (fuse_set_signal_handlers(session) == 0 && fuse_session_mount(session, directory) == 0) {
		status = serve();
		fuse_session_unmount(session);
	}
	fuse_session_destroy(session);
	fuse_opt_free_args(&args);
	return status;
}
