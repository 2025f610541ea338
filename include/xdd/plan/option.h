/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The option table, the values of its options, and help from it.
 */
#ifndef XDD_PLAN_OPTION_H
#define XDD_PLAN_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/status.h"
#include "xdd/plan/plan.h"

struct arena;
struct option;
struct parse;

/*
 * The option table: one row per option. Parsing, scoping, range errors, suggestions, -help,
 * -fullhelp, the manual's OPTIONS and the shell completion all come from these rows.
 *
 * The rows are const and may be read by any thread; they are used while the plan is built.
 */

/* A word of the command line or of a setup file, and its position. */
struct word {
	const char *text;
	const char *file; /* NULL: the command line */
	unsigned pos;	  /* line of the file, or number of the argument */
};

/* One use of an option: its words, parsed but not yet applied. */
struct setting {
	const struct option *opt;
	const struct option *sub; /* the suboption named, or NULL */
	struct word name;	  /* the option as written */
	const char *command;	  /* whose option it is; NULL: a run's */
	const char *section;	  /* of its setup file that it stands in; NULL: none */
	struct word scope;	  /* the word after "target"; text is NULL without one */
	const struct word *args;  /* `opt`'s or `sub`'s own arguments */
	size_t n_args;
	uint64_t first, last; /* the targets it was applied to, or that it names */
	bool by_default;      /* the default of the row */
	bool further;	     /* other suboptions stand before `sub` in the same use of the option */
	struct arena *arena; /* the plan's, for memory that the applied value needs */
};

enum option_scope {
	SCOPE_GLOBAL, /* of the run as a whole: rows that say nothing else */
	SCOPE_TARGET,
};

enum option_type {
	OPT_FLAG,    /* no argument, unless `arity` takes one; `value` goes into a bool */
	OPT_SET,     /* the same; `value` goes into a bool or an enum */
	OPT_BIT,     /* the same; the bits of `value` are added to an unsigned */
	OPT_U64,     /* a whole number, times `scale`, into a uint64_t */
	OPT_SIZE,    /* bytes, perhaps with a suffix, into a uint64_t */
	OPT_AMOUNT,  /* units of `scale` bytes, or bytes with a suffix, into a uint64_t of bytes */
	OPT_BLOCKS,  /* blocks, or bytes with a suffix, into a uint64_t of blocks */
	OPT_SECONDS, /* a time, into a uint64_t of nanoseconds */
	OPT_TEXT,    /* any word but an empty one, into a const char * */
	OPT_CHOICE,  /* one of `choices`, into an enum */
	OPT_SUB,     /* one of `subs`, each a row of its own */
	OPT_CUSTOM,  /* `apply` takes the words */
	OPT_NAMES,   /* the same, before there are targets, into a struct target_names */
	OPT_ACTION,  /* `act` runs while the words are read: -setup, -help, -version */
	OPT_REFUSED, /* known and refused; `help` says what to do instead */
};

struct choice {
	const char *word;
	const char *alias; /* NULL: none */
	int value;
};

struct option {
	const char *name;
	const char *aliases; /* separated by blanks; NULL: none */
	enum option_scope scope;
	enum option_type type;
	const char *arg; /* the argument in a synopsis, such as "<#blocks>"; NULL: none */

	/*
	 * OPT_U64, OPT_AMOUNT, OPT_BLOCKS: of a number without a suffix. OPT_SIZE: bytes.
	 * OPT_SECONDS: nanoseconds.
	 */
	uint64_t min;
	uint64_t max;
	uint64_t scale; /* OPT_U64, OPT_AMOUNT: 0 means 1 */
	size_t amount;	/* of a struct amount that gets the number as given; 0: none */
	bool share;	/* OPT_AMOUNT, OPT_BLOCKS: takes a percentage of the target too */
	bool collects;	/* several uses add up, and none replaces another */
	bool varies;	/* OPT_CUSTOM: its words are numbers, and commas in them separate several */
	bool numbered;	/* "-name 0 1" is "-name target 0 1" */
	int value;	/* OPT_FLAG, OPT_SET, OPT_BIT: goes to `off`; any other: to `selects` */
	const char *unit; /* noun for the number in messages: "blocks", "operations" */
	const char *def;  /* default as it would be written; NULL: unset (zero) */
	size_t off;	  /* of the field in struct plan or struct target_plan, by scope */
	size_t size;	  /* of the field */
	bool is_output; /* SCOPE_GLOBAL: the file gets results; plan_without_outputs() clears it */
	size_t sets;	/* a bool that becomes true as well, except by a default; 0: none */
	size_t selects; /* an enum that becomes `value`; 0: none */
	const struct choice *choices;

