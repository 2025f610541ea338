/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runs of a sweep: rounds over all points, in an order of its own each, with the journal on
 * disk. Called by sweep.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/sweep.h"
#include "xdd/base/file.h"
#include "xdd/base/journal.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/random.h"
#include "xdd/plan/plan.h"
#include "xdd/run/run.h"
#include "xdd/sys/clock.h"

/*
 * The journal of a sweep on disk.
 */

static enum xdd_status sweep_journal_fail(const struct sweep *s, int err)
{
	return log_fail(err == -ENOMEM ? XDD_INIT_FAILED : XDD_BAD_ARGUMENT, "%s: -journal %s: %s",
			s->kind->name, s->journal_path, output_strerror(err));
}

/* Append a line, which is freed, and make it durable. */
static enum xdd_status sweep_journal_append(struct sweep *s, char *line)
{
	int err = line ? journal_append(&s->journal, line, strlen(line)) : -ENOMEM;

	free(line);
	if (!err)
		err = journal_flush(&s->journal);
	return err ? sweep_journal_fail(s, err) : XDD_OK;
}

/* ---- a new journal ---- */

static enum xdd_status sweep_journal_begin(struct sweep *s)
{
	const struct sweep_journal header = { .words = s->words,
					      .seed = s->results.seed,
					      .points = s->vary.n_points,
					      .started_ns = s->results.started_ns };
	int fd = open(s->journal_path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int err;

	if (fd < 0 && errno == EEXIST)
		return log_refuse(
			"%s: -journal %s: exists; -resume continues that sweep, and without "
			"the file a new one begins",
			s->kind->name, s->journal_path);
	if (fd < 0)
		return sweep_journal_fail(s, -errno);
	s->journal = (struct journal){ .fd = fd };
	err = journal_lock(fd, AT_FDCWD, s->journal_path, 0);
	return err ? sweep_journal_fail(s, err) :
		     sweep_journal_append(s, sweep_journal_header(&header));
}

/* ---- one that exists ---- */

/* A round that is there twice would count twice. */
static int take_round(void *arg, const struct sweep_round *round)
{
	struct sweep_results *r = arg;
	const struct sweep_point *p;

	if (round->point >= r->vary->n_points)
		return -EBADMSG;
	p = &r->points[round->point];
	for (size_t i = 0; i < p->n; i++) {
		if (p->rounds[i].round == round->round)
			return -EBADMSG;
	}
	return sweep_results_add(r, round);
}

static enum xdd_status check_header(struct sweep *s, const struct sweep_journal *header)
{
	if (!sweep_journal_matches(header, s->words))
		return log_refuse("%s: -resume: %s is of another sweep: %s", s->kind->name,
				  s->journal_path, header->words);
	if (header->points != s->vary.n_points)
		return log_refuse(
			"%s: -resume: %s is of a sweep of %ju points, and this one has %zu",
			s->kind->name, s->journal_path, (uintmax_t)header->points,
			s->vary.n_points);
	s->results.seed = header->seed;
	s->results.started_ns = header->started_ns;
	return XDD_OK;
}

/* Read the rounds, and cut off a line that was not written whole. `*whole`: bytes that are left. */
static enum xdd_status read_lines(struct sweep *s, uint64_t *whole)
{
	struct sweep_journal_lines lines = { .take = take_round, .arg = &s->results };
	enum xdd_status status = XDD_OK;
	struct journal_reader r;
	int err;

	journal_read(&r, s->journal.fd, 0);
	do {
		err = journal_read_next(&r, sweep_journal_line, &lines);
	} while (err > 0);
	*whole = r.end;
	journal_read_end(&r);
	if (lines.header.words)
		status = check_header(s, &lines.header);
	free((char *)(uintptr_t)lines.header.words);
	if (status)
		return status;
	if (err == -EBADMSG)
		return log_refuse("%s: -resume: %s: line %zu is damaged", s->kind->name,
				  s->journal_path, lines.line);
	if (!err)
		err = journal_continue(&s->journal, *whole);
	return err ? sweep_journal_fail(s, err) : XDD_OK;
}

/* False, with a message: this is no journal, not even one whose first line is not whole. */
static bool is_journal(const struct sweep *s)
{
	static const char begins[] = SWEEP_JOURNAL_BEGINS;
	char text[SWEEP_JOURNAL_DIGITS + sizeof(begins) - 1];
	struct stat st;
	bool good = fstat(s->journal.fd, &st) == 0 && S_ISREG(st.st_mode);
	ssize_t n = good ? readfile_at(s->journal.fd, text, sizeof(text), 0) : 0;

	for (ssize_t i = 0; i < n && i < SWEEP_JOURNAL_DIGITS && good; i++)
		good = strchr("0123456789abcdef", text[i]) && text[i];
	if (n > SWEEP_JOURNAL_DIGITS && good)
		good = memcmp(text + SWEEP_JOURNAL_DIGITS, begins,
			      (size_t)n - SWEEP_JOURNAL_DIGITS) == 0;
	if (!good)
		log_error("%s: -resume: %s is no journal of a sweep", s->kind->name,
			  s->journal_path);
	return good;
}

static enum xdd_status sweep_journal_resume(struct sweep *s)
{
	int fd = open(s->journal_path, O_RDWR | O_APPEND | O_CLOEXEC), err;
	enum xdd_status status;
	uint64_t whole;

