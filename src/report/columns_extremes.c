/*
 * The rows of the column table about the longest and the shortest operation. Read by column_at().
 */
#include "xdd/base/units.h"
#include "xdd/report/column.h"

/* The operation, or NULL with `v` unknown where none succeeded. */
static const struct extreme *get(const struct result *r, enum extremes_which which,
				 struct column_value *v)
{
	v->unknown = !r->figures.extremes.any;
	return v->unknown ? NULL : &r->figures.extremes.of[which];
}

#define GETTERS(name_, which_)                                                           \
	static void get_##name_(const struct result *r, struct column_value *v)          \
	{                                                                                \
		const struct extreme *e = get(r, which_, v);                             \
                                                                                         \
		if (e)                                                                   \
			v->real = (double)e->took_ns / NS_PER_MS;                        \
	}                                                                                \
	static void get_##name_##_op(const struct result *r, struct column_value *v)     \
	{                                                                                \
		const struct extreme *e = get(r, which_, v);                             \
                                                                                         \
		if (e)                                                                   \
			v->count = e->op;                                                \
	}                                                                                \
	static void get_##name_##_offset(const struct result *r, struct column_value *v) \
	{                                                                                \
		const struct extreme *e = get(r, which_, v);                             \
                                                                                         \
		if (e)                                                                   \
			v->count = e->offset;                                            \
	}                                                                                \
	static void get_##name_##_type(const struct result *r, struct column_value *v)   \
	{                                                                                \
		const struct extreme *e = get(r, which_, v);                             \
                                                                                         \
		if (e)                                                                   \
			v->text = op_dir_name(e->dir);                                   \
	}

GETTERS(longest, EXTREMES_LONGEST)
GETTERS(shortest, EXTREMES_SHORTEST)

#define ROW(id_, type_, heading_, units_, precision_, get_, help_)                   \
	{                                                                            \
		.id = id_, .type = type_, .heading = heading_, .units = units_,      \
		.width = sizeof(heading_) - 1, .precision = precision_, .get = get_, \
		.help = help_, .needs = FIGURES_EXTREMES,                            \
	}

const struct column columns_extremes[] = {
	ROW("LONGEST", COLUMN_REAL, "     Longest", "    millisec", 6, get_longest,
	    "time of the operation that took longest, of those that succeeded"),
	ROW("LONGESTOP", COLUMN_COUNT, "  Longest_Op", "      number", 0, get_longest_op,
	    "which operation of its pass that was, from 0"),
	ROW("LONGESTOFFSET", COLUMN_COUNT, "  Longest_Offset", "           bytes", 0,
	    get_longest_offset, "where it began"),
	ROW("LONGESTTYPE", COLUMN_TEXT, " Longest_Type", "         text", 0, get_longest_type,
	    "whether it was a read, a write, a noop or a discard"),
	ROW("SHORTEST", COLUMN_REAL, "    Shortest", "    millisec", 6, get_shortest,
	    "time of the operation that was done soonest, of those that succeeded"),
	ROW("SHORTESTOP", COLUMN_COUNT, " Shortest_Op", "      number", 0, get_shortest_op,
	    "which operation of its pass that was, from 0"),
	ROW("SHORTESTOFFSET", COLUMN_COUNT, " Shortest_Offset", "           bytes", 0,
	    get_shortest_offset, "where it began"),
	ROW("SHORTESTTYPE", COLUMN_TEXT, " Shortest_Type", "          text", 0, get_shortest_type,
	    "whether it was a read, a write, a noop or a discard"),
	{ 0 },
};
