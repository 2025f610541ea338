/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See the header. The walk and the report of this file replace those of the program.
 */
#include "copy_source_rig.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "copy/report/report.h"
#include "copy/source/source.h"
#include "copy/tree/meta.h"
#include "copy/tree/walk.h"
#include "net_rig.h"
#include "xdd/base/units.h"

/* ---- the walk: walk.h. The first source is the address of the rig ---- */

struct walk {
	struct rig *rig;
};

int walk_open(struct walk **w, const struct copy_settings *settings, const char *const *sources,
	      size_t n, struct err *why)
{
	(void)settings;
	(void)n;
	(void)why;
	*w = calloc(1, sizeof(**w));
	assert_non_null(*w);
	assert_int_equal(sscanf(sources[0], "%p", (void **)&(*w)->rig), 1);
	return 0;
}

void walk_close(struct walk *w)
{
	free(w);
}

static void find_file(struct rig *r, struct walk_found *found, const char *name)
{
	assert_int_equal(fstatat(r->dir_fd, name, &found->st, 0), 0);
	found->entry.name = name;
	found->entry.size_bytes = (uint64_t)found->st.st_size;
}

bool walk_next(struct walk *w, struct walk_found *found)
{
	struct rig *r = w->rig;
	uint64_t n = 0;

	while (r->names && r->names[n])
		n++;
	memset(found, 0, sizeof(*found));
	if (r->walk_at == n + r->generated && r->hangs) {
		pthread_mutex_lock(&r->lock);
		r->hung = true;
		pthread_cond_broadcast(&r->changed);
		while (r->hung)
			pthread_cond_wait(&r->changed, &r->lock);
		pthread_mutex_unlock(&r->lock);
		return false;
	}
	if (r->walk_at == n + r->generated + 1)
		return false;
	if (r->walk_at == n + r->generated) {
		r->walk_at++;
		found->entry.kind = COPY_END;
		return true;
	}
	found->entry.kind = COPY_FILE;
	found->entry.flags = r->flags;
	found->entry.mode = 0644;
	if (r->walk_at < n)
		find_file(r, found, r->names[r->walk_at]);
	else
		found->entry.name = "generated";
	found->name = found->entry.name;
	found->entry.id = ++r->walk_at;
	found->dirs = r->dirs;
	found->dir = dirs_root(r->dirs);
	dirs_hold(found->dirs, found->dir);
	return true;
}

void walk_leave_out(struct walk *w, uint64_t dev, uint64_t ino)
{
	(void)w;
	(void)dev;
	(void)ino;
}

void walk_avoid(struct walk *w, const char *journal, const char *made)
{
	(void)w;
	(void)journal;
	(void)made;
}

/* ---- attributes: meta.h. There are none ---- */

int meta_read(int fd, int dir_fd, const char *name, struct meta_set *set)
{
	(void)fd;
	(void)dir_fd;
	(void)name;
	(void)set;
	return 0;
}

void meta_set_free(struct meta_set *set)
{
	(void)set;
}

struct meta_names *meta_names_new(void)
{
	return NULL;
}

void meta_names_free(struct meta_names *k)
{
	(void)k;
}

bool meta_owner_before(struct meta_names *k, const struct copy_entry *e, struct copy_entry *owner)
{
	(void)k;
	(void)e;
	(void)owner;
	return false;
}

/* ---- the report: report.h. It is the rig ---- */

void copy_report_counts(struct copy_report *report, enum copy_role side,
			const struct copy_counts *c)
{
	(void)report;
	(void)side;
	(void)c;
}

void copy_report_failure(struct copy_report *report, enum copy_role side,
			 const struct copy_failure *f)
{
	struct rig *r = (struct rig *)report;

	if (side != COPY_SOURCE)
		return;
	pthread_mutex_lock(&r->lock);
	r->n_failures++;
	snprintf(r->failure, sizeof(r->failure), "%.200s: %.200s", f->path, f->text);
	pthread_mutex_unlock(&r->lock);
}

void copy_report_offer(struct copy_report *report, const uint8_t *offer, size_t length)
{
	(void)report;
	(void)offer;
	(void)length;
}