	if (fd < 0 && errno == ENOENT)
		return log_refuse("%s: -resume: %s does not exist: there is nothing to resume",
				  s->kind->name, s->journal_path);
	if (fd < 0)
		return sweep_journal_fail(s, -errno);
	s->journal = (struct journal){ .fd = fd };
	err = journal_lock(fd, AT_FDCWD, s->journal_path, 0);
	if (err == -EBUSY)
		return log_refuse("%s: -resume: %s is in use by another sweep", s->kind->name,
				  s->journal_path);
	if (err)
		return sweep_journal_fail(s, err);
	if (!is_journal(s))
		return XDD_BAD_ARGUMENT;
	status = read_lines(s, &whole);
	if (status || whole)
		return status;
	/* It was ended before its first line was written. */
	if (unlink(s->journal_path) < 0)
		return sweep_journal_fail(s, -errno);
	journal_close(&s->journal);
	return sweep_journal_begin(s);
}

enum xdd_status sweep_journal_open(struct sweep *s)
{
	if (!s->journal_path)
		return XDD_OK;
	return s->line.resume ? sweep_journal_resume(s) : sweep_journal_begin(s);
}

bool sweep_journal_add(struct sweep *s, const struct sweep_round *round)
{
	return s->journal.fd < 0 || !sweep_journal_append(s, sweep_journal_round(round));
}

void sweep_journal_close(struct sweep *s, bool done)
{
	if (s->journal.fd < 0)
		return;
	journal_close(&s->journal);
	if (done && unlink(s->journal_path) < 0)
		log_warning("%s: %s: %s", s->kind->name, s->journal_path, strerror(errno));
}

/*
 * The state of the targets before each run of a point that writes: -restore. Also called by
 * sweep_points.c, for the checks.
 */

#define NUMBER_SIZE 24
#define MAX_WORDS 24
#define SWEEP_RESTORE_TITLE_SIZE 256

enum xdd_status sweep_restore_read(struct sweep *s)
{
	const char *text = s->line.restore;

	s->results.restore = text;
	s->recreates = text && strcmp(text, "recreate") == 0;
	s->preconditions = text && strcmp(text, "precondition") == 0;
	s->trims = text && strcmp(text, "trim") == 0;
	if (!text || s->recreates || s->preconditions || s->trims)
		return XDD_OK;
	return log_refuse("%s: -restore %.64s: expected recreate, precondition or trim",
			  s->kind->name, text);
}

bool sweep_writes(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		if (plan_changes(&plan->targets[i]))
			return true;
	}
	return false;
}

static bool is_changed(const struct target_plan *t)
{
	return plan_changes(t) && t->kind != TARGET_NULL;
}

/*
 * True if target `i` is to be restored by a run of its own. All of a file that several targets
 * write is written once, but each of them may have a range of its own to discard.
 */
static bool needs_run(const struct sweep *s, const struct plan *plan, size_t i)
{
	const struct target_plan *t = &plan->targets[i];

	if (!is_changed(t) || s->trims)
		return is_changed(t) && s->trims;
	for (size_t k = 0; k < i && s->preconditions; k++) {
		if (is_changed(&plan->targets[k]) && strcmp(plan->targets[k].path, t->path) == 0)
			return false;
	}
	return s->preconditions;
}

/* The words of a plan, which ends with NULL, and numbers among them. */
struct words {
	const char *list[MAX_WORDS];
	size_t n;
	char first[NUMBER_SIZE], size[NUMBER_SIZE];
};

static void sweep_restore_add(struct words *w, const char *option, const char *value)
{
	w->list[w->n++] = option;
	if (value)
		w->list[w->n++] = value;
}

static const char *bytes_text(char *buf, uint64_t bytes)
{
	snprintf(buf, NUMBER_SIZE, "%" PRIu64 "B", bytes);
	return buf;
}

