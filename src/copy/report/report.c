/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report of a copy; see the header. Called by copy.c, server.c and both roles.
 */
#include "copy/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/report/report_internal.h"
#include "copy/role.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/net/wire.h"
#include "xdd/report/report.h"
#include "xdd/sync/ticker.h"
#include "xdd/sys/clock.h"

#define REDRAW_NS (NS_PER_SEC / 4)
#define LINE_NS (5 * NS_PER_SEC)
#define MAX_LINES 100	/* of failures, and of warnings, on standard error */
#define MAX_TOLD 100000 /* lines of failures that later attempts do not repeat */

struct copy_report {
	/* const after copy_report_open() */
	const struct copy_request *request; /* NULL: of a server */
	bool json_is_stdout;

	/* the main thread's */
	struct ticker drawing;

	struct names *names; /* NULL: nothing lists entries. Const during an attempt */

	pthread_mutex_t lock;
	/* guarded by lock */
	struct copy_state state;
	uint64_t begun_ns; /* 0: not yet */
	struct progress progress;
	struct logfile *log;
	struct copy_json *json;
	struct outfile out; /* standard output */
	FILE *listed;	    /* of -n; NULL: nothing */
	int list_error;	    /* errno */
	bool offered;	    /* the source has named something */
	int lost;	    /* the worst status of RESULTs that need a reason; 0: none */

	/*
	 * digests of the lines of failures and warnings; the digests of earlier attempts are sorted
	 */
	uint64_t *told;
	size_t n_told, n_before;
};

/* ---- opening ---- */

static int open_log(struct copy_report *r)
{
	int err = logfile_open(&r->log, r->request);

	if (!err)
		return XDD_OK;
	log_error("-log %s: cannot write (%s)", r->request->log_path, output_strerror(err));
	return COPY_BAD_ARGUMENTS;
}

static int open_json(struct copy_report *r)
{
	const char *path = r->request->json_path;
	char why[OUTPUT_WHY_SIZE];
	int err = output_check_new(path, why);

	if (!err) {
		err = copy_json_open(&r->json, r->request);
		snprintf(why, sizeof(why), "%s", output_strerror(err));
	}
	if (!err)
		return XDD_OK;
	log_error("-jsonout %s: cannot write (%s)", path, why);
	return COPY_BAD_ARGUMENTS;
}

static int open_outputs(struct copy_report *r)
{
	const struct copy_request *q = r->request;
	int status = XDD_OK;

	r->json_is_stdout = q->json_path && output_standard(q->json_path) == STDOUT_FILENO;
	r->state.request = q;
	if (outfile_open(&r->out, NULL))
		return COPY_FAILED;
	if (q->json_path)
		log_keep();
	if (q->log_path)
		status = open_log(r);
	if (!status && q->json_path)
		status = open_json(r);
	return status;
}

int copy_report_open(struct copy_report **out, const struct copy_request *request)
{
	struct copy_report *r = calloc(1, sizeof(*r));
	int status = XDD_OK;

	*out = NULL;
	if (!r) {
		log_error("%s", strerror(ENOMEM));
		return COPY_FAILED;
	}
	pthread_mutex_init(&r->lock, NULL);
	r->request = request;
	if (request)
		status = open_outputs(r);
	if (status) {
		logfile_close(r->log, &(struct copy_state){ 0 });
		pthread_mutex_destroy(&r->lock);
		free(r);
		return status;
	}
	*out = r;
	return XDD_OK;
}

/* ---- progress ---- */

/* Time between two drawings. */
static uint64_t draw_period_ns(void)
{
	return log_is_terminal() ? REDRAW_NS : LINE_NS;
}

static uint64_t draw(void *arg)
{
	struct copy_report *r = arg;
	const bool terminal = log_is_terminal();
	const uint64_t next_ns = clock_kernel_ns() + draw_period_ns();
	char text[PROGRESS_TEXT_SIZE + 1];

	pthread_mutex_lock(&r->lock);
	progress_text(&r->progress, &r->state,
		      terminal ? log_transient_columns() : PROGRESS_TEXT_SIZE, text);
	pthread_mutex_unlock(&r->lock);
	if (terminal) {
		log_transient(text);
	} else {
		strcat(text, "\n");
		log_raw(text);
	}
	return next_ns;
}

