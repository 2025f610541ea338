/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdd combine: one result of the documents that the hosts of a run wrote. Called by main.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/commands/command.h"
#include "xdd/plan/line.h"
#include "xdd/plan/option.h"
#include "xdd/report/combine.h"
#include "xdd/report/document.h"
#include "xdd/report/jvalue.h"

struct combine_line {
	const char *json, *csv; /* NULL: not wanted */
	struct combine_options options;
	char *hosts; /* -hosts, cut at the commas */
	const char **expected;
	const char **names;
	size_t n;
	struct document *docs;
};

#define LINE_FIELD(field) OPTION_FIELD(struct combine_line, field)

/* Cut the names of -hosts at commas. */
static enum xdd_status set_expected(const struct setting *s, void *dst)
{
	struct combine_line *l = dst;
	const char *value = s->args[0].text;
	size_t room = 1;

	for (const char *c = value; *c; c++)
		room += *c == ',';
	free(l->hosts);
	free(l->expected);
	l->hosts = xstrdup(value);
	l->expected = xcalloc(room, sizeof(*l->expected));
	l->options.n_expected = 0;
	for (char *rest = l->hosts, *name; (name = strsep(&rest, ","));) {
		if (!*name)
			return log_refuse(
				"combine %s %.128s: expected names with a comma between them",
				s->name.text, value);
		l->expected[l->options.n_expected++] = name;
	}
	l->options.expected = l->expected;
	return XDD_OK;
}

static const struct option rows[] = {
	{ .name = "jsonout",
	  .aliases = "o jsono",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(json),
	  .help = "write the combined result to <file> as JSON, for xdd compare; - is standard "
		  "output, without the text" },
	{ .name = "csvout",
	  .aliases = "csvo",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(csv),
	  .help = "append the lines of the hosts (HOST) and of all (COMBINED) to <file> as CSV, with "
		  "the columns of a run" },
	{ .name = "hosts",
	  OPTION_CUSTOM("<host>,<host>...", set_expected),
	  .help = "the hosts that must be there; those that are missing are named" },
	{ .name = "force",
	  OPTION_FLAG(struct combine_line, options.force),
	  .help = "combine also results with different run ids, or of different times" },
	{ OPTION_HELP, .aliases = "h" },
	{ 0 },
};

static const struct option_table options = { OPTION_GROUPS(OPTION_GROUP("Options", rows)) };

/* ---- the command line ---- */

static enum xdd_status take_file(struct line *line, const char *word)
{
	struct combine_line *l = line->to;

	l->names[l->n++] = word;
	return XDD_OK;
}

static bool is_stdout(const char *path)
{
	return path && output_standard(path) >= 0 && strcmp(path, "/dev/stderr") != 0;
}

/* A file that is read is not replaced. */
static bool check_output(const struct combine_line *l, const char *option, const char *path,
			 int (*check)(const char *path, char *why))
{
	char why[OUTPUT_WHY_SIZE];

	if (!path)
		return true;
	if (check(path, why))
		return log_fail(false, "combine -%s %s: %s", option, path, why);
	for (size_t i = 0; i < l->n; i++) {
		if (!command_same_file(path, l->names[i]))
			continue;
		return log_fail(false, "combine -%s %s: is a document to read; use another file",
				option, path);
	}
	return true;
}

/* ---- work ---- */

static json_t *combine(struct combine_line *l)
{
	if (l->n > COMBINE_MAX_DOCUMENTS)
		return log_fail(NULL, "combine: %zu documents are too many; expected up to %d",
				l->n, COMBINE_MAX_DOCUMENTS);
	for (size_t i = 0; i < l->n; i++) {
		if (!document_load(&l->docs[i], "combine", l->names[i], l->n > 1 ? l->docs : NULL))
			return NULL;
	}
	return combine_documents(l->docs, l->n, &l->options);
}

