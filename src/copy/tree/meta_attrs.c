/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extended attributes. Called by meta.c.
 */
#include "copy/tree/meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "xdd/base/codec.h"

#define ACL_ACCESS "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"
#define CAPABILITY "security.capability"

#define MANY_NAMES_BYTES 65536 /* the kernel's limit */
#define FEW_NAMES_BYTES 1024
#define MAX_TRIES 4 /* attributes change while they are read */

/* The value of an ACL: a head with the version, and entries of a tag, permissions, and a number. */
#define ACL_HEAD_BYTES 4
#define ACL_ENTRY_BYTES 8
#define ACL_ID_OFFSET 4
#define ACL_RIGHTS_OFFSET 2
#define ACL_TAG_OWNER 0x01
#define ACL_TAG_USER 0x02
#define ACL_TAG_OWNERS_GROUP 0x04
#define ACL_TAG_GROUP 0x08
#define ACL_TAG_MASK 0x10
#define ACL_TAG_OTHERS 0x20
#define MAX_ACL_BYTES 65536

struct attr_file attr_file_fd(int fd)
{
	return (struct attr_file){ .fd = fd };
}

struct attr_file attr_file_link(int dir_fd, const char *name)
{
	struct attr_file f = { .fd = -1 };

	snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d/%s", dir_fd, name);
	return f;
}

