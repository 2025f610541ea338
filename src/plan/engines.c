/*
 * The registry of engines as the plan sees it: the engine of a target, and the suboptions of
 * -ioengine, which are the rows of the engines. Called by the parser through the row of -ioengine,
 * and by checks.
 */
#include "plan/engines.h"

#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/value.h"
#include "xdd/base/memory.h"

const struct engine_info *engine_named(const char *name)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		if (strcmp(engine_registry[i]->name, name) == 0)
			return engine_registry[i];
	}
	return NULL;
}

const struct engine_info *engine_with(unsigned caps)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		if (engine_registry[i]->caps & caps)
			return engine_registry[i];
	}
	return NULL;
}

const struct engine_info *plan_engine(const struct target_plan *target)
{
	if (target->kind == TARGET_NULL)
		return engine_with(ENGINE_NO_DATA);
	return target->engine ? target->engine : engine_registry[0];
}

unsigned plan_engine_caps(const struct target_plan *target)
{
	const struct engine_info *engine = plan_engine(target);

	if (engine == target->engine && engine->caps_with)
		return engine->caps_with(target->engine_options);
	return engine->caps;
}

static const char *engine_name_at(const void *names, size_t i)
{
	return ((const char *const *)names)[i];
}

char *engine_names(unsigned with, unsigned without, char *buf, size_t size)
{
	const char *names[ENGINE_NAMES_MAX + 1] = { NULL };
	size_t n = 0;

	for (size_t i = 0; engine_registry[i] && n < ENGINE_NAMES_MAX; i++) {
		if ((engine_registry[i]->caps & (with | without)) == with)
			names[n++] = engine_registry[i]->name;
	}
	return parse_list_words(engine_name_at, names, buf, size);
}

/* The row of `engine` for a keyword, or NULL. */
static const struct option *keyword_of(const struct engine_info *engine, const char *name)
{
	return engine->keywords ? option_find_in(engine->keywords, name) : NULL;
}

/* True if an engine before number `i` of the registry has this keyword. */
static bool is_repeated(size_t i, const char *name)
{
	while (i-- > 0) {
		if (keyword_of(engine_registry[i], name))
			return true;
	}
	return false;
}

/* Names first, then "list", then the keywords, each once. */
static const struct option *engine_word_at(size_t n)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		if (n-- == 0)
			return &engine_registry[i]->row;
	}
	if (n-- == 0)
		return &option_engine_list;
	for (size_t i = 0; engine_registry[i]; i++) {
		const struct option *row = engine_registry[i]->keywords;

		for (; row && row->name; row++) {
			if (!is_repeated(i, row->name) && n-- == 0)
				return row;
		}
	}
	return NULL;
}

/* "a, b": the engines with this keyword. */
static const char *owners(const char *keyword, const char *apart, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (size_t i = 0; engine_registry[i] && len < size; i++) {
		if (keyword_of(engine_registry[i], keyword))
			len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? apart : "",
						engine_registry[i]->name);
	}
	return buf;
}

static const char *engine_word_help(const struct option *sub, char *buf, size_t size)
{
	char engines[128];

	if (!*owners(sub->name, ", ", engines, sizeof(engines)))
		return sub->help;
	snprintf(buf, size, "%s: %s", engines, sub->help);
	return buf;
}

enum xdd_status engine_choose(const struct setting *s, struct target_plan *t,
			      const struct engine_info *engine)
{
	t->engine = engine;
	t->engine_options = NULL;
	if (!engine->keywords)
		return XDD_OK;
	t->engine_options = arena_alloc(s->arena, engine->options_size);
	if (!t->engine_options)
		return plan_no_memory();
	return parse_defaults(s->arena, s->opt, engine->keywords, t, SCOPE_TARGET);
}

static enum xdd_status init_engine(const struct setting *s, void *dst)
{
	return engine_choose(s, dst, engine_registry[0]);
}

/*
 * A name, which replaces all keywords that were given before, or a keyword of the engine that was
 * named last.
 */
static enum xdd_status apply_engine_word(const struct setting *s, void *dst)
{
	const struct engine_info *engine = engine_named(s->sub->name);
	struct target_plan *t = dst;
	const struct option *keyword;
	char engines[128];

	if (engine && s->further)
		return parse_error(XDD_BAD_ARGUMENT, s, NULL,
				   "expected one engine, then its keywords");
	if (engine)
		return engine_choose(s, t, engine);
	keyword = keyword_of(t->engine, s->sub->name);
	if (!keyword)
		return parse_error(XDD_BAD_ARGUMENT, s, NULL, "is a keyword of %s, not of %s",
				   owners(s->sub->name, " and ", engines, sizeof(engines)),
				   t->engine->name);
	return parse_apply_row(s, keyword, t->engine_options);
}

/*
 * The options of the target's engine, and its row for the keyword; NULL when it has no such
 * keyword.
 */
static const void *engine_word_field(const struct target_plan *t, const struct option **sub)
{
	const struct option *keyword = t->engine ? keyword_of(t->engine, (*sub)->name) : NULL;

	if (keyword)
		*sub = keyword;
	return keyword ? t->engine_options : NULL;
}

const struct option_source engine_words = {
	.at = engine_word_at,
	.help = engine_word_help,
	.init = init_engine,
	.apply = apply_engine_word,
	.field = engine_word_field,
};
