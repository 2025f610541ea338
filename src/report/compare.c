/*
 * xdd compare: two runs side by side; see the header. Called by main.
 */
#include "xdd/report/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "xdd/base/log.h"
#include "xdd/base/stats.h"
#include "xdd/report/jsonout.h"
#include "xdd/report/statistics.h"

/* No bytes or operations a second, and no nanoseconds of a latency, are more than that. */
#define VALUE_MAX 1e24

/* A document, and what it is called in the output. */
struct side {
	const char *name;
	const char *path;
	json_t *root;
};

struct comparison {
	struct side a, b;
	double level;	/* of each interval, so that all of a figure hold together */
	size_t real;	/* differences that are not chance */
	size_t unknown; /* of which nothing can be said */
};

/* What is compared: all targets together, or one of them. */
struct subject {
	const json_t *a, *b;
	char name[32];
};

static const char usage[] =
	"usage: xdd compare <a.json> <b.json>\n"
	"\n"
	"Says what differs between two runs of xdd with -jsonout: environment, plan, and\n"
	"results. Of each result it shows the ratio of b to a with its 95 % confidence\n"
	"interval over the passes, and whether the difference is real or may be chance\n"
	"(Welch's t test). That takes two passes or more on either side.\n"
	"\n"
	"Exit status: 0 no real difference between the results, 1 there is one, 2 a file\n"
	"cannot be compared.\n";

static bool bad(const struct side *s, const char *why)
{
	log_error("compare: %s: %s", s->path, why);
	return false;
}

static bool is_statistic(const json_t *o)
{
	const json_t *target = json_object_get(o, "target");

	if (!json_is_null(target) && !json_is_integer(target))
		return false;
	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++) {
		const json_t *values =
			json_object_get(json_object_get(o, figure_name(i)), "values");
		const json_t *value;
		size_t k;

		if (!json_is_array(values))
			return false;
		json_array_foreach(values, k, value)
		{
			double x = json_number_value(value);

			if (!json_is_number(value) || !(x >= 0) || x > VALUE_MAX)
				return false;
		}
	}
	return true;
}

/* That what is read of it below is there. */
static bool check_document(const struct side *s)
{
	const json_t *root = s->root, *statistic, *version = json_object_get(root, "version");
	const char *format = json_string_value(json_object_get(root, "format"));
	char why[120];
	size_t i;

	if (!format || strcmp(format, JSONOUT_FORMAT) != 0)
		return bad(s, "this is JSON, but not of xdd -jsonout");
	if (!json_is_integer(version) || json_integer_value(version) != JSONOUT_VERSION) {
		snprintf(why, sizeof(why),
			 "this is of version %" JSON_INTEGER_FORMAT
			 " of the format; this xdd reads version %d",
			 json_integer_value(version), JSONOUT_VERSION);
		return bad(s, why);
	}
	if (!json_is_object(json_object_get(root, "environment")) ||
	    !json_is_object(json_object_get(root, "plan")) ||
	    !json_is_array(json_object_get(root, "statistics")))
		return bad(s, "the environment, the plan or the statistics are missing");
	json_array_foreach(json_object_get(root, "statistics"), i, statistic)
	{
		if (!is_statistic(statistic))
			return bad(s, "the statistics are not as they should be");
	}
	return true;
}

static bool load(struct side *s)
{
	char why[JSON_ERROR_TEXT_LENGTH + 80];
	FILE *f = fopen(s->path, "re");
	json_error_t err;
	struct stat st;
	bool at_end;

	if (!f)
		return bad(s, strerror(errno));
	if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
		fclose(f);
		return bad(s, strerror(EISDIR));
	}
	s->root = json_loadf(f, JSON_REJECT_DUPLICATES, &err);
	at_end = feof(f);
	fclose(f);
	if (s->root)
		return check_document(s);
	/* In the middle of a word or a number, too, all that is wrong is that nothing follows. */
	if (at_end || json_error_code(&err) == json_error_premature_end_of_input) {
		snprintf(why, sizeof(why), "the document is cut short, in line %d", err.line);
	} else {
		snprintf(why, sizeof(why), "no JSON: line %d, column %d: %s", err.line, err.column,
			 err.text);
	}
	return bad(s, why);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static void print_side(const struct side *s)
{
	printf("%s: %s\n  %s, xdd %s, %s\n  %s\n", s->name, s->path, text_of(s->root, "start_time"),
	       text_of(s->root, "xdd"),
	       json_is_true(json_object_get(s->root, "partial")) ? "cut short" :
								   text_of(s->root, "end"),
	       text_of(s->root, "command_line"));
}

/* What changes from one moment to the next, and names that are meant to differ. */
static const char *const skipped[] = {
	"available_bytes", "free_bytes", "given",	"jsonout", "output",
	"errout",	   "csvout",	 "combinedout", "id",	   NULL
};

static void print_diff(const struct comparison *c, const char *title, const char *member)
{
	printf("\n%s\n", title);
	if (!compare_diff(stdout, json_object_get(c->a.root, member),
			  json_object_get(c->b.root, member), skipped))
		printf("  the same\n");
}

/* The entry of that target, or of all together for -1; NULL when it has no passes. */
static const json_t *find(const struct side *s, json_int_t target)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(s->root, "statistics"), i, o)
	{
		const json_t *number = json_object_get(o, "target");
		json_int_t found = json_is_integer(number) ? json_integer_value(number) : -1;

		if (found == target && json_array_size(json_object_get(o, "passes")))
			return o;
	}
	return NULL;
}

