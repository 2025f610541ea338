/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plots: the table of their kinds, their data, scales and files; see the header. Called by page.c,
 * the parts of the page, and plot_svg.c.
 */
#include "report/page/plot.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/report/compare.h"
#include "xdd/report/report.h"

const struct plot_kind plot_kinds[PLOT_KINDS] = {
	[PLOT_BANDWIDTH] = { .title = "Bandwidth over time",
			     .file = "bandwidth",
			     .path = "intervals[].bandwidth",
			     .x = { "time", PLOT_TIME, PLOT_FIT },
			     .y = { "bandwidth", PLOT_RATE, PLOT_ZERO } },
	[PLOT_IOPS] = { .title = "Operations per second over time",
			.file = "iops",
			.path = "intervals[].iops",
			.x = { "time", PLOT_TIME, PLOT_FIT },
			.y = { "operations", PLOT_OPS, PLOT_ZERO } },
	[PLOT_LATENCY] = { .title = "Service times over time: p50 and p99",
			   .file = "latency",
			   .path = "intervals[].p50_ns, intervals[].p99_ns",
			   .x = { "time", PLOT_TIME, PLOT_FIT },
			   .y = { "service time", PLOT_TIME, PLOT_LOG } },
	[PLOT_MAXIMA] = { .title = "Greatest service times over time",
			  .file = "max",
			  .path = "intervals[].max_ns",
			  .x = { "time", PLOT_TIME, PLOT_FIT },
			  .y = { "service time", PLOT_TIME, PLOT_LOG } },
	[PLOT_PASSES] = { .title = "Bandwidth by pass",
			  .file = "passes",
			  .path = "statistics[].bandwidth.values",
			  .x = { "pass", PLOT_NUMBER, PLOT_FIT },
			  .y = { "bandwidth", PLOT_RATE, PLOT_ZERO } },
	[PLOT_DISTRIBUTION] = { .title = "Distribution of the service times",
				.file = "distribution",
				.path = "results[].latency",
				.x = { "service time", PLOT_TIME, PLOT_LOG },
				.y = { "operations that took at least so long", PLOT_PERCENT,
				       PLOT_LOG } },
	[PLOT_DISTRIBUTIONS] = { .title = "Distributions of both documents",
				 .file = "distributions",
				 .path = "results[].latency",
				 .x = { "service time", PLOT_TIME, PLOT_LOG },
				 .y = { "operations that took at least so long", PLOT_PERCENT,
					PLOT_LOG } },
	[PLOT_HEAT] = { .title = "Heat map of the service times",
			.file = "heat",
			.path = "results[].latency",
			.x = { "pass", PLOT_NUMBER, PLOT_FIT },
			.y = { "service time", PLOT_TIME, PLOT_LOG },
			.style = PLOT_CELLS,
			.value = PLOT_PERCENT,
			.log_value = true },
	[PLOT_TARGETS] = { .title = "Starts and ends of the targets",
			   .file = "targets",
			   .path = "results[].begin_ns, results[].finish_ns",
			   .x = { "time", PLOT_TIME, PLOT_ZERO },
			   .y = { "", PLOT_NUMBER, PLOT_NAMES },
			   .style = PLOT_BARS },
	[PLOT_SWEEP_BANDWIDTH] = { .title = "Bandwidth of the points",
				   .file = "lines-bandwidth",
				   .path = "points[].statistics[].bandwidth",
				   .y = { "bandwidth", PLOT_RATE, PLOT_ZERO },
				   .spreads = true },
	[PLOT_SWEEP_P99] = { .title = "99th percentile of the points",
			     .file = "lines-p99",
			     .path = "points[].statistics[].p99",
			     .y = { "p99 of the service time", PLOT_TIME, PLOT_LOG },
			     .spreads = true },
	[PLOT_SWEEP_GRID] = { .title = "Grid of the bandwidth",
			      .file = "grid",
			      .path = "points[].statistics[].bandwidth.mean",
			      .x = { "", PLOT_NUMBER, PLOT_NAMES },
			      .y = { "", PLOT_NUMBER, PLOT_NAMES },
			      .style = PLOT_CELLS,
			      .value = PLOT_RATE },
	[PLOT_SWEEPS_BANDWIDTH] = { .title = "Bandwidth of both sweeps",
				    .file = "both-bandwidth",
				    .path = "points[].statistics[].bandwidth",
				    .y = { "bandwidth", PLOT_RATE, PLOT_ZERO },
				    .spreads = true },
	[PLOT_SWEEPS_P99] = { .title = "99th percentile of both sweeps",
			      .file = "both-p99",
			      .path = "points[].statistics[].p99",
			      .y = { "p99 of the service time", PLOT_TIME, PLOT_LOG },
			      .spreads = true },
	[PLOT_CHANGES_BANDWIDTH] = { .title = "Changes of the bandwidth, b to a",
				     .file = "changes-bandwidth",
				     .path = "points[].statistics[].bandwidth",
				     .x = { "", PLOT_NUMBER, PLOT_NAMES },
				     .y = { "", PLOT_NUMBER, PLOT_NAMES },
				     .style = PLOT_CELLS,
				     .value = PLOT_CHANGE,
				     .log_value = true },
	[PLOT_CHANGES_P99] = { .title = "Changes of the 99th percentile, b to a",
			       .file = "changes-p99",
			       .path = "points[].statistics[].p99",
			       .x = { "", PLOT_NUMBER, PLOT_NAMES },
			       .y = { "", PLOT_NUMBER, PLOT_NAMES },
			       .style = PLOT_CELLS,
			       .value = PLOT_CHANGE,
			       .log_value = true },
	[PLOT_CURVE] = { .title = "Response and service times by load",
			 .file = "curve",
			 .path = "curve.loads[].response, curve.loads[].service",
			 .x = { "offered load (% of the maximum)", PLOT_NUMBER, PLOT_ZERO },
			 .y = { "time", PLOT_TIME, PLOT_ZERO } },
	[PLOT_CURVE_TAIL] = { .title = "Tail of the response times by load",
			      .file = "curve-tail",
			      .path = "curve.loads[].response_p99, curve.loads[].response_p99.9",
			      .x = { "offered load (% of the maximum)", PLOT_NUMBER, PLOT_ZERO },
			      .y = { "response time", PLOT_TIME, PLOT_LOG } },
	[PLOT_CURVE_LATENESS] = { .title = "Lateness of xdd itself by load",
				  .file = "curve-lateness",
				  .path = "curve.loads[].lateness",
				  .x = { "offered load (% of the maximum)", PLOT_NUMBER,
					 PLOT_ZERO },
				  .y = { "lateness", PLOT_TIME, PLOT_ZERO },
				  .small = true },
	[PLOT_CURVES] = { .title = "Response times of both by load",
			  .file = "curves",
			  .path = "curve.loads[].response",
			  .x = { "offered load", PLOT_OPS, PLOT_ZERO },
			  .y = { "mean response time", PLOT_TIME, PLOT_ZERO } },
};

