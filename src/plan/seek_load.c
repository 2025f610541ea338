/*
 * -seek load: the list of operations of a target, read from a file. Format: doc/seek-files.md.
 * Called while a plan is resolved.
 */
#include "plan/seek_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/earlier.h"
#include "plan/errors.h"
#include "plan/extent.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"

#define FIELDS_LEAST 4 /* ordinal, location, request size, operation */
#define FIELDS_MOST 6  /* and two times */

/* The rows read so far; moved to the arena at the end, as the file may be a pipe. */
struct row_list {
	struct seek_row *rows;
	size_t n;
};

static int append_row(struct row_list *list, const struct seek_row *row)
{
	struct seek_row *rows = array_room(list->rows, list->n, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	list->rows = rows;
	list->rows[list->n++] = *row;
	return 0;
}

/* Split at blanks, in place. Returns the number of fields, also of those beyond FIELDS_MOST. */
static size_t split_fields(char *text, char *fields[FIELDS_MOST])
{
	size_t n = 0;
	char *save = NULL;

	for (char *f = strtok_r(text, " \t", &save); f; f = strtok_r(NULL, " \t", &save)) {
		if (n < FIELDS_MOST)
			fields[n] = f;
		n++;
	}
	return n;
}

/* 'r', 'w', 'n' or 'd', or 0. */
static char operation_of(const char *field)
{
	if (!field[0] || field[1])
		return 0;
	switch (field[0]) {
	case 'r':
	case 'R':
		return 'r';
	case 'w':
	case 'W':
		return 'w';
	case 'n':
	case 'N':
		return 'n';
	case 'd':
	case 'D':
		return 'd';
	}
	return 0;
}

/* Returns NULL, or the problem of the line. */
static const char *parse_row(char *text, struct seek_row *row)
{
	char *fields[FIELDS_MOST];
	size_t n = split_fields(text, fields);
	uint64_t blocks, unused, end;

	if (n != FIELDS_LEAST && n != FIELDS_MOST)
		return "expected six fields: ordinal, location, request size, operation, two times";
	if (units_parse_u64(fields[0], &unused))
		return "the ordinal is not a number";
	if (units_parse_u64(fields[1], &row->block))
		return "the location is not a number of blocks";
	if (units_parse_u64(fields[2], &blocks) || !blocks || blocks > UINT32_MAX)
		return "the request size is not a number of blocks from 1 to 4294967295";
	if (__builtin_add_overflow(row->block, blocks, &end))
		return "the location is too large";
	row->blocks = (uint32_t)blocks;
	row->op = operation_of(fields[3]);
	if (!row->op)
		return "the operation is not r, w, n or d";
	for (size_t i = FIELDS_LEAST; i < n; i++)
		if (units_parse_u64(fields[i], &unused))
			return "a time is not a number of nanoseconds";
	return NULL;
}

/* One line of `len` bytes as getline() gave it: nothing, a row, or -EBADMSG. */
static int take_line(struct row_list *list, char *text, size_t len, const char **what)
{
	struct seek_row row = { 0 };

	if (strlen(text) != len) {
		*what = "it holds a NUL byte";
		return -EBADMSG;
	}
	if (len && text[len - 1] == '\n')
		text[--len] = '\0';
	if (len && text[len - 1] == '\r')
		text[--len] = '\0';
	if (!len || text[0] == '#')
		return 0;
	*what = parse_row(text, &row);
	return *what ? -EBADMSG : append_row(list, &row);
}

static int read_rows(FILE *f, struct row_list *list, unsigned *line, const char **what)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t len;
	int ret = 0;

	while (!ret) {
		errno = 0;
		len = getline(&text, &size, f);
		if (len < 0) {
			/* At the end of the file getline() leaves errno alone. */
			ret = feof(f) ? 0 : errno ? -errno : -EIO;
			break;
		}
		++*line;
		ret = take_line(list, text, (size_t)len, what);
	}
	free(text);
	return ret;
}

static int move_to_arena(const struct row_list *list, struct arena *arena,
			 const struct seek_row **rows)
{
	struct seek_row *copy;

	if (list->n > SIZE_MAX / sizeof(*copy))
		return -ENOMEM;
	copy = arena_alloc(arena, list->n * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, list->rows, list->n * sizeof(*copy));
	*rows = copy;
	return 0;
}

/* Closes `f`. */
static int load_rows(FILE *f, struct arena *arena, const struct seek_row **rows, size_t *n_rows,
		     unsigned *line, const char **what)
{
	struct row_list list = { 0 };
	int ret = read_rows(f, &list, line, what);

	fclose(f);
	if (!ret && !list.n) {
		*line = 0;
		*what = "it holds no operations";
		ret = -EBADMSG;
	}
	if (!ret)
		ret = move_to_arena(&list, arena, rows);
	if (!ret)
		*n_rows = list.n;
	free(list.rows);
	return ret;
}

