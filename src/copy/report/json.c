/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON document about a copy; doc/copy.schema.json describes it. Called by report.c, which
 * locks.
 *
 * Failures may be many, so they wait in a temporary file. All is written at the end: the file is
 * complete, or as it was.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "copy/report/report_internal.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/report.h"
#include "xdd/sys/clock.h"

#define JSON_FORMAT_NAME "xdd copy"
#define JSON_FORMAT_VERSION 1

struct copy_json {
	const struct copy_request *request;
	uint64_t started_ns; /* wall clock */
	struct jsonfile out;
	FILE *failures;
	size_t n_failures;
	json_t *notes, *connections;
};

static void discard(struct copy_json *j)
{
	jsonfile_discard(&j->out);
	if (j->failures)
		fclose(j->failures);
	json_decref(j->notes);
	json_decref(j->connections);
	free(j);
}

int copy_json_open(struct copy_json **out, const struct copy_request *request)
{
	const char *path = request->json_path;
	const bool standard = output_standard(path) >= 0;
	struct copy_json *j = calloc(1, sizeof(*j));
	FILE *spool = standard && j ? spool_open(NULL) : NULL;
	int err = standard && !spool ? -errno : 0;

	if (!j)
		return -ENOMEM;
	if (!err)
		err = jsonfile_open(&j->out, path, spool);
	j->request = request;
	j->started_ns = clock_wall_ns();
	j->notes = json_array();
	j->connections = json_array();
	if (!err && (!j->notes || !j->connections))
		err = -ENOMEM;
	if (!err) {
		j->failures = spool_open(standard ? NULL : path);
		err = j->failures ? 0 : -errno;
	}
	if (err) {
		discard(j);
		return err;
	}
	*out = j;
	return 0;
}

static const char *side_name(enum copy_role side)
{
	return side == COPY_SOURCE ? "source" : "destination";
}

void copy_json_failure(struct copy_json *j, enum copy_role side, const struct copy_failure *f)
{
	json_t *o = json_object();

	jvalue_put(o, "side", jvalue_text(side_name(side)));
	jvalue_put(o, "path", jvalue_text(*f->path ? f->path : NULL));
	jvalue_put(o, "text", jvalue_text(f->text));
	jvalue_put(o, "status", jvalue_count(f->status));
	jvalue_put(o, "differs", json_boolean(f->differs));
	fputs(j->n_failures++ ? ",\n" : "\n", j->failures);
	jsonfile_put(&j->out, j->failures, o);
}

void copy_json_forget_failures(struct copy_json *j)
{
	rewind(j->failures);
	if (ftruncate(fileno(j->failures), 0) == 0)
		j->n_failures = 0;
}

void copy_json_note(struct copy_json *j, const char *text)
{
	json_array_append_new(j->notes, jvalue_text(text));
}

void copy_json_connection(struct copy_json *j, const struct connection_info *info)
{
	json_array_append_new(j->connections, jvalue_connection(info));
}

static json_t *place_value(const struct copy_place *p)
{
	json_t *o = json_object();

	jvalue_put(o, "user", jvalue_text(p->user));
	jvalue_put(o, "host", jvalue_text(p->host));
	jvalue_put(o, "path", jvalue_text(p->path));
	return o;
}

static json_t *sources_value(const struct copy_request *r)
{
	json_t *array = json_array();

	for (size_t i = 0; i < r->n_sources; i++)
		json_array_append_new(array, place_value(&r->sources[i]));
	return array;
}

static json_t *settings_value(const struct copy_settings *s)
{
	json_t *o = json_object();

	jvalue_put(o, "recursive", json_boolean(s->recursive));
	jvalue_put(o, "preserve", json_boolean(s->everything));
	jvalue_put(o, "verify", json_boolean(s->verify));
	jvalue_put(o, "contents", json_boolean(s->compare_contents));
	jvalue_put(o, "dryrun", json_boolean(s->dry_run));
	jvalue_put(o, "in_place", json_boolean(s->in_place));
	jvalue_put(o, "resume", json_boolean(s->resume));
	jvalue_put(o, "list", json_boolean(s->list));
	jvalue_put(o, "ordered_source", json_boolean(s->ordered_source));
	jvalue_put(o, "ordered_destination", json_boolean(s->ordered_destination));
	jvalue_put(o, "direct_source", json_boolean(s->direct_source));
	jvalue_put(o, "direct_destination", json_boolean(s->direct_destination));
	jvalue_put(o, "encrypt", json_boolean(s->encrypt));
	jvalue_put(o, "connections", jvalue_count(s->connections));
	jvalue_put(o, "block_bytes", jvalue_count(s->block_bytes));
	jvalue_put(o, "size_bytes",
		   s->size_bytes == UINT64_MAX ? json_null() : jvalue_count(s->size_bytes));
	jvalue_put(o, "timeout_ns", jvalue_count(s->timeout_ns));
	return o;
}

