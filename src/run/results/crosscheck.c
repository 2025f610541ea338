/*
 * Cross-checks. Called by the results manager.
 *
 * A warning is for what moved enough to be meant as a measurement; with -verbose each check says
 * what it found.
 */
#include "run/results/crosscheck.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/results/bound.h"
#include "run/results/written.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/nstime.h"
#include "xdd/base/scaled.h"
#include "xdd/base/units.h"
#include "xdd/io/diskstats.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/report/result.h"
#include "xdd/stat/counters.h"

/* Less than both is a trial. */
#define MATTERS_BYTES (16ull << 20)
#define MATTERS_NS NS_PER_SEC

/* Shares, in percent, from which a result is no longer what it seems. */
#define CACHED_WARN 10.0
#define HOLES_WARN 10.0
#define SPLIT_WARN 10.0
#define OTHER_WARN 10.0
#define FEWER_WARN 50.0

/* Journals and the like: what a device may do besides without a word. */
#define OTHER_BYTES (4ull << 20)
#define OTHER_REQUESTS 64

/* Requests of other programs have a page at least: so the page cache and most journals work. */
#define OTHER_REQUEST_BYTES 4096

static bool has_pages(const struct target_plan *t)
{
	return t->kind == TARGET_FILE || t->kind == TARGET_BLOCK || t->kind == TARGET_MISSING;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static struct device_check *find_device(struct crosscheck *c, const char *name)
{
	for (size_t i = 0; i < c->n_devices; i++) {
		if (strcmp(c->devices[i].name, name) == 0)
			return &c->devices[i];
	}
	return NULL;
}

static void add_device(struct crosscheck *c, const struct target_plan *t)
{
	struct device_check *d = &c->devices[c->n_devices];
	char name[DISKSTATS_NAME_SIZE];

	c->device_of[t->number] = -1;
	/* The kernel chooses when and how data in the page cache reach the device. */
	if (!t->direct_io || !has_pages(t) || diskstats_device(t->path, name))
		return;
	if (!find_device(c, name)) {
		*d = (struct device_check){ 0 };
		if (diskstats_read(name, &d->before))
			return;
		strcpy(d->name, name);
		c->n_devices++;
	}
	c->device_of[t->number] = (int32_t)(find_device(c, name) - c->devices);
}

int crosscheck_begin(struct crosscheck *c, const struct plan *plan)
{
	c->plan = plan;
	c->devices = calloc(plan->n_targets, sizeof(*c->devices));
	c->device_of = calloc(plan->n_targets, sizeof(*c->device_of));
	if (!c->devices || !c->device_of)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_targets; i++)
		add_device(c, &plan->targets[i]);
	return 0;
}

void crosscheck_open(struct crosscheck *c)
{
	for (size_t i = 0; c->device_of && i < c->plan->n_targets && !c->zeros; i++) {
		c->zeros_why = written_loses_zeros(&c->plan->targets[i]);
		if (c->zeros_why)
			c->zeros = &c->plan->targets[i];
	}
}

static bool matters(const struct result *sums)
{
	return tally_bytes(&sums->figures.tally) >= MATTERS_BYTES ||
	       sums->figures.elapsed_ns >= MATTERS_NS;
}

static void check_data(struct run *run, const struct target_plan *t, const struct result *sums)
{
	double cached =
		percent(sums->figures.cache.resident_bytes, sums->figures.cache.range_bytes);
	double holes = percent(sums->figures.cache.hole_bytes, sums->figures.cache.range_bytes);

	if (cached >= CACHED_WARN)
		report_finding(
			run->report, FINDING_CACHED, t->number,
			"target %u, %s: %s%.0f %% of what was read was in the page cache before: that "
			"measures memory; %s the device",
			t->number, t->path,
			sums->figures.cache.accuracy == CACHE_SAMPLED ? "about " : "", cached,
			t->direct_io ? "-dropcache reads" : "-dio and -dropcache read");
	if (holes >= HOLES_WARN)
		report_finding(
			run->report, FINDING_HOLES, t->number,
			"target %u, %s: %.0f %% of what was read was never written: no device is "
			"asked for that",
			t->number, t->path, holes);
}

