/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of words of other tools: every option that they name exists, and no row is in the way
 * of an option of xdd or of another row.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "unit.h"

#include "plan/fio.h"
#include "xdd/base/memory.h"
#include "xdd/commands/command.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/option.h"
#include "xdd/report/column.h"

#define EACH_ROW(tool, row)                                     \
	for (size_t i_ = 0; (tool = foreign_tool_at(i_)); i_++) \
		for (row = tool->rows; row->word; row++)

/* The number of words of `template` that are no options of xdd, but look like one. */
static size_t unknown_options(const char *template)
{
	size_t n = 0;

	while (template && *template) {
		size_t len = strcspn(template, " "), dash = template[0] == '?';
		char name[64] = "";

		/* "-" alone is a value: standard output. */
		if (len < sizeof(name) && len > 1 && template[dash] == '-' &&
		    template[dash + 1] != '%') {
			memcpy(name, template + dash + 1, len - dash - 1);
			if (!option_find(&run_options, name)) {
				print_message("-%s is no option\n", name);
				n++;
			}
		}
		template += len;
		template += strspn(template, " ");
	}
	return n;
}

TEST(test_options_exist)
{
	const struct foreign_tool *tool;
	const struct foreign *row;

	EACH_ROW(tool, row)
	{
		assert_int_equal(unknown_options(row->say), 0);
		/* Options of commands are in tables of their own: func/words_runs.py. */
		assert_true(!row->shown || strstr(row->shown, "-targets -") ||
			    strncmp(row->shown, "xdd", 3) == 0 || unknown_options(row->shown) == 0);
	}
}

/* A row for any value of an option of xdd would never be found. */
TEST(test_no_row_hides)
{
	const struct foreign_tool *tool;
	const struct foreign *row;

	EACH_ROW(tool, row)
	{
		const struct option *opt = *tool->dashes ? option_find(&run_options, row->word) :
							   NULL;

		if (opt && !row->values && !row->overrides) {
			print_message("%s: %s is an option of xdd\n", tool->name, row->word);
			fail();
		}
	}
}

/* The row that is found for the word of a row and its value. */
static const struct foreign *found_for(const struct foreign_tool *tool, const struct foreign *row)
{
	char value[64];

	if (row->kind == FOREIGN_COMMAND)
		return foreign_command(row->word, &tool);
	if (row->values && !*row->values)
		return foreign_find(tool, row->word, NULL);
	snprintf(value, sizeof(value), "%s", row->sample ? row->sample : "any");
	if (row->values)
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(row->values, " "), row->values);
	return foreign_find(tool, row->word, value);
}

/* The first row of a word and a value is the one that is found: no later one is like it. */
TEST(test_no_row_twice)
{
	const struct foreign_tool *tool;
	const struct foreign *row;

	EACH_ROW(tool, row)
	{
		if (found_for(tool, row) != row) {
			print_message("%s: %s is there twice\n", tool->name, row->word);
			fail();
		}
	}
}

/* Flags and switches have no value to put into the words. */
TEST(test_values)
{
	const struct foreign_tool *tool;
	const struct foreign *row;

	EACH_ROW(tool, row)
	{
		bool has = row->say && strchr(row->say, '%');

		assert_true(row->kind == FOREIGN_VALUE || !has);
		assert_true(!has || row->sample || row->values);
	}
}

/* The words of a note that look like options are options of a run, or of the command it names. */
TEST(test_notes)
{
	const struct foreign_tool *tool;
	const struct foreign *row;

	EACH_ROW(tool, row)
	{
		for (const char *at = row->note; at && (at = strchr(at, '-')); at++) {
			const size_t len = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz");
			char name[64] = "";

			/* Letters are those of the other tool. */
			if (len < 3 || len >= sizeof(name) ||
			    (at > row->note && at[-1] != ' ' && at[-1] != '('))
				continue;
			memcpy(name, at + 1, len);
			if (!option_find(&run_options, name) && !strstr(row->note, "xdd ")) {
				print_message("%s: %s: -%s is no option\n", tool->name, row->word,
					      name);
				fail();
			}
		}
	}
}

static const char *folded(const char *word, char *buf, size_t size)
{
	char *to = buf;

	for (; *word && to < buf + size - 1; word++) {
		if (*word != '_' && *word != '-')
			*to++ = *word;
	}
	*to = '\0';
	return buf;
}

