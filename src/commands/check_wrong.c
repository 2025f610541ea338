/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doubts about a target that was checked, as sentences. A sentence that depends on a
 * limit says so. Pure functions, called by check.c.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "commands/check.h"
#include "xdd/base/units.h"

/* Requests, or blocks that are looked at, that a figure needs before it is judged. */
#define LEAST_OPS 200
#define LEAST_SAMPLES 8

static void __attribute__((format(printf, 2, 0)))
note_append(struct check_notes *notes, const char *fmt, va_list ap)
{
	if (notes->n < CHECK_NOTES_MAX)
		vsnprintf(notes->text[notes->n++], CHECK_NOTE_SIZE, fmt, ap);
}

void check_note(struct check_notes *notes, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	note_append(notes, fmt, ap);
	va_end(ap);
}

/* Note what a run has found or what limited it, a clause, as a sentence. */
static void note_clause(struct check_notes *notes, const char *before, const char *clause)
{
	char first[2] = { *clause };

	/* The name of the program has no capital letter. */
	if (!*before && strncmp(clause, "xdd ", 4) != 0)
		*first = (char)toupper((unsigned char)*first);
	check_note(notes, "%s%s%s.", before, first, clause + 1);
}

/* Note what a rule says, from SAYS(). */
static void __attribute__((format(printf, 3, 4)))
check_say(struct check_notes *notes, enum rule_id rule, const char *says, ...)
{
	char clause[CHECK_NOTE_SIZE - 32];
	va_list ap;

	va_start(ap, says);
	if (rule_table[rule].label)
		vsnprintf(clause, sizeof(clause), says, ap);
	else
		note_append(notes, says, ap);
	va_end(ap);
	if (rule_table[rule].label)
		note_clause(notes, rule < RULE_FINDINGS ? "" : "Limited by ", clause);
}

/* True if a share reaches the limit of a rule, which is in percent. */
static bool reaches(enum rule_id rule, double share)
{
	return 100 * share >= rule_table[rule].limit;
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
		check_say(notes, SAYS(READS_FAILED), SUM(r, errors), SUM(r, errors) + SUM(r, ops),
			  first->first_error_offset, first->first_error);
	if (outstanding)
		check_say(notes, SAYS(READS_HUNG), outstanding);
}

/* ---- the source of the data ---- */

static void judge_memory(const struct check_target *t, const struct check_result *r,
			 struct check_notes *notes)
{
	double cached = share(SUM(r, resident_bytes), SUM(r, cache_bytes));

	if (t->memory)
		check_say(notes, SAYS(IN_MEMORY),
			  *t->file_system ? t->file_system : "no file system on a device");
	else if (!t->direct)
		check_say(notes, SAYS(NOT_DIRECT));
	if (!t->memory && !t->direct && reaches(RULE_CACHED, cached))
		check_say(notes, SAYS(CACHED), "", 100 * cached);
	if (t->device.loop_buffered)
		check_say(notes, SAYS(LOOP), t->device.name, t->device.loop_file);
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
	if (t->direct && own >= RULE_LEAST_BYTES &&
	    100 * (1 - share(moved, own)) > rule_table[RULE_ELSEWHERE].limit)
		check_say(notes, SAYS(ELSEWHERE), t->device.name, scaled_bytes((double)moved, a),
			  "check", scaled_bytes((double)own, b));
}

static void judge_contents(const struct check_target *t, const struct check_result *r,
			   struct check_notes *notes)
{
	const double holes = share(SUM(r, hole_bytes), SUM(r, covered_bytes));
	const double zeros = share(r->zeros, r->sampled);
	/* Zeros on a disk that is known to rotate take as long as data. */
	const bool solid = t->block && t->device.rotational_known && !t->device.rotational;

	if (reaches(RULE_HOLES, holes))
		check_say(notes, SAYS(HOLES), 100 * holes);
	else if (t->memory || r->sampled < LEAST_SAMPLES)
		return;
	else if (solid && reaches(RULE_ZERO_BLOCKS_SOLID, zeros))
		check_say(notes, SAYS(ZERO_BLOCKS_SOLID), r->zeros, r->sampled);
	else if (!solid && reaches(RULE_ZERO_BLOCKS, zeros))
		check_say(notes, SAYS(ZERO_BLOCKS), r->zeros, r->sampled);
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
		check_say(notes, SAYS(OTHERS), t->device.name, scaled_bytes((double)moved, a),
			  "check", scaled_bytes((double)own, b));
	if (requests > ops)
		check_say(notes, SAYS(SPLIT), t->device.name, ops, requests);
}

/* ---- the device ---- */

static void judge_device(const struct check_device *d, struct check_notes *notes)
{
	if (d->raid_degraded)
		check_say(notes, SAYS(DEGRADED), d->name, d->raid_degraded);
	if (*d->raid_action)
		check_say(notes, SAYS(RESYNC), d->name, d->raid_action);
	if (*d->link_now)
		check_say(notes, SAYS(SLOW_LINK), d->name, d->link_now, d->link_most);
	if (d->usb_mbits && (double)d->usb_mbits < rule_table[RULE_USB].limit)
		check_say(notes, SAYS(USB), d->name, d->usb_mbits, (double)d->usb_mbits / 8);
	if (d->queue_depth == 1)
		check_say(notes, SAYS(NO_QUEUE), d->name);
}

/* ---- rates and latencies ---- */