/*
 * Only what goes past the page cache was meant to measure a device: memory is as fast as the
 * processor, and the null device and -op noop are there to measure xdd itself.
 */
static void check_bound(struct run *run, const struct target_plan *t, const struct result *sums,
			const struct bound_facts *f)
{
	if (!t->direct_io || !has_pages(t) || t->op == OP_NOOP)
		return;
	if (sums->bound == RESULT_BOUND_GENERATOR)
		report_finding(
			run->report, FINDING_GENERATOR, t->number,
			"target %u, %s: generator-bound: its QThreads were at work or had no processor "
			"for %.0f %% of the time: the device might do more",
			t->number, t->path, 100 * (f->own + f->kernel + f->waited));
	else if (sums->bound == RESULT_BOUND_STARVED)
		report_finding(
			run->report, FINDING_STARVED, t->number,
			"target %u, %s: starved: its QThreads had no processor for %.0f %% of the "
			"time, which others used: the device might do more",
			t->number, t->path, 100 * f->waited);
	else if (sums->bound == RESULT_BOUND_QUOTA)
		report_finding(
			run->report, FINDING_QUOTA, t->number,
			"target %u, %s: quota: the CPU quota of its control group stopped its "
			"QThreads for %.0f %% of the time: the device might do more",
			t->number, t->path, 100 * f->waited);
}

/* How the QThreads of a target spent the time that they had. */
static void tell_bound(struct run *run, const struct result *sums, const struct bound_facts *f)
{
	const char *verdict = bound_text(sums->bound);
	char held[64] = "";

	if (f->paced)
		snprintf(held, sizeof(held), ", and %.1f %% idle until an operation was due",
			 100 * bound_held(f));
	report_detail(run->report,
		      "Target %" PRIu64
		      ", %s%sits QThreads were %.1f %% of the time in xdd itself, %.1f %% "
		      "in the kernel,%s %.1f %% without a processor%s",
		      sums->target, verdict ? verdict : "", verdict ? ": " : "", 100 * f->own,
		      100 * f->kernel, f->paced ? "" : " and", 100 * f->waited, held);
}

static void tell_data(struct run *run, const struct target_plan *t, const struct cache_state *cache)
{
	const bool measured = cache->accuracy < CACHE_NOT_MEASURED;
	char cached[80] = "not measured, -dio reads past it", holes[64] = "";

	if (cache->accuracy == CACHE_UNKNOWN)
		strcpy(cached,
		       "unknown, the kernel does not say how much of what was read was in it");
	if (measured)
		snprintf(cached, sizeof(cached), "%s%.1f %% of what was read was in it before",
			 cache->accuracy == CACHE_SAMPLED ? "about " : "",
			 percent(cache->resident_bytes, cache->range_bytes));
	if (!cache->holes_unknown)
		snprintf(holes, sizeof(holes), "%s %.1f %% %swas never written",
			 measured ? ", and" : ";", percent(cache->hole_bytes, cache->range_bytes),
			 measured ? "" : "of what was read ");
	report_detail(run->report, "Target %u, page cache: %s%s", t->number, cached, holes);
}

