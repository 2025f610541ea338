/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers, which are started through ssh, or on this host without, and the first line that they
 * send. Called by attempt.c and server.c.
 *
 * There is no time limit before the banner unless the user names one: ssh has its own for the
 * network, and may ask for a password. A signal ends the wait.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "copy/link/link.h"
#include "copy/message/message.h"
#include "xdd/base/err.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/net/connection.h"
#include "xdd/net/wire.h"
#include "xdd/sys/child.h"
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
static bool banner_parse(const char *text, struct banner *b)
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

	return at && banner_parse(at + strlen(COPY_BANNER " "), b);
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

static const char *ssh_command_problem(const struct copy_request *request,
				       const struct copy_place *place)
{
	const char *wrong = ssh_wrong_name(place->host, place->user);

	if (!wrong && ssh_has_control(request->remote_xdd))
		wrong = "the path of xdd (-b) must not have control characters";
	return wrong;
}

char **ssh_command(struct arena *arena, const struct copy_request *request,
		   const struct copy_place *place, struct err *why)
{
	const char *wrong = ssh_command_problem(request, place);
	char *path, *command = NULL, **words = NULL;

	if (wrong) {
		err_set(why, -EINVAL, "%s", wrong);
		return NULL;
	}
	path = ssh_quote_path(arena, request->remote_xdd);
	if (path)
		command = arena_printf(arena, "exec %s copy -server", path);
	if (command)
		words = ssh_words(arena, request->ssh, request->remote_tty ? SSH_TTY : SSH_PLAIN,
				  place->user, place->host, command);
	if (!words)
		err_set(why, -ENOMEM, "no memory");
	return words;
}

/* For ssh to end once its output has ended. */
#define END_NS (2 * NS_PER_SEC)

/* Between looks at whether it has ended. */
#define LOOK_NS (10 * NS_PER_MS)

/* For a server that takes no START to end. */
#define LAST_WORDS_NS NS_PER_SEC

/* Common to the steps of a start. */
struct start {
	struct ssh *ssh;
	const struct copy_request *request;
	struct err *why;
	bool is_local; /* without ssh */
};

/* ---- messages ---- */

__attribute__((format(printf, 3, 4))) static int say(const struct start *s, int status,
						     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(s->why, status, fmt, ap);
	va_end(ap);
	return status;
}

static int say_canceled(const struct start *s)
{
	return say(s, XDD_CANCELED, "was interrupted before it answered");
}

static int say_not_started(const struct start *s, const char *program, int err)
{
	const char *from = s->request->ssh_by_variable ? " of the variable XDDCP_SSH" : "";

	if (err == -ENOENT)
		return say(s, COPY_NO_SSH,
			   "cannot find the program \"%s\"%s; install OpenSSH, or give another one "
			   "with -S",
			   program, from);
	return say(s, COPY_NO_SSH, "cannot start \"%s\"%s (%s); give another program with -S",
		   program, from, strerror(-err));
}

static int say_late(const struct start *s)
{
	return say(s, COPY_SSH_ENDED, "did not answer within %g s; give it more time with -timeout",
		   (double)s->request->answer_ns / NS_PER_SEC);
}

/*
 * As say_late(), of a process of this host, where a signal to all processes of the copy cancels it.
 */
static int say_ended_here(const struct start *s, int status)
{
	const int sig = status - CHILD_SIGNAL;

	if (sig == SIGTERM || sig == SIGINT || sig == SIGHUP)
		return say_canceled(s);
	return say(s, COPY_SSH_ENDED, "the other process ended with status %d before it answered",
		   status);
}

