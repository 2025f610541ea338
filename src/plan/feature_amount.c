/*
 * Amounts with a suffix, which count bytes, and shares of the target, as blocks and bytes. Has no
 * options of its own; its step comes after that of feature_target.c, which finds the size.
 */
#include "plan/feature.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/extent.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/mix.h"

#define SECTOR_BYTES 512 /* the least that devices transfer */

static enum xdd_status refuse(const struct amount *a, const char *text)
{
	const struct setting *s = a->from;
	char size[48] = "";

	/* One of several sizes. */
	if (s->n_args > 1) {
		units_size_text(a->value, size, 32);
		strcat(size, ": ");
	}
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[s->n_args - 1], "%s%s", size, text);
}

static const struct option *row_of(const struct amount *a)
{
	return a->from->sub ? a->from->sub : a->from->opt;
}

/* " of target 1", or nothing where there is one target. */
static const char *of_target(const struct plan *plan, const struct target_plan *t, char *buf,
			     size_t size)
{
	*buf = '\0';
	if (plan->n_targets > 1)
		snprintf(buf, size, " of target %" PRIu32, t->number);
	return buf;
}

/* The largest multiple that is not greater, and the next one. */
static enum xdd_status want_multiple(const struct plan *plan, const struct target_plan *t,
				     const struct amount *a, const char *also)
{
	uint64_t below = a->value - a->value % t->block_size, above;
	char block[32], lo[32], hi[32], of[32], text[256], nearest[96];

	if (__builtin_add_overflow(below, t->block_size, &above))
		above = below;
	units_size_text(above, hi, sizeof(hi));
	if (below && above != below)
		snprintf(nearest, sizeof(nearest), "the nearest are %s and %s",
			 units_size_text(below, lo, sizeof(lo)), hi);
	else
		snprintf(nearest, sizeof(nearest), "the nearest is %s", hi);
	snprintf(text, sizeof(text), "must be a multiple of the block size%s, %s; %s%s",
		 of_target(plan, t, of, sizeof(of)),
		 units_size_text(t->block_size, block, sizeof(block)), nearest, also);
	return refuse(a, text);
}

/* The option for all of this target whose number counts blocks, or NULL. */
static const struct setting *counts_blocks(const struct target_plan *t)
{
	for (unsigned i = ENTRY_START; i < N_AMOUNT_ENTRIES; i++) {
		const struct amount *a = &t->amounts[i];

		if (a->from && a->kind == AMOUNT_AS_IS)
			return a->from;
	}
	return NULL;
}

/*
 * A request that is no multiple of the default block size makes a sector the block, unless another
 * option counts blocks: those would change their meaning.
 */
static enum xdd_status shrink_block(const struct plan *plan, struct target_plan *t,
				    const struct amount *a)
{
	const struct setting *other = counts_blocks(t);
	char also[96], text[256];

	if (other || t->seek.pattern == SEEK_LOAD) {
		snprintf(text, sizeof(text),
			 "is no multiple of the default block size, 1 KiB, in which %.64s counts; "
			 "say the block size too, -blocksize 512 or -blocksize 1024",
			 other ? other->name.text : "-seek load");
		return refuse(a, text);
	}
	if (a->value % SECTOR_BYTES || !a->value) {
		snprintf(also, sizeof(also),
			 "; say -blocksize %" PRIu64 "B for requests of that size", a->value);
		return want_multiple(plan, t, a, a->value && !t->mix_words ? also : "");
	}
	t->block_size = SECTOR_BYTES;
	return XDD_OK;
}

/* The blocks of a size of a mix. */
static enum xdd_status mix_blocks(const struct plan *plan, struct target_plan *t,
				  const struct mix_item *item, bool may_shrink, uint64_t *blocks)
{
	const struct amount a = { AMOUNT_OF_BYTES, item->value, t->mix_words->from };
	enum xdd_status status = XDD_OK;

	*blocks = item->value;
	if (item->in_blocks)
		return XDD_OK;
	if (a.value % t->block_size)
		status = may_shrink ? shrink_block(plan, t, &a) : want_multiple(plan, t, &a, "");
	*blocks = a.value / t->block_size;
	return status;
}

/* Another size that shrinks the block comes too late for sizes in blocks. */
static bool mix_may_shrink(const struct target_plan *t)
{
	for (size_t i = 0; i < t->mix_words->n; i++) {
		if (t->mix_words->items[i].in_blocks)
			return false;
	}
	return !t->block_size_given;
}

static enum xdd_status refuse_size(const struct mix_words *w, const struct mix_item *item,
				   const char *why)
{
	const struct setting *s = w->from;

	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[1], "%.64s: %s", item->text, why);
}

/* Add a size to the mix; each once. */
static enum xdd_status add_size(const struct mix_words *w, const struct mix_item *item,
				uint64_t blocks, uint64_t block_size, struct request_mix *mix)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(blocks, block_size, &bytes) || bytes > PLAN_MAX_REQUEST_BYTES)
		return refuse_size(w, item, "is larger than 2 GiB");
	for (size_t i = 0; i < mix->n; i++) {
		if (mix->sizes[i].bytes == bytes)
			return refuse_size(w, item,
					   "is there twice; say each size once, with the "
					   "sum of its weights");
	}
	mix->sizes[mix->n++] = (struct mix_size){ bytes, item->ops };
	return XDD_OK;
}