/* Limits of what can be drawn. */
#define VALUE_LEAST 1e-30
#define VALUE_MOST 1e30

/* ---- building ---- */

/* Long texts are cut at the start of a character. */
void plot_label(char to[PLOT_LABEL_SIZE], const char *text)
{
	size_t n = 0;

	while (text[n]) {
		const size_t length = utf8_length(text + n);

		if (n + (length ? length : 1) >= PLOT_LABEL_SIZE - 3)
			break;
		n += length ? length : 1;
	}
	memcpy(to, text, n);
	strcpy(to + n, text[n] ? "..." : "");
}

struct plot *plots_add(struct plots *plots, enum plot_id id, const char *document)
{
	struct plot *plot = xcalloc(1, sizeof(*plot));

	plots->list = xarray_room(plots->list, plots->n, sizeof(struct plot *));
	plot->kind = &plot_kinds[id];
	plot->x_scale = plot->kind->x.scale;
	plot->y_scale = plot->kind->y.scale;
	snprintf(plot->name, sizeof(plot->name), "%02zu-%s-%s", plots->n + 1, document,
		 plot->kind->file);
	plots->list[plots->n++] = plot;
	return plot;
}

void plots_free(struct plots *plots)
{
	for (size_t i = 0; i < plots->n; i++) {
		struct plot *plot = plots->list[i];

		for (size_t k = 0; k < plot->n_series; k++)
			free(plot->series[k].points);
		free(plot->x_tics.list);
		free(plot->y_tics.list);
		arena_free(plot->texts);
		free(plot);
	}
	free(plots->list);
	*plots = (struct plots){ .n = 0 };
}

