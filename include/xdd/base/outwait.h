/*
 * Writing to outputs whose reader may stall: pipes, terminals and sockets. A regular file is
 * written to at once.
 *
 * A write waits for room as long as the reader takes, until a signal asks the run to end: from then
 * on an output that accepts nothing for OUTWAIT_GRACE_NS is cut, and the rest of its data is
 * dropped. Any thread.
 */
#ifndef XDD_BASE_OUTWAIT_H
#define XDD_BASE_OUTWAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/base/nstime.h"
#include "xdd/base/units.h"

#define OUTWAIT_GRACE_NS (3 * NS_PER_SEC / 2)

/*
 * Write all `size` bytes. Returns how many were written before `*err` happened: a positive errno,
 * ECANCELED when the output was cut, 0: none.
 */
size_t outwait_write(int fd, const char *data, size_t size, int *err);

/*
 * A stream that writes by outwait_write() and closes `fd`, which it owns from here on. NULL with
 * errno on failure.
 */
FILE *outwait_stream(int fd);

/* The run is to end: from now on outputs that accept nothing are cut. */
void outwait_end(void);

/* True if the run is to end. */
bool outwait_is_ending(void);

/* True if an output was cut because the run is to end. */
bool outwait_was_cut(void);

/*
 * Limit the waits of the calling thread: until clock_kernel_ns() reaches `deadline_ns`. Data
 * without room by then is dropped.
 */
void outwait_limit(uint64_t deadline_ns);

#endif
