/*
 * From a command line to a plan: src/plan, all but the reading of setup files into words. And the
 * invariants of the option table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/nstime.h"
#include "xdd/base/random.h"
#include "xdd/base/suggest.h"
#include "xdd/base/units.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

#define DATA_BYTES 100000u /* no multiple of a block */
#define SEC NS_PER_SEC
#define MAX_WORDS 64
#define ROBUSTNESS_RUNS 20000

/* CPU time for all of them: sanitizers take more. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROBUSTNESS_LIMIT_S 60
#else
#define ROBUSTNESS_LIMIT_S 5
#endif

static char directory[] = "/tmp/xdd-test-parse-XXXXXX";
static struct plan *plan;
static const struct target_plan *t0; /* target 0 of `plan` */

/* ---- a directory to work in, and the messages ---- */

static void write_file(const char *name, const char *text, size_t size)
{
	FILE *f;

	/* A file that is cut and written again is one that some file systems flush. */
	unlink(name);
	f = fopen(name, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
	char *data = calloc(1, DATA_BYTES);

	(void)state;
	if (!data || !mkdtemp(directory) || chdir(directory))
		return -1;
	write_file("data", data, DATA_BYTES);
	write_file("empty", "", 0);
	write_file("list", "0 4 2 r\n1 0 1 r\n2 9 2 r 0 0\n", 28);
	free(data);
	return log_open("log");
}

static int tear_down(void **state)
{
	static const char *const names[] = { "data", "empty", "list", "log", "setup", "deeper" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	return chdir("/") || rmdir(directory);
}

/* The messages since the last call. */
static const char *messages(void)
{
	static char text[8192];
	static long seen;
	FILE *f = fopen("log", "r");
	size_t n;

	assert_non_null(f);
	assert_int_equal(fseek(f, seen, SEEK_SET), 0);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	seen = ftell(f);
	fclose(f);
	return text;
}

static int forget_plan(void **state)
{
	(void)state;
	plan_free(plan);
	plan = NULL;
	messages();
	return 0;
}

/* ---- building plans ---- */

/* Build `plan` from a line whose words are separated by single blanks. */
static enum xdd_status build(const char *line)
{
	static char text[2048]; /* the plan points into it, as it does into main's */
	char *argv[MAX_WORDS], *save = NULL;
	enum xdd_status status;
	int argc = 0;

	plan_free(plan);
	plan = NULL;
	snprintf(text, sizeof(text), "xdd %s", line);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(argc < MAX_WORDS - 1);
		argv[argc++] = w;
	}
	argv[argc] = NULL;
	status = plan_build(argc, argv, &plan);
	t0 = plan ? plan->targets : NULL;
	return status;
}

static void good(const char *line)
{
	enum xdd_status status = build(line);
	const char *said = messages();

	if (status != XDD_OK || !plan || *said)
		fail_msg("%s: status %d: %s", line, (int)status, said);
}

/* Refused with that status and one line that holds `text`. */
static void bad(const char *line, enum xdd_status wanted, const char *text)
{
	enum xdd_status status = build(line);
	const char *said = messages();

	if (status != wanted || (plan && wanted != XDD_TARGET_FAILED) || !strstr(said, text) ||
	    strncmp(said, "xdd: ", 5) != 0 || strchr(said, '\n') != said + strlen(said) - 1)
		fail_msg("%s: status %d, not %d with \"%s\": %s", line, (int)status, (int)wanted,
			 text, said);
}

/* ---- the plan ---- */

static void defaults(void **state)
{
	(void)state;
	good("-targets 1 null -numreqs 3");
	assert_int_equal(plan->n_targets, 1);
	assert_int_equal(plan->passes, 1);
	assert_int_equal(plan->pass_delay_ns, 0);
	assert_int_equal(plan->run_time_ns, 0);
	assert_int_equal(plan->max_errors, 0);
	assert_int_equal(plan->max_errors_to_print, 10);
	assert_int_equal(plan->percent_cpu, PERCENT_CPU_ABSOLUTE);
	assert_false(plan->stop_on_error || plan->no_barrier || plan->verbose ||
		     plan->really_verbose || plan->qthread_info || plan->dry_run);
	assert_null(plan->id);
	assert_null(plan->output_file);
	assert_null(plan->errout_file);
	assert_null(plan->csv_file);
	assert_null(plan->combined_file);
	assert_null(plan->output_format);
	assert_string_equal(plan->command_line, "xdd -targets 1 null -numreqs 3");
	assert_int_equal(t0->kind, TARGET_NULL);
	assert_int_equal(t0->op, OP_WRITE);
	assert_int_equal(t0->block_size, 1024);
	assert_int_equal(t0->req_blocks, 128);
	assert_int_equal(t0->req_bytes, 131072);
	assert_int_equal(t0->queue_depth, 1);
	assert_int_equal(t0->start_bytes, 0);
	assert_int_equal(t0->pass_offset_bytes, 0);
	assert_int_equal(t0->delay_ns, 0);
	assert_int_equal(t0->time_limit_ns, 0);
	assert_int_equal(t0->seek.pattern, SEEK_SEQUENTIAL);
	assert_int_equal(t0->seek.seed, PLAN_DEFAULT_SEED);
	assert_int_equal(t0->seek.disthist, 0);
	assert_null(t0->seek.save_file);
	assert_null(t0->rows);
	assert_false(t0->direct_io || t0->randomize);
}

static void assert_amount(const char *line, enum amount_from from, uint64_t ops, uint64_t bytes,
			  uint64_t last)
{
	good(line);
	assert_int_equal(t0->amount_from, from);
	assert_int_equal(t0->pass_ops, ops);
	assert_int_equal(t0->pass_bytes, bytes);
	assert_int_equal(t0->last_op_bytes, last);
}

static void amount_of_work(void **state)
{
	const uint64_t all = PLAN_UNLIMITED;

	(void)state;
	assert_amount("-targets 1 null -reqsize 4 -numreqs 3", AMOUNT_OPS, 3, 12288, 4096);
	assert_amount("-targets 1 null -reqsize 4 -bytes 8192", AMOUNT_BYTES, 2, 8192, 4096);
	assert_amount("-targets 1 null -reqsize 4 -bytes 8193", AMOUNT_BYTES, 3, 8193, 1);
	assert_amount("-targets 1 null -reqsize 4 -bytes 1", AMOUNT_BYTES, 1, 1, 1);
	assert_amount("-targets 1 null -reqsize 4 -kbytes 5", AMOUNT_BYTES, 2, 5120, 1024);
	assert_amount("-targets 1 null -reqsize 4 -mbytes 2", AMOUNT_BYTES, 512, 2 << 20, 4096);
	assert_amount("-targets 1 null -gbytes 1", AMOUNT_BYTES, 8192, 1 << 30, 131072);
	/* -numreqs overrides bytes at any position; among the others the last wins. */
	assert_amount("-targets 1 null -reqsize 4 -bytes 1 -numreqs 3", AMOUNT_OPS, 3, 12288, 4096);
	assert_amount("-targets 1 null -reqsize 4 -numreqs 3 -bytes 1", AMOUNT_OPS, 3, 12288, 4096);
	assert_amount("-targets 1 null -reqsize 4 -mbytes 1 -bytes 5", AMOUNT_BYTES, 1, 5, 5);
	assert_amount("-targets 1 null -reqsize 4 -bytes 5 -mbytes 1", AMOUNT_BYTES, 256, 1 << 20,
		      4096);
	/* An amount overrides limits; with a limit alone, time ends the pass. */
	assert_amount("-targets 1 null -reqsize 4 -timelimit 9 -numreqs 3", AMOUNT_OPS, 3, 12288,
		      4096);
	assert_amount("-targets 1 null -reqsize 4 -runtime 9 -bytes 5", AMOUNT_BYTES, 1, 5, 5);
	assert_amount("-targets 1 null -reqsize 4 -timelimit 9", AMOUNT_NONE, all, all, 4096);
	assert_amount("-targets 1 null -reqsize 4 -runtime 9", AMOUNT_NONE, all, all, 4096);
	/* A target that is there is read once as a whole. */
	assert_amount("-targets 1 data -op read -reqsize 4", AMOUNT_BYTES, 25, DATA_BYTES,
		      DATA_BYTES - 24 * 4096);
	assert_amount("-targets 1 data -op read -reqsize 4 -startoffset 90", AMOUNT_BYTES, 2,
		      DATA_BYTES - 92160, DATA_BYTES - 92160 - 4096);
	assert_amount("-targets 1 data -op read -blocksize 1 -reqsize 100000", AMOUNT_BYTES, 1,
		      DATA_BYTES, DATA_BYTES);
	/* With passes that move on, each reads as much. */
	assert_amount("-targets 1 data -op read -reqsize 4 -passes 3 -passoffset 20", AMOUNT_BYTES,
		      15, DATA_BYTES - 40960, DATA_BYTES - 40960 - 14 * 4096);
	/* The largest there is. */
	assert_amount("-targets 1 null -blocksize 1 -reqsize 1 -bytes 9223372036854775807",
		      AMOUNT_BYTES, INT64_MAX, INT64_MAX, 1);
}

static void operations(void **state)
{
	(void)state;
	good("-targets 1 null -numreqs 1 -op read");
	assert_int_equal(t0->op, OP_READ);
	assert_int_equal(t0->read_ratio, PLAN_RATIO_ONE);
	good("-targets 1 null -numreqs 1 -op noop");
	assert_int_equal(t0->op, OP_NOOP);
	good("-targets 1 null -numreqs 1 -rwratio 30.5");
	assert_int_equal(t0->op, OP_MIXED);
	assert_int_equal(t0->read_ratio, 30500000);
	assert_false(t0->ratio_random);
	good("-targets 1 null -numreqs 1 -op read -rwratio 0 random");
	assert_int_equal(t0->op, OP_WRITE);
	good("-targets 1 null -numreqs 1 -rwratio 50 random");
	assert_true(t0->ratio_random);
	good("-targets 1 null -numreqs 1 -rwratio 50 random -op write");
	assert_int_equal(t0->op, OP_WRITE);
	assert_false(t0->ratio_random);
	/* Without -op: write where there is nothing to lose. */
	good("-targets 1 new -numreqs 1");
	assert_int_equal(t0->op, OP_WRITE);
	assert_int_equal(t0->kind, TARGET_MISSING);
	good("-targets 1 empty -numreqs 1");
	assert_int_equal(t0->op, OP_WRITE);
	assert_int_equal(t0->kind, TARGET_FILE);
	bad("-targets 1 data -numreqs 1", XDD_BAD_ARGUMENT, "no operation is given");
	good("-targets 1 data -numreqs 1 -op write");
	assert_int_equal(t0->size_bytes, DATA_BYTES);
}

static void places(void **state)
{
	const struct target_plan *t2;

	(void)state;
	good("-targets -3 null -numreqs 2 -blocksize 512 -startoffset 10 -targetoffset 100 "
	     "-passoffset 7 -passes 3 -startdelay 1 -targetstartdelay 250ms");
	t2 = &plan->targets[2];
	assert_int_equal(t0->start_bytes, 5120);
	assert_int_equal(t2->start_bytes, 210 * 512);
	assert_int_equal(t2->pass_offset_bytes, 7 * 512);
	assert_int_equal(t0->delay_ns, SEC);
	assert_int_equal(t2->delay_ns, SEC + SEC / 2);
	assert_int_equal(t2->number, 2);

	/* The range of random offsets: as given, or that of the data of a pass. */
	good("-targets 1 null -reqsize 4 -numreqs 10 -seek random");
	assert_int_equal(t0->range_bytes, 40960);
	good("-targets 1 null -reqsize 4 -bytes 5 -seek random");
	assert_int_equal(t0->range_bytes, 4096);
	good("-targets 1 null -reqsize 4 -numreqs 10 -seek random range 9 seed 5");
	assert_int_equal(t0->range_bytes, 9216);
	assert_int_equal(t0->seek.seed, 5);
	good("-targets 1 null -reqsize 4 -numreqs 10");
	assert_int_equal(t0->range_bytes, 0);
	good("-targets 1 null -reqsize 4 -bytes 40961 -seek stagger");
	assert_int_equal(t0->range_bytes, 45056);
	good("-targets 1 null -numreqs 2 -seek interleave 4");
	assert_int_equal(t0->seek.pattern, SEEK_INTERLEAVE);
	assert_int_equal(t0->seek.interleave, 4);
	/* A pass that only time ends stays in what is there. */
	good("-targets 1 data -op read -reqsize 4 -timelimit 1 -seek random");
	assert_int_equal(t0->range_bytes, DATA_BYTES);
	good("-targets 1 data -op read -reqsize 4 -timelimit 1 -startoffset 50");
	assert_int_equal(t0->range_bytes, DATA_BYTES - 51200);
}

static void loaded_list(void **state)
{
	(void)state;
	good("-targets 1 data -reqsize 2 -seek load list");
	assert_int_equal(t0->op, OP_READ);
	assert_int_equal(t0->seek.pattern, SEEK_LOAD);
	assert_int_equal(t0->n_rows, 3);
	assert_int_equal(t0->pass_ops, 3);
	assert_int_equal(t0->pass_bytes, 5120);
	assert_int_equal(t0->last_op_bytes, 2048);
	assert_int_equal(t0->rows[2].block, 9);
	good("-targets 1 data -reqsize 2 -seek load list -numreqs 2 -op read");
	assert_int_equal(t0->pass_ops, 2);
	assert_int_equal(t0->pass_bytes, 3072);
	assert_int_equal(t0->last_op_bytes, 1024);
	/* The last that is said about the pattern holds. */
	good("-targets 1 data -op read -numreqs 1 -reqsize 1 -seek load list -seek sequential");
	assert_null(t0->rows);
	bad("-targets 1 data -reqsize 1 -seek load list", XDD_BAD_ARGUMENT, "has 2 blocks");
	bad("-targets 1 data -op write -reqsize 2 -seek load list", XDD_BAD_ARGUMENT,
	    "-op write: the list");
}

static void scopes(void **state)
{
	(void)state;
	good("-op read -op target 1 write -targets 3 null null null -reqsize 1 -numreqs 7");
	assert_int_equal(plan->targets[0].op, OP_READ);
	assert_int_equal(plan->targets[1].op, OP_WRITE);
	assert_int_equal(plan->targets[2].op, OP_READ);
	good("-qd 2 -qd target 1-2 3 -qd target 2 4 -targets -4 null -numreqs 1");
	assert_int_equal(plan->targets[0].queue_depth, 2);
	assert_int_equal(plan->targets[1].queue_depth, 3);
	assert_int_equal(plan->targets[2].queue_depth, 4);
	assert_int_equal(plan->targets[3].queue_depth, 2);
	good("-qd target 1 3 -qd target all 5 -targets -2 null -numreqs 1");
	assert_int_equal(plan->targets[0].queue_depth, 5);
	assert_int_equal(plan->targets[1].queue_depth, 5);
	good("-seek target 1 random range 300 -targets -2 null -numreqs 1");
	assert_int_equal(plan->targets[0].seek.pattern, SEEK_SEQUENTIAL);
	assert_int_equal(plan->targets[1].seek.pattern, SEEK_RANDOM);
	bad("-op target 2 read -targets -2 null -numreqs 1", XDD_BAD_ARGUMENT,
	    "-op target 2: is not a target: there are 2, 0 to 1 (argument 3)");
	bad("-passes target 0 2 -targets -2 null -numreqs 1", XDD_BAD_OPTION, "takes no target");
}

static void setup_files(void **state)
{
	(void)state;
	write_file("setup", "-qd 3\n-setup deeper\n-passes 3", 29);
	write_file("deeper", "-qd 4 -passes 4", 15);
	good("-qd 2 -setup setup -targets 1 null -numreqs 1");
	assert_int_equal(t0->queue_depth, 4);
	assert_int_equal(plan->passes, 3);
	good("-setup setup -targets 1 null -numreqs 1 -qd 2");
	assert_int_equal(t0->queue_depth, 2);
	write_file("deeper", "\n-setup setup", 13);
	bad("-setup setup -targets 1 null -numreqs 1", XDD_BAD_ARGUMENT,
	    "deeper:2: -setup setup: is a loop of setup files: this file is being read already");
}

static void whole_run(void **state)
{
	(void)state;
	good("-targets 1 null -numreqs 1 -passes 4 -passdelay .5 -runtime 1h -maxerrors 3 -mep 4 "
	     "-stoponerror -opdelay 2us -nobarrier -verbose -qthreadinfo -dryrun -pcpu relative "
	     "-id a -output o -errout e -csvout c -combinedout d -outputformat new +OPS");
	assert_int_equal(plan->passes, 4);
	assert_int_equal(plan->pass_delay_ns, SEC / 2);
	assert_int_equal(plan->run_time_ns, 3600 * SEC);
	assert_int_equal(plan->max_errors, 3);
	assert_int_equal(plan->max_errors_to_print, 4);
	assert_int_equal(plan->operation_delay_ns, 2000);
	assert_int_equal(plan->percent_cpu, PERCENT_CPU_RELATIVE);
	assert_true(plan->stop_on_error && plan->no_barrier && plan->verbose &&
		    plan->qthread_info && plan->dry_run);
	assert_non_null(plan->output_file);
	assert_non_null(plan->errout_file);
	assert_non_null(plan->csv_file);
	assert_non_null(plan->combined_file);
	good("-targets 1 null -numreqs 1 -id a -id b -outputformat add +USERTIME -ofmt add "
	     "+SYSTEMTIME");
	assert_string_equal(plan->id, "a b");
	assert_string_equal(plan->output_format, PLAN_DEFAULT_COLUMNS "+USERTIME+SYSTEMTIME");
	good("-targets 1 null -numreqs 1 -reallyverbose");
	assert_true(plan->verbose && plan->really_verbose);
	good("-targets 1 null -numreqs 1 -reallyverbose -unverbose");
	assert_false(plan->verbose || plan->really_verbose);
}

static void refused(void **state)
{
	(void)state;
	bad("-op read", XDD_BAD_ARGUMENT, "-targets: is missing");
	bad("-targets 1 null", XDD_BAD_ARGUMENT, "no amount of work");
	bad("-zzz", XDD_BAD_OPTION, "-zzz: is not an option");
	bad("-targts 1 null", XDD_BAD_OPTION, "did you mean -targets?");
	bad("-multipath", XDD_BAD_OPTION, "-multipath: ");
	bad("-targets 1 null -numreqs 4k", XDD_BAD_ARGUMENT, "-numreqs 4k: ");
	bad("-targets 1 nosuch -op read", XDD_TARGET_FAILED, "nosuch");
	bad("-targets 1 . -op read", XDD_TARGET_FAILED, "directory");
	/* A refusal is not preceded by warnings. */
	bad("-op read -targets 2 data data -numreqs 9999 -qd target 1 0", XDD_BAD_ARGUMENT,
	    "-qd 0");
	bad("-op read -targets 2 data data -numreqs 9999 -seek target 1 range 1", XDD_BAD_ARGUMENT,
	    "target 1, data: -seek range 1");
	bad("-op read -targets 1 data -numreqs 9999 -reqsize 2097152 -qd 65536", XDD_BAD_ARGUMENT,
	    "I/O buffers");
}

static void warnings(void **state)
{
	(void)state;
	good("-op read -targets 1 data -numreqs 99 -reqsize 1");
	plan_warn(plan);
	assert_string_equal(messages(), "xdd: warning: target 0, data: the operations reach to 99 "
					"KiB, and it has 100000 bytes\n");
	good("-op read -targets 1 data -numreqs 97 -reqsize 1");
	good("-op noop -targets 1 data -numreqs 99 -reqsize 1");
	good("-op write -targets 1 data -numreqs 99 -reqsize 1");
	plan_warn(plan);
	assert_string_equal(messages(), "");
}

/* ---- the option table ---- */

typedef void row_check(const struct option *row, const struct option *of);

static void each_row_of(const struct option *rows, row_check *fn)
{
	const struct option *sub;

	for (const struct option *row = rows; row->name; row++) {
		fn(row, NULL);
		for (size_t i = 0; (sub = option_sub(row, i)); i++)
			fn(sub, row);
	}
}

/* Call `fn` for every row, suboptions with the row they belong to. */
static void each_row(row_check *fn)
{
	for (const struct option_group *const *g = run_options.groups; *g; g++)
		each_row_of((*g)->options, fn);
	each_row_of(run_options.refused, fn);
}

static void check_text(const struct option *row, const struct option *of)
{
	(void)of;
	if (!row->help || !*row->help || strchr(row->help, '\n'))
		fail_msg("-%s: its help", row->name);
	if (row->detail && (strstr(row->detail, "  ") || strchr(row->detail, '\n')))
		fail_msg("-%s: blanks in its detail", row->name);
	if (row->example && strncmp(row->example, "xdd ", 4) != 0)
		fail_msg("-%s: its example", row->name);
	if (row->hint && strchr(row->hint, '\n'))
		fail_msg("-%s: its hint", row->name);
}

static void check_type(const struct option *row, const struct option *of)
{
	bool arg = row->arg != NULL, ok = true;

	switch (row->type) {
	case OPT_FLAG:
	case OPT_REFUSED:
		ok = !arg;
		break;
	case OPT_SET:
		ok = !arg && (row->size == sizeof(bool) || row->size == sizeof(int));
		break;
	case OPT_BIT:
		ok = !arg && row->size == sizeof(unsigned);
		break;
	case OPT_U64:
	case OPT_SIZE:
	case OPT_SECONDS:
		ok = arg && row->min < row->max;
		break;
	case OPT_TEXT:
		ok = arg;
		break;
	case OPT_CHOICE:
		ok = arg && row->choices && row->choices[0].word;
		break;
	case OPT_SUB:
		ok = arg && option_sub(row, 0) && !of;
		break;
	case OPT_CUSTOM:
	case OPT_NAMES:
		ok = row->apply || (of && of->source);
		break;
	case OPT_ACTION:
		ok = row->act != NULL;
		break;
	}
	if (!ok)
		fail_msg("-%s: a row of type %d cannot be so", row->name, (int)row->type);
	if (row->scale && UINT64_MAX / row->scale < row->max)
		fail_msg("-%s: its largest value does not fit", row->name);
}

/* The size of the field that a row of this type stores into; 0: not fixed. */
static size_t field_size(enum option_type type)
{
	switch (type) {
	case OPT_U64:
	case OPT_SIZE:
	case OPT_SECONDS:
		return sizeof(uint64_t);
	case OPT_TEXT:
		return sizeof(const char *);
	case OPT_CHOICE:
		return sizeof(int);
	default:
		return 0;
	}
}

static void check_field(const struct option *row, const struct option *of)
{
	enum option_scope scope = of ? of->scope : row->scope;
	size_t end = scope == SCOPE_TARGET ? sizeof(struct target_plan) : sizeof(struct plan);
	size_t size = field_size(row->type);

	if (size && row->size != size)
		fail_msg("-%s: its field has %zu bytes, not %zu", row->name, row->size, size);
	if (row->off + row->size > end || row->sets >= end || row->selects >= end)
		fail_msg("-%s: a field is outside its struct", row->name);
}

static void check_default(const struct option *row, const struct option *of)
{
	uint64_t v = 0;

	(void)of;
	if (!row->def)
		return;
	if ((row->type == OPT_U64 && units_parse_u64(row->def, &v)) ||
	    (row->type == OPT_SIZE && units_parse_size(row->def, &v)) ||
	    (row->type == OPT_SECONDS && units_parse_seconds(row->def, &v)))
		fail_msg("-%s: its default %s is none", row->name, row->def);
	if (row->type <= OPT_SECONDS && row->type >= OPT_U64 && (v < row->min || v > row->max))
		fail_msg("-%s: its default %s is out of range", row->name, row->def);
}

static const char *seen[512];
static const struct option *seen_of[512];
static size_t n_seen;

static void see(const char *name, size_t len, const struct option *of)
{
	char *copy = strndup(name, len);

	assert_non_null(copy);
	assert_true(len > 0 && n_seen < sizeof(seen) / sizeof(seen[0]));
	for (size_t i = 0; i < n_seen; i++)
		if (seen_of[i] == of && strcmp(seen[i], copy) == 0)
			fail_msg("the name %s is given twice", copy);
	seen_of[n_seen] = of;
	seen[n_seen++] = copy;
}

static void check_names(const struct option *row, const struct option *of)
{
	const char *a = row->aliases;

	if (*row->name == '-' || strpbrk(row->name, " ="))
		fail_msg("%s: its name", row->name);
	see(row->name, strlen(row->name), of);
	for (; a && *a; a += strcspn(a, " "), a += strspn(a, " "))
		see(a, strcspn(a, " "), of);
	if ((of ? option_find_sub(of, row->name) : option_find(&run_options, row->name)) != row)
		fail_msg("-%s: is not found", row->name);
}

static void table(void **state)
{
	(void)state;
	each_row(check_text);
	each_row(check_type);
	each_row(check_field);
	each_row(check_default);
	n_seen = 0;
	each_row(check_names);
	assert_true(n_seen > 100);
	for (size_t i = 0; i < n_seen; i++) {
		char word[64];

		if (!seen_of[i]) {
			snprintf(word, sizeof(word), "-%s", seen[i]);
			assert_true(option_is_word(&run_options, word));
			snprintf(word, sizeof(word), "--%s", seen[i]);
			assert_true(option_is_word(&run_options, word));
			snprintf(word, sizeof(word), "---%s", seen[i]);
			assert_false(option_is_word(&run_options, word));
		}
		free((char *)seen[i]);
	}
	assert_null(option_find(&run_options, ""));
	assert_null(option_find(&run_options, "-op"));
	assert_null(option_find(&run_options, "OP"));
	assert_null(option_find(&run_options, "qd rs"));
	assert_false(option_is_word(&run_options, "op"));
	assert_false(option_is_word(&run_options, "-"));
	assert_false(option_is_word(&run_options, "--"));
	assert_false(option_is_word(&run_options, ""));
}

/* An option with a letter too few, too many or swapped leads back to it, or to one as near. */
static void check_suggestion(const struct option *row, const struct option *of)
{
	size_t len = strlen(row->name);
	char word[64];
	const char *found;

	if (of || row->type == OPT_REFUSED || len < 5)
		return;
	for (size_t i = 0; i < len; i++) {
		snprintf(word, sizeof(word), "%.*s%s", (int)i, row->name, row->name + i + 1);
		if (option_find(&run_options, word))
			continue;
		found = option_suggest(&run_options, word);
		if (!found || (suggest_distance(word, strlen(word), found) > 1 &&
			       strncmp(found, word, strlen(word)) != 0))
			fail_msg("-%s: %s is suggested, not -%s", word, found ? found : "nothing",
				 row->name);
	}
	snprintf(word, sizeof(word), "%sx", row->name);
	found = option_suggest(&run_options, word);
	assert_non_null(found);
	assert_true(suggest_distance(word, strlen(word), found) == 1);
}

static void suggestions(void **state)
{
	(void)state;
	each_row(check_suggestion);
	assert_string_equal(option_suggest(&run_options, "targts"), "targets");
	assert_string_equal(option_suggest(&run_options, "--queue"), "queuedepth");
	assert_string_equal(option_suggest(&run_options, "NumReqs"), "numreqs");
	assert_null(option_suggest(&run_options, "zzzzzz"));
	assert_null(option_suggest(&run_options, ""));
	assert_null(option_suggest(&run_options, "@"));
	/* Options that this version does not have are not suggested. */
	assert_null(option_suggest(&run_options, "multipat"));
}

static void distances(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned distance;
	} cases[] = {
		{ "", "", 0 },
		{ "a", "", 1 },
		{ "", "abc", 3 },
		{ "abc", "abc", 0 },
		{ "abc", "ABC", 0 },
		{ "abc", "abd", 1 },
		{ "abc", "ab", 1 },
		{ "abc", "abcd", 1 },
		{ "ab", "ba", 1 },
		{ "abcd", "acbd", 1 },
		{ "abcd", "badc", 2 },
		{ "ca", "abc", 3 },
		{ "kitten", "sitting", 3 },
		{ "rnadom", "random", 1 },
		{ "aaaa", "bbbb", 4 },
	};
	char longer[101];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *a = cases[i].a, *b = cases[i].b;

		assert_int_equal(suggest_distance(a, strlen(a), b), cases[i].distance);
		assert_int_equal(suggest_distance(b, strlen(b), a), cases[i].distance);
	}
	/* Only the first characters of a longer text. */
	assert_int_equal(suggest_distance("WHATEVER", 4, "WHAT"), 0);
	memset(longer, 'a', 100);
	longer[100] = '\0';
	assert_int_equal(suggest_distance(longer, 100, "a"), 100);
	assert_int_equal(suggest_distance(longer, 63, longer + 37), 0);

	assert_true(suggest_is_near(1, 3));
	assert_true(suggest_is_near(1, 2));
	assert_false(suggest_is_near(1, 1));
	assert_false(suggest_is_near(2, 3));
	assert_true(suggest_is_near(2, 4));
	assert_true(suggest_is_near(3, 8));
	assert_false(suggest_is_near(4, 8));
	assert_false(suggest_is_near(0, 0));
}

