/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report: opening its outputs, what is written before the first result and after the last, the
 * writers of results between them, and closing. Called by main and by the results manager.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/info.h"
#include "report/latency.h"
#include "report/report_internal.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"
#include "xdd/report/result.h"
#include "xdd/sys/clock.h"

/*
 * Facts that are no result lines: what devices did, how targets and passes compare, and where an
 * end-to-end copy spent its time.
 */

void report_device(struct report *r, const struct device_use *use)
{
	if (r->sink && r->sink->device)
		r->sink->device(r->sink->arg, use);
	if (r->json)
		jsonout_device(r->json, use);
}

void report_deskew(struct report *r, const struct deskew_result *deskew)
{
	struct memstream l;

	if (r->sink)
		return;
	if (r->json)
		jsonout_deskew(r->json, deskew);
	memstream_open(&l);
	if (l.f)
		deskew_write(l.f, deskew);
	report_write_lines(r, &r->text, &l);
}

void report_stonewall(struct report *r, const struct stonewall_result *stonewall)
{
	struct memstream l;

	if (r->sink)
		return;
	if (r->json)
		jsonout_stonewall(r->json, stonewall);
	memstream_open(&l);
	if (l.f)
		stonewall_write(l.f, stonewall);
	report_write_lines(r, &r->text, &l);
}

void report_start_skew(struct report *r, const struct start_skew_result *skew)
{
	if (r->json)
		jsonout_start_skew(r->json, skew);
	report_detail(r,
		      "Start skew, pass %" PRIu64 ", %.6f, seconds, first, target %" PRIu32
		      ", last, target %" PRIu32,
		      skew->pass, (double)skew->skew_ns / (double)NS_PER_SEC, skew->first_target,
		      skew->last_target);
}

void report_clock(struct report *r, const struct clock_result *clock)
{
	if (r->json)
		jsonout_clock(r->json, clock);
}

static double facts_seconds(uint64_t ns)
{
	return (double)ns / (double)NS_PER_SEC;
}

void report_start(struct report *r, const struct start_result *s)
{
	struct memstream l;

	if (r->json)
		jsonout_start(r->json, s);
	if (r->sink || (!s->requested_ns && !s->bound_known))
		return;
	memstream_open(&l);
	if (l.f) {
		fprintf(l.f, "Start, %.6f", facts_seconds(s->achieved_ns));
		if (s->requested_ns)
			fprintf(l.f, ", requested, %.6f, late, %.6f, seconds",
				facts_seconds(s->requested_ns),
				(double)(int64_t)(s->achieved_ns - s->requested_ns) /
					(double)NS_PER_SEC);
		if (s->bound_known)
			fprintf(l.f, ", bound, %.6f, seconds\n", facts_seconds(s->bound_ns));
		else
			fputs(", bound, unknown\n", l.f);
	}
	report_write_lines(r, &r->text, &l);
}

void report_endtoend(struct report *r, const struct endtoend_result *e)
{
	struct memstream l;

	if (r->sink)
		return;
	if (e->pass && r->json)
		jsonout_endtoend(r->json, e);
	if (!e->pass && r->person)
		person_endtoend(r->person, e);
	if (e->pass || !report_guide(r))
		return;
	memstream_open(&l);
	if (l.f)
		endtoend_write(l.f, e);
	report_write_table_lines(r, &l);
}

void report_statistics(struct report *r, const struct pass_statistics *statistics)
{
	struct memstream l;

	if (r->sink) {
		if (r->sink->statistics)
			r->sink->statistics(r->sink->arg, statistics);
		return;
	}
	if (r->json)
		jsonout_statistics(r->json, statistics);
	if (r->person)
		person_statistics(r->person, statistics);
	if (!r->plan->verbose)
		return;
	memstream_open(&l);
	if (l.f)
		statistics_write(l.f, statistics);
	report_write_lines(r, &r->text, &l);
}

/*
 * The writers of results: which output gets which result, in which order, and what must be
 * measured for that.
 *
 * A new output of results is a row in the table.
 */

/* Figures that lines of -verbose show. */
#define DETAILS (FIGURES_ORDER | FIGURES_WAIT | FIGURES_PASSES | FIGURES_STARTS)

