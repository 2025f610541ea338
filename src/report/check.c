/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks of -outputformat and the output files, before anything is opened: of one run, and of
 * several runs that follow each other. report_check() is called by main, the others by
 * report_open() and by commands with outputs of their own as well.
 */
#include "report/report_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/jsonout.h"
#include "report/latency.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/plan/stonewall_record.h"
#include "xdd/report/heartbeat.h"
#include "xdd/report/report.h"

/* An output of a plan. */
struct output_name {
	const char *option; /* without its dash; NULL: a standard stream */
	const char *path;   /* owned by `made` where that is not NULL; NULL: standard output */
	char *made;
	bool replaced;	      /* by a new file */
	bool emptied;	      /* by the run, which has the file afresh */
	struct outfile_id id; /* must differ from the ids of other outputs */
	/* must not be a target: `id`, or what the stream is redirected to */
	struct outfile_id file;
};

struct output_list {
	struct output_name *names;
	size_t n;
};

/*
 * No output replaces, or is added to, a file that the same command reads.
 */

/* The files of the inputs of `plan`, in their order, to be freed. */
static struct outfile_id *outputs_inputs(const struct plan *plan)
{
	const struct plan_input *input;
	struct outfile_id *ids;
	size_t n = 0;

	for (input = plan->inputs; input; input = input->next)
		n++;
	ids = xcalloc(n, sizeof(*ids));
	n = 0;
	for (input = plan->inputs; input; input = input->next)
		outfile_identify(&ids[n++], input->path);
	return ids;
}

/* A list, or the record of a stonewall: a later run may read what an earlier one saves. */
static bool is_saved(const struct output_name *o)
{
	return o->option &&
	       (strcmp(o->option, "seek save") == 0 || strcmp(o->option, "stonewall save") == 0);
}

static void check_inputs_refuse(const struct output_name *o, const char *reader)
{
	static const char why[] = "reads this file; give the output a file of its own";

	if (o->option)
		log_error("-%s %s: %s %s", o->option, o->path, reader, why);
	else
		log_error("standard %s: %s %s", o->path ? "error" : "output", reader, why);
}

/*
 * Refuse outputs that are `inputs` of `plan`. `saved`: inputs that an earlier run saves are
 * made to be read.
 */
static enum xdd_status outputs_check_inputs(const struct plan *plan,
					    const struct outfile_id *inputs,
					    const struct output_name *outputs, size_t n, bool saved)
{
	size_t k = 0;

	for (const struct plan_input *input = plan->inputs; input; input = input->next, k++) {
		for (size_t i = 0; i < n; i++) {
			const struct output_name *o = &outputs[i];

			if (!outfile_is_same(&o->file, &inputs[k]) || (saved && is_saved(o)))
				continue;
			check_inputs_refuse(o, input->option);
			return XDD_BAD_ARGUMENT;
		}
	}
	return XDD_OK;
}

enum xdd_status report_check_file(const struct plan *plan, const char *option, const char *path)
{
	struct output_name o = { .option = option, .path = path };
	struct outfile_id *inputs;
	enum xdd_status status;

	outfile_identify(&o.file, path);
	if (!o.file.known)
		return XDD_OK;
	inputs = outputs_inputs(plan);
	status = outputs_check_inputs(plan, inputs, &o, 1, false);
	free(inputs);
	return status;
}

/* The user guide, 10.5: lines of end-to-end copies end with the share of the network. */
static const char *default_columns(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++)
		if (plan->targets[i].endtoend.role != E2E_NONE)
			return COLUMN_DEFAULTS_ENDTOEND;
	return COLUMN_DEFAULTS;
}

static enum xdd_status parse_columns(const char *format, struct column_list *list)
{
	const char *bad;
	size_t bad_len;
	int err = column_list_parse(list, format, &bad, &bad_len);

	if (err == -EINVAL) {
		column_list_refuse("-outputformat", format, "+WHAT+OPS", bad, bad_len);
		return XDD_BAD_ARGUMENT;
	}
	if (err)
		return log_fail(XDD_INIT_FAILED, "%s", strerror(-err));
	return XDD_OK;
}

static const char *text_columns(const struct plan *plan)
{
	return plan->output_format ? plan->output_format : default_columns(plan);
}