/* It ended without a banner, with exit status `status`. */
static int say_no_banner(const struct start *s, const struct banner *b, int status)
{
	const char *xdd = s->request->remote_xdd;
	/* As csh ends where xdd is missing, and other programs than ssh for reasons of theirs. */
	const bool silent = status == 1 && !*b->noise;
	char *noise;

	if (s->is_local)
		return say_ended_here(s, status);
	if (status == CHILD_SSH)
		return say(s, COPY_SSH_ENDED,
			   "ssh cannot reach it, or is not let in (its own message is above)");
	if (status > CHILD_SIGNAL)
		return say(s, COPY_SSH_ENDED, "ssh was ended by signal %d", status - CHILD_SIGNAL);
	/* A checkout in the home directory, say, that is in the path of programs there. */
	if (status == CHILD_NOT_EXECUTABLE && !strchr(xdd, '/'))
		return say(s, COPY_NO_XDD,
			   "there is no program \"%s\" there, only a directory or a file of that "
			   "name that cannot be executed; install xdd there, or give its path with "
			   "-b",
			   xdd);
	if (status == CHILD_NOT_EXECUTABLE)
		return say(s, COPY_NO_XDD,
			   "cannot execute \"%s\" there; expected xdd, or its directory with a "
			   "slash at its end (-b)",
			   xdd);
	if (silent && !ssh_is_openssh(s->request->ssh[0]))
		return say(s, COPY_NO_XDD,
			   "\"%s\" ended with status 1 before xdd answered; install xdd there, or "
			   "give its path with -b, or a program that takes the options of ssh "
			   "with -S",
			   s->request->ssh[0]);
	if (status == CHILD_NOT_FOUND || silent)
		return say(s, COPY_NO_XDD,
			   "cannot start \"%s\" there; install xdd there, or give its path with -b",
			   xdd);
	noise = printable_dup(b->noise, false);
	say(s, COPY_BAD_VERSION,
	    "\"%s\" ended with status %d before it answered%s%s%s; it may be of another "
	    "version, or a login script ended it: install %s on both, or give its path with -b",
	    xdd, status, *b->noise ? ": \"" : "", noise ? noise : "", *b->noise ? "\"" : "",
	    PACKAGE_STRING);
	free(noise);
	return COPY_BAD_VERSION;
}

static int say_noise(const struct start *s, const struct banner *b)
{
	char *noise = printable_dup(b->noise, false);

	say(s, COPY_BAD_VERSION,
	    "sends output that is not xdd's%s%s%s; its login scripts must print nothing for "
	    "commands",
	    *b->noise ? ": \"" : ", which is no text", noise ? noise : "", *b->noise ? "\"" : "");
	free(noise);
	return COPY_BAD_VERSION;
}

static int say_version(const struct start *s, const struct banner *b)
{
	return say(s, COPY_BAD_VERSION,
		   "has xdd %s, with version %u of the protocol; this is %s, with version %d; "
		   "install the same on both, or give the path of another one with -b",
		   b->version, b->protocol, PACKAGE_STRING, COPY_PROTOCOL);
}

/* ---- the process ---- */

/* Another xdd of this host. */
static int start_here(const struct start *s, struct child *c)
{
	char path[PATH_MAX];
	char *argv[] = { path, (char *)"copy", (char *)"-server", NULL };
	int err = child_program(path, sizeof(path));

	if (!err)
		err = child_start(c, argv, CHILD_PLAIN);
	return err ? say(s, COPY_FAILED, "cannot start the other side, \"%s\" (%s)", path,
			 strerror(-err)) :
		     0;
}

static int start_there(const struct start *s, const struct copy_place *place, struct child *c)
{
	struct arena *arena = arena_new();
	char **argv;
	int err;

	if (!arena)
		return say(s, COPY_FAILED, "%s", strerror(ENOMEM));
	argv = ssh_command(arena, s->request, place, s->why);
	err = argv ? child_start(c, argv, CHILD_PLAIN) : 0;
	arena_free(arena);
	if (!argv)
		return COPY_BAD_NAMES;
	return err ? say_not_started(s, s->request->ssh[0], err) : 0;
}

static void close_child(const struct child *c)
{
	close(c->read_fd);
	close(c->write_fd);
}

/* Wait for the banner; the channel then has the descriptors of `c`. */
static int ssh_greet(const struct start *s, const struct child *c, uint64_t timeout_ns)
{
	struct banner b;

	switch (banner_await(c->read_fd, &b, s->request->answer_ns, &s->ssh->cut)) {
	case BANNER_FOUND:
		break;
	case BANNER_CLOSED:
		close_child(c);
		s->ssh->pid = -1;
		return say_no_banner(s, &b, child_wait(c->pid, END_NS));
	case BANNER_NOISE:
		close_child(c);
		return say_noise(s, &b);
	case BANNER_CUT:
		close_child(c);
		return say_canceled(s);
	case BANNER_LATE:
		close_child(c);
		return say_late(s);
	}
	if (b.protocol != COPY_PROTOCOL) {
		close_child(c);
		return say_version(s, &b);
	}
	s->ssh->channel = link_on_fds(c->read_fd, c->write_fd, timeout_ns);
	if (!s->ssh->channel)
		return say(s, COPY_FAILED, "cannot use the channel (%s)", strerror(ENOMEM));
	/* In this order: ssh_cut() does it the other way round. */
	atomic_store(&s->ssh->open, 1);
	if (atomic_load(&s->ssh->cut))
		link_abort(s->ssh->channel);
	return 0;
}

/* ---- START and STARTED ---- */

