/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of commands: line_read() of src/plan/parse.c.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/plan/line.h"
#include "xdd/plan/option.h"

struct fields {
	bool flag;
	int form;
	uint64_t number, size, time_ns;
	const char *text;
	char list[64]; /* of -list, of words and of notes */
};

static void add(struct fields *f, const char *word)
{
	const size_t n = strlen(f->list);

	snprintf(f->list + n, sizeof(f->list) - n, "%s%s", n ? " " : "", word);
}

static enum xdd_status add_list(const struct setting *s, void *dst)
{
	add(dst, s->args[0].text);
	return XDD_OK;
}

#define FIELD(field) OPTION_FIELD(struct fields, field)

static const struct option rows[] = {
	{ .name = "flag", .aliases = "f", OPTION_FLAG(struct fields, flag) },
	{ .name = "form", .type = OPT_SET, .value = 7, FIELD(form) },
	{ .name = "number",
	  .aliases = "n",
	  .arg = "<#things>",
	  .type = OPT_U64,
	  .min = 1,
	  .max = 9,
	  .hint = "-n is no name here",
	  FIELD(number) },
	{ .name = "size", .arg = "<bytes>", .type = OPT_SIZE, .max = 4096, FIELD(size) },
	{ .name = "time",
	  .arg = "<time>",
	  .type = OPT_SECONDS,
	  .min = NS_PER_SEC,
	  .max = 60 * NS_PER_SEC,
	  FIELD(time_ns) },
	{ .name = "text", .arg = "<word>", .type = OPT_TEXT, FIELD(text) },
	{ .name = "list", .arg = "<word>", .type = OPT_CUSTOM, .apply = add_list },
	{ OPTION_HELP, .aliases = "h" },
	{ 0 },
};

static const struct option_group group = { "Options", rows };
static const struct option_group *const groups[] = { &group, NULL };
static const struct option_table options = { .groups = groups };

static char messages[512];

static void take_message(void *arg, const char *text, size_t size)
{
	(void)arg;
	snprintf(messages, sizeof(messages), "%.*s", (int)size, text);
}

static enum xdd_status take_operand(struct line *l, const char *word)
{
	add(l->to, word);
	return XDD_OK;
}

static enum xdd_status take_pair(struct line *l)
{
	if (strcmp(l->argv[l->at], "pair") != 0)
		return XDD_OK;
	if (!l->argv[l->at + 1])
		return XDD_CANCELED;
	add(l->to, "two");
	l->at += 2;
	return XDD_OK;
}

static void note(struct line *l, const struct option *opt, const char *word, const char *value)
{
	add(l->to, opt->name);
	add(l->to, word);
	if (value)
		add(l->to, value);
}

/* Read words that are separated by blanks; '' is an empty one. */
static enum xdd_status read_line(struct line *l, struct fields *f, const char *text)
{
	static char copy[256];
	char *argv[16] = { "name" }, *rest = copy;
	int argc = 1;
	enum xdd_status status;

	*f = (struct fields){ .flag = false };
	l->name = "name";
	l->options = &options;
	l->to = f;
	l->ended = false;
	l->shows = NULL;
	snprintf(copy, sizeof(copy), "%s", text);
	while ((argv[argc] = strsep(&rest, " "))) {
		if (strcmp(argv[argc], "''") == 0)
			*argv[argc] = '\0';
		argc++;
	}
	*messages = '\0';
	log_divert(take_message, NULL);
	status = line_read(l, argc, argv);
	log_divert(NULL, NULL);
	return status;
}

static void refused(const char *text, enum xdd_status status, const char *message)
{
	struct line l = { .name = NULL };
	struct fields f;

	assert_int_equal(read_line(&l, &f, text), status);
	assert_string_equal(messages, message);
}

TEST(test_values)
{
	struct line l = { .name = NULL };
	struct fields f;

	assert_int_equal(
		read_line(&l, &f,
			  "-flag --form -n 3 --size=4k -time=1min -text t=-f -list a -list=b"),
		XDD_OK);
	assert_true(f.flag);
	assert_int_equal(f.form, 7);
	assert_int_equal(f.number, 3);
	assert_int_equal(f.size, 4096);
	assert_int_equal(f.time_ns, 60 * NS_PER_SEC);
	assert_string_equal(f.text, "t=-f");
	assert_string_equal(f.list, "a b");
	assert_null(l.shows);
	assert_int_equal(read_line(&l, &f, "-f -h -nonsense"), XDD_OK);
	assert_string_equal(l.shows, "help");
	assert_true(f.flag);
}

TEST(test_words)
{
	struct line l = { .operand = take_operand, .other = take_pair, .stored = note };
	struct fields f;

	assert_int_equal(read_line(&l, &f, "a - -f pair -x b -- -f pair c"), XDD_OK);
	assert_string_equal(f.list, "a - flag -f two b -f two");
	assert_int_equal(read_line(&l, &f, "-n=3 --number 4"), XDD_OK);
	assert_string_equal(f.list, "number -n=3 3 number --number 4");
	assert_int_equal(read_line(&l, &f, "pair"), XDD_CANCELED);
}

TEST(test_messages)
{
	struct line l = { .operand = take_operand };
	struct fields f;

	refused("-numbr 3", XDD_BAD_OPTION,
		"xdd: name -numbr: is not an option; did you mean -number?\n");
	refused("-x", XDD_BAD_OPTION,
		"xdd: name -x: is not an option; xdd name -help lists them\n");
	refused("-x=3", XDD_BAD_OPTION,
		"xdd: name -x=3: is not an option; xdd name -help lists them\n");
	refused("word", XDD_BAD_ARGUMENT,
		"xdd: name word: is a stray word; expected an option, and xdd name -help lists them\n");
	refused("-f=1", XDD_BAD_OPTION, "xdd: name -f: takes no value; say -flag\n");
	refused("-help=1", XDD_BAD_OPTION, "xdd: name -help: takes no value; say -help\n");
	refused("-text", XDD_BAD_ARGUMENT, "xdd: name -text: missing argument <word>\n");
	refused("-text -- a", XDD_BAD_ARGUMENT, "xdd: name -text: missing argument <word>\n");
	refused("-text -f", XDD_BAD_ARGUMENT,
		"xdd: name -text: missing argument <word>: found option -f instead\n");
	refused("-list ''", XDD_BAD_ARGUMENT, "xdd: name -list '': <word> cannot be empty\n");
	refused("--text=", XDD_BAD_ARGUMENT, "xdd: name --text '': <word> cannot be empty\n");
	refused("--number=10", XDD_BAD_ARGUMENT,
		"xdd: name --number 10: expected a whole number, 1 to 9\n");
	refused("-n 10", XDD_BAD_ARGUMENT,
		"xdd: name -n 10: expected a whole number, 1 to 9; -n is no name here\n");
	refused("-n", XDD_BAD_ARGUMENT,
		"xdd: name -n: missing argument <#things>; -n is no name here\n");
	refused("-time 0", XDD_BAD_ARGUMENT,
		"xdd: name -time 0: expected a time of 1s to 60s: seconds with decimals, or with ms, "
		"us, min or h\n");
	/* A name that begins with a dash. */
	assert_int_equal(read_line(&l, &f, "-fzzzzzzz"), XDD_BAD_OPTION);
	assert_string_equal(messages,
			    "xdd: name -fzzzzzzz: is not an option; xdd name -help lists them\n");
}

RUN_TESTS(NULL, NULL)
