/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text results: what is kept of the results until the run is over, and the parts of the
 * block. Called by report.c and the writers.
 */
#include "report/person.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/report_internal.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/mix.h"

/*
 * The line that says what ran: "data.bin: random reads of 4 KiB, depth 32, direct, libaio, 10.0
 * s".
 */

#define SIZE_TEXT 32

/* A name may take this share of the first line. */
#define NAME_SHARE 2

static void write_name(FILE *f, const struct plan *plan, const struct screen *screen)
{
	char *name, *shown;

	if (plan->n_targets > 1) {
		fprintf(f, "%zu targets", plan->n_targets);
		return;
	}
	name = printable_dup(plan->targets[0].path, false);
	shown = name ? screen_shorten(screen, name, screen->columns / NAME_SHARE) : NULL;
	fputs(shown ? shown : "target 0", f);
	free(shown);
	free(name);
}

static const char *pattern_word(const struct target_plan *t)
{
	static const char *const words[] = {
		[SEEK_SEQUENTIAL] = "sequential ", [SEEK_RANDOM] = "random ",
		[SEEK_ONCE] = "random ",	   [SEEK_ZIPF] = "random ",
		[SEEK_STAGGER] = "staggered ",	   [SEEK_INTERLEAVE] = "interleaved ",
		[SEEK_STREAMS] = "sequential ",	   [SEEK_NONE] = "",
		[SEEK_LOAD] = "listed ",
	};

	return words[t->seek.pattern];
}

/* Operations of the targets, as bits. */
static unsigned ops_of(const struct plan *plan)
{
	unsigned ops = 0;

	for (size_t i = 0; i < plan->n_targets; i++)
		ops |= 1u << plan->targets[i].op;
	return ops;
}

static void write_ops(FILE *f, const struct plan *plan)
{
	const struct target_plan *t = &plan->targets[0];

	switch (ops_of(plan)) {
	case 1u << OP_READ:
		fputs("reads", f);
		break;
	case 1u << OP_WRITE:
		fputs("writes", f);
		break;
	case 1u << OP_NOOP:
		fputs("no-ops", f);
		break;
	case 1u << OP_DISCARD:
		fputs("discards", f);
		break;
	case 1u << OP_MIXED:
		fprintf(f, "reads and writes (%.4g %% reads)",
			100.0 * t->read_ratio / PLAN_RATIO_ONE);
		break;
	default:
		fputs("reads and writes", f);
	}
}

static void write_pattern(FILE *f, const struct plan *plan)
{
	for (size_t i = 1; i < plan->n_targets; i++) {
		if (plan->targets[i].seek.pattern != plan->targets[0].seek.pattern)
			return;
	}
	fputs(pattern_word(&plan->targets[0]), f);
}

/* "4 KiB", or "4 KiB to 1 MiB". */
static void write_sizes(FILE *f, const struct plan *plan)
{
	uint64_t least = UINT64_MAX, most = 0;
	char text[SIZE_TEXT];

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct request_mix *mix = plan->targets[i].mix;
		const uint64_t bytes = plan->targets[i].req_bytes;
		const uint64_t smallest = mix ? mix_smallest(mix) : bytes;

		least = smallest < least ? smallest : least;
		most = bytes > most ? bytes : most;
	}
	fprintf(f, " of %s", units_size_text(least, text, sizeof(text)));
	if (most > least)
		fprintf(f, " to %s", units_size_text(most, text, sizeof(text)));
}

static void write_depths(FILE *f, const struct plan *plan)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const uint64_t depth = plan->targets[i].queue_depth;

		least = depth < least ? depth : least;
		most = depth > most ? depth : most;
	}
	fprintf(f, ", depth %" PRIu64, least);
	if (most > least)
		fprintf(f, " to %" PRIu64, most);
}

/* Nothing where no target has data of a file or a block device to move. */
static void write_path(FILE *f, const struct plan *plan)
{
	bool direct = false, buffered = false;

	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		const bool pages = t->op != OP_DISCARD &&
				   (t->kind == TARGET_FILE || t->kind == TARGET_BLOCK ||
				    t->kind == TARGET_MISSING);

		direct |= pages && t->direct_io;
		buffered |= pages && !t->direct_io;
	}
	if (direct || buffered)
		fprintf(f, ", %s", !buffered ? "direct" : direct ? "some direct" : "buffered");
}

