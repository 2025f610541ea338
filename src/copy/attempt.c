/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One attempt to do a copy, and the steps by which both sides of it get data connections. Called
 * by copy.c.
 */
#include "copy/attempt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "copy/role.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/child.h"

/*
 * The two sides meet directly, or inside of the channels of ssh. Directly, a server listens first:
 * ssh has reached it, so its other ports may be reachable as well, while a firewall often keeps
 * connections away from the host of the user. Then the other side listens. The first step is the
 * same for all copies, so it is sent together with START.
 */

/* An attempt to connect, which a firewall may swallow; and the rest of the connections. */
#define CONNECT_NS (2 * NS_PER_SEC)
#define ACCEPT_NS (5 * NS_PER_SEC)

const struct copy_place *attempt_place(const struct copy_attempt *a, enum copy_role role)
{
	return role == COPY_SOURCE ? &a->request->sources[0] : &a->request->destination;
}

static const char *attempt_host(const struct copy_attempt *a, enum copy_role role)
{
	const struct copy_place *p = attempt_place(a, role);

	return p->host ? p->host : "this host";
}

static int attempt_failed(struct copy_attempt *a, int status, const char *text)
{
	return err_set(&a->why, status, "%s", text);
}

/* The session of a server has failed: the cause. Returns the exit status. */
static int server_failed(struct copy_attempt *a, enum copy_role role, int err, const char *text)
{
	a->at = role;
	return err_set(&a->why, err == -EBADMSG ? COPY_FAILED : COPY_SSH_ENDED, "%s",
		       text && *text ? text : strerror(-err));
}

/* A server has sent ERROR instead of an answer. */
static int server_error(struct copy_attempt *a, enum copy_role role, const uint8_t *body,
			size_t length)
{
	struct wire_error e;

	if (wire_decode_error(body, length, &e) != WIRE_OK)
		return server_failed(a, role, -EBADMSG, "sent a wrong message");
	a->at = role;
	return err_set(&a->why, (int)e.status, "%s", e.text);
}

/* Have a server do step `m`. Returns 0 or -errno. */
static int send_step(struct copy_attempt *a, enum copy_role role, const struct copy_meet *m)
{
	uint8_t body[WIRE_MAX_HELLO_BYTES * 4];

	return link_send_body(channel_to(a, role), WIRE_COPY_MEET, body,
			      copy_encode_meet(m, body, sizeof(body)));
}

/* The next message, with its body in `body`. Returns 0 or -errno with a text in `why`, or "". */
static int meeting_receive(struct link *channel, struct wire_header *h, uint8_t *body, size_t room,
			   struct err *why)
{
	int err = link_receive(channel, 0, h, why);

	if (!err && h->length > room)
		err = -EBADMSG;
	return err ? err : link_receive_body(channel, h, body, NULL, why);
}

/* Receive the answer to step `m` into it. Returns 0, or an exit status. */
static int receive_answer(struct copy_attempt *a, enum copy_role role, struct copy_meet *m)
{
	struct link *channel = channel_to(a, role);
	uint8_t body[WIRE_MAX_HELLO_BYTES * 4];
	struct err why = { 0 };
	enum copy_meet_how how = m->how;
	struct wire_header h;
	int err = meeting_receive(channel, &h, body, sizeof(body), &why);

	if (err)
		return server_failed(a, role, err, why.text);
	if (h.type == WIRE_ERROR)
		return server_error(a, role, body, h.length);
	if (h.type != WIRE_COPY_MET || copy_decode_meet(body, h.length, m) != WIRE_OK ||
	    m->how != how)
		return server_failed(a, role, -EBADMSG, "sent a wrong message");
	return 0;
}

/* Have a server do step `m`, which becomes its answer. Returns 0, or an exit status. */
static int meeting_ask(struct copy_attempt *a, enum copy_role role, struct copy_meet *m)
{
	int err = send_step(a, role, m);

	return err ? server_failed(a, role, err, NULL) : receive_answer(a, role, m);
}

/* The server that ssh has started, and of two the destination, listens first. */
static enum copy_role first_listener(const struct copy_attempt *a)
{
	return a->here[side_of(COPY_DESTINATION)] ? COPY_SOURCE : COPY_DESTINATION;
}

/*
 * Send the first step of the meeting with START to the server with `role`, if it is the one that
 * listens first. Whether that succeeds is seen when its answer is awaited.
 */
static void attempt_ask_first(struct copy_attempt *a, enum copy_role role)
{
	const struct copy_meet m = { .how = COPY_LISTEN };

	if (role == first_listener(a))
		send_step(a, role, &m);
}

