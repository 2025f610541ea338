/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source that tests play; see the header.
 */
#include "copy_offers_rig.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/destination/commit.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"

#define TIMEOUT_NS (20 * NS_PER_SEC)

void rig_open(struct source_rig *r, const char *name)
{
	memset(r, 0, sizeof(*r));
	snprintf(r->dir, sizeof(r->dir), "%s/xdd-copy-XXXXXX", P_tmpdir);
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->path, sizeof(r->path), "%s/%s", r->dir, name);
	r->settings = (struct copy_settings){
		.recursive = true,
		.connections = 1,
		.block_bytes = 64 << 10,
		.size_bytes = UINT64_MAX,
		.timeout_ns = TIMEOUT_NS,
	};
}

/* Held while the channel of the destination is closed, or aborted by a test. */
static pthread_mutex_t closing = PTHREAD_MUTEX_INITIALIZER;

static void *destination_main(void *arg)
{
	struct source_rig *r = arg;

	r->status = copy_destination(&r->job);
	pthread_mutex_lock(&closing);
	link_close(r->job.channel);
	r->job.channel = NULL;
	pthread_mutex_unlock(&closing);
	return NULL;
}

void rig_abort(struct source_rig *r)
{
	pthread_mutex_lock(&closing);
	if (r->job.channel)
		link_abort(r->job.channel);
	pthread_mutex_unlock(&closing);
}

void rig_start(struct source_rig *r)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	stop_init(&r->stop);
	r->data.inside = true;
	r->channel = link_on_fds(fds[0], fds[0], TIMEOUT_NS);
	assert_non_null(r->channel);
	r->fd = fds[0];
	r->inside = link_inside(r->channel);
	assert_non_null(r->inside);
	r->job.settings = &r->settings;
	r->job.destination = r->path;
	r->job.peer_host = "there";
	r->job.channel = link_on_fds(fds[1], fds[1], TIMEOUT_NS);
	assert_non_null(r->job.channel);
	r->job.data = &r->data;
	r->job.stop = &r->stop;
	r->job.session[0] = 7;
	r->settings.list = !r->source;
	r->job.sources = &r->source;
	r->job.n_sources = r->source ? 1 : 0;
	assert_int_equal(copy_report_open(&r->job.report, NULL), 0);
	assert_int_equal(pthread_create(&r->thread, NULL, destination_main, r), 0);
}

/* ---- entries ---- */

struct copy_entry rig_entry(struct source_rig *r, enum copy_kind kind, const char *name)
{
	struct copy_entry e = {
		.kind = kind,
		.name = name,
		.mode = kind == COPY_DIR ? 0755 : 0644,
		.mtime_ns = RIG_MTIME_NS,
		.atime_ns = RIG_MTIME_NS,
	};

	if (kind == COPY_DIR || kind == COPY_FILE || kind == COPY_SYMLINK || kind == COPY_LINK)
		e.id = ++r->last_id;
	return e;
}

uint64_t rig_add(struct source_rig *r, const struct copy_entry *e)
{
	size_t n;

	for (;;) {
		n = copy_encode_entry(e, r->offer + r->offer_bytes,
				      sizeof(r->offer) - r->offer_bytes);
		if (n || !r->offer_bytes)
			break;
		rig_send(r);
	}
	assert_true(n);
	r->offer_bytes += n;
	return e->id;
}

uint64_t rig_dir(struct source_rig *r, const char *name)
{
	struct copy_entry e = rig_entry(r, COPY_DIR, name);

	return rig_add(r, &e);
}

uint64_t rig_file(struct source_rig *r, const char *name, uint64_t size_bytes)
{
	struct copy_entry e = rig_entry(r, COPY_FILE, name);

	e.size_bytes = size_bytes;
	return rig_add(r, &e);
}

uint64_t rig_symlink(struct source_rig *r, const char *name, const char *target)
{
	struct copy_entry e = rig_entry(r, COPY_SYMLINK, name);

	e.target = target;
	return rig_add(r, &e);
}

uint64_t rig_link(struct source_rig *r, const char *name, uint64_t first)
{
	struct copy_entry e = rig_entry(r, COPY_LINK, name);

	e.first = first;
	return rig_add(r, &e);
}

uint64_t rig_last_link(struct source_rig *r, const char *name, uint64_t first)
{
	struct copy_entry e = rig_entry(r, COPY_LINK, name);

	e.first = first;
	e.flags = COPY_LAST_NAME;
	return rig_add(r, &e);
}

void rig_leave(struct source_rig *r)
{
	struct copy_entry e = { .kind = COPY_LEAVE, .name = "" };

	rig_add(r, &e);
}

void rig_end(struct source_rig *r)
{
	struct copy_entry e = { .kind = COPY_END, .name = "" };

	rig_add(r, &e);
	rig_send(r);
}

void rig_send(struct source_rig *r)
{
	size_t n = r->offer_bytes;

	r->offer_bytes = 0;
	if (n)
		link_send_body(r->channel, WIRE_COPY_OFFER, r->offer, n);
}

