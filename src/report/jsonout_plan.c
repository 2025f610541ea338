/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan of a run as JSON: every option of the option table as it stands, the words as they were
 * given, and the values derived from them. Called by jsonout.c.
 */

#include "report/jsonout.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/mix.h"
#include "xdd/plan/option.h"
#include "xdd/report/jvalue.h"

/* The words of a setting; true for one that has none. */
static json_t *words(const struct setting *s)
{
	json_t *array;

	if (!s->n_args)
		return json_true();
	array = json_array();
	for (size_t i = 0; i < s->n_args; i++)
		json_array_append_new(array, jvalue_text(s->args[i].text));
	return array;
}

static json_t *value(const struct option_value *v)
{
	switch (v->type) {
	case OPTION_VALUE_FLAG:
		return json_boolean(v->flag);
	case OPTION_VALUE_COUNT:
		return jvalue_count(v->count);
	case OPTION_VALUE_REAL:
		return jvalue_real(v->real);
	case OPTION_VALUE_TEXT:
		return jvalue_text(v->text);
	case OPTION_VALUE_WORDS:
		return words(v->setting);
	case OPTION_VALUE_NONE:
		break;
	}
	return json_null();
}

/* Rows that do something and leave nothing to show, such as -help, are not among them. */
static bool has_value(const struct option *row)
{
	return row->type != OPT_ACTION && row->type != OPT_REFUSED;
}

static json_t *suboptions(const struct plan *plan, const struct target_plan *target,
			  const struct option *opt)
{
	const struct option *sub;
	json_t *o = json_object();

	for (size_t i = 0; (sub = option_sub(opt, i)); i++) {
		struct option_value v;

		if (!has_value(sub))
			continue;
		v = option_value(plan, target, opt, sub);
		jvalue_put(o, sub->name, value(&v));
	}
	return o;
}

/* All options of the run as a whole, or, with a target, of that target. */
static json_t *options(const struct plan *plan, const struct target_plan *target)
{
	enum option_scope scope = target ? SCOPE_TARGET : SCOPE_GLOBAL;
	json_t *o = json_object();

	for (const struct option_group *const *g = run_options.groups; *g; g++) {
		for (const struct option *opt = (*g)->options; opt->name; opt++) {
			struct option_value v;

			if (opt->scope != scope || !has_value(opt))
				continue;
			if (option_sub(opt, 0)) {
				jvalue_put(o, opt->name, suboptions(plan, target, opt));
				continue;
			}
			v = option_value(plan, target, opt, NULL);
			jvalue_put(o, opt->name, value(&v));
		}
	}
	return o;
}

static json_t *given(const struct plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->n_settings; i++) {
		const struct setting *s = &plan->settings[i];
		json_t *o = json_object();

		jvalue_put(o, "option", jvalue_text(s->opt->name));
		jvalue_put(o, "suboption", jvalue_text(s->sub ? s->sub->name : NULL));
		jvalue_put(o, "target", jvalue_text(s->scope.text));
		jvalue_put(o, "words", words(s));
		jvalue_put(o, "file", jvalue_text(s->name.file));
		jvalue_put(o, s->name.file ? "line" : "argument", jvalue_count(s->name.pos));
		json_array_append_new(array, o);
	}
	return array;
}

/* Null for what only time or an error ends. */
static json_t *limited(uint64_t amount)
{
	return jvalue_known(amount != PLAN_UNLIMITED, amount);
}

static const char *kind_name(enum target_kind kind)
{
	static const char *const names[] = {
		[TARGET_UNKNOWN] = "unknown",	 [TARGET_NULL] = "null device",
		[TARGET_MISSING] = "new file",	 [TARGET_FILE] = "file",
		[TARGET_BLOCK] = "block device", [TARGET_CHAR] = "character device",
	};

	return names[kind];
}

/* So much of a target: a unit, and how many of it. */
static void put_measure(json_t *o, const char *unit_name, const char *amount_name,
			const struct measure *m)
{
	static const char *const names[] = {
		[MEASURE_TIME] = "nanoseconds",
		[MEASURE_OPS] = "operations",
		[MEASURE_PERCENT] = "percent",
		[MEASURE_BYTES] = "bytes",
	};

	jvalue_put(o, unit_name, jvalue_text(names[m->unit]));
	jvalue_put(o, amount_name,
		   m->unit == MEASURE_PERCENT ?
			   jvalue_real(100.0 * (double)m->value / PLAN_RATIO_ONE) :
			   jvalue_count(m->value));
}