/* True if `table` has an option, a suboption or a value in words of that name. */
static bool table_has(const struct option_table *table, const char *name)
{
	if (option_find(table, name))
		return true;
	for (const struct option_group *const *g = table->groups; *g; g++) {
		for (const struct option *opt = (*g)->options; opt->name; opt++) {
			if (option_find_sub(opt, name))
				return true;
			for (const struct choice *c = opt->choices; c && c->word; c++) {
				if (strcmp(c->word, name) == 0)
					return true;
			}
		}
	}
	return false;
}

/* The command that has something of that name, or is of that name; NULL: none has. */
static const char *has_name(const char *name)
{
	const struct command *c;
	const struct column *column;

	if (table_has(&run_options, name))
		return "a run";
	for (size_t i = 0; (c = command_at(i)); i++) {
		if (strcmp(c->name, name) == 0 || (c->options && table_has(c->options, name)))
			return c->name;
	}
	for (size_t i = 0; (column = column_at(i)); i++) {
		if (strcasecmp(column->id, name) == 0)
			return "a column";
	}
	return NULL;
}

/*
 * Nothing is denied that is the name of an option, a suboption, a value, a command or a column,
 * whatever is between the parts of the name.
 */
TEST(test_no_row_denies)
{
	const struct foreign_tool *tool;
	const struct foreign *row;

	EACH_ROW(tool, row)
	{
		char name[64];
		const char *has;

		/* A row after others of its word denies values only. */
		if (row->say || row->shown || row->in_jobs || row->values || row->overrides ||
		    !*tool->dashes || !row->word[1] ||
		    (row > tool->rows && strcmp(row[-1].word, row->word) == 0))
			continue;
		has = has_name(folded(row->word, name, sizeof(name)));
		if (has) {
			print_message("%s: %s: %s has it\n", tool->name, row->word, has);
			fail();
		}
	}
}

/* No row denies what xdd fio reads a value for, except what it refuses by name. */
TEST(test_no_row_denies_jobs)
{
	static const char refused[] = " profile read_iolog thinktime_blocks ";
	const struct foreign *row;

	for (row = foreign_fio.rows; row->word; row++) {
		const bool read = row->type >= FIO_TEXT && row->option != FIO_NONE;
		char word[64];

		snprintf(word, sizeof(word), " %s ", row->word);
		if (!row->say && row->in_jobs != (read && !strstr(refused, word))) {
			print_message("%s: xdd fio has another answer\n", row->word);
			fail();
		}
	}
}

static void check_text(struct arena *arena, const struct foreign_tool *tool, const char *word,
		       const char *value, const char *expected)
{
	const struct foreign *row = foreign_find(tool, word, value);

	assert_non_null(row);
	assert_string_equal(foreign_text(arena, row, value), expected);
}

TEST(test_text)
{
	struct arena *arena = arena_new();

	check_text(arena, &foreign_fio, "iodepth", "32", "-queuedepth 32");
	check_text(arena, &foreign_fio, "iodepth", NULL, "-queuedepth <value>");
	check_text(arena, &foreign_fio, "write-bw-log", "l", "-intervals 1 output l");
	check_text(arena, &foreign_fio, "direct", "0", "");
	check_text(arena, &foreign_fio, "direct", "1", "-dio");
	check_text(arena, &foreign_fio, "filename", "a:b c", "-targets 2 a 'b c'");
	check_text(arena, &foreign_fio, "rwmixwrite", "30", "-rwratio 70");
	check_text(arena, &foreign_fio, "thinktime", "1000", "-operationdelay 1000us");
	check_text(arena, &foreign_fio, "thinktime", "1ms", "-operationdelay 1ms");
	check_text(arena, &foreign_fio, "bs", "4096", "-bs 4096 -reqsize 1");
	check_text(arena, &foreign_fio, "bs", "4k", "-bs 4k");
	check_text(arena, &foreign_fio, "buffer_pattern", "0xab",
		   "-datapattern hex ab -datapattern replicate");
	check_text(arena, &foreign_fio, "percentile_list", "50:99", "-latency percentiles 50,99");
	check_text(arena, &foreign_xdisk, "f", "a,b:c#d", "-targets 4 a b c d");
	check_text(arena, &foreign_xdisk, "f", "/data/F...", "-targets <n> /data/F%03d");
	check_text(arena, &foreign_xdisk, "f", "50%...", "-targets <n> 50%%%03d");
	check_text(arena, &foreign_xdisk, "F", "list", "-targets @list");
	check_text(arena, &foreign_xdisk, "M", "4", "-targets -4 <name>");
	check_text(arena, &foreign_common, "mix", "70/30", "-rwratio 70");
	check_text(arena, &foreign_common, "precondition", NULL,
		   "xdd -op write -target <device> -bytes 100% -passes 2 -reqsize 1M -datapattern "
		   "random -dio");
	check_text(arena, &foreign_common, "dd", NULL, "xdd <words of dd>");
	check_text(arena, &foreign_common, "rwmix", "70:30", "-rwratio 70");
	check_text(arena, &foreign_common, "rwmix", "70", "-rwratio 70");
	arena_free(arena);
}

