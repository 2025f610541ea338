/*
 * Hold points; see the header. Called from everywhere, by any thread.
 */
#include "xdd/base/hold.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "xdd/base/log.h"

#define VARIABLE "XDD_TEST_HOLD"
#define EACH UINT64_MAX

static const char *const names[HOLD_POINTS] = {
	[HOLD_SIGNALS_READY] = "signals ready",	    [HOLD_SIGNAL_TAKEN] = "signal taken",
	[HOLD_OUTPUT_FULL] = "output full",	    [HOLD_OPERATION] = "operation",
	[HOLD_PASS_BEGUN] = "pass begun",	    [HOLD_PASS_CLOSED] = "pass closed",
	[HOLD_PASS_ENDED] = "pass ended",	    [HOLD_RESULTS_WRITTEN] = "results written",
	[HOLD_STRANGER_LATE] = "stranger late",	    [HOLD_HOST_ANSWERED] = "host answered",
	[HOLD_WELCOME_SENT] = "WELCOME sent",	    [HOLD_WELCOME_RECEIVED] = "WELCOME received",
	[HOLD_BUNDLE_SENT] = "bundle sent",	    [HOLD_BLOCK_SENT] = "block sent",
	[HOLD_JOURNAL_CREATED] = "journal created", [HOLD_RANGE_DURABLE] = "range durable",
	[HOLD_BEFORE_RENAME] = "before rename",	    [HOLD_AFTER_RENAME] = "after rename",
	[HOLD_CAUSE_AWAITED] = "cause awaited",
};

uint32_t hold_points;

/* const after hold_start() */
static struct sockaddr_un test = { .sun_family = AF_UNIX };
static uint64_t which[HOLD_POINTS]; /* EACH: each time */

/* atomic: how often a point was reached */
static _Atomic uint64_t reached[HOLD_POINTS];

/* One of the list, which ends at a comma or at the end. Returns 0 or -EINVAL. */
static int add_point(char *word)
{
	char *n = strchr(word, ':'), *end = NULL;

	if (n)
		*n++ = '\0';
	for (int i = 0; i < HOLD_POINTS; i++) {
		if (strcmp(word, names[i]) != 0)
			continue;
		which[i] = n ? strtoull(n, &end, 10) : EACH;
		hold_points |= UINT32_C(1) << i;
		return n && (end == n || *end) ? -EINVAL : 0;
	}
	return -EINVAL;
}

static int parse(char *text)
{
	char *path = strchr(text, '@'), *rest = NULL;
	int err = 0;

	if (!path || strlen(path + 1) >= sizeof(test.sun_path))
		return -EINVAL;
	*path++ = '\0';
	strcpy(test.sun_path, path);
	for (char *word = strtok_r(text, ",", &rest); word && !err;
	     word = strtok_r(NULL, ",", &rest))
		err = add_point(word);
	return err;
}

int hold_start(void)
{
	const char *value = secure_getenv(VARIABLE);
	char *text;
	int err;

	if (!value)
		return 0;
	text = strdup(value);
	err = text ? parse(text) : -ENOMEM;
	free(text);
	if (err)
		log_error(VARIABLE ": expected POINT[:N][,POINT[:N]]...@SOCKET, not \"%s\"", value);
	return err;
}

/* Returns after the test has closed the connection; at once where no test listens. */
static void wait_for_test(enum hold_point point, uint64_t n)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char line[80], byte;
	int size = snprintf(line, sizeof(line), "%s\t%" PRIu64 "\t%d\n", names[point], n, getpid());
	ssize_t got;

	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&test, sizeof(test)) == 0 &&
	    send(fd, line, (size_t)size, MSG_NOSIGNAL) == size) {
		do
			got = read(fd, &byte, 1);
		while (got > 0 || (got < 0 && errno == EINTR));
	}
	close(fd);
}

void hold_reach(enum hold_point point)
{
	const uint64_t n = 1 + atomic_fetch_add(&reached[point], 1);

	if (which[point] == EACH || which[point] == n)
		wait_for_test(point, n);
}

void hold_reach_operation(uint64_t n)
{
	if (which[HOLD_OPERATION] == EACH || which[HOLD_OPERATION] == n)
		wait_for_test(HOLD_OPERATION, n);
}
