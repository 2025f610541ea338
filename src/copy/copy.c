/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy as its user started it: attempts, and the report; and copies between two other hosts.
 * Called by the command xdd copy.
 */
#include "xdd/copy/copy.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "copy/attempt.h"
#include "copy/role.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

/* Between attempts: doubled each time. */
#define PAUSE_NS NS_PER_SEC
#define MOST_PAUSE_NS (30 * NS_PER_SEC)

/* Paths for both sides; an empty path of a remote host is its home directory. */
static const char *path_of(const struct copy_place *p)
{
	return *p->path ? p->path : ".";
}

/* A name with a host that also names a local file; NULL: there is none. */
static const char *local_name(const struct copy_place *places, size_t n)
{
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		if (places[i].host && places[i].word && lstat(places[i].word, &st) == 0)
			return places[i].word;
	}
	return NULL;
}

/* The host that ssh did not reach may be the begin of a local name. */
static void hint_at_local_name(struct copy_attempt *a)
{
	const struct copy_request *r = a->request;
	const char *name = a->at == COPY_SOURCE ? local_name(r->sources, r->n_sources) :
						  local_name(&r->destination, 1);

	if (name)
		err_add(&a->why, "; for the local file of this name say ./%s", name);
}

/* Why there is no good end, as a line of the report. */
static void report_why(struct copy_report *report, const struct copy_attempt *a, int status)
{
	struct copy_failure f = { .status = (uint32_t)status };

	snprintf(f.text, sizeof(f.text), "%s", a->why.text);
	copy_report_failure(report, a->at, &f);
}

/* `left` attempts of request->retries are left. */
static void note_retry(struct copy_report *report, const struct copy_attempt *a, unsigned left)
{
	const char *host = attempt_place(a, a->at)->host;
	const unsigned retries = a->request->retries;

	copy_report_note(report, "%s: %s; attempt %u of %u follows", host ? host : "this host",
			 a->why.text, retries - left + 2, retries + 1);
}

static void stop_sleeping(void *arg)
{
	stop_request(arg, STOP_SIGNAL, 0);
}

/* Wait before another attempt. False: a signal came. */
static bool pause_before(struct copy_signals *signals, uint64_t ns)
{
	struct stop stop;
	bool slept;

	stop_init(&stop);
	copy_signals_attach(signals, NULL, stop_sleeping, &stop);
	slept = stop_sleep_until(&stop, clock_now_ns() + ns) == 0;
	copy_signals_detach(signals);
	stop_destroy(&stop);
	return slept;
}

/* A list on standard input can be read once only. */
static bool can_repeat(const struct copy_request *r)
{
	return !r->settings.list || strcmp(r->sources[0].path, "-") != 0;
}

unsigned copy_attempts(const struct copy_request *request)
{
	return can_repeat(request) ? request->retries + 1 : 1;
}

static int copy_all(struct copy_request *request, struct copy_report *report,
		    struct copy_signals *signals, const char *const *sources)
{
	const bool local = !request->sources[0].host;
	uint64_t pause_ns = PAUSE_NS;
	bool begun = false, first = true;

	for (unsigned left = can_repeat(request) ? request->retries : 0;; left--) {
		struct copy_attempt a = {
			.request = request,
			.report = report,
			.signals = signals,
			.sources = sources,
			/* Within this host the destination is another process. */
			.here = { local, !request->destination.host && !local },
		};
		int status = copy_attempt(&a);

		begun |= a.begun;
		/*
		 * The next one must not copy into a directory that the first one makes. None
		 * follows where the first one does not know.
		 */
		if (first)
			request->settings.new_name = !a.is_directory;
		first = false;
		if (!a.lost || status == XDD_CANCELED || !left || !begun) {
			if (a.lost && !begun)
				hint_at_local_name(&a);
			if (err_is_set(&a.why) && status != XDD_OK && status != XDD_CANCELED)
				report_why(report, &a, status);
			return status;
		}
		note_retry(report, &a, left);
		if (!pause_before(signals, pause_ns))
			return XDD_CANCELED;
		pause_ns = ns_earlier(2 * pause_ns, MOST_PAUSE_NS);
		/* The time stamps of the attempt before stay. */
		request->settings.begun_s = (uint64_t)time(NULL);
	}
}

static int copy_with_report(const struct copy_request *request, struct copy_report *report,
			    struct copy_signals *signals)
{
	struct copy_request r = *request;
	const char **sources = calloc(r.n_sources, sizeof(*sources));
	int status;

	if (!sources) {
		log_error("copy: %s", strerror(ENOMEM));
		return COPY_FAILED;
	}
	for (size_t i = 0; i < r.n_sources; i++)
		sources[i] = path_of(&r.sources[i]);
	r.destination.path = path_of(&r.destination);
	status = copy_all(&r, report, signals, sources);
	free(sources);
	return copy_worse_status(status, copy_report_status(report));
}