/* ---- whatever is written, the parser says yes or no ---- */

struct dice {
	struct random_sequence sequence;
	uint64_t n;
};

static uint64_t roll(struct dice *d, uint64_t sides)
{
	return random_below(&d->sequence, d->n++, sides);
}

static const char *odd_word(struct dice *d)
{
	static const char *const words[] = {
		"",
		"-",
		"--",
		"---",
		"0",
		"1",
		"2",
		"7",
		"-1",
		"4k",
		"1.5",
		"1e3",
		"0x10",
		"+5",
		" 5",
		"100",
		"null",
		"null",
		"null",
		"data",
		"empty",
		"nosuch",
		"list",
		"setup",
		"deeper",
		"target",
		"all",
		"0-1",
		"1-0",
		"0-",
		"read",
		"write",
		"noop",
		"random",
		"range",
		"seed",
		"stagger",
		"none",
		"load",
		"save",
		"interleave",
		"disthist",
		"absolute",
		"add",
		"new",
		"+WHAT",
		"+",
		"+OPS+",
		"commandline",
		"a=b",
		"-op=read",
		"#x",
		"'",
		"\"",
		"\\",
		"\n",
		"9223372036854775807",
		"9223372036854775808",
		"18446744073709551615",
		"18446744073709551616",
		"99999999999999999999999999999999",
		"-300",
		"9000",
		"%s%n%d",
		"\xff\xfe",
		"1m",
		"1ms",
		"100000h",
		"\x01",
		"-targts",
		"-nosuch",
	};

	return words[roll(d, sizeof(words) / sizeof(words[0]))];
}