static void write_engine(FILE *f, const struct plan *plan)
{
	const struct engine_info *engine = plan_engine(&plan->targets[0]);
	bool by_default = true;

	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		if (plan_engine(t) != engine)
			return;
		by_default &= t->engine_by_default && t->engine == engine;
	}
	fprintf(f, ", %s%s", engine->name, by_default ? " by default" : "");
}

/* The rate of -throttle where it is the same for all targets. */
static void write_rate(FILE *f, const struct plan *plan)
{
	const struct throttle_options *o = &plan->targets[0].throttle;
	char text[SCALED_SIZE];

	for (size_t i = 1; i < plan->n_targets; i++) {
		const struct throttle_options *other = &plan->targets[i].throttle;

		if (other->by != o->by || other->rate != o->rate || other->poisson != o->poisson)
			return;
	}
	if (o->by == THROTTLE_OPS)
		scaled_ops(o->rate, text);
	else if (o->by == THROTTLE_BANDWIDTH)
		scaled_rate(o->rate * 1e6, text);
	else
		return;
	fprintf(f, ", throttled to %s%s%s", text, plan->n_targets > 1 ? " each" : "",
		o->poisson ? ", Poisson arrivals" : "");
}

static void write_time(FILE *f, const struct person *p)
{
	char text[SCALED_SIZE];

	if (p->all.passes > 1)
		fprintf(f, ", %" PRIu64 " passes", p->all.passes);
	if (p->all.any)
		fprintf(f, ", %s", scaled_time((double)p->all.elapsed_ns, text));
}

static int person_words(const struct person *p, const struct screen *screen, FILE *f)
{
	struct memstream m;

	if (!memstream_open(&m))
		return -ENOMEM;
	write_name(m.f, p->plan, screen);
	fputs(": ", m.f);
	write_pattern(m.f, p->plan);
	write_ops(m.f, p->plan);
	write_sizes(m.f, p->plan);
	write_depths(m.f, p->plan);
	write_path(m.f, p->plan);
	write_engine(m.f, p->plan);
	write_rate(m.f, p->plan);
	write_time(m.f, p);
	if (memstream_close(&m))
		return -ENOMEM;
	screen_wrap(screen, f, SCREEN_PLAIN, NULL, m.text);
	free(m.text);
	return 0;
}

/*
 * The table: a row for each target and direction, rows for all of them, and one for flushes.
 */

#define SUFFIX_SIZE 20

/* Lines of the screen that are not for targets: headings, all, the verdict, the prompt. */
#define OTHER_LINES 14

/* Targets that are listed at most, and where the height of the screen is unknown. */
#define MOST_TARGETS 20

/* A name with fewer columns says nothing: the number of the target replaces it. */
#define LEAST_NAME 8

struct row {
	const char *name;	  /* borrowed; "" in rows that continue a target */
	char number[24];	  /* of the target, where its name does not fit; "": none */
	const char *end;	  /* "slowest", "fastest"; NULL: neither */
	const char *end_name;	  /* the target of an end */
	char suffix[SUFFIX_SIZE]; /* direction or flush, service or response; "": none */
	char cells[FIGURES_SHOWN][SCALED_SIZE];
};

struct table {
	const struct person *p;
	const struct screen *screen;
	struct row *rows;
	size_t n;
	char **names; /* owned, for free_table() */
	size_t n_names;
	bool many_dirs;	 /* rows name their direction */
	bool response;	 /* a target is throttled: service and response times */
	bool ends_below; /* the ends are named below the table */
};

/* A figure of a histogram. */
static bool is_time(enum pass_figure figure)
{
	return pass_figures[figure].stat;
}

static void free_table(struct table *t)
{
	for (size_t i = 0; i < t->n_names; i++)
		free(t->names[i]);
	free(t->names);
	free(t->rows);
}

/* A name that belongs to the table; NULL: no memory. */
static const char *keep_name(struct table *t, char *name)
{
	char **names = name ? array_room(t->names, t->n_names, sizeof(*names)) : NULL;

	if (!names) {
		free(name);
		return NULL;
	}
	t->names = names;
	return names[t->n_names++] = name;
}

