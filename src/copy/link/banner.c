/*
 * The first line of a server: banner.h.
 */
#include "config.h"

#include "copy/link/banner.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "copy/message/message.h"
#include "xdd/sys/clock.h"

#define LOOK_MS 50

/* Longer lines are no banner. */
#define MAX_LINE 256

int banner_send(struct link *channel)
{
	char line[MAX_LINE];

	snprintf(line, sizeof(line), "%s %u %s\n", COPY_BANNER, (unsigned)COPY_PROTOCOL,
		 PACKAGE_VERSION);
	return link_send_text(channel, line);
}

/* Read "1 8.0.0" after the word of the banner. */
static bool parse(const char *text, struct banner *b)
{
	unsigned protocol = 0;
	size_t n = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text) && protocol < 100000; text++)
		protocol = protocol * 10 + (unsigned)(*text - '0');
	if (*text++ != ' ')
		return false;
	for (; isgraph((unsigned char)text[n]) && n < sizeof(b->version) - 1; n++)
		b->version[n] = text[n];
	b->version[n] = '\0';
	b->protocol = protocol;
	/* A terminal ends lines with two characters. */
	return n && strcmp(text + n + (text[n] == '\r'), "") == 0;
}

/*
 * A line of output, without its end. The banner may come after other output that has no line end.
 */
static bool is_banner(const char *line, struct banner *b)
{
	const char *at = strstr(line, COPY_BANNER " ");

	return at && parse(at + strlen(COPY_BANNER " "), b);
}

static void keep_noise(struct banner *b, const char *line)
{
	if (line[strspn(line, " \t\r")])
		snprintf(b->noise, sizeof(b->noise), "%.*s", (int)strcspn(line, "\r"), line);
}

/*
 * The next byte. What follows the banner belongs to the channel, so bytes are read one by one.
 * Returns 1; 0 at the end; -ECANCELED; or -ETIMEDOUT once clock_now_ns() reaches `until_ns`.
 */
static int next_byte(int fd, char *byte, uint64_t until_ns, const atomic_int *cut)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n = read(fd, byte, 1);

		if (n >= 0)
			return (int)n;
		if (errno != EAGAIN && errno != EINTR)
			return 0;
		if (atomic_load(cut))
			return -ECANCELED;
		if (clock_now_ns() >= until_ns)
			return -ETIMEDOUT;
		poll(&p, 1, LOOK_MS);
	}
}

static enum banner_end end_of(int n)
{
	if (n == 0)
		return BANNER_CLOSED;
	return n == -ETIMEDOUT ? BANNER_LATE : BANNER_CUT;
}

enum banner_end banner_await(int fd, struct banner *b, uint64_t limit_ns, const atomic_int *cut)
{
	const uint64_t until_ns = limit_ns ? clock_now_ns() + limit_ns : UINT64_MAX;
	char line[MAX_LINE];
	size_t length = 0;

	memset(b, 0, sizeof(*b));
	for (size_t total = 0; total < BANNER_MAX_NOISE; total++) {
		char byte;
		int n = next_byte(fd, &byte, until_ns, cut);

		line[length] = '\0';
		if (n <= 0) {
			keep_noise(b, line);
			return end_of(n);
		}
		if (byte != '\n') {
			/* Keep the last part of a long line. */
			if (length == sizeof(line) - 1) {
				length /= 2;
				memmove(line, line + sizeof(line) - 1 - length, length);
			}
			line[length++] = byte ? byte : ' ';
			continue;
		}
		if (is_banner(line, b))
			return BANNER_FOUND;
		keep_noise(b, line);
		length = 0;
	}
	return BANNER_NOISE;
}
