/*
 * The common part of both roles of a copy; see the header. Callers: source/source.c,
 * destination/destination.c.
 */
#include "copy/role.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy/signals.h"
#include "xdd/base/log.h"
#include "xdd/sync/thread.h"

/* How long a data connection that failed may wait for the cause on the channel. */
#define CAUSE_NS NS_PER_SEC

/* Ends that the second thread announces to the peer. */
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

	pthread_t receiver, speaker; /* main thread */
	bool has_receiver, has_speaker;

	/* owned by the receiving thread */
	uint8_t *body;
	size_t room;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* guarded by lock */
	enum role_end end;	 /* the first one counts */
	enum role_end announced; /* of the second thread, then of role_finish() */
	struct wire_error cause; /* of it */
	bool canceled;		 /* CANCEL was sent or received */
	bool finish_sent;	 /* source: only then may FINISHED come */
	bool finish_seen, bye_seen;
	bool complete; /* the ends are exchanged: what is lost from now on does not matter */
	bool over;     /* nothing comes from the peer any more */
	bool quiet;    /* the speaking thread is to end */
	int status;
	uint64_t failed, warnings;
	struct copy_counts peer;
};

int copy_worse_status(int a, int b)
{
	if (a == XDD_CANCELED || b == XDD_CANCELED)
		return XDD_CANCELED;
	return a > b ? a : b;
}

static enum copy_role peer_of(const struct role *r)
{
	return r->is == COPY_SOURCE ? COPY_DESTINATION : COPY_SOURCE;
}

/* ---- the end ---- */

static void set_status(struct role *r, int status)
{
	r->status = copy_worse_status(r->status, status);
}

/* The first cause, with words about a side for the caller of the role. r->lock is held. */
static void set_why(struct role *r, enum copy_role side, int status, const char *text)
{
	set_status(r, status);
	if (*r->job->why)
		return;
	snprintf(r->job->why, sizeof(r->job->why), "%s", text);
	r->job->why_side = side;
}

