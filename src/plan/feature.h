/*
 * A feature of the plan: its options, and what it does while a plan is resolved and checked.
 *
 * The features are const. Their functions run while the plan is built, in the main thread.
 */
#ifndef XDD_PLAN_FEATURE_H
#define XDD_PLAN_FEATURE_H

#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

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

/* In the order of the steps; ends with NULL. */
extern const struct plan_feature *const plan_features[];

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

/* Set the percentage of -snooze. */
enum xdd_status plan_apply_snooze(const struct setting *s, void *dst);

/* The suboptions of -stonewall. */
extern const struct option stonewall_rows[];

/* Rows of options that cannot be had, with the reason. */
extern const struct option options_refused[];

/* Warn about options that are given twice with different values for all targets. */
void plan_warn_repeated(const struct plan *plan);

/* Run the steps that resolve everything marked "resolved" in the plan. */
enum xdd_status plan_resolve(struct plan *plan);

#endif
