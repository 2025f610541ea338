/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Refusals of report_check(): columns that are none, files that cannot be written, files that two
 * outputs or a target share.
 */
#include "unit.h"

#include "report_fixture.h"

FIXTURE_TEST(test_bad_format)
{
	struct plan plan = sample_plan();

	plan.output_format = "+WHAT+LATENCYY+OPS";
	assert_refused(&plan, "-outputformat LATENCYY: no such column identifier; did you mean "
			      "+LATENCY? (xdd -help columns lists them)");
	plan.output_format = "+WHAT+QQQQQQQQ";
	assert_refused(&plan, "-outputformat QQQQQQQQ: no such column identifier (xdd "
			      "-help columns lists them)");
	plan.output_format = "WHAT+OPS";
	assert_holds(error_of(report_check, &plan, XDD_BAD_ARGUMENT), "each with a plus sign");
	plan.output_format = "+WHAT++OPS";
	assert_holds(error_of(report_check, &plan, XDD_BAD_ARGUMENT), "each with a plus sign");
	assert_holds(error_of(run_report, &plan, XDD_BAD_ARGUMENT), "each with a plus sign");
	plan.output_format = NULL;
	assert_accepted(&plan);
}

FIXTURE_TEST(test_bad_paths)
{
	struct plan plan = sample_plan();

	assert_int_equal(mkdir("sub", 0700), 0);
	put_file("data", "");
	plan.csv_file = "nowhere/a.csv";
	assert_refused(&plan, "-csvout nowhere/a.csv: there is no directory nowhere");
	plan.csv_file = "sub";
	assert_refused(&plan, "-csvout sub: Is a directory");
	plan.csv_file = "data/a.csv";
	assert_refused(&plan, "-csvout data/a.csv: Not a directory");
	plan.csv_file = NULL;
	plan.output_file = "nowhere/out.txt";
	assert_refused(&plan, "-output nowhere/out.txt: there is no directory nowhere");
	assert_holds(error_of(run_report, &plan, XDD_BAD_ARGUMENT), "-output nowhere/out.txt: ");
	/* The last output that is opened: the ones before it do not stay open. */
	plan.output_file = "out.txt";
	plan.csv_file = "a.csv";
	plan.combined_file = "b.csv";
	plan.latency.file = "l.csv";
	plan.intervals.file = "i.csv";
	plan.intervals.prometheus = "nowhere/p";
	assert_string_equal(error_of(run_report, &plan, XDD_BAD_ARGUMENT),
			    "xdd: -intervals prometheus nowhere/p: No such file or directory\n");
	plan = sample_plan();
	plan.combined_file = "/nowhere/b.csv";
	assert_refused(&plan, "-combinedout /nowhere/b.csv: there is no directory /nowhere");
	plan.combined_file = NULL;
	plan.errout_file = "sub/";
	assert_refused(&plan, "-errout sub/: Is a directory");
	plan.errout_file = NULL;
	plan.csv_file = "sub/a.csv";
	assert_accepted(&plan);
}

FIXTURE_TEST(test_not_writable)
{
	struct plan plan = sample_plan();

	if (geteuid() == 0)
		skip();
	put_file("a.csv", HEADER);
	assert_int_equal(chmod("a.csv", 0400), 0);
	plan.csv_file = "a.csv";
	assert_refused(&plan, "-csvout a.csv: Permission denied");
	assert_int_equal(chmod("a.csv", 0200), 0);
	assert_refused(&plan, "-csvout a.csv: its first line cannot be read: Permission denied");
	assert_int_equal(mkdir("sub", 0500), 0);
	plan.csv_file = "sub/a.csv";
	assert_refused(&plan, "-csvout sub/a.csv: cannot create a file in the directory sub "
			      "(Permission denied)");
}

