/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of journals, and journals in the root of a copy; see the header.
 *
 * A session lives as long as the lock on its journal is held, which ends with the process in
 * whatever way that ends. Between hosts that share a file system, the lock may reach
 * them or not; so there a session also touches its journal, and counts as dead only after a
 * silence. A file system without locks has the silence alone, and a long one.
 */
#include "copy/destination/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/destination/commit.h"
#include "xdd/base/codec.h"
#include "xdd/base/file.h"
#include "xdd/base/units.h"

#define HEAD_BYTES 12 /* checksum (4), type (2), zero (2), bytes that follow (4) */
#define RANGE_BYTES 16

bool journal_path_is_clean(const char *path)
{
	if (!*path)
		return true;
	for (;;) {
		size_t n = strcspn(path, "/");

		if (!n || n > NAME_MAX || (n == 1 && path[0] == '.') ||
		    (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}

/* ---- encode ---- */

/* A text with its NUL, up to the end of the record. */
static void put_text(struct encoder *e, const char *text, size_t most)
{
	size_t n = text_bytes(text, most + 1);

	if (n > most)
		e->bad = true;
	enc_text(e, text, n);
}

static void put_path(struct encoder *e, const char *path)
{
	if (!journal_path_is_clean(path))
		e->bad = true;
	else
		put_text(e, path, JOURNAL_MAX_PATH_BYTES);
}

static void put_head(struct encoder *e, const struct journal_record *r)
{
	enc_put(e, 8, r->session);
	enc_put(e, 8, r->tree_id);
	enc_put(e, 8, r->resumable);
	enc_bytes(e, r->boot, sizeof(r->boot));
	put_text(e, r->host, sizeof(r->host));
}

static void put_file(struct encoder *e, const struct journal_record *r)
{
	enc_put(e, 8, r->number);
	enc_put(e, 8, r->size_bytes);
	enc_put(e, 8, (uint64_t)r->mtime_ns);
	enc_put(e, 8, r->version);
	enc_put(e, 8, r->inode);
	if (!*r->path)
		e->bad = true;
	put_path(e, r->path);
}

static void put_ranges(struct encoder *e, const struct journal_record *r)
{
	if (!r->n_ranges || r->n_ranges > JOURNAL_MAX_RANGES)
		e->bad = true;
	enc_put(e, 8, r->number);
	for (size_t i = 0; i < r->n_ranges && !e->bad; i++) {
		enc_put(e, 8, r->ranges[i].begin);
		enc_put(e, 8, r->ranges[i].end);
	}
}

static void put_body(struct encoder *e, const struct journal_record *r)
{
	switch (r->type) {
	case JOURNAL_HEAD:
		put_head(e, r);
		break;
	case JOURNAL_ROOT:
		enc_put(e, 8, r->renamed);
		break;
	case JOURNAL_DIR:
		put_path(e, r->path);
		break;
	case JOURNAL_FILE:
		put_file(e, r);
		break;
	case JOURNAL_RANGES:
		put_ranges(e, r);
		break;
	case JOURNAL_GONE:
		enc_put(e, 8, r->number);
		break;
	default:
		e->bad = true;
	}
}

size_t journal_encode(const struct journal_record *r, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);
	size_t n;

	enc_put(&e, 4, 0);
	enc_put(&e, 2, r->type);
	enc_put(&e, 2, 0);
	enc_put(&e, 4, 0);
	put_body(&e, r);
	n = enc_end(&e);
	if (n) {
		bytes_put(out + 8, 4, n - HEAD_BYTES);
		bytes_put(out, 4, crc32c(out + 4, n - 4));
	}
	return n;
}

/* ---- decode ---- */

static bool get_flag(struct decoder *d)
{
	return dec_at_most(d, 8, 1) != 0;
}

/* The rest of the record. */
static const char *get_text(struct decoder *d, size_t most)
{
	return dec_text(d, dec_left(d), 1, most);
}

static const char *get_path(struct decoder *d)
{
	const char *path = get_text(d, JOURNAL_MAX_PATH_BYTES);

	if (!journal_path_is_clean(path))
		d->bad = true;
	return path;
}

static void get_head(struct decoder *d, struct journal_record *r)
{
	const char *host;

	r->session = dec_get(d, 8);
	r->tree_id = dec_get(d, 8);
	r->resumable = get_flag(d);
	dec_bytes(d, r->boot, sizeof(r->boot));
	host = get_text(d, sizeof(r->host));
	memcpy(r->host, host, strlen(host) + 1);
}

static void get_file(struct decoder *d, struct journal_record *r)
{
	r->number = dec_get(d, 8);
	r->size_bytes = dec_amount(d);
	r->mtime_ns = (int64_t)dec_get(d, 8);
	r->version = dec_get(d, 8);
	r->inode = dec_get(d, 8);
	r->path = get_path(d);
	if (!*r->path)
		d->bad = true;
}

static void get_ranges(struct decoder *d, struct journal_record *r)
{
	uint64_t end = 0;

	r->number = dec_get(d, 8);
	r->n_ranges = dec_left(d) / RANGE_BYTES;
	r->range_bytes = d->at;
	if (!r->n_ranges || r->n_ranges > JOURNAL_MAX_RANGES)
		d->bad = true;
	for (size_t i = 0; i < r->n_ranges && !d->bad; i++) {
		uint64_t begin = dec_get(d, 8), last = end;

		end = dec_amount(d);
		if (begin >= end || (i && begin <= last))
			d->bad = true;
	}
}

static void get_body(struct decoder *d, struct journal_record *r)
{
	switch (r->type) {
	case JOURNAL_HEAD:
		get_head(d, r);
		break;
	case JOURNAL_ROOT:
		r->renamed = get_flag(d);
		break;
	case JOURNAL_DIR:
		r->path = get_path(d);
		break;
	case JOURNAL_FILE:
		get_file(d, r);
		break;
	case JOURNAL_RANGES:
		get_ranges(d, r);
		break;
	case JOURNAL_GONE:
		r->number = dec_get(d, 8);
		break;
	default:
		d->bad = true;
	}
}

int journal_decode(const uint8_t *data, size_t size, struct journal_record *r, size_t *used)
{
	struct decoder d;
	size_t body;

	memset(r, 0, sizeof(*r));
	if (size < HEAD_BYTES)
		return 0;
	body = bytes_get(data + 8, 4);
	if (body > JOURNAL_MAX_RECORD_BYTES - HEAD_BYTES || bytes_get(data + 6, 2))
		return -EBADMSG;
	if (size - HEAD_BYTES < body)
		return 0;
	*used = HEAD_BYTES + body;
	if (bytes_get(data, 4) != crc32c(data + 4, *used - 4))
		return -EBADMSG;
	r->type = (enum journal_type)bytes_get(data + 4, 2);
	d = dec_begin(data + HEAD_BYTES, body);
	get_body(&d, r);
	return dec_end(&d) ? 1 : -EBADMSG;
}

struct extent journal_range(const struct journal_record *r, size_t i)
{
	const uint8_t *at = r->range_bytes + RANGE_BYTES * i;

	return (struct extent){ bytes_get(at, 8), bytes_get(at + 8, 8) };
}

#define SHARED_SILENCE_NS (120 * NS_PER_SEC)
#define UNLOCKED_SILENCE_NS (24 * 3600 * NS_PER_SEC)

/* ---- locks ---- */

void journal_identify(struct journal_record *head)
{
	char text[64] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	unsigned at = 0;

	memset(head->boot, 0, sizeof(head->boot));
	if (fd >= 0) {
		if (readfile_part(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		close(fd);
	}
	for (const char *p = text; *p && at < sizeof(head->boot); p += *p == '-' ? 1 : 2) {
		if (*p != '-' && sscanf(p, "%2hhx", &head->boot[at]) == 1)
			at++;
	}
	/* The kernel has no longer names, and nothing else can fail. */
	gethostname(head->host, sizeof(head->host));
	head->host[sizeof(head->host) - 1] = '\0';
}

/*
 * How long it was silent, by the clock of the file system: nothing else is compared. The look gives
 * it the time of now, as a sign of life for others that would continue it too.
 */
static uint64_t silence_ns(struct journal_file *j)
{
	struct stat now;
	int64_t ns;

	if (futimens(j->file.fd, NULL) || fstat(j->file.fd, &now))
		return 0;
	j->looked = now.st_mtim;
	ns = (int64_t)(now.st_mtim.tv_sec - j->used.tv_sec) * (int64_t)NS_PER_SEC +
	     (now.st_mtim.tv_nsec - j->used.tv_nsec);
	return ns > 0 ? (uint64_t)ns : 0;
}

/* The user that files created here get; the file system may not keep the user of this process. */
static uid_t own_uid(int root_fd)
{
	int fd = openat(root_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	uid_t uid = geteuid();
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		uid = st.st_uid;
	if (fd >= 0)
		close(fd);
	return uid;
}

static bool is_own(int root_fd, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 && !(st->st_mode & (S_IWGRP | S_IWOTH)) &&
	       (st->st_uid == geteuid() || st->st_uid == own_uid(root_fd));
}

/* True: the head is of this host as it runs now, so a lock is all there is to know. */
static bool is_of_this_boot(int fd)
{
	struct journal_record own, rec;
	struct records r;
	bool same = false;

	journal_identify(&own);
	if (records_read(&r, fd) == 0) {
		same = records_next(&r, &rec) == 1 &&
		       memcmp(rec.boot, own.boot, sizeof(own.boot)) == 0;
		records_end(&r);
	}
	return same;
}

/* Lock the open journal of a session that is dead; as journal_open_dead(). */
static int lock_dead(struct journal_file *j, int root_fd, const char *name)
{
	const int fd = j->file.fd;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!is_own(root_fd, &st))
		return -EPERM;
	err = journal_lock(fd, root_fd, name, AT_SYMLINK_NOFOLLOW);
	if (err == -EBUSY)
		return err;
	j->used = st.st_mtim;
	j->touch = err || commit_fs_is_shared(fd);
	if (err)
		return silence_ns(j) < UNLOCKED_SILENCE_NS ? -EBUSY : 0;
	if (j->touch && !is_of_this_boot(fd))
		return silence_ns(j) < SHARED_SILENCE_NS ? -EBUSY : 0;
	return 0;
}

int journal_open_dead(struct journal_file *j, int root_fd, const char *name)
{
	int err;

	*j = (struct journal_file){ .file.fd = openat(root_fd, name,
						      O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK |
							      O_NOCTTY | O_CLOEXEC) };
	if (j->file.fd < 0)
		return errno == EACCES || errno == ELOOP ? -EPERM : -errno;
	err = lock_dead(j, root_fd, name);
	if (err)
		journal_leave(j);
	return err;
}

/* No process has used it since this one looked. */
static bool is_as_looked(const struct journal_file *j)
{
	struct stat now;

	return j->looked.tv_sec && fstat(j->file.fd, &now) == 0 &&
	       now.st_mtim.tv_sec == j->looked.tv_sec && now.st_mtim.tv_nsec == j->looked.tv_nsec;
}

void journal_leave(struct journal_file *j)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, j->used };

	if (j->file.fd >= 0 && is_as_looked(j))
		futimens(j->file.fd, times);
	journal_close(&j->file);
}

/* ---- writing ---- */

static int write_head(struct journal_file *j, const struct journal_record *head)
{
	uint8_t data[JOURNAL_MAGIC_BYTES + 256];
	size_t n = journal_encode(head, data + JOURNAL_MAGIC_BYTES,
				  sizeof(data) - JOURNAL_MAGIC_BYTES);

	memcpy(data, JOURNAL_MAGIC, JOURNAL_MAGIC_BYTES);
	return n ? journal_append(&j->file, data, JOURNAL_MAGIC_BYTES + n) : -EINVAL;
}

/*
 * Open the file of a new journal, locked. It has no name, so that nothing is left of it when the
 * process is killed; or, where a file needs one, a name of its own until it has its head: `start`.
 * Returns 0 or -errno.
 */
static int open_new(struct journal_file *j, int root_fd, const char *start, bool *named)
{
	const int flags = O_RDWR | O_APPEND | O_CLOEXEC;
	int fd = *named ? -1 : openat(root_fd, ".", flags | O_TMPFILE, 0600), locked;

	*j = (struct journal_file){ .file.fd = -1 };
	if (fd < 0) {
		*named = true;
		fd = openat(root_fd, start, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	}
	if (fd < 0)
		return -errno;
	locked = journal_lock(fd, root_fd, *named ? start : NULL, AT_SYMLINK_NOFOLLOW);
	/* Another copy may have taken it for one that a dead session left: it had no lock yet. */
	if (*named && locked == -EBUSY) {
		close(fd);
		return -EAGAIN;
	}
	j->file.fd = fd;
	j->touch = locked != 0 || commit_fs_is_shared(fd);
	return 0;
}

/* With `named`, the file has a name meanwhile. Returns 0 or -errno. */
static int journal_file_create(struct journal_file *j, int root_fd,
			       const struct journal_record *head, bool named)
{
	char name[COPY_TEMPORARY_SIZE], start[COPY_TEMPORARY_SIZE];
	int err;

	commit_journal_name(head->session, name);
	commit_temporary_name(head->session, JOURNAL_START_NUMBER, start);
	err = open_new(j, root_fd, start, &named);
	if (err)
		return err;
	err = write_head(j, head);
	if (!err && !named)
		err = commit_fs_link(j->file.fd, root_fd, name);
	else if (!err && renameat(root_fd, start, root_fd, name))
		err = -errno;
	if (err) {
		if (named)
			unlinkat(root_fd, start, 0);
		journal_close(&j->file);
	}
	return err;
}

int journal_create(struct journal_file *j, int root_fd, const struct journal_record *head)
{
	int err = journal_file_create(j, root_fd, head, false);
	/* Not every file system and kernel gives an unnamed file a name. */
	bool again = err && err != -EEXIST;

	for (int i = 0; again && i < 3; i++) {
		err = journal_file_create(j, root_fd, head, true);
		again = err == -EAGAIN;
	}
	return err;
}

void journal_touch(const struct journal_file *j)
{
	if (j->file.fd >= 0 && j->touch && futimens(j->file.fd, NULL))
		return; /* others then rely on the lock */
}

/* ---- reading ---- */

/* The first bytes of a journal whose version is a greater number. */
static bool is_later(const char *magic)
{
	const size_t at = JOURNAL_MAGIC_BYTES - 2; /* of the version, before a newline */
	const char own = JOURNAL_MAGIC[at];

	if (memcmp(magic, JOURNAL_MAGIC, at) != 0 || magic[at] < '1' || magic[at] > '9')
		return false;
	if (magic[at + 1] == '\n')
		return magic[at] > own;
	return magic[at + 1] >= '0' && magic[at + 1] <= '9';
}

int records_read(struct records *r, int fd)
{
	char magic[JOURNAL_MAGIC_BYTES];
	ssize_t n = pread(fd, magic, sizeof(magic), 0);

	*r = (struct records){ .first = true };
	if (n < 0)
		return -errno;
	if (n == sizeof(magic) && is_later(magic))
		return -EPROTONOSUPPORT;
	if (n != sizeof(magic) || memcmp(magic, JOURNAL_MAGIC, sizeof(magic)) != 0)
		return -EBADMSG;
	journal_read(&r->in, fd, JOURNAL_MAGIC_BYTES);
	return 0;
}

static int next_record(void *arg, const uint8_t *data, size_t size, size_t *used)
{
	struct records *r = arg;
	int got = journal_decode(data, size, r->record, used);

	if (got <= 0)
		return got;
	if ((r->record->type == JOURNAL_HEAD) != r->first)
		return -EBADMSG;
	r->first = false;
	return got;
}

int records_next(struct records *r, struct journal_record *rec)
{
	int got;

	r->record = rec;
	got = journal_read_next(&r->in, next_record, r);
	/* Records beyond the limit are lost: their data is sent again. */
	return got == -EFBIG ? 0 : got;
}

void records_end(struct records *r)
{
	journal_read_end(&r->in);
}
