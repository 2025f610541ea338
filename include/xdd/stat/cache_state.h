/*
 * The state of data before it was read: in the page cache, on a device, or never written.
 */
#ifndef XDD_STAT_CACHE_STATE_H
#define XDD_STAT_CACHE_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* The accuracy of the share of the page cache; a sum has the greatest of its parts. */
enum cache_accuracy {
	CACHE_EXACT,
	CACHE_SAMPLED,	    /* an estimate */
	CACHE_NOT_MEASURED, /* -dio, or a file that exists in memory only */
	CACHE_UNKNOWN,
};

/* Bytes that one or several passes have read. */
struct cache_state {
	uint64_t range_bytes;	 /* bytes that reads were issued for; 0: nothing is known */
	uint64_t resident_bytes; /* of these, in the page cache; see `accuracy` */
	uint64_t hole_bytes;	 /* of these, never written */
	enum cache_accuracy accuracy;
	bool holes_unknown; /* `hole_bytes` is not measured; of a sum, not of all its parts */
};

/* Add `from` to `sum`. Any thread. */
void cache_state_add(struct cache_state *sum, const struct cache_state *from);

#endif