/* Add a row. Response times have no rates of their own. */
static int add_row(struct table *t, const char *name, const char *dir,
		   const struct person_figures *figures, enum latency_time time)
{
	struct row *rows = array_room(t->rows, t->n, sizeof(*rows)), *row;
	const char *what = !t->response ? "" : time == LATENCY_SERVICE ? "service" : "response";

	if (!rows)
		return -ENOMEM;
	t->rows = rows;
	row = &rows[t->n++];
	*row = (struct row){ .name = name };
	snprintf(row->suffix, sizeof(row->suffix), "%s%s%s", dir, *dir && *what ? " " : "", what);
	for (int i = 0; i < FIGURES_SHOWN; i++) {
		if (time == LATENCY_SERVICE || is_time(figures_shown[i]))
			figure_text(figures_shown[i], figures->values[time][i], row->cells[i]);
	}
	return 0;
}

static bool has_response(const struct person_figures *figures)
{
	bool any = false;

	for (int i = 0; i < FIGURES_SHOWN; i++)
		any |= is_time(figures_shown[i]) && !isnan(figures->values[LATENCY_RESPONSE][i]);
	return any;
}

static int add_figures(struct table *t, const char *name, const char *dir,
		       const struct person_figures *figures)
{
	int err = add_row(t, name, dir, figures, LATENCY_SERVICE);

	if (!err && has_response(figures))
		err = add_row(t, "", dir, figures, LATENCY_RESPONSE);
	return err;
}

/* The directions of a sum that have operations, or without any the planned one. */
static unsigned count_dirs(const struct person_sum *s)
{
	unsigned n = 0;

	for (unsigned dir = 0; dir < DIR_COUNT; dir++)
		n += s->dirs[dir].n != 0;
	return n;
}

static int add_sum(struct table *t, const char *name, const struct person_sum *s, bool total)
{
	const unsigned n = count_dirs(s);
	const char *first = name;
	int err = 0;

	for (unsigned dir = 0; dir < DIR_COUNT && t->many_dirs && !err; dir++) {
		if (!s->dirs[dir].n)
			continue;
		err = add_figures(t, first, op_dir_name((enum op_dir)dir), &s->dirs[dir]);
		first = "";
	}
	if (!err && (!t->many_dirs || !n || (n > 1 && total)))
		err = add_figures(t, first, t->many_dirs && n ? (n > 2 ? "all" : "both") : "",
				  &s->all);
	return err;
}

/* The flushes of all targets, which move no bytes of their own. */
static int add_flushes(struct table *t)
{
	const struct person_figures *figures = &t->p->all.flushes;
	const bool response = t->response;
	int err;

	if (!figures->n)
		return 0;
	t->response = false;
	err = add_row(t, "", "flush", figures, LATENCY_SERVICE);
	t->response = response;
	return err;
}

/* True if target `i` has the file of another one, so that its number has to tell them apart. */
static bool shares_name(const struct plan *plan, size_t i)
{
	for (size_t k = 0; k < plan->n_targets; k++) {
		if (k != i && !strcmp(plan->targets[k].path, plan->targets[i].path))
			return true;
	}
	return false;
}

static const char *target_name(struct table *t, size_t i, const char *before)
{
	const struct plan *plan = t->p->plan;
	char *path = printable_dup(plan->targets[i].path, false), *name = NULL;
	char number[24] = "";

	if (shares_name(plan, i))
		snprintf(number, sizeof(number), "#%zu ", i);
	if (path && asprintf(&name, "%s%s%s", before, number, path) < 0)
		name = NULL;
	free(path);
	return keep_name(t, name);
}

/* `end`: "slowest" or "fastest"; NULL: neither. */
static int add_target(struct table *t, size_t i, const char *end)
{
	char before[16] = "";
	const char *name;
	size_t row = t->n;
	int err;

	if (end)
		snprintf(before, sizeof(before), "%s: ", end);
	name = target_name(t, i, before);
	err = name ? add_sum(t, name, &t->p->targets[i], false) : -ENOMEM;
	if (err)
		return err;
	snprintf(t->rows[row].number, sizeof(t->rows[row].number), "#%zu", i);
	t->rows[row].end = end;
	t->rows[row].end_name = name + strlen(before);
	return 0;
}

static size_t targets_that_fit(const struct table *t)
{
	const unsigned rows = t->screen->rows, others = OTHER_LINES + (t->p->all.flushes.n != 0);
	size_t each = (t->many_dirs ? count_dirs(&t->p->all) : 1) * (t->response ? 2 : 1), fit;

	if (!rows)
		return MOST_TARGETS / each;
	fit = rows > others ? (rows - others) / each : 0;
	return fit < MOST_TARGETS ? fit : MOST_TARGETS;
}