FIXTURE_TEST(test_same_file)
{
	struct plan plan = sample_plan();

	plan.output_file = "out.txt";
	plan.csv_file = "./out.txt";
	assert_refused(&plan,
		       "-csvout ./out.txt: this is the file of -output too; give each output a "
		       "file of its own");
	put_file("out.txt", "");
	assert_holds(error_of(report_check, &plan, XDD_BAD_ARGUMENT), "file of -output too");
	plan.csv_file = NULL;
	plan.errout_file = "out.txt";
	assert_holds(error_of(report_check, &plan, XDD_BAD_ARGUMENT),
		     "-errout out.txt: this is the");

	plan = sample_plan();
	put_file("a.csv", "");
	assert_int_equal(symlink("a.csv", "link.csv"), 0);
	plan.csv_file = "a.csv";
	plan.combined_file = "link.csv";
	assert_holds(error_of(report_check, &plan, XDD_BAD_ARGUMENT),
		     "-combinedout link.csv: this is the file of -csvout too");
	plan.combined_file = "b.csv";
	assert_accepted(&plan);

	plan.output_file = "/dev/null";
	plan.errout_file = "/dev/null";
	plan.csv_file = "/dev/null";
	plan.combined_file = "/dev/null";
	assert_accepted(&plan);
	plan.output_file = "/dev/stdout";
	plan.csv_file = "/dev/stdout";
	plan.errout_file = "/dev/stderr";
	plan.combined_file = "/dev/stderr";
	assert_accepted(&plan);
}

FIXTURE_TEST(test_same_as_stdout)
{
	struct plan plan = sample_plan();
	int saved = redirect_fd(STDOUT_FILENO, "a.csv");
	char text[512];

	plan.csv_file = "a.csv";
	snprintf(text, sizeof(text), "%s", error_of(report_check, &plan, XDD_BAD_ARGUMENT));
	restore_fd(STDOUT_FILENO, saved);
	assert_holds(text, "-csvout a.csv: this is the file of standard output too");
	assert_accepted(&plan);
}

FIXTURE_TEST(test_same_as_target)
{
	struct target_plan target = targets[0];
	struct plan plan = sample_plan();

	target.path = "./data";
	plan.targets = &target;
	plan.n_targets = 1;
	plan.csv_file = "data";
	assert_refused(&plan, "-csvout data: this is target 0");
	put_file("data", "not CSV\n");
	assert_refused(&plan, "-csvout data: this is target 0");
	assert_int_equal(unlink("data"), 0);
	assert_int_equal(symlink("data", "to-data"), 0);
	target.path = "to-data";
	assert_refused(&plan, "-csvout data: this is target 0");
	target.path = "data";
	plan.csv_file = "to-data";
	assert_refused(&plan, "-csvout to-data: this is target 0");
	assert_int_equal(unlink("to-data"), 0);
	assert_accepted(&plan);
	plan.csv_file = "data";
	target.kind = TARGET_NULL;
	assert_accepted(&plan);
}

/* ---- each output beside each other one ---- */

enum sharing {
	ADDED_TO,   /* several runs may add lines to one file */
	WITH_NAMES, /* as ADDED_TO, under a line of the columns */
	REPLACED,
	EMPTIED,
};

