/*
 * Checks of the outputs of several runs that follow each other, before the first. Called by the
 * command that carries them out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/check.h"
#include "report/latency.h"
#include "report/outputs.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/report/report.h"

/* A plan, with what each other one is held against; looked up once. */
struct entry {
	const struct plan *plan;
	struct output_list outputs;
	struct outfile_id *targets, *inputs;
	char *csv, *latency; /* header lines of its files; NULL: there are none */
};

/* The header line of -csvout and -combinedout, to be freed; NULL, reported: there is none. */
static char *csv_header(const struct plan *plan)
{
	char *header;
	size_t len;

	if (report_csv_header(plan, &header, &len))
		return NULL;
	header[len] = '\0';
	return header;
}

/* As csv_header(), for -latency output. */
static char *latency_header(const struct plan *plan)
{
	struct memstream m;

	if (memstream_open(&m))
		latency_csv_header(m.f, plan);
	if (!memstream_close(&m))
		return m.text;
	free(m.text);
	log_error("%s", strerror(ENOMEM));
	return NULL;
}

static const char *header_of(const struct entry *e, const char *option)
{
	if (strcmp(option, "csvout") == 0 || strcmp(option, "combinedout") == 0)
		return e->csv;
	return strcmp(option, "latency output") == 0 ? e->latency : NULL;
}

/* A file that both append to, under one header line. */
static enum xdd_status check_header(const struct entry *a, const struct entry *b,
				    const struct output_name *o)
{
	const char *first = header_of(a, o->option), *second = header_of(b, o->option);

	if (!first || !second || strcmp(first, second) == 0)
		return XDD_OK;
	log_error("-%s %s: %s has other columns in this file; give each run a file of its own, "
		  "with %%s in the name, or the same columns",
		  o->option, o->path, a->plan->run_name);
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status check_pair(const struct entry *a, const struct entry *b,
				  const struct output_name *first, const struct output_name *second)
{
	const bool keeps = !second->replaced && !second->emptied && !first->replaced &&
			   strcmp(first->option, second->option) == 0;

	if (keeps)
		return check_header(a, b, second);
	if (output_standard(second->path) >= 0) {
		log_error(
			"-%s %s: takes the document of one run; choose it with -section, or name a "
			"file, with %%s in the name, which stands for the name of the run",
			second->option, second->path);
		return XDD_BAD_ARGUMENT;
	}
	log_error("-%s %s: the run \"%s\" writes that file too; give each run its own, with %%s "
		  "in the name, which stands for the name of the run",
		  second->option, second->path, a->plan->run_name);
	return XDD_BAD_ARGUMENT;
}

/* A standard stream, or a file that discards what it gets, may be that of all runs. */
static bool is_shared(const struct output_name *a, const struct output_name *b)
{
	if (!a->option || !b->option)
		return false;
	if (output_standard(a->path) >= 0 || output_standard(b->path) >= 0)
		return b->replaced && strcmp(a->option, b->option) == 0 &&
		       output_standard(a->path) == output_standard(b->path);
	return outfile_is_same(&a->id, &b->id);
}

struct report_runs {
	struct entry *entries;
	size_t n;
};

static enum xdd_status check_entries(const struct entry *a, const struct entry *b)
{
	const struct output_list *first = &a->outputs, *second = &b->outputs;
	enum xdd_status status =
		outputs_check_targets(a->plan, a->targets, second->names, second->n);

	if (!status)
		status = outputs_check_targets(b->plan, b->targets, first->names, first->n);
	if (!status)
		status = outputs_check_inputs(a->plan, a->inputs, second->names, second->n, false);
	if (!status)
		status = outputs_check_inputs(b->plan, b->inputs, first->names, first->n, true);
	for (size_t i = 0; i < first->n; i++) {
		for (size_t k = 0; k < second->n && !status; k++) {
			const struct output_name *o = &first->names[i], *p = &second->names[k];

			/* One name of -errout is that of all runs. */
			if (is_shared(o, p) &&
			    (strcmp(o->option, "errout") || strcmp(p->option, "errout") ||
			     strcmp(o->path, p->path)))
				status = check_pair(a, b, o, p);
		}
	}
	return status;
}

struct report_runs *report_runs_new(void)
{
	return calloc(1, sizeof(struct report_runs));
}

void report_runs_free(struct report_runs *runs)
{
	for (size_t i = 0; runs && i < runs->n; i++) {
		outputs_free(&runs->entries[i].outputs);
		free(runs->entries[i].targets);
		free(runs->entries[i].inputs);
		free(runs->entries[i].csv);
		free(runs->entries[i].latency);
	}
	if (runs)
		free(runs->entries);
	free(runs);
}

static enum xdd_status look_up(struct entry *e, const struct plan *plan)
{
	enum xdd_status status;

	*e = (struct entry){ .plan = plan,
			     .targets = outputs_targets(plan),
			     .inputs = outputs_inputs(plan) };
	status = e->targets && e->inputs ? outputs_list(&e->outputs, plan) : XDD_INIT_FAILED;
	if (!status)
		status = outputs_add_saved(&e->outputs, plan);
	if (!status && (plan->csv_file || plan->combined_file) && !(e->csv = csv_header(plan)))
		status = XDD_INIT_FAILED;
	if (!status && plan->latency.file && !(e->latency = latency_header(plan)))
		status = XDD_INIT_FAILED;
	return status;
}

enum xdd_status report_runs_add(struct report_runs *runs, const struct plan *plan)
{
	struct entry *entries = array_room(runs->entries, runs->n, sizeof(*entries)), *e;
	enum xdd_status status;

	if (!entries) {
		log_error("%s", strerror(ENOMEM));
		return XDD_INIT_FAILED;
	}
	runs->entries = entries;
	e = &entries[runs->n++];
	status = look_up(e, plan);
	for (const struct entry *before = entries; before < e && !status; before++)
		status = check_entries(before, e);
	return status;
}
