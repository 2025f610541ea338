/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of the heartbeat, how long a run will still take, and progress for programs:
 * doc/output.md. Called by the heartbeat's thread, where a signal asks, by an attached run and by
 * xdd multi.
 */
#include "xdd/report/heartbeat.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/info.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"

/*
 * How long a run will still take; see heartbeat.h. Called by the heartbeat's thread, and where a
 * signal asks.
 */

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NS_PER_SEC;
}

/*
 * How long a pass of the target takes; infinite where only the end of the run ends it, NAN where
 * it is not known.
 */
static double pass_seconds(const struct heartbeat_sample *s)
{
	uint64_t limit_ns = s->target->time_limit_ns, ops = s->target->pass_ops;
	double limit = limit_ns ? seconds(limit_ns) : INFINITY;

	if (s->state == HEARTBEAT_COMPLETE)
		return seconds(s->elapsed_ns);
	if (ops == PLAN_UNLIMITED)
		return limit;
	if (s->state == HEARTBEAT_WAITING || !s->done_ops || !s->elapsed_ns)
		return NAN;
	/* A limit comes first where the operations would take longer. */
	return fmin(seconds(s->elapsed_ns) * (double)ops / (double)s->done_ops, limit);
}

static double left_of_pass(const struct heartbeat_sample *s, double whole)
{
	double elapsed = s->state == HEARTBEAT_WAITING ? 0 : seconds(s->elapsed_ns);

	return s->state == HEARTBEAT_COMPLETE ? 0 : fmax(whole - elapsed, 0);
}

/* How much of the time between two passes has gone by; `between` is all of it. */
static double rested(const struct heartbeat_sample *s, double between)
{
	return s->state == HEARTBEAT_COMPLETE ? fmin(seconds(s->rested_ns), between) : 0;
}

/* Of a target by itself, which waits for no other one between its passes. */
static double left_alone(const struct plan *plan, const struct heartbeat_sample *s)
{
	double whole = pass_seconds(s);
	double later = s->pass < plan->passes ? (double)(plan->passes - s->pass) : 0;
	double between = seconds(s->target->delay_ns) + seconds(plan->pass_delay_ns);

	if (!later)
		return left_of_pass(s, whole);
	return left_of_pass(s, whole) + later * (whole + between) - rested(s, between);
}

/* The pass that the first of the targets are in, and the time since all were released into it. */
static uint64_t first_pass(const struct plan *plan, const struct heartbeat_sample *samples,
			   double *since)
{
	uint64_t pass = 0;

	for (size_t i = 0; i < plan->n_targets; i++)
		pass = samples[i].pass > pass ? samples[i].pass : pass;
	*since = 0;
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct heartbeat_sample *s = &samples[i];

		if (s->pass == pass && s->state != HEARTBEAT_WAITING)
			*since = fmax(*since, seconds(s->target->delay_ns) +
						      seconds(s->elapsed_ns) + rested(s, INFINITY));
	}
	return pass;
}

/* Of all targets, which are released into each pass together. */
static double left_together(const struct plan *plan, const struct heartbeat_sample *samples)
{
	const double pass_delay = seconds(plan->pass_delay_ns);
	double longest = 0, left = 0, rest = INFINITY, later, since;
	const uint64_t pass = first_pass(plan, samples, &since);

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct heartbeat_sample *s = &samples[i];
		const double whole = pass_seconds(s), delay = seconds(s->target->delay_ns);

		if (isnan(whole))
			return NAN;
		longest = fmax(longest, whole + delay);
		if (s->state != HEARTBEAT_WAITING && s->pass == pass) {
			left = fmax(left, left_of_pass(s, whole));
			rest = fmin(rest, rested(s, pass_delay + delay));
		} else {
			/* Its start delay goes on, and all of the pass follows. */
			left = fmax(left, whole + (since > 0 ? fmax(delay - since, 0) : 0));
			rest = 0;
		}
	}
	later = pass < plan->passes ? (double)(plan->passes - pass) : 0;
	return later ? left + later * (longest + pass_delay) - rest : left;
}

double heartbeat_left(const struct plan *plan, const struct heartbeat_sample *samples,
		      double limit_s)
{
	double left = 0;

	if (plan->no_barrier) {
		for (size_t i = 0; i < plan->n_targets && !isnan(left); i++) {
			double own = left_alone(plan, &samples[i]);

			left = isnan(own) ? NAN : fmax(left, own);
		}
	} else {
		left = left_together(plan, samples);
	}
	/* The number of passes is not known beforehand. */
	if (plan->until_percent)
		left = NAN;
	left = isnan(left) ? limit_s : fmin(left, limit_s);
	return isfinite(left) ? left : HEARTBEAT_UNKNOWN;
}

#define MARK PROGRESS_LINE_MARK "1 "
#define ALL_PPM 1000000

