/*
 * Setup files, help, and trying out.
 */
#include "plan/feature.h"

#include "plan/errors.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/plan/help.h"

/* All words that follow, up to one with a dash that names no option. */
static size_t arity_help(const struct word *args, size_t avail)
{
	size_t n = avail ? 1 : 0;

	while (n && n < avail &&
	       (args[n].text[0] != '-' || option_is_word(&run_options, args[n].text)))
		n++;
	return n;
}

/* The commands print it: they know the columns and one another as well. */
static enum xdd_status do_help(struct parse *p, const struct setting *s)
{
	struct setting *help = arena_alloc(p->arena, sizeof(*help));

	if (!help)
		return plan_no_memory();
	*help = *s;
	p->plan->help = help;
	p->done = true;
	return XDD_OK;
}

static enum xdd_status do_fullhelp(struct parse *p, const struct setting *s)
{
	(void)s;
	p->done = true;
	help_full(p->table);
	return XDD_OK;
}

static enum xdd_status do_version(struct parse *p, const struct setting *s)
{
	(void)s;
	p->done = true;
	help_version();
	return XDD_OK;
}

/* Names, up to the next word with a dash. */
static size_t arity_section(const struct word *args, size_t avail)
{
	size_t n = 0;

	while (n < avail && args[n].text[0] != '-')
		n++;
	return n ? n : 1;
}

/* -keepgoing of a single run would have no effect. */
static enum xdd_status check(struct plan *plan)
{
	if (!plan->keep_going || plan->run_name)
		return XDD_OK;
	log_error("-keepgoing: is for several runs, and this is the only one; sections of a setup "
		  "file or -readback make several");
	return XDD_BAD_ARGUMENT;
}

static const struct option rows[] = {
	{ .name = "setup",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_ACTION,
	  .arg = "<file>",
	  .act = parse_setup,
	  .help = "read options from a file, as if they stood here",
	  .detail =
		  "Blanks and newlines separate words; single and double quotes and the backslash "
		  "work as in a shell; # starts a comment. Setup files may name further setup "
		  "files. Options after -setup override those of the file. A line with nothing but "
		  "[name] begins a section: what stands before the first one, and the other words "
		  "of the command line, are for all sections, each of which is a run of its own. "
		  "All are checked before the first one begins; the results of each have its name, "
		  "which -id gets as well. In names of output files %s is that name, and %% a "
		  "percent sign. A run that fails ends the others (-keepgoing). A word in brackets "
		  "that is alone on its line is quoted, as in '[ab]'.",
	  .example = "xdd -setup tests.xdd -csvout results.csv" },
	{ .name = "section",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_ACTION,
	  .arg = "<name> ...",
	  .arity = arity_section,
	  .act = parse_choice,
	  .help = "run these sections of the setup files only, in the order of the files",
	  .detail = "May be given several times, on the command line only.",
	  .example = "xdd -setup tests.xdd -section write read" },
	{ .name = "keepgoing",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(keep_going),
	  .help = "begin the next section although this one has failed",
	  .detail =
		  "Without it a run that ends with another status than 0 is the last one. A signal "
		  "ends all runs. The exit status is the greatest of all.",
	  .example = "xdd -setup tests.xdd -keepgoing" },
	{ .name = "dryrun",
	  .aliases = "dry",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(dry_run),
	  .help = "check everything, show what would be done, and stop",
	  .detail = "Nothing is opened, created or changed." },
	{ .name = "help",
	  .aliases = "h",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_ACTION,
	  .arg = "[<word> ...]",
	  .arity = arity_help,
	  .act = do_help,
	  .help = "list the options, or explain options, commands and columns",
	  .detail =
		  "A word that is none of these is searched for in names, texts and words of other "
		  "tools, such as fio and dd. -help columns lists the columns of -outputformat.",
	  .example = "xdd -help iodepth percentiles columns" },
	{ .name = "fullhelp",
	  .aliases = "exthelp",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_ACTION,
	  .act = do_fullhelp,
	  .help = "explain every option" },
	{ .name = "version",
	  .aliases = "ver V v",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_ACTION,
	  .act = do_version,
	  .help = "print the version" },
	{ 0 },
};

const struct plan_feature feature_general = {
	.group = { "General", rows },
	.plan = { [PLAN_CHECK] = check },
};