/* Nothing comes from the peer any more. `text` NULL: that is as it should be. */
static void end_receiving(struct role *r, enum copy_role side, int status, const char *text)
{
	pthread_mutex_lock(&r->lock);
	if (!r->over && !r->complete && text)
		set_why(r, side, status, text);
	r->over = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
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
		set_status(r, status);
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

/* The channel has failed with -errno. */
static void channel_failed(struct role *r, int err)
{
	char text[WIRE_MAX_TEXT_BYTES];

	if (err == -ETIMEDOUT)
		snprintf(text, sizeof(text), "it does not answer any more");
	else if (err == -ECONNRESET || err == -EPIPE || err == -ECONNABORTED)
		snprintf(text, sizeof(text), "the connection was lost");
	else
		snprintf(text, sizeof(text), "the connection has failed (%s)", strerror(-err));
	end_receiving(r, peer_of(r), COPY_SSH_ENDED, text);
}

static struct timespec deadline_in(uint64_t ns)
{
	uint64_t until = clock_kernel_ns() + ns;

	return (struct timespec){ .tv_sec = (time_t)(until / NS_PER_SEC),
				  .tv_nsec = (long)(until % NS_PER_SEC) };
}

void role_link_failed(struct role *r, unsigned number, int err, const char *why)
{
	struct timespec until = deadline_in(CAUSE_NS);
	bool ends;

	pthread_mutex_lock(&r->lock);
	while (!role_stopped(r->job) && !r->over && r->end == END_NONE &&
	       pthread_cond_timedwait(&r->changed, &r->lock, &until) == 0)
		;
	ends = role_stopped(r->job) || r->over || r->end != END_NONE;
	pthread_mutex_unlock(&r->lock);
	if (ends)
		return;
	role_fatal(r, err == -EBADMSG ? COPY_FAILED : COPY_SSH_ENDED,
		   "data connection %u to %s: %s", number, r->job->peer_host,
		   why && *why ? why : strerror(-err));
}

/* A stop: no thread of the role remains in a data connection. In any thread. */
static void abort_data(void *arg)
{
	struct role *r = arg;

	for (unsigned i = 0; i < r->job->data->n; i++)
		link_abort(r->job->data->links[i]);
	pthread_mutex_lock(&r->lock);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void cut_channel(void *arg)
{
	struct role *r = arg;

	link_abort(r->job->channel);
}

/* ---- reports ---- */

int role_send(struct role *r, enum wire_type type, const void *body, size_t length)
{
	int err = link_send_body(r->job->channel, type, body, length);

	if (err)
		channel_failed(r, err);
	return err;
}

static void own_counts(struct role *r, struct copy_counts *c)
{
	memset(c, 0, sizeof(*c));
	r->ops->counts(r->arg, c);
	pthread_mutex_lock(&r->lock);
	c->failed = r->failed;
	c->warnings = r->warnings;
	c->status = (uint64_t)r->status;
	pthread_mutex_unlock(&r->lock);
}

static int send_counts(struct role *r, enum wire_type type)
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
		set_status(r, (int)f->status);
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
	set_status(r, status);
	pthread_mutex_unlock(&r->lock);
}

/* ---- the receiving thread ---- */

/* Room for a body; what comes through the channel is data as well there. */
static int make_room(struct role *r, size_t size)
{
	uint8_t *body;

	if (size <= r->room)
		return 0;
	body = realloc(r->body, size);
	if (!body)
		return -ENOMEM;
	r->body = body;
	r->room = size;
	return 0;
}

static int bad_body(enum wire_type type, char *why)
{
	snprintf(why, WIRE_MAX_TEXT_BYTES, "it sent %s with a wrong body", wire_type_name(type));
	return -EBADMSG;
}

static int take_failure(struct role *r, const struct wire_header *h, char *why)
{
	struct copy_failure f;

	if (copy_decode_failure(r->body, h->length, &f) != WIRE_OK)
		return bad_body(h->type, why);
	copy_report_failure(r->job->report, peer_of(r), &f);
	return 0;
}

/* The peer may end now: a destination once the source has said that it sends nothing more. */
static bool may_finish(struct role *r)
{
	bool may;

	pthread_mutex_lock(&r->lock);
	may = !r->finish_seen && (r->is == COPY_DESTINATION || r->finish_sent);
	pthread_mutex_unlock(&r->lock);
	return may;
}

/* COUNTS, FINISH, FINISHED */
static int take_counts(struct role *r, const struct wire_header *h, char *why)
{
	const enum wire_type end = r->is == COPY_SOURCE ? WIRE_COPY_FINISHED : WIRE_COPY_FINISH;
	struct copy_counts c;

	if (copy_decode_counts(r->body, h->length, &c) != WIRE_OK)
		return bad_body(h->type, why);
	if (h->type != WIRE_COPY_COUNTS && (h->type != end || !may_finish(r))) {
		snprintf(why, WIRE_MAX_TEXT_BYTES, "it sent %s at the wrong time",
			 wire_type_name(h->type));
		return -EBADMSG;
	}
	copy_report_counts(r->job->report, peer_of(r), &c);
	pthread_mutex_lock(&r->lock);
	r->peer = c;
	if (h->type == end) {
		r->finish_seen = true;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	return 0;
}

/* The peer ends early: its cause is a line of the report. */
static int take_end(struct role *r, const struct wire_header *h, char *why)
{
	struct wire_error e;
	struct copy_failure f = { .id = 0 };
	bool known;

	if (wire_decode_error(r->body, h->length, &e) != WIRE_OK)
		return bad_body(h->type, why);
	pthread_mutex_lock(&r->lock);
	known = r->canceled;
	r->canceled = true;
	set_status(r, (int)e.status);
	pthread_mutex_unlock(&r->lock);
	if (h->type == WIRE_ERROR) {
		end_receiving(r, peer_of(r), (int)e.status, e.text);
		return -ECANCELED;
	}
	f.status = e.status;
	memcpy(f.text, e.text, sizeof(f.text));
	if (!known || e.status != XDD_CANCELED)
		copy_report_failure(r->job->report, peer_of(r), &f);
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
	end_receiving(r, peer_of(r), COPY_FAILED, early ? "it ended too early" : NULL);
	return -ECANCELED;
}

static int take_message(struct role *r, const struct wire_header *h, char *why)
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
static int receive_one(struct role *r, char *why)
{
	uint64_t max_data = r->job->data->inside ? COPY_MAX_BLOCK_BYTES : 0;
	struct wire_header h;
	int err = link_receive(r->job->channel, max_data, &h, why);

	if (!err)
		err = make_room(r, h.length);
	if (!err)
		err = link_receive_body(r->job->channel, &h, r->body, NULL, why);
	if (err && err != -EBADMSG) {
		channel_failed(r, err);
		return -ECANCELED;
	}
	if (!err && h.type == WIRE_BYE)
		return take_bye(r);
	if (!err)
		err = take_message(r, &h, why);
	if (err == -EBADMSG)
		role_fatal(r, COPY_FAILED, "%s: %s", r->job->peer_host, why);
	else if (err && err != -ECANCELED)
		role_fatal(r, COPY_FAILED, "%s", strerror(-err));
	return err;
}

static void *receive_main(void *arg)
{
	struct role *r = arg;
	char why[WIRE_MAX_TEXT_BYTES] = "";

	while (receive_one(r, why) == 0)
		;
	return NULL;
}

/* ---- the speaking thread ---- */

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
		end_receiving(r, r->is, (int)cause->status, cause->text);
}

/* A signal has stopped the role, and the peer does not know it yet. */
static bool is_signaled(const struct role *r)
{
	return r->announced == END_NONE && stop_why(r->job->stop) == STOP_SIGNAL;
}

static void note_signal(struct role *r)
{
	int sig = copy_signals_taken(r->job->signals);

	role_cancel(r, XDD_CANCELED, "the copy was ended by SIG%s", sig ? sigabbrev_np(sig) : "?");
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
	struct timespec until = deadline_in(COPY_COUNTS_NS);

	while (!r->quiet && !r->over && new_end(r) == END_NONE && !is_signaled(r)) {
		if (pthread_cond_timedwait(&r->changed, &r->lock, &until) != 0)
			return true;
	}
	return false;
}

static void *speak_main(void *arg)
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
			send_counts(r, WIRE_COPY_COUNTS);
		}
	}
	return NULL;
}