static json_t *trigger(const struct trigger_plan *g)
{
	json_t *o;

	if (!g->on)
		return json_null();
	o = json_object();
	jvalue_put(o, "target", jvalue_count(g->by));
	put_measure(o, "when", "howmuch", &g->when);
	return o;
}

/* The rate of -throttle; null where it has none of that kind. */
static json_t *requested(const struct target_plan *t, enum throttle_by by)
{
	return t->throttle.by == by ? jvalue_real(t->throttle.rate) : json_null();
}

static json_t *lockstep(const struct lockstep_plan *l)
{
	json_t *o;

	if (!l->on)
		return json_null();
	o = json_object();
	jvalue_put(o, "master", jvalue_count(l->master));
	put_measure(o, "when", "howlong", &l->when);
	put_measure(o, "what", "howmuch", &l->what);
	jvalue_put(o, "startup", jvalue_text(l->run ? "run" : "wait"));
	jvalue_put(o, "completion", jvalue_text(l->stop ? "stop" : "complete"));
	return o;
}

/* The side of a copy, and the addresses of its destination. */
static json_t *endtoend(const struct endtoend_options *e)
{
	json_t *o, *addresses;

	if (e->role == E2E_NONE)
		return json_null();
	addresses = json_array();
	for (size_t i = 0; i < e->n_addresses; i++) {
		json_t *a = json_object();

		jvalue_put(a, "host", jvalue_text(e->addresses[i].host));
		jvalue_put(a, "port", jvalue_count(e->addresses[i].port));
		jvalue_put(a, "ports", jvalue_count(e->addresses[i].ports));
		json_array_append_new(addresses, a);
	}
	o = json_object();
	jvalue_put(o, "role", jvalue_text(endtoend_role_name(e->role)));
	jvalue_put(o, "connections", jvalue_count(endtoend_connections(e)));
	jvalue_put(o, "addresses", addresses);
	return o;
}

/* The blocks of -blockperrank. */
static json_t *blocks(const struct layout_options *l)
{
	json_t *o;

	if (!l->block_bytes)
		return json_null();
	o = json_object();
	jvalue_put(o, "block_bytes", jvalue_count(l->block_bytes));
	jvalue_put(o, "segments", jvalue_count(l->n_segments));
	jvalue_put(o, "targets", jvalue_count(l->n_owners));
	jvalue_put(o, "index", jvalue_count(l->index));
	jvalue_put(o, "owner", jvalue_count(l->owner));
	return o;
}

