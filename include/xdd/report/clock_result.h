/*
 * The global clock of a run and its start by that clock, as the run hands them to the writers.
 *
 * Global time is in nanoseconds since 1970. Without a time server it is the machine's wall clock,
 * whose error is not known.
 */
#ifndef XDD_REPORT_CLOCK_RESULT_H
#define XDD_REPORT_CLOCK_RESULT_H

#include <stdbool.h>
#include <stdint.h>

struct report;

struct clock_result {
	const char *server; /* "host:port", borrowed; NULL: none, and what follows is all 0 */
	bool ranks;	    /* -mpi: it is the clock of rank 0, and `server` its host */
	int64_t offset_ns;  /* global clock minus the wall clock of this machine */
	int64_t local_ns;   /* global clock minus clock_now_ns(), when the first pass began */
	uint64_t bound_ns;  /* the offset is true within this, when the first pass began */
	uint64_t bound_at_end_ns;
	bool drift_known;
	double drift_ppm;	/* how much faster than the clock of this machine the server's is */
	uint64_t round_trip_ns; /* the smallest */
	unsigned exchanges, lost;
	unsigned steps; /* times that the server's clock stepped or the server was another */
};

struct start_result {
	uint64_t requested_ns; /* -starttime, of the global clock; 0: none */
	uint64_t achieved_ns;  /* first operation, without the delays that the user asked for */
	bool bound_known;
	uint64_t bound_ns; /* `achieved_ns` is true within this */
};

/* The document of -jsonout. The thread that has the report, at most once in a run each. */
void report_clock(struct report *r, const struct clock_result *clock);

/* The document; a line with -verbose, and where a start was requested. */
void report_start(struct report *r, const struct start_result *start);

#endif