enum xdd_status report_columns(const struct plan *plan, struct column_list *list)
{
	return parse_columns(text_columns(plan), list);
}

enum xdd_status report_csv_columns(const struct plan *plan, struct column_list *list)
{
	const char *text = text_columns(plan);
	const size_t size = strlen(text) + sizeof(COLUMN_CSV_DEFAULTS);
	enum xdd_status status;
	char *format;

	if (plan->columns_chosen)
		return report_columns(plan, list);
	format = malloc(size);
	if (!format)
		return log_fail(XDD_INIT_FAILED, "%s", strerror(ENOMEM));
	snprintf(format, size, "%s%s", text, COLUMN_CSV_DEFAULTS);
	status = parse_columns(format, list);
	free(format);
	return status;
}

enum xdd_status report_csv_start(const char *option, const char *path, const char *header,
				 size_t len, bool *write_header)
{
	/* The columns of -latency and of -intervals are fixed. */
	const bool has_format = strcmp(option, "csvout") == 0 || strcmp(option, "combinedout") == 0;
	int start = csv_look(path, header, len);

	*write_header = start == CSV_START_NEW;
	if (start == CSV_START_NEW || start == CSV_START_SAME)
		return XDD_OK;
	if (start == CSV_START_OTHER)
		log_error(
			"-%s %s: its first line does not name the columns of this run; use another "
			"file%s",
			option, path,
			has_format ? ", or name its columns with -outputformat new" : "");
	else
		log_error("-%s %s: its first line cannot be read: %s", option, path,
			  strerror(-start));
	return XDD_BAD_ARGUMENT;
}

/* Takes `header`, which holds the header line. */
static enum xdd_status start_with(const char *option, const char *path, struct memstream *header,
				  bool *write_header)
{
	char *text = xmemstream_close(header);
	enum xdd_status status = report_csv_start(option, path, text, header->size, write_header);

	free(text);
	return status;
}

enum xdd_status report_latency_start(const struct plan *plan, bool *write_header)
{
	struct memstream m;

	latency_csv_header(xmemstream_open(&m), plan);
	return start_with("latency output", plan->latency.file, &m, write_header);
}

enum xdd_status report_series_start(const struct plan *plan, bool *write_header)
{
	struct memstream m;

	series_csv_header(xmemstream_open(&m));
	return start_with("intervals output", plan->intervals.file, &m, write_header);
}

/* The header line of -csvout and -combinedout, to be freed; NULL, reported: there is none. */
static char *csv_header(const struct plan *plan)
{
	struct line_cell *cells;
	struct column_list list;
	char *header;

	if (report_csv_columns(plan, &list))
		return NULL;
	cells = xcalloc(list.n, sizeof(*cells));
	header = xcalloc(1, line_size(list.n) + 1);
	line_csv(header, cells, csv_header_cells(cells, &list));
	free(cells);
	column_list_free(&list);
	return header;
}

static enum xdd_status check_headers(const struct plan *plan)
{
	const struct output_name files[] = {
		{ .option = "csvout", .path = plan->csv_file },
		{ .option = "combinedout", .path = plan->combined_file },
	};
	enum xdd_status status;
	struct column_list list;
	bool write_header;
	char *header;

	/* First as written: a message about an identifier shows the list of the command line. */
	status = report_columns(plan, &list);
	if (status)
		return status;
	column_list_free(&list);
	header = csv_header(plan);
	if (!header)
		return XDD_BAD_ARGUMENT;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !status; i++) {
		if (files[i].path)
			status = report_csv_start(files[i].option, files[i].path, header,
						  strlen(header), &write_header);
	}
	free(header);
	return status;
}

static const char *dash(const struct output_name *o)
{
	return o->option ? "-" : "";
}

static const char *title(const struct output_name *o)
{
	return o->option ? o->option : o->path ? "standard error" : "standard output";
}

/* The standard stream that the output goes to, or -1. */
static int stream(const struct output_name *o)
{
	return o->path ? output_standard(o->path) : STDOUT_FILENO;
}

static enum xdd_status check_pairs(const struct output_name *outputs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++) {
			if (!outfile_is_same(&outputs[i].id, &outputs[j].id))
				continue;
			return log_refuse(
				"-%s %s: this is the file of %s%s too; give each output a file of its own",
				title(&outputs[j]), outputs[j].path, dash(&outputs[i]),
				title(&outputs[i]));
		}
	}
	return XDD_OK;
}

