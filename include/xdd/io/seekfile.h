/*
 * Seek lists as files: -seek save, with the histograms of -seek seekhist and disthist.
 * (Reading one, -seek load, is part of building the plan: src/plan/seek_load.h.)
 *
 * Format: doc/seek-files.md.
 */
#ifndef XDD_IO_SEEKFILE_H
#define XDD_IO_SEEKFILE_H

#include <stdio.h>

#include "xdd/plan/plan.h"

/*
 * Where the plan asks for it, write the list of pass 1 of `target` to "<save file>.T<number>.txt",
 * which takes that name once it is complete, and append the histograms asked for; without a save
 * file the histograms go to log_raw(). Locations are in blocks, with the start offset but without
 * the target's and the pass's own offset, so that a loaded list can be moved by those. Returns 0 or
 * -errno; `*path` (may be NULL) is then the file concerned, to be freed by the caller. Called by
 * main before the run.
 */
int seekfile_save(const struct target_plan *target, char **path);

/*
 * Write what such a file has to `f`, wherever the plan wants it. Returns 0 or -errno. Main thread.
 */
int seekfile_write(const struct target_plan *target, FILE *f);

#endif
