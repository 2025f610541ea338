/*
 * Memory that a plan needs. Main thread, while a plan is resolved.
 */
#ifndef XDD_PLAN_RESOURCES_H
#define XDD_PLAN_RESOURCES_H

#include <stdint.h>

#include "xdd/plan/plan.h"

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
enum xdd_status plan_check_memory(struct plan *plan);

#endif
