/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cross-checks, verdicts on what limited a target, and checks of what was written; see the header.
 * Called by the results manager.
 *
 * A warning is for what moved enough to be meant as a measurement; with -verbose each check says
 * what it found.
 */
#include "run/results/crosscheck.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/io/datamap.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/report/result.h"
#include "xdd/stat/counters.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/machine.h"
#include "xdd/sys/sysfile.h"

/* Shorter passes are charged with processor time from before and after them. */
#define LEAST_NS (NS_PER_SEC / 1000)

/* From this share on, the wait for processors is the cause whatever else there was. */
#define WAITED_ALONE 0.5

/* A run that uses so much of its processors has itself to blame when its QThreads wait for them. */
#define FILLED 0.75

/* The share of the time from which a rule holds. */
static double limit_share(enum rule_id rule)
{
	return rule_table[rule].limit / 100;
}

static double bound_share(uint64_t part, double whole)
{
	double s = (double)part / whole;

	return s < 1 ? s : 1;
}

/* An end-to-end target waits for its peer as well: the verdict of its copy knows for which one. */
static bool has_device(const struct target_plan *t)
{
	return t->kind != TARGET_NULL && t->op != OP_NOOP && t->endtoend.role == E2E_NONE;
}

/* One operation at a time, whatever the depth. */
static bool is_serial(const struct target_plan *t)
{
	return t->ordering == ORDERING_SERIAL ||
	       (t->ordering == ORDERING_STRICT && !plan_queues(t));
}

/* How many processors the QThreads of the target may use, of `all` that the process may. */
static unsigned processors_of(const struct plan *plan, const struct target_plan *t, unsigned all)
{
	const struct idset *given = t->processors ? t->processors : plan->processors;
	unsigned n = given ? idset_count(given) : all;

	return n ? n : 1;
}

/* The share of its time in which a QThread was stopped by a CPU quota. */
static double quota_share(const struct plan *plan, double elapsed, uint64_t throttled_ns)
{
	double qthreads = 0;

	if (!throttled_ns)
		return 0;
	for (size_t i = 0; i < plan->n_targets; i++)
		qthreads += plan->targets[i].qthreads;
	return cgroup_throttled_share(throttled_ns, elapsed, qthreads);
}

bool bound_facts(struct bound_facts *f, const struct plan *plan, const struct result *sums,
		 const struct bound_run *run)
{
	const struct target_plan *t = &plan->targets[sums->target];
	const uint64_t all_ns = sums->figures.elapsed_ns;
	const uint64_t own_ns = all_ns > run->stopped_ns ? all_ns - run->stopped_ns : 0;
	const double elapsed = (double)own_ns, time = elapsed * t->qthreads;
	const double depth = is_serial(t) ? 1 : (double)t->queue_depth;
	const uint64_t cpu = sums->figures.cpu.user_ns + sums->figures.cpu.sys_ns;
	struct idset usable;
	unsigned processors;
	double own, everyone;

	if (own_ns < LEAST_NS)
		return false;
	*f = (struct bound_facts){
		.own = bound_share(sums->figures.cpu.user_ns, time),
		.kernel = bound_share(sums->figures.cpu.sys_ns, time),
		.waited = bound_share(sums->figures.wait_ns, time),
		.outstanding = bound_share(tally_busy_ns(&sums->figures.tally), elapsed * depth),
		.paced = plan_is_paced(plan, t),
		.device = has_device(t),
		.waited_unknown = !(sums->figures.known & FIGURES_WAIT),
	};
	/* Some of the wait may have been before the first operation. */
	if (f->own + f->kernel + f->waited > 1)
		f->waited = f->own + f->kernel < 1 ? 1 - f->own - f->kernel : 0;
	f->quota = quota_share(plan, elapsed, run->throttled_ns);
	if (f->quota > f->waited)
		f->quota = f->waited;
	processors = topology_processors(&usable) ? 0 : idset_count(&usable);
	own = bound_share(cpu, elapsed * processors_of(plan, t, processors));
	everyone = processors ? bound_share(run->cpu_ns, elapsed * processors) : 0;
	f->filled = own > everyone ? own : everyone;
	return true;
}

