/*
 * The hosts of an allocation of Slurm: multi.h. Called by multi.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/multi.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"

#define LIST_MAX_BYTES (1u << 20)
#define WAIT_MS 10000

/* Read all that the child writes. Returns 0 with a text, or -errno. */
static int read_all(int fd, char *text, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t n = 0;

	while (n + 1 < size) {
		ssize_t got;

		if (poll(&p, 1, WAIT_MS) == 0)
			return -ETIMEDOUT;
		got = read(fd, text + n, size - n - 1);
		if (got == 0) {
			text[n] = '\0';
			return 0;
		}
		if (got > 0)
			n += (size_t)got;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EFBIG;
}

/* Have scontrol expand the list, such as "node[1-4,7]". Returns 0 or -errno. */
static int expand(const char *list, char *text, size_t size)
{
	char *const argv[] = { (char *)"scontrol", (char *)"show", (char *)"hostnames",
			       (char *)(uintptr_t)list, NULL };
	struct child c;
	int err = child_start(&c, argv, CHILD_PLAIN);

	if (err)
		return err;
	close(c.write_fd);
	err = read_all(c.read_fd, text, size);
	close(c.read_fd);
	if (child_wait(c.pid, err ? 0 : 2 * NS_PER_SEC) && !err)
		err = -EINVAL;
	return err;
}

enum xdd_status multi_hosts_slurm(struct arena *arena, struct multi_hosts *h, uint32_t slots)
{
	const char *list = getenv("SLURM_JOB_NODELIST");
	enum xdd_status status = XDD_BAD_ARGUMENT;
	char *text = malloc(LIST_MAX_BYTES);
	int err = text ? expand(list, text, LIST_MAX_BYTES) : -ENOMEM;

	if (err)
		log_error("multi: SLURM_JOB_NODELIST %.128s: scontrol cannot expand it (%s); give "
			  "the hosts with -hosts",
			  list, err == -ENOENT ? "it is not installed" : strerror(-err));
	else
		status = multi_hosts_add(arena, h, text, "SLURM_JOB_NODELIST", slots);
	free(text);
	return status;
}
