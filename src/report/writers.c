/*
 * The writers of results: which output gets which result, in which order, and what must be measured
 * for that. Called by the results manager.
 *
 * A new output of results is a row in the table.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/csv.h"
#include "report/report_internal.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"

/* Figures that lines of -verbose show. */
#define DETAILS (FIGURES_ORDER | FIGURES_WAIT | FIGURES_PASSES | FIGURES_STARTS)

struct writer {
	bool (*wants)(const struct plan *plan, enum result_what what);
	unsigned needs; /* enum figures_part, apart from the columns' */
	void (*write)(struct report *r, const struct result *result);
};

/* The width lines are folded at: that of the terminal, 0 when the text goes elsewhere. */
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
 * The result lines: COMBINED always, those of targets with -verbose, those of QThreads with
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

/* The order is that of the lines in the text output. */
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
