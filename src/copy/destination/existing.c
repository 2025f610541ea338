/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offered files beside what the destination has under their names: the same, to be compared by
 * digests, to be copied, or in the way. Called by entries.c, by receive.c for each message of
 * digests, and once all of a file have come.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/destination.h"
#include "copy/tree/dirs.h"
#include "copy/tree/walk.h"
#include "xdd/base/file.h"
#include "xdd/sys/clock.h"

/*
 * Comparison with digests of the source: of existing files (-k, -c), and of parts of an
 * interrupted copy (-R).
 */

#define READ_BYTES (1u << 20)

/* The file that is compared, for all threads. */
static int ensure_open(struct destination *d, struct item *i)
{
	struct stream *s = i->stream;
	int err;

	pthread_mutex_lock(&s->lock);
	/* The part of an interrupted copy is open. */
	if (!s->opened && !i->resumed) {
		int fd = file_open(d, i->file.dir, i->file.entry->name, O_RDONLY);

		s->opened = true;
		s->open_err = fd < 0 ? fd : 0;
		i->file.fd = fd < 0 ? -1 : fd;
	}
	err = s->open_err;
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* Compare `n` blocks from block `first` of the message, which fit into `buf`. */
static int compare_blocks(struct destination *d, struct item *i, const struct wire_sums *sums,
			  size_t first, size_t n, uint8_t *buf)
{
	uint64_t begin = sums->offset_bytes + first * sums->block_bytes, at = begin;
	uint64_t end = begin + n * sums->block_bytes;
	ssize_t have;

	if (end > sums->end_bytes)
		end = sums->end_bytes;
	have = readfile_at(i->file.fd, buf, (size_t)(end - begin), begin);
	if (have < 0)
		return (int)have;
	for (size_t k = 0; k < n; k++) {
		uint64_t next = at + sums->block_bytes < end ? at + sums->block_bytes : end;

		if (next - begin > (uint64_t)have ||
		    !digest_equal(digest_data(buf + (at - begin), (size_t)(next - at)),
				  wire_sums_at(sums, first + k)))
			items_differ(&d->items, i, at, next);
		at = next;
	}
	return 0;
}

static int sums_compare(struct destination *d, struct item *i, const struct wire_sums *sums)
{
	size_t at_once = sums->block_bytes < READ_BYTES ? READ_BYTES / sums->block_bytes : 1;
	uint8_t *buf = malloc(at_once * sums->block_bytes);
	int err = buf ? ensure_open(d, i) : -ENOMEM;

	for (size_t k = 0; k < sums->n && !err && !dest_stopped(d); k += at_once) {
		size_t left = sums->n - k;

		err = compare_blocks(d, i, sums, k, left < at_once ? left : at_once, buf);
	}
	/* Blocks that were not compared are not equal. */
	if (!err && i->resumed && dest_stopped(d))
		err = -ECANCELED;
	free(buf);
	items_compared(&d->items, i, sums->n);
	return err;
}

int sums_message(struct destination *d, const uint8_t *body, size_t length, struct item **item,
		 struct err *why)
{
	uint64_t since = clock_now_ns();
	struct wire_sums sums;
	struct item *i;
	bool failed;
	int err;

	if (copy_decode_sums(body, length, &sums) != WIRE_OK)
		return dest_violation(why, wire_fault_text(WIRE_BAD_BODY));
	i = items_use(&d->items, sums.id, ITEM_SUMS, &err);
	if (!i)
		return err == -ENOMEM ? err :
					dest_violation(why, "digests that were not asked for");
	err = items_claim(&d->items, i, sums.offset_bytes, sums.end_bytes - sums.offset_bytes,
			  &failed);
	if (err == -EBADMSG)
		return dest_violation(why, "digests that lie outside of a file, or twice");
	if (!err && !failed)
		err = sums_compare(d, i, &sums);
	if (err)
		items_read_failed(&d->items, i, err);
	dest_tally_add(&d->tally.checking_ns, clock_now_ns() - since);
	*item = i;
	return 0;
}

/* "bytes 4096-8191, 12288-16383 differ (2 of 300 blocks)" */
static void sums_describe(const struct stream *s, char *text, size_t size)
{
	char ranges[WIRE_MAX_TEXT_BYTES - 128] = "";
	size_t n = 0, shown = 0;

	for (; shown < s->differing.n && n + 64 < sizeof(ranges); shown++) {
		const struct extent *x = &s->differing.items[shown];

		n += (size_t)snprintf(ranges + n, sizeof(ranges) - n, "%s%" PRIu64 "-%" PRIu64,
				      shown ? ", " : "", x->begin, x->end - 1);
	}
	snprintf(text, size, "bytes %s%s differ (%" PRIu64 " of %" PRIu64 " blocks)", ranges,
		 shown < s->differing.n || s->differing_cut ? " and others" : "", s->n_differing,
		 s->n_blocks);
}

/*
 * -i: true if the entry must not be written into, or found equal to, the file `f` (NULL: any may),
 * which has its line then; see inplace_refuses().
 */
static bool is_file_refused(struct destination *d, struct inplace_file *f, struct dir_node *dir,
			    const struct copy_entry *e, bool writes)
{
	char path[COPY_MAX_PATH_BYTES], other[COPY_MAX_PATH_BYTES];

	if (!f || !inplace_refuses(d->inplace, f, e->id, writes, other))
		return false;
	role_fail(
		d->role, e->id, COPY_FAILED, dest_path(d, dir, e->name, path),
		"is the same file as %.512s there, which cannot have the contents or attributes of two sources; "
		"copy without -inplace",
		other);
	return true;
}

/* ---- attributes of files that are there ---- */

/*
 * Open a file to compare and to set its attributes. Its owner may have no right to read it; it gets
 * that one, and `*changed` says that the permissions are to be set again.
 */
static int open_to_correct(struct destination *d, struct dir_node *dir, const char *name,
			   const struct stat *st, bool *changed)
{
	int fd = file_open(d, dir, name, O_RDONLY), path_fd;
	char self[32];

	*changed = false;
	if (fd != -EACCES || st->st_uid != geteuid())
		return fd;
	path_fd = file_open(d, dir, name, O_PATH);
	if (path_fd < 0)
		return path_fd;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	if (!chmod(self, (st->st_mode & 07777) | S_IRUSR)) {
		*changed = true;
		fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}

/* All that a copy sets without -P of a file that exists; it takes no right but the owner's. */
static void correct_times(struct destination *d, struct dir_node *dir, const struct copy_entry *e)
{
	struct meta_result result = { .not_set = false };
	int dir_fd = dirs_fd(d->dirs, dir);

	if (dir_fd < 0) {
		result.err[META_TIMES] = dir_fd;
	} else {
		meta_apply_link(dir_fd, e->name, e, NULL, &result);
		dirs_done(d->dirs, dir);
	}
	dest_attributes(d, e->id, dir, e->name, &result);
}

static void correct_everything(struct destination *d, struct dir_node *dir,
			       const struct copy_entry *e, const struct stat *st)
{
	struct meta_file f = { .st = st };
	struct meta_result result;
	char path[COPY_MAX_PATH_BYTES];
	bool changed;

	f.fd = open_to_correct(d, dir, e->name, st, &changed);
	if (f.fd < 0) {
		role_fail(d->role, e->id, COPY_FAILED, dest_path(d, dir, e->name, path),
			  "cannot open to set attributes (%s)", strerror(-f.fd));
		return;
	}
	if (changed || !meta_same(&f, e, d->owners)) {
		meta_apply(f.fd, e, META_KEEP_MODE, d->owners, &result);
		dest_attributes(d, e->id, dir, e->name, &result);
	}
	close(f.fd);
}

/* Give a file that is there the attributes of `e` where they differ; `st` describes the file. */
static void correct_attributes(struct destination *d, struct dir_node *dir,
			       const struct copy_entry *e, const struct stat *st)
{
	if (e->flags & COPY_DEVICE)
		return; /* its attributes are of a device, and change with each use */
	if (d->settings->everything)
		correct_everything(d, dir, e, st);
	else if (!meta_same_time(&st->st_mtim, e->mtime_ns))
		correct_times(d, dir, e);
}

/*
 * -k: append to `text` how the attributes of a file differ from those that another copy would give
 * it. `fd` is a descriptor of the file, or -1: it is opened here. Returns 0, or -errno of the open.
 */
static int compare_attributes(struct destination *d, struct dir_node *dir,
			      const struct copy_entry *e, int fd, char text[WIRE_MAX_TEXT_BYTES])
{
	struct stat st;
	struct meta_file f = { .st = &st, .fd = fd };
	int err = 0;

	if (!dir || e->flags & COPY_DEVICE)
		return 0;
	if (fd < 0)
		f.fd = file_open(d, dir, e->name, d->settings->everything ? O_RDONLY : O_PATH);
	if (f.fd < 0)
		return f.fd;
	if (fstat(f.fd, &st))
		err = -errno;
	else
		meta_differences(&f, e, d->owners, text, WIRE_MAX_TEXT_BYTES);
	if (fd < 0)
		close(f.fd);
	return err;
}

/*
 * True: the attributes of `e` would also become attributes of other names of the file that is
 * there, which the source does not have as such. So a new file is to replace this name, or, with
 * -i, no other source may have been offered for the file. `st` describes the file. Of an owner that
 * cannot be set there would be a new file each time.
 */
static bool would_change_others(struct destination *d, struct dir_node *dir,
				const struct copy_entry *e, const struct stat *st)
{
	struct meta_file f = { .st = st };
	bool same;

	if (st->st_nlink < 2 || e->flags & COPY_DEVICE ||
	    (e->flags & COPY_HAS_LINKS && !d->settings->in_place))
		return false;
	/* Without a descriptor, all but the attributes are compared. */
	f.fd = d->settings->everything ? file_open(d, dir, e->name, O_RDONLY) : -1;
	same = meta_same_settable(&f, e, d->owners);
	if (f.fd >= 0)
		close(f.fd);
	return !same;
}

/* ---- ends of a comparison ---- */

static bool look(struct destination *d, const struct item *i, struct stat *st)
{
	int fd = dirs_fd(d->dirs, i->file.dir);
	bool found;

	if (fd < 0)
		return false;
	found = !fstatat(fd, i->file.entry->name, st, AT_SYMLINK_NOFOLLOW);
	dirs_done(d->dirs, i->file.dir);
	return found;
}

static void close_file(struct item *i)
{
	if (i->file.fd >= 0)
		close(i->file.fd);
	i->file.fd = -1;
}

/* With -c what differs is copied. */
static void send_all(struct destination *d, struct item *i)
{
	const struct copy_want want = { .id = i->link.id, .how = COPY_SEND };

	if (is_file_refused(d, i->inplace, i->file.dir, i->file.entry, true)) {
		file_lost(d, i);
		return;
	}
	if (d->settings->dry_run) {
		file_end(d, i, COPY_WOULD);
		return;
	}
	items_drop_stream(i);
	items_await(&d->items, i);
	answers_want_now(d, &want);
}

/* With -c the contents are equal, so the file only needs its attributes. */
static void found_equal(struct destination *d, struct item *i)
{
	const struct copy_entry *e = i->file.entry;
	struct stat st;

	if (i->file.dir && look(d, i, &st)) {
		bool changes = would_change_others(d, i->file.dir, e, &st);

		if (changes && !d->settings->in_place) {
			send_all(d, i);
			return;
		}
		if (changes && is_file_refused(d, i->inplace, i->file.dir, e, true)) {
			file_lost(d, i);
			return;
		}
		if (!d->settings->dry_run)
			correct_attributes(d, i->file.dir, e, &st);
	}
	file_end(d, i, COPY_SAME);
}

/* ---- parts of an interrupted copy ---- */

/*
 * Ask for the digests of the bytes that an interrupted copy has of a file, in whole blocks: `want`
 * has the ranges, which are to be freed as `*ranges`. If there are none, it asks for the contents.
 * The item is the caller's. Returns 0 or -ENOMEM.
 */
static int sums_prove(struct item *i, const struct extents *durable, struct copy_want *want,
		      struct extent **ranges)
{
	const uint64_t size = i->file.entry->size_bytes, block = COPY_MIN_BLOCK_BYTES;
	struct extent *list = calloc(COPY_MAX_RANGES, sizeof(*list));
	size_t n = 0;

	*ranges = list;
	if (!list)
		return -ENOMEM;
	for (size_t k = 0; k < durable->n && n < COPY_MAX_RANGES; k++) {
		const struct extent *x = &durable->items[k];
		const uint64_t begin = (x->begin + block - 1) / block * block;
		const uint64_t end = x->end == size ? size : x->end / block * block;

		if (begin < end)
			list[n++] = (struct extent){ begin, end };
	}
	if (n)
		*want = (struct copy_want){ i->link.id, COPY_SUMS, list, n };
	return 0;
}

/*
 * Keep bytes that are there, and ask for the others, as above. Returns 1 if nothing is missing; 0
 * with `want`; or -ENOMEM.
 */
static int sums_keep(struct destination *d, struct item *i, const struct extents *durable,
		     struct copy_want *want, struct extent **ranges)
{
	int err = items_resume(i, durable, ranges, &want->n_ranges);

	want->ranges = *ranges;
	if (err)
		return err;
	dest_tally_add(&d->tally.resumed_bytes, i->stream->got.total);
	return !want->n_ranges && i->file.entry->size_bytes;
}

/* A line for the user: the part, or the source, has changed where nothing else shows it. */
static void tell_differing(struct destination *d, const struct item *i)
{
	const struct stream *s = i->stream;
	char path[COPY_MAX_PATH_BYTES], text[WIRE_MAX_TEXT_BYTES];

	if (!s->n_differing)
		return;
	sums_describe(s, text, sizeof(text));
	role_fail(d->role, i->link.id, 0, dest_path(d, i->file.dir, i->file.entry->name, path),
		  "%s from the interrupted copy, and are sent again", text);
}

/* Keep what is equal, and ask for the rest. */
static void continue_part(struct destination *d, struct item *i)
{
	struct copy_want want = { .id = i->link.id, .how = COPY_SEND };
	struct extent *ranges = NULL;
	struct extents equal;
	int err = items_equal(i, &equal);

	if (i->stream->read_err == -ECANCELED) {
		items_drop_stream(i);
		items_await(&d->items, i); /* for contents that do not come: the copy ends */
		return;
	}
	tell_differing(d, i);
	if (!err)
		err = commit_proven(d->commit, &i->file, &equal);
	if (!err)
		err = sums_keep(d, i, &equal, &want, &ranges);
	if (err < 0) {
		file_failed(d, i, "continue", err);
	} else if (err == 1) {
		file_complete(d, i);
	} else {
		items_await(&d->items, i);
		answers_want_now(d, &want);
	}
	free(ranges);
	extents_clear(&equal);
}

/* -k: all differences of a file are named in one line. */
static void verified(struct destination *d, struct item *i)
{
	const struct copy_entry *e = i->file.entry;
	char text[WIRE_MAX_TEXT_BYTES] = "";
	int err;

	if (i->stream->n_differing)
		sums_describe(i->stream, text, sizeof(text));
	err = compare_attributes(d, i->file.dir, e, i->file.fd, text);
	close_file(i);
	if (*text) {
		dest_differs(d, i->link.id, i->file.dir, e->name, "%s", text);
		file_end(d, i, COPY_DIFFERS);
	} else if (err) {
		file_failed(d, i, "compare its attributes", err);
	} else {
		file_end(d, i, COPY_EQUAL);
	}
}

void sums_complete(struct destination *d, struct item *i)
{
	struct stream *s = i->stream;
	bool equal = !s->n_differing && s->got.total == i->file.entry->size_bytes;

	if (i->resumed && s->source_failed) {
		file_lost(d, i);
		return;
	}
	if (i->resumed) {
		continue_part(d, i);
		return;
	}
	if (d->settings->verify && !s->source_failed && !s->read_err && (equal || s->n_differing)) {
		verified(d, i);
		return;
	}
	close_file(i);
	if (s->source_failed) {
		file_end(d, i, COPY_LOST);
	} else if (s->read_err && d->settings->verify) {
		dest_failed(d, i->link.id, i->file.dir, i->file.entry->name, "read", s->read_err);
		file_end(d, i, COPY_LOST);
	} else if (equal && !s->read_err) {
		found_equal(d, i);
	} else if (!d->settings->verify) {
		send_all(d, i);
	} else {
		role_fatal(d->role, COPY_FAILED, "%s sent digests of a part of a file only",
			   d->job->peer_host);
		file_end(d, i, COPY_LOST);
	}
}

/* An offered file. */
struct offer {
	struct level *level;
	const struct copy_entry *e;
	uint32_t cost_bytes;
	bool exists;
	struct stat st;		      /* if it exists */
	struct inplace_file *inplace; /* -i, and it has several names */
};

/* A file that needs no more messages. */
static int end_at_once(struct destination *d, const struct offer *o, enum copy_outcome outcome)
{
	file_count(d, o->e, outcome);
	dest_result(d, o->e->id, 0, outcome);
	if (o->e->flags & COPY_HAS_LINKS)
		links_file_ended(d, o->e->id, outcome);
	return 0;
}

static bool is_same_size(const struct offer *o)
{
	return o->exists && S_ISREG(o->st.st_mode) && (uint64_t)o->st.st_size == o->e->size_bytes;
}

/* The time of a device says nothing of its contents. */
static bool is_same_time(const struct offer *o)
{
	return !(o->e->flags & COPY_DEVICE) && meta_same_time(&o->st.st_mtim, o->e->mtime_ns);
}

/* Pipes and character devices, which have no identity, are read only once, from their begin. */
static bool can_read_again(const struct copy_entry *e)
{
	return !(e->flags & COPY_DEVICE) || e->identity;
}

/* True: -c is to compare it. */
static bool compares_contents(const struct destination *d, const struct copy_entry *e)
{
	return d->settings->compare_contents && can_read_again(e);
}

/* ---- what must come from the source ---- */

/* A file that exists keeps its permissions, without bits that would give rights of its owner. */
static mode_t mode_of(struct destination *d, const struct offer *o)
{
	if (d->settings->everything || !o->level->node)
		return o->e->mode;
	if (o->exists && S_ISREG(o->st.st_mode))
		return o->st.st_mode & 0777;
	return o->e->mode & entries_mask(d, o->level);
}

/* Count the entry in the window. Returns 0 with its item, -EBADMSG with `why`, or -ENOMEM. */
static int new_item(struct destination *d, const struct offer *o, struct item **out,
		    struct err *why)
{
	struct item *i;

	if (items_open(&d->items, o->cost_bytes))
		return dest_violation(why, "more than fits into the window");
	i = entries_item(d, o->level, o->e, o->cost_bytes);
	if (!i)
		return -ENOMEM;
	i->exists = o->exists && S_ISREG(o->st.st_mode);
	i->file.mode = mode_of(d, o);
	i->inplace = o->inplace;
	*out = i;
	return 0;
}

/* Have the item wait for what `want` asks the source for. */
static int want_more(struct destination *d, struct item *i, const struct copy_want *want,
		     struct err *why)
{
	i->state = want->how == COPY_SUMS ? ITEM_SUMS : ITEM_SEND;
	if (items_add(&d->items, i)) {
		file_forget(d, i);
		return dest_violation(why, "more files than fit into the window");
	}
	answers_want(d, want);
	return 0;
}

/*
 * Bytes that an interrupted copy has of it need not come again: with -trust, or once their digests
 * are the source's, which `want` then asks for. Returns 1 if all are there; 0 with `want`,
 * whose ranges are then to be freed; or -errno.
 */
static int existing_resume(struct destination *d, struct item *i, struct copy_want *want,
			   struct extent **ranges)
{
	struct extents durable;
	int err;

	extents_init(&durable, 0);
	err = commit_resume(d->commit, &i->file, &durable);
	if (err == 1) {
		i->resumed = true;
		err = d->settings->trust ? sums_keep(d, i, &durable, want, ranges) :
					   sums_prove(i, &durable, want, ranges);
	}
	extents_clear(&durable);
	return err;
}

static bool may_resume(const struct destination *d, const struct copy_entry *e)
{
	const struct copy_settings *settings = d->settings;

	return settings->resume && d->commit && !settings->in_place && !settings->verify &&
	       !settings->dry_run && can_read_again(e);
}

/*
 * Ask for the contents; with `compare` for the digests of all of them, to compare them with the
 * file that is there, unless an interrupted copy has begun to replace it.
 */
static int want(struct destination *d, const struct offer *o, bool compare, struct err *why)
{
	struct copy_want want = { .id = o->e->id, .how = COPY_SEND };
	struct extent *ranges = NULL;
	struct item *i = NULL;
	int err = new_item(d, o, &i, why);

	if (err)
		return err;
	if (may_resume(d, o->e))
		err = existing_resume(d, i, &want, &ranges);
	if (compare && !i->resumed)
		want.how = COPY_SUMS;
	if (err == 1) {
		file_complete(d, i);
		err = 0;
	} else if (err < 0) {
		file_failed(d, i, "continue", err);
		err = 0;
	} else {
		err = want_more(d, i, &want, why);
	}
	free(ranges);
	return err;
}

/* ---- decisions ---- */

static int differs(struct destination *d, const struct offer *o, const char *text)
{
	dest_differs(d, o->e->id, o->level->node, o->e->name, "%s", text);
	return end_at_once(d, o, COPY_DIFFERS);
}

/* Files of the same size that have contents are compared by digests, the others here. */
static int existing_verify(struct destination *d, const struct offer *o, struct err *why)
{
	const struct copy_entry *e = o->e;
	char text[WIRE_MAX_TEXT_BYTES] = "";
	int err;

	if (!o->exists)
		return differs(d, o, "does not exist");
	if (!S_ISREG(o->st.st_mode))
		return differs(d, o, "is not a regular file");
	if (is_same_size(o) && e->size_bytes)
		return want(d, o, true, why);
	if (!is_same_size(o))
		snprintf(text, sizeof(text), "has %" PRIu64 " bytes, not %" PRIu64,
			 (uint64_t)o->st.st_size, e->size_bytes);
	err = compare_attributes(d, o->level->node, e, -1, text);
	if (*text)
		return differs(d, o, text);
	if (!err)
		return end_at_once(d, o, COPY_EQUAL);
	dest_failed(d, e->id, o->level->node, e->name, "open", err);
	return end_at_once(d, o, COPY_LOST);
}

static int in_the_way(struct destination *d, const struct offer *o)
{
	dest_failed_text(d, o->e->id, o->level->node, o->e->name,
			 "cannot be replaced, as it is a directory there");
	return end_at_once(d, o, COPY_LOST);
}

/* True if `st` is the offered file, by the same name or another one. */
static bool is_itself(const struct destination *d, const struct copy_entry *e,
		      const struct stat *st)
{
	return e->identity && e->identity == identity_of_file(d->host, st);
}

/* The source that a user named, at the top; NULL: the file was found in a tree or a list. */
static const char *named_source(const struct destination *d, const struct offer *o)
{
	const struct copy_job *job = d->job;

	if (o->level->id || d->settings->list)
		return NULL;
	for (size_t i = 0; i < job->n_sources; i++) {
		if (!strcmp(walk_top_name(job->sources[i]), o->e->name))
			return job->sources[i];
	}
	return job->n_sources == 1 ? job->sources[0] : NULL;
}

/* Nothing of it is to be opened: writing in place would cut the source. */
static int itself(struct destination *d, const struct offer *o)
{
	const char *source = named_source(d, o);
	char path[COPY_MAX_PATH_BYTES];

	dest_path(d, o->level->node, o->e->name, path);
	if (source) {
		role_fail(d->role, o->e->id, COPY_FAILED, path,
			  "is the same file as the source %.512s; expected another file", source);
		return end_at_once(d, o, COPY_LOST);
	}
	role_fail(d->role, o->e->id, 0, path, "is the same file as its source, and was skipped");
	return end_at_once(d, o, COPY_SAME);
}

static int is_there(struct destination *d, const struct offer *o)
{
	if (!d->settings->dry_run)
		correct_attributes(d, o->level->node, o->e, &o->st);
	return end_at_once(d, o, COPY_SAME);
}

/* Other offers for the file may come, or have come. Returns 0 or -ENOMEM. */
static int note_names(struct destination *d, struct offer *o)
{
	char path[COPY_MAX_PATH_BYTES];

	if (!d->inplace || !o->exists || !S_ISREG(o->st.st_mode) || o->st.st_nlink < 2)
		return 0;
	o->inplace = inplace_offer(d->inplace, &o->st, o->e->id,
				   dest_path(d, o->level->node, o->e->name, path));
	return o->inplace ? 0 : -ENOMEM;
}

static bool is_refused(struct destination *d, const struct offer *o, bool writes)
{
	return is_file_refused(d, o->inplace, o->level->node, o->e, writes);
}

static int existing_decide(struct destination *d, struct offer *o, struct err *why)
{
	bool same = is_same_size(o), contents = compares_contents(d, o->e), is_new;

	if (d->settings->verify)
		return existing_verify(d, o, why);
	if (o->exists && S_ISDIR(o->st.st_mode))
		return in_the_way(d, o);
	if (o->exists && is_itself(d, o->e, &o->st))
		return itself(d, o);
	if (note_names(d, o))
		return -ENOMEM;
	if (is_refused(d, o, false))
		return end_at_once(d, o, COPY_LOST);
	if (same && contents && o->e->size_bytes)
		return want(d, o, true, why);
	is_new = !same || !(contents || is_same_time(o));
	if (!is_new && !would_change_others(d, o->level->node, o->e, &o->st))
		return is_there(d, o);
	if (is_refused(d, o, true))
		return end_at_once(d, o, COPY_LOST);
	if (!is_new && d->settings->in_place)
		return is_there(d, o);
	if (d->settings->dry_run)
		return end_at_once(d, o, COPY_WOULD);
	return want(d, o, false, why);
}

static int offer_device(struct destination *d, struct offer *o, struct err *why)
{
	bool verify = d->settings->verify;

	if (!verify && !fstat(d->root.device, &o->st) && is_itself(d, o->e, &o->st))
		return itself(d, o);
	if (d->root.block && o->e->size_bytes && compares_contents(d, o->e))
		return want(d, o, true, why);
	if (d->settings->dry_run)
		return end_at_once(d, o, COPY_WOULD);
	if (verify)
		return o->e->size_bytes ? want(d, o, true, why) : end_at_once(d, o, COPY_EQUAL);
	return want(d, o, false, why);
}

int existing_offer(struct destination *d, struct level *level, const struct copy_entry *e,
		   uint32_t cost_bytes, struct err *why)
{
	struct offer o = { .level = level, .e = e, .cost_bytes = cost_bytes };
	int err = 0;

	if (d->root.device >= 0)
		return offer_device(d, &o, why);
	if (e->flags & COPY_HAS_LINKS)
		err = links_expect(d, level->node, e->name, e, false, why);
	if (err)
		return err;
	o.exists = !level->fresh && !fstatat(level->fd, e->name, &o.st, AT_SYMLINK_NOFOLLOW);
	if (!o.exists && !level->fresh && errno != ENOENT) {
		dest_failed(d, e->id, level->node, e->name, "look at", -errno);
		return end_at_once(d, &o, COPY_LOST);
	}
	return existing_decide(d, &o, why);
}
