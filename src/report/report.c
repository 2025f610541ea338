/*
 * A report: the outputs of a run and what is written to them; see the header. Called by main and by
 * the results manager.
 */
#include "xdd/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/check.h"
#include "report/csv.h"
#include "report/environment.h"
#include "report/info.h"
#include "report/jsonout.h"
#include "report/latency.h"
#include "xdd/base/log.h"
#include "xdd/base/nstime.h"
#include "xdd/base/output.h"
#include "xdd/base/outwait.h"
#include "xdd/base/printable.h"
#include "xdd/base/units.h"
#include "xdd/report/outfile.h"

/* Lines that are made with stdio, in memory until they go out at once. */
struct lines {
	FILE *f; /* NULL: not wanted, or no memory */
	char *text;
	size_t size;
};

struct report {
	/* const after report_open() */
	const struct plan *plan;
	struct column_list list;

	/* owned by the thread that has the report: room for a line */
	struct line_cell *cells;
	char *line;

	/* guarded by text_lock: QThreads put lines between those of the results */
	pthread_mutex_t text_lock;
	struct outfile text;

	/* owned by the thread that has the report: where lines go */
	struct outfile csv;
	struct outfile combined;
	struct outfile latency;

	/* likewise: the tables of -latency, which follow the results; NULL: not wanted */
	struct lines table, octaves;
	bool intervals_begun; /* their header is written */
	struct jsonout *json; /* NULL: not wanted */
	enum xdd_status status;
};

static enum xdd_status out_of_memory(void)
{
	log_error("%s", strerror(ENOMEM));
	return XDD_INIT_FAILED;
}

/* The width lines are folded at: that of the terminal, 0 when the text goes elsewhere. */
static unsigned terminal_columns(int fd)
{
	struct winsize size = { 0 };
	const char *env;
	uint64_t columns;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	env = getenv("COLUMNS");
	if (!env || units_parse_u64(env, &columns) || columns > 65535)
		return 0;
	return (unsigned)columns;
}

static void write_text(struct report *r, const char *line, size_t len)
{
	pthread_mutex_lock(&r->text_lock);
	outfile_write(&r->text, line, len);
	pthread_mutex_unlock(&r->text_lock);
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
	len = line_csv(r->line, r->cells, csv_header_cells(r->cells, &r->list));
	status = report_csv_start(option, path, r->line, len, &write_header);
	if (!status)
		status = open_output(o, option, path);
	if (!status && write_header)
		outfile_write(o, r->line, len);
	return status;
}

static void lines_open(struct lines *l)
{
	*l = (struct lines){ .f = NULL };
	l->f = open_memstream(&l->text, &l->size);
}

/*
 * To `o`, which keeps in mind that they are missing where memory was short. What the environment has in
 * the text, such as the name of a disk, must not control a terminal; CSV is exact.
 */
static void lines_write(struct report *r, struct outfile *o, struct lines *l)
{
	bool made = l->f && !(ferror(l->f) | fclose(l->f));

	if (made && o == &r->text) {
		char *text = printable_dup(l->text, true);

		free(l->text);
		l->text = text;
		l->size = text ? strlen(text) : 0;
		made = text;
	}
	pthread_mutex_lock(&r->text_lock);
	if (made)
		outfile_write(o, l->text, l->size);
	else if (o->fd >= 0 && !o->error)
		o->error = ENOMEM;
	pthread_mutex_unlock(&r->text_lock);
	free(l->text);
}

static enum xdd_status write_info(struct report *r, const json_t *environment)
{
	struct lines l;

	lines_open(&l);
	if (!l.f)
		return out_of_memory();
	if (r->plan->verbose || r->plan->output_file)
		info_write(l.f, r->plan, environment);
	else
		info_write_short(l.f, r->plan);
	lines_write(r, &r->text, &l);
	return XDD_OK;
}

/* The lines of a result, or of an interval, to the file of -latency output; no result: its first line. */
static void write_latency_csv(struct report *r, const struct result *result,
			      const struct latency_interval *interval)
{
	struct lines l;

	if (r->latency.fd < 0)
		return;
	lines_open(&l);
	if (l.f && result)
		latency_csv_rows(l.f, r->plan, result, interval);
	else if (l.f)
		latency_csv_header(l.f, r->plan);
	lines_write(r, &r->latency, &l);
}

static enum xdd_status open_latency(struct report *r)
{
	const struct latency_options *latency = &r->plan->latency;
	enum xdd_status status = XDD_OK;
	bool write_header = false;

	if (latency->shown)
		lines_open(&r->table);
	if (latency->histogram)
		lines_open(&r->octaves);
	if ((latency->shown && !r->table.f) || (latency->histogram && !r->octaves.f))
		return out_of_memory();
	if (latency->file)
		status = report_latency_start(r->plan, &write_header);
	if (!status && latency->file)
		status = open_output(&r->latency, "latency output", latency->file);
	if (!status && write_header)
		write_latency_csv(r, NULL, NULL);
	return status;
}

