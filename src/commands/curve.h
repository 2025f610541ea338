/*
 * The parts of xdd curve, which is a sweep of its own kind. Private to src/commands; main thread.
 */
#ifndef XDD_COMMANDS_CURVE_H
#define XDD_COMMANDS_CURVE_H

#include "commands/sweep.h"
#include "xdd/report/sweep.h"

#define CURVE_DEPTHS 8 /* of a search: 1, 2, 4 .. 128 */
#define CURVE_REFINE 2 /* loads next to the knee */
#define CURVE_PROBES 16
#define CURVE_WORDS 6 /* of a point: -queuedepth D -throttle ops R poisson */
#define CURVE_NUMBER 40
#define CURVE_SHARE_MAX 10.0

/* The words of a point, which are made when its load is known. */
struct curve_words {
	const char *words[CURVE_WORDS];
	char depth[CURVE_NUMBER], rate[CURVE_NUMBER], text[CURVE_NUMBER];
};

struct curve_command {
	struct curve results;
	struct vary_value *values; /* one for each point: depths, loads, those of later use */
	struct curve_words *words;
	size_t n_given; /* depths and loads of the command line */
	size_t n_used;	/* points that have a load */
};

/* ---- curve_run.c ---- */

/* All of a curve, as struct sweep_kind has it. */
bool curve_run(struct sweep *s);

/*
 * Give point `point` the words of a load: `rate` is a text, NULL for a closed loop; `depth` is 0
 * for that of the user.
 */
void curve_set_words(struct curve_command *c, size_t point, uint64_t depth, const char *rate);

/* "12.5 %", for the share 0.125. In `buf` of CURVE_NUMBER bytes. */
const char *curve_percent(double share, char *buf);

/* ---- curve_lateness.c ---- */

/* Measure it for each load up to the maximum. False: the curve ends here, with `s->status`. */
bool curve_measure_lateness(struct sweep *s);

/* ---- curve_show.c: standard output ---- */

void curve_show_head(const struct sweep *s);
void curve_show_round(const struct sweep *s, const struct sweep_round *round);
void curve_show_table(const struct sweep *s);

#endif
