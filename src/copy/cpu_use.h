/*
 * The processor time of data threads, which they read while they work: once a thread has ended,
 * nothing tells it. Private to src/copy.
 */
#ifndef COPY_CPU_USE_H
#define COPY_CPU_USE_H

#include <stdatomic.h>
#include <stdint.h>

/* Sums over threads; any reader. */
struct cpu_sums {
	_Atomic uint64_t cpu_ns;  /* running on a processor */
	_Atomic uint64_t wait_ns; /* ready to run, and without a processor */
};

/* The latest reading of a thread, which owns it. Zeros: it has not begun. */
struct cpu_use {
	uint64_t at_ns, cpu_ns, wait_ns;
};

/*
 * Add what the calling thread has used since its last reading to `sums`; nothing the first time. It
 * is read at most each 5 ms, as that costs a few system calls.
 */
void cpu_use_add(struct cpu_use *u, struct cpu_sums *sums);

#endif
