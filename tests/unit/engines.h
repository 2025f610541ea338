/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engines and their keywords, for unit tests.
 */
#ifndef TESTS_UNIT_ENGINES_H
#define TESTS_UNIT_ENGINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/io/engine.h"

static inline const struct engine *engine_find(const char *name)
{
	return engine_from(engine_named(name));
}

/*
 * The options of an engine with the keywords in `words`, as after -ioengine. Valid for the next 63
 * calls, in which it may be written to.
 */
static inline void *engine_options(const char *name, const char *words)
{
	static _Alignas(max_align_t) char pool[64][64];
	static unsigned next;
	const struct engine_info *engine = engine_named(name);
	char *options = pool[next++ % 64], text[256], *save = NULL;

	if (engine->options_size > sizeof(pool[0]))
		abort();
	memset(options, 0, sizeof(pool[0]));
	snprintf(text, sizeof(text), "%s", words);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		const struct option *row = option_find_in(engine->keywords, w);

		if (row->type == OPT_FLAG)
			*(bool *)(options + row->off) = true;
		else
			*(uint64_t *)(options + row->off) =
				strtoull(strtok_r(NULL, " ", &save), NULL, 10);
	}
	return options;
}

#endif