static size_t n_options;
static const char *options[256];

static void list_option(const struct option *row, const struct option *of)
{
	/* Help prints, which is of no use here; refusals end the reading, so a few will do. */
	bool help = row->type == OPT_ACTION && strcmp(row->name, "setup") != 0;

	if (!of && !help && (row->type != OPT_REFUSED || n_options % 8 == 0))
		options[n_options++] = row->name;
}

/* An option, most often with something like its argument. Returns the number of words. */
static int add_option(struct dice *d, const char **argv, int left)
{
	static char names[MAX_WORDS][48];
	const char *name = options[roll(d, n_options)];
	const struct option *row = option_find(&run_options, name);
	static const char *const good_numbers[] = { "1", "2", "3", "4", "16", "1000", "999999999" };
	int n = 0;

	snprintf(names[left], sizeof(names[left]), "-%s", name);
	argv[n++] = names[left];
	if (row->scope == SCOPE_TARGET && n < left && roll(d, 6) == 0) {
		argv[n++] = "target";
		if (n < left)
			argv[n++] = (roll(d, 2) ? "0" : odd_word(d));
	}
	if (!row->arg || n >= left)
		return n;
	if (option_sub(row, 0) && roll(d, 4)) {
		size_t subs = 0;

		while (option_sub(row, subs))
			subs++;
		row = option_sub(row, roll(d, subs));
		argv[n++] = row->name;
		if (!row->arg || n >= left)
			return n;
	}
	if (row->choices && roll(d, 4))
		argv[n++] = row->choices[roll(d, 2)].word;
	else if ((row->type == OPT_U64 || row->type == OPT_SIZE || row->type == OPT_SECONDS) &&
		 roll(d, 4))
		argv[n++] = good_numbers[roll(d, 7)];
	else
		argv[n++] = odd_word(d);
	return n;
}