static double bound_idle(const struct bound_facts *f)
{
	double busy = f->own + f->kernel + f->waited;

	return busy < 1 ? 1 - busy : 0;
}

double bound_held(const struct bound_facts *f)
{
	double unused = 1 - f->outstanding;

	if (!f->paced)
		return 0;
	return unused < bound_idle(f) ? unused : bound_idle(f);
}

enum result_bound bound_judge(const struct bound_facts *f)
{
	const double held = bound_held(f), device = bound_idle(f) - held;
	const bool waited = f->waited >= limit_share(RULE_BY_OTHERS);
	const bool by_quota = waited && f->quota >= f->waited * limit_share(RULE_BY_QUOTA);
	const bool by_others = by_quota || (waited && f->filled < FILLED);
	const bool paced = held >= limit_share(RULE_BY_PACE);

	if (by_others && paced)
		return RESULT_BOUND_MIXED;
	if (by_others && f->waited < WAITED_ALONE && f->waited <= device)
		return RESULT_BOUND_MIXED;
	if (by_others)
		return by_quota ? RESULT_BOUND_QUOTA : RESULT_BOUND_STARVED;
	if (paced)
		return RESULT_BOUND_PACED;
	if (f->own + f->kernel + f->waited >= limit_share(RULE_BY_KERNEL))
		return RESULT_BOUND_GENERATOR;
	/* QThreads that are idle and not held wait for a device, or for an unknown cause. */
	if (!f->device || f->waited_unknown)
		return RESULT_BOUND_UNKNOWN;
	return device >= limit_share(RULE_BY_DEVICE) ? RESULT_BOUND_DEVICE : RESULT_BOUND_MIXED;
}

/* Less is the rest that any run leaves behind. */
#define DIRTY_BYTES (1ull << 20)

/* From here on memory makes the rate. */
#define PARTLY_PERCENT 50.0

/* linux/magic.h has none of these. */
#define ZFS_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC 0xca451a4e
#define BTRFS_MAGIC 0x9123683e

/*
 * Report writes that were in memory at the end of the last pass of a target, or of several. Results
 * manager.
 */
static void written_check_dirty(struct run *run, struct finding_about about,
				const struct dirty_sample *dirty)
{
	const double percent = 100 * dirty->share;
	char amount[SCALED_SIZE];

	if (!dirty->known || dirty->bytes < DIRTY_BYTES || percent < rule_table[RULE_DIRTY].limit)
		return;
	report_finding(run->report, about, SAYS(DIRTY), dirty->sampled ? "about " : "", percent,
		       scaled_bytes((double)dirty->bytes, amount),
		       percent < PARTLY_PERCENT ? "the rate is partly of memory" :
						  "the rate is of memory");
}

static bool are_zeros(const struct target_plan *t)
{
	return t->pattern.kind == PATTERN_CHARACTER && !t->pattern.word;
}

/* The file system of a file compresses, as far as that is known. */
static bool compresses(const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return false;
	switch ((uint32_t)fs.f_type) {
	case ZFS_MAGIC:
		return true;
	case BTRFS_MAGIC:
		return mountinfo_has_option(path, "compress") ||
		       mountinfo_has_option(path, "compress-force");
	case BCACHEFS_MAGIC:
		return mountinfo_has_option(path, "compression");
	default:
		return false;
	}
}

/* The reason why the storage of `path` may not store zeros, or NULL. */
static const char *loses_zeros(const char *path, bool file)
{
	char device[DISKSTATS_NAME_SIZE];

	if (file && compresses(path))
		return "its file system compresses them";
	if (diskstats_device(path, device))
		return NULL;
	if (strncmp(device, "zram", 4) == 0)
		return "zram stores none of them";
	/* Loop devices and RAM disks store what they get, and of other files nothing is known. */
	if (file || strncmp(device, "loop", 4) == 0 || strncmp(device, "ram", 3) == 0)
		return NULL;
	return "thin, compressing or deduplicating storage may not store them";
}