void crosscheck_target(struct crosscheck *c, struct run *run, const struct result *sums,
		       const struct bound_facts *facts, const struct dirty_sample *dirty)
{
	const struct target_plan *t = &run->plan->targets[sums->target];

	if (c->device_of && c->device_of[t->number] >= 0) {
		struct device_check *d = &c->devices[c->device_of[t->number]];

		for (int dir = DIR_READ; dir <= DIR_WRITE; dir++) {
			d->ops[dir] += sums->figures.tally.ops[dir];
			d->bytes[dir] += sums->figures.tally.bytes[dir];
		}
		d->hole_bytes += sums->figures.cache.hole_bytes;
		d->warmed_up |= sums->figures.tally.warmup_ops != 0;
	}
	if (matters(sums)) {
		check_data(run, t, sums);
		written_check_dirty(run, t, dirty);
		if (t == c->zeros)
			written_report_zeros(run, t, c->zeros_why);
		if (facts)
			check_bound(run, t, sums, facts);
	}
	if (sums->figures.cache.range_bytes)
		tell_data(run, t, &sums->figures.cache);
	if (facts)
		tell_bound(run, sums, facts);
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Direct reads of data, and not of holes, that the device did not transfer. */
static void check_direct_reads(struct run *run, const struct device_check *d, uint64_t device_bytes)
{
	uint64_t own = since(d->bytes[DIR_READ], d->hole_bytes);
	char moved[SCALED_SIZE], wanted[SCALED_SIZE];

	if (own < MATTERS_BYTES || percent(device_bytes, own) >= 100.0 - FEWER_WARN ||
	    !diskstats_counts(d->name))
		return;
	report_finding(run->report, FINDING_CACHED, FINDING_RUN,
		       "device %s: it transferred %s, and this run read %s with -dio: the others "
		       "came from elsewhere, such as the page cache",
		       d->name, scaled_bytes((double)device_bytes, moved),
		       scaled_bytes((double)own, wanted));
}

/*
 * Requests beyond those of this run, without those that the bytes of others explain: only these are
 * parts of its operations.
 */
static uint64_t split_requests(const struct device_check *d, uint64_t requests, uint64_t bytes)
{
	const uint64_t ops = d->ops[DIR_READ] + d->ops[DIR_WRITE];
	const uint64_t own = d->bytes[DIR_READ] + d->bytes[DIR_WRITE];
	const uint64_t others = since(bytes, since(own, d->hole_bytes)) / OTHER_REQUEST_BYTES;

	return since(requests, ops + others);
}

static void check_device(struct run *run, const struct device_check *d)
{
	uint64_t requests, bytes, merged, split, ops = d->ops[0] + d->ops[1];
	uint64_t own = d->bytes[0] + d->bytes[1];
	char moved[SCALED_SIZE], wanted[SCALED_SIZE];
	struct diskstats now;

	if (diskstats_read(d->name, &now))
		return;
	requests = since(now.requests[0] + now.requests[1],
			 d->before.requests[0] + d->before.requests[1]);
	merged = since(now.merged[0] + now.merged[1], d->before.merged[0] + d->before.merged[1]);
	bytes = since(now.bytes[0] + now.bytes[1], d->before.bytes[0] + d->before.bytes[1]);
	split = split_requests(d, requests, bytes);
	report_device(run->report, &(struct device_use){ .name = d->name,
							 .ops = ops,
							 .bytes = own,
							 .requests = requests,
							 .merged = merged,
							 .device_bytes = bytes });
	report_detail(run->report,
		      "Device %s: %" PRIu64 " requests and %" PRIu64 " merged for %" PRIu64
		      " operations, %" PRIu64 " bytes for %" PRIu64,
		      d->name, requests, merged, ops, bytes, own);
	if (own < MATTERS_BYTES || d->warmed_up)
		return;
	check_direct_reads(run, d, since(now.bytes[DIR_READ], d->before.bytes[DIR_READ]));
	if (bytes > own + OTHER_BYTES && percent(bytes - own, own) >= OTHER_WARN)
		report_finding(run->report, FINDING_OTHERS, FINDING_RUN,
			       "device %s: it moved %s, this run %s: other I/O was active, or "
			       "earlier writes were still being flushed",
			       d->name, scaled_bytes((double)bytes, moved),
			       scaled_bytes((double)own, wanted));
	else if (split > OTHER_REQUESTS && percent(split, ops) >= SPLIT_WARN)
		report_finding(run->report, FINDING_SPLIT, FINDING_RUN,
			       "device %s: %" PRIu64 " operations became %" PRIu64
			       " requests: the kernel split them",
			       d->name, ops, requests);
	else if (merged > OTHER_REQUESTS && percent(merged, ops) >= SPLIT_WARN)
		report_finding(run->report, FINDING_MERGED, FINDING_RUN,
			       "device %s: %" PRIu64 " of %" PRIu64
			       " operations were merged by the kernel into larger requests",
			       d->name, merged, ops);
}

void crosscheck_end(struct crosscheck *c, struct run *run)
{
	for (size_t i = 0; i < c->n_devices; i++)
		check_device(run, &c->devices[i]);
	free(c->devices);
	free(c->device_of);
}
