/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attributes of files: src/copy/tree/meta*.c. As root all of them, as another user those that it
 * may set.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "copy/tree/meta.h"
#include "leftovers.h"
#include "scratch.h"

#define NOBODY 65534
#define ACL "system.posix_acl_access"

static int make(const char *name, mode_t mode)
{
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	return fd;
}

static void apply(int fd, const struct copy_entry *e, const struct meta_owners *o, bool not_set)
{
	struct meta_result r;

	meta_apply(fd, e, e->mode, o, &r);
	for (int step = 0; step < META_STEPS; step++) {
		if (r.err[step])
			fail_msg("%s: %s", meta_step_name(step), strerror(-r.err[step]));
	}
	assert_int_equal(r.not_set, not_set);
}

static struct copy_entry entry(mode_t mode)
{
	return (struct copy_entry){ .kind = COPY_FILE,
				    .name = "file",
				    .mode = mode,
				    .uid = geteuid(),
				    .gid = getegid(),
				    .mtime_ns = 1234567890123456789,
				    .atime_ns = -1 };
}

static bool same(const struct stat *st, int fd, const struct copy_entry *e,
		 const struct meta_owners *o)
{
	struct meta_file f = { .st = st, .fd = fd };

	return meta_same(&f, e, o);
}

static struct stat status(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st;
}

TEST(test_mode_and_times)
{
	static const mode_t modes[] = { 0, 0400, 0644, 0777, 01777 };
	int fd = make("times", 0600);
	struct meta_result r;
	struct stat st;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct copy_entry e = entry(modes[i]);

		apply(fd, &e, NULL, false);
		st = status(fd);
		assert_int_equal(st.st_mode & 07777, modes[i]);
		assert_int_equal(st.st_mtim.tv_sec, 1234567890);
		assert_int_equal(st.st_mtim.tv_nsec, 123456789);
		assert_int_equal(st.st_atim.tv_sec, -1);
		assert_int_equal(st.st_atim.tv_nsec, 999999999);
		assert_true(same(&st, fd, &e, NULL));
		e.mode ^= 010; /* one that exists keeps its mode */
		assert_true(same(&st, fd, &e, NULL));
		meta_apply(fd, &e, META_KEEP_MODE, NULL, &r);
		assert_int_equal(r.err[META_TIMES], 0);
		assert_int_equal(status(fd).st_mode & 07777, modes[i]);
		e.mode ^= 010;
		e.mtime_ns++;
		assert_false(same(&st, fd, &e, NULL));
		st.st_mtim.tv_nsec = 0; /* a file system without fractions */
		assert_true(same(&st, fd, &e, NULL));
		e.mtime_ns += 1000000000;
		assert_false(same(&st, fd, &e, NULL));
	}
	close(fd);
}

