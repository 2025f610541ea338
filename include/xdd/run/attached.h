/*
 * A run that another program has started and watches: -attached. Used by the command that carries
 * out a plan.
 */
#ifndef XDD_RUN_ATTACHED_H
#define XDD_RUN_ATTACHED_H

#include "xdd/plan/plan.h"
#include "xdd/run/signals.h"

struct attached;

/*
 * Start the thread that ends the process as by SIGINT once the other program is gone, and that
 * writes a line (progress_line.h) to standard error every second. Without -attached `*a` is NULL.
 * Returns 0 or -errno. Main thread, after signals_start().
 */
int attached_start(struct attached **a, const struct plan *plan, struct signals *signals);

/* End it. Accepts NULL. Main thread, before signals_end(). */
void attached_end(struct attached *a);

#endif
