/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The side of a copy that ssh has started: xdd copy -server. Called by the command xdd copy.
 *
 * It says what fails through the channel only, as the other side has a report; its standard error
 * is the terminal of the user.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "copy/link/link.h"
#include "copy/role.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/copy/copy.h"
#include "xdd/net/wire.h"
#include "xdd/sys/clock.h"

/* Until START brings the limit of this copy. */
#define START_NS (30 * NS_PER_SEC)

/*
 * How long the other side may keep this server alive without START: an initiator that copies
 * between two hosts may wait for a password of the other one meanwhile.
 */
#define MOST_START_NS (600 * NS_PER_SEC)

#define CONNECT_NS (2 * NS_PER_SEC)
#define ACCEPT_NS (10 * NS_PER_SEC)

struct server {
	struct copy_signals *signals;
	struct copy_report *report;
	struct link *channel;
	uint8_t *body;
	size_t room;
	struct copy_start start; /* its strings are in `start_body` */
	uint8_t *start_body;
	struct data_terms terms;
	struct data_listener *listener; /* until the copy begins */
	struct data_links links;
};

static void cut_channel(void *arg)
{
	link_abort(arg);
}

/* End the session with a text for the user. Returns `status`. */
static int fail(struct server *s, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int fail(struct server *s, int status, const char *fmt, ...)
{
	struct wire_error e = { .status = (uint32_t)status };
	uint8_t body[WIRE_MAX_ERROR_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	link_send_body(s->channel, WIRE_ERROR, body, wire_encode_error(&e, body));
	return status;
}

/* ---- the channel ---- */

/*
 * Standard input and output become the channel, and nothing else can use them. Returns 0 or -errno.
 */
static int open_channel(struct server *s)
{
	int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int err = in < 0 || out < 0 || null < 0 ? -errno : 0;

	if (!err && (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0))
		err = -errno;
	/* With -Y all three are one terminal: no text may get between the messages. */
	if (!err && isatty(STDERR_FILENO) && isatty(in) && dup2(null, STDERR_FILENO) < 0)
		err = -errno;
	if (null >= 0)
		close(null);
	if (err) {
		if (in >= 0)
			close(in);
		if (out >= 0)
			close(out);
		return err;
	}
	s->channel = link_on_fds(in, out, START_NS);
	return s->channel ? 0 : -ENOMEM;
}

/* The next message, with its body in s->body. Returns 0 or an exit status. */
static int receive(struct server *s, struct wire_header *h)
{
	struct err why = { 0 };
	int err = link_receive_message(s->channel, 0, h, &s->body, &s->room, &why);

	if (err == -EBADMSG || err == -ENOMEM)
		return fail(s, COPY_FAILED, "%s", err_text(&why, err));
	return err ? COPY_SSH_ENDED : 0;
}

/* ---- START ---- */

/* Word `i`, from 0, of the addresses that ssh knows: of the client and of this host. */
static void ssh_word(unsigned i, char *out, size_t size)
{
	const char *text = getenv("SSH_CONNECTION");
	size_t length;

	*out = '\0';
	if (!text)
		return;
	for (; i > 0; i--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	length = strcspn(text, " ");
	if (length < size) {
		memcpy(out, text, length);
		out[length] = '\0';
	}
}

static int answer_start(struct server *s)
{
	struct copy_started started = { .software = PACKAGE_NAME " " PACKAGE_VERSION };
	uint8_t body[WIRE_MAX_HELLO_BYTES];
	struct utsname names;

	if (uname(&names) == 0)
		snprintf(started.host, sizeof(started.host), "%s", names.nodename);
	ssh_word(2, started.ssh_address, sizeof(started.ssh_address));
	started.is_directory = s->start.role == COPY_DESTINATION &&
			       copy_is_directory(s->start.destination);
	if (link_send_body(s->channel, WIRE_COPY_STARTED, body,
			   copy_encode_started(&started, body, sizeof(body))) != 0)
		return COPY_SSH_ENDED;
	return 0;
}

static int take_start(struct server *s)
{
	struct wire_header h;
	int status;

	link_set_deadline(s->channel, clock_now_ns() + MOST_START_NS);
	status = receive(s, &h);
	link_set_deadline(s->channel, 0);
	if (status)
		return status;
	if (h.type != WIRE_COPY_START || copy_decode_start(s->body, h.length, &s->start) != WIRE_OK)
		return fail(s, COPY_FAILED, "expected a valid START as the first message");
	s->start_body = s->body;
	s->body = NULL;
	s->room = 0;
	memcpy(s->terms.key, s->start.key, sizeof(s->terms.key));
	memcpy(s->terms.session, s->start.session, sizeof(s->terms.session));
	link_set_timeout(s->channel, s->start.settings.timeout_ns);
	explicit_bzero(s->start.key, sizeof(s->start.key));
	s->terms.settings = &s->start.settings;
	return answer_start(s);
}

/* ---- meeting ---- */

static void close_meeting(struct server *s)
{
	data_listener_free(s->listener);
	s->listener = NULL;
	data_links_close(&s->links);
	memset(&s->links, 0, sizeof(s->links));
}

/* True for a copy within one host. */
static bool is_local(const struct server *s)
{
	return s->start.peer_is_here && strcmp(s->start.own_host, s->start.peer_host) == 0;
}

static void meet_listen(struct server *s, struct copy_meet *m)
{
	char address[64] = "";
	struct err why;

	/* Another server may reach this host by another address. */
	if (is_local(s))
		snprintf(address, sizeof(address), "127.0.0.1");
	else if (s->start.peer_is_here)
		ssh_word(2, address, sizeof(address));
	meet_answer(m, data_listen(&s->listener, &s->terms, address, &m->port, &why), &why);
}

static void meet_connect(struct server *s, struct copy_meet *m)
{
	struct copy_meet to = *m;
	struct err why;

	if (!to.n_addresses) {
		ssh_word(0, to.addresses[0], sizeof(to.addresses[0]));
		to.n_addresses = *to.addresses[0] ? 1 : 0;
	}
	m->n_addresses = 0;
	if (!to.n_addresses) {
		snprintf(m->text, sizeof(m->text), "the address of the other side is not known");
		return;
	}
	meet_answer(m, data_connect(&s->links, &s->terms, &to, CONNECT_NS, &why), &why);
}

static void meet_inside(struct server *s, struct copy_meet *m)
{
	s->links.links[0] = link_inside(s->channel);
	if (!s->links.links[0]) {
		snprintf(m->text, sizeof(m->text), "%s", strerror(ENOMEM));
		return;
	}
	s->links.n = 1;
	s->links.inside = true;
	m->ok = true;
}

/* A step, and its answer. Returns 0 or an exit status. */
static int meet(struct server *s, const struct wire_header *h)
{
	uint8_t body[WIRE_MAX_HELLO_BYTES * 4];
	struct copy_meet m;

	if (copy_decode_meet(s->body, h->length, &m) != WIRE_OK)
		return fail(s, COPY_FAILED, "a wrong MEET was received");
	close_meeting(s);
	m.ok = false;
	*m.text = '\0';
	if (m.how == COPY_LISTEN)
		meet_listen(s, &m);
	else if (m.how == COPY_CONNECT)
		meet_connect(s, &m);
	else
		meet_inside(s, &m);
	if (m.ok)
		*m.text = '\0';
	return link_send_body(s->channel, WIRE_COPY_MET, body,
			      copy_encode_meet(&m, body, sizeof(body))) ?
		       COPY_SSH_ENDED :
		       0;
}

/* Until BEGIN. Returns 0 or an exit status. */
static int take_steps(struct server *s)
{
	struct wire_header h;
	struct err why;
	int status;

	for (;;) {
		status = receive(s, &h);
		if (status)
			return status;
		if (h.type == WIRE_COPY_BEGIN)
			break;
		if (h.type != WIRE_COPY_MEET)
			return fail(s, COPY_FAILED, "%s came before BEGIN", wire_type_name(h.type));
		status = meet(s, &h);
		if (status)
			return status;
	}
	if (s->listener && data_accept(s->listener, &s->links, ACCEPT_NS, &why) != 0)
		return fail(s, COPY_FAILED, "%s", why.text);
	if (!s->links.n)
		return fail(s, COPY_FAILED, "BEGIN came before MEET");
	data_listener_free(s->listener);
	s->listener = NULL;
	return 0;
}

/* ---- the copy ---- */

static int do_source(struct copy_job *job)
{
	struct source *source;
	int status = copy_source_open(&source, job);

	if (!status) {
		status = copy_source_run(source);
		copy_source_close(source);
	}
	return status;
}

static int do_role(struct server *s)
{
	struct stop stop;
	struct copy_job job = {
		.settings = &s->start.settings,
		.sources = s->start.sources,
		.n_sources = s->start.n_sources,
		.destination = s->start.destination,
		.peer_host = s->start.peer_host,
		.channel = s->channel,
		.data = &s->links,
		.report = s->report,
		.stop = &stop,
		.signals = s->signals,
		.is_remote = !is_local(s),
		.is_server = true,
		.peer_is_server = !s->start.peer_is_here,
	};
	int status;

	memcpy(job.session, s->terms.session, sizeof(job.session));
	stop_init(&stop);
	copy_signals_detach(s->signals);
	status = s->start.role == COPY_SOURCE ? do_source(&job) : copy_destination(&job);
	copy_signals_detach(s->signals);
	stop_destroy(&stop);
	return status;
}

static int serve(struct server *s)
{
	int status;

	copy_signals_attach(s->signals, NULL, cut_channel, s->channel);
	status = take_start(s);
	if (!status)
		status = copy_report_open(&s->report, NULL);
	if (!status)
		status = take_steps(s);
	if (!status)
		status = do_role(s);
	copy_signals_detach(s->signals);
	close_meeting(s);
	return copy_report_close(s->report, status);
}

int copy_server(void)
{
	struct server s = { .channel = NULL };
	int status = COPY_SSH_ENDED, err;
	const char *missing;

	if (!digest_available(&missing)) {
		log_error("copy: %s, which copies between hosts need", missing);
		return COPY_BAD_VERSION;
	}
	err = copy_signals_start(&s.signals, true);
	if (!err)
		err = open_channel(&s);
	if (!err)
		err = banner_send(s.channel);
	if (!err)
		status = serve(&s);
	else
		log_error("copy: cannot speak to the other side (%s)", strerror(-err));
	link_close(s.channel);
	copy_signals_end(s.signals);
	copy_start_free(&s.start);
	explicit_bzero(s.terms.key, sizeof(s.terms.key));
	free(s.start_body);
	free(s.body);
	return status;
}
