/*
 * A report: opening its outputs, what is written before the first result and after the last, and
 * closing them. Called by main and by the results manager.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/check.h"
#include "report/csv.h"
#include "report/environment.h"
#include "report/info.h"
#include "report/report_internal.h"
#include "report/series.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/sys/clock.h"

static enum xdd_status out_of_memory(void)
{
	log_error("%s", strerror(ENOMEM));
	return XDD_INIT_FAILED;
}

static enum xdd_status open_output(struct outfile *o, const char *option, const char *path)
{
	int err = outfile_open(o, path);

	if (!err)
		return XDD_OK;
	log_error("-%s %s: %s", option, path, output_strerror(err));
	return XDD_BAD_ARGUMENT;
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

	if (latency->shown)
		memstream_open(&r->table);
	if (latency->histogram)
		memstream_open(&r->octaves);
	if ((latency->shown && !r->table.f) || (latency->histogram && !r->octaves.f))
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

/* Where the text output is a file, the block for people goes to standard output beside it. */
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
	return open_output(&r->text, "output", r->plan->output_file);
}

static enum xdd_status open_json(struct report *r, json_t *environment)
{
	const bool wanted = r->plan->json_file || r->document;
	int err = 0;

	if (wanted)
		err = jsonout_open(&r->json, r->plan, r->started_ns, environment, r->document);

	if (!err)
		return XDD_OK;
	log_error("-jsonout %s: %s", r->plan->json_file, output_strerror(err));
	return err == -ENOMEM ? XDD_INIT_FAILED : XDD_BAD_ARGUMENT;
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
		status = write_start(r);
	return status;
}

void report_free(struct report *r)
{
	memstream_discard(&r->table);
	memstream_discard(&r->octaves);
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
	/* Results that a signal cut off are not those of a whole run, however it went. */
	if (outwait_was_cut())
		r->status = status = XDD_CANCELED;
	status = close_json(r, status);
	report_free(r);
	return status;
}
