/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bare loop of end-to-end copies: streams of pread and send into streams of recv and pwrite,
 * over the loopback device, by two processes. Nothing is checked, and blocks have no headers: both
 * sides know which blocks a stream has. Without files, the same without pread and pwrite.
 *
 *   limit_network [-f SOURCE -g DESTINATION] [-s BYTES] [-t STREAMS] [-r REPEATS] -p BYTES
 *
 * copies -p bytes, in requests of -s bytes, -r times, and prints "<bytes> <seconds> <CPU seconds>",
 * the time from the first read to the last write and the processor time of both processes. The
 * destination must exist and keeps its size. tests/bench/run compiles and runs it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_STREAMS 64
#define PAGE_BYTES 4096

/* Of both processes. */
struct shared {
	pthread_barrier_t all_ready;
	uint64_t start_ns[MAX_STREAMS]; /* of the source's threads */
	uint64_t end_ns[MAX_STREAMS];	/* of the destination's threads */
};

static struct {
	const char *from, *to;
	size_t size;
	uint64_t bytes;
	unsigned streams, repeats;
} args = { .size = 1 << 20, .streams = 4, .repeats = 1 };

static struct shared *shared;
static int sockets[MAX_STREAMS];
static bool is_source;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Move all of a block; false at an error or an early end. */
static bool send_block(int fd, int sock, char *buf, size_t size, uint64_t offset)
{
	for (size_t done = 0; fd >= 0 && done < size;) {
		ssize_t n = pread(fd, buf + done, size - done, (off_t)(offset + done));

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	for (size_t done = 0; done < size;) {
		ssize_t n = send(sock, buf + done, size - done, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool receive_block(int fd, int sock, char *buf, size_t size, uint64_t offset)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = recv(sock, buf + done, size - done, MSG_WAITALL);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	for (size_t done = 0; fd >= 0 && done < size;) {
		ssize_t n = pwrite(fd, buf + done, size - done, (off_t)(offset + done));

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* Stream number i has the blocks i, i + streams, ... of the file. */
static bool copy(int fd, int sock, char *buf, unsigned number)
{
	const uint64_t step = (uint64_t)args.streams * args.size;

	for (unsigned r = 0; r < args.repeats; r++) {
		for (uint64_t at = number * args.size; at < args.bytes; at += step) {
			size_t size = args.bytes - at < args.size ? args.bytes - at : args.size;

			if (is_source ? !send_block(fd, sock, buf, size, at) :
					!receive_block(fd, sock, buf, size, at))
				return false;
		}
	}
	return true;
}

static void *stream_main(void *arg)
{
	unsigned number = (unsigned)(uintptr_t)arg;
	const char *path = is_source ? args.from : args.to;
	int fd = path ? open(path, (is_source ? O_RDONLY : O_WRONLY) | O_CLOEXEC) : -1;
	void *buf;

	if ((path && fd < 0) || posix_memalign(&buf, PAGE_BYTES, args.size))
		die(path);
	memset(buf, 0, args.size);
	pthread_barrier_wait(&shared->all_ready);
	if (is_source)
		shared->start_ns[number] = now_ns();
	if (!copy(fd, sockets[number], buf, number))
		die(is_source ? "source" : "destination");
	if (!is_source)
		shared->end_ns[number] = now_ns();
	free(buf);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static void run_streams(void)
{
	pthread_t ids[MAX_STREAMS];

	for (unsigned i = 0; i < args.streams; i++) {
		if (pthread_create(&ids[i], NULL, stream_main, (void *)(uintptr_t)i))
			die("pthread_create");
	}
	for (unsigned i = 0; i < args.streams; i++)
		pthread_join(ids[i], NULL);
}

static int listen_somewhere(struct sockaddr_in *address)
{
	socklen_t len = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)address, len) || listen(fd, MAX_STREAMS) ||
	    getsockname(fd, (struct sockaddr *)address, &len))
		die("listen");
	return fd;
}

static void connect_all(int listener, const struct sockaddr_in *address)
{
	const int on = 1;

	for (unsigned i = 0; i < args.streams; i++) {
		if (!is_source) {
			sockets[i] = accept(listener, NULL, NULL);
		} else {
			sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
			if (connect(sockets[i], (const struct sockaddr *)address, sizeof(*address)))
				die("connect");
		}
		if (sockets[i] < 0)
			die("accept");
		setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
}

static double cpu_s(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void print_results(void)
{
	uint64_t start_ns = UINT64_MAX, end_ns = 0;

	for (unsigned i = 0; i < args.streams; i++) {
		start_ns = shared->start_ns[i] < start_ns ? shared->start_ns[i] : start_ns;
		end_ns = shared->end_ns[i] > end_ns ? shared->end_ns[i] : end_ns;
	}
	printf("%llu %.9f %.6f\n", (unsigned long long)(args.bytes * args.repeats),
	       (double)(end_ns - start_ns) / 1e9, cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN));
}

static bool parse_args(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "f:g:s:t:r:p:")) != -1) {
		switch (c) {
		case 'f':
			args.from = optarg;
			break;
		case 'g':
			args.to = optarg;
			break;
		case 's':
			args.size = strtoull(optarg, NULL, 10);
			break;
		case 't':
			args.streams = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'r':
			args.repeats = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'p':
			args.bytes = strtoull(optarg, NULL, 10);
			break;
		default:
			return false;
		}
	}
	return args.size && args.bytes && args.repeats && args.streams &&
	       args.streams <= MAX_STREAMS && !args.from == !args.to;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address;
	pthread_barrierattr_t attr;
	int listener, status;
	pid_t pid;

	if (!parse_args(argc, argv)) {
		fprintf(stderr, "%s: bad arguments; see limit_network.c\n", argv[0]);
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->all_ready, &attr, 2 * args.streams);
	listener = listen_somewhere(&address);
	pid = fork();
	if (pid < 0)
		die("fork");
	is_source = pid == 0;
	if (is_source)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	connect_all(listener, &address);
	run_streams();
	if (is_source)
		return 0;
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	print_results();
	return 0;
}
