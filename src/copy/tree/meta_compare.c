/*
 * Attributes of an existing file beside those that a copy would give it; see meta.h. Called where
 * the destination finds files, and by -k.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "copy/tree/meta_attrs.h"
#include "xdd/base/text.h"

#define CUT "; and others"
#define TIME_BYTES 64

/* Differences so far. */
struct differences {
	size_t n;
	char *text; /* NULL: they are only counted */
	size_t room, length;
	bool cut;
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
	const uid_t uid = meta_wanted_uid(e, owners);
	const gid_t gid = meta_wanted_gid(e, owners);

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
		if (attr_is_copied(e->attrs[i].name))
			compare_attr(d, &now, &e->attrs[i], owners);
	}
	for (size_t i = 0; i < now.n; i++) {
		if (!attr_find(e->attrs, e->n_attrs, now.attrs[i].name))
			note(d, "attribute %s is not at the source", now.attrs[i].name);
	}
	meta_set_free(&now);
}

static void compare(struct differences *d, const struct meta_file *f, const struct copy_entry *e,
		    const struct meta_owners *owners)
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

	compare(&d, f, e, owners);
	return !d.n;
}

size_t meta_differences(const struct meta_file *f, const struct copy_entry *e,
			const struct meta_owners *owners, char *text, size_t size)
{
	struct differences d = { .text = text, .room = size, .length = strlen(text) };

	compare(&d, f, e, owners);
	return d.n;
}