static const char *const states[] = {
	[PROGRESS_READY] = "ready",
	[PROGRESS_RUNNING] = "running",
	[PROGRESS_ENDING] = "ending",
};

size_t progress_line_encode(const struct progress_line *p, char text[PROGRESS_LINE_SIZE])
{
	int n = snprintf(text, PROGRESS_LINE_SIZE,
			 MARK "%s pass=%" PRIu64 " passes=%" PRIu64 " done=%" PRId64
			      " bytes=%" PRIu64 " ops=%" PRIu64 " elapsed=%" PRIu64 " left=%" PRId64
			      "\n",
			 states[p->state], p->pass, p->passes, p->done_ppm, p->bytes, p->ops,
			 p->elapsed_ns, p->left_s);

	return (size_t)n;
}

/* Read `label` and a number up to `max` after it, and move `*text` past both. */
static bool take_number(const char **text, const char *label, uint64_t max, uint64_t *out)
{
	size_t length = strlen(label);
	const char *c = *text + length;
	uint64_t n = 0;

	if (strncmp(*text, label, length) != 0 || !isdigit((unsigned char)*c))
		return false;
	for (; isdigit((unsigned char)*c); c++) {
		unsigned digit = (unsigned)(*c - '0');

		if (n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*text = c;
	*out = n;
	return true;
}

/* As take_number(), for a number that may be unknown, -1. */
static bool take_known(const char **text, const char *label, uint64_t max, int64_t *out)
{
	size_t length = strlen(label);
	uint64_t n = 0;

	if (strncmp(*text, label, length) == 0 && strncmp(*text + length, "-1", 2) == 0) {
		*text += length + 2;
		*out = -1;
		return true;
	}
	if (!take_number(text, label, max, &n))
		return false;
	*out = (int64_t)n;
	return true;
}

static bool take_state(const char **text, enum progress_state *state)
{
	for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		size_t length = strlen(states[i]);

		if (strncmp(*text, states[i], length) == 0) {
			*text += length;
			*state = (enum progress_state)i;
			return true;
		}
	}
	return false;
}

int progress_line_decode(const char *text, struct progress_line *p)
{
	memset(p, 0, sizeof(*p));
	if (strncmp(text, PROGRESS_LINE_MARK, sizeof(PROGRESS_LINE_MARK) - 1) != 0)
		return -ENOMSG;
	if (strncmp(text, MARK, sizeof(MARK) - 1) != 0)
		return -EBADMSG;
	text += sizeof(MARK) - 1;
	if (take_state(&text, &p->state) && take_number(&text, " pass=", UINT64_MAX, &p->pass) &&
	    take_number(&text, " passes=", UINT64_MAX, &p->passes) &&
	    take_known(&text, " done=", ALL_PPM, &p->done_ppm) &&
	    take_number(&text, " bytes=", UINT64_MAX, &p->bytes) &&
	    take_number(&text, " ops=", UINT64_MAX, &p->ops) &&
	    take_number(&text, " elapsed=", UINT64_MAX, &p->elapsed_ns) &&
	    take_known(&text, " left=", INT64_MAX, &p->left_s) && !*text)
		return 0;
	return -EBADMSG;
}

#define KIB 1024.0

double heartbeat_share(const struct heartbeat_sample *s)
{
	uint64_t ops = s->target->pass_ops;
	double done = HEARTBEAT_UNKNOWN;

	if (s->state == HEARTBEAT_COMPLETE)
		return 1;
	if (ops != PLAN_UNLIMITED)
		done = (double)s->done_ops / (double)ops;
	else if (s->limit_ns)
		done = (double)s->elapsed_ns / (double)s->limit_ns;
	return done > 1 ? 1 : done;
}

/* ---- fields ---- */

typedef void put_field(FILE *f, const struct heartbeat_sample *s);

static void put_target(FILE *f, const struct heartbeat_sample *s)
{
	fprintf(f, ",%04" PRIu32 ",tgt", s->target->number);
}

static void put_ops(FILE *f, const struct heartbeat_sample *s)
{
	fprintf(f, ",%010" PRIu64 ",ops", s->ops);
}

static void put_bytes(FILE *f, const struct heartbeat_sample *s)
{
	fprintf(f, ",%015" PRIu64 ",B", s->bytes);
}

static void put_kbytes(FILE *f, const struct heartbeat_sample *s)
{
	fprintf(f, ",%013.1f,KiB", (double)s->bytes / KIB);
}

static void put_mbytes(FILE *f, const struct heartbeat_sample *s)
{
	fprintf(f, ",%010.1f,MiB", (double)s->bytes / (KIB * KIB));
}

static void put_gbytes(FILE *f, const struct heartbeat_sample *s)
{
	fprintf(f, ",%07.1f,GiB", (double)s->bytes / (KIB * KIB * KIB));
}

static double per_second(const struct heartbeat_sample *s, double n)
{
	return s->recent_ns ? n / seconds(s->recent_ns) : HEARTBEAT_UNKNOWN;
}

static void put_bw(FILE *f, const struct heartbeat_sample *s)
{
	fprintf(f, ",%06.2f,MBps", per_second(s, (double)s->recent_bytes / 1e6));
}

static void put_iops(FILE *f, const struct heartbeat_sample *s)
{
	fprintf(f, ",%06.2f,iops", per_second(s, (double)s->recent_ops));
}

static void put_pct(FILE *f, const struct heartbeat_sample *s)
{
	double done = heartbeat_share(s);

	fprintf(f, ",%4.2f%%", done < 0 ? HEARTBEAT_UNKNOWN : done * 100);
}

static void put_etc(FILE *f, const struct heartbeat_sample *s)
{
	fprintf(f, ",%07.0f,s", s->state == HEARTBEAT_CUT ? 0 : s->left_s);
}

/* "-" for a percentile of too few operations. */
static void put_ms(FILE *f, double ns, const char *unit)
{
	if (isnan(ns))
		fprintf(f, ",-,%s", unit);
	else
		fprintf(f, ",%.6f,%s", ns / NS_PER_MS, unit);
}

static void put_latency(FILE *f, const struct heartbeat_sample *s)
{
	put_ms(f, s->median_ns, "ms_p50");
	put_ms(f, s->p99_ns, "ms_p99");
	put_ms(f, (double)s->longest_ns, "ms_max");
}

#define FIELD(bit_, name_, legend_, columns_, put_)                                             \
	{                                                                                       \
		.bit = HEARTBEAT_##bit_, .name = name_, .legend = legend_, .columns = columns_, \
		.put = put_,                                                                    \
	}

/* In the order of the line; those without a legend are in it, with their values. */
static const struct field {
	unsigned bit;
	const char *name;    /* in the information section */
	const char *legend;  /* in each line; NULL: none of its own */
	const char *columns; /* in the header of a file: a comma before each value */
	put_field *put;
} fields[] = {
	FIELD(TOD, "/TOD", NULL, NULL, NULL),
	FIELD(ELAPSED, "/ELAPSED", NULL, NULL, NULL),
	FIELD(HOSTNAME, "/HOSTNAME", NULL, NULL, NULL),
	FIELD(TARGET, "/Target#", "/TARGET", ",Target,Target_unit", put_target),
	FIELD(OPS, "/Ops", "/OPS", ",Ops,Ops_unit", put_ops),
	FIELD(BYTES, "/Bytes", "/BYTES", ",Bytes,Bytes_unit", put_bytes),
	FIELD(KBYTES, "/KBytes", "/KB", ",KBytes,KBytes_unit", put_kbytes),
	FIELD(MBYTES, "/MBytes", "/MB", ",MBytes,MBytes_unit", put_mbytes),
	FIELD(GBYTES, "/GBytes", "/GB", ",GBytes,GBytes_unit", put_gbytes),
	FIELD(BW, "/Bandwidth", "/BW", ",Bandwidth,Bandwidth_unit", put_bw),
	FIELD(IOPS, "/IOPS", "/IOPS", ",IOPS,IOPS_unit", put_iops),
	FIELD(PCT, "/PercentComplete", "/PCT", ",Percent", put_pct),
	FIELD(ETC, "/EstimatedTimeLeft", "/ET", ",Time_left,Time_left_unit", put_etc),
	FIELD(LATENCY, "/Latency", "/LAT", ",P50,P50_unit,P99,P99_unit,Max,Max_unit", put_latency),
	FIELD(LF, "/LF", NULL, NULL, NULL),
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Field `i` has a value of its own in the lines of `o`. */
static bool is_shown(const struct heartbeat_options *o, size_t i)
{
	return fields[i].put && o->fields & fields[i].bit;
}

void heartbeat_field_names(FILE *f, const struct heartbeat_options *o)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (o->fields & fields[i].bit)
			fputs(fields[i].name, f);
	}
}

