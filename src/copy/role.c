/*
 * The common part of both roles of a copy: its begin and its end; see the header. Callers:
 * source/source.c, destination/destination.c.
 */
#include "copy/role_state.h"

#include <errno.h>
#include <stdlib.h>

#include "copy/signals.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/machine.h"

/* A stop: no thread of the role remains in a data connection. In any thread. */
static void abort_data(void *arg)
{
	struct role *r = arg;

	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; r->started && i < r->job->data->n; i++)
		link_abort(r->job->data->links[i]);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void cut_channel(void *arg)
{
	struct role *r = arg;

	link_abort(r->job->channel);
}

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
	r->begun_ns = clock_now_ns();
	r->throttled_ns = cgroup_throttled_ns();
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
 * has counts for a report, which is that of the side that the user has started. Without FINISH and
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

/* Both sides say BYE without waiting for that of the other one, which would be a round trip. */
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