/* The counters of a side. */
static json_t *side_value(const struct copy_counts *c, const struct copy_shares *shares)
{
	json_t *o = json_object();

	jvalue_put(o, "offered_files", jvalue_count(c->offered_files));
	jvalue_put(o, "offered_bytes", jvalue_count(c->offered_bytes));
	jvalue_put(o, "offered_directories", jvalue_count(c->offered_dirs));
	jvalue_put(o, "offered_links", jvalue_count(c->offered_links));
	jvalue_put(o, "all_offered", json_boolean(c->walk_done));
	jvalue_put(o, "files", jvalue_count(c->done_files));
	jvalue_put(o, "bytes", jvalue_count(c->done_bytes));
	jvalue_put(o, "skipped_files", jvalue_count(c->skipped_files));
	jvalue_put(o, "skipped_bytes", jvalue_count(c->skipped_bytes));
	jvalue_put(o, "directories", jvalue_count(c->dirs));
	jvalue_put(o, "links", jvalue_count(c->links));
	jvalue_put(o, "failed", jvalue_count(c->failed));
	jvalue_put(o, "warnings", jvalue_count(c->warnings));
	jvalue_put(o, "moved_bytes", jvalue_count(c->moved_bytes));
	jvalue_put(o, "resumed_bytes", jvalue_count(c->resumed_bytes));
	jvalue_put(o, "owners_not_set", jvalue_count(c->owners_not_set));
	jvalue_put(o, "storage_ns", jvalue_count(c->storage_ns));
	jvalue_put(o, "network_ns", jvalue_count(c->network_ns));
	jvalue_put(o, "waiting_ns", jvalue_count(c->waiting_ns));
	jvalue_put(o, "checking_ns", jvalue_count(c->checking_ns));
	jvalue_put(o, "flush_ns", jvalue_count(c->flush_ns));
	jvalue_put(o, "cpu_ns", jvalue_count(c->cpu_ns));
	jvalue_put(o, "cpu_wait_ns", jvalue_count(c->cpu_wait_ns));
	jvalue_put(o, "cpu_quota_ns", jvalue_count(c->quota_ns));
	jvalue_put(o, "transit_ns", jvalue_count(c->transit_ns));
	jvalue_put(o, "status", jvalue_count(c->status));
	jvalue_put(o, "shares", jvalue_shares(shares));
	return o;
}

static const char *end_name(int status)
{
	if (status == XDD_CANCELED)
		return "canceled";
	return status ? "errors" : "normal";
}

static double rate(const struct copy_state *s)
{
	const struct copy_settings *settings = &s->request->settings;
	double bytes = (double)(settings->verify ? s->source.done_bytes : state_data_bytes(s));

	return s->elapsed_ns ? bytes * (double)NS_PER_SEC / (double)s->elapsed_ns : 0;
}

static json_t *document(struct copy_json *j, const struct copy_state *s)
{
	struct copy_bottleneck b = bottleneck_of(s);
	const struct copy_request *r = j->request;
	json_t *o = json_object();

	jvalue_put(o, "format", jvalue_text(JSON_FORMAT_NAME));
	jvalue_put(o, "version", jvalue_count(JSON_FORMAT_VERSION));
	jvalue_put(o, "xdd", jvalue_text(PACKAGE_VERSION));
	jvalue_put(o, "command_line", jvalue_text(r->command));
	jvalue_put(o, "start_time", jvalue_time(j->started_ns));
	jvalue_put(o, "end_time", jvalue_time(clock_wall_ns()));
	jvalue_put(o, "sources", sources_value(r));
	jvalue_put(o, "destination", place_value(&r->destination));
	jvalue_put(o, "settings", settings_value(&r->settings));
	jvalue_put(o, "status", jvalue_count((uint64_t)s->status));
	jvalue_put(o, "end", jvalue_text(end_name(s->status)));
	jvalue_put(o, "elapsed_ns", jvalue_count(s->elapsed_ns));
	jvalue_put(o, "bytes_per_s", jvalue_real(rate(s)));
	jvalue_put(o, "would_copy_files", jvalue_count(s->would_files));
	jvalue_put(o, "would_copy_bytes", jvalue_count(s->would_bytes));
	jvalue_put(o, "encrypted", json_boolean(r->settings.encrypt && !s->inside));
	jvalue_put(o, "through_ssh", json_boolean(s->inside));
	jvalue_put(o, "bottleneck", jvalue_text(copy_verdict_name(&b.verdict)));
	jvalue_put(o, "bottleneck_between", jvalue_between(&b.verdict));
	jvalue_put(o, "source_side", side_value(&s->source, &b.source));
	jvalue_put(o, "destination_side", side_value(&s->destination, &b.destination));
	jvalue_put(o, "connections", json_incref(j->connections));
	jvalue_put(o, "notes", json_incref(j->notes));
	jvalue_put(o, "messages", jvalue_messages());
	jvalue_put(o, "messages_left_out", jvalue_count(log_not_kept()));
	return o;
}

/* The object, with the failures as its last member. */
static void write_document(struct copy_json *j, const struct copy_state *s)
{
	json_t *o = document(j, s);
	char *text = o ? jvalue_dump(o, JVALUE_FORMAT) : NULL;
	size_t length = text ? strlen(text) : 0;

	json_decref(o);
	/* Without its brace. */
	if (length)
		fwrite(text, 1, length - 1, j->out.f);
	else
		jsonfile_fail(&j->out, ENOMEM);
	free(text);
	jsonfile_put_array(&j->out, "failures", j->failures);
	fputs("}\n", j->out.f);
}

int copy_json_close(struct copy_json *j, const struct copy_state *s)
{
	int err;

	if (!j)
		return 0;
	write_document(j, s);
	err = jsonfile_close(&j->out);
	discard(j);
	return err;
}
