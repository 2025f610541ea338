/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines for fuzzing: drawn from the option table, so that a new option is fuzzed once it
 * has its row. Also builds a plan of them. Called by the harnesses of command lines and setup
 * files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "fuzz.h"
#include "xdd/base/log.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"

/* Texts for options that take any word. */
static const char *const texts[] = {
	"data",	   "short",	 "empty",   "missing", "dir",	    "null",	 "list",
	"pattern", "setup",	 "loop",    "out",     "dir/out",   "/dev/null", "all",
	"target",  "0",		 "1",	    "op",      "percent",   "sequenced", "random",
	"hex",	   "deadbeef",	 "ascii",   "file",    "+OPS+WHAT", "p99",	 "until",
	"read",	   "contents",	 "1,2-4",   "storage", "serial",    "detailed",	 "-",
	"a\tb",	   "\xc3\xa9 x", "\x1b[31m"
};

#define N_TEXTS (sizeof(texts) / sizeof(texts[0]))

const char *const fuzz_option_words[FUZZ_OPTION_WORDS] = {
	"-targets",    "-op",
	"read",	       "write",
	"noop",	       "-reqsize",
	"-numreqs",    "target",
	"-passes",     "-seek",
	"random",      "range",
	"-lockstep",   "-datapattern",
	"tagged",      "-verify",
	"contents",    "-throttle",
	"bw",	       "-timelimit",
	"-heartbeat",  "-ts",
	"dump",	       "-ioengine",
	"io_uring",    "libaio",
	"-queuedepth", "-setup",
	"-rwratio",    "-ordering",
	"serial",      "-jsonout",
	"-output",     "-outputformat",
	"+WHAT",       "-dio",
	"-bytes",      "-startdelay",
	"-latency",    "-startoffset",
	"-verbose",    "-starttrigger",
	"-syncio",     "-createnewfiles",
	"-memalign",   "-threads",
	"null",	       "data",
	"\n",	       "\"",
	"'",	       "\\",
	" # ",
};

struct line {
	struct fuzz_random *r;
	char *out;
	size_t size, used;
	unsigned n;
	bool noisy; /* now and then a word is missing, doubled or replaced */
};

static void append(struct line *l, const char *word)
{
	size_t n = strlen(word) + 1;

	if (l->used + n > l->size || l->n == FUZZ_MAX_WORDS - 8)
		return;
	memcpy(l->out + l->used, word, n);
	l->used += n;
	l->n++;
}

static void add(struct line *l, const char *word)
{
	switch (l->noisy ? fuzz_below(l->r, 40) : 0) {
	case 1:
		return;
	case 2:
		append(l, word);
		break;
	case 3:
		word = fuzz_option_words[fuzz_below(l->r, FUZZ_OPTION_WORDS)];
		break;
	}
	append(l, word);
}

static const char *const suffixes[] = { "k",   "KiB", "kB", "M",   "%",	 "B",
					".5M", "ms",  "s",  "min", "/s", "MB/s" };

#define N_SUFFIXES (sizeof(suffixes) / sizeof(suffixes[0]))

/* Mostly a valid and small number. */
static void add_number(struct line *l, const struct option *o)
{
	char number[32];
	uint64_t span = o->max - o->min < 64 ? o->max - o->min + 1 : 64;

	if (o->max <= o->min || fuzz_once_in(l->r, 3)) {
		add(l, fuzz_number(l->r, number, sizeof(number)));
		return;
	}
	snprintf(number, sizeof(number), "%" PRIu64 "%s", o->min + fuzz_below(l->r, span),
		 fuzz_once_in(l->r, 4) ? suffixes[fuzz_below(l->r, N_SUFFIXES)] : "");
	add(l, number);
}

static void add_text(struct line *l)
{
	add(l, texts[fuzz_below(l->r, N_TEXTS)]);
}

static const struct option *pick_row(struct fuzz_random *r, const struct option *rows)
{
	size_t n = 0;

	while (rows[n].name)
		n++;
	return n ? &rows[fuzz_below(r, n)] : NULL;
}

static const struct option *pick_sub(struct fuzz_random *r, const struct option *o)
{
	size_t n = 0;

	while (option_sub(o, n))
		n++;
	return option_sub(o, fuzz_below(r, n));
}

static const struct option *pick_option(struct fuzz_random *r)
{
	size_t groups = 0;

	while (run_options.groups[groups])
		groups++;
	return pick_row(r, run_options.groups[fuzz_below(r, groups)]->options);
}

static void add_choice(struct line *l, const struct option *o)
{
	size_t n = 0;

	while (o->choices && o->choices[n].word)
		n++;
	if (n)
		add(l, o->choices[fuzz_below(l->r, n)].word);
	else
		add_text(l);
}

static void add_argument(struct line *l, const struct option *o)
{
	switch (o->type) {
	case OPT_FLAG:
	case OPT_ACTION:
	case OPT_REFUSED:
		if (o->arg && fuzz_once_in(l->r, 2))
			add_text(l);
		break;
	case OPT_U64:
	case OPT_SIZE:
	case OPT_AMOUNT:
	case OPT_BLOCKS:
	case OPT_SECONDS:
		add_number(l, o);
		break;
	case OPT_TEXT:
		add_text(l);
		break;
	case OPT_CHOICE:
		add_choice(l, o);
		break;
	default:
		for (size_t n = fuzz_below(l->r, 4); n > 0; n--) {
			if (fuzz_once_in(l->r, 2))
				add_number(l, o);
			else
				add_text(l);
		}
	}
}

