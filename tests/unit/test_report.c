/*
 * The report: lines and their folding, CSV, appending to files, the information sections, and what
 * report_check() refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/report/line.h"
#include "xdd/report/report.h"

#define MAX_TEXT 65536
#define HEADER "WHAT,OPS,BANDWIDTH\n"
#define FORMAT "+WHAT+OPS+BANDWIDTH"
#define PASS_LINE "TARGET_PASS,10,0.041\n"
#define COMBINED_LINE "COMBINED,10,0.041\n"

/* A folder for each test to run in; what tests leave there is removed by its name. */
static char folder[4096];
static int home = -1;

static int enter_folder(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof(folder), "%s/xdd-report-XXXXXX", tmp ? tmp : "/tmp");
	home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return home < 0 || !mkdtemp(folder) || chdir(folder) < 0 ? -1 : 0;
}

static int leave_folder(void **state)
{
	static const char *const names[] = { "a.csv",	 "b.csv",  "out.txt", "err.txt",
					     "link.csv", "stdout", "stderr",  "data" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	rmdir("sub");
	if (fchdir(home) < 0)
		return -1;
	close(home);
	return rmdir(folder);
}

static void put_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static const char *get_file(const char *name)
{
	static char text[MAX_TEXT];
	FILE *f = fopen(name, "r");
	size_t n;

	if (!f)
		fail_msg("%s: %s", name, strerror(errno));
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void assert_holds(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in:\n%s", part, text);
}

/* Let `fd` be the file `name` until restore_fd(); returns what restore_fd() wants. */
static int redirect_fd(int fd, const char *name)
{
	int saved = dup(fd), to = open(name, O_RDWR | O_CREAT | O_TRUNC | O_NOCTTY, 0600);

	fflush(stdout);
	assert_true(saved >= 0 && to >= 0);
	assert_int_equal(dup2(to, fd), fd);
	close(to);
	return saved;
}

static void restore_fd(int fd, int saved)
{
	assert_int_equal(dup2(saved, fd), fd);
	close(saved);
}

static struct target_plan targets[2] = {
	{ .number = 0,
	  .name = "x",
	  .dir = "/data/",
	  .path = "/data/x",
	  .kind = TARGET_MISSING,
	  .op = OP_READ,
	  .block_size = 1024,
	  .req_blocks = 4,
	  .req_bytes = 4096,
	  .queue_depth = 4,
	  .pass_ops = 1000,
	  .pass_bytes = 4096000,
	  .seek.pattern = SEEK_SEQUENTIAL },
	{ .number = 1,
	  .name = "null",
	  .dir = "",
	  .path = "null",
	  .kind = TARGET_NULL,
	  .op = OP_MIXED,
	  .read_ratio = 75 * (PLAN_RATIO_ONE / 100),
	  .block_size = 512,
	  .req_blocks = 8,
	  .req_bytes = 4096,
	  .queue_depth = 1,
	  .pass_ops = PLAN_UNLIMITED,
	  .pass_bytes = PLAN_UNLIMITED,
	  .time_limit_ns = 2500000000,
	  .start_bytes = 1048576,
	  .range_bytes = 8192,
	  .direct_io = true,
	  .seek = { .pattern = SEEK_INTERLEAVE, .interleave = 2 } },
};

static struct plan sample_plan(void)
{
	return (struct plan){
		.passes = 3, .output_format = FORMAT, .n_targets = 2, .targets = targets
	};
}

static const struct result sample = {
	.what = RESULT_TARGET_PASS,
	.pass = 1,
	.queue = 4,
	.tally = { .ops = { 10 }, .bytes = { 40960 }, .busy_ns = { 1000000000 } },
	.elapsed_ns = 1000000000,
	.processors = 1,
	.op = OP_READ,
	.req_bytes = 4096,
	.block_size = 1024,
};

/* A run with one pass line and its COMBINED line; returns how closing it went. */
static enum xdd_status run_report(const struct plan *plan)
{
	struct result combined = sample;
	struct report *r;
	enum xdd_status status = report_open(plan, &r);

	if (status)
		return status;
	combined.what = RESULT_COMBINED;
	report_header(r);
	report_result(r, &sample);
	report_result(r, &combined);
	report_trailer(r, REPORT_END_NORMAL);
	return report_close(r);
}

/* The message of a call that fails with `want`. */
static const char *error_of(enum xdd_status (*call)(const struct plan *), const struct plan *plan,
			    enum xdd_status want)
{
	int saved = redirect_fd(STDERR_FILENO, "stderr");
	enum xdd_status status = call(plan);
	const char *text;

	restore_fd(STDERR_FILENO, saved);
	text = get_file("stderr");
	if (status != want)
		fail_msg("status %d, not %d: %s", status, want, text);
	if (want) {
		assert_non_null(strchr(text, '\n'));
		assert_string_equal(strchr(text, '\n'), "\n");
	} else {
		assert_string_equal(text, "");
	}
	return text;
}

#define assert_refused(plan, message) \
	assert_string_equal(error_of(report_check, plan, XDD_BAD_ARGUMENT), "xdd: " message "\n")
#define assert_accepted(plan) error_of(report_check, plan, XDD_OK)

static void set_cells(struct line_cell *cells, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		line_cell_set(&cells[i], texts[i]);
}

static void test_fold(void **state)
{
	static const char *const texts[] = { "aaaa", "bbb", "cc", "d" };
	struct line_cell cells[4];
	char buf[2048];

	(void)state;
	assert_true(line_size(4) <= sizeof(buf));
	set_cells(cells, texts, 4);
	assert_int_equal(line_join(buf, cells, 4, 0), 14);
	assert_string_equal(buf, "aaaa bbb cc d\n");
	line_join(buf, cells, 4, 13);
	assert_string_equal(buf, "aaaa bbb cc d\n");
	line_join(buf, cells, 4, 12);
	assert_string_equal(buf, "aaaa bbb cc\n    d\n");
	line_join(buf, cells, 4, 8);
	assert_string_equal(buf, "aaaa bbb\n    cc d\n");
	line_join(buf, cells, 4, 7);
	assert_string_equal(buf, "aaaa\n    bbb\n    cc\n    d\n");
	line_join(buf, cells, 4, 1);
	assert_string_equal(buf, "aaaa\n    bbb\n    cc\n    d\n");
	assert_int_equal(line_join(buf, cells, 0, 80), 1);
	assert_string_equal(buf, "\n");
}

/* The default columns take two lines on a terminal of 80 columns, broken at the same place. */
static void test_fold_defaults(void **state)
{
	struct column_list list;
	struct line_cell cells[16];
	char buf[8192];
	const char *bad;
	size_t len;

	(void)state;
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
		" TARGET_PASS          1       0       4            40960          10       1.000\n"
		"         0.041     10.000   100.000     0.000     read         4096\n");
	column_list_free(&list);
}

static void test_csv_quoting(void **state)
{
	static const char *const texts[] = { "plain",	   "",	   "a,b",     "say \"hi\"",
					     "two\nlines", "cr\r", " blanks " };
	struct line_cell cells[7];
	char buf[2048];
	size_t len;

	(void)state;
	assert_true(line_size(7) <= sizeof(buf));
	set_cells(cells, texts, 7);
	len = line_csv(buf, cells, 7);
	assert_string_equal(buf,
			    "plain,,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\"cr\r\", blanks \n");
	assert_int_equal(len, strlen(buf));
}

/* The longest cells there can be, all quotes, fit into what line_size() asks for. */
static void test_line_size(void **state)
{
	struct line_cell cells[3];
	char quotes[2 * LINE_CELL_SIZE];
	char *buf = malloc(line_size(3));

	(void)state;
	memset(quotes, '"', sizeof(quotes) - 1);
	quotes[sizeof(quotes) - 1] = '\0';
	for (size_t i = 0; i < 3; i++)
		line_cell_set(&cells[i], quotes);
	assert_true(line_csv(buf, cells, 3) < line_size(3));
	assert_true(line_join(buf, cells, 3, 1) < line_size(3));
	free(buf);
}

static void test_csv_file(void **state)
{
	struct plan plan = sample_plan();

	(void)state;
	plan.output_file = "/dev/null";
	plan.csv_file = "a.csv";
	plan.combined_file = "b.csv";
	assert_accepted(&plan);
	assert_int_equal(access("a.csv", F_OK), -1);
	assert_int_equal(run_report(&plan), XDD_OK);
	assert_string_equal(get_file("a.csv"), HEADER PASS_LINE COMBINED_LINE);
	assert_string_equal(get_file("b.csv"), HEADER COMBINED_LINE);
}

static void test_csv_appends(void **state)
{
	struct plan plan = sample_plan();

	(void)state;
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
static void test_csv_ends_last_line(void **state)
{
	struct plan plan = sample_plan();

	(void)state;
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

static void test_csv_other_header(void **state)
{
	static const char *const starts[] = { "WHAT,OPS\n", "WHAT,OPS,BANDWIDTH,IOPS\n", "WHAT,O",
					      "\n", "WHAT,OPS,BANDWIDTH\r\n" };
	struct plan plan = sample_plan();

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		plan = sample_plan();
		plan.csv_file = "a.csv";
		put_file("a.csv", starts[i]);
		assert_refused(&plan,
			       "-csvout a.csv: its first line does not name the columns of this "
			       "run; use another file, or the same -outputformat");
		assert_string_equal(get_file("a.csv"), starts[i]);
	}
	plan = sample_plan();
	plan.combined_file = "a.csv";
	assert_holds(error_of(report_check, &plan, XDD_BAD_ARGUMENT), "-combinedout a.csv: its");
	assert_holds(error_of(run_report, &plan, XDD_BAD_ARGUMENT), "-combinedout a.csv: its");
}

/* The header has the words of the user; delimiters are for people. */
static void test_csv_names(void **state)
{
	struct plan plan = sample_plan();

	(void)state;
	plan.output_format = "+BYTESTRANSFERED+DELIM+DELIM+USRTIME+OPTYPE+DELIM";
	plan.output_file = "out.txt";
	plan.csv_file = "a.csv";
	assert_int_equal(run_report(&plan), XDD_OK);
	assert_string_equal(get_file("a.csv"), "BYTESTRANSFERED,USRTIME,OPTYPE\n"
					       "40960,0.000,read\n40960,0.000,read\n");
	assert_holds(get_file("out.txt"), "\n           40960         0.000     read  \n");
}

static void test_text_file(void **state)
{
	struct plan plan = sample_plan();
	const char *text;

	(void)state;
	plan.output_file = "out.txt";
	assert_accepted(&plan);
	assert_int_equal(run_report(&plan), XDD_OK);
	text = get_file("out.txt");
	assert_memory_equal(text, "IOIOIOIOIOIOIOIOIOIOI XDD version ", 34);
	assert_holds(text, "\nWhat                    Ops  Bandwidth\n"
			   "    UNITS>>            #ops   MBytes/s\n"
			   " TARGET_PASS             10      0.041\n"
			   " COMBINED                10      0.041\n"
			   "Ending time for this run, ");
	assert_holds(text, "\n This run terminated normally\n");
	assert_lacks(text, "\r");
}

/* Each line is in its file when the call returns. */
static void test_lines_arrive_at_once(void **state)
{
	struct plan plan = sample_plan();
	struct report *r;

	(void)state;
	plan.output_file = "out.txt";
	plan.csv_file = "a.csv";
	assert_int_equal(report_open(&plan, &r), XDD_OK);
	assert_string_equal(get_file("a.csv"), HEADER);
	report_result(r, &sample);
	assert_string_equal(get_file("a.csv"), HEADER PASS_LINE);
	assert_holds(get_file("out.txt"), " TARGET_PASS             10      0.041\n");
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

static const char *output_of(const struct plan *plan)
{
	int saved = redirect_fd(STDOUT_FILENO, "stdout");
	enum xdd_status status = run_report(plan);

	restore_fd(STDOUT_FILENO, saved);
	assert_int_equal(status, XDD_OK);
	return get_file("stdout");
}

static void test_short_info(void **state)
{
	struct plan plan = sample_plan();
	const char *text, *id;

	(void)state;
	text = output_of(&plan);
	assert_memory_equal(text, "Starting time for this run, ", 28);
	id = strchr(text, '\n');
	assert_non_null(id);
	assert_memory_equal(id,
			    "\nID for this run, 'No ID Specified'\n\n"
			    "Target[0] Q[4], /data/x, read, 1000 ops of 4096 bytes\n"
			    "Target[1] Q[1], null, mixed, ops of 4096 bytes for 2.5 s\n\n"
			    "What           ",
			    160);
	plan.id = "my run";
	assert_holds(output_of(&plan), "\nID for this run, 'my run'\n");
}

static void test_run_section(void **state)
{
	struct plan plan = sample_plan();
	const char *text;

	(void)state;
	plan.verbose = true;
	plan.pass_delay_ns = 1500000000;
	plan.csv_file = "a.csv";
	text = output_of(&plan);
	assert_holds(text, "\nMaximum Process Priority, disabled\n"
			   "Passes, 3\n"
			   "Pass Delay in seconds, 1.500000\n"
			   "Maximum Error Threshold, 0\n"
			   "Target Offset, 0\n"
			   "I/O Synchronization, 0\n"
			   "Total run-time limit in seconds, 0.000000\n"
			   "Output file name, stdout\n"
			   "CSV output file name, a.csv\n"
			   "Error output file name, stderr\n"
			   "Pass synchronization barriers, enabled\n"
			   "Number of Targets, 2\n"
			   "Number of I/O Threads, 5\n"
			   "\n"
			   "Computer Name, ");
	assert_holds(text, "\nSeconds before starting, 0\n\tTarget number, 0\n");
	plan.really_verbose = true;
	plan.combined_file = "b.csv";
	plan.csv_file = NULL;
	text = output_of(&plan);
	assert_holds(text, "\nSize of TARGET_DATA is ");
	assert_holds(text, "\nSize of RESULTS is ");
	assert_holds(text, "\nCSV output file name, \n");
	assert_holds(text, "\nCombined output file name, b.csv\nPass synch");
}

static void test_target_section(void **state)
{
	struct plan plan = sample_plan();
	const char *text;

	(void)state;
	plan.verbose = true;
	text = output_of(&plan);
	assert_holds(text, "\tTarget number, 0\n"
			   "\t\tFully qualified target pathname, '/data/x'\n"
			   "\t\tTarget directory, /data/\n"
			   "\t\tProcess ID, ");
	assert_holds(text, "\t\tProcessor, all/any\n"
			   "\t\tRead/write ratio, 100.00 READ,  0.00 WRITE\n"
			   "\t\tNetwork Operation Ordering is,none\n"
			   "\t\tStorage Operation Ordering is,none\n"
			   "\t\tThrottle is unrestricted\n"
			   "\t\tPer-pass time limit in seconds, 0.000000\n"
			   "\t\tPass seek randomization, disabled\n"
			   "\t\tFile write synchronization, disabled\n"
			   "\t\tBlocksize in bytes, 1024\n"
			   "\t\tRequest size, 4, 1024-byte blocks, 4096, bytes\n"
			   "\t\tNumber of Operations, 1000\n"
			   "\t\tTotal data transfer for this TARGET, \n"
			   "\t\t\t4000, 1024-byte Blocks\n"
			   "\t\t\t        4096000,     Bytes\n"
			   "\t\t\t           4000.000, KBytes\n"
			   "\t\t\t              3.906, MBytes\n"
			   "\t\t\t              0.004, GBytes\n"
			   "\t\t\t              0.000, TBytes\n"
			   "\t\tStart offset,  0\n"
			   "\t\tPass offset,  0\n"
			   "\t\tSeek pattern, sequential\n"
			   "\t\tFlushwrite interval, 0\n"
			   "\t\tI/O memory buffer is a normal memory buffer\n");
	assert_holds(text, "\t\tTarget directory, \"./\"\n");
	assert_holds(text, "\t\tRead/write ratio, 75.00 READ, 25.00 WRITE\n");
	assert_holds(text, "\t\tPer-pass time limit in seconds, 2.500000\n");
	assert_holds(text, "\t\tNumber of Operations, unlimited\n"
			   "\t\tTotal data transfer for this TARGET, unlimited\n"
			   "\t\tStart offset, \n\t\t\t2048, 512-byte Blocks\n");
	assert_holds(text, "\t\tSeek Range, \n\t\t\t16, 512-byte Blocks\n");
	assert_holds(text, "\t\tSeek pattern, interleaved\n"
			   "\t\tSeek Stride, 16, 512-byte blocks, 8192, bytes\n");
	assert_holds(text, "\t\tData pattern in buffer,0x00\n"
			   "\t\tData buffer verification is disabled.\n"
			   "\t\tDirect I/O, enabled\n"
			   "\t\tPreallocation, 0\n"
			   "\t\tPretruncation, 0\n"
			   "\t\tQueue Depth, 1\n"
			   "\t\tTimestamping, disabled\n"
			   "\t\tHeartbeat Disabled\n"
			   "\t\tDelete file, disabled\n"
			   "\n"
			   "What  ");
}

/* CSV to /dev/stdout stands among the text, wherever standard output is. */
static void test_csv_to_stdout(void **state)
{
	struct plan plan = sample_plan();
	const char *text;

	(void)state;
	plan.csv_file = "/dev/stdout";
	plan.combined_file = "/dev/stdout";
	assert_accepted(&plan);
	text = output_of(&plan);
	assert_memory_equal(text, HEADER HEADER "Starting", 46);
	assert_holds(text, " 0.041\n" PASS_LINE " COMBINED");
}

/* A terminal `columns` wide; returns its master side, with standard output on the other. */
static int open_terminal(unsigned short columns, int *saved)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct winsize size = { .ws_row = 24, .ws_col = columns };
	const char *name;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		skip();
	name = ptsname(master);
	assert_non_null(name);
	assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
	*saved = redirect_fd(STDOUT_FILENO, name);
	return master;
}

static void run_on_terminal(unsigned short columns, const char *env, char *text, size_t size)
{
	struct plan plan = sample_plan();
	struct report *r;
	size_t done = 0;
	int saved, master = open_terminal(columns, &saved);

	if (env)
		setenv("COLUMNS", env, 1);
	else
		unsetenv("COLUMNS");
	plan.output_format = NULL;
	assert_int_equal(report_open(&plan, &r), XDD_OK);
	report_header(r);
	report_result(r, &sample);
	report_line(r, "END");
	report_close(r);
	do {
		ssize_t n = read(master, text + done, size - 1 - done);

		if (n <= 0)
			break;
		done += (size_t)n;
		text[done] = '\0';
	} while (!strstr(text, "END"));
	restore_fd(STDOUT_FILENO, saved);
	close(master);
}

static void test_folds_on_terminal(void **state)
{
	char text[8192];

	(void)state;
	run_on_terminal(80, NULL, text, sizeof(text));
	assert_holds(text, " Elapsed\r\n     Bandwidth");
	assert_holds(text, "seconds\r\n      MBytes/s");
	assert_holds(text, "1.000\r\n         0.041");
	run_on_terminal(144, NULL, text, sizeof(text));
	assert_holds(text, " Elapsed  Bandwidth");
	run_on_terminal(0, "100", text, sizeof(text));
	assert_holds(text, " Elapsed  Bandwidth\r\n          IOPS");
	run_on_terminal(0, "wide", text, sizeof(text));
	assert_holds(text, " Op_Type    Xfer_Size\r\n");
	run_on_terminal(0, NULL, text, sizeof(text));
	assert_holds(text, " Op_Type    Xfer_Size\r\n");
}

static void test_pipes_do_not_fold(void **state)
{
	struct plan plan = sample_plan();

	(void)state;
	setenv("COLUMNS", "40", 1);
	plan.output_format = NULL;
	assert_holds(output_of(&plan), " Op_Type    Xfer_Size\n");
	unsetenv("COLUMNS");
}

static void test_bad_format(void **state)
{
	struct plan plan = sample_plan();

	(void)state;
	plan.output_format = "+WHAT+LATENCYY+OPS";
	assert_refused(&plan, "-outputformat LATENCYY: no such column identifier; did you mean "
			      "+LATENCY? (xdd -help outputformat lists them)");
	plan.output_format = "+WHAT+QQQQQQQQ";
	assert_refused(&plan, "-outputformat QQQQQQQQ: no such column identifier (xdd -help "
			      "outputformat lists them)");
	plan.output_format = "WHAT+OPS";
	assert_holds(error_of(report_check, &plan, XDD_BAD_ARGUMENT), "each with a plus sign");
	plan.output_format = "+WHAT++OPS";
	assert_holds(error_of(report_check, &plan, XDD_BAD_ARGUMENT), "each with a plus sign");
	assert_holds(error_of(run_report, &plan, XDD_BAD_ARGUMENT), "each with a plus sign");
	plan.output_format = NULL;
	assert_accepted(&plan);
}

static void test_bad_paths(void **state)
{
	struct plan plan = sample_plan();

	(void)state;
	assert_int_equal(mkdir("sub", 0700), 0);
	put_file("data", "");
	plan.csv_file = "nowhere/a.csv";
	assert_refused(&plan, "-csvout nowhere/a.csv: there is no folder nowhere");
	plan.csv_file = "sub";
	assert_refused(&plan, "-csvout sub: Is a directory");
	plan.csv_file = "data/a.csv";
	assert_refused(&plan, "-csvout data/a.csv: Not a directory");
	plan.csv_file = NULL;
	plan.output_file = "nowhere/out.txt";
	assert_refused(&plan, "-output nowhere/out.txt: there is no folder nowhere");
	assert_holds(error_of(run_report, &plan, XDD_BAD_ARGUMENT), "-output nowhere/out.txt: ");
	plan.output_file = NULL;
	plan.combined_file = "/nowhere/b.csv";
	assert_refused(&plan, "-combinedout /nowhere/b.csv: there is no folder /nowhere");
	plan.combined_file = NULL;
	plan.errout_file = "sub/";
	assert_refused(&plan, "-errout sub/: Is a directory");
	plan.errout_file = NULL;
	plan.csv_file = "sub/a.csv";
	assert_accepted(&plan);
}

static void test_not_writable(void **state)
{
	struct plan plan = sample_plan();

	(void)state;
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
	assert_refused(&plan, "-csvout sub/a.csv: nothing can be created in the folder sub: "
			      "Permission denied");
}

static void test_same_file(void **state)
{
	struct plan plan = sample_plan();

	(void)state;
	plan.output_file = "out.txt";
	plan.csv_file = "./out.txt";
	assert_refused(&plan,
		       "-csvout ./out.txt: this is the file of -output too; each output wants "
		       "its own");
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

static void test_same_as_stdout(void **state)
{
	struct plan plan = sample_plan();
	int saved = redirect_fd(STDOUT_FILENO, "a.csv");
	char text[512];

	(void)state;
	plan.csv_file = "a.csv";
	snprintf(text, sizeof(text), "%s", error_of(report_check, &plan, XDD_BAD_ARGUMENT));
	restore_fd(STDOUT_FILENO, saved);
	assert_holds(text, "-csvout a.csv: this is the file of standard output too");
	assert_accepted(&plan);
}

static void test_same_as_target(void **state)
{
	struct target_plan target = targets[0];
	struct plan plan = sample_plan();

	(void)state;
	target.path = "./data";
	plan.targets = &target;
	plan.n_targets = 1;
	plan.csv_file = "data";
	assert_refused(&plan, "-csvout data: this is target 0");
	put_file("data", "not CSV\n");
	assert_refused(&plan, "-csvout data: this is target 0");
	assert_int_equal(unlink("data"), 0);
	target.kind = TARGET_NULL;
	assert_accepted(&plan);
}

static void test_full_disk(void **state)
{
	struct plan plan = sample_plan();

	(void)state;
	if (access("/dev/full", W_OK) < 0)
		skip();
	plan.output_file = "out.txt";
	plan.csv_file = "/dev/full";
	assert_string_equal(error_of(run_report, &plan, XDD_IO_ERROR),
			    "xdd: -csvout /dev/full: No space left on device; results are missing "
			    "there\n");
	assert_holds(get_file("out.txt"), " COMBINED ");
	plan.output_file = "/dev/full";
	assert_holds(error_of(run_report, &plan, XDD_IO_ERROR), "-output /dev/full: No space");
}

static void test_closed_pipe(void **state)
{
	struct plan plan = sample_plan();
	int ends[2], saved = dup(STDOUT_FILENO);
	char text[512];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	close(ends[0]);
	close(ends[1]);
	snprintf(text, sizeof(text), "%s", error_of(run_report, &plan, XDD_IO_ERROR));
	restore_fd(STDOUT_FILENO, saved);
	assert_string_equal(text, "xdd: standard output: Broken pipe; results are missing there\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_fold_defaults),
		cmocka_unit_test(test_csv_quoting),
		cmocka_unit_test(test_line_size),
		TEST(test_csv_file),
		TEST(test_csv_appends),
		TEST(test_csv_ends_last_line),
		TEST(test_csv_other_header),
		TEST(test_csv_names),
		TEST(test_text_file),
		TEST(test_lines_arrive_at_once),
		TEST(test_short_info),
		TEST(test_run_section),
		TEST(test_target_section),
		TEST(test_csv_to_stdout),
		TEST(test_folds_on_terminal),
		TEST(test_pipes_do_not_fold),
		TEST(test_bad_format),
		TEST(test_bad_paths),
		TEST(test_not_writable),
		TEST(test_same_file),
		TEST(test_same_as_stdout),
		TEST(test_same_as_target),
		TEST(test_full_disk),
		TEST(test_closed_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
