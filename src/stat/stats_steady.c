/*
 * Steady state by rounds; see the header. Called by the writers of statistics over passes, and of
 * sweeps.
 */
#include <math.h>

#include "xdd/stat/stats.h"

/* Change of the least-squares line over the window, from its first value to its last. */
static double fit_change(const double *x)
{
	const double middle = (STATS_STEADY_WINDOW - 1) / 2.0;
	double sum = 0, squares = 0;

	for (int i = 0; i < STATS_STEADY_WINDOW; i++) {
		sum += (i - middle) * x[i];
		squares += (i - middle) * (i - middle);
	}
	return sum / squares * (STATS_STEADY_WINDOW - 1);
}

static bool judge_window(const double *x, struct stats_steady *s)
{
	double sum = 0, low = x[0], high = x[0], mean;

	for (int i = 0; i < STATS_STEADY_WINDOW; i++) {
		sum += x[i];
		low = fmin(low, x[i]);
		high = fmax(high, x[i]);
	}
	mean = sum / STATS_STEADY_WINDOW;
	s->range = (high - low) / mean;
	s->slope = fit_change(x) / mean;
	return mean > 0 && s->range <= STATS_STEADY_RANGE && fabs(s->slope) <= STATS_STEADY_SLOPE;
}

struct stats_steady stats_steady(const double *x, size_t n)
{
	struct stats_steady s = { .range = NAN, .slope = NAN };

	for (size_t end = STATS_STEADY_WINDOW; end <= n; end++) {
		if (judge_window(x + end - STATS_STEADY_WINDOW, &s)) {
			s.reached = true;
			s.after = end;
			return s;
		}
	}
	return s;
}
