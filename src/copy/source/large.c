/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large files: reads, blocks, and digests of blocks. Called by data threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/source/source.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/clock.h"

#define USUAL_ALIGN_BYTES 4096u

/* Direct I/O and waiting are flags of the open file. */
static void clear_flag(int fd, int flag)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags & ~flag);
}

static void prepare_direct(struct large *f)
{
	struct directio info;
	uint64_t align;

	directio_query(&info, f->fd, NULL);
	align = info.offset_align > info.memory_align ? info.offset_align : info.memory_align;
	f->align_bytes = align > USUAL_ALIGN_BYTES ? align : USUAL_ALIGN_BYTES;
	if (f->align_bytes * 2 > READ_SPARE_BYTES)
		clear_flag(f->fd, O_DIRECT);
	else
		atomic_store(&f->direct, true);
}

/* Find out how an open file can be read, and tell the kernel. */
static void read_prepare(struct large *f)
{
	if (f->entry->flags & COPY_DEVICE) {
		clear_flag(f->fd, O_NONBLOCK);
		f->stream = lseek(f->fd, 0, SEEK_CUR) < 0 && errno == ESPIPE;
	}
	if (fcntl(f->fd, F_GETFL) & O_DIRECT)
		prepare_direct(f);
	else if (f->entry->size_bytes > f->step_bytes)
		posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

/* Read `length` bytes, or up to the end. Returns the number, or -errno. */
static ssize_t read_all(struct large *f, uint8_t *buf, size_t length, uint64_t at)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = f->stream ? read(f->fd, buf + done, length - done) :
					pread(f->fd, buf + done, length - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
		/* A direct read ends with the file. */
		if (done < length && done % USUAL_ALIGN_BYTES && atomic_load(&f->direct))
			break;
	}
	return (ssize_t)done;
}

/* The whole blocks around a range. Returns as above, counted from its begin. */
static ssize_t read_direct(struct large *f, uint8_t *buf, const struct extent *x, uint8_t **data)
{
	uint64_t before = x->begin % f->align_bytes;
	uint64_t from = x->begin - before;
	uint64_t length = (x->end - from + f->align_bytes - 1) / f->align_bytes * f->align_bytes;
	ssize_t n = read_all(f, buf, length, from);

	if (n == -EINVAL) {
		atomic_store(&f->direct, false);
		clear_flag(f->fd, O_DIRECT);
		*data = buf;
		return read_all(f, buf, x->end - x->begin, x->begin);
	}
	if (n < 0)
		return n;
	*data = buf + before;
	return (uint64_t)n < before ? 0 : n - (ssize_t)before;
}

/* Fewer bytes than the walk found. Other threads may use f->ctime_ns. */
static int became_shorter(const struct large *f, struct err *why)
{
	int64_t ctime_ns = f->entry->ctime_ns;

	if (source_compare(f->fd, f->entry, &ctime_ns) == FILE_SAME)
		return source_wrong_size(why, f->entry, false);
	return err_set(why, -ENODATA, "became shorter while it was copied");
}

/*
 * Read a range of at most a block. `*data` is then in the buffer of the thread. Returns 0, or
 * -errno with a message.
 */
static int read_range(struct data_thread *d, struct large *f, const struct extent *x,
		      uint8_t **data, struct err *why)
{
	uint64_t begin_ns = clock_now_ns(), end_ns, length = x->end - x->begin;
	ssize_t n;

	*data = d->buf;
	if (atomic_load(&f->direct))
		n = read_direct(f, d->buf, x, data);
	else
		n = read_all(f, d->buf, length, x->begin);
	end_ns = clock_now_ns();
	count_add(&d->counts.storage_ns, end_ns - begin_ns);
	stamp_storage(d, begin_ns, end_ns);
	if (n < 0)
		return err_sys(why, (int)n, "cannot read");
	if ((uint64_t)n >= length)
		return 0;
	if (f->entry->flags & COPY_DEVICE)
		return err_set(why, -ENODATA, "ends after %" PRIu64 " bytes",
			       x->begin + (uint64_t)n);
	return became_shorter(f, why);
}

/* Blocks whose digests travel in one message. */
#define SUMS_BLOCKS 256u /* of COPY_MIN_BLOCK_BYTES: differences are named that exactly */

static void large_fail(struct large *f, const char *text)
{
	pthread_mutex_lock(&f->lock);
	if (!err_is_set(&f->failed))
		err_set(&f->failed, COPY_FAILED, "%s", text);
	f->exhausted = true;
	pthread_mutex_unlock(&f->lock);
}

