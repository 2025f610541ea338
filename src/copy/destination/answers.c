/*
 * Messages WANT and RESULT; see the header. Called by all threads of the destination.
 */
#include "copy/destination/answers.h"

#include <stdlib.h>

void answers_init(struct answers *a, struct role *role, struct copy_report *report)
{
	a->role = role;
	a->report = report;
	a->n_results_bytes = 0;
	a->n_wants_bytes = 0;
	pthread_mutex_init(&a->lock, NULL);
}

void answers_destroy(struct answers *a)
{
	pthread_mutex_destroy(&a->lock);
}

/* a->lock is held. */
static void send_results(struct answers *a)
{
	size_t n = a->n_results_bytes;

	a->n_results_bytes = 0;
	if (!n)
		return;
	copy_report_results(a->report, a->results, n);
	role_send(a->role, WIRE_COPY_RESULT, a->results, n);
}

void answers_result(struct answers *a, uint64_t id, enum copy_outcome outcome)
{
	const struct copy_result r = { .id = id, .outcome = outcome };
	size_t n;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		n = copy_encode_result(&r, a->results + a->n_results_bytes,
				       sizeof(a->results) - a->n_results_bytes);
		if (n || !a->n_results_bytes)
			break;
		send_results(a);
	}
	a->n_results_bytes += n;
	pthread_mutex_unlock(&a->lock);
}

void answers_flush(struct answers *a)
{
	pthread_mutex_lock(&a->lock);
	send_results(a);
	pthread_mutex_unlock(&a->lock);
}

void answers_flush_wants(struct answers *a)
{
	size_t n = a->n_wants_bytes;

	a->n_wants_bytes = 0;
	if (n)
		role_send(a->role, WIRE_COPY_WANT, a->wants, n);
}

void answers_want_now(struct answers *a, const struct copy_want *w)
{
	size_t room = 64 + w->n_ranges * 2 * sizeof(uint64_t), n;
	uint8_t *body = malloc(room);

	n = body ? copy_encode_want(w, body, room) : 0;
	if (n)
		role_send(a->role, WIRE_COPY_WANT, body, n);
	else
		role_fatal(a->role, COPY_FAILED, "there is no memory");
	free(body);
}

void answers_want(struct answers *a, const struct copy_want *w)
{
	size_t n;

	n = copy_encode_want(w, a->wants + a->n_wants_bytes, sizeof(a->wants) - a->n_wants_bytes);
	if (!n) {
		answers_flush_wants(a);
		n = copy_encode_want(w, a->wants, sizeof(a->wants));
	}
	if (!n)
		answers_want_now(a, w);
	a->n_wants_bytes += n;
}