struct writer {
	bool (*wants)(const struct plan *plan, enum result_what what);
	unsigned needs; /* enum figures_part, apart from the columns' */
	void (*write)(struct report *r, const struct result *result);
};

/* The width at which lines are folded: the terminal's; 0 where the text goes elsewhere. */
static unsigned fold_columns(int fd)
{
	uint64_t columns = terminal_columns(fd);
	const char *env;

	if (!isatty(fd))
		return 0;
	if (columns)
		return (unsigned)columns;
	env = getenv("COLUMNS");
	if (!env || units_parse_u64(env, &columns) || columns > 65535)
		return 0;
	return (unsigned)columns;
}

static void write_cells(struct report *r)
{
	size_t len = line_join(r->line, r->cells, r->list.n, fold_columns(r->text.fd));

	report_write_table(r, r->line, len);
}

static void write_header(struct report *r)
{
	for (size_t i = 0; i < r->list.n; i++)
		line_cell_set(&r->cells[i], r->list.columns[i]->heading);
	write_cells(r);
	for (size_t i = 0; i < r->list.n; i++)
		line_cell_set(&r->cells[i], r->list.columns[i]->units);
	write_cells(r);
	r->header_done = true;
}

/*
 * The result lines: COMBINED always, lines of targets with -verbose, lines of QThreads with
 * -qthreadinfo.
 */
static bool shows(const struct plan *plan, enum result_what what)
{
	switch (what) {
	case RESULT_QUEUE_PASS:
		return plan->qthread_info;
	case RESULT_TARGET_PASS:
	case RESULT_TARGET_AVERAGE:
		return plan->verbose;
	case RESULT_STONEWALL_AT:
	case RESULT_STONEWALL_END:
		return false;
	case RESULT_COMBINED:
	case RESULT_HOST:
		break;
	}
	return true;
}

/* They have lines and a list of their own, except in CSV. */
static bool is_stonewall(enum result_what what)
{
	return what == RESULT_STONEWALL_AT || what == RESULT_STONEWALL_END;
}

static void write_text(struct report *r, const struct result *result)
{
	if (!report_guide(r))
		return;
	if (!r->header_done)
		write_header(r);
	for (size_t i = 0; i < r->list.n; i++)
		line_cell_padded(&r->cells[i], r->list.columns[i], result);
	write_cells(r);
}

static void write_csv_to(struct outfile *o, struct report *r, const struct result *result)
{
	size_t len = line_csv(r->line, r->cells, csv_result_cells(r->cells, &r->csv_list, result));

	outfile_write(o, r->line, len);
}

static bool wants_csv(const struct plan *plan, enum result_what what)
{
	return plan->csv_file && (shows(plan, what) || is_stonewall(what));
}

static void write_csv(struct report *r, const struct result *result)
{
	write_csv_to(&r->csv, r, result);
}

static bool wants_combined(const struct plan *plan, enum result_what what)
{
	return plan->combined_file && what == RESULT_COMBINED;
}

static void write_combined(struct report *r, const struct result *result)
{
	write_csv_to(&r->combined, r, result);
}

/* Every result, whether or not the text shows it. */
static bool wants_json(const struct plan *plan, enum result_what what)
{
	return plan->json_file && !is_stonewall(what);
}

static void write_json(struct report *r, const struct result *result)
{
	jsonout_result(r->json, result);
}

static bool wants_latency_csv(const struct plan *plan, enum result_what what)
{
	return plan->latency.file && what != RESULT_QUEUE_PASS && !is_stonewall(what);
}

static void write_latency_csv(struct report *r, const struct result *result)
{
	report_latency_csv(r, result, NULL);
}

/* The tables follow the last result: report_trailer(). */
static bool wants_latency(const struct plan *plan, enum result_what what)
{
	return plan->latency.shown && what != RESULT_QUEUE_PASS && shows(plan, what);
}

static void write_latency(struct report *r, const struct result *result)
{
	if (report_fits(r)) {
		if (latency_screen_add(&r->latency_screen, r->plan, result) && !r->text.error)
			r->text.error = ENOMEM;
		return;
	}
	latency_table_rows(r->table.f, r->plan, result, NULL);
	if (r->octaves.f)
		latency_octaves_rows(r->octaves.f, result);
}

