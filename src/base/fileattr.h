/*
 * Owner, permissions and attributes of a file that a new one is to replace. No state; any thread.
 */
#ifndef XDD_BASE_FILEATTR_H
#define XDD_BASE_FILEATTR_H

#include <stdbool.h>

/*
 * Give the file `fd`, which is to take the name of the regular file `path`, its owner, group,
 * permissions, ACL, attributes of users (user.*) and SELinux label. Set-ID bits are not kept: they
 * were meant for other contents. Attributes that the caller may not set are unchanged, and then no
 * user gets more rights than the old file gave. Does nothing and returns false when `path` is
 * missing or no regular file, or when another user has put it into a sticky directory that all may
 * write to.
 */
bool fileattr_keep(int fd, const char *path);

#endif