/* By rate, or by operations where nothing was transferred: the first of the figures. */
static double speed(const struct person_sum *s)
{
	return s->all.values[LATENCY_SERVICE][0] + s->all.values[LATENCY_SERVICE][1];
}

/* The slowest and the fastest target. */
static int add_ends(struct table *t)
{
	const struct person *p = t->p;
	size_t least = SIZE_MAX, most = SIZE_MAX;
	int err;

	for (size_t i = 0; i < p->n; i++) {
		if (!p->targets[i].any)
			continue;
		if (least == SIZE_MAX || speed(&p->targets[i]) < speed(&p->targets[least]))
			least = i;
		/* Of equals, the first and the last. */
		if (most == SIZE_MAX || speed(&p->targets[i]) >= speed(&p->targets[most]))
			most = i;
	}
	if (least == SIZE_MAX)
		return 0;
	err = add_target(t, least, "slowest");
	return err || most == least ? err : add_target(t, most, "fastest");
}

/* `*left_out` is the number of targets that are left out. */
static int add_targets(struct table *t, size_t *left_out)
{
	const struct person *p = t->p;
	size_t any = 0;
	int err = 0;

	for (size_t i = 0; i < p->n; i++)
		any += p->targets[i].any;
	if (any > targets_that_fit(t) && any > 2) {
		*left_out = any - 2;
		return add_ends(t);
	}
	for (size_t i = 0; i < p->n && !err; i++) {
		if (p->targets[i].any)
			err = add_target(t, i, NULL);
	}
	return err;
}

static unsigned cell_width(const struct table *t, int cell)
{
	size_t width = strlen(figure_heading(figures_shown[cell]));

	for (size_t i = 0; i < t->n; i++) {
		size_t len = strlen(t->rows[i].cells[cell]);

		width = len > width ? len : width;
	}
	return (unsigned)width;
}

/* The widths of the parts of a row. */
struct layout {
	unsigned name, suffix, gap;
	unsigned cells[FIGURES_SHOWN];
};

static void lay_out(const struct table *t, struct layout *l)
{
	unsigned cells = 0, room;

	*l = (struct layout){ .gap = 2 };
	for (size_t i = 0; i < t->n; i++) {
		unsigned name = screen_width(t->screen, t->rows[i].name);
		unsigned suffix = (unsigned)strlen(t->rows[i].suffix);

		l->name = name > l->name ? name : l->name;
		l->suffix = suffix > l->suffix ? suffix : l->suffix;
	}
	for (int i = 0; i < FIGURES_SHOWN; i++)
		cells += l->cells[i] = cell_width(t, i);
	/* One column stays free: some terminals go to the next line after the last one. */
	room = t->screen->columns - 1 - cells - (l->suffix && l->name ? l->suffix + 1 : l->suffix);
	if (l->name + FIGURES_SHOWN * l->gap > room)
		l->gap = 1;
	if (l->name + FIGURES_SHOWN * l->gap > room)
		l->name = room > FIGURES_SHOWN * l->gap ? room - FIGURES_SHOWN * l->gap : 0;
}

/* Where not even the word "all" has room, the words after it get shorter. */
static void abbreviate(struct table *t)
{
	struct layout l;

	lay_out(t, &l);
	for (size_t i = 0; i < t->n && t->p->n > 1 && l.name < strlen("all"); i++) {
		char *what = strstr(t->rows[i].suffix, "service");

		if (!what)
			what = strstr(t->rows[i].suffix, "response");
		if (what && t->response)
			strcpy(what + strlen("serv"), ".");
	}
}

/* Ends whose names are cut look the same: where one does not fit, their names are for below. */
static void name_ends_below(struct table *t)
{
	struct layout l;
	bool fit = true;

	lay_out(t, &l);
	for (size_t i = 0; i < t->n; i++)
		fit &= !t->rows[i].end || screen_width(t->screen, t->rows[i].name) <= l.name;
	for (size_t i = 0; i < t->n && !fit; i++) {
		if (t->rows[i].end)
			t->rows[i].name = t->rows[i].end;
	}
	t->ends_below = !fit;
}

static void put_cell(FILE *f, unsigned width, unsigned gap, const char *text)
{
	fprintf(f, "%*s", (int)(gap + width), text);
}