/* Outputs, each of which can be the file FILE_NAME. */
#define FILE_NAME "x.R0.txt"
static const struct kind {
	const char *option;
	enum sharing sharing;
} kinds[] = {
	{ "output", ADDED_TO },
	{ "errout", EMPTIED },
	{ "csvout", WITH_NAMES },
	{ "combinedout", WITH_NAMES },
	{ "latency output", WITH_NAMES },
	{ "intervals output", ADDED_TO },
	{ "intervals prometheus", REPLACED },
	{ "jsonout", REPLACED },
	{ "ts output", REPLACED },
	{ "ts output", ADDED_TO }, /* append */
	{ "ts dump", REPLACED },
	{ "stonewall save", REPLACED },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define TS_APPEND 9

/* A run whose targets have names of their own; `plan` and `own` are filled in. */
static struct plan *run_named(struct plan *plan, struct target_plan *own, const char *name)
{
	*plan = sample_plan();
	*own = targets[0];
	own->path = name;
	plan->run_name = name;
	plan->targets = own;
	plan->n_targets = 1;
	return plan;
}

static void set_output(struct plan *plan, struct target_plan *own, size_t kind)
{
	switch (kind) {
	case 0:
		plan->output_file = FILE_NAME;
		break;
	case 1:
		plan->errout_file = FILE_NAME;
		break;
	case 2:
		plan->csv_file = FILE_NAME;
		break;
	case 3:
		plan->combined_file = FILE_NAME;
		break;
	case 4:
		plan->latency.file = FILE_NAME;
		break;
	case 5:
		plan->intervals.file = FILE_NAME;
		break;
	case 6:
		plan->intervals.prometheus = FILE_NAME;
		break;
	case 7:
		plan->json_file = FILE_NAME;
		break;
	case 8:
	case TS_APPEND:
		own->trace.report_path = FILE_NAME;
		own->trace.append = kind == TS_APPEND;
		break;
	case 10:
		own->trace.dump_path = FILE_NAME;
		break;
	default:
		plan->stonewall.save_file = "x";
	}
}

/* In one run, each output needs a file of its own. */
FIXTURE_TEST(test_pairs)
{
	for (size_t i = 0; i < KINDS; i++) {
		for (size_t k = i + 1; k < KINDS; k++) {
			struct target_plan own;
			struct plan plan;
			char text[256];

			run_named(&plan, &own, "data");
			set_output(&plan, &own, i);
			assert_accepted(&plan);
			if (strcmp(kinds[i].option, kinds[k].option) == 0)
				continue;
			set_output(&plan, &own, k);
			snprintf(text, sizeof(text),
				 "xdd: -%s " FILE_NAME ": this is the file of -%s too; give each "
				 "output a file of its own\n",
				 kinds[k].option, kinds[i].option);
			assert_string_equal(error_of(report_check, &plan, XDD_BAD_ARGUMENT), text);
		}
	}
}

/* The runs of runs_added(). */
static const struct plan *first_run;

/* The status of report_runs_add() for the second one of two runs. */
static enum xdd_status runs_added(const struct plan *second)
{
	struct report_runs *runs = report_runs_new();
	enum xdd_status status;

	assert_non_null(runs);
	assert_int_equal(report_runs_add(runs, first_run), XDD_OK);
	status = report_runs_add(runs, second);
	report_runs_free(runs);
	return status;
}

static void assert_runs(const struct plan *first, const struct plan *second, const char *message)
{
	const char *text;

	first_run = first;
	text = error_of(runs_added, second, *message ? XDD_BAD_ARGUMENT : XDD_OK);
	assert_string_equal(text, message);
}

#define OWN_FILE "give each run its own, with %%s in the name, which stands for the name of the run"

/* Two runs may share a file that both add lines to, and -errout. */
FIXTURE_TEST(test_runs)
{
	for (size_t i = 0; i < KINDS; i++) {
		for (size_t k = 0; k < KINDS; k++) {
			const bool shared = strcmp(kinds[i].option, kinds[k].option) == 0;
			struct plan first, second;
			struct target_plan one, two;
			char text[256] = "";

			run_named(&first, &one, "one");
			run_named(&second, &two, "two");
			set_output(&first, &one, i);
			assert_runs(&first, &second, "");
			set_output(&second, &two, k);
			if (!shared || kinds[i].sharing == REPLACED || kinds[k].sharing == REPLACED)
				snprintf(text, sizeof(text),
					 "xdd: -%s " FILE_NAME ": the run \"one\" writes that file "
					 "too; " OWN_FILE "\n",
					 kinds[k].option);
			assert_runs(&first, &second, text);
			if (!shared || kinds[i].sharing != WITH_NAMES)
				continue;
			/* Other columns: of a run, and percentiles of latencies. */
			second.output_format = FORMAT "+IOPS";
			second.latency.percents = (uint32_t[]){ 50 * HISTOGRAM_PERCENT };
			second.latency.n_percents = 1;
			snprintf(text, sizeof(text),
				 "xdd: -%s " FILE_NAME ": one has other columns in this file; give "
				 "each run a file of its own, with %%s in the name, or the same "
				 "columns\n",
				 kinds[k].option);
			assert_runs(&first, &second, text);
		}
	}
}

/* An output of a run is no target and no input of another one, except what is saved for it. */
FIXTURE_TEST(test_runs_files)
{
	static const struct plan_input last = { .option = "-seek load", .path = FILE_NAME };
	static const struct plan_input input = { .option = "-setup", .path = "y", .next = &last };

	for (size_t i = 0; i < KINDS; i++) {
		struct plan first, second;
		struct target_plan one, two;
		char text[256];

		run_named(&first, &one, "one");
		run_named(&second, &two, FILE_NAME);
		set_output(&first, &one, i);
		snprintf(text, sizeof(text), "xdd: -%s " FILE_NAME ": this is target 0\n",
			 kinds[i].option);
		assert_runs(&first, &second, text);
		assert_runs(&second, &first, text);
		two.path = "two";
		assert_runs(&first, &second, "");
		second.inputs = &input;
		snprintf(text, sizeof(text),
			 "xdd: -%s " FILE_NAME ": -seek load reads this file; give the output a "
			 "file of its own\n",
			 kinds[i].option);
		assert_runs(&second, &first, text);
		assert_runs(&first, &second, i == KINDS - 1 ? "" : text);
	}
}

/* Standard streams that are redirected to a file that the run reads. */
FIXTURE_TEST(test_streams_and_inputs)
{
	static const struct plan_input input = { .option = "-setup", .path = FILE_NAME };
	static const char *const names[] = { "output", "error" };
	struct target_plan own;
	struct plan plan;

	run_named(&plan, &own, "data");
	plan.inputs = &input;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		const int saved = redirect_fd(fd, FILE_NAME);
		char text[512], wanted[256];
		enum xdd_status status;

		if (fd == STDOUT_FILENO) {
			snprintf(text, sizeof(text), "%.500s",
				 error_of(report_check, &plan, XDD_BAD_ARGUMENT));
		} else {
			status = report_check(&plan);
			snprintf(text, sizeof(text), "%.500s", get_file(FILE_NAME));
		}
		restore_fd(fd, saved);
		if (fd == STDERR_FILENO)
			assert_int_equal(status, XDD_BAD_ARGUMENT);
		snprintf(wanted, sizeof(wanted),
			 "xdd: standard %s: -setup reads this file; give the output a file of its "
			 "own\n",
			 names[fd - STDOUT_FILENO]);
		assert_string_equal(text, wanted);
	}
}

/* Several runs share standard output for all but documents. */
FIXTURE_TEST(test_runs_streams)
{
	struct plan first, second;
	struct target_plan one, two;

	run_named(&first, &one, "one");
	run_named(&second, &two, "two");
	first.csv_file = "-";
	second.csv_file = "-";
	assert_runs(&first, &second, "");
	first.json_file = "-";
	first.csv_file = NULL;
	assert_runs(&first, &second, "");
	second.csv_file = NULL;
	second.json_file = "/dev/stdout";
	assert_runs(&first, &second,
		    "xdd: -jsonout /dev/stdout: takes the document of one run; choose it with "
		    "-section, or name a file, with %s in the name, which stands for the name of "
		    "the run\n");
	first.json_file = "/dev/stderr";
	assert_runs(&first, &second, "");
	second.csv_file = "-";
	assert_refused(&second, "-csvout -: -jsonout /dev/stdout has standard output to itself");
}

RUN_TESTS(NULL, NULL)
