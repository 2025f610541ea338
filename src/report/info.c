/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The banner, the options of the run as a whole, and the information lines about the computer, the
 * targets and their data; see the header. Called by report_open().
 */
#include "report/info.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdint.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/mix.h"
#include "xdd/report/heartbeat.h"
#include "xdd/report/result.h"
#include "xdd/sys/clock.h"

#define NAME_SIZE 256

/* The login name; without a login, as in a cron job, the name of the user id. */
static void user_name(char *name, size_t size)
{
	struct passwd entry, *found = NULL;
	char strings[4096];

	if (getlogin_r(name, size) == 0 && name[0])
		return;
	if (getpwuid_r(getuid(), &entry, strings, sizeof(strings), &found) == 0 && found)
		snprintf(name, size, "%s", found->pw_name);
	else
		snprintf(name, size, "***unknown user login***");
}

static void write_limit(FILE *f, const char *label, long value)
{
	if (value >= 0)
		fprintf(f, "%s, %ld\n", label, value);
	else
		fprintf(f, "%s, unknown\n", label);
}

static long megabytes_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	if (pages < 0 || size < 0)
		return -1;
	return (long)((uint64_t)pages * (uint64_t)size >> 20);
}

static uint64_t seconds_until(uint64_t wall_ns)
{
	uint64_t now = clock_wall_ns();

	return wall_ns > now ? (wall_ns - now + NS_PER_SEC / 2) / NS_PER_SEC : 0;
}

/* The section about the computer (info.c), with the time that is left until -starttime. */
static void info_system(FILE *f, const struct plan *plan)
{
	struct utsname name;
	char user[NAME_SIZE];

	if (uname(&name) < 0)
		memset(&name, 0, sizeof(name));
	user_name(user, sizeof(user));
	fprintf(f, "Computer Name, %s, User Name, %s\n", name.nodename, user);
	fprintf(f, "OS release and version, %s %s %s\n", name.sysname, name.release, name.version);
	fprintf(f, "Machine hardware type, %s\n", name.machine);
	write_limit(f, "Number of processors on this system", sysconf(_SC_NPROCESSORS_ONLN));
	write_limit(f, "Page size in bytes", sysconf(_SC_PAGESIZE));
	write_limit(f, "Number of physical pages", sysconf(_SC_PHYS_PAGES));
	write_limit(f, "Megabytes of physical memory", megabytes_of_memory());
	write_limit(f, "Clock Ticks per second", sysconf(_SC_CLK_TCK));
	fprintf(f, "Seconds before starting, %" PRIu64 "\n", seconds_until(plan->start_time_ns));
}

/* The words of patterns that have nothing to add. */
static const char *pattern_word(enum pattern_kind kind)
{
	switch (kind) {
	case PATTERN_RANDOM:
		return "random";
	case PATTERN_RANDOM_BY_TARGET:
		return "random by target number";
	case PATTERN_SEQUENCED:
		return "sequenced";
	case PATTERN_LFPAT:
		return "lfpat";
	case PATTERN_LTPAT:
		return "ltpat";
	case PATTERN_CJTPAT:
		return "cjtpat";
	case PATTERN_CRPAT:
		return "crpat";
	case PATTERN_CSPAT:
		return "cspat";
	case PATTERN_TAGGED:
		return "tagged";
	default:
		return NULL;
	}
}

static void put_quoted(FILE *f, const char *label, const char *text, size_t bytes)
{
	fputs(label, f);
	printable_put(f, text);
	fprintf(f, "' <%zu bytes>", bytes);
}

static void write_text(FILE *f, const struct pattern_options *o)
{
	const char *repeated = o->replicate ? "Replicated" : "Not Replicated";

	if (o->kind == PATTERN_ASCII) {
		put_quoted(f, ",ASCII: '", o->text, o->n_bytes);
		fprintf(f, " %s ", repeated);
	} else if (o->kind == PATTERN_HEX) {
		fprintf(f, ",HEX: 0x%s <%zu bytes>, %s", o->text, o->n_bytes, repeated);
	} else if (o->kind == PATTERN_FILE) {
		put_quoted(f, ",file '", o->file, o->n_bytes);
	}
}

