/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attributes of files at the destination; see the header. Called by threads that complete files
 * and directories, and, for comparisons, where the destination finds files, and by -k.
 *
 * Users and groups of two hosts are known by their names: those that the source tells, and the
 * numbers that they have at the destination.
 */
#include "copy/tree/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "xdd/base/random.h"
#include "xdd/base/sets.h"
#include "xdd/base/text.h"

#define NS 1000000000
#define NO_ID UINT32_MAX /* for chown(2): leave it */

/* ---- owner and permissions ---- */

/*
 * -P: the permissions that a file with the status `st` is to have here. A program does not run as
 * another user than at the source. Directories keep these bits.
 */
static mode_t meta_wanted_mode(const struct stat *st, const struct copy_entry *e,
			       const struct meta_owners *owners)
{
	mode_t mode = e->mode & 07777;

	if (S_ISDIR(st->st_mode))
		return mode;
	if (mode & S_ISUID && st->st_uid != meta_uid(owners, e->uid))
		mode &= ~(mode_t)S_ISUID;
	if (mode & S_ISGID && st->st_gid != meta_gid(owners, e->gid))
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
	uid_t uid = meta_uid(owners, e->uid);
	gid_t gid = meta_gid(owners, e->gid);
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

static bool attr_same_value(const struct copy_attr *a, const struct copy_attr *b)
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

static struct timespec meta_timespec(int64_t ns)
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
 * The owner of a link, by a descriptor: another user may have replaced the name by one of a file,
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
static void *meta_put(char **at, const void *from, size_t n)
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
	copy->name = e->name ? meta_put(&at, e->name, string_bytes(e->name)) : NULL;
	copy->target = e->target ? meta_put(&at, e->target, string_bytes(e->target)) : NULL;
	for (size_t i = 0; i < e->n_attrs; i++) {
		const struct copy_attr *a = &e->attrs[i];

		attrs[i].size = a->size;
		attrs[i].name = meta_put(&at, a->name, string_bytes(a->name));
		attrs[i].value = meta_put(&at, a->value, a->size);
	}
	return copy;
}

#define CUT "; and others"
#define TIME_BYTES 64

/* Differences so far. */
struct differences {
	size_t n;
	char *text; /* NULL: they are only counted */
	size_t room, length;
	bool cut;
	bool settable; /* only what the owner of a file may change */
};

static void __attribute__((format(printf, 2, 3))) note(struct differences *d, const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	d->n++;
	if (!d->text || d->cut)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	printable_mask(line);
	n = snprintf(d->text + d->length, d->room - d->length, "%s%s", d->length ? "; " : "", line);
	if (d->length + (size_t)n + sizeof(CUT) <= d->room) {
		d->length += (size_t)n;
		return;
	}
	d->cut = true;
	snprintf(d->text + d->length, d->room - d->length, "%s", CUT);
}

bool meta_same_time(const struct timespec *t, int64_t ns)
{
	const struct timespec other = meta_timespec(ns);

	return t->tv_sec == other.tv_sec && (!t->tv_nsec || t->tv_nsec == other.tv_nsec);
}

