/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report: its table, CSV, and appending to files. test_report_output.c has the information
 * sections and outputs that fail.
 */
#include "unit.h"

#include "report/latency.h"
#include "report/screen.h"
#include "report_fixture.h"
#include "xdd/base/memory.h"

/* The default columns take two lines on a terminal of 80 columns, broken after the same column. */
TEST(test_fold_defaults)
{
	struct column_list list;
	struct line_cell cells[16];
	char buf[8192];
	const char *bad;
	size_t len;

	assert_int_equal(column_list_parse(&list, COLUMN_DEFAULTS, &bad, &len), 0);
	assert_true(line_size(list.n) <= sizeof(buf));
	for (size_t i = 0; i < list.n; i++)
		line_cell_set(&cells[i], list.columns[i]->heading);
	line_join(buf, cells, list.n, 80);
	assert_string_equal(
		buf,
		"What               Pass  Target   Queue     Bytes_Xfered         Ops     Elapsed\n"
		"     Bandwidth       IOPS   Latency   Pct_CPU  Op_Type    Xfer_Size\n");
	for (size_t i = 0; i < list.n; i++)
		line_cell_padded(&cells[i], list.columns[i], &sample);
	line_join(buf, cells, list.n, 80);
	assert_string_equal(
		buf,
		" QUEUE_PASS           1       0       4            40960          10       1.000\n"
		"         0.041     10.000   100.000     0.000     read         4096\n");
	column_list_free(&list);
}

FIXTURE_TEST(test_csv_file)
{
	struct plan plan = sample_plan();

	plan.output_file = "/dev/null";
	plan.csv_file = "a.csv";
	plan.combined_file = "b.csv";
	assert_accepted(&plan);
	assert_int_equal(access("a.csv", F_OK), -1);
	assert_int_equal(run_report(&plan), XDD_OK);
	assert_string_equal(get_file("a.csv"), HEADER PASS_LINE COMBINED_LINE);
	assert_string_equal(get_file("b.csv"), HEADER COMBINED_LINE);
}

FIXTURE_TEST(test_csv_appends)
{
	struct plan plan = sample_plan();

	plan.output_file = "/dev/null";
	plan.csv_file = "a.csv";
	plan.combined_file = "b.csv";
	put_file("b.csv", "");
	for (int i = 0; i < 2; i++) {
		assert_accepted(&plan);
		assert_int_equal(run_report(&plan), XDD_OK);
	}
	assert_string_equal(get_file("a.csv"),
			    HEADER PASS_LINE COMBINED_LINE PASS_LINE COMBINED_LINE);
	assert_string_equal(get_file("b.csv"), HEADER COMBINED_LINE COMBINED_LINE);
}

/* A run that was killed may have left a line without its end. */
FIXTURE_TEST(test_csv_ends_last_line)
{
	struct plan plan = sample_plan();

	plan.output_file = "out.txt";
	plan.csv_file = "a.csv";
	plan.combined_file = "b.csv";
	put_file("out.txt", "mine");
	put_file("a.csv", HEADER "TARGET_PASS,1");
	put_file("b.csv", "WHAT,OPS,BANDWIDTH");
	assert_accepted(&plan);
	assert_int_equal(run_report(&plan), XDD_OK);
	assert_string_equal(get_file("a.csv"), HEADER "TARGET_PASS,1\n" PASS_LINE COMBINED_LINE);
	assert_string_equal(get_file("b.csv"), HEADER COMBINED_LINE);
	assert_memory_equal(get_file("out.txt"), "mine\nIOIO", 9);
}

FIXTURE_TEST(test_csv_other_header)
{
	static const char *const starts[] = { "WHAT,OPS\n", "WHAT,OPS,BANDWIDTH,IOPS\n", "WHAT,O",
					      "\n", "WHAT,OPS,BANDWIDTH\r\n" };
	struct plan plan = sample_plan();

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		plan = sample_plan();
		plan.csv_file = "a.csv";
		put_file("a.csv", starts[i]);
		assert_refused(&plan,
			       "-csvout a.csv: its first line does not name the columns of this "
			       "run; use another file, or name its columns with -outputformat new");
		assert_string_equal(get_file("a.csv"), starts[i]);
	}
	plan = sample_plan();
	plan.combined_file = "a.csv";
	assert_holds(error_of(report_check, &plan, XDD_BAD_ARGUMENT), "-combinedout a.csv: its");
	assert_holds(error_of(run_report, &plan, XDD_BAD_ARGUMENT), "-combinedout a.csv: its");
}