static enum xdd_status open_text(struct report *r)
{
	if (jsonout_is_stdout(r->plan) && !r->plan->output_file)
		return XDD_OK;
	return open_output(&r->text, "output", r->plan->output_file);
}

static enum xdd_status open_json(struct report *r, json_t *environment)
{
	int err = r->plan->json_file ? jsonout_open(&r->json, r->plan, environment) : 0;

	if (!err)
		return XDD_OK;
	log_error("-jsonout %s: %s", r->plan->json_file, output_strerror(err));
	return err == -ENOMEM ? XDD_INIT_FAILED : XDD_BAD_ARGUMENT;
}

/* What is written before the run, in whatever form. */
static enum xdd_status write_start(struct report *r)
{
	const struct plan *plan = r->plan;
	json_t *environment = NULL;
	enum xdd_status status;

	if (plan->verbose || plan->output_file || plan->json_file) {
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

	if (status)
		return status;
	r->cells = calloc(r->list.n, sizeof(*r->cells));
	r->line = malloc(line_size(r->list.n));
	if (!r->cells || !r->line)
		return out_of_memory();
	/* What stdio still holds for standard output comes before what is written to it here. */
	fflush(stdout);
	status = open_text(r);
	if (!status)
		status = open_csv(r, &r->csv, "csvout", plan->csv_file);
	if (!status)
		status = open_csv(r, &r->combined, "combinedout", plan->combined_file);
	if (!status)
		status = open_latency(r);
	if (!status)
		status = write_start(r);
	return status;
}

static void lines_free(struct lines *l)
{
	if (l->f)
		fclose(l->f);
	free(l->text);
}

static void report_free(struct report *r)
{
	lines_free(&r->table);
	lines_free(&r->octaves);
	column_list_free(&r->list);
	free(r->line);
	free(r->cells);
	pthread_mutex_destroy(&r->text_lock);
	free(r);
}

enum xdd_status report_open(const struct plan *plan, struct report **out)
{
	struct report *r = calloc(1, sizeof(*r));
	enum xdd_status status;

