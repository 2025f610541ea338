/*
 * The results of a run on many hosts: multi.h. Called by multi.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/multi.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/report/combine.h"
#include "xdd/report/jvalue.h"

/* Exit statuses of shells, and of ssh itself. */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127
#define STATUS_SIGNAL 128
#define STATUS_SSH 255

/* A start that is later than this is worth a warning. */
#define LATE_NS (10 * NS_PER_MS)

/* ---- files of -out ---- */

static char *out_path(const struct multi *m, const struct multi_rank *r, const char *ending)
{
	return arena_printf(m->arena, "%s/%s%s", m->line.out, r->label, ending);
}

static enum xdd_status bad_file(const char *option, const char *path, int err)
{
	log_error("multi -%s %s: %s", option, path, output_strerror(err));
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status open_log(const struct multi *m, struct multi_rank *r)
{
	char *path = out_path(m, r, ".log");
	int fd = path ? output_open(path, O_TRUNC) : -ENOMEM;

	if (fd < 0)
		return bad_file("out", path ? path : m->line.out, fd);
	r->log = fdopen(fd, "w");
	if (r->log)
		return XDD_OK;
	close(fd);
	return bad_file("out", path, ENOMEM);
}

enum xdd_status multi_result_open(struct multi *m)
{
	enum xdd_status status = XDD_OK;
	char why[OUTPUT_WHY_SIZE];

	if (m->line.json && output_check_new(m->line.json, why)) {
		log_error("multi -jsonout %s: %s", m->line.json, why);
		return XDD_BAD_ARGUMENT;
	}
	if (command_same_file(m->line.json, m->line.host_file)) {
		log_error("multi -jsonout %s: is the file of -hostfile; use another file",
			  m->line.json);
		return XDD_BAD_ARGUMENT;
	}
	if (!m->line.out)
		return XDD_OK;
	if (mkdir(m->line.out, 0777) && errno != EEXIST)
		return bad_file("out", m->line.out, errno);
	for (size_t i = 0; i < m->n && !status; i++)
		status = open_log(m, &m->ranks[i]);
	return status;
}

/* Write `size` bytes, or the document `json`, to a new file. Returns 0 or -errno. */
static int write_file(const char *path, const char *bytes, size_t size, const json_t *json)
{
	struct newfile f;
	int err = newfile_open(&f, path);

	if (err)
		return err;
	if (json)
		err = !json_dumpf(json, f.f, JVALUE_FORMAT) ? 0 : ferror(f.f) ? -EIO : -ENOMEM;
	else
		fwrite(bytes, 1, size, f.f);
	if (json)
		fputc('\n', f.f);
	return newfile_close(&f, ferror(f.f) ? -EIO : err);
}

static enum xdd_status keep_document(const struct multi *m, const struct multi_rank *r)
{
	char *path;
	int err;

	if (!m->line.out || !r->document_bytes)
		return XDD_OK;
	path = out_path(m, r, ".json");
	err = path ? write_file(path, r->document, r->document_bytes, NULL) : -ENOMEM;
	if (!err)
		return XDD_OK;
	bad_file("out", path ? path : m->line.out, err);
	return XDD_IO_ERROR;
}

/* ---- one rank ---- */

/* True if xdd refused the start time, because it was over when xdd began there. */
static bool was_late(const struct multi *m, const struct multi_rank *r)
{
	bool late = false;

	for (size_t i = 0; m->start_time && !r->answered && i < MULTI_LAST_LINES; i++)
		late |= r->last[i] && strstr(r->last[i], "-starttime ") &&
			strstr(r->last[i], " in the past");
	return late;
}

static void set_why(const struct multi *m, struct multi_rank *r)
{
	const char *name = m->launcher->name;

	if (was_late(m, r)) {
		snprintf(r->why, sizeof(r->why),
			 "was reached after the start time; use a longer -startin");
		r->status = XDD_TARGET_FAILED;
	} else if (r->status == 0 || (m->interrupted && r->status == XDD_CANCELED))
		snprintf(r->why, sizeof(r->why), "%s", r->json ? "" : "sent no results");
	else if (r->status == STATUS_SSH)
		snprintf(r->why, sizeof(r->why), "%s cannot reach it, or is not let in", name);
	else if (r->status == STATUS_NOT_FOUND || r->status == STATUS_NOT_EXECUTABLE)
		snprintf(r->why, sizeof(r->why),
			 "cannot start \"%.128s\" there; install xdd there, or give its path with "
			 "-remotexdd",
			 m->remote_xdd);
	else if (r->status > STATUS_SIGNAL)
		snprintf(r->why, sizeof(r->why), "%s was ended by signal %d", name,
			 r->status - STATUS_SIGNAL);
	else
		snprintf(r->why, sizeof(r->why), "ended with status %d", r->status);
}

/* The documents of the others are kept, whatever is wrong with this one. */
static void check_document(const struct multi *m, struct multi_rank *r)
{
	const char *id = json_string_value(json_object_get(r->json, "run_id"));
	const json_t *rank = json_object_get(r->json, "rank");
	const char *why = NULL;

	if (!combine_check(r->json, r->label, m->n))
		why = "sent results that cannot be combined";
	else if (!id || strcmp(id, m->run_id) != 0 || json_integer_value(rank) != r->number ||
		 json_integer_value(json_object_get(r->json, "ranks")) != (json_int_t)m->n)
		why = "sent results of another run or rank";
	if (!why)
		return;
	if (!*r->why)
		snprintf(r->why, sizeof(r->why), "%s", why);
	json_decref(r->json);
	r->json = NULL;
}

static void read_document(const struct multi *m, struct multi_rank *r)
{
	const unsigned long lost = jvalue_lost();
	json_error_t error;

	if (r->document_bytes)
		r->json = jvalue_parse(r->document, r->document_bytes, JSON_REJECT_DUPLICATES,
				       &error);
	if (jvalue_lost() != lost && !*r->why)
		snprintf(r->why, sizeof(r->why), "its results cannot be read: %s",
			 strerror(ENOMEM));
	if (r->document_bytes && !r->json && !*r->why)
		snprintf(r->why, sizeof(r->why), MULTI_NOISE_TEXT);
	if (r->json)
		check_document(m, r);
	if (!*r->why)
		set_why(m, r);
	free(r->document);
	r->document = NULL;
}

static enum xdd_status worse(enum xdd_status a, enum xdd_status b)
{
	return a > b ? a : b;
}

/* The status of a rank among those of xdd; that of one without results is no better than 4. */
static enum xdd_status status_of(const struct multi *m, const struct multi_rank *r)
{
	enum xdd_status status = XDD_OK;