int copy_run(const struct copy_request *request)
{
	struct copy_signals *signals;
	struct copy_report *report;
	int status, err;

	err = copy_signals_start(&signals, false);
	if (err) {
		log_error("copy: cannot start a thread (%s)", strerror(-err));
		return COPY_FAILED;
	}
	status = copy_report_open(&report, request);
	if (!status) {
		status = copy_with_report(request, report, signals);
		status = copy_report_close(report, status);
	}
	copy_signals_end(signals);
	return status;
}

/*
 * A copy between two remote hosts: their servers speak to each other through this process, which
 * passes each message on, and reads only what its report needs. Data does not come here, unless
 * the hosts cannot reach each other.
 *
 * One thread passes messages in each direction, and one tells both servers of a signal. A thread
 * waits for the receiver of its direction only, so the two sides cannot wait for each other here.
 * The destination may leave first: then the last messages of the source are for the report only.
 */

/* For BYE of a destination that takes no more messages: it is sent before the process ends. */
#define BYE_NS NS_PER_SEC

struct relay;

/* A direction. */
struct way {
	struct relay *relay;
	enum copy_role from;
	struct link *in, *out;
	struct link *out_data; /* of data inside of the channel; NULL: there is none */
	uint8_t *body;
	size_t room;
	pthread_t thread;
	bool started;
};

struct relay {
	struct copy_attempt *attempt;
	struct way ways[2];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* guarded by lock */
	bool over;    /* one side has failed: what follows is no cause */
	bool left[2]; /* BYE of the source and of the destination has come */
	int status;
};

/* ---- ends ---- */

static void add_status(struct relay *r, int status)
{
	pthread_mutex_lock(&r->lock);
	r->status = copy_worse_status(r->status, status);
	pthread_mutex_unlock(&r->lock);
}

static void abort_channels(void *arg)
{
	struct relay *r = arg;

	link_abort(channel_to(r->attempt, COPY_SOURCE));
	link_abort(channel_to(r->attempt, COPY_DESTINATION));
}