void plot_series(struct plot *plot, const char *title)
{
	if (plot->n_series < PLOT_MAX_SERIES)
		plot_label(plot->series[plot->n_series++].title, title);
}

static bool can_draw(double value, enum plot_scale scale)
{
	return isfinite(value) && fabs(value) <= VALUE_MOST &&
	       (scale != PLOT_LOG || value >= VALUE_LEAST);
}

/* Ends that a style does not use are 0, and not looked at. */
static bool can_draw_point(const struct plot *plot, const struct plot_point *p)
{
	const enum plot_style style = plot->kind->style;

	return can_draw(p->x, plot->x_scale) && can_draw(p->y, plot->y_scale) &&
	       (style == PLOT_LINES || can_draw(p->x_to, plot->x_scale)) &&
	       (style != PLOT_CELLS ||
		(can_draw(p->y_to, plot->y_scale) &&
		 can_draw(p->value, plot->kind->log_value ? PLOT_LOG : PLOT_ZERO)));
}

void plot_add(struct plot *plot, const struct plot_point *point)
{
	struct plot_series *s = plot->n_series ? &plot->series[plot->n_series - 1] : NULL;
	struct plot_point *p;

	if (!s || !can_draw_point(plot, point))
		return;
	s->points = xarray_room(s->points, s->n, sizeof(*s->points));
	p = &s->points[s->n++];
	*p = *point;
	/* An interval that begins below a logarithmic axis is drawn down to its edge. */
	if (plot->y_scale == PLOT_LOG)
		p->low = p->low < VALUE_LEAST ? VALUE_LEAST : p->low;
	if (!can_draw(p->low, plot->y_scale) || !can_draw(p->high, plot->y_scale))
		p->low = p->high = NAN;
}

const char *plot_text(struct plot *plot, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	if (!plot->texts)
		plot->texts = xarena_new();
	va_start(ap, fmt);
	text = xneed(arena_vprintf(plot->texts, fmt, ap));
	va_end(ap);
	return text;
}

void plot_xy(struct plot *plot, double x, double y)
{
	plot_add(plot, &(struct plot_point){ .x = x, .y = y, .low = NAN, .high = NAN });
}

static void add_mark(struct plot *plot, const struct plot_mark *mark, const char *label)
{
	struct plot_mark *m = &plot->marks[plot->n_marks];

	if (plot->n_marks == PLOT_MAX_MARKS)
		return;
	plot->n_marks++;
	*m = *mark;
	plot_label(m->label, label);
}

void plot_line_at(struct plot *plot, double x, double low, double high, const char *label)
{
	const bool band = can_draw(low, plot->x_scale) && can_draw(high, plot->x_scale);

	if (can_draw(x, plot->x_scale))
		add_mark(plot,
			 &(struct plot_mark){
				 .at = x, .low = band ? low : NAN, .high = band ? high : NAN },
			 label);
}

void plot_level(struct plot *plot, double y, const char *label)
{
	if (can_draw(y, plot->y_scale))
		add_mark(plot, &(struct plot_mark){ .level = true, .at = y }, label);
}