static void judge_depth(const struct check_target *t, const struct check_result *r,
			struct check_notes *notes)
{
	const struct check_row *one = &r->rows[CHECK_SINGLE], *deep = &r->rows[CHECK_DEEP];
	const double slowed = rule_table[RULE_SLOWED_DOWN].limit;
	const double least = rule_table[RULE_NO_GAIN].limit;
	double gain;

	if (one->ops < LEAST_OPS || deep->ops < LEAST_OPS || t->device.queue_depth == 1)
		return;
	gain = check_figure(deep, FIGURE_IOPS) / check_figure(one, FIGURE_IOPS);
	/* Depth makes no device slower by itself. */
	if (gain < slowed)
		check_say(notes, SAYS(SLOWED_DOWN), gain, slowed);
	else if (gain < least)
		check_say(notes, SAYS(NO_GAIN), gain, least);
}

static void judge_tail(const struct check_result *r, struct check_notes *notes)
{
	const struct check_row *one = &r->rows[CHECK_SINGLE], *longest = &r->rows[0];
	const double most = rule_table[RULE_TAIL].limit;
	const double long_ns = rule_table[RULE_LONGEST].limit * NS_PER_SEC;
	char p50[SCALED_SIZE], p99[SCALED_SIZE];

	for (int i = 1; i < CHECK_PHASES; i++)
		if (*longest->stopped ||
		    (!*r->rows[i].stopped &&
		     r->rows[i].times[FIGURE_MAX] > longest->times[FIGURE_MAX]))
			longest = &r->rows[i];
	if (one->ops >= LEAST_OPS && one->times[FIGURE_P99] > most * one->times[FIGURE_P50])
		check_say(notes, SAYS(TAIL), scaled_time(one->times[FIGURE_P99], p99),
			  scaled_time(one->times[FIGURE_P50], p50), most);
	if (longest->times[FIGURE_MAX] >= long_ns && !*longest->stopped)
		check_say(notes, SAYS(LONGEST), scaled_time(longest->times[FIGURE_MAX], p99),
			  scaled_time(long_ns, p50));
}

static void judge_kind(const struct check_target *t, const struct check_result *r,
		       struct check_notes *notes)
{
	const struct check_row *one = &r->rows[CHECK_SINGLE];
	const double disk_ns = rule_table[RULE_NO_DISK].limit * NS_PER_SEC;
	const double solid_ns = rule_table[RULE_SLOW_SOLID].limit * NS_PER_SEC;
	char took[SCALED_SIZE], limit[SCALED_SIZE];

	if (one->ops < LEAST_OPS || !t->device.rotational_known)
		return;
	/* A virtual disk is only by default one that rotates: no doubt, but a line of its own. */
	if (t->device.rotational && !t->device.is_virtual && one->times[FIGURE_P50] < disk_ns)
		check_say(notes, SAYS(NO_DISK), t->device.name,
			  scaled_time(one->times[FIGURE_P50], took), scaled_time(disk_ns, limit));
	if (!t->device.rotational && one->times[FIGURE_P50] > solid_ns)
		check_say(notes, SAYS(SLOW_SOLID), scaled_time(one->times[FIGURE_P50], took),
			  scaled_time(solid_ns, limit));
}

static void judge_rates(const struct check_result *r, struct check_notes *notes)
{
	const struct check_row *large = &r->rows[CHECK_LARGE], *deep = &r->rows[CHECK_DEEP];
	const double least = rule_table[RULE_SLOW_SEQUENTIAL].limit;
	char a[SCALED_SIZE], b[SCALED_SIZE];

	if (large->bytes >= RULE_LEAST_BYTES && deep->ops >= LEAST_OPS &&
	    check_figure(large, FIGURE_BANDWIDTH) < least * check_figure(deep, FIGURE_BANDWIDTH))
		check_say(notes, SAYS(SLOW_SEQUENTIAL),
			  scaled_rate(check_figure(large, FIGURE_BANDWIDTH), a),
			  scaled_rate(check_figure(deep, FIGURE_BANDWIDTH), b));
}

/* "50 %" */
static const char *percent_text(double share, char *buf, size_t size)
{
	snprintf(buf, size, "%.0f %%", 100 * share);
	return buf;
}

static void judge_machine(const struct check_result *r, struct check_notes *notes)
{
	const char *stopped = "", *limited = "";
	double starved = 0, quota = 0;
	char text[32];

	for (int i = 0; i < CHECK_PHASES; i++) {
		const struct check_row *row = &r->rows[i];

		starved = fmax(starved, row->starved);
		quota = fmax(quota, row->quota);
		stopped = *stopped ? stopped : row->stopped;
		limited = *limited ? limited : row->limited;
	}
	if (*stopped)
		note_clause(notes, "", stopped);
	if (*limited)
		note_clause(notes, "", limited);
	if (starved > 0)
		check_say(notes, SAYS(BY_OTHERS), percent_text(starved, text, sizeof(text)));
	if (quota > 0)
		check_say(notes, SAYS(BY_QUOTA), percent_text(quota, text, sizeof(text)));
}

/* False where something else than the device answered reads, or some of them. */
static bool is_of_device(const struct check_target *t, const struct check_result *r)
{
	return t->direct && !t->memory && !t->device.loop_buffered &&
	       !reaches(RULE_HOLES, share(SUM(r, hole_bytes), SUM(r, covered_bytes)));
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
	judge_machine(result, notes);
}
