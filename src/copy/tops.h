/*
 * The names that a copy may create in its destination directory: those of its sources. Callers:
 * attempt.c, server.c.
 */
#ifndef COPY_TOPS_H
#define COPY_TOPS_H

#include <stddef.h>

#include "copy/link/channel.h"

/*
 * Set the names of `job` from its sources: last components, "" for a source that stands for its
 * contents. With a list any name is possible. Returns 0 or -ENOMEM. copy_tops_free() frees them.
 */
int copy_tops_set(struct copy_job *job);
void copy_tops_free(struct copy_job *job);

#endif