static void add_address(struct copy_meet *m, const char *address)
{
	if (!*address || m->n_addresses == COPY_MAX_ADDRESSES ||
	    strlen(address) >= sizeof(m->addresses[0]))
		return;
	for (size_t i = 0; i < m->n_addresses; i++) {
		if (strcmp(m->addresses[i], address) == 0)
			return;
	}
	snprintf(m->addresses[m->n_addresses++], sizeof(m->addresses[0]), "%s", address);
}

/* The addresses of the server with `role`, as seen from this host or from another server. */
static void add_addresses(const struct copy_attempt *a, enum copy_role role, bool from_here,
			  struct copy_meet *m)
{
	const struct copy_started *started = &a->servers[side_of(role)].started;
	const struct copy_place *place = attempt_place(a, role);

	if (from_here && place->host)
		add_address(m, started->ssh_address);
	if (place->host)
		add_address(m, place->host);
	if (!from_here) {
		add_address(m, started->host);
		add_address(m, started->ssh_address);
	}
	if (!place->host)
		add_address(m, "127.0.0.1");
}

/*
 * A way to meet did not work: keep the first cause for the note, and try the next one. Returns 0
 * with `*met` false.
 */
static int no_way(struct err *cause, const char *host, const char *text)
{
	if (!err_is_set(cause))
		err_set(cause, -EHOSTUNREACH, "%s: %.900s", host, text);
	return 0;
}

/* Have the side with `role` listen: m->ok, and then m->port. Returns 0 or an exit status. */
static int listen_at(struct copy_attempt *a, enum copy_role role, struct data_listener **l,
		     struct copy_meet *m)
{
	struct err why;

	if (!a->here[side_of(role)])
		return role == first_listener(a) ? receive_answer(a, role, m) :
						   meeting_ask(a, role, m);
	meet_answer(m, data_listen(l, &a->terms, "", &m->port, &why), &why);
	return 0;
}

/* Have the side with `role` connect to the other one: to->ok. Returns 0 or an exit status. */
static int connect_from(struct copy_attempt *a, enum copy_role role, struct copy_meet *to)
{
	struct err why;

	if (!a->here[side_of(role)])
		return meeting_ask(a, role, to);
	meet_answer(to, data_connect(&a->links, &a->terms, to, CONNECT_NS, &why), &why);
	return 0;
}

/* The side with `role` listens, and the other one connects. Returns as no_way(), or a status. */
static int meet_directly(struct copy_attempt *a, enum copy_role role, bool *met, struct err *cause)
{
	const enum copy_role peer = copy_peer_of(role);
	const bool peer_is_here = a->here[side_of(peer)];
	struct copy_meet m = { .how = COPY_LISTEN }, to = { .how = COPY_CONNECT };
	struct data_listener *l = NULL;
	struct err why;
	int status = listen_at(a, role, &l, &m);

	if (status)
		return status;
	if (!m.ok && a->request->settings.port_given && !a->here[side_of(role)]) {
		a->at = role;
		return attempt_failed(a, COPY_NO_PORT, m.text);
	}
	if (!m.ok)
		return no_way(cause, attempt_host(a, role), m.text);
	to.port = m.port;
	/* A server knows the address of this host: ssh has told it. */
	if (!a->here[side_of(role)])
		add_addresses(a, role, peer_is_here, &to);
	status = connect_from(a, peer, &to);
	if (!status && to.ok && l)
		meet_answer(&to, data_accept(l, &a->links, ACCEPT_NS, &why), &why);
	data_listener_free(l);
	*met = !status && to.ok;
	return *met || status ? status :
				no_way(cause, attempt_host(a, peer_is_here ? role : peer), to.text);
}

static int meet_inside(struct copy_attempt *a)
{
	for (enum copy_role role = COPY_SOURCE; role <= COPY_DESTINATION; role++) {
		struct copy_meet m = { .how = COPY_INSIDE };
		int status = a->here[side_of(role)] ? 0 : meeting_ask(a, role, &m);

		if (status)
			return status;
		if (!a->here[side_of(role)] && !m.ok)
			return server_failed(a, role, -EBADMSG, m.text);
		a->links.inside = true;
		if (!a->here[side_of(role)])
			continue;
		a->links.links[0] = link_inside(channel_to(a, copy_peer_of(role)));
		if (!a->links.links[0])
			return server_failed(a, role, -ENOMEM, NULL);
		a->links.n = 1;
	}
	return 0;
}

/*
 * Have both sides get data connections. Returns 0, or an exit status with a text in `a->why`.
 */
static int attempt_meet(struct copy_attempt *a)
{
	const enum copy_role first = first_listener(a);
	struct err cause = { 0 };
	bool met = false;
	int status = meet_directly(a, first, &met, &cause);

	if (!status && !met)
		status = meet_directly(a, copy_peer_of(first), &met, &cause);
	if (!status && !met) {
		copy_report_note(a->report, "data goes through ssh, which is slower: %s",
				 cause.text);
		status = meet_inside(a);
	}
	copy_report_inside(a->report, !met);
	return status;
}