/* The sizes of -reqsize mix, and how many operations of a cycle have each. */
static json_t *mix(const struct request_mix *m)
{
	json_t *array;

	if (!m)
		return json_null();
	array = json_array();
	for (size_t i = 0; i < m->n; i++) {
		json_t *o = json_object();

		jvalue_put(o, "bytes", jvalue_count(m->sizes[i].bytes));
		jvalue_put(o, "operations", jvalue_count(m->sizes[i].ops));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *resolved_target(const struct target_plan *t)
{
	json_t *o = json_object();

	jvalue_put(o, "kind", jvalue_text(kind_name(t->kind)));
	jvalue_put(o, "size_bytes", jvalue_count(t->size_bytes));
	jvalue_put(o, "written_by", t->writer ? jvalue_count(t->writer->number) : json_null());
	jvalue_put(o, "engine", jvalue_text(plan_engine(t)->name));
	jvalue_put(o, "engine_by_default", json_boolean(t->engine_by_default));
	jvalue_put(o, "operation", jvalue_text(plan_op_name(t->op)));
	jvalue_put(o, "read_percent",
		   jvalue_real(t->op == OP_MIXED ? 100.0 * t->read_ratio / PLAN_RATIO_ONE :
			       t->op == OP_READ	 ? 100 :
						   0));
	jvalue_put(o, "seek_pattern", jvalue_text(plan_seek_name(t->seek.pattern)));
	jvalue_put(o, "zipf_theta",
		   t->seek.pattern == SEEK_ZIPF ? jvalue_real(t->seek.theta) : json_null());
	jvalue_put(o, "ordering", jvalue_text(plan_ordering_name(t->ordering)));
	jvalue_put(o, "queue_depth", jvalue_count(t->queue_depth));
	jvalue_put(o, "qthreads", jvalue_count(t->qthreads));
	jvalue_put(o, "block_bytes", jvalue_count(t->block_size));
	jvalue_put(o, "request_bytes", jvalue_count(t->req_bytes));
	jvalue_put(o, "request_mix", mix(t->mix));
	jvalue_put(o, "last_request_bytes", jvalue_count(t->last_op_bytes));
	jvalue_put(o, "pass_operations", limited(t->pass_ops));
	jvalue_put(o, "pass_bytes", jvalue_known(t->pass_ops != PLAN_UNLIMITED, t->pass_bytes));
	jvalue_put(o, "start_bytes", jvalue_count(t->start_bytes));
	jvalue_put(o, "pass_offset_bytes", jvalue_count(t->pass_offset_bytes));
	jvalue_put(o, "range_bytes", jvalue_given(t->range_bytes));
	jvalue_put(o, "end_bytes", limited(t->end_bytes));
	jvalue_put(o, "blocks", blocks(&t->layout));
	jvalue_put(o, "direct_io", json_boolean(t->direct_io));
	jvalue_put(o, "direct_io_ignored", json_boolean(t->direct_ignored));
	jvalue_put(o, "open_sync",
		   jvalue_text(t->open_sync ? plan_open_sync_name(t->open_sync) : NULL));
	jvalue_put(o, "alignment_bytes", jvalue_count(t->io_align_bytes));
	jvalue_put(o, "tail_bytes", jvalue_count(t->tail_bytes));
	jvalue_put(o, "start_delay_ns", jvalue_count(t->delay_ns));
	jvalue_put(o, "time_limit_ns", jvalue_given(t->time_limit_ns));
	jvalue_put(o, "warmup_ns", jvalue_given(t->warmup_ns));
	jvalue_put(o, "warmup_ops", jvalue_given(t->warmup_ops));
	jvalue_put(o, "snooze_percent",
		   t->snooze_percent > 0 ? jvalue_real(t->snooze_percent) : json_null());
	jvalue_put(o, "requested_iops", requested(t, THROTTLE_OPS));
	jvalue_put(o, "requested_bandwidth", requested(t, THROTTLE_BANDWIDTH));
	jvalue_put(o, "lockstep", lockstep(&t->lockstep));
	jvalue_put(o, "start_trigger", trigger(&t->start_trigger));
	jvalue_put(o, "stop_trigger", trigger(&t->stop_trigger));
	jvalue_put(o, "endtoend", endtoend(&t->endtoend));
	return o;
}

static json_t *targets(const struct plan *plan)
{
	json_t *array = json_array();

	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		json_t *o = json_object();

		jvalue_put(o, "number", jvalue_count(t->number));
		jvalue_put(o, "name", jvalue_text(t->name));
		jvalue_put(o, "path", jvalue_text(t->path));
		jvalue_put(o, "options", options(plan, t));
		jvalue_put(o, "resolved", resolved_target(t));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *resolved(const struct plan *plan)
{
	json_t *o = json_object();

	jvalue_put(o, "passes", jvalue_count(plan->passes));
	jvalue_put(o, "passes_until_percent",
		   plan->until_percent ? jvalue_real(plan->until_percent) : json_null());
	jvalue_put(o, "pass_delay_ns", jvalue_count(plan->pass_delay_ns));
	jvalue_put(o, "run_time_ns", jvalue_given(plan->run_time_ns));
	jvalue_put(o, "hog_bytes", jvalue_given(plan->hog_bytes));
	jvalue_put(o, "targets", jvalue_count(plan->n_targets));
	return o;
}

json_t *jsonout_plan(const struct plan *plan)
{
	json_t *o = json_object();

	if (!o || jvalue_put(o, "options", options(plan, NULL)) ||
	    jvalue_put(o, "given", given(plan)) || jvalue_put(o, "resolved", resolved(plan)) ||
	    jvalue_put(o, "targets", targets(plan))) {
		json_decref(o);
		return NULL;
	}
	return o;
}