void copy_report_results(struct copy_report *report, const uint8_t *results, size_t length)
{
	(void)report;
	(void)results;
	(void)length;
}

/* ---- files ---- */

uint8_t *rig_contents(size_t size, unsigned seed)
{
	uint8_t *data = malloc(size + 1);

	assert_non_null(data);
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 7 + i / 251 + seed);
	return data;
}

void rig_file(struct rig *r, const char *name, size_t size, unsigned seed)
{
	int fd = openat(r->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	uint8_t *data = rig_contents(size, seed);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	close(fd);
	free(data);
}

void rig_init(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->settings = (struct copy_settings){
		.recursive = true,
		.connections = 4,
		.block_bytes = RIG_BLOCK_BYTES,
		.size_bytes = UINT64_MAX,
		.timeout_ns = 20 * NS_PER_SEC,
	};
	r->n_links = 4;
	snprintf(r->dir, sizeof(r->dir), "/tmp/test_copy_source.XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	r->dir_fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(r->dir_fd >= 0);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->body = malloc(WIRE_MAX_BODY_BYTES);
	assert_non_null(r->body);
}

/* ---- data connections ---- */

static void keep_message(struct rig *r, const struct rig_message *m)
{
	pthread_mutex_lock(&r->lock);
	r->messages = reallocarray(r->messages, r->n_messages + 1, sizeof(*m));
	r->messages[r->n_messages++] = *m;
	pthread_cond_broadcast(&r->changed);
	while (r->hold)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

struct receiver {
	struct rig *r;
	unsigned number;
};

static void *receive(void *arg)
{
	struct receiver *self = arg;
	struct rig *r = self->r;
	struct wire_header h;

	while (link_receive(r->peers[self->number], COPY_MAX_BLOCK_BYTES, &h, NULL) == 0) {
		struct rig_message m = { .type = h.type,
					 .id = copy_block_id(&h),
					 .offset = h.offset,
					 .link = self->number,
					 .body = malloc(h.length + 1),
					 .length = h.length };

		if (link_receive_body(r->peers[self->number], &h, m.body, NULL, NULL)) {
			free(m.body);
			break;
		}
		keep_message(r, &m);
	}
	free(self);
	return NULL;
}

void rig_hold(struct rig *r, bool hold)
{
	pthread_mutex_lock(&r->lock);
	r->hold = hold;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static struct wire_key *key_of(uint8_t byte)
{
	struct net_key key = rig_key(byte);

	return wire_key_new(key.bytes);
}

static void open_links(struct rig *r)
{
	static const struct connection_options options = { .timeout_ns = 20 * NS_PER_SEC,
							   .send_buffer_bytes = 64u << 10,
							   .receive_buffer_bytes = 64u << 10 };

	for (unsigned i = 0; i < r->n_links; i++) {
		struct receiver *self = malloc(sizeof(*self));
		struct rig_pair p;

		rig_pair(&p, "127.0.0.1", &options, NULL, NULL);
		r->links.links[i] = link_on_connection(p.client, key_of(1), i);
		r->peers[i] = link_on_connection(p.server, key_of(1), i);
		assert_non_null(r->links.links[i]);
		assert_non_null(r->peers[i]);
		*self = (struct receiver){ r, i };
		assert_int_equal(pthread_create(&r->receivers[i], NULL, receive, self), 0);
	}
	r->links.n = r->n_links;
}

static void *run_source(void *arg)
{
	struct rig *r = arg;

	r->status = copy_source_run(r->opened);
	copy_source_close(r->opened);
	return NULL;
}

void rig_start(struct rig *r)
{
	static char address[32];
	static const char *sources[] = { address };
	int fds[2];

	snprintf(address, sizeof(address), "%p", (void *)r);
	r->dirs = dirs_new(fcntl(r->dir_fd, F_DUPFD_CLOEXEC, 0), 0);
	assert_non_null(r->dirs);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	r->job.channel = link_on_fds(fds[0], fds[0], r->settings.timeout_ns);
	r->channel = link_on_fds(fds[1], fds[1], r->settings.timeout_ns);
	r->fd = fds[1];
	assert_non_null(r->job.channel);
	assert_non_null(r->channel);
	open_links(r);
	stop_init(&r->stop);
	r->job.settings = &r->settings;
	r->job.sources = sources;
	r->job.n_sources = 1;
	r->job.peer_host = "there";
	r->job.data = &r->links;
	r->job.report = (struct copy_report *)r;
	r->job.stop = &r->stop;
	assert_int_equal(copy_source_open(&r->opened, &r->job), 0);
	assert_int_equal(pthread_create(&r->source, NULL, run_source, r), 0);
}

void rig_lose(struct rig *r)
{
	assert_int_equal(shutdown(r->fd, SHUT_RDWR), 0);
}

int rig_end(struct rig *r)
{
	char command[128];

	rig_hold(r, false);
	pthread_join(r->source, NULL);
	for (unsigned i = 0; i < r->n_links; i++) {
		link_close(r->links.links[i]);
		pthread_join(r->receivers[i], NULL);
		link_close(r->peers[i]);
	}
	link_close(r->job.channel);
	link_close(r->channel);
	stop_destroy(&r->stop);
	dirs_free(r->dirs);
	close(r->dir_fd);
	for (size_t i = 0; i < r->n_messages; i++)
		free(r->messages[i].body);
	free(r->messages);
	free(r->body);
	snprintf(command, sizeof(command), "rm -rf %s", r->dir);
	assert_int_equal(system(command), 0);
	return r->status;
}

void rig_await_data(struct rig *r)
{
	pthread_mutex_lock(&r->lock);
	while (!r->n_messages)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

void rig_await_hung(struct rig *r)
{
	pthread_mutex_lock(&r->lock);
	while (!r->hung)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

void rig_let_go(struct rig *r)
{
	pthread_mutex_lock(&r->lock);
	r->hung = false;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

size_t rig_unanswered(struct rig *r)
{
	struct source *s = r->opened;
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = s->books.n;
	pthread_mutex_unlock(&s->lock);
	return n;
}

unsigned rig_threads(struct rig *r)
{
	struct source *s = r->opened;
	unsigned n;

	pthread_mutex_lock(&s->lock);
	n = s->running;
	pthread_mutex_unlock(&s->lock);
	return n;
}

/* ---- the channel ---- */

bool rig_any(struct rig *r)
{
	do {
		if (link_receive(r->channel, 0, &r->h, NULL) ||
		    link_receive_body(r->channel, &r->h, r->body, NULL, NULL))
			return false;
		r->failures_sent += r->h.type == WIRE_COPY_FAILURE;
	} while (r->h.type == WIRE_COPY_COUNTS || r->h.type == WIRE_COPY_FAILURE);
	return true;
}

void rig_next(struct rig *r, enum wire_type expected)
{
	if (!rig_any(r))
		fail_msg("the channel has ended, not %s", wire_type_name(expected));
	if (r->h.type != expected)
		fail_msg("%s, not %s", wire_type_name(r->h.type), wire_type_name(expected));
}

void rig_want(struct rig *r, uint64_t id, enum copy_how how, const struct extent *missing, size_t n)
{
	struct copy_want w = { .id = id, .how = how, .ranges = missing, .n_ranges = n };
	uint8_t out[1024];
	size_t length = copy_encode_want(&w, out, sizeof(out));

	assert_true(length > 0);
	assert_int_equal(link_send_body(r->channel, WIRE_COPY_WANT, out, length), 0);
}

void rig_result(struct rig *r, uint64_t id, enum copy_outcome outcome)
{
	struct copy_result result = { id, outcome };
	uint8_t out[64];
	size_t length = copy_encode_result(&result, out, sizeof(out));

	assert_int_equal(link_send_body(r->channel, WIRE_COPY_RESULT, out, length), 0);
}

uint64_t rig_offers(struct rig *r)
{
	struct copy_cursor *c = malloc(sizeof(*c));
	struct copy_entry e = { .kind = COPY_FILE };
	uint64_t n = 0;
	bool more;

	while (e.kind != COPY_END) {
		rig_next(r, WIRE_COPY_OFFER);
		c->in = dec_begin(r->body, r->h.length);
		for (;;) {
			assert_int_equal(copy_decode_entry(c, &e, &more), WIRE_OK);
			if (!more || e.kind == COPY_END)
				break;
			assert_int_equal(e.id, ++n);
		}
	}
	free(c);
	return n;
}

void rig_finish(struct rig *r, uint64_t files, uint64_t bytes)
{
	struct copy_counts c = { .done_files = files, .done_bytes = bytes };
	uint8_t out[WIRE_MAX_HELLO_BYTES];

	rig_next(r, WIRE_COPY_FINISH);
	assert_int_equal(copy_decode_counts(r->body, r->h.length, &r->sent), WIRE_OK);
	assert_int_equal(link_send_body(r->channel, WIRE_COPY_FINISHED, out,
					copy_encode_counts(&c, out, sizeof(out))),
			 0);
	rig_next(r, WIRE_BYE);
	assert_int_equal(link_send_body(r->channel, WIRE_BYE, NULL, 0), 0);
}

void rig_expect_error(struct rig *r, const char *text)
{
	struct wire_error e;

	while (rig_any(r) && r->h.type != WIRE_ERROR)
		;
	assert_int_equal(r->h.type, WIRE_ERROR);
	assert_int_equal(wire_decode_error(r->body, r->h.length, &e), WIRE_OK);
	if (!strstr(e.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, e.text);
}

/* ---- what has arrived ---- */

/* Find what `take` accepts in the messages, or wait for it. */
static void find_message(struct rig *r, bool (*take)(const struct rig_message *m, void *arg),
			 void *arg)
{
	size_t i = 0;

	pthread_mutex_lock(&r->lock);
	for (;; i++) {
		while (i == r->n_messages)
			pthread_cond_wait(&r->changed, &r->lock);
		if (take(&r->messages[i], arg))
			break;
	}
	pthread_mutex_unlock(&r->lock);
}

struct search {
	uint64_t id;
	struct copy_file_end end;
	struct copy_bundle_file file;
};

static bool is_end(const struct rig_message *m, void *arg)
{
	struct search *s = arg;

	return m->type == WIRE_COPY_FILE_END &&
	       copy_decode_file_end(m->body, m->length, &s->end) == WIRE_OK && s->end.id == s->id;
}

/* BLOCK and SUMS of a file that have arrived. */
static uint64_t count_messages(const struct rig *r, uint64_t id)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_messages; i++) {
		const struct rig_message *m = &r->messages[i];
		struct wire_sums sums = { .id = 0 };

		if (m->type == WIRE_COPY_SUMS)
			copy_decode_sums(m->body, m->length, &sums);
		n += (m->type == WIRE_COPY_BLOCK && m->id == id) ||
		     (m->type == WIRE_COPY_SUMS && sums.id == id);
	}
	return n;
}

struct copy_file_end rig_file_end(struct rig *r, uint64_t id)
{
	struct search s = { .id = id };

	find_message(r, is_end, &s);
	pthread_mutex_lock(&r->lock);
	while (count_messages(r, id) < s.end.messages)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
	return s.end;
}

static bool has_record(const struct rig_message *m, void *arg)
{
	struct search *s = arg;
	struct decoder c = dec_begin(m->body, m->length);
	bool more = true;

	if (m->type != WIRE_COPY_BUNDLE)
		return false;
	while (more) {
		assert_int_equal(copy_decode_bundle(&c, &s->file, &more), WIRE_OK);
		if (more && s->file.id == s->id)
			return true;
	}
	return false;
}

struct copy_bundle_file rig_record(struct rig *r, uint64_t id)
{
	struct search s = { .id = id };

	find_message(r, has_record, &s);
	return s.file;
}

uint64_t rig_blocks(struct rig *r, uint64_t id, uint8_t *out, size_t size)
{
	struct extents got = { .n = 0 };
	uint64_t bytes;

	memset(out, 0, size);
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n_messages; i++) {
		const struct rig_message *m = &r->messages[i];

		if (m->type != WIRE_COPY_BLOCK || m->id != id)
			continue;
		assert_true(m->offset + m->length <= size);
		assert_int_equal(extents_add_new(&got, m->offset, m->offset + m->length), 0);
		memcpy(out + m->offset, m->body, m->length);
	}
	pthread_mutex_unlock(&r->lock);
	bytes = got.total;
	extents_clear(&got);
	return bytes;
}