static int random_line(struct dice *d, const char **argv)
{
	static const char *const starts[] = { "-targets", "1",	"null", "-op",	    "read",
					      "-targets", "-3", "null", "-rwratio", "50" };
	int n = 0, most = 1 + (int)roll(d, MAX_WORDS - 24);

	argv[n++] = "xdd";
	if (roll(d, 4)) {
		size_t first = roll(d, 2) * 5;

		for (size_t i = 0; i < 5; i++)
			argv[n++] = starts[first + i];
	}
	while (n < most) {
		if (roll(d, 24) == 0)
			argv[n++] = odd_word(d);
		else
			n += add_option(d, argv + n, MAX_WORDS - 1 - n);
	}
	if (roll(d, 2) && n + 2 < MAX_WORDS) {
		argv[n++] = "-numreqs";
		argv[n++] = "5";
	}
	argv[n] = NULL;
	return n;
}

/* Setup files of the same kind of words, and now and then of mere bytes. */
static void random_setup(struct dice *d, const char *name)
{
	char text[1024];
	size_t n = 0;

	if (roll(d, 3) == 0) {
		static const char bytes[] = "-op read\n\n'\"\\# \t\r4k\1\377targets setup deeper";

		n = roll(d, 200);
		for (size_t i = 0; i < n; i++)
			text[i] = bytes[roll(d, sizeof(bytes) - (roll(d, 50) != 0))];
	} else {
		const char *argv[MAX_WORDS];
		int argc = random_line(d, argv);

		for (int i = 1; i < argc && n + 100 < sizeof(text); i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c", argv[i],
					      roll(d, 3) ? ' ' : '\n');
	}
	write_file(name, text, n);
}

