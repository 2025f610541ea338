/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -intervals prometheus: see the header. Called by report.c and series.c.
 *
 * The intervals of a run add up to its results, so their sums are counters that never fall. A row
 * of figure_rows[] that QThreads count is a counter of the same name, in the base units of
 * OpenMetrics.
 */
#include "report/report_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/latency.h"
#include "xdd/base/file.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/stat/figures.h"

#define HOST_SIZE 256

/* Bounds of the histogram: 1 us, doubled up to 17 s. */
#define BUCKETS 25
#define BUCKET_NS(i) (UINT64_C(1000) << (i))

struct prometheus {
	const struct plan *plan;
	uint64_t started_ns;
	char host[HOST_SIZE];
	struct figures *sums; /* of each target: tally and latency */
	int error;	      /* the first -errno; 0: none */
	bool ended;
	enum xdd_status status; /* once it has ended */
};

/* Write the value of a label, without the quotes around it. */
static void prometheus_label(FILE *f, const char *value)
{
	while (*value) {
		const size_t n = utf8_length(value);

		if (*value == '\n')
			fputs("\\n", f);
		else if (*value == '"' || *value == '\\')
			fprintf(f, "\\%c", *value);
		else if (n)
			fwrite(value, 1, n, f);
		else
			fputs("\xef\xbf\xbd", f); /* U+FFFD */
		value += n ? n : 1;
	}
}

/* The labels that every series has; others may follow. */
static void prometheus_labels(FILE *f, const struct prometheus *p)
{
	fputs("{host=\"", f);
	prometheus_label(f, p->host);
	fprintf(f, "\",rank=\"%" PRIu64 "\"", p->plan->rank);
}

static void target_labels(FILE *f, const struct prometheus *p, const struct target_plan *t)
{
	prometheus_labels(f, p);
	fprintf(f, ",target=\"%" PRIu32 "\",name=\"", t->number);
	prometheus_label(f, t->path);
	fputc('"', f);
}

static void family(FILE *f, const char *name, const char *type, const char *unit, const char *help)
{
	fprintf(f, "# HELP xdd_%s %s\n# TYPE xdd_%s %s\n", name, help, name, type);
	if (*unit)
		fprintf(f, "# UNIT xdd_%s %s\n", name, unit);
}

static void put_seconds(FILE *f, uint64_t ns)
{
	fprintf(f, "%" PRIu64 ".%09" PRIu64, (uint64_t)(ns / NS_PER_SEC),
		(uint64_t)(ns % NS_PER_SEC));
}

/* ---- counters ---- */

/* "busy_seconds" for "busy_ns", and its unit; returns `name`. */
#define NAME_SIZE 64
static char *base_name(const struct figure_row *row, char name[NAME_SIZE], const char **unit)
{
	const char *end = strrchr(row->member, '_');
	const char *last = end ? end + 1 : row->member;
	const bool ns = strcmp(last, "ns") == 0;

	*unit = ns ? "seconds" : strcmp(last, "bytes") == 0 ? "bytes" : "";
	if (ns)
		snprintf(name, NAME_SIZE, "%.*s_seconds", (int)(end - row->member), row->member);
	else
		snprintf(name, NAME_SIZE, "%s", row->member);
	return name;
}

/* Rows that all runs count, and that documents have. */
static bool is_counter(const struct figure_row *row)
{
	return row->live != FIGURE_NOT_LIVE && row->member && !row->part &&
	       row->sum == FIGURE_SUM_ADD;
}

static void put_counter(FILE *f, const struct prometheus *p, const struct figure_row *row,
			const char *name, const char *unit, size_t target)
{
	const struct target_plan *t = &p->plan->targets[target];
	const uint64_t *values = figure_row_read(&p->sums[target], row);

	for (unsigned i = 0; i < row->n; i++) {
		if (row->n > 1 && !values[i] && !series_has_direction(t, i))
			continue;
		fprintf(f, "xdd_%s_total", name);
		target_labels(f, p, t);
		if (row->n > 1)
			fprintf(f, ",operation=\"%s\"", op_dir_name((enum op_dir)i));
		fputs("} ", f);
		if (strcmp(unit, "seconds") == 0)
			put_seconds(f, values[i]);
		else
			fprintf(f, "%" PRIu64, values[i]);
		fputc('\n', f);
	}
}

static void put_counters(FILE *f, const struct prometheus *p)
{
	for (const struct figure_row *row = figure_rows; row->n; row++) {
		char name[NAME_SIZE];
		const char *unit;

		if (!is_counter(row))
			continue;
		base_name(row, name, &unit);
		family(f, name, "counter", unit, row->help);
		for (size_t i = 0; i < p->plan->n_targets; i++)
			put_counter(f, p, row, name, unit, i);
	}
}

/* ---- the histogram ---- */

#define LATENCY "latency_seconds"

