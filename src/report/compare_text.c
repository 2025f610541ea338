/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of comparisons: changes, their intervals and their verdicts; see the header. Called by
 * the command and by the page.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "xdd/report/compare.h"
#include "xdd/report/rule.h"

/* From ten times on, a change is a factor: "+60882 %" is hard to read. */
#define FACTOR_LEAST 10

/* A smaller ratio would round to -100.0 %, as if nothing were left. */
#define PERCENT_LEAST 0.0005

static bool is_factor(double ratio)
{
	return ratio >= FACTOR_LEAST || ratio < PERCENT_LEAST;
}

/* "0.43", "1.25", "12.5", "610" */
static void put_factor(double ratio, char buf[COMPARE_TEXT])
{
	if (ratio < 1)
		snprintf(buf, COMPARE_TEXT, "%.2g", ratio);
	else if (ratio < 1e6)
		snprintf(buf, COMPARE_TEXT, "%.*f", ratio < 10 ? 2 : ratio < 100 ? 1 : 0, ratio);
	else
		snprintf(buf, COMPARE_TEXT, "%.1e", ratio);
}

static void put_change(double ratio, bool factor, char buf[COMPARE_TEXT])
{
	if (!isfinite(ratio)) {
		strcpy(buf, "-");
	} else if (factor) {
		put_factor(ratio, buf);
		strcat(buf, " times");
	} else {
		snprintf(buf, COMPARE_TEXT, "%+.1f %%", 100 * (ratio - 1));
	}
}

static void put_range(double low, double high, bool factor, char buf[COMPARE_TEXT])
{
	char from[COMPARE_TEXT], to[COMPARE_TEXT];

	put_change(high, factor, to);
	if (factor)
		put_factor(low, from);
	else
		snprintf(from, sizeof(from), "%+.1f", 100 * (low - 1));
	snprintf(buf, COMPARE_TEXT, "%.28s to %.28s", from, to);
}

const char *compare_change_text(double ratio, char buf[COMPARE_TEXT])
{
	put_change(ratio, is_factor(ratio), buf);
	return buf;
}

const char *compare_range_text(double low, double high, char buf[COMPARE_TEXT])
{
	put_range(low, high, is_factor(low) || is_factor(high), buf);
	return buf;
}

/* The words of a verdict, and the reason where it is not plain. */
static const struct {
	const char *word;
	const char *passes, *rounds; /* the reason, of runs and of sweeps */
} verdicts[] = {
	[COMPARE_NO_FIGURE] = { "", "", "" },
	[COMPARE_UNKNOWN] = { "unknown", RULE_TOO_FEW_PASSES, RULE_TOO_FEW_WORDS },
	[COMPARE_CHANCE] = { "may be chance", "", "" },
	[COMPARE_UNSTABLE] = { COMPARE_UNSTEADY, COMPARE_UNSTEADY_PASSES, COMPARE_UNSTEADY_ROUNDS },
	[COMPARE_OFFERED] = { "offers differ", "", "" },
	[COMPARE_REAL] = { "real", "", "" },
};

/* True if an interval says something: one that proves a difference does, however wide it is. */
static bool is_telling(const struct compare_figure *f)
{
	return f->verdict == COMPARE_REAL ||
	       !rule_too_few(100 * (sqrt(f->ratio.high / f->ratio.low) - 1));
}

void compare_texts(struct compare_texts *t, const struct compare_subject *s,
		   const struct compare_figure *f)
{
	const bool known = f->verdict > COMPARE_UNKNOWN, telling = known && is_telling(f);
	const bool factor = is_factor(f->ratio.ratio) ||
			    (telling && (is_factor(f->ratio.low) || is_factor(f->ratio.high)));

	*t = (struct compare_texts){ .verdict = verdicts[f->verdict].word };
	t->reason = s->rounds ? verdicts[f->verdict].rounds : verdicts[f->verdict].passes;
	put_change(f->ratio.ratio, factor, t->change);
	if (telling)
		put_range(f->ratio.low, f->ratio.high, factor, t->interval);
	else if (known)
		strcpy(t->interval, s->rounds ? RULE_TOO_FEW_WORDS : RULE_TOO_FEW_PASSES);
}