void plot_tic(struct plot_tics *tics, double at, const char *label)
{
	struct plot_tic *tic;

	if (tics->n == PLOT_MAX_TICS)
		return;
	tics->list = xarray_room(tics->list, tics->n, sizeof(*tic));
	tic = &tics->list[tics->n++];
	tic->at = at;
	plot_label(tic->label, label);
}

double plot_greatest(const struct plot *plot)
{
	double most = 0;

	for (size_t i = 0; i < plot->n_series; i++) {
		const struct plot_series *s = &plot->series[i];

		for (size_t k = 0; k < s->n; k++)
			most = fmax(most, fmax(s->points[k].y, s->points[k].high));
	}
	return most;
}

bool plot_is_drawn(const struct plot *plot)
{
	for (size_t i = 0; i < plot->n_series; i++) {
		if (plot->series[i].n)
			return true;
	}
	return false;
}

bool plot_zooms(const struct plot *plot)
{
	size_t n = 0;

	for (size_t i = 0; i < plot->n_series; i++)
		n += plot->series[i].n;
	return n > 1 && plot->kind->x.unit == PLOT_TIME && plot->x_scale != PLOT_LOG;
}

/* ---- style ---- */

static const struct {
	const char *light, *dark;
} colours[PLOT_MAX_SERIES] = {
	{ "#0b4fa8", "#8ab8ff" }, { "#b5470b", "#ffb27a" }, { "#14602a", "#7fd394" },
	{ "#7a2f8f", "#dba9ee" }, { "#3f3f3f", "#d0d4da" }, { "#7d6200", "#e6cf6b" },
	{ "#a11645", "#ff9db8" }, { "#005f73", "#6fd3e0" },
};

/* Other colours of a picture: variables of the page, and what a file has in their places. */
static const struct {
	const char *selector, *variable, *file;
} plain_colours[] = {
	{ "", "text", "#1b1f24" },
	{ " .grid", "line", "#b9c0c9" },
	{ " .disturbed", "note", "#7a4300" },
	{ " .better", "good", "#14602a" },
	{ " .worse", "bad", "#a11616" },
	{ " .mark", "text", "#1b1f24" },
	{ " .halo", "text", "#1b1f24" },
};

static const char plot_rules[] =
	".chart text{fill:currentColor;font:12px system-ui,sans-serif}\n"
	".chart .name{font-weight:600}.chart .number{font-size:11px}\n"
	".chart path{fill:none;stroke:currentColor}.chart rect{fill:currentColor}\n"
	".chart .line{stroke-width:1.6;stroke-linejoin:round}.chart .full{fill:currentColor}\n"
	".chart .open{stroke-width:1.4}.chart .disturbed{stroke-width:2}\n"
	".chart .mark{stroke-width:1.4;stroke-dasharray:6 3}.chart .band{fill-opacity:.12}\n"
	".chart .bar{fill:currentColor;fill-opacity:.6}\n"
	".chart .hits path{stroke-width:13;stroke-linecap:round;stroke-opacity:0;"
	"pointer-events:all}\n.chart .hits path:hover{stroke-opacity:.35}\n";

void plot_write_style(FILE *f)
{
	for (int dark = 0; dark < 2; dark++) {
		fputs(dark ? "@media screen and (prefers-color-scheme:dark){.chart{" : ".chart{",
		      f);
		for (size_t i = 0; i < PLOT_MAX_SERIES; i++)
			fprintf(f, "--s%zu:%s%s", i, dark ? colours[i].dark : colours[i].light,
				i + 1 < PLOT_MAX_SERIES ? ";" : "");
		fputs(dark ? "}}\n" : "}\n", f);
	}
	for (size_t i = 0; i < PLOT_MAX_SERIES; i++)
		fprintf(f, ".chart .s%zu{color:var(--s%zu)}", i, i);
	for (size_t i = 0; i < sizeof(plain_colours) / sizeof(plain_colours[0]); i++)
		fprintf(f, ".chart%s{color:var(--%s)}", plain_colours[i].selector,
			plain_colours[i].variable);
	fputs(".chart .cell,.chart .bar,.chart .band{color:var(--s0)}"
	      ".chart .halo{paint-order:stroke;stroke:var(--back);stroke-width:3px}\n",
	      f);
	fputs(plot_rules, f);
}