	*out = NULL;
	if (!r)
		return out_of_memory();
	r->plan = plan;
	pthread_mutex_init(&r->text_lock, NULL);
	r->text.fd = -1;
	r->csv.fd = -1;
	r->combined.fd = -1;
	r->latency.fd = -1;
	status = open_all(r);
	if (status) {
		outfile_close(&r->latency);
		jsonout_discard(r->json);
		outfile_close(&r->combined);
		outfile_close(&r->csv);
		outfile_close(&r->text);
		report_free(r);
		return status;
	}
	*out = r;
	return XDD_OK;
}

static void write_cells(struct report *r)
{
	size_t len = line_join(r->line, r->cells, r->list.n, terminal_columns(r->text.fd));

	write_text(r, r->line, len);
}

void report_header(struct report *r)
{
	for (size_t i = 0; i < r->list.n; i++)
		line_cell_set(&r->cells[i], r->list.columns[i]->heading);
	write_cells(r);
	for (size_t i = 0; i < r->list.n; i++)
		line_cell_set(&r->cells[i], r->list.columns[i]->units);
	write_cells(r);
}

void report_result(struct report *r, const struct result *result)
{
	size_t len;

	for (size_t i = 0; i < r->list.n; i++)
		line_cell_padded(&r->cells[i], r->list.columns[i], result);
	write_cells(r);
	len = line_csv(r->line, r->cells, csv_result_cells(r->cells, &r->list, result));
	outfile_write(&r->csv, r->line, len);
	if (result->what == RESULT_COMBINED)
		outfile_write(&r->combined, r->line, len);
}

bool report_wants_latency(const struct report *r)
{
	bool wanted = r->plan->latency.shown || r->json;

	for (size_t i = 0; i < r->plan->n_targets; i++)
		wanted |= r->plan->targets[i].heartbeat.latency;
	for (size_t i = 0; i < r->list.n; i++)
		wanted |= r->list.columns[i]->latency;
	return wanted;
}

bool report_wants_overhead(const struct report *r)
{
	bool wanted = r->json != NULL;

	for (size_t i = 0; i < r->list.n; i++)
		wanted |= strcmp(r->list.columns[i]->id, "OVERHEADTIME") == 0;
	return wanted;
}

void report_latency(struct report *r, const struct result *result)
{
	write_latency_csv(r, result, NULL);
	if (result->what != RESULT_COMBINED && !r->plan->verbose)
		return;
	if (r->table.f)
		latency_table_rows(r->table.f, r->plan, result, NULL);
	if (r->octaves.f)
		latency_octaves_rows(r->octaves.f, result);
}

void report_latency_interval(struct report *r, const struct result *result, uint64_t from_ns,
			     uint64_t to_ns)
{
	const struct latency_interval interval = { from_ns, to_ns };
	struct lines l;

	if (r->plan->latency.file) {
		write_latency_csv(r, result, &interval);
		return;
	}
	lines_open(&l);
	if (l.f && !r->intervals_begun)
		latency_table_header(l.f, r->plan, true);
	r->intervals_begun = true;
	if (l.f)
		latency_table_rows(l.f, r->plan, result, &interval);
	lines_write(r, &r->text, &l);
}

/* The tables of -latency, each behind its header; nothing where they are empty. */
static void write_latency_text(struct report *r)
{
	struct lines l;

	if (!r->table.f || (fflush(r->table.f) == 0 && !r->table.size))
		return;
	lines_open(&l);
	if (l.f) {
		latency_table_header(l.f, r->plan, false);
		fwrite(r->table.text, 1, r->table.size, l.f);
	}
	if (l.f && r->octaves.f && fflush(r->octaves.f) == 0) {
		latency_octaves_header(l.f);
		fwrite(r->octaves.text, 1, r->octaves.size, l.f);
	}
	lines_write(r, &r->text, &l);
}

void report_record(struct report *r, const struct result *result)
{
	if (r->json)
		jsonout_result(r->json, result);
}

void report_device(struct report *r, const struct device_use *use)
{
	if (r->json)
		jsonout_device(r->json, use);
}

void report_deskew(struct report *r, const struct deskew_result *deskew)
{
	struct lines l;

	if (r->json)
		jsonout_deskew(r->json, deskew);
	lines_open(&l);
	if (l.f)
		deskew_write(l.f, deskew);
	lines_write(r, &r->text, &l);
}

void report_start_skew(struct report *r, const struct start_skew_result *skew)
{
	if (r->json)
		jsonout_start_skew(r->json, skew);
	if (r->plan->verbose)
		report_line(r,
			    "Start skew, pass %" PRIu64 ", %.6f, seconds, first, target %" PRIu32
			    ", last, target %" PRIu32,
			    skew->pass, (double)skew->skew_ns / (double)NS_PER_SEC,
			    skew->first_target, skew->last_target);
}

void report_statistics(struct report *r, const struct pass_statistics *statistics)
{
	struct lines l;

	if (r->json)
		jsonout_statistics(r->json, statistics);
	if (!r->plan->verbose)
		return;
	lines_open(&l);
	if (l.f)
		statistics_write(l.f, statistics);
	lines_write(r, &r->text, &l);
}

void report_line(struct report *r, const char *fmt, ...)
{
	char *raw, *line = NULL;
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	if (vasprintf(&raw, fmt, ap) < 0)
		raw = NULL;
	va_end(ap);
	if (raw)
		line = printable_dup(raw, false);
	free(raw);
	if (!line) {
		pthread_mutex_lock(&r->text_lock);
		if (!r->text.error)
			r->text.error = ENOMEM;
		pthread_mutex_unlock(&r->text_lock);
		return;
	}
	/* In the place of the NUL, so that the line goes out in one write. */
	len = strlen(line);
	line[len] = '\n';
	write_text(r, line, len + 1);
	free(line);
}

static ssize_t write_stream(void *cookie, const char *data, size_t size)
{
	write_text(cookie, data, size);
	return (ssize_t)size;
}

FILE *report_stream(struct report *r)
{
	return fopencookie(r, "w", (cookie_io_functions_t){ .write = write_stream });
}

char *report_information(const struct plan *plan, uint32_t target)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	info_write_target(f, plan, target);
	if (ferror(f) | fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
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

	write_latency_text(r);
	if (r->json)
		jsonout_end(r->json, words[end]);
	report_line(r, "Ending time for this run, %s", info_time(now));
	report_line(r, "%s", ends[end]);
}

/* Tell of the first output that failed: results are missing there. */
static enum xdd_status close_output(struct outfile *o, const char *option, const char *path,
				    enum xdd_status status)
{
	int err = outfile_close(o);

	if (!err || status)
		return status;
	if (path)
		log_error("-%s %s: %s; results are missing there", option, path, strerror(-err));
	else
		log_error("standard output: %s; results are missing there", strerror(-err));
	return XDD_IO_ERROR;
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
	status = close_output(&r->text, "output", r->plan->output_file, status);
	status = close_output(&r->csv, "csvout", r->plan->csv_file, status);
	status = close_output(&r->combined, "combinedout", r->plan->combined_file, status);
	status = close_output(&r->latency, "latency output", r->plan->latency.file, status);
	/* Results that a signal cut off are not those of a whole run, however it went. */
	if (outwait_was_cut())
		r->status = status = XDD_CANCELED;
	status = close_json(r, status);
	report_free(r);
	return status;
}
