/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common part of both roles of a copy: its begin, its end, and its two threads; see the
 * header. Callers: source/ and destination/.
 */
#include "copy/role.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/machine.h"

/* Ends that the speaking thread announces to the peer. */
enum role_end {
	END_NONE,
	END_CANCEL, /* CANCEL, and the exchange follows */
	END_FATAL,  /* ERROR, and nothing follows */
};

struct role {
	/* const after role_open() */
	struct copy_job *job;
	enum copy_role is;
	const struct role_ops *ops;
	void *arg;
	uint64_t begun_ns;
	uint64_t throttled_ns; /* cgroup_throttled_ns() then */

	pthread_t receiver, speaker; /* main thread */
	bool has_receiver, has_speaker;

	/* owned by the receiving thread */
	uint8_t *body;
	size_t room;
	uint64_t never_offered; /* role_never_offered() */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* guarded by lock */
	enum role_end end;	 /* the first one counts */
	enum role_end announced; /* of the second thread, then of role_finish() */
	struct wire_error cause; /* of it */
	bool started;		 /* the data connections are there */
	bool canceled;		 /* CANCEL was sent or received */
	bool all_offered;	 /* source: role_all_offered() */
	bool finish_sent;	 /* source: FINISHED may come, as it may earlier from a server */
	bool nothing_left;	 /* destination: role_nothing_left() */
	bool finish_seen, bye_seen;
	bool complete; /* FINISHED has passed: what is lost from now on does not matter */
	bool over;     /* nothing comes from the peer any more */
	bool quiet;    /* the speaking thread is to end */
	int status;
	uint64_t failed, warnings;
	struct copy_counts peer;
};

/* True in the receiving thread of a role. */
static _Thread_local bool is_receiver;

/*
 * How a role ends: its causes, from any thread.
 */

/* How long what has failed to be sent or received may wait for the cause on the channel. */
#define CAUSE_NS NS_PER_SEC

int copy_worse_status(int a, int b)
{
	if (a == XDD_CANCELED || b == XDD_CANCELED)
		return XDD_CANCELED;
	return a > b ? a : b;
}

/* Keep the worse status. r->lock is held. */
static void role_set_status(struct role *r, int status)
{
	r->status = copy_worse_status(r->status, status);
}

/* The first cause, with words about a side for the caller of the role. r->lock is held. */
static void set_why(struct role *r, enum copy_role side, int status, const char *text)
{
	role_set_status(r, status);
	if (err_is_set(&r->job->why))
		return;
	err_set(&r->job->why, status, "%s", text);
	r->job->why_side = side;
	r->job->lost = status == COPY_SSH_ENDED;
}

/*
 * Nothing comes from the peer any more; unless the ends are exchanged, `text` is the cause, with
 * the side that it speaks of. NULL: that is as it should be. Any thread.
 */
static void role_end_receiving(struct role *r, enum copy_role side, int status, const char *text)
{
	bool complete;

	pthread_mutex_lock(&r->lock);
	complete = r->complete;
	if (!r->over && !complete && text)
		set_why(r, side, status, text);
	r->over = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	/* The role may still be at its own end, which is not an early one. */
	if (!complete)
		stop_request(r->job->stop, STOP_ERROR, 0);
}

