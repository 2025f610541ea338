/*
 * Small files, many in one message.
 */
#ifndef COPY_SOURCE_SMALL_H
#define COPY_SOURCE_SMALL_H

#include "copy/source/open.h"
#include "copy/source/source.h"

/*
 * Send the files of a list, which fit into a bundle, in one or more of them. Returns 0, or -errno
 * of the connection.
 */
int small_answer(struct data_thread *d, struct held_dir *held, struct entry *list);

#endif