static void refuse_output(const struct output_name *o, const char *why, uint32_t target)
{
	log_error("%s%s%s%s: %s %u", dash(o), title(o), o->option ? " " : "",
		  o->option ? o->path : "", why, target);
}

/* Outputs that -createnewfiles would take away. */
static enum xdd_status check_new_files(const struct plan *plan, const struct target_plan *target,
				       const struct output_name *outputs, size_t n)
{
	for (size_t i = 0; i < n && target->create_new_files; i++) {
		int fd = stream(&outputs[i]);
		const char *path = fd == STDOUT_FILENO ? "/dev/stdout" :
				   fd == STDERR_FILENO ? "/dev/stderr" :
							 outputs[i].path;

		if (!outputs[i].file.known || !plan_makes_file(plan, target, path))
			continue;
		refuse_output(&outputs[i], "-createnewfiles makes a file of that name for target",
			      target->number);
		return XDD_BAD_ARGUMENT;
	}
	return XDD_OK;
}

/* The files of the targets of `plan`, to be freed. */
static struct outfile_id *outputs_targets(const struct plan *plan)
{
	struct outfile_id *ids = xcalloc(plan->n_targets, sizeof(*ids));

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->kind != TARGET_NULL && t->kind != TARGET_CHAR)
			outfile_identify(&ids[i], t->path);
	}
	return ids;
}

/*
 * Refuse outputs that are `targets` of `plan`, or files that they make.
 *
 * Results and messages that are written into a file under test would destroy it, or themselves.
 */
static enum xdd_status outputs_check_targets(const struct plan *plan,
					     const struct outfile_id *targets,
					     const struct output_name *outputs, size_t n)
{
	for (size_t t = 0; t < plan->n_targets; t++) {
		const struct target_plan *target = &plan->targets[t];

		if (check_new_files(plan, target, outputs, n))
			return XDD_BAD_ARGUMENT;
		for (size_t i = 0; i < n; i++) {
			if (!outfile_is_same(&outputs[i].file, &targets[t]))
				continue;
			refuse_output(&outputs[i], "this is target", target->number);
			return XDD_BAD_ARGUMENT;
		}
	}
	return XDD_OK;
}

static bool is_json(const struct output_name *o)
{
	return o->option && strcmp(o->option, "jsonout") == 0;
}

/* The document of -jsonout can share standard output with nothing. */
static enum xdd_status check_stdout(const struct plan *plan, const struct output_name *outputs,
				    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct output_name *o = &outputs[i];

		if (is_json(o) || !o->path || output_standard(o->path) != STDOUT_FILENO)
			continue;
		return log_refuse("-%s %s: -jsonout %s has standard output to itself", o->option,
				  o->path, plan->json_file);
	}
	return XDD_OK;
}

static bool is_json_stdout(const struct output_name *o)
{
	return is_json(o) && output_standard(o->path) == STDOUT_FILENO;
}

static void identify(struct output_name *o)
{
	int fd = stream(o);

	outfile_identify(&o->id, is_json_stdout(o) ? NULL : o->path);
	o->file = o->id;
	if (fd >= 0)
		outfile_identify_stream(&o->file, fd);
}

static int check_look(const struct output_name *o, char *why)
{
	return o->replaced ? output_check_new(o->path, why) : output_check(o->path, why);
}

/* One more output. Takes `made`. */
static enum xdd_status add_output(struct output_list *list, struct output_name o)
{
	struct output_name *names = xarray_room(list->names, list->n, sizeof(*names));
	char why[OUTPUT_WHY_SIZE];

	list->names = names;
	identify(&o);
	names[list->n++] = o;
	if (o.option && check_look(&o, why))
		return log_refuse("-%s %s: %s", o.option, o.path, why);
	return XDD_OK;
}

/* A file that is written to where it is; none when `path` is NULL. */
static enum xdd_status add_file(struct output_list *list, const char *option, const char *path)
{
	struct output_name o = { .option = option, .path = path };

	return path ? add_output(list, o) : XDD_OK;
}

static enum xdd_status add_errout(struct output_list *list, const char *path)
{
	struct output_name o = { .option = "errout", .path = path, .emptied = true };

	return path ? add_output(list, o) : XDD_OK;
}