/*
 * If `t` writes zeros to storage that may compress or drop them, return the reason (static), else
 * NULL. It asks the file system: to be called before the first operation. Results manager.
 */
static const char *written_loses_zeros(const struct target_plan *t)
{
	const bool file = t->kind == TARGET_FILE || t->kind == TARGET_MISSING;
	const char *why;
	char *directory;

	if (!plan_writes(t) || t->endtoend.role == E2E_DESTINATION || !are_zeros(t) ||
	    (!file && t->kind != TARGET_BLOCK))
		return NULL;
	if (t->kind != TARGET_MISSING)
		return loses_zeros(t->path, file);
	/* Its QThreads may not have created it yet. */
	directory = path_directory(t->path);
	why = directory ? loses_zeros(directory, file) : NULL;
	free(directory);
	return why;
}

/*
 * A limit of a control group that was reached is what was measured, unless the run was too short
 * for the kernel to enforce it: it does so in slices of a tenth of a second.
 */
#define LIMIT_NS (NS_PER_SEC / 5)

/* Journals and the like: what a device may do besides without a word. */
#define OTHER_BYTES (4ull << 20)
#define OTHER_REQUESTS 64

/* Requests of other programs have a page at least: so the page cache and most journals work. */
#define OTHER_REQUEST_BYTES 4096

static bool has_pages(const struct target_plan *t)
{
	return t->kind == TARGET_FILE || t->kind == TARGET_BLOCK || t->kind == TARGET_MISSING;
}

static double crosscheck_percent(uint64_t part, uint64_t whole)
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

/* The blocks of a new file are not all that its device writes for it. */
static bool is_counted(const struct target_plan *t)
{
	return t->direct_io && t->kind != TARGET_MISSING;
}

/* Describe the device of that name. */
static void look_at_device(struct device_check *d, const char *name, dev_t dev)
{
	bool buffered;

	*d = (struct device_check){ 0 };
	strcpy(d->name, name);
	if (!blockdev_loop("", name, d->loop_file, sizeof(d->loop_file), &buffered) || !buffered)
		*d->loop_file = '\0';
	cgroup_io_limits(dev, &d->limits);
}

/* The whole device that the device `number` is on, described; NULL: none that has a name. */
static struct device_check *take_device(struct crosscheck *c, dev_t number)
{
	char name[DISKSTATS_NAME_SIZE];
	struct device_check *d;
	dev_t dev;

	if (diskstats_disk(number, name, &dev))
		return NULL;
	d = find_device(c, name);
	if (!d) {
		d = &c->devices[c->n_devices++];
		look_at_device(d, name, dev);
	}
	return d;
}

/* The device that the files before were on, as to ask for each of them takes milliseconds. */
struct last_device {
	bool known;
	dev_t number;
	struct device_check *device;
};

static void add_device(struct crosscheck *c, const struct target_plan *t, struct last_device *last)
{
	/* A file that is new lies where its directory does. */
	char *directory = t->kind == TARGET_MISSING ? path_directory(t->path) : NULL;
	const bool known = has_pages(t) && (directory || t->kind != TARGET_MISSING);
	dev_t number;
	int err;

	c->device_of[t->number] = -1;
	err = known ? diskstats_number(directory ? directory : t->path, &number) : -ENODEV;
	free(directory);
	if (err)
		return;
	if (!last->known || number != last->number)
		*last = (struct last_device){ true, number, take_device(c, number) };
	if (!last->device)
		return;
	last->device->counted |= is_counted(t);
	c->device_of[t->number] = (int32_t)(last->device - c->devices);
}

int crosscheck_begin(struct crosscheck *c, const struct plan *plan)
{
	struct last_device last = { 0 };

	c->plan = plan;
	c->devices = calloc(plan->n_targets, sizeof(*c->devices));
	c->device_of = calloc(plan->n_targets, sizeof(*c->device_of));
	if (!c->devices || !c->device_of)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_targets; i++)
		add_device(c, &plan->targets[i], &last);
	return 0;
}

