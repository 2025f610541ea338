/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields that bodies of copies have besides numbers: strings, ids and statuses. Private to
 * src/copy/message; doc/wire.md has the layouts.
 */
#ifndef COPY_MESSAGE_BODY_H
#define COPY_MESSAGE_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/message/message.h"
#include "xdd/base/codec.h"
#include "xdd/base/status.h"

/* A string has its length in two bytes before it, with the NUL that it ends with. */

/* `n` from text_bytes(). */
static inline void body_put_string(struct encoder *e, const char *s, size_t n)
{
	enc_put(e, 2, n);
	enc_text(e, s, n);
}

/* A string of at most `most` bytes with its NUL, which must not be cut. */
static inline void body_put_whole(struct encoder *e, const char *s, size_t most)
{
	size_t n = text_bytes(s, most + 1);

	if (n > most)
		e->bad = true;
	body_put_string(e, s, n);
}

/* A string for display, cut to `size` bytes with its NUL. */
static inline void body_put_shown(struct encoder *e, const char *s, size_t size)
{
	size_t n = text_bytes(s, size);

	enc_put(e, 2, n);
	enc_shown(e, s, n);
}

/* A string of at most `most` bytes with its NUL. In the body; "" after a fault. */
static inline const char *body_get_string(struct decoder *d, size_t most)
{
	size_t n = dec_get(d, 2);

	return dec_text(d, n, 1, most);
}

/* A string for display, as a copy in `out` of `size` bytes. */
static inline void body_get_shown(struct decoder *d, char *out, size_t size)
{
	size_t n = dec_get(d, 2);

	dec_shown(d, n, out, size);
}

static inline bool body_get_bool(struct decoder *d)
{
	return dec_at_most(d, 1, 1) != 0;
}

/* An exit status of a copy, or 0. */
static inline uint32_t body_get_status(struct decoder *d)
{
	uint32_t status = (uint32_t)dec_get(d, 4);

	if (!status_is_known(status))
		d->bad = true;
	return status;
}

static inline uint64_t body_get_id(struct decoder *d)
{
	uint64_t id = dec_at_most(d, 8, COPY_MAX_ID);

	if (!id)
		d->bad = true;
	return id;
}

static inline enum wire_fault body_end(const struct decoder *d)
{
	return dec_end(d) ? WIRE_OK : WIRE_BAD_BODY;
}

#endif
