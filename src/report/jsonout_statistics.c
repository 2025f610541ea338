/*
 * Statistics over passes as an object of the document of -jsonout. Called by jsonout.c and by
 * combine_passes.c.
 */
#include "report/jsonout.h"
#include "xdd/report/jvalue.h"

static json_t *figure(const struct pass_statistics *s, enum pass_figure figure)
{
	const struct stats_summary *sum = &s->summary[figure];
	const struct stats_stability *why = &s->stability[figure];
	json_t *o = json_object(), *values = json_array();
	bool at = why->change == STATS_ODD || why->change == STATS_STEP;

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(values, jvalue_real(s->values[figure][i]));
	jvalue_put(o, "unit", jvalue_text(figure_unit(figure)));
	jvalue_put(o, "mean", s->n ? jvalue_real(sum->mean) : json_null());
	jvalue_put(o, "standard_deviation", s->n > 1 ? jvalue_real(sum->stddev) : json_null());
	jvalue_put(o, "minimum", s->n ? jvalue_real(sum->min) : json_null());
	jvalue_put(o, "maximum", s->n ? jvalue_real(sum->max) : json_null());
	jvalue_put(o, "autocorrelation", jvalue_real(sum->autocorrelation));
	jvalue_put(o, "interval_low", jvalue_real(sum->mean - sum->half_width));
	jvalue_put(o, "interval_high", jvalue_real(sum->mean + sum->half_width));
	jvalue_put(o, "change", jvalue_text(s->n > 2 ? stats_change_name(why->change) : NULL));
	jvalue_put(o, "change_pass", at ? jvalue_count(s->passes[why->at]) : json_null());
	jvalue_put(o, "change_amount", jvalue_real(why->amount));
	jvalue_put(o, "values", values);
	return o;
}

/* By the bandwidth of the passes; null: there are too few. */
static json_t *steady_state(const struct pass_statistics *s)
{
	const struct stats_steady steady = stats_steady(s->values[FIGURE_BANDWIDTH], s->n);
	json_t *o;

	if (s->n < STATS_STEADY_WINDOW)
		return json_null();
	o = json_object();
	jvalue_put(o, "reached", json_boolean(steady.reached));
	jvalue_put(o, "after_pass",
		   steady.reached ? jvalue_count(s->passes[steady.after - 1]) : json_null());
	jvalue_put(o, "range", jvalue_real(steady.range));
	jvalue_put(o, "slope", jvalue_real(steady.slope));
	return o;
}

json_t *jsonout_statistics_value(const struct pass_statistics *s)
{
	json_t *o = json_object(), *passes = json_array();
	char why[STATISTICS_WHY_SIZE];

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(passes, jvalue_count(s->passes[i]));
	jvalue_put(o, "target", s->combined ? json_null() : jvalue_count(s->target));
	jvalue_put(o, "passes", passes);
	jvalue_put(o, "left_out", jvalue_count(s->left_out));
	jvalue_put(o, "not_reproducible", jvalue_text(statistics_why(s, why)));
	jvalue_put(o, "steady_state", steady_state(s));
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		/* Percentiles of too few operations are null; what a run lacks is left out. */
		if (statistics_has(s, i))
			jvalue_put(o, figure_name(i), figure(s, i));
		else if (i < FIGURE_COUNT ||
			 (i > FIGURE_RESPONSE && statistics_has(s, FIGURE_RESPONSE)))
			jvalue_put(o, figure_name(i), json_null());
	}
	return o;
}
