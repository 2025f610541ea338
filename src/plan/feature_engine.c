/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engines: how operations reach the kernel, -ioengine, and targets of -op discard.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/mix.h"
#include "xdd/sys/blockdev.h"

/*
 * The registry of engines as the plan sees it: the engine of a target, and the suboptions of
 * -ioengine, which are the rows of the engines. Called by the parser through the row of -ioengine,
 * and by checks.
 */

const struct engine_info *engine_named(const char *name)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		if (strcmp(engine_registry[i]->name, name) == 0)
			return engine_registry[i];
	}
	return NULL;
}

/* The first engine of the registry with one of `caps`, or NULL. */
static const struct engine_info *engine_with(unsigned caps)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		if (engine_registry[i]->caps & caps)
			return engine_registry[i];
	}
	return NULL;
}

int engine_available(const struct engine_info *engine, struct err *why)
{
	err_clear(why);
	return engine->available ? engine->available(why) : 0;
}

const struct engine_info *engine_queueing(struct err *why)
{
	bool refused = false;
	size_t n = 0;

	while (engine_registry[n])
		n++;
	err_clear(why);
	/* The registry has the newer engine after the older one. */
	while (n-- > 0) {
		if (!(engine_registry[n]->caps & ENGINE_QUEUES))
			continue;
		if (!engine_available(engine_registry[n], refused ? NULL : why))
			return engine_registry[n];
		refused = true;
	}
	return NULL;
}

const struct engine_info *plan_engine(const struct target_plan *target)
{
	if (target->kind == TARGET_NULL)
		return engine_with(ENGINE_NO_DATA);
	return target->engine ? target->engine : engine_registry[0];
}

unsigned plan_engine_caps(const struct target_plan *target)
{
	const struct engine_info *engine = plan_engine(target);

	if (engine == target->engine && engine->caps_with)
		return engine->caps_with(target->engine_options);
	return engine->caps;
}

static const char *engine_name_at(const void *names, size_t i)
{
	return ((const char *const *)names)[i];
}

char *engine_names(unsigned with, unsigned without, char *buf, size_t size)
{
	const char *names[ENGINE_NAMES_MAX + 1] = { NULL };
	size_t n = 0;

	for (size_t i = 0; engine_registry[i] && n < ENGINE_NAMES_MAX; i++) {
		if ((engine_registry[i]->caps & (with | without)) == with)
			names[n++] = engine_registry[i]->name;
	}
	return parse_list_words(engine_name_at, names, buf, size);
}

/* The row of `engine` for a keyword, or NULL. */
static const struct option *keyword_of(const struct engine_info *engine, const char *name)
{
	return engine->keywords ? option_find_in(engine->keywords, name) : NULL;
}

/* True if an engine before number `i` of the registry has this keyword. */
static bool is_repeated(size_t i, const char *name)
{
	while (i-- > 0) {
		if (keyword_of(engine_registry[i], name))
			return true;
	}
	return false;
}

/* Names first, then "list", then the keywords, each once. */
static const struct option *engine_word_at(size_t n)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		if (n-- == 0)
			return &engine_registry[i]->row;
	}
	if (n-- == 0)
		return &option_engine_list;
	for (size_t i = 0; engine_registry[i]; i++) {
		const struct option *row = engine_registry[i]->keywords;

		for (; row && row->name; row++) {
			if (!is_repeated(i, row->name) && n-- == 0)
				return row;
		}
	}
	return NULL;
}

/* "a, b": the engines with this keyword. */
static const char *owners(const char *keyword, const char *apart, char *buf, size_t size)
{
	*buf = '\0';
	for (size_t i = 0; engine_registry[i]; i++) {
		if (keyword_of(engine_registry[i], keyword))
			text_add(buf, size, "%s%s", *buf ? apart : "", engine_registry[i]->name);
	}
	return buf;
}

