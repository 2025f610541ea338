/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extended attributes of one file, and ACLs, which are two of them; and what a file is to have.
 * Private to meta*.c. Any thread.
 */
#ifndef COPY_TREE_META_ATTRS_H
#define COPY_TREE_META_ATTRS_H

#include "copy/tree/meta.h"

/* A file that has attributes: by descriptor, or by a path whose last component is not followed. */
struct attr_file {
	int fd; /* -1: by path */
	char path[32 + COPY_MAX_NAME_BYTES];
};

struct attr_file attr_file_fd(int fd);
struct attr_file attr_file_link(int dir_fd, const char *name);

/* True if attributes of this name are copied. */
bool attr_is_copied(const char *name);
bool attr_is_acl(const char *name);
/* True if the owner of a file may set it. */
bool attr_is_of_user(const char *name);

/* All that are copied. Returns 0 or -errno, -E2BIG beyond the limits of messages. */
int attr_read(const struct attr_file *f, struct meta_set *set);

/* Returns 0 or -errno. */
int attr_set(const struct attr_file *f, const struct copy_attr *a);
int attr_remove(const struct attr_file *f, const char *name);

/* Entry `i` of an ACL with the number of a user or group. False: there are no more. */
struct attr_acl_id {
	size_t offset; /* of the number in the value */
	uint32_t id;
	bool group;
};
bool attr_acl_next(const struct copy_attr *a, size_t *at, struct attr_acl_id *id);

/*
 * Attribute `a` with the numbers of this host: an ACL in `*memory`, which the caller frees, others
 * as they are. Returns 0 or -ENOMEM.
 */
int attr_mapped(const struct copy_attr *a, const struct meta_owners *owners,
		struct copy_attr *mapped, void **memory);

/* The attribute of this name, or NULL. */
const struct copy_attr *attr_find(const struct copy_attr *attrs, size_t n, const char *name);

/*
 * Permissions until the ACL of the entry is set: the bits of the group in `mode` are its mask, and
 * may be more than the group has.
 */
mode_t attr_mode_before_acl(mode_t mode, const struct copy_entry *e);

#endif
