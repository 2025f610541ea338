/*
 * A temporary file without a name, for what is too long for memory until it is copied to where it
 * belongs. It disappears with the process, however that ends.
 */
#ifndef XDD_BASE_SPOOL_H
#define XDD_BASE_SPOOL_H

#include <stdio.h>

/*
 * Open one in the directory of `near`, or, where that is NULL, in that of $TMPDIR or /tmp; in
 * memory where files cannot be created there. Returns a stream to write, rewind and read, or NULL
 * with errno. Close it with fclose(). Any thread.
 */
FILE *spool_open(const char *near);

/*
 * Copy all of `spool` to `to`. Returns 0 or -errno of what cannot be read or, as far as it is
 * known before a flush, written.
 */
int spool_copy(FILE *spool, FILE *to);

#endif
