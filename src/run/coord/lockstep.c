/*
 * Arithmetic of lockstep. Called by the gate.
 */
#include "run/coord/lockstep.h"
#include "xdd/base/arith.h"

uint64_t measure_count(const struct measure *m, const struct target_plan *t, uint64_t ops,
		       uint64_t bytes)
{
	switch (m->unit) {
	case MEASURE_OPS:
		return ops / m->value;
	case MEASURE_BYTES:
		return bytes / m->value;
	case MEASURE_PERCENT:
		return (uint64_t)((uint128)ops * PLAN_RATIO_ONE /
				  ((uint128)m->value * t->pass_ops));
	case MEASURE_TIME:
		break;
	}
	return 0;
}

uint64_t measure_before(const struct measure *m, const struct target_plan *t, uint64_t n)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(n, t->req_bytes, &bytes) || bytes > t->pass_bytes)
		bytes = t->pass_bytes;
	return measure_count(m, t, n, bytes);
}

bool lockstep_is_counted(const struct lockstep_plan *l)
{
	return l->when.unit != MEASURE_TIME && l->what.unit != MEASURE_TIME;
}

uint64_t lockstep_slave_needs(const struct lockstep_plan *l, const struct target_plan *slave,
			      uint64_t n)
{
	return measure_before(&l->what, slave, n) + (l->run ? 0 : 1);
}

uint64_t lockstep_master_needs(const struct lockstep_plan *l, const struct target_plan *master,
			       uint64_t n)
{
	uint64_t before = measure_before(&l->when, master, n);

	if (measure_before(&l->when, master, n + 1) > before)
		return before;
	return before ? before - 1 : 0;
}
