/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cost of the clock and of time stamps on this machine, for -timerinfo. Private to src/run.
 */
#ifndef XDD_RUN_TIMERINFO_H
#define XDD_RUN_TIMERINFO_H

#include <stdint.h>

struct timer_info {
	uint64_t resolution_ns; /* the least difference seen between two readings */
	double reading_ns;	/* one call of clock_now_ns() */
	double stamp_ns;	/* one entry of a time stamp, beside the readings */
};

#endif
