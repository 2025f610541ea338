/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data threads, one for each data connection: the queue of wanted files, opening and checking files
 * of the source, and bundles of small files.
 */
#include "copy/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "xdd/base/err.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

/*
 * The queue: wanted files and large files, from the receiver to the data threads.
 */

enum work_kind {
	WORK_NONE,   /* there is no more */
	WORK_SMALL,  /* `entries`: as many small files as fit into a bundle */
	WORK_OPEN,   /* `entries`: one file to be opened, then worked on */
	WORK_BLOCKS, /* `file`: help with its blocks */
};

struct work {
	enum work_kind kind;
	struct entry *entries;
	struct large *file;
};

/* A bundle that is smaller costs more than its share of a system call. */
#define LEAST_BUNDLE_BYTES (64u << 10)

/* True if its contents travel in a bundle, where the want has no ranges. */
static bool is_bundled(const struct entry *e)
{
	return e->how == COPY_SEND && !e->ranges && e->size_bytes <= COPY_SMALL_FILE_BYTES &&
	       !(e->flags & (COPY_SPARSE | COPY_DEVICE));
}

void work_put(struct source *s, struct entry *e)
{
	e->state = ENTRY_QUEUED;
	e->next = NULL;
	*s->queue_end = e;
	s->queue_end = &e->next;
	if (is_bundled(e))
		s->queued_small_bytes += copy_bundle_bytes((uint32_t)e->size_bytes);
	s->queued_ranges += e->n_ranges;
}

static struct entry *work_pop(struct source *s)
{
	struct entry *e = s->queue;

	s->queue = e->next;
	if (!s->queue)
		s->queue_end = &s->queue;
	e->next = NULL;
	e->state = ENTRY_TAKEN;
	if (is_bundled(e))
		s->queued_small_bytes -= copy_bundle_bytes((uint32_t)e->size_bytes);
	s->queued_ranges -= e->n_ranges;
	return e;
}

/*
 * All connections get a share of what is there. As with batches of offers, a bundle is at most as
 * large as what its connection has sent before: the destination writes it once all of it is there.
 */
static uint64_t bundle_limit(const struct data_thread *d)
{
	uint64_t share = d->s->queued_small_bytes / d->s->n_data;
	uint64_t sent = atomic_load_explicit(&d->counts.moved_bytes, memory_order_relaxed);
	uint64_t limit = share < sent ? share : sent;

	if (limit < LEAST_BUNDLE_BYTES)
		return LEAST_BUNDLE_BYTES;
	return limit < COPY_MAX_BUNDLE_BYTES ? limit : COPY_MAX_BUNDLE_BYTES;
}

static void pop_bundle(struct data_thread *d, struct work *w)
{
	uint64_t limit = bundle_limit(d), bytes = 0;
	struct entry **end = &w->entries;
	struct source *s = d->s;

	while (s->queue && is_bundled(s->queue)) {
		uint64_t more = copy_bundle_bytes((uint32_t)s->queue->size_bytes);

		if (bytes && bytes + more > limit)
			break;
		bytes += more;
		*end = work_pop(s);
		end = &(*end)->next;
	}
}

static bool find_work(struct data_thread *d, struct work *w)
{
	struct source *s = d->s;

	w->entries = NULL;
	w->file = NULL;
	if (atomic_load(&s->closing)) {
		w->kind = WORK_NONE;
	} else if (s->open_files) {
		w->kind = WORK_BLOCKS;
		w->file = s->open_files;
		w->file->users++;
	} else if (!s->queue) {
		return false;
	} else if (is_bundled(s->queue)) {
		w->kind = WORK_SMALL;
		pop_bundle(d, w);
	} else {
		w->kind = WORK_OPEN;
		w->entries = work_pop(s);
	}
	return true;
}

