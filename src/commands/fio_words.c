/*
 * Options of targets to the words of one command, as few as say it. Called by the mapper.
 */
#include <stdlib.h>
#include <string.h>

#include "commands/fio.h"
#include "xdd/base/memstream.h"
#include "xdd/base/quote.h"

static int put_targets(struct fio_map *m, FILE *out, const struct fio_target *t, size_t n)
{
	bool one = true;

	for (size_t i = 1; i < n; i++)
		one = one && strcmp(t[i].path, t[0].path) == 0;
	/* One name after a number that is not negative may have %d, which stands for a number. */
	fprintf(out, " -targets %s%zu", one && (n > 1 || strchr(t[0].path, '%')) ? "-" : "", n);
	for (size_t i = 0; i < (one ? 1 : n); i++) {
		const char *path = quote_word(m->file->arena, t[i].path);

		if (!path)
			return -ENOMEM;
		fprintf(out, " %s", path);
	}
	return 0;
}

static bool same(const struct fio_words *a, const struct fio_words *b)
{
	if (!a->option || !b->option)
		return a->option == b->option;
	return strcmp(a->option, b->option) == 0 && strcmp(a->args, b->args) == 0;
}

/* The targets from `i` on that have the same words in the slot. */
static size_t run_of(const struct fio_target *t, size_t n, size_t i, enum fio_slot slot)
{
	size_t end = i + 1;

	while (end < n && same(&t[end].slot[slot], &t[i].slot[slot]))
		end++;
	return end - i;
}

static void put_words(FILE *out, const struct fio_words *w, size_t first, size_t n)
{
	fprintf(out, " %s", w->option);
	if (n == 1)
		fprintf(out, " target %zu", first);
	else if (n)
		fprintf(out, " target %zu-%zu", first, first + n - 1);
	if (*w->args)
		fprintf(out, " %s", w->args);
}

/* A general setting for all, where all have one, and then those that differ from it. */
static void put_slot(FILE *out, const struct fio_target *t, size_t n, enum fio_slot slot)
{
	const struct fio_words *general = &t[0].slot[slot];

	for (size_t i = 0; i < n; i++) {
		if (!t[i].slot[slot].option)
			general = NULL;
	}
	if (general)
		put_words(out, general, 0, 0);
	for (size_t i = 0; i < n;) {
		const struct fio_words *w = &t[i].slot[slot];
		size_t length = run_of(t, n, i, slot);

		if (w->option && (!general || !same(w, general)))
			put_words(out, w, i, length);
		i += length;
	}
}

static void put_names(const struct fio_map *m, FILE *out)
{
	const char *between = ": ";

	for (const struct fio_job *j = m->group->jobs; j; j = j->next) {
		uint64_t clones = fio_number(j, FIO_NUMJOBS, 1);

		fprintf(out, "%s%s", between, j->name);
		if (clones > 1)
			fprintf(out, " (%llu)", (unsigned long long)clones);
		between = ", ";
	}
}

static int put_title(struct fio_map *m, enum fio_stage stage, struct fio_command *c)
{
	static const char *const what[] = {
		[FIO_LAYOUT] = ", before it: the files that it reads",
		[FIO_RUN] = "",
		[FIO_READ_BACK] = ", after it: what was written is verified",
	};
	struct memstream s;

	if (!memstream_open(&s))
		return -ENOMEM;
	fprintf(s.f, "group %u of %u%s", m->number, m->groups, what[stage]);
	if (stage == FIO_RUN)
		put_names(m, s.f);
	if (memstream_close(&s))
		return -ENOMEM;
	c->title = arena_strdup(m->file->arena, s.text);
	free(s.text);
	return c->title ? 0 : -ENOMEM;
}

/* The words of the command. NULL: no memory. */
static const char *make_line(struct fio_map *m, const struct fio_target *targets, size_t n,
			     const char *general)
{
	const char *line = NULL;
	struct memstream s;
	int err;

	if (!memstream_open(&s))
		return NULL;
	fputs("xdd", s.f);
	put_slot(s.f, targets, n, SLOT_OP);
	err = put_targets(m, s.f, targets, n);
	for (enum fio_slot slot = SLOT_OP + 1; slot < SLOTS; slot++)
		put_slot(s.f, targets, n, slot);
	fputs(general, s.f);
	if (memstream_close(&s))
		return NULL;
	if (!err)
		line = arena_strdup(m->file->arena, s.text);
	free(s.text);
	return line;
}

/*
 * The command with the null device for files that commands before it write, without the options
 * that the null device does not have.
 */
static const char *make_check(struct fio_map *m, const struct fio_target *targets, size_t n,
			      const char *general)
{
	static const enum fio_slot of_files[] = { SLOT_ENGINE,	    SLOT_VERIFY,
						  SLOT_PREALLOCATE, SLOT_PRETRUNCATE,
						  SLOT_DROPCACHE,   SLOT_DELETE };
	struct fio_target *copy = arena_alloc(m->file->arena, n * sizeof(*copy));

	if (!copy)
		return NULL;
	memcpy(copy, targets, n * sizeof(*copy));
	for (size_t i = 0; i < n; i++) {
		if (!copy[i].made)
			continue;
		copy[i].path = "null";
		for (size_t k = 0; k < sizeof(of_files) / sizeof(of_files[0]); k++)
			copy[i].slot[of_files[k]] = (struct fio_words){ NULL, NULL };
	}
	return make_line(m, copy, n, general);
}

int fio_add_command(struct fio_map *m, enum fio_stage stage, const struct fio_target *targets,
		    size_t n, const char *general)
{
	struct fio_command *c = arena_alloc(m->file->arena, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->stage = stage;
	c->line = make_line(m, targets, n, general);
	c->check = make_check(m, targets, n, general);
	if (!c->line || !c->check)
		return -ENOMEM;
	*m->group->commands_end = c;
	m->group->commands_end = &c->next;
	return put_title(m, stage, c);
}