	/*
	 * Of a suboption: true of a word that stands for it without its name; NULL: its name is
	 * necessary.
	 */
	bool (*bare)(const char *word);
	const struct option *subs;	    /* ends with a row without a name */
	const struct option_source *source; /* OPT_SUB: suboptions in place of `subs`; or NULL */
	const struct option *form;  /* OPT_BLOCKS: the row to store by where the first word is its
				      name; NULL: none */
	const struct option *alone; /* OPT_SUB: the suboption that is meant when none is named, and
				       that needs no argument; NULL: one must be named */
	const struct option *other; /* OPT_SUB: takes a first word that names none of `subs` and is
				       near none; NULL: such a word is refused */

	/* Number of arguments; 0: one where the row has `arg`, otherwise none. */
	size_t n_args;

	/*
	 * For a number of arguments that depends on the words: how many belong to the option when
	 * `avail` words follow, the first of which are `args`. More than `avail` means that some
	 * are missing.
	 */
	size_t (*arity)(const struct word *args, size_t avail);

	/*
	 * Apply a setting to `dst`: the struct plan or the struct target_plan, by scope, and
	 * nothing else. Required for OPT_CUSTOM and OPT_NAMES. Any other type: called after the
	 * value was stored, where it is not NULL.
	 */
	enum xdd_status (*apply)(const struct setting *s, void *dst);

	/* OPT_ACTION only. */
	enum xdd_status (*act)(struct parse *p, const struct setting *s);

	const char *hint;    /* appended to messages about a short name; NULL: none */
	const char *help;    /* one line */
	const char *detail;  /* paragraphs for -help <option> and the manual; NULL: help says all */
	const char *example; /* a command line that uses it; NULL: none */
};

/*
 * Initializers of `off` and `size` for a field of struct plan and of struct target_plan, whose
 * options are for targets.
 */
#define OPTION_FIELD(type, field) .off = offsetof(type, field), .size = sizeof(((type *)0)->field)
#define PLAN_FIELD(field) OPTION_FIELD(struct plan, field)
#define TARGET_FIELD(field) .scope = SCOPE_TARGET, OPTION_FIELD(struct target_plan, field)

/* Initializers of a row that sets a field of type bool, and of the row of a command's help. */
#define OPTION_FLAG(type_, field) .type = OPT_FLAG, .value = true, OPTION_FIELD(type_, field)
#define PLAN_FLAG(field) OPTION_FLAG(struct plan, field)
#define TARGET_FLAG(field) .scope = SCOPE_TARGET, OPTION_FLAG(struct target_plan, field)
#define OPTION_HELP .name = "help", .type = OPT_ACTION, .help = "this text"

/* Initializers of rows with arguments, beside their field. */
#define OPTION_TEXT(arg_) .type = OPT_TEXT, .arg = arg_
#define OPTION_NUMBER(arg_, min_, max_) .type = OPT_U64, .arg = arg_, .min = min_, .max = max_
#define OPTION_SIZE(arg_, min_, max_) .type = OPT_SIZE, .arg = arg_, .min = min_, .max = max_
#define OPTION_TIME(arg_, min_, max_) .type = OPT_SECONDS, .arg = arg_, .min = min_, .max = max_
#define OPTION_SUB(arg_, subs_) .type = OPT_SUB, .arg = arg_, .subs = subs_
#define OPTION_CHOICE(arg_, choices_) .type = OPT_CHOICE, .arg = arg_, .choices = choices_
#define OPTION_CUSTOM(arg_, apply_) .type = OPT_CUSTOM, .arg = arg_, .apply = apply_

/* Initializer of `amount`. */
#define AMOUNT_FIELD(entry) .amount = offsetof(struct target_plan, amounts[entry])

/*
 * Suboptions from a registry instead of an array. The functions are called in the main thread,
 * while a plan is built.
 */
struct option_source {
	/* Suboption `i`, or NULL after the last one. */
	const struct option *(*at)(size_t i);

	/* The help of `sub`, which may be in `buf`. */
	const char *(*help)(const struct option *sub, char *buf, size_t size);

	/* Give `dst`, the struct target_plan, its defaults; `s` names the option. */
	enum xdd_status (*init)(const struct setting *s, void *dst);

	/* Apply a setting of any of them to `dst`. */
	enum xdd_status (*apply)(const struct setting *s, void *dst);

