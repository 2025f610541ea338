/*
 * Messages of the destination about entries: WANT and RESULT, many of them in one. Private to
 * src/copy/destination.
 */
#ifndef COPY_DESTINATION_ANSWERS_H
#define COPY_DESTINATION_ANSWERS_H

#include <pthread.h>
#include <stdint.h>

#include "copy/message/message.h"
#include "copy/role.h"

#define ANSWERS_ROOM (64u << 10)

struct answers {
	struct role *role;
	struct copy_report *report;

	pthread_mutex_t lock; /* held while results are sent, so that they stay in order */
	/* guarded by lock */
	uint8_t results[ANSWERS_ROOM];
	size_t n_results_bytes;

	/* receiving thread */
	uint8_t wants[ANSWERS_ROOM];
	size_t n_wants_bytes;
};

void answers_init(struct answers *a, struct role *role, struct copy_report *report);
void answers_destroy(struct answers *a);

/* Any thread. A channel that fails ends the copy (role_send()). */
void answers_result(struct answers *a, uint64_t id, enum copy_outcome outcome);
void answers_flush(struct answers *a);

/* Receiving thread, but answers_want_now() by any thread: alone in a message, at once. */
void answers_want(struct answers *a, const struct copy_want *w);
void answers_flush_wants(struct answers *a);
void answers_want_now(struct answers *a, const struct copy_want *w);

#endif