/* A device whose counts cannot be read is not compared. */
void crosscheck_start(struct crosscheck *c)
{
	c->started = true;
	for (size_t i = 0; i < c->n_devices; i++) {
		struct device_check *d = &c->devices[i];

		d->counted = d->counted && !diskstats_read(d->name, &d->before);
	}
}

void crosscheck_stop(struct crosscheck *c)
{
	for (size_t i = 0; i < c->n_devices; i++) {
		struct device_check *d = &c->devices[i];

		d->counted = d->counted && c->started && !diskstats_read(d->name, &d->after);
	}
}

static struct device_check *device_of(const struct crosscheck *c, const struct target_plan *t)
{
	return c->device_of && c->device_of[t->number] >= 0 ? &c->devices[c->device_of[t->number]] :
							      NULL;
}

void crosscheck_add(struct crosscheck *c, const struct target_plan *t, const struct figures *f)
{
	struct device_check *d = device_of(c, t);

	if (!d)
		return;
	for (int dir = DIR_READ; dir <= DIR_WRITE; dir++) {
		d->all_ops[dir] += f->tally.ops[dir];
		d->all_bytes[dir] += f->tally.bytes[dir];
		d->ops[dir] += is_counted(t) ? f->tally.ops[dir] : 0;
		d->bytes[dir] += is_counted(t) ? f->tally.bytes[dir] : 0;
	}
	if (f->elapsed_ns > d->elapsed_ns)
		d->elapsed_ns = f->elapsed_ns;
	if (!is_counted(t))
		return;
	d->hole_bytes += f->cache.hole_bytes;
	d->warmed_up |= f->tally.warmup_ops != 0;
}

/* The part of a limit that the run reached. */
static double part_of(uint64_t amount, uint64_t elapsed_ns, uint64_t limit)
{
	return limit ? (double)amount / ((double)elapsed_ns / (double)NS_PER_SEC) / (double)limit :
		       0;
}

static bool reaches(const struct device_check *d, int dir)
{
	const double least = limit_share(RULE_LIMIT);

	return d->elapsed_ns >= LIMIT_NS &&
	       (part_of(d->all_bytes[dir], d->elapsed_ns, d->limits.bytes[dir]) >= least ||
		part_of(d->all_ops[dir], d->elapsed_ns, d->limits.ops[dir]) >= least);
}

bool crosscheck_is_limited(const struct crosscheck *c, const struct target_plan *t)
{
	const struct device_check *d = device_of(c, t);

	return d && (reaches(d, DIR_READ) || reaches(d, DIR_WRITE));
}

void crosscheck_open(struct crosscheck *c)
{
	for (size_t i = 0; c->device_of && i < c->plan->n_targets && !c->zeros; i++) {
		c->zeros_why = written_loses_zeros(&c->plan->targets[i]);
		if (c->zeros_why)
			c->zeros = &c->plan->targets[i];
	}
}

static bool matters(uint64_t bytes, uint64_t elapsed_ns)
{
	return bytes >= RULE_LEAST_BYTES || elapsed_ns >= RULE_LEAST_NS;
}

static void check_data(struct run *run, struct finding_about about, const struct cache_state *cache)
{
	double cached = crosscheck_percent(cache->resident_bytes, cache->range_bytes);
	double holes = crosscheck_percent(cache->hole_bytes, cache->range_bytes);

	if (cached >= rule_table[RULE_CACHED].limit)
		report_finding(run->report, about, SAYS(CACHED),
			       cache->accuracy == CACHE_SAMPLED ? "about " : "", cached);
	if (holes >= rule_table[RULE_HOLES].limit)
		report_finding(run->report, about, SAYS(HOLES), holes);
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
		report_finding(run->report, finding_of_target(t), SAYS(GENERATOR),
			       100 * (f->own + f->kernel + f->waited));
	else if (sums->bound == RESULT_BOUND_STARVED)
		report_finding(run->report, finding_of_target(t), SAYS(STARVED), 100 * f->waited);
	else if (sums->bound == RESULT_BOUND_QUOTA)
		report_finding(run->report, finding_of_target(t), SAYS(QUOTA), 100 * f->waited);
}

