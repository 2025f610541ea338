/*
 * Messages of the destination about entries: WANT and RESULT. Called by both roles, once or twice a
 * file; doc/wire.md has the layouts.
 */
#include "copy/message/body.h"

/*
 * A want: id 8, how 4, number of ranges 4; ranges: begin 8, end 8. A result: id in the low 56 bits
 * of 8 bytes, outcome in the high 8.
 */
enum {
	WANT_BYTES = 16,
	RANGE_BYTES = 16,
	RESULT_BYTES = 8,
	OUTCOME_SHIFT = 56,
};

size_t copy_encode_want(const struct copy_want *w, uint8_t *out, size_t room)
{
	uint8_t *p = out;

	if (w->n_ranges > COPY_MAX_RANGES || WANT_BYTES + w->n_ranges * RANGE_BYTES > room)
		return 0;
	p = put64(p, w->id);
	p = put32(p, w->how);
	p = put32(p, (uint32_t)w->n_ranges);
	for (size_t i = 0; i < w->n_ranges; i++) {
		p = put64(p, w->ranges[i].begin);
		p = put64(p, w->ranges[i].end);
	}
	return (size_t)(p - out);
}

void copy_want_cursor_init(struct copy_want_cursor *c, const uint8_t *body, size_t length)
{
	c->at = body;
	c->end = body + length;
}

/* Ascending, disjoint and not empty; each begins at a multiple of `align`. */
static bool take_ranges(struct copy_want_cursor *c, size_t n, uint64_t align)
{
	uint64_t end_of_last = 0;

	for (size_t i = 0; i < n; i++) {
		struct extent *x = &c->ranges[i];

		x->begin = get64(c->at);
		x->end = get64(c->at + 8);
		if (x->begin < end_of_last || x->begin >= x->end || x->begin % align ||
		    x->end > (uint64_t)INT64_MAX)
			return false;
		end_of_last = x->end;
		c->at += RANGE_BYTES;
	}
	return true;
}

static bool take_want(struct copy_want_cursor *c, struct copy_want *w)
{
	uint32_t how;

	if ((size_t)(c->end - c->at) < WANT_BYTES)
		return false;
	w->id = get64(c->at);
	how = get32(c->at + 8);
	w->n_ranges = get32(c->at + 12);
	w->how = (enum copy_how)how;
	w->ranges = c->ranges;
	c->at += WANT_BYTES;
	if (!w->id || w->id > COPY_MAX_ID || (how != COPY_SEND && how != COPY_SUMS) ||
	    w->n_ranges > COPY_MAX_RANGES || w->n_ranges * RANGE_BYTES > (size_t)(c->end - c->at))
		return false;
	return take_ranges(c, w->n_ranges, how == COPY_SUMS ? COPY_MIN_BLOCK_BYTES : 1);
}

enum wire_fault copy_decode_want(struct copy_want_cursor *c, struct copy_want *w, bool *more)
{
	*more = c->at != c->end;
	if (!*more || take_want(c, w))
		return WIRE_OK;
	*more = false;
	return WIRE_BAD_BODY;
}

size_t copy_encode_result(const struct copy_result *r, uint8_t *out, size_t room)
{
	if (room < RESULT_BYTES)
		return 0;
	put64(out, r->id | (uint64_t)r->outcome << OUTCOME_SHIFT);
	return RESULT_BYTES;
}

enum wire_fault copy_check_results(const uint8_t *body, size_t length, size_t *n)
{
	if (length % RESULT_BYTES)
		return WIRE_BAD_BODY;
	for (size_t at = 0; at < length; at += RESULT_BYTES) {
		uint64_t raw = get64(body + at), outcome = raw >> OUTCOME_SHIFT;

		if (!(raw & COPY_MAX_ID) || outcome < COPY_DONE || outcome > COPY_WOULD)
			return WIRE_BAD_BODY;
	}
	*n = length / RESULT_BYTES;
	return WIRE_OK;
}

struct copy_result copy_result_at(const uint8_t *body, size_t i)
{
	uint64_t raw = get64(body + i * RESULT_BYTES);

	return (struct copy_result){ raw & COPY_MAX_ID, (enum copy_outcome)(raw >> OUTCOME_SHIFT) };
}