static void write_pattern(FILE *f, const struct pattern_options *o)
{
	const char *word = pattern_word(o->kind);

	fputs("\t\tData pattern in buffer", f);
	if (word)
		fprintf(f, ",%s ", word);
	else if (o->kind == PATTERN_CHARACTER)
		fprintf(f, ",0x%02x", o->word ? (unsigned char)*o->word : 0);
	if (o->kind == PATTERN_REDUCIBLE && (o->compress || !o->dedupe))
		fprintf(f, ",compress %u percent ", (unsigned)o->compress);
	if (o->kind == PATTERN_REDUCIBLE && o->dedupe)
		fprintf(f, ",dedupe %u percent ", (unsigned)o->dedupe);
	if (o->inverse)
		fputs(",inversed ", f);
	write_text(f, o);
	if (o->prefix)
		fprintf(f, ",PREFIX: 0x%s <%zu nibbles>", o->prefix, strlen(o->prefix));
	fputc('\n', f);
}

/* info.c: the lines about its data pattern and verification. */
static void info_data(FILE *f, const struct target_plan *t)
{
	static const char *const verification[] = {
		[VERIFY_NONE] = "disabled.",
		[VERIFY_CONTENTS] = "enabled for Content verification.",
		[VERIFY_LOCATION] = "enabled for Location verification.",
		[VERIFY_LOCATION | VERIFY_CONTENTS] =
			"enabled for Location verification. enabled for Content verification.",
	};

	write_pattern(f, &t->pattern);
	fprintf(f, "\t\tData buffer verification is %s\n", verification[t->verify]);
}

#define KIB 1024.0
#define LIST_SIZE 4096 /* of a list of processors */

static void write_bytes(FILE *f, uint64_t bytes)
{
	double kib = (double)bytes / KIB;

	fprintf(f, "\t\t\t%15" PRIu64 ",     Bytes\n", bytes);
	fprintf(f, "\t\t\t%19.3f, KBytes (KiB)\n", kib);
	fprintf(f, "\t\t\t%19.3f, MBytes (MiB)\n", kib / KIB);
	fprintf(f, "\t\t\t%19.3f, GBytes (GiB)\n", kib / KIB / KIB);
	fprintf(f, "\t\t\t%19.3f, TBytes (TiB)\n", kib / KIB / KIB / KIB);
}

/* `label` ends with its comma and one blank. */
static void write_size(FILE *f, const char *label, uint64_t bytes, uint64_t block_size)
{
	fprintf(f, "\t\t%s", label);
	if (bytes == 0) {
		fputs(" 0\n", f);
		return;
	}
	fprintf(f, "\n\t\t\t%" PRIu64 ", %" PRIu64 "-byte Blocks\n",
		block_size ? bytes / block_size : 0, block_size);
	write_bytes(f, bytes);
}

static void write_blocks(FILE *f, const char *label, uint64_t blocks, uint64_t block_size)
{
	fprintf(f, "\t\t%s, %" PRIu64 ", %" PRIu64 "-byte blocks, %" PRIu64 ", bytes\n", label,
		blocks, block_size, blocks * block_size);
}

/* Percent of reads, or of writes. */
static double info_target_percent(const struct target_plan *t, bool reads)
{
	uint32_t share = 0;

	if (t->op == OP_MIXED)
		share = reads ? t->read_ratio : PLAN_RATIO_ONE - t->read_ratio;
	else if (t->op == (reads ? OP_READ : OP_WRITE))
		share = PLAN_RATIO_ONE;
	return 100.0 * share / PLAN_RATIO_ONE;
}