static int put_name(const struct table *t, FILE *f, const struct layout *l, const struct row *row)
{
	const bool fits = l->name >= LEAST_NAME || screen_width(t->screen, row->name) <= l->name;
	char *shown = screen_shorten(t->screen, fits ? row->name : row->number, l->name);

	if (!shown)
		return -ENOMEM;
	fprintf(f, "%s%*s", shown, (int)(l->name - screen_width(t->screen, shown)), "");
	free(shown);
	if (l->suffix)
		fprintf(f, "%s%-*s", l->name ? " " : "", (int)l->suffix, row->suffix);
	return 0;
}

static int write_rows(const struct table *t, FILE *f)
{
	struct layout l;
	int err = 0;

	lay_out(t, &l);
	fprintf(f, "%*s", (int)(l.name + l.suffix + (l.name && l.suffix)), "");
	for (int i = 0; i < FIGURES_SHOWN; i++)
		put_cell(f, l.cells[i], l.gap, figure_heading(figures_shown[i]));
	fputc('\n', f);
	for (size_t i = 0; i < t->n && !err; i++) {
		err = put_name(t, f, &l, &t->rows[i]);
		for (int k = 0; k < FIGURES_SHOWN; k++)
			put_cell(f, l.cells[k], l.gap, t->rows[i].cells[k]);
		fputc('\n', f);
	}
	return err;
}

/* The names of the ends, with their numbers where a row has no room for a word. */
static int write_ends(const struct table *t, FILE *f)
{
	struct layout l;

	lay_out(t, &l);
	for (size_t i = 0; i < t->n; i++) {
		const struct row *row = &t->rows[i];
		const bool number = row->end && *row->end_name != '#' && strlen(row->end) > l.name;
		char *text;

		if (!row->end)
			continue;
		if (asprintf(&text, "%s%s%s", number ? row->number : "", number ? " " : "",
			     row->end_name) < 0)
			return -ENOMEM;
		screen_wrap(t->screen, f, SCREEN_PLAIN, row->end, text);
		free(text);
	}
	return 0;
}

/* Directions differ between rows, or a direction is all that tells the row's subject. */
static bool has_many_dirs(const struct person *p)
{
	return p->n == 1 || count_dirs(&p->all) > 1;
}

static int person_table(const struct person *p, const struct screen *screen, FILE *f)
{
	struct table t = {
		.p = p,
		.screen = screen,
		.many_dirs = has_many_dirs(p),
		.response = has_response(&p->all.all),
	};
	size_t left_out = 0;
	int err = p->n > 1 ? add_targets(&t, &left_out) : 0;

	if (!err)
		err = add_sum(&t, p->n > 1 ? "all" : "", &p->all, true);
	if (!err)
		err = add_flushes(&t);
	abbreviate(&t);
	name_ends_below(&t);
	if (!err)
		err = write_rows(&t, f);
	if (!err && t.ends_below)
		err = write_ends(&t, f);
	if (left_out)
		fprintf(f, "%zu more %s between these two\n", left_out,
			left_out == 1 ? "target lies" : "targets lie");
	free_table(&t);
	return err;
}

struct person *person_new(const struct plan *plan)
{
	struct person *p = calloc(1, sizeof(*p) + plan->n_targets * sizeof(p->targets[0]));

	if (!p)
		return NULL;
	p->plan = plan;
	p->n = plan->n_targets;
	p->copy.complete = true;
	return p;
}

static void take_figures(struct person_figures *to, const struct figures *f, unsigned dir,
			 uint64_t n)
{
	const bool times = f->known & FIGURES_PERCENTILES;

	to->n = n;
	for (int i = 0; i < FIGURES_SHOWN; i++) {
		const enum pass_figure own = figures_shown[i], response = figure_of_response(own);
		const bool responds = pass_figures[response].time == LATENCY_RESPONSE;

		to->values[LATENCY_SERVICE][i] =
			times || !is_time(own) ? figure_of_dir(f, own, dir) : NAN;
		to->values[LATENCY_RESPONSE][i] =
			times && responds ? figure_of_dir(f, response, dir) : NAN;
	}
}