static const char *engine_word_help(const struct option *sub, char *buf, size_t size)
{
	char engines[128];

	if (!*owners(sub->name, ", ", engines, sizeof(engines)))
		return sub->help;
	snprintf(buf, size, "%s: %s", engines, sub->help);
	return buf;
}

/*
 * Have `engine` drive the target, with the defaults of its keywords; `s` is the setting that asks
 * for it. Returns XDD_OK, or another status with one line given to log_error().
 */
static enum xdd_status engine_choose(const struct setting *s, struct target_plan *t,
				     const struct engine_info *engine)
{
	t->engine = engine;
	t->engine_options = NULL;
	if (!engine->keywords)
		return XDD_OK;
	t->engine_options = xarena_alloc(s->arena, engine->options_size);
	return parse_defaults(s->arena, s->opt, engine->keywords, t, SCOPE_TARGET);
}

static enum xdd_status init_engine(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	t->engine_by_default = true;
	return engine_choose(s, t, engine_registry[0]);
}

/*
 * A name, which replaces all keywords that were given before, or a keyword of the engine that was
 * named last.
 */
static enum xdd_status apply_engine_word(const struct setting *s, void *dst)
{
	const struct engine_info *engine = engine_named(s->sub->name);
	struct target_plan *t = dst;
	const struct option *keyword;
	char engines[128];

	if (engine && s->further)
		return parse_error(XDD_BAD_ARGUMENT, s, NULL,
				   "expected one engine, then its keywords");
	t->engine_by_default = false;
	if (engine)
		return engine_choose(s, t, engine);
	keyword = keyword_of(t->engine, s->sub->name);
	if (!keyword)
		return parse_error(XDD_BAD_ARGUMENT, s, NULL, "is a keyword of %s, not of %s",
				   owners(s->sub->name, " and ", engines, sizeof(engines)),
				   t->engine->name);
	return parse_apply_row(s, keyword, t->engine_options);
}

/*
 * The options of the target's engine, and its row for the keyword; NULL when it has no such
 * keyword.
 */
static const void *engine_word_field(const struct target_plan *t, const struct option **sub)
{
	const struct option *keyword = t->engine ? keyword_of(t->engine, (*sub)->name) : NULL;

	if (keyword)
		*sub = keyword;
	return keyword ? t->engine_options : NULL;
}

/* The words that may follow -ioengine. */
static const struct option_source engine_words = {
	.at = engine_word_at,
	.help = engine_word_help,
	.init = init_engine,
	.apply = apply_engine_word,
	.field = engine_word_field,
};

/*
 * -ioengine. The rows of each engine are in its own file.
 */

/* -sgio is the engine for SCSI commands by its old name. */
static enum xdd_status apply_sgio(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	t->engine_by_default = false;
	return engine_choose(s, t, engine_with(ENGINE_SCSI));
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
	  OPTION_NUMBER("<#threads>", 1, 65536),
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
	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		if (!(plan_engine_caps(t) & ENGINE_DIRECT) || t->direct_io || t->op == OP_NOOP ||
		    t->op == OP_DISCARD || !plan_has_size(t))
			continue;
		target_warning(t,
			       "%s without -dio: buffered requests are carried out one by one or "
			       "by kernel threads; psync is faster there",
			       t->engine->name);
		return;
	}
}

const struct plan_feature feature_engine = {
	.group = { "Engine", options_engine },
	.target = { [TARGET_SIZE] = resolve_qthreads },
	.plan = { [PLAN_CHECK] = number_qthreads },
	.warn = warn_buffered,
};

/*
 * Targets of -op discard: what can be discarded, by which engine, and in which units. Has no
 * options of its own.
 */

#define SECTOR_BYTES 512
#define MAX_FS_BLOCK_BYTES 65536 /* a network file system may name its transfer size instead */

static enum xdd_status check_engine(const struct target_plan *t)
{
	char engines[128];

	if (plan_engine_caps(t) & ENGINE_DISCARDS)
		return XDD_OK;
	return plan_refuse(t, "-op discard: the engine %s cannot discard; use -ioengine %s",
			   plan_engine(t)->name,
			   engine_names(ENGINE_DISCARDS, ENGINE_NO_DATA, engines, sizeof(engines)));
}