/* True if something lists all entries. */
static bool wants_entries(const struct copy_report *r)
{
	const struct copy_request *q = r->request;

	return q && (q->settings.dry_run || (q->settings.stamps && q->log_path));
}

static int compare_digests(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* True for a line of an earlier attempt, which finds the same again. r->lock is held. */
static bool was_told(struct copy_report *r, const char *line)
{
	const uint64_t digest = digest_short(line, strlen(line));
	uint64_t *told;

	if (r->n_before && bsearch(&digest, r->told, r->n_before, sizeof(digest), compare_digests))
		return true;
	if (r->n_told == MAX_TOLD)
		return false;
	told = reallocarray(r->told, r->n_told + 1, sizeof(*told));
	if (told) {
		r->told = told;
		r->told[r->n_told++] = digest;
	}
	return false;
}

/* A further attempt reports again all that is still wrong. r->lock is held. */
static void forget_failures(struct copy_report *r)
{
	struct copy_state *s = &r->state;

	s->status = XDD_OK;
	s->failures = s->warnings = s->differing = 0;
	for (size_t i = 0; i < s->n_first; i++)
		free(s->first[i]);
	s->n_first = 0;
	if (r->json)
		copy_json_forget_failures(r->json);
	if (r->n_told)
		qsort(r->told, r->n_told, sizeof(*r->told), compare_digests);
	r->n_before = r->n_told;
}

/* A copy that is tried again counts from zero: the rest is durable already. */
int copy_report_begin(struct copy_report *r)
{
	struct copy_state *s = &r->state;

	names_free(r->names);
	r->names = wants_entries(r) ? names_new(r) : NULL;

	pthread_mutex_lock(&r->lock);
	if (r->begun_ns)
		forget_failures(r);
	r->begun_ns = clock_now_ns();
	memset(&s->source, 0, sizeof(s->source));
	memset(&s->destination, 0, sizeof(s->destination));
	s->elapsed_ns = 0;
	s->would_files = s->would_bytes = 0;
	if (r->listed)
		fclose(r->listed);
	r->listed = NULL;
	r->offered = false;
	r->lost = XDD_OK;
	r->progress.n = r->progress.next = 0;
	progress_add(&r->progress, r->begun_ns, 0, 0);
	pthread_mutex_unlock(&r->lock);
	if (!r->request || r->request->quiet || r->drawing.started)
		return 0;
	ticker_add(&r->drawing, draw, r, clock_kernel_ns() + draw_period_ns());
	return ticker_start(&r->drawing, "progress");
}

static void end_drawing(struct copy_report *r)
{
	if (!r->drawing.started)
		return;
	ticker_end(&r->drawing);
	log_transient(NULL);
}

/* ---- facts ---- */

/* r->lock is held. */
static void set_status(struct copy_report *r, int status)
{
	r->state.status = copy_worse_status(r->state.status, status);
}

void copy_report_counts(struct copy_report *r, enum copy_role side, const struct copy_counts *c)
{
	struct copy_state *s = &r->state;
	uint64_t now = clock_now_ns();

	pthread_mutex_lock(&r->lock);
	if (side == COPY_SOURCE)
		s->source = *c;
	else
		s->destination = *c;
	if (r->begun_ns) {
		s->elapsed_ns = now - r->begun_ns;
		if (side == COPY_DESTINATION)
			progress_add(&r->progress, now, state_done_files(s), state_done_bytes(s));
	}
	if (r->log)
		logfile_flush(r->log);
	pthread_mutex_unlock(&r->lock);
}

/* "path: text" or "text"; to be freed. With the host where that is not this one. */
static char *failure_line(const struct copy_report *r, enum copy_role side,
			  const struct copy_failure *f)
{
	const struct copy_place *place = side == COPY_SOURCE ? &r->request->sources[0] :
							       &r->request->destination;
	const char *host = place->host ? place->host : "";
	char *line;

	if (asprintf(&line, "%s%s%s%s%s", host, *host && *f->path ? ":" : "", f->path,
		     *host || *f->path ? ": " : "", f->text) < 0)
		return NULL;
	return line;
}

static const char *rest_text(const struct copy_report *r)
{
	if (r->request->log_path)
		return "the log has the others";
	return r->request->json_path ? "the JSON document has the others" :
				       "-log <file> lists them all";
}

/* r->lock is held. */
static void print_failure(struct copy_report *r, bool warning, const char *line)
{
	uint64_t n = warning ? r->state.warnings : r->state.failures;

	if (n > MAX_LINES)
		return;
	if (warning)
		log_warning("copy: %s", line);
	else
		log_error("copy: %s", line);
	if (n == MAX_LINES)
		log_notice("copy: further %s are not shown; %s", warning ? "warnings" : "failures",
			   rest_text(r));
}

void copy_report_failure(struct copy_report *r, enum copy_role side, const struct copy_failure *f)
{
	struct copy_state *s = &r->state;
	const char *word = !f->status ? "warning" : f->differs ? "differs" : "failed";
	const char *shown;
	char *line;

	pthread_mutex_lock(&r->lock);
	set_status(r, (int)f->status);
	line = r->request ? failure_line(r, side, f) : NULL;
	/* Where memory is short, the reason without the name is better than none. */
	shown = line ? line : f->text;
	if (f->status)
		s->failures++;
	if (f->status && f->differs)
		s->differing++;
	if (!f->status)
		s->warnings++;
	if (r->request && !was_told(r, shown)) {
		print_failure(r, !f->status, shown);
		if (r->log)
			logfile_line(r->log, word, shown);
	}
	if (r->json)
		copy_json_failure(r->json, side, f);
	if (line && f->status && s->n_first < SUMMARY_FAILURES) {
		s->first[s->n_first++] = line;
		line = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	free(line);
}

/*
 * The list of -n waits in a temporary file until the end: a reader that is slow must not keep the
 * thread that receives from the other side waiting. r->lock is held.
 */
static void list_entry(struct copy_report *r, const char *path, enum copy_kind kind)
{
	if (!r->listed)
		r->listed = spool_open(NULL);
	if (!r->listed) {
		r->list_error = errno;
		return;
	}
	fputs("copy ", r->listed);
	printable_put_exact(r->listed, path);
	fputs(kind == COPY_DIR ? "/\n" : "\n", r->listed);
}

void copy_report_offer(struct copy_report *r, const uint8_t *body, size_t length)
{
	pthread_mutex_lock(&r->lock);
	/* COPY_END alone is one byte. */
	r->offered |= length > 1;
	pthread_mutex_unlock(&r->lock);
	if (r->names)
		names_offer(r->names, body, length);
}

/* The worst status of results, each of which has a reason in a FAILURE. */
static int status_of_results(const uint8_t *body, size_t length)
{
	int status = XDD_OK;
	size_t n;

	if (copy_check_results(body, length, &n) != WIRE_OK)
		return status;
	for (size_t i = 0; i < n; i++) {
		enum copy_outcome outcome = copy_result_at(body, i).outcome;

		if (outcome == COPY_LOST)
			return COPY_FAILED;
		if (outcome == COPY_DIFFERS)
			status = XDD_MISCOMPARE;
	}
	return status;
}

void copy_report_results(struct copy_report *r, const uint8_t *body, size_t length)
{
	int status = status_of_results(body, length);

	if (status) {
		pthread_mutex_lock(&r->lock);
		r->lost = copy_worse_status(r->lost, status);
		pthread_mutex_unlock(&r->lock);
	}
	if (r->names)
		names_result(r->names, body, length);
}

void copy_report_entry(struct copy_report *r, const char *path, enum copy_kind kind, uint64_t bytes,
		       enum copy_outcome outcome)
{
	if (!*path)
		path = ".";
	pthread_mutex_lock(&r->lock);
	r->offered = true;
	if (outcome == COPY_WOULD && kind == COPY_FILE) {
		r->state.would_files++;
		r->state.would_bytes += bytes;
	}
	if (outcome == COPY_WOULD && !r->request->quiet && !r->json_is_stdout)
		list_entry(r, path, kind);
	if (r->log && r->request->settings.stamps)
		logfile_entry(r->log, path, kind, bytes, outcome);
	pthread_mutex_unlock(&r->lock);
}

void copy_report_note(struct copy_report *r, const char *fmt, ...)
{
	char text[WIRE_MAX_TEXT_BYTES];
	va_list ap;

	if (!r->request)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&r->lock);
	log_notice("copy: %s", text);
	if (r->log)
		logfile_line(r->log, "note", text);
	if (r->json)
		copy_json_note(r->json, text);
	pthread_mutex_unlock(&r->lock);
}

void copy_report_connection(struct copy_report *r, const struct connection_info *info)
{
	char text[2 * CONNECTION_PEER_SIZE + 128];

	if (!r->request)
		return;
	snprintf(text, sizeof(text),
		 "%s to %s, %s, round trip %.3f ms, %" PRIu64 " retransmissions", info->local,
		 info->peer, *info->cipher ? info->cipher : "not encrypted",
		 (double)info->rtt_ns / (double)NS_PER_MS, info->retransmits);
	pthread_mutex_lock(&r->lock);
	if (r->log)
		logfile_line(r->log, "connection", text);
	if (r->json)
		copy_json_connection(r->json, info);
	pthread_mutex_unlock(&r->lock);
}

void copy_report_inside(struct copy_report *r, bool inside)
{
	pthread_mutex_lock(&r->lock);
	r->state.inside = inside;
	pthread_mutex_unlock(&r->lock);
}

int copy_report_status(const struct copy_report *r)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&r->lock;
	int status;

	pthread_mutex_lock(lock);
	status = r->state.status;
	pthread_mutex_unlock(lock);
	return status;
}