/* Write the whole target once, in sequence. */
static void add_precondition(struct words *w, const struct target_plan *t)
{
	sweep_restore_add(w, "-op", "write");
	sweep_restore_add(w, "-reqsize", "1M");
	sweep_restore_add(w, "-queuedepth", "4");
	sweep_restore_add(w, "-bytes", bytes_text(w->size, t->size_bytes));
	/* Storage may compress zeros, or not store them. */
	sweep_restore_add(w, "-datapattern", "random");
	sweep_restore_add(w, t->direct_io ? "-dio" : "-syncwrite", NULL);
}

/* Discard what the run may touch, from `first` to before `end`. */
static void add_trim(struct words *w, uint64_t first, uint64_t end)
{
	sweep_restore_add(w, "-op", "discard");
	sweep_restore_add(w, "-ioengine", "psync");
	/* The range begins and ends at any byte; a device has its own rules for that. */
	sweep_restore_add(w, "-blocksize", "1B");
	sweep_restore_add(w, "-reqsize", "64M");
	sweep_restore_add(w, "-startoffset", bytes_text(w->first, first));
	sweep_restore_add(w, "-bytes", bytes_text(w->size, end - first));
	/* Or the file system frees the storage while the point is measured. */
	sweep_restore_add(w, "-syncwrite", NULL);
}

/* The range of a target that all passes of a run touch, as far as the target exists. */
static void find_range(const struct plan *plan, const struct target_plan *t, uint64_t *first,
		       uint64_t *end)
{
	plan_pass_range(t, 1, first, end);
	*end = t->end_bytes;
	/* An operation that time leaves undone is none past the end. */
	if ((t->pass_ops == PLAN_UNLIMITED || plan_may_end_early(plan, t)) && *end > t->size_bytes)
		*end = t->size_bytes;
}

static enum xdd_status sweep_restore_refuse(const struct sweep *s, const struct target_plan *t,
					    const char *why)
{
	return log_refuse("-restore %s: target %u, %s: %s", s->line.restore, t->number, t->path,
			  why);
}

/* The plan of the run that restores a target, with the guards of any write. */
static enum xdd_status make_plan(const struct sweep *s, const struct plan *point,
				 const struct target_plan *t, struct plan **plan)
{
	struct words w = { .n = 0 };
	uint64_t first, end;

	if (t->kind == TARGET_MISSING)
		return sweep_restore_refuse(s, t, "does not exist; write it once before");
	if (!t->size_bytes)
		return sweep_restore_refuse(
			s, t,
			t->kind == TARGET_FILE ? "is empty; write it once before" : "has no size");
	find_range(point, t, &first, &end);
	if (s->trims && first >= end)
		return sweep_restore_refuse(
			s, t, "has nothing in the range of the point; write it once before");
	sweep_restore_add(&w, "xdd", NULL);
	sweep_restore_add(&w, "-target", t->path);
	if (s->trims)
		add_trim(&w, first, end);
	else
		add_precondition(&w, t);
	if (t->forced)
		sweep_restore_add(&w, "-force", t->path);
	return runner_plan(w.list, plan);
}

enum xdd_status sweep_restore_check(struct sweep *s, const struct plan *plan)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		struct plan *writer = NULL;

		if (!needs_run(s, plan, i))
			continue;
		status = make_plan(s, plan, &plan->targets[i], &writer);
		if (!status)
			status = run_check(writer);
		plan_free(writer);
	}
	return status;
}

/* Restore it. Returns the status of the run that does. */
static enum xdd_status sweep_restore(struct sweep *s, const struct plan *plan)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		const struct target_plan *t = &plan->targets[i];
		char title[SWEEP_RESTORE_TITLE_SIZE];
		const struct report_sink sink = { .title = title };
		struct plan *writer = NULL;

		if (!needs_run(s, plan, i))
			continue;
		snprintf(title, sizeof(title), "%s %.200s", s->line.restore, t->path);
		status = make_plan(s, plan, t, &writer);
		if (!status)
			status = runner_run(&s->runner, writer, &sink);
		if (s->runner.stuck)
			return status;
		plan_free(writer);
	}
	return status;
}

#define SWEEP_RUN_TITLE_SIZE 256

/* ---- the order and the number of rounds ---- */

void sweep_shuffle(uint64_t seed, uint64_t round, size_t *order, size_t n)
{
	const struct random_key key = { .seed = seed,
					.pass = (uint32_t)round,
					.stream = RANDOM_STREAM_REORDER };
	const struct random_sequence sequence = random_sequence(&key);

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	/* Fisher and Yates. */
	for (size_t i = n; i > 1; i--) {
		const size_t k = (size_t)random_below(&sequence, i, i);
		const size_t other = order[k];

		order[k] = order[i - 1];
		order[i - 1] = other;
	}
}

