/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registry of engines: one line for each. Whatever needs an engine finds it here, by its name
 * or by what it can do.
 */
#include "xdd/io/engine.h"

/* In the order of the help and of -ioengine list; the first is the default. */
/* clang-format off */
#define ENGINES(x)	\
	x(psync)	\
	x(libaio)	\
	x(io_uring)	\
	x(sg)		\
	x(mmap)		\
	x(stdio)	\
	x(null)
/* clang-format on */

#define DECLARE(name) extern const struct engine engine_##name;
#define ENTRY(name) &engine_##name.info,

ENGINES(DECLARE)

const struct engine_info *const engine_registry[] = { ENGINES(ENTRY) NULL };
