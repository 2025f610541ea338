/*
 * Wants and results of the destination: everything in them is checked before anything acts on it.
 * Called by the receiving thread of the role.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy/source/source.h"
#include "copy/source/work.h"

/* Of all wants in the queue; 16 bytes each. A resumed copy has some thousands. */
#define MAX_QUEUED_RANGES (1u << 20)

static int refuse(char *why, const char *what, uint64_t id)
{
	snprintf(why, WIRE_MAX_TEXT_BYTES, "it sent a %s for entry %" PRIu64, what, id);
	return -EBADMSG;
}

/* ---- WANT ---- */

static bool ranges_fit(const struct copy_want *w, const struct entry *e)
{
	return w->n_ranges == 0 || w->ranges[w->n_ranges - 1].end <= e->size_bytes;
}

/* A second want is that of a file whose digests differ. */
static bool may_want(const struct source *s, const struct entry *e, const struct copy_want *w)
{
	const struct copy_settings *settings = s->settings;
	unsigned asked = e->asked;

	if (e->kind != COPY_FILE || e->state != ENTRY_IDLE || !ranges_fit(w, e))
		return false;
	if (w->how == COPY_SUMS)
		return asked == 0 && (w->n_ranges == 0 || (settings->resume && !settings->verify));
	return !settings->verify && !settings->dry_run && !(asked & 1u << COPY_SEND);
}

static int take_want(struct source *s, const struct copy_want *w, char *why)
{
	struct entry *e = books_find(&s->books, w->id);

	if (!e || !may_want(s, e, w))
		return refuse(why, "want that is not valid", w->id);
	if (s->queued_ranges + w->n_ranges > MAX_QUEUED_RANGES)
		return refuse(why, "want with too many ranges", w->id);
	if (w->n_ranges) {
		e->ranges = malloc(w->n_ranges * sizeof(*e->ranges));
		if (!e->ranges)
			return -ENOMEM;
		memcpy(e->ranges, w->ranges, w->n_ranges * sizeof(*e->ranges));
		e->n_ranges = w->n_ranges;
	}
	e->how = (uint8_t)w->how;
	e->asked |= (uint8_t)(1u << w->how);
	work_put(s, e);
	return 0;
}

static int take_wants(struct source *s, const struct wire_header *h, const uint8_t *body, char *why)
{
	struct copy_want_cursor *c = malloc(sizeof(*c));
	struct copy_want w;
	bool more = true;
	int err = 0;

	if (!c)
		return -ENOMEM;
	copy_want_cursor_init(c, body, h->length);
	pthread_mutex_lock(&s->lock);
	while (!err) {
		if (copy_decode_want(c, &w, &more) != WIRE_OK) {
			snprintf(why, WIRE_MAX_TEXT_BYTES, "it sent wants that do not parse");
			err = -EBADMSG;
		}
		if (err || !more)
			break;
		err = take_want(s, &w, why);
	}
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	free(c);
	return err;
}

/* ---- RESULT ---- */

/* -k and -n have outcomes of their own. */
static bool is_outcome_of(const struct copy_settings *settings, enum copy_outcome outcome)
{
	switch (outcome) {
	case COPY_DONE:
		return !settings->verify && !settings->dry_run;
	case COPY_EQUAL:
	case COPY_DIFFERS:
		return settings->verify;
	case COPY_WOULD:
		return settings->dry_run;
	case COPY_SAME:
	case COPY_LOST:
		break;
	}
	return true;
}

static bool may_end(const struct source *s, const struct entry *e, enum copy_outcome outcome)
{
	return outcome == COPY_LOST ||
	       (e->state == ENTRY_IDLE && is_outcome_of(s->settings, outcome));
}

static void count_done(struct source *s, const struct entry *e, enum copy_outcome outcome)
{
	if (e->kind != COPY_FILE || outcome != COPY_DONE)
		return;
	s->done_files++;
	s->done_bytes += e->size_bytes;
}

/* Take the entry out of the books, and append it to a list if no data thread has it. */
static int take_result(struct source *s, const struct copy_result *r, struct entry ***end,
		       char *why)
{
	struct entry *e = books_find(&s->books, r->id);

	if (!e || !may_end(s, e, r->outcome))
		return refuse(why, "result that is not valid", r->id);
	count_done(s, e, r->outcome);
	books_remove(&s->books, e);
	if (e->state != ENTRY_IDLE) {
		atomic_store(&e->lost, true);
		return 0;
	}
	e->outcome = (uint8_t)r->outcome;
	e->next = NULL;
	**end = e;
	*end = &e->next;
	return 0;
}

static int take_results(struct source *s, const struct wire_header *h, const uint8_t *body,
			char *why)
{
	struct entry *ended = NULL, **end = &ended;
	size_t n = 0;
	int err = 0;

	if (copy_check_results(body, h->length, &n) != WIRE_OK) {
		snprintf(why, WIRE_MAX_TEXT_BYTES, "it sent results that do not parse");
		return -EBADMSG;
	}
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n && !err; i++) {
		struct copy_result r = copy_result_at(body, i);

		err = take_result(s, &r, &end, why);
	}
	if (s->waits_for_room || (s->walk_over && s->books.n == 0))
		pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (!err)
		copy_report_results(s->job->report, body, h->length);
	while (ended) {
		struct entry *e = ended;

		ended = e->next;
		entry_free(e);
	}
	return err;
}

int source_receive(void *source, const struct wire_header *h, const uint8_t *body, char *why)
{
	struct source *s = source;

	if (atomic_load(&s->closing) && h->type != WIRE_COPY_RESULT)
		return 0;
	if (h->type == WIRE_COPY_WANT)
		return take_wants(s, h, body, why);
	if (h->type == WIRE_COPY_RESULT)
		return take_results(s, h, body, why);
	snprintf(why, WIRE_MAX_TEXT_BYTES, "it sent a message that a destination does not send: %s",
		 wire_type_name(h->type));
	return -EBADMSG;
}
