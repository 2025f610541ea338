/*
 * Comparison with digests of the source: of existing files (-k, -c), and of parts of an interrupted
 * copy (-R). Called by existing.c, by receive.c for each message of digests, and once all of a file
 * have come.
 */
#include "copy/destination/sums.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/file.h"
#include "copy/destination/stream.h"
#include "xdd/base/file.h"
#include "xdd/sys/clock.h"

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

static int compare(struct destination *d, struct item *i, const struct wire_sums *sums)
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

int sums_message(struct destination *d, const uint8_t *body, size_t length, char *why)
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
		err = compare(d, i, &sums);
	if (err)
		items_read_failed(&d->items, i, err);
	dest_tally_add(&d->tally.checking_ns, clock_now_ns() - since);
	return stream_sums_end(d, i, why);
}

/* "bytes 4096-8191, 12288-16383 differ (2 of 300 blocks)" */
static void describe(const struct stream *s, char *text, size_t size)
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

static void correct(struct destination *d, struct item *i)
{
	const struct copy_entry *e = i->file.entry;
	int fd = dirs_fd(d->dirs, i->file.dir);
	struct stat st;

	if (fd >= 0 && !fstatat(fd, e->name, &st, AT_SYMLINK_NOFOLLOW))
		file_correct(d, i->file.dir, e, &st);
	if (fd >= 0)
		dirs_done(d->dirs, i->file.dir);
}

static void close_file(struct item *i)
{
	if (i->file.fd >= 0)
		close(i->file.fd);
	i->file.fd = -1;
}

/* With -c the contents are equal, so the file only needs its attributes. */
static void found_equal(struct destination *d, struct item *i)
{
	if (!d->settings->dry_run && i->file.dir)
		correct(d, i);
	file_end(d, i, COPY_SAME);
}

/* With -c what differs is copied. */
static void send_all(struct destination *d, struct item *i)
{
	const struct copy_want want = { .id = i->id, .how = COPY_SEND };

	if (file_refused(d, i->inplace, i->file.dir, i->file.entry, true)) {
		file_lost(d, i);
		return;
	}
	if (d->settings->dry_run) {
		file_end(d, i, COPY_WOULD);
		return;
	}
	items_drop_stream(i);
	items_await(&d->items, i);
	answers_want_now(&d->answers, &want);
}

/* ---- parts of an interrupted copy ---- */

int sums_prove(struct item *i, const struct extents *durable, struct copy_want *want,
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
		*want = (struct copy_want){ i->id, COPY_SUMS, list, n };
	return 0;
}

int sums_keep(struct destination *d, struct item *i, const struct extents *durable,
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
	describe(s, text, sizeof(text));
	role_fail(d->role, i->id, 0, dest_path(d, i->file.dir, i->file.entry->name, path),
		  "%s from the interrupted copy, and are sent again", text);
}

/* Keep what is equal, and ask for the rest. */
static void continue_part(struct destination *d, struct item *i)
{
	struct copy_want want = { .id = i->id, .how = COPY_SEND };
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
		answers_want_now(&d->answers, &want);
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
		describe(i->stream, text, sizeof(text));
	err = file_compare(d, i->file.dir, e, i->file.fd, text);
	close_file(i);
	if (*text) {
		dest_differs(d, i->id, i->file.dir, e->name, "%s", text);
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
		dest_failed(d, i->id, i->file.dir, i->file.entry->name, "read", s->read_err);
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