static void take_sum(struct person_sum *s, const struct result *r)
{
	const struct figures *f = &r->figures;

	*s = (struct person_sum){
		.any = true,
		.partial = r->partial,
		.verified = r->verified,
		.passes = r->pass,
		.elapsed_ns = f->elapsed_ns,
		.errors = f->tally.errors,
		.miscompares = f->tally.miscompares,
		.outstanding = f->tally.outstanding,
		.warmup_ops = f->tally.warmup_ops,
		.flush_ns = f->tally.flush_ns,
		.bound = r->bound,
		.times = r->times,
	};
	for (unsigned dir = 0; dir < DIR_COUNT; dir++)
		take_figures(&s->dirs[dir], f, dir, f->tally.ops[dir]);
	take_figures(&s->all, f, LATENCY_ALL_DIRS, tally_ops(&f->tally));
	take_figures(&s->flushes, f, LATENCY_FLUSHES, f->tally.flushes);
}

void person_result(struct person *p, const struct result *result)
{
	if (result->what == RESULT_TARGET_AVERAGE && result->target < p->n)
		take_sum(&p->targets[result->target], result);
	else if (result->what == RESULT_COMBINED)
		take_sum(&p->all, result);
}

void person_statistics(struct person *p, const struct pass_statistics *statistics)
{
	const struct stats_summary *s = &statistics->summary[FIGURE_BANDWIDTH];

	/* Without a barrier there are no passes of all targets together. */
	if (!statistics->n || (!statistics->combined && p->n > 1))
		return;
	p->passes.n = statistics->n;
	p->passes.mean = s->mean;
	p->passes.half_width = s->half_width;
	p->passes.until_percent =
		s->mean > 0 ? 100 / s->mean *
				      stats_until_half_width(statistics->values[FIGURE_BANDWIDTH],
							     statistics->n) :
			      INFINITY;
	if (statistics->n < 3 || !statistics_why(statistics, p->passes.why))
		p->passes.why[0] = '\0';
}

void person_endtoend(struct person *p, const struct endtoend_result *e)
{
	const struct endtoend_side *own = e->role == E2E_SOURCE ? &e->source : &e->destination;

	p->copy.any = true;
	p->copy.source = e->role == E2E_SOURCE;
	p->copy.complete = p->copy.complete && e->complete;
	p->copy.ops += own->ops;
	p->copy.verdict = endtoend_verdict(e);
	snprintf(p->copy.digest, sizeof(p->copy.digest), "%s", own->digest);
}

/* Write the block. Returns 0 or -ENOMEM, with a part of it missing. */
static int person_write(const struct person *p, const struct finding *findings, size_t n_findings,
			enum report_end end, const struct screen *screen, FILE *f)
{
	int err;

	/* Messages have said why nothing ran. */
	if (!p->all.any && end == REPORT_END_ERRORS && !n_findings)
		return 0;
	err = person_words(p, screen, f);
	if (!err && p->all.any) {
		fputc('\n', f);
		err = person_table(p, screen, f);
	}
	if (!err)
		err = person_verdict(p, findings, n_findings, end, screen, f);
	return err;
}

/*
 * The result block as an output of a report, when the run is over.
 */

/* The block, with a blank line between it and other lines; to be freed. NULL: no memory. */
static char *make_block(struct report *r, enum report_end end, size_t *size)
{
	size_t n;
	const struct finding *findings = report_findings(r, &n);
	struct screen screen;
	struct memstream m;
	int err;

	if (!memstream_open(&m))
		return NULL;
	screen_init(&screen, STDOUT_FILENO);
	if (r->begun && !r->plan->output_file)
		fputc('\n', m.f);
	err = person_write(r->person, findings, n, end, &screen, m.f);
	screen_free(&screen);
	/* The lines that follow come from the guide, or from options that ask for more. */
	if (report_holds(r) && (report_guide(r) || r->latency_screen.n))
		fputc('\n', m.f);
	if (memstream_close(&m) || err) {
		free(m.text);
		return NULL;
	}
	*size = m.size;
	return m.text;
}

void report_person_write(struct report *r, enum report_end end)
{
	struct outfile *o = r->plan->output_file ? &r->screen : &r->text;
	size_t size = 0;
	char *text;

	pthread_mutex_lock(&r->text_lock);
	text = make_block(r, end, &size);
	if (text)
		outfile_write(o, text, size);
	else if (!o->error)
		o->error = ENOMEM;
	free(text);
	report_release_held(r);
	pthread_mutex_unlock(&r->text_lock);
}
