/*
 * Tells whether both sides of a copy have the same file: they may be two processes of one host,
 * also where ssh is between them. Pure functions, except identity_host(); any thread.
 */
#ifndef COPY_TREE_IDENTITY_H
#define COPY_TREE_IDENTITY_H

#include <stdint.h>
#include <sys/stat.h>

/* A number of this host until its next start; 0: it is not known. Reads a file of /proc. */
uint64_t identity_host(void);

/*
 * A number of the file that `st` describes on the host with the number `host`: the same on both
 * sides if it is one file, whatever its name; a block device is known by its device number. 0: it
 * cannot be told, as for character devices, which may be source and destination.
 */
uint64_t identity_of_file(uint64_t host, const struct stat *st);

/*
 * A number of the contents of the file that `st` describes: of its inode, size and times, also that
 * of its last change of any kind. Another number: the file was changed or replaced. Its device
 * number is no part of it, as that may differ after each mount. 0 for anything but regular files.
 */
uint64_t identity_of_contents(const struct stat *st);

#endif