/*
 * The sizes of a mix; its largest is the request size. Targets with the same sizes share the orders
 * of its cycles.
 */
static enum xdd_status resolve_mix(const struct plan *plan, struct target_plan *t)
{
	struct request_mix *mix = arena_alloc(plan->arena, sizeof(*mix));
	const struct request_mix *same = t->number ? plan->targets[t->number - 1].mix : NULL;
	const struct mix_words *w = t->mix_words;
	const bool may_shrink = mix_may_shrink(t);
	uint64_t blocks;

	if (!mix)
		return plan_no_memory();
	for (size_t i = 0; i < w->n; i++) {
		enum xdd_status status = mix_blocks(plan, t, &w->items[i], may_shrink, &blocks);

		if (!status)
			status = add_size(w, &w->items[i], blocks, t->block_size, mix);
		if (status)
			return status;
	}
	if (mix_init(mix, plan->arena, t->seek.seed, same))
		return plan_no_memory();
	t->mix = mix;
	t->req_blocks = mix_largest(mix) / t->block_size;
	return XDD_OK;
}

/* Suffixes count bytes: "-reqsize 4k" is 4096 of them, "-blocksize 4k" alone requests of 4096. */
static enum xdd_status resolve_request(const struct plan *plan, struct target_plan *t)
{
	const struct amount *a = &t->amounts[ENTRY_REQUEST];
	enum xdd_status status = XDD_OK;

	if (t->mix_words)
		return resolve_mix(plan, t);
	if (!t->req_blocks_given && t->amounts[ENTRY_BLOCK].kind == AMOUNT_OF_BYTES)
		t->req_blocks = 1;
	if (a->kind != AMOUNT_OF_BYTES)
		return XDD_OK;
	if (a->value % t->block_size)
		status = t->block_size_given ? want_multiple(plan, t, a, "") :
					       shrink_block(plan, t, a);
	if (!status)
		t->req_blocks = a->value / t->block_size;
	return status;
}

/* A share of the target in bytes: whole requests, and for all of it every byte. */
static enum xdd_status share_bytes(const struct plan *plan, const struct target_plan *t,
				   const struct amount *a, uint64_t *bytes)
{
	uint64_t request = t->mix ? t->block_size : t->req_blocks * t->block_size;
	char of[32], size[32], text[256];

	of_target(plan, t, of, sizeof(of));
	if (!plan_has_size(t) || !t->size_bytes) {
		snprintf(text, sizeof(text),
			 "cannot compute a share: the size%s is not known before the run, or is 0; "
			 "say a number, or bytes with a suffix",
			 *of ? of : " of the target");
		return refuse(a, text);
	}
	*bytes = (uint64_t)((uint128)t->size_bytes * a->value / PLAN_RATIO_ONE);
	if (a->value < PLAN_RATIO_ONE)
		*bytes -= *bytes % request;
	if (*bytes || row_of(a)->min == 0)
		return XDD_OK;
	snprintf(text, sizeof(text), "is less than one request%s, which has %s", of,
		 units_size_text(request, size, sizeof(size)));
	return refuse(a, text);
}

/* The field that the option stands for: bytes for -bytes, blocks for all others. */
static enum xdd_status resolve_entry(const struct plan *plan, struct target_plan *t,
				     enum amount_entry entry)
{
	const struct amount *a = &t->amounts[entry];
	enum xdd_status status = XDD_OK;
	uint64_t bytes = a->value;

	if (a->kind == AMOUNT_AS_IS)
		return XDD_OK;
	if (a->kind == AMOUNT_SHARE)
		status = share_bytes(plan, t, a, &bytes);
	else if (entry != ENTRY_WORK && bytes % t->block_size)
		status = want_multiple(plan, t, a, "");
	if (!status)
		*(uint64_t *)((char *)t + row_of(a)->off) =
			entry == ENTRY_WORK ? bytes : bytes / t->block_size;
	return status;
}

static enum xdd_status resolve(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = resolve_request(plan, t);

	for (unsigned i = ENTRY_WORK; i < N_AMOUNT_ENTRIES && !status; i++)
		status = resolve_entry(plan, t, (enum amount_entry)i);
	return status;
}

/* kB is 1000 bytes; for a block, 1024 are mostly meant. */
static void warn(const struct target_plan *t)
{
	const struct amount *a = &t->amounts[ENTRY_BLOCK];

	if (a->kind == AMOUNT_OF_BYTES && t->block_size % SECTOR_BYTES && t->block_size >= 1000 &&
	    t->block_size % 1000 == 0)
		log_warning("target %" PRIu32 ", %s: -blocksize %s: has %" PRIu64
			    " bytes; kB and MB are powers of 1000, k and KiB of 1024",
			    t->number, t->path, a->from->args[0].text, t->block_size);
}

const struct plan_feature feature_amount = {
	.target = { [TARGET_PROBE] = resolve },
	.warn_target = warn,
};
