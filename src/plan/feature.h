/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Features of the plan, and the steps that they share. Main thread, while a plan is built,
 * resolved and checked.
 */
#ifndef XDD_PLAN_FEATURE_H
#define XDD_PLAN_FEATURE_H

#include <stddef.h>
#include <stdint.h>

#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/target_options.h"

struct arena;

/*
 * A feature of the plan: its options, and what it does while a plan is resolved and checked.
 *
 * The features are const. Their functions run while the plan is built, in the main thread.
 */

/*
 * Steps for each target. A step runs for all targets before the next one begins, except where it
 * says otherwise.
 */
enum target_step {
	TARGET_LOCATE, /* set its path; nothing is refused before all targets have theirs */
	TARGET_PROBE,  /* find out what it is, and which operations it gets */
	TARGET_SIZE,  /* compute the work of a pass; last for readers of what other targets write */
	TARGET_CHECK, /* refuse what it cannot do */
	N_TARGET_STEPS,
};

/* Steps for the plan as a whole. */
enum plan_step {
	PLAN_BEGIN, /* before TARGET_LOCATE: options of the run against each other */
	PLAN_CHECK, /* after TARGET_CHECK: the targets together */
	N_PLAN_STEPS,
};

/* Both return XDD_OK, or another status with one line given to log_error(). */
typedef enum xdd_status on_target(struct plan *plan, struct target_plan *t);
typedef enum xdd_status on_plan(struct plan *plan);

/* NULL stands for nothing to do. */
struct plan_feature {
	struct option_group group; /* in the help; no title: rows of another group */
	on_target *target[N_TARGET_STEPS];
	on_plan *plan[N_PLAN_STEPS];
	/* log_warning() for a plan that can run: for each target, then for the plan */
	void (*warn_target)(const struct target_plan *t);
	void (*warn)(const struct plan *plan);
};

extern const struct plan_feature feature_target;
extern const struct plan_feature feature_amount;
extern const struct plan_feature feature_files;
extern const struct plan_feature feature_work;
extern const struct plan_feature feature_seek;
extern const struct plan_feature feature_data;
extern const struct plan_feature feature_engine;
extern const struct plan_feature feature_discard;
extern const struct plan_feature feature_order;
extern const struct plan_feature feature_machine;
extern const struct plan_feature feature_passes;
extern const struct plan_feature feature_throttle;
extern const struct plan_feature feature_coordination;
extern const struct plan_feature feature_timeserver;
extern const struct plan_feature feature_layout;
extern const struct plan_feature feature_mpi;
extern const struct plan_feature feature_stonewall;
extern const struct plan_feature feature_endtoend;
extern const struct plan_feature feature_restart;
extern const struct plan_feature feature_output;
extern const struct plan_feature feature_heartbeat;
extern const struct plan_feature feature_latency;
extern const struct plan_feature feature_trace;
extern const struct plan_feature feature_debug;
extern const struct plan_feature feature_general;

/* The suboptions of -timeserver, -throttle and -restart. */
extern const struct option timeserver_rows[];
extern const struct option throttle_rows[];
extern const struct option restart_rows[];

/* The suboptions of -stonewall. */
extern const struct option stonewall_rows[];

/* Rows of options that cannot be had, with the reason. */
extern const struct option options_refused[];

/* Warn about options that are given twice with different values for all targets. */
void plan_warn_repeated(const struct plan *plan);

/* Run the steps that resolve everything marked "resolved" in the plan. */
enum xdd_status plan_resolve(struct plan *plan);

/*
 * Measures as words of an option.
 */

/*
 * Read the measure in words `w[0]`, its unit, and `w[1]`, its amount, of setting `s`. Returns
 * XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status measure_read(const struct setting *s, const struct word *w, struct measure *m);

/*
 * The amount and extent of targets with -blockperrank.
 */

/* Bytes of the segments that -segments asks for: the amount of a pass without any other. */
uint64_t layout_amount(const struct target_plan *t);

/*
 * Set the number of segments and the range. Returns XDD_OK, or another status with one line given
 * to log_error().
 */
enum xdd_status layout_resolve_range(const struct plan *plan, struct target_plan *t);

/* From the first byte that a pass accesses to the end of the last one. */
uint64_t layout_extent(const struct target_plan *t);

/*
 * A random order in which each of n targets reads the blocks of another one. Pure; any thread.
 */

/*
 * The successor of `i` in a cycle of all numbers below `n` (at least 1) that `seed` selects: a
 * permutation, and with n > 1 no number is its own successor. The same on every machine.
 */
uint64_t reorder_next(uint64_t seed, uint64_t n, uint64_t i);

/*
 * Memory that a plan needs.
 */

#define GIB ((double)(1u << 30)) /* for messages */

/* The memory of the machine in bytes; UINT64_MAX where it is not known. */
uint64_t plan_machine_bytes(void);

/*
 * Steps of feature_machine: compute how the buffers of a target lie in memory; check that -dio can
 * use -memalign; check that the buffers of all targets fit into memory, and into the huge pages
 * there are.
 */
enum xdd_status plan_resolve_memory(struct plan *plan, struct target_plan *t);
enum xdd_status plan_check_memalign(struct plan *plan, struct target_plan *t);

/*
 * -seek load: the list of operations of a target.
 */

/*
 * Read the rows of the file `path` into memory of `arena`; lines that begin with '#' and empty
 * lines are skipped. Returns 0; -errno when the file cannot be read; or -EBADMSG for a malformed
 * line, with its number in `*line` and the problem in `*what` (static text).
 */
int seek_load_read(const char *path, struct arena *arena, const struct seek_row **rows,
		   size_t *n_rows, unsigned *line, const char **what);

/* The file that holds the list of `t`, in memory of the plan or of its options. */
const char *seek_load_name(const struct plan *plan, const struct target_plan *t);

/*
 * Read "host", "host:port" or "host:port,count"; an IPv6 number stands in brackets. `*a` gets the
 * parts that are there, and its host is in memory of `arena`. Returns NULL, or what is wrong.
 */
const char *endtoend_address_read(const char *text, struct arena *arena,
				  struct endtoend_address *a);

/*
 * Steps of -endtoend and -restart.
 */

/* All return XDD_OK, or another status with one line given to log_error(). */

/* Give the addresses their ports, and the target its queue depth. */
enum xdd_status endtoend_resolve_ports(struct target_plan *t);

/* Refuse what a side of a copy cannot do, as far as its options say it. */
enum xdd_status endtoend_check_side(const struct target_plan *t);

/* Refuse work that the other side could not follow, once it is known. */
enum xdd_status endtoend_check_work(const struct target_plan *t);

/* Refuse targets that cannot be sides of copies together. */
enum xdd_status endtoend_check_together(const struct plan *plan);

/* Refuse options of a copy that are given to a target without one. */
enum xdd_status endtoend_check_named(struct plan *plan);

/*
 * Engines as suboptions of -ioengine.
 */

#define ENGINE_NAMES_MAX 32 /* engines that a message lists */

/* -ioengine list. */
extern const struct option option_engine_list;

#endif
