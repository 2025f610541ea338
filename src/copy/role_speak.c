/*
 * A role tells its report and the peer of failures and counts; its speaking thread also announces
 * early ends to the peer. Callers: source/, destination/, role.c, role_receive.c.
 */
#include "copy/role_state.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "copy/signals.h"
#include "xdd/sys/machine.h"

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

/* r->lock is held. */
static uint64_t transit_ns(const struct role *r)
{
	uint64_t sum = 0;

	if (r->is != COPY_SOURCE || !r->started || r->job->data->inside)
		return 0;
	for (unsigned i = 0; i < r->job->data->n; i++) {
		struct connection_info info;

		link_info(r->job->data->links[i], &info);
		sum += info.transit_ns;
	}
	return sum;
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
	c->transit_ns = transit_ns(r);
	pthread_mutex_unlock(&r->lock);
}

int role_send_counts(struct role *r, enum wire_type type)
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
	int sig = copy_signals_taken(r->job->signals);

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
	struct timespec until = role_deadline_in(COPY_COUNTS_NS);

	while (!r->quiet && !r->over && new_end(r) == END_NONE && !is_signaled(r)) {
		if (pthread_cond_timedwait(&r->changed, &r->lock, &until) != 0)
			return true;
	}
	return false;
}

void *role_speak_main(void *arg)
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

void role_end_speaking(struct role *r)
{
	pthread_mutex_lock(&r->lock);
	r->quiet = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (r->has_speaker)
		pthread_join(r->speaker, NULL);
	r->has_speaker = false;
}

void role_announce_late(struct role *r)
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
