/*
 * The rows of the column table that identify a result: its run, its target, and what was requested
 * of it. Read by column_at(). CSV files have them by default, so that rows of several runs can be
 * told apart.
 */
#include <stdio.h>
#include <string.h>

#include "report/info.h"
#include "xdd/plan/engine_info.h"
#include "xdd/report/column.h"

/* The name of a target or of its engine or pattern. */
typedef const char *target_text(const struct target_plan *t);

static const char *path_of(const struct target_plan *t)
{
	return t->path;
}

static const char *engine_of(const struct target_plan *t)
{
	return t->engine ? t->engine->name : NULL;
}

static const char *pattern_of(const struct target_plan *t)
{
	return plan_seek_name(t->seek.pattern);
}

/* The text of the target; in COMBINED that of all targets, or `mixed` where they differ. */
static void set_text(struct column_value *v, const struct result *r, target_text *text,
		     const char *mixed)
{
	const struct plan *plan = r->plan;
	size_t first = r->what == RESULT_COMBINED ? 0 : r->target;

	v->unknown = !plan || first >= plan->n_targets;
	if (v->unknown)
		return;
	v->text = text(&plan->targets[first]);
	v->unknown = !v->text;
	for (size_t i = 1; r->what == RESULT_COMBINED && !v->unknown && i < plan->n_targets; i++) {
		const char *other = text(&plan->targets[i]);

		if (!other || strcmp(other, v->text) != 0) {
			v->text = mixed;
			return;
		}
	}
}

/* The rate of -throttle; in COMBINED the sum, if all targets have one of that kind. */
static void set_requested(struct column_value *v, const struct result *r, enum throttle_by by)
{
	const struct plan *plan = r->plan;
	size_t first = r->target, end = first + 1;

	if (r->what == RESULT_COMBINED) {
		first = 0;
		end = plan ? plan->n_targets : 0;
	}
	/* The rate is that of the target, not of each QThread. */
	v->unknown = !plan || !end || end > plan->n_targets || r->what == RESULT_QUEUE_PASS;
	for (size_t i = first; !v->unknown && i < end; i++) {
		v->unknown = plan->targets[i].throttle.by != by;
		v->real += plan->targets[i].throttle.rate;
	}
}

static void get_id(const struct result *r, struct column_value *v)
{
	v->unknown = !r->plan || !r->plan->id;
	if (!v->unknown)
		v->text = r->plan->id;
}

static void get_start_time(const struct result *r, struct column_value *v)
{
	_Static_assert(INFO_UTC_SIZE <= COLUMN_TEXT_MAX, "a time fits into a value");
	v->unknown = !r->started_ns;
	if (!v->unknown)
		v->text = info_utc(r->started_ns, v->buf);
}

static void get_target_name(const struct result *r, struct column_value *v)
{
	set_text(v, r, path_of, "*");
}

static void get_engine(const struct result *r, struct column_value *v)
{
	set_text(v, r, engine_of, "mixed");
}

static void get_pattern(const struct result *r, struct column_value *v)
{
	set_text(v, r, pattern_of, "mixed");
}

static void get_requested_iops(const struct result *r, struct column_value *v)
{
	set_requested(v, r, THROTTLE_OPS);
}

static void get_requested_bandwidth(const struct result *r, struct column_value *v)
{
	set_requested(v, r, THROTTLE_BANDWIDTH);
}

#define ROW(id_, type_, heading_, units_, get_, help_)                                          \
	{                                                                                       \
		.id = id_, .type = type_, .heading = heading_, .units = units_,                 \
		.width = sizeof(heading_) - 1, .precision = 3, .get = get_, .identifies = true, \
		.help = help_,                                                                  \
	}

const struct column columns_run[] = {
	/* clang-format off */
	ROW("ID", COLUMN_TEXT, "                  ID", "                text", get_id,
	    "the text of -id"),
	ROW("STARTTIME", COLUMN_TEXT, "              Start_Time", "                     UTC", get_start_time,
	    "when the run started: the same in each of its lines"),
	ROW("TARGETNAME", COLUMN_TEXT, "             Target_Name", "                    text", get_target_name,
	    "the name of the target; * in COMBINED of targets with different names"),
	ROW("ENGINE", COLUMN_TEXT, "  Engine", "    text", get_engine,
	    "the I/O engine; mixed in COMBINED of targets with different ones"),
	ROW("PATTERN", COLUMN_TEXT, "    Pattern", "       text", get_pattern,
	    "the access pattern of -seek; mixed in COMBINED of targets with different ones"),
	ROW("REQUESTEDIOPS", COLUMN_REAL, "  Req_IOPS", "     Ops/s", get_requested_iops,
	    "the rate of -throttle ops"),
	ROW("REQUESTEDBANDWIDTH", COLUMN_REAL, "    Req_BW", "  MBytes/s", get_requested_bandwidth,
	    "the rate of -throttle bw"),
	{ 0 },
	/* clang-format on */
};

size_t column_text_bytes(const struct plan *plan)
{
	size_t longest = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		size_t len = plan->targets[i].path ? strlen(plan->targets[i].path) : 0;

		if (len > longest)
			longest = len;
	}
	return longest + (plan->id ? strlen(plan->id) : 0);
}