	/*
	 * The struct that `*sub` of this target is stored in; `*sub` becomes the row whose `off` is
	 * into it. NULL when the target has no such suboption.
	 */
	const void *(*field)(const struct target_plan *target, const struct option **sub);
};

/* Options that belong together, for the help and the manual. */
struct option_group {
	const char *title;
	const struct option *options; /* ends with a row without a name */
};

/* The options of a command. */
struct option_table {
	const struct option_group *const *groups; /* ends with NULL */
	const struct option *refused;		  /* OPT_REFUSED: not in the help; NULL: none */
};

/* Initializers of the groups of a table, for a variable at file scope. */
#define OPTION_GROUP(title_, rows_)  \
	&(const struct option_group) \
	{                            \
		title_, rows_        \
	}
#define OPTION_GROUPS(...)                             \
	.groups = (const struct option_group *const[]) \
	{                                              \
		__VA_ARGS__, NULL                      \
	}

/* The options of a run. */
extern const struct option_table run_options;

/*
 * The row with the name or alias `name`, without the dashes before it; NULL when there is none.
 * Dashes and underscores in the name do not count, unless another tool has such a word.
 */
const struct option *option_find(const struct option_table *table, const char *name);

/*
 * The row of `rows`, which end with one without a name, with the name or alias `word`; NULL when
 * there is none.
 */
const struct option *option_find_in(const struct option *rows, const char *word);

/* Suboption `i` of `opt`; NULL after the last one, and of an option without suboptions. */
const struct option *option_sub(const struct option *opt, size_t i);

/* The suboption of `opt` with the name or alias `word`; NULL when there is none. */
const struct option *option_find_sub(const struct option *opt, const char *word);

/* For `bare`: true of a number, or a list of numbers, by its first character. */
bool option_is_number(const char *word);

/* The suboption of `opt` that `word` stands for without its name; NULL: none, or several. */
const struct option *option_find_bare(const struct option *opt, const char *word);

/*
 * The values that a row of a plain type takes, in words, in `buf` (192 bytes are enough); NULL: the
 * type has none.
 */
const char *option_range(const struct option *row, char *buf, size_t size);

/* The help of suboption `sub` of `opt`, which may be in `buf`. */
const char *option_sub_help(const struct option *opt, const struct option *sub, char *buf,
			    size_t size);

/* True when `text` is an option as it stands: one or two dashes and a known name. */
bool option_is_word(const struct option_table *table, const char *text);

/* The option of the help that is nearest to `name`, or NULL when none is near. */
const char *option_suggest(const struct option_table *table, const char *name);

/*
 * Reading the plan back by the option table: the value of each option, so that a writer of a whole
 * plan omits none.
 */

enum option_value_type {
	OPTION_VALUE_NONE,  /* not given, and without a default */
	OPTION_VALUE_FLAG,  /* `flag` */
	OPTION_VALUE_COUNT, /* `count` */
	OPTION_VALUE_REAL,  /* `real` */
	OPTION_VALUE_TEXT,  /* `text` */
	OPTION_VALUE_WORDS, /* `setting`, the last that was given of it: more than a value */
};

struct option_value {
	enum option_value_type type;
	bool flag;
	uint64_t count;
	double real;
	const char *text;
	const struct setting *setting;
};

/*
 * Return the value of `opt`, or of its suboption `sub` if that is not NULL: for the whole run if
 * `target` is NULL, otherwise for that target. Values are in the units of the option. Not for
 * OPT_SUB, OPT_ACTION and OPT_REFUSED. Any thread.
 */
struct option_value option_value(const struct plan *plan, const struct target_plan *target,
				 const struct option *opt, const struct option *sub);

/*
 * Help from an option table, on standard output. Called by plan_build() and the commands; main
 * thread.
 */

/* Print every option with one line of help, group by group. */
void help_list(const struct option_table *table);

/*
 * Print `text` in lines that fit a terminal, indented by `indent` columns. The first continues at
 * column `col` of the line, if that is not past the indentation; a `col` of 0 begins a line.
 */
void help_wrapped(const char *text, int indent, int col);

/* Print every option with all details. */
void help_full(const struct option_table *table);

/*
 * Print all details of the option `name`, with or without dashes. Returns 0, or -1 if there is none
 * of that name.
 */
int help_option(const struct option_table *table, const char *name);

/*
 * Report a word that names no option; `near` is the option that is probably meant, without its
 * dash, or NULL. Returns `status`.
 */
enum xdd_status option_unknown(enum xdd_status status, const struct setting *s,
			       const struct word *w, const char *near);

void help_version(void);

#endif
