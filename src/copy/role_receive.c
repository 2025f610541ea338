/*
 * The receiving thread of a role; see role.h. Caller: role.c.
 */
#include "copy/role_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		role_channel_failed(r, err);
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

static _Thread_local bool is_receiver;

bool role_is_receiver(void)
{
	return is_receiver;
}

void *role_receive_main(void *arg)
{
	struct role *r = arg;
	char why[WIRE_MAX_TEXT_BYTES] = "";

	is_receiver = true;
	while (receive_one(r, why) == 0)
		;
	return NULL;
}
