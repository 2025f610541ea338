/*
 * -attached: xdd/run/attached.h. One thread waits for the end of standard input, or for that of the
 * reader of standard output, and writes the lines of progress.
 */
#include "xdd/run/attached.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"
#include "xdd/report/progress_line.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

#define LINE_NS NS_PER_SEC

/* For the results, once the other program is gone; the process then ends whatever it waits for. */
#define END_NS (30 * NS_PER_SEC)

/* For room in standard error: its reader may have stalled. */
#define ROOM_NS (NS_PER_SEC / 10)

struct attached {
	/* const after attached_start() */
	struct signals *signals;
	pthread_t thread;
	struct pollfd watched;
	int quit_fd;

	/* owned by the thread */
	uint64_t line_ns; /* when the next line is due */
	uint64_t end_ns;  /* when the process ends at once; UINT64_MAX: the other one is there */
};

static void write_line(const struct attached *a)
{
	struct progress_line p;
	char text[PROGRESS_LINE_SIZE];
	size_t length;
	int err;

	signals_progress(a->signals, &p);
	length = progress_line_encode(&p, text);
	outwait_limit(clock_kernel_ns() + ROOM_NS);
	outwait_write(STDERR_FILENO, text, length, &err);
}

/* True: the other program is gone. Bytes on standard input mean nothing. */
static bool is_gone(const struct attached *a, short events)
{
	char bytes[256];
	ssize_t n;

	if (a->watched.fd != STDIN_FILENO || !events)
		return events != 0;
	n = read(STDIN_FILENO, bytes, sizeof(bytes));
	return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

static void end_run(struct attached *a)
{
	log_notice(a->watched.fd == STDIN_FILENO ?
			   "-attached: standard input has ended, so the run ends" :
			   "-attached: standard output has no reader, so the run ends");
	a->watched.fd = -1;
	a->end_ns = clock_kernel_ns() + END_NS;
	kill(getpid(), SIGINT);
}

static int wait_ms(const struct attached *a, uint64_t now_ns)
{
	uint64_t until_ns = ns_earlier(a->line_ns, a->end_ns);

	return until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS + 1) : 0;
}

static void *attached_main(void *arg)
{
	struct attached *a = arg;

	for (;;) {
		struct pollfd fds[2] = { { .fd = a->quit_fd, .events = POLLIN }, a->watched };
		uint64_t now_ns = clock_kernel_ns();

		if (now_ns >= a->line_ns) {
			write_line(a);
			a->line_ns = now_ns + LINE_NS;
		}
		if (now_ns >= a->end_ns) {
			kill(getpid(), SIGINT);
			a->end_ns = UINT64_MAX;
		}
		if (poll(fds, 2, wait_ms(a, now_ns)) <= 0)
			continue;
		if (fds[0].revents)
			return NULL;
		if (is_gone(a, fds[1].revents))
			end_run(a);
	}
}

int attached_start(struct attached **a_out, const struct plan *plan, struct signals *signals)
{
	struct attached *a;
	int err;

	*a_out = NULL;
	if (plan->attached == ATTACHED_NO)
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->signals = signals;
	a->end_ns = UINT64_MAX;
	a->watched.fd = STDOUT_FILENO;
	if (plan->attached == ATTACHED_INPUT)
		a->watched = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	a->quit_fd = eventfd(0, EFD_CLOEXEC);
	err = a->quit_fd < 0 ? -errno : thread_start(&a->thread, attached_main, a);
	if (err) {
		if (a->quit_fd >= 0)
			close(a->quit_fd);
		free(a);
		return err;
	}
	*a_out = a;
	return 0;
}

void attached_end(struct attached *a)
{
	const uint64_t one = 1;

	if (!a)
		return;
	while (write(a->quit_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(a->thread, NULL);
	close(a->quit_fd);
	free(a);
}