static void request_end(struct role *r, enum role_end end, int status, const char *fmt, va_list ap)
{
	bool first;

	pthread_mutex_lock(&r->lock);
	first = r->end < end && !r->over;
	if (first) {
		r->end = end;
		r->cause.status = (uint32_t)status;
		vsnprintf(r->cause.text, sizeof(r->cause.text), fmt, ap);
		role_set_status(r, status);
		if (end == END_FATAL)
			set_why(r, r->is, status, r->cause.text);
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	stop_request(r->job->stop, STOP_ERROR, 0);
}

void role_cancel(struct role *r, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	request_end(r, END_CANCEL, status, fmt, ap);
	va_end(ap);
}

void role_fatal(struct role *r, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	request_end(r, END_FATAL, status, fmt, ap);
	va_end(ap);
}

/* The channel has failed with -errno. Any thread. */
static void role_channel_failed(struct role *r, int err)
{
	char text[WIRE_MAX_TEXT_BYTES];

	if (err == -ETIMEDOUT)
		snprintf(text, sizeof(text), "it has sent nothing for %g s (-timeout)",
			 (double)r->job->settings->timeout_ns / NS_PER_SEC);
	else if (err == -ECONNRESET || err == -EPIPE || err == -ECONNABORTED)
		snprintf(text, sizeof(text), "the connection was lost");
	else
		snprintf(text, sizeof(text), "the connection has failed (%s)", strerror(-err));
	role_end_receiving(r, copy_peer_of(r->is), COPY_SSH_ENDED, text);
}

/* Wait for what ends the role, but not for long. True: something has. */
static bool await_cause(struct role *r)
{
	const uint64_t until_ns = clock_kernel_ns() + CAUSE_NS;
	bool ends;

	pthread_mutex_lock(&r->lock);
	while (!role_stopped(r->job) && !r->over && r->end == END_NONE &&
	       cond_wait(&r->changed, &r->lock, until_ns) == 0)
		;
	ends = role_stopped(r->job) || r->over || r->end != END_NONE;
	pthread_mutex_unlock(&r->lock);
	return ends;
}

/*
 * As role_channel_failed(), when something was sent: the peer may have said why it has ended. The
 * receiving thread gets some time to find that; it does not wait for itself. Any thread.
 */
static void role_not_sent(struct role *r, int err)
{
	if (is_receiver)
		return;
	await_cause(r);
	role_channel_failed(r, err);
}

void role_link_failed(struct role *r, unsigned number, int err, const struct err *why)
{
	if (await_cause(r)) {
		/* A peer that says FINISHED although it waits for data has not stopped the role. */
		stop_request(r->job->stop, STOP_ERROR, 0);
		return;
	}
	role_fatal(r, err == -EBADMSG ? COPY_FAILED : COPY_SSH_ENDED,
		   "data connection %u to %s: %s", number, r->job->peer_host, err_text(why, err));
}

/*
 * A role tells its report and the peer of failures and counts; its speaking thread also announces
 * early ends to the peer.
 */

/*
 * The peer may have ended in good order, with its last messages still on the way. If it has not,
 * nothing more comes from it either.
 */
static bool may_have_left(struct role *r)
{
	bool may;

	pthread_mutex_lock(&r->lock);
	may = r->all_offered && r->job->peer_is_server;
	pthread_mutex_unlock(&r->lock);
	return may;
}

int role_send(struct role *r, enum wire_type type, const void *body, size_t length)
{
	int err = link_send_body(r->job->channel, type, body, length);

	if (err && may_have_left(r))
		return 0;
	if (err)
		role_not_sent(r, err);
	return err;
}

/* The time of the data threads in which a quota of this host stopped the process. */
static uint64_t quota_ns(const struct role *r)
{
	const double elapsed_ns = (double)(clock_now_ns() - r->begun_ns);
	const unsigned threads = r->job->data->n;
	const uint64_t now_ns = cgroup_throttled_ns();
	const uint64_t throttled_ns = now_ns > r->throttled_ns ? now_ns - r->throttled_ns : 0;

	return (uint64_t)(cgroup_throttled_share(throttled_ns, elapsed_ns, threads) * elapsed_ns *
			  threads);
}

static void own_counts(struct role *r, struct copy_counts *c)
{
	memset(c, 0, sizeof(*c));
	r->ops->counts(r->arg, c);
	c->quota_ns = quota_ns(r);
	pthread_mutex_lock(&r->lock);
	c->failed = r->failed;
	c->warnings = r->warnings;
	c->status = (uint64_t)r->status;
	if (r->is == COPY_SOURCE && r->started)
		c->transit_ns = data_links_transit_ns(r->job->data);
	pthread_mutex_unlock(&r->lock);
}

/* COUNTS, FINISH or FINISHED, with the counts of this side. Returns 0 or -errno. Any thread. */
static int role_send_counts(struct role *r, enum wire_type type)
{
	struct copy_counts c;
	uint8_t body[WIRE_MAX_HELLO_BYTES];

	own_counts(r, &c);
	copy_report_counts(r->job->report, r->is, &c);
	return role_send(r, type, body, copy_encode_counts(&c, body, sizeof(body)));
}

void role_failure(struct role *r, const struct copy_failure *f)
{
	uint8_t body[COPY_MAX_PATH_BYTES + WIRE_MAX_TEXT_BYTES + 64];
	size_t n = copy_encode_failure(f, body, sizeof(body));

	pthread_mutex_lock(&r->lock);
	if (f->status) {
		r->failed++;
		role_set_status(r, (int)f->status);
	} else {
		r->warnings++;
	}
	pthread_mutex_unlock(&r->lock);
	copy_report_failure(r->job->report, r->is, f);
	if (n)
		role_send(r, WIRE_COPY_FAILURE, body, n);
}

void role_fail(struct role *r, uint64_t id, int status, const char *path, const char *fmt, ...)
{
	struct copy_failure f = { .id = id, .status = (uint32_t)status };
	va_list ap;

	copy_failure_path(&f, path ? path : "");
	va_start(ap, fmt);
	vsnprintf(f.text, sizeof(f.text), fmt, ap);
	va_end(ap);
	role_failure(r, &f);
}

void role_count_failed(struct role *r, int status)
{
	pthread_mutex_lock(&r->lock);
	r->failed++;
	role_set_status(r, status);
	pthread_mutex_unlock(&r->lock);
}

static void announce_end(struct role *r, enum role_end end, const struct wire_error *cause)
{
	uint8_t body[WIRE_MAX_ERROR_BYTES];
	struct copy_failure f = { .status = cause->status };

	memcpy(f.text, cause->text, sizeof(f.text));
	if (end == END_CANCEL && cause->status != XDD_CANCELED)
		copy_report_failure(r->job->report, r->is, &f);
	role_send(r, end == END_FATAL ? WIRE_ERROR : WIRE_COPY_CANCEL, body,
		  wire_encode_error(cause, body));
	if (end == END_FATAL)
		role_end_receiving(r, r->is, (int)cause->status, cause->text);
}

/* A signal has stopped the role, and the peer does not know it yet. */
static bool is_signaled(const struct role *r)
{
	return r->announced == END_NONE && stop_why(r->job->stop) == STOP_SIGNAL;
}

static void note_signal(struct role *r)
{
	int sig = copy_signals_await(r->job->signals, 0);
	const char *name = sig ? sigabbrev_np(sig) : "?";

	/* On another host it is a loss, as where the process is killed: the user may repeat. */
	if (r->job->is_remote)
		role_fatal(r, COPY_SSH_ENDED, "xdd was ended there by SIG%s", name);
	else
		role_cancel(r, XDD_CANCELED, "the copy was ended by SIG%s", name);
}

/* The end that is to be announced now, or END_NONE. r->lock is held. */
static enum role_end new_end(struct role *r)
{
	if (r->end == END_CANCEL)
		r->canceled = true;
	return r->end > r->announced ? r->end : END_NONE;
}

/* Wait for something to say. True: a quarter of a second has passed. r->lock is held. */
static bool wait_to_speak(struct role *r)
{
	const uint64_t until_ns = clock_kernel_ns() + COPY_COUNTS_NS;

	while (!r->quiet && !r->over && new_end(r) == END_NONE && !is_signaled(r)) {
		if (cond_wait(&r->changed, &r->lock, until_ns) != 0)
			return true;
	}
	return false;
}

static void *role_speak_main(void *arg)
{
	struct role *r = arg;
	bool ends = false;

	while (!ends) {
		struct wire_error cause;
		enum role_end end;
		bool tick, signaled;

		pthread_mutex_lock(&r->lock);
		tick = wait_to_speak(r);
		end = new_end(r);
		signaled = is_signaled(r);
		cause = r->cause;
		r->announced = end != END_NONE ? end : r->announced;
		ends = r->over || (r->quiet && end == END_NONE && !signaled);
		pthread_mutex_unlock(&r->lock);
		if (ends)
			break;
		if (end != END_NONE) {
			announce_end(r, end, &cause);
		} else if (signaled) {
			note_signal(r);
		} else if (tick) {
			role_send_counts(r, WIRE_COPY_COUNTS);
		}
	}
	return NULL;
}

/* End the speaking thread: it says what it must, and no more. Main thread. */
static void role_end_speaking(struct role *r)
{
	pthread_mutex_lock(&r->lock);
	r->quiet = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (r->has_speaker)
		pthread_join(r->speaker, NULL);
	r->has_speaker = false;
}

/* Announce a fault that was found after the speaking thread had ended. Main thread. */
static void role_announce_late(struct role *r)
{
	struct wire_error cause;
	bool late;

	pthread_mutex_lock(&r->lock);
	late = r->end == END_FATAL && r->announced != END_FATAL && !r->over;
	cause = r->cause;
	pthread_mutex_unlock(&r->lock);
	if (late)
		announce_end(r, END_FATAL, &cause);
}

/*
 * The receiving thread of a role.
 */

static int bad_body(enum wire_type type, struct err *why)
{
	return err_set(why, -EBADMSG, "it sent %s with a wrong body", wire_type_name(type));
}

static int take_failure(struct role *r, const struct wire_header *h, struct err *why)
{
	struct copy_failure f;

	if (copy_decode_failure(r->body, h->length, &f) != WIRE_OK)
		return bad_body(h->type, why);
	if (f.status && !f.id)
		r->never_offered++;
	copy_report_failure(r->job->report, copy_peer_of(r->is), &f);
	return 0;
}

uint64_t role_never_offered(const struct role *r)
{
	return r->never_offered;
}

/*
 * The peer may end now: a destination once the source has said that it sends nothing more, or, if
 * it is a server, once it has got everything and all RESULTs have come.
 */
static bool may_finish(struct role *r)
{
	bool first, may, early;

	pthread_mutex_lock(&r->lock);
	first = !r->finish_seen;
	may = r->is == COPY_DESTINATION || r->finish_sent;
	early = r->job->peer_is_server && r->all_offered;
	pthread_mutex_unlock(&r->lock);
	return first && (may || (early && r->ops->all_answered(r->arg)));
}

/* COUNTS, FINISH, FINISHED */
static int take_counts(struct role *r, const struct wire_header *h, struct err *why)
{
	const enum wire_type end = r->is == COPY_SOURCE ? WIRE_COPY_FINISHED : WIRE_COPY_FINISH;
	struct copy_counts c;

	if (copy_decode_counts(r->body, h->length, &c) != WIRE_OK)
		return bad_body(h->type, why);
	if (h->type != WIRE_COPY_COUNTS && (h->type != end || !may_finish(r)))
		return err_set(why, -EBADMSG, "it sent %s at the wrong time",
			       wire_type_name(h->type));
	copy_report_counts(r->job->report, copy_peer_of(r->is), &c);
	pthread_mutex_lock(&r->lock);
	r->peer = c;
	if (h->type == end) {
		r->finish_seen = true;
		/* The destination may have gone. */
		r->complete |= r->is == COPY_SOURCE;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	return 0;
}

/* The peer ends early: its cause is a line of the report. */
static int take_end(struct role *r, const struct wire_header *h, struct err *why)
{
	struct wire_error e;
	struct copy_failure f = { .id = 0 };
	bool known;

	if (wire_decode_error(r->body, h->length, &e) != WIRE_OK)
		return bad_body(h->type, why);
	pthread_mutex_lock(&r->lock);
	known = r->canceled;
	r->canceled = true;
	role_set_status(r, (int)e.status);
	pthread_mutex_unlock(&r->lock);
	if (h->type == WIRE_ERROR) {
		role_end_receiving(r, copy_peer_of(r->is), (int)e.status, e.text);
		return -ECANCELED;
	}
	f.status = e.status;
	memcpy(f.text, e.text, sizeof(f.text));
	if (!known || e.status != XDD_CANCELED)
		copy_report_failure(r->job->report, copy_peer_of(r->is), &f);
	stop_request(r->job->stop, STOP_ERROR, 0);
	return 0;
}

static int take_bye(struct role *r)
{
	bool early;

	pthread_mutex_lock(&r->lock);
	r->bye_seen = true;
	early = !r->finish_seen;
	pthread_mutex_unlock(&r->lock);
	role_end_receiving(r, copy_peer_of(r->is), COPY_FAILED,
			   early ? "it ended too early" : NULL);
	return -ECANCELED;
}

static int take_message(struct role *r, const struct wire_header *h, struct err *why)
{
	switch (h->type) {
	case WIRE_COPY_FAILURE:
		return take_failure(r, h, why);
	case WIRE_COPY_COUNTS:
	case WIRE_COPY_FINISH:
	case WIRE_COPY_FINISHED:
		return take_counts(r, h, why);
	case WIRE_COPY_CANCEL:
	case WIRE_ERROR:
		return take_end(r, h, why);
	default:
		return r->ops->receive(r->arg, h, r->body, why);
	}
}

/*
 * Returns 0, or -ECANCELED when there is no more. A channel that fails, or a message that is wrong,
 * ends the copy here.
 */
static int receive_one(struct role *r, struct err *why)
{
	uint64_t max_data = r->job->data->inside ? COPY_MAX_BLOCK_BYTES : 0;
	struct wire_header h;
	int err = link_receive_message(r->job->channel, max_data, &h, &r->body, &r->room, why);

	if (err && err != -EBADMSG) {
		role_channel_failed(r, err);
		return -ECANCELED;
	}
	if (!err && h.type == WIRE_BYE)
		return take_bye(r);
	if (!err)
		err = take_message(r, &h, why);
	if (err == -EBADMSG)
		role_fatal(r, COPY_FAILED, "%s: %s", r->job->peer_host, why->text);
	else if (err && err != -ECANCELED)
		role_fatal(r, COPY_FAILED, "%s", strerror(-err));
	return err;
}

static void *role_receive_main(void *arg)
{
	struct role *r = arg;
	struct err why = { 0 };

	is_receiver = true;
	while (receive_one(r, &why) == 0)
		;
	return NULL;
}

/* A stop: no thread of the role remains in a data connection. In any thread. */
static void abort_data(void *arg)
{
	struct role *r = arg;

	pthread_mutex_lock(&r->lock);
	if (r->started)
		data_links_abort(r->job->data);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

/*
 * The other side has not ended in time after a signal: what a destination would have reported
 * about its files does not come any more.
 */
static void cut_channel(void *arg)
{
	struct role *r = arg;

	if (r->is == COPY_SOURCE)
		log_warning("copy: the destination has not ended %g s after the signal: a file or "
			    "device that it writes in place may be incomplete",
			    (double)COPY_SIGNAL_GRACE_NS / NS_PER_SEC);
	link_abort(r->job->channel);
}

int role_open(struct role **r_out, struct copy_job *job, enum copy_role is,
	      const struct role_ops *ops, void *arg)
{
	struct role *r = calloc(1, sizeof(*r));
	int err;

	*r_out = NULL;
	if (!r)
		return -ENOMEM;
	r->job = job;
	r->is = is;
	r->ops = ops;
	r->arg = arg;
	r->begun_ns = clock_now_ns();
	r->throttled_ns = cgroup_throttled_ns();
	err_clear(&job->why);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	err = stop_on_request(job->stop, abort_data, r);
	if (err) {
		role_close(r);
		return err;
	}
	*r_out = r;
	return 0;
}

/* From here on a stop ends the data connections; one that came before does so now. */
static void start_data(struct role *r)
{
	pthread_mutex_lock(&r->lock);
	r->started = true;
	pthread_mutex_unlock(&r->lock);
	if (role_stopped(r->job))
		abort_data(r);
}

int role_start(struct role *r)
{
	int err;

	start_data(r);
	err = thread_start(&r->receiver, role_receive_main, r);
	if (err)
		return err;
	r->has_receiver = true;
	err = thread_start(&r->speaker, role_speak_main, r);
	if (err)
		return err;
	r->has_speaker = true;
	if (r->job->signals)
		copy_signals_attach(r->job->signals, r->job->stop, cut_channel, r);
	return 0;
}

void role_all_offered(struct role *r)
{
	pthread_mutex_lock(&r->lock);
	r->all_offered = true;
	pthread_mutex_unlock(&r->lock);
}

void role_nothing_left(struct role *r)
{
	pthread_mutex_lock(&r->lock);
	r->nothing_left = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

/*
 * A server that is the destination has nothing to learn from the last words of the source: FINISH
 * has counts for a report, which belongs to the side that the user has started. Without FINISH and
 * BYE, neither they nor the end of ssh are a round trip of their own. The side that the user has
 * started waits, as ssh would fail to write to it.
 */
static bool may_leave(const struct role *r)
{
	return r->is == COPY_DESTINATION && r->job->is_server;
}

/* FINISH is not needed any more. r->lock is held. */
static bool is_done(const struct role *r)
{
	return r->nothing_left && may_leave(r) && r->end == END_NONE && !r->canceled && !r->over;
}

bool role_wait_finish(struct role *r)
{
	bool seen, early;

	pthread_mutex_lock(&r->lock);
	while (!r->finish_seen && !is_done(r) && !r->over && r->end != END_FATAL)
		pthread_cond_wait(&r->changed, &r->lock);
	seen = r->finish_seen || is_done(r);
	early = !seen || r->end != END_NONE;
	pthread_mutex_unlock(&r->lock);
	/* The thread that has found the cause may not have come to that yet. */
	if (early)
		stop_request(r->job->stop, STOP_ERROR, 0);
	return seen;
}

/* Wait for BYE, or until nothing comes any more. */
static void wait_bye(struct role *r)
{
	pthread_mutex_lock(&r->lock);
	while (!r->bye_seen && !r->over && r->end != END_FATAL)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

/* True while the ends can be exchanged, or once FINISHED has come: a relay still listens then. */
static bool can_talk(struct role *r)
{
	bool can;

	pthread_mutex_lock(&r->lock);
	can = (!r->over || r->complete) && r->end != END_FATAL;
	pthread_mutex_unlock(&r->lock);
	return can;
}

static bool finish_source(struct role *r)
{
	pthread_mutex_lock(&r->lock);
	r->finish_sent = true;
	pthread_mutex_unlock(&r->lock);
	return role_send_counts(r, WIRE_COPY_FINISH) == 0 && role_wait_finish(r);
}

/* Both sides say BYE without waiting for the other one's, which would be a round trip. */
static void exchange_ends(struct role *r)
{
	if (r->is == COPY_SOURCE ? !finish_source(r) : role_send_counts(r, WIRE_COPY_FINISHED) != 0)
		return;
	pthread_mutex_lock(&r->lock);
	r->complete = true;
	pthread_mutex_unlock(&r->lock);
	if (!role_send(r, WIRE_BYE, NULL, 0) && !may_leave(r))
		wait_bye(r);
}

int role_finish(struct role *r)
{
	int status;

	role_end_speaking(r);
	if (can_talk(r))
		exchange_ends(r);
	role_announce_late(r);
	pthread_mutex_lock(&r->lock);
	status = copy_worse_status(r->status, (int)r->peer.status);
	pthread_mutex_unlock(&r->lock);
	return stop_why(r->job->stop) == STOP_SIGNAL ? XDD_CANCELED : status;
}

bool role_peer_counts(struct role *r, struct copy_counts *c)
{
	bool seen;

	pthread_mutex_lock(&r->lock);
	seen = r->finish_seen;
	*c = r->peer;
	pthread_mutex_unlock(&r->lock);
	return seen;
}

void role_close(struct role *r)
{
	if (!r)
		return;
	copy_signals_detach(r->job->signals);
	role_end_speaking(r);
	if (r->has_receiver) {
		link_abort(r->job->channel);
		pthread_join(r->receiver, NULL);
	}
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r->body);
	free(r);
}
