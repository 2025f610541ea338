/*
 * The registry of engines: a new one is declared in the header and gets a line here. Called where a
 * plan is checked and where QThreads start.
 */
#include "xdd/io/engine.h"

#include <string.h>

static const struct engine *const engines[] = {
	&engine_psync,
	&engine_null,
};

const struct engine *engine_at(size_t i)
{
	return i < sizeof(engines) / sizeof(engines[0]) ? engines[i] : NULL;
}

const struct engine *engine_find(const char *name)
{
	const struct engine *engine;

	for (size_t i = 0; (engine = engine_at(i)); i++)
		if (!strcmp(engine->name, name))
			return engine;
	return NULL;
}