/* "2001-09-09 01:46:40.000000000 UTC" */
static void put_time(const struct timespec *t, char text[TIME_BYTES])
{
	char day[TIME_BYTES / 2];
	struct tm tm;

	if (!gmtime_r(&t->tv_sec, &tm) || !strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(day, sizeof(day), "%lld", (long long)t->tv_sec);
	snprintf(text, TIME_BYTES, "%s.%09ld UTC", day, t->tv_nsec);
}

static void compare_times(struct differences *d, const struct stat *st, const struct copy_entry *e)
{
	const struct timespec wanted = meta_timespec(e->mtime_ns);
	char is[TIME_BYTES], is_not[TIME_BYTES];

	if (meta_same_time(&st->st_mtim, e->mtime_ns))
		return;
	put_time(&st->st_mtim, is);
	put_time(&wanted, is_not);
	note(d, "modification time is %s, not %s", is, is_not);
}

static void compare_owners(struct differences *d, const struct stat *st, const struct copy_entry *e,
			   const struct meta_owners *owners)
{
	const uid_t uid = meta_uid(owners, e->uid);
	const gid_t gid = meta_gid(owners, e->gid);

	if (d->settable)
		return;
	if (st->st_uid != uid)
		note(d, "owner is %u, not %u", st->st_uid, uid);
	if (st->st_gid != gid)
		note(d, "group is %u, not %u", st->st_gid, gid);
}

/* One attribute beside the value that `a` would give it. */
static void compare_attr(struct differences *d, const struct meta_set *now,
			 const struct copy_attr *a, const struct meta_owners *owners)
{
	const struct copy_attr *old = attr_find(now->attrs, now->n, a->name);
	struct copy_attr mapped;
	void *memory;

	if (!old) {
		note(d, "attribute %s is missing", a->name);
	} else if (attr_mapped(a, owners, &mapped, &memory)) {
		note(d, "attribute %s cannot be compared", a->name);
	} else {
		if (!attr_same_value(old, &mapped))
			note(d, "attribute %s differs", a->name);
		free(memory);
	}
}

static bool is_compared(const struct differences *d, const char *name)
{
	return !d->settable || attr_is_of_user(name);
}

static void compare_attrs(struct differences *d, const struct meta_file *f,
			  const struct copy_entry *e, const struct meta_owners *owners)
{
	struct meta_set now;
	int err;

	err = meta_read(f->fd, f->dir_fd, f->name, &now);
	if (err) {
		note(d, "attributes cannot be read (%s)", strerror(-err));
		return;
	}
	for (size_t i = 0; i < e->n_attrs; i++) {
		if (attr_is_copied(e->attrs[i].name) && is_compared(d, e->attrs[i].name))
			compare_attr(d, &now, &e->attrs[i], owners);
	}
	for (size_t i = 0; i < now.n; i++) {
		if (is_compared(d, now.attrs[i].name) &&
		    !attr_find(e->attrs, e->n_attrs, now.attrs[i].name))
			note(d, "attribute %s is not at the source", now.attrs[i].name);
	}
	meta_set_free(&now);
}

static void meta_compare_compare(struct differences *d, const struct meta_file *f,
				 const struct copy_entry *e, const struct meta_owners *owners)
{
	const struct stat *st = f->st;

	if (owners && !S_ISLNK(st->st_mode)) {
		mode_t mode = meta_wanted_mode(st, e, owners);

		if ((st->st_mode & 07777) != mode)
			note(d, "permissions are %04o, not %04o", st->st_mode & 07777, mode);
	}
	if (owners)
		compare_owners(d, st, e, owners);
	compare_times(d, st, e);
	if (owners && (f->fd >= 0 || f->name))
		compare_attrs(d, f, e, owners);
}

bool meta_same(const struct meta_file *f, const struct copy_entry *e,
	       const struct meta_owners *owners)
{
	struct differences d = { .text = NULL };

	meta_compare_compare(&d, f, e, owners);
	return !d.n;
}

bool meta_same_settable(const struct meta_file *f, const struct copy_entry *e,
			const struct meta_owners *owners)
{
	struct differences d = { .settable = geteuid() };

	meta_compare_compare(&d, f, e, owners);
	return !d.n;
}

size_t meta_differences(const struct meta_file *f, const struct copy_entry *e,
			const struct meta_owners *owners, char *text, size_t size)
{
	struct differences d = { .text = text, .room = size, .length = strlen(text) };

	meta_compare_compare(&d, f, e, owners);
	return d.n;
}

#define MAX_IDS 65536
#define LOOKUP_BYTES 65536 /* a group may have many members */

/* ---- numbers ---- */

/* A user or group of the source, in a map by id_key(). */
struct id_number {
	struct idmap_link link;
	uint32_t here; /* the number of this host */
};

/* Keys differ, and are spread whatever numbers the other side chooses. */
static uint64_t id_key(uint32_t id, bool group)
{
	return random_splitmix64(2 * (uint64_t)id + group);
}

static struct id_number *ids_find(const struct idmap *ids, uint32_t id, bool group)
{
	return IDMAP_STRUCT(idmap_find(ids, id_key(id, group)), struct id_number);
}

/* Returns 0, also for those beyond the limit, or -ENOMEM. */
static int ids_put(struct idmap *ids, uint32_t id, bool group, uint32_t here)
{
	struct id_number *n = ids_find(ids, id, group);

	if (!n && ids->n >= MAX_IDS)
		return 0;
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			return -ENOMEM;
		n->link.id = id_key(id, group);
		idmap_add(ids, &n->link);
	}
	n->here = here;
	return 0;
}

static void ids_free(struct idmap *ids)
{
	struct idmap_link *next;

	for (struct idmap_link *l = idmap_next(ids, NULL); l; l = next) {
		next = idmap_next(ids, l);
		free(IDMAP_STRUCT(l, struct id_number));
	}
	idmap_free(ids);
}

/* ---- source ---- */

struct meta_names {
	struct idmap known;
	bool has_last;
	uint32_t last_uid, last_gid; /* of the entry before */
	char buffer[LOOKUP_BYTES];
};