/* Summed over its QThreads. */
static void write_processors(FILE *f, const struct plan *plan, const struct target_plan *t)
{
	struct idset used = { 0 };
	char list[LIST_SIZE];
	int one;

	for (uint32_t i = 0; i < t->qthreads; i++) {
		const struct idset *set = plan_processors_of(plan, t, i, &one);

		if (set && one < 0)
			used = *set;
		else if (set)
			idset_add(&used, (unsigned)one);
	}
	fprintf(f, "\t\tProcessor, %s\n",
		idset_count(&used) ? idset_text(&used, list, sizeof(list)) : "all/any");
}

static void info_text(FILE *f, const char *label, const char *text);

static void write_file(FILE *f, const struct plan *plan, const struct target_plan *t)
{
	fprintf(f, "\tTarget number, %" PRIu32 "\n", t->number);
	fputs("\t\tFully qualified target pathname, '", f);
	printable_put(f, t->path);
	fputs("'\n", f);
	info_text(f, "\t\tTarget directory, ", t->dir && t->dir[0] ? t->dir : "\"./\"");
	fprintf(f, "\t\tProcess ID, %ld\n", (long)getpid());
	fputs("\t\tThread ID, not started\n", f);
	write_processors(f, plan, t);
	fprintf(f, "\t\tRead/write ratio, %5.2f READ, %5.2f WRITE\n", info_target_percent(t, true),
		info_target_percent(t, false));
}

static const char *info_enabled(bool on);

static void write_work(FILE *f, const struct target_plan *t)
{
	char mix[MIX_TEXT_SIZE];

	fprintf(f, "\t\tPer-pass time limit in seconds, %f\n",
		(double)t->time_limit_ns / (double)NS_PER_SEC);
	if (t->warmup_ops)
		fprintf(f, "\t\tWarm-up, %" PRIu64 " operations\n", t->warmup_ops);
	else if (t->warmup_ns)
		fprintf(f, "\t\tWarm-up, %f seconds\n", (double)t->warmup_ns / (double)NS_PER_SEC);
	fprintf(f, "\t\tPass seek randomization, %s\n", info_enabled(t->randomize));
	fprintf(f, "\t\tFile write synchronization, %s\n", info_enabled(t->sync_write));
	fprintf(f, "\t\tBlocksize in bytes, %" PRIu64 "\n", t->block_size);
	write_blocks(f, t->mix ? "Largest request size" : "Request size", t->req_blocks,
		     t->block_size);
	if (t->mix)
		fprintf(f, "\t\tMix of request sizes, %s\n", mix_text(t->mix, mix, sizeof(mix)));
	if (t->pass_ops == PLAN_UNLIMITED) {
		fputs("\t\tNumber of Operations, unlimited\n"
		      "\t\tTotal data transfer for this TARGET, unlimited\n",
		      f);
		return;
	}
	fprintf(f, "\t\tNumber of Operations, %" PRIu64 "\n", t->pass_ops);
	write_size(f, "Total data transfer for this TARGET, ", t->pass_bytes, t->block_size);
}

static void write_layout(FILE *f, const struct layout_options *l)
{
	fprintf(f,
		"\t\tBlocks, %" PRIu64 " of %" PRIu64 ", %" PRIu64 ", bytes, in %" PRIu64
		", segments\n",
		l->index, l->n_owners, l->block_bytes, l->n_segments);
	if (l->owner != l->index)
		fprintf(f, "\t\tBlocks read, %" PRIu64 " of %" PRIu64 "\n", l->owner, l->n_owners);
}

static void write_access(FILE *f, const struct target_plan *t)
{
	write_size(f, "Start offset, ", t->start_bytes, t->block_size);
	write_size(f, "Pass offset, ", t->pass_offset_bytes, t->block_size);
	if (t->range_bytes)
		write_size(f, "Seek Range, ", t->range_bytes, t->block_size);
	if (t->layout.block_bytes)
		write_layout(f, &t->layout);
	fprintf(f, "\t\tSeek pattern, %s\n", plan_seek_name(t->seek.pattern));
	if (t->seek.pattern == SEEK_INTERLEAVE && t->seek.interleave > 1)
		write_blocks(f, "Seek Stride", t->req_blocks * t->seek.interleave, t->block_size);
}

