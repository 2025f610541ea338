/*
 * Setup files, help, and trying out.
 */
#include "plan/feature.h"

#include "plan/errors.h"
#include "plan/parse.h"
#include "xdd/base/arena.h"
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
		  "files. Options after -setup override those of the file." },
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
};