/* As add_errout(), for a file that a new file replaces. */
static enum xdd_status add_replaced(struct output_list *list, const char *option, const char *path)
{
	struct output_name o = { .option = option, .path = path, .replaced = true };

	return path ? add_output(list, o) : XDD_OK;
}

/* As add_replaced(), for a file that can only be replaced. */
static enum xdd_status add_prometheus(struct output_list *list, const char *path)
{
	if (!path || prometheus_accepts(path))
		return add_replaced(list, "intervals prometheus", path);
	return log_refuse("-intervals prometheus %s: is not a regular file", path);
}

/* Files that each target has of its own. */
static enum xdd_status add_target_files(struct output_list *list, const struct target_plan *t)
{
	enum xdd_status status = t->trace.append ?
					 add_file(list, "ts output", t->trace.report_path) :
					 add_replaced(list, "ts output", t->trace.report_path);
	char *path;

	if (!status)
		status = add_replaced(list, "ts dump", t->trace.dump_path);
	if (status || !t->heartbeat.on || !t->heartbeat.output)
		return status;
	path = xneed(heartbeat_path(t));
	return add_output(list, (struct output_name){ .option = "heartbeat output",
						      .path = path,
						      .made = path,
						      .emptied = !t->heartbeat.append });
}

/* Add the outputs of `plan`; to be freed by outputs_free() in any case. */
static enum xdd_status outputs_list(struct output_list *list, const struct plan *plan)
{
	enum xdd_status status = XDD_OK;

	/* The document of -jsonout takes the place of the text. */
	if (plan->output_file)
		status = add_file(list, "output", plan->output_file);
	else if (!jsonout_is_stdout(plan))
		status = add_output(list, (struct output_name){ .option = NULL });
	if (!status)
		status = add_output(list, (struct output_name){ .path = "/dev/stderr" });
	if (!status)
		status = add_errout(list, plan->errout_file);
	if (!status)
		status = add_file(list, "csvout", plan->csv_file);
	if (!status)
		status = add_file(list, "combinedout", plan->combined_file);
	if (!status)
		status = add_file(list, "latency output", plan->latency.file);
	if (!status)
		status = add_file(list, "intervals output", plan->intervals.file);
	if (!status)
		status = add_prometheus(list, plan->intervals.prometheus);
	if (!status)
		status = add_replaced(list, "jsonout", plan->json_file);
	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = add_target_files(list, &plan->targets[i]);
	return status;
}

/* Takes `path`, which is NULL where memory is short. */
static enum xdd_status add_saved(struct output_list *list, const char *option, char *path)
{
	return add_output(list, (struct output_name){ .option = option,
						      .path = xneed(path),
						      .made = path,
						      .replaced = true });
}

/* Add the files that it saves for a later run, which are not results: of -seek and -stonewall. */
static enum xdd_status outputs_add_saved(struct output_list *list, const struct plan *plan)
{
	const char *record = plan->stonewall.save_file;
	enum xdd_status status = XDD_OK;
	char *path;

	if (record)
		status = add_saved(list, "stonewall save",
				   stonewall_record_name(record, plan->rank));
	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (!t->seek.save_file)
			continue;
		if (asprintf(&path, "%s.T%" PRIu32 ".txt", t->seek.save_file, t->number) < 0)
			path = NULL;
		status = add_saved(list, "seek save", path);
	}
	return status;
}

static void outputs_free(struct output_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i].made);
	free(list->names);
}

char *report_outputs(const struct plan *plan)
{
	struct output_list list = { .n = 0 };
	struct memstream m;

	if (!memstream_open(&m))
		return NULL;
	/* report_check() reports outputs that are wrong. */
	outputs_list(&list, plan);
	for (size_t i = 0; i < list.n; i++) {
		const struct output_name *o = &list.names[i];

		if (o->option && !is_json(o) && strcmp(o->option, "errout") != 0 &&
		    strcmp(o->path, "/dev/null") != 0)
			fprintf(m.f, "%s %s\n", o->option, o->path);
	}
	outputs_free(&list);
	return memstream_close(&m) ? NULL : m.text;
}

enum xdd_status report_hold_pipes(const struct plan *plan, struct output_pipes *pipes)
{
	struct output_list list = { 0 };
	enum xdd_status status = outputs_list(&list, plan);