static bool write_json(const json_t *doc, const char *path)
{
	struct newfile f;
	int err;

	if (is_stdout(path)) {
		if (json_dumpf(doc, stdout, JVALUE_FORMAT) && !ferror(stdout))
			memory_end();
		putchar('\n');
		return true;
	}
	err = newfile_open(&f, path);
	if (!err) {
		/* An error of the file is known when it is closed. */
		if (json_dumpf(doc, f.f, JVALUE_FORMAT) && !ferror(f.f))
			err = -ENOMEM;
		fputc('\n', f.f);
		err = newfile_close(&f, err);
	}
	if (err)
		log_error("combine -jsonout %s: %s", path, output_strerror(err));
	return !err;
}

/* The document is last, so that it has the status of all. */
static enum xdd_status put_results(const struct combine_line *l, json_t *doc)
{
	enum xdd_status status =
		(enum xdd_status)json_integer_value(json_object_get(doc, "status"));
	bool good = !l->csv || combine_write_csv(doc, l->csv) == XDD_OK;

	if (!is_stdout(l->json) && !is_stdout(l->csv) && combine_print_text(doc, stdout) == -ENOMEM)
		memory_end();
	if (!command_flush() && !status)
		status = XDD_IO_ERROR;
	if (combine_set_status(doc, status))
		memory_end();
	if (good && l->json)
		good = write_json(doc, l->json);
	if (is_stdout(l->json) && !command_flush() && !status)
		status = XDD_IO_ERROR;
	return good ? status : XDD_BAD_ARGUMENT;
}

static enum xdd_status combine_all(struct combine_line *l)
{
	enum xdd_status status;
	json_t *doc;

	if (!check_output(l, "jsonout", l->json, output_check_new) ||
	    !check_output(l, "csvout", l->csv, output_check))
		return XDD_BAD_ARGUMENT;
	if (command_same_file(l->json, l->csv))
		return log_refuse(
			"combine -csvout %s: this is the file of -jsonout too; give each output "
			"a file of its own",
			l->csv);
	doc = combine(l);
	if (!doc)
		return XDD_BAD_ARGUMENT;
	status = put_results(l, doc);
	json_decref(doc);
	return status;
}

static enum xdd_status run_line(struct combine_line *l, int argc, char **argv)
{
	struct line line = { .name = "combine", .options = &options, .to = l, .operand = take_file };

	if (line_read(&line, argc, argv))
		return XDD_BAD_ARGUMENT;
	if (line.shows)
		return command_show(&command_combine, line.shows);
	if (l->n)
		return combine_all(l);
	return log_refuse(
		"combine: expected the files of -jsonout of the hosts; see xdd combine -help");
}

static int combine_main(int argc, char **argv)
{
	struct combine_line l = { .json = NULL };
	enum xdd_status status;

	memory_on_end(XDD_BAD_ARGUMENT, NULL, NULL);
	l.names = xcalloc((size_t)argc, sizeof(*l.names));
	l.docs = xcalloc((size_t)argc, sizeof(*l.docs));
	status = run_line(&l, argc, argv);
	for (size_t i = 0; i < l.n; i++)
		document_free(&l.docs[i]);
	free(l.docs);
	free(l.names);
	free(l.expected);
	free(l.hosts);
	return (int)status;
}

const struct command command_combine = {
	.name = "combine",
	.summary = "combine the results of several hosts into one",
	.usage = "usage: xdd combine [<option> ...] <host1.json> <host2.json>...\n"
		 "\n"
		 "Makes one result of the documents of -jsonout of the hosts of a run: sums over\n"
		 "the time from the first operation to the last one, percentiles of all\n"
		 "operations, the skew of start and end, a line of each host, the slowest host,\n"
		 "and the differences of environments and plans. Times of hosts with -timeserver\n"
		 "come from one clock.\n",
	.options = &options,
	.footer =
		"Exit status: the greatest one of the hosts; 4 if all are 0 and one is\n"
		"missing; 2 if a document cannot be read, or does not belong to the others; 6 if\n"
		"standard output is incomplete.\n",
	.main = combine_main,
};
