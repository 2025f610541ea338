#include "xdd/report/deskew.h"

#include <inttypes.h>

#include "xdd/base/units.h"
#include "xdd/stat/histogram.h"

double span_rate(const struct span *s)
{
	return s->ns ? (double)s->bytes * 1e3 / (double)s->ns : 0;
}

double span_ops(const struct span *s)
{
	return (double)s->op_units / FLOW_OP;
}

double span_iops(const struct span *s)
{
	return s->ns ? span_ops(s) * (double)NS_PER_SEC / (double)s->ns : 0;
}

/* A rate, or "-" where the interval is empty, so that there is none. */
static void write_rate(FILE *f, const struct span *s, double rate, const char *unit)
{
	if (s->ns)
		fprintf(f, ", %.3f, %s", rate, unit);
	else
		fprintf(f, ", -, %s", unit);
}

void span_write(FILE *f, const char *of, const char *what, const struct span *s)
{
	fprintf(f, "%s, %s, %.6f, seconds, %" PRIu64 ", bytes", of, what,
		(double)s->ns / (double)NS_PER_SEC, s->bytes);
	write_rate(f, s, span_rate(s), "MB/s");
	write_rate(f, s, span_iops(s), "Ops/s");
	fputc('\n', f);
}

void deskew_write(FILE *f, const struct deskew_result *d)
{
	char pass[32] = "combined", of[48];

	if (d->pass)
		snprintf(pass, sizeof(pass), "pass %" PRIu64, d->pass);
	snprintf(of, sizeof(of), "Deskew, %s", pass);
	span_write(f, of, "whole", &d->whole);
	span_write(f, of, "head", &d->head);
	span_write(f, of, "window", &d->window);
	span_write(f, of, "tail", &d->tail);
	fprintf(f, "Fairness, %s, %.3f, slowest, target %" PRIu32, pass, d->fairness,
		d->slowest.target);
	write_rate(f, &d->slowest.own, span_rate(&d->slowest.own), "MB/s");
	fprintf(f, ", fastest, target %" PRIu32, d->fastest.target);
	write_rate(f, &d->fastest.own, span_rate(&d->fastest.own), "MB/s");
	fputc('\n', f);
}