/*
 * -verbose: the rates without the flush at the end of passes, where it is part of the elapsed time;
 * the operations of warm-ups.
 */
static bool wants_notes(const struct plan *plan, enum result_what what)
{
	return plan->verbose && (what == RESULT_TARGET_PASS || what == RESULT_TARGET_AVERAGE);
}

static void write_flush(struct report *r, const struct result *result)
{
	const struct figures *f = &result->figures;
	const double bytes = (double)tally_bytes(&f->tally), ops = (double)tally_ops(&f->tally);
	char of[40] = "all passes";
	double seconds;

	if (!f->tally.sync_ns || f->elapsed_ns <= f->tally.sync_ns)
		return;
	seconds = (double)(f->elapsed_ns - f->tally.sync_ns) / (double)NS_PER_SEC;
	if (result->what == RESULT_TARGET_PASS)
		snprintf(of, sizeof(of), "pass %" PRIu64, result->pass);
	report_line(r,
		    "Without flush, target %" PRIu64 ", %s, %.6f, seconds, %.3f, MB/s, %.3f, Ops/s",
		    result->target, of, seconds, bytes / seconds / 1e6, ops / seconds);
}

/* The operations that the figures leave out. */
static void write_warmup(struct report *r, const struct result *result)
{
	char of[40] = "all passes";

	if (!result->figures.tally.warmup_ops)
		return;
	if (result->what == RESULT_TARGET_PASS)
		snprintf(of, sizeof(of), "pass %" PRIu64, result->pass);
	report_line(r, "Warm-up, target %" PRIu64 ", %s, %" PRIu64 ", ops", result->target, of,
		    result->figures.tally.warmup_ops);
}

static bool wants_extremes(const struct plan *plan, enum result_what what)
{
	if (what == RESULT_QUEUE_PASS || (what == RESULT_TARGET_PASS && !plan->verbose))
		return false;
	return plan->extended_stats && !is_stonewall(what);
}

static bool wants_partial(const struct plan *plan, enum result_what what)
{
	return what == RESULT_COMBINED || (what == RESULT_TARGET_PASS && plan->verbose);
}

static void write_partial(struct report *r, const struct result *result)
{
	if (!result->partial)
		return;
	if (result->what == RESULT_COMBINED)
		report_table_line(r, "Results are partial: the run was cut short");
	else
		report_table_line(r,
				  "Results are partial: target %" PRIu64
				  " was cut short in pass %" PRIu64,
				  result->target, result->pass);
}

static bool wants_person(const struct plan *plan, enum result_what what)
{
	return plan->person && (what == RESULT_TARGET_AVERAGE || what == RESULT_COMBINED);
}

static void write_person(struct report *r, const struct result *result)
{
	person_result(r->person, result);
}

/* In the order of the lines in the text output. */
static const struct writer writers[] = {
	{ wants_latency_csv, FIGURES_LATENCY, write_latency_csv },
	{ wants_latency, FIGURES_LATENCY, write_latency },
	{ shows, 0, write_text },
	{ wants_csv, 0, write_csv },
	{ wants_combined, 0, write_combined },
	{ wants_json, FIGURES_ALL, write_json },
	{ wants_notes, 0, write_flush },
	{ wants_notes, 0, write_warmup },
	{ wants_extremes, FIGURES_EXTREMES, extremes_write },
	{ wants_partial, 0, write_partial },
	{ wants_person, PERSON_NEEDS, write_person },
};

#define N_WRITERS (sizeof(writers) / sizeof(writers[0]))

static bool is_wanted(const struct writer *w, const struct plan *plan)
{
	return w->wants(plan, RESULT_QUEUE_PASS) || w->wants(plan, RESULT_TARGET_PASS) ||
	       w->wants(plan, RESULT_TARGET_AVERAGE) || w->wants(plan, RESULT_COMBINED);
}

