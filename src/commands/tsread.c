/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command xdd tsread: print dumps of time stamps. Called by main.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/commands/command.h"
#include "xdd/plan/line.h"
#include "xdd/plan/option.h"
#include "xdd/trace/trace.h"

enum form {
	FORM_TEXT,
	FORM_CSV,
	FORM_JSON,
};

struct tsread {
	struct trace_text text;
	enum form form;
	const char *output; /* NULL: standard output */
	const char **names;
	size_t n_names;

	struct trace_dump *dumps; /* those that could be read, at least in part */
	const struct trace **traces;
	size_t n;
	enum xdd_status status; /* the worst so far */
};

/* The bytes of a file. They are read and not mapped, because a file may be truncated meanwhile. */
struct content {
	char *data;
	size_t size;
};

#define LINE_FIELD(field) OPTION_FIELD(struct tsread, field)

static const struct option rows[] = {
	{ .name = "summary",
	  .aliases = "s",
	  OPTION_FLAG(struct tsread, text.summary),
	  .help = "the summary report" },
	{ .name = "detailed",
	  .aliases = "d",
	  OPTION_FLAG(struct tsread, text.detailed),
	  .help = "a line for each operation" },
	{ .name = "normalize",
	  .aliases = "n",
	  OPTION_FLAG(struct tsread, text.normalize),
	  .help = "times of the global clock in these; with several dumps always" },
	{ .name = "csv",
	  .aliases = "c",
	  .type = OPT_SET,
	  .value = FORM_CSV,
	  LINE_FIELD(form),
	  .help = "CSV instead, one line an operation" },
	{ .name = "json",
	  .aliases = "j",
	  .type = OPT_SET,
	  .value = FORM_JSON,
	  LINE_FIELD(form),
	  .help = "Chrome trace events instead, for Perfetto (ui.perfetto.dev)" },
	{ .name = "output",
	  .aliases = "o",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(output),
	  .help = "write to <file> instead of standard output (-)" },
	{ OPTION_HELP, .aliases = "h" },
	{ 0 },
};

static const struct option_table options = { OPTION_GROUPS(OPTION_GROUP("Options", rows)) };

static enum xdd_status take_dump(struct line *l, const char *word)
{
	struct tsread *r = l->to;

	r->names[r->n_names++] = word;
	return XDD_OK;
}

static enum xdd_status check_line(struct tsread *r)
{
	if (r->output && output_standard(r->output) == STDOUT_FILENO)
		r->output = NULL;
	if (!r->text.summary && !r->text.detailed)
		r->text.summary = r->text.detailed = true;
	if (r->n_names)
		return XDD_OK;
	return log_refuse(
		"tsread: expected a dump: xdd tsread [option ...] <dump> ..., or xdd tsread -h");
}

/* A dump that its own report would replace could never be read again. */
static enum xdd_status check_output(const struct tsread *r)
{
	char why[OUTPUT_WHY_SIZE];

	if (!r->output)
		return XDD_OK;
	if (output_check_new(r->output, why))
		return log_refuse("tsread -o %s: %s", r->output, why);
	for (size_t i = 0; i < r->n_names; i++) {
		if (!command_same_file(r->output, r->names[i]))
			continue;
		return log_refuse("tsread -o %s: is a dump to read; use another file", r->output);
	}
	return XDD_OK;
}

static int content_get(struct content *c, const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY), err;

	memset(c, 0, sizeof(*c));
	if (fd < 0)
		return -errno;
	err = readfile(fd, SIZE_MAX, &c->data, &c->size);
	close(fd);
	return err;
}

static void say(void *arg, const char *text)
{
	log_error("%s: %s", (const char *)arg, text);
}

/* Keep the more severe status. */
static void worsen(struct tsread *r, enum xdd_status status)
{
	if (r->status == XDD_OK || r->status == XDD_MISCOMPARE)
		r->status = status;
}

static void read_dump(struct tsread *r, const char *name)
{
	struct trace_dump *d = &r->dumps[r->n];
	struct content c;
	int err = content_get(&c, name);

	if (err) {
		log_error("%s: %s", name, strerror(-err));
		worsen(r, XDD_IO_ERROR);
		free(c.data);
		return;
	}
	err = trace_dump_parse(d, c.data, c.size, name, say, (void *)(uintptr_t)name);
	free(c.data);
	if (err == -ENOMEM)
		memory_end();
	if (err || d->complaints)
		worsen(r, XDD_MISCOMPARE);
	if (err) {
		trace_dump_free(d);
		return;
	}
	r->traces[r->n++] = &d->trace;
}

static int write_traces(const struct tsread *r, FILE *f)
{
	switch (r->form) {
	case FORM_CSV:
		return trace_export_csv(f, r->traces, r->n);
	case FORM_JSON:
		return trace_export_json(f, r->traces, r->n);
	case FORM_TEXT:
		break;
	}
	return r->n == 1 ? trace_text_write(f, r->traces[0], &r->text) :
			   trace_text_merged(f, r->traces, r->n, &r->text);
}

static void write_output(struct tsread *r)
{
	struct newfile f;
	int err = 0;

	if (r->output) {
		err = newfile_open(&f, r->output);
		if (!err)
			err = newfile_close(&f, write_traces(r, f.f));
	} else {
		err = write_traces(r, stdout);
		errno = 0;
		if (!err && (fflush(stdout) || ferror(stdout)))
			err = errno ? -errno : -EIO;
		/* A reader that has gone away has read enough. */
		if (err == -EPIPE)
			err = 0;
	}
	if (!err)
		return;
	log_error("%s: %s", r->output ? r->output : "standard output", output_strerror(err));
	worsen(r, XDD_IO_ERROR);
}

/* Read and print all of them. Returns the worst status of one. */
static enum xdd_status print_all(struct tsread *r)
{
	r->status = check_line(r);
	if (!r->status)
		r->status = check_output(r);
	if (r->status)
		return r->status;
	for (size_t i = 0; i < r->n_names; i++)
		read_dump(r, r->names[i]);
	if (r->n)
		write_output(r);
	return r->status;
}

static int tsread_main(int argc, char **argv)
{
	struct tsread r = { .status = XDD_OK };
	struct line l = { .name = "tsread", .options = &options, .to = &r, .operand = take_dump };
	enum xdd_status status;

	r.names = xcalloc((size_t)argc, sizeof(*r.names));
	r.dumps = xcalloc((size_t)argc, sizeof(*r.dumps));
	r.traces = xcalloc((size_t)argc, sizeof(struct trace *));
	status = line_read(&l, argc, argv);
	if (!status)
		status = l.shows ? command_show(&command_tsread, l.shows) : print_all(&r);
	for (size_t i = 0; i < r.n; i++)
		trace_dump_free(&r.dumps[i]);
	free(r.names);
	free(r.dumps);
	free(r.traces);
	return (int)status;
}

const struct command command_tsread = {
	.name = "tsread",
	.summary = "print time stamps of operations that -timestamps dump wrote",
	.usage = "usage: xdd tsread [<option> ...] <dump> ...\n"
		 "\n"
		 "Prints the dumps of time stamps that -ts dump <prefix> wrote, and dumps of\n"
		 "older programs. Without -summary or -detailed both reports are printed. Several\n"
		 "dumps, of targets and of hosts, are merged by the global clock.\n",
	.options = &options,
	.footer = "Exit status: 0 all is sound; 2 invalid argument; 3 invalid option; 6 a file\n"
		  "cannot be read or written; 7 a dump is damaged or cut short: what is sound of\n"
		  "it was printed.\n",
	.main = tsread_main,
};
