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

RUN_TESTS(NULL, NULL)