/* The first cause counts. It ends this direction; the other one ends with its sender. */
static void relay_fail(struct relay *r, enum copy_role at, int status, const char *text)
{
	struct copy_attempt *a = r->attempt;

	pthread_mutex_lock(&r->lock);
	if (!r->over) {
		r->over = true;
		r->status = copy_worse_status(r->status, status);
		a->at = at;
		a->lost = status == COPY_SSH_ENDED;
		err_set(&a->why, status, "%s", text);
	}
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

/* A channel is of no use any more, so neither is the other one. */
static void lose(struct relay *r, enum copy_role at, int err, const struct err *why)
{
	relay_fail(r, at, err == -EBADMSG ? COPY_FAILED : COPY_SSH_ENDED,
		   why && err_is_set(why) ? why->text : "the connection was lost");
	abort_channels(r);
}

static void note_bye(struct relay *r, enum copy_role from)
{
	pthread_mutex_lock(&r->lock);
	r->left[side_of(from)] = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

/*
 * A side that takes no more messages has ended in good order: a destination does so while its
 * source still speaks. The other thread may yet have to receive its BYE.
 */
static bool has_left(struct relay *r, enum copy_role side)
{
	const uint64_t until_ns = clock_kernel_ns() + BYE_NS;
	bool left;

	pthread_mutex_lock(&r->lock);
	while (!r->left[side_of(side)] && !r->over &&
	       cond_wait(&r->changed, &r->lock, until_ns) == 0)
		;
	left = r->left[side_of(side)];
	pthread_mutex_unlock(&r->lock);
	return left;
}

/* ---- messages that the report shows ---- */

static void read_counts(struct relay *r, enum copy_role from, const struct wire_header *h,
			const uint8_t *body)
{
	struct copy_counts c;

	if (copy_decode_counts(body, h->length, &c) != WIRE_OK)
		return;
	copy_report_counts(r->attempt->report, from, &c);
	if (h->type != WIRE_COPY_COUNTS)
		add_status(r, (int)c.status);
}

static void read_failure(struct relay *r, enum copy_role from, const struct wire_header *h,
			 const uint8_t *body)
{
	struct copy_failure f;

	if (copy_decode_failure(body, h->length, &f) == WIRE_OK)
		copy_report_failure(r->attempt->report, from, &f);
}

static void read_end(struct relay *r, enum copy_role from, const struct wire_header *h,
		     const uint8_t *body)
{
	struct copy_failure f = { .id = 0 };
	struct wire_error e;

	if (wire_decode_error(body, h->length, &e) != WIRE_OK)
		return;
	add_status(r, (int)e.status);
	if (h->type == WIRE_ERROR) {
		relay_fail(r, from, (int)e.status, e.text);
		return;
	}
	f.status = e.status;
	memcpy(f.text, e.text, sizeof(f.text));
	if (stop_why(&r->attempt->stop) != STOP_SIGNAL)
		copy_report_failure(r->attempt->report, from, &f);
}

/* True: it was the last message of this direction. */
static bool read_message(struct way *w, const struct wire_header *h)
{
	switch (h->type) {
	case WIRE_COPY_COUNTS:
	case WIRE_COPY_FINISH:
	case WIRE_COPY_FINISHED:
		read_counts(w->relay, w->from, h, w->body);
		return false;
	case WIRE_COPY_FAILURE:
		read_failure(w->relay, w->from, h, w->body);
		return false;
	case WIRE_COPY_OFFER:
		copy_report_offer(w->relay->attempt->report, w->body, h->length);
		return false;
	case WIRE_COPY_RESULT:
		copy_report_results(w->relay->attempt->report, w->body, h->length);
		return false;
	case WIRE_COPY_CANCEL:
	case WIRE_ERROR:
		read_end(w->relay, w->from, h, w->body);
		return h->type == WIRE_ERROR;
	case WIRE_BYE:
		note_bye(w->relay, w->from);
		return true;
	default:
		return false;
	}
}

/* ---- a direction ---- */

static int relay_receive(struct way *w, struct wire_header *h, struct err *why)
{
	return link_receive_message(w->in, w->out_data ? COPY_MAX_BLOCK_BYTES : 0, h, &w->body,
				    &w->room, why);
}

static int pass_on(struct way *w, const struct wire_header *h)
{
	bool data = h->connection != WIRE_NO_CONNECTION;
	struct iovec part = { .iov_base = w->body, .iov_len = h->length };
	struct wire_header out = *h;

	if (data && !w->out_data)
		return -EBADMSG;
	return link_send(data ? w->out_data : w->out, &out, &part, h->length ? 1 : 0, NULL);
}

static void *pass_messages(void *arg)
{
	struct way *w = arg;
	struct relay *r = w->relay;

	for (;;) {
		struct err why = { 0 };
		struct wire_header h;
		bool last;
		int err = relay_receive(w, &h, &why);

		if (err) {
			lose(r, w->from, err, &why);
			break;
		}
		last = read_message(w, &h);
		err = pass_on(w, &h);
		if (last)
			break;
		if (err && (err == -EBADMSG || !has_left(r, copy_peer_of(w->from)))) {
			lose(r, copy_peer_of(w->from), err, NULL);
			break;
		}
	}
	return NULL;
}

/* ---- signals ---- */

static void relay_cancel(struct relay *r, int sig)
{
	struct wire_error e = { .status = XDD_CANCELED };
	uint8_t body[WIRE_MAX_ERROR_BYTES];
	size_t n;

	snprintf(e.text, sizeof(e.text), "the copy was ended by SIG%s",
		 sig ? sigabbrev_np(sig) : "?");
	n = wire_encode_error(&e, body);
	link_send_body(channel_to(r->attempt, COPY_DESTINATION), WIRE_COPY_CANCEL, body, n);
	link_send_body(channel_to(r->attempt, COPY_SOURCE), WIRE_COPY_CANCEL, body, n);
}

static void *wait_for_signal(void *arg)
{
	struct relay *r = arg;
	struct stop *stop = &r->attempt->stop;

	stop_sleep_until(stop, UINT64_MAX / 2);
	if (stop_why(stop) == STOP_SIGNAL)
		relay_cancel(r, copy_signals_await(r->attempt->signals, 0));
	return NULL;
}

/* ---- the relay ---- */

static int start_way(struct relay *r, enum copy_role from)
{
	struct way *w = &r->ways[side_of(from)];
	int err;

	w->relay = r;
	w->from = from;
	w->in = channel_to(r->attempt, from);
	w->out = channel_to(r->attempt, copy_peer_of(from));
	if (r->attempt->links.inside) {
		w->out_data = link_inside(w->out);
		if (!w->out_data)
			return -ENOMEM;
	}
	err = thread_start(&w->thread, pass_messages, w);
	w->started = !err;
	return err;
}

static void end_way(struct way *w)
{
	if (w->started)
		pthread_join(w->thread, NULL);
	link_close(w->out_data);
	free(w->body);
}

int attempt_relay(struct copy_attempt *a)
{
	struct relay r = { .attempt = a };
	pthread_t canceler;
	int err, status;

	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.changed, NULL);
	err = start_way(&r, COPY_SOURCE);
	if (!err)
		err = start_way(&r, COPY_DESTINATION);
	if (!err)
		err = thread_start(&canceler, wait_for_signal, &r);
	if (err) {
		relay_fail(&r, a->at, COPY_FAILED, strerror(-err));
		abort_channels(&r);
	} else {
		copy_signals_attach(a->signals, &a->stop, abort_channels, &r);
	}
	for (unsigned i = 0; i < 2; i++)
		end_way(&r.ways[i]);
	copy_signals_detach(a->signals);
	stop_request(&a->stop, STOP_ERROR, 0);
	if (!err)
		pthread_join(canceler, NULL);
	status = r.status;
	pthread_cond_destroy(&r.changed);
	pthread_mutex_destroy(&r.lock);
	return status;
}
