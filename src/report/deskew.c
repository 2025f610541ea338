#include "xdd/report/deskew.h"

#include <inttypes.h>

#include "xdd/base/nstime.h"
#include "xdd/base/units.h"
#include "xdd/stat/flow.h"

double stretch_rate(const struct stretch *s)
{
	return s->ns ? (double)s->bytes * 1e3 / (double)s->ns : 0;
}

double stretch_ops(const struct stretch *s)
{
	return (double)s->op_units / FLOW_OP;
}

double stretch_iops(const struct stretch *s)
{
	return s->ns ? stretch_ops(s) * (double)NS_PER_SEC / (double)s->ns : 0;
}

static void write_stretch(FILE *f, const char *of, const char *what, const struct stretch *s)
{
	fprintf(f, "Deskew, %s, %s, %.6f, seconds, %" PRIu64 ", bytes, %.3f, MB/s, %.3f, Ops/s\n",
		of, what, (double)s->ns / (double)NS_PER_SEC, s->bytes, stretch_rate(s),
		stretch_iops(s));
}

void deskew_write(FILE *f, const struct deskew_result *d)
{
	char of[32] = "combined";

	if (d->pass)
		snprintf(of, sizeof(of), "pass %" PRIu64, d->pass);
	write_stretch(f, of, "whole", &d->whole);
	write_stretch(f, of, "head", &d->head);
	write_stretch(f, of, "window", &d->window);
	write_stretch(f, of, "tail", &d->tail);
	fprintf(f,
		"Fairness, %s, %.3f, slowest, target %" PRIu32
		", %.3f, MB/s, fastest, target %" PRIu32 ", %.3f, MB/s\n",
		of, d->fairness, d->slowest.target, stretch_rate(&d->slowest.own),
		d->fastest.target, stretch_rate(&d->fastest.own));
}
