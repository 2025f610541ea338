/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of rules; xdd/report/rule.h.
 */
#include "xdd/report/rule.h"

#define RULE(id, says, ...) [RULE_##id] = { .sentence = says, __VA_ARGS__ },
const struct rule rule_table[RULES] = {
#include "xdd/report/rules.def"
};