/* ---- files ---- */

char *heartbeat_path(const struct target_plan *t)
{
	char *path;

	if (asprintf(&path, "%s.T%04" PRIu32 ".csv", t->heartbeat.output, t->number) < 0)
		return NULL;
	return path;
}

static int write_header(struct outfile *o, const struct heartbeat_options *options)
{
	struct memstream m;

	if (!memstream_open(&m))
		return -ENOMEM;
	heartbeat_header(m.f, options);
	fputc('\n', m.f);
	if (!memstream_close(&m))
		outfile_write(o, m.text, m.size);
	free(m.text);
	return 0;
}

int heartbeat_open(struct outfile *o, const struct target_plan *t)
{
	char *path = heartbeat_path(t);
	int err = path ? outfile_open(o, path) : -ENOMEM;

	free(path);
	if (err)
		return err;
	/* Not a pipe or a device, which cannot be cut off and need not be. */
	if (!t->heartbeat.append && !o->empty && ftruncate(o->fd, 0) == 0) {
		o->empty = true;
		o->mid_line = false;
	}
	return o->empty ? write_header(o, &t->heartbeat) : 0;
}

/* ---- lines ---- */

static void write_legend(FILE *f, const struct heartbeat_time *when,
			 const struct heartbeat_sample *s)
{
	const struct heartbeat_options *o = s->options;

	fprintf(f, "Pass,%04" PRIu64 ",", s->pass);
	if (o->fields & HEARTBEAT_HOSTNAME) {
		char host[256] = "";

		gethostname(host, sizeof(host) - 1);
		fprintf(f, "/HOST,%s,", host);
	}
	if (o->fields & HEARTBEAT_TOD) {
		char now[INFO_TIME_SIZE];

		fprintf(f, "/TOD,%s,", info_time(now));
	}
	if (o->fields & HEARTBEAT_ELAPSED)
		fprintf(f, "/ELAPSED,%.0f,", seconds(when->run_ns));
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (is_shown(o, i))
			fputs(fields[i].legend, f);
	}
}