struct meta_names *meta_names_new(void)
{
	struct meta_names *k = calloc(1, sizeof(*k));

	if (k && idmap_init(&k->known)) {
		free(k);
		return NULL;
	}
	return k;
}

void meta_names_free(struct meta_names *k)
{
	if (k)
		ids_free(&k->known);
	free(k);
}

static const char *user_name(struct meta_names *k, uint32_t uid)
{
	struct passwd user, *found = NULL;

	getpwuid_r(uid, &user, k->buffer, sizeof(k->buffer), &found);
	return found ? found->pw_name : NULL;
}

static const char *group_name(struct meta_names *k, uint32_t gid)
{
	struct group group, *found = NULL;

	getgrgid_r(gid, &group, k->buffer, sizeof(k->buffer), &found);
	return found ? found->gr_name : NULL;
}

/* True if the number is new and has a name that can be sent. */
static bool is_news(struct meta_names *k, uint32_t id, bool group, struct copy_entry *owner)
{
	const char *name;

	if (ids_find(&k->known, id, group) || ids_put(&k->known, id, group, 0) ||
	    !ids_find(&k->known, id, group))
		return false;
	name = group ? group_name(k, id) : user_name(k, id);
	if (!name || !copy_is_name(name) || strlen(name) >= COPY_MAX_NAME_BYTES)
		return false;
	*owner = (struct copy_entry){ .kind = COPY_OWNER, .name = name, .group = group };
	if (group)
		owner->gid = id;
	else
		owner->uid = id;
	return true;
}

static bool is_news_in_acl(struct meta_names *k, const struct copy_attr *a,
			   struct copy_entry *owner)
{
	struct attr_acl_id id;

	for (size_t at = 0; attr_acl_next(a, &at, &id);) {
		if (is_news(k, id.id, id.group, owner))
			return true;
	}
	return false;
}

bool meta_owner_before(struct meta_names *k, const struct copy_entry *e, struct copy_entry *owner)
{
	if (e->kind != COPY_DIR && e->kind != COPY_FILE && e->kind != COPY_SYMLINK)
		return false;
	if (!k->has_last || k->last_uid != e->uid || k->last_gid != e->gid) {
		if (is_news(k, e->uid, false, owner) || is_news(k, e->gid, true, owner))
			return true;
		k->has_last = true;
		k->last_uid = e->uid;
		k->last_gid = e->gid;
	}
	for (size_t i = 0; i < e->n_attrs; i++) {
		if (is_news_in_acl(k, &e->attrs[i], owner))
			return true;
	}
	return false;
}

/* ---- destination ---- */

struct meta_owners {
	pthread_mutex_t lock;
	struct idmap ids;	   /* guarded by lock: those whose number differs here */
	char buffer[LOOKUP_BYTES]; /* of the writer */
};

struct meta_owners *meta_owners_new(void)
{
	struct meta_owners *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	if (idmap_init(&o->ids)) {
		free(o);
		return NULL;
	}
	pthread_mutex_init(&o->lock, NULL);
	return o;
}

void meta_owners_free(struct meta_owners *o)
{
	if (!o)
		return;
	pthread_mutex_destroy(&o->lock);
	ids_free(&o->ids);
	free(o);
}

int meta_owners_add(struct meta_owners *o, const struct copy_entry *e)
{
	uint32_t there = e->group ? e->gid : e->uid, here = there;
	struct passwd user, *found_user = NULL;
	struct group group, *found_group = NULL;
	int err;

	if (e->group)
		getgrnam_r(e->name, &group, o->buffer, sizeof(o->buffer), &found_group);
	else
		getpwnam_r(e->name, &user, o->buffer, sizeof(o->buffer), &found_user);
	if (found_group)
		here = found_group->gr_gid;
	if (found_user)
		here = found_user->pw_uid;
	if (here == there)
		return 0;
	pthread_mutex_lock(&o->lock);
	err = ids_put(&o->ids, there, e->group, here);
	pthread_mutex_unlock(&o->lock);
	return err;
}

static uint32_t here(const struct meta_owners *o, uint32_t id, bool group)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&o->lock;
	const struct id_number *n;

	pthread_mutex_lock(lock);
	n = ids_find(&o->ids, id, group);
	if (n)
		id = n->here;
	pthread_mutex_unlock(lock);
	return id;
}

uid_t meta_uid(const struct meta_owners *o, uint32_t uid)
{
	return here(o, uid, false);
}

gid_t meta_gid(const struct meta_owners *o, uint32_t gid)
{
	return here(o, gid, true);
}
