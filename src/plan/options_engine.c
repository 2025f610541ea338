/*
 * Rows of the option table: how operations reach the kernel. The rows of the engines are also their
 * documentation; the registry is in src/io/engine.c.
 */
#include <string.h>

#include "plan/errors.h"
#include "plan/extent.h"
#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/log.h"

/* The keywords belong to the engine that is named before them: those of any other are gone. */
static enum xdd_status apply_engine(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	if (s->further)
		return parse_error(XDD_BAD_ARGUMENT, s, NULL,
				   "one engine is wanted, and its keywords behind it");
	t->engine = s->sub->name;
	t->engine_queues = s->sub->value;
	memset(&t->engine_options, 0, sizeof(t->engine_options));
	return XDD_OK;
}

/* -sgio is -ioengine sg by its old name. */
static enum xdd_status apply_sgio(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->engine = "sg";
	t->engine_queues = false;
	memset(&t->engine_options, 0, sizeof(t->engine_options));
	return XDD_OK;
}

static enum xdd_status do_list(struct parse *p, const struct setting *s)
{
	(void)s;
	p->plan->list_engines = true;
	p->done = true;
	return XDD_OK;
}

/* `queues_`: the engine is asynchronous, and its QThreads share the queue depth. */
#define ENGINE(name_, queues_, help_)                                                       \
	{                                                                                   \
		.name = name_, .type = OPT_CUSTOM, .value = queues_, .apply = apply_engine, \
		.help = help_,                                                              \
	}

#define KEYWORD(name_, field_, help_)                               \
	{                                                           \
		.name = name_, .type = OPT_FLAG, .value = true,     \
		TARGET_FIELD(engine_options.field_), .help = help_, \
	}

static const struct option engine_rows[] = {
	ENGINE("psync", false, "pread and pwrite, one QThread an operation (the default)"),
	ENGINE("libaio", true, "Linux native asynchronous I/O; asynchronous only with -dio"),
	ENGINE("io_uring", true, "submission and completion rings shared with the kernel"),
	ENGINE("sg", false,
	       "SCSI READ and WRITE commands through SG_IO, past the block layer's cache"),
	ENGINE("mmap", false, "the target is mapped and its data copied to or from the buffer"),
	ENGINE("null", false, "nothing is transferred; shows what xdd itself costs"),
	{ .name = "list",
	  .type = OPT_ACTION,
	  .act = do_list,
	  .help = "print which engines this build and this kernel have, and stop" },
	{ .name = "batch",
	  .type = OPT_U64,
	  .arg = "<#requests>",
	  .min = 1,
	  .max = 65536,
	  .unit = "requests",
	  TARGET_FIELD(engine_options.batch),
	  .help = "libaio, io_uring: how many requests to hand over at a time" },
	KEYWORD("fixedbufs", fixed_bufs, "io_uring: register the buffers with the kernel"),
	KEYWORD("fixedfiles", fixed_files, "io_uring: register the file with the kernel"),
	KEYWORD("sqpoll", sqpoll, "io_uring: a thread of the kernel takes the requests in"),
	KEYWORD("iopoll", iopoll, "io_uring: poll the device for completions"),
	KEYWORD("touch", touch, "mmap: touch one byte of each page instead of copying"),
	KEYWORD("fua", fua, "sg: force unit access"),
	KEYWORD("dpo", dpo, "sg: disable page out"),
	{ 0 },
};

static const struct option options_engine[] = {
	{ .name = "ioengine",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SUB,
	  .arg = "<engine> [<keyword> ...]",
	  .subs = engine_rows,
	  .help = "how operations reach the kernel",
	  .detail =
		  "The keywords follow the engine they belong to. Asynchronous engines (libaio, "
		  "io_uring) keep the whole queue depth outstanding from one thread, or from the "
		  "number that -threads says. They hand a request over at once, or, above a queue "
		  "depth of 31, as soon as one in 16 of the queue depth is ready, 8 at most; batch 1 "
		  "hands over each at once at any depth, a larger batch saves system calls and keeps "
		  "the device less full. On buffered files psync is the faster choice: the kernel "
		  "hands buffered requests of the others to threads of its own, or carries them out "
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
		  "One unless it is given. The other engines have a QThread for each operation of the "
		  "queue depth." },
	{ .name = "sgio",
	  .aliases = "scsigeneric",
	  .scope = SCOPE_TARGET,
	  .type = OPT_CUSTOM,
	  .apply = apply_sgio,
	  .help = "the same as -ioengine sg" },
	{ 0 },
};

/* One QThread an operation, or, with an engine that queues, few that share the operations. */
static enum xdd_status resolve_qthreads(struct plan *plan, struct target_plan *t)
{
	uint64_t n = t->queue_depth;

	(void)plan;
	if (t->kind == TARGET_NULL)
		t->engine_queues = false;
	else if (t->threads && !t->engine_queues)
		return plan_refuse(
			t,
			"-threads: the engine %s has a QThread for each operation; -threads is for "
			"libaio and io_uring",
			t->engine ? t->engine : "psync");
	if (t->engine_queues) {
		n = t->threads ? t->threads : 1;
		if (n > t->queue_depth)
			n = t->queue_depth;
	}
	t->qthreads = (uint32_t)n;
	return XDD_OK;
}

/* Said once, about the first target it is true of. */
static void warn_buffered(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (!t->engine_queues || t->direct_io || t->op == OP_NOOP || !plan_has_size(t))
			continue;
		log_warning(
			"target %u, %s: %s without -dio: buffered requests are carried out one by one "
			"or by kernel threads; psync is faster there",
			t->number, t->path, t->engine);
		return;
	}
}

const struct plan_feature feature_engine = {
	.group = { "Engine", options_engine },
	.target = { [TARGET_SIZE] = resolve_qthreads },
	.warn = warn_buffered,
};