static void large_drop(struct large *f)
{
	pthread_mutex_lock(&f->lock);
	f->dropped = true;
	f->exhausted = true;
	pthread_mutex_unlock(&f->lock);
}

/* Have other threads help with the file, until the first of them leaves it. */
static void large_share(struct source *s, struct large *f)
{
	pthread_mutex_lock(&s->lock);
	f->next = NULL;
	f->shared = true;
	for (struct large **at = &s->open_files;; at = &(*at)->next) {
		if (*at)
			continue;
		*at = f;
		break;
	}
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
}

/* There is no more to take from it. Returns true for the last of its users. */
static bool large_leave(struct source *s, struct large *f)
{
	bool last;

	pthread_mutex_lock(&s->lock);
	for (struct large **at = &s->open_files; f->shared && *at; at = &(*at)->next) {
		if (*at != f)
			continue;
		*at = f->next;
		f->shared = false;
		break;
	}
	last = --f->users == 0;
	pthread_mutex_unlock(&s->lock);
	return last;
}

/* ---- what to take next, with the lock of the file ---- */

/* The wanted range that `at_bytes` lies in or before. False: there is none. */
static bool find_range(struct large *f, struct extent *range)
{
	const struct entry *e = f->entry;

	if (!e->ranges) {
		*range = (struct extent){ 0, e->size_bytes };
		return f->at_bytes < e->size_bytes;
	}
	while (f->range < e->n_ranges && f->at_bytes >= e->ranges[f->range].end)
		f->range++;
	if (f->range == e->n_ranges)
		return false;
	*range = e->ranges[f->range];
	if (f->at_bytes < range->begin)
		f->at_bytes = range->begin;
	return true;
}

