/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frame of the limit programs: threads that prepare, meet at a barrier, run their loop and are
 * timed. Called by limit_*.c.
 */
#include "limit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define PAGE_BYTES 4096

_Atomic bool limit_stop;

static const struct limit_loop *the_loop;
static pthread_barrier_t all_ready;
static _Atomic bool any_failed;

static double thread_cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int open_file(struct limit_thread *t)
{
	const struct limit_args *a = t->args;

	t->fd = -1;
	if (!a->path)
		return 0;
	t->fd = open(a->path, O_RDONLY | O_CLOEXEC | (a->direct ? O_DIRECT : 0));
	return t->fd < 0 ? -errno : 0;
}

static int make_buffer(struct limit_thread *t)
{
	const struct limit_args *a = t->args;
	size_t bytes = a->size * a->depth;
	bool huge = a->size >= HUGE_PAGE_BYTES;
	void *p;
	int err;

	if (!a->path)
		return 0;
	err = posix_memalign(&p, huge ? HUGE_PAGE_BYTES : PAGE_BYTES, bytes);
	if (err)
		return -err;
	if (huge)
		madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 0, bytes);
	t->buf = p;
	return 0;
}

static void *thread_main(void *arg)
{
	struct limit_thread *t = arg;
	double before;

	t->error = open_file(t);
	if (!t->error)
		t->error = make_buffer(t);
	if (!t->error && the_loop->prepare)
		t->error = the_loop->prepare(t);
	if (t->error)
		atomic_store(&any_failed, true);
	pthread_barrier_wait(&all_ready);
	if (atomic_load(&any_failed))
		return NULL;
	before = thread_cpu_s();
	t->start_ns = limit_now_ns();
	t->error = the_loop->run(t);
	t->end_ns = limit_now_ns();
	t->cpu_s = thread_cpu_s() - before;
	return NULL;
}

static int parse_args(int argc, char **argv, struct limit_args *a)
{
	int c;

	*a = (struct limit_args){ .size = 4096, .threads = 1, .depth = 1, .ops = UINT64_MAX };
	while ((c = getopt(argc, argv, "f:s:p:t:q:n:T:drbFD")) != -1) {
		switch (c) {
		case 'f':
			a->path = optarg;
			break;
		case 's':
			a->size = strtoull(optarg, NULL, 10);
			break;
		case 'p':
			a->span_bytes = strtoull(optarg, NULL, 10);
			break;
		case 't':
			a->threads = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'q':
			a->depth = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'n':
			a->ops = strtoull(optarg, NULL, 10);
			break;
		case 'T':
			a->seconds = strtod(optarg, NULL);
			break;
		case 'd':
			a->direct = true;
			break;
		case 'r':
			a->random = true;
			break;
		case 'b':
			a->batch = true;
			break;
		case 'F':
			a->fixed = true;
			break;
		case 'D':
			a->defer = true;
			break;
		default:
			return -EINVAL;
		}
	}
	if (!a->size || !a->threads || !a->depth || (a->seconds <= 0 && a->ops == UINT64_MAX))
		return -EINVAL;
	return a->path && a->span_bytes / a->threads < a->size ? -EINVAL : 0;
}

static void sleep_s(double seconds)
{
	struct timespec ts = { .tv_sec = (time_t)seconds };

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void set_up_thread(struct limit_thread *t, const struct limit_args *a, unsigned number)
{
	uint64_t share = a->span_bytes / a->threads / a->size;

	t->args = a;
	t->number = number;
	t->slots = share;
	t->first_bytes = number * share * a->size;
	t->random_state = 0x9e3779b97f4a7c15ull * (number + 1);
	t->ops = UINT64_MAX;
	if (a->ops != UINT64_MAX)
		t->ops = a->ops / a->threads + (number < a->ops % a->threads);
}

/* Sum up and print. */
static int print_results(const struct limit_thread *threads, unsigned n)
{
	uint64_t ops = 0, start_ns = UINT64_MAX, end_ns = 0;
	double cpu_s = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct limit_thread *t = &threads[i];

		if (t->error) {
			fprintf(stderr, "thread %u: %s\n", i, strerror(-t->error));
			return 1;
		}
		ops += t->done;
		cpu_s += t->cpu_s;
		start_ns = t->start_ns < start_ns ? t->start_ns : start_ns;
		end_ns = t->end_ns > end_ns ? t->end_ns : end_ns;
	}
	/* Left out by another thread's error: nothing was run. */
	if (atomic_load(&any_failed))
		return 1;
	printf("%llu %.9f %.6f\n", (unsigned long long)ops, (double)(end_ns - start_ns) / 1e9,
	       cpu_s);
	return 0;
}

int limit_main(int argc, char **argv, const struct limit_loop *loop)
{
	struct limit_args args;
	struct limit_thread *threads;
	pthread_t *ids;
	int status;

	if (parse_args(argc, argv, &args)) {
		fprintf(stderr, "%s: bad arguments; see tests/bench/limit.h\n", argv[0]);
		return 2;
	}
	the_loop = loop;
	threads = calloc(args.threads, sizeof(*threads));
	ids = calloc(args.threads, sizeof(*ids));
	if (!threads || !ids || pthread_barrier_init(&all_ready, NULL, args.threads + 1))
		return 1;
	for (unsigned i = 0; i < args.threads; i++) {
		set_up_thread(&threads[i], &args, i);
		if (pthread_create(&ids[i], NULL, thread_main, &threads[i])) {
			perror("pthread_create");
			return 1;
		}
	}
	pthread_barrier_wait(&all_ready);
	if (args.seconds > 0 && !atomic_load(&any_failed)) {
		sleep_s(args.seconds);
		atomic_store(&limit_stop, true);
	}
	for (unsigned i = 0; i < args.threads; i++)
		pthread_join(ids[i], NULL);
	status = print_results(threads, args.threads);
	free(threads);
	free(ids);
	return status;
}
