/*
 * Attributes of files at the destination; see the header. Called by threads that complete files and
 * directories, and where existing files are compared.
 */
#include "copy/tree/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/tree/meta_attrs.h"

#define NS 1000000000
#define NO_ID UINT32_MAX /* for chown(2): leave it */

/* ---- owner and permissions ---- */

uid_t meta_wanted_uid(const struct copy_entry *e, const struct meta_owners *owners)
{
	return meta_uid(owners, e->uid);
}

gid_t meta_wanted_gid(const struct copy_entry *e, const struct meta_owners *owners)
{
	return meta_gid(owners, e->gid);
}

/* A program does not run as another user than at the source. Directories keep these bits. */
mode_t meta_wanted_mode(const struct stat *st, const struct copy_entry *e,
			const struct meta_owners *owners)
{
	mode_t mode = e->mode & 07777;

	if (S_ISDIR(st->st_mode))
		return mode;
	if (mode & S_ISUID && st->st_uid != meta_wanted_uid(e, owners))
		mode &= ~(mode_t)S_ISUID;
	if (mode & S_ISGID && st->st_gid != meta_wanted_gid(e, owners))
		mode &= ~(mode_t)S_ISGID;
	return mode;
}

/*
 * A user other than root lacks a right, which is no fault of the copy. Where root cannot do it, the
 * file system cannot, and the user must know.
 */
static bool is_lack(int err)
{
	return geteuid() && (err == -EPERM || err == -EACCES || err == -EINVAL);
}

static int change_owner(int fd, uid_t uid, gid_t gid)
{
	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH) ? -errno : 0;
}

/* `*st` becomes as the file is. EINVAL: unknown in this user namespace. */
static int set_owner(int fd, struct stat *st, const struct copy_entry *e,
		     const struct meta_owners *owners, bool *not_set)
{
	uid_t uid = meta_wanted_uid(e, owners);
	gid_t gid = meta_wanted_gid(e, owners);
	int err, group_err = 0;

	if (uid == NO_ID || gid == NO_ID)
		*not_set = true;
	if (st->st_uid == uid && st->st_gid == gid)
		return 0;
	err = change_owner(fd, uid, gid);
	if (err && st->st_gid != gid)
		group_err = change_owner(fd, NO_ID, gid);
	if (fstat(fd, st))
		return -errno;
	if (!err && (st->st_uid != uid || st->st_gid != gid))
		err = -EPERM; /* some file systems say nothing */
	if (is_lack(err) && (!group_err || is_lack(group_err))) {
		*not_set = true;
		return 0;
	}
	return err;
}

/* ---- extended attributes ---- */

const struct copy_attr *attr_find(const struct copy_attr *attrs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(attrs[i].name, name) == 0)
			return &attrs[i];
	}
	return NULL;
}

bool attr_same_value(const struct copy_attr *a, const struct copy_attr *b)
{
	return a->size == b->size && memcmp(a->value, b->value, a->size) == 0;
}

/* A file that its owner may not write to takes no attributes, not from its owner either. */
static int set_writable(const struct attr_file *f, const struct copy_attr *a)
{
	struct stat st;

	if (f->fd < 0 || fstat(f->fd, &st) || st.st_mode & S_IWUSR ||
	    fchmod(f->fd, (st.st_mode & 07777) | S_IWUSR))
		return -EACCES;
	return a->value ? attr_set(f, a) : attr_remove(f, a->name);
}

/*
 * Set an attribute; without a value, remove it. Attributes of users need no right but the owner's.
 * The first failure stays in `*err`.
 */
static void change_attr(const struct attr_file *f, const struct copy_attr *a, bool *not_set,
			int *err)
{
	int ret = a->value ? attr_set(f, a) : attr_remove(f, a->name);

	if (ret == -EACCES)
		ret = set_writable(f, a);
	if (is_lack(ret) && !attr_is_of_user(a->name))
		*not_set = true;
	else if (!*err)
		*err = ret;
}

static void remove_others(const struct attr_file *f, const struct meta_set *now,
			  const struct copy_entry *e, bool *not_set, int *err)
{
	for (size_t i = 0; i < now->n; i++) {
		struct copy_attr a = { .name = now->attrs[i].name };

		if (!attr_find(e->attrs, e->n_attrs, a.name))
			change_attr(f, &a, not_set, err);
	}
}

/* Those that do not depend on permissions, and those that the file must not have. */
static int set_attrs(const struct attr_file *f, const struct copy_entry *e, bool *not_set)
{
	struct meta_set now;
	int err = attr_read(f, &now);

	/* All are set then, and what is to be removed is not known. */
	if (!err)
		remove_others(f, &now, e, not_set, &err);
	for (size_t i = 0; i < e->n_attrs; i++) {
		const struct copy_attr *a = &e->attrs[i];
		const struct copy_attr *old = attr_find(now.attrs, now.n, a->name);

		if (attr_is_copied(a->name) && !attr_is_acl(a->name) &&
		    !(old && attr_same_value(old, a)))
			change_attr(f, a, not_set, &err);
	}
	meta_set_free(&now);
	return err;
}