/* Programs that show files know no variables, and have no dark pages. */
void plot_write_file_style(FILE *f)
{
	fputs("<style>", f);
	for (size_t i = 0; i < PLOT_MAX_SERIES; i++)
		fprintf(f, ".s%zu{color:%s}", i, colours[i].light);
	for (size_t i = 0; i < sizeof(plain_colours) / sizeof(plain_colours[0]); i++)
		fprintf(f, ".chart%s{color:%s}", plain_colours[i].selector, plain_colours[i].file);
	fprintf(f,
		".cell,.bar,.band{color:%s}.halo{paint-order:stroke;stroke:#ffffff;"
		"stroke-width:3px}\n%s</style>\n<rect style=\"fill:#ffffff\" width=\"100%%\" "
		"height=\"100%%\"/>\n",
		colours[0].light, plot_rules);
}

/* ---- data and the script ---- */

static void plot_write_data(FILE *f, const struct plot *plot)
{
	static const char *const heads[] = { [PLOT_LINES] = "x y low high",
					     [PLOT_BARS] = "from to row",
					     [PLOT_CELLS] = "from to from to value" };

	fprintf(f, "# %s: %s\n", plot->kind->path, heads[plot->kind->style]);
	for (size_t i = 0; i < plot->n_series; i++) {
		const struct plot_series *s = &plot->series[i];

		for (size_t k = 0; k < s->n; k++) {
			const struct plot_point *p = &s->points[k];

			if (plot->kind->style == PLOT_CELLS)
				fprintf(f, "%.9g %.9g %.9g %.9g %.9g\n", p->x, p->x_to, p->y,
					p->y_to, p->value);
			else if (plot->kind->style == PLOT_BARS)
				fprintf(f, "%.9g %.9g %.9g\n", p->x, p->x_to, p->y);
			else if (isfinite(p->low))
				fprintf(f, "%.9g %.9g %.9g %.9g\n", p->x, p->y, p->low, p->high);
			else
				fprintf(f, "%.9g %.9g %.9g %.9g\n", p->x, p->y, p->y, p->y);
		}
		/* Two empty lines end a data set. */
		fputs(s->n ? "\n\n" : "", f);
	}
}

/*
 * `text` between single quotes: letters, digits, blanks and a few signs; a question mark in the
 * place of others.
 */
static void plot_quote(FILE *f, const char *text)
{
	fputc('\'', f);
	while (*text) {
		const size_t length = utf8_length(text);

		if (length > 1 && !printable_unsafe(text)) {
			fwrite(text, 1, length, f);
			text += length;
			continue;
		}
		fputc(length == 1 && (isalnum((unsigned char)*text) ||
				      strchr(" ._/+:,=%()-", *text)) ?
			      *text :
			      '?',
		      f);
		text++;
	}
	fputc('\'', f);
}

static void plot_script_axis(FILE *f, char axis, const char *label, const char *own,
			     enum plot_scale scale, const struct plot_tics *tics)
{
	fprintf(f, "set %clabel ", axis);
	plot_quote(f, *own ? own : label ? label : "");
	fputc('\n', f);
	if (scale == PLOT_LOG)
		fprintf(f, "set logscale %c\n", axis);
	if (!tics->n)
		return;
	fprintf(f, "set %ctics (", axis);
	for (size_t i = 0; i < tics->n; i++) {
		fputs(i ? ", " : "", f);
		plot_quote(f, tics->list[i].label);
		fprintf(f, " %.9g", tics->list[i].at);
	}
	fputs(")\n", f);
}