static void write_numa(FILE *f, const struct memory_plan *m)
{
	char list[LIST_SIZE];

	switch (m->policy) {
	case MEMPOLICY_NONE:
		return;
	case MEMPOLICY_LOCAL:
		fputs("\t\tI/O memory buffer NUMA nodes, local\n", f);
		return;
	case MEMPOLICY_BIND:
	case MEMPOLICY_INTERLEAVE:
		fprintf(f, "\t\tI/O memory buffer NUMA nodes, %s%s\n",
			m->policy == MEMPOLICY_BIND ? "" : "interleaved, ",
			idset_text(m->nodes, list, sizeof(list)));
	}
}

static void write_timestamps(FILE *f, const struct trace_options *ts)
{
	if (!ts->on) {
		fputs("\t\tTimestamping, disabled\n", f);
		return;
	}
	fprintf(f, "\t\tTimestamping, enabled with options,%s%s%s%s%s%s",
		ts->detailed ? " DETAILED" : "", ts->summary ? " SUMMARY" : "",
		ts->normalize ? " NORMALIZE" : "", ts->append ? " APPEND" : "",
		ts->wrap ? " WRAP" : "", ts->oneshot ? " ONESHOT" : "");
	if (ts->triggered_by_time)
		fprintf(f, " TRIGTIME %llu", ts->trigger_time_ns / NS_PER_SEC);
	if (ts->trigger_op)
		fprintf(f, " :TRIGOP %" PRIu64, ts->trigger_op);
	fprintf(f, "\n\t\tTimestamp table size in operations, %" PRIu64 "\n", ts->size_ops);
	if (ts->report_path)
		info_text(f, "\t\tTimestamp ASCII output file name, ", ts->report_path);
	if (ts->dump_path)
		info_text(f, "\t\tTimestamp binary output file name, ", ts->dump_path);
}

static void write_heartbeat(FILE *f, const struct heartbeat_options *h)
{
	const uint64_t second = NS_PER_SEC;

	if (!h->on) {
		fputs("\t\tHeartbeat Disabled\n", f);
		return;
	}
	fprintf(f, "\t\tHeartbeat Interval, %g, options, ",
		(double)(h->interval_ns ? h->interval_ns : second) / (double)second);
	heartbeat_field_names(f, h);
	fputc('\n', f);
	info_text(f, "\t\tHeartbeat Output File, ", h->output ? h->output : "stderr");
}

static void write_trigger(FILE *f, const char *what, const struct trigger_plan *g)
{
	char when[48];

	if (g->on)
		fprintf(f, "\t\t%s, target %" PRIu32 ", %s\n", what, g->by,
			plan_measure_text(&g->when, when, sizeof(when)));
}

/* The coordination of a target; nothing for a target that waits for no other. */
static void write_coordination(FILE *f, const struct target_plan *t)
{
	const struct lockstep_plan *l = &t->lockstep;
	char when[48], what[48];

	if (l->on)
		fprintf(f,
			"\t\tLockstep, slave of target %" PRIu32
			", every %s, %s, %s first, then %s\n",
			l->master, plan_measure_text(&l->when, when, sizeof(when)),
			plan_measure_text(&l->what, what, sizeof(what)), l->run ? "run" : "wait",
			l->stop ? "stop" : "complete");
	write_trigger(f, "Start trigger", &t->start_trigger);
	write_trigger(f, "Stop trigger", &t->stop_trigger);
}