/* A letter with its value in the same word: numbers, paths, and values that a row has. */
TEST(test_letters)
{
	static const char *const letters[] = { "r80", "b16k", "M4", "OD", "OSD", "S1", "f/dev/sdx" },
				 *const none[] = { "",	 "r",	  "S",	 "S2",	 "OX",
						   "q1", "fname", "rw8", "size", "Z9" };

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		assert_int_equal(foreign_letter(&foreign_xdisk, letters[i]), 1);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(foreign_letter(&foreign_xdisk, none[i]), 0);
	assert_int_equal(foreign_letter(&foreign_dd, "b4k"), 0);
}

/* A letter that stands for a number is not found with another value; a flag is. */
TEST(test_letter_of_a_number)
{
	assert_non_null(foreign_find(&foreign_xdisk, "w", "5"));
	assert_non_null(foreign_find(&foreign_xdisk, "w", NULL));
	assert_null(foreign_find(&foreign_xdisk, "w", "file"));
	assert_non_null(foreign_find(&foreign_ior, "w", "file"));
	assert_non_null(foreign_find(&foreign_xdisk, "f", "file"));
}

/* A row may be for the word without a value only. */
TEST(test_bare)
{
	const struct foreign_tool *tool;
	struct arena *arena = arena_new();

	check_text(arena, &foreign_common, "json", NULL, "-jsonout -");
	check_text(arena, &foreign_common, "json", "out", "-jsonout out");
	check_text(arena, &foreign_common, "fsync", NULL, "-syncwrite");
	assert_null(foreign_find(&foreign_common, "fsync", "4"));
	/* The value may be in the next word. */
	assert_string_equal(foreign_any("json", NULL, &tool)->say, "-jsonout %v");
	assert_string_equal(foreign_any("fsync", NULL, &tool)->say, "-flushwrite %v");
	arena_free(arena);
}

/* A command may have the name of an option of another row; a word without a dash is no command. */
TEST(test_command)
{
	const struct foreign_tool *tool;

	assert_string_equal(foreign_command("sync", &tool)->shown, "xddcp -r <from> <to>");
	assert_ptr_equal(tool, &foreign_common);
	assert_string_equal(foreign_find(&foreign_elbencho, "sync", NULL)->say, "-syncwrite");
	assert_null(foreign_find(&foreign_common, "sync", NULL));
	assert_string_equal(foreign_command("trim", &tool)->say, "-op discard");
	assert_null(foreign_command("bpt", &tool));
	assert_null(foreign_command("zzzz", &tool));
}

TEST(test_advice)
{
	struct arena *arena = arena_new();

	assert_string_equal(foreign_advice(arena, foreign_find(&foreign_fio, "iodepth", "4"), "4"),
			    "say -queuedepth 4");
	assert_string_equal(foreign_advice(arena, foreign_find(&foreign_fio, "thread", NULL), NULL),
			    "leave it out; QThreads are threads");
	assert_string_equal(foreign_advice(arena, foreign_find(&foreign_common, "smart", NULL),
					   NULL),
			    "xdd has nothing like it; use smartctl or nvme smart-log");
	assert_string_equal(foreign_advice(arena, foreign_find(&foreign_fio, "create_only", "1"),
					   "1"),
			    "xdd fio translates it; write the files with a run of xdd");
	arena_free(arena);
}

RUN_TESTS(NULL, NULL)
