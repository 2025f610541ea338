/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of the script xdd-nightly, for the completions. tests/func/completion.py compares
 * them with the script's help.
 */
#include <stddef.h>

#include "mkdoc.h"

static const struct option rows[] = {
	{ .name = "failif", .arg = "<limits>", .help = "what counts as a change" },
	{ .name = "name", .arg = "<name>", .help = "the series of nights" },
	{ .name = "state", .arg = "<directory>", .help = "where documents are kept" },
	{ .name = "keep", .arg = "<number>", .help = "how many nights to keep" },
	{ .name = "expect", .arg = "<text>", .help = "a warning that is no disturbance" },
	{ .name = "accept", .help = "take the last night for good" },
	{ .name = "help", .help = "print the options" },
	{ 0 },
};

static const struct option_group group = { "Options", rows };
static const struct option_group *const groups[] = { &group, NULL };

const struct option_table mkdoc_nightly = { .groups = groups };