/* Seconds before 1970, file systems without fractions, and the ends of the range. */
TEST(test_same_time)
{
	static const struct {
		struct timespec t;
		int64_t ns;
		bool same;
	} rows[] = {
		{ { 0, 0 }, 0, true },
		{ { 1, 5 }, 1000000005, true },
		{ { 1, 0 }, 1000000005, true },
		{ { 1, 5 }, 1000000000, false },
		{ { 1, 6 }, 1000000005, false },
		{ { 2, 5 }, 1000000005, false },
		{ { -1, 0 }, -1, true },
		{ { -1, 999999999 }, -1, true },
		{ { 0, 0 }, -1, false },
		{ { -1, 0 }, -1000000000, true },
		{ { -2, 0 }, -1000000001, true },
		{ { -9223372037, 145224192 }, INT64_MIN, true },
		{ { -9223372037, 0 }, INT64_MIN, true },
		{ { 9223372036, 854775807 }, INT64_MAX, true },
		{ { INT64_MAX, 0 }, INT64_MAX, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(meta_same_time(&rows[i].t, rows[i].ns), rows[i].same);
}

/* A program keeps the bits only if it has the owner of the source. */
TEST(test_set_id)
{
	struct meta_owners *o = meta_owners_new();
	struct copy_entry e = entry(06755), other;
	int fd = make("set-id", 0600), dir;
	struct stat st;

	apply(fd, &e, o, false);
	st = status(fd);
	assert_int_equal(st.st_mode & 07777, 06755);
	assert_true(same(&st, fd, &e, o));
	other = e;
	other.uid++;
	other.gid++;
	if (geteuid() == 0) {
		apply(fd, &other, o, false);
		st = status(fd);
		assert_int_equal(st.st_uid, 1);
		assert_int_equal(st.st_gid, 1);
		assert_int_equal(st.st_mode & 07777, 06755);
		apply(fd, &e, o, false);
		assert_int_equal(fchown(fd, NOBODY, NOBODY), 0);
		assert_int_equal(seteuid(NOBODY), 0);
		apply(fd, &e, o, true);
		assert_int_equal(seteuid(0), 0); /* the group could be set, the owner not */
		assert_int_equal(status(fd).st_mode & 07777, 02755);
	} else {
		apply(fd, &other, o, true);
		assert_int_equal(status(fd).st_mode & 07777, 0755);
	}
	assert_int_equal(mkdir("set-id-dir", 0700), 0);
	dir = open("set-id-dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	apply(dir, &e, o, false);
	assert_int_equal(status(dir).st_mode & 07777, 06755);
	close(dir);
	close(fd);
	meta_owners_free(o);
}

/* Permissions of new files in a directory: the mask, or a default ACL. */
TEST(test_creation_mask)
{
	/* owner rwx, user 5 rw-, group r-x, mask r--, others --x */
	static const uint8_t acl[] = { 2,   0,	 0,   0,    1,	 0,   7,    0,	 255, 255, 255,
				       255, 2,	 0,   6,    0,	 5,   0,    0,	 0,   4,   0,
				       5,   0,	 255, 255,  255, 255, 0x10, 0,	 4,   0,   255,
				       255, 255, 255, 0x20, 0,	 1,   0,    255, 255, 255, 255 };
	int dir, by_path;

	assert_int_equal(mkdir("mask", 0700), 0);
	dir = open("mask", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	by_path = open("mask", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(meta_creation_mask(dir, 0755), 0755);
	assert_int_equal(meta_creation_mask(by_path, 0700), 0700);
	if (!fsetxattr(dir, "system.posix_acl_default", acl, sizeof(acl), 0)) {
		assert_int_equal(meta_creation_mask(dir, 0755), 0741);
		assert_int_equal(meta_creation_mask(by_path, 0755), 0741);
	}
	close(by_path);
	close(dir);
}

TEST(test_owner_names)
{
	struct meta_names *k = meta_names_new();
	struct meta_owners *o = meta_owners_new();
	struct copy_entry e = entry(0644), owner, sent;
	struct passwd *self = getpwuid(geteuid());
	char name[64];
	int n = 0, users = 0;

	while (meta_owner_before(k, &e, &owner)) {
		assert_int_equal(owner.kind, COPY_OWNER);
		if (!owner.group)
			assert_string_equal(owner.name, self->pw_name);
		users += !owner.group;
		assert_true(++n <= 2);
	}
	assert_int_equal(users, self ? 1 : 0);
	assert_false(meta_owner_before(k, &e, &owner));
	e.uid = 4000000000u; /* has no name */
	assert_false(meta_owner_before(k, &e, &owner));
	e.kind = COPY_LEAVE;
	e.uid = 1;
	assert_false(meta_owner_before(k, &e, &owner));

	snprintf(name, sizeof(name), "%s", self ? self->pw_name : "root");
	sent = (struct copy_entry){ .kind = COPY_OWNER, .uid = 77777, .name = name };
	assert_int_equal(meta_uid(o, 77777), 77777);
	assert_int_equal(meta_owners_add(o, &sent), 0);
	assert_int_equal(meta_uid(o, 77777), self ? geteuid() : 0);
	assert_int_equal(meta_gid(o, 77777), 77777);
	sent = (struct copy_entry){
		.kind = COPY_OWNER, .gid = 88888, .name = "root", .group = true
	};
	assert_int_equal(meta_owners_add(o, &sent), 0);
	assert_int_equal(meta_gid(o, 88888), 0);
	sent.name = "a group that is not here";
	sent.gid = 5;
	assert_int_equal(meta_owners_add(o, &sent), 0);
	assert_int_equal(meta_gid(o, 5), 5);
	for (uint32_t i = 0; i < 70000; i++) { /* more than are kept */
		sent = (struct copy_entry){ .uid = 100000 + i, .name = "root" };
		if (i % 64 == 0)
			assert_int_equal(meta_owners_add(o, &sent), 0);
	}
	assert_int_equal(meta_uid(o, 100000), 0);
	meta_names_free(k);
	meta_owners_free(o);
}

/* ---- extended attributes ---- */

static bool has_attributes(int fd)
{
	return fsetxattr(fd, "user.test", "x", 1, 0) == 0 && fremovexattr(fd, "user.test") == 0;
}

/* An ACL with an entry for user `uid`. */
static size_t acl(uint8_t *to, uint32_t uid)
{
	const struct {
		uint16_t tag, rights;
		uint32_t id;
	} entries[] = {
		{ 0x01, 6, UINT32_MAX }, { 0x02, 4, uid },	  { 0x04, 4, UINT32_MAX },
		{ 0x10, 4, UINT32_MAX }, { 0x20, 0, UINT32_MAX },
	};
	const uint32_t version = 2;

	memcpy(to, &version, sizeof(version));
	memcpy(to + sizeof(version), entries, sizeof(entries));
	return sizeof(version) + sizeof(entries);
}

static const struct copy_attr *attr(const struct meta_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++) {
		if (strcmp(set->attrs[i].name, name) == 0)
			return &set->attrs[i];
	}
	return NULL;
}

TEST(test_attributes)
{
	struct leftovers before = leftovers_count();
	struct meta_owners *o = meta_owners_new();
	int from = make("attrs-from", 0600), to = make("attrs-to", 0600);
	struct copy_entry e = entry(0444), *copy;
	struct meta_set set, again;
	uint8_t value[64];
	struct stat st;
	size_t n = acl(value, 77777);

	if (!has_attributes(from)) {
		close(from);
		close(to);
		meta_owners_free(o);
		skip();
	}
	assert_int_equal(meta_read(from, -1, NULL, &set), 0);
	assert_int_equal(set.n, 0);
	fsetxattr(from, "user.empty", "", 0, 0);
	fsetxattr(from, "user.b\xff\n", "value\0too", 9, 0);
	if (geteuid() == 0) {
		fsetxattr(from, "trusted.mine", "1", 1, 0);
		fsetxattr(from, "trusted.lov", "1", 1, 0);
		fsetxattr(from, "security.mine", "1", 1, 0);
	}
	assert_int_equal(fsetxattr(from, ACL, value, n, 0), 0);
	fsetxattr(to, "user.other", "gone", 4, 0);
	assert_int_equal(meta_read(from, -1, NULL, &set), 0);
	assert_int_equal(set.n, geteuid() ? 3 : 4);
	assert_int_equal(attr(&set, "user.empty")->size, 0);
	assert_memory_equal(attr(&set, "user.b\xff\n")->value, "value\0too", 9);
	assert_int_equal(attr(&set, ACL)->size, n);

	e.attrs = set.attrs;
	e.n_attrs = set.n;
	e.mode = status(from).st_mode & 0777;
	copy = meta_entry_dup(&e);
	assert_non_null(copy);
	for (int i = 0; i < 2; i++) { /* new, and where it is so already */
		apply(to, copy, o, false);
		st = status(to);
		assert_int_equal(st.st_mode & 0777, e.mode);
		assert_true(same(&st, to, copy, o));
		assert_int_equal(meta_read(to, -1, NULL, &again), 0);
		assert_int_equal(again.n, set.n);
		assert_memory_equal(attr(&again, ACL)->value, value, n);
		meta_set_free(&again);
	}
	fsetxattr(to, "user.other", "new", 3, 0);
	assert_false(same(&st, to, copy, o));
	assert_true(same(&st, -1, copy, o));
	copy->mode = 0400; /* its owner cannot write, and it has attributes that must go */
	copy->n_attrs = 0;
	assert_int_equal(fchmod(to, 0400), 0);
	apply(to, copy, o, false);
	st = status(to);
	assert_true(same(&st, to, copy, o));
	assert_int_equal(flistxattr(to, NULL, 0), 0);
	free(copy);
	meta_set_free(&set);
	meta_owners_free(o);
	close(from);
	close(to);
	leftovers_assert_none(&before);
}

/* Numbers in an ACL are those of the same names; the source tells the names. */
TEST(test_acl_owners)
{
	struct copy_entry root = { .kind = COPY_OWNER, .uid = 77777, .name = "root" }, owner;
	struct meta_owners *o = meta_owners_new();
	struct meta_names *k = meta_names_new();
	struct copy_entry e = entry(0640);
	uint8_t value[64], mapped[64], now[64];
	size_t n = acl(value, 77777);
	struct copy_attr a = { .name = ACL, .value = value, .size = n };
	int fd = make("acl", 0600), owners = 0;

	if (!has_attributes(fd)) {
		close(fd);
		meta_owners_free(o);
		meta_names_free(k);
		skip();
	}
	e.attrs = &a;
	e.n_attrs = 1;
	meta_owners_add(o, &root);
	apply(fd, &e, o, false);
	acl(mapped, 0);
	assert_int_equal(fgetxattr(fd, ACL, now, sizeof(now)), n);
	assert_memory_equal(now, mapped, n);

	while (meta_owner_before(k, &e, &owner)) /* of the file */
		owners++;
	acl(value, 1);
	assert_true(meta_owner_before(k, &e, &owner));
	assert_string_equal(owner.name, "daemon");
	assert_int_equal(owner.uid, 1);
	assert_false(meta_owner_before(k, &e, &owner));
	a.size = 7; /* no entry, and a name that may not be set: neither is set */
	assert_false(meta_owner_before(k, &e, &owner));
	a = (struct copy_attr){ .name = "security.selinux", .value = value, .size = 1 };
	apply(fd, &e, o, false);
	assert_int_equal(fgetxattr(fd, "security.selinux", now, sizeof(now)), -1);
	close(fd);
	meta_owners_free(o);
	meta_names_free(k);
}

/* A file that replaces another one keeps its ACL; no ACL, no such file or no ACLs there: none. */
TEST(test_keep_acl)
{
	int old = make("acl-old", 0600), fd = make("acl-new", 0600), other;
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint8_t value[64], now[64];
	size_t n = acl(value, 77777);

	if (!has_attributes(fd)) {
		close(dir);
		close(old);
		close(fd);
		skip();
	}
	assert_int_equal(fsetxattr(old, ACL, value, n, 0), 0);
	assert_int_equal(meta_keep_acl(fd, dir, "acl-old"), 0);
	assert_int_equal(fgetxattr(fd, ACL, now, sizeof(now)), n);
	assert_memory_equal(now, value, n);
	assert_int_equal(meta_keep_acl(fd, dir, "acl-missing"), 0);
	other = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(meta_keep_acl(fd, other, "status"), 0);
	close(other);
	assert_int_equal(fgetxattr(fd, ACL, now, sizeof(now)), n); /* as it was */
	other = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	assert_int_equal(meta_keep_acl(other, dir, "acl-old"), 0);
	close(other);
	other = open("acl-new", O_PATH | O_CLOEXEC);
	assert_int_equal(meta_keep_acl(other, dir, "acl-old"), -EBADF);
	close(other);
	assert_int_equal(fremovexattr(old, ACL), 0);
	assert_int_equal(meta_keep_acl(fd, dir, "acl-old"), 0);
	assert_int_equal(fgetxattr(fd, ACL, now, sizeof(now)), -1);
	assert_int_equal(errno, ENODATA);
	assert_int_equal(meta_keep_acl(fd, dir, "acl-old"), 0);
	close(dir);
	close(old);
	close(fd);
}

TEST(test_many_attributes)
{
	int fd = make("many", 0600);
	struct meta_set set;
	char name[256];
	int made = 0;

	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "user.%0200d", i);
		if (fsetxattr(fd, name, "value", 5, 0))
			break;
		made++;
	}
	if (made > COPY_MAX_ATTRS) {
		assert_int_equal(meta_read(fd, -1, NULL, &set), -E2BIG);
	} else {
		int err = meta_read(fd, -1, NULL, &set);

		assert_true(err == 0 || err == -E2BIG);
		if (!err)
			assert_int_equal(set.n, made);
	}
	meta_set_free(&set);
	close(fd);
}

TEST(test_link)
{
	struct meta_owners *o = meta_owners_new();
	struct copy_entry e = entry(0777);
	struct meta_result r;
	struct stat st;
	struct meta_set set;

	assert_int_equal(symlink("nowhere", "link"), 0);
	assert_int_equal(meta_read(-1, AT_FDCWD, "link", &set),
			 -ENOENT); /* a descriptor is needed */
	e.kind = COPY_SYMLINK;
	if (geteuid() == 0)
		e.uid = 5;
	for (int i = 0; i < 2; i++) {
		int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_int_equal(meta_read(-1, dir, "link", &set), 0);
		assert_int_equal(set.n, 0);
		meta_apply_link(dir, "link", &e, i ? o : NULL, &r);
		close(dir);
		for (int step = 0; step < META_STEPS; step++)
			assert_int_equal(r.err[step], 0);
		assert_false(r.not_set);
		assert_int_equal(lstat("link", &st), 0);
		assert_int_equal(st.st_mtim.tv_nsec, 123456789);
		assert_true(same(&st, -1, &e, i ? o : NULL));
	}
	assert_int_equal(st.st_uid, e.uid);
	e.uid++;
	assert_false(same(&st, -1, &e, o));
	/* A file took the link's name: it does not get another owner. */
	assert_int_equal(unlink("link"), 0);
	close(make("link", 0600));
	meta_apply_link(AT_FDCWD, "link", &e, o, &r);
	assert_int_equal(r.err[META_OWNER], -ESTALE);
	meta_owners_free(o);
}

/* Of a user other than root, owners and most attributes are no difference that can be settled. */
TEST(test_settable)
{
	const struct copy_attr attrs[] = { { .name = "security.capability", .value = (void *)"x" },
					   { .name = "user.a", .value = (void *)"x" } };
	const uid_t root = geteuid();
	struct meta_owners *o = meta_owners_new();

	for (int other = 0; other < 2; other++) {
		struct copy_entry e = entry(0640);
		int fd = make(other ? "other" : "own", 0640);
		struct stat st = status(fd);
		const struct meta_file f = { .st = &st, .fd = fd };

		st.st_mtim = (struct timespec){ 1234567890, 123456789 };
		e.uid = st.st_uid;
		e.gid = st.st_gid;
		assert_int_equal(other && !root ? seteuid(65534) : 0, 0);
		assert_true(meta_same_settable(&f, &e, o));
		e.uid++;
		e.attrs = attrs;
		e.n_attrs = 1;
		assert_int_equal(meta_same_settable(&f, &e, o), other || root);
		e.n_attrs = 2;
		assert_false(meta_same_settable(&f, &e, o));
		e.n_attrs = 0;
		e.mode ^= 1;
		assert_false(meta_same_settable(&f, &e, o));
		e.mode ^= 1;
		e.mtime_ns++;
		assert_false(meta_same_settable(&f, &e, o));
		assert_int_equal(seteuid(root), 0);
		close(fd);
	}
	meta_owners_free(o);
}

TEST(test_dup)
{
	const struct copy_attr attrs[] = {
		{ .name = "user.a", .value = (const uint8_t *)"1", .size = 1 },
		{ .name = "user.bc", .value = (const uint8_t *)"", .size = 0 },
	};
	struct copy_entry e = entry(0600), *copy;

	copy = meta_entry_dup(&e);
	assert_string_equal(copy->name, "file");
	assert_null(copy->target);
	assert_null(copy->attrs);
	free(copy);
	e.target = "to";
	e.attrs = attrs;
	e.n_attrs = 2;
	copy = meta_entry_dup(&e);
	assert_ptr_not_equal(copy->name, e.name);
	assert_string_equal(copy->target, "to");
	assert_string_equal(copy->attrs[1].name, "user.bc");
	assert_int_equal(copy->attrs[0].value[0], '1');
	assert_int_equal(copy->attrs[1].size, 0);
	free(copy);
}

RUN_TESTS(enter_directory, remove_directory)
