/*
 * Attributes of replaced files; see the header. Called by newfile.c.
 */
#include "base/fileattr.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "xdd/base/fileopen.h"

#define ACL "system.posix_acl_access"
#define LABEL "security.selinux"
#define USER "user."

/* The kernel's limit for a value and for a list of names. */
#define XATTR_BYTES 65536

static bool has_xattr(const char *path, const char *name)
{
	return lgetxattr(path, name, NULL, 0) > 0;
}

static bool copy_xattr(int fd, const char *path, const char *name)
{
	char *value = malloc(XATTR_BYTES);
	ssize_t size = value ? lgetxattr(path, name, value, XATTR_BYTES) : -1;
	bool copied = size >= 0 && fsetxattr(fd, name, value, (size_t)size, 0) == 0;

	free(value);
	return copied;
}

static void copy_xattrs(int fd, const char *path)
{
	char *names = malloc(XATTR_BYTES);
	ssize_t size = names ? llistxattr(path, names, XATTR_BYTES) : 0;

	for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1) {
		const char *name = names + at;

		if (strncmp(name, USER, strlen(USER)) == 0 || strcmp(name, LABEL) == 0)
			copy_xattr(fd, path, name);
	}
	free(names);
}

/* Returns true if the new file has the group of the old one. */
static bool keep_owner(int fd, const struct stat *old)
{
	struct stat st;

	if (fchown(fd, old->st_uid, old->st_gid) && fchown(fd, (uid_t)-1, old->st_gid))
		return fstat(fd, &st) == 0 && st.st_gid == old->st_gid;
	return true;
}

bool fileattr_keep(int fd, const char *path)
{
	struct stat old;
	mode_t mode;
	bool group, acl;

	if (lstat(path, &old) || !S_ISREG(old.st_mode) || fileopen_is_planted(path))
		return false;
	/*
	 * Remove the ACL that the directory has given to the new file: it would change the meaning
	 * of the bits.
	 */
	fremovexattr(fd, ACL);
	group = keep_owner(fd, &old);
	acl = has_xattr(path, ACL);
	mode = old.st_mode & 0777;
	/*
	 * Another group gets the rights of others at most. With an ACL the bits of the group are
	 * its mask.
	 */
	if (!group)
		mode = (mode & ~070u) | (mode & (mode & 07) << 3);
	else if (acl)
		mode &= ~070u;
	fchmod(fd, mode);
	if (group && acl)
		copy_xattr(fd, path, ACL);
	copy_xattrs(fd, path);
	return true;
}
