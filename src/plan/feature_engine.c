/*
 * How operations reach the kernel: -ioengine. The rows of each engine are in its own file.
 */
#include "plan/engines.h"
#include "plan/errors.h"
#include "plan/extent.h"
#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/log.h"

/* -sgio is the engine for SCSI commands by its old name. */
static enum xdd_status apply_sgio(const struct setting *s, void *dst)
{
	return engine_choose(s, dst, engine_with(ENGINE_SCSI));
}

static enum xdd_status do_list(struct parse *p, const struct setting *s)
{
	(void)s;
	p->plan->list_engines = true;
	p->done = true;
	return XDD_OK;
}

const struct option option_engine_list = {
	.name = "list",
	.type = OPT_ACTION,
	.act = do_list,
	.help = "print which engines this build and this kernel have, and stop",
};

static const struct option options_engine[] = {
	{ .name = "ioengine",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SUB,
	  .arg = "<engine> [<keyword> ...]",
	  .source = &engine_words,
	  .help = "how operations reach the kernel",
	  .detail = "The keywords follow the engine they belong to. Asynchronous engines (libaio, "
		    "io_uring) keep the whole queue depth outstanding from one thread, or from the "
		    "number that -threads says. They submit a request at once or, above a queue "
		    "depth "
		    "of 31, as soon as one in 16 of the queue depth is ready, 8 at most. A device "
		    "that "
		    "has no request gets the next one at once; a device that completes requests "
		    "during "
		    "their submission gets more at a time, up to the queue depth. batch 1 submits "
		    "each "
		    "request at once at any depth, a larger batch saves system calls and keeps the "
		    "device less full. On buffered files psync is the faster choice: the kernel "
		    "hands buffered requests of the others to threads of its own, or carries them "
		    "out "
		    "on the spot.",
	  .example = "xdd -op read -targets 1 /dev/sdx -dio -queuedepth 32 -ioengine io_uring" },
	{ .name = "threads",
	  .scope = SCOPE_TARGET,
	  .type = OPT_U64,
	  .arg = "<#threads>",
	  .min = 1,
	  .max = 65536,
	  .unit = "threads",
	  TARGET_FIELD(threads),
	  .help = "QThreads of an asynchronous engine, which share the queue depth",
	  .detail =
		  "The default is one. The other engines have a QThread for each operation of the "
		  "queue depth." },
	{ .name = "sgio",
	  .aliases = "scsigeneric",
	  .scope = SCOPE_TARGET,
	  .type = OPT_CUSTOM,
	  .apply = apply_sgio,
	  .help = "the same as -ioengine sg" },
	{ 0 },
};

/*
 * One QThread per operation, or, with an engine that queues, a few that share the operations. In an
 * end-to-end copy one for each connection.
 */
static enum xdd_status resolve_qthreads(struct plan *plan, struct target_plan *t)
{
	uint64_t n = t->queue_depth;
	char engines[128];

	(void)plan;
	if (t->threads && !plan_queues(t) && t->kind != TARGET_NULL)
		return plan_refuse(
			t,
			"-threads: the engine %s has a QThread for each operation; -threads is for "
			"%s",
			t->engine->name, engine_names(ENGINE_QUEUES, 0, engines, sizeof(engines)));
	if (plan_queues(t)) {
		n = t->threads ? t->threads : 1;
		if (n > t->queue_depth)
			n = t->queue_depth;
	}
	if (t->endtoend.role != E2E_NONE)
		n = endtoend_connections(&t->endtoend);
	t->qthreads = (uint32_t)n;
	return XDD_OK;
}

/* QThreads are numbered through all targets. */
static enum xdd_status number_qthreads(struct plan *plan)
{
	uint64_t qthreads = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		plan->targets[i].first_qthread = qthreads;
		qthreads += plan->targets[i].qthreads;
	}
	return XDD_OK;
}

/* Warn once, about the first such target. */
static void warn_buffered(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (!(plan_engine_caps(t) & ENGINE_DIRECT) || t->direct_io || t->op == OP_NOOP ||
		    t->op == OP_DISCARD || !plan_has_size(t))
			continue;
		log_warning(
			"target %u, %s: %s without -dio: buffered requests are carried out one by "
			"one "
			"or by kernel threads; psync is faster there",
			t->number, t->path, t->engine->name);
		return;
	}
}

const struct plan_feature feature_engine = {
	.group = { "Engine", options_engine },
	.target = { [TARGET_SIZE] = resolve_qthreads },
	.plan = { [PLAN_CHECK] = number_qthreads },
	.warn = warn_buffered,
};