/* How the QThreads of a target spent the time that they had. */
static void tell_bound(struct run *run, const struct result *sums, const struct bound_facts *f)
{
	const char *verdict = result_causes[sums->bound].text;
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
			 crosscheck_percent(cache->resident_bytes, cache->range_bytes));
	if (!cache->holes_unknown)
		snprintf(holes, sizeof(holes), "%s %.1f %% %swas never written",
			 measured ? ", and" : ";",
			 crosscheck_percent(cache->hole_bytes, cache->range_bytes),
			 measured ? "" : "of what was read ");
	report_detail(run->report, "Target %u, page cache: %s%s", t->number, cached, holes);
}

/* Keep what a target has for the judgement of all that are too small for one of their own. */
static void add_small(struct small_targets *s, const struct target_plan *t, const struct figures *f,
		      const struct dirty_sample *dirty)
{
	const double written = (double)f->tally.bytes[DIR_WRITE];

	if (!has_pages(t))
		return;
	s->direct = t->direct_io && (s->direct || !s->n);
	if (!s->n++)
		s->first = t;
	for (int dir = DIR_READ; dir <= DIR_WRITE; dir++)
		s->bytes[dir] += f->tally.bytes[dir];
	cache_state_add(&s->cache, &f->cache);
	if (!dirty->known || written <= 0)
		return;
	s->dirty.known = true;
	s->dirty.sampled |= dirty->sampled;
	s->dirty.bytes += dirty->bytes;
	s->dirty.share =
		(s->dirty.share * s->dirty_of + dirty->share * written) / (s->dirty_of + written);
	s->dirty_of += written;
}

static void check_small(struct run *run, const struct small_targets *s)
{
	char what[512];

	if (s->n < 2 || !matters(s->bytes[DIR_READ] + s->bytes[DIR_WRITE], 0))
		return;
	snprintf(what, sizeof(what), "%zu targets, of which %s is one", s->n, s->first->path);
	check_data(run, finding_of_run(what, s->direct), &s->cache);
	written_check_dirty(run, finding_of_run(what, s->direct), &s->dirty);
}

void crosscheck_target(struct crosscheck *c, struct run *run, const struct result *sums,
		       const struct bound_facts *facts, const struct dirty_sample *dirty)
{
	const struct target_plan *t = &run->plan->targets[sums->target];
	const struct figures *f = &sums->figures;

	if (matters(tally_bytes(&f->tally), f->elapsed_ns)) {
		check_data(run, finding_of_target(t), &f->cache);
		written_check_dirty(run, finding_of_target(t), dirty);
		if (t == c->zeros)
			report_finding(run->report, finding_of_target(t), SAYS(ZEROS),
				       c->zeros_why);
		if (facts)
			check_bound(run, t, sums, facts);
	} else {
		add_small(&c->small, t, f, dirty);
	}
	if (f->cache.range_bytes)
		tell_data(run, t, &f->cache);
	if (facts)
		tell_bound(run, sums, facts);
}

static uint64_t crosscheck_since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Direct reads of data, and not of holes, that the device did not transfer. */
static void check_direct_reads(struct run *run, const struct device_check *d, uint64_t device_bytes)
{
	uint64_t own = crosscheck_since(d->bytes[DIR_READ], d->hole_bytes);
	char moved[SCALED_SIZE], wanted[SCALED_SIZE];

	if (own < RULE_LEAST_BYTES ||
	    crosscheck_percent(device_bytes, own) >= 100 - rule_table[RULE_ELSEWHERE].limit ||
	    !diskstats_counts(d->name))
		return;
	report_finding(run->report, finding_of_run(NULL, true), SAYS(ELSEWHERE), d->name,
		       scaled_bytes((double)device_bytes, moved), "run",
		       scaled_bytes((double)own, wanted));
}