bool sweep_wants(const struct sweep_results *r, const struct sweep_point *p)
{
	const uint64_t least = r->least + p->extra, most = r->most + p->extra;
	struct sweep_mean m;

	if (p->unused)
		return false;
	/* A point that could not be run does not get better. */
	if (p->n && p->status && p->status != XDD_IO_ERROR && p->status != XDD_MISCOMPARE)
		return false;
	if (p->n < least)
		return true;
	if (p->n >= most)
		return false;
	/* Half a round less is as near to the time as half a round more. */
	if (r->each_ns && p->elapsed_ns + p->elapsed_ns / p->n / 2 >= r->each_ns)
		return false;
	if (!(r->until_percent > 0))
		return r->each_ns;
	m = sweep_mean(r, p, FIGURE_BANDWIDTH);
	return m.n < least || m.percent > r->until_percent;
}

/* ---- one run ---- */

/* The results of a run on their way into its round. */
struct taken {
	struct sweep_round *round;
	const struct column_list *columns;
	bool bound_known;
};

static void take_responses(struct sweep_round *round, const struct latency *latency)
{
	const struct histogram_view v = latency_view(latency, LATENCY_RESPONSE, LATENCY_ALL_DIRS);

	round->responded = histogram_count(&v);
	for (int i = 0; i < SWEEP_RESPONSES; i++)
		round->values[sweep_responses[i]] = figure_of_latency(latency, sweep_responses[i]);
}

static void take_columns(struct sweep_round *round, const struct column_list *list,
			 const struct result *result)
{
	round->n_columns = list->n;
	for (size_t i = 0; i < list->n; i++) {
		const struct column *col = list->columns[i];
		struct column_value v;

		column_value(col, result, &v);
		round->columns[i] = v.unknown		      ? NAN :
				    col->type == COLUMN_COUNT ? (double)v.count :
								v.real;
	}
}

static void take_result(void *arg, const struct result *result)
{
	struct taken *t = arg;
	struct sweep_round *round = t->round;
	const struct figures *f = &result->figures;

	if (result->what == RESULT_TARGET_AVERAGE) {
		if (t->bound_known && round->bound != result->bound)
			round->bound = RESULT_BOUND_MIXED;
		else
			round->bound = result->bound;
		t->bound_known = true;
	}
	if (result->what != RESULT_COMBINED)
		return;
	if (f->known & FIGURES_LATENCY)
		take_responses(round, &f->latency);
	take_columns(round, t->columns, result);
	round->ops = tally_ops(&f->tally);
	round->bytes = tally_bytes(&f->tally);
	round->errors = f->tally.errors;
	round->miscompares = f->tally.miscompares;
	round->elapsed_ns = f->elapsed_ns;
	if (f->known & FIGURES_LATENCY) {
		const double max_ns = figure_of_latency(&f->latency, FIGURE_MAX);

		round->max_ns = max_ns > 0 ? (uint64_t)max_ns : 0;
	}
}

static void take_statistics(void *arg, const struct pass_statistics *s)
{
	struct taken *t = arg;

	if (!s->combined || !s->n)
		return;
	t->round->known = true;
	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++)
		t->round->values[i] = statistics_has(s, i) ? s->summary[i].mean : NAN;
}

static void take_finding(void *arg, const struct finding *finding)
{
	struct taken *t = arg;

	t->round->findings |= 1u << finding->rule;
}

/* Arrivals and offsets of a round follow from its seed, so that rounds are independent. */
static void set_seed(struct sweep *s, uint64_t round)
{
	snprintf(s->seed, sizeof(s->seed), "%" PRIu64, sweep_round_seed(&s->results, round));
	s->round_words[0] = "-seek";
	s->round_words[1] = "seed";
	s->round_words[2] = s->seed;
}

enum xdd_status sweep_run_plan(struct sweep *s, const struct plan *plan, const char *title,
			       struct sweep_round *round)
{
	struct taken taken = { .round = round, .columns = &s->results.columns };
	struct report_sink sink = {
		.arg = &taken,
		.needs = FIGURES_LATENCY | FIGURES_CPU | FIGURES_WAIT | FIGURES_PASSES |
			 FIGURES_PERCENTILES,
		.title = title,
		.result = take_result,
		.statistics = take_statistics,
		.finding = take_finding,
	};

	for (size_t i = 0; i < s->results.columns.n; i++)
		sink.needs |= s->results.columns.columns[i]->needs;
	return runner_run(&s->runner, plan, &sink);
}

