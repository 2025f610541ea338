/*
 * Lines of the heartbeat: doc/output.md. Called by the heartbeat's thread and where a signal asks.
 */
#include "xdd/report/heartbeat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/units.h"
#include "xdd/report/info.h"

#define KIB 1024.0
#define UNKNOWN (-1.0)
#define NS_PER_MS 1e6

static double seconds(uint64_t ns)
{
	return (double)ns / (double)UNITS_NS_PER_SEC;
}

static double per_second(const struct heartbeat_sample *s, double n)
{
	return s->elapsed_ns ? n / seconds(s->elapsed_ns) : UNKNOWN;
}

/* How much of the pass is done, 0 to 1: of its operations, or of its time where only that ends it. */
static double share(const struct heartbeat_sample *s)
{
	uint64_t ops = s->target->pass_ops;
	double done = UNKNOWN;

	if (s->state == HEARTBEAT_COMPLETE)
		return 1;
	if (ops != PLAN_UNLIMITED)
		done = (double)s->done_ops / (double)ops;
	else if (s->limit_ns)
		done = (double)s->elapsed_ns / (double)s->limit_ns;
	return done > 1 ? 1 : done;
}

static double percent(const struct heartbeat_sample *s)
{
	double done = share(s);

	return done < 0 ? UNKNOWN : done * 100;
}

/* Seconds until the pass is done, if it goes on as it has. */
static double time_left(const struct heartbeat_sample *s)
{
	double done = share(s), left;

	if (s->state == HEARTBEAT_COMPLETE || s->state == HEARTBEAT_CUT)
		return 0;
	if (done <= 0)
		return UNKNOWN;
	left = seconds(s->elapsed_ns) / done - seconds(s->elapsed_ns);
	/* A limit comes first where the operations would take longer. */
	if (s->limit_ns) {
		uint64_t ns = s->limit_ns > s->elapsed_ns ? s->limit_ns - s->elapsed_ns : 0;

		left = seconds(ns) < left ? seconds(ns) : left;
	}
	return left;
}

char *heartbeat_path(const struct target_plan *t)
{
	char *path;

	if (asprintf(&path, "%s.T%04" PRIu32 ".csv", t->heartbeat.output, t->number) < 0)
		return NULL;
	return path;
}

