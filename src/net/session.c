/*
 * The life of a session, its end in every way, and the waits of its threads. The run creates it;
 * the other files of the session build on it.
 */
#include "xdd/net/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "net/session_internal.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

void session_lock(struct session *s)
{
	pthread_mutex_lock(&s->lock);
}

void session_unlock(struct session *s)
{
	pthread_mutex_unlock(&s->lock);
}

void session_notify(struct session *s)
{
	uint64_t one = 1;

	pthread_cond_broadcast(&s->changed);
	/* It fails only where the thread has enough to wake for already. */
	if (write(s->wake_fd, &one, sizeof(one)) < 0)
		return;
}

int session_error(const struct session *s)
{
	if (s->err)
		return s->err;
	return s->stopped ? -ECANCELED : 0;
}

int session_sleep(struct session *s, uint64_t until_ns)
{
	struct timespec until;
	int r;

	if (until_ns == UINT64_MAX)
		return -pthread_cond_wait(&s->changed, &s->lock);
	until = clock_deadline(until_ns);
	r = pthread_cond_timedwait(&s->changed, &s->lock, &until);
	return r == ETIMEDOUT ? -ETIMEDOUT : 0;
}

int session_await(struct session *s, unsigned states)
{
	int err;

	while (!(err = session_error(s)) && !(s->state & states))
		session_sleep(s, UINT64_MAX);
	return err;
}

void session_post(struct session *s, enum wire_type type)
{
	s->pending |= 1u << type;
	session_notify(s);
}

/* End all calls. With the lock. */
static void end_calls(struct session *s)
{
	stop_request(&s->halt, STOP_ERROR, 0);
	for (uint32_t i = 0; s->data && i < s->own.connections; i++)
		if (s->data[i].connection)
			connection_abort(s->data[i].connection);
	session_notify(s);
}

/* The reason that this side gave, or `otherwise`. With the lock. */
static void explain(const struct session *s, struct wire_error *words, const char *otherwise)
{
	if (*s->reason)
		snprintf(words->text, sizeof(words->text), "the %s: %s", s->own_name, s->reason);
	else
		snprintf(words->text, sizeof(words->text), "the %s %s", s->own_name, otherwise);
}

/* The words for the peer when this run stops. With the lock. */
static void stop_words(const struct session *s, struct wire_error *words)
{
	const struct stop *stop = s->params.stop;
	int detail;

	words->status = XDD_CANCELED;
	switch (stop_why(stop)) {
	case STOP_SIGNAL:
		detail = atomic_load(&stop->detail);
		snprintf(words->text, sizeof(words->text), "the %s was interrupted by signal %d",
			 s->own_name, detail);
		break;
	case STOP_START:
		words->status = XDD_TARGET_FAILED;
		explain(s, words, "could not start");
		break;
	default:
		words->status = XDD_IO_ERROR;
		explain(s, words, "stopped after an error");
	}
}

/* The run stops, or the session is freed before its end. Any thread. */
static void session_cancel(void *arg)
{
	struct session *s = arg;

	session_lock(s);
	if (s->state != SESSION_OVER && !session_error(s)) {
		stop_words(s, &s->last_words);
		s->stopped = true;
		end_calls(s);
	}
	session_unlock(s);
}

/* Keep the first cause. True: this is the first. */
static bool set_failed(struct session *s, enum session_blame blame, int err, enum xdd_status status,
		       const char *text)
{
	bool first;

	session_lock(s);
	first = !session_error(s) && s->state != SESSION_OVER;
	if (first) {
		snprintf(s->why, sizeof(s->why), "%s", text);
		s->err = err;
		s->peer_failed = blame != BLAME_SELF;
		if (blame != BLAME_PEER_SILENTLY) {
			s->last_words.status = status;
			snprintf(s->last_words.text, sizeof(s->last_words.text), "%s", text);
		}
		end_calls(s);
	}
	session_unlock(s);
	return first;
}