/* After the permissions, which would change the mask of an ACL. */
static int set_acls(const struct attr_file *f, const struct copy_entry *e,
		    const struct meta_owners *owners, bool *not_set)
{
	int err = 0;

	for (size_t i = 0; i < e->n_attrs; i++) {
		struct copy_attr a;
		void *memory;
		int ret;

		if (!attr_is_acl(e->attrs[i].name))
			continue;
		ret = attr_mapped(&e->attrs[i], owners, &a, &memory);
		if (!ret)
			change_attr(f, &a, not_set, &err);
		else if (!err)
			err = ret;
		free(memory);
	}
	return err;
}

/* ---- all of them ---- */

struct timespec meta_timespec(int64_t ns)
{
	return (struct timespec){
		.tv_sec = ns / NS - (ns % NS < 0),
		.tv_nsec = (ns % NS + NS) % NS,
	};
}

static void to_times(const struct copy_entry *e, struct timespec times[2])
{
	times[0] = meta_timespec(e->atime_ns);
	times[1] = meta_timespec(e->mtime_ns);
}

static int set_times(int fd, const struct copy_entry *e)
{
	struct timespec times[2];

	to_times(e, times);
	return futimens(fd, times) ? -errno : 0;
}

const char *meta_step_name(enum meta_step step)
{
	static const char *const names[META_STEPS] = {
		[META_OWNER] = "owner",	     [META_ATTRS] = "extended attributes",
		[META_MODE] = "permissions", [META_ACL] = "ACL",
		[META_TIMES] = "times",
	};

	return names[step];
}

/* The owner comes first, as it takes bits from the permissions; an ACL changes them last. */
static void apply_everything(int fd, const struct copy_entry *e, const struct meta_owners *owners,
			     struct meta_result *r)
{
	struct attr_file f = attr_file_fd(fd);
	struct stat st;

	if (fstat(fd, &st)) {
		/* Without its owner no program gets a set-user-ID bit. */
		r->err[META_OWNER] = -errno;
		st = (struct stat){ .st_uid = NO_ID, .st_gid = NO_ID };
	} else {
		r->err[META_OWNER] = set_owner(fd, &st, e, owners, &r->not_set);
	}
	r->err[META_ATTRS] = set_attrs(&f, e, &r->not_set);
	if (fchmod(fd, attr_mode_before_acl(meta_wanted_mode(&st, e, owners), e)))
		r->err[META_MODE] = -errno;
	r->err[META_ACL] = set_acls(&f, e, owners, &r->not_set);
}

void meta_apply(int fd, const struct copy_entry *e, mode_t mode, const struct meta_owners *owners,
		struct meta_result *result)
{
	*result = (struct meta_result){ .not_set = false };
	if (owners)
		apply_everything(fd, e, owners, result);
	else if (mode != META_KEEP_MODE && fchmod(fd, mode))
		result->err[META_MODE] = -errno;
	result->err[META_TIMES] = set_times(fd, e);
}

/*
 * The owner of a link, by a descriptor: another user may have replaced the name by that of a file,
 * which must not get another owner.
 */
static int set_link_owner(int dir_fd, const char *name, const struct copy_entry *e,
			  const struct meta_owners *owners, bool *not_set)
{
	int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISLNK(st.st_mode))
		err = -ESTALE;
	else
		err = set_owner(fd, &st, e, owners, not_set);
	close(fd);
	return err;
}

void meta_apply_link(int dir_fd, const char *name, const struct copy_entry *e,
		     const struct meta_owners *owners, struct meta_result *result)
{
	struct meta_result r = { .not_set = false };
	struct timespec times[2];

	if (owners) {
		struct attr_file f = attr_file_link(dir_fd, name);

		r.err[META_OWNER] = set_link_owner(dir_fd, name, e, owners, &r.not_set);
		r.err[META_ATTRS] = set_attrs(&f, e, &r.not_set);
	}
	to_times(e, times);
	if (utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW))
		r.err[META_TIMES] = -errno;
	*result = r;
}

/* ---- copies of entries ---- */

static size_t string_bytes(const char *s)
{
	return s ? strlen(s) + 1 : 0;
}

/* Copy `n` bytes to `*at`, which moves on. */
static void *put(char **at, const void *from, size_t n)
{
	void *to = *at;

	if (n)
		memcpy(to, from, n);
	*at += n;
	return to;
}

struct copy_entry *meta_entry_dup(const struct copy_entry *e)
{
	size_t bytes = sizeof(*e) + e->n_attrs * sizeof(*e->attrs) + string_bytes(e->name) +
		       string_bytes(e->target);
	struct copy_attr *attrs;
	struct copy_entry *copy;
	char *at;

	for (size_t i = 0; i < e->n_attrs; i++)
		bytes += string_bytes(e->attrs[i].name) + e->attrs[i].size;
	copy = malloc(bytes);
	if (!copy)
		return NULL;
	*copy = *e;
	attrs = (struct copy_attr *)(copy + 1);
	at = (char *)(attrs + e->n_attrs);
	copy->attrs = e->n_attrs ? attrs : NULL;
	copy->name = e->name ? put(&at, e->name, string_bytes(e->name)) : NULL;
	copy->target = e->target ? put(&at, e->target, string_bytes(e->target)) : NULL;
	for (size_t i = 0; i < e->n_attrs; i++) {
		const struct copy_attr *a = &e->attrs[i];

		attrs[i].size = a->size;
		attrs[i].name = put(&at, a->name, string_bytes(a->name));
		attrs[i].value = put(&at, a->value, a->size);
	}
	return copy;
}