static enum xdd_status check_device(const struct target_plan *t)
{
	uint64_t most = UINT64_MAX, sector = SECTOR_BYTES;

	blockdev_queue_number(t->device, "discard_max_bytes", &most);
	if (!most)
		return plan_refuse(t, "-op discard: the device cannot discard "
				      "(queue/discard_max_bytes is 0); name another one");
	blockdev_queue_number(t->device, "logical_block_size", &sector);
	return plan_check_multiples(t, "-op discard", (uint32_t)sector, true);
}

/* The kernel discards nothing past the end of a file, and reports no error. */
static enum xdd_status check_file(const struct target_plan *t)
{
	uint64_t size = plan_size_in_run(t);
	char end[32], has[32];

	if (!size)
		return plan_refuse(t, "-op discard: is empty: there is nothing to discard");
	if (t->end_bytes <= size)
		return XDD_OK;
	return plan_refuse(t, "-op discard: the operations reach to %s, and the file has %s",
			   units_size_text(t->end_bytes, end, sizeof(end)),
			   units_size_text(size, has, sizeof(has)));
}

static enum xdd_status discard_check(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status;

	(void)plan;
	if (t->op != OP_DISCARD)
		return XDD_OK;
	if (t->pretruncate || t->preallocate_bytes)
		return plan_refuse(t,
				   "-%s: is for what is written, and -op discard frees what the "
				   "file holds; leave one out",
				   t->pretruncate ? "pretruncate" : "preallocate");
	if (t->pattern.given)
		return plan_refuse(t, "-datapattern: -op discard transfers no data; leave one out");
	status = check_engine(t);
	if (status || t->kind == TARGET_NULL)
		return status;
	if (t->kind == TARGET_CHAR)
		return plan_refuse(t, "-op discard: is a character device; name a block device or "
				      "a regular file");
	return t->kind == TARGET_BLOCK ? check_device(t) : check_file(t);
}

/* The unit in which storage is freed; 1: unknown. */
static uint64_t unit_bytes(const struct target_plan *t)
{
	struct statvfs fs;
	uint64_t unit = 0;

	if (t->kind == TARGET_BLOCK)
		blockdev_queue_number(t->device, "discard_granularity", &unit);
	else if (t->kind == TARGET_FILE && statvfs(t->path, &fs) == 0 &&
		 fs.f_bsize <= MAX_FS_BLOCK_BYTES)
		unit = fs.f_bsize;
	return unit ? unit : 1;
}

static bool rows_in_units(const struct target_plan *t, uint64_t unit)
{
	for (size_t i = 0; i < t->n_rows; i++) {
		if (t->rows[i].block * t->block_size % unit ||
		    t->rows[i].blocks * t->block_size % unit)
			return false;
	}
	return true;
}

static bool in_units(const struct target_plan *t, uint64_t unit)
{
	if (t->pass_offset_bytes % unit)
		return false;
	if (t->rows)
		return rows_in_units(t, unit);
	return (t->mix ? t->mix->unit_bytes : t->req_bytes) % unit == 0 &&
	       t->start_bytes % unit == 0 && t->last_op_bytes % unit == 0;
}

static void discard_warn(const struct target_plan *t)
{
	uint64_t unit;

	if (t->op != OP_DISCARD)
		return;
	unit = unit_bytes(t);
	if (in_units(t, unit))
		return;
	log_warning("target %" PRIu32 ", %s: -op discard: requests are no whole units of %" PRIu64
		    " bytes, in which %s frees storage: what is less than a unit is not freed",
		    t->number, t->path, unit,
		    t->kind == TARGET_BLOCK ? "the device" : "the file system");
}

const struct plan_feature feature_discard = {
	.target = { [TARGET_CHECK] = discard_check },
	.warn_target = discard_warn,
};
