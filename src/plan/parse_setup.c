/*
 * Setup files and their sections: the words of a file become settings where -setup stands, those of
 * a section settings of its own. Called by the parser, for -setup and -section.
 */
#include <string.h>
#include <sys/stat.h>

#include "plan/errors.h"
#include "plan/inputs.h"
#include "plan/parse.h"
#include "plan/setup_file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"

#define SETUP_MAX_DEPTH 32
#define SETUP_MAX_FILES 1000

/* The words of a section become settings of its own. */
static enum xdd_status read_section(struct parse *p, struct section *section,
				    const struct word *words, size_t n_words)
{
	struct setting *settings = p->settings;
	const size_t n = p->n_settings, cap = p->cap_settings;
	enum xdd_status status;

	section->before = n;
	p->settings = NULL;
	p->n_settings = p->cap_settings = 0;
	p->section = section->name;
	status = parse_words(p, words, n_words);
	p->section = NULL;
	section->settings = p->settings;
	section->n_settings = p->n_settings;
	p->settings = settings;
	p->n_settings = n;
	p->cap_settings = cap;
	return status;
}

static enum xdd_status refuse_section(const char *file, const struct setup_section *found,
				      const char *why)
{
	log_error("%.128s:%u: section %s: %s", file, found->line, found->name, why);
	return XDD_BAD_ARGUMENT;
}

/* `file` has room in p->sections. */
static enum xdd_status add_section(struct parse *p, const char *file, const struct setup_words *all,
				   size_t i)
{
	const struct setup_section *found = &all->sections[i];
	const size_t end = i + 1 < all->n_sections ? found[1].first : all->n;
	struct section *section = &p->sections[p->n_sections];

	for (size_t k = 0; k < p->n_sections; k++) {
		if (strcmp(p->sections[k].name, found->name) == 0)
			return refuse_section(file, found, "there is another one of that name");
	}
	*section = (struct section){ .name = found->name, .file = file, .line = found->line };
	p->n_sections++;
	return read_section(p, section, all->words + found->first, end - found->first);
}

static enum xdd_status add_sections(struct parse *p, const char *file,
				    const struct setup_words *all)
{
	enum xdd_status status = XDD_OK;
	struct section *more;

	if (!all->n_sections)
		return XDD_OK;
	if (p->section || p->setup->outer)
		return refuse_section(file, &all->sections[0],
				      "must be in a setup file that the command line names");
	more = arena_alloc(p->arena, (p->n_sections + all->n_sections) * sizeof(*more));
	if (!more)
		return plan_no_memory();
	if (p->n_sections)
		memcpy(more, p->sections, p->n_sections * sizeof(*more));
	p->sections = more;
	for (size_t i = 0; i < all->n_sections && !status && !p->done; i++)
		status = add_section(p, file, all, i);
	return status;
}

enum xdd_status parse_choice(struct parse *p, const struct setting *s)
{
	struct setting *more;

	if (s->name.file)
		return parse_error(XDD_BAD_ARGUMENT, s, NULL,
				   "must be on the command line, and not in a setup file");
	more = arena_alloc(p->arena, (p->n_choices + 1) * sizeof(*more));
	if (!more)
		return plan_no_memory();
	if (p->n_choices)
		memcpy(more, p->choices, p->n_choices * sizeof(*more));
	more[p->n_choices++] = *s;
	p->choices = more;
	return XDD_OK;
}

/* The words before the first section stand where the option stands; those of a section follow. */
static enum xdd_status read_setup(struct parse *p, const struct word *name)
{
	struct setup_words all;
	enum xdd_status status = setup_file_read(p->arena, name, &all);

	if (!status && !plan_add_setup(p->plan, name->text))
		status = plan_no_memory();
	if (!status)
		status = parse_words(p, all.words, all.n_sections ? all.sections[0].first : all.n);
	if (!status && !p->done)
		status = add_sections(p, name->text, &all);
	return status;
}

/* -setup: its words stand where the option stands. */
enum xdd_status parse_setup(struct parse *p, const struct setting *s)
{
	struct setup_file self = { .outer = p->setup };
	const struct word *name = &s->args[0];
	enum xdd_status status;
	struct stat st;
	size_t depth = 0;

	if (!*name->text)
		return parse_error(XDD_BAD_ARGUMENT, s, name, "%s cannot be empty", s->opt->arg);
	if (stat(name->text, &st) == 0) {
		self.dev = st.st_dev;
		self.ino = st.st_ino;
		for (const struct setup_file *f = p->setup; f; f = f->outer, depth++) {
			if (f->dev == st.st_dev && f->ino == st.st_ino)
				return parse_error(
					XDD_BAD_ARGUMENT, s, name,
					"is a loop of setup files: this file is being read already");
		}
	}
	if (depth >= SETUP_MAX_DEPTH)
		return parse_error(XDD_BAD_ARGUMENT, s, name,
				   "setup files are nested more than %d deep", SETUP_MAX_DEPTH);
	/* Files that each name the next one twice would never end. */
	if (++p->n_setup_files > SETUP_MAX_FILES)
		return parse_error(XDD_BAD_ARGUMENT, s, name, "more than %d setup files are read",
				   SETUP_MAX_FILES);
	p->setup = &self;
	status = read_setup(p, name);
	p->setup = self.outer;
	return status;
}
