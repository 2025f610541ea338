/*
 * The lateness of xdd itself in a curve: response times at the same loads where nothing is
 * transferred. What is left then is how late operations are issued: the processor sleeps at a low
 * load and wakes late, or others use it. Called by curve_run.c.
 */
#include "commands/curve.h"

#include <string.h>

#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/plan.h"

#define SHARE 4 /* of the time of a round */
#define MOST_NS (NS_PER_SEC / 2)

/* Warnings are about the load, and its own runs have had them. */
static void take_message(void *arg, const char *text, size_t size)
{
	static const char warning[] = "xdd: warning: ";

	(void)arg;
	if (size < sizeof(warning) - 1 || memcmp(text, warning, sizeof(warning) - 1) != 0)
		log_undiverted(text, size);
}

static void drop(void *arg, const char *text, size_t size)
{
	(void)arg;
	(void)text;
	(void)size;
}

/* The plan of a load with the null engine; NULL: there is none that can be run. */
static struct plan *null_plan(struct sweep *s, size_t point, const char *seconds)
{
	const char *words[] = { "-timelimit", seconds, "-ioengine", "null", NULL, NULL, NULL };
	struct plan *plan = NULL;
	bool queues;

	if (sweep_plan(s, point, &plan))
		return NULL;
	/* One thread issues all operations of such an engine. */
	queues = plan->n_targets == 1 && plan_queues(&plan->targets[0]);
	plan_free(plan);
	plan = NULL;
	if (queues) {
		words[4] = "-queuedepth";
		words[5] = "1";
	}
	return sweep_plan_with(s, point, words, &plan) ? NULL : plan;
}

static void measure(struct sweep *s, struct curve_load *load, const char *seconds)
{
	struct sweep_round round = { .point = load->point, .round = 1 };
	struct plan *plan;

	/* Some data options refuse an engine without data. */
	log_divert(drop, NULL);
	plan = null_plan(s, load->point, seconds);
	log_divert(take_message, NULL);
	if (plan && !sweep_run_plan(s, plan, "lateness of xdd itself", &round) && round.responded) {
		for (int i = 0; i < SWEEP_RESPONSES; i++)
			load->lateness[i] = round.responses[i];
		load->lateness_known = true;
	}
	log_divert(NULL, NULL);
	if (!s->runner.stuck)
		plan_free(plan);
}

bool curve_measure_lateness(struct sweep *s)
{
	struct curve *c = &s->curve->results;
	const uint64_t part = s->line.round_ns / SHARE, ns = part < MOST_NS ? part : MOST_NS;
	const char *seconds = arena_printf(s->arena, "%ju.%09ju", (uintmax_t)(ns / NS_PER_SEC),
					   (uintmax_t)(ns % NS_PER_SEC));

	for (size_t i = 0; seconds && i < c->n_loads; i++) {
		if (c->loads[i].share > 1)
			continue;
		measure(s, &c->loads[i], seconds);
		if (runner_is_canceled(&s->runner)) {
			s->status = XDD_CANCELED;
			return false;
		}
		if (s->runner.stuck)
			return false;
	}
	return true;
}
