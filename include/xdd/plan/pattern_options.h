/*
 * -datapattern: the data to write.
 *
 * Part of struct target_plan in xdd/plan/plan.h. Fields marked "option" are set by the option
 * table, those marked "resolved" by plan_resolve(). Const once the plan is built; any thread.
 */
#ifndef XDD_PLAN_PATTERN_OPTIONS_H
#define XDD_PLAN_PATTERN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first bytes of each sector of tagged data; xdd/io/tag.h has the whole of it. */
#define PATTERN_TAG_MAGIC "XDDtag1\n"

enum pattern_kind {
	PATTERN_CHARACTER, /* one byte, repeated; zeros unless another is given */
	PATTERN_ASCII,
	PATTERN_HEX,
	PATTERN_FILE,
	PATTERN_RANDOM,
	PATTERN_RANDOM_BY_TARGET,
	PATTERN_SEQUENCED,
	PATTERN_LFPAT,
	PATTERN_LTPAT,
	PATTERN_CJTPAT,
	PATTERN_CRPAT,
	PATTERN_CSPAT,
	PATTERN_REDUCIBLE, /* compress, dedupe, or both */
	PATTERN_TAGGED,
};

struct pattern_options {
	enum pattern_kind kind; /* option */
	bool given;		/* option; a pattern or a modifier was given */
	const char *use;	/* option; the -datapattern that named it, by its word */
	const char *word;   /* option; the word that stands for the character; NULL: not given */
	const char *text;   /* option; string of ascii, digits of hex */
	const char *file;   /* option; name of file */
	const char *prefix; /* option; digits; NULL: none */
	bool replicate;	    /* option */
	bool inverse;	    /* option */
	uint64_t compress;  /* option; percent that a compressor saves */
	uint64_t dedupe;    /* option; percent of units that are copies */

	/* resolved */
	const uint8_t *bytes; /* ascii, hex, file */
	size_t n_bytes;
};

#endif