/* Of this process: the machine may be busy with other tests. */
static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The properties of a plan that the run relies on. */
static void check_plan(const struct plan *p)
{
	for (size_t i = 0; i < p->n_targets; i++) {
		const struct target_plan *t = &p->targets[i];

		assert_true(t->op != OP_UNSET && t->kind != TARGET_UNKNOWN);
		assert_true(t->req_bytes >= 1 && t->req_bytes <= PLAN_MAX_REQUEST_BYTES);
		assert_true(t->queue_depth >= 1 && t->queue_depth <= 65536);
		assert_true(t->pass_ops >= 1);
		assert_true(t->last_op_bytes >= 1 && t->last_op_bytes <= t->req_bytes);
		assert_true(t->start_bytes <= INT64_MAX);
		assert_true(t->pass_bytes <= INT64_MAX || t->pass_ops == PLAN_UNLIMITED);
		if (t->pass_ops != PLAN_UNLIMITED && !t->rows)
			assert_int_equal((t->pass_ops - 1) * t->req_bytes + t->last_op_bytes,
					 t->pass_bytes);
		if (t->range_bytes)
			assert_true(t->range_bytes >= t->req_bytes);
		assert_true(t->seek.pattern != SEEK_LOAD || t->n_rows >= t->pass_ops);
	}
}

