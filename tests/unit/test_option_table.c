/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The invariants of the option table, and the suggestions for words that are no option.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse_fixture.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

static void check_text(const struct option *row, const struct option *of)
{
	(void)of;
	if (!row->help || !*row->help || strchr(row->help, '\n'))
		fail_msg("-%s: its help", row->name);
	if (row->detail && (strstr(row->detail, "  ") || strchr(row->detail, '\n')))
		fail_msg("-%s: blanks in its detail", row->name);
	if (row->example && strncmp(row->example, "xdd ", 4) != 0 &&
	    strncmp(row->example, "mpirun ", 7) != 0)
		fail_msg("-%s: its example", row->name);
	if (row->hint && strchr(row->hint, '\n'))
		fail_msg("-%s: its hint", row->name);
}

static void check_type(const struct option *row, const struct option *of)
{
	bool arg = row->arg != NULL, ok = true;

	switch (row->type) {
	case OPT_FLAG:
	case OPT_REFUSED:
		ok = !arg;
		break;
	case OPT_SET:
		ok = !arg && (row->size == sizeof(bool) || row->size == sizeof(int));
		break;
	case OPT_BIT:
		ok = !arg && row->size == sizeof(unsigned);
		break;
	case OPT_U64:
	case OPT_SIZE:
	case OPT_AMOUNT:
	case OPT_BLOCKS:
	case OPT_SECONDS:
		ok = arg && row->min < row->max;
		break;
	case OPT_TEXT:
		ok = arg;
		break;
	case OPT_CHOICE:
		ok = arg && row->choices && row->choices[0].word;
		break;
	case OPT_SUB:
		ok = arg && option_sub(row, 0) && !of;
		break;
	case OPT_CUSTOM:
	case OPT_NAMES:
		ok = row->apply || (of && of->source);
		break;
	case OPT_ACTION:
		ok = row->act != NULL;
		break;
	}
	if (!ok)
		fail_msg("-%s: a row of type %d cannot be so", row->name, (int)row->type);
	if (row->share && !row->amount)
		fail_msg("-%s: nothing keeps a share until the size is known", row->name);
	if (row->type == OPT_BLOCKS && !row->amount)
		fail_msg("-%s: nothing keeps bytes until the block size is known", row->name);
	if (row->scale && UINT64_MAX / row->scale < row->max)
		fail_msg("-%s: its largest value does not fit", row->name);
}

/* The size of the field that a row of this type stores into; 0: not fixed. */
static size_t field_size(enum option_type type)
{
	switch (type) {
	case OPT_U64:
	case OPT_SIZE:
	case OPT_AMOUNT:
	case OPT_BLOCKS:
	case OPT_SECONDS:
		return sizeof(uint64_t);
	case OPT_TEXT:
		return sizeof(const char *);
	case OPT_CHOICE:
		return sizeof(int);
	default:
		return 0;
	}
}

static void check_field(const struct option *row, const struct option *of)
{
	enum option_scope scope = of ? of->scope : row->scope;
	size_t end = scope == SCOPE_TARGET ? sizeof(struct target_plan) : sizeof(struct plan);
	size_t size = field_size(row->type);

	if (size && row->size != size)
		fail_msg("-%s: its field has %zu bytes, not %zu", row->name, row->size, size);
	if (row->off + row->size > end || row->sets >= end || row->selects >= end)
		fail_msg("-%s: a field is outside its struct", row->name);
}

static void check_default(const struct option *row, const struct option *of)
{
	uint64_t v = 0;

	(void)of;
	if (!row->def)
		return;
	if (((row->type == OPT_U64 || row->type == OPT_BLOCKS) && units_parse_u64(row->def, &v)) ||
	    ((row->type == OPT_SIZE || row->type == OPT_AMOUNT) &&
	     units_parse_size(row->def, &v)) ||
	    (row->type == OPT_SECONDS && units_parse_seconds(row->def, &v)))
		fail_msg("-%s: its default %s is none", row->name, row->def);
	if (row->type <= OPT_SECONDS && row->type >= OPT_U64 && (v < row->min || v > row->max))
		fail_msg("-%s: its default %s is out of range", row->name, row->def);
}

static const char *seen[512];
static const struct option *seen_of[512];
static size_t n_seen;

static void see(const char *name, size_t len, const struct option *of)
{
	char *copy = strndup(name, len);

	assert_non_null(copy);
	assert_true(len > 0 && n_seen < sizeof(seen) / sizeof(seen[0]));
	for (size_t i = 0; i < n_seen; i++)
		if (seen_of[i] == of && strcmp(seen[i], copy) == 0)
			fail_msg("the name %s is given twice", copy);
	seen_of[n_seen] = of;
	seen[n_seen++] = copy;
}

static void check_names(const struct option *row, const struct option *of)
{
	const char *a = row->aliases;

	if (*row->name == '-' || strpbrk(row->name, " ="))
		fail_msg("%s: its name", row->name);
	see(row->name, strlen(row->name), of);
	for (; a && *a; a += strcspn(a, " "), a += strspn(a, " "))
		see(a, strcspn(a, " "), of);
	if ((of ? option_find_sub(of, row->name) : option_find(&run_options, row->name)) != row)
		fail_msg("-%s: is not found", row->name);
}

