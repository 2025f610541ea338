#include "xdd/report/deskew.h"

#include <inttypes.h>

#include "xdd/base/nstime.h"
#include "xdd/base/units.h"
#include "xdd/stat/flow.h"

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

static void write_span(FILE *f, const char *of, const char *what, const struct span *s)
{
	fprintf(f, "Deskew, %s, %s, %.6f, seconds, %" PRIu64 ", bytes, %.3f, MB/s, %.3f, Ops/s\n",
		of, what, (double)s->ns / (double)NS_PER_SEC, s->bytes, span_rate(s), span_iops(s));
}

void deskew_write(FILE *f, const struct deskew_result *d)
{
	char of[32] = "combined";

	if (d->pass)
		snprintf(of, sizeof(of), "pass %" PRIu64, d->pass);
	write_span(f, of, "whole", &d->whole);
	write_span(f, of, "head", &d->head);
	write_span(f, of, "window", &d->window);
	write_span(f, of, "tail", &d->tail);
	fprintf(f,
		"Fairness, %s, %.3f, slowest, target %" PRIu32
		", %.3f, MB/s, fastest, target %" PRIu32 ", %.3f, MB/s\n",
		of, d->fairness, d->slowest.target, span_rate(&d->slowest.own), d->fastest.target,
		span_rate(&d->fastest.own));
}
