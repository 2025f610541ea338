/*
 * The conditions of xdd compare -failif: parsing them, and judging them. Called by compare.c.
 */
#include <math.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/report/compare.h"

#define NUMBER_SIZE 32
#define PERCENT_MAX 1e6

static bool refuse(const struct compare_limit *limit, const char *problem)
{
	log_error("compare: -failif %.*s: %s", (int)limit->length, limit->text, problem);
	return false;
}

static const char *figure_at(const void *words, size_t i)
{
	(void)words;
	return i < FIGURE_NAMES ? figure_name((enum pass_figure)i) : NULL;
}

static bool parse_figure(struct compare_limit *limit, size_t length)
{
	char word[NUMBER_SIZE], problem[200];
	const char *near;

	for (enum pass_figure i = 0; i < FIGURE_NAMES; i++) {
		if (strlen(figure_name(i)) == length &&
		    strncmp(limit->text, figure_name(i), length) == 0) {
			limit->figure = i;
			return true;
		}
	}
	snprintf(word, sizeof(word), "%.*s", (int)length, limit->text);
	near = suggest_nearest(word, figure_at, NULL);
	snprintf(
		problem, sizeof(problem),
		"expected bandwidth, iops, latency, p50, p99, p99.9, flush, response, "
		"response_p50, response_p99, response_p99.9, maximum or knee before the sign%s%s%s",
		near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return refuse(limit, problem);
}

bool compare_limit_parse(struct compare_limit *limit, const char *text)
{
	size_t sign = strcspn(text, "+-,"), length;
	char number[NUMBER_SIZE];
	double percent;

	*limit = (struct compare_limit){ .text = text, .length = strcspn(text, ",") };
	if (sign >= limit->length || text[limit->length - 1] != '%')
		return refuse(
			limit,
			"expected <figure>+<percent>% or <figure>-<percent>%, such as p99+10%");
	if (!parse_figure(limit, sign))
		return false;
	limit->falls = text[sign] == '-';
	length = limit->length - sign - 2;
	snprintf(number, sizeof(number), "%.*s", (int)length, text + sign + 1);
	if (length >= sizeof(number) || units_parse_real(number, &percent) ||
	    percent > PERCENT_MAX || (limit->falls && percent >= 100))
		return refuse(limit, limit->falls ?
					     "expected a percentage from 0 to less than 100" :
					     "expected a percentage from 0 to 1000000");
	limit->ratio = limit->falls ? 1 - percent / 100 : 1 + percent / 100;
	return true;
}

/*
 * A limit is exceeded when the change is, and is real. An interval that reaches further to one
 * side than the limit allows could not show a change of that size: the answer would depend on
 * luck. The limit 0 asks for any real change, which needs no such precision.
 */
enum compare_limit_state compare_limit_check(const struct compare_limit *limit,
					     const struct compare_figure *figure, const char **why)
{
	double change = limit->falls ? 1 / figure->ratio.ratio : figure->ratio.ratio;
	double allowed = limit->falls ? 1 / limit->ratio : limit->ratio;
	double width = sqrt(figure->ratio.high / figure->ratio.low);

	if (figure->verdict == COMPARE_NO_FIGURE) {
		*why = limit->figure >= FIGURE_ALL ?
			       "a curve does not have it" :
			       "a document does not have this figure for each pass; p99 needs 1000 operations in "
			       "each, p99.9 10,000";
		return COMPARE_UNDECIDED;
	}
	if (figure->verdict == COMPARE_UNKNOWN) {
		*why = "there is no interval; run with -passes 5 or more";
		return COMPARE_UNDECIDED;
	}
	if (change > allowed && figure->verdict == COMPARE_REAL)
		return COMPARE_EXCEEDED;
	if (change > allowed && figure->verdict == COMPARE_UNSTABLE) {
		*why = "a run is not reproducible; see above";
		return COMPARE_UNDECIDED;
	}
	if (allowed > 1 && width > allowed) {
		*why = "the interval is wider than the limit; run more passes";
		return COMPARE_UNDECIDED;
	}
	return COMPARE_WITHIN;
}