/* A target that waits has no values; `padded` keeps their columns. */
static void write_group(FILE *f, const struct heartbeat_time *when,
			const struct heartbeat_sample *s, bool padded)
{
	bool waiting = s->state == HEARTBEAT_WAITING;

	if (waiting)
		fputs(" + WAITING", f);
	else
		fprintf(f, " + [%c]",
			s->state == HEARTBEAT_COMPLETE ? '*' : "|/-\\"[when->beat % 4]);
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (!is_shown(s->options, i))
			continue;
		if (!waiting)
			fields[i].put(f, s);
		for (const char *c = fields[i].columns; waiting && padded && *c; c++) {
			if (*c == ',')
				fputc(',', f);
		}
	}
}

/* One legend is right for both. */
static bool is_alike(const struct heartbeat_sample *a, const struct heartbeat_sample *b)
{
	return a->pass == b->pass &&
	       !((a->options->fields ^ b->options->fields) & ~(unsigned)HEARTBEAT_LF);
}

void heartbeat_line(FILE *f, const struct heartbeat_time *when,
		    const struct heartbeat_sample *samples, size_t n, char separator)
{
	for (size_t i = 0; i < n; i++) {
		bool first = i == 0 || !is_alike(&samples[i - 1], &samples[i]);

		if (first && i)
			fputc(separator, f);
		if (first)
			write_legend(f, when, &samples[i]);
		write_group(f, when, &samples[i], false);
	}
}

void heartbeat_row(FILE *f, const struct heartbeat_time *when, const struct heartbeat_sample *s)
{
	write_legend(f, when, s);
	write_group(f, when, s, true);
}

void heartbeat_header(FILE *f, const struct heartbeat_options *o)
{
	fprintf(f, "Pass_label,Pass%s%s%s,Fields",
		o->fields & HEARTBEAT_HOSTNAME ? ",Host_label,Host" : "",
		o->fields & HEARTBEAT_TOD ? ",Time_label,Time" : "",
		o->fields & HEARTBEAT_ELAPSED ? ",Elapsed_label,Elapsed" : "");
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (is_shown(o, i))
			fputs(fields[i].columns, f);
	}
}

void heartbeat_progress(FILE *f, const struct plan *plan, const struct heartbeat_sample *samples,
			size_t n)
{
	double bytes = 0, ops = 0, done = 1;
	uint64_t pass = UINT64_MAX, elapsed_ns = 0;
	char rate[SCALED_SIZE], iops[SCALED_SIZE];

	/* The pass is done when the last target is. */
	for (size_t i = 0; i < n; i++) {
		const struct heartbeat_sample *s = &samples[i];
		double target_share = heartbeat_share(s);

		bytes += (double)s->bytes;
		ops += (double)s->ops;
		pass = s->pass < pass ? s->pass : pass;
		elapsed_ns = s->elapsed_ns > elapsed_ns ? s->elapsed_ns : elapsed_ns;
		done = target_share < done ? target_share : done;
	}
	fprintf(f, "pass %" PRIu64 " of %" PRIu64, pass, plan->passes);
	if (done >= 0)
		fprintf(f, ", %.0f %%", done * 100);
	if (elapsed_ns)
		fprintf(f, ", %s, %s", scaled_rate(bytes / seconds(elapsed_ns), rate),
			scaled_ops(ops / seconds(elapsed_ns), iops));
	if (samples[0].left_s >= 0)
		fprintf(f, ", %.0f s left", samples[0].left_s);
}
