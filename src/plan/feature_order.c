/*
 * In what order the operations of a target are issued: -ordering. The user guide, 5.7; strict is
 * ours.
 */
#include "plan/feature.h"

#include "plan/errors.h"
#include "xdd/base/log.h"
#include "xdd/plan/engine_info.h"

static const struct choice ordering_choices[] = {
	{ "serial", "so", ORDERING_SERIAL },
	{ "loose", "lo", ORDERING_LOOSE },
	{ "strict", NULL, ORDERING_STRICT },
	{ "none", "no", ORDERING_NONE },
	{ 0 },
};

static enum xdd_status apply_both(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->network_ordering = t->ordering;
	return XDD_OK;
}

#define MODE(name_, aliases_, value_, help_)                                                \
	{                                                                                   \
		.name = name_, .aliases = aliases_, .scope = SCOPE_TARGET, .type = OPT_SET, \
		TARGET_FIELD(ordering), .value = value_, .help = help_,                     \
	}

#define WHERE(name_, aliases_, field_, apply_, help_)                                       \
	{                                                                                   \
		.name = name_, .aliases = aliases_, .type = OPT_CHOICE,                     \
		.arg = "<serial|loose|strict|none>", TARGET_FIELD(field_), .apply = apply_, \
		.choices = ordering_choices, .help = help_,                                 \
	}

static const struct option ordering_rows[] = {
	WHERE("storage", "stor disk", ordering, NULL, "of reads and writes of the target"),
	WHERE("network", "net", network_ordering, NULL, "of sends and receives"),
	WHERE("both", NULL, ordering, apply_both, "of both"),
	MODE("serial", NULL, ORDERING_SERIAL, "the same as storage serial"),
	MODE("loose", NULL, ORDERING_LOOSE, "the same as storage loose"),
	MODE("strict", NULL, ORDERING_STRICT, "the same as storage strict"),
	MODE("none", NULL, ORDERING_NONE, "the same as storage none"),
	{ 0 },
};

static const struct option rows[] = {
	{ .name = "ordering",
	  .aliases = "or order",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SUB,
	  .arg = "<where> <how>",
	  .subs = ordering_rows,
	  .help = "when the next operation of a target may be issued",
	  .detail =
		  "serial: once its predecessor is complete, so that one is in flight at a time. "
		  "strict: once its predecessor has been submitted to the kernel, whatever the "
		  "queue depth: perfectly sequential with a full queue, for engines that queue "
		  "(libaio, io_uring). loose: once its predecessor is about to be issued; QThreads "
		  "may still overtake each other on their way into the kernel, so that nothing is "
		  "guaranteed. none, the default: each QThread issues as soon as it can. With "
		  "-verbose a run says how many operations were issued out of order, where that "
		  "can be known (not for several QThreads with loose or none), and the column "
		  "ORDERBREAKS of -outputformat has the number.",
	  .example = "xdd -op read -targets 1 /dev/sdx -queuedepth 8 -ordering storage serial" },
	MODE("serialordering", "so", ORDERING_SERIAL, "the same as -ordering storage serial"),
	MODE("looseordering", "lo", ORDERING_LOOSE, "the same as -ordering storage loose"),
	MODE("noordering", "no", ORDERING_NONE, "the same as -ordering storage none"),
	{ 0 },
};

static bool is_strict(const struct target_plan *t)
{
	return t->ordering == ORDERING_STRICT && t->queue_depth > 1;
}

static enum xdd_status check(struct plan *plan, struct target_plan *t)
{
	char engines[128];

	(void)plan;
	if (!is_strict(t) || plan_engine(t)->caps & (ENGINE_QUEUES | ENGINE_NO_DATA))
		return XDD_OK;
	return plan_refuse(t,
			   "-ordering strict with more than one operation outstanding needs an "
			   "engine that queues: %s",
			   engine_names(ENGINE_QUEUES, 0, engines, sizeof(engines)));
}

static void warn_network(const struct target_plan *t)
{
	const char *why = "nothing goes over a network here; -ordering storage is for reads and "
			  "writes";

	if (t->network_ordering == ORDERING_NONE || t->ordering != ORDERING_NONE ||
	    t->endtoend.role == E2E_SOURCE)
		return;
	if (t->endtoend.role == E2E_DESTINATION)
		why = "the source orders what it sends; say it there";
	log_warning("target %u, %s: -ordering network %s: %s", t->number, t->path,
		    plan_ordering_name(t->network_ordering), why);
}

/*
 * Which requests have to wait depends on the file system, the device and the cache:
 * doc/user-guide.md, "In order".
 */
static void warn_reordered(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		char engines[128];

		if (!is_strict(t) || !(plan_engine_caps(t) & ENGINE_REORDERS) || t->op == OP_NOOP ||
		    t->kind == TARGET_CHAR)
			continue;
		log_warning(
			"target %u, %s: -ordering strict with %s: kernel threads execute requests "
			"that "
			"have to wait, in any order; %s keeps the order",
			t->number, t->path, t->engine->name,
			engine_names(ENGINE_QUEUES, ENGINE_REORDERS, engines, sizeof(engines)));
		return;
	}
}

const struct plan_feature feature_order = {
	.group = { "Order of operations", rows },
	.target = { [TARGET_CHECK] = check },
	.warn_target = warn_network,
	.warn = warn_reordered,
};
