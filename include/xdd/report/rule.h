/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules by which xdd judges figures: lines of the verdict, warnings, findings in documents of
 * sweeps, and the doubts of "xdd FILE". rules.def is the table; doc/reading-results.md shows it.
 */
#ifndef XDD_REPORT_RULE_H
#define XDD_REPORT_RULE_H

#include <inttypes.h>
#include <stdbool.h>

#define RULE(id, ...) RULE_##id,
enum rule_id {
#include "xdd/report/rules.def"
	RULES,
};
#undef RULE

/* Rules before this one are findings of a run. Journals of sweeps keep their numbers. */
#define RULE_FINDINGS (RULE_STAYED + 1)

struct rule {
	const char *name;	   /* one word */
	const char *label;	   /* of its line in the verdict; NULL: "xdd FILE" says it */
	const char *condition;	   /* the case in which it holds, without figures */
	double limit;		   /* from which it holds; 0: `condition` says all */
	const char *from;	   /* the limit, a format; NULL: there is none */
	const char *sentence;	   /* a format for printf() */
	const char *advice;	   /* the option to try; NULL: none */
	const char *advice_direct; /* the same for a target with -dio; NULL: `advice` */
};

extern const struct rule rule_table[RULES];

/* True if an interval of +- `percent` of its mean is so wide that it says nothing. */
static inline bool rule_too_few(double percent)
{
	return percent >= rule_table[RULE_TOO_FEW].limit;
}

/* In place of such an interval, where a reader expects it. */
#define RULE_TOO_FEW_WORDS "too few rounds"
#define RULE_TOO_FEW_PASSES "too few passes"

/* Trials move less than both of these; their figures are not judged. */
#define RULE_LEAST_BYTES (16ull << 20)
#define RULE_LEAST_NS 1000000000

/*
 * SAYS(NAME) stands for a rule and its sentence, two arguments of a function like printf(). The
 * compiler checks the arguments that follow.
 */
#define SAYS(id) RULE_##id, rule_says_##id

#define RULE(id, sentence, ...) \
	static const char rule_says_##id[] __attribute__((unused)) = sentence;
#include "xdd/report/rules.def"
#undef RULE

#endif
