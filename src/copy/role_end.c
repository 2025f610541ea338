/*
 * How a role ends: its causes, from any thread. See role_state.h. Callers: source/, destination/,
 * role.c, role_receive.c, role_speak.c.
 */
#include "copy/role_state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/units.h"

/* How long what has failed to be sent or received may wait for the cause on the channel. */
#define CAUSE_NS NS_PER_SEC

int copy_worse_status(int a, int b)
{
	if (a == XDD_CANCELED || b == XDD_CANCELED)
		return XDD_CANCELED;
	return a > b ? a : b;
}

void role_set_status(struct role *r, int status)
{
	r->status = copy_worse_status(r->status, status);
}

/* The first cause, with words about a side for the caller of the role. r->lock is held. */
static void set_why(struct role *r, enum copy_role side, int status, const char *text)
{
	role_set_status(r, status);
	if (*r->job->why)
		return;
	snprintf(r->job->why, sizeof(r->job->why), "%s", text);
	r->job->why_side = side;
	r->job->lost = status == COPY_SSH_ENDED;
}

void role_end_receiving(struct role *r, enum copy_role side, int status, const char *text)
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

void role_channel_failed(struct role *r, int err)
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
	struct timespec until = role_deadline_in(CAUSE_NS);
	bool ends;

	pthread_mutex_lock(&r->lock);
	while (!role_stopped(r->job) && !r->over && r->end == END_NONE &&
	       pthread_cond_timedwait(&r->changed, &r->lock, &until) == 0)
		;
	ends = role_stopped(r->job) || r->over || r->end != END_NONE;
	pthread_mutex_unlock(&r->lock);
	return ends;
}

void role_not_sent(struct role *r, int err)
{
	if (role_is_receiver())
		return;
	await_cause(r);
	role_channel_failed(r, err);
}

void role_link_failed(struct role *r, unsigned number, int err, const char *why)
{
	if (await_cause(r)) {
		/* A peer that says FINISHED although it waits for data has not stopped the role. */
		stop_request(r->job->stop, STOP_ERROR, 0);
		return;
	}
	role_fatal(r, err == -EBADMSG ? COPY_FAILED : COPY_SSH_ENDED,
		   "data connection %u to %s: %s", number, r->job->peer_host,
		   why && *why ? why : strerror(-err));
}