/* The script that makes NAME.png of NAME.dat in its directory, and is there to be changed. */
static void plot_write_script(FILE *f, const struct plot *plot)
{
	static const char *const using[] = {
		[PLOT_LINES] = "using 1:2:3:4 with yerrorlines pointtype",
		[PLOT_BARS] =
			"using (($1+$2)/2):3:1:2:($3-0.35):($3+0.35) with boxxyerror fillstyle "
			"solid 0.5 linetype",
		[PLOT_CELLS] =
			"using (($1+$2)/2):(($3+$4)/2):1:2:3:4:5 with boxxyerror fillstyle solid "
			"noborder linecolor palette linetype",
	};
	const struct plot_kind *kind = plot->kind;
	size_t set = 0;

	fprintf(f,
		"# %s, in base units: gnuplot %s.gnuplot\nset encoding utf8\n"
		"set terminal pngcairo size 1200,750 noenhanced\nset output '%s.png'\nset grid\n"
		"set key outside top center horizontal\n",
		kind->title, plot->name, plot->name);
	plot_script_axis(f, 'x', kind->x.label, plot->x_label, plot->x_scale, &plot->x_tics);
	plot_script_axis(f, 'y', kind->y.label, plot->y_label, plot->y_scale, &plot->y_tics);
	if (kind->log_value)
		fputs("set logscale cb\n", f);
	fputs("plot ", f);
	for (size_t i = 0; i < plot->n_series; i++) {
		if (!plot->series[i].n)
			continue;
		fprintf(f, "%s'%s.dat' index %zu %s %zu title ", set ? ", " : "", plot->name, set,
			using[kind->style], i + 1);
		plot_quote(f, plot->series[i].title);
		set++;
	}
	fputc('\n', f);
}

static void plot_write_picture(FILE *f, const struct plot *plot)
{
	plot_write_svg(f, plot, 0);
}

/* ---- files ---- */

static const struct {
	const char *suffix;
	void (*write)(FILE *f, const struct plot *plot);
} plot_files[] = {
	{ "dat", plot_write_data },
	{ "gnuplot", plot_write_script },
	{ "svg", plot_write_picture },
};
#define N_FILES (sizeof(plot_files) / sizeof(plot_files[0]))

#define PATH_BYTES 4096

/* The path of file number `i` of a plot in `path`. False: it does not fit. */
static bool file_path(char path[PATH_BYTES], const char *directory, const struct plot *plot,
		      size_t i)
{
	return snprintf(path, PATH_BYTES, "%s/%s.%s", directory, plot->name, plot_files[i].suffix) <
	       PATH_BYTES;
}

static int plot_save(const char *directory, const struct plot *plot, size_t i)
{
	char path[PATH_BYTES];
	struct newfile f;
	int err;

	if (!file_path(path, directory, plot, i))
		return -ENAMETOOLONG;
	err = newfile_open(&f, path);
	if (!err) {
		plot_files[i].write(f.f, plot);
		err = newfile_close(&f, 0);
	}
	if (err)
		log_error("report -plots %s: %s", path, output_strerror(err));
	return err;
}

bool plots_replace(const struct plots *plots, const char *directory, const char *file)
{
	struct outfile_id ours, id;
	char path[PATH_BYTES];

	outfile_identify(&id, file);
	for (size_t i = 0; i < plots->n * N_FILES; i++) {
		const struct plot *plot = plots->list[i / N_FILES];

		if (!plot_is_drawn(plot) || !file_path(path, directory, plot, i % N_FILES))
			continue;
		outfile_identify(&ours, path);
		if (outfile_is_same(&ours, &id))
			return true;
	}
	return false;
}

int plots_save(const struct plots *plots, const char *directory)
{
	int err = 0;

	if (mkdir(directory, 0777) && errno != EEXIST) {
		err = -errno;
		return log_fail(err, "report -plots %s: %s", directory, strerror(-err));
	}
	for (size_t i = 0; i < plots->n * N_FILES && !err; i++) {
		if (plot_is_drawn(plots->list[i / N_FILES]))
			err = plot_save(directory, plots->list[i / N_FILES], i % N_FILES);
	}
	return err;
}

/* ---- scales: where a value is, the unit and the numbers of an axis ---- */

