/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The option table: finding rows by name, the values that an option takes, in words, the values of
 * a plan, rows that are refused, and the texts of -help, -help <option>, -fullhelp and -version.
 * Called by the parser, the help, the page generator and the writer of -jsonout.
 */
#include "xdd/plan/option.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config.h"
#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/foreign.h"

#define NAME_SIZE 32 /* more than any name of an option */

static bool is_called(const struct option *row, const char *word)
{
	return strcmp(row->name, word) == 0 || list_has(row->aliases, word, strlen(word), strncmp);
}

const struct option *option_find_in(const struct option *rows, const char *word)
{
	for (const struct option *row = rows; row->name; row++) {
		if (is_called(row, word))
			return row;
	}
	return NULL;
}

const struct option *option_sub(const struct option *opt, size_t i)
{
	if (opt->source)
		return opt->source->at(i);
	return opt->subs && opt->subs[i].name ? &opt->subs[i] : NULL;
}

const struct option *option_find_sub(const struct option *opt, const char *word)
{
	const struct option *sub;

	for (size_t i = 0; (sub = option_sub(opt, i)) && !is_called(sub, word); i++)
		;
	return sub;
}

bool option_is_number(const char *word)
{
	return isdigit((unsigned char)word[0]) || word[0] == '.';
}

const struct option *option_find_bare(const struct option *opt, const char *word)
{
	const struct option *sub, *found = NULL;

	for (size_t i = 0; (sub = option_sub(opt, i)); i++) {
		if (!sub->bare || !sub->bare(word))
			continue;
		if (found)
			return NULL;
		found = sub;
	}
	return found;
}

const char *option_sub_help(const struct option *opt, const struct option *sub, char *buf,
			    size_t size)
{
	return opt->source ? opt->source->help(sub, buf, size) : sub->help;
}

static const struct option *find_exact(const struct option_table *table, const char *name)
{
	for (const struct option_group *const *g = table->groups; *g; g++) {
		const struct option *row = option_find_in((*g)->options, name);

		if (row)
			return row;
	}
	return table->refused ? option_find_in(table->refused, name) : NULL;
}

static bool is_dash(char c)
{
	return c == '-' || c == '_';
}

/* `name` without the dashes and underscores in it, in `buf`; NULL: it has none, or is no name. */
static const char *folded(const char *name, char *buf, size_t size)
{
	const size_t len = strlen(name);
	char *to = buf;

	if (!strpbrk(name, "-_") || len >= size || is_dash(name[0]) || is_dash(name[len - 1]))
		return NULL;
	for (; *name; name++) {
		if (!is_dash(*name))
			*to++ = *name;
	}
	*to = '\0';
	return buf;
}

const struct option *option_find(const struct option_table *table, const char *name)
{
	const struct option *row = find_exact(table, name);
	const struct foreign_tool *tool;
	char buf[NAME_SIZE];
	const char *plain = row ? NULL : folded(name, buf, sizeof(buf));

	/* --block-size=4096 of other tools has another unit than -blocksize. */
	return plain && !foreign_any(name, NULL, &tool) ? find_exact(table, plain) : row;
}

bool option_is_word(const struct option_table *table, const char *text)
{
	if (text[0] != '-' || text[1] == '\0')
		return false;
	return option_find(table, text + (text[1] == '-' ? 2 : 1)) != NULL;
}

static void nearest(const struct option *rows, const char *name, const char **best,
		    unsigned *distance)
{
	for (; rows->name; rows++) {
		unsigned d = suggest_distance(name, strlen(name), rows->name);

		/* A word that is cut short, as in -queue, means the longer one. */
		if (strlen(name) >= 3 && strncmp(rows->name, name, strlen(name)) == 0)
			d = 1;
		/* -Mb, -QD: an alias in other letters. */
		if (strlen(name) >= 2 && list_has(rows->aliases, name, strlen(name), strncasecmp))
			d = 0;
		if (d < *distance) {
			*distance = d;
			*best = rows->name;
		}
	}
}

const char *option_suggest(const struct option_table *table, const char *name)
{
	const char *best = NULL;
	unsigned distance = 99;

	name += strspn(name, "-");
	for (const struct option_group *const *g = table->groups; *g; g++)
		nearest((*g)->options, name, &best, &distance);
	return best && suggest_is_near(distance, strlen(name)) ? best : NULL;
}

