/*
 * The gate of a target. Called by the issuing paths for targets that have one.
 */
#include "xdd/run/gate.h"

#include "xdd/run/internal.h"
#include "xdd/run/pace.h"

uint64_t gate_ask(struct target *t, uint64_t n, uint64_t now_ns)
{
	uint64_t due = pace_due(t, n);

	return due > now_ns ? due : GATE_OPEN;
}

int gate_wait(struct target *t, uint64_t n, uint64_t until_ns)
{
	(void)n;
	return stop_sleep_until(&t->run->stop, until_ns);
}
