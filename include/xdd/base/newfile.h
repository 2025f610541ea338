/*
 * A file that appears under its name only once it is complete, and nothing of it before: it replaces
 * what was there, and a process that dies leaves nothing behind.
 *
 * One thread at a time.
 */
#ifndef XDD_BASE_NEWFILE_H
#define XDD_BASE_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

struct newfile {
	FILE *stream; /* to write to */
	char *path;
	char *temporary; /* a name in the same folder, ending in six characters that vary */
	bool unnamed;	 /* `temporary` is not there yet */
};

/* Begin. Returns 0 or -errno, after which there is nothing to be ended. */
int newfile_open(struct newfile *f, const char *path);

/*
 * End: give the file its name, unless `err`, the outcome of writing it so far (0 or -errno), is not 0.
 * Returns `err`, or the -errno of what failed here; nothing is left behind then. `f` is done with.
 */
int newfile_close(struct newfile *f, int err);

#endif
