/*
 * -seek: the access pattern, and the list of operations of -seek load.
 *
 * Part of struct target_plan in xdd/plan/plan.h. Fields marked "option" are set by the option
 * table, those marked "resolved" by plan_resolve(). Const once the plan is built; any thread.
 */
#ifndef XDD_PLAN_SEEK_OPTIONS_H
#define XDD_PLAN_SEEK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zipf;

enum seek_pattern {
	SEEK_SEQUENTIAL,
	SEEK_RANDOM,
	SEEK_ONCE, /* -seek random once */
	SEEK_ZIPF,
	SEEK_STAGGER,
	SEEK_INTERLEAVE,
	SEEK_STREAMS,
	SEEK_NONE,
	SEEK_LOAD,
};

struct seek_options {
	enum seek_pattern pattern; /* option */
	uint64_t range_blocks;	   /* option; 0: implied by the amount of work */
	uint64_t interleave;	   /* option; factor */
	uint64_t seed;		   /* option */
	double theta;		   /* option; of SEEK_ZIPF */
	const struct zipf *zipf;   /* resolved; ranks of SEEK_ZIPF */
	const char *save_file;	   /* option; NULL: none */
	const char *load_file;	   /* option; NULL: none */
	uint64_t disthist;	   /* option; buckets, 0: none */
	uint64_t seekhist;	   /* option; buckets, 0: none */
};

/* True if the pattern has its offsets in random order. */
static inline bool seek_is_random(enum seek_pattern pattern)
{
	return pattern == SEEK_RANDOM || pattern == SEEK_ONCE || pattern == SEEK_ZIPF;
}

/* One row of a -seek load file. */
struct seek_row {
	uint64_t block; /* in blocks of the target, start offset included */
	uint32_t blocks;
	char op; /* 'r', 'w', 'n' or 'd' (discard) */
};

#endif