/* Wait for work, which ends with work_done(); the time goes to `d->counts`. */
static void work_take(struct data_thread *d, struct work *w)
{
	struct source *s = d->s;
	uint64_t begin_ns;

	cpu_use_add(&d->cpu, &s->cpu);
	pthread_mutex_lock(&s->lock);
	if (!find_work(d, w)) {
		begin_ns = clock_now_ns();
		do
			pthread_cond_wait(&s->work, &s->lock);
		while (!find_work(d, w));
		count_add(&d->counts.waiting_ns, clock_now_ns() - begin_ns);
	}
	if (w->kind != WORK_NONE)
		s->busy++;
	/* One was woken for all that was queued. */
	if (s->queue || s->open_files)
		pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

static void work_done(struct source *s)
{
	pthread_mutex_lock(&s->lock);
	if (--s->busy == 0 && !s->queue)
		pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void work_answered(struct entry *e)
{
	free(e->ranges);
	e->ranges = NULL;
	e->n_ranges = 0;
	e->state = ENTRY_IDLE;
	if (!e->listed)
		entry_free(e);
}

void work_clear(struct source *s)
{
	while (s->queue)
		work_answered(work_pop(s));
}

/*
 * Young files.
 */

#define SETTLE_MAX_TRIES 4

static void wait_slice(int64_t ns)
{
	struct timespec slice = { .tv_nsec = ns < (int64_t)FILEAGE_SLICE_NS ?
						     ns :
						     (int64_t)FILEAGE_SLICE_NS };

	nanosleep(&slice, NULL);
}

static enum file_state wait_until_settled(const struct source *s, int fd, const struct entry *e,
					  int64_t *ctime_ns, int64_t ns)
{
	enum file_state state;
	int touched = 0;

	while (ns > 0 && !atomic_load(&s->closing)) {
		wait_slice(ns);
		state = source_compare(fd, e, ctime_ns);
		if (state == FILE_CHANGED || state == FILE_UNKNOWN)
			return state;
		if (state == FILE_TOUCHED && ++touched == SETTLE_MAX_TRIES)
			return FILE_CHANGED;
		ns = fileage_wait_ns(fd, *ctime_ns);
	}
	return FILE_SAME;
}

enum file_state settle_wait(struct data_thread *d, int fd, const struct entry *e, int64_t *ctime_ns)
{
	int64_t ns = fileage_wait_ns(fd, *ctime_ns);
	enum file_state state;
	uint64_t begin_ns, waited_ns;

	if (ns <= 0)
		return FILE_SAME;
	begin_ns = clock_now_ns();
	state = wait_until_settled(d->s, fd, e, ctime_ns, ns);
	waited_ns = clock_now_ns() - begin_ns;
	d->settling_ns += waited_ns;
	count_add(&d->counts.waiting_ns, waited_ns);
	return state;
}

static int open_hold_dir(struct held_dir *held, const struct entry *e)
{
	int fd;

	if (held->node == e->dir && held->dirs == e->dirs)
		return held->fd;
	source_let_go(held);
	fd = dirs_fd(e->dirs, e->dir);
	if (fd < 0)
		return fd;
	/* Its entries may be answered, and released, before it is let go. */
	dirs_hold(e->dirs, e->dir);
	held->dirs = e->dirs;
	held->node = e->dir;
	held->fd = fd;
	return fd;
}

void source_let_go(struct held_dir *held)
{
	if (!held->node)
		return;
	dirs_done(held->dirs, held->node);
	dirs_release(held->dirs, held->node);
	held->node = NULL;
}

int source_open(struct held_dir *held, const struct entry *e, int flags)
{
	int dir = open_hold_dir(held, e), fd;

	if (dir < 0)
		return dir;
	flags |= O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	if (held->self == 0 || held->self == e->uid)
		flags |= O_NOATIME;
	fd = openat(dir, e->name, flags | O_NOFOLLOW);
	/* Root of a user namespace does not own all files. */
	if (fd < 0 && errno == EPERM && (flags & O_NOATIME)) {
		flags &= ~O_NOATIME;
		fd = openat(dir, e->name, flags | O_NOFOLLOW);
	}
	if (fd >= 0)
		return fd;
	return errno == ELOOP ? -ESTALE : -errno;
}

enum file_state source_compare(int fd, const struct entry *e, int64_t *ctime_ns)
{
	int64_t now_ns;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return FILE_UNKNOWN;
	if (st.st_dev != e->dev || st.st_ino != e->ino || (st.st_mode & S_IFMT) != e->type)
		return FILE_CHANGED;
	if (e->flags & COPY_DEVICE)
		return FILE_SAME;
	if ((uint64_t)st.st_size != e->file_bytes || timespec_ns(&st.st_mtim) != e->mtime_ns)
		return FILE_CHANGED;
	now_ns = timespec_ns(&st.st_ctim);
	if (now_ns == *ctime_ns)
		return FILE_SAME;
	*ctime_ns = now_ns;
	return FILE_TOUCHED;
}

int source_wrong_size(struct err *why, const struct entry *e, bool more)
{
	return err_set(why, -ENODATA,
		       "cannot be copied (%s bytes can be read than its size, %" PRIu64
		       ", as from files in %s); use cat",
		       more ? "more" : "fewer", e->file_bytes, more ? "/proc" : "/sys");
}

/*
 * Bundles of small files.
 *
 * A file costs four system calls: openat, read, fstat, close. It is read into the message, and
 * compared with what the walk found afterwards only, as that finds all changes since then, unless
 * it is young.
 */

/* Of a record that says why there is none. */
#define MAX_TEXT_BYTES 256u
/* Reads of a file whose attributes change all the time. */
#define SMALL_MAX_TRIES 4

/* A bundle in the buffer of a thread. */
struct bundle {
	struct data_thread *d;
	size_t used;
	struct entry *entries, **end; /* of its records */
	uint64_t files, bytes;
};

/* Read up to `size` bytes. Returns the number or -errno. */
static ssize_t read_up_to(int fd, uint8_t *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, buf + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
		/* A short read of a regular file ends at its end. */
		if (n == 0 || done + 1 == size)
			break;
	}
	return (ssize_t)done;
}

/* Read and check an open file. False: it failed, as `why` says. */
static bool read_file(struct data_thread *d, int fd, const struct entry *e, uint8_t *out,
		      struct err *why)
{
	int64_t ctime_ns = e->ctime_ns;

	for (int try = 0; try < SMALL_MAX_TRIES; try++) {
		/* One byte more finds that it has grown, unless only its begin is copied. */
		bool whole = e->size_bytes == e->file_bytes;
		enum file_state state = settle_wait(d, fd, e, &ctime_ns);
		ssize_t n = 0;

		if (state == FILE_SAME) {
			n = read_up_to(fd, out, e->size_bytes + whole);
			if (n < 0) {
				err_sys(why, (int)n, "cannot read");
				return false;
			}
			state = source_compare(fd, e, &ctime_ns);
		}
		switch (state) {
		case FILE_SAME:
			if ((uint64_t)n == e->size_bytes)
				return true;
			source_wrong_size(why, e, (uint64_t)n > e->size_bytes);
			return false;
		case FILE_TOUCHED:
			/* Its contents may have changed before it was read, and its time set. */
			if (lseek(fd, 0, SEEK_SET) == 0)
				continue;
			break;
		case FILE_CHANGED:
			break;
		case FILE_UNKNOWN:
			err_sys(why, -errno, "cannot examine");
			return false;
		}
		break;
	}
	err_set(why, -ESTALE, "changed while it was copied");
	return false;
}

static bool take_file(struct data_thread *d, struct held_dir *held, const struct entry *e,
		      uint8_t *out, struct err *why)
{
	int fd = source_open(held, e, 0);
	bool ok;

	if (fd == -ESTALE) {
		err_set(why, -ESTALE, "was replaced while it was copied");
		return false;
	}
	if (fd < 0) {
		err_sys(why, fd, "cannot open");
		return false;
	}
	ok = read_file(d, fd, e, out, why);
	close(fd);
	return ok;
}

/* Append the record of a file. */
static void add_record(struct bundle *b, struct held_dir *held, const struct entry *e)
{
	uint8_t *head = b->d->buf + b->used, *out = head + COPY_BUNDLE_RECORD_BYTES;
	uint32_t size = (uint32_t)e->size_bytes, status = 0;
	struct err why;
	bool lost = atomic_load(&e->lost);

	if (lost || !take_file(b->d, held, e, out, &why)) {
		if (lost)
			err_set(&why, -ECANCELED, "not needed");
		else
			source_entry_failed(b->d->s, e, why.text);
		why.text[MAX_TEXT_BYTES - 1] = '\0';
		status = COPY_FAILED;
		size = (uint32_t)strlen(why.text) + 1;
		memcpy(out, why.text, size);
	} else {
		b->files++;
		b->bytes += size;
	}
	copy_bundle_head(e->link.id, size, status, head);
	memset(out + size, 0, copy_bundle_bytes(size) - COPY_BUNDLE_RECORD_BYTES - size);
	b->used += copy_bundle_bytes(size);
}

static void forget_entries(struct bundle *b)
{
	struct entry *e = b->entries;

	pthread_mutex_lock(&b->d->s->lock);
	while (e) {
		struct entry *next = e->next;

		work_answered(e);
		e = next;
	}
	pthread_mutex_unlock(&b->d->s->lock);
	b->entries = NULL;
	b->end = &b->entries;
}

static int send_bundle(struct bundle *b)
{
	struct iovec iov = { .iov_base = b->d->buf, .iov_len = b->used };
	struct wire_header h = { .type = WIRE_COPY_BUNDLE };
	struct data_counts *counts = &b->d->counts;
	uint64_t ns[2] = { 0, 0 }, begin_ns;
	int err;

	if (!b->used)
		return 0;
	/* Their results may come as soon as it is sent. */
	forget_entries(b);
	begin_ns = stamps_now(b->d->s->stamps);
	err = link_send(b->d->link, &h, &iov, 1, ns);
	stamp_sent(b->d, begin_ns, 0, b->used);
	count_add(&counts->checking_ns, ns[0]);
	count_add(&counts->network_ns, ns[1]);
	cpu_use_add(&b->d->cpu, &b->d->s->cpu);
	if (!err) {
		count_add(&counts->moved_bytes, b->used);
		count_add(&counts->files, b->files);
		count_add(&counts->bytes, b->bytes);
		hold(HOLD_BUNDLE_SENT);
	}
	b->used = 0;
	b->files = b->bytes = 0;
	return err;
}

/* Room for a file, or for the text about it. */
static size_t room_for(const struct entry *e)
{
	size_t size = e->size_bytes + 1;

	return copy_bundle_bytes(size > MAX_TEXT_BYTES ? (uint32_t)size : MAX_TEXT_BYTES);
}

/*
 * Send the files of a list, which fit into a bundle, in one or more of them. Returns 0, or -errno
 * of the connection.
 */
static int small_answer(struct data_thread *d, struct held_dir *held, struct entry *list)
{
	struct bundle b = { .d = d, .end = &b.entries };
	struct source *s = d->s;
	int err = 0;

	while (list) {
		struct entry *e = list;
		uint64_t begin_ns, end_ns;

		if (!err && b.used + room_for(e) > COPY_MAX_BUNDLE_BYTES)
			err = send_bundle(&b);
		list = e->next;
		e->next = NULL;
		*b.end = e;
		b.end = &e->next;
		if (err || atomic_load(&s->closing))
			continue;
		begin_ns = clock_now_ns();
		d->settling_ns = 0;
		if (s->settings->ordered_source)
			pthread_mutex_lock(&s->read_lock);
		add_record(&b, held, e);
		if (s->settings->ordered_source)
			pthread_mutex_unlock(&s->read_lock);
		end_ns = clock_now_ns();
		begin_ns += d->settling_ns;
		count_add(&d->counts.storage_ns, end_ns - begin_ns);
		stamp_storage(d, begin_ns, end_ns);
	}
	source_let_go(held);
	if (!err && !atomic_load(&s->closing))
		err = send_bundle(&b);
	forget_entries(&b);
	return err;
}

void stamp_sent(struct data_thread *d, uint64_t begin_ns, uint64_t offset_bytes, uint64_t bytes)
{
	d->stamp.offset_bytes = offset_bytes;
	d->stamp.bytes = (uint32_t)bytes;
	d->stamp.network_begin_ns = begin_ns;
	d->stamp.network_end_ns = stamps_now(d->s->stamps);
	stamps_add(d->s->stamps, d->number, &d->stamp);
	d->stamp = (struct stamp){ 0 };
}

static int do_work(struct data_thread *d, struct held_dir *held, const struct work *w)
{
	int err;

	switch (w->kind) {
	case WORK_SMALL:
		return small_answer(d, held, w->entries);
	case WORK_OPEN:
		err = large_answer(d, held, w->entries);
		source_let_go(held);
		return err;
	case WORK_BLOCKS:
		return large_help(d, w->file);
	default:
		return 0;
	}
}

void *data_thread(void *data)
{
	struct held_dir held = { .self = geteuid(), .fd = -1 };
	struct data_thread *d = data;
	struct work w;
	int err = 0;

	for (;;) {
		work_take(d, &w);
		if (w.kind == WORK_NONE)
			break;
		err = do_work(d, &held, &w);
		work_done(d->s);
		if (err)
			break;
	}
	/* It waits a moment for the cause. The others go on, or fail as well. */
	if (err && !atomic_load(&d->s->closing))
		role_link_failed(d->s->role, d->number, err, NULL);
	source_thread_ends(d->s);
	return NULL;
}

void source_entry_failed(struct source *s, const struct entry *e, const char *text)
{
	char path[COPY_MAX_PATH_BYTES];

	if (atomic_load(&s->closing))
		return;
	dirs_path(e->dirs, e->dir, e->name, path, sizeof(path));
	role_fail(s->role, e->link.id, COPY_FAILED, path, "%s", text);
}