static void robustness(void **state)
{
	const struct random_key key = { .seed = 2006 };
	struct dice d = { .sequence = random_sequence(&key) };
	double start = cpu_s(), limit = ROBUSTNESS_LIMIT_S;
	unsigned accepted = 0;

	(void)state;
	n_options = 0;
	each_row(list_option);
	for (unsigned i = 0; i < ROBUSTNESS_RUNS; i++) {
		const char *argv[MAX_WORDS];
		int argc = random_line(&d, argv);
		enum xdd_status status;
		struct plan *p = NULL;
		const char *said;

		if (i % 16 == 0) {
			random_setup(&d, "setup");
			random_setup(&d, "deeper");
		}
		status = plan_build(argc, (char **)argv, &p);
		said = messages();
		if (status == XDD_OK && p) {
			check_plan(p);
			accepted++;
		} else if (status == XDD_OK || (p && status != XDD_TARGET_FAILED) ||
			   status > XDD_TARGET_FAILED || strncmp(said, "xdd: ", 5) != 0 ||
			   strchr(said, '\n') != said + strlen(said) - 1) {
			fail_msg("run %u: status %d: %s", i, (int)status, said);
		}
		plan_free(p);
		if (cpu_s() - start > limit)
			fail_msg("%u runs took more than %g s of CPU time", i + 1, limit);
	}
	/* Enough of them get through to be a test of more than the refusals. */
	assert_in_range(accepted, ROBUSTNESS_RUNS / 50, ROBUSTNESS_RUNS - ROBUSTNESS_RUNS / 10);
}

#define PARSE_TEST(name_) cmocka_unit_test_teardown(name_, forget_plan)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PARSE_TEST(defaults),	 PARSE_TEST(amount_of_work), PARSE_TEST(operations),
		PARSE_TEST(places),	 PARSE_TEST(loaded_list),    PARSE_TEST(scopes),
		PARSE_TEST(setup_files), PARSE_TEST(whole_run),	     PARSE_TEST(refused),
		PARSE_TEST(warnings),	 PARSE_TEST(table),	     PARSE_TEST(suggestions),
		PARSE_TEST(distances),	 PARSE_TEST(robustness),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
