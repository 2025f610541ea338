/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attributes of files besides their contents: permissions, times, and with -P owners, ACLs and
 * extended attributes. Any thread, except where stated.
 */
#ifndef COPY_TREE_META_H
#define COPY_TREE_META_H

#include <sys/stat.h>

#include "copy/message/message.h"

/* ---- source ---- */

/*
 * Read the attributes of an open file, or of `name` in `dir_fd` (a symbolic link; then `fd` is -1)
 * into `*set`. ACLs come as system.posix_acl_access and _default; attributes that belong to a file
 * system (lustre.*, trusted.lov and the like), to security modules other than security.capability,
 * and system.* other than ACLs are left out. Returns 0 or -errno; a file system without attributes
 * has none.
 */
struct meta_set {
	struct copy_attr *attrs;
	size_t n;
	void *memory;
};
int meta_read(int fd, int dir_fd, const char *name, struct meta_set *set);
void meta_set_free(struct meta_set *set);

/*
 * Users and groups that the peer knows. meta_owner_before() returns true with an OWNER entry that
 * must be offered before `e`, which has its attributes: for owner and group, and those in ACLs.
 * To be called until it returns false. Strings are valid until the next call. Numbers without
 * a name have no entry. One thread.
 */
struct meta_names;
struct meta_names *meta_names_new(void);
void meta_names_free(struct meta_names *k);
bool meta_owner_before(struct meta_names *k, const struct copy_entry *e, struct copy_entry *owner);

/* ---- destination ---- */

/* Numbers of users and groups of the source as numbers of this host, by their names. One writer. */
struct meta_owners;
struct meta_owners *meta_owners_new(void);
void meta_owners_free(struct meta_owners *o);
/* An OWNER entry. Returns 0 or -ENOMEM; at most 65536 are kept. */
int meta_owners_add(struct meta_owners *o, const struct copy_entry *e);
/* The number here: of the same name; the same number where that has no name here. */
uid_t meta_uid(const struct meta_owners *o, uint32_t uid);
gid_t meta_gid(const struct meta_owners *o, uint32_t gid);

/* The steps of giving attributes, and what failed in each of them. */
enum meta_step {
	META_OWNER,
	META_ATTRS,
	META_MODE,
	META_ACL,
	META_TIMES,
	META_STEPS,
};
struct meta_result {
	int err[META_STEPS]; /* 0, or the first -errno of the step */
	/* Owner or attributes need a right that this user lacks: no failure. Never of root. */
	bool not_set;
};
/* "permissions", "times" ...; static. */
const char *meta_step_name(enum meta_step step);

/*
 * Give an open file or directory the attributes of `e`. With `owners`, which is NULL without -P:
 * owner, extended attributes, and permissions with all bits; a program without its owner gets no
 * set-user-ID bit. Without: the permissions `mode`, unless it is META_KEEP_MODE. Times last. All
 * steps are tried, whatever fails.
 */
#define META_KEEP_MODE ((mode_t)-1)
void meta_apply(int fd, const struct copy_entry *e, mode_t mode, const struct meta_owners *owners,
		struct meta_result *result);

/*
 * Permissions of 0777 that files which are created in a directory may have: the permissions in its
 * default ACL; `usual` (newfile_mask()) where there is none. The descriptor may be one of O_PATH.
 */
mode_t meta_creation_mask(int dir_fd, mode_t usual);

/*
 * The file that replaces the regular file `name` in `dir_fd` gets the access ACL that it has, or
 * none. Returns 0 or -errno.
 */
int meta_keep_acl(int fd, int dir_fd, const char *name);

/* As meta_apply(), for the symbolic link `name` in `dir_fd`; without owners for any file. */
void meta_apply_link(int dir_fd, const char *name, const struct copy_entry *e,
		     const struct meta_owners *owners, struct meta_result *result);

/*
 * True if a time that a file at the destination has is `ns` of the source. File systems that keep
 * seconds only have it without its fraction.
 */
bool meta_same_time(const struct timespec *t, int64_t ns);

/*
 * An existing file to compare. Attributes belong to `fd`, or, with -1, to the symbolic link
 * `name` in `dir_fd`; with NULL they are not compared.
 */
struct meta_file {
	const struct stat *st;
	int fd, dir_fd;
	const char *name;
};

/*
 * True if it has the attributes of `e`, as far as a copy would set them: without -P, of one that
 * exists, only the times.
 */
bool meta_same(const struct meta_file *f, const struct copy_entry *e,
	       const struct meta_owners *owners);

/* As meta_same(). A user other than root ignores what the owner of a file may not change. */
bool meta_same_settable(const struct meta_file *f, const struct copy_entry *e,
			const struct meta_owners *owners);

/*
 * Append each difference to `text` of `size` bytes, which has one line or is empty: "permissions
 * are 0600, not 0644; owner is 5, not 6". Returns how many there are, shown or not.
 */
size_t meta_differences(const struct meta_file *f, const struct copy_entry *e,
			const struct meta_owners *owners, char *text, size_t size);

/* A copy of an entry with all that it points to, in one piece of memory; free() frees it. */
struct copy_entry *meta_entry_dup(const struct copy_entry *e);

/*
 * Extended attributes of one file, and ACLs, which are two of them; and what a file is to have. For
 * meta.c. Any thread.
 */

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