/* The figures that the outputs show. */
static unsigned needs_of_outputs(const struct report *r)
{
	const struct plan *plan = r->plan;
	unsigned needs = plan->verbose ? DETAILS : 0;

	for (size_t i = 0; i < N_WRITERS; i++) {
		if (is_wanted(&writers[i], plan))
			needs |= writers[i].needs;
		if (writers[i].wants(plan, RESULT_QUEUE_PASS))
			needs |= FIGURES_QTHREADS;
	}
	for (size_t i = 0; i < r->list.n; i++)
		needs |= r->list.columns[i]->needs;
	if (plan->intervals.length_ns)
		needs |= FIGURES_LATENCY;
	return needs;
}

unsigned report_needs(const struct report *r)
{
	unsigned needs = r->sink ? r->sink->needs : needs_of_outputs(r);

	for (size_t i = 0; i < r->plan->n_targets; i++)
		if (r->plan->targets[i].heartbeat.fields & HEARTBEAT_LATENCY)
			needs |= FIGURES_LATENCY;
	return needs;
}

void report_result(struct report *r, const struct result *result)
{
	struct result of_run = *result;

	if (r->sink) {
		if (r->sink->result && !is_stonewall(result->what))
			r->sink->result(r->sink->arg, result);
		return;
	}
	of_run.plan = r->plan;
	of_run.started_ns = r->started_ns;
	for (size_t i = 0; i < N_WRITERS; i++) {
		if (writers[i].wants(r->plan, result->what))
			writers[i].write(r, &of_run);
	}
}

static enum xdd_status out_of_memory(void)
{
	return log_fail(XDD_INIT_FAILED, "%s", strerror(ENOMEM));
}

static enum xdd_status open_output(struct outfile *o, const char *option, const char *path)
{
	int err = outfile_open(o, path);

	if (!err)
		return XDD_OK;
	return log_refuse("-%s %s: %s", option, path, output_strerror(err));
}

/* `path` may be NULL: not wanted. */
static enum xdd_status open_csv(struct report *r, struct outfile *o, const char *option,
				const char *path)
{
	enum xdd_status status;
	bool write_header;
	size_t len;

	if (!path)
		return XDD_OK;
	len = line_csv(r->line, r->cells, csv_header_cells(r->cells, &r->csv_list));
	status = report_csv_start(option, path, r->line, len, &write_header);
	if (!status)
		status = open_output(o, option, path);
	if (!status && write_header)
		outfile_write(o, r->line, len);
	return status;
}

static enum xdd_status write_info(struct report *r, const json_t *environment)
{
	struct memstream l;

	if (!report_guide(r))
		return XDD_OK;
	memstream_open(&l);
	if (!l.f)
		return out_of_memory();
	if (r->plan->verbose || r->plan->output_file)
		info_write(l.f, r->plan, environment);
	else
		info_write_short(l.f, r->plan);
	report_write_table_lines(r, &l);
	return XDD_OK;
}

static enum xdd_status open_latency(struct report *r)
{
	const struct latency_options *latency = &r->plan->latency;
	enum xdd_status status = XDD_OK;
	bool write_header = false;

	if (latency->shown && !report_fits(r) && !memstream_open(&r->table))
		return out_of_memory();
	if (latency->histogram && !report_fits(r) && !memstream_open(&r->octaves))
		return out_of_memory();
	if (latency->file)
		status = report_latency_start(r->plan, &write_header);
	if (!status && latency->file)
		status = open_output(&r->latency, "latency output", latency->file);
	if (!status && write_header)
		report_latency_csv(r, NULL, NULL);
	return status;
}

/* The file of -intervals; others begin their table with the first row. */
static enum xdd_status open_series(struct report *r)
{
	const char *path = r->plan->intervals.file;
	enum xdd_status status;
	bool write_header;
	struct memstream m;

	if (!path)
		return XDD_OK;
	status = report_series_start(r->plan, &write_header);
	if (!status)
		status = open_output(&r->series, "intervals output", path);
	if (status || !write_header)
		return status;
	if (memstream_open(&m))
		series_csv_header(m.f);
	report_write_lines(r, &r->series, &m);
	return XDD_OK;
}

static enum xdd_status open_prometheus(struct report *r)
{
	const char *path = r->plan->intervals.prometheus;
	int err = path ? prometheus_open(&r->prometheus, r->plan, r->started_ns) : 0;