int session_broke(struct session *s, enum session_blame blame, int err, const char *fmt, ...)
{
	char text[SESSION_WHY_SIZE];
	va_list ap;
	int r;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	if (set_failed(s, blame, err, XDD_IO_ERROR, text) && blame != BLAME_SELF &&
	    s->params.failed)
		s->params.failed(s->params.arg);

	session_lock(s);
	r = session_error(s);
	session_unlock(s);
	return r ? r : err;
}

void session_fail(struct session *s, enum xdd_status status, const char *text)
{
	char *safe = printable_dup(text, false);

	set_failed(s, BLAME_SELF, -ECANCELED, status, safe ? safe : "out of memory");
	free(safe);
}

void session_explain(struct session *s, const char *text)
{
	char *safe = printable_dup(text, false);

	session_lock(s);
	if (!*s->reason)
		snprintf(s->reason, sizeof(s->reason), "%s", safe ? safe : "out of memory");
	session_unlock(s);
	free(safe);
}

const char *session_why(const struct session *s)
{
	struct session *own = (struct session *)s;
	bool failed;

	session_lock(own);
	failed = own->err != 0;
	session_unlock(own);
	/* The text is const from then on. */
	return failed ? s->why : "";
}

bool session_peer_failed(const struct session *s)
{
	struct session *own = (struct session *)s;
	bool failed;

	session_lock(own);
	failed = own->peer_failed;
	session_unlock(own);
	return failed;
}

bool session_info(struct session *s, uint32_t connection, struct connection_info *info)
{
	struct connection *c = NULL;

	session_lock(s);
	if (connection == WIRE_NO_CONNECTION)
		c = s->control;
	else if (s->data && connection < s->own.connections)
		c = s->data[connection].connection;
	if (c)
		connection_info(c, info);
	session_unlock(s);
	return c != NULL;
}

static int init_sync(struct session *s)
{
	pthread_condattr_t attr;

	stop_init(&s->halt);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->wake_fd < 0 ? -errno : 0;
}

struct session *session_new(const struct session_params *params)
{
	const struct endtoend_options *o = params->options;
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->params = *params;
	s->source = o->role == E2E_SOURCE;
	s->own_name = s->source ? "source" : "destination";
	s->peer_name = s->source ? "destination" : "source";
	s->keyed = params->key && params->key->present;
	s->timeout_ns = o->timeout_ns;
	s->alive_ns = ns_earlier(SESSION_ALIVE_NS, s->timeout_ns / 4);
	s->grace_ns = ns_earlier(SESSION_GRACE_NS, s->timeout_ns);
	snprintf(s->time_text, sizeof(s->time_text), "%g s", (double)s->timeout_ns / NS_PER_SEC);
	s->socket = (struct connection_options){
		.timeout_ns = o->timeout_ns,
		.congestion = o->congestion,
		.send_buffer_bytes = o->send_buffer_bytes,
		.receive_buffer_bytes = o->receive_buffer_bytes,
	};
	s->state = SESSION_NEW;
	s->body = malloc(WIRE_MAX_BODY_BYTES);
	if (init_sync(s) < 0 || !s->body || stop_on_request(params->stop, session_cancel, s) < 0) {
		session_free(s);
		return NULL;
	}
	return s;
}

/* End the control thread; the peer gets a limited time for the last message. */
static void join_control(struct session *s)
{
	uint64_t until_ns = clock_now_ns() + SESSION_GRACE_NS;

	session_lock(s);
	while (!s->thread_over && session_sleep(s, until_ns) != -ETIMEDOUT)
		continue;
	if (!s->thread_over && s->control)
		connection_abort(s->control);
	session_unlock(s);
	pthread_join(s->thread, NULL);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	session_cancel(s);
	if (s->has_thread)
		join_control(s);
	for (uint32_t i = 0; s->data && i < s->own.connections; i++)
		connection_close(s->data[i].connection);
	connection_close(s->control);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	stop_destroy(&s->halt);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	explicit_bzero(s->key, sizeof(s->key));
	session_proof_free(&s->proof);
	free(s->data);
	free(s->ranges);
	free(s->body);
	free(s);
}