static void write_restart(FILE *f, const struct target_plan *t)
{
	const struct restart_options *r = &t->restart;

	if (t->endtoend.role == E2E_DESTINATION) {
		fprintf(f, "\t\tRESTART: interval in seconds between records, %g\n",
			(double)r->frequency_ns / (double)NS_PER_SEC);
		info_text(f, "\t\tRESTART: file, ",
			  r->file ? r->file : "named by hosts, files and time");
	}
	if (!r->offset_bytes)
		return;
	fputs("\t\tRESTART: RESUMING COPY: Starting offset\n", f);
	write_bytes(f, r->offset_bytes);
	if (t->pass_ops == PLAN_UNLIMITED)
		return;
	fputs("\t\tRESTART: RESUMING COPY: Remaining data\n", f);
	write_bytes(f, t->pass_bytes);
}

/* The side of a copy, and its addresses; nothing for other targets. */
static void write_endtoend(FILE *f, const struct target_plan *t)
{
	const struct endtoend_options *e = &t->endtoend;

	if (e->role == E2E_NONE)
		return;
	fprintf(f, "\t\tEnd-to-End ACTIVE: this target is the %s side\n",
		e->role == E2E_SOURCE ? "SOURCE" : "DESTINATION");
	for (size_t i = 0; i < e->n_addresses; i++) {
		const struct endtoend_address *a = &e->addresses[i];

		fprintf(f, "\t\tEnd-to-End Destination Address %zu of %zu '", i + 1,
			e->n_addresses);
		printable_put(f, a->host);
		fprintf(f,
			"' base port %" PRIu16 " for %" PRIu32 " ports [ports %" PRIu16
			" - %" PRIu32 "]\n",
			a->port, a->ports, a->port, a->port + a->ports - 1);
	}
	if (t->restart.enabled)
		write_restart(f, t);
}

static void write_throttle(FILE *f, const struct throttle_options *throttle)
{
	switch (throttle->by) {
	case THROTTLE_NONE:
		fputs("\t\tThrottle is unrestricted\n", f);
		break;
	case THROTTLE_OPS:
		fprintf(f, "\t\tThrottle in ops/sec is, %6.2f\n", throttle->rate);
		break;
	case THROTTLE_BANDWIDTH:
		fprintf(f, "\t\tThrottle in MB/sec is, %6.2f\n", throttle->rate);
		break;
	case THROTTLE_DELAY:
		fprintf(f, "\t\tThrottle in Delay is, %6.2f\n",
			(double)throttle->delay_ns / (double)NS_PER_SEC);
		break;
	}
	if (throttle->poisson)
		fputs("\t\tThrottle arrivals form a Poisson process\n", f);
	if (throttle->var_percent > 0)
		fprintf(f, "\t\tThrottle variation in percent of the interval is, %6.2f\n",
			throttle->var_percent);
}

static void write_buffer(FILE *f, const struct memory_plan *m)
{
	fprintf(f, "\t\tI/O memory buffer is %s%s\n",
		m->shared ? "a shared memory segment" : "a normal memory buffer",
		m->huge_pages ? " in huge pages" : "");
	fprintf(f, "\t\tI/O memory buffer alignment in bytes, %" PRIu64 "\n",
		m->shift_bytes ? m->align_asked : m->align_bytes);
	write_numa(f, m);
}