	for (size_t i = 0; i < list.n && !status; i++) {
		const struct output_name *o = &list.names[i];
		int err = o->option ? output_pipes_hold(pipes, o->path) : 0;

		if (!err)
			continue;
		log_error("-%s %s: %s", o->option, o->path, output_strerror(err));
		status = XDD_BAD_ARGUMENT;
	}
	outputs_free(&list);
	return status;
}

static enum xdd_status check_targets(const struct plan *plan, const struct output_list *list)
{
	struct outfile_id *targets;
	enum xdd_status status;
	bool known = false;

	for (size_t i = 0; i < list->n; i++)
		known |= list->names[i].file.known;
	if (!known)
		return XDD_OK;
	targets = outputs_targets(plan);
	status = outputs_check_targets(plan, targets, list->names, list->n);
	free(targets);
	return status;
}

static enum xdd_status check_inputs(const struct plan *plan, const struct output_list *list)
{
	struct outfile_id *inputs = outputs_inputs(plan);
	enum xdd_status status = outputs_check_inputs(plan, inputs, list->names, list->n, false);

	free(inputs);
	return status;
}

enum xdd_status report_check(const struct plan *plan)
{
	struct output_list list = { 0 };
	enum xdd_status status = outputs_list(&list, plan);
	bool write_header;

	if (!status)
		status = outputs_add_saved(&list, plan);
	if (!status && jsonout_is_stdout(plan))
		status = check_stdout(plan, list.names, list.n);
	if (!status)
		status = check_pairs(list.names, list.n);
	if (!status)
		status = check_targets(plan, &list);
	if (!status)
		status = check_inputs(plan, &list);
	if (!status)
		status = check_headers(plan);
	outputs_free(&list);
	if (!status && plan->latency.file)
		status = report_latency_start(plan, &write_header);
	if (!status && plan->intervals.file)
		status = report_series_start(plan, &write_header);
	return status;
}

/*
 * The outputs of several runs that follow each other, before the first.
 */

/* A plan, with what each other one is held against; looked up once. */
struct entry {
	const struct plan *plan;
	struct output_list outputs;
	struct outfile_id *targets, *inputs;
	char *csv, *latency; /* header lines of its files; NULL: there are none */
};

/* As csv_header(), for -latency output. */
static char *latency_header(const struct plan *plan)
{
	struct memstream m;

	latency_csv_header(xmemstream_open(&m), plan);
	return xmemstream_close(&m);
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
	return log_refuse(
		"-%s %s: %s has other columns in this file; give each run a file of its own, "
		"with %%s in the name, or the same columns",
		o->option, o->path, a->plan->run_name);
}

static enum xdd_status check_pair(const struct entry *a, const struct entry *b,
				  const struct output_name *first, const struct output_name *second)
{
	const bool keeps = !second->replaced && !second->emptied && !first->replaced &&
			   strcmp(first->option, second->option) == 0;

	if (keeps)
		return check_header(a, b, second);
	if (output_standard(second->path) >= 0)
		return log_refuse(
			"-%s %s: takes the document of one run; choose it with -section, or name a "
			"file, with %%s in the name, which stands for the name of the run",
			second->option, second->path);
	return log_refuse(
		"-%s %s: the run \"%s\" writes that file too; give each run its own, with %%s "
		"in the name, which stands for the name of the run",
		second->option, second->path, a->plan->run_name);
}

/* All runs may share a standard stream, or a file that discards what it gets. */
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

			/* All runs share one name of -errout. */
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
	status = outputs_list(&e->outputs, plan);
	if (!status)
		status = outputs_add_saved(&e->outputs, plan);
	if (!status && (plan->csv_file || plan->combined_file) && !(e->csv = csv_header(plan)))
		status = XDD_INIT_FAILED;
	if (!status && plan->latency.file)
		e->latency = latency_header(plan);
	return status;
}

enum xdd_status report_runs_add(struct report_runs *runs, const struct plan *plan)
{
	struct entry *entries = xarray_room(runs->entries, runs->n, sizeof(*entries)), *e;
	enum xdd_status status;

	runs->entries = entries;
	e = &entries[runs->n++];
	status = look_up(e, plan);
	for (const struct entry *before = entries; before < e && !status; before++)
		status = check_entries(before, e);
	return status;
}
