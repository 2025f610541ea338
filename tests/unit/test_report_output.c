/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report: the information sections, terminals and pipes, and outputs that fail.
 */
#include "unit.h"

#include <signal.h>
#include <sys/ioctl.h>

#include "report_fixture.h"

static const char *output_of(const struct plan *plan)
{
	int saved = redirect_fd(STDOUT_FILENO, "stdout");
	enum xdd_status status = run_report(plan);

	restore_fd(STDOUT_FILENO, saved);
	assert_int_equal(status, XDD_OK);
	return get_file("stdout");
}

FIXTURE_TEST(test_short_info)
{
	struct plan plan = sample_plan();
	const char *text, *id;

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

FIXTURE_TEST(test_run_section)
{
	struct plan plan = sample_plan();
	const char *text;

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
	assert_holds(text, "\nSeconds before starting, 0\nEnvironment, host name, ");
	assert_holds(text, "\nEnvironment, target 0 path, /data/x\n");
	assert_holds(text, "\nEnvironment, target 1 path, null\n\tTarget number, 0\n");
	plan.really_verbose = true;
	plan.combined_file = "b.csv";
	plan.csv_file = NULL;
	text = output_of(&plan);
	assert_holds(text, "\nSize of TARGET_DATA is ");
	assert_holds(text, "\nSize of RESULTS is ");
	assert_holds(text, "\nCSV output file name, \n");
	assert_holds(text, "\nCombined output file name, b.csv\nPass synch");
}

FIXTURE_TEST(test_target_section)
{
	struct endtoend_address addresses[] = { { "there", 4000, 3 }, { "fd00::1", 5000, 1 } };
	struct target_plan copies[2] = { targets[0], targets[1] };
	struct plan plan = sample_plan();
	const char *text;

	copies[0].endtoend = (struct endtoend_options){ .role = E2E_SOURCE,
							.addresses = addresses,
							.n_addresses = 2 };
	plan.targets = copies;
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
			   "\t\t\t           4000.000, KBytes (KiB)\n"
			   "\t\t\t              3.906, MBytes (MiB)\n"
			   "\t\t\t              0.004, GBytes (GiB)\n"
			   "\t\t\t              0.000, TBytes (TiB)\n"
			   "\t\tStart offset,  0\n"
			   "\t\tPass offset,  0\n"
			   "\t\tSeek pattern, sequential\n"
			   "\t\tFlushwrite interval, 0\n"
			   "\t\tI/O memory buffer is a normal memory buffer\n");
	assert_holds(text, "\t\tEnd-to-End ACTIVE: this target is the SOURCE side\n"
			   "\t\tEnd-to-End Destination Address 1 of 2 'there' base port 4000 "
			   "for 3 ports [ports 4000 - 4002]\n"
			   "\t\tEnd-to-End Destination Address 2 of 2 'fd00::1' base port 5000 "
			   "for 1 ports [ports 5000 - 5000]\n");
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
FIXTURE_TEST(test_csv_to_stdout)
{
	struct plan plan = sample_plan();
	const char *text;

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

#define LONG_LINE "This line does not fit on a terminal that has sixty columns only"

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
	plan.id = LONG_LINE;
	assert_int_equal(report_open(&plan, &r), XDD_OK);
	report_result(r, &sample);
	report_line(r, LONG_LINE);
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

FIXTURE_TEST(test_folds_on_terminal)
{
	char text[8192];

	run_on_terminal(60, NULL, text, sizeof(text));
	assert_holds(text, "\nID for this run, 'This line does not fit on a terminal that\r\n"
			   "  has sixty columns only'\r\n");
	assert_holds(text, "\nThis line does not fit on a terminal that has sixty columns\r\n"
			   "  only\r\nEND\r\n");
	run_on_terminal(80, NULL, text, sizeof(text));
	assert_holds(text, "\n" LONG_LINE "\r\nEND");
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

FIXTURE_TEST(test_pipes_do_not_fold)
{
	struct plan plan = sample_plan();

	setenv("COLUMNS", "40", 1);
	plan.output_format = NULL;
	assert_holds(output_of(&plan), " Op_Type    Xfer_Size\n");
	unsetenv("COLUMNS");
}

/* A program that closes standard input has a file as descriptor 0. */
FIXTURE_TEST(test_descriptor_0)
{
	struct plan plan = sample_plan();
	int saved = dup(STDIN_FILENO);

	close(STDIN_FILENO);
	plan.output_file = "out.txt";
	assert_int_equal(run_report(&plan), XDD_OK);
	restore_fd(STDIN_FILENO, saved);
	assert_holds(get_file("out.txt"), " COMBINED ");
}

FIXTURE_TEST(test_full_disk)
{
	struct plan plan = sample_plan();

	if (access("/dev/full", W_OK) < 0)
		skip();
	plan.output_file = "out.txt";
	plan.csv_file = "/dev/full";
	assert_string_equal(error_of(run_report, &plan, XDD_IO_ERROR),
			    "xdd: -csvout /dev/full: No space left on device; results are missing "
			    "there\n");
	assert_holds(get_file("out.txt"), " COMBINED ");
	plan.output_file = "/dev/full";
	plan.csv_file = NULL;
	assert_holds(error_of(run_report, &plan, XDD_IO_ERROR), "-output /dev/full: No space");
}

FIXTURE_TEST(test_closed_pipe)
{
	struct plan plan = sample_plan();
	int ends[2], saved = dup(STDOUT_FILENO);
	char *text;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	close(ends[0]);
	close(ends[1]);
	text = strdup(error_of(run_report, &plan, XDD_IO_ERROR));
	restore_fd(STDOUT_FILENO, saved);
	assert_non_null(text);
	assert_string_equal(text, "xdd: standard output: Broken pipe; results are missing there\n");
	free(text);
}

RUN_TESTS(NULL, NULL)
