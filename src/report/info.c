/*
 * The banner and the options of the run as a whole; see the header. Called by report_open().
 */
#include "report/info.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "report/environment.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/report/result.h"

#define IO_10 "IOIOIOIOIOIOIOIOIOIO"

const char *info_enabled(bool on)
{
	return on ? "enabled" : "disabled";
}

void info_text(FILE *f, const char *label, const char *text)
{
	fputs(label, f);
	printable_put(f, text);
	fputc('\n', f);
}

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NS_PER_SEC;
}

static void write_banner(FILE *f)
{
	fputs(IO_10 "I XDD version " PACKAGE_VERSION " based on " PACKAGE_VERSION " " IO_10 "I\n"
		    "xdd - storage I/O benchmark - Copyright the xdd authors, GNU GPL version 2\n"
		    "\n"
		    "XDD DISCLAIMER:\n"
		    " *** >>>> WARNING <<<<\n"
		    " *** A run that writes replaces what its targets hold, files and\n"
		    " *** whole disks alike, and nothing brings it back.\n"
		    " *** Look at the name of every target before you start one.\n"
		    " *** There is NO WARRANTY of any kind: you alone answer for\n"
		    " *** what a run does.\n"
		    "\n"
		    "\n",
	      f);
}

char *info_time(char *buf)
{
	time_t now = time(NULL);

	if (!ctime_r(&now, buf))
		strcpy(buf, "unknown");
	buf[strcspn(buf, "\n")] = '\0';
	return buf;
}

char *info_utc(uint64_t wall_ns, char *buf)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_SEC);
	char day[INFO_UTC_SIZE / 2];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, INFO_UTC_SIZE, "%s.%03uZ", day, (unsigned)(wall_ns % NS_PER_SEC / NS_PER_MS));
	return buf;
}

static void write_start(FILE *f, const struct plan *plan, const char *between)
{
	char now[INFO_TIME_SIZE];

	fprintf(f, "Starting time for this run, %s\n", info_time(now));
	fprintf(f, "%sID for this run, '", between);
	printable_put(f, plan->id ? plan->id : "No ID Specified");
	fputs("'\n", f);
}

static uint64_t io_threads(const struct plan *plan)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < plan->n_targets; i++)
		sum += plan->targets[i].qthreads;
	return sum;
}

static void write_files(FILE *f, const struct plan *plan)
{
	info_text(f, "Output file name, ", plan->output_file ? plan->output_file : "stdout");
	info_text(f, "CSV output file name, ", plan->csv_file ? plan->csv_file : "");
	info_text(f, "Error output file name, ", plan->errout_file ? plan->errout_file : "stderr");
	if (plan->combined_file)
		info_text(f, "Combined output file name, ", plan->combined_file);
}

static void write_run(FILE *f, const struct plan *plan)
{
	write_start(f, plan, "\n");
	fprintf(f, "Maximum Process Priority, %s\n", info_enabled(plan->max_priority));
	fprintf(f, "Passes, %" PRIu64 "\n", plan->passes);
	if (plan->until_percent)
		fprintf(f, "Passes until, %g percent\n", plan->until_percent);
	fprintf(f, "Pass Delay in seconds, %f\n", seconds(plan->pass_delay_ns));
	fprintf(f, "Maximum Error Threshold, %" PRIu64 "\n", plan->max_errors);
	fprintf(f, "Target Offset, %" PRIu64 "\n",
		plan->n_targets ? plan->targets[0].target_offset_blocks : 0);
	fprintf(f, "I/O Synchronization, %" PRIu64 "\n", plan->syncio_ops);
	fprintf(f, "Total run-time limit in seconds, %f\n", seconds(plan->run_time_ns));
	if (plan->hog_bytes)
		fprintf(f, "Memory to occupy, %" PRIu64 "\n", plan->hog_bytes);
	write_files(f, plan);
	fprintf(f, "Pass synchronization barriers, %s\n", info_enabled(!plan->no_barrier));
	if (plan->timeserver.host) {
		info_text(f, "Timeserver hostname, ", plan->timeserver.host);
		fprintf(f, "Timeserver port number, %" PRIu64 "\n", plan->timeserver.port);
	}
	if (plan->start_time_ns)
		fprintf(f, "Global start time, %f\n", seconds(plan->start_time_ns));
	if (plan->ranks_given)
		fprintf(f, "Rank, %" PRIu64 " of %" PRIu64 "\n", plan->rank, plan->n_ranks);
	fprintf(f, "Number of Targets, %zu\n", plan->n_targets);
	fprintf(f, "Number of I/O Threads, %" PRIu64 "\n", io_threads(plan));
	if (plan->really_verbose) {
		fprintf(f, "Size of TARGET_DATA is %zu\n", sizeof(struct target_plan));
		fprintf(f, "Size of RESULTS is %zu\n", sizeof(struct result));
	}
	fputc('\n', f);
}

void info_write(FILE *f, const struct plan *plan, const json_t *environment)
{
	write_banner(f);
	write_run(f, plan);
	info_system(f, plan);
	environment_write(f, environment);
	for (size_t i = 0; i < plan->n_targets; i++)
		info_target(f, plan, &plan->targets[i]);
	fputc('\n', f);
}

void info_write_target(FILE *f, const struct plan *plan, uint32_t target)
{
	write_banner(f);
	write_run(f, plan);
	info_system(f, plan);
	info_target(f, plan, &plan->targets[target]);
	fputc('\n', f);
}

void info_write_short(FILE *f, const struct plan *plan)
{
	write_start(f, plan, "");
	fputc('\n', f);
	for (size_t i = 0; i < plan->n_targets; i++)
		info_target_short(f, &plan->targets[i]);
	fputc('\n', f);
}