/* ---- the end ---- */

static void print_list(struct copy_report *r)
{
	int err;

	if (!r->listed)
		return;
	err = outfile_copy(&r->out, r->listed);
	if (err && !r->list_error)
		r->list_error = -err;
	fclose(r->listed);
}

/*
 * A side that breaks the rules, and says that all is well: something was not copied, and there is
 * no reason. A list of names may be empty.
 */
static void check_reasons(struct copy_report *r)
{
	const struct copy_state *s = &r->state;
	struct copy_failure f = { .status = (uint32_t)r->lost };

	if (s->status || !r->begun_ns)
		return;
	if (r->lost || s->source.failed || s->destination.failed)
		snprintf(f.text, sizeof(f.text), "entries have failed without a reason");
	else if (!r->offered && !r->request->settings.list)
		snprintf(f.text, sizeof(f.text), "the source has offered nothing");
	else
		return;
	if (!f.status)
		f.status = COPY_FAILED;
	copy_report_failure(r, r->offered ? COPY_DESTINATION : COPY_SOURCE, &f);
}

static void print_summary(struct copy_report *r)
{
	struct memstream m;

	if (r->request->quiet || r->json_is_stdout || !r->begun_ns)
		return;
	if (!memstream_open(&m))
		return;
	summary_write(m.f, &r->state);
	if (!memstream_close(&m))
		outfile_write(&r->out, m.text, m.size);
	free(m.text);
}

static void report_output(struct copy_report *r, const char *what, const char *path, int err)
{
	if (!err)
		return;
	log_error("%s %s: is incomplete (%s)", what, path, output_strerror(err));
	set_status(r, XDD_IO_ERROR);
}

static void close_outputs(struct copy_report *r)
{
	const struct copy_request *q = r->request;
	int err;

	print_list(r);
	print_summary(r);
	err = outfile_close(&r->out);
	report_output(r, "standard", "output", r->list_error ? -r->list_error : err);
	report_output(r, "-log", q->log_path, logfile_close(r->log, &r->state));
	report_output(r, "-jsonout", q->json_path, copy_json_close(r->json, &r->state));
}

int copy_report_close(struct copy_report *r, int status)
{
	if (!r)
		return status;
	end_drawing(r);
	set_status(r, status);
	if (r->request) {
		check_reasons(r);
		close_outputs(r);
	}
	status = r->state.status;
	for (size_t i = 0; i < r->state.n_first; i++)
		free(r->state.first[i]);
	names_free(r->names);
	pthread_mutex_destroy(&r->lock);
	free(r->told);
	free(r);
	return status;
}