/* ---- data ---- */

void rig_bundle(struct source_rig *r, uint64_t id, uint32_t status, const void *data, uint32_t size)
{
	size_t n = copy_bundle_bytes(size);
	uint8_t *body = calloc(1, n);

	assert_non_null(body);
	copy_bundle_head(id, size, status, body);
	memcpy(body + COPY_BUNDLE_RECORD_BYTES, data, size);
	link_send_body(r->inside, WIRE_COPY_BUNDLE, body, n);
	free(body);
}

void rig_block(struct source_rig *r, uint64_t id, uint64_t offset, const void *data, size_t size)
{
	struct wire_header h = { .type = WIRE_COPY_BLOCK, .offset = offset };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };

	copy_set_block_id(&h, id);
	link_send(r->inside, &h, &iov, 1, NULL);
}

void rig_file_end(struct source_rig *r, uint64_t id, uint64_t messages, uint64_t bytes,
		  uint32_t status)
{
	const struct copy_file_end e = {
		.id = id,
		.messages = messages,
		.bytes = bytes,
		.status = status,
		.text = "",
	};
	uint8_t body[WIRE_MAX_TEXT_BYTES + 64];
	size_t n = copy_encode_file_end(&e, body, sizeof(body));

	assert_true(n);
	link_send_body(r->inside, WIRE_COPY_FILE_END, body, n);
}

void rig_sums(struct source_rig *r, uint64_t id, const void *data, uint64_t offset, size_t size)
{
	const uint8_t *p = data;
	uint8_t digests[16 * 64], body[16 * 64 + 64];
	struct wire_sums s = {
		.id = id,
		.offset_bytes = offset,
		.block_bytes = COPY_MIN_BLOCK_BYTES,
		.end_bytes = offset + size,
		.digests = digests,
	};
	size_t n;

	for (size_t at = 0; at < size; at += COPY_MIN_BLOCK_BYTES) {
		size_t left = size - at;

		assert_true(s.n < 64);
		wire_put_sum(digest_data(p + at,
					 left < COPY_MIN_BLOCK_BYTES ? left : COPY_MIN_BLOCK_BYTES),
			     digests + 16 * s.n++);
	}
	n = wire_encode_sums(&s, body, sizeof(body));
	assert_true(n);
	link_send_body(r->inside, WIRE_COPY_SUMS, body, n);
}

/* ---- answers ---- */

static void take_wants(struct source_rig *r, const uint8_t *body, size_t length)
{
	struct copy_want_cursor *c = calloc(1, sizeof(*c));
	struct copy_want w;
	bool more = true;

	assert_non_null(c);
	c->in = dec_begin(body, length);
	for (;;) {
		assert_int_equal(copy_decode_want(c, &w, &more), WIRE_OK);
		if (!more)
			break;
		assert_in_range(w.id, 1, RIG_MAX_ID - 1);
		r->want[w.id] = (uint8_t)w.how;
		if (w.n_ranges) {
			assert_in_range(w.n_ranges, 1, 8);
			memcpy(r->ranges, w.ranges, w.n_ranges * sizeof(*w.ranges));
			r->n_ranges = w.n_ranges;
		}
	}
	free(c);
}

static void take_results(struct source_rig *r, const uint8_t *body, size_t length)
{
	size_t n;

	assert_int_equal(copy_check_results(body, length, &n), WIRE_OK);
	for (size_t i = 0; i < n; i++) {
		struct copy_result x = copy_result_at(body, i);

		assert_in_range(x.id, 1, r->last_id);
		assert_int_equal(r->outcome[x.id], 0);
		r->outcome[x.id] = (uint8_t)x.outcome;
		r->n_results++;
	}
}

static void take(struct source_rig *r, const struct wire_header *h, const uint8_t *body)
{
	switch (h->type) {
	case WIRE_COPY_WANT:
		take_wants(r, body, h->length);
		break;
	case WIRE_COPY_RESULT:
		take_results(r, body, h->length);
		break;
	case WIRE_COPY_FAILURE:
		assert_int_equal(copy_decode_failure(body, h->length, &r->failure), WIRE_OK);
		r->n_failures += r->failure.status != 0;
		r->n_warnings += !r->failure.status;
		break;
	case WIRE_COPY_FINISHED:
		r->finished = true;
		/* fall through */
	case WIRE_COPY_COUNTS:
		assert_int_equal(copy_decode_counts(body, h->length, &r->counts), WIRE_OK);
		break;
	case WIRE_ERROR:
	case WIRE_COPY_CANCEL:
		r->canceled = true;
		assert_int_equal(wire_decode_error(body, h->length, &r->error), WIRE_OK);
		break;
	case WIRE_BYE:
		break;
	default:
		fail_msg("%s", wire_type_name(h->type));
	}
}