static struct stats_summary summary(const json_t *statistic, enum pass_figure figure)
{
	const json_t *values =
		json_object_get(json_object_get(statistic, figure_name(figure)), "values");
	size_t n = json_array_size(values);
	double *x = calloc(n ? n : 1, sizeof(*x));
	struct stats_summary s;

	for (size_t i = 0; x && i < n; i++)
		x[i] = json_number_value(json_array_get(values, i));
	s = stats_summarize(x, x ? n : 0);
	free(x);
	return s;
}

/* A change such as "+12.5 %". */
static const char *percent(double ratio, char *buf, size_t size)
{
	if (isfinite(ratio))
		snprintf(buf, size, "%+.1f %%", 100 * (ratio - 1));
	else
		snprintf(buf, size, "?");
	return buf;
}

static void print_figure(struct comparison *c, const struct subject *s, enum pass_figure figure)
{
	struct stats_summary a = summary(s->a, figure), b = summary(s->b, figure);
	struct stats_ratio r = stats_compare(&a, 1, &b, 1, c->level);
	bool known = r.low > 0 && isfinite(r.high), real = known && (r.low > 1 || r.high < 1);
	char ratio[32], low[32], high[32], interval[72] = "";

	if (known)
		snprintf(interval, sizeof(interval), "%s to %s", percent(r.low, low, sizeof(low)),
			 percent(r.high, high, sizeof(high)));
	printf("  %-12s %-9s %13.*f %13.*f %-8s %10s  %-22s %s\n", s->name,
	       figures_shown[figure].name, figures_shown[figure].digits,
	       a.mean / figures_shown[figure].scale, figures_shown[figure].digits,
	       b.mean / figures_shown[figure].scale, figures_shown[figure].unit,
	       percent(r.ratio, ratio, sizeof(ratio)), interval,
	       !known ? "unknown" :
	       real   ? "real" :
			"may be chance");
	c->real += real;
	c->unknown += !known;
}

static void print_trouble(const struct side *s, const json_t *statistic, const char *name)
{
	const char *why = text_of(statistic, "not_reproducible");

	if (*why)
		printf("  %s, %s, is not reproducible: %s\n", s->name, name, why);
}

/*
 * What both have: all targets together, and each by itself where there are several or nothing is known
 * of them together. Returns how many, in `subjects`, to be freed.
 */
static size_t find_subjects(const struct comparison *c, struct subject **subjects)
{
	size_t targets = json_array_size(json_object_get(c->a.root, "statistics")), n = 0;
	struct subject all = { find(&c->a, -1), find(&c->b, -1), "all targets" };

	*subjects = calloc(targets + 1, sizeof(**subjects));
	if (!*subjects)
		return 0;
	if (all.a && all.b)
		(*subjects)[n++] = all;
	for (size_t i = 0; i < targets; i++) {
		struct subject s = { find(&c->a, (json_int_t)i), find(&c->b, (json_int_t)i), "" };

		/* One target is all there is. */
		if (!s.a || !s.b || (n == 1 && targets == 2))
			continue;
		snprintf(s.name, sizeof(s.name), "target %zu", i);
		(*subjects)[n++] = s;
	}
	return n;
}

static void print_results(struct comparison *c)
{
	struct subject *subjects;
	size_t n = find_subjects(c, &subjects);

	printf("\nResults\n");
	if (n) {
		/* Bonferroni: among many subjects one would differ by chance. */
		c->level = 1 - (1 - STATS_LEVEL) / (double)n;
		printf("  %-12s %-9s %13s %13s %-8s %10s  %-22s\n", "", "", "a", "b", "", "b to a",
		       "95 % interval");
	} else {
		printf("  there is no pass that both could be compared by\n");
	}
	for (enum pass_figure figure = 0; figure < FIGURE_COUNT; figure++) {
		for (size_t i = 0; i < n; i++)
			print_figure(c, &subjects[i], figure);
	}
	for (size_t i = 0; i < n; i++) {
		print_trouble(&c->a, subjects[i].a, subjects[i].name);
		print_trouble(&c->b, subjects[i].b, subjects[i].name);
	}
	free(subjects);
	putchar('\n');
	if (c->unknown)
		printf("Nothing can be said about chance where a side has one pass: run with -passes 3 "
		       "or more.\n");
	if (c->real)
		printf("The results differ.\n");
	else if (n && !c->unknown)
		printf("No difference between the results is more than chance.\n");
}

enum compare_status compare_main(int argc, char **argv)
{
	struct comparison c = { .a = { .name = "a" }, .b = { .name = "b" } };
	enum compare_status status = COMPARE_TROUBLE;

	if (argc == 2 && (strcmp(argv[1], "-help") == 0 || strcmp(argv[1], "--help") == 0 ||
			  strcmp(argv[1], "-h") == 0)) {
		fputs(usage, stdout);
		return COMPARE_SAME;
	}
	if (argc != 3) {
		log_error("compare: two files of -jsonout are wanted, and %d given", argc - 1);
		return COMPARE_TROUBLE;
	}
	c.a.path = argv[1];
	c.b.path = argv[2];
	if (load(&c.a) && load(&c.b)) {
		print_side(&c.a);
		print_side(&c.b);
		print_diff(&c, "Environment", "environment");
		print_diff(&c, "Plan", "plan");
		print_results(&c);
		status = c.real ? COMPARE_DIFFERENT : COMPARE_SAME;
	}
	json_decref(c.a.root);
	json_decref(c.b.root);
	return status;
}
