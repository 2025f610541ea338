/*
 * The measurements of a check: each is a run in this process. Called by check.c.
 */
#include <inttypes.h>
#include <string.h>

#include "commands/check.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define NUMBER_SIZE 24

/* Small requests, at least, of a target that has fewer blocks. */
#define SMALL_REQUESTS 4096

uint64_t check_depth(enum check_phase phase)
{
	static const uint64_t depths[] = {
		[CHECK_LARGE] = 8, [CHECK_SINGLE] = 1, [CHECK_DEEP] = 32
	};

	return depths[phase];
}

uint64_t check_request_bytes(const struct check_target *t, enum check_phase phase)
{
	return phase == CHECK_LARGE ? t->large_bytes : t->unit_bytes;
}

double check_rate(const struct check_row *row)
{
	return row->measured ? (double)row->bytes / row->seconds : 0;
}

double check_iops(const struct check_row *row)
{
	return row->measured ? (double)row->ops / row->seconds : 0;
}

/* ---- the sink ---- */

static void take_latency(struct check_row *row, const struct figures *f)
{
	struct histogram_view v = latency_view(&f->latency, LATENCY_SERVICE, LATENCY_ALL_DIRS);

	if (!(f->known & FIGURES_LATENCY) || !histogram_count(&v))
		return;
	row->p50_ns = histogram_known_percentile(&v, 50 * HISTOGRAM_PERCENT);
	row->p99_ns = histogram_known_percentile(&v, 99 * HISTOGRAM_PERCENT);
	row->max_ns = (double)histogram_max(&v);
}

static void take_cache(struct check_row *row, const struct cache_state *cache)
{
	if (cache->accuracy < CACHE_NOT_MEASURED) {
		row->cache_bytes = cache->range_bytes;
		row->resident_bytes = cache->resident_bytes;
	}
	if (!cache->holes_unknown) {
		row->covered_bytes = cache->range_bytes;
		row->hole_bytes = cache->hole_bytes;
	}
}

static void take_result(void *arg, const struct result *result)
{
	const struct figures *f = &result->figures;
	struct check_row *row = arg;

	if (result->what != RESULT_TARGET_AVERAGE)
		return;
	row->ops = tally_ops(&f->tally);
	row->bytes = tally_bytes(&f->tally);
	row->errors = f->tally.errors;
	row->outstanding = f->tally.outstanding;
	row->seconds = (double)f->elapsed_ns / (double)NS_PER_SEC;
	row->measured = row->ops && row->seconds > 0;
	row->partial = result->partial;
	take_latency(row, f);
	take_cache(row, &f->cache);
	if (result->bound == RESULT_BOUND_STARVED)
		row->starved = result->times.waited;
	if (result->bound == RESULT_BOUND_QUOTA)
		row->quota = result->times.waited;
}

static void take_device(void *arg, const struct device_use *use)
{
	struct check_row *row = arg;

	row->device_ops = use->ops;
	row->device_bytes = use->device_bytes;
	row->device_requests = use->requests;
}

static void take_finding(void *arg, const struct finding *finding)
{
	struct check_row *row = arg;

	row->others |= finding->kind == FINDING_OTHERS;
	row->stopped |= finding->kind == FINDING_STOPPED;
	row->split |= finding->kind == FINDING_SPLIT;
	row->limited |= finding->kind == FINDING_LIMIT;
}

static void take_failure(void *arg, const struct report_failure *failure)
{
	struct check_row *row = arg;

	if (*row->first_error)
		return;
	row->first_error_offset = failure->offset;
	snprintf(row->first_error, sizeof(row->first_error), "%s", failure->why);
}

/* ---- the plan ---- */

static char *text_of(uint64_t value, char *buf)
{
	snprintf(buf, NUMBER_SIZE, "%" PRIu64, value);
	return buf;
}

/* The words of `xdd` for a phase. Requests are one block, whose size may be any. */
static enum xdd_status make_plan(const struct check_target *t, enum check_phase phase,
				 uint64_t limit_ns, struct plan **plan)
{
	const uint64_t block = check_request_bytes(t, phase), blocks = t->size_bytes / block;
	char size[NUMBER_SIZE], depth[NUMBER_SIZE], amount[NUMBER_SIZE], range[NUMBER_SIZE];
	char limit[NUMBER_SIZE], seed[NUMBER_SIZE];
	const char *words[32] = { "xdd", "-op", "read", "-target", t->path, "-ioengine", t->engine };
	size_t n = 7;

	snprintf(limit, sizeof(limit), "%.6f", (double)limit_ns / (double)NS_PER_SEC);
	words[n++] = "-blocksize";
	words[n++] = text_of(block, size);
	words[n++] = "-reqsize";
	words[n++] = "1";
	words[n++] = "-queuedepth";
	words[n++] = text_of(check_depth(phase), depth);
	words[n++] = "-timelimit";
	words[n++] = limit;
	if (t->direct)
		words[n++] = "-dio";
	if (phase == CHECK_LARGE) {
		words[n++] = "-bytes";
		words[n++] = text_of(t->size_bytes, amount);
	} else {
		words[n++] = "-numreqs";
		words[n++] = text_of(blocks > SMALL_REQUESTS ? blocks : SMALL_REQUESTS, amount);
		words[n++] = "-seek";
		words[n++] = "random";
		words[n++] = "range";
		words[n++] = text_of(blocks, range);
		words[n++] = "seed";
		/* A device may remember what was read before: other offsets each time. */
		words[n++] = text_of(clock_wall_ns(), seed);
	}
	words[n] = NULL;
	return runner_plan(words, plan);
}

void check_row_begin(struct check_row *row, const struct check_target *t, enum check_phase phase)
{
	*row = (struct check_row){ .req_bytes = check_request_bytes(t, phase),
				   .depth = check_depth(phase) };
}

enum xdd_status check_measure(struct runner *runner, const struct check_target *t,
			      enum check_phase phase, uint64_t limit_ns, const char *title,
			      struct check_row *row)
{
	const struct report_sink sink = {
		.arg = row,
		.needs = FIGURES_LATENCY | FIGURES_CPU | FIGURES_WAIT,
		.title = title,
		.result = take_result,
		.device = take_device,
		.finding = take_finding,
		.failure = take_failure,
	};
	enum xdd_status status;
	struct plan *plan;

	check_row_begin(row, t, phase);
	status = make_plan(t, phase, limit_ns, &plan);
	if (!status)
		status = runner_run(runner, plan, &sink);
	if (!runner->stuck)
		plan_free(plan);
	return status;
}
