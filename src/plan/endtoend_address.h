/*
 * Addresses of -e2e destination. Main thread, while a plan is built.
 */
#ifndef XDD_PLAN_ENDTOEND_ADDRESS_H
#define XDD_PLAN_ENDTOEND_ADDRESS_H

#include "xdd/plan/endtoend_options.h"

struct arena;

/*
 * Read "host", "host:port" or "host:port,count"; an IPv6 number stands in brackets. `*a` gets the
 * parts that are there, and its host is in memory of `arena`. Returns 0; -EINVAL with the problem
 * in `*why` (static text); or -ENOMEM.
 */
int endtoend_address_read(const char *text, struct arena *arena, struct endtoend_address *a,
			  const char **why);

#endif