#define SHARE "; a share of the target such as 50%"

static void count_range(const struct option *row, char *buf, size_t size)
{
	bool percent = row->unit && strcmp(row->unit, "percent") == 0;

	snprintf(buf, size, "%" PRIu64 " to %" PRIu64 "%s", row->min, row->max,
		 percent		       ? ", perhaps with %" :
		 row->max >= 1000 && row->unit ? "; 1k is 1000, 1M a million" :
						 "");
}

static void amount_range(const struct option *row, char *buf, size_t size)
{
	char lo[32], hi[32];

	if (row->scale > 1)
		snprintf(buf, size,
			 "up to %" PRIu64 ", with decimals if need be; bytes with a suffix such as "
			 "16M or 10MB%s",
			 row->max, row->share ? SHARE : "");
	else
		snprintf(buf, size, "%s to %s; 4k, 4KiB and 0.5M are powers of 1024, 4kB of 1000%s",
			 units_size_text(row->min, lo, sizeof(lo)),
			 units_size_text(row->max, hi, sizeof(hi)), row->share ? SHARE : "");
}

const char *option_range(const struct option *row, char *buf, size_t size)
{
	switch (row->type) {
	case OPT_U64:
		count_range(row, buf, size);
		return buf;
	case OPT_SIZE:
	case OPT_AMOUNT:
		amount_range(row, buf, size);
		return buf;
	case OPT_BLOCKS:
		snprintf(buf, size,
			 "%" PRIu64 " to %" PRIu64 " %s; bytes with a suffix such as 4k or 1MiB%s",
			 row->min, row->max, row->unit, row->share ? SHARE : "");
		return buf;
	case OPT_SECONDS:
		snprintf(buf, size, "seconds with decimals, or with ns, us, ms, s, min or h");
		return buf;
	default:
		return NULL;
	}
}

/*
 * The values of the options of a plan; see the header. Called by the writer of -jsonout, once for
 * each option and target.
 */

static struct option_value flag(bool on)
{
	return (struct option_value){ .type = OPTION_VALUE_FLAG, .flag = on };
}

static struct option_value real(double value)
{
	return (struct option_value){ .type = OPTION_VALUE_REAL, .real = value };
}

/* In units of `scale`. */
static struct option_value option_value_count(const struct option *row, uint64_t value)
{
	uint64_t scale = row->scale ? row->scale : 1;

	if (value % scale)
		return real((double)value / (double)scale);
	return (struct option_value){ .type = OPTION_VALUE_COUNT, .count = value / scale };
}

static struct option_value text(const char *value)
{
	return (struct option_value){ .type = value ? OPTION_VALUE_TEXT : OPTION_VALUE_NONE,
				      .text = value };
}

static struct option_value choice(const struct option *row, int value)
{
	const struct choice *c = row->choices;

	while (c->word && c->value != value)
		c++;
	return text(c->word);
}