/* The header has the words of the user; delimiters are for people. */
FIXTURE_TEST(test_csv_names)
{
	struct plan plan = sample_plan();

	plan.output_format = "+BYTESTRANSFERED+DELIM+DELIM+USRTIME+OPTYPE+DELIM";
	plan.output_file = "out.txt";
	plan.csv_file = "a.csv";
	assert_int_equal(run_report(&plan), XDD_OK);
	assert_string_equal(get_file("a.csv"), "BYTESTRANSFERED,USRTIME,OPTYPE\n"
					       "40960,0.000,read\n40960,0.000,read\n");
	assert_holds(get_file("out.txt"), "\n           40960         0.000     read  \n");
}

FIXTURE_TEST(test_text_file)
{
	struct plan plan = sample_plan();
	const char *text;

	plan.output_file = "out.txt";
	assert_accepted(&plan);
	assert_int_equal(run_report(&plan), XDD_OK);
	text = get_file("out.txt");
	assert_memory_equal(text, "IOIOIOIOIOIOIOIOIOIOI XDD version ", 34);
	assert_holds(text, "\nWhat                    Ops  Bandwidth\n"
			   "    UNITS>>            #ops   MBytes/s\n"
			   " QUEUE_PASS              10      0.041\n"
			   " COMBINED                10      0.041\n"
			   "Ending time for this run, ");
	assert_holds(text, "\n This run terminated normally\n");
	assert_lacks(text, "\r");
}

/* Each line is in its file when the call returns. */
FIXTURE_TEST(test_lines_arrive_at_once)
{
	struct plan plan = sample_plan();
	struct report *r;

	plan.output_file = "out.txt";
	plan.csv_file = "a.csv";
	assert_int_equal(report_open(&plan, &r), XDD_OK);
	assert_string_equal(get_file("a.csv"), HEADER);
	report_result(r, &sample);
	assert_string_equal(get_file("a.csv"), HEADER PASS_LINE);
	assert_holds(get_file("out.txt"), " QUEUE_PASS              10      0.041\n");
	report_line(r, "%s %d", "a note", 7);
	assert_holds(get_file("out.txt"), "\na note 7\n");
	assert_string_equal(get_file("a.csv"), HEADER PASS_LINE);
	report_trailer(r, REPORT_END_CANCELED);
	assert_holds(get_file("out.txt"), "\n This run was canceled\n");
	report_trailer(r, REPORT_END_ERRORS);
	assert_holds(get_file("out.txt"), "\n This run terminated with errors\n");
	assert_int_equal(report_close(r), XDD_OK);
	assert_int_equal(report_close(NULL), XDD_OK);
}

/* A finding with any sentence. A rule without an advice has nothing after it. */
static void put(struct report *r, enum rule_id rule, int64_t target, const char *says)
{
	char name[16];

	snprintf(name, sizeof(name), "d%d", (int)target);
	report_finding(r, (struct finding_about){ target, target < 0 ? NULL : name, false }, rule,
		       "%s", says);
}

static void add_findings(struct report *r)
{
	report_finding(r, (struct finding_about){ 1, "x", true }, RULE_CACHED, "%s", "cached");
	report_finding(r, finding_of_run(NULL, false), RULE_CACHED, "in memory");
	report_finding(r, finding_of_run("2 targets", false), RULE_MERGED, "merged");
}

#define ADDED                                                                         \
	"xdd: warning: target 1, x: cached; add -dropcache to read from the device\n" \
	"xdd: warning: in memory; add -dio and -dropcache to read from the device\n"  \
	"xdd: warning: 2 targets: merged\n"

/* A finding is kept with what it is about; where the table is written it is a warning as well. */
FIXTURE_TEST(test_findings)
{
	struct plan plan = sample_plan();
	const struct finding *found;
	struct report *r;
	size_t n;
	int saved;

	plan.output_file = "out.txt";
	assert_int_equal(report_open(&plan, &r), XDD_OK);
	report_findings(r, &n);
	assert_int_equal(n, 0);
	saved = redirect_fd(STDERR_FILENO, "stderr");
	add_findings(r);
	add_findings(NULL);
	restore_fd(STDERR_FILENO, saved);
	assert_string_equal(get_file("stderr"), ADDED ADDED);
	found = report_findings(r, &n);
	assert_int_equal(n, 3);
	assert_int_equal(found[0].rule, RULE_CACHED);
	assert_int_equal(found[0].target, 1);
	assert_string_equal(found[0].text,
			    "target 1, x: cached; add -dropcache to read from the device");
	assert_string_equal(found[0].text + found[0].sentence,
			    "cached; add -dropcache to read from the device");
	assert_string_equal(found[0].text + found[0].advice,
			    "; add -dropcache to read from the device");
	assert_string_equal(finding_advice(&found[1]),
			    "add -dio and -dropcache to read from the device");
	assert_int_equal(found[2].rule, RULE_MERGED);
	assert_int_equal(found[2].target, FINDING_RUN);
	assert_null(finding_advice(&found[2]));
	assert_int_equal(report_close(r), XDD_OK);
}

