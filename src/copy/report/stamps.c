/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time stamps of one side of a copy, the processor time of its data threads, and names of files
 * about a copy. Called by source/ and destination/, and for its log by the command xdd copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "copy/report/report.h"
#include "copy/role.h"
#include "xdd/base/file.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/copy/copy.h"
#include "xdd/trace/trace.h"

#define HOST_BYTES 64
#define NAME_BYTES 100

/* The last part of a path; a length of 0: there is none that would do. */
static const char *last_part(const char *path, size_t *length)
{
	size_t end = strlen(path), begin;

	while (end && path[end - 1] == '/')
		end--;
	for (begin = end; begin && path[begin - 1] != '/'; begin--)
		;
	*length = end - begin;
	if (strncmp(path + begin, "..", *length) == 0)
		*length = 0;
	return path + begin;
}

void copy_stem(const char *path, uint64_t begun_s, char stem[COPY_STEM_BYTES])
{
	char host[HOST_BYTES + 1] = "", when[32];
	time_t begun = (time_t)begun_s;
	struct tm tm;
	size_t length;
	const char *name = last_part(path, &length);

	if (gethostname(host, sizeof(host) - 1) || !*host)
		strcpy(host, "localhost");
	if (!length) {
		name = "files";
		length = strlen(name);
	}
	gmtime_r(&begun, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d-%H%M%S", &tm);
	snprintf(stem, COPY_STEM_BYTES, "xddcp-%s-%.*s-%s-GMT", host,
		 (int)(length < NAME_BYTES ? length : NAME_BYTES), name, when);
}

#define HOST_SIZE 256

/* Owned by its thread until that has ended. */
struct table {
	struct trace_entry *entries;
	struct trace_net *net;
	size_t n;
	uint64_t unrecorded;
	int32_t tid;
} __attribute__((aligned(64)));

struct stamps {
	/* const once the threads run */
	const struct copy_job *job;
	enum copy_role side;
	int64_t wall_ns;
	char stem[COPY_STEM_BYTES];
	size_t room; /* of a table */
	unsigned n_tables;
	struct table *tables;

	_Atomic uint64_t next_op; /* atomic: numbers of the records */
	_Atomic bool written;	  /* atomic: no more records */
};

static int new_tables(struct stamps *s, unsigned n)
{
	s->tables = aligned_alloc(64, n * sizeof(*s->tables));
	if (!s->tables)
		return -ENOMEM;
	memset(s->tables, 0, n * sizeof(*s->tables));
	s->room = STAMPS_MAX / n;
	for (; s->n_tables < n; s->n_tables++) {
		struct table *t = &s->tables[s->n_tables];

		/* Pages that are never written take no memory. */
		t->entries = aligned_alloc(64, s->room * sizeof(*t->entries));
		t->net = malloc(s->room * sizeof(*t->net));
		if (!t->entries || !t->net) {
			s->n_tables++;
			return -ENOMEM;
		}
	}
	return 0;
}

int stamps_open(struct stamps **out, const struct copy_job *job, enum copy_role side)
{
	const struct copy_settings *settings = job->settings;
	struct stamps *s;

	*out = NULL;
	if (!settings->stamps && !settings->stamps_binary)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->job = job;
	s->side = side;
	s->wall_ns = clock_wall_offset_ns();
	copy_stem(side == COPY_SOURCE && job->n_sources ? job->sources[0] : job->destination,
		  settings->begun_s, s->stem);
	if (new_tables(s, job->data->n)) {
		stamps_close(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

static uint16_t this_cpu(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 || cpu >= TRACE_NO_CPU ? TRACE_NO_CPU : (uint16_t)cpu;
}

void stamps_add(struct stamps *s, unsigned thread, const struct stamp *stamp)
{
	struct table *t = s ? &s->tables[thread] : NULL;
	const uint16_t cpu = s ? this_cpu() : 0;

	if (!t || atomic_load(&s->written))
		return;
	if (t->n == s->room) {
		t->unrecorded++;
		return;
	}
	if (!t->tid)
		t->tid = gettid();
	t->entries[t->n] = (struct trace_entry){
		.op = atomic_fetch_add_explicit(&s->next_op, 1, memory_order_relaxed),
		.offset_bytes = stamp->offset_bytes,
		.start_ns = stamp->storage_begin_ns,
		.end_ns = stamp->storage_end_ns,
		.size_bytes = stamp->bytes,
		.done_bytes = stamp->bytes,
		.pass = 1,
		.qthread = thread,
		.cpu_start = cpu,
		.cpu_end = cpu,
		.dir = s->side == COPY_SOURCE || s->job->settings->verify ? DIR_READ : DIR_WRITE,
	};
	t->net[t->n] = (struct trace_net){
		.start_ns = stamp->network_begin_ns,
		.end_ns = stamp->network_end_ns,
		.bytes = stamp->network_end_ns ? stamp->bytes : 0,
		.calls = stamp->network_end_ns ? 1 : 0,
		.cpu_start = cpu,
		.cpu_end = cpu,
	};
	t->n++;
}

/* ---- the files ---- */

/* Collect the records, in the order of a trace. `trace` has zeros before. */
static int stamps_collect(const struct stamps *s, struct trace *trace, struct trace_thread *threads)
{
	size_t n = 0, at = 0;

	for (unsigned i = 0; i < s->n_tables; i++)
		n += s->tables[i].n;
	trace->entries = calloc(n + 1, sizeof(struct trace_entry *));
	trace->net = calloc(n + 1, sizeof(struct trace_net *));
	if (!trace->entries || !trace->net)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n_tables; i++) {
		const struct table *t = &s->tables[i];

		for (size_t k = 0; k < t->n && at < n; k++, at++) {
			trace->entries[at] = &t->entries[k];
			trace->net[at] = &t->net[k];
		}
		trace->missing.unrecorded += t->unrecorded;
		if (t->tid)
			threads[trace->n_threads++] = (struct trace_thread){ i, t->tid };
	}
	trace->n = n;
	trace->threads = threads;
	trace->cut = trace->missing.unrecorded > 0;
	return trace_sort(trace->entries, trace->net, n);
}

static int write_report(FILE *f, const struct trace *t)
{
	const struct trace_text all = { .detailed = true, .summary = true };

	return trace_text_write(f, t, &all);
}

static int write_file(const struct stamps *s, int dir_fd, const char *ending,
		      int (*writer)(FILE *f, const struct trace *t), const struct trace *trace,
		      char *name, size_t size)
{
	char path[COPY_STEM_BYTES + 64];
	struct newfile f;
	int err;

	/* Both sides may be on one host, and in one directory. */
	snprintf(name, size, "%s.%s.%s", s->stem, s->side == COPY_SOURCE ? "source" : "destination",
		 ending);
	if (dir_fd == AT_FDCWD)
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir_fd, name);
	/* The source of the copy has chosen names there: a link may lead out of the destination. */
	err = dir_fd == AT_FDCWD ? newfile_open(&f, path) : newfile_open_replace(&f, path);
	return err ? err : newfile_close(&f, writer(f.f, trace));
}

static void stamps_describe(const struct stamps *s, struct trace *t)
{
	const struct copy_settings *settings = s->job->settings;

	t->program = PACKAGE_NAME " " PACKAGE_VERSION;
	t->path = s->side == COPY_SOURCE && s->job->n_sources ? s->job->sources[0] :
								s->job->destination;
	t->command = "";
	t->block_size = 1;
	t->req_bytes = settings->block_bytes;
	t->queue_depth = s->n_tables;
	t->wall_ns = s->wall_ns;
	t->wall_end_ns = clock_wall_offset_ns();
}

/* With the name of the file, as far as it is known, in `name`. Returns 0 or -errno. */
static int write_all(struct stamps *s, int dir_fd, bool partial, char *name, size_t size)
{
	char host[HOST_SIZE] = "", id[2 * WIRE_SESSION_BYTES + 1], information[256];
	struct trace_thread threads[COPY_MAX_CONNECTIONS];
	struct trace trace = {
		.host = host, .id = id, .information = information, .partial = partial
	};
	int err;

	atomic_store(&s->written, true);
	gethostname(host, sizeof(host) - 1);
	/* Both sides of a copy have the same. */
	text_hex(s->job->session, WIRE_SESSION_BYTES, id);
	stamps_describe(s, &trace);
	snprintf(information, sizeof(information), "xddcp: %s, on %.128s\nthe other side: %.64s\n",
		 s->side == COPY_SOURCE ? "the source" : "the destination", host,
		 s->job->peer_host);
	err = stamps_collect(s, &trace, threads);
	if (!err)
		err = write_file(s, dir_fd, "csv", write_report, &trace, name, size);
	if (!err && s->job->settings->stamps_binary)
		err = write_file(s, dir_fd, "bin", trace_dump_write, &trace, name, size);
	free(trace.entries);
	free(trace.net);
	return err;
}

void stamps_write(struct stamps *s, struct role *role, int dir_fd, bool partial)
{
	char name[COPY_STEM_BYTES + 32] = "";
	int err = 0;

	if (s)
		err = dir_fd < 0 && dir_fd != AT_FDCWD ?
			      dir_fd :
			      write_all(s, dir_fd, partial, name, sizeof(name));
	if (err)
		role_fail(role, 0, COPY_FAILED, name, "cannot write the time stamps (%s)",
			  strerror(-err));
}

void stamps_close(struct stamps *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n_tables; i++) {
		free(s->tables[i].entries);
		free(s->tables[i].net);
	}
	free(s->tables);
	free(s);
}

/* ---- processor time ---- */

/* Between two readings, which cost a few system calls. */
#define LEAST_NS (5 * NS_PER_MS)

static uint64_t cpu_use_since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void cpu_use_add(struct cpu_use *u, struct cpu_sums *sums)
{
	const struct cpu_use before = *u;
	const uint64_t now_ns = clock_now_ns();
	struct timespec used;

	if (before.at_ns && now_ns < before.at_ns + LEAST_NS)
		return;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	u->cpu_ns = (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
	u->wait_ns = clock_thread_wait_ns();
	u->at_ns = now_ns;
	if (!before.at_ns)
		return;
	atomic_fetch_add(&sums->cpu_ns, cpu_use_since(u->cpu_ns, before.cpu_ns));
	atomic_fetch_add(&sums->wait_ns, cpu_use_since(u->wait_ns, before.wait_ns));
}
