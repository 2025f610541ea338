/*
 * Amounts of a target as options gave them, where their value is known only with the block size or
 * the size of the target.
 *
 * Part of struct target_plan in xdd/plan/plan.h. Set by the option table; plan_resolve() computes
 * the fields that they stand for. Const once the plan is built; any thread.
 */
#ifndef XDD_PLAN_AMOUNT_OPTIONS_H
#define XDD_PLAN_AMOUNT_OPTIONS_H

#include <stdint.h>

struct setting;

enum amount_kind {
	AMOUNT_AS_IS,	 /* without a suffix: the field has it already */
	AMOUNT_OF_BYTES, /* with a suffix */
	AMOUNT_SHARE,	 /* of the target, in units of 10^-6 percent */
};

/* Options for the same field share an entry: the last one wins. */
enum amount_entry {
	ENTRY_BLOCK, /* -blocksize; its field always has the value */
	ENTRY_REQUEST,
	ENTRY_WORK, /* -bytes and its variants */
	ENTRY_START,
	ENTRY_PASS_OFFSET,
	ENTRY_TARGET_OFFSET,
	ENTRY_RANGE,
	ENTRY_RANK_BLOCK,
	N_AMOUNT_ENTRIES,
};

struct amount {
	enum amount_kind kind;
	uint64_t value;
	const struct setting *from; /* NULL: the default */
};

#endif