/*
 * Requests beyond this run's, without the ones that the bytes of others explain: only these are
 * parts of its operations.
 */
static uint64_t split_requests(const struct device_check *d, uint64_t requests, uint64_t bytes)
{
	const uint64_t ops = d->ops[DIR_READ] + d->ops[DIR_WRITE];
	const uint64_t own = d->bytes[DIR_READ] + d->bytes[DIR_WRITE];
	const uint64_t others =
		crosscheck_since(bytes, crosscheck_since(own, d->hole_bytes)) / OTHER_REQUEST_BYTES;

	return crosscheck_since(requests, ops + others);
}

/* True if a part of the whole reaches the limit of a rule. */
static bool reaches_limit(enum rule_id rule, uint64_t part, uint64_t whole)
{
	return crosscheck_percent(part, whole) >= rule_table[rule].limit;
}

static void check_device(struct run *run, const struct device_check *d)
{
	uint64_t requests, bytes, merged, split, ops = d->ops[0] + d->ops[1];
	uint64_t own = d->bytes[0] + d->bytes[1];
	char moved[SCALED_SIZE], wanted[SCALED_SIZE];
	const struct finding_about about = finding_of_run(NULL, true);
	const struct diskstats *now = &d->after;

	requests = crosscheck_since(now->requests[0] + now->requests[1],
				    d->before.requests[0] + d->before.requests[1]);
	merged = crosscheck_since(now->merged[0] + now->merged[1],
				  d->before.merged[0] + d->before.merged[1]);
	bytes = crosscheck_since(now->bytes[0] + now->bytes[1],
				 d->before.bytes[0] + d->before.bytes[1]);
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
	if (own < RULE_LEAST_BYTES || d->warmed_up)
		return;
	check_direct_reads(run, d,
			   crosscheck_since(now->bytes[DIR_READ], d->before.bytes[DIR_READ]));
	if (bytes > own + OTHER_BYTES && reaches_limit(RULE_OTHERS, bytes - own, own))
		report_finding(run->report, about, SAYS(OTHERS), d->name,
			       scaled_bytes((double)bytes, moved), "run",
			       scaled_bytes((double)own, wanted));
	else if (split > OTHER_REQUESTS && reaches_limit(RULE_SPLIT, split, ops))
		report_finding(run->report, about, SAYS(SPLIT), d->name, ops, requests);
	else if (merged > OTHER_REQUESTS && reaches_limit(RULE_MERGED, merged, ops))
		report_finding(run->report, about, SAYS(MERGED), d->name, merged, ops);
}

static void check_loop(struct run *run, const struct device_check *d)
{
	if (*d->loop_file &&
	    matters(d->all_bytes[DIR_READ] + d->all_bytes[DIR_WRITE], d->elapsed_ns))
		report_finding(run->report, finding_of_run(NULL, false), SAYS(LOOP), d->name,
			       d->loop_file);
}

static void check_limit(struct run *run, const struct device_check *d)
{
	static const char *const verbs[] = { [DIR_READ] = "reads", [DIR_WRITE] = "writes" };
	char bytes[SCALED_SIZE], ops[SCALED_SIZE];

	for (int dir = DIR_READ; dir <= DIR_WRITE; dir++) {
		const uint64_t rate = d->limits.bytes[dir], iops = d->limits.ops[dir];

		if (!reaches(d, dir))
			continue;
		report_finding(run->report, finding_of_run(NULL, false), SAYS(LIMIT), d->name,
			       rate ? scaled_rate((double)rate, bytes) : "",
			       rate && iops ? " and " : "",
			       iops ? scaled_ops((double)iops, ops) : "", verbs[dir]);
	}
}

void crosscheck_end(struct crosscheck *c, struct run *run)
{
	check_small(run, &c->small);
	for (size_t i = 0; i < c->n_devices; i++) {
		const struct device_check *d = &c->devices[i];

		if (d->counted)
			check_device(run, d);
		check_loop(run, d);
		check_limit(run, d);
	}
	free(c->devices);
	free(c->device_of);
}