/* ---- for the role ---- */

static int init_lock(struct role *r)
{
	pthread_condattr_t attr;
	int err = pthread_condattr_init(&attr);

	if (err)
		return -err;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	err = pthread_cond_init(&r->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (!err)
		pthread_mutex_init(&r->lock, NULL);
	return -err;
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
	*job->why = '\0';
	err = init_lock(r);
	if (err) {
		free(r);
		return err;
	}
	err = stop_on_request(job->stop, abort_data, r);
	if (err) {
		role_close(r);
		return err;
	}
	*r_out = r;
	return 0;
}

int role_start(struct role *r)
{
	int err = thread_start(&r->receiver, receive_main, r);

	if (err)
		return err;
	r->has_receiver = true;
	err = thread_start(&r->speaker, speak_main, r);
	if (err)
		return err;
	r->has_speaker = true;
	if (r->job->signals)
		copy_signals_attach(r->job->signals, r->job->stop, cut_channel, r);
	return 0;
}

bool role_wait_finish(struct role *r)
{
	bool seen, early;

	pthread_mutex_lock(&r->lock);
	while (!r->finish_seen && !r->over && r->end != END_FATAL)
		pthread_cond_wait(&r->changed, &r->lock);
	seen = r->finish_seen;
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

/* True while the ends can be exchanged. */
static bool can_talk(struct role *r)
{
	bool can;

	pthread_mutex_lock(&r->lock);
	can = !r->over && r->end != END_FATAL;
	pthread_mutex_unlock(&r->lock);
	return can;
}

/* The speaking thread says what it must, and no more. */
static void end_speaking(struct role *r)
{
	pthread_mutex_lock(&r->lock);
	r->quiet = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (r->has_speaker)
		pthread_join(r->speaker, NULL);
	r->has_speaker = false;
}

static void set_complete(struct role *r)
{
	pthread_mutex_lock(&r->lock);
	r->complete = true;
	pthread_mutex_unlock(&r->lock);
}

static void finish_source(struct role *r)
{
	pthread_mutex_lock(&r->lock);
	r->finish_sent = true;
	pthread_mutex_unlock(&r->lock);
	if (send_counts(r, WIRE_COPY_FINISH) || !role_wait_finish(r))
		return;
	set_complete(r);
	if (!role_send(r, WIRE_BYE, NULL, 0))
		wait_bye(r);
}

static void finish_destination(struct role *r)
{
	if (send_counts(r, WIRE_COPY_FINISHED))
		return;
	set_complete(r);
	wait_bye(r);
	role_send(r, WIRE_BYE, NULL, 0);
}

/* A fault that was found after the second thread had ended. */
static void announce_late(struct role *r)
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

int role_finish(struct role *r)
{
	int status;

	end_speaking(r);
	if (can_talk(r)) {
		if (r->is == COPY_SOURCE)
			finish_source(r);
		else
			finish_destination(r);
	}
	announce_late(r);
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
	end_speaking(r);
	if (r->has_receiver) {
		link_abort(r->job->channel);
		pthread_join(r->receiver, NULL);
	}
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r->body);
	free(r);
}
