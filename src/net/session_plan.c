/*
 * Plans and results of both sides compared, in words that make sense on either side. Called by the
 * control thread and by session_finish(). Pure functions.
 */
#include <inttypes.h>
#include <stdio.h>

#include "net/session_internal.h"

/* Amounts fit if they are equal, or one side leaves them open. */
static bool amounts_fit(uint64_t a, uint64_t b)
{
	return a == b || a == WIRE_NO_SIZE || b == WIRE_NO_SIZE;
}

bool session_plans_fit(const struct wire_plan *source, const struct wire_plan *destination,
		       char *why, size_t size)
{
	const struct wire_plan *s = source, *d = destination;

	if (s->req_bytes != d->req_bytes)
		snprintf(why, size,
			 "the source sends requests of %" PRIu64
			 " bytes, the destination expects %" PRIu64
			 ": give both the same -reqsize and -blocksize",
			 s->req_bytes, d->req_bytes);
	else if (!amounts_fit(s->bytes, d->bytes))
		snprintf(why, size,
			 "the source copies %" PRIu64
			 " bytes per pass, the destination expects %" PRIu64
			 ": give both the same amount, or the destination none",
			 s->bytes, d->bytes);
	else if (!amounts_fit(s->ops, d->ops))
		snprintf(why, size,
			 "the source copies %" PRIu64
			 " requests per pass, the destination expects %" PRIu64
			 ": give both the same amount, or the destination none",
			 s->ops, d->ops);
	else if (s->passes != d->passes)
		snprintf(why, size,
			 "the number of passes is %" PRIu64 " on the source and %" PRIu64
			 " on the destination: give both the same -passes",
			 s->passes, d->passes);
	else if (s->connections != d->connections)
		snprintf(why, size,
			 "the number of data connections is %" PRIu32 " on the source and %" PRIu32
			 " on the destination: give both the same ports, or the same -queuedepth",
			 s->connections, d->connections);
	else
		return true;
	return false;
}

bool session_ranges_fit(const struct wire_plan *source, const struct wire_plan *destination,
			const struct wire_range *ranges, size_t n)
{
	if (n && !(destination->flags & WIRE_RESUMES))
		return false;
	for (size_t i = 0; i < n; i++)
		if (ranges[i].first > source->ops ||
		    ranges[i].count > source->ops - ranges[i].first)
			return false;
	return true;
}

bool session_results_fit(const struct wire_pass *source, const struct wire_pass *destination,
			 char *why, size_t size)
{
	const struct wire_pass *s = source, *d = destination;
	char sent[DIGEST_TEXT_SIZE], written[DIGEST_TEXT_SIZE];

	if (s->ops != d->ops + d->failed)
		snprintf(why, size,
			 "the source sent %" PRIu64 " blocks, the destination wrote %" PRIu64,
			 s->ops, d->ops);
	else if (d->failed)
		/* It reports failed writes itself; the rest cannot agree then. */
		return true;
	else if (s->bytes != d->bytes)
		snprintf(why, size,
			 "the source sent %" PRIu64 " bytes, the destination wrote %" PRIu64,
			 s->bytes, d->bytes);
	else if (!digest_equal(s->digest, d->digest))
		snprintf(why, size,
			 "the source sent data with the digest %s, the destination wrote %s",
			 digest_text(s->digest, sent), digest_text(d->digest, written));
	else
		return true;
	return false;
}