/* False: nothing comes any more. */
static bool receive(struct source_rig *r)
{
	struct err why = { 0 };
	struct wire_header h;
	uint8_t *body;

	if (r->over || link_receive(r->channel, 0, &h, &why)) {
		r->over = true;
		return false;
	}
	body = malloc(h.length + 1);
	assert_non_null(body);
	assert_int_equal(link_receive_body(r->channel, &h, body, NULL, &why), 0);
	take(r, &h, body);
	free(body);
	return true;
}

void rig_until_want(struct source_rig *r, uint64_t id, enum copy_how how)
{
	while (r->want[id] != how) {
		assert_int_equal(r->outcome[id], 0);
		assert_true(receive(r));
		assert_false(r->canceled);
	}
	r->want[id] = 0;
}

void rig_until_result(struct source_rig *r, uint64_t id, enum copy_outcome outcome)
{
	while (!r->outcome[id])
		assert_true(receive(r));
	assert_int_equal(r->outcome[id], outcome);
}

void rig_until_canceled(struct source_rig *r)
{
	while (!r->canceled)
		assert_true(receive(r));
}

void rig_cancel(struct source_rig *r)
{
	const struct wire_error e = { .status = XDD_CANCELED, .text = "the test ends it" };
	uint8_t body[WIRE_MAX_ERROR_BYTES];

	link_send_body(r->channel, WIRE_COPY_CANCEL, body, wire_encode_error(&e, body));
}

static int join(struct source_rig *r)
{
	pthread_join(r->thread, NULL);
	link_close(r->inside);
	link_close(r->channel);
	copy_report_close(r->job.report, 0);
	stop_destroy(&r->stop);
	return r->status;
}

void rig_hang_up(struct source_rig *r)
{
	assert_int_equal(shutdown(r->fd, SHUT_RDWR), 0);
	join(r);
}

void rig_send_finish(struct source_rig *r)
{
	const struct copy_counts c = { .walk_done = 1 };
	uint8_t body[WIRE_MAX_HELLO_BYTES];

	link_send_body(r->channel, WIRE_COPY_FINISH, body,
		       copy_encode_counts(&c, body, sizeof(body)));
}

int rig_finish(struct source_rig *r)
{
	rig_send_finish(r);
	while (!r->finished)
		assert_true(receive(r));
	link_send_body(r->channel, WIRE_BYE, NULL, 0);
	while (receive(r))
		;
	return join(r);
}

void rig_assert_counts(const struct source_rig *r, const struct copy_counts *wanted)
{
	static const struct {
		const char *name;
		size_t at;
	} rows[] = {
#define ROW(member_) { #member_, offsetof(struct copy_counts, member_) }
		ROW(offered_files), ROW(offered_bytes), ROW(offered_dirs),  ROW(offered_links),
		ROW(walk_done),	    ROW(done_files),	ROW(done_bytes),    ROW(skipped_files),
		ROW(skipped_bytes), ROW(dirs),		ROW(links),	    ROW(failed),
		ROW(warnings),	    ROW(moved_bytes),	ROW(resumed_bytes), ROW(owners_not_set),
		ROW(status),
#undef ROW
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t got, want;

		memcpy(&got, (const char *)&r->counts + rows[i].at, sizeof(got));
		memcpy(&want, (const char *)wanted + rows[i].at, sizeof(want));
		if (got != want)
			fail_msg("%s: %" PRIu64 ", not %" PRIu64, rows[i].name, got, want);
	}
}

int rig_refused(struct source_rig *r, const char *text)
{
	while (receive(r))
		;
	assert_true(r->canceled);
	if (!strstr(r->error.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, r->error.text);
	assert_int_equal(rig_temporary_files(r), 0);
	return join(r);
}

/* ---- files ---- */

char *rig_path(struct source_rig *r, const char *name, char buf[256])
{
	snprintf(buf, 256, "%s/%s", r->dir, name);
	return buf;
}

bool rig_exists(struct source_rig *r, const char *name)
{
	char path[256];
	struct stat st;

	return lstat(rig_path(r, name, path), &st) == 0;
}

void rig_assert_contents(struct source_rig *r, const char *name, const void *data, size_t size)
{
	char path[256];
	int fd = open(rig_path(r, name, path), O_RDONLY | O_CLOEXEC);
	uint8_t *there = malloc(size + 1);

	assert_true(fd >= 0);
	assert_non_null(there);
	assert_int_equal(read(fd, there, size + 1), size);
	assert_memory_equal(there, data, size);
	free(there);
	close(fd);
}

void rig_write(struct source_rig *r, const char *name, const void *data, size_t size)
{
	char path[256];
	int fd = open(rig_path(r, name, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

static unsigned found;

static int look(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	found += strncmp(path + at->base, COPY_TEMPORARY_PREFIX, strlen(COPY_TEMPORARY_PREFIX)) ==
		 0;
	return 0;
}

unsigned rig_temporary_files(struct source_rig *r)
{
	found = 0;
	nftw(r->dir, look, 16, FTW_PHYS);
	return found;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

void rig_close(struct source_rig *r)
{
	nftw(r->dir, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}