/* How near to each other numbers at an axis are. */
#define TIC_WIDTH 44.0
#define TIC_HEIGHT 45.0

/* ---- values ---- */

const char *plot_value_text(double value, enum plot_unit unit, char buf[PLOT_LABEL_SIZE])
{
	switch (unit) {
	case PLOT_TIME:
		return scaled_time(value, buf);
	case PLOT_RATE:
		return scaled_rate(value, buf);
	case PLOT_OPS:
		return scaled_ops(value, buf);
	case PLOT_CHANGE:
		return compare_change_text(value, buf);
	default:
		snprintf(buf, PLOT_LABEL_SIZE, unit == PLOT_PERCENT ? "%.4g %%" : "%.6g", value);
		return buf;
	}
}

/* The greatest unit in which `most` is at least 1. */
static void scale_unit(struct plot_range *s, enum plot_unit unit)
{
	static const struct {
		double factor;
		const char *names[PLOT_PERCENT + 1];
	} steps[] = {
		{ 1, { "", "ns", "B/s", "per second", "%" } },
		{ 1e3, { NULL, "us", "kB/s", "thousand per second", NULL } },
		{ 1e6, { NULL, "ms", "MB/s", "million per second", NULL } },
		{ 1e9, { NULL, "s", "GB/s", NULL, NULL } },
		{ 1e12, { NULL, NULL, "TB/s", NULL, NULL } },
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (!steps[i].names[unit] || (i && s->most < steps[i].factor))
			continue;
		s->factor = steps[i].factor;
		s->unit = steps[i].names[unit];
	}
}

/* Not below the least and not above the greatest place by much: paths have bounded numbers. */
double plot_place(const struct plot_range *s, double value)
{
	const double span = s->log ? log(s->most / s->least) : s->most - s->least;
	const double t = (s->log ? log(value / s->least) : value - s->least) / span;

	return s->from + (s->to - s->from) * fmin(fmax(t, -5), 5);
}

/* 1, 2 or 5 times a power of ten that is at least `x`. */
static double nice(double x)
{
	const double power = pow(10, floor(log10(x))), m = x / power;

	return power * (m <= 1 + 1e-9 ? 1 : m <= 2 + 1e-9 ? 2 : m <= 5 + 1e-9 ? 5 : 10);
}

void plot_widen(struct plot_limits *l, double value)
{
	if (!isfinite(value))
		return;
	l->least = fmin(l->least, value);
	l->most = fmax(l->most, value);
}

static struct plot_limits limits_of(const struct plot *plot, bool x)
{
	const enum plot_style style = plot->kind->style;
	struct plot_limits l = { INFINITY, -INFINITY };

	for (size_t i = 0; i < plot->n_series; i++) {
		for (size_t k = 0; k < plot->series[i].n; k++) {
			const struct plot_point *p = &plot->series[i].points[k];

			plot_widen(&l, x ? p->x : p->y);
			if (style != PLOT_LINES && x)
				plot_widen(&l, p->x_to);
			if (style == PLOT_CELLS && !x)
				plot_widen(&l, p->y_to);
			if (style == PLOT_LINES && !x) {
				/* An interval that goes far down must not flatten all. */
				plot_widen(&l, p->low > p->y / 10 ? p->low : NAN);
				plot_widen(&l, p->high);
			}
		}
	}
	for (size_t i = 0; i < plot->n_marks; i++) {
		if (plot->marks[i].level != x)
			plot_widen(&l, plot->marks[i].at);
	}
	/* Plots beside each other have the same values along x. */
	for (size_t i = 0; x && i < plot->x_tics.n; i++)
		plot_widen(&l, plot->x_tics.list[i].at);
	return l;
}

static void scale_log(struct plot_range *s)
{
	const double below = pow(10, floor(log10(s->least) + 1e-9));

	s->least = s->least >= 5 * below ? 5 * below : s->least >= 2 * below ? 2 * below : below;
	s->most = nice(s->most);
	if (!(s->most > s->least))
		s->most = 10 * s->least;
}