	if (r->status > XDD_OK && r->status <= XDD_MISCOMPARE)
		status = (enum xdd_status)r->status;
	else if (m->interrupted)
		status = XDD_CANCELED;
	return *r->why && !r->json ? worse(status, XDD_TARGET_FAILED) : status;
}

static void report_rank(const struct multi_rank *r)
{
	size_t n = r->n_lines < MULTI_LAST_LINES ? r->n_lines : MULTI_LAST_LINES;
	json_int_t late_ns =
		json_integer_value(json_object_get(json_object_get(r->json, "start"), "late_ns"));

	if (late_ns > (json_int_t)LATE_NS)
		log_warning("multi: %s: started %.3f s late; use a longer -startin", r->label,
			    (double)late_ns / NS_PER_SEC);
	if (!*r->why)
		return;
	log_error("multi: %s: %s%s", r->label, r->why, n ? "; its last messages:" : "");
	for (size_t i = r->n_lines - n; i < r->n_lines; i++)
		if (r->last[i % MULTI_LAST_LINES])
			log_error("multi: %s:   %s", r->label, r->last[i % MULTI_LAST_LINES]);
}

/* ---- all of them ---- */

/* The documents that there are as one. NULL: there is none, reported. */
static json_t *combine(const struct multi *m, size_t *n)
{
	json_t **docs = arena_alloc(m->arena, m->n * sizeof(*docs));
	const char **names = arena_alloc(m->arena, m->n * sizeof(*names));
	const char **hosts = arena_alloc(m->arena, m->n * sizeof(*hosts));
	const struct combine_options options = { .rank_hosts = hosts, .n_rank_hosts = m->n };

	*n = 0;
	for (size_t i = 0; i < m->n && docs && names && hosts; i++) {
		hosts[i] = m->ranks[i].host->name;
		if (m->ranks[i].json) {
			docs[*n] = m->ranks[i].json;
			names[(*n)++] = m->ranks[i].label;
		}
	}
	if (*n)
		return combine_documents(docs, names, *n, &options);
	log_error("multi: no host has sent results");
	return NULL;
}

static enum xdd_status write_json(const struct multi *m, const json_t *all)
{
	int err = write_file(m->line.json, NULL, 0, all);

	if (!err)
		return XDD_OK;
	bad_file("jsonout", m->line.json, err);
	return XDD_IO_ERROR;
}

/* The printed results are incomplete. */
static enum xdd_status no_memory(void)
{
	log_error("multi: %s; the results are incomplete", strerror(ENOMEM));
	return XDD_IO_ERROR;
}

/* The document is last, so that it has the status of all. Returns that status. */
static enum xdd_status print(const struct multi *m, json_t *all, enum xdd_status status)
{
	bool json = m->line.json && output_standard(m->line.json) == STDOUT_FILENO;

	if (!json) {
		if (combine_print_text(all, stdout) == -ENOMEM)
			status = worse(status, no_memory());
		status = command_flush() ? status : worse(status, XDD_IO_ERROR);
	}
	if (combine_set_status(all, status))
		return worse(status, no_memory());
	if (json) {
		if (json_dumpf(all, stdout, JVALUE_FORMAT) && !ferror(stdout))
			status = worse(status, no_memory());
		putchar('\n');
		return command_flush() ? status : worse(status, XDD_IO_ERROR);
	}
	return m->line.json ? worse(status, write_json(m, all)) : status;
}

enum xdd_status multi_result(struct multi *m)
{
	enum xdd_status status = m->interrupted ? XDD_CANCELED : XDD_OK;
	json_t *all;
	size_t n;

	for (size_t i = 0; i < m->n; i++) {
		struct multi_rank *r = &m->ranks[i];

		status = worse(status, keep_document(m, r));
		read_document(m, r);
		report_rank(r);
		status = worse(status, status_of(m, r));
	}
	all = combine(m, &n);
	if (!all)
		return worse(status, XDD_TARGET_FAILED);
	if (n < m->n)
		log_warning("multi: the results are those of %zu of %zu ranks", n, m->n);
	status = worse(status, (enum xdd_status)json_integer_value(json_object_get(all, "status")));
	status = print(m, all, status);
	json_decref(all);
	return status;
}

void multi_result_free(struct multi *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct multi_rank *r = &m->ranks[i];

		json_decref(r->json);
		free(r->document);
		for (size_t k = 0; k < MULTI_LAST_LINES; k++)
			free(r->last[k]);
		if (r->log)
			fclose(r->log);
	}
}
