/*
 * Checks of what targets want of each other: -lockstep, -starttrigger, -stoptrigger and -syncio. Called
 * once all targets are resolved.
 */
#include <inttypes.h>
#include <stdio.h>

#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define WEEK_NS (7 * 24 * 3600 * NS_PER_SEC)

/* How a measure is written, and what of it is one. */
static const struct {
	const char *text;
	double scale;
} units[] = {
	[MEASURE_TIME] = { "seconds", 1e9 },
	[MEASURE_OPS] = { "operations", 1 },
	[MEASURE_PERCENT] = { "percent", PLAN_RATIO_ONE / 100 },
	[MEASURE_BYTES] = { "KBytes", 1024 },
};

char *plan_measure_text(const struct measure *m, char *buf, size_t size)
{
	const char *text = units[m->unit].text;

	if (m->unit == MEASURE_OPS && m->value == 1)
		text = "operation";
	snprintf(buf, size, "%.12g %s", (double)m->value / units[m->unit].scale, text);
	return buf;
}

/* The target that has to end something before this one may go on; false: none. */
static bool waits_for(const struct target_plan *t, unsigned which, uint32_t *other)
{
	if (which == 0) {
		*other = t->lockstep.master;
		return t->lockstep.on;
	}
	*other = t->start_trigger.by;
	return t->start_trigger.on;
}

/*
 * Depth-first over those that a target waits for, two at most each: `state` is 0 for a target not seen,
 * 1 for one on the way, 2 for one that is clear. `stack` has room for all. Returns whether some target
 * waits for itself: `*found`, and `*by` is the one that it waits for.
 */
static bool find_cycle(const struct plan *plan, size_t from, uint8_t *state, uint32_t *stack,
		       uint32_t *found, uint32_t *by)
{
	size_t depth = 0;

	if (state[from])
		return false;
	stack[depth++] = (uint32_t)from;
	state[from] = 1;
	while (depth) {
		uint32_t at = stack[depth - 1], other;
		unsigned which = 0;

		while (which < 2 &&
		       (!waits_for(&plan->targets[at], which, &other) || state[other] == 2))
			which++;
		if (which == 2) {
			state[at] = 2;
			depth--;
		} else if (state[other] == 1) {
			*found = at;
			*by = other;
			return true;
		} else {
			state[other] = 1;
			stack[depth++] = other;
		}
	}
	return false;
}

static enum xdd_status check_cycles(const struct plan *plan)
{
	uint8_t *state = arena_alloc(plan->arena, plan->n_targets);
	uint32_t *stack = arena_alloc(plan->arena, plan->n_targets * sizeof(*stack));

	if (!state || !stack)
		return plan_no_memory();
	for (size_t i = 0; i < plan->n_targets; i++) {
		uint32_t found, by;

		if (find_cycle(plan, i, state, stack, &found, &by))
			return plan_refuse(
				&plan->targets[found],
				"-lockstep, -starttrigger: it would wait for itself, by way of target %u",
				by);
	}
	return XDD_OK;
}

/* A measure can be taken of a target. */
static enum xdd_status check_measure(const struct target_plan *t, const char *option,
				     const struct measure *m)
{
	if (m->unit != MEASURE_PERCENT || t->pass_ops != PLAN_UNLIMITED)
		return XDD_OK;
	return plan_refuse(
		t,
		"-%s percent: its pass has no number of operations to take a share of; say "
		"-numreqs or -bytes",
		option);
}

static enum xdd_status check_lockstep(const struct plan *plan, const struct target_plan *t)
{
	const struct lockstep_plan *l = &t->lockstep;
	const struct target_plan *master = &plan->targets[l->master];
	enum xdd_status status;

	if (!l->on)
		return XDD_OK;
	status = check_measure(master, "lockstep", &l->when);
	if (!status)
		status = check_measure(t, "lockstep", &l->what);
	if (!status && l->when.unit == MEASURE_BYTES && master->rows)
		return plan_refuse(master,
				   "-lockstep: the requests of -seek load differ in size; say op");
	if (!status && l->what.unit == MEASURE_BYTES && t->rows)
		return plan_refuse(t,
				   "-lockstep: the requests of -seek load differ in size; say op");
	return status;
}

/* The target that pulls a trigger gets to where it does, unless only time ends its pass. */
static enum xdd_status check_trigger(const struct plan *plan, const char *option,
				     const struct trigger_plan *g)
{
	const struct target_plan *by = &plan->targets[g->by];
	uint64_t have = g->when.unit == MEASURE_OPS ? by->pass_ops : by->pass_bytes;
	enum xdd_status status;

	if (!g->on)
		return XDD_OK;
	status = check_measure(by, option, &g->when);
	if (status || (g->when.unit != MEASURE_OPS && g->when.unit != MEASURE_BYTES) ||
	    g->when.value <= have)
		return status;
	return plan_refuse(by, "-%s: it never comes to %" PRIu64 " %s: a pass has %" PRIu64, option,
			   g->when.value, g->when.unit == MEASURE_OPS ? "operations" : "bytes",
			   have);
}

/* Options that take the targets of a run together, and have no meaning where these go their own ways. */
static enum xdd_status check_together(const struct plan *plan)
{
	const char *waits = NULL;
	const char *option = plan->deskew ? "deskew" : plan->syncio_ops ? "syncio" : NULL;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->stop_trigger.on)
			option = "stoptrigger";
		if (t->lockstep.on || t->start_trigger.on)
			option = waits = t->lockstep.on ? "lockstep" : "starttrigger";
	}
	if (plan->no_barrier && option && (plan->passes > 1 || plan->deskew)) {
		log_error("-nobarrier: -%s needs the targets to be in the same pass; leave one out",
			  option);
		return XDD_BAD_ARGUMENT;
	}
	if (waits && plan->syncio_ops) {
		log_error(
			"-syncio: with -%s, targets would wait for each other for ever; leave one out",
			waits);
		return XDD_BAD_ARGUMENT;
	}
	return XDD_OK;
}

static enum xdd_status check_start_time(const struct plan *plan)
{
	uint64_t now = clock_wall_ns(), at = plan->start_time_ns;

	if (!at)
		return XDD_OK;
	if (at > now && at - now <= WEEK_NS)
		return XDD_OK;
	log_error(
		"-starttime %.3f: that %s %.3f seconds %s: the clock of this machine shows %.3f%s",
		(double)at / 1e9, at > now ? "is" : "was",
		(double)(at > now ? at - now : now - at) / 1e9, at > now ? "ahead" : "ago",
		(double)now / 1e9, at > now ? ", and a week is the most" : "");
	return XDD_BAD_ARGUMENT;
}

enum xdd_status plan_check_coordination(const struct plan *plan)
{
	enum xdd_status status = check_together(plan);

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		const struct target_plan *t = &plan->targets[i];

		status = check_lockstep(plan, t);
		if (!status)
			status = check_trigger(plan, "starttrigger", &t->start_trigger);
		if (!status)
			status = check_trigger(plan, "stoptrigger", &t->stop_trigger);
	}
	if (!status)
		status = check_cycles(plan);
	return status ? status : check_start_time(plan);
}