static void scale_linear(struct plot_range *s, enum plot_scale kind, bool x, double length)
{
	if (kind == PLOT_ZERO)
		s->least = fmin(s->least, 0);
	if (!(s->most > s->least)) {
		s->least -= kind == PLOT_ZERO ? 0 : 0.5 * fabs(s->least);
		s->most += 0.5 * fabs(s->most) + 1e-9;
	}
	if (x) {
		s->most += 0.02 * (s->most - s->least);
	} else {
		const double step = nice((s->most - s->least) * TIC_HEIGHT / length);

		s->most = step * ceil(s->most / step - 1e-9);
	}
}

/* The places are those between which the values are. */
void plot_range_make(struct plot_range *s, const struct plot *plot, bool x)
{
	const struct plot_tics *tics = x ? &plot->x_tics : &plot->y_tics;
	const enum plot_scale kind = x ? plot->x_scale : plot->y_scale;
	const struct plot_limits l = limits_of(plot, x);

	s->least = l.least;
	s->most = l.most;
	s->log = kind == PLOT_LOG;
	if (kind == PLOT_NAMES) {
		s->least = -0.5;
		s->most = (double)(tics->n ? tics->n : 1) - 0.5;
	} else if (s->log && tics->n) {
		s->least = l.least / pow(l.most / l.least, 0.05) / 1.02;
		s->most = l.most * pow(l.most / l.least, 0.05) * 1.02;
	} else if (s->log) {
		scale_log(s);
	} else if (plot->kind->style != PLOT_CELLS) {
		scale_linear(s, kind, x, fabs(s->to - s->from));
	}
	if (!x && plot->y_most > 0)
		s->most = plot->y_most;
	scale_unit(s, x ? plot->kind->x.unit : plot->kind->y.unit);
}

/* Add a number to the tics of a scale. */
static void scale_tic(const struct plot_range *s, struct plot_tic *tics, size_t *n, double at,
		      enum plot_unit unit)
{
	struct plot_tic *tic = &tics[*n < PLOT_MAX_TICS ? *n : 0];

	if (*n == PLOT_MAX_TICS || at < s->least * (1 - 1e-9) - 1e-12 || at > s->most * (1 + 1e-9))
		return;
	/* Not -0. */
	at += 0.0;
	tic->at = at;
	if (s->log && unit != PLOT_NUMBER) {
		struct plot_range own = { .most = at * (1 + 1e-9) };

		scale_unit(&own, unit);
		snprintf(tic->label, PLOT_LABEL_SIZE, "%.6g %s", at / own.factor, own.unit);
	} else {
		snprintf(tic->label, PLOT_LABEL_SIZE, "%.6g", at / s->factor);
	}
	(*n)++;
}

/* Numbers for an axis that has no tics of its own; returns how many. */
size_t plot_range_tics(const struct plot_range *s, enum plot_unit unit, bool x,
		       struct plot_tic tics[PLOT_MAX_TICS])
{
	const double decades = s->log ? log10(s->most / s->least) : 0;
	const double room = fabs(s->to - s->from) / (x ? TIC_WIDTH : TIC_HEIGHT);
	size_t n = 0;

	if (s->log) {
		const double every = ceil(fmax(1, decades / fmax(1, room)));

		for (double k = floor(log10(s->least)); k <= log10(s->most) + 1; k += every) {
			scale_tic(s, tics, &n, pow(10, k), unit);
			for (int i = 0; decades < room / 2 && i < 2; i++)
				scale_tic(s, tics, &n, (i ? 5 : 2) * pow(10, k), unit);
		}
	} else {
		double step = nice((s->most - s->least) / fmax(1, room));

		/* Passes are whole. */
		if (unit == PLOT_NUMBER)
			step = fmax(step, 1);
		for (double k = ceil(s->least / step - 1e-9); k * step <= s->most * (1 + 1e-9); k++)
			scale_tic(s, tics, &n, k * step, unit);
	}
	return n;
}
