/*
 * The command line of ssh for a server of a copy. For ssh.c.
 */
#ifndef COPY_LINK_SSH_COMMAND_H
#define COPY_LINK_SSH_COMMAND_H

#include <stddef.h>

#include "xdd/copy/copy.h"

struct arena;

/*
 * The words that start a server at `place`, in memory of `arena`; NULL at the end. Returns NULL
 * with a text in `why`: a name that must not be given to ssh, or a path that no shell takes, or no
 * memory. Main thread.
 */
char **ssh_command(struct arena *arena, const struct copy_request *request,
		   const struct copy_place *place, char *why, size_t size);

#endif