static void latency_series(FILE *f, const struct prometheus *p, const struct target_plan *t,
			   unsigned dir, const char *suffix)
{
	fprintf(f, "xdd_" LATENCY "_%s", suffix);
	target_labels(f, p, t);
	fprintf(f, ",operation=\"%s\"", op_dir_name((enum op_dir)dir));
}

static void put_histogram(FILE *f, const struct prometheus *p, size_t target, unsigned dir)
{
	const struct target_plan *t = &p->plan->targets[target];
	const struct latency *l = &p->sums[target].latency;
	const struct histogram_view v = latency_view(l, LATENCY_SERVICE, dir);
	const uint64_t n = histogram_count(&v);

	for (unsigned i = 0; i < BUCKETS; i++) {
		latency_series(f, p, t, dir, "bucket");
		fprintf(f, ",le=\"%.9g\"} %" PRIu64 "\n", (double)BUCKET_NS(i) / NS_PER_SEC,
			histogram_count_between(&v, 0, BUCKET_NS(i)));
	}
	latency_series(f, p, t, dir, "bucket");
	fprintf(f, ",le=\"+Inf\"} %" PRIu64 "\n", n);
	latency_series(f, p, t, dir, "count");
	fprintf(f, "} %" PRIu64 "\n", n);
	latency_series(f, p, t, dir, "sum");
	fputs("} ", f);
	put_seconds(f, l->of[LATENCY_SERVICE][dir].sum_ns);
	fputc('\n', f);
}

static void put_latency(FILE *f, const struct prometheus *p)
{
	family(f, LATENCY, "histogram", "seconds",
	       "Service times of operations, from issue to completion.");
	for (size_t i = 0; i < p->plan->n_targets; i++) {
		for (unsigned dir = 0; dir < DIR_COUNT; dir++) {
			if (series_has_direction(&p->plan->targets[i], dir) ||
			    p->sums[i].tally.ops[dir])
				put_histogram(f, p, i, dir);
		}
	}
}

/* ---- the file ---- */

static void put_run(FILE *f, const struct prometheus *p)
{
	family(f, "running", "gauge", "", "1 while the run lasts, 0 once it has ended.");
	fputs("xdd_running", f);
	prometheus_labels(f, p);
	fprintf(f, "} %d\n", !p->ended);
	family(f, "start_time_seconds", "gauge", "seconds", "Start of the run, since 1970.");
	fputs("xdd_start_time_seconds", f);
	prometheus_labels(f, p);
	fputs("} ", f);
	put_seconds(f, p->started_ns);
	fputc('\n', f);
	if (!p->ended)
		return;
	family(f, "exit_status", "gauge", "", "Exit status of the run, once it has ended.");
	fputs("xdd_exit_status", f);
	prometheus_labels(f, p);
	fprintf(f, "} %d\n", (int)p->status);
}

static int prometheus_write(const struct prometheus *p)
{
	struct newfile file;
	int err = newfile_open(&file, p->plan->intervals.prometheus);

	if (err)
		return err;
	errno = 0;
	put_run(file.f, p);
	put_counters(file.f, p);
	put_latency(file.f, p);
	fputs("# EOF\n", file.f);
	return newfile_close(&file, ferror(file.f) ? errno ? -errno : -EIO : 0);
}

bool prometheus_accepts(const char *path)
{
	struct stat st;

	return output_standard(path) < 0 && (stat(path, &st) || S_ISREG(st.st_mode));
}

int prometheus_open(struct prometheus **out, const struct plan *plan, uint64_t started_ns)
{
	struct prometheus *p = calloc(1, sizeof(*p));
	int err;

	*out = NULL;
	if (p)
		p->sums = calloc(plan->n_targets, sizeof(*p->sums));
	if (!p || !p->sums) {
		free(p);
		return -ENOMEM;
	}
	p->plan = plan;
	p->started_ns = started_ns;
	gethostname(p->host, sizeof(p->host) - 1);
	for (size_t i = 0; i < plan->n_targets; i++)
		figures_init(&p->sums[i]);
	err = prometheus_write(p);
	if (err)
		prometheus_free(p);
	else
		*out = p;
	return err;
}

static void prometheus_keep(struct prometheus *p, int err)
{
	if (!p->error)
		p->error = err;
}

void prometheus_interval(struct prometheus *p, const struct interval_result *i)
{
	const size_t n = p->plan->n_targets;

	if (i->target < n) {
		tally_add(&p->sums[i->target].tally, &i->figures->tally);
		prometheus_keep(p, latency_add(&p->sums[i->target].latency, &i->figures->latency));
	}
	if (i->target == n || n == 1)
		prometheus_keep(p, prometheus_write(p));
}

void prometheus_free(struct prometheus *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->plan->n_targets; i++)
		figures_free(&p->sums[i]);
	free(p->sums);
	free(p);
}

int prometheus_close(struct prometheus *p, enum xdd_status status)
{
	int err = 0;

	if (!p)
		return 0;
	p->ended = true;
	p->status = status;
	prometheus_keep(p, prometheus_write(p));
	err = p->error;
	prometheus_free(p);
	return err;
}