/* For the end of a server, whose channel is closed. */
#define END_NS (10 * NS_PER_SEC)

/* ---- servers ---- */

static int make_secrets(struct copy_attempt *a)
{
	uint8_t bytes[WIRE_KEY_BYTES + WIRE_SESSION_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return attempt_failed(a, COPY_FAILED, "cannot get random numbers for a key");
	memcpy(a->terms.key, bytes, WIRE_KEY_BYTES);
	memcpy(a->terms.session, bytes + WIRE_KEY_BYTES, WIRE_SESSION_BYTES);
	explicit_bzero(bytes, sizeof(bytes));
	a->terms.settings = &a->request->settings;
	return 0;
}

static int start_server(struct copy_attempt *a, enum copy_role role)
{
	const struct copy_request *r = a->request;
	struct copy_start start = {
		.role = role,
		.peer_is_here = a->here[side_of(copy_peer_of(role))],
		.settings = r->settings,
		.destination = r->destination.path,
		.own_host = attempt_host(a, role),
		.peer_host = attempt_host(a, copy_peer_of(role)),
		.sources = (const char **)a->sources,
		.n_sources = r->n_sources,
	};
	int status;

	memcpy(start.key, a->terms.key, sizeof(start.key));
	memcpy(start.session, a->terms.session, sizeof(start.session));
	a->at = role;
	status = ssh_start(&a->servers[side_of(role)], r, attempt_place(a, role), &start, &a->why);
	explicit_bzero(start.key, sizeof(start.key));
	if (!status)
		attempt_ask_first(a, role);
	if (!status)
		status = ssh_await_start(&a->servers[side_of(role)], &a->why);
	if (!status && role == COPY_DESTINATION)
		a->is_directory = a->servers[side_of(role)].started.is_directory;
	return status;
}

static int start_servers(struct copy_attempt *a)
{
	int status = 0;

	for (enum copy_role role = COPY_SOURCE; !status && role <= COPY_DESTINATION; role++) {
		if (!a->here[side_of(role)])
			status = start_server(a, role);
	}
	return status;
}

/* A signal before the roles begin: waits for the servers end. In the signal thread. */
static void cut_servers(void *arg)
{
	struct copy_attempt *a = arg;

	for (unsigned i = 0; i < 2; i++) {
		if (!a->here[i])
			ssh_cut(&a->servers[i]);
	}
}

/* Add to the reason of a lost connection: `end` is the exit status of its server. */
static void explain_loss(struct copy_attempt *a, enum copy_role role, int end)
{
	const struct copy_place *place = attempt_place(a, role);
	const char *host = place->host ? place->host : "this host";
	const int sig = end - CHILD_SIGNAL;
	const char *name = sig > 0 ? sigabbrev_np(sig) : NULL;

	if (name)
		err_add(&a->why, "; %sxdd on %s was killed by signal %d (SIG%s)%s",
			place->host ? "ssh or " : "", host, sig, name,
			sig == SIGKILL ? ", as the kernel does where memory is short" : "");
	else if (end && end != XDD_CANCELED && place->host)
		err_add(&a->why,
			"; ssh ended with status %d: either the network has failed, or xdd on %s "
			"was killed, as the kernel does where memory is short",
			end, host);
}

/* A login script there that leaves a process with the output of ssh holds it, for instance. */
static void note_lingering(const struct copy_attempt *a, enum copy_role role)
{
	const char *host = attempt_place(a, role)->host;

	copy_report_note(a->report, "%s: %s did not end within %g s after the copy, and was ended",
			 host ? host : "this host", host ? "ssh" : "the other process",
			 (double)END_NS / NS_PER_SEC);
}

/* A server that can receive no more may still send its counts, which have a status and no text. */
static void name_loss(struct copy_attempt *a)
{
	if (err_is_set(&a->why))
		return;
	a->at = a->here[side_of(COPY_DESTINATION)] ? COPY_SOURCE : COPY_DESTINATION;
	err_set(&a->why, COPY_SSH_ENDED, "the connection was lost");
}

/* A server that does not end as it should have has not said why. */
static int end_servers(struct copy_attempt *a, int status)
{
	for (enum copy_role role = COPY_SOURCE; role <= COPY_DESTINATION; role++) {
		struct ssh *server = &a->servers[side_of(role)];
		bool lost = a->begun && a->lost && err_is_set(&a->why) && a->at == role &&
			    ssh_has_ended(server, ATTEMPT_CAUSE_NS);
		int end = a->here[side_of(role)] ? 0 : ssh_end(server, END_NS);

		if (lost)
			explain_loss(a, role, end);

		/* All has arrived; only its own status is not known. */
		if (end && status == XDD_OK && server->was_ended) {
			note_lingering(a, role);
		} else if (end && status == XDD_OK) {
			a->at = role;
			status = err_set(&a->why, COPY_SSH_ENDED, "%s ended with status %d",
					 attempt_place(a, role)->host ? "ssh" : "the other process",
					 end);
		}
	}
	return status;
}

/* ---- the copy ---- */

static int begin_servers(struct copy_attempt *a)
{
	for (enum copy_role role = COPY_SOURCE; role <= COPY_DESTINATION; role++) {
		int err = a->here[side_of(role)] ?
				  0 :
				  link_send_body(channel_to(a, role), WIRE_COPY_BEGIN, NULL, 0);

		if (err) {
			a->at = role;
			return attempt_failed(a, COPY_SSH_ENDED, "the connection was lost");
		}
	}
	return 0;
}

static void report_links(struct copy_attempt *a)
{
	for (unsigned i = 0; i < a->links.n; i++) {
		struct connection_info info;

		if (link_is_channel(a->links.links[i]))
			continue;
		link_info(a->links.links[i], &info);
		copy_report_connection(a->report, &info);
	}
}

static void find_log(const struct copy_request *request, struct copy_job *job)
{
	struct stat st;

	if (!request->log_path || stat(request->log_path, &st) || !S_ISREG(st.st_mode))
		return;
	job->log_dev = st.st_dev;
	job->log_ino = st.st_ino;
}

/*
 * Start the servers, and let both sides meet and begin. Returns 0, or an exit status with a text in
 * `a->why`.
 */
static int begin(struct copy_attempt *a)
{
	int status = start_servers(a);

	if (!status)
		status = attempt_meet(a);
	if (!status && copy_report_begin(a->report) != 0)
		status = attempt_failed(a, COPY_FAILED, "cannot start a thread");
	if (!status)
		status = begin_servers(a);
	if (status)
		return status;
	a->begun = true;
	copy_signals_detach(a->signals);
	return 0;
}

/* Its names are looked at first: ssh may ask for a password. */
static int do_source(struct copy_attempt *a, struct copy_job *job)
{
	struct source *source;
	int status = copy_source_open(&source, job);

	if (status)
		return status;
	status = begin(a);
	if (!status) {
		job->channel = channel_to(a, COPY_DESTINATION);
		status = copy_source_run(source);
	}
	copy_source_close(source);
	return status;
}

static int do_role(struct copy_attempt *a, enum copy_role role)
{
	struct copy_job job = {
		.settings = &a->request->settings,
		.sources = a->sources,
		.n_sources = a->request->n_sources,
		.destination = a->request->destination.path,
		.peer_host = attempt_host(a, copy_peer_of(role)),
		.channel = channel_to(a, copy_peer_of(role)),
		.data = &a->links,
		.report = a->report,
		.stop = &a->stop,
		.signals = a->signals,
		.peer_is_server = true,
	};
	int status;

	memcpy(job.session, a->terms.session, sizeof(job.session));
	find_log(a->request, &job);
	status = role == COPY_SOURCE ? do_source(a, &job) : copy_destination(&job);
	/* Otherwise the sides have not met, and it says why. */
	if (a->begun || !err_is_set(&a->why)) {
		a->at = job.why_side;
		a->lost = job.lost;
		a->why = job.why;
	}
	return status;
}

static int do_copy(struct copy_attempt *a)
{
	int status;

	if (a->here[side_of(COPY_SOURCE)])
		return do_role(a, COPY_SOURCE);
	status = begin(a);
	if (status)
		return status;
	return a->here[side_of(COPY_DESTINATION)] ? do_role(a, COPY_DESTINATION) : attempt_relay(a);
}

int copy_attempt(struct copy_attempt *a)
{
	int status = make_secrets(a);

	stop_init(&a->stop);
	copy_signals_attach(a->signals, NULL, cut_servers, a);
	if (a->here[side_of(COPY_DESTINATION)])
		a->is_directory = copy_is_directory(a->request->destination.path);
	if (!status)
		status = do_copy(a);
	copy_signals_detach(a->signals);
	if (a->begun)
		report_links(a);
	data_links_close(&a->links);
	if (status == COPY_SSH_ENDED)
		name_loss(a);
	a->lost |= status == COPY_SSH_ENDED;
	status = end_servers(a, status);
	a->lost |= status == COPY_SSH_ENDED;
	/* A signal to the whole group may end ssh before this process has taken it. */
	if (copy_signals_await(a->signals, status == COPY_SSH_ENDED ? SAME_SIGNAL_NS : 0))
		status = XDD_CANCELED;
	stop_destroy(&a->stop);
	explicit_bzero(a->terms.key, sizeof(a->terms.key));
	return status;
}
