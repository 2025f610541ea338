/*
 * Further columns of the files of a sweep: -columns. Called by sweep_line.c.
 */
#include <errno.h>
#include <string.h>

#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/report/column.h"

static enum xdd_status refuse(const char *id, int length, const char *why)
{
	log_error("sweep: -columns %.*s: %s", length, id, why);
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status bad_id(const char *text, const char *bad, size_t length)
{
	const char *nearest = column_suggest(bad, length);

	if (bad == text || !length)
		return refuse(text, 128,
			      "expected a list of identifiers, each with a plus sign before it, "
			      "as in +OPENTIME+CLOSETIME");
	log_error("sweep: -columns %.*s: no such column identifier%s%s%s (xdd -help columns lists "
		  "them)",
		  (int)length, bad, nearest ? "; did you mean +" : "", nearest ? nearest : "",
		  nearest ? "?" : "");
	return XDD_BAD_ARGUMENT;
}

/* Means need numbers, and a file that has each column once. */
static enum xdd_status check(const struct column_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct column *col = list->columns[i];

		if (col->type != COLUMN_COUNT && col->type != COLUMN_REAL)
			return refuse(col->id, 64, "is a text; name columns with numbers");
		for (size_t k = 0; k < i; k++) {
			if (list->columns[k] == col)
				return refuse(col->id, 64, "is in the list twice; leave one out");
		}
	}
	if (list->n > SWEEP_MAX_COLUMNS) {
		log_error("sweep: -columns: names %zu columns; expected up to %d", list->n,
			  SWEEP_MAX_COLUMNS);
		return XDD_BAD_ARGUMENT;
	}
	return XDD_OK;
}

enum xdd_status sweep_columns_read(struct sweep *s)
{
	const char *text = s->line.columns, *bad;
	size_t length;
	int err;

	if (!text)
		return XDD_OK;
	if (!s->line.csvout && !s->line.jsonout)
		return refuse(text, 128, "needs a file for them: -csvout or -jsonout");
	err = column_list_parse(&s->results.columns, text, &bad, &length);
	if (err == -EINVAL)
		return bad_id(text, bad, length);
	if (err) {
		log_error("%s", strerror(-err));
		return XDD_INIT_FAILED;
	}
	return check(&s->results.columns);
}
