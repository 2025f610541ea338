/*
 * The gate of a target. Called by the issuing paths for targets that have one.
 */
#include "xdd/run/gate.h"

#include "xdd/run/internal.h"

uint64_t gate_ask(struct target *t, uint64_t n, uint64_t now_ns)
{
	(void)t;
	(void)n;
	(void)now_ns;
	return GATE_OPEN;
}

int gate_wait(struct target *t, uint64_t n, uint64_t until_ns)
{
	(void)n;
	return stop_sleep_until(&t->run->stop, until_ns);
}
