/*
 * The line of the result for people that says what ran: "data.bin: random reads of 4 KiB, depth 32,
 * direct, libaio, 10.0 s". Called by person.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/person.h"
#include "report/screen.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/mix.h"

#define SIZE_TEXT 32

/* A name may take this share of the first line. */
#define NAME_SHARE 2

static void write_name(FILE *f, const struct plan *plan, const struct screen *screen)
{
	char *name, *shown;

	if (plan->n_targets > 1) {
		fprintf(f, "%zu targets", plan->n_targets);
		return;
	}
	name = printable_dup(plan->targets[0].path, false);
	shown = name ? screen_shorten(screen, name, screen->columns / NAME_SHARE) : NULL;
	fputs(shown ? shown : "target 0", f);
	free(shown);
	free(name);
}

static const char *pattern_word(const struct target_plan *t)
{
	static const char *const words[] = {
		[SEEK_SEQUENTIAL] = "sequential ", [SEEK_RANDOM] = "random ",
		[SEEK_ONCE] = "random ",	   [SEEK_ZIPF] = "random ",
		[SEEK_STAGGER] = "staggered ",	   [SEEK_INTERLEAVE] = "interleaved ",
		[SEEK_STREAMS] = "sequential ",	   [SEEK_NONE] = "",
		[SEEK_LOAD] = "listed ",
	};

	return words[t->seek.pattern];
}

/* Operations of the targets, as bits. */
static unsigned ops_of(const struct plan *plan)
{
	unsigned ops = 0;

	for (size_t i = 0; i < plan->n_targets; i++)
		ops |= 1u << plan->targets[i].op;
	return ops;
}

static void write_ops(FILE *f, const struct plan *plan)
{
	const struct target_plan *t = &plan->targets[0];

	switch (ops_of(plan)) {
	case 1u << OP_READ:
		fputs("reads", f);
		break;
	case 1u << OP_WRITE:
		fputs("writes", f);
		break;
	case 1u << OP_NOOP:
		fputs("no-ops", f);
		break;
	case 1u << OP_DISCARD:
		fputs("discards", f);
		break;
	case 1u << OP_MIXED:
		fprintf(f, "reads and writes (%.4g %% reads)",
			100.0 * t->read_ratio / PLAN_RATIO_ONE);
		break;
	default:
		fputs("reads and writes", f);
	}
}

static void write_pattern(FILE *f, const struct plan *plan)
{
	for (size_t i = 1; i < plan->n_targets; i++) {
		if (plan->targets[i].seek.pattern != plan->targets[0].seek.pattern)
			return;
	}
	fputs(pattern_word(&plan->targets[0]), f);
}

/* "4 KiB", or "4 KiB to 1 MiB". */
static void write_sizes(FILE *f, const struct plan *plan)
{
	uint64_t least = UINT64_MAX, most = 0;
	char text[SIZE_TEXT];

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct request_mix *mix = plan->targets[i].mix;
		const uint64_t bytes = plan->targets[i].req_bytes;
		const uint64_t smallest = mix ? mix_smallest(mix) : bytes;

		least = smallest < least ? smallest : least;
		most = bytes > most ? bytes : most;
	}
	fprintf(f, " of %s", units_size_text(least, text, sizeof(text)));
	if (most > least)
		fprintf(f, " to %s", units_size_text(most, text, sizeof(text)));
}

static void write_depths(FILE *f, const struct plan *plan)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const uint64_t depth = plan->targets[i].queue_depth;

		least = depth < least ? depth : least;
		most = depth > most ? depth : most;
	}
	fprintf(f, ", depth %" PRIu64, least);
	if (most > least)
		fprintf(f, " to %" PRIu64, most);
}

/* Nothing where no target has data of a file or a block device to move. */
static void write_path(FILE *f, const struct plan *plan)
{
	bool direct = false, buffered = false;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		const bool pages = t->op != OP_DISCARD &&
				   (t->kind == TARGET_FILE || t->kind == TARGET_BLOCK ||
				    t->kind == TARGET_MISSING);

		direct |= pages && t->direct_io;
		buffered |= pages && !t->direct_io;
	}
	if (direct || buffered)
		fprintf(f, ", %s", !buffered ? "direct" : direct ? "some direct" : "buffered");
}

static void write_engine(FILE *f, const struct plan *plan)
{
	const struct engine_info *engine = plan_engine(&plan->targets[0]);

	for (size_t i = 1; i < plan->n_targets; i++) {
		if (plan_engine(&plan->targets[i]) != engine)
			return;
	}
	fprintf(f, ", %s", engine->name);
}

/* The rate of -throttle where it is the same for all targets. */
static void write_rate(FILE *f, const struct plan *plan)
{
	const struct throttle_options *o = &plan->targets[0].throttle;
	char text[SCALED_SIZE];

	for (size_t i = 1; i < plan->n_targets; i++) {
		const struct throttle_options *other = &plan->targets[i].throttle;

		if (other->by != o->by || other->rate != o->rate || other->poisson != o->poisson)
			return;
	}
	if (o->by == THROTTLE_OPS)
		scaled_ops(o->rate, text);
	else if (o->by == THROTTLE_BANDWIDTH)
		scaled_rate(o->rate * 1e6, text);
	else
		return;
	fprintf(f, ", throttled to %s%s%s", text, plan->n_targets > 1 ? " each" : "",
		o->poisson ? ", Poisson arrivals" : "");
}

static void write_time(FILE *f, const struct person *p)
{
	char text[SCALED_SIZE];

	if (p->all.passes > 1)
		fprintf(f, ", %" PRIu64 " passes", p->all.passes);
	if (p->all.any)
		fprintf(f, ", %s", scaled_time((double)p->all.elapsed_ns, text));
}

int person_words(const struct person *p, const struct screen *screen, FILE *f)
{
	struct memstream m;

	if (!memstream_open(&m))
		return -ENOMEM;
	write_name(m.f, p->plan, screen);
	fputs(": ", m.f);
	write_pattern(m.f, p->plan);
	write_ops(m.f, p->plan);
	write_sizes(m.f, p->plan);
	write_depths(m.f, p->plan);
	write_path(m.f, p->plan);
	write_engine(m.f, p->plan);
	write_rate(m.f, p->plan);
	write_time(m.f, p);
	if (memstream_close(&m))
		return -ENOMEM;
	screen_wrap(screen, f, SCREEN_PLAIN, NULL, m.text);
	free(m.text);
	return 0;
}