/* The server could not start: its own status and words. */
static int say_error(const struct start *s, const uint8_t *body, size_t length)
{
	struct wire_error e;
	char *text;

	if (wire_decode_error(body, length, &e) != WIRE_OK)
		return say(s, COPY_FAILED, "sent a malformed message");
	text = printable_dup(e.text, false);
	if (!text)
		printable_mask(e.text);
	say(s, COPY_FAILED, "%s", text ? text : e.text);
	free(text);
	return (int)e.status;
}

static int receive_started(const struct start *s)
{
	uint8_t body[WIRE_MAX_ERROR_BYTES];
	struct err why = { 0 };
	struct wire_header h;
	int err = link_receive(s->ssh->channel, 0, &h, &why);

	if (!err && h.length > sizeof(body))
		return say(s, COPY_FAILED, "sent a message that is too long");
	if (!err)
		err = link_receive_body(s->ssh->channel, &h, body, NULL, &why);
	if (err == -ECONNABORTED && atomic_load(&s->ssh->cut))
		return say_canceled(s);
	if (err)
		return say(s, err == -EBADMSG ? COPY_FAILED : COPY_SSH_ENDED, "%s", why.text);
	if (h.type == WIRE_ERROR)
		return say_error(s, body, (size_t)h.length);
	if (h.type != WIRE_COPY_STARTED ||
	    copy_decode_started(body, (size_t)h.length, &s->ssh->started) != WIRE_OK)
		return say(s, COPY_FAILED, "sent a message that was not expected");
	return 0;
}

static int send_start(const struct start *s, const struct copy_start *start)
{
	uint8_t *body = malloc(WIRE_MAX_BODY_BYTES);
	size_t length = body ? copy_encode_start(start, body, WIRE_MAX_BODY_BYTES) : 0;
	int err = length ? link_send_body(s->ssh->channel, WIRE_COPY_START, body, length) : 0;
	int status;

	/* It has the key. */
	if (body)
		explicit_bzero(body, length);
	free(body);
	if (!body)
		return say(s, COPY_FAILED, "%s", strerror(ENOMEM));
	if (!length)
		return say(s, COPY_BAD_NAMES,
			   "the names have more than %u bytes; give their directory, or a list "
			   "with -F",
			   WIRE_MAX_BODY_BYTES);
	if (err && atomic_load(&s->ssh->cut))
		return say_canceled(s);
	if (!err)
		return 0;
	/* A server that has ended may have said why. */
	status = ssh_has_ended(s->ssh, LAST_WORDS_NS) ? receive_started(s) : 0;
	return status ? status :
			say(s, COPY_SSH_ENDED, "the connection was lost (%s)", strerror(-err));
}

/* ---- the interface ---- */

static int start_server(const struct start *s, const struct copy_place *place,
			const struct copy_start *start)
{
	const char *missing;
	struct child c;
	int status;

	if (!digest_available(&missing) || !net_key_available(&missing))
		return say(s, COPY_FAILED, "%s, which copies between hosts need", missing);
	status = place->host ? start_there(s, place, &c) : start_here(s, &c);
	if (status)
		return status;
	s->ssh->pid = c.pid;
	status = ssh_greet(s, &c, start->settings.timeout_ns);
	return status ? status : send_start(s, start);
}

int ssh_start(struct ssh *ssh, const struct copy_request *request, const struct copy_place *place,
	      const struct copy_start *start, struct err *why)
{
	const struct start s = {
		.ssh = ssh,
		.request = request,
		.why = why,
		.is_local = !place->host,
	};

	return start_server(&s, place, start);
}

int ssh_await_start(struct ssh *ssh, struct err *why)
{
	const struct start s = { .ssh = ssh, .why = why };

	return receive_started(&s);
}

void ssh_cut(struct ssh *s)
{
	atomic_store(&s->cut, 1);
	if (atomic_load(&s->open))
		link_abort(s->channel);
}

bool ssh_has_ended(const struct ssh *s, uint64_t wait_ns)
{
	const uint64_t until_ns = clock_now_ns() + wait_ns;

	while (s->pid > 0) {
		siginfo_t info = { .si_pid = 0 };

		if (waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT))
			return false;
		if (info.si_pid)
			return true;
		if (clock_now_ns() >= until_ns)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	return false;
}

int ssh_end(struct ssh *s, uint64_t wait_ns)
{
	uint64_t since_ns;
	int status = 0;

	/* There is nothing to wait for: one that was silent has had its time. */
	if (!s->channel || atomic_load(&s->cut) || link_timed_out(s->channel))
		wait_ns = 0;
	atomic_store(&s->open, 0);
	link_close(s->channel);
	s->channel = NULL;
	since_ns = clock_now_ns();
	if (s->pid > 0) {
		status = child_wait(s->pid, wait_ns);
		s->was_ended = clock_now_ns() - since_ns >= wait_ns;
	}
	s->pid = -1;
	return status;
}
