/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limit of operations that do nothing: a number taken from a shared counter and two clock reads
 * for each.
 */
#include "limit.h"

static _Atomic uint64_t next_op __attribute__((aligned(128)));

static int run(struct limit_thread *t)
{
	uint64_t busy_ns = 0, done = 0;

	while (!limit_over(t, done)) {
		uint64_t t0;

		atomic_fetch_add_explicit(&next_op, 1, memory_order_relaxed);
		t0 = limit_now_ns();
		busy_ns += limit_now_ns() - t0;
		done++;
	}
	t->done = done;
	/* The clock reads are of use. */
	__asm__ volatile("" : : "r"(busy_ns));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct limit_loop loop = { .run = run };

	return limit_main(argc, argv, &loop);
}