/* Move on to data, if `at_bytes` lies in a hole. False: there is no more data. */
static bool skip_hole(struct large *f)
{
	off_t data, hole;

	if (!f->sparse || f->at_bytes < f->data_end_bytes)
		return true;
	data = lseek(f->fd, (off_t)f->at_bytes, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		return false;
	hole = data < 0 ? -1 : lseek(f->fd, data, SEEK_HOLE);
	if (hole <= data) {
		f->sparse = false;
		return true;
	}
	f->at_bytes = (uint64_t)data;
	f->data_end_bytes = (uint64_t)hole;
	return true;
}

static bool find_step(struct large *f, struct extent *step)
{
	struct extent range;
	uint64_t end;

	do {
		if (!find_range(f, &range) || !skip_hole(f))
			return false;
	} while (f->at_bytes >= range.end);
	end = f->at_bytes - f->at_bytes % f->step_bytes + f->step_bytes;
	if (end > range.end)
		end = range.end;
	if (f->sparse && end > f->data_end_bytes)
		end = f->data_end_bytes;
	*step = (struct extent){ f->at_bytes, end };
	f->at_bytes = end;
	return true;
}

static bool next_step(struct source *s, struct large *f, struct extent *step)
{
	bool found;

	pthread_mutex_lock(&f->lock);
	if (atomic_load(&s->closing)) {
		f->exhausted = true;
		f->dropped = true;
	} else if (atomic_load(&f->entry->lost)) {
		f->exhausted = true;
	}
	found = !f->exhausted && find_step(f, step);
	if (!found)
		f->exhausted = true;
	pthread_mutex_unlock(&f->lock);
	return found;
}

/* ---- what to do with it ---- */

static int send_message(struct data_thread *d, struct wire_header *h, const void *body, size_t size)
{
	struct iovec iov = { .iov_base = (void *)body, .iov_len = size };
	uint64_t ns[2] = { 0, 0 };
	int err;

	/* The connection may be gone, if the thread was left behind. */
	if (atomic_load(&d->s->closing))
		return -ECANCELED;
	err = link_send(d->link, h, &iov, 1, ns);
	count_add(&d->counts.checking_ns, ns[0]);
	count_add(&d->counts.network_ns, ns[1]);
	cpu_use_add(&d->cpu, &d->s->cpu);
	if (!err)
		count_add(&d->counts.moved_bytes, size);
	return err;
}

static int send_block(struct data_thread *d, struct large *f, const struct extent *x,
		      const uint8_t *data)
{
	struct wire_header h = { .type = WIRE_COPY_BLOCK, .offset = x->begin };
	uint64_t length = x->end - x->begin, begin_ns = stamps_now(d->s->stamps);
	int err;

	copy_set_block_id(&h, f->entry->link.id);
	/* Counted before: the destination may have all of it as soon as it is sent. */
	atomic_fetch_add(&f->messages, 1);
	atomic_fetch_add(&f->bytes, length);
	err = send_message(d, &h, data, length);
	stamp_sent(d, begin_ns, x->begin, length);
	if (!err) {
		count_add(&d->counts.bytes, length);
		hold(HOLD_BLOCK_SENT);
	}
	return err;
}

static int send_sums(struct data_thread *d, struct large *f, const struct wire_sums *sums)
{
	struct wire_header h = { .type = WIRE_COPY_SUMS };
	uint8_t body[64 + 16 * SUMS_BLOCKS];
	size_t size = wire_encode_sums(sums, body, sizeof(body));
	uint64_t begin_ns = stamps_now(d->s->stamps);
	int err;

	atomic_fetch_add(&f->messages, 1);
	if (d->s->settings->verify)
		count_add(&d->counts.bytes, sums->end_bytes - sums->offset_bytes);
	err = send_message(d, &h, body, size);
	stamp_sent(d, begin_ns, sums->offset_bytes, sums->end_bytes - sums->offset_bytes);
	return err;
}

/* Bytes whose digests are in one message: at most a block, so that they fit into the buffer. */
static uint64_t sums_step_bytes(const struct copy_settings *settings)
{
	uint64_t most = (uint64_t)COPY_MIN_BLOCK_BYTES * SUMS_BLOCKS;
	uint64_t whole = settings->block_bytes - settings->block_bytes % COPY_MIN_BLOCK_BYTES;

	return whole < most ? whole : most;
}

/* Read a step and send the digests of its blocks. */
static int sum_step(struct data_thread *d, struct large *f, const struct extent *step)
{
	uint8_t digests[16 * SUMS_BLOCKS];
	struct wire_sums sums = {
		.id = f->entry->link.id,
		.offset_bytes = step->begin,
		.block_bytes = COPY_MIN_BLOCK_BYTES,
		.end_bytes = step->end,
		.digests = digests,
	};
	uint64_t length = step->end - step->begin, begin_ns;
	struct err why;
	uint8_t *data;

	if (read_range(d, f, step, &data, &why) < 0) {
		large_fail(f, why.text);
		return 0;
	}
	begin_ns = clock_now_ns();
	for (uint64_t at = 0; at < length; at += COPY_MIN_BLOCK_BYTES) {
		uint64_t left = length - at;

		wire_put_sum(digest_data(data + at,
					 left < COPY_MIN_BLOCK_BYTES ? left : COPY_MIN_BLOCK_BYTES),
			     digests + 16 * sums.n++);
	}
	count_add(&d->counts.checking_ns, clock_now_ns() - begin_ns);
	return send_sums(d, f, &sums);
}

static int send_step(struct data_thread *d, struct large *f, const struct extent *step)
{
	struct err why;
	uint8_t *data;

	if (read_range(d, f, step, &data, &why) < 0) {
		large_fail(f, why.text);
		return 0;
	}
	return send_block(d, f, step, data);
}

/* -o: one read at a time, in the order of the file. */
static int do_step(struct data_thread *d, struct large *f, bool *more)
{
	struct source *s = d->s;
	struct err why;
	struct extent step;
	uint8_t *data;
	int err;

	if (!s->settings->ordered_source || f->entry->how == COPY_SUMS) {
		*more = next_step(s, f, &step);
		if (!*more)
			return 0;
		return f->entry->how == COPY_SUMS ? sum_step(d, f, &step) : send_step(d, f, &step);
	}
	pthread_mutex_lock(&s->read_lock);
	*more = next_step(s, f, &step);
	err = *more ? read_range(d, f, &step, &data, &why) : 0;
	pthread_mutex_unlock(&s->read_lock);
	if (err < 0)
		large_fail(f, why.text);
	return !*more || err < 0 ? 0 : send_block(d, f, &step, data);
}

/* ---- the end of a file ---- */

/*
 * It must be the file that the walk found, still. If the destination keeps a part of it by these
 * digests, the rest must be of this state of it.
 */
static void check_end(struct large *f)
{
	if (f->failed.no || f->dropped || atomic_load(&f->entry->lost))
		return;
	if (source_compare(f->fd, f->entry, &f->ctime_ns) != FILE_SAME)
		large_fail(f, "changed while it was copied");
	if (f->entry->how == COPY_SUMS && f->entry->ranges) {
		f->entry->partly = true;
		f->entry->ctime_ns = f->ctime_ns;
	}
}

static void end_entry(struct source *s, struct entry *e)
{
	pthread_mutex_lock(&s->lock);
	work_answered(e);
	pthread_mutex_unlock(&s->lock);
}

static int send_end(struct data_thread *d, struct large *f)
{
	struct wire_header h = { .type = WIRE_COPY_FILE_END };
	struct copy_file_end end = {
		.id = f->entry->link.id,
		.messages = atomic_load(&f->messages),
		.bytes = atomic_load(&f->bytes),
		.status = (uint32_t)f->failed.no,
	};
	bool counts = f->entry->how == COPY_SEND || d->s->settings->verify;
	uint8_t body[WIRE_MAX_ERROR_BYTES + 24];
	size_t size;

	d->stamp = (struct stamp){ 0 };
	snprintf(end.text, sizeof(end.text), "%s", f->failed.text);
	size = copy_encode_file_end(&end, body, sizeof(body));
	if (f->failed.no) {
		source_entry_failed(d->s, f->entry, f->failed.text);
	} else if (counts && !atomic_load(&f->entry->lost)) {
		count_add(&d->counts.files, 1);
		if (f->entry->how == COPY_SEND)
			count_add(&d->counts.bytes, f->entry->size_bytes - end.bytes);
	}
	end_entry(d->s, f->entry);
	return send_message(d, &h, body, size);
}

static void free_large(struct large *f)
{
	if (f->fd >= 0)
		close(f->fd);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static int large_finish(struct data_thread *d, struct large *f)
{
	int err = 0;

	check_end(f);
	if (f->dropped)
		end_entry(d->s, f->entry);
	else
		err = send_end(d, f);
	free_large(f);
	return err;
}

int large_help(struct data_thread *d, struct large *f)
{
	bool more = true;
	int err = 0;

	while (more && !err)
		err = do_step(d, f, &more);
	if (err)
		large_drop(f);
	if (!large_leave(d->s, f))
		return err;
	return large_finish(d, f) < 0 && !err ? -EPIPE : err;
}

/* ---- its begin ---- */

static void open_file(struct data_thread *d, struct held_dir *held, struct large *f)
{
	struct entry *e = f->entry;
	struct err why;
	enum file_state state;

	f->fd = source_open(held, e, d->s->settings->direct_source ? O_DIRECT : 0);
	if (f->fd == -EINVAL && d->s->settings->direct_source)
		f->fd = source_open(held, e, 0);
	if (f->fd < 0) {
		if (f->fd == -ESTALE)
			err_set(&why, f->fd, "was replaced while it was copied");
		else
			err_sys(&why, f->fd, "cannot open");
		large_fail(f, why.text);
		return;
	}
	state = source_compare(f->fd, e, &f->ctime_ns);
	if ((state == FILE_SAME || state == FILE_TOUCHED) && !(e->flags & COPY_DEVICE))
		state = settle_wait(d, f->fd, e, &f->ctime_ns);
	/* Its contents may be others than those whose digests were sent. */
	if (state != FILE_UNKNOWN && e->partly && f->ctime_ns != e->ctime_ns)
		state = FILE_CHANGED;
	switch (state) {
	case FILE_SAME:
	case FILE_TOUCHED:
		read_prepare(f);
		break;
	case FILE_CHANGED:
		large_fail(f, "changed while it was copied");
		break;
	case FILE_UNKNOWN:
		err_sys(&why, -errno, "cannot examine");
		large_fail(f, why.text);
	}
}

static struct large *new_large(struct data_thread *d, struct entry *e)
{
	struct large *f = calloc(1, sizeof(*f));
	const struct copy_settings *settings = d->s->settings;

	if (!f)
		return NULL;
	f->entry = e;
	f->fd = -1;
	f->step_bytes = e->how == COPY_SUMS ? sums_step_bytes(settings) : settings->block_bytes;
	f->sparse = e->how == COPY_SEND && (e->flags & COPY_SPARSE);
	f->ctime_ns = e->ctime_ns;
	f->users = 1;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

/* Blocks that the destination must write in order come on one connection. */
static bool may_share(const struct source *s, const struct large *f)
{
	if (f->stream || f->failed.no || f->entry->size_bytes <= f->step_bytes)
		return false;
	return !s->settings->ordered_destination || f->entry->how == COPY_SUMS;
}

int large_answer(struct data_thread *d, struct held_dir *held, struct entry *e)
{
	struct large *f = new_large(d, e);

	if (!f) {
		role_fatal(d->s->role, XDD_INIT_FAILED, "out of memory");
		end_entry(d->s, e);
		return 0;
	}
	if (!atomic_load(&e->lost))
		open_file(d, held, f);
	if (may_share(d->s, f))
		large_share(d->s, f);
	return large_help(d, f);
}