static int compare_pointers(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int by_row(const struct setting *s, const struct option *opt, const struct option *sub)
{
	int order = compare_pointers(s->opt, opt);

	return order ? order : compare_pointers(s->sub, sub);
}

/* The settings of one row in the order in which they were given. */
static int compare_settings(const void *a, const void *b)
{
	const struct setting *s = *(const struct setting *const *)a;
	const struct setting *r = *(const struct setting *const *)b;
	int order = by_row(s, r->opt, r->sub);

	return order ? order : compare_pointers(s, r);
}

bool settings_have(const struct setting *settings, size_t n, const char *name, const char *sub)
{
	for (size_t i = 0; i < n; i++) {
		const struct setting *s = &settings[i];

		if (strcmp(s->opt->name, name) == 0 &&
		    (!sub || (s->sub && strcmp(s->sub->name, sub) == 0)))
			return true;
	}
	return false;
}

void plan_sort_settings(struct plan *plan)
{
	plan->by_option = xarena_alloc(plan->arena, plan->n_settings * sizeof(*plan->by_option));
	for (size_t i = 0; i < plan->n_settings; i++)
		plan->by_option[i] = &plan->settings[i];
	qsort(plan->by_option, plan->n_settings, sizeof(*plan->by_option), compare_settings);
}

/* The number of settings in `by_option` up to the last one of a row. */
static size_t end_of_row(const struct plan *plan, const struct option *opt,
			 const struct option *sub)
{
	size_t low = 0, high = plan->n_settings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_row(plan->by_option[middle], opt, sub) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last setting for the target. */
static struct option_value option_value_words(const struct plan *plan,
					      const struct target_plan *target,
					      const struct option *opt, const struct option *sub)
{
	for (size_t i = end_of_row(plan, opt, sub); i > 0; i--) {
		const struct setting *s = plan->by_option[i - 1];

		if (by_row(s, opt, sub) != 0)
			break;
		if (target && (target->number < s->first || target->number > s->last))
			continue;
		return (struct option_value){ .type = OPTION_VALUE_WORDS, .setting = s };
	}
	return (struct option_value){ .type = OPTION_VALUE_NONE };
}

struct option_value option_value(const struct plan *plan, const struct target_plan *target,
				 const struct option *opt, const struct option *sub)
{
	static const struct option_value none = { .type = OPTION_VALUE_NONE };
	const struct option *row = sub ? sub : opt;
	const void *base = target ? (const void *)target : (const void *)plan;
	struct option_value given;
	const void *field;

	if (sub && opt->source && row->type != OPT_CUSTOM)
		base = target ? opt->source->field(target, &row) : NULL;
	if (!base)
		return row->type == OPT_FLAG ? flag(false) : none;
	field = (const char *)base + row->off;
	if (row->form) {
		given = option_value_words(plan, target, opt, sub);
		if (given.type == OPTION_VALUE_WORDS && given.setting->n_args > 1)
			return given;
	}
	switch (row->type) {
	case OPT_FLAG:
		if (!row->size) /* its function stores the value */
			return flag(option_value_words(plan, target, opt, sub).type ==
				    OPTION_VALUE_WORDS);
		return flag(*(const bool *)field == (bool)row->value);
	case OPT_U64:
	case OPT_SIZE:
	case OPT_AMOUNT:
	case OPT_BLOCKS:
	case OPT_SECONDS:
		/*
		 * 0 without a default: the option shares its field with others, or was not given.
		 */
		if (!*(const uint64_t *)field && !row->def &&
		    (row->min ||
		     option_value_words(plan, target, opt, sub).type == OPTION_VALUE_NONE))
			return (struct option_value){ .type = OPTION_VALUE_NONE };
		if (row->type != OPT_SECONDS)
			return option_value_count(row, *(const uint64_t *)field);
		return real((double)*(const uint64_t *)field / (double)NS_PER_SEC);
	case OPT_TEXT:
		return text(*(const char *const *)field);
	case OPT_CHOICE:
		return choice(row, *(const int *)field);
	case OPT_SET:
	case OPT_BIT:
	case OPT_CUSTOM:
	case OPT_NAMES:
		return option_value_words(plan, target, opt, sub);
	case OPT_SUB:
	case OPT_ACTION:
	case OPT_REFUSED:
		break;
	}
	return (struct option_value){ .type = OPTION_VALUE_NONE };
}

/*
 * Rows of options that are refused with a reason: options of older programs of this family that
 * never worked.
 */

#define REFUSED(name_, aliases_, why_)                                                 \
	{                                                                              \
		.name = name_, .aliases = aliases_, .type = OPT_REFUSED, .help = why_, \
	}

const struct option options_refused[] = {
	REFUSED("multipath", "mp",
		"xdd does not choose paths; name the multipath device itself as a target"),
	REFUSED("readafterwrite", "raw",
		"never worked in any xdd; run a writing and a reading target side by side instead"),
	REFUSED("writeafterread", "war",
		"was another name of -endtoend; there is no separate option"),
	REFUSED("targetin", "tin", "never worked in any xdd; use -targets and -op target <n> read"),
	REFUSED("targetout", "tout",
		"never worked in any xdd; use -targets and -op target <n> write"),
	REFUSED("xni", NULL, "xdd has one network transport, TCP, which needs no option"),
	REFUSED("ibdevice", NULL,
		"xdd has one network transport, TCP; InfiniBand works through IPoIB"),
	REFUSED("devicefile", "devf", "has no meaning; name the device with -targets"),
	REFUSED("interactive", "inter",
		"there is no interactive mode; use -dryrun to look before a run"),
	{ 0 },
};

#define HELP_WIDTH 79

void help_wrapped(const char *text, int indent, int col)
{
	if (col > indent - 2)
		putchar('\n');
	printf("%*s", col > indent - 2 ? indent : indent - col, "");
	text_fold(stdout, text, HELP_WIDTH, indent);
}

#define SHORT_MAX 2 /* letters of a short name */

/* The short names of an option, " (-s)"; returns the columns that they take. */
static int print_short_names(const struct option *opt)
{
	const char *list = opt->aliases, *alias;
	int col = 0;

	for (size_t len; (len = list_next(&list, &alias));) {
		if (len <= SHORT_MAX)
			col += printf("%s-%.*s", col ? ", " : " (", (int)len, alias);
	}
	return col + (col ? printf(")") : 0);
}

/* `names`: with its short names. */
static int print_synopsis(const struct option *opt, bool names)
{
	int col = printf("  -%s", opt->name);

	if (names)
		col += print_short_names(opt);
	if (opt->scope == SCOPE_TARGET)
		col += printf(" [target <n>]");
	if (opt->arg && col + 1 + strlen(opt->arg) > HELP_WIDTH)
		col = printf("\n       ") - 1;
	return col + (opt->arg ? printf(" %s", opt->arg) : 0);
}

static void print_default(const struct option *row, int indent)
{
	if (row->def)
		printf("%*sDefault: %s%s%s\n", indent, "", row->def, row->unit ? " " : "",
		       row->unit ? row->unit : "");
}

static void print_range(const struct option *row, int indent)
{
	char range[192], text[224];

	if (!option_range(row, range, sizeof(range)))
		return;
	snprintf(text, sizeof(text), "Allowed: %s", range);
	help_wrapped(text, indent, 0);
}

static void print_subs(const struct option *opt)
{
	const struct option *sub;
	char help[256];

	printf("\n      Suboptions:\n");
	for (size_t i = 0; (sub = option_sub(opt, i)); i++) {
		printf("        %s%s%s\n", sub->name, sub->arg ? " " : "",
		       sub->arg ? sub->arg : "");
		help_wrapped(option_sub_help(opt, sub, help, sizeof(help)), 12, 0);
		print_default(sub, 12);
		print_range(sub, 12);
	}
}

static void explain(const struct option *opt)
{
	print_synopsis(opt, false);
	putchar('\n');
	help_wrapped(opt->help, 6, 0);
	if (opt->aliases) {
		const char *list = opt->aliases, *alias;

		printf("      Also:");
		for (size_t len; (len = list_next(&list, &alias));)
			printf(" -%.*s", (int)len, alias);
		putchar('\n');
	}
	print_default(opt, 6);
	print_range(opt, 6);
	if (opt->detail) {
		putchar('\n');
		help_wrapped(opt->detail, 6, 0);
	}
	if (option_sub(opt, 0))
		print_subs(opt);
	if (opt->example)
		printf("\n      Example:\n        %s\n", opt->example);
}

void help_list(const struct option_table *table)
{
	for (const struct option_group *const *g = table->groups; *g; g++) {
		printf("%s:\n", (*g)->title);
		for (const struct option *opt = (*g)->options; opt->name; opt++) {
			int col = print_synopsis(opt, true);

			help_wrapped(opt->help, 36, col);
		}
		putchar('\n');
	}
}

void help_full(const struct option_table *table)
{
	for (const struct option_group *const *g = table->groups; *g; g++) {
		printf("%s\n\n", (*g)->title);
		for (const struct option *opt = (*g)->options; opt->name; opt++) {
			explain(opt);
			putchar('\n');
		}
	}
}

int help_option(const struct option_table *table, const char *name)
{
	const struct option *opt = option_find(table, name + strspn(name, "-"));

	if (!opt)
		return -1;
	explain(opt);
	return 0;
}

enum xdd_status option_unknown(enum xdd_status status, const struct setting *s,
			       const struct word *w, const char *near)
{
	if (near)
		return parse_error(status, s, w, "is not an option; did you mean -%s?", near);
	return parse_error(status, s, w, "is not an option; xdd -help lists them");
}

void help_version(void)
{
	printf("xdd: Version %s\n", PACKAGE_VERSION);
}
