/*
 * Setup files, help, and trying out.
 */
#include "plan/feature.h"

#include "plan/errors.h"
#include "plan/help.h"
#include "plan/parse.h"

static size_t arity_help(const struct word *args, size_t avail)
{
	(void)args;
	return avail ? 1 : 0;
}

static enum xdd_status do_help(struct parse *p, const struct setting *s)
{
	p->done = true;
	if (!s->n_args) {
		help_usage(p->table);
		return XDD_OK;
	}
	if (help_option(p->table, s->args[0].text) == 0)
		return XDD_OK;
	if (option_suggest(p->table, s->args[0].text))
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "is not an option; did you mean -%s?",
				   option_suggest(p->table, s->args[0].text));
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "is not an option; xdd -help lists them");
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
	  .arg = "[<option>]",
	  .arity = arity_help,
	  .act = do_help,
	  .help = "list the options, or explain one" },
	{ .name = "fullhelp",
	  .aliases = "exthelp",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_ACTION,
	  .act = do_fullhelp,
	  .help = "explain every option" },
	{ .name = "version",
	  .aliases = "ver",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_ACTION,
	  .act = do_version,
	  .help = "print the version" },
	{ 0 },
};

const struct plan_feature feature_general = {
	.group = { "General", rows },
};