/* The block about one target (info.c). */
static void info_target(FILE *f, const struct plan *plan, const struct target_plan *t)
{
	write_file(f, plan, t);
	fprintf(f, "\t\tNetwork Operation Ordering is,%s\n",
		plan_ordering_name(t->network_ordering));
	fprintf(f, "\t\tStorage Operation Ordering is,%s\n", plan_ordering_name(t->ordering));
	write_throttle(f, &t->throttle);
	if (t->snooze_percent > 0)
		fprintf(f, "\t\tSnooze in percent of the mean response time, %g\n",
			t->snooze_percent);
	write_work(f, t);
	write_access(f, t);
	fprintf(f, "\t\tFlushwrite interval, %" PRIu64 "%s\n", t->flush_writes,
		t->flush_between ? ", not after the last write" : "");
	write_buffer(f, &t->memory);
	info_data(f, t);
	fprintf(f, "\t\tDirect I/O, %s%s\n", info_enabled(t->direct_io),
		t->direct_ignored ? ", and ignored by the file system" : "");
	if (t->open_sync)
		fprintf(f, "\t\tSynchronous writes, %s\n", plan_open_sync_name(t->open_sync));
	if (t->tail_bytes)
		fprintf(f, "\t\tBytes of the last operation through the page cache, %" PRIu64 "\n",
			t->tail_bytes);
	fprintf(f, "\t\tPreallocation, %" PRIu64 "\n", t->preallocate_bytes);
	fprintf(f, "\t\tPretruncation, %" PRIu64 "%s\n", t->pretruncate_bytes,
		t->pretruncate && !t->pretruncate_bytes ? ", the file is emptied" : "");
	fprintf(f, "\t\tQueue Depth, %" PRIu64 "\n", t->queue_depth);
	write_coordination(f, t);
	write_endtoend(f, t);
	write_timestamps(f, &t->trace);
	write_heartbeat(f, &t->heartbeat);
	fprintf(f, "\t\tDelete file, %s\n", info_enabled(t->delete_file));
}

/* The line about one target that a short report has. */
static void info_target_short(FILE *f, const struct target_plan *t)
{
	fprintf(f, "Target[%" PRIu32 "] Q[%" PRIu64 "], ", t->number, t->queue_depth);
	printable_put(f, t->path);
	fprintf(f, ", %s, ", plan_op_name(t->op));
	if (t->pass_ops != PLAN_UNLIMITED)
		fprintf(f, "%" PRIu64 " %s of", t->pass_ops, t->pass_ops == 1 ? "op" : "ops");
	else
		fputs("ops of", f);
	if (t->mix)
		fprintf(f, " %" PRIu64 " to", mix_smallest(t->mix));
	fprintf(f, " %" PRIu64 " bytes", t->req_bytes);
	if (t->time_limit_ns)
		fprintf(f, " for %g s", (double)t->time_limit_ns / (double)NS_PER_SEC);
	if (t->endtoend.role != E2E_NONE)
		fprintf(f, ", %s of a copy", endtoend_role_name(t->endtoend.role));
	fputc('\n', f);
}

#define IO_10 "IOIOIOIOIOIOIOIOIOIO"

/* "enabled" or "disabled". */
static const char *info_enabled(bool on)
{
	return on ? "enabled" : "disabled";
}

/*
 * A line of `label` and a text of others, such as a name, with escapes for what would control a
 * terminal.
 */
static void info_text(FILE *f, const char *label, const char *text)
{
	fputs(label, f);
	printable_put(f, text);
	fputc('\n', f);
}

static double info_seconds(uint64_t ns)
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
	fprintf(f, "Pass Delay in seconds, %f\n", info_seconds(plan->pass_delay_ns));
	fprintf(f, "Maximum Error Threshold, %" PRIu64 "\n", plan->max_errors);
	fprintf(f, "Target Offset, %" PRIu64 "\n",
		plan->n_targets ? plan->targets[0].target_offset_blocks : 0);
	fprintf(f, "I/O Synchronization, %" PRIu64 "\n", plan->syncio_ops);
	fprintf(f, "Total run-time limit in seconds, %f\n", info_seconds(plan->run_time_ns));
	if (plan->hog_bytes)
		fprintf(f, "Memory to occupy, %" PRIu64 "\n", plan->hog_bytes);
	write_files(f, plan);
	fprintf(f, "Pass synchronization barriers, %s\n", info_enabled(!plan->no_barrier));
	if (plan->timeserver.host) {
		info_text(f, "Timeserver hostname, ", plan->timeserver.host);
		fprintf(f, "Timeserver port number, %" PRIu64 "\n", plan->timeserver.port);
	}
	if (plan->start_time_ns)
		fprintf(f, "Global start time, %f\n", info_seconds(plan->start_time_ns));
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