	if (!err)
		return XDD_OK;
	return log_fail(err == -ENOMEM ? XDD_INIT_FAILED : XDD_BAD_ARGUMENT,
			"-intervals prometheus %s: %s", path, output_strerror(err));
}

/* Where the text output is a file, the result block goes to standard output beside it. */
static enum xdd_status open_person(struct report *r)
{
	if (!r->plan->person)
		return XDD_OK;
	r->person = person_new(r->plan);
	if (!r->person || (report_holds(r) && !memstream_open(&r->held)))
		return out_of_memory();
	return r->plan->output_file ? open_output(&r->screen, "report", "-") : XDD_OK;
}

static enum xdd_status open_text(struct report *r)
{
	if ((jsonout_is_stdout(r->plan) || r->document) && !r->plan->output_file)
		return XDD_OK;
	return open_output(&r->text, "output",
			   r->plan->quiet && !r->plan->output_file ? "/dev/null" :
								     r->plan->output_file);
}

static enum xdd_status open_json(struct report *r, json_t *environment)
{
	const bool wanted = r->plan->json_file || r->document;
	int err = 0;

	if (wanted)
		err = jsonout_open(&r->json, r->plan, r->started_ns, environment, r->document);

	if (!err)
		return XDD_OK;
	return log_fail(err == -ENOMEM ? XDD_INIT_FAILED : XDD_BAD_ARGUMENT, "-jsonout %s: %s",
			r->plan->json_file, output_strerror(err));
}

/* Write the information sections, and the start of the document. */
static enum xdd_status write_start(struct report *r)
{
	const struct plan *plan = r->plan;
	json_t *environment = NULL;
	enum xdd_status status;

	if (plan->verbose || plan->output_file || plan->json_file || r->document) {
		environment = environment_collect(plan);
		if (!environment)
			return out_of_memory();
	}
	status = open_json(r, environment);
	if (!status)
		status = write_info(r, environment);
	json_decref(environment);
	return status;
}

static enum xdd_status open_all(struct report *r)
{
	const struct plan *plan = r->plan;
	enum xdd_status status = report_columns(plan, &r->list);

	if (!status)
		status = report_csv_columns(plan, &r->csv_list);
	if (status)
		return status;
	/* CSV has all columns of the text, and perhaps more. */
	r->cells = calloc(r->csv_list.n, sizeof(*r->cells));
	r->line = malloc(line_size(r->csv_list.n) + 2 * column_text_bytes(plan));
	if (!r->cells || !r->line)
		return out_of_memory();
	/* Output that stdio still buffers for standard output comes first. */
	fflush(stdout);
	status = open_text(r);
	r->folds = !status && isatty(r->text.fd);
	if (!status)
		status = open_person(r);
	if (!status)
		status = open_csv(r, &r->csv, "csvout", plan->csv_file);
	if (!status)
		status = open_csv(r, &r->combined, "combinedout", plan->combined_file);
	if (!status)
		status = open_latency(r);
	if (!status)
		status = open_series(r);
	if (!status)
		status = open_prometheus(r);
	if (!status)
		status = write_start(r);
	return status;
}

static void report_free(struct report *r)
{
	memstream_discard(&r->table);
	memstream_discard(&r->octaves);
	latency_screen_free(&r->latency_screen);
	column_list_free(&r->csv_list);
	memstream_discard(&r->held);
	free(r->person);
	column_list_free(&r->list);
	free(r->line);
	free(r->cells);
	findings_free(r);
	pthread_mutex_destroy(&r->findings_lock);
	pthread_mutex_destroy(&r->text_lock);
	free(r);
}

struct report *report_new(const struct plan *plan)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->plan = plan;
	r->started_ns = clock_wall_ns();
	pthread_mutex_init(&r->text_lock, NULL);
	pthread_mutex_init(&r->findings_lock, NULL);
	r->text.fd = -1;
	r->csv.fd = -1;
	r->combined.fd = -1;
	r->latency.fd = -1;
	r->screen.fd = -1;
	r->series.fd = -1;
	return r;
}

enum xdd_status report_open(const struct plan *plan, struct report **out)
{
	return report_open_document(plan, NULL, out);
}