/* Returns the messages of a run that holds findings back and then releases them. */
static const char *held_back(struct plan *plan, void (*add)(struct report *r))
{
	struct report *r;
	int saved;

	assert_int_equal(report_open(plan, &r), XDD_OK);
	saved = redirect_fd(STDERR_FILENO, "stderr");
	put(r, RULE_STAYED, 0, "before");
	report_findings_hold(r);
	add(r);
	assert_string_equal(get_file("stderr"), "xdd: warning: target 0, d0: before\n");
	report_findings_release(r);
	put(r, RULE_STAYED, 0, "after");
	restore_fd(STDERR_FILENO, saved);
	assert_int_equal(report_close(r), XDD_OK);
	return get_file("stderr");
}

static void add_three(struct report *r)
{
	for (int i = 0; i < 3; i++)
		put(r, RULE_STAYED, i, "cached");
}

/* Other findings are in between: of another rule, with another sentence, or of the run. */
static void add_groups(struct report *r)
{
	put(r, RULE_STAYED, 9, "cached");
	put(r, RULE_STAYED, 1, "cached");
	put(r, RULE_MERGED, 2, "cached");
	put(r, RULE_STAYED, 2, "cached");
	put(r, RULE_STAYED, 3, "other");
	put(r, RULE_STAYED, FINDING_RUN, "cached");
	put(r, RULE_STAYED, 5, "cached");
	put(r, RULE_STAYED, 3, "cached");
}

#define HELD_BACK(text) \
	"xdd: warning: target 0, d0: before\n" text "xdd: warning: target 0, d0: after\n"

/* One message is of four targets or more with the same finding, where the first of them was. */
FIXTURE_TEST(test_findings_held)
{
	struct target_plan many[10];
	struct plan plan = sample_plan();
	char paths[10][8];

	for (unsigned i = 0; i < 10; i++) {
		snprintf(paths[i], sizeof(paths[i]), "d%u", i);
		many[i] = targets[0];
		many[i].number = i;
		many[i].path = paths[i];
	}
	plan.n_targets = 10;
	plan.targets = many;
	plan.output_file = "out.txt";
	assert_string_equal(held_back(&plan, add_three),
			    HELD_BACK("xdd: warning: target 0, d0: cached\n"
				      "xdd: warning: target 1, d1: cached\n"
				      "xdd: warning: target 2, d2: cached\n"));
	assert_string_equal(held_back(&plan, add_groups),
			    HELD_BACK("xdd: warning: targets 9, 1 to 2, 5, 3: cached\n"
				      "xdd: warning: target 2, d2: cached\n"
				      "xdd: warning: target 3, d3: other\n"
				      "xdd: warning: cached\n"));
}

/* Each column of the table of latencies has a name and a unit. */
TEST(test_latency_header)
{
	static const char *const wanted[] = {
		"Latency             Pass  Target Op    Time              Ops"
		"           Min          Mean        StdDev          WAvg           P50         P99.9"
		"           Max\n"
		"    UNITS>>       Number  Number text  text             #ops"
		"      millisec      millisec      millisec      millisec      millisec      millisec"
		"      millisec\n",
		"Latency             Pass  Target Op    Time              Ops"
		"        Start          End"
		"           Min          Mean        StdDev          WAvg           P50         P99.9"
		"           Max\n"
		"    UNITS>>       Number  Number text  text             #ops"
		"      seconds      seconds"
		"      millisec      millisec      millisec      millisec      millisec      millisec"
		"      millisec\n",
	};
	uint32_t percents[] = { 50 * HISTOGRAM_PERCENT, 99 * HISTOGRAM_PERCENT + 900000 };
	struct plan plan = sample_plan();

	plan.latency.percents = percents;
	plan.latency.n_percents = 2;
	for (int intervals = 0; intervals < 2; intervals++) {
		struct memstream m;

		memstream_open(&m);
		assert_non_null(m.f);
		latency_table_header(m.f, &plan, intervals);
		assert_int_equal(memstream_close(&m), 0);
		assert_string_equal(m.text, wanted[intervals]);
		free(m.text);
	}
}

RUN_TESTS(NULL, NULL)