static int write_header(struct outfile *o, const struct heartbeat_options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	heartbeat_header(f, options);
	fputc('\n', f);
	if (fclose(f) == 0)
		outfile_write(o, text, size);
	free(text);
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

static void write_legend(FILE *f, const struct heartbeat_time *when,
			 const struct heartbeat_sample *s)
{
	const struct heartbeat_options *o = s->options;

	fprintf(f, "Pass,%04" PRIu64 ",", s->pass);
	if (o->hostname) {
		char host[256] = "";

		gethostname(host, sizeof(host) - 1);
		fprintf(f, "/HOST,%s,", host);
	}
	if (o->tod) {
		char now[INFO_TIME_SIZE];

		fprintf(f, "/TOD,%s,", info_time(now));
	}
	if (o->elapsed)
		fprintf(f, "/ELAPSED,%.0f,", seconds(when->run_ns));
	fprintf(f, "%s%s%s%s%s%s%s%s%s%s%s", o->target ? "/TARGET" : "", o->ops ? "/OPS" : "",
		o->bytes ? "/BYTES" : "", o->kbytes ? "/KB" : "", o->mbytes ? "/MB" : "",
		o->gbytes ? "/GB" : "", o->bw ? "/BW" : "", o->iops ? "/IOPS" : "",
		o->pct ? "/PCT" : "", o->etc ? "/ET" : "", o->latency ? "/LAT" : "");
}

static void write_group(FILE *f, const struct heartbeat_time *when,
			const struct heartbeat_sample *s)
{
	const struct heartbeat_options *o = s->options;
	double bytes = (double)s->bytes;

	if (s->state == HEARTBEAT_WAITING) {
		fputs(" + WAITING", f);
		return;
	}
	fprintf(f, " + [%c]", s->state == HEARTBEAT_COMPLETE ? '*' : "|/-\\"[when->beat % 4]);
	if (o->target)
		fprintf(f, ",%04" PRIu32 ",tgt", s->target->number);
	if (o->ops)
		fprintf(f, ",%010" PRIu64 ",ops", s->ops);
	if (o->bytes)
		fprintf(f, ",%015" PRIu64 ",B", s->bytes);
	if (o->kbytes)
		fprintf(f, ",%013.1f,KiB", bytes / KIB);
	if (o->mbytes)
		fprintf(f, ",%010.1f,MiB", bytes / (KIB * KIB));
	if (o->gbytes)
		fprintf(f, ",%07.1f,GiB", bytes / (KIB * KIB * KIB));
	if (o->bw)
		fprintf(f, ",%06.2f,MBps", per_second(s, bytes / 1e6));
	if (o->iops)
		fprintf(f, ",%06.2f,iops", per_second(s, (double)s->ops));
	if (o->pct)
		fprintf(f, ",%4.2f%%", percent(s));
	if (o->etc)
		fprintf(f, ",%07.0f,s", time_left(s));
	if (o->latency)
		fprintf(f, ",%.6f,ms_p50,%.6f,ms_p99,%.6f,ms_max", (double)s->median_ns / NS_PER_MS,
			(double)s->p99_ns / NS_PER_MS, (double)s->longest_ns / NS_PER_MS);
}

void heartbeat_line(FILE *f, const struct heartbeat_time *when,
		    const struct heartbeat_sample *samples, size_t n)
{
	write_legend(f, when, &samples[0]);
	for (size_t i = 0; i < n; i++)
		write_group(f, when, &samples[i]);
}

void heartbeat_header(FILE *f, const struct heartbeat_options *o)
{
	fprintf(f, "Pass_label,Pass%s%s%s,Fields", o->hostname ? ",Host_label,Host" : "",
		o->tod ? ",Time_label,Time" : "", o->elapsed ? ",Elapsed_label,Elapsed" : "");
	fprintf(f, "%s%s%s%s%s%s%s%s%s%s%s", o->target ? ",Target,Target_unit" : "",
		o->ops ? ",Ops,Ops_unit" : "", o->bytes ? ",Bytes,Bytes_unit" : "",
		o->kbytes ? ",KBytes,KBytes_unit" : "", o->mbytes ? ",MBytes,MBytes_unit" : "",
		o->gbytes ? ",GBytes,GBytes_unit" : "", o->bw ? ",Bandwidth,Bandwidth_unit" : "",
		o->iops ? ",IOPS,IOPS_unit" : "", o->pct ? ",Percent" : "",
		o->etc ? ",Time_left,Time_left_unit" : "",
		o->latency ? ",P50,P50_unit,P99,P99_unit,Max,Max_unit" : "");
}

void heartbeat_progress(FILE *f, const struct plan *plan, const struct heartbeat_sample *samples,
			size_t n)
{
	double bytes = 0, ops = 0, done = 1, left = 0;
	uint64_t pass = UINT64_MAX, elapsed_ns = 0;

	/* The pass is done when the last target is. */
	for (size_t i = 0; i < n; i++) {
		const struct heartbeat_sample *s = &samples[i];
		double target_share = share(s), target_left = time_left(s);

		bytes += (double)s->bytes;
		ops += (double)s->ops;
		pass = s->pass < pass ? s->pass : pass;
		elapsed_ns = s->elapsed_ns > elapsed_ns ? s->elapsed_ns : elapsed_ns;
		done = target_share < done ? target_share : done;
		if (left >= 0)
			left = target_left < 0 ? UNKNOWN : target_left > left ? target_left : left;
	}
	fprintf(f, "pass %" PRIu64 " of %" PRIu64, pass, plan->passes);
	if (done >= 0)
		fprintf(f, ", %.0f %%", done * 100);
	if (elapsed_ns)
		fprintf(f, ", %.1f MB/s, %.0f ops/s", bytes / 1e6 / seconds(elapsed_ns),
			ops / seconds(elapsed_ns));
	if (left >= 0)
		fprintf(f, ", %.0f s left", left);
}