int seek_load_read(const char *path, struct arena *arena, const struct seek_row **rows,
		   size_t *n_rows, unsigned *line, const char **what)
{
	FILE *f = fopen(path, "re");

	*line = 0;
	*what = NULL;
	return f ? load_rows(f, arena, rows, n_rows, line, what) : -errno;
}

/* As seek_load_read(), for a list that an earlier run saves as `path`, before it has. */
static int read_list(const struct plan *plan, const char *path, struct target_plan *t,
		     unsigned *line, const char **what)
{
	char *text;
	int err = plan_earlier_list(plan, path, &text);
	FILE *f;

	if (err || !text)
		return err ? err :
			     seek_load_read(path, plan->arena, &t->rows, &t->n_rows, line, what);
	f = fmemopen(text, strlen(text), "r");
	err = f ? load_rows(f, plan->arena, &t->rows, &t->n_rows, line, what) : -errno;
	free(text);
	return err;
}

static enum op_request operation_of_row(const struct seek_row *row)
{
	switch (row->op) {
	case 'r':
		return OP_READ;
	case 'w':
		return OP_WRITE;
	case 'd':
		return OP_DISCARD;
	}
	return OP_NOOP;
}

/* Set `*discards` if any of them discards. */
static enum op_request operation_of_rows(const struct target_plan *t, bool *discards)
{
	enum op_request list = OP_UNSET;

	*discards = false;
	for (size_t i = 0; i < t->n_rows; i++) {
		enum op_request own = operation_of_row(&t->rows[i]);

		*discards |= own == OP_DISCARD;
		list = list == OP_UNSET || list == own ? own : OP_MIXED;
	}
	return list;
}

/* Compare the directions of a loaded list with -op; without -op the list decides. */
static enum xdd_status resolve_loaded_op(struct target_plan *t)
{
	static const char *const does[] = {
		[OP_READ] = "reads",
		[OP_WRITE] = "writes",
		[OP_NOOP] = "does neither read nor write",
		[OP_DISCARD] = "discards",
		[OP_MIXED] = "mixes reads, writes and noops",
	};
	bool discards;
	enum op_request list = operation_of_rows(t, &discards);

	if (list == OP_MIXED && discards)
		return plan_refuse(t,
				   "-seek load %s: the list mixes discards (d) with other "
				   "operations; give them a list and a target of their own",
				   t->seek.load_file);
	if (t->ratio_given && discards)
		return plan_refuse(t, "-rwratio: the list of -seek load %s discards; leave one out",
				   t->seek.load_file);
	if (t->op != OP_UNSET && t->op != OP_MIXED && t->op != list)
		return plan_refuse(t, "-op %s: the list of -seek load %s %s; leave one out",
				   plan_op_name(t->op), t->seek.load_file, does[list]);
	t->op = list;
	return XDD_OK;
}

/* True if the file is there, or will be when the run begins. */
static bool exists(const struct plan *plan, const char *path)
{
	return access(path, F_OK) == 0 || plan_saves_list(plan, path);
}

const char *seek_load_name(const struct plan *plan, const struct target_plan *t)
{
	const char *own;

	if (exists(plan, t->seek.load_file))
		return t->seek.load_file;
	own = arena_printf(plan->arena, "%s.T%u.txt", t->seek.load_file, t->number);
	return own && exists(plan, own) ? own : t->seek.load_file;
}

enum xdd_status seek_load(struct plan *plan, struct target_plan *t)
{
	const char *file = seek_load_name(plan, t), *what = NULL;
	unsigned line = 0;
	int err;

	err = read_list(plan, file, t, &line, &what);
	if (err == -EBADMSG && line) {
		log_error("-seek load %s: line %u: %s", file, line, what);
		return XDD_BAD_ARGUMENT;
	}
	if (err) {
		log_error("-seek load %s: %s", file,
			  err == -EBADMSG ? "holds no operations" : strerror(-err));
		return XDD_BAD_ARGUMENT;
	}
	for (size_t i = 0; i < t->n_rows; i++) {
		uint64_t end;

		if (t->rows[i].blocks > t->req_blocks)
			return plan_refuse(
				t,
				"-seek load %s: operation %zu has %u blocks, a request %" PRIu64
				" (-reqsize)",
				file, i, t->rows[i].blocks, t->req_blocks);
		if (__builtin_mul_overflow(t->rows[i].block + t->rows[i].blocks, t->block_size,
					   &end) ||
		    end > PLAN_MAX_OFFSET)
			return plan_refuse(
				t,
				"-seek load %s: operation %zu lies past the largest offset, 8 EiB",
				file, i);
	}
	return resolve_loaded_op(t);
}
