/*
 * Time in which this process was stopped: by SIGSTOP, a debugger, a frozen control group, or a
 * pause of the virtual machine. Private to src/run. The results manager sleeps briefly, and knows
 * by its waking late.
 */
#ifndef XDD_RUN_RESULTS_STOPPED_H
#define XDD_RUN_RESULTS_STOPPED_H

#include <stdint.h>

/* The longest sleep of a watcher: a stop is measured less by this at most. */
#define STOPPED_TICK_NS (NS_PER_SEC / 10)

/* Belongs to the thread that watches; zeroed at first. */
struct stopped {
	uint64_t total_ns;
	uint64_t wait_ns; /* clock_thread_wait_ns() after the last late sleep */
};

/*
 * After a sleep that was to end at `due_ns` of the kernel's clock at the latest. Reads nothing
 * unless it ended late: all that the thread has waited for a processor since the last late one, or
 * since its start, is taken off, so that a busy machine makes a stop shorter and never longer.
 */
void stopped_after(struct stopped *s, uint64_t due_ns);

/*
 * The part of a sleep that ended `late_ns` late which is a stop: without what the thread waited for
 * a processor, and 0 if that is little. Pure.
 */
uint64_t stopped_part_ns(uint64_t late_ns, uint64_t waited_ns);

#endif
