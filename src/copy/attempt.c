/*
 * One attempt to do a copy; see the header.
 */
#include "copy/attempt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "copy/link/channel.h"
#include "copy/role.h"
#include "copy/tops.h"
#include "xdd/base/units.h"
#include "xdd/sync/signal_thread.h"

/* For the end of a server, whose channel is closed. */
#define END_NS (10 * NS_PER_SEC)

/* Exit statuses of shells above this one are those of signals. */
#define STATUS_SIGNAL 128

static int attempt_failed(struct copy_attempt *a, int status, const char *text)
{
	snprintf(a->why, sizeof(a->why), "%s", text);
	return status;
}

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
	status = ssh_start(&a->servers[side_of(role)], r, attempt_place(a, role), &start, a->why,
			   sizeof(a->why));
	explicit_bzero(start.key, sizeof(start.key));
	if (!status)
		attempt_ask_early(a, role);
	if (!status)
		status = ssh_await_start(&a->servers[side_of(role)], a->why, sizeof(a->why));
	if (!status)
		*a->why = '\0';
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
	const size_t length = strlen(a->why);
	char *at = a->why + length;
	const size_t room = sizeof(a->why) - length;
	const int sig = end - STATUS_SIGNAL;
	const char *name = sig > 0 ? sigabbrev_np(sig) : NULL;

	if (name)
		snprintf(at, room, "; %sxdd on %s was killed by signal %d (SIG%s)%s",
			 place->host ? "ssh or " : "", host, sig, name,
			 sig == SIGKILL ? ", as the kernel does where memory is short" : "");
	else if (end && end != XDD_CANCELED && place->host)
		snprintf(at, room,
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

/* A server that does not end as it should have has not said why. */
static int end_servers(struct copy_attempt *a, int status)
{
	for (enum copy_role role = COPY_SOURCE; role <= COPY_DESTINATION; role++) {
		struct ssh *server = &a->servers[side_of(role)];
		bool lost = a->begun && a->lost && *a->why && a->at == role &&
			    ssh_has_ended(server, ATTEMPT_CAUSE_NS);
		int end = a->here[side_of(role)] ? 0 : ssh_end(server, END_NS);

		if (lost)
			explain_loss(a, role, end);

		/* All has arrived; only its own status is not known. */
		if (end && status == XDD_OK && server->was_ended) {
			note_lingering(a, role);
		} else if (end && status == XDD_OK) {
			a->at = role;
			snprintf(a->why, sizeof(a->why), "%s ended with status %d",
				 attempt_place(a, role)->host ? "ssh" : "the other process", end);
			status = COPY_SSH_ENDED;
		}
	}
	return status;
}

/* ---- the copy ---- */

static int begin_servers(struct copy_attempt *a)
{
	for (enum copy_role role = COPY_SOURCE; role <= COPY_DESTINATION; role++) {
		int err = a->here[side_of(role)] ? 0 :
						   link_send_body(a->servers[side_of(role)].channel,
								  WIRE_COPY_BEGIN, NULL, 0);

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

static struct link *channel_to(const struct copy_attempt *a, enum copy_role role)
{
	return a->servers[side_of(role)].channel;
}

int attempt_begin(struct copy_attempt *a)
{
	int status;

	if (a->told)
		return 0;
	if (copy_report_begin(a->report) != 0)
		return attempt_failed(a, COPY_FAILED, "cannot start a thread");
	status = begin_servers(a);
	if (status)
		return status;
	a->told = true;
	if (a->job) {
		a->job->channel = channel_to(a, COPY_DESTINATION);
		a->job->may_send(a->job->may_send_arg);
	}
	return 0;
}

/* Start the servers, and let both sides meet and begin. Returns 0 or an exit status. */
static int begin(struct copy_attempt *a)
{
	int status = start_servers(a);

	if (!status)
		status = attempt_meet(a);
	if (!status)
		status = attempt_begin(a);
	if (status)
		return status;
	a->begun = true;
	copy_signals_detach(a->signals);
	return 0;
}

/* Called by the source of this process. */
static int begin_source(void *attempt, struct copy_job *job)
{
	struct copy_attempt *a = attempt;
	int status;

	a->job = job;
	status = begin(a);
	a->job = NULL;
	return status;
}

static int do_role(struct copy_attempt *a, enum copy_role role)
{
	struct copy_job job = {
		.settings = &a->request->settings,
		.sources = a->sources,
		.n_sources = a->request->n_sources,
		.destination = a->request->destination.path,
		.own_host = attempt_host(a, role),
		.peer_host = attempt_host(a, copy_peer_of(role)),
		.meet = role == COPY_SOURCE ? begin_source : NULL,
		.meet_arg = a,
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
	if (copy_tops_set(&job) != 0)
		return attempt_failed(a, COPY_FAILED, strerror(ENOMEM));
	status = role == COPY_SOURCE ? copy_source(&job) : copy_destination(&job);
	copy_tops_free(&job);
	/* Otherwise the sides have not met, and it says why. */
	if (a->begun || !*a->why) {
		a->at = job.why_side;
		a->lost = job.lost;
		snprintf(a->why, sizeof(a->why), "%s", job.why);
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
