/*
 * Command lines whose options have several values: the grid of xdd sweep.
 *
 * Each option with a list is an axis; a point has one value of each, and its words are those of an
 * ordinary run. Nothing is planned here: plan_build() judges the words of a point.
 *
 * A struct vary is const once it is read, and its memory is the arena's. Main thread.
 */
#ifndef XDD_PLAN_VARY_H
#define XDD_PLAN_VARY_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/base/status.h"

struct arena;
struct option;

#define VARY_MAX_VALUES 10000
#define VARY_MAX_POINTS 100000

struct vary_value {
	const char *text;	  /* as a column shows it */
	const char *const *words; /* that stand in the place of the list */
	size_t n_words;
};

struct vary_axis {
	const char *name; /* the option, perhaps with its suboption and target: "queuedepth" */
	const struct vary_value *values;
	size_t n;
	size_t use; /* of an option, among all of the command line */
};

/* A word that all points have, or the place of an axis. */
struct vary_slot {
	const char *word; /* NULL: `axis` */
	size_t axis;
};

struct vary {
	struct arena *arena;
	const char *command; /* in messages: "sweep" */
	struct vary_slot *slots;
	size_t n_slots;
	struct vary_axis *axes;
	size_t n_axes;
	bool pairs; /* point i has value i of every axis; otherwise all combinations are points */
	size_t n_points;
};

/*
 * Find the lists in `words`, the options of a run, and add those of `extra`, each "<option>=<list>"
 * as -vary has it. `command` is the name of the command in messages, a static text. Returns XDD_OK,
 * or XDD_BAD_ARGUMENT or XDD_INIT_FAILED with one line given to log_error().
 */
enum xdd_status vary_read(struct arena *arena, const char *command, const char *const *words,
			  size_t n_words, const char *const *extra, size_t n_extra, bool pairs,
			  struct vary *v);

/*
 * Add an axis whose words follow all others; `values` are kept, and their texts and words may still
 * change, up to the `n_words` that they have now. Without another axis its values are the points.
 * False: no memory.
 */
bool vary_add_axis(struct vary *v, const char *name, const struct vary_value *values, size_t n);

/* The value that point `point` has of axis `axis`. The last axis changes fastest. */
size_t vary_at(const struct vary *v, size_t point, size_t axis);

/*
 * The words of a point, in `words`, which has room for vary_room() of them: the name of the program
 * first, then those of the run and of `more` (ends with NULL; or NULL), then NULL. Returns their
 * number.
 */
size_t vary_words(const struct vary *v, size_t point, const char *const *more, const char **words);
size_t vary_room(const struct vary *v, const char *const *more);

/*
 * Split `text`, a list of values for `row`: items between commas, each a value or, where the type
 * is a number, a range: 1..8 by ones, 1..64x2 by a factor, 0..1M+64k by a step. `*values` is
 * memory of the arena. Returns NULL, or what is wrong in memory of the arena.
 */
const char *vary_list(struct arena *arena, const struct option *row, const char *text,
		      const char *const **values, size_t *n);

/* True if `text` is a list for `row`: its type is one whose values have no commas or ranges. */
bool vary_is_list(const struct option *row, const char *text);

#endif
