/*
 * Further columns of the files of a sweep: -columns. Called by sweep_line.c.
 */
#include <errno.h>
#include <string.h>

#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/report/column.h"

static enum xdd_status refuse(const struct sweep *s, const char *id, int length, const char *why)
{
	log_error("%s: -columns %.*s: %s", s->kind->name, length, id, why);
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status bad_id(const struct sweep *s, const char *text, const char *bad,
			      size_t length)
{
	const char *nearest = column_suggest(bad, length);

	if (bad == text || !length)
		return refuse(s, text, 128,
			      "expected a list of identifiers, each with a plus sign before it, "
			      "as in +OPENTIME+CLOSETIME");
	log_error("%s: -columns %.*s: no such column identifier%s%s%s (xdd -help columns lists "
		  "them)",
		  s->kind->name, (int)length, bad, nearest ? "; did you mean +" : "",
		  nearest ? nearest : "", nearest ? "?" : "");
	return XDD_BAD_ARGUMENT;
}

/* Means need numbers, and a file that has each column once. */
static enum xdd_status check(const struct sweep *s)
{
	const struct column_list *list = &s->results.columns;

	for (size_t i = 0; i < list->n; i++) {
		const struct column *col = list->columns[i];

		if (col->type != COLUMN_COUNT && col->type != COLUMN_REAL)
			return refuse(s, col->id, 64, "is a text; name columns with numbers");
		for (size_t k = 0; k < i; k++) {
			if (list->columns[k] == col)
				return refuse(s, col->id, 64,
					      "is in the list twice; leave one out");
		}
	}
	if (list->n > SWEEP_MAX_COLUMNS) {
		log_error("%s: -columns: names %zu columns; expected up to %d", s->kind->name,
			  list->n, SWEEP_MAX_COLUMNS);
		return XDD_BAD_ARGUMENT;
	}
	return XDD_OK;
}

static bool has_file(const struct sweep *s)
{
	return s->line.csvout || s->line.jsonout;
}

enum xdd_status sweep_columns_read(struct sweep *s)
{
	const char *text = s->line.columns, *bad;
	size_t length;
	int err;

	/* Where the line of a curve has no room for them. */
	if (!text && !s->kind->varies && has_file(s) &&
	    (sweep_has_option(s, "flushwrite") || sweep_has_option(s, "syncwrite")))
		text = "+FLUSHES+FLUSHLATMEAN+FLUSHLATP99+FLUSHLATMAX";
	if (!text)
		return XDD_OK;
	if (!has_file(s))
		return refuse(s, text, 128, "needs a file for them: -csvout or -jsonout");
	err = column_list_parse(&s->results.columns, text, &bad, &length);
	if (err == -EINVAL)
		return bad_id(s, text, bad, length);
	if (err) {
		log_error("%s", strerror(-err));
		return XDD_INIT_FAILED;
	}
	return check(s);
}