enum xdd_status report_open_document(const struct plan *plan, struct report_document *document,
				     struct report **out)
{
	struct report *r = report_new(plan);
	enum xdd_status status;

	*out = NULL;
	if (!r)
		return out_of_memory();
	r->document = document;
	status = open_all(r);
	if (status) {
		prometheus_free(r->prometheus);
		outfile_close(&r->series);
		outfile_close(&r->latency);
		jsonout_discard(r->json);
		outfile_close(&r->combined);
		outfile_close(&r->csv);
		outfile_close(&r->text);
		outfile_close(&r->screen);
		report_free(r);
		return status;
	}
	*out = r;
	return XDD_OK;
}

char *report_information(const struct plan *plan, uint32_t target)
{
	struct memstream m;

	if (!memstream_open(&m))
		return NULL;
	info_write_target(m.f, plan, target);
	return memstream_close(&m) ? NULL : m.text;
}

void report_trailer(struct report *r, enum report_end end)
{
	static const char *const ends[] = {
		[REPORT_END_NORMAL] = " This run terminated normally",
		[REPORT_END_ERRORS] = " This run terminated with errors",
		[REPORT_END_CANCELED] = " This run was canceled",
	};
	static const char *const words[] = {
		[REPORT_END_NORMAL] = "normal",
		[REPORT_END_ERRORS] = "errors",
		[REPORT_END_CANCELED] = "canceled",
	};
	char now[INFO_TIME_SIZE];

	if (r->sink) {
		report_end_sink(r, end);
		return;
	}
	if (report_holds(r))
		report_person_write(r, end);
	report_latency_text(r);
	if (r->json)
		jsonout_end(r->json, words[end]);
	report_table_line(r, "Ending time for this run, %s", info_time(now));
	report_table_line(r, "%s", ends[end]);
	if (r->person && !report_holds(r))
		report_person_write(r, end);
}

/* Report an output that failed: results are missing there. Returns `status` if that is an error. */
static enum xdd_status close_output(struct outfile *o, const char *option, const char *path,
				    enum xdd_status status)
{
	int err = outfile_close(o);

	if (!err)
		return status;
	if (path)
		log_error("-%s %s: %s; results are missing there", option, path, strerror(-err));
	else
		log_error("standard output: %s; results are missing there", strerror(-err));
	return status ? status : XDD_IO_ERROR;
}

void report_status(struct report *r, enum xdd_status status)
{
	if (r)
		r->status = status;
}

/* It has the status of the outputs before it. */
static enum xdd_status close_prometheus(struct report *r, enum xdd_status status)
{
	int err = prometheus_close(r->prometheus, r->status ? r->status : status);

	r->prometheus = NULL;
	if (!err)
		return status;
	return log_fail(status ? status : XDD_IO_ERROR,
			"-intervals prometheus %s: %s; counts are missing there",
			r->plan->intervals.prometheus, output_strerror(err));
}

/* Last, so that it has the status of all others. */
static enum xdd_status close_json(struct report *r, enum xdd_status status)
{
	int err = jsonout_close(r->json, r->status ? r->status : status);

	if (!err)
		return status;
	log_error("-jsonout %s: %s; the results are missing there", r->plan->json_file,
		  output_strerror(err));
	if (status)
		return status;
	return err == -ECANCELED ? XDD_CANCELED : XDD_IO_ERROR;
}

enum xdd_status report_close(struct report *r)
{
	enum xdd_status status = XDD_OK;

	if (!r)
		return XDD_OK;
	if (r->sink) {
		report_free(r);
		return XDD_OK;
	}
	status = close_output(&r->text, "output", r->plan->output_file, status);
	status = close_output(&r->screen, "report", NULL, status);
	status = close_output(&r->csv, "csvout", r->plan->csv_file, status);
	status = close_output(&r->combined, "combinedout", r->plan->combined_file, status);
	status = close_output(&r->latency, "latency output", r->plan->latency.file, status);
	status = close_output(&r->series, "intervals output", r->plan->intervals.file, status);
	/* Results that a signal cut off are never results of a whole run. */
	if (outwait_was_cut())
		r->status = status = XDD_CANCELED;
	status = close_prometheus(r, status);
	status = close_json(r, status);
	report_free(r);
	return status;
}