static enum xdd_status run_point(struct sweep *s, struct sweep_round *round)
{
	char title[SWEEP_RUN_TITLE_SIZE];
	struct plan *plan;
	enum xdd_status status;

	sweep_title(s, round, title, sizeof(title));
	log_transient(title);
	if (s->kind->seeds)
		set_seed(s, round->round);
	round->start_ns = clock_wall_ns();
	status = sweep_plan(s, (size_t)round->point, &plan);
	if (!status)
		status = sweep_restore(s, plan);
	if (!status && !runner_is_canceled(&s->runner)) {
		round->start_ns = clock_wall_ns();
		status = sweep_run_plan(s, plan, title, round);
	}
	if (!s->runner.stuck)
		plan_free(plan);
	round->status = (int)status;
	s->runs++;
	return status;
}

/* Run and keep a round. False: the sweep ends here, with `s->status`. */
static bool do_round(struct sweep *s, size_t point, uint64_t number)
{
	struct sweep_round round = { .point = point, .round = number };
	enum xdd_status status = run_point(s, &round);

	if (runner_is_canceled(&s->runner) || status == XDD_CANCELED) {
		s->status = XDD_CANCELED;
		return false;
	}
	if (status && !s->status) {
		char label[SWEEP_RUN_TITLE_SIZE];

		log_error("%s: point %zu (%s) ended with status %d", s->kind->name, point + 1,
			  sweep_label(&s->vary, point, label, sizeof(label)), (int)status);
	}
	if (status > s->status)
		s->status = status;
	if (sweep_results_add(&s->results, &round))
		memory_end();
	if (!sweep_journal_add(s, &round)) {
		s->status = XDD_IO_ERROR;
		return false;
	}
	if (s->terminal)
		s->kind->round(s, &round);
	return !s->runner.stuck;
}

bool sweep_has_round(const struct sweep_point *p, uint64_t number)
{
	for (size_t i = p->n; i-- > 0;) {
		if (p->rounds[i].round == number)
			return true;
	}
	return false;
}

/* True if the rounds of a point go on: it could be run, and has had the one before. */
static bool may_follow(const struct sweep_point *p, uint64_t number)
{
	return p->n + 1 >= number && !p->unused &&
	       (!p->n || !p->status || p->status == XDD_IO_ERROR || p->status == XDD_MISCOMPARE);
}

/*
 * With SWEEP_ORDER_KEEP a round has all points or none: one that is left out would not restore the
 * file that another reads.
 */
static bool any_wants(const struct sweep *s, uint64_t number)
{
	for (size_t i = 0; i < s->vary.n_points; i++) {
		const struct sweep_point *p = &s->results.points[i];

		if (sweep_has_round(p, number) ||
		    (may_follow(p, number) && sweep_wants(&s->results, p)))
			return true;
	}
	return false;
}

static void order_round(const struct sweep *s, uint64_t number, size_t *order)
{
	if (number > s->in_order_until) {
		sweep_shuffle(s->results.seed, number, order, s->vary.n_points);
		return;
	}
	for (size_t i = 0; i < s->vary.n_points; i++)
		order[i] = i;
}

/* `*wanted`: points got a round, or have had it. */
static bool run_round(struct sweep *s, uint64_t number, size_t *order, bool *wanted)
{
	const bool any = s->order == SWEEP_ORDER_KEEP && any_wants(s, number);

	order_round(s, number, order);
	*wanted = false;
	for (size_t i = 0; i < s->vary.n_points; i++) {
		const struct sweep_point *p = &s->results.points[order[i]];

		if (sweep_has_round(p, number)) {
			*wanted = true;
			continue;
		}
		if (!may_follow(p, number) || (!any && !sweep_wants(&s->results, p)))
			continue;
		*wanted = true;
		if (!do_round(s, order[i], number))
			return false;
	}
	return true;
}

bool sweep_rounds(struct sweep *s)
{
	size_t *order = xcalloc(s->vary.n_points, sizeof(*order));
	bool wanted = true, goes = true;

	for (uint64_t round = 1; goes && wanted; round++)
		goes = run_round(s, round, order, &wanted);
	free(order);
	return goes;
}

enum xdd_status sweep_run(struct sweep *s)
{
	for (size_t i = 0; i < s->vary.n_points; i++) {
		const int status = s->results.points[i].status;

		if (status > (int)s->status)
			s->status = (enum xdd_status)status;
	}
	s->begun_ns = clock_now_ns();
	s->results.partial = !s->kind->run(s);
	log_transient(NULL);
	return s->status;
}
