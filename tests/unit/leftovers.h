/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads and descriptors that a test leaves.
 */
#ifndef XDD_TESTS_LEFTOVERS_H
#define XDD_TESTS_LEFTOVERS_H

struct leftovers {
	unsigned threads, descriptors;
};

/* Those there are now. */
struct leftovers leftovers_count(void);

/* Fail the test if there are others than `before`, soon. */
void leftovers_assert_none(const struct leftovers *before);

#endif