static void add_option(struct line *l, const struct option *o)
{
	char name[64];

	snprintf(name, sizeof(name), "-%s", o->name);
	add(l, name);
	if (o->scope == SCOPE_TARGET && fuzz_once_in(l->r, 4)) {
		add(l, "target");
		add(l, fuzz_once_in(l->r, 8) ? "7" : "0");
	}
	if (o->type != OPT_SUB) {
		add_argument(l, o);
		return;
	}
	for (size_t n = 1 + fuzz_below(l->r, 3); n > 0; n--) {
		const struct option *sub = pick_sub(l->r, o);

		add(l, sub->name);
		add_argument(l, sub);
	}
}

/*
 * The words of an option's example, without shell quotes: only those of the option itself, which
 * suit any command line, or with `whole` all.
 */
static void add_example(struct line *l, const struct option *o, bool whole)
{
	char copy[512], *save = NULL;
	bool take = whole;

	snprintf(copy, sizeof(copy), "%s", o->example);
	for (char *w = strtok_r(copy, " '\"", &save); w; w = strtok_r(NULL, " '\"", &save)) {
		if (!whole && w[0] == '-')
			take = strcmp(w + 1, o->name) == 0;
		if (take && strcmp(w, "xdd") != 0)
			add(l, w);
	}
}

static void add_targets(struct line *l)
{
	static const char *const names[] = { "data", "null", "short", "data", "null", "missing" };
	static const char *const ops[] = { "read", "read", "write", "noop" };
	size_t n = 1 + fuzz_below(l->r, 3);
	char number[32];

	snprintf(number, sizeof(number), "%zu", n);
	add(l, "-op");
	add(l, ops[fuzz_below(l->r, 4)]);
	add(l, "-targets");
	add(l, number);
	for (size_t i = 0; i < n; i++)
		add(l, names[fuzz_below(l->r, 6)]);
	add(l, "-reqsize");
	add(l, "4");
	add(l, "-numreqs");
	add(l, fuzz_once_in(l->r, 2) ? "1" : "8");
}

/* A word of another tool, in any of its forms, with its sample or any text as its value. */
static void add_foreign(struct line *l)
{
	const struct foreign_tool *tool;
	const struct foreign *row;
	size_t tools = 0, rows = 0;
	const char *value;
	char word[256];

	while (foreign_tool_at(tools))
		tools++;
	tool = foreign_tool_at(fuzz_below(l->r, tools));
	while (tool->rows[rows].word)
		rows++;
	row = &tool->rows[fuzz_below(l->r, rows)];
	value = row->sample && !fuzz_once_in(l->r, 3) ? row->sample :
							texts[fuzz_below(l->r, N_TEXTS)];
	if (fuzz_once_in(l->r, 2)) {
		snprintf(word, sizeof(word), "%s%s=%s", tool->dashes, row->word, value);
		add(l, word);
		return;
	}
	snprintf(word, sizeof(word), "-%s", row->word);
	add(l, word);
	if (row->kind == FOREIGN_VALUE)
		add(l, value);
}

size_t fuzz_make_words(struct fuzz_random *r, char *out, size_t size)
{
	struct line l = { .r = r, .out = out, .size = size, .noisy = fuzz_once_in(r, 2) };
	const struct option *o;

	if (!fuzz_once_in(r, 12))
		add_targets(&l);
	for (size_t n = fuzz_below(r, 4); n > 0; n--) {
		o = pick_option(r);
		if (!o)
			continue;
		if (o->example && !fuzz_once_in(r, 3))
			add_example(&l, o, fuzz_once_in(r, 8));
		else
			add_option(&l, o);
	}
	if (fuzz_once_in(r, 8)) {
		for (size_t n = 1 + fuzz_below(r, 4); n > 0; n--)
			add_foreign(&l);
	}
	return l.used;
}

int fuzz_plan(int argc, char **argv)
{
	struct plan *plan = NULL;
	enum xdd_status status;
	bool several = false;

	fuzz_messages_clear();
	status = plan_build(argc, argv, &plan);
	if (status == XDD_BAD_ARGUMENT || status == XDD_BAD_OPTION)
		several = foreign_answer(argc, argv, SIZE_MAX, &status);
	if (!status && plan && plan->help) {
		status = help_print(plan->help);
		several = status != XDD_OK;
	} else if (!status && plan && !plan->list_engines) {
		status = report_check(plan);
		if (!status)
			plan_warn(plan);
		/* Thousands of targets take their time and show nothing new. */
		if (!status && plan->n_targets < 16)
			status = dry_run(plan);
	}
	if (status && status != XDD_INIT_FAILED && status != XDD_BAD_ARGUMENT &&
	    status != XDD_BAD_OPTION && status != XDD_TARGET_FAILED)
		fuzz_fail("status %d before a run", (int)status);
	plan_free(plan);
	/* An answer holds messages back until all is known; main() releases them. */
	log_release();
	fuzz_messages_check(several ? FUZZ_SOME : status ? 1 : 0);
	fuzz_output_check();
	return status ? 1 : 0;
}
