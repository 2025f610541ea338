/*
 * Options of fio in a job file: rows of the table of its words. Called where job files are read.
 */
#include <string.h>

#include "commands/fio.h"

bool fio_is_usual(const struct foreign *row, const char *value)
{
	static const struct {
		const char *name, *value;
	} usual[] = {
		{ "dedupe_mode", "repeat" },
		{ "percentage_random", "100" },
		{ "rw_sequencer", "sequential" },
		{ "sg_write_mode", "write" },
		{ "thinktime_blocks_type", "complete" },
	};

	if (!value || strcmp(value, "0") == 0 || strcmp(value, "none") == 0)
		return value;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		if (strcmp(usual[i].name, row->word) == 0)
			return strcmp(usual[i].value, value) == 0;
	}
	return false;
}

/* Several rows of a word, each for some of its values, follow each other. */
static bool is_first(const struct foreign *row)
{
	return row == foreign_fio.rows || strcmp(row[-1].word, row->word) != 0;
}

const struct foreign *fio_row(size_t i)
{
	for (const struct foreign *row = foreign_fio.rows; row->word; row++) {
		if (is_first(row) && !i--)
			return row;
	}
	return NULL;
}

const struct foreign *fio_row_of(const char *name)
{
	/* A form that fio takes, too; -threads of xdd is something else. */
	if (strcmp(name, "threads") == 0)
		name = "thread";
	for (const struct foreign *row = foreign_fio.rows; row->word; row++) {
		if (strcmp(row->word, name) == 0)
			return row;
	}
	return NULL;
}

enum fio_type fio_type_of(const struct foreign *row)
{
	if (row->type != FIO_BY_SAY)
		return (enum fio_type)row->type;
	return row->say ? FIO_LEFT_OUT : FIO_CHANGES;
}

const char *fio_reason(struct arena *arena, const struct foreign *row)
{
	const char *say = row->shown ? row->shown : row->say;

	if (row->note)
		return row->note;
	return say && *say ? arena_printf(arena, "a run has %s for it", say) : "it is not needed";
}