/* Attributes of file systems themselves: copied, they would prevent the defaults of another one. */
static bool belongs_to_file_system(const char *name)
{
	static const char *const prefixes[] = {
		"trusted.lov",	      "trusted.lma",	  "trusted.lmv",  "trusted.link",
		"trusted.fid",	      "trusted.som",	  "trusted.hsm",  "trusted.version",
		"trusted.dmv",	      "trusted.overlay.", "trusted.afr.", "trusted.gfid",
		"trusted.glusterfs.", "trusted.SGI_ACL_",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

bool attr_is_acl(const char *name)
{
	return strcmp(name, ACL_ACCESS) == 0 || strcmp(name, ACL_DEFAULT) == 0;
}

bool attr_is_of_user(const char *name)
{
	return strncmp(name, "user.", 5) == 0;
}

bool attr_is_copied(const char *name)
{
	if (strncmp(name, "trusted.", 8) == 0)
		return !belongs_to_file_system(name);
	return attr_is_of_user(name) || attr_is_acl(name) || strcmp(name, CAPABILITY) == 0;
}

/* ---- reading ---- */

static ssize_t list_names(const struct attr_file *f, char *names, size_t size)
{
	ssize_t n = f->fd >= 0 ? flistxattr(f->fd, names, size) : llistxattr(f->path, names, size);

	return n < 0 ? -errno : n;
}

static ssize_t get_value(const struct attr_file *f, const char *name, void *value, size_t size)
{
	ssize_t n = f->fd >= 0 ? fgetxattr(f->fd, name, value, size) :
				 lgetxattr(f->path, name, value, size);

	return n < 0 ? -errno : n;
}

/* Count attributes and their bytes, with names. Returns 0 or -errno. */
static int measure(const struct attr_file *f, const char *names, size_t length, size_t *n,
		   size_t *bytes)
{
	*n = *bytes = 0;
	for (const char *name = names; name < names + length; name += strlen(name) + 1) {
		ssize_t size;

		if (!attr_is_copied(name))
			continue;
		size = get_value(f, name, NULL, 0);
		if (size == -ENODATA)
			continue;
		if (size < 0)
			return (int)size;
		(*n)++;
		*bytes += strlen(name) + 1 + (size_t)size;
	}
	return *n > COPY_MAX_ATTRS || *bytes > COPY_MAX_ATTRS_BYTES ? -E2BIG : 0;
}

/* Read what was measured. -ERANGE: there is more now. */
static int read_values(const struct attr_file *f, const char *names, size_t length, size_t n,
		       size_t bytes, struct meta_set *set)
{
	char *at = set->memory, *end = at + bytes;

	for (const char *name = names; name < names + length; name += strlen(name) + 1) {
		size_t name_bytes = strlen(name) + 1;
		ssize_t size;

		if (!attr_is_copied(name))
			continue;
		if (set->n == n || name_bytes > (size_t)(end - at))
			return -ERANGE;
		/* Where none is left, a size of 0 asks for the size. */
		size = get_value(f, name, at + name_bytes, (size_t)(end - at) - name_bytes);
		if (size == -ENODATA)
			continue;
		if (size < 0)
			return (int)size;
		if ((size_t)size > (size_t)(end - at) - name_bytes)
			return -ERANGE;
		memcpy(at, name, name_bytes);
		set->attrs[set->n++] = (struct copy_attr){ .name = at,
							   .value = (uint8_t *)at + name_bytes,
							   .size = (size_t)size };
		at += name_bytes + (size_t)size;
	}
	return 0;
}

static int read_named(const struct attr_file *f, const char *names, size_t length,
		      struct meta_set *set)
{
	size_t n, bytes;
	int err = measure(f, names, length, &n, &bytes);

	if (err || !n)
		return err;
	set->attrs = malloc(n * sizeof(*set->attrs));
	set->memory = malloc(bytes);
	err = set->attrs && set->memory ? read_values(f, names, length, n, bytes, set) : -ENOMEM;
	if (err)
		meta_set_free(set);
	return err;
}

static int read_once(const struct attr_file *f, struct meta_set *set)
{
	char few[FEW_NAMES_BYTES], *names = few;
	ssize_t length = list_names(f, few, sizeof(few));
	int err = 0;

	if (length == -ERANGE) {
		names = malloc(MANY_NAMES_BYTES);
		if (!names)
			return -ENOMEM;
		length = list_names(f, names, MANY_NAMES_BYTES);
	}
	if (length > 0)
		err = read_named(f, names, (size_t)length, set);
	else if (length < 0)
		err = length == -EOPNOTSUPP || length == -ENOSYS ? 0 : (int)length;
	if (names != few)
		free(names);
	return err;
}

int attr_read(const struct attr_file *f, struct meta_set *set)
{
	int err = -ERANGE;

	for (int i = 0; i < MAX_TRIES && err == -ERANGE; i++) {
		*set = (struct meta_set){ .n = 0 };
		err = read_once(f, set);
	}
	return err;
}

void meta_set_free(struct meta_set *set)
{
	free(set->attrs);
	free(set->memory);
	*set = (struct meta_set){ .n = 0 };
}

int meta_read(int fd, int dir_fd, const char *name, struct meta_set *set)
{
	struct attr_file f = fd >= 0 ? attr_file_fd(fd) : attr_file_link(dir_fd, name);
	int err = attr_read(&f, set);

	if (err == -EBADF && fd >= 0) { /* a directory that may only be searched */
		f = attr_file_link(fd, ".");
		err = attr_read(&f, set);
	}
	return err;
}

/* ---- writing ---- */

int attr_set(const struct attr_file *f, const struct copy_attr *a)
{
	int err = f->fd >= 0 ? fsetxattr(f->fd, a->name, a->value, a->size, 0) :
			       lsetxattr(f->path, a->name, a->value, a->size, 0);

	return err ? -errno : 0;
}

int attr_remove(const struct attr_file *f, const char *name)
{
	int err = f->fd >= 0 ? fremovexattr(f->fd, name) : lremovexattr(f->path, name);

	return err && errno != ENODATA ? -errno : 0;
}

/* ---- ACLs ---- */

bool attr_acl_next(const struct copy_attr *a, size_t *at, struct attr_acl_id *id)
{
	if (!attr_is_acl(a->name))
		return false;
	if (!*at)
		*at = ACL_HEAD_BYTES;
	for (; *at + ACL_ENTRY_BYTES <= a->size; *at += ACL_ENTRY_BYTES) {
		uint64_t tag = bytes_get(a->value + *at, 2);

		if (tag != ACL_TAG_USER && tag != ACL_TAG_GROUP)
			continue;
		id->offset = *at + ACL_ID_OFFSET;
		id->id = (uint32_t)bytes_get(a->value + id->offset, 4);
		id->group = tag == ACL_TAG_GROUP;
		*at += ACL_ENTRY_BYTES;
		return true;
	}
	return false;
}

int attr_mapped(const struct copy_attr *a, const struct meta_owners *owners,
		struct copy_attr *mapped, void **memory)
{
	struct attr_acl_id id;
	uint8_t *buf;

	*memory = NULL;
	*mapped = *a;
	if (!attr_is_acl(a->name))
		return 0;
	buf = malloc(a->size + 1);
	if (!buf)
		return -ENOMEM;
	memcpy(buf, a->value, a->size);
	for (size_t at = 0; attr_acl_next(a, &at, &id);)
		bytes_put(buf + id.offset, 4,
			  id.group ? meta_gid(owners, id.id) : meta_uid(owners, id.id));
	mapped->value = buf;
	*memory = buf;
	return 0;
}

/* Permissions in an ACL. */
struct acl_rights {
	mode_t owner, group, mask, others; /* 0 to 7 */
	bool has_mask;
};

static struct acl_rights acl_rights(const uint8_t *acl, size_t size)
{
	struct acl_rights r = { .mask = 07 }; /* without one nothing is bounded */

	for (size_t at = ACL_HEAD_BYTES; at + ACL_ENTRY_BYTES <= size; at += ACL_ENTRY_BYTES) {
		mode_t rights = (mode_t)bytes_get(acl + at + ACL_RIGHTS_OFFSET, 2) & 07;

		switch (bytes_get(acl + at, 2)) {
		case ACL_TAG_OWNER:
			r.owner = rights;
			break;
		case ACL_TAG_OWNERS_GROUP:
			r.group = rights;
			break;
		case ACL_TAG_MASK:
			r.mask = rights;
			r.has_mask = true;
			break;
		case ACL_TAG_OTHERS:
			r.others = rights;
			break;
		default:
			break;
		}
	}
	return r;
}

/* The most that the owner, the group and others may do: the mask stands for the group. */
static mode_t acl_mode(const uint8_t *acl, size_t size)
{
	const struct acl_rights r = acl_rights(acl, size);

	return r.owner << 6 | (r.has_mask ? r.mask : r.group) << 3 | r.others;
}

mode_t attr_mode_before_acl(mode_t mode, const struct copy_entry *e)
{
	const struct copy_attr *a = attr_find(e->attrs, e->n_attrs, ACL_ACCESS);
	struct acl_rights r;

	if (!a)
		return mode;
	r = acl_rights(a->value, a->size);
	return (mode & ~(mode_t)S_IRWXG) | (mode & (r.group & r.mask) << 3);
}

mode_t meta_creation_mask(int dir_fd, mode_t usual)
{
	struct attr_file f = attr_file_fd(dir_fd);
	uint8_t few[FEW_NAMES_BYTES], *acl = few, *more = NULL;
	ssize_t n = get_value(&f, ACL_DEFAULT, acl, sizeof(few));

	if (n == -EBADF) {
		f = attr_file_link(dir_fd, ".");
		n = get_value(&f, ACL_DEFAULT, acl, sizeof(few));
	}
	if (n == -ERANGE) {
		more = malloc(MAX_ACL_BYTES);
		acl = more;
		n = more ? get_value(&f, ACL_DEFAULT, acl, MAX_ACL_BYTES) : -ENOMEM;
	}
	if (n > 0)
		usual = acl_mode(acl, (size_t)n);
	free(more);
	return usual;
}

int meta_keep_acl(int fd, int dir_fd, const char *name)
{
	struct attr_file old = attr_file_link(dir_fd, name), f = attr_file_fd(fd);
	uint8_t *acl = malloc(MAX_ACL_BYTES);
	struct copy_attr a = { .name = ACL_ACCESS, .value = acl };
	ssize_t n = acl ? get_value(&old, ACL_ACCESS, acl, MAX_ACL_BYTES) : -ENOMEM;
	int err = (int)n;

	if (n >= 0) {
		a.size = (size_t)n;
		err = attr_set(&f, &a);
	} else if (n == -ENODATA) {
		err = attr_remove(&f, ACL_ACCESS);
	}
	free(acl);
	return err == -EOPNOTSUPP || err == -ENOENT ? 0 : err;
}
