/*
 * Doubts about a target that was checked, as sentences for people. A sentence that depends on a
 * limit says so. Pure functions, called by check.c.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "commands/check.h"
#include "xdd/base/units.h"

/* Shares from which a cause matters, as those of the warnings of a run. */
#define CACHED_SHARE 0.1
#define HOLES_SHARE 0.1
#define ELSEWHERE_SHARE 0.5
#define ZEROS_SHARE 0.9
#define ZEROS_SOLID_SHARE 0.25 /* of a device that answers zeros faster than data */
#define STARVED_SHARE 0.2

/* Requests, and bytes, that a figure needs before it is judged. */
#define LEAST_OPS 200
#define LEAST_BYTES (16ull << 20)

/* Limits that the sentences name. */
#define DEEP_GAIN 1.5
#define SLOWER 0.9 /* the part of another figure below which one is less */
#define TAIL_FACTOR 10
#define LONG_NS 1e9
#define SOLID_NS 2e6
#define DISK_NS 1e6

/* Speeds of USB links in Mbit/s. */
#define USB_3 5000

void check_note(struct check_notes *notes, const char *fmt, ...)
{
	va_list ap;

	if (notes->n == CHECK_NOTES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(notes->text[notes->n++], CHECK_NOTE_SIZE, fmt, ap);
	va_end(ap);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* The sum of a field over the phases. */
#define SUM(result, field) \
	((result)->rows[0].field + (result)->rows[1].field + (result)->rows[2].field)

/* ---- errors ---- */

static void judge_errors(const struct check_result *r, struct check_notes *notes)
{
	const struct check_row *first = NULL;
	uint64_t outstanding = SUM(r, outstanding);

	for (int i = 0; i < CHECK_PHASES && !first; i++)
		if (*r->rows[i].first_error)
			first = &r->rows[i];
	if (first)
		check_note(notes,
			   "%" PRIu64 " of %" PRIu64
			   " reads failed, the first one at offset %" PRIu64 ": %s.",
			   SUM(r, errors), SUM(r, errors) + SUM(r, ops), first->first_error_offset,
			   first->first_error);
	if (outstanding)
		check_note(notes, "%" PRIu64 " reads did not complete: the device does not answer.",
			   outstanding);
}

/* ---- the source of the data ---- */

static void judge_memory(const struct check_target *t, const struct check_result *r,
			 struct check_notes *notes)
{
	double cached = share(SUM(r, resident_bytes), SUM(r, cache_bytes));

	if (t->memory)
		check_note(
			notes,
			"This file is in memory (%s): the figures are those of memory, and of no "
			"device.",
			*t->file_system ? t->file_system : "no file system on a device");
	else if (!t->direct && SUM(r, cache_bytes) && cached >= CACHED_SHARE)
		check_note(
			notes,
			"Direct I/O is not possible here, and %.0f %% of what was read was in the "
			"page cache before: these figures are partly those of memory.",
			100 * cached);
	else if (!t->direct)
		check_note(
			notes,
			"Direct I/O is not possible here: reads go through the page cache, which "
			"reads ahead and answers what was read before.");
	if (t->device.loop_buffered)
		check_note(notes,
			   "%s reads its file, %s, through the page cache: these figures may be "
			   "those of memory.",
			   t->device.name, t->device.loop_file);
}

/* Bytes that a device did not move, although they were read past the page cache. */
static void judge_elsewhere(const struct check_target *t, const struct check_result *r,
			    struct check_notes *notes)
{
	uint64_t own = 0, moved = 0;
	char a[SCALED_SIZE], b[SCALED_SIZE];

	for (int i = 0; i < CHECK_PHASES; i++) {
		const struct check_row *row = &r->rows[i];

		if (!row->device_ops)
			continue;
		own += row->bytes - (row->hole_bytes < row->bytes ? row->hole_bytes : row->bytes);
		moved += row->device_bytes;
	}
	if (t->direct && own >= LEAST_BYTES && share(moved, own) < ELSEWHERE_SHARE)
		check_note(notes,
			   "%s moved %s for the %s that were read from it: the others came from a "
			   "cache above the device.",
			   t->device.name, scaled_bytes((double)moved, a),
			   scaled_bytes((double)own, b));
}

/* Zeros on a disk that is known to rotate take as long as data. */
static double zeros_share(const struct check_target *t)
{
	const bool solid = t->device.rotational_known && !t->device.rotational;

	return t->block && solid ? ZEROS_SOLID_SHARE : ZEROS_SHARE;
}

static void judge_contents(const struct check_target *t, const struct check_result *r,
			   struct check_notes *notes)
{
	double holes = share(SUM(r, hole_bytes), SUM(r, covered_bytes));

	if (holes >= HOLES_SHARE)
		check_note(
			notes,
			"%.0f %% of what was read was never written (holes of the file): no device "
			"is asked for that.",
			100 * holes);
	else if (!t->memory && r->sampled >= 8 && share(r->zeros, r->sampled) >= zeros_share(t))
		check_note(
			notes,
			"%u of %u sampled blocks hold zeros only: thin volumes, solid-state disks, "
			"disk images and zram answer blocks that were never written, or were "
			"discarded, without reading a medium.",
			r->zeros, r->sampled);
}

static void judge_others(const struct check_target *t, const struct check_result *r,
			 struct check_notes *notes)
{
	uint64_t own = 0, moved = 0, ops = 0, requests = 0;
	char a[SCALED_SIZE], b[SCALED_SIZE];

	for (int i = 0; i < CHECK_PHASES; i++) {
		const struct check_row *row = &r->rows[i];

		if (row->split) {
			ops += row->device_ops;
			requests += row->device_requests;
		}
		if (!row->others)
			continue;
		own += row->bytes;
		moved += row->device_bytes;
	}
	if (moved > own)
		check_note(
			notes,
			"%s moved %s while this check read %s: other programs use it at the same "
			"time, or earlier writes are still being flushed.",
			t->device.name, scaled_bytes((double)moved, a),
			scaled_bytes((double)own, b));
	if (requests > ops)
		check_note(notes,
			   "The kernel split requests: %" PRIu64 " became %" PRIu64
			   " on %s, whose stripes or limits are smaller.",
			   ops, requests, t->device.name);
}

/* ---- the device ---- */

static void judge_device(const struct check_device *d, struct check_notes *notes)
{
	if (d->raid_degraded)
		check_note(notes, "The RAID %s is degraded: it lacks %" PRIu64 " of its members.",
			   d->name, d->raid_degraded);
	if (*d->raid_action)
		check_note(notes,
			   "The RAID %s is at work on itself (%s), which takes part of its rate.",
			   d->name, d->raid_action);
	if (*d->link_now)
		check_note(notes, "The PCI Express link of %s runs at %s, and could run at %s.",
			   d->name, d->link_now, d->link_most);
	if (d->usb_mbits && d->usb_mbits < USB_3)
		check_note(notes,
			   "%s hangs on a USB link of %" PRIu64
			   " Mbit/s: no more than %.0f MB/s is possible.",
			   d->name, d->usb_mbits, (double)d->usb_mbits / 8);
	if (d->queue_depth == 1)
		check_note(
			notes,
			"%s takes one request at a time (queue depth 1): more in flight cannot be "
			"faster.",
			d->name);
}

/* ---- rates and latencies ---- */

static void judge_depth(const struct check_target *t, const struct check_result *r,
			struct check_notes *notes)
{
	const struct check_row *one = &r->rows[CHECK_SINGLE], *deep = &r->rows[CHECK_DEEP];
	double gain;

	if (one->ops < LEAST_OPS || deep->ops < LEAST_OPS || t->device.queue_depth == 1)
		return;
	gain = check_iops(deep) / check_iops(one);
	/* Depth makes no device slower by itself. */
	if (gain < SLOWER)
		check_note(
			notes,
			"32 requests in flight complete %.2f times as many per second as one did "
			"just before (less than %.1f): the device became slower while it was "
			"measured, as with credits for bursts, heat, or other load.",
			gain, SLOWER);
	else if (gain < DEEP_GAIN)
		check_note(
			notes,
			"32 requests in flight complete %.1f times as many per second as one (less "
			"than %.1f): a single server, such as a hard disk, or a limit on the "
			"rate.",
			gain, DEEP_GAIN);
}

static void judge_tail(const struct check_result *r, struct check_notes *notes)
{
	const struct check_row *one = &r->rows[CHECK_SINGLE], *longest = &r->rows[0];
	char p50[SCALED_SIZE], p99[SCALED_SIZE];

	for (int i = 1; i < CHECK_PHASES; i++)
		if (longest->stopped ||
		    (!r->rows[i].stopped && r->rows[i].max_ns > longest->max_ns))
			longest = &r->rows[i];
	if (one->ops >= LEAST_OPS && one->p99_ns > TAIL_FACTOR * one->p50_ns)
		check_note(
			notes,
			"One in a hundred reads takes %s or more, and half of them %s or less (more "
			"than %d times): something interferes, or the device works on itself.",
			scaled_time(one->p99_ns, p99), scaled_time(one->p50_ns, p50), TAIL_FACTOR);
	if (longest->max_ns >= LONG_NS && !longest->stopped)
		check_note(notes, "The longest read took %s (more than %s).",
			   scaled_time(longest->max_ns, p99), scaled_time(LONG_NS, p50));
}

static void judge_kind(const struct check_target *t, const struct check_result *r,
		       struct check_notes *notes)
{
	const struct check_row *one = &r->rows[CHECK_SINGLE];
	char took[SCALED_SIZE], limit[SCALED_SIZE];

	if (one->ops < LEAST_OPS || !t->device.rotational_known)
		return;
	if (t->device.rotational && one->p50_ns < DISK_NS)
		check_note(
			notes,
			"The kernel takes %s for a hard disk, and it reads 4 KiB in %s (less than "
			"%s): a virtual disk, or a cache answers.",
			t->device.name, scaled_time(one->p50_ns, took),
			scaled_time(DISK_NS, limit));
	if (!t->device.rotational && one->p50_ns > SOLID_NS)
		check_note(notes,
			   "A random read takes %s (more than %s), which is slow for a device "
			   "without rotating parts.",
			   scaled_time(one->p50_ns, took), scaled_time(SOLID_NS, limit));
}

static void judge_rates(const struct check_result *r, struct check_notes *notes)
{
	const struct check_row *large = &r->rows[CHECK_LARGE], *deep = &r->rows[CHECK_DEEP];
	char a[SCALED_SIZE], b[SCALED_SIZE];

	if (large->bytes >= LEAST_BYTES && deep->ops >= LEAST_OPS &&
	    check_rate(large) < SLOWER * check_rate(deep))
		check_note(
			notes,
			"Sequential reads of large requests (%s) are slower than random small ones "
			"(%s) by more than a tenth: that is unusual.",
			scaled_rate(check_rate(large), a), scaled_rate(check_rate(deep), b));
}

static void judge_machine(const struct check_target *t, const struct check_result *r,
			  struct check_notes *notes)
{
	double starved = 0, quota = 0;
	bool stopped = false, limited = false;

	for (int i = 0; i < CHECK_PHASES; i++) {
		starved = fmax(starved, r->rows[i].starved);
		quota = fmax(quota, r->rows[i].quota);
		stopped |= r->rows[i].stopped;
		limited |= r->rows[i].limited;
	}
	if (stopped)
		check_note(notes,
			   "xdd itself was stopped while it measured (by a signal, a debugger, a "
			   "frozen control group or a pause of the virtual machine): check "
			   "again.");
	if (limited)
		check_note(notes,
			   "A control group limits the reads of %s, and this check reached the "
			   "limit: the device might do more.",
			   *t->device.name ? t->device.name : "the device");
	if (starved >= STARVED_SHARE)
		check_note(
			notes,
			"Other programs took the processors for %.0f %% of the time: %s might do "
			"more.",
			100 * starved, t->memory ? "it" : "the device");
	if (quota >= STARVED_SHARE)
		check_note(
			notes,
			"The CPU quota of its control group stopped xdd for %.0f %% of the time: "
			"%s might do more.",
			100 * quota, t->memory ? "it" : "the device");
}

/* False where something else than the device answered reads, or some of them. */
static bool is_of_device(const struct check_target *t, const struct check_result *r)
{
	return t->direct && !t->memory && !t->device.loop_buffered &&
	       share(SUM(r, hole_bytes), SUM(r, covered_bytes)) < HOLES_SHARE;
}

void check_judge(const struct check_target *t, const struct check_result *result,
		 struct check_notes *notes)
{
	judge_errors(result, notes);
	judge_memory(t, result, notes);
	judge_elsewhere(t, result, notes);
	judge_contents(t, result, notes);
	judge_others(t, result, notes);
	judge_device(&t->device, notes);
	if (is_of_device(t, result)) {
		judge_depth(t, result, notes);
		judge_tail(result, notes);
		judge_kind(t, result, notes);
		judge_rates(result, notes);
	}
	judge_machine(t, result, notes);
}