TEST(table)
{
	each_row(check_text);
	each_row(check_type);
	each_row(check_field);
	each_row(check_default);
	n_seen = 0;
	each_row(check_names);
	assert_true(n_seen > 100);
	for (size_t i = 0; i < n_seen; i++) {
		char word[64];

		if (!seen_of[i]) {
			snprintf(word, sizeof(word), "-%s", seen[i]);
			assert_true(option_is_word(&run_options, word));
			snprintf(word, sizeof(word), "--%s", seen[i]);
			assert_true(option_is_word(&run_options, word));
			snprintf(word, sizeof(word), "---%s", seen[i]);
			assert_false(option_is_word(&run_options, word));
		}
		free((char *)seen[i]);
	}
	assert_null(option_find(&run_options, ""));
	assert_null(option_find(&run_options, "-op"));
	assert_null(option_find(&run_options, "OP"));
	assert_null(option_find(&run_options, "qd rs"));
	assert_ptr_equal(option_find(&run_options, "queue-depth"),
			 option_find(&run_options, "queuedepth"));
	assert_ptr_equal(option_find(&run_options, "time_limit"),
			 option_find(&run_options, "timelimit"));
	assert_true(option_is_word(&run_options, "--num-reqs"));
	/* A word of other tools, in another unit. */
	assert_null(option_find(&run_options, "block-size"));
	assert_null(option_find(&run_options, "_op"));
	assert_null(option_find(&run_options, "op-"));
	assert_null(option_find(&run_options, "-"));
	assert_null(option_find(&run_options, "queue-depth-of-a-name-that-is-too-long"));
	assert_false(option_is_word(&run_options, "op"));
	assert_false(option_is_word(&run_options, "-"));
	assert_false(option_is_word(&run_options, "--"));
	assert_false(option_is_word(&run_options, ""));
}

/* An option with a letter too few, too many or swapped leads back to it, or to one as near. */
static void check_suggestion(const struct option *row, const struct option *of)
{
	size_t len = strlen(row->name);
	char word[64];
	const char *found;

	if (of || row->type == OPT_REFUSED || len < 5)
		return;
	for (size_t i = 0; i < len; i++) {
		snprintf(word, sizeof(word), "%.*s%s", (int)i, row->name, row->name + i + 1);
		if (option_find(&run_options, word))
			continue;
		found = option_suggest(&run_options, word);
		if (!found || (suggest_distance(word, strlen(word), found) > 1 &&
			       strncmp(found, word, strlen(word)) != 0))
			fail_msg("-%s: %s is suggested, not -%s", word, found ? found : "nothing",
				 row->name);
	}
	snprintf(word, sizeof(word), "%sx", row->name);
	found = option_suggest(&run_options, word);
	assert_non_null(found);
	assert_true(suggest_distance(word, strlen(word), found) == 1);
}

TEST(suggestions)
{
	each_row(check_suggestion);
	assert_string_equal(option_suggest(&run_options, "targts"), "targets");
	assert_string_equal(option_suggest(&run_options, "--queue"), "queuedepth");
	assert_string_equal(option_suggest(&run_options, "NumReqs"), "numreqs");
	/* An alias in other letters. */
	assert_string_equal(option_suggest(&run_options, "Mb"), "mbytes");
	assert_string_equal(option_suggest(&run_options, "QD"), "queuedepth");
	assert_null(option_suggest(&run_options, "Q"));
	assert_null(option_suggest(&run_options, "zzzzzz"));
	assert_null(option_suggest(&run_options, ""));
	assert_null(option_suggest(&run_options, "@"));
	/* Options that this version does not have are not suggested. */
	assert_null(option_suggest(&run_options, "multipat"));
}

TEST(distances)
{
	static const struct {
		const char *a, *b;
		unsigned distance;
	} cases[] = {
		{ "", "", 0 },
		{ "a", "", 1 },
		{ "", "abc", 3 },
		{ "abc", "abc", 0 },
		{ "abc", "ABC", 0 },
		{ "abc", "abd", 1 },
		{ "abc", "ab", 1 },
		{ "abc", "abcd", 1 },
		{ "ab", "ba", 1 },
		{ "abcd", "acbd", 1 },
		{ "abcd", "badc", 2 },
		{ "ca", "abc", 3 },
		{ "kitten", "sitting", 3 },
		{ "rnadom", "random", 1 },
		{ "aaaa", "bbbb", 4 },
	};
	char longer[101];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *a = cases[i].a, *b = cases[i].b;

		assert_int_equal(suggest_distance(a, strlen(a), b), cases[i].distance);
		assert_int_equal(suggest_distance(b, strlen(b), a), cases[i].distance);
	}
	/* Only the first characters of a longer text. */
	assert_int_equal(suggest_distance("WHATEVER", 4, "WHAT"), 0);
	memset(longer, 'a', 100);
	longer[100] = '\0';
	assert_int_equal(suggest_distance(longer, 100, "a"), 100);
	assert_int_equal(suggest_distance(longer, 63, longer + 37), 0);

	assert_true(suggest_is_near(1, 3));
	assert_true(suggest_is_near(1, 2));
	assert_false(suggest_is_near(1, 1));
	assert_false(suggest_is_near(2, 3));
	assert_true(suggest_is_near(2, 4));
	assert_true(suggest_is_near(3, 8));
	assert_false(suggest_is_near(4, 8));
	assert_false(suggest_is_near(0, 0));
}

RUN_TESTS(NULL, NULL)
